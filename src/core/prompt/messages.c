#include "core/prompt/messages.h"

#include <assert.h>

static bool has_text(yyjson_val *object, const char *key, const char *text) {
	return yyjson_equals_str(yyjson_obj_get(object, key), text);
}

static bool type_ends(yyjson_val *item, struct st_str ending) {
	return st_str_ends(st_json_str(yyjson_obj_get(item, "type")), ending);
}

struct st_str st_messages_call_id(yyjson_val *value) {
	/* OpenAI's responses; Anthropic's blocks and entries of tool_calls. */
	if (type_ends(value, ST_STR("_call")))
		return st_json_str(yyjson_obj_get(value, "call_id"));
	if (has_text(value, "type", "tool_use") || has_text(value, "type", "function") ||
	    yyjson_obj_get(value, "function"))
		return st_json_str(yyjson_obj_get(value, "id"));
	return st_json_str(yyjson_obj_get(yyjson_obj_get(value, "functionCall"), "id"));
}

struct st_str st_messages_result_id(yyjson_val *value) {
	if (type_ends(value, ST_STR("_call_output")))
		return st_json_str(yyjson_obj_get(value, "call_id"));
	if (has_text(value, "type", "tool_result"))
		return st_json_str(yyjson_obj_get(value, "tool_use_id"));
	if (has_text(value, "role", "tool"))
		return st_json_str(yyjson_obj_get(value, "tool_call_id"));
	return st_json_str(yyjson_obj_get(yyjson_obj_get(value, "functionResponse"), "id"));
}

bool st_messages_is_call(yyjson_val *value) {
	return type_ends(value, ST_STR("_call")) || has_text(value, "type", "tool_use") ||
	       yyjson_is_obj(yyjson_obj_get(value, "function")) ||
	       yyjson_obj_get(value, "functionCall");
}

bool st_messages_is_result(yyjson_val *value) {
	return type_ends(value, ST_STR("_call_output")) || has_text(value, "type", "tool_result") ||
	       has_text(value, "role", "tool") || has_text(value, "role", "function") ||
	       yyjson_obj_get(value, "functionResponse");
}

yyjson_val *st_messages_parts(yyjson_val *message) {
	yyjson_val *content = yyjson_obj_get(message, "content");
	return content ? content : yyjson_obj_get(message, "parts");
}

struct st_str st_messages_text(yyjson_val *message) {
	yyjson_val *parts = st_messages_parts(message), *part;
	size_t i, max;
	if (yyjson_is_str(parts))
		return st_json_str(parts);
	yyjson_arr_foreach(parts, i, max, part) {
		struct st_str text = st_json_str(yyjson_obj_get(part, "text"));
		if (text.len && !yyjson_is_true(yyjson_obj_get(part, "thought")))
			return text;
	}
	return ST_STR("");
}

static size_t count_parts(yyjson_val *message, const char *type) {
	yyjson_val *part;
	size_t i, max, count = 0;
	yyjson_arr_foreach(yyjson_obj_get(message, "content"), i, max, part) count +=
		has_text(part, "type", type);
	return count;
}

/* Count the parts of one of Gemini's messages that have a member. */
static size_t count_members(yyjson_val *message, const char *key) {
	yyjson_val *part;
	size_t i, max, count = 0;
	yyjson_arr_foreach(yyjson_obj_get(message, "parts"), i, max, part) count +=
		yyjson_obj_get(part, key) != NULL;
	return count;
}

/*
 * Whether a user's message is what a command printed: agents without tool calls,
 * such as mini-swe-agent and SWE-agent, send it so.
 */
static bool is_observation(yyjson_val *message) {
	static const char *const starts[] = {"<returncode>", "<exception>",      "Observation:",
	                                     "OBSERVATION:", "EXECUTION RESULT", "<output>"};
	struct st_str text = st_str_trim(st_messages_text(message));
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		if (st_str_starts(text, st_str(starts[i])))
			return true;
	}
	return false;
}

