/* Change sets: all or nothing, even if other processes write first or the process dies. */
#include <sys/wait.h>

#include "core/session/change_set.h"
#include "core/workspace/workspace.h"
#include "fs/write/journal.h"
#include "lib/session.h"
#include "stet/state.h"

enum { FILES = 5 };

/* What a change writes, and what happens just before the set is written. */
struct text {
	const char *text;
	/* The text that another process writes to a file while the change is made; NULL for none. */
	const struct dir *dir;
	const char *foreign, *theirs;
	int times;
};

static int make_text(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	struct text *text = context;
	(void)old;
	(void)err;
	if (text->foreign && text->times-- > 0)
		dir_write(text->dir, text->foreign, text->theirs);
	st_buf_adds(new, text->text);
	return 0;
}

static struct st_change whole(const char *path, struct text *text) {
	return (struct st_change){.path = path,
	                          .kind = ST_CHANGE_WHOLE,
	                          .makes_dirs = true,
	                          .make = make_text,
	                          .context = text};
}

static const char *const names[FILES] = {"a", "b", "c", "d", "e"};

/* Five files that the session has read, and a change of each. */
struct five {
	struct text texts[FILES];
	struct st_change changes[FILES];
	struct st_change_outcome outcomes[FILES];
};

static void five_init(struct five *five, struct host *host) {
	*five = (struct five){0};
	for (size_t i = 0; i < FILES; i++) {
		dir_write(host->dir, names[i], "old\n");
		assert_int_equal(host_read(host, names[i]), 0);
		five->texts[i] = (struct text){.text = "new\n"};
		five->changes[i] = whole(names[i], &five->texts[i]);
	}
}

static void five_release(struct five *five) {
	st_change_outcomes_release(five->outcomes, FILES);
}

static int apply(struct host *host, struct five *five) {
	five_release(five);
	struct st_call_scope scope = st_call_scope_begin(host->session, true);
	int code = st_change_set_apply(host->session, five->changes, FILES, five->outcomes, &host->err);
	st_call_scope_release(&scope);
	return code;
}

static void assert_all(const struct host *host, const char *text) {
	for (size_t i = 0; i < FILES; i++)
		assert_string_equal(dir_read(host->dir, names[i]), text);
}

static void assert_no_journal(const struct host *host) {
	assert_false(dir_has(host->dir, ".stet/changes"));
}

/* ---- all or nothing ---- */

static void five_files_change_together(void **state) {
	struct host *host = *state;
	st_auto(five) five;
	five_init(&five, host);
	assert_int_equal(apply(host, &five), 0);
	assert_all(host, "new\n");
	assert_no_journal(host);
	assert_string_equal(stet_answer_commit(five.outcomes[3].answer), "exchanged");
}

static void a_set_whose_fourth_file_fails_changes_nothing(void **state) {
	struct host *host = *state;
	st_auto(five) five;
	five_init(&five, host);
	dir_write(host->dir, "d", "theirs\n");
	assert_int_equal(apply(host, &five), STET_E_CONFLICT);
	dir_write(host->dir, "d", "old\n");
	assert_all(host, "old\n");
	assert_non_null(strstr(host->err.message, "\"d\""));
	assert_null(strstr(host->err.message, "\"c\""));
	assert_int_equal(five.outcomes[2].code, 0);
	assert_int_equal(five.outcomes[3].code, STET_E_CONFLICT);
	assert_non_null(strstr(stet_answer_diff(five.outcomes[3].answer, NULL), "+theirs"));
}

static void a_refusal_shows_every_problem_at_once(void **state) {
	struct host *host = *state;
	st_auto(five) five;
	five_init(&five, host);
	dir_write(host->dir, "b", "theirs\n");
	assert_int_equal(unlinkat(host->dir->fd, "c", 0), 0);
	five.changes[4].path = "b/e";
	assert_int_equal(apply(host, &five), STET_E_CONFLICT);
	assert_string_equal(dir_read(host->dir, "a"), "old\n");
	assert_int_equal(five.outcomes[1].code, STET_E_CONFLICT);
	assert_int_equal(five.outcomes[2].code, STET_E_CONFLICT);
	assert_true(five.outcomes[4].code < 0);
	assert_non_null(strstr(host->err.message, "3 of 5 files"));
}

static void what_a_refusal_showed_counts_as_seen(void **state) {
	struct host *host = *state;
	st_auto(five) five;
	five_init(&five, host);
	dir_write(host->dir, "d", "theirs\n");
	assert_int_equal(apply(host, &five), STET_E_CONFLICT);
	assert_int_equal(apply(host, &five), 0);
	assert_all(host, "new\n");
}

