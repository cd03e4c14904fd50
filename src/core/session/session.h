/** The inside of a session; its contract is in stet/session.h. */
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

/** Up to where a named session is stored; for core/state/saving.c. */
struct st_stored_session {
	/** st_store's, when that was. */
	int64_t opened;
	/** The session's number there, 0 if it is not stored, and its version. */
	int64_t id;
	int64_t version;
	/** The changes of st_delivered and st_links. */
	size_t delivered;
	size_t links;
};

/** What calls did, until it is stored. Zeroed, it is empty. */
struct st_file_events {
	struct st_file_event *items;
	size_t count;
	/** How many of them are not reads. */
	size_t writes;
};

/** They are stored. */
void st_events_clear(struct st_file_events *events);

enum { ST_LABEL_MAX = 96 };

struct stet_session {
	struct stet_workspace *ws;
	/** May be NULL. */
	char *name;
	/** What people read where it has no name: its client's name and number, or the program's name. */
	char label[ST_LABEL_MAX];
	struct st_tracker tracker;
	struct st_links links;
	struct st_delivered instructions;
	/** It ends with the call: what it is told of it cannot rely on what came before. */
	bool stateless;
	/** The root's instructions were looked for, to go with the first answer. */
	bool greeted;
	/** They are in what the client tells its model at the start, and stay there when the rest is forgotten. */
	bool instructed;
	/** It was told at length that others may write unseen where it writes. */
	bool warned;
	/** How deep its calls are nested. */
	int visits;
	/** What is stored, and what will be once the transaction under way is through. */
	struct st_stored_session stored, saving;
	/** The last attempt to store it failed. */
	int unsaved;
	/** Whether this call's files are part of the state of the work, and what it did to them. */
	bool tracks;
	struct st_file_events events;
	/** The write that the next one takes back, by its number in the log; 0 for none. */
	int64_t undoing;
	/** What it wrote last; NULL for nothing. */
	char *last_wrote;
};

/** Who wrote, as the log keeps it: the session's name, or its label. */
static inline const char *st_session_who(const struct stet_session *session) {
	return session->name ? session->name : session->label;
}

/**
 * One call on a session, from its beginning to its end.
 *
 * At the beginning a named session takes over what another process stored
 * under its name meanwhile; at the end its events and what it saw are stored.
 * Calls nest; only the outermost does anything.
 *
 *     [[maybe_unused]] st_auto(st_call_scope) visit = st_call_scope_begin(session, false);
 */
struct st_call_scope {
	struct stet_session *session;
};

/**
 * Begin a call.
 *
 * @tool  It is a tool's: files are tracked for the state of the work too.
 */
struct st_call_scope st_call_scope_begin(struct stet_session *session, bool tool);

/** End it. What cannot be stored is said in a notice: the files are as they are all the same. */
void st_call_scope_release(struct st_call_scope *scope);

/** Report a file event; who, at and undoes are filled in. Nothing happens where files are not tracked. */
void st_call_did(struct stet_session *session, const struct st_file_event *event);

/** Report that a file or directory has another name now; a look at the disk tells the rest. */
void st_call_moved(struct stet_session *session, const char *from, const char *to, bool is_dir);

/** How a tracked file stands. */
enum st_standing {
	ST_UNTRACKED,
	ST_CLEAN,
	ST_MODIFIED,
	ST_DELETED,
};

/**
 * Locate, open and read a file, as st_file_load(). One that holds what the
 * session saw of it is compared with that instead of being hashed again.
 *
 * @path   As the caller spells it.
 */
[[nodiscard]] int st_session_find(struct stet_session *session, const char *path,
                                  struct st_place *place, struct st_file *file,
                                  struct stet_error *err);

/** The same for a caller that cannot make the file: the message suggests a similar name. */
[[nodiscard]] int st_session_load(struct stet_session *session, const char *path,
                                  struct st_place *place, struct st_file *file,
                                  struct stet_error *err);

/**
 * Compare a file with what the session saw. An unchanged file costs one look;
 * any doubt is settled by its bytes.
 *
 * @path   As the caller spells it.
 * @seen   Receives the record, NULL if untracked.
 * @file   Receives the current version if it had to be read: always when
 *         modified, unless it is too large to be read.
 * @return An st_standing, or a negative code.
 */
[[nodiscard]] int st_session_stand(struct stet_session *session, const char *path,
                                   struct st_seen **seen, struct st_file *file,
                                   struct stet_error *err);

/**
 * Call a function for every tracked file that is not what the session saw, be
 * it modified or deleted. It must not use the session.
 *
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_session_sweep(struct stet_session *session,
                                   void (*each)(void *data, const char *path,
                                                enum st_standing standing),
                                   void *data, struct stet_error *err);

/**
 * An event said that a file changed or is gone. If its bytes are not those that
 * the session saw, checks no longer find it tracked, while changes to it are
 * refused as before until it is read again.
 *
 * @path  Below the root.
 */
void st_session_outdate(struct stet_session *session, const char *path);

/**
 * Put the diff from what the session saw to a version into an answer.
 *
 * @base    The bytes that were seen.
 * @report  Receives what was shown, to be released; may be NULL.
 * @return  0 or the codes of st_diff_unified().
 */
[[nodiscard]] int st_session_diff(struct stet_session *session, const char *path,
                                  struct st_str base, struct st_str now, struct stet_answer *answer,
                                  struct st_diff_report *report, struct stet_error *err);

/** The same of a difference that is there already: of the two whole texts. */
[[nodiscard]] int st_session_diff_of(struct stet_session *session, const char *path,
                                     const struct st_diff *diff, struct stet_answer *answer,
                                     struct st_diff_report *report, struct stet_error *err);

/**
 * Record a version as met, with its bytes as a base for later diffs.
 *
 * @asked  As the caller spelled the path: where that led is remembered.
 * @path   Below the root.
 * @return NULL if memory is short.
 */
struct st_seen *st_session_record(struct stet_session *session, const char *asked, const char *path,
                                  const struct st_file *file);

/** As st_session_record(), for a version whose bytes are a base already. */
struct st_seen *st_session_record_version(struct stet_session *session, const char *asked,
                                          const char *path, const struct st_version *version,
                                          size_t total);

/** A spelling led to a file that the session has seen or written. */
void st_session_led(struct stet_session *session, const char *asked, const char *path);

/** What a spelling led to is gone, and the session was told. */
void st_session_unlink(struct stet_session *session, const char *asked);

/**
 * The record of a file that is to be changed. A spelling that led to another
 * file when the session saw it has been pointed elsewhere since: then what was
 * seen there is what the session knows of this file.
 *
 * @return NULL if it has not been seen.
 */
struct st_seen *st_session_seen(struct stet_session *session, const char *asked, const char *path);

#endif
