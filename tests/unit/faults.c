/*
 * The n-th allocation and the n-th system call fail, for every n, in every
 * operation: a clear error and nothing changed, or success; nothing leaks, and
 * nothing is left behind.
 */
#include <dirent.h>
#include <limits.h>
#include <sys/xattr.h>

#include "fs/write/commit.h"
#include "fs/write/temp.h"
#include "fs/versions/late_writes.h"
#include "fs/versions/versions.h"
#include "fs/versions/state_dir.h"
#include "lib/bench.h"
#include "lib/fault.h"
#include "stet/session.h"

#define OLD "the old text,\nlonger than the new\n"
#define LONG OLD OLD OLD
#define EDITED "the old text,\nlonger than before\n"

/* Somebody else's bytes, wherever they come in. */
#define THEIRS "somebody's work"

#define CHANGED THEIRS ", and\nlonger than the new\n"

/* One operation under test. */
struct stage {
	struct dir *dir;
	struct st_root root;
	struct st_write_context writes;
	/* For scenes of a session; it has a root and a write context of its own. */
	struct stet_workspace *ws;
	struct stet_session *session;
};

struct scene {
	const char *name;
	/* Makes the files, before anything is opened. */
	void (*lay)(const struct dir *dir);
	/* Goes before the operation, without faults; may be NULL. */
	void (*open)(struct stage *stage);
	int (*play)(struct stage *stage, struct stet_error *err);
	/* The file to look at, what it held, and holds after success; NULL for no file. */
	const char *file;
	const char *before;
	const char *after;
	/* What play() answers without a fault. */
	int code;
	/* Somebody's bytes are about; to get lost they may not, or not without a word. */
	bool theirs;
	bool or_told;
	/* The file is rewritten in place, which cannot be undone when everything fails. */
	bool in_place;
	/* The directory of the file, if not the root. */
	const char *beside;
	/* The filesystem has no exchange. */
	bool lacks_exchange;
};

/* ---- the scenes ---- */

static int commit(struct stage *stage, const char *path, const char *expected, const char *text,
                  bool relaxed, struct stet_error *err) {
	struct st_hash hash = expected ? hash_of(expected) : (struct st_hash){0};
	struct st_commit request = {.path = st_str(path),
	                            .bytes = st_str(text),
	                            .expected = expected ? &hash : NULL,
	                            .relaxed = relaxed};
	/* Some callers have the old bytes at hand, and some do not. */
	if (expected && !relaxed)
		request.old = st_str(expected);
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	return st_commit(&stage->root, &stage->writes, &request, &done, err);
}

static void lay_nothing(const struct dir *dir) {
	(void)dir;
}

static void lay_file(const struct dir *dir) {
	dir_write(dir, "a.txt", OLD);
	assert_int_equal(chmod(dir_at(dir, "a.txt"), 0640), 0);
}

static void lay_new(const struct dir *dir) {
	dir_write(dir, "a.txt", "new");
}

static void lay_theirs(const struct dir *dir) {
	dir_write(dir, "a.txt", THEIRS);
}

static void lay_hard_link(const struct dir *dir) {
	lay_file(dir);
	assert_int_equal(linkat(dir->fd, "a.txt", dir->fd, "b.txt", 0), 0);
}

/* As much to carry over as this filesystem and user allow. */
static void lay_attributes(const struct dir *dir) {
	lay_file(dir);
	const char *path = dir_at(dir, "a.txt");
	if (geteuid() == 0)
		assert_int_equal(chown(path, 1, 2), 0);
	assert_int_equal(chmod(path, 04751), 0);
	assert_true(setxattr(path, "user.first", "1", 1, 0) == 0 || errno == ENOTSUP);
	assert_true(setxattr(path, "user.second", "2", 1, 0) == 0 || errno == ENOTSUP);
}

static void lay_links(const struct dir *dir) {
	dir_write(dir, "real/sub/a.txt", OLD);
	assert_int_equal(symlinkat("real/../real/sub", dir->fd, "first"), 0);
	assert_int_equal(symlinkat(dir_at(dir, "first"), dir->fd, "second"), 0);
	assert_int_equal(symlinkat("second/a.txt", dir->fd, "link"), 0);
}

/* Make the leftover of a commit that was killed after its exchange with another writer's version. */
static void lay_leftover(const struct dir *dir) {
	lay_file(dir);
	struct st_temp temp = {.expected = hash_of("v1"), .hash = hash_of("v2")};
	struct st_hash target = hash_of("a.txt");
	st_hash_hex(&target, temp.target, ST_TEMP_TARGET);
	assert_true(st_temp_name(&temp, 0x0badcafe, true));
	dir_write(dir, temp.name, THEIRS);
	assert_true(st_temp_name(&temp, 0x0badcafe, false));
	dir_write(dir, temp.name, "half of v");
}

static void lay_crashed_rewrite(const struct dir *dir) {
	lay_file(dir);
	assert_int_equal(mkdir(dir_at(dir, ".stet"), 0700), 0);
	char hex[17], name[64];
	struct st_hash hash = hash_of(THEIRS);
	st_hash_hex(&hash, hex, 16);
	snprintf(name, sizeof name, ".stet/rescued/%s-b.txt.in-place", hex);
	dir_write(dir, name, THEIRS);
}

