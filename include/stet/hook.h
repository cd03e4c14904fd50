/**
 * The hook for the agents' own tools.
 *
 * Coding agents call a hook before and after each of their tools, with an event
 * as JSON. stet records what the model was sent, and denies an edit or a write
 * that would overwrite what the model has not seen, with the diff as the reason.
 * docs/hooks.md says what is guarded for which client.
 *
 *     const char *event = "{\"session_id\": \"1\", \"cwd\": \"/src\"}";
 *     char *decision = NULL;
 *
 *     if (stet_hook_run(event, strlen(event), NULL, &decision, NULL, err) == 0 && decision)
 *             puts(decision);
 *     stet_free(decision);
 *
 * A hook must never be in the agent's way: on any error, print nothing and
 * succeed.
 */
#ifndef STET_HOOK_H
#define STET_HOOK_H

#include <stddef.h>

#include "stet/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Decide about an event.
 *
 * The workspace is the nearest directory, from the event's working directory
 * upwards, that contains `.stet` or `.git`, or else the working directory. The
 * session is the agent's, by the name `claude:ID` and the like.
 *
 * @event   The event, as the client sends it.
 * @client  "claude", "codex", "gemini", "qwen", "cursor", "opencode"; NULL to
 *          recognise it by the event.
 * @out     Receives the decision as JSON, to be freed with stet_free(); NULL if
 *          there is nothing to say.
 * @len     Receives its length; may be NULL.
 * @return  0, or why there is no decision: STET_E_INVALID (the event cannot be
 *          read), STET_E_TOO_BIG, STET_E_NOMEM, or why the workspace cannot be
 *          opened.
 */
STET_API STET_NODISCARD int stet_hook_run(const char *event, size_t event_len, const char *client,
                                          char **out, size_t *len, struct stet_error *err);

#ifdef __cplusplus
}
#endif

#endif
