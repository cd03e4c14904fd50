#include "cli/setup/entry.h"

#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/setup/jsonc.h"
#include "cli/setup/toml.h"

typedef struct stet_json *json_ptr;

static void json_release(json_ptr *json) {
	stet_json_free(*json);
}

#define auto_json __attribute__((cleanup(json_release))) json_ptr

static json_ptr parse(const char *text) {
	json_ptr json = NULL;
	struct stet_error err = {0};
	if (strspn(text, " \t\r\n") == strlen(text))
		text = "{}";
	return stet_json_parse(text, strlen(text), 1, &json, &err) < 0 ? NULL : json;
}

/* ---- values ---- */

static void make_pointer(char *pointer, size_t size, const char *const *path, size_t count) {
	pointer[0] = '\0';
	for (size_t i = 0; i < count && path[i]; i++) {
		size_t len = strlen(pointer);
		snprintf(pointer + len, size - len, "/%s", path[i]);
	}
}

/* Whether two values are the same JSON; a missing value equals none. */
static bool are_equal(const struct stet_json *a, const char *a_at, const struct stet_json *b,
                      const char *b_at) {
	char *left = stet_json_write_at(a, a_at, 0, NULL),
		 *right = stet_json_write_at(b, b_at, 0, NULL);
	bool equal = left && right && strcmp(left, right) == 0;
	stet_free(left);
	stet_free(right);
	return equal;
}

static bool is_type(const struct stet_json *json, const char *pointer, const char *type) {
	const char *found = json ? stet_json_type(json, pointer) : NULL;
	return found && strcmp(found, type) == 0;
}

bool is_hook_command(const char *command) {
	size_t len = strlen(command);
	const char *end = strstr(command, " hook");
	if (!end || (end[5] != '\0' && end[5] != ' ') || len > 4096)
		return false;
	size_t word = (size_t)(end - command);
	while (word > 0 && (command[word - 1] == '\'' || command[word - 1] == '"'))
		word--;
	bool named = word >= 4 && memcmp(command + word - 4, "stet", 4) == 0;
	return named && (word == 4 || strchr("/'\"", command[word - 5]));
}

/* {"type": "mcp_tool", "server": "stet", ...} */
static bool asks_server(const struct stet_json *json, const char *at) {
	char pointer[256];
	snprintf(pointer, sizeof pointer, "%s/type", at);
	const char *type = stet_json_text(json, pointer, NULL);
	snprintf(pointer, sizeof pointer, "%s/server", at);
	const char *server = stet_json_text(json, pointer, NULL);
	return type && server && strcmp(type, "mcp_tool") == 0 && strcmp(server, "stet") == 0;
}

static bool has_command(const struct stet_json *json, const char *at) {
	char pointer[256];
	if (asks_server(json, at))
		return true;
	snprintf(pointer, sizeof pointer, "%s/command", at);
	const char *command = stet_json_text(json, pointer, NULL);
	return command && is_hook_command(command);
}

/* Whether an element is a hook of stet: {"command": ...}, or a group with nothing but such hooks. */
static bool is_our_hook(const struct stet_json *json, const char *at) {
	char hooks[192], pointer[224];
	if (!is_type(json, at, "object"))
		return false;
	snprintf(hooks, sizeof hooks, "%s/hooks", at);
	size_t count = stet_json_count(json, hooks);
	for (size_t i = 0; i < count; i++) {
		snprintf(pointer, sizeof pointer, "%s/%zu", hooks, i);
		if (!has_command(json, pointer))
			return false;
	}
	return count > 0 || has_command(json, at);
}

/* The first element from an index on that is the value or, of hooks, one of stet's; SIZE_MAX if none is. */
static size_t find_element(const struct entry *entry, const struct stet_json *json,
                           const struct stet_json *value, bool exact, size_t from) {
	char array[128], at[160];
	make_pointer(array, sizeof array, entry->path, CLIENT_KEYS);
	if (!is_type(json, array, "array"))
		return SIZE_MAX;
	for (size_t i = from; i < stet_json_count(json, array); i++) {
		snprintf(at, sizeof at, "%s/%zu", array, i);
		if (are_equal(json, at, value, "/value") ||
		    (!exact && entry->part == PART_HOOKS && is_our_hook(json, at)))
			return i;
	}
	return SIZE_MAX;
}

/* The value as the member "value" of a document. */
static json_ptr parse_value(const char *value) {
	json_ptr json = stet_json_new();
	if (json)
		stet_json_set_json(json, "/value", value, strlen(value));
	return json;
}

/* ---- TOML ---- */

/* The lines "key = value" of an entry: call a function with each. Stops when it returns false. */
static bool each_pair(const char *value, bool (*call)(const char *key, const char *with, void *arg),
                      void *arg) {
	char *copy = strdup(value), *rest = copy;
	bool all = copy != NULL;
	for (char *line; all && rest && *rest;) {
		line = strsep(&rest, "\n");
		char *equals = strstr(line, " = ");
		if (!equals)
			continue;
		*equals = '\0';
		all = call(line, equals + 3, arg);
	}
	free(copy);
	return all;
}

