/* The engine of text_patch: only what was asked changes, and headings stay headings. */
#include "lib/corpus.h"
#include "lib/test.h"
#include "text/markdown/heading.h"
#include "text/lines/lines.h"
#include "text/markdown/markdown.h"
#include "text/patch/patch.h"

#define REPLACE .operation = ST_PATCH_REPLACE, .markdown = true, .preserve_indent = true
#define INSERT .operation = ST_PATCH_INSERT, .markdown = true, .preserve_indent = true
#define DELETE .operation = ST_PATCH_DELETE, .markdown = true
#define LINES(from, to) .target = ST_TARGET_LINES, .start = (from), .end = (to)
#define AT(kind, text) .target = ST_TARGET_##kind, .heading = ST_STR(text)
#define CODE(n) .target = ST_TARGET_CODE_BLOCK, .index = (n)
#define CONTENT(text) .content = ST_STR(text), .has_content = true

static const struct st_str doc =
	ST_STR("# Intro\nIntro text\n## Setup\nSetup text\n## Config\nConfig text");

static void apply(struct st_patch patch, struct st_str text, struct st_patch_result *result) {
	struct stet_error err = {0};
	if (st_patch_apply(&patch, text, result, &err) < 0)
		fail_msg("%s", err.message);
}

/* The patch makes the text into another one, and its note, if one is given, contains it. */
static void check(struct st_patch patch, struct st_str text, struct st_str expected,
                  const char *note) {
	st_auto(st_patch_result) result = {0};
	apply(patch, text, &result);
	if (!st_str_eq(st_buf_str(&result.text), expected))
		fail_msg("got \"%s\", not \"%s\"", st_buf_cstr(&result.text), expected.ptr);
	if (note && !strstr(st_buf_cstr(&result.note), note))
		fail_msg("\"%s\" is not in \"%s\"", note, st_buf_cstr(&result.note));
}

static void refuse(struct st_patch patch, struct st_str text, int code, const char *sentence) {
	struct st_patch_result result = {0};
	struct stet_error err = {0};
	assert_int_equal(st_patch_apply(&patch, text, &result, &err), code);
	assert_null(result.text.ptr);
	if (!strstr(err.message, sentence))
		fail_msg("\"%s\" is not in \"%s\"", sentence, err.message);
}

static void check_removed(const char *name, bool operation, const char *successor) {
	struct stet_error err = {0};
	enum st_patch_operation op;
	enum st_patch_target target;
	assert_int_equal(operation ? st_patch_operation_parse(st_str(name), &op, &err)
	                           : st_patch_target_parse(st_str(name), &target, &err),
	                 STET_E_INVALID);
	assert_string_equal(err.message, st_patch_removed(st_str(name)));
	assert_non_null(strstr(err.message, "was removed"));
	assert_non_null(strstr(err.message, successor));
}

static void Run_TextTarget_ThrowsArgumentException(void **state) {
	(void)state;
	check_removed("text", false, "text_replace");
}

static void Run_PatternTarget_ThrowsArgumentException(void **state) {
	(void)state;
	check_removed("pattern", false, "text_inspect");
}

static void Run_SectionTarget_ThrowsArgumentException(void **state) {
	(void)state;
	check_removed("section", false, "wholeSection");
	check_removed("afterHeading", false, "appendToSection");
}

static void Run_ReplaceLinesOperation_ThrowsArgumentException(void **state) {
	(void)state;
	check_removed("replaceLines", true, "\"replace\" with the target \"lines\"");
}

static void names_are_read_in_any_case_and_unknown_ones_list_the_choices(void **state) {
	(void)state;
	enum st_patch_operation op;
	enum st_patch_target target;
	struct stet_error err = {0};
	assert_int_equal(st_patch_operation_parse(ST_STR("DELETE"), &op, &err), 0);
	assert_int_equal(op, ST_PATCH_DELETE);
	assert_int_equal(st_patch_target_parse(ST_STR("appendtosection"), &target, &err), 0);
	assert_string_equal(st_patch_target_name(target), "appendToSection");
	assert_int_equal(st_patch_operation_parse(ST_STR("append"), &op, &err), STET_E_INVALID);
	assert_string_equal(
		err.message,
		"There is no operation \"append\"; use \"replace\", \"insert\" or \"delete\".");
	assert_int_equal(st_patch_target_parse(ST_STR(""), &target, &err), STET_E_INVALID);
	assert_non_null(strstr(err.message,
	                       "\"lines\", \"heading\", \"beforeHeading\", \"appendToSection\", "
	                       "\"codeBlock\" or \"wholeSection\""));
	assert_null(st_patch_removed(ST_STR("lines")));
}

static void Run_AppendToSection_InsertsAtEndOfSection(void **state) {
	(void)state;
	st_auto(st_patch_result) result = {0};
	apply((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "## Setup"), CONTENT("New text\n")}, doc,
	      &result);
	assert_string_equal(
		result.text.ptr,
		"# Intro\nIntro text\n## Setup\nSetup text\nNew text\n## Config\nConfig text");
	assert_int_equal(result.first, 5);
	assert_int_equal(result.last, 5);
	assert_int_equal(result.count, 1);
	assert_int_equal(result.delta, 1);
	assert_int_equal(result.line_count, 7);
	assert_true(st_str_eq(result.after, ST_STR("New text\n")));
	assert_string_equal(result.note.ptr, "The file now has 7 lines (was 6).");
}

