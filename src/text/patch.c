#include "text/patch.h"

#include "base/utf8.h"
#include "text/indent.h"
#include "text/patch_place.h"

/** How much of a line or heading a message shows. */
#define MAX_SHOWN 80

/** A patch on its way: the old text, where it applies, and what is to stand there. */
struct job {
	const struct st_patch *patch;
	enum st_patch_operation operation;
	/** The old lines: those of md if there is structure to look at, else plain. */
	const struct st_lines *lines;
	struct st_lines plain;
	struct st_markdown md;
	struct st_patch_place place;
	/** The content, shifted, each line ended by LF. */
	struct st_buf content;
	struct st_lines content_lines;
	struct st_buf note;
};

static void job_release(struct job *job) {
	st_lines_release(&job->plain);
	st_markdown_release(&job->md);
	st_buf_release(&job->content);
	st_lines_release(&job->content_lines);
	st_buf_release(&job->note);
}

/** Bytes start to end of the old text become others. */
struct edit {
	size_t start;
	size_t end;
	struct st_buf bytes;
	/** How many of the bytes only end the line above. */
	size_t lead;
	/** The first of the lines, in either numbering, and how many there were and are. */
	size_t first;
	size_t old_count;
	size_t new_count;
	/** The ending of lines that replace none. */
	enum st_eol eol;
};

static void edit_release(struct edit *edit) {
	st_buf_release(&edit->bytes);
	*edit = (struct edit){0};
}

/** Blank lines to put around the content. */
struct padding {
	size_t before;
	size_t after;
};

/** What an edit does to the headings around it. */
enum effect {
	EFFECT_NONE,
	EFFECT_LOST_ABOVE,
	EFFECT_LOST_BELOW,
	EFFECT_GAINED,
};

static enum st_eol eol_of_line(const struct st_lines *lines, size_t n) {
	return n >= 1 && n <= lines->count ? st_eol_of(st_lines_whole(lines, n)) : ST_EOL_NONE;
}

/* Whether the lines reach to the end of a text that has no newline there. */
static bool is_open_end(const struct st_lines *lines, const struct edit *edit) {
	return lines->count && edit->first + edit->old_count - 1 == lines->count &&
	       eol_of_line(lines, lines->count) == ST_EOL_NONE;
}

/* Where a line starts, behind a byte order mark; the end of the text for the line after the last. */
static size_t start_of(const struct st_lines *lines, size_t n) {
	return n == 1 ? st_bom_len(lines->text) : lines->starts[n - 1];
}

/* Which bytes go, and what ending new lines have. */
static void edit_begin(struct edit *edit, const struct st_lines *lines, size_t first,
                       size_t old_count) {
	edit_release(edit);
	edit->first = first;
	edit->old_count = old_count;
	edit->start = start_of(lines, first);
	edit->end = old_count ? lines->starts[first - 1 + old_count] : edit->start;
	edit->eol = eol_of_line(lines, first + old_count - 1);
	if (edit->eol == ST_EOL_NONE)
		edit->eol = st_eol_of_text(lines->text);
}

/*
 * The ending of the next new line: none at an open end; that of the line it
 * replaces, if any. A lone CR must not meet a LF that ends an empty line below
 * it: they would be one ending.
 */
static enum st_eol eol_for(const struct edit *edit, const struct st_lines *lines,
                           struct st_str line, bool last) {
	/* A blank line is there only if it has an ending. */
	if (last && line.len && is_open_end(lines, edit))
		return ST_EOL_NONE;
	enum st_eol eol = ST_EOL_NONE;
	if (edit->new_count < edit->old_count)
		eol = eol_of_line(lines, edit->first + edit->new_count);
	if (eol == ST_EOL_NONE)
		eol = edit->eol;

	struct st_str above = edit->bytes.len ? st_buf_str(&edit->bytes)
	                                      : st_str_slice(lines->text, 0, edit->start);
	struct st_str below = st_str_slice(lines->text, edit->end, lines->text.len);
	if (line.len == 0 && eol == ST_EOL_LF && st_str_ends(above, ST_STR("\r")))
		eol = ST_EOL_CR;
	if (last && eol == ST_EOL_CR && st_str_starts(below, ST_STR("\n")))
		eol = ST_EOL_CRLF;
	return eol;
}

