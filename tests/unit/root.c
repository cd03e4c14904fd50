/* Nothing gets out of the root, however a path is spelled and whatever happens meanwhile. */
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fs/write/commit.h"
#include "fs/file/file.h"
#include "lib/test.h"

/*
 * The tree that most tests walk, in a directory of its own:
 *
 *     root/         the workspace           root-evil/   its neighbour
 *     alias         a link to it            outside/     somebody else's
 */
static void link_to(const struct dir *dir, const char *target, const char *name) {
	char absolute[8192];
	if (target[0] == '@')
		snprintf(absolute, sizeof absolute, "%s%s", dir->path, target + 1);
	else
		snprintf(absolute, sizeof absolute, "%s", target);
	assert_int_equal(symlinkat(absolute, dir->fd, name), 0);
}

static int tree_setup(void **state) {
	if (dir_setup(state) != 0)
		return -1;
	const struct dir *dir = *state;
	dir_write(dir, "root/a.txt", "a");
	dir_write(dir, "root/dir/b.txt", "b");
	dir_write(dir, "root/dir/deep/c.txt", "c");
	dir_write(dir, "root-evil/secret.txt", "secret");
	dir_write(dir, "outside/secret.txt", "secret");
	link_to(dir, "root", "alias");
	return 0;
}

#define in_tree(function) cmocka_unit_test_setup_teardown(function, tree_setup, dir_teardown)

/* What a path leads to: a code, and if that is 0 the place's path and whether something is there. */
struct way {
	/* "@" at the beginning stands for the directory that holds root/. */
	const char *path;
	int code;
	const char *place;
	bool exists;
};

#define leads(path, place) \
	{ path, 0, place, true }
#define could(path, place) \
	{ path, 0, place, false }
#define refused(path, code) \
	{ path, code, NULL, false }

static const char *spell(const struct dir *dir, const char *path) {
	static char text[16384];
	snprintf(text, sizeof text, "%s%s", path[0] == '@' ? dir->path : "",
	         path[0] == '@' ? path + 1 : path);
	return text;
}

static void follow(const struct dir *dir, const struct st_root *root, const struct way *way,
                   const char *manner) {
	st_auto(st_place) place = ST_PLACE_INIT;
	struct stet_error err = {0};
	int code = st_root_locate(root, st_str(spell(dir, way->path)), &place, &err);
	if (code != way->code)
		fail_msg("\"%s\" %s: %d \"%s\" instead of %d", way->path, manner, code, err.message,
		         way->code);
	if (code < 0) {
		assert_int_equal(err.code, code);
		assert_true(strlen(err.message) > 10);
		assert_int_equal(place.dirfd, -1);
		assert_null(place.path);
		return;
	}
	if (strcmp(place.path, way->place) != 0 || place.exists != way->exists)
		fail_msg("\"%s\" %s: leads to \"%s\", %s", way->path, manner, place.path,
		         place.exists ? "which exists" : "which does not exist");
	struct stat st;
	assert_int_equal(fstatat(place.dirfd, place.name, &st, AT_SYMLINK_NOFOLLOW) == 0, way->exists);
	if (way->exists)
		assert_int_equal(st.st_ino, place.st.st_ino);
}

/* Both by openat2 and by the walk, from the root in several spellings. */
static void follow_all(const struct dir *dir, const struct way *ways, size_t count) {
	static const char *const roots[] = {"@/root",  "@/root/",  "@/root/.",
	                                    "@/alias", "@/alias/", "@/root/../outside/../root"};
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		struct st_root root;
		assert_int_equal(st_root_open(&root, spell(dir, roots[i]), NULL), 0);
		for (int walk = 0; walk < 2; walk++) {
			root.no_openat2 = walk == 1;
			for (size_t j = 0; j < count; j++)
				follow(dir, &root, &ways[j], walk ? "by the walk" : "by openat2");
		}
		st_root_release(&root);
	}
}

#define follow_ways(dir, ways) follow_all(dir, ways, sizeof(ways) / sizeof *(ways))

