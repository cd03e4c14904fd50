/* The watcher. The tests of FileWatcher in the file state specification are here under their names. */
#include "lib/watching.h"

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/clock.h"
#include "core/watch/watcher.h"
#include "fs/watch/watch_check.h"
#include "lib/alloc.h"
#include "lib/child.h"

/* ---- the tests of the file state specification ---- */

static void calls_callback_on_file_change(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	watching_start(&watching, dir);
	dir_write(dir, "test.txt", "initial");
	watching_idle(&watching);
	dir_write(dir, "test.txt", "changed");
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "add", "test.txt"), 1);
	assert_int_equal(watching_count(&watching, "change", "test.txt"), 1);
	watching_stop(&watching);
}

static void calls_callback_on_file_delete(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "test.txt", "content");
	watching_start(&watching, dir);
	watching_idle(&watching);
	assert_int_equal(unlink(dir_at(dir, "test.txt")), 0);
	watching_idle(&watching);
	assert_string_equal(st_buf_cstr(&watching.log), "unlink test.txt\n");
	watching_stop(&watching);
}

/* ---- what is reported ---- */

static void says_nothing_of_what_was_there(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a", "1");
	dir_write(dir, "sub/b", "2");
	watching_start(&watching, dir);
	watching_idle(&watching);
	assert_int_equal(watching.count, 0);
	watching_stop(&watching);
}

static void leaves_out_what_is_ignored(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, ".gitignore", "*.o\n/out/\n");
	dir_write(dir, "dist/x", "");
	dir_write(dir, "out/x", "");
	watching_start(&watching, dir);
	dir_write(dir, "a.o", "");
	dir_write(dir, "dist/y", "");
	dir_write(dir, "out/y", "");
	dir_write(dir, "sub/node_modules/m/index.js", "");
	dir_write(dir, ".git/index", "");
	dir_write(dir, "sub/a.c", "");
	watching_idle(&watching);
	assert_string_equal(st_buf_cstr(&watching.log), "add sub/a.c\n");
	watching_agrees(&watching);
	watching_stop(&watching);
}

static void follows_the_rules_when_they_change(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, ".gitignore", "*.o\n");
	dir_write(dir, "sub/a.o", "");
	dir_write(dir, "sub/a.c", "");
	watching_start(&watching, dir);
	dir_write(dir, ".gitignore", "*.c\n");
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "add", "sub/a.o"), 1);
	assert_int_equal(watching_count(&watching, "unlink", "sub/a.c"), 1);
	watching_agrees(&watching);
	watching_stop(&watching);
}

/* With git's own file of rules at this path, "a.o" is ignored when that is written, and only then. */
static void excludes_by(struct watching *watching, const struct dir *dir, const char *exclude) {
	watching_clear(watching);
	dir_write(dir, exclude, "*.o\n");
	watching_idle(watching);
	assert_string_equal(st_buf_cstr(&watching->log), "unlink a.o\n");
	dir_write(dir, "new exclude", "");
	assert_int_equal(rename(dir_at(dir, "new exclude"), dir_at(dir, exclude)), 0);
	watching_idle(watching);
	assert_int_equal(watching_count(watching, "add", "a.o"), 1);
	watching_agrees(watching);
}

static void follows_the_rules_that_git_keeps_for_itself(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a.o", "");
	dir_write(dir, ".git/info/exclude", "");
	watching_start(&watching, dir);
	excludes_by(&watching, dir, ".git/info/exclude");
	/* All of git's directory is another one now. */
	assert_int_equal(rename(dir_at(dir, ".git"), dir_at(dir, "dist")), 0);
	dir_write(dir, "next/HEAD", "");
	assert_int_equal(rename(dir_at(dir, "next"), dir_at(dir, ".git")), 0);
	watching_idle(&watching);
	excludes_by(&watching, dir, ".git/info/exclude");
	watching_stop(&watching);
}

static void follows_them_from_a_linked_worktree(void **state) {
	struct dir *dir = *state, tree = {.fd = -1};
	struct watching watching;
	char pointer[sizeof dir->path + 32];
	dir_write(dir, "tree/a.o", "");
	dir_write(dir, "repo/worktrees/tree/commondir", "../..\n");
	snprintf(pointer, sizeof pointer, "gitdir: %s\n", dir_at(dir, "repo/worktrees/tree"));
	dir_write(dir, "tree/.git", pointer);
	snprintf(tree.path, sizeof tree.path, "%s", dir_at(dir, "tree"));
	tree.fd = open(tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	watching_start(&watching, &tree);
	excludes_by(&watching, dir, "repo/info/exclude");
	watching_stop(&watching);
	close(tree.fd);
}

static void does_not_report_a_touch_of_what_it_has_read(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	watching_start(&watching, dir);
	dir_write(dir, "a", "same");
	watching_idle(&watching);
	watching_clear(&watching);
	dir_write(dir, "a", "same");
	watching_idle(&watching);
	assert_int_equal(watching.count, 0);
	watching_stop(&watching);
}

static void takes_removal_and_return_for_a_change(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a", "old");
	dir_write(dir, "b", "old");
	watching_start(&watching, dir);
	assert_int_equal(unlink(dir_at(dir, "a")), 0);
	dir_write(dir, "a", "new");
	dir_write(dir, "b~", "new");
	assert_int_equal(rename(dir_at(dir, "b~"), dir_at(dir, "b")), 0);
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "change", "a"), 1);
	assert_int_equal(watching_count(&watching, "change", "b"), 1);
	assert_int_equal(watching.count, 2);
	watching_stop(&watching);
}

