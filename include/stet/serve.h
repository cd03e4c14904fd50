/**
 * The MCP server over HTTP: one process serves many clients.
 *
 *     const char *roots[] = {"."};
 *     struct stet_host *host = NULL;
 *     struct stet_server *server = NULL;
 *
 *     if (stet_host_open(roots, 1, &host, err) < 0 ||
 *         stet_server_new(host, NULL, &server, err) < 0 ||
 *         stet_server_listen(server, "127.0.0.1:8080", err) < 0)
 *             return 1;
 *     puts(stet_server_url(server));
 *     if (stet_server_run(server)) { // until stet_server_stop()
 *             stet_server_free(server);
 *             stet_host_close(host);
 *     }
 *
 * The server answers at /mcp (Streamable HTTP, all protocol versions), /healthz
 * and /metrics (Prometheus). Clients need a token, since other users of the
 * machine can connect too. Unless the program sets tokens, the server uses the
 * user's own token file and creates it if it does not exist. Clients with
 * different tokens cannot see each other's sessions.
 *
 * Use a server from one thread; it runs tool calls on its own threads.
 */
#ifndef STET_SERVE_H
#define STET_SERVE_H

#include "stet/host.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_server;

/** Options to set before stet_server_listen(). */
enum stet_server_option {
	/** The largest request body, in bytes; 32 MiB by default. */
	STET_SERVER_MAX_BODY = 0,
	/** The most connections at once; 1024 by default. */
	STET_SERVER_MAX_CONNECTIONS = 1,
	/** The most sessions; 1000 by default. */
	STET_SERVER_MAX_SESSIONS = 2,
	/** The seconds after which an idle session ends; 3600 by default. */
	STET_SERVER_SESSION_IDLE = 3,
	/** The seconds after which an idle connection is closed; 120 by default. */
	STET_SERVER_CONNECTION_IDLE = 4,
	/** The seconds within which a request must arrive; 60 by default. */
	STET_SERVER_REQUEST_TIME = 5,
	/** 1: clients need no token; allowed only on addresses that other machines cannot reach. */
	STET_SERVER_NO_AUTH = 6,
	/** 1: other machines may connect without TLS, which shows the token to the network. */
	STET_SERVER_INSECURE = 7,
	/**
	 * 1: serve the page at /, too, where people watch what agents do to the files
	 * (docs/page.md); 2: serve the page and no MCP.
	 */
	STET_SERVER_PAGE = 8,
	/** 1: undo and redo from the page. Without it the page only shows. */
	STET_SERVER_ALLOW_UNDO = 9,
};

/**
 * Make a server, which does not listen yet.
 *
 * @host    The host to serve; it must outlive the server.
 * @groups  The groups of tools to offer, separated by commas; NULL for all.
 * @return  0, STET_E_INVALID (unknown group), STET_E_NOMEM or STET_E_IO.
 */
STET_API STET_NODISCARD int stet_server_new(struct stet_host *host, const char *groups,
                                            struct stet_server **out, struct stet_error *err);

/** Set an option. Returns 0 or STET_E_INVALID (unknown option, or not a positive number). */
STET_API STET_NODISCARD int stet_server_set(struct stet_server *server,
                                            enum stet_server_option option, int64_t value,
                                            struct stet_error *err);

/**
 * Accept tokens.
 *
 * @text   One token per line, of at least 16 characters; empty lines and lines
 *         that begin with # are ignored. After the token, separated by blanks:
 *         `name=NAME`, which logs, conflicts and metrics show; `read-only`;
 *         `root=DIR`, percent-encoded, for each directory that it is limited to.
 * @return 0, STET_E_INVALID, STET_E_LIMIT or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_server_tokens(struct stet_server *server, const char *text,
                                               size_t len, struct stet_error *err);

/**
 * Accept the tokens in a file. stet_server_reload() reads it again.
 *
 * @path   A regular file, owned by this user or root, that no other user can read.
 * @return 0; STET_E_NOT_FOUND, STET_E_KIND, STET_E_ACCESS (also: others can
 *         read it), STET_E_INVALID, STET_E_LIMIT, STET_E_NOMEM or STET_E_IO.
 */
