/* Named sessions in the store: what they saw and which instructions they received. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/session/delivered.h"
#include "core/session/links.h"
#include "core/state/store.h"

enum {
	SESSIONS_MAX = 1000,
	/* After how many saves to delete records beyond the tracker's limit. */
	PRUNE_EVERY = 256,
};

/* ---- the session ---- */

static int find_session(struct st_store *store, const char *name, int64_t *id, int64_t *version,
                        struct stet_error *err) {
	static const char sql[] = "SELECT id, version FROM sessions WHERE name = ?";
	struct st_rows rows;
	*id = *version = 0;
	int code = st_db_query(store->db, &rows, sql, err, "t", name);
	if (code == 0)
		code = st_rows_next(&rows, err);
	if (code > 0) {
		*id = st_rows_int(&rows, 0);
		*version = st_rows_int(&rows, 1);
		st_rows_end(&rows);
	}
	return code < 0 ? code : 0;
}

/* Delete the least recently used sessions beyond SESSIONS_MAX. */
static int drop_old_sessions(struct st_store *store, struct stet_error *err) {
	static const char mark[] =
		"DELETE FROM sessions WHERE id NOT IN"
		" (SELECT id FROM sessions ORDER BY used_at DESC, id DESC LIMIT ?)";
	static const char seen[] = "DELETE FROM seen WHERE session_id NOT IN (SELECT id FROM sessions)";
	static const char links[] =
		"DELETE FROM links WHERE session_id NOT IN (SELECT id FROM sessions)";
	static const char delivered[] =
		"DELETE FROM given WHERE session_id NOT IN (SELECT id FROM sessions)";
	static const char notices[] =
		"DELETE FROM said WHERE session_id NOT IN (SELECT id FROM sessions)";
	int code = st_db_run(store->db, mark, err, "i", (int64_t)SESSIONS_MAX);
	if (code < 0 || st_db_changes(store->db) == 0)
		return code;
	code = st_db_run(store->db, seen, err, "");
	if (code == 0)
		code = st_db_run(store->db, links, err, "");
	if (code == 0)
		code = st_db_run(store->db, delivered, err, "");
	if (code == 0)
		code = st_db_run(store->db, notices, err, "");
	return code;
}

int st_store_session(struct st_store *store, const char *name, bool make, int64_t *id,
                     int64_t *version, struct stet_error *err) {
	static const char insert[] =
		"INSERT INTO sessions (name, version, made_at, used_at) VALUES (?, 0, ?, ?)";
	int code = find_session(store, name, id, version, err);
	if (code < 0 || *id || !make)
		return code;
	int64_t now = st_wall_ns();
	code = st_db_run(store->db, insert, err, "tii", name, now, now);
	if (code == 0)
		code = drop_old_sessions(store, err);
	return code == 0 ? find_session(store, name, id, version, err) : code;
}

/* ---- the size limit ---- */

static int count_bytes(struct st_store *store, int64_t *bytes, struct stet_error *err) {
	static const char sql[] =
		"SELECT (page_count - freelist_count) * page_size"
		" FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
	return st_db_number(store->db, sql, bytes, err, "");
}

/* Delete the least recently used session except `id`; *any says whether there was one. */
static int forget_oldest_but(struct st_store *store, int64_t id, bool *any,
                             struct stet_error *err) {
	static const char find[] = "SELECT id FROM sessions WHERE id <> ? ORDER BY used_at, id LIMIT 1";
	static const char *const drops[] = {
		"DELETE FROM seen WHERE session_id = ?", "DELETE FROM given WHERE session_id = ?",
		"DELETE FROM said WHERE session_id = ?", "DELETE FROM links WHERE session_id = ?",
		"DELETE FROM sessions WHERE id = ?"};
	int64_t oldest;
	int code = st_db_number(store->db, find, &oldest, err, "i", id);
	*any = oldest != 0;
	for (size_t i = 0; i < sizeof drops / sizeof *drops && *any && code == 0; i++)
		code = st_db_run(store->db, drops[i], err, "i", oldest);
	return code;
}

/* Paths may be long: limit the bytes of all sessions, not just their number. */
static int bound_bytes(struct st_store *store, int64_t id, struct stet_error *err) {
	int64_t bytes = 0;
	bool any = true;
	int code = count_bytes(store, &bytes, err);
	while (code == 0 && any && bytes > ST_STORE_FULL) {
		code = forget_oldest_but(store, id, &any, err);
		if (code == 0)
			code = count_bytes(store, &bytes, err);
	}
	return code;
}

