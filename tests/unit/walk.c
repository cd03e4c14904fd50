/* The walk: it lists what git lists, at any depth, while other processes change the tree. */
#include "fs/tree/walk.h"
#include "lib/alloc.h"
#include "lib/run.h"
#include "lib/tree.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What a walk reported, one path per line; a NUL cannot be in a path, a newline could. */
struct seen {
	pthread_mutex_t lock;
	char **paths;
	size_t count;
	size_t dirs;
	size_t entered;
	size_t skipped;
	int why;
};

static void seen_release(struct seen *seen) {
	for (size_t i = 0; i < seen->count; i++)
		free(seen->paths[i]);
	free(seen->paths);
}

static void seen_add(struct seen *seen, const char *path) {
	seen->paths = realloc(seen->paths, (seen->count + 1) * sizeof *seen->paths);
	assert_non_null(seen->paths);
	seen->paths[seen->count++] = strdup(path);
}

static int on_entry(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	(void)err;
	struct seen *seen = data;
	pthread_mutex_lock(&seen->lock);
	if (entry->type == ST_WALK_DIR)
		seen->dirs++;
	else
		seen_add(seen, entry->path.ptr);
	pthread_mutex_unlock(&seen->lock);
	return 0;
}

static int on_enter(void *data, int dir, struct st_str path, void *mark, struct stet_error *err) {
	(void)err;
	(void)mark;
	struct seen *seen = data;
	struct stat st;
	bool good = fstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && path.ptr[path.len] == '\0';
	pthread_mutex_lock(&seen->lock);
	seen->entered += good;
	pthread_mutex_unlock(&seen->lock);
	return 0;
}

static void on_skipped(void *data, struct st_str path, const struct stet_error *why) {
	(void)path;
	struct seen *seen = data;
	pthread_mutex_lock(&seen->lock);
	seen->skipped++;
	seen->why = why->code;
	pthread_mutex_unlock(&seen->lock);
}

