/**
 * Check what an edit does to the Markdown around it, by parsing the part of the
 * new text that it can affect.
 */
#ifndef STET_TEXT_PATCH_PATCH_WINDOW_H
#define STET_TEXT_PATCH_PATCH_WINDOW_H

#include "text/patch/line_edit.h"
#include "text/markdown/markdown.h"

/** What happens to headings outside the new lines. */
enum st_patch_effect {
	ST_EFFECT_NONE,
	ST_EFFECT_LOST_ABOVE,
	ST_EFFECT_LOST_BELOW,
	ST_EFFECT_GAINED,
};

/** A part of the new text. */
struct st_patch_window {
	struct st_buf text;
	struct st_markdown md;
	/** Its line 1 is line base + 1 of the new text. */
	size_t base;
	/** The headings of the old text that it begins and ends with; NULL at the text's ends. */
	const struct st_heading *previous;
	const struct st_heading *next;
};

/** Parse the part around an edit; `old` is the structure of the old text. Fails as st_markdown_parse(). */
[[nodiscard]] int st_patch_window_parse(struct st_patch_window *window,
                                        const struct st_markdown *old,
                                        const struct st_line_edit *edit, struct stet_error *err);
void st_patch_window_release(struct st_patch_window *window);

enum st_patch_effect st_patch_window_effect(const struct st_patch_window *window,
                                            const struct st_line_edit *edit);

/** The code block whose opening fence is a line of the new text; NULL if there is none. */
const struct st_code *st_patch_window_code_at(const struct st_patch_window *window, size_t line);

/** The code block that contains a line of the new text; NULL if there is none. */
const struct st_code *st_patch_window_code_around(const struct st_patch_window *window,
                                                  size_t line);

#endif
