#include "base/uri.h"

#include "base/hex.h"

static bool is_unreserved(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("-._~/", c));
}

void st_uri_add_path(struct st_buf *out, struct st_str path) {
	for (size_t i = 0; i < path.len; i++) {
		if (is_unreserved(path.ptr[i]))
			st_buf_addc(out, path.ptr[i]);
		else
			st_buf_addf(out, "%%%02X", (unsigned char)path.ptr[i]);
	}
}

bool st_uri_decode(struct st_buf *out, struct st_str text) {
	for (size_t i = 0; i < text.len; i++) {
		char byte = text.ptr[i];
		if (byte == '%') {
			if (i + 2 >= text.len || st_hex_decode(st_strn(text.ptr + i + 1, 2), &byte, 1) != 1)
				return false;
			i += 2;
		}
		if (byte == '\0')
			return false;
		st_buf_addc(out, byte);
	}
	return !out->failed;
}

bool st_uri_path(struct st_str uri, struct st_buf *path) {
	static const char *const starts[] = {"file:///", "file://localhost/"};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		struct st_str start = st_str(starts[i]);
		if (st_str_starts(uri, start))
			return st_uri_decode(path, st_str_slice(uri, start.len - 1, uri.len));
	}
	return false;
}
