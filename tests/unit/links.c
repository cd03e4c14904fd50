/* A symbolic link that was pointed elsewhere since a session read through it. */
#include "core/session/links.h"

#include "lib/tools.h"

static void point(const struct host *host, const char *link, const char *target) {
	(void)unlinkat(host->dir->fd, link, 0);
	assert_int_equal(symlinkat(target, host->dir->fd, link), 0);
}

/* A link that leads to the first of two files when it is read, and to the second afterwards. */
static void repoint(struct host *host, const char *first, const char *second) {
	dir_write(host->dir, "one", first);
	dir_write(host->dir, "two", second);
	point(host, "l", "one");
	assert_int_equal(host_read(host, "l"), 0);
	point(host, "l", "two");
}

static void expect_standing(struct host *host, const char *path, const char *standing) {
	assert_int_equal(host_check(host, path), 0);
	assert_string_equal(stet_answer_status(host->answer), standing);
}

static void another_file_is_a_modified_one(void **state) {
	struct host *host = *state;
	repoint(host, "alpha\n", "beta\n");
	expect_standing(host, "l", "modified");
	assert_string_equal(stet_answer_content(host->answer, NULL), "beta\n");
	assert_non_null(strstr(stet_answer_diff(host->answer, NULL), "-alpha\n+beta\n"));
	/* A check changes nothing, neither for the link nor for the files. */
	expect_standing(host, "l", "modified");
	expect_standing(host, "one", "clean");
	expect_standing(host, "two", "untracked");
}

static void an_edit_through_it_is_refused_and_then_made(void **state) {
	struct host *host = *state;
	repoint(host, "alpha same\n", "beta same\n");
	assert_int_equal(host_edit(host, "l", "same", "other"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(host->answer), "modified");
	assert_non_null(strstr(stet_answer_diff(host->answer, NULL), "+beta same\n"));
	assert_string_equal(dir_read(host->dir, "two"), "beta same\n");
	expect_standing(host, "one", "clean");

	assert_int_equal(host_edit(host, "l", "same", "other"), 0);
	assert_string_equal(dir_read(host->dir, "two"), "beta other\n");
	assert_string_equal(dir_read(host->dir, "one"), "alpha same\n");
	expect_standing(host, "l", "clean");
}

static void a_write_through_it_is_refused(void **state) {
	struct host *host = *state;
	repoint(host, "alpha\n", "beta\n");
	assert_int_equal(host_write(host, "l", "gamma\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(host->answer), "modified");
	assert_string_equal(dir_read(host->dir, "two"), "beta\n");
}

static void equal_bytes_are_no_conflict(void **state) {
	struct host *host = *state;
	repoint(host, "alpha\n", "alpha\n");
	expect_standing(host, "l", "clean");
	assert_int_equal(host_edit(host, "l", "alpha", "beta"), 0);
	assert_string_equal(dir_read(host->dir, "two"), "beta\n");
}

static void a_file_seen_by_its_own_name_is_seen(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "two", "beta\n");
	assert_int_equal(host_read(host, "two"), 0);
	repoint(host, "alpha\n", "beta\n");
	expect_standing(host, "l", "clean");
	assert_int_equal(host_edit(host, "l", "beta", "gamma"), 0);
}

static void a_directory_link_in_the_middle_of_a_path(void **state) {
	struct host *host = *state;
	static const char *const spellings[] = {"v/d/f", "v/./d//f", "one/../v/d/f"};
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		dir_write(host->dir, "one/f", "alpha same\n");
		dir_write(host->dir, "two/f", "beta same\n");
		dir_write(host->dir, "v/x", "");
		point(host, "v/d", "../one");
		assert_int_equal(host_read(host, spellings[i]), 0);
		point(host, "v/d", "../two");
		expect_standing(host, spellings[i], "modified");
		assert_int_equal(host_edit(host, spellings[i], "same", "other"), STET_E_CONFLICT);
		assert_int_equal(host_edit(host, spellings[i], "same", "other"), 0);
		assert_string_equal(dir_read(host->dir, "two/f"), "beta other\n");
		stet_session_invalidate(host->session, "two/f");
	}
}

static void an_absolute_spelling_is_the_same_link(void **state) {
	struct host *host = *state;
	repoint(host, "alpha\n", "beta\n");
	expect_standing(host, dir_at(host->dir, "l"), "modified");
}

static void a_deleted_link_is_a_deleted_file(void **state) {
	struct host *host = *state;
	repoint(host, "alpha\n", "beta\n");
	assert_int_equal(unlinkat(host->dir->fd, "l", 0), 0);
	expect_standing(host, "l", "deleted");
	assert_int_equal(host_write(host, "l", "anew\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(host->answer), "deleted");
	assert_false(dir_has(host->dir, "l"));
	assert_int_equal(host_write(host, "l", "anew\n"), 0);
	assert_string_equal(dir_read(host->dir, "l"), "anew\n");
	expect_standing(host, "one", "clean");
}

static void a_deleted_directory_link_is_a_deleted_file(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "one/f", "alpha\n");
	point(host, "d", "one");
	assert_int_equal(host_read(host, "d/f"), 0);
	assert_int_equal(unlinkat(host->dir->fd, "d", 0), 0);
	expect_standing(host, "d/f", "deleted");
}

static void a_link_in_the_place_of_a_file(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "l", "alpha same\n");
	dir_write(host->dir, "two", "beta same\n");
	assert_int_equal(host_read(host, "l"), 0);
	point(host, "l", "two");
	expect_standing(host, "l", "modified");
	assert_int_equal(host_edit(host, "l", "same", "other"), STET_E_CONFLICT);
	assert_string_equal(dir_read(host->dir, "two"), "beta same\n");
}

static void a_file_in_the_place_of_a_link(void **state) {
	struct host *host = *state;
	repoint(host, "alpha same\n", "");
	assert_int_equal(unlinkat(host->dir->fd, "l", 0), 0);
	dir_write(host->dir, "l", "beta same\n");
	expect_standing(host, "l", "modified");
	assert_int_equal(host_edit(host, "l", "same", "other"), STET_E_CONFLICT);
	assert_int_equal(host_edit(host, "l", "same", "other"), 0);
	assert_string_equal(dir_read(host->dir, "l"), "beta other\n");
}

static void the_tools_know_it_too(void **state) {
	struct host *host = *state;
	static const char *const readers[] = {"read_file", "read_text_file", "text_inspect"};
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		dir_write(host->dir, "one", "alpha same\n");
		dir_write(host->dir, "two", "beta same\n");
		point(host, "l", "one");
		call(host, readers[i], "{'path': 'l'}");
		point(host, "l", "two");
		refuse(host, STET_E_CONFLICT, "edit_file",
		       "{'path': 'l', 'edits': [{'oldText': 'same', 'newText': 'other'}]}");
		expect_str("reason", "modified");
		expect_file(host, "two", "beta same\n");
		stet_session_invalidate(host->session, "two");
	}
}

