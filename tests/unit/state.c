/* The state directory is used only if nobody else can have put anything into it. Oracle: git. */
#include <sys/wait.h>

#include "fs/tree/gitindex.h"
#include "fs/versions/state_dir.h"
#include "lib/run.h"
#include "lib/test.h"

static void git(const struct dir *dir, const char *const *argv) {
	st_auto(st_buf) output = ST_BUF_INIT;
	int status = run(dir, &output, argv);
	if (status != 0)
		fail_msg("%s %s: %s", argv[0], argv[1], st_buf_cstr(&output));
}

#define git(dir, ...) git(dir, (const char *const[]){"git", __VA_ARGS__, NULL})

static int state_open(const struct dir *dir, struct stet_error *err) {
	struct st_root root;
	assert_int_equal(st_root_open(&root, dir->path, NULL), 0);
	int fd = st_state_open(&root, ".stet", err);
	st_root_release(&root);
	return fd;
}

static void is_used(const struct dir *dir) {
	struct stet_error err = {0};
	int fd = state_open(dir, &err);
	if (fd < 0)
		fail_msg("not used: %s", err.message);
	close(fd);
}

static void is_not_used(const struct dir *dir, const char *why) {
	struct stet_error err = {0};
	assert_int_equal(state_open(dir, &err), STET_E_ACCESS);
	assert_non_null(strstr(err.message, "is not used"));
	if (!strstr(err.message, why))
		fail_msg("\"%s\" does not say that it %s", err.message, why);
}

static int tracks(const struct dir *dir, const char *name) {
	struct st_root root;
	struct stet_error err = {0};
	assert_int_equal(st_root_open(&root, dir->path, NULL), 0);
	int tracked = st_gitindex_has(&root, name, &err);
	st_root_release(&root);
	return tracked;
}

static void a_new_one_is_private(void **state) {
	const struct dir *dir = *state;
	is_used(dir);
	struct stat st;
	assert_int_equal(stat(dir_at(dir, ".stet"), &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	is_used(dir);
}

static void git_status_does_not_show_it(void **state) {
	const struct dir *dir = *state;
	st_auto(st_buf) output = ST_BUF_INIT;
	git(dir, "init", "-q");
	is_used(dir);
	dir_write(dir, ".stet/rescued/x", "x");
	assert_int_equal(run(dir, &output, (const char *[]){"git", "status", "--porcelain", NULL}), 0);
	assert_string_equal(st_buf_cstr(&output), "");
	git(dir, "add", "-A");
	assert_int_equal(tracks(dir, ".stet"), 0);
	is_used(dir);
}

static void a_link_is_not_used(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(mkdirat(dir->fd, "elsewhere", 0700), 0);
	assert_int_equal(symlinkat("elsewhere", dir->fd, ".stet"), 0);
	is_not_used(dir, "symbolic link");
	assert_int_equal(unlinkat(dir->fd, ".stet", 0), 0);
	assert_int_equal(symlinkat("nowhere", dir->fd, ".stet"), 0);
	is_not_used(dir, "symbolic link");
	assert_false(dir_has(dir, "nowhere"));
}

static void a_file_is_not_used(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, ".stet", "");
	is_not_used(dir, "a file");
	assert_int_equal(unlinkat(dir->fd, ".stet", 0), 0);
	assert_int_equal(mkfifo(dir_at(dir, ".stet"), 0600), 0);
	alarm(5);
	is_not_used(dir, "a file");
	alarm(0);
}

static void one_that_others_may_enter_is_not_used(void **state) {
	const struct dir *dir = *state;
	static const mode_t modes[] = {0755, 0770, 0707, 0701, 0710, 0704};
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		assert_int_equal(chmod(dir_at(dir, ".stet"), modes[i]), 0);
		is_not_used(dir, "accessible to other users");
	}
	assert_int_equal(chmod(dir_at(dir, ".stet"), 0700), 0);
	is_used(dir);
}

static void one_of_another_owner_is_not_used(void **state) {
	const struct dir *dir = *state;
	if (geteuid() != 0)
		skip_because("needs root to give a directory away");
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	assert_int_equal(chown(dir_at(dir, ".stet"), 65534, 65534), 0);
	is_not_used(dir, "another user");
}

