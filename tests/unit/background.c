/* The background worker: tasks run once, when they are due, on one thread. */
#include "base/thread.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "lib/test.h"

/* What the tasks of a test did, in order. */
struct record {
	struct st_background background;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int ran[64];
	size_t count;
	/* A task that waits goes on when this is set. */
	bool open;
};

/* A task with a number. */
struct step {
	struct st_background_task task;
	struct record *record;
	int number;
	/* How many more times the task schedules itself. */
	int again;
	/* It waits for record->open. */
	bool waits;
	bool takes_signals;
};

static void run_step(void *data) {
	struct step *step = data;
	struct record *record = step->record;
	sigset_t blocked;
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	pthread_mutex_lock(&record->lock);
	step->takes_signals = !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGTERM);
	if (record->count < sizeof record->ran / sizeof *record->ran)
		record->ran[record->count] = step->number;
	record->count++;
	pthread_cond_broadcast(&record->changed);
	while (step->waits && !record->open)
		pthread_cond_wait(&record->changed, &record->lock);
	bool again = step->again-- > 0;
	pthread_mutex_unlock(&record->lock);
	if (again)
		st_background_schedule(&record->background, &step->task, 0);
}

static void step_init(struct step *step, struct record *record, int number) {
	*step =
		(struct step){.task = {.run = run_step, .data = step}, .record = record, .number = number};
}

static void schedule(struct step *step, int64_t delay_ms) {
	st_background_schedule(&step->record->background, &step->task, delay_ms);
}

static void wait_for(struct record *record, size_t count) {
	pthread_mutex_lock(&record->lock);
	while (record->count < count)
		pthread_cond_wait(&record->changed, &record->lock);
	pthread_mutex_unlock(&record->lock);
}

static void open_up(struct record *record) {
	pthread_mutex_lock(&record->lock);
	record->open = true;
	pthread_cond_broadcast(&record->changed);
	pthread_mutex_unlock(&record->lock);
}

static int set_up(void **state) {
	static struct record record;
	record = (struct record){0};
	st_background_init(&record.background);
	pthread_mutex_init(&record.lock, NULL);
	pthread_cond_init(&record.changed, NULL);
	*state = &record;
	alarm(60);
	return 0;
}

static int tear_down(void **state) {
	struct record *record = *state;
	pthread_cond_destroy(&record->changed);
	pthread_mutex_destroy(&record->lock);
	alarm(0);
	return 0;
}

static size_t count_threads(void) {
	size_t count = 0;
	DIR *dir = opendir("/proc/self/task");
	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void all_tasks_run_on_one_thread(void **state) {
	struct record *record = *state;
	struct step first, second;
	step_init(&first, record, 1);
	step_init(&second, record, 2);
	schedule(&first, 0);
	wait_for(record, 1);
	size_t with_worker = count_threads();
	schedule(&second, 0);
	wait_for(record, 2);
	size_t later = count_threads();
	st_background_release(&record->background);
	assert_int_equal(later, with_worker);
	/* A thread that was joined stays in the list for a moment; the alarm ends a wait in vain. */
	while (count_threads() != with_worker - 1)
		sched_yield();
}

static void a_task_runs_when_it_is_due_and_not_before(void **state) {
	struct record *record = *state;
	struct step step;
	step_init(&step, record, 1);
	int64_t begun = st_now_ms();
	schedule(&step, 50);
	wait_for(record, 1);
	assert_true(st_now_ms() - begun >= 50);
	st_background_release(&record->background);
}

static void tasks_run_in_the_order_of_their_times(void **state) {
	struct record *record = *state;
	struct step gate;
	step_init(&gate, record, 0);
	gate.waits = true;
	schedule(&gate, 0);
	wait_for(record, 1);
	struct step steps[5];
	/* All of them are overdue, by so many hours. */
	static const int64_t hours[] = {2, 4, 1, 4, 3};
	for (int i = 0; i < 5; i++) {
		step_init(&steps[i], record, i + 1);
		schedule(&steps[i], -3600000 * hours[i]);
	}
	open_up(record);
	wait_for(record, 6);
	st_background_release(&record->background);
	assert_memory_equal(record->ran, ((int[]){0, 2, 4, 5, 1, 3}), 6 * sizeof(int));
}

/* The first one sleeps for an hour, and so would the worker. */
static void an_earlier_task_is_not_kept_waiting(void **state) {
	struct record *record = *state;
	struct step late, early;
	step_init(&late, record, 1);
	step_init(&early, record, 2);
	schedule(&late, 3600000);
	schedule(&early, 0);
	wait_for(record, 1);
	st_background_release(&record->background);
	assert_int_equal(record->ran[0], 2);
	assert_int_equal(record->count, 1);
}

static void a_queued_task_runs_once_at_the_earlier_time(void **state) {
	struct record *record = *state;
	struct step step, last;
	step_init(&step, record, 1);
	step_init(&last, record, 2);
	schedule(&step, 3600000);
	schedule(&step, 0);
	schedule(&step, 3600000);
	wait_for(record, 1);
	schedule(&last, 0);
	wait_for(record, 2);
	st_background_release(&record->background);
	assert_int_equal(record->ran[0], 1);
	assert_int_equal(record->ran[1], 2);
	/* The third call came too early, or its hour is not over. */
	assert_int_equal(record->count, 2);
}

static void a_task_may_schedule_itself_again(void **state) {
	struct record *record = *state;
	struct step step;
	step_init(&step, record, 1);
	step.again = 9;
	schedule(&step, 0);
	wait_for(record, 10);
	st_background_release(&record->background);
	assert_int_equal(record->count, 10);
}

static void a_task_that_is_scheduled_while_it_runs_runs_again(void **state) {
	struct record *record = *state;
	struct step step;
	step_init(&step, record, 1);
	step.waits = true;
	schedule(&step, 0);
	wait_for(record, 1);
	schedule(&step, 0);
	open_up(record);
	wait_for(record, 2);
	st_background_release(&record->background);
	assert_int_equal(record->count, 2);
}

static void *open_when_stopped(void *data) {
	struct record *record = data;
	for (bool stopped = false; !stopped;) {
		sched_yield();
		pthread_mutex_lock(&record->background.lock);
		stopped = record->background.stop;
		pthread_mutex_unlock(&record->background.lock);
	}
	open_up(record);
	return NULL;
}

static void release_waits_for_the_running_task_and_drops_the_others(void **state) {
	struct record *record = *state;
	struct step running, queued;
	step_init(&running, record, 1);
	step_init(&queued, record, 2);
	running.waits = true;
	schedule(&running, 0);
	wait_for(record, 1);
	schedule(&queued, 0);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, open_when_stopped, record), 0);
	st_background_release(&record->background);
	pthread_join(thread, NULL);
	assert_true(record->open);
	assert_int_equal(record->count, 1);
}

