/* A symbolic link that was pointed elsewhere since a session read through it. */
#include "core/links.h"

#include "lib/tools.h"

static void point(const struct desk *desk, const char *link, const char *target) {
	(void)unlinkat(desk->dir->fd, link, 0);
	assert_int_equal(symlinkat(target, desk->dir->fd, link), 0);
}

/* A link that leads to the first of two files when it is read, and to the second afterwards. */
static void repoint(struct desk *desk, const char *first, const char *second) {
	dir_write(desk->dir, "one", first);
	dir_write(desk->dir, "two", second);
	point(desk, "l", "one");
	assert_int_equal(desk_read(desk, "l"), 0);
	point(desk, "l", "two");
}

static void expect_standing(struct desk *desk, const char *path, const char *standing) {
	assert_int_equal(desk_check(desk, path), 0);
	assert_string_equal(stet_answer_status(desk->answer), standing);
}

static void another_file_is_a_modified_one(void **state) {
	struct desk *desk = *state;
	repoint(desk, "alpha\n", "beta\n");
	expect_standing(desk, "l", "modified");
	assert_string_equal(stet_answer_content(desk->answer, NULL), "beta\n");
	assert_non_null(strstr(stet_answer_diff(desk->answer, NULL), "-alpha\n+beta\n"));
	/* To have asked changes nothing, neither for the link nor for the files. */
	expect_standing(desk, "l", "modified");
	expect_standing(desk, "one", "clean");
	expect_standing(desk, "two", "untracked");
}

static void an_edit_through_it_is_refused_and_then_made(void **state) {
	struct desk *desk = *state;
	repoint(desk, "alpha same\n", "beta same\n");
	assert_int_equal(desk_edit(desk, "l", "same", "other"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(desk->answer), "modified");
	assert_non_null(strstr(stet_answer_diff(desk->answer, NULL), "+beta same\n"));
	assert_string_equal(dir_read(desk->dir, "two"), "beta same\n");
	expect_standing(desk, "one", "clean");

	assert_int_equal(desk_edit(desk, "l", "same", "other"), 0);
	assert_string_equal(dir_read(desk->dir, "two"), "beta other\n");
	assert_string_equal(dir_read(desk->dir, "one"), "alpha same\n");
	expect_standing(desk, "l", "clean");
}

static void a_write_through_it_is_refused(void **state) {
	struct desk *desk = *state;
	repoint(desk, "alpha\n", "beta\n");
	assert_int_equal(desk_write(desk, "l", "gamma\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(desk->answer), "modified");
	assert_string_equal(dir_read(desk->dir, "two"), "beta\n");
}

static void equal_bytes_are_no_conflict(void **state) {
	struct desk *desk = *state;
	repoint(desk, "alpha\n", "alpha\n");
	expect_standing(desk, "l", "clean");
	assert_int_equal(desk_edit(desk, "l", "alpha", "beta"), 0);
	assert_string_equal(dir_read(desk->dir, "two"), "beta\n");
}

static void a_file_seen_by_its_own_name_is_seen(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "two", "beta\n");
	assert_int_equal(desk_read(desk, "two"), 0);
	repoint(desk, "alpha\n", "beta\n");
	expect_standing(desk, "l", "clean");
	assert_int_equal(desk_edit(desk, "l", "beta", "gamma"), 0);
}

static void a_directory_link_in_the_middle_of_a_path(void **state) {
	struct desk *desk = *state;
	static const char *const spellings[] = {"v/d/f", "v/./d//f", "one/../v/d/f"};
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		dir_write(desk->dir, "one/f", "alpha same\n");
		dir_write(desk->dir, "two/f", "beta same\n");
		dir_write(desk->dir, "v/x", "");
		point(desk, "v/d", "../one");
		assert_int_equal(desk_read(desk, spellings[i]), 0);
		point(desk, "v/d", "../two");
		expect_standing(desk, spellings[i], "modified");
		assert_int_equal(desk_edit(desk, spellings[i], "same", "other"), STET_E_CONFLICT);
		assert_int_equal(desk_edit(desk, spellings[i], "same", "other"), 0);
		assert_string_equal(dir_read(desk->dir, "two/f"), "beta other\n");
		stet_session_invalidate(desk->session, "two/f");
	}
}

static void an_absolute_spelling_is_the_same_link(void **state) {
	struct desk *desk = *state;
	repoint(desk, "alpha\n", "beta\n");
	expect_standing(desk, dir_at(desk->dir, "l"), "modified");
}

static void a_deleted_link_is_a_deleted_file(void **state) {
	struct desk *desk = *state;
	repoint(desk, "alpha\n", "beta\n");
	assert_int_equal(unlinkat(desk->dir->fd, "l", 0), 0);
	expect_standing(desk, "l", "deleted");
	assert_int_equal(desk_write(desk, "l", "anew\n"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(desk->answer), "deleted");
	assert_false(dir_has(desk->dir, "l"));
	assert_int_equal(desk_write(desk, "l", "anew\n"), 0);
	assert_string_equal(dir_read(desk->dir, "l"), "anew\n");
	expect_standing(desk, "one", "clean");
}

static void a_deleted_directory_link_is_a_deleted_file(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "one/f", "alpha\n");
	point(desk, "d", "one");
	assert_int_equal(desk_read(desk, "d/f"), 0);
	assert_int_equal(unlinkat(desk->dir->fd, "d", 0), 0);
	expect_standing(desk, "d/f", "deleted");
}

static void a_link_in_the_place_of_a_file(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "l", "alpha same\n");
	dir_write(desk->dir, "two", "beta same\n");
	assert_int_equal(desk_read(desk, "l"), 0);
	point(desk, "l", "two");
	expect_standing(desk, "l", "modified");
	assert_int_equal(desk_edit(desk, "l", "same", "other"), STET_E_CONFLICT);
	assert_string_equal(dir_read(desk->dir, "two"), "beta same\n");
}

