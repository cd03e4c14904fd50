#include "core/session/unsent.h"

#include <assert.h>

#include "base/cancel.h"
#include "base/plural.h"
#include "base/utf8.h"

/* How many ranges of lines a refusal names. */
enum { RANGES_NAMED = 5 };

/* Name the old lines of the hunks that were not sent; returns how many. */
static size_t name_unsent(const struct st_seen *seen, const struct st_hunk *hunks, size_t count,
                          struct st_buf *names) {
	size_t lines = 0, ranges = 0;
	for (size_t i = 0; i < count; i++) {
		size_t first = hunks[i].old_start + 1, last = hunks[i].old_start + hunks[i].old_count;
		if (last < first || (seen && st_intervals_contains(&seen->lines, first, last)))
			continue;
		lines += hunks[i].old_count;
		if (++ranges <= RANGES_NAMED)
			st_buf_addf(names, first == last ? "%s%zu" : "%s%zu-%zu", ranges > 1 ? ", " : "", first,
			            last);
	}
	if (ranges > RANGES_NAMED)
		st_buf_addf(names, " and %zu more %s", ranges - RANGES_NAMED,
		            st_plural(ranges - RANGES_NAMED, "place", "places"));
	return lines;
}

/* A restored version may differ anywhere: ask the diff. */
static size_t name_unsent_by_diff(const struct st_seen *seen, struct st_str old, struct st_str new,
                                  struct st_buf *names) {
	st_auto(st_diff) diff = {0};
	size_t total = st_line_count(old);
	/* A diff counts lines by LF only. If that is another count, its numbers are useless. */
	if (st_diff_init(&diff, old, new, NULL) == 0 && diff.old.count == total)
		return name_unsent(seen, diff.hunks, diff.count, names);
	return name_unsent(seen, &(struct st_hunk){.old_count = total}, 1, names);
}

static struct st_hunk unnamed_hunk(const struct st_change *change) {
	return (struct st_hunk){
		.old_start = change->unnamed->first - 1,
		.old_count = change->unnamed->last + 1 - change->unnamed->first,
	};
}

size_t st_unsent_find(const struct st_change *change, const struct st_seen *seen, struct st_str old,
                      struct st_str new, struct st_buf *names) {
	if (change->hash_proves || change->own || (seen && st_seen_all(seen)))
		return 0;
	if (change->restores)
		return name_unsent_by_diff(seen, old, new, names);
	if (!change->unnamed || change->unnamed->last < change->unnamed->first)
		return 0;
	struct st_hunk removed = unnamed_hunk(change);
	return name_unsent(seen, &removed, 1, names);
}

struct st_verdict st_unsent_judge(const struct st_change_attempt *attempt) {
	const struct st_seen *seen = attempt->seen;
	struct st_str old = st_buf_str(&attempt->file->bytes), new = st_buf_str(attempt->new);
	st_auto(st_buf) names = ST_BUF_INIT;
	bool known = seen && st_hash_eq(&seen->version.hash, &attempt->file->hash);
	/* A change that changes nothing removes nothing. */
	if (st_str_eq(old, new) ||
	    st_unsent_find(attempt->change, known ? seen : NULL, old, new, &names) == 0)
		return (struct st_verdict){0};
	if (attempt->session->stateless)
		return (struct st_verdict){ST_REFUSED_STATELESS};
	return (struct st_verdict){seen && !known ? ST_REFUSED_MODIFIED : ST_REFUSED_UNSENT};
}

/* The diff of a change, in which no removed line is matched with an equal new one. */
static int diff_of_removal(const struct st_change *change, struct st_str old, struct st_str new,
                           struct st_diff *diff, struct stet_error *err) {
	int code = st_diff_init(diff, old, new, err);
	if (code < 0 || change->restores || diff->count == 0)
		return code;
	/* One hunk over everything that changes: a named heading may go together with its section. */
	struct st_hunk removed = unnamed_hunk(change), last = diff->hunks[diff->count - 1];
	size_t start = diff->hunks[0].old_start, end = last.old_start + last.old_count;
	if (removed.old_start < start)
		start = removed.old_start;
	if (removed.old_start + removed.old_count > end)
		end = removed.old_start + removed.old_count;
	assert(diff->new.count + (end - start) >= diff->old.count);
	diff->hunks[0] = (struct st_hunk){
		.old_start = start,
		.old_count = end - start,
		.new_start = start,
		.new_count = diff->new.count + (end - start) - diff->old.count,
	};
	diff->count = 1;
	diff->removed = diff->hunks[0].old_count;
	diff->added = diff->hunks[0].new_count;
	return 0;
}

/* Whether a diff can show the lines as they are, by the numbers that reads give them. */
static bool can_show(const struct st_diff *diff) {
	struct st_str old = diff->old.text, new = diff->new.text;
	return diff->old.count == st_line_count(old) && st_utf8_valid(old) && st_utf8_valid(new) &&
	       !memchr(old.ptr, 0, old.len);
}

static void name_lines(const struct st_change_attempt *attempt) {
	struct stet_answer *answer = attempt->answer;
	st_auto(st_buf) names = ST_BUF_INIT;
	size_t lines = st_unsent_find(attempt->change, attempt->seen, st_buf_str(&attempt->file->bytes),
	                              st_buf_str(attempt->new), &names);
	st_buf_clear(&answer->diff);
	st_buf_addf(&answer->message, " Not sent to you so far: %s %s. Read %s first.",
	            st_plural(lines, "line", "lines"), st_buf_cstr(&names),
	            st_plural(lines, "it", "them"));
}

int st_unsent_show(const struct st_change_attempt *attempt, struct stet_error *err) {
	const struct st_change *change = attempt->change;
	struct stet_answer *answer = attempt->answer;
	st_auto(st_diff_report) report = {.truncated = true};
	st_auto(st_diff) diff = {0};
	int code = diff_of_removal(change, st_buf_str(&attempt->file->bytes), st_buf_str(attempt->new),
	                           &diff, err);
	if (code == 0 && !change->unshown && can_show(&diff))
		code = st_session_diff_of(attempt->session, attempt->path, &diff, answer, &report, err);
	if (code < 0)
		return code;
	if (report.truncated) {
		name_lines(attempt);
		return 0;
	}
	st_buf_adds(&answer->message,
	            " The change below shows them, which counts as read: do the same again if that is "
	            "meant.");
	/* Last: only a complete answer that was not cancelled reaches the caller. */
	code = answer->message.failed ? st_fail_nomem(err) : st_cancel_check_now(err);
	if (code < 0)
		return code;
	struct st_seen *seen =
		st_session_record(attempt->session, change->path, attempt->path, attempt->file);
	for (size_t i = 0; seen && i < diff.count; i++)
		st_seen_add(seen, diff.hunks[i].old_start + 1,
		            diff.hunks[i].old_start + diff.hunks[i].old_count);
	return seen ? 0 : st_fail_nomem(err);
}
