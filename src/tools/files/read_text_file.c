/* read_text_file: like read_file, with the arguments of the reference server first. */
#include "tools/files/reading.h"

static const struct st_param params[] = {
	ST_PARAM_PATH,       ST_PARAM_HEAD,        ST_PARAM_TAIL,    ST_PARAM_LINE_OFFSET,
	ST_PARAM_LINE_LIMIT, ST_PARAM_BYTE_OFFSET, ST_PARAM_SESSION, ST_PARAMS_END,
};

const struct st_tool st_read_text_file = {
	.name = "read_text_file",
	.title = "Read a text file",
	.description = "Like read_file: a text file, or its first, last or other lines.",
	.params = params,
	.output_schema = ST_OUTPUT(ST_SCHEMA_PAGE),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.run = st_read_run,
};
