/* apply_patch: a patch over several files, all or nothing. */
#include "base/plural.h"
#include "core/session/change_set.h"
#include "text/apply/hunks.h"
#include "text/diff/unified.h"
#include "tools/render.h"

/* What the patch does to one file. */
struct part {
	struct patch_op *op;
	/* Which file of the patch. */
	size_t index;
	const struct st_file_patch *patch;
	/* The paths for the workspace; `to` is NULL unless the file moves. */
	const char *path;
	const char *to;
	/* The path below the root, without links; valid during the change. */
	const char *found;
	/* The file that moves, or that the patch deletes by naming its lines. */
	struct st_place place;
	struct st_file file;
	char hash[ST_HASH_HEX + 1];
	/* The number of the change that makes the new file, or removes it. */
	size_t change;
	/* Why there can be no such change; code 0 if there can. */
	struct stet_error problem;
	struct st_buf diff;
	struct st_buf notes;
	bool truncated;
};

struct patch_op {
	struct st_call *call;
	struct stet_session *session;
	struct st_file_patches patches;
	struct part *parts;
	size_t part_count;
	struct st_change *changes;
	/* The part of each change. */
	struct part **owners;
	struct st_change_outcome *outcomes;
	size_t count;
	bool dry_run;
};

static void patch_op_release(struct patch_op *op) {
	for (size_t i = 0; i < op->part_count; i++) {
		st_place_release(&op->parts[i].place);
		st_file_release(&op->parts[i].file);
		st_buf_release(&op->parts[i].diff);
		st_buf_release(&op->parts[i].notes);
	}
	if (op->outcomes)
		st_change_outcomes_release(op->outcomes, op->count);
	free(op->parts);
	free(op->changes);
	free(op->owners);
	free(op->outcomes);
	st_file_patches_release(&op->patches);
}

/* ---- the new contents ---- */

/* With less room for each diff, an answer has none; with less room for it, it names no more files. */
enum { DIFF_MIN = 256, ROOM_MIN = 400 };

static int show_diff(struct part *part, struct st_str old, struct st_str new,
                     struct stet_error *err) {
	const char *name = part->found ? part->found : part->path;
	st_buf_clear(&part->diff);
	struct st_diff_opts opts = ST_DIFF_OPTS(name);
	if (part->patch->kind == ST_FILE_ADD)
		opts.old_name = NULL;
	if (part->to)
		opts.old_name = part->path;
	/* Leave half of the answer for instructions and for changes of others. */
	size_t share = st_call_room(part->op->call) / 2 / part->op->part_count;
	part->truncated = share < DIFF_MIN;
	if (part->truncated)
		return 0;
	opts.max_bytes = share;
	st_auto(st_diff_report) report = {0};
	int code = st_diff_unified(old, new, &opts, &part->diff, &report, err);
	part->truncated = report.truncated;
	return code;
}

static int make_text(struct part *part, struct st_str old, struct st_buf *new,
                     struct stet_error *err) {
	st_buf_clear(&part->notes);
	return st_hunks_apply(&part->op->patches, part->index, old, part->op->session->ws->max_file,
	                      new, &part->notes, NULL, err);
}

static int make_updated(void *context, struct st_str old, struct st_buf *new,
                        struct stet_error *err) {
	struct part *part = context;
	int code = make_text(part, old, new, err);
	return code < 0 ? code : show_diff(part, old, st_buf_str(new), err);
}

static int describe_merged(void *context, struct st_str current, struct st_str text,
                           struct stet_error *err) {
	return show_diff(context, current, text, err);
}

static int fail_exists(const struct part *part, struct stet_error *err) {
	if (part->to)
		return st_fail(err, STET_E_EXISTS,
		               "%s already exists, and a patch moves no file over another. Nothing was "
		               "changed. Choose another name.",
		               st_quoted(part->to));
	return st_fail(err, STET_E_EXISTS,
	               "%s already exists, but line %zu of the patch creates it. Nothing was changed. "
	               "Make a patch that changes it.",
	               st_quoted(part->path), part->patch->at);
}

