/**
 * The baseline of a story: which files there were when it began. A scan stats
 * every file that is not ignored; it reads only those that changed a moment ago,
 * whose stamp proves nothing. So a file that a session meets later is known to
 * be created, or to be as it was, and nobody has to guess.
 *
 *     st_auto(st_baseline) baseline = {0};
 *     int code = st_baseline_collect(ws, &baseline, err);
 *     // in a transaction:
 *     code = st_baseline_store(store, &baseline, err);
 */
#ifndef STET_CORE_STATE_BASELINE_H
#define STET_CORE_STATE_BASELINE_H

#include "core/state/store.h"
#include "core/workspace/workspace.h"

/** The most files of a baseline; a larger tree has none. */
enum { ST_BASELINE_MAX = 100000 };

struct st_baseline {
	/** In no order; paths are owned. */
	struct st_tracked *files;
	size_t count, cap;
	/** Every file is in it. */
	bool complete;
};

void st_baseline_release(struct st_baseline *baseline);

/** Scan the tree. Returns 0, also if the tree is too large; STET_E_NOMEM, STET_E_CANCELLED, or why it cannot be read. */
[[nodiscard]] int st_baseline_collect(struct stet_workspace *ws, struct st_baseline *baseline,
                                      struct stet_error *err);

/** Make it the baseline of the current story, within a writing transaction. */
[[nodiscard]] int st_baseline_store(struct st_store *store, const struct st_baseline *baseline,
                                    struct stet_error *err);

/** Whether the current story has a baseline: 1, 0, or a code. Within any transaction. */
[[nodiscard]] int st_baseline_exists(struct st_store *store, struct stet_error *err);

/**
 * Find out how a file was when the story began, within any transaction.
 *
 * @now    The version that was there when stet first met the file.
 * @base   Holds what the caller assumes; changed if the baseline knows better.
 */
[[nodiscard]] int st_baseline_find(struct st_store *store, const char *path,
                                   const struct st_version *now, struct st_version *base,
                                   struct stet_error *err);

#endif
