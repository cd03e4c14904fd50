/**
 * The query of a URL: "path=a%20b&limit=50".
 *
 *     st_auto(st_buf) path = ST_BUF_INIT;
 *     if (st_query_get(head->query, "path", &path))
 *             search(st_buf_cstr(&path));
 */
#ifndef STET_NET_QUERY_H
#define STET_NET_QUERY_H

#include "base/buf.h"

/**
 * Whether every parameter has a value that is valid: no wrong escape, no NUL, only
 * UTF-8. Without memory no query is valid.
 */
bool st_query_is_valid(const char *query);

/**
 * Get the first parameter with a name.
 *
 * @query  Without the question mark; NULL for none.
 * @out    Receives the decoded value, which replaces its contents.
 * @return False if there is no such parameter, or if its value is not valid.
 */
bool st_query_get(const char *query, const char *name, struct st_buf *out);

#endif
