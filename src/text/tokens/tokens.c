#include "text/tokens/tokens.h"

#include "base/utf8.h"

/*
 * A xor filter of the 55,677 most frequent ASCII tokens of o200k: three rows of
 * little-endian 16-bit numbers. tests/npm/token-filter.mjs writes it and prints the
 * two constants.
 */
enum { FILTER_ROW = 22839, FILTER_SEED = 4 };

__asm__(
	".section .rodata.token_filter, \"a\", %progbits\n"
	".balign 2\n"
	"token_filter: .incbin \"" TOKENS_BIN
	"\"\n"
	".previous\n");
extern const unsigned char filter[] __asm__("token_filter");

/* The cost of one token; costs are counted in fractions of a token. */
#define UNIT 32

/*
 * The extra cost of a piece that is not itself a token: the tokenizer does not
 * always split it into the longest parts.
 */
#define EXTRA_WORD 24
#define EXTRA_LONG_WORD 40
#define EXTRA_SIGNS 12

/* The length of the longest token in the filter, and of the longest word. */
#define TOKEN_MAX 24
#define WORD_MAX 64

/* Longer words cost EXTRA_LONG_WORD: their parts are less certain. */
#define LONG_WORD 10

/* Longer words are random letters, and cost at least a token for two letters. */
#define NO_WORD 18

enum kind { SIGN, LOWER, UPPER, DIGIT, BLANK, LINE, HIGH };

struct cursor {
	const unsigned char *at;
	const unsigned char *end;
};

/* All other bytes are signs: punctuation and control characters. */
static const unsigned char kinds[256] = {
	['a' ... 'z'] = LOWER, ['A' ... 'Z'] = UPPER,   ['0' ... '9'] = DIGIT,
	['\n'] = LINE,         ['\r'] = LINE,           [' '] = BLANK,
	['\t'] = BLANK,        ['\v' ... '\f'] = BLANK, [0x80 ... 0xff] = HIGH,
};

static enum kind kind_of(unsigned char byte) {
	return (enum kind)kinds[byte];
}

static bool is_letter(unsigned char byte) {
	byte |= 0x20;
	return byte >= 'a' && byte <= 'z';
}

/* ---- tokens ---- */

/* Extend the hash of a text by one byte. */
static uint64_t hash_byte(uint64_t hash, unsigned char byte) {
	return (hash ^ byte) * 0x100000001b3u;
}

static uint64_t mix_hash(uint64_t hash) {
	hash ^= FILTER_SEED;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
	return hash ^ hash >> 33;
}

static unsigned filter_at(size_t row, uint64_t hash) {
	size_t at = 2 * (row * FILTER_ROW + ((hash & 0xffff) * FILTER_ROW >> 16));
	return filter[at] | (unsigned)filter[at + 1] << 8;
}

/* Whether the filter has a token with this hash. */
static bool is_token(uint64_t hash) {
	hash = mix_hash(hash);
	unsigned number = filter_at(0, hash) ^ filter_at(1, hash >> 16) ^ filter_at(2, hash >> 32);
	return number == hash >> 52;
}

/* The length of the longest token at the start of a text. */
static size_t longest_token(const unsigned char *text, size_t len) {
	uint64_t hashes[TOKEN_MAX];
	uint64_t hash = 0xcbf29ce484222325u;
	if (len > TOKEN_MAX)
		len = TOKEN_MAX;
	for (size_t i = 0; i < len; i++)
		hashes[i] = hash = hash_byte(hash, text[i]);
	while (len > 1 && !is_token(hashes[len - 1]))
		len--;
	return len;
}

/* The cost of a piece, cut greedily into the longest tokens. */
static unsigned cost_of_piece(const unsigned char *text, size_t len, unsigned extra) {
	unsigned count = 0;
	for (size_t at = 0; at < len; count++)
		at += longest_token(text + at, len - at);
	return count > 1 ? count * UNIT + extra : UNIT;
}

/* ---- pieces ---- */

/* Step over a word: upper case letters, then lower case ones. */
static void skip_word(struct cursor *cursor) {
	const unsigned char *p = cursor->at;
	const unsigned char *end = cursor->end - p > WORD_MAX ? p + WORD_MAX : cursor->end;
	while (p < end && kind_of(*p) == UPPER)
		p++;
	while (p < end && kind_of(*p) == LOWER)
		p++;
	cursor->at = p;
}

/* The length of a contraction such as 's or 'll, which belongs to the word before it; 0 for none. */
static size_t contraction_at(const struct cursor *cursor) {
	static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
	size_t left = (size_t)(cursor->end - cursor->at);
	if (left < 2 || cursor->at[0] != '\'')
		return 0;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t len = strlen(endings[i]);
		if (left > len && memcmp(cursor->at + 1, endings[i], len) == 0)
			return 1 + len;
	}
	return 0;
}

/* Step over a word, with the sign before it if `sign`. @return Its cost, as all next_ functions do. */
static unsigned next_word(struct cursor *cursor, bool sign) {
	const unsigned char *from = cursor->at;
	cursor->at += sign;
	skip_word(cursor);
	size_t len = (size_t)(cursor->at - from);
	size_t ending = contraction_at(cursor);
	cursor->at += ending;
	if (ending && longest_token(from, len + ending) == len + ending)
		return UNIT;
	unsigned cost = cost_of_piece(from, len, len > LONG_WORD ? EXTRA_LONG_WORD : EXTRA_WORD);
	if (len > NO_WORD && cost < len * UNIT / 2)
		cost = (unsigned)len * UNIT / 2;
	return cost + (ending ? UNIT : 0);
}

