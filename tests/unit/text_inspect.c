/* text_inspect as it is called. */
#include "lib/tools.h"

#define TOOL "text_inspect"

static const char doc[] =
	"---\n"
	"title: A\n"
	"tags: [x]\n"
	"---\n"
	"# Intro {#start}\n"
	"\n"
	"Some text.\n"
	"\n"
	"```sh\n"
	"# no heading\n"
	"```\n"
	"\n"
	"Setup\n"
	"-----\n"
	"More text.\n";

static void Run_StructureMode_ReturnsFileHash(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	call(host, TOOL, "{'filePath': 'a.md', 'mode': 'structure'}");
	const char *hash = hash_of_answer();
	assert_int_equal(strlen(hash), 16);
	assert_int_equal(strspn(hash, "0123456789abcdef"), 16);
}

static void Run_StructureMode_FileHash_ChangesWhenContentChanges(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	call(host, TOOL, "{'filePath': 'a.md'}");
	const char *hash = hash_of_answer();
	dir_write(host->dir, "a.md", doc + 1);
	call(host, TOOL, "{'filePath': 'a.md'}");
	assert_string_not_equal(hash_of_answer(), hash);
}

static void structure_lists_front_matter_headings_code_and_anchors(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	call(host, "TextInspect", "{'filePath': 'a.md'}");
	expect_str("format", "markdown");
	expect_int("totalLines", 15);
	expect_str("fileSize", "104B");
	expect_int("structure.frontmatter.startLine", 1);
	expect_int("structure.frontmatter.endLine", 4);
	expect_count("structure.frontmatter.keys", 2);
	expect_str("structure.frontmatter.keys.1", "tags");
	expect_count("structure.headings", 2);
	expect_int("structure.headings.0.level", 1);
	expect_int("structure.headings.0.line", 5);
	expect_str("structure.headings.1.text", "Setup");
	expect_int("structure.headings.1.level", 2);
	expect_int("structure.headings.1.line", 13);
	expect_count("structure.codeBlocks", 1);
	expect_int("structure.codeBlocks.0.startLine", 9);
	expect_int("structure.codeBlocks.0.endLine", 11);
	expect_str("structure.codeBlocks.0.language", "sh");
	expect_str("structure.anchors.0.id", "start");
	expect_int("structure.anchors.0.line", 5);
}

static void structure_of_plain_text_is_sections_and_groups(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.ini", "[one]\nkey=1\n\n[two]\nkey=2\n");
	call(host, TOOL, "{'filePath': 'a.ini'}");
	expect_str("format", "text");
	expect_count("structure.sections", 2);
	expect_str("structure.sections.1.marker", "[two]");
	expect_int("structure.sections.1.line", 4);
	expect_none("structure.headings");
}

static void an_empty_file_has_a_structure_too(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", "");
	dir_write(host->dir, "a.txt", "");
	call(host, TOOL, "{'filePath': 'a.md'}");
	expect_int("totalLines", 0);
	expect_str("fileSize", "0B");
	expect_count("structure.headings", 0);
	call(host, TOOL, "{'filePath': 'a.txt'}");
	call(host, TOOL, "{'filePath': 'a.txt', 'mode': 'search', 'query': 'x'}");
	expect_int("totalMatches", 0);
	call(host, TOOL, "{'filePath': 'a.txt', 'mode': 'lines', 'query': '5-9'}");
	expect_count("lines", 0);
}

static void search_finds_lines_and_the_heading_above(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	call(host, TOOL, "{'filePath': 'a.md', 'mode': 'Search', 'query': 'TEXT'}");
	expect_str("query", "TEXT");
	expect_int("totalMatches", 2);
	expect_int("matches.0.line", 7);
	expect_int("matches.0.column", 6);
	expect_str("matches.0.text", "Some text.");
	expect_int("matches.0.nearestHeading.line", 5);
	expect_str("matches.1.nearestHeading.text", "Setup");
	expect_none("matches.0.context");
}

static void search_takes_expressions_and_context(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "one\ntwo\nthree\nfour\n");
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'mode': 'search', 'query': '^t', 'regex': true, 'context': 1}");
	expect_true("isRegex");
	expect_int("totalMatches", 2);
	expect_str("matches.0.context.before.0", "one");
	expect_str("matches.0.context.after.0", "three");
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.txt', 'mode': 'search', 'query': '(', 'regex': true}");
	refuse(host, STET_E_INVALID, TOOL, "{'filePath': 'a.txt', 'mode': 'search', 'query': ''}");
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.txt', 'mode': 'search', 'query': 'x', 'context': 21}");
	expect_text("0 to 20");
}

static void matches_are_capped_and_the_total_is_told(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 500; i++)
		st_buf_adds(&text, "match\n");
	dir_write(host->dir, "a.txt", text.ptr);
	call(host, TOOL, "{'filePath': 'a.txt', 'mode': 'search', 'query': 'match'}");
	expect_int("totalMatches", 500);
	expect_count("matches", 200);
}

static void lines_come_by_ranges_clamped_to_the_file(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\r\n3\n4\n5");
	call(host, TOOL, "{'filePath': 'a.txt', 'mode': 'lines', 'query': '2,4-90'}");
	expect_count("lines", 3);
	expect_int("lines.0.number", 2);
	expect_str("lines.0.text", "2");
	expect_int("lines.2.number", 5);
	call(host, TOOL, "{'filePath': 'a.txt', 'mode': 'lines', 'query': '4-'}");
	expect_count("lines", 2);
	refuse(host, STET_E_INVALID, TOOL, "{'filePath': 'a.txt', 'mode': 'lines', 'query': 'x'}");
	refuse(host, STET_E_INVALID, TOOL, "{'filePath': 'a.txt', 'mode': 'lines'}");
	expect_text("needs \"query\"");
}