static int play_open(struct stage *stage, struct stet_error *err) {
	struct st_root root;
	int code = st_root_open(&root, stage->dir->path, err);
	if (code == 0)
		st_root_release(&root);
	return code;
}

static int play_open_relative(struct stage *stage, struct stet_error *err) {
	struct st_root root;
	assert_int_equal(fchdir(stage->dir->fd), 0);
	int code = st_root_open(&root, ".", err);
	if (code == 0)
		st_root_release(&root);
	assert_int_equal(chdir("/"), 0);
	return code;
}

static int locate(struct stage *stage, const char *path, const char *expected,
                  struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_root_locate(&stage->root, st_str(path), &place, err);
	if (code == 0)
		assert_string_equal(place.path, expected);
	return code;
}

static int play_locate(struct stage *stage, struct stet_error *err) {
	return locate(stage, "./a.txt", "a.txt", err);
}

static int play_locate_links(struct stage *stage, struct stet_error *err) {
	return locate(stage, "link", "real/sub/a.txt", err);
}

static int play_locate_alias(struct stage *stage, struct stet_error *err) {
	char path[300];
	snprintf(path, sizeof path, "/.%s/a.txt", stage->dir->path);
	return locate(stage, path, "a.txt", err);
}

static int load(struct stage *stage, const char *path, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_file_load(&stage->root, st_str(path), ST_FILE_MAX, &place, &file, err);
	if (code == 0)
		assert_string_equal(file.bytes.ptr, OLD);
	return code;
}

static int play_load(struct stage *stage, struct stet_error *err) {
	return load(stage, "a.txt", err);
}

static int play_load_link(struct stage *stage, struct stet_error *err) {
	return load(stage, "link", err);
}

static int play_peek(struct stage *stage, struct stet_error *err) {
	struct stat st;
	int code = st_root_peek(&stage->root, "a.txt", &st, err);
	if (code >= 0)
		assert_int_equal(code, 1);
	return code < 0 ? code : 0;
}

static int play_replace(struct stage *stage, struct stet_error *err) {
	return commit(stage, "a.txt", OLD, "new", false, err);
}

static int play_grow(struct stage *stage, struct stet_error *err) {
	return commit(stage, "a.txt", OLD, LONG, false, err);
}

static int play_replace_relaxed(struct stage *stage, struct stet_error *err) {
	return commit(stage, "a.txt", OLD, "new", true, err);
}

static int play_replace_through_link(struct stage *stage, struct stet_error *err) {
	return commit(stage, "link", OLD, "new", false, err);
}

static int store_old(struct stage *stage, bool relaxed, struct stet_error *err) {
	struct st_hash hash = hash_of(OLD);
	struct st_commit request = {.path = st_str("a.txt"),
	                            .bytes = st_str("new"),
	                            .expected = &hash,
	                            .archive = true,
	                            .relaxed = relaxed};
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	return st_commit(&stage->root, &stage->writes, &request, &done, err);
}

static int play_store_old(struct stage *stage, struct stet_error *err) {
	return store_old(stage, false, err);
}

static int play_store_old_relaxed(struct stage *stage, struct stet_error *err) {
	return store_old(stage, true, err);
}

static void open_stored(struct stage *stage) {
	assert_int_equal(store_old(stage, false, NULL), 0);
}

/* A version that cannot be stored or loaded is missing, and nothing else fails. */
static int play_archive(struct stage *stage, struct stet_error *err) {
	(void)err;
	(void)st_versions_archive(&stage->writes.versions);
	return 0;
}

static int play_stored(struct stage *stage, struct stet_error *err) {
	(void)err;
	struct st_hash hash = hash_of(OLD), other = hash_of(LONG);
	st_auto(st_buf) bytes = ST_BUF_INIT;
	if (st_versions_get(&stage->writes.versions, &hash, &bytes))
		assert_string_equal(bytes.ptr, OLD);
	if (st_versions_put(&stage->writes.versions, &other, st_str(LONG)) &&
	    st_versions_get(&stage->writes.versions, &other, &bytes))
		assert_string_equal(bytes.ptr, LONG);
	return 0;
}

static int play_create(struct stage *stage, struct stet_error *err) {
	return commit(stage, "a.txt", NULL, "new", false, err);
}

