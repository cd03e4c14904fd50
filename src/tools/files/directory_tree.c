/* directory_tree: show the tree below a directory; if it is large, the upper levels. */
#include "base/cancel.h"
#include "tools/files/tree.h"

enum { SHOWN_MAX = 1000 };

static size_t depth_of(const char *path) {
	size_t depth = 0, len = 0;
	for (; path[len]; len++)
		depth += path[len] == '/';
	st_cancel_progress(len);
	return depth;
}

/* Levels that are counted apart; the last one has all deeper items too. */
enum { DEPTHS = 256 };

/* How many items a level has, and how many bytes they take in the answer. */
struct level {
	size_t count;
	size_t bytes;
};

static const char *name_of(const struct st_tree_item *item) {
	const char *slash = strrchr(item->path, '/');
	return slash ? slash + 1 : item->path;
}

/* The most bytes that a name takes in JSON. */
static size_t quoted_len(const char *name) {
	size_t len = 0;
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;
		len += c < 0x20 || c == 0x7f ? 6 : c >= 0x80 ? 3 : c == '"' || c == '\\' ? 2 : 1;
	}
	return len;
}

/* The bytes of an item in the text: indentation, name, and the count of hidden items. */
static size_t cost_of(const struct st_tree_item *item, size_t depth, bool json) {
	if (json)
		return quoted_len(name_of(item)) +
		       sizeof "{\"name\":\"\",\"type\":\"directory\",\"children\":[]},";
	return 2 * depth + strlen(name_of(item)) + 24;
}

static bool take_room(struct level *room, size_t count, size_t bytes) {
	if (count > room->count || bytes > room->bytes)
		return false;
	room->count -= count;
	room->bytes -= bytes;
	return true;
}

/* List whole levels from the top as long as they fit, then the first items of the next level. */
static size_t choose_listed(struct st_tree *tree, struct level room, size_t max_depth, bool json) {
	struct level levels[DEPTHS] = {0};
	size_t listed = 0, whole = 0;
	for (size_t i = 0; i < tree->count; i++) {
		size_t depth = depth_of(tree->items[i].path);
		struct level *level = &levels[depth < DEPTHS ? depth : DEPTHS - 1];
		level->count++;
		level->bytes += cost_of(&tree->items[i], depth, json);
	}
	while (whole < DEPTHS && take_room(&room, levels[whole].count, levels[whole].bytes))
		whole++;
	for (size_t i = 0; i < tree->count; i++) {
		size_t depth = depth_of(tree->items[i].path);
		bool fits = depth < whole ||
		            (depth == whole && take_room(&room, 1, cost_of(&tree->items[i], depth, json)));
		tree->items[i].listed = fits && depth < max_depth;
		listed += tree->items[i].listed;
	}
	return listed;
}

