#include "core/session/answer.h"

#include <stdarg.h>
#include <stdio.h>

struct stet_answer *st_answer_new(const char *status) {
	struct stet_answer *answer = calloc(1, sizeof *answer);
	if (answer)
		answer->status = status;
	return answer;
}

void st_answer_own(struct stet_answer *answer, char *path, const struct st_hash *hash) {
	free(answer->path);
	answer->path = path;
	answer->has_hash = hash != NULL;
	if (hash) {
		st_hash_hex(hash, answer->hash, ST_HASH_SHORT);
		st_hash_hex(hash, answer->full_hash, ST_HASH_HEX);
	}
}

int st_answer_about(struct stet_answer *answer, const char *path, const struct st_hash *hash,
                    struct stet_error *err) {
	char *copy = strdup(path);
	if (!copy)
		return st_fail_nomem(err);
	st_answer_own(answer, copy, hash);
	return 0;
}

void st_answer_note(struct stet_answer *answer, const char *format, ...) {
	va_list args;
	char *text;
	if (answer->notice_count == ST_ANSWER_NOTICES_MAX)
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) >= 0)
		answer->notices[answer->notice_count++] = text;
	va_end(args);
}

void st_answer_take_notices(struct stet_answer *answer, struct st_write_context *writes) {
	while (answer->notice_count < ST_ANSWER_NOTICES_MAX) {
		char *notice = st_write_next_notice(writes);
		if (!notice)
			return;
		answer->notices[answer->notice_count++] = notice;
	}
}

void stet_answer_free(struct stet_answer *answer) {
	if (!answer)
		return;
	free(answer->path);
	st_buf_release(&answer->message);
	st_buf_release(&answer->content);
	st_buf_release(&answer->diff);
	for (size_t i = 0; i < answer->notice_count; i++)
		free(answer->notices[i]);
	free(answer);
}

/* The bytes of a buffer; NULL if it was never filled. */
static const char *bytes_of(const struct st_buf *buf, size_t *len) {
	if (len)
		*len = buf->len;
	return buf->ptr;
}

const char *stet_answer_status(const struct stet_answer *answer) {
	if (!answer)
		return NULL;
	return answer->status;
}

const char *stet_answer_path(const struct stet_answer *answer) {
	if (!answer)
		return NULL;
	return answer->path;
}

int stet_answer_has_conflict(const struct stet_answer *answer) {
	if (!answer)
		return 0;
	return answer->reason != NULL;
}

const char *stet_answer_reason(const struct stet_answer *answer) {
	if (!answer)
		return NULL;
	return answer->reason;
}

const char *stet_answer_message(const struct stet_answer *answer) {
	if (!answer)
		return NULL;
	return bytes_of(&answer->message, NULL);
}

const char *stet_answer_hash(const struct stet_answer *answer) {
	if (!answer)
		return NULL;
	return answer->has_hash ? answer->hash : NULL;
}

const char *stet_answer_full_hash(const struct stet_answer *answer) {
	if (!answer)
		return NULL;
	return answer->has_hash ? answer->full_hash : NULL;
}

const char *stet_answer_content(const struct stet_answer *answer, size_t *len) {
	if (!answer)
		return NULL;
	return bytes_of(&answer->content, len);
}

const char *stet_answer_diff(const struct stet_answer *answer, size_t *len) {
	if (!answer)
		return NULL;
	return bytes_of(&answer->diff, len);
}

int stet_answer_diff_truncated(const struct stet_answer *answer) {
	if (!answer)
		return 0;
	return answer->diff_truncated;
}

size_t stet_answer_match(const struct stet_answer *answer, size_t n) {
	if (!answer)
		return 0;
	return n < answer->match_count ? answer->matches[n] : 0;
}

const char *stet_answer_commit(const struct stet_answer *answer) {
	if (!answer)
		return NULL;
	return answer->commit;
}

int stet_answer_noop(const struct stet_answer *answer) {
	if (!answer)
		return 0;
	return answer->noop;
}

int stet_answer_created(const struct stet_answer *answer) {
	if (!answer)
		return 0;
	return answer->created;
}

int stet_answer_merged(const struct stet_answer *answer) {
	if (!answer)
		return 0;
	return answer->merged;
}

size_t stet_answer_first_line(const struct stet_answer *answer) {
	if (!answer)
		return 0;
	return answer->first_line;
}

size_t stet_answer_last_line(const struct stet_answer *answer) {
	if (!answer)
		return 0;
	return answer->last_line;
}

size_t stet_answer_total_lines(const struct stet_answer *answer) {
	if (!answer)
		return 0;
	return answer->total_lines;
}

const char *stet_answer_notice(const struct stet_answer *answer, size_t n) {
	if (!answer)
		return NULL;
	return n < answer->notice_count ? answer->notices[n] : NULL;
}