static void write_late(struct stage *stage) {
	char path[64];
	int looked_up = open(dir_at(stage->dir, "a.txt"), O_PATH | O_CLOEXEC);
	assert_int_equal(play_replace(stage, NULL), 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", looked_up);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd, THEIRS, strlen(THEIRS)), strlen(THEIRS));
	close(fd);
	close(looked_up);
}

static int play_settle(struct stage *stage, struct stet_error *err) {
	(void)err;
	st_late_writes_drain(&stage->writes.late_writes, 0);
	return 0;
}

/* A git index that tracks nothing. */
static void lay_index(const struct dir *dir) {
	lay_file(dir);
	dir_write_bytes(dir, ".git/index", "DIRC\0\0\0\2\0\0\0\0checksum of 20 bytes", 32);
}

/* The same in a worktree of its own. */
static void lay_worktree(const struct dir *dir) {
	lay_file(dir);
	dir_write(dir, ".git", "gitdir: tree\n");
	dir_write_bytes(dir, "tree/index", "DIRC\0\0\0\2\0\0\0\0checksum of 20 bytes", 32);
}

static int play_state(struct stage *stage, struct stet_error *err) {
	int fd = st_state_open(&stage->root, ".stet", err);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* ---- the scenes of a session ---- */

static void open_session(struct stage *stage) {
	assert_int_equal(stet_workspace_open(stage->dir->path, &stage->ws, NULL), 0);
	/* The stored state has tests of its own. */
	assert_int_equal(stet_workspace_set(stage->ws, STET_OPTION_STATE, 0, NULL), 0);
	assert_int_equal(stet_session_open(stage->ws, "agent", &stage->session, NULL), 0);
}

static void open_reader(struct stage *stage) {
	open_session(stage);
	assert_int_equal(stet_session_track_read(stage->session, "a.txt", NULL), 0);
}

/* With a stamp that is old enough to be relied upon. */
static void open_settled_reader(struct stage *stage) {
	sleep_ms(12);
	open_reader(stage);
}

/* The session has read a version that another process replaced. */
static void open_stale_reader(struct stage *stage) {
	open_session(stage);
	assert_int_equal(stet_session_track_read(stage->session, "a.txt", NULL), 0);
	dir_write(stage->dir, "a.txt", CHANGED);
}

static int play_workspace(struct stage *stage, struct stet_error *err) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	int code = stet_workspace_open(stage->dir->path, &ws, err);
	if (code == 0)
		code = stet_session_open(ws, "agent", &session, err);
	stet_session_close(session);
	stet_workspace_close(ws);
	return code;
}

static int answered(struct stet_answer *answer, int code, const char *status) {
	if (code == 0)
		assert_string_equal(stet_answer_status(answer), status);
	stet_answer_free(answer);
	return code;
}

static int play_track_read(struct stage *stage, struct stet_error *err) {
	return stet_session_track_read(stage->session, "a.txt", err);
}

static int play_track(struct stage *stage, struct stet_error *err) {
	return stet_session_track(stage->session, "a.txt", OLD, strlen(OLD), err);
}

static int play_unmodified(struct stage *stage, struct stet_error *err) {
	int code = stet_session_modified(stage->session, "a.txt", err);
	if (code >= 0)
		assert_int_equal(code, 0);
	return code;
}

static int play_modified(struct stage *stage, struct stet_error *err) {
	int code = stet_session_modified(stage->session, "a.txt", err);
	if (code >= 0)
		assert_int_equal(code, 1);
	return code < 0 ? code : 0;
}

static int play_check_clean(struct stage *stage, struct stet_error *err) {
	struct stet_answer *answer = NULL;
	int code = stet_session_check(stage->session, "a.txt", &answer, err);
	return answered(answer, code, "clean");
}

static int play_check_modified(struct stage *stage, struct stet_error *err) {
	struct stet_answer *answer = NULL;
	int code = stet_session_check(stage->session, "a.txt", &answer, err);
	if (code == 0)
		assert_non_null(strstr(stet_answer_diff(answer, NULL), "+" THEIRS));
	return answered(answer, code, "modified");
}

static int write_whole(struct stage *stage, struct stet_error *err) {
	struct stet_answer *answer = NULL;
	int code = stet_session_write(stage->session, "a.txt", "new", 3, NULL, &answer, err);
	if (code == 0)
		assert_string_equal(stet_answer_path(answer), "a.txt");
	return answered(answer, code, "success");
}

static int edit_text(struct stage *stage, struct stet_error *err) {
	struct stet_answer *answer = NULL;
	int code = stet_session_edit(stage->session, "a.txt", "than the new", 12, "than before", 11,
	                             NULL, &answer, err);
	return answered(answer, code, "success");
}

/* A text that was not delivered was not seen. */
static int play_read(struct stage *stage, struct stet_error *err) {
	struct stet_answer *answer = NULL;
	int code = stet_session_read(stage->session, "a.txt", 0, 0, &answer, err);
	if (code == 0) {
		assert_string_equal(stet_answer_content(answer, NULL), OLD);
	} else {
		fault_off();
		assert_int_equal(write_whole(stage, NULL), STET_E_CONFLICT);
	}
	return answered(answer, code, "success");
}

/* The same of a file that has changed since an earlier read. */
static int play_read_again(struct stage *stage, struct stet_error *err) {
	struct stet_answer *answer = NULL;
	int code = stet_session_read(stage->session, "a.txt", 1, 1, &answer, err);
	if (code < 0) {
		fault_off();
		int modified = stet_session_modified(stage->session, "a.txt", NULL);
		assert_int_equal(modified, 1);
	}
	return answered(answer, code, "success");
}

/* ---- all of them ---- */

static const struct scene scenes[] = {
	{.name = "open a root",
     .lay = lay_file,
     .play = play_open,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "open a relative root",
     .lay = lay_file,
     .play = play_open_relative,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "locate",
     .lay = lay_file,
     .play = play_locate,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "locate through links",
     .lay = lay_links,
     .play = play_locate_links,
     .file = "link",
     .before = OLD,
     .after = OLD},
	{.name = "locate by another spelling of the root",
     .lay = lay_file,
     .play = play_locate_alias,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "peek",
     .lay = lay_file,
     .play = play_peek,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "load",
     .lay = lay_file,
     .play = play_load,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "load through links",
     .lay = lay_links,
     .play = play_load_link,
     .file = "link",
     .before = OLD,
     .after = OLD},
	{.name = "replace",
     .lay = lay_file,
     .play = play_replace,
     .file = "a.txt",
     .before = OLD,
     .after = "new"},
	{.name = "replace, relaxed",
     .lay = lay_file,
     .play = play_replace_relaxed,
     .file = "a.txt",
     .before = OLD,
     .after = "new"},
	{.name = "replace through links",
     .lay = lay_links,
     .play = play_replace_through_link,
     .file = "link",
     .before = OLD,
     .after = "new",
     .beside = "real/sub/"},
	{.name = "replace and store the old version",
     .lay = lay_file,
     .play = play_store_old,
     .file = "a.txt",
     .before = OLD,
     .after = "new"},
	{.name = "replace and store the old version, relaxed",
     .lay = lay_index,
     .play = play_store_old_relaxed,
     .file = "a.txt",
     .before = OLD,
     .after = "new"},
	{.name = "archive",
     .lay = lay_file,
     .open = open_stored,
     .play = play_archive,
     .file = "a.txt",
     .before = "new",
     .after = "new"},
	{.name = "load a version",
     .lay = lay_file,
     .open = open_stored,
     .play = play_stored,
     .file = "a.txt",
     .before = "new",
     .after = "new"},
	{.name = "create", .lay = lay_nothing, .play = play_create, .file = "a.txt", .after = "new"},
	{.name = "noop",
     .lay = lay_new,
     .play = play_replace,
     .file = "a.txt",
     .before = "new",
     .after = "new"},
	{.name = "conflict",
     .lay = lay_theirs,
     .play = play_replace,
     .file = "a.txt",
     .before = THEIRS,
     .code = STET_E_CONFLICT},
	{.name = "conflict of creation",
     .lay = lay_theirs,
     .play = play_create,
     .file = "a.txt",
     .before = THEIRS,
     .code = STET_E_CONFLICT},
	{.name = "conflict with a deletion",
     .lay = lay_nothing,
     .play = play_replace,
     .file = "a.txt",
     .code = STET_E_CONFLICT},
	{.name = "hard link",
     .lay = lay_hard_link,
     .play = play_replace,
     .file = "b.txt",
     .before = OLD,
     .after = "new",
     .in_place = true},
	{.name = "hard link that grows",
     .lay = lay_hard_link,
     .play = play_grow,
     .file = "b.txt",
     .before = OLD,
     .after = LONG,
     .in_place = true},
	{.name = "attributes",
     .lay = lay_attributes,
     .play = play_replace,
     .file = "a.txt",
     .before = OLD,
     .after = "new",
     .in_place = true},
	{.name = "replace without exchange",
     .lay = lay_file,
     .play = play_replace,
     .file = "a.txt",
     .before = OLD,
     .after = "new",
     .lacks_exchange = true},
	{.name = "create without exchange",
     .lay = lay_nothing,
     .play = play_create,
     .file = "a.txt",
     .after = "new",
     .lacks_exchange = true},
	{.name = "leftover",
     .lay = lay_leftover,
     .play = play_replace,
     .file = "a.txt",
     .before = OLD,
     .after = "new",
     .theirs = true},
	{.name = "leftover, relaxed",
     .lay = lay_leftover,
     .play = play_replace_relaxed,
     .file = "a.txt",
     .before = OLD,
     .after = "new",
     .theirs = true},
	{.name = "crashed rewrite",
     .lay = lay_crashed_rewrite,
     .play = play_replace,
     .file = "a.txt",
     .before = OLD,
     .after = "new",
     .theirs = true},
	{.name = "late write",
     .lay = lay_file,
     .open = write_late,
     .play = play_settle,
     .file = "a.txt",
     .before = "new",
     .after = "new",
     .theirs = true,
     .or_told = true},
	{.name = "open a workspace and a session",
     .lay = lay_file,
     .play = play_workspace,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "track a read",
     .lay = lay_file,
     .open = open_session,
     .play = play_track_read,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "track content",
     .lay = lay_file,
     .open = open_session,
     .play = play_track,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "ask if modified: no",
     .lay = lay_file,
     .open = open_settled_reader,
     .play = play_unmodified,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "ask if modified: yes",
     .lay = lay_file,
     .open = open_stale_reader,
     .play = play_modified,
     .file = "a.txt",
     .before = CHANGED,
     .after = CHANGED},
	{.name = "check: clean",
     .lay = lay_file,
     .open = open_settled_reader,
     .play = play_check_clean,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "check: modified",
     .lay = lay_file,
     .open = open_stale_reader,
     .play = play_check_modified,
     .file = "a.txt",
     .before = CHANGED,
     .after = CHANGED},
	{.name = "read",
     .lay = lay_file,
     .open = open_session,
     .play = play_read,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "read again",
     .lay = lay_file,
     .open = open_stale_reader,
     .play = play_read_again,
     .file = "a.txt",
     .before = CHANGED,
     .after = CHANGED},
	{.name = "write",
     .lay = lay_file,
     .open = open_reader,
     .play = write_whole,
     .file = "a.txt",
     .before = OLD,
     .after = "new"},
	{.name = "write a new file",
     .lay = lay_nothing,
     .open = open_session,
     .play = write_whole,
     .file = "a.txt",
     .after = "new"},
	{.name = "write an unread file",
     .lay = lay_file,
     .open = open_session,
     .play = write_whole,
     .file = "a.txt",
     .before = OLD,
     .code = STET_E_CONFLICT},
	{.name = "write a changed file",
     .lay = lay_file,
     .open = open_stale_reader,
     .play = write_whole,
     .file = "a.txt",
     .before = CHANGED,
     .code = STET_E_CONFLICT},
	{.name = "edit",
     .lay = lay_file,
     .open = open_reader,
     .play = edit_text,
     .file = "a.txt",
     .before = OLD,
     .after = EDITED},
	{.name = "edit an unread file",
     .lay = lay_file,
     .open = open_session,
     .play = edit_text,
     .file = "a.txt",
     .before = OLD,
     .after = EDITED},
	{.name = "edit a changed file",
     .lay = lay_file,
     .open = open_stale_reader,
     .play = edit_text,
     .file = "a.txt",
     .before = CHANGED,
     .code = STET_E_CONFLICT},
	{.name = "edit a hard link",
     .lay = lay_hard_link,
     .open = open_reader,
     .play = edit_text,
     .file = "b.txt",
     .before = OLD,
     .after = EDITED,
     .in_place = true},
	{.name = "state directory",
     .lay = lay_index,
     .play = play_state,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
	{.name = "state directory in a worktree",
     .lay = lay_worktree,
     .play = play_state,
     .file = "a.txt",
     .before = OLD,
     .after = OLD},
};

/* ---- looking at what is left ---- */

static int open_descriptors(void) {
	DIR *dir = opendir("/proc/self/fd");
	assert_non_null(dir);
	int count = 0;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* How many names in a directory begin and end like this; 0 if it is missing. */
static int count_names(const struct dir *dir, const char *name, const char *begin,
                       const char *end) {
	DIR *stream = opendir(dir_at(dir, name));
	int count = 0;
	for (struct dirent *entry; stream && (entry = readdir(stream));)
		count += st_str_starts(st_str(entry->d_name), st_str(begin)) &&
		         st_str_ends(st_str(entry->d_name), st_str(end));
	if (stream)
		closedir(stream);
	return count;
}

/* Whether a file below .stet/rescued holds these bytes. */
static bool is_kept(const struct dir *dir, const char *bytes) {
	DIR *stream = opendir(dir_at(dir, ".stet/rescued"));
	bool found = false;
	for (struct dirent *entry; stream && !found && (entry = readdir(stream));) {
		char name[300];
		snprintf(name, sizeof name, ".stet/rescued/%s", entry->d_name);
		found = entry->d_type == DT_REG && strcmp(dir_read(dir, name), bytes) == 0;
	}
	if (stream)
		closedir(stream);
	return found;
}

/* Whether a notice spoke of bytes that are or could not be kept; all of them are taken. */
static bool was_told(struct st_write_context *writes) {
	static const char *const words[] = {"rescued", "could not be saved", "could not be read",
	                                    "did not fit"};
	bool told = false;
	for (char *notice; (notice = st_write_next_notice(writes)); free(notice)) {
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			told = told || strstr(notice, words[i]);
	}
	return told;
}

static bool holds(const struct dir *dir, const char *file, const char *text) {
	if (!text)
		return !dir_has(dir, file);
	return dir_has(dir, file) && strcmp(dir_read(dir, file), text) == 0;
}

/* ---- one performance ---- */

struct fault {
	enum fault_kind kind;
	unsigned nth;
	int errnum;
	bool forever;
};

static void complain(const struct scene *scene, const struct fault *fault, const char *what,
                     int code, const struct stet_error *err) {
	print_error("%s: %s %u%s (%s) fails with %s: %s; the answer was %d \"%s\"\n", scene->name,
	            fault->kind == FAULT_ALLOC ? "allocation" : "system call", fault->nth,
	            fault->forever ? " and later" : "", fault_where(), strerrorname_np(fault->errnum),
	            what, code, err->message);
}

#define expect(condition, what) \
	do { \
		if (!(condition)) { \
			complain(scene, fault, what, code, &err); \
			(*failures)++; \
		} \
	} while (0)

static void stage_open(struct stage *stage, const struct scene *scene) {
	void *state = NULL;
	assert_int_equal(dir_setup(&state), 0);
	stage->dir = state;
	scene->lay(stage->dir);
	assert_int_equal(st_root_open(&stage->root, stage->dir->path, NULL), 0);
	st_write_context_init(&stage->writes, &stage->root, ".stet", NULL);
	if (scene->open)
		scene->open(stage);
}

static void stage_close(struct stage *stage) {
	void *state = stage->dir;
	if (stage->ws)
		stet_workspace_drain(stage->ws, 0);
	stet_session_close(stage->session);
	stet_workspace_close(stage->ws);
	st_late_writes_drain(&stage->writes.late_writes, 0);
	st_write_context_release(&stage->writes);
	st_root_release(&stage->root);
	assert_int_equal(dir_teardown(&state), 0);
}

/* Whether the code is the one for such a failure. Failures that mean something to us are not so simple. */
static bool is_apt(int code, const struct scene *scene, const struct fault *fault) {
	static const int plain[] = {ENOMEM, ENOSPC, EIO, EMFILE, EROFS};
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
		if (fault->errnum == plain[i])
			return code == scene->code || code == st_code_of_errno(fault->errnum);
	}
	return true;
}

static bool perform(const struct scene *scene, const struct fault *fault, int *failures) {
	int descriptors = open_descriptors();
	struct stage stage = {0};
	struct stet_error err = {0};
	stage_open(&stage, scene);

	struct stat old, new;
	bool had_file = stat(dir_at(stage.dir, scene->file), &old) == 0;
	fault_lack_exchange(scene->lacks_exchange);
	if (fault->forever)
		fault_arm_from(fault->kind, fault->nth, fault->errnum);
	else
		fault_arm(fault->kind, fault->nth, fault->errnum);
	alarm(20);
	int code = scene->play(&stage, &err);
	alarm(0);
	fault_off();
	bool fired = fault_fired();
	if (had_file && stat(dir_at(stage.dir, scene->file), &new) == 0)
		expect(new.st_mode == old.st_mode &&new.st_uid == old.st_uid &&new.st_gid == old.st_gid,
		       "mode or owner are others");
	if (!fired || fault->errnum == EINTR)
		expect(code == scene->code, "should have gone as ever");
	if (code == 0) {
		expect(holds(stage.dir, scene->file, scene->after),
		       "success, but the file is not the new one");
	} else {
		expect(err.code == code && strlen(err.message) > 10, "no sentence");
		expect(fault->forever || is_apt(code, scene, fault), "not an apt code");
		expect(fault->forever || holds(stage.dir, scene->file, scene->before),
		       "the file is not the old one");
		expect(scene->in_place || holds(stage.dir, scene->file, scene->before) ||
		           holds(stage.dir, scene->file, scene->after),
		       "neither the old nor the new file");
	}

	/* It was only a moment of weakness. */
	struct stet_error again = {0};
	if (fired && !fault->forever && code < 0 && code != scene->code) {
		int next = scene->play(&stage, &again);
		expect(next == scene->code, "and the next time does not go as ever");
		expect(holds(stage.dir, scene->file, next == 0 ? scene->after : scene->before),
		       "and the next time the file is wrong");
	}

	/* The next write tidies up. */
	const char *beside = scene->beside ? scene->beside : "";
	char name[64];
	snprintf(name, sizeof name, "%sclean.txt", beside);
	expect(commit(&stage, name, NULL, "clean", true, &err) == 0, "the next write fails");
	st_late_writes_drain(&stage.writes.late_writes, 0);
	expect(count_names(stage.dir, *beside ? beside : ".", ".stet-", "") == 0,
	       "a temporary file is left");
	fault_lack_exchange(false);
	bool told = was_told(&stage.writes);
	expect(!scene->theirs || scene->or_told || is_kept(stage.dir, THEIRS),
	       "somebody's work is lost");
	expect(!scene->theirs || told, "somebody's work is not mentioned");
	bool has_copy = count_names(stage.dir, ".stet/rescued", "", ".in-place") > 0;
	expect(fault->forever || !scene->in_place || !has_copy, "a safety copy is left");
	bool is_whole =
		holds(stage.dir, scene->file, scene->before) || holds(stage.dir, scene->file, scene->after);
	expect(is_whole || is_kept(stage.dir, scene->before), "what was overwritten in part is lost");

	stage_close(&stage);
	expect(open_descriptors() == descriptors, "a descriptor is left open");
	return fired;
}

static void perform_all(enum fault_kind kind, const int *errnums, size_t count, bool forever) {
	int failures = 0, faults = 0;
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		for (size_t j = 0; j < count; j++) {
			struct fault fault = {kind, 0, errnums[j], forever};
			do
				fault.nth++;
			while (perform(&scenes[i], &fault, &failures) && fault.nth < 1000);
			faults += (int)fault.nth - 1;
		}
	}
	print_message("%d faults\n", faults);
	assert_int_equal(failures, 0);
}

/* ---- that the faults are real ---- */

/* Functions that the library calls and that cannot fail, or whose failure changes nothing. */
/* The name in the manual: libc has others of its own for some standards and for checked sizes. */
static struct st_str manual_name(const char *symbol) {
	static const char *const standards[] = {"__isoc99_", "__isoc23_", "__isoc2x_"};
	struct st_str name = st_str(symbol);
	for (size_t i = 0; i < sizeof standards / sizeof *standards; i++) {
		if (st_str_starts(name, st_str(standards[i])))
			return st_str_slice(name, strlen(standards[i]), name.len);
	}
	if (st_str_starts(name, ST_STR("__")) && st_str_ends(name, ST_STR("_chk")))
		return st_str_slice(name, 2, name.len - 4);
	return name;
}

static bool is_harmless(const char *symbol) {
	static const char *const names[] = {
		"program_invocation_short_name",
		"_GLOBAL_OFFSET_TABLE_",
		"__assert_fail",
		"__errno_location",
		"__tls_get_addr",
		"bcmp",
		"clock_getres",
		"clock_gettime",
		"closedir",
		"dirfd",
		"free",
		"geteuid",
		"getrlimit64",
		"program_invocation_short_name",
		"sched_yield",
		"secure_getenv",
		"nanosleep",
		"posix_fadvise64",
		"program_invocation_short_name",
		"qsort",
		"snprintf",
		"sscanf",
		"sysconf",
		"uname",
		"vsnprintf",
	};
	static const char *const families[] = {
		"__stack_chk_", "st_",     "stet_",     "mem",          "str",
		"pthread_",     "__asan_", "__ubsan_",  "__sanitizer_", "__tsan_",
		"__gcov_",      "__llvm_", "EVP_",      "OSSL_",        "SHA256_",
		"ZSTD_",        "CRYPTO_", "utf8proc_", "yyjson_",      "unsafe_yyjson_"};
	struct st_str name = manual_name(symbol);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (st_str_eq(name, st_str(names[i])))
			return true;
	}
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		if (st_str_starts(name, st_str(families[i])))
			return true;
	}
	return false;
}

