/* text_replace as it is called. */
#include "lib/tools.h"

#define TOOL "text_replace"

/* Eleven lines, "x" on lines 2, 5 and 9. */
static const char lines[] = "1\nx\n3\n4\nx\n6\n7\n8\nx\n10\n11\n";

static void replace(struct host *host, const char *old_text, const char *new_text) {
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': %s, 'newText': %s}",
	     quoted(st_str(old_text)), quoted(st_str(new_text)));
}

static void Run_SingleOccurrence_ReplacesText(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "Hello World\nsecond\n");
	replace(host, "World", "Universe");
	expect_file(host, "a.txt", "Hello Universe\nsecond\n");
	expect_str("filePath", "a.txt");
	expect_int("occurrencesFound", 1);
	expect_int("occurrencesReplaced", 1);
	expect_span("affectedLines", 1, 1);
	expect_str("preview.before", "World");
	expect_str("preview.after", "Universe");
	expect_str("commit", "exchanged");
	expect_none("note");
	expect_none("noop");
}

static void Run_MultipleOccurrences_ReplacesFirst_ByDefault(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", lines);
	replace(host, "x", "y");
	expect_file(host, "a.txt", "1\ny\n3\n4\nx\n6\n7\n8\nx\n10\n11\n");
	expect_int("occurrencesFound", 3);
	expect_int("occurrencesReplaced", 1);
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'oldText': 'x', 'newText': 'z', 'occurrence': 'First'}");
	expect_file(host, "a.txt", "1\ny\n3\n4\nz\n6\n7\n8\nx\n10\n11\n");
}

static void Run_MultipleOccurrences_ReplacesLast(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", lines);
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': 'x', 'newText': 'y', 'occurrence': 'last'}");
	expect_file(host, "a.txt", "1\nx\n3\n4\nx\n6\n7\n8\ny\n10\n11\n");
	expect_span("affectedLines", 9, 9);
}

static void Run_MultipleOccurrences_ReplacesAll(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", lines);
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': 'x', 'newText': 'y', 'occurrence': 'ALL'}");
	expect_file(host, "a.txt", "1\ny\n3\n4\ny\n6\n7\n8\ny\n10\n11\n");
	expect_int("occurrencesReplaced", 3);
	expect_span("affectedLines", 2, 9);
	expect_none("note");
}

static void Run_MultipleOccurrences_ReplacesNth(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", lines);
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': 'x', 'newText': 'y', 'occurrence': '2'}");
	expect_file(host, "a.txt", "1\nx\n3\n4\ny\n6\n7\n8\nx\n10\n11\n");
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': 'x', 'newText': 'z', 'occurrence': 2}");
	expect_file(host, "a.txt", "1\nx\n3\n4\ny\n6\n7\n8\nz\n10\n11\n");
}

static void Run_NthOccurrence_ExceedsTotal_Throws(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", lines);
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.txt', 'oldText': 'x', 'newText': 'y', 'occurrence': '4'}");
	expect_text("occurs 3 times, at lines 2, 5 and 9");
	expect_text("from 1 to 3");
	expect_file(host, "a.txt", lines);
}

static void Run_TextNotFound_ThrowsWithMessage(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "Hello World\n");
	refuse(host, STET_E_NO_MATCH, TOOL,
	       "{'filePath': 'a.txt', 'oldText': 'Unrelated', 'newText': 'y'}");
	expect_text("Nothing was changed");
	expect_str("error", "no_match");
	expect_file(host, "a.txt", "Hello World\n");
}

static void Run_TextNotFound_CaseInsensitiveMatch_ThrowsWithSuggestion(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "first\nHello World\n");
	refuse(host, STET_E_NO_MATCH, TOOL,
	       "{'filePath': 'a.txt', 'oldText': 'hello world', 'newText': 'y'}");
	expect_text("line 2");
	expect_text("Hello World");
	expect_text("case");
}

static void Run_MultilineOldText_ReplacesAcrossLines(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\ntwo\nthree\nfour\n");
	replace(host, "two\nthree", "2\n2.5\n3");
	expect_file(host, "a.txt", "one\n2\n2.5\n3\nfour\n");
	expect_span("affectedLines", 2, 4);
	dir_write(host->dir, "b.txt", "one\r\ntwo\r\nthree\r\n");
	call(host, TOOL, "{'filePath': 'b.txt', 'oldText': 'one\\ntwo', 'newText': '1\\n2'}");
	expect_file(host, "b.txt", "1\r\n2\r\nthree\r\n");
}

