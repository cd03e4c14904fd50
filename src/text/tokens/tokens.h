/**
 * Estimate how many tokens a text has for a language model.
 *
 * The text is cut into pieces as OpenAI's o200k cuts it: a word with the sign
 * before it, three digits, a run of signs, white space. A piece that is one of the
 * more frequent tokens counts as one; a filter of some 55,000 of them, made by
 * tests/npm/token-filter.mjs, knows these. Any other piece counts as the longest
 * tokens that it consists of, and a little more. The estimate errs on the high
 * side, since callers keep budgets with it: for texts of 20 tokens and more it is
 * below o200k's count in at most one of a hundred, by more than 3 % in at most one
 * of a thousand, and some 13 % above on average.
 *
 *     if (st_tokens(text) > budget)
 *             cut(&text);
 */
#ifndef STET_TEXT_TOKENS_TOKENS_H
#define STET_TEXT_TOKENS_TOKENS_H

#include <stdint.h>

#include "base/str.h"

/** The estimated number of tokens. An invalid byte counts as U+FFFD. */
size_t st_tokens(struct st_str text);

/**
 * The length in bytes of the longest prefix that has at most `limit` tokens by
 * st_tokens(). It ends between two characters.
 */
size_t st_tokens_prefix(struct st_str text, size_t limit);

/** The same for the longest suffix. */
size_t st_tokens_suffix(struct st_str text, size_t limit);

#endif
