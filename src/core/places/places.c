#include "core/places/places.h"

#include <stdio.h>

#include "base/array.h"
#include "base/clock.h"
#include "core/places/queue.h"
#include "core/places/uplink.h"
#include "core/state/db_files.h"
#include "fs/path/sys.h"
#include "fs/versions/state_dir.h"
#include "text/diff/diff.h"

enum {
	FLUSH_MS = 30,
	/* Wait so long for other processes that write, when the workspace closes. */
	CLOSE_MS = 300,
	/* Presence alone is stored this often. */
	PRESENCE_MS = 10000,
	/* Look for a missing registry this often. */
	MISSED_MS = 1000,
	/* Beyond this many bytes no lines are compared. */
	DIFF_MAX = 2 << 20,
	/* A list of places waits so long for other processes that open the registry or write to it. */
	LIST_MS = 2000,
	/* The first list of places waits so long for the hub. */
	HUB_MS = 2000,
};

/* The starting version of a file is forgotten after a week. */
#define BASE_AGE_NS ((int64_t)7 * 24 * 3600 * 1000000000)

/* ---- the registry ---- */

static void locate_checkout(struct st_places *places) {
	if (places->located)
		return;
	places->located = true;
	if (st_checkout_find(places->ws->root.path, &places->checkout, NULL) != 1 ||
	    (places->ws->project &&
	     st_checkout_rename(&places->checkout, places->ws->project, NULL) < 0))
		places->off = true;
}

