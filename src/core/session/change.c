#include "core/session/change.h"

#include <stdio.h>

#include "base/cancel.h"
#include "base/plural.h"
#include "fs/path/nearby.h"
#include "fs/write/remove.h"
#include "text/diff/diff.h"
#include "text/patch/edits.h"
#include "text/find/find.h"
#include "text/diff/merge.h"

/* How often a change of unread text starts over because others were faster. */
enum { TRIES_MAX = 64, APPENDS_MAX = 64, BUSY_MAX = 4 };

/* What a step may answer besides 0 and a code. */
enum { AGAIN = 1, UNMERGEABLE = 2 };

/* ---- dropping most of a file ---- */

/* A file of so many lines, and of so many in a hundred of them. */
enum { DROP_LINES = 100, DROP_PERCENT = 60 };

/* How many lines of the old text the new one does not have. */
static size_t dropped_lines(struct st_str old, struct st_str new) {
	st_auto(st_diff) diff = {0};
	size_t dropped = 0;
	if (st_diff_init(&diff, old, new, NULL) < 0)
		return 0;
	for (size_t i = 0; i < diff.count; i++)
		dropped += diff.hunks[i].old_count;
	return dropped;
}

/* How many lines a new text drops if that is most of the old one; 0 if it is not. */
static size_t drops_most(struct st_str old, struct st_str new) {
	size_t lines = st_line_count(old);
	size_t dropped = lines >= DROP_LINES ? dropped_lines(old, new) : 0;
	return dropped * 100 > lines * DROP_PERCENT ? dropped : 0;
}

/* ---- the refusal ---- */

/* Why a change is refused: the word in the answer and the sentence that opens it. */
struct refusal {
	const char *reason;
	/* Takes the path as the caller spelled it, quoted. */
	const char *sentence;
};

static const struct refusal modified = {
	"modified",
	"File %s was modified since you last read it.",
};
static const struct refusal overlapping = {
	"modified",
	"File %s was modified since you last read it, in the same lines, so that it cannot be "
	"merged.",
};
static const struct refusal deleted = {
	"deleted",
	"File %s was deleted since you last read it.",
};
static const struct refusal unseen = {
	"unseen",
	"File %s exists, and you have not read all of its current version.",
};
static const struct refusal sessionless = {
	"unseen",
	"File %s exists, and only a session that has read all of it may replace or delete it.",
};
static const struct refusal drops = {
	"drops",
	"File %s would lose most of its lines.",
};
static const struct refusal unread = {
	"unseen",
	"File %s has not been read in this session. Read it before changing it.",
};
static const struct refusal wrong_hash = {
	"hash",
	"File hash mismatch: %s is not the version that expectedHash names.",
};

/* Whether a change is refused, and why. */
struct verdict {
	/* NULL if it is not. */
	const struct refusal *refusal;
	/* Of `drops`: how many lines the new content lacks. */
	size_t dropped;
};

static void say_writer(struct stet_session *session, const struct st_hash *hash,
                       struct stet_answer *answer) {
	if (st_workspace_writer(session->ws, hash, answer->writer) && *answer->writer)
		st_buf_addf(&answer->message, " Session %s wrote the current version.",
		            st_quoted(answer->writer));
}

