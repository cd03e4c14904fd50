/* The watcher that the sessions of a workspace share, and the tool `changes`. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "core/session/session.h"
#include "lib/alloc.h"
#include "lib/run.h"
#include "lib/tools.h"
#include "stet/stet.h"

enum { PATIENCE_MS = 120000 };

/* What was told, as "event path\n". */
struct told {
	char log[1024];
};

static void note(void *data, const char *path, const char *event) {
	struct told *told = data;
	size_t len = strlen(told->log);
	snprintf(told->log + len, sizeof told->log - len, "%s %s\n", event, path);
}

/* Dispatch until this was told, and nothing else. */
static void expect_told(struct host *host, const char *log) {
	struct told told = {0};
	int64_t end = st_now_ms() + PATIENCE_MS;
	while (strlen(told.log) < strlen(log)) {
		assert_true(st_now_ms() < end);
		assert_int_equal(stet_workspace_dispatch(host->ws, 1000, note, &told, &host->err), 0);
	}
	assert_string_equal(told.log, log);
}

static char *watch(struct host *host, const char *path) {
	char *below = NULL;
	if (stet_workspace_watch(host->ws, path, &below, &host->err) < 0)
		fail_msg("%s", host->err.message);
	return below;
}

static void unwatch(struct host *host, char *below) {
	stet_workspace_unwatch(host->ws, below);
	stet_free(below);
}

static size_t watches(const struct host *host) {
	return host->ws->watcher.used.watch.in.count;
}

/* ---- subscriptions ---- */

static void costs_nothing_until_it_is_asked_for(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a/b/c", "1");
	assert_int_equal(host_read(host, "a/b/c"), 0);
	assert_false(host->ws->watcher.on);
	assert_int_equal(host->ws->watcher.used.watch.in.fd, -1);
}

static void tells_of_a_file_that_somebody_named(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "src/a", "1");
	dir_write(host->dir, "src/b", "1");
	char *below = watch(host, dir_at(host->dir, "src/a"));
	assert_string_equal(below, "src/a");
	dir_write(host->dir, "src/b", "2");
	dir_write(host->dir, "src/a", "2");
	expect_told(host, "change src/a\n");
	assert_int_equal(unlink(dir_at(host->dir, "src/a")), 0);
	expect_told(host, "unlink src/a\n");
	dir_write(host->dir, "src/a", "2");
	expect_told(host, "add src/a\n");
	unwatch(host, below);
	assert_int_equal(stet_workspace_dispatch(host->ws, 0, note, &(struct told){0}, NULL), 0);
	assert_in_range(watches(host), 0, 1);
}

static void waits_for_a_file_in_a_directory_that_is_not_there(void **state) {
	struct host *host = *state;
	char *below = watch(host, "new/deep/a");
	dir_write(host->dir, "new/deep/b", "1");
	dir_write(host->dir, "new/deep/a", "1");
	expect_told(host, "add new/deep/a\n");
	unwatch(host, below);
}

static void names_a_file_by_its_one_path(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "real/a", "1");
	assert_int_equal(symlink("real", dir_at(host->dir, "link")), 0);
	char *below = watch(host, "link/../link/a");
	assert_string_equal(below, "real/a");
	dir_write(host->dir, "real/a", "2");
	expect_told(host, "change real/a\n");
	unwatch(host, below);
}

static void counts_who_watches(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "1");
	dir_write(host->dir, "b", "1");
	char *one = watch(host, "a"), *two = watch(host, "a"), *other = watch(host, "b");
	unwatch(host, one);
	dir_write(host->dir, "a", "2");
	expect_told(host, "change a\n");
	unwatch(host, two);
	dir_write(host->dir, "a", "3");
	dir_write(host->dir, "b", "3");
	expect_told(host, "change b\n");
	unwatch(host, other);
}

static void refuses_to_watch_what_is_outside(void **state) {
	struct host *host = *state;
	char *below;
	assert_int_equal(stet_workspace_watch(host->ws, "../x", &below, &host->err), STET_E_OUTSIDE);
	assert_null(below);
}

