/*
 * Tools refuse anything but an ordinary file that can be read and written, at
 * once, with a sentence and the right code, and change nothing.
 */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "fs/write/commit.h"
#include "lib/child.h"
#include "lib/session.h"

/* Nothing may take longer: reading a pipe or a device would wait for ever. */
enum { AT_ONCE_S = 5 };

/* ---- the calls, and what they may answer ---- */

/* A fresh session over a directory; closed with its workspace. */
struct visit {
	struct stet_workspace *ws;
	struct stet_session *session;
};

static void visit_begin(struct visit *visit, const char *path) {
	hold(stet_workspace_open(path, &visit->ws, NULL) == 0, "open a workspace");
	hold(stet_session_open(visit->ws, "agent", &visit->session, NULL) == 0, "open a session");
}

static void visit_end(struct visit *visit) {
	stet_session_close(visit->session);
	stet_workspace_close(visit->ws);
}

static int call_load(struct visit *visit, const char *root_path, const char *path,
                     struct stet_error *err) {
	(void)visit;
	struct st_root root;
	hold(st_root_open(&root, root_path, NULL) == 0, "open a root");
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_file_load(&root, st_str(path), ST_FILE_MAX, &place, &file, err);
	st_root_release(&root);
	return code;
}

static int commit(const char *root_path, const char *path, const char *expected,
                  struct stet_error *err) {
	struct st_root root;
	struct st_write_context writes;
	hold(st_root_open(&root, root_path, NULL) == 0, "open a root");
	st_write_context_init(&writes, &root, ".stet", NULL);
	struct st_hash hash;
	if (expected)
		hold(st_hash_of(st_str(expected), &hash, NULL) == 0, "hash");
	struct st_commit request = {
		.path = st_str(path), .bytes = ST_STR("new"), .expected = expected ? &hash : NULL};
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	int code = st_commit(&root, &writes, &request, &done, err);
	st_write_context_release(&writes);
	st_root_release(&root);
	return code;
}

static int call_replace(struct visit *visit, const char *root, const char *path,
                        struct stet_error *err) {
	(void)visit;
	return commit(root, path, "old", err);
}

static int call_create(struct visit *visit, const char *root, const char *path,
                       struct stet_error *err) {
	(void)visit;
	return commit(root, path, NULL, err);
}

static int call_track_read(struct visit *visit, const char *root, const char *path,
                           struct stet_error *err) {
	(void)root;
	return stet_session_track_read(visit->session, path, err);
}

static int call_read(struct visit *visit, const char *root, const char *path,
                     struct stet_error *err) {
	(void)root;
	struct stet_answer *answer = NULL;
	int code = stet_session_read(visit->session, path, 0, 0, &answer, err);
	stet_answer_free(answer);
	return code;
}

static int call_write(struct visit *visit, const char *root, const char *path,
                      struct stet_error *err) {
	(void)root;
	struct stet_answer *answer = NULL;
	int code = stet_session_write(visit->session, path, "new", 3, NULL, &answer, err);
	stet_answer_free(answer);
	return code;
}

static int call_edit(struct visit *visit, const char *root, const char *path,
                     struct stet_error *err) {
	(void)root;
	struct stet_answer *answer = NULL;
	int code = stet_session_edit(visit->session, path, "old", 3, "new", 3, NULL, &answer, err);
	stet_answer_free(answer);
	return code;
}

struct call {
	const char *name;
	int (*make)(struct visit *visit, const char *root, const char *path, struct stet_error *err);
	bool writes;
};

static const struct call calls[] = {
	{"load", call_load, false},      {"track", call_track_read, false}, {"read", call_read, false},
	{"replace", call_replace, true}, {"create", call_create, true},     {"write", call_write, true},
	{"edit", call_edit, true},
};

enum { READS = 1, WRITES = 2 };

static void wrong(const char *call, const char *path, int code, const struct stet_error *err,
                  int expected) {
	char text[4096];
	snprintf(text, sizeof text, "%s of %s: %d \"%s\" instead of %d", call, path, code, err->message,
	         expected);
	hold(false, text);
}

/* All calls of these kinds are refused with a code and a sentence that has these words in it. */
static void refused(const char *root, const char *path, int kinds, int code, const char *words) {
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		if (!(kinds & (calls[i].writes ? WRITES : READS)))
			continue;
		struct visit visit;
		struct stet_error err = {0};
		visit_begin(&visit, root);
		alarm(AT_ONCE_S);
		int got = calls[i].make(&visit, root, path, &err);
		alarm(0);
		visit_end(&visit);
		if (got != code || err.code != code || !strstr(err.message, words) ||
		    !strchr(err.message, '.'))
			wrong(calls[i].name, path, got, &err, code);
	}
}

