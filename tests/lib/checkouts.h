/**
 * Checkouts of one repository for tests of places: a main one, worktrees and a
 * clone, each with a workspace of its own, and a user's state directory that no
 * other test uses.
 */
#ifndef STET_TESTS_LIB_CHECKOUTS_H
#define STET_TESTS_LIB_CHECKOUTS_H

#include <stet/stet.h>

#include "lib/run.h"

/** Run git in a directory below the test's; fails the test if git does. */
#define git(dir, where, ...) \
	git_run(dir, where, (const char *[]){"git", "-C", dir_at(dir, where), __VA_ARGS__, NULL})
void git_run(const struct dir *dir, const char *where, const char *const *argv);

/** Use `DIR/state` as the user's state directory. */
void use_own_state(const struct dir *dir);

/** Make a repository `main` with the file a.txt, which has the lines 1 to 20, committed. */
void make_repository(const struct dir *dir);

/** An agent at work: a workspace and a session. */
struct worker_at {
	struct stet_workspace *ws;
	struct stet_session *session;
};

struct worker_at worker_open(const struct dir *dir, const char *where, const char *name);
void worker_close(struct worker_at *worker);

/** Replace a text in a file with the tool edit_file; returns the answer, to be freed with stet_free(). */
char *worker_edit(struct worker_at *worker, const char *path, const char *old, const char *new);

/** Call a tool, which must succeed; the answer is to be freed with stet_free(). */
char *worker_call(struct worker_at *worker, const char *tool, const char *args);

/** Whether stet_who() has a text. */
bool who_has(struct worker_at *worker, const char *text);

#endif
