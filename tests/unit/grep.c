/* grep: the lines of a text that match, the files of a tree, and what the answer says of them. */
#include <fcntl.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "core/session/session.h"
#include "core/workspace/tree_grep.h"
#include "lib/gen.h"
#include "lib/tools.h"

/* ---- the engine ---- */

/* The numbers of the lines that match, as "1 3 4"; "-" and the reason if the search stopped. */
static void find_lines(const char *query, unsigned flags, struct st_str text, struct st_buf *out) {
	struct st_pattern *pattern = NULL;
	struct stet_error err = {0};
	struct st_grep grep = {0};
	struct st_span lines, match;
	int code = st_grep_compile(st_str(query), flags, &pattern, &err);
	if (code == 0)
		code = st_grep_init(&grep, pattern, flags, &err);
	if (code < 0)
		fail_msg("%s: %s", query, err.message);
	st_buf_clear(out);
	st_grep_begin(&grep, text, 5000, NULL);
	while ((code = st_grep_next(&grep, &lines, &match)) > 0) {
		size_t first = st_line_ends(text, lines.start) + 1;
		size_t count = st_line_count(st_str_slice(text, lines.start, lines.end));
		assert_true(match.start >= lines.start && match.start <= lines.end);
		for (size_t n = first; n < first + count; n++)
			st_buf_addf(out, "%s%zu", out->len ? " " : "", n);
	}
	if (code < 0)
		st_buf_addf(out, "- %s", st_matcher_limit(code));
	st_grep_release(&grep);
	st_pattern_free(pattern);
}

static void lines_match_as_if_each_stood_alone(void **state) {
	static const struct {
		const char *query;
		unsigned flags;
		const char *text;
		const char *lines;
	} cases[] = {
		{"b", 0, "a\nb\nab\n", "2 3"},
		{"b", 0, "", ""},
		{"^b", 0, "a\nb\nab\nb", "2 4"},
		{"a$", 0, "a\r\nab\r\nba\r\n", "1 3"},
		{"a$", 0, "a\rab\rba", "1 3"},
		{"a[^x]b", 0, "a\nb\na b\n", "3"},
		{"a\\s+b", 0, "a\nb\na  b\n", "3"},
		{"x*", 0, "a\n\nx", "1 2 3"},
		{"(?<=a)b", 0, "b\nab\n", "2"},
		{"^a", 0,
	     "\xEF\xBB\xBF"
	     "a\nb\n",
	     "1"},
		{"FOO", ST_GREP_CASELESS, "foo\nbar\nfOo foo\n", "1 3"},
		{"FO+", ST_GREP_CASELESS, "foo\nbar\nfOo foo\n", "1 3"},
		{"a.b", ST_GREP_LITERAL, "aab\na.b\n", "2"},
		{"A.B", ST_GREP_LITERAL | ST_GREP_CASELESS, "aab\na.b\n", "2"},
		{"\xC3\x89", ST_GREP_CASELESS, "\xC3\xA9\n", "1"},
		{"a\\nb", ST_GREP_SPAN, "a\nb\nc\na\nb", "1 2 4 5"},
		{"a\nb", ST_GREP_SPAN | ST_GREP_LITERAL, "a\r\nb\r\n", "1 2"},
		{"^b$", ST_GREP_SPAN, "a\nb\nc\n", "2"},
		{"c\\n", ST_GREP_SPAN, "a\nc\nb\n", "2"},
		{"$", ST_GREP_SPAN, "a\nb", "1 2"},
		{"$", ST_GREP_SPAN, "a\nb\n", "1 2"},
		{"b\\n|c d", ST_GREP_SPAN, "ab\nc d\n", "1 2"},
	};
	st_auto(st_buf) found = ST_BUF_INIT;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		find_lines(cases[i].query, cases[i].flags, st_str(cases[i].text), &found);
		if (strcmp(st_buf_cstr(&found), cases[i].lines) != 0)
			fail_msg("%s in \"%s\": %s, not %s", cases[i].query, cases[i].text, st_buf_cstr(&found),
			         cases[i].lines);
	}
}

