/**
 * A session: one agent's view of a workspace. It knows which versions of which
 * files the agent has seen, and refuses changes to other versions.
 *
 * Reading records the version of the file and the lines that the session saw.
 * If the file has changed by the time of an edit or write, the session refuses
 * it, and the answer shows the change. The change then counts as seen, so that
 * the same call made again succeeds. The session compares the file itself, by
 * stat and SHA-256, at the moment of the call: clocks and file events do not
 * matter, and equal bytes are never a conflict.
 *
 *     struct stet_answer *answer = NULL;
 *
 *     int code = stet_session_edit(session, "a.c", "foo", 3, "bar", 3, NULL, &answer, err);
 *     if (code == STET_E_CONFLICT)
 *             puts(stet_answer_diff(answer, NULL));
 *     stet_answer_free(answer);
 *
 * A path is relative to the root, or absolute and below it; it may have `.` and
 * `..`, and symbolic links that stay below the root. It is a string of bytes as
 * the system has it, not always UTF-8, without NUL. A write creates the file, not
 * its directory: the tool create_directory makes directories (stet/tools.h).
 *
 * Use a session from one thread at a time; it may be another thread for each
 * call. Sessions of one workspace may be used in parallel.
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
 * The state directory stores named sessions (STET_OPTION_STATE): a process that
 * opens the name later has seen the same versions.
 *
 * @name   Up to 200 bytes without control characters. Messages to other
 *         sessions mention it ("changed by session NAME"). NULL for none.
 * @return 0, STET_E_INVALID, STET_E_NOMEM; or the reason why the stored session
 *         cannot be read, such as STET_E_BUSY.
 */
STET_API STET_NODISCARD int stet_session_open(struct stet_workspace *ws, const char *name,
                                              struct stet_session **out, struct stet_error *err);

/**
 * Close a session; NULL is fine. The last session of a workspace that the program
 * has closed already closes the workspace, and may wait like
 * stet_workspace_close().
 */
STET_API void stet_session_close(struct stet_session *session);

/**
 * The default session of the process. The first call opens it in the current
 * working directory; it is never closed.
 *
 * @return The session; NULL, with err filled, if it cannot be opened.
 */
STET_API struct stet_session *stet_session_default(struct stet_error *err);

/** The workspace of a session. */
STET_API struct stet_workspace *stet_session_workspace(struct stet_session *session);

/**
 * Record the current version of a file as read.
 *
 * @return 0, or the reason why the file cannot be read; it is then not tracked.
 */
STET_API STET_NODISCARD int stet_session_track_read(struct stet_session *session, const char *path,
                                                    struct stet_error *err);

/**
 * Record a file as read with this content. If the file now has other content,
 * it is in conflict from the start.
 *
 * @return 0, or the reason why the path cannot be used.
 */
STET_API STET_NODISCARD int stet_session_track(struct stet_session *session, const char *path,
                                               const char *content, size_t len,
                                               struct stet_error *err);

/**
 * Whether a tracked file was changed or deleted since the session read it.
 *
 * @return 1 if it was; 0 if not, or if the file is not tracked; or a negative code.
 */
STET_API STET_NODISCARD int stet_session_modified(struct stet_session *session, const char *path,
                                                  struct stet_error *err);

/**
 * Compare a file with the version that the session saw.
 *
 * The answer's status is "untracked", "clean", "modified" or "deleted". The
 * answer has has_conflict, reason, message, the current content, hash and diff.
 * A check does not make the current version a seen one.
 *
 * @return 0 for any status, or a negative code.
 */
STET_API STET_NODISCARD int stet_session_check(struct stet_session *session, const char *path,
                                               struct stet_answer **out, struct stet_error *err);

/** Stop tracking a file; a check then finds no conflict. */
STET_API void stet_session_invalidate(struct stet_session *session, const char *path);

/**
 * Read lines of a file and record them as seen.
 *
 * @first   The first line, from 1; 0 for the beginning.
 * @count   The number of lines; 0 for all.
 * @out     Receives content, hash, first_line, last_line, total_lines.
 * @return  0, STET_E_INVALID (beyond the end), or the reason why the file
 *          cannot be read.
 */
STET_API STET_NODISCARD int stet_session_read(struct stet_session *session, const char *path,
                                              size_t first, size_t count, struct stet_answer **out,
                                              struct stet_error *err);

/**
 * Write a whole file, or create it.
 *
 * The session replaces an existing file only if it has seen every line of the
 * current version, or if expected_hash is the hash of the current version.
 *
 * @expected_hash  16 to 64 hex digits of the version to replace; may be NULL.
 * @out            Receives hash, commit, noop, created; on STET_E_CONFLICT
 *                 reason ("modified", "deleted", "unseen", "hash"), message
 *                 and diff. May be NULL; the diff of a refusal then does not
 *                 count as seen.
 * @return         0, STET_E_CONFLICT, STET_E_BUSY, or the reason why the file
 *                 cannot be written.
 */
STET_API STET_NODISCARD int stet_session_write(struct stet_session *session, const char *path,
                                               const char *content, size_t len,
                                               const char *expected_hash, struct stet_answer **out,
                                               struct stet_error *err);

/**
 * Replace a text that occurs exactly once in a file.
 *
 * If the file has changed since the session read it, the session refuses the
 * edit; the answer has the diff and the lines where the text still matches.
 *
 * @return 0, STET_E_CONFLICT, STET_E_NO_MATCH, STET_E_AMBIGUOUS,
 *         STET_E_INVALID (empty old text), STET_E_BUSY, or the reason why the
 *         file cannot be read or written.
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