/* Where the text to change still is. */
static int say_matches(const struct st_change *change, const struct st_file *file,
                       struct stet_answer *answer, struct stet_error *err) {
	if (change->anchor.len == 0)
		return 0;
	st_autofree struct st_places *places = malloc(sizeof *places);
	if (!places)
		return st_fail_nomem(err);
	int code = st_places_find(places, st_buf_str(&file->bytes), change->anchor, err);
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

/* The record moves on to a version that was shown, wholly or as far as the report says. */
static void follow(struct stet_session *session, struct st_seen *seen, const struct st_diff *diff,
                   const struct st_file *file, const struct st_diff_report *report) {
	struct st_str now = st_buf_str(&file->bytes);
	st_seen_follow(seen, diff->old.text, now, diff,
	               report->truncated ? ST_CHANGED_UNSEEN : ST_CHANGED_SEEN);
	seen->version = st_file_version(file);
	seen->stale = false;
	for (size_t i = 0; i < report->displayed_count && report->truncated; i++)
		st_seen_add(seen, report->displayed[i].first, report->displayed[i].last);
	st_bases_put(&session->ws->bases, &file->hash, now);
}

/* ---- a whole-file write that would drop what others added ---- */

/* How many of the lines are named, how long each, and how many are looked for at all. */
enum { LACKING_NAMED = 5, LACKING_CHARS = 80, LACKING_MAX = 200 };

/* What a line costs besides its bytes, in the measure of st_cancel_check(). */
enum { LINE_WORK = 64 };

/* A line that others added, and whether the new content has it too. */
struct addition {
	struct st_str line;
	bool found;
};

static int by_text(const void *a, const void *b) {
	const struct addition *const *one = a, *const *two = b;
	return st_str_cmp((*one)->line, (*two)->line);
}

/* Without line end and blanks: a line of these alone is not worth naming. */
static struct st_str line_body(const struct st_lines *lines, size_t n) {
	struct st_str body = st_lines_body(lines, n);
	return st_str_trim(body).len > 0 ? body : st_str("");
}

/* The first lines that one text has and another one lacked; returns how many. */
static size_t find_additions(const struct st_diff *diff,
                             struct addition additions[static LACKING_MAX]) {
	size_t count = 0, looked = 0;
	for (size_t i = 0; i < diff->count && looked < LACKING_MAX; i++) {
		const struct st_hunk *hunk = &diff->hunks[i];
		for (size_t n = 1; n <= hunk->new_count && looked < LACKING_MAX; n++, looked++) {
			struct st_str line = line_body(&diff->new, hunk->new_start + n);
			if (line.len > 0)
				additions[count++] = (struct addition){line, false};
		}
	}
	return count;
}

/* Of equal ones, which stand beside each other, any one may have been found. */
static void spread_found(struct addition *const *sorted, size_t count) {
	for (size_t i = 1; i < count; i++)
		sorted[i]->found |= sorted[i - 1]->found && by_text(&sorted[i - 1], &sorted[i]) == 0;
	for (size_t i = count; i-- > 1;)
		sorted[i - 1]->found |= sorted[i]->found && by_text(&sorted[i - 1], &sorted[i]) == 0;
}

/* Mark the additions that a text has as lines of its own, all in one pass over it. */
static void mark_found(struct addition *additions, size_t count, struct st_str text) {
	struct addition *sorted[LACKING_MAX];
	for (size_t i = 0; i < count; i++)
		sorted[i] = &additions[i];
	qsort(sorted, count, sizeof *sorted, by_text);
	for (size_t at = 0, end; at < text.len; at = end) {
		end = st_line_end(text, at);
		struct st_str line = st_str_slice(text, at, end);
		line.len -= st_eol_bytes(st_eol_of(line)).len;
		const struct addition *wanted = &(struct addition){line, false};
		struct addition **found = bsearch(&wanted, sorted, count, sizeof *sorted, by_text);
		if (found)
			(*found)->found = true;
		if (st_cancel_check(line.len + LINE_WORK, NULL) < 0)
			return;
	}
	spread_found(sorted, count);
}

static void name_line(struct st_buf *out, struct st_str line, size_t number) {
	struct st_str text = st_str_trim(line);
	st_buf_adds(out, number > 1 ? ", " : "");
	st_quote_text(out, text, LACKING_CHARS);
}

/* Name the lines that others added and the new content does not have; returns how many there are. */
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
	if (seen->overtaken)
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

/* ---- showing what changed ---- */

/* Spec 1's sentence; it goes on where the change is shown, instead of contradicting itself. */
static void say_read_again(const struct st_change *change, struct stet_answer *answer) {
	const char *sentence =
		" Please read the file again, or go by the change below, which counts as read.";
	if (answer->diff_truncated)
		sentence = " Please read the file again; the change below is cut.";
	else if (change->kind == ST_CHANGE_WHOLE && !change->remove)
		sentence = " The change below counts as read.";
	else if (change->kind == ST_CHANGE_LINES)
		sentence =
			" Please read the file again, or go by the change below, which counts as read; line "
			"numbers may have moved.";
	st_buf_adds(&answer->message, sentence);
}

/*
 * Show what changed since the session's version. What is shown counts as seen,
 * so that the same call made again succeeds.
 */
static int show_change(struct stet_session *session, const struct st_change *change,
                       const char *path, struct st_seen *seen, const struct st_file *file,
                       struct st_str new, struct stet_answer *answer, struct stet_error *err) {
	struct st_blob *base = st_workspace_base(session->ws, &seen->version.hash);
	if (!base) {
		st_buf_adds(&answer->message, " Please read the file again.");
		return !answer->message.failed && st_session_record(session, change->path, path, file)
		           ? 0
		           : st_fail_nomem(err);
	}
	st_auto(st_diff_report) report = {0};
	st_auto(st_diff) diff = {0};
	struct st_str old = st_strn(base->bytes, base->len), now = st_buf_str(&file->bytes);
	int code = st_diff_init(&diff, old, now, err);
	if (code == 0)
		code = st_session_diff_of(session, path, &diff, answer, &report, err);
	if (code == 0)
		say_read_again(change, answer);
	if (code == 0)
		code = say_matches(change, file, answer, err);
	bool writes = change->kind == ST_CHANGE_WHOLE && !change->remove;
	if (code == 0 && writes && !report.truncated)
		say_lacking(seen, &diff, new, answer);
	if (code == 0 && answer->message.failed)
		code = st_fail_nomem(err);
	/* Last, since only an answer that is complete and wanted reaches the caller. */
	if (code == 0)
		code = st_cancel_look(err);
	if (code == 0) {
		follow(session, seen, &diff, file, &report);
		st_session_led(session, change->path, path);
		seen->asked = !report.truncated;
		seen->overtaken |= writes;
		/* One refusal is enough where both would be said. */
		seen->warned |= writes;
	}
	st_blob_put(base);
	return code;
}

/* What is missing, and how to get it. */
static void say_unseen(const struct st_seen *seen, struct stet_answer *answer) {
	if (seen && seen->lines.count > 0) {
		st_buf_adds(&answer->message, " Not sent to you so far: ");
		size_t lines = st_seen_missing(seen, &answer->message);
		st_buf_addf(&answer->message, ". Read %s first.", st_plural(lines, "it", "them"));
	} else {
		st_buf_adds(&answer->message, " Read it first.");
	}
}

/* How much of a long file a write would drop, and that it may. */
static void say_drops(const struct st_file *file, size_t dropped, struct stet_answer *answer) {
	st_buf_addf(&answer->message,
	            " The new content lacks %zu of its %zu lines. Write again if that is meant.",
	            dropped, st_line_count(st_buf_str(&file->bytes)));
}

/* The same call cannot succeed by itself where the hash is wrong. */
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
	if (change->remove)
		sentence = " There is nothing left to delete.";
	else if (change->kind == ST_CHANGE_WHOLE)
		sentence = change->expected_hash.ptr
		               ? " To create it anew, write again without expectedHash."
		               : " To create it anew, write again.";
	st_buf_adds(&answer->message, sentence);
}

