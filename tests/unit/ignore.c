/* Ignore rules: the same verdict as git's, by the same rule, on generated files and trees. */
#include "fs/tree/ignore.h"
#include "fs/tree/ignore_file.h"
#include "lib/alloc.h"
#include "lib/run.h"
#include "lib/tree.h"

/* One node with these rules at the root, asked for one path. */
static bool ignores(const char *rules, const char *path, bool is_dir) {
	struct st_ignore *node = st_ignore_new(NULL, ST_STR(""), st_str(rules));
	assert_non_null(node);
	bool ignored = st_ignore_match(node, st_str(path), is_dir, NULL);
	st_ignore_drop(node);
	return ignored;
}

static void the_last_matching_rule_decides(void **state) {
	(void)state;
	assert_true(ignores("*.o\n", "src/a.o", false));
	assert_false(ignores("*.o\n!a.o\n", "src/a.o", false));
	assert_true(ignores("*.o\n!a.o\na.*\n", "src/a.o", false));
	assert_false(ignores("", "a", false));
	assert_false(st_ignore_match(NULL, ST_STR("a"), false, NULL));
}

static void a_slash_anchors_and_a_final_one_asks_for_a_directory(void **state) {
	(void)state;
	assert_true(ignores("/a\n", "a", false));
	assert_false(ignores("/a\n", "b/a", false));
	assert_true(ignores("b/a\n", "b/a", false));
	assert_false(ignores("b/a\n", "c/b/a", false));
	assert_true(ignores("a/\n", "b/a", true));
	assert_false(ignores("a/\n", "b/a", false));
}

static void two_stars_cross_directories_between_slashes_only(void **state) {
	(void)state;
	assert_true(ignores("**/a\n", "a", false));
	assert_true(ignores("**/a\n", "x/y/a", false));
	assert_true(ignores("x/**/a\n", "x/a", false));
	assert_true(ignores("x/**/a\n", "x/y/z/a", false));
	assert_true(ignores("x/**\n", "x/y/z", false));
	assert_false(ignores("x/**\n", "x", true));
	assert_false(ignores("x*/a**b\n", "x/a/b", false));
	assert_true(ignores("x*/a**b\n", "x/a__b", false));
}

static void blanks_comments_escapes_and_line_ends_are_gits(void **state) {
	(void)state;
	assert_true(ignores("a  \n", "a", false));
	assert_true(ignores("a\\ \n", "a ", false));
	assert_true(ignores("a\t\n", "a\t", false));
	assert_true(ignores("#a\r\na\r\n", "a", false));
	assert_false(ignores("#a\n", "#a", false));
	assert_true(ignores("\\#a\n", "#a", false));
	assert_true(ignores("\\!a\n", "!a", false));
	assert_true(
		ignores("\xEF\xBB\xBF"
	            "a",
	            "a", false));
	assert_false(ignores("a\\\n", "a", false));
	assert_false(ignores("a\\\n", "a\\", false));
}

static void brackets_are_gits(void **state) {
	(void)state;
	assert_true(ignores("[]-]x\n", "]x", false));
	assert_true(ignores("[]-]x\n", "-x", false));
	assert_true(ignores("[^a-c]\n", "d", false));
	assert_false(ignores("[!a-c]\n", "b", false));
	assert_true(ignores("x[[:digit:][:upper:]_]\n", "x7", false));
	assert_true(ignores("x[[:digit:][:upper:]_]\n", "x_", false));
	assert_false(ignores("x[[:digit:][:upper:]_]\n", "xa", false));
	assert_false(ignores("x[[:none:]a]\n", "xa", false));
	assert_false(ignores("[a\n", "[a", false));
	assert_false(ignores("a[!x]b/c\n", "a/b/c", false));
}