/* The i-th new line, from 0: a line of the content, or a blank one around it. */
static struct st_str new_line(const struct job *job, struct padding padding, size_t i) {
	if (i < padding.before || i - padding.before >= job->content_lines.count)
		return st_str("");
	return st_lines_body(&job->content_lines, i - padding.before + 1);
}

/* At an open end: end the line above new ones, or let it be the last in place of the old ones. */
static void join_to_line_above(struct edit *edit, const struct st_lines *lines, size_t count) {
	if (!is_open_end(lines, edit) || edit->first == 1)
		return;
	struct st_str above = st_lines_body(lines, edit->first - 1);
	if (count && edit->old_count == 0) {
		st_buf_add(&edit->bytes, st_eol_bytes(edit->eol));
		edit->lead = edit->bytes.len;
	} else if (count == 0 && edit->old_count && above.len) {
		edit->start -= st_eol_bytes(eol_of_line(lines, edit->first - 1)).len;
	}
}

static void edit_make(struct edit *edit, const struct job *job, size_t first,
                      struct padding padding) {
	const struct st_lines *lines = job->lines;
	size_t count = padding.before + job->content_lines.count + padding.after;
	edit_begin(edit, lines, first, job->place.last + 1 - job->place.first);
	join_to_line_above(edit, lines, count);
	while (edit->new_count < count) {
		struct st_str line = new_line(job, padding, edit->new_count);
		enum st_eol eol = eol_for(edit, lines, line, edit->new_count + 1 == count);
		st_buf_add(&edit->bytes, line);
		st_buf_add(&edit->bytes, st_eol_bytes(eol));
		edit->new_count++;
	}
}

/** A part of the text that can be parsed alone, as it will be after an edit. */
struct window {
	struct st_buf text;
	struct st_markdown md;
	/** Its line 1 is line base + 1 of the text. */
	size_t base;
	/** The headings it begins and ends with, in the old text; NULL at the text's ends. */
	const struct st_heading *above;
	const struct st_heading *below;
};

static void window_release(struct window *window) {
	st_buf_release(&window->text);
	st_markdown_release(&window->md);
}

/*
 * A heading closes every block before it, so what follows can be parsed
 * without what came before: from the heading above the edit to the end of the
 * one below is all that has to be looked at. A blank line in front keeps its
 * first line from being taken for the start of a file, where a byte order mark
 * means something.
 */
static int window_parse(struct window *window, const struct job *job, const struct edit *edit,
                        struct stet_error *err) {
	const struct st_markdown *md = &job->md;
	struct st_str text = md->lines.text;
	size_t i = 0;
	while (i < md->heading_count && md->headings[i].end_line < edit->first)
		window->above = &md->headings[i++];
	while (i < md->heading_count && md->headings[i].line < edit->first + edit->old_count)
		i++;
	window->below = i < md->heading_count ? &md->headings[i] : NULL;

	size_t skipped = window->above ? window->above->block_line - 1 : 0;
	size_t end = window->below ? md->lines.starts[window->below->end_line] : text.len;
	if (skipped)
		st_buf_addc(&window->text, '\n');
	window->base = skipped - window->text.len;
	st_buf_add(&window->text, st_str_slice(text, md->lines.starts[skipped], edit->start));
	st_buf_add(&window->text, st_buf_str(&edit->bytes));
	st_buf_add(&window->text, st_str_slice(text, edit->end, end));
	if (window->text.failed)
		return st_fail_nomem(err);
	return st_markdown_parse(&window->md, st_buf_str(&window->text), err);
}

/* Whether a heading of the old text is in the window, moved by so many lines. */
static bool has_heading(const struct window *window, const struct st_heading *old, size_t added,
                        size_t removed) {
	size_t line = old->line - window->base + added - removed;
	size_t i = st_markdown_heading_above(&window->md, line);
	if (i == window->md.heading_count)
		return false;
	const struct st_heading *heading = &window->md.headings[i];
	return heading->line == line && heading->level == old->level &&
	       heading->end_line - line == old->end_line - old->line;
}

