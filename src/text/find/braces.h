/**
 * `*.{c,h}` as `*.c` and `*.h`, and `{1..3}` as `1`, `2` and `3`: the
 * alternatives in a pattern, written out.
 */
#ifndef STET_TEXT_FIND_BRACES_H
#define STET_TEXT_FIND_BRACES_H

#include "base/buf.h"
#include "base/error.h"

/** No pattern may stand for more. */
enum { ST_BRACES_MAX = 1000 };

struct st_braces {
	struct st_buf *list;
	size_t count;
};

void st_braces_release(struct st_braces *braces);

/**
 * Write out a pattern. Braces that hold neither a comma nor a sequence, that
 * are not closed or follow a `$` stand for themselves. A sequence is of numbers
 * (`{01..10}`, `{9..1..2}`) or letters (`{a..e}`).
 *
 * @braces  Receives the alternatives, to be released; zeroed before.
 * @return  0, STET_E_INVALID (more than ST_BRACES_MAX), STET_E_NOMEM.
 */
[[nodiscard]] int st_braces_expand(struct st_braces *braces, struct st_str pattern,
                                   struct stet_error *err);

#endif
