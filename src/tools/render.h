/** What several tools put into their answers. */
#ifndef STET_TOOLS_RENDER_H
#define STET_TOOLS_RENDER_H

#include "core/agents_list.h"
#include "text/context.h"
#include "tools/tool.h"

/** Parameters that every tool which writes has. */
#define ST_PARAM_EXPECTED_HASH \
	{ \
		.name = "expectedHash", .aliases = "expected_hash", \
		.description = \
			"fileHash of the version you saw, 16 to 64 hex digits. Refused if the file is " \
			"another one." \
	}
#define ST_PARAM_ON_STALE \
	{ \
		.name = "onStale", .aliases = "on_stale", .choices = "refuse|merge", \
		.description = \
			"What to do if the file changed since you read it: refuse (default) and show the " \
			"change, or merge with it if the two do not touch." \
	}
#define ST_PARAM_SESSION \
	{ \
		.name = "session", \
		.description = \
			"Name of the session this call belongs to; leave it out for the connection's own." \
	}
#define ST_PARAMS_END \
	{ .name = NULL }

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
	"\"reason\":{\"enum\":[\"modified\",\"deleted\",\"unseen\",\"hash\"]}," \
	"\"currentHash\":{\"type\":\"string\"},\"expectedHash\":{\"type\":\"string\"}," \
	"\"diff\":{\"type\":\"string\"},\"diffTruncated\":{\"type\":\"boolean\"}," \
	"\"stillMatches\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}," \
	"\"writer\":{\"type\":\"string\"}"
#define ST_SCHEMA_STATUS "\"status\":{\"enum\":[\"success\",\"conflict\",\"error\"]}"

/**
 * The path argument of a call, which from now on is about the session that the
 * path leads to.
 *
 * @return The path, or NULL with err filled if it cannot be one.
 */
const char *st_call_path(struct st_call *call, const char *name, struct stet_error *err);

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
 * A success adds path (under path_key), fileHash, commit, noop, merged.
 *
 * @out     Receives core's answer, to be freed by the caller, on success.
 */
[[nodiscard]] int st_call_change(struct st_call *call, struct st_change *change,
                                 const char *path_key, struct stet_answer **out,
                                 struct stet_error *err);

/** Add {start, end} under a key. */
void st_render_span(struct st_call *call, yyjson_mut_val *object, const char *key, size_t start,
                    size_t end);

/** Add a preview and the lines around, and show the latter in the text. */
void st_render_preview(struct st_call *call, struct st_str before, struct st_str after);
void st_render_context(struct st_call *call, const struct st_context *context);

/** Add instructions: a block each, their paths as `agents`, what was left out as a remark. */
void st_render_agents(struct st_call *call, const struct stet_agents *agents);

/** Lines of the merged text that a change touched; last is 0 if others had made the same change. */
[[nodiscard]] int st_merged_lines(struct st_str current, struct st_str merged, size_t *first,
                                  size_t *last, struct stet_error *err);

/** Whether a file name is that of a Markdown text. */
bool st_is_markdown(const char *path);

#endif
