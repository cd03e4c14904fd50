/**
 * text_patch: replace, insert or delete lines, named by their numbers or by the
 * Markdown structure around them.
 *
 * The folder text/patch holds the engines of the editing tools: this one, edits.h
 * (edit_file) and replace.h (text_replace).
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
 * A text is a list of lines and a flag that says whether the last line has an
 * ending. Operations change the list and keep the flag. So a line inserted after a
 * last line without newline has none either, and deleting it again restores the
 * same bytes. (A blank last line always gets a newline, or it would not exist.)
 * Every other byte stays as it is. Rules for the content:
 *
 * - A newline at its end does not make a blank line. If it is empty, insert fails
 *   and replace becomes a delete.
 * - A new line gets the ending of the line it replaces, else of the line it
 *   follows, else of most lines.
 * - preserve_indent shifts all of it. For `lines`, the common indentation of the
 *   lines it replaces, or of the line it follows, takes the place of its own; if
 *   those lines are blank it stays as it is. In a code block, lines without the
 *   block's indentation get it in front. At headings nothing is shifted, since
 *   indentation has a meaning there.
 * - A byte order mark stays in front of everything.
 *
 * An edit at a heading could change another heading: text may run into the title
 * of a setext heading below, a rule may underline the paragraph above. Then a blank
 * line goes between, and counts as inserted. If that does not help (an unclosed
 * fence), the edit goes ahead and a note says what happened to the heading.
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
	/** Lines start to end; insert adds lines after end. */
	ST_TARGET_LINES,
	/** A heading's own line or lines; insert adds lines below them. */
	ST_TARGET_HEADING,
	/** Insert only: above a heading. */
	ST_TARGET_BEFORE_HEADING,
	/** Insert only: after the last line of a section that is not blank. */
	ST_TARGET_APPEND_TO_SECTION,
	/** The lines between the fences; insert adds lines after the last of them. */
	ST_TARGET_CODE_BLOCK,
	/**
	 * Replace and delete only: a heading and its whole section. Delete removes the
	 * blank lines at the section's end too, replace keeps them.
	 */
	ST_TARGET_WHOLE_SECTION,
};

/** What to change and where. The views borrow from the caller. */
struct st_patch {
	enum st_patch_operation operation;
	enum st_patch_target target;
	/**
	 * Lines from 1, inclusive; end 0 means start. Start 0, for insert only, is the
	 * top of the text, but below front matter.
	 */
	int64_t start;
	int64_t end;
	/** The heading's words, and which of several such headings, from 1; see heading.h. */
	struct st_str heading;
	int64_t occurrence;
	/** Which code block, from 0. */
	int64_t index;
	/** Required for replace and insert; has_content tells an empty content from none. */
	struct st_str content;
	bool has_content;
	bool preserve_indent;
	/** Whether the text is Markdown; if not, only ST_TARGET_LINES is allowed. */
	bool markdown;
};

struct st_patch_result {
	/** The new text. */
	struct st_buf text;
	/**
	 * The lines replaced or inserted, numbered as in the new text; or the deleted
	 * lines, numbered as in the old text. last is first - 1 if there are none.
	 */
	size_t first;
	size_t last;
	/** How many lines that is: changed, inserted or deleted. */
	size_t count;
	/** How many of the old lines went, from `first` on. */
	size_t old_count;
	/** How many lines the text grew by, and how many it has now. */
	int64_t delta;
	size_t line_count;
	/** The operation performed: a replace without content is a delete. */
	enum st_patch_operation operation;
	/** The new text equals the old one, byte by byte. */
	bool noop;
	/** The lines before, a view of the old text, and after, a view of the new text. */
	struct st_str before;
	struct st_str after;
	/** Sentences for the model; may be empty. */
	struct st_buf note;
};

/**
 * Apply a patch.
 *
 * @text    The old text; it must outlive result->before.
 * @result  Zeroed by the caller; filled on success, empty on failure.
 * @return  0; STET_E_INVALID for a patch that is wrong in itself (operation and
 *          target do not go together, no content, lines reversed) or for this
 *          text (out of range, not Markdown, content that would end its code
 *          block); STET_E_NO_MATCH for a heading that is not found;
 *          STET_E_TOO_BIG as st_markdown_parse(); STET_E_NOMEM.
 */
[[nodiscard]] int st_patch_apply(const struct st_patch *patch, struct st_str text,
                                 struct st_patch_result *result, struct stet_error *err);
void st_patch_result_release(struct st_patch_result *result);

/** The name of an operation or target in a request, as in "appendToSection". */
const char *st_patch_operation_name(enum st_patch_operation operation);
const char *st_patch_target_name(enum st_patch_target target);

/**
 * Parse the name of an operation, ignoring case. STET_E_INVALID for an unknown one:
 * the message lists the choices, or names the replacement of a removed one.
 */
[[nodiscard]] int st_patch_operation_parse(struct st_str name, enum st_patch_operation *operation,
                                           struct stet_error *err);

/** Parse the name of a target, in the same way. */
[[nodiscard]] int st_patch_target_parse(struct st_str name, enum st_patch_target *target,
                                        struct stet_error *err);

/** What to use instead of a removed operation or target: a sentence, or NULL. */
const char *st_patch_removed(struct st_str name);

#endif
