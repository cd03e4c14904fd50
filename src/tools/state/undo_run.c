/* A run of writes, undone or redone, for the tool undo. */
#include "base/plural.h"
#include "base/quote.h"
#include "tools/render.h"
#include "tools/state/run_args.h"
#include "tools/state/undo_run.h"

/* How many files a refusal names. */
enum { NAMED_MAX = 10 };

/* One undo, while it goes through the files of a run. */
struct undo {
	struct st_call *call;
	struct st_run run;
	bool dry_run, redo;
	/* It is a dry run because the caller has not seen the lines that it would remove. */
	bool asks;
	yyjson_mut_val *data, *files;
	/* The names of the files that stay as they are, for the message of the refusal. */
	struct st_buf left_names;
	size_t done, unchanged, left, conflicts;
	/* Of a preview: how many files would lose lines that neither it nor a read has sent. */
	size_t unsent;
};

static void undo_release(struct undo *undo) {
	st_run_release(&undo->run);
	st_buf_release(&undo->left_names);
}

/* ---- the answer ---- */

static const char *sentence_of(const struct undo *undo, enum st_run_outcome outcome) {
	switch (outcome) {
	case ST_RUN_RESTORED:
		return undo->redo ? "is what it was before the undo" : "is what it was before these writes";
	case ST_RUN_MERGED:
		return undo->redo ? "has these changes again; the changes of others stay"
		                  : "no longer has these changes; the changes of others stay";
	case ST_RUN_DELETED:
		return undo->redo ? "was deleted again" : "was deleted: it had been created";
	case ST_RUN_RECREATED:
		return undo->redo ? "was created again" : "is there again: it had been deleted";
	case ST_RUN_UNCHANGED:
		return "is already what it was before";
	default:
		return "is left as it is";
	}
}

static const char *preview_of(enum st_run_outcome outcome) {
	switch (outcome) {
	case ST_RUN_RESTORED:
		return "would be what it was before";
	case ST_RUN_MERGED:
		return "would lose these changes; the changes of others would stay";
	case ST_RUN_DELETED:
		return "would be deleted";
	case ST_RUN_RECREATED:
		return "would be there again";
	case ST_RUN_UNCHANGED:
		return "is already what it was before";
	default:
		return "would be left as it is";
	}
}

/* Whether the answer had room for it. */
static bool add_text(struct undo *undo, const char *path, const struct st_run_result *result) {
	struct st_buf *text = &undo->call->text;
	st_auto(st_buf) name = ST_BUF_INIT;
	if (st_call_room(undo->call) < 400)
		return false;
	st_call_spell(undo->call, path, &name);
	st_buf_addf(text, "%s %s%s%s.\n", st_quoted_str(st_buf_str(&name)),
	            undo->dry_run ? preview_of(result->outcome) : sentence_of(undo, result->outcome),
	            result->reason.len > 0 ? ": " : "", st_buf_cstr(&result->reason));
	st_buf_add(text, st_buf_str(&result->diff));
	return true;
}

static void add_data(struct undo *undo, const struct st_run_file *file,
                     const struct st_run_result *result) {
	yyjson_mut_doc *doc = undo->call->doc;
	yyjson_mut_val *item = yyjson_mut_obj(doc);
	char hash[ST_HASH_SHORT + 1];
	st_render_path(undo->call, item, "path", file->path);
	st_json_add_text(doc, item, "outcome", st_str(st_run_outcome_name(result->outcome)));
	st_json_add_size(doc, item, "writes", file->count);
	if (result->reason.len > 0)
		st_json_add_text(doc, item, "reason", st_buf_str(&result->reason));
	st_hash_hex(&result->hash, hash, ST_HASH_SHORT);
	if (result->exists)
		st_json_add_text(doc, item, "fileHash", st_str(hash));
	if (result->diff.len > 0)
		st_json_add_text(doc, item, "diff", st_buf_str(&result->diff));
	if (result->diff_cut)
		st_json_add_true(doc, item, "diffTruncated");
	st_json_push(doc, undo->files, item);
}

/* If one file is meant, the answer describes it as the answer of any change does. */
static void add_single(struct undo *undo, const struct st_run_file *file,
                       const struct st_run_result *result) {
	yyjson_mut_doc *doc = undo->call->doc;
	char hash[ST_HASH_SHORT + 1];
	st_render_path(undo->call, undo->data, "path", file->path);
	st_hash_hex(&result->hash, hash, ST_HASH_SHORT);
	if (result->exists)
		st_json_add_text(doc, undo->data,
		                 st_run_is_left(result->outcome) || undo->asks ? "currentHash" : "fileHash",
		                 st_str(hash));
	if (result->outcome == ST_RUN_DELETED)
		st_json_add_true(doc, undo->data, "deleted");
}

