#include "base/shown.h"

#include <stdio.h>

#include "base/utf8.h"

/* Controls, separators of lines, marks of direction, and what takes no room. */
static bool is_hidden(uint32_t point) {
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x061C, 0x061C},
		{0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
		{0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
	};
	for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
		if (point >= hidden[i].first && point <= hidden[i].last)
			return true;
	}
	return false;
}

/* One character, or one byte that is none, as it is shown. Its length. */
static size_t show(struct st_str bytes, uint32_t point, char out[16]) {
	static const char escaped[] = "\n\r\t\"\\";
	static const char letters[] = "nrt\"\\";
	const char *escape = point && point < 0x80 ? strchr(escaped, (int)point) : NULL;
	if (escape)
		return (size_t)snprintf(out, 16, "\\%c", letters[escape - escaped]);
	if (bytes.len == 1 && point >= 0x80)
		return (size_t)snprintf(out, 16, "\\x%02x", (unsigned char)bytes.ptr[0]);
	if (is_hidden(point))
		return (size_t)snprintf(out, 16, "\\u%04x", (unsigned)point);
	memcpy(out, bytes.ptr, bytes.len);
	return bytes.len;
}

const char *st_shown_into(struct st_shown *room, struct st_str name) {
	static const char cut[] = "...\"";
	size_t len = 0;
	room->text[len++] = '"';
	while (name.len > 0) {
		uint32_t point;
		char out[16];
		size_t used = st_utf8_next(name, &point);
		size_t add = show(st_strn(name.ptr, used), point, out);
		if (len + add + sizeof cut > sizeof room->text) {
			memcpy(room->text + len, cut, sizeof cut);
			return room->text;
		}
		memcpy(room->text + len, out, add);
		len += add;
		name = st_str_slice(name, used, name.len);
	}
	room->text[len++] = '"';
	room->text[len] = '\0';
	return room->text;
}
