/* Markdown structure: libcmark's slips put right, and everything else as the cmark program says. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib/corpus.h"
#include "lib/test.h"
#include "text/markdown/heading.h"
#include "text/markdown/markdown.h"
#include "text/markdown/outline.h"

static struct st_markdown parse(struct st_str text) {
	struct st_markdown md;
	struct stet_error err = {0};
	if (st_markdown_parse(&md, text, &err) < 0)
		fail_msg("%s", err.message);
	return md;
}

static void check_heading(const struct st_markdown *md, size_t i, int level, const char *text,
                          size_t line, size_t end_line) {
	assert_true(i < md->heading_count);
	const struct st_heading *heading = &md->headings[i];
	assert_int_equal(heading->level, level);
	assert_true(st_str_eq(heading->text, st_str(text)));
	assert_int_equal(heading->line, line);
	assert_int_equal(heading->end_line, end_line);
}

static void check_code(const struct st_markdown *md, size_t i, size_t line, size_t end_line,
                       size_t first, size_t last) {
	assert_true(i < md->code_count);
	const struct st_code *code = &md->codes[i];
	assert_int_equal(code->line, line);
	assert_int_equal(code->end_line, end_line);
	assert_int_equal(code->first, first);
	assert_int_equal(code->last, last);
}

static void a_setext_heading_ends_with_its_underline(void **state) {
	(void)state;
	static const char *const texts[] = {
		"Foo\n===",        "Foo\n===\n",    "Foo\n===\n\n\nbar\n", "Foo\n===\nbar",
		"Foo\n===\n===\n", "Foo\n===\n---", "Foo\n===\n[a]: /u\n"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		st_auto(st_markdown) md = parse(st_str(texts[i]));
		assert_int_equal(md.heading_count, 1);
		check_heading(&md, 0, 1, "Foo", 1, 2);
	}
}

static void a_setext_heading_may_have_several_lines(void **state) {
	(void)state;
	st_auto(st_markdown) md = parse(ST_STR("one\ntwo *three*\n---\n# x\n"));
	check_heading(&md, 0, 2, "one two three", 1, 3);
	assert_true(st_str_eq(md.headings[0].source, ST_STR("one\ntwo *three*")));
	check_heading(&md, 1, 1, "x", 4, 4);
}

static void link_definitions_above_a_setext_heading_are_not_part_of_it(void **state) {
	(void)state;
	static const struct {
		const char *text;
		size_t line;
	} cases[] = {
		{"[a]: /u\nFoo\n===\n", 2},
		{"[a]: /u\n[b]:\n  <v>\n  'two\nlines'\nFoo\n===\n", 6},
		{"[a]: /u \"title\" no\nFoo\n===\n", 1},
		{"[a]: /u\n\"title\" no\nFoo\n===\n", 2},
		{"[a]: /u\n===\nFoo\n===\n", 2},
		{"[a]: /u(\nFoo\n===\n", 1},
		{"[a]: /u(()\\()\nFoo\n===\n", 2},
		{"[a] : /u\nFoo\n===\n", 1},
		{"[a\\]]: /u\\\nFoo\n===\n", 2},
		{"[ ]: /u\nFoo\n===\n", 1},
		{"[a]: <>\n  Foo\n===\n", 2},
		/* What is not UTF-8 is no title. */
		{"[a]: /u\n\"\xF0\"\nFoo\n===\n", 2},
		{"[a]: /u\n\"\xC3\xA9\"\nFoo\n===\n", 3},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		st_auto(st_markdown) md = parse(st_str(cases[i].text));
		assert_int_equal(md.heading_count, 1);
		assert_int_equal(md.headings[0].line, cases[i].line);
		assert_int_equal(md.headings[0].block_line, 1);
		/* libcmark itself sees nothing but definitions in the lines above. */
		struct st_str above = st_lines_range(&md.lines, 1, cases[i].line - 1);
		st_auto(st_buf) xml = ST_BUF_INIT;
		run_filter((const char *const[]){"cmark", "-t", "xml", NULL}, above, &xml);
		assert_null(strstr(st_buf_cstr(&xml), "<paragraph"));
	}
}

