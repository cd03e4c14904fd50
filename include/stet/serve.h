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
 * and /metrics (Prometheus). Unless only this machine can reach it, callers
 * need a token. A caller's session names mean nothing to other callers.
 *
 * A server is used from one thread; its tool calls run on threads of its own.
 */
#ifndef STET_SERVE_H
#define STET_SERVE_H

#include "stet/desk.h"

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
};

/**
 * Make a server, which does not listen yet.
 *
 * @desk    What it serves; lives longer.
 * @groups  Which groups of tools there are, separated by commas; NULL for all.
 * @return  0, STET_E_INVALID (no such group), STET_E_NOMEM or STET_E_IO.
 */
STET_API STET_NODISCARD int stet_server_new(struct stet_desk *desk, const char *groups,
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
 *           a port, or with port 0, any that is free.
 * @return   0, STET_E_INVALID (no such address; not loopback, and no token),
 *           STET_E_ACCESS, STET_E_IO, STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_server_listen(struct stet_server *server, const char *address,
                                               struct stet_error *err);

/** Where clients reach it, as "http://127.0.0.1:8080/mcp"; NULL before it listens. */
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

/** Free a server that does not run; NULL is fine. */
STET_API void stet_server_free(struct stet_server *server);

#ifdef __cplusplus
}
#endif

#endif