static void Run_AppendToSection_LastSection_InsertsAtEndOfFile(void **state) {
	(void)state;
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "## Config"), CONTENT("New text\n")}, doc,
	      ST_STR("# Intro\nIntro text\n## Setup\nSetup text\n## Config\nConfig text\nNew text"),
	      NULL);
}

static void Run_AppendToSection_NonMarkdown_Throws(void **state) {
	(void)state;
	refuse((struct st_patch){.operation = ST_PATCH_INSERT,
	                         AT(APPEND_TO_SECTION, "## Setup"),
	                         CONTENT("x")},
	       doc, STET_E_INVALID, "Only Markdown files support the target \"appendToSection\".");
}

static void Run_AppendToSection_HeadingNotFound_Throws(void **state) {
	(void)state;
	refuse((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "## Set up"), CONTENT("x")}, doc,
	       STET_E_NO_MATCH,
	       "Heading \"## Set up\" not found. The headings are: \"## Setup\" (line 3)");
}

static void appended_text_goes_after_the_last_line_that_is_not_blank(void **state) {
	(void)state;
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("new")},
	      ST_STR("# a\n\ntext\n\n\n# b\n"), ST_STR("# a\n\ntext\nnew\n\n\n# b\n"), NULL);
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("new")},
	      ST_STR("# a\n\n\n# b\n"), ST_STR("# a\nnew\n\n\n# b\n"), NULL);
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("\nnew\n\n")},
	      ST_STR("# a\ntext\n## b\nmore\n# c\n"), ST_STR("# a\ntext\n## b\nmore\n\nnew\n\n# c\n"),
	      NULL);
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("    - kept\n      as is")},
	      ST_STR("# a\n  - x\n"), ST_STR("# a\n  - x\n    - kept\n      as is\n"), NULL);
}

static void a_blank_line_keeps_headings_apart_from_inserted_text(void **state) {
	(void)state;
	/* Text would become part of the setext heading below. */
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("new")},
	      ST_STR("# a\ntext\n# b\n"), ST_STR("# a\ntext\nnew\n# b\n"), NULL);
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("new")},
	      ST_STR("a\n===\nb\n===\n"), ST_STR("a\n===\nnew\n\nb\n===\n"), NULL);
	check((struct st_patch){INSERT, AT(BEFORE_HEADING, "b"), CONTENT("- item")},
	      ST_STR("# a\r\n\r\nb\r\n===\r\n"), ST_STR("# a\r\n\r\n- item\r\n\r\nb\r\n===\r\n"), NULL);
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("new")},
	      ST_STR("# a\n[x]: /u\nb\n===\n"), ST_STR("# a\n[x]: /u\nnew\n\nb\n===\n"), NULL);
	/* A rule would make a heading of the paragraph above. */
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("---\nnew")},
	      ST_STR("# a\ntext\n\n# b\n"), ST_STR("# a\ntext\n\n---\nnew\n\n# b\n"), NULL);
	/* A paragraph would be underlined by the rule below. */
	check((struct st_patch){REPLACE, AT(HEADING, "a"), CONTENT("text")}, ST_STR("# a\n---\n# b\n"),
	      ST_STR("text\n\n---\n# b\n"), NULL);
	/* A byte order mark in the middle of the text is text. */
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "\xEF\xBB\xBF"), CONTENT("new")},
	      ST_STR("text\n\n\xEF\xBB\xBF\n---\n# b\n"),
	      ST_STR("text\n\n\xEF\xBB\xBF\n---\nnew\n# b\n"), "The file now has 6 lines (was 5).");
	/* The blank lines count as inserted. */
	st_auto(st_patch_result) result = {0};
	apply((struct st_patch){INSERT, AT(HEADING, "a"), CONTENT("new")}, ST_STR("a\n=\nb\n="),
	      &result);
	assert_string_equal(result.text.ptr, "a\n=\nnew\n\nb\n=");
	assert_int_equal(result.first, 3);
	assert_int_equal(result.last, 4);
}

static void text_goes_above_definitions_that_a_heading_cannot_be_parted_from(void **state) {
	(void)state;
	struct st_str text = ST_STR("# a\n[x]: /u\n    b\n===\n");
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("new")}, text,
	      ST_STR("# a\nnew\n\n[x]: /u\n    b\n===\n"), NULL);
	check((struct st_patch){INSERT, AT(BEFORE_HEADING, "b"), CONTENT("new")}, text,
	      ST_STR("# a\nnew\n\n[x]: /u\n    b\n===\n"), NULL);
}

static void a_heading_that_is_lost_all_the_same_is_told(void **state) {
	(void)state;
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("```")},
	      ST_STR("# a\n# b\n"), ST_STR("# a\n```\n# b\n"),
	      "The heading below is no longer a heading");
	check((struct st_patch){DELETE, AT(HEADING, "a")}, ST_STR("text\n# a\nb\n===\n"),
	      ST_STR("text\nb\n===\n"), "The heading below is no longer a heading");
	check((struct st_patch){DELETE, AT(HEADING, "a")}, ST_STR("text\n# a\n---\n"),
	      ST_STR("text\n---\n"), "A line outside of the change has become a heading.");
}

static void content_that_lands_in_an_unclosed_code_block_is_told(void **state) {
	(void)state;
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("x")},
	      ST_STR("# a\n~~~\ncode\n"), ST_STR("# a\n~~~\ncode\nx\n"),
	      "The content is inside the code block that begins in line 2 and is not closed.");
	/* A list that ends closes the block. */
	st_auto(st_patch_result) result = {0};
	apply((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("x")},
	      ST_STR("# a\n- ~~~\n  code\n"), &result);
	assert_string_equal(result.note.ptr, "The file now has 4 lines (was 3).");
}

