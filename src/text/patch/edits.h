/**
 * Apply a list of search-and-replace edits to one text, all or nothing. This is
 * the engine of edit_file.
 *
 * Each edit applies to the result of the one before. Its old text must occur
 * exactly once, unless the edit asks for all: an ambiguous edit fails with the
 * line numbers, and stet never guesses. A single place that differs only by the
 * same indentation of all lines matches too (text/patch/shifted.h). text/find/find.h
 * defines what matches; text/patch/replace.h defines what happens to line endings
 * and to a byte order mark.
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

/** The result of one edit. */
struct st_edited {
	/** How many matches were replaced; 0 for a noop. */
	size_t replaced;
	/** Old and new text are the same, so nothing changed. */
	bool noop;
	/** The lines from the first replacement to the last, in the text after all edits. */
	size_t first;
	size_t last;
	/** The same as bytes. */
	struct st_span span;
	/** How the indentation of the match differed from the old text; count 0 if it did not. */
	struct st_shift shift;
};

/** Why an edit failed, as data. */
struct st_edits_failure {
	/** Which edit, from 1. */
	size_t edit;
	/** After STET_E_AMBIGUOUS: where its old text occurs, in the text after the earlier edits. */
	struct st_places places;
	/** After STET_E_NO_MATCH: the nearest text. */
	struct st_nearest nearest;
};

/**
 * Apply edits.
 *
 * @count    How many edits; with 0 the text stays as it is.
 * @max      The most bytes the text may have after any edit; 0 for ST_REPLACE_MAX.
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
