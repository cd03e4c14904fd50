/**
 * JSON, with yyjson. No other file includes yyjson.h.
 *
 * Input is parsed strictly: valid UTF-8, no duplicate keys, at most
 * ST_JSON_DEPTH levels. Output may come from any file: bytes that are not UTF-8
 * become U+FFFD.
 */
#ifndef STET_BASE_JSON_H
#define STET_BASE_JSON_H

#include <yyjson.h>

#include "base/buf.h"
#include "base/error.h"

/** How deep arrays and objects may nest in input. */
#define ST_JSON_DEPTH 64

/**
 * Parse a JSON text.
 *
 * @what   The subject of error messages, in the plural, such as "The arguments".
 * @out    Receives the document, to be freed with yyjson_doc_free().
 * @return 0, STET_E_INVALID or STET_E_NOMEM.
 */
[[nodiscard]] int st_json_parse(struct st_str text, const char *what, yyjson_doc **out,
                                struct stet_error *err);

/**
 * st_json_parse() in two steps, for callers that need the document even if a
 * key occurs twice: parse the text, then refuse duplicate keys.
 */
[[nodiscard]] int st_json_parse_text(struct st_str text, const char *what, yyjson_doc **out,
                                     struct stet_error *err);
[[nodiscard]] int st_json_check_keys(yyjson_doc *doc, const char *what, struct stet_error *err);

/**
 * Parse a JSON text of any depth, with flags of yyjson, for example to allow
 * comments.
 *
 * @return 0, STET_E_NOMEM, or STET_E_INVALID with a message that is a part of a
 *         sentence: "not valid JSON: ... at line 3, column 7".
 */
[[nodiscard]] int st_json_read(struct st_str text, yyjson_read_flag flags, yyjson_doc **out,
                               struct stet_error *err);

/** A string value as a view; empty for any other value. */
static inline struct st_str st_json_str(yyjson_val *value) {
	/* yyjson_get_len() of an array or object counts its values. */
	return yyjson_is_str(value) ? st_strn(yyjson_get_str(value), yyjson_get_len(value))
	                            : st_str("");
}

/** Whether a value is an integer, in any notation: 3, 3.0, 3e0. */
bool st_json_is_int(yyjson_val *value);

/** An integer value; larger ones become INT64_MAX. 0 for any other value. */
int64_t st_json_int(yyjson_val *value);

/** The type of a value for messages: "a string", "a number", "an object". */
const char *st_json_kind(yyjson_val *value);

/** A new string value with a copy of the text; NULL if out of memory. */
yyjson_mut_val *st_json_text(yyjson_mut_doc *doc, struct st_str text);

/**
 * Add members to an object. The key is not copied. If this fails, st_json_write()
 * fails later.
 */
void st_json_add(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                 yyjson_mut_val *value);
void st_json_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                      struct st_str text);
void st_json_add_size(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, size_t value);
/** A time in nanoseconds since 1970, written as "2025-10-22T03:15:42Z". */
void st_json_add_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t ns);
void st_json_add_true(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key);

/** Add an empty object or array under a key, and return it; NULL if out of memory. */
yyjson_mut_val *st_json_add_object(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key);
yyjson_mut_val *st_json_add_array(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key);

/** Append a value to an array. If either is NULL, st_json_write() fails later. */
void st_json_push(yyjson_mut_doc *doc, yyjson_mut_val *array, yyjson_mut_val *value);

/** Append a text as a JSON string; bytes that are not UTF-8 become U+FFFD. */
void st_json_quote(struct st_buf *out, struct st_str text);

/** Append a value as compact JSON, with invisible characters escaped. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_json_write(yyjson_mut_doc *doc, yyjson_mut_val *value, struct st_buf *out,
                                struct stet_error *err);

#endif
