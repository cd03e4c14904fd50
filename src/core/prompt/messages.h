/**
 * A list of messages of a conversation with a model, in the shape of OpenAI's
 * chat completions, OpenAI's responses, Anthropic's messages, or Gemini's
 * contents.
 *
 * Each message gets a role, and messages are grouped into units that must stay
 * together: a user's message; or a reply of the model with its tool calls and
 * all results of these.
 *
 *     struct st_messages list;
 *     if (st_messages_read(&list, text, ST_SHAPE_ANY, err) < 0)
 *             return err->code;
 *     for (size_t i = 0; i < list.unit_count; i++)
 *             ... list.units[i].first, .count into list.items ...
 *     st_messages_release(&list);
 */
#ifndef STET_CORE_PROMPT_MESSAGES_H
#define STET_CORE_PROMPT_MESSAGES_H

#include "base/json.h"

enum st_shape {
	/** Detect the shape. */
	ST_SHAPE_ANY,
	ST_SHAPE_CHAT,
	ST_SHAPE_RESPONSES,
	ST_SHAPE_ANTHROPIC,
	ST_SHAPE_GEMINI,
};

enum st_role {
	ST_ROLE_SYSTEM,
	ST_ROLE_USER,
	/** The model: text, tool calls, reasoning. */
	ST_ROLE_MODEL,
	/** Results of tools. */
	ST_ROLE_RESULT,
};

struct st_message {
	yyjson_val *value;
	enum st_role role;
	/** How many tool calls it makes. */
	size_t calls;
};

struct st_unit {
	size_t first;
	size_t count;
	enum st_role role;
};

struct st_messages {
	enum st_shape shape;
	yyjson_doc *doc;
	/** The list, and the key of the root under which it is; NULL if it is the root. */
	yyjson_val *list;
	const char *list_key;
	/** The key of a system prompt beside the list ("system", "instructions", "systemInstruction"); NULL for none. */
	const char *system_key;
	struct st_message *items;
	size_t count;
	struct st_unit *units;
	size_t unit_count;
};

/**
 * Read a list: an array of messages, or a request that has one as `messages`,
 * `input` or `contents`.
 *
 * @return 0, STET_E_INVALID or STET_E_NOMEM.
 */
[[nodiscard]] int st_messages_read(struct st_messages *list, struct st_str text,
                                   enum st_shape shape, struct stet_error *err);
void st_messages_release(struct st_messages *list);

/** The shape with a name: "chat", "responses", "anthropic", "gemini"; ST_SHAPE_ANY for "auto" and NULL; -1 for others. */
int st_shape_of(const char *name);

/** The id of a tool call, or the id that a result refers to, in a message or a part of one; empty for none. */
struct st_str st_messages_call_id(yyjson_val *value);
struct st_str st_messages_result_id(yyjson_val *value);

/** Whether a message, or a part of one, is a tool call or the result of one, with or without an id. */
bool st_messages_is_call(yyjson_val *value);
bool st_messages_is_result(yyjson_val *value);

/** The parts of a message: its `content`, or Gemini's `parts`; may be a string or NULL. */
yyjson_val *st_messages_parts(yyjson_val *message);

/** The first text of a message; empty for none. */
struct st_str st_messages_text(yyjson_val *message);

/** Whether a tool's result says that the call changed nothing. */
bool st_messages_is_noop(yyjson_val *result);

#endif
