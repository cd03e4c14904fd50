#include "net/chunks.h"

#include <assert.h>

#include "base/hex.h"

enum { DIGITS_MAX = 8 };

static bool read_size(struct st_chunks *chunks, char c) {
	int digit = st_hex_digit(c);
	if (c == '\r' && chunks->digits > 0) {
		chunks->state = ST_CHUNKS_SIZE_LF;
		return true;
	}
	if (digit < 0 || chunks->digits == DIGITS_MAX)
		return false;
	chunks->digits++;
	chunks->left = chunks->left << 4 | (unsigned)digit;
	return true;
}

static bool expect_byte(struct st_chunks *chunks, char c, char wanted, enum st_chunks_state next) {
	chunks->state = next;
	return c == wanted;
}

static bool read_framing(struct st_chunks *chunks, char c) {
	switch (chunks->state) {
	case ST_CHUNKS_SIZE:
		return read_size(chunks, c);
	case ST_CHUNKS_SIZE_LF:
		return expect_byte(chunks, c, '\n', chunks->left > 0 ? ST_CHUNKS_DATA : ST_CHUNKS_LAST_CR);
	case ST_CHUNKS_DATA_CR:
		return expect_byte(chunks, c, '\r', ST_CHUNKS_DATA_LF);
	case ST_CHUNKS_DATA_LF:
		chunks->digits = 0;
		return expect_byte(chunks, c, '\n', ST_CHUNKS_SIZE);
	case ST_CHUNKS_LAST_CR:
		return expect_byte(chunks, c, '\r', ST_CHUNKS_LAST_LF);
	case ST_CHUNKS_LAST_LF:
		return expect_byte(chunks, c, '\n', ST_CHUNKS_DONE);
	default:
		return false;
	}
}

bool st_chunks_decode(struct st_chunks *chunks, struct st_str *bytes, struct st_str *data) {
	assert(bytes->len > 0);
	*data = st_strn(bytes->ptr, 0);
	if (chunks->state != ST_CHUNKS_DATA) {
		char c = bytes->ptr[0];
		*bytes = st_str_slice(*bytes, 1, bytes->len);
		return read_framing(chunks, c);
	}
	data->len = bytes->len < chunks->left ? bytes->len : (size_t)chunks->left;
	*bytes = st_str_slice(*bytes, data->len, bytes->len);
	chunks->left -= data->len;
	if (chunks->left == 0)
		chunks->state = ST_CHUNKS_DATA_CR;
	return true;
}
