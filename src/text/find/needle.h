/**
 * Find bytes as memmem() does, faster in large texts, and check for cancellation
 * now and then.
 *
 *     const struct st_needle needle = st_needle_of(bytes);
 *     const char *hit = st_needle_find(&needle, text);
 *
 * The search looks at the two rarest bytes of the needle, by how common bytes are
 * in code and prose, and compares the needle only where a text has both.
 */
#ifndef STET_TEXT_FIND_NEEDLE_H
#define STET_TEXT_FIND_NEEDLE_H

#include "base/str.h"

/** Bytes to find. */
struct st_needle {
	/** Borrowed. */
	struct st_str bytes;
	/** Where its two rarest bytes are; unset in a very long one. */
	size_t first, second;
};

struct st_needle st_needle_of(struct st_str bytes);

/** The first occurrence; NULL if there is none. Empty bytes never occur. */
const char *st_needle_find(const struct st_needle *needle, struct st_str hay);

#endif
