#include "text/tokens.h"

#include "base/utf8.h"
#include "text/tokens_table.h"

/* Costs are counted in parts of a token. */
#define UNIT 32

/* Letters in the table of threes: the alphabet, the end of a word, the start of one. */
#define EDGE 26
#define START 27
#define SYMBOLS 28

/* Lengths with a cost of their own; each letter beyond costs the same. Words are cut at the longest. */
#define LONGEST 12
#define PER_LETTER 10
#define WORD_MAX 64

/* What is longer is no word but a row of letters, of which two make a token. */
#define NO_WORD 18

/* Signs in the table of pairs, behind the 32 of ASCII. */
#define SIGN_BLANK 32
#define SIGN_LINE 33
#define SIGN_END 34
#define SIGN_START 35
#define SIGNS 36

enum kind { SIGN, LOWER, UPPER, DIGIT, BLANK, LINE, HIGH };

struct cursor {
	const unsigned char *at;
	const unsigned char *end;
};

/* Everything not named is a sign: punctuation and control characters. */
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

/* A weight of the tables: one character, 'P' is zero. */
static int weight(const char *table, size_t index) {
	return table[index] - 'P';
}

static unsigned at_least_one(int cost) {
	return cost > UNIT ? (unsigned)cost : UNIT;
}

static size_t sign_index(unsigned char byte) {
	if (byte == ' ')
		return SIGN_BLANK;
	if (byte < '!')
		return SIGN_LINE;
	if (byte < ':')
		return byte - '!';
	if (byte < '[')
		return byte - ':' + 15u;
	if (byte < '{')
		return byte - '[' + 22u;
	return byte < 127 ? byte - '{' + 28u : SIGN_LINE;
}

/* A word's letters: upper case, then lower case; how many of each. */
struct word {
	const unsigned char *letters;
	size_t upper;
	size_t len;
};

static struct word read_word(struct cursor *cursor) {
	struct word word = {.letters = cursor->at};
	const unsigned char *p = cursor->at;
	const unsigned char *end = cursor->end - p > WORD_MAX ? p + WORD_MAX : cursor->end;
	while (p < end && kind_of(*p) == UPPER)
		p++;
	word.upper = (size_t)(p - cursor->at);
	while (p < end && kind_of(*p) == LOWER)
		p++;
	word.len = (size_t)(p - cursor->at);
	cursor->at = p;
	return word;
}

static int cost_of_letters(const struct word *word, size_t start) {
	int cost = 0;
	size_t before = start;
	size_t here = (word->letters[0] | 0x20) - 'a';
	for (size_t i = 1; i <= word->len; i++) {
		size_t next = i < word->len ? (size_t)((word->letters[i] | 0x20) - 'a') : EDGE;
		cost += weight(cost_of_threes, (before * SYMBOLS + here) * SYMBOLS + next);
		before = here;
		here = next;
	}
	return cost;
}

static int cost_of_capitals(const struct word *word, size_t start) {
	int cost = 0;
	size_t before = start;
	for (size_t i = 0; i <= word->len; i++) {
		size_t here = i < word->len ? (size_t)(word->letters[i] - 'A') : EDGE;
		cost += weight(cost_of_pairs, before * SYMBOLS + here);
		before = here;
	}
	return cost;
}

/* What contractions add, such as 's and 'll, which belong to the word before them. */
static unsigned read_contraction(struct cursor *cursor) {
	static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
	size_t left = (size_t)(cursor->end - cursor->at);
	if (left < 2 || cursor->at[0] != '\'')
		return 0;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t len = strlen(endings[i]);
		if (left > len && memcmp(cursor->at + 1, endings[i], len) == 0) {
			cursor->at += 1 + len;
			return UNIT * 3 / 8;
		}
	}
	return 0;
}

/* A word, behind the one sign that the tokenizer takes with it: 0 for none. */
static unsigned next_word(struct cursor *cursor, unsigned char sign) {
	struct word word = read_word(cursor);
	size_t place = sign == 0 ? 0 : sign == ' ' ? 1 : 2;
	size_t start = sign == ' ' ? EDGE : START;
	size_t shape = word.upper == 0 ? 0 : word.upper == word.len ? 2 : word.upper == 1 ? 1 : 3;
	size_t len = word.len < LONGEST ? word.len : LONGEST;
	int cost = cost_of_length[(place * 4 + shape) * (LONGEST + 1) + len];
	cost += (int)(word.len - len) * PER_LETTER;
	cost += shape == 2 ? cost_of_capitals(&word, start) : cost_of_letters(&word, start);
	if (place == 2)
		cost +=
			weight(cost_of_first, sign_index(sign) * 26 + (size_t)((word.letters[0] | 0x20) - 'a'));
	if (word.len > NO_WORD && cost < (int)word.len * UNIT / 2)
		cost = (int)word.len * UNIT / 2;
	return at_least_one(cost) + read_contraction(cursor);
}

static unsigned next_number(struct cursor *cursor) {
	for (int i = 0; i < 3 && cursor->at < cursor->end && kind_of(*cursor->at) == DIGIT; i++)
		cursor->at++;
	return UNIT;
}

/* How many times the byte at p repeats. */
static size_t run_of(const unsigned char *p, const unsigned char *end) {
	const unsigned char *from = p;
	while (p < end && *p == *from)
		p++;
	return (size_t)(p - from);
}

