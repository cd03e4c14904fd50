/**
 * JSON: to write the arguments of a tool, and to read its answer.
 *
 * A value is addressed from the top by a JSON pointer (RFC 6901), such as
 * "/content/0/text"; "" is the whole.
 *
 *     struct stet_json *args = stet_json_new();
 *     stet_json_set_text(args, "/path", "a.c", 3);
 *     stet_json_set_int(args, "/limit", 20);
 *     char *text = stet_json_write(args, 0, NULL);
 *
 * A setter makes the objects on the way that are missing; "-" as the last part
 * is the next element of an array. If one fails, for lack of memory or because
 * its text is not UTF-8, stet_json_write() returns NULL.
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

/** An empty object; NULL if memory is short. */
STET_API struct stet_json *stet_json_new(void);

/**
 * Read a JSON text.
 *
 * @comments  1 to allow comments and commas behind the last member; 0 for JSON alone.
 * @return    0, STET_E_INVALID (with the line of the mistake) or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_json_parse(const char *text, size_t len, int comments,
                                            struct stet_json **out, struct stet_error *err);

/** Free a document; NULL is fine. */
STET_API void stet_json_free(struct stet_json *json);

/** What a value is: "object", "array", "string", "number", "boolean", "null"; NULL if there is none. */
STET_API const char *stet_json_type(const struct stet_json *json, const char *pointer);

/** A string, valid until the document changes, and its length if len is not NULL; NULL if it is none. */
STET_API const char *stet_json_text(const struct stet_json *json, const char *pointer, size_t *len);

/** An integer, or the fallback if it is none. */
STET_API int64_t stet_json_int(const struct stet_json *json, const char *pointer, int64_t fallback);

/** 1 if a value is true. */
STET_API int stet_json_true(const struct stet_json *json, const char *pointer);

/** How many elements an array has, or members an object; 0 for anything else. */
STET_API size_t stet_json_count(const struct stet_json *json, const char *pointer);

/** The name of the n-th member (from 0) of an object; NULL beyond the last. */
STET_API const char *stet_json_key(const struct stet_json *json, const char *pointer, size_t n);

/** Put values in. Text is copied. */
STET_API void stet_json_set_text(struct stet_json *json, const char *pointer, const char *text,
                                 size_t len);
STET_API void stet_json_set_int(struct stet_json *json, const char *pointer, int64_t value);
STET_API void stet_json_set_bool(struct stet_json *json, const char *pointer, int value);

/** Put a value in that is given as JSON text. */
STET_API void stet_json_set_json(struct stet_json *json, const char *pointer, const char *text,
                                 size_t len);

/**
 * The value at a pointer as JSON text.
 *
 * @pretty  1 for lines and indentation.
 * @return  Text to be freed with stet_free(); NULL if there is no such value,
 *          or if something failed before.
 */
STET_API char *stet_json_write_at(const struct stet_json *json, const char *pointer, int pretty,
                                  size_t *len);

/** All of it. */
STET_API char *stet_json_write(const struct stet_json *json, int pretty, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
