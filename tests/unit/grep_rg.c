/* grep against ripgrep: the same files, lines and counts on generated trees, patterns and options. */
#include <fcntl.h>
#include <unistd.h>

#include "base/utf8.h"
#include "fs/file/file.h"
#include "lib/run.h"
#include "lib/tools.h"
#include "lib/tree.h"

static const char *const dirs[] = {"", "", "sub/", "sub/deep/", "b/", ".hid/", "build/"};
static const char *const names[] = {"a.txt",    "b.c", "ab.c", "c.log",
                                    "keep.log", "d",   ".dot", "e.md"};
static const char *const words[] = {
	"foo",      "bar",
	"foobar",   "ab",
	"abc",      "aab",
	"x_1",      "42",
	"(foo)",    "a.b",
	"[x]",      "Foo",
	"BAR",      "\xC3\xA9t\xC3\xA9",
	"\xC3\x89", "\xE6\x97\xA5\xE6\x9C\xAC",
	"a-b",      "$x",
	"\t",       "end",
	";",
};

#define COUNT_OF(list) (sizeof(list) / sizeof *(list))
#define PICK(gen, list) ((list)[gen_below(gen, COUNT_OF(list))])

static void add_words(struct gen *gen, struct st_buf *out) {
	for (size_t count = gen_below(gen, 5); count > 0; count--)
		st_buf_addf(out, "%s%s", PICK(gen, words), gen_one_in(gen, 3) ? "" : " ");
}

/* UTF-16, which rg decodes and stet leaves out: rg is told to leave it out by its name. */
static void grow_utf16(struct gen *gen, const struct dir *dir) {
	st_auto(st_buf) text = ST_BUF_INIT, wide = ST_BUF_INIT;
	add_words(gen, &text);
	st_buf_adds(&text, "foo\n");
	st_buf_adds(&wide, "\xFF\xFE");
	for (size_t i = 0; i < text.len; i++) {
		st_buf_addc(&wide, text.ptr[i]);
		st_buf_addc(&wide, '\0');
	}
	dir_write_bytes(dir, "wide.utf16", st_buf_cstr(&wide), wide.len);
}

/* A file: text, now and then with a byte order mark, with bytes that are no UTF-8, or binary. */
static void grow_file(struct gen *gen, const struct dir *dir, const char *name) {
	st_auto(st_buf) text = ST_BUF_INIT;
	/* rg sometimes shows what matches before the first NUL, so that comes first. */
	if (gen_one_in(gen, 12))
		st_buf_addc(&text, '\0');
	else if (gen_one_in(gen, 10))
		st_buf_adds(&text, "\xEF\xBB\xBF");
	for (size_t lines = gen_below(gen, 14); lines > 0; lines--) {
		add_words(gen, &text);
		if (gen_one_in(gen, 30))
			st_buf_addc(&text, '\xFF');
		if (lines > 1 || !gen_one_in(gen, 4))
			st_buf_addc(&text, '\n');
	}
	dir_write_bytes(dir, name, st_buf_cstr(&text), text.len);
}

static void grow(struct gen *gen, const struct dir *dir) {
	for (size_t count = 4 + gen_below(gen, 12); count > 0; count--) {
		char name[64];
		snprintf(name, sizeof name, "%s%s", PICK(gen, dirs), PICK(gen, names));
		grow_file(gen, dir, name);
	}
	if (gen_one_in(gen, 4))
		grow_utf16(gen, dir);
	dir_write(dir, ".gitignore",
	          gen_one_in(gen, 2) ? "*.log\n!keep.log\nbuild/\n" : "/d\nsub/*.c\n");
}

/* A regular expression of the syntax that both engines define alike. */
static void make_regex(struct gen *gen, bool multiline, struct st_buf *out) {
	static const char *const atoms[] = {
		"foo", "bar", "a",   "b",         "ab",     "\\d", "\\w",      "[a-c]", "[^ab]", ".",
		"\\s", " ",   "\\.", "(?:foo|b)", "(a|ab)", "\\b", "\xC3\xA9", "x_",    "\\(",   "[A-F]",
	};
	static const char *const repeats[] = {"*", "+", "?", "{2}", "{1,3}", "+?", "*?", "{0,2}"};
	/* After a match, rg 13 takes the place where it goes on for the start of a line: no ^ and \b. */
	if (!multiline && gen_one_in(gen, 6))
		st_buf_adds(out, "^");
	/* Nor an empty match, which rg finds in an empty file too. */
	if (multiline)
		st_buf_adds(out, gen_one_in(gen, 2) ? "a" : "o");
	for (size_t count = 1 + gen_below(gen, 4); count > 0; count--) {
		const char *atom = PICK(gen, atoms);
		bool is_boundary = strcmp(atom, "\\b") == 0;
		if (multiline && is_boundary)
			continue;
		if (multiline && gen_one_in(gen, 4))
			st_buf_adds(out, "\\n");
		st_buf_adds(out, atom);
		if (!is_boundary && gen_one_in(gen, 3))
			st_buf_adds(out, PICK(gen, repeats));
	}
	if (gen_one_in(gen, 6))
		st_buf_adds(out, "$");
	if (gen_one_in(gen, 8))
		st_buf_adds(out, "|end");
}

