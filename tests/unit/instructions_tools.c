/* Instructions through the tools: read_file brings them, agents_md shows them, clear_session resets. */
#include "base/json.h"
#include "lib/every_tool.h"

/* Run a tool and parse its answer; free it with yyjson_doc_free(). */
static yyjson_doc *answer_of(struct host *host, const char *tool, const char *args) {
	char *answer = NULL;
	size_t len = 0;
	assert_int_equal(stet_call(host->session, tool, args, strlen(args), &answer, &len, &host->err),
	                 0);
	yyjson_doc *doc = yyjson_read(answer, len, 0);
	assert_non_null(doc);
	stet_free(answer);
	return doc;
}

static yyjson_val *at(yyjson_doc *doc, const char *pointer) {
	return yyjson_doc_ptr_get(doc, pointer);
}

static const char *text(yyjson_doc *doc, const char *pointer) {
	return yyjson_get_str(at(doc, pointer));
}

static void a_read_brings_what_applies_after_the_text(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "AGENTS.md", "root\n");
	dir_write(host->dir, "a/AGENTS.md", "of a\n");
	dir_write(host->dir, "a/x", "text\n");
	yyjson_doc *doc = answer_of(host, "read_file", "{\"path\":\"a/x\"}");
	assert_int_equal(yyjson_arr_size(at(doc, "/content")), 4);
	assert_string_equal(text(doc, "/content/0/text"), "text\n");
	assert_non_null(strstr(text(doc, "/content/1/text"), "[a/x: 1 line, fileHash "));
	assert_string_equal(text(doc, "/content/2/text"),
	                    "[Project instructions from AGENTS.md]\n\nroot\n");
	assert_string_equal(text(doc, "/content/3/text"), "[Loaded from a/AGENTS.md]\n\nof a\n");
	assert_string_equal(text(doc, "/structuredContent/instructions/1"),
	                    "[Loaded from a/AGENTS.md]\n\nof a\n");
	assert_string_equal(text(doc, "/structuredContent/agents/0"), "AGENTS.md");
	assert_string_equal(text(doc, "/structuredContent/agents/1"), "a/AGENTS.md");
	yyjson_doc_free(doc);

	doc = answer_of(host, "read_file", "{\"path\":\"a/x\"}");
	assert_int_equal(yyjson_arr_size(at(doc, "/content")), 2);
	assert_null(at(doc, "/structuredContent/agents"));
	yyjson_doc_free(doc);

	yyjson_doc_free(answer_of(host, "clear_session", "{}"));
	doc = answer_of(host, "read_file", "{\"path\":\"a/x\"}");
	assert_int_equal(yyjson_arr_size(at(doc, "/content")), 4);
	yyjson_doc_free(doc);
}

static void a_remark_stands_between_text_and_instructions(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "AGENTS.md", "root\n");
	dir_write(host->dir, "x", "1\n2\n3\n");
	assert_int_equal(symlink("gone", dir_at(host->dir, "AGENTS.override.md")), 0);
	yyjson_doc *doc = answer_of(host, "read_file", "{\"path\":\"x\",\"limit\":1}");
	assert_int_equal(yyjson_arr_size(at(doc, "/content")), 3);
	assert_non_null(strstr(text(doc, "/content/1/text"),
	                       "[Instructions: \"AGENTS.override.md\" is a link that leads to no file; "
	                       "it was not loaded.]\n[x: line 1 of 3, fileHash "));
	assert_non_null(strstr(text(doc, "/content/1/text"), ". Continue with offset 2.]\n"));
	yyjson_doc_free(doc);
}

static void nothing_changes_without_instructions_or_where_they_are_off(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "x", "text\n");
	yyjson_doc *doc = answer_of(host, "read_file", "{\"path\":\"x\"}");
	assert_int_equal(yyjson_arr_size(at(doc, "/content")), 2);
	assert_null(at(doc, "/structuredContent/agents"));
	yyjson_doc_free(doc);
	dir_write(host->dir, "AGENTS.md", "root\n");
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_AGENTS, 0, NULL), 0);
	doc = answer_of(host, "read_file", "{\"path\":\"x\"}");
	assert_int_equal(yyjson_arr_size(at(doc, "/content")), 2);
	yyjson_doc_free(doc);
}