int st_store_session_touch(struct st_store *store, int64_t id, int64_t *version,
                           struct stet_error *err) {
	static const char touch[] =
		"UPDATE sessions SET version = version + 1, used_at = ? WHERE id = ? RETURNING version";
	static const char prune[] =
		"DELETE FROM seen WHERE session_id = ?1 AND path NOT IN"
		" (SELECT path FROM seen WHERE session_id = ?1 ORDER BY used_at DESC LIMIT ?2)";
	int code = st_db_number(store->db, touch, version, err, "ii", st_wall_ns(), id);
	if (code < 0)
		return code;
	if (*version % PRUNE_EVERY == 0)
		code = st_db_run(store->db, prune, err, "ii", id, (int64_t)ST_TRACKED_MAX);
	return code < 0 ? code : bound_bytes(store, id, err);
}

/* ---- seen files ---- */

/* Append lines as "1-20,41-50". */
static void add_intervals(struct st_buf *out, const struct st_intervals *lines) {
	for (size_t i = 0; i < lines->count; i++)
		st_buf_addf(out, "%s%zu-%zu", i ? "," : "", lines->items[i].first, lines->items[i].last);
}

/* Lines that cannot be parsed count as unseen. */
static void read_lines(struct st_seen *seen, struct st_str text) {
	st_auto(st_buf) copy = ST_BUF_INIT;
	st_buf_add(&copy, text);
	const char *next = st_buf_cstr(&copy);
	while (*next) {
		char *end;
		uintmax_t first = strtoumax(next, &end, 10);
		if (end == next || *end != '-')
			return;
		next = end + 1;
		uintmax_t last = strtoumax(next, &end, 10);
		if (end == next || (*end && *end != ',') || first == 0 || last > seen->total)
			return;
		st_seen_add(seen, first, last);
		next = *end ? end + 1 : end;
	}
}

/* The bits of the column "stale"; it is named after the first one. */
enum { STALE = 1, CHANGE_SHOWN = 2, WRITE_REFUSED = 4, DROP_WARNED = 8 };

static int64_t flags_of(const struct st_seen *seen) {
	return (seen->stale ? STALE : 0) | (seen->change_shown ? CHANGE_SHOWN : 0) |
	       (seen->write_refused ? WRITE_REFUSED : 0) | (seen->drop_warned ? DROP_WARNED : 0);
}

static void set_flags(struct st_seen *seen, int64_t flags) {
	seen->stale = flags & STALE;
	seen->change_shown = flags & CHANGE_SHOWN;
	seen->write_refused = flags & WRITE_REFUSED;
	seen->drop_warned = flags & DROP_WARNED;
}

int st_store_put_seen(struct st_store *store, int64_t session, const char *path,
                      const struct st_seen *seen, struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO seen (session_id, path, hash, dev, ino, size, mtime_ns, ctime_ns, racy, total,"
		" stale, lines, used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (session_id, path) DO UPDATE SET hash = excluded.hash, dev = excluded.dev,"
		" ino = excluded.ino, size = excluded.size, mtime_ns = excluded.mtime_ns,"
		" ctime_ns = excluded.ctime_ns, racy = excluded.racy, total = excluded.total,"
		" stale = excluded.stale, lines = excluded.lines, used_at = excluded.used_at";
	const struct st_stamp *stamp = &seen->version.stamp;
	st_auto(st_buf) lines = ST_BUF_INIT;
	add_intervals(&lines, &seen->lines);
	if (lines.failed)
		return st_fail_nomem(err);
	return st_db_run(store->db, sql, err, "ibhiiiiiiiisi", session, st_str(path),
	                 &seen->version.hash, (int64_t)stamp->dev, (int64_t)stamp->ino,
	                 (int64_t)stamp->size, stamp->mtime_ns, stamp->ctime_ns, (int64_t)stamp->racy,
	                 (int64_t)seen->total, flags_of(seen), st_buf_str(&lines), st_wall_ns());
}

int st_store_drop_seen(struct st_store *store, int64_t session, const char *path,
                       struct stet_error *err) {
	static const char sql[] = "DELETE FROM seen WHERE session_id = ? AND path = ?";
	return st_db_run(store->db, sql, err, "ib", session, st_str(path));
}

int st_store_drop_session(struct st_store *store, int64_t session, struct stet_error *err) {
	static const char sql[] = "DELETE FROM seen WHERE session_id = ?";
	return st_db_run(store->db, sql, err, "i", session);
}

/* Copy a stored path; NULL if it is empty or has a NUL. */
static char *copy_path(struct st_str path) {
	if (path.len == 0 || memchr(path.ptr, '\0', path.len))
		return NULL;
	return strndup(path.ptr, path.len);
}

static int load_one(const struct st_rows *rows, struct st_tracker *tracker,
                    struct stet_error *err) {
	struct st_version version = {.exists = true};
	st_autofree char *path = copy_path(st_rows_str(rows, 0));
	if (!path || !st_rows_hash(rows, 1, &version.hash) || st_rows_int(rows, 8) < 0)
		return 0;
	version.stamp = (struct st_stamp){
		.dev = (uint64_t)st_rows_int(rows, 2),
		.ino = (uint64_t)st_rows_int(rows, 3),
		.size = (uint64_t)st_rows_int(rows, 4),
		.mtime_ns = st_rows_int(rows, 5),
		.ctime_ns = st_rows_int(rows, 6),
		.racy = st_rows_int(rows, 7) != 0,
	};
	struct st_seen *seen = st_tracker_record(tracker, path, &version, (size_t)st_rows_int(rows, 8));
	if (!seen)
		return st_fail_nomem(err);
	set_flags(seen, st_rows_int(rows, 9));
	read_lines(seen, st_rows_str(rows, 10));
	return 0;
}

int st_store_load_seen(struct st_store *store, int64_t session, struct st_tracker *tracker,
                       struct stet_error *err) {
	static const char sql[] =
		"SELECT path, hash, dev, ino, size, mtime_ns, ctime_ns, racy, total, stale, lines"
		" FROM (SELECT * FROM seen WHERE session_id = ? ORDER BY used_at DESC LIMIT ?) AS newest"
		" ORDER BY used_at";
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "ii", session, (int64_t)ST_TRACKED_MAX);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		code = load_one(&rows, tracker, err);
		if (code < 0)
			st_rows_end(&rows);
	}
	return code;
}

