/* read_file: read lines of a file, which then count as seen. */
#include "tools/files/reading.h"

static const struct st_param params[] = {
	ST_PARAM_PATH,
	ST_PARAM_LINE_OFFSET,
	ST_PARAM_LINE_LIMIT,
	ST_PARAM_BYTE_OFFSET,
	{.name = "lineNumbers",
     .aliases = "line_numbers",
     .type = ST_PARAM_BOOLEAN,
     .description = "Number the lines."},
	ST_PARAM_HEAD,
	ST_PARAM_TAIL,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_read_file = {
	.name = "read_file",
	.title = "Read a file",
	.description =
		"Read a text file, or some of its lines. Your edits are refused if the file has changed "
		"since. Long files come in pages. Instructions "
		"(AGENTS.md) that newly apply are added.",
	.params = params,
	.output_schema = ST_OUTPUT(ST_SCHEMA_PAGE
                               ",\"agents\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_CORE,
	.always_load = true,
	.run = st_read_run,
};
