/* Tell a session what other places did to a file that it reads or edits. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/quote.h"
#include "core/places/answers.h"
#include "core/places/places.h"
#include "core/places/queue.h"
#include "core/state/state.h"
#include "fs/path/sys.h"
#include "text/diff/merge.h"

enum {
	/* How long to wait for the background worker, which writes. */
	WAIT_MS = 5,
	/* The most places in one answer; the next one tells of the rest. */
	PLACES_MAX = 3,
	RANGES_MAX = 5,
	FILE_BYTES_MAX = 2 << 20,
};

/* Older changes are merged, or forgotten. */
#define AGE_MAX_NS ((int64_t)7 * 24 * 3600 * 1000000000)

struct telling {
	struct st_places *places;
	struct stet_session *session;
	const struct st_reach *reach;
	const char *path;
	const struct st_hash *now;
	/* The version from which this checkout's own changes started; the current one if it made none. */
	struct st_version base;
	size_t told;
	struct st_buf *out;
};

/* Another place, and its current version of the file; on another machine the one reported last. */
struct elsewhere {
	/* This machine's id. */
	const char *machine;
	struct st_buf path, branch, bytes;
	bool near, exists;
	struct st_hash hash;
};

static void elsewhere_release(struct elsewhere *there) {
	st_buf_release(&there->path);
	st_buf_release(&there->branch);
	st_buf_release(&there->bytes);
}

/* ---- the other place ---- */

static int take_place(void *data, const struct st_registered *found, struct stet_error *err) {
	struct elsewhere *there = data;
	there->near = st_str_eq(found->machine, st_str(there->machine));
	st_buf_add(&there->path, found->path);
	st_buf_add(&there->branch, found->branch);
	return there->path.failed || there->branch.failed ? st_fail_nomem(err) : 0;
}

/* Read a regular file of at most FILE_BYTES_MAX bytes. False if it cannot be read. */
static bool read_bytes(int fd, struct st_buf *bytes) {
	struct stat st;
	if (st_retry(fstat(fd, &st)) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX ||
	    !st_buf_reserve(bytes, (size_t)st.st_size))
		return false;
	ssize_t got = st_retry(pread(fd, bytes->ptr, (size_t)st.st_size, 0));
	if (got != st.st_size)
		return false;
	bytes->len = (size_t)got;
	bytes->ptr[bytes->len] = '\0';
	return true;
}