/* One search: the arguments of the tool, and those of rg. */
struct query {
	struct st_buf pattern, args;
	const char *argv[32];
	size_t argc;
	char context[8];
};

static void query_release(struct query *query) {
	st_buf_release(&query->pattern);
	st_buf_release(&query->args);
}

static void option(struct query *query, const char *args, const char *rg) {
	st_buf_adds(&query->args, args);
	query->argv[query->argc++] = rg;
}

static void add_mode(struct gen *gen, struct query *query, bool multiline) {
	switch (gen_below(gen, 4)) {
	case 0:
		option(query, ", 'mode': 'files'", "-l");
		break;
	case 1:
		/* rg counts matches, not lines, where a match may span lines. */
		if (!multiline)
			option(query, ", 'mode': 'count'", "-c");
		break;
	case 2:
		snprintf(query->context, sizeof query->context, "-C%zu", 1 + gen_below(gen, 3));
		st_buf_addf(&query->args, ", 'context': %s", query->context + 2);
		query->argv[query->argc++] = query->context;
		break;
	default:
		break;
	}
}

/* A glob that includes also brings back ignored and hidden files in rg, so both search all of them.
   @return Whether they do. */
static bool add_where(struct gen *gen, struct query *query) {
	static const char *const globs[] = {"*.c",   "*.txt",   "sub/**", "sub/*.c",
	                                    "**/a*", "{a,b}.*", "?b.c"};
	const char *glob = gen_one_in(gen, 3) ? PICK(gen, globs) : NULL;
	bool all = glob || gen_one_in(gen, 4);
	option(query, "", "-g!*.utf16");
	if (all || gen_one_in(gen, 4)) {
		option(query, ", 'hidden': true", "--hidden");
		option(query, "", "-g!.git");
		option(query, "", "-g!.stet");
	}
	if (all)
		option(query, ", 'includeIgnored': true", "--no-ignore");
	if (glob) {
		st_buf_addf(&query->args, ", 'glob': '%s'", glob);
		query->argv[query->argc++] = "-g";
		query->argv[query->argc++] = glob;
	} else if (gen_one_in(gen, 6)) {
		option(query, ", 'glob': '!*.c'", "-g!*.c");
	}
	return all;
}

static void begin_query(struct query *query) {
	static const char *const rg[] = {"rg",
	                                 "--no-config",
	                                 "--no-heading",
	                                 "-n",
	                                 "--color=never",
	                                 "--sort=path",
	                                 "--no-messages",
	                                 "--no-ignore-global",
	                                 "--no-ignore-parent"};
	for (size_t i = 0; i < COUNT_OF(rg); i++)
		query->argv[query->argc++] = rg[i];
}

static void make_query(struct gen *gen, struct query *query) {
	begin_query(query);
	bool literal = gen_one_in(gen, 3), multiline = !literal && gen_one_in(gen, 5);
	if (literal)
		st_buf_adds(&query->pattern, PICK(gen, words));
	else
		make_regex(gen, multiline, &query->pattern);
	st_buf_addf(&query->args, "{'pattern': %s", quoted(st_buf_str(&query->pattern)));
	if (literal)
		option(query, ", 'literal': true", "-F");
	if (multiline)
		option(query, ", 'multiline': true", "-U");
	if (gen_one_in(gen, 3))
		option(query, ", 'ignoreCase': true", "-i");
	add_mode(gen, query, multiline);
	/* Context ends at the end of a page. */
	bool in_pages = !*query->context && gen_one_in(gen, 4);
	st_buf_addf(&query->args, ", 'limit': %zu", in_pages ? 1 + gen_below(gen, 20) : 10000);
	bool all = add_where(gen, query);
	query->argv[query->argc++] = "-e";
	query->argv[query->argc++] = st_buf_cstr(&query->pattern);
	/*
	 * Where there is no such directory, rg says so and there is nothing to compare. rg 13 reads
	 * the rules of directories above wrongly: no rules.
	 */
	if (all && gen_one_in(gen, 3))
		option(query, ", 'path': 'sub'", "sub");
	query->argv[query->argc] = NULL;
}