static void tells_of_what_sessions_have_read(void **state) {
	struct host *host = *state;
	struct stet_session *other = host_session(host, "other");
	struct stet_answer *answer;
	dir_write(host->dir, "a", "1");
	dir_write(host->dir, "b", "1");
	dir_write(host->dir, "c", "1");
	assert_true(stet_workspace_watch_fd(host->ws, &host->err) >= 0);
	assert_int_equal(host_read(host, "a"), 0);
	assert_int_equal(stet_session_read(other, "b", 0, 0, &answer, NULL), 0);
	stet_answer_free(answer);
	dir_write(host->dir, "c", "2");
	dir_write(host->dir, "b", "2");
	expect_told(host, "change b\n");
	dir_write(host->dir, "a", "2");
	expect_told(host, "change a\n");
	stet_session_close(other);
}

static void tells_of_what_was_read_before_it_began(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a/b", "1");
	assert_int_equal(host_read(host, "a/b"), 0);
	assert_true(stet_workspace_watch_fd(host->ws, &host->err) >= 0);
	dir_write(host->dir, "a/b", "2");
	expect_told(host, "change a/b\n");
}

static void own_writes_are_told_too(void **state) {
	struct host *host = *state;
	char *below = watch(host, "a");
	call(host, "write_file", "{'path': 'a', 'content': '1'}");
	expect_told(host, "add a\n");
	call(host, "edit_file", "{'path': 'a', 'oldText': '1', 'newText': '2'}");
	expect_told(host, "change a\n");
	unwatch(host, below);
}

static bool is_readable(struct host *host) {
	struct pollfd wait = {.fd = stet_workspace_watch_fd(host->ws, NULL), .events = POLLIN};
	return poll(&wait, 1, 0) == 1;
}

static void what_a_question_took_in_is_told_all_the_same(void **state) {
	struct host *host = *state;
	struct stet_changes *changes;
	char *below = watch(host, "a");
	dir_write(host->dir, "a", "1");
	assert_int_equal(stet_workspace_since(host->ws, "", &changes, &host->err), 0);
	assert_int_equal(stet_changes_count(changes), 1);
	stet_changes_free(changes);
	assert_true(is_readable(host));
	expect_told(host, "add a\n");
	assert_false(is_readable(host));
	unwatch(host, below);
}

static void watch_again(void *data, const char *path, const char *event) {
	struct host *host = data;
	struct stet_changes *changes;
	(void)event;
	assert_int_equal(stet_workspace_since(host->ws, "", &changes, NULL), 0);
	stet_changes_free(changes);
	unwatch(host, watch(host, path));
	host->err.code = 1;
}

static void the_callback_may_call_back(void **state) {
	struct host *host = *state;
	char *below = watch(host, "a");
	dir_write(host->dir, "a", "1");
	int64_t end = st_now_ms() + PATIENCE_MS;
	for (host->err.code = 0; host->err.code != 1;) {
		assert_true(st_now_ms() < end);
		assert_int_equal(stet_workspace_dispatch(host->ws, 1000, watch_again, host, NULL), 0);
	}
	unwatch(host, below);
}

static void a_large_tree_costs_a_watch_for_each_directory_on_the_way(void **state) {
	struct host *host = *state;
	char name[32];
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "d%d", i);
		assert_int_equal(mkdirat(host->dir->fd, name, 0700), 0);
	}
	dir_write(host->dir, "d7/e/f", "1");
	dir_write(host->dir, "d9/e/f", "1");
	char *one = watch(host, "d7/e/f"), *two = watch(host, "d9/e/f");
	assert_int_equal(watches(host), 5);
	unwatch(host, one);
	unwatch(host, two);
}

static void the_least_recently_used_files_are_let_go(void **state) {
	struct host *host = *state;
	char name[32];
	assert_true(stet_workspace_watch_fd(host->ws, NULL) >= 0);
	st_lru_limit(&host->ws->watcher.files, 10, 10);
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof name, "d%d/f", i);
		dir_write(host->dir, name, "1");
		assert_int_equal(host_read(host, name), 0);
	}
	assert_int_equal(stet_workspace_dispatch(host->ws, 0, note, &(struct told){0}, NULL), 0);
	assert_in_range(watches(host), 10, 11);
}

/* ---- the tool ---- */

