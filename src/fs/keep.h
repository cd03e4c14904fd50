/**
 * Bytes that must not get lost, saved as files below the state directory.
 *
 * `STATE/kept/HASH16-PATH` holds them, with the slashes of PATH written as
 * %2F, and so whatever would not be plain text. The collection is bounded; when it is full the oldest go, and a notice
 * says so.
 *
 * A copy that nobody was told of yet has `.untold` at the end of its name, so
 * that a process that dies before its next answer does not take the news
 * along: a later one tells it.
 */
#ifndef STET_FS_KEEP_H
#define STET_FS_KEEP_H

#include "fs/guard.h"

/** The bounds of the collection. */
#define ST_KEPT_MAX_BYTES ((uint64_t)256 << 20)
enum { ST_KEPT_MAX_FILES = 1000 };

/**
 * Save bytes, and add a notice that says why and where they are.
 *
 * @path   The file they belong to, below the root.
 * @why    A sentence that begins the notice.
 * @return 0, or a negative code if they could not be saved, which the notice
 *         then says.
 */
int st_keep(struct st_guard *guard, const char *path, struct st_str bytes, const char *why);

/** A notice of the copy of this name was handed out: the name loses its mark. */
void st_keep_told(struct st_guard *guard, const char *name);

/** The bytes of a file, saved while it is rewritten in place. */
struct st_rescue {
	int fd;
	char name[256];
};

#define ST_RESCUE_INIT \
	{ .fd = -1 }

/**
 * Save a file's bytes before it is rewritten in place, so that a crash in the
 * middle loses nothing: st_keep_recover() of a later process reports them.
 *
 * @return 0, or why there is no copy; the caller decides whether to go on.
 */
[[nodiscard]] int st_rescue_begin(struct st_guard *guard, const char *path, struct st_str bytes,
                                  struct st_rescue *rescue, struct stet_error *err);

/** The rewrite is complete, or the old bytes are back: the copy goes. */
void st_rescue_end(struct st_guard *guard, struct st_rescue *rescue);

/** The rewrite failed half way: the copy stays, and a notice names it. */
void st_rescue_leave(struct st_guard *guard, const char *path, struct st_rescue *rescue);

/**
 * Report the copies that crashed rewrites left behind, and those that nobody
 * was told of. Does something until it has succeeded once.
 */
void st_keep_recover(struct st_guard *guard);

#endif