static void plain_paths_lead_inside_however_spelled(void **state) {
	const struct dir *dir = *state;
	static const struct way ways[] = {
		leads("a.txt", "a.txt"),
		leads("./a.txt", "a.txt"),
		leads(".//./a.txt", "a.txt"),
		leads("dir/b.txt", "dir/b.txt"),
		leads("dir//deep///c.txt", "dir/deep/c.txt"),
		leads("dir/../a.txt", "a.txt"),
		leads("dir/deep/../../dir/./b.txt", "dir/b.txt"),
		leads("dir/deep", "dir/deep"),
		could("new.txt", "new.txt"),
		could("dir/new.txt", "dir/new.txt"),
		leads("@/root/a.txt", "a.txt"),
		leads("@/root//dir/../a.txt", "a.txt"),
		leads("@/alias/dir/b.txt", "dir/b.txt"),
		leads("@/outside/../root/a.txt", "a.txt"),
		leads("@/root/../root/a.txt", "a.txt"),
		could("@/alias/../alias/new.txt", "new.txt"),
		leads("@/root-evil/../root/./dir/b.txt", "dir/b.txt"),
	};
	follow_ways(dir, ways);
}

static void paths_that_leave_are_refused(void **state) {
	const struct dir *dir = *state;
	static const struct way ways[] = {
		refused("..", STET_E_OUTSIDE),
		refused("../outside/secret.txt", STET_E_OUTSIDE),
		refused("../root/a.txt", STET_E_OUTSIDE),
		refused("dir/../../outside/secret.txt", STET_E_OUTSIDE),
		refused("dir/deep/../../../root-evil/secret.txt", STET_E_OUTSIDE),
		refused("../../../../../../../../../../etc/passwd", STET_E_OUTSIDE),
		refused("/etc/passwd", STET_E_OUTSIDE),
		refused("/", STET_E_OUTSIDE),
		refused("//etc/passwd", STET_E_OUTSIDE),
		refused("@/outside/secret.txt", STET_E_OUTSIDE),
		refused("@/root-evil/secret.txt", STET_E_OUTSIDE),
		refused("@/root-evil", STET_E_OUTSIDE),
		refused("@/root/../root-evil/secret.txt", STET_E_OUTSIDE),
		refused("@/root/../outside/secret.txt", STET_E_OUTSIDE),
		refused("@/alias-evil/secret.txt", STET_E_OUTSIDE),
		refused("@", STET_E_OUTSIDE),
		refused("@/roo", STET_E_OUTSIDE),
		refused("/proc/self/root/etc/passwd", STET_E_OUTSIDE),
		refused("/proc/self/cwd/../etc/passwd", STET_E_OUTSIDE),
	};
	follow_ways(dir, ways);
}

static void what_cannot_name_a_file_is_refused(void **state) {
	const struct dir *dir = *state;
	static const struct way ways[] = {
		refused("", STET_E_INVALID),
		refused(".", STET_E_KIND),
		refused("./", STET_E_KIND),
		refused("dir/", STET_E_KIND),
		refused("dir/.", STET_E_KIND),
		refused("dir/deep/..", STET_E_KIND),
		refused("@/root", STET_E_KIND),
		refused("@/root/", STET_E_KIND),
		refused("@/alias/.", STET_E_KIND),
		refused("a.txt/", STET_E_NOT_FOUND),
		refused("a.txt/.", STET_E_NOT_FOUND),
		refused("a.txt/..", STET_E_NOT_FOUND),
		refused("a.txt/b", STET_E_NOT_FOUND),
		refused("new/", STET_E_NOT_FOUND),
		refused("new/b.txt", STET_E_NOT_FOUND),
		refused("new/../a.txt", STET_E_NOT_FOUND),
	};
	follow_ways(dir, ways);
}

