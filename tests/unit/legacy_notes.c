/* A state directory that stet 0.1.0 left: its last writes come into the log once, and nothing else does. */
#include "core/state/legacy_notes.h"

#include <sys/file.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/state/state.h"
#include "lib/legacy.h"
#include "lib/run.h"
#include "lib/test.h"
#include "stet/state.h"

/* ---- the harness ---- */

struct agent {
	struct stet_workspace *ws;
	struct stet_session *session;
};

static void agent_release(struct agent *agent) {
	stet_session_close(agent->session);
	stet_workspace_close(agent->ws);
}

static struct agent hire(const struct dir *dir) {
	struct agent agent = {0};
	assert_int_equal(stet_workspace_open(dir->path, &agent.ws, NULL), 0);
	assert_int_equal(stet_workspace_set(agent.ws, STET_OPTION_STATE, ST_STATE_ALL, NULL), 0);
	assert_int_equal(stet_workspace_set(agent.ws, STET_OPTION_DURABLE, 0, NULL), 0);
	assert_int_equal(stet_session_open(agent.ws, NULL, &agent.session, NULL), 0);
	return agent;
}

/* A workspace in which one write is in the log. */
static void write_once(const struct dir *dir) {
	dir_write(dir, "a.c", "one\n");
	st_auto(agent) agent = hire(dir);
	assert_int_equal(stet_session_edit(agent.session, "a.c", "one", 3, "two", 3, NULL, NULL, NULL),
	                 0);
}

static void expect_notice(struct agent *agent, const char *part) {
	char *notice = stet_workspace_notice(agent->ws);
	if (part ? !notice || !strstr(notice, part) : notice != NULL)
		fail_msg("a notice of \"%s\": %s", part ? part : "nothing", notice ? notice : "none");
	stet_free(notice);
}

