#include "text/obsidian.h"

static const struct st_str mark = {"%%", 2};

struct fence {
	char byte;
	size_t len;
};

/* The fence of a code block that a line has; len 0 for none. */
static struct fence fence_of(struct st_str line) {
	size_t at = 0, len = 0;
	while (at < line.len && at < 3 && line.ptr[at] == ' ')
		at++;
	char byte = at < line.len ? line.ptr[at] : 0;
	while (at + len < line.len && (byte == '`' || byte == '~') && line.ptr[at + len] == byte)
		len++;
	return (struct fence){byte, len < 3 ? 0 : len};
}

/* Go over a fence: whether the line is part of a code block. */
static bool in_code(struct fence *open, struct st_str line) {
	struct fence fence = fence_of(line);
	bool was = open->len > 0;
	if (!was)
		*open = fence;
	else if (fence.byte == open->byte && fence.len >= open->len)
		open->len = 0;
	return was || open->len > 0;
}

static void blank(struct st_buf *out, struct st_str text, struct st_str part) {
	memset(out->ptr + (part.ptr - text.ptr), ' ', part.len);
}

/* Where the next mark outside of `code` is, from an offset on; the length of the line if nowhere. */
static size_t next_mark(struct st_str line, size_t at) {
	bool code = false;
	for (size_t i = 0; i < line.len; i++) {
		code ^= line.ptr[i] == '`';
		if (i >= at && !code && st_str_starts(st_str_slice(line, i, line.len), mark))
			return i;
	}
	return line.len;
}

/* Comments that begin and end in one line. */
static void blank_inline(struct st_buf *out, struct st_str text, struct st_str line) {
	size_t start = next_mark(line, 0);
	while (start < line.len) {
		size_t end = next_mark(line, start + mark.len);
		if (end == line.len)
			return;
		bool begins = start == 0 || line.ptr[start - 1] == ' ' || line.ptr[start - 1] == '\t';
		if (begins)
			blank(out, text, st_str_slice(line, start, end + mark.len));
		start = next_mark(line, begins ? end + mark.len : end);
	}
}

/* The line that ends a comment which line n begins; 0 if it begins none, or nothing ends it. */
static size_t block_end(const struct st_lines *lines, size_t n) {
	struct st_str line = st_str_trim(st_lines_body(lines, n));
	if (!st_str_starts(line, mark) || next_mark(line, mark.len) < line.len)
		return 0;
	for (size_t last = n + 1; last <= lines->count; last++) {
		if (st_str_ends(st_str_trim(st_lines_body(lines, last)), mark))
			return last;
	}
	return 0;
}

int st_obsidian_blank(const struct st_lines *lines, struct st_buf *out, struct stet_error *err) {
	struct st_str text = lines->text;
	struct fence fence = {0};
	bool closes = true;
	if (!memmem(text.ptr, text.len, mark.ptr, mark.len))
		return 0;
	st_buf_add(out, text);
	if (out->failed)
		return st_fail_nomem(err);
	for (size_t n = 1; n <= lines->count; n++) {
		struct st_str line = st_lines_body(lines, n);
		if (in_code(&fence, line))
			continue;
		size_t last = closes ? block_end(lines, n) : 0;
		struct st_str start = st_str_trim(line);
		/* What nothing closes here, nothing closes further down. */
		closes = closes && (last > 0 || !st_str_starts(start, mark) ||
		                    next_mark(start, mark.len) < start.len);
		if (last == 0)
			blank_inline(out, text, line);
		for (; n <= last; n++)
			blank(out, text, st_lines_body(lines, n));
		n -= last > 0;
	}
	return 0;
}
