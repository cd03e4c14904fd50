/**
 * Which file of which workspace a path of a call means.
 *
 * A path is taken as it is spelled where that leads somewhere. Where it does
 * not, these are tried too, as other servers do: the path without its dots and
 * its last slash (`nope/../a.txt`, `a.txt/`), a name whose accents are written
 * otherwise, and with several workspaces what is reached from one of them by
 * `..` or a link. Whatever is found is a path for one workspace, which resolves it
 * from its own root: nothing outside of all of them is ever reached.
 */
#ifndef STET_TOOLS_ROUTE_H
#define STET_TOOLS_ROUTE_H

#include "tools/tool.h"

/**
 * The path argument of a call, which from now on is about the session that the
 * path leads to.
 *
 * @return The path, or NULL with err (which is never NULL here) filled if it cannot be one.
 */
const char *st_call_path(struct st_call *call, const char *name, struct stet_error *err);

/** The same for a tool that means a link itself, not what it leads to. */
const char *st_call_link(struct st_call *call, const char *name, struct stet_error *err);

/** The argument "destination": a relative one is meant in the workspace that the call is about. */
const char *st_call_destination(struct st_call *call, struct stet_error *err);

/** The directory argument of a call, "." if there is none; as st_call_path(). */
const char *st_call_directory(struct st_call *call, struct stet_error *err);

/** As st_call_path(), for a path that is no argument of its own; what it is called in messages. */
const char *st_call_find(struct st_call *call, const char *what, struct st_str path,
                         struct stet_error *err);

#endif
