#include "tools/files/tree.h"

#include "base/array.h"
#include "base/cancel.h"
#include "base/plural.h"
#include "text/find/glob.h"

/* STEP: how many entries to handle between two calls of st_call_step(). */
enum { PATTERNS_MAX = 100, NAMES_SHOWN = 5, STEP = 256 };

/* The state of a walk. */
struct build {
	struct st_call *call;
	size_t visited;
	struct st_tree *tree;
	const struct st_dir *dir;
	/* The length of the directory's path with its slash, if the walk begins above it. */
	size_t prefix;
	const char *state_dir;
	bool include_ignored;
	struct st_glob *excludes[PATTERNS_MAX];
	size_t exclude_count;
	st_tree_wanted *wanted;
	void *data;
};

void st_tree_release(struct st_tree *tree) {
	for (size_t i = 0; i < tree->count; i++)
		free(tree->items[i].path);
	free(tree->items);
	st_buf_release(&tree->ignored);
	*tree = (struct st_tree){0};
}

/* ---- patterns ---- */

static int compile_excludes(struct build *build, struct stet_error *err) {
	yyjson_val *list = st_arg(build->call, "excludePatterns"), *pattern;
	if (yyjson_arr_size(list) > PATTERNS_MAX)
		return st_fail(err, STET_E_INVALID, "\"excludePatterns\" of %s takes up to %d patterns.",
		               build->call->tool->name, PATTERNS_MAX);
	yyjson_arr_iter items = yyjson_arr_iter_with(list);
	while ((pattern = yyjson_arr_iter_next(&items))) {
		int code = st_glob_new(st_json_str(pattern), &build->excludes[build->exclude_count], err);
		if (code < 0)
			return code;
		build->exclude_count++;
	}
	return 0;
}

static void free_excludes(struct build *build) {
	for (size_t i = 0; i < build->exclude_count; i++)
		st_glob_free(build->excludes[i]);
}

static bool is_excluded(const struct build *build, struct st_str path, bool is_dir) {
	for (size_t i = 0; i < build->exclude_count; i++) {
		if (st_glob_match(build->excludes[i], path, is_dir))
			return true;
	}
	return false;
}

/* ---- the walk ---- */

/* The path relative to the directory; empty if it is not below it. */
static struct st_str relative_path(const struct build *build, struct st_str path) {
	struct st_str dir = st_str(build->dir->path);
	if (build->prefix == 0)
		return path;
	if (path.len <= build->prefix || !st_str_starts(path, dir) || path.ptr[dir.len] != '/')
		return st_str("");
	return st_str_slice(path, build->prefix, path.len);
}

/* Whether a path is the directory or a parent of it. */
static bool contains_dir(const struct build *build, struct st_str path) {
	struct st_str dir = st_str(build->dir->path);
	return st_str_starts(dir, path) && (dir.len == path.len || dir.ptr[path.len] == '/');
}

static int add_item(struct st_tree *tree, struct st_str path, bool is_dir, struct stet_error *err) {
	tree->bytes += path.len + 1;
	if (tree->count == ST_TREE_MAX || tree->bytes > ST_TREE_BYTES_MAX) {
		tree->cut = true;
		return 0;
	}
	if (!st_array_room(&tree->items, tree->count, sizeof *tree->items))
		return st_fail_nomem(err);
	char *copy = strndup(path.ptr, path.len);
	if (!copy)
		return st_fail_nomem(err);
	tree->items[tree->count++] = (struct st_tree_item){.path = copy, .is_dir = is_dir};
	return 0;
}

static void add_ignored_name(struct st_buf *names, const struct st_walk_entry *entry,
                             const char *path) {
	if (names->len > 0)
		st_buf_adds(names, ", ");
	st_quote_name(names, st_str(path));
	st_buf_adds(names, entry->type == ST_WALK_DIR ? "/" : "");
}

static void count_ignored(void *data, const struct st_walk_entry *entry) {
	struct build *build = data;
	struct st_tree *tree = build->tree;
	struct st_str path = relative_path(build, entry->path);
	if (path.len == 0 || st_str_eq(entry->path, st_str(build->state_dir)))
		return;
	/* The caller never wants it, ignored or not. */
	if (build->wanted && build->wanted(build->data, path, entry->type) == ST_TREE_PRUNE)
		return;
	size_t known = tree->ignored_dirs + tree->ignored_files;
	if (known < NAMES_SHOWN)
		add_ignored_name(&tree->ignored, entry, path.ptr);
	tree->ignored_dirs += entry->type == ST_WALK_DIR;
	tree->ignored_files += entry->type != ST_WALK_DIR;
}

