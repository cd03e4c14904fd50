/*
 * Threads of one process, each with a session of its own over one workspace:
 * nothing gets lost between them either. Above all this is what the thread
 * sanitizer looks at.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "torture/counter.h"
#include "torture/fight.h"

enum { THREADS = 4 };

/* The task of a thread, and its success. */
struct worker {
	pthread_t thread;
	struct stet_workspace *ws;
	const char *label;
	int times;
	bool done;
};

static void *count(void *arg) {
	struct worker *worker = arg;
	struct stet_session *session;
	if (stet_session_open(worker->ws, worker->label, &session, NULL) < 0)
		return NULL;
	worker->done = true;
	for (int i = 0; i < worker->times && worker->done; i++)
		worker->done = count_up(session, worker->label);
	stet_session_close(session);
	return NULL;
}

static struct stet_workspace *open_workspace(const struct dir *dir) {
	struct stet_workspace *ws;
	assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
	assert_int_equal(stet_workspace_set(ws, STET_OPTION_DURABLE, 0, NULL), 0);
	return ws;
}

static void count_in_threads(struct stet_workspace *ws, const char *const labels[THREADS],
                             int times) {
	struct worker workers[THREADS];
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.ws = ws, .label = labels[i], .times = times};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, count, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		assert_true(workers[i].done);
	}
}

static void threads_that_count_each_for_itself_lose_nothing(void **state) {
	static const char *const labels[THREADS] = {"a", "b", "c", "d"};
	int times = in_full() ? 200 : 40;
	counters_write(*state);
	struct stet_workspace *ws = open_workspace(*state);
	count_in_threads(ws, labels, times);
	stet_workspace_close(ws);
	for (int i = 0; i < THREADS; i++)
		assert_counter(*state, labels[i], times);
	assert_no_leftover(*state);
}

static void threads_that_count_together_lose_nothing(void **state) {
	static const char *const labels[THREADS] = {"all", "all", "all", "all"};
	int times = in_full() ? 200 : 40;
	counters_write(*state);
	struct stet_workspace *ws = open_workspace(*state);
	count_in_threads(ws, labels, times);
	stet_workspace_close(ws);
	assert_counter(*state, "all", THREADS * times);
	assert_no_leftover(*state);
}

/* ---- with another process about, and one who takes the notices ---- */

struct listener {
	pthread_t thread;
	struct stet_workspace *ws;
	_Atomic bool stop;
	_Atomic unsigned heard;
};

static void *listen(void *arg) {
	struct listener *listener = arg;
	while (!listener->stop) {
		stet_workspace_drain(listener->ws, 0);
		for (char *notice; (notice = stet_workspace_notice(listener->ws)); stet_free(notice))
			listener->heard++;
		nap_ns(1000000);
	}
	return NULL;
}

/* How many records are neither in the file nor in a rescued copy. */
static unsigned count_lost(const struct dir *dir, unsigned last) {
	bool *marks = calloc(last + 1, sizeof *marks);
	st_auto(st_buf) text = ST_BUF_INIT;
	assert_true(file_load(dir_at(dir, "counters"), &text));
	page_mark_records(st_buf_str(&text), marks, last + 1);
	DIR *stream = opendir(dir_at(dir, ".stet/rescued"));
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		char name[300];
		snprintf(name, sizeof name, ".stet/rescued/%s", entry->d_name);
		if (entry->d_type == DT_REG && file_load(dir_at(dir, name), &text))
			page_mark_records(st_buf_str(&text), marks, last + 1);
	}
	if (stream)
		closedir(stream);
	unsigned lost = 0;
	for (unsigned record = 1; record <= last; record++)
		lost += !marks[record];
	free(marks);
	return lost;
}

static void threads_lose_nothing_that_another_process_appends(void **state) {
	static const char *const labels[THREADS] = {"a", "b", "c", "d"};
	const struct dir *dir = *state;
	int times = in_full() ? 200 : 40;
	struct hostile hostile;
	char path[512];
	snprintf(path, sizeof path, "%s", dir_at(dir, "counters"));
	counters_write(dir);
	hostile_start(&hostile, &hostile_kinds[HOSTILE_APPEND], path);
	hostile_ready(&hostile, 1);

	struct listener listener = {.ws = open_workspace(dir)};
	assert_int_equal(pthread_create(&listener.thread, NULL, listen, &listener), 0);
	hostile_rage(&hostile, 3000000);
	count_in_threads(listener.ws, labels, times);
	unsigned records = hostile_calm(&hostile);
	assert_true(hostile_stop(&hostile));
	listener.stop = true;
	assert_int_equal(pthread_join(listener.thread, NULL), 0);
	stet_workspace_close(listener.ws);

	printf("# %u records appended meanwhile, %u notices\n", records, listener.heard);
	for (int i = 0; i < THREADS; i++)
		assert_counter(dir, labels[i], times);
	assert_int_equal(count_lost(dir, records), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(threads_that_count_each_for_itself_lose_nothing),
		claim(threads_that_count_together_lose_nothing),
		claim(threads_lose_nothing_that_another_process_appends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
