/**
 * What filesystems do: how far stet can rely on them, and which spellings of a
 * protected name they accept.
 */
#ifndef STET_FS_PATH_FILESYSTEM_H
#define STET_FS_PATH_FILESYSTEM_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * How far stet can rely on a filesystem's leases, times and cached pages.
 *
 * On a local filesystem this kernel sees every writer: a lease makes a writer
 * wait, and a file's times and cached pages are those of its last write. A
 * FUSE, network or stacked filesystem can change behind this kernel's back: a
 * writer on the other side breaks no lease, and the kernel's cache may hold an
 * earlier version. There, stet makes the kernel fetch the bytes again before
 * each read:
 *
 *     bool shared = st_trust_of(fd, st.st_dev) == ST_TRUST_NONE;
 *     if (shared)
 *             st_file_freshen(fd);
 *
 * docs/filesystems.md lists the filesystems and what stet promises on each.
 */
enum st_trust {
	/** Leases, times and pages are reliable; times have the clock's resolution. */
	ST_TRUST_FULL,
	/** The same, but the filesystem may round times to one or two seconds. */
	ST_TRUST_COARSE,
	/** None of them is: other machines or programs may write unseen. */
	ST_TRUST_NONE,
};

/**
 * How far stet trusts the filesystem of an open file.
 *
 * @fd   The file; -1 means a filesystem that can be trusted.
 * @dev  Its device: the answer is cached per device.
 */
enum st_trust st_trust_of(int fd, dev_t dev);

/** The name of the filesystem if its trust is ST_TRUST_NONE, else NULL. */
const char *st_trust_name(int fd);

/*
 * Names that belong to git and to stet: no tool writes, moves or removes
 * anything in `.git` or in a state directory, at any depth.
 *
 * Every component of a path counts, because a nested workspace has a state
 * directory of its own. And a filesystem may accept several spellings of one
 * name: ext4 can fold case, normalise Unicode and ignore invisible characters;
 * FAT ignores dots and spaces at the end and has short names; NTFS and SMB take
 * a backslash for a separator and ignore a stream behind a colon. So these
 * functions treat every spelling that some filesystem accepts as the name.
 */

/** The name of the state directory, unless configured otherwise. */
#define ST_STATE_DIR ".stet"

/**
 * Whether a path leads to or through `.git`, `.stet` or the configured state
 * directory. The latter counts at any depth if its name begins with a dot,
 * otherwise only directly below the root: `src/state` may well be a directory
 * of the project.
 *
 * @path       Relative to the root, without links, "." and "..".
 * @state_dir  The configured name.
 */
bool st_path_is_protected(const char *path, const char *state_dir);

#endif
