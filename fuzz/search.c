/*
 * Search: any query on any text ends in time, and every reported match is in the text.
 * Input: a byte of flags, the length of the query in a byte, query, text.
 */
#include "base/utf8.h"
#include "text/find/search.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool truth) {
	if (!truth)
		abort();
}

static void check_match(const struct st_lines *lines, const struct st_search_match *match) {
	must(match->line >= 1 && match->line <= lines->count);
	must(match->column >= 1 && match->column <= st_lines_body(lines, match->line).len + 1);
	must(match->before_count < match->line);
	must(match->after_count <= lines->count - match->line);
	must(st_utf8_valid(match->text));
	for (size_t i = 0; i < match->before_count; i++)
		must(st_utf8_valid(match->before[i]));
	for (size_t i = 0; i < match->after_count; i++)
		must(st_utf8_valid(match->after[i]));
}

static void check(const struct st_lines *lines, const struct st_search_result *result) {
	must(result->count <= result->total && result->total <= lines->count);
	must(result->stopped == (result->note.len > 0));
	for (size_t i = 0; i < result->count; i++) {
		check_match(lines, &result->matches[i]);
		must(i == 0 || result->matches[i].line > result->matches[i - 1].line);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	if (len < 2 || data[1] > len - 2)
		return 0;
	struct st_str query = st_strn((const char *)data + 2, data[1]);
	struct st_str text = st_strn(query.ptr + query.len, len - 2 - query.len);
	struct st_search search = {
		.query = query,
		.regex = data[0] & 1,
		.interpret = data[0] & 2,
		.context = data[0] >> 2 & 3,
		.max = data[0] >> 4,
		.time_limit = 50,
	};
	st_auto(st_lines) lines = {0};
	must(st_lines_init(&lines, text, NULL) == 0);
	st_auto(st_arena) arena;
	st_arena_init(&arena, 16 << 20);

	struct st_search_result result;
	struct stet_error err = {0};
	int code = st_search_run(&search, &lines, &arena, &result, &err);
	if (code == 0)
		check(&lines, &result);
	else
		must(err.code == code && err.message[0] != '\0' && code != STET_E_NOMEM);
	return 0;
}