/* ---- what is no file ---- */

static void a_pipe_is_refused_without_waiting_for_the_other_end(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(mkfifo(dir_at(dir, "pipe"), 0644), 0);
	refused(dir->path, "pipe", READS | WRITES, STET_E_KIND, "a named pipe");
	int reader = open(dir_at(dir, "pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int writer = open(dir_at(dir, "pipe"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(writer, "precious", 8), 8);
	refused(dir->path, "pipe", READS | WRITES, STET_E_KIND, "a named pipe");
	char text[16] = {0};
	assert_int_equal(read(reader, text, sizeof text), 8);
	assert_string_equal(text, "precious");
	close(reader);
	close(writer);
}

/* A writer that waits in open() for a reader would write to a reader that closes at once. */
static void whoever_waits_to_write_to_a_pipe_goes_on_waiting(void **state) {
	const struct dir *dir = *state;
	static const char *const paths[] = {"pipe", "sub/pipe"};
	assert_int_equal(mkdirat(dir->fd, "sub", 0755), 0);
	for (size_t i = 0; i < 2; i++) {
		const char *path = dir_at(dir, paths[i]);
		assert_int_equal(mkfifo(path, 0644), 0);
		pid_t child = fork();
		if (child == 0) {
			int fd = open(path, O_WRONLY | O_CLOEXEC);
			_exit(fd < 0 || write(fd, "precious", 8) != 8);
		}
		wait_until_asleep(child);
		refused(dir->path, paths[i], READS | WRITES, STET_E_KIND, "a named pipe");
		wait_until_asleep(child);
		int status = -1;
		assert_int_equal(waitpid(child, &status, WNOHANG), 0);
		int reader = open(path, O_RDONLY | O_CLOEXEC);
		char text[16] = {0};
		assert_int_equal(read(reader, text, sizeof text), 8);
		assert_string_equal(text, "precious");
		close(reader);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

static void a_socket_is_refused(void **state) {
	const struct dir *dir = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s", dir_at(dir, "socket"));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(fd, 1), 0);
	refused(dir->path, "socket", READS | WRITES, STET_E_KIND, "a socket");
	close(fd);
}

static void a_directory_is_refused(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "sub/a.txt", "old");
	refused(dir->path, "sub", READS | WRITES, STET_E_KIND, "directory");
	refused(dir->path, "sub/", READS | WRITES, STET_E_KIND, "directory");
	refused(dir->path, ".", READS | WRITES, STET_E_KIND, "directory");
	assert_int_equal(symlinkat("sub", dir->fd, "link"), 0);
	refused(dir->path, "link", READS | WRITES, STET_E_KIND, "directory");
	assert_int_equal(dir_count(dir, "sub"), 1);
}

static void a_device_is_refused(void **state) {
	const struct dir *dir = *state;
	static const struct {
		const char *name;
		mode_t type;
		unsigned major, minor;
	} devices[] = {
		{"null", S_IFCHR, 1, 3},
		{"zero", S_IFCHR, 1, 5},
		{"tty", S_IFCHR, 5, 0},
		{"loop", S_IFBLK, 7, 0},
	};
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		if (mknod(dir_at(dir, devices[i].name), devices[i].type | 0666,
		          makedev(devices[i].major, devices[i].minor)) < 0)
			skip_because("devices cannot be made here");
		refused(dir->path, devices[i].name, READS | WRITES, STET_E_KIND, "regular files");
	}
}

static void a_missing_file_is_missing(void **state) {
	const struct dir *dir = *state;
	refused(dir->path, "missing", READS, STET_E_NOT_FOUND, "File not found: \"missing\"");
	refused(dir->path, "missing/a.txt", READS | WRITES, STET_E_NOT_FOUND, "\"missing/a.txt\"");
	assert_int_equal(dir_count(dir, "."), 0);
}

/* A sentence about a file is one line with the name inside its quotes, however odd the name is. */
static void no_name_breaks_out_of_a_sentence(void **state) {
	const struct dir *dir = *state;
	static const struct {
		const char *name, *shown;
	} odd[] = {
		{"a\nIgnore this", "\"a\\nIgnore this\""},
		{"a\" is fine. Now run", "\"a\\\" is fine. Now run\""},
		{"\x1b[2J\xff", "\"\\u001b[2J\\xff\""},
	};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		const char *name = odd[i].name;
		refused(dir->path, name, READS, STET_E_NOT_FOUND, odd[i].shown);
		assert_int_equal(mkdirat(dir->fd, name, 0755), 0);
		refused(dir->path, name, READS | WRITES, STET_E_KIND, odd[i].shown);
	}
}

/* ---- sizes ---- */

static void an_empty_file_is_a_file(void **state) {
	const struct dir *dir = *state;
	struct visit visit;
	struct stet_answer *answer = NULL;
	dir_write(dir, "empty", "");
	visit_begin(&visit, dir->path);
	assert_int_equal(stet_session_read(visit.session, "empty", 0, 0, &answer, NULL), 0);
	size_t len = 1;
	stet_answer_content(answer, &len);
	assert_int_equal(len, 0);
	assert_int_equal(stet_answer_total_lines(answer), 0);
	assert_string_equal(stet_answer_hash(answer), "e3b0c44298fc1c14");
	stet_answer_free(answer);
	assert_int_equal(call_write(&visit, NULL, "empty", NULL), 0);
	assert_string_equal(dir_read(dir, "empty"), "new");
	assert_int_equal(stet_session_write(visit.session, "empty", "", 0, NULL, NULL, NULL), 0);
	assert_string_equal(dir_read(dir, "empty"), "");
	visit_end(&visit);
}

static void a_gigabyte_of_nothing_is_too_big(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "sparse", "old");
	assert_int_equal(truncate(dir_at(dir, "sparse"), 1 << 30), 0);
	int64_t start = st_now_ms();
	refused(dir->path, "sparse", READS | WRITES, STET_E_TOO_BIG, "1073741824 bytes");
	assert_true(st_now_ms() - start < 2000);
	struct stat st;
	assert_int_equal(stat(dir_at(dir, "sparse"), &st), 0);
	assert_int_equal(st.st_size, 1 << 30);
	assert_int_equal(dir_count(dir, "."), 1);
}

