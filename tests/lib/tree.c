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
