/**
 * The state of the work: which files an agent has read and written since its
 * story began, which tasks remain, and the log of writes with its undo.
 *
 * It is kept below the root in `.stet/`, shared by every process over the same
 * workspace, and outlives them all; `.stet/repostate.json` is its readable
 * form. Where nothing can be kept there, everything works in memory, and a
 * notice says so.
 *
 *     int64_t id = 0;
 *
 *     if (stet_story_begin(ws, "hello-001", err) < 0 ||
 *         stet_task_add(ws, "Add unit tests", 14, 0, &id, err) < 0)
 *             return 1;
 *     ...
 *     int code = stet_task_complete(session, id, err);
 *
 * What tools read and write is tracked by itself (STET_OPTION_STATE); what
 * other programs' tools do is told with stet_record().
 */
#ifndef STET_STATE_H
#define STET_STATE_H

#include "stet/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The state as JSON, compared with the disk: at least the members `work_dir`,
 * `story_id`, `files`, `open_tasks` and `last_updated` of repostate.json.
 *
 * @session  Files that somebody changed since it read them are `external`.
 * @out      Receives the text, to be freed with stet_free().
 * @out_len  Receives its length; may be NULL.
 * @return   0, STET_E_BUSY, STET_E_NO_SPACE, STET_E_LIMIT, STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_state_json(struct stet_session *session, char **out,
                                            size_t *out_len, struct stet_error *err);

/** Track every file of the workspace that is not ignored. Returns as stet_state_json(). */
STET_API STET_NODISCARD int stet_state_scan(struct stet_workspace *ws, struct stet_error *err);

/**
 * Write repostate.json now, if something changed since it was written. It is
 * written by itself within about a second, and when the workspace is closed.
 */
STET_API STET_NODISCARD int stet_state_flush(struct stet_workspace *ws, struct stet_error *err);

/**
 * Whether what this session saw and did, and what it was told of the work,
 * is what the state directory holds: for a program that is about to exit.
 *
 * @return 0, also if there was nothing to keep; STET_E_ACCESS if the directory
 *         is not used, so that everything is in memory only; or why the last
 *         call was not stored, as stet_state_json(). A notice said the same.
 */
STET_API STET_NODISCARD int stet_state_is_stored(struct stet_session *session,
                                                 struct stet_error *err);

/**
 * Look at what is kept, without making, changing or setting aside anything.
 *
 * @out    Receives JSON, to be freed with stet_free(): `directory` (its name),
 *         `there`, `distrust` (why it is not used, if it is not), `baseBytes`
 *         (earlier versions of files), `aside` (what was set aside as
 *         damaged), and of a database `database`: `bytes`,
 *         `schema`, `knownSchema`; `problem` (`damaged`, `newer`, `foreign`,
 *         `locked`, `unreadable`) if it has one, perhaps with `why`; otherwise
 *         `freeBytes`, `files`, `tasks`, `writes`, `sessionCount`
 *         and `sessions` (name, used, files), the last used first, at most 20.
 * @return 0 or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_state_check(struct stet_workspace *ws, char **out,
                                             struct stet_error *err);

/**
 * Begin a story: from now on files are created, modified or unchanged as
 * compared with what is there now. The current story goes on if it has the
 * same name.
 *
 * @id     Its name, up to 200 bytes of UTF-8.
 * @return 0, STET_E_INVALID, or as stet_state_json().
 */
STET_API STET_NODISCARD int stet_story_begin(struct stet_workspace *ws, const char *id,
                                             struct stet_error *err);

/** End the story; without one there is nothing to do. Files keep being compared with its beginning. */
STET_API STET_NODISCARD int stet_story_end(struct stet_workspace *ws, struct stet_error *err);

/** The name of the story, to be freed with stet_free(); *id is NULL if there is none. */
STET_API STET_NODISCARD int stet_story(struct stet_workspace *ws, char **id,
                                       struct stet_error *err);

/**
 * Say for the story whether prompts have the snapshot (1) or the full history
 * (0), whatever STET_OPTION_USE_SNAPSHOT says; -1 to go by that again. It goes
 * with the story.
 *
 * @return 0, STET_E_INVALID (there is no story), or as stet_state_json().
 */
