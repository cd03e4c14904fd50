/* read_file, edit_file and write_file as they are called, and staleness. */
#include <fcntl.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "lib/run.h"
#include "lib/tools.h"

static void edit(struct host *host, const char *old_text, const char *new_text) {
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': %s, 'newText': %s}",
	     quoted(st_str(old_text)), quoted(st_str(new_text)));
}

static void read_all(struct host *host) {
	call(host, "read_file", "{'path': 'a.txt'}");
}

/* ---- the tests of the file state specification ---- */

static void returns_error_when_file_was_modified_since_last_read(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "test.txt", "original content");
	assert_int_equal(stet_session_track_read(host->session, "test.txt", NULL), 0);
	sleep_ms(10);
	dir_write(host->dir, "test.txt", "externally modified");
	refuse(host, STET_E_CONFLICT, "edit_file",
	       "{'path': 'test.txt', 'oldText': 'original', 'newText': 'new'}");
	expect_text(
		"Error: File \"test.txt\" was modified since you last read it. Please read the file "
		"again, or go by the change below, which counts as read.");
	expect_file(host, "test.txt", "externally modified");
}

static void tracks_file_after_reading(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "test.txt", "content");
	call(host, "read_file", "{'path': 'test.txt'}");
	assert_int_equal(stet_session_modified(host->session, "test.txt", NULL), 0);
	dir_write(host->dir, "test.txt", "other");
	assert_int_equal(stet_session_modified(host->session, "test.txt", NULL), 1);
}

static void an_edit_tracks_what_it_wrote(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one two");
	edit(host, "one", "1");
	assert_string_equal(
		said(0),
		"Updated file \"a.txt\"\n"
		"fileHash: 49740b6ce1adfb5d\n\n"
		"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one two\n\\ No newline at end of file\n"
		"+1 two\n\\ No newline at end of file\n");
	assert_int_equal(stet_session_modified(host->session, "a.txt", NULL), 0);
	dir_write(host->dir, "a.txt", "1 two three");
	assert_int_equal(stet_session_modified(host->session, "a.txt", NULL), 1);
}

/* ---- a stale edit ---- */

static const char *const anchored[][2] = {
	{"edit_file", "{'path': 'a.txt', 'oldText': 'three', 'newText': '3'%s}"},
	{"edit_file", "{'path': 'a.txt', 'edits': [{'oldText': 'three', 'newText': '3'}]%s}"},
	{"text_replace", "{'path': 'a.txt', 'oldText': 'three', 'newText': '3'%s}"},
};

/* A call with something added to its arguments. */
static int try_anchored(struct host *host, size_t i, const char *more) {
	const char *args = anchored[i][1], *end = strstr(args, "%s");
	return try_call(host, anchored[i][0], "%.*s%s%s", (int)(end - args), args, more, end + 2);
}

static void make_stale(struct host *host) {
	stet_session_invalidate(host->session, "a.txt");
	dir_write(host->dir, "a.txt", "one\ntwo\nthree\n");
	read_all(host);
	dir_write(host->dir, "a.txt", "zero\none\ntwo\nthree\n");
}

static void a_stale_edit_is_refused_with_diff_hash_and_matches(void **state) {
	struct host *host = *state;
	for (size_t i = 0; i < sizeof anchored / sizeof *anchored; i++) {
		make_stale(host);
		assert_int_equal(try_anchored(host, i, ""), STET_E_CONFLICT);
		expect_str("reason", "modified");
		expect_str("path", "a.txt");
		expect_part("diff", "+zero\n");
		expect_text("+zero\n");
		expect_text("still matches at line 4");
		expect_list("stillMatches", "4");
		expect_file(host, "a.txt", "zero\none\ntwo\nthree\n");
		const char *hash = copy_of("currentHash");
		read_all(host);
		expect_str("fileHash", hash);
	}
}

static void the_repeated_call_succeeds(void **state) {
	struct host *host = *state;
	for (size_t i = 0; i < sizeof anchored / sizeof *anchored; i++) {
		make_stale(host);
		assert_int_equal(try_anchored(host, i, ""), STET_E_CONFLICT);
		assert_int_equal(try_anchored(host, i, ""), 0);
		expect_file(host, "a.txt", "zero\none\ntwo\n3\n");
	}
}

static void a_refusal_says_if_the_text_is_gone(void **state) {
	struct host *host = *state;
	make_stale(host);
	dir_write(host->dir, "a.txt", "one\ntwo\n3\n");
	refuse(host, STET_E_CONFLICT, "edit_file",
	       "{'path': 'a.txt', 'oldText': 'three', 'newText': '3'}");
	expect_text("no longer in it");
	expect_none("stillMatches");
	refuse(host, STET_E_NO_MATCH, "edit_file",
	       "{'path': 'a.txt', 'oldText': 'three', 'newText': '3'}");
}

static void a_refusal_names_the_session_that_wrote(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\ntwo\n");
	read_all(host);
	struct stet_session *mine = host->session;
	host->session = host_session(host, "other");
	edit(host, "one", "1");
	stet_session_close(host->session);
	host->session = mine;
	refuse(host, STET_E_CONFLICT, "edit_file",
	       "{'path': 'a.txt', 'oldText': 'two', 'newText': '2'}");
	expect_str("writer", "other");
	expect_text("Session \"other\" wrote the current version.");
}

static void a_large_diff_is_cut_and_said_to_be(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	dir_write(host->dir, "a.txt", "one\n");
	read_all(host);
	for (int i = 0; i < 20000; i++)
		st_buf_addf(&text, "line %d\n", i);
	dir_write(host->dir, "a.txt", text.ptr);
	refuse(host, STET_E_CONFLICT, "edit_file",
	       "{'path': 'a.txt', 'oldText': 'line 5', 'newText': '2'}");
	expect_true("diffTruncated");
	expect_text("diff cut here");
	expect_text("Please read the file again; the change below is cut.");
	assert_true(whole_answer().len < 64 << 10);
}

static void a_matching_expected_hash_settles_staleness(void **state) {
	struct host *host = *state;
	for (size_t i = 0; i < sizeof anchored / sizeof *anchored; i++) {
		make_stale(host);
		struct stet_session *mine = host->session;
		host->session = host_session(host, "other");
		read_all(host);
		stet_session_close(host->session);
		host->session = mine;
		char more[64];
		snprintf(more, sizeof more, ", 'expectedHash': '%s'", hash_of_answer());
		assert_int_equal(try_anchored(host, i, more), 0);
		expect_file(host, "a.txt", "zero\none\ntwo\n3\n");
	}
}

static void a_wrong_expected_hash_is_refused_even_if_nothing_changed(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\ntwo\nthree\n");
	read_all(host);
	const char *hash = hash_of_answer();
	for (size_t i = 0; i < sizeof anchored / sizeof *anchored; i++) {
		assert_int_equal(try_anchored(host, i, ", 'expectedHash': '0000000000000000'"),
		                 STET_E_CONFLICT);
		expect_str("reason", "hash");
		expect_text(hash);
		expect_text("File hash mismatch");
		expect_text("then pass this hash");
		expect_none("diff");
	}
}

