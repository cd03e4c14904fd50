#include "net/chunks.h"

enum { DIGITS_MAX = 8 };

static int digit_of(char c) {
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool take_size(struct st_chunks *chunks, char c) {
	int digit = digit_of(c);
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

static bool expect(struct st_chunks *chunks, char c, char wanted, enum st_chunks_state next) {
	chunks->state = next;
	return c == wanted;
}

static bool take_byte(struct st_chunks *chunks, char c) {
	switch (chunks->state) {
	case ST_CHUNKS_SIZE:
		return take_size(chunks, c);
	case ST_CHUNKS_SIZE_LF:
		return expect(chunks, c, '\n', chunks->left > 0 ? ST_CHUNKS_DATA : ST_CHUNKS_LAST_CR);
	case ST_CHUNKS_DATA_CR:
		return expect(chunks, c, '\r', ST_CHUNKS_DATA_LF);
	case ST_CHUNKS_DATA_LF:
		chunks->digits = 0;
		return expect(chunks, c, '\n', ST_CHUNKS_SIZE);
	case ST_CHUNKS_LAST_CR:
		return expect(chunks, c, '\r', ST_CHUNKS_LAST_LF);
	case ST_CHUNKS_LAST_LF:
		return expect(chunks, c, '\n', ST_CHUNKS_DONE);
	default:
		return false;
	}
}

bool st_chunks_take(struct st_chunks *chunks, struct st_str *bytes, struct st_str *data) {
	*data = st_strn(bytes->ptr, 0);
	if (chunks->state != ST_CHUNKS_DATA) {
		char c = bytes->ptr[0];
		*bytes = st_str_slice(*bytes, 1, bytes->len);
		return take_byte(chunks, c);
	}
	data->len = bytes->len < chunks->left ? bytes->len : (size_t)chunks->left;
	*bytes = st_str_slice(*bytes, data->len, bytes->len);
	chunks->left -= data->len;
	if (chunks->left == 0)
		chunks->state = ST_CHUNKS_DATA_CR;
	return true;
}
