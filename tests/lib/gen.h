/**
 * Random texts and random edits, the same for the same seed everywhere, for
 * properties that must hold whatever the text is.
 *
 *     struct gen gen = gen_new(seed);
 *     struct gen_style style = {.max_lines = 40, .words = 5, .flags = GEN_ANY};
 *     gen_text(&gen, &style, &old);
 *     gen_edit(&gen, &style, st_buf_str(&old), 3, &new);
 *
 * Few words make lines repeat, which is where line-based algorithms go wrong;
 * many words make texts like real ones. When a property fails, gen_shrink()
 * makes the texts small and gen_show() prints them.
 */
#ifndef STET_TESTS_LIB_GEN_H
#define STET_TESTS_LIB_GEN_H

#include <stdint.h>

#include "base/buf.h"

/** A stream of random numbers. */
struct gen {
	uint64_t state;
};

struct gen gen_new(uint64_t seed);
uint64_t gen_next(struct gen *gen);
/** A number from 0 up to, not including, bound, which is not 0. */
size_t gen_below(struct gen *gen, size_t bound);
/** True once in so many times. */
bool gen_one_in(struct gen *gen, size_t times);

/** What may occur in a text; each text takes it or leaves it by chance. */
enum gen_flags {
	/** Lines that end in CRLF, all or some. */
	GEN_CRLF = 1 << 0,
	/** A lone CR, at the end of a line or within. */
	GEN_CR = 1 << 1,
	/** A byte order mark. */
	GEN_BOM = 1 << 2,
	/** Characters beyond ASCII. */
	GEN_UTF8 = 1 << 3,
	/** Bytes that are not UTF-8, and control characters; never NUL. */
	GEN_GARBAGE = 1 << 4,
	/** No newline at the end. */
	GEN_OPEN_END = 1 << 5,
	GEN_ANY = (1 << 6) - 1,
};

struct gen_style {
	size_t max_lines;
	/** How many different lines there are, at least 1. */
	size_t words;
	/** One line in so many is blank or a brace, as in source code; 0 for no such rule. */
	size_t common;
	unsigned flags;
};

/** A text of up to max_lines lines in place of what out held. */
void gen_text(struct gen *gen, const struct gen_style *style, struct st_buf *out);

/**
 * A text with some changes (lines inserted, deleted, replaced, repeated or moved; the final
 * newline taken or given) in place of what out held.
 */
void gen_edit(struct gen *gen, const struct gen_style *style, struct st_str text, size_t changes,
              struct st_buf *out);

/** Where to begin: STET_SEED from the environment, or 1. Round i should use seed + i. */
uint64_t gen_seed(void);

/** How many rounds: the first number, or the second if STET_TORTURE is set. */
size_t gen_rounds(size_t ordinary, size_t torture);

/**
 * Take lines out of the texts, half of them, then quarters and so on, as long as `fails` says
 * that what was wrong still is.
 */
void gen_shrink(struct st_buf *texts, size_t count,
                bool (*fails)(const struct st_buf *texts, void *arg), void *arg);

/** Print a text as a C string literal, a line each. */
void gen_show(const char *name, struct st_str text);

#endif
