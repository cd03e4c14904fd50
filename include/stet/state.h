/**
 * The state of the work: the files that agents have read and written since the
 * current story began, the remaining tasks, and a log of writes with undo. A
 * story is a named piece of work, such as a ticket.
 *
 * stet stores the state in `.stet/` below the root. All processes in a workspace
 * share it, and it outlives them; `.stet/repostate.json` is a readable copy. If
 * stet cannot write there, it keeps the state in memory, and a notice says so.
 *
 *     int64_t id = 0;
 *
 *     if (stet_story_begin(ws, "hello-001", err) < 0 ||
 *         stet_task_add(ws, "Add unit tests", 14, 0, &id, err) < 0 ||
 *         stet_task_complete(session, id, err) < 0)
 *             fprintf(stderr, "%s\n", stet_error_message(err));
 *
 * stet records the reads and writes of its own tools (STET_OPTION_STATE). Report
 * those of other tools with stet_record().
 */
#ifndef STET_STATE_H
#define STET_STATE_H

#include "stet/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The state as JSON, compared with the files on disk. It has at least the
 * members `work_dir`, `story_id`, `files`, `open_tasks` and `last_updated` of
 * repostate.json.
 *
 * @session  Files that others changed since this session read them are `external`.
 * @out      Receives the text, to be freed with stet_free().
 * @out_len  Receives its length; may be NULL.
 * @return   0, STET_E_BUSY, STET_E_NO_SPACE, STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_state_json(struct stet_session *session, char **out,
                                            size_t *out_len, struct stet_error *err);

/**
 * Turn a state into the text of a snapshot, without a workspace: for programs
 * that have a state of their own, or change what stet_state_json() returned.
 *
 * @json    The state in the form of repostate.json. Missing members are empty; a
 *          hash may have fewer than 64 digits.
 * @budget  The most tokens; 0 for 500.
 * @out     Receives the text, to be freed with stet_free().
 * @return  0, STET_E_INVALID (not a JSON object), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_snapshot_format(const char *json, size_t len, size_t budget,
                                                 char **out, size_t *out_len,
                                                 struct stet_error *err);

/** Track every file of the workspace that is not ignored. Returns the codes of stet_state_json(). */
STET_API STET_NODISCARD int stet_state_scan(struct stet_workspace *ws, struct stet_error *err);

/**
 * Write repostate.json now if the state has changed. Otherwise stet writes it
 * within about a second, and when the workspace is closed.
 */
STET_API STET_NODISCARD int stet_state_flush(struct stet_workspace *ws, struct stet_error *err);

/**
 * Whether the state directory has everything that this session saw, wrote and
 * recorded: for a program that is about to exit.
 *
 * @return 0, also if there was nothing to store; STET_E_ACCESS if stet does not
 *         use the directory, so that the state is in memory only; or the reason
 *         why the last call was not stored. A notice said the same.
 */
STET_API STET_NODISCARD int stet_state_is_stored(struct stet_session *session,
                                                 struct stet_error *err);

/**
 * Inspect the state directory without creating or changing anything.
 *
 * @out    Receives JSON, to be freed with stet_free(): `directory` (its name),
 *         `there`, `distrust` (the reason if stet does not use it), `baseBytes`
 *         (the size of earlier versions of files), `aside` (damaged files that
 *         were set aside), and for a database `database`: `bytes`, `schema`,
 *         `knownSchema`; if it has a problem, `problem` (`damaged`, `newer`,
 *         `foreign`, `locked`, `unreadable`), perhaps with `why`; otherwise
 *         `freeBytes`, `files`, `tasks`, `writes`, `undo` (how many `writes` can be
 *         undone by the log, how many of the newest of them undo `reached`
 *         because their old versions are stored, and `since` when),
 *         `sessionCount` and `sessions` (name, used, files), at most 20, the
 *         most recently used first.
 * @return 0 or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_state_check(struct stet_workspace *ws, char **out,
                                             struct stet_error *err);

/**
 * Begin a story: from now on, files count as created, modified or unchanged
 * compared with their current versions. If the current story has the same name,
 * it continues.
 *
 * @id     Its name, up to 200 bytes of UTF-8.
 * @return 0, STET_E_INVALID, or a code of stet_state_json().
 */
STET_API STET_NODISCARD int stet_story_begin(struct stet_workspace *ws, const char *id,
                                             struct stet_error *err);

/** End the story, if there is one. Files are still compared with their versions at its beginning. */
STET_API STET_NODISCARD int stet_story_end(struct stet_workspace *ws, struct stet_error *err);

/** Get the name of the current story, to be freed with stet_free(); NULL if there is none. */
STET_API STET_NODISCARD int stet_story(struct stet_workspace *ws, char **id,
                                       struct stet_error *err);

/**
 * Choose for the current story whether prompts have the snapshot (1) or the full
 * history (0), overriding STET_OPTION_USE_SNAPSHOT; -1 to use the option again.
 *
 * @return 0, STET_E_INVALID (there is no story), or a code of stet_state_json().
 */
