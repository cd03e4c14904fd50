#include "base/json.h"

#include <endian.h>
#include <limits.h>
#include <time.h>

#include "base/cancel.h"
#include "base/quote.h"
#include "base/utf8.h"

static bool is_opening(char byte) {
	return byte == '[' || byte == '{';
}

/* The index after the closing quote of a string whose bytes begin at start; or the text's length. */
static size_t string_end(struct st_str text, size_t start) {
	const char *quote = text.ptr + start;
	while ((quote = memchr(quote, '"', text.len - (size_t)(quote - text.ptr)))) {
		size_t end = (size_t)(quote - text.ptr), slash = end;
		while (slash > start && text.ptr[slash - 1] == '\\')
			slash--;
		if ((end - slash) % 2 == 0)
			return end + 1;
		quote++;
	}
	return text.len;
}

/* Count brackets outside strings, before the parser allocates memory for a deep text. */
static bool is_too_deep(struct st_str text) {
	size_t opened = 0, depth = 0;
	for (size_t i = 0; i < text.len; i++)
		opened += is_opening(text.ptr[i]);
	/* The quick answer for most texts: the depth is at most the number of brackets. */
	if (opened <= ST_JSON_DEPTH)
		return false;
	for (size_t i = 0; i < text.len;) {
		char byte = text.ptr[i++];
		if (byte == '"')
			i = string_end(text, i);
		else if (is_opening(byte) && ++depth > ST_JSON_DEPTH)
			return true;
		else if ((byte == ']' || byte == '}') && depth > 0)
			depth--;
	}
	return false;
}

static int by_key(const void *a, const void *b) {
	return st_str_cmp(st_json_str(*(yyjson_val *const *)a), st_json_str(*(yyjson_val *const *)b));
}

/* A key that does not lead to its own value is a duplicate. */
static int find_among_few(yyjson_val *object, struct st_str *key) {
	yyjson_obj_iter all = yyjson_obj_iter_with(object);
	for (yyjson_val *name; (name = yyjson_obj_iter_next(&all));) {
		*key = st_json_str(name);
		if (yyjson_obj_getn(object, key->ptr, key->len) != yyjson_obj_iter_get_val(name))
			return 1;
	}
	return 0;
}

static int find_among_many(yyjson_val *object, struct st_str *key, struct stet_error *err) {
	st_autofree yyjson_val **keys = calloc(yyjson_obj_size(object) + 1, sizeof *keys);
	if (!keys)
		return st_fail_nomem(err);
	size_t i, max, used = 0;
	yyjson_val *name, *value;
	yyjson_obj_foreach(object, i, max, name, value) keys[used++] = name;
	qsort(keys, used, sizeof *keys, by_key);
	for (i = 1; i < used; i++) {
		*key = st_json_str(keys[i]);
		if (st_str_eq(*key, st_json_str(keys[i - 1])))
			return 1;
	}
	return 0;
}

/* Returns 1 and the key if an object has a key twice, else 0. */
static int find_duplicate(yyjson_val *object, struct st_str *key, struct stet_error *err) {
	enum { FEW = 8 };
	return yyjson_obj_size(object) > FEW ? find_among_many(object, key, err)
	                                     : find_among_few(object, key);
}

/* yyjson stores all values of a document in one array, so no recursion is needed. */
int st_json_check_keys(yyjson_doc *doc, const char *what, struct stet_error *err) {
	yyjson_val *value = yyjson_doc_get_root(doc);
	for (size_t i = yyjson_doc_get_val_count(doc); i > 0; i--, value++) {
		struct st_str key;
		int code = yyjson_is_obj(value) ? find_duplicate(value, &key, err) : 0;
		if (code < 0)
			return code;
		if (code > 0)
			return st_fail(err, STET_E_INVALID,
			               "%s have the key \"%.*s\" twice in one object. Give it once.", what,
			               (int)(key.len < 100 ? key.len : 100), key.ptr);
	}
	return 0;
}