static void a_line_break_needs_multiline(void **state) {
	static const char *const queries[] = {"a\nb", "a\\nb", "a\\Rb", "\\\\\\n"};
	struct st_pattern *pattern;
	struct stet_error err;
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
		assert_int_equal(st_grep_compile(st_str(queries[i]), 0, &pattern, &err), STET_E_INVALID);
		assert_non_null(strstr(err.message, "multiline: true"));
	}
	assert_int_equal(st_grep_compile(ST_STR("a\\nb"), ST_GREP_LITERAL, &pattern, &err), 0);
	st_pattern_free(pattern);
	assert_int_equal(st_grep_compile(ST_STR("a\\\\nb"), 0, &pattern, &err), 0);
	st_pattern_free(pattern);
}

/* A group around the pattern hides its literal from the search, so every line is matched. */
static void looking_for_the_literal_first_finds_the_same(void **state) {
	static const char *const atoms[] = {
		"foo", "ab",  "a", "b_1", "\\d", "\\w", "[a-c]",  "[^]a]", "[\\]]",     ".", "\\.", "\\b",
		"\\s", "{2}", "*", "+",   "?",   "{",   "x{0,1}", "\\x61", "\\Qa.b\\E", "^", "$"};
	static const char *const words[] = {"foo", "fo", "ab", "aab", "b_1", "1",  "2",
	                                    ".",   "]",  "{",  "\n",  " ",   "a.b"};
	st_auto(st_buf) query = ST_BUF_INIT, group = ST_BUF_INIT, text = ST_BUF_INIT;
	st_auto(st_buf) found = ST_BUF_INIT, all = ST_BUF_INIT;
	size_t tried = 0;
	for (size_t i = 0; i < gen_rounds(3000, 100000); i++) {
		struct gen gen = gen_new(gen_seed() + i);
		st_buf_clear(&query), st_buf_clear(&group), st_buf_clear(&text);
		for (size_t n = 1 + gen_below(&gen, 5); n > 0; n--)
			st_buf_adds(&query, atoms[gen_below(&gen, sizeof atoms / sizeof *atoms)]);
		for (size_t n = gen_below(&gen, 40); n > 0; n--)
			st_buf_adds(&text, words[gen_below(&gen, sizeof words / sizeof *words)]);
		st_buf_addf(&group, "(?:%s)", st_buf_cstr(&query));
		struct st_pattern *pattern = NULL;
		if (st_grep_compile(st_buf_str(&query), 0, &pattern, NULL) < 0)
			continue;
		st_pattern_free(pattern);
		if (st_grep_compile(st_buf_str(&group), 0, &pattern, NULL) < 0)
			continue;
		st_pattern_free(pattern);
		tried++;
		find_lines(st_buf_cstr(&query), 0, st_buf_str(&text), &found);
		find_lines(st_buf_cstr(&group), 0, st_buf_str(&text), &all);
		if (strcmp(st_buf_cstr(&found), st_buf_cstr(&all)) != 0)
			fail_msg("seed %zu: %s in \"%s\": %s, not %s", i, st_buf_cstr(&query),
			         st_buf_cstr(&text), st_buf_cstr(&found), st_buf_cstr(&all));
	}
	assert_true(tried > 500);
}

/* Lines too long, or too much work, for the code without callouts. */
static void long_and_costly_lines_match_all_the_same(void **state) {
	st_auto(st_buf) text = ST_BUF_INIT, found = ST_BUF_INIT;
	for (int i = 0; i < 30000; i++)
		st_buf_adds(&text, "ab");
	st_buf_adds(&text, "c\n");
	for (int i = 0; i < 900; i++)
		st_buf_adds(&text, "ab");
	st_buf_adds(&text, "c\nabd\n");
	find_lines("(?:a|b)+c$", 0, st_buf_str(&text), &found);
	assert_string_equal(st_buf_cstr(&found), "1 2");
	find_lines("[^b]d", 0, st_buf_str(&text), &found);
	assert_string_equal(st_buf_cstr(&found), "");
}

/* ---- the tool ---- */

#define TOOL "grep"