static void the_check_has_the_current_content(void **state) {
	struct host *host = *state;
	repoint(host, "alpha\n", "beta\n");
	call(host, "check_conflict", "{'path': 'l'}");
	expect_str("reason", "modified");
	expect_str("currentContent", "beta\n");
	expect_none("currentContentTruncated");
	st_auto(st_buf) large = ST_BUF_INIT;
	for (int i = 0; i < 5000; i++)
		st_buf_adds(&large, "line of text\n");
	dir_write(host->dir, "two", large.ptr);
	call(host, "check_conflict", "{'path': 'l'}");
	expect_true("currentContentTruncated");
	assert_true(yyjson_get_len(look("currentContent")) <= 20000);
	call(host, "check_conflict", "{'path': 'one'}");
	expect_none("currentContent");
}

static void a_named_session_remembers_it(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_STATE, 1, NULL), 0);
	dir_write(host->dir, "one", "alpha same\n");
	dir_write(host->dir, "two", "beta same\n");
	point(host, "l", "one");
	struct stet_session *session = host_session(host, "ada");
	struct stet_answer *answer = NULL;
	assert_int_equal(stet_session_read(session, "l", 0, 0, &answer, NULL), 0);
	stet_answer_free(answer);
	stet_session_close(session);

	point(host, "l", "two");
	session = host_session(host, "ada");
	assert_int_equal(stet_session_modified(session, "l", NULL), 1);
	assert_int_equal(stet_session_edit(session, "l", "same", 4, "other", 5, NULL, NULL, &host->err),
	                 STET_E_CONFLICT);
	assert_string_equal(dir_read(host->dir, "two"), "beta same\n");
	stet_session_close(session);
}

static void links_are_bounded(void **state) {
	(void)state;
	struct st_links links;
	st_links_init(&links);
	for (int i = 0; i < ST_LINKS_MAX + 10; i++) {
		char name[16];
		snprintf(name, sizeof name, "l%d", i);
		st_links_set(&links, st_str(name), ST_STR("file"));
	}
	assert_int_equal(links.targets.count, ST_LINKS_MAX);
	assert_null(st_links_target(&links, ST_STR("l0")));
	assert_string_equal(st_links_target(&links, ST_STR("l500")), "file");
	st_links_set(&links, ST_STR("l500"), ST_STR("l500"));
	assert_null(st_links_target(&links, ST_STR("l500")));
	st_links_release(&links);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(another_file_is_a_modified_one),
		host_claim(an_edit_through_it_is_refused_and_then_made),
		host_claim(a_write_through_it_is_refused),
		host_claim(equal_bytes_are_no_conflict),
		host_claim(a_file_seen_by_its_own_name_is_seen),
		host_claim(a_directory_link_in_the_middle_of_a_path),
		host_claim(an_absolute_spelling_is_the_same_link),
		host_claim(a_deleted_link_is_a_deleted_file),
		host_claim(a_deleted_directory_link_is_a_deleted_file),
		host_claim(a_link_in_the_place_of_a_file),
		host_claim(a_file_in_the_place_of_a_link),
		host_claim(the_tools_know_it_too),
		host_claim(the_check_has_the_current_content),
		host_claim(a_named_session_remembers_it),
		cmocka_unit_test(links_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
