/**
 * A workspace and a session over a test's directory.
 *
 *     static void a_claim(void **state) {
 *             struct host *host = *state;
 *             dir_write(host->dir, "a.txt", "hello");
 *             host_read(host, "a.txt");
 *             ...
 *     }
 *     host_claim(a_claim)
 */
#ifndef STET_TESTS_LIB_SESSION_H
#define STET_TESTS_LIB_SESSION_H

#include "lib/test.h"
#include "stet/session.h"

#define host_claim(function) cmocka_unit_test_setup_teardown(function, host_setup, host_teardown)

struct host {
	struct dir *dir;
	struct stet_workspace *ws;
	struct stet_session *session;
	struct stet_error err;
	/** The last answer, freed with the host or by the next call below. */
	struct stet_answer *answer;
};

int host_setup(void **state);
int host_teardown(void **state);

/** A second session over the same workspace; close it. */
struct stet_session *host_session(struct host *host, const char *name);

/** Calls on the host's session that leave their answer in host->answer and return the code. */
int host_read(struct host *host, const char *path);
int host_read_lines(struct host *host, const char *path, size_t first, size_t count);
int host_check(struct host *host, const char *path);
int host_write(struct host *host, const char *path, const char *text);
int host_write_hash(struct host *host, const char *path, const char *text, const char *hash);
int host_edit(struct host *host, const char *path, const char *old_text, const char *new_text);

#endif
