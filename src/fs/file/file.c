#include "fs/file/file.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "fs/path/sys.h"
#include "fs/path/filesystem.h"

/* ---- stamps ---- */

#define NS_PER_S 1000000000

/* Times that do not fit wrap around, which is good enough to tell them apart. */
static int64_t to_ns(struct timespec time) {
	return (int64_t)((uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec);
}

/*
 * ext3, and ext4 with small inodes, store whole seconds only. No program can
 * set ctime, and by chance it rarely falls on a whole second.
 */
static bool is_whole_second(const struct st_stamp *stamp) {
	return stamp->ctime_ns % NS_PER_S == 0;
}

/* Another write after this moment may leave the times unchanged. */
static int64_t racy_since(int fd, const struct st_stamp *stamp) {
	struct timespec now, tick;
	enum st_trust trust = st_trust_of(fd, (dev_t)stamp->dev);
	/* A writer behind the kernel's back may never change the times that we see. */
	if (trust == ST_TRUST_NONE)
		return INT64_MIN;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (trust == ST_TRUST_COARSE || is_whole_second(stamp))
		return to_ns(now) - 2 * (int64_t)NS_PER_S;
	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	return to_ns(now) - 2 * to_ns(tick);
}

struct st_stamp st_stamp_of(const struct stat *st) {
	return (struct st_stamp){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = to_ns(st->st_mtim),
		.ctime_ns = to_ns(st->st_ctim),
	};
}

struct st_stamp st_stamp_take(int fd, const struct stat *st) {
	struct st_stamp stamp = st_stamp_of(st);
	int64_t since = racy_since(fd, &stamp);
	stamp.racy = stamp.mtime_ns >= since || stamp.ctime_ns >= since;
	return stamp;
}

bool st_stamp_written_just_now(int fd, const struct st_stamp *stamp) {
	return stamp->mtime_ns >= racy_since(fd, stamp);
}

bool st_stamp_eq_content(const struct st_stamp *a, const struct st_stamp *b) {
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

bool st_stamp_eq(const struct st_stamp *a, const struct st_stamp *b) {
	return st_stamp_eq_content(a, b) && a->ctime_ns == b->ctime_ns;
}

/* ---- reading ---- */

enum { READ_TRIES = 4, OPEN_TRIES = 50 };

void st_file_release(struct st_file *file) {
	st_buf_release(&file->bytes);
	*file = (struct st_file)ST_FILE_INIT;
}

static const char *kind_name(mode_t mode) {
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a named pipe";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	case S_IFLNK:
		return "a symbolic link";
	default:
		return "not a regular file";
	}
}

int st_file_check(const struct stat *st, const char *path, size_t max, struct stet_error *err) {
	if (!S_ISREG(st->st_mode))
		return st_fail(err, STET_E_KIND, "%s is %s; only regular files can be read or written.",
		               st_quoted(path), kind_name(st->st_mode));
	if (st->st_size > 0 && (size_t)st->st_size > max)
		return st_fail(
			err, STET_E_TOO_BIG,
			"%s has %lld bytes; the limit is %zu. Raise the limit, or use another tool for it.",
			st_quoted(path), (long long)st->st_size, max);
	return 0;
}

int st_file_open(const struct st_place *place, struct stet_error *err) {
	if (place->exists && !S_ISREG(place->st.st_mode))
		return st_file_check(&place->st, place->path, 0, err);

	/* EAGAIN: another process holds a lease while it writes the file in place. */
	int fd = -1;
	for (int i = 0; i < OPEN_TRIES; i++) {
		fd = st_retry(openat(place->dirfd, place->name,
		                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
		if (fd >= 0)
			return fd;
		if (errno != EAGAIN)
			break;
		if (st_cancel_sleep(2, err) < 0)
			return STET_E_CANCELLED;
	}
	switch (errno) {
	case ENOENT:
		return st_fail(err, STET_E_NOT_FOUND, "File not found: %s. Check the path.",
		               st_quoted(place->path));
	case EAGAIN:
		return st_fail(err, STET_E_BUSY, "%s is being written by another process. Try again.",
		               st_quoted(place->path));
	case ELOOP:
		return st_fail(err, STET_E_BUSY,
		               "%s became a symbolic link while it was opened. Try again.",
		               st_quoted(place->path));
	case ENXIO:
		return st_fail(err, STET_E_KIND,
		               "%s is a socket or device; only regular files can be read or written.",
		               st_quoted(place->path));
	default:
		return st_fail_errno(err, errno, "Cannot open %s", st_quoted(place->path));
	}
}

/*
 * Refresh the size first: a direct read falls back to the cache beyond the
 * real end of the file if the kernel believes that the file is longer. Set
 * O_DIRECT here and not at the open: a FUSE filesystem may pass the open flag
 * to another filesystem, whose alignment rules our buffers do not meet. Where
 * O_DIRECT is refused, DONTNEED still drops all pages that are not mapped.
 */
void st_file_freshen(int fd) {
	struct statx st;
	(void)st_retry(statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st));
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	int flags = st_retry(fcntl(fd, F_GETFL));
	if (flags >= 0 && !(flags & O_DIRECT))
		(void)st_retry(fcntl(fd, F_SETFL, flags | O_DIRECT));
}

int st_file_open_anew(int fd) {
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int anew = st_retry(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (anew >= 0)
		st_file_freshen(anew);
	return anew;
}

void st_file_buffer(int fd) {
	int flags = st_retry(fcntl(fd, F_GETFL));
	if (flags >= 0 && flags & O_DIRECT)
		(void)st_retry(fcntl(fd, F_SETFL, flags & ~O_DIRECT));
}

/* Some filesystems accept O_DIRECT and then refuse unaligned buffers. */
static ssize_t read_at(int fd, char *to, size_t len, off_t at) {
	ssize_t got = st_retry(pread(fd, to, len, at));
	if (got >= 0 || errno != EINVAL)
		return got;
	st_file_buffer(fd);
	return st_retry(pread(fd, to, len, at));
}

/* How many bytes to read between two checks for a cancellation. */
enum { PIECE = 4 << 20 };

static int read_bytes(int fd, const char *path, size_t size, size_t max, bool cancellable,
                      struct st_buf *bytes, struct stet_error *err) {
	st_buf_clear(bytes);
	/* Asking for one byte more than expected shows the end of the file without another read. */
	for (size_t left = size + 1;;) {
		if (!st_buf_reserve(bytes, left))
			return st_fail_nomem(err);
		size_t want = left < PIECE ? left : PIECE;
		ssize_t got = read_at(fd, bytes->ptr + bytes->len, want, (off_t)bytes->len);
		if (got < 0)
			return st_fail_errno(err, errno, "Cannot read %s", st_quoted(path));
		st_buf_truncate(bytes, bytes->len + (size_t)got);
		if ((size_t)got < want && (got == 0 || bytes->len == size))
			return 0;
		if (bytes->len > max)
			return st_fail(err, STET_E_TOO_BIG, "%s has more than %zu bytes, which is the limit.",
			               st_quoted(path), max);
		if (!cancellable)
			st_cancel_progress((size_t)got);
		else if (st_cancel_check((size_t)got, err) < 0)
			return STET_E_CANCELLED;
		left = left > (size_t)got ? left - (size_t)got : 65536;
	}
}

static void fill_stat(struct st_file *file, const struct stat *st, const struct st_stamp *stamp,
                      bool stamped) {
	file->stamp = *stamp;
	file->stamped = stamped;
	file->mode = st->st_mode;
	file->links = st->st_nlink;
}

/* seen: the file's stat from before it was opened; may be NULL. */
static int read_version(int fd, const char *path, size_t max, const struct stat *seen,
                        bool cancellable, struct st_file *file, struct stet_error *err) {
	for (int i = 0; i < READ_TRIES; i++) {
		struct stat before, after;
		if (seen && i == 0)
			before = *seen;
		else if (st_retry(fstat(fd, &before)) < 0)
			return st_fail_errno(err, errno, "Cannot stat %s", st_quoted(path));
		int code = st_file_check(&before, path, max, err);
		if (code < 0)
			return code;
		struct st_stamp stamp = st_stamp_take(fd, &before);
		code = read_bytes(fd, path, (size_t)before.st_size, max, cancellable, &file->bytes, err);
		if (code < 0)
			return code;
		if (st_retry(fstat(fd, &after)) < 0)
			return st_fail_errno(err, errno, "Cannot stat %s", st_quoted(path));

		struct st_stamp again = st_stamp_of(&after);
		fill_stat(file, &before, &stamp, st_stamp_eq(&stamp, &again));
		if (file->stamped)
			break;
		st_sleep_ms(1);
	}
	return 0;
}

/* known may be NULL. */
static int hash_version(const struct st_known *known, bool cancellable, struct st_file *file,
                        struct stet_error *err) {
	struct st_str bytes = st_buf_str(&file->bytes);
	if (!known || !st_str_eq(bytes, known->bytes))
		return (cancellable ? st_hash_cancellable : st_hash_of)(bytes, &file->hash, err);
	file->hash = known->hash;
	return 0;
}

int st_file_fetch(int fd, const char *path, size_t max, struct st_file *file,
                  struct stet_error *err) {
	return read_version(fd, path, max, NULL, false, file, err);
}

int st_file_read(int fd, const char *path, size_t max, struct st_file *file,
                 struct stet_error *err) {
	int code = read_version(fd, path, max, NULL, false, file, err);
	return code < 0 ? code : hash_version(NULL, false, file, err);
}

/* Compare in small pieces, which stay in the processor's cache. */
static bool holds_at(int fd, off_t at, struct st_str bytes) {
	char piece[16 << 10];
	while (bytes.len > 0) {
		size_t want = bytes.len < sizeof piece ? bytes.len : sizeof piece;
		ssize_t got = read_at(fd, piece, want, at);
		if (got <= 0 || memcmp(piece, bytes.ptr, (size_t)got) != 0)
			return false;
		st_cancel_progress((size_t)got);
		at += got;
		bytes = st_str_slice(bytes, (size_t)got, bytes.len);
	}
	return true;
}

bool st_file_is(int fd, struct st_str bytes, struct st_file *file) {
	struct stat before, after;
	if (st_retry(fstat(fd, &before)) < 0 || !S_ISREG(before.st_mode) ||
	    (uint64_t)before.st_size != bytes.len)
		return false;
	struct st_stamp stamp = st_stamp_take(fd, &before);
	char more;
	/* Some filesystems report a size that is not the content's. */
	if (!holds_at(fd, 0, bytes) || read_at(fd, &more, 1, (off_t)bytes.len) != 0 ||
	    st_retry(fstat(fd, &after)) < 0)
		return false;
	struct st_stamp again = st_stamp_of(&after);
	if (!st_stamp_eq(&stamp, &again))
		return false;
	fill_stat(file, &before, &stamp, true);
	return true;
}

int st_pwrite_all(int fd, off_t at, struct st_str bytes) {
	for (size_t done = 0; done < bytes.len;) {
		size_t left = bytes.len - done, want = left < PIECE ? left : PIECE;
		ssize_t put = st_retry(pwrite(fd, bytes.ptr + done, want, at + (off_t)done));
		if (put < 0)
			return -1;
		st_cancel_progress((size_t)put);
		done += (size_t)put;
	}
	return 0;
}

/* Most paths lead through no link and can be opened without locating them. -1 if this one cannot. */
static int open_plain(const struct st_root *root, struct st_str path, struct st_place *place,
                      struct stat *st) {
	char text[PATH_MAX];
	if (path.len >= sizeof text || memchr(path.ptr, '\0', path.len))
		return -1;
	memcpy(text, path.ptr, path.len);
	text[path.len] = '\0';
	const char *plain = st_root_plain(root, text);
	st_autofd fd = plain ? st_root_open_plain(root, plain, st) : -1;
	char *copy = fd < 0 ? NULL : strdup(plain);
	if (!copy)
		return -1;
	st_place_release(place);
	place->path = copy;
	int result = fd;
	fd = -1;
	return result;
}

static int load_file(const struct st_root *root, struct st_str path, size_t max,
                     const struct st_known *known, bool cancellable, struct st_place *place,
                     struct st_file *file, struct stet_error *err) {
	struct stat seen;
	int code = 0;
	st_autofd fd = open_plain(root, path, place, &seen);
	bool plain = fd >= 0;
	if (!plain)
		code = st_root_locate(root, path, place, err);
	if (code == 0 && !plain)
		code = fd = st_file_open(place, err);
	if (code < 0)
		return code;
	bool shared = st_root_trust(root, fd, plain ? seen.st_dev : place->st.st_dev) == ST_TRUST_NONE;
	if (shared)
		st_file_freshen(fd);
	code =
		read_version(fd, place->path, max, plain && !shared ? &seen : NULL, cancellable, file, err);
	return code < 0 ? code : hash_version(known, cancellable, file, err);
}

int st_file_load_known(const struct st_root *root, struct st_str path, size_t max,
                       const struct st_known *known, struct st_place *place, struct st_file *file,
                       struct stet_error *err) {
	return load_file(root, path, max, known, true, place, file, err);
}

int st_file_load(const struct st_root *root, struct st_str path, size_t max, struct st_place *place,
                 struct st_file *file, struct stet_error *err) {
	return load_file(root, path, max, NULL, false, place, file, err);
}
