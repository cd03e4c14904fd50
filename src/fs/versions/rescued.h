/**
 * Bytes that must not get lost, saved as files below the state directory.
 *
 * `STATE/rescued/HASH16-PATH` holds them, with the slashes of PATH written as
 * %2F, and so whatever would not be plain text. The collection is bounded; when
 * it is full the oldest go, and a notice says so.
 *
 * A copy that no notice has told of yet has `.untold` at the end of its name, so
 * that it is not forgotten if the process dies before its next answer: a later
 * one tells of it.
 */
#ifndef STET_FS_VERSIONS_RESCUED_H
#define STET_FS_VERSIONS_RESCUED_H

#include <stdatomic.h>

#include "base/notices.h"
#include "fs/file/file.h"
#include "fs/versions/state_dir.h"

/** The bounds of the collection. */
#define ST_RESCUED_MAX_BYTES ((uint64_t)256 << 20)
enum { ST_RESCUED_MAX_FILES = 1000 };

/** The collection of a workspace. Safe to use from several threads. */
struct st_rescued {
	/** Called kept/ in stet 0.1.0. */
	struct st_state_folder folder;
	struct st_notices *notices;
	/** What earlier processes left has been reported. */
	_Atomic bool recovered;
	/** How many copies notices told of. */
	_Atomic uint64_t reported;
};

/** Everything is borrowed. Opens nothing yet. */
void st_rescued_init(struct st_rescued *rescued, const struct st_root *root, const char *state_dir,
                     struct st_notices *notices);
void st_rescued_release(struct st_rescued *rescued);

/**
 * Save bytes, and add a notice that says why and where they are.
 *
 * @path   The file they belong to, below the root.
 * @why    A sentence that begins the notice.
 * @return 0, or a negative code if they could not be saved, which the notice
 *         then says.
 */
int st_rescue(struct st_rescued *rescued, const char *path, struct st_str bytes, const char *why);

/** A notice of the copy of this name was handed out: the name loses its mark. */
void st_rescued_told(struct st_rescued *rescued, const char *name);

/** The bytes of a file, saved while it is rewritten in place. */
struct st_rescue {
	int fd;
	char name[256];
};

#define ST_RESCUE_INIT \
	{ .fd = -1 }

/**
 * Save a file's bytes before it is rewritten in place, so that a crash in the
 * middle loses nothing: st_rescued_recover() of a later process reports them.
 *
 * @return 0, or why there is no copy; the caller decides whether to go on.
 */
[[nodiscard]] int st_rescue_begin(struct st_rescued *rescued, const char *path, struct st_str bytes,
                                  struct st_rescue *rescue, struct stet_error *err);

/** The rewrite is complete, or the old bytes are back: the copy goes. */
void st_rescue_end(struct st_rescued *rescued, struct st_rescue *rescue);

/** The rewrite failed half way: the copy stays, and a notice names it. */
void st_rescue_leave(struct st_rescued *rescued, const char *path, struct st_rescue *rescue);

/**
 * Report the copies that crashed rewrites left behind, and those that no notice
 * told of. Once this has succeeded, rescued->recovered is set and nothing is
 * left to do.
 */
void st_rescued_recover(struct st_rescued *rescued);

#endif
