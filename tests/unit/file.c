/* Hashes, stamps, and reading one version of a file while others are at it. Oracle: sha256sum. */
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "fs/file/file.h"
#include "lib/child.h"
#include "lib/run.h"
#include "lib/test.h"

/* The file "a" below the test's directory, as it is now. */
static int load(const struct dir *dir, struct st_file *file, struct stet_error *err) {
	struct st_root root;
	assert_int_equal(st_root_open(&root, dir->path, NULL), 0);
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_file_load(&root, ST_STR("a"), ST_FILE_MAX, &place, file, err);
	st_root_release(&root);
	return code;
}

static struct st_stamp stamp_of(const struct dir *dir, const char *name) {
	int fd = open(dir_at(dir, name), O_RDONLY | O_CLOEXEC);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	struct st_stamp stamp = st_stamp_take(fd, &st);
	close(fd);
	return stamp;
}

static void set_mtime(const struct dir *dir, const char *name, struct timespec mtime) {
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, mtime};
	assert_int_equal(utimensat(AT_FDCWD, dir_at(dir, name), times, 0), 0);
}

static struct timespec mtime_of(const struct dir *dir, const char *name) {
	struct stat st;
	assert_int_equal(stat(dir_at(dir, name), &st), 0);
	return st.st_mtim;
}

/* ---- hashes ---- */

static void the_hash_is_that_of_sha256sum(void **state) {
	const struct dir *dir = *state;
	static const size_t sizes[] = {0,   1,    55,    56,    63,    64,     65,
	                               119, 4096, 65535, 65536, 65537, 3000000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		unsigned char *bytes = malloc(sizes[i] + 1);
		for (size_t j = 0; j < sizes[i]; j++)
			bytes[j] = (unsigned char)(j * 131 >> 3);
		dir_write_bytes(dir, "a", bytes, sizes[i]);
		free(bytes);

		st_auto(st_file) file = ST_FILE_INIT;
		assert_int_equal(load(dir, &file, NULL), 0);
		assert_int_equal(file.bytes.len, sizes[i]);
		char hex[ST_HASH_HEX + 1];
		st_hash_hex(&file.hash, hex, ST_HASH_HEX);
		st_auto(st_buf) output = ST_BUF_INIT;
		assert_int_equal(run(dir, &output, (const char *[]){"sha256sum", "a", NULL}), 0);
		assert_true(st_str_starts(st_buf_str(&output), st_str(hex)));
	}
}

static void a_file_is_hashed_in_pieces(void **state) {
	const struct dir *dir = *state;
	static const size_t sizes[] = {0, 1, 32767, 32768, 32769, 100000};
	static char bytes[100000];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 7 % 251);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct st_hash whole, pieces;
		dir_write_bytes(dir, "a", bytes, sizes[i]);
		st_autofd fd = open(dir_at(dir, "a"), O_RDONLY | O_CLOEXEC);
		assert_int_equal(st_hash_of(st_strn(bytes, sizes[i]), &whole, NULL), 0);
		assert_int_equal(st_hash_file(fd, sizes[i], &pieces, NULL), 0);
		assert_true(st_hash_eq(&whole, &pieces));
		if (sizes[i] > 0)
			assert_int_equal(st_hash_file(fd, sizes[i] - 1, &pieces, NULL), STET_E_TOO_BIG);
	}
	struct st_hash hash;
	assert_int_equal(st_hash_file(dir->fd, 1, &hash, NULL), STET_E_KIND);
}

/* A hash that no bytes have shows whose hash it is. */
static void only_equal_bytes_have_a_known_hash(void **state) {
	const struct dir *dir = *state;
	const struct st_known known = {ST_STR("as it was"), {.bytes = {1, 2, 3}}};
	static const char *const texts[] = {"as it was", "as it is!", "as it was once", ""};
	struct st_root root;
	assert_int_equal(st_root_open(&root, dir->path, NULL), 0);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		dir_write(dir, "a", texts[i]);
		st_auto(st_place) place = ST_PLACE_INIT;
		st_auto(st_file) file = ST_FILE_INIT;
		struct st_hash hash;
		assert_int_equal(
			st_file_load_known(&root, ST_STR("a"), ST_FILE_MAX, &known, &place, &file, NULL), 0);
		assert_int_equal(st_hash_of(st_str(texts[i]), &hash, NULL), 0);
		assert_true(st_hash_eq(&file.hash, i == 0 ? &known.hash : &hash));
	}
	st_root_release(&root);
}

