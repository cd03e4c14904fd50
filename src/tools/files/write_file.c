/* write_file: create a file, or replace one that the session has seen in full. */
#include "tools/render.h"

enum { NOTE_MAX = 2048 };

struct writing {
	const char *path;
	struct st_str content;
	/* A note for a rewrite that changes little. */
	struct st_buf note;
};

/*
 * After a compaction, models forget what they wrote and write nearly the same
 * again. The diff shows them that the file was complete.
 */
static int note_small_change(struct writing *writing, struct st_str old, struct stet_error *err) {
	st_auto(st_buf) diff = ST_BUF_INIT;
	st_auto(st_diff_report) report = {0};
	struct st_diff_opts opts = ST_DIFF_OPTS(writing->path);
	opts.context = 1;
	opts.max_bytes = NOTE_MAX;
	int code = st_diff_unified(old, writing->content, &opts, &diff, &report, err);
	/* If the texts have too many lines to compare, there is no note. */
	if (code < 0)
		return code == STET_E_NOMEM ? code : 0;
	size_t lines = st_line_count(writing->content);
	size_t changed = report.added > report.removed ? report.added : report.removed;
	if (changed == 0 || changed > lines / 5)
		return 0;
	st_buf_addf(&writing->note,
	            "The file already existed, and only %zu of %zu lines changed; edit_file does that "
	            "without sending the rest. The changes:\n",
	            changed, lines);
	st_buf_add(&writing->note, st_buf_str(&diff));
	return writing->note.failed ? st_fail_nomem(err) : 0;
}

static int make_written(void *context, struct st_str old, struct st_buf *new,
                        struct stet_error *err) {
	struct writing *writing = context;
	st_buf_clear(&writing->note);
	st_buf_add(new, writing->content);
	if (new->failed)
		return st_fail_nomem(err);
	return old.len > 0 ? note_small_change(writing, old, err) : 0;
}

static void render_written(struct st_call *call, const struct writing *writing,
                           const struct stet_answer *answer) {
	struct st_buf *out = st_call_footer(call);
	st_json_add(call->doc, call->result, "created", yyjson_mut_bool(call->doc, answer->created));
	st_json_add_size(call->doc, call->result, "size", writing->content.len);
	if (st_call_is_parsed(call))
		st_buf_addf(&call->text, "Successfully wrote to %s", st_arg_str(call, "path").ptr);
	if (answer->noop) {
		st_json_add_text(call->doc, call->result, "note",
		                 ST_STR("File already exists with identical content"));
		st_buf_adds(out, "File already exists with identical content\n");
	} else if (!st_call_is_parsed(call)) {
		st_buf_addf(out, "%s file %s\n", answer->created ? "Created" : "Wrote",
		            st_quoted(writing->path));
	}
	if (!answer->noop && writing->note.len > 0) {
		st_json_add_text(call->doc, call->result, "note", st_buf_str(&writing->note));
		st_buf_add(out, st_buf_str(&writing->note));
	}
	st_buf_addf(out, "fileHash: %s\n", answer->hash);
	st_render_merged(call, answer);
}

static int run_write_file(struct st_call *call, struct stet_error *err) {
	const char *path = st_call_path(call, "path", err);
	if (!path)
		return err->code;
	struct writing writing = {.path = path, .content = st_arg_str(call, "content")};
	struct st_change change = {
		.path = path,
		.kind = ST_CHANGE_WHOLE,
		.check_drops = true,
		/* With a hash the caller means a file that is there. */
		.makes_dirs = !st_arg(call, "expectedHash"),
		.make = make_written,
		.context = &writing,
	};
	struct stet_answer *answer;
	int code = st_call_change(call, &change, "path", &answer, err);
	if (code == 0)
		render_written(call, &writing, answer);
	st_buf_release(&writing.note);
	stet_answer_free(answer);
	return code;
}

static const struct st_param params[] = {
	ST_PARAM_PATH,
	{.name = "content", .required = true, .description = "The whole new content."},
	ST_PARAM_EXPECTED_HASH,
	ST_PARAM_ON_STALE,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_write_file = {
	.name = "write_file",
	.title = "Write a file",
	.description =
		"Create a file, or replace one that you have read completely. To change a part use "
		"edit_file.",
	.params = params,
	.output_schema =
		ST_OUTPUT("\"path\":{\"type\":\"string\"},\"created\":{\"type\":\"boolean\"},\"size\":{"
                  "\"type\":\"integer\"},\"fileHash\":{\"type\":\"string\"}"),
	.hints = ST_HINT_DESTRUCTIVE | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_CORE,
	.always_load = true,
	.run = run_write_file,
};