STET_API STET_NODISCARD int stet_story_use_snapshot(struct stet_workspace *ws, int use,
                                                    struct stet_error *err);

/** 1 if prompts have the snapshot, as the story or else the option says; 0 if not; or a negative code. */
STET_API STET_NODISCARD int stet_snapshot_used(struct stet_workspace *ws, struct stet_error *err);

/**
 * Add a task.
 *
 * @text      The task, up to 4096 bytes of UTF-8.
 * @priority  Tasks with lower numbers come first; 0 to put it last.
 * @id        Receives its number.
 * @return    0, STET_E_INVALID, STET_E_TOO_BIG (too long, or too many tasks),
 *            or a code of stet_state_json().
 */
STET_API STET_NODISCARD int stet_task_add(struct stet_workspace *ws, const char *text, size_t len,
                                          int64_t priority, int64_t *id, struct stet_error *err);

/**
 * Make these the unfinished tasks, in this order. An unfinished task with the
 * same text keeps its number and status; other unfinished tasks are removed.
 *
 * @texts  NUL-terminated, in UTF-8.
 */
STET_API STET_NODISCARD int stet_tasks_set(struct stet_workspace *ws, const char *const *texts,
                                           size_t count, struct stet_error *err);

/**
 * Start a task, for this session.
 *
 * @return 0, STET_E_NOT_FOUND, STET_E_CONFLICT (another session works on it),
 *         or a code of stet_state_json().
 */
STET_API STET_NODISCARD int stet_task_start(struct stet_session *session, int64_t id,
                                            struct stet_error *err);

/**
 * Make a task free again that this session works on. Returns like stet_task_start().
 *
 * With a hub (stet_workspace_hub()), tasks belong to the repository, and starting a
 * task claims it in all places: for ten minutes after the session's last call.
 */
STET_API STET_NODISCARD int stet_task_release(struct stet_session *session, int64_t id,
                                              struct stet_error *err);

/** Complete a task. It stays stored, but no longer appears in snapshots. Returns like stet_task_start(). */
STET_API STET_NODISCARD int stet_task_complete(struct stet_session *session, int64_t id,
                                               struct stet_error *err);

/**
 * Start the first task that no session works on. Sessions that call this at the
 * same time get different tasks; with a hub, in all places of the repository.
 *
 * @id  Receives its number; 0 if no task is left.
 */
STET_API STET_NODISCARD int stet_task_claim(struct stet_session *session, int64_t *id,
                                            struct stet_error *err);

/** Change the priority of a task, or remove it. Returns 0, STET_E_NOT_FOUND, or as stet_state_json(). */
STET_API STET_NODISCARD int stet_task_prioritise(struct stet_workspace *ws, int64_t id,
                                                 int64_t priority, struct stet_error *err);
STET_API STET_NODISCARD int stet_task_remove(struct stet_workspace *ws, int64_t id,
                                             struct stet_error *err);

/**
 * Record a call of a tool that is not stet's.
 *
 * stet uses the result only to find out which files the tool touched, and then
 * reads these files from disk. After a shell command it reads every tracked
 * file. The to-do lists of agents (TodoWrite, update_plan, todowrite,
 * write_todos) become the tasks.
 *
 * @tool    Its name: write_file, create_file, edit_file, apply_patch,
 *          str_replace_based_edit_tool, delete_file, move_file, shell or any
 *          other tool whose result names files.
 * @result  JSON: the tool's result, its arguments, or both in one object.
 * @out     Receives JSON, to be freed with stet_free(): `files` (path, status),
 *          `ignored` (path, reason) and, if all tracked files were compared with
 *          the disk, `compared`, their number. May be NULL.
 * @return  0, STET_E_INVALID (not JSON), or a code of stet_state_json().
 */
STET_API STET_NODISCARD int stet_record(struct stet_session *session, const char *tool,
                                        const char *result, size_t len, char **out,
                                        struct stet_error *err);

/**
 * The last writes, newest first, as a JSON array of objects with id, path,
 * time, session, before and after (hashes, null for no file), undoes, undoneBy.
 * Writes that were made as one, by a change set or an undo of several files, have
 * the same changeSet: the number of the newest of them.
 *
 * @path   A file, or NULL for all files.
 * @limit  The most writes to return; those of a change set count as one.
 * @out    Receives the array, to be freed with stet_free().
 */
STET_API STET_NODISCARD int stet_log(struct stet_workspace *ws, const char *path, size_t limit,
                                     char **out, struct stet_error *err);

/**
 * Undo the last write that is not undone yet, if the file still has the bytes of
 * that write.
 *
 * The tool `undo` (stet_call()) undoes a run of writes, too, merges where others
 * changed other lines, and redoes.
 *
 * @path   The file; NULL for the last write of this session.
 * @out    As for stet_session_write(). May be NULL.
 * @return 0, STET_E_NOT_FOUND (no such write, or its old bytes are no longer
 *         stored), STET_E_CONFLICT (the file has changed since), or the reason
 *         why the file cannot be written.
 */
STET_API STET_NODISCARD int stet_undo(struct stet_session *session, const char *path,
                                      struct stet_answer **out, struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
