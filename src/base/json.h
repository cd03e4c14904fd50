/**
 * JSON, through yyjson: this header is the one place that includes it.
 *
 * What comes from outside is read strictly: no duplicate keys, nesting within
 * ST_JSON_DEPTH, valid UTF-8. What goes out may hold any bytes of a file;
 * those that are not UTF-8 are shown as U+FFFD.
 */
#ifndef STET_BASE_JSON_H
#define STET_BASE_JSON_H

#include <yyjson.h>

#include "base/buf.h"
#include "base/error.h"

/** How deep arrays and objects may nest in what is read. */
#define ST_JSON_DEPTH 64

/**
 * Read a JSON text.
 *
 * @what   What it is, for the message, such as "The arguments".
 * @out    Receives the document, to be freed with yyjson_doc_free().
 * @return 0, STET_E_INVALID or STET_E_NOMEM.
 */
[[nodiscard]] int st_json_parse(struct st_str text, const char *what, yyjson_doc **out,
                                struct stet_error *err);

/**
 * The two halves of it: the text as such, and whether an object has a key
 * twice. For those who have to answer something even then.
 */
[[nodiscard]] int st_json_parse_text(struct st_str text, const char *what, yyjson_doc **out,
                                     struct stet_error *err);
[[nodiscard]] int st_json_check_keys(yyjson_doc *doc, const char *what, struct stet_error *err);

/**
 * Read a JSON text of any depth, with yyjson's own flags, such as the one that
 * allows comments.
 *
 * @return 0, STET_E_NOMEM, or STET_E_INVALID with a message that names the
 *         place but is no sentence yet: "not valid JSON: ... at line 3, column 7".
 */
[[nodiscard]] int st_json_read(struct st_str text, yyjson_read_flag flags, yyjson_doc **out,
                               struct stet_error *err);

/** A string value as a view; empty for any other value. */
static inline struct st_str st_json_str(yyjson_val *value) {
	/* The length of an array or object is another one. */
	return yyjson_is_str(value) ? st_strn(yyjson_get_str(value), yyjson_get_len(value))
	                            : st_str("");
}

/** Whether a value is an integer, however it is written: 3, 3.0, 3e0. */
bool st_json_is_int(yyjson_val *value);

/** An integer value; one beyond int64 is as good as the largest. 0 for any other value. */
int64_t st_json_int(yyjson_val *value);

/** What kind of value it is, for messages: "a string", "a number", "an object". */
const char *st_json_kind(yyjson_val *value);

/** A new string value, its bytes copied and made valid; NULL if memory is short. */
yyjson_mut_val *st_json_text(yyjson_mut_doc *doc, struct st_str text);

/**
 * Add members to an object. The key is not copied. Failures stick to the
 * document and show when it is written: st_json_write() then fails.
 */
void st_json_add(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                 yyjson_mut_val *value);
void st_json_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                      struct st_str text);
void st_json_add_size(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, size_t value);
/** A moment, in nanoseconds since 1970, as "2025-10-22T03:15:42Z". */
void st_json_add_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t ns);
void st_json_add_true(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key);

/** Add an empty object or array under a key, and return it; NULL if memory is short. */
yyjson_mut_val *st_json_add_object(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key);
yyjson_mut_val *st_json_add_array(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key);

/** Append a value to an array; NULL for either is a failure that sticks. */
void st_json_push(yyjson_mut_doc *doc, yyjson_mut_val *array, yyjson_mut_val *value);

/** Append a text as a JSON string: quoted, escaped, and what is not UTF-8 as U+FFFD. */
void st_json_quote(struct st_buf *out, struct st_str text);

/** Write a value as compact JSON, with characters that cannot be seen escaped. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_json_write(yyjson_mut_doc *doc, yyjson_mut_val *value, struct st_buf *out,
                                struct stet_error *err);

#endif
