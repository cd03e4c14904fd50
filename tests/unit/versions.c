/*
 * Earlier versions of files: they come back as they were or not at all, and take no
 * more room than they may.
 */
#include "fs/versions/versions.h"

#include <limits.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "fs/write/commit.h"
#include "fs/versions/late_writes.h"
#include "fs/path/sys.h"
#include "lib/bench.h"
#include "lib/child.h"

/* The file in each directory of versions that says how full it is. */
enum { ROOM = 1 };

/* Where the version of a text is, or would be. */
static const char *place_of(const char *kind, const char *text) {
	static char path[PATH_MAX];
	char hex[ST_HASH_HEX + 1];
	struct st_hash hash = hash_of(text);
	st_hash_hex(&hash, hex, ST_HASH_HEX);
	snprintf(path, sizeof path, ".stet/%s/%s", kind, hex);
	return path;
}

static bool put(struct bench *bench, const char *text) {
	struct st_hash hash = hash_of(text);
	return st_versions_put(&bench->writes.versions, &hash, st_str(text));
}

static bool has(struct bench *bench, const char *text) {
	struct st_hash hash = hash_of(text);
	st_auto(st_buf) bytes = ST_BUF_INIT;
	bool found = st_versions_get(&bench->writes.versions, &hash, &bytes);
	if (found)
		assert_string_equal(st_buf_cstr(&bytes), text);
	return found;
}

/* Replace a.txt. */
static int try_replace(struct bench *bench, const char *old, const char *new, bool *stored) {
	struct st_hash hash = hash_of(old);
	const struct st_commit request = {.path = ST_STR("a.txt"),
	                                  .bytes = st_str(new),
	                                  .expected = &hash,
	                                  .archive = true,
	                                  .relaxed = true};
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	int code = st_commit(&bench->root, &bench->writes, &request, &done, NULL);
	if (stored)
		*stored = done.archived;
	return code;
}

/* Whether the old version is among the moved files. */
static bool replace(struct bench *bench, const char *old, const char *new) {
	bool stored;
	assert_int_equal(try_replace(bench, old, new, &stored), 0);
	return stored;
}

/* A text of a thousand bytes. */
static const char *text_no(int number) {
	static char text[1001];
	memset(text, ' ', sizeof text - 1);
	text[snprintf(text, sizeof text, "number %d", number)] = ' ';
	return text;
}

static void mount_small_disk(const struct dir *dir, struct dir *disk) {
	snprintf(disk->path, sizeof disk->path, "%.200s/mount", dir->path);
	hold(mkdir(disk->path, 0755) == 0, "make a mount point");
	if (mount("tmpfs", disk->path, "tmpfs", 0, "size=128k") < 0)
		child_skip("a tmpfs cannot be mounted here");
	disk->fd = open(disk->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void a_replaced_file_comes_back(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "old");
	assert_true(replace(&bench, "old", "new"));
	assert_string_equal(dir_read(dir, "a.txt"), "new");
	assert_string_equal(dir_read(dir, place_of("moved", "old")), "old");
	assert_int_equal(dir_count(dir, "."), 2);
	assert_true(has(&bench, "old"));
	assert_false(has(&bench, "new"));

	assert_true(st_versions_archive(&bench.writes.versions));
	assert_false(st_versions_archive(&bench.writes.versions));
	assert_int_equal(dir_count(dir, ".stet/moved"), ROOM + 0);
	assert_true(has(&bench, "old"));
}

static void an_archived_version_takes_less_room(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	static char text[100001];
	for (size_t i = 0; i + 10 < sizeof text; i += 10)
		snprintf(text + i, 11, "line %04zu\n", i / 10 % 5000);
	assert_true(put(&bench, text));
	struct stat st;
	assert_int_equal(stat(dir_at(dir, place_of("versions", text)), &st), 0);
	assert_in_range(st.st_size, 1, sizeof text / 3);
	assert_true(has(&bench, text));
}

/* Compression leaves short texts as they are, and whatever it cannot make shorter. */
static void a_search_does_not_find_archived_text(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	static const char *const texts[] = {
		"x",
		"conspicuous",
		"int conspicuous(void);\n",
		"une phrase tr\u00e8s conspicuous, \u6ce8\u610f\n",
		"conspicuous 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ "
		"!$%&/()=?*+-.,;:<>|{}[]~\n",
	};
	char command[PATH_MAX + 64];
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		assert_true(put(&bench, texts[i]));
		assert_true(has(&bench, texts[i]));
	}
	snprintf(command, sizeof command,
	         "LC_ALL=C grep -rqF -e conspicuous -e '%s' '%s/.stet/versions'", "\u6ce8\u610f",
	         dir->path);
	assert_int_equal(WEXITSTATUS(system(command)), 1);
	assert_true(put(&bench, ""));
	assert_true(has(&bench, ""));
}

