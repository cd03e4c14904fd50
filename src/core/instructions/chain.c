#include "core/instructions/chain.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cancel.h"
#include "fs/tree/ignore_file.h"
#include "fs/path/sys.h"
#include "text/markdown/imports.h"

/* A chain as it is being built. */
struct build {
	struct st_instructions_setup *setup;
	struct st_instructions_chain *chain;
	/* The current directory and its depth below the root. */
	struct st_str dir;
	size_t level;
	/* Directories deeper than `visible` are ignored; valid once `judged` is set. */
	bool judged;
	size_t visible;
};

static void item_release(struct st_instructions_item *item) {
	free(item->path);
	free(item->real);
	free(item->importer);
	st_instructions_file_put(item->file);
}

void st_instructions_chain_release(struct st_instructions_chain *chain) {
	for (size_t i = 0; i < chain->count; i++)
		item_release(&chain->items[i]);
	free(chain->items);
	st_buf_release(&chain->dir);
	st_buf_release(&chain->notices);
	*chain = (struct st_instructions_chain){0};
}

static void notice(struct st_instructions_chain *chain, struct st_str path, const char *why) {
	st_buf_adds(&chain->notices, st_quoted_str(path));
	st_buf_addf(&chain->notices, " %s; it was not loaded.", why);
	st_buf_addc(&chain->notices, '\0');
}

/* Append a file; ownership of the contents of `found` moves to the chain. */
static int push_item(struct st_instructions_chain *chain, struct st_str path,
                     struct st_instructions_found *found, struct stet_error *err) {
	if (!st_array_room(&chain->items, chain->count, sizeof *chain->items))
		return st_fail_nomem(err);
	char *copy = strndup(path.ptr, path.len);
	if (!copy)
		return st_fail_nomem(err);
	chain->items[chain->count++] =
		(struct st_instructions_item){.path = copy, .real = found->real, .file = found->file};
	*found = (struct st_instructions_found){0};
	return 0;
}

/* ---- imports ---- */

/* This breaks import cycles, and keeps a file from appearing twice. */
static bool is_in_chain(const struct st_instructions_chain *chain,
                        const struct st_instructions_found *found) {
	for (size_t i = 0; i < chain->count; i++) {
		if (strcmp(chain->items[i].real, found->real) == 0)
			return true;
	}
	return false;
}

static int add_import(struct build *build, size_t importer, struct st_instructions_found *found,
                      struct stet_error *err) {
	struct st_instructions_chain *chain = build->chain;
	unsigned depth = chain->items[importer].depth + 1;
	if (depth > ST_INSTRUCTIONS_IMPORT_DEPTH || chain->imports == ST_INSTRUCTIONS_IMPORTS_MAX) {
		notice(chain, st_str(found->real),
		       depth > ST_INSTRUCTIONS_IMPORT_DEPTH ? "is imported more than 5 files deep"
		                                            : "is imported after 64 others");
		return 0;
	}
	char *name = strdup(chain->items[importer].path);
	if (!name)
		return st_fail_nomem(err);
	struct st_str path = st_str(found->real);
	int code = push_item(chain, path, found, err);
	if (code < 0) {
		free(name);
		return code;
	}
	struct st_instructions_item *item = &chain->items[chain->count - 1];
	item->importer = name;
	item->depth = depth;
	item->level = build->level;
	chain->imports++;
	return 0;
}

