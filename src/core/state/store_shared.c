/* The store's copy of the hub's tasks: find changes to send, and store the tasks that the hub sends. */
#include "core/state/store_shared.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "core/session/session.h"

enum {
	/* If a local task has the number already, add this until a number is free. */
	NUMBER_STEP = 10'000,
	/* After so many steps take the next number of all. */
	NUMBER_STEPS_MAX = 20,
};

/* The largest valid rev: microseconds since 1970, in the year 2112. */
#define REV_MAX ((int64_t)1 << 52)
#define SECOND_NS ((int64_t)1000000000)
#define DAY_NS (24 * 3600 * SECOND_NS)
/*
 * The hub lists only tasks that are open or were finished in the last 30 days; more if
 * this place was not used for so long. A task that changed in the last 29 days and is
 * not in its list is lost there: send it again.
 */
#define PAST_NS (30 * DAY_NS)
#define FORGOTTEN_NS (29 * DAY_NS)
#define REMOVED_NS (31 * DAY_NS)

/* ---- sending ---- */

/* A local task that the hub has not received yet. Tasks of an agent's own to-do list are never sent. */
#define IS_NEW \
	"source IS NULL AND NOT EXISTS (SELECT 1 FROM shared_tasks AS s WHERE s.task = tasks.id)"

/* Whether to send a task. Ignore a changed owner unless the task is in progress. */
#define DIFFERS \
	"s.removed = 0 AND (t.id IS NULL OR s.rev = 0 OR t.description <> s.description" \
	" OR t.priority <> s.priority OR t.status <> s.status" \
	" OR t.status = 1 AND t.owner IS NOT s.owner)"

int st_store_shared_is_behind(struct st_store *store, bool *behind, struct stet_error *err) {
	static const char sql[] =
		"SELECT EXISTS (SELECT 1 FROM tasks WHERE " IS_NEW
		") OR EXISTS (SELECT 1 FROM"
		" shared_tasks AS s LEFT JOIN tasks AS t ON t.id = s.task WHERE " DIFFERS ")";
	int64_t number = 0;
	int code = st_db_number(store->db, sql, &number, err, "");
	*behind = number != 0;
	return code;
}

/*
 * Claims at the hub have an owner. A session without a name can start a task only in a
 * process without a hub; that task is free again, because nobody could renew its claim.
 */
static int free_unowned(struct st_store *store, struct stet_error *err) {
	static const char sql[] =
		"UPDATE tasks SET status = 0 WHERE status = 1 AND owner IS NULL AND source IS NULL";
	return st_db_run(store->db, sql, err, "");
}

/* Give ids to new tasks. Drop the ids of tasks that were removed before the hub had them. */
static int add_new(struct st_store *store, struct stet_error *err) {
	static const char drop[] =
		"DELETE FROM shared_tasks WHERE rev = 0 AND task NOT IN (SELECT id FROM tasks)";
	static const char add[] =
		"INSERT INTO shared_tasks (id, task, description, status, priority, removed, rev,"
		" updated_at) SELECT lower(hex(randomblob(16))), id, '', 0, 0, 0, 0, ? FROM tasks "
		"WHERE " IS_NEW;
	int code = st_db_run(store->db, drop, err, "");
	return code == 0 ? st_db_run(store->db, add, err, "i", st_wall_ns()) : code;
}

static void read_sets(const struct st_rows *rows, int column, char sets[8]) {
	static const char letters[] = "dpsr";
	size_t count = 0;
	for (int i = 0; letters[i]; i++) {
		if (st_rows_int(rows, column + i))
			sets[count++] = letters[i];
	}
	sets[count] = '\0';
}

/* Cut the prefix off an owner's name: it is a digest of a token, and useless in other places. */
static struct st_str label_of(struct st_str owner, char text[256]) {
	snprintf(text, 256, "%.*s", (int)owner.len, owner.ptr);
	return st_str(st_name_without_owner(text));
}

