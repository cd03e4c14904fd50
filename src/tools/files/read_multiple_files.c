/* read_multiple_files: read several files; an error in one does not affect the others. */
#include "base/plural.h"
#include "tools/host.h"
#include "tools/files/reading.h"

enum {
	PATHS_MAX = 1000,
	/* Bytes for the path before a text and the line of facts after it. */
	PATH_ROOM = 256,
	/* A file is left out if there is less room for its text. */
	ROOM_MIN = 512,
	/* How many of the files left out are named; the others are counted. */
	NAMED_MAX = 50,
	/* Bytes kept free for the name of each file left out, and for all of them. */
	NAME_ROOM = 128,
	NAMES_ROOM = 4096,
};

#define FULL "the answer is full; read this file by itself."

/* The state of an answer while files are added. */
struct progress {
	yyjson_mut_val *list;
	/* How many paths follow the current one. */
	size_t left;
	/* How many files are in the answer, left out by name, left out without. */
	size_t read;
	size_t named;
	size_t unnamed;
};

static int fail_path(const struct st_call *call, struct stet_error *err) {
	return st_fail(err, STET_E_INVALID,
	               "A path in \"paths\" of %s is empty or contains a NUL character.",
	               call->tool->name);
}

/* The room for texts, after a reserve for the names of files that may not fit. */
static size_t room_for_text(const struct st_call *call, const struct progress *progress) {
	size_t room = st_call_room(call), names = call->page / 4;
	if (names > NAMES_ROOM)
		names = NAMES_ROOM;
	if (names > progress->left * NAME_ROOM)
		names = progress->left * NAME_ROOM;
	return room > names ? room - names : 0;
}

static int read_one(struct st_call *call, struct st_str path, size_t room, yyjson_mut_val *item,
                    struct st_excerpt *excerpt, struct stet_error *err) {
	if (path.len == 0 || memchr(path.ptr, '\0', path.len))
		return fail_path(call, err);
	const char *found = st_call_find(call, "A path", path, err);
	if (!found)
		return err->code;
	struct st_reading what = {.path = found, .tail = -1, .room = room};
	return st_read_page(call, &what, item, excerpt, err);
}

/* For programs, all files are one text, as the reference server sends it: "a.txt:\n...\n", separated by "\n---\n". */
static int add_to_text(struct st_call *call, struct progress *progress, struct st_str path,
                       yyjson_mut_val *item, struct st_str text, struct stet_error *err) {
	bool failed = st_str_starts(text, ST_STR(" "));
	st_buf_adds(&call->text, yyjson_mut_arr_size(progress->list) > 0 ? "\n---\n" : "");
	st_buf_addf(&call->text, "%s:", path.ptr);
	/* The reference server ends a file with an added line end, an error without one. */
	st_buf_add(&call->text, failed ? st_str_slice(text, 0, text.len - 1) : text);
	st_buf_adds(&call->text, failed ? "" : "\n");
	st_json_push(call->doc, progress->list, item);
	return call->text.failed ? st_fail_nomem(err) : 0;
}

/* Add a block for a file: its path, then its text or the error. */
static int add_file_block(struct st_call *call, struct progress *progress, struct st_str path,
                          yyjson_mut_val *item, struct st_str text, struct stet_error *err) {
	st_auto(st_buf) block = ST_BUF_INIT;
	if (st_call_is_parsed(call))
		return add_to_text(call, progress, path, item, text, err);
	st_quote_name(&block, st_str(path.ptr));
	st_buf_addc(&block, ':');
	st_buf_add(&block, text);
	if (block.failed)
		return st_fail_nomem(err);
	st_json_push(call->doc, progress->list, item);
	st_call_block(call, st_buf_str(&block));
	return 0;
}

