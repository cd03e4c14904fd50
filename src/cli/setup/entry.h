/**
 * One entry of stet in the text of a client's file: find it, add it, take it
 * out. The rest of the text stays as it is.
 */
#ifndef STET_CLI_SETUP_ENTRY_H
#define STET_CLI_SETUP_ENTRY_H

#include "cli/setup/clients.h"

/**
 * Whether stet can change a text.
 *
 * @why    Receives what is wrong with it, after "the file"; the caller frees it.
 */
bool entry_accepts(const struct entry *entry, const char *text, char **why);

/** Whether the text has the entry. @value: the entry's value, expanded. */
bool entry_has(const struct entry *entry, const char *text, const char *value);

/** Whether the text has the entry in any form: of a server by its name, of a hook by its command. */
bool entry_exists(const struct entry *entry, const char *text);

/** Add the entry, or bring it up to date. Returns the new text, which the caller frees; NULL if that failed. */
char *entry_add(const struct entry *entry, const char *text, const char *value);

/**
 * Take the entry out, and the objects and arrays that are empty then.
 *
 * @before  The text before stet was set up, whose values come back; NULL if unknown.
 * @return  The new text, which the caller frees; NULL if that failed.
 */
char *entry_remove(const struct entry *entry, const char *text, const char *value,
                   const char *before);

/** Whether a command of a hook runs stet hook. */
bool is_hook_command(const char *command);

#endif
