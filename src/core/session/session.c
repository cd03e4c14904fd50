#include "core/session/session.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/plural.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "core/session/conflict.h"
#include "fs/versions/late_writes.h"
#include "fs/path/nearby.h"
#include "text/lines/lines.h"

/* ---- file events ---- */

/* The most events to collect; then the oldest are dropped. */
enum { EVENTS_MAX = 10000 };

static void event_release(struct st_file_event *event) {
	free((void *)(uintptr_t)event->path);
	free((void *)(uintptr_t)event->moved_to);
	free((void *)(uintptr_t)event->undoes_too);
	st_conflict_free((struct st_conflict *)(uintptr_t)event->conflict);
}

void st_events_clear(struct st_file_events *events) {
	while (events->count > 0)
		event_release(&events->items[--events->count]);
	events->writes = 0;
}

static void events_release(struct st_file_events *events) {
	st_events_clear(events);
	free(events->items);
	*events = (struct st_file_events){0};
}

/* If the last event is a read of the same file, update it instead of adding another. */
static bool merge_read(const struct st_file_events *events, const struct st_file_event *event) {
	if (events->count == 0 || event->kind != ST_EVENT_READ)
		return false;
	struct st_file_event *last = &events->items[events->count - 1];
	if (last->kind != ST_EVENT_READ || strcmp(last->path, event->path) != 0)
		return false;
	last->after = event->after;
	last->at = event->at;
	return true;
}

/* Reads and refusals alone are no reason to create a state directory. */
static bool changes_files(const struct st_file_event *event) {
	return event->kind != ST_EVENT_READ && event->kind != ST_EVENT_REFUSED;
}

static bool make_event_room(struct st_file_events *events) {
	if (events->count == EVENTS_MAX) {
		events->writes -= changes_files(&events->items[0]);
		event_release(&events->items[0]);
		events->count--;
		memmove(events->items, events->items + 1, events->count * sizeof *events->items);
	}
	return st_array_room(&events->items, events->count, sizeof *events->items);
}

/* NULL for none, or without memory. */
static int64_t *copy_ids(const struct st_file_event *event) {
	size_t bytes = event->undoes_too_count * sizeof *event->undoes_too;
	int64_t *ids = bytes > 0 ? malloc(bytes) : NULL;
	if (ids)
		memcpy(ids, event->undoes_too, bytes);
	return ids;
}

static int events_add(struct st_file_events *events, const struct st_file_event *event,
                      struct stet_error *err) {
	if (merge_read(events, event))
		return 0;
	char *path = strdup(event->path);
	char *to = event->moved_to ? strdup(event->moved_to) : NULL;
	int64_t *too = copy_ids(event);
	struct st_conflict *conflict = event->conflict ? st_conflict_copy(event->conflict) : NULL;
	struct st_file_event copy = *event;
	copy.path = path;
	copy.moved_to = to;
	copy.undoes_too = too;
	/* Without memory for its conflict, the event itself still counts. */
	copy.conflict = conflict;
	if (!path || (event->moved_to && !to) || (event->undoes_too_count > 0 && !too) ||
	    !make_event_room(events)) {
		event_release(&copy);
		return st_fail_nomem(err);
	}
	events->items[events->count++] = copy;
	events->writes += changes_files(event);
	return 0;
}

struct st_call_scope st_call_scope_begin(struct stet_session *session, bool tool) {
	const struct stet_workspace *ws = session->ws;
	if (session->call_depth++ > 0)
		return (struct st_call_scope){session};
	session->tracks = ws->state == ST_STATE_ALL || (tool && ws->state == ST_STATE_TOOLS);
	/* If loading fails, the session goes on with what it knows. */
	if (session->name)
		(void)ws->hooks.load(ws->hooks.data, session, NULL);
	return (struct st_call_scope){session};
}

void st_call_scope_release(struct st_call_scope *scope) {
	struct stet_session *session = scope->session;
	scope->session = NULL;
	if (!session)
		return;
	assert(session->call_depth > 0);
	if (--session->call_depth > 0)
		return;
	const struct st_state_hooks *hooks = &session->ws->hooks;
	if (session->name || session->events.count > 0)
		hooks->save(hooks->data, session, false);
}

/* A write of an undo names what it takes back. */
static void mark_undo(struct st_file_event *event, const struct st_undoing *undoing) {
	if (undoing->count == 0)
		return;
	event->at = undoing->at;
	event->undoes = undoing->ids[0];
	event->undoes_too = undoing->ids + 1;
	event->undoes_too_count = undoing->count - 1;
}

