/**
 * A workspace and a session over a test's directory.
 *
 *     static void a_claim(void **state) {
 *             struct desk *desk = *state;
 *             dir_write(desk->dir, "a.txt", "hello");
 *             track_read(desk, "a.txt");
 *             ...
 *     }
 *     desk_claim(a_claim)
 */
#ifndef STET_TESTS_LIB_SESSION_H
#define STET_TESTS_LIB_SESSION_H

#include "lib/test.h"
#include "stet/session.h"

#define desk_claim(function) cmocka_unit_test_setup_teardown(function, desk_setup, desk_teardown)

struct desk {
	struct dir *dir;
	struct stet_workspace *ws;
	struct stet_session *session;
	struct stet_error err;
	/** The last answer, freed with the desk or by the next call below. */
	struct stet_answer *answer;
};

int desk_setup(void **state);
int desk_teardown(void **state);

/** A second session over the same workspace; close it. */
struct stet_session *desk_session(struct desk *desk, const char *name);

/** Calls on the desk's session that leave their answer in desk->answer and return the code. */
int desk_read(struct desk *desk, const char *path);
int desk_read_lines(struct desk *desk, const char *path, size_t first, size_t count);
int desk_check(struct desk *desk, const char *path);
int desk_write(struct desk *desk, const char *path, const char *text);
int desk_write_hash(struct desk *desk, const char *path, const char *text, const char *hash);
int desk_edit(struct desk *desk, const char *path, const char *old_text, const char *new_text);

#endif
