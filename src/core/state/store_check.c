/* Check the state for `stet doctor`, without creating, repairing or renaming anything. */
#include "base/json.h"
#include "core/state/repo_json.h"
#include "fs/path/dirs.h"
#include "fs/versions/versions.h"
#include "fs/versions/state_dir.h"
#include "fs/path/sys.h"
#include "stet/state.h"

enum { SESSIONS_MAX = 20, CHECK_WAIT_MS = 500 };

struct check {
	struct stet_workspace *ws;
	yyjson_mut_doc *doc;
	/* The member `database`. */
	yyjson_mut_val *database;
};

static void add_number(const struct check *check, const char *key, int64_t value) {
	st_json_add(check->doc, check->database, key, yyjson_mut_sint(check->doc, value));
}

/* Add what is wrong with the database: a word for programs, and a sentence (may be NULL). */
static void add_problem(const struct check *check, const char *problem, const char *why) {
	st_json_add_text(check->doc, check->database, "problem", st_str(problem));
	if (why)
		st_json_add_text(check->doc, check->database, "why", st_str(why));
}

/* ---- the contents of the database ---- */

static int add_numbers(const struct check *check, struct st_db *db, struct stet_error *err) {
	static const char free_sql[] =
		"SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size";
	static const char *const asks[][2] = {
		{"freeBytes", free_sql},
		{"files", "SELECT count(*) FROM files"},
		{"tasks", "SELECT count(*) FROM tasks"},
		{"writes", "SELECT count(*) FROM writes"},
		{"sessionCount", "SELECT count(*) FROM sessions"},
	};
	int code = 0;
	for (size_t i = 0; i < sizeof asks / sizeof *asks && code == 0; i++) {
		int64_t number = 0;
		code = st_db_number(db, asks[i][1], &number, err, "");
		add_number(check, asks[i][0], number);
	}
	return code;
}

static int add_sessions(const struct check *check, struct st_db *db, struct stet_error *err) {
	static const char sql[] =
		"SELECT name, used_at, (SELECT count(*) FROM seen WHERE session_id = id) FROM sessions"
		" ORDER BY used_at DESC, id DESC LIMIT ?";
	yyjson_mut_val *list = st_json_add_array(check->doc, check->database, "sessions");
	struct st_rows rows;
	int code = st_db_query(db, &rows, sql, err, "i", (int64_t)SESSIONS_MAX);
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		yyjson_mut_val *session = yyjson_mut_obj(check->doc);
		st_json_add_text(check->doc, session, "name", st_rows_str(&rows, 0));
		st_json_add_time(check->doc, session, "used", st_rows_int(&rows, 1));
		st_json_add_size(check->doc, session, "files", (size_t)st_rows_int(&rows, 2));
		st_json_push(check->doc, list, session);
		code = 0;
	}
	return code;
}

/*
 * How far back undo reaches: from the newest write on, up to the first whose
 * earlier version is no longer stored.
 */
static int add_reach(const struct check *check, struct st_db *db, int dirfd,
                     struct stet_error *err) {
	static const char sql[] =
		"SELECT at, before FROM writes WHERE undoes IS NULL AND undone_by IS "
		"NULL ORDER BY id DESC";
	struct st_rows rows;
	size_t undoable = 0, reached = 0;
	bool stored = true;
	int64_t since = 0;
	int code = st_db_query(db, &rows, sql, err, "");
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		struct st_hash hash;
		bool existed = st_rows_hash(&rows, 1, &hash);
		undoable++;
		stored = stored && (!existed || st_versions_has(dirfd, &hash));
		if (stored)
			since = st_rows_int(&rows, 0);
		reached += stored;
		code = 0;
	}
	yyjson_mut_val *reach = st_json_add_object(check->doc, check->database, "undo");
	st_json_add_size(check->doc, reach, "writes", undoable);
	st_json_add_size(check->doc, reach, "reached", reached);
	if (reached > 0)
		st_json_add_time(check->doc, reach, "since", since);
	return code;
}

/* Run SQLite's integrity check; collects the first few complaints. */
static int find_damage(struct st_db *db, struct st_buf *damage, struct stet_error *err) {
	static const char sql[] = "PRAGMA integrity_check(3)";
	struct st_rows rows;
	int code = st_db_query(db, &rows, sql, err, "");
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		struct st_str line = st_rows_str(&rows, 0);
		if (!st_str_eq(line, st_str("ok")))
			st_buf_addf(damage, "%s%.*s", damage->len ? "; " : "", (int)line.len, line.ptr);
		code = 0;
	}
	return damage->failed ? st_fail_nomem(err) : code;
}

