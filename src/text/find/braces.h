/**
 * Brace expansion, as in a shell: `*.{c,h}` becomes `*.c` and `*.h`, and
 * `{1..3}` becomes `1`, `2` and `3`.
 */
#ifndef STET_TEXT_FIND_BRACES_H
#define STET_TEXT_FIND_BRACES_H

#include "base/buf.h"
#include "base/error.h"

/** How many alternatives one pattern may expand to. */
enum { ST_BRACES_MAX = 1000 };

struct st_braces {
	struct st_buf *list;
	size_t count;
};

void st_braces_release(struct st_braces *braces);

/**
 * Expand a pattern. A sequence counts numbers (`{01..10}`, `{9..1..2}`) or
 * letters (`{a..e}`). Braces are literal if they hold neither a comma nor a
 * sequence, if they are not closed, or if they follow a `$`.
 *
 * @braces  Zeroed by the caller; receives the alternatives, also on failure: release it.
 * @return  0, STET_E_INVALID (more than ST_BRACES_MAX), STET_E_NOMEM.
 */
[[nodiscard]] int st_braces_expand(struct st_braces *braces, struct st_str pattern,
                                   struct stet_error *err);

#endif
