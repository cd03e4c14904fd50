/* search_files: find files and directories by name. */
#include "base/unicode.h"
#include "text/find/glob.h"
#include "tools/files/tree.h"

enum { SHOWN_MAX = 1000 };

struct pattern {
	/* NULL if the pattern has no wildcard. */
	struct st_glob *glob;
	/* Otherwise, the pattern with case and accents folded. */
	struct st_buf word;
	/* Scratch space for a folded name. */
	struct st_buf name;
};

static void pattern_release(struct pattern *pattern) {
	st_glob_free(pattern->glob);
	st_buf_release(&pattern->word);
	st_buf_release(&pattern->name);
}

static bool matches_name(struct pattern *pattern, struct st_str path) {
	size_t start = path.len;
	while (start > 0 && path.ptr[start - 1] != '/')
		start--;
	st_buf_clear(&pattern->name);
	st_unicode_fold(&pattern->name, st_str_slice(path, start, path.len));
	struct st_str name = st_buf_str(&pattern->name), word = st_buf_str(&pattern->word);
	return memmem(name.ptr, name.len, word.ptr, word.len) != NULL;
}

static enum st_tree_choice matches(void *data, struct st_str path, enum st_walk_type type) {
	struct pattern *pattern = data;
	bool found = pattern->glob ? st_glob_match(pattern->glob, path, type == ST_WALK_DIR)
	                           : matches_name(pattern, path);
	return found ? ST_TREE_YES : ST_TREE_NO;
}

static int read_pattern(struct st_call *call, struct pattern *pattern, struct stet_error *err) {
	struct st_str text = st_arg_str(call, "pattern");
	if (text.len == 0)
		return st_fail(err, STET_E_INVALID,
		               "The \"pattern\" of search_files is empty. Give a glob such as *.c, or a "
		               "part of a name.");
	if (st_glob_is_pattern(text))
		return st_glob_new(text, &pattern->glob, err);
	st_unicode_fold(&pattern->word, text);
	return pattern->word.failed ? st_fail_nomem(err) : 0;
}

/* The most bytes that a quoted path takes in the text, with a reserve for the footer. */
static size_t room_for(const struct st_call *call, const char *path) {
	return strlen(call->session->ws->root.path) + strlen(path) * 6 + 512;
}

static void render_absolute(struct st_call *call, const struct st_dir *dir,
                            const struct st_tree_item *item) {
	st_auto(st_buf) path = ST_BUF_INIT;
	const char *root = call->session->ws->root.path;
	st_buf_addf(&path, "%s/%s%s%s", strcmp(root, "/") == 0 ? "" : root, dir->path,
	            *dir->path ? "/" : "", item->path);
	st_quote_name(&call->text, st_str(st_buf_cstr(&path)));
}

/* Add a match, by a path that the next call can use. */
static void render_match(struct st_call *call, yyjson_mut_val *list, const struct st_dir *dir,
                         const struct st_tree_item *item) {
	st_auto(st_buf) path = ST_BUF_INIT;
	const char *root = call->session->ws->root.path;
	if (call->session != call->sessions[0])
		st_buf_addf(&path, "%s/", strcmp(root, "/") == 0 ? "" : root);
	st_buf_addf(&path, "%s%s%s%s", dir->path, *dir->path ? "/" : "", item->path,
	            item->is_dir ? "/" : "");
	st_json_push(call->doc, list, path.failed ? NULL : st_json_text(call->doc, st_buf_str(&path)));
	if (st_call_is_parsed(call))
		render_absolute(call, dir, item);
	else
		st_quote_name(&call->text, st_str(st_buf_cstr(&path)));
	st_buf_addc(&call->text, '\n');
}

static int run_search_files(struct st_call *call, struct stet_error *err) {
	st_auto(pattern) pattern = {0};
	st_auto(st_dir) dir = ST_DIR_INIT;
	st_auto(st_tree) tree = {0};
	struct st_part part;
	int code = read_pattern(call, &pattern, err);
	if (code == 0)
		code = st_tree_collect(call, NULL, matches, &pattern, &dir, &tree, err);
	if (code == 0)
		code = st_call_part(call, tree.count, SHOWN_MAX, &part, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	yyjson_mut_val *list = st_json_add_array(call->doc, call->result, "matches");
	for (size_t i = part.first; i < part.end; i++) {
		if (st_call_room(call) < room_for(call, tree.items[i].path))
			part.end = i;
		else
			render_match(call, list, &dir, &tree.items[i]);
	}
	if (tree.count == 0)
		st_buf_adds(&call->text, "No matches found\n");
	/* Programs split the text at line ends, so the last line has none. */
	if (st_call_is_parsed(call) && call->text.len > 0)
		st_buf_truncate(&call->text, call->text.len - 1);
	st_render_part(call, "matches", tree.count, &part);
	st_tree_render_omissions(call, &tree);
	return 0;
}

static const struct st_param params[] = {
	ST_PARAM_DIRECTORY,
	{.name = "pattern", .required = true, .description = "A glob, or a part of a name."},
	ST_PARAM_EXCLUDE,
	ST_PARAM_OFFSET,
	ST_PARAM_LIMIT,
	ST_PARAM_IGNORED,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_search_files = {
	.name = "search_files",
	.title = "Find files by name",
	.description = "Find files and directories by name, not by content.",
	.params = params,
	.output_schema = ST_OUTPUT("\"matches\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
                               "\"total\":{\"type\":\"integer\"},\"nextOffset\":{\"type\":"
                               "\"integer\"},\"ignored\":{\"type\":\"integer\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_CORE,
	.run = run_search_files,
};
