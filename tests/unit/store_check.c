/* What stet doctor asks of the state: answered without touching it. */
#include "base/json.h"
#include "lib/alloc.h"
#include "lib/run.h"
#include "lib/session.h"
#include "stet/state.h"

/* The answer of the check, as a document to be freed. */
static yyjson_doc *check(struct host *host) {
	char *text = NULL;
	yyjson_doc *doc = NULL;
	assert_int_equal(stet_state_check(host->ws, &text, &host->err), 0);
	assert_int_equal(st_json_parse(st_str(text), "The check", &doc, &host->err), 0);
	stet_free(text);
	return doc;
}

static const char *text_at(yyjson_doc *doc, const char *pointer) {
	const char *text = yyjson_get_str(yyjson_doc_ptr_get(doc, pointer));
	return text ? text : "";
}

static int64_t number_at(yyjson_doc *doc, const char *pointer) {
	return yyjson_get_sint(yyjson_doc_ptr_get(doc, pointer));
}

/* A state with a session in it, and nobody who has it open. */
static void keep_something(struct host *host) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct stet_answer *answer = NULL;
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(stet_workspace_open(host->dir->path, &ws, &host->err), 0);
	assert_int_equal(stet_session_open(ws, "agent", &session, &host->err), 0);
	assert_int_equal(stet_session_read(session, "a.c", 0, 0, &answer, &host->err), 0);
	stet_answer_free(answer);
	stet_session_close(session);
	stet_workspace_close(ws);
}

/* Newer shells protect the schema unless told not to. */
static void sql(const struct host *host, const char *text) {
	const char *const command[] = {"sqlite3",       "-cmd", ".dbconfig defensive off",
	                               ".stet/stet.db", text,   NULL};
	assert_int_equal(run(host->dir, NULL, command), 0);
}

static void says(struct host *host, const char *problem) {
	yyjson_doc *doc = check(host);
	assert_string_equal(text_at(doc, "/database/problem"), problem);
	yyjson_doc_free(doc);
}

static void nothing_is_made_by_looking(void **state) {
	struct host *host = *state;
	yyjson_doc *doc = check(host);
	assert_true(yyjson_is_false(yyjson_doc_ptr_get(doc, "/there")));
	assert_null(yyjson_doc_ptr_get(doc, "/database"));
	assert_false(dir_has(host->dir, ".stet"));
	yyjson_doc_free(doc);
}

static void a_whole_state_is_counted(void **state) {
	struct host *host = *state;
	keep_something(host);
	yyjson_doc *doc = check(host);
	assert_null(yyjson_doc_ptr_get(doc, "/database/problem"));
	assert_int_equal(number_at(doc, "/database/schema"), number_at(doc, "/database/knownSchema"));
	assert_int_equal(number_at(doc, "/database/sessionCount"), 1);
	assert_string_equal(text_at(doc, "/database/sessions/0/name"), "agent");
	assert_int_equal(number_at(doc, "/database/sessions/0/files"), 1);
	assert_true(number_at(doc, "/baseBytes") > 0);
	yyjson_doc_free(doc);
}

static void what_is_kept_is_its_owners_alone(void **state) {
	struct host *host = *state;
	struct stat st;
	keep_something(host);
	assert_int_equal(fstatat(host->dir->fd, ".stet", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(fstatat(host->dir->fd, ".stet/stet.db", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void space_that_is_free_is_counted(void **state) {
	struct host *host = *state;
	keep_something(host);
	sql(host,
	    "CREATE TABLE big (bytes BLOB); INSERT INTO big VALUES (zeroblob(1000000));"
	    "DROP TABLE big");
	yyjson_doc *doc = check(host);
	assert_true(number_at(doc, "/database/freeBytes") >= 1000000);
	assert_true(number_at(doc, "/database/bytes") > number_at(doc, "/database/freeBytes"));
	yyjson_doc_free(doc);
}

/* An index that lacks a row: every page is sound, and only the whole check finds it. */
static void damage_that_reading_would_not_meet_is_found(void **state) {
	struct host *host = *state;
	keep_something(host);
	sql(host,
	    "INSERT INTO tasks (id, description, status, priority, updated_at) VALUES (1, 'a', 0, 1, "
	    "0);"
	    "PRAGMA writable_schema = ON;"
	    "UPDATE sqlite_schema SET sql = 'CREATE INDEX tasks_order ON tasks (id)'"
	    " WHERE name = 'tasks_order'");
	yyjson_doc *doc = check(host);
	assert_string_equal(text_at(doc, "/database/problem"), "damaged");
	assert_non_null(strstr(text_at(doc, "/database/why"), "tasks_order"));
	yyjson_doc_free(doc);
	assert_false(dir_has(host->dir, ".stet/stet.db.damaged-1"));
}

static void what_is_no_database_of_ours_is_told_apart(void **state) {
	struct host *host = *state;
	keep_something(host);
	sql(host, "PRAGMA user_version = 9");
	says(host, "newer");
	sql(host, "PRAGMA user_version = 0");
	says(host, "foreign");
	dir_write(host->dir, ".stet/stet.db", "This is a letter and not a database at all.\n");
	says(host, "damaged");
	assert_string_equal(dir_read(host->dir, ".stet/stet.db"),
	                    "This is a letter and not a database at all.\n");
	assert_int_equal(unlinkat(host->dir->fd, ".stet/stet.db", 0), 0);
	assert_int_equal(mkdirat(host->dir->fd, ".stet/stet.db", 0700), 0);
	says(host, "unreadable");
}

static void a_directory_that_is_not_trusted_is_not_looked_into(void **state) {
	struct host *host = *state;
	keep_something(host);
	assert_int_equal(fchmodat(host->dir->fd, ".stet", 0755, 0), 0);
	yyjson_doc *doc = check(host);
	assert_non_null(strstr(text_at(doc, "/distrust"), "is accessible to other users"));
	assert_null(yyjson_doc_ptr_get(doc, "/database"));
	yyjson_doc_free(doc);
}

static void what_was_set_aside_is_listed(void **state) {
	struct host *host = *state;
	keep_something(host);
	dir_write(host->dir, ".stet/stet.db.damaged-1", "x");
	dir_write(host->dir, ".stet/repostate.json.damaged-3", "x");
	yyjson_doc *doc = check(host);
	assert_string_equal(text_at(doc, "/aside/0"), "stet.db.damaged-1");
	assert_string_equal(text_at(doc, "/aside/1"), "repostate.json.damaged-3");
	yyjson_doc_free(doc);
}

static void memory_may_run_out_anywhere(void **state) {
	struct host *host = *state;
	bool failed = true;
	keep_something(host);
	for (size_t n = 1; failed; n++) {
		char *text = NULL;
		alloc_fail_at(n);
		int code = stet_state_check(host->ws, &text, &host->err);
		failed = alloc_has_failed();
		assert_true(code == 0 || (failed && code == STET_E_NOMEM));
		assert_true(code < 0 || text);
		stet_free(text);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(nothing_is_made_by_looking),
		host_claim(a_whole_state_is_counted),
		host_claim(what_is_kept_is_its_owners_alone),
		host_claim(space_that_is_free_is_counted),
		host_claim(damage_that_reading_would_not_meet_is_found),
		host_claim(what_is_no_database_of_ours_is_told_apart),
		host_claim(a_directory_that_is_not_trusted_is_not_looked_into),
		host_claim(what_was_set_aside_is_listed),
		host_claim(memory_may_run_out_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
