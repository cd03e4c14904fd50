/* Taking back the writes of a run to one file; the contract is in core/state/run.h. */
#include <stdarg.h>
#include <stdio.h>

#include "base/cancel.h"
#include "base/plural.h"
#include "base/quote.h"
#include "core/session/change.h"
#include "core/session/change_set.h"
#include "core/state/run.h"
#include "core/state/undo.h"
#include "text/diff/merge.h"

/* How often a file is computed anew because others write to it meanwhile. */
enum { TRIES_MAX = 8 };

/* A version of a file: the current one, or the one to restore. */
struct content {
	bool exists;
	struct st_hash hash;
	struct st_buf bytes;
};

#define CONTENT_INIT \
	{ .bytes = ST_BUF_INIT }

static void content_release(struct content *content) {
	st_buf_release(&content->bytes);
}

/* Writes of the run with nobody in between: from what the first one met to what the last one made. */
struct step {
	const struct st_version *before, *after;
};

const char *st_run_outcome_name(enum st_run_outcome outcome) {
	static const char *const names[] = {
		[ST_RUN_RESTORED] = "restored",     [ST_RUN_MERGED] = "merged",
		[ST_RUN_DELETED] = "deleted",       [ST_RUN_RECREATED] = "recreated",
		[ST_RUN_UNCHANGED] = "unchanged",   [ST_RUN_CONFLICT] = "conflict",
		[ST_RUN_IMPOSSIBLE] = "impossible",
	};
	return names[outcome];
}

void st_run_result_release(struct st_run_result *result) {
	st_buf_release(&result->reason);
	st_buf_release(&result->diff);
}

static void clear_result(struct st_run_result *result) {
	st_buf_clear(&result->reason);
	st_buf_clear(&result->diff);
	result->diff_cut = result->exists = false;
}

/* ---- what is there ---- */

/* A version from the file itself. */
static struct st_blob *read_current(struct stet_workspace *ws, const char *path,
                                    const struct st_hash *hash) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	if (st_workspace_load(ws, st_str(path), ws->max_file, &place, &file, NULL) < 0 ||
	    !st_hash_eq(&file.hash, hash))
		return NULL;
	st_bases_put(&ws->bases, hash, st_buf_str(&file.bytes));
	return st_bases_get(&ws->bases, hash);
}

struct st_blob *st_run_bytes(struct stet_workspace *ws, const char *path,
                             const struct st_hash *hash) {
	struct st_blob *blob = st_workspace_base(ws, hash);
	return blob ? blob : read_current(ws, path, hash);
}

/* Leave the file as it is, for a reason: the rest of a sentence. */
__attribute__((format(printf, 3, 4))) static int
leave_file(struct st_run_result *result, enum st_run_outcome outcome, const char *format, ...) {
	char reason[600];
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
	st_buf_clear(&result->reason);
	st_buf_adds(&result->reason, reason);
	result->outcome = outcome;
	return 0;
}

/* The message is a sentence of its own. */
static int leave_failed(struct st_run_result *result, const struct stet_error *why) {
	size_t len = strlen(why->message);
	return leave_file(result, ST_RUN_IMPOSSIBLE, "%.*s",
	                  (int)(len - (len > 0 && why->message[len - 1] == '.')), why->message);
}

/* 0, or a code with the reason in why. */
static int load_content(struct stet_session *session, const char *path, struct content *content,
                        struct stet_error *why) {
	struct stet_workspace *ws = session->ws;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_workspace_check_type(ws, path, why);
	if (code == 0)
		code = st_file_load(&ws->root, st_str(path), ws->max_file, &place, &file, why);
	if (code < 0 && code != STET_E_NOT_FOUND)
		return code;
	if (place.path && strcmp(place.path, path) != 0)
		return st_fail(why, STET_E_KIND, "it is a link now, or below one");
	content->exists = code == 0;
	content->hash = file.hash;
	st_buf_move(&content->bytes, &file.bytes);
	return 0;
}

static bool is_version(const struct content *content, const struct st_version *version) {
	return content->exists == version->exists &&
	       (!version->exists || st_hash_eq(&content->hash, &version->hash));
}

