/**
 * How many tokens a text has for a language model, estimated.
 *
 * The text is cut as OpenAI's o200k does: a word with the one sign before it,
 * three digits, a run of signs, white space. A word or run that is one of its
 * more frequent tokens, by a filter of some 55,000 of them (written by
 * tests/npm/token-filter.mjs), is one token; another is as many as the longest
 * tokens it is made of, and a little more. The result errs on the high side,
 * since budgets are kept with it: of texts of 20 tokens and more it is below
 * o200k's count in at most one of a hundred, never by more than 3 %, and some
 * 13 % above on average.
 *
 *     if (st_tokens(text) > budget)
 *             cut(&text);
 */
#ifndef STET_TEXT_TOKENS_TOKENS_H
#define STET_TEXT_TOKENS_TOKENS_H

#include <stdint.h>

#include "base/str.h"

/** The estimated number of tokens. Bytes that are not UTF-8 count as what replaces them. */
size_t st_tokens(struct st_str text);

/**
 * The same for another model: percent says how many tokens it makes of a text
 * that has 100 by o200k's count (Claude's: about 120).
 */
size_t st_tokens_scaled(struct st_str text, unsigned percent);

/**
 * The longest beginning of a text that has at most limit tokens by st_tokens(),
 * as a number of bytes. It ends at a character's boundary.
 */
size_t st_tokens_prefix(struct st_str text, size_t limit);

/** The same for the longest end of a text. */
size_t st_tokens_suffix(struct st_str text, size_t limit);

#endif
