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

#include "base/error.h"

/** After how much work it is asked: bytes looked at, which takes a millisecond or two. */
#define ST_CANCEL_STEP ((size_t)1 << 20)

/** The call that a thread works for. Embed it. */
struct st_cancel {
	/** Whether the client waits no more; called on the thread that works. */
	bool (*cancelled)(struct st_cancel *cancel);
	/** How much was done since it was asked, and whether it ever said yes. */
	size_t work;
	bool over;
	/** How often it was asked, and the most that was done between two times. */
	size_t asked;
	size_t longest;
};

/** Set the call that this thread works for, NULL for none. @return The one before. */
struct st_cancel *st_cancel_set(struct st_cancel *cancel);

/** Tell of work done. 0, or STET_E_CANCELLED with a sentence, from then on always. */
[[nodiscard]] int st_cancel_check(size_t work, struct stet_error *err);

#endif
