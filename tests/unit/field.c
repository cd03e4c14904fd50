/*
 * What went wrong elsewhere: the faults of the tools that these took the place
 * of, and what users of other agents complain about.
 */
#include <pthread.h>
#include <sys/xattr.h>
#include <utime.h>

#include "lib/tools.h"

static void replace(struct host *host, const char *name, const char *old_text,
                    const char *new_text) {
	call(host, "text_replace", "{'filePath': '%s', 'oldText': %s, 'newText': %s}", name,
	     quoted(st_str(old_text)), quoted(st_str(new_text)));
}

static void patch_lines(struct host *host, const char *name, int line, const char *content) {
	call(host, "read_file", "{'path': '%s'}", name);
	call(host, "text_patch",
	     "{'filePath': '%s', 'operation': 'replace', 'target': {'lines': {'start': %d}}, "
	     "'content': %s}",
	     name, line, quoted(st_str(content)));
}

/* ---- the predecessor's faults ---- */

/* fault 1 */
static void a_changed_line_end_or_final_newline_is_seen(void **state) {
	struct host *host = *state;
	static const char *const versions[] = {"one\ntwo\n", "one\r\ntwo\n", "one\ntwo",
	                                       "one\ntwo\r\n"};
	for (size_t i = 1; i < sizeof versions / sizeof *versions; i++) {
		dir_write(host->dir, "a.txt", versions[0]);
		call(host, "text_inspect", "{'filePath': 'a.txt'}");
		const char *hash = hash_of_answer();
		dir_write(host->dir, "a.txt", versions[i]);
		refuse(host, STET_E_CONFLICT, "text_replace",
		       "{'filePath': 'a.txt', 'oldText': 'one', 'newText': '1', 'expectedHash': '%s'}",
		       hash);
		expect_file(host, "a.txt", versions[i]);
	}
}

/* fault 2 */
static void a_patch_leaves_line_ends_mark_and_final_newline_alone(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt",
	          "\xEF\xBB\xBF"
	          "1\r\n2\n3\r4\r\n5");
	patch_lines(host, "a.txt", 1, "one");
	patch_lines(host, "a.txt", 4, "four\n");
	patch_lines(host, "a.txt", 5, "five\n");
	expect_file(host, "a.txt", "\xEF\xBB\xBFone\r\n2\n3\rfour\r\nfive");
}

/* fault 3 */
static void nested_indentation_survives_preserve_indent(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.py", "class A:\n    def f(self):\n        pass\n");
	call(host, "read_file", "{'path': 'a.py'}");
	call(
		host, "text_patch",
		"{'filePath': 'a.py', 'operation': 'replace', 'target': {'lines': {'start': 2, 'end': 3}}, "
		"'content': 'def g(self):\\n    if self:\\n        return 1\\n'}");
	expect_file(host, "a.py",
	            "class A:\n    def g(self):\n        if self:\n            return 1\n");
}

/* fault 4 */
static void no_target_finds_a_heading_inside_a_fence(void **state) {
	struct host *host = *state;
	static const char text[] = "```sh\n# Setup\n```\n\n# Setup\ntext\n\n~~~\n# Setup\n~~~\n";
	static const char *const targets[] = {"heading", "beforeHeading", "appendToSection"};
	static const char *const results[] = {
		"```sh\n# Setup\n```\n\n# Setup\nX\ntext\n\n~~~\n# Setup\n~~~\n",
		"```sh\n# Setup\n```\n\nX\n# Setup\ntext\n\n~~~\n# Setup\n~~~\n",
		"```sh\n# Setup\n```\n\n# Setup\ntext\n\n~~~\n# Setup\n~~~\nX\n",
	};
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		char name[32];
		snprintf(name, sizeof name, "%zu.md", i);
		dir_write(host->dir, name, text);
		call(host, "text_patch",
		     "{'filePath': '%s', 'operation': 'insert', 'target': {'%s': '# Setup'}, 'content': "
		     "'X'}",
		     name, targets[i]);
		expect_file(host, name, results[i]);
	}
}

