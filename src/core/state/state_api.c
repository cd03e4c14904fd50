/* The functions of stet/state.h: the state, the story, tasks and the log. */
#include "base/json.h"
#include "base/utf8.h"
#include "core/state/baseline.h"
#include "core/state/state.h"
#include "stet/state.h"

/* ---- the hub ---- */

/* Ask the hub, if there is one. Returns as the observer's function. */
static int ask_hub(struct stet_workspace *ws, struct st_task_request *request,
                   struct stet_error *err) {
	const struct st_state_observer *observer = &st_state_of(ws)->observer;
	return observer->tasks ? observer->tasks(observer->data, request, err) : 1;
}

int st_state_see_tasks(struct stet_workspace *ws, struct stet_error *err) {
	struct st_task_request request = {.wish = ST_TASKS_SEEN};
	struct stet_error why = {0};
	int code = ask_hub(ws, &request, &why);
	return code == STET_E_CANCELLED ? st_fail(err, code, "%s", why.message) : 0;
}

/* ---- the state ---- */

int st_state_read(struct stet_session *session, bool scan, struct st_repo_status *status,
                  struct stet_error *err) {
	struct st_state *state = st_state_of(session->ws);
	int code = st_state_save_or_notice(session, err);
	if (code == 0)
		code = st_state_see_tasks(session->ws, err);
	if (code == 0 && scan)
		code = stet_state_scan(session->ws, err);
	if (code == 0)
		code = st_repo_get_status(&state->repo, session, 0, status, err);
	if (code == 0)
		st_repo_export_refresh(&state->repo_export);
	return code;
}

int stet_state_json(struct stet_session *session, char **out, size_t *out_len,
                    struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	st_auto(st_repo_status) status = {0};
	struct st_buf text = ST_BUF_INIT;
	int code = st_state_read(session, false, &status, err);
	if (code == 0)
		code = st_repo_json_add(&status, &text, err);
	if (code < 0) {
		st_buf_release(&text);
		return code;
	}
	*out = text.ptr;
	if (out_len)
		*out_len = text.len;
	return 0;
}

int stet_state_scan(struct stet_workspace *ws, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	int code = st_repo_scan(&st_state_of(ws)->repo, err);
	st_repo_export_mark(&st_state_of(ws)->repo_export);
	return code;
}

int stet_state_flush(struct stet_workspace *ws, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	return st_repo_export_flush(&st_state_of(ws)->repo_export, err);
}

int stet_state_is_stored(struct stet_session *session, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	if (session->ws->state == ST_STATE_NONE)
		return 0;
	if (session->unsaved)
		return st_fail(err, session->unsaved,
		               "The reads and writes of this session could not be stored.");
	return st_store_is_stored(&st_state_of(session->ws)->store, err);
}

/* Run a transaction that changes the state, and have repostate.json written. */
static int change_state(struct stet_workspace *ws, st_store_fn *fn, void *data,
                        struct stet_error *err) {
	int code = st_store_do(&st_state_of(ws)->store, ST_STORE_WRITE, fn, data, err);
	if (code >= 0)
		st_repo_export_mark(&st_state_of(ws)->repo_export);
	return code;
}

/* ---- the story ---- */

static int get_story(struct st_store *store, void *data, struct stet_error *err) {
	st_buf_clear(data);
	return st_store_story(store, data, err);
}

int stet_story(struct stet_workspace *ws, char **id, struct stet_error *err) {
	*id = NULL;
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct st_buf name = ST_BUF_INIT;
	if (!st_store_exists(&st_state_of(ws)->store))
		return 0;
	int code = st_store_do(&st_state_of(ws)->store, ST_STORE_READ, get_story, &name, err);
	if (code < 0 || name.len == 0)
		st_buf_release(&name);
	*id = name.ptr;
	return code;
}

/* A story to begin; to end one, id and baseline are NULL. */
struct story {
	const char *id;
	const struct st_baseline *baseline;
};

static int begin_story(struct st_store *store, void *data, struct stet_error *err) {
	st_auto(st_buf) now = ST_BUF_INIT;
	const struct story *story = data;
	const char *id = story->id;
	int code = st_store_story(store, &now, err);
	if (code < 0 || (id && st_str_eq(st_buf_str(&now), st_str(id))) || (!id && now.len == 0))
		return code;
	code = st_store_story_begin(store, id, err);
	return code == 0 && id ? st_baseline_store(store, story->baseline, err) : code;
}

