/**
 * A manager: a workspace, a session and a watcher, wired together (spec:
 * `FileStateManager`). Instructions (AGENTS.md) need no watching: they are
 * looked at when they are asked for.
 *
 * Files that the session has read or written are watched, and no others. A
 * change by somebody else ends the tracking of a file: a check then finds no
 * conflict. The session remembers all the same that the file changed since it
 * was read, and refuses to change it until it was read again. Equal bytes and
 * own writes change nothing.
 *
 *     struct stet_manager *manager = NULL;
 *
 *     if (stet_manager_new(".", &manager, err) < 0 || stet_manager_initialize(manager, err) < 0)
 *             return 1;
 *     if (stet_manager_track_read(manager, "a.c", text, len, err) < 0)
 *             ...
 *     stet_manager_free(manager);
 *
 * Events are taken in by stet_manager_dispatch(), which a program calls when
 * stet_manager_fd() becomes readable; tracking ends in no other moment. Until
 * then a check answers "modified" where it would answer "untracked" afterwards,
 * and a write is refused in either case. A manager is used from one thread at a
 * time.
 */
#ifndef STET_MANAGER_H
#define STET_MANAGER_H

#include "stet/instructions.h"
#include "stet/session.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_manager;

/**
 * Make a manager over a directory, which does nothing yet.
 *
 * @return 0, or the codes of stet_workspace_open().
 */
STET_API STET_NODISCARD int stet_manager_new(const char *root, struct stet_manager **out,
                                             struct stet_error *err);

/** Free a manager and everything in it (spec: `dispose`); NULL is fine. */
STET_API void stet_manager_free(struct stet_manager *manager);

/** Begin to watch. Returns 0, STET_E_INVALID (done already), STET_E_LIMIT, STET_E_NOMEM, STET_E_IO. */
STET_API STET_NODISCARD int stet_manager_initialize(struct stet_manager *manager,
                                                    struct stet_error *err);

/** The session, for reads and writes; it goes with the manager. */
STET_API struct stet_session *stet_manager_session(struct stet_manager *manager);

/** As stet_session_track(), and the file is watched from now on. */
STET_API STET_NODISCARD int stet_manager_track_read(struct stet_manager *manager, const char *path,
                                                    const char *content, size_t len,
                                                    struct stet_error *err);

/** As stet_session_check(). */
STET_API STET_NODISCARD int stet_manager_check_for_conflict(struct stet_manager *manager,
                                                            const char *path,
                                                            struct stet_answer **out,
                                                            struct stet_error *err);

/** As stet_instructions_for_path(). */
STET_API STET_NODISCARD int stet_manager_instructions_for_path(struct stet_manager *manager,
                                                               const char *path,
                                                               struct stet_instructions **out,
                                                               struct stet_error *err);

/** As stet_instructions_root(). */
STET_API STET_NODISCARD int stet_manager_instructions_root(struct stet_manager *manager,
                                                           struct stet_instructions **out,
                                                           struct stet_error *err);

/** As stet_instructions_clear(): instructions are given again; what was read stays known. */
STET_API void stet_manager_clear_session(struct stet_manager *manager);

/** A descriptor for poll(): readable when there is something to dispatch. -1 before the beginning. */
STET_API int stet_manager_fd(const struct stet_manager *manager);

/**
 * Take in what happened to tracked files.
 *
 * @timeout_ms  How long to wait for something; 0 for not at all, -1 for ever.
 * @return      As stet_watcher_dispatch().
 */
STET_API STET_NODISCARD int stet_manager_dispatch(struct stet_manager *manager, int timeout_ms,
                                                  struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
