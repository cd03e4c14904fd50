/*
 * The machine crashes in the middle of writes: whatever of them a disk may
 * have kept then, after the repair the page is whole, every write that was
 * acknowledged is in it, and nothing but the writes that had begun.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>

#include "lib/run.h"
#include "stet/stet.h"
#include "torture/disk.h"
#include "torture/page.h"

enum { WRITES = 24, SIZE = 12000 };

/* Commands that make a filesystem in the file `disk`, and repair the one in `crashed`. */
struct filesystem {
	const char *make;
	/* NULL: mounting it is repair enough. */
	const char *repair;
	/* Mounting it would do, too. */
	bool journal;
	/* The most flushes that a durable write may take. */
	unsigned flushes;
};

#define EXT4 "truncate -s 16M disk && mkfs.ext4 -q -F -b 4096 disk -O "
#define E2FSCK "e2fsck -fy crashed || test $? -le 2"

/* File and directory take one flush each, or two if they are the journal's. */
static const struct filesystem ext4 = {EXT4 "has_journal", E2FSCK, true, 4};
static const struct filesystem ext4_bare = {EXT4 "^has_journal", E2FSCK, false, 2};
static const struct filesystem xfs = {"truncate -s 300M disk && mkfs.xfs -q -f disk", NULL, true,
                                      4};
static const struct filesystem btrfs = {"truncate -s 120M disk && mkfs.btrfs -q -f disk", NULL,
                                        true, 6};

/* Which filesystem, and how it is written. */
struct scene {
	const char *name;
	const struct filesystem *fs;
	bool durable;
	/* Each write makes a new file. */
	bool creates;
	/* Another process syncs a file of its own meanwhile. */
	bool watched;
	/* The file may be gone, but not half there: nothing orders names and what they lead to. */
	bool may_vanish;
};

/* What the disk had been told when each write began, when it was acknowledged, and when all was over. */
struct history {
	size_t begun[WRITES + 1], acked[WRITES + 1];
	size_t end;
};

static int try(const struct dir *dir, const char *command, struct st_buf *output) {
	char line[400];
	snprintf(line, sizeof line, "exec 2>&1; PATH=$PATH:/usr/sbin:/sbin; %s", command);
	return run(dir, output, (const char *[]){"/bin/sh", "-c", line, NULL});
}

static void sh(const struct dir *dir, const char *command) {
	st_auto(st_buf) output = ST_BUF_INIT;
	int status = try(dir, command, &output);
	if (status != 0)
		fail_msg("%s: %d, %s", command, status, st_buf_cstr(&output));
}

static bool can_mount(const struct dir *dir, const struct filesystem *fs) {
	st_auto(st_buf) output = ST_BUF_INIT;
	return geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0 &&
	       try(dir, "mkdir -p now later && rm -f disk", &output) == 0 &&
	       try(dir, fs->make, &output) == 0 && try(dir, "mount -o loop disk now", &output) == 0 &&
	       try(dir, "umount now", &output) == 0;
}

/* ---- before ---- */

