/**
 * Access control of the HTTP server.
 *
 * A web page can make its visitor's browser send requests to 127.0.0.1 and, with
 * a host name that it controls (DNS rebinding), even read the answers. So `Host`
 * must be a name of this server, and so must `Origin`, which only browsers send.
 * Clients send a token; session names are private to its owner.
 *
 *     st_auto(st_gate) gate = {.loopback = true};
 *     if (!st_gate_host(&gate, "evil.example:8080"))
 *             return 403;
 */
#ifndef STET_NET_GATE_H
#define STET_NET_GATE_H

#include "fs/file/hash.h"

enum {
	ST_GATE_TOKENS_MAX = 64,
	/** Shorter tokens could be guessed. */
	ST_GATE_TOKEN_MIN = 16,
	ST_GATE_HOSTS_MAX = 16,
	/** The length of an owner; see st_gate_token(). */
	ST_GATE_OWNER = 16,
};

struct st_gate {
	/** Only this machine can reach the server. */
	bool loopback;
	/** Further names of the server. */
	char *hosts[ST_GATE_HOSTS_MAX];
	size_t host_count;
	/** No token is required. */
	bool open;
	/** Digests of the tokens. */
	struct st_hash tokens[ST_GATE_TOKENS_MAX];
	size_t token_count;
};

void st_gate_release(struct st_gate *gate);

/** Add a name of the server. Returns 0, STET_E_LIMIT or STET_E_NOMEM. */
[[nodiscard]] int st_gate_add_host(struct st_gate *gate, const char *host, struct stet_error *err);

/**
 * Accept tokens.
 *
 * @text   One token per line; empty lines and lines that begin with # are ignored.
 * @return 0, STET_E_INVALID (a token is too short or has blanks, or there is
 *         none), STET_E_LIMIT or STET_E_NOMEM.
 */
[[nodiscard]] int st_gate_add_tokens(struct st_gate *gate, struct st_str text,
                                     struct stet_error *err);

/** Whether a `Host` header, NULL if missing, names this server. */
bool st_gate_host(const struct st_gate *gate, const char *host);

/** Whether an `Origin` header is allowed; NULL, which means no browser, is. */
bool st_gate_origin(const struct st_gate *gate, const char *origin);

/**
 * Whether an `Authorization` header, NULL if missing, has an accepted token. The
 * time does not depend on how much of a wrong token is right.
 *
 * @owner  Receives a digest of the token, which identifies its owner; empty if
 *         no token is required.
 */
bool st_gate_token(const struct st_gate *gate, const char *authorization,
                   char owner[ST_GATE_OWNER + 1]);

/** Whether the token of an owner is still accepted. */
bool st_gate_owner(const struct st_gate *gate, const char *owner);

#endif