static int add_error(struct st_call *call, struct progress *progress, struct st_str path,
                     const char *why, struct stet_error *err) {
	st_auto(st_buf) text = ST_BUF_INIT;
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	st_json_add_text(call->doc, item, "path", path);
	st_json_add_text(call->doc, item, "error", st_str(why));
	st_buf_addf(&text, " Error - %s\n", why);
	return text.failed ? st_fail_nomem(err)
	                   : add_file_block(call, progress, path, item, st_buf_str(&text), err);
}

static int leave_out(struct st_call *call, struct progress *progress, struct st_str path,
                     struct stet_error *err) {
	/* Quoting turns a byte into up to six. */
	bool fits = st_call_room(call) >= path.len * 6 + sizeof FULL + 16;
	if (progress->unnamed > 0 || progress->named == NAMED_MAX || !fits) {
		progress->unnamed++;
		return 0;
	}
	progress->named++;
	return add_error(call, progress, path, FULL, err);
}

static int add_one_file(struct st_call *call, struct progress *progress, struct st_str path,
                        struct stet_error *err) {
	st_auto(st_excerpt) excerpt = ST_EXCERPT_INIT;
	struct stet_error why = {0};
	size_t room = room_for_text(call, progress), taken = path.len + PATH_ROOM;
	/* Leave out all files after one that does not fit, to keep the order. */
	if (progress->named + progress->unnamed > 0 || room < taken + ROOM_MIN)
		return leave_out(call, progress, path, err);
	yyjson_mut_val *item = yyjson_mut_obj(call->doc);
	int code = read_one(call, path, room - taken, item, &excerpt, &why);
	if (code == STET_E_NOMEM || code == STET_E_CANCELLED)
		return st_fail(err, code, "%s", why.message);
	if (code < 0)
		return add_error(call, progress, path, why.message, err);
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_addc(&text, '\n');
	st_buf_add(&text, excerpt.text);
	progress->read++;
	return text.failed ? st_fail_nomem(err)
	                   : add_file_block(call, progress, path, item, st_buf_str(&text), err);
}

static void render_sums(struct st_call *call, const struct progress *progress, size_t total) {
	struct st_buf *out = st_call_footer(call);
	st_json_add_size(call->doc, call->result, "read", progress->read);
	st_buf_addf(out, "%zu of %zu %s read.\n", progress->read, total,
	            st_plural(total, "file was", "files were"));
	if (progress->unnamed == 0)
		return;
	st_json_add_size(call->doc, call->result, "notListed", progress->unnamed);
	st_buf_addf(out,
	            "[The answer is full. The last %zu %s not listed; read the rest in another "
	            "call.]\n",
	            progress->unnamed, st_plural(progress->unnamed, "path is", "paths are"));
}

static int read_files(struct st_call *call, struct stet_error *err) {
	yyjson_val *paths = st_arg(call, "paths"), *path;
	size_t total = yyjson_arr_size(paths);
	if (total == 0 || total > PATHS_MAX)
		return st_fail(err, STET_E_INVALID, "\"paths\" of %s takes 1 to %d paths, not %zu.",
		               call->tool->name, PATHS_MAX, total);
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	struct progress progress = {
		.list = st_json_add_array(call->doc, call->result, "files"),
		.left = total,
	};
	yyjson_arr_iter items = yyjson_arr_iter_with(paths);
	while ((path = yyjson_arr_iter_next(&items))) {
		progress.left--;
		int code = add_one_file(call, &progress, st_json_str(path), err);
		if (code < 0)
			return code;
	}
	render_sums(call, &progress, total);
	return 0;
}

static const struct st_param params[] = {
	{.name = "paths",
     .type = ST_PARAM_STRINGS,
     .required = true,
     .description = "The files, up to 1000."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_read_multiple_files = {
	.name = "read_multiple_files",
	.title = "Read several files",
	.description = "Read several text files at once, each in a block that begins with its path.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
                  "\"read\":{\"type\":\"integer\"},\"notListed\":{\"type\":\"integer\"}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_DEFAULT,
	.run = read_files,
};
