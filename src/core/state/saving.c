/* Save and load sessions: the hooks of core/workspace/workspace.h. */
#include "core/state/state.h"
#include "fs/versions/versions.h"

/* Whether the session is kept in the store. */
static bool is_stored(const struct stet_session *session) {
	return session->name && session->ws->state > ST_STATE_NONE;
}

/* ---- loading ---- */

static int load_seen(struct st_store *store, void *data, struct stet_error *err) {
	struct stet_session *session = data;
	int64_t id, version;
	int code = st_store_session(store, session->name, false, &id, &version, err);
	bool same = store->opened == session->stored.opened;
	if (code < 0 || id == 0 || (same && version == session->stored.version))
		return code;
	st_tracker_clear(&session->tracker);
	st_links_clear(&session->links);
	st_delivered_clear(&session->instructions);
	code = st_store_load_seen(store, id, &session->tracker, err);
	if (code == 0)
		code = st_store_load_links(store, id, &session->links, err);
	if (code == 0)
		code = st_store_load_delivered(store, id, &session->instructions, err);
	if (code < 0)
		return code;
	const struct st_lru_entry *entry = NULL;
	while ((entry = st_lru_next(&session->tracker.files, entry))) {
		struct st_seen *seen = st_lru_value(entry);
		seen->stored = st_seen_digest(seen);
	}
	st_tracker_mark_saved(&session->tracker);
	session->stored = (struct st_stored_session){
		store->opened, id, version, session->instructions.changes, session->links.changes};
	return 0;
}

static int load_session(void *data, struct stet_session *session, struct stet_error *err) {
	struct st_state *state = data;
	session->tracker.collects_touched = is_stored(session);
	/* If the last save failed, the session is newer than what is stored. */
	if (!is_stored(session) || session->unsaved || !st_store_exists(&state->store))
		return 0;
	int code = st_store_do(&state->store, ST_STORE_READ, load_seen, session, err);
	if (code < 0)
		session->stored.version = 0;
	return code;
}

/* ---- saving ---- */

struct saving {
	struct stet_session *session;
	/* Save what the session saw, too, not only its events. */
	bool seen;
	/* Set if repostate.json has to be written again. */
	bool changed;
};

static void save_base(struct stet_session *session, const struct st_hash *hash) {
	struct st_blob *base = st_bases_get(&session->ws->bases, hash);
	if (base)
		(void)st_versions_put(&session->ws->writes.versions, hash, st_strn(base->bytes, base->len));
	st_blob_put(base);
}

static int save_seen(struct stet_session *session, struct st_store *store, int64_t id,
                     const char *path, struct stet_error *err) {
	struct st_seen *seen = st_lru_peek(&session->tracker.files, st_str(path));
	if (!seen)
		return st_store_drop_seen(store, id, path, err);
	if (seen->stored == st_seen_digest(seen))
		return 0;
	save_base(session, &seen->version.hash);
	return st_store_put_seen(store, id, path, seen, err);
}

/* Save every record: the list of touched ones is incomplete, or the database is new. */
static int save_all_seen(struct stet_session *session, struct st_store *store, int64_t id,
                         struct stet_error *err) {
	int code = st_store_drop_session(store, id, err);
	const struct st_lru_entry *entry = NULL;
	while (code == 0 && (entry = st_lru_next(&session->tracker.files, entry))) {
		struct st_seen *seen = st_lru_value(entry);
		struct st_str key = st_lru_key(entry);
		st_autofree char *path = strndup(key.ptr, key.len);
		seen->stored = 0;
		code = path ? save_seen(session, store, id, path, err) : st_fail_nomem(err);
	}
	return code;
}

static int save_session(struct stet_session *session, struct st_store *store,
                        struct stet_error *err) {
	int64_t id, version;
	bool same = store->opened == session->stored.opened;
	int code = st_store_session(store, session->name, true, &id, &version, err);
	if (code == 0)
		code = st_store_session_touch(store, id, &version, err);
	if (code < 0)
		return code;
	if (!same || session->tracker.touched_all)
		code = save_all_seen(session, store, id, err);
	for (size_t i = 0; code == 0 && i < session->tracker.touched_count; i++)
		code = save_seen(session, store, id, session->tracker.touched[i], err);
	if (code == 0 && (!same || session->stored.delivered != session->instructions.changes))
		code = st_store_put_delivered(store, id, &session->instructions, err);
	if (code == 0 && (!same || session->stored.links != session->links.changes))
		code = st_store_put_links(store, id, &session->links, err);
	if (code == 0)
		session->saving = (struct st_stored_session){
			store->opened, id, version, session->instructions.changes, session->links.changes};
	return code;
}

