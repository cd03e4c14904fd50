#include "lib/checkouts.h"

#include "base/json.h"

void git_run(const struct dir *dir, const char *where, const char *const *argv) {
	st_auto(st_buf) output = ST_BUF_INIT;
	int status = run(dir, &output, argv);
	if (status != 0)
		print_error("git in %s: %s\n", where, st_buf_cstr(&output));
	assert_int_equal(status, 0);
}

void use_own_state(const struct dir *dir) {
	assert_int_equal(mkdir(dir_at(dir, "state"), 0700), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", dir_at(dir, "state"), 1), 0);
}

void make_repository(const struct dir *dir) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 1; i <= 20; i++)
		st_buf_addf(&text, "line %d\n", i);
	assert_int_equal(mkdir(dir_at(dir, "main"), 0700), 0);
	git(dir, "main", "init", "-q", "-b", "main");
	git(dir, "main", "config", "user.email", "test@example.com");
	git(dir, "main", "config", "user.name", "Test");
	dir_write(dir, "main/a.txt", text.ptr);
	git(dir, "main", "add", ".");
	git(dir, "main", "commit", "-q", "-m", "first");
}

struct worker_at worker_open(const struct dir *dir, const char *where, const char *name) {
	struct worker_at worker = {0};
	assert_int_equal(stet_workspace_open(dir_at(dir, where), &worker.ws, NULL), 0);
	assert_int_equal(stet_workspace_set(worker.ws, STET_OPTION_STATE, 2, NULL), 0);
	assert_int_equal(stet_session_open(worker.ws, name, &worker.session, NULL), 0);
	return worker;
}

void worker_close(struct worker_at *worker) {
	stet_session_close(worker->session);
	stet_workspace_close(worker->ws);
	*worker = (struct worker_at){0};
}

char *worker_call(struct worker_at *worker, const char *tool, const char *args) {
	struct stet_error err = {0};
	char *out = NULL;
	int code = stet_call(worker->session, tool, args, strlen(args), &out, NULL, &err);
	if (code < 0)
		print_error("%s: %s\n", tool, err.message);
	assert_int_equal(code, 0);
	return out;
}

char *worker_edit(struct worker_at *worker, const char *path, const char *old, const char *new) {
	struct stet_json *json = stet_json_new();
	stet_json_set_text(json, "/path", path, strlen(path));
	st_auto(st_buf) edits = ST_BUF_INIT;
	st_buf_adds(&edits, "[{\"oldText\":");
	st_json_quote(&edits, st_str(old));
	st_buf_adds(&edits, ",\"newText\":");
	st_json_quote(&edits, st_str(new));
	st_buf_adds(&edits, "}]");
	stet_json_set_json(json, "/edits", edits.ptr, edits.len);
	char *args = stet_json_write(json, 0, NULL);
	assert_non_null(args);
	char *answer = worker_call(worker, "edit_file", args);
	stet_free(args);
	stet_json_free(json);
	return answer;
}

bool who_has(struct worker_at *worker, const char *text) {
	struct stet_error err = {0};
	char *json = NULL;
	size_t len = 0;
	int code = stet_who(worker->ws, &json, &len, &err);
	if (code < 0)
		print_error("stet_who: %s\n", err.message);
	assert_int_equal(code, 0);
	assert_int_equal(strlen(json), len);
	bool has = strstr(json, text) != NULL;
	if (getenv("STET_SHOW"))
		print_message("%s\n", json);
	stet_free(json);
	return has;
}
