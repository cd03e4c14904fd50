#include "core/places/changed.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/array.h"
#include "fs/file/file.h"
#include "fs/path/sys.h"

void st_changed_release(struct st_checkout_changes *changed) {
	for (size_t i = 0; i < changed->count; i++)
		free(changed->items[i].path);
	free(changed->items);
	*changed = (struct st_checkout_changes){0};
}

static int add_file(struct st_checkout_changes *changed, struct st_str path,
                    const struct st_changed_file *file, struct stet_error *err) {
	if (changed->count == ST_CHANGED_MAX)
		return st_fail(err, STET_E_TOO_BIG, "More than %d files are changed there.",
		               ST_CHANGED_MAX);
	char *copy = strndup(path.ptr, path.len);
	if (!copy || !st_array_room(&changed->items, changed->count, sizeof *changed->items)) {
		free(copy);
		return st_fail_nomem(err);
	}
	struct st_changed_file *own = &changed->items[changed->count++];
	*own = *file;
	own->path = copy;
	own->to = own->from = SIZE_MAX;
	return 0;
}

/* Cut off what a NUL ends; false if there is none. */
static bool next_item(struct st_str *rest, struct st_str *item) {
	const char *end = rest->len ? memchr(rest->ptr, '\0', rest->len) : NULL;
	if (!end)
		return false;
	*item = st_strn(rest->ptr, (size_t)(end - rest->ptr));
	*rest = st_str_slice(*rest, item->len + 1, rest->len);
	return true;
}

static void take_side(struct st_side *side, unsigned mode, const char *oid) {
	side->mode = mode;
	if (strspn(oid, "0") != strlen(oid))
		snprintf(side->oid, sizeof side->oid, "%s", oid);
}

/* Read ":MODE MODE OID OID STATUS". */
static bool parse_record(struct st_str record, struct st_changed_file *file) {
	char text[200], before[ST_OID_MAX + 1], after[ST_OID_MAX + 1], status;
	unsigned from, to;
	snprintf(text, sizeof text, "%.*s", (int)record.len, record.ptr);
	*file = (struct st_changed_file){0};
	if (sscanf(text, ":%o %o %64[0-9a-f] %64[0-9a-f] %c", &from, &to, before, after, &status) != 5)
		return false;
	take_side(&file->base, from, before);
	/* An entry with conflicts: the file on the disk is the current attempt to resolve them. */
	if (status == 'U')
		file->now.mode = S_IFREG | 0644;
	else
		take_side(&file->now, to, after);
	return true;
}

static int read_tracked(struct st_git *git, const struct st_checkout *checkout, const char *commit,
                        struct st_checkout_changes *changed, struct stet_error *err) {
	const char *const argv[] = {
		"diff-index",    "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all",
		"--no-ext-diff", commit,  "--", NULL};
	st_auto(st_buf) out = ST_BUF_INIT;
	struct st_str record, path;
	struct st_changed_file file;
	int code = st_git_run(git, checkout, argv, &out, err);
	if (code != 0)
		return code < 0 ? code
		                : st_fail(err, STET_E_IO, "git cannot compare it with the common commit.");
	struct st_str rest = st_buf_str(&out);
	while (code == 0 && next_item(&rest, &record) && next_item(&rest, &path)) {
		if (!parse_record(record, &file))
			return st_fail(err, STET_E_IO, "git answered something else than a list of files.");
		code = add_file(changed, path, &file, err);
	}
	return code;
}

/* Files that git does not track and does not ignore: the next `git add` takes them. */
static int read_new(struct st_git *git, const struct st_checkout *checkout,
                    struct st_checkout_changes *changed, struct stet_error *err) {
	char exclude[4200];
	snprintf(exclude, sizeof exclude, "--exclude-from=%s/info/exclude", checkout->common);
	bool excludes = access(exclude + strlen("--exclude-from="), R_OK) == 0;
	const char *const argv[] = {"ls-files",
	                            "-o",
	                            "-z",
	                            "--exclude-standard",
	                            excludes ? exclude : "--",
	                            excludes ? "--" : NULL,
	                            NULL};
	const struct st_changed_file file = {.now.mode = S_IFREG | 0644};
	st_auto(st_buf) out = ST_BUF_INIT;
	struct st_str path;
	int code = st_git_run(git, checkout, argv, &out, err);
	if (code != 0)
		return code < 0 ? code : st_fail(err, STET_E_IO, "git cannot list its new files.");
	struct st_str rest = st_buf_str(&out);
	while (code == 0 && next_item(&rest, &path)) {
		/* A slash at the end: another repository. */
		if (path.len > 0 && path.ptr[path.len - 1] != '/')
			code = add_file(changed, path, &file, err);
	}
	return code;
}