static void notices_a_restored_mtime(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	struct stat st;
	dir_write(dir, "a", "old");
	assert_int_equal(stat(dir_at(dir, "a"), &st), 0);
	watching_start(&watching, dir);
	dir_write(dir, "a", "new");
	assert_int_equal(
		utimensat(AT_FDCWD, dir_at(dir, "a"), (struct timespec[]){st.st_atim, st.st_mtim}, 0), 0);
	watching_idle(&watching);
	assert_string_equal(st_buf_cstr(&watching.log), "change a\n");
	watching_stop(&watching);
}

/* A second store to a dirty page moves no time and makes no event; only the close does. */
static void notices_a_store_through_a_mapping(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a", "aaaa");
	watching_start(&watching, dir);
	int fd = open(dir_at(dir, "a"), O_RDWR | O_CLOEXEC);
	char *map = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	map[0] = 'b';
	assert_int_equal(pwrite(fd, "b", 1, 0), 1);
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "change", "a"), 1);
	map[1] = 'c';
	munmap(map, 4);
	close(fd);
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "change", "a"), 2);
	watching_stop(&watching);
}

static void reports_links_and_never_follows_them(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "real/a", "1");
	watching_start(&watching, dir);
	assert_int_equal(symlink("real", dir_at(dir, "link")), 0);
	assert_int_equal(symlink(".", dir_at(dir, "loop")), 0);
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "add", "link"), 1);
	assert_int_equal(watching_count(&watching, "add", "loop"), 1);
	assert_int_equal(watching.count, 2);
	watching_agrees(&watching);
	watching_stop(&watching);
}

static void takes_any_name(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	char name[256];
	memset(name, 'n', 255);
	name[255] = '\0';
	watching_start(&watching, dir);
	dir_write(dir, name, "");
	dir_write(dir, "\xff\xfe not utf-8\t\"", "");
	watching_idle(&watching);
	assert_int_equal(watching.count, 2);
	watching_agrees(&watching);
	watching_stop(&watching);
}

/* ---- rest ---- */

static void write_often(const struct dir *dir, int times) {
	for (int i = 0; i < times; i++) {
		char text[16];
		snprintf(text, sizeof text, "%d", i);
		dir_write(dir, "busy", text);
	}
}

/* A machine that stands still for longer than the wait has let the file rest. */
static void a_thousand_writes_are_one_change(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	size_t stalls = 0;
	dir_write(dir, "busy", "");
	watching_start(&watching, dir);
	for (int i = 0; i < 10; i++) {
		int64_t began = st_now_ms();
		write_often(dir, 100);
		watching_run(&watching, 5);
		stalls += st_now_ms() - began > ST_WATCH_DEBOUNCE_MS / 3;
	}
	watching_idle(&watching);
	assert_in_range(watching_count(&watching, "change", "busy"), 1, 1 + stalls);
	assert_int_equal(watching_count(&watching, NULL, NULL),
	                 watching_count(&watching, "change", "busy"));
	watching_stop(&watching);
}

static void a_file_that_never_rests_is_reported_every_two_seconds(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	size_t stalls = 0;
	dir_write(dir, "log", "");
	watching_start(&watching, dir);
	int fd = open(dir_at(dir, "log"), O_WRONLY | O_APPEND | O_CLOEXEC);
	int64_t start = st_now_ms(), now = start;
	while (watching_count(&watching, "change", "log") < 2) {
		assert_int_equal(write(fd, "x", 1), 1);
		watching_run(&watching, 10);
		int64_t took = st_now_ms() - now;
		stalls += took > ST_WATCH_DEBOUNCE_MS / 3;
		now += took;
		assert_in_range(now - start, 0, 60000);
	}
	close(fd);
	/* Not more often either, unless the machine stood still and the file came to rest. */
	assert_true(stalls > 0 || now - start >= (int64_t)2 * ST_WATCH_BOUND_MS);
	watching_stop(&watching);
}

