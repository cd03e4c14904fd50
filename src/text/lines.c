#include "text/lines.h"

#include <stdint.h>

/* The first such byte at or after start, or the text's length. */
static size_t find(struct st_str text, size_t start, char byte) {
	const char *found = memchr(text.ptr + start, byte, text.len - start);
	return found ? (size_t)(found - text.ptr) : text.len;
}

/* The offset just behind the line that starts at start, given the next LF. */
static size_t line_end(struct st_str text, size_t start, size_t lf) {
	size_t cr = find(st_str_slice(text, 0, lf), start, '\r');
	return cr + 1 < lf ? cr + 1 : lf + 1;
}

/*
 * Most texts have no CR at all, and looking for one in every line would double
 * the work: ask once.
 */
static bool has_lone_cr(struct st_str text) {
	for (size_t i = 0; i < text.len; i++) {
		const char *cr = memchr(text.ptr + i, '\r', text.len - i);
		if (!cr)
			return false;
		i = (size_t)(cr - text.ptr);
		if (i + 1 == text.len || cr[1] != '\n')
			return true;
	}
	return false;
}

/* Endings among the first `offset` bytes of a text; a CR at the very end counts if nothing joins it. */
static size_t count_ends(struct st_str text, size_t offset, bool lone) {
	size_t count = 0;
	for (size_t i = 0; i < offset; i++)
		count += text.ptr[i] == '\n';
	if (!lone)
		return count;
	for (size_t i = 0; i < offset; i++)
		count += text.ptr[i] == '\r' && (i + 1 == text.len || text.ptr[i + 1] != '\n');
	return count;
}

size_t st_line_ends(struct st_str text, size_t offset) {
	return count_ends(text, offset, has_lone_cr(st_str_slice(text, 0, offset)));
}

size_t st_line_count(struct st_str text) {
	if (text.len == 0)
		return 0;
	char last = text.ptr[text.len - 1];
	return st_line_ends(text, text.len) + (last != '\n' && last != '\r');
}

/* Index the lines; a lone CR ends one only if `lone` says to look for it. */
static int index_lines(struct st_lines *lines, struct st_str text, bool lone,
                       struct stet_error *err) {
	size_t max = count_ends(text, text.len, lone) + 2;
	size_t *starts = malloc(max * sizeof *starts);
	if (!starts)
		return st_fail_nomem(err);

	/* The next LF is kept, so that a text without any is not searched for it in every line. */
	size_t lf = find(text, 0, '\n');
	size_t count = 0;
	for (size_t at = 0; at < text.len;) {
		starts[count++] = at;
		if (lf < at)
			lf = find(text, at, '\n');
		at = lone ? line_end(text, at, lf) : lf + 1;
	}
	starts[count] = text.len;
	*lines = (struct st_lines){text, starts, count};
	return 0;
}

int st_lines_init(struct st_lines *lines, struct st_str text, struct stet_error *err) {
	return index_lines(lines, text, has_lone_cr(text), err);
}

int st_lines_init_lf(struct st_lines *lines, struct st_str text, struct stet_error *err) {
	return index_lines(lines, text, false, err);
}

void st_lines_release(struct st_lines *lines) {
	free(lines->starts);
	*lines = (struct st_lines){0};
}

struct st_str st_lines_range(const struct st_lines *lines, size_t first, size_t last) {
	if (last < first)
		return st_str("");
	return st_str_slice(lines->text, lines->starts[first - 1], lines->starts[last]);
}

struct st_str st_lines_whole(const struct st_lines *lines, size_t n) {
	return st_lines_range(lines, n, n);
}

struct st_str st_lines_body(const struct st_lines *lines, size_t n) {
	struct st_str line = st_lines_whole(lines, n);
	line.len -= st_eol_bytes(st_eol_of(line)).len;
	return line;
}

size_t st_lines_number(const struct st_lines *lines, size_t offset) {
	size_t low = 0, high = lines->count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (lines->starts[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return low + 1;
}

enum st_eol st_eol_of(struct st_str line) {
	if (line.len == 0)
		return ST_EOL_NONE;
	if (line.ptr[line.len - 1] == '\r')
		return ST_EOL_CR;
	if (line.ptr[line.len - 1] != '\n')
		return ST_EOL_NONE;
	return line.len > 1 && line.ptr[line.len - 2] == '\r' ? ST_EOL_CRLF : ST_EOL_LF;
}

struct st_str st_eol_bytes(enum st_eol eol) {
	static const struct st_str bytes[] = {
		[ST_EOL_NONE] = {"", 0},
		[ST_EOL_LF] = {"\n", 1},
		[ST_EOL_CRLF] = {"\r\n", 2},
		[ST_EOL_CR] = {"\r", 1},
	};
	return bytes[eol];
}

enum st_eol st_eol_of_text(struct st_str text) {
	size_t lf = 0, crlf = 0, cr = 0;
	for (size_t i = 0; i < text.len; i++)
		lf += text.ptr[i] == '\n';
	for (size_t i = 0; i < text.len; i++) {
		const char *at = memchr(text.ptr + i, '\r', text.len - i);
		if (!at)
			break;
		i = (size_t)(at - text.ptr);
		if (i + 1 < text.len && at[1] == '\n')
			crlf++;
		else
			cr++;
	}
	lf -= crlf;
	if (lf >= crlf && lf >= cr)
		return ST_EOL_LF;
	return crlf >= cr ? ST_EOL_CRLF : ST_EOL_CR;
}

size_t st_bom_len(struct st_str text) {
	return st_str_starts(text, ST_STR("\xEF\xBB\xBF")) ? 3 : 0;
}
