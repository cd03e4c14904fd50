/**
 * The places of a workspace: sends the changes of the workspace's sessions to the
 * registry, and changes elsewhere to the sessions.
 *
 * Sessions report their file events after the call's transaction. The background
 * worker stores them some milliseconds later, so that no call waits;
 * closing the workspace stores the rest. Every fault is one notice, and
 * then the workspace goes on without its places.
 *
 * A workspace outside of git repositories has no places, and costs nothing.
 */
#ifndef STET_CORE_PLACES_PLACES_H
#define STET_CORE_PLACES_PLACES_H

#include "core/places/reach.h"
#include "core/places/registry.h"
#include "core/session/session.h"

enum { ST_PLACES_QUEUE_MAX = 1000, ST_PLACES_LABELS_MAX = 32 };

struct st_uplink;

struct st_places_queue {
	/** Guards the members of this struct. */
	pthread_mutex_t lock;
	struct st_places_event *events;
	size_t count;
	/** Who was active since the last flush. */
	char labels[ST_PLACES_LABELS_MAX][ST_LABEL_MAX];
	size_t label_count;
	/** When presence was scheduled last, on the monotonic clock. */
	int64_t touched_ms;
	/** Events were dropped, because the registry could not be written for long. */
	bool overflowed;
};

struct st_places {
	struct stet_workspace *ws;
	struct st_places_queue queue;
	struct st_background_task task;
	/** For the background worker: how many flushes in a row found another process writing. */
	unsigned tries;
	/** Set by a fault, or outside of git: nothing is recorded any more. */
	_Atomic bool off;
	/** Held while the registry is used; guards everything below. */
	pthread_mutex_t lock;
	/** Whether the checkout was looked for. */
	bool located;
	struct st_checkout checkout;
	char machine[33];
	struct st_registry registry;
	/** The connection to other machines; NULL until it is needed, or without a hub. */
	struct st_uplink *uplink;
	/** The registry was cleaned by this process. */
	bool cleaned;
	/** When the registry was looked for in vain, on the monotonic clock. */
	int64_t missed_ms;
	/** The registry's version when it had no events of others. */
	int64_t quiet_version;
	bool quiet;
	/** A damaged registry was replaced by this process. */
	bool replaced;
	/** This process does little: st_places_be_brief(). */
	bool brief;
	/** Reports that the registry's files changed; -1 until somebody subscribes. */
	int inotify;
	/** The last event of others that a subscriber was told of. */
	int64_t arrived;
};

void st_places_init(struct st_places *places, struct stet_workspace *ws);

/** Store what is queued, and release. The background worker must have ended. */
void st_places_release(struct st_places *places);

/** Queue the events of a session, which are stored in its state now. Thread-safe. */
void st_places_report(struct st_places *places, const struct stet_session *session);

/** Note that a session is active. Thread-safe, and nearly free. */
void st_places_touch(struct st_places *places, const struct stet_session *session);

/**
 * Say that this process does little and its answer is awaited: it leaves the log
 * of the registry to others, and opens the registry only if anything was written
 * to it since a process of this workspace found no events of others there.
 */
void st_places_be_brief(struct st_places *places);

/**
 * Store the queued events now, before the places are listed. Waits briefly for other
 * processes, and drops the reason if it fails. Thread-safe.
 */
void st_places_flush_own(struct st_places *places);

/** Wait briefly for what the hub says, if it was not asked by this process yet. */
void st_places_await_hub(struct st_places *places);

/** Ask the hub about tasks, as struct st_state_observer says. */
struct st_task_request;
[[nodiscard]] int st_places_tasks(struct st_places *places, struct st_task_request *request,
                                  struct stet_error *err);

/**
 * Append a line for each other place in which a file is changed, unless the
 * session was told of this change before. Appends nothing if nobody else is there;
 * never waits for other processes.
 *
 * @reach  Which files the caller may know of; NULL for all.
 * @path   Below the root.
 * @now    The version that the answer shows, or that the session has just written.
 */
void st_places_tell(struct st_places *places, struct stet_session *session,
                    const struct st_reach *reach, const char *path, const struct st_hash *now,
                    struct st_buf *out);

/**
 * A descriptor that becomes readable when another process may have reported
 * something.
 *
 * @return A descriptor, STET_E_NOT_FOUND if this is no checkout, or another code.
 */
[[nodiscard]] int st_places_fd(struct st_places *places, struct stet_error *err);

/** Tell the subscribers of other processes that something is stored. */
void st_places_announce(void);

/** Whether others reported changes since the last call. Never blocks. */
bool st_places_arrived(struct st_places *places);

/**
 * Whether git may have made a version of a file, by a merge or a checkout, since the
 * last event of the file: then the checkout starts from that version.
 */
bool st_places_is_moved(const struct st_checkout *checkout, const struct st_registry_event *last,
                        const struct st_version *version);

/** Find the checkout of the workspace; places->lock must be held. False if there is none. */
bool st_places_locate_locked(struct st_places *places);

/** Open the registry if it exists; places->lock must be held. Returns 1, 0, or a code. */
[[nodiscard]] int st_places_open_locked(struct st_places *places);

/**
 * Take the lock and open the registry.
 *
 * @return 1 with the lock held (st_places_unlock()), 0 if there is no checkout or
 *         no registry, or a code.
 */
[[nodiscard]] int st_places_lock(struct st_places *places, bool make, struct stet_error *err);
/** The same for a list that somebody asked for: it waits a while for other processes. */
[[nodiscard]] int st_places_lock_to_list(struct st_places *places, struct stet_error *err);
void st_places_unlock(struct st_places *places);

/**
 * Remove a registry that a call found to be damaged, once; the next one to open it makes
 * a new one. Returns false if it is not damaged. The lock must be held.
 */
bool st_places_replace_damaged(struct st_places *places);

/** Append the workspace's root relative to its checkout, with a slash at the end; nothing if they are the same. */
void st_places_prefix(struct st_places *places, struct st_buf *out);

#endif
