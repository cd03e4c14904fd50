#include "eval/stage.h"

#include "core/state/state.h"
#include "fs/path/dirs.h"
#include "stet/state.h"

static void close_all(struct st_stage *stage) {
	stet_session_close(stage->agent);
	stet_session_close(stage->other);
	stet_workspace_close(stage->ws);
	stage->agent = stage->other = NULL;
	stage->ws = NULL;
}

static int open_all(struct st_stage *stage, struct stet_error *err) {
	int code = stet_workspace_open(stage->dir, &stage->ws, err);
	if (code == 0)
		code = stet_workspace_set(stage->ws, STET_OPTION_STATE, ST_STATE_ALL, err);
	if (code == 0)
		code = stet_workspace_set(stage->ws, STET_OPTION_DURABLE, 0, err);
	if (code == 0)
		code = stet_session_open(stage->ws, "agent", &stage->agent, err);
	if (code == 0)
		code = stet_session_open(stage->ws, "other", &stage->other, err);
	return code;
}

int st_stage_open(struct st_stage *stage, const char *dir, struct stet_error *err) {
	static const char task[] = "Replay the run";
	int64_t id;
	stage->dir = strdup(dir);
	if (!stage->dir)
		return st_fail_nomem(err);
	int code = open_all(stage, err);
	if (code == 0)
		code = stet_story_begin(stage->ws, "replay", err);
	if (code == 0)
		code = stet_task_add(stage->ws, task, strlen(task), 0, &id, err);
	if (code == 0)
		code = stet_task_start(stage->agent, id, err);
	return code;
}

void st_stage_release(struct st_stage *stage) {
	close_all(stage);
	free(stage->dir);
	*stage = (struct st_stage){0};
}

/* A deeper tree could not be removed by its path again. */
enum { PATH_BYTES_MAX = 2048 };

/* Create the directories of a file; false if its path is not allowed in the workspace. */
static bool prepare_path(struct st_stage *stage, const char *path) {
	const struct stet_workspace *ws = stage->ws;
	st_autofree char *made = NULL;
	const char *slash = strrchr(path, '/');
	if (*path == '/' || strlen(path) > PATH_BYTES_MAX || st_root_plain(&ws->root, path) != path ||
	    st_path_is_protected(path, ws->writes.state_dir))
		return false;
	return !slash || st_dir_make(&ws->root, st_strn(path, (size_t)(slash - path)),
	                             ws->writes.state_dir, NULL, &made, NULL) == 0;
}

int st_stage_write(struct st_stage *stage, const char *path, struct st_str content,
                   struct stet_error *err) {
	struct stet_answer *answer = NULL;
	if (!prepare_path(stage, path))
		return 0;
	int code = stet_session_write(stage->agent, path, content.ptr, content.len, NULL, &answer, err);
	stage->noops += code == 0 && stet_answer_noop(answer);
	stage->refused += code == STET_E_CONFLICT;
	stet_answer_free(answer);
	return code == STET_E_NOMEM ? code : code == 0;
}

static int read_whole(struct stet_session *session, const char *path, struct stet_error *err) {
	struct stet_answer *answer = NULL;
	int code = stet_session_read(session, path, 0, 0, &answer, err);
	stet_answer_free(answer);
	return code;
}

int st_stage_disturb(struct st_stage *stage, const char *path, struct st_str content,
                     struct stet_error *err) {
	if (!prepare_path(stage, path))
		return 0;
	int code = read_whole(stage->other, path, err);
	if (code == 0 || code == STET_E_NOT_FOUND)
		code = stet_session_write(stage->other, path, content.ptr, content.len, NULL, NULL, err);
	if (code == 0)
		code = read_whole(stage->agent, path, err);
	return code == STET_E_NOMEM ? code : code == 0;
}

int st_stage_restart(struct st_stage *stage, struct stet_error *err) {
	char *before = NULL, *after = NULL;
	int code = stet_state_json(stage->agent, &before, NULL, err);
	if (code == 0) {
		close_all(stage);
		code = open_all(stage, err);
	}
	if (code == 0)
		code = stet_state_json(stage->agent, &after, NULL, err);
	if (code == 0)
		code = strcmp(before, after) == 0;
	stet_free(before);
	stet_free(after);
	return code;
}

int st_stage_look(struct st_stage *stage, struct st_repo_status *view, struct stet_error *err) {
	return st_repo_get_status(&st_state_of(stage->ws)->repo, stage->agent, 0, view, err);
}
