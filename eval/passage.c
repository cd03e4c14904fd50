#include "eval/passage.h"

#include "text/tokens/tokens.h"

enum { WORD_MIN = 5, WORD_MAX = 64, DEPTH_MAX = 16 };

/* ---- plain text ---- */

/* The length of a line's number with the sign behind it; 0 if there is none. */
static size_t number_length(struct st_str line) {
	static const char arrow[] = "\xe2\x86\x92";
	size_t at = 0;
	while (at < line.len && line.ptr[at] >= '0' && line.ptr[at] <= '9')
		at++;
	struct st_str rest = st_str_slice(line, at, line.len);
	if (at == 0 || rest.len == 0)
		return 0;
	if (st_str_starts(rest, st_str(arrow)))
		return at + strlen(arrow);
	return rest.ptr[0] == '\t' || rest.ptr[0] == ':' ? at + 1 : 0;
}

void st_passage_plain(struct st_str text, struct st_buf *out) {
	for (size_t at = 0; at < text.len;) {
		const char *end = memchr(text.ptr + at, '\n', text.len - at);
		size_t next = end ? (size_t)(end - text.ptr) : text.len;
		struct st_str line = st_str_trim(st_str_slice(text, at, next));
		line = st_str_trim(st_str_slice(line, number_length(line), line.len));
		st_buf_add(out, line);
		st_buf_addc(out, '\n');
		at = next + 1;
	}
}

static void add_texts(yyjson_val *value, struct st_buf *out, int depth) {
	yyjson_val *key, *member;
	size_t i, max;
	if (depth > DEPTH_MAX)
		return;
	if (yyjson_is_str(value)) {
		struct st_str text = st_json_str(value);
		yyjson_doc *doc = NULL;
		if (text.len && text.ptr[0] == '{')
			doc = yyjson_read(text.ptr, text.len, 0);
		if (doc)
			add_texts(yyjson_doc_get_root(doc), out, depth + 1);
		else
			st_passage_plain(text, out);
		yyjson_doc_free(doc);
	}
	if (!value)
		return;
	yyjson_arr_foreach(value, i, max, member) add_texts(member, out, depth + 1);
	yyjson_obj_foreach(value, i, max, key, member) {
		(void)key;
		add_texts(member, out, depth + 1);
	}
}

void st_passage_texts(yyjson_val *value, struct st_buf *out) {
	add_texts(value, out, 0);
}

/* ---- identifiers ---- */

static bool is_word_byte(char byte) {
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '_';
}

static int by_value(const void *a, const void *b) {
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static bool add_sum(struct st_words *words, uint64_t sum) {
	if ((words->count & (words->count + 1)) == 0) {
		uint64_t *sums = reallocarray(words->sums, 2 * words->count + 2, sizeof *sums);
		if (!sums)
			return false;
		words->sums = sums;
	}
	words->sums[words->count++] = sum;
	return true;
}

int st_words_find(struct st_words *words, struct st_str text, struct stet_error *err) {
	for (size_t at = 0; at < text.len;) {
		size_t from = at;
		while (at < text.len && is_word_byte(text.ptr[at]))
			at++;
		bool is_number = text.ptr[from] >= '0' && text.ptr[from] <= '9';
		if (at - from >= WORD_MIN && at - from <= WORD_MAX && !is_number &&
		    !add_sum(words, st_str_sum(ST_STR_SUM, st_str_slice(text, from, at))))
			return st_fail_nomem(err);
		at += at == from;
	}
	if (words->count == 0)
		return 0;
	qsort(words->sums, words->count, sizeof *words->sums, by_value);
	size_t kept = 1;
	for (size_t i = 1; i < words->count; i++) {
		if (words->sums[i] != words->sums[kept - 1])
			words->sums[kept++] = words->sums[i];
	}
	words->count = kept;
	return 0;
}

bool st_words_has(const struct st_words *words, uint64_t sum) {
	return words->count && bsearch(&sum, words->sums, words->count, sizeof sum, by_value);
}

void st_words_release(struct st_words *words) {
	free(words->sums);
	*words = (struct st_words){0};
}

/* ---- passages ---- */

static enum st_role role_of(yyjson_val *message) {
	struct st_str role = st_json_str(yyjson_obj_get(message, "role"));
	if (st_str_eq(role, ST_STR("system")))
		return ST_ROLE_SYSTEM;
	if (st_str_eq(role, ST_STR("assistant")))
		return ST_ROLE_MODEL;
	return st_str_eq(role, ST_STR("tool")) ? ST_ROLE_RESULT : ST_ROLE_USER;
}

int st_passage_read(struct st_passage *passage, yyjson_val *message, struct stet_error *err) {
	size_t len = 0;
	char *json = yyjson_val_write(message, 0, &len);
	if (!json)
		return st_fail_nomem(err);
	passage->sum = st_str_sum(ST_STR_SUM, st_strn(json, len));
	passage->tokens = st_tokens(st_strn(json, len));
	passage->role = role_of(message);
	free(json);
	if (passage->role == ST_ROLE_MODEL)
		st_passage_plain(st_str_trim(st_json_str(yyjson_obj_get(message, "content"))),
		                 &passage->said);
	st_passage_texts(yyjson_obj_get(message, "content"), &passage->text);
	st_passage_texts(yyjson_obj_get(message, "tool_calls"), &passage->text);
	if (passage->text.failed || passage->said.failed)
		return st_fail_nomem(err);
	return st_words_find(&passage->words, st_buf_str(&passage->text), err);
}

int st_passage_end(const struct st_passage *from, size_t tokens, struct st_passage *to,
                   struct stet_error *err) {
	struct st_str text = st_buf_str(&from->text);
	size_t len = st_tokens_suffix(text, tokens);
	*to = (struct st_passage){.sum = from->sum + tokens, .role = from->role};
	st_buf_add(&to->text, st_str_slice(text, text.len - len, text.len));
	to->tokens = st_tokens(st_buf_str(&to->text));
	if (to->text.failed)
		return st_fail_nomem(err);
	return st_words_find(&to->words, st_buf_str(&to->text), err);
}

void st_passage_release(struct st_passage *passage) {
	st_buf_release(&passage->text);
	st_buf_release(&passage->said);
	st_words_release(&passage->words);
}

bool st_passage_has(const struct st_passage *passage, struct st_str text) {
	return text.len && passage->text.len &&
	       memmem(passage->text.ptr, passage->text.len, text.ptr, text.len);
}
