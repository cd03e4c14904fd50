/**
 * The file accesses in a list of messages: the tool calls of any agent in it
 * that read, wrote, edited or deleted a file and did not fail.
 *
 * All of it is hearsay: the messages say so, the disk may say otherwise.
 *
 *     struct st_learned learned = {0};
 *     int code = st_learned_read(&learned, &calls, err);
 *     st_learned_write(&learned, ST_STR(""), 300, &text);
 *     st_learned_release(&learned);
 */
#ifndef STET_CORE_PROMPT_LEARNED_H
#define STET_CORE_PROMPT_LEARNED_H

#include "base/buf.h"
#include "core/prompt/message_calls.h"
#include "core/prompt/shell_files.h"

struct st_learned_file {
	char *path;
	/** A sum of the path, to compare faster. */
	uint64_t sum;
	/** What happened last, where a write or an edit outlasts a read. */
	enum st_file_use use;
	/** The number of the call that used it last. */
	size_t last;
	/** A text that the file has if nobody changed it since: that of the last write or edit. May be empty. */
	struct st_str proof;
};

struct st_learned {
	struct st_learned_file *files;
	size_t count;
	/** Shell commands, and calls that failed or have no result. */
	size_t commands;
	size_t failed;
	/** The same, as an earlier prompt has it. Calls that it kept are in the list again. */
	size_t commands_before;
	size_t failed_before;
	/** The number of calls so far. */
	size_t calls;
};

/** Add what calls show. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_learned_read(struct st_learned *learned, const struct st_message_calls *calls,
                                  struct stet_error *err);

/** Add what a text of st_learned_write() says. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_learned_again(struct st_learned *learned, struct st_str text,
                                   struct stet_error *err);

/**
 * Append a section that names the files, the last used first, within a number of
 * tokens; nothing if there is nothing to say.
 *
 * @verified  Paths, one a line, that the snapshot knows: these are left out.
 */
void st_learned_write(const struct st_learned *learned, struct st_str verified, size_t tokens,
                      struct st_buf *out);

void st_learned_release(struct st_learned *learned);

#endif