static void answers_are_lines_with_path_and_number(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "b.txt", "one\ntwo\nthree\nfour\nfive\n");
	dir_write(host->dir, "a/x.txt", "two two\n");
	dir_write(host->dir, "a.txt", "zero\n\ntwo");
	call(host, TOOL, "{'pattern': 'two'}");
	assert_string_equal(said(0), "a/x.txt:1:two two\na.txt:3:two\nb.txt:2:two\n");
	expect_int("total", 3);
	expect_int("filesMatched", 3);
	expect_str("matches.1.path", "a.txt");
	expect_int("matches.1.line", 3);
	call(host, TOOL, "{'pattern': 'two|five', 'context': 1, 'path': 'b.txt'}");
	assert_string_equal(said(0),
	                    "b.txt-1-one\nb.txt:2:two\nb.txt-3-three\nb.txt-4-four\nb.txt:5:five\n");
	call(host, TOOL, "{'pattern': 'one|five|zero', 'context': 1}");
	assert_string_equal(said(0),
	                    "a.txt:1:zero\na.txt-2-\n--\nb.txt:1:one\nb.txt-2-two\n--\nb.txt-4-four\n"
	                    "b.txt:5:five\n");
	call(host, TOOL, "{'pattern': 'TWO', 'ignoreCase': true, 'mode': 'count'}");
	assert_string_equal(said(0), "a/x.txt:1\na.txt:1\nb.txt:1\n");
	call(host, TOOL, "{'pattern': 'two', 'mode': 'files', 'path': 'a'}");
	assert_string_equal(said(0), "a/x.txt\n");
	call(host, TOOL, "{'pattern': 'two', 'glob': '!b.*', 'mode': 'files'}");
	assert_string_equal(said(0), "a/x.txt\na.txt\n");
	call(host, TOOL, "{'pattern': 'two.three', 'multiline': true}");
	assert_string_equal(said(0), "[No match in 3 files.]\n");
	call(host, TOOL, "{'pattern': 'two\\\\nthree', 'multiline': true}");
	assert_string_equal(said(0), "b.txt:2:two\nb.txt:3:three\n");
}

static void files_that_are_not_searched_are_counted(void **state) {
	struct host *host = *state;
	dir_write(host->dir, ".gitignore", "*.log\nout/\n.cache\n");
	dir_write(host->dir, "a.txt", "word\n");
	dir_write(host->dir, "a.log", "word\n");
	dir_write(host->dir, "out/a.txt", "word\n");
	dir_write(host->dir, ".hidden", "word\n");
	dir_write(host->dir, ".git/config", "word\n");
	dir_write(host->dir, ".stet/config", "word\n");
	dir_write(host->dir, ".cache/a.log", "word\n");
	dir_write_bytes(host->dir, "binary", "word\n\0", 6);
	dir_write_bytes(host->dir, "utf16", "\xff\xfew\0o\0r\0d\0", 10);
	dir_write(host->dir, "empty", "");
	assert_int_equal(symlink("a.txt", dir_at(host->dir, "link")), 0);
	call(host, TOOL, "{'pattern': 'word'}");
	assert_string_equal(
		said(0),
		"a.txt:1:word\n[Not searched: 1 ignored directory, 1 ignored file (see "
		"includeIgnored), 3 hidden entries (see hidden), 1 binary file, 1 UTF-16 file.]\n");
	expect_int("ignored", 2);
	expect_int("binary", 2);
	call(host, TOOL,
	     "{'pattern': 'word', 'includeIgnored': true, 'hidden': true, 'mode': 'files'}");
	assert_string_equal(
		said(0),
		".cache/a.log\n.hidden\na.log\na.txt\nout/a.txt\n[Not searched: 1 binary file, 1 "
		"UTF-16 file.]\n");
	/* A file or directory that is named is searched, whatever the rules say. */
	call(host, TOOL, "{'pattern': 'word', 'path': 'out'}");
	expect_text("out/a.txt:1:word");
	call(host, TOOL, "{'pattern': 'word', 'path': 'a.log'}");
	expect_text("a.log:1:word");
	call(host, TOOL, "{'pattern': 'word', 'path': 'link'}");
	expect_text("a.txt:1:word");
}

