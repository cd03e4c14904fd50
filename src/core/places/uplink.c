#include "core/places/uplink.h"

#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/views.h"
#include "core/places/registry_remote.h"
#include "core/places/shared.h"

enum {
	/* A command that ends sooner than this never connects. */
	CONNECT_AFTER_MS = 150,
	/* Ask the hub without being told of something new. */
	POLL_MS = 15'000,
	PRESENCE_MS = 20'000,
	/* Between two attempts to connect. */
	RETRY_MIN_MS = 500,
	RETRY_MAX_MS = 60'000,
	/* How often a call that waits looks whether it was cancelled. */
	SLICE_MS = 50,
	PLACES_MAX = 256,
	AGENTS_MAX = 64,
	/* Another process uses the registry: how often to try again, some milliseconds apart. */
	BUSY_TRIES = 200,
};

/* A place at the hub: its number there and in the registry; 0 if nothing of it is stored here. */
struct known {
	int64_t remote, local;
};

/* A call that waits for the hub, or has given up. */
struct question {
	struct question *next;
	struct st_task_request request;
	char owner[ST_LABEL_MAX];
	enum { ASKED, WORKED_ON, ANSWERED } stage;
	bool abandoned;
	int code;
	struct stet_error err;
};

struct st_uplink {
	struct st_places *places;
	char *conninfo;
	/* Written to by st_uplink_wake(), st_uplink_ask() and st_uplink_free(). */
	int wake_fd, ask_fd, stop_fd;
	pthread_t thread;
	/* The process that started the thread; 0 for none. A forked child has no thread. */
	pid_t started_by;
	/* Guards `started_by` and the members below, which the thread writes. */
	pthread_mutex_t lock;
	pthread_cond_t synced;
	uint64_t rounds;
	struct question *questions;

	/* For the thread alone. */
	struct st_hub *hub;
	struct st_shared shared;
	/* The hub lets this role not use tasks; its events go on. */
	bool tasks_refused;
	int64_t retry_ms, touched_ms;
	/* When the places were listed; 0 if they are to be listed now. */
	int64_t listed_ms;
	bool told;
	struct known known[PLACES_MAX];
	size_t known_count;
};

/* ---- events between registry and hub ---- */

/* Owned copies of events: no process waits for the network with the registry locked. */
struct batch {
	struct copied {
		int64_t place;
		struct st_hub_event event;
		struct st_buf text;
	} * items;
	size_t count;
};

static void batch_release(struct batch *batch) {
	for (size_t i = 0; i < batch->count; i++)
		st_buf_release(&batch->items[i].text);
	free(batch->items);
	*batch = (struct batch){0};
}

static int add_copy(struct batch *batch, int64_t place, const struct st_hub_event *event,
                    struct stet_error *err) {
	if (!st_array_room(&batch->items, batch->count, sizeof *batch->items))
		return st_fail_nomem(err);
	struct copied *copy = &batch->items[batch->count++];
	*copy = (struct copied){.place = place, .event = *event, .text = ST_BUF_INIT};
	struct st_str *const views[] = {
		&copy->event.agent,  &copy->event.path,  &copy->event.moved_from, &copy->event.ranges,
		&copy->event.before, &copy->event.after, &copy->event.base};
	return st_views_own(views, sizeof views / sizeof *views, &copy->text, err);
}

static int copy_unsent(void *data, const struct st_hub_event *event, struct stet_error *err) {
	return add_copy(data, 0, event, err);
}

static int copy_received(void *data, int64_t place, const struct st_hub_event *event,
                         struct stet_error *err) {
	return add_copy(data, place, event, err);
}

/* Lock the registry and begin to write. Returns 1, 0 if there is no registry, or a code. */
static int begin_writing(struct st_places *places, bool make, struct stet_error *err) {
	for (int tries = 0;; tries++) {
		int code = st_places_lock(places, make, err);
		if (code != 1)
			return code;
		if (make || (places->registry.repository > 0 && places->registry.checkout > 0))
			code = st_registry_begin(&places->registry, err);
		else
			code = st_fail(err, STET_E_NOT_FOUND, "This place is not registered yet.");
		if (code == 0)
			return 1;
		st_places_unlock(places);
		if (code != STET_E_BUSY || tries == BUSY_TRIES)
			return code;
		st_sleep_ms(3 + st_now_us() % 15);
	}
}

