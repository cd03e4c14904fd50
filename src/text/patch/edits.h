/**
 * A list of search-and-replace edits on one text, all or nothing: the engine
 * of edit_file.
 *
 * The edits are applied in order, each to the result of the one before. An
 * edit's old text must be there, and there only once unless it asks for all:
 * an ambiguous edit is refused with the lines, never resolved by guess. One
 * place that differs in nothing but the indentation of all lines is a match
 * too (text/patch/shifted.h). What
 * counts as a match, and what happens to line ends and to a byte order mark,
 * is told in text/find/find.h and text/patch/replace.h.
 *
 *     const struct st_edit edits[] = {
 *             {.old_text = ST_STR("one"), .new_text = ST_STR("two")},
 *             {.old_text = ST_STR("red"), .new_text = ST_STR("blue"), .all = true},
 *     };
 *     struct st_edited results[2];
 *     st_auto(st_buf) out = ST_BUF_INIT;
 *
 *     if (st_edits_apply(text, edits, 2, 0, results, &out, NULL, err) < 0)
 *             return err->code;
 */
#ifndef STET_TEXT_PATCH_EDITS_H
#define STET_TEXT_PATCH_EDITS_H

#include "text/find/find.h"
#include "text/hint/nearest.h"
#include "text/patch/shifted.h"

/** One edit. The views are borrowed for the call. */
struct st_edit {
	struct st_str old_text;
	struct st_str new_text;
	/** Replace every match instead of insisting on one. */
	bool all;
};

/** What came of one edit. */
struct st_edited {
	/** How many matches were replaced; 0 for a noop. */
	size_t replaced;
	/** True if it changed nothing, old and new text being the same. */
	bool noop;
	/** The lines, from the first place to the last, in the text after all edits. */
	size_t first;
	size_t last;
	/** The same as bytes. */
	struct st_span span;
	/** How the match was indented otherwise than the old text; count 0 if it was not. */
	struct st_shift shift;
};

/** What stood in the way, for an answer that is more than a message. */
struct st_edits_failure {
	/** Which edit, from 1. */
	size_t edit;
	/** After STET_E_AMBIGUOUS: where its old text is, in the text it was applied to. */
	struct st_places places;
	/** After STET_E_NO_MATCH: what comes near. */
	struct st_nearest nearest;
};

/**
 * Apply edits.
 *
 * @count    How many; with none the text stays as it is.
 * @max      The most bytes the text may have after any of them; 0 for ST_REPLACE_MAX.
 * @results  Receives count results; untouched on failure.
 * @out      Receives the new text; untouched on failure.
 * @failure  Receives details if an edit fails; may be NULL.
 * @return   0, or STET_E_INVALID (an empty old text), STET_E_NO_MATCH,
 *           STET_E_AMBIGUOUS, STET_E_TOO_BIG, STET_E_NOMEM.
 */
[[nodiscard]] int st_edits_apply(struct st_str text, const struct st_edit *edits, size_t count,
                                 size_t max, struct st_edited *results, struct st_buf *out,
                                 struct st_edits_failure *failure, struct stet_error *err);

#endif
