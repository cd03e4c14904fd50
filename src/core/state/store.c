/* Transactions, counters, tracked files, the story and the log. */
#include "core/state/store.h"

#include <stdio.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/versions/state_dir.h"
#include "fs/path/sys.h"

enum {
	/* How long a transaction waits for other processes, and how long with ST_STORE_RETRY. */
	WAIT_MS = 5000,
	RETRY_WAIT_MS = 50,
	/* The longest pause between two attempts. */
	PAUSE_MAX_MS = 10,
};

/* ---- the database ---- */

void st_store_init(struct st_store *store, const struct st_root *root,
                   struct st_write_context *writes) {
	*store = (struct st_store){
		.root = root, .writes = writes, .wait_ms = WAIT_MS, .counter_generation = -1};
	pthread_mutex_init(&store->lock, NULL);
}

void st_store_release(struct st_store *store) {
	st_store_disconnect(store);
	pthread_mutex_destroy(&store->lock);
}

bool st_store_is_in_place(const struct st_store *store) {
	char path[sizeof store->why];
	struct stat st;
	snprintf(path, sizeof path, "%s/%s", store->writes->state_dir, ST_STORE_NAME);
	return st_retry(fstatat(store->root->fd, path, &st, AT_SYMLINK_NOFOLLOW)) == 0 &&
	       st.st_dev == store->dev && st.st_ino == store->ino && st.st_nlink == 1;
}

static bool has_dir(const struct st_store *store) {
	struct stat st;
	const char *dir = store->writes->state_dir;
	return st_retry(fstatat(store->root->fd, dir, &st, AT_SYMLINK_NOFOLLOW)) == 0 ||
	       errno != ENOENT;
}

bool st_store_exists(struct st_store *store) {
	static const char *const names[] = {ST_STORE_NAME, "repostate.json"};
	pthread_mutex_lock(&store->lock);
	bool there = store->db != NULL;
	pthread_mutex_unlock(&store->lock);
	struct stat st;
	const char *dir = store->writes->state_dir;
	/* The common case: there is no state directory. */
	if (there || !has_dir(store))
		return there;
	for (size_t i = 0; i < 2 && !there; i++) {
		char path[300];
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		there = st_retry(fstatat(store->root->fd, path, &st, AT_SYMLINK_NOFOLLOW)) == 0;
	}
	return there;
}

bool st_store_is_made(struct st_store *store) {
	pthread_mutex_lock(&store->lock);
	bool blank = store->db && store->blank;
	pthread_mutex_unlock(&store->lock);
	return !blank && st_store_exists(store);
}

/* If the state directory cannot be used, connect, which sets `why`. Otherwise leave it unopened. */
static int find_unusable(struct st_store *store, struct stet_error *err) {
	st_autofd dirfd = st_state_find(store->root, store->writes->state_dir, NULL);
	return dirfd == STET_E_ACCESS ? st_store_connect(store, err) : 0;
}

int st_store_is_stored(struct st_store *store, struct stet_error *err) {
	pthread_mutex_lock(&store->lock);
	int code = store->db ? 0 : find_unusable(store, err);
	if (code == 0 && *store->why)
		code = st_fail(err, STET_E_ACCESS, "%s", store->why);
	pthread_mutex_unlock(&store->lock);
	return code;
}

/* ---- transactions ---- */

static int check_version(struct st_store *store, struct stet_error *err) {
	int64_t version;
	int code = st_db_version(store->db, &version, err);
	if (code == 0 && version != store->version) {
		store->version = version;
		store->generation++;
	}
	return code;
}

/* SQLite itself rolls back after some failures; then ROLLBACK fails, which is fine. */
static void roll_back(struct st_store *store) {
	store->generation++;
	store->rolled_back++;
	(void)st_db_exec(store->db, "ROLLBACK", NULL);
}

