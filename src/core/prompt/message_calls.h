/**
 * The tool calls in a list of messages, each with its result, whichever agent
 * made them and in whichever shape.
 *
 *     struct st_message_calls calls;
 *     if (st_message_calls_read(&calls, &list, err) == 0)
 *             for (size_t i = 0; i < calls.count; i++)
 *                     ... calls.items[i].name, .args, .result ...
 *     st_message_calls_release(&calls);
 */
#ifndef STET_CORE_PROMPT_MESSAGE_CALLS_H
#define STET_CORE_PROMPT_MESSAGE_CALLS_H

#include "core/prompt/messages.h"

struct st_message_call {
	/** The unit of the list in which it is. */
	size_t unit;
	/** The call itself; NULL if it is a command in the text of a reply. */
	yyjson_val *value;
	struct st_str name;
	/** The arguments, an object; or NULL, with the text of the call in `input`. */
	yyjson_val *args;
	struct st_str input;
	/** The result's message or part; NULL if there is none. */
	yyjson_val *result;
	/** The result's first text. */
	struct st_str text;
	/** The result says that the call failed. */
	bool failed;
	/** A sum of name and arguments: equal for equal calls. */
	uint64_t key;
	/** The parsed arguments, where they are JSON in a string. */
	yyjson_doc *doc;
};

struct st_message_calls {
	struct st_message_call *items;
	size_t count;
};

/** Read the calls of a list, which must outlive them. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_message_calls_read(struct st_message_calls *calls,
                                        const struct st_messages *list, struct stet_error *err);
void st_message_calls_release(struct st_message_calls *calls);

/** The shell command of a call, of whichever agent; empty if it is none. */
struct st_str st_message_call_command(const struct st_message_call *call);

#endif
