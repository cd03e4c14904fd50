#include "core/session/refusal.h"

#include <assert.h>

#include "base/cancel.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "core/session/conflict.h"
#include "core/session/unsent.h"
#include "text/diff/diff.h"
#include "text/find/find.h"

/* ---- the judgement ---- */

/* Warn about a write that drops more than DROP_PERCENT of at least DROP_LINES lines. */
enum { DROP_LINES = 100, DROP_PERCENT = 60 };

/* How many lines of the old text the new one lacks. */
static size_t dropped_lines(struct st_str old, struct st_str new) {
	st_auto(st_diff) diff = {0};
	size_t dropped = 0;
	if (st_diff_init(&diff, old, new, NULL) < 0)
		return 0;
	for (size_t i = 0; i < diff.count; i++)
		dropped += diff.hunks[i].old_count;
	return dropped;
}

/* How many lines the new text lacks, if that is most of a long text; else 0. */
static size_t drops_most(struct st_str old, struct st_str new) {
	size_t lines = st_line_count(old);
	size_t dropped = lines >= DROP_LINES ? dropped_lines(old, new) : 0;
	return dropped * 100 > lines * DROP_PERCENT ? dropped : 0;
}

bool st_change_merges(const struct st_change *change, const struct st_seen *seen) {
	if (change->merge)
		return true;
	return seen && seen->change_shown && change->kind == ST_CHANGE_ANCHORED && !change->never_merge;
}

/* Whether answers show parts of a text as U+FFFD. With a NUL it is no text, and media come as bytes. */
static bool is_lossy(struct st_str bytes) {
	return !st_utf8_valid(bytes) && !memchr(bytes.ptr, '\0', bytes.len);
}

struct st_verdict st_change_judge_loss(const struct st_change_attempt *attempt, struct st_str old,
                                       struct st_str new) {
	const struct st_change *change = attempt->change;
	if (!change->check_drops || change->remove || attempt->seen->drop_warned)
		return (struct st_verdict){0};
	if (is_lossy(old))
		return (struct st_verdict){ST_REFUSED_LOSSY};
	size_t dropped = drops_most(old, new);
	return (struct st_verdict){dropped > 0 ? ST_REFUSED_DROPS : ST_NOT_REFUSED, dropped};
}

struct st_verdict st_change_judge_whole(const struct st_change_attempt *attempt) {
	const struct st_seen *seen = attempt->seen;
	/* An empty file has nothing to lose. */
	if (attempt->file->bytes.len == 0)
		return (struct st_verdict){0};
	if (attempt->session->stateless)
		return (struct st_verdict){ST_REFUSED_STATELESS};
	if (!seen || !st_seen_all(seen))
		return (struct st_verdict){ST_REFUSED_UNSEEN};
	return st_change_judge_loss(attempt, st_buf_str(&attempt->file->bytes),
	                            st_buf_str(attempt->new));
}

/* ---- lines of others that a whole-file write would drop ---- */

/* How many lines to name, how long each, and how many to look for at all. */
enum { LACKING_NAMED = 5, LACKING_CHARS = 80, LACKING_MAX = 200 };

/* The cost of a line besides its bytes, in the unit of st_cancel_check(). */
enum { LINE_WORK = 64 };

/* A line that others added, and whether the new contents have it too. */
struct addition {
	struct st_str line;
	bool found;
};

static int by_line(const void *a, const void *b) {
	const struct addition *const *one = a, *const *two = b;
	return st_str_cmp((*one)->line, (*two)->line);
}

/* A line without its end; empty for a line of white space, which is not worth naming. */
static struct st_str line_body(const struct st_lines *lines, size_t n) {
	struct st_str body = st_lines_body(lines, n);
	return st_str_trim(body).len > 0 ? body : st_str("");
}