/* If it fails, no transaction is open. */
static int begin_transaction(struct st_store *store, enum st_store_mode mode,
                             struct stet_error *err) {
	/* Constants, so that the statements stay prepared: every tool call runs them. */
	static const char begin[] = "BEGIN", begin_write[] = "BEGIN IMMEDIATE";
	int code = st_db_run(store->db, mode == ST_STORE_READ ? begin : begin_write, err, "");
	if (code < 0)
		return code;
	code = check_version(store, err);
	if (code < 0)
		roll_back(store);
	return code;
}

static int finish_transaction(struct st_store *store, st_store_fn *fn, void *data,
                              struct stet_error *err) {
	static const char commit[] = "COMMIT";
	int code = fn(store, data, err);
	if (code >= 0) {
		int done = st_db_run(store->db, commit, err, "");
		code = done < 0 ? done : code;
	}
	if (code < 0)
		roll_back(store);
	return code;
}

int st_store_run(struct st_store *store, enum st_store_mode mode, st_store_fn *fn, void *data,
                 struct stet_error *err) {
	int code = begin_transaction(store, mode, err);
	return code < 0 ? code : finish_transaction(store, fn, data, err);
}

static int do_nothing(struct st_store *store, void *data, struct stet_error *err) {
	return 0;
}

int64_t st_store_changes(struct st_store *store) {
	if (!st_store_exists(store) || st_store_do(store, ST_STORE_READ, do_nothing, NULL, NULL) < 0)
		return 0;
	pthread_mutex_lock(&store->lock);
	int64_t changes = store->generation + store->commits + 1;
	pthread_mutex_unlock(&store->lock);
	return changes;
}

/* Open the database, or reopen it if another process has replaced it. */
static int ensure_open(struct st_store *store, enum st_store_mode mode, struct stet_error *err) {
	bool blank = mode == ST_STORE_READ && !has_dir(store);
	if (store->db && (store->in_memory ? store->blank && !blank : !st_store_is_in_place(store)))
		st_store_disconnect(store);
	if (store->db)
		return 0;
	return (blank ? st_store_connect_blank : st_store_connect)(store, err);
}

static int max_wait_ms(const struct st_store *store, enum st_store_mode mode) {
	return mode == ST_STORE_RETRY ? RETRY_WAIT_MS : store->wait_ms;
}

/* Do not wait for other processes here, with the lock held: st_store_do() waits without it. */
static int transact(struct st_store *store, enum st_store_mode mode, st_store_fn *fn, void *data,
                    bool *begun, struct stet_error *err) {
	*begun = false;
	int code = ensure_open(store, mode, err);
	if (code < 0)
		return code;
	st_db_wait(store->db, 0);
	code = begin_transaction(store, mode, err);
	if (code < 0)
		return code;
	*begun = true;
	st_db_wait(store->db, max_wait_ms(store, mode));
	store->commits += mode != ST_STORE_READ;
	return finish_transaction(store, fn, data, err);
}

static bool is_damaged(const struct st_store *store) {
	return store->db && !store->in_memory && st_db_is_damaged(store->db);
}

/* Sets *busy if another process was in the way before the transaction began. */
static int try_transaction(struct st_store *store, enum st_store_mode mode, st_store_fn *fn,
                           void *data, bool *busy, struct stet_error *err) {
	bool begun;
	pthread_mutex_lock(&store->lock);
	int code = transact(store, mode, fn, data, &begun, err);
	if (code < 0 && is_damaged(store)) {
		begun = false;
		code = st_store_replace_damaged(store, err);
		if (code == 0)
			code = transact(store, mode, fn, data, &begun, err);
	}
	*busy = code == STET_E_BUSY && !begun;
	/* A file that SQLite must not open has appeared beside it: the next call opens, and so sets it aside. */
	if (code == STET_E_ACCESS && store->db && !store->in_memory)
		st_store_disconnect(store);
	pthread_mutex_unlock(&store->lock);
	return code;
}

