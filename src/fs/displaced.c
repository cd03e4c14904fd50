#include "fs/displaced.h"

#include <stdio.h>

#include "base/clock.h"
#include "fs/keep.h"
#include "fs/lease.h"
#include "fs/sys.h"

/* After a first quick look at most one look in this time, and one at the end of the grace period. */
enum { LOOK_EVERY_MS = 100 };

/* More than this is not held back from the disk's free space. */
#define DISPLACED_MAX_BYTES ((uint64_t)256 << 20)

static void close_entry(struct st_displaced *entry) {
	st_close_at(&entry->fd);
	free(entry->path);
}

static bool is_untouched(const struct st_displaced *entry, const struct stat *st) {
	struct st_stamp now = st_stamp_of(st);
	return !entry->stamp.racy && st_stamp_eq(&entry->stamp, &now);
}

/* As much as could be kept, or as was in it: whoever writes late cannot make us read for ever. */
static size_t readable(const struct st_displaced *entry) {
	return (size_t)(entry->stamp.size > ST_KEPT_MAX_BYTES ? entry->stamp.size : ST_KEPT_MAX_BYTES);
}

/* It was told of, and is told of again only if it moves once more. */
static void settle_for(struct st_displaced *entry) {
	struct stat st;
	if (st_retry(fstat(entry->fd, &st)) < 0)
		return;
	entry->stamp = st_stamp_of(&st);
}

/* Where only bytes tell, and only those that were asked for anew. */
static void renew(struct st_displaced *entry) {
	int fd = st_file_open_anew(entry->fd);
	if (fd < 0) {
		st_file_freshen(entry->fd);
		return;
	}
	st_close_at(&entry->fd);
	entry->fd = fd;
}

/* Compare with what is accounted for; keep and report anything else. */
static void look(struct st_guard *guard, struct st_displaced *entry) {
	struct stat st;
	entry->looked_ms = st_now_ms();
	if (entry->shared)
		renew(entry);
	if (st_retry(fstat(entry->fd, &st)) == 0 && is_untouched(entry, &st))
		return;

	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error err = {0};
	char why[4400];
	int code = st_file_read(entry->fd, entry->path, readable(entry), &file, &err);
	if (code < 0) {
		st_guard_notice(guard, "A late write to %s could not be looked at: %s",
		                st_shown(entry->path), err.message);
		if (code == STET_E_TOO_BIG)
			settle_for(entry);
		return;
	}
	if (!st_hash_eq(&file.hash, &entry->hash)) {
		snprintf(why, sizeof why,
		         "Another process wrote to %s just when it was replaced: its write went to the "
		         "earlier version and is not in the file.",
		         st_shown(entry->path));
		st_keep(guard, entry->path, st_buf_str(&file.bytes), why);
		entry->hash = file.hash;
	}
	/* Whoever moved the times may not have moved the bytes yet: from now on every look is at these. */
	bool touched = !file.stamped || !st_stamp_eq_content(&entry->stamp, &file.stamp);
	entry->stamp = file.stamp;
	entry->stamp.racy |= touched;
}

/* Out of the ring, so that nobody holds the lock while it is looked at. */
static struct st_displaced take(struct st_guard *guard, size_t index) {
	struct st_displaced entry = guard->displaced[index];
	guard->displaced_bytes -= entry.stamp.size;
	guard->displaced_count--;
	guard->displaced_out++;
	memmove(guard->displaced + index, guard->displaced + index + 1,
	        (guard->displaced_count - index) * sizeof entry);
	return entry;
}

static bool take_due(struct st_guard *guard, int64_t now, bool all, struct st_displaced *due) {
	bool found = false;
	pthread_mutex_lock(&guard->lock);
	for (size_t i = 0; i < guard->displaced_count && !found; i++) {
		const struct st_displaced *entry = &guard->displaced[i];
		found =
			all || now - entry->since_ms >= ST_GRACE_MS || now - entry->looked_ms >= LOOK_EVERY_MS;
		if (found)
			*due = take(guard, i);
	}
	pthread_mutex_unlock(&guard->lock);
	return found;
}

/* An entry that was taken is back in the ring, or closed. */
static void finish(struct st_guard *guard) {
	pthread_mutex_lock(&guard->lock);
	guard->displaced_out--;
	pthread_mutex_unlock(&guard->lock);
}

static void let_go(struct st_guard *guard, struct st_displaced *entry) {
	close_entry(entry);
	finish(guard);
}

/* Into the ring, at its end. If it is full, the oldest is taken, and true is returned. */
static bool put(struct st_guard *guard, const struct st_displaced *entry,
                struct st_displaced *oldest) {
	pthread_mutex_lock(&guard->lock);
	bool full = guard->displaced_count >= guard->displaced_max ||
	            (guard->displaced_count > 0 &&
	             guard->displaced_bytes + entry->stamp.size > DISPLACED_MAX_BYTES);
	if (full)
		*oldest = take(guard, 0);
	guard->displaced[guard->displaced_count++] = *entry;
	guard->displaced_bytes += entry->stamp.size;
	pthread_mutex_unlock(&guard->lock);
	return full;
}