/* The advice has to work: with the same wrong hash it never would. */
static void a_wrong_expected_hash_says_how_to_go_on(void **state) {
	struct host *host = *state;
	make_stale(host);
	assert_int_equal(try_anchored(host, 0, ", 'expectedHash': '0000000000000000'"),
	                 STET_E_CONFLICT);
	expect_part("diff", "+zero\n");
	expect_text("go by the change below, which counts as read");
	char more[64];
	snprintf(more, sizeof more, ", 'expectedHash': '%s'", copy_of("currentHash"));
	assert_int_equal(try_anchored(host, 0, more), 0);
}

static void a_line_number_edit_is_refused_after_a_change(void **state) {
	struct host *host = *state;
	make_stale(host);
	refuse(host, STET_E_CONFLICT, "text_patch",
	       "{'path': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 3}}}");
	expect_str("reason", "modified");
	expect_part("diff", "+zero\n");
	expect_text("line numbers may have moved");
	expect_file(host, "a.txt", "zero\none\ntwo\nthree\n");
	call(host, "text_patch",
	     "{'path': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 4}}}");
	expect_file(host, "a.txt", "zero\none\ntwo\n");
}

/* Lines that a patch takes away, and of which it names no more than where they are. */
static void lines_that_were_not_sent_are_shown_before_they_go(void **state) {
	struct host *host = *state;
	static const char text[] = "# A\none\ntwo\n# B\n```\ncode\n```\nthree\n";
	static const struct {
		const char *args, *line, *after;
	} cases[] = {
		{"'delete', 'target': {'lines': {'start': 2, 'end': 3}}", "-one\n-two\n",
	     "# A\n# B\n```\ncode\n```\nthree\n"},
		{"'replace', 'target': {'lines': {'start': 2, 'end': 3}}, 'content': 'two\\nnew\\n'",
	     "-one\n-two\n+two\n+new\n", "# A\ntwo\nnew\n# B\n```\ncode\n```\nthree\n"},
		{"'replace', 'target': {'codeBlock': {'index': 0}}, 'content': 'new'", "-code\n+new\n",
	     "# A\none\ntwo\n# B\n```\nnew\n```\nthree\n"},
		{"'delete', 'target': {'wholeSection': 'B'}", "-three\n", "# A\none\ntwo\n"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char name[16];
		snprintf(name, sizeof name, "%zu.md", i);
		dir_write(host->dir, name, text);
		/* A hash and the headings prove nothing. */
		call(host, "text_inspect", "{'filePath': '%s'}", name);
		const char *hash = hash_of_answer();
		refuse(host, STET_E_CONFLICT, "text_patch",
		       "{'filePath': '%s', 'expectedHash': '%s', 'operation': %s}", name, hash,
		       cases[i].args);
		expect_str("reason", "unseen");
		expect_text("would lose lines that were not sent to you");
		expect_text(cases[i].line);
		expect_file(host, name, text);
		refuse(host, STET_E_CONFLICT, "write_file", "{'path': '%s', 'content': 'mine'}", name);
		call(host, "text_patch", "{'filePath': '%s', 'operation': %s}", name, cases[i].args);
		expect_file(host, name, cases[i].after);
	}
}

static void lines_that_are_too_many_to_show_are_read_before_they_go(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 1; i <= 3000; i++)
		st_buf_addf(&text, "line %d\n", i);
	dir_write(host->dir, "a.txt", text.ptr);
	static const char args[] =
		"{'filePath': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 2, 'end': "
		"2999}}}";
	refuse(host, STET_E_CONFLICT, "text_patch", args);
	expect_text("Not sent to you so far: lines 2-2999. Read them first.");
	refuse(host, STET_E_CONFLICT, "text_patch", args);
	for (int first = 1; first <= 3000; first += 1000)
		call(host, "read_file", "{'path': 'a.txt', 'offset': %d, 'limit': 1000}", first);
	call(host, "text_patch", args);
	expect_file(host, "a.txt", "line 1\nline 3000\n");
}

/* What takes no line away needs no look at any; neither does a heading that the caller names. */
static void a_patch_that_takes_nothing_away_needs_no_read(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", "# A\none\n# B\n");
	call(host, "text_patch",
	     "{'filePath': 'a.md', 'operation': 'insert', 'target': {'lines': {'start': 2}}, "
	     "'content': 'two'}");
	call(host, "text_patch",
	     "{'filePath': 'a.md', 'operation': 'replace', 'target': {'heading': '# B'}, 'content': "
	     "'# C'}");
	call(host, "text_patch",
	     "{'filePath': 'a.md', 'operation': 'replace', 'target': {'lines': {'start': 2}}, "
	     "'content': 'one'}");
	expect_true("noop");
	expect_file(host, "a.md", "# A\none\ntwo\n# C\n");
}

static void a_heading_edit_is_refused_after_a_change_and_then_made(void **state) {
	struct host *host = *state;
	static const char args[] =
		"{'path': 'a.md', 'operation': 'insert', 'target': {'appendToSection': 'B'}, 'content': "
		"'new'}";
	dir_write(host->dir, "a.md", "# A\n# B\ntext\n");
	call(host, "read_file", "{'path': 'a.md'}");
	dir_write(host->dir, "a.md", "# A\nmore\n# B\ntext\n");
	refuse(host, STET_E_CONFLICT, "text_patch", "%s", args);
	call(host, "text_patch", "%s", args);
	expect_file(host, "a.md", "# A\nmore\n# B\ntext\nnew\n");
}

static void every_edit_needs_a_read_where_that_is_required(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_REQUIRE_READ, 1, NULL), 0);
	dir_write(host->dir, "a.txt", "one\ntwo\nthree\n");
	for (size_t i = 0; i < sizeof anchored / sizeof *anchored; i++) {
		assert_int_equal(try_anchored(host, i, ""), STET_E_CONFLICT);
		expect_str("reason", "unseen");
	}
	refuse(host, STET_E_CONFLICT, "text_patch",
	       "{'path': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 3}}}");
	read_all(host);
	assert_int_equal(try_anchored(host, 0, ""), 0);
}

/* ---- a file that is gone ---- */

static void a_deleted_file_is_told_with_what_can_be_done(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	read_all(host);
	assert_int_equal(unlink(dir_at(host->dir, "a.txt")), 0);
	refuse(host, STET_E_CONFLICT, "edit_file",
	       "{'path': 'a.txt', 'oldText': 'one', 'newText': '1'}");
	expect_str("reason", "deleted");
	expect_none("currentHash");
	expect_no_text("do the same again");
	expect_text("write the file anew");
	refuse(host, STET_E_NOT_FOUND, "edit_file",
	       "{'path': 'a.txt', 'oldText': 'one', 'newText': '1'}");
	expect_text("File not found: \"a.txt\"");
}

