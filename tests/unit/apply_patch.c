/* The tool apply_patch: what it refuses, what it says, and how much. */
#include "base/clock.h"
#include "lib/tools.h"

/* A patch in Codex's format as a JSON string. */
#define CODEX(body) "{'patch': '*** Begin Patch\\n" body "*** End Patch\\n'}"

static void lay_files(struct host *host) {
	dir_write(host->dir, "a", "one\n");
	dir_write(host->dir, "sub/f", "one\n");
	dir_write(host->dir, "empty", "");
}

static void expect_untouched(const struct host *host) {
	expect_file(host, "a", "one\n");
	expect_file(host, "sub/f", "one\n");
	expect_file(host, "empty", "");
}

#define EDIT(path, new) "*** Update File: " path "\\n@@\\n-one\\n+" new "\\n"

static void one_file_under_two_names_is_refused(void **state) {
	struct host *host = *state;
	lay_files(host);
	assert_int_equal(linkat(host->dir->fd, "a", host->dir->fd, "hard", 0), 0);
	assert_int_equal(symlinkat("a", host->dir->fd, "soft"), 0);
	assert_int_equal(symlinkat("sub", host->dir->fd, "dir"), 0);
	refuse(host, STET_E_INVALID, "apply_patch", CODEX(EDIT("a", "1") EDIT("soft", "2")));
	expect_part("message", "\"a\" is changed twice");
	refuse(host, STET_E_INVALID, "apply_patch", CODEX(EDIT("sub/f", "1") EDIT("dir/f", "2")));
	expect_part("message", "changed twice");
	refuse(host, STET_E_INVALID, "apply_patch", CODEX(EDIT("./a", "1") EDIT("sub/../a", "2")));
	expect_part("message", "changed twice");
	refuse(host, STET_E_INVALID, "apply_patch",
	       CODEX("*** Add File: sub/n\\n+1\\n*** Add File: dir/n\\n+2\\n"));
	expect_part("message", "changed twice");
	refuse(host, STET_E_INVALID, "apply_patch", CODEX(EDIT("a", "1") EDIT("hard", "2")));
	expect_part("message", "one file with two names");
	expect_untouched(host);
	/* By one name it is fine, and both show it. */
	call(host, "apply_patch", CODEX(EDIT("hard", "1")));
	expect_file(host, "a", "1\n");
}

static void a_directory_is_no_file(void **state) {
	struct host *host = *state;
	lay_files(host);
	refuse(host, STET_E_KIND, "apply_patch", CODEX("*** Add File: sub\\n+1\\n"));
	refuse(host, STET_E_KIND, "apply_patch", CODEX("*** Delete File: sub\\n"));
	refuse(host, STET_E_KIND, "apply_patch", CODEX(EDIT("sub", "1")));
	refuse(host, STET_E_EXISTS, "apply_patch",
	       CODEX("*** Update File: a\\n*** Move to: sub\\n@@\\n-one\\n+1\\n"));
	refuse(host, STET_E_KIND, "apply_patch", CODEX("*** Add File: a/b\\n+1\\n"));
	expect_part("message", "is not a directory");
	expect_untouched(host);
}

static void no_file_is_put_over_another(void **state) {
	struct host *host = *state;
	lay_files(host);
	refuse(host, STET_E_EXISTS, "apply_patch",
	       CODEX("*** Update File: a\\n*** Move to: empty\\n@@\\n-one\\n+1\\n"));
	refuse(host, STET_E_EXISTS, "apply_patch",
	       "{'patch': '--- /dev/null\\n+++ b/empty\\n@@ -0,0 +1 @@\\n+x\\n'}");
	expect_untouched(host);
}

static void names_that_no_patch_may_change_are_named_at_once(void **state) {
	struct host *host = *state;
	lay_files(host);
	assert_int_equal(symlinkat("/etc", host->dir->fd, "out"), 0);
	try_call(host, "apply_patch",
	         CODEX(EDIT("../x", "1") "*** Add File: out/x\\n+1\\n*** Add File: .git/hooks/x\\n+1\\n"
	                                 "*** Add File: .stet/x\\n+1\\n" EDIT("a", "1")));
	expect_part("message", "4 of 5 files");
	expect_count("files", 4);
	expect_part("files.0.message", "outside the workspace");
	expect_part("files.1.message", "outside the workspace");
	expect_part("files.2.message", "not allowed");
	expect_part("files.3.message", "not allowed");
	expect_untouched(host);
	assert_false(dir_has(host->dir, ".git"));
	/* A dry run knows it, too. */
	refuse(host, STET_E_PROTECTED, "apply_patch",
	       "{'patch': '*** Begin Patch\\n*** Add File: .git/x\\n+1\\n*** End Patch\\n', 'dryRun': "
	       "true}");
}

/* Those that are known before the files are read, and those that the files show. */
static void all_problems_are_named_at_once_and_each_once(void **state) {
	struct host *host = *state;
	static const char again[] = "already exists";
	lay_files(host);
	refuse(host, STET_E_EXISTS, "apply_patch",
	       CODEX("*** Update File: a\\n*** Move to: empty\\n@@\\n-one\\n+1\\n"));
	const char *first = strstr(said(0), again);
	assert_non_null(first);
	assert_null(strstr(first + 1, again));
	try_call(host, "apply_patch",
	         CODEX("*** Delete File: sub\\n*** Update File: a\\n@@\\n-none\\n+1\\n"));
	expect_part("message", "2 of 2 files");
	expect_count("files", 2);
	expect_part("files.0.message", "is a directory");
	expect_part("files.1.message", "were not found");
	expect_untouched(host);
}