static void Run_ReturnsContextLines(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\n3\n4\n5\nsix\n7\n8\n9\n10\n");
	replace(host, "six", "a\nb");
	expect_count("context.beforeLines", 3);
	expect_int("context.beforeLines.0.number", 3);
	expect_str("context.beforeLines.0.text", "3");
	expect_int("context.beforeLines.2.number", 5);
	expect_count("context.afterLines", 3);
	expect_int("context.afterLines.0.number", 8);
	expect_str("context.afterLines.0.text", "7");
	expect_str("context.afterLines.2.text", "9");
	expect_text("     8  7\n");
}

static void Run_ReturnsFileHash(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	replace(host, "one", "two");
	const char *hash = hash_of_answer();
	expect_text(hash);
	call(host, "text_inspect", "{'filePath': 'a.txt'}");
	expect_str("fileHash", hash);
}

static void Run_ExpectedHashMatches_Succeeds(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	call(host, "text_inspect", "{'filePath': 'a.txt'}");
	for (int i = 0; i < 3; i++)
		call(host, TOOL,
		     "{'filePath': 'a.txt', 'oldText': 'one', 'newText': 'one one', 'expectedHash': '%s'}",
		     hash_of_answer());
	expect_file(host, "a.txt", "one one one one\n");
}

static void Run_ExpectedHashMismatches_Throws(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	call(host, "text_inspect", "{'filePath': 'a.txt'}");
	const char *hash = hash_of_answer();
	dir_write(host->dir, "a.txt", "one\nmore\n");
	refuse(host, STET_E_CONFLICT, TOOL,
	       "{'filePath': 'a.txt', 'oldText': 'one', 'newText': 'two', 'expectedHash': '%s'}", hash);
	expect_str("reason", "hash");
	expect_part("diff", "+more\n");
	expect_file(host, "a.txt", "one\nmore\n");
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'oldText': 'one', 'newText': 'two', 'expectedHash': '%s'}",
	     copy_of("currentHash"));
	expect_file(host, "a.txt", "two\nmore\n");
}

static void Run_FirstOccurrence_NoteIncludesOtherLocations(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", lines);
	replace(host, "x", "y\ny");
	expect_str("note", "Other occurrences are at lines 6 and 10.");
	expect_text("Other occurrences are at lines 6 and 10.");
}

static void a_note_names_ten_lines_and_counts_the_rest(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 30; i++)
		st_buf_adds(&text, "x\n");
	dir_write(host->dir, "a.txt", text.ptr);
	replace(host, "x", "y");
	expect_str("note",
	           "Other occurrences are at lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 19 more places.");
}

static void Run_PathOutsideVault_Throws(void **state) {
	struct host *host = *state;
	refuse(host, STET_E_OUTSIDE, TOOL,
	       "{'filePath': '/etc/passwd', 'oldText': 'root', 'newText': 'x'}");
	refuse(host, STET_E_OUTSIDE, TOOL,
	       "{'filePath': '../a.txt', 'oldText': 'root', 'newText': 'x'}");
}

static void Run_DisallowedExtension_Throws(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_allow(host->ws, ".md, .txt", NULL), 0);
	dir_write(host->dir, "a.exe", "text\n");
	dir_write(host->dir, "a.TXT", "text\n");
	refuse(host, STET_E_EXTENSION, TOOL,
	       "{'filePath': 'a.exe', 'oldText': 'text', 'newText': 'x'}");
	expect_text(".md, .txt");
	expect_file(host, "a.exe", "text\n");
	call(host, TOOL, "{'filePath': 'a.TXT', 'oldText': 'text', 'newText': 'x'}");
}

