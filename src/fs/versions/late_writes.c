#include "fs/versions/late_writes.h"

#include <assert.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "fs/file/lease.h"
#include "fs/path/sys.h"

/* How often calls check a file within the grace period. */
enum { CHECK_EVERY_MS = 100 };

/* The most disk space that the held files may occupy. */
#define LATE_MAX_BYTES ((uint64_t)256 << 20)

static void close_entry(struct st_late_write *entry) {
	st_close_at(&entry->fd);
	free(entry->path);
}

static bool is_untouched(const struct st_late_write *entry, const struct stat *st) {
	struct st_stamp now = st_stamp_of(st);
	return !entry->stamp.racy && st_stamp_eq(&entry->stamp, &now);
}

/* Read no more than could be rescued or was in the file: a late writer must not keep us reading. */
static size_t read_limit(const struct st_late_write *entry) {
	return (size_t)(entry->stamp.size > ST_RESCUED_MAX_BYTES ? entry->stamp.size
	                                                         : ST_RESCUED_MAX_BYTES);
}

/* A notice reported the file: report it again only if it changes again. */
static void accept_changes(struct st_late_write *entry) {
	struct stat st;
	if (st_retry(fstat(entry->fd, &st)) < 0)
		return;
	entry->stamp = st_stamp_of(&st);
}

/* On an untrusted filesystem, open the file again to bypass its cache. */
static void reopen_entry(struct st_late_write *entry) {
	int fd = st_file_open_anew(entry->fd);
	if (fd < 0) {
		st_file_freshen(entry->fd);
		return;
	}
	st_close_at(&entry->fd);
	entry->fd = fd;
}

