/* append_file: append text to a file, which others may write to at the same time. */
#include "base/quote.h"
#include "text/lines/lines.h"
#include "tools/render.h"

struct appending {
	struct st_str content;
	/* The file's last line had no line end, so the new text continues it. */
	bool joined;
};

/* Convert the line ends of the new text to the file's, as edits do. */
static int make_appended(void *context, struct st_str old, struct st_buf *new,
                         struct stet_error *err) {
	struct appending *appending = context;
	st_buf_add(new, old);
	if (st_eol_of_text(old) == ST_EOL_CRLF)
		st_eol_convert(new, appending->content, ST_EOL_CRLF);
	else
		st_buf_add(new, appending->content);
	char last = old.len > 0 ? old.ptr[old.len - 1] : '\n';
	appending->joined = last != '\n' && last != '\r';
	return new->failed ? st_fail_nomem(err) : 0;
}

static void render_appended(struct st_call *call, const char *path,
                            const struct appending *appending, const struct stet_answer *answer) {
	st_json_add(call->doc, call->result, "created", yyjson_mut_bool(call->doc, answer->created));
	bool is_empty = appending->content.len == 0 && !answer->created;
	st_buf_addf(&call->text, "%s file %s\n",
	            is_empty          ? "Appended nothing: the content is empty. Unchanged:"
	            : answer->created ? "Created"
	                              : "Appended to",
	            st_quoted(path));
	st_buf_addf(&call->text, "fileHash: %s\n", answer->hash);
	if (appending->joined && !is_empty)
		st_buf_adds(&call->text,
		            "[The last line had no line end, so the new text continues that line.]\n");
	st_render_merged(call, answer);
}

static int run_append_file(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_path(call, "path", err);
	if (!path)
		return err->code;
	struct appending appending = {.content = st_arg_str(call, "content")};
	struct st_change change = {
		.path = path,
		.kind = ST_CHANGE_APPEND,
		.makes_dirs = !st_arg(call, "expectedHash"),
		.text = true,
		.partly = &appending.joined,
		.make = make_appended,
		.context = &appending,
	};
	struct stet_answer *answer;
	int code = st_call_change(call, &change, "path", &answer, err);
	if (code == 0)
		render_appended(call, path, &appending, answer);
	stet_answer_free(answer);
	return code;
}

static const struct st_param params[] = {
	ST_PARAM_PATH,
	{.name = "content", .required = true, .description = "The text to add."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_append_file = {
	.name = "append_file",
	.title = "Append to a file",
	.description = "Add text at the end of a file, or create it. Needs no read.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"path\":{\"type\":\"string\"},\"created\":{\"type\":\"boolean\"},\"fileHash\":"
                  "{\"type\":\"string\"}"),
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_DEFAULT,
	.run = run_append_file,
};
