#include "cli/clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/jsonc.h"
#include "cli/output.h"

const struct client clients[] = {
	{"claude", "Claude Code", ".mcp.json", ".claude.json", "mcpServers", CLIENT_TYPED, "",
     "claude mcp list",
     "For a project's file, Claude Code asks first: run claude there and approve stet."},
	{"codex", "Codex", NULL, ".codex/config.toml", "mcp_servers", CLIENT_TOML, "", "codex mcp list",
     NULL},
	{"gemini", "Gemini CLI", ".gemini/settings.json", ".gemini/settings.json", "mcpServers",
     CLIENT_ARGS, "", "gemini mcp list",
     "Gemini CLI starts servers only in folders that you trust."},
	{"opencode", "opencode", "opencode.json", ".config/opencode/opencode.json", "mcp", CLIENT_LOCAL,
     "", "opencode mcp list", NULL},
	{"vscode", "VS Code", ".vscode/mcp.json", NULL, "servers", CLIENT_TYPED,
     "\"--root\", \"${workspaceFolder}\", ", NULL, NULL},
	{"cursor", "Cursor", ".cursor/mcp.json", ".cursor/mcp.json", "mcpServers", CLIENT_TYPED,
     "\"--root\", \"${workspaceFolder}\", ", NULL, NULL},
	{"zed", "Zed", NULL, ".config/zed/settings.json", "context_servers", CLIENT_ARGS, "", NULL,
     NULL},
};

const size_t client_count = sizeof clients / sizeof *clients;

char *client_path(const struct client *client, const char *root, bool user) {
	const char *home = getenv("HOME"), *name = user ? client->user : client->project;
	const char *dir = user ? home : root;
	char *path = NULL;
	if (!name || !dir || asprintf(&path, "%s/%s", dir, name) < 0)
		return NULL;
	return path;
}

/* A text as a JSON string, which is also a TOML string; the caller frees it. */
static char *quote_string(const char *text) {
	struct stet_json *json = stet_json_new();
	char *out = NULL;
	if (json) {
		stet_json_set_text(json, "/a", text, strlen(text));
		out = stet_json_write_at(json, "/a", 0, NULL);
	}
	stet_json_free(json);
	return out;
}

/* Arguments after "mcp". All clients except Gemini CLI load the root's AGENTS.md themselves. */
static const char *arguments_after(const struct client *client) {
	return strcmp(client->name, "gemini") == 0 ? "" : ", \"--agents\", \"nested\"";
}

static char *make_entry(const struct client *client, const char *program) {
	char *name = quote_string(program), *out = NULL;
	int len = -1;
	if (!name)
		return NULL;
	switch (client->format) {
	case CLIENT_ARGS:
		len = asprintf(&out, "{\"command\": %s, \"args\": [%s\"mcp\"%s]}", name, client->before,
		               arguments_after(client));
		break;
	case CLIENT_TYPED:
		len = asprintf(&out, "{\"type\": \"stdio\", \"command\": %s, \"args\": [%s\"mcp\"%s]}",
		               name, client->before, arguments_after(client));
		break;
	case CLIENT_LOCAL:
		len =
			asprintf(&out, "{\"type\": \"local\", \"command\": [%s, \"mcp\"%s], \"enabled\": true}",
		             name, arguments_after(client));
		break;
	case CLIENT_TOML:
		len = asprintf(&out, "[mcp_servers.stet]\ncommand = %s\nargs = [\"mcp\"%s]\n", name,
		               arguments_after(client));
		break;
	}
	stet_free(name);
	return len < 0 ? NULL : out;
}

char *client_text(const struct client *client, const char *text, size_t len, const char *program) {
	char *added = make_entry(client, program), *out = NULL;
	if (!added)
		return NULL;
	if (client->format != CLIENT_TOML)
		out = jsonc_set(text, len, client->member, "stet", added);
	else if (asprintf(&out, "%.*s%s%s", (int)len, text,
	                  len == 0                ? ""
	                  : text[len - 1] == '\n' ? "\n"
	                                          : "\n\n",
	                  added) < 0)
		out = NULL;
	free(added);
	return out;
}

/* Whether a line of TOML begins stet's table. */
static bool has_table(const char *text, size_t len) {
	for (size_t from = 0; from < len;) {
		const char *end = memchr(text + from, '\n', len - from);
		size_t line = end ? (size_t)(end - text) - from : len - from;
		if (line >= 18 && memcmp(text + from, "[mcp_servers.stet]", 18) == 0)
			return true;
		from += line + 1;
	}
	return false;
}

bool client_has(const struct client *client, const char *text, size_t len) {
	struct stet_json *json = NULL;
	struct stet_error err = {0};
	char pointer[64];
	if (client->format == CLIENT_TOML)
		return has_table(text, len);
	if (stet_json_parse(text, len, 1, &json, &err) < 0)
		return false;
	snprintf(pointer, sizeof pointer, "/%s/stet", client->member);
	bool has = stet_json_type(json, pointer) != NULL;
	stet_json_free(json);
	return has;
}

static bool file_has(const struct client *client, const char *path) {
	static char text[1 << 20];
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t len = fread(text, 1, sizeof text, file);
	fclose(file);
	return client_has(client, text, len);
}

const char *client_configured(const struct client *client, const char *root) {
	static char found[512];
	for (int user = 0; user < 2; user++) {
		char *path = client_path(client, root, user);
		bool has = path && file_has(client, path);
		snprintf(found, sizeof found, "%s", path ? path : "");
		free(path);
		if (has)
			return found;
	}
	return NULL;
}