/* Fill the answer with a refusal; file is the current version, NULL if there is none. */
static int refuse(struct stet_session *session, const struct st_change *change,
                  struct verdict verdict, const char *path, struct st_seen *seen,
                  const struct st_file *file, struct st_str new, struct stet_answer *answer,
                  struct stet_error *err) {
	const struct refusal *refusal = verdict.refusal;
	answer->status = "conflict";
	answer->reason = refusal->reason;
	int code = st_answer_about(answer, path, file ? &file->hash : NULL, err);
	if (code < 0)
		return code;
	st_buf_clear(&answer->message);
	st_buf_addf(&answer->message, refusal->sentence, st_quoted(change->path));

	bool changed = file && seen && !st_hash_eq(&seen->version.hash, &file->hash);
	if (refusal == &unseen)
		say_unseen(seen, answer);
	else if (refusal == &sessionless)
		st_buf_adds(&answer->message,
		            " Pass a name of your choice as \"session\" to read it and to change it.");
	else if (refusal == &drops)
		say_drops(file, verdict.dropped, answer);
	else if (file)
		say_writer(session, &file->hash, answer);
	if (refusal == &wrong_hash && file)
		say_hash(change, answer, changed);
	if (refusal == &drops)
		seen->warned = true;
	if (changed && change->unshown)
		st_buf_adds(&answer->message, " Please read the file again.");
	else if (changed && refusal != &unseen)
		code = show_change(session, change, path, seen, file, new, answer, err);
	else if (file && (refusal == &wrong_hash || refusal == &modified))
		code = say_matches(change, file, answer, err);
	if (code < 0)
		return code;
	if (!file)
		say_gone(change, answer);
	if (answer->message.failed)
		return st_fail_nomem(err);
	if (!file) {
		st_tracker_forget(&session->tracker, path);
		st_session_unlink(session, change->path);
	}
	return st_fail(err, STET_E_CONFLICT, "%s", answer->message.ptr);
}

/* ---- the judgement ---- */

