/**
 * Whether anybody still waits for the work that this thread does.
 *
 * A call that may take long says how much it has done; every so often that
 * asks the one who waits. Layers that know nothing of calls use it as well:
 * who waits is a property of the thread, set by the one that runs the call.
 *
 *     for (...) {
 *             if (st_cancel_check(bytes, err) < 0)
 *                     return STET_E_CANCELLED;
 *             ...
 *     }
 *
 * Without anybody set, nothing is ever cancelled.
 */
#ifndef STET_BASE_CANCEL_H
#define STET_BASE_CANCEL_H

#include "base/error.h"

/** After how much work it is asked: bytes looked at, which takes a millisecond or two. */
#define ST_CANCEL_STEP ((size_t)1 << 20)

/** Who waits. Embed it. */
struct st_cancel {
	/** Whether nobody waits any more; on the thread that works. */
	bool (*cancelled)(struct st_cancel *cancel);
	/** How much was done since it was asked, and whether it ever said yes. */
	size_t work;
	bool over;
	/** How often it was asked, and the most that was done between two times. */
	size_t asked;
	size_t longest;
};

/** Set who waits for this thread, NULL for nobody. @return Who was set before. */
struct st_cancel *st_cancel_set(struct st_cancel *cancel);

/** Tell of work done. 0, or STET_E_CANCELLED with a sentence, from then on always. */
[[nodiscard]] int st_cancel_check(size_t work, struct stet_error *err);

#endif