static void reading_instructions_does_not_bring_them_twice(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "AGENTS.md", "root\n");
	dir_write(host->dir, "x", "text\n");
	yyjson_doc *doc = answer_of(host, "read_file", "{\"path\":\"AGENTS.md\"}");
	assert_int_equal(yyjson_arr_size(at(doc, "/content")), 2);
	yyjson_doc_free(doc);
	doc = answer_of(host, "read_file", "{\"path\":\"x\"}");
	assert_int_equal(yyjson_arr_size(at(doc, "/content")), 2);
	yyjson_doc_free(doc);
}

static void agents_md_shows_a_chain_or_the_index(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "AGENTS.md", "root\n");
	dir_write(host->dir, "a/AGENTS.md", "root\n");
	dir_write(host->dir, "b/agents.md", "of b\n");
	yyjson_doc *doc = answer_of(host, "agents_md", "{\"path\":\"b/new.c\"}");
	assert_string_equal(
		text(doc, "/content/0/text"),
		"[Project instructions from AGENTS.md]\n\nroot\n\n[Loaded from b/agents.md]\n\nof b\n");
	assert_string_equal(text(doc, "/structuredContent/status"), "success");
	assert_string_equal(text(doc, "/structuredContent/files/1/content"), "of b\n");
	yyjson_doc_free(doc);

	doc = answer_of(host, "agents_md", "{}");
	assert_string_equal(text(doc, "/content/0/text"),
	                    "AGENTS.md (5 bytes)\n"
	                    "a/AGENTS.md (5 bytes): not loaded, has the same text as AGENTS.md\n"
	                    "b/agents.md (5 bytes)\n");
	assert_string_equal(text(doc, "/structuredContent/files/1/skipped"),
	                    "has the same text as AGENTS.md");
	yyjson_doc_free(doc);
}

static void agents_md_says_that_there_are_none(void **state) {
	struct host *host = *state;
	yyjson_doc *doc = answer_of(host, "agents_md", "{}");
	assert_non_null(strstr(text(doc, "/content/0/text"), "There are no instruction files"));
	yyjson_doc_free(doc);
	doc = answer_of(host, "agents_md", "{\"path\":\"x\"}");
	assert_string_equal(text(doc, "/content/0/text"), "No instructions apply to x.\n");
	yyjson_doc_free(doc);
}

/* Tools that show and change no text of the file, that leave its directory, or that are about writes. */
static bool brings_none(const char *tool) {
	static const char *const names[] = {"check_conflict",  "copy_file", "delete_file", "move_file",
	                                    "read_media_file", "undo",      "history",     "redo"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(names[i], tool) == 0)
			return true;
	}
	return false;
}

/* A new tool that forgets them fails here. */
static void every_tool_about_a_file_brings_them(void **state) {
	struct host *host = *state;
	size_t checked = 0;
	for (size_t i = 0; st_tools[i]; i++) {
		char path[32], rules[32];
		if (!is_about_content(st_tools[i]) || brings_none(st_tools[i]->name))
			continue;
		snprintf(rules, sizeof rules, "rules of %zu\n", i);
		snprintf(path, sizeof path, "%zu/AGENTS.md", i);
		dir_write(host->dir, path, rules);
		snprintf(path, sizeof path, "%zu/a.md", i);
		assert_int_equal(host_write(host, path, "classified words\n"), 0);
		(void)call_about(host, st_tools[i], path);
		struct st_str answer = whole_answer();
		if (!memmem(answer.ptr, answer.len, rules, strlen(rules) - 1))
			fail_msg("%s does not bring AGENTS.md: %.*s", st_tools[i]->name, (int)answer.len,
			         answer.ptr);
		checked++;
	}
	assert_true(checked >= 10);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(a_read_brings_what_applies_after_the_text),
		host_claim(a_remark_stands_between_text_and_instructions),
		host_claim(nothing_changes_without_instructions_or_where_they_are_off),
		host_claim(reading_instructions_does_not_bring_them_twice),
		host_claim(agents_md_shows_a_chain_or_the_index),
		host_claim(agents_md_says_that_there_are_none),
		host_claim(every_tool_about_a_file_brings_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