/* Read the version there. False if it is not known, or the place is gone. */
static bool read_disk(struct elsewhere *there, struct st_str path) {
	st_auto(st_buf) name = ST_BUF_INIT;
	st_autofd top = st_retry(open(st_buf_cstr(&there->path), O_PATH | O_DIRECTORY | O_CLOEXEC));
	st_buf_add(&name, path);
	if (top < 0 || name.failed || strlen(name.ptr) != name.len)
		return false;
	const struct open_how how = {
		.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	st_autofd fd = st_retry(st_openat2(top, name.ptr, &how));
	there->exists = fd >= 0;
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR;
	return read_bytes(fd, &there->bytes) &&
	       st_hash_of(st_buf_str(&there->bytes), &there->hash, NULL) == 0;
}

/* The bytes of another machine are not here, whatever stands at the same path. */
static bool find_there(struct elsewhere *there, const struct st_registry_event *event) {
	if (there->near)
		return read_disk(there, event->path);
	there->exists = event->after.exists;
	there->hash = event->after.hash;
	return true;
}

static bool is_within_reach(const struct telling *telling, const struct elsewhere *there,
                            struct st_str path) {
	return !telling->reach ||
	       (there->near && st_reach_has(telling->reach, st_buf_str(&there->path), path));
}

/* ---- the verdict ---- */

static void add_ranges(struct st_buf *out, const char *one, const char *many,
                       const struct st_merge_lines *lines, size_t count) {
	bool single = count == 1 && lines[0].count <= 1;
	st_buf_addf(out, " %s ", single ? one : many);
	for (size_t i = 0; i < count && i < RANGES_MAX; i++) {
		size_t first = lines[i].start + (lines[i].count > 0);
		st_buf_addf(out, "%s%zu", i ? "," : "", first);
		if (lines[i].count > 1)
			st_buf_addf(out, "-%zu", first + lines[i].count - 1);
	}
	if (count > RANGES_MAX)
		st_buf_adds(out, ",...");
}

/* Say whether two texts merge, and which lines of the first overlap if not. */
static void add_merge(struct st_buf *out, struct st_str base, struct st_str mine,
                      struct st_str theirs) {
	st_auto(st_buf) merged = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	struct st_merge_lines lines[RANGES_MAX + 1];
	size_t count = 0;
	int code = st_merge(base, mine, theirs, &merged, &result, NULL);
	if (code == 0)
		st_buf_adds(out, "; it merges with yours");
	if (code != STET_E_CONFLICT)
		return;
	for (; count < result.overlap_count && count <= RANGES_MAX; count++)
		lines[count] = result.overlaps[count].agent;
	st_buf_adds(out, "; it overlaps yours in");
	add_ranges(out, "line", "lines", lines, count);
}

/* Whether git has changed the file there since the event. */
static bool is_moved_there(const struct st_registry_event *event, const struct elsewhere *there) {
	const struct st_version version = {.exists = there->exists, .hash = there->hash};
	st_auto(st_checkout) checkout = {0};
	return there->near && !st_version_eq(&event->after, &version) &&
	       (st_checkout_find(there->path.ptr, &checkout, NULL) != 1 ||
	        st_places_is_moved(&checkout, event, &version));
}

/*
 * Both started from the same bytes: these are what git would merge from, unless
 * the history between them is odd. Otherwise `stet forecast` asks git.
 */
static void add_verdict(const struct telling *telling, const struct st_registry_event *event,
                        const struct elsewhere *there, struct st_buf *out) {
	struct stet_workspace *ws = telling->places->ws;
	bool same_base = event->based && st_version_eq(&event->base, &telling->base);
	if (!same_base || !there->exists || is_moved_there(event, there)) {
		st_buf_adds(out, there->near ? "; stet forecast says whether it merges" : "");
		return;
	}
	if (event->base.exists && st_hash_eq(&event->base.hash, telling->now)) {
		st_buf_adds(out, "; it merges: the file is unchanged here");
		return;
	}
	if (!there->near)
		return;
	struct st_blob *mine = st_workspace_base(ws, telling->now);
	struct st_blob *base = event->base.exists ? st_workspace_base(ws, &event->base.hash) : NULL;
	if (mine && (base || !event->base.exists))
		add_merge(out, base ? st_strn(base->bytes, base->len) : st_str(""),
		          st_strn(mine->bytes, mine->len), st_buf_str(&there->bytes));
	st_blob_put(mine);
	st_blob_put(base);
}

/* ---- the line ---- */

static void add_lines(const struct st_registry_event *event, struct st_buf *out) {
	struct st_merge_lines lines[ST_REGISTRY_HUNKS];
	for (size_t i = 0; i < event->hunk_count; i++)
		lines[i] = (struct st_merge_lines){event->hunks[i].new_start, event->hunks[i].new_count};
	if (event->hunk_count == 0)
		return;
	st_buf_addc(out, ',');
	add_ranges(out, "line", "lines", lines, event->hunk_count);
}

/* A name that was chosen there. */
static void add_name(struct st_buf *out, const struct elsewhere *there, struct st_str name,
                     size_t max) {
	(there->near ? st_quote_name_max : st_quote_foreign)(out, name, max);
}

static void add_line(const struct telling *telling, const struct st_registry_event *event,
                     const struct elsewhere *there, struct st_buf *out) {
	int64_t age = st_wall_ns() - event->at;
	const char *what = !there->exists      ? "was removed by "
	                   : age < ST_LEASE_NS ? "is being edited by "
	                                       : "was changed by ";
	st_buf_adds(out, "[Elsewhere: ");
	st_quote_name_max(out, st_str(telling->path), 300);
	st_buf_addf(out, " %s", what);
	add_name(out, there, event->agent, 100);
	st_buf_adds(out, " in ");
	add_name(out, there, st_buf_str(&there->path), 300);
	if (!there->near)
		st_buf_adds(out, " (another machine)");
	if (there->branch.len > 0) {
		st_buf_adds(out, " on ");
		add_name(out, there, st_buf_str(&there->branch), 100);
	}
	st_buf_adds(out, ", ");
	st_add_ago(out, age / 1000000000);
	if (there->exists)
		add_lines(event, out);
	add_verdict(telling, event, there, out);
	st_buf_adds(out, ".]\n");
}

/* Whether the other place's file still differs from what it started from, and from ours. */
static bool is_news(const struct telling *telling, const struct st_registry_event *event,
                    const struct elsewhere *there) {
	if (!there->exists)
		return event->base.exists || !event->based;
	bool reverted =
		event->based && event->base.exists && st_hash_eq(&there->hash, &event->base.hash);
	/* Bytes that this place started from are no change to it. */
	bool started = telling->base.exists && st_hash_eq(&there->hash, &telling->base.hash);
	return !reverted && !started && !st_hash_eq(&there->hash, telling->now);
}

/* A session hears of an event once. This is the event's name among the notices that the session has received. */
struct event_name {
	char text[80];
};

static struct event_name name_event(const struct st_registry_event *event) {
	struct event_name name;
	snprintf(name.text, sizeof name.text, "elsewhere %lld %lld", (long long)event->number,
	         (long long)event->at);
	return name;
}

static int tell_of(void *data, const struct st_registry_event *event, struct stet_error *err) {
	struct telling *telling = data;
	st_auto(elsewhere) there = {.machine = telling->places->machine};
	struct st_delivered *delivered = &telling->session->instructions;
	const struct event_name name = name_event(event);
	bool unchanged = event->based && st_version_eq(&event->base, &event->after);
	if (st_lru_peek(&delivered->notices, st_str(name.text)))
		return 0;
	if (unchanged || st_wall_ns() - event->at > AGE_MAX_NS || telling->told == PLACES_MAX ||
	    (event->after.exists && st_hash_eq(&event->after.hash, telling->now)))
		return 0;
	int code =
		st_registry_checkout(&telling->places->registry, event->checkout, take_place, &there, err);
	if (code < 0)
		return code;
	if (!is_within_reach(telling, &there, event->path) || !find_there(&there, event) ||
	    !is_news(telling, event, &there) ||
	    !st_delivered_add_new_notice(delivered, st_str(name.text)))
		return 0;
	add_line(telling, event, &there, telling->out);
	telling->told++;
	return 0;
}

/* ---- telling ---- */

static int take_own(void *data, const struct st_registry_event *event, struct stet_error *err) {
	struct telling *telling = data;
	(void)err;
	if (st_places_is_moved(&telling->places->checkout, event, &telling->base))
		return 1;
	telling->base = event->based ? event->base : (struct st_version){0};
	if (!event->based)
		telling->base.exists = true;
	return 1;
}

/* Find the version before the changes that the registry does not have yet: queued ones, and those of this call. */
static void take_unstored(struct telling *telling) {
	const struct st_file_events *events = &telling->session->events;
	telling->base = (struct st_version){.exists = true, .hash = *telling->now};
	if (st_places_queue_before(&telling->places->queue, telling->path, &telling->base))
		return;
	for (size_t i = 0; i < events->count; i++) {
		const struct st_file_event *event = &events->items[i];
		if (st_file_event_is_write(event) && strcmp(event->path, telling->path) == 0) {
			telling->base = event->before;
			return;
		}
	}
}

/* Whether any other place of the repository has events; cheap while nobody writes. */
static bool has_others(struct st_places *places) {
	struct st_registry *registry = &places->registry;
	int64_t version = 0, last = 0;
	if (st_registry_version(registry, &version, NULL) < 0 ||
	    (places->quiet && places->quiet_version == version))
		return false;
	if ((registry->repository == 0 || registry->checkout == 0) &&
	    st_registry_find(registry, &places->checkout, places->machine, NULL) < 0)
		return false;
	if (registry->repository > 0 && st_registry_last(registry, &last, NULL) < 0)
		return false;
	places->quiet = last == 0;
	places->quiet_version = version;
	return last > 0;
}

static void tell_locked(struct telling *telling) {
	struct st_places *places = telling->places;
	st_auto(st_buf) whole = ST_BUF_INIT;
	if (!has_others(places))
		return;
	st_buf_addf(&whole, "%s%s", places->checkout.prefix, telling->path);
	if (whole.failed)
		return;
	take_unstored(telling);
	if (st_registry_own(&places->registry, st_buf_str(&whole), take_own, telling, NULL) == 0)
		(void)st_registry_others(&places->registry, st_buf_str(&whole), tell_of, telling, NULL);
}

/* ---- what a brief process knows of the registry ---- */

/* The number in the store: the registry's stamp when it had no events of others. */
static const char quiet_stamp[] = "places_quiet";

static int get_stamp(struct st_store *store, void *data, struct stet_error *err) {
	return st_store_get(store, quiet_stamp, data, err);
}

static int set_stamp(struct st_store *store, void *data, struct stet_error *err) {
	const int64_t *stamp = data;
	return st_store_set(store, quiet_stamp, *stamp, err);
}

/* The registry's stamp, mixed with what says whose events are those of others; 0 if it says nothing. */
static int64_t current_stamp(struct st_places *places) {
	uint64_t stamp = st_places_locate_locked(places) ? st_registry_stamp() : 0;
	if (stamp == 0)
		return 0;
	stamp = st_str_sum(stamp, st_str(places->checkout.repository));
	return (int64_t)st_str_sum(stamp, st_str(places->checkout.top));
}

static bool is_known_as_quiet(const struct st_places *places, int64_t stamp) {
	int64_t stored = 0;
	struct st_store *store = &st_state_of(places->ws)->store;
	return stamp != 0 && st_store_do(store, ST_STORE_READ, get_stamp, &stored, NULL) == 0 &&
	       stored == stamp;
}

/* As st_places_tell(), with the lock held. To open the registry takes longer than all else that a hook does. */
static void tell_briefly(struct telling *telling) {
	struct st_places *places = telling->places;
	int64_t stamp = current_stamp(places);
	if (is_known_as_quiet(places, stamp) || st_places_open_locked(places) != 1)
		return;
	tell_locked(telling);
	struct st_store *store = &st_state_of(places->ws)->store;
	if (stamp != 0 && places->quiet && st_store_is_made(store))
		(void)!st_store_do(store, ST_STORE_RETRY, set_stamp, &stamp, NULL);
}

/*
 * Take the lock unless that takes long. By the wall clock: thread sanitizer takes a
 * lock with another clock for no lock. If the clock is set back, this waits for the worker.
 */
static bool lock_soon(struct st_places *places) {
	enum { MS = 1'000'000, SECOND = 1'000'000'000 };
	const int64_t until = st_wall_ns() + (int64_t)WAIT_MS * MS;
	const struct timespec deadline = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND};
	return pthread_mutex_timedlock(&places->lock, &deadline) == 0;
}

void st_places_tell(struct st_places *places, struct stet_session *session,
                    const struct st_reach *reach, const char *path, const struct st_hash *now,
                    struct st_buf *out) {
	struct telling telling = {
		.places = places, .session = session, .reach = reach, .path = path, .now = now, .out = out};
	if (places->off || session->stateless || !lock_soon(places))
		return;
	if (places->brief)
		tell_briefly(&telling);
	else if (st_places_open_locked(places) == 1)
		tell_locked(&telling);
	pthread_mutex_unlock(&places->lock);
}
