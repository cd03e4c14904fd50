#include "text/find/search.h"

#include "base/utf8.h"

/* Characters to show before a match that lies beyond the cut. */
#define LEAD 40

/* One run of st_search_run(). */
struct run {
	const struct st_search *search;
	const struct st_lines *lines;
	/* The text after its byte order mark, which neither ^ nor a column counts. */
	struct st_str subject;
	struct st_arena *arena;
	struct st_search_result *result;
	struct st_search_match *matches;
	size_t max;
	struct st_buf scratch;
};

static void run_release(struct run *run) {
	st_buf_release(&run->scratch);
}

/* The length in bytes of the first `chars` characters; *walked receives how many there were. */
static size_t walk_characters(struct st_str s, size_t chars, size_t *walked) {
	size_t at = 0, count = 0;
	while (at < s.len && count < chars) {
		uint64_t word = UINT64_MAX;
		if (s.len - at >= 8 && chars - count >= 8)
			memcpy(&word, s.ptr + at, 8);
		if (!(word & 0x8080808080808080u)) {
			at += 8;
			count += 8;
			continue;
		}
		uint32_t point;
		at += st_utf8_next(st_str_slice(s, at, s.len), &point);
		count++;
	}
	*walked = count;
	return at;
}

/* Copy a line from a byte on into the arena, cut to ST_SEARCH_MAX_TEXT. False if out of memory. */
static bool copy_line(struct run *run, struct st_str body, size_t from, struct st_str *out) {
	size_t end = from + walk_characters(st_str_slice(body, from, body.len), ST_SEARCH_MAX_TEXT,
	                                    &(size_t){0});
	st_buf_clear(&run->scratch);
	if (from > 0)
		st_buf_adds(&run->scratch, "...");
	if (st_utf8_add_lossy(&run->scratch, st_str_slice(body, from, end)))
		run->result->lossy = true;
	if (end < body.len)
		st_buf_adds(&run->scratch, "...");

	struct st_str line_text = st_buf_str(&run->scratch);
	char *copy = run->scratch.failed ? NULL : st_arena_copy(run->arena, line_text);
	*out = st_strn(copy, line_text.len);
	return copy;
}

/* Line n without its ending and, if it is the first, without the byte order mark. */
static struct st_str line_body(const struct run *run, size_t n) {
	struct st_str body = st_lines_body(run->lines, n);
	size_t bom = n == 1 ? st_bom_len(body) : 0;
	return st_str_slice(body, bom, body.len);
}

/* Copy `count` lines from `first` on; NULL if out of memory. */
static const struct st_str *copy_lines(struct run *run, size_t first, size_t count) {
	struct st_str *texts = st_arena_array(run->arena, count, sizeof *texts);
	for (size_t i = 0; texts && i < count; i++) {
		if (!copy_line(run, line_body(run, first + i), 0, &texts[i]))
			return NULL;
	}
	return texts;
}

/* Copy the matching line: from its start if that shows the whole match, else from LEAD before it. */
static bool copy_match(struct run *run, struct st_search_match *match, struct st_span span) {
	struct st_str body = line_body(run, match->line);
	size_t at = (size_t)(body.ptr - run->subject.ptr);
	size_t start = span.start - at < body.len ? span.start - at : body.len;
	size_t end = span.end - at < body.len ? span.end - at : body.len;

	size_t walked, from = 0;
	walk_characters(st_str_slice(body, 0, start), SIZE_MAX, &walked);
	match->column = walked + 1;
	if (walked > LEAD && end > walk_characters(body, ST_SEARCH_MAX_TEXT, &(size_t){0}))
		from = walk_characters(body, walked - LEAD, &walked);
	return copy_line(run, body, from, &match->text);
}

static int add_match(struct run *run, size_t line, struct st_span span, struct stet_error *err) {
	struct st_search_match *match = &run->matches[run->result->count];
	size_t context = run->search->context, behind = run->lines->count - line;

	match->line = line;
	match->before_count = line - 1 < context ? line - 1 : context;
	match->after_count = behind < context ? behind : context;
	match->before = copy_lines(run, line - match->before_count, match->before_count);
	match->after = copy_lines(run, line + 1, match->after_count);
	if (!match->before || !match->after || !copy_match(run, match, span))
		return st_fail_nomem(err);
	run->result->count++;
	return 0;
}

