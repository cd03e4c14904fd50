#include "fs/watch_settle.h"

#include <stdlib.h>

static void append_last(struct st_settle *settle, struct st_pending *pending) {
	pending->by_last = (struct st_pending_link){.prev = settle->last_tail};
	if (settle->last_tail)
		settle->last_tail->by_last.next = pending;
	else
		settle->last_head = pending;
	settle->last_tail = pending;
}

static void remove_last(struct st_settle *settle, struct st_pending *pending) {
	struct st_pending_link *link = &pending->by_last;
	if (link->prev)
		link->prev->by_last.next = link->next;
	else
		settle->last_head = link->next;
	if (link->next)
		link->next->by_last.prev = link->prev;
	else
		settle->last_tail = link->prev;
}

static void append_first(struct st_settle *settle, struct st_pending *pending) {
	pending->by_first = (struct st_pending_link){.prev = settle->first_tail};
	if (settle->first_tail)
		settle->first_tail->by_first.next = pending;
	else
		settle->first_head = pending;
	settle->first_tail = pending;
}

static void remove_first(struct st_settle *settle, struct st_pending *pending) {
	struct st_pending_link *link = &pending->by_first;
	if (link->prev)
		link->prev->by_first.next = link->next;
	else
		settle->first_head = link->next;
	if (link->next)
		link->next->by_first.prev = link->prev;
	else
		settle->first_tail = link->prev;
}

void st_settle_done(struct st_settle *settle, struct st_pending *pending) {
	remove_first(settle, pending);
	remove_last(settle, pending);
	pending->node->pending = NULL;
	settle->count--;
	free(pending);
}

void st_settle_release(struct st_settle *settle) {
	while (settle->first_head)
		st_settle_done(settle, settle->first_head);
}

struct st_pending *st_settle_touch(struct st_settle *settle, struct st_watch_node *node,
                                   int64_t now_ms) {
	struct st_pending *pending = node->pending;
	if (pending) {
		remove_last(settle, pending);
	} else {
		pending = malloc(sizeof *pending);
		if (!pending)
			return NULL;
		*pending = (struct st_pending){.node = node, .first_ms = now_ms};
		node->pending = pending;
		append_first(settle, pending);
		settle->count++;
	}
	pending->last_ms = now_ms;
	append_last(settle, pending);
	return pending;
}

bool st_settle_is_overdue(const struct st_settle *settle, const struct st_pending *pending,
                          int64_t now_ms) {
	return now_ms - pending->first_ms >= settle->bound_ms;
}

struct st_pending *st_settle_due(const struct st_settle *settle, int64_t now_ms) {
	if (settle->last_head && now_ms - settle->last_head->last_ms >= settle->wait_ms)
		return settle->last_head;
	if (settle->first_head && st_settle_is_overdue(settle, settle->first_head, now_ms))
		return settle->first_head;
	return NULL;
}

int64_t st_settle_deadline(const struct st_settle *settle) {
	if (!settle->first_head)
		return -1;
	int64_t rest = settle->last_head->last_ms + settle->wait_ms;
	int64_t bound = settle->first_head->first_ms + settle->bound_ms;
	return rest < bound ? rest : bound;
}