static void links_that_stay_inside_are_followed(void **state) {
	const struct dir *dir = *state;
	link_to(dir, "a.txt", "root/relative");
	link_to(dir, "@/root/a.txt", "root/absolute");
	link_to(dir, "@/alias/dir", "root/by-alias");
	link_to(dir, "dir", "root/to-dir");
	link_to(dir, "../dir/../a.txt", "root/dir/up");
	link_to(dir, "relative", "root/chain-1");
	link_to(dir, "chain-1", "root/chain-2");
	link_to(dir, "@/root/chain-2", "root/chain-3");
	link_to(dir, "to-dir/deep", "root/nested");
	link_to(dir, "new-by-link.txt", "root/dangling");
	link_to(dir, "@/root/dir/new-too.txt", "root/dir/dangling");
	link_to(dir, "@/root", "root/home");
	link_to(dir, ".", "root/here");
	link_to(dir, "missing/file", "root/lost");
	static const struct way ways[] = {
		leads("relative", "a.txt"),
		leads("absolute", "a.txt"),
		leads("by-alias/b.txt", "dir/b.txt"),
		leads("to-dir/b.txt", "dir/b.txt"),
		could("to-dir/new.txt", "dir/new.txt"),
		leads("to-dir/deep/../b.txt", "dir/b.txt"),
		leads("to-dir/../a.txt", "a.txt"),
		leads("nested/../b.txt", "dir/b.txt"),
		leads("nested/c.txt", "dir/deep/c.txt"),
		leads("dir/up", "a.txt"),
		leads("chain-3", "a.txt"),
		could("dangling", "new-by-link.txt"),
		could("dir/dangling", "dir/new-too.txt"),
		leads("home/here/home/dir/../relative", "a.txt"),
		refused("home", STET_E_KIND),
		refused("to-dir/", STET_E_KIND),
		refused("relative/", STET_E_NOT_FOUND),
		refused("lost", STET_E_NOT_FOUND),
		leads("@/root/to-dir/deep/c.txt", "dir/deep/c.txt"),
		leads("@/alias/chain-3", "a.txt"),
	};
	follow_ways(dir, ways);
}

static void links_that_leave_are_refused(void **state) {
	const struct dir *dir = *state;
	link_to(dir, "../outside/secret.txt", "root/relative");
	link_to(dir, "@/outside/secret.txt", "root/absolute");
	link_to(dir, "../outside", "root/to-dir");
	link_to(dir, "@/root-evil", "root/to-neighbour");
	link_to(dir, "../../outside", "root/dir/up");
	link_to(dir, "to-dir/secret.txt", "root/chain");
	link_to(dir, "../outside/new.txt", "root/dangling");
	link_to(dir, "..", "root/parent");
	link_to(dir, "/", "root/slash");
	link_to(dir, "/proc/self/root", "root/magic-root");
	link_to(dir, "/proc/self/cwd", "root/magic-cwd");
	link_to(dir, "/proc/self/fd/0", "root/magic-fd");
	link_to(dir, "/proc/self/root/etc/passwd", "root/magic-file");
	link_to(dir, "loop", "root/loop");
	link_to(dir, "pong", "root/ping");
	link_to(dir, "ping", "root/pong");
	static const struct way ways[] = {
		refused("relative", STET_E_OUTSIDE),
		refused("absolute", STET_E_OUTSIDE),
		refused("to-dir/secret.txt", STET_E_OUTSIDE),
		refused("to-dir/new.txt", STET_E_OUTSIDE),
		refused("to-dir/../root/a.txt", STET_E_OUTSIDE),
		refused("to-neighbour/secret.txt", STET_E_OUTSIDE),
		refused("dir/up/secret.txt", STET_E_OUTSIDE),
		refused("chain", STET_E_OUTSIDE),
		refused("dangling", STET_E_OUTSIDE),
		refused("parent/outside/secret.txt", STET_E_OUTSIDE),
		refused("parent/root/a.txt", STET_E_OUTSIDE),
		refused("slash/etc/passwd", STET_E_OUTSIDE),
		refused("magic-root/etc/passwd", STET_E_OUTSIDE),
		refused("magic-cwd/etc/passwd", STET_E_OUTSIDE),
		refused("magic-fd", STET_E_OUTSIDE),
		refused("magic-file", STET_E_OUTSIDE),
		refused("loop", STET_E_OUTSIDE),
		refused("ping/a.txt", STET_E_OUTSIDE),
	};
	assert_int_equal(chdir("/"), 0);
	follow_ways(dir, ways);
}