/* The size is always the same, and no event tells of the writes. */
static void any_difference_in_stat_begins_the_wait_anew(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	size_t stalls = 0;
	dir_write(dir, "busy", "0");
	watching_new(&watching, dir);
	watching_set(&watching, STET_WATCH_POLL_ALL, 1);
	watching_set(&watching, STET_WATCH_POLL, 10);
	watching_set(&watching, STET_WATCH_DEBOUNCE, 300);
	watching_begin(&watching);
	for (int i = 0; i < 20; i++) {
		int64_t began = st_now_ms();
		dir_write(dir, "busy", i % 2 ? "1" : "2");
		watching_run(&watching, 40);
		stalls += st_now_ms() - began > 100;
	}
	watching_await(&watching, 1);
	assert_in_range(watching.count, 1, 1 + stalls);
	watching_stop(&watching);
}

static void without_settling_it_reports_at_once(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	watching_new(&watching, dir);
	watching_set(&watching, STET_WATCH_DEBOUNCE, 0);
	watching_begin(&watching);
	dir_write(dir, "a", "1");
	assert_int_equal(stet_watcher_dispatch(watching.watcher, 0, NULL), 0);
	assert_string_equal(st_buf_cstr(&watching.log), "add a\n");
	watching_stop(&watching);
}

/* ---- directories ---- */

static void test_dir_move(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a/deep/x", "1");
	watching_start(&watching, dir);
	assert_int_equal(rename(dir_at(dir, "a"), dir_at(dir, "b")), 0);
	watching_idle(&watching);
	watching_agrees(&watching);
	dir_write(dir, "b/deep/y", "2");
	dir_write(dir, "b/deep/x", "3");
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "add", "b/deep/y"), 1);
	assert_int_equal(watching_count(&watching, "change", "b/deep/x"), 1);
	assert_int_equal(rename(dir_at(dir, "b/deep"), dir_at(dir, "deep")), 0);
	dir_write(dir, "deep/z", "4");
	watching_idle(&watching);
	watching_agrees(&watching);
	watching_stop(&watching);
}

/* mv foo bar && ln -s bar foo, unseen: what is below foo is gone, link or not. */
static void test_fishy(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "foo/a", "1");
	watching_start(&watching, dir);
	assert_int_equal(rename(dir_at(dir, "foo"), dir_at(dir, "bar")), 0);
	assert_int_equal(symlink("bar", dir_at(dir, "foo")), 0);
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "unlink", "foo/a"), 1);
	assert_int_equal(watching_count(&watching, "add", "bar/a"), 1);
	assert_int_equal(watching_count(&watching, "add", "foo"), 1);
	watching_agrees(&watching);
	watching_stop(&watching);
}

static void test_remove_then_add(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "foo/222", "1");
	watching_start(&watching, dir);
	assert_int_equal(unlink(dir_at(dir, "foo/222")), 0);
	assert_int_equal(rmdir(dir_at(dir, "foo")), 0);
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "unlink", "foo/222"), 1);
	dir_write(dir, "foo/222", "1");
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "add", "foo/222"), 1);
	dir_write(dir, "foo/333", "1");
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "add", "foo/333"), 1);
	watching_agrees(&watching);
	watching_stop(&watching);
}

static void directories_may_change_places(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a/one", "1");
	dir_write(dir, "b/two", "2");
	watching_start(&watching, dir);
	assert_int_equal(renameat2(dir->fd, "a", dir->fd, "b", RENAME_EXCHANGE), 0);
	watching_idle(&watching);
	watching_agrees(&watching);
	dir_write(dir, "a/three", "3");
	dir_write(dir, "b/four", "4");
	watching_idle(&watching);
	watching_agrees(&watching);
	watching_stop(&watching);
}

static void a_directory_that_left_is_heard_no_more(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "tree/sub/a", "1");
	struct dir tree = {.fd = dir->fd};
	snprintf(tree.path, sizeof tree.path, "%s", dir_at(dir, "tree"));
	tree.fd = open(tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	watching_start(&watching, &tree);
	assert_int_equal(rename(dir_at(dir, "tree/sub"), dir_at(dir, "away")), 0);
	watching_idle(&watching);
	assert_string_equal(st_buf_cstr(&watching.log), "unlink sub/a\n");
	dir_write(dir, "away/b", "2");
	watching_idle(&watching);
	assert_int_equal(watching.count, 1);
	assert_int_equal(rename(dir_at(dir, "away"), dir_at(dir, "tree/back")), 0);
	watching_idle(&watching);
	watching_agrees(&watching);
	close(tree.fd);
	watching_stop(&watching);
}

