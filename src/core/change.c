#include "core/change.h"

#include <stdio.h>

#include "base/words.h"
#include "core/visit.h"
#include "fs/remove.h"
#include "text/find.h"
#include "text/merge.h"

/* How often a change of unread text starts over because others were faster. */
enum { TRIES_MAX = 16, APPENDS_MAX = 64, BUSY_MAX = 4 };

/* What a step may answer besides 0 and a code. */
enum { AGAIN = 1, UNMERGEABLE = 2 };

/* ---- the refusal ---- */

/* Why a change is refused: the word in the answer and the sentence that opens it. */
struct refusal {
	const char *reason;
	/* Takes the path as the caller spelled it, quoted. */
	const char *sentence;
};

static const struct refusal modified = {
	"modified",
	"File %s was modified since you last read it. Please read the file again.",
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
static const struct refusal unread = {
	"unseen",
	"File %s has not been read in this session. Read it before changing it.",
};
static const struct refusal wrong_hash = {
	"hash",
	"File %s is not the version with the expected hash.",
};

static void say_writer(struct stet_session *session, const struct st_hash *hash,
                       struct stet_answer *answer) {
	if (st_workspace_writer(session->ws, hash, answer->writer) && *answer->writer)
		st_buf_addf(&answer->message, " Session %s wrote the current version.",
		            st_shown(answer->writer));
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
static void follow(struct stet_session *session, struct st_seen *seen, struct st_str base,
                   const struct st_file *file, const struct st_diff_report *report) {
	struct st_str now = st_buf_str(&file->bytes);
	st_seen_follow(seen, base, now, !report->truncated);
	seen->hash = file->hash;
	seen->stamp = file->stamp;
	seen->stamp.racy |= !file->stamped;
	seen->stale = false;
	for (size_t i = 0; i < report->shown_count && report->truncated; i++)
		st_seen_add(seen, report->shown[i].first, report->shown[i].last);
	st_bases_put(&session->ws->bases, &file->hash, now);
}

static void say_how_to_go_on(const struct st_change *change, struct stet_answer *answer) {
	const char *sentence =
		" The diff shows what changed and counts as read: if your change still makes sense, do the "
		"same again.";
	if (answer->diff_truncated)
		sentence = " The diff shows the first of what changed; read the file for the rest.";
	else if (change->kind == ST_CHANGE_LINES)
		sentence =
			" The diff shows what changed and counts as read; line numbers may have moved: check "
			"them, then call again.";
	else if (change->expected_hash.ptr)
		sentence =
			" The diff shows what changed and counts as read: if your change still makes sense, do "
			"the same again with this hash.";
	st_buf_adds(&answer->message, sentence);
}

/*
 * Show what changed since the session's version. What is shown counts as seen,
 * so that the same call made again succeeds.
 */
static int show_change(struct stet_session *session, const struct st_change *change,
                       const char *path, struct st_seen *seen, const struct st_file *file,
                       struct stet_answer *answer, struct stet_error *err) {
	struct st_blob *base = st_workspace_base(session->ws, &seen->hash);
	if (!base) {
		st_buf_adds(&answer->message,
		            " What you read is no longer in memory, so there is no diff.");
		return !answer->message.failed && st_session_meet(session, change->path, path, file) ? 0
		                                                                       : st_fail_nomem(err);
	}
	st_auto(st_diff_report) report = {0};
	struct st_str old = st_strn(base->bytes, base->len);
	int code = st_session_diff(session, path, old, st_buf_str(&file->bytes), answer, &report, err);
	if (code == 0)
		say_how_to_go_on(change, answer);
	if (code == 0 && answer->message.failed)
		code = st_fail_nomem(err);
	/* Last, since only an answer that is complete reaches the caller. */
	if (code == 0) {
		follow(session, seen, old, file, &report);
		st_session_led(session, change->path, path);
	}
	st_blob_put(base);
	return code;
}

/* What is missing, and the two ways out. */
static void say_unseen(const struct stet_session *session, const struct st_seen *seen,
                       struct stet_answer *answer) {
	if (session->stateless) {
		st_buf_addf(
			&answer->message,
			" Nothing is remembered from call to call: %s \"%s\" if this is the version you "
			"read, or read it first.",
			st_word(ST_WORD_PASS_HASH), answer->hash);
		return;
	}
	if (seen && seen->lines.count > 0) {
		st_buf_adds(&answer->message, " Not seen: ");
		st_seen_missing(seen, &answer->message);
		st_buf_adds(&answer->message, ". Read the rest first");
	} else {
		st_buf_adds(&answer->message, " Read it first");
	}
	st_buf_addf(&answer->message, ", or %s \"%s\" if you know this version.",
	            st_word(ST_WORD_PASS_HASH), answer->hash);
}

/* The same call cannot succeed by itself where the hash is wrong, or a text to change is gone. */
static void say_hash(const struct stet_session *session, const struct st_change *change,
                     struct stet_answer *answer, bool changed) {
	st_buf_addf(&answer->message, " Its hash is %s.", answer->hash);
	if (!changed)
		st_buf_addf(&answer->message, " Look at the file again, then %s this one%s.",
		            st_word(ST_WORD_PASS_HASH),
		            session->stateless && change->kind == ST_CHANGE_WHOLE ? "" : ", or none");
}

static void say_gone(const struct st_change *change, struct stet_answer *answer) {
	const char *sentence =
		" There is nothing left to change; write the file anew if it is still wanted.";
	if (change->remove)
		sentence = " There is nothing left to delete.";
	else if (change->kind == ST_CHANGE_WHOLE)
		sentence = change->expected_hash.ptr
		               ? " To create it anew, do the same again without expectedHash."
		               : " To create it anew, do the same again.";
	st_buf_adds(&answer->message, sentence);
}

/* Fill the answer with a refusal; file is the current version, NULL if there is none. */
static int refuse(struct stet_session *session, const struct st_change *change,
                  const struct refusal *refusal, const char *path, struct st_seen *seen,
                  const struct st_file *file, struct stet_answer *answer, struct stet_error *err) {
	answer->status = "conflict";
	answer->reason = refusal->reason;
	int code = st_answer_about(answer, path, file ? &file->hash : NULL, err);
	if (code < 0)
		return code;
	st_buf_clear(&answer->message);
	st_buf_addf(&answer->message, refusal->sentence, st_shown(change->path));

	bool changed = file && seen && !st_hash_eq(&seen->hash, &file->hash);
	if (refusal == &unseen)
		say_unseen(session, seen, answer);
	if (file && refusal != &unseen) {
		say_writer(session, &file->hash, answer);
		if (refusal == &wrong_hash)
			say_hash(session, change, answer, changed);
		code = say_matches(change, file, answer, err);
	}
	if (code == 0 && changed && !change->unshown)
		code = show_change(session, change, path, seen, file, answer, err);
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

/* Whether the session may change this version: 0 and no refusal, or a failure. */
static int judge(struct stet_session *session, const struct st_change *change,
                 const struct st_seen *seen, const struct st_file *file, struct st_str new,
                 const struct refusal **refusal, struct stet_error *err) {
	bool whole = change->kind == ST_CHANGE_WHOLE;
	*refusal = NULL;
	if (change->expected_hash.ptr) {
		int matches = st_hash_matches(&file->hash, change->expected_hash, err);
		if (matches < 0)
			return matches;
		*refusal = matches ? NULL : &wrong_hash;
	} else if (whole && st_str_eq(new, st_buf_str(&file->bytes))) {
		/* Nothing will be written, so nothing can get lost. */
		*refusal = NULL;
	} else if (seen && !st_hash_eq(&seen->hash, &file->hash)) {
		*refusal = &modified;
	} else if (whole) {
		*refusal = seen && st_seen_all(seen) ? NULL : &unseen;
	} else if (!seen && session->ws->require_read && change->kind != ST_CHANGE_APPEND) {
		*refusal = &unread;
	}
	return 0;
}

/* ---- the memory ---- */

/* After a merge: from what the session saw to what there is now, of which it was shown the foreign part. */
static void follow_merge(struct stet_session *session, struct st_seen *seen, struct st_str new,
                         const struct stet_answer *answer) {
	struct st_blob *base = st_workspace_base(session->ws, &seen->hash);
	if (base)
		st_seen_follow(seen, st_strn(base->bytes, base->len), new, !answer->diff_truncated);
	else
		st_intervals_clear(&seen->lines);
	st_blob_put(base);
}

/* What became of the file, for the state of the work and for undo. */
static void record(struct stet_session *session, const struct st_committed *done,
                   const struct st_file *old) {
	struct st_deed deed = {
		.path = done->path,
		.wrote = !done->noop,
		.had = old != NULL,
		.has = true,
		.after = done->hash,
		.shelved = done->shelved,
		.stamp = done->stamp,
	};
	if (!done->noop)
		st_workspace_wrote(session->ws, &done->hash, st_session_who(session));
	if (old) {
		deed.before = old->hash;
		if (session->tracks)
			st_bases_put(&session->ws->bases, &old->hash, st_buf_str(&old->bytes));
	}
	st_visit_did(session, &deed);
}

/*
 * What was replaced stays in memory until the next time: somebody may have
 * spoilt the file on the shelf. Whoever wants it later gets it from there.
 */
static void forget_earlier(struct stet_session *session, const struct st_committed *done,
                           const struct st_file *old, struct st_seen *seen) {
	if (!seen || !done->shelved)
		return;
	if (!st_hash_eq(&seen->shelved, &done->hash))
		st_bases_drop(&session->ws->bases, &seen->shelved);
	seen->shelved = old->hash;
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
	if (old && !merged && (!seen || !st_hash_eq(&seen->hash, &old->hash)))
		seen = st_tracker_meet(&session->tracker, done->path, &old->hash, &old->stamp,
		                       st_line_count(st_buf_str(&old->bytes)));
	bool follows = seen && old && !merged && !all && !done->noop;
	if (merged)
		follow_merge(session, seen, new, answer);
	else if (follows)
		st_seen_follow(seen, st_buf_str(&old->bytes), new, true);
	size_t total = follows ? seen->total : st_line_count(new);

	struct st_intervals lines = {0};
	if (seen) {
		lines = seen->lines;
		seen->lines = (struct st_intervals){0};
	}
	seen = st_tracker_meet(&session->tracker, done->path, &done->hash, &done->stamp, total);
	if (seen) {
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
	st_bases_give(&session->ws->bases, &done->hash, bytes);
	record(session, done, old);
	st_session_led(session, change->path, done->path);
	forget_earlier(session, done, old, seen);

	answer->noop = done->noop;
	answer->created = done->way == ST_COMMIT_CREATED;
	answer->commit = st_commit_way_name(done->way);
	st_answer_own(answer, done->path, &done->hash);
	done->path = NULL;
}

/* ---- the change ---- */

/* Somebody was faster than us: their version is what the session has to look at. */
static int overtaken(struct stet_session *session, const struct st_change *change,
                     const struct st_committed *done, const struct st_file *old,
                     struct stet_answer *answer, struct stet_error *err) {
	struct st_seen *seen = st_tracker_find(&session->tracker, done->path);
	bool proven = seen || change->expected_hash.ptr;
	if (change->kind == ST_CHANGE_APPEND)
		return AGAIN;
	if ((change->kind != ST_CHANGE_WHOLE && !proven) || (change->merge && seen && !done->deleted))
		return AGAIN;
	if (done->deleted)
		return old ? refuse(session, change, &deleted, done->path, seen, NULL, answer, err) : AGAIN;
	const struct refusal *refusal = !old                        ? &unseen
	                                : change->expected_hash.ptr ? &wrong_hash
	                                                            : &modified;
	return refuse(session, change, refusal, done->path, seen, &done->current, answer, err);
}

static int commit(struct stet_session *session, const struct st_change *change, struct st_file *old,
                  struct st_buf *new, struct stet_answer *answer, struct stet_error *err) {
	struct st_commit request = {
		.path = st_str(change->path),
		.bytes = st_buf_str(new),
		.expected = old ? &old->hash : NULL,
		.old = old ? st_buf_str(&old->bytes) : (struct st_str){0},
		.held = old,
		.shelve = session->tracks,
		.relaxed = !session->ws->durable,
		.max = session->ws->max_file,
	};
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	int code = st_commit(&session->ws->root, &session->ws->guard, &request, &done, err);
	if (code == STET_E_CONFLICT)
		return overtaken(session, change, &done, old, answer, err);
	if (code < 0)
		return code;
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
	int code = st_remove(&session->ws->root, &session->ws->guard, &request, &done, err);
	if (code == STET_E_CONFLICT)
		return overtaken(session, change, &done, old, answer, err);
	if (code < 0)
		return code;
	st_bases_put(&session->ws->bases, &old->hash, st_buf_str(&old->bytes));
	st_visit_did(session, &(struct st_deed){
							  .path = done.path, .wrote = true, .had = true, .before = old->hash});
	st_tracker_forget(&session->tracker, done.path);
	st_session_unlink(session, change->path);
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
	struct st_blob *base = st_workspace_base(session->ws, &seen->hash);
	st_buf_clear(new);
	int code =
		base ? merge(session, change, path, file, st_strn(base->bytes, base->len), new, answer, err)
			 : UNMERGEABLE;
	st_blob_put(base);
	if (code == UNMERGEABLE)
		return refuse(session, change, base ? &overlapping : &modified, path, seen, file, answer,
		              err);
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
	struct st_blob *base = st_workspace_base(session->ws, &seen->hash);
	struct st_str now = st_buf_str(&file->bytes);
	int code = change->make(change->context, now, new, err);
	if (code == 0 && base)
		code = st_session_diff(session, path, st_strn(base->bytes, base->len), now, answer, NULL,
		                       err);
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
		               st_shown(change->path), new.len, max);
	if (change->text && memchr(new.ptr, '\0', new.len))
		return st_fail(err, STET_E_BINARY,
		               "The new text holds a NUL character, which would make %s a binary file. "
		               "Nothing was changed.",
		               st_shown(change->path));
	return 0;
}

/* Without a commit: what would be written; file is NULL if there is none. */
static int rehearse(const struct st_file *file, const char *path, struct st_str new,
                    struct stet_answer *answer, struct stet_error *err) {
	answer->noop = file && st_str_eq(new, st_buf_str(&file->bytes));
	answer->commit = "none";
	return st_answer_about(answer, path, file ? &file->hash : NULL, err);
}

/* There is no such file. */
static int change_absent(struct stet_session *session, const struct st_change *change,
                         const char *path, struct st_buf *new, struct stet_answer *answer,
                         struct stet_error *err) {
	struct st_seen *seen = st_session_seen(session, change->path, path);
	if (seen || change->expected_hash.ptr)
		return refuse(session, change, &deleted, path, seen, NULL, answer, err);
	if (change->remove)
		return st_fail(err, STET_E_NOT_FOUND, "There is no file %s. Check the path.",
		               st_shown(change->path));
	if (change->kind != ST_CHANGE_WHOLE && change->kind != ST_CHANGE_APPEND)
		return st_fail(err, STET_E_NOT_FOUND,
		               "There is no file %s. Check the path, or write the file first.",
		               st_shown(change->path));
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
	const struct refusal *refusal = NULL;
	bool whole = change->kind == ST_CHANGE_WHOLE;
	bool makes = whole && !change->remove;
	int code = makes ? change->make(change->context, st_buf_str(&file->bytes), new, err) : 0;
	if (code == 0)
		code = judge(session, change, seen, file, st_buf_str(new), &refusal, err);
	if (code < 0)
		return code;
	/* There is much to be looked up now, and nobody has to wait for that. */
	if (refusal)
		st_file_let_go(file);
	/* A whole file can be merged only if all of what it was made from had been seen. */
	if (refusal == &modified && change->kind == ST_CHANGE_APPEND)
		code = append_to_changed(session, change, path, seen, file, new, answer, err);
	else if (refusal == &modified && change->merge && (!whole || st_seen_all(seen)))
		code = merge_or_refuse(session, change, path, seen, file, new, answer, err);
	else if (refusal)
		code = refuse(session, change, refusal, path, seen, file, answer, err);
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
	bool holds = !change->remove && !change->dry_run && !change->slow;
	int code =
		(holds ? st_session_hold : st_session_load)(session, change->path, &place, &file, err);
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
		               st_shown(change->path));
	/* A way that was tried and left may have said why. */
	if (code == 0 && err)
		*err = (struct stet_error){0};
	return code;
}