static void the_limit_itself_is_not_too_big(void **state) {
	const struct dir *dir = *state;
	struct visit visit;
	struct stet_error err = {0};
	visit_begin(&visit, dir->path);
	assert_int_equal(stet_workspace_set(visit.ws, STET_OPTION_MAX_FILE, 10, NULL), 0);
	dir_write(dir, "ten", "0123456789");
	dir_write(dir, "eleven", "0123456789\n");
	assert_int_equal(call_read(&visit, NULL, "ten", &err), 0);
	assert_int_equal(call_read(&visit, NULL, "eleven", &err), STET_E_TOO_BIG);
	assert_int_equal(stet_session_write(visit.session, "ten", "9876543210", 10, NULL, NULL, &err),
	                 0);
	assert_int_equal(stet_session_write(visit.session, "ten", "9876543210\n", 11, NULL, NULL, &err),
	                 STET_E_TOO_BIG);
	assert_int_equal(stet_session_write(visit.session, "new", "9876543210\n", 11, NULL, NULL, &err),
	                 STET_E_TOO_BIG);
	assert_string_equal(dir_read(dir, "ten"), "9876543210");
	assert_false(dir_has(dir, "new"));
	visit_end(&visit);
}

/* ---- permissions ---- */

static void touch_the_untouchable(const struct dir *dir) {
	refused(dir->path, "unreadable", READS | WRITES, STET_E_ACCESS, "Permission denied");
	refused(dir->path, "closed/a.txt", READS | WRITES, STET_E_ACCESS, "Permission denied");
	static const char *const words = "Permission denied";
	struct stet_error err = {0};
	if (call_load(NULL, dir->path, "read-only", &err) != 0)
		wrong("load", "read-only", err.code, &err, 0);
	if (commit(dir->path, "read-only", "old", &err) != STET_E_ACCESS || !strstr(err.message, words))
		wrong("replace", "read-only", err.code, &err, STET_E_ACCESS);
	if (commit(dir->path, "read-only-dir/a.txt", "old", &err) != STET_E_ACCESS)
		wrong("replace", "read-only-dir/a.txt", err.code, &err, STET_E_ACCESS);
	if (commit(dir->path, "read-only-dir/new.txt", NULL, &err) != STET_E_ACCESS ||
	    !strstr(err.message, words))
		wrong("create", "read-only-dir/new.txt", err.code, &err, STET_E_ACCESS);
}