static void says_when_the_root_is_gone(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "root/a", "1");
	struct dir root = {0};
	snprintf(root.path, sizeof root.path, "%s", dir_at(dir, "root"));
	watching_start(&watching, &root);
	assert_int_equal(unlink(dir_at(dir, "root/a")), 0);
	assert_int_equal(rmdir(root.path), 0);
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "unlink", "a"), 1);
	assert_int_equal(stet_watcher_dispatch(watching.watcher, 0, &watching.err), STET_E_NOT_FOUND);
	char *notice = stet_watcher_notice(watching.watcher);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "was removed"));
	stet_free(notice);
	watching_stop(&watching);
}

static void files_become_directories_and_back(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a", "1");
	dir_write(dir, "b/c", "2");
	watching_start(&watching, dir);
	assert_int_equal(unlink(dir_at(dir, "a")), 0);
	dir_write(dir, "a/x", "3");
	assert_int_equal(unlink(dir_at(dir, "b/c")), 0);
	assert_int_equal(rmdir(dir_at(dir, "b")), 0);
	dir_write(dir, "b", "4");
	watching_idle(&watching);
	watching_agrees(&watching);
	assert_int_equal(watching.count, 4);
	watching_stop(&watching);
}

/* ---- without events ---- */

static void polling_finds_the_same(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a", "1");
	dir_write(dir, "sub/b", "1");
	watching_new(&watching, dir);
	watching_set(&watching, STET_WATCH_POLL_ALL, 1);
	watching_set(&watching, STET_WATCH_POLL, 50);
	watching_begin(&watching);
	dir_write(dir, "a", "2");
	assert_int_equal(unlink(dir_at(dir, "sub/b")), 0);
	dir_write(dir, "new/deep/c", "1");
	watching_await(&watching, 3);
	/* The next checks find nothing else. */
	watching_run(&watching, 200);
	assert_int_equal(watching_count(&watching, "change", "a"), 1);
	assert_int_equal(watching_count(&watching, "unlink", "sub/b"), 1);
	assert_int_equal(watching_count(&watching, "add", "new/deep/c"), 1);
	assert_int_equal(watching.count, 3);
	watching_agrees(&watching);
	watching_stop(&watching);
}

static bool is_said(struct watching *watching, const char *part) {
	bool said = false;
	for (char *notice; (notice = stet_watcher_notice(watching->watcher));) {
		said |= strstr(notice, part) != NULL;
		stet_free(notice);
	}
	return said;
}

/* Changes in every directory of a tree of which only a part, or nothing, gives events. */
static void sees_all_changes(struct watching *watching, const char *notice) {
	const struct dir *dir = watching->dir;
	watching_set(watching, STET_WATCH_POLL, 50);
	watching_begin(watching);
	hold(watching->watcher->watch.polled > 0, "a part is polled");
	hold(is_said(watching, notice), "that is said");
	dir_write(dir, "a", "2");
	dir_write(dir, "one/b", "2");
	dir_write(dir, "two/new", "1");
	dir_write(dir, "three/deep/c", "2");
	dir_write(dir, "four/new/d", "1");
	watching_await(watching, 5);
	hold(watching_count(watching, "change", "a") == 1, "a");
	hold(watching_count(watching, "change", "one/b") == 1, "one/b");
	hold(watching_count(watching, "add", "two/new") == 1, "two/new");
	hold(watching_count(watching, "change", "three/deep/c") == 1, "three/deep/c");
	hold(watching_count(watching, "add", "four/new/d") == 1, "four/new/d");
	watching_agrees(watching);
}

static void make_tree(const struct dir *dir) {
	dir_write(dir, "a", "1");
	dir_write(dir, "one/b", "1");
	dir_write(dir, "two/old", "1");
	dir_write(dir, "three/deep/c", "1");
}

static void watch_with_few_watches(const struct dir *dir) {
	struct watching watching;
	watching_new(&watching, dir);
	sees_all_changes(&watching, "max_user_watches");
	hold(watching.watcher->watch.in.count > 0, "a part is watched");
	watching_stop(&watching);
}

static void out_of_watches_the_rest_is_polled_and_that_is_said(void **state) {
	make_tree(*state);
	child_with_limit(*state, "max_inotify_watches", "3", watch_with_few_watches);
}

static void watch_without_events(const struct dir *dir) {
	struct watching watching;
	watching_new(&watching, dir);
	sees_all_changes(&watching, "max_user_instances");
	watching_stop(&watching);
}

static void without_an_instance_everything_is_polled(void **state) {
	make_tree(*state);
	child_with_limit(*state, "max_inotify_instances", "0", watch_without_events);
}

/* Stands before libc's: the type of the filesystem is what a test says. */
static long pretended_type;

int fstatfs(int fd, struct statfs *fs) {
	int code = (int)syscall(SYS_fstatfs, fd, fs);
	if (code == 0 && pretended_type != 0)
		fs->f_type = pretended_type;
	return code;
}