static unsigned next_number(struct cursor *cursor) {
	for (int i = 0; i < 3 && cursor->at < cursor->end && kind_of(*cursor->at) == DIGIT; i++)
		cursor->at++;
	return UNIT;
}

/* Step over signs, with a blank before them, and newlines or slashes after them. */
static unsigned next_signs(struct cursor *cursor) {
	const unsigned char *from = cursor->at;
	const unsigned char *p = from + (*from == ' ');
	const unsigned char *end = cursor->end - p > WORD_MAX ? p + WORD_MAX : cursor->end;
	while (p < end && kind_of(*p) == SIGN)
		p++;
	while (p < end && (kind_of(*p) == LINE || *p == '/'))
		p++;
	cursor->at = p;
	return cost_of_piece(from, (size_t)(p - from), EXTRA_SIGNS);
}

/* Step over white space: up to its last newline, or all but the blank that belongs to the next word. */
static unsigned next_space(struct cursor *cursor) {
	const unsigned char *from = cursor->at;
	const unsigned char *p = from;
	const unsigned char *line = NULL;
	while (p < cursor->end && (kind_of(*p) == BLANK || kind_of(*p) == LINE)) {
		if (kind_of(*p) == LINE)
			line = p;
		p++;
	}
	if (line)
		p = line + 1;
	else if (p < cursor->end && p - from > 1)
		p--;
	cursor->at = p;
	size_t runs = 1;
	for (const unsigned char *at = from + 1; at < p; at++)
		runs += *at != at[-1];
	/* A token covers two runs of white space, and only so many bytes. */
	size_t len = (size_t)(p - from);
	return (unsigned)(((runs + 1) / 2 + (len - 1) / (*from == ' ' ? 64 : 12)) * UNIT);
}

/* The cost of characters beyond ASCII in running text, by the first code point of a range. */
static const struct {
	uint32_t from;
	unsigned cost;
} ranges[] = {
	{0x80, 34},   {0x250, 64},    {0x370, 26},   {0x400, 20},    {0x500, 28},    {0x590, 24},
	{0x700, 96},  {0x900, 28},    {0xf00, 56},   {0x1100, 96},   {0x1e00, 36},   {0x1f00, 64},
	{0x2000, 36}, {0x2070, 48},   {0x2200, 56},  {0x2300, 80},   {0x2500, 44},   {0x25a0, 56},
	{0x2780, 84}, {0x2800, 96},   {0x2900, 84},  {0x3000, 34},   {0x3100, 96},   {0x4e00, 36},
	{0xa000, 96}, {0xac00, 32},   {0xd800, 96},  {0xfe00, 40},   {0xfe10, 80},   {0xff00, 40},
	{0xffe0, 64}, {0x10000, 128}, {0x1f300, 72}, {0x1fb00, 128}, {0x20000, 112},
};

static unsigned cost_of_point(uint32_t point) {
	size_t i = sizeof ranges / sizeof *ranges - 1;
	while (i > 0 && ranges[i].from > point)
		i--;
	return ranges[i].cost;
}

/* Step over characters beyond ASCII, all together: a piece costs at least one token. */
static unsigned next_high(struct cursor *cursor) {
	const unsigned char *end =
		cursor->end - cursor->at > WORD_MAX ? cursor->at + WORD_MAX : cursor->end;
	unsigned cost = 0;
	while (cursor->at < end && kind_of(*cursor->at) == HIGH) {
		uint32_t point;
		struct st_str rest = {(const char *)cursor->at, (size_t)(cursor->end - cursor->at)};
		cursor->at += st_utf8_next(rest, &point);
		cost += cost_of_point(point);
	}
	return cost > UNIT ? cost : UNIT;
}

/* Step over one piece, as the tokenizer cuts them. */
static unsigned next_piece(struct cursor *cursor) {
	unsigned char byte = *cursor->at;
	enum kind kind = kind_of(byte);
	bool more = cursor->end - cursor->at > 1;
	if (kind == LOWER || kind == UPPER)
		return next_word(cursor, false);
	if (kind == DIGIT)
		return next_number(cursor);
	if (kind == HIGH)
		return next_high(cursor);
	if (kind != LINE && more && is_letter(cursor->at[1]))
		return next_word(cursor, true);
	if (kind == SIGN || (byte == ' ' && more && kind_of(cursor->at[1]) == SIGN))
		return next_signs(cursor);
	return next_space(cursor);
}

static struct cursor start_cursor(struct st_str text) {
	const unsigned char *from = (const unsigned char *)(text.ptr ? text.ptr : "");
	return (struct cursor){from, from + text.len};
}

static uint64_t cost_of(struct st_str text) {
	struct cursor cursor = start_cursor(text);
	uint64_t cost = 0;
	while (cursor.at < cursor.end)
		cost += next_piece(&cursor);
	return cost;
}

static size_t cost_to_tokens(uint64_t cost) {
	return (size_t)((cost + UNIT - 1) / UNIT);
}

size_t st_tokens(struct st_str text) {
	return cost_to_tokens(cost_of(text));
}

size_t st_tokens_prefix(struct st_str text, size_t limit) {
	struct cursor cursor = start_cursor(text);
	uint64_t cost = 0;
	while (cursor.at < cursor.end) {
		const unsigned char *at = cursor.at;
		cost += next_piece(&cursor);
		if (cost_to_tokens(cost) > limit)
			return (size_t)(at - (const unsigned char *)text.ptr);
	}
	return text.len;
}

size_t st_tokens_suffix(struct st_str text, size_t limit) {
	struct cursor cursor = start_cursor(text);
	uint64_t cost = cost_of(text);
	while (cursor.at < cursor.end && cost_to_tokens(cost) > limit)
		cost -= next_piece(&cursor);
	return (size_t)(cursor.end - cursor.at);
}
