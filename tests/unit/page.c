/* The sections of the page, made from the log, the conflicts and the counts. */
#include "core/page/page.h"

#include "fs/versions/rescued.h"
#include "lib/run.h"
#include "lib/test.h"
#include "net/query.h"
#include "stet/context.h"
#include "stet/tools.h"

struct opened {
	struct stet_workspace *ws;
	struct stet_session *alice, *bob;
	yyjson_doc *doc;
};

static void open_both(struct opened *opened, const struct dir *dir) {
	*opened = (struct opened){0};
	assert_int_equal(stet_workspace_open(dir->path, &opened->ws, NULL), 0);
	assert_int_equal(stet_workspace_set(opened->ws, STET_OPTION_STATE, ST_STATE_ALL, NULL), 0);
	assert_int_equal(stet_session_open(opened->ws, "alice", &opened->alice, NULL), 0);
	assert_int_equal(stet_session_open(opened->ws, "bob", &opened->bob, NULL), 0);
}

static void close_both(struct opened *opened) {
	yyjson_doc_free(opened->doc);
	stet_session_close(opened->alice);
	stet_session_close(opened->bob);
	stet_workspace_close(opened->ws);
}

static int call(struct stet_session *session, const char *tool, const char *args) {
	char *out = NULL;
	int code = stet_call(session, tool, args, strlen(args), &out, NULL, NULL);
	stet_free(out);
	return code;
}

/* The section as parsed JSON, valid until the next one. */
static yyjson_val *section(struct opened *opened, const char *name, const char *args) {
	struct stet_error err = {0};
	char *json = NULL;
	size_t len = 0;
	if (stet_page(opened->ws, name, args, args ? strlen(args) : 0, &json, &len, &err) < 0)
		fail_msg("%s: %s", name, err.message);
	yyjson_doc_free(opened->doc);
	opened->doc = yyjson_read(json, len, 0);
	assert_non_null(opened->doc);
	stet_free(json);
	return yyjson_doc_get_root(opened->doc);
}

static const char *text_at(yyjson_val *root, const char *pointer) {
	return yyjson_get_str(yyjson_ptr_get(root, pointer));
}

static int64_t number_at(yyjson_val *root, const char *pointer) {
	return yyjson_get_sint(yyjson_ptr_get(root, pointer));
}

static size_t count_at(yyjson_val *root, const char *pointer) {
	return yyjson_arr_size(yyjson_ptr_get(root, pointer));
}

#define EDIT(old, new) "{\"path\":\"a.c\",\"oldText\":\"" old "\",\"newText\":\"" new "\"}"

/* Bob changes what Alice has read, so she is refused. */
static void provoke_conflict(struct opened *opened, const struct dir *dir) {
	dir_write(dir, "a.c", "one\n");
	assert_int_equal(call(opened->alice, "read_file", "{\"path\":\"a.c\"}"), 0);
	assert_int_equal(call(opened->bob, "edit_file", EDIT("one", "two")), 0);
	assert_int_equal(call(opened->alice, "edit_file", EDIT("one", "three")), STET_E_CONFLICT);
}

static void a_refusal_is_kept_with_its_diff_until_its_session_writes(void **state) {
	const struct dir *dir = *state;
	struct opened opened;
	open_both(&opened, dir);
	provoke_conflict(&opened, dir);
	yyjson_val *list = section(&opened, "conflicts", NULL);
	assert_int_equal(count_at(list, "/conflicts"), 1);
	assert_string_equal(text_at(list, "/conflicts/0/kind"), "refused");
	assert_string_equal(text_at(list, "/conflicts/0/agent"), "alice");
	assert_string_equal(text_at(list, "/conflicts/0/other"), "bob");
	assert_null(yyjson_ptr_get(list, "/conflicts/0/settledBy"));
	assert_int_equal(count_at(section(&opened, "now", NULL), "/attention"), 1);
	yyjson_val *one = section(&opened, "conflict", "{\"id\":1}");
	assert_non_null(strstr(text_at(one, "/conflict/diff"), "-one\n+two\n"));

	assert_int_equal(call(opened.alice, "edit_file", EDIT("two", "three")), 0);
	list = section(&opened, "conflicts", NULL);
	assert_int_equal(number_at(list, "/conflicts/0/settledBy"), 2);
	assert_int_equal(count_at(section(&opened, "now", NULL), "/attention"), 0);
	close_both(&opened);
}

