#include "base/quote.h"

#include <assert.h>
#include <stdio.h>

#include "stet/text.h"

#include "base/utf8.h"

/* The longest escape: two surrogates. */
enum { ESCAPE_MAX = 16 };

/* ---- the table ---- */

struct range {
	uint32_t first, last;
	enum st_char_kind kind;
};

/* Sorted. The last two code points of each plane are noncharacters: st_char_kind() checks them. */
static const struct range table[] = {
	{0x0000, 0x001F, ST_CHAR_CONTROL},      {0x007F, 0x009F, ST_CHAR_CONTROL},
	{0x00A0, 0x00A0, ST_CHAR_BLANK},        {0x00AD, 0x00AD, ST_CHAR_FORMAT},
	{0x034F, 0x034F, ST_CHAR_FILLER},       {0x0600, 0x0605, ST_CHAR_FORMAT},
	{0x061C, 0x061C, ST_CHAR_BIDI},         {0x06DD, 0x06DD, ST_CHAR_FORMAT},
	{0x070F, 0x070F, ST_CHAR_FORMAT},       {0x0890, 0x0891, ST_CHAR_FORMAT},
	{0x08E2, 0x08E2, ST_CHAR_FORMAT},       {0x115F, 0x1160, ST_CHAR_FILLER},
	{0x1680, 0x1680, ST_CHAR_BLANK},        {0x17B4, 0x17B5, ST_CHAR_FILLER},
	{0x180B, 0x180D, ST_CHAR_SELECTOR},     {0x180E, 0x180E, ST_CHAR_FORMAT},
	{0x180F, 0x180F, ST_CHAR_SELECTOR},     {0x2000, 0x200A, ST_CHAR_BLANK},
	{0x200B, 0x200D, ST_CHAR_FORMAT},       {0x200E, 0x200F, ST_CHAR_BIDI},
	{0x2028, 0x2029, ST_CHAR_SEPARATOR},    {0x202A, 0x202E, ST_CHAR_BIDI},
	{0x202F, 0x202F, ST_CHAR_BLANK},        {0x205F, 0x205F, ST_CHAR_BLANK},
	{0x2060, 0x2065, ST_CHAR_FORMAT},       {0x2066, 0x2069, ST_CHAR_BIDI},
	{0x206A, 0x206F, ST_CHAR_FORMAT},       {0x2800, 0x2800, ST_CHAR_BLANK},
	{0x3000, 0x3000, ST_CHAR_BLANK},        {0x3164, 0x3164, ST_CHAR_FILLER},
	{0xD800, 0xF8FF, ST_CHAR_UNDEFINED},    {0xFDD0, 0xFDEF, ST_CHAR_UNDEFINED},
	{0xFE00, 0xFE0F, ST_CHAR_SELECTOR},     {0xFEFF, 0xFEFF, ST_CHAR_FORMAT},
	{0xFFA0, 0xFFA0, ST_CHAR_FILLER},       {0xFFF0, 0xFFFB, ST_CHAR_FORMAT},
	{0x110BD, 0x110BD, ST_CHAR_FORMAT},     {0x110CD, 0x110CD, ST_CHAR_FORMAT},
	{0x13430, 0x1343F, ST_CHAR_FORMAT},     {0x1BCA0, 0x1BCA3, ST_CHAR_FORMAT},
	{0x1D173, 0x1D17A, ST_CHAR_FORMAT},     {0xE0000, 0xE00FF, ST_CHAR_TAG},
	{0xE0100, 0xE01EF, ST_CHAR_SELECTOR},   {0xE01F0, 0xE0FFF, ST_CHAR_TAG},
	{0xF0000, 0x10FFFF, ST_CHAR_UNDEFINED},
};

