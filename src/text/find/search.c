#include "text/find/search.h"

#include "base/cancel.h"
#include "base/utf8.h"

#include <stdint.h>
#include <time.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Limits for one attempt to match; the time limit bounds all attempts together. */
#define MATCH_LIMIT 10'000'000
#define DEPTH_LIMIT 1'000'000
#define HEAP_LIMIT_KIB 32'768
#define JIT_STACK_MIN 32'768
#define JIT_STACK_MAX (4 << 20)

/* For a pattern without callouts: bytes compared, at worst, before the clock is read again. */
#define STRIDE_WORK ((size_t)1 << 27)

/* Characters to show before a match that lies beyond the cut. */
#define LEAD 40

/* Bytes of an expression to quote on either side of an error. */
#define QUOTE 40

/* When to give up. */
struct timer {
	struct timespec end;
	unsigned calls;
	/* Where in the subject PCRE2 was when it last read the clock. */
	size_t at;
};

/* A compiled query. */
struct pattern {
	pcre2_compile_context *settings;
	pcre2_code *code;
	pcre2_match_context *context;
	pcre2_match_data *data;
	pcre2_jit_stack *stack;
	uint32_t match_options;
	/* How many starting points one call of pcre2_match() may try. */
	size_t stride;
	struct timer timer;
};

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

static void pattern_release(struct pattern *pattern) {
	pcre2_match_data_free(pattern->data);
	pcre2_match_context_free(pattern->context);
	pcre2_jit_stack_free(pattern->stack);
	pcre2_code_free(pattern->code);
	pcre2_compile_context_free(pattern->settings);
}

static void run_release(struct run *run) {
	st_buf_release(&run->scratch);
}

/* The coarse clock ticks every few milliseconds, and reading it costs next to nothing. */
static void timer_start(struct timer *timer, unsigned milliseconds) {
	clock_gettime(CLOCK_MONOTONIC_COARSE, &timer->end);
	timer->end.tv_sec += milliseconds / 1000;
	timer->end.tv_nsec += milliseconds % 1000 * 1'000'000L;
	if (timer->end.tv_nsec >= 1'000'000'000L) {
		timer->end.tv_sec++;
		timer->end.tv_nsec -= 1'000'000'000L;
	}
}

/* The most work between two readings of the clock, in the bytes that st_cancel_check() counts. */
#define TIMER_WORK ((size_t)1 << 12)

static bool timer_over(const struct timer *timer) {
	if (st_cancel_check(TIMER_WORK, NULL) < 0)
		return true;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec != timer->end.tv_sec ? now.tv_sec > timer->end.tv_sec
	                                       : now.tv_nsec > timer->end.tv_nsec;
}

/*
 * PCRE2's own limits count per starting point, and its compiled code does not
 * count the steps of `.*` and its like at all. So PCRE2 makes a callout before
 * every item of an expression, and the callout stops it when the time is up.
 */
static int check_timer(pcre2_callout_block *block, void *data) {
	struct timer *timer = data;
	if (++timer->calls % 8 != 0)
		return 0;
	timer->at = block->start_match;
	return timer_over(timer) ? PCRE2_ERROR_CALLOUT : 0;
}

static bool has_any(struct st_str text, struct st_str set) {
	for (size_t i = 0; i < text.len; i++) {
		if (memchr(set.ptr, text.ptr[i], set.len))
			return true;
	}
	return false;
}

/* A query of one line without operators needs no callouts, which makes it much faster. */
static bool is_literal(const struct st_search *search) {
	return !has_any(search->query, search->regex ? ST_STR("\\^$.[]|()?*+{}\r\n") : ST_STR("\r\n"));
}

static bool is_ascii_alnum(char c) {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Turn plain text of several lines into an expression: \R matches any line ending of the file. */
static void quote_lines(struct st_str text, struct st_buf *out) {
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == '\r' && i + 1 < text.len && text.ptr[i + 1] == '\n')
			continue;
		if (c == '\r' || c == '\n') {
			st_buf_adds(out, "\\R");
			continue;
		}
		if ((unsigned char)c < 0x80 && !is_ascii_alnum(c))
			st_buf_addc(out, '\\');
		st_buf_addc(out, c);
	}
}

struct reason {
	char text[256];
};