int st_store_shared_changes(struct st_store *store, st_shared_change_fn *each, void *data,
                            struct stet_error *err) {
	static const char sql[] =
		"SELECT s.id, s.task, coalesce(t.description, s.description), coalesce(t.status, 0),"
		" coalesce(t.priority, 0), t.owner, coalesce(t.fence, s.fence), t.id IS NULL,"
		" t.description <> s.description, t.priority <> s.priority, t.status <> s.status"
		" OR t.status = 1 AND t.owner IS NOT s.owner, t.id IS NULL"
		" FROM shared_tasks AS s LEFT JOIN tasks AS t ON t.id = s.task WHERE " DIFFERS
		" ORDER BY s.task LIMIT ?";
	struct st_rows rows;
	int code = free_unowned(store, err);
	if (code == 0)
		code = add_new(store, err);
	if (code == 0)
		code = st_db_query(store->db, &rows, sql, err, "i", (int64_t)ST_HUB_TASKS);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		char label[256];
		struct st_hub_task_change change = {
			.id = st_rows_str(&rows, 0),
			.number = st_rows_int(&rows, 1),
			.description = st_rows_str(&rows, 2),
			.status = st_rows_int(&rows, 3),
			.priority = st_rows_int(&rows, 4),
			.owner = label_of(st_rows_str(&rows, 5), label),
			.fence = st_rows_int(&rows, 6),
			.removed = st_rows_int(&rows, 7) != 0,
		};
		read_sets(&rows, 8, change.sets);
		code = each(data, &change, err);
		if (code < 0)
			st_rows_end(&rows);
	}
	return code < 0 ? code : 0;
}

/* ---- forgotten tasks ---- */

static int compare_ids(const void *a, const void *b) {
	return strcmp(a, ((const struct st_shared_seen *)b)->id);
}

static int give_forgotten(const struct st_rows *rows, const struct st_shared_seen *seen,
                          size_t count, st_shared_change_fn *each, void *data,
                          struct stet_error *err) {
	char id[ST_TASK_KEY + 1], label[256];
	struct st_str key = st_rows_str(rows, 0);
	snprintf(id, sizeof id, "%.*s", (int)key.len, key.ptr);
	const struct st_shared_seen *found =
		count > 0 ? bsearch(id, seen, count, sizeof *seen, compare_ids) : NULL;
	bool elsewhere = st_rows_int(rows, 9) != 0;
	struct st_hub_task_change change = {
		.id = key,
		.number = st_rows_int(rows, 1),
		.description = st_rows_str(rows, 2),
		.status = st_rows_int(rows, 3),
		.priority = st_rows_int(rows, 4),
		.owner = label_of(st_rows_str(rows, 5), label),
		.fence = st_rows_int(rows, 6),
		.removed = st_rows_int(rows, 7) != 0,
		.rev = st_rows_int(rows, 8),
	};
	/* Only the place that holds a claim may restore it. Other places restore the task as pending. */
	if (change.status == ST_TASK_IN_PROGRESS && elsewhere) {
		change.status = ST_TASK_PENDING;
		change.owner = (struct st_str){0};
		change.fence = 0;
		change.rev--;
	}
	if (found ? found->rev >= change.rev : change.removed)
		return 0;
	return each(data, &change, err);
}

int st_store_shared_forgotten(struct st_store *store, const struct st_shared_seen *seen,
                              size_t count, st_shared_change_fn *each, void *data,
                              struct stet_error *err) {
	static const char sql[] =
		"SELECT id, task, description, status, priority, owner, coalesce(fence, 0), removed, rev,"
		" place IS NOT NULL FROM shared_tasks WHERE rev > 0 AND updated_at > ? ORDER BY task";
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "i", st_wall_ns() - FORGOTTEN_NS);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		code = give_forgotten(&rows, seen, count, each, data, err);
		if (code < 0)
			st_rows_end(&rows);
	}
	return code < 0 ? code : 0;
}

/* ---- receiving ---- */

