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

/* The rarest byte but the one at `taken`. */
static size_t rarest(struct st_str bytes, size_t taken) {
	size_t best = 0;
	int least = INT_MAX;
	for (size_t i = 0; i < bytes.len && i < CHOICE; i++) {
		int now = rank(bytes.ptr[i]);
		if (i != taken && now < least) {
			least = now;
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

/* The first of STEP places where it is; NULL if there is none. */
static const char *find_among(struct st_needle *needle, const char *at) {
	struct st_str bytes = needle->bytes;
	needle->lost += STEP;
	for (const char *end = at + STEP; at < end; at++) {
		if (at[needle->rare] != bytes.ptr[needle->rare] ||
		    at[needle->second] != bytes.ptr[needle->second])
			continue;
		needle->lost += GLANCE;
		if (!begins_alike(at, bytes))
			continue;
		if (memcmp(at, bytes.ptr, bytes.len) == 0)
			return at;
		needle->lost += bytes.len;
	}
	return NULL;
}

/* A text that is made to be guessed wrong costs no more than others, however often it is asked. */
static bool is_worth_it(const struct st_needle *needle) {
	enum { FREE = 4096 };
	return needle->lost <= needle->passed / 4 + FREE;
}

const char *st_needle_in(struct st_needle *needle, struct st_str hay) {
	struct st_str bytes = needle->bytes;
	const char *at = hay.ptr, *found = NULL;
	size_t left = hay.len;
	if (bytes.len == 0 || hay.len < bytes.len)
		return NULL;
	for (; left >= bytes.len + STEP && is_worth_it(needle); at += STEP, left -= STEP) {
		found = may_begin(needle, at) ? find_among(needle, at) : NULL;
		if (found)
			break;
		needle->passed += STEP;
	}
	if (!found)
		found = memmem(at, left, bytes.ptr, bytes.len);
	needle->passed += found ? (size_t)(found - at) : left;
	return found;
}