static void content_may_bring_headings_of_its_own(void **state) {
	(void)state;
	st_auto(st_patch_result) result = {0};
	apply((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("## c\ntext\n\nd\n---\n")},
	      ST_STR("# a\n# b\n"), &result);
	assert_string_equal(result.text.ptr, "# a\n## c\ntext\n\nd\n---\n# b\n");
	assert_string_equal(result.note.ptr, "The file now has 7 lines (was 2).");
}

static void heading_means_its_own_lines(void **state) {
	(void)state;
	struct st_str text = ST_STR("[x]: /u\nTwo\nlines\n---\nbody\n");
	check((struct st_patch){REPLACE, AT(HEADING, "## two lines"), CONTENT("## New")}, text,
	      ST_STR("[x]: /u\n## New\nbody\n"), NULL);
	check((struct st_patch){DELETE, AT(HEADING, "two lines")}, text, ST_STR("[x]: /u\nbody\n"),
	      NULL);
	check((struct st_patch){INSERT, AT(HEADING, "two lines"), CONTENT("new")}, text,
	      ST_STR("[x]: /u\nTwo\nlines\n---\nnew\nbody\n"), NULL);
	check((struct st_patch){INSERT, AT(BEFORE_HEADING, "# x"), CONTENT("new\n")},
	      ST_STR("\xEF\xBB\xBF# x\r\n"), ST_STR("\xEF\xBB\xBFnew\r\n# x\r\n"), NULL);
}

static void of_several_headings_one_is_chosen_by_occurrence(void **state) {
	(void)state;
	struct st_str text = ST_STR("# a\n# b\n# a\n");
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), CONTENT("x")}, text,
	      ST_STR("# a\nx\n# b\n# a\n"),
	      "2 headings are called \"a\"; the first, in line 1, was taken. The other is in line 4;");
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), .occurrence = 2, CONTENT("x")},
	      text, ST_STR("# a\n# b\n# a\nx\n"), NULL);
	refuse((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "a"), .occurrence = 3, CONTENT("x")},
	       text, STET_E_NO_MATCH, "there are 2, in lines 1, 3");
}

static void whole_section_is_heading_and_body(void **state) {
	(void)state;
	struct st_str text = ST_STR("# a\ntext\n\n## b\nmore\n\n# c\nend\n");
	check((struct st_patch){DELETE, AT(WHOLE_SECTION, "a")}, text, ST_STR("# c\nend\n"), NULL);
	check((struct st_patch){REPLACE, AT(WHOLE_SECTION, "a"), CONTENT("# a\nnew\n")}, text,
	      ST_STR("# a\nnew\n\n# c\nend\n"), NULL);
	check((struct st_patch){DELETE, AT(WHOLE_SECTION, "c")}, text,
	      ST_STR("# a\ntext\n\n## b\nmore\n\n"), NULL);
	refuse(
		(struct st_patch){INSERT, AT(WHOLE_SECTION, "a"), CONTENT("x")}, text, STET_E_INVALID,
		"Only replace and delete go with the target \"wholeSection\", not insert. To insert at its "
		"end, use the target "
		"\"appendToSection\"");
}

static void targets_to_insert_at_refuse_other_operations(void **state) {
	(void)state;
	refuse((struct st_patch){DELETE, AT(BEFORE_HEADING, "## Setup")}, doc, STET_E_INVALID,
	       "Only insert goes with the target \"beforeHeading\", not delete.");
	refuse((struct st_patch){REPLACE, AT(BEFORE_HEADING, "## Setup"), CONTENT("x")}, doc,
	       STET_E_INVALID, "Only insert goes with the target \"beforeHeading\", not replace.");
	refuse((struct st_patch){DELETE, AT(APPEND_TO_SECTION, "## Setup")}, doc, STET_E_INVALID,
	       "Only insert goes with the target \"appendToSection\", not delete. To delete the "
	       "section, use the target "
	       "\"wholeSection\"");
	refuse((struct st_patch){REPLACE, AT(APPEND_TO_SECTION, "## Setup"), CONTENT("x")}, doc,
	       STET_E_INVALID, "Only insert goes with the target \"appendToSection\", not replace.");
}

static void a_hash_in_a_fence_is_never_a_heading(void **state) {
	(void)state;
	struct st_str text = ST_STR("# real\n```sh\n# setup\nrun\n```\n# setup\nbody\n");
	check((struct st_patch){REPLACE, AT(HEADING, "# Setup"), CONTENT("# Set up")}, text,
	      ST_STR("# real\n```sh\n# setup\nrun\n```\n# Set up\nbody\n"), NULL);
	check((struct st_patch){INSERT, AT(APPEND_TO_SECTION, "real"), CONTENT("x")}, text,
	      ST_STR("# real\n```sh\n# setup\nrun\n```\nx\n# setup\nbody\n"), NULL);
}

