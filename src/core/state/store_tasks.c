/* Tasks in the store. */
#include "base/clock.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "core/state/store.h"

static int no_task(int64_t id, struct stet_error *err) {
	return st_fail(err, STET_E_NOT_FOUND, "Task %lld not found. List the tasks for their numbers.",
	               (long long)id);
}

/* Whether an agent of another place has a task, by a claim that has not expired. */
#define HELD_ELSEWHERE(now) "(status = 1 AND place IS NOT NULL AND coalesce(expires, 0) > " now ")"

/*
 * The same for agents of this place, too. Without a hub claims have no expiry, so they
 * keep nobody out.
 */
#define HELD_BY_OTHERS(owner, now) \
	"(status = 1 AND coalesce(expires, 0) > " now " AND (place IS NOT NULL OR owner IS NOT " owner \
	"))"

static int mark_updated(struct st_store *store, struct stet_error *err) {
	return st_store_set(store, "updated_at", st_wall_ns(), err);
}

/* ---- adding ---- */

static int check_text(struct st_str text, struct stet_error *err) {
	if (st_str_trim(text).len == 0)
		return st_fail(err, STET_E_INVALID, "A task needs a description.");
	if (text.len > ST_TASK_BYTES_MAX)
		return st_fail(err, STET_E_TOO_BIG,
		               "The description of a task has %zu bytes; the limit is %d. Say it in a "
		               "sentence, and put the rest into a file.",
		               text.len, ST_TASK_BYTES_MAX);
	if (memchr(text.ptr, '\0', text.len) || !st_utf8_valid(text))
		return st_fail(err, STET_E_INVALID, "The description of a task must be text in UTF-8.");
	return 0;
}

static int check_room(struct st_store *store, struct stet_error *err) {
	/* Do not count tasks that st_store_tasks_mark() marked: they may be swept away. */
	static const char asks_open[] =
		"SELECT count(*) FROM tasks WHERE status IN (0, 1) AND priority > -4000000000000000000";
	static const char asks_all[] = "SELECT count(*) FROM tasks";
	int64_t open = 0, all = 0;
	int code = st_db_number(store->db, asks_open, &open, err, "");
	if (code == 0)
		code = st_db_number(store->db, asks_all, &all, err, "");
	if (code == 0 && open >= ST_TASKS_OPEN_MAX)
		return st_fail(err, STET_E_TOO_BIG,
		               "There are %lld unfinished tasks, which is the limit. Finish or remove some "
		               "first.",
		               (long long)open);
	if (code == 0 && all >= ST_TASKS_MAX)
		return st_fail(err, STET_E_TOO_BIG,
		               "There are %lld tasks, finished ones among them, which is the limit. Remove "
		               "finished ones first.",
		               (long long)all);
	return code;
}

/* Add a task with a new number. */
static int add_task(struct st_store *store, struct st_str description, int64_t priority,
                    int64_t *id, struct stet_error *err) {
	static const char asks_last[] = "SELECT coalesce(max(priority), 0) FROM tasks";
	/* The number of a shared task is never used again: the hub would take it for the old one. */
	static const char sql[] =
		"INSERT INTO tasks (id, description, status, priority, updated_at) VALUES ("
		"(SELECT max(shared, coalesce((SELECT max(id) FROM tasks), 0)) + 1 FROM"
		" (SELECT max(task) AS shared FROM shared_tasks)), ?, 0, ?, ?) RETURNING id";
	int64_t last = 0;
	int code = check_text(description, err);
	if (code == 0)
		code = check_room(store, err);
	if (code == 0 && priority == 0) {
		code = st_db_number(store->db, asks_last, &last, err, "");
		priority = last < INT64_MAX ? last + 1 : last;
	}
	if (code == 0)
		code = st_db_number(store->db, sql, id, err, "sii", description, priority, st_wall_ns());
	return code < 0 ? code : mark_updated(store, err);
}

