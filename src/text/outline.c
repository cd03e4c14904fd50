#include "text/outline.h"

static bool is_blank(char c) {
	return c == ' ' || c == '\t' || c == '\f' || c == '\v';
}

static struct st_str trim(struct st_str s) {
	while (s.len && is_blank(s.ptr[0]))
		s = st_str_slice(s, 1, s.len);
	while (s.len && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

/*
 * The marker of a section line: `[name]`, `[[name]]`, with nothing or a
 * comment behind it. A list of values or a check box is none.
 */
static struct st_str marker_of(struct st_str line) {
	if (!st_str_starts(line, ST_STR("[")))
		return st_str("");
	const char *close = memrchr(line.ptr, ']', line.len);
	const char *comment = memchr(line.ptr, ';', line.len);
	const char *hash = memchr(line.ptr, '#', line.len);
	if (!comment || (hash && hash < comment))
		comment = hash;
	if (comment)
		close = memrchr(line.ptr, ']', (size_t)(comment - line.ptr));
	if (!close)
		return st_str("");

	struct st_str marker = st_strn(line.ptr, (size_t)(close + 1 - line.ptr));
	struct st_str behind = trim(st_str_slice(line, marker.len, line.len));
	struct st_str name = trim(st_str_slice(marker, 1, marker.len - 1));
	bool values = memchr(name.ptr, ',', name.len) || memchr(name.ptr, '(', name.len);
	bool ends = behind.len == 0 || behind.ptr == comment;
	return ends && name.len && !values ? marker : st_str("");
}

static void read_outline(struct st_outline *outline, const struct st_lines *lines) {
	bool after_blank = false;
	for (size_t n = 1; n <= lines->count; n++) {
		struct st_str line = trim(st_lines_body(lines, n));
		if (n == 1)
			line = st_str_slice(line, st_bom_len(line), line.len);
		struct st_str marker = marker_of(line);
		if (marker.len)
			outline->sections[outline->section_count++] = (struct st_section){marker, n};
		if (line.len && after_blank)
			outline->groups[outline->group_count++] = n;
		after_blank = line.len == 0;
	}
}

/* How many lines could be section lines: room for all of them is taken at once. */
static size_t count_brackets(const struct st_lines *lines) {
	size_t count = 0;
	for (size_t n = 1; n <= lines->count; n++)
		count += memchr(st_lines_body(lines, n).ptr, '[', st_lines_body(lines, n).len) != NULL;
	return count;
}

int st_outline_init(struct st_outline *outline, const struct st_lines *lines,
                    struct stet_error *err) {
	*outline = (struct st_outline){0};
	outline->sections = calloc(count_brackets(lines) + 1, sizeof *outline->sections);
	/* Each group but the last is followed by a blank line. */
	outline->groups = calloc(lines->count / 2 + 1, sizeof *outline->groups);
	if (!outline->sections || !outline->groups) {
		st_outline_release(outline);
		return st_fail_nomem(err);
	}
	read_outline(outline, lines);
	return 0;
}

void st_outline_release(struct st_outline *outline) {
	free(outline->sections);
	free(outline->groups);
	*outline = (struct st_outline){0};
}
