/**
 * The tracker records for one session which version of each file it has seen, by
 * hash and stamp, and which lines.
 *
 * A file is tracked from its first read. The tracker is bounded and forgets the
 * least recently used file. That is safe: the file then counts as unread, and
 * the session may not overwrite an unread file.
 */
#ifndef STET_CORE_SESSION_TRACKER_H
#define STET_CORE_SESSION_TRACKER_H

#include "base/intervals.h"
#include "base/lru.h"
#include "fs/file/file.h"
#include "text/diff/diff.h"

/** The most files, and the most bytes of paths and records. */
enum { ST_TRACKED_MAX = 10000, ST_TRACKED_BYTES = 8 << 20 };

/** The version of a file that a session saw. */
struct st_seen {
	struct st_version version;
	/** Which of its lines the session has seen, out of how many. */
	struct st_intervals lines;
	size_t total;
	/** The hash of the last version that a read found to be text, and whether that is valid UTF-8. */
	struct st_hash text;
	bool is_utf8;
	/**
	 * A line longer than a page is sent in parts: its number (0 for none), and
	 * how many of its first bytes were sent. It counts as seen once all were.
	 */
	size_t part_line;
	size_t part_end;
	/** A refused edit showed all changes: the next edit merges whatever changed since then. */
	bool change_shown;
	/** A whole-file write was refused because the file had changed: the next refusal advises an edit. */
	bool write_refused;
	/** A write was refused because of what it drops of this version: the next one is allowed. */
	bool drop_warned;
	/** The version that the session wrote last. */
	struct st_hash wrote;
	/** The version that the session replaced last, if fs/versions has it. */
	struct st_hash archived;
	/** An event reported a change since. The record only serves to refuse changes. */
	bool stale;
	/** The st_seen_digest() of the record as it is stored; 0 if it is not. */
	uint64_t stored;
};

struct st_tracker {
	struct st_lru files;
	/** Called when a file becomes tracked; may be NULL. */
	void (*on_tracked)(void *data, const char *path);
	void *data;
	/** Collect the paths of records that may have changed, for core/state/saving.c. */
	bool collects_touched;
	/** These paths; touched_all if there are too many to list, or memory was short. */
	char **touched;
	size_t touched_count;
	bool touched_all;
};

void st_tracker_init(struct st_tracker *tracker);
void st_tracker_release(struct st_tracker *tracker);

/** Find the record of a file by its path below the root; NULL if it is not tracked. */
struct st_seen *st_tracker_find(struct st_tracker *tracker, const char *path);

/**
 * Record the version that the session has before it. If it is not the recorded
 * one, none of its lines count as seen yet.
 *
 * @total  How many lines it has.
 * @return The record, or NULL if memory is short: the file is then untracked.
 */
struct st_seen *st_tracker_record(struct st_tracker *tracker, const char *path,
                                  const struct st_version *version, size_t total);

/** Copy the record of another file, except for its stamp, which proves nothing here. NULL if memory is short. */
struct st_seen *st_tracker_copy(struct st_tracker *tracker, const char *path,
                                const struct st_seen *other);

/** Forget a file. */
void st_tracker_forget(struct st_tracker *tracker, const char *path);

/**
 * Move the records of a renamed file, or of all files in a renamed directory.
 * Records under the new name are forgotten.
 *
 * @return 0, or STET_E_NOMEM: some records may then be forgotten.
 */
[[nodiscard]] int st_tracker_move(struct st_tracker *tracker, const char *from, const char *to,
                                  struct stet_error *err);

/** Forget everything. */
void st_tracker_clear(struct st_tracker *tracker);

/** Empty the list of touched files. */
void st_tracker_mark_saved(struct st_tracker *tracker);

/** A checksum of a record, to see whether it changed; never 0. */
uint64_t st_seen_digest(const struct st_seen *seen);

/** Mark lines first to last as seen. */
void st_seen_add(struct st_seen *seen, size_t first, size_t last);

/**
 * Mark bytes of one line as sent. The line counts as seen once all its bytes
 * were sent, in order and without a gap.
 *
 * @line   Its number.
 * @from   The first byte, counted from 0; `to` is one past the last.
 * @len    The length of the line, line end included.
 */
void st_seen_add_part(struct st_seen *seen, size_t line, size_t from, size_t to, size_t len);

/** Forget earlier refusals, because the session has changed the file. */
void st_seen_clear_refusals(struct st_seen *seen);

/** Whether the session has seen every line. */
bool st_seen_all(const struct st_seen *seen);

/** Append the lines not seen, as in "lines 1-20, 61-90", at most five ranges. Returns how many lines. */
size_t st_seen_missing(const struct st_seen *seen, struct st_buf *out);

/** Which of the lines that changed count as seen in the new version. */
enum st_changed {
	ST_CHANGED_UNSEEN,
	/** The session changed parts of lines: those count that are new, or whose old lines were seen. */
	ST_CHANGED_PARTLY,
	/** All: the session wrote them whole, or was shown them. */
	ST_CHANGED_SEEN,
};

/**
 * Carry a record over to another version: unchanged lines stay seen or unseen,
 * under their new numbers.
 *
 * @seen    The record of the old version; becomes that of the new one.
 * @diff    The difference of the two, if the caller has it; else NULL.
 * @changed Which of the changed lines count as seen.
 */
void st_seen_follow(struct st_seen *seen, struct st_str old, struct st_str new,
                    const struct st_diff *diff, enum st_changed changed);

#endif
