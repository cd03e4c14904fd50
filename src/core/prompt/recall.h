/**
 * A table of contents of the history that a prompt leaves out: the names that files define,
 * as reads and edits in the messages showed them, and the shell commands.
 * A model that no longer sees a file knows where to look, and how it built and
 * tested the work.
 *
 * All of it is from the messages; files may have changed since. It survives from
 * one cut to the next because the next one reads what this one wrote.
 *
 *     struct st_recall recall = {0};
 *     int code = st_recall_again(&recall, text_of_last_cut, err);
 *     if (code == 0)
 *             code = st_recall_read(&recall, &calls, err);
 *     st_recall_write(&recall, 600, &text);
 *     st_recall_release(&recall);
 */
#ifndef STET_CORE_PROMPT_RECALL_H
#define STET_CORE_PROMPT_RECALL_H

#include "base/buf.h"
#include "core/prompt/message_calls.h"

/** A file with the names in it, or a command; the last used are at the end. */
struct st_recall_entry {
	/** The path, or the command's first line. */
	char *text;
	/** The names in it, each behind a space; those seen last are at the end. */
	struct st_buf names;
};

struct st_recall_list {
	struct st_recall_entry *items;
	size_t count;
};

struct st_recall {
	struct st_recall_list files;
	struct st_recall_list commands;
};

/** Add the entries of a text of st_recall_write(). Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_recall_again(struct st_recall *recall, struct st_str text,
                                  struct stet_error *err);

/** Add the names and commands of calls. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_recall_read(struct st_recall *recall, const struct st_message_calls *calls,
                                 struct stet_error *err);

/** Append the sections, the last used first, within a number of tokens. */
void st_recall_write(const struct st_recall *recall, size_t tokens, struct st_buf *out);

void st_recall_release(struct st_recall *recall);

#endif