/* Whether the registry's file was replaced or removed. */
static bool is_replaced(const struct st_registry *registry) {
	struct stat st;
	st_autofd dir = st_user_state_open("places");
	return dir < 0 || fstatat(dir, ST_STORE_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       st.st_dev != registry->dev || st.st_ino != registry->ino;
}

bool st_places_replace_damaged(struct st_places *places) {
	if (places->replaced || !places->registry.db || !st_db_is_damaged(places->registry.db))
		return false;
	places->replaced = true;
	st_registry_discard(&places->registry);
	return true;
}

/* Returns 1 if the registry is open, 0 if it is missing, or a code. */
static int open_registry(struct st_places *places, bool make, struct stet_error *err) {
	if (places->registry.db)
		return 1;
	if (!make && places->missed_ms && st_now_ms() - places->missed_ms < MISSED_MS)
		return 0;
	places->missed_ms = st_now_ms();
	places->quiet = false;
	int code = st_registry_open(&places->registry, make, err);
	if (code == 1 && places->brief)
		st_db_leave_log(places->registry.db);
	if (code == 1 && !*places->machine && !st_machine_id(places->machine))
		code = st_fail(err, STET_E_IO, "This machine's id cannot be stored.");
	if (code == 1)
		code = st_registry_find(&places->registry, &places->checkout, places->machine, err);
	if (code < 0 && st_places_replace_damaged(places))
		return open_registry(places, make, err);
	if (code < 0)
		st_registry_release(&places->registry);
	return code < 0 ? code : places->registry.db != NULL;
}

static int open_located(struct st_places *places, bool make, struct stet_error *err) {
	locate_checkout(places);
	return places->off ? 0 : open_registry(places, make, err);
}

bool st_places_locate_locked(struct st_places *places) {
	locate_checkout(places);
	return !places->off;
}

void st_places_be_brief(struct st_places *places) {
	places->brief = true;
}

int st_places_open_locked(struct st_places *places) {
	return open_located(places, false, NULL);
}

int st_places_lock(struct st_places *places, bool make, struct stet_error *err) {
	pthread_mutex_lock(&places->lock);
	int code = open_located(places, make, err);
	if (code != 1)
		pthread_mutex_unlock(&places->lock);
	return code;
}

int st_places_lock_to_list(struct st_places *places, struct stet_error *err) {
	int64_t until = st_now_ms() + LIST_MS;
	int code;
	while ((code = st_places_lock(places, false, err)) == STET_E_BUSY && st_now_ms() < until)
		st_sleep_ms(2 + st_now_us() % 7);
	if (code == 1)
		st_db_wait(places->registry.db, LIST_MS);
	return code;
}

void st_places_unlock(struct st_places *places) {
	if (places->registry.db)
		st_db_wait(places->registry.db, 0);
	pthread_mutex_unlock(&places->lock);
}

void st_places_prefix(struct st_places *places, struct st_buf *out) {
	pthread_mutex_lock(&places->lock);
	locate_checkout(places);
	st_buf_adds(out, places->checkout.prefix ? places->checkout.prefix : "");
	pthread_mutex_unlock(&places->lock);
}

/* ---- events ---- */

/* An event as it is stored, with what it borrows. */
struct prepared {
	struct st_registry_event event;
	struct st_buf path, moved_from;
	struct st_diff diff;
	struct st_blob *base, *after;
};

static void prepared_release(struct prepared *prepared) {
	st_buf_release(&prepared->path);
	st_buf_release(&prepared->moved_from);
	st_diff_release(&prepared->diff);
	st_blob_put(prepared->base);
	st_blob_put(prepared->after);
}

bool st_places_is_moved(const struct st_checkout *checkout, const struct st_registry_event *last,
                        const struct st_version *version) {
	return !st_version_eq(&last->after, version) && st_checkout_moved_at(checkout) > last->at;
}

struct continuing {
	const struct st_checkout *checkout;
	struct st_registry_event *event;
};

/* Continue from what the last event of the file started from. */
static int take_base(void *data, const struct st_registry_event *last, struct stet_error *err) {
	const struct continuing *continuing = data;
	struct st_registry_event *event = continuing->event;
	(void)err;
	if (!last->based || event->at - last->at > BASE_AGE_NS ||
	    st_places_is_moved(continuing->checkout, last, &event->before))
		return 1;
	event->base = last->base;
	event->based = true;
	return 1;
}

static struct st_blob *blob_of(struct stet_workspace *ws, const struct st_version *version) {
	return version->exists ? st_workspace_base(ws, &version->hash) : NULL;
}

/* Compare what the place started from with what it has now. */
static void find_lines(struct stet_workspace *ws, struct prepared *prepared) {
	struct st_registry_event *event = &prepared->event;
	if (!event->based || !event->base.exists || !event->after.exists)
		return;
	prepared->base = blob_of(ws, &event->base);
	prepared->after = blob_of(ws, &event->after);
	event->more = true;
	if (!prepared->base || !prepared->after || prepared->base->len > DIFF_MAX ||
	    prepared->after->len > DIFF_MAX)
		return;
	struct st_str old = st_strn(prepared->base->bytes, prepared->base->len);
	struct st_str new = st_strn(prepared->after->bytes, prepared->after->len);
	if (st_diff_init(&prepared->diff, old, new, NULL) < 0)
		return;
	event->hunks = prepared->diff.hunks;
	event->hunk_count = prepared->diff.count;
	event->more = false;
}

/* The last of the events before that is of the same file; NULL for none. */
static const struct prepared *find_earlier(const struct prepared *all, size_t count,
                                           struct st_str path) {
	while (count > 0) {
		if (st_str_eq(all[--count].event.path, path))
			return &all[count];
	}
	return NULL;
}

/* Find what the changes of the file started from, here or in the registry. */
static int find_base(struct st_places *places, struct prepared *all, size_t n,
                     struct stet_error *err) {
	struct st_registry_event *event = &all[n].event;
	const struct prepared *earlier = find_earlier(all, n, event->path);
	struct continuing continuing = {&places->checkout, event};
	if (earlier)
		(void)take_base(&continuing, &earlier->event, err);
	if (earlier)
		return 0;
	return places->registry.checkout > 0
	           ? st_registry_own(&places->registry, event->path, take_base, &continuing, err)
	           : 0;
}

static int prepare_event(struct st_places *places, const struct st_places_event *pending,
                         struct prepared *all, size_t n, struct stet_error *err) {
	struct prepared *prepared = &all[n];
	struct st_registry_event *event = &prepared->event;
	st_buf_addf(&prepared->path, "%s%s", places->checkout.prefix, pending->path);
	if (pending->moved_from)
		st_buf_addf(&prepared->moved_from, "%s%s", places->checkout.prefix, pending->moved_from);
	if (prepared->path.failed || prepared->moved_from.failed)
		return st_fail_nomem(err);
	*event = (struct st_registry_event){
		.agent = st_str(st_name_without_owner(pending->who)),
		.path = st_buf_str(&prepared->path),
		.moved_from = st_buf_str(&prepared->moved_from),
		.at = pending->at,
		.before = pending->before,
		.after = pending->after,
		.base = pending->before,
		.based = pending->knows_before,
	};
	int code = find_base(places, all, n, err);
	if (code == 0)
		find_lines(places->ws, prepared);
	return code;
}

/* ---- flushing ---- */

static int add_events(struct st_places *places, const struct prepared *prepared,
                      const struct st_places_taken *taken, struct stet_error *err) {
	struct st_registry *registry = &places->registry;
	int64_t now = st_wall_ns();
	int code = 0;
	for (size_t i = 0; i < taken->label_count && code == 0; i++)
		code = st_registry_touch_agent(registry, taken->labels[i], now, err);
	for (size_t i = 0; i < taken->count && code == 0; i++)
		code = st_registry_add(registry, &prepared[i].event, err);
	if (code == 0 && !places->cleaned)
		code = st_registry_clean(registry, places->machine, now, err);
	return code;
}

static int store_prepared(struct st_places *places, const struct prepared *prepared,
                          const struct st_places_taken *taken, struct stet_error *err) {
	struct st_registry *registry = &places->registry;
	struct st_checkout_head head;
	st_checkout_head(&places->checkout, &head);
	int code = st_registry_begin(registry, err);
	if (code < 0)
		return code;
	code =
		st_registry_touch(registry, &places->checkout, &head, places->machine, st_wall_ns(), err);
	if (code == 0)
		code = add_events(places, prepared, taken, err);
	if (code == 0)
		code = st_registry_commit(registry, err);
	if (code < 0)
		st_registry_rollback(registry);
	else
		places->cleaned = true;
	return code;
}

static int store_taken(struct st_places *places, const struct st_places_taken *taken,
                       struct stet_error *err) {
	struct prepared *prepared = calloc(taken->count + 1, sizeof *prepared);
	int code = prepared ? 0 : st_fail_nomem(err);
	for (size_t i = 0; i < taken->count && code == 0; i++)
		code = prepare_event(places, &taken->events[i], prepared, i, err);
	if (code == 0)
		code = store_prepared(places, prepared, taken, err);
	if (code == 0 && taken->count > 0)
		st_places_announce();
	for (size_t i = 0; prepared && i < taken->count; i++)
		prepared_release(&prepared[i]);
	free(prepared);
	return code;
}

/* A registry that was replaced or damaged is opened again by the next flush. */
static void check_registry(struct st_places *places) {
	if (!st_places_replace_damaged(places) && places->registry.db &&
	    (st_db_is_damaged(places->registry.db) || is_replaced(&places->registry)))
		st_registry_release(&places->registry);
}

/* Make the uplink when there is something to send; only the release of the places frees it. */
static struct st_uplink *find_uplink(struct st_places *places) {
	struct stet_error why = {0};
	if (!places->ws->hub || places->off || !places->registry.db)
		return NULL;
	if (!places->uplink && st_uplink_new(places, places->ws->hub, &places->uplink, &why) < 0)
		st_write_notice(&places->ws->writes, "There is no hub. %s", why.message);
	return places->uplink;
}

void st_places_await_hub(struct st_places *places) {
	if (!places->ws->hub || st_places_lock(places, true, NULL) != 1)
		return;
	struct st_uplink *uplink = find_uplink(places);
	st_places_unlock(places);
	st_uplink_await_first(uplink, HUB_MS);
}

/* A registry that cannot be used is a hub that cannot be reached. */
int st_places_tasks(struct st_places *places, struct st_task_request *request,
                    struct stet_error *err) {
	if (!places->ws->hub || places->ws->state == ST_STATE_NONE)
		return 1;
	int code = st_places_lock(places, true, err);
	if (code != 1)
		return code == 0 ? 1 : STET_E_NOT_FOUND;
	struct st_uplink *uplink = find_uplink(places);
	st_places_unlock(places);
	return uplink ? st_uplink_ask(uplink, request, HUB_MS, err) : 1;
}

/* Store the queued events. Thread-safe. */
static int flush_queue(struct st_places *places, struct stet_error *err) {
	st_auto(st_places_taken) taken = {0};
	pthread_mutex_lock(&places->lock);
	check_registry(places);
	int code = open_located(places, true, err);
	if (code == 1) {
		st_places_queue_take(&places->queue, &taken);
		code = st_places_taken_is_empty(&taken) ? 0 : store_taken(places, &taken, err);
		if (code < 0 && st_places_replace_damaged(places))
			code = STET_E_BUSY;
		if (code == STET_E_BUSY)
			st_places_queue_return(&places->queue, &taken);
	}
	struct st_uplink *uplink = code == 0 ? find_uplink(places) : NULL;
	pthread_mutex_unlock(&places->lock);
	st_uplink_wake(uplink);
	return code;
}

/* Other processes write: try again soon, not all at the same moment; sooner when it was in vain for long. */
static int64_t retry_delay(unsigned tries) {
	enum { LONG = 10 };
	return tries < LONG ? 10 + st_now_us() % 40 : 1 + st_now_us() % 4;
}

/* After the first fault, this workspace reports nothing to places any more; a notice says so. */
static void fail_once(struct st_places *places, const struct stet_error *err) {
	if (!atomic_exchange(&places->off, true))
		st_write_notice(&places->ws->writes,
		                "Agents in other checkouts of this repository are not told of this one. %s",
		                err->message);
}

static void run_flush(void *data) {
	struct st_places *places = data;
	struct stet_error err = {0};
	int code = flush_queue(places, &err);
	places->tries = code == STET_E_BUSY ? places->tries + 1 : 0;
	if (code == STET_E_BUSY)
		st_background_schedule(&places->ws->background, &places->task, retry_delay(places->tries));
	else if (code < 0)
		fail_once(places, &err);
}

/* ---- sessions ---- */

void st_places_report(struct st_places *places, const struct stet_session *session) {
	if (places->off || session->events.writes == 0)
		return;
	for (size_t i = 0; i < session->events.count; i++)
		st_places_queue_add(&places->queue, &session->events.items[i]);
	st_places_queue_label(&places->queue, st_name_without_owner(st_session_who(session)));
	st_background_schedule(&places->ws->background, &places->task, FLUSH_MS);
}

void st_places_touch(struct st_places *places, const struct stet_session *session) {
	if (places->off)
		return;
	if (st_places_queue_touch(&places->queue, st_name_without_owner(st_session_who(session)),
	                          PRESENCE_MS))
		st_background_schedule(&places->ws->background, &places->task, FLUSH_MS);
}

void st_places_init(struct st_places *places, struct stet_workspace *ws) {
	*places = (struct st_places){.ws = ws, .inotify = -1};
	pthread_mutex_init(&places->lock, NULL);
	st_places_queue_init(&places->queue);
	places->task = (struct st_background_task){.run = run_flush, .data = places};
}

void st_places_flush_own(struct st_places *places) {
	int64_t until = st_now_ms() + CLOSE_MS;
	while (!places->off && st_places_queue_has_events(&places->queue) &&
	       flush_queue(places, NULL) == STET_E_BUSY && st_now_ms() < until)
		st_sleep_ms(2 + st_now_us() % 7);
}

void st_places_release(struct st_places *places) {
	if (!places->ws)
		return;
	if (!st_background_is_elsewhere(&places->ws->background))
		st_places_flush_own(places);
	st_uplink_free(places->uplink);
	st_registry_release(&places->registry);
	st_checkout_release(&places->checkout);
	st_places_queue_release(&places->queue);
	st_close_at(&places->inotify);
	pthread_mutex_destroy(&places->lock);
}
