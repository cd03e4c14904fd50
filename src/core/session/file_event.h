/**
 * A file event: the access of a call to a file. A session collects its events; when
 * the call ends, core/state stores them as the state of the work and the log.
 */
#ifndef STET_CORE_SESSION_FILE_EVENT_H
#define STET_CORE_SESSION_FILE_EVENT_H

#include "fs/file/file.h"

enum st_event_kind {
	ST_EVENT_READ,
	/** Created or replaced. */
	ST_EVENT_WRITTEN,
	ST_EVENT_REMOVED,
	/** A directory was renamed to moved_to, with the files in it. */
	ST_EVENT_DIR_MOVED,
	/** A directory was removed, with the files in it. */
	ST_EVENT_DIR_REMOVED,
	/** A change was refused: the file is as it was. */
	ST_EVENT_REFUSED,
};

struct st_conflict;

struct st_file_event {
	/** Below the root, links resolved; owned by a list, borrowed elsewhere. */
	const char *path;
	enum st_event_kind kind;
	/** The versions before and after the event; a read has only the latter. */
	struct st_version before, after;
	/** The session, by its name or label; NULL if it has neither. Borrowed. */
	const char *who;
	/** Nanoseconds since 1970. */
	int64_t at;
	/** The entry of the log that this write undoes; 0 for none. */
	int64_t undoes;
	/** Further entries of the same file that it takes back, of a run; owned by a list, borrowed elsewhere. */
	const int64_t *undoes_too;
	size_t undoes_too_count;
	/** Of a refusal, or of a write that was merged (conflict.h); owned by a list, borrowed elsewhere. */
	const struct st_conflict *conflict;
	/** The new name of a directory that was moved, or of a file, in the event that it is gone. */
	const char *moved_to;
	/** The file came here by a move: the session did not see its bytes. */
	bool moved;
	/** Another program's tool did it: the version before is unknown, and the event is not logged. */
	bool foreign;
	/** fs/versions already has the version before. */
	bool archived;
};

/** Whether a file was written or removed. */
static inline bool st_file_event_is_write(const struct st_file_event *event) {
	return event->kind == ST_EVENT_WRITTEN || event->kind == ST_EVENT_REMOVED;
}

/** Whether it concerns a directory. */
static inline bool st_file_event_is_dir(const struct st_file_event *event) {
	return event->kind == ST_EVENT_DIR_MOVED || event->kind == ST_EVENT_DIR_REMOVED;
}

/** Whether it goes into the log. */
static inline bool st_file_event_is_logged(const struct st_file_event *event) {
	return st_file_event_is_write(event) && !event->foreign;
}

#endif