static void a_deleted_file_may_be_written_anew(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	read_all(host);
	const char *hash = hash_of_answer();
	assert_int_equal(unlink(dir_at(host->dir, "a.txt")), 0);
	refuse(host, STET_E_CONFLICT, "write_file",
	       "{'path': 'a.txt', 'content': 'x', 'expectedHash': '%s'}", hash);
	expect_text("without expectedHash");
	assert_false(dir_has(host->dir, "a.txt"));
	call(host, "write_file", "{'path': 'a.txt', 'content': 'x'}");
	expect_true("created");
}

/* ---- merging ---- */

static void a_merge_keeps_both_changes_and_shows_the_foreign_one(void **state) {
	struct host *host = *state;
	for (size_t i = 0; i < sizeof anchored / sizeof *anchored; i++) {
		make_stale(host);
		assert_int_equal(try_anchored(host, i, ", 'onStale': 'merge'"), 0);
		expect_file(host, "a.txt", "zero\none\ntwo\n3\n");
		expect_true("merged");
		expect_part("foreignDiff", "+zero\n");
		assert_null(strstr(copy_of("foreignDiff"), "-three"));
		expect_span(i == 2 ? "affectedLines" : "edits.0.affectedLines", 4, 4);
	}
	expect_str("context.beforeLines.0.text", "zero");
	expect_int("context.beforeLines.2.number", 3);
}

static void a_merge_that_would_overlap_is_refused(void **state) {
	struct host *host = *state;
	for (size_t i = 0; i < sizeof anchored / sizeof *anchored; i++) {
		make_stale(host);
		dir_write(host->dir, "a.txt", "one\ntwo\nTHREE and three\n");
		assert_int_equal(try_anchored(host, i, ", 'onStale': 'merge'"), STET_E_CONFLICT);
		expect_text("in the same lines");
		expect_part("diff", "+THREE and three\n");
		expect_file(host, "a.txt", "one\ntwo\nTHREE and three\n");
		assert_int_equal(try_anchored(host, i, ", 'onStale': 'merge'"), 0);
		expect_file(host, "a.txt", "one\ntwo\nTHREE and 3\n");
		expect_none("merged");
	}
}

static void line_numbers_are_those_of_the_version_that_was_read_in_a_merge(void **state) {
	struct host *host = *state;
	make_stale(host);
	call(host, "text_patch",
	     "{'path': 'a.txt', 'operation': 'replace', 'target': {'lines': {'start': 3}}, 'content': "
	     "'3\\n4', 'onStale': 'merge'}");
	expect_file(host, "a.txt", "zero\none\ntwo\n3\n4\n");
	expect_true("merged");
	expect_span("affectedLines", 4, 5);
	expect_str("note", "In the line numbers before the merge: The file now has 4 lines (was 3).");
}

static void deleted_lines_are_numbered_as_they_were_in_a_merge_too(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n");
	read_all(host);
	dir_write(host->dir, "a.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\n");
	call(host, "text_patch",
	     "{'path': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 5, 'end': 6}}, "
	     "'onStale': 'merge'}");
	expect_file(host, "a.txt", "0\n1\n2\n3\n4\n7\n8\n");
	expect_span("affectedLines", 6, 7);
	expect_str("context.beforeLines.2.text", "4");
	expect_str("context.afterLines.0.text", "7");
	expect_int("context.afterLines.0.number", 6);
}

static void both_having_made_the_same_change_is_a_merge_without_a_write(void **state) {
	struct host *host = *state;
	make_stale(host);
	dir_write(host->dir, "a.txt", "one\ntwo\n3\n");
	call(host, "text_replace",
	     "{'path': 'a.txt', 'oldText': 'three', 'newText': '3', 'onStale': 'merge'}");
	expect_true("noop");
	expect_true("merged");
	expect_file(host, "a.txt", "one\ntwo\n3\n");
}

static void a_merge_counts_as_having_seen_what_it_showed(void **state) {
	struct host *host = *state;
	make_stale(host);
	assert_int_equal(try_anchored(host, 0, ", 'onStale': 'merge'"), 0);
	call(host, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
}

static void a_merge_whose_foreign_diff_was_cut_does_not(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	make_stale(host);
	for (int i = 0; i < 20000; i++)
		st_buf_addf(&text, "line %d\n", i);
	st_buf_adds(&text, "one\ntwo\nthree\n");
	dir_write(host->dir, "a.txt", text.ptr);
	assert_int_equal(try_anchored(host, 0, ", 'onStale': 'merge'"), 0);
	expect_true("merged");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	expect_str("reason", "unseen");
}

static void a_merge_that_failed_counts_as_nothing(void **state) {
	struct host *host = *state;
	make_stale(host);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_MAX_FILE, 25, NULL), 0);
	refuse(
		host, STET_E_TOO_BIG, "edit_file",
		"{'path': 'a.txt', 'oldText': 'three', 'newText': 'three and more', 'onStale': 'merge'}");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	expect_part("diff", "+zero\n");
}

/* Lines of the base that the session has not seen would count as deleted by it. */
static void a_whole_file_merges_only_if_all_of_its_base_was_seen(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\ntwo\nthree\nfour\n");
	call(host, "read_file", "{'path': 'a.txt', 'limit': 1}");
	dir_write(host->dir, "a.txt", "one\ntwo\nthree\nfour\nfive\n");
	refuse(host, STET_E_CONFLICT, "write_file",
	       "{'path': 'a.txt', 'content': '1\\n', 'onStale': 'merge'}");
	refuse(host, STET_E_CONFLICT, "write_file",
	       "{'path': 'a.txt', 'content': '1\\n', 'onStale': 'merge'}");
	expect_str("reason", "unseen");
	read_all(host);
	dir_write(host->dir, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n");
	call(host, "write_file",
	     "{'path': 'a.txt', 'content': '1\\ntwo\\nthree\\nfour\\nfive\\n', 'onStale': 'merge'}");
	expect_file(host, "a.txt", "1\ntwo\nthree\nfour\nfive\nsix\n");
	expect_true("merged");
}

/* ---- whole files ---- */

static void a_new_file_is_written_without_a_read(void **state) {
	struct host *host = *state;
	call(host, "write_file", "{'path': 'a.txt', 'content': 'text'}");
	expect_true("created");
	expect_str("commit", "created");
	expect_int("size", 4);
	assert_string_equal(said(0), "Created file \"a.txt\"\nfileHash: 982d9e3eb996f559\n");
	call(host, "write_file", "{'path': 'a.txt', 'content': 'more'}");
	expect_str("commit", "exchanged");
	expect_file(host, "a.txt", "more");
}

static void a_file_that_was_not_read_is_not_overwritten(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "somebody's work\n");
	for (int i = 0; i < 2; i++) {
		refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
		expect_str("reason", "unseen");
	}
	expect_text("Read it first.");
	const char *hash = copy_of("currentHash");
	expect_file(host, "a.txt", "somebody's work\n");
	/* The hash of a refusal, of an inspection or of a part that was read is no key. */
	for (int i = 0; i < 2; i++) {
		refuse(host, STET_E_CONFLICT, "write_file",
		       "{'path': 'a.txt', 'content': 'mine', 'expectedHash': '%s'}", hash);
		refuse(host, STET_E_CONFLICT, "delete_file", "{'path': 'a.txt', 'expectedHash': '%s'}",
		       hash);
		call(host, "text_inspect", "{'path': 'a.txt'}");
	}
	expect_file(host, "a.txt", "somebody's work\n");
	read_all(host);
	call(host, "write_file", "{'path': 'a.txt', 'content': 'mine', 'expectedHash': '%s'}", hash);
	expect_file(host, "a.txt", "mine");
}