/* A version as stet 0.1.0 stored it. */
static void put_as_0_1_0(const struct dir *dir, const char *name, struct st_str bytes) {
	static char inverted[4096];
	assert_true(bytes.len <= sizeof inverted);
	for (size_t i = 0; i < bytes.len; i++)
		inverted[i] = (char)~bytes.ptr[i];
	dir_write_bytes(dir, name, inverted, bytes.len);
}

static void versions_of_0_1_0_can_be_read(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	assert_true(put(&bench, "other"));
	/* The last one begins as a frame of zstd does. */
	static const char *const texts[] = {"", "old text\n", "\x28\xb5\x2f\xfd and no more"};
	/* This one is a frame, of "frame". */
	static const char frame[] =
		"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00"
		"frame";
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		put_as_0_1_0(dir, place_of("versions", texts[i]), st_str(texts[i]));
		assert_true(has(&bench, texts[i]));
	}
	struct st_hash hash;
	char path[PATH_MAX], hex[ST_HASH_HEX + 1];
	st_auto(st_buf) bytes = ST_BUF_INIT;
	assert_int_equal(st_hash_of(st_strn(frame, sizeof frame - 1), &hash, NULL), 0);
	st_hash_hex(&hash, hex, ST_HASH_HEX);
	snprintf(path, sizeof path, ".stet/versions/%s", hex);
	put_as_0_1_0(dir, path, st_strn(frame, sizeof frame - 1));
	assert_true(st_versions_get(&bench.writes.versions, &hash, &bytes));
	assert_true(st_str_eq(st_buf_str(&bytes), st_strn(frame, sizeof frame - 1)));
	/* The same bytes under the name of their content. */
	put_as_0_1_0(dir, place_of("versions", "frame"), st_strn(frame, sizeof frame - 1));
	assert_true(has(&bench, "frame"));
}

/* A frame of 9 bytes that says it is one of 2^60 bytes. */
static void a_version_that_claims_to_be_huge_is_none(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	static const char huge[] = "\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x10\x01\0\0";
	assert_true(put(&bench, "other"));
	put_as_0_1_0(dir, place_of("versions", "old"), st_strn(huge, sizeof huge - 1));
	assert_false(has(&bench, "old"));
	assert_false(dir_has(dir, place_of("versions", "old")));
}

static void what_is_spoilt_is_no_version(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "old");
	assert_true(replace(&bench, "old", "new"));
	dir_write(dir, place_of("moved", "old"), "OLD");
	assert_false(has(&bench, "old"));
	assert_false(dir_has(dir, place_of("moved", "old")));
	assert_true(put(&bench, "old"));
	assert_true(has(&bench, "old"));
	dir_write(dir, place_of("versions", "old"), "half");
	assert_false(has(&bench, "old"));
	assert_true(put(&bench, "old"));
	assert_true(has(&bench, "old"));

	/* Nor does it get among the versions. */
	assert_true(replace(&bench, "new", "newer"));
	dir_write(dir, place_of("moved", "new"), "not it");
	assert_true(st_versions_archive(&bench.writes.versions));
	assert_false(has(&bench, "new"));
	assert_int_equal(dir_count(dir, ".stet/moved"), ROOM + 0);
}

/*
 * A late writer may leave anything in a moved file; the files after it are archived all
 * the same.
 */
