/** URIs of files: file:///a%20b and the path /a b. */
#ifndef STET_BASE_URI_H
#define STET_BASE_URI_H

#include "base/buf.h"

/** Append what stands for these bytes in a URI's path: all but letters, digits and "-._~/" as %XX. */
void st_uri_add_path(struct st_buf *out, struct st_str path);

/** Append bytes with every %XX undone. False, with out of no use, if one is malformed or a NUL. */
[[nodiscard]] bool st_uri_decode(struct st_buf *out, struct st_str text);

/** The path of a file: URI of this machine. False if it is none. */
[[nodiscard]] bool st_uri_path(struct st_str uri, struct st_buf *path);

#endif