/* A script that remembers nothing proves by the hash that it knows the file. */
static void a_hash_is_proof_where_that_is_set(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "somebody's work\n");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	const char *hash = copy_of("currentHash");
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_HASH_PROVES, 1, NULL), 0);
	call(host, "write_file", "{'path': 'a.txt', 'content': 'mine', 'expectedHash': '%s'}", hash);
	expect_file(host, "a.txt", "mine");
}

static void an_empty_file_may_be_overwritten_unread(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "");
	call(host, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	expect_file(host, "a.txt", "mine");
}

static void a_refused_write_names_the_lines_it_would_drop(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "bread\nmilk\n");
	read_all(host);
	dir_write(host->dir, "a.txt", "bread\nmilk\nbutter\nsalt\n");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'bread\\nsalt\\n'}");
	expect_text(
		"Your content does not contain this line: \"butter\". Add it, or write again to "
		"drop it.");
	expect_text("+butter");
	dir_write(host->dir, "a.txt", "bread\nmilk\nbutter\nsalt\njam\n");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'bread\\nsalt\\n'}");
	expect_text("use edit_file or append_file");
	call(host, "write_file", "{'path': 'a.txt', 'content': 'bread\\nsalt\\n'}");
	/* The question is settled with that: the next one begins anew. */
	dir_write(host->dir, "a.txt", "bread\nsalt\ntea\n");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'tea\\n'}");
	expect_text("Your content has every line that others added: write again");
}

static void a_write_over_bytes_that_are_not_utf8_is_refused_once(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "caf\xE9\ntea\n");
	read_all(host);
	refuse(host, STET_E_CONFLICT, "write_file",
	       "{'path': 'a.txt', 'content': 'caf\xC3\xA9\\ntea\\n'}");
	expect_str("reason", "drops");
	expect_text("bytes that are not UTF-8");
	expect_file(host, "a.txt", "caf\xE9\ntea\n");
	/* An edit keeps them. */
	call(host, "edit_file", "{'path': 'a.txt', 'edits': [{'oldText': 'tea', 'newText': 'milk'}]}");
	expect_file(host, "a.txt", "caf\xE9\nmilk\n");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'tea\\n'}");
	call(host, "write_file", "{'path': 'a.txt', 'content': 'tea\\n'}");
	expect_file(host, "a.txt", "tea\n");
	/* A diff of what others changed shows them as little. */
	dir_write(host->dir, "a.txt", "tea\ncaf\xE9\n");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'milk\\n'}");
	expect_str("reason", "modified");
	expect_text("bytes that are not UTF-8");
	call(host, "write_file", "{'path': 'a.txt', 'content': 'milk\\n'}");
	/* The question is about one version. */
	dir_write(host->dir, "a.txt", "caf\xE9\n");
	read_all(host);
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'milk\\n'}");
	dir_write(host->dir, "a.txt", "caf\xE9\ncr\xE8me\n");
	read_all(host);
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'milk\\n'}");
	expect_str("reason", "drops");
}

static void a_write_that_is_merged_is_asked_for_its_losses_too(void **state) {
	struct host *host = *state;
	static const char write[] =
		"{'path': 'a.txt', 'content': 'caf\xEF\xBF\xBD\\nmilk\\nbread\\n', "
		"'onStale': 'merge'}";
	dir_write(host->dir, "a.txt", "caf\xE9\nmilk\nbread\n");
	read_all(host);
	dir_write(host->dir, "a.txt", "caf\xE9\nmilk\nbread\nsalt\n");
	refuse(host, STET_E_CONFLICT, "write_file", write);
	expect_str("reason", "drops");
	expect_text("bytes that are not UTF-8");
	expect_file(host, "a.txt", "caf\xE9\nmilk\nbread\nsalt\n");
	/* It goes on from the version that was read, so what others added stays. */
	call(host, "write_file", write);
	expect_file(host, "a.txt", "caf\xEF\xBF\xBD\nmilk\nbread\nsalt\n");
}

static void a_write_that_drops_most_of_a_file_is_refused_once(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 100; i++)
		st_buf_addf(&text, "line %d\n", i);
	dir_write(host->dir, "a.txt", text.ptr);
	read_all(host);
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'line 1\\n'}");
	expect_str("reason", "drops");
	expect_text("lacks 99 of its 100 lines");
	expect_file(host, "a.txt", text.ptr);
	call(host, "write_file", "{'path': 'a.txt', 'content': 'line 1\\n'}");
	expect_file(host, "a.txt", "line 1\n");
	/* Of a short file, or not most of a long one: that is what writes are for. */
	call(host, "write_file", "{'path': 'a.txt', 'content': 'other\\n'}");
	/* Where others changed the file too, it is one refusal. */
	dir_write(host->dir, "b.txt", text.ptr);
	call(host, "read_file", "{'path': 'b.txt'}");
	st_buf_adds(&text, "theirs\n");
	dir_write(host->dir, "b.txt", text.ptr);
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'b.txt', 'content': 'mine\\n'}");
	expect_str("reason", "modified");
	call(host, "write_file", "{'path': 'b.txt', 'content': 'mine\\n'}");
}

/* In Codex's format a patch can hold a whole file, too. */
static void a_patch_that_drops_most_of_a_file_is_refused_once(void **state) {
	struct host *host = *state;
	static const char patch[] =
		"{'patch': '*** Begin Patch\\n*** Add File: a.txt\\n+line 1\\n*** End Patch'}";
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 100; i++)
		st_buf_addf(&text, "line %d\n", i);
	dir_write(host->dir, "a.txt", text.ptr);
	refuse(host, STET_E_CONFLICT, "apply_patch", patch);
	expect_text("you have not read all of its current version");
	read_all(host);
	refuse(host, STET_E_CONFLICT, "apply_patch", patch);
	expect_text("lacks 99 of its 100 lines");
	expect_file(host, "a.txt", text.ptr);
	call(host, "apply_patch", patch);
	expect_file(host, "a.txt", "line 1\n");
}

/* A refusal is a question asked once: what arrives after it is merged, and shown. */
static void an_edit_gets_through_against_a_writer_that_never_rests(void **state) {
	struct host *host = *state;
	for (size_t i = 0; i < sizeof anchored / sizeof *anchored; i++) {
		make_stale(host);
		assert_int_equal(try_anchored(host, i, ""), STET_E_CONFLICT);
		dir_write(host->dir, "a.txt", "more\nzero\none\ntwo\nthree\n");
		assert_int_equal(try_anchored(host, i, ", 'onStale': 'refuse'"), STET_E_CONFLICT);
		dir_write(host->dir, "a.txt", "most\nmore\nzero\none\ntwo\nthree\n");
		assert_int_equal(try_anchored(host, i, ""), 0);
		expect_true("merged");
		expect_text("+most\n");
		expect_file(host, "a.txt", "most\nmore\nzero\none\ntwo\n3\n");
		/* Then it is asked again. */
		dir_write(host->dir, "a.txt", "x\nmost\nmore\nzero\none\ntwo\nthree\n");
		assert_int_equal(try_anchored(host, i, ""), STET_E_CONFLICT);
	}
}

