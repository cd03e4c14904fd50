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
#include "text/lines/lines.h"

/** One edit. The views are borrowed for the call. */
struct st_edit {
	struct st_str old_text;
	struct st_str new_text;
	/** Replace every match instead of insisting on one. */
	bool all;
	/** The caller has no way to ask for all: an ambiguous edit does not advise it. */
	bool only_one;
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
	/** The number of the edit, from 1. */
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

/*
 * Replace spans of a text by one new text.
 *
 * The caller names the spans from left to right. A splice copies the bytes
 * between them unchanged, converts the new text to the line endings of each
 * place (text/patch/replace.h has the rules), and records where it went.
 *
 *     st_auto(st_splice) splice = {0};
 *     st_splice_init(&splice, text, old_text, new_text, max);
 *     while (st_find_next(&find, &span))
 *             st_splice_put(&splice, span);
 *     if (st_splice_end(&splice, err) < 0)
 *             return err->code;
 *     use(st_buf_str(&splice.out), splice.region);
 */

/** An offset into the text that moves as text before it grows or shrinks. */
struct st_mark {
	size_t *place;
	/** When the span around the mark is replaced: move to the new text's end, not its start. */
	bool at_end;
};

struct st_splice {
	struct st_str text;
	struct st_str new_text;
	/** The new text equals the old one: spans stay as they are, whatever their line endings. */
	bool same;
	/** Insert the new text without converting line endings. */
	bool verbatim;
	/** The most frequent line ending, computed on first use; ST_EOL_NONE if the text has none. */
	enum st_eol text_eol;
	bool text_eol_known;
	/** The new text by line ending, converted on first use. */
	struct st_buf by_eol[ST_EOL_CR + 1];

	struct st_buf out;
	/** The most bytes `out` may hold, and whether the result would be larger. */
	size_t max;
	bool too_big;
	/** How many bytes of the text have been copied or replaced so far. */
	size_t copied;
	/** How many spans were replaced, and whether any replacement changed a byte. */
	size_t count;
	bool changed;
	/** The first span, and the span in `out` that replaced it. */
	struct st_span old_first;
	struct st_span new_first;
	/** In `out`: from the start of the first replacement to the end of the last. */
	struct st_span region;

	/** The marks to move, in ascending order. */
	struct st_mark *marks;
	size_t mark_count;
	size_t mark_next;
};

/**
 * Start a splice. Borrows the three texts. Comparing old_text with new_text tells
 * whether anything changes, and whether anything but line endings does.
 */
void st_splice_init(struct st_splice *splice, struct st_str text, struct st_str old_text,
                    struct st_str new_text, size_t max);
void st_splice_release(struct st_splice *splice);

/** Replace a span. It must not start before the end of the previous one. */
void st_splice_put(struct st_splice *splice, struct st_span span);

/**
 * Copy the rest of the text.
 *
 * @return 0, or STET_E_TOO_BIG, STET_E_NOMEM.
 */
[[nodiscard]] int st_splice_end(struct st_splice *splice, struct stet_error *err);

#endif