struct table_call {
	const struct entry *entry;
	const char *text;
	char *changed;
};

static bool has_pair(const char *key, const char *value, void *arg) {
	struct table_call *call = arg;
	char *found = toml_get(call->text, call->entry->path[0], call->entry->path[1], key);
	bool same = found && strcmp(found, value) == 0;
	free(found);
	return same;
}

static bool set_pair(const char *key, const char *value, void *arg) {
	struct table_call *call = arg;
	char *next = toml_set(call->changed, call->entry->path[0], call->entry->path[1], key, value);
	free(call->changed);
	call->changed = next;
	return next != NULL;
}

static char *add_table(const struct entry *entry, const char *text, const char *value) {
	struct table_call call = {.entry = entry, .changed = strdup(text)};
	if (call.changed)
		each_pair(value, set_pair, &call);
	return call.changed;
}

/* ---- members ---- */

/* Whether the file has a value, or, of an object, at least its members. */
static bool has_member(const struct entry *entry, const struct stet_json *json,
                       const struct stet_json *value) {
	char pointer[128], at[192], from[128];
	make_pointer(pointer, sizeof pointer, entry->path, CLIENT_KEYS);
	if (entry->kind == ENTRY_SHARED)
		return stet_json_type(json, pointer) != NULL;
	if (!is_type(value, "/value", "object"))
		return are_equal(json, pointer, value, "/value");
	const char *key;
	for (size_t i = 0; (key = stet_json_key(value, "/value", i)); i++) {
		snprintf(at, sizeof at, "%s/%s", pointer, key);
		snprintf(from, sizeof from, "/value/%s", key);
		if (!are_equal(json, at, value, from))
			return false;
	}
	return true;
}

/* Take the text of a value as the user would write it: with a blank after each comma and colon. */
static char *spaced(const struct stet_json *json, const char *pointer) {
	char *compact = stet_json_write_at(json, pointer, 0, NULL), *out = NULL;
	size_t len = 0;
	FILE *stream = compact ? open_memstream(&out, &len) : NULL;
	bool quoted = false;
	for (const char *c = compact; stream && *c; c++) {
		fputc(*c, stream);
		if (quoted && *c == '\\' && c[1])
			fputc(*++c, stream);
		else if (*c == '"')
			quoted = !quoted;
		else if (!quoted && (*c == ',' || *c == ':'))
			fputc(' ', stream);
	}
	if (stream)
		fclose(stream);
	stet_free(compact);
	return out;
}

/* Set those members of an object that differ; the others are the user's. */
static char *merge_members(const struct entry *entry, const char *text,
                           const struct stet_json *json, const struct stet_json *value) {
	char pointer[128], at[192], from[128], *out = strdup(text);
	const char *key, *path[CLIENT_KEYS + 2] = {NULL};
	size_t depth = 0;
	make_pointer(pointer, sizeof pointer, entry->path, CLIENT_KEYS);
	for (; depth < CLIENT_KEYS && entry->path[depth]; depth++)
		path[depth] = entry->path[depth];
	for (size_t i = 0; out && (key = stet_json_key(value, "/value", i)); i++) {
		snprintf(at, sizeof at, "%s/%s", pointer, key);
		snprintf(from, sizeof from, "/value/%s", key);
		if (are_equal(json, at, value, from))
			continue;
		char *member = spaced(value, from);
		path[depth] = key;
		char *next = member ? jsonc_set(out, path, member) : NULL;
		free(member);
		free(out);
		out = next;
	}
	return out;
}

static char *add_member(const struct entry *entry, const char *text, const struct stet_json *json,
                        const struct stet_json *parsed, const char *value) {
	char pointer[128];
	make_pointer(pointer, sizeof pointer, entry->path, CLIENT_KEYS);
	if (is_type(parsed, "/value", "object") && is_type(json, pointer, "object"))
		return merge_members(entry, text, json, parsed);
	return jsonc_set(text, entry->path, value);
}

static char *add_element(const struct entry *entry, const char *text, const struct stet_json *json,
                         const struct stet_json *parsed, const char *value) {
	size_t index = find_element(entry, json, parsed, false, 0);
	if (index == SIZE_MAX)
		return jsonc_append(text, entry->path, value);
	return jsonc_replace(text, entry->path, index, value);
}

/* ---- taking out ---- */

static char *take_elements(const struct entry *entry, const char *text, const char *value,
                           const struct stet_json *before) {
	char *out = strdup(text);
	size_t from = 0;
	auto_json parsed = parse_value(value);
	while (out && parsed) {
		auto_json json = parse(out);
		size_t index = find_element(entry, json, parsed, false, from);
		if (index == SIZE_MAX)
			break;
		/* An element that the user had before stays. */
		if (before && find_element(entry, before, parsed, true, 0) != SIZE_MAX) {
			from = index + 1;
			continue;
		}
		char *next = jsonc_remove_at(out, entry->path, index);
		free(out);
		out = next;
	}
	return out;
}