/* Whether what others did since the session last looked is to be merged. */
static bool merges(const struct st_change *change, const struct st_seen *seen) {
	if (change->merge)
		return true;
	return seen && seen->asked && change->kind == ST_CHANGE_ANCHORED && !change->never_merge;
}

/* What the session must have seen of a version before it may replace or delete all of it. */
static struct verdict judge_whole(const struct stet_session *session,
                                  const struct st_change *change, const struct st_seen *seen,
                                  const struct st_file *file, struct st_str new) {
	/* An empty file holds nothing that could get lost. */
	if (file->bytes.len == 0)
		return (struct verdict){0};
	if (session->stateless)
		return (struct verdict){&sessionless};
	if (!seen || !st_seen_all(seen))
		return (struct verdict){&unseen};
	if (!change->check_drops || change->remove || seen->warned)
		return (struct verdict){0};
	size_t dropped = drops_most(st_buf_str(&file->bytes), new);
	return (struct verdict){dropped > 0 ? &drops : NULL, dropped};
}

/* Whether the session may change this version. 0 with the verdict, or a failure. */
static int judge(struct stet_session *session, const struct st_change *change,
                 const struct st_seen *seen, const struct st_file *file, struct st_str new,
                 struct verdict *verdict, struct stet_error *err) {
	bool whole = change->kind == ST_CHANGE_WHOLE;
	*verdict = (struct verdict){0};
	if (change->expected_hash.ptr) {
		int matches = st_hash_matches(&file->hash, change->expected_hash, err);
		if (matches < 0)
			return matches;
		if (!matches)
			verdict->refusal = &wrong_hash;
		/* A hash comes with every look at a part of a file: it does not prove that all was seen. */
		if (!matches || !whole || change->hash_proves)
			return 0;
	}
	/* Where nothing will be written, nothing can get lost. */
	if (whole && !change->remove && st_str_eq(new, st_buf_str(&file->bytes)))
		return 0;
	if (seen && !st_hash_eq(&seen->version.hash, &file->hash))
		verdict->refusal = &modified;
	else if (whole)
		*verdict = judge_whole(session, change, seen, file, new);
	else if (!seen && session->ws->require_read && change->kind != ST_CHANGE_APPEND)
		verdict->refusal = &unread;
	return 0;
}

/* ---- the memory ---- */

/* What the session knows of the lines that it changed itself. */
static enum st_changed own_lines(const struct st_change *change) {
	return change->partly && *change->partly ? ST_CHANGED_PARTLY : ST_CHANGED_SEEN;
}

/* After a merge: from what the session saw to what there is now, of which it was shown the foreign part. */
static void follow_merge(struct stet_session *session, const struct st_change *change,
                         struct st_seen *seen, struct st_str new,
                         const struct stet_answer *answer) {
	struct st_blob *base = st_workspace_base(session->ws, &seen->version.hash);
	if (base)
		st_seen_follow(seen, st_strn(base->bytes, base->len), new, NULL,
		               answer->diff_truncated ? ST_CHANGED_UNSEEN : own_lines(change));
	else
		st_intervals_clear(&seen->lines);
	st_blob_put(base);
}

/* What became of the file, for the state of the work and for undo. */
static void record(struct stet_session *session, const struct st_committed *done,
                   const struct st_file *old) {
	struct st_file_event event = {
		.path = done->path,
		.kind = done->noop ? ST_EVENT_READ : ST_EVENT_WRITTEN,
		.after = done->version,
		.archived = done->archived,
	};
	if (!done->noop)
		st_workspace_wrote(session->ws, &done->version.hash, st_session_who(session));
	if (old) {
		event.before = st_file_version(old);
		if (session->tracks)
			st_bases_put(&session->ws->bases, &old->hash, st_buf_str(&old->bytes));
	}
	st_call_did(session, &event);
}

/*
 * What was replaced stays in memory until the next time: somebody may have
 * spoilt the file on the shelf. Whoever wants it later gets it from there.
 */
static void forget_earlier(struct stet_session *session, const struct st_committed *done,
                           const struct st_file *old, struct st_seen *seen) {
	if (!seen || !done->archived)
		return;
	if (!st_hash_eq(&seen->shelved, &done->version.hash))
		st_bases_drop(&session->ws->bases, &seen->shelved);
	seen->shelved = old->hash;
}

/* ---- what the answer has to say besides ---- */