static int by_bytes(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Walk a directory; the paths come back sorted. */
static void walk(struct seen *seen, const char *path, unsigned flags, unsigned threads) {
	seen_release(seen);
	*seen = (struct seen){.lock = PTHREAD_MUTEX_INITIALIZER};
	struct st_walk how = {
		.threads = threads,
		.flags = flags,
		.data = seen,
		.enter = on_enter,
		.on_entry = on_entry,
		.skipped = on_skipped,
	};
	struct stet_error err = {0};
	st_autofd root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	if (st_walk_run(&how, root, &err) != 0)
		fail_msg("%s", err.message);
	assert_int_equal(seen->entered, seen->dirs + 1);
	if (seen->count)
		qsort(seen->paths, seen->count, sizeof *seen->paths, by_bytes);
}

static void check(const struct seen *seen, const char *const *paths, size_t count) {
	for (size_t i = 0; i < count && i < seen->count; i++)
		assert_string_equal(seen->paths[i], paths[i]);
	assert_int_equal(seen->count, count);
}

#define CHECK(seen, ...) \
	check(seen, (const char *const[]){__VA_ARGS__}, \
	      sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void ignored_things_are_left_out(void **state) {
	const struct dir *dir = *state;
	tree_repo(dir);
	dir_write(dir, ".git/info/exclude", "private\n");
	dir_write(dir, ".gitignore", "*.o\nbuild/\n");
	dir_write(dir, "src/.gitignore", "!keep.o\n/secret\n");
	dir_write(dir, "src/a.c", "");
	dir_write(dir, "src/a.o", "");
	dir_write(dir, "src/keep.o", "");
	dir_write(dir, "src/secret", "");
	dir_write(dir, "src/x/secret", "");
	dir_write(dir, "build/a.c", "");
	dir_write(dir, "lib/dist/a.js", "");
	dir_write(dir, "lib/node_modules/a/b.js", "");
	dir_write(dir, "dist.c", "");
	dir_write(dir, "private", "");
	st_auto(seen) seen = {0};

	walk(&seen, dir->path, 0, 0);
	CHECK(&seen, ".gitignore", "dist.c", "src/.gitignore", "src/a.c", "src/keep.o", "src/x/secret");
	walk(&seen, dir->path, ST_WALK_IGNORED_FILES, 0);
	CHECK(&seen, ".gitignore", "dist.c", "private", "src/.gitignore", "src/a.c", "src/a.o",
	      "src/keep.o", "src/secret", "src/x/secret");
	walk(&seen, dir_at(dir, "lib"), ST_WALK_NO_BUILTIN, 0);
	CHECK(&seen, "dist/a.js", "node_modules/a/b.js");
	walk(&seen, dir_at(dir, "src"), ST_WALK_NO_FILES, 0);
	CHECK(&seen, ".gitignore", "a.c", "a.o", "keep.o", "secret", "x/secret");
}

static void a_linked_worktree_has_the_rules_of_its_repository(void **state) {
	const struct dir *dir = *state;
	tree_repo(dir);
	assert_int_equal(run(dir, NULL,
	                     (const char *[]){"git", "-c", "user.name=a", "-c", "user.email=a",
	                                      "commit", "-q", "--allow-empty", "-mx", NULL}),
	                 0);
	const char *const add[] = {"git", "worktree", "add", "-q", "linked", NULL};
	assert_int_equal(run(dir, NULL, add), 0);
	dir_write(dir, ".git/info/exclude", "private\n");
	dir_write(dir, "linked/private", "");
	dir_write(dir, "linked/public", "");
	st_auto(seen) seen = {0};
	walk(&seen, dir_at(dir, "linked"), 0, 0);
	CHECK(&seen, "public");
}

static void links_are_shown_and_not_followed(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a/b/file", "");
	assert_int_equal(symlink("..", dir_at(dir, "a/b/up")), 0);
	assert_int_equal(symlink("a", dir_at(dir, "down")), 0);
	assert_int_equal(symlink("nowhere", dir_at(dir, "dangling")), 0);
	dir_write(dir, "rules", "*\n");
	assert_int_equal(symlink("../../rules", dir_at(dir, "a/b/.gitignore")), 0);
	st_auto(seen) seen = {0};
	walk(&seen, dir->path, 0, 0);
	CHECK(&seen, "a/b/.gitignore", "a/b/file", "a/b/up", "dangling", "down", "rules");
}

static void names_may_be_any_bytes(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "\xFF\xFE/\x80\n*", "");
	st_auto(seen) seen = {0};
	walk(&seen, dir->path, 0, 0);
	CHECK(&seen, "\xFF\xFE/\x80\n*");
}

/* The paths of git ls-files -z, sorted; links to directories and all. */
static void git_list(struct seen *said, const struct dir *dir) {
	seen_release(said);
	*said = (struct seen){0};
	st_auto(st_buf) out = ST_BUF_INIT;
	const char *const list[] = {"git", "ls-files", "-z", "-co", "--exclude-standard", NULL};
	assert_int_equal(run(dir, &out, list), 0);
	for (size_t at = 0; at < out.len; at += strlen(out.ptr + at) + 1)
		seen_add(said, out.ptr + at);
	if (said->count)
		qsort(said->paths, said->count, sizeof *said->paths, by_bytes);
}

static void add_rules(struct gen *gen, const struct dir *dir, const struct tree *tree) {
	st_auto(st_buf) rules = ST_BUF_INIT;
	tree_rules(gen, &rules, 2);
	dir_write_bytes(dir, ".git/info/exclude", st_buf_cstr(&rules), rules.len);
	tree_rules(gen, &rules, 5);
	dir_write_bytes(dir, ".gitignore", st_buf_cstr(&rules), rules.len);
	for (size_t i = 0; i < tree->count; i++) {
		char name[600];
		snprintf(name, sizeof name, "%s/.gitignore", tree->paths[i]);
		if (tree->types[i] != TREE_DIR || (!gen_one_in(gen, 4) && !dir_has(dir, name)))
			continue;
		tree_rules(gen, &rules, 3);
		dir_write_bytes(dir, name, st_buf_cstr(&rules), rules.len);
	}
}

static void the_walk_equals_git_ls_files(void **state) {
	const struct dir *dir = *state;
	tree_repo(dir);
	st_auto(tree) tree = {0};
	struct gen gen = gen_new(gen_seed());
	tree_grow(&tree, &gen, dir, 400);
	st_auto(seen) seen = {0};
	st_auto(seen) said = {0};
	size_t left_out = 0, rounds = gen_rounds(60, 2000);
	for (size_t round = 0; round < rounds; round++) {
		add_rules(&gen, dir, &tree);
		git_list(&said, dir);
		walk(&seen, dir->path, 0, 1 + (unsigned)round % 3);
		check(&seen, (const char *const *)said.paths, said.count);
		assert_int_equal(seen.skipped, 0);
		left_out += tree.count - said.count;
	}
	assert_true(left_out > 0);
}

/* Git goes on listing what it tracks when that is gone. */
static void drop_absent(struct seen *said, const struct dir *dir) {
	size_t kept = 0;
	for (size_t i = 0; i < said->count; i++) {
		if (dir_has(dir, said->paths[i]))
			said->paths[kept++] = said->paths[i];
		else
			free(said->paths[i]);
	}
	said->count = kept;
}

static bool is_same(const struct seen *a, const struct seen *b) {
	bool same = a->count == b->count;
	for (size_t i = 0; same && i < a->count; i++)
		same = strcmp(a->paths[i], b->paths[i]) == 0;
	return same;
}

/* Another process may be changing it: then the walk reads it again. */
static void the_walk_equals_git_ls_files_in_this_checkout(void **state) {
	(void)state;
	struct dir here = {.path = STET_SOURCE_ROOT};
	if (!dir_has(&here, ".git"))
		skip_because("the sources are no checkout");
	st_auto(seen) seen = {0};
	st_auto(seen) said = {0};
	bool same = false;
	for (int i = 0; i < 20 && !same; i++) {
		if (i > 0)
			sleep_ms(100);
		walk(&seen, here.path, 0, 0);
		git_list(&said, &here);
		drop_absent(&said, &here);
		same = is_same(&seen, &said);
	}
	check(&seen, (const char *const *)said.paths, said.count);
	assert_true(said.count > 100);
}

static void the_walk_equals_git_ls_files_in_checkouts_of_any_age(void **state) {
	for (size_t age = 0; age <= 100; age += 50) {
		struct dir repo = {.fd = -1};
		char name[16];
		snprintf(name, sizeof name, "%zu", age);
		snprintf(repo.path, sizeof repo.path, "%s", dir_at(*state, name));
		assert_int_equal(mkdir(repo.path, 0700), 0);
		tree_checkout(&repo, age);
		st_auto(seen) seen = {0};
		st_auto(seen) said = {0};
		git_list(&said, &repo);
		walk(&seen, repo.path, 0, 0);
		check(&seen, (const char *const *)said.paths, said.count);
		assert_int_equal(seen.skipped, 0);
	}
}

static void a_large_directory_has_its_rules_too(void **state) {
	const struct dir *dir = *state;
	char name[64];
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "big/%040d.%s", i, i % 2 ? "o" : "c");
		dir_write(dir, name, "");
		if (i == 1500)
			dir_write(dir, "big/.gitignore", "*.o\n");
	}
	st_auto(seen) seen = {0};
	walk(&seen, dir->path, 0, 0);
	assert_int_equal(seen.count, 1501);
}