/* ---- what was shown counts as seen, and no more ---- */

static void lines_that_were_shown_count_as_seen(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\n3\n");
	call(host, TOOL, "{'filePath': 'a.txt', 'mode': 'lines', 'query': '1-2'}");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'x'}");
	expect_text("line 3.");
	call(host, TOOL, "{'filePath': 'a.txt', 'mode': 'search', 'query': '3'}");
	call(host, "write_file", "{'path': 'a.txt', 'content': 'x'}");
}

static void a_line_that_was_cut_does_not_count_as_seen(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, "short\n");
	for (int i = 0; i < 100; i++)
		st_buf_adds(&text, "long ");
	st_buf_adds(&text, "needle\nshort again\n");
	dir_write(host->dir, "a.txt", text.ptr);
	call(host, TOOL, "{'filePath': 'a.txt', 'mode': 'search', 'query': 'needle', 'context': 1}");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'x'}");
	expect_text("Not sent to you so far: line 2.");
	call(host, TOOL, "{'filePath': 'a.txt', 'mode': 'search', 'query': 'short', 'context': 1}");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'x'}");
	expect_file(host, "a.txt", text.ptr);
}

static void structure_shows_no_lines(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", "# One\n");
	call(host, TOOL, "{'filePath': 'a.md'}");
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.md', 'content': 'x'}");
	expect_str("reason", "unseen");
}

/* ---- bounds ---- */

static void no_answer_is_large_whatever_the_file_is(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	static const char *const modes[] = {"'mode': 'structure'", "'mode': 'lines', 'query': '1-'",
	                                    "'mode': 'search', 'query': 'a', 'context': 20"};
	static const char *const starts[] = {"# ", "```", "<a id=\"", "---\n", "[", ""};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		st_buf_clear(&text);
		st_buf_adds(&text, starts[i]);
		for (int k = 0; k < 4 << 20; k++)
			st_buf_addc(&text, 'a');
		st_buf_adds(&text, i == 2 ? "\">\n" : i == 3 ? ": 1\n---\n" : i == 4 ? "]\n" : "\n");
		dir_write(host->dir, "a.md", text.ptr);
		dir_write(host->dir, "a.ini", text.ptr);
		for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
			call(host, TOOL, "{'filePath': 'a.md', %s}", modes[k]);
			assert_true(whole_answer().len < 1 << 20);
			call(host, TOOL, "{'filePath': 'a.ini', %s}", modes[k]);
			assert_true(whole_answer().len < 1 << 20);
		}
	}
}

static void long_lists_are_cut_visibly(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 3000; i++)
		st_buf_addf(&text, "# %d\n", i);
	dir_write(host->dir, "a.md", text.ptr);
	call(host, TOOL, "{'filePath': 'a.md'}");
	size_t listed = yyjson_arr_size(look("structure.headings"));
	assert_true(listed > 300 && listed < 1000 && strlen(said(0)) <= 20000);
	expect_part("note", "of 3000 headings are listed.");
	call(host, TOOL, "{'filePath': 'a.md', 'mode': 'lines', 'query': '1-'}");
	listed = yyjson_arr_size(look("lines"));
	assert_true(listed > 300 && listed < 1000 && strlen(said(0)) <= 20000);
	char next[32];
	snprintf(next, sizeof next, "\"%zu-\"", listed + 1);
	expect_part("note", next);

	st_buf_clear(&text);
	st_buf_adds(&text, "---\n");
	for (int i = 0; i < 3000; i++)
		st_buf_addf(&text, "key%d: 1\n", i);
	st_buf_adds(&text, "---\n");
	dir_write(host->dir, "a.md", text.ptr);
	call(host, TOOL, "{'filePath': 'a.md'}");
	listed = yyjson_arr_size(look("structure.frontmatter.keys"));
	assert_true(listed > 1000 && listed < 2500 && strlen(said(0)) <= 20000);
	expect_part("note", "3000");
}

static void bytes_that_are_not_utf8_are_shown_as_such(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", "# caf\xE9\n\nplain\n");
	call(host, TOOL, "{'filePath': 'a.md', 'mode': 'lines', 'query': '1-'}");
	expect_str("lines.0.text", "# caf\xEF\xBF\xBD");
	expect_true("lossy");
	call(host, TOOL, "{'filePath': 'a.md', 'mode': 'lines', 'query': '3'}");
	expect_none("lossy");
	call(host, TOOL, "{'filePath': 'a.md'}");
	expect_str("structure.headings.0.text", "caf\xEF\xBF\xBD");
	expect_true("lossy");
	call(host, TOOL, "{'filePath': 'a.md', 'mode': 'search', 'query': 'caf'}");
	expect_true("lossy");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(Run_StructureMode_ReturnsFileHash),
		host_claim(Run_StructureMode_FileHash_ChangesWhenContentChanges),
		host_claim(structure_lists_front_matter_headings_code_and_anchors),
		host_claim(structure_of_plain_text_is_sections_and_groups),
		host_claim(an_empty_file_has_a_structure_too),
		host_claim(search_finds_lines_and_the_heading_above),
		host_claim(search_takes_expressions_and_context),
		host_claim(matches_are_capped_and_the_total_is_told),
		host_claim(lines_come_by_ranges_clamped_to_the_file),
		host_claim(lines_that_were_shown_count_as_seen),
		host_claim(a_line_that_was_cut_does_not_count_as_seen),
		host_claim(structure_shows_no_lines),
		host_claim(no_answer_is_large_whatever_the_file_is),
		host_claim(long_lists_are_cut_visibly),
		host_claim(bytes_that_are_not_utf8_are_shown_as_such),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
