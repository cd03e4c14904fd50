#include "tools/files/delete_tree.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/plural.h"
#include "base/quote.h"
#include "core/workspace/vault.h"
#include "fs/path/dirs.h"
#include "fs/write/remove.h"
#include "fs/tree/walk.h"
#include "tools/render.h"

/*
 * NAMED: how many unread files a refusal names.
 * STEP: how many entries to handle between two calls of st_call_step().
 */
enum { ENTRIES_MAX = 10000, NAMED = 10, STEP = 64 };

/* The work of handling one entry, in bytes, for st_cancel_check(). */
enum { ENTRY_WORK = 64 << 10 };

struct entry {
	/* Below the root. */
	char *path;
	enum st_walk_type type;
};

struct tree {
	struct st_call *call;
	const char *dir;
	struct entry *entries;
	size_t count;
};

static void tree_release(struct tree *tree) {
	for (size_t i = 0; i < tree->count; i++)
		free(tree->entries[i].path);
	free(tree->entries);
}

static int add_tree_entry(struct tree *tree, struct st_str relative_path, enum st_walk_type type,
                          struct stet_error *err) {
	if (tree->count == ENTRIES_MAX)
		return st_fail(err, STET_E_LIMIT,
		               "%s has more than %d files and directories. Delete a part of it first.",
		               st_quoted(tree->dir), ENTRIES_MAX);
	if (!st_array_room(&tree->entries, tree->count, sizeof *tree->entries))
		return st_fail_nomem(err);
	st_auto(st_buf) path = ST_BUF_INIT;
	st_buf_addf(&path, "%s%s%.*s", tree->dir, relative_path.len > 0 ? "/" : "",
	            (int)relative_path.len, relative_path.ptr);
	if (path.failed)
		return st_fail_nomem(err);
	tree->entries[tree->count++] = (struct entry){path.ptr, type};
	path = (struct st_buf)ST_BUF_INIT;
	return 0;
}

static int collect_entry(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	struct tree *tree = data;
	if (tree->count % STEP == 0 && st_call_step(tree->call, tree->count, err) < 0)
		return STET_E_CANCELLED;
	return add_tree_entry(tree, entry->path, entry->type, err);
}

