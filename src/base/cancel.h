/**
 * Whether anybody still waits for the work that this thread does.
 *
 * A call that may take long says how much it has done; every so often that
 * asks whether the client still waits. Layers that know nothing of calls use it
 * as well: a thread knows the call that it works for, set by the caller.
 *
 *     for (...) {
 *             if (st_cancel_check(bytes, err) < 0)
 *                     return STET_E_CANCELLED;
 *             ...
 *     }
 *
 * Without a call, nothing is ever cancelled.
 */
#ifndef STET_BASE_CANCEL_H
#define STET_BASE_CANCEL_H

#include <stdint.h>

#include "base/error.h"

/** After how much work it is asked: bytes looked at, which takes a millisecond or two. */
#define ST_CANCEL_STEP ((size_t)1 << 20)

/** The call that a thread works for. Embed it. */
struct st_cancel {
	/** Whether the client waits no more; called on the thread that works, also after it said yes. */
	bool (*cancelled)(struct st_cancel *cancel);
	/** How much was done since it was asked, and whether it ever said yes. */
	size_t amount;
	bool over;
	/** How often it was asked, and the most that was done between two times. */
	size_t asked;
	size_t longest;
	/** How often st_cancel_hold() was called without a release. */
	size_t held;
};

/** Set the call that this thread works for, NULL for none. @return The one before. */
struct st_cancel *st_cancel_set(struct st_cancel *cancel);

/** Tell of work done. 0, or STET_E_CANCELLED with a sentence, from then on always. */
[[nodiscard]] int st_cancel_check(size_t amount, struct stet_error *err);

/** The same before a step that is not to be made for nobody: the one who waits is asked at once. */
[[nodiscard]] int st_cancel_look(struct stet_error *err);

/**
 * What follows must not be left half done: the one who waits is asked as
 * before, and may do other things meanwhile, but nothing is cancelled until
 * st_cancel_release(). Each hold needs its release.
 */
void st_cancel_hold(void);
void st_cancel_release(void);

/** Tell of work that goes on whoever waits: the one who waits is asked, nothing is cancelled. */
void st_cancel_tell(size_t amount);

/** Sleep for some milliseconds, a few of them at most, and look. 0 or STET_E_CANCELLED. */
[[nodiscard]] int st_cancel_sleep(int64_t ms, struct stet_error *err);

#endif