static bool is_inside(const char *path, const char *dir) {
	size_t len = strlen(dir);
	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/*
 * Count each hidden item at the nearest listed directory above it. A directory's
 * contents follow it in the list, so one pass with a stack of directories will do.
 */
static void count_hidden(struct st_tree *tree) {
	struct st_tree_item *top = NULL;
	for (size_t i = 0; i < tree->count; i++) {
		struct st_tree_item *item = &tree->items[i];
		while (top && !is_inside(item->path, top->path))
			top = top->above;
		if (item->listed) {
			item->above = top;
			top = item;
		} else if (top) {
			top->hidden++;
		}
	}
}

static void list_item(struct st_call *call, yyjson_mut_val *list, const struct st_tree_item *item) {
	st_auto(st_buf) path = ST_BUF_INIT;
	st_buf_addf(&path, "%s%s", item->path, item->is_dir ? "/" : "");
	st_json_push(call->doc, list, path.failed ? NULL : st_json_text(call->doc, st_buf_str(&path)));
}

static void render_item(struct st_call *call, const struct st_tree_item *item) {
	for (size_t i = depth_of(item->path); i > 0; i--)
		st_buf_adds(&call->text, "  ");
	st_quote_name(&call->text, st_str(name_of(item)));
	st_buf_adds(&call->text, item->is_dir ? "/" : "");
	if (item->hidden > 0)
		st_buf_addf(&call->text, " (%zu more below)", item->hidden);
	st_buf_addc(&call->text, '\n');
}

static void close_directories(struct st_buf *out, size_t *open, size_t depth) {
	for (; *open > depth; --*open)
		st_buf_adds(out, "]}");
}

/* The reference server's form: [{"name", "type", "children"}], where only directories have children. */
static void render_json(struct st_buf *out, const struct st_tree *tree) {
	size_t open = 0;
	bool first = true;
	st_buf_addc(out, '[');
	for (size_t i = 0; i < tree->count; i++) {
		const struct st_tree_item *item = &tree->items[i];
		if (!item->listed)
			continue;
		size_t depth = depth_of(item->path);
		first &= open <= depth;
		close_directories(out, &open, depth);
		st_buf_adds(out, first ? "{\"name\":" : ",{\"name\":");
		st_json_quote(out, st_str(name_of(item)));
		st_buf_adds(out, item->is_dir ? ",\"type\":\"directory\",\"children\":["
		                              : ",\"type\":\"file\"}");
		open += item->is_dir;
		first = item->is_dir;
	}
	close_directories(out, &open, 0);
	st_buf_addc(out, ']');
}

static void render_text(struct st_call *call, const struct st_tree *tree) {
	for (size_t i = 0; i < tree->count; i++) {
		if (tree->items[i].listed)
			render_item(call, &tree->items[i]);
	}
	if (tree->count == 0)
		st_buf_adds(&call->text, "[The directory is empty.]\n");
}

static int check_limits(const struct st_call *call, struct stet_error *err) {
	if (st_arg_int(call, "maxDepth", 1) < 1 || st_arg_int(call, "limit", 1) < 1)
		return st_fail(err, STET_E_INVALID,
		               "\"maxDepth\" and \"limit\" of directory_tree must be at least 1.");
	return 0;
}

static int run_directory_tree(struct st_call *call, struct stet_error *err) {
	st_auto(st_dir) dir = ST_DIR_INIT;
	st_auto(st_tree) tree = {0};
	int code = check_limits(call, err);
	if (code == 0)
		code = st_tree_collect(call, NULL, NULL, NULL, &dir, &tree, err);
	if (code < 0)
		return code;
	int64_t limit = st_arg_int(call, "limit", SHOWN_MAX);
	struct level room = {
		.count = limit < SHOWN_MAX ? (size_t)limit : SHOWN_MAX,
		.bytes = st_call_room(call),
	};
	bool json = st_call_is_parsed(call);
	size_t listed =
		choose_listed(&tree, room, (size_t)st_arg_int(call, "maxDepth", INT64_MAX), json);
	count_hidden(&tree);

	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "path", *dir.path ? dir.path : ".");
	yyjson_mut_val *list = st_json_add_array(call->doc, call->result, "tree");
	for (size_t i = 0; i < tree.count; i++) {
		if (tree.items[i].listed)
			list_item(call, list, &tree.items[i]);
	}
	st_json_add_size(call->doc, call->result, "total", tree.count);
	if (json)
		render_json(&call->text, &tree);
	else
		render_text(call, &tree);
	if (listed < tree.count)
		st_buf_addf(st_call_footer(call),
		            "[%zu of %zu entries are shown. Call again with the path of a subdirectory to "
		            "see more.]\n",
		            listed, tree.count);
	st_tree_render_omissions(call, &tree);
	return 0;
}

static const struct st_param params[] = {
	ST_PARAM_DIRECTORY,
	ST_PARAM_EXCLUDE,
	{.name = "maxDepth",
     .aliases = "max_depth depth",
     .type = ST_PARAM_INTEGER,
     .description = "How many levels to show."},
	ST_PARAM_LIMIT,
	ST_PARAM_IGNORED,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_directory_tree = {
	.name = "directory_tree",
	.title = "Show a directory tree",
	.description =
		"Show the tree below a directory, indented; if it is large, only the upper levels. "
		"Ignored files are left out and counted.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"path\":{\"type\":\"string\"},\"tree\":{\"type\":\"array\",\"items\":{"
                  "\"type\":\"string\"}},\"total\":{\"type\":\"integer\"},\"ignored\":{\"type\":"
                  "\"integer\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.run = run_directory_tree,
};
