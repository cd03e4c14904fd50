#include "text/patch/patch.h"

#include "base/plural.h"
#include "base/utf8.h"
#include "text/markdown/heading.h"
#include "text/lines/indent.h"
#include "text/patch/line_edit.h"
#include "text/patch/patch_place.h"
#include "text/patch/patch_window.h"

/* How many bytes of a line a message quotes. */
#define MAX_SHOWN 80

/* One call of st_patch_apply(). */
struct patching {
	struct st_patch patch;
	/* The old lines: those of md for a Markdown target, else plain. */
	const struct st_lines *lines;
	struct st_lines plain;
	struct st_markdown md;
	struct st_patch_place place;
	/* The content, indented, each line ended by LF. */
	struct st_buf content;
	struct st_lines content_lines;
	struct st_buf note;
};

static void patching_release(struct patching *patching) {
	st_lines_release(&patching->plain);
	st_markdown_release(&patching->md);
	st_buf_release(&patching->content);
	st_lines_release(&patching->content_lines);
	st_buf_release(&patching->note);
}

/* How many blank lines to put around the content. */
struct padding {
	size_t before;
	size_t after;
};

/* The indentation of a code block: as much of its fence's indentation as its lines share. */
static void code_indent(const struct patching *patching, struct st_buf *indent) {
	const struct st_code *code = patching->place.code;
	struct st_str opening = st_strn(st_lines_whole(patching->lines, code->line).ptr, code->column);
	if (code->line == 1)
		opening = st_str_slice(opening, st_bom_len(opening), opening.len);
	/* The lines after a list marker have blanks in its place. */
	for (size_t i = 0; i < opening.len; i++)
		st_buf_addc(indent, opening.ptr[i] == '\t' ? '\t' : ' ');
	struct st_str common;
	if (st_indent_common(patching->lines, code->first, code->last, &common))
		st_buf_truncate(indent, st_indent_shared(st_buf_str(indent), common));
}

static void shift_into_code(struct patching *patching, const struct st_lines *content) {
	st_auto(st_buf) indent = ST_BUF_INIT;
	code_indent(patching, &indent);
	struct st_str common;
	bool any = st_indent_common(content, 1, content->count, &common);
	bool has = any && st_str_starts(common, st_buf_str(&indent));
	st_indent_shift(&patching->content, content, 0, has ? st_str("") : st_buf_str(&indent));
	patching->content.failed |= indent.failed;
}

static void shift_to_lines(struct patching *patching, const struct st_lines *content) {
	const struct st_patch_place *place = &patching->place;
	struct st_str from, to;
	bool any = st_indent_common(content, 1, content->count, &from) &&
	           st_indent_common(patching->lines, place->model_first, place->model_last, &to);
	if (!any)
		from = to = st_str("");
	st_indent_shift(&patching->content, content, from.len, to);
	if (!st_str_eq(from, to))
		st_buf_addf(&patching->note,
		            "The content was shifted to the indentation of line %zu; preserveIndent: false "
		            "keeps its own. ",
		            place->model_first);
}

/* Indent the content and index its lines. */
static int prepare_content(struct patching *patching, struct stet_error *err) {
	struct st_str text =
		patching->patch.operation == ST_PATCH_DELETE ? st_str("") : patching->patch.content;
	/* The file's byte order mark stays; a second one would be text. */
	if (patching->place.first == 1 && st_bom_len(patching->lines->text))
		text = st_str_slice(text, st_bom_len(text), text.len);
	st_auto(st_lines) content = {0};
	int code = st_lines_init(&content, text, err);
	if (code < 0)
		return code;
	enum st_patch_shift shift =
		patching->patch.preserve_indent ? patching->place.shift : ST_SHIFT_NONE;
	if (shift == ST_SHIFT_TO_LINES)
		shift_to_lines(patching, &content);
	else if (shift == ST_SHIFT_INTO_CODE)
		shift_into_code(patching, &content);
	else
		st_indent_shift(&patching->content, &content, 0, st_str(""));
	if (patching->content.failed)
		return st_fail_nomem(err);
	return st_lines_init(&patching->content_lines, st_buf_str(&patching->content), err);
}

