/**
 * Fold differences away, to find out how two texts differ.
 *
 * Each kind of difference that people and models overlook (case, indentation,
 * curly quotes, escapes ...) is one bit. Two texts that differ only in some kinds
 * become equal when both are folded with those kinds. To find the text that a
 * model meant, fold all kinds and search. To learn whether it differs in one
 * kind, fold all kinds but that one and compare.
 *
 *     st_auto(st_fold) fold = {0};
 *
 *     if (st_fold_init(&fold, text, ST_FOLD_ALL, err) < 0)
 *             return err->code;
 *     const char *hit = memmem(fold.out.ptr, fold.out.len, ...);
 *     size_t start = st_fold_source(&fold, (size_t)(hit - fold.out.ptr)).start;
 */
#ifndef STET_TEXT_HINT_FOLD_H
#define STET_TEXT_HINT_FOLD_H

#include <stdint.h>

#include "text/lines/lines.h"

/** The kinds of difference: constant, bit, and the words for a message. */
#define ST_FOLDS(X) \
	X(CASE, 0, "upper and lower case") \
	X(INDENT, 1, "indentation") \
	X(TRAILING, 2, "blanks at the end of a line") \
	X(BLANKS, 3, "blanks inside a line") \
	X(BLANK_LINES, 4, "blank lines") \
	X(BREAKS, 5, "line breaks") \
	X(EOLS, 6, "the kind of line endings") \
	X(QUOTES, 7, "quotation marks") \
	X(DASHES, 8, "dashes") \
	X(ELLIPSES, 9, "ellipses") \
	X(SPACES, 10, "special spaces") \
	X(INVISIBLE, 11, "invisible characters") \
	X(FORMS, 12, "accents or other forms of a character") \
	X(ESCAPES, 13, "backslash escapes") \
	X(ENTITIES, 14, "HTML entities")

enum st_folds {
#define X(name, bit, text) ST_FOLD_##name = 1 << bit,
	ST_FOLDS(X)
#undef X
		ST_FOLD_ALL = (1 << 15) - 1,
};

/** An offset in the folded text, and the offset in the original that it comes from. */
struct st_fold_anchor {
	size_t folded;
	size_t source;
};

/** A folded text. It borrows the original. */
struct st_fold {
	struct st_str text;
	unsigned kinds;
	/** The result. It is valid UTF-8 where the original is. */
	struct st_buf out;

	/** How many bytes of the original were read, and how many folded bytes precede `out`. */
	size_t at;
	size_t base;
	/** While in_run: where the blanks and newlines at the end of `out` begin. */
	size_t run;
	bool in_run;
	/** The folded form of each byte; 0 if it depends on more than the byte. */
	unsigned char plain[256];
	struct st_fold_anchor *anchors;
	size_t anchor_count;
};

/**
 * Fold a text.
 *
 * @kinds  ST_FOLD_* bits. CRLF always becomes LF.
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_fold_init(struct st_fold *fold, struct st_str text, unsigned kinds,
                               struct stet_error *err);
void st_fold_release(struct st_fold *fold);

/** Find the bytes of the original that a byte of the folded text comes from. */
struct st_span st_fold_source(const struct st_fold *fold, size_t folded);

/** Whether a character belongs to one of the kinds QUOTES, DASHES and SPACES. */
bool st_fold_is_quote(uint32_t point);
bool st_fold_is_dash(uint32_t point);
bool st_fold_is_space(uint32_t point);

#endif
