#include "text/markdown/markdown.h"

#include <assert.h>
#include <setjmp.h>
#include <stdalign.h>

#include <cmark.h>

#include "base/array.h"
#include "base/cancel.h"
#include "text/markdown/frontmatter.h"
#include "text/markdown/html.h"
#include "text/markdown/obsidian.h"
#include "text/markdown/linkdef.h"

#define MAX_TEXT ((size_t)64 << 20)
#define MAX_MEMORY ((size_t)256 << 20)
#define MAX_NESTING 100
/* How many bytes to feed libcmark at once. */
#define FED_MAX ((size_t)64 << 10)
/* What a line costs, in the bytes that st_cancel_check() counts. */
#define LINE_WORK ((size_t)128)

/*
 * libcmark allocates through three functions and expects them never to fail; its
 * own ones abort. Ours allocate from an arena and, when that is exhausted, jump
 * out of the parser, which holds nothing but memory. They have no argument for a
 * context, hence the thread-local pointer.
 */
struct heap {
	struct st_arena arena;
	jmp_buf exhausted;
};

static _Thread_local struct heap *heap;

/* One allocation; realloc() needs its size. */
struct piece {
	size_t size;
	alignas(max_align_t) char bytes[];
};

static void *heap_alloc(size_t size) {
	struct piece *piece = NULL;
	/* libcmark can only be interrupted when it allocates. */
	if (size < MAX_MEMORY && st_cancel_check(sizeof *piece + size, NULL) == 0)
		piece = st_arena_alloc(&heap->arena, sizeof *piece + size);
	if (!piece)
		longjmp(heap->exhausted, 1);
	piece->size = size;
	return piece->bytes;
}

static void *heap_calloc(size_t count, size_t size) {
	size_t whole;
	if (__builtin_mul_overflow(count, size, &whole))
		longjmp(heap->exhausted, 1);
	return memset(heap_alloc(whole), 0, whole);
}

static void *heap_realloc(void *old, size_t size) {
	size_t had = old ? ((struct piece *)((char *)old - sizeof(struct piece)))->size : 0;
	if (old && size <= had)
		return old;
	void *bytes = heap_alloc(size);
	if (had)
		memcpy(bytes, old, had);
	return bytes;
}

/* st_arena_release() frees everything at once. */
static void heap_free(void *old) {
	(void)old;
}

static cmark_mem heap_functions = {heap_calloc, heap_realloc, heap_free};

/* Walks over libcmark's tree and fills a st_markdown. */
struct walk {
	struct st_markdown *md;
	/* How many quotes enclose the current node. */
	size_t quotes;
	/* The current heading, and its text so far. */
	cmark_node *heading;
	struct st_buf text;
	/* The offset after the start of the last anchor's HTML. */
	size_t anchor_at;
	bool failed;
};

static bool is_space_or_tab(char c) {
	return c == ' ' || c == '\t';
}

/* Line n from its first visible character on, as the parser sees it. */
static struct st_str line_text(const struct st_lines *lines, size_t n, bool ending) {
	struct st_str line = ending ? st_lines_whole(lines, n) : st_lines_body(lines, n);
	size_t at = n == 1 ? st_bom_len(line) : 0;
	while (at < line.len && is_space_or_tab(line.ptr[at]))
		at++;
	return st_str_slice(line, at, line.len);
}

static bool add_anchor(struct st_markdown *md, struct st_str id, size_t line) {
	if (!st_array_room(&md->anchors, md->anchor_count, sizeof *md->anchors))
		return false;
	md->anchors[md->anchor_count++] = (struct st_anchor){id, line};
	return true;
}

static bool copy_string(struct st_markdown *md, struct st_str from, struct st_str *to) {
	const char *copy = st_arena_copy(&md->arena, from);
	*to = st_strn(copy ? copy : "", copy ? from.len : 0);
	return copy != NULL;
}

/* The length of the hashes that open an ATX heading; 0 for any other line. */
static size_t hashes_of(struct st_str line) {
	size_t count = 0;
	while (count < line.len && line.ptr[count] == '#')
		count++;
	bool ends = count == line.len || is_space_or_tab(line.ptr[count]);
	return count <= 6 && ends ? count : 0;
}

static bool is_underline(struct st_str line) {
	line = st_str_trim(line);
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] != line.ptr[0])
			return false;
	}
	return line.len && (line.ptr[0] == '=' || line.ptr[0] == '-');
}

