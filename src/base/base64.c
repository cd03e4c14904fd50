#include "base/base64.h"

#include <stdint.h>

void st_base64_add(struct st_buf *out, struct st_str bytes) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	if (!st_buf_reserve(out, (bytes.len + 2) / 3 * 4))
		return;
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t three = (uint32_t)(unsigned char)bytes.ptr[i] << 16;
		if (left > 1)
			three |= (uint32_t)(unsigned char)bytes.ptr[i + 1] << 8;
		if (left > 2)
			three |= (uint32_t)(unsigned char)bytes.ptr[i + 2];
		st_buf_addc(out, digits[three >> 18]);
		st_buf_addc(out, digits[three >> 12 & 63]);
		st_buf_addc(out, left > 1 ? digits[three >> 6 & 63] : '=');
		st_buf_addc(out, left > 2 ? digits[three & 63] : '=');
	}
}