static void a_dry_run_changes_nothing(void **state) {
	struct host *host = *state;
	st_auto(five) five;
	five_init(&five, host);
	five.changes[0].dry_run = true;
	assert_int_equal(apply(host, &five), 0);
	assert_all(host, "old\n");
	assert_string_equal(stet_answer_commit(five.outcomes[4].answer), "none");
}

static void a_file_is_created_moved_and_removed(void **state) {
	struct host *host = *state;
	st_auto(five) five;
	five_init(&five, host);
	five.changes[0].path = "new/deep/file";
	five.changes[1].remove = true;
	five.changes[2].path = "other";
	five.changes[2].mode = ST_MODE_EXECUTABLE;
	assert_int_equal(apply(host, &five), 0);
	assert_string_equal(dir_read(host->dir, "new/deep/file"), "new\n");
	assert_false(dir_has(host->dir, "b"));
	assert_string_equal(dir_read(host->dir, "a"), "old\n");
	struct stat st;
	assert_int_equal(fstatat(host->dir->fd, "other", &st, 0), 0);
	assert_int_equal(st.st_mode & 0100, 0100);
}

static void two_changes_of_one_file_are_refused(void **state) {
	struct host *host = *state;
	st_auto(five) five;
	five_init(&five, host);
	five.changes[3].path = "./a";
	assert_int_equal(apply(host, &five), STET_E_INVALID);
	assert_all(host, "old\n");
	assert_non_null(strstr(five.outcomes[3].why.message, "twice"));
}

/* ---- others ---- */

static void others_who_are_faster_are_not_overwritten(void **state) {
	struct host *host = *state;
	st_auto(five) five;
	five_init(&five, host);
	/* When the last change is made, the second one was judged already. */
	five.texts[4] = (struct text){"new\n", host->dir, "b", "theirs\n", 1};
	assert_int_equal(apply(host, &five), STET_E_CONFLICT);
	assert_string_equal(dir_read(host->dir, "b"), "theirs\n");
	dir_write(host->dir, "b", "old\n");
	assert_all(host, "old\n");
	assert_no_journal(host);
}

static void new_directories_go_with_a_change_that_is_taken_back(void **state) {
	struct host *host = *state;
	st_auto(five) five;
	five_init(&five, host);
	five.changes[0].path = "new/deep/file";
	five.texts[4] = (struct text){"new\n", host->dir, "b", "theirs\n", 1};
	assert_int_equal(apply(host, &five), STET_E_CONFLICT);
	assert_false(dir_has(host->dir, "new"));
}

/* ---- the death of a process ---- */