bool st_session_made(const struct stet_session *session, const char *who, int64_t at) {
	if (!who || strcmp(who, st_session_who(session)) != 0)
		return false;
	bool made = session->name != NULL;
	for (size_t i = 0; !made && i < session->own_write_count && i < ST_OWN_WRITES; i++)
		made = session->own_writes[i] == at;
	return made;
}

void st_session_report(struct stet_session *session, const struct st_file_event *event) {
	struct st_file_event own = *event;
	if (!session->tracks)
		return;
	own.who = st_session_who(session);
	own.at = session->change_time ? session->change_time : st_wall_ns();
	if (st_file_event_is_write(event))
		mark_undo(&own, &session->undoing);
	if (events_add(&session->events, &own, NULL) < 0)
		st_write_notice(&session->ws->writes,
		                "Out of memory: the change of %s is missing from the state of the work.",
		                st_quoted(event->path));
	if (st_file_event_is_logged(&own)) {
		free(session->last_wrote);
		session->last_wrote = strdup(event->path);
		session->own_writes[session->own_write_count++ % ST_OWN_WRITES] = own.at;
	}
}

void st_session_report_move(struct stet_session *session, const char *from, const char *to,
                            bool is_dir) {
	struct stet_workspace *ws = session->ws;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	if (is_dir) {
		const struct st_file_event event = {
			.path = from, .kind = ST_EVENT_DIR_MOVED, .moved_to = to};
		st_session_report(session, &event);
		return;
	}
	/* A renamed link is not a file of its own: no events. */
	if (!session->tracks ||
	    st_file_load(&ws->root, st_str(to), ws->max_file, &place, &file, NULL) < 0 ||
	    strcmp(place.path, to) != 0)
		return;
	const struct st_version version = st_file_version(&file);
	const struct st_file_event gone = {
		.path = from, .kind = ST_EVENT_REMOVED, .before = version, .moved_to = place.path};
	const struct st_file_event here = {
		.path = place.path, .kind = ST_EVENT_WRITTEN, .after = version, .moved = true};
	st_bases_put(&ws->bases, &file.hash, st_buf_str(&file.bytes));
	st_session_report(session, &gone);
	st_session_report(session, &here);
}

/* ---- opening and closing ---- */

static void watch_tracked(void *data, const char *path) {
	struct stet_workspace *ws = data;
	st_shared_watcher_use(&ws->watcher, path);
}

enum { NAME_MAX_BYTES = 200 };
_Static_assert(NAME_MAX_BYTES < (int)ST_LABEL_MAX, "a label may be a session's name");

static int check_name(const char *name, struct stet_error *err) {
	size_t len = strlen(name);
	bool plain = len > 0 && len <= NAME_MAX_BYTES;
	for (size_t i = 0; i < len && plain; i++)
		plain = (unsigned char)name[i] >= ' ' && name[i] != 0x7f;
	if (plain && st_utf8_valid(st_strn(name, len)))
		return 0;
	return st_fail(err, STET_E_INVALID,
	               "The name of a session has 1 to %d bytes of UTF-8, without control characters.",
	               NAME_MAX_BYTES);
}

int stet_session_open(struct stet_workspace *ws, const char *name, struct stet_session **out,
                      struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	int code = name ? check_name(name, err) : 0;
	if (code < 0)
		return code;
	struct stet_session *session = calloc(1, sizeof *session);
	if (!session)
		return st_fail_nomem(err);
	ws->references++;
	session->ws = ws;
	session->name = name ? strdup(name) : NULL;
	if (name && !session->name) {
		ws->references--;
		free(session);
		return st_fail_nomem(err);
	}
	snprintf(session->label, sizeof session->label, "%.64s", program_invocation_short_name);
	st_tracker_init(&session->tracker);
	st_links_init(&session->links);
	session->tracker.on_tracked = watch_tracked;
	session->tracker.data = ws;
	st_delivered_init(&session->instructions);
	code = name ? ws->hooks.load(ws->hooks.data, session, err) : 0;
	if (code < 0) {
		stet_session_close(session);
		return code;
	}
	*out = session;
	return 0;
}

