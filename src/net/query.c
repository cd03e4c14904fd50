#include "net/query.h"

#include <string.h>

#include "base/hex.h"
#include "base/utf8.h"

/* Decode "a%20b+c" up to its end or "&". */
static bool decode_value(const char *text, struct st_buf *out) {
	st_buf_clear(out);
	for (; *text && *text != '&'; text++) {
		char c = *text == '+' ? ' ' : *text;
		if (c == '%') {
			int high = st_hex_digit(text[1]);
			int low = high < 0 ? -1 : st_hex_digit(text[2]);
			if (low < 0 || high + low == 0)
				return false;
			c = (char)(high << 4 | low);
			text += 2;
		}
		st_buf_addc(out, c);
	}
	return !out->failed && st_utf8_valid(st_buf_str(out));
}

bool st_query_is_valid(const char *query) {
	st_auto(st_buf) value = ST_BUF_INIT;
	bool valid = true;
	while (valid && query && *query) {
		const char *equals = query + strcspn(query, "=&");
		valid = *equals != '=' || decode_value(equals + 1, &value);
		query = strchr(query, '&');
		if (query)
			query++;
	}
	return valid;
}

bool st_query_get(const char *query, const char *name, struct st_buf *out) {
	size_t len = strlen(name);
	while (query && *query) {
		if (strncmp(query, name, len) == 0 && query[len] == '=')
			return decode_value(query + len + 1, out);
		query = strchr(query, '&');
		if (query)
			query++;
	}
	return false;
}