static int end_writing(struct st_places *places, int code, struct stet_error *err) {
	if (code == 0)
		code = st_registry_commit(&places->registry, err);
	if (code < 0)
		st_registry_rollback(&places->registry);
	st_places_unlock(places);
	return code;
}

/* ---- sending ---- */

/*
 * The hub knows numbers that this registry never gave: the registry is younger,
 * because it was removed. Its events get the numbers that follow.
 */
static int follow_numbers(struct st_places *places, int64_t last, struct stet_error *err) {
	int64_t own = 0;
	int code = begin_writing(places, false, err);
	if (code != 1)
		return code;
	code = st_registry_own_number(&places->registry, &own, err);
	if (code == 0 && own < last)
		code = st_registry_renumber(&places->registry, last, err);
	return end_writing(places, code, err);
}

static int collect_unsent(struct st_places *places, int64_t after, struct batch *batch,
                          struct stet_error *err) {
	int code = st_places_lock(places, false, err);
	if (code != 1)
		return code;
	code = st_registry_unsent(&places->registry, after, st_wall_ns(), copy_unsent, batch, err);
	st_places_unlock(places);
	return code;
}

/* The registry stores the last events only: name the changes that can no longer be sent. */
static void name_gap(const struct st_uplink *uplink, int64_t last, int64_t next) {
	if (next > last + 1)
		st_write_notice(&uplink->places->ws->writes,
		                "The hub will never list %lld changes made here: while it was away, or "
		                "since the backup it was restored from, more happened than is stored here.",
		                (long long)(next - last - 1));
}

/* Send the next events. Returns how many, or a code. */
static int send_batch(struct st_uplink *uplink, int64_t *last, struct stet_error *err) {
	struct batch batch = {0};
	int code = collect_unsent(uplink->places, *last, &batch, err);
	struct st_hub_event *events = NULL;
	if (code == 0 && batch.count > 0) {
		events = calloc(batch.count, sizeof *events);
		code = events ? 0 : st_fail_nomem(err);
	}
	for (size_t i = 0; i < batch.count && code == 0; i++)
		events[i] = batch.items[i].event;
	if (code == 0)
		code = st_hub_send(uplink->hub, events, batch.count, err);
	if (code == 0 && batch.count > 0) {
		name_gap(uplink, *last, events[0].number);
		*last = events[batch.count - 1].number;
	}
	int sent = (int)batch.count;
	free(events);
	batch_release(&batch);
	return code < 0 ? code : sent;
}

static int send_events(struct st_uplink *uplink, struct stet_error *err) {
	int64_t last = 0;
	int code = st_hub_last(uplink->hub, &last, err);
	if (code == 0 && last > 0)
		code = follow_numbers(uplink->places, last, err);
	while (code >= 0 && (code = send_batch(uplink, &last, err)) > 0)
		;
	return code;
}

/* ---- presence ---- */

struct agents {
	struct st_str labels[AGENTS_MAX];
	int64_t ages_ns[AGENTS_MAX];
	struct st_buf texts[AGENTS_MAX];
	size_t count;
	int64_t now;
};

static int copy_agent(void *data, struct st_str label, int64_t seen, struct stet_error *err) {
	struct agents *agents = data;
	if (agents->count == AGENTS_MAX || agents->now - seen > ST_LEASE_NS)
		return 0;
	struct st_buf *text = &agents->texts[agents->count];
	st_buf_add(text, label);
	agents->labels[agents->count] = st_buf_str(text);
	agents->ages_ns[agents->count++] = agents->now - seen;
	return text->failed ? st_fail_nomem(err) : 0;
}

static void agents_release(struct agents *agents) {
	for (size_t i = 0; i < agents->count; i++)
		st_buf_release(&agents->texts[i]);
}

static struct st_hub_place own_place(const struct st_places *places,
                                     const struct st_checkout_head *head) {
	struct st_str branch = st_str(head->branch);
	return (struct st_hub_place){
		.machine = st_str(places->machine),
		.path = st_str(places->checkout.top),
		.branch = st_utf8_valid(branch) ? branch : ST_STR(""),
		.head = st_str(head->commit),
	};
}