static void what_cannot_be_read_is_in_nobodys_way(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "0");
	for (int i = 0; i < 8; i++) {
		char old[16], new[16];
		snprintf(old, sizeof old, "%d", i);
		snprintf(new, sizeof new, "%d", i + 1);
		assert_true(replace(&bench, old, new));
		if (i == 3)
			assert_int_equal(truncate(dir_at(dir, place_of("moved", old)), 1 << 30), 0);
		if (i == 5) {
			assert_int_equal(unlink(dir_at(dir, place_of("moved", old))), 0);
			assert_int_equal(symlinkat("a.txt", dir->fd, place_of("moved", old)), 0);
		}
	}
	while (st_versions_archive(&bench.writes.versions))
		continue;
	assert_int_equal(dir_count(dir, ".stet/moved"), ROOM + 0);
	assert_int_equal(dir_count(dir, ".stet/versions"), ROOM + 6);
	assert_true(has(&bench, "7"));
	assert_false(has(&bench, "3"));
}

static void some_files_stay_where_they_are(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	static const mode_t modes[] = {04755, 02755, 0755};
	for (size_t i = 0; i < 3; i++) {
		dir_write(dir, "a.txt", "old");
		assert_int_equal(chmod(dir_at(dir, "a.txt"), modes[i]), 0);
		assert_int_equal(replace(&bench, "old", "new"), i == 2);
	}
	dir_write(dir, "a.txt", "longer");
	bench.writes.versions.max = 5;
	assert_false(replace(&bench, "longer", "new"));
	assert_false(put(&bench, "longer"));
	bench.writes.versions.max = ST_VERSIONS_MAX;
	if (geteuid() == 0) {
		assert_int_equal(chown(dir_at(dir, "a.txt"), 1, 1), 0);
		assert_false(replace(&bench, "new", "newer"));
	}
	assert_string_equal(dir_read(dir, "a.txt"), geteuid() == 0 ? "newer" : "new");
	assert_int_equal(dir_count(dir, ".stet/moved"), ROOM + 1);
}

/* Where stet may keep nothing, files are written all the same. */
static void without_a_state_directory_nothing_is_stored(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	assert_int_equal(mkdir(dir_at(dir, ".stet"), 0755), 0);
	assert_int_equal(chmod(dir_at(dir, ".stet"), 0755), 0);
	dir_write(dir, "a.txt", "old");
	assert_false(replace(&bench, "old", "new"));
	assert_false(put(&bench, "old"));
	assert_false(has(&bench, "old"));
	assert_false(st_versions_archive(&bench.writes.versions));
	assert_string_equal(dir_read(dir, "a.txt"), "new");
	assert_int_equal(dir_count(dir, ".stet"), 0);
	assert_int_equal(dir_count(dir, "."), 2);
}

/* Looking for a version makes no directory. */
static void looking_makes_nothing(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	assert_false(has(&bench, "old"));
	assert_false(st_versions_archive(&bench.writes.versions));
	assert_int_equal(dir_count(dir, "."), 0);
}

static void what_was_removed_is_made_again(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "one");
	assert_true(replace(&bench, "one", "two"));
	assert_true(put(&bench, "other"));
	char command[PATH_MAX + 64];
	snprintf(command, sizeof command, "rm -r '%s'", dir_at(dir, ".stet"));
	assert_int_equal(system(command), 0);
	assert_false(has(&bench, "one"));
	assert_true(replace(&bench, "two", "three"));
	assert_true(has(&bench, "two"));
	assert_true(put(&bench, "other"));
	assert_true(has(&bench, "other"));
}

/* Somebody puts the whole state aside, while a server runs. */
static void what_was_renamed_is_not_ours_any_more(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "one");
	assert_true(replace(&bench, "one", "two"));
	assert_true(put(&bench, "other"));
	assert_int_equal(renameat(dir->fd, ".stet", dir->fd, "aside"), 0);
	assert_true(replace(&bench, "two", "three"));
	assert_true(put(&bench, "other"));
	assert_true(has(&bench, "two"));
	assert_true(has(&bench, "other"));
	assert_false(has(&bench, "one"));
	assert_int_equal(dir_count(dir, "aside/moved"), ROOM + 1);
}