/* fault 5 */
static void targets_to_insert_at_refuse_replace_and_delete(void **state) {
	struct host *host = *state;
	static const char text[] = "# A\none\n# B\ntwo\n";
	static const char *const targets[] = {"beforeHeading", "appendToSection"};
	dir_write(host->dir, "a.md", text);
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		refuse(host, STET_E_INVALID, "text_patch",
		       "{'filePath': 'a.md', 'operation': 'delete', 'target': {'%s': 'B'}}", targets[i]);
		expect_text("Only insert goes with");
		refuse(
			host, STET_E_INVALID, "text_patch",
			"{'filePath': 'a.md', 'operation': 'replace', 'target': {'%s': 'B'}, 'content': 'x'}",
			targets[i]);
		expect_text("Only insert goes with");
	}
	expect_file(host, "a.md", text);
}

/* fault 6 */
static void an_unknown_occurrence_is_not_the_first(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "x x\n");
	refuse(host, STET_E_INVALID, "text_replace",
	       "{'filePath': 'a.txt', 'oldText': 'x', 'newText': 'y', 'occurrence': 'second'}");
	expect_text("\"first\", \"last\", \"all\", or a number");
	expect_file(host, "a.txt", "x x\n");
}

/* fault 7 */
static void affected_lines_are_those_of_the_new_text_from_first_to_last(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "x\n2\n3\nx\n5\n");
	replace(host, "a.txt", "3", "3\n3\n3");
	expect_span("affectedLines", 3, 5);
	call(host, "text_replace",
	     "{'filePath': 'a.txt', 'oldText': 'x', 'newText': 'y\\ny', 'occurrence': 'all'}");
	expect_span("affectedLines", 1, 8);
}

/* fault 8 */
static void every_kind_of_fence_is_a_code_block(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md",
	          "````\n```\n````\n\n~~~c\nb\n~~~\n\n  ```\n  c\n  ```\n\n```\nopen\n");
	call(host, "text_inspect", "{'filePath': 'a.md'}");
	expect_count("structure.codeBlocks", 4);
	expect_int("structure.codeBlocks.0.endLine", 3);
	expect_str("structure.codeBlocks.1.language", "c");
	expect_int("structure.codeBlocks.2.startLine", 9);
	expect_int("structure.codeBlocks.3.startLine", 13);
}

/* fault 9 */
static void front_matter_keys_stay_aligned(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md",
	          "---\ntitle: x\nno colon here\nlist:\n  - a: b\ntags: y\n---\n# A\n");
	call(host, "text_inspect", "{'filePath': 'a.md'}");
	expect_count("structure.frontmatter.keys", 3);
	expect_str("structure.frontmatter.keys.0", "title");
	expect_str("structure.frontmatter.keys.1", "list");
	expect_str("structure.frontmatter.keys.2", "tags");
	expect_count("structure.headings", 1);
}

/* fault 10 */
static void a_sibling_with_the_same_prefix_and_a_link_are_outside(void **state) {
	struct host *host = *state;
	char sibling[300], file[320];
	snprintf(sibling, sizeof sibling, "%s-2", host->dir->path);
	snprintf(file, sizeof file, "%s/a.txt", sibling);
	assert_int_equal(mkdir(sibling, 0755), 0);
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "secret\n", 7), 7);
	close(fd);
	assert_int_equal(symlink(file, dir_at(host->dir, "link.txt")), 0);
	assert_int_equal(symlink(sibling, dir_at(host->dir, "dir")), 0);
	const char *const paths[] = {file, "link.txt", "dir/a.txt"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		int code = try_call(host, "text_replace",
		                    "{'filePath': '%s', 'oldText': 'secret', 'newText': 'x'}", paths[i]);
		assert_int_equal(code, STET_E_OUTSIDE);
		expect_no_text("secret");
	}
	unlink(file);
	rmdir(sibling);
}

/* fault 11 and complaint 11: edits of several sessions at once, of which none may get lost. */
enum { WRITERS = 4, EDITS = 15 };

struct writer {
	struct host *host;
	int number;
	int failed;
};

