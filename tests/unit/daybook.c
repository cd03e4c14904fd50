/* The daybook: what was noted is stored once, whoever stores it, and nothing else is. */
#include "core/daybook.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/session.h"
#include "lib/child.h"
#include "lib/run.h"
#include "lib/test.h"
#include "stet/state.h"

/* ---- the harness ---- */

/* A process, as far as the state is concerned. Its session has no name: what it saw is not stored. */
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

static void edit(struct agent *agent, const char *path, const char *old, const char *new) {
	struct stet_error err = {0};
	if (stet_session_edit(agent->session, path, old, strlen(old), new, strlen(new), NULL, NULL,
	                      &err) < 0)
		fail_msg("%s", err.message);
}

static void read_whole(struct agent *agent, const char *path) {
	struct stet_answer *answer = NULL;
	assert_int_equal(stet_session_read(agent->session, path, 0, 0, &answer, NULL), 0);
	stet_answer_free(answer);
}

static void expect_no_notice(struct agent *agent) {
	char *notice = stet_workspace_notice(agent->ws);
	if (notice)
		fail_msg("%s", notice);
}

/* How many writes are in the log, of one path or of all. */
static size_t listed(struct agent *agent, const char *path) {
	char *log = NULL;
	assert_int_equal(stet_log(agent->ws, path, ST_LOG_MAX, &log, NULL), 0);
	yyjson_doc *doc = yyjson_read(log, strlen(log), 0);
	size_t count = yyjson_arr_size(yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	stet_free(log);
	return count;
}

/* How many writes somebody finds in the log who comes now. */
static size_t logged(const struct dir *dir) {
	st_auto(agent) reader = hire(dir);
	return listed(&reader, NULL);
}

static off_t size_of(const struct dir *dir) {
	struct stat st;
	return fstatat(dir->fd, ".stet/" ST_DAYBOOK_NAME, &st, 0) == 0 ? st.st_size : -1;
}

static struct st_deed deed_no(int64_t number) {
	struct st_deed deed = {
		.path = "a.c",
		.wrote = true,
		.had = true,
		.has = true,
		.stamp = {.dev = 1, .ino = 2, .size = 3, .mtime_ns = 4, .ctime_ns = 5, .racy = true},
		.at = number,
		.undoes = number + 1,
	};
	memset(&deed.before, 'b', sizeof deed.before);
	memset(&deed.after, (int)number, sizeof deed.after);
	return deed;
}

static struct st_daybook open_daybook(const struct dir *dir) {
	static struct st_root root;
	struct st_daybook daybook = ST_DAYBOOK_INIT;
	st_autofd state = openat(dir->fd, ".stet", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	root = (struct st_root){.fd = dir->fd};
	st_daybook_open(&daybook, &root, ".stet", state);
	return daybook;
}

static bool add(struct st_daybook *daybook, int64_t number) {
	st_auto(st_buf) entry = ST_BUF_INIT;
	struct st_deed deed = deed_no(number);
	st_daybook_write(&entry, &deed, number % 2 ? "an agent" : NULL);
	return st_daybook_add(daybook, st_buf_str(&entry));
}

/* All that is in it, without posting it. */
static struct st_daybook_page read_page(struct st_daybook *daybook) {
	struct st_daybook_page page = {0};
	assert_int_equal(st_daybook_begin(daybook, 1000, &page, NULL), 0);
	st_daybook_end(daybook, false);
	return page;
}

static bool is_hash_of(const struct st_hash *hash, int byte) {
	struct st_hash wanted;
	memset(&wanted, byte, sizeof wanted);
	return st_hash_eq(hash, &wanted);
}

/* Each is what was written, in order; data counts them. */
static int check_entry(void *data, const struct st_deed *deed, const char *session,
                       struct stet_error *err) {
	int64_t number = (*(int64_t *)data)++;
	struct st_deed wanted = deed_no(number);
	(void)err;
	assert_string_equal(deed->path, "a.c");
	assert_true(deed->wrote && deed->had && deed->has && deed->stamp.racy);
	assert_false(deed->foreign || deed->below);
	assert_null(deed->to);
	assert_true(st_stamp_eq(&deed->stamp, &wanted.stamp));
	assert_true(is_hash_of(&deed->before, 'b') && is_hash_of(&deed->after, (int)number));
	assert_int_equal(deed->at, number);
	assert_int_equal(deed->undoes, number + 1);
	assert_string_equal(session ? session : "", number % 2 ? "an agent" : "");
	return 0;
}

static int64_t entries_of(const struct st_daybook_page *page) {
	int64_t count = 0;
	assert_int_equal(st_daybook_each(page, 0, check_entry, &count, NULL), 0);
	return count;
}

/* ---- what is noted ---- */

static void what_is_noted_is_known_to_everybody(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "one", "two");
	edit(&agent, "a.c", "two", "three");
	edit(&agent, "a.c", "three", "four");
	assert_int_equal(logged(dir), 3);
	assert_int_equal(size_of(dir), 0);
	/* Another process takes back what this one noted. */
	edit(&agent, "a.c", "four", "five");
	st_auto(agent) other = hire(dir);
	assert_int_equal(stet_undo(other.session, "a.c", NULL, NULL), 0);
	assert_string_equal(dir_read(dir, "a.c"), "four\n");
	assert_int_equal(logged(dir), 5);
	expect_no_notice(&agent);
}

static void notes_of_several_processes_are_in_order(void **state) {
	const struct dir *dir = *state;
	char *log = NULL;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) first = hire(dir);
	st_auto(agent) second = hire(dir);
	for (int i = 0; i < 12; i++) {
		char old[16], new[16];
		struct agent *agent = i % 5 < 3 ? &first : &second;
		snprintf(old, sizeof old, "%d\n", i);
		snprintf(new, sizeof new, "%d\n", i + 1);
		read_whole(agent, "a.c");
		edit(agent, "a.c", old, new);
	}
	/* The newest comes first, and each begins with what the one below it left. */
	assert_int_equal(stet_log(first.ws, "a.c", 100, &log, NULL), 0);
	yyjson_doc *doc = yyjson_read(log, strlen(log), 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	assert_int_equal(yyjson_arr_size(root), 12);
	for (size_t i = 0; i + 1 < 12; i++)
		assert_string_equal(yyjson_get_str(yyjson_obj_get(yyjson_arr_get(root, i), "before")),
		                    yyjson_get_str(yyjson_obj_get(yyjson_arr_get(root, i + 1), "after")));
	yyjson_doc_free(doc);
	stet_free(log);
}

static void a_killed_process_leaves_its_notes(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	pid_t child = fork();
	if (child == 0) {
		struct agent agent = hire(dir);
		edit(&agent, "a.c", "one", "two");
		edit(&agent, "a.c", "two", "three");
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(logged(dir), 2);
	assert_int_equal(logged(dir), 2);
	st_auto(agent) agent = hire(dir);
	assert_int_equal(stet_undo(agent.session, "a.c", NULL, NULL), 0);
	assert_string_equal(dir_read(dir, "a.c"), "two\n");
}

static void to_read_what_is_known_is_not_noted(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	dir_write(dir, "b.c", "one\n");
	sleep_ms(50);
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "one", "two");
	read_whole(&agent, "b.c");
	st_auto(st_repo_view) view = {0};
	assert_int_equal(st_repo_look(agent.ws, agent.session, 0, &view, NULL), 0);
	assert_int_equal(view.state.file_count, 2);
	assert_int_equal(size_of(dir), 0);
	read_whole(&agent, "b.c");
	assert_int_equal(size_of(dir), 0);
	dir_write(dir, "b.c", "another\n");
	read_whole(&agent, "b.c");
	assert_int_equal(st_repo_look(agent.ws, agent.session, 0, &view, NULL), 0);
	assert_int_equal(view.state.files[1].status, ST_FILE_MODIFIED);
	assert_false(view.state.files[1].external);
}

static void a_moved_directory_is_noted(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "old/a.c", "one\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "old/a.c", "one", "two");
	st_auto(st_buf) entry = ST_BUF_INIT;
	const struct st_deed deed = {
		.path = "old", .to = "new", .wrote = true, .below = true, .at = st_wall_ns()};
	st_daybook_write(&entry, &deed, NULL);
	assert_int_equal(renameat(dir->fd, "old", dir->fd, "new"), 0);
	struct st_daybook daybook = open_daybook(dir);
	assert_true(st_daybook_add(&daybook, st_buf_str(&entry)));
	st_daybook_release(&daybook);
	st_auto(st_repo_view) view = {0};
	assert_int_equal(st_repo_look(agent.ws, NULL, ST_REPO_STORED, &view, NULL), 0);
	assert_int_equal(view.state.file_count, 2);
	assert_string_equal(view.state.files[0].path, "new/a.c");
	assert_int_equal(view.state.files[1].status, ST_FILE_DELETED);
}

/* How many files are in the state as it is stored, and whether any of them is somebody else's change. */
static size_t tracked(struct agent *agent, bool *external) {
	st_auto(st_repo_view) view = {0};
	assert_int_equal(st_repo_look(agent->ws, NULL, 0, &view, NULL), 0);
	*external = false;
	for (size_t i = 0; i < view.state.file_count; i++)
		*external |= view.state.files[i].external;
	return view.state.file_count;
}

/* The daybook is in use and the disk is full: the read is not stored, and is known only to this process. */
static void what_was_taken_back_is_not_known(void **state) {
	const struct dir *dir = *state;
	struct rlimit limit, full;
	bool external;
	dir_write(dir, "a.c", "one\n");
	dir_write(dir, "b.c", "one\n");
	sleep_ms(50);
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "one", "two");
	assert_int_equal(tracked(&agent, &external), 1);
	st_autofd busy = openat(dir->fd, ".stet/" ST_DAYBOOK_NAME, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(busy, LOCK_EX), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	full = limit;
	full.rlim_cur = 1;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	read_whole(&agent, "b.c");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(flock(busy, LOCK_UN), 0);
	assert_int_equal(agent.session->deeds.count, 1);
	read_whole(&agent, "b.c");
	assert_int_equal(agent.session->deeds.count, 0);
	assert_int_equal(tracked(&agent, &external), 2);
}

/* What this process knows of a file is what it was before others saw it go. */
static void what_others_stored_is_not_taken_for_known(void **state) {
	const struct dir *dir = *state;
	bool external;
	dir_write(dir, "a.c", "one\n");
	dir_write(dir, "d/b.c", "one\n");
	sleep_ms(50);
	st_auto(agent) one = hire(dir);
	st_auto(agent) another = hire(dir);
	edit(&one, "a.c", "one", "two");
	read_whole(&one, "d/b.c");
	assert_int_equal(tracked(&one, &external), 2);
	assert_int_equal(renameat(dir->fd, "d", dir->fd, "e"), 0);
	assert_int_equal(tracked(&another, &external), 3);
	assert_true(external);
	assert_int_equal(renameat(dir->fd, "e", dir->fd, "d"), 0);
	read_whole(&one, "d/b.c");
	assert_true(size_of(dir) > 0);
	st_auto(st_repo_view) view = {0};
	assert_int_equal(st_repo_look(another.ws, NULL, 0, &view, NULL), 0);
	assert_string_equal(view.state.files[1].path, "d/b.c");
	assert_int_equal(view.state.files[1].status, ST_FILE_UNCHANGED);
	assert_false(view.state.files[1].external);
}

/* Both go on with what the parent opened. */
static void a_forked_child_notes_for_itself(void **state) {
	enum { EDITS = 200 };
	static const char *const files[] = {"a.c", "b.c"};
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	dir_write(dir, "b.c", "0\n");
	struct agent agent = hire(dir);
	edit(&agent, "a.c", "0\n", "1\n");
	edit(&agent, "b.c", "0\n", "1\n");
	pid_t child = fork();
	for (int i = 1; i < EDITS; i++) {
		char old[16], new[16], *log = NULL;
		snprintf(old, sizeof old, "%d\n", i);
		snprintf(new, sizeof new, "%d\n", i + 1);
		edit(&agent, files[child == 0], old, new);
		if (i % 20 == 0 && stet_log(agent.ws, NULL, 1, &log, NULL) == 0)
			stet_free(log);
	}
	if (child == 0)
		_exit(0);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	agent_release(&agent);
	assert_int_equal(logged(dir), 2 * EDITS);
}

/* ---- posted once ---- */

/* The poster is killed between the transaction and the emptying, and somebody adds to what is left. */
static void what_was_posted_is_not_posted_again(void **state) {
	const struct dir *dir = *state;
	st_auto(st_daybook_page) page = {0};
	assert_int_equal(logged(dir), 0);
	dir_write(dir, "a.c", "x");
	{
		st_auto(agent) agent = hire(dir);
		edit(&agent, "a.c", "x", "y");
	}
	assert_int_equal(logged(dir), 1);
	struct st_daybook daybook = open_daybook(dir);
	assert_true(add(&daybook, 0) && add(&daybook, 1));
	page = read_page(&daybook);
	assert_int_equal(logged(dir), 3);
	assert_int_equal(size_of(dir), 0);
	dir_write_bytes(dir, ".stet/" ST_DAYBOOK_NAME, page.bytes.ptr, page.bytes.len);
	assert_int_equal(logged(dir), 3);
	assert_int_equal(size_of(dir), 0);
	struct st_deed third = deed_no(2);
	size_t len = page.bytes.len;
	st_daybook_write(&page.bytes, &third, NULL);
	dir_write_bytes(dir, ".stet/" ST_DAYBOOK_NAME, page.bytes.ptr, page.bytes.len);
	assert_int_equal(logged(dir), 4);
	dir_write_bytes(dir, ".stet/" ST_DAYBOOK_NAME, page.bytes.ptr, len);
	assert_int_equal(logged(dir), 4);
	/* Another one of the same length is another one. */
	assert_true(add(&daybook, 0) && add(&daybook, 1));
	assert_int_equal(size_of(dir), (off_t)len);
	assert_int_equal(logged(dir), 6);
	st_daybook_release(&daybook);
}

static void who_finds_the_notes_of_others_does_not_add_to_them(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	struct st_daybook first = open_daybook(dir), second = open_daybook(dir);
	assert_true(add(&first, 0));
	assert_false(add(&second, 1));
	assert_true(add(&first, 1));
	/* The last of it may have been cut off. */
	assert_int_equal(ftruncate(first.fd, size_of(dir) - 1), 0);
	assert_false(add(&first, 2));
	assert_false(add(&second, 2));
	st_auto(st_daybook_page) page = read_page(&second);
	assert_int_equal(entries_of(&page), 1);
	/* Nor while somebody is at it. */
	assert_int_equal(flock(second.fd, LOCK_EX), 0);
	assert_int_equal(ftruncate(second.fd, 0), 0);
	assert_false(add(&first, 0));
	assert_int_equal(flock(second.fd, LOCK_UN), 0);
	assert_true(add(&first, 0));
	/* One of the same length is not the same. */
	assert_int_equal(ftruncate(second.fd, 0), 0);
	assert_true(add(&second, 0));
	assert_int_equal(size_of(dir), first.size);
	assert_false(add(&first, 1));
	assert_true(add(&second, 1));
	st_daybook_release(&first);
	st_daybook_release(&second);
}

/* Who waited for the lock of a daybook that was posted and left its place has to look for the next one. */
static void a_daybook_that_left_its_place_is_not_posted_again(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	struct st_daybook first = open_daybook(dir), second = open_daybook(dir);
	assert_true(add(&first, 0));
	assert_int_equal(linkat(dir->fd, ".stet/" ST_DAYBOOK_NAME, dir->fd, "copy", 0), 0);
	st_auto(st_daybook_page) page = {0};
	assert_int_equal(st_daybook_begin(&first, 1000, &page, NULL), 0);
	assert_int_equal(entries_of(&page), 1);
	st_daybook_end(&first, true);
	st_auto(st_daybook_page) again = {0};
	assert_int_equal(st_daybook_begin(&second, 1000, &again, NULL), 1);
	assert_int_equal(entries_of(&again), 0);
	assert_false(add(&first, 1));
	assert_true(flock(second.fd, LOCK_EX | LOCK_NB) == 0);
	st_daybook_release(&first);
	st_daybook_release(&second);
}

/* The lock is the parent's, whose descriptor the child has. */
static void a_forked_child_does_not_unlock_it(void **state) {
	const struct dir *dir = *state;
	int status;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	struct st_daybook daybook = open_daybook(dir), other = open_daybook(dir);
	assert_true(add(&daybook, 0));
	st_auto(st_daybook_page) page = {0};
	assert_int_equal(st_daybook_begin(&daybook, 1000, &page, NULL), 0);
	pid_t child = fork();
	if (child == 0)
		_exit(add(&daybook, 1));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(flock(other.fd, LOCK_EX | LOCK_NB) < 0);
	st_daybook_end(&daybook, true);
	st_daybook_release(&daybook);
	st_daybook_release(&other);
}

/* ---- what is not whole ---- */

static void what_was_cut_off_or_changed_is_no_entry(void **state) {
	const struct dir *dir = *state;
	enum { COUNT = 4 };
	off_t ends[COUNT + 1];
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	struct st_daybook daybook = open_daybook(dir);
	for (int i = 0; i < COUNT; i++) {
		assert_true(add(&daybook, i));
		ends[i] = size_of(dir);
	}
	st_auto(st_daybook_page) page = read_page(&daybook);
	st_daybook_release(&daybook);
	assert_int_equal(entries_of(&page), COUNT);
	size_t len = page.bytes.len, title = 16;
	for (size_t cut = title; cut < len; cut++) {
		int64_t whole = 0;
		while (ends[whole] <= (off_t)cut)
			whole++;
		page.bytes.len = cut;
		assert_int_equal(entries_of(&page), whole);
	}
	page.bytes.len = len;
	for (size_t at = title; at < len; at++) {
		int64_t before = 0;
		while (ends[before] <= (off_t)at)
			before++;
		page.bytes.ptr[at] ^= 0x55;
		assert_int_equal(entries_of(&page), before);
		page.bytes.ptr[at] ^= 0x55;
	}
}

static void what_is_no_daybook_is_cleared_away(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	{
		st_auto(agent) agent = hire(dir);
		edit(&agent, "a.c", "one", "two");
	}
	dir_write(dir, ".stet/" ST_DAYBOOK_NAME, "Dear diary, today I found a file of another name.\n");
	assert_int_equal(logged(dir), 1);
	assert_int_equal(size_of(dir), 0);
	assert_int_equal(truncate(dir_at(dir, ".stet/" ST_DAYBOOK_NAME), 3 * ST_DAYBOOK_MAX), 0);
	assert_int_equal(logged(dir), 1);
	assert_int_equal(size_of(dir), 0);
}

/* A daybook whose checksums are right may still say anything. */
static void a_path_outside_is_passed_over(void **state) {
	static const char *const paths[] = {"/etc/passwd", "../x", "d/../../x", "d//x", "d/", "."};
	const struct dir *dir = *state;
	bool external;
	dir_write(dir, "a.c", "one\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "one", "two");
	assert_int_equal(tracked(&agent, &external), 1);
	st_auto(st_buf) entries = ST_BUF_INIT;
	struct st_deed moved = {.path = "a.c", .to = "../x", .wrote = true, .below = true, .at = 1};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct st_deed deed = deed_no(1);
		deed.path = paths[i];
		st_daybook_write(&entries, &deed, NULL);
	}
	st_daybook_write(&entries, &moved, NULL);
	struct st_daybook daybook = open_daybook(dir);
	assert_true(st_daybook_add(&daybook, st_buf_str(&entries)));
	st_daybook_release(&daybook);
	assert_int_equal(tracked(&agent, &external), 1);
	assert_int_equal(logged(dir), 1);
}

/* What an undo took back may have been in a database that is gone. */
static void an_undo_takes_back_nothing_of_another_file(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "b.c", "one\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "b.c", "one", "two");
	struct st_daybook daybook = open_daybook(dir);
	assert_int_equal(logged(dir), 1);
	assert_true(add(&daybook, 0));
	st_daybook_release(&daybook);
	assert_int_equal(logged(dir), 2);
	assert_int_equal(stet_undo(agent.session, "b.c", NULL, NULL), 0);
	assert_string_equal(dir_read(dir, "b.c"), "one\n");
}

static void there_is_room_for_so_much(void **state) {
	const struct dir *dir = *state;
	int64_t count = 0;
	assert_int_equal(logged(dir), 0);
	dir_write(dir, "a.c", "x");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "x", "y");
	struct st_daybook daybook = open_daybook(dir);
	while (add(&daybook, count))
		count++;
	assert_true(count > 1000 && size_of(dir) <= ST_DAYBOOK_MAX);
	st_daybook_release(&daybook);
	edit(&agent, "a.c", "y", "z");
	assert_int_equal(size_of(dir), 0);
	assert_int_equal(logged(dir), (size_t)count + 2);
}