static void name_left(struct undo *undo, const char *path, const struct st_run_result *result) {
	st_auto(st_buf) name = ST_BUF_INIT;
	st_call_spell(undo->call, path, &name);
	undo->left++;
	undo->conflicts += result->outcome == ST_RUN_CONFLICT;
	if (undo->left <= NAMED_MAX)
		st_buf_addf(&undo->left_names, "%s%s (%s)", undo->left > 1 ? ", " : "",
		            st_quoted_str(st_buf_str(&name)), st_buf_cstr(&result->reason));
}

static void count_file(struct undo *undo, const char *path, const struct st_run_result *result) {
	if (st_run_is_left(result->outcome))
		name_left(undo, path, result);
	else if (result->outcome == ST_RUN_UNCHANGED)
		undo->unchanged++;
	else
		undo->done++;
}

/* ---- may it? ---- */

/* A number for the writes of a run, so that a second call about the same ones is known. */
static uint64_t run_digest(const struct st_run *run) {
	uint64_t digest = 14695981039346656037u;
	for (size_t i = 0; i < run->count; i++)
		digest = (digest ^ (uint64_t)run->writes[i]->id) * 1099511628211u;
	return digest;
}

/* Whether the file has lines that were not sent to the session. */
static bool has_unsent(const struct undo *undo, const char *path,
                       const struct st_version *version) {
	const struct st_seen *seen = st_tracker_find(&undo->call->session->tracker, path);
	return version->exists &&
	       !(seen && st_seen_all(seen) && st_hash_eq(&seen->version.hash, &version->hash));
}

/* A session knows what it wrote, but what its undo brought back only if that was shown. */
static bool is_known(const struct undo *undo, const struct st_run_write *write) {
	const struct stet_session *session = undo->call->session;
	return st_session_made(session, write->session, write->at) &&
	       (!write->undoes || write->at == session->shown_undo ||
	        !has_unsent(undo, write->path, &write->after));
}

static bool is_known_run(const struct undo *undo) {
	for (size_t i = 0; i < undo->run.count; i++) {
		if (!is_known(undo, undo->run.writes[i]))
			return false;
	}
	return true;
}

/* Whether the caller must be shown first what goes: lines that others wrote, or an undo brought back, may not have been sent to it. */
static bool needs_preview(const struct undo *undo) {
	const struct stet_session *session = undo->call->session;
	return !session->ws->hash_proves && session->previewed != run_digest(&undo->run) &&
	       !is_known_run(undo);
}

/* ---- the work ---- */

static int undo_file(struct undo *undo, const struct st_run_file *file, struct stet_error *err) {
	st_auto(st_run_result) result = ST_RUN_RESULT_INIT;
	struct st_call *call = undo->call;
	size_t room = st_call_room(call);
	int code = st_run_take_back(call->session, &undo->run, file, undo->dry_run,
	                            room > 1024 ? room - 1024 : 1, &result, err);
	if (code < 0)
		return code;
	count_file(undo, file->path, &result);
	bool is_shown = add_text(undo, file->path, &result) && !result.diff_cut;
	if (!is_shown && !st_run_is_left(result.outcome)) {
		const struct st_version now = {.exists = result.exists, .hash = result.hash};
		undo->unsent += has_unsent(undo, file->path, &now);
	}
	add_data(undo, file, &result);
	if (undo->run.file_count == 1)
		add_single(undo, file, &result);
	return 0;
}

static int undo_files(struct undo *undo, struct stet_error *err) {
	int code = 0;
	for (size_t i = 0; i < undo->run.file_count && code == 0; i++) {
		code = st_call_step(undo->call, i, err);
		if (code == 0)
			code = undo_file(undo, &undo->run.files[i], err);
	}
	return code;
}

/* If something was not taken back, the answer is a refusal that names it. */
static int refuse_left(struct undo *undo, struct stet_error *err) {
	struct st_call *call = undo->call;
	st_auto(st_buf) message = ST_BUF_INIT;
	if (undo->run.file_count == 1) {
		st_buf_addf(&message, "Left as it is: %s.", st_buf_cstr(&undo->left_names));
	} else {
		st_buf_addf(&message, "%zu of %zu files %s %s back. Left as %s: %s", undo->done,
		            undo->run.file_count, st_plural(undo->done, "was", "were"),
		            undo->redo ? "brought" : "taken",
		            st_plural(undo->left, "it is", "they are"), st_buf_cstr(&undo->left_names));
		if (undo->left > NAMED_MAX)
			st_buf_addf(&message, " and %zu more", undo->left - NAMED_MAX);
		st_buf_adds(&message, ".");
	}
	bool conflict = undo->conflicts > 0 || undo->done > 0;
	call->failure = undo->data;
	st_json_add_text(call->doc, undo->data, "status", st_str(conflict ? "conflict" : "error"));
	st_json_add_text(call->doc, undo->data, "message", st_buf_str(&message));
	return st_fail(err, conflict ? STET_E_CONFLICT : STET_E_NOT_FOUND, "%s", st_buf_cstr(&message));
}

