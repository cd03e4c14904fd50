/*
 * For Go: a call into C costs as much as ten small functions, so each of these makes a whole call on a
 * session and reads everything from its answer at once.
 */
#ifndef STET_GO_BRIDGE_H
#define STET_GO_BRIDGE_H

#include <stet/stet.h>

/* The result of a call. */
struct reply {
	/* 0 or a count, or a negative STET_E_*. */
	int code;
	/* The message of the failure, to be freed with free(); NULL on success. */
	char *error;
	/* The answer, to be freed with stet_answer_free(); NULL if the call has none. It owns the members below. */
	struct stet_answer *answer;
	const char *status, *path, *reason, *message, *hash, *full_hash, *commit;
	const char *content, *diff;
	size_t content_len, diff_len, first_line, last_line, total_lines, matches, notices;
	int diff_truncated, noop, created, merged;
	/* A text, to be freed with stet_free(); NULL if the call has none. */
	char *text;
	size_t text_len;
	int64_t number;
};

/* Each fills the reply. A path ends with NUL; a text has a length. */
void bridge_open(const char *root, struct stet_workspace **out, struct reply *reply);
void bridge_set(struct stet_workspace *ws, int option, int64_t value, struct reply *reply);
void bridge_session(struct stet_workspace *ws, const char *name, struct stet_session **out,
                    struct reply *reply);
void bridge_read(struct stet_session *session, const char *path, size_t first, size_t count,
                 struct reply *reply);
void bridge_write(struct stet_session *session, const char *path, const char *text, size_t len,
                  const char *expected, struct reply *reply);
void bridge_edit(struct stet_session *session, const char *path, const char *before,
                 size_t before_len, const char *after, size_t after_len, const char *expected,
                 struct reply *reply);
void bridge_check(struct stet_session *session, const char *path, struct reply *reply);
void bridge_track(struct stet_session *session, const char *path, const char *text, size_t len,
                  struct reply *reply);
void bridge_track_read(struct stet_session *session, const char *path, struct reply *reply);
void bridge_modified(struct stet_session *session, const char *path, struct reply *reply);
void bridge_call(struct stet_session *session, const char *tool, const char *args, size_t len,
                 struct reply *reply);

void bridge_story(struct stet_session *session, const char *id, struct reply *reply);
void bridge_task_add(struct stet_session *session, const char *text, size_t len, int64_t priority,
                     struct reply *reply);
void bridge_task_complete(struct stet_session *session, int64_t id, struct reply *reply);
void bridge_record(struct stet_session *session, const char *tool, const char *json, size_t len,
                   struct reply *reply);
void bridge_state(struct stet_session *session, struct reply *reply);
void bridge_flush(struct stet_session *session, struct reply *reply);
void bridge_format(const char *json, size_t len, size_t budget, struct reply *reply);
void bridge_prompt(const char *system, size_t system_len, const char *snapshot, size_t snapshot_len,
                   const char *more, size_t more_len, struct reply *reply);

/* A watcher that keeps what it reports: "event\0path\0" for each change since the last dispatch. */
struct bridge_watcher;
void bridge_watch(const char *root, struct bridge_watcher **out, struct reply *reply);
void bridge_dispatch(struct bridge_watcher *watcher, struct reply *reply);
void bridge_wake(struct bridge_watcher *watcher);
void bridge_unwatch(struct bridge_watcher *watcher);

#endif
