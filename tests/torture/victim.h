/**
 * A process to be killed, and the one that comes after it: for tests that kill
 * a process at some moment of its work and then look whether the next writer
 * finds the directory whole.
 *
 *     pid_t pid = victim_start(edit_forever, &scene);
 *     kill(pid, SIGKILL);
 *     assert_true(victim_end(pid));
 *     next_write(scene.dir, "other", hear, &scene);
 */
#ifndef STET_TESTS_TORTURE_VICTIM_H
#define STET_TESTS_TORTURE_VICTIM_H

#include "base/buf.h"
#include "lib/test.h"
#include "stet/stet.h"

/** A process's workspace and session. */
struct editor {
	struct stet_workspace *ws;
	struct stet_session *session;
};

bool editor_open(struct editor *editor, const struct dir *dir, bool durable);
void editor_close(struct editor *editor);

/** Zeroed memory that child processes share. */
void *shared_alloc(size_t size);
void shared_free(void *memory, size_t size);

/** Run a function in a process of its own, which dies with this one. The function does not return. */
pid_t victim_start(void (*function)(void *arg), void *arg);

/** Wait until the process has ended, by itself or by a kill. Returns whether it was killed. */
bool victim_end(pid_t pid);

/** Called with each notice. */
typedef void hear_notice(void *arg, const char *notice);

/** Hear the workspace's notices, also those of late writes. */
void hear_notices(struct editor *editor, hear_notice *hear, void *arg);

/** Write an empty file through stet in a directory where a process died, and hear all notices. */
void next_write(const struct dir *dir, const char *name, hear_notice *hear, void *arg);

/** Load the copy that a notice names. Returns false if it names none. */
bool load_rescued(const struct dir *dir, const char *notice, struct st_buf *copy);

#endif
