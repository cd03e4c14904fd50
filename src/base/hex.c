#include "base/hex.h"

int st_hex_digit(char digit) {
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit |= 0x20;
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

void st_hex_add(struct st_buf *out, struct st_str bytes) {
	for (size_t i = 0; i < bytes.len; i++)
		st_buf_addf(out, "%02x", (unsigned char)bytes.ptr[i]);
}

ssize_t st_hex_decode(struct st_str hex, void *bytes, size_t max) {
	unsigned char *out = bytes;
	if (hex.len % 2 || hex.len / 2 > max)
		return -1;
	for (size_t i = 0; i < hex.len / 2; i++) {
		int high = st_hex_digit(hex.ptr[2 * i]), low = st_hex_digit(hex.ptr[2 * i + 1]);
		if (high < 0 || low < 0)
			return -1;
		out[i] = (unsigned char)(high << 4 | low);
	}
	return (ssize_t)(hex.len / 2);
}