/* Collect the first lines that the new text of a diff adds; returns how many. */
static size_t find_additions(const struct st_diff *diff,
                             struct addition additions[static LACKING_MAX]) {
	size_t count = 0, checked = 0;
	for (size_t i = 0; i < diff->count && checked < LACKING_MAX; i++) {
		const struct st_hunk *hunk = &diff->hunks[i];
		for (size_t n = 1; n <= hunk->new_count && checked < LACKING_MAX; n++, checked++) {
			struct st_str line = line_body(&diff->new, hunk->new_start + n);
			if (line.len > 0)
				additions[count++] = (struct addition){line, false};
		}
	}
	assert(count <= LACKING_MAX);
	return count;
}

/* bsearch() marks any one of several equal lines: mark the others too. */
static void spread_found(struct addition *const *sorted, size_t count) {
	for (size_t i = 1; i < count; i++)
		sorted[i]->found |= sorted[i - 1]->found && by_line(&sorted[i - 1], &sorted[i]) == 0;
	for (size_t i = count; i-- > 1;)
		sorted[i - 1]->found |= sorted[i]->found && by_line(&sorted[i - 1], &sorted[i]) == 0;
}

/* Mark the additions that a text contains as lines, in one pass over the text. */
static void mark_found(struct addition *additions, size_t count, struct st_str text) {
	struct addition *sorted[LACKING_MAX];
	for (size_t i = 0; i < count; i++)
		sorted[i] = &additions[i];
	qsort(sorted, count, sizeof *sorted, by_line);
	for (size_t at = 0, end; at < text.len; at = end) {
		end = st_line_end(text, at);
		struct st_str line = st_str_slice(text, at, end);
		line.len -= st_eol_bytes(st_eol_of(line)).len;
		const struct addition *wanted = &(struct addition){line, false};
		struct addition **found = bsearch(&wanted, sorted, count, sizeof *sorted, by_line);
		if (found)
			(*found)->found = true;
		if (st_cancel_check(line.len + LINE_WORK, NULL) < 0)
			return;
	}
	spread_found(sorted, count);
}

static void name_line(struct st_buf *out, struct st_str line, size_t number) {
	st_buf_adds(out, number > 1 ? ", " : "");
	st_quote_text(out, st_str_trim(line), LACKING_CHARS);
}

/* Name the lines that others added and the new contents lack; returns how many there are. */
static size_t name_lacking(const struct st_diff *diff, struct st_str content, struct st_buf *out) {
	struct addition additions[LACKING_MAX];
	size_t count = find_additions(diff, additions), lacking = 0;
	mark_found(additions, count, content);
	for (size_t i = 0; i < count; i++) {
		if (!additions[i].found && ++lacking <= LACKING_NAMED)
			name_line(out, additions[i].line, lacking);
	}
	if (lacking > LACKING_NAMED)
		st_buf_addf(out, " and %zu more", lacking - LACKING_NAMED);
	return lacking;
}

static void say_lacking(const struct st_seen *seen, const struct st_diff *diff,
                        struct st_str content, struct stet_answer *answer) {
	st_auto(st_buf) names = ST_BUF_INIT;
	size_t lacking = name_lacking(diff, content, &names);
	if (seen->write_refused)
		st_buf_adds(&answer->message,
		            " Others keep changing this file: use edit_file or append_file, which win "
		            "against a busy writer.");
	else if (lacking > 0)
		st_buf_addf(&answer->message,
		            " Your content does not contain %s: %s. Add %s, or write again to drop %s.",
		            st_plural(lacking, "this line", "these lines"), st_buf_cstr(&names),
		            st_plural(lacking, "it", "them"), st_plural(lacking, "it", "them"));
	else
		st_buf_adds(&answer->message,
		            " Your content has every line that others added: write again to replace the "
		            "file.");
}

/* ---- the diff ---- */

/* Say at which lines the text to change is now. */
static int say_matches(const struct st_change_attempt *attempt, struct stet_error *err) {
	struct stet_answer *answer = attempt->answer;
	if (attempt->change->anchor.len == 0)
		return 0;
	st_autofree struct st_places *places = malloc(sizeof *places);
	if (!places)
		return st_fail_nomem(err);
	int code =
		st_places_find(places, st_buf_str(&attempt->file->bytes), attempt->change->anchor, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < places->count && i < ST_MATCHES_MAX; i++)
		answer->matches[answer->match_count++] = places->lines[i];
	if (places->total == 0) {
		st_buf_adds(&answer->message, " The text to change is no longer in it.");
	} else {
		st_buf_adds(&answer->message, " The text to change still matches at ");
		st_places_add(&answer->message, places, 10);
		st_buf_adds(&answer->message, ".");
	}
	return 0;
}

