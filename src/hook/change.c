#include "hook/change.h"

#include <stdlib.h>

#include "base/array.h"
#include "text/lines/lines.h"

/* The most files of one patch. */
enum { FILES_MAX = 200 };

void st_hook_changes_release(struct st_hook_changes *changes) {
	while (changes->count > 0)
		free(changes->items[--changes->count].path);
	free(changes->items);
	*changes = (struct st_hook_changes){0};
}

/* Add a change of a file below the root; false if it is none, or memory is short. */
static struct st_hook_change *add_change(const struct st_hook_call *call,
                                         struct st_hook_changes *changes, struct st_str spelled) {
	st_auto(st_buf) path = ST_BUF_INIT;
	if (!st_hook_path(call, spelled, &path) || changes->count == FILES_MAX ||
	    !st_array_room(&changes->items, changes->count, sizeof *changes->items))
		return NULL;
	char *copy = strdup(st_buf_cstr(&path));
	if (!copy)
		return NULL;
	struct st_hook_change *change = &changes->items[changes->count++];
	*change = (struct st_hook_change){.path = copy};
	return change;
}

/* ---- edits and writes ---- */

static void read_edit(const struct st_hook_call *call, struct st_hook_changes *changes) {
	static const char *const old_names[] = {"old_string", "oldString", "old_str", NULL};
	static const char *const new_names[] = {"new_string", "newString", "new_str", NULL};
	yyjson_val *input = call->event->input;
	struct st_hook_change *change = add_change(call, changes, call->event->path);
	if (!change)
		return;
	change->old_text = st_hook_member(input, old_names);
	change->new_text = st_hook_member(input, new_names);
	change->all = yyjson_is_true(yyjson_obj_get(input, "replace_all")) ||
	              yyjson_is_true(yyjson_obj_get(input, "replaceAll")) ||
	              yyjson_is_true(yyjson_obj_get(input, "allow_multiple")) ||
	              st_json_int(yyjson_obj_get(input, "expected_replacements")) > 1;
	/* An empty old text creates the file. */
	if (change->old_text.len == 0) {
		change->whole = true;
		change->content = change->new_text;
	}
	/* MultiEdit has a list of edits: only the agent applies those. */
	change->hunks_only = yyjson_is_arr(yyjson_obj_get(input, "edits"));
	change->whole &= !change->hunks_only;
}

static void read_write(const struct st_hook_call *call, struct st_hook_changes *changes) {
	static const char *const names[] = {"content", "contents", "file_text", NULL};
	struct st_hook_change *change = add_change(call, changes, call->event->path);
	if (!change)
		return;
	change->whole = true;
	change->content = st_hook_member(call->event->input, names);
}

/* ---- Codex's patch ---- */

static bool read_header(struct st_str line, const char *start, struct st_str *rest) {
	struct st_str prefix = st_str(start);
	if (!st_str_starts(line, prefix))
		return false;
	*rest = st_str_trim(st_str_slice(line, prefix.len, line.len));
	return rest->len > 0;
}

/* A line of the patch that names a file. `Move to` replaces a file, too. */
static void read_patch_line(const struct st_hook_call *call, struct st_hook_changes *changes,
                            struct st_str line) {
	struct st_str name;
	struct st_hook_change *change = NULL;
	bool adds =
		read_header(line, "*** Add File: ", &name) || read_header(line, "*** Move to: ", &name);
	bool removes = !adds && read_header(line, "*** Delete File: ", &name);
	bool updates = !adds && !removes && read_header(line, "*** Update File: ", &name);
	if (adds || removes || updates)
		change = add_change(call, changes, name);
	if (!change)
		return;
	change->whole = adds || removes;
	change->removes = removes;
	change->hunks_only = true;
}

static void read_patch(const struct st_hook_call *call, struct st_hook_changes *changes) {
	struct st_str patch = st_hook_patch_text(call->event);
	for (size_t at = 0; at < patch.len;) {
		size_t end = st_line_end(patch, at);
		read_patch_line(call, changes, st_str_slice(patch, at, end));
		at = end;
	}
}

bool st_hook_changes_read(const struct st_hook_call *call, struct st_hook_changes *changes) {
	switch (call->event->tool) {
	case ST_HOOK_EDIT:
		read_edit(call, changes);
		break;
	case ST_HOOK_WRITE:
		read_write(call, changes);
		break;
	case ST_HOOK_PATCH:
		read_patch(call, changes);
		break;
	default:
		break;
	}
	return changes->count > 0;
}

/* Add a text with the byte order mark of the old one, and with its CRLF if all its lines end so. */
static void add_in_form(struct st_buf *out, struct st_str text, struct st_str old) {
	size_t bom = st_bom_len(old);
	struct st_eols eols = st_eols_count(old);
	if (bom > 0 && st_bom_len(text) == 0)
		st_buf_add(out, st_str_slice(old, 0, bom));
	if (eols.crlf > 0 && eols.lf == 0)
		st_eol_convert(out, text, ST_EOL_CRLF);
	else
		st_buf_add(out, text);
}

int st_hook_change_make(const struct st_hook_change *change, struct st_str old, struct st_buf *new,
                        struct stet_error *err) {
	struct st_edited result;
	struct st_edit edit = {change->old_text, change->new_text, change->all};
	if (change->hunks_only && !change->whole)
		/* The judgement does not need the new contents of hunks: they name what they replace. */
		st_buf_add(new, old);
	else if (change->whole && change->keeps_form)
		add_in_form(new, change->content, old);
	else if (change->whole)
		st_buf_add(new, change->content);
	else
		return st_edits_apply(old, &edit, 1, 0, &result, new, NULL, err);
	return new->failed ? st_fail_nomem(err) : 0;
}