static void *write_often(void *argument) {
	struct writer *writer = argument;
	struct stet_session *session = NULL;
	if (stet_session_open(writer->host->ws, "writer", &session, NULL) < 0)
		return NULL;
	for (int i = 0; i < EDITS; i++) {
		char args[200];
		snprintf(args, sizeof args,
		         "{\"filePath\": \"a.txt\", \"oldText\": \"end %d\\n\", \"newText\": \"%d.%d\\nend "
		         "%d\\n\"}",
		         writer->number, writer->number, i, writer->number);
		int code = STET_E_CONFLICT;
		for (int tries = 0; tries < 1000 && (code == STET_E_CONFLICT || code == STET_E_BUSY);
		     tries++) {
			char *answer = NULL;
			code = stet_call(session, "text_replace", args, strlen(args), &answer, NULL, NULL);
			stet_free(answer);
		}
		writer->failed += code != 0;
	}
	stet_session_close(session);
	return NULL;
}

static void of_edits_made_at_once_none_gets_lost(void **state) {
	struct host *host = *state;
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_DURABLE, 0, NULL), 0);
	dir_write(host->dir, "a.txt", "end 0\nend 1\nend 2\nend 3\n");
	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){host, i, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, write_often, &writers[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(writers[i].failed, 0);
	}
	st_auto(st_buf) expected = ST_BUF_INIT;
	for (int i = 0; i < WRITERS; i++) {
		for (int k = 0; k < EDITS; k++)
			st_buf_addf(&expected, "%d.%d\n", i, k);
		st_buf_addf(&expected, "end %d\n", i);
	}
	expect_file(host, "a.txt", expected.ptr);
}

/* fault 12 */
static void setext_closed_and_repeated_headings_are_headings(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", "Title\n=====\n\n## Closed ##\n\n## Same\none\n\n## Same\ntwo\n");
	call(host, "text_inspect", "{'filePath': 'a.md'}");
	expect_count("structure.headings", 4);
	expect_str("structure.headings.0.text", "Title");
	expect_str("structure.headings.1.text", "Closed");
	call(host, "text_patch",
	     "{'filePath': 'a.md', 'operation': 'replace', 'target': {'heading': 'Title'}, 'content': "
	     "'# New'}");
	call(host, "read_file", "{'path': 'a.md'}");
	call(host, "text_patch",
	     "{'filePath': 'a.md', 'operation': 'delete', 'target': {'wholeSection': '## Same'}}");
	expect_part("note", "occurrence");
	expect_file(host, "a.md", "# New\n\n## Closed ##\n\n## Same\ntwo\n");
}

/* fault 13 */
static void nothing_but_the_file_is_left_in_its_directory(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	dir_write(host->dir, "a.txt.tmp", "somebody's\n");
	for (int i = 0; i < 10; i++)
		replace(host, "a.txt", i % 2 ? "two" : "one", i % 2 ? "one" : "two");
	expect_file(host, "a.txt.tmp", "somebody's\n");
	assert_int_equal(dir_count(host->dir, "."), 2 + dir_has(host->dir, ".stet"));
}

/* fault 14 */
static void an_empty_old_text_is_refused_and_ends(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	static const char *const occurrences[] = {"first", "last", "all", "3"};
	for (size_t i = 0; i < sizeof occurrences / sizeof *occurrences; i++) {
		refuse(host, STET_E_INVALID, "text_replace",
		       "{'filePath': 'a.txt', 'oldText': '', 'newText': 'x', 'occurrence': '%s'}",
		       occurrences[i]);
		expect_text("oldText is empty");
	}
	refuse(host, STET_E_INVALID, "edit_file",
	       "{'path': 'a.txt', 'edits': [{'oldText': 'one', 'newText': '1'}, {'oldText': '', "
	       "'newText': 'x'}]}");
	expect_file(host, "a.txt", "one\n");
}

/* ---- false alarms ---- */

/* complaints 1, 2, 3, 5: equal bytes are no conflict, whatever the clock and the inode say. */
static void equal_bytes_are_never_a_conflict(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	call(host, "read_file", "{'path': 'a.txt'}");
	replace(host, "a.txt", "one", "two");
	dir_write(host->dir, "a.txt", "two\n");
	replace(host, "a.txt", "two", "three");
	assert_int_equal(utime(dir_at(host->dir, "a.txt"), &(struct utimbuf){2000000000, 2000000000}),
	                 0);
	replace(host, "a.txt", "three", "four");
	assert_int_equal(utime(dir_at(host->dir, "a.txt"), &(struct utimbuf){1, 1}), 0);
	replace(host, "a.txt", "four", "five");
	dir_write(host->dir, "b.txt", "five\n");
	assert_int_equal(rename(dir_at(host->dir, "b.txt"), dir_at(host->dir, "a.txt")), 0);
	replace(host, "a.txt", "five", "six");
	assert_int_equal(chmod(dir_at(host->dir, "a.txt"), 0600), 0);
	call(host, "write_file", "{'path': 'a.txt', 'content': 'seven\\n'}");
	expect_file(host, "a.txt", "seven\n");
}