int st_store_task_restore(struct st_store *store, int64_t wanted, struct st_str description,
                          int64_t priority, int64_t *id, struct stet_error *err) {
	/* A number of a shared task that was removed is taken, too, as for add_task(). */
	static const char sql[] =
		"UPDATE tasks SET id = ?1 WHERE id = ?2 AND NOT EXISTS"
		" (SELECT 1 FROM tasks AS other WHERE other.id = ?1) AND NOT EXISTS"
		" (SELECT 1 FROM shared_tasks WHERE task = ?1)";
	int code = add_task(store, description, priority, id, err);
	if (code < 0 || wanted <= 0 || wanted == *id)
		return code;
	code = st_db_run(store->db, sql, err, "ii", wanted, *id);
	if (code == 0 && st_db_changes(store->db) > 0)
		*id = wanted;
	return code;
}

/* ---- replacing the list ---- */

/* Marks a task that the new list does not have so far. Lower than any priority that a caller sets. */
#define UNWANTED ((int64_t)-4000000000000000000)

int st_store_tasks_mark(struct st_store *store, struct stet_error *err) {
	static const char sql[] =
		"UPDATE tasks SET priority = ? WHERE status IN (0, 1) AND NOT " HELD_ELSEWHERE("?");
	return st_db_run(store->db, sql, err, "ii", UNWANTED, st_wall_ns());
}

int st_store_task_want(struct st_store *store, struct st_str description, int64_t priority,
                       struct stet_error *err) {
	static const char sql[] =
		"UPDATE tasks SET priority = ?1 WHERE id = (SELECT min(id) FROM tasks"
		" WHERE (priority = ?2 OR " HELD_ELSEWHERE("?4") ") AND status IN (0, 1)"
		" AND description = ?3)";
	int64_t id;
	int code =
		st_db_run(store->db, sql, err, "iisi", priority, UNWANTED, description, st_wall_ns());
	if (code < 0 || st_db_changes(store->db) > 0)
		return code;
	return add_task(store, description, priority, &id, err);
}

int st_store_tasks_sweep(struct st_store *store, struct stet_error *err) {
	static const char sql[] = "DELETE FROM tasks WHERE priority = ? AND status IN (0, 1)";
	int code = st_db_run(store->db, sql, err, "i", UNWANTED);
	return code == 0 ? mark_updated(store, err) : code;
}

/* ---- following a list ---- */

int st_store_tasks_follow_mark(struct st_store *store, const char *source, struct stet_error *err) {
	static const char sql[] = "UPDATE tasks SET priority = ? WHERE status IN (0, 1) AND source = ?";
	return st_db_run(store->db, sql, err, "it", UNWANTED, source);
}

/* The task with this text that is still to be followed: an unfinished one, or else one that is done. */
static int find_followed(struct st_store *store, struct st_str description, int64_t *id,
                         struct stet_error *err) {
	static const char sql[] =
		"SELECT id FROM tasks WHERE description = ? ORDER BY status = 2, id DESC LIMIT 1";
	return st_db_number(store->db, sql, id, err, "s", description);
}

int st_store_task_follow(struct st_store *store, const char *source, struct st_str description,
                         enum st_task_status status, int64_t priority, struct stet_error *err) {
	/* Another session's work on a task goes on, unless this list says that it is done. */
	static const char sql[] =
		"UPDATE tasks SET status = ?1, owner = CASE ?1 WHEN 0 THEN NULL ELSE ?2 END,"
		" priority = CASE WHEN source = ?2 THEN ?3 ELSE priority END, updated_at = ?4"
		" WHERE id = ?5 AND (?1 = 2 OR status <> 1 OR owner IS NULL OR owner = ?2)";
	static const char own[] = "UPDATE tasks SET source = ? WHERE id = ?";
	int64_t id = 0;
	int code = find_followed(store, description, &id, err);
	if (code == 0 && id == 0) {
		code = add_task(store, description, priority, &id, err);
		if (code == 0)
			code = st_db_run(store->db, own, err, "ti", source, id);
	}
	if (code == 0)
		code = st_db_run(store->db, sql, err, "itiii", (int64_t)status, source, priority,
		                 st_wall_ns(), id);
	return code;
}

