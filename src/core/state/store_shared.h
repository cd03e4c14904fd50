/**
 * Tasks that are shared through a hub. Sessions read and change the local tasks, with or
 * without the hub. Beside them the store has the hub's last version of each shared task.
 * stet sends the difference: so it needs no journal while the hub is away, and sends no
 * change twice.
 *
 * A task that came from an agent's own to-do list is not shared.
 *
 * These functions check everything that a hub sends. Call them within a transaction.
 */
#ifndef STET_CORE_STATE_STORE_SHARED_H
#define STET_CORE_STATE_STORE_SHARED_H

#include "core/state/store.h"
#include "hub/tasks.h"

/** Whether a transaction that writes has something to do in st_store_shared_changes(). */
[[nodiscard]] int st_store_shared_is_behind(struct st_store *store, bool *behind,
                                            struct stet_error *err);

typedef int st_shared_change_fn(void *data, const struct st_hub_task_change *change,
                                struct stet_error *err);

/**
 * Give ids to new tasks, and call a function for tasks that the hub does not have as
 * they are here, ST_HUB_TASKS at most.
 */
[[nodiscard]] int st_store_shared_changes(struct st_store *store, st_shared_change_fn *each,
                                          void *data, struct stet_error *err);

/** The version of a task that the hub has. */
struct st_shared_seen {
	char id[ST_TASK_KEY + 1];
	int64_t rev;
};

/**
 * Call a function for tasks that the hub had once in a later version than now.
 *
 * @seen  All tasks of the hub, sorted by id.
 */
[[nodiscard]] int st_store_shared_forgotten(struct st_store *store,
                                            const struct st_shared_seen *seen, size_t count,
                                            st_shared_change_fn *each, void *data,
                                            struct stet_error *err);

/** How far back the hub must list finished tasks so that this place misses none, in nanoseconds. */
[[nodiscard]] int st_store_shared_past(struct st_store *store, int64_t *past_ns,
                                       struct stet_error *err);

/** The outcome for a task. */
struct st_shared_result {
	/** The local number; 0 if the task is invalid, or is unknown and removed. */
	int64_t id;
	/** The hub did not take the status or the removal that was sent. */
	bool refused;
	/** It was finished here, and the hub has forgotten that and given it to others. */
	bool lost;
};

/**
 * Store a task of the hub. Fields that were changed here meanwhile keep their local value.
 *
 * @sent  The change that the hub answers with this task; NULL for none.
 */
[[nodiscard]] int st_store_shared_put(struct st_store *store, const struct st_hub_task *task,
                                      const struct st_hub_task_change *sent,
                                      struct st_shared_result *result, struct stet_error *err);

/** Whether st_store_shared_put() would change something. Other processes may have stored the task. */
[[nodiscard]] int st_store_shared_differs(struct st_store *store, const struct st_hub_task *task,
                                          bool *differs, struct stet_error *err);

/** Find the id of a task by its number here. Returns 1, 0 if it is not shared, or a code. */
[[nodiscard]] int st_store_shared_id(struct st_store *store, int64_t task, char id[ST_TASK_KEY + 1],
                                     struct stet_error *err);

#endif