int st_json_read(struct st_str text, yyjson_read_flag flags, yyjson_doc **out,
                 struct stet_error *err) {
	yyjson_read_err why = {0};
	/* yyjson takes a char pointer, but only writes to it with the in-situ flag. */
	union {
		const char *readable;
		char *wanted;
	} bytes = {.readable = text.ptr};
	*out = yyjson_read_opts(bytes.wanted, text.len, flags, NULL, &why);
	if (*out)
		return 0;
	if (why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return st_fail_nomem(err);
	size_t line = 0, column = 0, character = 0;
	yyjson_locate_pos(text.ptr, text.len, why.pos, &line, &column, &character);
	return st_fail(err, STET_E_INVALID, "not valid JSON: %s at line %zu, column %zu", why.msg, line,
	               column);
}

int st_json_parse_text(struct st_str text, const char *what, yyjson_doc **out,
                       struct stet_error *err) {
	*out = NULL;
	if (is_too_deep(text))
		return st_fail(err, STET_E_INVALID, "%s nest deeper than %d levels.", what, ST_JSON_DEPTH);
	struct stet_error why = {0};
	st_cancel_progress(text.len);
	int code = st_json_read(text, 0, out, &why);
	st_cancel_progress(text.len);
	if (code == STET_E_INVALID)
		return st_fail(err, STET_E_INVALID, "%s are %s.", what, why.message);
	return code < 0 ? st_fail_nomem(err) : 0;
}

int st_json_parse(struct st_str text, const char *what, yyjson_doc **out, struct stet_error *err) {
	int code = st_json_parse_text(text, what, out, err);
	if (code == 0)
		code = st_json_check_keys(*out, what, err);
	if (code < 0) {
		yyjson_doc_free(*out);
		*out = NULL;
	}
	return code;
}

/* Convert an integral double; false if it is not integral or out of range. */
static bool to_int(double number, int64_t *out) {
	if (!(number >= -0x1p63 && number < 0x1p63))
		return false;
	*out = (int64_t)number;
	return (double)*out == number;
}

bool st_json_is_int(yyjson_val *value) {
	int64_t number;
	return yyjson_is_int(value) ||
	       (yyjson_is_real(value) && to_int(yyjson_get_real(value), &number));
}

int64_t st_json_int(yyjson_val *value) {
	int64_t number;
	if (yyjson_is_uint(value) && yyjson_get_uint(value) > INT64_MAX)
		return INT64_MAX;
	if (yyjson_is_real(value))
		return to_int(yyjson_get_real(value), &number) ? number : 0;
	return yyjson_get_sint(value);
}

const char *st_json_kind(yyjson_val *value) {
	switch (yyjson_get_type(value)) {
	case YYJSON_TYPE_STR:
		return "a string";
	case YYJSON_TYPE_NUM:
		return yyjson_is_real(value) ? "a number that is no integer" : "a number";
	case YYJSON_TYPE_BOOL:
		return "true or false";
	case YYJSON_TYPE_ARR:
		return "an array";
	case YYJSON_TYPE_OBJ:
		return "an object";
	default:
		return "null";
	}
}

yyjson_mut_val *st_json_text(yyjson_mut_doc *doc, struct st_str text) {
	if (st_utf8_valid(text))
		return yyjson_mut_strncpy(doc, text.ptr, text.len);
	st_auto(st_buf) readable_text = ST_BUF_INIT;
	st_utf8_add_lossy(&readable_text, text);
	return readable_text.failed ? NULL
	                            : yyjson_mut_strncpy(doc, readable_text.ptr, readable_text.len);
}

/* A document without a root counts as failed. */
static void mark_failed(yyjson_mut_doc *doc) {
	yyjson_mut_doc_set_root(doc, NULL);
}

void st_json_add(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                 yyjson_mut_val *value) {
	if (!object || !value || !yyjson_mut_obj_add_val(doc, object, key, value))
		mark_failed(doc);
}

void st_json_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                      struct st_str text) {
	st_json_add(doc, object, key, st_json_text(doc, text));
}

void st_json_add_size(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, size_t value) {
	st_json_add(doc, object, key, yyjson_mut_uint(doc, value));
}

void st_json_add_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t ns) {
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[40];
	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0)
		st_json_add_text(doc, object, key, st_str(text));
}

void st_json_add_true(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key) {
	st_json_add(doc, object, key, yyjson_mut_bool(doc, true));
}

yyjson_mut_val *st_json_add_object(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key) {
	yyjson_mut_val *value = yyjson_mut_obj(doc);
	st_json_add(doc, object, key, value);
	return value;
}

yyjson_mut_val *st_json_add_array(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key) {
	yyjson_mut_val *value = yyjson_mut_arr(doc);
	st_json_add(doc, object, key, value);
	return value;
}

void st_json_push(yyjson_mut_doc *doc, yyjson_mut_val *array, yyjson_mut_val *value) {
	if (!array || !value || !yyjson_mut_arr_append(array, value))
		mark_failed(doc);
}

/*
 * Text is quoted in blocks. One takes at most twice its bytes and six for a character, and
 * up to a block behind that is overwritten.
 */
enum { LANES = 16, BLOCK = 2 * LANES, ROOM = 4 * BLOCK };

