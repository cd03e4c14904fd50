#include "core/session/change.h"

#include <assert.h>

#include "base/plural.h"
#include "core/session/conflict.h"
#include "core/session/prepared.h"
#include "core/session/unsent.h"
#include "core/workspace/vault.h"
#include "fs/path/nearby.h"
#include "fs/write/journal.h"
#include "fs/write/remove.h"
#include "text/diff/merge.h"
#include "text/patch/edits.h"

/* How often to start over because another process changed the file first, and because it was busy. */
enum { TRIES_MAX = 64, BUSY_MAX = 4 };

/* Further return values of a step, besides 0 and a code. */
enum { AGAIN = 1, UNMERGEABLE = 2, UNSENT = 3 };

/* ---- after the commit: record the version as seen ---- */

/* Which of the lines that the session changed it has seen. */
static enum st_changed own_lines(const struct st_change_attempt *attempt) {
	const struct st_change *change = attempt->change;
	if (change->restores)
		return change->unshown || attempt->answer->diff_truncated ? ST_CHANGED_UNSEEN
		                                                          : ST_CHANGED_SEEN;
	return change->partly && *change->partly ? ST_CHANGED_PARTLY : ST_CHANGED_SEEN;
}

/* Go from the version that the session saw to the merged one; the answer's diff shows the rest. */
static void follow_merge(const struct st_change_attempt *attempt, struct st_seen *seen,
                         struct st_str new) {
	struct st_blob *base = st_workspace_base(attempt->session->ws, &seen->version.hash);
	if (base)
		st_seen_follow(seen, st_strn(base->bytes, base->len), new, NULL,
		               attempt->answer->diff_truncated ? ST_CHANGED_UNSEEN : own_lines(attempt));
	else
		st_intervals_clear(&seen->lines);
	st_blob_put(base);
}

/* Report the event for the state of the work and for undo. */
static void report_commit(const struct st_change_attempt *attempt,
                          const struct st_committed *done) {
	struct stet_session *session = attempt->session;
	const struct st_file *old = attempt->file;
	struct st_conflict *merged =
		attempt->answer->merged && !done->noop ? st_conflict_of(attempt->answer) : NULL;
	struct st_file_event event = {
		.path = done->path,
		.kind = done->noop ? ST_EVENT_READ : ST_EVENT_WRITTEN,
		.after = done->version,
		.archived = done->archived,
		.conflict = merged,
	};
	if (!done->noop)
		st_workspace_wrote(session->ws, &done->version.hash, st_session_who(session));
	if (old) {
		event.before = st_file_version(old);
		if (session->tracks)
			st_bases_put(&session->ws->bases, &old->hash, st_buf_str(&old->bytes));
	}
	st_session_report(session, &event);
	st_conflict_free(merged);
}

/*
 * Drop the version before the replaced one from memory: fs/versions has it. The
 * replaced version itself stays in memory until the next write, because another
 * process may still have that file open and write to it.
 */
static void forget_earlier(struct stet_session *session, const struct st_committed *done,
                           const struct st_file *old, struct st_seen *seen) {
	if (!seen || !done->archived)
		return;
	assert(old);
	if (!st_hash_eq(&seen->archived, &done->version.hash))
		st_bases_drop(&session->ws->bases, &seen->archived);
	seen->archived = old->hash;
}

/* Whether the session wrote all of the new version itself, or the answer shows all of it. */
static bool knows_all(const struct st_change_attempt *attempt) {
	const struct st_change *change = attempt->change;
	if (change->restores)
		return !attempt->file && !change->unshown && !attempt->answer->diff_truncated;
	return (change->kind == ST_CHANGE_WHOLE || !attempt->file) && !attempt->answer->merged;
}

/*
 * Record what the session has seen of the version it wrote: the lines it
 * changed, and those it had seen before. Returns NULL if memory is short.
 */