/* What is lost if somebody below wrote at this very moment. */
static const char *risk(const struct st_committed *done, bool removed) {
	switch (done->way) {
	case ST_COMMIT_VERIFIED:
		return removed ? "What one of them wrote to it in the moment of the removal is lost."
		               : "A version that one of them put there in the moment of the write is lost.";
	case ST_COMMIT_IN_PLACE:
	case ST_COMMIT_CREATED:
		return "What one of them wrote to it in the moment of the write is lost.";
	default:
		return "What one of them still writes to the replaced file is lost after two seconds.";
	}
}

/* Said with every change; why, only with the session's first. */
static void note_unproven(struct stet_session *session, const struct st_committed *done,
                          bool removed, struct stet_answer *answer) {
	if (!done->unproven)
		return;
	st_answer_note(answer, "%s is on %s: others who write below the mount are not noticed. %s%s",
	               st_quoted(done->path), done->unproven, risk(done, removed),
	               session->warned
	                   ? ""
	                   : " On such a filesystem the kernel sees no writers but its own, so "
	                     "every check here reads the bytes again; the moment between the "
	                     "last check and the change stays open.");
	session->warned = true;
}

static void note_commit(struct stet_session *session, const struct st_committed *done,
                        struct stet_answer *answer) {
	note_unproven(session, done, false, answer);
	if (done->overtaken)
		st_answer_note(answer,
		               "%s was written and then changed again by another process. Read it before "
		               "you go on.",
		               st_quoted(done->path));
	if (done->other_names > 0)
		st_answer_note(answer,
		               "%s has %zu other %s (hard links), maybe outside the workspace: the file "
		               "was rewritten in place, so it changed under %s too.",
		               st_quoted(done->path), done->other_names,
		               st_plural(done->other_names, "name", "names"),
		               st_plural(done->other_names, "that one", "those"));
}

/*
 * The session wrote this version, so it has seen what it changed and keeps
 * having seen the rest. That it knew the hash proves no more: hashes come with
 * every look at a part of a file. The file is written: nothing here may fail.
 */
static void remember(struct stet_session *session, const struct st_change *change,
                     struct st_committed *done, const struct st_file *old, struct st_buf *bytes,
                     struct stet_answer *answer) {
	struct st_str new = st_buf_str(bytes);
	bool all = change->kind == ST_CHANGE_WHOLE && !answer->merged;
	struct st_seen *seen = st_tracker_find(&session->tracker, done->path);
	bool merged = seen && answer->merged;
	if (old && !merged && (!seen || !st_hash_eq(&seen->version.hash, &old->hash))) {
		const struct st_version version = st_file_version(old);
		seen = st_tracker_record(&session->tracker, done->path, &version,
		                         st_line_count(st_buf_str(&old->bytes)));
	}
	bool follows = seen && old && !merged && !all && !done->noop;
	if (merged)
		follow_merge(session, change, seen, new, answer);
	else if (follows)
		st_seen_follow(seen, st_buf_str(&old->bytes), new, NULL, own_lines(change));
	size_t total = follows ? seen->total : st_line_count(new);

	struct st_intervals lines = {0};
	if (seen) {
		lines = seen->lines;
		seen->lines = (struct st_intervals){0};
	}
	seen = st_tracker_record(&session->tracker, done->path, &done->version, total);
	if (seen) {
		st_seen_clear_refusals(seen);
		st_intervals_release(&seen->lines);
		seen->lines = lines;
		if (all) {
			/* Of a longer version there may be lines that this one does not have. */
			st_intervals_clear(&seen->lines);
			st_seen_add(seen, 1, total);
		}
	} else {
		st_intervals_release(&lines);
	}
	st_bases_give(&session->ws->bases, &done->version.hash, bytes);
	record(session, done, old);
	st_session_led(session, change->path, done->path);
	forget_earlier(session, done, old, seen);

	answer->noop = done->noop;
	answer->created = done->way == ST_COMMIT_CREATED;
	answer->commit = st_commit_way_name(done->way);
	st_answer_own(answer, done->path, &done->version.hash);
	done->path = NULL;
}

/* ---- the change ---- */

/* Somebody was faster than us: their version is what the session has to look at. */
static int overtaken(struct stet_session *session, const struct st_change *change,
                     const struct st_committed *done, const struct st_file *old, struct st_str new,
                     struct stet_answer *answer, struct stet_error *err) {
	struct st_seen *seen = st_tracker_find(&session->tracker, done->path);
	bool proven = seen || change->expected_hash.ptr;
	if (change->kind == ST_CHANGE_APPEND)
		return AGAIN;
	if ((change->kind != ST_CHANGE_WHOLE && !proven) ||
	    (merges(change, seen) && seen && !done->deleted))
		return AGAIN;
	if (done->deleted)
		return old ? refuse(session, change, (struct verdict){&deleted}, done->path, seen, NULL,
		                    new, answer, err)
		           : AGAIN;
	struct verdict verdict = {!old ? &unseen : change->expected_hash.ptr ? &wrong_hash : &modified};
	return refuse(session, change, verdict, done->path, seen, &done->current, new, answer, err);
}

