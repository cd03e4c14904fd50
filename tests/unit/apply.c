/* Patches over several files: both formats, and the place of each hunk. */
#include "base/clock.h"
#include "text/apply/hunks.h"

#include "lib/test.h"

static struct stet_error error;
static struct st_buf result, notes;

/* Parse a patch and apply its first file to a text. */
static int apply_bytes(const char *patch, struct st_str old) {
	st_auto(st_file_patches) patches = {0};
	error = (struct stet_error){0};
	st_buf_clear(&result);
	st_buf_clear(&notes);
	int code = st_file_patches_parse(&patches, st_str(patch), &error);
	return code < 0 ? code : st_hunks_apply(&patches, 0, old, 0, &result, &notes, NULL, &error);
}

static void becomes(const char *patch, const char *old, const char *new) {
	int code = apply_bytes(patch, st_str(old));
	if (code < 0)
		print_message("# %s\n", error.message);
	assert_int_equal(code, 0);
	assert_string_equal(st_buf_cstr(&result), new);
}

static void is_refused(const char *patch, const char *old, int code, const char *why) {
	assert_int_equal(apply_bytes(patch, st_str(old)), code);
	if (!strstr(error.message, why))
		print_message("# %s\n", error.message);
	assert_non_null(strstr(error.message, why));
	assert_int_equal(result.len, 0);
}

#define CODEX(body) "*** Begin Patch\n" body "*** End Patch\n"
#define UPDATE(body) CODEX("*** Update File: a.c\n" body)
#define DIFF(body) "--- a/a.c\n+++ b/a.c\n" body

static void codex_updates_at_the_only_place_that_matches(void **state) {
	(void)state;
	becomes(UPDATE("@@\n one\n-two\n+2\n three\n"), "zero\none\ntwo\nthree\n",
	        "zero\none\n2\nthree\n");
	becomes(UPDATE(" one\n-two\n+2\n"), "one\ntwo\n", "one\n2\n");
	becomes(UPDATE("@@\n-a\n+A\n@@\n-c\n+C\n"), "a\nb\nc\n", "A\nb\nC\n");
	assert_int_equal(notes.len, 0);
}

static void codex_adds_a_file_with_its_lines(void **state) {
	(void)state;
	becomes(CODEX("*** Add File: n.c\n+one\n+\n+two\n"), "", "one\n\ntwo\n");
	becomes(CODEX("*** Add File: n.c\n"), "", "");
}

static void a_line_after_the_marks_narrows_the_place(void **state) {
	(void)state;
	const char *old = "def f():\n  pass\ndef g():\n  pass\n";
	becomes(UPDATE("@@ def g():\n-  pass\n+  return\n"), old,
	        "def f():\n  pass\ndef g():\n  return\n");
	is_refused(UPDATE("@@ def h():\n-  pass\n+  return\n"), old, STET_E_NO_MATCH, "def h():");
	becomes(UPDATE("@@ class B\n@@ def f\n-x\n+y\n"), "class A\ndef f\nx\nclass B\ndef f\nx\n",
	        "class A\ndef f\nx\nclass B\ndef f\ny\n");
}

static void refuses_an_ambiguous_hunk_and_names_the_lines(void **state) {
	(void)state;
	is_refused(UPDATE("@@\n-x\n+y\n"), "x\nb\nx\n", STET_E_AMBIGUOUS,
	           "a.c, hunk 1 (line 3 of the patch) matches 2 places, at lines 1 and 3");
	becomes(UPDATE("@@\n-x\n+y\n*** End of File\n"), "x\nb\nx\n", "x\nb\ny\n");
}

static void refuses_a_hunk_that_is_nowhere_and_shows_the_nearest_text(void **state) {
	(void)state;
	is_refused(UPDATE("@@\n-int Alpha;\n+int beta;\n"), "a\nint alpha;\n", STET_E_NO_MATCH,
	           "The nearest text is at line 2, different in upper and lower case");
}

static void the_hunks_of_codex_come_in_order(void **state) {
	(void)state;
	becomes(UPDATE("@@\n-a\n+A\n@@\n-x\n+y\n"), "x\na\nx\n", "x\nA\ny\n");
}

static void wrappings_of_models_are_ignored(void **state) {
	(void)state;
	becomes("apply_patch <<'EOF'\n" UPDATE("@@\n-a\n+b\n") "EOF\n", "a\n", "b\n");
	becomes("```\n" UPDATE("@@\n-a\n+b\n") "```\n", "a\n", "b\n");
	becomes("```diff\n" DIFF("@@ -1 +1 @@\n-a\n+b\n") "```\n", "a\n", "b\n");
	becomes(UPDATE("@@\n-a\n+b\n\n"), "a\n", "b\n");
}