static void headings_in_quotes_lists_fences_and_html_do_not_count(void **state) {
	(void)state;
	st_auto(st_markdown) md =
		parse(ST_STR("> # quote\n\n- # list\n\n```\n# fence\n```\n\n    # indented\n\n"
	                 "<!--\n# comment\n-->\n# real\n"));
	assert_int_equal(md.heading_count, 1);
	check_heading(&md, 0, 1, "real", 14, 14);
}

static void hashes_and_markup_are_not_part_of_a_heading_s_text(void **state) {
	(void)state;
	st_auto(st_markdown) md = parse(
		ST_STR("  ##  The **bold** `code` [link](/u) <b>x</b> ##  \n#\n# C#\n###### a \\#\n"));
	assert_int_equal(md.heading_count, 4);
	check_heading(&md, 0, 2, "The bold code link x", 1, 1);
	assert_true(
		st_str_eq(md.headings[0].source, ST_STR("The **bold** `code` [link](/u) <b>x</b>")));
	check_heading(&md, 1, 1, "", 2, 2);
	check_heading(&md, 2, 1, "C#", 3, 3);
	check_heading(&md, 3, 6, "a #", 4, 4);
}

static void every_line_ending_counts_as_in_st_lines(void **state) {
	(void)state;
	st_auto(st_markdown) md =
		parse(ST_STR("a\r\r# one\r\n\r\ntwo\r---\r\n```\rx\n\r\n```\r# three"));
	assert_int_equal(md.lines.count, 11);
	check_heading(&md, 0, 1, "one", 3, 3);
	check_heading(&md, 1, 2, "two", 5, 6);
	check_code(&md, 0, 7, 10, 8, 9);
	check_heading(&md, 2, 1, "three", 11, 11);
}

static void a_byte_order_mark_hides_nothing(void **state) {
	(void)state;
	st_auto(st_markdown) md = parse(ST_STR("\xEF\xBB\xBF# one\n"));
	check_heading(&md, 0, 1, "one", 1, 1);
	st_auto(st_markdown) front = parse(ST_STR("\xEF\xBB\xBF---\na: b\n---\n\n# one\n"));
	assert_int_equal(front.front_end, 3);
	check_heading(&front, 0, 1, "one", 5, 5);
	st_auto(st_markdown) setext = parse(ST_STR("\xEF\xBB\xBFone\n==="));
	check_heading(&setext, 0, 1, "one", 1, 2);
	st_auto(st_markdown) fence = parse(ST_STR("\xEF\xBB\xBF```\nx\n```"));
	check_code(&fence, 0, 1, 3, 2, 2);
	assert_int_equal(fence.codes[0].column, 3);
}

