/**
 * Search and replace on one text. This is the engine of text_replace.
 *
 * The old text must occur as text/find/find.h defines it: any line ending matches
 * any other, everything else byte by byte. A single place that differs only by the
 * same indentation of all lines matches too, and the new text is shifted alike
 * (text/patch/shifted.h). stet never guesses: if the old text is not found, the
 * error names the nearest text and how it differs (text/hint/explain.h). Bytes
 * outside the replaced spans stay as they are, and `$`, `\` and the like have no
 * special meaning.
 *
 * Line endings of the new text (LF or CRLF, but no lone CR) are converted: to that
 * of the replaced span if it has only one kind, else to the most frequent one of
 * the text. They stay as given in two cases: if old and new text differ in nothing
 * but line endings, so that a caller can convert them, and if the text has no line
 * ending at all. A byte order mark at the start of the text stays and is never
 * doubled.
 *
 *     struct st_replace request = {.old_text = ST_STR("a"), .new_text = ST_STR("b")};
 *     st_auto(st_replaced) done = {0};
 *
 *     if (st_replace_apply(text, &request, &done, err) < 0)
 *             return err->code;
 *     if (!done.noop)
 *             save(st_buf_str(&done.text));
 */
#ifndef STET_TEXT_PATCH_REPLACE_H
#define STET_TEXT_PATCH_REPLACE_H

#include "text/hint/context.h"
#include "text/find/find.h"
#include "text/hint/nearest.h"
#include "text/patch/shifted.h"

/** Which of several matches to replace. */
enum st_which {
	ST_FIRST,
	ST_LAST,
	ST_ALL,
	ST_NTH,
};

struct st_occurrence {
	enum st_which which;
	/** For ST_NTH: which one, from 1. */
	size_t number;
};

/**
 * Parse "first", "last", "all" or a number from 1, ignoring case.
 *
 * @return 0, or STET_E_INVALID with the choices in the message. Any number is
 *         valid here, however large.
 */
[[nodiscard]] int st_occurrence_parse(struct st_occurrence *occurrence, struct st_str word,
                                      struct stet_error *err);

/** What to replace. The views are borrowed for the call. */
struct st_replace {
	struct st_str old_text;
	struct st_str new_text;
	struct st_occurrence occurrence;
	/** The most bytes the result may have; 0 for ST_REPLACE_MAX. */
	size_t max_size;
};

/** Larger than any text the tools accept, but too small to exhaust memory. */
#define ST_REPLACE_MAX ((size_t)1 << 30)

/** The result. Zero it first; release it afterwards, also after a failure. */
struct st_replaced {
	/** The new text. */
	struct st_buf text;
	/** The new text equals the old one. */
	bool noop;
	/** How many matches were replaced; 0 for a noop. */
	size_t replaced;
	/** All matches, by lines of the old text; set after STET_E_INVALID too. */
	struct st_places found;
	/** In the new text: the lines from the first to the last replacement, and the number of lines. */
	struct st_touched touched;
	/** The matches not replaced, by lines of the new text. */
	struct st_places others;
	/** The first match, and its replacement. */
	struct st_buf before;
	struct st_buf after;
	/** The lines around the replacements, in the new text. */
	struct st_context context;
	/** How the indentation of the match differed from the old text; count 0 if it did not. */
	struct st_shift shift;
	/** After STET_E_NO_MATCH: the nearest text. */
	struct st_nearest nearest;
};

void st_replaced_release(struct st_replaced *done);

/**
 * Replace one match, or all.
 *
 * @done   Receives the result; on failure its text stays empty.
 * @return 0, or STET_E_INVALID (the old text is empty, or the occurrence is
 *         out of range), STET_E_NO_MATCH, STET_E_TOO_BIG
 *         (the result), STET_E_NOMEM.
 */
[[nodiscard]] int st_replace_apply(struct st_str text, const struct st_replace *request,
                                   struct st_replaced *done, struct stet_error *err);

#endif
