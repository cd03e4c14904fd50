/* text_patch as it is called. */
#include "lib/tools.h"

#define TOOL "text_patch"

static const char doc[] = "# Intro\nIntro text\n## Setup\nSetup text\n## Config\nConfig text";
static const char ten[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/* Lines go only if they were sent: a file that was read. */
static void given(struct host *host, const char *name, const char *text) {
	dir_write(host->dir, name, text);
	call(host, "read_file", "{'path': '%s'}", name);
}

/* ---- step 4: what was removed ---- */

static void Run_TextTarget_ThrowsArgumentException(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.md', 'operation': 'replace', 'target': {'text': 'Intro'}, 'content': "
	       "'x'}");
	expect_text("\"text\" was removed: use text_replace");
	expect_file(host, "a.md", doc);
}

static void Run_PatternTarget_ThrowsArgumentException(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.md', 'operation': 'replace', 'target': {'pattern': 'In.*'}, 'content': "
	       "'x'}");
	expect_text("\"pattern\" was removed");
	expect_text("text_inspect");
	expect_file(host, "a.md", doc);
}

static void Run_SectionTarget_ThrowsArgumentException(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "[one]\nkey=value\n");
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.txt', 'operation': 'replace', 'target': {'section': '[one]'}, "
	       "'content': 'x'}");
	expect_text("\"section\" was removed");
	expect_text("wholeSection");
	expect_file(host, "a.txt", "[one]\nkey=value\n");
}

static void an_after_heading_target_names_its_successor(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.md', 'operation': 'insert', 'target': {'afterHeading': '## Setup'}, "
	       "'content': 'x'}");
	expect_text("\"afterHeading\" was removed");
	expect_text("appendToSection");
}

static void Run_ReplaceLinesOperation_ThrowsArgumentException(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.md', 'operation': 'replaceLines', 'target': {'lines': {'start': 1, "
	       "'end': 2}}, 'content': 'x'}");
	expect_text("\"replaceLines\" was removed: use \"replace\" with the target \"lines\"");
	expect_file(host, "a.md", doc);
}

/* ---- what was there before and has to stay ---- */

static void Run_InsertBeforeHeading_InsertsContent(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'insert', 'target': {'beforeHeading': '## Setup'}, "
	     "'content': '## New\\nnew text\\n'}");
	expect_file(
		host, "a.md",
		"# Intro\nIntro text\n## New\nnew text\n## Setup\nSetup text\n## Config\nConfig text");
	expect_str("operation", "insert");
	expect_int("linesInserted", 2);
	expect_int("linesDelta", 2);
	expect_span("affectedLines", 3, 4);
}

static void Run_DeleteLines_RemovesLines(void **state) {
	struct host *host = *state;
	given(host, "a.md", "Line 1\nLine 2\nLine 3\nLine 4\nLine 5");
	call(
		host, TOOL,
		"{'filePath': 'a.md', 'operation': 'delete', 'target': {'lines': {'start': 2, 'end': 4}}}");
	expect_file(host, "a.md", "Line 1\nLine 5");
	expect_int("linesDelta", -3);
	expect_int("linesDeleted", 3);
	expect_span("affectedLines", 2, 4);
	expect_str("preview.before", "Line 2\nLine 3\nLine 4\n");
	expect_str("preview.after", "");
}

static void Run_ReplaceLines_ReplacesContent(void **state) {
	struct host *host = *state;
	given(host, "a.txt", ten);
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'Replace', 'target': {'lines': {'start': 2, 'end': "
	     "3}}, 'content': 'a\\nb\\nc\\n'}");
	expect_file(host, "a.txt", "1\na\nb\nc\n4\n5\n6\n7\n8\n9\n10\n");
	expect_int("linesChanged", 3);
	expect_int("linesDelta", 1);
	expect_str("note", "The file now has 11 lines (was 10).");
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'replace', 'target': {'lines': {'start': 1}}, "
	     "'content': 'one'}");
	expect_file(host, "a.txt", "one\na\nb\nc\n4\n5\n6\n7\n8\n9\n10\n");
}

static void Run_InsertLines_InsertsAfterEnd(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\n3");
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'insert', 'target': {'lines': {'start': 1, 'end': "
	     "2}}, 'content': 'x'}");
	expect_file(host, "a.txt", "1\n2\nx\n3");
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'insert', 'target': {'lines': {'start': 0}}, "
	     "'content': 'top\\n'}");
	expect_file(host, "a.txt", "top\n1\n2\nx\n3");
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'insert', 'target': {'lines': {'start': 5}}, "
	     "'content': 'end\\n'}");
	expect_file(host, "a.txt", "top\n1\n2\nx\n3\nend");
}

