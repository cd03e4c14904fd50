#include "text/markdown/obsidian.h"

#include "base/array.h"
#include "base/cancel.h"

static const struct st_str mark = {"%%", 2};

struct fence {
	char byte;
	size_t len;
};

/* The code fence that a line begins with; len 0 for none. */
static struct fence fence_of(struct st_str line) {
	size_t at = 0, len = 0;
	while (at < line.len && at < 3 && line.ptr[at] == ' ')
		at++;
	char byte = at < line.len ? line.ptr[at] : 0;
	while (at + len < line.len && (byte == '`' || byte == '~') && line.ptr[at + len] == byte)
		len++;
	return (struct fence){byte, len < 3 ? 0 : len};
}

/* Update the open fence by a line. @return Whether the line belongs to a code block. */
static bool in_code(struct fence *open, struct st_str line) {
	struct fence fence = fence_of(line);
	bool was = open->len > 0;
	if (!was)
		*open = fence;
	else if (fence.byte == open->byte && fence.len >= open->len)
		open->len = 0;
	return was || open->len > 0;
}

static bool add_comment(struct st_obsidian_comments *comments, struct st_str part) {
	if (!st_array_room(&comments->items, comments->count, sizeof *comments->items))
		return false;
	comments->items[comments->count++] = part;
	return true;
}

void st_obsidian_comments_release(struct st_obsidian_comments *comments) {
	free(comments->items);
	*comments = (struct st_obsidian_comments){0};
}

/* How far a line was searched for marks, and whether that place is in a code span. */
struct search {
	struct st_str line;
	size_t at;
	bool code;
};

/*
 * The offset of the next mark outside code, from `from` on; the length of the line
 * if there is none. `from` must not be before the last mark found.
 */
static size_t next_mark(struct search *search, size_t from) {
	struct st_str line = search->line;
	for (; search->at < line.len; search->at++) {
		if (search->at % ST_CANCEL_STEP == 0)
			st_cancel_progress(ST_CANCEL_STEP);
		search->code ^= line.ptr[search->at] == '`';
		if (search->at >= from && !search->code &&
		    st_str_starts(st_str_slice(line, search->at, line.len), mark))
			break;
	}
	return search->at;
}

/* Whether a line begins with a mark and has no other. */
static bool opens_comment(struct st_str line) {
	struct search search = {.line = line};
	return st_str_starts(line, mark) && next_mark(&search, mark.len) == line.len;
}

/* Find the comments that begin and end in one line. False if out of memory. */
static bool find_inline(struct st_obsidian_comments *comments, struct st_str line) {
	struct search search = {.line = line};
	size_t start = next_mark(&search, 0);
	while (start < line.len) {
		size_t end = next_mark(&search, start + mark.len);
		if (end == line.len)
			return true;
		bool begins = start == 0 || line.ptr[start - 1] == ' ' || line.ptr[start - 1] == '\t';
		if (begins && !add_comment(comments, st_str_slice(line, start, end + mark.len)))
			return false;
		start = next_mark(&search, begins ? end + mark.len : end);
	}
	return true;
}

/* The last line of the comment that line n opens; 0 if it opens none, or the comment never ends. */
static size_t block_end(const struct st_lines *lines, size_t n) {
	if (!opens_comment(st_str_trim(st_lines_body(lines, n))))
		return 0;
	for (size_t last = n + 1; last <= lines->count; last++) {
		if (st_str_ends(st_str_trim(st_lines_body(lines, last)), mark))
			return last;
	}
	return 0;
}

/* What a line costs besides its bytes, in the bytes that st_cancel_check() counts. */
enum { LINE_WORK = 32 };

/* The text from a line to another, without the last one's ending. */
static struct st_str block_of(const struct st_lines *lines, size_t first, size_t last) {
	struct st_str end = st_lines_body(lines, last);
	size_t start = lines->starts[first - 1];
	return st_str_slice(lines->text, start, (size_t)(end.ptr - lines->text.ptr) + end.len);
}

static int find_comments(const struct st_lines *lines, struct st_obsidian_comments *out,
                         struct stet_error *err) {
	struct fence fence = {0};
	bool closes = true;
	for (size_t n = 1; n <= lines->count; n++) {
		struct st_str line = st_lines_body(lines, n);
		if (st_cancel_check(line.len + LINE_WORK, err) < 0)
			return STET_E_CANCELLED;
		if (in_code(&fence, line))
			continue;
		size_t last = closes ? block_end(lines, n) : 0;
		/* If no later line closes this comment, none closes a later comment either. */
		closes = closes && (last > 0 || !opens_comment(st_str_trim(line)));
		bool done = last > 0 ? add_comment(out, block_of(lines, n, last)) : find_inline(out, line);
		if (!done)
			return st_fail_nomem(err);
		n = last > 0 ? last : n;
	}
	return 0;
}

static bool has_marks(struct st_str text) {
	return memmem(text.ptr, text.len, mark.ptr, mark.len);
}

int st_obsidian_comments_of(struct st_str text, struct st_obsidian_comments *out,
                            struct stet_error *err) {
	st_auto(st_lines) lines = {0};
	int code = has_marks(text) ? st_lines_init(&lines, text, err) : 0;
	return code < 0 || !has_marks(text) ? code : find_comments(&lines, out, err);
}

/* Line ends stay. */
static void blank_comment(struct st_buf *out, struct st_str text, struct st_str comment) {
	char *to = out->ptr + (comment.ptr - text.ptr);
	for (size_t i = 0; i < comment.len; i++) {
		if (to[i] != '\n' && to[i] != '\r')
			to[i] = ' ';
	}
}

int st_obsidian_blank(const struct st_lines *lines, struct st_buf *out, struct stet_error *err) {
	st_auto(st_obsidian_comments) comments = {0};
	struct st_str text = lines->text;
	if (!has_marks(text))
		return 0;
	int code = find_comments(lines, &comments, err);
	if (code < 0)
		return code;
	st_buf_add(out, text);
	if (out->failed)
		return st_fail_nomem(err);
	for (size_t i = 0; i < comments.count; i++)
		blank_comment(out, text, comments.items[i]);
	return 0;
}
