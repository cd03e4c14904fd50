/* story: set, end or show the story, a named unit of work with a baseline of all files. */
#include <strings.h>

#include "base/quote.h"
#include "stet/state.h"
#include "tools/render.h"

static int set_use_snapshot(struct st_call *call, struct stet_error *err) {
	if (!st_arg(call, "useSnapshot"))
		return 0;
	return stet_story_use_snapshot(call->session->ws, st_arg_flag(call, "useSnapshot", true), err);
}

static int begin_or_end(struct st_call *call, const char *action, struct st_str id,
                        struct stet_error *err) {
	struct stet_workspace *ws = call->session->ws;
	if (strcasecmp(action, "end") == 0)
		return stet_story_end(ws, err);
	if (strcasecmp(action, "set") == 0 || (!*action && id.len > 0)) {
		if (strlen(id.ptr) != id.len)
			return st_fail(err, STET_E_INVALID, "\"id\" of story contains a NUL character.");
		return stet_story_begin(ws, id.ptr, err);
	}
	return 0;
}

static int run_story(struct st_call *call, struct stet_error *err) {
	char *id = NULL;
	int code = begin_or_end(call, st_arg_str(call, "action").ptr, st_arg_str(call, "id"), err);
	if (code == 0)
		code = set_use_snapshot(call, err);
	if (code == 0)
		code = stet_story(call->session->ws, &id, err);
	int used = code == 0 ? stet_snapshot_used(call->session->ws, err) : code;
	if (used < 0) {
		stet_free(id);
		return used;
	}
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	st_json_add_text(call->doc, call->result, "storyId", st_str(id));
	st_json_add(call->doc, call->result, "useSnapshot", yyjson_mut_bool(call->doc, used));
	if (id)
		st_buf_addf(&call->text, "Story: %s\n", st_quoted(id));
	else
		st_buf_adds(&call->text, "There is no story.\n");
	if (!used)
		st_buf_adds(&call->text, "Prompts contain the full history, not the snapshot.\n");
	stet_free(id);
	return 0;
}

static const struct st_param params[] = {
	{.name = "action",
     .choices = "set|end|status",
     .description = "set if an id is given, else status."},
	{.name = "id",
     .aliases = "story_id storyId",
     .description = "The story's name. The files as they are when it is set become its baseline."},
	{.name = "useSnapshot",
     .aliases = "use_snapshot",
     .type = ST_PARAM_BOOLEAN,
     .description =
         "Whether prompts of this story contain the snapshot (true) or the full history."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_story = {
	.name = "story",
	.title = "Set the story",
	.description =
		"Set, end or show the story you work on. Files count as created, modified or unchanged "
		"since it began.",
	.params = params,
	.output_schema = ST_OUTPUT("\"storyId\":{\"type\":\"string\"},"
                               "\"useSnapshot\":{\"type\":\"boolean\"}"),
	.hints = ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_STATE,
	.run = run_story,
};
