#include "text/find/pattern.h"

#include "base/auto.h"
#include "base/buf.h"
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

/* The longest line for code without callouts, and how many steps that may take at worst. */
#define FAST_LINE ((size_t)2048)
#define FAST_WORK ((size_t)1 << 28)
#define FAST_LIMIT_MAX ((size_t)100'000)

/* How many bytes of lines to match before the clock is read again. */
#define FAST_STEP ((size_t)1 << 16)

/* Bytes of an expression to quote on either side of an error. */
#define QUOTE 40

/* When to give up. */
struct timer {
	struct timespec end;
	const atomic_bool *stop;
	unsigned calls;
	/* Where in the subject PCRE2 was when it last read the clock. */
	size_t at;
};

struct st_pattern {
	unsigned flags;
	/* Without operators and line breaks: no callouts, which makes it much faster. */
	bool is_plain;
	/* With callouts, unless it is plain, and able to match around invalid UTF-8. */
	pcre2_code *code;
	/* For texts that are valid UTF-8, where `code` is not compiled to machine code; else NULL. */
	pcre2_code *valid;
	/* Without callouts, for short lines; NULL for none. */
	pcre2_code *fast;
	/* How many starting points one call of pcre2_match() may try. */
	size_t stride;
	struct st_span required;
	bool is_required;
	size_t query_len;
	char query[];
};

struct st_matcher {
	const struct st_pattern *pattern;
	pcre2_match_context *context;
	pcre2_match_context *fast_context;
	pcre2_match_data *data;
	pcre2_jit_stack *stack;
	struct st_str text;
	/* The text is valid UTF-8, as far as that matters. */
	bool is_valid;
	size_t passed;
	struct timer timer;
};

/* ---- the clock ---- */

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
	if (timer->stop && atomic_load_explicit(timer->stop, memory_order_relaxed))
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

/* ---- compiling ---- */

static bool has_any(struct st_str text, struct st_str set) {
	for (size_t i = 0; i < text.len; i++) {
		if (memchr(set.ptr, text.ptr[i], set.len))
			return true;
	}
	return false;
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

static int fail_compile(struct st_str query, int code, size_t offset, const char *instead,
                        struct stet_error *err) {
	size_t here = st_utf8_cut(query, offset < query.len ? offset : query.len);
	size_t from = here > QUOTE ? st_utf8_cut(query, here - QUOTE) : 0;
	size_t end = here + st_utf8_cut(st_str_slice(query, here, query.len), QUOTE);
	return st_fail(
		err, STET_E_INVALID,
		"The regular expression is not valid: %s, at byte %zu: \"%s%.*s <-- HERE %.*s%s\". "
		"Correct it, or %s to search for the text as it is.",
		reason_of(code).text, here, from > 0 ? "..." : "", (int)(here - from), query.ptr + from,
		(int)(end - here), query.ptr + here, end < query.len ? "..." : "", instead);
}

static int compile(pcre2_code **out, struct st_str source, uint32_t options, const char *instead,
                   struct stet_error *err) {
	pcre2_compile_context *settings = pcre2_compile_context_create(NULL);
	if (!settings)
		return st_fail_nomem(err);
	pcre2_set_newline(settings, PCRE2_NEWLINE_ANYCRLF);
	pcre2_set_bsr(settings, PCRE2_BSR_ANYCRLF);
	int code;
	size_t offset;
	*out = pcre2_compile((PCRE2_SPTR)source.ptr, source.len, options, &code, &offset, settings);
	pcre2_compile_context_free(settings);
	if (*out)
		return 0;
	return code == PCRE2_ERROR_HEAP_FAILED ? st_fail_nomem(err)
	                                       : fail_compile(source, code, offset, instead, err);
}

static bool is_jit_compiled(const pcre2_code *code) {
	size_t size = 0;
	return pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &size) == 0 && size > 0;
}

/*
 * PCRE2's interpreter validates the rest of the text in each call. For a text
 * that is valid there is a second code without that check. Machine code has no check.
 */
