#include "lib/session.h"

int host_setup(void **state) {
	struct host *host = calloc(1, sizeof *host);
	void *dir = NULL;
	if (!host || dir_setup(&dir) < 0)
		return -1;
	host->dir = dir;
	*state = host;
	if (stet_workspace_open(host->dir->path, &host->ws, &host->err) < 0 ||
	    stet_session_open(host->ws, "agent", &host->session, &host->err) < 0) {
		fprintf(stderr, "%s\n", host->err.message);
		return -1;
	}
	return 0;
}

int host_teardown(void **state) {
	struct host *host = *state;
	void *dir = host->dir;
	stet_answer_free(host->answer);
	stet_session_close(host->session);
	stet_workspace_close(host->ws);
	free(host);
	return dir_teardown(&dir);
}

struct stet_session *host_session(struct host *host, const char *name) {
	struct stet_session *session = NULL;
	assert_int_equal(stet_session_open(host->ws, name, &session, NULL), 0);
	return session;
}

static struct stet_answer **fresh(struct host *host) {
	stet_answer_free(host->answer);
	host->answer = NULL;
	host->err = (struct stet_error){0};
	return &host->answer;
}

int host_read_lines(struct host *host, const char *path, size_t first, size_t count) {
	return stet_session_read(host->session, path, first, count, fresh(host), &host->err);
}

int host_read(struct host *host, const char *path) {
	return host_read_lines(host, path, 0, 0);
}

int host_check(struct host *host, const char *path) {
	return stet_session_check(host->session, path, fresh(host), &host->err);
}

int host_write_hash(struct host *host, const char *path, const char *text, const char *hash) {
	return stet_session_write(host->session, path, text, strlen(text), hash, fresh(host),
	                          &host->err);
}

int host_write(struct host *host, const char *path, const char *text) {
	return host_write_hash(host, path, text, NULL);
}

int host_edit(struct host *host, const char *path, const char *old_text, const char *new_text) {
	return stet_session_edit(host->session, path, old_text, strlen(old_text), new_text,
	                         strlen(new_text), NULL, fresh(host), &host->err);
}