/* The journal of a change set that died after it had written the first `written` files. */
static void leave_journal(struct host *host, size_t written) {
	struct st_journal_file files[FILES];
	struct st_hash old, new;
	assert_int_equal(st_hash_of(st_str("old\n"), &old, NULL), 0);
	assert_int_equal(st_hash_of(st_str("new\n"), &new, NULL), 0);
	for (size_t i = 0; i < FILES; i++) {
		files[i] = (struct st_journal_file){.path = names[i],
		                                    .before = {.exists = true, .hash = old},
		                                    .after = {.exists = true, .hash = new},
		                                    .old = st_str("old\n"),
		                                    .mode = 0640};
		dir_write(host->dir, names[i], i < written ? "new\n" : "old\n");
		assert_int_equal(fchmodat(host->dir->fd, names[i], 0640, 0), 0);
	}
	/* Another process: a lock goes with it. */
	pid_t pid = fork();
	if (pid == 0) {
		struct st_journal journal = ST_JOURNAL_INIT;
		const struct st_journal_plan plan = {.files = files, .count = FILES};
		_exit(st_journal_begin(&host->ws->writes, &plan, &journal, NULL) == 0 ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The notices of the next write. */
static const char *write_next(struct host *host) {
	assert_int_equal(host_write(host, "next", "text\n"), 0);
	const char *notice = stet_answer_notice(host->answer, 0);
	return notice ? notice : "";
}

static void the_next_write_takes_back_what_a_dead_process_began(void **state) {
	struct host *host = *state;
	leave_journal(host, 3);
	assert_non_null(strstr(write_next(host), "was taken back"));
	assert_all(host, "old\n");
	assert_no_journal(host);
	assert_string_equal(dir_read(host->dir, "next"), "text\n");
}

static void a_file_that_others_changed_since_is_left_and_named(void **state) {
	struct host *host = *state;
	leave_journal(host, 3);
	dir_write(host->dir, "b", "theirs\n");
	const char *notice = write_next(host);
	assert_non_null(strstr(notice, "others changed them since: \"b\"."));
	assert_string_equal(dir_read(host->dir, "b"), "theirs\n");
	dir_write(host->dir, "b", "old\n");
	assert_all(host, "old\n");
}

/* Nobody can tell whether the change was written to the last file, too. */
static void without_the_last_file_the_others_are_taken_back(void **state) {
	struct host *host = *state;
	leave_journal(host, FILES - 1);
	dir_write(host->dir, "e", "theirs\n");
	assert_non_null(strstr(write_next(host), "others changed them since: \"e\"."));
	assert_string_equal(dir_read(host->dir, "e"), "theirs\n");
	dir_write(host->dir, "e", "old\n");
	assert_all(host, "old\n");
}

static void a_complete_change_stays_if_others_changed_it_since(void **state) {
	struct host *host = *state;
	leave_journal(host, FILES);
	dir_write(host->dir, "b", "theirs\n");
	assert_non_null(strstr(write_next(host), "is complete"));
	assert_string_equal(dir_read(host->dir, "b"), "theirs\n");
	dir_write(host->dir, "b", "new\n");
	assert_all(host, "new\n");
}

static void a_complete_change_stays(void **state) {
	struct host *host = *state;
	leave_journal(host, FILES);
	assert_non_null(strstr(write_next(host), "is complete"));
	assert_all(host, "new\n");
	assert_no_journal(host);
}

static void the_journal_of_a_living_process_is_left_alone(void **state) {
	struct host *host = *state;
	struct st_journal_file file = {.path = "a"};
	struct st_journal journal = ST_JOURNAL_INIT;
	const struct st_journal_plan plan = {.files = &file, .count = 1};
	assert_int_equal(st_journal_begin(&host->ws->writes, &plan, &journal, NULL), 0);
	assert_string_equal(write_next(host), "");
	assert_int_equal(dir_count(host->dir, ".stet/changes"), 1);
	st_journal_end(&host->ws->writes, &journal);
	assert_no_journal(host);
}

/* The name of the only journal. */
static void find_journal(const struct host *host, char path[300]) {
	char command[700];
	snprintf(command, sizeof command, "ls %s", dir_at(host->dir, ".stet/changes"));
	FILE *list = popen(command, "r");
	char name[64] = "";
	assert_non_null(list);
	assert_int_equal(fscanf(list, "%63s", name), 1);
	pclose(list);
	snprintf(path, 300, ".stet/changes/%s", name);
}

static void assert_set_aside(struct host *host) {
	assert_non_null(strstr(write_next(host), "set aside as .stet/changes.aside-1"));
	for (size_t i = 0; i < FILES; i++)
		assert_string_equal(dir_read(host->dir, names[i]), i < 3 ? "new\n" : "old\n");
	assert_no_journal(host);
}

static void a_damaged_journal_changes_nothing(void **state) {
	struct host *host = *state;
	char path[300];
	leave_journal(host, 3);
	find_journal(host, path);
	int fd = openat(host->dir->fd, path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "X", 1, 200), 1);
	close(fd);
	assert_set_aside(host);
}

static void a_journal_of_another_workspace_changes_nothing(void **state) {
	struct host *host = *state;
	char path[300];
	leave_journal(host, 3);
	find_journal(host, path);
	/* A copy of the state directory has another inode. */
	char command[900];
	snprintf(command, sizeof command, "cd %s && cp -a .stet copy && rm -r .stet && mv copy .stet",
	         host->dir->path);
	assert_int_equal(system(command), 0);
	assert_set_aside(host);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(five_files_change_together),
		host_claim(a_set_whose_fourth_file_fails_changes_nothing),
		host_claim(a_refusal_shows_every_problem_at_once),
		host_claim(what_a_refusal_showed_counts_as_seen),
		host_claim(a_dry_run_changes_nothing),
		host_claim(a_file_is_created_moved_and_removed),
		host_claim(two_changes_of_one_file_are_refused),
		host_claim(others_who_are_faster_are_not_overwritten),
		host_claim(new_directories_go_with_a_change_that_is_taken_back),
		host_claim(the_next_write_takes_back_what_a_dead_process_began),
		host_claim(a_file_that_others_changed_since_is_left_and_named),
		host_claim(without_the_last_file_the_others_are_taken_back),
		host_claim(a_complete_change_stays_if_others_changed_it_since),
		host_claim(a_complete_change_stays),
		host_claim(the_journal_of_a_living_process_is_left_alone),
		host_claim(a_damaged_journal_changes_nothing),
		host_claim(a_journal_of_another_workspace_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
