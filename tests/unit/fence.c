/*
 * The types of files that are allowed hold for every tool that reads or writes
 * content. The claims go over the table of tools: one that is new and forgets
 * the fence fails here.
 */
#include "core/workspace/workspace.h"
#include "lib/every_tool.h"

#define SECRET "classified words\n"

/* A file that the session has seen completely, before the fence is there. */
static void enclose(struct host *host) {
	dir_write(host->dir, "secret.exe", SECRET);
	dir_write(host->dir, "a.txt", "plain words\n");
	assert_int_equal(symlinkat("secret.exe", host->dir->fd, "link.txt"), 0);
	assert_int_equal(host_read(host, "secret.exe"), 0);
	assert_int_equal(host_read(host, "a.txt"), 0);
	assert_int_equal(stet_workspace_allow(host->ws, ".md, txt", NULL), 0);
}

static void expect_untouched(const struct host *host) {
	struct st_str answer = whole_answer();
	assert_null(memmem(answer.ptr, answer.len, "classified words", 16));
	assert_string_equal(dir_read(host->dir, "secret.exe"), SECRET);
	assert_false(dir_has(host->dir, "moved.exe"));
	assert_false(dir_has(host->dir, "moved.txt"));
	assert_false(dir_has(host->dir, "new.exe"));
}

static void every_tool_refuses_the_type(void **state) {
	struct host *host = *state;
	enclose(host);
	size_t refused = 0;
	for (size_t i = 0; st_tools[i]; i++) {
		bool refuses = is_about_content(st_tools[i]);
		static const char *const paths[] = {"secret.exe", "link.txt", "./secret.exe"};
		for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
			/* A link is moved as such, and what it leads to stays where it is. */
			if (k == 1 && strcmp(st_tools[i]->name, "move_file") == 0)
				continue;
			/* The link itself is deleted, and made anew. */
			if (k == 1 && strcmp(st_tools[i]->name, "delete_file") == 0)
				continue;
			int code = call_about(host, st_tools[i], paths[k]);
			if (refuses)
				assert_int_equal(code, STET_E_EXTENSION);
			expect_untouched(host);
			refused += refuses;
		}
	}
	assert_true(refused > 20);
}

static void no_tool_makes_a_file_of_the_type(void **state) {
	struct host *host = *state;
	enclose(host);
	for (size_t i = 0; st_tools[i]; i++) {
		int code = call_about(host, st_tools[i], "new.exe");
		if (strcmp(st_tools[i]->name, "create_directory") == 0)
			assert_int_equal(unlinkat(host->dir->fd, "new.exe", AT_REMOVEDIR), 0);
		else if (is_about_content(st_tools[i]) && strcmp(st_tools[i]->name, "move_file") != 0)
			assert_int_equal(code, STET_E_EXTENSION);
		expect_untouched(host);
	}
}

static void no_tool_shows_it_from_its_directory(void **state) {
	struct host *host = *state;
	enclose(host);
	for (size_t i = 0; st_tools[i]; i++) {
		(void)call_about(host, st_tools[i], ".");
		expect_untouched(host);
	}
}

static void the_message_names_what_is_allowed(void **state) {
	struct host *host = *state;
	enclose(host);
	refuse(host, STET_E_EXTENSION, "write_file", "{'path': 'secret.exe', 'content': 'x'}");
	expect_str("message", "File type \".exe\" is not allowed. Allowed: .md, .txt.");
	refuse(host, STET_E_EXTENSION, "write_file", "{'path': 'Makefile', 'content': 'x'}");
}

static void the_whole_ending_counts(void **state) {
	struct host *host = *state;
	enclose(host);
	refuse(host, STET_E_EXTENSION, "write_file", "{'path': 'notxt', 'content': 'x'}");
	expect_str("message", "A file without an extension is not allowed. Allowed: .md, .txt.");
	call(host, "write_file", "{'path': 'README.MD', 'content': 'x'}");
}

static void a_move_does_not_change_what_is_allowed(void **state) {
	struct host *host = *state;
	enclose(host);
	refuse(host, STET_E_EXTENSION, "move_file", "{'source': 'a.txt', 'destination': 'b.exe'}");
	refuse(host, STET_E_EXTENSION, "move_file", "{'source': 'secret.exe', 'destination': 'b.txt'}");
	call(host, "move_file", "{'source': 'a.txt', 'destination': 'b.md'}");
	call(host, "create_directory", "{'path': 'd.exe'}");
	call(host, "move_file", "{'source': 'd.exe', 'destination': 'e'}");
	expect_untouched(host);
}

static void a_write_before_the_fence_stays(void **state) {
	struct host *host = *state;
	call(host, "write_file", "{'path': 'tool.exe', 'content': 'one'}");
	assert_int_equal(stet_workspace_allow(host->ws, ".md", NULL), 0);
	refuse(host, STET_E_EXTENSION, "undo", "{'path': 'tool.exe'}");
	expect_file(host, "tool.exe", "one");
}

static void the_library_keeps_to_it(void **state) {
	struct host *host = *state;
	enclose(host);
	assert_int_equal(host_read(host, "secret.exe"), STET_E_EXTENSION);
	assert_int_equal(host_write(host, "secret.exe", "x"), STET_E_EXTENSION);
	assert_int_equal(host_edit(host, "secret.exe", "words", "x"), STET_E_EXTENSION);
	assert_string_equal(dir_read(host->dir, "secret.exe"), SECRET);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(every_tool_refuses_the_type),
		host_claim(no_tool_makes_a_file_of_the_type),
		host_claim(no_tool_shows_it_from_its_directory),
		host_claim(the_message_names_what_is_allowed),
		host_claim(the_whole_ending_counts),
		host_claim(a_move_does_not_change_what_is_allowed),
		host_claim(a_write_before_the_fence_stays),
		host_claim(the_library_keeps_to_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
