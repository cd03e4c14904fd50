#include "core/places/registry.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "core/state/db_files.h"
#include "fs/path/sys.h"
#include "fs/versions/state_dir.h"
#include "text/diff/diff.h"

enum { SCHEMA = 1 };

#define REGISTRY_MAX ((int64_t)64 << 20)
#define DAY_NS ((int64_t)24 * 3600 * 1000000000)
#define AGE_MAX_NS (30 * DAY_NS)
#define CLEAN_NS (DAY_NS / 24)

/*
 * The types are PostgreSQL's. Paths are blobs, as file names are bytes; times are
 * nanoseconds since 1970. An empty blob as base means that it is unknown, NULL
 * that the file did not exist.
 */
static const char schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL);"
	"CREATE TABLE repo (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, seq BIGINT NOT NULL);"
	"CREATE TABLE place (id INTEGER PRIMARY KEY, repo BIGINT NOT NULL, machine TEXT NOT NULL,"
	" path BLOB NOT NULL, branch TEXT NOT NULL, head TEXT NOT NULL, number BIGINT NOT NULL,"
	" seen BIGINT NOT NULL, UNIQUE (machine, path));"
	"CREATE TABLE agent (place BIGINT NOT NULL, label TEXT NOT NULL, seen BIGINT NOT NULL,"
	" PRIMARY KEY (place, label));"
	"CREATE TABLE event (repo BIGINT NOT NULL, seq BIGINT NOT NULL, place BIGINT NOT NULL,"
	" number BIGINT NOT NULL, agent TEXT NOT NULL, at BIGINT NOT NULL, path BLOB NOT NULL,"
	" moved BLOB, before BLOB, after BLOB, base BLOB, ranges TEXT NOT NULL,"
	" PRIMARY KEY (repo, seq));"
	"CREATE INDEX event_path ON event (repo, path, seq);"
	"CREATE INDEX event_place ON event (place, path, seq);"
	"PRAGMA user_version = 1; COMMIT";

/* ---- opening ---- */

void st_registry_release(struct st_registry *registry) {
	st_db_close(registry->db);
	*registry = (struct st_registry)ST_REGISTRY_INIT;
}

