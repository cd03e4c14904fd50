/** Base64 with padding, as in RFC 4648. */
#ifndef STET_BASE_BASE64_H
#define STET_BASE_BASE64_H

#include "base/buf.h"

/** Append bytes as base64. */
void st_base64_add(struct st_buf *out, struct st_str bytes);

#endif
