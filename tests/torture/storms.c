/*
 * Storms: thousands of changes at once, with the watcher awake, asleep, or
 * with a queue too small for them. In the end what it told is what is there,
 * path by path.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "core/watch/watcher.h"
#include "lib/gen.h"
#include "lib/run.h"
#include "lib/tree.h"
#include "lib/watching.h"

#define QUEUE_LIMIT "/proc/sys/fs/inotify/max_queued_events"

/* When the watcher dispatches during a storm. */
enum weather {
	/* Dispatching all the time. */
	AWAKE,
	/* Only afterwards, as if stopped meanwhile. */
	ASLEEP,
	WEATHERS,
};

typedef void storm(const struct dir *dir, size_t size);

/* Run a storm in a child, and the watcher beside it or after it. */
static void live_through(struct watching *watching, storm *rage, size_t size,
                         enum weather weather) {
	pid_t child = fork();
	if (child == 0) {
		rage(watching->dir, size);
		_exit(0);
	}
	assert_true(child > 0);
	int status = 0;
	while (weather == AWAKE && waitpid(child, &status, WNOHANG) == 0)
		watching_run(watching, 3);
	if (weather == ASLEEP)
		assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	watching_idle(watching);
	watching_agrees(watching);
}

static void write_at(const struct dir *dir, const char *path, size_t number) {
	char text[32];
	snprintf(text, sizeof text, "version %zu\n", number);
	dir_write(dir, path, text);
}

/* ---- the storms ---- */

static void copy_in(const struct dir *dir, size_t size) {
	char path[128];
	for (size_t i = 0; i < size; i++) {
		snprintf(path, sizeof path, "top%zu/mid%zu/low%zu/file%zu", i % 7, i % 49, i % 343, i);
		write_at(dir, path, i);
	}
}

static void remove_all(const struct dir *dir, size_t size) {
	(void)size;
	for (int i = 0; i < 7; i++) {
		char name[16];
		snprintf(name, sizeof name, "top%d", i);
		assert_int_equal(run(dir, NULL, (const char *[]){"rm", "-rf", name, NULL}), 0);
	}
}

