#include "fs/path/dirs.h"

#include <dirent.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/quote.h"
#include "fs/path/sys.h"

void st_dir_release(struct st_dir *dir) {
	st_close_at(&dir->fd);
	free(dir->path);
	*dir = (struct st_dir)ST_DIR_INIT;
}

static int not_a_directory(struct st_str path, struct stet_error *err) {
	return st_fail(err, STET_E_KIND, "%s is not a directory. Name a directory.",
	               st_quoted_str(path));
}

int st_dir_open(const struct st_root *root, struct st_str path, struct st_dir *dir,
                struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_dir_release(dir);
	int code = st_root_locate_as(root, path, ST_LOCATE_DIR, &place, err);
	if (code < 0)
		return code;
	if (!place.exists)
		return st_fail(err, STET_E_NOT_FOUND, "Directory not found: %s. Check the path.",
		               st_quoted_str(path));
	if (!S_ISDIR(place.st.st_mode))
		return not_a_directory(path, err);
	dir->fd =
		st_retry(openat(place.dirfd, place.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (dir->fd < 0)
		return st_fail_errno(err, errno, "Cannot open the directory %s", st_quoted_str(path));
	dir->path = place.path;
	place.path = NULL;
	return 0;
}

/* ---- listing ---- */

void st_listing_release(struct st_listing *listing) {
	for (size_t i = 0; i < listing->count; i++)
		free(listing->entries[i].name);
	free(listing->entries);
	*listing = (struct st_listing){0};
}

/* What it takes to read an entry, to compare two and to measure one, in the units of st_cancel_check(). */
enum { READ_WORK = 512, COMPARE_WORK = 64, MEASURE_WORK = 2048 };

static int by_name(const void *a, const void *b) {
	st_cancel_progress(COMPARE_WORK);
	return strcmp(((const struct st_dir_entry *)a)->name, ((const struct st_dir_entry *)b)->name);
}

static mode_t entry_type(int dirfd, const struct dirent *entry) {
	struct stat st;
	if (entry->d_type != DT_UNKNOWN)
		return (mode_t)DTTOIF(entry->d_type);
	return st_retry(fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW)) == 0
	           ? st.st_mode & S_IFMT
	           : 0;
}

static bool listing_add(struct st_listing *listing, int dirfd, const struct dirent *entry) {
	if (!st_array_room(&listing->entries, listing->count, sizeof *listing->entries))
		return false;
	char *name = strdup(entry->d_name);
	if (!name)
		return false;
	listing->entries[listing->count++] =
		(struct st_dir_entry){.name = name, .type = entry_type(dirfd, entry)};
	return true;
}

static int read_entries(DIR *stream, struct st_listing *listing, const char *path,
                        struct stet_error *err) {
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(stream);
		if (!entry && errno)
			return st_fail_errno(err, errno, "Cannot list the directory %s", st_quoted(path));
		if (!entry)
			return 0;
		if (st_cancel_check(READ_WORK, err) < 0)
			return STET_E_CANCELLED;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (listing->count == ST_LISTING_MAX) {
			listing->cut = true;
			return 0;
		}
		if (!listing_add(listing, dirfd(stream), entry))
			return st_fail_nomem(err);
	}
}

int st_dir_list(const struct st_dir *dir, struct st_listing *listing, struct stet_error *err) {
	const char *name = *dir->path ? dir->path : ".";
	st_listing_release(listing);
	DIR *stream = st_dir_stream(dir->fd);
	if (!stream)
		return st_fail_errno(err, errno, "Cannot list the directory %s", st_quoted(name));
	int code = read_entries(stream, listing, name, err);
	closedir(stream);
	if (code == 0 && listing->count > 1)
		qsort(listing->entries, listing->count, sizeof *listing->entries, by_name);
	return code;
}

int st_dir_measure(const struct st_dir *dir, struct st_listing *listing, struct stet_error *err) {
	for (size_t i = 0; i < listing->count; i++) {
		struct st_dir_entry *entry = &listing->entries[i];
		struct stat st;
		if (st_cancel_check(MEASURE_WORK, err) < 0)
			return STET_E_CANCELLED;
		if (entry->type == S_IFREG &&
		    st_retry(fstatat(dir->fd, entry->name, &st, AT_SYMLINK_NOFOLLOW)) == 0)
			entry->size = st.st_size;
	}
	return 0;
}

/* ---- making ---- */

/* Make one directory whose parents exist. Returns 1 for a new one, 0 if it existed already. */
static int make_one_dir(const struct st_root *root, struct st_str path, const char *state_dir,
                        struct st_place *place, struct stet_error *err) {
	int code = st_root_locate_as(root, path, ST_LOCATE_DIR, place, err);
	if (code < 0)
		return code;
	if (place->exists)
		return S_ISDIR(place->st.st_mode) ? 0 : not_a_directory(path, err);
	if (st_path_is_protected(place->path, state_dir))
		return st_fail(err, STET_E_PROTECTED,
		               "%s belongs to git or to stet; making a directory there is not allowed.",
		               st_quoted(place->path));
	if (mkdirat(place->dirfd, place->name, 0777) == 0)
		return 1;
	if (errno != EEXIST)
		return st_fail_errno(err, errno, "Cannot make the directory %s", st_quoted(place->path));
	/* Another process made it meanwhile. */
	code = st_root_locate_as(root, path, ST_LOCATE_DIR, place, err);
	if (code < 0)
		return code;
	return place->exists && S_ISDIR(place->st.st_mode) ? 0 : not_a_directory(path, err);
}

int st_dir_make(const struct st_root *root, struct st_str wanted, const char *state_dir,
                size_t *made, char **path, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	size_t count = 0;
	for (size_t end = 0; end < wanted.len;) {
		while (end < wanted.len && wanted.ptr[end] == '/')
			end++;
		while (end < wanted.len && wanted.ptr[end] != '/')
			end++;
		int code = make_one_dir(root, st_str_slice(wanted, 0, end), state_dir, &place, err);
		/* An absolute path begins with directories above the root. */
		if (code == STET_E_OUTSIDE && end < wanted.len)
			continue;
		if (code < 0)
			return code;
		count += code == 1;
	}
	if (!place.path)
		return st_fail(err, STET_E_INVALID, "The path is empty. Name a directory.");
	*path = place.path;
	place.path = NULL;
	if (made)
		*made = count;
	return 0;
}
