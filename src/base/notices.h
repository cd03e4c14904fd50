/**
 * Notices: a bounded queue of sentences for the next answer, about events that
 * the caller did not ask for.
 *
 * When the queue is full, further notices are only counted, and the last notice
 * gives their number. Safe to use from several threads.
 */
#ifndef STET_BASE_NOTICES_H
#define STET_BASE_NOTICES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { ST_NOTICES_MAX = 64 };

struct st_notice {
	char *text;
	/** A name for st_notices_take(), such as the path of a file; may be NULL. */
	char *about;
};

struct st_notices {
	/** Whether there is a notice; read without the lock, too. */
	_Atomic bool any;
	/** Guards everything below. */
	pthread_mutex_t lock;
	struct st_notice queue[ST_NOTICES_MAX];
	size_t count;
	size_t dropped;
};

void st_notice_release(struct st_notice *notice);

void st_notices_init(struct st_notices *notices);
void st_notices_release(struct st_notices *notices);

/** Append a notice. */
__attribute__((format(printf, 2, 3))) void st_notices_add(struct st_notices *notices,
                                                          const char *format, ...);

/** Append a notice with a name, which is copied. */
__attribute__((format(printf, 3, 4))) void
st_notices_add_about(struct st_notices *notices, const char *about, const char *format, ...);

/** Remove the oldest notice, which the caller must release. False if there is none. */
bool st_notices_take(struct st_notices *notices, struct st_notice *notice);

#endif