static void a_section_ends_before_the_next_heading_of_its_level_or_higher(void **state) {
	(void)state;
	st_auto(st_markdown) md = parse(ST_STR("# a\n\n## b\ntext\n### c\n\n## d\n# e\n\ntext\n"));
	static const size_t ends[] = {7, 6, 6, 7, 10};
	assert_int_equal(md.heading_count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(st_markdown_section_end(&md, i), ends[i]);
	assert_int_equal(st_markdown_heading_above(&md, 2), 0);
	assert_int_equal(st_markdown_heading_above(&md, 4), 1);
	assert_int_equal(st_markdown_heading_above(&md, 10), 4);
	st_auto(st_markdown) none = parse(ST_STR("text\n# a\n"));
	assert_int_equal(st_markdown_heading_above(&none, 1), 1);
}

static void code_blocks_have_any_fence(void **state) {
	(void)state;
	st_auto(st_markdown) md =
		parse(ST_STR("```c\na\n```\n~~~~ py x\n~~~\n```\n~~~~~\n   ```\n   ```\n"
	                 "    ```\n    no\n\n```\nunclosed\n"));
	assert_int_equal(md.code_count, 4);
	check_code(&md, 0, 1, 3, 2, 2);
	assert_true(st_str_eq(md.codes[0].language, ST_STR("c")));
	check_code(&md, 1, 4, 7, 5, 6);
	assert_true(st_str_eq(md.codes[1].language, ST_STR("py")));
	check_code(&md, 2, 8, 9, 9, 8);
	assert_true(md.codes[2].closed);
	assert_int_equal(md.codes[2].column, 3);
	check_code(&md, 3, 13, 14, 14, 14);
	assert_false(md.codes[3].closed);
}

static void code_blocks_in_lists_count_and_those_in_quotes_do_not(void **state) {
	(void)state;
	st_auto(st_markdown) md =
		parse(ST_STR("- ```\n  a\n  ```\n  1. x\n\n     ~~~\n     b\n     ~~~\n"
	                 "> ```\n> c\n> ```\n> - ```\n>   d\n>   ```\n"));
	assert_int_equal(md.code_count, 2);
	check_code(&md, 0, 1, 3, 2, 2);
	check_code(&md, 1, 6, 8, 7, 7);
}

static void a_fence_that_its_list_closes_has_no_closing_line(void **state) {
	(void)state;
	st_auto(st_markdown) text = parse(ST_STR("- ```\n  a\nb\n"));
	check_code(&text, 0, 1, 2, 2, 2);
	assert_false(text.codes[0].closed);
	/* A line like the closing fence opens a block of its own. */
	st_auto(st_markdown) fence = parse(ST_STR("- ```\n  a\n```\nb\n"));
	assert_int_equal(fence.code_count, 2);
	check_code(&fence, 0, 1, 2, 2, 2);
	assert_false(fence.codes[0].closed);
	check_code(&fence, 1, 3, 4, 4, 4);
	st_auto(st_markdown) definition = parse(ST_STR("- ```\n  a\n[x]: ```\n"));
	assert_false(definition.codes[0].closed);
}

static void a_bare_fence_in_indented_code_is_text(void **state) {
	(void)state;
	st_auto(st_markdown) md = parse(ST_STR("    ```\n    a\n    ```\n\n\t```\n\n-     ~~~\n"));
	assert_int_equal(md.code_count, 0);
	/* Two columns deeper than the list's text is not deep enough for indented code. */
	st_auto(st_markdown) list = parse(ST_STR("- a\n\n\t```\n"));
	assert_int_equal(list.code_count, 1);
}

static void front_matter_is_not_content(void **state) {
	(void)state;
	st_auto(st_markdown) md =
		parse(ST_STR("---\n# comment\ntitle: a: b\nno colon here\n\"quoted key\": 1\n"
	                 "tags:\n  - x\n  deep: 1\nurl:http\n- item: 1\nlast:\n...\n# real\n"));
	assert_int_equal(md.front_end, 12);
	static const char *const keys[] = {"title", "quoted key", "tags", "last"};
	assert_int_equal(md.key_count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_true(st_str_eq(md.keys[i], st_str(keys[i])));
	assert_int_equal(md.heading_count, 1);
	check_heading(&md, 0, 1, "real", 13, 13);
}

static void a_rule_at_the_top_is_no_front_matter(void **state) {
	(void)state;
	static const char *const texts[] = {"---\n\n# a\n\nkey: value\n---\n",
	                                    "---\nFoo\n---\nBar\n---\n",
	                                    "---\nkey: value\n",
	                                    "--- \n- a\n---\n",
	                                    " ---\nkey: value\n---\n",
	                                    "---",
	                                    "----\nkey: 1\n---\n"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		st_auto(st_markdown) md = parse(st_str(texts[i]));
		assert_int_equal(md.front_end, 0);
	}
	st_auto(st_markdown) empty = parse(ST_STR("---\n---\n# a\n"));
	assert_int_equal(empty.front_end, 2);
	st_auto(st_markdown) flow = parse(ST_STR("---\r\n{a: 1}\r\n---\r\n# a\r\n"));
	assert_int_equal(flow.front_end, 3);
}

static void anchors_are_ids_in_html_and_behind_headings(void **state) {
	(void)state;
	static const struct {
		const char *id;
		size_t line;
	} expected[] = {{"one", 2},  {"two", 4},  {"three", 5}, {"four", 5},
	                {"five", 9}, {"six", 10}, {"seven", 12}};
	st_auto(st_markdown) md = parse(
		ST_STR("[a]: /u\ntext <a id=\"one\"></a> [l](/u\n\"title\") and\n<b ID=two>\n"
	           "## x <a name='three'></a> {#four .class}\n\n<div>\n<!-- id=\"no\" <p id=no> -->\n"
	           "<p class=\"id\" id = \"five\">\n<a\n  name=\"six\" href='#no'>\n"
	           "- > <i id=\"seven\">\n\n<input name=\"no\"> `<p id=\"no\">` <p id=\"\">\n"));
	assert_int_equal(md.anchor_count, sizeof expected / sizeof *expected);
	for (size_t i = 0; i < md.anchor_count; i++) {
		assert_true(st_str_eq(md.anchors[i].id, st_str(expected[i].id)));
		assert_int_equal(md.anchors[i].line, expected[i].line);
	}
}

static void any_bytes_can_be_parsed(void **state) {
	(void)state;
	st_auto(st_markdown) empty = parse(ST_STR(""));
	assert_int_equal(empty.heading_count, 0);
	st_auto(st_markdown) indented = parse(ST_STR("    \0\0\0  \n```\nx\n"));
	assert_int_equal(indented.code_count, 1);
	st_auto(st_markdown) bytes = parse(
		ST_STR("# a\0b \xFF\n    ```\0\n\n```\0\n\0\n```\n[\0]: \0\nx\n===\n<p id=\"\0\">\n"));
	assert_int_equal(bytes.heading_count, 2);
	check_heading(&bytes, 0, 1,
	              "a\xEF\xBF\xBD"
	              "b \xFF",
	              1, 1);
}

static void text_without_bounds_is_refused(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_markdown md;
	struct stet_error err = {0};
	for (int i = 0; i < 101; i++)
		st_buf_adds(&text, "- ");
	st_buf_adds(&text, "x\n");
	assert_int_equal(st_markdown_parse(&md, st_buf_str(&text), &err), STET_E_TOO_BIG);
	assert_non_null(strstr(err.message, "Line 1 opens more than 100 nested lists"));

	/* The same as a rule, and in quotes, is harmless. */
	st_buf_truncate(&text, text.len - 2);
	st_auto(st_markdown) rule = parse(st_buf_str(&text));
	assert_int_equal(rule.heading_count, 0);
	assert_int_equal(rule.lines.count, 1);
	st_buf_clear(&text);
	for (int i = 0; i < 100000; i++)
		st_buf_adds(&text, ">");
	st_buf_adds(&text, " # x\n# y\n");
	st_auto(st_markdown) quotes = parse(st_buf_str(&text));
	assert_int_equal(quotes.heading_count, 1);
}

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* In a child with so many MiB of memory: every bracket is a node. */
static int parse_in_memory_of(rlim_t mebibytes) {
	size_t len = (size_t)4 << 20;
	char *text = malloc(len);
	if (!text)
		return 0;
	memset(text, '[', len);
	struct rlimit limit = {mebibytes << 20, mebibytes << 20};
	struct st_markdown md;
	if (setrlimit(RLIMIT_AS, &limit) < 0)
		return 0;
	return st_markdown_parse(&md, st_strn(text, len), NULL);
}

static int parse_in_child(rlim_t mebibytes) {
	if (SANITIZED) {
		print_message("# skipped: sanitizers need the address space that is to run out\n");
		skip();
	}
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(-parse_in_memory_of(mebibytes));
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void running_out_of_memory_is_an_answer(void **state) {
	(void)state;
	assert_int_equal(parse_in_child(96), STET_E_NOMEM);
}

static void structure_is_refused_before_it_takes_much_memory(void **state) {
	(void)state;
	assert_int_equal(parse_in_child(512), STET_E_TOO_BIG);
}

static void structure_is_refused_where_there_are_too_many_definitions(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_markdown md = {0};
	struct stet_error err = {0};
	for (int i = 0; i < 200000; i++)
		st_buf_addf(&text, "[%d]: y\n", i);
	assert_false(text.failed);
	assert_int_equal(st_markdown_parse(&md, st_buf_str(&text), &err), STET_E_TOO_BIG);
	assert_non_null(strstr(err.message, "link definitions"));
}

static size_t find(const struct st_markdown *md, const char *query, int64_t occurrence) {
	size_t index = SIZE_MAX;
	struct stet_error err = {0};
	if (st_heading_find(md, st_str(query), occurrence, &index, &err) < 0)
		fail_msg("%s: %s", query, err.message);
	return md->headings[index].line;
}

static void check_absent(const struct st_markdown *md, const char *query, int64_t occurrence,
                         int code, const char *part) {
	size_t index;
	struct stet_error err = {0};
	assert_int_equal(st_heading_find(md, st_str(query), occurrence, &index, &err), code);
	if (!strstr(err.message, part))
		fail_msg("\"%s\" is not in \"%s\"", part, err.message);
}

static void a_heading_is_found_however_it_is_written(void **state) {
	(void)state;
	st_auto(st_markdown) md =
		parse(ST_STR("# Intro\n## The **bold** one\n## Stra\xC3\x9F"
	                 "e {#street}\n"
	                 "Caf\xC3\xA9\n====\n# #tag\n### Two  words ###\n"));
	assert_int_equal(find(&md, "Intro", 0), 1);
	assert_int_equal(find(&md, "  # iNTRO #  ", 0), 1);
	assert_int_equal(find(&md, "#intro", 0), 1);
	assert_int_equal(find(&md, "The bold one", 0), 2);
	assert_int_equal(find(&md, "## the **BOLD** one", 0), 2);
	assert_int_equal(find(&md, "STRASSE", 0), 3);
	assert_int_equal(find(&md,
	                      "## Stra\xC3\x9F"
	                      "e {#street}",
	                      0),
	                 3);
	assert_int_equal(find(&md, "cafe\xCC\x81", 0), 4);
	assert_int_equal(find(&md, "# CAF\xC3\x89", 0), 4);
	assert_int_equal(find(&md, "#tag", 0), 6);
	assert_int_equal(find(&md, "# #tag", 0), 6);
	assert_int_equal(find(&md, "two\twords", 0), 7);
}

static void hashes_decide_the_level_first(void **state) {
	(void)state;
	st_auto(st_markdown) md = parse(ST_STR("# Setup\n## Setup\n### Other\n"));
	assert_int_equal(find(&md, "Setup", 0), 1);
	assert_int_equal(find(&md, "## Setup", 0), 2);
	check_absent(&md, "### Setup", 0, STET_E_NO_MATCH,
	             "Heading \"### Setup\" not found. At other levels there is \"# Setup\" (line "
	             "1), \"## Setup\" (line 2).");
}

static void of_several_headings_the_first_is_taken_and_the_others_are_named(void **state) {
	(void)state;
	st_auto(st_markdown) md = parse(ST_STR("# Fixed\n# x\n# Fixed\n## Fixed\n"));
	st_auto(st_buf) note = ST_BUF_INIT;
	size_t index;
	assert_int_equal(st_heading_find(&md, ST_STR("# Fixed"), 0, &index, NULL), 0);
	assert_int_equal(index, 0);
	st_heading_note_others(&md, ST_STR("# Fixed"), &(struct st_line_move){0}, &note);
	assert_non_null(strstr(note.ptr,
	                       "2 headings are called \"Fixed\"; the first, in line 1, was taken. The "
	                       "other is in line 3;"));
	assert_int_equal(st_heading_find(&md, ST_STR("Fixed"), 3, &index, NULL), 0);
	assert_int_equal(md.headings[index].line, 4);
	assert_int_equal(find(&md, "# Fixed", 2), 3);
	check_absent(
		&md, "# Fixed", 3, STET_E_NO_MATCH,
		"Occurrence 3 of the heading \"# Fixed\" is out of range: there are 2, in lines 1, 3.");
	check_absent(&md, "Fixed", -1, STET_E_INVALID, "counts from 1");
}

static void a_heading_that_is_not_there_is_answered_with_the_nearest(void **state) {
	(void)state;
	st_auto(st_markdown) few = parse(ST_STR("# Usage\n# Installation\n"));
	check_absent(&few, "Instalation", 0, STET_E_NO_MATCH,
	             "Heading \"Instalation\" not found. The headings are: \"# Installation\" (line "
	             "2), \"# Usage\" (line 1).");
	check_absent(&few, " ", 0, STET_E_INVALID, "is empty");
	st_auto(st_markdown) none = parse(ST_STR("text\n"));
	check_absent(&none, "x", 0, STET_E_NO_MATCH, "no headings at all");

	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 500; i++)
		st_buf_addf(&text, "## Heading number %d of these\n", i);
	st_auto(st_markdown) many = parse(st_buf_str(&text));
	check_absent(&many, "number 371", 0, STET_E_NO_MATCH,
	             "The nearest of 500 headings: \"## Heading number 371 of these\" (line 372), ");
}

static void the_outline_of_plain_text_has_sections_and_groups(void **state) {
	(void)state;
	st_auto(st_lines) lines = {0};
	struct st_str text = ST_STR(
		"\xEF\xBB\xBF[core]\na = 1\n\n\n  [remote \"a#b\"] ; note\r\nx\n \t\n[[array]] # toml\n"
		"[ ] box\n[x] done\n[1, 2]\n[a](b)\n[]\n\nend");
	assert_int_equal(st_lines_init(&lines, text, NULL), 0);
	st_auto(st_outline) outline = {0};
	assert_int_equal(st_outline_init(&outline, &lines, NULL), 0);
	static const char *const markers[] = {"[core]", "[remote \"a#b\"]", "[[array]]"};
	static const size_t at[] = {1, 5, 8};
	assert_int_equal(outline.section_count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true(st_str_eq(outline.sections[i].marker, st_str(markers[i])));
		assert_int_equal(outline.sections[i].line, at[i]);
	}
	assert_int_equal(outline.group_count, 3);
	assert_int_equal(outline.groups[0], 5);
	assert_int_equal(outline.groups[1], 8);
	assert_int_equal(outline.groups[2], 15);
}

/* One element of what `cmark -t xml --sourcepos` prints. */
struct element {
	size_t depth;
	char type[32];
	size_t line;
	size_t end_line;
	int level;
	/** What is inside, up to the end of the next line that closes it, still escaped. */
	struct st_str rest;
};

/* Step to the next opening tag; text is escaped, so that a line beginning with "<" is always one. */
static bool next_element(struct st_str xml, size_t *at, struct element *element) {
	while (*at < xml.len) {
		const char *line = xml.ptr + *at;
		const char *end = memchr(line, '\n', xml.len - *at);
		*at = end ? (size_t)(end + 1 - xml.ptr) : xml.len;
		size_t spaces = strspn(line, " ");
		if (line[spaces] != '<' || strchr("/?!", line[spaces + 1]))
			continue;
		/* Only the tag: functions for strings would look at all that follows. */
		const char *close = strchr(line, '>');
		char tag[4096];
		snprintf(tag, sizeof tag, "%.*s", (int)(close - line), line);
		*element = (struct element){.depth = spaces / 2};
		element->rest = st_str_slice(xml, (size_t)(close + 1 - xml.ptr), xml.len);
		sscanf(tag + spaces + 1, "%31[a-z_]", element->type);
		const char *pos = strstr(tag, "sourcepos=\"");
		const char *level = strstr(tag, "level=\"");
		if (pos)
			sscanf(pos, "sourcepos=\"%zu:%*u-%zu", &element->line, &element->end_line);
		if (level)
			element->level = level[7] - '0';
		return true;
	}
	return false;
}

static void add_unescaped(struct st_buf *out, struct st_str text) {
	static const struct {
		const char *name;
		char c;
	} entities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}};
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		for (size_t k = 0; c == '&' && k < 4; k++) {
			if (st_str_starts(st_str_slice(text, i, text.len), st_str(entities[k].name))) {
				c = entities[k].c;
				i += strlen(entities[k].name) - 1;
			}
		}
		st_buf_addc(out, c);
	}
}

