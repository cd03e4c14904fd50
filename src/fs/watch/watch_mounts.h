/**
 * Mounts below a watched root. inotify says nothing of them: what is mounted
 * over a watched directory hides it without an event, and a root that somebody
 * holds open is never unmounted for good. The table of mounts tells.
 */
#ifndef STET_FS_WATCH_WATCH_MOUNTS_H
#define STET_FS_WATCH_WATCH_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/path/root.h"

struct st_mounts {
	/** Becomes ready, with EPOLLERR, when any mount changes; whoever waits for it uses that up. */
	int wake;
	/** The same, for the next look. */
	int table;
	/** The mount that the root is in; 0 if it is not in the table. */
	uint64_t root_id;
	/** The root's mount and those below it, as a number. */
	uint64_t print;
};

#define ST_MOUNTS_INIT \
	{ .wake = -1, .table = -1 }

/** What a look found. */
enum st_mounts_changed {
	ST_MOUNTS_SAME,
	/** Something was mounted or unmounted below the root. */
	ST_MOUNTS_OTHER,
	/** The root's own mount is gone. */
	ST_MOUNTS_GONE,
};

/** Begin. Where there is no table of mounts (no /proc), nothing will ever be new. */
void st_mounts_open(struct st_mounts *mounts, const struct st_root *root);
void st_mounts_release(struct st_mounts *mounts);

/** Look what is new. Costs one call unless some mount changed. */
enum st_mounts_changed st_mounts_look(struct st_mounts *mounts, const struct st_root *root);

#endif