static int collect_entry(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct build *build = data;
	if (++build->visited % STEP == 0 && st_call_step(build->call, build->visited, err) < 0)
		return STET_E_CANCELLED;
	bool is_dir = entry->type == ST_WALK_DIR;
	struct st_str path = relative_path(build, entry->path);
	if (path.len == 0)
		return is_dir && contains_dir(build, entry->path) ? 0 : ST_WALK_SKIP;
	if (st_str_eq(entry->path, st_str(build->state_dir)))
		return ST_WALK_SKIP;
	if (is_excluded(build, path, is_dir))
		return ST_WALK_SKIP;
	if (build->tree->cut)
		return ST_WALK_SKIP;
	enum st_tree_choice choice =
		build->wanted ? build->wanted(build->data, path, entry->type) : ST_TREE_YES;
	if (choice == ST_TREE_PRUNE)
		return ST_WALK_SKIP;
	if (choice == ST_TREE_NO)
		return 0;
	if (!build->tree->found)
		return add_item(build->tree, path, is_dir, err);
	build->tree->found(build->data, entry, path);
	return 0;
}

static void note_skipped(void *data, struct st_str path, const struct stet_error *why) {
	struct build *build = data;
	(void)path;
	if (build->tree->unreadable++ == 0)
		build->tree->why = *why;
}

/* A slash sorts before all other characters, so that a directory's contents follow it. */
static int rank(char c) {
	return c == '\0' ? 0 : c == '/' ? 1 : 1 + (unsigned char)c;
}

static int compare_paths(const void *a, const void *b) {
	const char *one = ((const struct st_tree_item *)a)->path;
	const char *two = ((const struct st_tree_item *)b)->path;
	size_t same = 0;
	while (one[same] && one[same] == two[same])
		same++;
	/* Paths may be long and share most of their length: count this as work. */
	st_cancel_progress(same);
	return rank(one[same]) - rank(two[same]);
}

/*
 * Walk from the root, so that the ignore rules of parent directories apply. Walk
 * from the directory itself if they exclude it: the caller asked for it by name.
 */
static int walk(struct build *build, const struct stet_workspace *ws, struct stet_error *err) {
	const char *path = build->dir->path;
	unsigned all = ST_WALK_NO_BUILTIN | ST_WALK_NO_FILES;
	int excluded = *path ? st_ignore_path(ws->root.fd, st_str(path), true, 0, NULL) : 0;
	bool alone = excluded != 0 || (*path && build->include_ignored) ||
	             st_path_is_protected(path, build->state_dir);
	build->prefix = alone || !*path ? 0 : strlen(path) + 1;
	struct st_walk how = {
		.threads = 1,
		.flags = build->include_ignored ? all : 0,
		.data = build,
		.on_entry = collect_entry,
		.ignored = count_ignored,
		.skipped = note_skipped,
	};
	return st_walk_run(&how, alone ? build->dir->fd : ws->root.fd, err);
}

int st_tree_collect(struct st_call *call, const char *path, st_tree_wanted *wanted, void *data,
                    struct st_dir *dir, struct st_tree *tree, struct stet_error *err) {
	if (!path)
		path = st_call_directory(call, err);
	if (!path)
		return err->code;
	const struct stet_workspace *ws = call->session->ws;
	struct build build = {
		.call = call,
		.tree = tree,
		.dir = dir,
		.state_dir = ws->writes.state_dir,
		.include_ignored = st_arg_flag(call, "includeIgnored", false),
		.wanted = wanted,
		.data = data,
	};
	int code = compile_excludes(&build, err);
	if (code == 0)
		code = st_dir_open(&ws->root, st_str(path), dir, err);
	if (code == 0)
		code = walk(&build, ws, err);
	free_excludes(&build);
	if (tree->count > 1)
		qsort(tree->items, tree->count, sizeof *tree->items, compare_paths);
	return code;
}

void st_tree_render_omissions(struct st_call *call, const struct st_tree *tree) {
	struct st_buf *out = st_call_footer(call);
	size_t ignored = tree->ignored_dirs + tree->ignored_files;
	if (ignored > 0) {
		st_json_add_size(call->doc, call->result, "ignored", ignored);
		st_buf_addf(out,
		            "[Left out as ignored: %zu %s, %zu %s (%s%s). Pass includeIgnored to see "
		            "them.]\n",
		            tree->ignored_dirs, st_plural(tree->ignored_dirs, "directory", "directories"),
		            tree->ignored_files, st_plural(tree->ignored_files, "file", "files"),
		            st_buf_cstr(&tree->ignored), ignored > NAMES_SHOWN ? ", ..." : "");
	}
	if (tree->cut)
		st_buf_addf(out,
		            "[There are more than %zu entries; the rest is left out. Ask for a "
		            "subdirectory.]\n",
		            tree->count);
	if (tree->unreadable > 0)
		st_buf_addf(out, "[%zu %s could not be read. %s]\n", tree->unreadable,
		            st_plural(tree->unreadable, "directory", "directories"), tree->why.message);
}
