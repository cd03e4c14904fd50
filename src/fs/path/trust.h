/**
 * What a filesystem lets us rely on.
 *
 * On a local filesystem every writer comes through this kernel: a lease holds
 * him up, and a file's times and pages are those of its last write. A
 * filesystem in user space, on another machine or stacked on a second one has
 * a side that this kernel does not see. Somebody who writes there breaks no
 * lease, and what the kernel remembers of a file may be of an earlier version.
 * There only bytes count that were asked for anew:
 *
 *     bool shared = st_trust_of(fd, st.st_dev) == ST_TRUST_NONE;
 *     if (shared)
 *             st_file_freshen(fd);
 *
 * docs/filesystems.md has the list and what is promised on each.
 */
#ifndef STET_FS_PATH_TRUST_H
#define STET_FS_PATH_TRUST_H

#include <sys/types.h>

enum st_trust {
	/** Leases, times and pages; times follow the ticks of the clock. */
	ST_TRUST_FULL,
	/** The same, but times may be whole or even seconds. */
	ST_TRUST_COARSE,
	/** None of them: others may write below it. */
	ST_TRUST_NONE,
};

/**
 * How far the filesystem of an open file is trusted.
 *
 * @fd   -1 for the usual.
 * @dev  Its device, so that the filesystem need not be asked each time.
 */
enum st_trust st_trust_of(int fd, dev_t dev);

/** The filesystem's name if it is not trusted at all, else NULL. */
const char *st_trust_name(int fd);

#endif
