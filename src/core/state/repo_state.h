/**
 * The state of the work, as data (spec 2): the files that were read or
 * written, the tasks that remain, the story they belong to.
 *
 * What fills it is core/state/repo_track (from the store and the disk); what turns
 * it into text for a prompt is core/prompt/snapshot. Neither needs the other.
 */
#ifndef STET_CORE_STATE_REPO_STATE_H
#define STET_CORE_STATE_REPO_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/file/version.h"

/** A file's status is relative to the start of the story. */
enum st_file_status {
	ST_FILE_UNCHANGED,
	ST_FILE_CREATED,
	ST_FILE_MODIFIED,
	/** Was there, or was made, in this story, and is gone. */
	ST_FILE_DELETED,
};

struct st_repo_file {
	/** Relative to the root; any bytes but NUL. */
	const char *path;
	/** What is there; nothing if the file is gone, or what is in it is not known. */
	struct st_version version;
	enum st_file_status status;
	/** Somebody else changed it since the session read it. */
	bool external;
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
};

struct st_repo_state {
	const char *work_dir;
	/** Empty if no story was started. */
	const char *story_id;
	/** Whether the story has prompts use the snapshot: 1, 0, or -1 if it does not say. */
	int use_snapshot;
	/** By path, bytewise. */
	struct st_repo_file *files;
	size_t file_count;
	/** By priority, then id. Completed ones are among them. */
	struct st_repo_task *tasks;
	size_t task_count;
	/** Nanoseconds since 1970, UTC; 0 if it is not known. */
	int64_t last_updated;
};

#endif
