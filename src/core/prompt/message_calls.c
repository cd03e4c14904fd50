#include "core/prompt/message_calls.h"

#include <strings.h>

#include "base/array.h"

/* A message of failure has at most so many lines. */
enum { FAILURE_LINES = 10 };

/* ---- results ---- */

static struct st_str first_text(yyjson_val *value, int depth) {
	yyjson_val *key, *member;
	size_t i, max;
	if (yyjson_is_str(value) || depth > 4)
		return st_json_str(value);
	if (yyjson_is_obj(value)) {
		yyjson_obj_foreach(value, i, max, key, member) {
			struct st_str text = first_text(member, depth + 1);
			if (text.len && !yyjson_equals_str(key, "type") && !yyjson_equals_str(key, "id"))
				return text;
		}
	}
	yyjson_arr_foreach(value, i, max, member) {
		struct st_str text = first_text(member, depth + 1);
		if (text.len)
			return text;
	}
	return ST_STR("");
}

static struct st_str text_of_result(yyjson_val *result) {
	static const char *const keys[] = {"content", "output"};
	yyjson_val *response = yyjson_obj_get(result, "functionResponse");
	if (response)
		return first_text(yyjson_obj_get(response, "response"), 0);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		yyjson_val *value = yyjson_obj_get(result, keys[i]);
		if (value)
			return yyjson_is_str(value) ? st_json_str(value) : first_text(value, 0);
	}
	return ST_STR("");
}

/* Whether a phrase is where a tool would print it: at the start of a line, or in a line that begins with a bracket. */
static bool is_report(struct st_str text, const char *at) {
	const char *line = memrchr(text.ptr, '\n', (size_t)(at - text.ptr));
	line = line ? line + 1 : text.ptr;
	return at - line <= 1 || *line == '[' || *line == '{' || *line == '<' ||
	       strncasecmp(line, "process exited", 14) == 0 || strncasecmp(line, "command ", 8) == 0;
}

/* Whether a number other than 0 follows a phrase in the beginning or the end of a text. */
static bool has_status(struct st_str text, const char *phrase) {
	size_t head = text.len < 300 ? text.len : 300;
	const char *at = memmem(text.ptr, head, phrase, strlen(phrase));
	if (!at && text.len > head)
		at = memmem(text.ptr + text.len - head, head, phrase, strlen(phrase));
	if (!at || !is_report(text, at))
		return false;
	at += strlen(phrase);
	while (at < text.ptr + text.len && *at == ' ')
		at++;
	return at < text.ptr + text.len && ((*at >= '1' && *at <= '9') || *at == '-');
}

/* A file may begin like a message of failure, but these have few lines. */
static bool is_short(struct st_str text) {
	size_t lines = 1;
	for (size_t i = 0; i < text.len && lines <= FAILURE_LINES; i++)
		lines += text.ptr[i] == '\n';
	return lines <= FAILURE_LINES || st_str_starts(text, ST_STR("<tool_use_error>")) ||
	       st_str_starts(text, ST_STR("Traceback ("));
}

static bool says_failure(struct st_str text) {
	static const char *const starts[] = {"error",         "<tool_use_error>",  "failed",
	                                     "traceback (",   "permission denied", "the user doesn't",
	                                     "no such file",  "file not found",    "old_string not",
	                                     "user rejected", "command failed",    "[error",
	                                     "invalid ",      "patch failed",      "cannot ",
	                                     "could not ",    "aborted",           "not found"};
	static const char *const codes[] = {"<returncode>", "xit code",
	                                    "\"exit_code\":", "exited with code", "exit status"};
	text = st_str_trim(text);
	for (size_t i = 0; is_short(text) && i < sizeof starts / sizeof *starts; i++) {
		size_t len = strlen(starts[i]);
		if (text.len >= len && strncasecmp(text.ptr, starts[i], len) == 0)
			return true;
	}
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		if (has_status(text, codes[i]))
			return true;
	}
	return has_status(text, "xit code:");
}