enum st_char_kind st_char_kind(uint32_t point) {
	if (point >= 0x20 && point < 0x7F)
		return ST_CHAR_PLAIN;
	size_t low = 0, high = sizeof table / sizeof *table;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (point > table[middle].last)
			low = middle + 1;
		else if (point < table[middle].first)
			high = middle;
		else
			return table[middle].kind;
	}
	return (point & 0xFFFE) == 0xFFFE ? ST_CHAR_UNDEFINED : ST_CHAR_PLAIN;
}

bool st_char_is_invisible(uint32_t point) {
	switch (st_char_kind(point)) {
	case ST_CHAR_BIDI:
	case ST_CHAR_TAG:
	case ST_CHAR_SELECTOR:
	case ST_CHAR_FILLER:
	case ST_CHAR_FORMAT:
		return true;
	default:
		return false;
	}
}

/* ---- one character ---- */

/* A character, or a byte that is not UTF-8. */
struct unit {
	struct st_str bytes;
	uint32_t point;
	bool invalid;
};

static struct unit first_unit(struct st_str text) {
	assert(text.len > 0);
	struct unit unit = {0};
	size_t len = st_utf8_next(text, &unit.point);
	unit.bytes = st_strn(text.ptr, len);
	unit.invalid = len == 1 && unit.point >= 0x80;
	return unit;
}

static struct st_str skip_unit(struct st_str text, struct unit unit) {
	return st_str_slice(text, unit.bytes.len, text.len);
}

/* Write a unit as JSON escapes it, a plain character unchanged. Returns the length. */
static size_t escape(struct unit unit, char out[ESCAPE_MAX]) {
	static const char from[] = "\n\r\t\"\\";
	static const char to[] = "nrt\"\\";
	uint32_t point = unit.point;
	const char *letter = point && point < 0x80 ? strchr(from, (int)point) : NULL;
	if (letter)
		return (size_t)snprintf(out, ESCAPE_MAX, "\\%c", to[letter - from]);
	if (unit.invalid)
		return (size_t)snprintf(out, ESCAPE_MAX, "\\x%02x", (unsigned char)unit.bytes.ptr[0]);
	if (st_char_kind(point) == ST_CHAR_PLAIN) {
		memcpy(out, unit.bytes.ptr, unit.bytes.len);
		return unit.bytes.len;
	}
	if (point < 0x10000)
		return (size_t)snprintf(out, ESCAPE_MAX, "\\u%04x", (unsigned)point);
	point -= 0x10000;
	return (size_t)snprintf(out, ESCAPE_MAX, "\\u%04x\\u%04x", 0xD800 | (unsigned)(point >> 10),
	                        0xDC00 | (unsigned)(point & 0x3FF));
}

static void add_escaped(struct st_buf *out, struct unit unit) {
	char text[ESCAPE_MAX];
	st_buf_add(out, st_strn(text, escape(unit, text)));
}

/* ---- names ---- */

static bool is_plain_unit(struct unit unit) {
	return !unit.invalid && (st_char_kind(unit.point) == ST_CHAR_PLAIN || unit.point == 0x3000);
}

static bool all_plain(struct st_str name) {
	while (name.len > 0) {
		struct unit unit = first_unit(name);
		if (!is_plain_unit(unit))
			return false;
		name = skip_unit(name, unit);
	}
	return true;
}

bool st_quote_needed(struct st_str name) {
	return name.len == 0 || name.ptr[0] == '"' || name.ptr[0] == ' ' ||
	       name.ptr[name.len - 1] == ' ' || !all_plain(name);
}

static void add_quoted(struct st_buf *out, struct st_str name) {
	st_buf_addc(out, '"');
	while (name.len > 0) {
		struct unit unit = first_unit(name);
		add_escaped(out, unit);
		name = skip_unit(name, unit);
	}
	st_buf_addc(out, '"');
}

void st_quote_name(struct st_buf *out, struct st_str name) {
	if (st_quote_needed(name))
		add_quoted(out, name);
	else
		st_buf_add(out, name);
}