static struct st_seen *record_written(const struct st_change_attempt *attempt,
                                      const struct st_committed *done, struct st_str new) {
	struct st_tracker *tracker = &attempt->session->tracker;
	const struct st_file *old = attempt->file;
	bool all = knows_all(attempt);
	struct st_seen *seen = st_tracker_find(tracker, done->path);
	bool merged = seen && attempt->answer->merged;
	/* The session saw another file under this name before. */
	if (seen && !old)
		st_intervals_clear(&seen->lines);
	if (old && !merged && (!seen || !st_hash_eq(&seen->version.hash, &old->hash))) {
		const struct st_version version = st_file_version(old);
		seen = st_tracker_record(tracker, done->path, &version,
		                         st_line_count(st_buf_str(&old->bytes)));
	}
	bool follows = seen && old && !merged && !all && !done->noop;
	if (merged)
		follow_merge(attempt, seen, new);
	else if (follows)
		st_seen_follow(seen, st_buf_str(&old->bytes), new, NULL, own_lines(attempt));
	size_t total = follows ? seen->total : st_line_count(new);

	/* Recording another version clears the lines: carry them over. */
	struct st_intervals lines = {0};
	if (seen) {
		lines = seen->lines;
		seen->lines = (struct st_intervals){0};
	}
	seen = st_tracker_record(tracker, done->path, &done->version, total);
	if (!seen) {
		st_intervals_release(&lines);
		return NULL;
	}
	st_seen_clear_refusals(seen);
	st_intervals_release(&seen->lines);
	seen->lines = lines;
	if (!attempt->change->restores && !done->noop)
		seen->wrote = done->version.hash;
	if (all) {
		st_intervals_clear(&seen->lines);
		st_seen_add(seen, 1, total);
	}
	return seen;
}

/* The file is written: nothing here may fail. */
static void remember(const struct st_change_attempt *attempt, struct st_committed *done) {
	struct stet_session *session = attempt->session;
	struct stet_answer *answer = attempt->answer;
	struct st_seen *seen = record_written(attempt, done, st_buf_str(attempt->new));
	st_bases_give(&session->ws->bases, &done->version.hash, attempt->new);
	report_commit(attempt, done);
	st_session_add_link(session, attempt->change->path, done->path);
	forget_earlier(session, done, attempt->file, seen);

	answer->noop = done->noop;
	answer->created = done->way == ST_COMMIT_CREATED;
	answer->commit = st_commit_way_name(done->way);
	st_answer_own(answer, done->path, &done->version.hash);
	done->path = NULL;
}

/* ---- notices about the commit ---- */

/* Describe the loss if a process below the mount wrote at the same moment. */
static const char *describe_risk(const struct st_committed *done, bool removed) {
	switch (done->way) {
	case ST_COMMIT_VERIFIED:
		return removed ? "If one of them wrote to it at the moment of the removal, that is lost."
		               : "If one of them replaced it at the moment of the write, that version is "
		                 "lost.";
	case ST_COMMIT_IN_PLACE:
	case ST_COMMIT_CREATED:
		return "If one of them wrote to it at the moment of the write, that is lost.";
	default:
		return "If one of them still writes to the replaced file after two seconds, that is lost.";
	}
}

