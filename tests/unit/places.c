/* Places: which checkouts are of one repository, who is active where, what they changed. */
#include <sys/wait.h>

#include "base/clock.h"
#include "core/places/checkout.h"
#include "core/places/registry.h"
#include "core/workspace/workspace.h"
#include "lib/checkouts.h"

/* ---- identity ---- */

static void one_remote_has_one_name_however_it_is_spelled(void **state) {
	static const char *const same[] = {
		"https://github.com/Example/hello.git",
		"https://user:secret@github.com/Example/hello",
		"https://user:sec@ret@github.com:443/Example/hello",
		"https://github.com/Example/hello.git?private_token=secret",
		"https://github.com/Example/hello#secret",
		"ssh://git@GitHub.com:22/Example/hello.git/",
		"git@github.com:Example/hello.git",
		"github.com:/Example/hello",
	};
	(void)state;
	st_auto(st_buf) name = ST_BUF_INIT;
	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		st_remote_normalize(st_str(same[i]), &name);
		assert_string_equal(st_buf_cstr(&name), "github.com/Example/hello");
	}
	st_remote_normalize(ST_STR("file:///srv/hello"), &name);
	assert_string_equal(st_buf_cstr(&name), "/srv/hello");
	/* A slash in a password ends the host: no part of either is known for sure. */
	st_remote_normalize(ST_STR("https://user:sec/ret@github.com/Example/hello"), &name);
	assert_string_equal(st_buf_cstr(&name), "");
	st_remote_normalize(ST_STR("ssh://git@[::1]:2222/hello"), &name);
	assert_string_equal(st_buf_cstr(&name), "[::1]/hello");
	st_remote_normalize(ST_STR("../hello"), &name);
	assert_string_equal(st_buf_cstr(&name), "");
	st_remote_normalize(ST_STR(""), &name);
	assert_string_equal(st_buf_cstr(&name), "");
}

static void assert_repository(const struct dir *dir, const char *where, const char *repository) {
	st_auto(st_checkout) checkout = {0};
	assert_int_equal(st_checkout_find(dir_at(dir, where), &checkout, NULL), 1);
	assert_string_equal(checkout.repository, repository);
}

static void worktrees_and_clones_are_of_one_repository(void **state) {
	const struct dir *dir = *state;
	char common[300];
	make_repository(dir);
	git(dir, "main", "worktree", "add", "-q", "-b", "b", "../tree");
	git(dir, ".", "clone", "-q", "main", "clone");
	git(dir, ".", "clone", "-q", "clone", "clone2");
	snprintf(common, sizeof common, "%s", dir_at(dir, "main/.git"));
	assert_repository(dir, "main", common);
	assert_repository(dir, "tree", common);
	assert_repository(dir, "clone", common);
	assert_repository(dir, "clone2", common);
	git(dir, "main", "remote", "add", "upstream", "git@example.org:a/b.git");
	assert_repository(dir, "clone2", "example.org/a/b");
}

static void assert_named(const struct dir *dir, const char *where, const char *projects,
                         const char *repository) {
	st_auto(st_checkout) checkout = {0};
	assert_int_equal(st_checkout_find(dir_at(dir, where), &checkout, NULL), 1);
	assert_int_equal(st_checkout_rename(&checkout, projects, NULL), 0);
	assert_string_equal(checkout.repository, repository);
}

static void a_user_can_name_a_fork_or_a_repository_without_a_remote(void **state) {
	const struct dir *dir = *state;
	char of_path[400];
	make_repository(dir);
	git(dir, "main", "worktree", "add", "-q", "-b", "b", "../tree");
	snprintf(of_path, sizeof of_path, "x=y,%s/=notes", dir_at(dir, "main"));
	assert_named(dir, "main", of_path, "notes");
	assert_named(dir, "tree", of_path, "notes");
	assert_named(dir, "main", "hello", "hello");
	git(dir, "main", "remote", "add", "origin", "git@github.com:ann/hello.git");
	assert_named(dir, "tree", "github.com/ann/hello=github.com/team/hello",
	             "github.com/team/hello");
	assert_named(dir, "tree", "https://github.com/ann/hello.git = git@github.com:team/hello.git",
	             "github.com/team/hello");
	assert_named(dir, "tree", of_path, "notes");
	assert_named(dir, "main", "github.com/bob/hello=github.com/team/hello", "github.com/ann/hello");
}