static int commit(struct stet_session *session, const struct st_change *change,
                  const struct st_file *old, struct st_buf *new, struct stet_answer *answer,
                  struct stet_error *err) {
	struct st_commit request = {
		.path = st_str(change->path),
		.bytes = st_buf_str(new),
		.expected = old ? &old->hash : NULL,
		.old = old ? st_buf_str(&old->bytes) : (struct st_str){0},
		.archive = session->tracks,
		.relaxed = !session->ws->durable,
		.max = session->ws->max_file,
	};
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	int code = st_commit(&session->ws->root, &session->ws->writes, &request, &done, err);
	if (code == STET_E_CONFLICT)
		return overtaken(session, change, &done, old, st_buf_str(new), answer, err);
	if (code < 0)
		return code;
	note_commit(session, &done, answer);
	remember(session, change, &done, old, new, answer);
	return 0;
}

/* The file is gone: the session forgets it, and its bytes stay at hand. */
static int remove_file(struct stet_session *session, const struct st_change *change,
                       const struct st_file *old, struct stet_answer *answer,
                       struct stet_error *err) {
	struct st_commit request = {
		.path = st_str(change->path),
		.expected = &old->hash,
		.relaxed = !session->ws->durable,
		.max = session->ws->max_file,
	};
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	int code = st_remove(&session->ws->root, &session->ws->writes, &request, &done, err);
	if (code == STET_E_CONFLICT)
		return overtaken(session, change, &done, old, st_str(""), answer, err);
	if (code < 0)
		return code;
	st_bases_put(&session->ws->bases, &old->hash, st_buf_str(&old->bytes));
	const struct st_file_event event = {
		.path = done.path, .kind = ST_EVENT_REMOVED, .before = st_file_version(old)};
	st_call_did(session, &event);
	st_tracker_forget(&session->tracker, done.path);
	st_session_unlink(session, change->path);
	note_unproven(session, &done, true, answer);
	st_answer_own(answer, done.path, NULL);
	done.path = NULL;
	return 0;
}

/* ---- merging ---- */

/*
 * Make the change on what the session saw, and merge it with what is there
 * now. The foreign changes go into the answer; they count as seen when the
 * merged version is written, since until then the change may have to be made
 * again from the same base.
 *
 * 0 with the merged bytes in new, UNMERGEABLE, or a failure.
 */
static int merge(struct stet_session *session, const struct st_change *change, const char *path,
                 const struct st_file *file, struct st_str base, struct st_buf *new,
                 struct stet_answer *answer, struct stet_error *err) {
	st_auto(st_buf) ours = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	struct st_str now = st_buf_str(&file->bytes);
	int code = change->make(change->context, base, &ours, err);
	if (code == 0)
		code = st_merge(base, st_buf_str(&ours), now, new, &result, err);
	if (code == STET_E_CONFLICT)
		return UNMERGEABLE;
	if (code == 0)
		code =
			st_session_diff(session, path, st_buf_str(&ours), st_buf_str(new), answer, NULL, err);
	if (code == 0 && change->merged)
		code = change->merged(change->context, now, st_buf_str(new), err);
	if (code == 0)
		answer->merged = true;
	return code;
}

static int merge_or_refuse(struct stet_session *session, const struct st_change *change,
                           const char *path, struct st_seen *seen, const struct st_file *file,
                           struct st_buf *new, struct stet_answer *answer, struct stet_error *err) {
	struct st_blob *base = st_workspace_base(session->ws, &seen->version.hash);
	st_buf_clear(new);
	int code =
		base ? merge(session, change, path, file, st_strn(base->bytes, base->len), new, answer, err)
			 : UNMERGEABLE;
	st_blob_put(base);
	/* Where nobody asked for a merge, a text that is not in what was shown is a question again. */
	if (!change->merge && (code == STET_E_NO_MATCH || code == STET_E_AMBIGUOUS))
		return refuse(session, change, (struct verdict){&modified}, path, seen, file, st_str(""),
		              answer, err);
	if (code == UNMERGEABLE)
		return refuse(session, change, (struct verdict){base ? &overlapping : &modified}, path,
		              seen, file, st_buf_str(new), answer, err);
	return code;
}

