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

/**
 * Forecast what merging the places would do, as JSON:
 *
 *     {"repository": "...", "places": [{"id": 1, ...}, {"id": 2, ...}], "pairs": [
 *       {"a": 2, "b": 1, "verdict": "overlaps", "base": "5f1c...", "filesLeftOut": 0, "files": [
 *         {"path": "src/main.c", "verdict": "overlaps", "overlaps": [
 *           {"base": {"start": 5, "count": 1, "text": "old\n"},
 *            "a": {"start": 5, "count": 1, "text": "one\n"},
 *            "b": {"start": 5, "count": 2, "text": "two\nthree\n"}}]}]}]}
 *
 * Each pair is merged in three ways: from the common commit of git, the files that
 * either place has now, uncommitted ones included. `files` are those that both
 * changed differently; `verdict` is "merges", "overlaps" or "unknown" (then with
 * `why`). A conflict that has no lines has `why` too, such as "is removed in one
 * and changed in the other". `renamedInA` and `renamedInB` are new names. Lines
 * count from 1; a count of 0 stands before its start.
 *
 * A git program is needed. It is run so that no configuration of the repository
 * has an effect (docs/places.md). All of it takes ten seconds at most.
 *
 * @path   Only this file, by any of its names; NULL for all.
 * @all    0 for the pairs with this place, 1 for all.
 * @out    Receives the JSON, to be freed with stet_free().
 * @return 0, STET_E_NOT_FOUND (no git), STET_E_OUTSIDE, STET_E_INVALID (path),
 *         STET_E_BUSY, STET_E_ACCESS, STET_E_NOMEM, STET_E_IO, STET_E_CANCELLED.
 */
STET_API STET_NODISCARD int stet_forecast(struct stet_workspace *ws, const char *path, int all,
                                          char **out, size_t *out_len, struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