/* How many headings lie within the new lines. */
static size_t count_new(const struct window *window, const struct edit *edit) {
	size_t first = edit->first - window->base;
	size_t count = 0;
	for (size_t i = 0; i < window->md.heading_count; i++) {
		const struct st_heading *heading = &window->md.headings[i];
		count += heading->line >= first && heading->end_line < first + edit->new_count;
	}
	return count;
}

/* What an edit does to headings that are not in its own lines; negative on failure. */
static int effect_of(const struct job *job, const struct edit *edit, struct stet_error *err) {
	st_auto(window) window = {0};
	int code = window_parse(&window, job, edit, err);
	if (code < 0)
		return code;
	if (window.above && !has_heading(&window, window.above, 0, 0))
		return EFFECT_LOST_ABOVE;
	if (window.below && !has_heading(&window, window.below, edit->new_count, edit->old_count))
		return EFFECT_LOST_BELOW;
	size_t known = (size_t)(window.above != NULL) + (size_t)(window.below != NULL);
	return window.md.heading_count > known + count_new(&window, edit) ? EFFECT_GAINED : EFFECT_NONE;
}

static void note_effect(struct job *job, int effect) {
	static const char *const sentences[] = {
		[EFFECT_LOST_ABOVE] = "The heading above is no longer one.",
		[EFFECT_LOST_BELOW] = "The heading below is no longer one: what is above it now runs into it, "
		                      "or opens a fence, a comment or a list that goes on.",
		[EFFECT_GAINED] = "A line outside of the change has become a heading.",
	};
	st_buf_addf(&job->note, "%s Look at the structure. ", sentences[effect]);
}

/* Make the edit so that no other heading changes; if that cannot be, make it plainly and say so. */
static int edit_guarded(struct edit *edit, struct job *job, struct stet_error *err) {
	static const struct padding paddings[] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
	size_t variants = job->content_lines.count ? sizeof paddings / sizeof *paddings : 1;
	const size_t firsts[] = {job->place.first, job->place.other};
	int plainly = EFFECT_NONE;
	for (size_t i = 0; i < 2 && firsts[i] != 0; i++) {
		for (size_t k = 0; k < variants; k++) {
			edit_make(edit, job, firsts[i], paddings[k]);
			int effect = effect_of(job, edit, err);
			if (effect <= 0)
				return effect;
			if (plainly == EFFECT_NONE)
				plainly = effect;
		}
	}
	edit_make(edit, job, job->place.first, paddings[0]);
	note_effect(job, plainly);
	return 0;
}

/* Say so if new lines are inside of a code block that nobody closed. */
static int note_unclosed_code(struct job *job, const struct edit *edit, struct stet_error *err) {
	const struct st_markdown *md = &job->md;
	if (edit->new_count == 0 || md->code_count == 0 || md->codes[md->code_count - 1].closed)
		return 0;
	st_auto(window) window = {0};
	int failed = window_parse(&window, job, edit, err);
	if (failed < 0)
		return failed;
	for (size_t i = 0; i < window.md.code_count; i++) {
		const struct st_code *code = &window.md.codes[i];
		if (code->first + window.base <= edit->first && code->last + window.base >= edit->first)
			st_buf_addf(&job->note,
			            "The content is inside the code block that begins in line %zu and is not closed. ",
			            code->line + window.base);
	}
	return 0;
}

/* Which line of the content ends a code block that ought to go on to the last line. */
static int fail_code_ends(const struct job *job, const struct edit *edit, size_t last,
                          struct stet_error *err) {
	const struct st_code *code = job->place.code;
	st_auto(st_buf) shown = ST_BUF_INIT;
	size_t number = last + 1 >= edit->first ? last + 1 - edit->first + 1 : 1;
	if (number <= job->content_lines.count) {
		struct st_str line = st_lines_body(&job->content_lines, number);
		st_utf8_add_lossy(&shown, st_strn(line.ptr, st_utf8_cut(line, MAX_SHOWN)));
	}
	return st_fail(err, STET_E_INVALID,
	               "Line %zu of the content (\"%s\") would end code block %lld: it is a closing fence, or "
	               "indented less than the list that the block is in. To change the fences too, replace "
	               "lines %zu-%zu.",
	               number, st_buf_cstr(&shown), (long long)job->patch->index, code->line,
	               code->end_line);
}