/* As the kernel: forty links are followed, one more is not. */
static void as_many_links_are_followed_as_by_the_kernel(void **state) {
	const struct dir *dir = *state;
	link_to(dir, "a.txt", "root/link-1");
	for (int i = 2; i <= 41; i++) {
		char target[32], name[32];
		snprintf(target, sizeof target, "link-%d", i - 1);
		snprintf(name, sizeof name, "root/link-%d", i);
		link_to(dir, target, name);
	}
	static const struct way ways[] = {
		leads("link-40", "a.txt"),
		refused("link-41", STET_E_OUTSIDE),
	};
	follow_ways(dir, ways);
	int fd = open(dir_at(dir, "root/link-40"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(open(dir_at(dir, "root/link-41"), O_RDONLY | O_CLOEXEC), -1);
}

static void names_are_taken_literally(void **state) {
	const struct dir *dir = *state;
	static const char *const names[] = {
		"with space",
		" leading",
		"trailing ",
		"a.txt ",
		"\"quoted\"",
		"a.txt\"",
		"'single'",
		"100%",
		"%2e%2e",
		"%s%n%s",
		"%2F",
		"back\\slash",
		"new\nline",
		"tab\t",
		"\x1b[31m",
		"$HOME",
		"~",
		"*",
		"-rf",
		"...",
		"..a",
		"a..",
		". ",
		" ..",
		"na\xc3\xafve",
		"nai\xcc\x88ve",
		"\xff\xfe",
		"\342\200\256txt.a",
		"CON",
		"a:b",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[64];
		snprintf(path, sizeof path, "root/%s", names[i]);
		if (i % 2)
			dir_write(dir, path, "x");
		struct way way = {names[i], 0, names[i], i % 2};
		follow_all(dir, &way, 1);
		char absolute[64];
		snprintf(absolute, sizeof absolute, "@/root/dir/../%s", names[i]);
		way.path = absolute;
		follow_all(dir, &way, 1);
	}
}

static void a_nul_byte_is_refused(void **state) {
	const struct dir *dir = *state;
	struct st_root root;
	assert_int_equal(st_root_open(&root, dir_at(dir, "root"), NULL), 0);
	static const struct st_str paths[] = {
		{"a.txt\0", 6}, {"\0", 1}, {"a.txt\0../x", 10}, {"dir\0/b", 6}};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		st_auto(st_place) place = ST_PLACE_INIT;
		struct stet_error err = {0};
		assert_int_equal(st_root_locate(&root, paths[i], &place, &err), STET_E_INVALID);
		assert_non_null(strstr(err.message, "NUL"));
	}
	/* A view need not end where its string does. */
	st_auto(st_place) place = ST_PLACE_INIT;
	assert_int_equal(st_root_locate(&root, st_strn("a.txt.orig", 5), &place, NULL), 0);
	assert_true(place.exists);
	st_root_release(&root);
}

static char *repeat(const char *text, size_t times, const char *end) {
	st_auto(st_buf) out = ST_BUF_INIT;
	for (size_t i = 0; i < times; i++)
		st_buf_adds(&out, text);
	st_buf_adds(&out, end);
	char *result = out.ptr;
	out = (struct st_buf)ST_BUF_INIT;
	return result;
}

static void long_paths_work_up_to_the_limit_and_not_beyond(void **state) {
	const struct dir *dir = *state;
	struct {
		const char *unit;
		size_t times;
		const char *end;
		int code;
	} cases[] = {
		{"x", 255, "", 0},
		{"x", 256, "", STET_E_INVALID},
		{"x", 256, "/a.txt", STET_E_INVALID},
		{"./", 2045, "a.txt", 0},
		{"./", 2046, "a.txt", STET_E_INVALID},
		{"dir/../", 584, "a.txt", 0},
		{"dir/../", 1500, "a.txt", STET_E_INVALID},
		{"dir/deep/../../", 200, "a.txt", 0},
		{"../", 1300, "a.txt", STET_E_OUTSIDE},
		{"/", 4000, "a.txt", STET_E_OUTSIDE},
		{"a/", 2000, "a.txt", STET_E_NOT_FOUND},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *path = repeat(cases[i].unit, cases[i].times, cases[i].end);
		bool is_name = cases[i].unit[0] == 'x';
		struct way way = {path, cases[i].code, is_name ? path : "a.txt", !is_name};
		follow_all(dir, &way, 1);
		free(path);
	}
}

/* Forty links, each with as many turns as fit: what the kernel does quickly, a walk cannot. */
static void links_full_of_turns_are_answered_at_once(void **state) {
	const struct dir *dir = *state;
	st_auto(st_buf) deep = ST_BUF_INIT;
	st_buf_adds(&deep, "root");
	for (int i = 0; i < 200; i++) {
		st_buf_adds(&deep, "/d");
		assert_int_equal(mkdirat(dir->fd, deep.ptr, 0755), 0);
	}
	char *down = repeat("d/", 200, "");
	for (int i = 0; i < 40; i++) {
		char name[32], next[32];
		snprintf(next, sizeof next, "link-%d", i + 1);
		snprintf(name, sizeof name, "root/link-%d", i);
		char *up = repeat("../", 200, next);
		char *target = repeat(down, 1, up);
		link_to(dir, target, name);
		free(up);
		free(target);
	}
	free(down);
	dir_write(dir, "root/link-40", "end");
	static const struct way ways[] = {
		leads("link-39", "link-40"),
		refused("link-0", STET_E_OUTSIDE),
	};
	alarm(30);
	follow_ways(dir, ways);
	alarm(0);
}

static void a_missing_or_unfit_root_is_refused(void **state) {
	const struct dir *dir = *state;
	struct st_root root;
	struct stet_error err = {0};
	assert_int_equal(st_root_open(&root, dir_at(dir, "missing"), &err), STET_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "missing"));
	assert_int_equal(st_root_open(&root, dir_at(dir, "root/a.txt"), &err), STET_E_KIND);
	assert_int_equal(st_root_open(&root, "", &err), STET_E_NOT_FOUND);
	char *path = repeat("x/", 3000, "");
	assert_int_equal(st_root_open(&root, path, &err), STET_E_INVALID);
	free(path);
}

