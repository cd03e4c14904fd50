/**
 * Reading a repository with git, in a way that its own configuration cannot turn
 * into running a program.
 *
 * git runs with a git directory of stet's, which has an empty configuration, no
 * hooks and no references, in the user's state directory. The checkouts' objects,
 * indexes and working trees are given to it by environment variables. So git
 * never reads a configuration that came with a repository: there is no fsmonitor,
 * filter, textconv, alias, promisor remote or ssh command to run. It sees neither
 * the user's configuration nor the environment, is found by absolute entries of
 * PATH, and ends when its time is up.
 *
 * Without git, or with a repository that it cannot read, callers say so: nothing
 * depends on it.
 */
#ifndef STET_CORE_PLACES_GIT_H
#define STET_CORE_PLACES_GIT_H

#include <sys/types.h>

#include "core/places/checkout.h"

struct st_git {
	/** The program, and the directory that is its GIT_DIR. */
	char *program, *dir;
	/** GIT_OBJECT_DIRECTORY and so on, as NAME=VALUE. */
	char *objects, *alternates, *shallow;
	/** When all of it must have ended, on the monotonic clock. */
	int64_t deadline_ms;
	/** A running `git cat-file --batch`; 0 for none. */
	pid_t batch;
	int to;
};

#define ST_GIT_INIT \
	{ .to = -1 }

/**
 * Prepare to read the objects of some checkouts of one repository.
 *
 * @sha256  Their object ids have 64 digits.
 * @return  0, STET_E_NOT_FOUND (no git), STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_git_open(struct st_git *git, const struct st_checkout *const *checkouts,
                              size_t count, bool sha256, int64_t deadline_ms,
                              struct stet_error *err);
void st_git_release(struct st_git *git);

/**
 * Run a command of git to its end.
 *
 * @at     Whose index and working tree it uses; NULL for none.
 * @argv   Without "git", NULL-ended.
 * @out    Receives what it prints, up to 64 MiB.
 * @return Its exit status, or STET_E_BUSY (the time is up), STET_E_TOO_BIG,
 *         STET_E_NOMEM, STET_E_IO.
 */
[[nodiscard]] int st_git_run(struct st_git *git, const struct st_checkout *at,
                             const char *const *argv, struct st_buf *out, struct stet_error *err);

/**
 * Read a blob.
 *
 * @return 1, 0 if it is missing or no blob, or the codes of st_git_run().
 */
[[nodiscard]] int st_git_blob(struct st_git *git, const char *oid, size_t max, struct st_buf *out,
                              struct stet_error *err);

#endif
