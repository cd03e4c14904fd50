/** How far two words are from each other, to guess which one was meant. */
#ifndef STET_BASE_DISTANCE_H
#define STET_BASE_DISTANCE_H

#include "base/str.h"

/** No more bytes of a word are compared. */
enum { ST_DISTANCE_MAX = 255 };

/**
 * How many letters have to be changed, added, left out or swapped with their
 * neighbour to make one word of the other. Upper and lower case of ASCII are
 * the same.
 */
size_t st_distance(struct st_str a, struct st_str b);

#endif
