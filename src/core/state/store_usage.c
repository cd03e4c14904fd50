/* The tools that sessions called, and how many tokens stet sent them. */
#include "core/state/store.h"

int st_store_usage_add(struct st_store *store, const struct st_usage_entry *entry,
                       struct stet_error *err) {
	static const char sql[] =
		"INSERT INTO usage (session, tool, path, calls, failures, tokens, instructions, at)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (session, tool) DO UPDATE SET path = coalesce(excluded.path, usage.path),"
		" calls = usage.calls + excluded.calls, failures = usage.failures + excluded.failures,"
		" tokens = usage.tokens + excluded.tokens,"
		" instructions = usage.instructions + excluded.instructions,"
		" at = max(usage.at, excluded.at)";
	static const char no_path[] =
		"INSERT INTO usage (session, tool, calls, failures, tokens, instructions, at)"
		" VALUES (?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (session, tool) DO UPDATE SET"
		" calls = usage.calls + excluded.calls, failures = usage.failures + excluded.failures,"
		" tokens = usage.tokens + excluded.tokens,"
		" instructions = usage.instructions + excluded.instructions,"
		" at = max(usage.at, excluded.at)";
	if (!entry->path)
		return st_db_run(store->db, no_path, err, "ttiiiii", entry->session, entry->tool,
		                 entry->calls, entry->failures, entry->tokens, entry->instructions,
		                 entry->at);
	return st_db_run(store->db, sql, err, "ttbiiiii", entry->session, entry->tool,
	                 st_str(entry->path), entry->calls, entry->failures, entry->tokens,
	                 entry->instructions, entry->at);
}

int st_store_usage_trim(struct st_store *store, struct stet_error *err) {
	static const char sql[] =
		"DELETE FROM usage WHERE at < (SELECT at FROM usage ORDER BY at DESC LIMIT 1 OFFSET ?)";
	return st_db_run(store->db, sql, err, "i", (int64_t)ST_USAGE_MAX - 1);
}

/* A column's text in a buffer; NULL if it is null. */
static const char *text_of(const struct st_rows *rows, int column, struct st_buf *buf) {
	st_buf_clear(buf);
	st_buf_add(buf, st_rows_str(rows, column));
	return st_rows_is_null(rows, column) || buf->failed ? NULL : st_buf_cstr(buf);
}

int st_store_usage_list(struct st_store *store, int64_t since,
                        int (*each)(void *data, const struct st_usage_entry *entry,
                                    struct stet_error *err),
                        void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT session, tool, path, calls, failures, tokens, instructions, at FROM usage"
		" WHERE at >= ? ORDER BY at DESC";
	st_auto(st_buf) session = ST_BUF_INIT;
	st_auto(st_buf) tool = ST_BUF_INIT;
	st_auto(st_buf) path = ST_BUF_INIT;
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "i", since);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		const struct st_usage_entry entry = {
			.session = text_of(&rows, 0, &session),
			.tool = text_of(&rows, 1, &tool),
			.path = text_of(&rows, 2, &path),
			.calls = st_rows_int(&rows, 3),
			.failures = st_rows_int(&rows, 4),
			.tokens = st_rows_int(&rows, 5),
			.instructions = st_rows_int(&rows, 6),
			.at = st_rows_int(&rows, 7),
		};
		code = entry.session && entry.tool ? each(data, &entry, err) : 0;
		if (code != 0)
			st_rows_end(&rows);
	}
	return code < 0 ? code : 0;
}

int st_store_instructions_of(struct st_store *store, const char *session,
                             int (*each)(void *data, const char *path, struct stet_error *err),
                             void *data, struct stet_error *err) {
	static const char sql[] =
		"SELECT path FROM given WHERE given = 1 AND session_id = (SELECT id FROM sessions WHERE"
		" name = ?) ORDER BY path LIMIT 50";
	st_auto(st_buf) path = ST_BUF_INIT;
	struct st_rows rows;
	int code = st_db_query(store->db, &rows, sql, err, "t", session);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		const char *name = text_of(&rows, 0, &path);
		code = name ? each(data, name, err) : 0;
		if (code != 0)
			st_rows_end(&rows);
	}
	return code < 0 ? code : 0;
}