static void a_deeper_file_decides_before_the_one_above(void **state) {
	(void)state;
	struct st_ignore *top = st_ignore_new(NULL, ST_STR(""), ST_STR("*.o\n"));
	struct st_ignore *src = st_ignore_new(top, ST_STR("src"), ST_STR("# ours\n!/keep.o\n"));
	st_ignore_drop(top);

	struct st_ignore_reason reason;
	assert_false(st_ignore_match(src, ST_STR("src/keep.o"), false, &reason));
	assert_int_equal(reason.line, 2);
	assert_true(st_str_eq(reason.dir, ST_STR("src")));
	assert_true(st_str_eq(reason.rule, ST_STR("!/keep.o")));
	assert_true(st_ignore_match(src, ST_STR("src/x/keep.o"), false, &reason));
	assert_true(st_str_eq(reason.dir, ST_STR("")));
	assert_false(st_ignore_match(src, ST_STR("src/keep.c"), false, &reason));
	assert_int_equal(reason.line, 0);
	st_ignore_drop(src);
}

static void some_names_are_left_out_everywhere(void **state) {
	(void)state;
	assert_true(st_ignore_builtin(ST_STR("node_modules"), true));
	assert_true(st_ignore_builtin(ST_STR("dist"), true));
	assert_false(st_ignore_builtin(ST_STR("dist"), false));
	assert_true(st_ignore_builtin(ST_STR(".git"), true));
	assert_true(st_ignore_builtin(ST_STR(".git"), false));
	assert_false(st_ignore_builtin(ST_STR(".github"), true));
}

static void many_stars_take_no_exponential_time(void **state) {
	(void)state;
	char name[4001];
	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	alarm(20);
	assert_false(ignores("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b\n", name, false));
	for (size_t i = 1; i < sizeof name - 1; i += 2)
		name[i] = '/';
	assert_false(ignores("**/a/**/a/**/a/**/a/**/a/**/a*/**/b/**/b\n", name, false));
	alarm(0);
}

static void a_long_chain_of_nodes_is_dropped_without_recursion(void **state) {
	(void)state;
	struct st_ignore *node = NULL;
	for (int i = 0; i < 100000; i++) {
		struct st_ignore *next = st_ignore_new(node, ST_STR(""), ST_STR(""));
		assert_non_null(next);
		st_ignore_drop(node);
		node = next;
	}
	st_ignore_drop(node);
}

static void memory_may_run_out_at_any_moment(void **state) {
	(void)state;
	struct st_ignore *parent = st_ignore_new(NULL, ST_STR(""), ST_STR("*.o\n"));
	bool failed = true;
	for (size_t n = 1; failed; n++) {
		alloc_fail_at(n);
		struct st_ignore *node = st_ignore_new(parent, ST_STR("a"), ST_STR("[a-z]*\nb/**\n"));
		failed = alloc_has_failed();
		/* The compiler of rules may have succeeded with a smaller block. */
		assert_true(node || failed);
		st_ignore_drop(node);
	}
	assert_true(st_ignore_match(parent, ST_STR("a.o"), false, NULL));
	st_ignore_drop(parent);
}

/* The nodes of the directories that have rules; index 0 is the root. */
enum { NODES = 6 };
struct rules {
	const char *dirs[NODES];
	struct st_ignore *nodes[NODES];
	size_t count;
};

/* The deepest node above a path. */
static struct st_ignore *node_for(const struct rules *rules, struct st_str path) {
	size_t best = 0;
	for (size_t i = 1; i < rules->count; i++) {
		struct st_str dir = st_str(rules->dirs[i]);
		if (path.len > dir.len && path.ptr[dir.len] == '/' && st_str_starts(path, dir) &&
		    dir.len > strlen(rules->dirs[best]))
			best = i;
	}
	return rules->nodes[best];
}

/* As git answers: by the topmost directory that is ignored, else by the path itself. */
static bool verdict(const struct rules *rules, struct st_str path, bool is_dir,
                    struct st_ignore_reason *reason) {
	for (size_t i = 0; i <= path.len; i++) {
		if (i < path.len && path.ptr[i] != '/')
			continue;
		struct st_str part = st_str_slice(path, 0, i);
		if (st_ignore_match(node_for(rules, part), part, is_dir || i < path.len, reason))
			return true;
	}
	return false;
}