/* The content of an element without children. */
static void add_literal(struct st_buf *out, const struct element *element) {
	const char *end = memchr(element->rest.ptr, '<', element->rest.len);
	if (end)
		add_unescaped(out, st_strn(element->rest.ptr, (size_t)(end - element->rest.ptr)));
}

/* The text of a heading, from the elements inside it; at is left behind them. */
static void read_heading_text(struct st_str xml, size_t *at, struct st_buf *text) {
	struct element inner;
	for (size_t next = *at; next_element(xml, &next, &inner) && inner.depth > 1; *at = next) {
		if (strcmp(inner.type, "text") == 0 || strcmp(inner.type, "code") == 0)
			add_literal(text, &inner);
		else if (strcmp(inner.type, "softbreak") == 0 || strcmp(inner.type, "linebreak") == 0)
			st_buf_addc(text, ' ');
	}
}

static void compare_heading(const struct st_heading *heading, const struct element *element,
                            struct st_str text) {
	assert_int_equal(heading->level, element->level);
	assert_int_equal(heading->block_line, element->line);
	assert_true(st_str_eq(heading->text, st_str_trim(text)));
	/* A setext heading reaches into the next line, in libcmark's view. */
	size_t slip = element->end_line - heading->end_line;
	assert_true(slip == 0 || (slip == 1 && heading->end_line > heading->line));
}

