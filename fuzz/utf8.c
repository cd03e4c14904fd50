/*
 * UTF-8: decoding never reads past the end, valid text survives a round trip, lossy
 * output is always valid, and a cut never splits a character.
 */
#include "base/utf8.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool truth) {
	if (!truth)
		abort();
}

/* Decode and encode again; true if no byte was invalid. */
static bool round_trip(struct st_str text, struct st_buf *out) {
	bool valid = true;
	for (size_t i = 0; i < text.len;) {
		struct st_str rest = st_str_slice(text, i, text.len);
		uint32_t point;
		size_t len = st_utf8_next(rest, &point);
		must(len >= 1 && len <= rest.len && len <= 4);
		if (len == 1 && point == 0xFFFD)
			valid = false;
		st_utf8_add(out, point);
		i += len;
	}
	return valid;
}

static void check_cuts(struct st_str text) {
	for (size_t max = 0; max <= text.len && max < 64; max++) {
		size_t end = st_utf8_cut(text, max);
		must(end <= max);
		must(st_utf8_valid(st_strn(text.ptr, end)));
		must(max - end < 4);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	struct st_str text = st_strn((const char *)data, len);
	st_auto(st_buf) encoded = ST_BUF_INIT;
	st_auto(st_buf) shown = ST_BUF_INIT;

	bool valid = round_trip(text, &encoded);
	must(valid == st_utf8_valid(text));
	must(st_utf8_add_lossy(&shown, text) == !valid);
	must(st_utf8_valid(st_buf_str(&shown)));
	must(st_str_eq(st_buf_str(&shown), st_buf_str(&encoded)));
	if (valid) {
		must(st_str_eq(st_buf_str(&shown), text));
		check_cuts(text);
	}
	return 0;
}
