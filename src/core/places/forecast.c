#include "core/places/forecast.h"

#include <sys/stat.h>

/* git takes a file for binary that has a NUL byte among so many first ones. */
enum { BINARY_HEAD = 8000 };

struct comparing {
	struct st_git *git;
	const struct st_forecast_side *sides;
	const char *path;
	st_forecast_fn *each;
	void *data;
};

/* The three versions of a file. */
struct versions {
	struct st_content base, side[2];
};

static void versions_release(struct versions *versions) {
	st_content_release(&versions->base);
	st_content_release(&versions->side[0]);
	st_content_release(&versions->side[1]);
}

static bool is_same(const struct st_content *a, const struct st_content *b) {
	if (!a->exists || !b->exists)
		return a->exists == b->exists;
	return a->mode == b->mode && st_str_eq(st_buf_str(&a->bytes), st_buf_str(&b->bytes));
}

static bool is_binary(const struct st_content *content) {
	struct st_str bytes = st_buf_str(&content->bytes);
	return memchr(bytes.ptr, '\0', bytes.len < BINARY_HEAD ? bytes.len : BINARY_HEAD) != NULL;
}

/* ---- one file ---- */

static int report_file(struct comparing *comparing, struct st_file_forecast *file,
                       enum st_forecast verdict, const char *why, struct stet_error *err) {
	file->verdict = verdict;
	file->why = why;
	return verdict == ST_FORECAST_SAME ? 0 : comparing->each(comparing->data, file, err);
}

/* Merge three texts of regular files. The copy points to the result, which does not outlive the call. */
static int merge_texts(struct comparing *comparing, const struct versions *versions,
                       const struct st_file_forecast *file, struct stet_error *err) {
	st_auto(st_buf) merged = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	struct st_file_forecast own = *file;
	own.base = st_buf_str(&versions->base.bytes);
	own.sides[0] = st_buf_str(&versions->side[0].bytes);
	own.sides[1] = st_buf_str(&versions->side[1].bytes);
	own.merge = &result;
	int code = st_merge(own.base, own.sides[0], own.sides[1], &merged, &result, err);
	if (code == STET_E_CONFLICT)
		return report_file(comparing, &own, ST_FORECAST_OVERLAPS, NULL, err);
	if (code == STET_E_TOO_BIG)
		return report_file(comparing, &own, ST_FORECAST_UNKNOWN, "has too many lines", err);
	return code < 0 ? code : report_file(comparing, &own, ST_FORECAST_MERGES, NULL, err);
}

static const char *why_no_text(const struct versions *versions) {
	const struct st_content *a = &versions->side[0], *b = &versions->side[1];
	if (!S_ISREG(a->mode) || !S_ISREG(b->mode) ||
	    (versions->base.exists && !S_ISREG(versions->base.mode)))
		return "is a link or a submodule that both changed";
	if (is_binary(a) || is_binary(b) || (versions->base.exists && is_binary(&versions->base)))
		return "is binary, and both changed it";
	return NULL;
}

/* Whether only the permission to execute differs on one side. */
static bool only_mode_differs(const struct st_content *a, const struct st_content *b) {
	return st_str_eq(st_buf_str(&a->bytes), st_buf_str(&b->bytes));
}

static int compare_versions(struct comparing *comparing, const struct versions *versions,
                            struct st_file_forecast *file, struct stet_error *err) {
	const struct st_content *base = &versions->base, *a = &versions->side[0],
							*b = &versions->side[1];
	if (is_same(a, b))
		return report_file(comparing, file, ST_FORECAST_SAME, NULL, err);
	bool renamed = file->renamed[0] || file->renamed[1];
	if (renamed && a->exists && b->exists && S_ISREG(a->mode) != S_ISREG(b->mode))
		return report_file(comparing, file, ST_FORECAST_OVERLAPS,
		                   "is renamed in one and of another kind in the other", err);
	if (is_same(base, a) || is_same(base, b))
		return report_file(comparing, file, renamed ? ST_FORECAST_MERGES : ST_FORECAST_SAME, NULL,
		                   err);
	if (!a->exists || !b->exists)
		return report_file(comparing, file, ST_FORECAST_OVERLAPS,
		                   "is removed in one and changed in the other", err);
	const char *why = why_no_text(versions);
	if (why)
		return report_file(comparing, file, ST_FORECAST_OVERLAPS, why, err);
	if (!base->exists && a->mode != b->mode)
		return report_file(comparing, file, ST_FORECAST_OVERLAPS,
		                   "is executable in one and not in the other", err);
	bool merges = base->exists && (only_mode_differs(base, a) || only_mode_differs(base, b) ||
	                               only_mode_differs(a, b));
	if (merges)
		return report_file(comparing, file, ST_FORECAST_MERGES, NULL, err);
	return merge_texts(comparing, versions, file, err);
}

