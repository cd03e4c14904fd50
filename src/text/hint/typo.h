/**
 * A short text found in spite of a few wrong letters: the stretch of a text
 * that the fewest insertions, deletions, replacements and swaps of neighbours
 * make of it.
 */
#ifndef STET_TEXT_HINT_TYPO_H
#define STET_TEXT_HINT_TYPO_H

#include "text/lines/lines.h"

/** Longer texts are compared by what they share (text/hint/similar.h). */
enum { ST_TYPO_MAX = 64 };

/**
 * Find the first of the nearest stretches.
 *
 * @needle  4 to ST_TYPO_MAX bytes; of fewer nothing is near. One wrong letter
 *          is allowed from 4 bytes on, two from 8, three from 20.
 * @hay     What is looked at is bounded: some millions of bytes.
 * @span    Receives it.
 * @return  Whether there is one.
 */
bool st_typo_find(struct st_str hay, struct st_str needle, struct st_span *span);

#endif