/* Rules for the root (and .git/info/exclude) and for some directories, written and compiled. */
static void rules_make(struct rules *rules, struct gen *gen, const struct dir *dir,
                       const struct tree *tree) {
	st_auto(st_buf) text = ST_BUF_INIT;
	tree_rules(gen, &text, 3);
	dir_write_bytes(dir, ".git/info/exclude", st_buf_cstr(&text), text.len);
	struct st_ignore *exclude = st_ignore_new(NULL, ST_STR(""), st_buf_str(&text));
	tree_rules(gen, &text, 8);
	dir_write_bytes(dir, ".gitignore", st_buf_cstr(&text), text.len);
	rules->dirs[0] = "";
	rules->nodes[0] = st_ignore_new(exclude, ST_STR(""), st_buf_str(&text));
	st_ignore_drop(exclude);
	rules->count = 1;

	/* Parents come before what is in them, so a node's parent is there already. */
	for (size_t i = 0; i < tree->count && rules->count < NODES; i++) {
		if (tree->types[i] != TREE_DIR || !gen_one_in(gen, 3))
			continue;
		char name[600];
		snprintf(name, sizeof name, "%s/.gitignore", tree->paths[i]);
		tree_rules(gen, &text, 4);
		dir_write_bytes(dir, name, st_buf_cstr(&text), text.len);
		struct st_str path = st_str(tree->paths[i]);
		struct st_ignore *node = st_ignore_new(node_for(rules, path), path, st_buf_str(&text));
		rules->dirs[rules->count] = tree->paths[i];
		rules->nodes[rules->count++] = node;
	}
}

static void rules_drop(struct rules *rules, const struct dir *dir) {
	for (size_t i = 0; i < rules->count; i++) {
		char name[600];
		snprintf(name, sizeof name, "%s%s.gitignore", rules->dirs[i], i ? "/" : "");
		assert_int_equal(unlink(dir_at(dir, name)), 0);
		st_ignore_drop(rules->nodes[i]);
	}
}

/* The next NUL-ended field. */
static const char *field(struct st_str *rest) {
	const char *start = rest->ptr;
	size_t len = strnlen(start, rest->len);
	assert_true(len < rest->len);
	*rest = st_str_slice(*rest, len + 1, rest->len);
	return start;
}

