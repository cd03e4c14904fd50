#include "text/patch/patch_window.h"

/*
 * A heading closes every block before it, so the text from a heading on can be
 * parsed by itself. The window reaches from the heading above the edit to the
 * heading below it.
 */
static void find_neighbours(struct st_patch_window *window, const struct st_markdown *old,
                            const struct st_line_edit *edit) {
	size_t i = 0;
	while (i < old->heading_count && old->headings[i].end_line < edit->first)
		window->previous = &old->headings[i++];
	while (i < old->heading_count && old->headings[i].line < edit->first + edit->old_count)
		i++;
	window->next = i < old->heading_count ? &old->headings[i] : NULL;
}

int st_patch_window_parse(struct st_patch_window *window, const struct st_markdown *old,
                          const struct st_line_edit *edit, struct stet_error *err) {
	struct st_str text = old->lines.text;
	find_neighbours(window, old, edit);
	size_t skipped = window->previous ? window->previous->block_line - 1 : 0;
	size_t end = window->next ? old->lines.starts[window->next->end_line] : text.len;

	/* Begin with a newline: at the start of a file, a byte order mark or a rule means something else. */
	if (skipped)
		st_buf_addc(&window->text, '\n');
	window->base = skipped ? skipped - 1 : 0;
	st_buf_add(&window->text, st_str_slice(text, old->lines.starts[skipped], edit->start));
	st_buf_add(&window->text, st_buf_str(&edit->bytes));
	st_buf_add(&window->text, st_str_slice(text, edit->end, end));
	if (window->text.failed || edit->bytes.failed)
		return st_fail_nomem(err);
	return st_markdown_parse(&window->md, st_buf_str(&window->text), err);
}

void st_patch_window_release(struct st_patch_window *window) {
	st_buf_release(&window->text);
	st_markdown_release(&window->md);
}

/* Whether the window still has a heading of the old text, now at another line. */
static bool has_heading(const struct st_patch_window *window, const struct st_heading *old,
                        size_t line) {
	line -= window->base;
	size_t i = st_markdown_heading_above(&window->md, line);
	if (i == window->md.heading_count)
		return false;
	const struct st_heading *heading = &window->md.headings[i];
	return heading->line == line && heading->level == old->level &&
	       heading->end_line - line == old->end_line - old->line;
}

/* Count the headings within the new lines. */
static size_t count_new(const struct st_patch_window *window, const struct st_line_edit *edit) {
	size_t first = edit->first - window->base;
	size_t count = 0;
	for (size_t i = 0; i < window->md.heading_count; i++) {
		const struct st_heading *heading = &window->md.headings[i];
		count += heading->line >= first && heading->end_line < first + edit->new_count;
	}
	return count;
}

enum st_patch_effect st_patch_window_effect(const struct st_patch_window *window,
                                            const struct st_line_edit *edit) {
	const struct st_heading *previous = window->previous, *next = window->next;
	size_t known = (size_t)(previous != NULL) + (size_t)(next != NULL);
	if (previous && !has_heading(window, previous, previous->line))
		return ST_EFFECT_LOST_ABOVE;
	if (next && !has_heading(window, next, next->line + edit->new_count - edit->old_count))
		return ST_EFFECT_LOST_BELOW;
	if (window->md.heading_count > known + count_new(window, edit))
		return ST_EFFECT_GAINED;
	return ST_EFFECT_NONE;
}

const struct st_code *st_patch_window_code_at(const struct st_patch_window *window, size_t line) {
	for (size_t i = 0; i < window->md.code_count; i++) {
		if (window->md.codes[i].line + window->base == line)
			return &window->md.codes[i];
	}
	return NULL;
}

const struct st_code *st_patch_window_code_around(const struct st_patch_window *window,
                                                  size_t line) {
	for (size_t i = 0; i < window->md.code_count; i++) {
		const struct st_code *code = &window->md.codes[i];
		if (code->first + window->base <= line && line <= code->last + window->base)
			return code;
	}
	return NULL;
}
