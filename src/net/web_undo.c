#include "net/web_undo.h"

#include <stdlib.h>

#include "core/page/page.h"
#include "fs/file/hash.h"
#include "net/web.h"
#include "stet/tools.h"
#include "tools/host.h"

struct undo_task {
	struct st_pool_task task;
	/* NULL once the client is gone; stet completes the request all the same. */
	struct st_request *request;
	struct stet_host *host;
	char owner[ST_GATE_OWNER + 1];
	struct st_buf body;
	int status;
	struct st_buf answer;
};

static void undo_free(struct undo_task *task) {
	st_buf_release(&task->body);
	st_buf_release(&task->answer);
	free(task);
}

/* ---- the arguments ---- */

struct undo_args {
	/* Members of the body; NULL or empty if missing. */
	struct st_str agent, path, expected;
	int64_t id, workspace;
	bool redo;
};

static void read_args(yyjson_val *root, struct undo_args *args) {
	*args = (struct undo_args){
		.agent = st_json_str(yyjson_obj_get(root, "agent")),
		.path = st_json_str(yyjson_obj_get(root, "path")),
		.expected = st_json_str(yyjson_obj_get(root, "expected")),
		.id = st_json_int(yyjson_obj_get(root, "id")),
		.workspace = st_json_int(yyjson_obj_get(root, "ws")),
		.redo = yyjson_get_bool(yyjson_obj_get(root, "redo")),
	};
}

static void add_text(struct st_buf *json, const char *key, struct st_str text) {
	if (text.len == 0)
		return;
	st_buf_addf(json, ",\"%s\":", key);
	st_json_quote(json, text);
}

/* The arguments of the tool undo. */
static void write_call(const struct undo_args *args, bool preview, struct st_buf *json) {
	st_buf_addf(json, "{\"dryRun\":%s,\"redo\":%s", preview ? "true" : "false",
	            args->redo ? "true" : "false");
	if (args->id > 0)
		st_buf_addf(json, ",\"id\":%lld", (long long)args->id);
	add_text(json, "of", args->agent);
	add_text(json, "path", args->path);
	st_buf_addc(json, '}');
}

/* ---- the calls ---- */

/* Answer with a message that stands for itself. */
static void fail(struct undo_task *task, int status, const char *error, struct st_str message) {
	task->status = status;
	st_buf_clear(&task->answer);
	st_buf_addf(&task->answer, "{\"error\":\"%s\",\"message\":", error);
	st_json_quote(&task->answer, message);
	st_buf_addc(&task->answer, '}');
}

/* The data of a tool's answer, as JSON, into data. Returns the call's code. */
static int call_undo(struct stet_session *session, const struct undo_args *args, bool preview,
                     struct st_buf *data, struct stet_error *err) {
	st_auto(st_buf) json = ST_BUF_INIT;
	char *answer = NULL;
	size_t len = 0;
	yyjson_doc *doc = NULL;
	write_call(args, preview, &json);
	if (json.failed)
		return st_fail_nomem(err);
	int code = stet_call(session, "undo", json.ptr, json.len, &answer, &len, err);
	if (answer && st_json_parse_text(st_strn(answer, len), "The answer", &doc, NULL) == 0) {
		size_t data_len = 0;
		char *text = yyjson_val_write(yyjson_obj_get(yyjson_doc_get_root(doc), "structuredContent"),
		                              0, &data_len);
		st_buf_clear(data);
		st_buf_add(data, st_strn(text ? text : "null", text ? data_len : 4));
		free(text);
	}
	yyjson_doc_free(doc);
	stet_free(answer);
	return code;
}

/* A digest of the preview: it changes with every file and version in it. */
static bool digest_of(const struct st_buf *preview, char hex[ST_HASH_HEX + 1]) {
	struct st_hash hash;
	if (preview->failed || st_hash_of(st_buf_str(preview), &hash, NULL) < 0)
		return false;
	st_hash_hex(&hash, hex, ST_HASH_HEX);
	return true;
}

static void answer_preview(struct undo_task *task, const struct st_buf *preview, const char *digest,
                           bool changed) {
	task->status = changed ? 409 : 200;
	if (changed)
		st_buf_adds(&task->answer,
		            "{\"error\":\"conflict\",\"message\":\"The files changed since the preview. "
		            "Look at the new one.\",");
	else
		st_buf_addc(&task->answer, '{');
	st_buf_addf(&task->answer, "\"expected\":\"%s\",\"preview\":", digest);
	st_buf_add(&task->answer, st_buf_str(preview));
	st_buf_addc(&task->answer, '}');
}

