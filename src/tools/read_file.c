/* read_file: lines of a file, which from then on count as seen. */
#include "tools/reading.h"

static const struct st_param params[] = {
	{.name = "path",
     .aliases = "filePath file_path",
     .required = true,
     .description = "The file, relative to the workspace."},
	{.name = "offset", .type = ST_PARAM_INTEGER, .description = "First line to read, from 1."},
	{.name = "limit",
     .type = ST_PARAM_INTEGER,
     .description = "How many lines to read; all by default."},
	{.name = "lineNumbers",
     .aliases = "line_numbers",
     .type = ST_PARAM_BOOLEAN,
     .description = "Put the number and a tab before each line. They are not part of the file."},
	ST_PARAM_HEAD,
	ST_PARAM_TAIL,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_read_file = {
	.name = "read_file",
	.title = "Read a file",
	.description =
		"Read a text file, or some lines of it. What you read is remembered: later edits are "
		"refused if somebody else "
		"changes the file meanwhile. Long files come in pages; the answer says where to continue. "
		"Instructions "
		"(AGENTS.md) that apply to the file are added when they are new to you.",
	.params = params,
	.output_schema =
		"{\"type\":\"object\",\"properties\":{" ST_SCHEMA_STATUS "," ST_SCHEMA_PAGE
		",\"agents\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
		"\"notices\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}," ST_SCHEMA_FAILURE
		"},\"required\":[\"status\"]}",
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.run = st_read_run,
};