static void the_thread_takes_no_signals(void **state) {
	struct record *record = *state;
	struct step step;
	step_init(&step, record, 1);
	schedule(&step, 0);
	wait_for(record, 1);
	st_background_release(&record->background);
	assert_false(step.takes_signals);
}

/* There the worker does not exist, and its lock may be held for ever. */
static void a_forked_child_does_not_touch_it(void **state) {
	struct record *record = *state;
	struct step step;
	step_init(&step, record, 1);
	step.waits = true;
	schedule(&step, 0);
	wait_for(record, 1);
	pthread_mutex_lock(&record->background.lock);
	pid_t child = fork();
	if (child == 0) {
		alarm(20);
		struct step own;
		step_init(&own, record, 2);
		schedule(&own, 0);
		st_background_release(&record->background);
		_exit(own.task.queued);
	}
	pthread_mutex_unlock(&record->background.lock);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	open_up(record);
	st_background_release(&record->background);
}

enum { THREADS = 4, ROUNDS = 200 };

static void *schedule_many(void *data) {
	struct step *steps = data;
	for (int i = 0; i < ROUNDS; i++)
		schedule(&steps[i % 8], i % 3);
	return NULL;
}

static void several_threads_may_schedule(void **state) {
	struct record *record = *state;
	static struct step steps[8];
	for (int i = 0; i < 8; i++)
		step_init(&steps[i], record, i);
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, schedule_many, steps), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	struct step last;
	step_init(&last, record, 99);
	schedule(&last, 5);
	wait_for(record, 9);
	st_background_release(&record->background);
	assert_true(record->count <= THREADS * ROUNDS + 1);
}

#define claim_of_worker(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static void a_disabled_one_starts_no_thread(void **state) {
	struct record record = {0};
	struct step step = {.record = &record};
	(void)state;
	step.task = (struct st_background_task){.run = run_step, .data = &step};
	st_background_init(&record.background);
	st_background_disable(&record.background);
	st_background_schedule(&record.background, &step.task, 0);
	assert_true(record.background.begun_by == 0);
	st_background_release(&record.background);
	assert_int_equal(record.count, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim_of_worker(all_tasks_run_on_one_thread),
		claim_of_worker(a_task_runs_when_it_is_due_and_not_before),
		claim_of_worker(tasks_run_in_the_order_of_their_times),
		claim_of_worker(an_earlier_task_is_not_kept_waiting),
		claim_of_worker(a_queued_task_runs_once_at_the_earlier_time),
		claim_of_worker(a_task_may_schedule_itself_again),
		claim_of_worker(a_task_that_is_scheduled_while_it_runs_runs_again),
		claim_of_worker(release_waits_for_the_running_task_and_drops_the_others),
		claim_of_worker(the_thread_takes_no_signals),
		claim_of_worker(a_forked_child_does_not_touch_it),
		claim_of_worker(several_threads_may_schedule),
		cmocka_unit_test(a_disabled_one_starts_no_thread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
