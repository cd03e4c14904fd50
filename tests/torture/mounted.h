/**
 * A directory that is also seen through a filesystem in user space: what one
 * process does below the mount, the kernel is not told of above it.
 *
 *     struct mounted mounted;
 *     mounted_begin(&mounted, &mounted_kinds[MOUNTED_BINDFS], dir);
 *     ... work in mounted.path, let others write in dir->path ...
 *     mounted_end(&mounted);
 *
 * In a process with mounts of its own (child_may_mount()) it is gone with the
 * process, however that ends.
 */
#ifndef STET_TESTS_TORTURE_MOUNTED_H
#define STET_TESTS_TORTURE_MOUNTED_H

#include "lib/test.h"

struct mounted_kind {
	const char *program, *options;
	/** It speaks SFTP with a server on its standard input. */
	bool speaks_sftp;
};

/** Both as they come, and with all the caches that they offer. */
enum {
	MOUNTED_BINDFS,
	MOUNTED_BINDFS_CACHED,
	MOUNTED_SSHFS,
	MOUNTED_SSHFS_CACHED,
	MOUNTED_KINDS,
};

extern const struct mounted_kind mounted_kinds[MOUNTED_KINDS];

struct mounted {
	/** Where the directory is seen. */
	char path[300];
	/** The filesystem's process, and that of the SFTP server or -1. */
	pid_t pid, server;
};

/** Mount a directory beside itself; the test is skipped if the program is not there. */
void mounted_begin(struct mounted *mounted, const struct mounted_kind *kind, const struct dir *dir);
void mounted_end(struct mounted *mounted);

#endif
