/**
 * The files that a tool call names, whichever agent made it: Claude Code, Codex,
 * Gemini CLI, opencode, OpenHands, mini-swe-agent, stet, or a simple shell command.
 *
 *     if (!st_call_files(&calls.items[0], add_file, &files))
 *             ... add_file() stopped it ...
 */
#ifndef STET_CORE_PROMPT_CALL_FILES_H
#define STET_CORE_PROMPT_CALL_FILES_H

#include "core/prompt/message_calls.h"
#include "core/prompt/shell_files.h"

/** Find the files of a call; none if it failed or has no result. Returns false if the function stopped it. */
bool st_call_files(const struct st_message_call *call, st_file_use_fn *each, void *data);

/** The command of a call of a shell; empty for other tools. */
struct st_str st_call_shell(const struct st_message_call *call);

/** The text that a write or an edit put into its file; empty if the call does not show one. */
struct st_str st_call_new_text(const struct st_message_call *call);

/** The patch that a call applies, also in a shell; empty for other calls. */
struct st_str st_call_patch(const struct st_message_call *call);

#endif