/* Every call needs the store's lock, so a thread pauses without it: readers need not wait for writers. */
int st_store_do(struct st_store *store, enum st_store_mode mode, st_store_fn *fn, void *data,
                struct stet_error *err) {
	int64_t until = st_now_ms() + max_wait_ms(store, mode);
	for (int64_t pause_ms = 1;; pause_ms += pause_ms < PAUSE_MAX_MS) {
		bool busy;
		int code = try_transaction(store, mode, fn, data, &busy, err);
		if (!busy || st_now_ms() >= until || st_cancel_sleep(pause_ms, NULL) < 0)
			return code;
		if (err)
			*err = (struct stet_error){0};
	}
}

/* ---- numbers ---- */

int st_store_get(struct st_store *store, const char *name, int64_t *value, struct stet_error *err) {
	static const char sql[] = "SELECT value FROM meta WHERE name = ?";
	return st_db_number(store->db, sql, value, err, "t", name);
}

int st_store_set(struct st_store *store, const char *name, int64_t value, struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO meta (name, value) VALUES (?, ?)"
		" ON CONFLICT (name) DO UPDATE SET value = excluded.value";
	return st_db_run(store->db, sql, err, "ti", name, value);
}

/* The last number is the largest one stored. */
static int read_counter(struct st_store *store, struct stet_error *err) {
	static const char changed[] = "SELECT coalesce(max(changed), 0) FROM files";
	int64_t last, epoch;
	if (store->counter_generation == store->generation)
		return 0;
	int code = st_db_number(store->db, changed, &last, err, "");
	if (code == 0)
		code = st_store_get(store, "epoch", &epoch, err);
	if (code < 0)
		return code;
	store->counter = last > epoch ? last : epoch;
	store->counter_generation = store->generation;
	return 0;
}

/* A rollback changes the generation, so that read_counter() reads the last number again. */
int st_store_next(struct st_store *store, int64_t *number, struct stet_error *err) {
	int code = read_counter(store, err);
	if (code == 0 && (store->counter < 0 || store->counter == INT64_MAX))
		code = st_db_mark_damaged(store->db, "a number in it is out of range", err);
	if (code == 0)
		*number = ++store->counter;
	return code;
}

/* A path from a row, NUL-terminated and valid until the buffer's next use; NULL if it is no path. */
static const char *path_of(struct st_buf *buf, struct st_str path) {
	st_buf_clear(buf);
	st_buf_add(buf, path);
	return path.len > 0 && !buf->failed && strlen(buf->ptr) == path.len ? buf->ptr : NULL;
}

/* ---- files ---- */