/* The sentence of the file state specification ends differently where the diff follows, so as not to contradict it. */
static void say_read_again(const struct st_change *change, struct stet_answer *answer) {
	const char *sentence =
		" Please read the file again, or go by the change below, which counts as read.";
	if (answer->diff_truncated)
		sentence = " Please read the file again; the change below is cut.";
	else if (change->kind == ST_CHANGE_WHOLE && (change->restores || !change->remove))
		sentence = " The change below counts as read.";
	else if (change->kind == ST_CHANGE_LINES)
		sentence =
			" Please read the file again, or go by the change below, which counts as read; line "
			"numbers may have moved.";
	st_buf_adds(&answer->message, sentence);
}

/* Record that the session saw the current version: all of it, or the lines that a cut diff shows. */
static void record_shown(const struct st_change_attempt *attempt, const struct st_diff *diff,
                         const struct st_diff_report *report) {
	struct st_seen *seen = attempt->seen;
	struct st_str now = st_buf_str(&attempt->file->bytes);
	st_seen_follow(seen, diff->old.text, now, diff,
	               report->truncated ? ST_CHANGED_UNSEEN : ST_CHANGED_SEEN);
	seen->version = st_file_version(attempt->file);
	seen->stale = false;
	for (size_t i = 0; i < report->displayed_count && report->truncated; i++)
		st_seen_add(seen, report->displayed[i].first, report->displayed[i].last);
	st_bases_put(&attempt->session->ws->bases, &attempt->file->hash, now);
}

/* Without the version that the session saw there is no diff: start over with the current one. */
static int ask_to_read(const struct st_change_attempt *attempt, struct stet_error *err) {
	st_buf_adds(&attempt->answer->message, " Please read the file again.");
	return !attempt->answer->message.failed &&
	               st_session_record(attempt->session, attempt->change->path, attempt->path,
	                                 attempt->file)
	           ? 0
	           : st_fail_nomem(err);
}

/* Added to the diff: a whole-file write cannot keep these bytes. */
#define LOSSY_SENTENCE \
	" It has bytes that are not UTF-8, which you were sent as U+FFFD; only edit_file keeps them."

/* Show what changed from `old`, the version that the session saw, and count it as seen. */
static int show_diff(const struct st_change_attempt *attempt, struct st_str old,
                     struct stet_error *err) {
	const struct st_change *change = attempt->change;
	struct stet_answer *answer = attempt->answer;
	struct st_seen *seen = attempt->seen;
	st_auto(st_diff_report) report = {0};
	st_auto(st_diff) diff = {0};
	int code = st_diff_init(&diff, old, st_buf_str(&attempt->file->bytes), err);
	if (code == 0)
		code = st_session_diff_of(attempt->session, attempt->path, &diff, answer, &report, err);
	if (code == 0)
		say_read_again(change, answer);
	if (code == 0)
		code = say_matches(attempt, err);
	bool writes = change->kind == ST_CHANGE_WHOLE && !change->remove && !change->restores;
	bool asks = writes && !report.truncated;
	if (asks && is_lossy(diff.new.text))
		st_buf_adds(&answer->message, LOSSY_SENTENCE);
	if (code == 0 && asks)
		say_lacking(seen, &diff, st_buf_str(attempt->new), answer);
	if (code == 0 && answer->message.failed)
		code = st_fail_nomem(err);
	/* Last: only a complete answer that was not cancelled reaches the caller. */
	if (code == 0)
		code = st_cancel_check_now(err);
	if (code < 0)
		return code;
	record_shown(attempt, &diff, &report);
	st_session_add_link(attempt->session, change->path, attempt->path);
	seen->change_shown = !report.truncated;
	seen->write_refused |= writes;
	/* This refusal named the lines of this version that would go: do not refuse again for them. */
	seen->drop_warned = asks;
	return 0;
}

