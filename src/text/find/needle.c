#include "text/find/needle.h"

#include <limits.h>
#include <unistd.h>

#include "base/cancel.h"

/*
 * A needle of more bytes is found by a rolling hash: memmem() would run too long
 * between two checks for cancellation.
 */
enum { LONG = 64 << 10 };

/* ---- long needles: a rolling hash ---- */

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

/* ---- short needles: two bytes at 64 places at once ---- */

typedef char block __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

enum { BLOCKS = 4, PLACES = BLOCKS * sizeof(block) };

/* The bytes of code and prose, the most common first; all others are rarer. */
static const char common_bytes[] =
	" etsrnaoi_c\nld\tu,h()\"fp;m*.wg=-byTv/k0xESC{}ANILOR&\\':P[]zq1UD>M+|j`<FHB#2G!WVKXYQJZ";

/* Two bytes of a needle, each as often as a block has bytes. */
struct probe {
	size_t first, second;
	block first_bytes, second_bytes;
};

static size_t rareness(char byte) {
	const char *at = byte ? strchr(common_bytes, byte) : NULL;
	return at ? (size_t)(at - common_bytes) : sizeof common_bytes;
}

/* The place of the rarest byte, other than one place. */
static size_t rarest_place(struct st_str bytes, size_t other) {
	size_t best = other == 0 && bytes.len > 1;
	for (size_t i = best + 1; i < bytes.len; i++) {
		if (i != other && rareness(bytes.ptr[i]) > rareness(bytes.ptr[best]))
			best = i;
	}
	return best;
}

static struct probe make_probe(const struct st_needle *needle) {
	const char *bytes = needle->bytes.ptr;
	return (struct probe){needle->first, needle->second, (block){0} + bytes[needle->first],
	                      (block){0} + bytes[needle->second]};
}

/* Which of 16 places have both bytes: all bits of the byte of each. */
static halves find_both(const char *at, const struct probe *probe) {
	block first, second;
	memcpy(&first, at + probe->first, sizeof first);
	memcpy(&second, at + probe->second, sizeof second);
	return (halves)((first == probe->first_bytes) & (second == probe->second_bytes));
}

/* Whether any of 64 places has both. */
static bool has_both(const char *at, const struct probe *probe) {
	halves all = {0};
	for (size_t i = 0; i < BLOCKS; i++)
		all |= find_both(at + i * sizeof(block), probe);
	return (all[0] | all[1]) != 0;
}

/* Eight bytes of memory as a number that begins with the first of them. */
static uint64_t in_order(uint64_t bytes) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(bytes);
#else
	return bytes;
#endif
}

/* The needle at one of 16 places; *wasted grows by what is compared in vain. */
static const char *find_in_block(struct st_str bytes, const char *at, const struct probe *probe,
                                 size_t *wasted) {
	halves both = find_both(at, probe);
	for (int i = 0; i < 2; i++, at += sizeof(uint64_t)) {
		for (uint64_t half = in_order(both[i]); half;) {
			int shift = __builtin_ctzll(half);
			if (memcmp(at + shift / 8, bytes.ptr, bytes.len) == 0)
				return at + shift / 8;
			half &= ~((uint64_t)0xff << shift);
			*wasted += bytes.len;
		}
	}
	return NULL;
}

static const char *find_in_blocks(struct st_str bytes, const char *at, const struct probe *probe,
                                  size_t *wasted) {
	const char *found = NULL;
	for (size_t i = 0; i < BLOCKS && !found; i++)
		found = find_in_block(bytes, at + i * sizeof(block), probe, wasted);
	return found;
}

/*
 * memmem() hashes at every place, which takes twice as long in large files. Where too many
 * places have both bytes, it goes on: its time is linear whatever the text is.
 */
static const char *find_short(const struct st_needle *needle, struct st_str hay) {
	struct st_str bytes = needle->bytes;
	size_t at = 0, wasted = 0;
	const struct probe probe = make_probe(needle);
	for (; hay.len - at >= bytes.len + PLACES && wasted <= at + 1024; at += PLACES) {
		if (!has_both(hay.ptr + at, &probe))
			continue;
		const char *found = find_in_blocks(bytes, hay.ptr + at, &probe, &wasted);
		if (found)
			return found;
	}
	return memmem(hay.ptr + at, hay.len - at, bytes.ptr, bytes.len);
}

struct st_needle st_needle_of(struct st_str bytes) {
	struct st_needle needle = {.bytes = bytes};
	if (bytes.len > 0 && bytes.len <= LONG) {
		needle.first = rarest_place(bytes, SIZE_MAX);
		needle.second = rarest_place(bytes, needle.first);
	}
	return needle;
}

const char *st_needle_find(const struct st_needle *needle, struct st_str hay) {
	struct st_str bytes = needle->bytes;
	if (bytes.len == 0 || hay.len < bytes.len)
		return NULL;
	if (bytes.len > LONG)
		return find_long(bytes, hay);
	for (size_t at = 0; hay.len - at >= bytes.len; at += ST_CANCEL_STEP) {
		struct st_str piece = st_str_slice(hay, at, hay.len);
		if (piece.len > ST_CANCEL_STEP + bytes.len - 1)
			piece.len = ST_CANCEL_STEP + bytes.len - 1;
		const char *found = find_short(needle, piece);
		if (found)
			return found;
		st_cancel_progress(piece.len);
		if (hay.len - at <= ST_CANCEL_STEP)
			return NULL;
	}
	return NULL;
}
