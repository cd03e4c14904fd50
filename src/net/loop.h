/**
 * The event loop. No other header includes libevent.
 *
 * Only the thread that runs the loop may use libevent. Other threads queue tasks
 * with st_loop_queue(), which cannot fail, because the caller owns the memory.
 *
 *     struct answer {
 *             struct st_task task;   // first, so that a task can be cast to its answer
 *             struct st_buf text;
 *     };
 *     answer->task.run = send_answer;
 *     st_loop_queue(loop, &answer->task);
 */
#ifndef STET_NET_LOOP_H
#define STET_NET_LOOP_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>

#include "base/error.h"

struct st_loop;

/** A task for the loop's thread; to be embedded in a struct. */
struct st_task {
	struct st_task *next;
	void (*run)(struct st_task *task);
};

/** Make a loop for this thread. Returns 0, STET_E_NOMEM or STET_E_IO. */
[[nodiscard]] int st_loop_new(struct st_loop **out, struct stet_error *err);

/** Free a loop that no other thread uses any more. Queued tasks are dropped. */
void st_loop_free(struct st_loop *loop);

/** libevent's handle; only for the loop's thread. */
struct event_base *st_loop_base(struct st_loop *loop);

/** Run until st_loop_stop(). */
void st_loop_run(struct st_loop *loop);

/** Make st_loop_run() return after the current callback; only on the loop's thread. */
void st_loop_stop(struct st_loop *loop);

/** Queue a task to run on the loop's thread. Tasks run in order. May be called from any thread. */
void st_loop_queue(struct st_loop *loop, struct st_task *task);

#endif