/* PCRE2's message for one of its codes. */
static struct reason reason_of(int code) {
	struct reason reason = {0};
	pcre2_get_error_message(code, (PCRE2_UCHAR *)reason.text, sizeof reason.text);
	return reason;
}

static int fail_compile(struct st_str query, int code, size_t offset, struct stet_error *err) {
	size_t here = st_utf8_cut(query, offset < query.len ? offset : query.len);
	size_t from = here > QUOTE ? st_utf8_cut(query, here - QUOTE) : 0;
	size_t end = here + st_utf8_cut(st_str_slice(query, here, query.len), QUOTE);
	return st_fail(
		err, STET_E_INVALID,
		"The regular expression is not valid: %s, at byte %zu: \"%s%.*s <-- HERE %.*s%s\". "
		"Correct it, or turn regex off to search for the text as it is.",
		reason_of(code).text, here, from > 0 ? "..." : "", (int)(here - from), query.ptr + from,
		(int)(end - here), query.ptr + here, end < query.len ? "..." : "");
}

static int compile(struct pattern *pattern, struct st_str source, uint32_t options,
                   struct stet_error *err) {
	int code;
	size_t offset;
	pcre2_code_free(pattern->code);
	pattern->code = pcre2_compile((PCRE2_SPTR)source.ptr, source.len, options, &code, &offset,
	                              pattern->settings);
	if (pattern->code)
		return 0;
	return code == PCRE2_ERROR_HEAP_FAILED ? st_fail_nomem(err)
	                                       : fail_compile(source, code, offset, err);
}

static bool is_jit_compiled(const struct pattern *pattern) {
	size_t size = 0;
	return pcre2_pattern_info(pattern->code, PCRE2_INFO_JITSIZE, &size) == 0 && size > 0;
}

/*
 * PCRE2's interpreter validates the rest of the text in each call. If the text is
 * valid, compile the pattern again without that check. Compiled code has no check.
 */
static int compile_for(struct pattern *pattern, struct st_str source, uint32_t options,
                       const struct run *run, struct stet_error *err) {
	int code = compile(pattern, source, options | PCRE2_MATCH_INVALID_UTF, err);
	if (code < 0)
		return code;
	if (!run->search->interpret)
		pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
	if (is_jit_compiled(pattern) || !st_utf8_valid(run->subject))
		return 0;
	pattern->match_options = PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT;
	return compile(pattern, source, options, err);
}

static int set_limits(struct pattern *pattern, unsigned time_limit, struct stet_error *err) {
	pattern->context = pcre2_match_context_create(NULL);
	pattern->data = pcre2_match_data_create(1, NULL);
	if (!pattern->context || !pattern->data)
		return st_fail_nomem(err);

	pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
	pcre2_set_depth_limit(pattern->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(pattern->context, HEAP_LIMIT_KIB);
	pcre2_set_callout(pattern->context, check_timer, &pattern->timer);
	timer_start(&pattern->timer, time_limit ? time_limit : ST_SEARCH_TIME_LIMIT);
	return 0;
}

/* Without this stack, compiled code uses 32 KiB of the machine stack and gives up earlier. */
static void assign_stack(struct pattern *pattern) {
	pattern->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, NULL);
	if (pattern->stack)
		pcre2_jit_stack_assign(pattern->context, NULL, pattern->stack);
}

static int pattern_init(struct pattern *pattern, const struct run *run, struct stet_error *err) {
	const struct st_search *search = run->search;
	int code = set_limits(pattern, search->time_limit, err);
	if (code < 0)
		return code;
	pattern->settings = pcre2_compile_context_create(NULL);
	if (!pattern->settings)
		return st_fail_nomem(err);
	pcre2_set_newline(pattern->settings, PCRE2_NEWLINE_ANYCRLF);
	pcre2_set_bsr(pattern->settings, PCRE2_BSR_ANYCRLF);

	uint32_t options = PCRE2_CASELESS | PCRE2_UTF | PCRE2_USE_OFFSET_LIMIT;
	if (is_literal(search)) {
		pattern->stride = STRIDE_WORK / search->query.len;
		return compile_for(pattern, search->query, options | PCRE2_LITERAL, run, err);
	}

	st_auto(st_buf) quoted = ST_BUF_INIT;
	if (!search->regex)
		quote_lines(search->query, &quoted);
	if (quoted.failed)
		return st_fail_nomem(err);
	pattern->stride = SIZE_MAX;
	assign_stack(pattern);
	options |= PCRE2_MULTILINE | PCRE2_UCP | PCRE2_AUTO_CALLOUT | PCRE2_NEVER_BACKSLASH_C;
	return compile_for(pattern, search->regex ? search->query : st_buf_str(&quoted), options, run,
	                   err);
}

