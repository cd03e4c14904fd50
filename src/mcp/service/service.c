/* Making a service, and the helpers that its files share. */
#include "mcp/service/service.h"

#include <sys/epoll.h>

#include "mcp/service/service_state.h"
#include "stet/version.h"
#include "tools/host.h"
#include "tools/render.h"

/* The lists and groups of --tools. A tool is in a list if both `listed` and its group match. */
static const struct tool_list {
	const char *name;
	enum st_listed listed;
	unsigned groups;
} tool_lists[] = {
	{"default", ST_LISTED_DEFAULT, ~0U},
	{"core", ST_LISTED_CORE, ~0U},
	{"all", ST_LISTED_ALL, ~0U},
	{"files", ST_LISTED_ALL, 1U << ST_GROUP_FILES},
	{"text", ST_LISTED_ALL, 1U << ST_GROUP_TEXT},
	{"state", ST_LISTED_ALL, 1U << ST_GROUP_STATE},
};

enum { TOOL_LISTS = sizeof tool_lists / sizeof *tool_lists, DEFAULT_LIST = 0 };

static int find_list(struct st_str name, struct stet_error *err) {
	for (int i = 0; i < TOOL_LISTS; i++) {
		if (st_str_eq(st_str(tool_lists[i].name), name))
			return i;
	}
	return st_fail(err, STET_E_INVALID,
	               "Tool list \"%.*s\" not found. The lists are default, core and all, and the "
	               "groups files, text and state.",
	               (int)(name.len < 100 ? name.len : 100), name.ptr);
}

static int parse_lists(const char *names, unsigned *lists, struct stet_error *err) {
	*lists = 0;
	for (const char *name = names ? names : "default"; *name;) {
		size_t len = strcspn(name, ",");
		int list = find_list(st_str_trim(st_strn(name, len)), err);
		if (list < 0)
			return list;
		*lists |= 1U << list;
		name += len + (name[len] == ',');
	}
	if (*lists == 0)
		return st_fail(
			err, STET_E_INVALID,
			"Name at least one list of tools: default, core, all, files, text or state.");
	return 0;
}

static bool serves_vault(const struct st_service *service) {
	const struct stet_workspace *ws;
	for (size_t i = 0; (ws = stet_host_workspace(service->host, i)); i++) {
		if (ws->vault)
			return true;
	}
	return false;
}

bool st_service_lists(const struct st_service *service, const struct st_tool *tool) {
	if (tool->for_vaults && service->lists & 1U << DEFAULT_LIST && serves_vault(service))
		return true;
	for (size_t i = 0; i < TOOL_LISTS; i++) {
		if (service->lists & 1U << i && tool->listed >= tool_lists[i].listed &&
		    tool_lists[i].groups & 1U << tool->group)
			return true;
	}
	return false;
}

/* Each peer is a client of the host. Modern HTTP requests have no session, so their client is stateless. */
static void *open_peer(struct st_mcp_service *base, enum st_mcp_peer_kind kind, const char *owner,
                       struct stet_error *err) {
	struct st_service *service = (struct st_service *)base;
	struct stet_client *client = NULL;
	int code = kind == ST_MCP_STATELESS
	               ? stet_host_stateless(service->host, owner, &client, err)
	               : stet_host_client(service->host, owner, NULL, &client, err);
	return code < 0 ? NULL : client;
}

static void close_peer(struct st_mcp_service *base, void *user) {
	stet_client_release(user);
}

/*
 * The names of clients that pass `instructions` unchanged to their model and do
 * not load AGENTS.md themselves. Other clients truncate or drop them, or tell
 * the model to ignore them, and load the root's AGENTS.md themselves.
 */
static const char *const instructed[] = {
	"gemini-cli-mcp-client",
};

static void add_root_instructions(struct st_mcp_request *request, struct st_buf *out) {
	char client[ST_MCP_CLIENT_MAX];
	st_mcp_client_name(request, client);
	for (size_t i = 0; i < sizeof instructed / sizeof *instructed; i++) {
		if (strcmp(client, instructed[i]) == 0 && st_mcp_open_peer(request))
			st_client_instruct(st_service_client_of(request), out);
	}
}

/* The innermost workspace that contains a path, which may be relative to the first; NULL if none does. */
static struct stet_workspace *workspace_of(struct st_service *service, const char *path,
                                           const char **rest) {
	struct stet_workspace *ws, *found = NULL;
	for (size_t i = 0; (ws = stet_host_workspace(service->host, i)); i++) {
		const char *plain = st_root_plain(&ws->root, path);
		if (plain && (!found || strlen(plain) < strlen(*rest))) {
			found = ws;
			*rest = plain;
		}
	}
	return found;
}

