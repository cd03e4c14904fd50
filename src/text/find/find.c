#include "text/find/find.h"

#include <limits.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/plural.h"

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

/* ---- short needles: two bytes at 16 places at once ---- */

typedef char block __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

static block fill_block(char byte) {
	return (block){0} + byte;
}

/* Whether one of 16 places has the first and the last byte of the needle. */
static bool has_both(const char *at, size_t last, block first_bytes, block last_bytes) {
	block front, back;
	memcpy(&front, at, sizeof front);
	memcpy(&back, at + last, sizeof back);
	halves both = (halves)((front == first_bytes) & (back == last_bytes));
	return (both[0] | both[1]) != 0;
}

/*
 * memmem() hashes at every place, which takes twice as long in large files. Where too many
 * places have both bytes, it goes on: its time is linear whatever the text is.
 */
static const char *find_short(struct st_str bytes, struct st_str hay) {
	size_t last = bytes.len - 1, at = 0, wasted = 0;
	block first_bytes = fill_block(bytes.ptr[0]), last_bytes = fill_block(bytes.ptr[last]);
	for (; hay.len - at >= last + sizeof(block) && wasted <= at + 1024; at += sizeof(block)) {
		const char *from = hay.ptr + at;
		if (!has_both(from, last, first_bytes, last_bytes))
			continue;
		for (size_t i = 0; i < sizeof(block); i++) {
			if (from[i] != bytes.ptr[0] || from[i + last] != bytes.ptr[last])
				continue;
			if (memcmp(from + i, bytes.ptr, bytes.len) == 0)
				return from + i;
			wasted += bytes.len;
		}
	}
	return memmem(hay.ptr + at, hay.len - at, bytes.ptr, bytes.len);
}

const char *st_find_bytes(struct st_str bytes, struct st_str hay) {
	if (bytes.len == 0 || hay.len < bytes.len)
		return NULL;
	if (bytes.len > LONG)
		return find_long(bytes, hay);
	for (size_t at = 0; hay.len - at >= bytes.len; at += ST_CANCEL_STEP) {
		struct st_str piece = st_str_slice(hay, at, hay.len);
		if (piece.len > ST_CANCEL_STEP + bytes.len - 1)
			piece.len = ST_CANCEL_STEP + bytes.len - 1;
		const char *found = find_short(bytes, piece);
		if (found)
			return found;
		st_cancel_progress(piece.len);
		if (hay.len - at <= ST_CANCEL_STEP)
			return NULL;
	}
	return NULL;
}

static bool has_byte(struct st_str text, char byte) {
	return text.len && memchr(text.ptr, byte, text.len);
}

/*
 * Convert the pattern's line endings to those of the text, so that a byte search finds it. Fold
 * the text to LF as well if it mixes LF and CRLF, or if the pattern ends in CR, whose last byte
 * could otherwise match the first half of a CRLF.
 */
static int prepare_lines(struct st_find *find, struct st_str pattern, struct stet_error *err) {
	/* Most texts have no CR, and then the number of LFs does not matter. */
	struct st_eols eols = {0};
	if (has_byte(find->text, '\r'))
		eols = st_eols_count(find->text);
	bool fold = eols.crlf && (eols.lf || st_str_ends(pattern, ST_STR("\r")));

	st_eol_convert(&find->pattern, pattern, eols.crlf && !fold ? ST_EOL_CRLF : ST_EOL_LF);
	if (fold) {
		st_buf_reserve(&find->folded, find->text.len);
		st_eol_convert(&find->folded, find->text, ST_EOL_LF);
	}
	if (find->pattern.failed || find->folded.failed) {
		st_find_release(find);
		return st_fail_nomem(err);
	}
	find->needle = st_buf_str(&find->pattern);
	if (fold)
		find->hay = st_buf_str(&find->folded);
	return 0;
}