static int send_presence(struct st_uplink *uplink, struct stet_error *err) {
	struct st_places *places = uplink->places;
	struct agents agents = {.now = st_wall_ns()};
	struct st_checkout_head head;
	if (uplink->touched_ms && st_now_ms() - uplink->touched_ms < PRESENCE_MS)
		return 0;
	int code = st_places_lock(places, false, err);
	if (code != 1)
		return code;
	code =
		st_registry_agents(&places->registry, places->registry.checkout, copy_agent, &agents, err);
	st_places_unlock(places);
	st_checkout_head(&places->checkout, &head);
	const struct st_hub_place own = own_place(places, &head);
	if (code == 0)
		code = st_hub_touch(uplink->hub, &own, agents.labels, agents.ages_ns, agents.count, err);
	if (code == 0 && agents.count > 0 && !uplink->tasks_refused)
		code = st_hub_renew_tasks(uplink->hub, ST_CLAIM_MS, err);
	if (code == 0)
		uplink->touched_ms = st_now_ms();
	agents_release(&agents);
	return code;
}

/* ---- receiving ---- */

/* A place as the hub lists it, with its agents; texts are owned by the item. */
struct listed {
	struct st_hub_place place;
	struct st_buf text;
	struct agents agents;
};

struct listing {
	struct listed *items;
	size_t count;
};

static void listing_release(struct listing *listing) {
	for (size_t i = 0; i < listing->count; i++) {
		st_buf_release(&listing->items[i].text);
		agents_release(&listing->items[i].agents);
	}
	free(listing->items);
}

static int copy_place(void *data, const struct st_hub_place *place, struct stet_error *err) {
	struct listing *listing = data;
	if (!st_array_room(&listing->items, listing->count, sizeof *listing->items))
		return st_fail_nomem(err);
	struct listed *item = &listing->items[listing->count++];
	*item = (struct listed){.place = *place, .text = ST_BUF_INIT};
	struct st_str *const views[] = {&item->place.machine, &item->place.path, &item->place.branch,
	                                &item->place.head};
	return st_views_own(views, sizeof views / sizeof *views, &item->text, err);
}

/* `seen` is an age here, as `now` is 0. */
static int copy_remote_agent(void *data, struct st_str label, int64_t age_ns,
                             struct stet_error *err) {
	return copy_agent(data, label, -age_ns, err);
}

static int store_place(struct st_uplink *uplink, struct listed *item, int64_t now,
                       struct stet_error *err) {
	struct st_places *places = uplink->places;
	int64_t id = 0;
	/* Only one process may send for this machine. */
	if (st_str_eq(item->place.machine, st_str(places->machine)) ||
	    uplink->known_count == PLACES_MAX)
		return 0;
	int code = st_registry_put_place(&places->registry, &item->place, now, &id, err);
	for (size_t i = 0; i < item->agents.count && code == 0 && id > 0; i++)
		code = st_registry_put_agent(&places->registry, id, item->agents.labels[i],
		                             now - item->agents.ages_ns[i], err);
	if (code == 0 && id > 0)
		uplink->known[uplink->known_count++] = (struct known){item->place.id, id};
	return code;
}

static int store_listing(struct st_uplink *uplink, struct listing *listing,
                         struct stet_error *err) {
	int64_t now = st_wall_ns();
	int code = begin_writing(uplink->places, false, err);
	if (code != 1)
		return code;
	code = 0;
	uplink->known_count = 0;
	for (size_t i = 0; i < listing->count && code == 0; i++)
		code = store_place(uplink, &listing->items[i], now, err);
	return end_writing(uplink->places, code, err);
}

/* List the places from time to time: between, events alone say what is new. */
static int receive_places(struct st_uplink *uplink, struct stet_error *err) {
	struct listing listing = {0};
	if (uplink->listed_ms && st_now_ms() - uplink->listed_ms < PRESENCE_MS)
		return 0;
	int code = st_hub_places(uplink->hub, copy_place, &listing, err);
	for (size_t i = 0; i < listing.count && code == 0; i++)
		code = st_hub_agents(uplink->hub, listing.items[i].place.id, copy_remote_agent,
		                     &listing.items[i].agents, err);
	if (code == 0)
		code = store_listing(uplink, &listing, err);
	if (code == 0)
		uplink->listed_ms = st_now_ms();
	listing_release(&listing);
	return code;
}

static const struct known *find_known(const struct st_uplink *uplink, int64_t remote) {
	for (size_t i = 0; i < uplink->known_count; i++) {
		if (uplink->known[i].remote == remote)
			return &uplink->known[i];
	}
	return NULL;
}

