/** What several tools put into their answers. */
#ifndef STET_TOOLS_RENDER_H
#define STET_TOOLS_RENDER_H

#include "core/instructions/list.h"
#include "text/hint/context.h"
#include "tools/route.h"
#include "tools/tool.h"

/** Parameters that every tool which writes has. */
#define ST_PARAM_EXPECTED_HASH \
	{ \
		.name = "expectedHash", .aliases = "expected_hash", \
		.description = "fileHash of the version you saw." \
	}
#define ST_PARAM_ON_STALE \
	{ \
		.name = "onStale", .aliases = "on_stale", .choices = "refuse|merge", \
		.description = "If the file changed since your read." \
	}
#define ST_PARAM_SESSION \
	{ .name = "session", .description = "Another session's name." }
#define ST_PARAMS_END \
	{ .name = NULL }

/** The path of a file, or of a directory. */
#define ST_PARAM_PATH \
	{ \
		.name = "path", .aliases = "filePath file_path", .required = true, \
		.description = "The file's path." \
	}
#define ST_PARAM_DIRECTORY \
	{ \
		.name = "path", .aliases = "directory dir", \
		.description = "The directory; default: the workspace." \
	}
/** Which part of a list to show; see st_call_part(). */
#define ST_PARAM_OFFSET \
	{ .name = "offset", .type = ST_PARAM_INTEGER, .description = "How many to skip." }
#define ST_PARAM_LIMIT \
	{ .name = "limit", .type = ST_PARAM_INTEGER, .description = "How many to show." }

/** An output schema of these members; those that any answer may have need not be listed. */
#define ST_OUTPUT(members) \
	"{\"type\":\"object\",\"properties\":{\"status\":{\"type\":\"string\"}," members \
	"},\"required\":[\"status\"]}"

/** Members of the schema of every answer that changed a file. */
#define ST_SCHEMA_COMMIT \
	"\"commit\":{\"enum\":[\"exchanged\",\"created\",\"verified\",\"in-place\",\"none\"]}," \
	"\"noop\":{\"type\":\"boolean\"},\"merged\":{\"type\":\"boolean\"}," \
	"\"foreignDiff\":{\"type\":\"string\"},\"note\":{\"type\":\"string\"}," \
	"\"notices\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
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
/** Members that a failure has instead; output schemas allow both. */
#define ST_SCHEMA_FAILURE \
	"\"error\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"}," \
	"\"reason\":{\"enum\":[\"modified\",\"deleted\",\"unseen\",\"hash\",\"drops\"]}," \
	"\"currentHash\":{\"type\":\"string\"},\"expectedHash\":{\"type\":\"string\"}," \
	"\"diff\":{\"type\":\"string\"},\"diffTruncated\":{\"type\":\"boolean\"}," \
	"\"stillMatches\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}," \
	"\"writer\":{\"type\":\"string\"}"
#define ST_SCHEMA_STATUS "\"status\":{\"enum\":[\"success\",\"conflict\",\"error\"]}"

/**
 * Add a path below the root of the call's session, in a spelling that leads
 * back to the same file: absolute if it is not the first workspace's.
 */
void st_render_path(struct st_call *call, yyjson_mut_val *object, const char *key,
                    const char *path);

/**
 * Apply a change with the call's expectedHash and onStale.
 *
 * A refusal is put into the answer: as call->failure, with the diff as text.
 * A success adds path (under path_key), fileHash, commit, noop, merged. Either
 * brings the instructions that newly apply to the file.
 *
 * @out     Receives core's answer, to be freed by the caller, on success.
 */
[[nodiscard]] int st_call_change(struct st_call *call, struct st_change *change,
                                 const char *path_key, struct stet_answer **out,
                                 struct stet_error *err);

/**
 * Whether programs read the text (--structured): then it has the reference
 * filesystem server's shape where they parse it.
 */
bool st_call_is_parsed(const struct st_call *call);

/** Where sentences about a list go: below it, or, if programs parse it, into the remark. */
struct st_buf *st_call_relative_path(struct st_call *call);

/** Say what was merged into a change, as st_call_relative_path(): the foreign changes as a diff. */
void st_render_merged(struct st_call *call, const struct stet_answer *answer);

/** A part of a list: from first up to, not including, end. */
struct st_part {
	size_t first;
	size_t end;
};

/** The part that the arguments offset and limit (of at most max) ask for. Returns 0 or STET_E_INVALID. */
[[nodiscard]] int st_call_part(const struct st_call *call, size_t total, size_t max,
                               struct st_part *part, struct stet_error *err);

/** Say in data and text that a list was cut: which part was shown, and how to go on. */
void st_render_part(struct st_call *call, const char *what, size_t total,
                    const struct st_part *part);

/** Append a size in bytes as people read it: "1.21 KB". */
void st_add_size(struct st_buf *out, uint64_t bytes);

/** Add {start, end} under a key. */
void st_render_span(struct st_call *call, yyjson_mut_val *object, const char *key, size_t start,
                    size_t end);

/** Add a preview and the lines around, and show the latter in the text. */
void st_render_preview(struct st_call *call, struct st_str before, struct st_str after);
void st_render_context(struct st_call *call, const struct st_context *context);

/** Add instructions: a block each, their paths as `agents`, what was left out as a remark. */
void st_render_agents(struct st_call *call, const struct stet_instructions *agents);

/** Lines of the merged text that a change touched; last is 0 if others had made the same change. */
[[nodiscard]] int st_merged_lines(struct st_str current, struct st_str merged, size_t *first,
                                  size_t *last, struct stet_error *err);

/** Whether a file name is that of a Markdown text. */
bool st_is_markdown(const char *path);

#endif