static enum st_role classify_user(yyjson_val *value, enum st_role before) {
	if (count_parts(value, "tool_result") || count_members(value, "functionResponse"))
		return ST_ROLE_RESULT;
	return before == ST_ROLE_MODEL && is_observation(value) ? ST_ROLE_RESULT : ST_ROLE_USER;
}

/* Set the role and the calls of a message, given the role of the one before it. */
static void classify(struct st_message *message, yyjson_val *value, enum st_role before) {
	*message = (struct st_message){.value = value, .role = ST_ROLE_USER};
	yyjson_val *calls = yyjson_obj_get(value, "tool_calls");
	if (type_ends(value, ST_STR("_call_output")) || has_text(value, "role", "tool") ||
	    has_text(value, "role", "function"))
		message->role = ST_ROLE_RESULT;
	else if (has_text(value, "role", "system") || has_text(value, "role", "developer"))
		message->role = ST_ROLE_SYSTEM;
	else if (has_text(value, "role", "user"))
		message->role = classify_user(value, before);
	else
		message->role = ST_ROLE_MODEL;
	if (message->role == ST_ROLE_MODEL)
		message->calls = yyjson_arr_size(calls) + count_parts(value, "tool_use") +
		                 count_members(value, "functionCall") + type_ends(value, ST_STR("_call"));
}

/* ---- the shape ---- */

int st_shape_of(const char *name) {
	static const char *const names[] = {"auto", "chat", "responses", "anthropic", "gemini"};
	for (int i = 0; name && i < 5; i++) {
		if (strcmp(name, names[i]) == 0)
			return i;
	}
	return name ? -1 : ST_SHAPE_ANY;
}

static enum st_shape shape_of(const struct st_messages *list) {
	yyjson_val *root = yyjson_doc_get_root(list->doc);
	if (list->list_key && strcmp(list->list_key, "input") == 0)
		return ST_SHAPE_RESPONSES;
	if (list->list_key && strcmp(list->list_key, "contents") == 0)
		return ST_SHAPE_GEMINI;
	if (yyjson_obj_get(root, "system"))
		return ST_SHAPE_ANTHROPIC;
	for (size_t i = 0; i < list->count; i++) {
		yyjson_val *value = list->items[i].value;
		if (yyjson_is_arr(yyjson_obj_get(value, "parts")))
			return ST_SHAPE_GEMINI;
		if (yyjson_obj_get(value, "type") && !has_text(value, "type", "message"))
			return ST_SHAPE_RESPONSES;
		if (count_parts(value, "input_text") || count_parts(value, "output_text"))
			return ST_SHAPE_RESPONSES;
		if (count_parts(value, "tool_use") || count_parts(value, "tool_result"))
			return ST_SHAPE_ANTHROPIC;
	}
	return ST_SHAPE_CHAT;
}

static int find_list(struct st_messages *list, struct stet_error *err) {
	yyjson_val *root = yyjson_doc_get_root(list->doc);
	list->list = root;
	if (yyjson_is_arr(root))
		return 0;
	list->list_key = yyjson_is_arr(yyjson_obj_get(root, "input"))      ? "input"
	                 : yyjson_is_arr(yyjson_obj_get(root, "contents")) ? "contents"
	                                                                   : "messages";
	list->list = yyjson_obj_get(root, list->list_key);
	if (!yyjson_is_arr(list->list))
		return st_fail(
			err, STET_E_INVALID,
			"The messages are neither an array nor an object with an array \"messages\", \"input\" "
			"or \"contents\". Give the message list of a request to a model, as JSON.");
	return 0;
}

static int read_items(struct st_messages *list, struct stet_error *err) {
	yyjson_val *value;
	size_t i, max;
	size_t count = yyjson_arr_size(list->list);
	list->items = calloc(count + 1, sizeof *list->items);
	list->units = calloc(count + 1, sizeof *list->units);
	if (!list->items || !list->units)
		return st_fail_nomem(err);
	yyjson_arr_foreach(list->list, i, max, value) {
		if (!yyjson_is_obj(value))
			return st_fail(err, STET_E_INVALID, "Message %zu is %s, not an object.", i + 1,
			               st_json_kind(value));
		classify(&list->items[i], value, i ? list->items[i - 1].role : ST_ROLE_SYSTEM);
	}
	list->count = count;
	return 0;
}