/* Every change says it; only the session's first one explains it. */
static void note_unproven(struct stet_session *session, const struct st_committed *done,
                          bool removed, struct stet_answer *answer) {
	static const char why[] =
		" On such a filesystem the kernel sees no writers but its own, so every check here reads "
		"the "
		"bytes again; the moment between the last check and the change stays open.";
	if (!done->unproven)
		return;
	bool first = st_delivered_add_new_notice(&session->instructions, st_str(why));
	st_answer_note(
		answer, "%s is on %s: stet does not notice others who write below the mount. %s%s",
		st_quoted(done->path), done->unproven, describe_risk(done, removed), first ? why : "");
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

/* ---- the commit ---- */

/* Another process changed the file first: start over, or refuse with its version. */
static int overtaken(const struct st_change_attempt *attempt, const struct st_committed *done,
                     struct stet_error *err) {
	const struct st_change *change = attempt->change;
	struct st_change_attempt now = *attempt;
	now.path = done->path;
	now.seen = st_tracker_find(&attempt->session->tracker, done->path);
	now.file = done->deleted ? NULL : &done->current;
	bool proven = now.seen || change->expected_hash.ptr;
	if (change->kind == ST_CHANGE_APPEND)
		return AGAIN;
	if ((change->kind != ST_CHANGE_WHOLE && !proven) ||
	    (st_change_merges(change, now.seen) && now.seen && !done->deleted))
		return AGAIN;
	struct st_verdict verdict = {ST_REFUSED_MODIFIED};
	if (done->deleted && !attempt->file)
		return AGAIN;
	if (done->deleted)
		verdict.refusal = ST_REFUSED_DELETED;
	else if (!attempt->file)
		verdict.refusal = ST_REFUSED_UNSEEN;
	else if (change->restores)
		verdict.refusal = ST_REFUSED_UNDO;
	else if (change->expected_hash.ptr)
		verdict.refusal = ST_REFUSED_HASH;
	return st_change_refuse(&now, verdict, err);
}

/* Replace or create the file. */
static int commit_new(const struct st_change_attempt *attempt, struct st_committed *done,
                      struct stet_error *err) {
	struct stet_session *session = attempt->session;
	const struct st_file *old = attempt->file;
	struct st_commit request = {
		.path = st_str(attempt->change->path),
		.bytes = st_buf_str(attempt->new),
		.expected = old ? &old->hash : NULL,
		.old = old ? st_buf_str(&old->bytes) : (struct st_str){0},
		.archive = session->tracks,
		.relaxed = !session->ws->durable,
		.max = session->ws->max_file,
	};
	return st_commit(&session->ws->root, &session->ws->writes, &request, done, err);
}

static int remove_file(const struct st_change_attempt *attempt, struct st_committed *done,
                       struct stet_error *err) {
	struct stet_session *session = attempt->session;
	struct st_commit request = {
		.path = st_str(attempt->change->path),
		.expected = &attempt->file->hash,
		.relaxed = !session->ws->durable,
		.max = session->ws->max_file,
	};
	return st_remove(&session->ws->root, &session->ws->writes, &request, done, err);
}

/* The session forgets the removed file, and its bytes stay in memory for undo. */
static void remember_removed(const struct st_change_attempt *attempt, struct st_committed *done) {
	struct stet_session *session = attempt->session;
	const struct st_file *old = attempt->file;
	assert(old);
	st_bases_put(&session->ws->bases, &old->hash, st_buf_str(&old->bytes));
	const struct st_file_event event = {
		.path = done->path, .kind = ST_EVENT_REMOVED, .before = st_file_version(old)};
	st_session_report(session, &event);
	st_tracker_forget(&session->tracker, done->path);
	st_session_drop_link(session, attempt->change->path);
	note_unproven(session, done, true, attempt->answer);
	st_answer_own(attempt->answer, done->path, NULL);
	done->path = NULL;
}

int st_prepared_write(const struct st_prepared *prepared, struct st_committed *done,
                      struct stet_error *err) {
	const struct st_change_attempt *attempt = &prepared->attempt;
	return (attempt->change->remove ? remove_file : commit_new)(attempt, done, err);
}

void st_prepared_remember(const struct st_prepared *prepared, struct st_committed *done) {
	const struct st_change_attempt *attempt = &prepared->attempt;
	if (attempt->change->remove) {
		remember_removed(attempt, done);
		return;
	}
	note_commit(attempt->session, done, attempt->answer);
	remember(attempt, done);
}

/* ---- merging ---- */

/*
 * Make the change on `base`, the version that the session saw, and merge the
 * result with the current version. The answer shows what others changed. That
 * counts as seen only once the merged version is written: until then the change
 * may have to start over from the same base.
 *
 * Returns 0 with the merged bytes in attempt->new, or with a refusal in `verdict`,
 * UNMERGEABLE, UNSENT if the change would remove lines that the caller does not
 * know, or a code.
 */
static int merge(const struct st_change_attempt *attempt, struct st_str base,
                 struct st_verdict *verdict, struct stet_error *err) {
	const struct st_change *change = attempt->change;
	st_auto(st_buf) ours = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	struct st_str now = st_buf_str(&attempt->file->bytes);
	st_auto(st_buf) names = ST_BUF_INIT;
	int code = change->make(change->context, base, &ours, err);
	if (code == 0 && st_unsent_find(change, attempt->seen, base, st_buf_str(&ours), &names) > 0)
		return UNSENT;
	if (code == 0 && change->kind == ST_CHANGE_WHOLE)
		*verdict = st_change_judge_loss(attempt, base, st_buf_str(&ours));
	if (code == 0 && verdict->refusal != ST_NOT_REFUSED)
		return 0;
	if (code == 0)
		code = st_merge(base, st_buf_str(&ours), now, attempt->new, &result, err);
	if (code == STET_E_CONFLICT)
		return UNMERGEABLE;
	if (code == 0)
		code = st_session_diff(attempt->session, attempt->path, st_buf_str(&ours),
		                       st_buf_str(attempt->new), attempt->answer, NULL, err);
	if (code == 0 && change->merged)
		code = change->merged(change->context, now, st_buf_str(attempt->new), err);
	if (code == 0)
		attempt->answer->merged = true;
	return code;
}

static int merge_or_refuse(const struct st_change_attempt *attempt, struct stet_error *err) {
	struct st_blob *base = st_workspace_base(attempt->session->ws, &attempt->seen->version.hash);
	struct st_verdict verdict = {0}, overlap = {base ? ST_REFUSED_OVERLAP : ST_REFUSED_MODIFIED};
	st_buf_clear(attempt->new);
	int code = base ? merge(attempt, st_strn(base->bytes, base->len), &verdict, err) : UNMERGEABLE;
	st_blob_put(base);
	if (verdict.refusal != ST_NOT_REFUSED)
		return st_change_refuse(attempt, verdict, err);
	if (code == UNSENT)
		return st_change_refuse(attempt, (struct st_verdict){ST_REFUSED_MODIFIED}, err);
	/* The caller did not ask for a merge, and its text is not in the version it was shown. */
	if (!attempt->change->merge && (code == STET_E_NO_MATCH || code == STET_E_AMBIGUOUS))
		return st_change_refuse(attempt, (struct st_verdict){ST_REFUSED_MODIFIED}, err);
	return code == UNMERGEABLE ? st_change_refuse(attempt, overlap, err) : code;
}

/* Append to a file that others changed. That loses nothing; the answer shows what they changed. */
static int append_to_changed(const struct st_change_attempt *attempt, struct stet_error *err) {
	const struct st_change *change = attempt->change;
	struct st_blob *base = st_workspace_base(attempt->session->ws, &attempt->seen->version.hash);
	struct st_str now = st_buf_str(&attempt->file->bytes);
	int code = change->make(change->context, now, attempt->new, err);
	if (code == 0 && base)
		code = st_session_diff(attempt->session, attempt->path, st_strn(base->bytes, base->len),
		                       now, attempt->answer, NULL, err);
	attempt->answer->merged = code == 0 && base;
	st_blob_put(base);
	return code;
}

/* ---- one attempt ---- */

/* Check that the new contents may be written. */
static int check_new(const struct st_change_attempt *attempt, struct stet_error *err) {
	const struct st_change *change = attempt->change;
	struct st_str new = st_buf_str(attempt->new);
	size_t max = attempt->session->ws->max_file;
	if (new.len > max)
		return st_fail(err, STET_E_TOO_BIG,
		               "%s would have %zu bytes; the limit is %zu. Nothing was changed.",
		               st_quoted(change->path), new.len, max);
	if (change->text && memchr(new.ptr, '\0', new.len))
		return st_fail(err, STET_E_BINARY,
		               "The new text holds a NUL character, which would make %s a binary file. "
		               "Nothing was changed.",
		               st_quoted(change->path));
	if (!attempt->file || change->remove || change->restores)
		return 0;
	return st_vault_check_change(attempt->session->ws, attempt->path,
	                             st_buf_str(&attempt->file->bytes), new, err);
}

int st_prepared_show(const struct st_prepared *prepared, struct stet_error *err) {
	const struct st_change_attempt *attempt = &prepared->attempt;
	const struct st_file *file = attempt->file;
	attempt->answer->noop = !attempt->change->remove && file &&
	                        st_str_eq(st_buf_str(attempt->new), st_buf_str(&file->bytes));
	attempt->answer->commit = "none";
	return st_answer_about(attempt->answer, attempt->path, file ? &file->hash : NULL, err);
}

/* Check that what exists of the directories of a path are directories. */
static int check_dirs(const struct st_root *root, const char *path, struct stet_error *err) {
	for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
		st_auto(st_place) place = ST_PLACE_INIT;
		struct st_str dir = st_strn(path, (size_t)(end - path));
		int code = st_root_locate_as(root, dir, ST_LOCATE_DIR, &place, err);
		if (code < 0 || !place.exists)
			return code == STET_E_NOT_FOUND ? 0 : code;
		if (!S_ISDIR(place.st.st_mode))
			return st_fail(err, STET_E_KIND,
			               "%s is not a directory, so %s cannot be created in it.",
			               st_quoted(place.path), st_quoted(path));
	}
	return 0;
}

