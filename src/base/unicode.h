/**
 * What needs the Unicode tables: comparing without regard to case, and how
 * wide text is on a screen. The only user of utf8proc.
 *
 * Bytes that are not UTF-8 are no error here: they stand for themselves.
 */
#ifndef STET_BASE_UNICODE_H
#define STET_BASE_UNICODE_H

#include "base/buf.h"

/**
 * Append text folded for comparison: full case folding ("STRASSE" and
 * "straße" become equal), accents apart from their letters (so that composed
 * and decomposed forms become equal).
 */
void st_unicode_fold(struct st_buf *out, struct st_str text);

/** How many columns a text takes on a terminal; an invalid byte takes one, a control none. */
size_t st_unicode_width(struct st_str text);

#endif