/* ---- units ---- */

/* Whether a message begins a unit, given the one before it. */
static bool begins_unit(const struct st_messages *list, size_t i) {
	const struct st_message *message = &list->items[i];
	if (i == 0 || message->role == ST_ROLE_SYSTEM || message->role == ST_ROLE_USER)
		return true;
	enum st_role before = list->items[i - 1].role;
	if (message->role == ST_ROLE_RESULT)
		return before == ST_ROLE_SYSTEM || before == ST_ROLE_USER;
	/* In OpenAI's responses, a reply is several items: reasoning, text, calls. */
	return before != ST_ROLE_MODEL || list->shape != ST_SHAPE_RESPONSES;
}

static void find_units(struct st_messages *list) {
	struct st_unit *unit = NULL;
	size_t calls = 0, results = 0;
	for (size_t i = 0; i < list->count; i++) {
		bool model = list->items[i].role == ST_ROLE_MODEL;
		/* Only OpenAI's responses interleave calls and results. */
		bool is_open = list->shape == ST_SHAPE_RESPONSES && calls > results;
		if (begins_unit(list, i) && !(unit && model && is_open)) {
			unit = &list->units[list->unit_count++];
			*unit = (struct st_unit){.first = i, .role = list->items[i].role};
			calls = results = 0;
		}
		assert(unit);
		unit->count++;
		calls += list->items[i].calls;
		results += list->items[i].role == ST_ROLE_RESULT;
	}
}

int st_messages_read(struct st_messages *list, struct st_str text, enum st_shape shape,
                     struct stet_error *err) {
	*list = (struct st_messages){0};
	int code = st_json_parse(text, "The messages", &list->doc, err);
	if (code == 0)
		code = find_list(list, err);
	if (code == 0)
		code = read_items(list, err);
	if (code < 0) {
		st_messages_release(list);
		return code;
	}
	yyjson_val *root = yyjson_doc_get_root(list->doc);
	list->shape = shape == ST_SHAPE_ANY ? shape_of(list) : shape;
	static const char *const keys[] = {"instructions", "system", "systemInstruction",
	                                   "system_instruction"};
	for (size_t i = 0; list->list_key && !list->system_key && i < sizeof keys / sizeof *keys; i++)
		list->system_key = yyjson_obj_get(root, keys[i]) ? keys[i] : NULL;
	find_units(list);
	return 0;
}

void st_messages_release(struct st_messages *list) {
	yyjson_doc_free(list->doc);
	free(list->items);
	free(list->units);
	*list = (struct st_messages){0};
}

/* ---- results ---- */

/* The tools of stet and of other agents say "noop": true in JSON, or this sentence. */
static bool says_noop(struct st_str text) {
	static const char sentence[] = "File already exists with identical content";
	const char *at = memmem(text.ptr, text.len, "\"noop\"", 6);
	if (memmem(text.ptr, text.len, sentence, strlen(sentence)))
		return true;
	if (!at)
		return false;
	struct st_str rest = st_str_trim(st_str_slice(text, (size_t)(at - text.ptr) + 6, text.len));
	if (rest.len == 0 || rest.ptr[0] != ':')
		return false;
	return st_str_starts(st_str_trim(st_str_slice(rest, 1, rest.len)), ST_STR("true"));
}

bool st_messages_is_noop(yyjson_val *result) {
	yyjson_val *part;
	size_t i, max;
	yyjson_val *content = yyjson_obj_get(result, "content");
	if (!content)
		content = yyjson_obj_get(result, "output");
	/* Only in short results: a file that was read may contain anything. */
	if (yyjson_is_str(content) && yyjson_get_len(content) < 2000)
		return says_noop(st_json_str(content));
	yyjson_arr_foreach(content, i, max, part) {
		yyjson_val *text = yyjson_obj_get(part, "text");
		if (yyjson_get_len(text) < 2000 && says_noop(st_json_str(text)))
			return true;
	}
	return false;
}