static void endings_marks_and_final_newlines_stay(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "crlf", "one\r\ntwo\r\n");
	dir_write(host->dir, "mark", "\xEF\xBB\xBFone\ntwo");
	call(host, "apply_patch",
	     CODEX("*** Update File: crlf\\n@@\\n-one\\n+1\\n+1.5\\n two\\n"
	           "*** Update File: mark\\n@@\\n-one\\n+1\\n@@\\n-two\\n+2\\n"));
	expect_file(host, "crlf", "1\r\n1.5\r\ntwo\r\n");
	expect_file(host, "mark",
	            "\xEF\xBB\xBF"
	            "1\n2");
}

/* ---- many ---- */

enum { FILES = 1000 };

static void an_answer_about_many_files_is_bounded(void **state) {
	struct host *host = *state;
	st_auto(st_buf) args = ST_BUF_INIT;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_DURABLE, 0, NULL), 0);
	st_buf_adds(&args, "{\"patch\": \"*** Begin Patch\\n");
	for (int i = 0; i < FILES; i++) {
		char name[40];
		snprintf(name, sizeof name, "directory/file-%04d.txt", i);
		dir_write(host->dir, name, "one\ntwo\nthree\n");
		st_buf_addf(&args, "*** Update File: %s\\n@@\\n one\\n-two\\n+2\\n", name);
	}
	st_buf_adds(&args, "*** End Patch\\n\"}");
	assert_int_equal(try_call_raw(host, "apply_patch", st_buf_str(&args)), 0);
	assert_true(strlen(said(0)) < 22000);
	expect_text("Updated \"directory/file-0000.txt\"");
	expect_text("more files were changed, which the answer has no room to name");
	expect_text("The diffs of 1000 files do not fit");
	expect_count("files", FILES);
	/* The same if no place fits. */
	assert_true(try_call_raw(host, "apply_patch", st_buf_str(&args)) < 0);
	assert_true(strlen(said(0)) < 22000);
	expect_part("message", "1000 of 1000 files");
}

/* Changes of others that were not shown must be shown before the patch may go on. */
static void changes_of_others_count_as_seen_only_if_they_were_shown(void **state) {
	enum { CHANGED = 12, LINES = 200 };
	struct host *host = *state;
	st_auto(st_buf) args = ST_BUF_INIT;
	char name[16];
	st_buf_adds(&args, "{\"patch\": \"*** Begin Patch\\n");
	for (int i = 0; i < CHANGED; i++) {
		st_auto(st_buf) old = ST_BUF_INIT, new = ST_BUF_INIT;
		for (int n = 0; n < LINES; n++) {
			st_buf_addf(&old, "%d\n", n);
			st_buf_addf(&new, n < LINES - 20 ? "theirs %d of file %d\n" : "%d\n", n, i);
		}
		snprintf(name, sizeof name, "f%02d", i);
		dir_write(host->dir, name, st_buf_cstr(&old));
		assert_int_equal(host_read(host, name), 0);
		dir_write(host->dir, name, st_buf_cstr(&new));
		st_buf_addf(&args, "*** Update File: %s\\n@@\\n-199\\n+mine\\n", name);
	}
	st_buf_adds(&args, "*** End Patch\\n\"}");
	assert_int_equal(try_call_raw(host, "apply_patch", st_buf_str(&args)), STET_E_CONFLICT);
	assert_true(strlen(said(0)) < 22000);
	/* Which of them were shown whole? Exactly these may be edited now. */
	bool shown[CHANGED];
	for (int i = 0; i < CHANGED; i++) {
		char last[40];
		snprintf(last, sizeof last, "theirs %d of file %d\n", LINES - 21, i);
		shown[i] = strstr(said(0), last) != NULL;
	}
	assert_true(shown[0] && !shown[CHANGED - 1]);
	for (int i = 0; i < CHANGED; i++) {
		snprintf(name, sizeof name, "f%02d", i);
		int code = host_write(host, name, "whole\n");
		/* A write that drops most of a file is refused once more, for that. */
		if (shown[i] && code == STET_E_CONFLICT)
			code = host_write(host, name, "whole\n");
		if (!shown[i])
			code = code == STET_E_CONFLICT ? 0 : -1;
		if (code != 0)
			fail_msg("%s, %s: %s", name, shown[i] ? "shown" : "not shown", host->err.message);
	}
}

/* Hunks that fit at another line than they say, each by its own distance. */
static void notes_about_many_hunks_are_bounded(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT, args = ST_BUF_INIT;
	st_buf_adds(&args, "{\"patch\": \"--- a/f\\n+++ b/f\\n");
	for (int i = 1; i <= 5000; i++) {
		st_buf_addf(&text, "line %d\n", i);
		if (i % 2)
			st_buf_addf(&args, "@@ -%d +%d @@\\n-line %d\\n+LINE %d\\n", i + 7, i + 7, i, i);
	}
	st_buf_adds(&args, "\"}");
	dir_write(host->dir, "f", st_buf_cstr(&text));
	assert_int_equal(try_call_raw(host, "apply_patch", st_buf_str(&args)), 0);
	assert_true(strlen(said(0)) < 22000);
	expect_text("applies at line 1, not 8");
	expect_text("2490 more hunks do not apply exactly as the patch says");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(one_file_under_two_names_is_refused),
		host_claim(a_directory_is_no_file),
		host_claim(no_file_is_put_over_another),
		host_claim(names_that_no_patch_may_change_are_named_at_once),
		host_claim(all_problems_are_named_at_once_and_each_once),
		host_claim(endings_marks_and_final_newlines_stay),
		host_claim(an_answer_about_many_files_is_bounded),
		host_claim(changes_of_others_count_as_seen_only_if_they_were_shown),
		host_claim(notes_about_many_hunks_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
