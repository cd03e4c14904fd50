#include "core/places/shared.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/views.h"
#include "core/state/store_shared.h"

enum {
	/* How often to repeat a claim that conflicts with another transaction. */
	CLAIM_TRIES = 5,
	/* The most batches of one round; the next round sends the rest. */
	ROUNDS_MAX = 200,
};

/* ---- copies: nobody waits for the network with the store locked ---- */

struct received {
	struct item {
		struct st_hub_task task;
		struct st_buf text;
	} * items;
	size_t count;
};

static void received_release(struct received *received) {
	for (size_t i = 0; i < received->count; i++)
		st_buf_release(&received->items[i].text);
	free(received->items);
	*received = (struct received){0};
}

static int copy_task(void *data, const struct st_hub_task *task, struct stet_error *err) {
	struct received *received = data;
	if (!st_array_room(&received->items, received->count, sizeof *received->items))
		return st_fail_nomem(err);
	struct item *item = &received->items[received->count++];
	*item = (struct item){.task = *task, .text = ST_BUF_INIT};
	struct st_str *const views[] = {&item->task.id, &item->task.description, &item->task.owner,
	                                &item->task.path, &item->task.branch};
	return st_views_own(views, sizeof views / sizeof *views, &item->text, err);
}

struct changes {
	struct st_hub_task_change *items;
	struct st_buf *texts;
	size_t count;
};

static void changes_release(struct changes *changes) {
	for (size_t i = 0; i < changes->count; i++)
		st_buf_release(&changes->texts[i]);
	free(changes->items);
	free(changes->texts);
	*changes = (struct changes){0};
}

static int copy_change(void *data, const struct st_hub_task_change *change,
                       struct stet_error *err) {
	struct changes *changes = data;
	if (!st_array_room(&changes->items, changes->count, sizeof *changes->items) ||
	    !st_array_room(&changes->texts, changes->count, sizeof *changes->texts))
		return st_fail_nomem(err);
	struct st_hub_task_change *copy = &changes->items[changes->count];
	struct st_buf *text = &changes->texts[changes->count++];
	*copy = *change;
	*text = (struct st_buf)ST_BUF_INIT;
	struct st_str *const views[] = {&copy->id, &copy->description, &copy->owner};
	return st_views_own(views, sizeof views / sizeof *views, text, err);
}

/* ---- storing ---- */

struct storing {
	struct st_shared *shared;
	const struct received *received;
	const struct changes *sent;
	/* The number here of the last task. */
	int64_t last;
	/*
	 * Whether to store tasks that another process of this place may have stored; whether
	 * anything is new.
	 */
	bool always, differs;
	size_t refused, lost;
	int64_t refused_task, lost_task;
};

static const struct st_hub_task_change *find_sent(const struct changes *sent, struct st_str id) {
	for (size_t i = 0; sent && i < sent->count; i++) {
		if (st_str_eq(sent->items[i].id, id))
			return &sent->items[i];
	}
	return NULL;
}

static int store_received(struct st_store *store, void *data, struct stet_error *err) {
	struct storing *storing = data;
	int code = 0;
	storing->refused = storing->lost = 0;
	for (size_t i = 0; i < storing->received->count && code == 0; i++) {
		const struct st_hub_task *task = &storing->received->items[i].task;
		struct st_shared_result result;
		code = st_store_shared_put(store, task, find_sent(storing->sent, task->id), &result, err);
		storing->last = result.id;
		if (result.refused && storing->refused++ == 0)
			storing->refused_task = result.id;
		if (result.lost && storing->lost++ == 0)
			storing->lost_task = result.id;
	}
	return code;
}

/* All processes of a place receive the same tasks; the first one stores them. */
static int check_differs(struct st_store *store, void *data, struct stet_error *err) {
	struct storing *storing = data;
	int code = 0;
	storing->differs = storing->always || storing->sent;
	for (size_t i = 0; i < storing->received->count && code == 0 && !storing->differs; i++)
		code = st_store_shared_differs(store, &storing->received->items[i].task, &storing->differs,
		                               err);
	return code;
}