static int compile_all(struct st_pattern *pattern, struct st_str source, uint32_t options,
                       const char *instead, struct stet_error *err) {
	bool jit = !(pattern->flags & ST_PATTERN_INTERPRET);
	int code = compile(&pattern->code, source, options | PCRE2_MATCH_INVALID_UTF, instead, err);
	if (code < 0)
		return code;
	if (jit)
		pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
	if (!is_jit_compiled(pattern->code))
		return compile(&pattern->valid, source, options, instead, err);
	if (!(pattern->flags & ST_PATTERN_LINES) || pattern->is_plain)
		return 0;
	options &= ~(uint32_t)(PCRE2_AUTO_CALLOUT | PCRE2_USE_OFFSET_LIMIT);
	code = compile(&pattern->fast, source, options | PCRE2_MATCH_INVALID_UTF, instead, err);
	if (code == 0)
		pcre2_jit_compile(pattern->fast, PCRE2_JIT_COMPLETE);
	return code;
}

static bool is_word(char c) {
	return is_ascii_alnum(c) || c == '_';
}

/* How many bytes an escape has that stands for a class, a boundary or a punctuation mark; 0 for others. */
static size_t simple_escape(struct st_str at) {
	if (at.len < 2)
		return 0;
	char c = at.ptr[1];
	return strchr("bBdDsSwW", c) || (!is_ascii_alnum(c) && (unsigned char)c < 0x80) ? 2 : 0;
}

/* The end of a class such as [^]a-z]; 0 if it is none of the plain kind. */
static size_t class_end(struct st_str query, size_t at) {
	size_t end = at + 1;
	if (end < query.len && query.ptr[end] == '^')
		end++;
	for (size_t first = end; end < query.len; end++) {
		char c = query.ptr[end];
		if (c == '[')
			return 0;
		if (c == '\\')
			end++;
		else if (c == ']' && end > first)
			return end + 1;
	}
	return 0;
}

/* The end of a repeat such as {2,5}; 0 if the brace is not closed. */
static size_t brace_end(struct st_str query, size_t at) {
	const char *end = memchr(query.ptr + at, '}', query.len - at);
	return end ? (size_t)(end - query.ptr) + 1 : 0;
}

/*
 * The longest run of letters, digits and underscores that every match contains.
 * A pattern with groups or alternatives has no such run here; few patterns have them.
 */
static struct st_span required_run(struct st_str query) {
	struct st_span best = {0}, run = {0};
	if (has_any(query, ST_STR("|()")))
		return best;
	for (size_t at = 0; at < query.len;) {
		char c = query.ptr[at];
		size_t next = at + 1;
		if (c == '\\')
			next = at + simple_escape(st_str_slice(query, at, query.len));
		else if (c == '[')
			next = class_end(query, at);
		else if (c == '{')
			next = brace_end(query, at);
		if (next <= at || next > query.len)
			return (struct st_span){0};
		/* A repeated item may occur zero times. */
		bool repeats = next < query.len && strchr("?*{", query.ptr[next]);
		if (is_word(c) && !repeats)
			run = run.end == at ? (struct st_span){run.start, next} : (struct st_span){at, next};
		if (run.end - run.start > best.end - best.start)
			best = run;
		at = next;
	}
	return best;
}

static void find_required(struct st_pattern *pattern, struct st_str query) {
	if (pattern->flags & ST_PATTERN_CASELESS || !(pattern->flags & ST_PATTERN_LINES))
		return;
	pattern->is_required = pattern->is_plain;
	pattern->required = pattern->is_plain ? (struct st_span){0, query.len} : required_run(query);
}

static int compile_query(struct st_pattern *pattern, const char *instead, struct stet_error *err) {
	struct st_str query = st_strn(pattern->query, pattern->query_len);
	bool literal = pattern->flags & ST_PATTERN_LITERAL;
	uint32_t options = PCRE2_UTF | PCRE2_USE_OFFSET_LIMIT;
	if (pattern->flags & ST_PATTERN_CASELESS)
		options |= PCRE2_CASELESS;
	pattern->is_plain = !has_any(query, literal ? ST_STR("\r\n") : ST_STR("\\^$.[]|()?*+{}\r\n"));
	find_required(pattern, query);
	if (pattern->is_plain) {
		pattern->stride = STRIDE_WORK / query.len;
		return compile_all(pattern, query, options | PCRE2_LITERAL, instead, err);
	}

	st_auto(st_buf) quoted = ST_BUF_INIT;
	if (literal)
		quote_lines(query, &quoted);
	if (quoted.failed)
		return st_fail_nomem(err);
	pattern->stride = SIZE_MAX;
	options |= PCRE2_MULTILINE | PCRE2_UCP | PCRE2_AUTO_CALLOUT | PCRE2_NEVER_BACKSLASH_C;
	return compile_all(pattern, literal ? st_buf_str(&quoted) : query, options, instead, err);
}

