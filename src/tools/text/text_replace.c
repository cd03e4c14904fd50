/* text_replace: search and replace, for changes within a few lines. */
#include <stdio.h>

#include "text/patch/replace.h"

#include "core/state/state.h"
#include "tools/render.h"

struct replace_op {
	struct st_call *call;
	const char *path;
	struct st_replace request;
	/* The result of the last attempt; on the heap because it is large. */
	struct st_replaced *done;
	/* Identifies this edit: path, texts and occurrence, hashed. */
	struct st_hash edit;
	/* The same edit was made before, so there is nothing to do. */
	bool already;
	/* After a merge, the two fields below describe the merged text. */
	bool merged;
	struct st_touched touched;
	struct st_context context;
};

static void replace_op_release(struct replace_op *op) {
	if (op->done)
		st_replaced_release(op->done);
	free(op->done);
	st_context_release(&op->context);
}

static int hash_edit(struct replace_op *op, struct stet_error *err) {
	st_auto(st_buf) key = ST_BUF_INIT;
	st_buf_addf(&key, "%s%c%d %zu %zu%c", op->path, 0, (int)op->request.occurrence.which,
	            op->request.occurrence.number, op->request.old_text.len, 0);
	st_buf_add(&key, op->request.old_text);
	st_buf_add(&key, op->request.new_text);
	return key.failed ? st_fail_nomem(err) : st_hash_of(st_buf_str(&key), &op->edit, err);
}

/* How many of a file's last writes are compared with this edit. */
enum { WRITES_MAX = 32 };

/* A file's last writes from the log, those of other processes included. */
struct past {
	const char *path;
	struct past_write {
		struct st_hash before, after;
	} writes[WRITES_MAX];
	size_t count;
};

static int add_past_write(void *data, const struct st_log_entry *entry, struct stet_error *err) {
	struct past *past = data;
	(void)err;
	const struct st_file_event *write = &entry->event;
	if (write->before.exists && write->after.exists)
		past->writes[past->count++] = (struct past_write){write->before.hash, write->after.hash};
	return 0;
}

static int list_writes(struct st_store *store, void *data, struct stet_error *err) {
	struct past *past = data;
	const struct st_log_query query = {.path = past->path, .undoable = true, .limit = WRITES_MAX};
	past->count = 0;
	return st_store_log_list(store, &query, add_past_write, past, err);
}

/* Whether this edit turns the bytes before a write into the bytes after it. */
static bool is_same_edit(const struct replace_op *op, const struct past_write *write) {
	struct st_blob *before = st_workspace_base(op->call->session->ws, &write->before);
	struct st_replaced *done = before ? calloc(1, sizeof *done) : NULL;
	struct st_hash hash;
	bool same =
		done &&
		st_replace_apply(st_strn(before->bytes, before->len), &op->request, done, NULL) == 0 &&
		st_hash_of(st_buf_str(&done->text), &hash, NULL) == 0 && st_hash_eq(&hash, &write->after);
	if (done)
		st_replaced_release(done);
	free(done);
	st_blob_put(before);
	return same;
}

/* Whether an earlier process made the edit: the log has the write, and the store its bytes. */
static bool was_logged(const struct replace_op *op) {
	struct stet_workspace *ws = op->call->session->ws;
	st_auto(st_place) place = ST_PLACE_INIT;
	struct past past;
	if (ws->state == ST_STATE_NONE || !st_store_exists(&st_state_of(ws)->store) ||
	    st_root_locate(&ws->root, st_str(op->path), &place, NULL) < 0)
		return false;
	past.path = place.path;
	if (st_store_do(&st_state_of(ws)->store, ST_STORE_READ, list_writes, &past, NULL) < 0)
		return false;
	for (size_t i = 0; i < past.count; i++) {
		if (is_same_edit(op, &past.writes[i]))
			return true;
	}
	return false;
}

/* Whether the old text is missing because the same edit was made before, and the new text is there. */
static bool is_applied_already(const struct replace_op *op, struct st_str old) {
	st_auto(st_find) find = {0};
	struct st_span span;
	bool is_there =
		op->request.new_text.len == 0 ||
		(st_find_init(&find, old, op->request.new_text, NULL) == 0 && st_find_next(&find, &span));
	return is_there && (st_workspace_applied(op->call->session->ws, &op->edit) || was_logged(op));
}

static int make_replaced(void *context, struct st_str old, struct st_buf *new,
                         struct stet_error *err) {
	struct replace_op *op = context;
	op->merged = false;
	st_replaced_release(op->done);
	int code = st_replace_apply(old, &op->request, op->done, err);
	op->already = code == STET_E_NO_MATCH && is_applied_already(op, old);
	if (op->already || (code == 0 && op->done->noop)) {
		st_buf_clear(new);
		st_buf_add(new, old);
		return new->failed ? st_fail_nomem(err) : 0;
	}
	if (code == 0)
		st_buf_move(new, &op->done->text);
	return code;
}

static int describe_merged_replace(void *context, struct st_str current, struct st_str text,
                                   struct stet_error *err) {
	struct replace_op *op = context;
	int code = st_merged_lines(current, text, &op->touched.first, &op->touched.last, err);
	if (code < 0)
		return code;
	op->merged = true;
	st_context_release(&op->context);
	return st_context_of_lines(&op->context, text, op->touched.first, op->touched.last, err);
}

