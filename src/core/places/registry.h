/**
 * The registry: an SQLite database in the user's state directory that lists the
 * checkouts, who is active in each, and what they changed. All processes of the
 * user share it.
 *
 * It is bounded and cleans itself: the newest ST_REGISTRY_EVENTS changes of a
 * repository stay, nothing older than 30 days, and no checkout that is gone. It
 * is a help, never a condition: callers treat every failure as "nothing known".
 *
 * Anyone may have named the files in it: their names are untrusted data.
 *
 * A registry is for one thread at a time.
 */
#ifndef STET_CORE_PLACES_REGISTRY_H
#define STET_CORE_PLACES_REGISTRY_H

#include "core/places/checkout.h"
#include "core/session/file_event.h"
#include "core/state/db.h"

enum {
	/** Limits: events per repository, checkouts, agents per checkout, hunks per event. */
	ST_REGISTRY_EVENTS = 10000,
	ST_REGISTRY_CHECKOUTS = 256,
	ST_REGISTRY_AGENTS = 64,
	ST_REGISTRY_HUNKS = 64,
};

/** How long an edit counts as a lease: others are told that the file is being edited. */
#define ST_LEASE_NS ((int64_t)10 * 60 * 1000000000)

struct st_registry {
	struct st_db *db;
	/** The file, to notice that it was replaced. */
	dev_t dev;
	ino_t ino;
	/** The numbers of this repository and checkout; 0 if they are not registered yet. */
	int64_t repository, checkout;
};

#define ST_REGISTRY_INIT \
	{ 0 }

/**
 * Open the registry.
 *
 * @make   Create it if it is missing.
 * @return 1, 0 if it is missing, STET_E_BUSY (another process creates it; try
 *         again), STET_E_ACCESS (of a newer stet, or no place to store it),
 *         STET_E_NOMEM, STET_E_NO_SPACE, STET_E_IO.
 */
[[nodiscard]] int st_registry_open(struct st_registry *registry, bool make, struct stet_error *err);
void st_registry_release(struct st_registry *registry);

/** Release a registry that turned out to be damaged, and remove its file unless it was replaced. */
void st_registry_discard(struct st_registry *registry);

/**
 * A number that changes with each write to the registry, without opening it.
 *
 * @return 0 if there is no registry, or a write of this moment may follow unseen.
 */
uint64_t st_registry_stamp(void);

/** Find the numbers of a checkout and its repository; they stay 0 if it is not registered. */
[[nodiscard]] int st_registry_find(struct st_registry *registry, const struct st_checkout *checkout,
                                   const char *machine, struct stet_error *err);

/** A registered checkout. Strings are borrowed for a call. */
struct st_registered {
	int64_t id;
	struct st_str machine, path, branch, head;
	/** When somebody was last active there: nanoseconds since 1970. */
	int64_t seen;
};

/** An event in the registry: an agent read or changed a file. Strings are borrowed for a call. */
struct st_registry_event {
	/** The checkout, and the number of the event in its repository. */
	int64_t checkout, number;
	struct st_str agent, path;
	/** Its name before a move; empty for none. */
	struct st_str moved_from;
	int64_t at;
	/** The versions before and after. `base` is what the changes of this checkout started from. */
	struct st_version before, after, base;
	/** Whether base is known. */
	bool based;
	/** Lines changed between base and after, ST_REGISTRY_HUNKS at most; counted from 0. */
	const struct st_hunk *hunks;
	size_t hunk_count;
	/** There are more hunks, or the lines are not known. */
	bool more;
};

struct st_hunk;

/* ---- writing, in a transaction ---- */

/** Begin, commit or roll back. Begin returns STET_E_BUSY at once if another process writes. */
[[nodiscard]] int st_registry_begin(struct st_registry *registry, struct stet_error *err);
[[nodiscard]] int st_registry_commit(struct st_registry *registry, struct stet_error *err);
void st_registry_rollback(struct st_registry *registry);

/** Register the checkout, or note that somebody is active there. */
[[nodiscard]] int st_registry_touch(struct st_registry *registry,
                                    const struct st_checkout *checkout,
                                    const struct st_checkout_head *head, const char *machine,
                                    int64_t now, struct stet_error *err);

/** Note that an agent is active in the checkout. */
[[nodiscard]] int st_registry_touch_agent(struct st_registry *registry, const char *label,
                                          int64_t now, struct stet_error *err);

/** Add an event of the checkout; its numbers are filled in. */
[[nodiscard]] int st_registry_add(struct st_registry *registry,
                                  const struct st_registry_event *event, struct stet_error *err);

/** Remove what is old, too much, or gone; once an hour. */
[[nodiscard]] int st_registry_clean(struct st_registry *registry, const char *machine, int64_t now,
                                    struct stet_error *err);

/* ---- reading ---- */

/** A number that changes when another process has written. */
[[nodiscard]] int st_registry_version(struct st_registry *registry, int64_t *version,
                                      struct stet_error *err);

/** Call a function for each checkout of the repository, by number. */
[[nodiscard]] int st_registry_checkouts(struct st_registry *registry,
                                        int (*each)(void *data, const struct st_registered *found,
                                                    struct stet_error *err),
                                        void *data, struct stet_error *err);

/** Call a function for one checkout, if it is still registered. */
[[nodiscard]] int st_registry_checkout(struct st_registry *registry, int64_t id,
                                       int (*each)(void *data, const struct st_registered *found,
                                                   struct stet_error *err),
                                       void *data, struct stet_error *err);

/** Call a function for each agent of a checkout, the one active last first. */
[[nodiscard]] int st_registry_agents(struct st_registry *registry, int64_t checkout,
                                     int (*each)(void *data, struct st_str label, int64_t seen,
                                                 struct stet_error *err),
                                     void *data, struct stet_error *err);

typedef int st_registry_event_fn(void *data, const struct st_registry_event *event,
                                 struct stet_error *err);

/** Call a function for the last event of each file of a checkout, newest first. */
[[nodiscard]] int st_registry_files(struct st_registry *registry, int64_t checkout,
                                    st_registry_event_fn *each, void *data, struct stet_error *err);

/** Call a function for the last event of a file in each other checkout. */
[[nodiscard]] int st_registry_others(struct st_registry *registry, struct st_str path,
                                     st_registry_event_fn *each, void *data,
                                     struct stet_error *err);

/** Call a function for the last event of a file in this checkout, if there is one. */
[[nodiscard]] int st_registry_own(struct st_registry *registry, struct st_str path,
                                  st_registry_event_fn *each, void *data, struct stet_error *err);

/** The number of the last event in other checkouts of the repository; 0 for none. */
[[nodiscard]] int st_registry_last(struct st_registry *registry, int64_t *number,
                                   struct stet_error *err);

#endif