static int show_change(const struct st_change_attempt *attempt, struct stet_error *err) {
	struct st_blob *base = st_workspace_base(attempt->session->ws, &attempt->seen->version.hash);
	int code =
		base ? show_diff(attempt, st_strn(base->bytes, base->len), err) : ask_to_read(attempt, err);
	st_blob_put(base);
	return code;
}

/* ---- the refusal ---- */

static const struct {
	/* The word for it in the answer. */
	const char *reason;
	/* The first sentence; takes the path as the caller spelled it, quoted. */
	const char *sentence;
} refusals[] = {
	[ST_REFUSED_MODIFIED] = {"modified", "File %s was modified since you last read it."},
	[ST_REFUSED_OVERLAP] = {"modified",
                            "File %s was modified since you last read it, in the same lines, so "
                            "that it cannot be merged."},
	[ST_REFUSED_DELETED] = {"deleted", "File %s was deleted since you last read it."},
	[ST_REFUSED_UNSEEN] = {"unseen",
                           "File %s exists, and you have not read all of its current version."},
	[ST_REFUSED_STATELESS] = {"unseen",
                              "File %s exists, and only a session that has read all of it may "
                              "replace or delete it."},
	[ST_REFUSED_UNSENT] = {"unseen", "File %s would lose lines that were not sent to you."},
	[ST_REFUSED_DROPS] = {"drops", "File %s would lose most of its lines."},
	[ST_REFUSED_LOSSY] = {"drops",
                          "File %s has bytes that are not UTF-8, which you were sent as U+FFFD. To "
                          "keep them, change the other lines with edit_file; write again to drop "
                          "them."},
	[ST_REFUSED_UNREAD] = {"unseen",
                           "File %s has not been read in this session. Read it before changing "
                           "it."},
	[ST_REFUSED_HASH] = {"hash",
                         "File hash mismatch: %s is not the version that expectedHash names."},
	[ST_REFUSED_UNDO] = {"modified", "File %s changed since that write, which was not undone."},
};

/* Sessions without a name may have the same label, so go by what this one wrote. */
static void say_writer(const struct st_change_attempt *attempt) {
	struct stet_answer *answer = attempt->answer;
	const struct st_hash *hash = &attempt->file->hash;
	if (!st_workspace_writer(attempt->session->ws, hash, answer->writer) || !*answer->writer)
		return;
	if (attempt->seen && st_hash_eq(&attempt->seen->wrote, hash))
		st_buf_adds(&answer->message, " You wrote the current version.");
	else
		st_buf_addf(&answer->message, " Session %s wrote the current version.",
		            st_quoted(answer->writer));
}

/* Say which lines the session has not seen. */
static void say_unseen(const struct st_seen *seen, struct stet_answer *answer) {
	if (seen && seen->lines.count > 0) {
		st_buf_adds(&answer->message, " Not sent to you so far: ");
		size_t lines = st_seen_missing(seen, &answer->message);
		st_buf_addf(&answer->message, ". Read %s first.", st_plural(lines, "it", "them"));
	} else {
		st_buf_adds(&answer->message, " Read it first.");
	}
}

static void say_drops(const struct st_file *file, size_t dropped, struct stet_answer *answer) {
	st_buf_addf(&answer->message,
	            " The new content lacks %zu of its %zu lines. Write again if that is meant.",
	            dropped, st_line_count(st_buf_str(&file->bytes)));
}

/* A wrong hash stays wrong: unlike other refused calls, this one cannot just be repeated. */
static void say_hash(const struct st_change *change, struct stet_answer *answer, bool changed) {
	st_buf_addf(&answer->message, " Its hash is now %s.", answer->hash);
	if (!changed)
		st_buf_addf(&answer->message, " %s",
		            change->kind == ST_CHANGE_WHOLE ? "Read the file again."
		                                            : "Read the part you change again, then pass "
		                                              "this hash.");
}

