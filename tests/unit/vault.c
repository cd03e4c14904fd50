/* A vault of 500 notes: what is open, what is protected, and what stays as it was byte for byte. */
#include "core/workspace/workspace.h"
#include "lib/every_tool.h"

enum { NOTES = 500 };

/* ---- the vault ---- */

/* Note n begins with this and a status; every fifth has no front matter, every third has CRLF. */
static void add_front(struct st_buf *out, int n, const char *status) {
	st_buf_addf(out,
	            "---\ntitle: \"Note: %d\"\naliases:\n  - n%d\n  - the %dth # one\n"
	            "status: %s # of the work\ntags: [a, 'b, c']\ndue: 2026-01-%02d\n---\n",
	            n, n, n, status, n % 28 + 1);
}

static void add_body(struct st_buf *out, int n) {
	st_buf_addf(out,
	            "# Note %d\n\nSee [[Note %d]] and ![[image.png]].\n\n> [!note] A callout\n> of %d "
	            "lines\n\n## Log\n\n- [ ] a task %%%% hidden %d %%%%\n",
	            n, (n + 7) % NOTES, n, n);
	if (n % 2 == 0)
		st_buf_addf(out, "\n%%%%\nprivate words of %d\nsecond line\n%%%%\n\n## Last\n\nbye\n", n);
	if (n % 7 == 0)
		st_buf_adds(out, "```\n%%\ncode, no comment\n%%\n```\n");
}

static void end_lines_with_crlf(struct st_buf *text) {
	st_auto(st_buf) out = ST_BUF_INIT;
	for (size_t i = 0; i < text->len; i++) {
		if (text->ptr[i] == '\n')
			st_buf_adds(&out, "\r");
		st_buf_addc(&out, text->ptr[i]);
	}
	st_buf_move(text, &out);
}

static const char *name_of(int n) {
	static char name[64];
	snprintf(name, sizeof name, "%s/Note %d.md", n % 2 ? "notes" : "notes/deep", n);
	return name;
}

static void make_note(struct st_buf *out, int n, const char *status) {
	st_buf_clear(out);
	if (n % 5 != 0)
		add_front(out, n, status);
	add_body(out, n);
	if (n % 3 == 0)
		end_lines_with_crlf(out);
}

static const char *const others[] = {
	"attachments/image.png", "board.canvas", "tasks.base", "script.js", "no ending",
};
static const char *const settings[] = {
	".obsidian/app.json",
	".obsidian/plugins/kanban/README.md",
	".obsidian/snippets/a.css",
};

static void make_vault(struct host *host, int notes) {
	static const char *const dirs[] = {"notes",
	                                   "notes/deep",
	                                   "attachments",
	                                   ".obsidian",
	                                   ".obsidian/plugins",
	                                   ".obsidian/plugins/kanban",
	                                   ".obsidian/snippets"};
	st_auto(st_buf) text = ST_BUF_INIT;
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		assert_int_equal(mkdirat(host->dir->fd, dirs[i], 0755), 0);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		dir_write(host->dir, others[i], "classified words\n");
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		dir_write(host->dir, settings[i], "settings words\n");
	for (int n = 0; n < notes; n++) {
		make_note(&text, n, "open");
		dir_write_bytes(host->dir, name_of(n), text.ptr, text.len);
	}
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_VAULT, 1, NULL), 0);
}

/* ---- what is closed ---- */

static void expect_secret(const char *words) {
	struct st_str answer = whole_answer();
	assert_null(memmem(answer.ptr, answer.len, words, strlen(words)));
}

static void every_tool_refuses_what_is_no_note(void **state) {
	struct host *host = *state;
	make_vault(host, NOTES);
	for (size_t i = 0; st_tools[i]; i++) {
		for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
			int code = call_about(host, st_tools[i], others[k]);
			if (is_about_content(st_tools[i]))
				assert_int_equal(code, STET_E_EXTENSION);
			expect_secret("classified words");
			assert_string_equal(dir_read(host->dir, others[k]), "classified words\n");
		}
	}
}

static void the_user_may_open_other_types(void **state) {
	struct host *host = *state;
	make_vault(host, 1);
	assert_int_equal(stet_workspace_allow(host->ws, ".md,.canvas", NULL), 0);
	call(host, "read_text_file", "{'path': 'board.canvas'}");
	refuse(host, STET_E_EXTENSION, "read_text_file", "{'path': 'tasks.base'}");
}