static void a_full_disk_leaves_whole_entries(void **state) {
	const struct dir *dir = *state;
	struct rlimit limit, full;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	struct st_daybook daybook = open_daybook(dir);
	assert_true(add(&daybook, 0));
	off_t size = size_of(dir);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	full = limit;
	signal(SIGXFSZ, SIG_IGN);
	for (int more = 0; more < 100; more += 33) {
		full.rlim_cur = (rlim_t)(size + more);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
		bool added = add(&daybook, 1);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		assert_false(added);
		assert_int_equal(size_of(dir), size);
	}
	assert_true(add(&daybook, 1));
	st_auto(st_daybook_page) page = read_page(&daybook);
	assert_int_equal(entries_of(&page), 2);
	st_daybook_release(&daybook);
}

/* ---- where there is none ---- */

/* Something else has its name: everything is stored by transactions. */
static void works_without(const struct dir *dir) {
	dir_write(dir, "a.c", "one\n");
	{
		st_auto(agent) agent = hire(dir);
		edit(&agent, "a.c", "one", "two");
		edit(&agent, "a.c", "two", "three");
		expect_no_notice(&agent);
	}
	assert_int_equal(logged(dir), 2);
}

static void a_link_is_not_followed(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	dir_write(dir, "precious", "precious");
	assert_int_equal(symlinkat("../precious", dir->fd, ".stet/" ST_DAYBOOK_NAME), 0);
	works_without(dir);
	assert_string_equal(dir_read(dir, "precious"), "precious");
}

