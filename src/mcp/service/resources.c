/* Resources: the state of the work, instruction files, other places, files, sections of Markdown files. */
#include "base/base64.h"
#include "base/uri.h"
#include "base/utf8.h"
#include "core/places/answers.h"
#include "core/session/session.h"
#include "mcp/service/service_state.h"
#include "tools/host.h"
#include "stet/instructions.h"
#include "text/markdown/heading.h"

/* A resource is sent as a whole, and JSON may need six bytes for one. */
#define RESOURCE_MAX ((size_t)1 << 20)

#define SECTION "stet://section"

static const struct resource {
	const char *uri, *name, *title, *description, *type;
} resources[] = {
	{"stet://snapshot", "snapshot", "State of the work",
     "Open tasks and changed files, in a few hundred tokens.", "text/plain"},
	{"stet://agents", "agents", "Instruction files",
     "Every AGENTS.md of the workspace: path, size, and the reason if stet does not load it.",
     "application/json"},
	{"stet://others", "others", "Other places",
     "Who works in other checkouts of this repository, and what they changed.", "application/json"},
};

static const struct resource templates[] = {
	{"file://{+path}", "file", "File", "A file of the workspace, by its absolute path.", NULL},
	{SECTION "{+path}{?heading}", "section", "Section of a Markdown file",
     "A heading and the text below it, by the file's absolute path.", "text/markdown"},
};

enum {
	RESOURCE_COUNT = sizeof resources / sizeof *resources,
	TEMPLATE_COUNT = sizeof templates / sizeof *templates,
};

static void add_resource(struct st_mcp_request *request, const struct resource *entry,
                         const char *key) {
	struct st_buf *out = request->result;
	st_buf_addf(out, "{\"%s\":\"%s\",\"name\":\"%s\"", key, entry->uri, entry->name);
	if (request->version >= ST_MCP_2025_06_18)
		st_buf_addf(out, ",\"title\":\"%s\"", entry->title);
	st_buf_addf(out, ",\"description\":\"%s\"", entry->description);
	if (entry->type)
		st_buf_addf(out, ",\"mimeType\":\"%s\"", entry->type);
	st_buf_addc(out, '}');
}

static int add_resources(struct st_mcp_request *request, const struct resource *entries,
                         size_t count, const char *list, const char *key) {
	if (st_service_one_page(request) < 0)
		return -1;
	st_buf_addf(request->result, "{\"%s\":[", list);
	for (size_t i = 0; i < count; i++) {
		st_buf_adds(request->result, i > 0 ? "," : "");
		add_resource(request, &entries[i], key);
	}
	st_buf_adds(request->result, "]}");
	return 0;
}

int st_service_resources_list(struct st_mcp_request *request) {
	return add_resources(request, resources, RESOURCE_COUNT, "resources", "uri");
}

int st_service_resources_templates(struct st_mcp_request *request) {
	return add_resources(request, templates, TEMPLATE_COUNT, "resourceTemplates", "uriTemplate");
}

/* ---- reading ---- */

static int add_contents(struct st_mcp_request *request, const char *type, struct st_str bytes) {
	struct st_buf *out = request->result;
	st_buf_adds(out, "{\"contents\":[{\"uri\":");
	st_json_quote(out, request->name);
	st_buf_addf(out, ",\"mimeType\":\"%s\",", type);
	if (st_utf8_valid(bytes) && !memchr(bytes.ptr, '\0', bytes.len)) {
		st_buf_adds(out, "\"text\":");
		st_json_quote(out, bytes);
	} else {
		st_buf_adds(out, "\"blob\":\"");
		st_base64_add(out, bytes);
		st_buf_addc(out, '"');
	}
	st_buf_adds(out, "}]}");
	return 0;
}

static int read_snapshot(struct st_mcp_request *request) {
	struct stet_error why = {0};
	yyjson_doc *answer = NULL;
	if (st_service_call_tool(request, "repo_state", "{}", &answer, &why) < 0)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "%s", why.message);
	int code = add_contents(request, "text/plain", st_service_answer_text(answer));
	yyjson_doc_free(answer);
	return code;
}

