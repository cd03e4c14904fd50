/* The safe replace, one caller at a time: every way it can go, and what it leaves behind. */
#include <dirent.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/clock.h"
#include "fs/write/commit.h"
#include "fs/write/temp.h"
#include "fs/versions/late_writes.h"
#include "fs/versions/rescued.h"
#include "fs/file/lease.h"
#include "lib/bench.h"

/* The caller has the bytes of the expected version, and wants the replaced file kept for undo. */
static bool gives_old, archives;

/* How many files there are beside the state directory. */
static int count_files(const struct dir *dir) {
	return dir_count(dir, ".") - dir_has(dir, ".stet");
}

static int commit(struct bench *bench, const char *path, const char *expected, const char *text,
                  struct st_committed *done, struct stet_error *err) {
	struct st_hash hash = expected ? hash_of(expected) : (struct st_hash){0};
	struct st_commit commit = {
		.path = st_str(path), .bytes = st_str(text), .expected = expected ? &hash : NULL};
	commit.archive = archives;
	if (gives_old && expected)
		commit.old = st_str(expected);
	return st_commit(&bench->root, &bench->writes, &commit, done, err);
}

static void replaces_the_expected_version_by_exchange(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	dir_write(dir, "a.txt", "old");
	assert_int_equal(commit(&bench, "a.txt", "old", "new", &done, NULL), 0);
	assert_int_equal(done.way, ST_COMMIT_EXCHANGED);
	assert_string_equal(done.path, "a.txt");
	assert_string_equal(dir_read(dir, "a.txt"), "new");
	assert_int_equal(count_files(dir), 1);
}

static void refuses_another_version_and_touches_nothing(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	struct stet_error err = {0};
	dir_write(dir, "a.txt", "theirs");
	struct stat before, after;
	assert_int_equal(stat(dir_at(dir, "a.txt"), &before), 0);
	assert_int_equal(commit(&bench, "a.txt", "old", "new", &done, &err), STET_E_CONFLICT);
	assert_string_equal(done.current.bytes.ptr, "theirs");
	assert_int_equal(stat(dir_at(dir, "a.txt"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
	assert_int_equal(count_files(dir), 1);
}

static void creates_only_where_nothing_is(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "new.txt", NULL, "text", &done, NULL), 0);
	assert_int_equal(done.way, ST_COMMIT_CREATED);
	assert_string_equal(dir_read(dir, "new.txt"), "text");
	struct stat st;
	assert_int_equal(stat(dir_at(dir, "new.txt"), &st), 0);
	mode_t mask = umask(0);
	umask(mask);
	assert_int_equal(st.st_mode & 07777, 0666 & ~mask);

	st_auto(st_committed) again = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "new.txt", NULL, "other", &again, NULL), STET_E_CONFLICT);
	assert_string_equal(again.current.bytes.ptr, "text");
	assert_string_equal(dir_read(dir, "new.txt"), "text");
	assert_int_equal(count_files(dir), 1);
}

static void a_deleted_file_is_a_conflict(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "gone.txt", "old", "new", &done, NULL), STET_E_CONFLICT);
	assert_true(done.deleted);
	assert_false(dir_has(dir, "gone.txt"));
}

static void equal_bytes_are_a_noop_that_moves_nothing(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "same");
	struct stat before, after;
	assert_int_equal(stat(dir_at(dir, "a.txt"), &before), 0);
	static const char *const expected[] = {"same", "something else", NULL};
	for (size_t i = 0; i < 3; i++) {
		st_auto(st_committed) done = ST_COMMITTED_INIT;
		assert_int_equal(commit(&bench, "a.txt", expected[i], "same", &done, NULL), 0);
		assert_true(done.noop);
		assert_int_equal(done.way, ST_COMMIT_NONE);
	}
	assert_int_equal(stat(dir_at(dir, "a.txt"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
	assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof before.st_ctim);
}

static void mode_owner_attributes_and_acl_stay(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.sh", "old");
	const char *path = dir_at(dir, "a.sh");
	char command[512];
	snprintf(command, sizeof command, "setfacl -m u:1:r %s", path);
	if (geteuid() == 0)
		assert_int_equal(chown(path, 1, 2), 0);
	assert_int_equal(chmod(path, 04751), 0);
	assert_int_equal(system(command), 0);
	assert_int_equal(setxattr(path, "user.stet", "kept", 4, 0), 0);
	struct stat before, after;
	assert_int_equal(stat(path, &before), 0);

	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.sh", "old", "new", &done, NULL), 0);
	assert_int_equal(done.way, ST_COMMIT_EXCHANGED);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_mode, after.st_mode);
	assert_int_equal(before.st_uid, after.st_uid);
	assert_int_equal(before.st_gid, after.st_gid);
	char value[8] = {0};
	assert_int_equal(getxattr(path, "user.stet", value, sizeof value), 4);
	assert_string_equal(value, "kept");
	assert_true(getxattr(path, "system.posix_acl_access", NULL, 0) > 0);
}