static void network_filesystems_are_polled_and_that_is_said(void **state) {
	static const long types[] = {0x6969 /* NFS */, 0xFF534D42 /* CIFS */, 0x01021997 /* 9p */};
	for (size_t i = 0; i < 3; i++) {
		struct watching watching;
		make_tree(*state);
		watching_new(&watching, *state);
		pretended_type = types[i];
		sees_all_changes(&watching, "network filesystem");
		assert_int_equal(watching.watcher->watch.in.count, 0);
		pretended_type = 0;
		watching_stop(&watching);
		assert_int_equal(unlink(dir_at(*state, "two/new")), 0);
		assert_int_equal(unlink(dir_at(*state, "four/new/d")), 0);
	}
}

/* ---- mounts ---- */

static void mount_over(const struct dir *dir) {
	struct watching watching;
	watching_start(&watching, dir);
	hold(mount("none", dir_at(dir, "sub dir"), "tmpfs", 0, NULL) == 0, "mount");
	watching_idle(&watching);
	hold(watching_count(&watching, "unlink", "sub dir/a") == 1, "it is hidden");
	dir_write(dir, "sub dir/b", "1");
	watching_idle(&watching);
	hold(watching_count(&watching, "add", "sub dir/b") == 1, "what is new is seen");
	hold(umount2(dir_at(dir, "sub dir"), MNT_DETACH) == 0, "unmount");
	watching_idle(&watching);
	watching_agrees(&watching);
	dir_write(dir, "sub dir/a", "2");
	watching_idle(&watching);
	hold(watching_count(&watching, "change", "sub dir/a") == 1, "what was hidden is watched again");
	watching_stop(&watching);
}

static void sees_what_is_mounted_over_a_directory(void **state) {
	dir_write(*state, "sub dir/a", "1");
	child_with_mounts(*state, mount_over);
}

static void unmount_root(const struct dir *dir) {
	struct watching watching;
	struct dir root = {.fd = -1};
	hold(mount("none", dir_at(dir, "root"), "tmpfs", 0, NULL) == 0, "mount");
	dir_write(dir, "root/a", "1");
	snprintf(root.path, sizeof root.path, "%s", dir_at(dir, "root"));
	watching_start(&watching, &root);
	hold(umount2(root.path, MNT_DETACH) == 0, "unmount");
	int code = stet_watcher_dispatch(watching.watcher, 60000, &watching.err);
	for (int i = 0; code == 0 && i < 100; i++)
		code = stet_watcher_dispatch(watching.watcher, 1000, &watching.err);
	hold(code == STET_E_NOT_FOUND, "the directory is gone");
	hold(is_said(&watching, "was unmounted"), "that is said");
	watching_stop(&watching);
}

static void says_when_the_root_is_unmounted(void **state) {
	assert_int_equal(mkdir(dir_at(*state, "root"), 0700), 0);
	child_with_mounts(*state, unmount_root);
}

/* Lost events are found by reading everything anew. */
static void test_force_recrawl(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a/b/c", "1");
	dir_write(dir, "a/d", "1");
	watching_start(&watching, dir);
	dir_write(dir, "a/b/c", "2");
	assert_int_equal(unlink(dir_at(dir, "a/d")), 0);
	dir_write(dir, "e/f", "1");
	/* Throw the events away, as an overflow would. */
	char buffer[65536];
	assert_true(read(watching.watcher->watch.in.fd, buffer, sizeof buffer) > 0);
	watching_idle(&watching);
	assert_int_equal(watching.count, 0);
	st_watch_rescan(&watching.watcher->watch);
	watching_idle(&watching);
	assert_int_equal(watching.count, 3);
	watching_agrees(&watching);
	dir_write(dir, "e/g", "1");
	watching_idle(&watching);
	watching_agrees(&watching);
	watching_stop(&watching);
}

static void lose_events(struct watching *watching) {
	char buffer[65536];
	assert_true(read(watching->watcher->watch.in.fd, buffer, sizeof buffer) > 0);
	st_watch_rescan(&watching->watcher->watch);
	watching_idle(watching);
}

/*
 * Files that it never looked at: one stays as it is, one gets other bytes and
 * its old mtime, and two change places, with their directories and all times.
 */
static void change_unheard(const struct dir *dir) {
	struct watching watching;
	struct stat st;
	dir_write(dir, "left", "1");
	dir_write(dir, "written", "1");
	dir_write(dir, "a/same", "1");
	dir_write(dir, "b/same", "2");
	assert_int_equal(stat(dir_at(dir, "written"), &st), 0);
	watching_start(&watching, dir);
	dir_write(dir, "written", "2");
	assert_int_equal(utimensat(dir->fd, "written", (struct timespec[]){st.st_atim, st.st_mtim}, 0),
	                 0);
	assert_int_equal(renameat2(dir->fd, "a", dir->fd, "b", RENAME_EXCHANGE), 0);
	lose_events(&watching);
	assert_int_equal(watching.count, 3);
	assert_int_equal(watching_count(&watching, "change", "written"), 1);
	assert_int_equal(watching_count(&watching, "change", "a/same"), 1);
	assert_int_equal(watching_count(&watching, "change", "b/same"), 1);
	dir_write(dir, "left", "2");
	lose_events(&watching);
	assert_int_equal(watching_count(&watching, "change", "left"), 1);
	watching_stop(&watching);
}

