/**
 * Unicode properties: case folding, decomposition, character classes, width. No
 * other file uses utf8proc.
 *
 * Bytes that are not UTF-8 stay unchanged.
 */
#ifndef STET_BASE_UNICODE_H
#define STET_BASE_UNICODE_H

#include <stdint.h>

#include "base/buf.h"

/**
 * Append a text folded for comparison: with full case folding, which makes
 * "STRASSE" and "straße" equal, and decomposed.
 */
void st_unicode_fold(struct st_buf *out, struct st_str text);

/** Append a text decomposed: accents are separate, so that composed and decomposed forms become equal. */
void st_unicode_decompose(struct st_buf *out, struct st_str text);

/** Like st_unicode_fold(), without default ignorable characters: how ext4 compares names. */
void st_unicode_fold_name(struct st_buf *out, struct st_str text);

/** The lower case of a character; the character itself if it has none. */
uint32_t st_unicode_lower(uint32_t point);

/** The most parts of a character. */
#define ST_UNICODE_PARTS 32

/**
 * The parts of a character without marks: a letter without its accent, the
 * letters of a ligature.
 *
 * @return The number of parts; 1, the character itself, if it has none.
 */
size_t st_unicode_parts(uint32_t point, uint32_t parts[ST_UNICODE_PARTS]);

/** Whether a character combines with the one before it, such as a separate accent. */
bool st_unicode_is_mark(uint32_t point);

/** The character classes of patterns. */
enum st_unicode_class {
	ST_UNICODE_ALNUM,
	ST_UNICODE_ALPHA,
	ST_UNICODE_ASCII,
	ST_UNICODE_BLANK,
	ST_UNICODE_CNTRL,
	ST_UNICODE_DIGIT,
	ST_UNICODE_GRAPH,
	ST_UNICODE_LOWER,
	ST_UNICODE_PRINT,
	ST_UNICODE_PUNCT,
	ST_UNICODE_SPACE,
	ST_UNICODE_UPPER,
	ST_UNICODE_WORD,
	ST_UNICODE_XDIGIT,
};

/** Whether a character belongs to a class. */
bool st_unicode_is(uint32_t point, enum st_unicode_class class);

/** The number of columns on a terminal; 1 for an invalid byte, 0 for a control character. */
size_t st_unicode_width(struct st_str text);

#endif
