#include "fs/versions/late_writes.h"

#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "fs/file/lease.h"
#include "fs/path/sys.h"

/* After a first quick look at most one look in this time, and one at the end of the grace period. */
enum { LOOK_EVERY_MS = 100 };

/* More than this is not held back from the disk's free space. */
#define LATE_MAX_BYTES ((uint64_t)256 << 20)

static void close_entry(struct st_late_write *entry) {
	st_close_at(&entry->fd);
	free(entry->path);
}

static bool is_untouched(const struct st_late_write *entry, const struct stat *st) {
	struct st_stamp now = st_stamp_of(st);
	return !entry->stamp.racy && st_stamp_eq(&entry->stamp, &now);
}

/* As much as could be kept, or as was in it: whoever writes late cannot make us read for ever. */
static size_t readable(const struct st_late_write *entry) {
	return (size_t)(entry->stamp.size > ST_RESCUED_MAX_BYTES ? entry->stamp.size
	                                                         : ST_RESCUED_MAX_BYTES);
}

/* It was told of, and is told of again only if it moves once more. */
static void wait_for_grace(struct st_late_write *entry) {
	struct stat st;
	if (st_retry(fstat(entry->fd, &st)) < 0)
		return;
	entry->stamp = st_stamp_of(&st);
}

/* Where only bytes tell, and only those that were asked for anew. */
static void renew(struct st_late_write *entry) {
	int fd = st_file_open_anew(entry->fd);
	if (fd < 0) {
		st_file_freshen(entry->fd);
		return;
	}
	st_close_at(&entry->fd);
	entry->fd = fd;
}

/* Compare with what is accounted for; keep and report anything else. */
static void look(struct st_late_writes *late, struct st_late_write *entry) {
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
		st_notices_add(late->notices, "A late write to %s could not be looked at: %s",
		               st_quoted(entry->path), err.message);
		if (code == STET_E_TOO_BIG)
			wait_for_grace(entry);
		return;
	}
	if (!st_hash_eq(&file.hash, &entry->hash)) {
		snprintf(why, sizeof why,
		         "Another process wrote to %s just when it was replaced: its write went to the "
		         "earlier version and is not in the file.",
		         st_quoted(entry->path));
		st_rescue(late->rescued, entry->path, st_buf_str(&file.bytes), why);
		entry->hash = file.hash;
	}
	/* Whoever moved the times may not have moved the bytes yet: from now on every look is at these. */
	bool touched = !file.stamped || !st_stamp_eq_content(&entry->stamp, &file.stamp);
	entry->stamp = file.stamp;
	entry->stamp.racy |= touched;
}

/* Out of the ring, so that nobody holds the lock while it is looked at. */
static struct st_late_write take(struct st_late_writes *late, size_t index) {
	struct st_late_write entry = late->files[index];
	late->bytes -= entry.stamp.size;
	late->count--;
	late->out++;
	memmove(late->files + index, late->files + index + 1, (late->count - index) * sizeof entry);
	return entry;
}

static bool take_due(struct st_late_writes *late, int64_t now, bool all,
                     struct st_late_write *due) {
	bool found = false;
	pthread_mutex_lock(&late->lock);
	for (size_t i = 0; i < late->count && !found; i++) {
		const struct st_late_write *entry = &late->files[i];
		found =
			all || now - entry->since_ms >= ST_GRACE_MS || now - entry->looked_ms >= LOOK_EVERY_MS;
		if (found)
			*due = take(late, i);
	}
	pthread_mutex_unlock(&late->lock);
	return found;
}

/* An entry that was taken is back in the ring, or closed. */
static void finish(struct st_late_writes *late) {
	pthread_mutex_lock(&late->lock);
	late->out--;
	pthread_mutex_unlock(&late->lock);
}

static void let_go(struct st_late_writes *late, struct st_late_write *entry) {
	close_entry(entry);
	finish(late);
}

/* Into the ring, at its end. If it is full, the oldest is taken, and true is returned. */
static bool put(struct st_late_writes *late, const struct st_late_write *entry,
                struct st_late_write *oldest) {
	pthread_mutex_lock(&late->lock);
	bool full = late->count >= late->max ||
	            (late->count > 0 && late->bytes + entry->stamp.size > LATE_MAX_BYTES);
	if (full)
		*oldest = take(late, 0);
	late->files[late->count++] = *entry;
	late->bytes += entry->stamp.size;
	pthread_mutex_unlock(&late->lock);
	return full;
}