/* Below it no path would show what it belongs to. */
static void a_root_in_a_directory_of_git_or_stet_is_refused(void **state) {
	const struct dir *dir = *state;
	struct st_root root;
	struct stet_error err = {0};
	dir_write(dir, "root/.git/hooks/sample", "");
	dir_write(dir, "root/dir/.STET/versions/x", "");
	link_to(dir, ".git/hooks", "root/hooks");
	static const char *const roots[] = {"root/.git", "root/.git/hooks", "root/hooks",
	                                    "root/dir/.STET", "root/dir/.STET/versions"};
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		assert_int_equal(st_root_open(&root, dir_at(dir, roots[i]), &err), STET_E_ACCESS);
		assert_non_null(strstr(err.message, "not allowed"));
	}
	assert_int_equal(st_root_open(&root, dir_at(dir, "root/dir"), NULL), 0);
	st_root_release(&root);
}

static void a_relative_root_stays_where_it_was(void **state) {
	const struct dir *dir = *state;
	struct st_root root;
	assert_int_equal(fchdir(dir->fd), 0);
	assert_int_equal(st_root_open(&root, "./root/dir/..", NULL), 0);
	assert_int_equal(chdir("/"), 0);
	char resolved[PATH_MAX];
	assert_non_null(realpath(dir_at(dir, "root"), resolved));
	assert_string_equal(root.path, resolved);
	static const struct way ways[] = {
		leads("a.txt", "a.txt"),
		leads("@/root/a.txt", "a.txt"),
		leads("@/root/dir/../a.txt", "a.txt"),
		leads("@/alias/a.txt", "a.txt"),
		refused("@/root-evil/secret.txt", STET_E_OUTSIDE),
	};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		follow(dir, &root, &ways[i], "from a relative root");
	st_root_release(&root);
}

