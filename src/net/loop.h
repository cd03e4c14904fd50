/**
 * The event loop, and the one place that includes libevent.
 *
 * All of libevent is used from the thread that runs the loop. Other threads
 * hand it work with st_loop_queue(), which cannot fail: the caller brings the
 * memory.
 *
 *     struct answer {
 *             struct st_task task;   // first, so that the task is the answer
 *             ...
 *     };
 *     answer->task.run = send_answer;
 *     st_loop_queue(loop, &answer->task);
 */
#ifndef STET_NET_LOOP_H
#define STET_NET_LOOP_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/error.h"

struct st_loop;

/** Something to do on the loop's thread; part of what it is about. */
struct st_task {
	struct st_task *next;
	void (*run)(struct st_task *task);
};

/** A loop of this thread. Returns 0, STET_E_NOMEM or STET_E_IO. */
[[nodiscard]] int st_loop_new(struct st_loop **out, struct stet_error *err);

/** Free a loop that no thread posts to any more; tasks that did not run are forgotten. */
void st_loop_free(struct st_loop *loop);

/** libevent's handle, for events on this loop; only from the loop's thread. */
struct event_base *st_loop_base(struct st_loop *loop);

/** Run until st_loop_stop(). */
void st_loop_run(struct st_loop *loop);

/** End st_loop_run() after what it is doing; only from the loop's thread. */
void st_loop_stop(struct st_loop *loop);

/** Have a task run on the loop's thread, in the order of posting; from any thread. */
void st_loop_queue(struct st_loop *loop, struct st_task *task);

#endif