static void tell(const struct storing *storing) {
	struct st_write_context *writes = &storing->shared->ws->writes;
	if (storing->refused > 0)
		st_write_notice(
			writes,
			"The hub refuses the last change of task %lld: others have claimed or finished "
			"it. List the tasks.",
			(long long)storing->refused_task);
	if (storing->lost > 0)
		st_write_notice(writes,
		                "Task %lld was finished here, but the hub was restored from a backup and "
		                "others have claimed it since.",
		                (long long)storing->lost_task);
}

static int store_all(struct storing *storing, struct stet_error *err) {
	struct st_state *state = st_state_of(storing->shared->ws);
	if (storing->received->count == 0)
		return 0;
	int code = st_store_do(&state->store, ST_STORE_READ, check_differs, storing, err);
	if (code < 0 || !storing->differs)
		return code;
	code = st_store_do(&state->store, ST_STORE_WRITE, store_received, storing, err);
	if (code < 0)
		return code;
	st_repo_export_mark(&state->repo_export);
	tell(storing);
	return 0;
}

/* ---- receiving ---- */

struct seen {
	struct st_shared_seen *items;
	size_t count;
};

static int note_seen(struct seen *seen, const struct received *received, struct stet_error *err) {
	for (size_t i = 0; i < received->count; i++) {
		const struct st_hub_task *task = &received->items[i].task;
		if (!st_array_room(&seen->items, seen->count, sizeof *seen->items))
			return st_fail_nomem(err);
		struct st_shared_seen *item = &seen->items[seen->count++];
		*item = (struct st_shared_seen){.rev = task->rev};
		memcpy(item->id, task->id.ptr, task->id.len < ST_TASK_KEY ? task->id.len : ST_TASK_KEY);
	}
	return 0;
}

static int find_past(struct st_store *store, void *data, struct stet_error *err) {
	return st_store_shared_past(store, data, err);
}

/* Receive and store the next tasks. Returns how many, or a code. */
static int receive_some(struct st_shared *shared, struct st_hub *hub, struct seen *seen,
                        struct stet_error *err) {
	struct received received = {0};
	int64_t since = shared->since;
	int count = st_hub_receive_tasks(hub, &since, shared->past_ns, copy_task, &received, err);
	/* The hub was restored from a backup: drop the tasks received so far. */
	if (since < shared->since)
		seen->count = 0;
	int code = count < 0 ? count : note_seen(seen, &received, err);
	struct storing storing = {.shared = shared, .received = &received};
	if (code == 0)
		code = store_all(&storing, err);
	if (code == 0)
		shared->since = since;
	received_release(&received);
	return code < 0 ? code : count;
}

static int compare_seen(const void *a, const void *b) {
	return strcmp(((const struct st_shared_seen *)a)->id, ((const struct st_shared_seen *)b)->id);
}

/* ---- sending ---- */

static int send_changes(struct st_shared *shared, struct st_hub *hub, const struct changes *changes,
                        struct stet_error *err) {
	int code = 0;
	for (size_t at = 0; at < changes->count && code == 0; at += ST_HUB_TASKS) {
		size_t left = changes->count - at;
		struct received received = {0};
		struct storing storing = {.shared = shared, .received = &received, .sent = changes};
		code = st_hub_put_tasks(hub, changes->items + at, left < ST_HUB_TASKS ? left : ST_HUB_TASKS,
		                        ST_CLAIM_MS, copy_task, &received, err);
		if (code == 0)
			code = store_all(&storing, err);
		received_release(&received);
	}
	return code;
}

struct collecting {
	struct changes *changes;
	struct seen *seen;
	bool behind;
};

static int collect_forgotten(struct st_store *store, void *data, struct stet_error *err) {
	struct collecting *collecting = data;
	changes_release(collecting->changes);
	return st_store_shared_forgotten(store, collecting->seen->items, collecting->seen->count,
	                                 copy_change, collecting->changes, err);
}

static int check_behind(struct st_store *store, void *data, struct stet_error *err) {
	return st_store_shared_is_behind(store, &((struct collecting *)data)->behind, err);
}

static int collect_changes(struct st_store *store, void *data, struct stet_error *err) {
	struct collecting *collecting = data;
	changes_release(collecting->changes);
	return st_store_shared_changes(store, copy_change, collecting->changes, err);
}