static void a_file_with_another_name_is_left_alone(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	dir_write(dir, "precious", "precious");
	assert_int_equal(linkat(dir->fd, "precious", dir->fd, ".stet/" ST_DAYBOOK_NAME, 0), 0);
	works_without(dir);
	assert_string_equal(dir_read(dir, "precious"), "precious");
}

/* A copy by links, of one with notes and of an empty one: what it says is stored, and another one is begun. */
static void a_daybook_with_another_name_is_read_and_replaced(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0", "1");
	edit(&agent, "a.c", "1", "2");
	off_t size = size_of(dir);
	assert_true(size > 0);
	assert_int_equal(linkat(dir->fd, ".stet/" ST_DAYBOOK_NAME, dir->fd, "copy", 0), 0);
	edit(&agent, "a.c", "2", "3");
	assert_int_equal(logged(dir), 3);
	struct stat st;
	assert_int_equal(fstatat(dir->fd, "copy", &st, 0), 0);
	assert_int_equal(st.st_size, size);
	edit(&agent, "a.c", "3", "4");
	edit(&agent, "a.c", "4", "5");
	assert_true(size_of(dir) > 0);
	assert_int_equal(logged(dir), 5);
	assert_int_equal(size_of(dir), 0);
	assert_int_equal(linkat(dir->fd, ".stet/" ST_DAYBOOK_NAME, dir->fd, "empty", 0), 0);
	edit(&agent, "a.c", "5", "6");
	edit(&agent, "a.c", "6", "7");
	assert_true(size_of(dir) > 0);
	assert_int_equal(logged(dir), 7);
	assert_int_equal(fstatat(dir->fd, "empty", &st, 0), 0);
	assert_int_equal(st.st_size, 0);
	expect_no_notice(&agent);
}