static bool is_wrapped(const char *symbol) {
	for (size_t i = 0; fault_name(i); i++) {
		if (strcmp(symbol, fault_name(i)) == 0)
			return true;
	}
	return false;
}

/* Whether a line of nm is about one of the files that the scenes lead through. */
static bool is_on_stage(const char *line) {
	static const char *const objects[] = {
		"base_buf",
		"base_error",
		"base_lru",
		"base_notices",
		"core_session_answer",
		"core_session_change",
		"core_session_session",
		"core_session_tracker",
		"core_workspace_workspace",
		"fs_file_file",
		"fs_file_hash",
		"fs_file_lease",
		"fs_file_stamp",
		"fs_path_dirs",
		"fs_path_root",
		"fs_tree_gitdir",
		"fs_tree_gitindex",
		"fs_versions_late_writes",
		"fs_versions_rescued",
		"fs_versions_state_dir",
		"fs_versions_versions",
		"fs_write_commit",
		"fs_write_commit_attempt",
		"fs_write_in_place",
		"fs_write_temp",
		"fs_write_write_context",
	};
	for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
		char name[64];
		snprintf(name, sizeof name, "/%s.c.o:", objects[i]);
		if (strstr(line, name))
			return true;
	}
	return false;
}

static void whatever_can_fail_is_wrapped(void **state) {
	(void)state;
	const char *archive = getenv("STET_CORE");
	if (!archive)
		skip_because("STET_CORE does not name the library's archive, as meson has it");
	char command[PATH_MAX + 16], line[PATH_MAX + 256], symbol[256];
	snprintf(command, sizeof command, "nm -u -A '%s'", archive);
	FILE *nm = popen(command, "re");
	assert_non_null(nm);
	int wrapped = 0, missed = 0;
	while (fgets(line, sizeof line, nm)) {
		/* archive:directory/object.c.o: U symbol */
		const char *name = strstr(line, " U ");
		if (!is_on_stage(line) || !name || sscanf(name, " U %255s", symbol) != 1)
			continue;
		if (is_wrapped(symbol)) {
			wrapped++;
		} else if (!is_harmless(symbol)) {
			missed++;
			print_error(
				"%s is called but not wrapped: add it to tests/lib/fault.c and tests/meson.build, "
				"or to the harmless ones\n",
				symbol);
		}
	}
	assert_int_equal(pclose(nm), 0);
	assert_true(wrapped > 30);
	assert_int_equal(missed, 0);
}

