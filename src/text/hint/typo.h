/**
 * Find a short text in spite of typos: the passage that the fewest insertions,
 * deletions, replacements and swaps of neighbouring letters turn into it.
 */
#ifndef STET_TEXT_HINT_TYPO_H
#define STET_TEXT_HINT_TYPO_H

#include "text/lines/lines.h"

/** The longest needle; text/hint/similar.h handles longer ones. */
enum { ST_TYPO_MAX = 64 };

/**
 * Find the first of the passages with the fewest typos.
 *
 * @hay     Only the first millions of bytes are searched.
 * @needle  4 to ST_TYPO_MAX bytes, otherwise nothing is found. One typo is
 *          allowed from 4 bytes on, two from 8, three from 20.
 * @span    Receives the passage.
 * @return  Whether there is one.
 */
bool st_typo_find(struct st_str hay, struct st_str needle, struct st_span *span);

#endif
