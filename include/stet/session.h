/**
 * A session: what one agent has seen of a workspace, and its guarded reads
 * and writes.
 *
 * Reading records which version of a file, and which of its lines, the
 * session saw. A later edit or write is refused if the file has changed since,
 * and the answer shows the change; the session then counts as having seen it,
 * so that doing the same again succeeds. Nothing depends on clocks or events:
 * every answer rests on stat and SHA-256 at the moment of use, and equal bytes
 * are never a conflict.
 *
 *     struct stet_answer *answer = NULL;
 *
 *     int code = stet_session_edit(session, "a.c", "foo", 3, "bar", 3, NULL, &answer, err);
 *     if (code == STET_E_CONFLICT)
 *             puts(stet_answer_diff(answer, NULL));
 *     stet_answer_free(answer);
 *
 * A session is used from one thread at a time; several sessions of one
 * workspace may be used at once.
 */
#ifndef STET_SESSION_H
#define STET_SESSION_H

#include "stet/answer.h"
#include "stet/workspace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_session;

/**
 * Open a session.
 *
 * A session with a name is kept in the state directory (STET_OPTION_STATE):
 * another process that opens the name has seen what this one has.
 *
 * @name   Up to 200 bytes without control characters. Also for messages to
 *         other sessions ("changed by session NAME"). NULL for none.
 * @return 0, STET_E_INVALID, STET_E_NOMEM; or why what is stored under the
 *         name cannot be read, such as STET_E_BUSY.
 */
STET_API STET_NODISCARD int stet_session_open(struct stet_workspace *ws, const char *name,
                                              struct stet_session **out, struct stet_error *err);

/** Close a session, before its workspace; NULL is fine. */
STET_API void stet_session_close(struct stet_session *session);

/**
 * The session of this process: made on first use, over the directory that was
 * then the working directory, and never closed.
 *
 * @return NULL with err filled if it cannot be made.
 */
STET_API struct stet_session *stet_session_default(struct stet_error *err);

/** The workspace of a session. */
STET_API struct stet_workspace *stet_session_workspace(struct stet_session *session);

/**
 * Record a file as read, as it is now (spec: `trackRead`).
 *
 * @return 0, or why the file cannot be read; it is then not tracked.
 */
STET_API STET_NODISCARD int stet_session_track_read(struct stet_session *session, const char *path,
                                                    struct stet_error *err);

/**
 * Record a file as read with this content (spec: `track(path, content)`). If
 * the file holds something else by now, that is a conflict from the start.
 *
 * @return 0, or why the path cannot be used.
 */
STET_API STET_NODISCARD int stet_session_track(struct stet_session *session, const char *path,
                                               const char *content, size_t len,
                                               struct stet_error *err);

/**
 * Whether a tracked file has changed or is gone (spec: `hasBeenModifiedSinceRead`).
 *
 * @return 1 if it has; 0 if not, or if it is not tracked; or a negative code.
 */
STET_API STET_NODISCARD int stet_session_modified(struct stet_session *session, const char *path,
                                                  struct stet_error *err);

/**
 * Compare a file with what the session saw (spec: `checkConflict`).
 *
 * The answer's status is "untracked", "clean", "modified" or "deleted"; with
 * has_conflict, reason, message, content (the current one), hash and diff.
 * Checking does not count as seeing.
 *
 * @return 0 whatever the status is, or a negative code.
 */
STET_API STET_NODISCARD int stet_session_check(struct stet_session *session, const char *path,
                                               struct stet_answer **out, struct stet_error *err);

/** Forget a file (spec: `invalidate`); checking it then finds no conflict. */
STET_API void stet_session_invalidate(struct stet_session *session, const char *path);

/**
 * Read lines of a file and record them as seen.
 *
 * @first   The first line, from 1; 0 for the beginning.
 * @count   How many lines; 0 for all.
 * @out     Receives content, hash, first_line, last_line, total_lines.
 * @return  0, STET_E_INVALID (beyond the end), or why it cannot be read.
 */
STET_API STET_NODISCARD int stet_session_read(struct stet_session *session, const char *path,
                                              size_t first, size_t count, struct stet_answer **out,
                                              struct stet_error *err);

/**
 * Write a whole file, or create it.
 *
 * An existing file is replaced only if the session has seen all of its
 * current version, or expected_hash proves that the caller has.
 *
 * @expected_hash  16 to 64 hex digits of the version to replace; may be NULL.
 * @out            Receives hash, commit, noop, created; on STET_E_CONFLICT
 *                 the refusal: reason ("modified", "deleted", "unseen",
 *                 "hash"), message, diff. May be NULL; then nothing is
 *                 shown, and a refusal does not count as having seen it.
 * @return         0, STET_E_CONFLICT, STET_E_BUSY, or why it cannot be written.
 */
STET_API STET_NODISCARD int stet_session_write(struct stet_session *session, const char *path,
                                               const char *content, size_t len,
                                               const char *expected_hash, struct stet_answer **out,
                                               struct stet_error *err);

/**
 * Replace the one place where a text occurs in a file.
 *
 * On a file that the session has read and that changed since, the edit is
 * refused with the diff and with the lines where the text still matches.
 *
 * @return 0, STET_E_CONFLICT, STET_E_NO_MATCH, STET_E_AMBIGUOUS,
 *         STET_E_INVALID (empty old text), STET_E_BUSY, or why the file
 *         cannot be read or written.
 */
STET_API STET_NODISCARD int stet_session_edit(struct stet_session *session, const char *path,
                                              const char *old_text, size_t old_len,
                                              const char *new_text, size_t new_len,
                                              const char *expected_hash, struct stet_answer **out,
                                              struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