static void parts_that_were_read_add_up(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\n3\n4\n5\n");
	call(host, "read_file", "{'path': 'a.txt', 'offset': 1, 'limit': 2}");
	call(host, "read_file", "{'path': 'a.txt', 'offset': 4}");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	expect_text("Not sent to you so far: line 3. Read it first.");
	call(host, "read_file", "{'path': 'a.txt', 'offset': 3, 'limit': 1}");
	call(host, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
}

static void knowing_the_hash_is_not_having_seen_the_file(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\n3\n4\n5\n");
	call(host, "read_file", "{'path': 'a.txt', 'limit': 1}");
	call(host, "edit_file",
	     "{'path': 'a.txt', 'oldText': '1', 'newText': 'one', 'expectedHash': '%s'}",
	     hash_of_answer());
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	expect_text("Not sent to you so far: lines 2-5.");
}

static void writing_what_is_there_is_a_noop_whoever_wrote_it(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "old\n");
	read_all(host);
	dir_write(host->dir, "a.txt", "new\n");
	struct stat before, after;
	assert_int_equal(stat(dir_at(host->dir, "a.txt"), &before), 0);
	call(host, "write_file", "{'path': 'a.txt', 'content': 'new\\n'}");
	expect_true("noop");
	expect_str("note", "File already exists with identical content");
	expect_text("File already exists with identical content");
	assert_int_equal(stat(dir_at(host->dir, "a.txt"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
}

/* ---- edit_file ---- */

static void edits_are_applied_in_order_and_all_or_none(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\ntwo\nthree\n");
	call(host, "edit_file",
	     "{'path': 'a.txt', 'edits': [{'oldText': 'one', 'newText': 'zero\\nuno'}, {'old_string': "
	     "'uno\\ntwo', 'new_string': 'x'}]}");
	expect_file(host, "a.txt", "zero\nx\nthree\n");
	expect_count("edits", 2);
	expect_int("edits.1.occurrencesReplaced", 1);
	expect_span("edits.1.affectedLines", 2, 2);
	refuse(host, STET_E_NO_MATCH, "edit_file",
	       "{'path': 'a.txt', 'edits': [{'oldText': 'zero', 'newText': '0'}, {'oldText': 'two', "
	       "'newText': '2'}]}");
	expect_int("edit", 2);
	expect_text("Edit 2 of 2");
	expect_file(host, "a.txt", "zero\nx\nthree\n");
}

static void several_matches_are_refused_with_all_their_lines(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "x\n2\nx\n4\nx x\n");
	refuse(host, STET_E_AMBIGUOUS, "edit_file",
	       "{'path': 'a.txt', 'oldText': 'x', 'newText': 'y'}");
	expect_list("matches", "1 3 5 5");
	expect_text("occurs 4 times, at lines 1, 3 and 5 (2 times)");
	expect_text("replaceAll");
	expect_file(host, "a.txt", "x\n2\nx\n4\nx x\n");
	call(host, "edit_file",
	     "{'path': 'a.txt', 'oldText': 'x', 'newText': 'y', 'replaceAll': true}");
	expect_int("edits.0.occurrencesReplaced", 4);
	expect_file(host, "a.txt", "y\n2\ny\n4\ny y\n");
}

static void an_empty_old_text_creates_a_file(void **state) {
	struct host *host = *state;
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': '', 'newText': 'text\\n'}");
	expect_true("created");
	expect_text("Created file \"a.txt\"");
	expect_file(host, "a.txt", "text\n");
	refuse(host, STET_E_EXISTS, "edit_file",
	       "{'path': 'a.txt', 'oldText': '', 'newText': 'other'}");
	expect_text("already exists");
	expect_file(host, "a.txt", "text\n");
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': 'text', 'newText': 'more'}");
}

static void an_empty_old_text_fills_an_empty_file(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "");
	read_all(host);
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': '', 'newText': 'text\\n'}");
	assert_true(yyjson_is_false(look("created")));
	expect_text("Updated file \"a.txt\"");
	expect_file(host, "a.txt", "text\n");
}

static void creation_asks_for_the_ending_too(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_allow(host->ws, ".md,.txt", NULL), 0);
	refuse(host, STET_E_EXTENSION, "edit_file",
	       "{'path': 'a.exe', 'oldText': '', 'newText': 'text'}");
	assert_false(dir_has(host->dir, "a.exe"));
	call(host, "edit_file", "{'path': 'a.md', 'oldText': '', 'newText': 'text'}");
}

static void new_text_cannot_make_a_file_binary(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	static const char *const calls[][2] = {
		{"edit_file", "{'path': 'a.txt', 'oldText': 'one', 'newText': '\\u0000'}"},
		{"edit_file", "{'path': 'b.txt', 'oldText': '', 'newText': '\\u0000'}"},
		{"text_replace", "{'path': 'a.txt', 'oldText': 'one', 'newText': '\\u0000'}"},
		{"text_patch",
	     "{'path': 'a.txt', 'operation': 'replace', 'target': {'lines': {'start': 1}}, 'content': "
	     "'\\u0000'}"},
	};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		refuse(host, STET_E_BINARY, calls[i][0], "%s", calls[i][1]);
	expect_file(host, "a.txt", "one\n");
	assert_false(dir_has(host->dir, "b.txt"));
}

/* ---- dry runs ---- */

static void a_dry_run_changes_nothing(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\ntwo\n");
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': 'one', 'newText': '1', 'dryRun': true}");
	expect_true("dryRun");
	expect_part("diff", "-one\n+1\n");
	expect_str("commit", "none");
	expect_file(host, "a.txt", "one\ntwo\n");
	call(host, "edit_file",
	     "{'path': 'new.txt', 'oldText': '', 'newText': 'text\\n', 'dryRun': true}");
	expect_part("diff", "--- /dev/null\n+++ b/new.txt\n");
	expect_text("not changed");
	assert_int_equal(dir_count(host->dir, "."), 1);
}

/* The diff of a dry run, applied by a program to the file, gives what the real run gives. */
static void check_diff(struct host *host, const char *name, const char *before, const char *args,
                       const char *const *argv) {
	st_auto(st_buf) after = ST_BUF_INIT;
	dir_write(host->dir, name, before);
	call(host, "read_file", "{'path': %s}", quoted(st_str(name)));
	call(host, "edit_file", "{'path': %s, %s, 'dryRun': true}", quoted(st_str(name)), args);
	dir_write(host->dir, "change.diff", yyjson_get_str(look("diff")));
	call(host, "edit_file", "{'path': %s, %s}", quoted(st_str(name)), args);
	st_buf_adds(&after, dir_read(host->dir, name));
	dir_write(host->dir, name, before);
	assert_int_equal(run(host->dir, NULL, argv), 0);
	expect_file(host, name, after.ptr);
}

