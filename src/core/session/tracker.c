#include "core/session/tracker.h"

#include <assert.h>

#include "base/cancel.h"
#include "base/plural.h"
#include "text/diff/diff.h"

enum { TOUCHED_MAX = 1000 };

static void seen_free(void *value) {
	struct st_seen *seen = value;
	st_intervals_release(&seen->lines);
	free(seen);
}

void st_tracker_init(struct st_tracker *tracker) {
	st_lru_init(&tracker->files, ST_TRACKED_MAX, ST_TRACKED_BYTES, seen_free);
}

void st_tracker_mark_saved(struct st_tracker *tracker) {
	while (tracker->touched_count > 0)
		free(tracker->touched[--tracker->touched_count]);
	free(tracker->touched);
	tracker->touched = NULL;
	tracker->touched_all = false;
}

void st_tracker_clear(struct st_tracker *tracker) {
	st_lru_clear(&tracker->files);
	st_tracker_mark_saved(tracker);
}

void st_tracker_release(struct st_tracker *tracker) {
	st_lru_release(&tracker->files);
	st_tracker_mark_saved(tracker);
}

/* A linear search will do: a call looks up a handful of files. */
static void touch(struct st_tracker *tracker, const char *path) {
	if (!tracker->collects_touched || tracker->touched_all)
		return;
	for (size_t i = tracker->touched_count; i > 0; i--) {
		if (strcmp(tracker->touched[i - 1], path) == 0)
			return;
	}
	char **list = realloc(tracker->touched, (tracker->touched_count + 1) * sizeof *list);
	if (list)
		tracker->touched = list;
	char *copy = list && tracker->touched_count < TOUCHED_MAX ? strdup(path) : NULL;
	if (copy)
		tracker->touched[tracker->touched_count++] = copy;
	else
		tracker->touched_all = true;
}

static uint64_t add_to_digest(uint64_t digest, const void *bytes, size_t len) {
	return st_str_sum(digest, st_strn(bytes, len));
}

uint64_t st_seen_digest(const struct st_seen *seen) {
	const struct st_stamp *stamp = &seen->version.stamp;
	uint64_t digest = add_to_digest(ST_STR_SUM, seen->version.hash.bytes, ST_HASH_SIZE);
	const uint64_t numbers[] = {stamp->dev,
	                            stamp->ino,
	                            stamp->size,
	                            (uint64_t)stamp->mtime_ns,
	                            (uint64_t)stamp->ctime_ns,
	                            stamp->racy,
	                            seen->total,
	                            seen->change_shown,
	                            seen->write_refused,
	                            seen->drop_warned};
	digest = add_to_digest(digest, numbers, sizeof numbers);
	digest =
		add_to_digest(digest, seen->lines.items, seen->lines.count * sizeof *seen->lines.items);
	return digest ? digest : 1;
}

struct st_seen *st_tracker_find(struct st_tracker *tracker, const char *path) {
	struct st_seen *seen = st_lru_get(&tracker->files, st_str(path));
	if (seen)
		touch(tracker, path);
	return seen;
}

struct st_seen *st_tracker_record(struct st_tracker *tracker, const char *path,
                                  const struct st_version *version, size_t total) {
	struct st_seen *seen = st_tracker_find(tracker, path);
	if (!seen) {
		seen = calloc(1, sizeof *seen);
		if (!seen || !st_lru_put(&tracker->files, st_str(path), seen, sizeof *seen + strlen(path)))
			return NULL;
		if (tracker->on_tracked)
			tracker->on_tracked(tracker->data, path);
		touch(tracker, path);
	} else if (!st_version_eq(&seen->version, version)) {
		st_intervals_clear(&seen->lines);
		seen->part_line = 0;
		seen->drop_warned = false;
	}
	seen->version = *version;
	seen->total = total;
	seen->stale = false;
	return seen;
}

