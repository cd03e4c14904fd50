#include "lib/tree.h"

#include "lib/run.h"

static const char *const names[] = {
	"a",      "b",        "c",    "ab",  "ba",    "abc", "a.o", "b.o", "a.b.o", "foo", "bar",
	"foobar", "a b",      "a ",   " a",  "*",     "a*b", "?",   "[",   "]",     "[a]", "!a",
	"#a",     "a\\",      "-",    "^",   "a-b",   "A",   "Foo", "7",   "x7",    "_",   "\t",
	"a\t",    "\xC3\xA9", "\xFF", "a\r", "{a,b}", "~",   "...", ".x",  "build",
};

static const char *const pieces[] = {
	"*",
	"*",
	"**",
	"?",
	"/",
	"/",
	"**/",
	"/**",
	"/**/",
	"[a-c]",
	"[!a]",
	"[^b]",
	"[]a]",
	"[a-]",
	"[!]-]",
	"[",
	"]",
	"[[:alpha:]]",
	"[[:digit:]_]",
	"[[:space:]]",
	"[[:punct:]]",
	"[![:upper:]]",
	"[[:nope:]]",
	"[[:alpha]",
	"[[:]]",
	"[\\]]",
	"[\\a-c]",
	"[a-\\c]",
	"[--a]",
	"[c-a]",
	"[a-c-e]",
	"[/]",
	"[[:alpha:]-z]",
	"\\*",
	"\\?",
	"\\[",
	"\\a",
	"\\\\",
	"\\ ",
	"\\",
	"\\/",
	".",
	" ",
	".o",
	"*.o",
	"!",
	"#",
	"\t",
	"***",
	"[[:graph:]]",
	"[[:xdigit:][:blank:]]",
};