int st_store_task_follow_number(struct st_store *store, const char *source, int64_t number,
                                int status, struct st_str description, struct stet_error *err) {
	static const char sql[] =
		"UPDATE tasks SET status = CASE ?1 WHEN -1 THEN status ELSE ?1 END,"
		" owner = CASE ?1 WHEN -1 THEN owner WHEN 0 THEN NULL ELSE ?2 END,"
		" description = CASE ?3 WHEN '' THEN description ELSE ?3 END, updated_at = ?4"
		" WHERE source = ?2 AND priority = ?5";
	int code = st_db_run(store->db, sql, err, "itsii", (int64_t)status, source, description,
	                     st_wall_ns(), number);
	return code == 0 ? mark_updated(store, err) : code;
}

int st_store_task_drop_number(struct st_store *store, const char *source, int64_t number,
                              struct stet_error *err) {
	static const char sql[] =
		"DELETE FROM tasks WHERE source = ? AND priority = ? AND status IN (0, 1)";
	int code = st_db_run(store->db, sql, err, "ti", source, number);
	return code == 0 ? mark_updated(store, err) : code;
}

/* ---- changing ---- */

/* Say why a task could not be changed: there is none, or others work on it. */
static int fail_change(struct st_store *store, int64_t id, struct stet_error *err) {
	static const char sql[] = "SELECT owner, place FROM tasks WHERE id = ?";
	st_auto(st_buf) place = ST_BUF_INIT;
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "i", id);
	if (code == 0)
		code = st_rows_next(&rows, err);
	if (code <= 0)
		return code < 0 ? code : no_task(id, err);
	struct st_str owner = st_rows_str(&rows, 0);
	st_quote_line(&place, st_rows_str(&rows, 1), 100);
	if (owner.len == 0)
		code = st_fail(err, STET_E_CONFLICT,
		               "The claim of task %lld has ended, and others had it since. List the tasks.",
		               (long long)id);
	else
		code = st_fail(err, STET_E_CONFLICT,
		               "Session \"%.*s\"%s%s works on task %lld. Take another one, with claim.",
		               (int)owner.len, owner.ptr, place.len > 0 ? " in " : "", st_buf_cstr(&place),
		               (long long)id);
	st_rows_end(&rows);
	return code;
}

int st_store_task_set(struct st_store *store, int64_t id, enum st_task_status status,
                      const char *owner, struct stet_error *err) {
	/* Without a hub, only starting a task can conflict with its owner: any session may complete it. */
	static const char sql[] =
		"UPDATE tasks SET status = ?1, owner = ?2, updated_at = ?3, place = NULL,"
		" fence = CASE WHEN ?1 = 1 AND owner IS NOT ?2 THEN NULL ELSE fence END WHERE id = ?4"
		" AND (?1 <> 1 OR status <> 1 OR owner IS NULL OR owner = ?2 OR expires <= ?3)"
		" AND NOT (?1 = 2 AND status = 1 AND fence IS NOT NULL AND owner IS NOT ?2)"
		" AND NOT " HELD_BY_OTHERS("?2", "?3");
	int code = st_db_run(store->db, sql, err, "itii", (int64_t)status, owner, st_wall_ns(), id);
	if (code == 0 && st_db_changes(store->db) == 0)
		return fail_change(store, id, err);
	return code == 0 ? mark_updated(store, err) : code;
}

int st_store_task_is_done(struct st_store *store, int64_t id, struct stet_error *err) {
	static const char sql[] = "SELECT status = 2 FROM tasks WHERE id = ?";
	int64_t done = 0;
	int code = st_db_number(store->db, sql, &done, err, "i", id);
	return code < 0 || done ? code : fail_change(store, id, err);
}

int st_store_task_release(struct st_store *store, int64_t id, const char *owner,
                          struct stet_error *err) {
	static const char sql[] =
		"UPDATE tasks SET status = 0, owner = NULL, place = NULL, expires = NULL, updated_at = ?1"
		" WHERE id = ?2 AND status <> 2 AND (status <> 1 OR owner IS NULL OR owner = ?3)"
		" AND NOT " HELD_ELSEWHERE("?1");
	int code = st_db_run(store->db, sql, err, "iit", st_wall_ns(), id, owner);
	if (code < 0 || st_db_changes(store->db) > 0)
		return code < 0 ? code : mark_updated(store, err);
	code = st_store_task_is_done(store, id, err);
	return code < 0 ? code : st_fail(err, STET_E_CONFLICT, "Task %lld is done.", (long long)id);
}