static void capabilities_of_a_program_stay(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	/* cap_net_raw=ep, as setcap writes it. */
	static const char capability[20] = "\1\0\0\2\0\40";
	dir_write(dir, "a.out", "old");
	if (setxattr(dir_at(dir, "a.out"), "security.capability", capability, sizeof capability, 0) < 0)
		skip_because("capabilities cannot be given to files here");
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.out", "old", "new", &done, NULL), 0);
	assert_int_equal(done.way, ST_COMMIT_EXCHANGED);
	char value[64];
	assert_int_equal(getxattr(dir_at(dir, "a.out"), "security.capability", value, sizeof value),
	                 sizeof capability);
	assert_memory_equal(value, capability, sizeof capability);
}

static void a_link_stays_and_its_target_is_written(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "real/a.txt", "old");
	assert_int_equal(symlinkat("real/a.txt", dir->fd, "link"), 0);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "link", "old", "new", &done, NULL), 0);
	assert_string_equal(done.path, "real/a.txt");
	assert_string_equal(dir_read(dir, "real/a.txt"), "new");
	struct stat st;
	assert_int_equal(lstat(dir_at(dir, "link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void hard_links_are_written_in_place(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "old and longer");
	assert_int_equal(linkat(dir->fd, "a.txt", dir->fd, "b.txt", 0), 0);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "old and longer", "new", &done, NULL), 0);
	assert_int_equal(done.way, ST_COMMIT_IN_PLACE);
	assert_string_equal(dir_read(dir, "b.txt"), "new");
	assert_int_equal(dir_count(dir, ".stet/rescued"), 0);
}

static void git_and_the_state_directory_are_not_written(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, ".git/config", "old");
	dir_write(dir, "sub/.GIT/hooks/x", "old");
	assert_int_equal(symlinkat(".git", dir->fd, "innocent"), 0);
	static const char *const paths[] = {".git/config", "sub/.GIT/hooks/x", "innocent/config",
	                                    ".stet/x", "sub/../.git/new"};
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		st_auto(st_committed) done = ST_COMMITTED_INIT;
		struct stet_error err = {0};
		assert_int_equal(commit(&bench, paths[i], "old", "new", &done, &err), STET_E_PROTECTED);
	}
	assert_string_equal(dir_read(dir, ".git/config"), "old");
}

static void what_is_no_regular_file_is_refused_at_once(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	assert_int_equal(mkfifo(dir_at(dir, "fifo"), 0644), 0);
	assert_int_equal(mkdirat(dir->fd, "directory", 0755), 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s", dir_at(dir, "socket"));
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	static const char *const paths[] = {"fifo", "directory", "socket"};
	alarm(5);
	for (size_t i = 0; i < 3; i++) {
		st_auto(st_committed) done = ST_COMMITTED_INIT;
		struct stet_error err = {0};
		assert_int_equal(commit(&bench, paths[i], "old", "new", &done, &err), STET_E_KIND);
		assert_non_null(strstr(err.message, "regular"));
	}
	alarm(0);
	close(fd);
}

static void a_file_open_for_writing_is_busy(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "old");
	int fd = open(dir_at(dir, "a.txt"), O_WRONLY | O_APPEND);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	struct stet_error err = {0};
	assert_int_equal(commit(&bench, "a.txt", "old", "new", &done, &err), STET_E_BUSY);
	assert_non_null(strstr(err.message, "open for writing"));
	assert_string_equal(dir_read(dir, "a.txt"), "old");
	close(fd);
	assert_int_equal(count_files(dir), 1);
}

static void a_late_write_is_kept_and_reported(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "old");
	/* A process that has looked the path up, but not opened the file yet. */
	int looked_up = open(dir_at(dir, "a.txt"), O_PATH);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "old", "new", &done, NULL), 0);
	char again[64];
	snprintf(again, sizeof again, "/proc/self/fd/%d", looked_up);
	int fd = open(again, O_WRONLY | O_APPEND);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, " + late", 7), 7);
	close(fd);
	close(looked_up);

	st_late_writes_drain(&bench.writes.late_writes, 0);
	st_autofree char *notice = st_write_next_notice(&bench.writes);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "a.txt"));
	const char *kept = strstr(notice, ".stet/rescued/");
	assert_non_null(kept);
	char name[300];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(kept, " ") - 1, kept);
	assert_string_equal(dir_read(dir, name), "old + late");
	assert_string_equal(dir_read(dir, "a.txt"), "new");
	assert_null(st_write_next_notice(&bench.writes));
}

/* As large as what was there, a moment after that was written: no clock would tell them apart. */
static void a_late_write_within_a_tick_of_the_clock_is_found(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	for (int i = 0; i < 20; i++) {
		dir_write(dir, "a.txt", "old");
		st_autofd looked_up = open(dir_at(dir, "a.txt"), O_PATH | O_CLOEXEC);
		st_auto(st_committed) done = ST_COMMITTED_INIT;
		assert_int_equal(commit(&bench, "a.txt", "old", "new", &done, NULL), 0);
		char again[64];
		snprintf(again, sizeof again, "/proc/self/fd/%d", looked_up);
		st_autofd fd = open(again, O_WRONLY | O_CLOEXEC);
		assert_int_equal(write(fd, "bad", 3), 3);
		st_close_at(&fd);
		st_late_writes_drain(&bench.writes.late_writes, 0);
		st_autofree char *notice = st_write_next_notice(&bench.writes);
		assert_non_null(notice);
		assert_non_null(strstr(notice, ".stet/rescued/"));
	}
}