static void a_file_in_the_place_of_a_link(void **state) {
	struct desk *desk = *state;
	repoint(desk, "alpha same\n", "");
	assert_int_equal(unlinkat(desk->dir->fd, "l", 0), 0);
	dir_write(desk->dir, "l", "beta same\n");
	expect_standing(desk, "l", "modified");
	assert_int_equal(desk_edit(desk, "l", "same", "other"), STET_E_CONFLICT);
	assert_int_equal(desk_edit(desk, "l", "same", "other"), 0);
	assert_string_equal(dir_read(desk->dir, "l"), "beta other\n");
}

static void the_tools_know_it_too(void **state) {
	struct desk *desk = *state;
	static const char *const readers[] = {"read_file", "read_text_file", "text_inspect"};
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		dir_write(desk->dir, "one", "alpha same\n");
		dir_write(desk->dir, "two", "beta same\n");
		point(desk, "l", "one");
		call(desk, readers[i], "{'path': 'l'}");
		point(desk, "l", "two");
		refuse(desk, STET_E_CONFLICT, "edit_file",
		       "{'path': 'l', 'edits': [{'oldText': 'same', 'newText': 'other'}]}");
		expect_str("reason", "modified");
		expect_file(desk, "two", "beta same\n");
		stet_session_invalidate(desk->session, "two");
	}
}

static void the_check_has_the_current_content(void **state) {
	struct desk *desk = *state;
	repoint(desk, "alpha\n", "beta\n");
	call(desk, "check_conflict", "{'path': 'l'}");
	expect_str("reason", "modified");
	expect_str("currentContent", "beta\n");
	expect_none("currentContentTruncated");
	st_auto(st_buf) large = ST_BUF_INIT;
	for (int i = 0; i < 5000; i++)
		st_buf_adds(&large, "line of text\n");
	dir_write(desk->dir, "two", large.ptr);
	call(desk, "check_conflict", "{'path': 'l'}");
	expect_true("currentContentTruncated");
	assert_true(yyjson_get_len(look("currentContent")) <= 20000);
	call(desk, "check_conflict", "{'path': 'one'}");
	expect_none("currentContent");
}

static void a_named_session_remembers_it(void **state) {
	struct desk *desk = *state;
	assert_int_equal(stet_workspace_set(desk->ws, STET_OPTION_STATE, 1, NULL), 0);
	dir_write(desk->dir, "one", "alpha same\n");
	dir_write(desk->dir, "two", "beta same\n");
	point(desk, "l", "one");
	struct stet_session *session = desk_session(desk, "ada");
	struct stet_answer *answer = NULL;
	assert_int_equal(stet_session_read(session, "l", 0, 0, &answer, NULL), 0);
	stet_answer_free(answer);
	stet_session_close(session);

	point(desk, "l", "two");
	session = desk_session(desk, "ada");
	assert_int_equal(stet_session_modified(session, "l", NULL), 1);
	assert_int_equal(
		stet_session_edit(session, "l", "same", 4, "other", 5, NULL, NULL, &desk->err),
		STET_E_CONFLICT);
	assert_string_equal(dir_read(desk->dir, "two"), "beta same\n");
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
		desk_claim(another_file_is_a_modified_one),
		desk_claim(an_edit_through_it_is_refused_and_then_made),
		desk_claim(a_write_through_it_is_refused),
		desk_claim(equal_bytes_are_no_conflict),
		desk_claim(a_file_seen_by_its_own_name_is_seen),
		desk_claim(a_directory_link_in_the_middle_of_a_path),
		desk_claim(an_absolute_spelling_is_the_same_link),
		desk_claim(a_deleted_link_is_a_deleted_file),
		desk_claim(a_deleted_directory_link_is_a_deleted_file),
		desk_claim(a_link_in_the_place_of_a_file),
		desk_claim(a_file_in_the_place_of_a_link),
		desk_claim(the_tools_know_it_too),
		desk_claim(the_check_has_the_current_content),
		desk_claim(a_named_session_remembers_it),
		cmocka_unit_test(links_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
