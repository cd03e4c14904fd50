/* stet/json.h, implemented with yyjson. */
#include "stet/json.h"

#include "base/json.h"
#include "base/quote.h"
#include "base/utf8.h"

struct stet_json {
	yyjson_mut_doc *doc;
	/** A setter failed. */
	bool failed;
};

static struct stet_json *json_new(yyjson_mut_doc *doc) {
	struct stet_json *json = doc ? calloc(1, sizeof *json) : NULL;
	if (!json)
		yyjson_mut_doc_free(doc);
	else
		json->doc = doc;
	return json;
}

static yyjson_mut_val *value_at(const struct stet_json *json, const char *pointer) {
	return yyjson_mut_doc_ptr_get(json->doc, pointer);
}

struct stet_json *stet_json_new(void) {
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = doc ? yyjson_mut_obj(doc) : NULL;
	if (root)
		yyjson_mut_doc_set_root(doc, root);
	struct stet_json *json = json_new(doc);
	if (json)
		json->failed = !root;
	return json;
}

int stet_json_parse(const char *text, size_t len, int comments, struct stet_json **out,
                    struct stet_error *err) {
	*out = NULL;
	st_error_clear(err);
	yyjson_doc *doc = NULL;
	yyjson_read_flag flags =
		comments ? YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS : 0;
	int code = st_json_read(st_strn(text, len), flags, &doc, err);
	if (code < 0)
		return code;
	*out = json_new(yyjson_doc_mut_copy(doc, NULL));
	yyjson_doc_free(doc);
	return *out ? 0 : st_fail_nomem(err);
}

void stet_json_free(struct stet_json *json) {
	if (!json)
		return;
	yyjson_mut_doc_free(json->doc);
	free(json);
}

const char *stet_json_type(const struct stet_json *json, const char *pointer) {
	if (!json)
		return NULL;
	yyjson_mut_val *value = value_at(json, pointer);
	switch (yyjson_mut_get_type(value)) {
	case YYJSON_TYPE_OBJ:
		return "object";
	case YYJSON_TYPE_ARR:
		return "array";
	case YYJSON_TYPE_STR:
		return "string";
	case YYJSON_TYPE_NUM:
		return "number";
	case YYJSON_TYPE_BOOL:
		return "boolean";
	case YYJSON_TYPE_NULL:
		return "null";
	default:
		return NULL;
	}
}

const char *stet_json_text(const struct stet_json *json, const char *pointer, size_t *len) {
	if (!json)
		return NULL;
	yyjson_mut_val *value = value_at(json, pointer);
	if (len)
		*len = yyjson_mut_is_str(value) ? yyjson_mut_get_len(value) : 0;
	return yyjson_mut_get_str(value);
}

int64_t stet_json_int(const struct stet_json *json, const char *pointer, int64_t fallback) {
	if (!json)
		return fallback;
	yyjson_mut_val *value = value_at(json, pointer);
	return yyjson_mut_is_int(value) ? yyjson_mut_get_sint(value) : fallback;
}

int stet_json_true(const struct stet_json *json, const char *pointer) {
	if (!json)
		return 0;
	return yyjson_mut_is_true(value_at(json, pointer));
}

size_t stet_json_count(const struct stet_json *json, const char *pointer) {
	if (!json)
		return 0;
	yyjson_mut_val *value = value_at(json, pointer);
	return yyjson_mut_is_obj(value) ? yyjson_mut_obj_size(value) : yyjson_mut_arr_size(value);
}

const char *stet_json_key(const struct stet_json *json, const char *pointer, size_t n) {
	if (!json)
		return NULL;
	yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(value_at(json, pointer));
	yyjson_mut_val *key = NULL;
	for (size_t i = 0; i <= n && (key = yyjson_mut_obj_iter_next(&iter)); i++)
		;
	return yyjson_mut_get_str(key);
}

/* The array at a pointer, created if it does not exist. */
static yyjson_mut_val *array_of(struct stet_json *json, const char *pointer, size_t len) {
	yyjson_mut_val *array = yyjson_mut_doc_ptr_getn(json->doc, pointer, len);
	if (array)
		return array;
	array = yyjson_mut_arr(json->doc);
	return array && yyjson_mut_doc_ptr_setn(json->doc, pointer, len, array) ? array : NULL;
}

static void set_value(struct stet_json *json, const char *pointer, yyjson_mut_val *value) {
	size_t len = strlen(pointer);
	bool append = len >= 2 && strcmp(pointer + len - 2, "/-") == 0;
	if (!value || (append ? !yyjson_mut_arr_append(array_of(json, pointer, len - 2), value)
	                      : !yyjson_mut_doc_ptr_setn(json->doc, pointer, len, value)))
		json->failed = true;
}

void stet_json_set_text(struct stet_json *json, const char *pointer, const char *text, size_t len) {
	if (!json)
		return;
	bool valid = st_utf8_valid(st_strn(text, len));
	set_value(json, pointer, valid ? yyjson_mut_strncpy(json->doc, text, len) : NULL);
}

void stet_json_set_int(struct stet_json *json, const char *pointer, int64_t value) {
	if (!json)
		return;
	set_value(json, pointer, yyjson_mut_sint(json->doc, value));
}

void stet_json_set_bool(struct stet_json *json, const char *pointer, int value) {
	if (!json)
		return;
	set_value(json, pointer, yyjson_mut_bool(json->doc, value != 0));
}

void stet_json_set_json(struct stet_json *json, const char *pointer, const char *text, size_t len) {
	if (!json)
		return;
	yyjson_doc *doc = NULL;
	if (st_json_read(st_strn(text, len), 0, &doc, NULL) < 0) {
		json->failed = true;
		return;
	}
	set_value(json, pointer, yyjson_val_mut_copy(json->doc, yyjson_doc_get_root(doc)));
	yyjson_doc_free(doc);
}

char *stet_json_write_at(const struct stet_json *json, const char *pointer, int pretty,
                         size_t *len) {
	if (!json)
		return NULL;
	yyjson_write_flag flags = pretty ? YYJSON_WRITE_PRETTY_TWO_SPACES : 0;
	yyjson_mut_val *value = json->failed ? NULL : value_at(json, pointer);
	size_t raw_len = 0;
	char *raw = value ? yyjson_mut_val_write(value, flags, &raw_len) : NULL;
	struct st_buf out = ST_BUF_INIT;
	if (raw)
		st_quote_json(&out, st_strn(raw, raw_len));
	free(raw);
	if (out.failed)
		st_buf_release(&out);
	if (len && out.ptr)
		*len = out.len;
	return out.ptr;
}

char *stet_json_write(const struct stet_json *json, int pretty, size_t *len) {
	if (!json)
		return NULL;
	return stet_json_write_at(json, "", pretty, len);
}
