/* Prompts: the state of the work, and the editing guide. */
#include "base/utf8.h"
#include "mcp/service/service_state.h"

static const char list[] =
	"{\"name\":\"snapshot\",%s\"description\":\"Open tasks and changed files, to continue the "
	"work.\",\"arguments\":[{\"name\":\"task\",\"description\":\"The id of the task to "
	"continue.\",\"required\":false}]},"
	"{\"name\":\"editing-guide\",%s\"description\":\"Which tool to use for which change, and "
	"what to do on a conflict.\"}";

int st_service_prompts_list(struct st_mcp_request *request) {
	if (st_service_one_page(request) < 0)
		return -1;
	bool titles = request->version >= ST_MCP_2025_06_18;
	st_buf_adds(request->result, "{\"prompts\":[");
	st_buf_addf(request->result, list, titles ? "\"title\":\"State of the work\"," : "",
	            titles ? "\"title\":\"Editing guide\"," : "");
	st_buf_adds(request->result, "]}");
	return 0;
}

static int add_message(struct st_mcp_request *request, const char *description,
                       struct st_str text) {
	struct st_buf *out = request->result;
	st_buf_addf(out,
	            "{\"description\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
	            "\"text\",\"text\":",
	            description);
	st_json_quote(out, text);
	st_buf_adds(out, "}}]}");
	return 0;
}

static int get_snapshot(struct st_mcp_request *request, struct st_str task) {
	struct stet_error why = {0};
	yyjson_doc *answer = NULL;
	st_auto(st_buf) text = ST_BUF_INIT;
	if (st_service_call_tool(request, "repo_state", "{}", &answer, &why) < 0)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "%s", why.message);
	st_buf_add(&text, st_service_answer_text(answer));
	yyjson_doc_free(answer);
	if (task.len > 0)
		st_buf_addf(&text, "\n\nContinue with task %.*s.", (int)st_utf8_cut(task, 100), task.ptr);
	return text.failed ? -1 : add_message(request, "State of the work", st_buf_str(&text));
}

int st_service_prompts_get(struct st_mcp_request *request) {
	struct st_str name = request->name;
	yyjson_val *args = yyjson_obj_get(request->params, "arguments");
	if (st_service_check_name(request, "name") < 0)
		return -1;
	if (args && !yyjson_is_obj(args))
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "\"arguments\" must be an object.");
	if (st_str_eq(name, ST_STR("snapshot")))
		return get_snapshot(request, st_json_str(yyjson_obj_get(args, "task")));
	if (st_str_eq(name, ST_STR("editing-guide")))
		return add_message(request, "Editing guide", st_str(stet_editing_guide()));
	return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "Prompt \"%.*s\" not found.",
	                   (int)st_utf8_cut(name, 100), name.ptr);
}