/* Create the file before SQLite does, which would let others read it. */
static void create_private(int dirfd) {
	int fd = st_retry(
		openat(dirfd, ST_STORE_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd >= 0)
		close(fd);
}

/* Make the tables, or check that they are ours. A damaged or strange database returns 1. */
static int check_schema(struct st_db *db, struct stet_error *err) {
	static const char asks_version[] = "PRAGMA user_version";
	static const char asks_tables[] = "SELECT count(*) FROM sqlite_schema";
	int64_t version = 0, tables = 0;
	int code = st_db_number(db, asks_version, &version, err, "");
	if (code == 0)
		code = st_db_number(db, asks_tables, &tables, err, "");
	if (code == 0 && version == 0 && tables == 0)
		code = st_db_exec(db, schema, err);
	else if (code == 0 && version > SCHEMA)
		return st_fail(err, STET_E_ACCESS,
		               "The registry of places has schema version %lld, and this stet knows %d.",
		               (long long)version, SCHEMA);
	else if (code == 0 && version != SCHEMA)
		return 1;
	return code < 0 && st_db_is_damaged(db) ? 1 : code;
}

static int record_identity(struct st_registry *registry, int dirfd, struct stet_error *err) {
	struct stat st;
	if (st_retry(fstatat(dirfd, ST_STORE_NAME, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return st_fail_errno(err, errno, "The registry of places cannot be read");
	registry->dev = st.st_dev;
	registry->ino = st.st_ino;
	return 1;
}

/* Open the file in a directory that is locked. Returns 1, 2 if it is damaged, or a code. */
static int open_file(struct st_registry *registry, int dirfd, struct stet_error *err) {
	struct st_db_tidied tidied;
	int code = st_db_files_tidy(dirfd, &tidied, err);
	if (code < 0)
		return code;
	create_private(dirfd);
	bool wal = !st_state_is_remote(dirfd) && !st_state_has_small_blocks(dirfd);
	code = st_db_open(dirfd, wal, &registry->db, err);
	if (code < 0)
		return registry->db && st_db_is_damaged(registry->db) ? 2 : code;
	/* The caller tries again later instead of waiting for the registry. */
	st_db_wait(registry->db, 0);
	code = check_schema(registry->db, err);
	if (code == 1)
		return 2;
	if (code == 0)
		code = st_db_limit(registry->db, REGISTRY_MAX, err);
	return code < 0 ? code : record_identity(registry, dirfd, err);
}

/* A damaged registry is replaced: it holds nothing that files and git do not show. */
static void remove_files(int dirfd) {
	static const char *const names[] = {ST_STORE_NAME, ST_STORE_NAME "-journal",
	                                    ST_STORE_NAME "-wal", ST_STORE_NAME "-shm"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		(void)st_retry(unlinkat(dirfd, names[i], 0));
}

/* Whether the file is still the one that was opened. */
static bool is_in_place(const struct st_registry *registry, int dirfd) {
	struct stat st;
	return st_retry(fstatat(dirfd, ST_STORE_NAME, &st, AT_SYMLINK_NOFOLLOW)) == 0 &&
	       st.st_dev == registry->dev && st.st_ino == registry->ino;
}

void st_registry_discard(struct st_registry *registry) {
	st_autofd dirfd = st_user_state_open("places");
	bool ours = dirfd >= 0 && st_state_lock(dirfd, 0, "The registry of places", NULL) == 0 &&
	            is_in_place(registry, dirfd);
	st_registry_release(registry);
	if (ours)
		remove_files(dirfd);
}

int st_registry_open(struct st_registry *registry, bool make, struct stet_error *err) {
	*registry = (struct st_registry)ST_REGISTRY_INIT;
	st_autofd dirfd = st_user_state_open("places");
	if (dirfd < 0)
		return st_fail_errno(err, errno, "The registry of places cannot be stored");
	if (!make && faccessat(dirfd, ST_STORE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	int code = st_state_lock(dirfd, 0, "The registry of places", err);
	if (code == 0)
		code = open_file(registry, dirfd, err);
	if (code == 2) {
		st_registry_release(registry);
		remove_files(dirfd);
		code = open_file(registry, dirfd, err);
	}
	if (code == 2)
		code = st_fail(err, STET_E_IO, "The registry of places is damaged.");
	if (code < 0)
		st_registry_release(registry);
	return code;
}

/*
 * The writer of the last change may not be done, and the next one may fall into the same tick of the clock. ctime
 * does not count: SQLite gives the log to the owner of the database each time it opens it.
 */
static bool add_to_stamp(int dirfd, const char *name, uint64_t *stamp) {
	enum { SETTLED_NS = 1000000000 };
	struct stat st;
	if (st_retry(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return errno == ENOENT;
	int64_t mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	const uint64_t numbers[] = {st.st_dev, st.st_ino, (uint64_t)st.st_size, (uint64_t)mtime_ns};
	*stamp = st_str_sum(*stamp, st_strn((const char *)numbers, sizeof numbers));
	return st_wall_ns() - mtime_ns > SETTLED_NS;
}

uint64_t st_registry_stamp(void) {
	st_autofd dirfd = st_user_state_open("places");
	uint64_t stamp = ST_STR_SUM;
	struct stat st;
	bool settled = dirfd >= 0 && fstatat(dirfd, ST_STORE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	               add_to_stamp(dirfd, ST_STORE_NAME, &stamp) &&
	               add_to_stamp(dirfd, ST_STORE_NAME "-wal", &stamp);
	return settled ? stamp : 0;
}

/* ---- writing ---- */

int st_registry_begin(struct st_registry *registry, struct stet_error *err) {
	return st_db_exec(registry->db, "BEGIN IMMEDIATE", err);
}

int st_registry_commit(struct st_registry *registry, struct stet_error *err) {
	return st_db_exec(registry->db, "COMMIT", err);
}

void st_registry_rollback(struct st_registry *registry) {
	(void)st_db_exec(registry->db, "ROLLBACK", NULL);
}

int st_registry_find(struct st_registry *registry, const struct st_checkout *checkout,
                     const char *machine, struct stet_error *err) {
	static const char of_key[] = "SELECT id FROM repo WHERE key = ?";
	static const char of_path[] =
		"SELECT id FROM place WHERE machine = ? AND path = ? AND repo = ?";
	int code =
		st_db_number(registry->db, of_key, &registry->repository, err, "t", checkout->repository);
	if (code == 0 && registry->repository > 0)
		code = st_db_number(registry->db, of_path, &registry->checkout, err, "tbi", machine,
		                    st_str(checkout->top), registry->repository);
	return code;
}

int st_registry_touch(struct st_registry *registry, const struct st_checkout *checkout,
                      const struct st_checkout_head *head, const char *machine, int64_t now,
                      struct stet_error *err) {
	static const char repository[] =
		"INSERT INTO repo (key, seq) VALUES (?, 0) ON CONFLICT (key) DO NOTHING";
	static const char place[] =
		"INSERT INTO place (repo, machine, path, branch, head, number, seen)"
		" VALUES (?, ?, ?, ?, ?, 0, ?) ON CONFLICT (machine, path) DO UPDATE SET"
		" repo = excluded.repo, branch = excluded.branch, head = excluded.head,"
		" seen = excluded.seen";
	int code = st_db_run(registry->db, repository, err, "t", checkout->repository);
	registry->checkout = 0;
	if (code == 0)
		code = st_registry_find(registry, checkout, machine, err);
	if (code == 0)
		code = st_db_run(registry->db, place, err, "itbtti", registry->repository, machine,
		                 st_str(checkout->top), head->branch, head->commit, now);
	return code == 0 ? st_registry_find(registry, checkout, machine, err) : code;
}

int st_registry_touch_agent(struct st_registry *registry, const char *label, int64_t now,
                            struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO agent (place, label, seen) VALUES (?, ?, ?)"
		" ON CONFLICT (place, label) DO UPDATE SET seen = excluded.seen";
	static const char trim[] =
		"DELETE FROM agent WHERE place = ?1 AND seen < (SELECT seen FROM agent WHERE place = ?1"
		" ORDER BY seen DESC LIMIT 1 OFFSET ?2)";
	int code = st_db_run(registry->db, sql, err, "iti", registry->checkout, label, now);
	return code == 0 ? st_db_run(registry->db, trim, err, "ii", registry->checkout,
	                             (int64_t)ST_REGISTRY_AGENTS - 1)
	                 : code;
}

/* "4,2,4,3;" for each hunk: old start and count, new start and count; "?" if there are more. */
static void format_hunks(const struct st_registry_event *event, struct st_buf *out) {
	size_t count = event->hunk_count < ST_REGISTRY_HUNKS ? event->hunk_count : ST_REGISTRY_HUNKS;
	for (size_t i = 0; i < count; i++) {
		const struct st_hunk *hunk = &event->hunks[i];
		st_buf_addf(out, "%zu,%zu,%zu,%zu;", hunk->old_start, hunk->old_count, hunk->new_start,
		            hunk->new_count);
	}
	if (event->more || count < event->hunk_count)
		st_buf_addc(out, '?');
}

static int take_number(struct st_registry *registry, int64_t *seq, struct stet_error *err) {
	static const char next[] = "UPDATE repo SET seq = seq + 1 WHERE id = ?";
	static const char number[] = "UPDATE place SET number = number + 1 WHERE id = ?";
	static const char asks[] = "SELECT seq FROM repo WHERE id = ?";
	int code = st_db_run(registry->db, next, err, "i", registry->repository);
	if (code == 0)
		code = st_db_run(registry->db, number, err, "i", registry->checkout);
	return code == 0 ? st_db_number(registry->db, asks, seq, err, "i", registry->repository) : code;
}

int st_registry_add(struct st_registry *registry, const struct st_registry_event *event,
                    struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO event (repo, seq, place, number, agent, at, path, moved, before, after, base,"
		" ranges) VALUES (?1, ?2, ?3, (SELECT number FROM place WHERE id = ?3), ?4, ?5, ?6,"
		" nullif(?7, x''), ?8, ?9, CASE WHEN ?10 THEN ?11 ELSE x'' END, ?12)";
	static const char trim[] = "DELETE FROM event WHERE repo = ? AND seq <= ?";
	st_auto(st_buf) hunks = ST_BUF_INIT;
	int64_t seq = 0;
	format_hunks(event, &hunks);
	if (hunks.failed)
		return st_fail_nomem(err);
	int code = take_number(registry, &seq, err);
	if (code == 0)
		code =
			st_db_run(registry->db, sql, err, "iiisibbhhihs", registry->repository, seq,
		              registry->checkout, event->agent, event->at, event->path, event->moved_from,
		              st_version_hash(&event->before), st_version_hash(&event->after),
		              (int64_t)event->based, st_version_hash(&event->base), st_buf_str(&hunks));
	return code == 0 && seq > ST_REGISTRY_EVENTS
	           ? st_db_run(registry->db, trim, err, "ii", registry->repository,
	                       seq - ST_REGISTRY_EVENTS)
	           : code;
}

/* ---- cleaning ---- */

/* Remove a checkout with everything that belongs to it. */
static int drop_checkout(struct st_registry *registry, int64_t id, struct stet_error *err) {
	static const char events[] = "DELETE FROM event WHERE place = ?";
	static const char agents[] = "DELETE FROM agent WHERE place = ?";
	static const char place[] = "DELETE FROM place WHERE id = ?";
	int code = st_db_run(registry->db, events, err, "i", id);
	if (code == 0)
		code = st_db_run(registry->db, agents, err, "i", id);
	return code == 0 ? st_db_run(registry->db, place, err, "i", id) : code;
}

/* Find a checkout of this machine whose directory is gone; 0 for none. */
static int find_gone(struct st_registry *registry, const char *machine, int64_t *id,
                     struct stet_error *err) {
	static const char sql[] = "SELECT id, path FROM place WHERE machine = ?";
	st_auto(st_buf) path = ST_BUF_INIT;
	struct st_rows rows;
	struct stat st;
	*id = 0;
	int code = st_db_query(registry->db, &rows, sql, err, "t", machine);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		st_buf_clear(&path);
		st_buf_add(&path, st_rows_str(&rows, 1));
		code = 0;
		if (path.failed || lstat(st_buf_cstr(&path), &st) == 0 || errno != ENOENT)
			continue;
		*id = st_rows_int(&rows, 0);
		st_rows_end(&rows);
		break;
	}
	return code;
}

static int drop_gone(struct st_registry *registry, const char *machine, struct stet_error *err) {
	int64_t id = 0;
	int code;
	while ((code = find_gone(registry, machine, &id, err)) == 0 && id > 0) {
		code = drop_checkout(registry, id, err);
		if (code < 0)
			return code;
	}
	return code;
}

/* Remove checkouts that nobody used for long, and the oldest beyond the limit. */
static int drop_old(struct st_registry *registry, int64_t oldest, struct stet_error *err) {
	static const char unused[] = "SELECT id FROM place WHERE seen < ? LIMIT 1";
	static const char surplus[] = "SELECT id FROM place ORDER BY seen DESC LIMIT 1 OFFSET ?";
	int64_t id = 0;
	int code;
	while ((code = st_db_number(registry->db, unused, &id, err, "i", oldest)) == 0 && id > 0) {
		if ((code = drop_checkout(registry, id, err)) < 0)
			return code;
	}
	while (code == 0 &&
	       (code = st_db_number(registry->db, surplus, &id, err, "i",
	                            (int64_t)ST_REGISTRY_CHECKOUTS)) == 0 &&
	       id > 0)
		code = drop_checkout(registry, id, err);
	return code;
}

/* Whether it is an hour since the last cleaning, by any process; if so, note that it is done now. */
static int begin_cleaning(struct st_registry *registry, int64_t now, bool *due,
                          struct stet_error *err) {
	static const char asks[] = "SELECT value FROM meta WHERE name = 'cleaned_at'";
	static const char notes[] =
		"INSERT INTO meta (name, value) VALUES ('cleaned_at', ?)"
		" ON CONFLICT (name) DO UPDATE SET value = excluded.value";
	int64_t last = 0;
	int code = st_db_number(registry->db, asks, &last, err, "");
	*due = code == 0 && (now - last >= CLEAN_NS || last > now);
	return *due ? st_db_run(registry->db, notes, err, "i", now) : code;
}

/* An event from the future was noted while the clock was ahead: it would stay new for that long. */
static int mend_times(struct st_registry *registry, int64_t now, struct stet_error *err) {
	static const char *const sql[] = {
		"UPDATE event SET at = ?1 WHERE at > ?1",
		"UPDATE place SET seen = ?1 WHERE seen > ?1",
		"UPDATE agent SET seen = ?1 WHERE seen > ?1",
	};
	int code = 0;
	for (size_t i = 0; i < sizeof sql / sizeof *sql && code == 0; i++)
		code = st_db_run(registry->db, sql[i], err, "i", now);
	return code;
}

int st_registry_clean(struct st_registry *registry, const char *machine, int64_t now,
                      struct stet_error *err) {
	bool due = false;
	int begun = begin_cleaning(registry, now, &due, err);
	if (begun < 0 || !due)
		return begun;
	static const char events[] = "DELETE FROM event WHERE at < ?";
	static const char repositories[] = "DELETE FROM repo WHERE id NOT IN (SELECT repo FROM place)";
	int code = drop_gone(registry, machine, err);
	if (code == 0)
		code = mend_times(registry, now, err);
	if (code == 0)
		code = drop_old(registry, now - AGE_MAX_NS, err);
	if (code == 0)
		code = st_db_run(registry->db, events, err, "i", now - AGE_MAX_NS);
	return code == 0 ? st_db_run(registry->db, repositories, err, "") : code;
}

/* ---- reading ---- */

int st_registry_version(struct st_registry *registry, int64_t *version, struct stet_error *err) {
	return st_db_version(registry->db, version, err);
}

#define CHECKOUT_COLUMNS "id, machine, path, branch, head, seen"

/* Call a function for each row. It returns 1 to stop. */
static int give_checkouts(struct st_rows *rows, int code,
                          int (*each)(void *data, const struct st_registered *found,
                                      struct stet_error *err),
                          void *data, struct stet_error *err) {
	while (code == 0 && (code = st_rows_next(rows, err)) > 0) {
		const struct st_registered found = {
			.id = st_rows_int(rows, 0),
			.machine = st_rows_str(rows, 1),
			.path = st_rows_str(rows, 2),
			.branch = st_rows_str(rows, 3),
			.head = st_rows_str(rows, 4),
			.seen = st_rows_int(rows, 5),
		};
		code = each(data, &found, err);
		if (code != 0)
			st_rows_end(rows);
	}
	return code < 0 ? code : 0;
}

int st_registry_checkouts(struct st_registry *registry,
                          int (*each)(void *data, const struct st_registered *found,
                                      struct stet_error *err),
                          void *data, struct stet_error *err) {
	static const char sql[] = "SELECT " CHECKOUT_COLUMNS " FROM place WHERE repo = ? ORDER BY id";
	struct st_rows rows;
	int code = st_db_query(registry->db, &rows, sql, err, "i", registry->repository);
	return give_checkouts(&rows, code, each, data, err);
}

int st_registry_checkout(struct st_registry *registry, int64_t id,
                         int (*each)(void *data, const struct st_registered *found,
                                     struct stet_error *err),
                         void *data, struct stet_error *err) {
	static const char sql[] = "SELECT " CHECKOUT_COLUMNS " FROM place WHERE id = ?";
	struct st_rows rows;
	int code = st_db_query(registry->db, &rows, sql, err, "i", id);
	return give_checkouts(&rows, code, each, data, err);
}

int st_registry_agents(struct st_registry *registry, int64_t checkout,
                       int (*each)(void *data, struct st_str label, int64_t seen,
                                   struct stet_error *err),
                       void *data, struct stet_error *err) {
	static const char sql[] = "SELECT label, seen FROM agent WHERE place = ? ORDER BY seen DESC";
	struct st_rows rows;
	int code = st_db_query(registry->db, &rows, sql, err, "i", checkout);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		code = each(data, st_rows_str(&rows, 0), st_rows_int(&rows, 1), err);
		if (code != 0)
			st_rows_end(&rows);
	}
	return code < 0 ? code : 0;
}

/* Read a number that ends with a character; false at anything else. */
static bool read_number(struct st_str *text, char end, size_t *number) {
	enum { LINES_MAX = 1 << 30 };
	size_t value = 0, i = 0;
	for (; i < text->len && text->ptr[i] >= '0' && text->ptr[i] <= '9'; i++) {
		value = value * 10 + (size_t)(text->ptr[i] - '0');
		if (value > LINES_MAX)
			return false;
	}
	if (i == 0 || i == text->len || text->ptr[i] != end)
		return false;
	*number = value;
	*text = st_str_slice(*text, i + 1, text->len);
	return true;
}

static size_t parse_hunks(struct st_str text, struct st_hunk hunks[ST_REGISTRY_HUNKS], bool *more) {
	size_t count = 0;
	struct st_hunk hunk;
	while (count < ST_REGISTRY_HUNKS && read_number(&text, ',', &hunk.old_start) &&
	       read_number(&text, ',', &hunk.old_count) && read_number(&text, ',', &hunk.new_start) &&
	       read_number(&text, ';', &hunk.new_count))
		hunks[count++] = hunk;
	*more = text.len > 0;
	return count;
}

#define EVENT_COLUMNS "place, seq, agent, at, path, moved, before, after, base, ranges"

static int give_event(const struct st_rows *rows, st_registry_event_fn *each, void *data,
                      struct stet_error *err) {
	struct st_hunk hunks[ST_REGISTRY_HUNKS];
	struct st_registry_event event = {
		.checkout = st_rows_int(rows, 0),
		.number = st_rows_int(rows, 1),
		.agent = st_rows_str(rows, 2),
		.at = st_rows_int(rows, 3),
		.path = st_rows_str(rows, 4),
		.moved_from = st_rows_str(rows, 5),
		.hunks = hunks,
	};
	event.before.exists = st_rows_hash(rows, 6, &event.before.hash);
	event.after.exists = st_rows_hash(rows, 7, &event.after.hash);
	event.base.exists = st_rows_hash(rows, 8, &event.base.hash);
	event.based = event.base.exists || st_rows_is_null(rows, 8);
	event.hunk_count = parse_hunks(st_rows_str(rows, 9), hunks, &event.more);
	return each(data, &event, err);
}

/* Call a function for each row. It returns 1 to stop. */
static int give_events(struct st_rows *rows, int code, st_registry_event_fn *each, void *data,
                       struct stet_error *err) {
	while (code == 0 && (code = st_rows_next(rows, err)) > 0) {
		code = give_event(rows, each, data, err);
		if (code != 0)
			st_rows_end(rows);
	}
	return code < 0 ? code : 0;
}

int st_registry_files(struct st_registry *registry, int64_t checkout, st_registry_event_fn *each,
                      void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT " EVENT_COLUMNS
		" FROM event AS e WHERE place = ?1 AND seq ="
		" (SELECT max(seq) FROM event WHERE place = ?1 AND path = e.path) ORDER BY seq DESC";
	struct st_rows rows;
	int code = st_db_query(registry->db, &rows, sql, err, "i", checkout);
	return give_events(&rows, code, each, data, err);
}

int st_registry_others(struct st_registry *registry, struct st_str path, st_registry_event_fn *each,
                       void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT " EVENT_COLUMNS
		" FROM event AS e WHERE repo = ?1 AND path = ?2 AND place <> ?3"
		" AND seq = (SELECT max(seq) FROM event WHERE place = e.place AND path = ?2)"
		" ORDER BY seq DESC";
	struct st_rows rows;
	int code = st_db_query(registry->db, &rows, sql, err, "ibi", registry->repository, path,
	                       registry->checkout);
	return give_events(&rows, code, each, data, err);
}

int st_registry_own(struct st_registry *registry, struct st_str path, st_registry_event_fn *each,
                    void *data, struct stet_error *err) {
	static const char sql[] = "SELECT " EVENT_COLUMNS
							  " FROM event WHERE place = ? AND path = ? ORDER BY seq DESC LIMIT 1";
	struct st_rows rows;
	int code = st_db_query(registry->db, &rows, sql, err, "ib", registry->checkout, path);
	return give_events(&rows, code, each, data, err);
}

int st_registry_last(struct st_registry *registry, int64_t *number, struct stet_error *err) {
	static const char sql[] =
		"SELECT seq FROM event WHERE repo = ? AND place <> ? ORDER BY seq DESC LIMIT 1";
	return st_db_number(registry->db, sql, number, err, "ii", registry->repository,
	                    registry->checkout);
}
