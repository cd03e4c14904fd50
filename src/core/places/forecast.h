/**
 * The forecast for two checkouts: the result of a merge for each file that both
 * changed since their common commit.
 *
 * It is the three-way merge (text/diff/merge.h) of the common commit's bytes and
 * those that either checkout has now, dirty ones included; so it says what `git
 * merge-file` would say. A renamed file is merged under both names.
 */
#ifndef STET_CORE_PLACES_FORECAST_H
#define STET_CORE_PLACES_FORECAST_H

#include "core/places/changed.h"
#include "text/diff/merge.h"

enum st_forecast {
	/** Both sides have the same. */
	ST_FORECAST_SAME,
	ST_FORECAST_MERGES,
	ST_FORECAST_OVERLAPS,
	/** It could not be compared; `why` says why. */
	ST_FORECAST_UNKNOWN,
};

/** One of the two checkouts. */
struct st_forecast_side {
	const struct st_root *root;
	struct st_checkout_changes *changed;
};

/** A file that both changed. Valid during the call that reports it. */
struct st_file_forecast {
	/** The path in the common commit, or where both created it. */
	const char *path;
	/** Its new name in either checkout; NULL if it kept its name there. */
	const char *renamed[2];
	enum st_forecast verdict;
	/** The rest of a sentence that begins with the path: "is removed in one and changed in the other"; may be NULL. */
	const char *why;
	/** Overlapping lines: the first side is `agent`, the second `disk`. */
	const struct st_merge_result *merge;
	struct st_str base, sides[2];
};

typedef int st_forecast_fn(void *data, const struct st_file_forecast *file, struct stet_error *err);

/**
 * Compare two checkouts and report each file that both changed and that is not
 * the same in both, by path.
 *
 * @path   Report only this file, by any of its names; NULL for all.
 * @return 0, what the function returned, or a code.
 */
[[nodiscard]] int st_forecast_pair(struct st_git *git, const struct st_forecast_side sides[2],
                                   const char *path, st_forecast_fn *each, void *data,
                                   struct stet_error *err);

#endif