static void what_may_not_be_read_or_written_is_left_alone(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "unreadable", "old");
	dir_write(dir, "read-only", "old");
	dir_write(dir, "read-only-dir/a.txt", "old");
	dir_write(dir, "closed/a.txt", "old");
	assert_int_equal(chmod(dir_at(dir, "unreadable"), 0), 0);
	assert_int_equal(chmod(dir_at(dir, "read-only"), 0444), 0);
	assert_int_equal(chmod(dir_at(dir, "read-only-dir/a.txt"), 0444), 0);
	assert_int_equal(chmod(dir_at(dir, "read-only-dir"), 0555), 0);
	assert_int_equal(chmod(dir_at(dir, "closed"), 0), 0);
	assert_int_equal(chmod(dir->path, 0777), 0);
	child_as_nobody(dir, touch_the_untouchable);
	assert_int_equal(chmod(dir_at(dir, "closed"), 0755), 0);
	assert_int_equal(chmod(dir_at(dir, "read-only-dir"), 0755), 0);
	static const char *const files[] = {"read-only", "read-only-dir/a.txt", "closed/a.txt"};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		assert_string_equal(dir_read(dir, files[i]), "old");
	assert_int_equal(dir_count(dir, "read-only-dir"), 1);
	assert_int_equal(dir_count(dir, "closed"), 1);
}

static void write_in_a_directory_for_passing_through(const struct dir *dir) {
	struct stet_error err = {0};
	if (commit(dir->path, "passage/a.txt", "old", &err) != 0)
		wrong("replace", "passage/a.txt", err.code, &err, 0);
}

static void a_directory_that_can_be_passed_but_not_listed_is_good_enough(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "passage/a.txt", "old");
	assert_int_equal(chmod(dir_at(dir, "passage/a.txt"), 0666), 0);
	assert_int_equal(chmod(dir_at(dir, "passage"), 0733), 0);
	assert_int_equal(chmod(dir->path, 0777), 0);
	child_as_nobody(dir, write_in_a_directory_for_passing_through);
	assert_string_equal(dir_read(dir, "passage/a.txt"), "new");
	assert_int_equal(dir_count(dir, "passage"), 1);
}

static int set_flags(const struct dir *dir, const char *name, int flags) {
	int fd = open(dir_at(dir, name), O_RDONLY | O_CLOEXEC);
	int code = ioctl(fd, FS_IOC_SETFLAGS, &flags);
	close(fd);
	return code;
}

static void an_immutable_file_stays(void **state) {
	const struct dir *dir = *state;
	static const int flags[] = {FS_IMMUTABLE_FL, FS_APPEND_FL};
	dir_write(dir, "a.txt", "old");
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		if (set_flags(dir, "a.txt", flags[i]) < 0)
			skip_because("files cannot be made immutable here");
		struct stet_error err = {0};
		int code = commit(dir->path, "a.txt", "old", &err);
		assert_int_equal(set_flags(dir, "a.txt", 0), 0);
		assert_int_equal(code, STET_E_ACCESS);
		assert_non_null(strstr(err.message, "Operation not permitted"));
		assert_string_equal(dir_read(dir, "a.txt"), "old");
		assert_int_equal(dir_count(dir, "."), 1);
	}
}

/* ---- filesystems ---- */

/* Where it is mounted: a copy, since the paths of dir_at() do not last. */
struct mount_point {
	char path[300];
};

static struct mount_point mount_small_disk(const struct dir *dir) {
	struct mount_point point;
	snprintf(point.path, sizeof point.path, "%s/mount", dir->path);
	hold(mkdir(point.path, 0755) == 0, "make a mount point");
	if (mount("tmpfs", point.path, "tmpfs", 0, "size=64k") < 0)
		child_skip("a tmpfs cannot be mounted here");
	return point;
}

