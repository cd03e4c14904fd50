/**
 * An answer: what a call on a session found or did.
 *
 * One kind of object for all calls; what a call does not fill is NULL, 0 or
 * empty. Strings belong to the answer and go with it.
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

/** "success", "conflict", or for a check "untracked", "clean", "modified", "deleted". */
STET_API const char *stet_answer_status(const struct stet_answer *answer);

/** The file's path below the root, links resolved. */
STET_API const char *stet_answer_path(const struct stet_answer *answer);

/** 1 if the file is not what the session saw. */
STET_API int stet_answer_has_conflict(const struct stet_answer *answer);

/** Why: "modified", "deleted", "unseen" (never read in whole), "hash" (not the expected one); or NULL. */
STET_API const char *stet_answer_reason(const struct stet_answer *answer);

/** One or more sentences on the conflict; or NULL. */
STET_API const char *stet_answer_message(const struct stet_answer *answer);

/** The first 16 hex digits of the file's SHA-256, as it is now; or NULL if there is no file. */
STET_API const char *stet_answer_hash(const struct stet_answer *answer);

/** All 64 digits of the same. */
STET_API const char *stet_answer_full_hash(const struct stet_answer *answer);

/** The bytes that were read, or the current ones of a file in conflict; their number in *len, if not NULL. */
STET_API const char *stet_answer_content(const struct stet_answer *answer, size_t *len);

/** A unified diff from what the session saw to what is there; or NULL. */
STET_API const char *stet_answer_diff(const struct stet_answer *answer, size_t *len);

/** 1 if the diff was cut; its last line says so too. */
STET_API int stet_answer_diff_truncated(const struct stet_answer *answer);

/** The n-th line (n from 0) at which the text to change still matches; 0 beyond the last. */
STET_API size_t stet_answer_match(const struct stet_answer *answer, size_t n);

/** How a file was written: "exchanged", "created", "verified", "in-place", "none"; or NULL. */
STET_API const char *stet_answer_commit(const struct stet_answer *answer);

/** 1 if the file had these bytes already and nothing was written. */
STET_API int stet_answer_noop(const struct stet_answer *answer);

/** 1 if the file is new. */
STET_API int stet_answer_created(const struct stet_answer *answer);

/** 1 if the change was merged with what others had changed meanwhile; the diff shows the latter. */
STET_API int stet_answer_merged(const struct stet_answer *answer);

/** The lines that were read: first and last (0 for none), and how many the file has. */
STET_API size_t stet_answer_first_line(const struct stet_answer *answer);
STET_API size_t stet_answer_last_line(const struct stet_answer *answer);
STET_API size_t stet_answer_total_lines(const struct stet_answer *answer);

/** The n-th notice (n from 0) that was waiting; NULL beyond the last. See stet_workspace_notice(). */
STET_API const char *stet_answer_notice(const struct stet_answer *answer, size_t n);

#ifdef __cplusplus
}
#endif

#endif
