/**
 * Threads. They block all signals, so that the program's own threads receive them.
 */
#ifndef STET_BASE_THREAD_H
#define STET_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <sys/types.h>

/** Start a thread, to be joined; false if that fails. */
[[nodiscard]] bool st_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/** Initialize a condition variable that uses the monotonic clock for timeouts. */
void st_cond_init(pthread_cond_t *cond);

/** The timeout for such a condition variable: this many milliseconds from now. */
struct timespec st_cond_deadline(int64_t ms);

/*
 * One worker thread for tasks that no caller waits for.
 *
 * A task is a struct inside its owner. The owner schedules it, and the worker
 * runs it once, when it is due:
 *
 *     exporter->task = (struct st_background_task){.run = export_state, .data = exporter};
 *     st_background_schedule(&background, &exporter->task, 1000);
 *
 * The first task starts the thread, which sleeps until the next task is due and
 * blocks all signals. A task may schedule itself again. If no thread can be
 * started, in a forked child, and after st_background_disable(), no task runs.
 * st_background_release() drops tasks that have not run; owners must then do
 * necessary work themselves.
 *
 * Safe to use from several threads.
 */

/** The owner sets run and data, and must not free the task before st_background_release(). */
struct st_background_task {
	void (*run)(void *data);
	void *data;
	/** The worker uses the rest. */
	bool queued;
	int64_t due_ms;
	struct st_background_task *next;
};

struct st_background {
	/** Guards everything below. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/** The queued tasks, sorted by due time. */
	struct st_background_task *first;
	bool stop, disabled;
	pthread_t thread;
	/** The process that started the thread; atomic, because it is read without the lock too. */
	_Atomic pid_t begun_by;
};

void st_background_init(struct st_background *background);

/** Before the first task: start no thread, since the process ends before a task would be due. */
void st_background_disable(struct st_background *background);

/** Whether this process is a forked child of the one that started the thread: the lock may then be held forever. */
bool st_background_is_elsewhere(const struct st_background *background);

/** Wait for the running task, if any, drop the others and end the thread. */
void st_background_release(struct st_background *background);

/**
 * Run a task in delay_ms. A task that is already queued runs once, at the
 * earlier of both times. A task that is running runs again.
 */
void st_background_schedule(struct st_background *background, struct st_background_task *task,
                            int64_t delay_ms);

#endif