static void fail_call(struct undo_task *task, int code, const struct stet_error *err) {
	fail(task, st_web_status(code), stet_error_name(code), st_str(err->message));
}

/* Preview; and if the caller has seen this very preview, do it. */
static void undo_in(struct undo_task *task, struct stet_session *session,
                    const struct undo_args *args) {
	st_auto(st_buf) preview = ST_BUF_INIT;
	st_auto(st_buf) done = ST_BUF_INIT;
	struct stet_error err = {0};
	char digest[ST_HASH_HEX + 1];
	int code = call_undo(session, args, true, &preview, &err);
	if (code < 0) {
		fail_call(task, code, &err);
		return;
	}
	if (!digest_of(&preview, digest)) {
		fail(task, 503, "no_memory", ST_STR("The server is out of memory."));
		return;
	}
	bool same = st_str_eq(args->expected, st_str(digest));
	if (!same) {
		answer_preview(task, &preview, digest, args->expected.len > 0);
		return;
	}
	code = call_undo(session, args, false, &done, &err);
	if (code < 0 && done.len == 0) {
		fail_call(task, code, &err);
		return;
	}
	task->status = code < 0 ? st_web_status(code) : 200;
	if (code < 0) {
		st_buf_addf(&task->answer, "{\"error\":\"%s\",\"message\":", stet_error_name(code));
		st_json_quote(&task->answer, st_str(err.message));
		st_buf_adds(&task->answer, ",\"done\":");
	} else {
		st_buf_adds(&task->answer, "{\"done\":");
	}
	st_buf_add(&task->answer, st_buf_str(&done));
	st_buf_addc(&task->answer, '}');
}

static void undo_as(struct undo_task *task, struct stet_client *client,
                    const struct undo_args *args) {
	struct stet_session *session = stet_client_borrow(client, (size_t)args->workspace);
	if (!session) {
		fail(task, 404, "not_found", ST_STR("There is no such workspace."));
		return;
	}
	undo_in(task, session, args);
	stet_client_return(client);
}

static void run_parsed(struct undo_task *task, yyjson_val *root) {
	struct undo_args args;
	struct stet_error err = {0};
	struct stet_client *client = NULL;
	read_args(root, &args);
	int code = stet_host_client(task->host, task->owner, ST_PAGE_SESSION, &client, &err);
	if (code < 0) {
		fail_call(task, code, &err);
		return;
	}
	if (st_client_is_read_only(client))
		fail(task, 403, "access", ST_STR("This token, or this server, may only read."));
	else if (args.workspace < 0 || (args.id <= 0 && args.agent.len == 0))
		fail(task, 400, "invalid", ST_STR("Name a write by \"id\", or whose by \"agent\"."));
	else
		undo_as(task, client, &args);
	stet_client_release(client);
}

static void run_undo(struct st_pool_task *base) {
	struct undo_task *task = (struct undo_task *)base;
	struct stet_error err = {0};
	yyjson_doc *doc = NULL;
	int code = st_json_parse(st_buf_str(&task->body), "The members of the request", &doc, &err);
	if (code < 0)
		fail_call(task, code, &err);
	else
		run_parsed(task, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
}

static void answer_undo(struct st_pool_task *base) {
	struct undo_task *task = (struct undo_task *)base;
	struct st_request *request = task->request;
	if (request) {
		st_request_watch(request, NULL, NULL);
		st_web_answer(request, task->answer.failed ? 503 : task->status, st_buf_str(&task->answer));
	}
	undo_free(task);
}

static void forget_undo(void *arg) {
	struct undo_task *task = arg;
	task->request = NULL;
}

void st_web_undo(struct st_pool *pool, struct stet_host *host, struct st_request *request) {
	struct undo_task *task = calloc(1, sizeof *task);
	if (!task) {
		st_web_refuse(request, 503, "no_memory", "The server is out of memory.");
		return;
	}
	*task = (struct undo_task){
		.task = {.run = run_undo, .done = answer_undo}, .request = request, .host = host};
	memcpy(task->owner, request->caller.owner, sizeof task->owner);
	st_buf_move(&task->body, &request->body);
	if (!st_pool_submit(pool, &task->task)) {
		undo_free(task);
		st_web_refuse(request, 503, "busy", "Too many calls are waiting. Try again.");
		return;
	}
	st_request_watch(request, forget_undo, task);
}
