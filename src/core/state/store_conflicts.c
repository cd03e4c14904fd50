/* Conflicts, for people to look at: refusals and merges, the last ST_CONFLICTS_MAX. */
#include "core/session/conflict.h"
#include "core/state/store.h"

int st_store_conflict(struct st_store *store, const struct st_file_event *event, int64_t settled_by,
                      struct stet_error *err) {
	static const char insert[] =
		"INSERT INTO conflicts (path, at, session, other, reason, saw, found, diff, cut, "
		"settled_by)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
	static const char trim[] = "DELETE FROM conflicts WHERE id <= ?";
	const struct st_conflict *conflict = event->conflict;
	bool refused = event->kind == ST_EVENT_REFUSED;
	const struct st_version *found = refused ? &event->after : &event->before;
	int code = st_db_run(store->db, insert, err, "bittthhtin", st_str(event->path), event->at,
	                     event->who, conflict->other, conflict->reason,
	                     refused ? st_version_hash(&event->before) : NULL, st_version_hash(found),
	                     conflict->diff, (int64_t)conflict->cut, settled_by);
	int64_t oldest = st_db_last_id(store->db) - ST_CONFLICTS_MAX;
	return code == 0 && oldest > 0 ? st_db_run(store->db, trim, err, "i", oldest) : code;
}

int st_store_settle(struct st_store *store, const struct st_file_event *write, int64_t id,
                    struct stet_error *err) {
	static const char sql[] =
		"UPDATE conflicts SET settled_by = ? WHERE settled_by IS NULL AND path = ?"
		" AND session IS ?";
	return st_db_run(store->db, sql, err, "ibt", id, st_str(write->path), write->who);
}

enum { COLUMN_PATH = 1, COLUMN_SESSION = 3, TEXTS = 5 };

/* A column's text in a buffer; NULL if it is null. */
static const char *text_of(const struct st_rows *rows, int column, struct st_buf *buf) {
	st_buf_clear(buf);
	st_buf_add(buf, st_rows_str(rows, column));
	return st_rows_is_null(rows, column) || buf->failed ? NULL : st_buf_cstr(buf);
}

static struct st_conflict_entry read_conflict(const struct st_rows *rows,
                                              struct st_buf texts[static TEXTS]) {
	struct st_conflict_entry entry = {
		.id = st_rows_int(rows, 0),
		.path = text_of(rows, COLUMN_PATH, &texts[0]),
		.at = st_rows_int(rows, 2),
		.session = text_of(rows, COLUMN_SESSION, &texts[1]),
		.other = text_of(rows, COLUMN_SESSION + 1, &texts[2]),
		.reason = text_of(rows, COLUMN_SESSION + 2, &texts[3]),
		.diff = text_of(rows, 8, &texts[4]),
		.cut = st_rows_int(rows, 9) != 0,
		.settled_by = st_rows_int(rows, 10),
	};
	entry.saw.exists = st_rows_hash(rows, 6, &entry.saw.hash);
	entry.found.exists = st_rows_hash(rows, 7, &entry.found.hash);
	return entry;
}

int st_store_conflicts(struct st_store *store, const struct st_conflict_query *query,
                       int (*each)(void *data, const struct st_conflict_entry *entry,
                                   struct stet_error *err),
                       void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT id, path, at, session, other, reason, saw, found, diff, cut, settled_by"
		" FROM conflicts WHERE id < ?1 AND (?2 = 0 OR id = ?2) AND (?3 = 0 OR settled_by IS NULL)"
		" ORDER BY id DESC LIMIT ?4";
	struct st_buf texts[TEXTS] = {0};
	struct st_rows rows;
	int64_t before = query->before > 0 ? query->before : INT64_MAX;
	if (query->id > 0)
		before = query->id + 1;
	int code = st_db_query(store->db, &rows, sql, err, "iiii", before, query->id,
	                       (int64_t)query->open, query->limit);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		struct st_conflict_entry entry = read_conflict(&rows, texts);
		code = entry.path && entry.reason ? each(data, &entry, err) : 0;
		if (code != 0)
			st_rows_end(&rows);
	}
	for (size_t i = 0; i < TEXTS; i++)
		st_buf_release(&texts[i]);
	return code < 0 ? code : 0;
}