static void lists_the_files_in_use_at_the_beginning(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "1");
	dir_write(host->dir, "b", "1");
	call(host, "read_file", "{'path': 'a'}");
	call(host, "changes", "{}");
	assert_true(yyjson_get_bool(look("fresh")));
	expect_count("changes", 1);
	expect_str("changes.0.path", "a");
	expect_count("stale", 0);
	expect_text("Watching begins now. 1 file is in use:\nadd a\n");
}

static void lists_what_changed_since_a_clock(void **state) {
	struct host *host = *state;
	static const char *const names[] = {"a", "b", "c"};
	for (size_t i = 0; i < 3; i++) {
		dir_write(host->dir, names[i], "1");
		call(host, "read_file", "{'path': '%s'}", names[i]);
	}
	call(host, "changes", "{}");
	const char *clock = copy_of("clock");
	dir_write(host->dir, "a", "2");
	assert_int_equal(unlink(dir_at(host->dir, "b")), 0);
	dir_write(host->dir, "d", "1");
	call(host, "changes", "{'clock': '%s'}", clock);
	assert_false(yyjson_get_bool(look("fresh")));
	expect_count("changes", 2);
	expect_count("stale", 2);
	expect_text("2 files changed.\n");
	expect_text("change a\n");
	expect_text("unlink b\n");
	expect_text("modified a\n");
	expect_text("deleted b\n");
	call(host, "changes", "{'clock': '%s'}", copy_of("clock"));
	expect_count("changes", 0);
	expect_count("stale", 2);
	call(host, "read_file", "{'path': 'a'}");
	call(host, "changes", "{'clock': '%s'}", clock);
	expect_count("changes", 2);
	expect_count("stale", 1);
	expect_str("stale.0", "b");
}

static void finds_what_changed_before_anything_was_watched(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "1");
	call(host, "read_file", "{'path': 'a'}");
	dir_write(host->dir, "a", "2");
	call(host, "changes", "{}");
	expect_str("stale.0", "a");
}

static void own_writes_and_equal_bytes_are_not_stale(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "1");
	dir_write(host->dir, "b", "1");
	call(host, "read_file", "{'path': 'a'}");
	call(host, "read_file", "{'path': 'b'}");
	call(host, "changes", "{}");
	const char *clock = copy_of("clock");
	call(host, "edit_file", "{'path': 'a', 'oldText': '1', 'newText': '2'}");
	dir_write(host->dir, "b", "1");
	call(host, "changes", "{'clock': '%s'}", clock);
	expect_count("changes", 1);
	expect_str("changes.0.path", "a");
	expect_count("stale", 0);
}

static void a_strange_clock_is_fresh(void **state) {
	struct host *host = *state;
	static const char *const strange[] = {"c:1:1", "yesterday", "c:"};
	dir_write(host->dir, "a", "1");
	call(host, "read_file", "{'path': 'a'}");
	for (size_t i = 0; i < 3; i++) {
		call(host, "changes", "{'clock': '%s'}", strange[i]);
		assert_true(yyjson_get_bool(look("fresh")));
		expect_count("changes", 1);
		expect_text("The changes since that clock are not known");
	}
}

static void says_how_much_it_left_out(void **state) {
	struct host *host = *state;
	char name[16];
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof name, "f%d", i);
		dir_write(host->dir, name, "1");
		call(host, "read_file", "{'path': '%s'}", name);
	}
	call(host, "changes", "{'limit': 2}");
	expect_count("changes", 2);
	expect_int("omitted", 3);
	expect_text("... and 3 more; ask with a larger limit");
	refuse(host, STET_E_INVALID, "changes", "{'limit': -1}");
	refuse(host, STET_E_INVALID, "changes", "{'limit': 10001}");
}

static void names_cannot_pose_as_lines(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a\nunlink b", "1");
	call(host, "read_file", "{'path': 'a\\nunlink b'}");
	call(host, "changes", "{}");
	expect_str("changes.0.path", "a\nunlink b");
	expect_no_text("\nunlink b");
}