void tree_in_memory(void) {
	if (!getenv("TMPDIR") && access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
}

void tree_repo(const struct dir *dir) {
	assert_int_equal(
		run(dir, NULL, (const char *[]){"git", "init", "-q", "--template=", ".", NULL}), 0);
	const char *const quiet[] = {"git", "config", "core.excludesFile", "/dev/null", NULL};
	assert_int_equal(run(dir, NULL, quiet), 0);
}

#define PICK(gen, list) (list)[gen_below(gen, sizeof(list) / sizeof *(list))]

static void add_rule(struct gen *gen, struct st_buf *out) {
	if (gen_one_in(gen, 4))
		st_buf_addc(out, '!');
	if (gen_one_in(gen, 4))
		st_buf_addc(out, '/');
	for (size_t count = 1 + gen_below(gen, 4); count > 0; count--)
		st_buf_adds(out, gen_below(gen, 2) ? PICK(gen, names) : PICK(gen, pieces));
	if (gen_one_in(gen, 4))
		st_buf_addc(out, '/');
	if (gen_one_in(gen, 8))
		st_buf_adds(out, "  ");
	if (gen_one_in(gen, 12))
		st_buf_addc(out, '\r');
	if (gen_one_in(gen, 60))
		st_buf_addc(out, '\0');
	if (gen_one_in(gen, 30))
		st_buf_addc(out, '\n');
}

void tree_rules(struct gen *gen, struct st_buf *out, size_t most) {
	st_buf_clear(out);
	if (gen_one_in(gen, 10))
		st_buf_adds(out, "\xEF\xBB\xBF");
	for (size_t count = gen_below(gen, most + 1); count > 0; count--) {
		add_rule(gen, out);
		if (count > 1 || gen_below(gen, 3))
			st_buf_addc(out, '\n');
	}
}

static void plant(struct gen *gen, const struct dir *dir, const char *path, enum tree_type type) {
	if (type == TREE_DIR)
		assert_int_equal(mkdir(dir_at(dir, path), 0755), 0);
	else if (type == TREE_LINK)
		assert_int_equal(symlink(gen_below(gen, 2) ? "." : "..", dir_at(dir, path)), 0);
	else
		dir_write(dir, path, "");
}

void tree_grow(struct tree *tree, struct gen *gen, const struct dir *dir, int tries) {
	for (; tries > 0 && tree->count < sizeof tree->paths / sizeof *tree->paths; tries--) {
		char path[512] = "";
		size_t parent = gen_below(gen, tree->count + 1);
		if (parent < tree->count && tree->types[parent] == TREE_DIR &&
		    strlen(tree->paths[parent]) < 60)
			snprintf(path, sizeof path, "%s/", tree->paths[parent]);
		size_t len = strlen(path);
		snprintf(path + len, sizeof path - len, "%s", PICK(gen, names));
		if (dir_has(dir, path))
			continue;

		size_t chance = gen_below(gen, 8);
		enum tree_type type = chance < 4 ? TREE_DIR : chance < 7 ? TREE_FILE : TREE_LINK;
		plant(gen, dir, path, type);
		tree->types[tree->count] = type;
		tree->paths[tree->count++] = strdup(path);
	}
}

void tree_release(struct tree *tree) {
	for (size_t i = 0; i < tree->count; i++)
		free(tree->paths[i]);
}

/* ---- a real checkout ---- */

/* Rules as people write them, by the directory that they are put into. */
static const char *const habits[][2] = {
	{".gitignore",
     "# build\n/build*/\n*.o\n*.a\n!/keep/*.a\n\n.DS_Store\nThumbs.db\n*~\n\\#*\\#\n"},
	{"src/.gitignore",
     "*.py[cod]\n__pycache__/\n.venv/\n/base/*\n!/base/buf.*\n!/base/.gitignore\n"},
	{"src/base/.gitignore", "*.log\n!important.log\n**/cache/**\n"},
	{"src/text/.gitignore", "*\n!*.h\n!.gitignore\n"},
	{"tests/.gitignore", "node_modules\nnpm-debug.log*\n.env\n.env.*\n!.env.example\ncoverage/\n"},
	{"tests/unit/.gitignore", "/[a-m]*.c\n!/base.c\n*.trs  \n*.tmp\\ \n"},
	{"docs/.gitignore", "_build/\n*.aux\n*.toc\n/*.pdf\n!manual.pdf\nfigures/**/raw\n"},
	{"tools/.gitignore", "target/\nCargo.lock\n**/*.rs.bk\n/a/**/z\n"},
};

static const char *const litter[] = {
	"build/x.o",
	"build-asan/y",
	"keep/lib.a",
	"lib.a",
	".DS_Store",
	"#save#",
	"a~",
	"src/a.pyc",
	"src/__pycache__/b.pyc",
	"src/fs/__pycache__/c",
	"src/base/new.c",
	"src/base/important.log",
	"src/base/other.log",
	"src/base/deep/cache/x/y",
	"src/text/new.h",
	"src/text/new.c",
	"tests/node_modules/m/i.js",
	"tests/npm-debug.log.1",
	"tests/.env",
	"tests/.env.local",
	"tests/.env.example",
	"tests/unit/coverage/c",
	"tests/unit/z.trs",
	"tests/unit/blank.tmp ",
	"docs/_build/html/i",
	"docs/a.aux",
	"docs/a.pdf",
	"docs/manual.pdf",
	"docs/sub/a.pdf",
	"docs/figures/a/b/raw",
	"docs/figures/raw",
	"tools/target/debug/t",
	"tools/Cargo.lock",
	"tools/deep/x.rs.bk",
	"tools/a/z",
	"tools/a/b/c/z",
};

static void check_out(const struct dir *dir, size_t age) {
	st_auto(st_buf) commits = ST_BUF_INIT;
	const char *const clone[] = {"git", "clone", "-q", "-n", "-s", STET_SOURCE_ROOT, ".", NULL};
	assert_int_equal(run(dir, NULL, clone), 0);
	assert_int_equal(run(dir, &commits, (const char *[]){"git", "rev-list", "HEAD", NULL}), 0);
	/* A line each, of equal length. */
	size_t line = strcspn(commits.ptr, "\n") + 1, count = commits.len / line;
	char *commit = commits.ptr + (count - 1) * age / 100 * line;
	commit[line - 1] = '\0';
	const char *const checkout[] = {"git", "checkout", "-q", "--detach", commit, NULL};
	assert_int_equal(run(dir, NULL, checkout), 0);
	assert_int_equal(run(dir, NULL, (const char *[]){"git", "read-tree", "--empty", NULL}), 0);
}

void tree_checkout(const struct dir *dir, size_t age) {
	struct dir here = {.path = STET_SOURCE_ROOT};
	if (!dir_has(&here, ".git"))
		skip_because("the sources are no checkout");
	check_out(dir, age);
	for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
		dir_write(dir, habits[i][0], habits[i][1]);
	for (size_t i = 0; i < sizeof litter / sizeof *litter; i++)
		dir_write(dir, litter[i], "");
}