static void git_and_state_directories_are_never_searched(void **state) {
	struct host *host = *state;
	dir_write(host->dir, ".git/config", "word\n");
	dir_write(host->dir, "sub/.git/config", "word\n");
	dir_write(host->dir, ".stet/notes", "word\n");
	refuse(host, STET_E_PROTECTED, TOOL, "{'pattern': 'word', 'path': '.git'}");
	refuse(host, STET_E_PROTECTED, TOOL, "{'pattern': 'word', 'path': '.git/config'}");
	refuse(host, STET_E_PROTECTED, TOOL, "{'pattern': 'word', 'path': '.stet'}");
	call(host, TOOL, "{'pattern': 'word', 'hidden': true, 'includeIgnored': true}");
	expect_int("total", 0);
	call(host, TOOL, "{'pattern': 'word', 'hidden': true, 'includeIgnored': true, 'path': 'sub'}");
	expect_int("total", 0);
}

static void nothing_outside_the_root_is_searched(void **state) {
	struct host *host = *state;
	assert_int_equal(symlink("/etc", dir_at(host->dir, "etc")), 0);
	refuse(host, STET_E_OUTSIDE, TOOL, "{'pattern': 'root', 'path': '..'}");
	refuse(host, STET_E_OUTSIDE, TOOL, "{'pattern': 'root', 'path': '/etc/passwd'}");
	refuse(host, STET_E_OUTSIDE, TOOL, "{'pattern': 'root', 'path': 'etc/passwd'}");
	refuse(host, STET_E_NOT_FOUND, TOOL, "{'pattern': 'root', 'path': 'nope'}");
	call(host, TOOL, "{'pattern': 'root'}");
	expect_int("total", 0);
}

static void types_that_are_not_allowed_are_left_out(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.md", "secret\n");
	dir_write(host->dir, "a.exe", "secret\n");
	assert_int_equal(stet_workspace_allow(host->ws, ".md", NULL), 0);
	call(host, TOOL, "{'pattern': 'secret'}");
	assert_string_equal(said(0),
	                    "a.md:1:secret\n[Not searched: 1 file of types that are not allowed.]\n");
	refuse(host, STET_E_EXTENSION, TOOL, "{'pattern': 'secret', 'path': 'a.exe'}");
}

static void too_large_files_are_left_out(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	while (text.len <= 5000)
		st_buf_adds(&text, "word word word\n");
	dir_write(host->dir, "large", st_buf_cstr(&text));
	dir_write(host->dir, "small", "word\n");
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_MAX_FILE, 4096, NULL), 0);
	call(host, TOOL, "{'pattern': 'word'}");
	assert_string_equal(said(0), "small:1:word\n[Not searched: 1 too large file.]\n");
}

/* Files are read in pieces of 128 KB: no line is lost, split or counted twice between two of them. */
static void large_files_are_searched_in_pieces(void **state) {
	static const char *const ends[] = {"\n", "\r\n", "\r"};
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
		struct gen gen = gen_new(gen_seed() + e);
		size_t hits = 0, lines = 0;
		st_buf_clear(&text);
		for (; text.len < 700'000; lines++) {
			bool hit = gen_one_in(&gen, 5);
			hits += hit;
			/* A byte order mark within the file is a character as any other. */
			st_buf_adds(&text, gen_one_in(&gen, 9) ? "\xEF\xBB\xBF" : "");
			for (size_t n = gen_below(&gen, 40); n > 0; n--)
				st_buf_adds(&text, "xy ");
			/* Now and then a line longer than a piece. */
			for (size_t n = gen_one_in(&gen, 9000) ? 60'000 : 0; n > 0; n--)
				st_buf_adds(&text, "xyz");
			st_buf_adds(&text, hit ? "hit" : "x");
			st_buf_adds(&text, ends[e]);
		}
		dir_write(host->dir, "large", st_buf_cstr(&text));
		call(host, TOOL, "{'pattern': 'hit$', 'mode': 'count'}");
		expect_int("counts.0.count", (int64_t)hits);
		call(host, TOOL, "{'pattern': '^', 'mode': 'count'}");
		expect_int("counts.0.count", (int64_t)lines);
		call(host, TOOL, "{'pattern': 'x[^q]*?hit', 'mode': 'count', 'multiline': true}");
		assert_true(yyjson_get_int(look("counts.0.count")) >= (int64_t)hits);
		call(host, TOOL, "{'pattern': 'hit$', 'limit': 1}");
		expect_int("total", (int64_t)hits);
	}
}