/* A directory sorts before its contents. */
static int compare_paths(const void *a, const void *b) {
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static int collect_tree(struct tree *tree, struct stet_error *err) {
	st_auto(st_dir) dir = ST_DIR_INIT;
	struct st_walk how = {
		.threads = 1,
		.flags = ST_WALK_NO_BUILTIN | ST_WALK_NO_FILES,
		.data = tree,
		.on_entry = collect_entry,
	};
	int code = st_dir_open(&tree->call->session->ws->root, st_str(tree->dir), &dir, err);
	if (code == 0)
		code = add_tree_entry(tree, st_str(""), ST_WALK_DIR, err);
	if (code == 0)
		code = st_walk_run(&how, dir.fd, err);
	if (tree->count > 1)
		qsort(tree->entries, tree->count, sizeof *tree->entries, compare_paths);
	return code;
}

static int check_none_protected(const struct tree *tree, struct stet_error *err) {
	const struct stet_workspace *ws = tree->call->session->ws;
	const char *state_dir = ws->writes.state_dir;
	for (size_t i = 0; i < tree->count; i++) {
		if (st_cancel_check(ENTRY_WORK, err) < 0)
			return STET_E_CANCELLED;
		if (st_path_is_protected(tree->entries[i].path, state_dir))
			return st_fail(err, STET_E_PROTECTED,
			               "Deleting %s is not allowed: it belongs to git or to stet. Nothing was "
			               "deleted.",
			               st_quoted(tree->entries[i].path));
		if (st_vault_check_path(ws, tree->entries[i].path, err) < 0)
			return STET_E_PROTECTED;
	}
	return 0;
}

/* 1 if the session has seen all of the file's current version, 0 if not, or an error. */
static int is_seen(struct stet_session *session, const char *path, struct stet_error *err) {
	st_auto(st_file) file = ST_FILE_INIT;
	struct st_seen *seen;
	struct stat st;
	if (st_root_peek(&session->ws->root, path, &st, NULL) == 1 && st.st_size == 0)
		return 1;
	int standing = st_session_compare(session, path, &seen, &file, err);
	return standing < 0 ? standing : standing == ST_CLEAN && st_seen_all(seen);
}

static int refuse_unseen(struct tree *tree, size_t unseen, const struct st_buf *names,
                         struct stet_error *err) {
	struct st_call *call = tree->call;
	st_fail(err, STET_E_CONFLICT,
	        "%s has %zu %s whose current version you have not read completely. Read %s first. "
	        "Nothing was deleted.",
	        st_quoted(tree->dir), unseen, st_plural(unseen, "file", "files"),
	        st_plural(unseen, "it", "them"));
	call->failure = yyjson_mut_obj(call->doc);
	st_json_add_text(call->doc, call->failure, "status", ST_STR("conflict"));
	st_json_add_text(call->doc, call->failure, "reason", ST_STR("unseen"));
	st_render_path(call, call->failure, "path", tree->dir);
	st_buf_add(&call->text, st_buf_str(names));
	if (unseen > NAMED)
		st_buf_addf(&call->text, "and %zu more\n", unseen - NAMED);
	return err->code;
}

static void add_name(const struct st_call *call, const char *path, struct st_buf *out) {
	st_auto(st_buf) name = ST_BUF_INIT;
	st_call_spell(call, path, &name);
	st_buf_addf(out, "%s\n", st_quoted_str(st_buf_str(&name)));
}

static int check_seen(struct tree *tree, struct stet_error *err) {
	st_auto(st_buf) names = ST_BUF_INIT;
	size_t unseen = 0;
	for (size_t i = 0; i < tree->count; i++) {
		const struct entry *entry = &tree->entries[i];
		if (st_cancel_check(ENTRY_WORK, err) < 0)
			return STET_E_CANCELLED;
		int seen = entry->type == ST_WALK_FILE ? is_seen(tree->call->session, entry->path, err) : 1;
		if (seen < 0)
			return seen;
		if (!seen && ++unseen <= NAMED)
			add_name(tree->call, entry->path, &names);
	}
	return unseen > 0 ? refuse_unseen(tree, unseen, &names, err) : 0;
}

static int delete_file(struct st_call *call, const char *path, struct stet_error *err) {
	/* Of a refusal the answer has the sentence alone, without the diff. */
	struct st_change change = {
		.path = path, .kind = ST_CHANGE_WHOLE, .remove = true, .unshown = true};
	struct stet_answer *answer = st_answer_new("success");
	if (!answer)
		return st_fail_nomem(err);
	int code = st_change_apply(call->session, &change, answer, err);
	stet_answer_free(answer);
	return code;
}

static int delete_plain(struct st_call *call, const char *path, struct stet_error *err) {
	const struct stet_workspace *ws = call->session->ws;
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_root_locate_as(&ws->root, st_str(path), ST_LOCATE_LINK, &place, err);
	return code < 0 ? code : st_remove_plain(&place, ws->writes.state_dir, err);
}

/* Go backwards, so that a directory is empty when it is deleted. */
static int delete_all(struct tree *tree, size_t *count, struct stet_error *err) {
	struct stet_error why = {0};
	*count = 0;
	for (size_t i = tree->count; i-- > 0;) {
		const struct entry *entry = &tree->entries[i];
		bool is_file = entry->type == ST_WALK_FILE;
		int code = st_cancel_check(ENTRY_WORK, &why);
		if (code == 0)
			code = (is_file ? delete_file : delete_plain)(tree->call, entry->path, &why);
		if (code < 0)
			return st_fail(err, code, "%s was deleted only in part: %zu %s gone. %s",
			               st_quoted(tree->dir), *count, st_plural(*count, "file is", "files are"),
			               why.message);
		*count += is_file;
	}
	return 0;
}

int st_delete_tree(struct st_call *call, const struct st_place *place, size_t *count,
                   struct stet_error *err) {
	st_auto(tree) tree = {.call = call, .dir = place->path};
	int code = collect_tree(&tree, err);
	if (code == 0)
		code = check_none_protected(&tree, err);
	if (code == 0)
		code = check_seen(&tree, err);
	if (code == 0)
		code = delete_all(&tree, count, err);
	return code;
}