static void hold(struct st_guard *guard, const struct st_displaced *entry) {
	struct st_displaced oldest;
	if (put(guard, entry, &oldest)) {
		look(guard, &oldest);
		let_go(guard, &oldest);
	}
}

/* In how many milliseconds the background worker has something to do; INT64_MAX for nothing. */
static int64_t next_look_ms(struct st_guard *guard) {
	int64_t first_ms = INT64_MAX;
	pthread_mutex_lock(&guard->lock);
	for (size_t i = 0; i < guard->displaced_count; i++) {
		if (guard->displaced[i].since_ms < first_ms)
			first_ms = guard->displaced[i].since_ms;
	}
	bool surplus = guard->displaced_count > guard->displaced_max / 2;
	pthread_mutex_unlock(&guard->lock);
	if (surplus || first_ms == INT64_MAX)
		return surplus ? 0 : INT64_MAX;
	return first_ms + ST_GRACE_MS - st_now_ms();
}

void st_displaced_add(struct st_guard *guard, int fd, const char *path, const struct st_hash *hash,
                      const struct st_stamp *stamp) {
	struct stat st;
	struct st_displaced entry = {.fd = fd, .path = strdup(path), .since_ms = st_now_ms()};
	entry.looked_ms = entry.since_ms;
	if (!entry.path || st_retry(fstat(fd, &st)) < 0) {
		close_entry(&entry);
		return;
	}
	/*
	 * The exchange itself moved ctime just now; only mtime tells of a recent
	 * write. One before now, but after the bytes were looked at, shows only in
	 * the stamp they had then.
	 */
	entry.stamp = st_stamp_take(fd, &st);
	entry.stamp.racy = stamp->racy || !st_stamp_eq_content(stamp, &entry.stamp) ||
	                   st_stamp_written_just_now(fd, &entry.stamp);
	entry.hash = *hash;
	entry.shared = st_trust_of(fd, st.st_dev) == ST_TRUST_NONE;
	hold(guard, &entry);
	if (guard->background)
		st_background_schedule(guard->background, &guard->look_task, next_look_ms(guard));
}

void st_displaced_look(struct st_guard *guard) {
	struct st_displaced entry;
	for (int64_t now = st_now_ms(); take_due(guard, now, false, &entry);) {
		look(guard, &entry);
		if (now - entry.since_ms >= ST_GRACE_MS) {
			let_go(guard, &entry);
		} else {
			hold(guard, &entry);
			finish(guard);
		}
	}
}

/* So that a series of commits does not have to make room itself: the last close of a file may take long. */
static bool take_surplus(struct st_guard *guard, struct st_displaced *oldest) {
	pthread_mutex_lock(&guard->lock);
	bool surplus = guard->displaced_count > guard->displaced_max / 2;
	if (surplus)
		*oldest = take(guard, 0);
	pthread_mutex_unlock(&guard->lock);
	return surplus;
}

void st_displaced_task(void *data) {
	struct st_guard *guard = data;
	struct st_displaced oldest;
	st_displaced_look(guard);
	while (take_surplus(guard, &oldest)) {
		look(guard, &oldest);
		let_go(guard, &oldest);
	}
	int64_t next_ms = next_look_ms(guard);
	if (next_ms < INT64_MAX)
		st_background_schedule(guard->background, &guard->look_task, next_ms);
}

void st_displaced_unlinked(struct st_guard *guard, const struct stat *st) {
	struct st_stamp now = st_stamp_of(st);
	pthread_mutex_lock(&guard->lock);
	for (size_t i = 0; i < guard->displaced_count; i++) {
		struct st_stamp *stamp = &guard->displaced[i].stamp;
		if (st_stamp_eq_content(stamp, &now))
			stamp->ctime_ns = now.ctime_ns;
	}
	pthread_mutex_unlock(&guard->lock);
}

static bool has_writer(int fd) {
	enum st_lease lease = st_lease_take(fd, F_RDLCK);
	if (lease == ST_LEASE_HELD)
		st_lease_drop(fd);
	return lease == ST_LEASE_BUSY;
}

/* Whoever looks at one now may have something to tell; a forked child has only the count of its parent. */
static void wait_for_others(struct st_guard *guard) {
	for (int64_t until = st_now_ms() + ST_GRACE_MS; st_now_ms() < until; st_sleep_ms(1)) {
		pthread_mutex_lock(&guard->lock);
		bool any = guard->displaced_out > 0;
		pthread_mutex_unlock(&guard->lock);
		if (!any)
			return;
	}
}

bool st_displaced_settle(struct st_guard *guard, int64_t grace_ms) {
	struct st_displaced entry;
	bool any = false;
	while (take_due(guard, st_now_ms(), true, &entry)) {
		int64_t age = st_now_ms() - entry.since_ms;
		while (age < grace_ms || (age < ST_GRACE_MS && has_writer(entry.fd))) {
			st_sleep_ms(age < grace_ms ? grace_ms - age : 1);
			age = st_now_ms() - entry.since_ms;
		}
		look(guard, &entry);
		let_go(guard, &entry);
		any = true;
	}
	wait_for_others(guard);
	return any;
}
