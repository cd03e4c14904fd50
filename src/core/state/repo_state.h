/**
 * The state of the work, as plain data: the files that sessions read or
 * wrote, the tasks, and the story they belong to. core/state/repo_track fills it
 * from the store and the disk; core/prompt/snapshot turns it into text.
 */
#ifndef STET_CORE_STATE_REPO_STATE_H
#define STET_CORE_STATE_REPO_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/file/file.h"

/** A file's status is relative to the start of the story. */
enum st_file_status {
	ST_FILE_UNCHANGED,
	ST_FILE_CREATED,
	ST_FILE_MODIFIED,
	/** It existed at some time in this story. */
	ST_FILE_DELETED,
	/** Another program's tool wrote it, and nobody knows whether it existed before. */
	ST_FILE_WRITTEN,
	ST_FILE_STATUSES,
};

/** The name of a status, as in repostate.json. */
static inline const char *st_file_status_name(enum st_file_status status) {
	static const char *const names[ST_FILE_STATUSES] = {"unchanged", "created", "modified",
	                                                    "deleted", "written"};
	return names[status];
}

struct st_repo_file {
	/** Relative to the root; any bytes but NUL. */
	const char *path;
	/** The current version; does not exist if the file is gone, or its contents are unknown. */
	struct st_version version;
	enum st_file_status status;
	/** Another session or program changed it since this session read it, or since any did. */
	bool external;
	/** This session has read or written it. */
	bool read;
	/** The session that made this version; NULL for this session, or if it is unknown. */
	const char *who;
	/** Larger for files that changed more recently. */
	int64_t changed;
};

enum st_task_status {
	ST_TASK_PENDING,
	ST_TASK_IN_PROGRESS,
	ST_TASK_COMPLETED,
};

struct st_repo_task {
	int64_t id;
	const char *description;
	enum st_task_status status;
	/** The lowest comes first. */
	int64_t priority;
	/** The session that works on it; NULL for none. */
	const char *owner;
	/** Where that session works, if it is another place; NULL for this one. */
	const char *place;
	/** Until when its claim holds, in nanoseconds since 1970; 0 without a hub. */
	int64_t expires;
};

struct st_repo_state {
	const char *work_dir;
	/** Empty if no story was started. */
	const char *story_id;
	/** Whether prompts of the story use the snapshot: 1, 0, or -1 for the configured default. */
	int use_snapshot;
	/** Sorted by path, bytewise. */
	struct st_repo_file *files;
	size_t file_count;
	/** Sorted by priority, then id; includes completed ones. */
	struct st_repo_task *tasks;
	size_t task_count;
	/** Nanoseconds since 1970, UTC; 0 if unknown. */
	int64_t last_updated;
};

#endif