static void a_nul_byte_anywhere_makes_a_file_binary(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	while (text.len < 300'000)
		st_buf_adds(&text, "hit\n");
	st_buf_addc(&text, '\0');
	dir_write_bytes(host->dir, "late", text.ptr, text.len);
	for (size_t i = 0; i < 3; i++) {
		static const char *const modes[] = {"lines", "files", "count"};
		call(host, TOOL, "{'pattern': 'hit', 'mode': '%s'}", modes[i]);
		expect_int("total", 0);
		expect_int("binary", 1);
	}
}

static void several_paths_are_searched_as_one(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a/x.txt", "word\n");
	dir_write(host->dir, "b/x.txt", "word\n");
	dir_write(host->dir, "c.txt", "word\n");
	dir_write(host->dir, "d.txt", "word\n");
	call(host, TOOL, "{'pattern': 'word', 'paths': ['c.txt', 'b', 'a', 'b/x.txt']}");
	assert_string_equal(said(0), "a/x.txt:1:word\nb/x.txt:1:word\nc.txt:1:word\n");
	expect_int("total", 3);
	expect_none("failedPaths");
	/* One that is wrong is named, and the others are searched. */
	call(host, TOOL, "{'pattern': 'word', 'paths': ['c.txt', 'nope', '..', 'a']}");
	expect_text("a/x.txt:1:word\nc.txt:1:word\n");
	expect_text("nope");
	expect_int("failedPaths", 2);
	refuse(host, STET_E_NOT_FOUND, TOOL, "{'pattern': 'word', 'paths': ['nope', 'nix']}");
	/* An empty list is no list. */
	call(host, TOOL, "{'pattern': 'word', 'paths': [], 'path': 'a'}");
	expect_int("total", 1);
}

static void nothing_is_recorded_if_the_caller_says_so(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "word\n");
	call(host, TOOL, "{'pattern': 'word', 'record': false, 'list': false}");
	assert_string_equal(said(0), "a.txt:1:word\n");
	expect_none("matches");
	assert_null(st_tracker_find(&host->session->tracker, "a.txt"));
}

/* Which lines of a file the session has seen, as "1 3-4". */
static void check_seen(struct host *host, const char *path, const char *expected) {
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_seen *seen = st_tracker_find(&host->session->tracker, path);
	for (size_t i = 0; seen && i < seen->lines.count; i++) {
		const struct st_interval *lines = &seen->lines.items[i];
		st_buf_addf(&out, lines->first == lines->last ? "%s%zu" : "%s%zu-%zu", i ? " " : "",
		            lines->first, lines->last);
	}
	assert_string_equal(seen ? st_buf_cstr(&out) : "untracked", expected);
}

static void the_lines_that_were_sent_whole_count_as_seen(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	dir_write(host->dir, "a.txt", "1\n2\n3 hit\n4\n5\n6\n7 hit\n8\n9\n");
	dir_write(host->dir, "b.txt", "hit\n");
	dir_write(host->dir, "c.txt", "none\n");
	dir_write(host->dir, "d.txt", "hit \xff\nhit\n");
	for (int i = 0; i < 300; i++)
		st_buf_adds(&text, "hit ");
	st_buf_adds(&text, "\nhit\n");
	dir_write(host->dir, "e.txt", st_buf_cstr(&text));
	call(host, TOOL, "{'pattern': 'hit', 'mode': 'count'}");
	check_seen(host, "a.txt", "untracked");
	call(host, TOOL, "{'pattern': 'hit', 'limit': 1, 'context': 1}");
	check_seen(host, "a.txt", "2-4");
	check_seen(host, "b.txt", "untracked");
	call(host, TOOL, "{'pattern': 'hit'}");
	check_seen(host, "a.txt", "2-4 7");
	check_seen(host, "b.txt", "1");
	check_seen(host, "c.txt", "untracked");
	check_seen(host, "d.txt", "2");
	check_seen(host, "e.txt", "2");
	expect_text("[...]");
	expect_text("not valid UTF-8");
	/* A changed file: nothing of the new version was seen but what is sent now. */
	dir_write(host->dir, "a.txt", "x\n2\n3 hit\n4\n5\n6\n7\n8\n9\n");
	call(host, TOOL, "{'pattern': 'hit', 'path': 'a.txt'}");
	check_seen(host, "a.txt", "3");
}