/* Send again the tasks that the hub has lost. */
static int send_forgotten(struct st_shared *shared, struct st_hub *hub, struct seen *seen,
                          struct stet_error *err) {
	struct changes changes = {0};
	struct collecting collecting = {.changes = &changes, .seen = seen};
	struct st_store *store = &st_state_of(shared->ws)->store;
	if (seen->count > 0)
		qsort(seen->items, seen->count, sizeof *seen->items, compare_seen);
	int code = st_store_do(store, ST_STORE_READ, collect_forgotten, &collecting, err);
	if (code == 0)
		code = send_changes(shared, hub, &changes, err);
	changes_release(&changes);
	return code;
}

/* Send the next changes. Returns how many, or a code. */
static int send_some(struct st_shared *shared, struct st_hub *hub, struct stet_error *err) {
	struct changes changes = {0};
	struct collecting collecting = {.changes = &changes};
	struct st_store *store = &st_state_of(shared->ws)->store;
	int code = st_store_do(store, ST_STORE_READ, check_behind, &collecting, err);
	if (code == 0 && collecting.behind)
		code = st_store_do(store, ST_STORE_WRITE, collect_changes, &collecting, err);
	if (code == 0)
		code = send_changes(shared, hub, &changes, err);
	int sent = (int)changes.count;
	changes_release(&changes);
	return code < 0 ? code : sent;
}

int st_shared_sync(struct st_shared *shared, struct st_hub *hub, struct stet_error *err) {
	struct seen seen = {0};
	int64_t before = shared->since;
	struct st_store *store = &st_state_of(shared->ws)->store;
	int code = 0, rounds = 0;
	if (shared->ws->state == ST_STATE_NONE)
		return 0;
	if (before == 0)
		code = st_store_do(store, ST_STORE_READ, find_past, &shared->past_ns, err);
	while (code == 0 && (code = receive_some(shared, hub, &seen, err)) > 0)
		code = 0;
	bool has_store = st_store_exists(store);
	/* Only then all of them were received. */
	if (code == 0 && has_store && (before == 0 || shared->since < before))
		code = send_forgotten(shared, hub, &seen, err);
	while (code == 0 && has_store && rounds++ < ROUNDS_MAX &&
	       (code = send_some(shared, hub, err)) == ST_HUB_TASKS)
		code = 0;
	free(seen.items);
	return code < 0 ? code : 0;
}

/* ---- for calls ---- */

struct finding {
	int64_t task;
	char id[ST_TASK_KEY + 1];
};

static int find_id(struct st_store *store, void *data, struct stet_error *err) {
	struct finding *finding = data;
	return st_store_shared_id(store, finding->task, finding->id, err);
}

static int claim_now(struct st_shared *shared, struct st_hub *hub,
                     const struct st_task_request *request, const char *id, int64_t *task,
                     struct stet_error *err) {
	struct received received = {0};
	struct storing storing = {.shared = shared, .received = &received, .always = true};
	int code = STET_E_BUSY;
	for (int i = 0; i < CLAIM_TRIES && code == STET_E_BUSY; i++)
		code = st_hub_claim_task(hub, request->owner, id, ST_CLAIM_MS, copy_task, &received, err);
	if (code > 0)
		code = store_all(&storing, err);
	*task = storing.last;
	received_release(&received);
	return code;
}

static int claim(struct st_shared *shared, struct st_hub *hub, struct st_task_request *request,
                 struct stet_error *err) {
	struct finding finding = {.task = request->task};
	struct st_store *store = &st_state_of(shared->ws)->store;
	int64_t task = 0;
	int code = 1;
	if (request->task > 0)
		code = st_store_do(store, ST_STORE_READ, find_id, &finding, err);
	if (code <= 0)
		return code < 0 ? code : 1;
	code = claim_now(shared, hub, request, finding.id, &task, err);
	if (code == 0 && request->task > 0 && task == 0) {
		code = st_shared_sync(shared, hub, err);
		return code < 0 ? code
		                : st_fail(err, STET_E_CONFLICT, "Task %lld is not free.",
		                          (long long)request->task);
	}
	request->task = task;
	return code;
}

int st_shared_fulfil(struct st_shared *shared, struct st_hub *hub, struct st_task_request *request,
                     struct stet_error *err) {
	if (request->wish == ST_TASKS_CLAIMED)
		return claim(shared, hub, request, err);
	return request->wish == ST_TASKS_NUMBERED ? st_hub_take_number(hub, &request->task, err) : 0;
}