/* All pages of an answer, one after the other, without the sentences below them. */
static void search_all(struct host *host, const char *args, struct st_buf *out) {
	for (size_t offset = 0, next; out->len == 0 || offset > 0; offset = next) {
		call(host, "grep", "%s, 'offset': %zu}", args, offset);
		struct st_str page = st_str(said(0));
		st_buf_add(out, st_str_slice(page, 0, page.len - strlen(yyjson_get_str(look("note")))));
		next = look("nextOffset") ? (size_t)yyjson_get_int(look("nextOffset")) : 0;
		if (next == 0)
			break;
	}
}

/* Search with both. @return Whether rg could. */
static bool compare(struct host *host, const struct query *query, uint64_t seed) {
	st_auto(st_buf) theirs = ST_BUF_INIT, expected = ST_BUF_INIT, ours = ST_BUF_INIT;
	int status = run(host->dir, &theirs, query->argv);
	if (status > 1)
		return false;
	st_utf8_add_lossy(&expected, st_buf_str(&theirs));
	search_all(host, st_buf_cstr(&query->args), &ours);
	if (st_str_eq(st_buf_str(&ours), st_buf_str(&expected)))
		return true;
	print_error("seed %llu, %s}\nstet:\n%s\nrg:\n%s\n", (unsigned long long)seed,
	            st_buf_cstr(&query->args), st_buf_cstr(&ours), st_buf_cstr(&expected));
	fail();
	return false;
}

static bool has_rg(const struct dir *dir) {
	st_auto(st_buf) out = ST_BUF_INIT;
	return run(dir, &out, (const char *[]){"sh", "-c", "command -v rg", NULL}) == 0;
}

static void clear(const struct dir *dir) {
	run(dir, NULL, (const char *[]){"sh", "-c", "rm -rf -- * .hid .dot .gitignore", NULL});
}

static void grep_equals_rg(void **state) {
	struct host *host = *state;
	if (!has_rg(host->dir))
		skip_because("rg is not installed");
	tree_repo(host->dir);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_PAGE_BYTES, 4 << 20, NULL), 0);
	size_t compared = 0, found = 0, rounds = gen_rounds(40, 600);
	for (size_t i = 0; i < rounds; i++) {
		uint64_t seed = gen_seed() + i;
		struct gen gen = gen_new(seed);
		clear(host->dir);
		grow(&gen, host->dir);
		for (int k = 0; k < 10; k++) {
			st_auto(query) query = {.pattern = ST_BUF_INIT, .args = ST_BUF_INIT};
			make_query(&gen, &query);
			compared += compare(host, &query, seed);
		}
		found += yyjson_get_int(look("total")) > 0;
	}
	/* Most searches are such that both can do, and many find something. */
	assert_true(compared > rounds * 8 && found > rounds / 4);
}

/* Wait until no later write could leave the file's times as they are: only then the search remembers lines. */
static void await_stamp(const struct dir *dir, const char *name) {
	for (struct st_stamp stamp = {.racy = true}; stamp.racy;) {
		struct stat st;
		st_autofd fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC);
		assert_int_equal(fstat(fd, &st), 0);
		stamp = st_stamp_take(fd, &st);
	}
}

/* A file of which a search remembers the lines, instead of reading it again to show them. */
static void grow_large(struct gen *gen, const struct dir *dir) {
	st_auto(st_buf) text = ST_BUF_INIT;
	if (gen_one_in(gen, 3))
		st_buf_adds(&text, "\xEF\xBB\xBF");
	while (text.len < 1200 << 10) {
		size_t len = gen_below(gen, 400);
		if (gen_one_in(gen, 5))
			add_words(gen, &text);
		for (; len > 0; len--)
			st_buf_addc(&text, '-');
		st_buf_adds(&text, gen_one_in(gen, 100) ? "\n\n" : "\n");
	}
	add_words(gen, &text);
	dir_write_bytes(dir, "sub/large.txt", st_buf_cstr(&text), text.len);
	await_stamp(dir, "sub/large.txt");
}

