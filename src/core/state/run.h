/**
 * A run: the writes of the log that belong together, by who made them, in which
 * story, since when, or by their number.
 *
 *     st_auto(st_run) run = {0};
 *     const struct st_run_query query = {.of = "reviewer", .since = an_hour_ago};
 *
 *     int code = st_run_find(session, &query, &run, err);
 *     for (size_t i = 0; code == 0 && i < run.file_count; i++)
 *             code = st_run_take_back(session, &run, &run.files[i], false, &result, err);
 *
 * A write that was taken back belongs to no run, and neither does an undo; with
 * `redo` it is the other way round: the undos that took back such writes.
 */
#ifndef STET_CORE_STATE_RUN_H
#define STET_CORE_STATE_RUN_H

#include "core/session/session.h"

/** Which writes. Those that have all the properties that are set; at least one is. */
struct st_run_query {
	/** Of one file, below the root, links resolved. */
	const char *path;
	/** Of a session, as people read its name; and exactly as the log has it. */
	const char *of, *session;
	const char *story;
	/** Nanoseconds since 1970; 0 for any time. */
	int64_t since;
	/** One entry of the log; 0 for any. */
	int64_t id;
	/** Only the newest write; with redo, all that the newest undo took back. */
	bool last;
	/** With last or id: the whole change set of that write, or the whole undo. */
	bool set;
	/** The undos of such writes. */
	bool redo;
	/** Any write, also undone ones and undos. */
	bool any;
	/** The run is shown, not undone, which is what the message says if there is none. */
	bool for_display;
};

struct st_run_write {
	int64_t id;
	char *path;
	/** NULL for none. */
	char *session, *story;
	struct st_version before, after;
	int64_t at, undoes, undone_by;
};

/** The writes of a run to one file: oldest first, of the array of the run. */
struct st_run_file {
	const char *path;
	struct st_run_write **writes;
	size_t count;
};

/** Zeroed, it is empty. */
struct st_run {
	/** All writes in the log, the oldest first. */
	struct st_run_write *log;
	size_t log_count;
	/** The writes of the run, by path, then the oldest first. */
	struct st_run_write **writes;
	size_t count;
	/** In the order of their paths. */
	struct st_run_file *files;
	size_t file_count;
	/** The time when the undo began; all its writes have this time. */
	int64_t at;
};

void st_run_release(struct st_run *run);

/**
 * Find the writes of a run.
 *
 * @run    To be released, also after a failure.
 * @return 0 with one write at least, STET_E_NOT_FOUND with the reason, or as st_store_do().
 */
[[nodiscard]] int st_run_find(struct stet_session *session, const struct st_run_query *query,
                              struct st_run *run, struct stet_error *err);

/**
 * Whether two writes belong to one change set (core/session/change_set.h), or to
 * one undo: these have the same session and time, to the nanosecond.
 */
bool st_run_is_same_change(const struct st_run_write *one, const struct st_run_write *two);

/** The outcome for a file, real or in a preview. */
enum st_run_outcome {
	/** It is what it was before the run. */
	ST_RUN_RESTORED,
	/** The run's changes are gone, and those of others are still there. */
	ST_RUN_MERGED,
	/** The run had created it. */
	ST_RUN_DELETED,
	/** The run had deleted it. */
	ST_RUN_RECREATED,
	/** It is what it was before the run already. */
	ST_RUN_UNCHANGED,
	/** It is left as it is: others changed the same lines, deleted it, or the like. */
	ST_RUN_CONFLICT,
	/** It is left as it is: a version is no longer kept, or it cannot be written. */
	ST_RUN_IMPOSSIBLE,
};

/** A word for answers: "restored". */
const char *st_run_outcome_name(enum st_run_outcome outcome);

/** Whether the file is left as it is although the run changed it. */
static inline bool st_run_is_left(enum st_run_outcome outcome) {
	return outcome == ST_RUN_CONFLICT || outcome == ST_RUN_IMPOSSIBLE;
}

struct st_run_result {
	enum st_run_outcome outcome;
	/** Why it is left: the rest of a sentence, "others changed lines 3-4 since". */
	struct st_buf reason;
	/** From what is there to what there would be; only of a rehearsal. */
	struct st_buf diff;
	bool diff_cut;
	/** Whether the file exists now, and its hash. */
	bool exists;
	struct st_hash hash;
};

#define ST_RUN_RESULT_INIT \
	{ .reason = ST_BUF_INIT, .diff = ST_BUF_INIT }

void st_run_result_release(struct st_run_result *result);

/**
 * Take back the writes of a run to one file.
 *
 * The newest goes first. Writes that follow each other with nobody in between
 * are one step. A step puts back what was there before it if the file is what
 * it made of it; otherwise a three-way merge takes out its changes. If one step
 * cannot be taken back, the file is left as it is.
 *
 * The file is written by a guarded commit: if others write meanwhile, all of it
 * is computed anew.
 *
 * @dry_run   Write nothing; the result has a diff of at most diff_max bytes.
 * @result    Initialised; its earlier content is replaced.
 * @return    0 with the result, STET_E_CANCELLED or STET_E_NOMEM.
 */
[[nodiscard]] int st_run_take_back(struct stet_session *session, const struct st_run *run,
                                   const struct st_run_file *file, bool dry_run, size_t diff_max,
                                   struct st_run_result *result, struct stet_error *err);

/**
 * The bytes of a version of a file: from what is kept, or from the file itself
 * if it is this version. NULL if they are gone; to be handed back with
 * st_blob_put().
 */
struct st_blob *st_run_bytes(struct stet_workspace *ws, const char *path,
                             const struct st_hash *hash);

#endif