/* Never 0, which means no key. */
static uint64_t task_key(uint64_t seed, struct st_str text) {
	uint64_t sum = st_str_sum(seed ^ ST_STR_SUM, text);
	return sum ? sum : 1;
}

/* Calls of one session run in order, and so do calls for one file. */
static void fill_keys(struct st_mcp_request *request, uint64_t found[2]) {
	struct st_service *service = st_service_of(request);
	yyjson_val *args = yyjson_obj_get(request->params, "arguments");
	struct st_str session = st_json_str(yyjson_obj_get(args, "session"));
	yyjson_val *path = yyjson_obj_get(args, "path");
	if (!path)
		path = yyjson_obj_get(args, "filePath");
	if (session.len > 0 || request->peer_kind != ST_MCP_STATELESS)
		found[0] = task_key((uint64_t)(uintptr_t)request->user, session);
	const char *rest;
	if (yyjson_is_str(path)) {
		struct stet_workspace *ws = workspace_of(service, yyjson_get_str(path), &rest);
		found[1] = task_key((uint64_t)(uintptr_t)ws, st_str(ws ? rest : yyjson_get_str(path)));
	}
}

int st_service_new(struct stet_host *host, const char *tools, struct st_service **out,
                   struct stet_error *err) {
	*out = NULL;
	struct st_service *service = calloc(1, sizeof *service);
	if (!service)
		return st_fail_nomem(err);
	int code = parse_lists(tools, &service->lists, err);
	service->epoll = code < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC);
	if (code == 0 && service->epoll < 0)
		code = st_fail_errno(err, errno, "Cannot watch files");
	if (code < 0) {
		free(service);
		return code;
	}
	pthread_mutex_init(&service->lock, NULL);
	service->host = host;
	service->base = (struct st_mcp_service){
		.name = "stet",
		.title = "stet: files without lost updates",
		.version = stet_version(),
		.instructions = stet_editing_guide(),
		.tools_list = st_service_tools_list,
		.tools_call = st_service_tools_call,
		.resources_list = st_service_resources_list,
		.resources_templates = st_service_resources_templates,
		.resources_read = st_service_resources_read,
		.prompts_list = st_service_prompts_list,
		.prompts_get = st_service_prompts_get,
		.complete = st_service_complete,
		.watch = st_service_watch,
		.unwatch = st_service_unwatch,
		.open_peer = open_peer,
		.close_peer = close_peer,
		.greet = add_root_instructions,
		.keys = fill_keys,
		.roots = st_host_follows(host) ? st_service_use_roots : NULL,
	};
	*out = service;
	return 0;
}

void st_service_free(struct st_service *service) {
	if (!service)
		return;
	close(service->epoll);
	pthread_mutex_destroy(&service->lock);
	free(service);
}

struct st_mcp_service *st_service_base(struct st_service *service) {
	return &service->base;
}

void st_service_serve(struct st_service *service, struct st_mcp_server *server) {
	service->server = server;
}

int st_service_fd(const struct st_service *service) {
	return service->epoll;
}

/* ---- helpers ---- */

int st_service_one_page(struct st_mcp_request *request) {
	if (!yyjson_obj_get(request->params, "cursor"))
		return 0;
	return st_mcp_fail(request, ST_MCP_INVALID_PARAMS,
	                   "Invalid cursor: this server sends each list on one page.");
}

int st_service_call_tool(struct st_mcp_request *request, const char *tool, const char *args,
                         yyjson_doc **answer, struct stet_error *err) {
	char *text = NULL;
	size_t len = 0;
	*answer = NULL;
	int code =
		stet_client_call(st_service_client_of(request), tool, args, strlen(args), &text, &len, err);
	if (code == 0)
		code = st_json_parse_text(st_strn(text, len), "The answer", answer, err);
	stet_free(text);
	return code;
}

struct st_str st_service_answer_text(yyjson_doc *answer) {
	yyjson_val *content = yyjson_obj_get(yyjson_doc_get_root(answer), "content");
	return st_json_str(yyjson_obj_get(yyjson_arr_get_first(content), "text"));
}

void st_service_observe(struct st_service *service, st_service_called *called, void *arg) {
	service->called = called;
	service->called_arg = arg;
}