void stet_session_close(struct stet_session *session) {
	if (!session)
		return;
	session->ws->hooks.save(session->ws->hooks.data, session, true);
	events_release(&session->events);
	free(session->last_wrote);
	st_tracker_release(&session->tracker);
	st_links_release(&session->links);
	st_delivered_release(&session->instructions);
	free(session->name);
	stet_workspace_close(session->ws);
	free(session);
}

struct stet_workspace *stet_session_workspace(struct stet_session *session) {
	if (!session)
		return NULL;
	return session->ws;
}

/* ---- records ---- */

void st_session_add_link(struct stet_session *session, const char *asked, const char *path) {
	st_auto(st_buf) spelling = ST_BUF_INIT;
	if ((session->links.targets.count > 0 || strcmp(asked, path) != 0) &&
	    st_root_spelling(&session->ws->root, asked, &spelling))
		st_links_set(&session->links, st_buf_str(&spelling), st_str(path));
}

void st_session_drop_link(struct stet_session *session, const char *asked) {
	st_auto(st_buf) spelling = ST_BUF_INIT;
	if (st_root_spelling(&session->ws->root, asked, &spelling))
		st_links_drop(&session->links, st_buf_str(&spelling));
}

/*
 * The record of the file that a spelling led to before; NULL if it still leads to
 * `path` (itself NULL if it leads nowhere now).
 */
static struct st_seen *seen_before_relink(struct stet_session *session, const char *asked,
                                          const char *path) {
	st_auto(st_buf) spelling = ST_BUF_INIT;
	if (!st_root_spelling(&session->ws->root, asked, &spelling))
		return NULL;
	const char *target = st_links_target(&session->links, st_buf_str(&spelling));
	/* There was no link then: a link has replaced the file. */
	if (!target)
		target = spelling.ptr;
	return path && strcmp(target, path) == 0 ? NULL : st_tracker_find(&session->tracker, target);
}

struct st_seen *st_session_seen(struct stet_session *session, const char *asked, const char *path) {
	struct st_seen *seen = st_tracker_find(&session->tracker, path);
	const struct st_seen *other = seen ? NULL : seen_before_relink(session, asked, path);
	return other ? st_tracker_copy(&session->tracker, path, other) : seen;
}

struct st_seen *st_session_record_version(struct stet_session *session, const char *asked,
                                          const char *path, const struct st_version *version,
                                          size_t total) {
	const struct st_file_event event = {.path = path, .after = *version};
	st_session_report(session, &event);
	st_session_add_link(session, asked, path);
	return st_tracker_record(&session->tracker, path, version, total);
}

struct st_seen *st_session_record(struct stet_session *session, const char *asked, const char *path,
                                  const struct st_file *file) {
	struct st_str bytes = st_buf_str(&file->bytes);
	const struct st_version version = st_file_version(file);
	st_bases_put(&session->ws->bases, &file->hash, bytes);
	return st_session_record_version(session, asked, path, &version, st_line_count(bytes));
}

int st_session_find(struct stet_session *session, const char *path, struct st_place *place,
                    struct st_file *file, struct stet_error *err) {
	struct stet_workspace *ws = session->ws;
	const char *plain = st_root_plain(&ws->root, path);
	const struct st_seen *seen = plain ? st_lru_peek(&session->tracker.files, st_str(plain)) : NULL;
	struct st_blob *base = seen ? st_bases_get(&ws->bases, &seen->version.hash) : NULL;
	struct st_known known;
	if (base)
		known = (struct st_known){st_strn(base->bytes, base->len), seen->version.hash};
	int code = st_file_load_known(&ws->root, st_str(path), ws->max_file, base ? &known : NULL,
	                              place, file, err);
	st_blob_put(base);
	int allowed = place->path ? st_workspace_check_type(ws, place->path, err) : 0;
	return allowed < 0 ? allowed : code;
}

int st_session_load(struct stet_session *session, const char *path, struct st_place *place,
                    struct st_file *file, struct stet_error *err) {
	int code = st_session_find(session, path, place, file, err);
	/* Without its directory a file cannot be created, but it cannot be read either way. */
	if (code == STET_E_NOT_FOUND && !place->path)
		(void)st_fail(err, code, "File not found: %s. Check the path.", st_quoted(path));
	if (code == STET_E_NOT_FOUND)
		st_nearby_suggest(&session->ws->root, path, session->ws->writes.state_dir, err);
	return code;
}