static void Run_ReplaceHeading_ReplacesHeadingLine(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'replace', 'target': {'heading': 'setup'}, 'content': "
	     "'## Installation'}");
	expect_file(host, "a.md",
	            "# Intro\nIntro text\n## Installation\nSetup text\n## Config\nConfig text");
	expect_str("preview.before", "## Setup\n");
	expect_str("preview.after", "## Installation\n");
}

static void Run_ReplaceCodeBlock_ReplacesContent(void **state) {
	struct host *host = *state;
	given(host, "a.md", "# Code\n```c\nold\n```\nText\n~~~~\nother\n~~~~\n");
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'replace', 'target': {'codeBlock': {'index': 0}}, "
	     "'content': 'new\\ncode'}");
	expect_file(host, "a.md", "# Code\n```c\nnew\ncode\n```\nText\n~~~~\nother\n~~~~\n");
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'delete', 'target': {'codeBlock': {'index': 1}}}");
	expect_file(host, "a.md", "# Code\n```c\nnew\ncode\n```\nText\n~~~~\n~~~~\n");
}

static void Run_HeadingNotFound_ThrowsWithSimilar(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", "# Introduction\n## Installation\n## Configuration\n");
	refuse(host, STET_E_NO_MATCH, TOOL,
	       "{'filePath': 'a.md', 'operation': 'replace', 'target': {'heading': '## Instalation'}, "
	       "'content': '## Setup'}");
	expect_text("Heading \"## Instalation\" not found");
	expect_text("\"## Installation\" (line 2)");
}

static void Run_MissingContentForReplace_ThrowsException(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.md', 'operation': 'replace', 'target': {'lines': {'start': 1}}}");
	expect_text("needs content");
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.md', 'operation': 'insert', 'target': {'heading': 'Setup'}}");
	expect_text("needs content");
	expect_file(host, "a.md", doc);
}

static void Run_PathOutsideVault_ThrowsException(void **state) {
	struct host *host = *state;
	refuse(host, STET_E_OUTSIDE, TOOL,
	       "{'filePath': '/etc/passwd', 'operation': 'replace', 'target': {'lines': {'start': 1}}, "
	       "'content': 'x'}");
}

static void Run_DisallowedExtension_ThrowsException(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_allow(host->ws, ".md, .txt", NULL), 0);
	dir_write(host->dir, "a.exe", "text\n");
	refuse(host, STET_E_EXTENSION, TOOL,
	       "{'filePath': 'a.exe', 'operation': 'replace', 'target': {'lines': {'start': 1}}, "
	       "'content': 'x'}");
	expect_text(".md, .txt");
}

/* ---- step 5 ---- */

static void Run_AppendToSection_InsertsAtEndOfSection(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'insert', 'target': {'appendToSection': '## Setup'}, "
	     "'content': 'New text'}");
	expect_file(host, "a.md",
	            "# Intro\nIntro text\n## Setup\nSetup text\nNew text\n## Config\nConfig text");
	expect_span("affectedLines", 5, 5);
	expect_str("context.beforeLines.2.text", "Setup text");
	expect_str("context.afterLines.0.text", "## Config");
}

static void Run_AppendToSection_LastSection_InsertsAtEndOfFile(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'insert', 'target': {'appendToSection': '## Config'}, "
	     "'content': 'The end\\n'}");
	expect_file(host, "a.md",
	            "# Intro\nIntro text\n## Setup\nSetup text\n## Config\nConfig text\nThe end");
}

static void Run_AppendToSection_NonMarkdown_Throws(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", doc);
	refuse(host, STET_E_INVALID, TOOL,
	       "{'filePath': 'a.txt', 'operation': 'insert', 'target': {'appendToSection': '## "
	       "Setup'}, 'content': 'x'}");
	expect_text("Markdown");
	expect_file(host, "a.txt", doc);
}

static void Run_AppendToSection_HeadingNotFound_Throws(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	refuse(host, STET_E_NO_MATCH, TOOL,
	       "{'filePath': 'a.md', 'operation': 'insert', 'target': {'appendToSection': '## "
	       "Nowhere'}, 'content': 'x'}");
	expect_text("## Nowhere");
	expect_file(host, "a.md", doc);
}

/* ---- step 6 ---- */

static void Run_ReturnsContextWindow_AfterEdit(void **state) {
	struct host *host = *state;
	given(host, "a.txt", ten);
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'replace', 'target': {'lines': {'start': 5, 'end': "
	     "6}}, 'content': 'a\\nb\\nc\\nd'}");
	expect_count("context.beforeLines", 3);
	expect_int("context.beforeLines.0.number", 2);
	expect_str("context.beforeLines.2.text", "4");
	expect_count("context.afterLines", 3);
	expect_int("context.afterLines.0.number", 9);
	expect_str("context.afterLines.0.text", "7");
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 5, 'end': "
	     "8}}}");
	expect_int("context.beforeLines.2.number", 4);
	expect_int("context.afterLines.0.number", 5);
	expect_str("context.afterLines.0.text", "7");
}