/* Add the file that an `@name` names. Returns 1, or 0 if it is plain text that names no file. */
static int try_import(struct build *build, size_t importer, struct st_str name,
                      struct stet_error *err) {
	st_auto(st_buf) path = ST_BUF_INIT;
	st_auto(st_buf) why = ST_BUF_INIT;
	st_auto(st_instructions_found) found = {0};
	if (name.len >= PATH_MAX || name.ptr[name.len - 1] == '/')
		return 0;
	st_instructions_beside(&path, build->chain->items[importer].real, name);
	if (path.failed)
		return st_fail_nomem(err);
	int code = st_instructions_lookup(build->setup, st_buf_str(&path), true, &found, &why, err);
	if (code == ST_INSTRUCTIONS_EMPTY)
		return 1;
	/* No notice for "@/components": JavaScript projects write their own paths that way. */
	if (code == ST_INSTRUCTIONS_SKIPPED && name.ptr[0] != '/')
		notice(build->chain, st_buf_str(&path), st_buf_cstr(&why));
	if (code != ST_INSTRUCTIONS_USABLE)
		return code < 0 ? code : 0;
	if (is_in_chain(build->chain, &found))
		return 1;
	code = add_import(build, importer, &found, err);
	return code < 0 ? code : 1;
}

static bool is_blank_range(struct st_str text, size_t from, size_t to) {
	return st_str_trim(st_str_slice(text, from, to)).len == 0;
}

/* To look for a file takes as long as to read about so many bytes. */
enum { LOOKUP_WORK = 4096 };

/* Append the files that item `index` imports. */
static int expand(struct build *build, size_t index, struct stet_error *err) {
	struct st_instructions_file *file = build->chain->items[index].file;
	struct st_str text = st_instructions_file_text(file);
	struct st_imports imports = ST_IMPORTS(text);
	struct st_span span;
	size_t done = st_bom_len(text), followed = 0, named = 0;
	bool bridge = true;
	while (st_imports_next(&imports, &span)) {
		struct st_str path = st_import_path(text, span);
		if (named++ == ST_INSTRUCTIONS_NAMED_MAX) {
			notice(build->chain, path, "is imported after 1000 others by one file");
			break;
		}
		int code = st_cancel_check(LOOKUP_WORK, err);
		if (code == 0)
			code = try_import(build, index, path, err);
		if (code < 0)
			return code;
		bridge &= is_blank_range(text, done, span.start) && code == 1;
		followed += code == 1;
		done = span.end;
	}
	build->chain->items[index].bridge =
		bridge && followed > 0 && is_blank_range(text, done, text.len);
	return st_cancel_check(text.len, err);
}

/* ---- ignored directories ---- */

/* The first count components of a path. */
static struct st_str prefix(struct st_str path, size_t count) {
	size_t len = 0;
	for (; count > 0 && len < path.len; count--) {
		const char *slash = memchr(path.ptr + len + (len > 0), '/', path.len - len - (len > 0));
		len = slash ? (size_t)(slash - path.ptr) : path.len;
	}
	return st_strn(path.ptr, len);
}

static size_t components(struct st_str path) {
	size_t count = path.len > 0;
	for (size_t i = 0; i < path.len; i++)
		count += path.ptr[i] == '/';
	return count;
}

/* Whether a directory is ignored. Adds a notice about rules it cannot read, and goes on without them. */
static int is_ignored(struct build *build, struct st_str dir, struct stet_error *err) {
	unsigned flags = st_instructions_ignore_flags(build->setup);
	struct stet_error why = {0};
	int code = st_ignore_path(build->setup->root->fd, dir, true, flags, &why);
	if (code >= 0)
		return code;
	if (code == STET_E_NOMEM)
		return st_fail_nomem(err);
	st_buf_adds(&build->chain->notices, why.message);
	st_buf_addc(&build->chain->notices, '\0');
	return st_ignore_path(build->setup->root->fd, dir, true, flags | ST_IGNORE_NO_FILES, err);
}

/*
 * Count the levels of `dir` before the first ignored one. Everything below an
 * ignored directory is ignored too, so a binary search finds it.
 */
static int count_visible(struct build *build, struct st_str dir, size_t *levels,
                         struct stet_error *err) {
	size_t seen = 0, hidden = components(dir);
	*levels = hidden;
	int ignored = hidden > 0 ? is_ignored(build, dir, err) : 0;
	if (ignored <= 0)
		return ignored;
	while (hidden - seen > 1) {
		size_t middle = seen + (hidden - seen) / 2;
		ignored = is_ignored(build, prefix(dir, middle), err);
		if (ignored < 0)
			return ignored;
		*(ignored ? &hidden : &seen) = middle;
	}
	*levels = seen;
	return 0;
}