/* A fault is reported once, and after it is mended everything works as before. */
static void what_is_in_the_way_is_told_of(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "one");
	assert_true(put(&bench, "other"));
	dir_write(dir, ".stet/moved", "not a directory");
	assert_false(replace(&bench, "one", "two"));
	assert_false(replace(&bench, "two", "three"));
	st_autofree char *notice = st_write_next_notice(&bench.writes);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "cannot be stored below .stet"));
	assert_null(st_write_next_notice(&bench.writes));
	assert_int_equal(unlinkat(dir->fd, ".stet/moved", 0), 0);
	assert_true(replace(&bench, "three", "four"));
	assert_true(has(&bench, "three"));
}

/* There is room for three versions, and each turn makes one more. */
static void write_on_a_small_disk(const struct dir *dir) {
	enum { SIZE = 32 << 10, TURNS = 40 };
	struct dir disk;
	mount_small_disk(dir, &disk);
	with_bench(&disk);
	static char old[SIZE + 1], new[SIZE + 1];
	memset(old, 'a', SIZE);
	dir_write(&disk, "a.txt", old);
	for (int i = 0; i < TURNS; i++) {
		memcpy(new, old, SIZE);
		new[i] = 'b';
		hold(try_replace(&bench, old, new, NULL) == 0, "there is room for a write");
		memcpy(old, new, SIZE);
		/* Sometimes no process gets to archive. */
		while (i % 4 != 0 && st_versions_archive(&bench.writes.versions))
			continue;
	}
	hold(strcmp(dir_read(&disk, "a.txt"), new) == 0, "the file is the last one");
}

static void a_full_disk_costs_versions_and_no_write(void **state) {
	child_with_mounts(*state, write_on_a_small_disk);
}

/* The oldest versions go, and no more of them than has to be. */
static void write_when_others_filled_the_disk(const struct dir *dir) {
	struct dir disk;
	mount_small_disk(dir, &disk);
	with_bench(&disk);
	dir_write(&disk, "a.txt", "old");
	for (int i = 0; i < 8; i++) {
		hold(put(&bench, text_no(i)), "put a version");
		sleep_ms(10);
	}
	static const char page[4096];
	st_autofd fd = open(dir_at(&disk, "filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	while (write(fd, page, sizeof page) == sizeof page)
		continue;
	hold(try_replace(&bench, "old", "new", NULL) == 0, "there is room for a write");
	hold(!has(&bench, text_no(0)), "the oldest version is gone");
	hold(has(&bench, text_no(7)), "the last one is not");
}

static void versions_make_room_for_files(void **state) {
	child_with_mounts(*state, write_when_others_filled_the_disk);
}

/* A version that is too large for memory fits on the disk. */
static void a_limit_on_files_costs_no_version(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	dir_write(dir, "a.txt", "old");
	assert_true(replace(&bench, "old", "new"));
	struct rlimit before, small;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 100;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int code = try_replace(&bench, "new", text_no(1), NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(code, STET_E_NO_SPACE);
	assert_true(has(&bench, "old"));
	assert_string_equal(dir_read(dir, "a.txt"), "new");
}

/* A place among the versions that is taken is in the way of that version only. */
static void a_directory_among_the_versions_is_in_nobodys_way(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	assert_true(put(&bench, "other"));
	dir_write(dir, "a.txt", "1");
	assert_true(replace(&bench, "1", "2"));
	assert_true(replace(&bench, "2", "3"));
	assert_int_equal(mkdirat(dir->fd, place_of("versions", "1"), 0700), 0);
	assert_int_equal(mkdirat(dir->fd, place_of("moved", "3"), 0700), 0);
	while (st_versions_archive(&bench.writes.versions))
		continue;
	assert_false(has(&bench, "1"));
	assert_true(has(&bench, "2"));
	assert_int_equal(dir_count(dir, ".stet/moved"), ROOM + 1);
}

/* One inaccessible directory does not affect the other, and is reported. */
static void store_behind_a_closed_door(const struct dir *dir) {
	with_bench(dir);
	hold(put(&bench, "other"), "put a version");
	dir_write(dir, "a.txt", "old");
	hold(fchmodat(dir->fd, ".stet/versions", 0, 0) == 0, "chmod");
	st_write_context_release(&bench.writes);
	st_write_context_init(&bench.writes, &bench.root, ".stet", NULL);
	hold(!put(&bench, "other one"), "it cannot be put there");
	st_autofree char *notice = st_write_next_notice(&bench.writes);
	hold(notice && strstr(notice, "cannot be stored below .stet"), "and that is said");
	bool stored = false;
	hold(try_replace(&bench, "old", "new", &stored) == 0 && stored,
	     "a replaced file can still be moved");
	hold(has(&bench, "old"), "and comes back");
	hold(fchmodat(dir->fd, ".stet/versions", 0700, 0) == 0, "chmod");
	hold(put(&bench, "other one"), "and when it is mended, it can be put there");
}

static void a_closed_door_is_not_the_end(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(chmod(dir->path, 0777), 0);
	child_as_nobody(dir, store_behind_a_closed_door);
}

/* ---- writers that come late ---- */

static void a_late_write_to_a_moved_file_is_kept(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	char path[64];
	dir_write(dir, "a.txt", "old");
	st_autofd looked_up = open(dir_at(dir, "a.txt"), O_PATH | O_CLOEXEC);
	assert_true(replace(&bench, "old", "new"));
	snprintf(path, sizeof path, "/proc/self/fd/%d", looked_up);
	st_autofd fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "LATE", 4), 4);
	st_close_at(&fd);
	st_late_writes_drain(&bench.writes.late_writes, 0);
	st_autofree char *notice = st_write_next_notice(&bench.writes);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "just when it was replaced"));
	assert_int_equal(dir_count(dir, ".stet/rescued"), 1);
	assert_false(has(&bench, "old"));
	assert_string_equal(dir_read(dir, "a.txt"), "new");
}

