/* Open the database of a store: create it, check that stet wrote it, set a damaged one aside. */
#include "core/state/store.h"

#include <stdio.h>

#include "core/state/legacy_notes.h"
#include "fs/versions/state_dir.h"
#include "fs/path/sys.h"

/*
 * The types are PostgreSQL's, as far as SQLite accepts them. Paths are blobs, as
 * file names are bytes; times are nanoseconds since 1970. The log of writes has
 * no index: it is short, every edit appends to it, and queries start at its end.
 */
#define LINKS_TABLE \
	"CREATE TABLE links (session_id BIGINT NOT NULL, path BLOB NOT NULL, target BLOB NOT NULL," \
	" PRIMARY KEY (session_id, path));"

/* The files that a story's scan found; the hash is NULL where the scan did not read the file. */
#define BASELINE_TABLE \
	"CREATE TABLE baseline (path BLOB PRIMARY KEY, hash BLOB, size BIGINT NOT NULL," \
	" dev BIGINT NOT NULL, ino BIGINT NOT NULL, mtime_ns BIGINT NOT NULL, ctime_ns BIGINT NOT " \
	"NULL);"

/* Tables for core/page, besides the log: the last ST_CONFLICTS_MAX conflicts, and the usage of sessions. */
#define PAGE_TABLES \
	"CREATE TABLE conflicts (id INTEGER PRIMARY KEY, path BLOB NOT NULL, at BIGINT NOT NULL," \
	" session TEXT, other TEXT, reason TEXT NOT NULL, saw BLOB, found BLOB, diff TEXT," \
	" cut SMALLINT NOT NULL, settled_by BIGINT);" \
	"CREATE INDEX conflicts_open ON conflicts (path) WHERE settled_by IS NULL;" \
	"CREATE TABLE usage (session TEXT NOT NULL, tool TEXT NOT NULL, path BLOB, calls BIGINT NOT " \
	"NULL," \
	" failures BIGINT NOT NULL, tokens BIGINT NOT NULL, instructions BIGINT NOT NULL," \
	" at BIGINT NOT NULL, PRIMARY KEY (session, tool));" \
	"CREATE INDEX usage_at ON usage (at);"

/* Tasks as the hub had them last (core/state/store_shared.h). A number is never used again. */
#define SHARED_TABLE \
	"CREATE TABLE shared_tasks (id TEXT PRIMARY KEY, task BIGINT NOT NULL," \
	" description TEXT NOT NULL, status SMALLINT NOT NULL, priority BIGINT NOT NULL, owner TEXT," \
	" place TEXT, fence BIGINT, removed SMALLINT NOT NULL, rev BIGINT NOT NULL," \
	" updated_at BIGINT NOT NULL);" \
	"CREATE INDEX shared_tasks_task ON shared_tasks (task);"

#define SHARED_COLUMNS \
	"ALTER TABLE tasks ADD COLUMN place TEXT; ALTER TABLE tasks ADD COLUMN expires BIGINT;" \
	"ALTER TABLE tasks ADD COLUMN fence BIGINT; DROP TABLE IF EXISTS shared_tasks;"

/* Of a write: whether the file was executable before it. */
#define EXECUTABLE_COLUMN "ALTER TABLE writes ADD COLUMN executable SMALLINT;"