/* Directories go up, down and round, and files are written in them on the way. */
static void rename_dirs(const struct dir *dir, size_t size) {
	struct gen gen = gen_new(gen_seed());
	char from[128], to[128], path[160];
	for (size_t i = 0; i < size / 20; i++) {
		size_t a = gen_below(&gen, 7), b = gen_below(&gen, 49), c = gen_below(&gen, 7);
		switch (gen_below(&gen, 4)) {
		case 0:
			snprintf(from, sizeof from, "top%zu/mid%zu", a, b);
			snprintf(to, sizeof to, "up%zu", b);
			break;
		case 1:
			snprintf(from, sizeof from, "up%zu", b);
			snprintf(to, sizeof to, "top%zu/mid%zu", c, b);
			break;
		case 2:
			snprintf(from, sizeof from, "top%zu", a);
			snprintf(to, sizeof to, "top%zu", c);
			break;
		default:
			snprintf(from, sizeof from, "top%zu", a);
			snprintf(to, sizeof to, "up%zu/top%zu", b, a);
			break;
		}
		if (renameat(dir->fd, from, dir->fd, to) == 0) {
			snprintf(path, sizeof path, "%s/written", to);
			int fd = openat(dir->fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
			if (fd >= 0)
				close(fd);
		}
	}
}

/* Two hundred editors, each saving by a new file and a rename. */
static void save_by_rename(const struct dir *dir, size_t size) {
	char name[64], temp[64];
	for (size_t round = 0; round < size / 1000 + 2; round++) {
		for (size_t i = 0; i < 200; i++) {
			snprintf(name, sizeof name, "docs/doc%zu", i);
			snprintf(temp, sizeof temp, "docs/.doc%zu.swp", i);
			write_at(dir, temp, round);
			assert_int_equal(renameat(dir->fd, temp, dir->fd, name), 0);
		}
	}
}

static void checkout_back_and_forth(const struct dir *dir, size_t size) {
	for (size_t i = 0; i < size / 1000 + 1; i++) {
		assert_int_equal(
			run(dir, NULL, (const char *[]){"git", "checkout", "-q", i % 2 ? "far" : "near", NULL}),
			0);
	}
}

/* ---- the claims ---- */

static size_t size_of_storms(void) {
	return gen_rounds(1500, 10000);
}

static void start(struct watching *watching, const struct dir *dir) {
	watching_new(watching, dir);
	watching_begin(watching);
}

static void nothing_is_missed_when_trees_come_move_and_go(void **state) {
	size_t size = size_of_storms();
	for (int weather = AWAKE; weather < WEATHERS; weather++) {
		struct watching watching;
		start(&watching, *state);
		live_through(&watching, copy_in, size, (enum weather)weather);
		assert_int_equal(watching_count(&watching, "add", NULL), size);
		live_through(&watching, rename_dirs, size, (enum weather)weather);
		live_through(&watching, copy_in, size, (enum weather)weather);
		live_through(&watching, remove_all, size, (enum weather)weather);
		watching_stop(&watching);
		assert_int_equal(run(*state, NULL, (const char *[]){"sh", "-c", "rm -rf ./*", NULL}), 0);
	}
}

static void every_save_by_rename_is_told(void **state) {
	struct dir *dir = *state;
	size_t size = size_of_storms();
	for (int weather = AWAKE; weather < WEATHERS; weather++) {
		struct watching watching;
		char name[64];
		for (size_t i = 0; i < 200; i++) {
			snprintf(name, sizeof name, "docs/doc%zu", i);
			dir_write(dir, name, "first\n");
		}
		start(&watching, dir);
		live_through(&watching, save_by_rename, size, (enum weather)weather);
		assert_true(watching_count(&watching, "change", NULL) >= 200);
		for (size_t i = 0; i < 200; i++) {
			snprintf(name, sizeof name, "docs/doc%zu", i);
			assert_true(watching_count(&watching, "change", name) >= 1);
		}
		watching_stop(&watching);
	}
}

/* Two commits that share next to nothing. */
static void make_history(const struct dir *dir, size_t size) {
	const char *const near[] = {"git", "checkout", "-q", "-b", "near", NULL};
	const char *const far[] = {"git", "checkout", "-q", "-b", "far", NULL};
	const char *const all[] = {"git", "add", "-A", NULL};
	const char *const commit[] = {"git",    "-c", "user.name=t", "-c",    "user.email=t@t",
	                              "commit", "-q", "-m",          "state", NULL};
	/* git tidies up in the background, and may take away the very directory it writes to. */
	const char *const untidy[] = {"git", "config", "gc.auto", "0", NULL};
	assert_int_equal(run(dir, NULL, (const char *[]){"git", "init", "-q", ".", NULL}), 0);
	assert_int_equal(run(dir, NULL, untidy), 0);
	assert_int_equal(run(dir, NULL, near), 0);
	dir_write(dir, ".gitignore", "*.o\n");
	copy_in(dir, size);
	assert_int_equal(run(dir, NULL, all), 0);
	assert_int_equal(run(dir, NULL, commit), 0);
	assert_int_equal(run(dir, NULL, far), 0);
	remove_all(dir, size);
	dir_write(dir, ".gitignore", "*.tmp\n");
	dir_write(dir, "object.o", "shown in one commit only");
	char path[64];
	for (size_t i = 0; i < size; i++) {
		snprintf(path, sizeof path, "top%zu/other%zu/file%zu", i % 5, i % 31, i);
		write_at(dir, path, i + 1);
	}
	assert_int_equal(run(dir, NULL, all), 0);
	assert_int_equal(run(dir, NULL, commit), 0);
}

static void a_checkout_is_told_as_it_is(void **state) {
	size_t size = size_of_storms();
	make_history(*state, size);
	for (int weather = AWAKE; weather < WEATHERS; weather++) {
		struct watching watching;
		start(&watching, *state);
		live_through(&watching, checkout_back_and_forth, size, (enum weather)weather);
		live_through(&watching, checkout_back_and_forth, size + 1000, (enum weather)weather);
		watching_stop(&watching);
	}
}

/* ---- a small queue ---- */

static bool set_queue(const char *value) {
	int fd = open(QUEUE_LIMIT, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool read_queue(char value[32]) {
	int fd = open(QUEUE_LIMIT, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, value, 31);
	if (fd >= 0)
		close(fd);
	value[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/* The limit is taken when the watcher starts, so it need not stay for longer. */
static bool start_with_small_queue(struct watching *watching, const struct dir *dir) {
	char before[32];
	if (!read_queue(before) || !set_queue("256"))
		return false;
	watching_new(watching, dir);
	int code = stet_watcher_start(watching->watcher, &watching->err);
	bool restored = set_queue(before);
	assert_int_equal(code, 0);
	assert_true(restored);
	return true;
}

static void an_overflow_delays_and_does_not_lie(void **state) {
	struct watching watching;
	size_t size = size_of_storms();
	if (!start_with_small_queue(&watching, *state))
		skip_because("this user may not change " QUEUE_LIMIT);
	live_through(&watching, copy_in, size, AWAKE);
	live_through(&watching, save_by_rename, size, AWAKE);
	live_through(&watching, copy_in, size, ASLEEP);
	assert_true(watching.watcher->watch.overflows > 0);
	live_through(&watching, rename_dirs, size, ASLEEP);
	live_through(&watching, save_by_rename, size, ASLEEP);
	live_through(&watching, copy_in, size, AWAKE);
	live_through(&watching, remove_all, size, ASLEEP);
	watching_stop(&watching);
}

/* Files that were there at the start and never looked at: those that were written are told, no other. */
static void an_overflow_hides_no_rewrite_of_what_was_there(void **state) {
	struct dir *dir = *state;
	struct watching watching;
	size_t size = size_of_storms();
	char path[128];
	for (size_t i = 0; i < size; i++) {
		snprintf(path, sizeof path, "top%zu/file%zu", i % 97, i);
		write_at(dir, path, i);
	}
	if (!start_with_small_queue(&watching, dir))
		skip_because("this user may not change " QUEUE_LIMIT);
	for (size_t i = 0; i < size; i += 2) {
		snprintf(path, sizeof path, "top%zu/file%zu", i % 97, i);
		write_at(dir, path, i + 2);
	}
	watching_idle(&watching);
	assert_true(watching.watcher->watch.overflows > 0);
	assert_int_equal(watching_count(&watching, "change", NULL), (size + 1) / 2);
	assert_int_equal(watching.count, (size + 1) / 2);
	assert_int_equal(watching_count(&watching, "change", "top0/file0"), 1);
	assert_int_equal(watching_count(&watching, NULL, "top1/file1"), 0);
	watching_stop(&watching);
}

/* ---- stopped by a signal ---- */

/* Run stet watch in a process of its own, and add up its lines. */
static void a_stopped_process_catches_up(void **state) {
	struct dir *dir = *state;
	size_t size = size_of_storms();
	int out[2];
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(out[1], STDOUT_FILENO);
		execl(getenv("STET"), "stet", "watch", dir->path, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	FILE *lines = fdopen(out[0], "r");
	char line[512];
	assert_non_null(fgets(line, sizeof line, lines));
	assert_string_equal(line, "READY\n");
	assert_int_equal(kill(child, SIGSTOP), 0);
	copy_in(dir, size);
	remove_all(dir, size);
	copy_in(dir, size / 2);
	assert_int_equal(kill(child, SIGCONT), 0);
	for (size_t i = 0; i < size / 2; i++) {
		assert_non_null(fgets(line, sizeof line, lines));
		line[strcspn(line, "\n")] = '\0';
		assert_int_equal(strncmp(line, "add\t", 4), 0);
		assert_true(dir_has(dir, line + 4));
	}
	assert_int_equal(kill(child, SIGTERM), 0);
	assert_null(fgets(line, sizeof line, lines));
	fclose(lines);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
	tree_in_memory();
	const struct CMUnitTest tests[] = {
		claim(nothing_is_missed_when_trees_come_move_and_go),
		claim(every_save_by_rename_is_told),
		claim(a_checkout_is_told_as_it_is),
		claim(an_overflow_delays_and_does_not_lie),
		claim(an_overflow_hides_no_rewrite_of_what_was_there),
		claim(a_stopped_process_catches_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