/*
 * A late write is noticed although the file was archived meanwhile; archiving alone is
 * no late write.
 */
static void archiving_a_file_is_no_late_write(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	for (int late = 0; late < 2; late++) {
		char path[64];
		dir_write(dir, "a.txt", "old");
		st_autofd looked_up = open(dir_at(dir, "a.txt"), O_PATH | O_CLOEXEC);
		assert_true(replace(&bench, "old", "new"));
		assert_true(st_versions_archive(&bench.writes.versions));
		if (late) {
			snprintf(path, sizeof path, "/proc/self/fd/%d", looked_up);
			st_autofd fd = open(path, O_WRONLY | O_CLOEXEC);
			assert_int_equal(write(fd, "LAT", 3), 3);
		}
		st_late_writes_drain(&bench.writes.late_writes, 0);
		st_autofree char *notice = st_write_next_notice(&bench.writes);
		assert_int_equal(notice != NULL, late);
		assert_true(has(&bench, "old"));
	}
}

/* A late write of the same length that puts the time back; then the file is archived. */
static void a_late_write_that_hides_is_found(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	/* By us, before and after the write; by another process. */
	for (int way = 0; way < 3; way++) {
		char path[64];
		struct stat st;
		dir_write(dir, "a.txt", "old");
		st_autofd looked_up = open(dir_at(dir, "a.txt"), O_PATH | O_CLOEXEC);
		assert_true(replace(&bench, "old", "new"));
		if (way == 0)
			assert_true(st_versions_archive(&bench.writes.versions));
		snprintf(path, sizeof path, "/proc/self/fd/%d", looked_up);
		st_autofd fd = open(path, O_WRONLY | O_CLOEXEC);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(write(fd, "LAT", 3), 3);
		const struct timespec times[] = {st.st_atim, st.st_mtim};
		assert_int_equal(futimens(fd, times), 0);
		st_close_at(&fd);
		if (way == 1)
			assert_true(st_versions_archive(&bench.writes.versions));
		if (way == 2)
			assert_int_equal(unlinkat(dir->fd, place_of("moved", "old"), 0), 0);
		st_late_writes_drain(&bench.writes.late_writes, 0);
		st_autofree char *notice = st_write_next_notice(&bench.writes);
		assert_non_null(notice);
		assert_non_null(strstr(notice, "just when it was replaced"));
	}
}

/* ---- room ---- */