/* The record of a file, found by any spelling of its path. */
struct found {
	/* NULL if the session has not seen the file. */
	struct st_seen *seen;
	/* Below the root; points into the caller's spelling or into `place`. NULL if a directory is missing. */
	const char *path;
	struct st_place place;
	/* The record is that of another file, to which the spelling led before. */
	bool relinked;
};

#define FOUND_INIT \
	{ .place = ST_PLACE_INIT }

static void found_release(struct found *found) {
	st_place_release(&found->place);
}

static int find_seen(struct stet_session *session, const char *path, struct found *found,
                     struct stet_error *err) {
	found->path = st_root_plain(&session->ws->root, path);
	found->seen = found->path ? st_tracker_find(&session->tracker, found->path) : NULL;
	if (found->seen)
		return 0;
	int code = st_root_locate(&session->ws->root, st_str(path), &found->place, err);
	if (code < 0 && code != STET_E_NOT_FOUND && code != STET_E_KIND)
		return code;
	found->path = found->place.path;
	found->seen = found->path ? st_tracker_find(&session->tracker, found->path) : NULL;
	if (!found->seen) {
		found->seen = seen_before_relink(session, path, found->path);
		found->relinked = found->seen != NULL;
	}
	return 0;
}

static int compare_bytes(struct stet_session *session, const char *path, const struct st_seen *seen,
                         struct st_file *file, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_session_find(session, path, &place, file, err);
	switch (code) {
	case 0:
		break;
	case STET_E_NOT_FOUND:
	case STET_E_KIND:
	case STET_E_OUTSIDE:
		return ST_DELETED;
	case STET_E_TOO_BIG:
		return ST_MODIFIED;
	default:
		return code;
	}
	return st_hash_eq(&seen->version.hash, &file->hash) ? ST_CLEAN : ST_MODIFIED;
}

/* Whether a file's stamp proves that it is what the session saw. */
static bool is_untouched(struct stet_session *session, const char *path,
                         const struct st_seen *seen) {
	struct stat st;
	if (seen->version.stamp.racy || st_root_peek(&session->ws->root, path, &st, NULL) != 1)
		return false;
	struct st_stamp now = st_stamp_of(&st);
	return S_ISREG(st.st_mode) && st_stamp_eq(&now, &seen->version.stamp);
}

static int compare_file(struct stet_session *session, const char *path, struct found *found,
                        struct st_file *file, struct stet_error *err) {
	st_late_writes_check(&session->ws->writes.late_writes);
	int code = find_seen(session, path, found, err);
	if (code == 0 && found->path)
		code = st_workspace_check_type(session->ws, found->path, err);
	if (code < 0)
		return code;
	if (found->seen && found->seen->stale)
		found->seen = NULL;
	if (!found->seen)
		return ST_UNTRACKED;
	if (found->relinked)
		return compare_bytes(session, path, found->seen, file, err);
	if (is_untouched(session, found->path, found->seen))
		return ST_CLEAN;
	int status = compare_bytes(session, found->path, found->seen, file, err);
	if (status == ST_CLEAN)
		found->seen->version = st_file_version(file);
	return status;
}

int st_session_compare(struct stet_session *session, const char *path, struct st_seen **seen,
                       struct st_file *file, struct stet_error *err) {
	st_auto(found) found = FOUND_INIT;
	int status = compare_file(session, path, &found, file, err);
	*seen = found.seen;
	return status;
}

/* Compare without reading a file whose size has changed. */
static int compare_quickly(struct stet_session *session, const char *path, struct st_seen *seen) {
	st_auto(st_file) file = ST_FILE_INIT;
	struct stat st;
	if (is_untouched(session, path, seen))
		return ST_CLEAN;
	if (st_root_peek(&session->ws->root, path, &st, NULL) == 1 && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size != seen->version.stamp.size)
		return ST_MODIFIED;
	int status = compare_bytes(session, path, seen, &file, NULL);
	if (status == ST_CLEAN)
		seen->version = st_file_version(&file);
	return status;
}

/* The cost of comparing a file, in the unit of st_cancel_check(). */
enum { COMPARE_WORK = 16 << 10 };