static void who_had_no_place_for_one_finds_that_of_others(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	dir_write(dir, "b.c", "0\n");
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	assert_int_equal(mkdirat(dir->fd, ".stet/" ST_DAYBOOK_NAME, 0700), 0);
	st_auto(agent) one = hire(dir);
	edit(&one, "a.c", "0", "1");
	assert_int_equal(unlinkat(dir->fd, ".stet/" ST_DAYBOOK_NAME, AT_REMOVEDIR), 0);
	st_auto(agent) another = hire(dir);
	edit(&another, "b.c", "0", "1");
	edit(&another, "b.c", "1", "2");
	assert_true(size_of(dir) > 0);
	assert_int_equal(listed(&one, "b.c"), 2);
}

static void a_directory_or_a_pipe_is_none(void **state) {
	const struct dir *dir = *state;
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	assert_int_equal(mkfifoat(dir->fd, ".stet/" ST_DAYBOOK_NAME, 0600), 0);
	works_without(dir);
	assert_int_equal(run(dir, NULL, (const char *[]){"rm", "-r", ".stet", NULL}), 0);
	assert_int_equal(mkdirat(dir->fd, ".stet", 0700), 0);
	assert_int_equal(mkdirat(dir->fd, ".stet/" ST_DAYBOOK_NAME, 0700), 0);
	works_without(dir);
}