static void each_error_of_codex_names_its_line(void **state) {
	(void)state;
	is_refused("*** Update File: a\n@@\n-a\n+b\n*** End Patch\n", "", STET_E_INVALID,
	           "Line 1 of the patch: \"*** Begin Patch\" is missing");
	is_refused("*** Begin Patch\n*** Update File: a\n@@\n-a\n+b\n", "", STET_E_INVALID,
	           "\"*** End Patch\" is missing");
	is_refused(CODEX(""), "", STET_E_INVALID, "has no files");
	is_refused(CODEX("*** Rename File: a\n"), "", STET_E_INVALID, "Line 2 of the patch");
	is_refused(CODEX("*** Update File: a\n"), "", STET_E_INVALID, "has no hunks");
	is_refused(CODEX("*** Update File: \n@@\n-a\n"), "", STET_E_INVALID, "name is missing");
	is_refused(UPDATE("@@\n"), "", STET_E_INVALID, "the hunk has no lines");
	is_refused(UPDATE("@@\nword\n"), "", STET_E_INVALID,
	           "Line 4 of the patch: \"word\" has no sign");
	is_refused(CODEX("*** Add File: a\nword\n"), "", STET_E_INVALID, "Begin each with \"+\"");
	is_refused(CODEX("*** Delete File: a\nword\n"), "", STET_E_INVALID, "nothing may follow");
	is_refused(UPDATE("@@\n-a\n+b\n*** End of File\n+c\n"), "", STET_E_INVALID, "ends at");
	is_refused(UPDATE("@@\n-a\n+b\n*** Update File: a.c\n@@\n-c\n+d\n"), "", STET_E_INVALID,
	           "twice");
	is_refused("hello\n", "", STET_E_INVALID, "This is no patch");
}

static void each_part_of_codex_is_read(void **state) {
	(void)state;
	static const char patch[] =
		"*** Begin Patch \n*** Add File:  new name \n+a\n*** Delete File: gone\n\n"
		"*** Update File: old\n*** Move to: sub/new\n@@ class A\n@@ def f\n one\n\n-two\n+2\n"
		"*** End of File\n@@\n-x\n*** Update File: moved only\n*** Move to: here\n*** End Patch\n";
	st_auto(st_file_patches) patches = {0};
	assert_int_equal(st_file_patches_parse(&patches, st_str(patch), &error), 0);
	assert_int_equal(patches.count, 4);
	assert_int_equal(patches.list[0].kind, ST_FILE_ADD);
	assert_string_equal(patches.list[0].path, "new name");
	assert_int_equal(patches.list[1].kind, ST_FILE_DELETE);
	assert_int_equal(patches.list[1].hunk_count, 0);
	assert_string_equal(patches.list[2].to, "sub/new");
	assert_int_equal(patches.list[2].hunk_count, 2);
	assert_int_equal(patches.hunks[1].header_count, 2);
	assert_int_equal(patches.hunks[1].line_count, 4);
	assert_true(patches.hunks[1].at_end && !patches.hunks[2].at_end);
	assert_string_equal(patches.list[3].to, "here");
	assert_int_equal(patches.list[3].hunk_count, 0);
}

static void each_kind_of_line_of_codex_means_what_it_says(void **state) {
	(void)state;
	/* A line without its blank is an empty line of context. */
	becomes(UPDATE("@@\n a\n\n-b\n+c\n"), "a\n\nb\n", "a\n\nc\n");
	becomes(UPDATE("@@\n a\n \n-b\n+c\n"), "a\n\nb\n", "a\n\nc\n");
	/* A deletion, an insertion, both ends of a file. */
	becomes(UPDATE("@@\n-a\n"), "a\nb\n", "b\n");
	becomes(UPDATE("@@\n+0\n a\n"), "a\nb\n", "0\na\nb\n");
	becomes(UPDATE("@@\n b\n+c\n*** End of File\n"), "b\na\nb\n", "b\na\nb\nc\n");
	becomes(UPDATE("@@\n+c\n"), "a\n", "a\nc\n");
	assert_non_null(strstr(st_buf_cstr(&notes), "go to the end of the file"));
	becomes(UPDATE("@@\n+c\n"), "", "c\n");
	/* Signs within lines, and lines that look like markers. */
	becomes(UPDATE("@@\n--- a\n++++ b\n"), "-- a\n", "+++ b\n");
	becomes(UPDATE("@@\n-*** End Patch\n+@@ x\n"), "*** End Patch\n", "@@ x\n");
	becomes(UPDATE("@@ ... @@\n-a\n+b\n"), "a\n", "b\n");
	/* Numbers, as models write them. */
	becomes(UPDATE("@@ -3,1 +3,1 @@\n-x\n+y\n"), "x\n\nx\n", "x\n\ny\n");
	/* The patch may have other line endings than the file. */
	becomes("*** Begin Patch\r\n*** Update File: a.c\r\n@@\r\n-a\r\n+b\r\n*** End Patch\r\n", "a\n",
	        "b\n");
}