/* Apply an event to the state of the work, and log it. Returns 1 if the state changed. */
static int save_event(struct st_repo *repo, const struct st_file_event *event,
                      struct stet_error *err) {
	if (event->kind == ST_EVENT_REFUSED)
		return event->conflict ? st_store_conflict(repo->store, event, 0, err) : 0;
	int changed = st_file_event_is_dir(event) ? st_repo_apply_dir(repo, event, err)
	                                          : st_repo_apply(repo, event, err);
	if (changed < 0 || !st_file_event_is_logged(event))
		return changed;
	int code = st_store_log(repo->store, event, err);
	return code < 0 ? code : changed;
}

static int save_events(struct saving *saving, struct stet_error *err) {
	struct stet_session *session = saving->session;
	struct st_repo *repo = &st_state_of(session->ws)->repo;
	int code = 0;
	for (size_t i = 0; i < session->events.count && code >= 0; i++) {
		const struct st_file_event *event = &session->events.items[i];
		code = save_event(repo, event, err);
		saving->changed |= code == 1 || event->archived;
	}
	return code < 0 ? code : 0;
}

/* Store the replaced versions that the commit did not archive itself. */
static void save_replaced(struct stet_session *session) {
	for (size_t i = 0; i < session->events.count; i++) {
		const struct st_file_event *event = &session->events.items[i];
		if (st_file_event_is_logged(event) && event->before.exists && !event->archived)
			save_base(session, &event->before.hash);
	}
}

/* Whether a path from a file that is not trusted is a plain path below the root. */
static bool is_plain_path(const struct stet_workspace *ws, const char *path) {
	return st_root_plain(&ws->root, path) == path;
}

/* The function for st_store.adopt: import an event of stet 0.1.0. */
static int adopt(struct st_store *store, void *data, const struct st_file_event *event,
                 struct stet_error *err) {
	struct st_repo *repo = data;
	const struct stet_workspace *ws = repo->ws;
	(void)store;
	if (!is_plain_path(ws, event->path) || (event->moved_to && !is_plain_path(ws, event->moved_to)))
		return 0;
	int code = save_event(repo, event, err);
	return code < 0 ? code : 0;
}

static int write_unsaved(struct st_store *store, void *data, struct stet_error *err) {
	struct saving *saving = data;
	int code = saving->seen ? save_session(saving->session, store, err) : 0;
	return code == 0 ? save_events(saving, err) : code;
}

/* The transaction is committed: mark everything as saved. */
static void finish_saving(struct saving *saving) {
	struct stet_session *session = saving->session;
	struct st_tracker *tracker = &session->tracker;
	for (size_t i = 0; i < tracker->touched_count; i++) {
		struct st_seen *seen = st_lru_peek(&tracker->files, st_str(tracker->touched[i]));
		if (seen)
			seen->stored = st_seen_digest(seen);
	}
	st_tracker_mark_saved(tracker);
	if (saving->seen)
		session->stored = session->saving;
	const struct st_state_observer *observer = &st_state_of(session->ws)->observer;
	if (observer->stored)
		observer->stored(observer->data, session);
	st_events_clear(&session->events);
	if (saving->changed)
		st_repo_export_mark(&st_state_of(session->ws)->repo_export);
}

/* Whether any record differs from what is stored. */
static bool has_unsaved(const struct stet_session *session) {
	const struct st_tracker *tracker = &session->tracker;
	if (!is_stored(session))
		return false;
	if (tracker->touched_all || session->stored.delivered != session->instructions.changes ||
	    session->stored.links != session->links.changes)
		return true;
	for (size_t i = 0; i < tracker->touched_count; i++) {
		const struct st_seen *seen = st_lru_peek(&tracker->files, st_str(tracker->touched[i]));
		if (!seen || seen->stored != st_seen_digest(seen))
			return true;
	}
	return false;
}

/* Whether the session's events would change nothing in the state of the work: 1, 0, or a code. */
static int is_all_known(struct st_store *store, void *data, struct stet_error *err) {
	const struct stet_session *session = data;
	struct st_repo *repo = &st_state_of(session->ws)->repo;
	int known = 1;
	(void)store;
	for (size_t i = 0; i < session->events.count && known == 1; i++)
		known = st_repo_has(repo, &session->events.items[i], err);
	return known;
}