static void a_state_that_goes_away_is_begun_anew(void **state) {
	static const char *const ways[] = {"rm -r .stet", "mv .stet gone", "rm .stet/stet.db*",
	                                   "rm .stet/daybook"};
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0", "1");
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		size_t before = logged(dir);
		assert_int_equal(run(dir, NULL, (const char *[]){"sh", "-c", ways[i], NULL}), 0);
		edit(&agent, "a.c", "1", "2");
		edit(&agent, "a.c", "2", "1");
		/* Without the daybook alone, the log goes on. */
		assert_int_equal(logged(dir), (i == 3 ? before : 0) + 2);
		expect_no_notice(&agent);
	}
}

/* Somebody who writes to the database, until he is closed. */
static struct st_db *lock_database(const struct dir *dir) {
	struct st_db *holder = NULL;
	assert_int_equal(st_db_open(open(dir_at(dir, ".stet"), O_RDONLY | O_DIRECTORY), true, &holder, NULL), 0);
	assert_int_equal(st_db_exec(holder, "BEGIN IMMEDIATE", NULL), 0);
	return holder;
}

/* Not even behind the back of the edits, where the readable copy is written. */
static void a_locked_database_holds_nobody_up(void **state) {
	const struct dir *dir = *state;
	int edits = 0;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0\n", "1\n");
	struct st_db *holder = lock_database(dir);
	for (int64_t begin = st_now_ms(), before = begin; before < begin + 2500; edits++) {
		char old[16], new[16];
		snprintf(old, sizeof old, "%d\n", edits + 1);
		snprintf(new, sizeof new, "%d\n", edits + 2);
		edit(&agent, "a.c", old, new);
		assert_true(st_now_ms() - before < 1000);
		sleep_ms(20);
		before = st_now_ms();
	}
	expect_no_notice(&agent);
	assert_true(size_of(dir) > 0);
	st_db_close(holder);
	assert_int_equal(logged(dir), (size_t)edits + 1);
}

