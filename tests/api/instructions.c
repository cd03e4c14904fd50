/* AGENTS.md through the public headers. */
#include <stet/stet.h>

#include "lib/test.h"

struct opened {
	struct stet_workspace *ws;
	struct stet_session *session;
};

static struct opened open_with_rules(const struct dir *dir) {
	struct opened opened = {0};
	dir_write(dir, "AGENTS.md", "Root rules.\n");
	dir_write(dir, "src/AGENTS.md", "Source rules. @more.md\n");
	dir_write(dir, "src/more.md", "More.\n");
	dir_write(dir, "src/a.c", "int a;\n");
	assert_int_equal(stet_workspace_open(dir->path, &opened.ws, NULL), 0);
	assert_int_equal(stet_session_open(opened.ws, NULL, &opened.session, NULL), 0);
	return opened;
}

static void close_all(struct opened *opened) {
	stet_session_close(opened->session);
	stet_workspace_close(opened->ws);
}

static void rules_come_once_the_root_first(void **state) {
	const struct dir *dir = *state;
	struct opened opened = open_with_rules(dir);
	struct stet_instructions *list = NULL;
	assert_int_equal(stet_instructions_root(opened.session, &list, NULL), 0);
	assert_int_equal(stet_instructions_count(list), 1);
	assert_string_equal(stet_instructions_path(list, 0), "AGENTS.md");
	assert_non_null(strstr(stet_instructions_block(list, 0, NULL), "Root rules."));
	stet_instructions_free(list);

	assert_int_equal(stet_instructions_for_path(opened.session, "src/a.c", &list, NULL), 0);
	assert_int_equal(stet_instructions_count(list), 2);
	size_t own = strcmp(stet_instructions_path(list, 0), "src/AGENTS.md") == 0 ? 0 : 1;
	size_t len = 0;
	assert_non_null(strstr(stet_instructions_content(list, own, &len), "Source rules."));
	assert_true(len >= strlen("Source rules. @more.md\n"));
	assert_int_equal(stet_instructions_size(list, own), strlen("Source rules. @more.md\n"));
	assert_int_equal(stet_instructions_cut(list, own), 0);
	assert_int_equal(strlen(stet_instructions_hash(list, own)), 16);
	assert_string_equal(stet_instructions_change(list, own), "new");
	assert_null(stet_instructions_importer(list, own));
	assert_string_equal(stet_instructions_importer(list, 1 - own), "src/AGENTS.md");
	assert_null(stet_instructions_notice(list, 0));
	stet_instructions_free(list);

	assert_int_equal(stet_instructions_for_path(opened.session, "src/a.c", &list, NULL), 0);
	assert_int_equal(stet_instructions_count(list), 0);
	stet_instructions_free(list);
	assert_int_equal(stet_instructions_all(opened.session, "src/a.c", &list, NULL), 0);
	assert_int_equal(stet_instructions_count(list), 3);
	stet_instructions_free(list);
	close_all(&opened);
}

static void a_changed_rule_comes_again(void **state) {
	const struct dir *dir = *state;
	struct opened opened = open_with_rules(dir);
	char *text = NULL;
	assert_int_equal(stet_instructions_if_new(opened.session, "src/a.c", &text, NULL), 0);
	assert_non_null(strstr(text, "Source rules."));
	stet_free(text);
	assert_int_equal(stet_instructions_if_new(opened.session, "src/a.c", &text, NULL), 0);
	assert_null(text);
	dir_write(dir, "src/AGENTS.md", "Other rules.\n");
	stet_instructions_invalidate(opened.ws, "src/AGENTS.md");
	assert_int_equal(stet_instructions_if_new(opened.session, "src/a.c", &text, NULL), 0);
	assert_non_null(strstr(text, "Other rules."));
	stet_free(text);

	stet_instructions_clear(opened.session);
	assert_int_equal(stet_instructions_if_new(opened.session, "src/a.c", &text, NULL), 0);
	assert_non_null(strstr(text, "Other rules."));
	stet_free(text);
	close_all(&opened);
}

static void an_index_lists_all_and_says_why_not(void **state) {
	const struct dir *dir = *state;
	struct opened opened = open_with_rules(dir);
	dir_write(dir, "docs/RULES.md", "Docs.\n");
	dir_write(dir, "empty/AGENTS.md", "");
	assert_int_equal(stet_instructions_names(opened.ws, "RULES.md", NULL), 0);
	assert_int_equal(stet_instructions_names(opened.ws, "a/b", NULL), STET_E_INVALID);
	assert_int_equal(stet_instructions_names(opened.ws, "RULES.md", NULL), 0);
	struct stet_instructions *list = NULL;
	assert_int_equal(stet_instructions_index(opened.ws, &list, NULL), 0);
	assert_int_equal(stet_instructions_count(list), 4);
	size_t skipped = 0;
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(stet_instructions_change(list, i), "listed");
		skipped += stet_instructions_skipped(list, i) != NULL;
	}
	assert_int_equal(skipped, 1);
	char *json = stet_instructions_json(list);
	assert_non_null(strstr(json, "\"docs/RULES.md\""));
	stet_free(json);
	stet_instructions_free(list);
	close_all(&opened);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(rules_come_once_the_root_first),
		claim(a_changed_rule_comes_again),
		claim(an_index_lists_all_and_says_why_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