static int by_path(const void *a, const void *b) {
	const struct st_changed_file *first = a, *second = b;
	return strcmp(first->path, second->path);
}

/* A path that is listed twice was removed from the index, or has conflicts: the disk decides. */
static void join_same(struct st_checkout_changes *changed) {
	size_t count = 0;
	for (size_t i = 0; i < changed->count; i++) {
		struct st_changed_file *last = count ? &changed->items[count - 1] : NULL;
		struct st_changed_file *file = &changed->items[i];
		if (!last || strcmp(last->path, file->path) != 0) {
			changed->items[count++] = *file;
			continue;
		}
		if (last->base.mode == 0)
			last->base = file->base;
		last->now = (struct st_side){.mode = S_IFREG | 0644};
		free(file->path);
	}
	changed->count = count;
}

int st_changed_read(struct st_git *git, const struct st_checkout *checkout, const char *commit,
                    struct st_checkout_changes *changed, struct stet_error *err) {
	*changed = (struct st_checkout_changes){0};
	int code = read_tracked(git, checkout, commit, changed, err);
	if (code == 0)
		code = read_new(git, checkout, changed, err);
	if (code < 0) {
		st_changed_release(changed);
		return code;
	}
	if (changed->count > 0)
		qsort(changed->items, changed->count, sizeof *changed->items, by_path);
	join_same(changed);
	return 0;
}

const struct st_changed_file *st_changed_find(const struct st_checkout_changes *changed,
                                              const char *path) {
	const struct st_changed_file key = {.path = (char *)(uintptr_t)path};
	return changed->count
	           ? bsearch(&key, changed->items, changed->count, sizeof *changed->items, by_path)
	           : NULL;
}

/* ---- bytes ---- */

void st_content_release(struct st_content *content) {
	st_buf_release(&content->bytes);
}

static int read_link(const struct st_place *place, struct st_content *content,
                     struct stet_error *err) {
	char target[4096];
	ssize_t len = st_retry(readlinkat(place->dirfd, place->name, target, sizeof target));
	if (len < 0)
		return st_fail_errno(err, errno, "A link cannot be read");
	content->mode = S_IFLNK;
	st_buf_add(&content->bytes, st_strn(target, (size_t)len));
	return content->bytes.failed ? st_fail_nomem(err) : 0;
}

/* Read what the disk has; a directory in its place means that the file does not exist. */
static int read_disk(const struct st_root *root, const char *path, struct st_content *content,
                     struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_root_locate_as(root, st_str(path), ST_LOCATE_LINK, &place, err);
	if (code == STET_E_NOT_FOUND || code == STET_E_OUTSIDE || (code == 0 && !place.exists) ||
	    (code == 0 && S_ISDIR(place.st.st_mode)) || (code == 0 && strcmp(place.path, path) != 0)) {
		content->exists = false;
		return 0;
	}
	if (code < 0)
		return code;
	if (S_ISLNK(place.st.st_mode))
		return read_link(&place, content, err);
	st_autofd fd = st_file_open(&place, err);
	if (fd < 0)
		return fd;
	code = st_file_fetch(fd, path, ST_SIDE_MAX, &file, err);
	content->mode = S_IFREG | (file.mode & S_IXUSR ? 0755 : 0644);
	st_buf_move(&content->bytes, &file.bytes);
	return code;
}

int st_content_read(struct st_git *git, const struct st_root *root, const char *path,
                    const struct st_side *side, struct st_content *content,
                    struct stet_error *err) {
	st_buf_clear(&content->bytes);
	content->exists = side->mode != 0;
	content->mode = side->mode;
	if (!content->exists)
		return 0;
	if (!*side->oid)
		return read_disk(root, path, content, err);
	/* A submodule's commit is all there is to compare. */
	if (S_ISREG(side->mode) || S_ISLNK(side->mode)) {
		int code = st_git_blob(git, side->oid, ST_SIDE_MAX, &content->bytes, err);
		return code == 0  ? st_fail(err, STET_E_NOT_FOUND, "A blob is missing.")
		       : code > 0 ? 0
		                  : code;
	}
	st_buf_adds(&content->bytes, side->oid);
	return content->bytes.failed ? st_fail_nomem(err) : 0;
}
