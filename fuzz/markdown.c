/*
 * Markdown and patches: any bytes parse to a structure within the text, stet and
 * libcmark agree on link definitions, text appended to a section changes no heading,
 * and a patch changes only the lines it reports.
 *
 * Input: a few bytes that choose a patch, its content, the text.
 */
#include "text/markdown/heading.h"
#include "text/markdown/markdown.h"
#include "text/patch/patch.h"

#include <stdlib.h>

#include <cmark.h>

#define CHOICES 6
#define MAX_HEADINGS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool truth) {
	if (!truth)
		abort();
}

/* Whether libcmark finds no block in some lines: they are all link definitions. */
static bool is_nothing(const struct st_lines *lines, size_t first, size_t last) {
	st_auto(st_buf) text = ST_BUF_INIT;
	/* libcmark skips a byte order mark at the start only. */
	if (first > 1)
		st_buf_addc(&text, '\n');
	st_buf_add(&text, st_lines_range(lines, first, last));
	cmark_node *root = cmark_parse_document(text.ptr, text.len, CMARK_OPT_DEFAULT);
	bool nothing = !cmark_node_first_child(root);
	cmark_node_free(root);
	return nothing;
}

static void check_definitions(const struct st_markdown *md, const struct st_heading *heading) {
	if (heading->block_line < heading->line)
		must(is_nothing(&md->lines, heading->block_line, heading->line - 1));
	/* If more lines were definitions, libcmark would find no block up to one of them either. */
	for (size_t n = heading->line; n < heading->end_line && n < heading->line + 4; n++)
		must(!is_nothing(&md->lines, heading->line, n));
}

static void check_structure(const struct st_markdown *md) {
	size_t count = md->lines.count;
	size_t below = md->front_end;
	must(below <= count);
	for (size_t i = 0; i < md->heading_count; i++) {
		const struct st_heading *heading = &md->headings[i];
		must(heading->level >= 1 && heading->level <= 6);
		must(heading->block_line > below && heading->line >= heading->block_line);
		must(heading->end_line >= heading->line && heading->end_line <= count);
		must(st_markdown_section_end(md, i) >= heading->end_line);
		check_definitions(md, heading);
		below = heading->end_line;
	}
	below = md->front_end;
	for (size_t i = 0; i < md->code_count; i++) {
		const struct st_code *code = &md->codes[i];
		must(code->line > below && code->first == code->line + 1 && code->last + 1 >= code->first);
		must(code->end_line == code->last + code->closed && code->end_line <= count);
		must(code->column < st_lines_body(&md->lines, code->line).len);
		below = code->end_line;
	}
	for (size_t i = 0; i < md->anchor_count; i++)
		must(md->anchors[i].id.len && md->anchors[i].line >= 1 && md->anchors[i].line <= count);
}

static void check_result(const struct st_patch_result *result, struct st_str text) {
	struct st_str now = st_buf_str(&result->text);
	must(result->line_count == st_line_count(now));
	must(result->delta == (int64_t)result->line_count - (int64_t)st_line_count(text));
	must(result->noop == st_str_eq(now, text));
	must(result->last + 1 == result->first + result->count);
	if (result->operation == ST_PATCH_DELETE)
		return;
	st_auto(st_lines) lines = {0};
	if (st_lines_init(&lines, now, NULL) < 0)
		return;
	must(result->last <= lines.count);
	must(st_str_ends(st_lines_range(&lines, result->first, result->last), result->after));
}

/* Check that the headings are the old ones, and that those below the new lines moved. */
static void check_moved(const struct st_markdown *old, const struct st_patch_result *result) {
	st_auto(st_markdown) md = {0};
	if (st_markdown_parse(&md, st_buf_str(&result->text), NULL) < 0)
		return;
	must(md.heading_count == old->heading_count);
	for (size_t i = 0; i < md.heading_count; i++) {
		const struct st_heading *was = &old->headings[i], *is = &md.headings[i];
		size_t moved = was->line >= result->first ? result->count : 0;
		must(is->level == was->level && is->line == was->line + moved);
		must(is->end_line == was->end_line + moved);
	}
}

static void check_appending(const struct st_markdown *md, size_t index) {
	st_auto(st_buf) query = ST_BUF_INIT;
	for (int i = 0; i < md->headings[index].level; i++)
		st_buf_addc(&query, '#');
	st_buf_addc(&query, ' ');
	st_buf_add(&query, md->headings[index].source);
	const struct st_patch patch = {
		.operation = ST_PATCH_INSERT,
		.target = ST_TARGET_APPEND_TO_SECTION,
		.heading = st_buf_str(&query),
		.content = ST_STR("marker"),
		.has_content = true,
		.markdown = true,
	};
	st_auto(st_patch_result) result = {0};
	if (st_patch_apply(&patch, md->lines.text, &result, NULL) < 0)
		return;
	check_result(&result, md->lines.text);
	check_moved(md, &result);

	const struct st_patch back = {
		.operation = ST_PATCH_DELETE, .start = (int64_t)result.first, .end = (int64_t)result.last};
	st_auto(st_patch_result) restored = {0};
	must(st_patch_apply(&back, st_buf_str(&result.text), &restored, NULL) == 0);
	must(st_str_eq(st_buf_str(&restored.text), md->lines.text));
}

static void check_patch(const uint8_t *choices, struct st_str content, struct st_str text) {
	const struct st_patch patch = {
		.operation = (enum st_patch_operation)(choices[0] % 3),
		.target = (enum st_patch_target)(choices[0] / 3 % 6),
		.start = (int8_t)choices[1],
		.end = (int8_t)choices[2],
		.index = (int8_t)choices[3],
		.occurrence = (int8_t)choices[3],
		.heading = content,
		.content = content,
		.has_content = choices[0] < 224,
		.preserve_indent = choices[4] & 1,
		.markdown = !(choices[4] & 2),
	};
	st_auto(st_patch_result) result = {0};
	struct stet_error err = {0};
	if (st_patch_apply(&patch, text, &result, &err) == 0)
		check_result(&result, text);
	else
		must(err.message[0] != '\0' && !result.text.ptr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	if (len < CHOICES)
		return 0;
	size_t split = data[5] < len - CHOICES ? data[5] : len - CHOICES;
	struct st_str content = st_strn((const char *)data + CHOICES, split);
	struct st_str text = st_strn(content.ptr + split, len - CHOICES - split);
	check_patch(data, content, text);

	st_auto(st_markdown) md = {0};
	if (st_markdown_parse(&md, text, NULL) < 0)
		return 0;
	check_structure(&md);
	for (size_t i = 0; i < md.heading_count && i < MAX_HEADINGS; i++)
		check_appending(&md, i);
	return 0;
}