static void says_when_the_root_is_gone(void **state) {
	struct dir *dir = *state;
	struct host host = {.dir = dir};
	assert_int_equal(mkdir(dir_at(dir, "root"), 0700), 0);
	assert_int_equal(stet_workspace_open(dir_at(dir, "root"), &host.ws, NULL), 0);
	assert_int_equal(stet_session_open(host.ws, NULL, &host.session, NULL), 0);
	call(&host, "changes", "{}");
	assert_int_equal(run(dir, NULL, (const char *[]){"rm", "-r", "root", NULL}), 0);
	refuse(&host, STET_E_NOT_FOUND, "changes", "{}");
	expect_text("is gone");
	stet_session_close(host.session);
	stet_workspace_close(host.ws);
}

static void memory_may_run_out_at_any_moment(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "1");
	dir_write(host->dir, "b", "1");
	call(host, "read_file", "{'path': 'a'}");
	call(host, "read_file", "{'path': 'b'}");
	bool failed = true;
	for (size_t n = 1; failed && n < 1000; n++) {
		char *answer = NULL;
		dir_write(host->dir, "a", n % 2 ? "2" : "3");
		alloc_fail_at(n);
		int code = stet_call(host->session, "changes", "{}", 2, &answer, NULL, &host->err);
		failed = alloc_has_failed();
		assert_true(code == 0 || code == STET_E_NOMEM);
		stet_free(answer);
	}
	assert_false(failed);
	call(host, "changes", "{}");
	expect_count("changes", 2);
	expect_count("stale", 1);
}

/* ---- instruction files ---- */

/* Dispatch until this was told of files by their names, and nothing of files in use. */
static void expect_named(struct host *host, const char *log) {
	struct told named = {0};
	const struct st_shared_watcher_report report = {.named = note, .data = &named};
	int64_t end = st_now_ms() + PATIENCE_MS;
	while (strlen(named.log) < strlen(log)) {
		assert_true(st_now_ms() < end);
		assert_int_equal(st_shared_watcher_dispatch(&host->ws->watcher, 1000, &report, &host->err),
		                 0);
	}
	assert_string_equal(named.log, log);
}

static void instruction_files_are_told_wherever_they_are(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "AGENTS.md", "1");
	assert_int_equal(st_workspace_watch_instructions(host->ws, &host->err), 0);
	assert_int_equal(st_workspace_watch_instructions(host->ws, &host->err), 0);
	dir_write(host->dir, "a/b/other.md", "1");
	dir_write(host->dir, "a/b/AGENTS.md", "1");
	expect_named(host, "add a/b/AGENTS.md\n");
	st_workspace_unwatch_instructions(host->ws);
	dir_write(host->dir, "AGENTS.md", "2");
	expect_named(host, "change AGENTS.md\n");
	assert_int_equal(unlink(dir_at(host->dir, "a/b/AGENTS.md")), 0);
	expect_named(host, "unlink a/b/AGENTS.md\n");
	/* The last one who wanted to know has gone. */
	st_workspace_unwatch_instructions(host->ws);
	assert_int_equal(host->ws->watcher.named.watch.in.fd, -1);
	assert_int_equal(st_workspace_watch_instructions(host->ws, &host->err), 0);
	dir_write(host->dir, "AGENTS.md", "3");
	expect_named(host, "change AGENTS.md\n");
	st_workspace_unwatch_instructions(host->ws);
}

/* ---- threads ---- */

/* A question waits with the lock held, up to two seconds. */
static void to_read_a_new_file_waits_for_no_question(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a", "1");
	dir_write(host->dir, "b", "1");
	assert_true(stet_workspace_watch_fd(host->ws, &host->err) >= 0);
	pthread_mutex_lock(&host->ws->watcher.lock);
	assert_int_equal(host_read(host, "a"), 0);
	assert_int_equal(host_read(host, "b"), 0);
	pthread_mutex_unlock(&host->ws->watcher.lock);
	/* The next to hold the lock takes them in. */
	assert_true(stet_workspace_watch_fd(host->ws, &host->err) >= 0);
	dir_write(host->dir, "b", "22");
	expect_told(host, "change b\n");
}

enum { WORKERS = 4, ROUNDS = 30 };

struct crew {
	struct stet_workspace *ws;
	_Atomic int working;
	_Atomic int failures;
	_Atomic int next;
	size_t told;
};

