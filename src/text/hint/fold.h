/**
 * Text with differences folded away, to find out in what two texts differ.
 *
 * Each kind of difference that people and models overlook (case, indentation,
 * curly quotes, escapes ...) is one bit. Folding a text with a set of kinds
 * makes texts equal that differ only in those. Fold everything, search, and
 * what is found was meant; fold everything but one kind, compare, and it is
 * known whether that kind was the difference.
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

/** The kinds: constant, bit, and the words for a message. */
#define ST_FOLDS(X) \
	X(CASE, 0, "upper and lower case") \
	X(INDENT, 1, "indentation") \
	X(TRAILING, 2, "blanks at the end of a line") \
	X(BLANKS, 3, "blanks inside a line") \
	X(BLANK_LINES, 4, "blank lines") \
	X(BREAKS, 5, "line breaks") \
	X(EOLS, 6, "the kind of line ends") \
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

/** A place where the folded and the original text are at the same point. */
struct st_fold_anchor {
	size_t folded;
	size_t source;
};

/** A folded text. The original is borrowed. */
struct st_fold {
	struct st_str text;
	unsigned kinds;
	/** The result. It is valid UTF-8 where the original is. */
	struct st_buf out;

	/** How far the original has been read, and how many folded bytes came before out. */
	size_t at;
	size_t base;
	/** Blanks and line ends at the end of out begin here, while in_run. */
	size_t run;
	bool in_run;
	/** What a byte becomes; 0 if that needs thought. */
	unsigned char plain[256];
	struct st_fold_anchor *anchors;
	size_t anchor_count;
};

/**
 * Fold a text.
 *
 * @kinds  ST_FOLD_* bits. CRLF counts as LF whatever they are.
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_fold_init(struct st_fold *fold, struct st_str text, unsigned kinds,
                               struct stet_error *err);
void st_fold_release(struct st_fold *fold);

/** The bytes of the original that a byte of the folded text comes from. */
struct st_span st_fold_source(const struct st_fold *fold, size_t folded);

/** Members of the kinds that are about single characters. */
bool st_fold_is_quote(uint32_t point);
bool st_fold_is_dash(uint32_t point);
bool st_fold_is_space(uint32_t point);

#endif