static void a_directory_below_a_checkout_belongs_to_it(void **state) {
	const struct dir *dir = *state;
	st_auto(st_checkout) checkout = {0};
	make_repository(dir);
	dir_write(dir, "main/src/deep/b.txt", "x");
	assert_int_equal(st_checkout_find(dir_at(dir, "main/src/deep"), &checkout, NULL), 1);
	assert_string_equal(checkout.top, dir_at(dir, "main"));
	assert_string_equal(checkout.prefix, "src/deep/");
}

static void assert_head(const struct dir *dir, const char *where, const char *branch) {
	st_auto(st_checkout) checkout = {0};
	st_auto(st_buf) commit = ST_BUF_INIT;
	struct st_checkout_head head;
	run(dir, &commit, (const char *[]){"git", "-C", dir_at(dir, where), "rev-parse", "HEAD", NULL});
	assert_int_equal(st_checkout_find(dir_at(dir, where), &checkout, NULL), 1);
	st_checkout_head(&checkout, &head);
	assert_string_equal(head.branch, branch);
	assert_int_equal(commit.len, strlen(head.commit) + 1);
	assert_memory_equal(commit.ptr, head.commit, commit.len - 1);
}

static void the_head_is_what_git_says(void **state) {
	const struct dir *dir = *state;
	make_repository(dir);
	git(dir, "main", "worktree", "add", "-q", "-b", "feature/x", "../tree");
	assert_head(dir, "main", "main");
	assert_head(dir, "tree", "feature/x");
	git(dir, "main", "pack-refs", "--all");
	assert_head(dir, "main", "main");
	assert_head(dir, "tree", "feature/x");
	git(dir, "tree", "checkout", "-q", "--detach");
	assert_head(dir, "tree", "");
	/* A long name ends between two characters. */
	st_auto(st_buf) name = ST_BUF_INIT;
	st_buf_addc(&name, 'x');
	for (int i = 0; i < 110; i++)
		st_buf_adds(&name, "\xc3\xa9");
	git(dir, "tree", "checkout", "-q", "-b", st_buf_cstr(&name));
	st_buf_truncate(&name, ST_BRANCH_MAX - 1);
	assert_head(dir, "tree", name.ptr);
}

/* ---- what agents do ---- */

static void an_edit_is_seen_from_another_checkout(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	git(dir, "main", "worktree", "add", "-q", "-b", "b", "../tree");
	struct worker_at one = worker_open(dir, "main", "Ann");
	struct worker_at two = worker_open(dir, "tree", "Bob");
	stet_free(worker_edit(&one, "a.txt", "line 5\n", "line five\nand more\n"));
	assert_true(who_has(&one, "\"by\":\"Ann\""));
	assert_true(who_has(&two, "\"lines\":[{\"start\":5,\"end\":6}]"));
	assert_true(who_has(&two, "\"editing\":true"));
	assert_true(who_has(&two, "\"name\":\"Ann\""));
	worker_close(&one);
	worker_close(&two);
}

static void lines_are_those_since_the_first_change(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	struct worker_at one = worker_open(dir, "main", "Ann");
	stet_free(worker_edit(&one, "a.txt", "line 5\n", "line five\n"));
	assert_true(who_has(&one, "\"lines\":[{\"start\":5,\"end\":5}]"));
	stet_free(worker_edit(&one, "a.txt", "line 9\n", "line nine\n"));
	assert_true(who_has(&one, "\"lines\":[{\"start\":5,\"end\":5},{\"start\":9,\"end\":9}]"));
	/* A change that is taken back is none. */
	stet_free(worker_edit(&one, "a.txt", "line five\n", "line 5\n"));
	stet_free(worker_edit(&one, "a.txt", "line nine\n", "line 9\n"));
	assert_true(who_has(&one, "\"files\":[]"));
	worker_close(&one);
}

static void a_move_names_both_paths(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	struct worker_at one = worker_open(dir, "main", "Ann");
	stet_free(worker_call(&one, "move_file", "{\"source\":\"a.txt\",\"destination\":\"b.txt\"}"));
	assert_true(who_has(&one, "\"change\":\"moved\",\"from\":\"a.txt\""));
	assert_true(who_has(&one, "\"change\":\"removed\""));
	worker_close(&one);
}