static void ask(struct crew *crew, struct stet_session *session, const char *tool,
                const char *args) {
	char *answer = NULL;
	if (stet_call(session, tool, args, strlen(args), &answer, NULL, NULL) < 0)
		crew->failures++;
	stet_free(answer);
}

static void *work(void *arg) {
	struct crew *crew = arg;
	struct stet_session *session;
	struct stet_error err;
	char args[128], path[32];
	int number = crew->next++;
	if (stet_session_open(crew->ws, NULL, &session, &err) < 0)
		return NULL;
	for (int i = 0; i < ROUNDS; i++) {
		char *below = NULL;
		snprintf(path, sizeof path, "d%d/f%d", i % 5, number);
		snprintf(args, sizeof args, "{\"path\":\"%s\",\"content\":\"%d\"}", path, i);
		ask(crew, session, "write_file", args);
		snprintf(args, sizeof args, "{\"path\":\"%s\"}", path);
		ask(crew, session, "read_file", args);
		ask(crew, session, "changes", "{\"clock\":\"\"}");
		snprintf(path, sizeof path, "d%d/f%d", i % 5, (number + 1) % WORKERS);
		if (stet_workspace_watch(crew->ws, path, &below, &err) < 0)
			crew->failures++;
		else
			stet_workspace_unwatch(crew->ws, below);
		stet_free(below);
	}
	stet_session_close(session);
	crew->working--;
	return NULL;
}

static void count_told(void *data, const char *path, const char *event) {
	struct crew *crew = data;
	(void)path;
	(void)event;
	crew->told++;
}

static void *tell(void *arg) {
	struct crew *crew = arg;
	while (crew->working > 0) {
		if (stet_workspace_dispatch(crew->ws, 10, count_told, crew, NULL) < 0)
			crew->failures++;
	}
	return NULL;
}

static void threads_may_read_write_watch_and_ask_at_once(void **state) {
	struct host *host = *state;
	struct crew crew = {.ws = host->ws, .working = WORKERS};
	pthread_t threads[WORKERS + 1];
	for (int i = 0; i < 5; i++) {
		char name[16];
		snprintf(name, sizeof name, "d%d", i);
		assert_int_equal(mkdirat(host->dir->fd, name, 0700), 0);
	}
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_DURABLE, 0, NULL), 0);
	for (int i = 0; i <= WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i < WORKERS ? work : tell, &crew), 0);
	for (int i = 0; i <= WORKERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(crew.failures, 0);
	assert_true(crew.told > 0);
	struct stet_changes *changes;
	assert_int_equal(stet_workspace_since(host->ws, "", &changes, NULL), 0);
	assert_int_equal(stet_changes_count(changes), 5 * WORKERS);
	stet_changes_free(changes);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(costs_nothing_until_it_is_asked_for),
		host_claim(tells_of_a_file_that_somebody_named),
		host_claim(waits_for_a_file_in_a_directory_that_is_not_there),
		host_claim(names_a_file_by_its_one_path),
		host_claim(counts_who_watches),
		host_claim(refuses_to_watch_what_is_outside),
		host_claim(instruction_files_are_told_wherever_they_are),
		host_claim(to_read_a_new_file_waits_for_no_question),
		host_claim(tells_of_what_sessions_have_read),
		host_claim(tells_of_what_was_read_before_it_began),
		host_claim(own_writes_are_told_too),
		host_claim(what_a_question_took_in_is_told_all_the_same),
		host_claim(the_callback_may_call_back),
		host_claim(a_large_tree_costs_a_watch_for_each_directory_on_the_way),
		host_claim(the_least_recently_used_files_are_let_go),
		host_claim(lists_the_files_in_use_at_the_beginning),
		host_claim(lists_what_changed_since_a_clock),
		host_claim(finds_what_changed_before_anything_was_watched),
		host_claim(own_writes_and_equal_bytes_are_not_stale),
		host_claim(a_strange_clock_is_fresh),
		host_claim(says_how_much_it_left_out),
		host_claim(names_cannot_pose_as_lines),
		claim(says_when_the_root_is_gone),
		host_claim(memory_may_run_out_at_any_moment),
		host_claim(threads_may_read_write_watch_and_ask_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
