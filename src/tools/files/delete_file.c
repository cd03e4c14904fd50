/* delete_file: delete a file that the session has seen in full, a link or a directory. */
#include "base/plural.h"
#include "base/quote.h"
#include "core/workspace/vault.h"
#include "fs/write/remove.h"
#include "tools/files/delete_tree.h"
#include "tools/render.h"

/* Delete an empty directory, link or special file: there is no content to have seen. */
static int delete_plain(struct st_call *call, const char *path, const struct st_place *place,
                        struct stet_error *err) {
	int code = st_remove_plain(place, call->session->ws->writes.state_dir, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "path", place->path);
	st_json_add_true(call->doc, call->result, "deleted");
	st_buf_addf(&call->text, "Deleted %s %s\n",
	            S_ISDIR(place->st.st_mode)   ? "the empty directory"
	            : S_ISLNK(place->st.st_mode) ? "the link"
	                                         : "the special file",
	            st_quoted(path));
	return 0;
}

static int delete_directory(struct st_call *call, const char *path, const struct st_place *place,
                            struct stet_error *err) {
	size_t count = 0;
	int code = st_delete_tree(call, place, &count, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_render_path(call, call->result, "path", place->path);
	st_json_add_true(call->doc, call->result, "deleted");
	st_buf_addf(&call->text, "Deleted the directory %s", st_quoted(path));
	if (count == 0)
		st_buf_adds(&call->text, ", which had no files\n");
	else
		st_buf_addf(&call->text, " and %zu %s\n", count, st_plural(count, "file", "files"));
	return 0;
}

static int delete_file(struct st_call *call, const char *path, struct stet_error *err) {
	struct st_change change = {.path = path, .kind = ST_CHANGE_WHOLE, .remove = true};
	struct stet_answer *answer;
	int code = st_call_change(call, &change, "path", &answer, err);
	if (code < 0)
		return code;
	stet_answer_free(answer);
	st_json_add_true(call->doc, call->result, "deleted");
	st_buf_addf(&call->text, "Deleted file %s\n", st_quoted(path));
	return 0;
}

static bool is_root(const struct stet_session *session, const char *path) {
	st_auto(st_place) place = ST_PLACE_INIT;
	return st_root_locate_as(&session->ws->root, st_str(path), ST_LOCATE_DIR, &place, NULL) == 0 &&
	       place.path[0] == '\0';
}

static int run_delete_file(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_link(call, "path", err);
	if (!path)
		return err->code;
	st_auto(st_place) place = ST_PLACE_INIT;
	int code =
		st_root_locate_as(&call->session->ws->root, st_str(path), ST_LOCATE_LINK, &place, err);
	if (code == STET_E_KIND && is_root(call->session, path))
		return st_fail(err, STET_E_KIND,
		               "The workspace itself cannot be deleted. Name a file or directory in it.");
	if (code == 0)
		code = st_vault_check_path(call->session->ws, place.path, err);
	if (code < 0)
		return code;
	if (place.exists && S_ISDIR(place.st.st_mode) && st_arg_flag(call, "recursive", false))
		return delete_directory(call, path, &place, err);
	if (place.exists && !S_ISREG(place.st.st_mode))
		return delete_plain(call, path, &place, err);
	return delete_file(call, path, err);
}

static const struct st_param params[] = {
	{.name = "path",
     .aliases = "filePath file_path",
     .required = true,
     .description = "The file, link or directory."},
	{.name = "recursive",
     .type = ST_PARAM_BOOLEAN,
     .description = "With its files, if you read each."},
	{.name = "expectedHash",
     .aliases = "expected_hash",
     .unlisted = true,
     .description = "fileHash that you saw."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_delete_file = {
	.name = "delete_file",
	.title = "Delete a file",
	.description =
		"Delete a file that you have read completely, a link itself, or an empty directory.",
	.params = params,
	.output_schema = ST_OUTPUT("\"path\":{\"type\":\"string\"},\"deleted\":{\"type\":\"boolean\"}"),
	.hints = ST_HINT_DESTRUCTIVE,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_DEFAULT,
	.run = run_delete_file,
};
