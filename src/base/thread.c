#include "base/thread.h"
#include "base/clock.h"

#include <signal.h>
#include <assert.h>
#include <unistd.h>

/* Block signals before creating the thread: it inherits the mask, so that none can arrive too early. */
bool st_thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
	sigset_t all, before;
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return false;
	bool started = pthread_create(thread, NULL, run, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

void st_cond_init(pthread_cond_t *cond) {
	pthread_condattr_t clock;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &clock);
	pthread_condattr_destroy(&clock);
}

struct timespec st_cond_deadline(int64_t ms) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	int64_t ns = time.tv_nsec + ms % 1000 * 1000000;
	time.tv_sec += ms / 1000 + ns / 1000000000;
	time.tv_nsec = ns % 1000000000;
	return time;
}

/* ---- background tasks ---- */

/* Dequeue the first task if it is due. Otherwise sleep until it is due or the queue changes; return NULL. */
static struct st_background_task *take_due(struct st_background *background) {
	struct st_background_task *task = background->first;
	int64_t wait_ms = task ? task->due_ms - st_now_ms() : 0;
	if (!task) {
		pthread_cond_wait(&background->wake, &background->lock);
	} else if (wait_ms > 0) {
		struct timespec until = st_cond_deadline(wait_ms);
		pthread_cond_timedwait(&background->wake, &background->lock, &until);
	} else {
		background->first = task->next;
		task->queued = false;
		return task;
	}
	return NULL;
}

static void *run_due_tasks(void *data) {
	struct st_background *background = data;
	pthread_mutex_lock(&background->lock);
	while (!background->stop) {
		struct st_background_task *task = take_due(background);
		if (!task)
			continue;
		pthread_mutex_unlock(&background->lock);
		task->run(task->data);
		pthread_mutex_lock(&background->lock);
	}
	pthread_mutex_unlock(&background->lock);
	return NULL;
}

void st_background_init(struct st_background *background) {
	*background = (struct st_background){0};
	pthread_mutex_init(&background->lock, NULL);
	st_cond_init(&background->wake);
}

void st_background_disable(struct st_background *background) {
	background->disabled = true;
}

bool st_background_is_elsewhere(const struct st_background *background) {
	return background->begun_by && background->begun_by != getpid();
}

void st_background_release(struct st_background *background) {
	if (st_background_is_elsewhere(background))
		return;
	pthread_mutex_lock(&background->lock);
	background->stop = true;
	pthread_cond_signal(&background->wake);
	pthread_mutex_unlock(&background->lock);
	if (background->begun_by)
		pthread_join(background->thread, NULL);
	pthread_cond_destroy(&background->wake);
	pthread_mutex_destroy(&background->lock);
}

static void dequeue(struct st_background *background, struct st_background_task *task) {
	struct st_background_task **at = &background->first;
	assert(task->queued);
	while (*at != task)
		at = &(*at)->next;
	*at = task->next;
	task->queued = false;
}

/* Insert after tasks that are due at the same time. True if the task is now the first. */
static bool enqueue(struct st_background *background, struct st_background_task *task,
                    int64_t due_ms) {
	struct st_background_task **at = &background->first;
	assert(!task->queued);
	while (*at && (*at)->due_ms <= due_ms)
		at = &(*at)->next;
	task->due_ms = due_ms;
	task->queued = true;
	task->next = *at;
	*at = task;
	return background->first == task;
}

void st_background_schedule(struct st_background *background, struct st_background_task *task,
                            int64_t delay_ms) {
	if (background->disabled || st_background_is_elsewhere(background))
		return;
	int64_t due_ms = st_now_ms() + delay_ms;
	pthread_mutex_lock(&background->lock);
	if (task->queued && task->due_ms > due_ms)
		dequeue(background, task);
	if (!task->queued && enqueue(background, task, due_ms))
		pthread_cond_signal(&background->wake);
	if (!background->begun_by && st_thread_start(&background->thread, run_due_tasks, background))
		background->begun_by = getpid();
	pthread_mutex_unlock(&background->lock);
}
