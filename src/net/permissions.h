/**
 * From tokens to the limits of a host: which clients may only read, and which
 * workspaces they may use.
 */
#ifndef STET_NET_PERMISSIONS_H
#define STET_NET_PERMISSIONS_H

#include "net/gate.h"
#include "stet/host.h"

/**
 * Give a host the limits of all tokens of a gate.
 *
 * @return 0, STET_E_INVALID (a token is limited to a directory that the host does
 *         not serve, or two tokens of one name differ), STET_E_NOMEM.
 */
[[nodiscard]] int st_permissions_apply(const struct st_gate *gate, struct stet_host *host,
                                       struct stet_error *err);

#endif