int st_session_each_changed(struct stet_session *session,
                            void (*each)(void *data, const char *path, enum st_seen_status status),
                            void *data, struct stet_error *err) {
	const struct st_lru *files = &session->tracker.files;
	st_auto(st_buf) path = ST_BUF_INIT;
	st_late_writes_check(&session->ws->writes.late_writes);
	for (const struct st_lru_entry *entry = st_lru_next(files, NULL); entry;
	     entry = st_lru_next(files, entry)) {
		st_buf_clear(&path);
		st_buf_add(&path, st_lru_key(entry));
		if (path.failed)
			return st_fail_nomem(err);
		if (st_cancel_check(COMPARE_WORK, err) < 0)
			return STET_E_CANCELLED;
		int status = compare_quickly(session, path.ptr, st_lru_value(entry));
		if (status == ST_MODIFIED || status == ST_DELETED)
			each(data, path.ptr, (enum st_seen_status)status);
	}
	return 0;
}

void st_session_mark_stale(struct stet_session *session, const char *path) {
	st_auto(st_file) file = ST_FILE_INIT;
	st_auto(found) found = FOUND_INIT;
	int status = compare_file(session, path, &found, &file, NULL);
	if (!found.relinked && (status == ST_MODIFIED || status == ST_DELETED))
		found.seen->stale = true;
}

int stet_session_track_read(struct stet_session *session, const char *path,
                            struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, false);
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_session_load(session, path, &place, &file, err);
	if (code < 0)
		return code;
	struct st_seen *seen = st_session_record(session, path, place.path, &file);
	if (!seen)
		return st_fail_nomem(err);
	st_seen_add(seen, 1, seen->total);
	return 0;
}

int stet_session_track(struct stet_session *session, const char *path, const char *content,
                       size_t len, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, false);
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	struct st_str bytes = st_strn(content ? content : "", content ? len : 0);
	struct st_hash hash;
	int code = st_session_load(session, path, &place, &file, err);
	if (code == 0)
		code = st_hash_of(bytes, &hash, err);
	if (code < 0)
		return code;

	/* If the file holds other bytes, its stamp does not belong to this version. */
	struct st_version version = st_file_version(&file);
	version.stamp.racy |= !st_hash_eq(&hash, &file.hash);
	version.hash = hash;
	struct st_seen *seen =
		st_tracker_record(&session->tracker, place.path, &version, st_line_count(bytes));
	if (!seen)
		return st_fail_nomem(err);
	st_session_add_link(session, path, place.path);
	st_bases_put(&session->ws->bases, &hash, bytes);
	st_seen_add(seen, 1, seen->total);
	return 0;
}

int stet_session_modified(struct stet_session *session, const char *path, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, false);
	st_auto(st_file) file = ST_FILE_INIT;
	struct st_seen *seen;
	int status = st_session_compare(session, path, &seen, &file, err);
	if (st_end_call(status, err) < 0)
		return status;
	return status == ST_MODIFIED || status == ST_DELETED;
}

void stet_session_invalidate(struct stet_session *session, const char *path) {
	if (!session)
		return;
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, false);
	st_auto(found) found = FOUND_INIT;
	if (find_seen(session, path, &found, NULL) == 0 && found.seen && !found.relinked)
		st_tracker_forget(&session->tracker, found.path);
	st_session_drop_link(session, path);
}

/* ---- check ---- */

/*
 * A diff gets half of an answer; the message and instructions need the rest. The files of a change
 * set share a bit less: lines that do not fit would be cut, and count as seen all the same.
 */
static struct st_diff_opts diff_opts(const struct stet_session *session, const char *path) {
	struct st_diff_opts opts = ST_DIFF_OPTS(path);
	size_t page = session->ws->page_bytes, used = session->answer_bytes;
	size_t most = used == 0 ? page / 2 : used < page / 5 * 2 ? page / 5 * 2 - used : 1;
	opts.max_bytes = session->ws->max_diff < most ? session->ws->max_diff : most;
	return opts;
}

int st_session_diff_of(struct stet_session *session, const char *path, const struct st_diff *diff,
                       struct stet_answer *answer, struct st_diff_report *report,
                       struct stet_error *err) {
	struct st_diff_opts opts = diff_opts(session, path);
	int code = st_diff_unified_of(diff, &opts, &answer->diff, report, err);
	answer->diff_truncated = report->truncated;
	return code;
}

int st_session_diff(struct stet_session *session, const char *path, struct st_str base,
                    struct st_str now, struct stet_answer *answer, struct st_diff_report *report,
                    struct stet_error *err) {
	struct st_diff_opts opts = diff_opts(session, path);
	st_auto(st_diff_report) own = {0};
	if (!report)
		report = &own;
	int code = st_diff_unified(base, now, &opts, &answer->diff, report, err);
	answer->diff_truncated = report->truncated;
	return code;
}

