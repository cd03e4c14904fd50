#include "text/markdown/frontmatter.h"

static struct st_str trim_end(struct st_str s) {
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

static struct st_str trimmed_line(const struct st_lines *lines, size_t n) {
	struct st_str line = st_lines_body(lines, n);
	if (n == 1)
		line = st_str_slice(line, st_bom_len(line), line.len);
	return trim_end(line);
}

/* The length of a key in quotes; 0 if it is not closed. */
static size_t quoted_len(struct st_str line) {
	const char *end = memchr(line.ptr + 1, line.ptr[0], line.len - 1);
	return end ? (size_t)(end - line.ptr) + 1 : 0;
}

/* Find the colon that ends a key: at the end of the line, or before a blank. */
static size_t find_colon(struct st_str line, size_t from) {
	for (size_t i = from; i < line.len; i++) {
		if (line.ptr[i] == ':' &&
		    (i + 1 == line.len || line.ptr[i + 1] == ' ' || line.ptr[i + 1] == '\t'))
			return i;
	}
	return line.len;
}

struct st_str st_frontmatter_key(struct st_str line) {
	/* An indented line is nested or continues a value; "-" opens a list. */
	if (line.len == 0 || strchr(" \t#-:[]{},&*!|>%@`?", line.ptr[0]))
		return st_str("");
	bool quoted = line.ptr[0] == '"' || line.ptr[0] == '\'';
	size_t from = quoted ? quoted_len(line) : 0;
	if (quoted && from == 0)
		return st_str("");
	size_t colon = find_colon(line, from);
	if (colon == line.len)
		return st_str("");
	struct st_str key = trim_end(st_strn(line.ptr, colon));
	if (quoted)
		return key.len == from ? st_strn(line.ptr + 1, from - 2) : st_str("");
	return key;
}

/* Whether the lines after the first rule are YAML: a key, a flow mapping, or no line at all. */
static bool opens_yaml(const struct st_lines *lines, size_t end) {
	for (size_t n = 2; n < end; n++) {
		struct st_str line = trimmed_line(lines, n);
		if (line.len == 0)
			return false;
		if (line.ptr[0] != '#')
			return line.ptr[0] == '{' || st_frontmatter_key(line).len > 0;
	}
	return true;
}

size_t st_frontmatter_end(const struct st_lines *lines) {
	if (lines->count < 2 || !st_str_eq(trimmed_line(lines, 1), ST_STR("---")))
		return 0;
	for (size_t n = 2; n <= lines->count; n++) {
		struct st_str line = trimmed_line(lines, n);
		if (st_str_eq(line, ST_STR("---")) || st_str_eq(line, ST_STR("...")))
			return opens_yaml(lines, n) ? n : 0;
	}
	return 0;
}
