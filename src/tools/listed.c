/* The list of tools. Clients send it to their model with each request, so it has to be short. */
#include "tools/tool.h"

#include "stet/tools.h"

size_t stet_tool_count(void) {
	size_t count = 0;
	while (st_tools[count])
		count++;
	return count;
}

static const struct st_tool *tool_at(size_t tool) {
	return tool < stet_tool_count() ? st_tools[tool] : NULL;
}

const char *stet_tool_name(size_t tool) {
	return tool_at(tool) ? tool_at(tool)->name : NULL;
}

const char *stet_tool_title(size_t tool) {
	return tool_at(tool) ? tool_at(tool)->title : NULL;
}

const char *stet_tool_description(size_t tool) {
	return tool_at(tool) ? tool_at(tool)->description : NULL;
}

const char *stet_tool_group(size_t tool) {
	static const char *const names[] = {"files", "text", "state"};
	return tool_at(tool) ? names[tool_at(tool)->group] : NULL;
}

/* ---- as JSON ---- */

static void add_hint(struct st_buf *out, const char *name, bool value) {
	st_buf_addf(out, "\"%s\":%s,", name, value ? "true" : "false");
}

/* For a tool that only reads, MCP ignores the hints on writing. */
static void add_hints(struct st_buf *out, unsigned hints) {
	st_buf_adds(out, "{");
	add_hint(out, "readOnlyHint", hints & ST_HINT_READ_ONLY);
	if (!(hints & ST_HINT_READ_ONLY)) {
		add_hint(out, "destructiveHint", hints & ST_HINT_DESTRUCTIVE);
		add_hint(out, "idempotentHint", hints & ST_HINT_IDEMPOTENT);
	}
	st_buf_adds(out, "\"openWorldHint\":false}");
}

static const char *schema_type(yyjson_val *member) {
	const char *type = yyjson_get_str(yyjson_obj_get(member, "type"));
	return type ? type : "string";
}

/*
 * Write a shortened output schema: the tool's own members with their types.
 * The members of st_common_schema and the items of arrays would fill most of
 * the list of tools, and no model needs them.
 */
static void add_output(struct st_buf *out, const char *schema) {
	yyjson_doc *own = yyjson_read(schema, strlen(schema), 0);
	yyjson_doc *common = yyjson_read(st_common_schema, strlen(st_common_schema), 0);
	yyjson_val *known = yyjson_obj_get(yyjson_doc_get_root(common), "properties"), *key;
	yyjson_obj_iter members =
		yyjson_obj_iter_with(yyjson_obj_get(yyjson_doc_get_root(own), "properties"));
	st_buf_adds(out, "{\"type\":\"object\",\"properties\":{\"status\":{\"type\":\"string\"}");
	while ((key = yyjson_obj_iter_next(&members))) {
		if (yyjson_obj_get(known, yyjson_get_str(key)))
			continue;
		st_buf_addf(out, ",\"%s\":{\"type\":\"%s\"}", yyjson_get_str(key),
		            schema_type(yyjson_obj_iter_get_val(key)));
	}
	st_buf_adds(out, "},\"required\":[\"status\"]}");
	out->failed |= !own || !common;
	yyjson_doc_free(own);
	yyjson_doc_free(common);
}

char *stet_tool_json(size_t index) {
	const struct st_tool *tool = tool_at(index);
	if (!tool)
		return NULL;
	struct st_buf out = ST_BUF_INIT;
	st_buf_adds(&out, "{\"name\":");
	st_json_quote(&out, st_str(tool->name));
	st_buf_adds(&out, ",\"title\":");
	st_json_quote(&out, st_str(tool->title));
	st_buf_adds(&out, ",\"description\":");
	st_json_quote(&out, st_str(tool->description));
	st_buf_adds(&out, ",\"inputSchema\":");
	if (st_tool_schema(tool, &out, NULL) < 0)
		out.failed = true;
	st_buf_adds(&out, ",\"outputSchema\":");
	if (tool->listed_schema)
		st_buf_adds(&out, tool->listed_schema);
	else
		add_output(&out, tool->output_schema);
	st_buf_adds(&out, ",\"annotations\":");
	add_hints(&out, tool->hints);
	if (tool->always_load)
		st_buf_adds(&out, ",\"_meta\":{\"anthropic/alwaysLoad\":true}");
	st_buf_adds(&out, "}");
	if (out.failed) {
		st_buf_release(&out);
		return NULL;
	}
	return out.ptr;
}
