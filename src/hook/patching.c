/* Codex's patch, made by stet with `guard = apply`: all its files as one change set. */
#include <stdlib.h>

#include "core/session/change_set.h"
#include "hook/change.h"
#include "text/apply/hunks.h"
#include "text/diff/unified.h"

/* The most files, and the most bytes of all diffs that the model gets. */
enum { FILES_MAX = 200, DIFFS_MAX = 16 << 10 };

/* One file of the patch. */
struct part {
	struct patching *patching;
	size_t index;
	struct st_buf path;
	struct st_buf diff;
};

struct patching {
	struct st_hook_call *call;
	struct st_file_patches patches;
	struct part *parts;
	struct st_change *changes;
	struct st_change_outcome *outcomes;
	size_t count;
};

static void patching_release(struct patching *patching) {
	for (size_t i = 0; i < patching->count; i++) {
		st_buf_release(&patching->parts[i].path);
		st_buf_release(&patching->parts[i].diff);
	}
	if (patching->outcomes)
		st_change_outcomes_release(patching->outcomes, patching->count);
	free(patching->parts);
	free(patching->changes);
	free(patching->outcomes);
	st_file_patches_release(&patching->patches);
}

static int make_part(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	struct part *part = context;
	struct patching *patching = part->patching;
	st_auto(st_buf) notes = ST_BUF_INIT;
	st_auto(st_diff_report) report = {0};
	struct st_diff_opts opts = ST_DIFF_OPTS(st_buf_cstr(&part->path));
	int code = st_hunks_apply(&patching->patches, part->index, old,
	                          patching->call->session->ws->max_file, new, &notes, NULL, err);
	/* The model wrote the contents of a new file itself. */
	if (code < 0 || old.len == 0)
		return code;
	st_buf_clear(&part->diff);
	opts.max_bytes = DIFFS_MAX / patching->count;
	return st_diff_unified(old, st_buf_str(new), &opts, &part->diff, &report, err);
}

/* Plan one file; false for a file outside the root, and for one that moves. */
static bool plan_part(struct patching *patching, size_t i) {
	const struct st_file_patch *patch = &patching->patches.list[i];
	struct part *part = &patching->parts[i];
	*part =
		(struct part){.patching = patching, .index = i, .path = ST_BUF_INIT, .diff = ST_BUF_INIT};
	patching->count = i + 1;
	if (patch->to || !st_hook_path(patching->call, st_str(patch->path), &part->path))
		return false;
	patching->changes[i] = (struct st_change){
		.path = part->path.ptr,
		.kind = patch->kind == ST_FILE_UPDATE ? ST_CHANGE_ANCHORED : ST_CHANGE_WHOLE,
		.merge = true,
		.check_drops = true,
		.makes_dirs = true,
		.remove = patch->kind == ST_FILE_DELETE,
		.make = make_part,
		.context = part,
	};
	return true;
}

static bool plan_parts(struct patching *patching) {
	size_t count = patching->patches.count;
	if (count == 0 || count > FILES_MAX)
		return false;
	patching->parts = calloc(count, sizeof *patching->parts);
	patching->changes = calloc(count, sizeof *patching->changes);
	patching->outcomes = calloc(count, sizeof *patching->outcomes);
	if (!patching->parts || !patching->changes || !patching->outcomes)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!plan_part(patching, i))
			return false;
	}
	return true;
}

static void say_made(const struct patching *patching) {
	struct st_hook_decision *decision = patching->call->decision;
	st_hook_say(decision,
	            ST_STR("Done by stet: the patch is applied as you asked. Do not repeat the "
	                   "call."));
	for (size_t i = 0; i < patching->count; i++) {
		const struct stet_answer *answer = patching->outcomes[i].answer;
		st_hook_say(decision, st_buf_str(&patching->parts[i].diff));
		if (answer && answer->merged && answer->diff.len > 0) {
			st_hook_say(decision, ST_STR("Merged with what others changed meanwhile:"));
			st_hook_say(decision, st_buf_str(&answer->diff));
		}
	}
	decision->denies = true;
	decision->done = true;
}

static void say_refused(const struct patching *patching, int code, const struct stet_error *why) {
	struct st_hook_decision *decision = patching->call->decision;
	for (size_t i = 0; i < patching->count; i++) {
		const struct st_change_outcome *outcome = &patching->outcomes[i];
		/* While others keep writing to a file, the tool would write over them. */
		if (outcome->code != STET_E_CONFLICT && outcome->code != STET_E_BUSY)
			continue;
		st_hook_say(decision, st_str(outcome->why.message));
		if (outcome->answer)
			st_hook_say(decision, st_buf_str(&outcome->answer->diff));
	}
	if (code == STET_E_BUSY && decision->text.len == 0)
		st_hook_say(decision, st_str(why->message));
	decision->denies = decision->text.len > 0;
}

bool st_hook_patch_make(const struct st_hook_call *call, const struct st_hook_change *change,
                        struct st_str old, struct st_buf *new) {
	st_auto(patching) patching = {0};
	const struct st_file_patches *patches = &patching.patches;
	if (st_file_patches_parse(&patching.patches, st_hook_patch_text(call->event), NULL) < 0)
		return false;
	for (size_t i = 0; i < patches->count; i++) {
		const struct st_file_patch *patch = &patches->list[i];
		st_auto(st_buf) path = ST_BUF_INIT;
		st_auto(st_buf) notes = ST_BUF_INIT;
		if (!patch->to && st_hook_path(call, st_str(patch->path), &path) &&
		    strcmp(path.ptr, change->path) == 0)
			return st_hunks_apply(patches, i, patch->kind == ST_FILE_ADD ? ST_STR("") : old,
			                      ST_FILE_MAX, new, &notes, NULL, NULL) == 0;
	}
	return false;
}

bool st_hook_apply_patch(struct st_hook_call *call) {
	st_auto(patching) patching = {.call = call};
	if (st_file_patches_parse(&patching.patches, st_hook_patch_text(call->event), NULL) < 0 ||
	    !plan_parts(&patching))
		return false;
	struct stet_error why = {0};
	int code = st_change_set_apply(call->session, patching.changes, patching.count,
	                               patching.outcomes, &why);
	if (code == 0)
		say_made(&patching);
	else
		say_refused(&patching, code, &why);
	return call->decision->denies;
}