/* complaint 2: the other way round, a change that keeps mtime and size is seen. */
static void a_change_with_the_old_mtime_and_size_is_seen(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	call(host, "read_file", "{'path': 'a.txt'}");
	struct stat st;
	assert_int_equal(stat(dir_at(host->dir, "a.txt"), &st), 0);
	dir_write(host->dir, "a.txt", "two\n");
	assert_int_equal(
		utimensat(host->dir->fd, "a.txt", (struct timespec[]){st.st_atim, st.st_mtim}, 0), 0);
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	expect_file(host, "a.txt", "two\n");
}

/* complaint 4: no file gets stuck; each refusal leads on. */
static void a_path_never_gets_stuck(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "0\n");
	call(host, "read_file", "{'path': 'a.txt'}");
	for (int i = 0; i < 20; i++) {
		char text[32];
		snprintf(text, sizeof text, "external %d\n", i);
		dir_write(host->dir, "a.txt", text);
		refuse(host, STET_E_CONFLICT, "edit_file",
		       "{'path': 'a.txt', 'oldText': 'external', 'newText': 'mine'}");
		call(host, "edit_file", "{'path': 'a.txt', 'oldText': 'external', 'newText': 'mine'}");
	}
}

/* complaint 6 */
static void own_edits_are_never_external(void **state) {
	struct host *host = *state;
	call(host, "write_file", "{'path': 'a.md', 'content': '# A\\n0\\n'}");
	for (int i = 0; i < 10; i++) {
		call(host, "edit_file", "{'path': 'a.md', 'oldText': '%d\\n', 'newText': '%d\\n'}", i,
		     i + 1);
		call(host, "text_replace", "{'path': 'a.md', 'oldText': '# A', 'newText': '# A'}");
		call(host, "text_patch",
		     "{'path': 'a.md', 'operation': 'insert', 'target': {'lines': {'start': 1}}, "
		     "'content': 'x'}");
		call(host, "text_patch",
		     "{'path': 'a.md', 'operation': 'delete', 'target': {'lines': {'start': 2}}}");
	}
	call(host, "write_file", "{'path': 'a.md', 'content': 'all mine'}");
}

/* complaint 7 */
static void a_file_that_was_never_read_may_be_edited_by_its_text(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "made by the shell\n");
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': 'shell', 'newText': 'agent'}");
	expect_file(host, "a.txt", "made by the agent\n");
}

/* complaint 8: reading in parts is enough to write, and to edit. */
static void a_big_file_can_be_edited_after_a_partial_read(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 200000; i++)
		st_buf_addf(&text, "line %d\n", i);
	dir_write(host->dir, "a.txt", text.ptr);
	call(host, "read_file", "{'path': 'a.txt', 'offset': 1000, 'limit': 10}");
	call(host, "edit_file",
	     "{'path': 'a.txt', 'oldText': 'line 1003\\n', 'newText': 'changed\\n'}");
	expect_span("edits.0.affectedLines", 1004, 1004);
}

/* ---- lost edits ---- */

/* complaints 9, 10 */
static void a_whole_file_write_never_takes_away_what_was_not_seen(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	call(host, "read_file", "{'path': 'a.txt'}");
	dir_write(host->dir, "a.txt", "one\nthe user's line\n");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
	expect_part("diff", "+the user's line\n");
	expect_file(host, "a.txt", "one\nthe user's line\n");
	call(host, "write_file", "{'path': 'a.txt', 'content': 'mine, with the line of the user'}");
}