STET_API STET_NODISCARD int stet_story_use_snapshot(struct stet_workspace *ws, int use,
                                                    struct stet_error *err);

/** Whether prompts have the snapshot: 1 or 0 by the story, or else by the option; or as stet_state_json(). */
STET_API STET_NODISCARD int stet_snapshot_used(struct stet_workspace *ws, struct stet_error *err);

/**
 * Add a task.
 *
 * @text      What is to be done, up to 4096 bytes of UTF-8.
 * @priority  The lowest comes first; 0 to put it after all others.
 * @id        Receives its number.
 * @return    0, STET_E_INVALID, STET_E_TOO_BIG (too long, or too many tasks),
 *            or as stet_state_json().
 */
STET_API STET_NODISCARD int stet_task_add(struct stet_workspace *ws, const char *text, size_t len,
                                          int64_t priority, int64_t *id, struct stet_error *err);

/**
 * Make these the unfinished tasks, in this order. One that is among them
 * already stays what it is; others that are unfinished are removed.
 *
 * @texts  NUL-ended, in UTF-8.
 */
STET_API STET_NODISCARD int stet_tasks_set(struct stet_workspace *ws, const char *const *texts,
                                           size_t count, struct stet_error *err);

/**
 * Start a task, for this session.
 *
 * @return 0, STET_E_NOT_FOUND, STET_E_CONFLICT (another session works on it),
 *         or as stet_state_json().
 */
STET_API STET_NODISCARD int stet_task_start(struct stet_session *session, int64_t id,
                                            struct stet_error *err);

/** Complete a task; it is kept, and no longer shown in snapshots. Returns as stet_task_start(). */
STET_API STET_NODISCARD int stet_task_complete(struct stet_session *session, int64_t id,
                                               struct stet_error *err);

/**
 * Start the first task that nobody works on. Of several sessions that ask at
 * once, no two get the same.
 *
 * @id  Receives its number, 0 if none is left.
 */
STET_API STET_NODISCARD int stet_task_claim(struct stet_session *session, int64_t *id,
                                            struct stet_error *err);

/** Change the priority of a task, or remove it. 0, STET_E_NOT_FOUND, or as stet_state_json(). */
STET_API STET_NODISCARD int stet_task_prioritise(struct stet_workspace *ws, int64_t id,
                                                 int64_t priority, struct stet_error *err);
STET_API STET_NODISCARD int stet_task_remove(struct stet_workspace *ws, int64_t id,
                                             struct stet_error *err);

/**
 * Tell of a tool call that was not stet's (spec 2: `UpdateFromToolResult`).
 *
 * The files that the result names are looked at on the disk; the result only
 * says where to look. After a command, every tracked file is.
 *
 * @tool    Its name: write_file, create_file, edit_file, apply_patch,
 *          str_replace_based_edit_tool, delete_file, move_file, shell and the
 *          like; any other that names files is taken too.
 * @result  JSON: what the tool answered, or its arguments, or both in one object.
 * @out     Receives JSON, to be freed with stet_free(): `files` (path, status)
 *          and `ignored` (path, reason). May be NULL.
 * @return  0, STET_E_INVALID (not JSON), or as stet_state_json().
 */
STET_API STET_NODISCARD int stet_record(struct stet_session *session, const char *tool,
                                        const char *result, size_t len, char **out,
                                        struct stet_error *err);

/**
 * The last writes, newest first, as a JSON array of objects with id, path,
 * time, session, before and after (hashes, null for no file), undoes, undoneBy.
 *
 * @path   Of one file, or NULL for all.
 * @limit  At most so many.
 */
STET_API STET_NODISCARD int stet_log(struct stet_workspace *ws, const char *path, size_t limit,
                                     char **out, struct stet_error *err);

/**
 * Take back the last write that was not taken back yet, if the file is still
 * what that write made of it.
 *
 * @path   Of this file; NULL for the last of this session.
 * @out    As of stet_session_write(). May be NULL.
 * @return 0, STET_E_NOT_FOUND (no such write, or its old bytes are no longer
 *         kept), STET_E_CONFLICT (the file has moved on), or why it cannot be
 *         written.
 */
STET_API STET_NODISCARD int stet_undo(struct stet_session *session, const char *path,
                                      struct stet_answer **out, struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
