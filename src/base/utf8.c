#include "base/utf8.h"

#include <assert.h>

#include "base/cancel.h"

static bool is_tail(unsigned char byte) {
	return (byte & 0xC0) == 0x80;
}

size_t st_utf8_next(struct st_str s, uint32_t *point) {
	assert(s.len > 0);
	const unsigned char *p = (const unsigned char *)s.ptr;
	unsigned char lead = p[0];

	if (lead < 0x80) {
		*point = lead;
		return 1;
	}
	size_t len = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
	*point = 0xFFFD;
	if (lead < 0xC2 || lead > 0xF4 || s.len < len)
		return 1;

	uint32_t value = lead & (0x7Fu >> len);
	for (size_t i = 1; i < len; i++) {
		if (!is_tail(p[i]))
			return 1;
		value = value << 6 | (p[i] & 0x3Fu);
	}
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	if (value < least[len] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
		return 1;
	*point = value;
	return len;
}

/* The length of the ASCII prefix, found 64 bytes at a time. */
static size_t ascii_run(struct st_str s) {
	size_t i = 0;
	for (uint64_t lanes[8]; i + sizeof lanes <= s.len; i += sizeof lanes) {
		uint64_t all = 0;
		memcpy(lanes, s.ptr + i, sizeof lanes);
		for (size_t k = 0; k < sizeof lanes / sizeof *lanes; k++)
			all |= lanes[k];
		if (all & 0x8080808080808080u)
			break;
	}
	for (; i + 8 <= s.len; i += 8) {
		uint64_t word;
		memcpy(&word, s.ptr + i, 8);
		if (word & 0x8080808080808080u)
			break;
	}
	while (i < s.len && (unsigned char)s.ptr[i] < 0x80)
		i++;
	return i;
}

/* The length of the longest valid prefix. */
static size_t valid_run(struct st_str s) {
	size_t i = 0, reported = 0;
	while (i < s.len) {
		if (i - reported >= ST_CANCEL_STEP) {
			st_cancel_progress(i - reported);
			reported = i;
		}
		i += ascii_run(st_str_slice(s, i, s.len));
		if (i == s.len)
			break;
		uint32_t point;
		size_t len = st_utf8_next(st_str_slice(s, i, s.len), &point);
		if (len == 1)
			break;
		i += len;
	}
	return i;
}

bool st_utf8_valid(struct st_str s) {
	return valid_run(s) == s.len;
}

void st_utf8_add(struct st_buf *buf, uint32_t point) {
	char bytes[4];
	size_t len = 1;

	if (point < 0x80) {
		bytes[0] = (char)point;
	} else if (point < 0x800) {
		bytes[0] = (char)(0xC0 | point >> 6);
		len = 2;
	} else if (point < 0x10000) {
		bytes[0] = (char)(0xE0 | point >> 12);
		len = 3;
	} else {
		bytes[0] = (char)(0xF0 | point >> 18);
		len = 4;
	}
	for (size_t i = 1; i < len; i++)
		bytes[i] = (char)(0x80 | (point >> 6 * (len - 1 - i) & 0x3F));
	st_buf_add(buf, st_strn(bytes, len));
}

bool st_utf8_add_lossy(struct st_buf *buf, struct st_str s) {
	bool lossy = false;
	size_t i = 0;
	for (;;) {
		size_t run = valid_run(st_str_slice(s, i, s.len));
		st_buf_add(buf, st_str_slice(s, i, i + run));
		i += run;
		if (i == s.len)
			return lossy;
		st_utf8_add(buf, 0xFFFD);
		lossy = true;
		i++;
	}
}

size_t st_utf8_cut(struct st_str s, size_t max) {
	if (s.len <= max)
		return s.len;
	size_t end = max;
	while (end > 0 && max - end < 4 && is_tail((unsigned char)s.ptr[end]))
		end--;
	/* More than three tail bytes are not UTF-8: cut anywhere. */
	return is_tail((unsigned char)s.ptr[end]) ? max : end;
}