/* How many writes a new process finds in the log, and the notice it gets. */
static size_t logged_with(const struct dir *dir, const char *notice) {
	char *log = NULL;
	st_auto(agent) reader = hire(dir);
	assert_int_equal(stet_log(reader.ws, NULL, ST_LOG_MAX, &log, NULL), 0);
	yyjson_doc *doc = yyjson_read(log, strlen(log), 0);
	size_t count = yyjson_arr_size(yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	stet_free(log);
	expect_notice(&reader, notice);
	return count;
}

static size_t logged(const struct dir *dir) {
	return logged_with(dir, NULL);
}

static struct st_file_event event_no(int64_t number) {
	struct st_file_event event = {
		.path = "a.c",
		.kind = ST_EVENT_WRITTEN,
		.before.exists = true,
		.after =
			{.exists = true,
	         .stamp = {.dev = 1, .ino = 2, .size = 3, .mtime_ns = 4, .ctime_ns = 5, .racy = true}},
		.who = number % 2 ? "an agent" : NULL,
		.at = number,
		.undoes = number + 1,
	};
	memset(&event.before.hash, 'b', sizeof event.before.hash);
	memset(&event.after.hash, (int)number, sizeof event.after.hash);
	return event;
}

static void add_no(struct st_buf *notes, int64_t number) {
	struct st_file_event event = event_no(number);
	legacy_add(notes, &event);
}

static void put(const struct dir *dir, const struct st_buf *notes) {
	dir_write_bytes(dir, LEGACY_NOTES, notes->ptr, notes->len);
}

/* ---- the entries ---- */

static bool is_hash_of(const struct st_hash *hash, int byte) {
	struct st_hash wanted;
	memset(&wanted, byte, sizeof wanted);
	return st_hash_eq(hash, &wanted);
}

/* Each is what was written, in order; data counts them. */
static int check_entry(void *data, const struct st_file_event *event, struct stet_error *err) {
	int64_t number = (*(int64_t *)data)++;
	struct st_file_event wanted = event_no(number);
	(void)err;
	assert_string_equal(event->path, "a.c");
	assert_int_equal(event->kind, ST_EVENT_WRITTEN);
	assert_true(event->before.exists && event->after.exists && event->after.stamp.racy);
	assert_false(event->foreign);
	assert_null(event->moved_to);
	assert_true(st_stamp_eq(&event->after.stamp, &wanted.after.stamp));
	assert_true(is_hash_of(&event->before.hash, 'b'));
	assert_true(is_hash_of(&event->after.hash, (int)number));
	assert_int_equal(event->at, number);
	assert_int_equal(event->undoes, number + 1);
	assert_string_equal(event->who ? event->who : "", number % 2 ? "an agent" : "");
	return 0;
}

static int64_t entries_of(const struct st_legacy_notes *notes) {
	int64_t count = 0;
	assert_int_equal(st_legacy_notes_each(notes, 0, check_entry, &count, NULL), 0);
	return count;
}

static void what_was_cut_off_or_changed_is_no_entry(void **state) {
	enum { COUNT = 4 };
	size_t ends[COUNT + 1];
	st_auto(st_legacy_notes) notes = ST_LEGACY_NOTES_INIT;
	(void)state;
	legacy_begin(&notes.bytes, 1);
	for (int i = 0; i < COUNT; i++) {
		add_no(&notes.bytes, i);
		ends[i] = notes.bytes.len;
	}
	assert_int_equal(entries_of(&notes), COUNT);
	size_t len = notes.bytes.len;
	for (size_t cut = LEGACY_TITLE; cut < len; cut++) {
		int64_t whole = 0;
		while (ends[whole] <= cut)
			whole++;
		notes.bytes.len = cut;
		assert_int_equal(entries_of(&notes), whole);
	}
	notes.bytes.len = len;
	for (size_t at = LEGACY_TITLE; at < len; at++) {
		int64_t before = 0;
		while (ends[before] <= at)
			before++;
		notes.bytes.ptr[at] ^= 0x55;
		assert_int_equal(entries_of(&notes), before);
		notes.bytes.ptr[at] ^= 0x55;
	}
}

/* ---- taken in ---- */

/* As a process of 0.1.0 left it when it was killed; its versions are stored as 0.1.0 did. */
static void a_directory_of_0_1_0_opens_and_its_writes_are_undone(void **state) {
	const struct dir *dir = *state;
	const char *fixture = STET_SOURCE_ROOT "/tests/data/state-0.1.0.tar.gz";
	assert_int_equal(
		run(dir, NULL, (const char *[]){"tar", "-xzf", fixture, "--no-same-owner", NULL}), 0);
	/* Three writes were in its database, two in its notes. */
	assert_int_equal(logged(dir), 5);
	assert_false(dir_has(dir, LEGACY_NOTES));
	st_auto(agent) agent = hire(dir);
	st_auto(st_repo_status) view = {0};
	assert_int_equal(st_repo_get_status(&st_state_of(agent.ws)->repo, NULL, 0, &view, NULL), 0);
	assert_int_equal(view.state.file_count, 4);
	assert_string_equal(view.state.files[0].path, "a.txt");
	assert_int_equal(view.state.files[0].status, ST_FILE_MODIFIED);
	assert_string_equal(view.state.files[1].path, "c.txt");
	assert_int_equal(view.state.files[1].status, ST_FILE_CREATED);
	assert_string_equal(view.state.files[2].path, "new/b.txt");
	assert_string_equal(view.state.files[3].path, "old/b.txt");
	assert_int_equal(view.state.files[3].status, ST_FILE_DELETED);
	static const char *const texts[] = {"three\nand more\n", "two\nand more\n", "one\nand more\n"};
	for (size_t i = 0; i < 3; i++) {
		struct stet_error err = {0};
		if (stet_undo(agent.session, "a.txt", NULL, &err) < 0)
			fail_msg("%s", err.message);
		assert_string_equal(dir_read(dir, "a.txt"), texts[i]);
	}
	assert_int_equal(stet_undo(agent.session, "c.txt", NULL, NULL), 0);
	assert_false(dir_has(dir, "c.txt"));
	expect_notice(&agent, NULL);
}

/* The process is killed between the transaction and the removal, and 0.1.0 adds to what is left. */
static void what_was_stored_is_not_stored_again(void **state) {
	const struct dir *dir = *state;
	st_auto(st_buf) notes = ST_BUF_INIT;
	st_auto(st_buf) other = ST_BUF_INIT;
	write_once(dir);
	legacy_begin(&notes, 7);
	add_no(&notes, 0);
	add_no(&notes, 1);
	for (int i = 0; i < 2; i++) {
		put(dir, &notes);
		assert_int_equal(logged(dir), 3);
		assert_false(dir_has(dir, LEGACY_NOTES));
	}
	add_no(&notes, 2);
	put(dir, &notes);
	assert_int_equal(logged(dir), 4);
	/* Different notes of the same length count as different. */
	legacy_begin(&other, 8);
	for (int i = 0; i < 3; i++)
		add_no(&other, i);
	put(dir, &other);
	assert_int_equal(logged(dir), 7);
}

static void a_directory_that_was_moved_takes_its_files_along(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "old/a.c", "one\n");
	{
		st_auto(agent) agent = hire(dir);
		assert_int_equal(
			stet_session_edit(agent.session, "old/a.c", "one", 3, "two", 3, NULL, NULL, NULL), 0);
	}
	st_auto(st_buf) notes = ST_BUF_INIT;
	const struct st_file_event event = {
		.path = "old", .kind = ST_EVENT_DIR_MOVED, .moved_to = "new", .at = st_wall_ns()};
	legacy_begin(&notes, 7);
	legacy_add(&notes, &event);
	put(dir, &notes);
	assert_int_equal(renameat(dir->fd, "old", dir->fd, "new"), 0);
	st_auto(agent) agent = hire(dir);
	st_auto(st_repo_status) view = {0};
	assert_int_equal(
		st_repo_get_status(&st_state_of(agent.ws)->repo, NULL, ST_REPO_STORED, &view, NULL), 0);
	assert_int_equal(view.state.file_count, 2);
	assert_string_equal(view.state.files[0].path, "new/a.c");
	assert_int_equal(view.state.files[1].status, ST_FILE_DELETED);
}