static void seen_lines_unlock_edits_of_them(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_REQUIRE_READ, 1, NULL), 0);
	dir_write(host->dir, "a.txt", "one\ntwo\nthree\n");
	refuse(host, STET_E_CONFLICT, "edit_file",
	       "{'path': 'a.txt', 'oldText': 'two', 'newText': '2'}");
	call(host, TOOL, "{'pattern': 'two'}");
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': 'two', 'newText': '2'}");
	expect_file(host, "a.txt", "one\n2\nthree\n");
	/* A whole write needs every line. */
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'new'}");
}

static void pages_follow_each_other_without_gap(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT, all = ST_BUF_INIT, whole = ST_BUF_INIT;
	for (int i = 0; i < 150; i++) {
		char name[32];
		st_buf_clear(&text);
		for (int k = 0; k < 7; k++)
			st_buf_addf(&text, "line %d of %d, with enough words to fill a page with them\n", k, i);
		snprintf(name, sizeof name, "dir%d/file%d", i % 10, i);
		dir_write(host->dir, name, st_buf_cstr(&text));
	}
	size_t offset = 0, pages = 0;
	do {
		call(host, TOOL, "{'pattern': 'line [0-4]', 'offset': %zu, 'limit': 400}", offset);
		struct st_str page = st_str(said(0));
		assert_true(page.len <= 20000);
		st_buf_add(&all, st_str_slice(page, 0, page.len - strlen(yyjson_get_str(look("note")))));
		offset = look("nextOffset") ? (size_t)yyjson_get_int(look("nextOffset")) : 0;
		if (offset)
			expect_text("Continue with offset");
		pages++;
	} while (offset);
	assert_true(pages > 2);
	assert_int_equal(st_line_count(st_buf_str(&all)), 750);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_PAGE_BYTES, 1 << 20, NULL), 0);
	call(host, TOOL, "{'pattern': 'line [0-4]', 'limit': 10000}");
	st_buf_adds(&whole, said(0));
	assert_string_equal(st_buf_cstr(&all), st_buf_cstr(&whole));
	call(host, TOOL, "{'pattern': 'line [0-4]', 'offset': 5000}");
	expect_text("[The offset is out of range: there are 750 matching lines.]");
}

static void long_lines_are_cut_around_the_match(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 1000; i++)
		st_buf_adds(&text, "\xC3\xA9");
	st_buf_adds(&text, "needle");
	for (int i = 0; i < 1000; i++)
		st_buf_adds(&text, "\xC3\xA9");
	dir_write(host->dir, "a", st_buf_cstr(&text));
	call(host, TOOL, "{'pattern': 'needle'}");
	expect_text("a:1:[...]");
	expect_text("needle");
	expect_text("Long lines are cut");
	assert_true(strlen(said(0)) < 700);
	expect_none("lossy");
	check_seen(host, "a", "");
}

static void wrong_arguments_are_refused(void **state) {
	struct host *host = *state;
	refuse(host, STET_E_INVALID, TOOL, "{'pattern': ''}");
	refuse(host, STET_E_INVALID, TOOL, "{}");
	refuse(host, STET_E_INVALID, TOOL, "{'pattern': '(a'}");
	expect_text("pass literal: true");
	refuse(host, STET_E_INVALID, TOOL, "{'pattern': 'a', 'context': 21}");
	refuse(host, STET_E_INVALID, TOOL, "{'pattern': 'a', 'mode': 'words'}");
	refuse(host, STET_E_INVALID, TOOL, "{'pattern': 'a', 'offset': -1}");
	refuse(host, STET_E_INVALID, TOOL, "{'pattern': 'a\\\\nb'}");
	expect_text("multiline: true");
}

/* ---- instructions ---- */

static bool is_gone(struct st_cancel *cancel) {
	(void)cancel;
	return true;
}

