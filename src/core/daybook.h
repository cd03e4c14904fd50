/**
 * The daybook: what calls did to files, on its way into the store.
 *
 * A transaction takes longer than everything else about a small edit. So a
 * call only appends what it did to this file, with one write; whoever begins
 * the next transaction, in whichever process, posts it to the store first
 * (core/store.h). A process that is killed leaves what it noted for the next.
 *
 * A daybook has a number, drawn by chance, and the store remembers how much of
 * which one was posted: what a process posted when it was killed is not posted
 * again. What is posted is removed, and the next entry begins another one.
 *
 * Entries have a checksum. One that was cut off can only be the last: a process
 * adds to what it left itself and to nothing else; whatever others noted has to
 * be posted before.
 */
#ifndef STET_CORE_DAYBOOK_H
#define STET_CORE_DAYBOOK_H

#include "base/buf.h"
#include "core/deeds.h"
#include "fs/root.h"

/** Its name in the state directory. */
#define ST_DAYBOOK_NAME "daybook"

/** How many bytes may wait to be posted. */
enum { ST_DAYBOOK_MAX = 1 << 20 };

struct st_daybook {
	/** -1 if there is none. */
	int fd;
	/** Where it is, and which file it is. */
	const struct st_root *root;
	const char *state_dir;
	dev_t dev;
	ino_t ino;
	/** Who opened it: a lock is shared with a forked child, and so would be no lock. */
	pid_t pid;
	/** The number of what this process added to last, and up to where it is as it was left. */
	int64_t id;
	off_t size;
};

#define ST_DAYBOOK_INIT \
	{ .fd = -1 }

/** Open it, or make it, in the state directory of a root. If it cannot be used, there is none. */
void st_daybook_open(struct st_daybook *daybook, const struct st_root *root, const char *state_dir,
                     int state_fd);
void st_daybook_release(struct st_daybook *daybook);

/** Whether it is open, in this process, and the file is still the one of its path. */
bool st_daybook_is_in_place(const struct st_daybook *daybook);

/** Whether there is anything to be posted. */
bool st_daybook_has_entries(const struct st_daybook *daybook);

/** Append an entry to out. A NULL session has no name. */
void st_daybook_write(struct st_buf *out, const struct st_deed *deed, const char *session);

/**
 * Add entries, as written to a buffer.
 *
 * @return false if they are not in it: somebody else is at it or was, or it is
 *         full, or the disk is. Then a transaction is the way.
 */
bool st_daybook_add(struct st_daybook *daybook, struct st_str entries);

/** One entry; what it is given is borrowed for the call. */
typedef int st_daybook_fn(void *data, const struct st_deed *deed, const char *session,
                          struct stet_error *err);

/** What is in a daybook, to be posted. */
struct st_daybook_page {
	struct st_buf bytes;
	/** Its number; 0 if there is nothing in it. */
	int64_t id;
};

void st_daybook_page_release(struct st_daybook_page *page);

/**
 * Lock it and read it. Until st_daybook_end() nobody else adds, reads or posts.
 *
 * @wait_ms  How long to wait for another process that has it.
 * @return   0; 1 if another one came into its place meanwhile, and this one was
 *           posted, perhaps; STET_E_BUSY if the wait was in vain, STET_E_NOMEM,
 *           STET_E_IO. It is locked after 0 only.
 */
[[nodiscard]] int st_daybook_begin(struct st_daybook *daybook, int wait_ms,
                                   struct st_daybook_page *page, struct stet_error *err);

/** Call for each entry behind the first `done` bytes. What is behind a damaged one is not read. */
[[nodiscard]] int st_daybook_each(const struct st_daybook_page *page, int64_t done,
                                  st_daybook_fn *each, void *data, struct stet_error *err);

/** Unlock it. If it was posted, it is empty now. */
void st_daybook_end(struct st_daybook *daybook, bool posted);

#endif
