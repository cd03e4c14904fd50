/* The daybook: what was noted is stored once, whoever stores it, and nothing else is. */
#include "core/daybook.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/session.h"
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

/* How many writes somebody finds in the log who comes now. */
static size_t logged(const struct dir *dir) {
	st_auto(agent) reader = hire(dir);
	char *log = NULL;
	assert_int_equal(stet_log(reader.ws, NULL, ST_LOG_MAX, &log, NULL), 0);
	yyjson_doc *doc = yyjson_read(log, strlen(log), 0);
	size_t count = yyjson_arr_size(yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	stet_free(log);
	return count;
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
	struct st_daybook daybook = ST_DAYBOOK_INIT;
	st_autofd state = openat(dir->fd, ".stet", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	st_daybook_open(&daybook, state);
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
	assert_int_equal(st_daybook_begin(daybook, &page, NULL), 0);
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
	st_daybook_release(&first);
	st_daybook_release(&second);
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

static void a_locked_database_holds_nobody_up(void **state) {
	const struct dir *dir = *state;
	struct st_db *holder = NULL;
	dir_write(dir, "a.c", "one\n");
	st_auto(agent) agent = hire(dir);
	edit(&agent, "a.c", "one", "two");
	assert_int_equal(st_db_open(dir_at(dir, ".stet/stet.db"), true, &holder, NULL), 0);
	assert_int_equal(st_db_exec(holder, "BEGIN IMMEDIATE", NULL), 0);
	edit(&agent, "a.c", "two", "three");
	expect_no_notice(&agent);
	assert_true(size_of(dir) > 0);
	st_db_close(holder);
	assert_int_equal(logged(dir), 2);
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

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(what_is_noted_is_known_to_everybody),
		claim(notes_of_several_processes_are_in_order),
		claim(a_killed_process_leaves_its_notes),
		claim(to_read_what_is_known_is_not_noted),
		claim(a_moved_directory_is_noted),
		claim(what_was_posted_is_not_posted_again),
		claim(who_finds_the_notes_of_others_does_not_add_to_them),
		claim(what_was_cut_off_or_changed_is_no_entry),
		claim(what_is_no_daybook_is_cleared_away),
		claim(there_is_room_for_so_much),
		claim(a_full_disk_leaves_whole_entries),
		claim(a_link_is_not_followed),
		claim(a_file_with_another_name_is_left_alone),
		claim(a_directory_or_a_pipe_is_none),
		claim(a_state_that_goes_away_is_begun_anew),
		claim(a_locked_database_holds_nobody_up),
		claim(notes_outlive_a_damaged_database),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