static void a_hash_matches_by_its_first_digits(void **state) {
	(void)state;
	struct st_hash hash;
	char hex[ST_HASH_HEX + 1], text[ST_HASH_HEX + 2];
	assert_int_equal(st_hash_of(ST_STR("abc"), &hash, NULL), 0);
	st_hash_hex(&hash, hex, ST_HASH_HEX);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	for (size_t len = 0; len <= ST_HASH_HEX; len++) {
		struct stet_error err = {0};
		int expected = len < 16 ? STET_E_INVALID : 1;
		assert_int_equal(st_hash_matches(&hash, st_strn(hex, len), &err), expected);
		if (len < 16)
			continue;
		for (size_t i = 0; i < len; i++) {
			memcpy(text, hex, sizeof hex);
			text[i] = hex[i] == '0' ? '1' : '0';
			assert_int_equal(st_hash_matches(&hash, st_strn(text, len), NULL), 0);
			text[i] = "g/:@`G "[i % 7];
			assert_int_equal(st_hash_matches(&hash, st_strn(text, len), &err), STET_E_INVALID);
			assert_non_null(strstr(err.message, "hex digits"));
		}
	}
	for (size_t i = 0; i < ST_HASH_HEX; i++)
		text[i] = hex[i] >= 'a' ? (char)(hex[i] - 'a' + 'A') : hex[i];
	assert_int_equal(st_hash_matches(&hash, st_strn(text, ST_HASH_HEX), NULL), 1);
	snprintf(text, sizeof text, "%s0", hex);
	assert_int_equal(st_hash_matches(&hash, st_strn(text, 65), NULL), STET_E_INVALID);
	assert_int_equal(st_hash_matches(&hash, st_strn("ba7816bf8f01cfe\0", 16), NULL),
	                 STET_E_INVALID);
	assert_int_equal(st_hash_matches(&hash, ST_STR("0xba7816bf8f01cfea"), NULL), STET_E_INVALID);
}

/* ---- stamps ---- */

static void a_stamp_tells_the_same_size_with_mtime_put_back(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a", "one");
	sleep_ms(20);
	struct st_stamp before = stamp_of(dir, "a");
	struct timespec mtime = mtime_of(dir, "a");
	dir_write(dir, "a", "two");
	set_mtime(dir, "a", mtime);
	struct st_stamp after = stamp_of(dir, "a");
	assert_int_equal(before.mtime_ns, after.mtime_ns);
	assert_false(st_stamp_eq(&before, &after));
	assert_true(st_stamp_eq_content(&before, &after));
}

static void a_stamp_tells_a_rename_over_with_equal_mtime(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a", "one");
	dir_write(dir, "b", "two");
	set_mtime(dir, "b", mtime_of(dir, "a"));
	struct st_stamp before = stamp_of(dir, "a");
	assert_int_equal(renameat(dir->fd, "b", dir->fd, "a"), 0);
	struct st_stamp after = stamp_of(dir, "a");
	assert_int_equal(before.mtime_ns, after.mtime_ns);
	assert_false(st_stamp_eq(&before, &after));
	assert_false(st_stamp_eq_content(&before, &after));
}

static void a_stamp_tells_a_reused_inode(void **state) {
	const struct dir *dir = *state;
	int reused = 0;
	for (int i = 0; i < 50; i++) {
		dir_write(dir, "a", "one");
		struct st_stamp before = stamp_of(dir, "a");
		struct timespec mtime = mtime_of(dir, "a");
		assert_int_equal(unlinkat(dir->fd, "a", 0), 0);
		dir_write(dir, "a", "two");
		set_mtime(dir, "a", mtime);
		struct st_stamp after = stamp_of(dir, "a");
		reused += before.ino == after.ino;
		/* Within a tick of the clock only the flag tells. */
		assert_true(before.racy || !st_stamp_eq(&before, &after));
	}
	print_message("%d of 50 inodes were used again\n", reused);
}

static void a_stamp_is_not_racy_for_long(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a", "one");
	sleep_ms(30);
	assert_false(stamp_of(dir, "a").racy);
}

/*
 * The racy rule promises that a stamp that is not racy is never wrong. Counts how
 * many stamps were racy, and how many writes did not change them.
 */
struct tally {
	int racy;
	int unmoved;
	int hidden;
};

