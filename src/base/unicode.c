#include "base/unicode.h"

#include <utf8proc.h>

#include "base/utf8.h"

/* Longer than any character decomposes to. */
#define MAX_PARTS 32

static void fold_point(struct st_buf *out, uint32_t point) {
	utf8proc_int32_t parts[MAX_PARTS];
	int boundary = 0;
	utf8proc_ssize_t count = utf8proc_decompose_char((utf8proc_int32_t)point, parts, MAX_PARTS,
	                                                 UTF8PROC_CASEFOLD | UTF8PROC_DECOMPOSE, &boundary);
	if (count < 0 || count > MAX_PARTS) {
		st_utf8_add(out, point);
		return;
	}
	for (utf8proc_ssize_t i = 0; i < count; i++)
		st_utf8_add(out, (uint32_t)parts[i]);
}

void st_unicode_fold(struct st_buf *out, struct st_str text) {
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
			fold_point(out, point);
		i += len;
	}
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