static void the_whole_filesystem_can_be_a_root(void **state) {
	const struct dir *dir = *state;
	struct st_root root;
	assert_int_equal(st_root_open(&root, "/", NULL), 0);
	char path[PATH_MAX], below[PATH_MAX];
	assert_non_null(realpath(dir_at(dir, "root/a.txt"), path));
	snprintf(below, sizeof below, "%s", path + 1);
	for (int walk = 0; walk < 2; walk++) {
		root.no_openat2 = walk == 1;
		struct way way = {path, 0, below, true};
		follow(dir, &root, &way, "from /");
		way.path = below;
		follow(dir, &root, &way, "from /");
		static const struct way up = refused("../etc/passwd", STET_E_OUTSIDE);
		follow(dir, &root, &up, "from /");
	}
	st_root_release(&root);
}

static int commit(const struct st_root *root, struct st_write_context *writes, const char *path,
                  const char *expected, const char *text, struct stet_error *err) {
	struct st_hash hash;
	if (expected)
		assert_int_equal(st_hash_of(st_str(expected), &hash, NULL), 0);
	struct st_commit request = {.path = st_str(path),
	                            .bytes = st_str(text),
	                            .expected = expected ? &hash : NULL,
	                            .relaxed = true};
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	return st_commit(root, writes, &request, &done, err);
}

static void a_dangling_link_inside_creates_its_target(void **state) {
	const struct dir *dir = *state;
	link_to(dir, "dir/new.txt", "root/link");
	link_to(dir, "../outside/new.txt", "root/out");
	for (int walk = 0; walk < 2; walk++) {
		struct st_root root;
		struct st_write_context writes;
		assert_int_equal(st_root_open(&root, dir_at(dir, "root"), NULL), 0);
		root.no_openat2 = walk == 1;
		st_write_context_init(&writes, &root, ".stet", NULL);
		assert_int_equal(commit(&root, &writes, "link", NULL, "new", NULL), 0);
		assert_int_equal(commit(&root, &writes, "out", NULL, "new", NULL), STET_E_OUTSIDE);
		st_write_context_release(&writes);
		st_root_release(&root);
		assert_string_equal(dir_read(dir, "root/dir/new.txt"), "new");
		assert_int_equal(unlinkat(dir->fd, "root/dir/new.txt", 0), 0);
		assert_int_equal(dir_count(dir, "outside"), 1);
	}
}

static void a_root_that_is_removed_or_moved_meanwhile(void **state) {
	const struct dir *dir = *state;
	for (int walk = 0; walk < 2; walk++) {
		dir_write(dir, "doomed/a.txt", "a");
		struct st_root root;
		struct st_write_context writes;
		struct stet_error err = {0};
		assert_int_equal(st_root_open(&root, dir_at(dir, "doomed"), NULL), 0);
		root.no_openat2 = walk == 1;
		st_write_context_init(&writes, &root, ".stet", NULL);
		assert_int_equal(renameat(dir->fd, "doomed", dir->fd, "moved"), 0);
		assert_int_equal(commit(&root, &writes, "a.txt", "a", "b", NULL), 0);
		assert_string_equal(dir_read(dir, "moved/a.txt"), "b");
		assert_int_equal(unlinkat(dir->fd, "moved/a.txt", 0), 0);
		assert_int_equal(unlinkat(dir->fd, "moved", AT_REMOVEDIR), 0);
		assert_int_equal(commit(&root, &writes, "a.txt", "b", "c", &err), STET_E_CONFLICT);
		assert_int_equal(commit(&root, &writes, "a.txt", NULL, "c", &err), STET_E_NOT_FOUND);
		assert_true(strlen(err.message) > 10);
		st_auto(st_place) place = ST_PLACE_INIT;
		st_auto(st_file) file = ST_FILE_INIT;
		assert_int_equal(st_file_load(&root, ST_STR("a.txt"), 100, &place, &file, &err),
		                 STET_E_NOT_FOUND);
		st_write_context_release(&writes);
		st_root_release(&root);
	}
}

