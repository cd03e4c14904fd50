/**
 * A manager: a workspace, a session and a watcher in one object.
 *
 * The manager watches only files that its session has read or written. When
 * another process changes such a file, the manager stops tracking it, and
 * stet_manager_check_for_conflict() answers "untracked". The session still
 * remembers that its version is outdated, and refuses to change the file until
 * it has read it again. The session's own writes, and writes of equal bytes,
 * do not count as changes.
 *
 *     struct stet_manager *manager = NULL;
 *     const char *text = "int a;\n";
 *
 *     if (stet_manager_new(".", &manager, err) < 0 || stet_manager_initialize(manager, err) < 0 ||
 *         stet_manager_track_read(manager, "a.c", text, strlen(text), err) < 0)
 *             fprintf(stderr, "%s\n", stet_error_message(err));
 *     stet_manager_free(manager);
 *
 * The manager processes events only in stet_manager_dispatch(), which a program
 * calls when stet_manager_fd() becomes readable. Before that, a check of a
 * changed file answers "modified" instead of "untracked"; writes are refused in
 * both cases. Do not call stet_workspace_dispatch() on its workspace: it would take
 * the events. Use a manager from one thread at a time.
 */
#ifndef STET_MANAGER_H
#define STET_MANAGER_H

#include "stet/instructions.h"
#include "stet/session.h"
#include "stet/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_manager;

/**
 * Make a manager for a directory. It does nothing before stet_manager_initialize().
 *
 * @return 0, or the codes of stet_workspace_open().
 */
STET_API STET_NODISCARD int stet_manager_new(const char *root, struct stet_manager **out,
                                             struct stet_error *err);

/** Free a manager with its session and workspace; NULL is fine. */
STET_API void stet_manager_free(struct stet_manager *manager);

/** Start watching. Returns 0, STET_E_INVALID (started already), STET_E_LIMIT, STET_E_NOMEM, STET_E_IO. */
STET_API STET_NODISCARD int stet_manager_initialize(struct stet_manager *manager,
                                                    struct stet_error *err);

/**
 * Stop watching: stet_manager_dispatch() is refused and stet_manager_fd() is -1.
 * The session still answers, and the manager can be initialized again.
 */
STET_API void stet_manager_stop(struct stet_manager *manager);

/**
 * Set a callback for changes of tracked files. stet_manager_dispatch() calls it
 * after the manager has stopped tracking the file; it may call any function but
 * stet_manager_free().
 *
 * @callback  NULL for none.
 */
STET_API void stet_manager_on_change(struct stet_manager *manager, stet_watch_callback *callback,
                                     void *data);

/** End the stet_manager_dispatch() that another thread waits in, without an event. */
STET_API void stet_manager_wake(struct stet_manager *manager);

/** The session, for reads and writes; valid until stet_manager_free(). */
STET_API struct stet_session *stet_manager_session(struct stet_manager *manager);

/** Like stet_session_track(); also watch the file. */
STET_API STET_NODISCARD int stet_manager_track_read(struct stet_manager *manager, const char *path,
                                                    const char *content, size_t len,
                                                    struct stet_error *err);

/** Like stet_session_check(). */
STET_API STET_NODISCARD int stet_manager_check_for_conflict(struct stet_manager *manager,
                                                            const char *path,
                                                            struct stet_answer **out,
                                                            struct stet_error *err);

/** Like stet_instructions_for_path(). */
STET_API STET_NODISCARD int stet_manager_instructions_for_path(struct stet_manager *manager,
                                                               const char *path,
                                                               struct stet_instructions **out,
                                                               struct stet_error *err);

/** Like stet_instructions_root(). */
STET_API STET_NODISCARD int stet_manager_instructions_root(struct stet_manager *manager,
                                                           struct stet_instructions **out,
                                                           struct stet_error *err);

/** Like stet_instructions_clear(): deliver instructions again. */
STET_API void stet_manager_clear_session(struct stet_manager *manager);

/** A descriptor for poll(), readable when there are events to dispatch; -1 before the start. */
STET_API int stet_manager_fd(const struct stet_manager *manager);

/**
 * Process the events of tracked files.
 *
 * @timeout_ms  How long to wait for an event: 0 not at all, -1 without limit.
 * @return      Like stet_watcher_dispatch().
 */
STET_API STET_NODISCARD int stet_manager_dispatch(struct stet_manager *manager, int timeout_ms,
                                                  struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