int st_store_put_file(struct st_store *store, const struct st_tracked *file, int64_t change,
                      struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO files (path, hash, size, dev, ino, mtime_ns, ctime_ns, racy, base, external,"
		" changed, known, who) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, size = excluded.size,"
		" dev = excluded.dev, ino = excluded.ino, mtime_ns = excluded.mtime_ns,"
		" ctime_ns = excluded.ctime_ns, racy = excluded.racy, base = excluded.base,"
		" external = excluded.external, changed = excluded.changed, known = excluded.known,"
		" who = excluded.who";
	const struct st_stamp *stamp = &file->version.stamp;
	return st_db_run(store->db, sql, err, "bhiiiiiihiiht", st_str(file->path),
	                 st_version_hash(&file->version), (int64_t)stamp->size, (int64_t)stamp->dev,
	                 (int64_t)stamp->ino, stamp->mtime_ns, stamp->ctime_ns, (int64_t)stamp->racy,
	                 st_version_hash(&file->base), (int64_t)file->external, change,
	                 st_version_hash(&file->known), file->who);
}

static struct st_tracked read_file(const struct st_rows *rows, const char *path) {
	struct st_tracked file = {
		.path = path,
		.version.stamp =
			{
				.size = (uint64_t)st_rows_int(rows, 2),
				.dev = (uint64_t)st_rows_int(rows, 3),
				.ino = (uint64_t)st_rows_int(rows, 4),
				.mtime_ns = st_rows_int(rows, 5),
				.ctime_ns = st_rows_int(rows, 6),
				.racy = st_rows_int(rows, 7) != 0,
			},
		.external = st_rows_int(rows, 9) != 0,
		.changed = st_rows_int(rows, 10),
	};
	file.version.exists = st_rows_hash(rows, 1, &file.version.hash);
	file.base.exists = st_rows_hash(rows, 8, &file.base.hash);
	file.known.exists = st_rows_hash(rows, 11, &file.known.hash);
	return file;
}

int st_store_files_since(struct st_store *store, int64_t change,
                         int (*each)(void *data, const struct st_tracked *file,
                                     struct stet_error *err),
                         void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT path, hash, size, dev, ino, mtime_ns, ctime_ns, racy, base, external, changed,"
		" known, who FROM files WHERE changed > ?";
	st_auto(st_buf) path = ST_BUF_INIT;
	st_auto(st_buf) who = ST_BUF_INIT;
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "i", change);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		const char *name = path_of(&path, st_rows_str(&rows, 0));
		struct st_tracked file = read_file(&rows, name);
		file.who = path_of(&who, st_rows_str(&rows, 12));
		code = name ? each(data, &file, err) : 0;
		if (code < 0)
			st_rows_end(&rows);
	}
	return code;
}

/* ---- the baseline ---- */

int st_store_baseline_clear(struct st_store *store, struct stet_error *err) {
	static const char sql[] = "DELETE FROM baseline";
	return st_db_run(store->db, sql, err, "");
}

int st_store_baseline_add(struct st_store *store, const struct st_tracked *file,
                          struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO baseline (path, hash, size, dev, ino, mtime_ns, ctime_ns)"
		" VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO NOTHING";
	const struct st_stamp *stamp = &file->version.stamp;
	return st_db_run(store->db, sql, err, "bhiiiii", st_str(file->path),
	                 st_version_hash(&file->version), (int64_t)stamp->size, (int64_t)stamp->dev,
	                 (int64_t)stamp->ino, stamp->mtime_ns, stamp->ctime_ns);
}

int st_store_baseline_get(struct st_store *store, const char *path, struct st_version *version,
                          struct stet_error *err) {
	static const char sql[] =
		"SELECT hash, size, dev, ino, mtime_ns, ctime_ns FROM baseline WHERE path = ?";
	struct st_rows rows;
	*version = (struct st_version){0};
	int code = st_db_query(store->db, &rows, sql, err, "b", st_str(path));
	if (code == 0)
		code = st_rows_next(&rows, err);
	if (code <= 0)
		return code;
	version->exists = st_rows_hash(&rows, 0, &version->hash);
	version->stamp = (struct st_stamp){
		.size = (uint64_t)st_rows_int(&rows, 1),
		.dev = (uint64_t)st_rows_int(&rows, 2),
		.ino = (uint64_t)st_rows_int(&rows, 3),
		.mtime_ns = st_rows_int(&rows, 4),
		.ctime_ns = st_rows_int(&rows, 5),
	};
	st_rows_end(&rows);
	return 1;
}

/* ---- the story ---- */

int st_store_story(struct st_store *store, struct st_buf *name, struct stet_error *err) {
	static const char sql[] =
		"SELECT name FROM stories WHERE ended_at IS NULL ORDER BY id DESC LIMIT 1";
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "");
	if (code == 0)
		code = st_rows_next(&rows, err);
	if (code > 0) {
		st_buf_add(name, st_rows_str(&rows, 0));
		st_rows_end(&rows);
		code = name->failed ? st_fail_nomem(err) : 0;
	}
	return code;
}

/* Stored as 1 for no, 2 for yes: a missing number reads as 0, which is the configured default. */
static const char choice[] = "story_use_snapshot";

