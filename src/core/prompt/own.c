#include "core/prompt/own.h"

/* How our own messages begin: with a snapshot, or without one. */
static const char *const marks[] = {"[Repo Snapshot]\n",
                                    "[Context]\nThis conversation was shortened.\n"};

bool st_own_is(yyjson_val *message) {
	struct st_str text = st_messages_text(message);
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		if (st_str_starts(text, st_str(marks[i])))
			return true;
	}
	return false;
}

/* Gemini's form of a text: an object with a list of parts. */
static void add_parts(yyjson_mut_doc *doc, yyjson_mut_val *message, struct st_str text) {
	yyjson_mut_val *part = yyjson_mut_obj(doc);
	st_json_add_text(doc, part, "text", text);
	st_json_push(doc, st_json_add_array(doc, message, "parts"), part);
}

yyjson_mut_val *st_own_message(yyjson_mut_doc *doc, enum st_shape shape, const char *role,
                               struct st_str text) {
	yyjson_mut_val *message = yyjson_mut_obj(doc);
	bool is_gemini = shape == ST_SHAPE_GEMINI;
	bool is_model = is_gemini && strcmp(role, "assistant") == 0;
	st_json_add_text(doc, message, "role", st_str(is_model ? "model" : role));
	if (is_gemini)
		add_parts(doc, message, text);
	else
		st_json_add_text(doc, message, "content", text);
	return message;
}

yyjson_mut_val *st_own_system(yyjson_mut_doc *doc, enum st_shape shape, struct st_str text) {
	if (shape != ST_SHAPE_GEMINI)
		return st_json_text(doc, text);
	yyjson_mut_val *system = yyjson_mut_obj(doc);
	add_parts(doc, system, text);
	return system;
}

static const char *default_key(enum st_shape shape, bool system) {
	if (shape == ST_SHAPE_RESPONSES)
		return system ? "instructions" : "input";
	if (shape == ST_SHAPE_GEMINI)
		return system ? "systemInstruction" : "contents";
	return system ? "system" : "messages";
}

yyjson_mut_val *st_own_root(yyjson_mut_doc *doc, const struct st_messages *original,
                            yyjson_mut_val *list, yyjson_mut_val *beside) {
	yyjson_val *root = yyjson_doc_get_root(original->doc), *name, *member;
	const char *key = original->system_key;
	size_t i, max;
	if (!original->list_key && !beside)
		return list;
	yyjson_mut_val *whole = yyjson_mut_obj(doc);
	if (beside && !key) {
		key = default_key(original->shape, true);
		st_json_add(doc, whole, key, beside);
	}
	if (!original->list_key) {
		st_json_add(doc, whole, default_key(original->shape, false), list);
		return whole;
	}
	yyjson_obj_foreach(root, i, max, name, member) {
		bool is_list = yyjson_equals_str(name, original->list_key);
		bool is_system = beside && yyjson_equals_str(name, key);
		yyjson_mut_val *value = is_list     ? list
		                        : is_system ? beside
		                                    : yyjson_val_mut_copy(doc, member);
		if (!value || !yyjson_mut_obj_add(whole, yyjson_val_mut_copy(doc, name), value))
			return NULL;
	}
	return whole;
}

size_t st_own_open_tasks(struct st_str snapshot) {
	static const char title[] = "Open Tasks (";
	const char *at = memmem(snapshot.ptr, snapshot.len, title, strlen(title));
	const char *end = snapshot.ptr + snapshot.len;
	size_t number = 0;
	if (!at)
		return 0;
	for (at += strlen(title); at < end && *at >= '0' && *at <= '9' && number < 1000000; at++)
		number = number * 10 + (size_t)(*at - '0');
	return number;
}