static struct tally write_and_stamp(const struct dir *dir, const char *name, int count) {
	int fd = open(dir_at(dir, name), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct tally tally = {0};
	for (int i = 0; i < count; i++) {
		struct stat first, second;
		char before = (char)('a' + i % 26), after = (char)('A' + i % 26);
		hold(pwrite(fd, &before, 1, 0) == 1, "write");
		if (i % 100 == 0)
			sleep_ms(12);
		hold(fstat(fd, &first) == 0, "look");
		struct st_stamp stamp = st_stamp_take(fd, &first);
		hold(pwrite(fd, &after, 1, 0) == 1 && fstat(fd, &second) == 0, "write and look");
		struct st_stamp now = st_stamp_take(fd, &second);
		bool unmoved = st_stamp_eq(&stamp, &now);
		tally.racy += stamp.racy;
		tally.unmoved += unmoved;
		tally.hidden += unmoved && !stamp.racy;
	}
	close(fd);
	print_message("%d of %d stamps were racy, %d writes did not move them\n", tally.racy, count,
	              tally.unmoved);
	return tally;
}

static void no_write_hides_behind_a_stamp_that_is_not_racy(void **state) {
	assert_int_equal(write_and_stamp(*state, "a", 3000).hidden, 0);
}

/* A ramfs has the times of the clock's ticks, on any kernel. */
static void use_a_ramfs(const struct dir *dir) {
	hold(mkdir(dir_at(dir, "mount"), 0755) == 0, "make a mount point");
	if (mount("ramfs", dir_at(dir, "mount"), "ramfs", 0, NULL) < 0)
		child_skip("a ramfs cannot be mounted here");
	dir_write(dir, "mount/a", "one");
	hold(stamp_of(dir, "mount/a").racy, "racy right after a write");
	sleep_ms(30);
	hold(!stamp_of(dir, "mount/a").racy, "but not for long");
	set_mtime(dir, "mount/a", (struct timespec){.tv_sec = 1000000000});
	struct st_stamp stamp = stamp_of(dir, "mount/a");
	hold(stamp.racy, "racy by ctime when mtime was put back");
	hold(!st_stamp_written_just_now(-1, &stamp), "which is no recent write");
	struct tally tally = write_and_stamp(dir, "mount/b", 3000);
	hold(tally.hidden == 0, "no write hides");
	hold(tally.racy > 0 && tally.racy < 3000, "some are racy, some are not");
	hold(tally.unmoved > 0, "and the flag is needed");
}

static void the_same_where_times_move_with_the_clock(void **state) {
	child_with_mounts(*state, use_a_ramfs);
}

/* Old and small ext filesystems have room for whole seconds only. */
static void use_an_ext4_of_whole_seconds(const struct dir *dir) {
	dir_write(dir, "image", "");
	hold(truncate(dir_at(dir, "image"), 8 << 20) == 0 && mkdir(dir_at(dir, "mount"), 0755) == 0,
	     "prepare");
	if (run(dir, NULL, (const char *[]){"/sbin/mkfs.ext4", "-q", "-I", "128", "image", NULL}) !=
	        0 ||
	    run(dir, NULL, (const char *[]){"mount", "-o", "loop", "image", "mount", NULL}) != 0)
		child_skip("an ext4 image cannot be mounted here");
	struct tally tally = write_and_stamp(dir, "mount/a", 300);
	hold(tally.unmoved > 0, "times stand still for a second");
	hold(tally.hidden == 0, "no write hides");
	sleep_ms(2100);
	hold(!stamp_of(dir, "mount/a").racy, "a file at rest is not racy");
	run(dir, NULL, (const char *[]){"umount", "mount", NULL});
}

static void the_same_where_times_are_whole_seconds(void **state) {
	child_with_mounts(*state, use_an_ext4_of_whole_seconds);
}

static void years_far_away_are_told_apart(void **state) {
	const struct dir *dir = *state;
	static const int64_t seconds[] = {-1, 0, 1, 4102444800, 9223372036, 9223372037, 13569465600};
	dir_write(dir, "a", "one");
	struct st_stamp last = stamp_of(dir, "a");
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
		set_mtime(dir, "a", (struct timespec){.tv_sec = seconds[i], .tv_nsec = 999999999});
		if (mtime_of(dir, "a").tv_sec != seconds[i]) {
			print_message("this filesystem does not know second %lld\n", (long long)seconds[i]);
			break;
		}
		struct st_stamp stamp = stamp_of(dir, "a");
		assert_int_not_equal(stamp.mtime_ns, last.mtime_ns);
		last = stamp;
	}
}

/* ---- reading ---- */

static void a_version_at_rest_has_its_stamp(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a", "one");
	assert_int_equal(chmod(dir_at(dir, "a"), 0640), 0);
	sleep_ms(20);
	st_auto(st_file) file = ST_FILE_INIT;
	assert_int_equal(load(dir, &file, NULL), 0);
	assert_true(file.stamped);
	assert_false(file.stamp.racy);
	assert_int_equal(file.mode, S_IFREG | 0640);
	assert_int_equal(file.links, 1);
	struct st_stamp stamp = stamp_of(dir, "a");
	assert_true(st_stamp_eq(&file.stamp, &stamp));
}

