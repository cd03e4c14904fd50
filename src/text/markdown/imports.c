#include "text/markdown/imports.h"

/* The longest code span, in bytes; an unclosed backtick must not make the scan quadratic. */
enum { SPAN_MAX = 65536 };

static bool is_one_of(char byte, const char *set) {
	return byte && strchr(set, byte);
}

static struct st_str line_from(struct st_str text, size_t start) {
	return st_str_slice(text, start, st_line_end(text, start));
}

/* Skip blanks and quote markers. */
static size_t skip_quotes(struct st_str line, size_t at) {
	while (at < line.len && is_one_of(line.ptr[at], " \t>"))
		at++;
	return at;
}

/* The length of a list marker with the blank after it; 0 if there is none. */
static size_t list_marker(struct st_str rest) {
	size_t len = 0;
	while (len < rest.len && len < 9 && rest.ptr[len] >= '0' && rest.ptr[len] <= '9')
		len++;
	bool mark = len < rest.len && is_one_of(rest.ptr[len], len ? ".)" : "-*+");
	if (!mark || len + 1 >= rest.len || !is_one_of(rest.ptr[len + 1], " \t"))
		return 0;
	return len + 2;
}

static size_t run_length(struct st_str s, size_t at) {
	size_t end = at;
	while (end < s.len && s.ptr[end] == s.ptr[at])
		end++;
	return end - at;
}

/* The length of the fence that a line opens, and its byte; 0 if it opens none. */
static size_t opened_fence(struct st_str line, char *byte) {
	size_t at = skip_quotes(line, 0);
	for (size_t len; (len = list_marker(st_str_slice(line, at, line.len))) > 0;)
		at = skip_quotes(line, at + len);
	if (at == line.len || !is_one_of(line.ptr[at], "`~"))
		return 0;
	size_t len = run_length(line, at);
	struct st_str info = st_str_slice(line, at + len, line.len);
	/* With another backtick in the line, this is a code span. */
	if (len < 3 || (line.ptr[at] == '`' && memchr(info.ptr, '`', info.len)))
		return 0;
	*byte = line.ptr[at];
	return len;
}

static bool closes_fence(const struct st_imports *imports, struct st_str line) {
	size_t at = skip_quotes(line, 0);
	if (at == line.len || line.ptr[at] != imports->fence)
		return false;
	size_t len = run_length(line, at);
	return len >= imports->fence_len &&
	       st_str_trim(st_str_slice(line, at + len, line.len)).len == 0;
}

static bool is_indented(struct st_str line) {
	size_t columns = 0;
	for (size_t i = 0; i < line.len && columns < 4; i++) {
		if (line.ptr[i] != ' ' && line.ptr[i] != '\t')
			return false;
		columns += line.ptr[i] == '\t' ? 4 : 1;
	}
	return columns >= 4;
}

/* Track indented code: it begins after a blank line, and not in a list. */
static bool is_indented_code(struct st_imports *imports, struct st_str line) {
	if (st_str_trim(line).len == 0) {
		imports->after_blank = true;
		return false;
	}
	bool indented = is_indented(line);
	if (list_marker(st_str_slice(line, skip_quotes(line, 0), line.len)) > 0)
		imports->in_list = true;
	else if (!indented && imports->after_blank && !is_one_of(line.ptr[0], " \t"))
		imports->in_list = false;
	imports->indented =
		indented && !imports->in_list && (imports->after_blank || imports->indented);
	imports->after_blank = false;
	return imports->indented;
}

/* Start the line at the cursor. False if the whole line is code. */
static bool start_line(struct st_imports *imports) {
	struct st_str line = line_from(imports->text, imports->at);
	imports->line_end = imports->at + line.len;
	if (imports->fence_len > 0) {
		if (closes_fence(imports, line))
			imports->fence_len = 0;
		return false;
	}
	if (is_indented_code(imports, line))
		return false;
	imports->fence_len = opened_fence(line, &imports->fence);
	return imports->fence_len == 0;
}

/* Whether the line that starts at an offset continues a paragraph. */
static bool continues_paragraph(struct st_str text, size_t start) {
	struct st_str line = line_from(text, start);
	char fence;
	return st_str_trim(line).len > 0 && opened_fence(line, &fence) == 0;
}

/* The offset after the code span at the cursor, or after its backticks if it does not end. */
static size_t skip_span(const struct st_imports *imports) {
	struct st_str text = imports->text;
	size_t len = run_length(text, imports->at), start = imports->at + len;
	size_t limit = text.len - start < SPAN_MAX ? text.len : start + SPAN_MAX;
	for (size_t i = start; i < limit;) {
		size_t run = text.ptr[i] == '`' ? run_length(text, i) : 0;
		if (run == len)
			return i + run;
		if (text.ptr[i] == '\n' && !continues_paragraph(text, i + 1))
			break;
		i += run ? run : 1;
	}
	return start;
}

static size_t skip_comment(struct st_str text, size_t at) {
	const char *end = memmem(text.ptr + at, text.len - at, "-->", 3);
	return end ? (size_t)(end - text.ptr) + 3 : text.len;
}

/* Whether an `@` may follow here: not inside a word, an address or another path. */
static bool may_precede(struct st_str text, size_t at) {
	return at == 0 || st_is_space(text.ptr[at - 1]) ||
	       is_one_of(text.ptr[at - 1], "([{<>\"'*_|,;:") || at == st_bom_len(text);
}

static bool is_in_path(char byte) {
	return (unsigned char)byte > ' ' && byte != 0x7f && !is_one_of(byte, "`\"<>|");
}

/* The end of the path after an `@`, without the punctuation of the sentence. */
static size_t path_end(struct st_str text, size_t start) {
	size_t end = start;
	if (end < text.len && text.ptr[end] == '@')
		return end;
	while (end < text.len && is_in_path(text.ptr[end]))
		end++;
	while (end > start && is_one_of(text.ptr[end - 1], ".,;:!?)]}'*_"))
		end--;
	return end;
}

/* Scan the item at the cursor. True for an import. */
static bool scan_next(struct st_imports *imports, struct st_span *span) {
	struct st_str text = imports->text;
	size_t at = imports->at;
	if (text.ptr[at] == '`') {
		imports->at = skip_span(imports);
	} else if (text.ptr[at] == '\\') {
		imports->at = at + 1 < text.len && text.ptr[at + 1] != '\n' ? at + 2 : at + 1;
	} else if (st_str_starts(st_str_slice(text, at, text.len), ST_STR("<!--"))) {
		imports->at = skip_comment(text, at);
	} else if (text.ptr[at] == '@' && may_precede(text, at)) {
		*span = (struct st_span){at, path_end(text, at + 1)};
		imports->at = span->end;
		return span->end > at + 1;
	} else {
		imports->at = at + 1;
	}
	return false;
}

static bool is_line_start(struct st_str text, size_t at) {
	return at == 0 || text.ptr[at - 1] == '\n' ||
	       (text.ptr[at - 1] == '\r' && text.ptr[at] != '\n');
}

bool st_imports_next(struct st_imports *imports, struct st_span *span) {
	struct st_str text = imports->text;
	while (imports->at < text.len) {
		bool is_text = true;
		if (imports->at >= imports->line_end) {
			/* A code span or a comment may have ended in the middle of a line. */
			if (is_line_start(text, imports->at))
				is_text = start_line(imports);
			else
				imports->line_end = st_line_end(text, imports->at);
		}
		if (!is_text)
			imports->at = imports->line_end;
		else if (scan_next(imports, span))
			return true;
	}
	return false;
}