/*
 * The line of a setext heading's underline. libcmark reports the line after it as
 * the heading's end, unless the underline is the last line of the text. A last line
 * that only looks like an underline would be a block of its own.
 */
static size_t underline_of(const struct st_lines *lines, cmark_node *node) {
	size_t end = (size_t)cmark_node_get_end_line(node);
	bool last =
		end == lines->count && !cmark_node_next(node) && is_underline(line_text(lines, end, false));
	return last ? end : end - 1;
}

/* The line where the title of a setext heading begins, after link definitions. */
static size_t title_line(struct walk *walk, size_t block, size_t underline) {
	const struct st_lines *lines = &walk->md->lines;
	if (!st_str_starts(line_text(lines, block, false), ST_STR("[")))
		return block;
	st_auto(st_buf) paragraph = ST_BUF_INIT;
	for (size_t n = block; n < underline; n++)
		st_buf_add(&paragraph, line_text(lines, n, true));
	walk->failed |= paragraph.failed;
	struct st_str text = st_buf_str(&paragraph);
	return block + st_line_ends(text, st_linkdef_skip(text));
}

/* The id in `## Title {#id .class}`. */
static struct st_str heading_id(struct st_str source) {
	const char *open = memrchr(source.ptr, '{', source.len);
	if (!open || source.ptr[source.len - 1] != '}')
		return st_str("");
	struct st_str inside = st_strn(open + 1, (size_t)(source.ptr + source.len - 1 - (open + 1)));
	if (!st_str_starts(inside, ST_STR("#")))
		return st_str("");
	size_t len = 1;
	while (len < inside.len && !is_space_or_tab(inside.ptr[len]) && inside.ptr[len] != '}')
		len++;
	return st_str_slice(inside, 1, len);
}

static void locate_heading(struct walk *walk, struct st_heading *heading) {
	const struct st_lines *lines = &walk->md->lines;
	struct st_str line = line_text(lines, heading->block_line, false);
	size_t hashes = hashes_of(line);
	if (hashes) {
		heading->line = heading->end_line = heading->block_line;
		heading->source = st_markdown_title(st_str_slice(line, hashes, line.len));
		return;
	}
	heading->end_line = underline_of(lines, walk->heading);
	heading->line = title_line(walk, heading->block_line, heading->end_line);
	struct st_str title = line_text(lines, heading->line, true);
	struct st_str underline = st_lines_whole(lines, heading->end_line);
	heading->source = st_str_trim(st_strn(title.ptr, (size_t)(underline.ptr - title.ptr)));
}

static void add_heading(struct walk *walk) {
	struct st_markdown *md = walk->md;
	struct st_heading heading = {
		.level = cmark_node_get_heading_level(walk->heading),
		.block_line = (size_t)cmark_node_get_start_line(walk->heading),
	};
	locate_heading(walk, &heading);
	walk->failed |= walk->text.failed ||
	                !copy_string(md, st_str_trim(st_buf_str(&walk->text)), &heading.text) ||
	                !st_array_room(&md->headings, md->heading_count, sizeof *md->headings);
	if (walk->failed)
		return;
	md->headings[md->heading_count++] = heading;

	struct st_str id = heading_id(heading.source);
	if (id.len)
		walk->failed |= !add_anchor(md, id, heading.end_line);
}

/* How many fence characters a line begins with. */
static size_t fence_run(struct st_str line) {
	size_t run = 0;
	while (run < line.len && line.ptr[run] == line.ptr[0])
		run++;
	return run && (line.ptr[0] == '`' || line.ptr[0] == '~') ? run : 0;
}

/* Whether a line can close a fence: indentation, and enough of the fence's characters. */
static bool closes_fence(struct st_str line, struct st_str opening) {
	line = st_str_trim(line);
	return line.len >= fence_run(opening) && fence_run(line) == line.len &&
	       line.ptr[0] == opening.ptr[0];
}

static size_t node_line(cmark_node *node) {
	return node ? (size_t)cmark_node_get_start_line(node) : 0;
}

/* The first block after a node, in its container or in an enclosing one. */
static cmark_node *next_block(cmark_node *node) {
	while (node && !cmark_node_next(node))
		node = cmark_node_parent(node);
	return node ? cmark_node_next(node) : NULL;
}