int st_store_shared_past(struct st_store *store, int64_t *past_ns, struct stet_error *err) {
	static const char sql[] = "SELECT coalesce(max(updated_at), 0) FROM shared_tasks";
	int64_t last = 0;
	int code = st_db_number(store->db, sql, &last, err, "");
	int64_t age = last > 0 ? st_wall_ns() - last + DAY_NS : 0;
	*past_ns = age > PAST_NS ? age : PAST_NS;
	return code;
}

/* One version of a task: the local one, or the last one of the hub. */
struct version {
	bool exists;
	struct st_buf text;
	struct st_str description, owner;
	int64_t status, priority;
};

/* The store's copy of a task of the hub. */
struct stored {
	bool known, removed, own_claim;
	int64_t task, rev, fence;
	struct version here, hub;
};

static void stored_release(struct stored *stored) {
	st_buf_release(&stored->here.text);
	st_buf_release(&stored->hub.text);
}

static int read_version(const struct st_rows *rows, int column, struct version *version,
                        struct stet_error *err) {
	struct st_str description = st_rows_str(rows, column), owner = st_rows_str(rows, column + 1);
	st_buf_add(&version->text, description);
	st_buf_add(&version->text, owner);
	if (version->text.failed)
		return st_fail_nomem(err);
	const char *text = st_buf_cstr(&version->text);
	version->exists = !st_rows_is_null(rows, column);
	version->description = st_strn(text, description.len);
	version->owner = st_strn(text + description.len, owner.len);
	version->status = st_rows_int(rows, column + 2);
	version->priority = st_rows_int(rows, column + 3);
	return 0;
}

static int find_stored(struct st_store *store, struct st_str id, struct stored *stored,
                       struct stet_error *err) {
	static const char sql[] =
		"SELECT s.task, s.rev, s.removed, coalesce(t.fence, 0), s.place IS NULL, s.description,"
		" s.owner, s.status, s.priority, t.description, t.owner, t.status, t.priority"
		" FROM shared_tasks AS s LEFT JOIN tasks AS t ON t.id = s.task WHERE s.id = ?";
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "s", id);
	if (code == 0)
		code = st_rows_next(&rows, err);
	if (code <= 0)
		return code;
	stored->known = true;
	stored->task = st_rows_int(&rows, 0);
	stored->rev = st_rows_int(&rows, 1);
	stored->removed = st_rows_int(&rows, 2) != 0;
	stored->fence = st_rows_int(&rows, 3);
	stored->own_claim = st_rows_int(&rows, 4) != 0;
	code = read_version(&rows, 5, &stored->hub, err);
	if (code == 0)
		code = read_version(&rows, 9, &stored->here, err);
	st_rows_end(&rows);
	return code;
}

static bool is_text(struct st_str text, size_t max) {
	return text.len <= max && st_utf8_valid(text) && !memchr(text.ptr, '\0', text.len);
}

static bool is_sound(const struct st_hub_task *task) {
	return task->id.len == ST_TASK_KEY && task->rev > 0 && task->rev < REV_MAX &&
	       task->status >= ST_TASK_PENDING && task->status <= ST_TASK_COMPLETED &&
	       task->fence >= 0 && is_text(task->description, ST_TASK_BYTES_MAX) &&
	       st_str_trim(task->description).len > 0 && is_text(task->owner, ST_LABEL_MAX) &&
	       (task->status != ST_TASK_IN_PROGRESS || task->owner.len > 0);
}

/* Name the place of a claim for people: "hello on main". */
static void name_place(const struct st_hub_task *task, struct st_buf *out) {
	const char *slash = task->path.len > 0 ? memrchr(task->path.ptr, '/', task->path.len) : NULL;
	struct st_str last =
		slash ? st_str_slice(task->path, (size_t)(slash + 1 - task->path.ptr), task->path.len)
			  : (struct st_str){0};
	bool named = last.len > 0 && is_text(last, 100);
	st_buf_add(out, named ? last : ST_STR("another place"));
	if (task->branch.len > 0 && is_text(task->branch, 200)) {
		st_buf_adds(out, " on ");
		st_buf_add(out, task->branch);
	}
}