/* The notice of the next process that writes; NULL for none. */
static char *notice_of_next_process(const struct dir *dir, const char *expected, const char *text) {
	with_bench(dir);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "b.txt", expected, text, &done, NULL), 0);
	return st_write_next_notice(&bench.writes);
}

static void a_notice_that_nobody_took_comes_again(void **state) {
	const struct dir *dir = *state;
	struct bench untaken;
	bench_init(&untaken, dir);
	assert_int_equal(st_rescue(&untaken.writes.rescued, "a.txt", ST_STR("somebody's"), "Why."), 0);
	bench_release(&untaken);
	dir_write(dir, "b.txt", "1");
	st_autofree char *notice = notice_of_next_process(dir, "1", "2");
	assert_non_null(notice);
	assert_non_null(strstr(notice, "\"a.txt\""));
	char name[300];
	const char *kept = strstr(notice, ".stet/rescued/");
	assert_non_null(kept);
	snprintf(name, sizeof name, "%.*s", (int)strlen(kept) - 1, kept);
	assert_string_equal(dir_read(dir, name), "somebody's");
	assert_null(notice_of_next_process(dir, "2", "3"));
}

/* Standard error of a server reaches a person at best: the model of the next process hears of the copy. */
static void a_notice_that_only_people_got_comes_again(void **state) {
	const struct dir *dir = *state;
	{
		with_bench(dir);
		assert_int_equal(st_rescue(&bench.writes.rescued, "a.txt", ST_STR("theirs"), "Why."), 0);
		st_autofree char *printed = st_write_take_notice(&bench.writes, false);
		assert_non_null(printed);
		assert_null(st_write_next_notice(&bench.writes));
	}
	dir_write(dir, "b.txt", "1");
	st_autofree char *notice = notice_of_next_process(dir, "1", "2");
	assert_non_null(notice);
	assert_null(notice_of_next_process(dir, "2", "3"));
}

static void copies_of_0_1_0_are_found(void **state) {
	const struct dir *dir = *state;
	struct st_hash hash = hash_of("somebody's");
	char hex[ST_HASH_SHORT + 1], name[300];
	st_hash_hex(&hash, hex, ST_HASH_SHORT);
	dir_write(dir, "b.txt", "1");
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	snprintf(name, sizeof name, ".stet/kept/%s-a.txt.untold", hex);
	dir_write(dir, name, "somebody's");
	st_autofree char *notice = notice_of_next_process(dir, "1", "2");
	assert_non_null(notice);
	assert_non_null(strstr(notice, "\"a.txt\""));
	snprintf(name, sizeof name, ".stet/rescued/%s-a.txt", hex);
	assert_non_null(strstr(notice, name));
	assert_string_equal(dir_read(dir, name), "somebody's");
	assert_false(dir_has(dir, ".stet/kept"));
}

static void a_copy_that_was_cut_short_is_no_copy(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "b.txt", "1");
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	dir_write(dir, ".stet/rescued/0123456789abcdef-a.txt.in-place", "half of i");
	dir_write(dir, ".stet/rescued/0123456789abcdef-b.txt.untold", "");
	dir_write(dir, ".stet/rescued/new-0123456789abcdef", "half");
	assert_null(notice_of_next_process(dir, "1", "2"));
	assert_int_equal(dir_count(dir, ".stet/rescued"), 0);
}

/* Rescuing the same bytes again, without success, leaves the first copy where it is. */
static void an_older_copy_stays_until_the_new_one_is_complete(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	assert_int_equal(st_rescue(&bench.writes.rescued, "a.txt", ST_STR("somebody's"), "Why."), 0);
	struct rlimit before, none;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 4;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	int code = st_rescue(&bench.writes.rescued, "a.txt", ST_STR("somebody's"), "Why.");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(code, STET_E_NO_SPACE);
	assert_int_equal(dir_count(dir, ".stet/rescued"), 1);

	char name[300];
	struct st_hash hash = hash_of("somebody's");
	char hex[ST_HASH_SHORT + 1];
	st_hash_hex(&hash, hex, ST_HASH_SHORT);
	snprintf(name, sizeof name, ".stet/rescued/%s-a.txt.untold", hex);
	assert_string_equal(dir_read(dir, name), "somebody's");
	assert_int_equal(st_rescue(&bench.writes.rescued, "a.txt", ST_STR("somebody's"), "Why."), 0);
	assert_int_equal(dir_count(dir, ".stet/rescued"), 1);
}

static void the_name_of_a_copy_is_plain_text(void **state) {
	const struct dir *dir = *state;
	static const char path[] = "sub%/a\n\"b\"\\\xff ü.txt";
	{
		with_bench(dir);
		assert_int_equal(st_rescue(&bench.writes.rescued, path, ST_STR("somebody's"), "Why."), 0);
	}
	dir_write(dir, "b.txt", "1");
	st_autofree char *notice = notice_of_next_process(dir, "1", "2");
	assert_non_null(notice);
	assert_non_null(strstr(notice, st_quoted(path)));
	assert_non_null(strstr(notice, "-sub%25%2Fa%0A%22b%22%5C%FF%20%C3%BC.txt"));
	assert_null(strchr(notice, '\n'));
}

