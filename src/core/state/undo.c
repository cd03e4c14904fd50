/* Undo a write, through the same safe commit; stet/state.h has the contract. */
#include "base/clock.h"
#include "base/quote.h"
#include "core/session/change.h"
#include "core/session/change_set.h"
#include "core/state/state.h"
#include "core/state/undo.h"
#include "fs/path/dirs.h"
#include "stet/state.h"

/* The write to undo. */
struct target {
	struct st_log_query query;
	bool found;
	/* The name of the session, NULL if it has none, and whether it made that write. */
	const char *session;
	bool own;
	struct st_log_entry entry;
	struct st_buf path;
};

static int copy_entry(void *data, const struct st_log_entry *entry, struct stet_error *err) {
	struct target *target = data;
	st_buf_clear(&target->path);
	st_buf_adds(&target->path, entry->event.path);
	target->entry = *entry;
	target->own =
		target->session && entry->event.who && strcmp(target->session, entry->event.who) == 0;
	target->found = true;
	return target->path.failed ? st_fail_nomem(err) : 0;
}

static int find_write(struct st_store *store, void *data, struct stet_error *err) {
	struct target *target = data;
	target->found = false;
	return st_store_log_list(store, &target->query, copy_entry, target, err);
}

static int find_target(struct stet_session *session, const char *path, struct target *target,
                       struct stet_error *err) {
	target->query = (struct st_log_query){
		.path = path, .session = path ? NULL : session->name, .undoable = true, .limit = 1};
	target->session = session->name;
	/* The log cannot tell sessions without a name apart: go by the path of the last write. */
	if (!path && !session->name)
		target->query.path = session->last_wrote;
	bool known = target->query.path || target->query.session;
	int code = 0;
	/* A writing transaction, so that no other process adds a later write meanwhile. */
	if (known && st_store_exists(&st_state_of(session->ws)->store))
		code =
			st_store_do(&st_state_of(session->ws)->store, ST_STORE_WRITE, find_write, target, err);
	if (code == 0 && !target->found && !path && target->query.path)
		return st_fail(err, STET_E_NOT_FOUND,
		               "The last write of this session, of %s, cannot be undone. Give the path of "
		               "another file.",
		               st_quoted(target->query.path));
	if (code == 0 && !target->found)
		return st_fail(err, STET_E_NOT_FOUND, "There is no write %s%s that can be undone.",
		               path ? "of " : "of this session", path ? st_quoted(path) : "");
	return code;
}

static int make_old(void *context, struct st_str old, struct st_buf *new, struct stet_error *err) {
	(void)old;
	const struct st_blob *blob = context;
	st_buf_add(new, st_strn(blob->bytes, blob->len));
	return new->failed ? st_fail_nomem(err) : 0;
}

/* Whether the session made the version that the write left. */
static bool is_own(struct stet_session *session, const struct target *target) {
	const struct st_version *after = &target->entry.event.after;
	const struct st_seen *seen = st_tracker_find(&session->tracker, target->path.ptr);
	return after->exists && (target->own || (seen && st_hash_eq(&seen->wrote, &after->hash)));
}

/* A directory that is there under this name leads through no link. */
static int check_no_link(struct stet_workspace *ws, struct st_str dir, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_root_locate_as(&ws->root, dir, ST_LOCATE_DIR, &place, NULL);
	if (code < 0 || !place.exists || st_str_eq(st_str(place.path), dir))
		return 0;
	return st_fail(err, STET_E_KIND, "%.*s leads through a link now.", (int)dir.len, dir.ptr);
}

int st_undo_make_dirs(struct stet_workspace *ws, const char *path, struct stet_error *err) {
	st_autofree char *made = NULL;
	const char *slash = strrchr(path, '/');
	int code = 0;
	for (const char *end = strchr(path, '/'); code == 0 && end; end = strchr(end + 1, '/'))
		code = check_no_link(ws, st_strn(path, (size_t)(end - path)), err);
	if (code < 0 || !slash)
		return code;
	return st_dir_make(&ws->root, st_strn(path, (size_t)(slash - path)), ws->writes.state_dir, NULL,
	                   &made, err);
}

/* Restore the version before the write, if the file still is what the write made of it. */
static int restore(struct stet_session *session, const struct target *target,
                   const struct st_undo_how *how, struct stet_answer *answer,
                   struct stet_error *err) {
	const struct st_file_event *write = &target->entry.event;
	bool existed = write->before.exists;
	struct st_blob *blob = existed ? st_workspace_base(session->ws, &write->before.hash) : NULL;
	if (existed && !blob)
		return st_fail(
			err, STET_E_NOT_FOUND,
			"The write of %s cannot be undone: the version before it is no longer stored.",
			st_quoted(target->path.ptr));
	char hex[ST_HASH_HEX + 1];
	st_hash_hex(&write->after.hash, hex, ST_HASH_HEX);
	struct st_change change = {
		.path = target->path.ptr,
		.kind = ST_CHANGE_WHOLE,
		.hash_proves = how->hash_proves,
		.unshown = how->unshown,
		.restores = true,
		.own = is_own(session, target),
		.make = make_old,
		.context = blob,
		.remove = !existed,
	};
	if (write->after.exists)
		change.expected_hash = st_strn(hex, ST_HASH_HEX);
	session->undoing = (struct st_undoing){&target->entry.id, 1, st_wall_ns()};
	int code =
		existed && !write->after.exists ? st_undo_make_dirs(session->ws, change.path, err) : 0;
	if (code == 0)
		code = st_change_apply(session, &change, answer, err);
	if (code == 0 && !write->after.exists && write->before.executable)
		code = st_change_set_mode(&session->ws->writes, change.path, ST_MODE_EXECUTABLE, err);
	session->undoing = (struct st_undoing){0};
	st_blob_put(blob);
	return code;
}

static int undo(struct stet_session *session, const char *path, const struct st_undo_how *how,
                struct stet_answer *answer, struct stet_error *err) {
	struct target target = {0};
	int code = st_state_save(session, err);
	if (code == 0)
		code = find_target(session, path, &target, err);
	if (code == 0)
		code = restore(session, &target, how, answer, err);
	st_buf_release(&target.path);
	return code;
}

int st_undo_write(struct stet_session *session, const char *path, const struct st_undo_how *how,
                  struct stet_answer *answer, struct stet_error *err) {
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, true);
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = path ? st_root_locate(&session->ws->root, st_str(path), &place, err) : 0;
	/* The directory of a deleted file may be gone, too. */
	const char *plain = code == STET_E_NOT_FOUND ? st_root_plain(&session->ws->root, path) : NULL;
	const char *found = plain ? plain : place.path;
	code = plain ? 0 : code;
	if (code == 0 && found)
		code = st_workspace_check_type(session->ws, found, err);
	return code < 0 ? code : undo(session, found, how, answer, err);
}

int stet_undo(struct stet_session *session, const char *path, struct stet_answer **out,
              struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, true);
	if (out)
		*out = NULL;
	struct stet_answer *answer = st_answer_new("success");
	if (!answer)
		return st_fail_nomem(err);
	const struct st_undo_how how = {.hash_proves = true, .unshown = !out};
	int code = st_undo_write(session, path, &how, answer, err);
	if (!out || (code < 0 && code != STET_E_CONFLICT)) {
		stet_answer_free(answer);
		return code;
	}
	st_answer_take_notices(answer, &session->ws->writes);
	*out = answer;
	return code;
}