static void more_errors_of_codex(void **state) {
	(void)state;
	st_auto(st_buf) many = ST_BUF_INIT;
	is_refused(CODEX("*** Delete File: a\n") "*** Update File: b\n", "", STET_E_INVALID,
	           "follows \"*** End Patch\"");
	is_refused(UPDATE("*** Move to: \n@@\n-a\n"), "a\n", STET_E_INVALID, "name is missing");
	is_refused(UPDATE("@@ a\n+b\n"), "a\n", STET_E_NO_MATCH, "only added lines");
	is_refused(UPDATE("@@\n-a\n+b\n"), "", STET_E_NO_MATCH, "The file is empty");
	is_refused(UPDATE("@@\n-a\n+b\n@@\n-a\n+c\n"), "a\n", STET_E_NO_MATCH, "hunk 2");
	is_refused(CODEX("*** Update File: a\n*** Move to: c\n*** Update File: b\n*** Move to: c\n"),
	           "", STET_E_INVALID, "twice");
	st_buf_adds(&many, "*** Begin Patch\n");
	for (int i = 0; i <= ST_FILE_PATCHES_MAX; i++)
		st_buf_addf(&many, "*** Delete File: %d\n", i);
	st_buf_adds(&many, "*** End Patch\n");
	is_refused(st_buf_cstr(&many), "", STET_E_TOO_BIG, "more than 1000 files");
	/* A name cannot hold a NUL. */
	st_auto(st_file_patches) patches = {0};
	static const char nul[] = "*** Begin Patch\n*** Delete File: a\0b\n*** End Patch\n";
	assert_int_equal(st_file_patches_parse(&patches, st_strn(nul, sizeof nul - 1), &error),
	                 STET_E_INVALID);
	assert_non_null(strstr(error.message, "NUL"));
}

static void a_hunk_goes_where_its_numbers_say(void **state) {
	(void)state;
	becomes(DIFF("@@ -3,2 +3,2 @@\n-x\n+y\n b\n"), "x\nb\nx\nb\nx\nb\n", "x\nb\ny\nb\nx\nb\n");
	assert_int_equal(notes.len, 0);
}

static void a_hunk_that_is_elsewhere_only_is_applied_and_said(void **state) {
	(void)state;
	becomes(DIFF("@@ -2,3 +2,3 @@\n a\n-x\n+y\n b\n"), "0\n1\n2\na\nx\nb\n", "0\n1\n2\na\ny\nb\n");
	assert_non_null(strstr(st_buf_cstr(&notes), "applies at line 4, not 2"));
}

static void line_endings_and_marks_stay(void **state) {
	(void)state;
	becomes(UPDATE("@@\n a\n-b\n+c\n+d\n"), "a\r\nb\r\n", "a\r\nc\r\nd\r\n");
	becomes(UPDATE("@@\n a\n-b\n+c\n"), "a\nb", "a\nc");
	becomes(UPDATE("@@\n a\n b\n+c\n"), "a\nb", "a\nb\nc");
	becomes(UPDATE("@@\n-a\n+c\n b\n"),
	        "\xEF\xBB\xBF"
	        "a\nb\n",
	        "\xEF\xBB\xBF"
	        "c\nb\n");
	becomes(UPDATE("@@\n a\n+c\n"),
	        "\xEF\xBB\xBF"
	        "a\n",
	        "\xEF\xBB\xBF"
	        "a\nc\n");
	becomes(DIFF("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"), "a", "a\n");
	becomes(DIFF("@@ -1 +1 @@\n-a\r\n+a\n"), "a\r\n", "a\n");
	becomes(DIFF("@@ -1,2 +1,2 @@\n a\n-b\n+c\n"), "a\r\nb\r\n", "a\r\nc\r\n");
	assert_non_null(strstr(st_buf_cstr(&notes), "other line endings"));
	becomes(DIFF("@@ -0,0 +1 @@\n+a\r\n"), "", "a\r\n");
}

static void git_headers_say_what_happens_to_a_file(void **state) {
	(void)state;
	static const char patch[] =
		"diff --git a/old name b/new name\nsimilarity index 90%\nrename from old name\nrename to "
		"new "
		"name\ndiff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
		"diff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100644\nindex 0..1\n"
		"diff --git a/gone b/gone\ndeleted file mode 100644\nindex 1..0\n--- a/gone\n+++ "
		"/dev/null\n"
		"@@ -1 +0,0 @@\n-x\n-- \n2.39.5\n";
	st_auto(st_file_patches) patches = {0};
	assert_int_equal(st_file_patches_parse(&patches, st_str(patch), &error), 0);
	assert_int_equal(patches.count, 4);
	assert_string_equal(patches.list[0].path, "old name");
	assert_string_equal(patches.list[0].to, "new name");
	assert_int_equal(patches.list[1].mode, 0100755);
	assert_int_equal(patches.list[2].kind, ST_FILE_ADD);
	assert_string_equal(patches.list[2].path, "\xC3\xA4");
	assert_int_equal(patches.list[3].kind, ST_FILE_DELETE);
	assert_string_equal(patches.list[3].path, "gone");
}