static const char schema[] =
	"CREATE TABLE meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL);"
	"CREATE TABLE sessions (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
	" version BIGINT NOT NULL, made_at BIGINT NOT NULL, used_at BIGINT NOT NULL);"
	"CREATE TABLE seen (session_id BIGINT NOT NULL, path BLOB NOT NULL, hash BLOB NOT NULL,"
	" dev BIGINT NOT NULL, ino BIGINT NOT NULL, size BIGINT NOT NULL, mtime_ns BIGINT NOT NULL,"
	" ctime_ns BIGINT NOT NULL, racy SMALLINT NOT NULL, total BIGINT NOT NULL,"
	" stale SMALLINT NOT NULL, lines TEXT NOT NULL, used_at BIGINT NOT NULL, PRIMARY KEY "
	"(session_id, path));" LINKS_TABLE
	"CREATE TABLE given (session_id BIGINT NOT NULL, path BLOB NOT NULL, owner BLOB NOT NULL,"
	" hash BLOB NOT NULL, given SMALLINT NOT NULL, PRIMARY KEY (session_id, path));"
	"CREATE TABLE said (session_id BIGINT NOT NULL, notice BLOB NOT NULL,"
	" PRIMARY KEY (session_id, notice));"
	"CREATE TABLE stories (id INTEGER PRIMARY KEY, name TEXT NOT NULL, began_at BIGINT NOT NULL,"
	" ended_at BIGINT);"
	"CREATE TABLE files (path BLOB PRIMARY KEY, hash BLOB, size BIGINT NOT NULL,"
	" dev BIGINT NOT NULL, ino BIGINT NOT NULL, mtime_ns BIGINT NOT NULL,"
	" ctime_ns BIGINT NOT NULL, racy SMALLINT NOT NULL, base BLOB, external SMALLINT NOT NULL,"
	" changed BIGINT NOT NULL, known BLOB, who TEXT);" BASELINE_TABLE
	"CREATE INDEX files_changed ON files (changed);"
	"CREATE TABLE tasks (id INTEGER PRIMARY KEY, description TEXT NOT NULL,"
	" status SMALLINT NOT NULL, priority BIGINT NOT NULL, owner TEXT, updated_at BIGINT NOT NULL,"
	" source TEXT, place TEXT, expires BIGINT, fence BIGINT);"
	"CREATE INDEX tasks_order ON tasks (status, priority, id);"
	"CREATE TABLE writes (id INTEGER PRIMARY KEY, path BLOB NOT NULL, at BIGINT NOT NULL,"
	" session TEXT, before BLOB, after BLOB, undoes BIGINT, undone_by BIGINT,"
	" executable SMALLINT);" PAGE_TABLES SHARED_TABLE "PRAGMA user_version = 7";

/*
 * Version 1 had the contents of files, which are now in fs/versions; version 2
 * had no links, version 3 no baseline, and of a file not which version a session
 * knew: a version that is not external was known. Version 4 had no tables for
 * the page, version 5 no shared tasks, version 6 no word on what was executable.
 */
static const char from_earliest[] =
	"BEGIN IMMEDIATE; DROP TABLE IF EXISTS bases; DROP TABLE IF EXISTS base_bytes;"
	"DELETE FROM meta WHERE name IN ('bases', 'scanned'); DROP TABLE IF EXISTS links;" LINKS_TABLE
	"DROP TABLE IF EXISTS baseline;" BASELINE_TABLE
	"ALTER TABLE files ADD COLUMN known BLOB; ALTER TABLE files ADD COLUMN who TEXT;"
	"ALTER TABLE tasks ADD COLUMN source TEXT;"
	"UPDATE files SET known = hash WHERE external = 0;"
	"DROP TABLE IF EXISTS conflicts; DROP TABLE IF EXISTS usage;" PAGE_TABLES SHARED_COLUMNS
		SHARED_TABLE EXECUTABLE_COLUMN "PRAGMA user_version = 7; COMMIT";
static const char from_4[] =
	"BEGIN IMMEDIATE; DROP TABLE IF EXISTS conflicts; DROP TABLE IF EXISTS usage;" PAGE_TABLES
		SHARED_COLUMNS SHARED_TABLE EXECUTABLE_COLUMN "PRAGMA user_version = 7; COMMIT";
static const char from_5[] = "BEGIN IMMEDIATE;" SHARED_COLUMNS SHARED_TABLE EXECUTABLE_COLUMN
							 "PRAGMA user_version = 7; COMMIT";
static const char from_6[] = "BEGIN IMMEDIATE;" EXECUTABLE_COLUMN "PRAGMA user_version = 7; COMMIT";

void st_store_disconnect(struct st_store *store) {
	st_db_close(store->db);
	store->db = NULL;
	store->generation++;
	store->in_memory = store->blank = false;
	store->why[0] = '\0';
}

/* ---- opening ---- */

static int make_tables(struct st_store *store, struct stet_error *err) {
	int code = st_db_exec(store->db, "BEGIN IMMEDIATE", err);
	if (code == 0)
		code = st_db_exec(store->db, schema, err);
	if (code == 0 && store->import && !store->in_memory)
		code = store->import(store, store->data, err);
	if (code == 0)
		code = st_db_exec(store->db, "COMMIT", err);
	return code;
}