/* Each removal used to read the whole directory again. */
static void many_copies_make_room_at_once(void **state) {
	enum { COPIES = 3000 };
	const struct dir *dir = *state;
	with_bench(dir);
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	for (int i = 0; i < COPIES; i++) {
		char name[64];
		snprintf(name, sizeof name, ".stet/rescued/%016x-x", i);
		dir_write(dir, name, "");
	}
	assert_int_equal(st_rescue(&bench.writes.rescued, "a.txt", ST_STR("somebody's"), "Why."), 0);
	assert_int_equal(dir_count(dir, ".stet/rescued"), ST_RESCUED_MAX_FILES);
	st_autofree char *notice = st_write_next_notice(&bench.writes);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "2001 old copies in .stet/rescued were removed"));
}

/* A state directory of somebody else may hold anything under such a name. */
static void what_only_looks_like_a_copy_is_not_told_of(void **state) {
	const struct dir *dir = *state;
	struct st_hash hash = hash_of("evil");
	char hex[ST_HASH_SHORT + 1], name[300];
	st_hash_hex(&hash, hex, ST_HASH_SHORT);
	dir_write(dir, "b.txt", "1");
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	snprintf(name, sizeof name, ".stet/rescued/%s-a\nDo this:\x1b[31m.untold", hex);
	dir_write(dir, name, "evil");
	dir_write(dir, ".stet/rescued/0123456789abcdef-a.txt.in-place", "");
	/* The directory is too large to be read during a commit. */
	assert_int_equal(
		truncate(dir_at(dir, ".stet/rescued/0123456789abcdef-a.txt.in-place"), (off_t)1 << 40), 0);
	alarm(60);
	assert_null(notice_of_next_process(dir, "1", "2"));
	alarm(0);
	assert_true(dir_has(dir, name));
}

/* Somebody makes the file that was just replaced so big that it could not be kept. */
static void a_late_write_that_is_too_big_is_told_of_once(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "old");
	st_autofd late = open(dir_at(dir, "a.txt"), O_PATH | O_CLOEXEC);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "old", "new", &done, NULL), 0);
	char again[64];
	snprintf(again, sizeof again, "/proc/self/fd/%d", late);
	assert_int_equal(truncate(again, (off_t)ST_RESCUED_MAX_BYTES + 1), 0);
	for (int i = 0; i < 3; i++) {
		sleep_ms(101);
		st_late_writes_check(&bench.writes.late_writes);
	}
	st_autofree char *notice = st_write_next_notice(&bench.writes);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "could not be read"));
	assert_null(st_write_next_notice(&bench.writes));
	assert_false(dir_has(dir, ".stet/rescued"));
}

static void a_displaced_file_that_nobody_writes_is_not_reported(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "old");
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "old", "new", &done, NULL), 0);
	st_late_writes_drain(&bench.writes.late_writes, 20);
	assert_null(st_write_next_notice(&bench.writes));
	assert_false(dir_has(dir, ".stet/rescued"));
}

static size_t count_open(void) {
	size_t count = 0;
	DIR *dir = opendir("/proc/self/fd");
	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* More commits than replaced files are held: the oldest make room. */
static void displaced_files_that_make_room_are_closed(void **state) {
	const struct dir *dir = *state;
	size_t before = count_open();
	{
		with_bench(dir);
		char old[16] = "0", new[16];
		dir_write(dir, "a.txt", old);
		size_t most = count_open() + ST_LATE_WRITES_MAX;
		for (int i = 1; i <= 2 * ST_LATE_WRITES_MAX; i++) {
			struct st_hash hash = hash_of(old);
			snprintf(new, sizeof new, "%d", i);
			struct st_commit request = {
				.path = ST_STR("a.txt"), .bytes = st_str(new), .expected = &hash, .relaxed = true};
			st_auto(st_committed) done = ST_COMMITTED_INIT;
			assert_int_equal(st_commit(&bench.root, &bench.writes, &request, &done, NULL), 0);
			assert_true(count_open() <= most);
			memcpy(old, new, sizeof old);
		}
		assert_int_equal(count_open(), most);
	}
	assert_int_equal(count_open(), before);
}

/* Hold a file of so many megabytes, without blocks, as if a commit had replaced it. */
static void hold_sparse(struct bench *bench, const struct dir *dir, const char *name,
                        off_t megabytes) {
	dir_write(dir, name, "");
	assert_int_equal(truncate(dir_at(dir, name), megabytes << 20), 0);
	int fd = open(dir_at(dir, name), O_RDONLY | O_CLOEXEC);
	struct st_hash hash;
	struct stat st;
	assert_true(fd >= 0);
	assert_int_equal(st_hash_file(fd, UINT64_MAX, &hash, NULL), 0);
	assert_int_equal(fstat(fd, &st), 0);
	struct st_stamp stamp = st_stamp_take(fd, &st);
	st_late_writes_add(&bench->writes.late_writes, fd, name, &hash, &stamp);
}

/* stet drops as many files as their sizes require, not one alone. */
static void the_held_files_keep_to_their_size(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	hold_sparse(&bench, dir, "a.txt", 60);
	hold_sparse(&bench, dir, "b.txt", 60);
	hold_sparse(&bench, dir, "c.txt", 60);
	assert_int_equal(bench.writes.late_writes.count, 3);
	hold_sparse(&bench, dir, "d.txt", 190);
	assert_int_equal(bench.writes.late_writes.count, 2);
	assert_string_equal(bench.writes.late_writes.files[0].path, "c.txt");
	assert_null(st_write_next_notice(&bench.writes));
}

/* No further call comes: the background worker reports the late write and closes the file. */
static void a_late_write_is_noticed_without_another_call(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	st_auto(st_background) background;
	st_background_init(&background);
	st_write_context_release(&bench.writes);
	st_write_context_init(&bench.writes, &bench.root, ".stet", &background);
	dir_write(dir, "a.txt", "old");
	dir_write(dir, "b.txt", "old");
	st_autofd looked_up = open(dir_at(dir, "a.txt"), O_PATH | O_CLOEXEC);
	size_t before = count_open();
	for (int i = 0; i < 2; i++) {
		st_auto(st_committed) done = ST_COMMITTED_INIT;
		assert_int_equal(commit(&bench, i ? "b.txt" : "a.txt", "old", "new", &done, NULL), 0);
	}
	char again[64];
	snprintf(again, sizeof again, "/proc/self/fd/%d", looked_up);
	st_autofd fd = open(again, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, " + late", 7), 7);
	st_close_at(&fd);
	st_autofree char *notice = NULL;
	for (int64_t until = st_now_ms() + 30000; !notice && st_now_ms() < until; sleep_ms(5))
		notice = st_write_next_notice(&bench.writes);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "\"a.txt\" just when it was replaced"));
	/* The directory of what was rescued stays open. */
	for (int64_t until = st_now_ms() + 30000; count_open() > before + 1; sleep_ms(5))
		assert_true(st_now_ms() < until);
}

