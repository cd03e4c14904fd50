/** Paths as callers spell them: home directories, URIs, and names that are almost right. */
#ifndef STET_TOOLS_SPELLING_H
#define STET_TOOLS_SPELLING_H

#include "core/session/session.h"

/**
 * Turn `~/x` and `file:///x%20y` into plain paths.
 *
 * @plain  Receives the path; stays empty if `path` is a plain path already.
 * @return 0, STET_E_INVALID (another host's file, a broken URI), STET_E_NOMEM.
 */
[[nodiscard]] int st_spelling_plain(struct st_str path, struct st_buf *plain,
                                    struct stet_error *err);

/**
 * For a missing file: append a sentence if its directory has a file whose name
 * differs only in case or in the encoding of its accents.
 */
void st_spelling_hint(const struct stet_session *session, const char *path, struct st_buf *out);

#endif
