/* agents_md: show the instructions that apply to a path, or list all instruction files. */
#include "base/plural.h"
#include "core/session/deliver.h"
#include "tools/render.h"

static void list_line(struct st_buf *out, const struct st_instructions_entry *entry) {
	st_quote_name(out, st_str(entry->path));
	st_buf_addf(out, " (%zu %s)", entry->size, st_plural(entry->size, "byte", "bytes"));
	if (entry->skipped)
		st_buf_addf(out, ": not loaded, %s", entry->skipped);
	st_buf_addc(out, '\n');
}

static void render_index(struct st_call *call, const struct stet_instructions *instructions) {
	for (size_t i = 0; i < instructions->count; i++)
		list_line(&call->text, &instructions->entries[i]);
	if (instructions->count == 0)
		st_buf_adds(&call->text, "There are no instruction files (AGENTS.md) in this workspace.\n");
}

static void render_chain(struct st_call *call, const char *path,
                         const struct stet_instructions *instructions) {
	for (size_t i = 0; i < instructions->count; i++) {
		if (call->text.len > 0)
			st_buf_adds(&call->text, "\n");
		st_buf_add(&call->text, st_buf_str(&instructions->entries[i].block));
	}
	if (instructions->count == 0) {
		st_buf_adds(&call->text, "No instructions apply to ");
		st_quote_name(&call->text, st_str(path));
		st_buf_adds(&call->text, ".\n");
	}
}

static int run_agents_md(struct st_call *call, struct stet_error *err) {
	struct stet_instructions *instructions = NULL;
	const char *path = st_arg(call, "path") ? st_call_path(call, "path", err) : NULL;
	if (st_arg(call, "path") && !path)
		return err->code;
	int code = path ? st_instructions_deliver(call->session, path, ST_INSTRUCTIONS_ALL,
	                                          st_call_room(call), NULL, &instructions, err)
	                : stet_instructions_index(call->session->ws, &instructions, err);
	if (code < 0)
		return code;
	st_json_add_text(call->doc, call->result, "status", ST_STR("success"));
	yyjson_mut_val *files = st_json_add_array(call->doc, call->result, "files");
	st_instructions_list_render(instructions, call->doc, files);
	if (path)
		render_chain(call, path, instructions);
	else
		render_index(call, instructions);
	for (size_t i = 0; i < instructions->notice_count; i++)
		st_buf_addf(&call->remark, "[%s]\n", instructions->notices[i]);
	stet_instructions_free(instructions);
	return 0;
}

static const struct st_param params[] = {
	{.name = "path", .aliases = "filePath file_path", .description = "A file or directory."},
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_agents_md = {
	.name = "agents_md",
	.title = "Show instructions",
	.description =
		"Show the instructions (AGENTS.md) that apply to a path, even if you got them before; "
		"without a path, list all instruction files.",
	.params = params,
	.output_schema = ST_OUTPUT(
		"\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"path\":{"
		"\"type\":\"string\"},\"change\":{\"enum\":[\"new\",\"replaced\",\"removed\",\"listed\"]},"
		"\"size\":{\"type\":\"integer\"},\"hash\":{\"type\":\"string\"},\"content\":{\"type\":"
		"\"string\"},\"cut\":{\"type\":\"integer\"},\"importedBy\":{\"type\":\"string\"},"
		"\"skipped\":{\"type\":\"string\"}},\"required\":[\"path\"]}}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT | ST_HINT_INSTRUCTS,
	.group = ST_GROUP_STATE,
	.run = run_agents_md,
};
