#include "core/prompt/call_files.h"

#include <strings.h>

/* Receives the files of a call. */
struct receiver {
	st_file_use_fn *each;
	void *data;
};

/* The effect of a tool on the file it names, by a part of its name; the more specific parts come first. */
static const struct {
	const char *part;
	int use;
} tools[] = {
	{"todo", -1},
	{"directory", -1},
	{"apply_patch", -1},
	{"delete", ST_USE_DELETED},
	{"remove", ST_USE_DELETED},
	{"str_replace", ST_USE_EDITED},
	{"edit", ST_USE_EDITED},
	{"replace", ST_USE_EDITED},
	{"insert", ST_USE_EDITED},
	{"append", ST_USE_EDITED},
	{"patch", ST_USE_EDITED},
	{"write", ST_USE_WROTE},
	{"create", ST_USE_WROTE},
	{"read", ST_USE_READ},
	{"view", ST_USE_READ},
};

static bool has_part(struct st_str name, const char *part) {
	char word[128];
	size_t len = name.len < sizeof word - 1 ? name.len : sizeof word - 1;
	memcpy(word, name.ptr, len);
	word[len] = '\0';
	return strcasestr(word, part) != NULL;
}

/* The effect of a call on the file it names; -1 if that is unknown. */
static int use_of_call(const struct st_message_call *call) {
	/* OpenHands and Anthropic's editor have the operation in an argument. */
	struct st_str command = st_json_str(yyjson_obj_get(call->args, "command"));
	bool is_editor = has_part(call->name, "editor") || has_part(call->name, "edit_tool");
	if (is_editor && st_str_eq(command, ST_STR("view")))
		return ST_USE_READ;
	if (is_editor && st_str_eq(command, ST_STR("create")))
		return ST_USE_WROTE;
	/* stet's own dry runs change nothing. */
	if (yyjson_is_true(yyjson_obj_get(call->args, "dryRun")))
		return -1;
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		if (has_part(call->name, tools[i].part))
			return tools[i].use;
	}
	return -1;
}

static bool name_paths(const struct receiver *to, yyjson_val *value, enum st_file_use use) {
	yyjson_val *item;
	size_t i, max;
	if (yyjson_is_str(value))
		return to->each(to->data, st_json_str(value), use);
	yyjson_arr_foreach(value, i, max, item) {
		if (!yyjson_is_str(item))
			item = yyjson_obj_get(item, "path");
		if (yyjson_is_str(item) && !to->each(to->data, st_json_str(item), use))
			return false;
	}
	return true;
}

static bool name_named(const struct receiver *to, const struct st_message_call *call, int use) {
	static const char *const keys[] = {"path",          "file_path",   "filePath", "absolute_path",
	                                   "notebook_path", "target_file", "file",     "filename",
	                                   "paths",         "files"};
	bool good = true;
	for (size_t i = 0; use >= 0 && good && i < sizeof keys / sizeof *keys; i++)
		good = name_paths(to, yyjson_obj_get(call->args, keys[i]), (enum st_file_use)use);
	return good;
}

/* A move or a copy has two paths. */
static bool name_moved(const struct receiver *to, const struct st_message_call *call) {
	struct st_str source = st_json_str(yyjson_obj_get(call->args, "source"));
	struct st_str target = st_json_str(yyjson_obj_get(call->args, "destination"));
	bool moves = has_part(call->name, "move") || has_part(call->name, "rename");
	if (!moves && !has_part(call->name, "copy"))
		return true;
	return (!moves || to->each(to->data, source, ST_USE_DELETED)) &&
	       to->each(to->data, target, ST_USE_WROTE);
}

/* The lines of Codex's patches and of diffs that name a file. */
static bool name_patched(const struct receiver *to, struct st_str text) {
	static const struct {
		const char *start;
		enum st_file_use use;
	} lines[] = {
		{"*** Add File: ", ST_USE_WROTE},
		{"*** Update File: ", ST_USE_EDITED},
		{"*** Delete File: ", ST_USE_DELETED},
		{"*** Move to: ", ST_USE_WROTE},
		{"+++ b/", ST_USE_EDITED},
	};
	for (size_t at = 0; at < text.len;) {
		const char *end = memchr(text.ptr + at, '\n', text.len - at);
		size_t next = end ? (size_t)(end - text.ptr) : text.len;
		struct st_str line = st_str_slice(text, at, next);
		for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
			size_t len = strlen(lines[i].start);
			if (st_str_starts(line, st_str(lines[i].start)) &&
			    !to->each(to->data, st_str_slice(line, len, line.len), lines[i].use))
				return false;
		}
		at = next + 1;
	}
	return true;
}

/* Codex runs apply_patch in a shell, too. */
static bool is_patch_command(struct st_str command) {
	return memmem(command.ptr, command.len, "*** Begin Patch", 15) != NULL;
}

static bool name_in_command(const struct receiver *to, struct st_str command) {
	return is_patch_command(command) ? name_patched(to, command)
	                                 : st_shell_files(command, to->each, to->data);
}

struct st_str st_call_shell(const struct st_message_call *call) {
	return has_part(call->name, "edit") ? ST_STR("") : st_message_call_command(call);
}

bool st_call_files(const struct st_message_call *call, st_file_use_fn *each, void *data) {
	const struct receiver to = {each, data};
	struct st_str command = st_call_shell(call);
	if (call->failed || !call->result)
		return true;
	if (st_messages_is_noop(call->result))
		return name_named(&to, call, ST_USE_READ);
	if (command.len)
		return name_in_command(&to, command);
	return name_named(&to, call, use_of_call(call)) && name_moved(&to, call) &&
	       name_patched(&to, st_call_patch(call));
}

struct st_str st_call_new_text(const struct st_message_call *call) {
	static const char *const keys[] = {"content", "file_text", "new_string",
	                                   "newText", "newString", "new_str"};
	struct st_str text = ST_STR("");
	for (size_t i = 0; text.len == 0 && i < sizeof keys / sizeof *keys; i++)
		text = st_json_str(yyjson_obj_get(call->args, keys[i]));
	return text;
}

struct st_str st_call_patch(const struct st_message_call *call) {
	static const char *const keys[] = {"patch", "input", "patchText", "diff"};
	struct st_str text = st_call_shell(call);
	if (text.len)
		return is_patch_command(text) ? text : ST_STR("");
	if (!has_part(call->name, "patch") && !has_part(call->name, "diff"))
		return ST_STR("");
	if (!call->args)
		return call->input;
	for (size_t i = 0; text.len == 0 && i < sizeof keys / sizeof *keys; i++)
		text = st_json_str(yyjson_obj_get(call->args, keys[i]));
	return text;
}