static void instructions_come_with_the_files_whose_lines_are_shown(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "AGENTS.md", "root\n");
	dir_write(host->dir, "a/AGENTS.md", "of a\n");
	dir_write(host->dir, "b/AGENTS.md", "of b\n");
	dir_write(host->dir, "c/AGENTS.md", "of c\n");
	dir_write(host->dir, "a/x.txt", "word\n");
	dir_write(host->dir, "b/x.txt", "word\n");
	dir_write(host->dir, "c/x.txt", "none\n");
	/* Neither a count nor an answer that nobody gets delivers any. */
	call(host, TOOL, "{'pattern': 'word', 'mode': 'count'}");
	expect_none("agents");
	struct st_cancel cancel = {.cancelled = is_gone};
	st_cancel_set(&cancel);
	refuse(host, STET_E_CANCELLED, TOOL, "{'pattern': 'word'}");
	st_cancel_set(NULL);
	check_seen(host, "a/x.txt", "untracked");
	/* Of the files found, b/x.txt is not on the page. */
	call(host, TOOL, "{'pattern': 'word', 'limit': 1}");
	expect_str("agents.0", "AGENTS.md");
	expect_str("agents.1", "a/AGENTS.md");
	expect_none("agents.2");
	expect_str("instructions.1", "[Loaded from a/AGENTS.md]\n\nof a\n");
	call(host, TOOL, "{'pattern': 'word'}");
	expect_str("agents.0", "b/AGENTS.md");
	expect_none("agents.1");
	call(host, TOOL, "{'pattern': 'word'}");
	expect_none("agents");
}

/* Instructions and lines share a page, and what does not fit comes later. */
static void instructions_and_lines_share_the_page(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 300; i++)
		st_buf_adds(&text, "Keep this rule in mind.\n");
	for (int i = 0; i < 20; i++) {
		char name[32];
		snprintf(name, sizeof name, "d%02d/AGENTS.md", i);
		st_buf_addf(&text, "%d\n", i);
		dir_write(host->dir, name, st_buf_cstr(&text));
		snprintf(name, sizeof name, "d%02d/x.txt", i);
		dir_write(host->dir, name, "word\n");
	}
	call(host, TOOL, "{'pattern': 'word', 'glob': 'x.txt'}");
	expect_int("total", 20);
	expect_text("d19/x.txt:1:word");
	expect_str("agents.0", "d00/AGENTS.md");
	size_t bytes = 0;
	for (size_t i = 0; said(i); i++)
		bytes += strlen(said(i));
	assert_true(bytes <= 20000);
}

/* ---- limits ---- */

static void write_pathological(struct host *host, int files) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 40; i++)
		st_buf_adds(&text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
	for (int i = 0; i < files; i++) {
		char name[32];
		snprintf(name, sizeof name, "bad%02d.txt", i);
		dir_write(host->dir, name, st_buf_cstr(&text));
	}
}

static void a_pathological_pattern_answers_in_time_and_says_so(void **state) {
	struct host *host = *state;
	write_pathological(host, 3);
	dir_write(host->dir, "good.txt", "aaa\n");
	int64_t begun = st_now_ms();
	call(host, TOOL, "{'pattern': '(a+)+$'}");
	assert_true(st_now_ms() - begun < 8000);
	expect_text("good.txt:1:aaa");
	expect_text("Not complete: in 3 files (bad00.txt, bad01.txt, bad02.txt)");
	expect_true("incomplete");
	write_pathological(host, 12);
	call(host, TOOL, "{'pattern': '(a+)+$', 'path': 'bad00.txt'}");
	expect_text("Not complete: in 1 file (bad00.txt)");
	expect_no_text("No match in 0");
}