/* Choose the local number of a new task: the hub's, unless a local task has it. */
static int choose_number(struct st_store *store, int64_t wanted, int64_t *number,
                         struct stet_error *err) {
	static const char is_taken[] =
		"SELECT EXISTS (SELECT 1 FROM tasks WHERE id = ?1) OR EXISTS (SELECT 1 FROM shared_tasks"
		" WHERE task = ?1)";
	static const char asks_next[] =
		"SELECT max(coalesce((SELECT max(id) FROM tasks), 0),"
		" coalesce((SELECT max(task) FROM shared_tasks), 0)) + 1";
	int64_t taken = 1;
	int code = 0;
	*number = wanted > 0 && wanted <= ST_TASK_NUMBER_MAX ? wanted : NUMBER_STEP;
	for (int i = 0; i < NUMBER_STEPS_MAX && code == 0; i++) {
		code = st_db_number(store->db, is_taken, &taken, err, "i", *number);
		if (code < 0 || !taken)
			return code;
		*number += NUMBER_STEP;
	}
	return code == 0 ? st_db_number(store->db, asks_next, number, err, "") : code;
}

static int count_shared(struct st_store *store, int64_t *count, struct stet_error *err) {
	return st_db_number(store->db, "SELECT count(*) FROM shared_tasks", count, err, "");
}

/*
 * Bound the copy, whatever the hub sends. Removed tasks remain in it because the hub
 * lists them for 30 days; when it is full, drop those that are older.
 */
static int has_room(struct st_store *store, bool *room, struct stet_error *err) {
	static const char drop[] = "DELETE FROM shared_tasks WHERE removed = 1 AND updated_at < ?";
	int64_t count = 0;
	int code = count_shared(store, &count, err);
	if (code == 0 && count >= ST_TASKS_MAX) {
		code = st_db_run(store->db, drop, err, "i", st_wall_ns() - REMOVED_NS);
		if (code == 0)
			code = count_shared(store, &count, err);
	}
	*room = count < ST_TASKS_MAX;
	return code;
}

