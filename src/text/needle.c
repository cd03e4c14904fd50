#include "text/needle.h"

#include <limits.h>
#include <stdint.h>

/*
 * So many places are looked at in one step, so many bytes tell whether two
 * texts begin alike, and among so many the rarest are chosen.
 */
enum { STEP = 64, GLANCE = 16, CHOICE = 64 };

/* How often a byte is met in text and code, roughly: 0 for those that are rare. */
static int rank(char byte) {
	static const char common[] = "zjqxkbvwypgfmu_,.;()=\"/\t-9876543210cdhl\nrsnioat e";
	const char *at = byte ? strchr(common, byte) : NULL;
	return at ? (int)(at - common) + 1 : 0;
}

/* The rarest byte but the one at `not`. */
static size_t rarest(struct st_str bytes, size_t not ) {
	size_t best = 0;
	int least = INT_MAX;
	for (size_t i = 0; i < bytes.len && i < CHOICE; i++) {
		if (i != not &&rank(bytes.ptr[i]) < least) {
			least = rank(bytes.ptr[i]);
			best = i;
		}
	}
	return best;
}

struct st_needle st_needle(struct st_str bytes) {
	struct st_needle needle = {.bytes = bytes};
	needle.rare = rarest(bytes, SIZE_MAX);
	needle.second = rarest(bytes, needle.rare);
	return needle;
}

/* Sixteen bytes; the compiler makes one instruction of what is done to them. */
typedef uint8_t block __attribute__((vector_size(16)));

static block load(const char *at) {
	block bytes;
	memcpy(&bytes, at, sizeof bytes);
	return bytes;
}

/* Whether both bytes may be where they belong, for any of STEP places. */
static bool may_begin(const struct st_needle *needle, const char *at) {
	const struct st_str bytes = needle->bytes;
	const block zero = {0};
	const block rare = zero + (uint8_t)bytes.ptr[needle->rare];
	const block second = zero + (uint8_t)bytes.ptr[needle->second];
	block any = zero;
	for (size_t i = 0; i < STEP; i += sizeof any)
		any |= (block)(load(at + needle->rare + i) == rare) &
		       (block)(load(at + needle->second + i) == second);
	uint64_t halves[2];
	memcpy(halves, &any, sizeof any);
	return halves[0] | halves[1];
}

static bool begins_alike(const char *at, struct st_str bytes) {
	return memcmp(at, bytes.ptr, bytes.len < GLANCE ? bytes.len : GLANCE) == 0;
}

/* The first of STEP places where it is; NULL if there is none. What that took goes off `left`. */
static const char *find_among(const struct st_needle *needle, const char *at, size_t *left) {
	struct st_str bytes = needle->bytes;
	size_t cost = STEP;
	const char *end = at + STEP;
	for (; at < end; at++) {
		if (at[needle->rare] != bytes.ptr[needle->rare] ||
		    at[needle->second] != bytes.ptr[needle->second])
			continue;
		cost += GLANCE;
		if (!begins_alike(at, bytes))
			continue;
		if (memcmp(at, bytes.ptr, bytes.len) == 0)
			return at;
		cost += bytes.len;
	}
	*left -= cost < *left ? cost : *left;
	return NULL;
}

const char *st_needle_in(const struct st_needle *needle, struct st_str hay) {
	struct st_str bytes = needle->bytes;
	if (bytes.len == 0 || hay.len < bytes.len)
		return NULL;
	const char *at = hay.ptr, *end = hay.ptr + hay.len;
	/* What may be lost on wrong guesses, so that a text that is made for it gains nothing. */
	size_t left = hay.len / 4 + bytes.len;
	for (; left > 0 && (size_t)(end - at) >= bytes.len + STEP; at += STEP) {
		const char *found = may_begin(needle, at) ? find_among(needle, at, &left) : NULL;
		if (found)
			return found;
	}
	return memmem(at, (size_t)(end - at), bytes.ptr, bytes.len);
}