static void take_result(struct st_message_call *call, yyjson_val *result) {
	yyjson_val *response = yyjson_obj_get(yyjson_obj_get(result, "functionResponse"), "response");
	call->result = result;
	call->text = text_of_result(result);
	call->failed = yyjson_is_true(yyjson_obj_get(result, "is_error")) ||
	               yyjson_obj_get(response, "error") || says_failure(call->text);
}

/* ---- calls ---- */

static void parse_arguments(struct st_message_call *call, yyjson_val *value) {
	call->input = st_json_str(value);
	call->args = yyjson_is_obj(value) ? value : NULL;
	if (!call->input.len || call->input.ptr[0] != '{')
		return;
	if (st_json_parse(call->input, "The arguments", &call->doc, NULL) == 0)
		call->args = yyjson_doc_get_root(call->doc);
}

static void set_key(struct st_message_call *call, yyjson_val *value) {
	char *json = yyjson_val_write(value, 0, NULL);
	call->key = st_str_sum(st_str_sum(ST_STR_SUM, call->name), st_str(json ? json : ""));
	free(json);
}

/* Read a call in any shape: an entry of tool_calls, a block, an item, or a part. */
static void read_call(struct st_message_call *call, yyjson_val *value) {
	static const char *const keys[] = {"arguments", "input", "args", "action"};
	yyjson_val *inner = yyjson_obj_get(value, "function");
	if (!inner)
		inner = yyjson_obj_get(value, "functionCall");
	if (!inner)
		inner = value;
	yyjson_val *args = NULL;
	for (size_t i = 0; !args && i < sizeof keys / sizeof *keys; i++)
		args = yyjson_obj_get(inner, keys[i]);
	call->name = st_json_str(yyjson_obj_get(inner, "name"));
	if (call->name.len == 0)
		call->name = st_json_str(yyjson_obj_get(value, "type"));
	parse_arguments(call, args);
	set_key(call, args);
	call->value = value;
}

static struct st_message_call *add_call(struct st_message_calls *calls, size_t unit) {
	if (!st_array_room(&calls->items, calls->count, sizeof *calls->items))
		return NULL;
	struct st_message_call *call = &calls->items[calls->count++];
	*call = (struct st_message_call){.unit = unit, .name = ST_STR(""), .input = ST_STR("")};
	return call;
}

/* The command in a fence of a message, as agents without tool calls send it. */
static struct st_str fenced_command(struct st_str text) {
	static const char *const fences[] = {"```bash\n", "```mswea_bash_command\n", "```sh\n"};
	for (size_t i = 0; i < sizeof fences / sizeof *fences; i++) {
		const char *at = memmem(text.ptr, text.len, fences[i], strlen(fences[i]));
		if (!at)
			continue;
		at += strlen(fences[i]);
		size_t left = (size_t)(text.ptr + text.len - at);
		const char *end = memmem(at, left, "\n```", 4);
		return st_strn(at, end ? (size_t)(end - at) : left);
	}
	return ST_STR("");
}

static bool collect_calls(struct st_message_calls *calls, yyjson_val *array, size_t unit) {
	yyjson_val *value;
	size_t i, max;
	yyjson_arr_foreach(array, i, max, value) {
		struct st_message_call *call;
		if (!st_messages_is_call(value))
			continue;
		if (!(call = add_call(calls, unit)))
			return false;
		read_call(call, value);
	}
	return true;
}

static bool read_model(struct st_message_calls *calls, const struct st_message *message,
                       size_t unit, bool observed) {
	struct st_message_call *call;
	yyjson_val *value = message->value;
	if (!collect_calls(calls, yyjson_obj_get(value, "tool_calls"), unit) ||
	    !collect_calls(calls, st_messages_parts(value), unit))
		return false;
	struct st_str command = ST_STR("");
	if (observed && message->calls == 0)
		command = fenced_command(st_messages_text(value));
	if (!st_messages_is_call(value) && command.len == 0)
		return true;
	if (!(call = add_call(calls, unit)))
		return false;
	if (command.len == 0) {
		read_call(call, value);
		return true;
	}
	call->name = ST_STR("bash");
	call->input = command;
	call->key = st_str_sum(st_str_sum(ST_STR_SUM, call->name), command);
	return true;
}

