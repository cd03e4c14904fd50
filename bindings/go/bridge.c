#include "bridge.h"

#include <stdlib.h>
#include <string.h>

/* Note how a call ended. */
static void reply_end(struct reply *reply, int code, const struct stet_error *err) {
	reply->code = code;
	if (code < 0)
		reply->error = strdup(err->message);
}

/* Note how a call ended, and copy all parts of its answer. */
static void reply_answer(struct reply *reply, int code, const struct stet_error *err,
                         struct stet_answer *answer) {
	reply_end(reply, code, err);
	reply->answer = answer;
	if (!answer)
		return;

	reply->status = stet_answer_status(answer);
	reply->path = stet_answer_path(answer);
	reply->reason = stet_answer_reason(answer);
	reply->message = stet_answer_message(answer);
	reply->hash = stet_answer_hash(answer);
	reply->full_hash = stet_answer_full_hash(answer);
	reply->commit = stet_answer_commit(answer);
	reply->content = stet_answer_content(answer, &reply->content_len);
	reply->diff = stet_answer_diff(answer, &reply->diff_len);
	reply->diff_truncated = stet_answer_diff_truncated(answer);
	reply->first_line = stet_answer_first_line(answer);
	reply->last_line = stet_answer_last_line(answer);
	reply->total_lines = stet_answer_total_lines(answer);
	reply->noop = stet_answer_noop(answer);
	reply->created = stet_answer_created(answer);
	reply->merged = stet_answer_merged(answer);
	while (stet_answer_match(answer, reply->matches))
		reply->matches++;
	while (stet_answer_notice(answer, reply->notices))
		reply->notices++;
}

void bridge_open(const char *root, struct stet_workspace **out, struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_workspace_open(root, out, &err), &err);
}

void bridge_set(struct stet_workspace *ws, int option, int64_t value, struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_workspace_set(ws, (enum stet_option)option, value, &err), &err);
}

void bridge_session(struct stet_workspace *ws, const char *name, struct stet_session **out,
                    struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_session_open(ws, name, out, &err), &err);
}

void bridge_read(struct stet_session *session, const char *path, size_t first, size_t count,
                 struct reply *reply) {
	struct stet_error err = {0};
	struct stet_answer *answer = NULL;
	int code = stet_session_read(session, path, first, count, &answer, &err);

	reply_answer(reply, code, &err, answer);
}

void bridge_write(struct stet_session *session, const char *path, const char *text, size_t len,
                  const char *expected, struct reply *reply) {
	struct stet_error err = {0};
	struct stet_answer *answer = NULL;
	int code = stet_session_write(session, path, text, len, expected, &answer, &err);

	reply_answer(reply, code, &err, answer);
}

void bridge_edit(struct stet_session *session, const char *path, const char *before,
                 size_t before_len, const char *after, size_t after_len, const char *expected,
                 struct reply *reply) {
	struct stet_error err = {0};
	struct stet_answer *answer = NULL;
	int code = stet_session_edit(session, path, before, before_len, after, after_len, expected,
	                             &answer, &err);

	reply_answer(reply, code, &err, answer);
}

void bridge_check(struct stet_session *session, const char *path, struct reply *reply) {
	struct stet_error err = {0};
	struct stet_answer *answer = NULL;
	int code = stet_session_check(session, path, &answer, &err);

	reply_answer(reply, code, &err, answer);
}

void bridge_track(struct stet_session *session, const char *path, const char *text, size_t len,
                  struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_session_track(session, path, text, len, &err), &err);
}

void bridge_track_read(struct stet_session *session, const char *path, struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_session_track_read(session, path, &err), &err);
}

void bridge_modified(struct stet_session *session, const char *path, struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_session_modified(session, path, &err), &err);
}

void bridge_call(struct stet_session *session, const char *tool, const char *args, size_t len,
                 struct reply *reply) {
	struct stet_error err = {0};
	int code = stet_call(session, tool, args, len, &reply->text, &reply->text_len, &err);

	reply_end(reply, code, &err);
}

void bridge_story(struct stet_session *session, const char *id, struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_story_begin(stet_session_workspace(session), id, &err), &err);
}