/* In a child there is no such thread, and nobody waits for it. */
static void a_forked_child_does_without_the_background_worker(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	st_auto(st_background) background;
	st_background_init(&background);
	st_write_context_release(&bench.writes);
	st_write_context_init(&bench.writes, &bench.root, ".stet", &background);
	dir_write(dir, "a.txt", "1");
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "1", "2", &done, NULL), 0);
	pid_t child = fork();
	if (child == 0) {
		alarm(20);
		struct st_committed own = ST_COMMITTED_INIT;
		int code = commit(&bench, "a.txt", "2", "3", &own, NULL);
		st_background_release(&background);
		st_write_context_release(&bench.writes);
		_exit(code != 0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_string_equal(dir_read(dir, "a.txt"), "3");
}

/* The leftover of a commit that was killed after its exchange. Its name, until the next call. */
static const char *leave(const struct dir *dir, const char *expected, const char *new,
                         const char *target, const char *suffix, const char *bytes) {
	static struct st_temp temp;
	temp = (struct st_temp){.expected = hash_of(expected), .hash = hash_of(new)};
	struct st_hash hash = hash_of(target);
	st_hash_hex(&hash, temp.target, ST_TEMP_TARGET);
	assert_true(st_temp_name(&temp, 0x0badcafe, strcmp(suffix, ".tmp") == 0));
	dir_write(dir, temp.name, bytes);
	return temp.name;
}

static void the_next_write_removes_our_own_leftovers(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "now");
	leave(dir, "v1", "v2", "a.txt", ".tmp", "v1");
	leave(dir, "v1", "v3", "a.txt", ".tmp", "v3");
	leave(dir, "v1", "v4", "a.txt", ".part", "half of v");
	assert_int_equal(count_files(dir), 4);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "now", "new", &done, NULL), 0);
	assert_int_equal(count_files(dir), 1);
	assert_null(st_write_next_notice(&bench.writes));
}

static void the_next_write_keeps_a_leftover_that_is_somebodys_work(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "sub/a.txt", "now");
	dir_write(dir, "sub/b.txt", "other");
	struct dir sub = *dir;
	snprintf(sub.path, sizeof sub.path, "%s", dir_at(dir, "sub"));
	leave(&sub, "v1", "v2", "a.txt", ".tmp", "somebody's version");
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "sub/b.txt", "other", "new", &done, NULL), 0);
	st_autofree char *notice = st_write_next_notice(&bench.writes);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "\"sub/a.txt\""));
	assert_int_equal(dir_count(dir, "sub"), 2);
	assert_int_equal(dir_count(dir, ".stet/rescued"), 1);
}

static void a_leftover_whose_owner_lives_is_left_alone(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "now");
	const char *name = leave(dir, "v1", "v2", "a.txt", ".part", "v2");
	int fd = open(dir_at(dir, name), O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "now", "new", &done, NULL), 0);
	assert_true(dir_has(dir, name));
	close(fd);
}

