/** Paths as callers spell them: what they may mean besides what they say. */
#ifndef STET_TOOLS_SPELLING_H
#define STET_TOOLS_SPELLING_H

#include "core/session/session.h"

/**
 * Write out a path that is not one yet: `~/x` begins in the home directory,
 * `file:///x%20y` is a URI.
 *
 * @plain  Receives the path, if it was one of these; else stays empty.
 * @return 0, STET_E_INVALID (another host's file, a broken URI), STET_E_NOMEM.
 */
[[nodiscard]] int st_spelling_plain(struct st_str path, struct st_buf *plain,
                                    struct stet_error *err);

/**
 * For a file that is not there: append a sentence if its directory has one
 * whose name differs only in case, or in how accents are written.
 */
void st_spelling_hint(const struct stet_session *session, const char *path, struct st_buf *out);

#endif