static void errors_of_diffs_say_what_to_do(void **state) {
	(void)state;
	is_refused("diff --git a/x b/x\nindex 1..2\nGIT binary patch\n", "", STET_E_BINARY, "binary");
	is_refused("diff --git a/x b/y\ncopy from x\ncopy to y\n", "", STET_E_INVALID, "without -C");
	is_refused("diff --git a/x b/x\nnew file mode 120000\n", "", STET_E_INVALID, "link");
	is_refused("@@ -1 +1 @@\n-a\n+b\n", "", STET_E_INVALID, "before the name");
	is_refused(DIFF("@@ -1,2 +1 @@\n-a\n+b\n"), "a\n", STET_E_INVALID, "other numbers of lines");
	is_refused(DIFF("@@ -1 +1 @@\n-a\n+b\n+c\n"), "a\n", STET_E_INVALID, "other numbers of lines");
	is_refused(DIFF("@@ -5,0 +6 @@\n+b\n"), "a\n", STET_E_NO_MATCH, "Add a line of context");
	is_refused("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "a\nb\n", STET_E_NO_MATCH,
	           "does not remove");
}

enum { MANY = 200'000, SOON_MS = 20'000 };

/* Each hunk changes one line, where its numbers say. */
static void many_hunks_take_no_time(void **state) {
	(void)state;
	st_auto(st_buf) patch = ST_BUF_INIT, text = ST_BUF_INIT;
	st_buf_adds(&patch, "--- a/a.c\n+++ b/a.c\n");
	for (int i = 1; i <= MANY; i++) {
		st_buf_addf(&text, "%d\nsame\n", i);
		st_buf_addf(&patch, "@@ -%d,2 +%d,2 @@\n-%d\n+x\n same\n", 2 * i - 1, 2 * i - 1, i);
	}
	int64_t before = st_now_ms();
	assert_int_equal(apply_bytes(st_buf_cstr(&patch), st_buf_str(&text)), 0);
	assert_true(st_now_ms() - before < SOON_MS);
	assert_int_equal(result.len, 7 * MANY);
}

/* Every line may be the one that "@@ text" names, and the next one is far away. */
static void many_lines_like_the_header_take_no_time(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < MANY; i++)
		st_buf_adds(&text, "}\n");
	st_buf_adds(&text, "far\nx\n");
	int64_t before = st_now_ms();
	assert_int_equal(apply_bytes(UPDATE("@@ }\n@@ far\n-x\n+y\n"), st_buf_str(&text)), 0);
	assert_int_equal(apply_bytes(UPDATE("@@ }\n@@ nowhere\n-x\n+y\n"), st_buf_str(&text)),
	                 STET_E_NO_MATCH);
	assert_true(st_now_ms() - before < SOON_MS);
}

static int release_buffers(void **state) {
	(void)state;
	st_buf_release(&result);
	st_buf_release(&notes);
	return 0;
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codex_updates_at_the_only_place_that_matches),
		cmocka_unit_test(codex_adds_a_file_with_its_lines),
		cmocka_unit_test(a_line_after_the_marks_narrows_the_place),
		cmocka_unit_test(refuses_an_ambiguous_hunk_and_names_the_lines),
		cmocka_unit_test(refuses_a_hunk_that_is_nowhere_and_shows_the_nearest_text),
		cmocka_unit_test(the_hunks_of_codex_come_in_order),
		cmocka_unit_test(wrappings_of_models_are_ignored),
		cmocka_unit_test(each_error_of_codex_names_its_line),
		cmocka_unit_test(each_part_of_codex_is_read),
		cmocka_unit_test(each_kind_of_line_of_codex_means_what_it_says),
		cmocka_unit_test(more_errors_of_codex),
		cmocka_unit_test(a_hunk_goes_where_its_numbers_say),
		cmocka_unit_test(a_hunk_that_is_elsewhere_only_is_applied_and_said),
		cmocka_unit_test(line_endings_and_marks_stay),
		cmocka_unit_test(git_headers_say_what_happens_to_a_file),
		cmocka_unit_test(errors_of_diffs_say_what_to_do),
		cmocka_unit_test(many_hunks_take_no_time),
		cmocka_unit_test(many_lines_like_the_header_take_no_time),
	};
	return cmocka_run_group_tests(tests, NULL, release_buffers);
}