int stet_story_begin(struct stet_workspace *ws, const char *id, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct st_str name = st_str(id);
	if (st_str_trim(name).len == 0 || name.len > ST_STORY_BYTES_MAX || !st_utf8_valid(name))
		return st_fail(err, STET_E_INVALID, "A story has a name of 1 to %d bytes of UTF-8.",
		               ST_STORY_BYTES_MAX);
	/* Compare with the disk first: the current files are the baseline. */
	st_auto(st_repo_status) status = {0};
	int code = st_repo_get_status(&st_state_of(ws)->repo, NULL, 0, &status, err);
	if (code < 0 || strcmp(status.state.story_id, id) == 0)
		return code;
	/* Scan the tree: a file that is missing now counts as created by the story. */
	st_auto(st_baseline) baseline = {0};
	code = st_baseline_collect(ws, &baseline, err);
	if (code < 0)
		return code;
	if (!baseline.complete)
		st_write_notice(&ws->writes,
		                "The workspace has more than %d files: a file counts as it was when stet "
		                "first met it in this story.",
		                ST_BASELINE_MAX);
	struct story story = {id, &baseline};
	return change_state(ws, begin_story, &story, err);
}

int stet_story_end(struct stet_workspace *ws, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct story story = {0};
	return change_state(ws, begin_story, &story, err);
}

static int choose_snapshot(struct st_store *store, void *data, struct stet_error *err) {
	const int *use = data;
	st_auto(st_buf) name = ST_BUF_INIT;
	int code = st_store_story(store, &name, err);
	if (code == 0 && name.len == 0)
		return st_fail(err, STET_E_INVALID, "There is no story to set this for. Begin one first.");
	return code == 0 ? st_store_story_choose(store, *use, err) : code;
}

int stet_story_use_snapshot(struct stet_workspace *ws, int use, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	if (use < -1 || use > 1)
		return st_fail(err, STET_E_INVALID,
		               "A story uses the snapshot (1), or not (0), or as is "
		               "configured (-1).");
	return change_state(ws, choose_snapshot, &use, err);
}

static int get_choice(struct st_store *store, void *data, struct stet_error *err) {
	return st_store_story_choice(store, data, err);
}

int stet_snapshot_used(struct stet_workspace *ws, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct st_store *store = &st_state_of(ws)->store;
	int use = -1;
	int code = 0;
	if (st_store_exists(store))
		code = st_store_do(store, ST_STORE_READ, get_choice, &use, err);
	if (code < 0)
		return code;
	return use < 0 ? ws->use_snapshot : use;
}

/* ---- tasks ---- */

/* The arguments of a transaction. */
struct task {
	struct st_str text;
	int64_t id;
	int64_t priority;
	enum st_task_status status;
	/* The session, NULL if it has no name. */
	const char *owner;
	const char *const *texts;
	size_t count;
};

/* Tell the hub of a change, which waits for it if it is away. Only a cancelled call fails. */
static int send_tasks(struct stet_workspace *ws, int code, struct stet_error *err) {
	struct st_task_request request = {.wish = ST_TASKS_SENT};
	struct stet_error why = {0};
	if (code < 0)
		return code;
	code = ask_hub(ws, &request, &why);
	return code == STET_E_CANCELLED ? st_fail(err, code, "%s", why.message) : 0;
}

/* Run a transaction that changes tasks, and tell the hub. */
static int change_tasks(struct stet_workspace *ws, st_store_fn *fn, void *data,
                        struct stet_error *err) {
	int code = st_state_see_tasks(ws, err);
	if (code == 0)
		code = change_state(ws, fn, data, err);
	return send_tasks(ws, code, err);
}

/* Other places know an agent by its label alone. */
static const char *task_owner(const struct stet_session *session) {
	return session->ws->hub ? st_name_without_owner(st_session_who(session)) : session->name;
}

static int store_numbered(struct st_store *store, void *data, struct stet_error *err) {
	struct task *task = data;
	return st_store_task_restore(store, task->id, task->text, task->priority, &task->id, err);
}

int stet_task_add(struct stet_workspace *ws, const char *text, size_t len, int64_t priority,
                  int64_t *id, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct task task = {.text = st_strn(text ? text : "", text ? len : 0), .priority = priority};
	struct st_task_request request = {.wish = ST_TASKS_NUMBERED};
	*id = 0;
	int code = ask_hub(ws, &request, err);
	if (code == STET_E_CANCELLED)
		return code;
	task.id = code == 0 ? request.task : 0;
	st_error_clear(err);
	code = change_state(ws, store_numbered, &task, err);
	*id = task.id;
	return send_tasks(ws, code, err);
}

static int set_task(struct st_store *store, void *data, struct stet_error *err) {
	const struct task *task = data;
	return st_store_task_set(store, task->id, task->status, task->owner, err);
}