/* complaint 12: the way out of a refusal is in it. */
static void a_refused_hash_comes_with_all_that_is_needed_to_go_on(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "log.md", "# Decisions\n- one\n");
	call(host, "read_file", "{'path': 'log.md'}");
	const char *hash = hash_of_answer();
	dir_write(host->dir, "log.md", "# Decisions\n- one\n- two\n");
	refuse(host, STET_E_CONFLICT, "text_replace",
	       "{'filePath': 'log.md', 'oldText': '- one', 'newText': '- 1', 'expectedHash': '%s'}",
	       hash);
	expect_part("diff", "+- two\n");
	expect_list("stillMatches", "2");
	call(host, "text_replace",
	     "{'filePath': 'log.md', 'oldText': '- one', 'newText': '- 1', 'expectedHash': '%s'}",
	     copy_of("currentHash"));
	expect_file(host, "log.md", "# Decisions\n- 1\n- two\n");
}

/* ---- line ends, encoding, metadata ---- */

/* complaint 13 */
static void no_line_end_changes_but_those_of_the_edit(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\r\ntwo\nthree\r\nfour\r\n");
	replace(host, "a.txt", "one\ntwo", "1\n1.5\n2");
	expect_file(host, "a.txt", "1\r\n1.5\r\n2\nthree\r\nfour\r\n");
	call(host, "edit_file",
	     "{'path': 'a.txt', 'oldText': 'three\\nfour\\n', 'newText': '3\\n4\\n5\\n'}");
	expect_file(host, "a.txt", "1\r\n1.5\r\n2\n3\r\n4\r\n5\r\n");
	patch_lines(host, "a.txt", 3, "two");
	expect_file(host, "a.txt", "1\r\n1.5\r\ntwo\n3\r\n4\r\n5\r\n");
}

/* complaint 14 */
static void bytes_that_are_not_utf8_survive_every_edit(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", "# caf\xE9\none \xFF\xFE two\n\x80\n");
	replace(host, "a.md", "one", "1");
	call(host, "edit_file", "{'path': 'a.md', 'oldText': 'two', 'newText': '2'}");
	patch_lines(host, "a.md", 3, "three");
	call(host, "text_patch",
	     "{'filePath': 'a.md', 'operation': 'insert', 'target': {'lines': {'start': 0}}, "
	     "'content': 'top'}");
	expect_file(host, "a.md", "top\n# caf\xE9\n1 \xFF\xFE 2\nthree\n");
}

/* complaint 14: with a merge, too. */
static void bytes_that_are_not_utf8_survive_a_merge(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "\xE9\n2\n3\n4\n");
	call(host, "read_file", "{'path': 'a.txt'}");
	dir_write(host->dir, "a.txt", "\xE9\n2\n3\n4\n\xFF\n");
	call(host, "edit_file",
	     "{'path': 'a.txt', 'oldText': '2', 'newText': 'two', 'onStale': 'merge'}");
	expect_file(host, "a.txt", "\xE9\ntwo\n3\n4\n\xFF\n");
}