static void a_workspace_below_the_checkout_reports_whole_paths(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	dir_write(dir, "main/src/b.txt", "one\n");
	struct worker_at one = worker_open(dir, "main/src", "Ann");
	stet_free(worker_edit(&one, "b.txt", "one", "two"));
	assert_true(who_has(&one, "\"path\":\"src/b.txt\""));
	worker_close(&one);
}

static void what_is_queued_is_stored_when_the_workspace_closes(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	struct worker_at one = worker_open(dir, "main", "Ann");
	stet_free(worker_edit(&one, "a.txt", "line 5\n", "line five\n"));
	worker_close(&one);
	struct worker_at two = worker_open(dir, "main", "Bob");
	assert_true(who_has(&two, "\"by\":\"Ann\""));
	worker_close(&two);
}

static void a_checkout_that_is_gone_is_not_listed(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	git(dir, "main", "worktree", "add", "-q", "-b", "b", "../tree");
	struct worker_at one = worker_open(dir, "tree", "Ann");
	stet_free(worker_edit(&one, "a.txt", "line 5\n", "line five\n"));
	worker_close(&one);
	struct worker_at two = worker_open(dir, "main", "Bob");
	assert_true(who_has(&two, "/tree\""));
	git(dir, "main", "worktree", "remove", "--force", "../tree");
	assert_false(who_has(&two, "/tree\""));
	worker_close(&two);
}

static void outside_of_git_nothing_is_stored(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	dir_write(dir, "plain/a.txt", "one\n");
	struct worker_at one = worker_open(dir, "plain", "Ann");
	stet_free(worker_edit(&one, "a.txt", "one", "two"));
	assert_true(who_has(&one, "\"repository\":null"));
	worker_close(&one);
	assert_false(dir_has(dir, "state/stet/places"));
}

/* ---- faults ---- */

/* All notices of a workspace, joined. */
static char *notices_of(struct stet_workspace *ws) {
	st_auto(st_buf) text = ST_BUF_INIT;
	char *notice;
	while ((notice = stet_workspace_notice(ws))) {
		st_buf_addf(&text, "%s\n", notice);
		stet_free(notice);
	}
	return strdup(st_buf_cstr(&text));
}

/* Edit until an answer has the notice, then see that the next ones do without. */
static void assert_one_notice(const struct dir *dir, const char *why) {
	enum { ROUNDS_MAX = 2000, AFTER = 20 };
	struct worker_at one = worker_open(dir, "main", "Ann");
	int noticed = 0, after = 0;
	for (int i = 0; i < ROUNDS_MAX && after < AFTER; i++) {
		char *answer = worker_edit(&one, "a.txt", i % 2 ? "line five\n" : "line 5\n",
		                           i % 2 ? "line 5\n" : "line five\n");
		noticed += strstr(answer, why) != NULL;
		after += noticed > 0;
		stet_free(answer);
		sleep_ms(5);
	}
	assert_int_equal(noticed, 1);
	worker_close(&one);
}

static void a_registry_of_a_newer_stet_is_one_notice(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	struct st_registry registry = ST_REGISTRY_INIT;
	assert_int_equal(st_registry_open(&registry, true, NULL), 1);
	assert_int_equal(st_db_exec(registry.db, "PRAGMA user_version = 99", NULL), 0);
	st_registry_release(&registry);
	assert_one_notice(dir, "schema version 99");
}

static void a_damaged_registry_is_replaced(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	struct st_registry registry = ST_REGISTRY_INIT;
	assert_int_equal(st_registry_open(&registry, true, NULL), 1);
	st_registry_release(&registry);
	dir_write(dir, "state/stet/places/stet.db", "this is no database, whatever its name says\n");
	struct worker_at one = worker_open(dir, "main", "Ann");
	stet_free(worker_edit(&one, "a.txt", "line 5\n", "line five\n"));
	assert_true(who_has(&one, "\"by\":\"Ann\""));
	char *notices = notices_of(one.ws);
	assert_string_equal(notices, "");
	free(notices);
	worker_close(&one);
}

/* Make zeros of all pages but the first one, which is all that opening reads. */
static void damage_pages(const char *path) {
	enum { PAGE = 4096 };
	struct stat st;
	st_autofd fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 4 * PAGE);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_int_equal(ftruncate(fd, st.st_size), 0);
}