/* Add an object's members after the root of its workspace. */
static void add_of_workspace(struct st_buf *out, const struct stet_workspace *ws,
                             const char *json) {
	st_buf_adds(out, "{\"root\":");
	st_json_quote(out, st_str(stet_workspace_root(ws)));
	st_buf_adds(out, ",");
	st_buf_adds(out, json + 1);
}

static int add_index(struct st_buf *out, struct stet_client *client, struct stet_workspace *ws,
                     struct stet_error *err) {
	(void)client;
	struct stet_instructions *instructions = NULL;
	int code = stet_instructions_index(ws, &instructions, err);
	if (code < 0)
		return code;
	char *json = stet_instructions_json(instructions);
	stet_instructions_free(instructions);
	if (!json)
		return st_fail_nomem(err);
	add_of_workspace(out, ws, json);
	stet_free(json);
	return 0;
}

static int add_others(struct st_buf *out, struct stet_client *client, struct stet_workspace *ws,
                      struct stet_error *err) {
	char *json = NULL;
	struct st_reach reach;
	int code = st_who(ws, st_client_reach(client, &reach), &json, NULL, err);
	if (code == 0)
		add_of_workspace(out, ws, json);
	stet_free(json);
	return code;
}

/* Read a resource that is a list with an object for each workspace. */
static int read_list(struct st_mcp_request *request,
                     int (*add)(struct st_buf *out, struct stet_client *client,
                                struct stet_workspace *ws, struct stet_error *err)) {
	struct stet_client *client = st_service_client_of(request);
	struct stet_error why = {0};
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, "{\"workspaces\":[");
	struct stet_workspace *ws;
	for (size_t i = 0; (ws = st_client_workspace(client, i)); i++) {
		st_buf_adds(&text, i > 0 ? "," : "");
		if (add(&text, client, ws, &why) < 0)
			return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "%s", why.message);
	}
	st_buf_adds(&text, "]}");
	return text.failed ? -1 : add_contents(request, "application/json", st_buf_str(&text));
}

static const char *mime_type(const char *path, struct st_str bytes) {
	static const struct {
		const char *ending, *type;
	} types[] = {
		{".md", "text/markdown"}, {".markdown", "text/markdown"}, {".json", "application/json"},
		{".html", "text/html"},   {".css", "text/css"},           {".js", "text/javascript"},
		{".csv", "text/csv"},     {".xml", "application/xml"},    {".svg", "image/svg+xml"},
		{".png", "image/png"},    {".jpg", "image/jpeg"},         {".jpeg", "image/jpeg"},
		{".gif", "image/gif"},    {".webp", "image/webp"},        {".pdf", "application/pdf"},
	};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (st_str_ends(st_str(path), st_str(types[i].ending)))
			return types[i].type;
	}
	return st_utf8_valid(bytes) && !memchr(bytes.ptr, '\0', bytes.len) ? "text/plain"
	                                                                   : "application/octet-stream";
}

/* Read a file of a workspace that the client may use, and return the number of that workspace. */
static int load_file(struct st_mcp_request *request, const char *path, struct st_place *place,
                     struct st_file *file, size_t *which) {
	struct stet_client *client = st_service_client_of(request);
	struct stet_error why = {0};
	struct stet_workspace *ws;
	int code = STET_E_OUTSIDE;
	for (*which = 0; (ws = st_client_workspace(client, *which)); ++*which) {
		code = st_workspace_load(ws, st_str(path), RESOURCE_MAX, place, file, &why);
		if (code != STET_E_OUTSIDE)
			break;
	}
	if (code == STET_E_OUTSIDE || code == STET_E_NOT_FOUND || code == STET_E_KIND ||
	    code == STET_E_INVALID)
		return st_mcp_fail_no_resource(request, request->name);
	if (code == STET_E_TOO_BIG)
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS,
		                   "This file is larger than %zu bytes. Read it in pages, with the tool "
		                   "read_file and its offset and limit.",
		                   RESOURCE_MAX);
	int number = code == STET_E_EXTENSION ? ST_MCP_INVALID_PARAMS : ST_MCP_INTERNAL_ERROR;
	return code < 0 ? st_mcp_fail(request, number, "%s", why.message) : 0;
}