static void Run_ReturnsFileHash_AfterEdit(void **state) {
	struct host *host = *state;
	given(host, "a.txt", ten);
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 5}}}");
	const char *hash = hash_of_answer();
	assert_int_equal(strlen(hash), 16);
	call(host, "text_inspect", "{'filePath': 'a.txt'}");
	expect_str("fileHash", hash);
}

static void Run_ExpectedHashMatches_ProceedsWithEdit(void **state) {
	struct host *host = *state;
	given(host, "a.txt", ten);
	call(host, "text_inspect", "{'filePath': 'a.txt'}");
	for (int i = 0; i < 9; i++)
		call(host, TOOL,
		     "{'filePath': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 1}}, "
		     "'expectedHash': '%s'}",
		     hash_of_answer());
	expect_file(host, "a.txt", "10\n");
}

static void Run_ExpectedHashMismatches_ThrowsBeforeEditing(void **state) {
	struct host *host = *state;
	given(host, "a.txt", ten);
	call(host, "text_inspect", "{'filePath': 'a.txt'}");
	const char *hash = hash_of_answer();
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 1}}, "
	     "'expectedHash': '%s'}",
	     hash);
	const char *current = hash_of_answer();
	refuse(host, STET_E_CONFLICT, TOOL,
	       "{'filePath': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 1}}, "
	       "'expectedHash': '%s'}",
	       hash);
	expect_str("currentHash", current);
	expect_file(host, "a.txt", ten + 2);
}

static void Run_ContextWindow_AtFileStart_HasNoBeforeLines(void **state) {
	struct host *host = *state;
	given(host, "a.txt", ten);
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'replace', 'target': {'lines': {'start': 1}}, "
	     "'content': 'x'}");
	expect_count("context.beforeLines", 0);
	expect_count("context.afterLines", 3);
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 1}}}");
	expect_count("context.beforeLines", 0);
	expect_int("context.afterLines.0.number", 1);
	expect_str("context.afterLines.0.text", "2");
}

static void Run_ContextWindow_AtFileEnd_HasNoAfterLines(void **state) {
	struct host *host = *state;
	given(host, "a.txt", ten);
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'replace', 'target': {'lines': {'start': 10}}, "
	     "'content': 'x'}");
	expect_count("context.beforeLines", 3);
	expect_count("context.afterLines", 0);
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'delete', 'target': {'lines': {'start': 10}}}");
	expect_int("context.beforeLines.2.number", 9);
	expect_count("context.afterLines", 0);
}

/* ---- our own ---- */

static void a_whole_section_is_its_heading_and_body(void **state) {
	struct host *host = *state;
	given(host, "a.md", doc);
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'replace', 'target': {'wholeSection': '## Setup'}, "
	     "'content': '## Run\\nmake\\n'}");
	expect_file(host, "a.md", "# Intro\nIntro text\n## Run\nmake\n## Config\nConfig text");
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'delete', 'target': {'wholeSection': 'Config'}}");
	expect_file(host, "a.md", "# Intro\nIntro text\n## Run\nmake");
}

static void a_target_may_be_a_string_that_holds_it(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", doc);
	call(host, "TextPatch",
	     "{'filePath': 'a.md', 'operation': 'insert', 'target': %s, 'content': 'More'}",
	     quoted(ST_STR("{\"appendToSection\": \"## Setup\"}")));
	expect_file(host, "a.md",
	            "# Intro\nIntro text\n## Setup\nSetup text\nMore\n## Config\nConfig text");
}

static void of_several_headings_the_first_is_taken_and_the_others_are_named(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", "# A\n## Notes\none\n# B\n## Notes\ntwo\n");
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'insert', 'target': {'appendToSection': 'Notes'}, "
	     "'content': 'x'}");
	expect_file(host, "a.md", "# A\n## Notes\none\nx\n# B\n## Notes\ntwo\n");
	expect_part("note", "occurrence");
	expect_part("note", "the first, in line 2, was taken. The other is in line 6;");
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'insert', 'target': {'appendToSection': {'text': "
	     "'Notes', 'occurrence': 2}}, 'content': 'y'}");
	expect_file(host, "a.md", "# A\n## Notes\none\nx\n# B\n## Notes\ntwo\ny\n");
}

static void the_note_has_the_lines_after_the_edit(void **state) {
	struct host *host = *state;
	given(host, "a.md", "# A\nx\ny\n# A\n## B\n# A\n");
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'delete', 'target': {'wholeSection': 'A'}}");
	expect_file(host, "a.md", "# A\n## B\n# A\n");
	expect_part("note",
	            "3 headings are called \"A\"; the first, in line 1, was taken. The others are "
	            "in lines 1, 3;");
	given(host, "b.md", "# A\n# A\n");
	call(host, TOOL,
	     "{'filePath': 'b.md', 'operation': 'insert', 'target': {'beforeHeading': 'A'}, 'content': "
	     "'text'}");
	expect_part("note", "the first, in line 2, was taken. The other is in line 3;");
}