static void the_diff_of_a_dry_run_is_taken_by_patch_and_git(void **state) {
	struct host *host = *state;
	static const char *const patch[] = {"patch", "-s", "-p1", "-i", "change.diff", NULL};
	static const char *const git[] = {"git", "apply", "--whitespace=nowarn", "change.diff", NULL};
	static const char *const texts[] = {"one\ntwo\nthree\nfour\nfive\n",
	                                    "one\ntwo\nthree\nfour\nfive",
	                                    "\xEF\xBB\xBFone\ntwo\nthree", "one\r\ntwo\r\nthree\r\n"};
	static const char *const edits[] = {
		"'oldText': 'two\\n', 'newText': ''",
		"'oldText': 'one', 'newText': 'one\\nand\\nmore'",
		"'edits': [{'oldText': 'one', 'newText': '1'}, {'oldText': 'three', 'newText': '3\\n'}]",
	};
	assert_int_equal(run(host->dir, NULL, (const char *[]){"git", "init", "-q", NULL}), 0);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
			/* patch takes a CR at the end of every line for a mail gone wrong. */
			if (i != 3)
				check_diff(host, "a.txt", texts[i], edits[k], patch);
			check_diff(host, "a.txt", texts[i], edits[k], git);
		}
	}
	check_diff(host, "sub/with blank.txt", texts[0], edits[0], git);
	check_diff(host, "sub/\xC3\xA9\"q.txt", texts[0], edits[0], git);
}

static void a_diff_names_the_file_below_the_root(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "sub/a.txt", "one\n");
	assert_int_equal(symlink("sub/a.txt", dir_at(host->dir, "link")), 0);
	const char *const paths[] = {"link", "./sub/../sub/a.txt", dir_at(host->dir, "sub/a.txt")};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		call(host, "edit_file", "{'path': '%s', 'oldText': 'one', 'newText': '1', 'dryRun': true}",
		     paths[i]);
		expect_part("diff", "--- a/sub/a.txt\n+++ b/sub/a.txt\n");
	}
}

/* ---- read_file ---- */

static void reading_gives_the_text_as_it_is(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "\xEF\xBB\xBFone\r\ntwo\n\tthree");
	read_all(host);
	assert_string_equal(said(0), "\xEF\xBB\xBFone\r\ntwo\n\tthree");
	assert_non_null(strstr(said(1), "[a.txt: 3 lines, fileHash "));
	expect_str("content", "\xEF\xBB\xBFone\r\ntwo\n\tthree");
	expect_int("totalLines", 3);
	expect_int("startLine", 1);
	expect_int("endLine", 3);
	assert_true(yyjson_is_false(look("truncated")));
	expect_none("nextOffset");
	expect_none("lossy");
}

static void reading_pages_through_a_long_file(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) pages = ST_BUF_INIT;
	for (int i = 0; i < 100000; i++)
		st_buf_addf(&text, "line %d\n", i);
	dir_write(host->dir, "a.txt", text.ptr);
	size_t offset = 1, count = 0;
	while (offset) {
		call(host, "read_file", "{'path': 'a.txt', 'offset': %zu}", offset);
		st_buf_adds(&pages, said(0));
		expect_int("startLine", (int64_t)offset);
		assert_true(whole_answer().len < 1 << 20);
		offset = (size_t)st_json_int(look("nextOffset"));
		if (offset) {
			char words[64];
			snprintf(words, sizeof words, "Continue with offset %zu.", offset);
			assert_non_null(strstr(said(1), words));
			expect_true("truncated");
			refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
		}
		count++;
	}
	assert_true(count > 50);
	assert_string_equal(pages.ptr, text.ptr);
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': 'line 500\\n', 'newText': 'x\\n'}");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	expect_str("reason", "drops");
	call(host, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
}

static void write_long_file(struct host *host) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 1; i <= 300000; i++)
		st_buf_addf(&text, "line %06d\n", i);
	dir_write(host->dir, "a.txt", text.ptr);
}

static void a_page_is_of_the_file_that_is_there(void **state) {
	struct host *host = *state;
	write_long_file(host);
	call(host, "read_file", "{'path': 'a.txt', 'offset': 100000, 'limit': 1}");
	assert_string_equal(said(0), "line 100000\n");
	dir_write(host->dir, "b.txt", "other\n");
	assert_int_equal(rename(dir_at(host->dir, "b.txt"), dir_at(host->dir, "a.txt")), 0);
	read_all(host);
	assert_string_equal(said(0), "other\n");
}

/* Stores through a mapping leave the times of a page that is dirty as they are. */
static char *map_file(struct host *host) {
	st_autofd fd = open(dir_at(host->dir, "a.txt"), O_RDWR | O_CLOEXEC);
	char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	return map;
}

static void a_page_shows_what_the_times_do_not_tell(void **state) {
	struct host *host = *state;
	write_long_file(host);
	char *map = map_file(host);
	memcpy(map, "LINE", 4);
	for (int i = 0; i < 3; i++) {
		sleep_ms(20);
		call(host, "read_file", "{'path': 'a.txt', 'limit': 1}");
		assert_string_equal(said(0), "LINE 000001\n");
	}
	memcpy(map, "Line", 4);
	call(host, "read_file", "{'path': 'a.txt', 'limit': 1}");
	assert_string_equal(said(0), "Line 000001\n");
	munmap(map, 4096);
}

/* The file as it was read, and then changed through a mapping, without a trace in its times. */
static void change_unseen(struct host *host) {
	stet_session_invalidate(host->session, "a.txt");
	dir_write(host->dir, "a.txt", "first\nsecond\n");
	char *map = map_file(host);
	memcpy(map, "First", 5);
	for (int i = 0; i < 3; i++) {
		sleep_ms(20);
		read_all(host);
	}
	memcpy(map, "FIRST", 5);
	munmap(map, 4096);
}

static void an_edit_meets_what_the_times_do_not_tell(void **state) {
	struct host *host = *state;
	/* What is only in the earlier version, only in the newer one, in both, in neither. */
	static const char *const texts[] = {"First", "FIRST", "second", "third"};
	for (size_t i = 0; i < 4; i++) {
		change_unseen(host);
		refuse(host, STET_E_CONFLICT, "edit_file",
		       "{'path': 'a.txt', 'oldText': '%s', 'newText': 'new'}", texts[i]);
		expect_text("+FIRST");
		assert_string_equal(dir_read(host->dir, "a.txt"), "FIRST\nsecond\n");
	}
	change_unseen(host);
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'new'}");
	assert_string_equal(dir_read(host->dir, "a.txt"), "FIRST\nsecond\n");
	call(host, "write_file", "{'path': 'a.txt', 'content': 'new'}");
}

