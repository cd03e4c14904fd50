/**
 * Three-way merge by lines: what an agent wants to write, and what somebody
 * else has written meanwhile, from the version both started with.
 *
 *     st_auto(st_buf) merged = ST_BUF_INIT;
 *     st_auto(st_merge_result) result = {0};
 *
 *     int code = st_merge(base, agent, disk, &merged, &result, err);
 *     if (code == STET_E_CONFLICT)
 *             show(result.overlaps, result.overlap_count);
 *
 * The outcome is that of `git merge-file`: changes merge if at least one
 * unchanged line lies between them, or if both sides made the same one.
 * Anything else is a conflict, and then there is no text: conflict markers are
 * never written. Lines end at LF, as in text/diff/diff.h.
 */
#ifndef STET_TEXT_DIFF_MERGE_H
#define STET_TEXT_DIFF_MERGE_H

#include "text/diff/diff.h"

/** Lines of one text, counted from 0; none if count is 0, start then says where. */
struct st_merge_lines {
	size_t start, count;
};

/** A place that both sides changed, each in its own way. */
struct st_merge_overlap {
	struct st_merge_lines base, agent, disk;
};

struct st_merge_result {
	/**
	 * What came from the disk: hunks that lead from the agent's text to the
	 * merged one. None after a conflict.
	 */
	struct st_hunk *foreign;
	size_t foreign_count;
	/** Where the sides collide. None unless there is a conflict. */
	struct st_merge_overlap *overlaps;
	size_t overlap_count;
};

void st_merge_result_release(struct st_merge_result *result);

/**
 * Merge two descendants of a text.
 *
 * @base    What the agent had read.
 * @agent   What the agent made of it.
 * @disk    What somebody else made of it.
 * @out     Receives the merged text in place of what it held; as it was on failure.
 * @result  Receives foreign hunks or overlaps, to be released.
 * @return  0, STET_E_CONFLICT (see result), STET_E_TOO_BIG (2^30 lines), STET_E_NOMEM,
 *          STET_E_CANCELLED.
 */
[[nodiscard]] int st_merge(struct st_str base, struct st_str agent, struct st_str disk,
                           struct st_buf *out, struct st_merge_result *result,
                           struct stet_error *err);

#endif