/* ---- links ---- */

int st_store_put_links(struct st_store *store, int64_t session, const struct st_links *links,
                       struct stet_error *err) {
	static const char drop[] = "DELETE FROM links WHERE session_id = ?";
	static const char sql[] = "INSERT INTO links (session_id, path, target) VALUES (?, ?, ?)";
	int code = st_db_run(store->db, drop, err, "i", session);
	const struct st_lru_entry *entry = NULL;
	while (code == 0 && (entry = st_lru_next(&links->targets, entry)))
		code = st_db_run(store->db, sql, err, "ibb", session, st_lru_key(entry),
		                 st_str(st_lru_value(entry)));
	return code;
}

int st_store_load_links(struct st_store *store, int64_t session, struct st_links *links,
                        struct stet_error *err) {
	static const char sql[] = "SELECT path, target FROM links WHERE session_id = ? LIMIT ?";
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "ii", session, (int64_t)ST_LINKS_MAX);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		struct st_str target = st_rows_str(&rows, 1);
		if (target.len > 0 && !memchr(target.ptr, '\0', target.len))
			st_links_set(links, st_rows_str(&rows, 0), target);
		code = 0;
	}
	return code;
}

/* ---- delivered instructions ---- */

static int put_records(struct st_store *store, int64_t session,
                       const struct st_delivered *delivered, struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO given (session_id, path, owner, hash, given) VALUES (?, ?, ?, ?, ?)";
	int code = 0;
	for (size_t i = 0; i < delivered->count && code == 0; i++) {
		const struct st_instructions_record *record = &delivered->records[i];
		code = st_db_run(store->db, sql, err, "ibbhi", session, st_str(record->path),
		                 st_str(record->owner), &record->hash, (int64_t)record->delivered);
	}
	return code;
}

static int put_notices(struct st_store *store, int64_t session,
                       const struct st_delivered *delivered, struct stet_error *err) {
	static const char sql[] = "INSERT INTO said (session_id, notice) VALUES (?, ?)";
	int code = 0;
	const struct st_lru_entry *entry = NULL;
	while (code == 0 && (entry = st_lru_next(&delivered->notices, entry)))
		code = st_db_run(store->db, sql, err, "ib", session, st_lru_key(entry));
	return code;
}

int st_store_put_delivered(struct st_store *store, int64_t session,
                           const struct st_delivered *delivered, struct stet_error *err) {
	static const char drop[] = "DELETE FROM given WHERE session_id = ?";
	static const char drop_notices[] = "DELETE FROM said WHERE session_id = ?";
	int code = st_db_run(store->db, drop, err, "i", session);
	if (code == 0)
		code = st_db_run(store->db, drop_notices, err, "i", session);
	if (code == 0)
		code = put_records(store, session, delivered, err);
	return code == 0 ? put_notices(store, session, delivered, err) : code;
}

static int load_notices(struct st_store *store, int64_t session, struct st_delivered *delivered,
                        struct stet_error *err) {
	static const char sql[] = "SELECT notice FROM said WHERE session_id = ?";
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "i", session);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		st_delivered_add_notice(delivered, st_rows_str(&rows, 0));
		code = 0;
	}
	return code;
}

int st_store_load_delivered(struct st_store *store, int64_t session, struct st_delivered *delivered,
                            struct stet_error *err) {
	static const char sql[] =
		"SELECT path, owner, hash, given FROM given WHERE session_id = ? ORDER BY path";
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "i", session);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		struct st_hash hash;
		code = 0;
		if (st_rows_hash(&rows, 2, &hash))
			code = st_delivered_add(delivered, st_rows_str(&rows, 0), st_rows_str(&rows, 1), &hash,
			                        st_rows_int(&rows, 3) != 0, err);
		if (code < 0)
			st_rows_end(&rows);
	}
	return code == 0 ? load_notices(store, session, delivered, err) : code;
}
