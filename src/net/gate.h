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
	/** The most bytes of an owner; see struct st_caller. */
	ST_GATE_OWNER = 32,
	/** The digits of a token's digest. */
	ST_GATE_DIGEST = 16,
	/** The most directories that a token can be limited to. */
	ST_GATE_ROOTS_MAX = 16,
};

/** A token and what it allows. */
struct st_token {
	struct st_hash hash;
	/** The name that the token file gives, else a digest of the token. */
	char owner[ST_GATE_OWNER + 1];
	bool named;
	bool read_only;
	/** The directories that it is limited to; none for all. */
	char *roots[ST_GATE_ROOTS_MAX];
	size_t root_count;
};

/** Who sent a request; empty if no token is required. */
struct st_caller {
	/** Session names belong to it; see struct st_token. */
	char owner[ST_GATE_OWNER + 1];
	/** The owner is a name that the token file gives. */
	bool named;
	/** A digest of the token, which ends with the token. */
	char token[ST_GATE_DIGEST + 1];
};

struct st_gate {
	/** Only this machine can reach the server. */
	bool loopback;
	/** Further names of the server. */
	char *hosts[ST_GATE_HOSTS_MAX];
	size_t host_count;
	/** No token is required. */
	bool open;
	struct st_token tokens[ST_GATE_TOKENS_MAX];
	size_t token_count;
};

void st_gate_release(struct st_gate *gate);

/** Add a name of the server. Returns 0, STET_E_LIMIT or STET_E_NOMEM. */
[[nodiscard]] int st_gate_add_host(struct st_gate *gate, const char *host, struct stet_error *err);

/**
 * Accept tokens.
 *
 * @text   One token per line; empty lines and lines that begin with # are ignored.
 *         After the token, separated by blanks: `name=NAME`, `read-only`, and
 *         `root=DIR` for each directory that it is limited to, percent-encoded.
 * @return 0, STET_E_INVALID (a token is too short, a word after it is unknown,
 *         or there is no token), STET_E_LIMIT or STET_E_NOMEM.
 */
[[nodiscard]] int st_gate_add_tokens(struct st_gate *gate, struct st_str text,
                                     struct stet_error *err);

/** Add copies of another gate's tokens. Returns 0, STET_E_LIMIT or STET_E_NOMEM. */
[[nodiscard]] int st_gate_copy_tokens(struct st_gate *gate, const struct st_gate *from,
                                      struct stet_error *err);

/** Replace the tokens by those of another gate, which then has none. */
void st_gate_take_tokens(struct st_gate *gate, struct st_gate *from);

/** Whether a `Host` header, NULL if missing, names this server. */
bool st_gate_host(const struct st_gate *gate, const char *host);

/** Whether an `Origin` header is allowed; NULL, which means no browser, is. */
bool st_gate_origin(const struct st_gate *gate, const char *origin);

/**
 * Whether an `Authorization` header, NULL if missing, has an accepted token. The
 * time does not depend on how much of a wrong token is right.
 *
 * @caller  Receives the owner and the digest of the token.
 */
bool st_gate_token(const struct st_gate *gate, const char *authorization, struct st_caller *caller);

/** Whether a token, given by its digest, is still accepted. */
bool st_gate_accepts(const struct st_gate *gate, const char *token);

#endif