static void finds_lost_changes_of_what_it_never_looked_at(void **state) {
	change_unheard(*state);
}

static void finds_them_where_ctimes_cannot_be_trusted(void **state) {
	pretended_type = 0x794C7630; /* overlayfs */
	change_unheard(*state);
	pretended_type = 0;
}

static void opening_for_writing_is_no_change(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a", "1");
	watching_start(&watching, dir);
	int fd = open(dir_at(dir, "a"), O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	watching_idle(&watching);
	assert_int_equal(watching.count, 0);
	watching_stop(&watching);
}

/* ---- the clock ---- */

/* Whether a file that was listed at the start and has this ctime now counts as the same. */
static bool is_as_listed(const struct st_watch *watch, int64_t ctime_ns) {
	struct st_watch_node node = {.present = true, .unseen = true};
	struct stat st = {
		.st_dev = 1,
		.st_ino = 2,
		.st_ctim = {.tv_sec = ctime_ns / 1000000000, .tv_nsec = ctime_ns % 1000000000},
	};
	node.fingerprint = st_watch_fingerprint_inode(1, 2);
	bool same = st_watch_is_same(watch, &node, &st);
	assert_true(node.unseen == !same);
	return same;
}

static void a_clock_that_was_put_back_hides_no_change(void **state) {
	(void)state;
	const int64_t second = 1000000000, minutes = 600 * second, hour = 3600 * second;
	int64_t now = st_wall_ns() / second * second + second / 2;
	int64_t offset = now - st_now_us() * 1000;
	struct st_watch watch = {.start_ns = now, .start_offset_ns = offset - minutes};
	assert_true(is_as_listed(&watch, now));
	assert_false(is_as_listed(&watch, now + 1));
	/* A ctime in whole seconds was rounded down. */
	assert_true(is_as_listed(&watch, (now / second - 1) * second));
	assert_false(is_as_listed(&watch, now / second * second));
	/* The clock was an hour ahead when the watch began. */
	watch = (struct st_watch){.start_ns = now + hour, .start_offset_ns = offset + hour};
	assert_false(is_as_listed(&watch, now + minutes));
	assert_true(is_as_listed(&watch, now - minutes));
}

static struct stet_changes *since(struct watching *watching, const char *clock) {
	struct stet_changes *changes = NULL;
	assert_int_equal(stet_watcher_since(watching->watcher, clock, &changes, &watching->err), 0);
	return changes;
}

static const char *event_of(const struct stet_changes *changes, const char *path) {
	for (size_t i = 0; i < stet_changes_count(changes); i++) {
		if (strcmp(stet_changes_path(changes, i), path) == 0)
			return stet_changes_event(changes, i);
	}
	return "none";
}

static void tells_what_changed_since_a_clock(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a", "1");
	dir_write(dir, "b", "1");
	dir_write(dir, "c", "1");
	watching_start(&watching, dir);
	st_auto(st_buf) clock = ST_BUF_INIT;
	st_buf_adds(&clock, stet_watcher_clock(watching.watcher));
	struct stet_changes *changes = since(&watching, st_buf_cstr(&clock));
	assert_false(stet_changes_fresh(changes));
	assert_int_equal(stet_changes_count(changes), 0);
	stet_changes_free(changes);

	dir_write(dir, "a", "2");
	assert_int_equal(unlink(dir_at(dir, "b")), 0);
	dir_write(dir, "d", "1");
	watching_idle(&watching);
	changes = since(&watching, st_buf_cstr(&clock));
	assert_false(stet_changes_fresh(changes));
	assert_int_equal(stet_changes_count(changes), 3);
	assert_string_equal(event_of(changes, "a"), "change");
	assert_string_equal(event_of(changes, "b"), "unlink");
	assert_string_equal(event_of(changes, "d"), "add");
	struct stet_changes *later = since(&watching, stet_changes_clock(changes));
	assert_int_equal(stet_changes_count(later), 0);
	stet_changes_free(later);
	stet_changes_free(changes);
	watching_stop(&watching);
}

static void a_clock_of_another_instance_is_fresh(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a", "1");
	watching_start(&watching, dir);
	st_auto(st_buf) clock = ST_BUF_INIT;
	st_buf_adds(&clock, stet_watcher_clock(watching.watcher));
	stet_watcher_stop(watching.watcher);
	assert_int_equal(stet_watcher_start(watching.watcher, NULL), 0);
	const char *const strange[] = {st_buf_cstr(&clock), "", "c:", "nonsense",
	                               "c:0:99999999999999999999"};
	for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
		struct stet_changes *changes = since(&watching, strange[i]);
		assert_true(stet_changes_fresh(changes));
		assert_int_equal(stet_changes_count(changes), 1);
		stet_changes_free(changes);
	}
	watching_stop(&watching);
}