static int claim_task(struct st_store *store, void *data, struct stet_error *err) {
	struct task *task = data;
	return st_store_task_claim(store, task->owner, &task->id, err);
}

/* Without the hub, only this machine knows of the claim. */
static int claim_here(struct stet_session *session, struct task *task, const char *why,
                      struct stet_error *err) {
	st_store_fn *fn = task->id > 0 ? set_task : claim_task;
	int code = change_state(session->ws, fn, task, err);
	if (code == 0 && why && task->id > 0)
		st_write_notice(
			&session->ws->writes,
			"Only this place knows that task %lld is claimed: others can claim it, too, "
			"until the hub can be used again. %s",
			(long long)task->id, why);
	return code;
}

/* Say who has a task that could not be claimed. */
static int say_who(struct st_store *store, void *data, struct stet_error *err) {
	const struct task *task = data;
	int code = st_store_task_is_done(store, task->id, err);
	return code < 0 ? code
	                : st_fail(err, STET_E_CONFLICT, "Task %lld is done.", (long long)task->id);
}

/* Claim a task, 0 for the first one that is free, of all places if there is a hub. */
static int claim(struct stet_session *session, int64_t *id, struct stet_error *err) {
	struct task task = {.id = *id, .status = ST_TASK_IN_PROGRESS, .owner = task_owner(session)};
	struct st_task_request request = {.wish = ST_TASKS_CLAIMED, .owner = task.owner, .task = *id};
	struct stet_error why = {0};
	int code = ask_hub(session->ws, &request, &why);
	if (code == 0) {
		*id = request.task;
		return 0;
	}
	if (code == 1 || code == STET_E_NOT_FOUND) {
		code = claim_here(session, &task, code < 0 ? why.message : NULL, err);
		*id = task.id;
		return code;
	}
	if (code == STET_E_CONFLICT)
		return st_store_do(&st_state_of(session->ws)->store, ST_STORE_READ, say_who, &task, err);
	return st_fail(err, code, "%s", why.message);
}

int stet_task_start(struct stet_session *session, int64_t id, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	if (id <= 0)
		return st_fail(err, STET_E_NOT_FOUND, "Tasks have numbers from 1 on.");
	return claim(session, &id, err);
}

int stet_task_claim(struct stet_session *session, int64_t *id, struct stet_error *err) {
	*id = 0;
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	return claim(session, id, err);
}

static int release_task(struct st_store *store, void *data, struct stet_error *err) {
	const struct task *task = data;
	return st_store_task_release(store, task->id, task->owner, err);
}

int stet_task_release(struct stet_session *session, int64_t id, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	struct task task = {.id = id, .owner = task_owner(session)};
	return change_tasks(session->ws, release_task, &task, err);
}

/* Whether a task is still done when the hub has been told. */
static int check_done(struct st_store *store, void *data, struct stet_error *err) {
	const struct task *task = data;
	return st_store_task_is_done(store, task->id, err);
}

int stet_task_complete(struct stet_session *session, int64_t id, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	struct task task = {.id = id, .status = ST_TASK_COMPLETED, .owner = task_owner(session)};
	int code = change_tasks(session->ws, set_task, &task, err);
	if (code < 0 || !session->ws->hub)
		return code;
	return st_store_do(&st_state_of(session->ws)->store, ST_STORE_READ, check_done, &task, err);
}

static int move_task(struct st_store *store, void *data, struct stet_error *err) {
	const struct task *task = data;
	return st_store_task_prioritise(store, task->id, task->priority, err);
}

int stet_task_prioritise(struct stet_workspace *ws, int64_t id, int64_t priority,
                         struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct task task = {.id = id, .priority = priority};
	return change_tasks(ws, move_task, &task, err);
}

static int remove_task(struct st_store *store, void *data, struct stet_error *err) {
	const struct task *task = data;
	return st_store_task_remove(store, task->id, err);
}

int stet_task_remove(struct stet_workspace *ws, int64_t id, struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct task task = {.id = id};
	return change_tasks(ws, remove_task, &task, err);
}

static int set_tasks(struct st_store *store, void *data, struct stet_error *err) {
	const struct task *list = data;
	int code = st_store_tasks_mark(store, err);
	for (size_t i = 0; i < list->count && code == 0; i++)
		code = st_store_task_want(store, st_str(list->texts[i]), (int64_t)i + 1, err);
	return code == 0 ? st_store_tasks_sweep(store, err) : code;
}