/* The length of the longest prefix that, escaped, takes at most max bytes. */
static size_t fitting(struct st_str name, size_t max) {
	size_t end = 0, used = 0;
	while (end < name.len) {
		char text[ESCAPE_MAX];
		struct unit unit = first_unit(st_str_slice(name, end, name.len));
		used += escape(unit, text);
		if (used > max)
			break;
		end += unit.bytes.len;
	}
	return end;
}

/* Quote what fits of a name, and say if that is not all. */
static void add_quoted_max(struct st_buf *out, struct st_str name, size_t end) {
	add_quoted(out, st_str_slice(name, 0, end));
	if (end < name.len)
		st_buf_addf(out, "... (%zu bytes long)", name.len);
}

void st_quote_name_max(struct st_buf *out, struct st_str name, size_t max) {
	size_t end = fitting(name, max);
	if (end == name.len)
		st_quote_name(out, name);
	else
		add_quoted_max(out, name, end);
}

/* A word, or two, of the characters that paths, branches and names of agents usually have. */
static bool is_word(struct st_str name) {
	size_t spaces = 0;
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.ptr[i];
		spaces += c == ' ';
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    !strchr(" ._/@+:~#-", c))
			return false;
	}
	return spaces < 2 && !st_quote_needed(name) && !memchr(name.ptr, '\0', name.len);
}

void st_quote_foreign(struct st_buf *out, struct st_str name, size_t max) {
	size_t end = fitting(name, max);
	if (end == name.len && is_word(name))
		st_buf_add(out, name);
	else
		add_quoted_max(out, name, end);
}

const char *st_quoted_into(struct st_quoted *room, struct st_str name) {
	static const char cut[] = "...\"";
	size_t len = 0;
	room->text[len++] = '"';
	while (name.len > 0) {
		char text[ESCAPE_MAX];
		struct unit unit = first_unit(name);
		size_t add = escape(unit, text);
		if (len + add + sizeof cut > sizeof room->text) {
			memcpy(room->text + len, cut, sizeof cut);
			return room->text;
		}
		memcpy(room->text + len, text, add);
		len += add;
		name = skip_unit(name, unit);
	}
	room->text[len++] = '"';
	room->text[len] = '\0';
	return room->text;
}

char *stet_text_name(const char *name, size_t len) {
	struct st_buf out = ST_BUF_INIT;
	st_quote_name(&out, st_strn(name, len));
	if (out.failed)
		st_buf_release(&out);
	return out.ptr;
}

/* ---- headers of diffs ---- */

static void add_octal(struct st_buf *out, unsigned char byte) {
	static const char from[] = "\a\b\t\n\v\f\r\"\\";
	static const char to[] = "abtnvfr\"\\";
	const char *letter = byte ? strchr(from, byte) : NULL;
	if (letter)
		st_buf_addf(out, "\\%c", to[letter - from]);
	else if (byte < ' ' || byte >= 0x7F)
		st_buf_addf(out, "\\%03o", byte);
	else
		st_buf_addc(out, (char)byte);
}

void st_quote_git(struct st_buf *out, const char *prefix, struct st_str name) {
	bool odd = memchr(name.ptr, '"', name.len) || memchr(name.ptr, '\\', name.len);
	if (!odd && all_plain(name)) {
		st_buf_adds(out, prefix);
		st_buf_add(out, name);
		return;
	}
	st_buf_addf(out, "\"%s", prefix);
	for (size_t i = 0; i < name.len; i++)
		add_octal(out, (unsigned char)name.ptr[i]);
	st_buf_addc(out, '"');
}

/* ---- texts ---- */