static void lines_are_counted_from_one_and_inclusive(void **state) {
	(void)state;
	struct st_str text = ST_STR("a\nb\nc\nd\n");
	check((struct st_patch){REPLACE, LINES(2, 3), CONTENT("x\n")}, text, ST_STR("a\nx\nd\n"), NULL);
	check((struct st_patch){REPLACE, LINES(2, 0), CONTENT("x\ny")}, text, ST_STR("a\nx\ny\nc\nd\n"),
	      NULL);
	check((struct st_patch){DELETE, LINES(1, 4)}, text, ST_STR(""), NULL);
	check((struct st_patch){INSERT, LINES(1, 2), CONTENT("x\n\n")}, text,
	      ST_STR("a\nb\nx\n\nc\nd\n"), NULL);
	check((struct st_patch){INSERT, LINES(0, 0), CONTENT("x")}, text, ST_STR("x\na\nb\nc\nd\n"),
	      NULL);
	check((struct st_patch){INSERT, LINES(4, 4), CONTENT("\n")}, text, ST_STR("a\nb\nc\nd\n\n"),
	      NULL);
	st_auto(st_patch_result) result = {0};
	apply((struct st_patch){DELETE, LINES(2, 3)}, text, &result);
	assert_int_equal(result.first, 2);
	assert_int_equal(result.last, 3);
	assert_int_equal(result.count, 2);
	assert_int_equal(result.delta, -2);
	assert_true(st_str_eq(result.before, ST_STR("b\nc\n")));
	assert_int_equal(result.after.len, 0);
	assert_string_equal(result.note.ptr, "The file now has 2 lines (was 4).");
}

static void lines_that_do_not_exist_are_refused(void **state) {
	(void)state;
	struct st_str text = ST_STR("a\nb\n");
	refuse((struct st_patch){DELETE, LINES(3, 3)}, text, STET_E_INVALID,
	       "Line 3 is out of range: the file has 2 lines.");
	refuse((struct st_patch){DELETE, LINES(2, 9)}, text, STET_E_INVALID,
	       "Line 9 is out of range: the file has 2 lines.");
	refuse((struct st_patch){DELETE, LINES(2, 1)}, text, STET_E_INVALID,
	       "The lines are reversed: start 2 is after end 1.");
	refuse((struct st_patch){DELETE, LINES(-1, 1)}, text, STET_E_INVALID,
	       "Lines count from 1; -1 is out of range.");
	refuse((struct st_patch){DELETE, LINES(1, INT64_MIN)}, text, STET_E_INVALID,
	       "is out of range.");
	refuse((struct st_patch){DELETE, LINES(INT64_MAX, 0)}, text, STET_E_INVALID,
	       "Line 9223372036854775807 is out of range");
	refuse((struct st_patch){REPLACE, LINES(0, 0), CONTENT("x")}, text, STET_E_INVALID,
	       "Line 0 is the top of the file, for insert only;");
	refuse((struct st_patch){INSERT, LINES(0, 1), CONTENT("x")}, text, STET_E_INVALID,
	       "takes no end");
	refuse((struct st_patch){INSERT, LINES(1, 1), CONTENT("x")}, ST_STR(""), STET_E_INVALID,
	       "The file is empty and has no line 1; insert at line 0.");
}

static void content_is_asked_for_where_it_is_needed(void **state) {
	(void)state;
	struct st_str text = ST_STR("a\nb\n");
	refuse((struct st_patch){REPLACE, LINES(1, 1)}, text, STET_E_INVALID,
	       "The operation replace needs content.");
	refuse((struct st_patch){INSERT, LINES(1, 1)}, text, STET_E_INVALID,
	       "The operation insert needs content.");
	refuse((struct st_patch){INSERT, LINES(1, 1), CONTENT("")}, text, STET_E_INVALID,
	       "there is nothing to insert");
	check((struct st_patch){REPLACE, LINES(1, 1), CONTENT("")}, text, ST_STR("b\n"),
	      "The content is empty, so the lines were deleted");
	check((struct st_patch){DELETE, LINES(1, 1), CONTENT("x")}, text, ST_STR("b\n"),
	      "Delete takes no content; it was not used. The file now has 1 line (was 2).");
}

static void endings_and_the_final_newline_stay_as_they_are(void **state) {
	(void)state;
	check((struct st_patch){REPLACE, LINES(2, 2), CONTENT("x\ny\n")}, ST_STR("a\r\nb\r\nc"),
	      ST_STR("a\r\nx\r\ny\r\nc"), NULL);
	check((struct st_patch){REPLACE, LINES(3, 3), CONTENT("x\ny\n")}, ST_STR("a\r\nb\r\nc"),
	      ST_STR("a\r\nb\r\nx\r\ny"), NULL);
	check((struct st_patch){INSERT, LINES(3, 3), CONTENT("x\r\n")}, ST_STR("a\nb\nc"),
	      ST_STR("a\nb\nc\nx"), NULL);
	check((struct st_patch){DELETE, LINES(3, 3)}, ST_STR("a\nb\r\nc"), ST_STR("a\nb"), NULL);
	check((struct st_patch){DELETE, LINES(1, 1)}, ST_STR("a"), ST_STR(""), NULL);
	/* A blank line cannot be the last one without it. */
	check((struct st_patch){REPLACE, LINES(2, 2), CONTENT("\n")}, ST_STR("a\nb"), ST_STR("a\n\n"),
	      NULL);
	check((struct st_patch){DELETE, LINES(3, 3)}, ST_STR("a\n\nb"), ST_STR("a\n\n"), NULL);
	/* In a mixed file a line takes the ending of the one it replaces, or of the one above. */
	check((struct st_patch){REPLACE, LINES(1, 3), CONTENT("x\ny\nz\n")}, ST_STR("a\r\nb\nc\rd"),
	      ST_STR("x\r\ny\nz\rd"), NULL);
	check((struct st_patch){INSERT, LINES(1, 1), CONTENT("x\n")}, ST_STR("a\r\nb\nc\nd\n"),
	      ST_STR("a\r\nx\r\nb\nc\nd\n"), NULL);
	/* CR and LF of two lines do not become the ending of one. */
	check((struct st_patch){REPLACE, LINES(2, 2), CONTENT("\n")}, ST_STR("a\rb\nc\n"),
	      ST_STR("a\r\rc\n"), NULL);
	check((struct st_patch){REPLACE, LINES(2, 3), CONTENT("x\n")}, ST_STR("a\nb\rc\n\n"),
	      ST_STR("a\nx\r\n\n"), NULL);
}

