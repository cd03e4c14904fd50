/* The handlers of the protocol itself. */
#include "mcp/protocol/protocol_state.h"

static void add_flag(struct st_buf *out, const char *name, bool on, const char *comma) {
	if (on)
		st_buf_addf(out, "%s\"%s\":true", comma, name);
}

static void add_capabilities(struct st_buf *out, const struct st_mcp_service *service,
                             enum st_mcp_version version) {
	st_buf_adds(out, "\"capabilities\":{\"logging\":{}");
	if (service->complete && version >= ST_MCP_2025_03_26)
		st_buf_adds(out, ",\"completions\":{}");
	if (service->prompts_list) {
		st_buf_adds(out, ",\"prompts\":{");
		add_flag(out, "listChanged", service->announces & ST_MCP_PROMPTS_CHANGE, "");
		st_buf_adds(out, "}");
	}
	if (service->resources_list) {
		st_buf_adds(out, ",\"resources\":{");
		add_flag(out, "subscribe", service->watch, "");
		add_flag(out, "listChanged", service->announces & ST_MCP_RESOURCES_CHANGE,
		         service->watch ? "," : "");
		st_buf_adds(out, "}");
	}
	if (service->tools_list) {
		st_buf_adds(out, ",\"tools\":{");
		add_flag(out, "listChanged", service->announces & ST_MCP_TOOLS_CHANGE, "");
		st_buf_adds(out, "}");
	}
	st_buf_adds(out, "}");
}

static void add_instructions(struct st_buf *out, const struct st_mcp_service *service,
                             struct st_str more) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, service->instructions ? service->instructions : "");
	st_buf_add(&text, more);
	out->failed |= text.failed;
	if (text.len == 0)
		return;
	st_buf_adds(out, ",\"instructions\":");
	st_json_quote(out, st_buf_str(&text));
}

static yyjson_doc *copy_value(yyjson_val *value) {
	size_t len = 0;
	st_autofree char *text = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, &len);
	return text ? yyjson_read(text, len, 0) : NULL;
}

/* Store the result of `initialize` in the peer. */
static int store_client(struct st_mcp_request *request, enum st_mcp_version version,
                        yyjson_val *capabilities, yyjson_val *info) {
	struct st_mcp_peer *peer = st_mcp_pending_of(request)->peer;
	yyjson_doc *client = capabilities ? copy_value(capabilities) : NULL;
	if (capabilities && !client)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "Out of memory.");
	pthread_mutex_lock(&peer->lock);
	yyjson_doc *old = peer->client;
	peer->client = client;
	peer->version = version;
	if (peer->roots.state != ST_MCP_ROOTS_ASKED)
		peer->roots.state = st_mcp_roots_can_ask(peer) ? ST_MCP_ROOTS_UNASKED : ST_MCP_ROOTS_KNOWN;
	st_mcp_copy_client(peer->client_name, info);
	pthread_mutex_unlock(&peer->lock);
	yyjson_doc_free(old);
	return 0;
}

int st_mcp_initialize(struct st_mcp_request *request) {
	const struct st_mcp_service *service = request->service;
	yyjson_val *wanted = yyjson_obj_get(request->params, "protocolVersion");
	yyjson_val *capabilities = yyjson_obj_get(request->params, "capabilities");
	if (!yyjson_is_str(wanted) || (capabilities && !yyjson_is_obj(capabilities)))
		return st_mcp_fail(
			request, ST_MCP_INVALID_PARAMS,
			"initialize needs a \"protocolVersion\" (a string) and \"capabilities\" (an "
			"object).");
	enum st_mcp_version version = st_mcp_version_find(st_json_str(wanted));
	if (version == ST_MCP_NONE || st_mcp_is_modern(version))
		version = ST_MCP_LEGACY_LATEST;
	int code =
		store_client(request, version, capabilities, yyjson_obj_get(request->params, "clientInfo"));
	if (code < 0)
		return code;
	st_auto(st_buf) more = ST_BUF_INIT;
	if (service->greet)
		service->greet(request, &more);
	struct st_buf *out = request->result;
	st_buf_addf(out, "{\"protocolVersion\":\"%s\",", st_mcp_version_name(version));
	add_capabilities(out, service, version);
	st_buf_addf(out, ",\"serverInfo\":{\"name\":\"%s\",\"version\":\"%s\"", service->name,
	            service->version);
	if (version >= ST_MCP_2025_06_18)
		st_buf_addf(out, ",\"title\":\"%s\"", service->title);
	st_buf_adds(out, "}");
	add_instructions(out, service, st_buf_str(&more));
	st_buf_adds(out, "}");
	return 0;
}

int st_mcp_discover(struct st_mcp_request *request) {
	struct st_buf *out = request->result;
	st_buf_addf(out, "{\"supportedVersions\":[\"%s\"],", st_mcp_version_name(ST_MCP_2026_07_28));
	add_capabilities(out, request->service, request->version);
	add_instructions(out, request->service, ST_STR(""));
	st_buf_adds(out, "}");
	return 0;
}

int st_mcp_ping(struct st_mcp_request *request) {
	st_buf_adds(request->result, "{}");
	return 0;
}

int st_mcp_set_level(struct st_mcp_request *request) {
	struct st_mcp_peer *peer = st_mcp_pending_of(request)->peer;
	int level = st_mcp_level_find(st_json_str(yyjson_obj_get(request->params, "level")));
	if (level < 0)
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS,
		                   "\"level\" must be one of " ST_MCP_LEVELS ".");
	pthread_mutex_lock(&peer->lock);
	peer->level = (enum st_mcp_level)level;
	pthread_mutex_unlock(&peer->lock);
	st_buf_adds(request->result, "{}");
	return 0;
}