int st_store_story_choice(struct st_store *store, int *use, struct stet_error *err) {
	int64_t value;
	int code = st_store_get(store, choice, &value, err);
	*use = code == 0 && (value == 1 || value == 2) ? (int)value - 1 : -1;
	return code;
}

int st_store_story_choose(struct st_store *store, int use, struct stet_error *err) {
	return st_store_set(store, choice, use + 1, err);
}

/* The story starts from the current files; deleted ones are no part of it. */
static int set_baseline(struct st_store *store, struct stet_error *err) {
	static const char drop[] = "DELETE FROM files WHERE hash IS NULL";
	static const char rebase[] =
		"UPDATE files SET base = hash, known = hash, who = NULL,"
		" external = 0";
	int64_t epoch;
	int code = st_db_run(store->db, drop, err, "");
	if (code == 0)
		code = st_db_run(store->db, rebase, err, "");
	if (code == 0)
		code = st_store_next(store, &epoch, err);
	/* Copies of the files in memory, in this process too, must be read anew. */
	store->generation++;
	return code == 0 ? st_store_set(store, "epoch", epoch, err) : code;
}

int st_store_story_begin(struct st_store *store, const char *name, struct stet_error *err) {
	static const char end[] = "UPDATE stories SET ended_at = ? WHERE ended_at IS NULL";
	static const char begin[] = "INSERT INTO stories (name, began_at) VALUES (?, ?)";
	int64_t now = st_wall_ns();
	int code = st_db_run(store->db, end, err, "i", now);
	if (code == 0 && name)
		code = st_db_run(store->db, begin, err, "ti", name, now);
	if (code == 0 && name)
		code = set_baseline(store, err);
	if (code == 0)
		code = st_store_story_choose(store, -1, err);
	return code == 0 ? st_store_set(store, "updated_at", now, err) : code;
}

/* ---- the log ---- */

int st_store_updated(struct st_store *store, int64_t *at, struct stet_error *err) {
	static const char sql[] = "SELECT at FROM writes ORDER BY id DESC LIMIT 1";
	int64_t wrote = 0;
	int code = st_store_get(store, "updated_at", at, err);
	if (code == 0)
		code = st_db_number(store->db, sql, &wrote, err, "");
	*at = wrote > *at ? wrote : *at;
	return code;
}

/*
 * A note may refer to a database that is gone, where the number was another
 * file's. A write that takes back an undo brings back what that one undid.
 */
static int mark_undone(struct st_store *store, int64_t undone, const char *path, int64_t by,
                       struct stet_error *err) {
	static const char mark[] = "UPDATE writes SET undone_by = ? WHERE id = ? AND path = ?";
	static const char bring_back[] =
		"UPDATE writes SET undone_by = NULL WHERE undone_by = ? AND path = ?";
	int code = st_db_run(store->db, mark, err, "iib", by, undone, st_str(path));
	return code < 0 ? code : st_db_run(store->db, bring_back, err, "ib", undone, st_str(path));
}

static int mark_all_undone(struct st_store *store, const struct st_file_event *undo, int64_t by,
                           struct stet_error *err) {
	int code = undo->undoes == 0 ? 0 : mark_undone(store, undo->undoes, undo->path, by, err);
	for (size_t i = 0; i < undo->undoes_too_count && code == 0; i++)
		code = mark_undone(store, undo->undoes_too[i], undo->path, by, err);
	return code;
}