int stet_tasks_set(struct stet_workspace *ws, const char *const *texts, size_t count,
                   struct stet_error *err) {
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct task list = {.texts = texts, .count = count};
	if (count > ST_TASKS_OPEN_MAX)
		return st_fail(err, STET_E_TOO_BIG, "A list of tasks has at most %d; this one has %zu.",
		               ST_TASKS_OPEN_MAX, count);
	return change_tasks(ws, set_tasks, &list, err);
}

/* ---- the log ---- */

struct log {
	struct st_log_query query;
	yyjson_mut_doc *doc;
	yyjson_mut_val *list;
	/* How many entries to list, a change set being one, and how many there are. */
	size_t limit, count;
	/* The last write: its time, session and kind, and the number of its change set. */
	int64_t at, set;
	bool undoes;
	struct st_buf who;
	yyjson_mut_val *last;
};

/* The newest write of a set gives it its number. The writes of a set follow each other. */
static bool continues_set(struct log *log, const struct st_log_entry *entry) {
	const struct st_file_event *write = &entry->event;
	bool same = log->count > 0 && log->at == write->at && log->undoes == (write->undoes != 0) &&
	            strcmp(st_buf_cstr(&log->who), write->who ? write->who : "") == 0;
	if (same)
		return true;
	log->at = write->at;
	log->undoes = write->undoes != 0;
	log->set = entry->id;
	st_buf_clear(&log->who);
	st_buf_adds(&log->who, write->who ? write->who : "");
	log->count++;
	return false;
}

static void add_set(struct log *log, yyjson_mut_val *object) {
	if (object && !yyjson_mut_obj_get(object, "changeSet"))
		st_json_add(log->doc, object, "changeSet", yyjson_mut_sint(log->doc, log->set));
}

static void add_version(struct log *log, yyjson_mut_val *object, const char *key,
                        const struct st_version *version) {
	char hex[ST_HASH_HEX + 1];
	st_hash_hex(&version->hash, hex, ST_HASH_HEX);
	st_json_add(log->doc, object, key,
	            version->exists ? st_json_text(log->doc, st_str(hex)) : yyjson_mut_null(log->doc));
}

static int add_write(void *data, const struct st_log_entry *entry, struct stet_error *err) {
	struct log *log = data;
	const struct st_file_event *write = &entry->event;
	bool same = continues_set(log, entry);
	if (log->count > log->limit)
		return 1;
	yyjson_mut_val *object = yyjson_mut_obj(log->doc);
	st_json_add(log->doc, object, "id", yyjson_mut_sint(log->doc, entry->id));
	st_json_add_text(log->doc, object, "path", st_str(write->path));
	st_json_add_time(log->doc, object, "time", write->at);
	if (write->who)
		st_json_add_text(log->doc, object, "session", st_str(st_name_without_owner(write->who)));
	add_version(log, object, "before", &write->before);
	add_version(log, object, "after", &write->after);
	if (write->undoes)
		st_json_add(log->doc, object, "undoes", yyjson_mut_sint(log->doc, write->undoes));
	if (entry->undone_by)
		st_json_add(log->doc, object, "undoneBy", yyjson_mut_sint(log->doc, entry->undone_by));
	if (same) {
		add_set(log, log->last);
		add_set(log, object);
	}
	log->last = object;
	st_json_push(log->doc, log->list, object);
	return object && !log->who.failed ? 0 : st_fail_nomem(err);
}

static int list_writes(struct st_store *store, void *data, struct stet_error *err) {
	struct log *log = data;
	log->count = 0;
	log->list = yyjson_mut_arr(log->doc);
	yyjson_mut_doc_set_root(log->doc, log->list);
	return st_store_log_list(store, &log->query, add_write, log, err);
}

int stet_log(struct stet_workspace *ws, const char *path, size_t limit, char **out,
             struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	st_auto(st_place) place = ST_PLACE_INIT;
	struct st_buf text = ST_BUF_INIT;
	int code = path ? st_root_locate(&ws->root, st_str(path), &place, err) : 0;
	if (code < 0)
		return code;
	struct log log = {
		.query = {.path = place.path, .limit = ST_LOG_MAX},
		.limit = limit,
		.doc = yyjson_mut_doc_new(NULL),
	};
	if (!log.doc)
		return st_fail_nomem(err);
	log.list = yyjson_mut_arr(log.doc);
	yyjson_mut_doc_set_root(log.doc, log.list);
	if (st_store_exists(&st_state_of(ws)->store))
		code = st_store_do(&st_state_of(ws)->store, ST_STORE_READ, list_writes, &log, err);
	if (code == 0)
		code = st_json_write(log.doc, log.list, &text, err);
	yyjson_mut_doc_free(log.doc);
	st_buf_release(&log.who);
	if (code < 0)
		st_buf_release(&text);
	*out = text.ptr;
	return code;
}