/*
 * Know all places of a batch. Those that are not listed even now belong to this
 * machine, or were not used for a month.
 */
static int know_places(struct st_uplink *uplink, const struct batch *batch,
                       struct stet_error *err) {
	bool listed = false;
	for (size_t i = 0; i < batch->count; i++) {
		if (find_known(uplink, batch->items[i].place))
			continue;
		uplink->listed_ms = listed ? uplink->listed_ms : 0;
		int code = receive_places(uplink, err);
		if (code < 0)
			return code;
		listed = true;
		if (!find_known(uplink, batch->items[i].place) && uplink->known_count < PLACES_MAX)
			uplink->known[uplink->known_count++] = (struct known){batch->items[i].place, 0};
	}
	return 0;
}

static int store_batch(struct st_uplink *uplink, const struct batch *batch,
                       const struct st_hub_position *position, struct stet_error *err) {
	struct st_registry *registry = &uplink->places->registry;
	int64_t now = st_wall_ns();
	int code = begin_writing(uplink->places, false, err);
	if (code != 1)
		return code;
	code = 0;
	for (size_t i = 0; i < batch->count && code == 0; i++) {
		const struct known *known = find_known(uplink, batch->items[i].place);
		if (known && known->local > 0)
			code = st_registry_put_event(registry, known->local, &batch->items[i].event, now, err);
	}
	if (code == 0)
		code = st_registry_set_position(registry, position, err);
	return end_writing(uplink->places, code, err);
}

static int read_position(struct st_uplink *uplink, struct st_hub_position *position,
                         struct stet_error *err) {
	int code = st_places_lock(uplink->places, false, err);
	if (code != 1)
		return code;
	code = st_registry_position(&uplink->places->registry, position, err);
	st_places_unlock(uplink->places);
	return code;
}

static bool same_position(const struct st_hub_position *a, const struct st_hub_position *b) {
	return a->seq == b->seq && a->mark == b->mark;
}

/*
 * Receive the next events. All processes of a machine are woken by the same ones:
 * the first stores them, and the others see that the position has moved. Returns
 * how many were looked at, or a code.
 */
static int receive_batch(struct st_uplink *uplink, struct stet_error *err) {
	struct st_hub_position from = {0}, position, now;
	struct batch batch = {0};
	int code = read_position(uplink, &from, err);
	position = now = from;
	int count =
		code < 0 ? code : st_hub_receive(uplink->hub, &position, copy_received, &batch, err);
	if (count > 0)
		code = know_places(uplink, &batch, err);
	if (count > 0 && code == 0)
		code = read_position(uplink, &now, err);
	if (count > 0 && code >= 0 && same_position(&from, &now))
		code = store_batch(uplink, &batch, &position, err);
	batch_release(&batch);
	return code < 0 ? code : count;
}

/* ---- tasks ---- */

/* Take the questions that were asked so far. The caller answers each. */
static struct question *take_questions(struct st_uplink *uplink) {
	pthread_mutex_lock(&uplink->lock);
	struct question *first = uplink->questions;
	uplink->questions = NULL;
	for (struct question *question = first; question; question = question->next)
		question->stage = WORKED_ON;
	pthread_mutex_unlock(&uplink->lock);
	return first;
}

/* The hub granted a claim after its caller stopped waiting: the claim holds, so report it. */
static void answer(struct st_uplink *uplink, struct question *question, int code) {
	pthread_mutex_lock(&uplink->lock);
	bool abandoned = question->abandoned;
	question->code = code;
	question->stage = ANSWERED;
	pthread_cond_broadcast(&uplink->synced);
	pthread_mutex_unlock(&uplink->lock);
	if (!abandoned)
		return;
	if (code == 0 && question->request.wish == ST_TASKS_CLAIMED && question->request.task > 0)
		st_write_notice(&uplink->places->ws->writes,
		                "The hub answered late: task %lld is claimed by %s.",
		                (long long)question->request.task, question->owner);
	free(question);
}