static void render_note(struct st_call *call, const struct replace_op *op) {
	const struct st_places *others = &op->done->others;
	st_auto(st_buf) note = ST_BUF_INIT;
	if (op->done->shift.count > 0) {
		st_shift_add(&note, &op->done->shift);
		st_json_add_text(call->doc, call->result, "note", st_buf_str(&note));
		st_buf_addf(&call->text, "%s\n", st_buf_cstr(&note));
		return;
	}
	if (others->total == 0)
		return;
	if (op->merged)
		st_buf_adds(&note, "In the line numbers before the merge: ");
	st_buf_adds(&note,
	            others->total == 1 ? "Another occurrence is at " : "Other occurrences are at ");
	st_places_add(&note, others, 10);
	st_buf_adds(&note, ".");
	st_json_add_text(call->doc, call->result, "note", st_buf_str(&note));
	st_buf_addf(&call->text, "%s\n", st_buf_cstr(&note));
}

static void render_replaced(struct st_call *call, const struct replace_op *op,
                            const struct stet_answer *answer) {
	const struct st_replaced *done = op->done;
	const struct st_touched *touched = op->merged ? &op->touched : &done->touched;
	st_json_add_size(call->doc, call->result, "occurrencesFound", done->found.total);
	st_json_add_size(call->doc, call->result, "occurrencesReplaced", done->replaced);
	if (op->already) {
		st_json_add_true(call->doc, call->result, "alreadyApplied");
		st_buf_addf(&call->text,
		            "This edit of %s was already made before; nothing was changed.\nfileHash: "
		            "%s\n",
		            st_quoted(answer->path), answer->hash);
		return;
	}
	st_render_span(call, call->result, "affectedLines", touched->first, touched->last);
	if (answer->noop)
		st_buf_addf(&call->text, "Nothing to change in %s: oldText and newText are the same.\n",
		            st_quoted(answer->path));
	else
		st_buf_addf(&call->text, "Replaced %zu of %zu in %s, lines %zu-%zu.\n", done->replaced,
		            done->found.total, st_quoted(answer->path), touched->first, touched->last);
	st_buf_addf(&call->text, "fileHash: %s\n", answer->hash);
	st_render_preview(call, st_buf_str(&done->before), st_buf_str(&done->after));
	st_render_context(call, op->merged ? &op->context : &done->context);
	render_note(call, op);
	st_render_merged(call, answer);
}

/* Models send the number both as a number and as a string. */
static int read_occurrence(const struct st_call *call, struct st_occurrence *occurrence,
                           struct stet_error *err) {
	yyjson_val *value = st_arg(call, "occurrence");
	if (!value)
		return 0;
	if (yyjson_is_str(value))
		return st_occurrence_parse(occurrence, st_json_str(value), err);
	if (yyjson_is_real(value) && st_json_is_int(value)) {
		char digits[24];
		snprintf(digits, sizeof digits, "%lld", (long long)st_json_int(value));
		return st_occurrence_parse(occurrence, st_str(digits), err);
	}
	size_t len;
	st_autofree char *word = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, &len);
	return word ? st_occurrence_parse(occurrence, st_strn(word, len), err) : st_fail_nomem(err);
}

static int run_text_replace(struct st_call *call, struct stet_error *err) {
	st_auto(replace_op) op = {.call = call};
	const char *path = st_call_path(call, "filePath", err);
	if (!path)
		return err->code;
	op.path = path;
	op.request.old_text = st_arg_str(call, "oldText");
	op.request.new_text = st_arg_str(call, "newText");
	op.request.max_size = call->session->ws->max_file;
	op.done = calloc(1, sizeof *op.done);
	int code = op.done ? read_occurrence(call, &op.request.occurrence, err) : st_fail_nomem(err);
	if (code == 0)
		code = hash_edit(&op, err);
	if (code < 0)
		return code;

	/* The answer shows only the changed text, not whole lines, so these do not count as seen. */
	const bool partly = true;
	struct st_change change = {
		.path = path,
		.kind = ST_CHANGE_ANCHORED,
		.anchor = op.request.old_text,
		.text = true,
		.partly = &partly,
		.make = make_replaced,
		.merged = describe_merged_replace,
		.context = &op,
	};
	struct stet_answer *answer;
	code = st_call_change(call, &change, "filePath", &answer, err);
	if (code < 0)
		return code;
	render_replaced(call, &op, answer);
	if (!answer->noop)
		st_workspace_apply(call->session->ws, &op.edit);
	stet_answer_free(answer);
	return 0;
}

static const struct st_param params[] = {
	ST_PARAM_FILE_PATH,
	{.name = "oldText",
     .aliases = "old_text old_string oldString oldStr",
     .required = true,
     .description = "The text to find, exactly as in the file."},
	{.name = "newText",
     .aliases = "new_text new_string newString newStr",
     .required = true,
     .description = "What replaces it; empty deletes it."},
	{.name = "occurrence",
     .type = ST_PARAM_ANY,
     .schema = "\"type\":[\"string\",\"integer\"]",
     .description = "first (default), last, all, or a number from 1."},
	ST_PARAM_EXPECTED_HASH,
	ST_PARAM_ON_STALE,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_text_replace = {
	.name = "text_replace",
	.alias = "TextReplace",
	.title = "Replace text",
	.description = "Replace text in a file: for changes within lines, not of whole ones.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"filePath\":{\"type\":\"string\"},\"occurrencesFound\":{\"type\":\"integer\"},"
                  "\"occurrencesReplaced\":{\"type\":\"integer\"},\"affectedLines\":" ST_SCHEMA_SPAN
                  ",\"preview\":" ST_SCHEMA_PREVIEW ",\"context\":" ST_SCHEMA_CONTEXT
                  ",\"fileHash\":{\"type\":\"string\"},\"alreadyApplied\":{\"type\":\"boolean\"}"),
	.hints = ST_HINT_DESTRUCTIVE,
	.group = ST_GROUP_TEXT,
	.listed = ST_LISTED_DEFAULT,
	.run = run_text_replace,
};