static void hold(struct st_late_writes *late, const struct st_late_write *entry) {
	struct st_late_write oldest;
	if (put(late, entry, &oldest)) {
		look(late, &oldest);
		let_go(late, &oldest);
	}
}

/* In how many milliseconds the background worker has something to do; INT64_MAX for nothing. */
static int64_t next_look_ms(struct st_late_writes *late) {
	int64_t first_ms = INT64_MAX;
	pthread_mutex_lock(&late->lock);
	for (size_t i = 0; i < late->count; i++) {
		if (late->files[i].since_ms < first_ms)
			first_ms = late->files[i].since_ms;
	}
	bool surplus = late->count > late->max / 2;
	pthread_mutex_unlock(&late->lock);
	if (surplus || first_ms == INT64_MAX)
		return surplus ? 0 : INT64_MAX;
	return first_ms + ST_GRACE_MS - st_now_ms();
}

void st_late_writes_add(struct st_late_writes *late, int fd, const char *path,
                        const struct st_hash *hash, const struct st_stamp *stamp) {
	struct stat st;
	struct st_late_write entry = {.fd = fd, .path = strdup(path), .since_ms = st_now_ms()};
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
	hold(late, &entry);
	if (late->background)
		st_background_schedule(late->background, &late->task, next_look_ms(late));
}

void st_late_writes_check_now(struct st_late_writes *late) {
	struct st_late_write entry;
	for (int64_t now = st_now_ms(); take_due(late, now, false, &entry);) {
		look(late, &entry);
		if (now - entry.since_ms >= ST_GRACE_MS) {
			let_go(late, &entry);
		} else {
			hold(late, &entry);
			finish(late);
		}
	}
}

/* So that a series of commits does not have to make room itself: the last close of a file may take long. */
static bool take_surplus(struct st_late_writes *late, struct st_late_write *oldest) {
	pthread_mutex_lock(&late->lock);
	bool surplus = late->count > late->max / 2;
	if (surplus)
		*oldest = take(late, 0);
	pthread_mutex_unlock(&late->lock);
	return surplus;
}

static void look_in_background(void *data) {
	struct st_late_writes *late = data;
	struct st_late_write oldest;
	st_late_writes_check_now(late);
	while (take_surplus(late, &oldest)) {
		look(late, &oldest);
		let_go(late, &oldest);
	}
	int64_t next_ms = next_look_ms(late);
	if (next_ms < INT64_MAX)
		st_background_schedule(late->background, &late->task, next_ms);
}

static bool has_writer(int fd) {
	enum st_lease lease = st_lease_take(fd, F_RDLCK);
	if (lease == ST_LEASE_HELD)
		st_lease_drop(fd);
	return lease == ST_LEASE_BUSY;
}

/* Whoever looks at one now may have something to tell; a forked child has only the count of its parent. */
static void wait_for_others(struct st_late_writes *late) {
	for (int64_t until = st_now_ms() + ST_GRACE_MS; st_now_ms() < until; st_sleep_ms(1)) {
		pthread_mutex_lock(&late->lock);
		bool any = late->out > 0;
		pthread_mutex_unlock(&late->lock);
		if (!any)
			return;
	}
}

bool st_late_writes_drain(struct st_late_writes *late, int64_t grace_ms) {
	struct st_late_write entry;
	bool any = false;
	while (take_due(late, st_now_ms(), true, &entry)) {
		int64_t age = st_now_ms() - entry.since_ms;
		while (age < grace_ms || (age < ST_GRACE_MS && has_writer(entry.fd))) {
			st_sleep_ms(age < grace_ms ? grace_ms - age : 1);
			age = st_now_ms() - entry.since_ms;
		}
		look(late, &entry);
		let_go(late, &entry);
		any = true;
	}
	wait_for_others(late);
	return any;
}

/* An eighth of the descriptors that this process may have. */
static size_t most_held(void) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 8 >= ST_LATE_WRITES_MAX)
		return ST_LATE_WRITES_MAX;
	return limit.rlim_cur < 16 ? 2 : (size_t)limit.rlim_cur / 8;
}

void st_late_writes_init(struct st_late_writes *late, struct st_rescued *rescued,
                         struct st_background *background) {
	*late = (struct st_late_writes){
		.rescued = rescued,
		.notices = rescued->notices,
		.background = background,
		.task = {.run = look_in_background, .data = late},
		.max = most_held(),
	};
	pthread_mutex_init(&late->lock, NULL);
}

void st_late_writes_release(struct st_late_writes *late) {
	st_late_writes_drain(late, ST_GRACE_EXIT_MS);
	pthread_mutex_destroy(&late->lock);
}