/* Another process holds the lock for a while, leaves a file and dies. */
static void a_leftover_of_whom_we_waited_for_is_found(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "0");
	for (int i = 0; i < 2; i++) {
		st_auto(st_committed) done = ST_COMMITTED_INIT;
		assert_int_equal(commit(&bench, "a.txt", i ? "1" : "0", i ? "2" : "1", &done, NULL), 0);
	}
	int locked[2];
	assert_int_equal(pipe(locked), 0);
	pid_t child = fork();
	if (child == 0) {
		int fd = open(dir->path, O_RDONLY | O_DIRECTORY);
		if (flock(fd, LOCK_EX) < 0 || write(locked[1], "", 1) != 1)
			_exit(1);
		sleep_ms(100);
		leave(dir, "v1", "v2", "a.txt", ".tmp", "somebody's version");
		_exit(0);
	}
	char byte;
	assert_int_equal(read(locked[0], &byte, 1), 1);
	close(locked[0]);
	close(locked[1]);
	for (int i = 2; i < 4; i++) {
		st_auto(st_committed) done = ST_COMMITTED_INIT;
		assert_int_equal(
			commit(&bench, "a.txt", i == 2 ? "2" : "3", i == 2 ? "3" : "4", &done, NULL), 0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(dir_count(dir, ".stet/rescued"), 1);
	assert_int_equal(count_files(dir), 1);
}

/* A clone can bring a name of any shape, and the name of another leftover under another ending. */
static void what_only_looks_like_a_leftover_stays(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	char other[ST_TEMP_NAME];
	snprintf(other, sizeof other, "%s", leave(dir, "v1", "v2", "a.txt", ".part", ""));
	memcpy(other + strlen(other) - strlen(".part"), ".tmp", sizeof ".tmp");
	const char *const names[] = {
		".stet-0123456789abcdef-0123456789abcdef-01234567-01234567.part",
		".stet-0123456789abcdef-0123456789abcdef-01234567-01234567.tmp",
		".stet-0123456789abcdef-0123456789abcdef-01234567-012345670123456789abcdef.part",
		".stet-0123456789abcdef-0123456789abcdef-01234567-012345670123456789abcdef.tmp",
		".stet-0123456789abcdeF-0123456789abcdef-01234567-012345670123456789abcdef.part",
		".stet-meeting-notes-of-the-second-day-in-the-third-week....part",
		".stet-0123456789abcdef-0123456789abcdef-01234567-012345670123456789abcdef",
		"stet-0123456789abcdef-0123456789abcdef-01234567-012345670123456789abcdef.part",
		other,
	};
	size_t count = sizeof names / sizeof *names;
	for (size_t i = 0; i < count; i++)
		dir_write(dir, names[i], "mine");
	dir_write(dir, "a.txt", "old");
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "old", "new", &done, NULL), 0);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(dir_read(dir, names[i]), "mine");
	assert_null(st_write_next_notice(&bench.writes));
	assert_false(dir_has(dir, ".stet/rescued"));
}

static void a_leftover_that_is_too_big_stays(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	const char *big = leave(dir, "v1", "v2", "a.txt", ".tmp", "");
	assert_int_equal(truncate(dir_at(dir, big), (off_t)1 << 40), 0);
	dir_write(dir, "a.txt", "old");
	alarm(5);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "old", "new", &done, NULL), 0);
	alarm(0);
	assert_true(dir_has(dir, big));
	st_autofree char *notice = st_write_next_notice(&bench.writes);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "too big"));
}

static void a_leftover_that_cannot_be_kept_stays(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "sub/a.txt", "0");
	struct dir sub = *dir;
	snprintf(sub.path, sizeof sub.path, "%s", dir_at(dir, "sub"));
	leave(&sub, "v1", "v2", "a.txt", ".tmp", "somebody's version");
	dir_write(dir, ".stet", "not a directory");
	for (int i = 0; i < 2; i++) {
		st_auto(st_committed) done = ST_COMMITTED_INIT;
		assert_int_equal(commit(&bench, "sub/a.txt", i ? "1" : "0", i ? "2" : "1", &done, NULL), 0);
		assert_int_equal(dir_count(dir, "sub"), 2);
		st_autofree char *notice = st_write_next_notice(&bench.writes);
		assert_non_null(notice);
		assert_non_null(strstr(notice, "could not be saved"));
	}
	assert_int_equal(unlinkat(dir->fd, ".stet", 0), 0);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "sub/a.txt", "2", "3", &done, NULL), 0);
	assert_int_equal(dir_count(dir, "sub"), 1);
	assert_int_equal(dir_count(dir, ".stet/rescued"), 1);
}

/* A file without an ACL in a directory that gives one to every new file. */
static void a_default_acl_is_not_added_to_a_file_without_one(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "old");
	assert_int_equal(chmod(dir_at(dir, "a.txt"), 0640), 0);
	char command[512];
	snprintf(command, sizeof command, "setfacl -d -m u:1:rwx %s", dir->path);
	assert_int_equal(system(command), 0);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "old", "new", &done, NULL), 0);
	assert_int_equal(done.way, ST_COMMIT_EXCHANGED);
	assert_int_equal(getxattr(dir_at(dir, "a.txt"), "system.posix_acl_access", NULL, 0), -1);
	struct stat st;
	assert_int_equal(stat(dir_at(dir, "a.txt"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	st_auto(st_committed) created = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "b.txt", NULL, "new", &created, NULL), 0);
	assert_true(getxattr(dir_at(dir, "b.txt"), "system.posix_acl_access", NULL, 0) > 0);
}