/* A line of the text ends with what the block has of it, but for tabs that became spaces. */
static void check_ends(struct st_str line, struct st_str part) {
	assert_true(st_str_ends(st_str_trim(line), st_str_trim(part)));
}

/* Ours are the fenced ones; an indented one begins with its own first line. */
static bool compare_code(const struct st_markdown *md, size_t index,
                         const struct element *element) {
	st_auto(st_buf) literal = ST_BUF_INIT;
	st_auto(st_lines) inside = {0};
	add_literal(&literal, element);
	assert_int_equal(st_lines_init(&inside, st_buf_str(&literal), NULL), 0);
	if (index == md->code_count || md->codes[index].line != element->line) {
		assert_true(inside.count > 0);
		check_ends(st_lines_body(&md->lines, element->line), st_lines_body(&inside, 1));
		return false;
	}
	const struct st_code *code = &md->codes[index];
	assert_int_equal(code->last - code->line, inside.count);
	for (size_t n = 1; n <= inside.count; n++)
		check_ends(st_lines_body(&md->lines, code->line + n), st_lines_body(&inside, n));
	/* A block that its list ends reaches into the next line, in libcmark's view. */
	assert_true(element->end_line - code->end_line <= (code->closed ? 0 : 1));
	return true;
}

static void compare_with_cmark(struct st_str text) {
	st_auto(st_markdown) md = parse(text);
	st_auto(st_buf) input = ST_BUF_INIT, xml = ST_BUF_INIT, title = ST_BUF_INIT;
	for (size_t n = 0; n < md.front_end; n++)
		st_buf_addc(&input, '\n');
	st_buf_add(&input, st_str_slice(text, md.lines.starts[md.front_end], text.len));
	run_filter((const char *const[]){"cmark", "-t", "xml", "--sourcepos", NULL}, st_buf_str(&input),
	           &xml);

	size_t headings = 0, codes = 0, quote = SIZE_MAX, at = 0;
	struct element element;
	while (next_element(st_buf_str(&xml), &at, &element)) {
		if (element.depth <= quote)
			quote = strcmp(element.type, "block_quote") == 0 ? element.depth : SIZE_MAX;
		if (strcmp(element.type, "heading") == 0 && element.depth == 1) {
			st_buf_clear(&title);
			read_heading_text(st_buf_str(&xml), &at, &title);
			assert_true(headings < md.heading_count);
			compare_heading(&md.headings[headings++], &element, st_buf_str(&title));
		} else if (strcmp(element.type, "code_block") == 0 && quote == SIZE_MAX) {
			codes += compare_code(&md, codes, &element);
		}
	}
	assert_int_equal(headings, md.heading_count);
	assert_int_equal(codes, md.code_count);
}