/* Run in an ordinary user's place, which the test may be in already. */
static void one_that_cannot_be_made_is_told_of(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(chmod(dir->path, 0555), 0);
	pid_t child = fork();
	if (child == 0) {
		struct stet_error err = {0};
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		int code = state_open(dir, &err);
		_exit(code != STET_E_ACCESS || !strstr(err.message, "cannot be made"));
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	chmod(dir->path, 0755);
}

/* Every kind of index that git writes, with and without the directory in it, and names close to it. */
struct repository {
	const char *format;
	const char *version;
};

static const struct repository repositories[] = {
	{"sha1", "2"}, {"sha1", "3"}, {"sha1", "4"}, {"sha256", "2"}, {"sha256", "4"},
};

static void repository_init(const struct dir *dir, const struct repository *repository) {
	char format[32];
	snprintf(format, sizeof format, "--object-format=%s", repository->format);
	git(dir, "init", "-q", format);
	git(dir, "update-index", "--index-version", repository->version);
}

static void repository_remove(const struct dir *dir) {
	run(dir, NULL, (const char *[]){"find", ".", "-mindepth", "1", "-delete", NULL});
}

static void one_that_git_tracks_is_not_used(void **state) {
	const struct dir *dir = *state;
	for (size_t i = 0; i < sizeof repositories / sizeof *repositories; i++) {
		repository_init(dir, &repositories[i]);
		assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
		dir_write(dir, ".stet/x", "x");
		git(dir, "add", ".stet/x");
		assert_int_equal(tracks(dir, ".stet"), 1);
		is_not_used(dir, "tracked by git");

		/* With company before and behind it, and entries with extended flags (version 3). */
		dir_write(dir, ".a", "");
		dir_write(dir, "a/long/path/to/a/file", "");
		dir_write(dir, "a/long/path/to/another", "");
		git(dir, "add", ".a");
		git(dir, "add", "-N", "a");
		git(dir, "update-index", "--index-version", repositories[i].version);
		is_not_used(dir, "tracked by git");

		git(dir, "rm", "-q", "--cached", ".stet/x");
		assert_int_equal(tracks(dir, ".stet"), 0);
		assert_int_equal(tracks(dir, "a"), 1);
		is_used(dir);
		repository_remove(dir);
	}
}

static void similar_names_are_not_taken_for_it(void **state) {
	const struct dir *dir = *state;
	for (size_t i = 0; i < sizeof repositories / sizeof *repositories; i++) {
		repository_init(dir, &repositories[i]);
		static const char *const names[] = {".ste", ".stet.txt", ".stet-2/x", ".stets/x",
		                                    "a/.stet/x"};
		for (size_t j = 0; j < sizeof names / sizeof *names; j++)
			dir_write(dir, names[j], "");
		git(dir, "add", "-A");
		assert_int_equal(tracks(dir, ".stet"), 0);
		is_used(dir);
		repository_remove(dir);
	}
}

static void many_entries_are_read_as_git_reads_them(void **state) {
	const struct dir *dir = *state;
	for (size_t i = 0; i < sizeof repositories / sizeof *repositories; i++) {
		repository_init(dir, &repositories[i]);
		for (int j = 0; j < 300; j++) {
			char name[64];
			snprintf(name, sizeof name, "%.*s/file-%d", j % 11 + 1, "directories", j * 37);
			dir_write(dir, name, name);
		}
		git(dir, "add", "-A");
		assert_int_equal(tracks(dir, ".stet"), 0);
		assert_int_equal(tracks(dir, "directories"), 1);
		assert_int_equal(tracks(dir, "direct"), 1);
		assert_int_equal(tracks(dir, "directoriesx"), 0);
		repository_remove(dir);
	}
}

/* A path longer than the length that an entry has room for. */
static void a_very_long_path_does_not_confuse(void **state) {
	const struct dir *dir = *state;
	for (size_t i = 0; i < sizeof repositories / sizeof *repositories; i++) {
		repository_init(dir, &repositories[i]);
		st_auto(st_buf) path = ST_BUF_INIT;
		st_buf_adds(&path, "100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,");
		if (strcmp(repositories[i].format, "sha256") == 0) {
			st_buf_clear(&path);
			st_buf_adds(&path,
			            "100644,473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813,");
		}
		for (int j = 0; j < 21; j++)
			st_buf_addf(&path, "%0250d/", j);
		st_buf_adds(&path, "x");
		git(dir, "update-index", "--add", "--cacheinfo", path.ptr);
		assert_int_equal(tracks(dir, ".stet"), 0);
		is_used(dir);
		repository_remove(dir);
	}
}

static void git_commit(const struct dir *dir) {
	git(dir, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "x",
	    "--allow-empty");
}

/* A directory in it as a test's directory of its own. */
static struct dir inside(const struct dir *dir, const char *name) {
	struct dir sub = {.fd = -1};
	snprintf(sub.path, sizeof sub.path, "%s", dir_at(dir, name));
	return sub;
}

static void one_that_git_tracks_is_noticed_from_a_subdirectory(void **state) {
	const struct dir *dir = *state;
	for (size_t i = 0; i < sizeof repositories / sizeof *repositories; i++) {
		repository_init(dir, &repositories[i]);
		dir_write(dir, "a/b/c.txt", "");
		dir_write(dir, "a/b/.stet/x", "");
		dir_write(dir, "a/bb/c.txt", "");
		assert_int_equal(chmod(dir_at(dir, "a/b/.stet"), 0700), 0);
		struct dir sub = inside(dir, "a/b"), other = inside(dir, "a/bb");
		is_used(&sub);
		git(dir, "add", "-A", "-f");
		is_not_used(&sub, "tracked by git");
		is_used(&other);
		git(dir, "rm", "-r", "-q", "--cached", "a/b/.stet");
		is_used(&sub);
		repository_remove(dir);
	}
}

static void one_that_git_tracks_is_noticed_in_a_worktree(void **state) {
	const struct dir *dir = *state;
	static const char *const tops[] = {"tree", "tree/sub"};
	git(dir, "init", "-q", "main");
	struct dir main = inside(dir, "main");
	dir_write(dir, "main/.stet/x", "");
	dir_write(dir, "main/sub/.stet/x", "");
	main.fd = open(main.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	git(&main, "add", "-f", ".stet", "sub");
	git_commit(&main);
	git(&main, "worktree", "add", "-q", "../tree");
	for (size_t i = 0; i < 2; i++) {
		struct dir tree = inside(dir, tops[i]);
		char name[64];
		snprintf(name, sizeof name, "%s/.stet", tops[i]);
		assert_int_equal(chmod(dir_at(dir, name), 0700), 0);
		is_not_used(&tree, "tracked by git");
		/* In the worktree alone: the index of the other one still lists it. */
		tree.fd = open(tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		git(&tree, "rm", "-r", "-q", "--cached", ".stet");
		is_used(&tree);
		close(tree.fd);
	}
	close(main.fd);
}

static void a_pointer_to_nowhere_is_no_repository(void **state) {
	const struct dir *dir = *state;
	static const char *const pointers[] = {"", "gitdir: ", "gitdir: nowhere\n", "elsewhere",
	                                       "\n\n"};
	for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
		dir_write(dir, ".git", pointers[i]);
		is_used(dir);
	}
	assert_int_equal(unlinkat(dir->fd, ".git", 0), 0);
	assert_int_equal(mkfifo(dir_at(dir, ".git"), 0600), 0);
	alarm(5);
	is_used(dir);
	alarm(0);
}

/* A directory that is not checked out stands for all that is in it. */
static void a_sparse_index_is_not_trusted(void **state) {
	const struct dir *dir = *state;
	git(dir, "init", "-q");
	dir_write(dir, "a/1", "");
	dir_write(dir, "b/1", "");
	dir_write(dir, "b/.stet/x", "");
	git(dir, "add", "-A", "-f");
	git_commit(dir);
	git(dir, "sparse-checkout", "set", "--cone", "--sparse-index", "a");
	struct dir sub = inside(dir, "b"), other = inside(dir, "a");
	assert_true(mkdirat(dir->fd, "b", 0755) == 0 || errno == EEXIST);
	is_not_used(&sub, "git may track it");
	is_used(&other);
}

static void a_split_index_is_not_trusted(void **state) {
	const struct dir *dir = *state;
	git(dir, "init", "-q");
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	dir_write(dir, ".stet/x", "x");
	git(dir, "add", ".stet/x");
	git(dir, "update-index", "--split-index");
	is_not_used(dir, "git may track it");
	git(dir, "update-index", "--no-split-index");
	is_not_used(dir, "tracked by git");
}

static void a_damaged_index_is_not_trusted(void **state) {
	const struct dir *dir = *state;
	git(dir, "init", "-q");
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	static const struct st_str indexes[] = {
		{"", 0},
		{"DIRC", 4},
		{"DIRC\0\0\0\2\0\0\0", 11},
		{"DIRC\0\0\0\2\0\0\0\0", 12},
		{"CRID\0\0\0\2\0\0\0\0checksum of 20 bytes", 32},
		{"DIRC\0\0\0\1\0\0\0\0checksum of 20 bytes", 32},
		{"DIRC\0\0\0\5\0\0\0\0checksum of 20 bytes", 32},
		{"DIRC\0\0\0\2\377\377\377\377checksum of 20 bytes", 32},
		{"DIRC\0\0\0\2\0\0\0\0TREE\377\377\377\377checksum of 20 bytes", 40},
	};
	for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
		dir_write_bytes(dir, ".git/index", indexes[i].ptr, indexes[i].len);
		is_not_used(dir, "git may track it");
	}
	dir_write_bytes(dir, ".git/index", "DIRC\0\0\0\2\0\0\0\0checksum of 20 bytes", 32);
	is_used(dir);
}

/* A real index cut at every length, and with every byte wrong once, is read without harm. */
static void no_damage_is_taken_for_an_index_without_it(void **state) {
	const struct dir *dir = *state;
	for (size_t i = 0; i < sizeof repositories / sizeof *repositories; i++) {
		repository_init(dir, &repositories[i]);
		dir_write(dir, "a/1", "");
		dir_write(dir, "a/2", "");
		dir_write(dir, ".stet/x", "");
		git(dir, "add", "-A");
		struct stat st;
		assert_int_equal(stat(dir_at(dir, ".git/index"), &st), 0);
		size_t len = (size_t)st.st_size;
		char *whole = malloc(len);
		memcpy(whole, dir_read(dir, ".git/index"), len);
		int fd = open(dir_at(dir, ".git/index"), O_WRONLY | O_CLOEXEC);
		for (size_t at = 0; at < len; at++) {
			whole[at] ^= 0x15;
			assert_int_equal(pwrite(fd, whole, len, 0), len);
			(void)tracks(dir, "nothing");
			whole[at] ^= 0x15;
		}
		assert_int_equal(pwrite(fd, whole, len, 0), len);
		assert_int_equal(tracks(dir, "nothing"), 0);
		while (len > 0) {
			assert_int_equal(ftruncate(fd, (off_t)--len), 0);
			assert_true(tracks(dir, "nothing") < 0);
		}
		close(fd);
		free(whole);
		repository_remove(dir);
	}
}

static void odd_things_in_the_place_of_an_index_are_not_trusted(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(mkdirat(dir->fd, ".git", 0755), 0);
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	alarm(5);
	assert_int_equal(mkfifo(dir_at(dir, ".git/index"), 0644), 0);
	is_not_used(dir, "git may track it");
	assert_int_equal(unlinkat(dir->fd, ".git/index", 0), 0);
	assert_int_equal(symlinkat("index", dir->fd, ".git/index"), 0);
	assert_true(state_open(dir, NULL) < 0);
	assert_int_equal(unlinkat(dir->fd, ".git/index", 0), 0);
	assert_int_equal(mkdirat(dir->fd, ".git/index", 0755), 0);
	assert_true(state_open(dir, NULL) < 0);
	alarm(0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_new_one_is_private),
		claim(git_status_does_not_show_it),
		claim(a_link_is_not_used),
		claim(a_file_is_not_used),
		claim(one_that_others_may_enter_is_not_used),
		claim(one_of_another_owner_is_not_used),
		claim(one_that_cannot_be_made_is_told_of),
		claim(one_that_git_tracks_is_not_used),
		claim(similar_names_are_not_taken_for_it),
		claim(many_entries_are_read_as_git_reads_them),
		claim(a_very_long_path_does_not_confuse),
		claim(one_that_git_tracks_is_noticed_from_a_subdirectory),
		claim(one_that_git_tracks_is_noticed_in_a_worktree),
		claim(a_pointer_to_nowhere_is_no_repository),
		claim(a_sparse_index_is_not_trusted),
		claim(a_split_index_is_not_trusted),
		claim(a_damaged_index_is_not_trusted),
		claim(no_damage_is_taken_for_an_index_without_it),
		claim(odd_things_in_the_place_of_an_index_are_not_trusted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
