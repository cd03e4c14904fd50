#include "text/markdown/linkdef.h"

#include "base/utf8.h"

/* The limits of libcmark. */
#define MAX_LABEL 1000
#define MAX_PARENTHESES 32

static bool is_punct(char c) {
	return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
	       (c >= '{' && c <= '~');
}

static bool is_line_end(char c) {
	return c == '\n' || c == '\r';
}

static bool is_escape(struct st_str s, size_t at) {
	return s.ptr[at] == '\\' && at + 1 < s.len && is_punct(s.ptr[at + 1]);
}

static size_t skip_spaces_tabs(struct st_str s, size_t at) {
	while (at < s.len && (s.ptr[at] == ' ' || s.ptr[at] == '\t'))
		at++;
	return at;
}

static size_t skip_line_end(struct st_str s, size_t at) {
	if (at < s.len && s.ptr[at] == '\r')
		at++;
	if (at < s.len && s.ptr[at] == '\n')
		at++;
	return at;
}

/* Skip blanks, with at most one line ending among them. */
static size_t skip_gap(struct st_str s, size_t at) {
	return skip_spaces_tabs(s, skip_line_end(s, skip_spaces_tabs(s, at)));
}

/* Each scan_ function returns the offset after the item; 0 if there is no such item. */

/* Scan `[label]` at the start. */
static size_t scan_label(struct st_str s) {
	bool blank = true;
	size_t at = 1;
	while (at < s.len && s.ptr[at] != '[' && s.ptr[at] != ']') {
		blank = blank && st_is_space(s.ptr[at]);
		at += is_escape(s, at) ? 2 : 1;
		if (at - 1 > MAX_LABEL)
			return 0;
	}
	return at < s.len && s.ptr[at] == ']' && !blank ? at + 1 : 0;
}

/* Scan `<url>`. */
static size_t scan_pointed_url(struct st_str s, size_t at) {
	for (at++; at < s.len; at++) {
		if (s.ptr[at] == '>')
			return at + 1;
		if (is_line_end(s.ptr[at]) || s.ptr[at] == '<')
			return 0;
		/* libcmark accepts any byte after a backslash, and sees a line ending as one byte. */
		if (s.ptr[at] == '\\' && at + 1 < s.len)
			at = is_line_end(s.ptr[at + 1]) ? skip_line_end(s, at + 1) - 1 : at + 1;
	}
	return 0;
}

/* Scan a plain URL, whose parentheses must match. */
static size_t scan_plain_url(struct st_str s, size_t start) {
	size_t open = 0;
	size_t at = start;
	while (at < s.len && !st_is_space(s.ptr[at])) {
		if (s.ptr[at] == '(' && ++open > MAX_PARENTHESES)
			return 0;
		if (s.ptr[at] == ')') {
			if (open == 0)
				break;
			open--;
		}
		at += is_escape(s, at) ? 2 : 1;
	}
	return at > start && open == 0 ? at : 0;
}

static size_t scan_url(struct st_str s, size_t at) {
	if (at < s.len && s.ptr[at] == '<')
		return scan_pointed_url(s, at);
	return scan_plain_url(s, at);
}

/*
 * Scan a title. If no other quote ends it, its last escaped quote does. It cannot
 * contain invalid UTF-8.
 */
static size_t scan_title(struct st_str s, size_t start) {
	char open = start < s.len ? s.ptr[start] : '\0';
	if (open != '"' && open != '\'' && open != '(')
		return 0;
	char close = open == '(' ? ')' : open;
	size_t end = 0;
	for (size_t at = start + 1; at < s.len;) {
		uint32_t point;
		size_t len = st_utf8_next(st_str_slice(s, at, s.len), &point);
		if (s.ptr[at] == close)
			return at + 1;
		if ((open == '(' && s.ptr[at] == '(') || (len == 1 && point == 0xFFFD))
			break;
		if (is_escape(s, at) && s.ptr[at + 1] == close)
			end = at + 2;
		at += is_escape(s, at) ? 2 : len;
	}
	return end;
}

/* Scan blanks and a line ending, or the end of the text. */
static size_t scan_rest_of_line(struct st_str s, size_t at) {
	at = skip_spaces_tabs(s, at);
	if (at == s.len)
		return at;
	return is_line_end(s.ptr[at]) ? skip_line_end(s, at) : 0;
}

/* Scan one definition at the start. */
static size_t scan_definition(struct st_str s) {
	size_t at = s.len && s.ptr[0] == '[' ? scan_label(s) : 0;
	if (at == 0 || at == s.len || s.ptr[at] != ':')
		return 0;
	size_t url = scan_url(s, skip_gap(s, at + 1));
	if (url == 0)
		return 0;
	size_t gap = skip_gap(s, url);
	size_t title = gap > url ? scan_title(s, gap) : 0;
	size_t end = title ? scan_rest_of_line(s, title) : 0;
	return end ? end : scan_rest_of_line(s, url);
}

size_t st_linkdef_skip(struct st_str paragraph) {
	size_t at = 0;
	for (;;) {
		size_t len = scan_definition(st_str_slice(paragraph, at, paragraph.len));
		if (len == 0)
			return at;
		at += len;
	}
}
