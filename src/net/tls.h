/**
 * TLS for the HTTP server: a certificate with its key, which can be read again
 * while the server runs.
 *
 *     struct st_tls *tls = NULL;
 *     if (st_tls_new("server.pem", "server.key", &tls, err) < 0)
 *             return err->code;
 *     struct bufferevent *bev = st_tls_accept(tls, base, fd);
 *
 * TLS 1.2 and 1.3. openssl.cnf is not read, so it can neither weaken nor break it.
 */
#ifndef STET_NET_TLS_H
#define STET_NET_TLS_H

#include "net/loop.h"

struct st_tls;

/**
 * Read a certificate and its private key.
 *
 * @certificate  A PEM file: the server's certificate, then those that lead to the root.
 * @key          A PEM file without a passphrase, which not every user may read.
 * @return       0, STET_E_NOT_FOUND, STET_E_ACCESS, STET_E_INVALID (no
 *               certificate or key, or they do not belong together), STET_E_NOMEM.
 */
[[nodiscard]] int st_tls_new(const char *certificate, const char *key, struct st_tls **out,
                             struct stet_error *err);

/**
 * Read both files again, for connections accepted from now on. If that fails,
 * the old certificate stays.
 *
 * @return As st_tls_new().
 */
[[nodiscard]] int st_tls_reload(struct st_tls *tls, struct stet_error *err);

/** Make a bufferevent that closes its socket. NULL if out of memory. */
struct bufferevent *st_tls_accept(struct st_tls *tls, struct event_base *base, int fd);

/** Free it; open connections keep what they need. NULL is fine. */
void st_tls_free(struct st_tls *tls);

#endif
