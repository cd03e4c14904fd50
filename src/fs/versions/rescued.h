/**
 * Rescued bytes: copies of bytes that would otherwise be lost, such as another
 * process's late write, in the state directory.
 *
 * The files are named `STATE/rescued/HASH16-PATH`, with slashes and special
 * characters of PATH written as %2F and so on. When the folder is full, the
 * oldest files are removed and a notice says so.
 *
 * The name of a copy ends in `.untold` until its notice was handed out. If
 * the process dies before that, a later process reports the copy.
 */
#ifndef STET_FS_VERSIONS_RESCUED_H
#define STET_FS_VERSIONS_RESCUED_H

#include <stdatomic.h>

#include "base/notices.h"
#include "fs/file/file.h"
#include "fs/versions/state_dir.h"

/** The limits of the folder. */
#define ST_RESCUED_MAX_BYTES ((uint64_t)256 << 20)
enum { ST_RESCUED_MAX_FILES = 1000 };

/** The rescued bytes of a workspace. Thread-safe. */
struct st_rescued {
	/** Named kept/ in stet 0.1.0. */
	struct st_state_folder folder;
	struct st_notices *notices;
	/** The copies of earlier processes have been reported. */
	_Atomic bool recovered;
	/** How many notices of copies this process has queued. */
	_Atomic uint64_t reported;
};

/** Everything is borrowed. Opens nothing yet. */
void st_rescued_init(struct st_rescued *rescued, const struct st_root *root, const char *state_dir,
                     struct st_notices *notices);
void st_rescued_release(struct st_rescued *rescued);

/**
 * Save bytes, and add a notice that says why, and where they are.
 *
 * @path   The file that they belong to, relative to the root.
 * @why    The first sentence of the notice.
 * @return 0, or a negative code if they could not be saved; the notice says so.
 */
int st_rescue(struct st_rescued *rescued, const char *path, struct st_str bytes, const char *why);

/** Call this when the notice of a copy was delivered: removes `.untold` from the copy's name. */
void st_rescued_mark_reported(struct st_rescued *rescued, const char *name);

/** The safety copy of a file that is being rewritten in place. */
struct st_rescue {
	int fd;
	char name[256];
};

#define ST_RESCUE_INIT \
	{ .fd = -1 }

/**
 * Save a file's bytes before rewriting it in place, so that a crash in between
 * loses nothing: st_rescued_recover() of a later process reports the copy.
 *
 * @return 0, or a negative code without a copy; the caller may go on.
 */
[[nodiscard]] int st_rescue_begin(struct st_rescued *rescued, const char *path, struct st_str bytes,
                                  struct st_rescue *rescue, struct stet_error *err);

/** Remove the copy: the rewrite is complete, or the old bytes are back. */
void st_rescue_end(struct st_rescued *rescued, struct st_rescue *rescue);

/** Keep and report the copy: the rewrite failed half way. */
void st_rescue_report(struct st_rescued *rescued, const char *path, struct st_rescue *rescue);

/** A rescued copy; the strings are borrowed. */
struct st_rescued_copy {
	/** The name of its file, without a suffix. */
	const char *name;
	/** The file that the bytes belong to; of a long path only the end. */
	const char *path;
	/** When it was written: nanoseconds since 1970. */
	int64_t at;
	uint64_t size;
};

/**
 * Call a function for the newest copies, the newest first.
 *
 * @return 0, also if there is none, or STET_E_NOMEM.
 */
[[nodiscard]] int st_rescued_list(struct st_rescued *rescued, size_t limit,
                                  void (*each)(void *data, const struct st_rescued_copy *copy),
                                  void *data, struct stet_error *err);

/**
 * Read a copy.
 *
 * @name   As st_rescued_list() has it.
 * @path   Receives the path of the file that the bytes belong to.
 * @bytes  Receives the bytes, of at most ST_FILE_MAX.
 * @return 0, STET_E_NOT_FOUND, or the codes of st_file_fetch().
 */
[[nodiscard]] int st_rescued_read(struct st_rescued *rescued, const char *name, struct st_buf *path,
                                  struct st_buf *bytes, struct stet_error *err);

/**
 * Report the copies that crashed processes left behind. Sets
 * rescued->recovered when all were read.
 */
void st_rescued_recover(struct st_rescued *rescued);

#endif
