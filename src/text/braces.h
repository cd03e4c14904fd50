/**
 * `*.{c,h}` as `*.c` and `*.h`: the alternatives in a pattern, written out.
 */
#ifndef STET_TEXT_BRACES_H
#define STET_TEXT_BRACES_H

#include "base/buf.h"
#include "base/error.h"

/** No pattern may stand for more. */
enum { ST_BRACES_MAX = 64 };

struct st_braces {
	struct st_buf list[ST_BRACES_MAX];
	size_t count;
};

void st_braces_release(struct st_braces *braces);

/**
 * Write out a pattern. Braces that hold no comma, or are not closed, stand for
 * themselves.
 *
 * @braces  Receives the alternatives, to be released; zeroed before.
 * @return  0, STET_E_INVALID (more than ST_BRACES_MAX), STET_E_NOMEM.
 */
[[nodiscard]] int st_braces_expand(struct st_braces *braces, struct st_str pattern,
                                   struct stet_error *err);

#endif