static int check_query(struct st_str query, struct stet_error *err) {
	if (query.len == 0)
		return st_fail(err, STET_E_INVALID, "The search text is empty. Give the text to find.");
	if (query.len > ST_PATTERN_MAX)
		return st_fail(err, STET_E_INVALID,
		               "The search text has %zu bytes, more than the limit of %d. Use a shorter, "
		               "distinctive part of it.",
		               query.len, ST_PATTERN_MAX);
	if (!st_utf8_valid(query))
		return st_fail(err, STET_E_INVALID, "The search text is not valid UTF-8.");
	return 0;
}

int st_pattern_new(struct st_str query, unsigned flags, const char *instead,
                   struct st_pattern **out, struct stet_error *err) {
	*out = NULL;
	int code = check_query(query, err);
	if (code < 0)
		return code;
	struct st_pattern *pattern = calloc(1, sizeof *pattern + query.len + 1);
	if (!pattern)
		return st_fail_nomem(err);
	pattern->flags = flags;
	pattern->query_len = query.len;
	memcpy(pattern->query, query.ptr, query.len);
	code = compile_query(pattern, instead, err);
	if (code < 0)
		st_pattern_free(pattern);
	else
		*out = pattern;
	return code;
}

void st_pattern_free(struct st_pattern *pattern) {
	if (!pattern)
		return;
	pcre2_code_free(pattern->code);
	pcre2_code_free(pattern->valid);
	pcre2_code_free(pattern->fast);
	free(pattern);
}

struct st_str st_pattern_required(const struct st_pattern *pattern) {
	return st_str_slice(st_strn(pattern->query, pattern->query_len), pattern->required.start,
	                    pattern->required.end);
}

bool st_pattern_is_required(const struct st_pattern *pattern) {
	return pattern->is_required;
}

bool st_pattern_is_plain(const struct st_pattern *pattern) {
	return pattern->is_plain;
}

/* ---- matching ---- */

static pcre2_match_context *limited_context(struct st_matcher *matcher) {
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	if (!context)
		return NULL;
	pcre2_set_match_limit(context, MATCH_LIMIT);
	pcre2_set_depth_limit(context, DEPTH_LIMIT);
	pcre2_set_heap_limit(context, HEAP_LIMIT_KIB);
	pcre2_set_callout(context, check_timer, &matcher->timer);
	if (matcher->stack)
		pcre2_jit_stack_assign(context, NULL, matcher->stack);
	return context;
}

int st_matcher_new(const struct st_pattern *pattern, struct st_matcher **out,
                   struct stet_error *err) {
	*out = NULL;
	struct st_matcher *matcher = calloc(1, sizeof *matcher);
	if (!matcher)
		return st_fail_nomem(err);
	matcher->pattern = pattern;
	/* Without this stack, machine code uses 32 KiB of the thread's stack and gives up earlier. */
	if (!pattern->is_plain)
		matcher->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, NULL);
	matcher->context = limited_context(matcher);
	matcher->fast_context = limited_context(matcher);
	matcher->data = pcre2_match_data_create(1, NULL);
	if (!matcher->context || !matcher->fast_context || !matcher->data) {
		st_matcher_free(matcher);
		return st_fail_nomem(err);
	}
	*out = matcher;
	return 0;
}

void st_matcher_free(struct st_matcher *matcher) {
	if (!matcher)
		return;
	pcre2_match_data_free(matcher->data);
	pcre2_match_context_free(matcher->context);
	pcre2_match_context_free(matcher->fast_context);
	pcre2_jit_stack_free(matcher->stack);
	free(matcher);
}

void st_matcher_begin(struct st_matcher *matcher, struct st_str text, unsigned milliseconds,
                      const atomic_bool *stop) {
	matcher->passed = 0;
	matcher->timer.stop = stop;
	timer_start(&matcher->timer, milliseconds);
	st_matcher_continue(matcher, text);
}

void st_matcher_continue(struct st_matcher *matcher, struct st_str text) {
	matcher->text = text;
	matcher->timer.at = 0;
	matcher->is_valid = matcher->pattern->valid && st_utf8_valid(text);
}

