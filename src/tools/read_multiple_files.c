/* read_multiple_files: several files in one answer; one that cannot be read does not spoil the rest. */
#include "tools/desk.h"
#include "tools/reading.h"

/* PATH_ROOM: what the name before a text and the line of facts behind it take. */
enum { PATHS_MAX = 100, PATH_ROOM = 256, ROOM_MIN = 512 };

static int fail_path(const struct st_call *call, struct stet_error *err) {
	return st_fail(err, STET_E_INVALID,
	               "A path in \"paths\" of %s is empty or holds a NUL character.",
	               call->tool->name);
}

static int read_one(struct st_call *call, struct st_str path, yyjson_mut_val *item,
                    struct st_excerpt *excerpt, struct stet_error *err) {
	size_t room = st_call_room(call), taken = path.len + PATH_ROOM;
	if (path.len == 0 || memchr(path.ptr, '\0', path.len))
		return fail_path(call, err);
	if (room < taken + ROOM_MIN)
		return st_fail(err, STET_E_TOO_BIG, "the answer is full; read this file by itself.");
	const char *found = st_call_find(call, "A path", path, err);
	if (!found)
		return err->code;
	struct st_reading what = {.path = found, .tail = -1, .room = room - taken};
	return st_read_page(call, &what, item, excerpt, err);
}

/* Each file is a block: its path, then its text or why there is none. */
static int add_file(struct st_call *call, yyjson_mut_val *list, struct st_str path,
                    struct stet_error *err) {
	st_auto(st_excerpt) excerpt = ST_EXCERPT_INIT;
	st_auto(st_buf) block = ST_BUF_INIT;
	struct stet_error why = {0};
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	int code = read_one(call, path, item, &excerpt, &why);
	if (code == STET_E_NOMEM)
		return st_fail_nomem(err);
	if (code < 0) {
		st_json_add_text(call->doc, item, "path", path);
		st_json_add_text(call->doc, item, "error", st_str(why.message));
		st_quote_name(&block, st_str(path.ptr));
		st_buf_addf(&block, ": Error - %s\n", why.message);
	} else {
		st_quote_name(&block, st_str(path.ptr));
		st_buf_adds(&block, ":\n");
		st_buf_add(&block, excerpt.text);
	}
	if (block.failed)
		return st_fail_nomem(err);
	st_json_push(call->doc, list, item);
	st_call_block(call, st_buf_str(&block));
	return code < 0 ? 0 : 1;
}

static int run(struct st_call *call, struct stet_error *err) {
	yyjson_val *paths = st_arg(call, "paths"), *path;
	if (yyjson_arr_size(paths) == 0 || yyjson_arr_size(paths) > PATHS_MAX)
		return st_fail(err, STET_E_INVALID, "\"paths\" of %s takes 1 to %d paths, not %zu.",
		               call->tool->name, PATHS_MAX, yyjson_arr_size(paths));
	size_t read = 0;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	yyjson_mut_val *list = st_json_add_array(call->doc, call->result, "files");
	yyjson_arr_iter items = yyjson_arr_iter_with(paths);
	while ((path = yyjson_arr_iter_next(&items))) {
		int code = add_file(call, list, st_json_str(path), err);
		if (code < 0)
			return code;
		read += (size_t)code;
	}
	st_json_add_size(call->doc, call->result, "read", read);
	st_buf_addf(&call->text, "%zu of %zu files were read.\n", read, yyjson_arr_size(paths));
	return 0;
}

static const struct st_param params[] = {
	{.name = "paths",
     .type = ST_PARAM_STRINGS,
     .required = true,
     .description = "The files, up to 100."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_read_multiple_files = {
	.name = "read_multiple_files",
	.title = "Read several files",
	.description =
		"Read several text files at once, each in a block that begins with its path. "
		"One that cannot be read is told of in its place.",
	.params = params,
	.output_schema = ST_OUTPUT("\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
                               "\"read\":{\"type\":\"integer\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_DEFAULT,
	.run = run,
};