int st_find_init(struct st_find *find, struct st_str text, struct st_str pattern,
                 struct stet_error *err) {
	size_t from = st_bom_len(pattern) ? 0 : st_bom_len(text);
	*find =
		(struct st_find){.text = text, .hay = text, .needle = pattern, .at = from, .text_at = from};

	if (!has_byte(pattern, '\n'))
		return 0;
	if (pattern.ptr[0] != '\n' && has_byte(pattern, '\r') &&
	    st_find_bytes(pattern, st_str_slice(text, from, text.len)))
		return 0;
	return prepare_lines(find, pattern, err);
}

void st_find_release(struct st_find *find) {
	st_buf_release(&find->pattern);
	st_buf_release(&find->folded);
	*find = (struct st_find){0};
}

/*
 * Advance to an offset in the folded text. @return The same place in the original text; for a place
 * right before a folded line ending, the place before the whole CRLF.
 */
static size_t advance(struct st_find *find, size_t to) {
	size_t left = to - find->at;
	find->at = to;
	while (left) {
		const char *from = find->text.ptr + find->text_at;
		const char *cr = memchr(from, '\r', left);
		if (!cr) {
			find->text_at += left;
			break;
		}
		size_t skip = (size_t)(cr - from) + 1;
		bool crlf = find->text_at + skip < find->text.len && cr[1] == '\n';
		find->text_at += skip + crlf;
		left -= skip;
	}
	return find->text_at;
}

bool st_find_next(struct st_find *find, struct st_span *span) {
	size_t len = find->needle.len;
	const char *hit = st_find_bytes(find->needle, st_str_slice(find->hay, find->at, find->hay.len));
	if (!hit)
		return false;

	size_t start = (size_t)(hit - find->hay.ptr);
	if (find->folded.ptr) {
		span->start = advance(find, start);
		span->end = advance(find, start + len);
	} else {
		*span = (struct st_span){start, start + len};
		find->at = start + len;
	}
	/* Keep the text's byte order mark out of the match, unless the pattern is nothing but the mark. */
	size_t bom = span->start == 0 ? st_bom_len(find->text) : 0;
	if (span->end > bom)
		span->start += bom;
	return true;
}

int st_places_find(struct st_places *places, struct st_str text, struct st_str pattern,
                   struct stet_error *err) {
	st_auto(st_find) find = {0};
	struct st_span span;
	size_t line = 1, at = 0;

	places->total = places->count = 0;
	if (st_find_init(&find, text, pattern, err) < 0)
		return STET_E_NOMEM;
	for (size_t from = 0; st_find_next(&find, &span); from = span.end) {
		if (st_cancel_check(span.end - from + ST_FIND_WORK, err) < 0)
			return STET_E_CANCELLED;
		places->total++;
		if (places->count == ST_PLACES_MAX)
			continue;
		line += st_line_ends(st_str_slice(text, at, text.len), span.start - at);
		at = span.start;
		places->lines[places->count++] = line;
	}
	return 0;
}

/* How many matches, from the i-th on, share its line. */
static size_t count_same_line(const struct st_places *places, size_t i) {
	size_t same = 1;
	while (i + same < places->count && places->lines[i + same] == places->lines[i])
		same++;
	return same;
}

void st_places_add(struct st_buf *buf, const struct st_places *places, size_t max) {
	bool one = places->total > 0 && count_same_line(places, 0) == places->total;
	st_buf_adds(buf, one ? "line " : "lines ");

	size_t i = 0;
	for (size_t named = 0; named < max && i < places->count; named++) {
		size_t same = count_same_line(places, i);
		if (i > 0)
			st_buf_adds(buf, i + same == places->total ? " and " : ", ");
		st_buf_addf(buf, "%zu", places->lines[i]);
		if (same > 1)
			st_buf_addf(buf, " (%zu times)", same);
		i += same;
	}
	size_t left = places->total - i;
	if (left > 0)
		st_buf_addf(buf, " and %zu more %s", left, st_plural(left, "place", "places"));
}