static void a_merge_is_a_conflict_that_is_settled(void **state) {
	const struct dir *dir = *state;
	struct opened opened;
	open_both(&opened, dir);
	dir_write(dir, "a.c", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	assert_int_equal(call(opened.alice, "read_file", "{\"path\":\"a.c\"}"), 0);
	assert_int_equal(call(opened.bob, "edit_file", EDIT("1", "one")), 0);
	assert_int_equal(
		call(opened.alice, "edit_file",
	         "{\"path\":\"a.c\",\"oldText\":\"9\",\"newText\":\"nine\",\"onStale\":\"merge\"}"),
		0);
	yyjson_val *list = section(&opened, "conflicts", NULL);
	assert_int_equal(count_at(list, "/conflicts"), 1);
	assert_string_equal(text_at(list, "/conflicts/0/kind"), "merged");
	assert_int_equal(number_at(list, "/conflicts/0/settledBy"), 2);
	close_both(&opened);
}

static void rescued_bytes_are_listed_and_compared_with_the_file(void **state) {
	const struct dir *dir = *state;
	struct opened opened;
	open_both(&opened, dir);
	dir_write(dir, "a.c", "one\n");
	assert_int_equal(call(opened.bob, "edit_file", EDIT("one", "two")), 0);
	assert_int_equal(
		st_rescue(&opened.ws->writes.rescued, "a.c", ST_STR("late\n"), "Someone was late."), 0);
	yyjson_val *list = section(&opened, "conflicts", NULL);
	assert_int_equal(count_at(list, "/rescued"), 1);
	assert_string_equal(text_at(list, "/rescued/0/path"), "a.c");
	st_auto(st_buf) args = ST_BUF_INIT;
	st_buf_addf(&args, "{\"name\":\"%s\"}", text_at(list, "/rescued/0/name"));
	yyjson_val *one = section(&opened, "rescued", st_buf_cstr(&args));
	assert_non_null(strstr(text_at(one, "/diff"), "-two\n+late\n"));
	static const char outside[] = "{\"name\":\"../stet.db\"}";
	char *json = NULL;
	assert_int_equal(stet_page(opened.ws, "rescued", outside, strlen(outside), &json, NULL, NULL),
	                 STET_E_NOT_FOUND);
	close_both(&opened);
}

static void now_names_who_works_on_what(void **state) {
	const struct dir *dir = *state;
	struct opened opened;
	open_both(&opened, dir);
	provoke_conflict(&opened, dir);
	stet_workspace_drain(opened.ws, 0);
	stet_session_close(opened.alice);
	stet_session_close(opened.bob);
	stet_workspace_close(opened.ws);
	/* Another process reports the same. */
	yyjson_doc_free(opened.doc);
	open_both(&opened, dir);
	yyjson_val *now = section(&opened, "now", NULL);
	assert_int_equal(count_at(now, "/agents"), 2);
	assert_string_equal(text_at(now, "/agents/0/agent"), "alice");
	assert_string_equal(text_at(now, "/agents/0/tool"), "edit_file");
	assert_string_equal(text_at(now, "/agents/0/path"), "a.c");
	assert_int_equal(number_at(now, "/agents/0/calls"), 2);
	assert_string_equal(text_at(now, "/files/0/path"), "a.c");
	assert_string_equal(text_at(now, "/files/0/kind"), "changed");
	assert_int_equal(count_at(now, "/files/0/agents"), 2);
	yyjson_val *context = section(&opened, "context", NULL);
	assert_int_equal(count_at(context, "/sessions"), 2);
	assert_int_equal(count_at(context, "/sessions/0/tools"), 2);
	assert_int_equal(number_at(context, "/sessions/0/failures"), 1);
	assert_true(number_at(context, "/sessions/0/tokens") > 10);
	close_both(&opened);
}

/* Agents that each write a file; another process shows it. */
static void call_as(struct opened *opened, const struct dir *dir, const char *prefix, int count) {
	open_both(opened, dir);
	for (int i = 0; i < count; i++) {
		struct stet_session *agent = NULL;
		char name[16], args[64];
		snprintf(name, sizeof name, "%s%.0d", prefix, i);
		snprintf(args, sizeof args, "{\"path\":\"%s\",\"content\":\"x\"}", name);
		assert_int_equal(stet_session_open(opened->ws, name, &agent, NULL), 0);
		assert_int_equal(call(agent, "write_file", args), 0);
		stet_session_close(agent);
	}
	stet_workspace_drain(opened->ws, 0);
	close_both(opened);
	open_both(opened, dir);
}

static void an_agent_may_have_the_name_of_the_page(void **state) {
	struct opened opened;
	call_as(&opened, *state, "page", 1);
	assert_string_equal(text_at(section(&opened, "now", NULL), "/agents/0/agent"), "page");
	assert_string_equal(text_at(section(&opened, "context", NULL), "/sessions/0/agent"), "page");
	close_both(&opened);
}

static void long_lists_say_that_there_is_more(void **state) {
	for (int count = 50; count <= 51; count++) {
		struct opened opened;
		call_as(&opened, *state, "agent", count);
		yyjson_val *now = section(&opened, "now", NULL);
		assert_int_equal(count_at(now, "/agents"), 50);
		assert_int_equal(yyjson_get_bool(yyjson_obj_get(now, "moreAgents")), count > 50);
		yyjson_val *context = section(&opened, "context", NULL);
		assert_int_equal(count_at(context, "/sessions"), 50);
		assert_int_equal(yyjson_get_bool(yyjson_obj_get(context, "moreSessions")), count > 50);
		close_both(&opened);
	}
}

static void context_counts_the_turns_of_a_host(void **state) {
	const struct dir *dir = *state;
	struct opened opened;
	open_both(&opened, dir);
	assert_int_equal(call(opened.alice, "write_file", "{\"path\":\"a.c\",\"content\":\"1\\n\"}"),
	                 0);
	for (int turn = 0; turn < 3; turn++) {
		struct stet_context *host = stet_context_new();
		assert_int_equal(stet_context_take(host, opened.alice, NULL), 0);
		stet_context_free(host);
	}
	stet_session_close(opened.alice);
	stet_session_close(opened.bob);
	stet_workspace_close(opened.ws);
	open_both(&opened, dir);
	yyjson_val *context = section(&opened, "context", NULL);
	assert_int_equal(number_at(context, "/sessions/0/turns"), 3);
	assert_int_equal(number_at(context, "/sessions/0/calls"), 1);
	assert_int_equal(count_at(context, "/sessions/0/tools"), 1);
	close_both(&opened);
}

static void the_history_comes_in_pages_and_can_be_searched(void **state) {
	const struct dir *dir = *state;
	struct opened opened;
	open_both(&opened, dir);
	for (int i = 0; i < 7; i++) {
		st_auto(st_buf) args = ST_BUF_INIT;
		st_buf_addf(&args, "{\"path\":\"f%d.c\",\"content\":\"%d\\n\"}", i, i);
		assert_int_equal(call(i % 2 ? opened.bob : opened.alice, "write_file", args.ptr), 0);
	}
	yyjson_val *page = section(&opened, "history", "{\"limit\":5}");
	assert_int_equal(count_at(page, "/writes"), 5);
	assert_int_equal(number_at(page, "/writes/0/id"), 7);
	assert_int_equal(number_at(page, "/next"), 3);
	page = section(&opened, "history", "{\"limit\":5,\"before\":3}");
	assert_int_equal(count_at(page, "/writes"), 2);
	assert_null(yyjson_ptr_get(page, "/next"));
	assert_int_equal(count_at(section(&opened, "history", "{\"agent\":\"BOB\"}"), "/writes"), 3);
	assert_int_equal(count_at(section(&opened, "history", "{\"path\":\"F3\"}"), "/writes"), 1);
	yyjson_val *run = section(&opened, "run", "{\"agent\":\"bob\"}");
	assert_int_equal(count_at(run, "/files"), 3);
	st_auto(st_buf) args = ST_BUF_INIT;
	st_buf_addf(&args, "{\"path\":\"f1.c\",\"to\":\"%s\"}", text_at(run, "/files/0/after"));
	assert_non_null(strstr(text_at(section(&opened, "diff", args.ptr), "/diff"), "+1\n"));
	assert_non_null(strstr(text_at(section(&opened, "write", "{\"id\":2}"), "/write/diff"), "+1"));
	close_both(&opened);
}

static void a_page_of_ten_thousand_writes_looks_at_two_thousand(void **state) {
	const struct dir *dir = *state;
	st_auto(st_buf) output = ST_BUF_INIT;
	struct opened opened;
	open_both(&opened, dir);
	assert_int_equal(call(opened.alice, "write_file", "{\"path\":\"a.c\",\"content\":\"1\\n\"}"),
	                 0);
	assert_int_equal(
		run(dir, &output,
	        (const char *[]){
				"sqlite3", ".stet/stet.db",
				"WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
				" INSERT INTO writes (id, path, at, session) SELECT i, CAST('b.c' AS BLOB), i, "
				"'bob'"
				" FROM n",
				NULL}),
		0);
	yyjson_val *page = section(&opened, "history", "{\"path\":\"a.c\"}");
	assert_int_equal(count_at(page, "/writes"), 0);
	assert_int_equal(number_at(page, "/next"), 10001 - ST_PAGE_WINDOW);
	close_both(&opened);
}

static void changes_are_numbered_for_each_process(void **state) {
	const struct dir *dir = *state;
	struct opened opened, other;
	open_both(&opened, dir);
	open_both(&other, dir);
	assert_int_equal(stet_page_changes(opened.ws), 0);
	assert_false(dir_has(dir, ".stet"));
	assert_int_equal(call(opened.alice, "write_file", "{\"path\":\"a.c\",\"content\":\"1\\n\"}"),
	                 0);
	int64_t before = stet_page_changes(other.ws);
	assert_true(before > 0);
	assert_int_equal(stet_page_changes(other.ws), before);
	assert_int_equal(call(opened.alice, "edit_file", EDIT("1", "2")), 0);
	assert_true(stet_page_changes(other.ws) != before);
	close_both(&other);
	close_both(&opened);
}

static void what_is_not_there_is_refused(void **state) {
	const struct dir *dir = *state;
	struct opened opened;
	struct stet_error err = {0};
	char *json = NULL;
	open_both(&opened, dir);
	static const struct {
		const char *section, *args;
		int code;
	} wrong[] = {
		{"nothing", "{}", STET_E_INVALID},
		{"write", "{\"id\":7}", STET_E_NOT_FOUND},
		{"conflict", "{\"id\":7}", STET_E_NOT_FOUND},
		{"run", "{}", STET_E_INVALID},
		{"run", "{\"agent\":\"x\"}", STET_E_NOT_FOUND},
		{"now", "{", STET_E_INVALID},
		{"diff", "{\"path\":\"../a\"}", STET_E_INVALID},
		{"diff", "{\"path\":\"a\",\"from\":\"xyz\"}", STET_E_INVALID},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		int code = stet_page(opened.ws, wrong[i].section, wrong[i].args, strlen(wrong[i].args),
		                     &json, NULL, &err);
		if (code != wrong[i].code)
			fail_msg("%s %s: %d", wrong[i].section, wrong[i].args, code);
		assert_null(json);
	}
	assert_int_equal(count_at(section(&opened, "history", NULL), "/writes"), 0);
	assert_false(dir_has(dir, ".stet"));
	close_both(&opened);
}

/* The diff of a file that the fence hides is hidden, too. */
static void a_fence_holds_for_diffs(void **state) {
	const struct dir *dir = *state;
	struct opened opened;
	open_both(&opened, dir);
	provoke_conflict(&opened, dir);
	assert_int_equal(stet_workspace_allow(opened.ws, ".md", NULL), 0);
	yyjson_val *write = section(&opened, "write", "{\"id\":1}");
	assert_null(yyjson_ptr_get(write, "/write/diff"));
	assert_non_null(text_at(write, "/write/noDiff"));
	close_both(&opened);
}

static void a_query_is_decoded_strictly(void **state) {
	st_auto(st_buf) value = ST_BUF_INIT;
	(void)state;
	assert_true(st_query_get("a=1&path=x%2Fy+z", "path", &value));
	assert_string_equal(st_buf_cstr(&value), "x/y z");
	assert_true(st_query_get("path=", "path", &value));
	assert_int_equal(value.len, 0);
	assert_false(st_query_get(NULL, "path", &value));
	assert_false(st_query_get("xpath=1", "path", &value));
	assert_false(st_query_get("path=%", "path", &value));
	assert_false(st_query_get("path=%2", "path", &value));
	assert_false(st_query_get("path=%00", "path", &value));
	assert_false(st_query_get("path=%ff", "path", &value));
	assert_true(st_query_is_valid(NULL));
	assert_true(st_query_is_valid("&a&b=&c=%C3%A9&"));
	assert_false(st_query_is_valid("a=1&path=%ff"));
	assert_false(st_query_is_valid("path=%zz&a=1"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_refusal_is_kept_with_its_diff_until_its_session_writes),
		claim(a_merge_is_a_conflict_that_is_settled),
		claim(rescued_bytes_are_listed_and_compared_with_the_file),
		claim(now_names_who_works_on_what),
		claim(an_agent_may_have_the_name_of_the_page),
		claim(long_lists_say_that_there_is_more),
		claim(context_counts_the_turns_of_a_host),
		claim(the_history_comes_in_pages_and_can_be_searched),
		claim(a_page_of_ten_thousand_writes_looks_at_two_thousand),
		claim(changes_are_numbered_for_each_process),
		claim(what_is_not_there_is_refused),
		claim(a_fence_holds_for_diffs),
		claim(a_query_is_decoded_strictly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