struct st_seen *st_tracker_copy(struct st_tracker *tracker, const char *path,
                                const struct st_seen *other) {
	/* Copy first: adding a record may evict the other one. */
	struct st_version version = other->version;
	size_t total = other->total;
	st_auto(st_intervals) lines = {0};
	for (size_t i = 0; i < other->lines.count; i++) {
		if (!st_intervals_add(&lines, other->lines.items[i].first, other->lines.items[i].last))
			break;
	}
	version.stamp.racy = true;
	struct st_seen *seen = st_tracker_record(tracker, path, &version, total);
	if (!seen)
		return NULL;
	st_intervals_release(&seen->lines);
	seen->lines = lines;
	lines = (struct st_intervals){0};
	return seen;
}

void st_tracker_forget(struct st_tracker *tracker, const char *path) {
	if (st_lru_remove(&tracker->files, st_str(path)))
		touch(tracker, path);
}

/* List the tracked paths that are `dir` or below it; the caller frees them and the list. */
static int paths_within(const struct st_tracker *tracker, struct st_str dir, char ***list,
                        size_t *count, struct stet_error *err) {
	*list = calloc(tracker->files.count + 1, sizeof **list);
	*count = 0;
	if (!*list)
		return st_fail_nomem(err);
	const struct st_lru_entry *entry = NULL;
	while ((entry = st_lru_next(&tracker->files, entry))) {
		struct st_str key = st_lru_key(entry);
		if (!st_str_starts(key, dir) || (key.len > dir.len && key.ptr[dir.len] != '/'))
			continue;
		char *copy = strndup(key.ptr, key.len);
		if (!copy)
			return st_fail_nomem(err);
		(*list)[(*count)++] = copy;
	}
	return 0;
}

static int move_one(struct st_tracker *tracker, const char *from, const char *to,
                    struct stet_error *err) {
	struct st_seen *old = st_tracker_find(tracker, from);
	st_tracker_forget(tracker, to);
	if (!old)
		return 0;
	struct st_intervals lines = old->lines;
	old->lines = (struct st_intervals){0};
	struct st_seen record = *old, *new;
	st_tracker_forget(tracker, from);
	new = st_tracker_record(tracker, to, &record.version, record.total);
	if (!new) {
		st_intervals_release(&lines);
		return st_fail_nomem(err);
	}
	new->lines = lines;
	new->stale = record.stale;
	new->change_shown = record.change_shown;
	new->write_refused = record.write_refused;
	new->drop_warned = record.drop_warned;
	return 0;
}

/* The cost of a file, in the unit of st_cancel_check(). */
enum { MOVE_WORK = 1 << 10 };

int st_tracker_move(struct st_tracker *tracker, const char *from, const char *to,
                    struct stet_error *err) {
	char **paths;
	size_t count;
	int code = paths_within(tracker, st_str(from), &paths, &count, err);
	for (size_t i = 0; i < count; i++) {
		st_auto(st_buf) path = ST_BUF_INIT;
		st_buf_addf(&path, "%s%s", to, paths[i] + strlen(from));
		if (path.failed)
			code = st_fail_nomem(err);
		else if (code == 0)
			code = move_one(tracker, paths[i], path.ptr, err);
		st_cancel_progress(MOVE_WORK);
		free(paths[i]);
	}
	free(paths);
	return code;
}

/* If memory is short, the lines stay unseen, which is safe. */
void st_seen_add(struct st_seen *seen, size_t first, size_t last) {
	(void)st_intervals_add(&seen->lines, first, last);
}

void st_seen_add_part(struct st_seen *seen, size_t line, size_t from, size_t to, size_t len) {
	if (seen->part_line != line) {
		seen->part_line = line;
		seen->part_end = 0;
	}
	if (from <= seen->part_end && to > seen->part_end)
		seen->part_end = to;
	if (seen->part_end >= len) {
		st_seen_add(seen, line, line);
		seen->part_line = 0;
	}
}

void st_seen_clear_refusals(struct st_seen *seen) {
	seen->change_shown = seen->write_refused = seen->drop_warned = false;
}

bool st_seen_all(const struct st_seen *seen) {
	return st_intervals_covers(&seen->lines, seen->total);
}

enum { MISSING_SHOWN = 5 };