/* How many bytes precede a node in its line; libcmark does not count a byte order mark. */
static size_t column_of(const struct st_lines *lines, cmark_node *node) {
	size_t mark = node_line(node) == 1 ? st_bom_len(lines->text) : 0;
	return mark + (size_t)cmark_node_get_start_column(node) - 1;
}

/* The opening line of a code block, from its fence on. */
static struct st_str opening_of(const struct st_lines *lines, cmark_node *node) {
	struct st_str line = st_lines_body(lines, node_line(node));
	size_t column = column_of(lines, node);
	return st_str_slice(line, column < line.len ? column : line.len, line.len);
}

/*
 * libcmark does not report whether a block is fenced or indented. It is fenced if
 * it has an info string, or if its opening line is a fence and not the first line
 * of its content.
 */
static bool is_fenced(const struct st_lines *lines, cmark_node *node) {
	if (cmark_node_get_fence_info(node)[0] != '\0')
		return true;
	struct st_str opening = opening_of(lines, node);
	size_t run = fence_run(opening);
	if (run < 3 || st_str_trim(opening).len != run)
		return false;
	const char *literal = cmark_node_get_literal(node);
	return !st_str_eq(st_strn(literal, strcspn(literal, "\r\n")), opening);
}

/*
 * Find the lines of a fenced block; each line of its content is a line of the text.
 * If the list around a block ends, the block ends without a closing fence, and
 * libcmark reports the next line as its end. Even if that line looks like a fence,
 * it opens a block of its own.
 */
static void locate_code(const struct st_lines *lines, cmark_node *node, struct st_code *code) {
	code->line = node_line(node);
	code->column = column_of(lines, node);
	code->first = code->line + 1;
	code->last = code->line + st_line_count(st_str(cmark_node_get_literal(node)));

	size_t after = code->last + 1;
	code->closed = after <= lines->count && node_line(next_block(node)) != after &&
	               closes_fence(st_lines_body(lines, after), opening_of(lines, node));
	code->end_line = code->closed ? after : code->last;
}

static void add_code(struct walk *walk, cmark_node *node) {
	struct st_markdown *md = walk->md;
	if (walk->quotes || !is_fenced(&md->lines, node))
		return;
	struct st_code code = {0};
	locate_code(&md->lines, node, &code);
	struct st_str info = st_str(cmark_node_get_fence_info(node));
	size_t word = 0;
	while (word < info.len && !is_space_or_tab(info.ptr[word]))
		word++;
	walk->failed |= !copy_string(md, st_strn(info.ptr, word), &code.language) ||
	                !st_array_room(&md->codes, md->code_count, sizeof *md->codes);
	if (!walk->failed)
		md->codes[md->code_count++] = code;
}

/*
 * The line of a piece of inline HTML. libcmark reports too small a line if link
 * definitions or a link with a line break precede it in the paragraph, so search
 * for it in the text.
 */
static size_t inline_line(struct walk *walk, cmark_node *node) {
	const struct st_lines *lines = &walk->md->lines;
	size_t line = node_line(node);
	size_t from = line >= 1 && line <= lines->count ? lines->starts[line - 1] : 0;
	if (from < walk->anchor_at)
		from = walk->anchor_at;
	const char *html = cmark_node_get_literal(node);
	const char *found =
		memmem(lines->text.ptr + from, lines->text.len - from, html, strcspn(html, "\r\n"));
	if (!found)
		return line;
	walk->anchor_at = (size_t)(found - lines->text.ptr) + 1;
	return st_lines_number(lines, walk->anchor_at - 1);
}

static void add_html_anchors(struct walk *walk, cmark_node *node) {
	struct st_str html = st_str(cmark_node_get_literal(node));
	bool block = cmark_node_get_type(node) == CMARK_NODE_HTML_BLOCK;
	struct st_html_anchors cursor;
	st_html_anchors_init(&cursor, html);
	size_t line = 0, counted = 0;
	while (!walk->failed && st_html_anchors_next(&cursor)) {
		if (line == 0)
			line = block ? node_line(node) : inline_line(walk, node);
		line += st_line_ends(st_str_slice(html, counted, html.len), cursor.tag - counted);
		counted = cursor.tag;
		struct st_str id;
		walk->failed = st_cancel_check(LINE_WORK, NULL) < 0 ||
		               !copy_string(walk->md, cursor.id, &id) || !add_anchor(walk->md, id, line);
	}
}

static void add_heading_text(struct walk *walk, cmark_node *node) {
	const char *literal = cmark_node_get_literal(node);
	if (walk->heading)
		st_buf_adds(&walk->text, literal ? literal : " ");
}

