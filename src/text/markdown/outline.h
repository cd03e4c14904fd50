/**
 * The outline of plain text: section lines as in INI files, and the first lines
 * of paragraphs.
 */
#ifndef STET_TEXT_MARKDOWN_OUTLINE_H
#define STET_TEXT_MARKDOWN_OUTLINE_H

#include "text/lines/lines.h"

struct st_section {
	/** The line as written, `[name]`, trimmed and without a comment after it. */
	struct st_str marker;
	size_t line;
};

/** The outline of a text that it borrows. */
struct st_outline {
	struct st_section *sections;
	size_t section_count;
	/** The lines that are not blank and follow a blank line. */
	size_t *groups;
	size_t group_count;
};

/** Read the outline of a text. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_outline_init(struct st_outline *outline, const struct st_lines *lines,
                                  struct stet_error *err);
void st_outline_release(struct st_outline *outline);

#endif
