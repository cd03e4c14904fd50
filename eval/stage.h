/**
 * A stage: a real workspace in which a recorded run is played, so that what
 * is said of stet in it is what stet did. One session writes what the agent
 * wrote; another stands for whoever changed files behind its back.
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

/** Zeroed, it is closed. */
struct st_stage {
	char *dir;
	struct stet_workspace *ws;
	struct stet_session *agent;
	struct stet_session *other;
	/** Writes of the agent that changed nothing, and those that were refused. */
	size_t noops;
	size_t refused;
};

/**
 * Open a stage, with a story and a task.
 *
 * @dir    An empty directory.
 * @return 0, or why there can be no workspace.
 */
[[nodiscard]] int st_stage_open(struct st_stage *stage, const char *dir, struct stet_error *err);
void st_stage_release(struct st_stage *stage);

/**
 * The agent writes a file, making the directories above it.
 *
 * @return 1; 0 if it was refused, or a file of that name cannot be; or STET_E_NOMEM.
 */
[[nodiscard]] int st_stage_write(struct st_stage *stage, const char *path, struct st_str content,
                                 struct stet_error *err);

/** Somebody else writes a file, and the agent reads it. Returns as st_stage_write(). */
[[nodiscard]] int st_stage_disturb(struct st_stage *stage, const char *path, struct st_str content,
                                   struct stet_error *err);

/**
 * Close everything, and open it again from what is on the disk.
 *
 * @return 1 if the state is what it was, to the letter; 0 if not; or a
 *         negative code.
 */
[[nodiscard]] int st_stage_restart(struct st_stage *stage, struct stet_error *err);

/** The state as it is now, compared with the disk; as st_repo_look(). */
[[nodiscard]] int st_stage_look(struct st_stage *stage, struct st_repo_status *view,
                                struct stet_error *err);

#endif