/* End early. With matches, return them and a note; without, fail, which cannot be taken for "no match". */
static int end_early(struct run *run, int code, size_t at, struct stet_error *err) {
	const char *why = st_matcher_limit(code);
	if (!why)
		return st_matcher_fail(code, err);

	size_t offset = (size_t)(run->subject.ptr - run->lines->text.ptr) + at;
	st_buf_clear(&run->scratch);
	st_buf_addf(&run->scratch,
	            "The search stopped at line %zu of %zu, since %s; later lines were not searched. "
	            "Make the query more specific: no repetition inside a repetition such as (a+)+, "
	            "[^,]* in place of .*, or plain text.",
	            st_lines_number(run->lines, offset), run->lines->count, why);
	if (run->result->total == 0)
		return run->scratch.failed ? st_fail_nomem(err)
		                           : st_fail(err, STET_E_LIMIT, "%s", st_buf_cstr(&run->scratch));

	struct st_str note = st_buf_str(&run->scratch);
	char *copy = run->scratch.failed ? NULL : st_arena_copy(run->arena, note);
	if (!copy)
		return st_fail_nomem(err);
	run->result->stopped = true;
	run->result->note = st_strn(copy, note.len);
	return 0;
}

static int scan(struct run *run, struct st_matcher *matcher, struct stet_error *err) {
	size_t bom = (size_t)(run->subject.ptr - run->lines->text.ptr);
	for (size_t at = 0; at < run->subject.len;) {
		struct st_span span;
		int code = st_matcher_next(matcher, at, &span);
		if (code < 0)
			return end_early(run, code, st_matcher_at(matcher), err);
		if (code == 0)
			break;

		size_t line = st_lines_number(run->lines, span.start + bom);
		run->result->total++;
		if (run->result->count < run->max) {
			code = add_match(run, line, span, err);
			if (code < 0)
				return code;
		}
		size_t next = run->lines->starts[line] - bom;
		at = span.end > next ? span.end : next;
		code = at < run->subject.len ? st_matcher_look(matcher) : 0;
		if (code < 0)
			return end_early(run, code, at, err);
	}
	return 0;
}

static int check_search(const struct st_search *search, struct stet_error *err) {
	if (search->context > ST_SEARCH_MAX_CONTEXT)
		return st_fail(err, STET_E_INVALID,
		               "%zu lines of context are too many; ask for %d or fewer, or read the lines.",
		               search->context, ST_SEARCH_MAX_CONTEXT);
	return 0;
}

int st_search_run(const struct st_search *search, const struct st_lines *lines,
                  struct st_arena *arena, struct st_search_result *result, struct stet_error *err) {
	*result = (struct st_search_result){0};
	int code = check_search(search, err);
	if (code < 0)
		return code;

	st_auto(run) run = {
		.search = search,
		.lines = lines,
		.subject = st_str_slice(lines->text, st_bom_len(lines->text), lines->text.len),
		.arena = arena,
		.result = result,
		.max = search->max ? search->max : ST_SEARCH_MAX_MATCHES,
	};
	if (run.max > lines->count)
		run.max = lines->count;
	run.matches = st_arena_array(arena, run.max, sizeof *run.matches);
	if (!run.matches)
		return st_fail_nomem(err);
	result->matches = run.matches;

	struct st_pattern *pattern = NULL;
	struct st_matcher *matcher = NULL;
	unsigned flags = ST_PATTERN_CASELESS | (search->regex ? 0 : ST_PATTERN_LITERAL) |
	                 (search->interpret ? ST_PATTERN_INTERPRET : 0);
	code = st_pattern_new(search->query, flags, "turn regex off", &pattern, err);
	if (code == 0)
		code = st_matcher_new(pattern, &matcher, err);
	if (code == 0) {
		unsigned limit = search->time_limit ? search->time_limit : ST_SEARCH_TIME_LIMIT;
		st_matcher_begin(matcher, run.subject, limit, NULL);
		code = scan(&run, matcher, err);
	}
	st_matcher_free(matcher);
	st_pattern_free(pattern);
	return code;
}
