/**
 * An answer: the result of a call on a session.
 *
 * All calls return the same kind of object. Fields that a call does not fill
 * are NULL, 0 or empty. The answer owns its strings; they are valid until
 * stet_answer_free().
 */
#ifndef STET_ANSWER_H
#define STET_ANSWER_H

#include <stddef.h>

#include "stet/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_answer;

/** Free an answer; NULL is fine. */
STET_API void stet_answer_free(struct stet_answer *answer);

/** "success" or "conflict"; after a check "untracked", "clean", "modified" or "deleted". */
STET_API const char *stet_answer_status(const struct stet_answer *answer);

/** The file's path relative to the root, with symbolic links resolved. */
STET_API const char *stet_answer_path(const struct stet_answer *answer);

/** 1 if the file differs from the version that the session saw. */
STET_API int stet_answer_has_conflict(const struct stet_answer *answer);

/**
 * The reason of a conflict: "modified", "deleted", "unseen" (the session has not
 * read the whole file), "hash" (the file does not have the expected hash); NULL
 * without a conflict.
 */
STET_API const char *stet_answer_reason(const struct stet_answer *answer);

/** The conflict explained in one or more sentences; NULL without a conflict. */
STET_API const char *stet_answer_message(const struct stet_answer *answer);

/** The first 16 hex digits of the SHA-256 of the file's current bytes; NULL if the file does not exist. */
STET_API const char *stet_answer_hash(const struct stet_answer *answer);

/** The same hash with all 64 digits. */
STET_API const char *stet_answer_full_hash(const struct stet_answer *answer);

/** The bytes read, or the current bytes of a file in conflict. len may be NULL. */
STET_API const char *stet_answer_content(const struct stet_answer *answer, size_t *len);

/** A unified diff from the version that the session saw to the current one; or NULL. */
STET_API const char *stet_answer_diff(const struct stet_answer *answer, size_t *len);

/** 1 if the diff was truncated; its last line says so too. */
STET_API int stet_answer_diff_truncated(const struct stet_answer *answer);

/** The n-th line number (n from 0) at which the text to change still matches; 0 beyond the last. */
STET_API size_t stet_answer_match(const struct stet_answer *answer, size_t n);

/** How the file was written: "exchanged", "created", "verified", "in-place", "none"; or NULL. */
STET_API const char *stet_answer_commit(const struct stet_answer *answer);

/** 1 if the file had these bytes already, so that nothing was written. */
STET_API int stet_answer_noop(const struct stet_answer *answer);

/** 1 if the call created the file. */
STET_API int stet_answer_created(const struct stet_answer *answer);

/** 1 if the change was merged with changes that others had made; the diff shows theirs. */
STET_API int stet_answer_merged(const struct stet_answer *answer);

/** The first and last line read (0 if none), and the number of lines in the file. */
STET_API size_t stet_answer_first_line(const struct stet_answer *answer);
STET_API size_t stet_answer_last_line(const struct stet_answer *answer);
STET_API size_t stet_answer_total_lines(const struct stet_answer *answer);

/** The n-th notice (n from 0) that the answer carries; NULL beyond the last. See stet_workspace_notice(). */
STET_API const char *stet_answer_notice(const struct stet_answer *answer, size_t n);

#ifdef __cplusplus
}
#endif

#endif