static void put_page(struct stet_session *session, const char *name, unsigned number) {
	st_auto(st_buf) text = ST_BUF_INIT;
	page_make(&text, SIZE, number);
	struct stet_error err = {0};
	if (stet_session_write(session, name, text.ptr, text.len, NULL, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

/* A bystander syncs its own file all the time, and the filesystem flushes the writes of others with it. */
struct bystander {
	pthread_t thread;
	int fd;
	atomic_bool stop;
};

static struct bystander bystander;

static void *stand_by(void *data) {
	(void)data;
	for (unsigned i = 0; !bystander.stop; i++) {
		(void)!pwrite(bystander.fd, &i, sizeof i, 0);
		fsync(bystander.fd);
	}
	return NULL;
}

static void bystander_start(const char *path) {
	bystander.fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bystander.stop = false;
	assert_true(bystander.fd >= 0);
	assert_int_equal(pthread_create(&bystander.thread, NULL, stand_by, NULL), 0);
}

static void bystander_stop(void) {
	bystander.stop = true;
	pthread_join(bystander.thread, NULL);
	close(bystander.fd);
}

static void write_pages(const struct scene *scene, const struct dir *dir, struct disk *disk,
                        struct history *history) {
	struct stet_workspace *ws;
	struct stet_session *session;
	assert_int_equal(stet_workspace_open(dir_at(dir, "now"), &ws, NULL), 0);
	assert_int_equal(stet_session_open(ws, NULL, &session, NULL), 0);
	for (unsigned i = 1; i <= WRITES; i++) {
		/* The first one always, so that afterwards there is a page. */
		assert_int_equal(
			stet_workspace_set(ws, STET_OPTION_DURABLE, scene->durable || i == 1, NULL), 0);
		char name[16];
		snprintf(name, sizeof name, scene->creates ? "page%u" : "page", i);
		history->begun[i] = disk_moment(disk);
		put_page(session, name, i);
		history->acked[i] = disk_moment(disk);
		/* Give the bystander time to sync. */
		if (scene->watched)
			sleep_ms(1);
	}
	stet_session_close(session);
	stet_workspace_close(ws);
}

static void record(const struct scene *scene, const struct dir *dir, struct disk *disk,
                   struct history *history) {
	sh(dir, "rm -f disk");
	sh(dir, scene->fs->make);
	if (!disk_open(disk, dir_at(dir, "disk")))
		skip_because("a disk cannot be made of FUSE here");
	sh(dir, "mount -o loop disk now");
	if (scene->watched)
		bystander_start(dir_at(dir, "now/other"));
	write_pages(scene, dir, disk, history);
	if (scene->watched)
		bystander_stop();
	sh(dir, "umount now");
	history->end = disk_moment(disk);
	disk_close(disk);
}

/* ---- after ---- */

/* The page that is there, 0 for none. */
static unsigned find_page(const struct dir *dir, const char *name) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct page page;
	if (!file_load(dir_at(dir, name), &text))
		return 0;
	if (!page_parse(st_buf_str(&text), &page))
		fail_msg("%s is torn, with %zu bytes", name, text.len);
	return page.number;
}

/* With one page for all writes: no older than the last one acknowledged, no newer than the last one begun. */
static void check_page(const struct dir *dir, const struct history *history, size_t moment) {
	unsigned number = find_page(dir, "later/page");
	if (number < WRITES && history->acked[number + 1] && history->acked[number + 1] <= moment)
		fail_msg("write %u was acknowledged, and number %u is there", number + 1, number);
	assert_true(number == 0 || history->begun[number] <= moment);
}

static void check_pages(const struct dir *dir, const struct history *history, size_t moment) {
	for (unsigned i = 1; i <= WRITES; i++) {
		char name[24];
		snprintf(name, sizeof name, "later/page%u", i);
		unsigned number = find_page(dir, name);
		assert_true(number == 0 || number == i);
		if (number == 0 && history->acked[i] <= moment)
			fail_msg("write %u was acknowledged, and is not there", i);
	}
}

static void crash_once(const struct scene *scene, const struct dir *dir, const struct disk *disk,
                       const struct history *history, struct gen *gen) {
	size_t moment = history->begun[1] + gen_below(gen, history->end - history->begun[1] + 1);
	struct history known = *history;
	/* A relaxed write may be missing: stet does not promise it. */
	for (unsigned i = scene->may_vanish ? 1 : 2; i <= WRITES && !scene->durable; i++)
		known.acked[i] = SIZE_MAX;
	disk_crash(disk, moment, gen, dir_at(dir, "crashed"));
	const struct filesystem *fs = scene->fs;
	if (fs->repair && (!fs->journal || gen_one_in(gen, 2)))
		sh(dir, fs->repair);
	sh(dir, "mount -o loop crashed later");
	(scene->creates ? check_pages : check_page)(dir, &known, moment);
	sh(dir, "umount later");
}

static void crash(const struct scene *scene, const struct dir *dir) {
	struct disk disk;
	struct history history = {0};
	if (!can_mount(dir, scene->fs))
		skip_because("it takes root, FUSE, loop devices and the programs of the filesystem");
	record(scene, dir, &disk, &history);
	size_t rounds = gen_rounds(15, 200), flushes = 0;
	/* These need large disks. */
	if (!scene->fs->repair)
		rounds /= 5;
	for (size_t i = 0; i < rounds; i++) {
		struct gen gen = gen_new(gen_seed() + i);
		crash_once(scene, dir, &disk, &history, &gen);
	}
	for (size_t i = history.begun[1]; i < history.acked[WRITES]; i++)
		flushes += !disk.events[i].bytes;
	if (!scene->watched)
		assert_in_range(flushes, 0, scene->fs->flushes * WRITES + 4);
	printf("# %-34s %zu crashes, %d writes, %zu flushes\n", scene->name, rounds, WRITES, flushes);
	disk_release(&disk);
}

static void a_crash_leaves_what_was_acknowledged(void **state) {
	crash(&(struct scene){"edits", &ext4, .durable = true}, *state);
	crash(&(struct scene){"edits, no journal", &ext4_bare, .durable = true}, *state);
}

static void a_crash_leaves_what_was_created(void **state) {
	crash(&(struct scene){"new files", &ext4, .durable = true, .creates = true}, *state);
	crash(&(struct scene){"new files, no journal", &ext4_bare, .durable = true, .creates = true},
	      *state);
}

static void a_crash_leaves_it_while_others_sync(void **state) {
	crash(&(struct scene){"edits, others sync", &ext4, .durable = true, .watched = true}, *state);
	crash(&(struct scene){"edits, others sync, no journal", &ext4_bare, .durable = true,
	                      .watched = true},
	      *state);
}

static void a_crash_leaves_the_old_or_the_new_file_of_a_relaxed_write(void **state) {
	crash(&(struct scene){"relaxed edits", &ext4}, *state);
	crash(&(struct scene){"relaxed edits, others sync", &ext4, .watched = true}, *state);
	crash(&(struct scene){"relaxed edits, xfs", &xfs}, *state);
	crash(&(struct scene){"relaxed edits, others sync, xfs", &xfs, .watched = true}, *state);
	crash(&(struct scene){"relaxed edits, btrfs", &btrfs}, *state);
	crash(&(struct scene){"relaxed edits, others sync, btrfs", &btrfs, .watched = true}, *state);
}

/* Without a journal a later unlink may reach the disk before an earlier exchange. */
static void without_a_journal_a_relaxed_write_may_be_gone_but_never_half(void **state) {
	crash(&(struct scene){"relaxed edits, no journal", &ext4_bare, .may_vanish = true}, *state);
	crash(&(struct scene){"relaxed edits, others sync, no journal", &ext4_bare, .watched = true,
	                      .may_vanish = true},
	      *state);
}

static void other_filesystems_do_so_too(void **state) {
	crash(&(struct scene){"edits, xfs", &xfs, .durable = true}, *state);
	crash(&(struct scene){"edits, others sync, xfs", &xfs, .durable = true, .watched = true},
	      *state);
	crash(&(struct scene){"edits, btrfs", &btrfs, .durable = true}, *state);
	crash(&(struct scene){"edits, others sync, btrfs", &btrfs, .durable = true, .watched = true},
	      *state);
}

/* The mounts of a failed test end with the process. */
static int be_alone(void **state) {
	(void)state;
	if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0)
		(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return 0;
}

static int unmount(void **state) {
	static const char *const names[] = {"now", "later", "disk"};
	for (size_t i = 0; i < 3; i++)
		(void)umount2(dir_at(*state, names[i]), MNT_DETACH);
	return dir_teardown(state);
}

#define claim_on_disk(function) cmocka_unit_test_setup_teardown(function, dir_setup, unmount)

int main(void) {
	const struct CMUnitTest tests[] = {
		claim_on_disk(a_crash_leaves_what_was_acknowledged),
		claim_on_disk(a_crash_leaves_what_was_created),
		claim_on_disk(a_crash_leaves_it_while_others_sync),
		claim_on_disk(a_crash_leaves_the_old_or_the_new_file_of_a_relaxed_write),
		claim_on_disk(without_a_journal_a_relaxed_write_may_be_gone_but_never_half),
		claim_on_disk(other_filesystems_do_so_too),
	};
	return cmocka_run_group_tests(tests, be_alone, NULL);
}
