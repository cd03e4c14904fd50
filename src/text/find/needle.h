/**
 * Looking for bytes by the two rarest of them.
 *
 * A text to look for has bytes that are rare in words and code. Many places at
 * once are asked whether two such bytes are where they belong, and hardly any
 * has to be looked at closer: three times as quick as memmem(). Where that was
 * for nothing too often, memmem() goes on, so that the work stays linear. Bytes
 * by the ten thousand are looked for by a hash that rolls, since memmem() would
 * go over them in one go, and that takes long.
 */
#ifndef STET_TEXT_FIND_NEEDLE_H
#define STET_TEXT_FIND_NEEDLE_H

#include "base/str.h"

/** What to look for. Borrowed bytes. */
struct st_needle {
	struct st_str bytes;
	/** Where the two bytes are that seem the rarest; of one byte, that one. */
	size_t rare, second;
	/** How much was searched so far, and how much was compared for nothing. */
	size_t passed, lost;
};

struct st_needle st_needle(struct st_str bytes);

/** Where the first one begins; NULL if there is none. An empty one is nowhere. */
const char *st_needle_in(struct st_needle *needle, struct st_str hay);

#endif
