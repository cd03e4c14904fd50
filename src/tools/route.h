/**
 * Find the file, and its workspace, that a path of a call means.
 *
 * If the path exists as it is spelled, that is the file. If not, try these, as
 * other servers do: the path without dots and trailing slash (`nope/../a.txt`,
 * `a.txt/`); a name whose accents are encoded differently; and, with several
 * workspaces, a file in one of them that is reached from another by `..` or a
 * symbolic link. The result is always a path for one workspace, which resolves
 * it from its own root, so that no call gets outside of all workspaces.
 */
#ifndef STET_TOOLS_ROUTE_H
#define STET_TOOLS_ROUTE_H

#include "tools/tool.h"
#include "core/session/session.h"

/**
 * Resolve a path argument, and set call->session to the session of its
 * workspace.
 *
 * @err    Not NULL.
 * @return The path below that workspace's root or an absolute path, valid as
 *         long as the call; NULL with err filled if it cannot be a path.
 */
const char *st_call_path(struct st_call *call, const char *name, struct stet_error *err);

/** The same for tools that work on a symbolic link itself, not on its target. */
const char *st_call_link(struct st_call *call, const char *name, struct stet_error *err);

/** Resolve the argument "destination". If it is relative, it is in the workspace of the call's path. */
const char *st_call_destination(struct st_call *call, struct stet_error *err);

/** Where there are several workspaces: say that the answer is about the first one alone. */
void st_call_note_roots(struct st_call *call);

/** Resolve the argument "path" of a directory; "." if it was left out. */
const char *st_call_directory(struct st_call *call, struct stet_error *err);

/** As st_call_path(), for a path inside another argument; `what` names it in messages. */
const char *st_call_find(struct st_call *call, const char *what, struct st_str path,
                         struct stet_error *err);

/**
 * For a missing file: append a sentence if its directory has a file whose name
 * differs only in case or in the encoding of its accents.
 */
void st_spelling_hint(const struct stet_session *session, const char *path, struct st_buf *out);

#endif
