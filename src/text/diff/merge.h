/**
 * Three-way merge by lines: the text that an agent wants to write, the text that
 * another process has written meanwhile, and the version that both started from.
 *
 *     st_auto(st_buf) merged = ST_BUF_INIT;
 *     st_auto(st_merge_result) result = {0};
 *
 *     int code = st_merge(base, agent, disk, &merged, &result, err);
 *     if (code == STET_E_CONFLICT)
 *             show(result.overlaps, result.overlap_count);
 *
 * The result is that of `git merge-file`: changes merge if at least one unchanged
 * line lies between them, or if both sides made the same change. Anything else is
 * a conflict, and then st_merge() writes no text and no conflict markers. Lines
 * end at LF, as in text/diff/diff.h.
 */
#ifndef STET_TEXT_DIFF_MERGE_H
#define STET_TEXT_DIFF_MERGE_H

#include "text/diff/diff.h"

/** Lines of one text, counted from 0. If count is 0, start is where lines were deleted. */
struct st_merge_lines {
	size_t start, count;
};

/** A place that both sides changed differently. */
struct st_merge_overlap {
	struct st_merge_lines base, agent, disk;
};

struct st_merge_result {
	/**
	 * The changes made on disk: hunks that turn the agent's text into the merged
	 * one. None after a conflict.
	 */
	struct st_hunk *foreign;
	size_t foreign_count;
	/** Where the two sides conflict. None without a conflict. */
	struct st_merge_overlap *overlaps;
	size_t overlap_count;
};

void st_merge_result_release(struct st_merge_result *result);

/**
 * Merge two descendants of a text.
 *
 * @base    The text that the agent read.
 * @agent   The text that the agent wants to write.
 * @disk    The text on disk now.
 * @out     The merged text replaces its contents; unchanged on failure.
 * @result  Receives foreign hunks or overlaps; release it, also on failure.
 * @return  0, STET_E_CONFLICT (see result), STET_E_TOO_BIG (2^30 lines), STET_E_NOMEM,
 *          STET_E_CANCELLED.
 */
[[nodiscard]] int st_merge(struct st_str base, struct st_str agent, struct st_str disk,
                           struct st_buf *out, struct st_merge_result *result,
                           struct stet_error *err);

#endif
