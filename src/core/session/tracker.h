/**
 * What one session has seen: per file the version, by hash and stamp, and the
 * lines of it.
 *
 * A file is tracked from its first read. The number of tracked files is
 * bounded; the least recently used is forgotten, which is as if it had never
 * been read: safe, since an unread file is not overwritten.
 */
#ifndef STET_CORE_SESSION_TRACKER_H
#define STET_CORE_SESSION_TRACKER_H

#include "base/intervals.h"
#include "base/lru.h"
#include "fs/file/file.h"
#include "text/diff/diff.h"

/** How many files, and how many bytes of paths and records, a session may have. */
enum { ST_TRACKED_MAX = 10000, ST_TRACKED_BYTES = 8 << 20 };

/** The version of a file that a session saw. */
struct st_seen {
	struct st_version version;
	/** Which lines of it were seen, out of how many. */
	struct st_intervals lines;
	size_t total;
	/** The version that was found to be text when it was shown, by its hash. */
	struct st_hash text;
	/** And whether that version is valid UTF-8. */
	bool is_utf8;
	/**
	 * A line longer than a page is sent in parts: its number, and how many of
	 * its first bytes were sent so far; 0 for none. It counts as seen when all were.
	 */
	size_t part_line;
	size_t part_end;
	/** An edit was refused with all that had changed: the next one merges what came since. */
	bool asked;
	/** A whole-file write was refused because the file had changed: the next refusal advises an edit. */
	bool overtaken;
	/** A write that drops most of the file was refused: the next one goes through. */
	bool warned;
	/** What the session replaced last, if it went to the shelf (fs/versions/versions.h). */
	struct st_hash shelved;
	/** An event told that the file is another one by now; the record serves only to refuse changes. */
	bool stale;
	/** What it was when it was last stored, by st_seen_digest(); 0 for never. */
	uint64_t stored;
};

struct st_tracker {
	struct st_lru files;
	/** Called for a file that was not tracked so far; may be NULL. */
	void (*met)(void *data, const char *path);
	void *data;
	/** Note which files are looked up, for whoever stores the records. */
	bool notes;
	/** Those paths; all of them if there was no memory for the list. */
	char **touched;
	size_t touched_count;
	bool touched_all;
};

void st_tracker_init(struct st_tracker *tracker);
void st_tracker_release(struct st_tracker *tracker);

/** What was seen of a file, by its path below the root; NULL if it is not tracked. */
struct st_seen *st_tracker_find(struct st_tracker *tracker, const char *path);

/**
 * Record that a version was met. If it is another one than before, no line of
 * it counts as seen yet.
 *
 * @total  How many lines it has.
 * @return The record, or NULL if memory ran out: the file is then untracked.
 */
struct st_seen *st_tracker_record(struct st_tracker *tracker, const char *path,
                                  const struct st_version *version, size_t total);

/** Record of one file what was seen of another; the stamp proves nothing of it. NULL without memory. */
struct st_seen *st_tracker_copy(struct st_tracker *tracker, const char *path,
                                const struct st_seen *other);

/** Forget a file. */
void st_tracker_forget(struct st_tracker *tracker, const char *path);

/**
 * A file or directory got another name: what was seen of it, or below it, goes
 * along. What there was under the new name is forgotten.
 *
 * @return 0, or STET_E_NOMEM: some of it may be forgotten then.
 */
[[nodiscard]] int st_tracker_move(struct st_tracker *tracker, const char *from, const char *to,
                                  struct stet_error *err);

/** Forget everything. */
void st_tracker_clear(struct st_tracker *tracker);

/** Empty the list of touched files. */
void st_tracker_mark_saved(struct st_tracker *tracker);

/** A number for all that a record says, to see whether it changed; never 0. */
uint64_t st_seen_digest(const struct st_seen *seen);

/** Count lines first to last as seen. */
void st_seen_add(struct st_seen *seen, size_t first, size_t last);

/**
 * Count bytes of one line as seen. A line whose parts were all sent, from the
 * first byte on and without a gap, counts as seen.
 *
 * @line   Its number.
 * @from   The first byte, from 0, and the one behind the last.
 * @len    How many bytes the line has, its end included.
 */
void st_seen_add_part(struct st_seen *seen, size_t line, size_t from, size_t to, size_t len);

/** The session changed the file: refusals from before are settled. */
void st_seen_clear_refusals(struct st_seen *seen);

/** Whether every line was seen. */
bool st_seen_all(const struct st_seen *seen);

/** Append the lines not seen, as words: "lines 1-20, 61-90", bounded. Returns how many they are. */
size_t st_seen_missing(const struct st_seen *seen, struct st_buf *out);

/** Whether lines that changed are seen in the new version. */
enum st_changed {
	ST_CHANGED_UNSEEN,
	/** Those that are new, or in place of seen ones: the session changed parts of them. */
	ST_CHANGED_PARTLY,
	/** All: they were written as a whole, or shown. */
	ST_CHANGED_SEEN,
};

/**
 * Go from the version that was seen to another one: lines that both have keep
 * being seen or not, under their new numbers.
 *
 * @seen    The record of the old version; becomes that of the new one.
 * @old     The old version's bytes, and the new one's.
 * @diff    The difference of the two if it is known; else NULL, and it is computed if need be.
 * @changed  What counts of the lines that changed.
 */
void st_seen_follow(struct st_seen *seen, struct st_str old, struct st_str new,
                    const struct st_diff *diff, enum st_changed changed);

#endif