static void say_gone(const struct st_change *change, struct stet_answer *answer) {
	const char *sentence =
		" There is nothing left to change; write the file anew if it is still wanted.";
	if (change->restores)
		sentence = " There is nothing left to undo.";
	else if (change->remove)
		sentence = " There is nothing left to delete.";
	else if (change->kind == ST_CHANGE_WHOLE)
		sentence = change->expected_hash.ptr
		               ? " To create it anew, write again without expectedHash."
		               : " To create it anew, write again.";
	st_buf_adds(&answer->message, sentence);
}

/* Add what belongs to the reason; `changed` if the session saw another version. */
static void say_details(const struct st_change_attempt *attempt, struct st_verdict verdict,
                        bool changed) {
	struct stet_answer *answer = attempt->answer;
	if (verdict.refusal == ST_REFUSED_UNSEEN) {
		say_unseen(attempt->seen, answer);
	} else if (verdict.refusal == ST_REFUSED_STATELESS) {
		st_buf_adds(&answer->message,
		            " Pass a name of your choice as \"session\" to read it and to change it.");
	} else if (verdict.refusal == ST_REFUSED_LOSSY || verdict.refusal == ST_REFUSED_DROPS) {
		assert(attempt->file && attempt->seen);
		if (verdict.refusal == ST_REFUSED_DROPS)
			say_drops(attempt->file, verdict.dropped, answer);
		attempt->seen->drop_warned = true;
	} else if (attempt->file && verdict.refusal != ST_REFUSED_UNSENT) {
		say_writer(attempt);
	}
	if (verdict.refusal == ST_REFUSED_HASH && attempt->file)
		say_hash(attempt->change, answer, changed);
}

/* For people to look at (core/page). @saw is the version that the session saw. */
static void report_refusal(const struct st_change_attempt *attempt, const struct st_version *saw) {
	struct st_conflict *conflict = st_conflict_of(attempt->answer);
	struct st_file_event event = {
		.path = attempt->path, .kind = ST_EVENT_REFUSED, .before = *saw, .conflict = conflict};
	if (attempt->file)
		event.after = st_file_version(attempt->file);
	if (conflict)
		st_session_report(attempt->session, &event);
	st_conflict_free(conflict);
}

int st_change_refuse(const struct st_change_attempt *attempt, struct st_verdict verdict,
                     struct stet_error *err) {
	const struct st_change *change = attempt->change;
	const struct st_file *file = attempt->file;
	struct stet_answer *answer = attempt->answer;
	enum st_refusal refusal = verdict.refusal;
	const struct st_version saw = attempt->seen ? attempt->seen->version : (struct st_version){0};
	assert(refusal != ST_NOT_REFUSED);
	answer->status = "conflict";
	answer->reason = refusals[refusal].reason;
	int code = st_answer_about(answer, attempt->path, file ? &file->hash : NULL, err);
	if (code < 0)
		return code;
	st_buf_clear(&answer->message);
	st_buf_addf(&answer->message, refusals[refusal].sentence, st_quoted(change->path));

	/* The same write again is to be merged from the same base, so the changes of others are not shown. */
	bool asks = refusal == ST_REFUSED_LOSSY || refusal == ST_REFUSED_DROPS;
	bool changed =
		file && !asks && attempt->seen && !st_hash_eq(&attempt->seen->version.hash, &file->hash);
	say_details(attempt, verdict, changed);
	if (refusal == ST_REFUSED_UNSENT)
		code = st_unsent_show(attempt, err);
	else if (changed && !change->unshown && refusal != ST_REFUSED_UNSEEN)
		code = show_change(attempt, err);
	else if ((changed && change->unshown) || refusal == ST_REFUSED_UNDO)
		st_buf_adds(&answer->message, " Please read the file again.");
	else if (file && (refusal == ST_REFUSED_HASH || refusal == ST_REFUSED_MODIFIED))
		code = say_matches(attempt, err);
	if (code < 0)
		return code;
	if (!file)
		say_gone(change, answer);
	if (answer->message.failed)
		return st_fail_nomem(err);
	report_refusal(attempt, &saw);
	if (!file) {
		st_tracker_forget(&attempt->session->tracker, attempt->path);
		st_session_drop_link(attempt->session, change->path);
	}
	return st_fail(err, STET_E_CONFLICT, "%s", answer->message.ptr);
}