static void add_question(const struct undo *undo, struct st_buf *message) {
	st_buf_adds(message, undo->redo ? "Not all that would go was sent to you"
	                                : "Other sessions made these writes");
	if (undo->unsent == 0) {
		st_buf_adds(message,
		            ". The preview below shows what would change; make the same call again "
		            "to do it.");
		return;
	}
	st_buf_adds(message, ", and not all that would go fits into the preview below. ");
	st_buf_adds(message, undo->run.file_count == 1 ? "Read the file first."
	                                               : "Undo one file at a time: add \"path\".");
}

/* The preview is in the answer; if it is complete, the same call again goes through. */
static int ask_first(struct undo *undo, struct stet_error *err) {
	st_auto(st_buf) message = ST_BUF_INIT;
	struct st_call *call = undo->call;
	add_question(undo, &message);
	call->failure = undo->data;
	st_json_add_text(call->doc, undo->data, "status", ST_STR("conflict"));
	st_json_add_text(call->doc, undo->data, "reason", ST_STR("unseen"));
	st_json_add_text(call->doc, undo->data, "message", st_buf_str(&message));
	return st_fail(err, STET_E_CONFLICT, "%s", st_buf_cstr(&message));
}

static int write_answer(struct undo *undo, struct stet_error *err) {
	struct st_call *call = undo->call;
	st_json_add_size(call->doc, undo->data, "takenBack", undo->done);
	st_json_add_size(call->doc, undo->data, "left", undo->left);
	if (undo->dry_run)
		st_json_add_true(call->doc, undo->data, "dryRun");
	if (undo->asks)
		return ask_first(undo, err);
	if (undo->left > 0 && !undo->dry_run)
		return refuse_left(undo, err);
	st_json_add_text(call->doc, undo->data, "status", ST_STR("success"));
	if (st_call_room(call) < 400)
		st_buf_adds(&call->text, "Not all files fit here.\n");
	if (undo->run.file_count > 1)
		st_buf_addf(&call->text, "%zu of %zu files %s%s.\n", undo->done, undo->run.file_count,
		            undo->dry_run ? "would be " : "",
		            undo->redo ? "brought back" : "taken back");
	if (undo->dry_run)
		st_buf_adds(&call->text, "Nothing was changed.\n");
	return 0;
}

/* Of several workspaces, the one that the client changed last; else the first, which the answer says. */
static void choose_last_workspace(struct st_call *call) {
	int64_t newest = 0;
	for (size_t i = 0; i < call->session_count; i++) {
		const struct stet_session *session = call->sessions[i];
		size_t count = session->own_write_count;
		int64_t last = count > 0 ? session->own_writes[(count - 1) % ST_OWN_WRITES] : 0;
		if (last > newest) {
			newest = last;
			call->session = call->sessions[i];
		}
	}
	if (newest == 0)
		st_call_note_roots(call);
}

/* Which writes: those that were named, or the last one of a file or of the session. */
static int find_writes(struct undo *undo, struct st_place *place, struct stet_error *err) {
	struct st_call *call = undo->call;
	struct st_run_query query = {.redo = undo->redo};
	bool named = false;
	int code = st_call_run_query(call, place, &query, &named, err);
	if (code < 0)
		return code;
	query.last = !named;
	query.set = !query.path && (!named || query.id);
	if (!named && !query.path) {
		choose_last_workspace(call);
		/*
		 * Find a session without a name by the file it wrote last, or for a redo by its label
		 * in the log.
		 */
		query.session = undo->redo ? st_session_who(call->session) : call->session->name;
		query.path = query.session ? NULL : call->session->last_wrote;
		if (!query.session && !query.path)
			return st_fail(err, STET_E_NOT_FOUND,
			               "There is no write of this session that can be %s.",
			               undo->redo ? "redone" : "undone");
	}
	return st_run_find(call->session, &query, &undo->run, err);
}

bool st_undo_is_of_set(struct st_call *call) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(undo) undo = {.call = call, .left_names = ST_BUF_INIT};
	return find_writes(&undo, &place, NULL) == 0 && undo.run.file_count > 1;
}

int st_undo_run(struct st_call *call, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(undo) undo = {
		.call = call,
		.dry_run = st_arg_flag(call, "dryRun", false),
		.redo = st_arg_flag(call, "redo", false),
		.data = call->result,
		.left_names = ST_BUF_INIT,
	};
	int code = find_writes(&undo, &place, err);
	if (code < 0)
		return code;
	undo.asks = !undo.dry_run && needs_preview(&undo);
	undo.dry_run |= undo.asks;
	undo.files = st_json_add_array(call->doc, undo.data, "files");
	code = undo_files(&undo, err);
	bool is_shown = code == 0 && undo.unsent == 0;
	if (undo.dry_run)
		call->session->previewed = is_shown ? run_digest(&undo.run) : 0;
	else
		call->session->shown_undo = is_shown ? undo.run.at : 0;
	return code < 0 ? code : write_answer(&undo, err);
}
