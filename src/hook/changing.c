/*
 * Before an edit, a write or a patch: judge it by the rules of stet's own tools
 * (core/session/change.h), as a dry run, and deny what they refuse. With
 * `guard = apply`, and in place of a tool that stet's plugin replaced, stet
 * makes the change itself, which then cannot race.
 */
#include "hook/change.h"

#include "base/utf8.h"
#include "core/session/change.h"
#include "text/diff/unified.h"
#include "text/lines/lines.h"

/* The most bytes of the diff of a change that stet made itself. */
enum { APPLIED_DIFF = 8 << 10 };

/* ---- the new contents ---- */

static int make_new(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	return st_hook_change_make(context, old, new, err);
}

/* ---- what the agent's own tool would damage ---- */

static bool is_mixed(struct st_str text) {
	struct st_eols eols = st_eols_count(text);
	return eols.lf > 0 && eols.crlf > 0;
}

static bool is_crlf(struct st_str text) {
	struct st_eols eols = st_eols_count(text);
	return eols.crlf > 0 && eols.lf == 0;
}

/* Whether the client's tool turns every CRLF of a file that it writes whole into LF. */
static bool writes_lf(enum st_hook_client client) {
	return client == ST_HOOK_CLAUDE || client == ST_HOOK_CODEX;
}

/* Whether the client's tool writes a file as the model gave it, without the byte order mark of the old one. */
static bool drops_bom(enum st_hook_client client) {
	return client == ST_HOOK_GEMINI || client == ST_HOOK_CODEX;
}

static bool breaks_links(enum st_hook_client client) {
	return client == ST_HOOK_CLAUDE || client == ST_HOOK_QWEN;
}

/* The damage that the tool would do, as the end of a sentence; NULL for none. docs/hooks.md has the table. */
static const char *damage_of(const struct st_hook_call *call, const struct st_hook_change *change,
                             const struct st_file *file) {
	enum st_hook_client client = call->event->client;
	struct st_str old = st_buf_str(&file->bytes);
	if (memchr(old.ptr, '\0', old.len))
		return NULL;
	if (is_mixed(old) && !change->removes)
		return "has LF and CRLF line ends, which this tool would make alike";
	if (change->whole && is_crlf(old) && writes_lf(client) && !change->removes)
		return "has CRLF line ends, which this tool would replace by LF";
	if (!st_utf8_valid(old) && client == ST_HOOK_GEMINI && !change->whole)
		return "has bytes that are not UTF-8, which this tool would replace by U+FFFD";
	if (st_bom_len(old) > 0 && change->whole && !change->removes &&
	    st_bom_len(change->content) == 0 && drops_bom(client))
		return "begins with a byte order mark, which this tool would drop";
	if (file->links > 1 && breaks_links(client))
		return "has several names (hard links), which this tool would separate";
	if (client == ST_HOOK_CODEX && !change->whole && !change->removes && old.len > 0 &&
	    old.ptr[old.len - 1] != '\n')
		return "does not end in a line end, and this tool would add one";
	return NULL;
}

/* The damage that a write by stet itself would do. It keeps the line ends of a file if they are alike. */
static const char *own_damage_of(const struct st_hook_change *change, const struct st_file *file) {
	return change->whole && !change->removes && is_mixed(st_buf_str(&file->bytes))
	           ? "has LF and CRLF line ends, which a write of the whole file would make alike"
	           : NULL;
}

static void deny_damage(struct st_hook_call *call, const struct st_hook_change *change,
                        const char *damage) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_addf(&text,
	            "File %s %s. Change it with stet's tool edit_file, which keeps the rest as it is.",
	            st_quoted(change->path), damage);
	st_hook_say(call->decision, st_buf_str(&text));
	call->decision->denies = true;
}

/* ---- the decision ---- */

static void say_refusal(struct st_hook_call *call, const struct stet_answer *answer) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_add(&text, st_buf_str(&answer->message));
	if (answer->diff.len > 0)
		st_buf_addf(&text, "\n\n%s", st_buf_cstr(&answer->diff));
	st_hook_say(call->decision, st_buf_str(&text));
	call->decision->denies = true;
}

/* Tell the agent that stet has made the change, and which other changes the file has. */
static void say_applied(struct st_hook_call *call, const struct st_hook_change *change,
                        const struct stet_answer *answer, struct st_str old) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) diff = ST_BUF_INIT;
	st_auto(st_diff_report) report = {0};
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) now = ST_FILE_INIT;
	struct st_diff_opts opts = ST_DIFF_OPTS(change->path);
	opts.max_bytes = APPLIED_DIFF;
	st_buf_addf(&text, "Done by stet: %s is changed as you asked%s. Do not repeat the call.",
	            st_quoted(change->path),
	            answer->merged ? ", merged with what others changed meanwhile" : "");
	if (st_session_find(call->session, change->path, &place, &now, NULL) == 0 &&
	    st_diff_unified(old, st_buf_str(&now.bytes), &opts, &diff, &report, NULL) == 0 &&
	    diff.len > 0)
		st_buf_addf(&text, "\n\n%s", st_buf_cstr(&diff));
	st_hook_say(call->decision, st_buf_str(&text));
	call->decision->denies = true;
	call->decision->done = true;
}