static int fill_check(struct stet_session *session, const char *path, int status,
                      const struct st_seen *seen, struct st_file *file, struct stet_answer *answer,
                      struct stet_error *err) {
	static const char *const names[] = {"untracked", "clean", "modified", "deleted"};
	const struct st_hash *hash = seen ? &seen->version.hash : NULL;
	answer->status = names[status];
	if (status == ST_DELETED) {
		answer->reason = "deleted";
		st_buf_adds(&answer->message, "File was deleted since last read.");
		hash = NULL;
	} else if (status == ST_MODIFIED) {
		answer->reason = "modified";
		st_buf_adds(&answer->message, "File was modified externally since last read.");
		hash = file->bytes.ptr ? &file->hash : NULL;
		struct st_blob *base = hash ? st_workspace_base(session->ws, &seen->version.hash) : NULL;
		int code = base ? st_session_diff(session, path, st_strn(base->bytes, base->len),
		                                  st_buf_str(&file->bytes), answer, NULL, err)
		                : 0;
		st_blob_put(base);
		if (code < 0)
			return code;
		st_buf_move(&answer->content, &file->bytes);
	}
	if (answer->message.failed)
		return st_fail_nomem(err);
	return st_answer_about(answer, path, hash, err);
}

int stet_session_check(struct stet_session *session, const char *path, struct stet_answer **out,
                       struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, false);
	*out = NULL;
	st_auto(st_file) file = ST_FILE_INIT;
	struct st_seen *seen;
	int status = st_session_compare(session, path, &seen, &file, err);
	if (status < 0)
		return status;
	struct stet_answer *answer = st_answer_new("clean");
	if (!answer)
		return st_fail_nomem(err);
	int code = fill_check(session, path, status, seen, &file, answer, err);
	if (code < 0) {
		stet_answer_free(answer);
		return code;
	}
	st_answer_take_notices(answer, &session->ws->writes);
	*out = answer;
	return st_end_call(0, err);
}

/* ---- read ---- */

static int fail_range(const char *path, size_t first, size_t total, struct stet_error *err) {
	return st_fail(err, STET_E_INVALID, "Line %zu is out of range: %s has %zu %s.", first,
	               st_quoted(path), total, st_plural(total, "line", "lines"));
}

static int fill_read(const char *path, const struct st_file *file, size_t first, size_t count,
                     struct stet_answer *answer, struct stet_error *err) {
	struct st_str text = st_buf_str(&file->bytes);
	size_t total = st_line_count(text);
	answer->total_lines = total;
	if (first > 1 && first > total)
		return fail_range(path, first, total, err);
	answer->first_line = total ? (first ? first : 1) : 0;
	answer->last_line =
		count && count <= total - answer->first_line ? answer->first_line + count - 1 : total;
	if (answer->last_line - answer->first_line + 1 < total) {
		st_auto(st_lines) lines = {0};
		int code = st_lines_init(&lines, text, err);
		if (code < 0)
			return code;
		text = st_lines_range(&lines, answer->first_line, answer->last_line);
	}
	st_buf_add(&answer->content, text);
	if (answer->content.failed)
		return st_fail_nomem(err);
	return st_answer_about(answer, path, &file->hash, err);
}

/* Mark the lines that the answer contains as seen. */
static int record_read(struct stet_session *session, const char *asked, const struct st_file *file,
                       const struct stet_answer *answer, struct stet_error *err) {
	struct st_seen *seen = st_session_record(session, asked, answer->path, file);
	if (!seen)
		return st_fail_nomem(err);
	st_seen_add(seen, answer->first_line, answer->last_line);
	return 0;
}

int stet_session_read(struct stet_session *session, const char *path, size_t first, size_t count,
                      struct stet_answer **out, struct stet_error *err) {
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, false);
	*out = NULL;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	st_late_writes_check(&session->ws->writes.late_writes);
	int code = st_session_load(session, path, &place, &file, err);
	if (code < 0)
		return code;
	struct stet_answer *answer = st_answer_new("success");
	if (!answer)
		return st_fail_nomem(err);
	code = fill_read(place.path, &file, first, count, answer, err);
	if (code == 0)
		code = record_read(session, path, &file, answer, err);
	if (code < 0) {
		stet_answer_free(answer);
		return code;
	}
	st_answer_take_notices(answer, &session->ws->writes);
	*out = answer;
	return 0;
}
