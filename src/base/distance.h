/** The edit distance of words, to suggest the right word for a typo. */
#ifndef STET_BASE_DISTANCE_H
#define STET_BASE_DISTANCE_H

#include "base/str.h"

/** The most bytes of a word that are compared. */
enum { ST_DISTANCE_MAX = 255 };

/**
 * How many letters to change, add, remove or swap with a neighbour to turn one
 * word into the other. The case of ASCII letters does not matter.
 */
size_t st_distance(struct st_str a, struct st_str b);

#endif
