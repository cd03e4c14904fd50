/**
 * The MCP server over HTTP: one process, many agents.
 *
 *     struct stet_server *server = NULL;
 *
 *     if (stet_server_new(desk, NULL, &server, err) < 0 ||
 *         stet_server_listen(server, "127.0.0.1:8080", err) < 0)
 *             return 1;
 *     puts(stet_server_url(server));
 *     stet_server_run(server);        // until stet_server_stop()
 *     stet_server_free(server);
 *
 * It answers at /mcp (Streamable HTTP, for clients of either era), /healthz
 * and /metrics (Prometheus). Callers need a token: other users of this machine
 * are strangers too. If none was given, it is the one in the user's own token
 * file, which is made at first. A caller's session names mean nothing to other
 * callers.
 *
 * A server is used from one thread; its tool calls run on threads of its own.
 */
#ifndef STET_SERVE_H
#define STET_SERVE_H

#include "stet/host.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_server;

/** What can be set before it listens. */
enum stet_server_option {
	/** The largest request body, in bytes; 32 MiB by default. */
	STET_SERVER_MAX_BODY,
	/** How many connections there may be at once; 1024 by default. */
	STET_SERVER_MAX_CONNECTIONS,
	/** How many sessions there may be; 1000 by default. */
	STET_SERVER_MAX_SESSIONS,
	/** After how many seconds an unused session ends; 3600 by default. */
	STET_SERVER_SESSION_IDLE,
	/** After how many seconds an unused connection is closed; 120 by default. */
	STET_SERVER_CONNECTION_IDLE,
	/** How many seconds a request may take to arrive; 60 by default. */
	STET_SERVER_REQUEST_TIME,
	/** With 1, no token is asked for; only possible where other machines cannot reach it. */
	STET_SERVER_NO_AUTH,
};

/**
 * Make a server, which does not listen yet.
 *
 * @desk    What it serves; lives longer.
 * @groups  Which groups of tools there are, separated by commas; NULL for all.
 * @return  0, STET_E_INVALID (no such group), STET_E_NOMEM or STET_E_IO.
 */
STET_API STET_NODISCARD int stet_server_new(struct stet_host *host, const char *groups,
                                            struct stet_server **out, struct stet_error *err);

/** Set an option. Returns 0 or STET_E_INVALID (unknown, or not a positive number). */
STET_API STET_NODISCARD int stet_server_set(struct stet_server *server,
                                            enum stet_server_option option, int64_t value,
                                            struct stet_error *err);

/**
 * Accept tokens.
 *
 * @text   One per line, of at least 16 characters; empty lines and those that
 *         begin with # do not count.
 * @return 0, STET_E_INVALID, STET_E_LIMIT or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_server_tokens(struct stet_server *server, const char *text,
                                               size_t len, struct stet_error *err);

/**
 * Accept the tokens of a file, which stet_server_reload() reads again.
 *
 * @path   A regular file of this user or root, which no other user can read.
 * @return 0; STET_E_NOT_FOUND, STET_E_KIND, STET_E_ACCESS (also: others can
 *         read it), STET_E_INVALID, STET_E_LIMIT, STET_E_NOMEM or STET_E_IO.
 */
STET_API STET_NODISCARD int stet_server_token_file(struct stet_server *server, const char *path,
                                                   struct stet_error *err);

/**
 * The user's own token file, $XDG_STATE_HOME/stet/token or
 * ~/.local/state/stet/token, if that is what the server goes by; else NULL.
 * Known from listening on.
 */
STET_API const char *stet_server_own_token(const struct stet_server *server);

/**
 * Be told, from stet_server_run(), what came of stet_server_reload(): a
 * sentence.
 */
STET_API void stet_server_notices(struct stet_server *server,
                                  void (*notice)(void *arg, const char *message), void *arg);

/**
 * Let it go by a further host name: requests whose Host or Origin is none of
 * its names are refused. It knows localhost, its address and, where other
 * machines can reach it, the name of this one.
 *
 * @return 0, STET_E_LIMIT or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_server_host(struct stet_server *server, const char *name,
                                             struct stet_error *err);

/**
 * Begin to listen; requests wait until it runs.
 *
 * @address  An address and a port, as "127.0.0.1:8080", "[::1]:8080"; without
 *           a port, or with port 0, any that is free. Or "unix:PATH", a Unix
 *           socket: instead of asking for a token it serves processes of this
 *           user and root alone.
 * @return   0, STET_E_INVALID (no such address; not loopback, and no token),
 *           STET_E_EXISTS (the path of the socket), STET_E_ACCESS (also: the
 *           user's own token file is not private), STET_E_IO, STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_server_listen(struct stet_server *server, const char *address,
                                               struct stet_error *err);

/** Where clients reach it, as "http://127.0.0.1:8080/mcp" or "unix:PATH"; NULL before it listens. */
STET_API const char *stet_server_url(const struct stet_server *server);

/**
 * Serve until stet_server_stop(), then finish what is going on.
 *
 * @return 1 if everything came to its end; 0 if some call was stuck for ten
 *         seconds and is left behind. The process should then end, without
 *         stet_server_free().
 */
STET_API STET_NODISCARD int stet_server_run(struct stet_server *server);

/** Have stet_server_run() come to an end. From any thread, and from a signal handler. */
STET_API void stet_server_stop(struct stet_server *server);

/**
 * Have a running server read its token files again. If that fails, the tokens
 * stay as they were; sessions of tokens that are gone end. From any thread,
 * and from a signal handler.
 */
STET_API void stet_server_reload(struct stet_server *server);

/** Free a server that does not run; NULL is fine. */
STET_API void stet_server_free(struct stet_server *server);

#ifdef __cplusplus
}
#endif

#endif