static int make_added(void *context, struct st_str old, struct st_buf *new,
                      struct stet_error *err) {
	struct part *part = context;
	/* Others created it since it was looked for. */
	if (part->patch->unified && old.len > 0)
		return fail_exists(part, err);
	int code = make_text(part, old, new, err);
	/* The caller wrote the contents of a new file: a diff would only repeat them. */
	if (code < 0 || (old.len == 0 && !part->op->dry_run))
		return code;
	return show_diff(part, old, st_buf_str(new), err);
}

static int make_moved(void *context, struct st_str old, struct st_buf *new,
                      struct stet_error *err) {
	struct part *part = context;
	struct st_str text = st_buf_str(&part->file.bytes);
	if (old.len > 0)
		return fail_exists(part, err);
	int code = make_text(part, text, new, err);
	return code < 0 ? code : show_diff(part, text, st_buf_str(new), err);
}

static void set_found(void *context, const char *path) {
	struct part *part = context;
	part->found = path;
}

/* ---- the changes ---- */

static enum st_change_mode mode_of(unsigned mode) {
	return mode & 0100 ? ST_MODE_EXECUTABLE : ST_MODE_PLAIN;
}

static struct st_change *add_change(struct part *part, const char *path, enum st_change_kind kind) {
	struct patch_op *op = part->op;
	struct st_change *change = &op->changes[op->count];
	op->owners[op->count++] = part;
	const struct stet_workspace *ws = op->session->ws;
	*change = (struct st_change){
		.path = path,
		.kind = kind,
		.text = true,
		.merge = ws->merge,
		.hash_proves = ws->hash_proves,
		.dry_run = op->dry_run,
		.makes_dirs = kind == ST_CHANGE_WHOLE,
		.partly = &part->truncated,
		.context = part,
	};
	if (part->patch->mode)
		change->mode = mode_of(part->patch->mode);
	return change;
}

/* Load a file whose lines the patch names; links stay with the tools that say what happens to them. */
static int load_named(struct part *part, struct stet_error *err) {
	struct stet_session *session = part->op->session;
	st_auto(st_place) link = ST_PLACE_INIT;
	int code =
		st_root_locate_as(&session->ws->root, st_str(part->path), ST_LOCATE_LINK, &link, err);
	if (code == 0 && link.exists && S_ISLNK(link.st.st_mode))
		return st_fail(
			err, STET_E_KIND,
			"%s is a symbolic link, which a patch neither moves nor deletes. Nothing was "
			"changed. Use the path of its target.",
			st_quoted(part->path));
	if (code == 0)
		code = st_session_load(session, part->path, &part->place, &part->file, err);
	if (code == 0)
		st_hash_hex(&part->file.hash, part->hash, ST_HASH_HEX);
	return code;
}

/* Remove a file, if it still is the version that was loaded. */
static void remove_loaded(struct part *part) {
	struct st_change *change = add_change(part, part->path, ST_CHANGE_WHOLE);
	change->remove = true;
	change->expected_hash = st_str(part->hash);
	change->hash_proves = true;
}

/* A patch neither creates nor moves a file over another, not even over an empty one. */
static int check_free(struct part *part, const char *path, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	if (st_root_locate_as(&part->op->session->ws->root, st_str(path), ST_LOCATE_LINK, &place,
	                      NULL) < 0 ||
	    !place.exists)
		return 0;
	return fail_exists(part, err);
}

static int plan_move(struct part *part, struct stet_error *err) {
	int code = load_named(part, err);
	if (code == 0)
		code = check_free(part, part->to, err);
	if (code < 0)
		return code;
	struct st_change *change = add_change(part, part->to, ST_CHANGE_WHOLE);
	change->make = make_moved;
	change->found = set_found;
	if (!part->patch->mode)
		change->mode = mode_of(part->file.mode);
	remove_loaded(part);
	return 0;
}