/* The same question without a walk, and without compiled nodes. */
static void check_single(const struct dir *dir, const char *path, bool is_dir, unsigned flags,
                         bool expected) {
	struct stet_error err;
	int root = open(dir->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(st_ignore_path(root, st_str(path), is_dir, flags, &err), expected);
	close(root);
}

/* Every path, against the lines "source, line, rule, path" of git check-ignore -v -n -z. */
static size_t compare(const struct dir *dir, const struct rules *rules, const struct tree *tree,
                      const struct st_buf *said) {
	struct st_str rest = st_buf_str(said);
	size_t ignored_count = 0;
	for (size_t i = 0; i < tree->count; i++) {
		const char *source = field(&rest), *line = field(&rest), *rule = field(&rest);
		assert_string_equal(field(&rest), tree->paths[i]);

		struct st_ignore_reason reason;
		bool ignored = verdict(rules, st_str(tree->paths[i]), tree->types[i] == TREE_DIR, &reason);
		size_t expected_line = strtoul(line, NULL, 10);
		bool expected = expected_line && rule[0] != '!';
		if (ignored != expected || reason.line != expected_line)
			fail_msg("'%s': git says %s by '%s' (%s:%s), we say %s by '%.*s' (%.*s:%zu)",
			         tree->paths[i], expected ? "ignored" : "not", rule, source, line,
			         ignored ? "ignored" : "not", (int)reason.rule.len, reason.rule.ptr,
			         (int)reason.dir.len, reason.dir.ptr, reason.line);
		assert_true(st_str_eq(reason.rule, st_str(rule)));
		check_single(dir, tree->paths[i], tree->types[i] == TREE_DIR, 0, expected);
		ignored_count += ignored;
	}
	return ignored_count;
}

/* A fresh directory with the repository of the last one in it. */
static void next_repo(const struct dir *dir, struct dir *repo, size_t round) {
	struct dir last = *repo;
	char name[32];
	snprintf(name, sizeof name, "%zu", round);
	snprintf(repo->path, sizeof repo->path, "%s", dir_at(dir, name));
	assert_int_equal(mkdir(repo->path, 0755), 0);
	if (round == 0)
		tree_repo(repo);
	else
		assert_int_equal(rename(dir_at(&last, ".git"), dir_at(repo, ".git")), 0);
}

static void list_paths(const struct dir *repo, const struct tree *tree) {
	st_auto(st_buf) list = ST_BUF_INIT;
	for (size_t i = 0; i < tree->count; i++)
		st_buf_add(&list, st_strn(tree->paths[i], strlen(tree->paths[i]) + 1));
	dir_write_bytes(repo, ".git/paths", list.ptr, list.len);
}

/* One set of rules on one tree; returns how many paths are ignored. */
static size_t check_rules(struct gen *gen, const struct dir *repo, const struct tree *tree) {
	st_auto(st_buf) said = ST_BUF_INIT;
	struct rules rules;
	rules_make(&rules, gen, repo, tree);
	const char *const ask[] = {"sh", "-c",
	                           "git check-ignore --no-index -v -n -z --stdin < .git/paths", NULL};
	/* 1 means that none is ignored. */
	assert_in_range(run(repo, &said, ask), 0, 1);
	size_t ignored = compare(repo, &rules, tree, &said);
	rules_drop(&rules, repo);
	return ignored;
}

static void verdicts_equal_git_check_ignore(void **state) {
	struct dir repo;
	size_t asked = 0, ignored = 0, rounds = gen_rounds(10, 200);
	for (size_t round = 0; round < rounds; round++) {
		struct gen gen = gen_new(gen_seed() + round);
		next_repo(*state, &repo, round);
		st_auto(tree) tree = {0};
		tree_grow(&tree, &gen, &repo, 90);
		list_paths(&repo, &tree);
		for (int i = 0; i < 20; i++) {
			ignored += check_rules(&gen, &repo, &tree);
			asked += tree.count;
		}
	}
	/* The generator is worth something only if both answers are common. */
	print_message("# %zu paths, %zu of them ignored\n", asked, ignored);
	assert_true(asked > 5000 && ignored > asked / 10 && ignored < asked * 9 / 10);
}

/* Every path of a real checkout, ignored or not, asked one by one. */
static void verdicts_equal_git_check_ignore_in_a_real_checkout(void **state) {
	const struct dir *dir = *state;
	const char *const ask[] = {
		"sh", "-c",
		"find . -mindepth 1 ! -path './.git' ! -path './.git/*' -printf '%P\\0' >.git/paths &&"
		"git check-ignore --no-index -v -n -z --stdin <.git/paths",
		NULL};
	st_auto(st_buf) said = ST_BUF_INIT;
	size_t asked = 0, ignored = 0;
	tree_checkout(dir, 0);
	assert_int_equal(run(dir, &said, ask), 0);
	for (struct st_str rest = st_buf_str(&said); rest.len > 0; asked++) {
		(void)field(&rest);
		const char *line = field(&rest), *rule = field(&rest), *path = field(&rest);
		bool expected = *line && rule[0] != '!';
		struct stat st;
		assert_int_equal(lstat(dir_at(dir, path), &st), 0);
		check_single(dir, path, S_ISDIR(st.st_mode), ST_IGNORE_NO_BUILTIN, expected);
		ignored += expected;
	}
	print_message("# %zu paths, %zu of them ignored\n", asked, ignored);
	assert_true(ignored > 20 && asked > ignored + 100);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_matching_rule_decides),
		cmocka_unit_test(a_slash_anchors_and_a_final_one_asks_for_a_directory),
		cmocka_unit_test(two_stars_cross_directories_between_slashes_only),
		cmocka_unit_test(blanks_comments_escapes_and_line_ends_are_gits),
		cmocka_unit_test(brackets_are_gits),
		cmocka_unit_test(a_deeper_file_decides_before_the_one_above),
		cmocka_unit_test(some_names_are_left_out_everywhere),
		cmocka_unit_test(many_stars_take_no_exponential_time),
		cmocka_unit_test(a_long_chain_of_nodes_is_dropped_without_recursion),
		cmocka_unit_test(memory_may_run_out_at_any_moment),
		claim(verdicts_equal_git_check_ignore),
		claim(verdicts_equal_git_check_ignore_in_a_real_checkout),
	};
	tree_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