static void expect_settings(const struct host *host) {
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		assert_string_equal(dir_read(host->dir, settings[i]), "settings words\n");
	assert_int_equal(dir_count(host->dir, ".obsidian"), 3);
	assert_int_equal(dir_count(host->dir, ".obsidian/plugins/kanban"), 1);
}

static void no_tool_touches_the_folder_of_obsidian(void **state) {
	struct host *host = *state;
	static const char *const paths[] = {".obsidian/plugins/kanban/README.md",
	                                    "./notes/../.Obsidian/app.json", ".obsidian/new.md",
	                                    ".obsidian/plugins", ".obsidian"};
	make_vault(host, 20);
	for (size_t i = 0; st_tools[i]; i++) {
		for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
			int code = call_about(host, st_tools[i], paths[k]);
			if (is_about_content(st_tools[i]) && k == 0)
				assert_int_equal(code, STET_E_PROTECTED);
			expect_secret("settings words");
			expect_settings(host);
		}
	}
	refuse(host, STET_E_PROTECTED, "create_directory", "{'path': '.obsidian/themes'}");
	refuse(host, STET_E_PROTECTED, "move_file", "{'source': '.obsidian', 'destination': 'mine'}");
	refuse(host, STET_E_PROTECTED, "move_file",
	       "{'source': 'notes/Note 1.md', 'destination': '.obsidian/Note 1.md'}");
	refuse(host, STET_E_PROTECTED, "copy_file",
	       "{'source': 'notes/Note 1.md', 'destination': '.obsidian/Note 1.md'}");
	refuse(host, STET_E_PROTECTED, "delete_file", "{'path': '.obsidian', 'recursive': true}");
	expect_text("belongs to Obsidian");
	expect_settings(host);
}

static void outside_of_vaults_the_folder_is_one_as_any(void **state) {
	struct host *host = *state;
	call(host, "create_directory", "{'path': '.obsidian'}");
	call(host, "write_file", "{'path': '.obsidian/app.json', 'content': '{}'}");
}

/* ---- front matter ---- */

static void one_key_changes_and_every_other_byte_stays(void **state) {
	struct host *host = *state;
	st_auto(st_buf) expected = ST_BUF_INIT;
	make_vault(host, NOTES);
	for (int n = 0; n < NOTES; n++) {
		call(host, "read_text_file", "{'path': '%s'}", name_of(n));
		call(host, "set_property", "{'path': '%s', 'key': 'status', 'value': 'done'}", name_of(n));
		make_note(&expected, n, "done");
		if (n % 5 == 0) {
			st_auto(st_buf) front = ST_BUF_INIT;
			st_buf_adds(&front, "---\nstatus: done\n---\n");
			if (n % 3 == 0)
				end_lines_with_crlf(&front);
			st_buf_add(&front, st_buf_str(&expected));
			st_buf_move(&expected, &front);
		}
		assert_string_equal(dir_read(host->dir, name_of(n)), st_buf_cstr(&expected));
	}
	expect_settings(host);
}