int st_store_task_prioritise(struct st_store *store, int64_t id, int64_t priority,
                             struct stet_error *err) {
	static const char sql[] = "UPDATE tasks SET priority = ?, updated_at = ? WHERE id = ?";
	int code = st_db_run(store->db, sql, err, "iii", priority, st_wall_ns(), id);
	if (code == 0 && st_db_changes(store->db) == 0)
		return no_task(id, err);
	return code == 0 ? mark_updated(store, err) : code;
}

int st_store_task_remove(struct st_store *store, int64_t id, struct stet_error *err) {
	static const char sql[] = "DELETE FROM tasks WHERE id = ? AND NOT " HELD_ELSEWHERE("?");
	int code = st_db_run(store->db, sql, err, "ii", id, st_wall_ns());
	if (code == 0 && st_db_changes(store->db) == 0)
		return fail_change(store, id, err);
	return code == 0 ? mark_updated(store, err) : code;
}

int st_store_task_claim(struct st_store *store, const char *owner, int64_t *id,
                        struct stet_error *err) {
	static const char sql[] =
		"UPDATE tasks SET status = 1, owner = ?1, updated_at = ?2, place = NULL, expires = NULL,"
		" fence = NULL WHERE id = (SELECT id FROM tasks WHERE status = 0 OR status = 1 AND place"
		" IS NOT NULL AND expires <= ?2 ORDER BY priority, id LIMIT 1) RETURNING id";
	int code = st_db_number(store->db, sql, id, err, "ti", owner, st_wall_ns());
	return code < 0 || *id == 0 ? code : mark_updated(store, err);
}

/* ---- listing ---- */

/* A text in the buffer, NUL-terminated; NULL if it is empty. */
static const char *take_text(struct st_buf *out, struct st_str text) {
	size_t at = out->len;
	st_buf_add(out, text);
	st_buf_addc(out, '\0');
	return text.len > 0 && !out->failed ? out->ptr + at : NULL;
}

static int list_one(const struct st_rows *rows, struct st_buf *text,
                    int (*each)(void *data, const struct st_repo_task *task,
                                struct stet_error *err),
                    void *data, struct stet_error *err) {
	int64_t status = st_rows_int(rows, 2);
	struct st_str description = st_rows_str(rows, 1), owner = st_rows_str(rows, 4),
				  place = st_rows_str(rows, 5);
	st_buf_clear(text);
	st_buf_reserve(text, description.len + owner.len + place.len + 3);
	const char *described = take_text(text, description);
	struct st_repo_task task = {
		.id = st_rows_int(rows, 0),
		.description = described ? described : "",
		.status = status == 1 ? ST_TASK_IN_PROGRESS
	              : status    ? ST_TASK_COMPLETED
	                          : ST_TASK_PENDING,
		.priority = st_rows_int(rows, 3),
		.owner = take_text(text, owner),
		.place = take_text(text, place),
		.expires = st_rows_int(rows, 6),
	};
	return text->failed ? st_fail_nomem(err) : each(data, &task, err);
}

int st_store_tasks(struct st_store *store,
                   int (*each)(void *data, const struct st_repo_task *task, struct stet_error *err),
                   void *data, struct stet_error *err) {
	/* A claim of others that has expired is none. */
	static const char sql[] =
		"SELECT id, description, CASE WHEN lapsed THEN 0 ELSE status END, priority,"
		" CASE WHEN lapsed THEN NULL ELSE owner END, CASE WHEN lapsed THEN NULL ELSE place END,"
		" CASE WHEN lapsed OR status <> 1 THEN NULL ELSE expires END FROM"
		" (SELECT *, status = 1 AND place IS NOT NULL AND coalesce(expires, 0) <= ? AS lapsed"
		" FROM tasks) ORDER BY priority, id";
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "i", st_wall_ns());
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		code = list_one(&rows, &text, each, data, err);
		if (code < 0)
			st_rows_end(&rows);
	}
	return code;
}