/* The directories of a new file are missing, too: its path is as the caller spelled it. */
static int name_new_place(struct stet_session *session, const struct st_change *change,
                          struct st_place *place, struct stet_error *err) {
	const struct stet_workspace *ws = session->ws;
	const char *plain = st_root_plain(&ws->root, change->path);
	if (!plain)
		return STET_E_NOT_FOUND;
	int code = st_workspace_check_type(ws, plain, err);
	if (code == 0)
		code = check_dirs(&ws->root, plain, err);
	if (code < 0)
		return code;
	place->path = strdup(plain);
	return place->path ? STET_E_NOT_FOUND : st_fail_nomem(err);
}

static int fail_absent(struct stet_session *session, const struct st_change *change,
                       struct stet_error *err) {
	int code = st_fail(err, STET_E_NOT_FOUND, "File not found: %s. Check the path.",
	                   st_quoted(change->path));
	st_nearby_suggest(&session->ws->root, change->path, session->ws->writes.state_dir, err);
	return code;
}

/* Show the difference that a restored version makes, if it is text. */
static int show_restored(const struct st_change_attempt *attempt, struct stet_error *err) {
	struct stet_answer *answer = attempt->answer;
	struct st_str old = attempt->file ? st_buf_str(&attempt->file->bytes) : st_str("");
	struct st_str new = st_buf_str(attempt->new);
	if (!attempt->change->restores || attempt->change->remove)
		return 0;
	answer->diff_truncated = memchr(old.ptr, 0, old.len) || memchr(new.ptr, 0, new.len);
	return answer->diff_truncated
	           ? 0
	           : st_session_diff(attempt->session, attempt->path, old, new, answer, NULL, err);
}

