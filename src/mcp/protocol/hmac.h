/** Seals: what a client carries for us and must not change. */
#ifndef STET_MCP_PROTOCOL_HMAC_H
#define STET_MCP_PROTOCOL_HMAC_H

#include "base/buf.h"
#include "base/error.h"

/**
 * Append a text that holds some bytes and proves that they are ours.
 *
 * @key      Secret; key_len bytes.
 * @purpose  What they are for; a seal for another purpose does not hold.
 * @return   0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_hmac(struct st_str key, struct st_str purpose, struct st_str bytes,
                          struct st_buf *out, struct stet_error *err);

/** Append the bytes of such a text. Returns 0, STET_E_INVALID (not ours) or STET_E_NOMEM. */
[[nodiscard]] int st_unseal(struct st_str key, struct st_str purpose, struct st_str sealed,
                            struct st_buf *out, struct stet_error *err);

#endif