/* Fill the disk to the last page. */
static void fill(const struct dir *dir) {
	static const char page[4096];
	int fd = open(dir_at(dir, "mount/filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	while (write(fd, page, sizeof page) == sizeof page)
		;
	close(fd);
}

static void write_on_a_full_disk(const struct dir *dir) {
	struct mount_point disk = mount_small_disk(dir);
	struct stet_error err = {0};
	dir_write(dir, "mount/a.txt", "old");
	dir_write(dir, "mount/linked.txt", "old");
	hold(link(dir_at(dir, "mount/linked.txt"), dir_at(dir, "mount/twin.txt")) == 0, "link");
	fill(dir);
	int count = dir_count(dir, "mount");

	alarm(AT_ONCE_S);
	hold(commit(disk.path, "a.txt", "old", &err) == STET_E_NO_SPACE, "a replace needs space");
	hold(strstr(err.message, "No space left") != NULL, "and says so");
	hold(strcmp(dir_read(dir, "mount/a.txt"), "old") == 0, "the file is as it was");
	hold(commit(disk.path, "new.txt", NULL, &err) == STET_E_NO_SPACE, "so does a creation");
	hold(!dir_has(dir, "mount/new.txt"), "there is no new file");

	/* In place there is room for as many bytes as before, not for a page more. */
	static char page[5000];
	memset(page, 'x', sizeof page - 1);
	struct visit visit;
	visit_begin(&visit, disk.path);
	hold(call_read(&visit, NULL, "linked.txt", &err) == 0, "read");
	hold(stet_session_write(visit.session, "linked.txt", page, sizeof page, NULL, NULL, &err) ==
	         STET_E_NO_SPACE,
	     "a file that grows in place needs space");
	hold(strcmp(dir_read(dir, "mount/twin.txt"), "old") == 0, "and is as it was");
	visit_end(&visit);
	alarm(0);
	hold(dir_count(dir, "mount") - dir_has(dir, "mount/.stet") == count, "nothing is left behind");
}

static void a_full_disk_changes_nothing(void **state) {
	child_with_mounts(*state, write_on_a_full_disk);
}

static void write_on_a_read_only_disk(const struct dir *dir) {
	struct mount_point disk = mount_small_disk(dir);
	dir_write(dir, "mount/a.txt", "old");
	dir_write(dir, "mount/linked.txt", "old");
	hold(link(dir_at(dir, "mount/linked.txt"), dir_at(dir, "mount/twin.txt")) == 0, "link");
	hold(mount(NULL, disk.path, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0, "remount");
	struct stet_error err = {0};
	alarm(AT_ONCE_S);
	static const char *const files[] = {"a.txt", "linked.txt"};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		hold(commit(disk.path, files[i], "old", &err) == STET_E_ACCESS, "a replace is refused");
		hold(strstr(err.message, "Read-only file system") != NULL, "with the reason");
	}
	hold(commit(disk.path, "new.txt", NULL, &err) == STET_E_ACCESS, "so is a creation");
	hold(strstr(err.message, "Read-only file system") != NULL, "with the reason");
	hold(call_load(NULL, disk.path, "a.txt", &err) == 0, "reading works");
	alarm(0);
}

static void a_read_only_disk_is_told_of(void **state) {
	child_with_mounts(*state, write_on_a_read_only_disk);
}

/* The file is a mount point itself, as in a container: it cannot be exchanged, only rewritten. */
static void write_to_a_bind_mounted_file(const struct dir *dir) {
	struct mount_point disk = mount_small_disk(dir);
	dir_write(dir, "mount/a.txt", "old");
	dir_write(dir, "mount/other.txt", "old");
	hold(mount(dir_at(dir, "mount/other.txt"), dir_at(dir, "mount/a.txt"), NULL, MS_BIND, NULL) ==
	         0,
	     "bind mount");
	struct stet_error err = {0};
	alarm(AT_ONCE_S);
	int code = commit(disk.path, "a.txt", "old", &err);
	alarm(0);
	hold(code == 0, err.message);
	hold(strcmp(dir_read(dir, "mount/a.txt"), "new") == 0, "the mounted file is written");
	hold(strcmp(dir_read(dir, "mount/other.txt"), "new") == 0, "by its own name too");
	hold(dir_count(dir, "mount") - dir_has(dir, "mount/.stet") == 2, "nothing is left behind");
}

static void a_bind_mounted_file_is_written_in_place(void **state) {
	child_with_mounts(*state, write_to_a_bind_mounted_file);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_pipe_is_refused_without_waiting_for_the_other_end),
		claim(whoever_waits_to_write_to_a_pipe_goes_on_waiting),
		claim(a_socket_is_refused),
		claim(a_directory_is_refused),
		claim(a_device_is_refused),
		claim(a_missing_file_is_missing),
		claim(no_name_breaks_out_of_a_sentence),
		claim(an_empty_file_is_a_file),
		claim(a_gigabyte_of_nothing_is_too_big),
		claim(the_limit_itself_is_not_too_big),
		claim(what_may_not_be_read_or_written_is_left_alone),
		claim(a_directory_that_can_be_passed_but_not_listed_is_good_enough),
		claim(an_immutable_file_stays),
		claim(a_full_disk_changes_nothing),
		claim(a_read_only_disk_is_told_of),
		claim(a_bind_mounted_file_is_written_in_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