int st_store_log(struct st_store *store, const struct st_file_event *event,
                 struct stet_error *err) {
	static const char insert[] =
		"INSERT INTO writes (path, at, session, before, after, undoes, executable)"
		" VALUES (?, ?, ?, ?, ?, ?, ?)";
	static const char trim[] = "DELETE FROM writes WHERE id <= ?";
	int code =
		st_db_run(store->db, insert, err, "bithhnn", st_str(event->path), event->at, event->who,
	              st_version_hash(&event->before), st_version_hash(&event->after), event->undoes,
	              (int64_t)event->before.executable);
	int64_t id = st_db_last_id(store->db), oldest = id - ST_LOG_MAX;
	if (code == 0)
		code = mark_all_undone(store, event, id, err);
	if (code == 0)
		code = st_store_settle(store, event, id, err);
	if (code == 0 && event->conflict)
		code = st_store_conflict(store, event, id, err);
	return code == 0 && oldest > 0 ? st_db_run(store->db, trim, err, "i", oldest) : code;
}

/* A column's text in a buffer; NULL if it is null. */
static const char *text_of(const struct st_rows *rows, int column, struct st_buf *buf) {
	st_buf_clear(buf);
	st_buf_add(buf, st_rows_str(rows, column));
	return st_rows_is_null(rows, column) ? NULL : st_buf_cstr(buf);
}

static int list_one(const struct st_rows *rows, struct st_buf *path, struct st_buf *session,
                    struct st_buf *story,
                    int (*each)(void *data, const struct st_log_entry *entry,
                                struct stet_error *err),
                    void *data, struct stet_error *err) {
	const char *name = path_of(path, st_rows_str(rows, 1));
	if (!name)
		return 0;
	struct st_log_entry entry = {
		.id = st_rows_int(rows, 0),
		.event = {.path = name,
	              .at = st_rows_int(rows, 2),
	              .who = text_of(rows, 3, session),
	              .undoes = st_rows_int(rows, 6)},
		.undone_by = st_rows_int(rows, 7),
		.story = text_of(rows, 8, story),
	};
	struct st_file_event *event = &entry.event;
	event->before.exists = st_rows_hash(rows, 4, &event->before.hash);
	event->before.executable = st_rows_int(rows, 9) != 0;
	event->after.exists = st_rows_hash(rows, 5, &event->after.hash);
	event->kind = event->after.exists ? ST_EVENT_WRITTEN : ST_EVENT_REMOVED;
	return each(data, &entry, err);
}

int st_store_log_list(struct st_store *store, const struct st_log_query *query,
                      int (*each)(void *data, const struct st_log_entry *entry,
                                  struct stet_error *err),
                      void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT id, path, at, session, before, after, undoes, undone_by,"
		" (SELECT name FROM stories WHERE began_at <= at AND (ended_at IS NULL OR at < ended_at)"
		" ORDER BY id DESC LIMIT 1), executable FROM writes"
		" WHERE (?1 = 0 OR path = ?2) AND (?3 = 0 OR session = ?4)"
		" AND (?5 = 0 OR (undoes IS NULL AND undone_by IS NULL)) AND id < ?7"
		" ORDER BY id DESC LIMIT ?6";
	st_auto(st_buf) path = ST_BUF_INIT;
	st_auto(st_buf) session = ST_BUF_INIT;
	st_auto(st_buf) story = ST_BUF_INIT;
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "ibitiii", (int64_t)(query->path != NULL),
	                       st_str(query->path), (int64_t)(query->session != NULL), query->session,
	                       (int64_t)query->undoable, query->limit,
	                       query->before > 0 ? query->before : INT64_MAX);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		code = list_one(&rows, &path, &session, &story, each, data, err);
		if (code != 0)
			st_rows_end(&rows);
	}
	return code < 0 ? code : 0;
}

int st_store_writer(struct st_store *store, const struct st_hash *hash, char name[128],
                    struct stet_error *err) {
	static const char sql[] = "SELECT session FROM writes WHERE after = ? ORDER BY id DESC LIMIT 1";
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "h", hash);
	if (code == 0)
		code = st_rows_next(&rows, err);
	if (code > 0) {
		struct st_str session = st_rows_str(&rows, 0);
		snprintf(name, 128, "%.*s", (int)session.len, session.ptr);
		st_rows_end(&rows);
		code = 1;
	}
	return code;
}