static bool is_same(const struct content *one, const struct content *two) {
	return one->exists == two->exists && (!one->exists || st_hash_eq(&one->hash, &two->hash));
}

static bool set_bytes(struct content *content, struct st_str bytes) {
	st_buf_clear(&content->bytes);
	st_buf_add(&content->bytes, bytes);
	content->exists = true;
	return !content->bytes.failed && st_hash_of(bytes, &content->hash, NULL) == 0;
}

/* ---- one step ---- */

/* A further return value of a step, besides 0 and a code: the file is left as it is. */
enum { LEFT = 1 };

static int leave_lost(struct st_run_result *result, const char *which) {
	(void)leave_file(result, ST_RUN_IMPOSSIBLE, "%s is no longer kept", which);
	return LEFT;
}

/* No other write came after the step. */
static int put_back(struct stet_workspace *ws, const char *path, const struct step *step,
                    struct content *now, struct st_run_result *result, struct stet_error *err) {
	if (!step->before->exists) {
		st_buf_clear(&now->bytes);
		now->exists = false;
		return 0;
	}
	struct st_blob *blob = st_run_bytes(ws, path, &step->before->hash);
	if (!blob)
		return leave_lost(result, "the version before it");
	bool done = set_bytes(now, st_strn(blob->bytes, blob->len));
	st_blob_put(blob);
	return done ? 0 : st_fail_nomem(err);
}

static void say_lines(char out[64], const struct st_merge_lines *lines) {
	if (lines->count == 0 && lines->start == 0)
		snprintf(out, 64, "deleted the first lines");
	else if (lines->count == 0)
		snprintf(out, 64, "deleted lines after line %zu", lines->start);
	else if (lines->count == 1)
		snprintf(out, 64, "changed line %zu", lines->start + 1);
	else
		snprintf(out, 64, "changed lines %zu-%zu", lines->start + 1, lines->start + lines->count);
}

static int leave_overlap(const struct st_merge_result *merge, struct st_run_result *result) {
	char lines[64], more[48] = "";
	say_lines(lines, &merge->overlaps[0].disk);
	if (merge->overlap_count > 1)
		snprintf(more, sizeof more, ", and %zu more %s", merge->overlap_count - 1,
		         st_plural(merge->overlap_count - 1, "place", "places"));
	(void)leave_file(result, ST_RUN_CONFLICT, "others %s of it since%s", lines, more);
	return LEFT;
}

static bool is_binary(const struct st_blob *blob) {
	return memchr(blob->bytes, '\0', blob->len) != NULL;
}

/* The changes of others since the step are merged with what was there before it. */
static int merge_out(const struct st_blob *made, const struct st_blob *before, struct content *now,
                     struct st_run_result *result, struct stet_error *err) {
	st_auto(st_buf) merged = ST_BUF_INIT;
	st_auto(st_merge_result) merge = {0};
	if (is_binary(made) || is_binary(before) || memchr(now->bytes.ptr, '\0', now->bytes.len)) {
		(void)leave_file(result, ST_RUN_CONFLICT,
		                 "others changed it since, and it is a binary file");
		return LEFT;
	}
	int code = st_merge(st_strn(made->bytes, made->len), st_strn(before->bytes, before->len),
	                    st_buf_str(&now->bytes), &merged, &merge, err);
	if (code == STET_E_CONFLICT)
		return leave_overlap(&merge, result);
	if (code == STET_E_TOO_BIG) {
		(void)leave_file(result, ST_RUN_CONFLICT,
		                 "others changed it since, and it has too many lines");
		return LEFT;
	}
	if (code == 0 && !set_bytes(now, st_buf_str(&merged)))
		code = st_fail_nomem(err);
	result->outcome = ST_RUN_MERGED;
	return code;
}