static void rules_that_are_too_large_are_told(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a/b", "");
	dir_write(dir, ".gitignore", "*");
	assert_int_equal(truncate(dir_at(dir, ".gitignore"), ST_IGNORE_FILE_MAX + 1), 0);
	st_auto(seen) seen = {0};
	walk(&seen, dir->path, 0, 0);
	CHECK(&seen, ".gitignore", "a/b");
	assert_int_equal(seen.skipped, 1);
	assert_int_equal(seen.why, STET_E_TOO_BIG);
}

static void an_unreadable_directory_is_told(void **state) {
	const struct dir *dir = *state;
	/* Root may read everything, so become another user. */
	bool is_root = geteuid() == 0;
	if (is_root)
		assert_int_equal(chown(dir->path, 65534, 65534) | seteuid(65534), 0);
	dir_write(dir, "closed/a", "");
	dir_write(dir, "open/a", "");
	assert_int_equal(chmod(dir_at(dir, "closed"), 0), 0);
	st_auto(seen) seen = {0};
	struct st_walk how = {.on_entry = on_entry, .skipped = on_skipped, .data = &seen};
	int code = st_walk_run(&how, dir->fd, NULL);
	assert_int_equal(chmod(dir_at(dir, "closed"), 0755), 0);
	if (is_root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(code, 0);
	CHECK(&seen, "open/a");
	assert_int_equal(seen.skipped, 1);
	assert_int_equal(seen.why, STET_E_ACCESS);
}

/* A ladder of directories: at each level a file, and on request a directory beside the next. */
static void ladder_make(const struct dir *dir, int levels, const char *name, bool bushy) {
	int fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < levels; i++) {
		assert_int_equal(mkdirat(fd, name, 0755), 0);
		if (bushy)
			assert_int_equal(mkdirat(fd, "side", 0755), 0);
		int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	int file = openat(fd, "bottom", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(file >= 0);
	close(file);
	close(fd);
}

/* No path is long enough to remove it by: climb down and up again. */
static void ladder_remove(const struct dir *dir, int levels, const char *name, bool bushy) {
	int fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < levels; i++) {
		int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	assert_int_equal(unlinkat(fd, "bottom", 0), 0);
	for (int i = 0; i < levels; i++) {
		int above = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = above;
		assert_int_equal(unlinkat(fd, name, AT_REMOVEDIR), 0);
		if (bushy)
			assert_int_equal(unlinkat(fd, "side", AT_REMOVEDIR), 0);
	}
	close(fd);
}

static void climb(const struct dir *dir, int levels, const char *name, bool bushy) {
	ladder_make(dir, levels, name, bushy);
	struct rlimit before, few;
	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = 48;
	setrlimit(RLIMIT_NOFILE, &few);
	st_auto(seen) seen = {0};
	walk(&seen, dir->path, 0, 0);
	setrlimit(RLIMIT_NOFILE, &before);

	assert_int_equal(seen.count, 1);
	size_t len = strlen(name) + 1, depth = (size_t)levels;
	assert_int_equal(strlen(seen.paths[0]), depth * len + strlen("bottom"));
	for (size_t i = 0; i < depth; i++) {
		assert_memory_equal(seen.paths[0] + i * len, name, len - 1);
		assert_int_equal(seen.paths[0][i * len + len - 1], '/');
	}
	assert_int_equal(seen.dirs, bushy ? 2 * depth : depth);
	assert_int_equal(seen.skipped, 0);
	ladder_remove(dir, levels, name, bushy);
}

static void ten_thousand_levels_are_walked_with_few_descriptors(void **state) {
	climb(*state, 10000, "d", false);
}

static void so_are_levels_with_a_way_back_at_each(void **state) {
	climb(*state, 3000, "deep", true);
}

static void and_levels_with_the_longest_names(void **state) {
	char name[256];
	memset(name, 'n', 255);
	name[255] = '\0';
	climb(*state, 400, name, true);
}

static int count_only(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	(void)entry;
	(void)err;
	++*(size_t *)data;
	return 0;
}

/* As on an old kernel, or in a sandbox that does not know the call. */
static bool forbid_openat2(void) {
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void without_openat2_the_walk_is_the_same(void **state) {
	const struct dir *dir = *state;
	ladder_make(dir, 700, "level", true);
	assert_int_equal(symlinkat("level", dir->fd, "link"), 0);
	pid_t child = fork();
	if (child == 0) {
		size_t count = 0;
		struct st_walk how = {.threads = 1, .on_entry = count_only, .data = &count};
		bool good = forbid_openat2() && st_walk_run(&how, dir->fd, NULL) == 0;
		/* The levels, one beside each, the file at the bottom and the link. */
		_exit(good && count == 1402 ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	ladder_remove(dir, 700, "level", true);
}

static atomic_int visits;

static int stop_at_third(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	(void)data;
	(void)entry;
	if (atomic_fetch_add(&visits, 1) < 2)
		return 0;
	return st_fail(err, STET_E_CANCELLED, "Enough.");
}

static void a_visitor_ends_the_walk_with_its_own_code(void **state) {
	const struct dir *dir = *state;
	char name[32];
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "%d/file", i);
		dir_write(dir, name, "");
	}
	struct stet_error err = {0};
	assert_int_equal(st_walk_run(&(struct st_walk){.on_entry = stop_at_third}, dir->fd, &err),
	                 STET_E_CANCELLED);
	assert_string_equal(err.message, "Enough.");
	assert_true(atomic_load(&visits) < 50);
}

static int enter_none(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	on_entry(data, entry, err);
	return entry->type == ST_WALK_DIR && entry->name.ptr[0] == 's' ? ST_WALK_SKIP : 0;
}

static void a_visitor_may_leave_directories_out(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "s/a", "");
	dir_write(dir, "t/b", "");
	st_auto(seen) seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct st_walk how = {.on_entry = enter_none, .data = &seen};
	assert_int_equal(st_walk_run(&how, dir->fd, NULL), 0);
	CHECK(&seen, "t/b");
	assert_int_equal(seen.dirs, 2);
}

static void memory_may_run_out_at_any_moment(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a/b/c", "");
	dir_write(dir, "a/.gitignore", "x*y\n");
	bool failed = true;
	for (size_t n = 1; failed; n++) {
		size_t count = 0;
		struct st_walk how = {.threads = 1, .on_entry = count_only, .data = &count};
		struct stet_error err = {0};
		alloc_fail_at(n);
		int code = st_walk_run(&how, dir->fd, &err);
		failed = alloc_has_failed();
		/* The walk may have succeeded with a smaller block. */
		assert_true(code == 0 ? count == 4 : failed && code == STET_E_NOMEM);
	}
}

static void a_root_that_is_no_directory_is_an_error(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "file", "");
	st_autofd file = open(dir_at(dir, "file"), O_RDONLY | O_CLOEXEC);
	struct stet_error err = {0};
	struct st_walk how = {.on_entry = stop_at_third};
	assert_int_equal(st_walk_run(&how, file, &err), STET_E_NOT_FOUND);
	assert_int_equal(st_walk_run(&how, -1, &err), STET_E_IO);
}

/* A process that keeps making, moving, linking and removing files. */
struct storm {
	const struct dir *dir;
	atomic_bool over;
	size_t linked;
};

static void *rage(void *data) {
	struct storm *storm = data;
	int fd = storm->dir->fd;
	while (!atomic_load(&storm->over)) {
		mkdirat(fd, "x", 0755);
		mkdirat(fd, "x/y", 0755);
		mkdirat(fd, "x/y/z", 0755);
		renameat(fd, "x/y", fd, "steady/5/w");
		storm->linked += symlinkat("..", fd, "x/y") == 0;
		renameat(fd, "steady/5/w", fd, "x/v");
		unlinkat(fd, "x/v/z", AT_REMOVEDIR);
		unlinkat(fd, "x/v", AT_REMOVEDIR);
		unlinkat(fd, "x/y", 0);
		unlinkat(fd, "x", AT_REMOVEDIR);
		storm->linked += symlinkat("steady", fd, "x") == 0;
		unlinkat(fd, "x", 0);
	}
	return NULL;
}

static void what_stays_is_found_whatever_comes_and_goes(void **state) {
	struct storm storm = {.dir = *state};
	char name[32];
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof name, "steady/%d/file", i);
		dir_write(storm.dir, name, "");
	}
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, rage, &storm), 0);
	st_auto(seen) seen = {0};
	size_t found = 0;
	for (int round = 0; round < 300; round++) {
		seen_release(&seen);
		seen = (struct seen){.lock = PTHREAD_MUTEX_INITIALIZER};
		struct st_walk how = {.on_entry = on_entry, .skipped = on_skipped, .data = &seen};
		if (st_walk_run(&how, storm.dir->fd, NULL) != 0 || seen.skipped)
			break;
		for (size_t i = 0; i < seen.count; i++)
			found += strstr(seen.paths[i], "/file") != NULL && !strstr(seen.paths[i], "x/");
	}
	atomic_store(&storm.over, true);
	pthread_join(thread, NULL);
	assert_int_equal(found, 3000);
	assert_true(storm.linked > 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(ignored_things_are_left_out),
		claim(a_linked_worktree_has_the_rules_of_its_repository),
		claim(links_are_shown_and_not_followed),
		claim(names_may_be_any_bytes),
		claim(the_walk_equals_git_ls_files),
		cmocka_unit_test(the_walk_equals_git_ls_files_in_this_checkout),
		claim(the_walk_equals_git_ls_files_in_checkouts_of_any_age),
		claim(a_large_directory_has_its_rules_too),
		claim(rules_that_are_too_large_are_told),
		claim(an_unreadable_directory_is_told),
		claim(ten_thousand_levels_are_walked_with_few_descriptors),
		claim(so_are_levels_with_a_way_back_at_each),
		claim(and_levels_with_the_longest_names),
		claim(without_openat2_the_walk_is_the_same),
		claim(a_visitor_ends_the_walk_with_its_own_code),
		claim(a_visitor_may_leave_directories_out),
		claim(memory_may_run_out_at_any_moment),
		claim(a_root_that_is_no_directory_is_an_error),
		claim(what_stays_is_found_whatever_comes_and_goes),
	};
	tree_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