/*
 * Whether the current directory is ignored. Called only once a directory has an
 * instruction file: most have none, and this check is the more expensive one.
 */
static int is_hidden(struct build *build, struct stet_error *err) {
	if (build->level == 0)
		return 0;
	int code = 0;
	if (!build->judged)
		code = count_visible(build, st_buf_str(&build->chain->dir), &build->visible, err);
	build->judged = code == 0;
	return code < 0 ? code : build->level > build->visible;
}

/* ---- one directory ---- */

static void join(struct st_buf *out, struct st_str dir, const char *name) {
	st_buf_clear(out);
	st_buf_add(out, dir);
	if (dir.len > 0)
		st_buf_addc(out, '/');
	st_buf_adds(out, name);
}

/* Add the file of one directory and all it imports, breadth first. */
static int add_with_imports(struct build *build, struct st_str path,
                            struct st_instructions_found *found, struct stet_error *err) {
	struct st_instructions_chain *chain = build->chain;
	size_t first = chain->count;
	int code = push_item(chain, path, found, err);
	if (code == 0)
		chain->items[first].level = build->level;
	for (size_t i = first; code == 0 && i < chain->count; i++)
		code = expand(build, i, err);
	return code;
}

/* Add the first usable instruction file of a directory. Returns 1 if there is one. */
static int pick(struct build *build, int dirfd, struct stet_error *err) {
	struct st_instructions_setup *setup = build->setup;
	st_auto(st_buf) path = ST_BUF_INIT;
	st_auto(st_buf) why = ST_BUF_INIT;
	for (size_t i = 0; i < setup->name_count; i++) {
		struct stat st;
		if (st_retry(fstatat(dirfd, setup->names[i], &st, AT_SYMLINK_NOFOLLOW)) < 0)
			continue;
		int code = is_hidden(build, err);
		if (code != 0)
			return code < 0 ? code : 0;
		st_auto(st_instructions_found) found = {0};
		join(&path, build->dir, setup->names[i]);
		if (path.failed)
			return st_fail_nomem(err);
		code = st_instructions_lookup(setup, st_buf_str(&path), false, &found, &why, err);
		if (code < 0)
			return code;
		if (code == ST_INSTRUCTIONS_NONE && S_ISLNK(st.st_mode))
			notice(build->chain, st_buf_str(&path), "is a link that leads to no file");
		if (code == ST_INSTRUCTIONS_SKIPPED)
			notice(build->chain, st_buf_str(&path), st_buf_cstr(&why));
		if (code == ST_INSTRUCTIONS_USABLE) {
			code = add_with_imports(build, st_buf_str(&path), &found, err);
			return code < 0 ? code : 1;
		}
	}
	return 0;
}

/* ---- from the root down ---- */