static void a_registry_that_is_damaged_inside_is_replaced(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	for (int asks = 0; asks < 3; asks++) {
		struct stet_error err = {0};
		char *json = NULL, old[32], new[32];
		size_t len = 0;
		snprintf(old, sizeof old, "line %d\n", asks + 3);
		snprintf(new, sizeof new, "changed %d\n", asks);
		struct worker_at one = worker_open(dir, "main", "Ann");
		stet_free(worker_edit(&one, "a.txt", "line 1\n", "line 1\n!\n"));
		worker_close(&one);
		damage_pages(dir_at(dir, "state/stet/places/stet.db"));
		one = worker_open(dir, "main", "Ann");
		if (asks == 1)
			assert_false(who_has(&one, "a.txt"));
		if (asks == 2)
			assert_int_equal(stet_forecast(one.ws, NULL, 0, &json, &len, &err), 0);
		stet_free(json);
		stet_free(worker_edit(&one, "a.txt", old, new));
		assert_true(who_has(&one, "a.txt"));
		assert_null(stet_workspace_notice(one.ws));
		worker_close(&one);
	}
}

static void a_directory_of_others_is_one_notice(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	assert_int_equal(mkdir(dir_at(dir, "state/stet"), 0700), 0);
	assert_int_equal(mkdir(dir_at(dir, "state/stet/places"), 0700), 0);
	assert_int_equal(chmod(dir_at(dir, "state/stet/places"), 0777), 0);
	assert_one_notice(dir, "cannot be stored");
}

/* ---- bounds ---- */

struct counting {
	size_t count;
	int64_t last;
	bool ordered;
};

static int count_event(void *data, const struct st_registry_event *event, struct stet_error *err) {
	struct counting *counting = data;
	(void)err;
	counting->count++;
	counting->ordered = counting->ordered && (!counting->last || event->number < counting->last);
	counting->last = event->number;
	return 0;
}

static void add_event(struct st_registry *registry, const char *path) {
	const struct st_registry_event event = {
		.agent = ST_STR("Ann"), .path = st_str(path), .at = 1, .based = true};
	assert_int_equal(st_registry_add(registry, &event, NULL), 0);
}

static void old_events_make_room(void **state) {
	enum { MORE = 200 };
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	st_auto(st_checkout) checkout = {0};
	st_auto(st_registry) registry = ST_REGISTRY_INIT;
	struct st_checkout_head head = {0};
	struct counting counting = {.ordered = true};
	assert_int_equal(st_checkout_find(dir_at(dir, "main"), &checkout, NULL), 1);
	assert_int_equal(st_registry_open(&registry, true, NULL), 1);
	assert_int_equal(st_registry_begin(&registry, NULL), 0);
	assert_int_equal(st_registry_touch(&registry, &checkout, &head, "m", st_wall_ns(), NULL), 0);
	for (int i = 0; i < ST_REGISTRY_EVENTS + MORE; i++) {
		char path[32];
		snprintf(path, sizeof path, "f%d", i);
		add_event(&registry, path);
	}
	assert_int_equal(st_registry_commit(&registry, NULL), 0);
	assert_int_equal(st_registry_files(&registry, registry.checkout, count_event, &counting, NULL),
	                 0);
	assert_int_equal(counting.count, ST_REGISTRY_EVENTS);
	assert_true(counting.ordered);
	for (int i = 0; i < 3 * ST_REGISTRY_AGENTS; i++) {
		char label[32];
		snprintf(label, sizeof label, "agent %d", i);
		assert_int_equal(st_registry_touch_agent(&registry, label, i, NULL), 0);
	}
	int64_t agents = 0;
	static const char sql[] = "SELECT count(*) FROM agent";
	assert_int_equal(st_db_number(registry.db, sql, &agents, NULL, ""), 0);
	assert_int_equal(agents, ST_REGISTRY_AGENTS);
}

static int check_time(void *data, const struct st_registry_event *event, struct stet_error *err) {
	assert_int_equal(event->at, *(const int64_t *)data);
	return 0;
}

static int check_seen(void *data, struct st_str label, int64_t seen, struct stet_error *err) {
	assert_int_equal(seen, *(const int64_t *)data);
	return 0;
}