static void a_byte_order_mark_stays_in_front(void **state) {
	(void)state;
	struct st_str text = ST_STR(
		"\xEF\xBB\xBF"
		"a\nb\n");
	check((struct st_patch){INSERT, LINES(0, 0), CONTENT("x")}, text,
	      ST_STR("\xEF\xBB\xBFx\na\nb\n"), NULL);
	check((struct st_patch){REPLACE, LINES(1, 1), CONTENT("\xEF\xBB\xBFx")}, text,
	      ST_STR("\xEF\xBB\xBFx\nb\n"), NULL);
	check((struct st_patch){DELETE, LINES(1, 2)}, text, ST_STR("\xEF\xBB\xBF"), NULL);
	check((struct st_patch){INSERT, LINES(0, 0), CONTENT("x")}, ST_STR("\xEF\xBB\xBF"),
	      ST_STR("\xEF\xBB\xBFx\n"), NULL);
}

static void an_empty_file_takes_text(void **state) {
	(void)state;
	check((struct st_patch){INSERT, LINES(0, 0), CONTENT("a\r\nb")}, ST_STR(""), ST_STR("a\nb\n"),
	      NULL);
}

static void the_top_of_a_file_is_below_front_matter(void **state) {
	(void)state;
	struct st_str text = ST_STR("---\na: b\n---\ntext\n");
	check((struct st_patch){INSERT, LINES(0, 0), CONTENT("x")}, text,
	      ST_STR("---\na: b\n---\nx\ntext\n"),
	      "The content went below the front matter (lines 1-3)");
	check((struct st_patch){.operation = ST_PATCH_INSERT, LINES(0, 0), CONTENT("x")}, text,
	      ST_STR("x\n---\na: b\n---\ntext\n"), NULL);
	check((struct st_patch){INSERT, AT(BEFORE_HEADING, "y"), CONTENT("x")},
	      ST_STR("---\n# no: heading\na: b\n---\n# y\n"),
	      ST_STR("---\n# no: heading\na: b\n---\nx\n# y\n"), NULL);
}

static void preserve_indent_shifts_the_content_as_a_whole(void **state) {
	(void)state;
	struct st_str text = ST_STR("if:\n    a\n\n\tb\n        c\n");
	check((struct st_patch){REPLACE, LINES(2, 2), CONTENT("x:\n  y\n\n  \n  z")}, text,
	      ST_STR("if:\n    x:\n      y\n\n  \n      z\n\n\tb\n        c\n"),
	      "shifted to the indentation of line 2");
	check((struct st_patch){REPLACE, LINES(5, 5), CONTENT("    x:\n      y\n")}, text,
	      ST_STR("if:\n    a\n\n\tb\n        x:\n          y\n"), NULL);
	check((struct st_patch){INSERT, LINES(4, 4), CONTENT("x\n  y\n")}, text,
	      ST_STR("if:\n    a\n\n\tb\n\tx\n\t  y\n        c\n"), NULL);
	/* There is no indentation to take from a blank line. */
	check((struct st_patch){INSERT, LINES(3, 3), CONTENT("  x\n")}, text,
	      ST_STR("if:\n    a\n\n  x\n\tb\n        c\n"), NULL);
	struct st_patch raw = {INSERT, LINES(2, 2), CONTENT("x\n  y\n")};
	raw.preserve_indent = false;
	check(raw, text, ST_STR("if:\n    a\nx\n  y\n\n\tb\n        c\n"), NULL);
}

static void replacing_lines_by_themselves_is_a_noop(void **state) {
	(void)state;
	struct st_str text = ST_STR("\xEF\xBB\xBF    a\r\n  b\n   \n\t\n        c\r  d");
	st_auto(st_lines) lines = {0};
	assert_int_equal(st_lines_init(&lines, text, NULL), 0);
	for (size_t first = 1; first <= lines.count; first++) {
		for (size_t last = first; last <= lines.count; last++) {
			st_auto(st_patch_result) result = {0};
			struct st_patch patch = {REPLACE, LINES((int64_t)first, (int64_t)last),
			                         .has_content = true};
			patch.content = st_lines_range(&lines, first, last);
			apply(patch, text, &result);
			assert_true(result.noop);
			assert_int_equal(result.note.len, 0);
		}
	}
}