/*
 * Add to a file that others changed since the session saw it. That loses
 * nothing; what they changed is shown, as after a merge.
 */
static int append_to_changed(struct stet_session *session, const struct st_change *change,
                             const char *path, const struct st_seen *seen,
                             const struct st_file *file, struct st_buf *new,
                             struct stet_answer *answer, struct stet_error *err) {
	struct st_blob *base = st_workspace_base(session->ws, &seen->version.hash);
	struct st_str now = st_buf_str(&file->bytes);
	int code = change->make(change->context, now, new, err);
	if (code == 0 && base)
		code =
			st_session_diff(session, path, st_strn(base->bytes, base->len), now, answer, NULL, err);
	answer->merged = code == 0 && base;
	st_blob_put(base);
	return code;
}

/* What a change made is not yet what may be written. */
static int check_new(struct stet_session *session, const struct st_change *change,
                     struct st_str new, struct stet_error *err) {
	size_t max = session->ws->max_file;
	if (new.len > max)
		return st_fail(err, STET_E_TOO_BIG,
		               "%s would have %zu bytes; the limit is %zu. Nothing was changed.",
		               st_quoted(change->path), new.len, max);
	if (change->text && memchr(new.ptr, '\0', new.len))
		return st_fail(err, STET_E_BINARY,
		               "The new text holds a NUL character, which would make %s a binary file. "
		               "Nothing was changed.",
		               st_quoted(change->path));
	return 0;
}

/* Without a commit: what would be written; file is NULL if there is none. */
static int rehearse(const struct st_file *file, const char *path, struct st_str new,
                    struct stet_answer *answer, struct stet_error *err) {
	answer->noop = file && st_str_eq(new, st_buf_str(&file->bytes));
	answer->commit = "none";
	return st_answer_about(answer, path, file ? &file->hash : NULL, err);
}

static int fail_absent(struct stet_session *session, const struct st_change *change,
                       struct stet_error *err) {
	int code = st_fail(err, STET_E_NOT_FOUND, "File not found: %s. Check the path%s.",
	                   st_quoted(change->path), change->remove ? "" : ", or write the file first");
	st_nearby_suggest(&session->ws->root, change->path, session->ws->writes.state_dir, err);
	return code;
}

/* There is no such file. */
static int change_absent(struct stet_session *session, const struct st_change *change,
                         const char *path, struct st_buf *new, struct stet_answer *answer,
                         struct stet_error *err) {
	struct st_seen *seen = st_session_seen(session, change->path, path);
	if (seen || change->expected_hash.ptr)
		return refuse(session, change, (struct verdict){&deleted}, path, seen, NULL, st_str(""),
		              answer, err);
	bool makes = change->kind == ST_CHANGE_WHOLE || change->kind == ST_CHANGE_APPEND;
	if (change->remove || !makes)
		return fail_absent(session, change, err);
	int code = change->make(change->context, st_str(""), new, err);
	if (code == 0)
		code = check_new(session, change, st_buf_str(new), err);
	if (code < 0)
		return code;
	if (change->dry_run)
		return rehearse(NULL, path, st_buf_str(new), answer, err);
	return commit(session, change, NULL, new, answer, err);
}

static int change_file(struct stet_session *session, const struct st_change *change,
                       const char *path, struct st_file *file, struct st_buf *new,
                       struct stet_answer *answer, struct stet_error *err) {
	struct st_seen *seen = st_session_seen(session, change->path, path);
	struct verdict verdict = {0};
	bool whole = change->kind == ST_CHANGE_WHOLE;
	bool makes = whole && !change->remove;
	int code = makes ? change->make(change->context, st_buf_str(&file->bytes), new, err) : 0;
	if (code == 0)
		code = judge(session, change, seen, file, st_buf_str(new), &verdict, err);
	if (code < 0)
		return code;
	/* A whole file can be merged only if all of what it was made from had been seen. */
	if (verdict.refusal == &modified && change->kind == ST_CHANGE_APPEND)
		code = append_to_changed(session, change, path, seen, file, new, answer, err);
	else if (verdict.refusal == &modified && merges(change, seen) && (!whole || st_seen_all(seen)))
		code = merge_or_refuse(session, change, path, seen, file, new, answer, err);
	else if (verdict.refusal)
		code = refuse(session, change, verdict, path, seen, file, st_buf_str(new), answer, err);
	else if (!whole)
		code = change->make(change->context, st_buf_str(&file->bytes), new, err);
	if (code == 0)
		code = check_new(session, change, st_buf_str(new), err);
	if (code < 0)
		return code;
	if (change->remove)
		return remove_file(session, change, file, answer, err);
	if (change->dry_run)
		return rehearse(file, path, st_buf_str(new), answer, err);
	return commit(session, change, file, new, answer, err);
}