/* A hub that cannot be reached is no fault of the call. */
static void answer_all(struct st_uplink *uplink, struct question *questions, int code,
                       const struct stet_error *why) {
	for (struct question *question = questions, *next; question; question = next) {
		next = question->next;
		int own = code == 0 ? st_shared_fulfil(&uplink->shared, uplink->hub, &question->request,
		                                       &question->err)
		                    : st_fail(&question->err, STET_E_NOT_FOUND, "%s", why->message);
		answer(uplink, question, own < 0 && own != STET_E_CONFLICT ? STET_E_NOT_FOUND : own);
	}
}

/* Tasks that this role may not use are a notice; its events go on. */
static int sync_tasks(struct st_uplink *uplink, struct stet_error *err) {
	int code = uplink->tasks_refused ? st_fail(err, STET_E_ACCESS, "The hub refuses tasks.")
	                                 : st_shared_sync(&uplink->shared, uplink->hub, err);
	if (code == STET_E_ACCESS && !uplink->tasks_refused) {
		uplink->tasks_refused = true;
		st_write_notice(&uplink->places->ws->writes, "Tasks are not shared. %s", err->message);
	}
	return code;
}

static int exchange_tasks(struct st_uplink *uplink, struct stet_error *err) {
	struct question *questions = take_questions(uplink);
	int code = sync_tasks(uplink, err);
	answer_all(uplink, questions, code, err);
	return code == STET_E_ACCESS ? 0 : code;
}

/* ---- the thread ---- */

static bool is_stopped(const struct st_uplink *uplink) {
	struct pollfd fd = {uplink->stop_fd, POLLIN, 0};
	return poll(&fd, 1, 0) != 0;
}

/* Register this place, also if it only reads: there has to be a place to tell of others. */
static int register_place(struct st_places *places, struct stet_error *err) {
	struct st_checkout_head head;
	int code = begin_writing(places, true, err);
	if (code != 1)
		return code;
	code = 0;
	if (places->registry.checkout == 0) {
		st_checkout_head(&places->checkout, &head);
		code = st_registry_touch(&places->registry, &places->checkout, &head, places->machine,
		                         st_wall_ns(), err);
	}
	code = end_writing(places, code, err);
	return code < 0 ? code : 1;
}

/* Returns 1 if connected, 0 outside of git repositories, or a code. */
static int connect_hub(struct st_uplink *uplink, struct stet_error *err) {
	struct st_places *places = uplink->places;
	struct st_checkout_head head;
	int code = register_place(places, err);
	if (code != 1)
		return code;
	if (places->checkout.repository[0] == '/')
		return st_fail(err, STET_E_NOT_FOUND,
		               "This repository has no remote by which other machines know it: add one "
		               "with git remote add, or name it with the key project of your "
		               "configuration.");
	st_checkout_head(&places->checkout, &head);
	const struct st_hub_place own = own_place(places, &head);
	code = st_hub_open(uplink->conninfo, uplink->stop_fd, places->checkout.repository, &own,
	                   &uplink->hub, err);
	uplink->touched_ms = uplink->listed_ms = 0;
	uplink->shared.since = 0;
	uplink->tasks_refused = false;
	return code < 0 ? code : 1;
}

static int sync_once(struct st_uplink *uplink, struct stet_error *err) {
	int code = uplink->hub ? 1 : connect_hub(uplink, err);
	if (code != 1)
		return code;
	code = exchange_tasks(uplink, err);
	if (code == 0)
		code = send_events(uplink, err);
	if (code == 0)
		code = send_presence(uplink, err);
	if (code == 0)
		code = receive_places(uplink, err);
	while (code >= 0 && (code = receive_batch(uplink, err)) > 0)
		;
	return code;
}

/* The first fault of an outage is a notice. */
static void fail_sync(struct st_uplink *uplink, const struct stet_error *err) {
	st_hub_close(uplink->hub);
	uplink->hub = NULL;
	uplink->retry_ms = uplink->retry_ms ? 2 * uplink->retry_ms : RETRY_MIN_MS;
	if (uplink->retry_ms > RETRY_MAX_MS)
		uplink->retry_ms = RETRY_MAX_MS;
	if (!uplink->told)
		st_write_notice(&uplink->places->ws->writes,
		                "Other machines are not told what changes here until the hub can be used "
		                "again. %s",
		                err->message);
	uplink->told = true;
}

static void count_round(struct st_uplink *uplink) {
	pthread_mutex_lock(&uplink->lock);
	uplink->rounds++;
	pthread_cond_broadcast(&uplink->synced);
	pthread_mutex_unlock(&uplink->lock);
}