static int open_in_memory(struct st_store *store, const char *why, struct stet_error *err) {
	st_store_disconnect(store);
	int code = st_db_open(-1, false, &store->db, err);
	if (code < 0)
		return code;
	store->in_memory = true;
	store->opened++;
	snprintf(
		store->why, sizeof store->why,
		"%.440s Sessions, tasks and the state of the work are kept in memory only, and are lost "
		"when this process ends.",
		why);
	st_write_notice(store->writes, "%s", store->why);
	return make_tables(store, err);
}

int st_store_connect_blank(struct st_store *store, struct stet_error *err) {
	int code = st_db_open(-1, false, &store->db, err);
	if (code < 0)
		return code;
	store->in_memory = store->blank = true;
	store->opened++;
	return make_tables(store, err);
}

/* Rename the database and the files that SQLite puts beside it. */
static bool rename_all(int dirfd, const char *from, const char *to, unsigned flags) {
	static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		char old[64], new[64];
		snprintf(old, sizeof old, "%s%s", from, endings[i]);
		snprintf(new, sizeof new, "%s%s", to, endings[i]);
		if (renameat2(dirfd, old, dirfd, new, flags) < 0 && i == 0)
			return false;
	}
	return true;
}

/* Rename a damaged database, so that a new one can be created and nothing is lost. */
static int set_database_aside(struct st_store *store, int dirfd, struct stet_error *err) {
	st_store_disconnect(store);
	for (int i = 1; i <= ST_ASIDE_MAX; i++) {
		char name[48];
		snprintf(name, sizeof name, "%s.damaged-%d", ST_STORE_NAME, i);
		if (rename_all(dirfd, ST_STORE_NAME, name, i < ST_ASIDE_MAX ? RENAME_NOREPLACE : 0)) {
			st_write_notice(
				store->writes,
				"The state database was damaged: it is set aside as %s/%s, and a new one "
				"is made. Sessions have to read their files again.",
				store->writes->state_dir, name);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return st_fail(err, STET_E_IO,
	               "The state database %s/%s is damaged and cannot be set aside. Remove it.",
	               store->writes->state_dir, ST_STORE_NAME);
}

static const char *const origin_names[] = {"origin_ino", "origin_born"};

/* Find the version of the schema; -1 if there are tables but no version. */
static int find_schema(struct st_store *store, int64_t *version, struct stet_error *err) {
	static const char asks_version[] = "PRAGMA user_version";
	static const char asks_tables[] = "SELECT count(*) FROM sqlite_schema";
	int64_t tables = 0;
	int code = st_db_number(store->db, asks_version, version, err, "");
	if (code == 0)
		code = st_db_number(store->db, asks_tables, &tables, err, "");
	if (code == 0 && *version == 0 && tables > 0)
		*version = -1;
	return code;
}

/* Whether a CREATE statement is one of our schema's, word for word. */
static bool is_of_schema(struct st_str sql) {
	const char *at = sql.len > 0 ? memmem(schema, sizeof schema - 1, sql.ptr, sql.len) : NULL;
	return at && (at == schema || at[-1] == ';') && at[sql.len] == ';';
}

static int64_t count_statements(void) {
	int64_t count = 0;
	for (const char *at = schema; (at = strstr(at, "CREATE ")); at++)
		count++;
	return count;
}

/* Refuse a database whose schema is not exactly ours: it could have triggers, views or expressions. */
static int check_tables(struct st_store *store, struct stet_error *err) {
	static const char sql[] =
		"SELECT sql FROM sqlite_schema WHERE type <> 'index' OR name NOT GLOB 'sqlite_autoindex_*'";
	struct st_rows rows;
	int64_t count = 0;
	bool ours = true;
	int code = st_db_query(store->db, &rows, sql, err, "");
	while (code == 0 && (code = st_rows_next(&rows, err)) > 0) {
		ours = ours && is_of_schema(st_rows_str(&rows, 0));
		count++;
		code = 0;
	}
	if (code == 0 && (!ours || count != count_statements()))
		code = st_db_mark_damaged(store->db, "its tables are not those of stet", err);
	return code;
}

static int forget_sessions(struct st_store *store, const int64_t origin[2],
                           struct stet_error *err) {
	int code = st_db_exec(store->db,
	                      "BEGIN IMMEDIATE; DELETE FROM sessions; DELETE FROM seen;"
	                      "DELETE FROM given; DELETE FROM said; DELETE FROM links",
	                      err);
	for (int i = 0; i < 2 && code == 0; i++)
		code = st_store_set(store, origin_names[i], origin[i], err);
	return code == 0 ? st_db_exec(store->db, "COMMIT", err) : code;
}

/*
 * A stored session may overwrite the files that it has seen. So stet trusts stored
 * sessions only in the directory where it stored them: a copy of that directory,
 * as from an archive, has another inode and birth time, which cannot be forged.
 */
static int check_origin(struct st_store *store, int dirfd, struct stet_error *err) {
	int64_t here[2], stored[2];
	st_state_origin(dirfd, here);
	int code = st_store_get(store, origin_names[0], &stored[0], err);
	if (code == 0)
		code = st_store_get(store, origin_names[1], &stored[1], err);
	if (code < 0 || (here[0] == stored[0] && here[1] == stored[1]))
		return code;
	return forget_sessions(store, here, err);
}

static int record_identity(struct st_store *store, int dirfd, struct stet_error *err) {
	struct stat st;
	if (st_retry(fstatat(dirfd, ST_STORE_NAME, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return st_fail_errno(err, errno, "The state database cannot be read");
	store->dev = st.st_dev;
	store->ino = st.st_ino;
	store->opened++;
	return 0;
}

/* Create the file before SQLite does, which would let others read it. SQLite copies its mode to the other files. */
static void create_private(int dirfd) {
	int fd = st_retry(
		openat(dirfd, ST_STORE_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd >= 0)
		close(fd);
}

/* Set aside files that SQLite must not open, and add a notice. */
static int tidy_files(struct st_store *store, int dirfd, struct stet_error *err) {
	struct st_db_tidied tidied;
	int code = st_db_files_tidy(dirfd, &tidied, err);
	if (code == 0 && tidied.why)
		st_write_notice(store->writes,
		                "A file beside the state database %s: it is set aside as %s/%s. stet did "
		                "not write it; remove it if you do not know it.",
		                tidied.why, store->writes->state_dir, tidied.aside);
	return code;
}

/* Create or upgrade the schema, and check that the database is ours. */
static int open_schema(struct st_store *store, int dirfd, int64_t *version,
                       struct stet_error *err) {
	int code = find_schema(store, version, err);
	if (code == 0 && *version == 0)
		code = make_tables(store, err);
	else if (code == 0 && *version > 0 && *version < ST_STORE_SCHEMA)
		code = st_db_exec(store->db,
		                  *version == 6   ? from_6
		                  : *version == 5 ? from_5
		                  : *version == 4 ? from_4
		                                  : from_earliest,
		                  err);
	if (code == 0 && *version >= 0 && *version <= ST_STORE_SCHEMA)
		code = check_tables(store, err);
	if (code == 0 && *version >= 0 && *version <= ST_STORE_SCHEMA)
		code = check_origin(store, dirfd, err);
	return code;
}

/* Returns 0 with the database open, 1 if it is damaged, or a code. */
static int open_file(struct st_store *store, int dirfd, struct stet_error *err) {
	int64_t version = 0;
	int code = tidy_files(store, dirfd, err);
	if (code < 0)
		return code;
	create_private(dirfd);
	/* The WAL's index is in shared memory: it works neither across machines nor with blocks smaller than a page. */
	bool wal = !st_state_is_remote(dirfd) && !st_state_has_small_blocks(dirfd);
	code = st_db_open(dirfd, wal, &store->db, err);
	if (code == STET_E_ACCESS)
		return st_fail(err, code,
		               "The state database %s/%s is not used: it is not a file that this user may "
		               "read and write, or it is a link, or /proc is not mounted.",
		               store->writes->state_dir, ST_STORE_NAME);
	if (code == 0 && store->brief)
		st_db_leave_log(store->db);
	if (code == 0)
		code = st_db_limit(store->db, ST_STORE_MAX, err);
	if (code == 0)
		code = open_schema(store, dirfd, &version, err);
	if (store->db && (st_db_is_damaged(store->db) || version < 0))
		return 1;
	if (code == 0 && version > ST_STORE_SCHEMA)
		return st_fail(err, STET_E_ACCESS,
		               "The state database %s/%s has schema version %lld, and this stet knows "
		               "version %d: it was written by a newer one, and is left alone.",
		               store->writes->state_dir, ST_STORE_NAME, (long long)version,
		               ST_STORE_SCHEMA);
	return code == 0 ? record_identity(store, dirfd, err) : code;
}

/* Only one process at a time may create a database or set one aside. st_store_do() waits for it. */
static int lock_dir(int dirfd, struct stet_error *err) {
	return st_state_lock(dirfd, 0, "The state directory", err);
}

static int open_db(struct st_store *store, struct stet_error *err) {
	struct stet_error own = {0};
	st_autofd dirfd = st_state_open(store->root, store->writes->state_dir, &own);
	int code = dirfd < 0 ? dirfd : lock_dir(dirfd, &own);
	if (code == 0)
		code = open_file(store, dirfd, &own);
	if (code == 1) {
		code = set_database_aside(store, dirfd, &own);
		if (code == 0)
			code = open_file(store, dirfd, &own);
		if (code == 1)
			code = st_fail(&own, STET_E_IO, "The new state database is damaged as well.");
	}
	/* Closing the descriptor drops the lock. */
	if (code == 0)
		return 0;
	st_store_disconnect(store);
	if (code == STET_E_ACCESS)
		return open_in_memory(store, own.message, err);
	return st_fail(err, code, "%s", own.message);
}

/* ---- the notes of stet 0.1.0 ---- */

static int adopt_one(void *data, const struct st_file_event *event, struct stet_error *err) {
	struct st_store *store = data;
	return store->adopt(store, store->data, event, err);
}

/* With its entries, 0.1.0 stored the id of the notes and how many of their bytes it had imported. */
static int adopt_all(struct st_store *store, void *data, struct stet_error *err) {
	static const char number[] = "daybook", amount[] = "daybook_posted";
	const struct st_legacy_notes *notes = data;
	int64_t id, stored = 0;
	int code = st_store_get(store, number, &id, err);
	if (code == 0 && id == notes->id)
		code = st_store_get(store, amount, &stored, err);
	if (code == 0)
		code = st_legacy_notes_each(notes, stored, adopt_one, store, err);
	if (code == 0)
		code = st_store_set(store, number, notes->id, err);
	if (code == 0)
		code = st_store_set(store, amount, (int64_t)notes->bytes.len, err);
	return code;
}

/* Whether there may be notes: to look closer opens the state directory again, which takes longer. */
static bool may_have_notes(const struct st_store *store) {
	char path[300];
	struct stat st;
	snprintf(path, sizeof path, "%s/" ST_LEGACY_NOTES_NAME, store->writes->state_dir);
	return st_retry(fstatat(store->root->fd, path, &st, AT_SYMLINK_NOFOLLOW)) == 0 ||
	       errno != ENOENT;
}

/* If this fails, the next process that opens the database tries again. */
static void adopt_notes(struct st_store *store) {
	st_auto(st_legacy_notes) notes = ST_LEGACY_NOTES_INIT;
	struct stet_error why = {0};
	st_autofd dirfd = st_state_find(store->root, store->writes->state_dir, NULL);
	int code = dirfd < 0 ? 0 : st_legacy_notes_open(&notes, dirfd, &why);
	if (code == 1) {
		code = st_store_run(store, ST_STORE_WRITE, adopt_all, &notes, &why);
		if (code == 0)
			st_legacy_notes_remove(&notes);
	}
	if (code < 0)
		st_write_notice(store->writes,
		                "The last writes of stet 0.1.0 could not be imported into the log yet. %s",
		                why.message);
	if (notes.why)
		st_write_notice(store->writes,
		                "The file daybook in the state directory %s: it is set aside as %s/%s. "
		                "Remove it if you do not know it.",
		                notes.why, store->writes->state_dir, notes.aside);
}

int st_store_connect(struct st_store *store, struct stet_error *err) {
	int code = open_db(store, err);
	if (code == 0 && !store->in_memory && store->adopt && may_have_notes(store))
		adopt_notes(store);
	return code;
}

int st_store_replace_damaged(struct st_store *store, struct stet_error *err) {
	st_autofd dirfd = st_state_open(store->root, store->writes->state_dir, err);
	int code = dirfd < 0 ? dirfd : lock_dir(dirfd, err);
	if (code < 0)
		return code;
	/* Another process may already have done it. */
	if (!st_store_is_in_place(store)) {
		st_store_disconnect(store);
		return 0;
	}
	return set_database_aside(store, dirfd, err);
}