/* A bit for each byte of half a block that is not ASCII or needs an escape. */
static uint64_t find_in_half(const char *half) {
	signed char all __attribute__((vector_size(LANES)));
	memcpy(&all, half, sizeof all);
	all = (all < ' ') | (all == '"') | (all == '\\');
#ifdef __SSE2__
	typedef char bytes __attribute__((vector_size(LANES)));
	return (uint64_t)__builtin_ia32_pmovmskb128((bytes)all);
#else
	uint64_t halves[2];
	memcpy(halves, &all, sizeof all);
	for (int i = 0; i < 2; i++)
		halves[i] = (le64toh(halves[i]) & 0x8080808080808080) * 0x0002040810204081 >> 56;
	return halves[0] | halves[1] << 8;
#endif
}

static uint64_t find_others(const char *block) {
	return find_in_half(block) | find_in_half(block + LANES) << LANES;
}

/* The letter that stands for a byte behind a backslash. */
static const char letters[0x100] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
                                    ['\t'] = 't', ['"'] = '"',  ['\\'] = '\\'};

static char *write_escape(char *to, char letter) {
	to[0] = '\\';
	to[1] = letter;
	return to + 2;
}

/*
 * Quote a block, up to the first byte that has no short escape; returns how many bytes
 * that is. To copy a whole block is quicker than to copy what is needed, so the block
 * behind this one is read, too.
 */
static size_t quote_block(char **to, const char *from) {
	char *end = *to;
	size_t done = 0;
	for (uint64_t others = find_others(from); others; others &= others - 1) {
		size_t next = (size_t)__builtin_ctzll(others);
		char letter = letters[(unsigned char)from[next]];
		memcpy(end, from + done, BLOCK);
		*to = end += next - done;
		if (!letter)
			return next;
		end = write_escape(end, letter);
		done = next + 1;
	}
	memcpy(end, from + done, BLOCK);
	*to = end + (BLOCK - done);
	return BLOCK;
}

/* Quote a character; a byte that is not UTF-8 becomes U+FFFD. Returns how many bytes it has. */
static size_t quote_char(char **to, struct st_str text) {
	static const struct st_str replacement = ST_STR("\uFFFD");
	unsigned char c = (unsigned char)*text.ptr;
	uint32_t point;
	size_t len = st_utf8_next(text, &point);
	if (letters[c]) {
		*to = write_escape(*to, letters[c]);
	} else if (c < ' ') {
		*to += snprintf(*to, ROOM, "\\u%04X", c);
	} else {
		struct st_str copy = c >= 0x80 && len == 1 ? replacement : st_str_slice(text, 0, len);
		memcpy(*to, copy.ptr, copy.len);
		*to += copy.len;
	}
	return len;
}

/* Copy the end of a text, behind which nothing may be read. A NUL has no short escape. */
static const char *pad_text(struct st_str text, char padded[static 2 * BLOCK]) {
	memset(padded, '\0', 2 * BLOCK);
	return memcpy(padded, text.ptr, text.len);
}

/* Quote as much as there is room for; returns the rest of the text. */
static struct st_str quote_into_room(struct st_buf *out, struct st_str text) {
	char last[2 * BLOCK], *to = out->ptr + out->len;
	const char *end = out->ptr + out->cap - ROOM;
	while (text.len > 0 && to < end) {
		const char *from = text.len < sizeof last ? pad_text(text, last) : text.ptr;
		size_t len = quote_block(&to, from);
		if (len < BLOCK && len < text.len)
			len += quote_char(&to, st_str_slice(text, len, text.len));
		text = st_str_slice(text, len, text.len);
	}
	out->len = (size_t)(to - out->ptr);
	return text;
}

void st_json_quote(struct st_buf *out, struct st_str text) {
	st_buf_addc(out, '"');
	/* With a sixteenth for escapes, most texts fit at once. */
	while (text.len > 0 && st_buf_reserve(out, text.len + text.len / 16 + ROOM + 1))
		text = quote_into_room(out, text);
	st_buf_addc(out, '"');
}

int st_json_write(yyjson_mut_doc *doc, yyjson_mut_val *value, struct st_buf *out,
                  struct stet_error *err) {
	if (!yyjson_mut_doc_get_root(doc) || !value)
		return st_fail_nomem(err);
	size_t len;
	char *text = yyjson_mut_val_write(value, YYJSON_WRITE_NOFLAG, &len);
	if (!text)
		return st_fail_nomem(err);
	st_quote_json(out, st_strn(text, len));
	free(text);
	return out->failed ? st_fail_nomem(err) : 0;
}