/* complaint 15 */
static void links_modes_and_attributes_stay(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "AGENTS.md", "one\n");
	assert_int_equal(symlink("AGENTS.md", dir_at(host->dir, "CLAUDE.md")), 0);
	assert_int_equal(chmod(dir_at(host->dir, "AGENTS.md"), 0755), 0);
	bool attributes = setxattr(dir_at(host->dir, "AGENTS.md"), "user.note", "kept", 4, 0) == 0;
	replace(host, "CLAUDE.md", "one", "two");
	call(host, "edit_file", "{'path': 'CLAUDE.md', 'oldText': 'two', 'newText': 'three'}");
	call(host, "read_file", "{'path': 'CLAUDE.md'}");
	call(host, "write_file", "{'path': 'CLAUDE.md', 'content': 'four\\n'}");
	struct stat st;
	assert_int_equal(lstat(dir_at(host->dir, "CLAUDE.md"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(dir_at(host->dir, "AGENTS.md"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	expect_file(host, "AGENTS.md", "four\n");
	char value[8] = "";
	if (attributes)
		assert_int_equal(getxattr(dir_at(host->dir, "AGENTS.md"), "user.note", value, sizeof value),
		                 4);
}

/* complaint 15: both names of a hard link keep showing the same file, and the answer says how. */
static void hard_links_do_not_part(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\n");
	assert_int_equal(link(dir_at(host->dir, "a.txt"), dir_at(host->dir, "b.txt")), 0);
	replace(host, "a.txt", "one", "two");
	expect_str("commit", "in-place");
	expect_file(host, "b.txt", "two\n");
}

/* ---- white space and quotes ---- */

/* complaint 16 */
static void tabs_can_be_told_from_spaces(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "int f(void) {\n\treturn 1;\n}\n");
	refuse(host, STET_E_NO_MATCH, "edit_file",
	       "{'path': 'a.c', 'oldText': '    return 1;', 'newText': '    return 2;'}");
	expect_text("line 2");
	expect_text("\\treturn 1;");
	expect_text("tab");
	expect_list("nearest", "2");
	call(host, "edit_file",
	     "{'path': 'a.c', 'oldText': '\\treturn 1;', 'newText': '\\treturn 2;'}");
	expect_file(host, "a.c", "int f(void) {\n\treturn 2;\n}\n");
}

/* complaint 17 */
static void curly_quotes_are_named_and_never_put_in(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "he said \xE2\x80\x9Chello\xE2\x80\x9D\n");
	refuse(host, STET_E_NO_MATCH, "text_replace",
	       "{'filePath': 'a.txt', 'oldText': 'said \\\"hello\\\"', 'newText': 'x'}");
	expect_text("\xE2\x80\x9Chello\xE2\x80\x9D");
	expect_text("quotation marks");
	replace(host, "a.txt", "\xE2\x80\x9Chello\xE2\x80\x9D", "\"bye\"");
	expect_file(host, "a.txt", "he said \"bye\"\n");
}

/* complaint 18 */
static void nothing_is_matched_or_changed_by_guess(void **state) {
	struct host *host = *state;
	static const char text[] = "if (a) {\n\tb();\n}\n\n";
	dir_write(host->dir, "a.c", text);
	static const char *const olds[] = {"if (a) {\\n  b();\\n}", "b(); ", "IF (A)", "b();\\n\\n}",
	                                   "  {"};
	for (size_t i = 0; i < sizeof olds / sizeof *olds; i++)
		refuse(host, STET_E_NO_MATCH, "edit_file",
		       "{'path': 'a.c', 'oldText': '%s', 'newText': 'x'}", olds[i]);
	expect_file(host, "a.c", text);
	replace(host, "a.c", "\tb();", "  \t$1 \\0 c();  ");
	expect_file(host, "a.c", "if (a) {\n  \t$1 \\0 c();  \n}\n\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(a_changed_line_end_or_final_newline_is_seen),
		host_claim(a_patch_leaves_line_ends_mark_and_final_newline_alone),
		host_claim(nested_indentation_survives_preserve_indent),
		host_claim(no_target_finds_a_heading_inside_a_fence),
		host_claim(targets_to_insert_at_refuse_replace_and_delete),
		host_claim(an_unknown_occurrence_is_not_the_first),
		host_claim(affected_lines_are_those_of_the_new_text_from_first_to_last),
		host_claim(every_kind_of_fence_is_a_code_block),
		host_claim(front_matter_keys_stay_aligned),
		host_claim(a_sibling_with_the_same_prefix_and_a_link_are_outside),
		host_claim(of_edits_made_at_once_none_gets_lost),
		host_claim(setext_closed_and_repeated_headings_are_headings),
		host_claim(nothing_but_the_file_is_left_in_its_directory),
		host_claim(an_empty_old_text_is_refused_and_ends),
		host_claim(equal_bytes_are_never_a_conflict),
		host_claim(a_change_with_the_old_mtime_and_size_is_seen),
		host_claim(a_path_never_gets_stuck),
		host_claim(own_edits_are_never_external),
		host_claim(a_file_that_was_never_read_may_be_edited_by_its_text),
		host_claim(a_big_file_can_be_edited_after_a_partial_read),
		host_claim(a_whole_file_write_never_takes_away_what_was_not_seen),
		host_claim(a_refused_hash_comes_with_all_that_is_needed_to_go_on),
		host_claim(no_line_end_changes_but_those_of_the_edit),
		host_claim(bytes_that_are_not_utf8_survive_every_edit),
		host_claim(bytes_that_are_not_utf8_survive_a_merge),
		host_claim(links_modes_and_attributes_stay),
		host_claim(hard_links_do_not_part),
		host_claim(tabs_can_be_told_from_spaces),
		host_claim(curly_quotes_are_named_and_never_put_in),
		host_claim(nothing_is_matched_or_changed_by_guess),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