/* A process that swaps root/dir and a link to the outside for as long as it lives. */
static pid_t start_swapping(const struct dir *dir) {
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			renameat2(dir->fd, "root/dir", dir->fd, "root/link", RENAME_EXCHANGE);
	}
	assert_true(child > 0);
	return child;
}

struct sight {
	struct timespec changed;
	int entries;
};

static struct sight look_at(const struct dir *dir, const char *name) {
	struct stat st;
	assert_int_equal(stat(dir_at(dir, name), &st), 0);
	return (struct sight){st.st_ctim, S_ISDIR(st.st_mode) ? dir_count(dir, name) : 0};
}

static void assert_same_sight(struct sight before, struct sight after) {
	assert_memory_equal(&before.changed, &after.changed, sizeof before.changed);
	assert_int_equal(before.entries, after.entries);
}

enum { SWAPS = 3000 };

struct tally {
	/* How often the file was written, which is also what it holds. */
	int version;
	int refused;
	int wrong;
};

/* Either the way was inside, or it led through the link and was refused. */
static void count(struct tally *tally, int code, const struct stet_error *err) {
	if (code == STET_E_OUTSIDE || code == STET_E_NOT_FOUND) {
		tally->refused++;
	} else if (code != 0) {
		tally->wrong++;
		print_error("%d \"%s\"\n", code, err->message);
	}
}

static void use_swapped(const struct st_root *root, struct st_write_context *writes,
                        struct tally *tally) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error err = {0};
	int code = st_file_load(root, ST_STR("dir/b.txt"), 100, &place, &file, &err);
	count(tally, code, &err);
	tally->wrong += code == 0 && strcmp(file.bytes.ptr, "secret") == 0;

	char old[16], new[16];
	snprintf(old, sizeof old, "%d", tally->version);
	snprintf(new, sizeof new, "%d", tally->version + 1);
	code = commit(root, writes, "dir/b.txt", old, new, &err);
	count(tally, code, &err);
	tally->version += code == 0;
	count(tally, commit(root, writes, "dir/new.txt", NULL, "new", &err), &err);
}

static void a_parent_swapped_for_a_link_leads_nowhere_else(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "root/dir/b.txt", "0");
	dir_write(dir, "outside/b.txt", "secret");
	link_to(dir, "@/outside", "root/link");
	struct sight file = look_at(dir, "outside/b.txt"), outside = look_at(dir, "outside");
	pid_t child = start_swapping(dir);

	struct tally tally = {0};
	for (int walk = 0; walk < 2; walk++) {
		struct st_root root;
		struct st_write_context writes;
		assert_int_equal(st_root_open(&root, dir_at(dir, "root"), NULL), 0);
		root.no_openat2 = walk == 1;
		st_write_context_init(&writes, &root, ".stet", NULL);
		for (int i = 0; i < SWAPS; i++)
			use_swapped(&root, &writes, &tally);
		st_write_context_release(&writes);
		st_root_release(&root);
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	print_message("%d written, %d refused\n", tally.version, tally.refused);
	assert_int_equal(tally.wrong, 0);
	assert_true(tally.version > 0);
	assert_true(tally.refused > 0);
	assert_same_sight(file, look_at(dir, "outside/b.txt"));
	assert_same_sight(outside, look_at(dir, "outside"));
	assert_string_equal(dir_read(dir, "outside/b.txt"), "secret");
}

static void peeking_sees_a_file_but_no_link(void **state) {
	const struct dir *dir = *state;
	link_to(dir, "a.txt", "root/link");
	link_to(dir, "dir", "root/to-dir");
	struct st_root root;
	struct stat st;
	assert_int_equal(st_root_open(&root, dir_at(dir, "root"), NULL), 0);
	for (int walk = 0; walk < 2; walk++) {
		root.no_openat2 = walk == 1;
		assert_int_equal(st_root_peek(&root, "a.txt", &st, NULL), 1);
		assert_int_equal(st.st_size, 1);
		assert_int_equal(st_root_peek(&root, "dir/b.txt", &st, NULL), 1);
		assert_int_equal(st_root_peek(&root, "missing", &st, NULL), 0);
		assert_int_equal(st_root_peek(&root, "missing/b.txt", &st, NULL), 0);
		assert_int_equal(st_root_peek(&root, "link", &st, NULL), 0);
		assert_int_equal(st_root_peek(&root, "to-dir/b.txt", &st, NULL), 0);
	}
	st_root_release(&root);
}

