/**
 * What a call did to files: which it met and which it wrote, in order, until
 * it is stored (core/visit) and becomes part of the state of the work
 * (core/repo_track) and of the log.
 */
#ifndef STET_CORE_DEEDS_H
#define STET_CORE_DEEDS_H

#include "fs/hash.h"
#include "fs/stamp.h"

struct st_deed {
	/** Below the root, links resolved; owned by a list, borrowed elsewhere. */
	const char *path;
	/** It was written or removed; else it was read. */
	bool wrote;
	/** What was there before a write, and what is there now. */
	bool had, has;
	struct st_hash before, after;
	/** What was there before is on the shelf (fs/shelf.h) already. */
	bool shelved;
	/** Another program's tool did it: what was there before is not known, and it is not logged. */
	bool foreign;
	/** Of what is there now. */
	struct st_stamp stamp;
	/** Nanoseconds since 1970. */
	int64_t at;
	/** The entry of the log that this write takes back; 0 for none. */
	int64_t undoes;
	/**
	 * It was a directory: what is known of files below it holds for those below
	 * `to` now, or they are gone with it if that is NULL. The log is of files.
	 */
	bool below;
	const char *to;
};

/** Whether it goes into the log. */
static inline bool st_deed_is_logged(const struct st_deed *deed) {
	return deed->wrote && !deed->foreign && !deed->below;
}

/** Zeroed, it is empty. */
struct st_deeds {
	struct st_deed *items;
	size_t count;
	/** How many of them are writes. */
	size_t writes;
};

void st_deeds_clear(struct st_deeds *deeds);
void st_deeds_release(struct st_deeds *deeds);

/**
 * Add a deed, its path copied. Of a file that is read again and again the
 * last time counts. Only so many are held; the oldest go.
 *
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_deeds_add(struct st_deeds *deeds, const struct st_deed *deed,
                               struct stet_error *err);

#endif