static void offset_and_limit_pick_lines(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\r\n3\n4");
	call(host, "read_file", "{'path': 'a.txt', 'offset': 2, 'limit': 2}");
	assert_string_equal(said(0), "2\r\n3\n");
	assert_non_null(strstr(said(1), "[a.txt: lines 2-3 of 4, fileHash "));
	assert_non_null(strstr(said(1), ". Continue with offset 4.]\n"));
	expect_int("nextOffset", 4);
	call(host, "read_file", "{'path': 'a.txt', 'offset': 4, 'limit': 1000}");
	assert_string_equal(said(0), "4");
	call(host, "read_file", "{'path': 'a.txt', 'offset': 0, 'limit': 0}");
	expect_int("endLine", 4);
	refuse(host, STET_E_INVALID, "read_file", "{'path': 'a.txt', 'offset': 5}");
	expect_text("Line 5 is out of range: \"a.txt\" has 4 lines.");
	refuse(host, STET_E_INVALID, "read_file", "{'path': 'a.txt', 'offset': -1}");
	refuse(host, STET_E_INVALID, "read_file", "{'path': 'a.txt', 'limit': -1}");
	dir_write(host->dir, "empty.txt", "");
	call(host, "read_file", "{'path': 'empty.txt'}");
	assert_string_equal(said(0), "");
	expect_int("totalLines", 0);
}

static void line_numbers_are_put_in_front_on_request(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "a\nb\r\n\nd");
	call(host, "read_file", "{'path': 'a.txt', 'offset': 2, 'lineNumbers': true}");
	assert_string_equal(said(0), "     2\tb\r\n     3\t\n     4\td");
}

static void bytes_that_are_not_utf8_are_shown_as_such(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "caf\xE9\nplain\n");
	read_all(host);
	expect_true("lossy");
	assert_string_equal(said(0), "caf\xEF\xBF\xBD\nplain\n");
	call(host, "read_file", "{'path': 'a.txt', 'offset': 2}");
	expect_none("lossy");
}

/* Read on as the answer says, from a line and a byte of it. */
static size_t read_part(struct host *host, size_t byte, struct st_buf *text) {
	call(host, "read_file", "{'path': 'a.txt', 'offset': 1, 'byteOffset': %zu}", byte);
	assert_true(strlen(said(0)) <= 20000);
	assert_true(st_utf8_valid(st_str(said(0))));
	st_buf_adds(text, said(0));
	return look("nextByteOffset") ? (size_t)yyjson_get_uint(look("nextByteOffset")) : 0;
}

static void a_line_longer_than_a_page_is_continued_by_byte(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT, parts = ST_BUF_INIT;
	for (int i = 0; i < 50000; i++)
		st_buf_adds(&text, "\xC3\xA9");
	st_buf_adds(&text, "\nsecond\n");
	dir_write(host->dir, "a.txt", text.ptr);
	size_t next = 0, count = 0;
	do {
		refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
		next = read_part(host, next, &parts);
		count++;
	} while (next > 0);
	assert_true(count > 4);
	assert_string_equal(parts.ptr, text.ptr);
	call(host, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	refuse(host, STET_E_INVALID, "read_file", "{'path': 'a.txt', 'byteOffset': 4}");
	expect_text("out of range");
}

/* "head" begins a file, and "offset" is what the answer says to go on with. */
static void the_lines_after_the_head_are_within_reach(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\n3\n4\n5\n");
	call(host, "read_text_file", "{'path': 'a.txt', 'head': 3}");
	assert_string_equal(said(0), "1\n2\n3\n");
	expect_part("remark", "Continue with offset 4.");
	call(host, "read_text_file", "{'path': 'a.txt', 'head': 3, 'offset': 4}");
	assert_string_equal(said(0), "4\n5\n");
}

static void a_page_says_all_the_lines_that_it_has(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "first\nsecond\nthird\n");
	call(host, "read_file", "{'path': 'a.txt', 'byteOffset': 3}");
	assert_string_equal(said(0), "st\nsecond\nthird\n");
	expect_part("remark", "[a.txt: lines 1-3 of 3, the first from byte 3, fileHash ");
	call(host, "read_file", "{'path': 'a.txt', 'byteOffset': 3, 'limit': 1}");
	expect_part("remark", "[a.txt: line 1 of 3 from byte 3, fileHash ");
	call(host, "read_file", "{'path': 'a.txt', 'tail': 1}");
	expect_part("remark", "[a.txt: line 3 of 3, fileHash ");
	call(host, "read_file", "{'path': 'a.txt', 'tail': 2}");
	expect_part("remark", "[a.txt: lines 2-3 of 3, fileHash ");
	dir_write(host->dir, "a.txt", "");
	call(host, "read_file", "{'path': 'a.txt'}");
	expect_part("remark", "[a.txt: 0 lines, fileHash ");
}

static void a_file_without_its_directory_is_not_found(void **state) {
	struct host *host = *state;
	refuse(host, STET_E_NOT_FOUND, "read_file", "{'path': 'no/a.txt'}");
	expect_str("message", "File not found: \"no/a.txt\". Check the path.");
}

static void a_new_file_gets_its_directories(void **state) {
	struct host *host = *state;
	call(host, "write_file", "{'path': 'one/two/a.txt', 'content': 'x'}");
	expect_str("path", "one/two/a.txt");
	assert_string_equal(dir_read(host->dir, "one/two/a.txt"), "x");
	call(host, "append_file", "{'path': 'log/today.txt', 'content': 'x'}");
	assert_string_equal(dir_read(host->dir, "log/today.txt"), "x");
}

/* A write that is refused leaves no directories behind. */
static void a_file_that_is_refused_gets_no_directories(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "file", "x");
	refuse(host, STET_E_NOT_FOUND, "write_file",
	       "{'path': 'no/a.txt', 'content': 'x', 'expectedHash': '0123456789abcdef'}");
	refuse(host, STET_E_PROTECTED, "write_file", "{'path': '.git/no/a.txt', 'content': 'x'}");
	refuse(host, STET_E_PROTECTED, "write_file", "{'path': 'no/.stet/a.txt', 'content': 'x'}");
	refuse(host, STET_E_OUTSIDE, "write_file", "{'path': '../no/a.txt', 'content': 'x'}");
	refuse(host, STET_E_NOT_FOUND, "write_file", "{'path': '\\\"no/a.txt\\\"', 'content': 'x'}");
	refuse(host, STET_E_NOT_FOUND, "write_file", "{'path': ' no/a.txt', 'content': 'x'}");
	refuse(host, STET_E_KIND, "write_file", "{'path': 'file/no/a.txt', 'content': 'x'}");
	assert_int_equal(access(dir_at(host->dir, "no"), F_OK), -1);
	assert_int_equal(access(dir_at(host->dir, ".git"), F_OK), -1);
	assert_int_equal(access(dir_at(host->dir, "\"no"), F_OK), -1);
	assert_int_equal(access(dir_at(host->dir, " no"), F_OK), -1);
}

