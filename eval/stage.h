/**
 * A stage: a real workspace in which a recorded run is played, so that the
 * report shows what stet really does. One session writes what the agent wrote;
 * another makes the changes of others.
 *
 *     st_auto(st_stage) stage = {0};
 *     int code = st_stage_open(&stage, dir, err);
 *     if (code == 0)
 *             code = st_stage_write(&stage, "main.go", content, err);
 *     if (code >= 0)
 *             code = st_stage_restart(&stage, err);
 */
#ifndef STET_EVAL_STAGE_H
#define STET_EVAL_STAGE_H

#include "core/state/repo_track.h"

/** A zeroed stage is closed. */
struct st_stage {
	char *dir;
	struct stet_workspace *ws;
	struct stet_session *agent;
	struct stet_session *other;
	/** Writes of the agent that changed nothing. */
	size_t noops;
	/** Writes of the agent that stet refused. */
	size_t refused;
};

/**
 * Open a stage, with a story and a task.
 *
 * @dir    An empty directory.
 * @return 0, or the error of opening the workspace.
 */
[[nodiscard]] int st_stage_open(struct st_stage *stage, const char *dir, struct stet_error *err);
void st_stage_release(struct st_stage *stage);

/**
 * Write a file as the agent, and create its directories.
 *
 * @return 1; 0 if stet refused it or the path is not allowed; or STET_E_NOMEM.
 */
[[nodiscard]] int st_stage_write(struct st_stage *stage, const char *path, struct st_str content,
                                 struct stet_error *err);

/** Write a file as somebody else, then read it as the agent. Returns as st_stage_write(). */
[[nodiscard]] int st_stage_disturb(struct st_stage *stage, const char *path, struct st_str content,
                                   struct stet_error *err);

/**
 * Close everything, and open it again from the disk.
 *
 * @return 1 if the state, as JSON, is exactly the same; 0 if not; or a negative
 *         code.
 */
[[nodiscard]] int st_stage_restart(struct st_stage *stage, struct stet_error *err);

/** Get the current state, compared with the disk, as st_repo_get_status() does. */
[[nodiscard]] int st_stage_look(struct st_stage *stage, struct st_repo_status *view,
                                struct stet_error *err);

#endif
