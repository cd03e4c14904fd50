/** Parameters, schemas and parts of answers that several tools share. */
#ifndef STET_TOOLS_RENDER_H
#define STET_TOOLS_RENDER_H

#include "core/instructions/list.h"
#include "text/hint/context.h"
#include "tools/route.h"
#include "tools/tool.h"

/** Parameters of every tool that writes. */
#define ST_PARAM_EXPECTED_HASH \
	{ .name = "expectedHash", .aliases = "expected_hash", .description = "fileHash that you saw." }
#define ST_PARAM_ON_STALE \
	{ \
		.name = "onStale", .aliases = "on_stale", .choices = "refuse|merge", \
		.description = "If it changed since your read." \
	}
#define ST_PARAM_SESSION \
	{ .name = "session", .description = "Another session's name." }
#define ST_PARAMS_END \
	{ .name = NULL }

/** The path of a file, also for tools whose answers call it filePath, and of a directory. */
#define ST_PARAM_PATH \
	{ \
		.name = "path", .aliases = "filePath file_path", .required = true, \
		.description = "The file's path." \
	}
#define ST_PARAM_FILE_PATH \
	{ \
		.name = "filePath", .aliases = "path file_path", .required = true, \
		.description = "The file's path." \
	}
#define ST_PARAM_DIRECTORY \
	{ \
		.name = "path", .aliases = "directory dir", \
		.description = "The directory; default: the workspace." \
	}
/** Which page of a list to show; see st_call_part(). */
#define ST_PARAM_OFFSET \
	{ .name = "offset", .type = ST_PARAM_INTEGER, .description = "How many to skip." }
#define ST_PARAM_LIMIT \
	{ .name = "limit", .type = ST_PARAM_INTEGER, .description = "How many to show." }

/** An output schema with these members, besides those of st_common_schema. */
#define ST_OUTPUT(members) "{\"type\":\"object\",\"properties\":{" members "}}"

/** Schemas of parts that several answers have. */
#define ST_SCHEMA_SPAN \
	"{\"type\":\"object\",\"properties\":{\"start\":{\"type\":\"integer\"},\"end\":{\"type\":" \
	"\"integer\"}}," \
	"\"required\":[\"start\",\"end\"]}"
#define ST_SCHEMA_LINES \
	"{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"number\":{\"type\":" \
	"\"integer\"}," \
	"\"text\":{\"type\":\"string\"}},\"required\":[\"number\",\"text\"]}}"
#define ST_SCHEMA_CONTEXT \
	"{\"type\":\"object\",\"properties\":{\"beforeLines\":" ST_SCHEMA_LINES \
	",\"afterLines\":" ST_SCHEMA_LINES "}}"
#define ST_SCHEMA_PREVIEW \
	"{\"type\":\"object\",\"properties\":{\"before\":{\"type\":\"string\"},\"after\":{\"type\":" \
	"\"string\"}}}"

/**
 * Append a path below the root of the call's session, spelled so that the next
 * call may use it: absolute unless it is in the first workspace.
 */
void st_call_spell(const struct st_call *call, const char *path, struct st_buf *out);

/** Add a path, spelled as st_call_spell() does, to an object. */
void st_render_path(struct st_call *call, yyjson_mut_val *object, const char *key,
                    const char *path);

/**
 * Apply a change, with the call's arguments expectedHash and onStale.
 *
 * A refusal becomes call->failure, with the diff as text. A success adds path
 * (under path_key), fileHash, commit, noop and merged to the data. Both attach
 * instructions that newly apply to the file.
 *
 * @out     Receives core's answer on success; the caller frees it.
 */
[[nodiscard]] int st_call_change(struct st_call *call, struct st_change *change,
                                 const char *path_key, struct stet_answer **out,
                                 struct stet_error *err);

/** Put a refusal into the answer: as call->failure, with the diff as text. */
void st_render_refusal(struct st_call *call, struct st_str expected_hash,
                       const struct stet_answer *answer);

/**
 * Whether programs parse the text of answers (--structured). Then it has the
 * same form as the answers of the reference filesystem server.
 */
bool st_call_is_parsed(const struct st_call *call);

/** The buffer for sentences about a list: the text below it, or the remark if programs parse the text. */
struct st_buf *st_call_footer(struct st_call *call);

/** Show the changes of others that a change was merged with, as a diff in st_call_footer(). */
void st_render_merged(struct st_call *call, const struct stet_answer *answer);

/** A page of a list: from first up to, not including, end. */
struct st_part {
	size_t first;
	size_t end;
};

/** The page that the arguments offset and limit ask for, of at most max items. Returns 0 or STET_E_INVALID. */
[[nodiscard]] int st_call_part(const struct st_call *call, size_t total, size_t max,
                               struct st_part *part, struct stet_error *err);

/** Add the total and, if the page is not the whole list, which page it is and how to get the next. */
void st_render_part(struct st_call *call, const char *what, size_t total,
                    const struct st_part *part);

/** Append a size in bytes in human-readable form: "1.21 KB". */
void st_add_size(struct st_buf *out, uint64_t bytes);

/** Add {start, end} under a key. */
void st_render_span(struct st_call *call, yyjson_mut_val *object, const char *key, size_t start,
                    size_t end);

/** Add a preview of a change to the data. */
void st_render_preview(struct st_call *call, struct st_str before, struct st_str after);

/** Add the lines around a change to the data and to the text. */
void st_render_context(struct st_call *call, const struct st_context *context);

/** The lines of the merged text that differ from the current text; last is 0 if none do. */
[[nodiscard]] int st_merged_lines(struct st_str current, struct st_str merged, size_t *first,
                                  size_t *last, struct stet_error *err);

/** Say in the answer's remark who changes a file elsewhere, once per change. */
void st_call_tell(struct st_call *call, const char *path, const struct st_hash *now);

/** Whether a file name has an extension of Markdown. */
bool st_is_markdown(const char *path);

/**
 * Attach the instructions that newly apply to a file. A stateless client, whose
 * earlier answers stet does not know, gets a list of their paths and hashes.
 *
 * @path       Below the root, without links.
 * @in_answer  The hash of a file that the answer shows in full anyway; may be NULL.
 * @max        The most bytes to attach, if the answer has room for them. The
 *             rest comes with the next answers.
 *
 * Never fails: if memory runs out, a later answer attaches them; other errors
 * become a remark.
 */
void st_call_instruct(struct st_call *call, const char *path, const struct st_hash *in_answer,
                      size_t max);

/**
 * The same for a file that the call changed, up to half of the answer. If it is
 * an instruction file that the session has seen in full, it is left out.
 */
void st_call_instruct_change(struct st_call *call, const char *path);

/** Attach the rest of instructions that were too long for an earlier answer. */
void st_call_instruct_rest(struct st_call *call);

/**
 * Attach the root's instructions to a session's first answer, whatever the call
 * is about; if they do not fit, to the next.
 */
void st_call_instruct_roots(struct st_call *call);

/**
 * Append the instructions of all roots, for clients that show them to their
 * model from the start. They count as delivered for good.
 */
void st_client_instruct(struct stet_client *client, struct st_buf *out);

#endif