/*
 * Record the version in the client's session, so that it refuses to edit another
 * one. No line counts as seen: a client may not show the resource to its model.
 */
static void record_version(struct st_mcp_request *request, size_t which, const char *spelled,
                           const char *path, const struct st_file *file) {
	struct stet_client *client = st_service_client_of(request);
	struct stet_session *session = stet_client_borrow(client, which);
	if (!session)
		return;
	struct st_call_scope scope = st_call_scope_begin(session, false);
	const struct st_seen *seen = st_tracker_find(&session->tracker, path);
	if (!seen || st_hash_eq(&seen->version.hash, &file->hash))
		st_session_record(session, spelled, path, file);
	st_call_scope_release(&scope);
	stet_client_return(client);
}

static int read_path(struct st_mcp_request *request, const char *path) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	size_t which;
	if (load_file(request, path, &place, &file, &which) < 0)
		return -1;
	struct st_str bytes = st_buf_str(&file.bytes);
	record_version(request, which, path, place.path, &file);
	return add_contents(request, mime_type(place.path, bytes), bytes);
}

static int read_section(struct st_mcp_request *request, const char *path, struct st_str heading) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	st_auto(st_markdown) md = {0};
	size_t which, index;
	struct stet_error why = {0};
	if (load_file(request, path, &place, &file, &which) < 0)
		return -1;
	int code = st_markdown_parse(&md, st_buf_str(&file.bytes), &why);
	if (code == 0)
		code = st_heading_find(&md, heading, 0, &index, &why);
	if (code == STET_E_NO_MATCH || code == STET_E_INVALID)
		return st_mcp_fail_no_resource(request, request->name);
	if (code < 0)
		return st_mcp_fail(request, ST_MCP_INTERNAL_ERROR, "%s", why.message);
	struct st_str text =
		st_lines_range(&md.lines, md.headings[index].line, st_markdown_section_end(&md, index));
	return add_contents(request, "text/markdown", text);
}

static int read_section_uri(struct st_mcp_request *request, struct st_str rest) {
	static const char query[] = "?heading=";
	st_auto(st_buf) path = ST_BUF_INIT;
	st_auto(st_buf) heading = ST_BUF_INIT;
	const char *mark = memmem(rest.ptr, rest.len, query, sizeof query - 1);
	if (!mark || !st_uri_decode(&path, st_strn(rest.ptr, (size_t)(mark - rest.ptr))))
		return st_mcp_fail_no_resource(request, request->name);
	size_t start = (size_t)(mark - rest.ptr) + sizeof query - 1;
	if (!st_uri_decode(&heading, st_str_slice(rest, start, rest.len)) || path.len == 0)
		return st_mcp_fail_no_resource(request, request->name);
	return read_section(request, path.ptr, st_buf_str(&heading));
}

int st_service_resources_read(struct st_mcp_request *request) {
	struct st_str uri = request->name;
	st_auto(st_buf) path = ST_BUF_INIT;
	if (st_service_check_name(request, "uri") < 0)
		return -1;
	if (st_str_eq(uri, ST_STR("stet://snapshot")))
		return read_snapshot(request);
	if (st_str_eq(uri, ST_STR("stet://agents")))
		return read_list(request, add_index);
	if (st_str_eq(uri, ST_STR("stet://others")))
		return read_list(request, add_others);
	if (st_str_starts(uri, ST_STR(SECTION "/")))
		return read_section_uri(request, st_str_slice(uri, sizeof SECTION - 1, uri.len));
	if (st_uri_path(uri, &path))
		return read_path(request, path.ptr);
	return st_mcp_fail_no_resource(request, uri);
}
