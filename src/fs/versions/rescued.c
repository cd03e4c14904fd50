#include "fs/versions/rescued.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/hex.h"
#include "base/plural.h"
#include "fs/path/dirs.h"
#include "fs/path/sys.h"

/* Ends the name of the safety copy of a rewrite in progress; the writer holds a lock on the copy. */
#define RESCUE_SUFFIX ".in-place"

/* Ends the name of a copy until its notice was delivered. */
#define UNREPORTED_SUFFIX ".untold"

/* Begins the name of a copy that is being written; all other names begin with a hash. */
#define NEW_PREFIX "new-"

enum { NAME_SIZE = 256, COPY_TRIES = 3 };

void st_rescued_init(struct st_rescued *rescued, const struct st_root *root, const char *state_dir,
                     struct st_notices *notices) {
	*rescued = (struct st_rescued){.notices = notices};
	st_state_folder_init(&rescued->folder, root, state_dir, "rescued");
	rescued->folder.former = "kept";
}

void st_rescued_release(struct st_rescued *rescued) {
	st_state_folder_release(&rescued->folder);
}

/* Add a notice about a copy. */
__attribute__((format(printf, 3, 4))) static void
report_copy(struct st_rescued *rescued, const char *name, const char *format, ...) {
	char text[PATH_MAX + 512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	rescued->reported++;
	st_notices_add_about(rescued->notices, name, "%s %s/%s/%s.", text, rescued->folder.state_dir,
	                     rescued->folder.name, name);
}

/* Characters that need no escape in the name of a copy, which notices show. */
static bool is_plain_char(char c) {
	return c > ' ' && c < 0x7F && c != '/' && c != '%' && c != '"' && c != '\\';
}

/* Escape a path; of a long path keep the end, which says more. */
static void escape_path(const char *path, char *escaped, size_t size) {
	size_t start = strlen(path), len = 0;
	for (size_t room = size - 1; start > 0; start--) {
		size_t need = is_plain_char(path[start - 1]) ? 1 : 3;
		if (need > room)
			break;
		room -= need;
	}
	for (const char *p = path + start; *p; p++) {
		if (is_plain_char(*p))
			escaped[len++] = *p;
		else
			len += (size_t)snprintf(escaped + len, size - len, "%%%02X", (unsigned char)*p);
	}
	escaped[len] = '\0';
}

/* HASH16-PATH. */
static int copy_name(struct st_str bytes, const char *path, char name[NAME_SIZE],
                     struct stet_error *err) {
	struct st_hash hash;
	int code = st_hash_of(bytes, &hash, err);
	if (code < 0)
		return code;
	char escaped[201], hex[ST_HASH_SHORT + 1];
	escape_path(path, escaped, sizeof escaped);
	st_hash_hex(&hash, hex, ST_HASH_SHORT);
	snprintf(name, NAME_SIZE, "%s-%s", hex, escaped);
	return 0;
}

/* Write a synced and locked file under a temporary name. Returns a descriptor, or -1 with errno. */
static int write_new(int dirfd, char name[NAME_SIZE], struct st_str bytes) {
	uint64_t random;
	if (st_retry(getrandom(&random, sizeof random, 0)) < 0)
		return -1;
	snprintf(name, NAME_SIZE, NEW_PREFIX "%016llx", (unsigned long long)random);
	st_autofd fd =
		st_retry(openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return -1;
	(void)st_retry(flock(fd, LOCK_EX | LOCK_NB));
	if (st_pwrite_all(fd, 0, bytes) < 0 || st_retry(fsync(fd)) < 0) {
		int errnum = errno;
		unlinkat(dirfd, name, 0);
		errno = errnum;
		return -1;
	}
	int result = fd;
	fd = -1;
	return result;
}

/* Write a synced and locked file; it replaces an older one of this name when it is complete. */
static int write_copy(int dirfd, const char *name, struct st_str bytes, struct stet_error *err) {
	char new[NAME_SIZE];
	for (int i = 0; i < COPY_TRIES; i++) {
		st_autofd fd = write_new(dirfd, new, bytes);
		if (fd >= 0 && st_retry(renameat(dirfd, new, dirfd, name)) == 0) {
			(void)st_retry(fsync(dirfd));
			int result = fd;
			fd = -1;
			return result;
		}
		int errnum = errno;
		if (fd >= 0)
			unlinkat(dirfd, new, 0);
		errno = errnum;
		/* Another process took it for a leftover and removed it before we locked it. */
		if (errno != ENOENT)
			break;
	}
	return st_fail_errno(err, errno, "Cannot write the copy %s", name);
}

struct copy {
	char *name;
	struct timespec written;
	uint64_t size;
};

/* The copies that may be removed, and how many files there are in all. */
struct census {
	struct copy *copies;
	size_t count, files;
	uint64_t bytes;
};

static void census_release(struct census *census) {
	for (size_t i = 0; i < census->count; i++)
		free(census->copies[i].name);
	free(census->copies);
}

static int by_age(const void *a, const void *b) {
	const struct timespec *left = &((const struct copy *)a)->written;
	const struct timespec *right = &((const struct copy *)b)->written;
	if (left->tv_sec != right->tv_sec)
		return left->tv_sec < right->tv_sec ? -1 : 1;
	return (left->tv_nsec > right->tv_nsec) - (left->tv_nsec < right->tv_nsec);
}

/* Keep the safety copies of rewrites in progress. */
static bool is_removable(const char *name) {
	return !st_str_ends(st_str(name), ST_STR(RESCUE_SUFFIX));
}

static bool census_add(struct census *census, const char *name, const struct stat *st) {
	census->files++;
	census->bytes += (uint64_t)st->st_size;
	if (!is_removable(name))
		return true;
	if (!st_array_room(&census->copies, census->count, sizeof *census->copies))
		return false;
	char *own = strdup(name);
	if (own)
		census->copies[census->count++] = (struct copy){own, st->st_mtim, (uint64_t)st->st_size};
	return own != NULL;
}

/* False if the copies could not be counted. */
static bool count_copies(int dirfd, struct census *census) {
	DIR *dir = st_dir_stream(dirfd);
	bool counted = dir != NULL;
	for (struct dirent *entry; counted && (entry = readdir(dir));) {
		struct stat st;
		if (fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			counted = census_add(census, entry->d_name, &st);
	}
	if (dir)
		closedir(dir);
	return counted;
}

static bool has_room(const struct census *census, size_t need) {
	return census->files < ST_RESCUED_MAX_FILES && census->bytes + need <= ST_RESCUED_MAX_BYTES;
}

/* Remove the oldest copies to make room. The caller holds the lock. */
static void prune(struct st_rescued *rescued, int dirfd, size_t need) {
	st_auto(census) census = {0};
	size_t removed = 0;
	if (!count_copies(dirfd, &census))
		return;
	if (census.count > 0)
		qsort(census.copies, census.count, sizeof *census.copies, by_age);
	for (; removed < census.count && !has_room(&census, need); removed++) {
		if (st_retry(unlinkat(dirfd, census.copies[removed].name, 0)) < 0)
			break;
		census.files--;
		census.bytes -= census.copies[removed].size;
	}
	if (removed > 0)
		st_notices_add(
			rescued->notices,
			"%zu old %s in %s/%s %s removed: at most %d files or %llu MiB are kept there.", removed,
			st_plural(removed, "copy", "copies"), rescued->folder.state_dir, rescued->folder.name,
			st_plural(removed, "was", "were"), ST_RESCUED_MAX_FILES,
			(unsigned long long)(ST_RESCUED_MAX_BYTES >> 20));
}

/* Like write_copy(), but keep all processes together within the limits. */
static int write_within_limits(struct st_rescued *rescued, int dirfd, const char *name,
                               struct st_str bytes, struct stet_error *err) {
	enum { WAIT_MS = 1000 };
	st_autofd lock = st_retry(openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	/* Save the bytes even if another process holds the lock for too long. */
	if (lock >= 0)
		(void)st_state_lock(lock, WAIT_MS, "The directory of rescued bytes", NULL);
	prune(rescued, dirfd, bytes.len);
	return write_copy(dirfd, name, bytes, err);
}

/* copy_name() leaves room for either suffix. */
static void add_suffix(const char *name, const char *suffix, char to[NAME_SIZE]) {
	snprintf(to, NAME_SIZE, "%.*s%s", NAME_SIZE - 1 - (int)strlen(suffix), name, suffix);
}

int st_rescue(struct st_rescued *rescued, const char *path, struct st_str bytes, const char *why) {
	struct stet_error err = {0};
	char name[NAME_SIZE], unreported[NAME_SIZE];
	int dirfd = st_state_folder_open(&rescued->folder, &err);
	int code = dirfd < 0 ? dirfd : copy_name(bytes, path, name, &err);
	if (code >= 0) {
		add_suffix(name, UNREPORTED_SUFFIX, unreported);
		code = write_within_limits(rescued, dirfd, unreported, bytes, &err);
	}
	if (code < 0) {
		st_notices_add(rescued->notices, "%s Its %zu %s could not be saved: %s", why, bytes.len,
		               st_plural(bytes.len, "byte", "bytes"), err.message);
		return code;
	}
	close(code);
	report_copy(rescued, name, "%s Its %zu %s saved in", why, bytes.len,
	            st_plural(bytes.len, "byte is", "bytes are"));
	return 0;
}

void st_rescued_mark_reported(struct st_rescued *rescued, const char *name) {
	char unreported[NAME_SIZE];
	int dirfd = st_state_folder_open(&rescued->folder, NULL);
	add_suffix(name, UNREPORTED_SUFFIX, unreported);
	if (dirfd >= 0)
		(void)st_retry(renameat(dirfd, unreported, dirfd, name));
}

int st_rescue_begin(struct st_rescued *rescued, const char *path, struct st_str bytes,
                    struct st_rescue *rescue, struct stet_error *err) {
	int dirfd = st_state_folder_open(&rescued->folder, err);
	if (dirfd < 0)
		return dirfd;
	int code = copy_name(bytes, path, rescue->name, err);
	if (code < 0)
		return code;
	char copy[NAME_SIZE];
	add_suffix(rescue->name, RESCUE_SUFFIX, copy);
	rescue->fd = write_within_limits(rescued, dirfd, copy, bytes, err);
	return rescue->fd < 0 ? rescue->fd : 0;
}

void st_rescue_end(struct st_rescued *rescued, struct st_rescue *rescue) {
	if (rescue->fd < 0)
		return;
	char copy[NAME_SIZE];
	add_suffix(rescue->name, RESCUE_SUFFIX, copy);
	if (st_retry(unlinkat(rescued->folder.fd, copy, 0)) < 0 && errno != ENOENT)
		(void)st_retry(unlinkat(rescued->folder.fd, copy, 0));
	st_close_at(&rescue->fd);
}

/* Turn the safety copy of a failed rewrite into a rescued copy, and report it. */
static void report_rescue(struct st_rescued *rescued, const char *path, const char *name) {
	char copy[NAME_SIZE], unreported[NAME_SIZE];
	add_suffix(name, RESCUE_SUFFIX, copy);
	add_suffix(name, UNREPORTED_SUFFIX, unreported);
	bool renamed =
		st_retry(renameat(rescued->folder.fd, copy, rescued->folder.fd, unreported)) == 0;
	/* Another process has already reported it. */
	if (!renamed && errno == ENOENT)
		return;
	report_copy(rescued, renamed ? name : copy,
	            "Writing %s in place was interrupted. Compare the file with its earlier content in",
	            st_quoted(path));
}

void st_rescue_report(struct st_rescued *rescued, const char *path, struct st_rescue *rescue) {
	if (rescue->fd < 0)
		return;
	report_rescue(rescued, path, rescue->name);
	st_close_at(&rescue->fd);
}

/* ---- copies of crashed processes ---- */

/* Unescape PATH in HASH16-PATH. */
static void path_of_name(const char *name, char path[NAME_SIZE]) {
	size_t len = 0;
	for (const char *p = name + ST_HASH_SHORT + 1; *p; p++) {
		int high = *p == '%' ? st_hex_digit(p[1]) : -1;
		int low = high >= 0 ? st_hex_digit(p[2]) : -1;
		path[len++] = low >= 0 && high + low > 0 ? (char)(high << 4 | low) : *p;
		if (low >= 0)
			p += 2;
	}
	path[len] = '\0';
}

/* HASH16-PATH and the suffix, in plain characters: stet makes no other name, and a notice shows it. */
static bool has_suffix(const char *text, const char *suffix) {
	struct st_str name = st_str(text);
	for (size_t i = 0; i < name.len; i++) {
		if (!is_plain_char(text[i]) && text[i] != '%')
			return false;
	}
	return name.len > ST_HASH_SHORT + 1 + strlen(suffix) && name.len < NAME_SIZE &&
	       st_str_ends(name, st_str(suffix));
}

/*
 * A copy of a file that is rewritten in place is locked while its process lives;
 * one with the mark of unreported copies never is, so a living process may report
 * it, too. Returns 1, with the copy's hash unless hash is NULL; 0 if its process
 * lives, the copy is gone or is larger than *left; -1 if that is unknown.
 *
 * @left  How many bytes may still be hashed: stet keeps no more in all copies.
 */
static int check_abandoned(int dirfd, const char *entry, uint64_t *left, struct st_hash *hash) {
	st_autofd fd = st_retry(openat(dirfd, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (st_retry(flock(fd, LOCK_EX | LOCK_NB)) < 0)
		return errno == EWOULDBLOCK ? 0 : -1;
	struct stat st;
	if (!hash)
		return 1;
	if (st_retry(fstat(fd, &st)) < 0 || !S_ISREG(st.st_mode))
		return -1;
	if ((uint64_t)st.st_size > *left)
		return 0;
	*left -= (uint64_t)st.st_size;
	return st_hash_file(fd, (uint64_t)st.st_size, hash, NULL) == 0 ? 1 : -1;
}

/* Whether the file still holds the bytes of its safety copy: the rewrite had not begun. */
static bool is_unchanged(struct st_rescued *rescued, const char *path, const struct st_hash *hash) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	return st_file_load(rescued->folder.root, st_str(path), ST_FILE_MAX, &place, &file, NULL) ==
	           0 &&
	       st_hash_eq(&file.hash, hash);
}

/*
 * Report a copy of a crashed process. Remove an incomplete one: its process
 * died before it touched the original. False if the copy could not be read.
 */
static bool recover_one(struct st_rescued *rescued, int dirfd, const char *entry,
                        const char *suffix, uint64_t *left) {
	struct st_hash hash;
	int abandoned = check_abandoned(dirfd, entry, left, &hash);
	if (abandoned <= 0)
		return abandoned == 0;
	char name[NAME_SIZE], path[NAME_SIZE];
	snprintf(name, sizeof name, "%.*s", (int)(strlen(entry) - strlen(suffix)), entry);
	path_of_name(name, path);
	bool rescue = strcmp(suffix, RESCUE_SUFFIX) == 0;
	bool complete = st_hash_matches(&hash, st_strn(name, ST_HASH_SHORT), NULL) == 1;
	if (!complete || (rescue && is_unchanged(rescued, path, &hash)))
		return st_retry(unlinkat(dirfd, entry, 0)) == 0 || errno == ENOENT;
	if (rescue)
		report_rescue(rescued, path, name);
	else
		report_copy(
			rescued, name,
			"Another stet process rescued a version of %s that some program had written, and may "
			"not have reported it. The version is in",
			st_quoted(path));
	return true;
}

/* Remove a copy that its process did not finish. False if that is unknown. */
static bool remove_unfinished(int dirfd, const char *entry) {
	int abandoned = check_abandoned(dirfd, entry, NULL, NULL);
	if (abandoned <= 0)
		return abandoned == 0;
	return st_retry(unlinkat(dirfd, entry, 0)) == 0 || errno == ENOENT;
}

/* False if some copies could not be read. */
static bool recover_all(struct st_rescued *rescued) {
	int exists = st_state_folder_exists(&rescued->folder);
	if (exists <= 0)
		return exists == 0;
	int dirfd = st_state_folder_open(&rescued->folder, NULL);
	DIR *dir = dirfd < 0 ? NULL : st_dir_stream(dirfd);
	if (!dir)
		return false;
	bool all = true;
	uint64_t left = ST_RESCUED_MAX_BYTES;
	errno = 0;
	for (struct dirent *entry; (entry = readdir(dir)); errno = 0) {
		const char *name = entry->d_name;
		if (has_suffix(name, RESCUE_SUFFIX))
			all = recover_one(rescued, dirfd, name, RESCUE_SUFFIX, &left) && all;
		else if (has_suffix(name, UNREPORTED_SUFFIX))
			all = recover_one(rescued, dirfd, name, UNREPORTED_SUFFIX, &left) && all;
		else if (st_str_starts(st_str(name), ST_STR(NEW_PREFIX)))
			all = remove_unfinished(dirfd, name) && all;
	}
	if (errno != 0)
		all = false;
	closedir(dir);
	return all;
}

void st_rescued_recover(struct st_rescued *rescued) {
	if (!rescued->recovered && recover_all(rescued))
		rescued->recovered = true;
}

/* ---- looking at copies ---- */

/* The folder, if it exists; -1 otherwise. Looking makes no directory. */
static int open_existing(struct st_rescued *rescued) {
	return st_state_folder_exists(&rescued->folder) == 1
	           ? st_state_folder_open(&rescued->folder, NULL)
	           : -1;
}

static bool is_copy(const char *name) {
	return has_suffix(name, "") && strspn(name, "0123456789abcdef") == ST_HASH_SHORT &&
	       name[ST_HASH_SHORT] == '-' && is_removable(name);
}

static void show_copy(const struct copy *copy,
                      void (*each)(void *data, const struct st_rescued_copy *copy), void *data) {
	char path[NAME_SIZE];
	char *suffix = strstr(copy->name, UNREPORTED_SUFFIX);
	if (suffix && strcmp(suffix, UNREPORTED_SUFFIX) == 0)
		*suffix = '\0';
	path_of_name(copy->name, path);
	const struct st_rescued_copy listed = {
		.name = copy->name,
		.path = path,
		.at = (int64_t)copy->written.tv_sec * 1000000000 + copy->written.tv_nsec,
		.size = copy->size,
	};
	each(data, &listed);
}

int st_rescued_list(struct st_rescued *rescued, size_t limit,
                    void (*each)(void *data, const struct st_rescued_copy *copy), void *data,
                    struct stet_error *err) {
	st_auto(census) census = {0};
	int dirfd = open_existing(rescued);
	if (dirfd < 0)
		return 0;
	if (!count_copies(dirfd, &census))
		return st_fail_nomem(err);
	if (census.count > 0)
		qsort(census.copies, census.count, sizeof *census.copies, by_age);
	for (size_t i = census.count; i-- > 0 && limit > 0;) {
		if (!is_copy(census.copies[i].name))
			continue;
		show_copy(&census.copies[i], each, data);
		limit--;
	}
	return 0;
}

static int open_copy(int dirfd, const char *name) {
	char unreported[NAME_SIZE];
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = st_retry(openat(dirfd, name, flags));
	add_suffix(name, UNREPORTED_SUFFIX, unreported);
	return fd >= 0 ? fd : st_retry(openat(dirfd, unreported, flags));
}

int st_rescued_read(struct st_rescued *rescued, const char *name, struct st_buf *path,
                    struct st_buf *bytes, struct stet_error *err) {
	char original[NAME_SIZE];
	int dirfd = is_copy(name) ? open_existing(rescued) : -1;
	st_autofd fd = dirfd < 0 ? -1 : open_copy(dirfd, name);
	if (fd < 0)
		return st_fail(err, STET_E_NOT_FOUND, "There is no rescued copy %s.", st_quoted(name));
	path_of_name(name, original);
	st_buf_clear(path);
	st_buf_adds(path, original);
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_file_fetch(fd, name, ST_FILE_MAX, &file, err);
	if (code == 0)
		st_buf_move(bytes, &file.bytes);
	return code < 0 || !path->failed ? code : st_fail_nomem(err);
}
