/**
 * core/session holds what one client has seen of a workspace, and everything it
 * does there: reading, changing and moving files, receiving instructions. It
 * knows nothing of the database: it reports file events (file_event.h) and loads
 * and saves itself through the workspace's hooks. stet/session.h has the public
 * contract.
 */
#ifndef STET_CORE_SESSION_SESSION_H
#define STET_CORE_SESSION_SESSION_H

#include "core/session/delivered.h"
#include "core/session/answer.h"
#include "core/session/file_event.h"
#include "core/session/links.h"
#include "core/session/tracker.h"
#include "core/workspace/workspace.h"
#include "stet/session.h"
#include "text/diff/unified.h"

/** How much of a named session is stored; for core/state/saving.c. */
struct st_stored_session {
	/** Which opening of the store it is stored in (st_store.opened). */
	int64_t opened;
	/** The session's number in the store, 0 if it is not stored, and its version. */
	int64_t id;
	int64_t version;
	/** st_delivered.changes and st_links.changes as of then. */
	size_t delivered;
	size_t links;
};

/** The events that are not stored yet. Zeroed, the list is empty. */
struct st_file_events {
	struct st_file_event *items;
	size_t count;
	/** How many of them change files. */
	size_t writes;
};

/** Drop all events. */
void st_events_clear(struct st_file_events *events);

enum {
	/* Room for the longest name of a session. */
	ST_LABEL_MAX = 208,
	/* So many of its last writes a session without a name knows for its own. */
	ST_OWN_WRITES = 256,
};

/** The entries of the log that a write takes back, all of its file. */
struct st_undoing {
	/** Borrowed. */
	const int64_t *ids;
	size_t count;
	/** When, for all writes of one undo alike: nanoseconds since 1970. */
	int64_t at;
};

struct stet_session {
	struct stet_workspace *ws;
	/** May be NULL. */
	char *name;
	/** The name shown to people for a session without one: its client's name and number, or the program's name. */
	char label[ST_LABEL_MAX];
	/** The program in the label, if its client named one. */
	char program[65];
	struct st_tracker tracker;
	struct st_links links;
	struct st_delivered instructions;
	/** It lives for one call only, so it has seen nothing before. */
	bool stateless;
	/** The root's instructions were delivered, or there are none; the first answer brings them. */
	bool greeted;
	/** The client has the root's instructions in its system prompt: clearing the session keeps them. */
	bool instructed;
	/** How deep its calls are nested. */
	int call_depth;
	/** What is stored, and what will be once the current transaction commits. */
	struct st_stored_session stored, saving;
	/** The code of the last attempt to store it; 0 if that succeeded. */
	int unsaved;
	/** Whether this call's file events are collected, and those collected so far. */
	bool tracks;
	struct st_file_events events;
	/** The entries of the log that the next write undoes; zeroed for none. */
	struct st_undoing undoing;
	/** How many bytes the answer about the change set in progress has already; 0 if there is none. */
	size_t answer_bytes;
	/** When the change set in progress was written, for all its events alike; 0 for none. */
	int64_t change_time;
	/** A number for the run whose undo it was shown last, as a preview; 0 for none. */
	uint64_t previewed;
	/** The time of its last undo, if the answer showed all that came back; 0 otherwise. */
	int64_t shown_undo;
	/** The path of its last write; NULL for none. */
	char *last_wrote;
	/** The times of its last writes in the log, by which they are known: a ring, and how many there were. */
	int64_t own_writes[ST_OWN_WRITES];
	size_t own_write_count;
};

/** The writer's name in the log: the session's name, or its label. */
static inline const char *st_session_who(const struct stet_session *session) {
	return session->name ? session->name : session->label;
}

/**
 * The scope of one call on a session.
 *
 * When it begins, a named session loads what other processes stored under its
 * name. When it ends, the session stores its events and what it saw. Scopes
 * nest; only the outermost does anything.
 *
 *     [[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, false);
 */
struct st_call_scope {
	struct stet_session *session;
};

/**
 * Begin a call.
 *
 * @tool  A tool runs it: collect its file events at level ST_STATE_TOOLS too.
 */
struct st_call_scope st_call_scope_begin(struct stet_session *session, bool tool);

/** End a call. If it cannot be stored, a notice says so; the files are written all the same. */
void st_call_scope_release(struct st_call_scope *scope);