/* Notes whose checksums are right may still say anything. */
static void a_path_outside_is_left_out(void **state) {
	static const char *const paths[] = {"/etc/passwd", "../x", "d/../../x", "d//x", "d/", "."};
	const struct dir *dir = *state;
	st_auto(st_buf) notes = ST_BUF_INIT;
	const struct st_file_event moved = {
		.path = "a.c", .kind = ST_EVENT_DIR_MOVED, .moved_to = "../x", .at = 1};
	write_once(dir);
	legacy_begin(&notes, 7);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct st_file_event event = event_no(1);
		event.path = paths[i];
		legacy_add(&notes, &event);
	}
	legacy_add(&notes, &moved);
	put(dir, &notes);
	assert_int_equal(logged(dir), 1);
	assert_false(dir_has(dir, LEGACY_NOTES));
	st_auto(agent) agent = hire(dir);
	st_auto(st_repo_status) view = {0};
	assert_int_equal(st_repo_get_status(&st_state_of(agent.ws)->repo, NULL, 0, &view, NULL), 0);
	assert_int_equal(view.state.file_count, 1);
}

/* An undo may have taken back a write of a database that is gone. */
static void an_undo_takes_back_nothing_of_another_file(void **state) {
	const struct dir *dir = *state;
	st_auto(st_buf) notes = ST_BUF_INIT;
	write_once(dir);
	struct st_file_event undo = event_no(0);
	undo.path = "b.c";
	legacy_begin(&notes, 7);
	legacy_add(&notes, &undo);
	put(dir, &notes);
	assert_int_equal(logged(dir), 2);
	st_auto(agent) agent = hire(dir);
	assert_int_equal(stet_undo(agent.session, "a.c", NULL, NULL), 0);
	assert_string_equal(dir_read(dir, "a.c"), "one\n");
}

static void they_outlive_a_damaged_database(void **state) {
	const struct dir *dir = *state;
	st_auto(st_buf) notes = ST_BUF_INIT;
	write_once(dir);
	legacy_begin(&notes, 7);
	add_no(&notes, 0);
	put(dir, &notes);
	dir_write(dir, ".stet/stet.db", "This is not a database, though it is long enough to be one.");
	assert_int_equal(logged_with(dir, "damaged"), 1);
	assert_true(dir_has(dir, ".stet/stet.db.damaged-1"));
}

