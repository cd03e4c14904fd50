/** The answer to a call, as stet/answer.h describes it. */
#ifndef STET_CORE_SESSION_ANSWER_H
#define STET_CORE_SESSION_ANSWER_H

#include "fs/write/write_context.h"
#include "stet/answer.h"

enum { ST_MATCHES_MAX = 20, ST_ANSWER_NOTICES_MAX = 16 };

struct stet_answer {
	const char *status;
	const char *reason;
	const char *commit;
	char *path;
	struct st_buf message;
	struct st_buf content;
	struct st_buf diff;
	bool diff_truncated;
	bool noop;
	bool created;
	bool merged;
	/** The session that wrote the current version; empty if unknown. */
	char writer[128];
	bool has_hash;
	char hash[ST_HASH_SHORT + 1];
	char full_hash[ST_HASH_HEX + 1];
	size_t matches[ST_MATCHES_MAX];
	size_t match_count;
	size_t first_line, last_line, total_lines;
	char *notices[ST_ANSWER_NOTICES_MAX];
	size_t notice_count;
};

/** Make an empty answer with a status. Returns NULL if memory is short. */
struct stet_answer *st_answer_new(const char *status);

/** Set the file's path (copied) and hash (may be NULL). Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_answer_about(struct stet_answer *answer, const char *path,
                                  const struct st_hash *hash, struct stet_error *err);

/** The same, but takes ownership of the path; it cannot fail. */
void st_answer_own(struct stet_answer *answer, char *path, const struct st_hash *hash);

/** Add a notice about this call, unless the answer has ST_ANSWER_NOTICES_MAX already. */
__attribute__((format(printf, 2, 3))) void st_answer_note(struct stet_answer *answer,
                                                          const char *format, ...);

/** Move pending notices into the answer, as far as they fit. */
void st_answer_take_notices(struct stet_answer *answer, struct st_write_context *writes);

#endif