static int prepare_patch(struct patching *patching, const struct st_patch *patch,
                         struct st_str text, struct stet_error *err) {
	patching->patch = *patch;
	if (patch->operation == ST_PATCH_DELETE && patch->has_content && patch->content.len)
		st_buf_adds(&patching->note, "Delete takes no content; it was not used. ");
	if (patch->operation == ST_PATCH_REPLACE && patch->content.len == 0) {
		st_buf_adds(&patching->note,
		            "The content is empty, so the lines were deleted; "
		            "a blank line is \"\\n\". ");
		patching->patch.operation = ST_PATCH_DELETE;
	}
	if (st_patch_needs_structure(patch)) {
		patching->lines = &patching->md.lines;
		return st_markdown_parse(&patching->md, text, err);
	}
	patching->lines = &patching->plain;
	return st_lines_init(&patching->plain, text, err);
}

static void make_edit(struct st_line_edit *edit, const struct patching *patching, size_t first,
                      struct padding padding) {
	const struct st_lines *content = &patching->content_lines;
	size_t old_count = patching->place.last + 1 - patching->place.first;
	size_t new_count = padding.before + content->count + padding.after;
	st_line_edit_begin(edit, patching->lines, first, old_count, new_count);
	for (size_t i = 0; i < padding.before; i++)
		st_line_edit_add(edit, st_str(""));
	for (size_t n = 1; n <= content->count; n++)
		st_line_edit_add(edit, st_lines_body(content, n));
	for (size_t i = 0; i < padding.after; i++)
		st_line_edit_add(edit, st_str(""));
}

static void note_effect(struct patching *patching, enum st_patch_effect effect) {
	static const char *const sentences[] = {
		[ST_EFFECT_LOST_ABOVE] = "The heading above is no longer a heading.",
		[ST_EFFECT_LOST_BELOW] =
			"The heading below is no longer a heading: the text above it now runs into "
			"it, or opens a fence, a comment or a list that does not end before it.",
		[ST_EFFECT_GAINED] = "A line outside of the change has become a heading.",
	};
	st_buf_addf(&patching->note, "%s Look at the structure. ", sentences[effect]);
}

/* Warn if new lines are inside a code block without a closing fence. */
static void note_unclosed_code(struct patching *patching, const struct st_patch_window *window,
                               const struct st_line_edit *edit) {
	const struct st_code *code = st_patch_window_code_around(window, edit->first);
	if (code && edit->new_count)
		st_buf_addf(
			&patching->note,
			"The content is inside the code block that begins in line %zu and is not closed. ",
			code->line + window->base);
}

/* Make an edit and check its effect. @return 1 if it is good, 0 if other headings change. */
static int try_edit(struct st_line_edit *edit, struct patching *patching, size_t first,
                    struct padding padding, enum st_patch_effect *effect, struct stet_error *err) {
	st_auto(st_patch_window) window = {0};
	make_edit(edit, patching, first, padding);
	int code = st_patch_window_parse(&window, &patching->md, edit, err);
	if (code < 0)
		return code;
	*effect = st_patch_window_effect(&window, edit);
	if (*effect != ST_EFFECT_NONE)
		return 0;
	note_unclosed_code(patching, &window, edit);
	return 1;
}

/* Try blank lines around the content until no other heading changes; else edit without them and warn. */
static int make_guarded_edit(struct st_line_edit *edit, struct patching *patching,
                             struct stet_error *err) {
	static const struct padding paddings[] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
	size_t variants = patching->content_lines.count ? sizeof paddings / sizeof *paddings : 1;
	const size_t firsts[] = {patching->place.first, patching->place.other};
	enum st_patch_effect effect, unpadded = ST_EFFECT_NONE;
	for (size_t i = 0; i < 2 && firsts[i] != 0; i++) {
		for (size_t k = 0; k < variants; k++) {
			int code = try_edit(edit, patching, firsts[i], paddings[k], &effect, err);
			if (code != 0)
				return code < 0 ? code : 0;
			if (unpadded == ST_EFFECT_NONE)
				unpadded = effect;
		}
	}
	make_edit(edit, patching, patching->place.first, paddings[0]);
	note_effect(patching, unpadded);
	return 0;
}

/* Fail because a line of the content would end the code block around it. */
static int fail_code_ends(const struct patching *patching, size_t number, struct stet_error *err) {
	const struct st_code *code = patching->place.code;
	st_auto(st_buf) preview = ST_BUF_INIT;
	if (number >= 1 && number <= patching->content_lines.count) {
		struct st_str line = st_lines_body(&patching->content_lines, number);
		st_utf8_add_lossy(&preview, st_strn(line.ptr, st_utf8_cut(line, MAX_SHOWN)));
	}
	return st_fail(
		err, STET_E_INVALID,
		"Line %zu of the content (\"%s\") would end code block %lld: it is a closing fence, "
		"or indented less than the list that the block is in. To change the fences too, "
		"replace lines %zu-%zu.",
		number, st_buf_cstr(&preview), (long long)patching->patch.index, code->line,
		code->end_line);
}