/* Run one round. Returns how long to wait for the next one. */
static int64_t run_round(struct st_uplink *uplink) {
	struct stet_error err = {0};
	int code = sync_once(uplink, &err);
	if (code != 0)
		answer_all(uplink, take_questions(uplink), STET_E_NOT_FOUND, &err);
	/* Two places that send at once can meet; then nothing was sent, and the next try does it. */
	if (code == STET_E_BUSY && uplink->hub)
		return RETRY_MIN_MS;
	if (code < 0 && code != STET_E_CANCELLED)
		fail_sync(uplink, &err);
	count_round(uplink);
	if (code < 0)
		return uplink->retry_ms;
	uplink->retry_ms = 0;
	uplink->told = false;
	return POLL_MS;
}

static void clear_wakes(struct st_uplink *uplink) {
	uint64_t count;
	ssize_t got = read(uplink->wake_fd, &count, sizeof count);
	(void)got;
	got = read(uplink->ask_fd, &count, sizeof count);
	(void)got;
}

/* Returns true if other places have changed something, or the connection is lost. */
static bool drain_hub(struct st_uplink *uplink) {
	int code = uplink->hub ? st_hub_drain(uplink->hub, NULL) : 0;
	if (code < 0) {
		st_hub_close(uplink->hub);
		uplink->hub = NULL;
	}
	return code != 0;
}

/* Wait for an event here or at the hub. While the hub is away, only time and questions count. */
static void wait_for_more(struct st_uplink *uplink, int64_t ms) {
	if (drain_hub(uplink))
		return;
	struct pollfd fds[4] = {
		{uplink->stop_fd, POLLIN, 0},
		{uplink->retry_ms ? -1 : uplink->wake_fd, POLLIN, 0},
		{uplink->hub ? st_hub_fd(uplink->hub) : -1, POLLIN, 0},
		{uplink->ask_fd, POLLIN, 0},
	};
	(void)poll(fds, 4, (int)ms);
	clear_wakes(uplink);
	(void)drain_hub(uplink);
}

static void *run_thread(void *data) {
	struct st_uplink *uplink = data;
	struct pollfd fds[2] = {{uplink->stop_fd, POLLIN, 0}, {uplink->ask_fd, POLLIN, 0}};
	(void)poll(fds, 2, CONNECT_AFTER_MS);
	while (!is_stopped(uplink))
		wait_for_more(uplink, run_round(uplink));
	st_hub_close(uplink->hub);
	uplink->hub = NULL;
	return NULL;
}

/* ---- for the workspace ---- */

int st_uplink_new(struct st_places *places, const char *conninfo, struct st_uplink **out,
                  struct stet_error *err) {
	struct st_uplink *uplink = calloc(1, sizeof *uplink);
	if (!uplink)
		return st_fail_nomem(err);
	uplink->places = places;
	uplink->conninfo = strdup(conninfo);
	uplink->shared.ws = places->ws;
	uplink->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	uplink->ask_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	uplink->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&uplink->lock, NULL);
	st_cond_init(&uplink->synced);
	if (!uplink->conninfo || uplink->wake_fd < 0 || uplink->ask_fd < 0 || uplink->stop_fd < 0) {
		int code =
			uplink->conninfo ? st_fail_errno(err, errno, "Cannot use a hub") : st_fail_nomem(err);
		st_uplink_free(uplink);
		return code;
	}
	*out = uplink;
	return 0;
}

static void signal_fd(int fd) {
	static const uint64_t one = 1;
	ssize_t written = write(fd, &one, sizeof one);
	(void)written;
}

void st_uplink_wake(struct st_uplink *uplink) {
	if (!uplink)
		return;
	pthread_mutex_lock(&uplink->lock);
	if (!uplink->started_by && st_thread_start(&uplink->thread, run_thread, uplink))
		uplink->started_by = getpid();
	pthread_mutex_unlock(&uplink->lock);
	signal_fd(uplink->wake_fd);
}

void st_uplink_await_first(struct st_uplink *uplink, int64_t ms) {
	if (!uplink)
		return;
	st_uplink_wake(uplink);
	struct timespec deadline = st_cond_deadline(ms);
	pthread_mutex_lock(&uplink->lock);
	while (uplink->rounds == 0 && uplink->started_by == getpid() &&
	       pthread_cond_timedwait(&uplink->synced, &uplink->lock, &deadline) == 0)
		;
	pthread_mutex_unlock(&uplink->lock);
}