static const struct {
	const char *before, *arguments, *after;
} properties[] = {
	{"---\na: 1\n---\n", "'key': 'a', 'value': 2", "---\na: 2\n---\n"},
	{"---\na:   1   # why\n---\n", "'key': 'a', 'value': 'x'", "---\na:   x   # why\n---\n"},
	{"---\na: 'it''s # 1' # why\n---\n", "'key': 'a', 'value': true", "---\na: true # why\n---\n"},
	{"---\na:\n---\n", "'key': 'a', 'value': 'x'", "---\na: x\n---\n"},
	{"---\na: 1\n---\n", "'key': 'a', 'value': ''", "---\na:\n---\n"},
	{"---\na: 1\nb: 2\n---\nx", "'key': 'a', 'remove': true", "---\nb: 2\n---\nx"},
	{"---\na: 1\n---\n", "'key': 'b c', 'value': 'x'", "---\na: 1\nb c: x\n---\n"},
	{"---\n\\\"a b\\\": 1\n---\n", "'key': 'a b', 'value': 2", "---\n\"a b\": 2\n---\n"},
	{"---\na: 1\n...\n", "'key': 'b', 'value': 'x'", "---\na: 1\nb: x\n...\n"},
	{"text\n", "'key': 'a', 'value': 'x'", "---\na: x\n---\ntext\n"},
	{"", "'key': 'a', 'value': 'x'", "---\na: x\n---\n"},
	/* Lists keep their style. */
	{"---\na: [x]\nb: 2\n---\n", "'key': 'a', 'value': ['x', 'y, z']",
     "---\na: [x, \"y, z\"]\nb: 2\n---\n"},
	{"---\na:\n- x\n- y\n\n# of b\nb: 2\n---\n", "'key': 'a', 'value': ['z']",
     "---\na:\n- z\n\n# of b\nb: 2\n---\n"},
	{"---\na:\n    - x\n---\n", "'key': 'a', 'value': ['y', 3]",
     "---\na:\n    - y\n    - 3\n---\n"},
	{"---\na: 1 # why\n---\n", "'key': 'a', 'value': ['x']", "---\na: # why\n  - x\n---\n"},
	{"---\na:\n  - x\n---\n", "'key': 'a', 'value': []", "---\na: []\n---\n"},
	{"---\na: |\n  one\n\n  # two\nb: 2\n---\n", "'key': 'a', 'value': 'x'",
     "---\na: x\nb: 2\n---\n"},
	{"---\na:\n  k: 1\n---\n", "'key': 'a', 'value': {'k': 2}", "---\na: {\"k\":2}\n---\n"},
	/* Texts that YAML would take for something else go into quotes. */
	{"---\na: 1\n---\n", "'key': 'a', 'value': '[[Note]]'", "---\na: \"[[Note]]\"\n---\n"},
	{"---\na: 1\n---\n", "'key': 'a', 'value': 'yes'", "---\na: \"yes\"\n---\n"},
	{"---\na: 1\n---\n", "'key': 'a', 'value': '007'", "---\na: \"007\"\n---\n"},
	{"---\na: 1\n---\n", "'key': 'a', 'value': 'x: y'", "---\na: \"x: y\"\n---\n"},
	{"---\na: 1\n---\n", "'key': 'a', 'value': 'x #y'", "---\na: \"x #y\"\n---\n"},
	{"---\na: 1\n---\n", "'key': 'a', 'value': '2026-01-31'", "---\na: 2026-01-31\n---\n"},
	{"---\na: 1\n---\n", "'key': 'a', 'value': 'one\\ntwo'", "---\na: \"one\\ntwo\"\n---\n"},
};

static void a_property_is_written_as_people_write_it(void **state) {
	struct host *host = *state;
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
		st_auto(st_buf) before = ST_BUF_INIT;
		for (const char *at = properties[i].before; *at; at++) {
			if (*at != '\\')
				st_buf_addc(&before, *at);
		}
		print_message("# %s\n", properties[i].arguments);
		dir_write(host->dir, "a.md", st_buf_cstr(&before));
		call(host, "read_text_file", "{'path': 'a.md'}");
		st_auto(st_buf) args = ST_BUF_INIT;
		st_buf_addf(&args, "{'path': 'a.md', %s}", properties[i].arguments);
		call(host, "set_property", "%s", args.ptr);
		expect_file(host, "a.md", properties[i].after);
		/* Once more it changes nothing, unless there is nothing left to remove. */
		if (!strstr(args.ptr, "remove")) {
			call(host, "set_property", "%s", args.ptr);
			expect_file(host, "a.md", properties[i].after);
		}
	}
}

static void a_property_that_is_not_clear_is_refused(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "twice.md", "---\na: 1\na: 2\n---\n");
	dir_write(host->dir, "braces.md", "---\n{a: 1}\n---\n");
	dir_write(host->dir, "a.md", "---\na: 1\n---\n");
	dir_write(host->dir, "a.txt", "---\na: 1\n---\n");
	refuse(host, STET_E_AMBIGUOUS, "set_property", "{'path': 'twice.md', 'key': 'a', 'value': 3}");
	refuse(host, STET_E_INVALID, "set_property", "{'path': 'braces.md', 'key': 'a', 'value': 3}");
	refuse(host, STET_E_NO_MATCH, "set_property", "{'path': 'a.md', 'key': 'b', 'remove': true}");
	refuse(host, STET_E_INVALID, "set_property", "{'path': 'a.txt', 'key': 'a', 'value': 1}");
	refuse(host, STET_E_INVALID, "set_property", "{'path': 'a.md', 'key': 'a'}");
	refuse(host, STET_E_INVALID, "set_property", "{'path': 'a.md', 'key': 'a\\nb', 'value': 1}");
	/* The old value goes: the session must have seen it. */
	refuse(host, STET_E_CONFLICT, "set_property", "{'path': 'a.md', 'key': 'a', 'value': 3}");
	call(host, "set_property", "{'path': 'a.md', 'key': 'a', 'value': 3}");
	expect_file(host, "a.md", "---\na: 3\n---\n");
}