/* A long run of one sign: rulers are known to the tokenizer, and others in pairs. */
static unsigned cost_of_run(unsigned char byte, size_t len) {
	if (memchr("-=*#_./~+%!:;", byte, 13))
		return (unsigned)(UNIT + len * UNIT / 16);
	return (unsigned)(len * UNIT / 2 + UNIT / 2);
}

/* Signs with a blank before and line ends or slashes behind. */
static unsigned next_signs(struct cursor *cursor) {
	const unsigned char *p = cursor->at;
	const unsigned char *end = cursor->end - p > WORD_MAX ? p + WORD_MAX : cursor->end;
	int cost = 0;
	unsigned runs = 0;
	size_t len = 0;
	size_t before = SIGN_START;
	bool lines = false;
	for (; p < end; p++) {
		enum kind kind = kind_of(*p);
		lines |= kind == LINE;
		if (len > 0 ? (lines ? kind != LINE && *p != '/' : kind != SIGN) : false)
			break;
		size_t repeated = run_of(p, end);
		if (repeated > 4) {
			runs += cost_of_run(*p, repeated);
			p += repeated - 1;
			continue;
		}
		size_t sign = sign_index(*p);
		cost += weight(cost_of_signs, before * SIGNS + sign);
		if (*p < ' ' && kind == SIGN)
			cost += UNIT;
		before = sign;
		len++;
	}
	cursor->at = p;
	if (len == 0)
		return runs;
	cost += weight(cost_of_signs, before * SIGNS + SIGN_END);
	return runs + at_least_one(cost + cost_of_signs_length[len < 8 ? len : 8]);
}

/* White space: up to the last line end in it, or all but the blank that goes with the next word. */
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
	size_t len = (size_t)(p - from);
	size_t per_token = *from == ' ' ? 64 : *from == '\r' ? 2 : 12;
	return (unsigned)(UNIT + (len - 1) / per_token * UNIT);
}

/* What a character beyond ASCII costs in running text: the first code point of a range, the cost. */
static const struct {
	uint32_t from;
	unsigned cost;
} ranges[] = {
	{0x80, 34},    {0x250, 64},    {0x370, 26},    {0x400, 20},  {0x500, 28},  {0x590, 24},
	{0x700, 96},   {0x900, 28},    {0xf00, 56},    {0x1100, 96}, {0x1e00, 36}, {0x1f00, 64},
	{0x2000, 36},  {0x2070, 48},   {0x2200, 56},   {0x2300, 80}, {0x2500, 44}, {0x25a0, 56},
	{0x2780, 84},  {0x3000, 34},   {0x3100, 96},   {0x4e00, 36}, {0xa000, 96}, {0xac00, 32},
	{0xd800, 96},  {0xfe00, 40},   {0xfe10, 80},   {0xff00, 40}, {0xffe0, 64}, {0x10000, 128},
	{0x1f300, 72}, {0x1fb00, 128}, {0x20000, 112},
};

static unsigned next_high(struct cursor *cursor) {
	uint32_t point;
	size_t i = sizeof ranges / sizeof *ranges - 1;
	struct st_str rest = {(const char *)cursor->at, (size_t)(cursor->end - cursor->at)};
	cursor->at += st_utf8_next(rest, &point);
	while (i > 0 && ranges[i].from > point)
		i--;
	return ranges[i].cost;
}

/* Step over one piece, as the tokenizer cuts them. Returns its cost. */
static unsigned next_piece(struct cursor *cursor) {
	unsigned char byte = *cursor->at;
	enum kind kind = kind_of(byte);
	bool more = cursor->end - cursor->at > 1;
	if (kind == LOWER || kind == UPPER)
		return next_word(cursor, 0);
	if (kind == DIGIT)
		return next_number(cursor);
	if (kind == HIGH)
		return next_high(cursor);
	if (kind != LINE && more && is_letter(cursor->at[1])) {
		cursor->at++;
		return next_word(cursor, byte);
	}
	if (kind == SIGN || (byte == ' ' && more && kind_of(cursor->at[1]) == SIGN))
		return next_signs(cursor);
	return next_space(cursor);
}

static struct cursor begin(struct st_str text) {
	const unsigned char *from = (const unsigned char *)(text.ptr ? text.ptr : "");
	return (struct cursor){from, from + text.len};
}

static uint64_t cost_of(struct st_str text) {
	struct cursor cursor = begin(text);
	uint64_t cost = 0;
	while (cursor.at < cursor.end)
		cost += next_piece(&cursor);
	return cost;
}

static size_t tokens_of(uint64_t cost, unsigned percent) {
	return (size_t)((cost * percent + UNIT * 100 - 1) / (UNIT * 100));
}

size_t st_tokens(struct st_str text) {
	return tokens_of(cost_of(text), 100);
}

size_t st_tokens_scaled(struct st_str text, unsigned percent) {
	return tokens_of(cost_of(text), percent);
}

size_t st_tokens_prefix(struct st_str text, size_t limit) {
	struct cursor cursor = begin(text);
	uint64_t cost = 0;
	while (cursor.at < cursor.end) {
		const unsigned char *at = cursor.at;
		cost += next_piece(&cursor);
		if (tokens_of(cost, 100) > limit)
			return (size_t)(at - (const unsigned char *)text.ptr);
	}
	return text.len;
}

size_t st_tokens_suffix(struct st_str text, size_t limit) {
	struct cursor cursor = begin(text);
	uint64_t cost = cost_of(text);
	while (cursor.at < cursor.end && tokens_of(cost, 100) > limit)
		cost -= next_piece(&cursor);
	return (size_t)(cursor.end - cursor.at);
}
