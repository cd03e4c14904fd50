/**
 * The journal of a change set: what several files were before they are replaced
 * one after the other, so that all of them can be put back.
 *
 * It is a file `changes/NAME.set` in the state directory, written and synced
 * before the first file is touched and removed after the last one. Its process
 * holds a lock on it. A journal that nobody locks belongs to a process that
 * died: the next write of any process takes the change set back, each file only
 * if it still is what the change set wrote. If the change set was complete, only
 * the journal goes.
 *
 *     st_auto(st_journal) journal = ST_JOURNAL_INIT;
 *     const struct st_journal_plan plan = {.files = files, .count = 2};
 *
 *     int code = st_journal_begin(writes, &plan, &journal, err);
 *     ... replace the files; if the second one fails:
 *     if (st_journal_take_back(writes, &plan, 1, &left, &stuck) == 0)
 *             st_journal_end(writes, &journal);
 *
 * A mark made with the user's key (fs/versions/state_dir.h) covers the journal,
 * and it names the root and the state directory by inode and birth time. So a
 * journal that came with a clone, an archive or a copy changes nothing: it is
 * set aside, and a notice says so.
 */
#ifndef STET_FS_WRITE_JOURNAL_H
#define STET_FS_WRITE_JOURNAL_H

#include "fs/write/write_context.h"

/** The most files and directories of a journal, and the most bytes in it. */
enum { ST_JOURNAL_ENTRIES_MAX = 4096 };
#define ST_JOURNAL_BYTES_MAX ((size_t)320 << 20)

/** One file of a change set. Everything is borrowed. */
struct st_journal_file {
	/** Below the root, links resolved. */
	const char *path;
	/** The versions before and after the change; their stamps are not used. */
	struct st_version before, after;
	/** The bytes before; empty if there was no file. */
	struct st_str old;
	/** The permission bits before; 0 if there was no file. */
	mode_t mode;
};

struct st_journal_plan {
	const struct st_journal_file *files;
	size_t count;
	/** The directories that the change set makes, outer ones first; below the root. */
	const char *const *dirs;
	size_t dir_count;
	/** Do not wait for the disk. */
	bool relaxed;
};

/** An open journal; fd is -1 if there is none. */
struct st_journal {
	int fd;
	bool relaxed;
	char name[40];
};

#define ST_JOURNAL_INIT \
	{ .fd = -1 }

/** Close the journal without removing it, as the death of the process would. */
void st_journal_release(struct st_journal *journal);

/**
 * Write a journal, lock it and sync it.
 *
 * @return 0, STET_E_ACCESS (no state directory that is trusted), STET_E_TOO_BIG,
 *         STET_E_NO_SPACE, STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_journal_begin(struct st_write_context *writes,
                                   const struct st_journal_plan *plan, struct st_journal *journal,
                                   struct stet_error *err);

/** Remove the journal: the change set is complete, or taken back. If neither, release it. */
void st_journal_end(struct st_write_context *writes, struct st_journal *journal);

/**
 * Put back the first `count` files of a plan, the last one first, and remove the
 * directories that are empty then.
 *
 * @left   Receives the names of the files that others changed since; they stay
 *         as they are: `"a.c", "b.c"`.
 * @stuck  Receives the names of the files that could not be put back, such as on a
 *         failing disk; the same call may succeed later.
 * @return The number of stuck files, also if out of memory for their names.
 */
size_t st_journal_take_back(struct st_write_context *writes, const struct st_journal_plan *plan,
                            size_t count, struct st_buf *left, struct st_buf *stuck);

/** Take back the change sets of processes that died. Costs one stat if there are none. */
void st_journal_recover(struct st_write_context *writes);

/**
 * Read a journal, if this user's stet wrote it for this workspace.
 *
 * @bytes  The contents, which the plan points into.
 * @plan   Its arrays are to be freed.
 * @paths  Receives the paths, NUL-terminated; the plan points into it.
 * @return 1; 0 if it is damaged or foreign, STET_E_NOMEM.
 */
[[nodiscard]] int st_journal_parse(struct st_write_context *writes, struct st_str bytes,
                                   struct st_journal_plan *plan, struct st_buf *paths);

#endif