/* Only stet makes this change, so stet says why it cannot be made. */
static void say_failure(struct st_hook_call *call, const struct stet_error *why) {
	st_hook_say(call->decision, st_str(why->message));
	call->decision->denies = true;
}

/*
 * Whether stet, which is to make the change, says why it cannot. If others keep writing to the file, the tool may not
 * run in its place: it would write over them. A tool that the plugin replaced has no words of its own.
 */
static bool is_said(const struct st_hook_call *call, int code) {
	if (code == STET_E_BUSY)
		return true;
	return call->event->client == ST_HOOK_OPENCODE &&
	       (code == STET_E_NO_MATCH || code == STET_E_AMBIGUOUS || code == STET_E_INVALID ||
	        code == STET_E_KIND || code == STET_E_TOO_BIG);
}

/* The current bytes of the file; empty if there is none. A code if its path cannot be used. */
static int load_old(struct st_hook_call *call, const struct st_hook_change *change,
                    struct st_file *file, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_session_find(call->session, change->path, &place, file, err);
	return code == STET_E_NOT_FOUND ? 0 : code;
}

/* Judge one change; with `makes` also make it. */
static void judge_one(struct st_hook_call *call, struct st_hook_change *change, bool makes) {
	st_auto(st_file) old = ST_FILE_INIT;
	struct stet_error why = {0};
	int code = load_old(call, change, &old, &why);
	if (code < 0) {
		if (makes && is_said(call, code))
			say_failure(call, &why);
		return;
	}
	const char *damage = !old.bytes.ptr ? NULL
	                     : makes        ? own_damage_of(change, &old)
	                                    : damage_of(call, change, &old);
	change->keeps_form = makes;
	struct stet_answer *answer = st_answer_new("success");
	if (!answer)
		return;
	const struct st_change request = {
		.path = change->path,
		.kind = change->whole ? ST_CHANGE_WHOLE : ST_CHANGE_ANCHORED,
		.anchor = change->old_text,
		.merge = call->session->ws->hook_mode == ST_HOOK_MODE_APPLY && makes,
		.check_drops = true,
		.dry_run = !makes || damage,
		.remove = change->removes && makes,
		.make = make_new,
		.context = change,
	};
	code = st_change_apply(call->session, &request, answer, &why);
	if (code == STET_E_CONFLICT)
		say_refusal(call, answer);
	else if (code == 0 && makes && !damage)
		say_applied(call, change, answer, st_buf_str(&old.bytes));
	else if (damage)
		deny_damage(call, change, damage);
	else if (makes && is_said(call, code))
		say_failure(call, &why);
	/* For any other code, the agent's own tool reports the problem. */
	stet_answer_free(answer);
}

/* Store the version that the tool is about to replace: the tool's own check is not atomic. */
static void keep_old(struct st_hook_call *call, const struct st_hook_change *change) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	if (st_session_find(call->session, change->path, &place, &file, NULL) < 0)
		return;
	(void)st_versions_put(&call->session->ws->writes.versions, &file.hash, st_buf_str(&file.bytes));
	/* A tool that answers with no old text: the record has it. */
	if (!st_session_seen(call->session, change->path, place.path))
		(void)st_session_record(call->session, change->path, place.path, &file);
	if (call->witness)
		st_witness_add(call->witness, call->session, place.path);
}

/* Let the tool run: store the version that it replaces, and have a witness watch it. */
static void keep_all(struct st_hook_call *call, const struct st_hook_changes *changes) {
	call->witness = st_witness_new(call->session, changes->items[0].path);
	for (size_t i = 0; i < changes->count; i++)
		keep_old(call, &changes->items[i]);
}

/*
 * Whether stet makes the changes itself: for a tool that its plugin replaced, and with `guard = apply` where the
 * agent does not ask its user first, since a hook runs before that question.
 */
static bool makes_changes(const struct st_hook_call *call) {
	const struct st_hook_event *event = call->event;
	if (event->client == ST_HOOK_OPENCODE)
		return event->tool != ST_HOOK_PATCH;
	return call->session->ws->hook_mode == ST_HOOK_MODE_APPLY && !event->asks;
}

/* The diffs of several files share the reason. */
static void judge_all(struct st_hook_call *call, struct st_hook_changes *changes, bool makes) {
	struct stet_session *session = call->session;
	for (size_t i = 0; i < changes->count; i++) {
		session->answer_bytes = changes->count > 1 ? call->decision->text.len + 1 : 0;
		judge_one(call, &changes->items[i], makes);
	}
	session->answer_bytes = 0;
}

void st_hook_before_change(struct st_hook_call *call) {
	st_auto(st_hook_changes) changes = {0};
	int mode = call->session->ws->hook_mode;
	if (!st_hook_changes_read(call, &changes))
		return;
	if (mode == ST_HOOK_MODE_WATCH) {
		keep_all(call, &changes);
		return;
	}
	bool makes = makes_changes(call);
	if (makes && call->event->tool == ST_HOOK_PATCH && st_hook_apply_patch(call))
		return;
	makes &= changes.count == 1 && !changes.items[0].hunks_only;
	judge_all(call, &changes, makes);
	if (!call->decision->denies)
		keep_all(call, &changes);
}