/* The faults above went through these; under which name, is the compiler's choice. */
static void calls_lead_through_the_wrappers(void **state) {
	(void)state;
	static const char *const names[][2] = {
		{"malloc", "calloc"},
		{"realloc", NULL},
		{"strdup", NULL},
		{"asprintf", "__asprintf_chk"},
		{"vasprintf", "__vasprintf_chk"},
		{"open64", NULL},
		{"openat64", NULL},
		{"syscall", NULL},
		{"read", "__read_chk"},
		{"pread64", "__pread64_chk"},
		{"write", NULL},
		{"pwrite64", NULL},
		{"fstat64", NULL},
		{"fstatat64", NULL},
		{"stat64", NULL},
		{"fcntl64", NULL},
		{"flock", NULL},
		{"fsync", NULL},
		{"ftruncate64", NULL},
		{"fallocate64", NULL},
		{"fdatasync", NULL},
		{"renameat", NULL},
		{"renameat2", NULL},
		{"linkat", NULL},
		{"unlinkat", NULL},
		{"mkdirat", NULL},
		{"readlinkat", "__readlinkat_chk"},
		{"faccessat", NULL},
		{"fchmod", NULL},
		{"flistxattr", NULL},
		{"fgetxattr", NULL},
		{"getrandom", NULL},
		{"close", NULL},
		{"fdopendir", NULL},
		{"readdir64", NULL},
		{"realpath", "__realpath_chk"},
		{"getcwd", NULL},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (fault_hits(names[i][0]) + (names[i][1] ? fault_hits(names[i][1]) : 0) == 0)
			fail_msg("%s never failed", names[i][0]);
	}
}

