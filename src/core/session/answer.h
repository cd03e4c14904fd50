/** The inside of an answer; its contract is in stet/answer.h. */
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

/** An empty answer with a status, or NULL if memory is short. */
struct stet_answer *st_answer_new(const char *status);

/** Record the file's path (copied) and hash. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_answer_about(struct stet_answer *answer, const char *path,
                                  const struct st_hash *hash, struct stet_error *err);

/** The same with a path on the heap, which the answer takes over; this cannot fail. */
void st_answer_own(struct stet_answer *answer, char *path, const struct st_hash *hash);

/** A sentence about what this very call did; one too many is left out. */
__attribute__((format(printf, 2, 3))) void st_answer_note(struct stet_answer *answer,
                                                          const char *format, ...);

/** Take along the notices that wait. */
void st_answer_take_notices(struct stet_answer *answer, struct st_write_context *writes);

#endif
