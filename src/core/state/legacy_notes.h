/**
 * What stet 0.1.0 left to be stored: the file `daybook` in the state directory.
 *
 * 0.1.0 appended what a call did to files to that file and stored it in the
 * database later. This version stores it at once. When it opens a state
 * directory that 0.1.0 left behind, it stores the rest of the notes and removes
 * the file (core/state/store.c).
 *
 * The file is not trusted: one that is no plain file of this user with a single
 * name, or no such notes, is set aside. Entries have a checksum. The reader stops
 * at the first entry that is cut off or damaged.
 *
 *     st_auto(st_legacy_notes) notes = ST_LEGACY_NOTES_INIT;
 *     if (st_legacy_notes_open(&notes, dirfd, err) == 1 &&
 *         st_legacy_notes_each(&notes, 0, each, data, err) == 0)
 *             st_legacy_notes_remove(&notes);
 */
#ifndef STET_CORE_STATE_LEGACY_NOTES_H
#define STET_CORE_STATE_LEGACY_NOTES_H

#include "base/buf.h"
#include "core/session/file_event.h"

struct st_legacy_notes {
	/** The state directory, borrowed, and the file, locked against 0.1.0; -1 if there is none. */
	int dirfd, fd;
	struct st_buf bytes;
	/** A random number: the database remembers how many bytes of which notes it has stored. */
	int64_t id;
	/** The new name and the rest of a sentence that says why, if the file was set aside. */
	char aside[64];
	const char *why;
};

#define ST_LEGACY_NOTES_INIT \
	{ .dirfd = -1, .fd = -1, .bytes = ST_BUF_INIT }

/** Drops the lock. */
void st_legacy_notes_release(struct st_legacy_notes *notes);

/**
 * Lock and read the notes in a state directory.
 *
 * @return 1, 0 if there are none to be stored, STET_E_BUSY (a process of 0.1.0
 *         is writing), STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_legacy_notes_open(struct st_legacy_notes *notes, int dirfd,
                                       struct stet_error *err);

/** One entry, borrowed for the call. */
typedef int st_legacy_note_fn(void *data, const struct st_file_event *event,
                              struct stet_error *err);

/** Call a function for each entry that ends behind the first `stored` bytes. Returns 0 or its code. */
[[nodiscard]] int st_legacy_notes_each(const struct st_legacy_notes *notes, int64_t stored,
                                       st_legacy_note_fn *each, void *data, struct stet_error *err);

/** Remove the file. */
void st_legacy_notes_remove(struct st_legacy_notes *notes);

#endif