static const char *why_unread(int code) {
	return code == STET_E_TOO_BIG     ? "is too large to compare"
	       : code == STET_E_NOT_FOUND ? "is in no object of this repository here"
	                                  : "cannot be read";
}

/* Compare what both have; `entries` may be of other paths, where one side renamed the file. */
static int compare_file(struct comparing *comparing, const struct st_side *base,
                        const struct st_changed_file *const entries[2],
                        struct st_file_forecast *file, struct stet_error *err) {
	st_auto(versions)
		versions = {.base = ST_CONTENT_INIT, .side = {ST_CONTENT_INIT, ST_CONTENT_INIT}};
	struct stet_error why = {0};
	int code = st_content_read(comparing->git, comparing->sides[0].root, file->path, base,
	                           &versions.base, &why);
	for (int i = 0; i < 2 && code == 0; i++)
		code = st_content_read(comparing->git, comparing->sides[i].root, entries[i]->path,
		                       &entries[i]->now, &versions.side[i], &why);
	if (code == STET_E_NOMEM || code == STET_E_CANCELLED || code == STET_E_BUSY)
		return st_fail(err, code, "%s", why.message);
	if (code < 0)
		return report_file(comparing, file, ST_FORECAST_UNKNOWN, why_unread(code), err);
	return compare_versions(comparing, &versions, file, err);
}

/* ---- renames ---- */

static const char is_file_and_directory[] = "is a file in one and a directory in the other";

static const char *name_after(const struct st_checkout_changes *changed,
                              const struct st_changed_file *file) {
	return file->to == SIZE_MAX ? NULL : changed->items[file->to].path;
}

/* Whether one side renamed a file, which the other changed: merged, it has the new name alone. */
static bool is_moved_away(const struct st_checkout_changes *changed, const char *path) {
	const struct st_changed_file *file = st_changed_find(changed, path);
	return file && file->to != SIZE_MAX;
}

/*
 * Whether a side has a file below a path that would have to be a directory, and the
 * other side did not rename it.
 */
static bool has_below(const struct st_checkout_changes *changed,
                      const struct st_checkout_changes *other, const char *path) {
	size_t len = strlen(path), low = 0, high = changed->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strncmp(changed->items[middle].path, path, len);
		if (order < 0 || (order == 0 && changed->items[middle].path[len] < '/'))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < changed->count; low++) {
		const struct st_changed_file *file = &changed->items[low];
		if (strncmp(file->path, path, len) != 0 || file->path[len] != '/')
			return false;
		if (file->now.mode != 0 && !is_moved_away(other, file->path))
			return true;
	}
	return false;
}

/* Whether two entries, one of each side, are the same file now. */
static bool is_same_now(struct comparing *comparing,
                        const struct st_changed_file *const entries[2]) {
	st_auto(st_content) a = ST_CONTENT_INIT, b = ST_CONTENT_INIT;
	struct st_content *const contents[2] = {&a, &b};
	for (int i = 0; i < 2; i++) {
		if (st_content_read(comparing->git, comparing->sides[i].root, entries[i]->path,
		                    &entries[i]->now, contents[i], NULL) < 0)
			return false;
	}
	return is_same(&a, &b);
}

/* A file that one or both renamed: its new name is where the changes meet. */
static int compare_renamed(struct comparing *comparing,
                           const struct st_changed_file *const entries[2], struct stet_error *err) {
	struct st_file_forecast file = {.path = entries[0]->path};
	const struct st_changed_file *now[2];
	for (int i = 0; i < 2; i++) {
		const struct st_checkout_changes *changed = comparing->sides[i].changed;
		file.renamed[i] = name_after(changed, entries[i]);
		now[i] = file.renamed[i] ? &changed->items[entries[i]->to] : entries[i];
	}
	const char *a = file.renamed[0], *b = file.renamed[1];
	if (a && b && strcmp(a, b) != 0)
		return report_file(comparing, &file, ST_FORECAST_OVERLAPS,
		                   "is renamed to two different names", err);
	int other = a ? 1 : 0;
	bool gone = !(a && b) && entries[other]->now.mode == 0;
	if (gone)
		return report_file(comparing, &file, ST_FORECAST_OVERLAPS,
		                   "is renamed in one and removed in the other", err);
	const struct st_changed_file *there =
		a && b ? NULL : st_changed_find(comparing->sides[other].changed, a ? a : b);
	/* Both sides renamed it, and one put a link in its place: git treats it alike. */
	bool both = there && S_ISREG(entries[other]->now.mode) != S_ISREG(entries[0]->base.mode);
	if (both &&
	    has_below(comparing->sides[!other].changed, comparing->sides[other].changed, file.path))
		return report_file(comparing, &file, ST_FORECAST_OVERLAPS, is_file_and_directory, err);
	if (there)
		now[other] = there;
	/* git takes a file that both have, and drops the change of the old name. */
	if (there && !both && is_same_now(comparing, now))
		return report_file(comparing, &file, ST_FORECAST_MERGES, NULL, err);
	if (there && !both)
		return report_file(comparing, &file, ST_FORECAST_OVERLAPS,
		                   "is renamed to a name that the other side uses too", err);
	return compare_file(comparing, &entries[0]->base, now, &file, err);
}