static void enter_node(struct walk *walk, cmark_node *node) {
	switch (cmark_node_get_type(node)) {
	case CMARK_NODE_BLOCK_QUOTE:
		walk->quotes++;
		break;
	case CMARK_NODE_HEADING:
		if (cmark_node_get_type(cmark_node_parent(node)) == CMARK_NODE_DOCUMENT) {
			walk->heading = node;
			st_buf_clear(&walk->text);
		}
		break;
	case CMARK_NODE_CODE_BLOCK:
		add_code(walk, node);
		break;
	case CMARK_NODE_HTML_BLOCK:
	case CMARK_NODE_HTML_INLINE:
		add_html_anchors(walk, node);
		break;
	case CMARK_NODE_TEXT:
	case CMARK_NODE_CODE:
	case CMARK_NODE_SOFTBREAK:
	case CMARK_NODE_LINEBREAK:
		add_heading_text(walk, node);
		break;
	default:
		break;
	}
}

static void leave_node(struct walk *walk, cmark_node *node) {
	if (cmark_node_get_type(node) == CMARK_NODE_BLOCK_QUOTE)
		walk->quotes--;
	if (node != walk->heading)
		return;
	add_heading(walk);
	walk->heading = NULL;
}

/* Jump out of libcmark if the call is cancelled. */
static void check_cancelled(size_t amount) {
	if (st_cancel_check(amount, NULL) < 0)
		longjmp(heap->exhausted, 1);
}

/* Parse, with a blank line for each line of front matter, so that line numbers stay right. */
static cmark_node *parse_tree(const struct st_markdown *md, struct st_str text) {
	cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_DEFAULT, &heap_functions);
	for (size_t n = 1; n <= md->front_end; n++) {
		check_cancelled(LINE_WORK);
		cmark_parser_feed(parser, "\n", 1);
	}
	size_t from = md->lines.starts[md->front_end];
	for (size_t len; from < text.len; from += len) {
		len = text.len - from < FED_MAX ? text.len - from : FED_MAX;
		check_cancelled(8 * len);
		cmark_parser_feed(parser, text.ptr + from, len);
	}
	return cmark_parser_finish(parser);
}