static void what_was_noted_while_the_clock_was_ahead_does_not_stay_new(void **state) {
	const struct dir *dir = *state;
	use_own_state(dir);
	make_repository(dir);
	st_auto(st_checkout) checkout = {0};
	st_auto(st_registry) registry = ST_REGISTRY_INIT;
	struct st_checkout_head head = {0};
	int64_t ahead = st_wall_ns(), now = ahead / 2;
	const struct st_registry_event event = {
		.agent = ST_STR("Ann"), .path = ST_STR("a.txt"), .at = ahead, .based = true};
	assert_int_equal(st_checkout_find(dir_at(dir, "main"), &checkout, NULL), 1);
	assert_int_equal(st_registry_open(&registry, true, NULL), 1);
	assert_int_equal(st_registry_touch(&registry, &checkout, &head, "m", ahead, NULL), 0);
	assert_int_equal(st_registry_touch_agent(&registry, "Ann", ahead, NULL), 0);
	assert_int_equal(st_registry_add(&registry, &event, NULL), 0);
	assert_int_equal(st_registry_clean(&registry, "m", ahead, NULL), 0);
	assert_int_equal(st_registry_clean(&registry, "m", now, NULL), 0);
	assert_true(registry.checkout > 0);
	assert_int_equal(st_registry_files(&registry, registry.checkout, check_time, &now, NULL), 0);
	assert_int_equal(st_registry_agents(&registry, registry.checkout, check_seen, &now, NULL), 0);
}

/* ---- many processes ---- */

enum { EDITS = 4 };

static size_t process_count(void) {
	return getenv("STET_TORTURE") ? 50 : 20;
}

/* One process: an agent in its own file. Exits with the number of edits that failed. */
static _Noreturn void work_alone(const struct dir *dir, size_t n) {
	char name[32], path[32], args[200];
	int failures = 0;
	snprintf(name, sizeof name, "agent-%zu", n);
	snprintf(path, sizeof path, "own-%zu.txt", n);
	struct worker_at one = worker_open(dir, n % 2 ? "main" : "tree", name);
	for (int i = 0; i < EDITS; i++) {
		char *out = NULL;
		snprintf(args, sizeof args, "{\"path\":\"%s\",\"content\":\"edit %d\\n\"}", path, i);
		failures += stet_call(one.session, "write_file", args, strlen(args), &out, NULL, NULL) != 0;
		stet_free(out);
	}
	for (int i = 0; i < 3000; i++) {
		char text[64];
		snprintf(text, sizeof text, "\"path\":\"%s\"", path);
		if (who_has(&one, text))
			break;
		sleep_ms(5);
		failures += i == 2999;
	}
	worker_close(&one);
	_exit(failures);
}

static void many_processes_share_the_registry(void **state) {
	const struct dir *dir = *state;
	size_t count = process_count();
	pid_t pids[50];
	use_own_state(dir);
	make_repository(dir);
	git(dir, "main", "worktree", "add", "-q", "-b", "b", "../tree");
	for (size_t i = 0; i < count; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			work_alone(dir, i);
	}
	for (size_t i = 0; i < count; i++) {
		int status = -1;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	struct worker_at last = worker_open(dir, "main", "last");
	for (size_t i = 0; i < count; i++) {
		char text[64];
		snprintf(text, sizeof text, "\"path\":\"own-%zu.txt\",\"by\":\"agent-%zu\"", i, i);
		assert_true(who_has(&last, text));
	}
	worker_close(&last);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(one_remote_has_one_name_however_it_is_spelled),
		claim(worktrees_and_clones_are_of_one_repository),
		claim(a_user_can_name_a_fork_or_a_repository_without_a_remote),
		claim(a_directory_below_a_checkout_belongs_to_it),
		claim(the_head_is_what_git_says),
		claim(an_edit_is_seen_from_another_checkout),
		claim(lines_are_those_since_the_first_change),
		claim(a_move_names_both_paths),
		claim(a_workspace_below_the_checkout_reports_whole_paths),
		claim(what_is_queued_is_stored_when_the_workspace_closes),
		claim(a_checkout_that_is_gone_is_not_listed),
		claim(outside_of_git_nothing_is_stored),
		claim(a_registry_of_a_newer_stet_is_one_notice),
		claim(a_damaged_registry_is_replaced),
		claim(a_registry_that_is_damaged_inside_is_replaced),
		claim(a_directory_of_others_is_one_notice),
		claim(old_events_make_room),
		claim(what_was_noted_while_the_clock_was_ahead_does_not_stay_new),
		claim(many_processes_share_the_registry),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
