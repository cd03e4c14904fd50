/**
 * The work of agents on the files of a workspace, for people to watch: as JSON for
 * the page of `stet serve --page`, for `stet top`, and for programs that have a
 * page of their own. docs/page.md describes the JSON.
 *
 *     char *json = NULL;
 *
 *     if (stet_page(ws, "now", NULL, 0, &json, NULL, err) == 0)
 *             puts(json);
 *     stet_free(json);
 *
 * Everything comes from the log, the conflicts and the counts in the state
 * directory, which all processes of the workspace share. Each answer is
 * bounded, and so is the time it takes: a longer list has `next`, to be passed
 * as `before` for the page that follows.
 */
#ifndef STET_PAGE_H
#define STET_PAGE_H

#include "stet/workspace.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get one section as JSON.
 *
 * @section  "now": agents, recent files, conflicts that need a person; "conflicts" and
 *           "conflict"; "rescued"; "history", "write" and "run"; "diff";
 *           "context"; "places", where `who` is as stet_who() has it, and
 *           "forecast", as stet_forecast() has it for all pairs.
 * @args     A JSON object with the section's arguments; NULL for none.
 * @out      Receives the text, to be freed with stet_free().
 * @out_len  Receives its length; may be NULL.
 * @return   0, STET_E_INVALID (unknown section, wrong arguments),
 *           STET_E_NOT_FOUND (no such entry), or a code of stet_state_json().
 */
STET_API STET_NODISCARD int stet_page(struct stet_workspace *ws, const char *section,
                                      const char *args, size_t args_len, char **out,
                                      size_t *out_len, struct stet_error *err);

/**
 * A number that changes whenever a section may have changed, by whichever
 * process; cheap enough to ask for several times a second. 0 if there is nothing
 * to show yet.
 */
STET_API int64_t stet_page_changes(struct stet_workspace *ws);

#ifdef __cplusplus
}
#endif

#endif
