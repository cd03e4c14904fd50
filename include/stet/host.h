/**
 * A desk: several workspaces as one place to work, and the agents at it.
 *
 * A server has one desk. Each of its clients is an agent, which holds a session
 * in every workspace; calls go to the workspace that their paths lead to.
 *
 *     const char *roots[] = {"src", "docs"};
 *     struct stet_host *desk = NULL;
 *     struct stet_client *agent = NULL;
 *     char *answer = NULL;
 *
 *     if (stet_host_open(roots, 2, &desk, err) < 0 ||
 *         stet_host_client(desk, NULL, NULL, &agent, err) < 0)
 *             return 1;
 *     int code = stet_client_call(agent, "read_file", args, strlen(args), &answer, NULL, err);
 *     stet_free(answer);
 *     stet_client_release(agent);
 *     stet_host_close(desk);
 *
 * An absolute path belongs to the workspace that contains it, the innermost if
 * several do. A relative one belongs to the first in which it exists, or else
 * in which its directory does. Answers name files of the first workspace by
 * their path below it, and those of the others by their absolute path.
 *
 * The instructions (AGENTS.md) of a root come with an agent's first answer from
 * it.
 *
 * Everything here may be used from several threads. An agent's calls run one
 * at a time, those of different agents at once.
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
 * Open workspaces.
 *
 * A directory that cannot be opened is left out, which a notice says; one that
 * is given twice is opened once.
 *
 * @roots  Directories.
 * @count  How many; at least 1.
 * @return 0, or a code as of stet_workspace_open() if none of them can be opened.
 */
STET_API STET_NODISCARD int stet_host_open(const char *const *roots, size_t count,
                                           struct stet_host **out, struct stet_error *err);

/** Close the workspaces, when every agent was released; NULL is fine. May wait as stet_workspace_close(). */
STET_API void stet_host_close(struct stet_host *host);

/** The n-th workspace (from 0), in the order given; NULL beyond the last. */
STET_API struct stet_workspace *stet_host_workspace(const struct stet_host *host, size_t n);

/**
 * Work in other directories from now on: the agents stay, and so does what they
 * have seen in directories that stay. Only while no call is under way.
 *
 * A directory that cannot be opened is left out, which a notice says. If none
 * can be, nothing changes.
 *
 * @return 0, or a code as of stet_host_open().
 */
STET_API STET_NODISCARD int stet_host_move(struct stet_host *host, const char *const *roots,
                                           size_t count, struct stet_error *err);

/**
 * Sets the options of a workspace that a desk has just opened, before anybody
 * works in it.
 *
 * @return 0, or a code with err filled: the directory is left out.
 */
typedef int stet_host_ready(void *arg, struct stet_workspace *ws, struct stet_error *err);

/**
 * Let the client say where to work: stet_mcp_stdio() then asks for the roots of
 * an MCP client that has some, and moves the desk there. Its own directories
 * serve until then, and where none of the roots can be used. Call it before
 * there are agents; for a desk with one client.
 *
 * @ready  Called for each workspace that is opened; may be NULL.
 */
STET_API void stet_host_follow(struct stet_host *host, stet_host_ready *ready, void *arg);

/** As stet_workspace_set(), stet_workspace_allow(), stet_instructions_names(), for all workspaces. */
STET_API STET_NODISCARD int stet_host_set(struct stet_host *host, enum stet_option option,
                                          int64_t value, struct stet_error *err);
STET_API STET_NODISCARD int stet_host_allow(struct stet_host *host, const char *extensions,
                                            struct stet_error *err);
STET_API STET_NODISCARD int stet_host_instructions_names(struct stet_host *host, const char *names,
                                                         struct stet_error *err);

/** As stet_workspace_notice() and stet_workspace_drain(), of all workspaces. */
STET_API char *stet_host_notice(struct stet_host *host);
STET_API void stet_host_drain(struct stet_host *host, int64_t grace_ms);

/**
 * Get an agent.
 *
 * A named one is shared by all who ask for the same name under the same
 * owner, and stays when nobody uses it, until it has been idle for a day or
 * room is needed.
 *
 * @owner  Whose names these are, such as a digest of the caller's token; NULL
 *         for everybody's. Names of one owner mean nothing to another.
 * @name   1 to 64 letters, digits, and `.`, `_`, `-`, beginning with a letter
 *         or digit; NULL for an agent of one's own that goes when it is
 *         released.
 * @out    Receives the agent, to be released.
 * @return 0, STET_E_INVALID (no such name can be), STET_E_LIMIT (too many are
 *         in use), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_host_client(struct stet_host *host, const char *owner,
                                             const char *name, struct stet_client **out,
                                             struct stet_error *err);

/**
 * Make a name the session of clients that name none: stet_host_client() with a
 * NULL name then gives the agent of this name. Meant for a desk with one client.
 *
 * @return 0, STET_E_INVALID (no such name can be), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_host_session(struct stet_host *host, const char *name,
                                              struct stet_error *err);

/**
 * Get an agent that remembers nothing from one call to the next, for callers
 * that have no session.
 *
 * Whole files can then be replaced only with their expectedHash, and
 * instructions (AGENTS.md) that apply are listed, not delivered. Its calls run
 * at once. A call that names a `session` is one of that agent instead.
 *
 * @return 0, STET_E_LIMIT, STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_host_stateless(struct stet_host *host, const char *owner,
                                                struct stet_client **out, struct stet_error *err);

/** Give an agent back; NULL is fine. */
STET_API void stet_client_release(struct stet_client *client);

/** Its name; NULL if it has none. */
STET_API const char *stet_client_name(const struct stet_client *client);

/**
 * Run a tool, as stet_call(). A `session` among the arguments makes it a call
 * of the owner's agent of that name, which is made if need be.
 */
STET_API STET_NODISCARD int stet_client_call(struct stet_client *client, const char *tool,
                                             const char *args, size_t args_len, char **out,
                                             size_t *out_len, struct stet_error *err);

/**
 * Borrow the agent's session in a workspace, for calls of stet/session.h and
 * the like. Its own calls wait until stet_client_return().
 *
 * @n      The workspace, from 0.
 * @return The session; NULL, with nothing to return, if there is no such
 *         workspace or the agent remembers nothing.
 */
STET_API struct stet_session *stet_client_borrow(struct stet_client *client, size_t n);
STET_API void stet_client_return(struct stet_client *client);

#ifdef __cplusplus
}
#endif

#endif