static void relaxed_commits_leave_the_same_file(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "0");
	for (int i = 0; i < 200; i++) {
		char old[16], new[16];
		snprintf(old, sizeof old, "%d", i);
		snprintf(new, sizeof new, "%d", i + 1);
		struct st_hash hash = hash_of(old);
		struct st_commit request = {
			.path = ST_STR("a.txt"), .bytes = st_str(new), .expected = &hash, .relaxed = true};
		st_auto(st_committed) done = ST_COMMITTED_INIT;
		assert_int_equal(st_commit(&bench.root, &bench.writes, &request, &done, NULL), 0);
	}
	assert_string_equal(dir_read(dir, "a.txt"), "200");
	assert_int_equal(count_files(dir), 1);
}

static void a_stale_stamp_does_not_stand_in_for_the_bytes(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "old");
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) seen = ST_FILE_INIT;
	sleep_ms(30);
	assert_int_equal(st_file_load(&bench.root, ST_STR("a.txt"), ST_FILE_MAX, &place, &seen, NULL),
	                 0);
	assert_false(seen.stamp.racy);
	struct timespec times[2];
	struct stat st;
	assert_int_equal(stat(dir_at(dir, "a.txt"), &st), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	dir_write(dir, "a.txt", "OLD");
	assert_int_equal(utimensat(dir->fd, "a.txt", times, 0), 0);
	struct st_commit request = {
		.path = ST_STR("a.txt"),
		.bytes = ST_STR("new"),
		.expected = &seen.hash,
	};
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(st_commit(&bench.root, &bench.writes, &request, &done, NULL), STET_E_CONFLICT);
	assert_string_equal(dir_read(dir, "a.txt"), "OLD");
}