static void expect_notice(struct agent *agent, const char *part) {
	char *notice = stet_workspace_notice(agent->ws);
	if (!notice || !strstr(notice, part))
		fail_msg("no notice of \"%s\": %s", part, notice ? notice : "none");
	stet_free(notice);
}

/* What is stored can be read all the same, and it is said once that something is missing. */
static void what_is_stored_can_be_read_while_it_is_locked(void **state) {
	static const char said[] = "could not be stored yet";
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	st_auto(agent) reader = hire(dir);
	edit(&agent, "a.c", "0", "1");
	assert_int_equal(listed(&reader, NULL), 1);
	edit(&agent, "a.c", "1", "2");
	struct st_db *holder = lock_database(dir);
	assert_int_equal(listed(&reader, NULL), 1);
	expect_notice(&reader, said);
	assert_int_equal(listed(&reader, NULL), 1);
	expect_no_notice(&reader);
	/* Whatever is taken back has to be the last write. */
	assert_int_equal(stet_undo(agent.session, "a.c", NULL, NULL), STET_E_BUSY);
	assert_string_equal(dir_read(dir, "a.c"), "2\n");
	st_db_close(holder);
	assert_int_equal(listed(&reader, NULL), 2);
	edit(&agent, "a.c", "2", "3");
	st_autofd busy = openat(dir->fd, ".stet/" ST_DAYBOOK_NAME, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(busy, LOCK_EX), 0);
	assert_int_equal(listed(&reader, NULL), 2);
	expect_notice(&reader, said);
	assert_int_equal(flock(busy, LOCK_UN), 0);
	assert_int_equal(listed(&reader, NULL), 3);
}

