/**
 * What needs the Unicode tables: comparing without regard to case, and how
 * wide text is on a screen. The only user of utf8proc.
 *
 * Bytes that are not UTF-8 are no error here: they stand for themselves.
 */
#ifndef STET_BASE_UNICODE_H
#define STET_BASE_UNICODE_H

#include <stdint.h>

#include "base/buf.h"

/**
 * Append text folded for comparison: full case folding ("STRASSE" and
 * "straße" become equal), accents apart from their letters (so that composed
 * and decomposed forms become equal).
 */
void st_unicode_fold(struct st_buf *out, struct st_str text);

/** Append text with its accents apart from their letters: composed and decomposed forms become equal. */
void st_unicode_decompose(struct st_buf *out, struct st_str text);

/** As st_unicode_fold(), without characters that are invisible by Unicode's default: how ext4 compares names. */
void st_unicode_fold_name(struct st_buf *out, struct st_str text);

/** A character in lower case, if it has one. */
uint32_t st_unicode_lower(uint32_t point);

/** The most parts a character has. */
#define ST_UNICODE_PARTS 32

/**
 * What a character is made of, its marks left away: the letter without its
 * accent, the letters of a ligature.
 *
 * @return How many parts; 1, the character itself, if it has none.
 */
size_t st_unicode_parts(uint32_t point, uint32_t parts[ST_UNICODE_PARTS]);

/** Whether a character is a mark on the one before it, such as an accent of its own. */
bool st_unicode_is_mark(uint32_t point);

/** Classes of characters, as patterns name them. */
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

/** Whether a character is of a class. */
bool st_unicode_is(uint32_t point, enum st_unicode_class class);

/** How many columns a text takes on a terminal; an invalid byte takes one, a control none. */
size_t st_unicode_width(struct st_str text);

#endif