/* A code block must still hold all of its lines, and no more. */
static int check_code(const struct job *job, const struct edit *edit, struct stet_error *err) {
	st_auto(window) window = {0};
	int failed = window_parse(&window, job, edit, err);
	if (failed < 0)
		return failed;
	const struct st_code *old = job->place.code;
	size_t last = old->last + edit->new_count - edit->old_count;
	for (size_t i = 0; i < window.md.code_count; i++) {
		const struct st_code *code = &window.md.codes[i];
		if (code->line + window.base != old->line)
			continue;
		if (code->last + window.base == last && code->closed == old->closed)
			return 0;
		return fail_code_ends(job, edit, code->last + window.base, err);
	}
	return fail_code_ends(job, edit, old->line, err);
}

/* The indentation of a code block's lines: that of its fence, as far as its lines have it. */
static void code_indent(const struct job *job, struct st_buf *indent) {
	const struct st_code *code = job->place.code;
	struct st_str opening = st_strn(st_lines_whole(job->lines, code->line).ptr, code->column);
	if (code->line == 1)
		opening = st_str_slice(opening, st_bom_len(opening), opening.len);
	/* List markers stand for the blanks that the following lines have. */
	for (size_t i = 0; i < opening.len; i++)
		st_buf_addc(indent, opening.ptr[i] == '\t' ? '\t' : ' ');
	struct st_str common;
	if (st_indent_common(job->lines, code->first, code->last, &common))
		st_buf_truncate(indent, st_indent_shared(st_buf_str(indent), common));
}

static void shift_into_code(struct job *job, const struct st_lines *content) {
	st_auto(st_buf) indent = ST_BUF_INIT;
	code_indent(job, &indent);
	struct st_str common;
	bool any = st_indent_common(content, 1, content->count, &common);
	bool has = any && st_str_starts(common, st_buf_str(&indent));
	st_indent_shift(&job->content, content, 0, has ? st_str("") : st_buf_str(&indent));
	job->content.failed |= indent.failed;
}

static void shift_to_lines(struct job *job, const struct st_lines *content) {
	const struct st_patch_place *place = &job->place;
	struct st_str from, to;
	bool any = st_indent_common(content, 1, content->count, &from) &&
	           st_indent_common(job->lines, place->model_first, place->model_last, &to);
	if (!any)
		from = to = st_str("");
	st_indent_shift(&job->content, content, from.len, to);
	if (!st_str_eq(from, to))
		st_buf_addf(&job->note,
		            "The content was shifted to the indentation of line %zu; preserveIndent: false keeps "
		            "its own. ",
		            place->model_first);
}

/* Shift the content and index its lines. */
static int prepare_content(struct job *job, struct stet_error *err) {
	struct st_str text = job->operation == ST_PATCH_DELETE ? st_str("") : job->patch->content;
	/* The mark at the start of the file stays; a second one would be text. */
	if (job->place.first == 1 && st_bom_len(job->lines->text))
		text = st_str_slice(text, st_bom_len(text), text.len);
	st_auto(st_lines) content = {0};
	int code = st_lines_init(&content, text, err);
	if (code < 0)
		return code;
	enum st_patch_shift shift = job->patch->preserve_indent ? job->place.shift : ST_SHIFT_NONE;
	if (shift == ST_SHIFT_TO_LINES)
		shift_to_lines(job, &content);
	else if (shift == ST_SHIFT_INTO_CODE)
		shift_into_code(job, &content);
	else
		st_indent_shift(&job->content, &content, 0, st_str(""));
	if (job->content.failed)
		return st_fail_nomem(err);
	return st_lines_init(&job->content_lines, st_buf_str(&job->content), err);
}

