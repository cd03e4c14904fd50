#include "lib/every_tool.h"

/* Tools that are about names, or about the session, and do not look at the contents of a file. */
static const char *const about_names[] = {
	"agents_md",
	"changes",
	"clear_session",
	"create_directory",
	"directory_tree",
	"get_file_info",
	"list_allowed_directories",
	"list_directory",
	"list_directory_with_sizes",
	"others",
	"record_tool_result",
	"repo_state",
	"search_files",
	"story",
	"tasks",
};

static bool is_about_names(const char *tool) {
	for (size_t i = 0; i < sizeof about_names / sizeof *about_names; i++) {
		if (strcmp(about_names[i], tool) == 0)
			return true;
	}
	return false;
}

/* What to give for a parameter, as JSON; NULL for nothing. */
static const char *argument(const char *tool, const struct st_param *param, const char *path) {
	static char text[256];
	static const struct {
		const char *tool, *name, *json;
	} given[] = {
		{"edit_file", "oldText", ""},
		{"edit_file", "newText", ""},
		{"edit_file", "edits", "[{\"oldText\":\"words\",\"newText\":\"x\"}]"},
		{"text_patch", "target", "{\"lines\":{\"start\":1,\"end\":1}}"},
		{"text_patch", "operation", "\"replace\""},
		{"move_file", "destination", "\"moved.exe\""},
		{"copy_file", "destination", "\"moved.txt\""},
		{"set_property", "value", "\"x\""},
		{"", "pattern", "\"classified\""},
		{"", "query", "\"classified\""},
		{"", "search", "\"classified\""},
		{"", "oldText", "\"words\""},
		{"", "newText", "\"x\""},
		{"", "content", "\"x\""},
	};
	for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
		if (strcmp(given[i].name, param->name) == 0 &&
		    (!*given[i].tool || strcmp(given[i].tool, tool) == 0))
			return *given[i].json ? given[i].json : NULL;
	}
	static const char *const paths[] = {"path", "filePath", "source", "file", "destination"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		snprintf(text, sizeof text, "\"%s\"", path);
		if (strcmp(paths[i], param->name) == 0)
			return text;
	}
	if (param->type == ST_PARAM_STRINGS && strcmp(param->name, "paths") == 0) {
		snprintf(text, sizeof text, "[\"%s\"]", path);
		return text;
	}
	return param->required ? "\"x\"" : NULL;
}

int call_about(struct host *host, const struct st_tool *tool, const char *path) {
	st_auto(st_buf) args = ST_BUF_INIT;
	for (const struct st_param *param = tool->params; param->name; param++) {
		const char *json = argument(tool->name, param, path);
		if (json)
			st_buf_addf(&args, "%s\"%s\":%s", args.len ? "," : "{", param->name, json);
	}
	st_buf_adds(&args, args.len ? "}" : "{}");
	print_message("# %s %s\n", tool->name, args.ptr);
	return try_call_raw(host, tool->name, st_buf_str(&args));
}

/* Whether a tool takes the path of a file. */
static bool takes_file(const struct st_tool *tool) {
	static const char *const names[] = {"path", "filePath", "source", "file"};
	for (const struct st_param *param = tool->params; param->name; param++) {
		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			if (strcmp(param->name, names[i]) == 0)
				return true;
		}
	}
	return false;
}

bool is_about_content(const struct st_tool *tool) {
	return takes_file(tool) && !is_about_names(tool->name);
}
