/** Signed texts: state that a client stores for the server and must not change. */
#ifndef STET_MCP_PROTOCOL_HMAC_H
#define STET_MCP_PROTOCOL_HMAC_H

#include "base/buf.h"
#include "base/error.h"

/**
 * Append the bytes with their HMAC, in hexadecimal digits.
 *
 * @key      The server's secret.
 * @purpose  Part of the signature, without NUL: a text signed for one purpose
 *           is not valid for another.
 * @return   0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_hmac_sign(struct st_str key, struct st_str purpose, struct st_str bytes,
                               struct st_buf *out, struct stet_error *err);

/** Verify a signed text and append its bytes. Returns 0, STET_E_INVALID (wrong signature) or STET_E_NOMEM. */
[[nodiscard]] int st_hmac_verify(struct st_str key, struct st_str purpose,
                                 struct st_str signed_text, struct st_buf *out,
                                 struct stet_error *err);

#endif
