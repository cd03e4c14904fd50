/**
 * Cancellation: ends a long call whose client no longer waits for the answer.
 *
 * Code that may take long reports how much work it has done. After each
 * ST_CANCEL_STEP, the report asks the current call's `cancelled` function. The
 * call is a thread-local variable, so that lower layers can check it without
 * knowing about calls:
 *
 *     for (size_t i = 0; i < count; i++) {
 *             if (st_cancel_check(pieces[i].len, err) < 0)
 *                     return STET_E_CANCELLED;
 *             process(&pieces[i]);
 *     }
 *
 * Without a current call, nothing is ever cancelled.
 */
#ifndef STET_BASE_CANCEL_H
#define STET_BASE_CANCEL_H

#include <stdint.h>

#include "base/error.h"

/** The work between two questions, in bytes processed: one or two milliseconds. */
#define ST_CANCEL_STEP ((size_t)1 << 20)

/** A call that can be cancelled, to be embedded in a struct. */
struct st_cancel {
	/** Whether the client has given up. Called on the working thread, also after it returned true. */
	bool (*cancelled)(struct st_cancel *cancel);
	/** The work since the last question, and whether an answer was ever true. */
	size_t amount;
	bool over;
	/** The number of questions, and the most work between two of them. */
	size_t asked;
	size_t longest;
	/** The number of st_cancel_hold() calls without st_cancel_release(). */
	size_t held;
};

/** Set the current call of this thread; NULL for none. Returns the previous one. */
struct st_cancel *st_cancel_set(struct st_cancel *cancel);

/** Report work. Returns 0, or STET_E_CANCELLED from the moment the call is cancelled. */
[[nodiscard]] int st_cancel_check(size_t amount, struct stet_error *err);

/** Ask at once, before a step that is useless if the client has given up. Returns like st_cancel_check(). */
[[nodiscard]] int st_cancel_check_now(struct stet_error *err);

/**
 * Protect work that must not stop halfway: until st_cancel_release(), `cancelled`
 * is still called, but nothing is cancelled. Each hold needs a release.
 */
void st_cancel_hold(void);
void st_cancel_release(void);

/** Report work in code that cannot be cancelled: `cancelled` is called, but the work goes on. */
void st_cancel_progress(size_t amount);

/** Sleep for a few milliseconds, then ask. Returns like st_cancel_check(). */
[[nodiscard]] int st_cancel_sleep(int64_t ms, struct stet_error *err);

#endif