/* A diff that deletes a file names all its lines; "*** Delete File" names none. */
static int plan_removal(struct part *part, struct stet_error *err) {
	st_auto(st_buf) left = ST_BUF_INIT;
	int code = load_named(part, err);
	if (code < 0)
		return code;
	if (part->patch->unified) {
		code = make_text(part, st_buf_str(&part->file.bytes), &left, err);
		if (code == 0)
			remove_loaded(part);
		return code;
	}
	add_change(part, part->path, ST_CHANGE_WHOLE)->remove = true;
	return 0;
}

static int plan_update(struct part *part, struct stet_error *err) {
	bool adds = part->patch->kind == ST_FILE_ADD;
	int code = adds && part->patch->unified ? check_free(part, part->path, err) : 0;
	if (code < 0)
		return code;
	struct st_change *change =
		add_change(part, part->path, adds ? ST_CHANGE_WHOLE : ST_CHANGE_ANCHORED);
	change->make = adds ? make_added : make_updated;
	change->check_drops = adds && !change->hash_proves && !change->dry_run;
	change->merged = adds ? NULL : describe_merged;
	change->found = set_found;
	return 0;
}

/* Plan what happens to a file. A problem is reported with those of the other files. */
static void plan_part(struct part *part) {
	part->change = part->op->count;
	int code = part->to                              ? plan_move(part, &part->problem)
	           : part->patch->kind == ST_FILE_DELETE ? plan_removal(part, &part->problem)
	                                                 : plan_update(part, &part->problem);
	if (code < 0)
		add_change(part, part->path, ST_CHANGE_WHOLE)->problem = &part->problem;
}

/* ---- the files of the patch ---- */

static int fail_places(const struct part *part, struct stet_error *err) {
	return st_fail(err, STET_E_INVALID,
	               "Line %zu of the patch: %s is in another workspace than the files before it. "
	               "Nothing was changed. Send a patch for each workspace.",
	               part->patch->at, st_quoted(part->patch->path));
}

/* Find the workspace of a name; all names of a patch must have the same. */
static const char *find_path(struct part *part, const char *name, struct stet_error *err) {
	struct patch_op *op = part->op;
	const char *path = st_call_find(op->call, "A file name in the patch", st_str(name), err);
	if (!path)
		return NULL;
	if (op->session && op->session != op->call->session) {
		fail_places(part, err);
		return NULL;
	}
	op->session = op->call->session;
	return path;
}

static int find_paths(struct patch_op *op, struct stet_error *err) {
	for (size_t i = 0; i < op->patches.count; i++) {
		struct part *part = &op->parts[op->part_count++];
		*part = (struct part){.op = op,
		                      .index = i,
		                      .patch = &op->patches.list[i],
		                      .place = ST_PLACE_INIT,
		                      .file = ST_FILE_INIT};
		part->path = find_path(part, part->patch->path, err);
		if (part->path && part->patch->to)
			part->to = find_path(part, part->patch->to, err);
		if (!part->path || (part->patch->to && !part->to))
			return err->code;
	}
	return 0;
}

static int allocate(struct patch_op *op, struct stet_error *err) {
	size_t count = op->patches.count;
	op->parts = calloc(count, sizeof *op->parts);
	op->changes = calloc(2 * count, sizeof *op->changes);
	op->owners = calloc(2 * count, sizeof *op->owners);
	op->outcomes = calloc(2 * count, sizeof *op->outcomes);
	return op->parts && op->changes && op->owners && op->outcomes ? 0 : st_fail_nomem(err);
}

/* ---- the answer ---- */

