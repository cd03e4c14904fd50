#include "text/hint/similar.h"

#include <stdint.h>

#include "base/cancel.h"

#define GRAM 4
#define STEP ((size_t)1 << 14)
#define SLOTS 65536

/* How often each sequence occurs in the needle, and how often in the window. */
struct counts {
	uint32_t wanted[SLOTS];
	uint32_t seen[SLOTS];
	size_t shared;
};

static uint32_t *slot(uint32_t *table, const char *at) {
	uint32_t gram;
	memcpy(&gram, at, GRAM);
	return &table[gram * 2654435761u >> 16];
}

static void add_gram(struct counts *counts, const char *at) {
	uint32_t *seen = slot(counts->seen, at);
	counts->shared += *seen < *slot(counts->wanted, at);
	++*seen;
}

static void remove_gram(struct counts *counts, const char *at) {
	uint32_t *seen = slot(counts->seen, at);
	--*seen;
	counts->shared -= *seen < *slot(counts->wanted, at);
}

int st_similar_find(struct st_similar *similar, struct st_str hay, struct st_str needle,
                    struct stet_error *err) {
	*similar = (struct st_similar){0};
	if (needle.len < ST_SIMILAR_MIN || hay.len < GRAM)
		return 0;
	st_autofree struct counts *counts = calloc(1, sizeof *counts);
	if (!counts)
		return st_fail_nomem(err);

	size_t grams = needle.len - GRAM + 1, best = 0;
	for (size_t i = 0; i < grams; i++)
		++*slot(counts->wanted, needle.ptr + i);
	for (size_t i = 0; i + GRAM <= hay.len; i++) {
		/* A step costs about as much as reading eight bytes. */
		if (i % STEP == 0 && st_cancel_check(8 * STEP, err) < 0)
			return STET_E_CANCELLED;
		add_gram(counts, hay.ptr + i);
		if (i >= grams)
			remove_gram(counts, hay.ptr + i - grams);
		if (counts->shared > best) {
			best = counts->shared;
			similar->span.end = i + GRAM;
		}
	}
	size_t len = similar->span.end < needle.len ? similar->span.end : needle.len;
	similar->span.start = similar->span.end - len;
	similar->percent = (unsigned)(best * 100 / grams);
	return 0;
}
