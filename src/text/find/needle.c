#include "text/find/needle.h"

#include <limits.h>
#include <stdint.h>
#include <unistd.h>

#include "base/cancel.h"

enum {
	/* How many places one step tests. */
	STEP = 64,
	/* How many bytes to compare before comparing all of them. */
	PREFIX = 16,
	/* Choose the rarest bytes among so many at the start of the needle. */
	CHOICE = 64,
};

/* Roughly how frequent a byte is in prose and code; 0 for a rare one. */
static int frequency(char byte) {
	static const char common[] = "zjqxkbvwypgfmu_,.;()=\"/\t-9876543210cdhl\nrsnioat e";
	const char *at = byte ? strchr(common, byte) : NULL;
	return at ? (int)(at - common) + 1 : 0;
}

/* The offset of the rarest byte, other than the one at `taken`. */
static size_t rarest(struct st_str bytes, size_t taken) {
	size_t best = 0;
	int least = INT_MAX;
	for (size_t i = 0; i < bytes.len && i < CHOICE; i++) {
		int now = frequency(bytes.ptr[i]);
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

/* Sixteen bytes; the compiler turns each operation on them into one instruction. */
typedef uint8_t block __attribute__((vector_size(16)));

static block load_block(const char *at) {
	block bytes;
	memcpy(&bytes, at, sizeof bytes);
	return bytes;
}

/* Whether both rare bytes are in position for at least one of STEP places. */
static bool may_begin(const struct st_needle *needle, const char *at) {
	const struct st_str bytes = needle->bytes;
	const block zero = {0};
	const block rare = zero + (uint8_t)bytes.ptr[needle->rare];
	const block second = zero + (uint8_t)bytes.ptr[needle->second];
	block any = zero;
	for (size_t i = 0; i < STEP; i += sizeof any)
		any |= (block)(load_block(at + needle->rare + i) == rare) &
		       (block)(load_block(at + needle->second + i) == second);
	uint64_t halves[2];
	memcpy(halves, &any, sizeof any);
	return halves[0] | halves[1];
}

static bool has_same_prefix(const char *at, struct st_str bytes) {
	return memcmp(at, bytes.ptr, bytes.len < PREFIX ? bytes.len : PREFIX) == 0;
}

/* Find the needle at one of STEP places; NULL if it begins at none of them. */
static const char *find_among(struct st_needle *needle, const char *at) {
	struct st_str bytes = needle->bytes;
	needle->lost += STEP;
	for (const char *end = at + STEP; at < end; at++) {
		if (at[needle->rare] != bytes.ptr[needle->rare] ||
		    at[needle->second] != bytes.ptr[needle->second])
			continue;
		needle->lost += PREFIX;
		if (!has_same_prefix(at, bytes))
			continue;
		if (memcmp(at, bytes.ptr, bytes.len) == 0)
			return at;
		needle->lost += bytes.len;
	}
	return NULL;
}

/* Bounds the bytes compared in vain, so that a text made to defeat the guess costs no more. */
static bool is_worth_it(const struct st_needle *needle) {
	enum { FREE = 4096 };
	return needle->lost <= needle->passed / 4 + FREE;
}

/* ---- long needles: a rolling hash ---- */

/* A needle of more bytes is long. */
enum { LONG = 64 << 10 };

/* Modulo a prime and with a random base, so that no text can be made to collide on purpose. */
#define PRIME (((uint64_t)1 << 61) - 1)

static uint64_t reduce(uint64_t number) {
	return number >= PRIME ? number - PRIME : number;
}

static uint64_t multiply(uint64_t a, uint64_t b) {
	unsigned __int128 product = (unsigned __int128)a * b;
	return reduce(((uint64_t)product & PRIME) + (uint64_t)(product >> 61));
}

/* A hash of as many bytes as the needle has, updated as this window moves along. */
struct roll {
	uint64_t base;
	/* What to add to the hash when a byte leaves the window. */
	uint64_t leaving[UCHAR_MAX + 1];
};

static void roll_init(struct roll *roll, size_t len) {
	uint64_t random, power = 1;
	if (getentropy(&random, sizeof random) < 0)
		random = (uintptr_t)roll;
	roll->base = UCHAR_MAX + 1 + random % (PRIME - UCHAR_MAX - 1);
	for (uint64_t factor = roll->base; len > 0; len >>= 1, factor = multiply(factor, factor))
		power = len & 1 ? multiply(power, factor) : power;
	for (uint64_t byte = 0; byte <= UCHAR_MAX; byte++)
		roll->leaving[byte] = PRIME - multiply(byte, power);
}

static uint64_t roll_in(const struct roll *roll, uint64_t hash, char byte) {
	return reduce(multiply(hash, roll->base) + (unsigned char)byte);
}

static uint64_t hash_bytes(const struct roll *roll, struct st_str bytes) {
	uint64_t hash = 0;
	for (size_t i = 0; i < bytes.len; i++) {
		hash = roll_in(roll, hash, bytes.ptr[i]);
		if (i % LONG == 0)
			st_cancel_progress(LONG);
	}
	return hash;
}

static const char *find_long(struct st_str bytes, struct st_str hay) {
	struct roll roll;
	roll_init(&roll, bytes.len);
	uint64_t wanted = hash_bytes(&roll, bytes);
	uint64_t hash = hash_bytes(&roll, st_str_slice(hay, 0, bytes.len));
	for (size_t at = 0;; at++) {
		if (hash == wanted && memcmp(hay.ptr + at, bytes.ptr, bytes.len) == 0)
			return hay.ptr + at;
		if (at + bytes.len == hay.len)
			return NULL;
		hash = roll_in(&roll, hash, hay.ptr[at + bytes.len]);
		hash = reduce(hash + roll.leaving[(unsigned char)hay.ptr[at]]);
		if (at % LONG == 0)
			st_cancel_progress(LONG);
	}
}

/* memmem() that checks for cancellation now and then. */
static const char *find_plain(struct st_str bytes, struct st_str hay) {
	if (bytes.len > LONG)
		return find_long(bytes, hay);
	for (size_t at = 0; hay.len - at >= bytes.len; at += ST_CANCEL_STEP) {
		struct st_str piece = st_str_slice(hay, at, hay.len);
		if (piece.len > ST_CANCEL_STEP + bytes.len - 1)
			piece.len = ST_CANCEL_STEP + bytes.len - 1;
		const char *found = memmem(piece.ptr, piece.len, bytes.ptr, bytes.len);
		if (found)
			return found;
		st_cancel_progress(piece.len);
		if (hay.len - at <= ST_CANCEL_STEP)
			return NULL;
	}
	return NULL;
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
		found = left < bytes.len ? NULL : find_plain(bytes, st_strn(at, left));
	needle->passed += found ? (size_t)(found - at) : left;
	return found;
}