static void grep_equals_rg_in_large_files(void **state) {
	struct host *host = *state;
	if (!has_rg(host->dir))
		skip_because("rg is not installed");
	tree_repo(host->dir);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_PAGE_BYTES, 4 << 20, NULL), 0);
	for (size_t i = 0; i < gen_rounds(4, 40); i++) {
		uint64_t seed = gen_seed() + i;
		struct gen gen = gen_new(seed);
		clear(host->dir);
		grow(&gen, host->dir);
		grow_large(&gen, host->dir);
		for (int k = 0; k < 10; k++) {
			st_auto(query) query = {.pattern = ST_BUF_INIT, .args = ST_BUF_INIT};
			make_query(&gen, &query);
			/* A session's search reads the file whole. */
			if (k % 2)
				st_buf_adds(&query.args, ", 'record': false");
			compare(host, &query, seed);
		}
	}
}

/*
 * This repository's sources and the system's headers, without what is known to
 * differ: a lone CR ends a line of stet's, and stet cuts lines of more than 500
 * bytes.
 */
static void copy_checkout(const struct dir *dir) {
	static const char script[] =
		"cd \"$0\" && cp -r .gitignore CHANGELOG.md README.md bench docs fuzz include meson.build "
		"src tests tools \"$1\" && cd \"$1\" && mkdir headers && "
		"{ cp -rL /usr/include/*.h /usr/include/linux headers; true; } 2>/dev/null && "
		"grep -rlE '.{450}' . | xargs -d '\\n' rm -f && "
		"printf '\\r' >.cr && grep -rlFf .cr . | xargs -d '\\n' rm -f";
	assert_int_equal(
		run(dir, NULL, (const char *[]){"sh", "-c", script, STET_SOURCE_ROOT, dir->path, NULL}), 0);
}

static void grep_equals_rg_on_a_checkout(void **state) {
	static const char *const patterns[] = {
		"st_grep",         "NULL|EINTR",        "^#include <std", "\\bint\\b.*\\{$",
		"[A-Z]{3}_[A-Z]+", "return -\\d+;",     "\\w+_t \\*\\w+", "^$",
		"\\s+$",           "struct \\w+ \\{",   "no such thing",  "\"[^\"]+\\.h\"",
		"(?i)copyright",   "x{2,}|y{3,}",       "\xE2\x80\x94",   "^\\s*(if|for) ",
		"foo.bar",         "0x[0-9a-f]{4,}\\b",
	};
	static const struct {
		const char *args, *rg[5];
	} options[] = {
		{"", {0}},
		{", 'mode': 'count'", {"-c"}},
		{", 'mode': 'files'", {"-l"}},
		{", 'ignoreCase': true, 'mode': 'count'", {"-i", "-c"}},
		{", 'context': 2, 'path': 'src/tools'", {"-C2", "--ignore-parent", "src/tools"}},
		{", 'mode': 'count', 'hidden': true, 'includeIgnored': true",
	     {"-c", "--hidden", "--no-ignore", "-g!.git", "-g!.stet"}},
		{", 'mode': 'count', 'path': 'src'", {"-c", "--ignore-parent", "src"}},
		{", 'multiline': true, 'mode': 'files'", {"-U", "-l"}},
	};
	struct host *host = *state;
	if (!has_rg(host->dir))
		skip_because("rg is not installed");
	tree_repo(host->dir);
	copy_checkout(host->dir);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_PAGE_BYTES, 4 << 20, NULL), 0);
	/* Every pattern and every option, if not all pairs. */
	for (size_t i = 0; i < COUNT_OF(patterns) * COUNT_OF(options); i += gen_rounds(5, 1)) {
		st_auto(query) query = {.pattern = ST_BUF_INIT, .args = ST_BUF_INIT};
		const char *pattern = patterns[i / COUNT_OF(options)];
		begin_query(&query);
		st_buf_addf(&query.args, "{'pattern': %s, 'limit': 10000%s", quoted(st_str(pattern)),
		            options[i % COUNT_OF(options)].args);
		option(&query, "", "-e");
		option(&query, "", pattern);
		for (size_t k = 0; k < 5 && options[i % COUNT_OF(options)].rg[k]; k++)
			option(&query, "", options[i % COUNT_OF(options)].rg[k]);
		assert_true(compare(host, &query, 0));
	}
}

int main(void) {
	tree_in_memory();
	const struct CMUnitTest tests[] = {
		host_claim(grep_equals_rg),
		host_claim(grep_equals_rg_in_large_files),
		host_claim(grep_equals_rg_on_a_checkout),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