/* Answers show U+FFFD for them: to read the file again would not help. */
static void text_for_bytes_that_are_not_utf8_matches_nothing(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "caf\xE9 au lait\nplain\n");
	read_all(host);
	refuse(host, STET_E_NO_MATCH, "edit_file",
	       "{'path': 'a.txt', 'oldText': 'caf\\ufffd au', 'newText': 'x'}");
	expect_text("Give only text before or after them.");
	expect_no_text("Similar");
	refuse(host, STET_E_NO_MATCH, "apply_patch",
	       "{'patch': '*** Begin Patch\\n*** Update File: a.txt\\n@@\\n caf\\ufffd au "
	       "lait\\n-plain\\n+x\\n*** End Patch\\n'}");
	expect_text("Leave lines with U+FFFD out of the hunk.");
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': ' au', 'newText': ' de'}");
	expect_file(host, "a.txt", "caf\xE9 de lait\nplain\n");
}

static void a_session_is_told_that_it_wrote_the_version_itself(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\ntwo\n");
	read_all(host);
	const char *hash = hash_of_answer();
	edit(host, "one", "1");
	refuse(host, STET_E_CONFLICT, "edit_file",
	       "{'path': 'a.txt', 'oldText': 'two', 'newText': '2', 'expectedHash': '%s'}", hash);
	expect_text("You wrote the current version.");
	expect_no_text("Session");
}

static void a_gap_in_a_long_line_is_not_seen(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT, parts = ST_BUF_INIT;
	for (int i = 0; i < 60000; i++)
		st_buf_adds(&text, "x");
	dir_write(host->dir, "a.txt", text.ptr);
	size_t next = read_part(host, 0, &parts);
	for (next++; next > 0;)
		next = read_part(host, next, &parts);
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	/* Another version begins anew. */
	next = read_part(host, 0, &parts);
	text.ptr[59999] = 'y';
	dir_write(host->dir, "a.txt", text.ptr);
	while (next > 0)
		next = read_part(host, next, &parts);
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
}

/* A writer that had looked up the path before sends its bytes to the displaced file. */
static void a_late_write_is_told_by_the_next_call(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	dir_write(host->dir, "b.txt", "other\n");
	int fd = open(dir_at(host->dir, "a.txt"), O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	char self[64];
	edit(host, "one", "1");
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	int late = open(self, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_true(late >= 0);
	assert_int_equal(write(late, "late\n", 5), 5);
	close(late);
	close(fd);
	sleep_ms(150);
	call(host, "read_file", "{'path': 'b.txt'}");
	expect_count("notices", 1);
	assert_string_equal(said(0), "other\n");
	assert_non_null(strstr(said(1), "Notice: "));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(returns_error_when_file_was_modified_since_last_read),
		host_claim(tracks_file_after_reading),
		host_claim(an_edit_tracks_what_it_wrote),
		host_claim(a_stale_edit_is_refused_with_diff_hash_and_matches),
		host_claim(the_repeated_call_succeeds),
		host_claim(a_refusal_says_if_the_text_is_gone),
		host_claim(a_refusal_names_the_session_that_wrote),
		host_claim(a_large_diff_is_cut_and_said_to_be),
		host_claim(a_matching_expected_hash_settles_staleness),
		host_claim(a_wrong_expected_hash_is_refused_even_if_nothing_changed),
		host_claim(a_wrong_expected_hash_says_how_to_go_on),
		host_claim(a_line_number_edit_is_refused_after_a_change),
		host_claim(lines_that_were_not_sent_are_shown_before_they_go),
		host_claim(lines_that_are_too_many_to_show_are_read_before_they_go),
		host_claim(a_patch_that_takes_nothing_away_needs_no_read),
		host_claim(a_heading_edit_is_refused_after_a_change_and_then_made),
		host_claim(every_edit_needs_a_read_where_that_is_required),
		host_claim(a_deleted_file_is_told_with_what_can_be_done),
		host_claim(a_deleted_file_may_be_written_anew),
		host_claim(a_merge_keeps_both_changes_and_shows_the_foreign_one),
		host_claim(a_merge_that_would_overlap_is_refused),
		host_claim(line_numbers_are_those_of_the_version_that_was_read_in_a_merge),
		host_claim(deleted_lines_are_numbered_as_they_were_in_a_merge_too),
		host_claim(both_having_made_the_same_change_is_a_merge_without_a_write),
		host_claim(a_merge_counts_as_having_seen_what_it_showed),
		host_claim(a_merge_whose_foreign_diff_was_cut_does_not),
		host_claim(a_merge_that_failed_counts_as_nothing),
		host_claim(a_whole_file_merges_only_if_all_of_its_base_was_seen),
		host_claim(a_new_file_is_written_without_a_read),
		host_claim(a_file_that_was_not_read_is_not_overwritten),
		host_claim(a_hash_is_proof_where_that_is_set),
		host_claim(an_empty_file_may_be_overwritten_unread),
		host_claim(a_refused_write_names_the_lines_it_would_drop),
		host_claim(a_write_over_bytes_that_are_not_utf8_is_refused_once),
		host_claim(a_write_that_is_merged_is_asked_for_its_losses_too),
		host_claim(a_write_that_drops_most_of_a_file_is_refused_once),
		host_claim(a_patch_that_drops_most_of_a_file_is_refused_once),
		host_claim(an_edit_gets_through_against_a_writer_that_never_rests),
		host_claim(parts_that_were_read_add_up),
		host_claim(knowing_the_hash_is_not_having_seen_the_file),
		host_claim(writing_what_is_there_is_a_noop_whoever_wrote_it),
		host_claim(edits_are_applied_in_order_and_all_or_none),
		host_claim(several_matches_are_refused_with_all_their_lines),
		host_claim(an_empty_old_text_creates_a_file),
		host_claim(an_empty_old_text_fills_an_empty_file),
		host_claim(creation_asks_for_the_ending_too),
		host_claim(new_text_cannot_make_a_file_binary),
		host_claim(a_dry_run_changes_nothing),
		host_claim(the_diff_of_a_dry_run_is_taken_by_patch_and_git),
		host_claim(a_diff_names_the_file_below_the_root),
		host_claim(reading_gives_the_text_as_it_is),
		host_claim(reading_pages_through_a_long_file),
		host_claim(a_page_is_of_the_file_that_is_there),
		host_claim(a_page_shows_what_the_times_do_not_tell),
		host_claim(an_edit_meets_what_the_times_do_not_tell),
		host_claim(offset_and_limit_pick_lines),
		host_claim(line_numbers_are_put_in_front_on_request),
		host_claim(bytes_that_are_not_utf8_are_shown_as_such),
		host_claim(a_line_longer_than_a_page_is_continued_by_byte),
		host_claim(the_lines_after_the_head_are_within_reach),
		host_claim(a_page_says_all_the_lines_that_it_has),
		host_claim(a_file_without_its_directory_is_not_found),
		host_claim(a_new_file_gets_its_directories),
		host_claim(a_file_that_is_refused_gets_no_directories),
		host_claim(text_for_bytes_that_are_not_utf8_matches_nothing),
		host_claim(a_session_is_told_that_it_wrote_the_version_itself),
		host_claim(a_gap_in_a_long_line_is_not_seen),
		host_claim(a_late_write_is_told_by_the_next_call),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