static int merge_step(struct stet_workspace *ws, const char *path, const struct step *step,
                      struct content *now, struct st_run_result *result, struct stet_error *err) {
	struct st_blob *made = st_run_bytes(ws, path, &step->after->hash);
	struct st_blob *before = made ? st_run_bytes(ws, path, &step->before->hash) : NULL;
	int code;
	if (!made)
		code = leave_lost(result, "others changed it since, and the version that the run made");
	else if (!before)
		code = leave_lost(result, "the version before it");
	else
		code = merge_out(made, before, now, result, err);
	st_blob_put(made);
	st_blob_put(before);
	return code;
}

/* 0 with what is left, LEFT with the reason, or a failure. */
static int take_step(struct stet_workspace *ws, const char *path, const struct step *step,
                     struct content *now, struct st_run_result *result, struct stet_error *err) {
	const char *why = NULL;
	if (is_version(now, step->after))
		return put_back(ws, path, step, now, result, err);
	if (is_version(now, step->before))
		return 0;
	if (!now->exists)
		why = "others deleted it since";
	else if (!step->after->exists)
		why = "others created it anew since";
	else if (!step->before->exists)
		why = "others changed it since it was created";
	if (!why)
		return merge_step(ws, path, step, now, result, err);
	(void)leave_file(result, ST_RUN_CONFLICT, "%s", why);
	return LEFT;
}

/* ---- all steps ---- */

static bool follows_directly(const struct st_run_write *write, const struct st_run_write *earlier) {
	return write->before.exists == earlier->after.exists &&
	       (!write->before.exists || st_hash_eq(&write->before.hash, &earlier->after.hash));
}

/* The newest step goes first. 0, LEFT, or a failure. */
static int take_steps(struct stet_workspace *ws, const struct st_run_file *file,
                      struct content *now, struct st_run_result *result, struct stet_error *err) {
	int code = 0;
	for (size_t end = file->count; end > 0 && code == 0;) {
		size_t first = end - 1;
		while (first > 0 && follows_directly(file->writes[first], file->writes[first - 1]))
			first--;
		const struct step step = {&file->writes[first]->before, &file->writes[end - 1]->after};
		code = take_step(ws, file->path, &step, now, result, err);
		end = first;
	}
	return code;
}

static enum st_run_outcome outcome_of(const struct content *now, const struct content *wanted,
                                      enum st_run_outcome so_far) {
	if (is_same(now, wanted))
		return ST_RUN_UNCHANGED;
	if (!wanted->exists)
		return ST_RUN_DELETED;
	return now->exists ? so_far : ST_RUN_RECREATED;
}

/* ---- writing ---- */

static int make_wanted(void *context, struct st_str old, struct st_buf *new,
                       struct stet_error *err) {
	(void)old;
	const struct content *wanted = context;
	st_buf_add(new, st_buf_str(&wanted->bytes));
	return new->failed ? st_fail_nomem(err) : 0;
}

static void pass_notices(struct stet_session *session, const struct stet_answer *answer) {
	for (size_t i = 0; i < answer->notice_count; i++)
		st_write_notice(&session->ws->writes, "%s", answer->notices[i]);
}

static int apply_change(struct stet_session *session, const struct st_change *change,
                        const struct st_undoing *undoing, struct stet_error *why) {
	struct stet_answer *answer = st_answer_new("success");
	if (!answer)
		return st_fail_nomem(why);
	session->undoing = *undoing;
	int code = st_change_apply(session, change, answer, why);
	session->undoing = (struct st_undoing){0};
	/* No answer has shown the current version to the caller. */
	st_tracker_forget(&session->tracker, change->path);
	pass_notices(session, answer);
	stet_answer_free(answer);
	return code;
}