/*
 * Decide whether the session may change the current version. For a whole-file
 * write, the new contents must have been made. Returns 0 with the verdict, or
 * STET_E_INVALID (the expected hash is no hash).
 */
static int judge_change(const struct st_change_attempt *attempt, struct st_verdict *verdict,
                        struct stet_error *err) {
	const struct st_change *change = attempt->change;
	const struct st_seen *seen = attempt->seen;
	const struct st_file *file = attempt->file;
	assert(file);
	bool whole = change->kind == ST_CHANGE_WHOLE;
	*verdict = (struct st_verdict){0};
	if (change->expected_hash.ptr) {
		int matches = st_hash_matches(&file->hash, change->expected_hash, err);
		if (matches < 0)
			return matches;
		if (!matches)
			verdict->refusal = change->restores ? ST_REFUSED_UNDO : ST_REFUSED_HASH;
		/* Reading one line of a file yields its hash: that does not prove that all was seen. */
		if (!matches || !whole || change->hash_proves)
			return 0;
	}
	/* A deleted file is not restored over another one. */
	if (change->restores && !change->expected_hash.ptr) {
		verdict->refusal = ST_REFUSED_UNDO;
		return 0;
	}
	/* A write that changes nothing loses nothing. */
	if (whole && !change->remove && st_str_eq(st_buf_str(attempt->new), st_buf_str(&file->bytes)))
		return 0;
	if (change->restores && !change->remove)
		*verdict = st_unsent_judge(attempt);
	else if (seen && !st_hash_eq(&seen->version.hash, &file->hash))
		verdict->refusal = ST_REFUSED_MODIFIED;
	else if (whole)
		*verdict = st_change_judge_whole(attempt);
	else if (!seen && attempt->session->ws->require_read && change->kind != ST_CHANGE_APPEND)
		verdict->refusal = ST_REFUSED_UNREAD;
	return 0;
}