/* Open the last component of a path in the directory that contains it. */
static int open_last(int dirfd, struct st_str path) {
	assert(path.len > 0);
	const char *slash = memrchr(path.ptr, '/', path.len);
	size_t start = slash ? (size_t)(slash + 1 - path.ptr) : 0;
	char name[NAME_MAX + 1];
	if (path.len - start > NAME_MAX)
		return -1;
	memcpy(name, path.ptr + start, path.len - start);
	name[path.len - start] = '\0';
	return st_retry(openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* Whether a directory is a git worktree of the repository at the root. */
static bool is_own_worktree(const struct st_root *root, int dirfd, struct st_str dir) {
	char text[PATH_MAX + 16];
	st_autofd fd = st_retry(openat(dirfd, ".git", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	ssize_t len = fd < 0 ? -1 : st_retry(read(fd, text, sizeof text - 1));
	if (len <= 0)
		return false;
	text[len] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (strncmp(text, "gitdir: ", 8) != 0)
		return false;
	st_auto(st_buf) path = ST_BUF_INIT;
	st_auto(st_buf) own = ST_BUF_INIT;
	if (text[8] != '/')
		st_buf_addf(&path, "%s/%.*s/", root->path, (int)dir.len, dir.ptr);
	st_buf_adds(&path, text + 8);
	st_buf_addf(&own, "%s/.git/worktrees/", root->path);
	st_autofree char *real = path.failed ? NULL : realpath(path.ptr, NULL);
	return real && !own.failed && st_str_starts(st_str(real), st_buf_str(&own));
}

/* Inside a worktree, the worktree's own top-level file replaces the root's. */
static void mask_root(struct st_instructions_chain *chain) {
	for (size_t i = 0; i < chain->count; i++)
		chain->items[i].masked |= chain->items[i].level == 0;
}

static int descend(struct build *build, bool alone, struct stet_error *err) {
	struct st_str dir = st_buf_str(&build->chain->dir);
	size_t levels = components(dir);
	st_autofd opened = -1;
	int code = 0, dirfd = build->setup->root->fd;
	for (build->level = 0; dirfd >= 0 && code >= 0; build->level++) {
		build->dir = prefix(dir, build->level);
		code = st_cancel_check(LOOKUP_WORK, err);
		if (code == 0)
			code = alone && build->level < levels ? 0 : pick(build, dirfd, err);
		if (code == 1 && build->level > 0 && is_own_worktree(build->setup->root, dirfd, build->dir))
			mask_root(build->chain);
		if (code < 0 || build->level == levels)
			break;
		dirfd = open_last(dirfd, prefix(dir, build->level + 1));
		st_close_at(&opened);
		opened = dirfd;
	}
	return code < 0 ? code : 0;
}

/* ---- the directory of a path ---- */

static struct st_str parent(struct st_str path) {
	while (path.len > 0 && path.ptr[path.len - 1] == '/')
		path.len--;
	const char *slash = memrchr(path.ptr, '/', path.len);
	return st_strn(path.ptr, slash ? (size_t)(slash - path.ptr) : 0);
}

/* Locate a file in a directory, as the caller spells the directory. */
static int locate_in(const struct st_root *root, struct st_str dir, struct st_place *place,
                     struct stet_error *err) {
	st_auto(st_buf) inside = ST_BUF_INIT;
	st_buf_add(&inside, dir);
	st_buf_adds(&inside, "/AGENTS.md");
	if (inside.failed)
		return st_fail_nomem(err);
	return st_root_locate(root, st_buf_str(&inside), place, err);
}

/* The directory of a path, or its nearest ancestor that exists. */
static int find_dir(const struct st_root *root, struct st_str path, struct st_buf *dir,
                    struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_root_locate(root, path, &place, err);
	if (code == STET_E_KIND || (code == 0 && place.exists && S_ISDIR(place.st.st_mode)))
		code = locate_in(root, path, &place, err);
	while (code == STET_E_NOT_FOUND && path.len > 0) {
		path = parent(path);
		code = path.len > 0 ? locate_in(root, path, &place, err) : 0;
	}
	if (code < 0)
		return code;
	if (place.path)
		st_buf_add(dir, parent(st_str(place.path)));
	return dir->failed ? st_fail_nomem(err) : 0;
}

int st_instructions_chain_build(struct st_instructions_setup *setup, const char *path,
                                unsigned flags, struct st_instructions_chain *chain,
                                struct stet_error *err) {
	struct build build = {.setup = setup, .chain = chain};
	int code = 0;
	if (flags & ST_INSTRUCTIONS_OF_FILE)
		st_buf_add(&chain->dir, parent(st_str(path)));
	else
		code = find_dir(setup->root, st_str(path), &chain->dir, err);
	if (code == 0 && chain->dir.failed)
		return st_fail_nomem(err);
	if (code == 0)
		code = descend(&build, flags & ST_INSTRUCTIONS_ALONE, err);
	if (code == 0 && chain->notices.failed)
		return st_fail_nomem(err);
	return code;
}
