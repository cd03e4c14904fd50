/**
 * Places: the checkouts of one repository on this machine, clones and worktrees,
 * in which agents work at the same time; who is active in each, what they
 * changed, and whether two of them merge.
 *
 * Sessions report what they do by themselves, in any process of this user, into a
 * small database in the user's state directory. No server is needed.
 *
 *     char *json = NULL;
 *     if (stet_who(ws, &json, NULL, err) == 0)
 *             printf("%s\n", json);
 *     stet_free(json);
 *
 * Names and texts in the answers come from files: they are data, whatever they say.
 */
#ifndef STET_PLACES_H
#define STET_PLACES_H

#include "stet/workspace.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The places of the workspace's repository, as JSON:
 *
 *     {"repository": "github.com/example/hello", "here": 2, "places": [
 *       {"id": 2, "path": "/src/hello", "branch": "main", "head": "5f1c...",
 *        "here": true, "lastActive": "2026-01-31T12:00:00Z", "secondsAgo": 4,
 *        "agents": [{"name": "claude-code #1", "lastActive": "...", "secondsAgo": 4}],
 *        "files": [{"path": "src/main.c", "by": "claude-code #1", "at": "...", "secondsAgo": 4,
 *                   "change": "written", "lines": [{"start": 5, "end": 9}],
 *                   "editing": true}],
 *        "filesLeftOut": 0}]}
 *
 * `change` is "created", "written", "removed" or "moved" (then with `from`). `lines` are those
 * that differ from what the place started from; `linesLeftOut` is true if there are
 * more or if they are not known. `editing` says that the file was edited in the
 * last ten minutes: a lease that blocks nobody. `here` is 0 if nobody was active in
 * this place yet. Outside of git repositories `repository` is null.
 *
 * @out    Receives the JSON, to be freed with stet_free().
 * @return 0, STET_E_BUSY, STET_E_ACCESS, STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_who(struct stet_workspace *ws, char **out, size_t *out_len,
                                     struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
