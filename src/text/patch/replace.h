/**
 * Search and replace on one text: the engine of text_replace and edit_file.
 *
 * The old text must be there, as text/find/find.h understands it: line ends match
 * whatever their kind, everything else byte by byte. One place that differs in
 * nothing but the indentation of all lines is a match too, and the new text is
 * shifted alike (text/patch/shifted.h). Nothing is ever changed by guess: where the old text is not found, the error says what comes
 * nearest and how it differs (text/hint/explain.h). Bytes outside the replaced
 * spans stay as they are, and `$`, `\` and the like mean nothing special.
 *
 * Line ends of the new text (LF or CRLF, not a CR alone) become those of the
 * place where it goes: of the replaced span if all line ends in it are of one
 * kind, else of the text (the kind most lines have). Two cases stay as they
 * were asked: where old and new text differ in nothing but line ends, which
 * is how line ends are converted; and where the text has no line end at all.
 * A byte order mark at the start of the text stays, and is never doubled.
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

/** Which of several matches; zero is the first one. */
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
 * Read "first", "last", "all" or a number from 1, in any case.
 *
 * @return 0, or STET_E_INVALID with the choices in the message. A number too
 *         large for any text is read all the same: the text decides.
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

/** Enough for any text the tools accept, not enough to fill the memory. */
#define ST_REPLACE_MAX ((size_t)1 << 30)

/** What came of it. Zero it first; release it afterwards, also after a failure. */
struct st_replaced {
	/** The new text. */
	struct st_buf text;
	/** True if it is the old one: nothing was replaced by anything else. */
	bool noop;
	/** How many matches were replaced; 0 for a noop. */
	size_t replaced;
	/** All matches in the old text, in its numbering; set after STET_E_INVALID too. */
	struct st_places found;
	/** Lines from the first to the last place replaced, and the number of lines, in the new text. */
	struct st_touched touched;
	/** The matches left alone, in the new text's numbering. */
	struct st_places others;
	/** The first replaced text, and what it became. */
	struct st_buf before;
	struct st_buf after;
	/** The lines around, in the new text. */
	struct st_context context;
	/** How the match was indented otherwise than the old text; count 0 if it was not. */
	struct st_shift shift;
	/** After STET_E_NO_MATCH: what comes near. */
	struct st_nearest nearest;
};

void st_replaced_release(struct st_replaced *done);

/**
 * Replace one match, or all.
 *
 * @done   Receives the result; on failure its text stays empty.
 * @return 0, or STET_E_INVALID (the old text is empty, or there are fewer
 *         matches than the number asked for), STET_E_NO_MATCH, STET_E_TOO_BIG
 *         (the result), STET_E_NOMEM.
 */
[[nodiscard]] int st_replace_apply(struct st_str text, const struct st_replace *request,
                                   struct st_replaced *done, struct stet_error *err);

#endif