/* Make an edit in a code block, and check that the block then has exactly the new lines. */
static int make_code_edit(struct st_line_edit *edit, struct patching *patching,
                          struct stet_error *err) {
	st_auto(st_patch_window) window = {0};
	make_edit(edit, patching, patching->place.first, (struct padding){0, 0});
	int failed = st_patch_window_parse(&window, &patching->md, edit, err);
	if (failed < 0)
		return failed;
	const struct st_code *old = patching->place.code;
	const struct st_code *code = st_patch_window_code_at(&window, old->line);
	size_t last = code ? code->last + window.base : old->line;
	if (last == old->last + edit->new_count - edit->old_count && code &&
	    code->closed == old->closed)
		return 0;
	return fail_code_ends(patching, last + 2 > edit->first ? last + 2 - edit->first : 1, err);
}

static int choose_edit(struct st_line_edit *edit, struct patching *patching,
                       struct stet_error *err) {
	if (patching->place.code)
		return make_code_edit(edit, patching, err);
	if (patching->place.guarded)
		return make_guarded_edit(edit, patching, err);
	make_edit(edit, patching, patching->place.first, (struct padding){0, 0});
	return 0;
}

static void fill_counts(struct st_patch_result *result, struct patching *patching,
                        const struct st_line_edit *edit) {
	bool gone = patching->patch.operation == ST_PATCH_DELETE;
	size_t was = patching->lines->count;
	result->operation = patching->patch.operation;
	result->count = gone ? edit->old_count : edit->new_count;
	result->first = edit->first;
	result->old_count = edit->old_count;
	result->last = edit->first + result->count - 1;
	result->line_count = st_line_count(st_buf_str(&result->text));
	result->delta = (int64_t)result->line_count - (int64_t)was;
	if (patching->place.guarded && patching->patch.occurrence == 0) {
		const struct st_line_move move = {edit->first, edit->old_count, result->delta};
		st_heading_note_others(&patching->md, patching->patch.heading, &move, &patching->note);
	}
	if (result->line_count != was)
		st_buf_addf(&patching->note, "The file now has %zu %s (was %zu). ", result->line_count,
		            st_plural(result->line_count, "line", "lines"), was);
	if (gone && edit->old_count == 0)
		st_buf_adds(&patching->note, "The code block is empty already. ");
}

static int fill_result(struct patching *patching, const struct st_line_edit *edit,
                       struct st_patch_result *result, struct stet_error *err) {
	struct st_str old = patching->lines->text;
	struct st_buf *text = &result->text;
	st_buf_reserve(text, old.len - (edit->end - edit->start) + edit->bytes.len);
	st_buf_add(text, st_str_slice(old, 0, edit->start));
	st_buf_add(text, st_buf_str(&edit->bytes));
	st_buf_add(text, st_str_slice(old, edit->end, old.len));
	fill_counts(result, patching, edit);
	if (text->failed || edit->bytes.failed || patching->note.failed)
		return st_fail_nomem(err);

	result->noop = st_str_eq(st_buf_str(text), old);
	result->before = st_line_edit_before(edit);
	result->after = st_strn(text->ptr + edit->start + edit->lead, edit->bytes.len - edit->lead);
	if (patching->note.len)
		st_buf_truncate(&patching->note, patching->note.len - 1);
	st_buf_move(&result->note, &patching->note);
	return 0;
}

static int apply_patch(struct patching *patching, const struct st_patch *patch, struct st_str text,
                       struct st_patch_result *result, struct stet_error *err) {
	st_auto(st_line_edit) edit = {0};
	int code = prepare_patch(patching, patch, text, err);
	if (code == 0)
		code = st_patch_locate(&patching->patch, patching->lines, &patching->md, &patching->place,
		                       &patching->note, err);
	if (code == 0)
		code = prepare_content(patching, err);
	if (code == 0)
		code = choose_edit(&edit, patching, err);
	if (code == 0)
		code = fill_result(patching, &edit, result, err);
	return code;
}

int st_patch_apply(const struct st_patch *patch, struct st_str text, struct st_patch_result *result,
                   struct stet_error *err) {
	st_auto(patching) patching = {0};
	int code = st_patch_check(patch, err);
	if (code == 0)
		code = apply_patch(&patching, patch, text, result, err);
	if (code < 0)
		st_patch_result_release(result);
	return code;
}

void st_patch_result_release(struct st_patch_result *result) {
	st_buf_release(&result->text);
	st_buf_release(&result->note);
	*result = (struct st_patch_result){0};
}
