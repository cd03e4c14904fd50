/**
 * Tasks at the hub, which all places of a repository share.
 *
 * A task has an id that its place made, so that sending it again is harmless. A claim
 * is a part of its task: an owner and a place, until when it holds, and a fence, which
 * grows with each claim. A place finishes a task under a fence, and the hub
 * refuses that if the claim has passed to others.
 *
 * Each change gives a task a new `rev`, larger than all before, also after the hub was
 * restored from a backup: of two versions of a task the one with the larger rev is later.
 */
#ifndef STET_HUB_TASKS_H
#define STET_HUB_TASKS_H

#include "hub/hub.h"

enum {
	/** The most tasks that are sent or received at once. */
	ST_HUB_TASKS = 100,
	/** The bytes of an id. */
	ST_TASK_KEY = 32,
	/** The largest number of a task that a place accepts from the hub. */
	ST_TASK_NUMBER_MAX = 1'000'000'000,
};

/** A task as the hub has it. Texts are borrowed for a call. */
struct st_hub_task {
	/** 32 hexadecimal digits. */
	struct st_str id;
	int64_t number, status, priority, fence, rev;
	struct st_str description, owner;
	bool removed;
	/** This place has the claim, or finished it. */
	bool own;
	/** Where its owner works, if that is another place. */
	struct st_str path, branch;
	/** Whether a claim expires, and in how many nanoseconds. */
	bool expires;
	int64_t left_ns;
};

/** A change of a task by this place: the whole task, and what of it is new. Texts are borrowed. */
struct st_hub_task_change {
	struct st_str id, description, owner;
	int64_t number, status, priority;
	bool removed;
	/** The fence of the claim under which it was changed; 0 for none. */
	int64_t fence;
	/** The last rev of a task that the hub may have forgotten; otherwise 0. */
	int64_t rev;
	/** Letters of what is new: d(escription), p(riority), s(tatus), r(emoved). */
	char sets[8];
};

typedef int st_hub_task_fn(void *data, const struct st_hub_task *task, struct stet_error *err);

/**
 * Send changes, ST_HUB_TASKS at most.
 *
 * @claim_ms  How long a claim holds.
 * @each      Called with each task as it is now: changed, or as the hub leaves it.
 */
[[nodiscard]] int st_hub_put_tasks(struct st_hub *hub, const struct st_hub_task_change *changes,
                                   size_t count, int64_t claim_ms, st_hub_task_fn *each, void *data,
                                   struct stet_error *err);

/**
 * Claim a task for an agent of this place.
 *
 * @id      The task; empty for the first one that is free.
 * @return  1 after calling `each` with it, 0 if it is not free or none is, or a code.
 */
[[nodiscard]] int st_hub_claim_task(struct st_hub *hub, const char *owner, const char *id,
                                    int64_t claim_ms, st_hub_task_fn *each, void *data,
                                    struct stet_error *err);

/** Extend the claims of the agents of this place that were active lately (st_hub_touch()). */
[[nodiscard]] int st_hub_renew_tasks(struct st_hub *hub, int64_t claim_ms, struct stet_error *err);

/** Take the number of a new task; 0 if the hub has no sound one. */
[[nodiscard]] int st_hub_take_number(struct st_hub *hub, int64_t *number, struct stet_error *err);

/**
 * Receive tasks that were changed since the last call, ST_HUB_TASKS at most.
 *
 * @since    From where on, 0 for all; moved on.
 * @past_ns  How far back to list tasks that were finished or removed.
 * @return   The number of tasks, 0 at the end, or a code.
 */
[[nodiscard]] int st_hub_receive_tasks(struct st_hub *hub, int64_t *since, int64_t past_ns,
                                       st_hub_task_fn *each, void *data, struct stet_error *err);

#endif