static const int out_of_memory[] = {ENOMEM};
static const int named[] = {ENOMEM, ENOSPC, EIO, EINTR, EACCES, EMFILE, EROFS};
static const int named_persistent[] = {ENOMEM, ENOSPC, EIO, EACCES, EMFILE, EROFS};

static void every_allocation_may_fail(void **state) {
	(void)state;
	perform_all(FAULT_ALLOC, out_of_memory, 1, false);
}

static void every_allocation_from_some_point_may_fail(void **state) {
	(void)state;
	perform_all(FAULT_ALLOC, out_of_memory, 1, true);
}

static void every_system_call_may_fail(void **state) {
	(void)state;
	perform_all(FAULT_SYSTEM, named, sizeof named / sizeof *named, false);
}

static void every_system_call_from_some_point_may_fail(void **state) {
	(void)state;
	perform_all(FAULT_SYSTEM, named_persistent, sizeof named_persistent / sizeof *named_persistent,
	            true);
}

/* Filesystems and sandboxes lack this and that; there is another way, or a reason. */
static void every_system_call_may_be_missing(void **state) {
	(void)state;
	static const int missing[] = {ENOSYS, EINVAL, ENOTSUP, EPERM, EBUSY};
	perform_all(FAULT_SYSTEM, missing, sizeof missing / sizeof *missing, false);
}