static void test_age_file(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	watching_new(&watching, dir);
	watching_set(&watching, STET_WATCH_CHANGES, 2);
	watching_begin(&watching);
	st_auto(st_buf) clock = ST_BUF_INIT;
	st_buf_adds(&clock, stet_watcher_clock(watching.watcher));
	dir_write(dir, "a", "1");
	watching_idle(&watching);
	assert_int_equal(unlink(dir_at(dir, "a")), 0);
	watching_idle(&watching);
	st_auto(st_buf) middle = ST_BUF_INIT;
	st_buf_adds(&middle, stet_watcher_clock(watching.watcher));
	dir_write(dir, "b", "1");
	dir_write(dir, "c", "1");
	watching_idle(&watching);
	/* The tombstone of a fell off: a client with an older clock gets everything afresh. */
	struct stet_changes *changes = since(&watching, st_buf_cstr(&clock));
	assert_true(stet_changes_fresh(changes));
	assert_string_equal(event_of(changes, "a"), "none");
	stet_changes_free(changes);
	changes = since(&watching, st_buf_cstr(&middle));
	assert_false(stet_changes_fresh(changes));
	assert_int_equal(stet_changes_count(changes), 2);
	stet_changes_free(changes);
	watching_stop(&watching);
}

static void test_cookie(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	watching_start(&watching, dir);
	st_auto(st_buf) clock = ST_BUF_INIT;
	for (int i = 0; i < 20; i++) {
		char name[32];
		st_buf_clear(&clock);
		st_buf_adds(&clock, stet_watcher_clock(watching.watcher));
		snprintf(name, sizeof name, "d%d/e/f%d", i, i);
		dir_write(dir, name, "mine");
		assert_int_equal(stet_watcher_sync(watching.watcher, 5000, &watching.err), 0);
		assert_true(watching.watcher->watch.cookie_seen);
		struct stet_changes *changes = since(&watching, st_buf_cstr(&clock));
		assert_false(stet_changes_fresh(changes));
		assert_int_equal(stet_changes_count(changes), 1);
		assert_string_equal(event_of(changes, name), "add");
		stet_changes_free(changes);
	}
	assert_int_equal(dir_count(dir, ".stet"), 0);
	watching_agrees(&watching);
	watching_stop(&watching);
}

/* Watching makes no directory: without one, an empty queue proves as much. */
static void test_no_place_for_a_cookie(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	watching_start(&watching, dir);
	st_auto(st_buf) clock = ST_BUF_INIT;
	st_buf_adds(&clock, stet_watcher_clock(watching.watcher));
	dir_write(dir, "d/e", "mine");
	assert_int_equal(stet_watcher_sync(watching.watcher, 5000, &watching.err), 0);
	struct stet_changes *changes = since(&watching, st_buf_cstr(&clock));
	assert_int_equal(stet_changes_count(changes), 1);
	assert_string_equal(event_of(changes, "d/e"), "add");
	stet_changes_free(changes);
	assert_false(dir_has(dir, ".stet"));
	watching_stop(&watching);
}

/* ---- files in use ---- */

static size_t watches_of(const struct watching *watching) {
	return watching->watcher->watch.in.count;
}

static void use(struct watching *watching, const char *path) {
	if (stet_watcher_use(watching->watcher, path, &watching->err) < 0)
		fail_msg("%s", watching->err.message);
}

static void watches_only_what_is_in_use(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	char name[64];
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "many/%d/file", i);
		dir_write(dir, name, "1");
	}
	dir_write(dir, "a/b/c", "1");
	watching_new(&watching, dir);
	watching_set(&watching, STET_WATCH_USED_ONLY, 1);
	watching_begin(&watching);
	assert_int_equal(watches_of(&watching), 0);
	use(&watching, "a/b/c");
	use(&watching, "a/b/new");
	assert_int_equal(watches_of(&watching), 3);
	dir_write(dir, "a/b/c", "2");
	dir_write(dir, "a/b/new", "1");
	dir_write(dir, "a/b/other", "1");
	dir_write(dir, "many/1/file", "2");
	watching_idle(&watching);
	assert_int_equal(watching.count, 2);
	stet_watcher_unuse(watching.watcher, "a/b/c");
	stet_watcher_unuse(watching.watcher, "a/b/new");
	dir_write(dir, "a/b/c", "3");
	watching_idle(&watching);
	assert_int_equal(watching.count, 2);
	assert_in_range(watches_of(&watching), 0, 1);
	watching_stop(&watching);
}