static void structure_is_as_cmark_says_on_every_example_of_the_specification(void **state) {
	(void)state;
	struct corpus corpus;
	corpus_open(&corpus);
	size_t count = 0;
	for (; corpus_next_example(&corpus); count++) {
		struct st_str text = st_buf_str(&corpus.text);
		compare_with_cmark(text);
		/* Without a final newline the last blocks end differently. */
		if (st_str_ends(text, ST_STR("\n")))
			compare_with_cmark(st_str_slice(text, 0, text.len - 1));
	}
	assert_true(count > 600);
}

static void structure_is_as_cmark_says_on_real_files(void **state) {
	(void)state;
	struct corpus corpus;
	corpus_open(&corpus);
	while (corpus_next(&corpus))
		compare_with_cmark(st_buf_str(&corpus.text));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_setext_heading_ends_with_its_underline),
		cmocka_unit_test(a_setext_heading_may_have_several_lines),
		cmocka_unit_test(link_definitions_above_a_setext_heading_are_not_part_of_it),
		cmocka_unit_test(headings_in_quotes_lists_fences_and_html_do_not_count),
		cmocka_unit_test(hashes_and_markup_are_not_part_of_a_heading_s_text),
		cmocka_unit_test(every_line_ending_counts_as_in_st_lines),
		cmocka_unit_test(a_byte_order_mark_hides_nothing),
		cmocka_unit_test(a_section_ends_before_the_next_heading_of_its_level_or_higher),
		cmocka_unit_test(code_blocks_have_any_fence),
		cmocka_unit_test(code_blocks_in_lists_count_and_those_in_quotes_do_not),
		cmocka_unit_test(a_fence_that_its_list_closes_has_no_closing_line),
		cmocka_unit_test(a_bare_fence_in_indented_code_is_text),
		cmocka_unit_test(front_matter_is_not_content),
		cmocka_unit_test(a_rule_at_the_top_is_no_front_matter),
		cmocka_unit_test(anchors_are_ids_in_html_and_behind_headings),
		cmocka_unit_test(any_bytes_can_be_parsed),
		cmocka_unit_test(text_without_bounds_is_refused),
		cmocka_unit_test(running_out_of_memory_is_an_answer),
		cmocka_unit_test(structure_is_refused_before_it_takes_much_memory),
		cmocka_unit_test(structure_is_refused_where_there_are_too_many_definitions),
		cmocka_unit_test(a_heading_is_found_however_it_is_written),
		cmocka_unit_test(hashes_decide_the_level_first),
		cmocka_unit_test(of_several_headings_the_first_is_taken_and_the_others_are_named),
		cmocka_unit_test(a_heading_that_is_not_there_is_answered_with_the_nearest),
		cmocka_unit_test(the_outline_of_plain_text_has_sections_and_groups),
		cmocka_unit_test(structure_is_as_cmark_says_on_every_example_of_the_specification),
		cmocka_unit_test(structure_is_as_cmark_says_on_real_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