static void equal_texts_are_a_noop_that_does_not_touch_the_file(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	struct stat before, after;
	assert_int_equal(stat(dir_at(host->dir, "a.txt"), &before), 0);
	replace(host, "one", "one");
	expect_true("noop");
	expect_int("occurrencesFound", 1);
	expect_int("occurrencesReplaced", 0);
	expect_str("commit", "none");
	assert_int_equal(stat(dir_at(host->dir, "a.txt"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
}

static void an_edit_made_before_that_still_stands_is_told_as_such(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one two\n");
	replace(host, "one", "1");
	replace(host, "one", "1");
	expect_true("alreadyApplied");
	expect_true("noop");
	expect_none("affectedLines");
	expect_file(host, "a.txt", "1 two\n");
}

/* Somebody else wrote the new text: no proof that this edit was made. */
static void text_that_happens_to_be_there_is_no_edit_made_before(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1 two\n");
	refuse(host, STET_E_NO_MATCH, TOOL, "{'filePath': 'a.txt', 'oldText': 'one', 'newText': '1'}");
	dir_write(host->dir, "a.txt", "one two\n");
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': 'one', 'newText': 'uno'}");
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': 'uno', 'newText': 'eins'}");
	refuse(host, STET_E_NO_MATCH, TOOL,
	       "{'filePath': 'a.txt', 'oldText': 'one', 'newText': 'uno'}");
}

/* The workspace opened anew, as by the next process. */
static void restart(struct host *host) {
	stet_session_close(host->session);
	stet_workspace_close(host->ws);
	assert_int_equal(stet_workspace_open(host->dir->path, &host->ws, &host->err), 0);
	assert_int_equal(stet_session_open(host->ws, "agent", &host->session, &host->err), 0);
}

static void an_edit_made_before_a_restart_is_told_as_such_from_the_log(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one two one\n");
	dir_write(host->dir, "b.txt", "one\n");
	replace(host, "one", "1");
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': ' two', 'newText': ''}");
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': ' one', 'newText': ' more'}");
	restart(host);
	/* The path is the file's, however it is spelled. */
	call(host, TOOL, "{'filePath': './a.txt', 'oldText': 'one', 'newText': '1'}");
	expect_true("alreadyApplied");
	expect_true("noop");
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': ' two', 'newText': ''}");
	expect_true("alreadyApplied");
	expect_file(host, "a.txt", "1 more\n");
}

static void what_the_log_does_not_show_was_not_made_before(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one two\n");
	replace(host, "one", "1");
	restart(host);
	/* Another edit, although its new text is there. */
	refuse(host, STET_E_NO_MATCH, TOOL, "{'filePath': 'a.txt', 'oldText': 'uno', 'newText': '1'}");
	/* The edit was made, but is not in the file any more. */
	call(host, TOOL, "{'filePath': 'a.txt', 'oldText': '1', 'newText': 'eins'}");
	restart(host);
	refuse(host, STET_E_NO_MATCH, TOOL, "{'filePath': 'a.txt', 'oldText': 'one', 'newText': '1'}");
	/* Another file's log does not count. */
	dir_write(host->dir, "b.txt", "1 two\n");
	refuse(host, STET_E_NO_MATCH, TOOL, "{'filePath': 'b.txt', 'oldText': 'one', 'newText': '1'}");
	/* Without a state directory there is no log. */
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_STATE, 0, NULL), 0);
	refuse(host, STET_E_NO_MATCH, TOOL, "{'filePath': 'a.txt', 'oldText': '1', 'newText': 'eins'}");
}

static void the_preview_is_cut_at_200_characters(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 300; i++)
		st_buf_adds(&text, "\xC3\xA9");
	dir_write(host->dir, "a.txt", text.ptr);
	replace(host, text.ptr, "x");
	st_buf_truncate(&text, 400);
	st_buf_adds(&text, "...");
	expect_str("preview.before", text.ptr);
	expect_str("preview.after", "x");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(Run_SingleOccurrence_ReplacesText),
		host_claim(Run_MultipleOccurrences_ReplacesFirst_ByDefault),
		host_claim(Run_MultipleOccurrences_ReplacesLast),
		host_claim(Run_MultipleOccurrences_ReplacesAll),
		host_claim(Run_MultipleOccurrences_ReplacesNth),
		host_claim(Run_NthOccurrence_ExceedsTotal_Throws),
		host_claim(Run_TextNotFound_ThrowsWithMessage),
		host_claim(Run_TextNotFound_CaseInsensitiveMatch_ThrowsWithSuggestion),
		host_claim(Run_MultilineOldText_ReplacesAcrossLines),
		host_claim(Run_ReturnsContextLines),
		host_claim(Run_ReturnsFileHash),
		host_claim(Run_ExpectedHashMatches_Succeeds),
		host_claim(Run_ExpectedHashMismatches_Throws),
		host_claim(Run_FirstOccurrence_NoteIncludesOtherLocations),
		host_claim(a_note_names_ten_lines_and_counts_the_rest),
		host_claim(Run_PathOutsideVault_Throws),
		host_claim(Run_DisallowedExtension_Throws),
		host_claim(equal_texts_are_a_noop_that_does_not_touch_the_file),
		host_claim(an_edit_made_before_that_still_stands_is_told_as_such),
		host_claim(text_that_happens_to_be_there_is_no_edit_made_before),
		host_claim(an_edit_made_before_a_restart_is_told_as_such_from_the_log),
		host_claim(what_the_log_does_not_show_was_not_made_before),
		host_claim(the_preview_is_cut_at_200_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
