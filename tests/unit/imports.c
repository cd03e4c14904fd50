/* Which lines of an instruction file are imports, rather than code or plain text. */
#include "lib/test.h"
#include "text/markdown/imports.h"

/* The candidates of a text, each followed by a bar. */
static const char *found(const char *text) {
	static char out[4096];
	struct st_str all = st_str(text);
	struct st_imports imports = ST_IMPORTS(all);
	struct st_span span;
	size_t len = 0;
	out[0] = '\0';
	while (st_imports_next(&imports, &span)) {
		struct st_str path = st_import_path(all, span);
		len += (size_t)snprintf(out + len, sizeof out - len, "%.*s|", (int)path.len, path.ptr);
	}
	return out;
}

static void an_import_stands_alone_or_in_a_sentence(void **state) {
	(void)state;
	assert_string_equal(found("@AGENTS.md"), "AGENTS.md|");
	assert_string_equal(found("See @AGENTS.md.\n"), "AGENTS.md|");
	assert_string_equal(found("(see @docs/a-b_c.md), @x.md; \"@y.md\" and **@z.md**!\n"),
	                    "docs/a-b_c.md|x.md|y.md|z.md|");
	assert_string_equal(found("- @a.md\n- @b.md\n\n> @c.md\n"), "a.md|b.md|c.md|");
	assert_string_equal(found("\xef\xbb\xbf@a.md"), "a.md|");
	assert_string_equal(found("@packages/@scope/a.md"), "packages/@scope/a.md|");
	assert_string_equal(found("@app/[id]/x.md @../up.md @./here.md"),
	                    "app/[id]/x.md|../up.md|./here.md|");
}

static void an_address_is_not_an_import(void **state) {
	(void)state;
	assert_string_equal(found("me@example.org a/@b x.@y \\@z @ @@ @."), "");
}

static void code_spans_hide_imports(void **state) {
	(void)state;
	assert_string_equal(found("`@a.md` @b.md ``@c ` @d`` `open @e.md\n"), "b.md|e.md|");
	assert_string_equal(found("`@a.md\n@b.md` @c.md"), "c.md|");
	assert_string_equal(found("` @a.md\n\n@b.md` @c.md"), "a.md|b.md|c.md|");
	assert_string_equal(found("\\`@a.md`"), "");
	assert_string_equal(found("\\` @a.md`"), "a.md|");
}

static void fences_hide_imports(void **state) {
	(void)state;
	assert_string_equal(found("```python\n@click.command\n```\n@a.md\n"), "a.md|");
	assert_string_equal(found("~~~\n@a\n```\n@b\n~~~ \n@c.md\n"), "c.md|");
	assert_string_equal(found("````\n@a\n```\n@b\n````\n@c.md\n"), "c.md|");
	assert_string_equal(found("- x\n  ```\n  @a\n  ```\n- ~~~\n  @b\n  ~~~\n@c.md\n"), "c.md|");
	assert_string_equal(found("> ```\n> @a\n> ```\n> @b.md\n"), "b.md|");
	assert_string_equal(found("```\n@a\n"), "");
	assert_string_equal(found("``` @a.md ``` @b.md\n"), "b.md|");
	assert_string_equal(found("```\r\n@a\r\n```\r\n@b.md\r\n"), "b.md|");
}

static void indented_code_hides_imports_but_lists_do_not(void **state) {
	(void)state;
	assert_string_equal(found("text\n\n    @a.md\n\n\t@b.md\n\n@c.md\n"), "c.md|");
	assert_string_equal(found("    @a.md\n"), "");
	assert_string_equal(found("text\n    @a.md\n"), "a.md|");
	assert_string_equal(found("- item\n\n    @a.md\n\nplain\n\n    @b.md\n"), "a.md|");
}

static void comments_hide_imports(void **state) {
	(void)state;
	assert_string_equal(found("<!-- @a.md\n\n@b.md --> @c.md\n<!-- @d.md"), "c.md|");
}

static void many_backticks_take_no_time(void **state) {
	(void)state;
	size_t len = 1 << 20, at = 0;
	char *text = malloc(len + 1);
	assert_non_null(text);
	for (size_t run = 1; at + run + 1 < len; run++) {
		memset(text + at, '`', run);
		at += run;
		text[at++] = ' ';
	}
	text[at] = '\0';
	struct st_imports imports = ST_IMPORTS(st_str(text));
	struct st_span span;
	assert_false(st_imports_next(&imports, &span));
	free(text);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_import_stands_alone_or_in_a_sentence),
		cmocka_unit_test(an_address_is_not_an_import),
		cmocka_unit_test(code_spans_hide_imports),
		cmocka_unit_test(fences_hide_imports),
		cmocka_unit_test(indented_code_hides_imports_but_lists_do_not),
		cmocka_unit_test(comments_hide_imports),
		cmocka_unit_test(many_backticks_take_no_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