static void comments_of_obsidian_hold_no_headings(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md",
	          "# A\n%%\n## Hidden\n%%\n## Seen %% not this %%\n```\n%%\n```\n## Last\n%% open\n");
	call(host, "text_inspect", "{'filePath': 'a.md'}");
	expect_no_text("Hidden");
	expect_text("Last");
	refuse(host, STET_E_NO_MATCH, TOOL,
	       "{'filePath': 'a.md', 'operation': 'delete', 'target': {'heading': 'Hidden'}}");
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'replace', 'target': {'heading': 'Seen'}, 'content': "
	     "'## "
	     "Shown'}");
	expect_file(host, "a.md", "# A\n%%\n## Hidden\n%%\n## Shown\n```\n%%\n```\n## Last\n%% open\n");
	call(host, TOOL,
	     "{'filePath': 'a.md', 'operation': 'insert', 'target': {'appendToSection': 'Last'}, "
	     "'content': 'x'}");
	expect_file(host, "a.md",
	            "# A\n%%\n## Hidden\n%%\n## Shown\n```\n%%\n```\n## Last\n%% open\nx\n");
}

static void a_patch_that_changes_nothing_is_a_noop(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", ten);
	struct stat before, after;
	assert_int_equal(stat(dir_at(host->dir, "a.txt"), &before), 0);
	call(host, TOOL,
	     "{'filePath': 'a.txt', 'operation': 'replace', 'target': {'lines': {'start': 3}}, "
	     "'content': '3'}");
	expect_true("noop");
	expect_str("commit", "none");
	assert_int_equal(stat(dir_at(host->dir, "a.txt"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

/* A link is of the kind of the file that it leads to. */
static void what_is_markdown_is_told_by_the_file_itself(void **state) {
	struct host *host = *state;
	given(host, "a.md", doc);
	assert_int_equal(symlink("a.md", dir_at(host->dir, "README")), 0);
	call(host, "text_inspect", "{'filePath': 'README'}");
	expect_str("format", "markdown");
	call(host, TOOL,
	     "{'filePath': 'README', 'operation': 'delete', 'target': {'wholeSection': 'Setup'}}");
	expect_str("filePath", "a.md");
	expect_file(host, "a.md", "# Intro\nIntro text\n## Config\nConfig text");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(Run_TextTarget_ThrowsArgumentException),
		host_claim(Run_PatternTarget_ThrowsArgumentException),
		host_claim(Run_SectionTarget_ThrowsArgumentException),
		host_claim(an_after_heading_target_names_its_successor),
		host_claim(Run_ReplaceLinesOperation_ThrowsArgumentException),
		host_claim(Run_InsertBeforeHeading_InsertsContent),
		host_claim(Run_DeleteLines_RemovesLines),
		host_claim(Run_ReplaceLines_ReplacesContent),
		host_claim(Run_InsertLines_InsertsAfterEnd),
		host_claim(Run_ReplaceHeading_ReplacesHeadingLine),
		host_claim(Run_ReplaceCodeBlock_ReplacesContent),
		host_claim(Run_HeadingNotFound_ThrowsWithSimilar),
		host_claim(Run_MissingContentForReplace_ThrowsException),
		host_claim(Run_PathOutsideVault_ThrowsException),
		host_claim(Run_DisallowedExtension_ThrowsException),
		host_claim(Run_AppendToSection_InsertsAtEndOfSection),
		host_claim(Run_AppendToSection_LastSection_InsertsAtEndOfFile),
		host_claim(Run_AppendToSection_NonMarkdown_Throws),
		host_claim(Run_AppendToSection_HeadingNotFound_Throws),
		host_claim(Run_ReturnsContextWindow_AfterEdit),
		host_claim(Run_ReturnsFileHash_AfterEdit),
		host_claim(Run_ExpectedHashMatches_ProceedsWithEdit),
		host_claim(Run_ExpectedHashMismatches_ThrowsBeforeEditing),
		host_claim(Run_ContextWindow_AtFileStart_HasNoBeforeLines),
		host_claim(Run_ContextWindow_AtFileEnd_HasNoAfterLines),
		host_claim(a_whole_section_is_its_heading_and_body),
		host_claim(a_target_may_be_a_string_that_holds_it),
		host_claim(of_several_headings_the_first_is_taken_and_the_others_are_named),
		host_claim(the_note_has_the_lines_after_the_edit),
		host_claim(comments_of_obsidian_hold_no_headings),
		host_claim(a_patch_that_changes_nothing_is_a_noop),
		host_claim(what_is_markdown_is_told_by_the_file_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
