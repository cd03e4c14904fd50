/**
 * text_patch: replace, insert or delete at a place that is named by its lines
 * or by the Markdown structure around it.
 *
 *     const struct st_patch patch = {
 *             .operation = ST_PATCH_INSERT,
 *             .target = ST_TARGET_APPEND_TO_SECTION,
 *             .heading = ST_STR("## Setup"),
 *             .content = ST_STR("One more step.\n"),
 *             .has_content = true,
 *             .preserve_indent = true,
 *             .markdown = true,
 *     };
 *     st_auto(st_patch_result) result = {0};
 *     if (st_patch_apply(&patch, text, &result, err) < 0)
 *             return err->code;
 *
 * The text is a list of lines and a flag, whether the last one has an ending;
 * operations work on the list and leave the flag alone. So a line put after a
 * last line without newline has none either, and taking it away again gives
 * the same bytes. (A blank last line is there only by its newline, and gets
 * one.) Every other byte stays as it is. Of the content:
 *
 * - One newline at its end is not a blank line. Without any line it is
 *   refused by insert and makes replace a delete.
 * - A new line takes the ending of the line it replaces, or of the one it
 *   goes after; failing that, the one most lines have.
 * - preserve_indent shifts it as a whole, for `lines`: its common indentation
 *   is replaced by the common indentation of the lines it replaces, or of the
 *   line it goes after; where these are blank it stays as it is. In a code
 *   block, lines without the block's own indentation get it in front. At
 *   headings nothing is shifted, since indentation means something there.
 * - A byte order mark stays in front of everything.
 *
 * Where an edit at a heading would change another heading - text that runs
 * into the title of a setext heading below, a rule that underlines the
 * paragraph above - a blank line is put between, and counts as inserted. If
 * that does not help (an unclosed fence), the edit is made and a note says
 * what became of the heading.
 */
#ifndef STET_TEXT_PATCH_PATCH_H
#define STET_TEXT_PATCH_PATCH_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum st_patch_operation {
	ST_PATCH_REPLACE,
	ST_PATCH_INSERT,
	ST_PATCH_DELETE,
};

enum st_patch_target {
	/** Lines start to end; insert goes after end. */
	ST_TARGET_LINES,
	/** A heading's own line or lines; insert goes below them. */
	ST_TARGET_HEADING,
	/** Insert only: above a heading. */
	ST_TARGET_BEFORE_HEADING,
	/** Insert only: after the last line of a section that is not blank. */
	ST_TARGET_APPEND_TO_SECTION,
	/** The lines between the fences; insert goes after the last of them. */
	ST_TARGET_CODE_BLOCK,
	/**
	 * Replace and delete only: a heading and everything up to the end of its
	 * section. Blank lines at its end go with delete, and stay with replace.
	 */
	ST_TARGET_WHOLE_SECTION,
};

/** What to do and where. Views borrow from the caller. */
struct st_patch {
	enum st_patch_operation operation;
	enum st_patch_target target;
	/**
	 * Lines from 1, inclusive; end 0 means start. Start 0 is the top of the
	 * text, for insert only: below front matter, if there is any.
	 */
	int64_t start;
	int64_t end;
	/** The heading's words and, if there are several, which one from 1; see heading.h. */
	struct st_str heading;
	int64_t occurrence;
	/** Which code block, from 0. */
	int64_t index;
	/** Needed for replace and insert; has_content tells an empty one from none. */
	struct st_str content;
	bool has_content;
	bool preserve_indent;
	/** Whether the text is Markdown; if not, only `lines` can be used. */
	bool markdown;
};

struct st_patch_result {
	/** The new text. */
	struct st_buf text;
	/**
	 * The lines replaced or inserted, in the new numbering; for delete the
	 * ones that went, in the old. last is first - 1 if there are none.
	 */
	size_t first;
	size_t last;
	/** How many lines that is: changed, inserted or deleted. */
	size_t count;
	/** How many lines the text grew by, and how many it has now. */
	int64_t delta;
	size_t line_count;
	/** What was done: a replace without content is a delete. */
	enum st_patch_operation operation;
	/** The new text is the old one, byte by byte. */
	bool noop;
	/** What stood there, a view of the old text; what does now, a view of the new one. */
	struct st_str before;
	struct st_str after;
	/** Sentences for the reader, empty if there is nothing to say. */
	struct st_buf note;
};

/**
 * Apply a patch.
 *
 * @text    The old text, kept by the caller as long as result->before is used.
 * @result  Zeroed by the caller; filled on success, empty on failure.
 * @return  0; STET_E_INVALID for a patch that fits no text (operation and
 *          target do not go together, no content, lines reversed) or not
 *          this one (out of range, not Markdown, content that would end its
 *          code block); STET_E_NO_MATCH for a heading that is not there;
 *          STET_E_TOO_BIG as st_markdown_parse(); STET_E_NOMEM.
 */
[[nodiscard]] int st_patch_apply(const struct st_patch *patch, struct st_str text,
                                 struct st_patch_result *result, struct stet_error *err);
void st_patch_result_release(struct st_patch_result *result);

/** The name of an operation or target in a request, as in "appendToSection". */
const char *st_patch_operation_name(enum st_patch_operation operation);
const char *st_patch_target_name(enum st_patch_target target);

/**
 * The operation of that name, in any case. STET_E_INVALID for any other: the
 * message lists the choices, and says what took the place of a removed one.
 */
[[nodiscard]] int st_patch_operation_parse(struct st_str name, enum st_patch_operation *operation,
                                           struct stet_error *err);

/** The target of that name, likewise. */
[[nodiscard]] int st_patch_target_parse(struct st_str name, enum st_patch_target *target,
                                        struct stet_error *err);

/** What to use instead of an operation or target of earlier versions: a sentence, or NULL. */
const char *st_patch_removed(struct st_str name);

#endif