static void walk_tree(struct walk *walk, cmark_node *root) {
	cmark_iter *iter = cmark_iter_new(root);
	cmark_event_type event;
	while (!walk->failed && (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE) {
		check_cancelled(LINE_WORK);
		if (event == CMARK_EVENT_ENTER)
			enter_node(walk, cmark_iter_get_node(iter));
		else
			leave_node(walk, cmark_iter_get_node(iter));
	}
}

/* Do everything that uses libcmark's memory. False if it ran out, or the call was cancelled. */
static bool parse_and_walk(struct walk *walk, struct st_str text, struct heap *own) {
	assert(!heap);
	heap = own;
	bool enough = setjmp(own->exhausted) == 0;
	if (enough)
		walk_tree(walk, parse_tree(walk->md, text));
	heap = NULL;
	return enough;
}

/* libcmark sorts all link definitions at once, and cannot be interrupted meanwhile; this many take 20 ms. */
#define MAX_DEFINITIONS ((size_t)1 << 17)

static int check_definitions(struct st_str text, struct stet_error *err) {
	static const char mark[] = "]:";
	size_t count = 0;
	const char *at = text.ptr, *end = text.ptr + text.len;
	while (count <= MAX_DEFINITIONS && (at = memmem(at, (size_t)(end - at), mark, 2))) {
		at += 2;
		count++;
	}
	st_cancel_progress(text.len);
	if (count <= MAX_DEFINITIONS)
		return 0;
	return st_fail(err, STET_E_TOO_BIG,
	               "This text may have more than %zu link definitions. Edit it by lines, or with "
	               "text_replace.",
	               MAX_DEFINITIONS);
}

static int read_structure(struct st_markdown *md, struct stet_error *err) {
	struct heap own;
	struct walk walk = {.md = md};
	st_auto(st_buf) bare = ST_BUF_INIT;
	int code = check_definitions(md->lines.text, err);
	if (code == 0)
		code = st_obsidian_blank(&md->lines, &bare, err);
	if (code < 0)
		return code;
	st_arena_init(&own.arena, MAX_MEMORY);
	bool done = parse_and_walk(&walk, bare.len > 0 ? st_buf_str(&bare) : md->lines.text, &own) &&
	            !walk.failed;
	bool at_limit = own.arena.total > MAX_MEMORY / 2;
	st_arena_release(&own.arena);
	st_buf_release(&walk.text);
	if (done)
		return 0;
	if (st_cancel_check(0, err) < 0)
		return STET_E_CANCELLED;
	if (!at_limit)
		return st_fail_nomem(err);
	return st_fail(err, STET_E_TOO_BIG,
	               "The Markdown structure of this text takes more than 256 MiB of memory. "
	               "Edit it by lines, or with text_replace.");
}

static bool read_keys(struct st_markdown *md) {
	for (size_t n = 2; n < md->front_end; n++) {
		struct st_str key = st_frontmatter_key(st_lines_body(&md->lines, n));
		if (key.len == 0)
			continue;
		if (!st_array_room(&md->keys, md->key_count, sizeof *md->keys))
			return false;
		md->keys[md->key_count++] = key;
	}
	return true;
}

/* How many list markers a line begins with, not counting quotes between them; a rule has none. */
static size_t nesting_of(struct st_str line) {
	size_t count = 0;
	bool rule = true;
	for (size_t i = 0; i < line.len; i++) {
		char c = line.ptr[i];
		if (is_space_or_tab(c) || c == '>' || (c >= '0' && c <= '9'))
			continue;
		if (!strchr("-+*.)", c) || c == '\0')
			return count;
		rule = rule && c == line.ptr[0];
		count += i + 1 == line.len || is_space_or_tab(line.ptr[i + 1]);
	}
	return rule ? 0 : count;
}

static int check_size(const struct st_markdown *md, struct stet_error *err) {
	if (md->lines.text.len > MAX_TEXT)
		return st_fail(err, STET_E_TOO_BIG,
		               "The text has %zu bytes; Markdown structure is available up to 64 MiB. "
		               "Edit it by lines, or with text_replace.",
		               md->lines.text.len);
	for (size_t n = 1; n <= md->lines.count; n++) {
		struct st_str whole = st_lines_whole(&md->lines, n);
		if (st_cancel_check(whole.len + LINE_WORK, err) < 0)
			return STET_E_CANCELLED;
		if (nesting_of(line_text(&md->lines, n, false)) > MAX_NESTING)
			return st_fail(err, STET_E_TOO_BIG,
			               "Line %zu opens more than %d nested lists. "
			               "Edit this text by lines, or with text_replace.",
			               n, MAX_NESTING);
	}
	return 0;
}

static int parse_text(struct st_markdown *md, struct st_str text, struct stet_error *err) {
	int code = st_lines_init(&md->lines, text, err);
	if (code < 0)
		return code;
	code = check_size(md, err);
	if (code < 0)
		return code;
	md->front_end = st_frontmatter_end(&md->lines);
	if (!read_keys(md))
		return st_fail_nomem(err);
	return read_structure(md, err);
}

int st_markdown_parse(struct st_markdown *md, struct st_str text, struct stet_error *err) {
	*md = (struct st_markdown){0};
	st_arena_init(&md->arena, MAX_MEMORY);
	int code = parse_text(md, text, err);
	if (code < 0)
		st_markdown_release(md);
	return code;
}

void st_markdown_release(struct st_markdown *md) {
	st_lines_release(&md->lines);
	free(md->headings);
	free(md->codes);
	free(md->anchors);
	free(md->keys);
	st_arena_release(&md->arena);
	*md = (struct st_markdown){0};
}

size_t st_markdown_section_next(const struct st_markdown *md, size_t heading) {
	size_t next = heading + 1;
	while (next < md->heading_count && md->headings[next].level > md->headings[heading].level)
		next++;
	return next;
}

size_t st_markdown_section_end(const struct st_markdown *md, size_t heading) {
	size_t next = st_markdown_section_next(md, heading);
	return next < md->heading_count ? md->headings[next].line - 1 : md->lines.count;
}

struct st_str st_markdown_title(struct st_str title) {
	title = st_str_trim(title);
	size_t len = title.len;
	while (len && title.ptr[len - 1] == '#')
		len--;
	if (len == 0 || st_is_space(title.ptr[len - 1]))
		title.len = len;
	return st_str_trim(title);
}

size_t st_markdown_heading_above(const struct st_markdown *md, size_t line) {
	size_t low = 0, high = md->heading_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (md->headings[middle].line <= line)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : md->heading_count;
}