/* Add a file's problem to the answer: the data, and for a refusal what others changed. */
static void render_problem(struct st_call *call, yyjson_mut_val *list, const char *path,
                           const char *message, const struct stet_answer *answer) {
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_render_path(call, item, "path", path);
	st_json_add_text(call->doc, item, "message", st_str(message));
	/* Messages and diffs that count as seen come first and have room; later ones need not be there. */
	if (st_call_room(call) >= strlen(message) + ROOM_MIN)
		st_buf_addf(&call->text, "%s\n", message);
	if (answer && answer->reason) {
		st_json_add_text(call->doc, item, "reason", st_str(answer->reason));
		if (answer->has_hash)
			st_json_add_text(call->doc, item, "currentHash", st_str(answer->hash));
		if (answer->diff.len > 0) {
			st_json_add_text(call->doc, item, "diff", st_buf_str(&answer->diff));
			st_buf_add(&call->text, st_buf_str(&answer->diff));
		}
		st_call_instruct_change(call, answer->path);
	}
	st_json_push(call->doc, list, item);
}

static yyjson_mut_val *begin_failure(struct st_call *call, int code) {
	call->failure = yyjson_mut_obj(call->doc);
	st_json_add_text(call->doc, call->failure, "status",
	                 code == STET_E_CONFLICT ? ST_STR("conflict") : ST_STR("error"));
	st_buf_clear(&call->text);
	return st_json_add_array(call->doc, call->failure, "files");
}

static void render_problems(struct patch_op *op, int code, struct stet_error *err) {
	const struct st_change_outcome *only = NULL;
	size_t failed = 0;
	for (size_t i = 0; i < op->count; i++) {
		if (op->outcomes[i].code == 0)
			continue;
		only = &op->outcomes[i];
		failed++;
	}
	if (failed == 0)
		return;
	yyjson_mut_val *list = begin_failure(op->call, code);
	for (size_t i = 0; i < op->count; i++) {
		const struct st_change_outcome *outcome = &op->outcomes[i];
		if (outcome->code != 0)
			render_problem(op->call, list, op->changes[i].path, outcome->why.message,
			               outcome->answer);
	}
	/* One file's own message says more than that a file failed; its text is the diff alone. */
	if (failed == 1) {
		*err = only->why;
		st_buf_clear(&op->call->text);
		if (only->answer)
			st_buf_add(&op->call->text, st_buf_str(&only->answer->diff));
	}
}

static const char *verb_of(const struct part *part, const struct stet_answer *answer) {
	if (part->to)
		return "Moved";
	if (part->patch->kind == ST_FILE_DELETE)
		return "Deleted";
	if (answer->noop && !part->patch->mode)
		return "Unchanged:";
	return part->patch->kind == ST_FILE_ADD ? "Created" : "Updated";
}

static void render_part(struct patch_op *op, const struct part *part, yyjson_mut_val *list) {
	struct st_call *call = op->call;
	const struct stet_answer *answer = op->outcomes[part->change].answer;
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_render_path(call, item, "path", answer->path);
	if (part->to)
		st_json_add_text(call->doc, item, "movedFrom", st_str(part->path));
	if (part->patch->kind == ST_FILE_DELETE)
		st_json_add_true(call->doc, item, "deleted");
	if (answer->has_hash)
		st_json_add_text(call->doc, item, "fileHash", st_str(answer->hash));
	if (part->diff.len > 0)
		st_json_add_text(call->doc, item, "diff", st_buf_str(&part->diff));
	if (part->notes.len > 0)
		st_json_add_text(call->doc, item, "note", st_str_trim(st_buf_str(&part->notes)));
	st_json_push(call->doc, list, item);
}

/* What others changed, which counts as seen, goes below the text, where nothing cuts it. */
static void render_others(struct patch_op *op, const struct part *part) {
	const struct stet_answer *answer = op->outcomes[part->change].answer;
	st_render_merged(op->call, answer);
	for (size_t i = 0; i < answer->notice_count; i++)
		st_call_notice(op->call, answer->notices[i]);
}

