/**
 * A host: one or more workspaces, and the clients that work in them.
 *
 * A server has one host. Each client has a session in every workspace of the
 * host; a call goes to the workspace that contains its paths.
 *
 *     const char *roots[] = {"src", "docs"};
 *     const char *args = "{\"path\": \"docs/guide.md\"}";
 *     struct stet_host *host = NULL;
 *     struct stet_client *client = NULL;
 *     char *answer = NULL;
 *
 *     if (stet_host_open(roots, 2, &host, err) < 0 ||
 *         stet_host_client(host, NULL, NULL, &client, err) < 0)
 *             return 1;
 *     if (stet_client_call(client, "read_file", args, strlen(args), &answer, NULL, err) == 0)
 *             puts(answer);
 *     stet_free(answer);
 *     stet_client_release(client);
 *     stet_host_close(host);
 *
 * An absolute path belongs to the innermost workspace that contains it. A
 * relative path belongs to the first workspace in which it exists, or else to
 * the first in which its directory exists. Answers name files of the first
 * workspace by their relative path, and files of other workspaces by their
 * absolute path.
 *
 * A client's first answer from a workspace includes the root's instructions
 * (AGENTS.md).
 *
 * All functions may be called from several threads. The calls of one client
 * run one at a time; calls of different clients run in parallel.
 */
#ifndef STET_HOST_H
#define STET_HOST_H

#include "stet/tools.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_host;
struct stet_client;

/**
 * Open workspaces. A directory that cannot be opened is skipped with a notice;
 * a directory named twice is opened once.
 *
 * @roots  Directories.
 * @count  Their number, at least 1.
 * @return 0, or a code of stet_workspace_open() if no directory can be opened.
 */
STET_API STET_NODISCARD int stet_host_open(const char *const *roots, size_t count,
                                           struct stet_host **out, struct stet_error *err);

/** Close the workspaces, after releasing every client; NULL is fine. May wait like stet_workspace_close(). */
STET_API void stet_host_close(struct stet_host *host);

/** The n-th workspace (from 0), in the order of the roots; NULL beyond the last. */
STET_API struct stet_workspace *stet_host_workspace(const struct stet_host *host, size_t n);

/**
 * Switch to other directories. Clients stay, and keep their sessions in
 * directories that are among the new ones. Do not call this while a tool call
 * runs.
 *
 * A directory that cannot be opened is skipped with a notice. If none can be
 * opened, nothing changes.
 *
 * @return 0, or a code of stet_host_open().
 */
STET_API STET_NODISCARD int stet_host_move(struct stet_host *host, const char *const *roots,
                                           size_t count, struct stet_error *err);

/**
 * Sets the options of a workspace that the host has just opened, before
 * clients use it.
 *
 * @return 0; or a code, with err filled, to skip the directory.
 */
typedef int stet_host_ready(void *arg, struct stet_workspace *ws, struct stet_error *err);

/**
 * Follow the roots of the MCP client: stet_mcp_stdio() then asks the client for
 * its roots and calls stet_host_move(). The host keeps its own directories
 * until then, and if it can open none of the roots. Call this before the host
 * has clients; it is for a host with one client.
 *
 * @ready  Called for each workspace that the host opens; may be NULL.
 */
STET_API void stet_host_follow(struct stet_host *host, stet_host_ready *ready, void *arg);

/** Like stet_workspace_set(), stet_workspace_allow(), stet_instructions_names(), for all workspaces. */
STET_API STET_NODISCARD int stet_host_set(struct stet_host *host, enum stet_option option,
                                          int64_t value, struct stet_error *err);
STET_API STET_NODISCARD int stet_host_allow(struct stet_host *host, const char *extensions,
                                            struct stet_error *err);
STET_API STET_NODISCARD int stet_host_instructions_names(struct stet_host *host, const char *names,
                                                         struct stet_error *err);

/**
 * Like stet_workspace_notice(), for all workspaces and for people, such as on
 * standard error: no model has got such a notice, so the next process reports
 * a rescued late write again.
 */
STET_API char *stet_host_notice(struct stet_host *host);
/** Like stet_workspace_drain(), for all workspaces. */
STET_API void stet_host_drain(struct stet_host *host, int64_t grace_ms);

/**
 * Get a client.
 *
 * All callers that use the same owner and name share one client. A named
 * client outlives its release until it has been idle for a day, or until the
 * host needs room for another client.
 *
 * @owner  The namespace of the name, such as a digest of the caller's token;
 *         NULL for the common one. The same name of two owners is two clients.
 * @name   1 to 64 letters, digits, and `.`, `_`, `-`, beginning with a letter
 *         or digit; NULL for a private client, which ends when it is released.
 * @out    Receives the client, to be released.
 * @return 0, STET_E_INVALID (invalid name), STET_E_LIMIT (too many clients in
 *         use), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_host_client(struct stet_host *host, const char *owner,
                                             const char *name, struct stet_client **out,
                                             struct stet_error *err);

/**
 * Set the default name: stet_host_client() with a NULL name then returns the
 * client of this name. For a host with one client.
 *
 * @return 0, STET_E_INVALID (invalid name), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_host_session(struct stet_host *host, const char *name,
                                              struct stet_error *err);

/**
 * Get a client that remembers nothing between calls, for callers without a
 * session.
 *
 * It can replace whole files only with their expectedHash, and answers list
 * the instructions (AGENTS.md) that apply instead of including them. Its calls
 * run in parallel. If a call names a `session`, the named client runs it.
 *
 * @return 0, STET_E_LIMIT, STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_host_stateless(struct stet_host *host, const char *owner,
                                                struct stet_client **out, struct stet_error *err);

/** Release a client; NULL is fine. */
STET_API void stet_client_release(struct stet_client *client);

/** The client's name; NULL if it has none. */
STET_API const char *stet_client_name(const struct stet_client *client);

/**
 * Run a tool, like stet_call(). If the arguments name a `session`, the owner's
 * client of that name runs it; the host creates that client if necessary.
 */
STET_API STET_NODISCARD int stet_client_call(struct stet_client *client, const char *tool,
                                             const char *args, size_t args_len, char **out,
                                             size_t *out_len, struct stet_error *err);

/**
 * Borrow the client's session in a workspace, for the functions of
 * stet/session.h and others that take a session. The client's tool calls wait
 * until stet_client_return().
 *
 * @n      The number of the workspace, from 0.
 * @return The session; NULL if there is no such workspace or the client is
 *         stateless: then do not call stet_client_return().
 */
STET_API struct stet_session *stet_client_borrow(struct stet_client *client, size_t n);
STET_API void stet_client_return(struct stet_client *client);

#ifdef __cplusplus
}
#endif

#endif
