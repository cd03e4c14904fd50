/**
 * JSON: write the arguments of a tool, and read its answer.
 *
 * A JSON pointer (RFC 6901) such as "/content/0/text" addresses a value; "" is
 * the whole document.
 *
 *     struct stet_json *args = stet_json_new();
 *     stet_json_set_text(args, "/path", "a.c", 3);
 *     stet_json_set_int(args, "/limit", 20);
 *     char *text = stet_json_write(args, 0, NULL);
 *     puts(text);
 *     stet_free(text);
 *     stet_json_free(args);
 *
 * A setter creates missing objects on the way; "-" as the last part appends to
 * an array. If a setter fails, because memory runs out or a text is not UTF-8,
 * stet_json_write() returns NULL.
 */
#ifndef STET_JSON_H
#define STET_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "stet/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_json;

/** Make a document with an empty object; NULL if out of memory. */
STET_API struct stet_json *stet_json_new(void);

/**
 * Parse a JSON text.
 *
 * @comments  1 to allow comments and trailing commas; 0 for strict JSON.
 * @return    0, STET_E_INVALID (the message names the line) or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_json_parse(const char *text, size_t len, int comments,
                                            struct stet_json **out, struct stet_error *err);

/** Free a document; NULL is fine. */
STET_API void stet_json_free(struct stet_json *json);

/** "object", "array", "string", "number", "boolean" or "null"; NULL if the value does not exist. */
STET_API const char *stet_json_type(const struct stet_json *json, const char *pointer);

/** A string, valid until the document changes; NULL if the value is no string. len may be NULL. */
STET_API const char *stet_json_text(const struct stet_json *json, const char *pointer, size_t *len);

/** An integer, or the fallback if the value is no integer. */
STET_API int64_t stet_json_int(const struct stet_json *json, const char *pointer, int64_t fallback);

/** 1 if the value is true. */
STET_API int stet_json_true(const struct stet_json *json, const char *pointer);

/** The number of elements of an array, or of members of an object; 0 for other values. */
STET_API size_t stet_json_count(const struct stet_json *json, const char *pointer);

/** The name of the n-th member (from 0) of an object; NULL beyond the last. */
STET_API const char *stet_json_key(const struct stet_json *json, const char *pointer, size_t n);

/** Set a value. Text is copied. */
STET_API void stet_json_set_text(struct stet_json *json, const char *pointer, const char *text,
                                 size_t len);
STET_API void stet_json_set_int(struct stet_json *json, const char *pointer, int64_t value);
STET_API void stet_json_set_bool(struct stet_json *json, const char *pointer, int value);

/** Set a value to parsed JSON text. */
STET_API void stet_json_set_json(struct stet_json *json, const char *pointer, const char *text,
                                 size_t len);

/**
 * The value at a pointer as JSON text.
 *
 * @pretty  1 for lines and indentation.
 * @return  Text to be freed with stet_free(); NULL if the value does not exist
 *          or an earlier setter failed.
 */
STET_API char *stet_json_write_at(const struct stet_json *json, const char *pointer, int pretty,
                                  size_t *len);

/** The whole document as JSON text, like stet_json_write_at(). */
STET_API char *stet_json_write(const struct stet_json *json, int pretty, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