/* Match in a part of the text, which nothing surrounds. As st_matcher_next(), with offsets of the part. */
static int next_in(struct st_matcher *matcher, struct st_span part, size_t at,
                   struct st_span *span) {
	const struct st_pattern *pattern = matcher->pattern;
	struct st_str subject = st_str_slice(matcher->text, part.start, part.end);
	const pcre2_code *compiled = matcher->is_valid ? pattern->valid : pattern->code;
	uint32_t options = matcher->is_valid ? PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT : 0;
	for (;;) {
		size_t left = subject.len - at, limit = subject.len;
		if (left > pattern->stride)
			limit = st_utf8_cut(subject, at + pattern->stride);
		pcre2_set_offset_limit(matcher->context, limit);
		matcher->timer.at = at;
		int code = pcre2_match(compiled, (PCRE2_SPTR)subject.ptr, subject.len, at, options,
		                       matcher->data, matcher->context);
		if (code >= 0)
			break;
		if (code != PCRE2_ERROR_NOMATCH) {
			matcher->timer.at += part.start;
			return code;
		}
		if (limit == subject.len)
			return 0;
		at = limit;
		if (timer_over(&matcher->timer))
			return PCRE2_ERROR_CALLOUT;
	}
	const size_t *offsets = pcre2_get_ovector_pointer(matcher->data);
	*span = (struct st_span){offsets[0], offsets[1] > offsets[0] ? offsets[1] : offsets[0]};
	return 1;
}

int st_matcher_next(struct st_matcher *matcher, size_t at, struct st_span *span) {
	return next_in(matcher, (struct st_span){0, matcher->text.len}, at, span);
}

int st_matcher_look(struct st_matcher *matcher) {
	matcher->passed = 0;
	return timer_over(&matcher->timer) ? PCRE2_ERROR_CALLOUT : 0;
}

int st_matcher_passed(struct st_matcher *matcher, size_t bytes) {
	matcher->passed += bytes;
	return matcher->passed < FAST_STEP ? 0 : st_matcher_look(matcher);
}

/*
 * PCRE2 counts its steps for each starting point anew, and its machine code counts
 * the repeats of one character not at all: the work is at most the limit times
 * the square of the length.
 */
static int match_fast(struct st_matcher *matcher, struct st_str line, struct st_span *span) {
	size_t square = line.len * line.len + 1;
	size_t limit = FAST_WORK / square < FAST_LIMIT_MAX ? FAST_WORK / square : FAST_LIMIT_MAX;
	pcre2_set_match_limit(matcher->fast_context, (uint32_t)limit);
	int code = pcre2_match(matcher->pattern->fast, (PCRE2_SPTR)line.ptr, line.len, 0, 0,
	                       matcher->data, matcher->fast_context);
	if (code == PCRE2_ERROR_NOMATCH)
		return 0;
	if (code < 0)
		return code;
	const size_t *offsets = pcre2_get_ovector_pointer(matcher->data);
	*span = (struct st_span){offsets[0], offsets[1] > offsets[0] ? offsets[1] : offsets[0]};
	return 1;
}

int st_matcher_line(struct st_matcher *matcher, struct st_span line, struct st_span *span) {
	struct st_str text = st_str_slice(matcher->text, line.start, line.end);
	int code = -1;
	matcher->timer.at = line.start;
	if (st_matcher_passed(matcher, text.len + 1) < 0)
		return PCRE2_ERROR_CALLOUT;
	if (matcher->pattern->fast && text.len <= FAST_LINE)
		code = match_fast(matcher, text, span);
	if (code < 0)
		code = next_in(matcher, line, 0, span);
	if (code > 0)
		*span = (struct st_span){span->start + line.start, span->end + line.start};
	return code;
}

size_t st_matcher_at(const struct st_matcher *matcher) {
	return matcher->timer.at;
}

const char *st_matcher_limit(int reason) {
	switch (reason) {
	case PCRE2_ERROR_CALLOUT:
		return "its time was up";
	case PCRE2_ERROR_RECURSELOOP:
		return "the expression recurses without end";
	case PCRE2_ERROR_MATCHLIMIT:
	case PCRE2_ERROR_DEPTHLIMIT:
	case PCRE2_ERROR_HEAPLIMIT:
	case PCRE2_ERROR_JIT_STACKLIMIT:
		return "the expression backtracks too much";
	default:
		return NULL;
	}
}

int st_matcher_fail(int reason, struct stet_error *err) {
	if (reason == PCRE2_ERROR_NOMEMORY)
		return st_fail_nomem(err);
	return st_fail(err, STET_E_INVALID, "The search failed: %s.", reason_of(reason).text);
}