/* Find the renames of a side if the other one changed a file that this one removed. */
static int find_needed_renames(struct comparing *comparing, int side, struct stet_error *err) {
	struct st_checkout_changes *changed = comparing->sides[side].changed;
	const struct st_checkout_changes *other = comparing->sides[!side].changed;
	bool needed = false;
	for (size_t i = 0; i < changed->count && !needed; i++)
		needed = changed->items[i].now.mode == 0 && changed->items[i].base.mode != 0 &&
		         st_changed_find(other, changed->items[i].path);
	return needed
	           ? st_changed_find_renames(comparing->git, comparing->sides[side].root, changed, err)
	           : 0;
}

/* ---- pairs ---- */

static bool is_wanted(const struct comparing *comparing,
                      const struct st_changed_file *const entries[2]) {
	if (!comparing->path || strcmp(comparing->path, entries[0]->path) == 0)
		return true;
	for (int i = 0; i < 2; i++) {
		const char *name = name_after(comparing->sides[i].changed, entries[i]);
		if (name && strcmp(comparing->path, name) == 0)
			return true;
	}
	return false;
}

/* Whether an entry is the new name of a file whose old name the other side changed: handled there. */
static bool is_handled(const struct comparing *comparing,
                       const struct st_changed_file *const entries[2]) {
	for (int i = 0; i < 2; i++) {
		const struct st_checkout_changes *changed = comparing->sides[i].changed;
		if (entries[i]->from != SIZE_MAX &&
		    st_changed_find(comparing->sides[!i].changed, changed->items[entries[i]->from].path))
			return true;
	}
	return false;
}

static int compare_common(struct comparing *comparing,
                          const struct st_changed_file *const entries[2], struct stet_error *err) {
	if (!is_wanted(comparing, entries) || is_handled(comparing, entries))
		return 0;
	if (entries[0]->to != SIZE_MAX || entries[1]->to != SIZE_MAX)
		return compare_renamed(comparing, entries, err);
	struct st_file_forecast file = {.path = entries[0]->path};
	const struct st_side *base = entries[0]->base.mode != 0 ? &entries[0]->base : &entries[1]->base;
	return compare_file(comparing, base, entries, &file, err);
}

/*
 * A new file of one side where the other has a directory. An old one was removed
 * by the other side, which compare_common() has seen.
 */
static int compare_directories(struct comparing *comparing, int side, struct stet_error *err) {
	const struct st_checkout_changes *changed = comparing->sides[side].changed;
	const struct st_checkout_changes *other = comparing->sides[!side].changed;
	int code = 0;
	for (size_t i = 0; i < changed->count && code == 0; i++) {
		const struct st_changed_file *file = &changed->items[i];
		struct st_file_forecast forecast = {.path = file->path};
		if (file->now.mode == 0 || file->base.mode != 0 ||
		    (comparing->path && strcmp(comparing->path, file->path) != 0) ||
		    !has_below(other, changed, file->path))
			continue;
		code = report_file(comparing, &forecast, ST_FORECAST_OVERLAPS, is_file_and_directory, err);
	}
	return code;
}

int st_forecast_pair(struct st_git *git, const struct st_forecast_side sides[2], const char *path,
                     st_forecast_fn *each, void *data, struct stet_error *err) {
	struct comparing comparing = {git, sides, path, each, data};
	const struct st_checkout_changes *a = sides[0].changed, *b = sides[1].changed;
	int code = find_needed_renames(&comparing, 0, err);
	if (code == 0)
		code = find_needed_renames(&comparing, 1, err);
	for (size_t i = 0, j = 0; code == 0 && i < a->count && j < b->count;) {
		int order = strcmp(a->items[i].path, b->items[j].path);
		if (order == 0) {
			const struct st_changed_file *const entries[2] = {&a->items[i], &b->items[j]};
			code = compare_common(&comparing, entries, err);
		}
		i += order <= 0;
		j += order >= 0;
	}
	if (code == 0)
		code = compare_directories(&comparing, 0, err);
	return code == 0 ? compare_directories(&comparing, 1, err) : code;
}
