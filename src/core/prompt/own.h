/**
 * Our own message in a prompt, which holds the snapshot and says what was left
 * out, and the JSON around a list of messages.
 */
#ifndef STET_CORE_PROMPT_OWN_H
#define STET_CORE_PROMPT_OWN_H

#include "core/prompt/messages.h"

/** Whether a message of a history is one that stet added. */
bool st_own_is(yyjson_val *message);

/** A new message in a shape; NULL if out of memory. */
yyjson_mut_val *st_own_message(yyjson_mut_doc *doc, enum st_shape shape, const char *role,
                               struct st_str text);

/** A new system prompt beside a list, in its shape; NULL if out of memory. */
yyjson_mut_val *st_own_system(yyjson_mut_doc *doc, enum st_shape shape, struct st_str text);

/**
 * The original root with a new list in it, and with a system prompt beside it
 * unless that is NULL; or the list alone. NULL if out of memory.
 */
yyjson_mut_val *st_own_root(yyjson_mut_doc *doc, const struct st_messages *original,
                            yyjson_mut_val *list, yyjson_mut_val *beside);

/** How many open tasks a snapshot lists. */
size_t st_own_open_tasks(struct st_str snapshot);

#endif