static void code_block_means_the_lines_between_the_fences(void **state) {
	(void)state;
	struct st_str text = ST_STR("```c\nold\n```\n\n~~~\n~~~\n");
	check((struct st_patch){REPLACE, CODE(0), CONTENT("    new\n\n  code\n")}, text,
	      ST_STR("```c\n    new\n\n  code\n```\n\n~~~\n~~~\n"), NULL);
	check((struct st_patch){INSERT, CODE(0), CONTENT("more")}, text,
	      ST_STR("```c\nold\nmore\n```\n\n~~~\n~~~\n"), NULL);
	check((struct st_patch){DELETE, CODE(0)}, text, ST_STR("```c\n```\n\n~~~\n~~~\n"), NULL);
	check((struct st_patch){REPLACE, CODE(1), CONTENT("new")}, text,
	      ST_STR("```c\nold\n```\n\n~~~\nnew\n~~~\n"), NULL);
	check((struct st_patch){DELETE, CODE(1)}, text, text, "The code block is empty already.");
	check((struct st_patch){INSERT, CODE(0), CONTENT("x\ny")}, ST_STR("```"), ST_STR("```\nx\ny"),
	      NULL);
	check((struct st_patch){REPLACE, CODE(0), CONTENT("x")}, ST_STR("~~~\na\nb"), ST_STR("~~~\nx"),
	      NULL);
	refuse(
		(struct st_patch){DELETE, CODE(2)}, text, STET_E_INVALID,
		"Code block 2 is out of range: the text has 2, counted from 0: 0 in lines 1-3, 1 in lines "
		"5-6.");
	refuse((struct st_patch){DELETE, CODE(-1)}, text, STET_E_INVALID,
	       "Code block -1 is out of range");
	refuse((struct st_patch){DELETE, CODE(0)}, doc, STET_E_INVALID, "no fenced code block");
}

static void code_in_a_list_is_indented_with_it(void **state) {
	(void)state;
	struct st_str text = ST_STR("1. item\n\n   ```c\n   old\n   ```\n- ~~~\n  ~~~\n");
	check((struct st_patch){REPLACE, CODE(0), CONTENT("if\n  x\n\ny\n")}, text,
	      ST_STR("1. item\n\n   ```c\n   if\n     x\n\n   y\n   ```\n- ~~~\n  ~~~\n"), NULL);
	check((struct st_patch){REPLACE, CODE(0), CONTENT("   if\n     x\n")}, text,
	      ST_STR("1. item\n\n   ```c\n   if\n     x\n   ```\n- ~~~\n  ~~~\n"), NULL);
	check((struct st_patch){INSERT, CODE(1), CONTENT("x")}, text,
	      ST_STR("1. item\n\n   ```c\n   old\n   ```\n- ~~~\n  x\n  ~~~\n"), NULL);
	struct st_patch raw = {REPLACE, CODE(0), CONTENT("   x\ny\n")};
	raw.preserve_indent = false;
	refuse(raw, text, STET_E_INVALID, "Line 2 of the content (\"y\") would end code block 0: ");
}

static void content_that_would_close_its_code_block_is_refused(void **state) {
	(void)state;
	struct st_str text = ST_STR("# a\n\n````\nold\n````\n# b\n");
	refuse((struct st_patch){REPLACE, CODE(0), CONTENT("x\n  `````  \ny")}, text, STET_E_INVALID,
	       "Line 2 of the content (\"  `````  \") would end code block 0: it is a closing fence, "
	       "or indented less than the "
	       "list that the block is in. To change the fences too, replace lines 3-5.");
	check((struct st_patch){REPLACE, CODE(0), CONTENT("```\nx\n```\n~~~~\n    ````")}, text,
	      ST_STR("# a\n\n````\n```\nx\n```\n~~~~\n    ````\n````\n# b\n"), NULL);
	refuse((struct st_patch){INSERT, CODE(0), CONTENT("````")}, ST_STR("````\nunclosed"),
	       STET_E_INVALID, "Line 1 of the content");
}

/* A query and an occurrence that find a heading, whatever others there are. */
static int64_t name_heading(const struct st_markdown *md, size_t index, struct st_buf *query) {
	st_buf_clear(query);
	for (int i = 0; i < md->headings[index].level; i++)
		st_buf_addc(query, '#');
	st_buf_addc(query, ' ');
	st_buf_add(query, md->headings[index].source);
	int64_t occurrence = 1;
	for (size_t i = 0; i < index; i++)
		occurrence += md->headings[i].level == md->headings[index].level &&
		              st_str_eq(md->headings[i].source, md->headings[index].source);
	for (;; occurrence++) {
		size_t found;
		struct stet_error err = {0};
		if (st_heading_find(md, st_buf_str(query), occurrence, &found, &err) < 0)
			fail_msg("%s", err.message);
		if (found == index)
			return occurrence;
	}
}

/* The headings are those of before, moved where they are below the new lines. */
static void check_headings(const struct st_markdown *old, const struct st_patch_result *result) {
	st_auto(st_markdown) md = {0};
	assert_int_equal(st_markdown_parse(&md, st_buf_str(&result->text), NULL), 0);
	assert_int_equal(md.heading_count, old->heading_count);
	for (size_t i = 0; i < md.heading_count; i++) {
		const struct st_heading *was = &old->headings[i], *is = &md.headings[i];
		size_t moved = was->line >= result->first ? result->count : 0;
		assert_int_equal(is->level, was->level);
		assert_int_equal(is->line, was->line + moved);
		assert_int_equal(is->end_line, was->end_line + moved);
		assert_true(st_str_eq(is->source, was->source));
	}
}

static void check_taking_away(const struct st_patch_result *result, struct st_str text) {
	struct st_patch patch = {.operation = ST_PATCH_DELETE,
	                         LINES((int64_t)result->first, (int64_t)result->last)};
	st_auto(st_patch_result) back = {0};
	apply(patch, st_buf_str(&result->text), &back);
	assert_true(st_str_eq(st_buf_str(&back.text), text));
}

static void inserting_keeps_headings(struct st_str text, enum st_patch_target target) {
	st_auto(st_markdown) md = {0};
	st_auto(st_buf) query = ST_BUF_INIT;
	assert_int_equal(st_markdown_parse(&md, text, NULL), 0);
	for (size_t i = 0; i < md.heading_count; i++) {
		struct st_patch patch = {INSERT, .target = target,
		                         CONTENT("A marker that is a paragraph.\n")};
		patch.occurrence = name_heading(&md, i, &query);
		patch.heading = st_buf_str(&query);
		st_auto(st_patch_result) result = {0};
		apply(patch, text, &result);
		check_headings(&md, &result);
		check_taking_away(&result, text);
	}
}