void bridge_task_add(struct stet_session *session, const char *text, size_t len, int64_t priority,
                     struct reply *reply) {
	struct stet_error err = {0};
	struct stet_workspace *ws = stet_session_workspace(session);

	reply_end(reply, stet_task_add(ws, text, len, priority, &reply->number, &err), &err);
}

void bridge_task_complete(struct stet_session *session, int64_t id, struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_task_complete(session, id, &err), &err);
}

void bridge_record(struct stet_session *session, const char *tool, const char *json, size_t len,
                   struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_record(session, tool, json, len, NULL, &err), &err);
}

void bridge_state(struct stet_session *session, struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_state_json(session, &reply->text, &reply->text_len, &err), &err);
}

void bridge_flush(struct stet_session *session, struct reply *reply) {
	struct stet_error err = {0};
	reply_end(reply, stet_state_flush(stet_session_workspace(session), &err), &err);
}

void bridge_format(const char *json, size_t len, size_t budget, struct reply *reply) {
	struct stet_error err = {0};
	int code = stet_snapshot_format(json, len, budget, &reply->text, &reply->text_len, &err);

	reply_end(reply, code, &err);
}

void bridge_prompt(const char *system, size_t system_len, const char *snapshot, size_t snapshot_len,
                   const char *more, size_t more_len, struct reply *reply) {
	struct stet_error err = {0};
	struct stet_context *context = stet_context_new();
	int code = stet_context_set(context, STET_CONTEXT_TEMPLATE, system, system_len, &err);

	if (code == 0)
		code = stet_context_set(context, STET_CONTEXT_SNAPSHOT, snapshot, snapshot_len, &err);
	if (code == 0)
		code = stet_context_set(context, STET_CONTEXT_ADDITIONAL, more, more_len, &err);
	if (code == 0)
		code = stet_context_prompt(context, &reply->text, &reply->text_len, &err);
	reply_end(reply, code, &err);
	stet_context_free(context);
}

/* A watcher, and its reports since the last dispatch. */
struct bridge_watcher {
	struct stet_watcher *watcher;
	char *text;
	size_t len, size;
	int failed;
};

static void reports_add(struct bridge_watcher *watcher, const char *text) {
	size_t len = strlen(text) + 1;

	if (watcher->size - watcher->len < len) {
		size_t size = (watcher->size + len) * 2;
		char *bigger = realloc(watcher->text, size);
		if (!bigger) {
			watcher->failed = 1;
			return;
		}
		watcher->text = bigger;
		watcher->size = size;
	}
	memcpy(watcher->text + watcher->len, text, len);
	watcher->len += len;
}

static void on_change(void *data, const char *path, const char *event) {
	reports_add(data, event);
	reports_add(data, path);
}

void bridge_watch(const char *root, struct bridge_watcher **out, struct reply *reply) {
	struct stet_error err = {STET_E_NOMEM, "Out of memory."};
	struct bridge_watcher *watcher = calloc(1, sizeof *watcher);
	int code = STET_E_NOMEM;

	if (watcher)
		code = stet_watcher_new(root, on_change, watcher, &watcher->watcher, &err);
	if (code == 0)
		code = stet_watcher_start(watcher->watcher, &err);
	reply_end(reply, code, &err);
	if (code < 0)
		bridge_unwatch(watcher);
	else
		*out = watcher;
}

void bridge_dispatch(struct bridge_watcher *watcher, struct reply *reply) {
	struct stet_error err = {0};

	free(watcher->text);
	watcher->text = NULL;
	watcher->len = watcher->size = 0;
	reply_end(reply, stet_watcher_dispatch(watcher->watcher, -1, &err), &err);
	if (watcher->failed && reply->code == 0) {
		reply->code = STET_E_NOMEM;
		reply->error = strdup("Out of memory: reports of the watcher are lost.");
	}
	/* It stays the watcher's, unlike other texts. */
	reply->content = watcher->text;
	reply->content_len = watcher->len;
}

void bridge_wake(struct bridge_watcher *watcher) {
	stet_watcher_wake(watcher->watcher);
}

void bridge_unwatch(struct bridge_watcher *watcher) {
	if (!watcher)
		return;
	stet_watcher_free(watcher->watcher);
	free(watcher->text);
	free(watcher);
}
