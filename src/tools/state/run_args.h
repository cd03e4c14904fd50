/** Arguments that name a run of writes, shared by the tools undo and history. */
#ifndef STET_TOOLS_STATE_RUN_ARGS_H
#define STET_TOOLS_STATE_RUN_ARGS_H

#include "core/state/run.h"
#include "tools/tool.h"

#define ST_PARAM_RUN_OF \
	{ .name = "of", .description = "A session's writes." }
#define ST_PARAM_RUN_STORY \
	{ .name = "story", .description = "Of a story." }
#define ST_PARAM_RUN_SINCE \
	{ .name = "since", .description = "10m, 2h or an ISO time." }
#define ST_PARAM_RUN_ID \
	{ .name = "id", .type = ST_PARAM_INTEGER, .description = "A write's number." }

/**
 * A moment: so long ago ("90s", "10m", "2h", "1d"), or a date with or without a
 * time, in UTC unless an offset follows: "2026-01-31", "2026-01-31T12:00:00Z",
 * "2026-01-31 12:00+02:00".
 *
 * @ns     Receives nanoseconds since 1970.
 * @return 0 or STET_E_INVALID.
 */
[[nodiscard]] int st_moment_parse(struct st_str text, int64_t *ns, struct stet_error *err);

/**
 * Fill a query with of, story, since, id and path, as far as they were given.
 *
 * @place  Receives the path that the query borrows, to be released.
 * @named  Whether one of them but path was given.
 * @return 0, STET_E_INVALID, or why the path cannot be used.
 */
[[nodiscard]] int st_call_run_query(struct st_call *call, struct st_place *place,
                                    struct st_run_query *query, bool *named,
                                    struct stet_error *err);

#endif
