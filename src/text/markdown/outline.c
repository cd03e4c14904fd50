#include "text/markdown/outline.h"

#include "base/cancel.h"

/* Check for cancellation after so many lines. */
enum { STEP = 4096 };

/* Whether the rest of a line is empty or a comment. */
static bool is_comment_or_empty(struct st_str rest) {
	rest = st_str_trim(rest);
	return rest.len == 0 || rest.ptr[0] == ';' || rest.ptr[0] == '#';
}

/*
 * The marker of a section line: `[name]` or `[[name]]`, maybe with a comment after
 * it. A list of values or an empty pair of brackets is not a marker.
 */
static struct st_str marker_of(struct st_str line) {
	if (!st_str_starts(line, ST_STR("[")))
		return st_str("");
	size_t end = 1;
	while (end < line.len &&
	       !(line.ptr[end] == ']' && is_comment_or_empty(st_str_slice(line, end + 1, line.len))))
		end++;
	struct st_str name = st_str_trim(st_str_slice(line, 1, end));
	if (end == line.len || name.len == 0 || memchr(name.ptr, ',', name.len))
		return st_str("");
	return st_str_slice(line, 0, end + 1);
}

static int read_outline(struct st_outline *outline, const struct st_lines *lines,
                        struct stet_error *err) {
	bool after_blank = false;
	for (size_t n = 1; n <= lines->count; n++) {
		if (n % STEP == 0 && st_cancel_check(64 * STEP, err) < 0)
			return STET_E_CANCELLED;
		struct st_str line = st_str_trim(st_lines_body(lines, n));
		if (n == 1)
			line = st_str_slice(line, st_bom_len(line), line.len);
		struct st_str marker = marker_of(line);
		if (marker.len)
			outline->sections[outline->section_count++] = (struct st_section){marker, n};
		if (line.len && after_blank)
			outline->groups[outline->group_count++] = n;
		after_blank = line.len == 0;
	}
	return 0;
}

/* How many lines could be section lines, to reserve room for all of them at once. */
static size_t count_brackets(const struct st_lines *lines) {
	size_t count = 0;
	for (size_t n = 1; n <= lines->count; n++) {
		struct st_str line = st_lines_body(lines, n);
		count += memchr(line.ptr, '[', line.len) != NULL;
	}
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
	int code = read_outline(outline, lines, err);
	if (code < 0)
		st_outline_release(outline);
	return code;
}

void st_outline_release(struct st_outline *outline) {
	free(outline->sections);
	free(outline->groups);
	*outline = (struct st_outline){0};
}