/* Make the new contents of a part of the file, unless lines would go that the caller does not know. */
static int change_part(const struct st_change_attempt *attempt, struct stet_error *err) {
	const struct st_change *change = attempt->change;
	int code = change->make(change->context, st_buf_str(&attempt->file->bytes), attempt->new, err);
	if (code == 0)
		code = check_new(attempt, err);
	/* Edits that search for text name what they remove. */
	if (code < 0 || (!change->restores && !change->unnamed))
		return code;
	struct st_verdict verdict = st_unsent_judge(attempt);
	return verdict.refusal == ST_NOT_REFUSED ? 0 : st_change_refuse(attempt, verdict, err);
}

/* The file does not exist: create it, if the change can. */
static int change_absent(const struct st_change_attempt *attempt, struct stet_error *err) {
	const struct st_change *change = attempt->change;
	if ((attempt->seen && !change->restores) || change->expected_hash.ptr)
		return st_change_refuse(attempt, (struct st_verdict){ST_REFUSED_DELETED}, err);
	bool creates = change->kind == ST_CHANGE_WHOLE || change->kind == ST_CHANGE_APPEND;
	if (change->remove || !creates)
		return fail_absent(attempt->session, change, err);
	int code = change->make(change->context, st_str(""), attempt->new, err);
	if (code == 0)
		code = show_restored(attempt, err);
	return code < 0 ? code : check_new(attempt, err);
}

static int change_file(const struct st_change_attempt *attempt, struct stet_error *err) {
	const struct st_change *change = attempt->change;
	struct st_str old = st_buf_str(&attempt->file->bytes);
	struct st_verdict verdict = {0};
	bool whole = change->kind == ST_CHANGE_WHOLE;
	int code = whole && !change->remove ? change->make(change->context, old, attempt->new, err) : 0;
	if (code == 0)
		code = judge_change(attempt, &verdict, err);
	if (code < 0)
		return code;
	bool modified = verdict.refusal == ST_REFUSED_MODIFIED;
	/* A whole-file write can be merged only if the session had seen all of the base. */
	if (modified && change->kind == ST_CHANGE_APPEND)
		code = append_to_changed(attempt, err);
	else if (modified && st_change_merges(change, attempt->seen) &&
	         (!whole || st_seen_all(attempt->seen)))
		code = merge_or_refuse(attempt, err);
	else if (verdict.refusal != ST_NOT_REFUSED)
		code = st_change_refuse(attempt, verdict, err);
	else if (!whole)
		code = change_part(attempt, err);
	if (code == 0)
		code = show_restored(attempt, err);
	return code < 0 ? code : check_new(attempt, err);
}

void st_prepared_release(struct st_prepared *prepared) {
	st_place_release(&prepared->place);
	st_file_release(&prepared->file);
	st_buf_release(&prepared->new);
}

