/* Watchers and managers through the public headers. Events are awaited, never slept for. */
#include <poll.h>
#include <stet/stet.h>

#include "lib/test.h"

enum { WAIT_MS = 20000 };

struct heard {
	char path[64];
	char event[16];
	int count;
};

static void hear(void *data, const char *path, const char *event) {
	struct heard *heard = data;
	snprintf(heard->path, sizeof heard->path, "%s", path);
	snprintf(heard->event, sizeof heard->event, "%s", event);
	heard->count++;
}

static void wait_for(int fd) {
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	assert_int_equal(poll(&wanted, 1, WAIT_MS), 1);
}

static void a_watcher_tells_what_changed(void **state) {
	const struct dir *dir = *state;
	struct heard heard = {0};
	struct stet_watcher *watcher = NULL;
	struct stet_error err = {0};
	dir_write(dir, "old.txt", "old\n");
	assert_int_equal(stet_watcher_new(dir->path, hear, &heard, &watcher, &err), 0);
	assert_int_equal(stet_watcher_fd(watcher), -1);
	assert_int_equal(stet_watcher_set(watcher, STET_WATCH_DEBOUNCE, 1, &err), 0);
	assert_int_equal(stet_watcher_set(watcher, STET_WATCH_DEBOUNCE, -1, &err), STET_E_INVALID);
	assert_int_equal(stet_watcher_state_dir(watcher, ".state", &err), 0);
	assert_int_equal(stet_watcher_start(watcher, &err), 0);
	char *clock = strdup(stet_watcher_clock(watcher));

	dir_write(dir, "new.txt", "new\n");
	wait_for(stet_watcher_fd(watcher));
	while (heard.count == 0)
		assert_int_equal(stet_watcher_dispatch(watcher, WAIT_MS, &err), 0);
	assert_string_equal(heard.path, "new.txt");
	assert_string_equal(heard.event, "add");

	dir_write(dir, "old.txt", "changed\n");
	assert_int_equal(stet_watcher_sync(watcher, WAIT_MS, &err), 0);
	struct stet_changes *changes = NULL;
	assert_int_equal(stet_watcher_since(watcher, clock, &changes, &err), 0);
	assert_false(stet_changes_fresh(changes));
	assert_int_equal(stet_changes_count(changes), 2);
	assert_string_equal(stet_changes_path(changes, 0), "old.txt");
	assert_string_equal(stet_changes_event(changes, 0), "change");
	assert_null(stet_changes_path(changes, 2));
	assert_true(strlen(stet_changes_clock(changes)) > 0);
	stet_changes_free(changes);
	char *notice = stet_watcher_notice(watcher);
	assert_null(notice);
	stet_watcher_stop(watcher);
	assert_int_equal(stet_watcher_fd(watcher), -1);
	stet_watcher_free(watcher);
	free(clock);
}

static void a_watcher_of_files_in_use_hears_of_no_others(void **state) {
	const struct dir *dir = *state;
	struct heard heard = {0};
	struct stet_watcher *watcher = NULL;
	struct stet_error err = {0};
	dir_write(dir, "a.txt", "1\n");
	assert_int_equal(stet_watcher_new(dir->path, hear, &heard, &watcher, &err), 0);
	assert_int_equal(stet_watcher_set(watcher, STET_WATCH_USED_ONLY, 1, &err), 0);
	assert_int_equal(stet_watcher_start(watcher, &err), 0);
	assert_int_equal(stet_watcher_use(watcher, "a.txt", &err), 0);
	dir_write(dir, "b.txt", "1\n");
	dir_write(dir, "a.txt", "2\n");
	assert_int_equal(stet_watcher_sync(watcher, WAIT_MS, &err), 0);
	assert_int_equal(heard.count, 1);
	assert_string_equal(heard.path, "a.txt");
	stet_watcher_unuse(watcher, "a.txt");
	stet_watcher_free(watcher);
}

static void a_workspace_tells_of_the_files_in_use(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	struct stet_error err = {0};
	struct heard heard = {0};
	assert_int_equal(stet_workspace_open(dir->path, &ws, &err), 0);
	int fd = stet_workspace_watch_fd(ws, &err);
	assert_true(fd >= 0);
	char *path = NULL;
	assert_int_equal(stet_workspace_watch(ws, "./a.txt", &path, &err), 0);
	assert_string_equal(path, "a.txt");
	struct stet_changes *changes = NULL;
	assert_int_equal(stet_workspace_since(ws, "", &changes, &err), 0);
	assert_true(stet_changes_fresh(changes));
	stet_changes_free(changes);

	dir_write(dir, "a.txt", "1\n");
	while (heard.count == 0) {
		wait_for(fd);
		assert_int_equal(stet_workspace_dispatch(ws, 0, hear, &heard, &err), 0);
	}
	assert_string_equal(heard.path, "a.txt");
	stet_workspace_unwatch(ws, path);
	stet_free(path);
	stet_workspace_close(ws);
}

static void a_manager_ends_the_tracking_of_a_changed_file(void **state) {
	const struct dir *dir = *state;
	struct stet_manager *manager = NULL;
	struct stet_answer *answer = NULL;
	struct stet_error err = {0};
	dir_write(dir, "AGENTS.md", "Rules.\n");
	dir_write(dir, "a.txt", "1\n");
	assert_int_equal(stet_manager_new(dir->path, &manager, &err), 0);
	assert_int_equal(stet_manager_fd(manager), -1);
	assert_int_equal(stet_manager_initialize(manager, &err), 0);
	assert_int_equal(stet_manager_track_read(manager, "a.txt", "1\n", 2, &err), 0);
	assert_int_equal(stet_manager_check_for_conflict(manager, "a.txt", &answer, &err), 0);
	assert_string_equal(stet_answer_status(answer), "clean");
	stet_answer_free(answer);

	dir_write(dir, "a.txt", "2\n");
	const char *status = "modified";
	while (strcmp(status, "modified") == 0) {
		wait_for(stet_manager_fd(manager));
		assert_int_equal(stet_manager_dispatch(manager, 0, &err), 0);
		assert_int_equal(stet_manager_check_for_conflict(manager, "a.txt", &answer, &err), 0);
		status = strcmp(stet_answer_status(answer), "untracked") == 0 ? "untracked" : "modified";
		stet_answer_free(answer);
	}
	assert_int_equal(
		stet_session_write(stet_manager_session(manager), "a.txt", "3\n", 2, NULL, NULL, &err),
		STET_E_CONFLICT);

	struct stet_instructions *list = NULL;
	assert_int_equal(stet_manager_instructions_root(manager, &list, &err), 0);
	assert_int_equal(stet_instructions_count(list), 1);
	stet_instructions_free(list);
	stet_manager_clear_session(manager);
	assert_int_equal(stet_manager_instructions_for_path(manager, "a.txt", &list, &err), 0);
	assert_int_equal(stet_instructions_count(list), 1);
	stet_instructions_free(list);
	stet_manager_free(manager);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_watcher_tells_what_changed),
		claim(a_watcher_of_files_in_use_hears_of_no_others),
		claim(a_workspace_tells_of_the_files_in_use),
		claim(a_manager_ends_the_tracking_of_a_changed_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