static void code_replaced_by_itself_is_a_noop(struct st_str text) {
	st_auto(st_markdown) md = {0};
	assert_int_equal(st_markdown_parse(&md, text, NULL), 0);
	for (size_t i = 0; i < md.code_count; i++) {
		struct st_patch patch = {REPLACE, CODE((int64_t)i), .has_content = true};
		patch.content = st_lines_range(&md.lines, md.codes[i].first, md.codes[i].last);
		st_auto(st_patch_result) shifted = {0};
		apply(patch, text, &shifted);
		assert_true(shifted.noop);
		patch.preserve_indent = false;
		st_auto(st_patch_result) raw = {0};
		apply(patch, text, &raw);
		assert_true(raw.noop);
	}
}

/* A property of the text, with LF and CRLF, and without a final newline. */
static void in_variants(struct st_str text, void (*holds)(struct st_str text)) {
	st_auto(st_buf) crlf = ST_BUF_INIT;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\n')
			st_buf_addc(&crlf, '\r');
		st_buf_addc(&crlf, text.ptr[i]);
	}
	holds(text);
	holds(st_buf_str(&crlf));
	if (st_str_ends(text, ST_STR("\n")))
		holds(st_str_slice(text, 0, text.len - 1));
}

static void all_properties(struct st_str text) {
	inserting_keeps_headings(text, ST_TARGET_APPEND_TO_SECTION);
	inserting_keeps_headings(text, ST_TARGET_BEFORE_HEADING);
	code_replaced_by_itself_is_a_noop(text);
}

static void headings_and_code_hold_in_every_example_of_the_specification(void **state) {
	(void)state;
	struct corpus corpus;
	corpus_open(&corpus);
	while (corpus_next_example(&corpus))
		in_variants(st_buf_str(&corpus.text), all_properties);
}

static void headings_and_code_hold_in_real_files(void **state) {
	(void)state;
	struct corpus corpus;
	corpus_open(&corpus);
	while (corpus_next(&corpus)) {
		inserting_keeps_headings(st_buf_str(&corpus.text), ST_TARGET_APPEND_TO_SECTION);
		code_replaced_by_itself_is_a_noop(st_buf_str(&corpus.text));
	}
}

static uint32_t random_below(uint64_t *seed, uint32_t limit) {
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (uint32_t)(*seed >> 32) % limit;
}

/* A text of lines that do much to one another. */
static void generate(uint64_t *seed, struct st_buf *out) {
	static const char *const lines[] = {
		"",
		"",
		"",
		"# One",
		"## Two ##",
		"  ### One",
		"Title",
		"=====",
		"---",
		"    Indented",
		"text",
		"more *text*",
		"```",
		"```c",
		"~~~~",
		"~~~",
		"  ```",
		"- item",
		"- ```",
		"  - deeper",
		"    ```",
		"1. number",
		"   text",
		"> quote",
		"> # no",
		"> ```",
		"[a]: /url",
		"[b]:",
		"'title'",
		"<div>",
		"</div>",
		"<!-- open",
		"-->",
		"<a id=\"x\">",
		"* * *",
		"\ttab",
		"Caf\xC3\xA9",
		"\xFF\xFE",
		"[a]: /url \"x",
		"- # no",
		"#",
		"-",
		"10) ~~~",
		"       ~~~",
	};
	st_buf_clear(out);
	if (random_below(seed, 8) == 0)
		st_buf_adds(out, "\xEF\xBB\xBF");
	const char *eol = random_below(seed, 3) == 0 ? "\r\n" : "\n";
	if (random_below(seed, 8) == 0)
		st_buf_addf(out, "---%skey: value%s---%s", eol, eol, eol);
	uint32_t count = random_below(seed, 14);
	for (uint32_t i = 0; i < count; i++)
		st_buf_addf(out, "%s%s", lines[random_below(seed, sizeof lines / sizeof *lines)], eol);
	if (out->len > 5 && random_below(seed, 3) == 0)
		st_buf_truncate(out, out->len - strlen(eol));
}

static void headings_and_code_hold_in_generated_texts(void **state) {
	(void)state;
	uint64_t seed = 20240607;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 20000; i++) {
		generate(&seed, &text);
		all_properties(st_buf_str(&text));
	}
}

/* The result describes itself correctly: bytes outside stay, lines are where it says. */
static void check_result(const struct st_patch_result *result, struct st_str text) {
	st_auto(st_lines) lines = {0};
	struct st_str now = st_buf_str(&result->text);
	assert_int_equal(st_lines_init(&lines, now, NULL), 0);
	assert_int_equal(result->line_count, lines.count);
	assert_int_equal(result->noop, st_str_eq(now, text));
	if (result->operation == ST_PATCH_DELETE)
		return;
	struct st_str whole = st_lines_range(&lines, result->first, result->last);
	assert_true(st_str_ends(whole, result->after));
	assert_true(whole.len - result->after.len == (result->first == 1 ? st_bom_len(now) : 0));
	size_t before = (size_t)(result->before.ptr - text.ptr);
	size_t rest = text.len - before - result->before.len;
	assert_memory_equal(now.ptr, text.ptr, before);
	assert_memory_equal(now.ptr + now.len - rest, text.ptr + text.len - rest, rest);
}

