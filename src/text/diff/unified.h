/**
 * The difference of two texts as people and programs read it: a unified diff
 * that `patch` and `git apply` take.
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
	 * The names, shown as a/NAME and b/NAME and quoted if need be as git does;
	 * NULL is /dev/null: a file that is created or deleted.
	 */
	const char *old_name, *new_name;
	/** Lines shown around each change. */
	size_t context;
	/** The most that may come out; 0 for no bound. */
	size_t max_bytes;
};

/** Options for a file that keeps its name, with the usual three lines of context and no bound. */
#define ST_DIFF_OPTS(name) \
	{ .old_name = (name), .new_name = (name), .context = 3 }

/** Lines first to last, both included, counted from 1 as in text/lines/lines.h. */
struct st_diff_range {
	size_t first, last;
};

/** What there was to show, and what was shown. */
struct st_diff_report {
	/** Changed lines in all, whether shown or not. */
	size_t added, removed;
	/** Whether the bound cut something off. */
	bool truncated;
	/** The lines of the new text that were shown in full, context included; in order, apart. */
	struct st_diff_range *displayed;
	size_t displayed_count;
};

void st_diff_report_release(struct st_diff_report *report);

/**
 * Write a unified diff; nothing if the texts are equal. Bytes pass through as
 * they are, whatever they are.
 *
 * A diff beyond max_bytes is cut: very long lines within themselves, the rest
 * after a hunk if there is one near, else after a line (the hunk's head then
 * counts what is there). A last line "... diff cut here: 12 of 340 changed
 * lines shown ..." says so. With a bound too small even for that line nothing
 * comes out.
 *
 * @old, @new  The texts.
 * @opts       Names, context and bound.
 * @out        Receives the diff in place of what it held; as it was on failure.
 * @report     Receives the numbers, to be released; zeroed on failure; may be NULL.
 * @return     0, STET_E_TOO_BIG (2^30 lines), STET_E_NOMEM, STET_E_CANCELLED.
 */
[[nodiscard]] int st_diff_unified(struct st_str old, struct st_str new,
                                  const struct st_diff_opts *opts, struct st_buf *out,
                                  struct st_diff_report *report, struct stet_error *err);

/** The same of a difference that is there already: of two whole texts, by st_diff_init(). */
[[nodiscard]] int st_diff_unified_of(const struct st_diff *diff, const struct st_diff_opts *opts,
                                     struct st_buf *out, struct st_diff_report *report,
                                     struct stet_error *err);

#endif