/* ---- comments ---- */

static void expect_comment(struct host *host, const char *tool, const char *args) {
	st_auto(st_buf) before = ST_BUF_INIT;
	st_buf_adds(&before, dir_read(host->dir, "notes/deep/Note 2.md"));
	st_auto(st_buf) all = ST_BUF_INIT;
	st_buf_addf(&all, "{'path': 'notes/deep/Note 2.md', %s}", args);
	refuse(host, STET_E_PROTECTED, tool, "%s", all.ptr);
	expect_text("the comment (%% ... %%) in line");
	assert_string_equal(dir_read(host->dir, "notes/deep/Note 2.md"), before.ptr);
}

static void nothing_is_written_into_a_comment(void **state) {
	struct host *host = *state;
	make_vault(host, 4);
	call(host, "read_text_file", "{'path': 'notes/deep/Note 2.md'}");
	expect_comment(host, "edit_file", "'oldText': 'private words', 'newText': 'public words'");
	expect_comment(host, "edit_file", "'oldText': 'hidden 2', 'newText': 'shown'");
	expect_comment(host, "edit_file", "'oldText': '%%\\n\\n## Last', 'newText': '## Last'");
	expect_comment(host, "text_replace", "'oldText': 'words', 'newText': 'x', 'occurrence': 'all'");
	expect_comment(host, "text_patch",
	               "'operation': 'insert', 'content': 'x', 'target': {'lines': {'start': 22}}");
	expect_comment(host, "text_patch",
	               "'operation': 'delete', 'target': {'wholeSection': '## Log'}");
	expect_comment(host, "write_file", "'content': 'all new'");
}

static void around_a_comment_everything_may_change(void **state) {
	struct host *host = *state;
	make_vault(host, 4);
	call(host, "read_text_file", "{'path': 'notes/deep/Note 2.md'}");
	call(host, "edit_file",
	     "{'path': 'notes/deep/Note 2.md', 'oldText': 'a task', 'newText': 'two tasks'}");
	call(host, "append_file", "{'path': 'notes/deep/Note 2.md', 'content': '%%%% mine %%%%\\n'}");
	call(host, "text_patch",
	     "{'path': 'notes/deep/Note 2.md', 'operation': 'insert', 'content': 'more', 'target': "
	     "{'appendToSection': '## Log'}}");
	const char *now = dir_read(host->dir, "notes/deep/Note 2.md");
	assert_non_null(strstr(now, "- [ ] two tasks %% hidden 2 %%\n"));
	assert_non_null(strstr(now, "\n%%\nprivate words of 2\nsecond line\n%%\n"));
	assert_non_null(strstr(now, "%% mine %%\n"));
	/* In code, the marks are text. */
	call(host, "read_text_file", "{'path': 'notes/deep/Note 0.md'}");
	call(host, "edit_file",
	     "{'path': 'notes/deep/Note 0.md', 'oldText': 'code, no comment', 'newText': 'code'}");
}

static void a_vault_that_syncthing_shares_is_told_of(void **state) {
	struct host *host = *state;
	assert_int_equal(mkdirat(host->dir->fd, ".stfolder", 0755), 0);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_VAULT, 1, NULL), 0);
	char *notice = stet_workspace_notice(host->ws);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "Add the line .stet to .stignore"));
	stet_free(notice);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_VAULT, 0, NULL), 0);
	dir_write(host->dir, ".stignore", "// local\n/.stet\n");
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_VAULT, 1, NULL), 0);
	assert_null(stet_workspace_notice(host->ws));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(every_tool_refuses_what_is_no_note),
		host_claim(the_user_may_open_other_types),
		host_claim(no_tool_touches_the_folder_of_obsidian),
		host_claim(outside_of_vaults_the_folder_is_one_as_any),
		host_claim(one_key_changes_and_every_other_byte_stays),
		host_claim(a_property_is_written_as_people_write_it),
		host_claim(a_property_that_is_not_clear_is_refused),
		host_claim(nothing_is_written_into_a_comment),
		host_claim(around_a_comment_everything_may_change),
		host_claim(a_vault_that_syncthing_shares_is_told_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
