/**
 * Unified diffs, which people read and `patch` and `git apply` accept.
 *
 *     st_auto(st_buf) out = ST_BUF_INIT;
 *     st_auto(st_diff_report) report = {0};
 *     struct st_diff_opts opts = ST_DIFF_OPTS("src/main.c");
 *     opts.max_bytes = 16 << 10;
 *
 *     if (st_diff_unified(old, new, &opts, &out, &report, err) < 0)
 *             return err->code;
 */
#ifndef STET_TEXT_DIFF_UNIFIED_H
#define STET_TEXT_DIFF_UNIFIED_H

#include "text/diff/diff.h"

struct st_diff_opts {
	/**
	 * The names, printed as a/NAME and b/NAME and quoted as git does. NULL is
	 * /dev/null, for a file that is created or deleted.
	 */
	const char *old_name, *new_name;
	/** How many unchanged lines to show around each change. */
	size_t context;
	/** The most bytes the diff may have; 0 for no limit. */
	size_t max_bytes;
};

/** Options for a file that keeps its name: the usual three lines of context, no limit. */
#define ST_DIFF_OPTS(name) \
	{ .old_name = (name), .new_name = (name), .context = 3 }

/** Lines first to last, both included, counted from 1 as in text/lines/lines.h. */
struct st_diff_range {
	size_t first, last;
};

/** How much changed, and how much of it the diff shows. */
struct st_diff_report {
	/** All changed lines, whether the diff shows them or not. */
	size_t added, removed;
	/** Whether max_bytes cut something off. */
	bool truncated;
	/** The lines of the new text that the diff shows in full, with context; ascending, disjoint. */
	struct st_diff_range *displayed;
	size_t displayed_count;
};

void st_diff_report_release(struct st_diff_report *report);

/**
 * Write a unified diff; empty if the texts are equal. Any bytes pass through
 * unchanged.
 *
 * A diff longer than max_bytes is cut: very long lines lose their ends, and the
 * diff stops after a hunk, or inside one if it would otherwise waste most of the
 * room (the "@@" line then counts only the lines that follow). A last line "...
 * diff cut here: 12 of 340 changed lines shown ..." says so. If max_bytes is too
 * small even for that line, the diff is empty.
 *
 * @old, @new  The texts.
 * @opts       Names, context and limit.
 * @out        The diff replaces its contents; unchanged on failure.
 * @report     Receives the numbers, to be released; zeroed on failure; may be NULL.
 * @return     0, STET_E_TOO_BIG (2^30 lines), STET_E_NOMEM, STET_E_CANCELLED.
 */
[[nodiscard]] int st_diff_unified(struct st_str old, struct st_str new,
                                  const struct st_diff_opts *opts, struct st_buf *out,
                                  struct st_diff_report *report, struct stet_error *err);

/** As st_diff_unified(), for a comparison of two whole texts that st_diff_init() made. */
[[nodiscard]] int st_diff_unified_of(const struct st_diff *diff, const struct st_diff_opts *opts,
                                     struct st_buf *out, struct st_diff_report *report,
                                     struct stet_error *err);

#endif
