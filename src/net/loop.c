#include "net/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct st_loop {
	struct event_base *base;
	/* Readable while tasks wait. */
	int wake;
	struct event *woken;
	pthread_mutex_t lock;
	struct st_task *first, **last;
};

static struct st_task *take_all(struct st_loop *loop) {
	pthread_mutex_lock(&loop->lock);
	struct st_task *tasks = loop->first;
	loop->first = NULL;
	loop->last = &loop->first;
	pthread_mutex_unlock(&loop->lock);
	return tasks;
}

static void run_queued_tasks(evutil_socket_t fd, short what, void *arg) {
	uint64_t count;
	if (read(fd, &count, sizeof count) < 0)
		return;
	for (struct st_task *task = take_all(arg), *next; task; task = next) {
		next = task->next;
		task->run(task);
	}
}

/* Drop libevent's log messages: the library never prints. */
static void ignore_log(int severity, const char *message) {
}

int st_loop_new(struct st_loop **out, struct stet_error *err) {
	struct st_loop *loop = calloc(1, sizeof *loop);
	if (!loop)
		return st_fail_nomem(err);
	event_set_log_callback(ignore_log);
	pthread_mutex_init(&loop->lock, NULL);
	loop->last = &loop->first;
	loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->base = event_base_new();
	if (loop->wake >= 0 && loop->base)
		loop->woken =
			event_new(loop->base, loop->wake, EV_READ | EV_PERSIST, run_queued_tasks, loop);
	if (!loop->woken || event_add(loop->woken, NULL) < 0) {
		st_loop_free(loop);
		return st_fail_errno(err, errno ? errno : ENOMEM, "Cannot create the event loop");
	}
	*out = loop;
	return 0;
}

void st_loop_free(struct st_loop *loop) {
	if (!loop)
		return;
	if (loop->woken)
		event_free(loop->woken);
	if (loop->base)
		event_base_free(loop->base);
	if (loop->wake >= 0)
		close(loop->wake);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
}

struct event_base *st_loop_base(struct st_loop *loop) {
	return loop->base;
}

void st_loop_run(struct st_loop *loop) {
	event_base_dispatch(loop->base);
}

void st_loop_stop(struct st_loop *loop) {
	event_base_loopbreak(loop->base);
}

void st_loop_queue(struct st_loop *loop, struct st_task *task) {
	static const uint64_t one = 1;
	task->next = NULL;
	pthread_mutex_lock(&loop->lock);
	*loop->last = task;
	loop->last = &task->next;
	/* Before unlocking: afterwards the task may run, end the loop and close the descriptor. The write
	   can only fail if the counter overflows. */
	ssize_t written = write(loop->wake, &one, sizeof one);
	(void)written;
	pthread_mutex_unlock(&loop->lock);
}
