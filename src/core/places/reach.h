/**
 * Which files a caller may know of: those below some directories.
 *
 * A server has callers that it limits to some of its directories. They hear of a
 * file in another place only if they could read it there. NULL stands for callers
 * without a limit.
 */
#ifndef STET_CORE_PLACES_REACH_H
#define STET_CORE_PLACES_REACH_H

#include "base/str.h"

enum { ST_REACH_MAX = 64 };

struct st_reach {
	/** Absolute; borrowed. */
	const char *dirs[ST_REACH_MAX];
	size_t count;
};

/** Whether a caller may know of a file of a checkout. */
bool st_reach_has(const struct st_reach *reach, struct st_str checkout, struct st_str path);

/** Whether a checkout is on this machine, and has or is in a directory that the caller may use. */
bool st_reach_meets(const struct st_reach *reach, struct st_str checkout, bool near);

#endif
