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
#ifndef STET_FS_PATH_TRUST_H
#define STET_FS_PATH_TRUST_H

#include <sys/types.h>

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

#endif
