/**
 * One worker thread for what no caller waits for.
 *
 * A task is a struct inside its owner. The owner schedules it, and the worker
 * runs it once, when it is due:
 *
 *     exporter->task = (struct st_background_task){.run = export_state, .data = exporter};
 *     st_background_schedule(&background, &exporter->task, 1000);
 *
 * The thread begins with the first task, sleeps until the next one is due and
 * takes no signals. A task may schedule itself again. Where no thread can be
 * started, and in a forked child, no task runs: st_background_release() drops
 * what is not done, and afterwards each owner does itself what must not be lost.
 *
 * Safe to use from several threads.
 */
#ifndef STET_BASE_BACKGROUND_H
#define STET_BASE_BACKGROUND_H

#include "base/thread.h"

/** Belongs to its owner, who sets run and data and keeps it until st_background_release(). */
struct st_background_task {
	void (*run)(void *data);
	void *data;
	/** The rest belongs to the worker. */
	bool queued;
	int64_t due_ms;
	struct st_background_task *next;
};

struct st_background {
	/** Guards everything below. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/** The tasks to run, the first one due first. */
	struct st_background_task *first;
	bool stop;
	struct st_worker worker;
};

void st_background_init(struct st_background *background);

/** Wait for the task that is running, if any; drop the others and end the thread. */
void st_background_release(struct st_background *background);

/**
 * Run a task in delay_ms at the latest. One that is already queued runs once,
 * at the earlier of both times; one that is running runs again.
 */
void st_background_schedule(struct st_background *background, struct st_background_task *task,
                            int64_t delay_ms);

#endif
