/** file: URIs, such as file:///a%20b for the path "/a b". */
#ifndef STET_BASE_URI_H
#define STET_BASE_URI_H

#include "base/buf.h"

/** Append a path, percent-encoded except for letters, digits and "-._~/". */
void st_uri_add_path(struct st_buf *out, struct st_str path);

/** Append text with every %XX decoded. False if one is malformed or a NUL; out is then incomplete. */
[[nodiscard]] bool st_uri_decode(struct st_buf *out, struct st_str text);

/** Append the path of a file: URI. False if the URI is no file on this machine. */
[[nodiscard]] bool st_uri_path(struct st_str uri, struct st_buf *path);

#endif