static void the_least_recently_used_go(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	enum { COUNT = 200, MAX = 100000 };
	bench.writes.versions.max = MAX;
	for (int i = 0; i < COUNT; i++) {
		assert_true(put(&bench, text_no(i)));
		/* This one is used all the time. */
		assert_true(put(&bench, text_no(7)));
		sleep_ms(i % 4 == 0 ? 5 : 0);
	}
	st_autofd fd = open(dir_at(dir, ".stet"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_in_range(st_versions_bytes(fd), MAX / 2, MAX);
	assert_true(has(&bench, text_no(7)));
	assert_true(has(&bench, text_no(COUNT - 1)));
	assert_false(has(&bench, text_no(8)));
	assert_false(has(&bench, text_no(COUNT / 2)));
}

static void what_is_too_old_goes(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	assert_true(put(&bench, "old"));
	assert_true(put(&bench, "new"));
	assert_int_equal(utimensat(dir->fd, place_of("versions", "old"), old, 0), 0);
	bench.writes.versions.max_days = 0;
	st_versions_expire(&bench.writes.versions);
	assert_true(has(&bench, "old"));
	bench.writes.versions.max_days = 1;
	st_versions_expire(&bench.writes.versions);
	assert_false(has(&bench, "old"));
	assert_true(has(&bench, "new"));
	/* Nobody looks again within the hour. */
	assert_true(put(&bench, "old"));
	assert_int_equal(utimensat(dir->fd, place_of("versions", "old"), old, 0), 0);
	st_versions_expire(&bench.writes.versions);
	assert_true(has(&bench, "old"));
}

static void what_was_left_half_written_goes(void **state) {
	const struct dir *dir = *state;
	with_bench(dir);
	assert_true(put(&bench, "one"));
	dir_write(dir, ".stet/versions/new-0123456789abcdef", "hal");
	dir_write(dir, ".stet/versions/new-fedcba9876543210", "just beg");
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	assert_int_equal(utimensat(dir->fd, ".stet/versions/new-0123456789abcdef", old, 0), 0);
	bench.writes.versions.max = 100000;
	/* Enough for one count at least. */
	char text[40];
	for (int i = 0; i < 20; i++) {
		assert_true(put(&bench, "one"));
		snprintf(text, sizeof text, "number %d", i);
		assert_true(put(&bench, text));
	}
	assert_false(dir_has(dir, ".stet/versions/new-0123456789abcdef"));
	assert_false(dir_has(dir, ".stet/versions/new-fedcba9876543210"));
	assert_true(has(&bench, "one"));
}

/* Many processes that live for one write each: they count, too. */
static void short_lives_make_room_as_well(void **state) {
	const struct dir *dir = *state;
	enum { LIVES = 400, MAX = 60000 };
	/* At no moment is there more than the limit. */
	for (int i = 0; i < LIVES; i++) {
		with_bench(dir);
		bench.writes.versions.max = MAX;
		assert_true(put(&bench, text_no(i)));
	}
	st_autofd fd = open(dir_at(dir, ".stet"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_in_range(st_versions_bytes(fd), 1, MAX);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_replaced_file_comes_back),
		claim(an_archived_version_takes_less_room),
		claim(a_search_does_not_find_archived_text),
		claim(versions_of_0_1_0_can_be_read),
		claim(a_version_that_claims_to_be_huge_is_none),
		claim(what_is_spoilt_is_no_version),
		claim(what_cannot_be_read_is_in_nobodys_way),
		claim(some_files_stay_where_they_are),
		claim(without_a_state_directory_nothing_is_stored),
		claim(looking_makes_nothing),
		claim(what_was_removed_is_made_again),
		claim(what_was_renamed_is_not_ours_any_more),
		claim(what_is_in_the_way_is_told_of),
		claim(a_full_disk_costs_versions_and_no_write),
		claim(versions_make_room_for_files),
		claim(a_limit_on_files_costs_no_version),
		claim(a_directory_among_the_versions_is_in_nobodys_way),
		claim(a_closed_door_is_not_the_end),
		claim(a_late_write_to_a_moved_file_is_kept),
		claim(archiving_a_file_is_no_late_write),
		claim(a_late_write_that_hides_is_found),
		claim(the_least_recently_used_go),
		claim(what_is_too_old_goes),
		claim(what_was_left_half_written_goes),
		claim(short_lives_make_room_as_well),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
