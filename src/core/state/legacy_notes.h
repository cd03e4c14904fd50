/**
 * The note file of stet 0.1.0: `daybook` in the state directory.
 *
 * 0.1.0 appended file events to this file and stored them in the database later.
 * This version stores events at once. When it opens a state directory that 0.1.0
 * left behind, it imports the remaining notes and removes the file
 * (core/state/store_open.c).
 *
 * The file is not trusted: it is renamed unless it is a regular file of this
 * user, without other hard links, and begins as 0.1.0's does. Entries have a
 * checksum. The reader stops at the first entry that is cut off or damaged.
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

#define ST_LEGACY_NOTES_NAME "daybook"

struct st_legacy_notes {
	/** The state directory, borrowed, and the file, locked against processes of 0.1.0; -1 for none. */
	int dirfd, fd;
	struct st_buf bytes;
	/** The file's random number. The database has it, with the number of bytes already imported. */
	int64_t id;
	/** If the file was renamed: its new name, and why, as the rest of a sentence. */
	char aside[64];
	const char *why;
};

#define ST_LEGACY_NOTES_INIT \
	{ .dirfd = -1, .fd = -1, .bytes = ST_BUF_INIT }

/** Free the notes and drop the lock. */
void st_legacy_notes_release(struct st_legacy_notes *notes);

/**
 * Lock and read the notes in a state directory.
 *
 * @return 1, 0 if there is nothing to import, STET_E_BUSY (a process of 0.1.0
 *         is writing), STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_legacy_notes_open(struct st_legacy_notes *notes, int dirfd,
                                       struct stet_error *err);

/** Receives one entry, borrowed for the call. */
typedef int st_legacy_note_fn(void *data, const struct st_file_event *event,
                              struct stet_error *err);

/** Call a function for each entry beyond the first `stored` bytes. Returns 0 or its code. */
[[nodiscard]] int st_legacy_notes_each(const struct st_legacy_notes *notes, int64_t stored,
                                       st_legacy_note_fn *each, void *data, struct stet_error *err);

/** Remove the file. */
void st_legacy_notes_remove(struct st_legacy_notes *notes);

#endif