/** Whether the session made a write of the log. Without a name it may share its label with others. */
bool st_session_made(const struct stet_session *session, const char *who, int64_t at);

/** Report a file event; who, at and undoes are filled in. Does nothing if this call's events are not collected. */
void st_session_report(struct stet_session *session, const struct st_file_event *event);

/** Report that a file or directory was renamed; it reads the file to fill in the events. */
void st_session_report_move(struct stet_session *session, const char *from, const char *to,
                            bool is_dir);

/** How a file compares with what the session saw. */
enum st_seen_status {
	ST_UNTRACKED,
	ST_CLEAN,
	ST_MODIFIED,
	ST_DELETED,
};

/**
 * Locate, open and read a file, as st_file_load(). If the file still is what
 * the session saw, comparing the bytes replaces hashing them.
 *
 * @path   As the caller spells it.
 */
[[nodiscard]] int st_session_find(struct stet_session *session, const char *path,
                                  struct st_place *place, struct st_file *file,
                                  struct stet_error *err);

/** The same for a caller that cannot create the file: the message suggests a similar name. */
[[nodiscard]] int st_session_load(struct stet_session *session, const char *path,
                                  struct st_place *place, struct st_file *file,
                                  struct stet_error *err);

/**
 * Compare a file with what the session saw. An unchanged file costs one stat; if
 * the stamp leaves doubt, this compares the bytes.
 *
 * @path   As the caller spells it.
 * @seen   Receives the record, NULL if untracked.
 * @file   Receives the current version if it had to be read: always when
 *         modified, unless it is too large.
 * @return An st_seen_status, or a negative code.
 */
[[nodiscard]] int st_session_compare(struct stet_session *session, const char *path,
                                     struct st_seen **seen, struct st_file *file,
                                     struct stet_error *err);

/**
 * Call a function for every tracked file that was modified or deleted since the
 * session saw it. The function must not use the session.
 *
 * @return 0, STET_E_NOMEM or STET_E_CANCELLED.
 */
[[nodiscard]] int st_session_each_changed(struct stet_session *session,
                                          void (*each)(void *data, const char *path,
                                                       enum st_seen_status status),
                                          void *data, struct stet_error *err);

/**
 * React to an event for a file. If the file is no longer what the session saw,
 * checks report it as untracked from now on; changes are still refused until
 * the session reads it again.
 *
 * @path  Below the root.
 */
void st_session_mark_stale(struct stet_session *session, const char *path);

/**
 * Write a diff into an answer, bounded by the workspace's options.
 *
 * @base    The bytes that the session saw.
 * @report  Receives which lines the diff shows, to be released; may be NULL.
 * @return  0 or the codes of st_diff_unified().
 */
[[nodiscard]] int st_session_diff(struct stet_session *session, const char *path,
                                  struct st_str base, struct st_str now, struct stet_answer *answer,
                                  struct st_diff_report *report, struct stet_error *err);

/** The same for a difference that the caller has computed; report must not be NULL. */
[[nodiscard]] int st_session_diff_of(struct stet_session *session, const char *path,
                                     const struct st_diff *diff, struct stet_answer *answer,
                                     struct st_diff_report *report, struct stet_error *err);

/**
 * Record that the session has a version before it, and keep its bytes as a base
 * for later diffs. Which lines it has seen is for the caller to add.
 *
 * @asked  The path as the caller spelled it; recorded if it leads through a link.
 * @path   Below the root.
 * @return NULL if memory is short.
 */
struct st_seen *st_session_record(struct stet_session *session, const char *asked, const char *path,
                                  const struct st_file *file);

/** As st_session_record(), without keeping the bytes. */
struct st_seen *st_session_record_version(struct stet_session *session, const char *asked,
                                          const char *path, const struct st_version *version,
                                          size_t total);

/** Record that a spelling led to a file through a link, if it did. */
void st_session_add_link(struct stet_session *session, const char *asked, const char *path);

/** Forget where a spelling led. */
void st_session_drop_link(struct stet_session *session, const char *asked);

/**
 * Find the record of a file to be changed. If the spelling led to another file
 * when the session saw it, a link was changed since: then the record of that
 * other file is copied, because that is what the session believes to change.
 *
 * @return NULL if the session has not seen the file.
 */
struct st_seen *st_session_seen(struct stet_session *session, const char *asked, const char *path);

#endif