/* ---- the order of things ---- */

static struct fault_order order_of(int (*play)(struct stage *stage, struct stet_error *err),
                                   bool had_file) {
	const struct scene scene = {.lay = had_file ? lay_file : lay_nothing};
	struct stage stage = {0};
	stage_open(&stage, &scene);
	(void)fault_order_take();
	assert_int_equal(play(&stage, NULL), 0);
	struct fault_order order = fault_order_take();
	assert_true(order.renamed);
	stage_close(&stage);
	return order;
}

static void the_bytes_are_safe_before_the_name_changes(void **state) {
	(void)state;
	for (int had_file = 0; had_file < 2; had_file++) {
		struct fault_order order = order_of(had_file ? play_replace : play_create, had_file);
		assert_int_equal(order.synced_before, 1);
		assert_int_equal(order.synced_after, 1);
	}
	struct fault_order relaxed = order_of(play_replace_relaxed, true);
	assert_int_equal(relaxed.synced_before, 1);
	assert_int_equal(relaxed.synced_after, 0);
}

/* The disk reports an error once; a second attempt would succeed without the bytes. */
static void bytes_that_the_disk_refuses_are_not_committed(void **state) {
	(void)state;
	const struct scene scene = {.lay = lay_file};
	for (int relaxed = 0; relaxed < 2; relaxed++) {
		const char *call = relaxed ? "fdatasync" : "fsync";
		bool failed = false, fired = true;
		for (unsigned nth = 1; fired && !failed; nth++) {
			struct stage stage = {0};
			stage_open(&stage, &scene);
			(void)fault_order_take();
			fault_arm(FAULT_SYSTEM, nth, EIO);
			int code = relaxed ? play_replace_relaxed(&stage, NULL) : play_replace(&stage, NULL);
			fault_off();
			fired = fault_fired();
			failed = fired && strcmp(fault_where(), call) == 0;
			if (failed) {
				assert_int_equal(code, STET_E_IO);
				assert_false(fault_order_take().renamed);
				assert_true(holds(stage.dir, "a.txt", OLD));
			}
			stage_close(&stage);
		}
		assert_true(failed);
	}
}

int main(void) {
	/* Thousands of directories come and go: in memory, if there is such a place. */
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_can_fail_is_wrapped),
		cmocka_unit_test(every_allocation_may_fail),
		cmocka_unit_test(every_allocation_from_some_point_may_fail),
		cmocka_unit_test(every_system_call_may_fail),
		cmocka_unit_test(every_system_call_from_some_point_may_fail),
		cmocka_unit_test(every_system_call_may_be_missing),
		cmocka_unit_test(calls_lead_through_the_wrappers),
		cmocka_unit_test(the_bytes_are_safe_before_the_name_changes),
		cmocka_unit_test(bytes_that_the_disk_refuses_are_not_committed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
