#include "base/unicode.h"

#include <utf8proc.h>

#include "stet/text.h"

#include "base/utf8.h"

static size_t decompose(uint32_t point, uint32_t parts[ST_UNICODE_PARTS], unsigned options) {
	utf8proc_int32_t found[ST_UNICODE_PARTS];
	int boundary = 0;
	utf8proc_ssize_t count = utf8proc_decompose_char(
		(utf8proc_int32_t)point, found, ST_UNICODE_PARTS, (utf8proc_option_t)options, &boundary);
	if (count < 0 || count > ST_UNICODE_PARTS) {
		parts[0] = point;
		return 1;
	}
	for (utf8proc_ssize_t i = 0; i < count; i++)
		parts[i] = (uint32_t)found[i];
	return (size_t)count;
}

uint32_t st_unicode_lower(uint32_t point) {
	return (uint32_t)utf8proc_tolower((utf8proc_int32_t)point);
}

size_t st_unicode_parts(uint32_t point, uint32_t parts[ST_UNICODE_PARTS]) {
	return decompose(point, parts, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_STRIPMARK);
}

bool st_unicode_is_mark(uint32_t point) {
	utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
	return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
	       category == UTF8PROC_CATEGORY_ME;
}

/* Sets of categories. */
#define BIT(name) (1U << UTF8PROC_CATEGORY_##name)
enum {
	LETTERS = BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO) | BIT(NL),
	PUNCTUATION = BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO),
	SPACES = BIT(ZS) | BIT(ZL) | BIT(ZP),
	OTHERS = BIT(CC) | BIT(CF) | BIT(CS) | BIT(CO) | BIT(CN),
};

bool st_unicode_is(uint32_t point, enum st_unicode_class class) {
	unsigned category = 1U << utf8proc_category((utf8proc_int32_t)point);
	bool hex = (point | 0x20) >= 'a' && (point | 0x20) <= 'f';
	switch (class) {
	case ST_UNICODE_ALNUM:
		return category & (LETTERS | BIT(ND));
	case ST_UNICODE_ALPHA:
		return category & LETTERS;
	case ST_UNICODE_ASCII:
		return point < 0x80;
	case ST_UNICODE_BLANK:
		return point == '\t' || category & BIT(ZS);
	case ST_UNICODE_CNTRL:
		return category & BIT(CC);
	case ST_UNICODE_DIGIT:
		return category & BIT(ND);
	case ST_UNICODE_GRAPH:
		return !(category & (SPACES | OTHERS));
	case ST_UNICODE_LOWER:
		return category & BIT(LL);
	case ST_UNICODE_PRINT:
		return !(category & OTHERS);
	case ST_UNICODE_PUNCT:
		return category & PUNCTUATION;
	case ST_UNICODE_SPACE:
		return (point >= '\t' && point <= '\r') || category & SPACES;
	case ST_UNICODE_UPPER:
		return category & BIT(LU);
	case ST_UNICODE_WORD:
		return category & (LETTERS | BIT(ND) | BIT(PC));
	case ST_UNICODE_XDIGIT:
		return (point >= '0' && point <= '9') || hex;
	}
	return false;
}

static void add_parts(struct st_buf *out, uint32_t point, unsigned options) {
	uint32_t parts[ST_UNICODE_PARTS];
	size_t count = decompose(point, parts, options);
	for (size_t i = 0; i < count; i++)
		st_utf8_add(out, parts[i]);
}

/* Does not sort marks by class, since names with marks in another order are rare. */
void st_unicode_decompose(struct st_buf *out, struct st_str text) {
	for (size_t i = 0; i < text.len;) {
		uint32_t point;
		size_t len = st_utf8_next(st_str_slice(text, i, text.len), &point);
		if (len == 1)
			st_buf_addc(out, text.ptr[i]);
		else
			add_parts(out, point, UTF8PROC_DECOMPOSE);
		i += len;
	}
}

static void fold(struct st_buf *out, struct st_str text, unsigned options) {
	for (size_t i = 0; i < text.len;) {
		char byte = text.ptr[i];
		if ((unsigned char)byte < 0x80) {
			st_buf_addc(out, byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte);
			i++;
			continue;
		}
		uint32_t point;
		size_t len = st_utf8_next(st_str_slice(text, i, text.len), &point);
		if (len == 1)
			st_buf_addc(out, byte);
		else
			add_parts(out, point, options);
		i += len;
	}
}

void st_unicode_fold(struct st_buf *out, struct st_str text) {
	fold(out, text, UTF8PROC_CASEFOLD | UTF8PROC_DECOMPOSE);
}

void st_unicode_fold_name(struct st_buf *out, struct st_str text) {
	fold(out, text, UTF8PROC_CASEFOLD | UTF8PROC_DECOMPOSE | UTF8PROC_IGNORE);
}

size_t st_unicode_width(struct st_str text) {
	size_t width = 0;
	for (size_t i = 0; i < text.len;) {
		uint32_t point;
		i += st_utf8_next(st_str_slice(text, i, text.len), &point);
		width += (size_t)utf8proc_charwidth((utf8proc_int32_t)point);
	}
	return width;
}

size_t stet_text_width(const char *text, size_t len) {
	return st_unicode_width(st_strn(text, len));
}