/* On a full disk: a session that wrote, and whose notes have no room, can still ask how things are. */
static void the_state_can_be_looked_at_on_a_full_disk(void **state) {
	const struct dir *dir = *state;
	struct rlimit limit, full;
	char *json = NULL;
	struct stet_answer *answer = NULL;
	dir_write(dir, "a.c", "0\n");
	dir_write(dir, "b.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0", "1");
	assert_int_equal(listed(&agent, NULL), 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	full = limit;
	full.rlim_cur = 1;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	int read = stet_session_read(agent.session, "b.c", 0, 0, &answer, NULL);
	int code = stet_state_json(agent.session, &json, NULL, NULL);
	int undone = stet_undo(agent.session, "a.c", NULL, NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	stet_answer_free(answer);
	assert_int_equal(read, 0);
	assert_int_equal(code, 0);
	stet_free(json);
	assert_true(undone < 0);
	expect_notice(&agent, "could not be stored");
}

/* The longest that somebody had to wait to open a file to write, within so many milliseconds. */
static int64_t longest_wait(const struct dir *dir, const char *path, int64_t ms) {
	int64_t begin = st_now_ms(), last = begin, longest = 0;
	for (int64_t now = begin; now < begin + ms; now = st_now_ms()) {
		int fd = openat(dir->fd, path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			last = now;
		longest = now - last > longest ? now - last : longest;
		st_close_at(&fd);
		sleep_ms(5);
	}
	return longest;
}

/* Who was here last is looked up in the database; nobody has to wait for that with what he writes. */
static void a_refusal_does_not_hold_the_file(void **state) {
	const struct dir *dir = *state;
	int status;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0", "1");
	edit(&agent, "a.c", "1", "2");
	dir_write(dir, "a.c", "theirs\n");
	struct st_db *holder = lock_database(dir);
	pid_t child = fork();
	if (child == 0)
		_exit(longest_wait(dir, "a.c", 1500) > 400);
	sleep_ms(100);
	assert_int_equal(stet_session_edit(agent.session, "a.c", "2", 1, "3", 1, NULL, NULL, NULL),
	                 STET_E_CONFLICT);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	st_db_close(holder);
}

/* What sessions saw is not in the daybook: to open one asks for nothing of it. */
static void a_session_opens_while_the_daybook_is_locked(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0", "1");
	edit(&agent, "a.c", "1", "2");
	st_autofd busy = openat(dir->fd, ".stet/" ST_DAYBOOK_NAME, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(busy, LOCK_EX), 0);
	struct stet_session *named = NULL;
	int64_t before = st_now_ms();
	assert_int_equal(stet_session_open(agent.ws, "named", &named, NULL), 0);
	assert_true(st_now_ms() - before < 500);
	assert_int_equal(flock(busy, LOCK_UN), 0);
	stet_session_close(named);
	expect_no_notice(&agent);
}

/* Nothing of it is lost with a damaged database, which cannot say what was posted. */
static void notes_outlive_a_damaged_database(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "one\n");
	{
		st_auto(agent) agent = hire(dir);
		edit(&agent, "a.c", "one", "two");
	}
	struct st_daybook daybook = open_daybook(dir);
	assert_true(add(&daybook, 0));
	st_daybook_release(&daybook);
	dir_write(dir, ".stet/stet.db", "This is not a database, though it is long enough to be one.");
	assert_int_equal(logged(dir), 1);
	assert_true(dir_has(dir, ".stet/stet.db.damaged-1"));
}

/* Fill a file with what is no database, as it is there. */
static void spoil(const struct dir *dir, const char *path) {
	struct stat st;
	st_autofd fd = openat(dir->fd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t at = 0; at < st.st_size; at += 16)
		assert_int_equal(pwrite(fd, "This is no page.", 16, at), 16);
}

/* Nobody has to look at the state for that. */
static void a_damaged_database_is_replaced_behind_the_edits(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, "a.c", "0\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "0", "1");
	assert_int_equal(stet_state_flush(agent.ws, NULL), 0);
	spoil(dir, ".stet/stet.db");
	spoil(dir, ".stet/stet.db-wal");
	spoil(dir, ".stet/stet.db-shm");
	edit(&agent, "a.c", "1", "2");
	for (int i = 0; i < 500 && !dir_has(dir, ".stet/stet.db.damaged-1"); i++)
		sleep_ms(10);
	assert_true(dir_has(dir, ".stet/stet.db.damaged-1"));
	assert_int_equal(logged(dir), 1);
}

/* A file in shared memory would have holes there, and to touch one on a full disk ends the process. */
static void work_on_small_blocks(const struct dir *dir) {
	struct stet_workspace *ws = NULL;
	dir_write(dir, "image", "");
	hold(truncate(dir_at(dir, "image"), 8 << 20) == 0 && mkdir(dir_at(dir, "mount"), 0755) == 0,
	     "prepare");
	if (run(dir, NULL, (const char *[]){"/sbin/mkfs.ext4", "-q", "-b", "1024", "image", NULL}) !=
	        0 ||
	    run(dir, NULL, (const char *[]){"mount", "-o", "loop", "image", "mount", NULL}) != 0)
		child_skip("an ext4 image cannot be mounted here");
	hold(stet_workspace_open(dir_at(dir, "mount"), &ws, NULL) == 0, "open");
	hold(stet_story_begin(ws, "a story", NULL) == 0, "store");
	hold(dir_has(dir, "mount/.stet/stet.db"), "there is a database");
	hold(!dir_has(dir, "mount/.stet/stet.db-shm"), "without shared memory");
	stet_workspace_close(ws);
	run(dir, NULL, (const char *[]){"umount", "mount", NULL});
}

static void where_blocks_are_small_no_memory_is_shared(void **state) {
	child_with_mounts(*state, work_on_small_blocks);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(what_is_noted_is_known_to_everybody),
		claim(notes_of_several_processes_are_in_order),
		claim(a_killed_process_leaves_its_notes),
		claim(to_read_what_is_known_is_not_noted),
		claim(a_moved_directory_is_noted),
		claim(what_was_taken_back_is_not_known),
		claim(what_others_stored_is_not_taken_for_known),
		claim(a_forked_child_notes_for_itself),
		claim(what_was_posted_is_not_posted_again),
		claim(who_finds_the_notes_of_others_does_not_add_to_them),
		claim(a_daybook_that_left_its_place_is_not_posted_again),
		claim(a_forked_child_does_not_unlock_it),
		claim(what_was_cut_off_or_changed_is_no_entry),
		claim(what_is_no_daybook_is_cleared_away),
		claim(a_path_outside_is_passed_over),
		claim(an_undo_takes_back_nothing_of_another_file),
		claim(there_is_room_for_so_much),
		claim(a_full_disk_leaves_whole_entries),
		claim(a_link_is_not_followed),
		claim(a_file_with_another_name_is_left_alone),
		claim(a_daybook_with_another_name_is_read_and_replaced),
		claim(who_had_no_place_for_one_finds_that_of_others),
		claim(a_directory_or_a_pipe_is_none),
		claim(a_state_that_goes_away_is_begun_anew),
		claim(a_locked_database_holds_nobody_up),
		claim(what_is_stored_can_be_read_while_it_is_locked),
		claim(the_state_can_be_looked_at_on_a_full_disk),
		claim(a_refusal_does_not_hold_the_file),
		claim(a_session_opens_while_the_daybook_is_locked),
		claim(notes_outlive_a_damaged_database),
		claim(a_damaged_database_is_replaced_behind_the_edits),
		claim(where_blocks_are_small_no_memory_is_shared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