STET_API STET_NODISCARD int stet_server_token_file(struct stet_server *server, const char *path,
                                                   struct stet_error *err);

/**
 * Use TLS (1.2 or 1.3). stet_server_reload() reads both files again.
 *
 * @certificate  A PEM file: the server's certificate, then those that lead to the root.
 * @key          A PEM file without a passphrase, which not every user may read.
 * @return       0, STET_E_NOT_FOUND, STET_E_ACCESS, STET_E_INVALID (no certificate
 *               or key, or they do not belong together), STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_server_tls(struct stet_server *server, const char *certificate,
                                            const char *key, struct stet_error *err);

/**
 * Append a line of JSON for each answered request to a file: when, from which
 * address, by which caller, what, the status, how long it took.
 * stet_server_reload() opens the file again, for programs that rotate logs.
 *
 * @path   The file, created with mode 0600; "-" is standard error.
 * @return 0, STET_E_NOT_FOUND, STET_E_ACCESS, STET_E_INVALID, STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_server_access_log(struct stet_server *server, const char *path,
                                                   struct stet_error *err);

/**
 * The path of the user's own token file ($XDG_STATE_HOME/stet/token or
 * ~/.local/state/stet/token) if the server uses it, else NULL. Call it after
 * stet_server_listen().
 */
STET_API const char *stet_server_own_token(const struct stet_server *server);

/**
 * Set a callback for the results of stet_server_reload(), a sentence each, and
 * for an access log that cannot be written. stet_server_run() calls it.
 */
STET_API void stet_server_notices(struct stet_server *server,
                                  void (*notice)(void *arg, const char *message), void *arg);

/**
 * Accept requests for a further host name. The server refuses requests whose
 * Host or Origin is not one of its names: localhost, its address, these names
 * and, if other machines can reach it, the name of this machine.
 *
 * @return 0, STET_E_LIMIT or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_server_host(struct stet_server *server, const char *name,
                                             struct stet_error *err);

/**
 * Start listening. Requests wait until stet_server_run().
 *
 * @address  An address and a port, as "127.0.0.1:8080" or "[::1]:8080"; without
 *           a port, or with port 0, any free port. Or "unix:PATH", a Unix
 *           socket: it needs no token, and serves only processes of this user
 *           and root. Or "systemd": the socket that systemd passes.
 * @return   0, STET_E_INVALID (invalid address; or not loopback, and no token, or
 *           neither TLS nor STET_SERVER_INSECURE),
 *           STET_E_EXISTS (the socket's path), STET_E_ACCESS (also: others can
 *           read the user's own token file), STET_E_IO, STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_server_listen(struct stet_server *server, const char *address,
                                               struct stet_error *err);

/** The URL for clients: "http://127.0.0.1:8080/mcp", "https://..." or "unix:PATH"; NULL before stet_server_listen(). */
STET_API const char *stet_server_url(const struct stet_server *server);

/**
 * Serve until stet_server_stop(), then wait for running calls.
 *
 * @return 1 if all calls ended; 0 if a call was still running after ten
 *         seconds. The process should then exit without stet_server_free().
 */
STET_API STET_NODISCARD int stet_server_run(struct stet_server *server);

/** Make stet_server_run() return. May be called from any thread and from a signal handler. */
STET_API void stet_server_stop(struct stet_server *server);

/**
 * Make a running server read its token files and its certificate again. If that
 * fails, it keeps the old ones. The sessions of removed tokens end. May be called from any
 * thread and from a signal handler.
 */
STET_API void stet_server_reload(struct stet_server *server);

/** Free a server that is not running; NULL is fine. */
STET_API void stet_server_free(struct stet_server *server);

#ifdef __cplusplus
}
#endif

#endif