/* The results of a unit. They mostly come in the order of the calls. */
struct answers {
	struct st_message_calls *calls;
	/* The unit's first call, and the one behind the call of the last result. */
	size_t from;
	size_t next;
};

/* Whether a result may be a call's; where it has no id, it is that of the next call without one. */
static bool is_answer(const struct st_message_call *call, struct st_str id) {
	return id.len ? call->value && st_str_eq(st_messages_call_id(call->value), id) : !call->result;
}

/* The call of a result: it is mostly near that of the last one. NULL if it is not in the unit. */
static struct st_message_call *find_call(const struct answers *answers, struct st_str id) {
	struct st_message_call *items = answers->calls->items;
	for (size_t i = answers->next; i < answers->calls->count; i++) {
		if (is_answer(&items[i], id))
			return &items[i];
	}
	for (size_t i = answers->next; i > answers->from; i--) {
		if (is_answer(&items[i - 1], id))
			return &items[i - 1];
	}
	return NULL;
}

static void answer_call(struct answers *answers, yyjson_val *result) {
	struct st_message_call *call = find_call(answers, st_messages_result_id(result));
	if (!call)
		return;
	take_result(call, result);
	answers->next = (size_t)(call - answers->calls->items) + 1;
}

static void read_results(struct answers *answers, yyjson_val *message) {
	yyjson_val *part;
	size_t i, max, found = 0;
	if (!st_messages_is_result(message)) {
		yyjson_arr_foreach(st_messages_parts(message), i, max, part) {
			if (st_messages_is_result(part)) {
				answer_call(answers, part);
				found++;
			}
		}
	}
	if (found == 0)
		answer_call(answers, message);
}

static bool read_unit(struct st_message_calls *calls, const struct st_messages *list, size_t unit) {
	const struct st_unit *at = &list->units[unit];
	struct answers answers = {.calls = calls, .from = calls->count, .next = calls->count};
	for (size_t i = at->first; i < at->first + at->count; i++) {
		const struct st_message *message = &list->items[i];
		bool observed = i + 1 < at->first + at->count && list->items[i + 1].role == ST_ROLE_RESULT;
		if (message->role == ST_ROLE_RESULT) {
			read_results(&answers, message->value);
			continue;
		}
		if (!read_model(calls, message, unit, observed))
			return false;
	}
	return true;
}

int st_message_calls_read(struct st_message_calls *calls, const struct st_messages *list,
                          struct stet_error *err) {
	*calls = (struct st_message_calls){0};
	for (size_t i = 0; i < list->unit_count; i++) {
		enum st_role role = list->units[i].role;
		if (role == ST_ROLE_SYSTEM || role == ST_ROLE_USER || read_unit(calls, list, i))
			continue;
		st_message_calls_release(calls);
		return st_fail_nomem(err);
	}
	return 0;
}

void st_message_calls_release(struct st_message_calls *calls) {
	for (size_t i = 0; i < calls->count; i++)
		yyjson_doc_free(calls->items[i].doc);
	free(calls->items);
	*calls = (struct st_message_calls){0};
}

/* ---- commands ---- */

struct st_str st_message_call_command(const struct st_message_call *call) {
	static const char *const keys[] = {"command", "cmd", "script"};
	static const char *const names[] = {"bash", "shell", "exec", "command", "terminal", "run"};
	bool is_shell = false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		is_shell |=
			memmem(call->name.ptr, call->name.len, names[i], strlen(names[i])) != NULL ||
			strncasecmp(call->name.ptr, names[i],
		                strlen(names[i]) < call->name.len ? strlen(names[i]) : call->name.len) == 0;
	if (!is_shell || call->name.len == 0)
		return ST_STR("");
	if (!call->args)
		return call->input;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		yyjson_val *value = yyjson_obj_get(call->args, keys[i]);
		/* Codex: ["bash", "-lc", "..."] */
		if (yyjson_is_arr(value))
			value = yyjson_arr_get_last(value);
		if (yyjson_is_str(value))
			return st_json_str(value);
	}
	return ST_STR("");
}