static int check_contents(const struct check *check, struct st_db *db, int dirfd,
                          struct stet_error *err) {
	st_auto(st_buf) damage = ST_BUF_INIT;
	int64_t version = 0;
	int code = st_db_number(db, "PRAGMA user_version", &version, err, "");
	if (code == 0)
		code = find_damage(db, &damage, err);
	if (code < 0)
		return code;
	add_number(check, "schema", version);
	if (damage.len > 0)
		add_problem(check, "damaged", st_buf_cstr(&damage));
	else if (version > ST_STORE_SCHEMA)
		add_problem(check, "newer", NULL);
	else if (version < ST_STORE_SCHEMA)
		add_problem(check, "foreign", NULL);
	else {
		code = add_numbers(check, db, err);
		if (code == 0)
			code = add_sessions(check, db, err);
		if (code == 0)
			code = add_reach(check, db, dirfd, err);
	}
	return code;
}

static int open_and_check(struct check *check, int dirfd, struct stet_error *err) {
	struct stet_error why = {0};
	struct st_db *db = NULL;
	int code = st_db_open_read_only(dirfd, CHECK_WAIT_MS, &db, &why);
	if (code == 0)
		code = check_contents(check, db, dirfd, &why);
	bool damaged = db && st_db_is_damaged(db);
	st_db_close(db);
	if (code == STET_E_NOMEM)
		return st_fail_nomem(err);
	if (code == STET_E_BUSY)
		add_problem(check, "locked", NULL);
	else if (code < 0)
		add_problem(check, damaged ? "damaged" : "unreadable", why.message);
	return 0;
}

static int check_database(struct check *check, int dirfd, struct stet_error *err) {
	struct stat st;
	if (st_retry(fstatat(dirfd, ST_STORE_NAME, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return 0;
	check->database =
		st_json_add_object(check->doc, yyjson_mut_doc_get_root(check->doc), "database");
	add_number(check, "bytes", st.st_size);
	add_number(check, "knownSchema", ST_STORE_SCHEMA);
	char name[32];
	const char *foreign = st_db_files_find(dirfd, name);
	if (!foreign)
		return open_and_check(check, dirfd, err);
	struct stet_error why = {0};
	(void)st_fail(&why, STET_E_ACCESS, "%s %s", name, foreign);
	add_problem(check, "foreign", why.message);
	return 0;
}

/* ---- the directory ---- */

/* List the damaged files that were ever set aside. */
static int add_aside(const struct check *check, int dirfd, struct stet_error *err) {
	yyjson_mut_val *list =
		st_json_add_array(check->doc, yyjson_mut_doc_get_root(check->doc), "aside");
	static const char *const kinds[] = {ST_STORE_NAME, ST_REPO_JSON};
	for (size_t kind = 0; kind < 2; kind++) {
		for (int i = 1; i <= ST_ASIDE_MAX; i++) {
			char name[48];
			struct stat st;
			snprintf(name, sizeof name, "%s.damaged-%d", kinds[kind], i);
			if (st_retry(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) == 0)
				st_json_push(check->doc, list, st_json_text(check->doc, st_str(name)));
		}
	}
	return list ? 0 : st_fail_nomem(err);
}

static int check_state(struct check *check, struct stet_error *err) {
	yyjson_mut_val *root = yyjson_mut_obj(check->doc);
	struct stet_error why = {0};
	yyjson_mut_doc_set_root(check->doc, root);
	st_json_add_text(check->doc, root, "directory", st_str(check->ws->writes.state_dir));
	st_autofd dirfd = st_state_find(&check->ws->root, check->ws->writes.state_dir, &why);
	st_json_add(check->doc, root, "there", yyjson_mut_bool(check->doc, dirfd != STET_E_NOT_FOUND));
	if (dirfd == STET_E_NOT_FOUND)
		return 0;
	if (dirfd < 0) {
		st_json_add_text(check->doc, root, "distrust", st_str(why.message));
		return dirfd == STET_E_NOMEM ? st_fail_nomem(err) : 0;
	}
	st_json_add(check->doc, root, "baseBytes",
	            yyjson_mut_uint(check->doc, st_versions_bytes(dirfd)));
	int code = check_database(check, dirfd, err);
	return code == 0 ? add_aside(check, dirfd, err) : code;
}

int stet_state_check(struct stet_workspace *ws, char **out, struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	struct st_buf text = ST_BUF_INIT;
	struct check check = {.ws = ws, .doc = yyjson_mut_doc_new(NULL)};
	if (!check.doc)
		return st_fail_nomem(err);
	int code = check_state(&check, err);
	if (code == 0)
		code = st_json_write(check.doc, yyjson_mut_doc_get_root(check.doc), &text, err);
	yyjson_mut_doc_free(check.doc);
	if (code < 0)
		st_buf_release(&text);
	*out = text.ptr;
	return code;
}
