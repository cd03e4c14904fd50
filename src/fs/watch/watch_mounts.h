/**
 * Notice mounts at and below a watched root. inotify does not: a mount hides a
 * watched directory without an event, and while we hold the root open the
 * kernel does not report that it was unmounted. /proc/self/mountinfo does.
 */
#ifndef STET_FS_WATCH_WATCH_MOUNTS_H
#define STET_FS_WATCH_WATCH_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/path/root.h"

struct st_mounts {
	/** Ready with EPOLLERR when a mount changes, for epoll. Waiting for it clears the state. */
	int wake;
	/** The same, for st_mounts_check(). */
	int table;
	/** The id of the root's mount; 0 if it is not in the table. */
	uint64_t root_id;
	/** A fingerprint of the root's mount and those below it. */
	uint64_t fingerprint;
};

#define ST_MOUNTS_INIT \
	{ .wake = -1, .table = -1 }

enum st_mounts_changed {
	ST_MOUNTS_SAME,
	/** A filesystem was mounted or unmounted below the root. */
	ST_MOUNTS_OTHER,
	/** The root's own mount is gone. */
	ST_MOUNTS_GONE,
};

/** Without /proc, st_mounts_check() always returns ST_MOUNTS_SAME. */
void st_mounts_open(struct st_mounts *mounts, const struct st_root *root);
void st_mounts_release(struct st_mounts *mounts);

/** Check for changes. Costs one system call if no mount changed. */
enum st_mounts_changed st_mounts_check(struct st_mounts *mounts, const struct st_root *root);

#endif