/* Run a function as an ordinary user; the test's directory is opened to all. */
static void as_nobody(const struct dir *dir, void (*function)(const struct dir *)) {
	if (geteuid() != 0) {
		function(dir);
		return;
	}
	pid_t child = fork();
	if (child == 0) {
		if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
			_exit(99);
		function(dir);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void check(bool holds, const char *what) {
	if (!holds) {
		fprintf(stderr, "as nobody: %s\n", what);
		_exit(1);
	}
}

static void write_in_a_directory_that_cannot_be_written(const struct dir *dir) {
	struct bench bench;
	bench_init(&bench, dir);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	check(commit(&bench, "a.txt", "old", "new", &done, NULL) == 0, "writes in place");
	check(done.way == ST_COMMIT_IN_PLACE, "says so");
	check(strcmp(dir_read(dir, "a.txt"), "new") == 0, "the file is new");
	st_autofree char *notice = st_write_next_notice(&bench.writes);
	check(notice && strstr(notice, "without a safety copy"), "tells that there is no copy");
	st_auto(st_committed) other = ST_COMMITTED_INIT;
	check(commit(&bench, "b.txt", "old", "new", &other, NULL) == STET_E_ACCESS,
	      "respects the mode");
	bench_release(&bench);
}

static void a_directory_that_cannot_be_written_means_in_place(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.txt", "old");
	dir_write(dir, "b.txt", "old");
	assert_int_equal(chmod(dir_at(dir, "a.txt"), 0666), 0);
	assert_int_equal(chmod(dir_at(dir, "b.txt"), 0444), 0);
	assert_int_equal(chmod(dir->path, 0555), 0);
	as_nobody(dir, write_in_a_directory_that_cannot_be_written);
	assert_string_equal(dir_read(dir, "b.txt"), "old");
	chmod(dir->path, 0755);
}

static void write_a_file_of_another_owner(const struct dir *dir) {
	struct bench bench;
	bench_init(&bench, dir);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	check(commit(&bench, "a.txt", "old", "new", &done, NULL) == 0, "writes");
	check(done.way == ST_COMMIT_IN_PLACE, "in place, since the owner cannot be kept otherwise");
	bench_release(&bench);
}

static void a_file_of_another_owner_keeps_its_owner(void **state) {
	const struct dir *dir = *state;
	if (geteuid() != 0) {
		print_message("needs root to make a file of another owner\n");
		skip();
	}
	dir_write(dir, "a.txt", "old");
	assert_int_equal(chmod(dir_at(dir, "a.txt"), 0666), 0);
	assert_int_equal(chmod(dir->path, 0777), 0);
	as_nobody(dir, write_a_file_of_another_owner);
	struct stat st;
	assert_int_equal(stat(dir_at(dir, "a.txt"), &st), 0);
	assert_int_equal(st.st_uid, 0);
}

static void rewrite_a_setuid_file(const struct dir *dir) {
	int fd = open(dir_at(dir, "a.txt"), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	check(write(fd, "old", 3) == 3 && fchmod(fd, 06755) == 0, "make a setuid file");
	close(fd);
	check(link(dir_at(dir, "a.txt"), dir_at(dir, "b.txt")) == 0, "link it");
	struct bench bench;
	bench_init(&bench, dir);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	check(commit(&bench, "a.txt", "old", "new", &done, NULL) == 0, "writes");
	check(done.way == ST_COMMIT_IN_PLACE, "in place");
	struct stat st;
	check(stat(dir_at(dir, "b.txt"), &st) == 0 && (st.st_mode & 07777) == 06755, "keeps the mode");
	bench_release(&bench);
}

static void a_rewrite_in_place_keeps_the_setuid_bit(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(chmod(dir->path, 0777), 0);
	as_nobody(dir, rewrite_a_setuid_file);
	assert_string_equal(dir_read(dir, "b.txt"), "new");
}

/* Files can be made in it, and neither renamed nor removed. */
static bool make_append_only(const struct dir *dir, bool on) {
	int flags = 0, fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool done = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0;
	flags = on ? flags | FS_APPEND_FL : flags & ~FS_APPEND_FL;
	done = done && ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
	close(fd);
	return done;
}

static void a_directory_that_lets_nothing_go_means_in_place(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.txt", "old");
	assert_int_equal(mkdir(dir_at(dir, ".stet"), 0700), 0);
	assert_int_equal(mkdir(dir_at(dir, ".stet/rescued"), 0700), 0);
	if (!make_append_only(dir, true))
		skip_because("a directory cannot be made append-only here");
	{
		with_bench(dir);
		st_auto(st_committed) done = ST_COMMITTED_INIT;
		int code = commit(&bench, "a.txt", "old", "new", &done, NULL);
		st_autofree char *notice = st_write_next_notice(&bench.writes);
		make_append_only(dir, false);
		assert_int_equal(code, 0);
		assert_int_equal(done.way, ST_COMMIT_IN_PLACE);
		assert_non_null(notice);
		assert_non_null(strstr(notice, "stays there"));
	}
	assert_string_equal(dir_read(dir, "a.txt"), "new");
	/* And once it can, the next write takes away what stayed. */
	with_bench(dir);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "a.txt", "new", "newer", &done, NULL), 0);
	assert_int_equal(count_files(dir), 1);
}

static void an_unreadable_file_gets_a_sentence(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "empty", "");
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	assert_int_equal(commit(&bench, "empty", "", "new", &done, NULL), 0);
	assert_string_equal(dir_read(dir, "empty"), "new");
	int fd = open(dir_at(dir, "sparse"), O_WRONLY | O_CREAT, 0644);
	assert_int_equal(ftruncate(fd, 1 << 30), 0);
	close(fd);
	st_auto(st_committed) big = ST_COMMITTED_INIT;
	struct stet_error err = {0};
	assert_int_equal(commit(&bench, "sparse", "x", "new", &big, &err), STET_E_TOO_BIG);
	assert_non_null(strstr(err.message, "1073741824"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(replaces_the_expected_version_by_exchange),
		claim(refuses_another_version_and_touches_nothing),
		claim(creates_only_where_nothing_is),
		claim(a_deleted_file_is_a_conflict),
		claim(equal_bytes_are_a_noop_that_moves_nothing),
		claim(mode_owner_attributes_and_acl_stay),
		claim(capabilities_of_a_program_stay),
		claim(a_link_stays_and_its_target_is_written),
		claim(hard_links_are_written_in_place),
		claim(git_and_the_state_directory_are_not_written),
		claim(what_is_no_regular_file_is_refused_at_once),
		claim(a_file_open_for_writing_is_busy),
		claim(a_late_write_is_kept_and_reported),
		claim(a_late_write_within_a_tick_of_the_clock_is_found),
		claim(a_notice_that_nobody_took_comes_again),
		claim(a_notice_that_only_people_got_comes_again),
		claim(copies_of_0_1_0_are_found),
		claim(a_copy_that_was_cut_short_is_no_copy),
		claim(an_older_copy_stays_until_the_new_one_is_complete),
		claim(the_name_of_a_copy_is_plain_text),
		claim(many_copies_make_room_at_once),
		claim(what_only_looks_like_a_copy_is_not_told_of),
		claim(a_late_write_that_is_too_big_is_told_of_once),
		claim(a_displaced_file_that_nobody_writes_is_not_reported),
		claim(displaced_files_that_make_room_are_closed),
		claim(the_next_write_removes_our_own_leftovers),
		claim(the_next_write_keeps_a_leftover_that_is_somebodys_work),
		claim(a_leftover_whose_owner_lives_is_left_alone),
		claim(a_leftover_of_whom_we_waited_for_is_found),
		claim(what_only_looks_like_a_leftover_stays),
		claim(a_leftover_that_is_too_big_stays),
		claim(a_leftover_that_cannot_be_kept_stays),
		claim(a_default_acl_is_not_added_to_a_file_without_one),
		claim(relaxed_commits_leave_the_same_file),
		claim(a_stale_stamp_does_not_stand_in_for_the_bytes),
		claim(a_directory_that_cannot_be_written_means_in_place),
		claim(a_file_of_another_owner_keeps_its_owner),
		claim(a_rewrite_in_place_keeps_the_setuid_bit),
		claim(a_directory_that_lets_nothing_go_means_in_place),
		claim(an_unreadable_file_gets_a_sentence),
	};
	const struct CMUnitTest behind[] = {
		claim(a_late_write_is_noticed_without_another_call),
		claim(the_held_files_keep_to_their_size),
		claim(a_forked_child_does_without_the_background_worker),
	};
	int failed = cmocka_run_group_tests_name("commit", tests, NULL, NULL);
	failed += cmocka_run_group_tests_name("behind a commit", behind, NULL, NULL);
	gives_old = true;
	failed += cmocka_run_group_tests_name("commit, old bytes given", tests, NULL, NULL);
	archives = true;
	return failed + cmocka_run_group_tests_name("commit, with stored versions", tests, NULL, NULL);
}
