/**
 * A file event: what a call did to a file. A session collects them, and when the
 * call ends they become part of the state of the work and of the log.
 */
#ifndef STET_CORE_SESSION_FILE_EVENT_H
#define STET_CORE_SESSION_FILE_EVENT_H

#include "fs/file/version.h"

enum st_event_kind {
	ST_EVENT_READ,
	/** Created or replaced. */
	ST_EVENT_WRITTEN,
	ST_EVENT_REMOVED,
	/** A directory got another name: what is known of the files in it holds for those below moved_to. */
	ST_EVENT_DIR_MOVED,
	/** A directory is gone with the files in it. */
	ST_EVENT_DIR_REMOVED,
};

struct st_file_event {
	/** Below the root, links resolved; owned by a list, borrowed elsewhere. */
	const char *path;
	enum st_event_kind kind;
	/** What was there before the event, and what is there now; of a file that was read, only the latter. */
	struct st_version before, after;
	/** The session, by its name or label; NULL if it has neither. Borrowed. */
	const char *who;
	/** Nanoseconds since 1970. */
	int64_t at;
	/** The entry of the log that this write takes back; 0 for none. */
	int64_t undoes;
	const char *moved_to;
	/** Another program's tool did it: what was there before is not known, and it is not logged. */
	bool foreign;
	/** What was there before is on the shelf (fs/versions/versions.h) already. */
	bool archived;
};

/** Whether a file is another one now, or gone. */
static inline bool st_file_event_is_write(const struct st_file_event *event) {
	return event->kind == ST_EVENT_WRITTEN || event->kind == ST_EVENT_REMOVED;
}

/** Whether it is of a directory. */
static inline bool st_file_event_is_dir(const struct st_file_event *event) {
	return event->kind == ST_EVENT_DIR_MOVED || event->kind == ST_EVENT_DIR_REMOVED;
}

/** Whether it goes into the log, which is of files. */
static inline bool st_file_event_is_logged(const struct st_file_event *event) {
	return st_file_event_is_write(event) && !event->foreign;
}

#endif