static int job_begin(struct job *job, const struct st_patch *patch, struct st_str text,
                     struct stet_error *err) {
	job->patch = patch;
	job->operation = patch->operation;
	if (patch->operation == ST_PATCH_DELETE && patch->has_content && patch->content.len)
		st_buf_adds(&job->note, "Delete takes no content; it was not used. ");
	if (patch->operation == ST_PATCH_REPLACE && patch->content.len == 0) {
		st_buf_adds(&job->note, "The content is empty, so the lines were deleted; a blank line is \"\\n\". ");
		job->operation = ST_PATCH_DELETE;
	}
	if (st_patch_needs_structure(patch)) {
		job->lines = &job->md.lines;
		return st_markdown_parse(&job->md, text, err);
	}
	job->lines = &job->plain;
	return st_lines_init(&job->plain, text, err);
}

static int make_edit(struct job *job, struct edit *edit, struct stet_error *err) {
	if (job->place.guarded) {
		int code = edit_guarded(edit, job, err);
		return code < 0 ? code : note_unclosed_code(job, edit, err);
	}
	edit_make(edit, job, job->place.first, (struct padding){0, 0});
	return job->place.code ? check_code(job, edit, err) : 0;
}

static void fill_counts(struct st_patch_result *result, struct job *job,
                        const struct edit *edit) {
	bool gone = job->operation == ST_PATCH_DELETE;
	size_t was = job->lines->count;
	result->operation = job->operation;
	result->count = gone ? edit->old_count : edit->new_count;
	result->first = edit->first;
	result->last = edit->first + result->count - 1;
	result->line_count = st_line_count(st_buf_str(&result->text));
	result->delta = (int64_t)result->line_count - (int64_t)was;
	if (result->line_count != was)
		st_buf_addf(&job->note, "The file now has %zu %s (was %zu). ", result->line_count,
		            result->line_count == 1 ? "line" : "lines", was);
	if (gone && edit->old_count == 0)
		st_buf_adds(&job->note, "The code block is empty already. ");
}

static int finish(struct job *job, const struct edit *edit, struct st_patch_result *result,
                  struct stet_error *err) {
	struct st_str old = job->lines->text;
	struct st_buf *text = &result->text;
	st_buf_reserve(text, old.len - (edit->end - edit->start) + edit->bytes.len);
	st_buf_add(text, st_str_slice(old, 0, edit->start));
	st_buf_add(text, st_buf_str(&edit->bytes));
	st_buf_add(text, st_str_slice(old, edit->end, old.len));
	fill_counts(result, job, edit);
	if (text->failed || edit->bytes.failed || job->note.failed)
		return st_fail_nomem(err);

	result->noop = st_str_eq(st_buf_str(text), old);
	result->before = st_str_slice(old, start_of(job->lines, edit->first), edit->end);
	result->after = st_strn(text->ptr + edit->start + edit->lead, edit->bytes.len - edit->lead);
	if (job->note.len)
		st_buf_truncate(&job->note, job->note.len - 1);
	st_buf_move(&result->note, &job->note);
	return 0;
}

static int apply(struct job *job, const struct st_patch *patch, struct st_str text,
                 struct st_patch_result *result, struct stet_error *err) {
	st_auto(edit) edit = {0};
	int code = job_begin(job, patch, text, err);
	if (code == 0)
		code = st_patch_locate(patch, job->lines, &job->md, &job->place, &job->note, err);
	if (code == 0)
		code = prepare_content(job, err);
	if (code == 0)
		code = make_edit(job, &edit, err);
	if (code == 0)
		code = finish(job, &edit, result, err);
	return code;
}

int st_patch_apply(const struct st_patch *patch, struct st_str text,
                   struct st_patch_result *result, struct stet_error *err) {
	st_auto(job) job = {0};
	int code = st_patch_check(patch, err);
	if (code == 0)
		code = apply(&job, patch, text, result, err);
	if (code < 0)
		st_patch_result_release(result);
	return code;
}

void st_patch_result_release(struct st_patch_result *result) {
	st_buf_release(&result->text);
	st_buf_release(&result->note);
	*result = (struct st_patch_result){0};
}