/* A process of 0.1.0 is at work: it stores them itself. */
static void they_are_left_to_a_process_that_has_them_locked(void **state) {
	const struct dir *dir = *state;
	st_auto(st_buf) notes = ST_BUF_INIT;
	write_once(dir);
	legacy_begin(&notes, 7);
	add_no(&notes, 0);
	put(dir, &notes);
	st_autofd busy = openat(dir->fd, LEGACY_NOTES, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(busy, LOCK_EX), 0);
	assert_int_equal(logged_with(dir, "could not be imported into the log yet"), 1);
	assert_int_equal(flock(busy, LOCK_UN), 0);
	assert_int_equal(logged(dir), 2);
}

/* ---- what is not trusted ---- */

static void empty_ones_are_removed(void **state) {
	const struct dir *dir = *state;
	write_once(dir);
	dir_write(dir, LEGACY_NOTES, "");
	assert_int_equal(logged(dir), 1);
	assert_false(dir_has(dir, LEGACY_NOTES));
}

/* It is set aside under a name that the notice tells, and the state is used as ever. */
static void expect_aside(const struct dir *dir, const char *aside) {
	assert_int_equal(logged_with(dir, aside), 1);
	assert_false(dir_has(dir, LEGACY_NOTES));
	assert_true(dir_has(dir, aside));
	assert_int_equal(logged(dir), 1);
}

static void what_are_no_notes_is_set_aside(void **state) {
	const struct dir *dir = *state;
	write_once(dir);
	dir_write(dir, LEGACY_NOTES, "Dear diary, today I found a file of another name.\n");
	expect_aside(dir, LEGACY_NOTES ".foreign-1");
	dir_write(dir, LEGACY_NOTES, "");
	assert_int_equal(truncate(dir_at(dir, LEGACY_NOTES), 3 << 20), 0);
	expect_aside(dir, LEGACY_NOTES ".foreign-2");
}

static void a_link_a_pipe_and_a_directory_are_set_aside(void **state) {
	const struct dir *dir = *state;
	write_once(dir);
	dir_write(dir, "precious", "precious");
	assert_int_equal(symlinkat("../precious", dir->fd, LEGACY_NOTES), 0);
	expect_aside(dir, LEGACY_NOTES ".foreign-1");
	assert_string_equal(dir_read(dir, "precious"), "precious");
	assert_int_equal(mkfifoat(dir->fd, LEGACY_NOTES, 0600), 0);
	expect_aside(dir, LEGACY_NOTES ".foreign-2");
	assert_int_equal(mkdirat(dir->fd, LEGACY_NOTES, 0700), 0);
	expect_aside(dir, LEGACY_NOTES ".foreign-3");
}

/* It may be a copy of a directory by links, or anybody's file. */
static void a_file_with_another_name_is_set_aside(void **state) {
	const struct dir *dir = *state;
	st_auto(st_buf) notes = ST_BUF_INIT;
	write_once(dir);
	legacy_begin(&notes, 7);
	add_no(&notes, 0);
	dir_write_bytes(dir, "copy", notes.ptr, notes.len);
	assert_int_equal(linkat(dir->fd, "copy", dir->fd, LEGACY_NOTES, 0), 0);
	expect_aside(dir, LEGACY_NOTES ".foreign-1");
	struct stat st;
	assert_int_equal(fstatat(dir->fd, "copy", &st, 0), 0);
	assert_int_equal(st.st_size, (off_t)notes.len);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(what_was_cut_off_or_changed_is_no_entry),
		claim(a_directory_of_0_1_0_opens_and_its_writes_are_undone),
		claim(what_was_stored_is_not_stored_again),
		claim(a_directory_that_was_moved_takes_its_files_along),
		claim(a_path_outside_is_left_out),
		claim(an_undo_takes_back_nothing_of_another_file),
		claim(they_outlive_a_damaged_database),
		claim(they_are_left_to_a_process_that_has_them_locked),
		claim(empty_ones_are_removed),
		claim(what_are_no_notes_is_set_aside),
		claim(a_link_a_pipe_and_a_directory_are_set_aside),
		claim(a_file_with_another_name_is_set_aside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
