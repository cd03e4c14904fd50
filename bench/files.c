/* The file layer against bare system calls: check, hash, and commit with and without fsync. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/write/commit.h"
#include "lib/bench.h"
#include "stet/stet.h"

static char *text;
static size_t size;
static struct stet_workspace *ws;
static struct stet_session *session;

static void put_file(const char *name) {
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bench_check(fd >= 0 && write(fd, text, size) == (ssize_t)size, "write");
	close(fd);
}

/* ---- check ---- */

static void bare_statx(void *context) {
	(void)context;
	struct statx stx;
	bench_check(
		statx(AT_FDCWD, "src/lib/tracked.c", AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stx) == 0,
		"statx");
}

static void check_tracked(void *context) {
	(void)context;
	bench_check(stet_session_modified(session, "src/lib/tracked.c", NULL) == 0, "check");
}

static void bench_check_unchanged(void) {
	size = 4096;
	mkdir("src", 0755);
	mkdir("src/lib", 0755);
	put_file("src/lib/tracked.c");
	usleep(50000);
	bench_check(stet_session_track_read(session, "src/lib/tracked.c", NULL) == 0, "track");
	const struct bench_case cases[] = {
		{.name = "one statx", .run = bare_statx, .batch = 20},
		{.name = "check of a tracked, unchanged file",
	     .run = check_tracked,
	     .batch = 20,
	     .target = 2.5},
	};
	bench_run("check", cases, 2, 2001);
}

/* ---- hash ---- */

static void bare_hash(void *context) {
	static char buffer[1 << 20];
	struct st_hash hash;
	int fd = open(context, O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, buffer, sizeof buffer);
	bench_check(got == (ssize_t)size && st_hash_of(st_strn(buffer, size), &hash, NULL) == 0,
	            "hash");
	close(fd);
}

static struct st_root root;

static void load_file(void *context) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	bench_check(st_file_load(&root, st_str(context), ST_FILE_MAX, &place, &file, NULL) == 0,
	            "load");
}

static void bench_hash(size_t bytes, const char *title) {
	static char name[] = "hashed.c";
	size = bytes;
	put_file(name);
	usleep(50000);
	const struct bench_case cases[] = {
		{.name = "open + read + SHA-256 + close", .run = bare_hash, .context = name, .batch = 10},
		{.name = "read and hash a file, confined",
	     .run = load_file,
	     .context = name,
	     .batch = 10,
	     .target = 1.1},
	};
	bench_run(title, cases, 2, 501);
}

/* ---- commit ---- */

/*
 * Both cases write a ring of files in turn. Writing one file a thousand times a
 * second is not realistic, and a commit reads a file once more if its timestamp
 * is only some ticks old.
 */
enum { RING = 64 };

static char *old_texts[RING];
static struct st_hash versions[RING];
static unsigned turn;

static const char *ring_name(const char *kind) {
	static char name[64];
	snprintf(name, sizeof name, "%s-%u.c", kind, turn % RING);
	return name;
}

/* Change the text, so that each version is new. */
static void next_version(void) {
	snprintf(text, 16, "%015u", ++turn);
	text[15] = '\n';
}

static void write_and_rename(void *context) {
	next_version();
	put_file("floor.tmp");
	bench_check(rename("floor.tmp", ring_name(context)) == 0, "rename");
}

static void write_and_fsync(void *context) {
	next_version();
	int fd = open(context, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bench_check(fd >= 0 && write(fd, text, size) == (ssize_t)size && fsync(fd) == 0, "fsync");
	close(fd);
	unlink(context);
}

static struct st_write_context writes;

/* Commit as a session does, which still has the bytes of the version it read. */
static void commit(const char *kind, bool relaxed) {
	next_version();
	char *old = old_texts[turn % RING];
	struct st_hash *version = &versions[turn % RING];
	struct st_commit request = {.path = st_str(ring_name(kind)),
	                            .bytes = st_strn(text, size),
	                            .expected = version,
	                            .old = st_strn(old, size),
	                            .relaxed = relaxed};
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	bench_check(st_commit(&root, &writes, &request, &done, NULL) == 0, "commit");
	*version = done.version.hash;
	memcpy(old, text, 16);
}

static void commit_relaxed(void *context) {
	commit(context, true);
}

static void commit_durable(void *context) {
	commit(context, false);
}

static void start_ring(const char *kind, bool remember) {
	for (unsigned i = 0; i < RING; i++) {
		next_version();
		put_file(ring_name(kind));
		if (!remember)
			continue;
		char **old = &old_texts[turn % RING];
		free(*old);
		*old = malloc(size);
		bench_check(*old != NULL, "out of memory");
		memcpy(*old, text, size);
		bench_check(st_hash_of(st_strn(text, size), &versions[turn % RING], NULL) == 0, "hash");
	}
}

static void bench_commit(size_t bytes, const char *title) {
	static char floor_name[] = "floor", name[] = "commit";
	size = bytes;
	start_ring(floor_name, false);
	start_ring(name, true);
	char heading[64];
	const struct bench_case relaxed[] = {
		{.name = "write + rename", .run = write_and_rename, .context = floor_name},
		{.name = "commit, relaxed", .run = commit_relaxed, .context = name, .target = 1.5},
	};
	snprintf(heading, sizeof heading, "commit of %s, relaxed", title);
	bench_run(heading, relaxed, 2, 401);
	const struct bench_case durable[] = {
		{.name = "write + one fsync", .run = write_and_fsync, .context = floor_name},
		{.name = "commit, durable", .run = commit_durable, .context = name},
	};
	snprintf(heading, sizeof heading, "commit of %s, durable", title);
	bench_run(heading, durable, 2, 201);
}

int main(void) {
	bench_enter();
	text = malloc(1 << 20);
	bench_check(text != NULL, "out of memory");
	memset(text, 'x', 1 << 20);
	bench_check(stet_workspace_open(".", &ws, NULL) == 0 &&
	                stet_session_open(ws, NULL, &session, NULL) == 0 &&
	                st_root_open(&root, ".", NULL) == 0,
	            "open");
	st_write_context_init(&writes, &root, ".stet", NULL);
	bench_check_unchanged();
	bench_hash(4096, "hash of 4 KB");
	bench_hash(102400, "hash of 100 KB");
	bench_commit(4096, "4 KB");
	bench_commit(102400, "100 KB");
	st_write_context_release(&writes);
	st_root_release(&root);
	stet_session_close(session);
	stet_workspace_close(ws);
	for (unsigned i = 0; i < RING; i++)
		free(old_texts[i]);
	free(text);
	bench_leave();
}
