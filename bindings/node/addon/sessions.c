/* Workspaces and sessions: reads, writes, edits, checks, and the tools by name. */
#include <string.h>

#include "call.h"

static napi_value open_workspace(struct call *call) {
	struct stet_workspace *ws = NULL;
	int code = stet_workspace_open(PATH(call, 0), &ws, &call->err);
	return call_handle(call, code, HANDLE_WORKSPACE, ws);
}

static napi_value set_option(struct call *call) {
	return call_done(call, stet_workspace_set(POINTER(call), (enum stet_option)NUMBER(call, 1),
	                                          NUMBER(call, 2), &call->err));
}

static napi_value root_of_workspace(struct call *call) {
	return value_of_string(call->env, stet_workspace_root(POINTER(call)));
}

static napi_value open_session(struct call *call) {
	struct stet_session *session = NULL;
	int code = stet_session_open(POINTER(call), PATH(call, 1), &session, &call->err);
	return call_handle(call, code, HANDLE_SESSION, session);
}

static napi_value root_of_session(struct call *call) {
	return value_of_string(call->env, stet_workspace_root(WORKSPACE(call)));
}

static napi_value close_handle(struct call *call) {
	handle_close(call->env, HANDLE(call));
	return NULL;
}

static napi_value read_file(struct call *call) {
	struct stet_answer *answer = NULL;
	int code = stet_session_read(SESSION(call), PATH(call, 1), (size_t)NUMBER(call, 2),
	                             (size_t)NUMBER(call, 3), &answer, &call->err);
	return call_answer(call, code, answer);
}

static napi_value write_file(struct call *call) {
	struct stet_answer *answer = NULL;
	int code = stet_session_write(SESSION(call), PATH(call, 1), TEXT(call, 2).ptr,
	                              TEXT(call, 2).len, PATH(call, 3), &answer, &call->err);
	return call_answer(call, code, answer);
}

static napi_value edit_file(struct call *call) {
	struct stet_answer *answer = NULL;
	int code =
		stet_session_edit(SESSION(call), PATH(call, 1), TEXT(call, 2).ptr, TEXT(call, 2).len,
	                      TEXT(call, 3).ptr, TEXT(call, 3).len, PATH(call, 4), &answer, &call->err);
	return call_answer(call, code, answer);
}

/* For answers without a diff: lines that an answer does not show do not count as seen. */
static napi_value edit_unshown(struct call *call) {
	const struct text *old = &TEXT(call, 2), *new = &TEXT(call, 3);
	return call_done(call, old->len
	                           ? stet_session_edit(SESSION(call), PATH(call, 1), old->ptr, old->len,
	                                               new->ptr, new->len, NULL, NULL, &call->err)
	                           : stet_session_write(SESSION(call), PATH(call, 1), new->ptr,
	                                                new->len, NULL, NULL, &call->err));
}

static napi_value check(struct call *call) {
	struct stet_answer *answer = NULL;
	int code = stet_session_check(SESSION(call), PATH(call, 1), &answer, &call->err);
	return call_answer(call, code, answer);
}

static napi_value check_conflict(struct call *call) {
	struct stet_answer *answer = NULL;
	int code = stet_session_check(SESSION(call), PATH(call, 1), &answer, &call->err);
	return call_conflict(call, code, answer);
}

static napi_value track_read(struct call *call) {
	return call_done(call, stet_session_track_read(SESSION(call), PATH(call, 1), &call->err));
}

static napi_value track(struct call *call) {
	return call_done(call, stet_session_track(SESSION(call), PATH(call, 1), TEXT(call, 2).ptr,
	                                          TEXT(call, 2).len, &call->err));
}

static napi_value is_modified(struct call *call) {
	int code = stet_session_modified(SESSION(call), PATH(call, 1), &call->err);
	return code < 0 ? call_throw(call, code, NULL) : value_of_bool(call->env, code);
}

static napi_value invalidate(struct call *call) {
	stet_session_invalidate(SESSION(call), PATH(call, 1));
	return NULL;
}

/* An answer is returned also if the tool refused; only a call without one fails. */
static napi_value call_tool(struct call *call) {
	char *answer = NULL;
	size_t len = 0;
	int code = stet_call(SESSION(call), PATH(call, 1), TEXT(call, 2).ptr, TEXT(call, 2).len,
	                     &answer, &len, &call->err);
	return call_string(call, answer ? 0 : code, answer, len);
}

static napi_value tool_json(struct call *call) {
	char *json = stet_tool_json((size_t)NUMBER(call, 0));
	return call_string(call, 0, json, json ? strlen(json) : 0);
}

static napi_value version(struct call *call) {
	return value_of_string(call->env, stet_version());
}

const struct function session_functions[] = {
	{"openWorkspace", "p", open_workspace},
	{"setOption", "Wnn", set_option},
	{"rootOfWorkspace", "W", root_of_workspace},
	{"openSession", "Wo", open_session},
	{"rootOfSession", "S", root_of_session},
	{"close", "H", close_handle},
	{"read", "Spnn", read_file},
	{"write", "Spto", write_file},
	{"edit", "Sptto", edit_file},
	{"editUnshown", "Sptt", edit_unshown},
	{"check", "Sp", check},
	{"checkConflict", "Sp", check_conflict},
	{"trackRead", "Sp", track_read},
	{"track", "Spt", track},
	{"isModified", "Sp", is_modified},
	{"invalidate", "Sp", invalidate},
	{"call", "Sst", call_tool},
	{"toolJson", "n", tool_json},
	{"version", "", version},
	{0},
};