/* Find the next match at or after an offset. @return 1 and the span, 0, or a negative PCRE2 code. */
static int next_match(struct pattern *pattern, struct st_str subject, size_t at,
                      struct st_span *span) {
	for (;;) {
		size_t left = subject.len - at, limit = subject.len;
		if (left > pattern->stride)
			limit = st_utf8_cut(subject, at + pattern->stride);
		pcre2_set_offset_limit(pattern->context, limit);
		pattern->timer.at = at;
		int code = pcre2_match(pattern->code, (PCRE2_SPTR)subject.ptr, subject.len, at,
		                       pattern->match_options, pattern->data, pattern->context);
		if (code >= 0)
			break;
		if (code != PCRE2_ERROR_NOMATCH)
			return code;
		if (limit == subject.len)
			return 0;
		at = limit;
		if (timer_over(&pattern->timer))
			return PCRE2_ERROR_CALLOUT;
	}
	const size_t *offsets = pcre2_get_ovector_pointer(pattern->data);
	*span = (struct st_span){offsets[0], offsets[1] > offsets[0] ? offsets[1] : offsets[0]};
	return 1;
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

static const char *why_stopped(int code) {
	switch (code) {
	case PCRE2_ERROR_CALLOUT:
		return "its time was up";
	case PCRE2_ERROR_RECURSELOOP:
		return "the expression recurses without end";
	default:
		return "the expression backtracks too much";
	}
}

/* Whether PCRE2 stopped at a limit, rather than failed. */
static bool gave_up(int code) {
	return code == PCRE2_ERROR_CALLOUT || code == PCRE2_ERROR_RECURSELOOP ||
	       code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT ||
	       code == PCRE2_ERROR_HEAPLIMIT || code == PCRE2_ERROR_JIT_STACKLIMIT;
}

/* End early. With matches, return them and a note; without, fail, which cannot be taken for "no match". */
static int end_early(struct run *run, int code, size_t at, struct stet_error *err) {
	if (code == PCRE2_ERROR_NOMEMORY)
		return st_fail_nomem(err);
	if (!gave_up(code))
		return st_fail(err, STET_E_INVALID, "The search failed: %s.", reason_of(code).text);

	size_t offset = (size_t)(run->subject.ptr - run->lines->text.ptr) + at;
	st_buf_clear(&run->scratch);
	st_buf_addf(&run->scratch,
	            "The search stopped at line %zu of %zu, since %s; later lines were not searched. "
	            "Make the query more specific: no repetition inside a repetition such as (a+)+, "
	            "[^,]* in place of .*, or plain text.",
	            st_lines_number(run->lines, offset), run->lines->count, why_stopped(code));
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

static int scan(struct run *run, struct pattern *pattern, struct stet_error *err) {
	size_t bom = (size_t)(run->subject.ptr - run->lines->text.ptr);
	for (size_t at = 0; at < run->subject.len;) {
		struct st_span span;
		int code = next_match(pattern, run->subject, at, &span);
		if (code < 0)
			return end_early(run, code, pattern->timer.at, err);
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
		if (at < run->subject.len && timer_over(&pattern->timer))
			return end_early(run, PCRE2_ERROR_CALLOUT, at, err);
	}
	return 0;
}

static int check_search(const struct st_search *search, struct stet_error *err) {
	if (search->query.len == 0)
		return st_fail(err, STET_E_INVALID, "The query is empty. Give the text to search for.");
	if (search->query.len > ST_SEARCH_MAX_QUERY)
		return st_fail(err, STET_E_INVALID,
		               "The query has %zu bytes, more than the limit of %d. Use a shorter, "
		               "distinctive part of it.",
		               search->query.len, ST_SEARCH_MAX_QUERY);
	if (!st_utf8_valid(search->query))
		return st_fail(err, STET_E_INVALID, "The query is not valid UTF-8.");
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

	st_auto(pattern) pattern = {0};
	code = pattern_init(&pattern, &run, err);
	return code < 0 ? code : scan(&run, &pattern, err);
}