/* The line about a file, if it leaves room for the diffs to come. Returns whether it does. */
static bool write_line(struct patch_op *op, const struct part *part, size_t diff_bytes) {
	const struct stet_answer *answer = op->outcomes[part->change].answer;
	st_auto(st_buf) line = ST_BUF_INIT;
	st_buf_addf(&line, "%s %s", verb_of(part, answer), st_quoted(part->path));
	if (part->to)
		st_buf_addf(&line, " to %s", st_quoted(part->to));
	if (answer->has_hash && !op->dry_run)
		st_buf_addf(&line, " (fileHash: %s)", answer->hash);
	st_buf_addf(&line, "\n%s", st_buf_cstr(&part->notes));
	bool fits = st_call_room(op->call) >= line.len + diff_bytes + ROOM_MIN;
	if (fits)
		st_buf_add(&op->call->text, st_buf_str(&line));
	return fits;
}

static void write_parts(struct patch_op *op) {
	struct st_buf *text = &op->call->text;
	size_t unnamed = 0, cut = 0, diff_bytes = 0;
	for (size_t i = 0; i < op->part_count; i++)
		diff_bytes += op->parts[i].diff.len;
	for (size_t i = 0; i < op->part_count; i++) {
		const struct part *part = &op->parts[i];
		unnamed += !write_line(op, part, diff_bytes);
		cut += part->truncated;
		st_buf_add(text, st_buf_str(&part->diff));
		diff_bytes -= part->diff.len;
	}
	if (unnamed > 0)
		st_buf_addf(text, "%zu more %s %s, which the answer has no room to name.\n", unnamed,
		            st_plural(unnamed, "file", "files"),
		            op->dry_run ? "would be changed" : "were changed");
	if (cut > 0)
		st_buf_addf(text, "The diffs of %zu %s do not fit into the answer.\n", cut,
		            st_plural(cut, "file", "files"));
}

static void render_parts(struct patch_op *op) {
	struct st_call *call = op->call;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	if (op->dry_run) {
		st_json_add_true(call->doc, call->result, "dryRun");
		st_buf_adds(&call->text, "Dry run: nothing is changed.\n");
	}
	yyjson_mut_val *list = st_json_add_array(call->doc, call->result, "files");
	for (size_t i = 0; i < op->part_count; i++) {
		render_part(op, &op->parts[i], list);
		render_others(op, &op->parts[i]);
	}
	write_parts(op);
	for (size_t i = 0; i < op->part_count; i++)
		st_call_instruct_change(call, op->outcomes[op->parts[i].change].answer->path);
}

static int run_apply_patch(struct st_call *call, struct stet_error *err) {
	st_auto(patch_op) op = {.call = call, .dry_run = st_arg_flag(call, "dryRun", false)};
	int code = st_file_patches_parse(&op.patches, st_arg_str(call, "patch"), err);
	if (code == 0)
		code = allocate(&op, err);
	if (code == 0)
		code = find_paths(&op, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < op.part_count; i++)
		plan_part(&op.parts[i]);
	code = st_change_set_apply(op.session, op.changes, op.count, op.outcomes, err);
	if (code < 0)
		render_problems(&op, code, err);
	else
		render_parts(&op);
	return code;
}

static const struct st_param params[] = {
	{.name = "patch",
     .aliases = "input diff",
     .required = true,
     .description = "*** Begin Patch ... or a unified diff."},
	{.name = "dryRun",
     .aliases = "dry_run",
     .type = ST_PARAM_BOOLEAN,
     .description = "Only show diffs."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_apply_patch = {
	.name = "apply_patch",
	.title = "Apply a patch",
	.description = "Change, add, move and delete several files, all or nothing.",
	.params = params,
	.output_schema = ST_OUTPUT(
		"\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"path\":{"
		"\"type\":\"string\"},\"movedFrom\":{\"type\":\"string\"},\"deleted\":{\"type\":"
		"\"boolean\"},"
		"\"fileHash\":{\"type\":\"string\"},\"diff\":{\"type\":\"string\"},\"note\":{\"type\":"
		"\"string\"},\"message\":{\"type\":\"string\"},\"reason\":{\"type\":\"string\"},"
		"\"currentHash\":{\"type\":\"string\"}}}},\"dryRun\":{\"type\":\"boolean\"}"),
	.hints = ST_HINT_DESTRUCTIVE,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_DEFAULT,
	.run = run_apply_patch,
};