static void git_and_state_directories_are_protected_at_any_depth(void **state) {
	(void)state;
	static const char *const yes[] = {".git",
	                                  ".git/config",
	                                  "a/.git/x",
	                                  "a/.GIT",
	                                  ".Git/x",
	                                  ".stet",
	                                  ".stet/rescued/x",
	                                  "a/.stet",
	                                  "a/b/.stet/stet.db-journal",
	                                  "a/.STET/x",
	                                  ".own/x",
	                                  "sub/.own/x"};
	static const char *const no[] = {"git",       ".gitignore", ".gitmodules", "a/.github/x",
	                                 ".stet.txt", "x.git/y",    ".git2",       "stet/x",
	                                 ".stet-x",   "own/x",      ".ste",        "a/..stet"};
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		assert_true(st_path_is_protected(yes[i], ".own"));
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(st_path_is_protected(no[i], ".own"));
	/* A name that any project may use counts only where it is configured. */
	assert_true(st_path_is_protected("state/x", "state"));
	assert_true(st_path_is_protected("State", "state"));
	assert_false(st_path_is_protected("src/state/x", "state"));
}

static void protection_knows_every_spelling_that_a_filesystem_folds(void **state) {
	(void)state;
	static const char *const yes[] = {
		"a/.\u017Ftet/x",        /* a long s */
		".\uFB06et",             /* the ligature of s and t */
		"b/.s\u200Btet/stet.db", /* a zero-width space */
		".g\u200Cit/config",     /* a zero-width non-joiner */
		".GI\uFE0FT",            /* a variation selector */
		".git.",
		".git  ",
		".stet . .",
		"GIT~1/config",
		"a/stet~1",
		"Stet~2",
		".git::$INDEX_ALLOCATION/config",
		"a/.stet:x",
		"a\\.git\\config",
		"x/.\u00E4rger",
		"x/.a\u0308RGER", /* the configured name, composed and not */
	};
	static const char *const no[] = {".st\u00E9t", ".g\u0456t", "git~",   "git~10",
	                                 "~1",         ".\xFFstet", "\u200B", "x/.arger"};
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		assert_true(st_path_is_protected(yes[i], ".\u00C4rger"));
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(st_path_is_protected(no[i], ".\u00C4rger"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		in_tree(plain_paths_lead_inside_however_spelled),
		in_tree(paths_that_leave_are_refused),
		in_tree(what_cannot_name_a_file_is_refused),
		in_tree(links_that_stay_inside_are_followed),
		in_tree(links_that_leave_are_refused),
		in_tree(as_many_links_are_followed_as_by_the_kernel),
		in_tree(names_are_taken_literally),
		in_tree(a_nul_byte_is_refused),
		in_tree(long_paths_work_up_to_the_limit_and_not_beyond),
		in_tree(links_full_of_turns_are_answered_at_once),
		in_tree(a_missing_or_unfit_root_is_refused),
		in_tree(a_root_in_a_directory_of_git_or_stet_is_refused),
		in_tree(a_relative_root_stays_where_it_was),
		in_tree(the_whole_filesystem_can_be_a_root),
		in_tree(a_dangling_link_inside_creates_its_target),
		in_tree(a_root_that_is_removed_or_moved_meanwhile),
		in_tree(a_parent_swapped_for_a_link_leads_nowhere_else),
		in_tree(peeking_sees_a_file_but_no_link),
		cmocka_unit_test(git_and_state_directories_are_protected_at_any_depth),
		cmocka_unit_test(protection_knows_every_spelling_that_a_filesystem_folds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