int st_prepare(struct stet_session *session, const struct st_change *change,
               struct stet_answer *answer, struct st_prepared *prepared, struct stet_error *err) {
	struct st_place *place = &prepared->place;
	struct st_file *file = &prepared->file;
	answer->merged = false;
	st_buf_release(&answer->diff);
	int code = st_session_find(session, change->path, place, file, err);
	if (code == STET_E_NOT_FOUND && !place->path && change->makes_dirs)
		code = name_new_place(session, change, place, err);
	if (change->found && place->path)
		change->found(change->context, place->path);
	if (place->path && st_path_is_protected(place->path, session->ws->writes.state_dir))
		return st_fail(
			err, STET_E_PROTECTED,
			"%s belongs to git or to stet; writing it is not allowed. Use git itself for it.",
			st_quoted(place->path));
	bool absent = code == STET_E_NOT_FOUND && place->path;
	if (code == 0 && change->text)
		code = st_check_text(place->path, st_buf_str(&file->bytes), err);
	if (code < 0 && !absent)
		return code;
	prepared->attempt = (struct st_change_attempt){
		.session = session,
		.change = change,
		.path = place->path,
		.seen = st_session_seen(session, change->path, place->path),
		.file = absent ? NULL : file,
		.new = &prepared->new,
		.answer = answer,
	};
	return (absent ? change_absent : change_file)(&prepared->attempt, err);
}

static int try_change(struct stet_session *session, const struct st_change *change,
                      struct stet_answer *answer, struct stet_error *err) {
	st_auto(st_prepared) prepared = ST_PREPARED_INIT;
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	int code = st_prepare(session, change, answer, &prepared, err);
	if (code < 0)
		return code;
	if (change->dry_run)
		return st_prepared_show(&prepared, err);
	code = st_prepared_write(&prepared, &done, err);
	if (code == STET_E_CONFLICT)
		return overtaken(&prepared.attempt, &done, err);
	if (code == 0)
		st_prepared_remember(&prepared, &done);
	return code;
}

int st_change_apply(struct stet_session *session, const struct st_change *change,
                    struct stet_answer *answer, struct stet_error *err) {
	int code = AGAIN;
	st_journal_recover(&session->ws->writes);
	bool appends = change->kind == ST_CHANGE_APPEND;
	int busy = 0;
	for (int i = 0; i < TRIES_MAX && code == AGAIN; i++) {
		code = try_change(session, change, answer, err);
		/* Sooner or later, a process that keeps the file open for writing closes it. */
		if (code == STET_E_BUSY && appends && ++busy < BUSY_MAX)
			code = AGAIN;
	}
	if (code == AGAIN)
		code = st_fail(err, STET_E_BUSY,
		               "%s was not changed: other processes kept changing it. Try again.",
		               st_quoted(change->path));
	/* An earlier attempt may have set an error. */
	if (code == 0 && err)
		*err = (struct stet_error){0};
	return code;
}

/* ---- write and edit ---- */

/* Run a change; on success and on a refusal the caller gets the answer. */
static int run_change(struct stet_session *session, struct st_change *change,
                      const char *expected_hash, struct stet_answer **out, struct stet_error *err) {
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
	/* Only now: an answer that the caller does not get must not take the notices. */
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
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	struct st_str bytes = st_strn(content ? content : "", content ? len : 0);
	struct st_change change = {
		.path = path, .kind = ST_CHANGE_WHOLE, .make = make_whole, .context = &bytes};
	return run_change(session, &change, expected_hash, out, err);
}

static int make_edit(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	struct st_edited result;
	return st_edits_apply(old, context, 1, 0, &result, new, NULL, err);
}

int stet_session_edit(struct stet_session *session, const char *path, const char *old_text,
                      size_t old_len, const char *new_text, size_t new_len,
                      const char *expected_hash, struct stet_answer **out, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	struct st_edit edit = {
		.old_text = st_strn(old_text ? old_text : "", old_text ? old_len : 0),
		.new_text = st_strn(new_text ? new_text : "", new_text ? new_len : 0),
		.only_one = true,
	};
	struct st_change change = {
		.path = path,
		.kind = ST_CHANGE_ANCHORED,
		.anchor = edit.old_text,
		.make = make_edit,
		.context = &edit,
	};
	return run_change(session, &change, expected_hash, out, err);
}