static int try_change(struct stet_session *session, const struct st_change *change,
                      struct stet_answer *answer, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	st_auto(st_buf) new = ST_BUF_INIT;
	answer->merged = false;
	st_buf_release(&answer->diff);
	int code = st_session_find(session, change->path, &place, &file, err);
	if (change->found && place.path)
		change->found(change->context, place.path);
	if (code == STET_E_NOT_FOUND && place.path)
		return change_absent(session, change, place.path, &new, answer, err);
	if (code == 0 && change->text)
		code = st_check_text(place.path, st_buf_str(&file.bytes), err);
	if (code < 0)
		return code;
	return change_file(session, change, place.path, &file, &new, answer, err);
}

int st_change_apply(struct stet_session *session, const struct st_change *change,
                    struct stet_answer *answer, struct stet_error *err) {
	int code = AGAIN;
	bool appends = change->kind == ST_CHANGE_APPEND;
	int busy = 0, tries = appends ? APPENDS_MAX : TRIES_MAX;
	for (int i = 0; i < tries && code == AGAIN; i++) {
		code = try_change(session, change, answer, err);
		/* A writer that had the file open at every look rests sooner or later. */
		if (code == STET_E_BUSY && appends && ++busy < BUSY_MAX)
			code = AGAIN;
	}
	if (code == AGAIN)
		code = st_fail(err, STET_E_BUSY,
		               "%s was not changed: other processes kept changing it. Try again.",
		               st_quoted(change->path));
	/* A way that was tried and left may have said why. */
	if (code == 0 && err)
		*err = (struct stet_error){0};
	return code;
}

/* ---- write and edit ---- */

/* Run a change; the answer reaches the caller on success and on a refusal. */
static int apply(struct stet_session *session, struct st_change *change, const char *expected_hash,
                 struct stet_answer **out, struct stet_error *err) {
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, false);
	if (out)
		*out = NULL;
	if (expected_hash)
		change->expected_hash = st_str(expected_hash);
	change->unshown = !out;
	change->hash_proves = true;
	struct stet_answer *answer = st_answer_new("success");
	if (!answer)
		return st_fail_nomem(err);
	int code = st_change_apply(session, change, answer, err);
	if (!out || (code < 0 && code != STET_E_CONFLICT)) {
		stet_answer_free(answer);
		return code;
	}
	/* Only now: the notices go with the answer, so somebody has to get it. */
	st_answer_take_notices(answer, &session->ws->writes);
	*out = answer;
	return code;
}

static int make_whole(void *context, struct st_str old, struct st_buf *new,
                      struct stet_error *err) {
	(void)old;
	st_buf_add(new, *(const struct st_str *)context);
	return new->failed ? st_fail_nomem(err) : 0;
}

int stet_session_write(struct stet_session *session, const char *path, const char *content,
                       size_t len, const char *expected_hash, struct stet_answer **out,
                       struct stet_error *err) {
	struct st_str bytes = st_strn(content ? content : "", content ? len : 0);
	struct st_change change = {
		.path = path, .kind = ST_CHANGE_WHOLE, .make = make_whole, .context = &bytes};
	return apply(session, &change, expected_hash, out, err);
}

static int make_edit(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	struct st_edited result;
	return st_edits_apply(old, context, 1, 0, &result, new, NULL, err);
}

int stet_session_edit(struct stet_session *session, const char *path, const char *old_text,
                      size_t old_len, const char *new_text, size_t new_len,
                      const char *expected_hash, struct stet_answer **out, struct stet_error *err) {
	struct st_edit edit = {
		.old_text = st_strn(old_text ? old_text : "", old_text ? old_len : 0),
		.new_text = st_strn(new_text ? new_text : "", new_text ? new_len : 0),
	};
	struct st_change change = {
		.path = path,
		.kind = ST_CHANGE_ANCHORED,
		.anchor = edit.old_text,
		.make = make_edit,
		.context = &edit,
	};
	return apply(session, &change, expected_hash, out, err);
}