static void a_file_in_use_survives_its_directories(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, "a/b/c", "1");
	watching_new(&watching, dir);
	watching_set(&watching, STET_WATCH_USED_ONLY, 1);
	watching_begin(&watching);
	use(&watching, "a/b/c");
	assert_int_equal(rename(dir_at(dir, "a"), dir_at(dir, "z")), 0);
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "unlink", "a/b/c"), 1);
	dir_write(dir, "a/b/c", "2");
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "change", "a/b/c") +
	                     watching_count(&watching, "add", "a/b/c"),
	                 1);
	dir_write(dir, "a/b/c", "3");
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, "change", "a/b/c"), 1);
	watching_stop(&watching);
}

/* ---- memory ---- */

static void is_right_again_after_memory_ran_out(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	watching_new(&watching, dir);
	watching_set(&watching, STET_WATCH_DEBOUNCE, 1);
	watching_begin(&watching);
	bool failed = true;
	for (size_t n = 1; failed && n < 200; n++) {
		char name[32];
		snprintf(name, sizeof name, "d%zu/e/f", n);
		dir_write(dir, name, "1");
		alloc_fail_at(n);
		for (int i = 0; i < 12; i++) {
			int code = stet_watcher_dispatch(watching.watcher, 0, NULL);
			assert_true(code == 0 || code == STET_E_NOMEM);
			st_sleep_ms(1);
		}
		failed = alloc_has_failed();
		watching_idle(&watching);
	}
	assert_false(failed);
	watching_agrees(&watching);
	watching_stop(&watching);
}

static void a_state_directory_of_another_name_is_no_news(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	dir_write(dir, ".maestro/stet.db", "one");
	watching_new(&watching, dir);
	watching_set(&watching, STET_WATCH_GITIGNORE, 0);
	assert_int_equal(stet_watcher_state_dir(watching.watcher, ".git", NULL), STET_E_INVALID);
	assert_int_equal(stet_watcher_state_dir(watching.watcher, ".maestro", NULL), 0);
	watching_begin(&watching);
	assert_int_equal(stet_watcher_state_dir(watching.watcher, ".stet", NULL), STET_E_INVALID);
	dir_write(dir, ".maestro/stet.db", "two");
	dir_write(dir, ".maestro/kept/x", "x");
	dir_write(dir, "a.txt", "x");
	watching_idle(&watching);
	assert_int_equal(watching_count(&watching, NULL, NULL), 1);
	assert_int_equal(watching_count(&watching, "add", "a.txt"), 1);
	watching_stop(&watching);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(calls_callback_on_file_change),
		claim(calls_callback_on_file_delete),
		claim(says_nothing_of_what_was_there),
		claim(a_state_directory_of_another_name_is_no_news),
		claim(leaves_out_what_is_ignored),
		claim(follows_the_rules_when_they_change),
		claim(follows_the_rules_that_git_keeps_for_itself),
		claim(follows_them_from_a_linked_worktree),
		claim(does_not_report_a_touch_of_what_it_has_read),
		claim(takes_removal_and_return_for_a_change),
		claim(notices_a_restored_mtime),
		claim(notices_a_store_through_a_mapping),
		claim(reports_links_and_never_follows_them),
		claim(takes_any_name),
		claim(a_thousand_writes_are_one_change),
		claim(a_file_that_never_rests_is_reported_every_two_seconds),
		claim(any_difference_in_stat_begins_the_wait_anew),
		claim(without_settling_it_reports_at_once),
		claim(test_dir_move),
		claim(test_fishy),
		claim(test_remove_then_add),
		claim(directories_may_change_places),
		claim(a_directory_that_left_is_heard_no_more),
		claim(says_when_the_root_is_gone),
		claim(files_become_directories_and_back),
		claim(polling_finds_the_same),
		claim(out_of_watches_the_rest_is_polled_and_that_is_said),
		claim(without_an_instance_everything_is_polled),
		claim(network_filesystems_are_polled_and_that_is_said),
		claim(sees_what_is_mounted_over_a_directory),
		claim(says_when_the_root_is_unmounted),
		claim(test_force_recrawl),
		claim(finds_lost_changes_of_what_it_never_looked_at),
		claim(finds_them_where_ctimes_cannot_be_trusted),
		claim(opening_for_writing_is_no_change),
		claim(a_clock_that_was_put_back_hides_no_change),
		claim(tells_what_changed_since_a_clock),
		claim(a_clock_of_another_instance_is_fresh),
		claim(test_age_file),
		claim(test_cookie),
		claim(test_no_place_for_a_cookie),
		claim(watches_only_what_is_in_use),
		claim(a_file_in_use_survives_its_directories),
		claim(is_right_again_after_memory_ran_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