/* Store the session's events, and with `seen` what it saw. */
static int store_unsaved(struct stet_session *session, bool seen, enum st_store_mode mode,
                         struct stet_error *err) {
	struct saving saving = {.session = session, .seen = seen};
	struct st_store *store = &st_state_of(session->ws)->store;
	/* Reading the same files again needs no write to the database. */
	if (!seen && session->events.writes == 0 &&
	    st_store_do(store, ST_STORE_READ, is_all_known, session, NULL) == 1) {
		finish_saving(&saving);
		return 0;
	}
	save_replaced(session);
	int code = st_store_do(store, mode, write_unsaved, &saving, err);
	if (code == 0)
		finish_saving(&saving);
	return code;
}

/* Add a notice for the first failure of a row. */
static void notice_unsaved(struct stet_session *session, int code, const struct stet_error *err) {
	if (code < 0 && !session->unsaved)
		st_write_notice(
			&session->ws->writes,
			"The reads and writes of this session could not be stored; other processes do "
			"not know of them yet. %s",
			err->message);
	session->unsaved = code < 0 ? code : 0;
}

static int flush_unsaved(struct stet_session *session, enum st_store_mode mode,
                         struct stet_error *err) {
	bool seen = has_unsaved(session);
	if (seen || session->events.count > 0)
		return store_unsaved(session, seen, mode, err);
	st_tracker_mark_saved(&session->tracker);
	return 0;
}

int st_state_save(struct stet_session *session, struct stet_error *err) {
	return flush_unsaved(session, ST_STORE_WRITE, err);
}

/* A process may lock the database for long: the first call waits for it, the next ones only briefly. */
static enum st_store_mode mode_of(const struct stet_session *session) {
	return session->unsaved ? ST_STORE_RETRY : ST_STORE_WRITE;
}

int st_state_save_or_notice(struct stet_session *session, struct stet_error *err) {
	struct stet_error why = {0};
	int code = flush_unsaved(session, mode_of(session), &why);
	bool temporary = code == STET_E_BUSY || code == STET_E_NO_SPACE || code == STET_E_IO;
	if (code < 0 && !temporary)
		return st_fail(err, code, "%s", why.message);
	notice_unsaved(session, code, &why);
	return 0;
}

/* Reads alone do not create a state directory: their events wait until it exists. */
static bool can_wait(const struct stet_session *session, bool seen) {
	return !seen && session->events.writes == 0 &&
	       (session->events.count == 0 || !st_store_exists(&st_state_of(session->ws)->store));
}

/* At the end of a call: store what cannot wait, and turn a failure into a notice. */
static void save_unsaved(struct stet_session *session, enum st_store_mode mode) {
	bool seen = has_unsaved(session);
	if (can_wait(session, seen)) {
		st_tracker_mark_saved(&session->tracker);
		if (session->events.count == 0)
			session->unsaved = 0;
		return;
	}
	struct stet_error err = {0};
	int code = store_unsaved(session, seen, mode, &err);
	notice_unsaved(session, code, &err);
}

static void save_on_call_end(void *data, struct stet_session *session, bool closes) {
	const struct st_state *state = data;
	if (!closes && state->observer.called)
		state->observer.called(state->observer.data, session);
	if (!closes)
		save_unsaved(session, mode_of(session));
	else if (session->events.count > 0)
		save_unsaved(session, ST_STORE_WRITE);
}

/* ---- the writer of a version ---- */

struct writer_query {
	const struct st_hash *hash;
	char *name;
};

static int query_writer(struct st_store *store, void *data, struct stet_error *err) {
	struct writer_query *query = data;
	return st_store_writer(store, query->hash, query->name, err);
}

static bool find_writer(void *data, const struct st_hash *hash, char name[128]) {
	struct st_state *state = data;
	struct writer_query query = {hash, name};
	return st_store_exists(&state->store) &&
	       st_store_do(&state->store, ST_STORE_READ, query_writer, &query, NULL) == 1;
}

void st_state_connect(struct st_state *state, struct stet_workspace *ws) {
	ws->hooks = (struct st_state_hooks){
		.data = state, .load = load_session, .save = save_on_call_end, .find_writer = find_writer};
	state->store.import = st_repo_json_import;
	state->store.adopt = adopt;
	state->store.data = &state->repo;
}