/* Search the files of a host's directory that write_pathological() made, at core's level. */
static int search(struct host *host, struct st_tree_grep *how, const char *query, int files) {
	struct st_pattern *pattern = NULL;
	assert_int_equal(st_grep_compile(st_str(query), how->flags, &pattern, NULL), 0);
	how->pattern = pattern;
	host->err = (struct stet_error){0};
	st_autofd dir = open(host->dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(st_tree_grep_begin(how, host->ws, NULL), 0);
	int code = 0;
	for (int i = 0; code == 0 && i < files; i++) {
		char name[32];
		snprintf(name, sizeof name, "bad%02d.txt", i);
		code = st_tree_grep_add(how, dir, st_str(name));
	}
	code = st_tree_grep_end(how, &host->err);
	st_pattern_free(pattern);
	return code;
}

static void the_time_limit_leaves_files_that_are_counted(void **state) {
	struct host *host = *state;
	write_pathological(host, 99);
	struct st_tree_grep how = {.file_ms = 50, .tree_ms = 100};
	int64_t begun = st_now_ms();
	assert_int_equal(search(host, &how, "(a+)+$", 99), 0);
	assert_true(st_now_ms() - begun < 5000);
	assert_true(how.states[ST_GREP_WAITING] > 0);
	assert_true(how.states[ST_GREP_STOPPED] > 0);
	assert_int_equal(how.states[ST_GREP_WAITING] + how.states[ST_GREP_STOPPED], 99);
	assert_int_equal(how.found.count, how.states[ST_GREP_STOPPED]);
	assert_non_null(st_grep_found_at(&how.found, 0).why);
	st_tree_grep_release(&how);
}

/* The client gives up after it was asked so many times. */
static size_t patience;

static bool is_impatient(struct st_cancel *cancel) {
	(void)cancel;
	patience -= patience > 0;
	return patience == 0;
}

/* Files with which "(a|aa)+$" is busy for a minute each, without reaching one of PCRE2's own limits. */
static void write_slow(struct host *host, int files) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 3000; i++)
		st_buf_adds(&text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n");
	for (int i = 0; i < files; i++) {
		char name[32];
		snprintf(name, sizeof name, "bad%02d.txt", i);
		dir_write(host->dir, name, st_buf_cstr(&text));
	}
}

static void a_search_that_nobody_waits_for_ends(void **state) {
	struct host *host = *state;
	write_slow(host, 99);
	/* One file alone, and both threads at work; at once, and after a while. */
	for (int i = 0; i < 8; i++) {
		static const size_t asked[] = {1, 10, 100, 3000};
		struct st_cancel cancel = {.cancelled = is_impatient};
		struct st_tree_grep how = {.file_ms = 60000, .tree_ms = 60000};
		int64_t begun = st_now_ms();
		patience = asked[i / 2];
		st_cancel_set(&cancel);
		int code = search(host, &how, "(a|aa)+$", i % 2 ? 99 : 1);
		st_cancel_set(NULL);
		assert_int_equal(code, STET_E_CANCELLED);
		assert_true(st_now_ms() - begun < 5000);
		st_tree_grep_release(&how);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_match_as_if_each_stood_alone),
		cmocka_unit_test(a_line_break_needs_multiline),
		cmocka_unit_test(looking_for_the_literal_first_finds_the_same),
		cmocka_unit_test(long_and_costly_lines_match_all_the_same),
		host_claim(answers_are_lines_with_path_and_number),
		host_claim(files_that_are_not_searched_are_counted),
		host_claim(git_and_state_directories_are_never_searched),
		host_claim(nothing_outside_the_root_is_searched),
		host_claim(types_that_are_not_allowed_are_left_out),
		host_claim(too_large_files_are_left_out),
		host_claim(large_files_are_searched_in_pieces),
		host_claim(a_nul_byte_anywhere_makes_a_file_binary),
		host_claim(several_paths_are_searched_as_one),
		host_claim(nothing_is_recorded_if_the_caller_says_so),
		host_claim(the_lines_that_were_sent_whole_count_as_seen),
		host_claim(seen_lines_unlock_edits_of_them),
		host_claim(pages_follow_each_other_without_gap),
		host_claim(long_lines_are_cut_around_the_match),
		host_claim(wrong_arguments_are_refused),
		host_claim(instructions_come_with_the_files_whose_lines_are_shown),
		host_claim(instructions_and_lines_share_the_page),
		host_claim(a_pathological_pattern_answers_in_time_and_says_so),
		host_claim(the_time_limit_leaves_files_that_are_counted),
		host_claim(a_search_that_nobody_waits_for_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