static char *take_member(const struct entry *entry, const char *text,
                         const struct stet_json *before) {
	char pointer[128];
	make_pointer(pointer, sizeof pointer, entry->path, CLIENT_KEYS);
	char *value = before ? spaced(before, pointer) : NULL;
	char *out = value ? jsonc_set(text, entry->path, value) : jsonc_remove(text, entry->path);
	free(value);
	return out;
}

/* Remove the objects and arrays on the way that are empty now, and were not there before. */
static char *prune(const struct entry *entry, char *text, const struct stet_json *before) {
	for (size_t depth = CLIENT_KEYS; text && depth > 0; depth--) {
		const char *path[CLIENT_KEYS + 1] = {NULL};
		char pointer[128];
		if (!entry->path[depth - 1])
			continue;
		memcpy(path, entry->path, depth * sizeof *path);
		make_pointer(pointer, sizeof pointer, entry->path, depth);
		auto_json json = parse(text);
		/* The entry itself is out. */
		if (json && !stet_json_type(json, pointer))
			continue;
		bool container = is_type(json, pointer, "object") || is_type(json, pointer, "array");
		if (!container || stet_json_count(json, pointer) > 0 ||
		    (before && stet_json_type(before, pointer)))
			break;
		char *next = jsonc_remove(text, path);
		free(text);
		text = next;
	}
	return text;
}

static char *take_shared(const struct entry *entry, const char *text,
                         const struct stet_json *before) {
	auto_json json = parse(text);
	bool alone = json && stet_json_count(json, "") == 1;
	return alone ? take_member(entry, text, before) : strdup(text);
}

/* ---- entries ---- */

static bool finds_element(const struct entry *entry, const char *text) {
	auto_json json = parse(text);
	auto_json parsed = parse_value(entry->part == PART_HOOKS ? "null" : entry->value);
	return json && parsed && find_element(entry, json, parsed, false, 0) != SIZE_MAX;
}

static bool accepts_json(const char *text, char **why) {
	json_ptr json = NULL;
	struct stet_error err = {0};
	if (strspn(text, " \t\r\n") == strlen(text))
		return true;
	int code = stet_json_parse(text, strlen(text), 1, &json, &err);
	bool object = code == 0 && is_type(json, "", "object");
	stet_json_free(json);
	if (!object && asprintf(why, "is %s", code < 0 ? err.message : "not a JSON object") < 0)
		*why = NULL;
	return object;
}

bool entry_accepts(const struct entry *entry, const char *text, char **why) {
	*why = NULL;
	if (entry->kind == ENTRY_TEXT)
		return true;
	if (entry->kind != ENTRY_TABLE)
		return accepts_json(text, why);
	const char *refusal = toml_refusal(text, entry->path[0], entry->path[1]);
	if (refusal && asprintf(why, "has %s", refusal) < 0)
		*why = NULL;
	return !refusal;
}

bool entry_has(const struct entry *entry, const char *text, const char *value) {
	struct table_call call = {.entry = entry, .text = text};
	if (entry->kind == ENTRY_TEXT)
		return strcmp(text, value) == 0;
	if (entry->kind == ENTRY_TABLE)
		return each_pair(value, has_pair, &call);
	auto_json json = parse(text);
	auto_json parsed = parse_value(value);
	if (!json || !parsed)
		return false;
	if (entry->kind == ENTRY_ELEMENT)
		return find_element(entry, json, parsed, true, 0) != SIZE_MAX;
	return has_member(entry, json, parsed);
}

bool entry_exists(const struct entry *entry, const char *text) {
	char pointer[128];
	if (entry->kind == ENTRY_TEXT)
		return true;
	if (entry->kind == ENTRY_TABLE)
		return toml_has(text, entry->path[0], entry->path[1]);
	if (entry->kind == ENTRY_ELEMENT)
		return finds_element(entry, text);
	auto_json json = parse(text);
	make_pointer(pointer, sizeof pointer, entry->path, CLIENT_KEYS);
	return json && stet_json_type(json, pointer);
}

char *entry_add(const struct entry *entry, const char *text, const char *value) {
	if (entry->kind == ENTRY_TEXT)
		return strdup(value);
	if (entry_has(entry, text, value))
		return strdup(text);
	if (entry->kind == ENTRY_TABLE)
		return add_table(entry, text, value);
	auto_json json = parse(text);
	auto_json parsed = parse_value(value);
	if (!json || !parsed)
		return NULL;
	return (entry->kind == ENTRY_ELEMENT ? add_element : add_member)(entry, text, json, parsed,
	                                                                 value);
}

char *entry_remove(const struct entry *entry, const char *text, const char *value,
                   const char *before) {
	if (entry->kind == ENTRY_TEXT)
		return strdup(text);
	if (entry->kind == ENTRY_TABLE)
		return toml_remove(text, entry->path[0], entry->path[1]);
	auto_json earlier = before ? parse(before) : NULL;
	if (entry->kind == ENTRY_SHARED)
		return take_shared(entry, text, earlier);
	char *out = entry->kind == ENTRY_ELEMENT ? take_elements(entry, text, value, earlier)
	                                         : take_member(entry, text, earlier);
	return prune(entry, out, earlier);
}
