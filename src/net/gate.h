/**
 * Who may talk to the HTTP server.
 *
 * A web page can make its visitor's browser send requests to 127.0.0.1, and
 * with a name it controls (DNS rebinding) even read the answers. So `Host` has
 * to be a name of this server, and `Origin`, which only browsers send, too.
 * Callers show who they are by a token; names of sessions are bound to it.
 *
 *     st_auto(st_gate) gate = {.loopback = true};
 *     if (!st_gate_host(&gate, "evil.example:8080"))
 *             ...403
 */
#ifndef STET_NET_GATE_H
#define STET_NET_GATE_H

#include "fs/file/hash.h"

enum {
	ST_GATE_TOKENS_MAX = 64,
	/** A token this short could be guessed. */
	ST_GATE_TOKEN_MIN = 16,
	ST_GATE_HOSTS_MAX = 16,
	/** The length of what stands for a caller; see st_gate_token(). */
	ST_GATE_OWNER = 16,
};

struct st_gate {
	/** Only this machine can reach the server. */
	bool loopback;
	/** Further names it goes by. */
	char *hosts[ST_GATE_HOSTS_MAX];
	size_t host_count;
	/** No token is asked for. */
	bool open;
	/** Digests of the tokens. */
	struct st_hash tokens[ST_GATE_TOKENS_MAX];
	size_t token_count;
};

void st_gate_release(struct st_gate *gate);

/** Let it go by a further name. Returns 0, STET_E_LIMIT or STET_E_NOMEM. */
[[nodiscard]] int st_gate_add_host(struct st_gate *gate, const char *host, struct stet_error *err);

/**
 * Accept tokens.
 *
 * @text   One per line; empty lines and those that begin with # do not count.
 * @return 0, STET_E_INVALID (one is too short or holds blanks, or there is
 *         none), STET_E_LIMIT or STET_E_NOMEM.
 */
[[nodiscard]] int st_gate_add_tokens(struct st_gate *gate, struct st_str text,
                                     struct stet_error *err);

/** Whether a `Host` header, NULL if there is none, names this server. */
bool st_gate_host(const struct st_gate *gate, const char *host);

/** Whether an `Origin` header may talk to it; NULL, no browser, may. */
bool st_gate_origin(const struct st_gate *gate, const char *origin);

/**
 * Whether an `Authorization` header, NULL if there is none, carries a token
 * that is accepted. Takes as long for a wrong one as for the right one.
 *
 * @owner  Receives what stands for the caller; empty if no tokens are asked for.
 */
bool st_gate_token(const struct st_gate *gate, const char *authorization,
                   char owner[ST_GATE_OWNER + 1]);

/** Whether the token that an owner stands for is still accepted. */
bool st_gate_owner(const struct st_gate *gate, const char *owner);

#endif