/* Compare with the bytes that need no rescue; rescue and report others. */
static void check_entry(struct st_late_writes *late, struct st_late_write *entry) {
	struct stat st;
	entry->checked_ms = st_now_ms();
	if (entry->shared)
		reopen_entry(entry);
	if (st_retry(fstat(entry->fd, &st)) == 0 && is_untouched(entry, &st))
		return;

	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error err = {0};
	char why[4400];
	int code = st_file_read(entry->fd, entry->path, read_limit(entry), &file, &err);
	if (code < 0) {
		st_notices_add(late->notices, "A late write to %s could not be read: %s",
		               st_quoted(entry->path), err.message);
		if (code == STET_E_TOO_BIG)
			accept_changes(entry);
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
	/* A write changes the times before the bytes: after a change of times, always compare bytes. */
	bool touched = !file.stamped || !st_stamp_eq_content(&entry->stamp, &file.stamp);
	entry->stamp = file.stamp;
	entry->stamp.racy |= touched;
}

/* Take a file out of the array, so that its check runs without the lock. With the lock held. */
static struct st_late_write take_entry(struct st_late_writes *late, size_t index) {
	assert(index < late->count);
	struct st_late_write entry = late->files[index];
	late->bytes -= entry.stamp.size;
	late->count--;
	late->taken++;
	memmove(late->files + index, late->files + index + 1, (late->count - index) * sizeof entry);
	return entry;
}

static bool take_due(struct st_late_writes *late, int64_t now, bool all,
                     struct st_late_write *due) {
	bool found = false;
	pthread_mutex_lock(&late->lock);
	for (size_t i = 0; i < late->count && !found; i++) {
		const struct st_late_write *entry = &late->files[i];
		found = all || now - entry->since_ms >= ST_GRACE_MS ||
		        now - entry->checked_ms >= CHECK_EVERY_MS;
		if (found)
			*due = take_entry(late, i);
	}
	pthread_mutex_unlock(&late->lock);
	return found;
}

/* A file that was taken is back in the array, or closed. */
static void finish_entry(struct st_late_writes *late) {
	pthread_mutex_lock(&late->lock);
	assert(late->taken > 0);
	late->taken--;
	pthread_mutex_unlock(&late->lock);
}

static void discard_entry(struct st_late_writes *late, struct st_late_write *entry) {
	close_entry(entry);
	finish_entry(late);
}

/* The file that stet replaced first: a file that was checked goes to the end of the array, whatever its age. */
static size_t oldest_index(const struct st_late_writes *late) {
	assert(late->count > 0);
	size_t oldest = 0;
	for (size_t i = 1; i < late->count; i++) {
		if (late->files[i].since_ms < late->files[oldest].since_ms)
			oldest = i;
	}
	return oldest;
}

/* Append a file. If there is no room for it, take out the oldest file instead and return false. */
static bool put_or_take(struct st_late_writes *late, const struct st_late_write *entry,
                        struct st_late_write *oldest) {
	pthread_mutex_lock(&late->lock);
	bool full = late->count >= late->max ||
	            (late->count > 0 && late->bytes + entry->stamp.size > LATE_MAX_BYTES);
	if (full) {
		*oldest = take_entry(late, oldest_index(late));
	} else {
		assert(late->count < ST_LATE_WRITES_MAX);
		late->files[late->count++] = *entry;
		late->bytes += entry->stamp.size;
	}
	pthread_mutex_unlock(&late->lock);
	return !full;
}

static void hold_entry(struct st_late_writes *late, const struct st_late_write *entry) {
	struct st_late_write oldest;
	while (!put_or_take(late, entry, &oldest)) {
		check_entry(late, &oldest);
		discard_entry(late, &oldest);
	}
}

/* In how many milliseconds the background worker should check files; INT64_MAX for never. */
static int64_t next_check_ms(struct st_late_writes *late) {
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
	entry.checked_ms = entry.since_ms;
	if (!entry.path || st_retry(fstat(fd, &st)) < 0) {
		close_entry(&entry);
		return;
	}
	/*
	 * Our own rename changed ctime just now, so only mtime shows a recent write.
	 * A write between reading the bytes and now shows only in the caller's stamp.
	 */
	entry.stamp = st_stamp_take(fd, &st);
	entry.stamp.racy = stamp->racy || !st_stamp_eq_content(stamp, &entry.stamp) ||
	                   st_stamp_written_just_now(fd, &entry.stamp);
	entry.hash = *hash;
	entry.shared = st_trust_of(fd, st.st_dev) == ST_TRUST_NONE;
	hold_entry(late, &entry);
	if (!late->background)
		return;
	/* Another thread may have taken the files out to check them: then look after the grace period. */
	int64_t next_ms = next_check_ms(late);
	st_background_schedule(late->background, &late->task,
	                       next_ms < INT64_MAX ? next_ms : ST_GRACE_MS);
}

void st_late_writes_check_now(struct st_late_writes *late) {
	struct st_late_write entry;
	for (int64_t now = st_now_ms(); take_due(late, now, false, &entry);) {
		check_entry(late, &entry);
		if (now - entry.since_ms >= ST_GRACE_MS) {
			discard_entry(late, &entry);
		} else {
			hold_entry(late, &entry);
			finish_entry(late);
		}
	}
}

/* Keep the array half empty, so that commits need not close files: the last close may take long. */
static bool take_surplus(struct st_late_writes *late, struct st_late_write *oldest) {
	pthread_mutex_lock(&late->lock);
	bool surplus = late->count > late->max / 2;
	if (surplus)
		*oldest = take_entry(late, oldest_index(late));
	pthread_mutex_unlock(&late->lock);
	return surplus;
}

static void check_in_background(void *data) {
	struct st_late_writes *late = data;
	struct st_late_write oldest;
	st_late_writes_check_now(late);
	while (take_surplus(late, &oldest)) {
		check_entry(late, &oldest);
		discard_entry(late, &oldest);
	}
	int64_t next_ms = next_check_ms(late);
	if (next_ms < INT64_MAX)
		st_background_schedule(late->background, &late->task, next_ms);
}

static bool has_writer(int fd) {
	enum st_lease lease = st_lease_take(fd, F_RDLCK);
	if (lease == ST_LEASE_HELD)
		st_lease_drop(fd);
	return lease == ST_LEASE_BUSY;
}

/*
 * Another thread that checks a file now may still add a notice. Do not wait
 * for ever: a forked child inherits the count but not the thread.
 */
static void wait_for_others(struct st_late_writes *late) {
	for (int64_t until = st_now_ms() + ST_GRACE_MS; st_now_ms() < until; st_sleep_ms(1)) {
		pthread_mutex_lock(&late->lock);
		bool any = late->taken > 0;
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
		check_entry(late, &entry);
		discard_entry(late, &entry);
		any = true;
	}
	wait_for_others(late);
	return any;
}

/* An eighth of this process's descriptors. */
static size_t max_held(void) {
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
		.task = {.run = check_in_background, .data = late},
		.max = max_held(),
	};
	pthread_mutex_init(&late->lock, NULL);
}

void st_late_writes_release(struct st_late_writes *late) {
	st_late_writes_drain(late, ST_GRACE_EXIT_MS);
	pthread_mutex_destroy(&late->lock);
}