static bool has_synced(struct st_uplink *uplink) {
	pthread_mutex_lock(&uplink->lock);
	bool synced = uplink->rounds > 0;
	pthread_mutex_unlock(&uplink->lock);
	return synced;
}

static bool is_running(struct st_uplink *uplink) {
	pthread_mutex_lock(&uplink->lock);
	bool running = uplink->started_by == getpid();
	pthread_mutex_unlock(&uplink->lock);
	return running;
}

/* Wait a while for the answer. Returns true when it is there. */
static bool await_answer(struct st_uplink *uplink, const struct question *question, int64_t ms) {
	struct timespec deadline = st_cond_deadline(ms);
	pthread_mutex_lock(&uplink->lock);
	while (question->stage != ANSWERED &&
	       pthread_cond_timedwait(&uplink->synced, &uplink->lock, &deadline) == 0)
		;
	bool answered = question->stage == ANSWERED;
	pthread_mutex_unlock(&uplink->lock);
	return answered;
}

/* Take a question back. Returns true if the thread had begun to work on it, which frees it then. */
static bool abandon(struct st_uplink *uplink, struct question *question) {
	pthread_mutex_lock(&uplink->lock);
	for (struct question **at = &uplink->questions; *at; at = &(*at)->next) {
		if (*at == question) {
			*at = question->next;
			break;
		}
	}
	bool begun = question->stage == WORKED_ON;
	question->abandoned = begun;
	pthread_mutex_unlock(&uplink->lock);
	return begun;
}

/* The question was answered: pass that on. */
static int take_answer(struct question *question, struct st_task_request *request,
                       struct stet_error *err) {
	int code = question->code;
	request->task = question->request.task;
	if (code < 0)
		code = st_fail(err, code, "%s", question->err.message);
	free(question);
	return code;
}

/* @code  Why, unless it is that time is over. */
static int give_up(struct st_uplink *uplink, struct question *question,
                   struct st_task_request *request, int code, struct stet_error *err) {
	bool begun = abandon(uplink, question);
	if (!begun && question->stage == ANSWERED)
		return take_answer(question, request, err);
	if (!begun)
		free(question);
	if (code < 0)
		return code;
	return st_fail(err, begun ? STET_E_BUSY : STET_E_NOT_FOUND,
	               "The hub has not answered in time.");
}

static int await_or_give_up(struct st_uplink *uplink, struct question *question, int64_t ms,
                            struct st_task_request *request, struct stet_error *err) {
	int64_t until = st_now_ms() + ms;
	while (!await_answer(uplink, question, SLICE_MS)) {
		int code = st_cancel_check_now(err);
		if (code < 0 || st_now_ms() >= until)
			return give_up(uplink, question, request, code, err);
	}
	return take_answer(question, request, err);
}

int st_uplink_ask(struct st_uplink *uplink, struct st_task_request *request, int64_t ms,
                  struct stet_error *err) {
	if (request->wish == ST_TASKS_SEEN && has_synced(uplink))
		return 0;
	struct question *question = calloc(1, sizeof *question);
	if (!question)
		return st_fail_nomem(err);
	question->request = *request;
	snprintf(question->owner, sizeof question->owner, "%s", request->owner ? request->owner : "");
	question->request.owner = question->owner;
	pthread_mutex_lock(&uplink->lock);
	question->next = uplink->questions;
	uplink->questions = question;
	pthread_mutex_unlock(&uplink->lock);
	signal_fd(uplink->ask_fd);
	st_uplink_wake(uplink);
	if (!is_running(uplink))
		return give_up(uplink, question, request, 0, err);
	return await_or_give_up(uplink, question, ms, request, err);
}

void st_uplink_free(struct st_uplink *uplink) {
	if (!uplink)
		return;
	if (uplink->started_by == getpid()) {
		signal_fd(uplink->stop_fd);
		pthread_join(uplink->thread, NULL);
	}
	st_close_at(&uplink->wake_fd);
	st_close_at(&uplink->ask_fd);
	st_close_at(&uplink->stop_fd);
	pthread_cond_destroy(&uplink->synced);
	pthread_mutex_destroy(&uplink->lock);
	free(uplink->conninfo);
	free(uplink);
}