/* Undo a patch at lines by another one. */
static void check_inverse(const struct st_patch *patch, const struct st_patch_result *result,
                          struct st_str text) {
	struct st_patch back = {
		.target = ST_TARGET_LINES, .content = result->before, .has_content = true};
	back.start = (int64_t)result->first;
	back.end = (int64_t)result->last;
	if (patch->operation == ST_PATCH_INSERT) {
		back.operation = ST_PATCH_DELETE;
	} else if (patch->operation == ST_PATCH_DELETE) {
		back.operation = ST_PATCH_INSERT;
		back.start = back.end = (int64_t)result->first - 1;
	}
	st_auto(st_patch_result) restored = {0};
	apply(back, st_buf_str(&result->text), &restored);
	assert_true(st_str_eq(st_buf_str(&restored.text), text));
}

/* A blank line at the end makes a final newline; a single line no longer tells which ending. */
static bool has_way_back(struct st_str old, struct st_str new) {
	return st_str_ends(old, ST_STR("\n")) == st_str_ends(new, ST_STR("\n")) &&
	       (!memchr(old.ptr, '\n', old.len) || memchr(new.ptr, '\n', new.len));
}

static void a_patch_and_its_inverse_give_the_same_bytes(void **state) {
	(void)state;
	uint64_t seed = 7;
	st_auto(st_buf) text = ST_BUF_INIT, content = ST_BUF_INIT;
	for (int i = 0; i < 20000; i++) {
		generate(&seed, &text);
		uint32_t count = (uint32_t)st_line_count(st_buf_str(&text));
		if (count == 0)
			continue;
		uint32_t start = 1 + random_below(&seed, count);
		uint32_t end = start + random_below(&seed, count - start + 1);
		generate(&seed, &content);
		struct st_patch patch = {
			.operation = (enum st_patch_operation)random_below(&seed, 3),
			LINES(start, end),
			.content =
				st_str_slice(st_buf_str(&content), st_bom_len(st_buf_str(&content)), content.len),
			.has_content = true,
			.preserve_indent = random_below(&seed, 2)};
		bool removes = patch.operation == ST_PATCH_DELETE;
		/* Nothing to insert, and a text that is all gone, have no way back. */
		if (patch.content.len == 0 || (removes && end - start + 1 == count))
			continue;
		st_auto(st_patch_result) result = {0};
		apply(patch, st_buf_str(&text), &result);
		check_result(&result, st_buf_str(&text));
		if (has_way_back(st_buf_str(&text), st_buf_str(&result.text)))
			check_inverse(&patch, &result, st_buf_str(&text));
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(Run_TextTarget_ThrowsArgumentException),
		cmocka_unit_test(Run_PatternTarget_ThrowsArgumentException),
		cmocka_unit_test(Run_SectionTarget_ThrowsArgumentException),
		cmocka_unit_test(Run_ReplaceLinesOperation_ThrowsArgumentException),
		cmocka_unit_test(names_are_read_in_any_case_and_unknown_ones_list_the_choices),
		cmocka_unit_test(Run_AppendToSection_InsertsAtEndOfSection),
		cmocka_unit_test(Run_AppendToSection_LastSection_InsertsAtEndOfFile),
		cmocka_unit_test(Run_AppendToSection_NonMarkdown_Throws),
		cmocka_unit_test(Run_AppendToSection_HeadingNotFound_Throws),
		cmocka_unit_test(appended_text_goes_after_the_last_line_that_is_not_blank),
		cmocka_unit_test(a_blank_line_keeps_headings_apart_from_inserted_text),
		cmocka_unit_test(text_goes_above_definitions_that_a_heading_cannot_be_parted_from),
		cmocka_unit_test(a_heading_that_is_lost_all_the_same_is_told),
		cmocka_unit_test(content_that_lands_in_an_unclosed_code_block_is_told),
		cmocka_unit_test(content_may_bring_headings_of_its_own),
		cmocka_unit_test(heading_means_its_own_lines),
		cmocka_unit_test(of_several_headings_one_is_chosen_by_occurrence),
		cmocka_unit_test(whole_section_is_heading_and_body),
		cmocka_unit_test(targets_to_insert_at_refuse_other_operations),
		cmocka_unit_test(a_hash_in_a_fence_is_never_a_heading),
		cmocka_unit_test(lines_are_counted_from_one_and_inclusive),
		cmocka_unit_test(lines_that_do_not_exist_are_refused),
		cmocka_unit_test(content_is_asked_for_where_it_is_needed),
		cmocka_unit_test(endings_and_the_final_newline_stay_as_they_are),
		cmocka_unit_test(a_byte_order_mark_stays_in_front),
		cmocka_unit_test(an_empty_file_takes_text),
		cmocka_unit_test(the_top_of_a_file_is_below_front_matter),
		cmocka_unit_test(preserve_indent_shifts_the_content_as_a_whole),
		cmocka_unit_test(replacing_lines_by_themselves_is_a_noop),
		cmocka_unit_test(code_block_means_the_lines_between_the_fences),
		cmocka_unit_test(code_in_a_list_is_indented_with_it),
		cmocka_unit_test(content_that_would_close_its_code_block_is_refused),
		cmocka_unit_test(headings_and_code_hold_in_every_example_of_the_specification),
		cmocka_unit_test(headings_and_code_hold_in_real_files),
		cmocka_unit_test(headings_and_code_hold_in_generated_texts),
		cmocka_unit_test(a_patch_and_its_inverse_give_the_same_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
