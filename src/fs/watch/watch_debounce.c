#include "fs/watch/watch_debounce.h"

#include <stdlib.h>

static void append_last(struct st_debounce *debounce, struct st_pending *pending) {
	pending->by_last = (struct st_pending_link){.prev = debounce->last_tail};
	if (debounce->last_tail)
		debounce->last_tail->by_last.next = pending;
	else
		debounce->last_head = pending;
	debounce->last_tail = pending;
}

static void remove_last(struct st_debounce *debounce, struct st_pending *pending) {
	struct st_pending_link *link = &pending->by_last;
	if (link->prev)
		link->prev->by_last.next = link->next;
	else
		debounce->last_head = link->next;
	if (link->next)
		link->next->by_last.prev = link->prev;
	else
		debounce->last_tail = link->prev;
}

static void append_first(struct st_debounce *debounce, struct st_pending *pending) {
	pending->by_first = (struct st_pending_link){.prev = debounce->first_tail};
	if (debounce->first_tail)
		debounce->first_tail->by_first.next = pending;
	else
		debounce->first_head = pending;
	debounce->first_tail = pending;
}

static void remove_first(struct st_debounce *debounce, struct st_pending *pending) {
	struct st_pending_link *link = &pending->by_first;
	if (link->prev)
		link->prev->by_first.next = link->next;
	else
		debounce->first_head = link->next;
	if (link->next)
		link->next->by_first.prev = link->prev;
	else
		debounce->first_tail = link->prev;
}

void st_debounce_done(struct st_debounce *debounce, struct st_pending *pending) {
	remove_first(debounce, pending);
	remove_last(debounce, pending);
	pending->node->pending = NULL;
	debounce->count--;
	free(pending);
}

void st_debounce_release(struct st_debounce *debounce) {
	while (debounce->first_head)
		st_debounce_done(debounce, debounce->first_head);
}

struct st_pending *st_debounce_touch(struct st_debounce *debounce, struct st_watch_node *node,
                                     int64_t now_ms) {
	struct st_pending *pending = node->pending;
	if (pending) {
		remove_last(debounce, pending);
	} else {
		pending = malloc(sizeof *pending);
		if (!pending)
			return NULL;
		*pending = (struct st_pending){.node = node, .first_ms = now_ms};
		node->pending = pending;
		append_first(debounce, pending);
		debounce->count++;
	}
	pending->last_ms = now_ms;
	append_last(debounce, pending);
	return pending;
}

bool st_debounce_is_overdue(const struct st_debounce *debounce, const struct st_pending *pending,
                            int64_t now_ms) {
	return now_ms - pending->first_ms >= debounce->bound_ms;
}

struct st_pending *st_debounce_due(const struct st_debounce *debounce, int64_t now_ms) {
	if (debounce->last_head && now_ms - debounce->last_head->last_ms >= debounce->wait_ms)
		return debounce->last_head;
	if (debounce->first_head && st_debounce_is_overdue(debounce, debounce->first_head, now_ms))
		return debounce->first_head;
	return NULL;
}

int64_t st_debounce_deadline(const struct st_debounce *debounce) {
	if (!debounce->first_head)
		return -1;
	int64_t rest = debounce->last_head->last_ms + debounce->wait_ms;
	int64_t bound = debounce->first_head->first_ms + debounce->bound_ms;
	return rest < bound ? rest : bound;
}
