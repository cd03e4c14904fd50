#include "fs/path/nearby.h"

#include <dirent.h>

#include "base/distance.h"
#include "fs/path/dirs.h"

enum { ENTRIES_MAX = 1000 };

/* A name without its extension. */
static struct st_str stem_of(struct st_str name) {
	for (size_t i = name.len; i > 1; i--) {
		if (name.ptr[i - 1] == '.')
			return st_str_slice(name, 0, i - 1);
	}
	return name;
}

/* The edit distance of two names; SIZE_MAX if more than one letter in three is wrong. */
static size_t name_distance(struct st_str typed, struct st_str name) {
	struct st_str stem = stem_of(typed);
	/* Only the extension is missing. */
	if (stem.len == typed.len && typed.len > 1 && st_str_eq(stem_of(name), typed))
		return 1;
	if (name.len > ST_DISTANCE_MAX || typed.len > ST_DISTANCE_MAX)
		return SIZE_MAX;
	/* Only the extension is wrong, by a letter. */
	if (stem.len < typed.len && st_str_eq(stem_of(name), stem) && st_distance(typed, name) == 1)
		return 1;
	size_t longer = typed.len > name.len ? typed.len - name.len : name.len - typed.len;
	if (longer * 3 > stem.len)
		return SIZE_MAX;
	size_t far = st_distance(typed, name);
	return far * 3 <= stem.len ? far : SIZE_MAX;
}

/* Write the most similar entry of a directory to out; false if none is similar. */
static bool find_nearest(DIR *dir, struct st_str typed, bool is_dir, struct st_buf *out) {
	const struct dirent *entry;
	size_t least = SIZE_MAX;
	for (size_t i = 0; (entry = readdir(dir)); i++) {
		/* The caller waits for its error message: do not search large directories. */
		if (i == ENTRIES_MAX)
			return false;
		/* Skip the wrong kind; a symbolic link may lead to either. */
		if (entry->d_type == (is_dir ? DT_REG : DT_DIR))
			continue;
		size_t far = name_distance(typed, st_str(entry->d_name));
		if (far < least) {
			least = far;
			st_buf_clear(out);
			st_buf_adds(out, entry->d_name);
		}
	}
	return least != SIZE_MAX;
}

static bool find_nearest_in(const struct st_root *root, struct st_str path, struct st_str typed,
                            bool is_dir, struct st_buf *out) {
	st_auto(st_dir) dir = ST_DIR_INIT;
	if (st_dir_open(root, path.len > 0 ? path : ST_STR("."), &dir, NULL) < 0)
		return false;
	DIR *stream = fdopendir(dir.fd);
	if (!stream)
		return false;
	dir.fd = -1;
	bool found = find_nearest(stream, typed, is_dir, out);
	closedir(stream);
	return found;
}

static bool path_exists(const struct st_root *root, struct st_str path) {
	st_auto(st_place) place = ST_PLACE_INIT;
	return st_root_locate_as(root, path, ST_LOCATE_DIR, &place, NULL) == 0 && place.exists;
}

/* Find the first component that does not exist: it begins at *from and ends at the result, or 0. */
static size_t find_missing_name(const struct st_root *root, struct st_str path, size_t *from) {
	for (size_t end = 0; end < path.len; end++) {
		*from = end;
		while (end < path.len && path.ptr[end] != '/')
			end++;
		if (end > *from && !path_exists(root, st_str_slice(path, 0, end)))
			return end;
	}
	return 0;
}

/* Correct the first wrong component; false if the corrected path does not exist either. */
static bool correct_path(const struct st_root *root, struct st_str path, struct st_buf *out) {
	st_auto(st_buf) name = ST_BUF_INIT;
	size_t from = 0, end = find_missing_name(root, path, &from);
	struct st_str above = st_str_slice(path, 0, from);
	if (end == 0 ||
	    !find_nearest_in(root, above, st_str_slice(path, from, end), end < path.len, &name))
		return false;
	st_buf_add(out, above);
	st_buf_add(out, st_buf_str(&name));
	st_buf_add(out, st_str_slice(path, end, path.len));
	return !name.failed && !out->failed && path_exists(root, st_buf_str(out));
}

/* Absolute if the caller's path was, else relative to the root. */
static const char *in_asked_form(const struct st_root *root, const char *path, struct st_str meant,
                                 struct st_buf *out) {
	if (path[0] == '/')
		st_buf_addf(out, "%s/", root->path);
	st_buf_add(out, meant);
	return st_buf_cstr(out);
}

void st_nearby_suggest(const struct st_root *root, const char *path, const char *state_dir,
                       struct stet_error *err) {
	st_auto(st_buf) asked = ST_BUF_INIT, meant = ST_BUF_INIT, quoted = ST_BUF_INIT;
	if (err && st_root_spelling(root, path, &asked) &&
	    correct_path(root, st_buf_str(&asked), &meant) &&
	    !st_path_is_protected(st_buf_cstr(&meant), state_dir))
		(void)st_fail(err, STET_E_NOT_FOUND, "File not found: %s. Did you mean %s?",
		              st_quoted(path),
		              st_quoted(in_asked_form(root, path, st_buf_str(&meant), &quoted)));
}