void st_quote_text(struct st_buf *out, struct st_str text, size_t max) {
	static const char cut[] = "\"...";
	size_t limit = out->len + max - strlen(cut);
	st_buf_addc(out, '"');
	while (text.len > 0 && !out->failed) {
		size_t before = out->len;
		struct unit unit = first_unit(text);
		if (unit.invalid)
			st_utf8_add(out, 0xFFFD);
		else
			add_escaped(out, unit);
		if (out->len > limit) {
			st_buf_truncate(out, before);
			st_buf_adds(out, cut);
			return;
		}
		text = skip_unit(text, unit);
	}
	st_buf_addc(out, '"');
}

static bool breaks_words(uint32_t point) {
	enum st_char_kind kind = st_char_kind(point);
	return point < ' ' || point == ' ' || point == 0x85 || kind == ST_CHAR_SEPARATOR ||
	       kind == ST_CHAR_BLANK;
}

void st_quote_line(struct st_buf *out, struct st_str text, size_t max) {
	size_t all = text.len, end = out->len + max;
	while (text.len > 0) {
		struct unit unit = first_unit(text);
		if (out->len + unit.bytes.len > end) {
			st_buf_addf(out, "... (%zu bytes in all)", all);
			return;
		}
		if (st_char_kind(unit.point) == ST_CHAR_PLAIN && unit.point != ' ')
			st_utf8_add(out, unit.point);
		else if (breaks_words(unit.point) && out->len && out->ptr[out->len - 1] != ' ')
			st_buf_addc(out, ' ');
		text = skip_unit(text, unit);
	}
}

/* The length of the prefix of ASCII characters except DEL. */
static size_t ascii_len(struct st_str text) {
	size_t len = 0;
	while (len < text.len && (unsigned char)text.ptr[len] < 0x7F)
		len++;
	return len;
}

void st_quote_json(struct st_buf *out, struct st_str json) {
	for (;;) {
		size_t len = ascii_len(json);
		st_buf_add(out, st_str_slice(json, 0, len));
		json = st_str_slice(json, len, json.len);
		if (json.len == 0)
			return;
		struct unit unit = first_unit(json);
		add_escaped(out, unit);
		json = skip_unit(json, unit);
	}
}

/* ---- terminals ---- */

static bool ends_line(struct st_str text) {
	return text.ptr[0] == '\n' || st_str_starts(text, ST_STR("\r\n"));
}

static void add_on_screen(struct st_buf *out, struct unit unit) {
	switch (unit.invalid ? ST_CHAR_UNDEFINED : st_char_kind(unit.point)) {
	case ST_CHAR_CONTROL:
		if (unit.point < 0x80)
			st_buf_addf(out, "^%c", (int)unit.point ^ 0x40);
		else
			st_buf_addf(out, "<%02X>", (unsigned)unit.point);
		break;
	case ST_CHAR_SEPARATOR:
	case ST_CHAR_BIDI:
	case ST_CHAR_TAG:
		st_buf_addf(out, "<U+%04X>", (unsigned)unit.point);
		break;
	default:
		if (unit.invalid)
			st_buf_addf(out, "<%02X>", (unsigned char)unit.bytes.ptr[0]);
		else
			st_buf_add(out, unit.bytes);
	}
}

/*
 * Control characters other than line ends and tabs become ^X or <9B>, direction
 * marks and tag characters <U+202E>, bytes that are not UTF-8 <FF>. Joiners and
 * variation selectors stay: letters and emoji need them.
 */
static void add_text_on_screen(struct st_buf *out, struct st_str text) {
	while (text.len > 0 && !out->failed) {
		struct unit unit = first_unit(text);
		if (unit.point == '\t' || ends_line(text))
			st_buf_add(out, unit.bytes);
		else
			add_on_screen(out, unit);
		text = skip_unit(text, unit);
	}
}

char *stet_text_screen(const char *text, size_t len, size_t *out_len) {
	struct st_buf out = ST_BUF_INIT;
	st_buf_reserve(&out, len);
	add_text_on_screen(&out, st_strn(text, len));
	if (out.failed)
		st_buf_release(&out);
	*out_len = out.len;
	return out.ptr;
}