size_t st_seen_missing(const struct st_seen *seen, struct st_buf *out) {
	st_auto(st_buf) list = ST_BUF_INIT;
	size_t next = 1, gaps = 0, lines = 0;
	for (size_t i = 0; i <= seen->lines.count && next <= seen->total; i++) {
		size_t end = i < seen->lines.count ? seen->lines.items[i].first - 1 : seen->total;
		lines += end >= next ? end - next + 1 : 0;
		if (end >= next && ++gaps <= MISSING_SHOWN)
			st_buf_addf(&list, next == end ? "%s%zu" : "%s%zu-%zu", gaps > 1 ? ", " : "", next,
			            end);
		if (i < seen->lines.count)
			next = seen->lines.items[i].last + 1;
	}
	if (gaps > 0)
		st_buf_addf(out, "%s %s", st_plural(lines, "line", "lines"), st_buf_cstr(&list));
	if (gaps > MISSING_SHOWN)
		st_buf_addf(out, " and %zu more %s", gaps - MISSING_SHOWN,
		            st_plural(gaps - MISSING_SHOWN, "place", "places"));
	return lines;
}

/*
 * Mark as seen in the new version the seen ones among old lines first to last,
 * which are unchanged; old line `first` is new line `to`. `at` is the cursor in
 * `lines`: the first interval that does not end before `first`.
 */
static void carry_unchanged(struct st_seen *seen, const struct st_intervals *lines, size_t *at,
                            size_t first, size_t last, size_t to) {
	while (*at < lines->count && lines->items[*at].last < first)
		++*at;
	for (size_t i = *at; i < lines->count && lines->items[i].first <= last; i++) {
		size_t begin = lines->items[i].first > first ? lines->items[i].first : first;
		size_t end = lines->items[i].last < last ? lines->items[i].last : last;
		if (begin <= end)
			st_seen_add(seen, begin - first + to, end - first + to);
	}
}

/* Whether the new lines of a hunk count as seen. */
static bool is_hunk_seen(const struct st_hunk *hunk, const struct st_intervals *lines,
                         enum st_changed changed) {
	if (changed == ST_CHANGED_PARTLY && hunk->old_count > 0)
		return st_intervals_contains(lines, hunk->old_start + 1, hunk->old_start + hunk->old_count);
	return changed != ST_CHANGED_UNSEEN;
}

/* The most that a hunk costs, in the unit of st_cancel_check(). */
enum { HUNK_WORK = 256 };

static void carry_all(struct st_seen *seen, const struct st_intervals *lines,
                      const struct st_diff *diff, enum st_changed changed) {
	size_t old = 1, new = 1, at = 0;
	for (size_t i = 0; i < diff->count; i++) {
		const struct st_hunk *hunk = &diff->hunks[i];
		/* The caller no longer waits: the lines stay unseen, which is safe. */
		if (st_cancel_check(HUNK_WORK, NULL) < 0) {
			st_intervals_clear(&seen->lines);
			return;
		}
		assert(hunk->old_start + 1 >= old && hunk->new_start + 1 >= new);
		carry_unchanged(seen, lines, &at, old, hunk->old_start, new);
		if (hunk->new_count > 0 && is_hunk_seen(hunk, lines, changed))
			st_seen_add(seen, hunk->new_start + 1, hunk->new_start + hunk->new_count);
		old = hunk->old_start + hunk->old_count + 1;
		new = hunk->new_start + hunk->new_count + 1;
	}
	carry_unchanged(seen, lines, &at, old, diff->old.count, new);
}

void st_seen_follow(struct st_seen *seen, struct st_str old, struct st_str new,
                    const struct st_diff *diff, enum st_changed changed) {
	bool all = st_seen_all(seen) && changed != ST_CHANGED_UNSEEN;
	struct st_intervals lines = seen->lines;
	size_t old_total = seen->total;
	seen->lines = (struct st_intervals){0};
	seen->total = st_line_count(new);
	seen->part_line = 0;
	if (all) {
		st_seen_add(seen, 1, seen->total);
	} else if (lines.count > 0 || changed != ST_CHANGED_UNSEEN) {
		/* A diff splits lines at LF only. If that yields another count, carry nothing over. */
		st_auto(st_diff) own = {0};
		if (!diff && st_diff_init(&own, old, new, NULL) == 0)
			diff = &own;
		if (diff && diff->new.count == seen->total && diff->old.count == old_total)
			carry_all(seen, &lines, diff, changed);
	}
	st_intervals_release(&lines);
}
