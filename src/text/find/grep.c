#include "text/find/grep.h"

#include "base/utf8.h"

/* Whether an expression names a line break: \n or \R, or the character itself. */
static bool names_break(struct st_str query, bool literal) {
	for (size_t i = 0; i < query.len; i++) {
		char c = query.ptr[i];
		if (c == '\n' || c == '\r')
			return true;
		if (literal || c != '\\' || ++i == query.len)
			continue;
		if (query.ptr[i] == 'n' || query.ptr[i] == 'R')
			return true;
	}
	return false;
}

int st_grep_compile(struct st_str query, unsigned flags, struct st_pattern **out,
                    struct stet_error *err) {
	bool span = flags & ST_GREP_SPAN;
	*out = NULL;
	if (!span && names_break(query, flags & ST_GREP_LITERAL))
		return st_fail(err, STET_E_INVALID,
		               "The pattern holds a line break, which no single line contains. Pass "
		               "multiline: true to match across lines.");
	unsigned options = flags & (ST_PATTERN_LITERAL | ST_PATTERN_CASELESS);
	return st_pattern_new(query, options | (span ? 0 : ST_PATTERN_LINES), "pass literal: true", out,
	                      err);
}

int st_grep_init(struct st_grep *grep, const struct st_pattern *pattern, unsigned flags,
                 struct stet_error *err) {
	*grep = (struct st_grep){
		.span = flags & ST_GREP_SPAN,
		.pattern = pattern,
		.needle = st_needle_of(st_pattern_required(pattern)),
	};
	return st_matcher_new(pattern, &grep->matcher, err);
}

void st_grep_release(struct st_grep *grep) {
	st_matcher_free(grep->matcher);
	*grep = (struct st_grep){0};
}

void st_grep_begin(struct st_grep *grep, struct st_str text, unsigned milliseconds,
                   const atomic_bool *stop) {
	grep->bom = st_bom_len(text);
	grep->text = st_str_slice(text, grep->bom, text.len);
	grep->at = 0;
	st_matcher_begin(grep->matcher, grep->text, milliseconds, stop);
}

void st_grep_continue(struct st_grep *grep, struct st_str text) {
	grep->bom = 0;
	grep->text = text;
	grep->at = 0;
	st_matcher_continue(grep->matcher, text);
}

/* The lines that a match touches. A line break at its end belongs to the line that it ends. */
static struct st_span lines_of(struct st_str text, struct st_span match) {
	size_t last = match.end > match.start ? match.end - 1 : match.start;
	return (struct st_span){st_line_start(text, match.start), st_line_end(text, last)};
}

/* The next line that contains the required bytes. @return 1, 0 or a negative reason. */
static int next_candidate(struct st_grep *grep, struct st_span *lines, struct st_span *match) {
	struct st_str rest = st_str_slice(grep->text, grep->at, grep->text.len);
	const char *hit = st_needle_find(&grep->needle, rest);
	size_t passed = hit ? (size_t)(hit - rest.ptr) : rest.len;
	if (st_matcher_passed(grep->matcher, passed) < 0)
		return st_matcher_look(grep->matcher);
	if (!hit)
		return 0;
	size_t at = grep->at + passed;
	*match = (struct st_span){at, at + grep->needle.bytes.len};
	*lines = lines_of(grep->text, *match);
	return 1;
}

/* The line at grep->at. @return 1, or 0 behind the last one. */
static int next_line(struct st_grep *grep, struct st_span *lines) {
	*lines = (struct st_span){grep->at, st_line_end(grep->text, grep->at)};
	return grep->at < grep->text.len;
}

/* Line by line, or from one line that contains the required bytes to the next. */
static int next_by_lines(struct st_grep *grep, struct st_span *lines, struct st_span *match) {
	bool has_needle = grep->needle.bytes.len > 0;
	for (;;) {
		int code = has_needle ? next_candidate(grep, lines, match) : next_line(grep, lines);
		if (code <= 0)
			return code;
		grep->at = lines->end;
		if (st_pattern_is_required(grep->pattern))
			return 1;
		struct st_str body = st_line_body(grep->text, lines->start);
		struct st_span line = {lines->start, lines->start + body.len};
		code = st_matcher_line(grep->matcher, line, match);
		if (code != 0)
			return code;
	}
}

/* Plain text in any case: PCRE2 passes over the lines in between by itself. */
static int next_plain(struct st_grep *grep, struct st_span *lines, struct st_span *match) {
	if (grep->at >= grep->text.len)
		return 0;
	int code = st_matcher_next(grep->matcher, grep->at, match);
	if (code <= 0)
		return code;
	*lines = lines_of(grep->text, *match);
	code = st_matcher_passed(grep->matcher, lines->end - grep->at);
	grep->at = lines->end;
	return code < 0 ? code : 1;
}

/* Where to look for the next match: an empty one must not be found again. */
static size_t behind(struct st_str text, struct st_span match) {
	if (match.end > match.start)
		return match.end;
	uint32_t point;
	struct st_str rest = st_str_slice(text, match.end, text.len);
	return match.end + (rest.len ? st_utf8_next(rest, &point) : 1);
}

/* Whether an offset is behind the last line, which has an ending: no line holds it. */
static bool is_behind_last(struct st_str text, size_t at) {
	return at == text.len && (at == 0 || st_line_start(text, at) == at);
}

/* Matches that span lines: those that begin in the lines of the one before extend these. */
static int next_span(struct st_grep *grep, struct st_span *lines, struct st_span *match) {
	size_t from = grep->at;
	bool found = false;
	while (from < grep->text.len && (!found || from < lines->end)) {
		struct st_span next;
		int code = st_matcher_next(grep->matcher, from, &next);
		if (code == 0 && !found)
			grep->at = grep->text.len;
		if (code == 0)
			break;
		if (code > 0)
			code = st_matcher_look(grep->matcher);
		if (code < 0)
			return code;
		if (is_behind_last(grep->text, next.start) || (found && next.start >= lines->end))
			break;
		struct st_span touched = lines_of(grep->text, next);
		if (!found)
			*match = next;
		*lines = (struct st_span){found ? lines->start : touched.start, touched.end};
		found = true;
		from = behind(grep->text, next);
	}
	if (found)
		grep->at = lines->end;
	return found;
}

int st_grep_next(struct st_grep *grep, struct st_span *lines, struct st_span *match) {
	bool caseless_text = st_pattern_is_plain(grep->pattern) && grep->needle.bytes.len == 0;
	int code = grep->span      ? next_span(grep, lines, match)
	           : caseless_text ? next_plain(grep, lines, match)
	                           : next_by_lines(grep, lines, match);
	if (code <= 0)
		return code;
	/* The first line begins with the byte order mark. */
	lines->start += lines->start > 0 ? grep->bom : 0;
	lines->end += grep->bom;
	match->start += grep->bom;
	match->end += grep->bom;
	return 1;
}