/* A child that does something to the file for as long as it lives. */
static pid_t start(const struct dir *dir, void (*function)(const struct dir *)) {
	int ready[2];
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ready[1], "", 1) == 1)
			function(dir);
		_exit(0);
	}
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void stop(pid_t child) {
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* One letter per write, so that a version is whole if its letters are in order. */
static void grow(const struct dir *dir) {
	for (;;) {
		int fd = open(dir_at(dir, "a"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		for (int i = 0; i < 4000; i++) {
			char chunk[16];
			memset(chunk, 'a' + i % 26, sizeof chunk);
			if (write(fd, chunk, sizeof chunk) != sizeof chunk)
				_exit(1);
		}
		close(fd);
	}
}

static void a_growing_file_is_read_as_far_as_it_went(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a", "");
	pid_t child = start(dir, grow);
	int stamped = 0;
	for (int i = 0; i < 1000; i++) {
		st_auto(st_file) file = ST_FILE_INIT;
		assert_int_equal(load(dir, &file, NULL), 0);
		stamped += file.stamped;
		if (!file.stamped)
			continue;
		assert_int_equal(file.bytes.len, file.stamp.size);
		for (size_t j = 0; j < file.bytes.len; j++)
			assert_int_equal(file.bytes.ptr[j], 'a' + j / 16 % 26);
	}
	stop(child);
	print_message("%d of 1000 reads met the file at rest\n", stamped);
}

static void a_file_that_grows_beyond_the_limit_is_too_big(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a", "0123456789");
	int fd = open(dir_at(dir, "a"), O_RDONLY | O_CLOEXEC);
	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error err = {0};
	assert_int_equal(st_file_read(fd, "a", 10, &file, &err), 0);
	assert_int_equal(st_file_read(fd, "a", 9, &file, &err), STET_E_TOO_BIG);
	close(fd);
	/* /proc says that its files are empty, and they are not. */
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	assert_int_equal(st_file_read(fd, "maps", 64, &file, &err), STET_E_TOO_BIG);
	assert_int_equal(st_file_read(fd, "maps", ST_FILE_MAX, &file, &err), 0);
	assert_true(file.bytes.len > 64);
	close(fd);
}

/* ---- leases ---- */

/* Holds a write lease and does not give it up until the kernel takes it away. */
static void hold_lease(const struct dir *dir) {
	signal(SIGIO, SIG_IGN);
	int fd = open(dir_at(dir, "a"), O_RDWR | O_CLOEXEC);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		_exit(1);
	dir_write(dir, "held", "");
	for (;;)
		pause();
}

static void a_file_that_another_process_keeps_to_itself_is_busy(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a", "one");
	pid_t child = start(dir, hold_lease);
	for (int i = 0; i < 1000 && !dir_has(dir, "held"); i++)
		sleep_ms(1);
	assert_true(dir_has(dir, "held"));

	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error err = {0};
	int64_t started = st_now_ms();
	int code = load(dir, &file, &err);
	int64_t taken = st_now_ms() - started;
	stop(child);
	assert_int_equal(code, STET_E_BUSY);
	assert_non_null(strstr(err.message, "another process"));
	assert_true(taken < 2000);
	assert_int_equal(load(dir, &file, &err), 0);
	assert_string_equal(file.bytes.ptr, "one");
}

/* As that of files which the kernel makes up, and of some network filesystems. */
static void a_size_that_is_not_the_contents_is_not_believed(void **state) {
	(void)state;
	st_auto(st_file) file = ST_FILE_INIT;
	st_autofd fd = open("/proc/version", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		skip_because("there is no /proc");
	assert_false(st_file_is(fd, ST_STR(""), &file));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(the_hash_is_that_of_sha256sum),
		claim(a_file_is_hashed_in_pieces),
		claim(only_equal_bytes_have_a_known_hash),
		cmocka_unit_test(a_hash_matches_by_its_first_digits),
		claim(a_stamp_tells_the_same_size_with_mtime_put_back),
		claim(a_stamp_tells_a_rename_over_with_equal_mtime),
		claim(a_stamp_tells_a_reused_inode),
		claim(a_stamp_is_not_racy_for_long),
		claim(no_write_hides_behind_a_stamp_that_is_not_racy),
		claim(the_same_where_times_move_with_the_clock),
		claim(the_same_where_times_are_whole_seconds),
		claim(years_far_away_are_told_apart),
		claim(a_version_at_rest_has_its_stamp),
		claim(a_growing_file_is_read_as_far_as_it_went),
		claim(a_file_that_grows_beyond_the_limit_is_too_big),
		claim(a_file_that_another_process_keeps_to_itself_is_busy),
		claim(a_size_that_is_not_the_contents_is_not_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
