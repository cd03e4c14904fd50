/* tools/list and tools/call. */
#include "base/clock.h"
#include "base/utf8.h"
#include "mcp/service/service_state.h"
#include "mcp/protocol/protocol_state.h"
#include "tools/host.h"
#include "tools/table.h"

/* The shortest time between two progress notifications, which people read. */
enum { PROGRESS_MS = 100 };

/* The parts of a tool's description that a client does not get. */
struct omission {
	/* Members that its protocol version does not have or does not need; ends with NULL. */
	const char *const *members;
	/* The parameter `session`, which only callers without a session need. */
	bool session;
};

static int add_without(struct st_buf *out, struct st_str json, const struct omission *omission) {
	yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
	yyjson_mut_doc *copy = doc ? yyjson_doc_mut_copy(doc, NULL) : NULL;
	yyjson_doc_free(doc);
	if (!copy)
		return -1;
	yyjson_mut_val *root = yyjson_mut_doc_get_root(copy);
	for (size_t i = 0; omission->members[i]; i++)
		yyjson_mut_obj_remove_key(root, omission->members[i]);
	if (omission->session)
		yyjson_mut_obj_remove_key(
			yyjson_mut_obj_get(yyjson_mut_obj_get(root, "inputSchema"), "properties"), "session");
	int code = st_json_write(copy, root, out, NULL);
	yyjson_mut_doc_free(copy);
	return code;
}

/*
 * If an answer has structuredContent, Claude Code and Codex show their model
 * nothing else. So the server sends it only with STET_OPTION_STRUCTURED, and to
 * versions that know it.
 */
static bool is_structured(struct st_mcp_request *request) {
	return request->version >= ST_MCP_2025_06_18 &&
	       stet_host_workspace(st_service_of(request)->host, 0)->structured;
}

static const char *const *omitted_members(struct st_mcp_request *request) {
	static const char *const first[] = {"title", "outputSchema", "_meta", "annotations", NULL};
	static const char *const second[] = {"title", "outputSchema", "_meta", NULL};
	static const char *const third[] = {"outputSchema", NULL}, *const none[] = {NULL};
	if (request->version < ST_MCP_2025_03_26)
		return first;
	if (request->version < ST_MCP_2025_06_18)
		return second;
	return is_structured(request) ? none : third;
}

/* Clients send the list to their model with every request, so each omitted word saves tokens. */
static int add_tool(struct st_mcp_request *request, size_t tool) {
	struct omission omission = {
		.members = omitted_members(request),
		.session = request->peer_kind != ST_MCP_STATELESS,
	};
	char *json = stet_tool_json(tool);
	int code = json ? add_without(request->result, st_str(json), &omission) : -1;
	stet_free(json);
	return code;
}

int st_service_tools_list(struct st_mcp_request *request) {
	struct st_service *service = st_service_of(request);
	const char *comma = "";
	if (st_service_one_page(request) < 0)
		return -1;
	bool read_only = st_client_is_read_only(st_service_client_of(request));
	st_buf_adds(request->result, "{\"tools\":[");
	for (size_t i = 0; st_tools[i]; i++) {
		if (!st_service_lists(service, st_tools[i]) ||
		    (read_only && !(st_tools[i]->hints & ST_HINT_READ_ONLY)))
			continue;
		st_buf_adds(request->result, comma);
		if (add_tool(request, i) < 0)
			return -1;
		comma = ",";
	}
	st_buf_adds(request->result, "]}");
	return 0;
}

/* Reports the progress of a call to its client. */
struct progress {
	struct st_call_watch watch;
	struct st_mcp_request *request;
	int64_t reported_ms;
};

static void report_progress(struct st_call_watch *watch, size_t done) {
	struct progress *progress = (struct progress *)watch;
	int64_t now = st_now_ms();
	if (now - progress->reported_ms < PROGRESS_MS)
		return;
	progress->reported_ms = now;
	st_mcp_progress(progress->request, (double)done, 0, NULL);
}

static void notify_observer(struct st_mcp_request *request, const struct st_tool *tool, int code,
                            int64_t micros) {
	struct st_service *service = st_service_of(request);
	if (service->called)
		service->called(service->called_arg, st_str(tool->name), code, micros);
}

static int run_tool(struct st_mcp_request *request, const struct st_tool *tool, yyjson_val *args) {
	struct stet_error why = {0};
	struct progress progress = {
		.watch.progress = report_progress,
		.request = request,
		.reported_ms = st_now_ms(),
	};
	char client[ST_MCP_CLIENT_MAX];
	st_mcp_client_name(request, client);
	progress.watch.client = st_str(client);
	struct st_buf *answer = request->result;
	size_t start = answer->len;
	int64_t began = st_now_us();
	int code = st_client_run(st_service_client_of(request), tool, args, is_structured(request),
	                         &progress.watch, answer, &why);
	notify_observer(request, tool, code, st_now_us() - began);
	if (answer->len == start)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "%s", why.message);
	st_mcp_log(request, ST_MCP_DEBUG, "stet", st_str(code < 0 ? why.message : tool->name));
	return 0;
}

/* Answer like a tool that refuses its arguments, so that the model reads the reason. */
static int refuse_surrogates(struct st_mcp_request *request) {
	st_buf_adds(request->result, "{\"content\":[{\"type\":\"text\",\"text\":");
	st_json_quote(request->result, ST_STR("Error: " ST_MCP_HALF_A_PAIR));
	st_buf_adds(request->result, "}],\"isError\":true}");
	return 0;
}

int st_service_tools_call(struct st_mcp_request *request) {
	struct st_str name = request->name;
	if (st_service_check_name(request, "name") < 0)
		return -1;
	const struct st_tool *tool = st_tool_find(name);
	if (!tool && st_str_eq(name, st_str(st_hook_tool.name)))
		tool = &st_hook_tool;
	if (!tool)
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS, "Tool \"%.*s\" not found.",
		                   (int)st_utf8_cut(name, 100), name.ptr);
	yyjson_val *args = yyjson_obj_get(request->params, "arguments");
	if (args && !yyjson_is_obj(args))
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS,
		                   "\"arguments\" must be an object, not %s.", st_json_kind(args));
	if (st_mcp_pending_of(request)->message->repaired)
		return refuse_surrogates(request);
	return run_tool(request, tool, args);
}
