/* Guarantees for bindings: the order of closing, empty errors, NULL handles, waking a dispatch. */
#include <pthread.h>
#include <stet/stet.h>

#include "lib/test.h"

enum { WAIT_MS = 20000 };

static struct stet_workspace *open_workspace(const struct dir *dir) {
	struct stet_workspace *ws = NULL;
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	return ws;
}

static void a_session_outlives_the_close_of_its_workspace(void **state) {
	const struct dir *dir = *state;
	struct stet_session *first = NULL, *second = NULL;
	struct stet_answer *answer = NULL;
	dir_write(dir, "a.txt", "one\n");
	struct stet_workspace *ws = open_workspace(dir);
	assert_int_equal(stet_session_open(ws, "first", &first, NULL), 0);
	assert_int_equal(stet_session_open(ws, NULL, &second, NULL), 0);
	stet_workspace_close(ws);
	assert_int_equal(stet_session_edit(second, "a.txt", "one", 3, "two", 3, NULL, &answer, NULL),
	                 0);
	stet_answer_free(answer);
	stet_session_close(second);
	assert_int_equal(stet_session_modified(first, "a.txt", NULL), 0);
	assert_string_equal(stet_workspace_root(stet_session_workspace(first)), dir->path);
	stet_session_close(first);
	assert_string_equal(dir_read(dir, "a.txt"), "two\n");
}

static void a_refused_session_leaves_the_workspace_open(void **state) {
	struct stet_session *session = NULL;
	struct stet_workspace *ws = open_workspace(*state);
	assert_int_equal(stet_session_open(ws, "a\tb", &session, NULL), STET_E_INVALID);
	assert_int_equal(stet_session_open(ws, "ab", &session, NULL), 0);
	stet_session_close(session);
	assert_non_null(stet_workspace_root(ws));
	stet_workspace_close(ws);
}

static void success_leaves_the_error_empty(void **state) {
	const struct dir *dir = *state;
	struct stet_error err = {0};
	struct stet_session *session = NULL;
	dir_write(dir, "a.txt", "one\n");
	struct stet_workspace *ws = open_workspace(dir);
	assert_int_equal(stet_session_open(ws, NULL, &session, &err), 0);
	assert_int_equal(stet_session_track_read(session, "none", &err), STET_E_NOT_FOUND);
	assert_int_equal(stet_error_code(&err), STET_E_NOT_FOUND);
	assert_int_equal(stet_session_track_read(session, "a.txt", &err), 0);
	assert_int_equal(stet_error_code(&err), 0);
	assert_string_equal(stet_error_message(&err), "");
	stet_session_close(session);
	stet_workspace_close(ws);
}

static void a_null_handle_is_refused_with_a_sentence(void **state) {
	struct stet_error err = {0};
	struct stet_answer *answer = NULL;
	(void)state;
	assert_int_equal(stet_session_check(NULL, "a", &answer, &err), STET_E_INVALID);
	assert_non_null(strstr(stet_error_message(&err), "handle is NULL"));
	assert_null(stet_answer_status(NULL));
	assert_int_equal(stet_instructions_count(NULL), 0);
	assert_int_equal(stet_watcher_fd(NULL), -1);
	stet_session_invalidate(NULL, "a");
}

/* ---- waking ---- */

static void ignore_change(void *data, const char *path, const char *event) {
	(void)data, (void)path, (void)event;
}

static void *wait_in_watcher(void *watcher) {
	return (void *)(intptr_t)stet_watcher_dispatch(watcher, -1, NULL);
}

static void *wait_in_workspace(void *ws) {
	return (void *)(intptr_t)stet_workspace_dispatch(ws, -1, ignore_change, NULL, NULL);
}

static void *wait_in_manager(void *manager) {
	return (void *)(intptr_t)stet_manager_dispatch(manager, -1, NULL);
}

/* A wake before the wait counts too, so there is no moment to hit. */
static void expect_end(pthread_t thread) {
	void *code;
	assert_int_equal(pthread_join(thread, &code), 0);
	assert_int_equal((int)(intptr_t)code, 0);
}

static void a_wake_ends_the_dispatch_of_a_watcher(void **state) {
	const struct dir *dir = *state;
	struct stet_watcher *watcher = NULL;
	pthread_t thread;
	assert_int_equal(stet_watcher_new(dir->path, ignore_change, NULL, &watcher, NULL), 0);
	assert_int_equal(stet_watcher_start(watcher, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_in_watcher, watcher), 0);
	stet_watcher_wake(watcher);
	expect_end(thread);
	stet_watcher_free(watcher);
}

static void a_wake_ends_the_dispatch_of_a_workspace(void **state) {
	struct stet_workspace *ws = open_workspace(*state);
	pthread_t thread;
	assert_true(stet_workspace_watch_fd(ws, NULL) >= 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_in_workspace, ws), 0);
	stet_workspace_wake(ws);
	expect_end(thread);
	stet_workspace_close(ws);
}

/* ---- managers ---- */

static void count_change(void *data, const char *path, const char *event) {
	assert_string_equal(path, "a.txt");
	assert_string_equal(event, "change");
	++*(int *)data;
}

static void a_manager_reports_changes_until_it_is_stopped(void **state) {
	const struct dir *dir = *state;
	struct stet_manager *manager = NULL;
	struct stet_answer *answer = NULL;
	int changes = 0;
	dir_write(dir, "a.txt", "one\n");
	assert_int_equal(stet_manager_new(dir->path, &manager, NULL), 0);
	stet_manager_on_change(manager, count_change, &changes);
	assert_int_equal(stet_manager_initialize(manager, NULL), 0);
	assert_int_equal(stet_manager_track_read(manager, "a.txt", "one\n", 4, NULL), 0);
	dir_write(dir, "a.txt", "two\n");
	while (changes == 0)
		assert_int_equal(stet_manager_dispatch(manager, WAIT_MS, NULL), 0);
	stet_manager_stop(manager);
	assert_int_equal(stet_manager_fd(manager), -1);
	assert_int_equal(stet_manager_dispatch(manager, 0, NULL), STET_E_INVALID);
	assert_int_equal(stet_manager_check_for_conflict(manager, "a.txt", &answer, NULL), 0);
	assert_string_equal(stet_answer_status(answer), "untracked");
	stet_answer_free(answer);
	assert_int_equal(stet_manager_initialize(manager, NULL), 0);
	stet_manager_free(manager);
}

static void a_wake_ends_the_dispatch_of_a_manager(void **state) {
	const struct dir *dir = *state;
	struct stet_manager *manager = NULL;
	pthread_t thread;
	assert_int_equal(stet_manager_new(dir->path, &manager, NULL), 0);
	assert_int_equal(stet_manager_initialize(manager, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_in_manager, manager), 0);
	stet_manager_wake(manager);
	expect_end(thread);
	stet_manager_free(manager);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_session_outlives_the_close_of_its_workspace),
		claim(a_refused_session_leaves_the_workspace_open),
		claim(success_leaves_the_error_empty),
		claim(a_null_handle_is_refused_with_a_sentence),
		claim(a_wake_ends_the_dispatch_of_a_watcher),
		claim(a_wake_ends_the_dispatch_of_a_workspace),
		claim(a_manager_reports_changes_until_it_is_stopped),
		claim(a_wake_ends_the_dispatch_of_a_manager),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
