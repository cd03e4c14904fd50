#include "lib/session.h"

int desk_setup(void **state) {
	struct desk *desk = calloc(1, sizeof *desk);
	void *dir = NULL;
	if (!desk || dir_setup(&dir) < 0)
		return -1;
	desk->dir = dir;
	*state = desk;
	if (stet_workspace_open(desk->dir->path, &desk->ws, &desk->err) < 0 ||
	    stet_session_open(desk->ws, "agent", &desk->session, &desk->err) < 0) {
		fprintf(stderr, "%s\n", desk->err.message);
		return -1;
	}
	return 0;
}

int desk_teardown(void **state) {
	struct desk *desk = *state;
	void *dir = desk->dir;
	stet_answer_free(desk->answer);
	stet_session_close(desk->session);
	stet_workspace_close(desk->ws);
	free(desk);
	return dir_teardown(&dir);
}

struct stet_session *desk_session(struct desk *desk, const char *name) {
	struct stet_session *session = NULL;
	assert_int_equal(stet_session_open(desk->ws, name, &session, NULL), 0);
	return session;
}

static struct stet_answer **fresh(struct desk *desk) {
	stet_answer_free(desk->answer);
	desk->answer = NULL;
	desk->err = (struct stet_error){0};
	return &desk->answer;
}

int desk_read_lines(struct desk *desk, const char *path, size_t first, size_t count) {
	return stet_session_read(desk->session, path, first, count, fresh(desk), &desk->err);
}

int desk_read(struct desk *desk, const char *path) {
	return desk_read_lines(desk, path, 0, 0);
}

int desk_check(struct desk *desk, const char *path) {
	return stet_session_check(desk->session, path, fresh(desk), &desk->err);
}

int desk_write_hash(struct desk *desk, const char *path, const char *text, const char *hash) {
	return stet_session_write(desk->session, path, text, strlen(text), hash, fresh(desk),
	                          &desk->err);
}

int desk_write(struct desk *desk, const char *path, const char *text) {
	return desk_write_hash(desk, path, text, NULL);
}

int desk_edit(struct desk *desk, const char *path, const char *old_text, const char *new_text) {
	return stet_session_edit(desk->session, path, old_text, strlen(old_text), new_text,
	                         strlen(new_text), NULL, fresh(desk), &desk->err);
}