static int write_hub(struct st_store *store, const struct st_hub_task *task, int64_t number,
                     struct st_str owner, struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO shared_tasks (id, task, description, status, priority, owner, place, fence,"
		" removed, rev, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, nullif(?6, ''), nullif(?7, ''),"
		" ?8, ?9, ?10, ?11) ON CONFLICT (id) DO UPDATE SET task = ?2, description = ?3,"
		" status = ?4, priority = ?5, owner = nullif(?6, ''), place = nullif(?7, ''), fence = ?8,"
		" removed = ?9, updated_at = CASE WHEN rev = ?10 THEN updated_at ELSE ?11 END, rev = ?10";
	st_auto(st_buf) place = ST_BUF_INIT;
	if (task->status != ST_TASK_PENDING && !task->own)
		name_place(task, &place);
	if (place.failed)
		return st_fail_nomem(err);
	return st_db_run(store->db, sql, err, "sisiissiiii", task->id, number, task->description,
	                 task->status, task->priority, owner, st_buf_str(&place), task->fence,
	                 (int64_t)task->removed, task->rev, st_wall_ns());
}

/* The local time at which a claim ends, within a day of now; 0 if the task is not claimed. */
static int64_t expiry(const struct st_hub_task *task) {
	int64_t left = task->left_ns;
	if (!task->expires || task->status != ST_TASK_IN_PROGRESS)
		return 0;
	return st_wall_ns() + (left < -DAY_NS ? -DAY_NS : left > DAY_NS ? DAY_NS : left);
}

static int write_here(struct st_store *store, int64_t number, const struct version *version,
                      struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO tasks (id, description, status, priority, owner, updated_at) VALUES (?1, ?2,"
		" ?3, ?4, nullif(?5, ''), ?6) ON CONFLICT (id) DO UPDATE SET description = ?2, status = ?3,"
		" priority = ?4, owner = nullif(?5, ''), updated_at = ?6";
	return st_db_run(store->db, sql, err, "isiisi", number, version->description, version->status,
	                 version->priority, version->owner, st_wall_ns());
}

/* Store the claim: its end, and the fence of a claim held here, or the place of one held elsewhere. */
static int write_claim(struct st_store *store, int64_t number, const struct st_hub_task *task,
                       struct stet_error *err) {
	static const char sql[] =
		"UPDATE tasks SET place = nullif(?2, ''), expires = ?3, fence = ?4 WHERE id = ?1";
	st_auto(st_buf) place = ST_BUF_INIT;
	if (task->status != ST_TASK_PENDING && !task->own)
		name_place(task, &place);
	if (place.failed)
		return st_fail_nomem(err);
	bool held = task->own && task->status == ST_TASK_IN_PROGRESS;
	return st_db_run(store->db, sql, err, "isnn", number, st_buf_str(&place), expiry(task),
	                 held ? task->fence : 0);
}

/* Compare a status and, of a task in progress, the owner, with or without the prefix of a token. */
static bool has_status(const struct version *version, int64_t status, struct st_str owner) {
	char label[256];
	return version->status == status &&
	       (status != ST_TASK_IN_PROGRESS || st_str_eq(version->owner, owner) ||
	        st_str_eq(label_of(version->owner, label), owner));
}

/* The hub has owners without the prefix of a token: keep the local name of the same owner. */
static struct st_str owner_here(const struct st_hub_task *task, const struct stored *stored) {
	char label[256];
	if (task->own && stored->here.exists &&
	    st_str_eq(label_of(stored->here.owner, label), task->owner))
		return stored->here.owner;
	return task->owner;
}

/* Whether the hub accepted the status that was sent. */
static bool is_taken(const struct st_hub_task *task, const struct st_hub_task_change *sent) {
	if (task->status != sent->status)
		return false;
	return task->status != ST_TASK_IN_PROGRESS ||
	       (task->own && st_str_eq(task->owner, sent->owner));
}

static int put_known(struct st_store *store, const struct st_hub_task *task,
                     const struct st_hub_task_change *sent, const struct stored *stored,
                     struct st_shared_result *result, struct stet_error *err) {
	const struct version *here = &stored->here, *base = &stored->hub;
	struct st_str owner = owner_here(task, stored);
	struct version next = {.description = here->description,
	                       .priority = here->priority,
	                       .status = here->status,
	                       .owner = here->owner};
	bool edited = !st_str_eq(here->description, sent ? sent->description : base->description);
	bool moved = here->priority != (sent ? sent->priority : base->priority);
	bool worked = sent ? !has_status(here, sent->status, sent->owner)
	                   : !has_status(here, base->status, base->owner);
	if (!edited)
		next.description = task->description;
	if (!moved)
		next.priority = task->priority;
	if (!worked) {
		next.status = task->status;
		next.owner = owner;
	}
	result->refused = sent && strchr(sent->sets, 's') && !is_taken(task, sent);
	result->lost = !sent && base->status == ST_TASK_COMPLETED && stored->own_claim &&
	               task->status != ST_TASK_COMPLETED;
	int code = write_hub(store, task, stored->task, owner, err);
	if (code == 0)
		code = write_here(store, stored->task, &next, err);
	return code == 0 && !worked ? write_claim(store, stored->task, task, err) : code;
}

static int put_new(struct st_store *store, const struct st_hub_task *task, int64_t number,
                   struct stet_error *err) {
	const struct version version = {.description = task->description,
	                                .priority = task->priority,
	                                .status = task->status,
	                                .owner = task->owner};
	int code = write_hub(store, task, number, task->owner, err);
	if (code == 0)
		code = write_here(store, number, &version, err);
	return code == 0 ? write_claim(store, number, task, err) : code;
}

static int put_removed(struct st_store *store, const struct st_hub_task *task, int64_t number,
                       struct stet_error *err) {
	int code = write_hub(store, task, number, task->owner, err);
	return code == 0 ? st_db_run(store->db, "DELETE FROM tasks WHERE id = ?", err, "i", number)
	                 : code;
}

static int put_unknown(struct st_store *store, const struct st_hub_task *task, int64_t *number,
                       struct stet_error *err) {
	bool room = false;
	int code = task->removed ? 0 : has_room(store, &room, err);
	if (code < 0 || !room)
		return code;
	code = choose_number(store, task->number, number, err);
	return code == 0 ? put_new(store, task, *number, err) : code;
}

/* The hub sends the stored version again: only the end of its claim may be new. */
static int put_same(struct st_store *store, const struct st_hub_task *task,
                    const struct stored *stored, struct stet_error *err) {
	const struct version *hub = &stored->hub;
	if (task->status != ST_TASK_IN_PROGRESS || !has_status(&stored->here, hub->status, hub->owner))
		return 0;
	return write_claim(store, stored->task, task, err);
}

static int put_found(struct st_store *store, const struct st_hub_task *task,
                     const struct st_hub_task_change *sent, const struct stored *stored,
                     struct st_shared_result *result, struct stet_error *err) {
	result->id = stored->task;
	if (!sent && task->rev == stored->rev)
		return put_same(store, task, stored, err);
	if (task->removed)
		return put_removed(store, task, stored->task, err);
	if (stored->here.exists)
		return put_known(store, task, sent, stored, result, err);
	/* The task was removed here. Add it again if the hub refuses that, or has restored the task. */
	result->refused = sent && sent->removed;
	if (sent || stored->removed)
		return put_new(store, task, stored->task, err);
	/* Otherwise the removal is still to be sent, also if the hub's answer about the new task was lost. */
	return stored->rev == 0 ? write_hub(store, task, stored->task, task->owner, err) : 0;
}

int st_store_shared_put(struct st_store *store, const struct st_hub_task *task,
                        const struct st_hub_task_change *sent, struct st_shared_result *result,
                        struct stet_error *err) {
	struct stored stored = {0};
	*result = (struct st_shared_result){0};
	if (!is_sound(task))
		return 0;
	int code = find_stored(store, task->id, &stored, err);
	if (code == 0 && !stored.known)
		code = put_unknown(store, task, &result->id, err);
	else if (code == 0 && task->rev >= stored.rev)
		code = put_found(store, task, sent, &stored, result, err);
	if (code == 0 && result->id > 0)
		code = st_store_set(store, "updated_at", st_wall_ns(), err);
	stored_release(&stored);
	return code;
}

int st_store_shared_differs(struct st_store *store, const struct st_hub_task *task, bool *differs,
                            struct stet_error *err) {
	static const char sql[] =
		"SELECT rev, coalesce((SELECT expires FROM tasks WHERE id = s.task), 0) FROM shared_tasks"
		" AS s WHERE id = ?";
	struct st_rows rows;
	*differs = false;
	if (!is_sound(task))
		return 0;
	int code = st_db_query(store->db, &rows, sql, err, "s", task->id);
	if (code == 0)
		code = st_rows_next(&rows, err);
	if (code <= 0) {
		*differs = code == 0 && !task->removed;
		return code;
	}
	bool same_claim = llabs(st_rows_int(&rows, 1) - expiry(task)) < SECOND_NS;
	*differs =
		task->rev > st_rows_int(&rows, 0) || (task->rev == st_rows_int(&rows, 0) && !same_claim);
	st_rows_end(&rows);
	return 0;
}

int st_store_shared_id(struct st_store *store, int64_t task, char id[ST_TASK_KEY + 1],
                       struct stet_error *err) {
	struct st_rows rows;
	int code =
		st_db_query(store->db, &rows, "SELECT id FROM shared_tasks WHERE task = ? AND removed = 0",
	                err, "i", task);
	if (code == 0)
		code = st_rows_next(&rows, err);
	if (code <= 0)
		return code;
	struct st_str key = st_rows_str(&rows, 0);
	snprintf(id, ST_TASK_KEY + 1, "%.*s", (int)key.len, key.ptr);
	st_rows_end(&rows);
	return 1;
}