/* Against the very version that it was computed from. */
static int write_wanted(struct stet_session *session, const struct st_run *run,
                        const struct st_run_file *file, const struct content *now,
                        struct content *wanted, struct stet_error *why) {
	char hex[ST_HASH_HEX + 1];
	st_autofree int64_t *ids = calloc(file->count, sizeof *ids);
	if (!ids)
		return st_fail_nomem(why);
	for (size_t i = 0; i < file->count; i++)
		ids[i] = file->writes[file->count - 1 - i]->id;
	struct st_change change = {
		.path = file->path,
		.kind = ST_CHANGE_WHOLE,
		.hash_proves = true,
		.unshown = true,
		.never_merge = true,
		.make = make_wanted,
		.context = wanted,
		.remove = !wanted->exists,
	};
	st_hash_hex(&now->hash, hex, ST_HASH_HEX);
	if (now->exists)
		change.expected_hash = st_strn(hex, ST_HASH_HEX);
	else
		st_tracker_forget(&session->tracker, file->path);
	int code = now->exists ? 0 : st_undo_make_dirs(session->ws, file->path, why);
	if (code < 0)
		return code;
	code = apply_change(session, &change, &(struct st_undoing){ids, file->count, run->at}, why);
	bool was_removed = code == 0 && !now->exists && file->writes[0]->before.executable;
	return was_removed
	           ? st_change_set_mode(&session->ws->writes, file->path, ST_MODE_EXECUTABLE, why)
	           : code;
}

static int show_difference(const struct st_run_file *file, const struct content *now,
                           const struct content *wanted, size_t max, struct st_run_result *result,
                           struct stet_error *err) {
	st_auto(st_diff_report) report = {0};
	const struct st_diff_opts opts = {
		.old_name = now->exists ? file->path : NULL,
		.new_name = wanted->exists ? file->path : NULL,
		.context = 3,
		.max_bytes = max > 0 ? max : 1,
	};
	int code = st_diff_unified(st_buf_str(&now->bytes), st_buf_str(&wanted->bytes), &opts,
	                           &result->diff, &report, err);
	result->diff_cut = report.truncated;
	return code;
}

/* Whether the call itself has to end. */
static bool is_fatal(int code) {
	return code == STET_E_NOMEM || code == STET_E_CANCELLED;
}

/* Once: 0 with a result, STET_E_CONFLICT if others were faster, or a failure. */
static int try_once(struct stet_session *session, const struct st_run *run,
                    const struct st_run_file *file, bool dry_run, size_t diff_max,
                    struct st_run_result *result, struct stet_error *err) {
	st_auto(content) now = CONTENT_INIT;
	st_auto(content) wanted = CONTENT_INIT;
	struct stet_error why = {0};
	clear_result(result);
	int code = load_content(session, file->path, &now, &why);
	if (is_fatal(code))
		return st_fail(err, code, "%s", why.message);
	if (code < 0)
		return leave_failed(result, &why);
	wanted.exists = now.exists;
	wanted.hash = now.hash;
	st_buf_add(&wanted.bytes, st_buf_str(&now.bytes));
	if (wanted.bytes.failed)
		return st_fail_nomem(err);
	result->outcome = ST_RUN_RESTORED;
	code = take_steps(session->ws, file, &wanted, result, err);
	bool left = code == LEFT;
	const struct content *there = left || dry_run ? &now : &wanted;
	result->exists = there->exists;
	result->hash = there->hash;
	if (code < 0 || left)
		return code < 0 ? code : 0;
	result->outcome = outcome_of(&now, &wanted, result->outcome);
	if (result->outcome == ST_RUN_UNCHANGED)
		return 0;
	if (dry_run)
		return show_difference(file, &now, &wanted, diff_max, result, err);
	code = write_wanted(session, run, file, &now, &wanted, &why);
	if (is_fatal(code) || code == STET_E_CONFLICT)
		return st_fail(err, code, "%s", why.message);
	if (code == 0)
		return 0;
	result->exists = now.exists;
	result->hash = now.hash;
	return leave_failed(result, &why);
}

int st_run_take_back(struct stet_session *session, const struct st_run *run,
                     const struct st_run_file *file, bool dry_run, size_t diff_max,
                     struct st_run_result *result, struct stet_error *err) {
	int code = STET_E_CONFLICT;
	for (int i = 0; i < TRIES_MAX && code == STET_E_CONFLICT; i++) {
		code = st_cancel_check_now(err);
		if (code == 0)
			code = try_once(session, run, file, dry_run, diff_max, result, err);
	}
	if (code == STET_E_CONFLICT)
		return leave_file(result, ST_RUN_CONFLICT, "others keep changing it");
	return code == 0 && result->reason.failed ? st_fail_nomem(err) : code;
}
