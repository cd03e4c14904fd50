/**
 * Tools: everything an agent can do through stet, called by name with JSON.
 *
 * The MCP server and the command line use the same tools. A call takes the
 * tool's arguments as a JSON object and returns an MCP tool result:
 *
 *     {"content": [{"type": "text", "text": ...}],
 *      "structuredContent": {...},
 *      "isError": true}                            only if it failed
 *
 * For example:
 *
 *     char *answer = NULL;
 *     const char *args = "{\"path\": \"a.c\", \"oldText\": \"foo\", \"newText\": \"bar\"}";
 *
 *     if (stet_call(session, "edit_file", args, strlen(args), &answer, NULL, err) == 0)
 *             puts(answer);
 *     stet_free(answer);
 */
#ifndef STET_TOOLS_H
#define STET_TOOLS_H

#include "stet/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Run a tool.
 *
 * @tool     Its name ("text_replace"); "TextReplace" works too.
 * @args     A JSON object; may be NULL for none.
 * @out      Receives the answer as JSON, to be freed with stet_free(), also if
 *           the tool failed or refused. NULL only if memory ran out or the tool
 *           does not exist.
 * @out_len  Receives its length; may be NULL.
 * @return   0, or the code of the failure that the answer describes.
 */
STET_API STET_NODISCARD int stet_call(struct stet_session *session, const char *tool,
                                      const char *args, size_t args_len, char **out,
                                      size_t *out_len, struct stet_error *err);

/** The number of tools; the name, title and description of a tool (from 0), NULL beyond the last. */
STET_API size_t stet_tool_count(void);
STET_API const char *stet_tool_name(size_t tool);
STET_API const char *stet_tool_title(size_t tool);
STET_API const char *stet_tool_description(size_t tool);
/** The group a tool belongs to: "files", "text" or "state". */
STET_API const char *stet_tool_group(size_t tool);

/**
 * A tool as an entry of MCP's tools/list: name, title, description,
 * inputSchema, outputSchema, annotations.
 *
 * @return JSON to be freed with stet_free(); NULL if out of memory or beyond
 *         the last tool.
 */
STET_API char *stet_tool_json(size_t tool);

/** A guide for models: which tool to use for which change, and what to do on a conflict. */
STET_API const char *stet_editing_guide(void);

#ifdef __cplusplus
}
#endif

#endif
