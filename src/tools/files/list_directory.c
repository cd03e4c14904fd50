/* list_directory: list the entries of a directory. */
#include "tools/files/listing.h"

static int run_list_directory(struct st_call *call, struct stet_error *err) {
	return st_list_run(call, false, false, err);
}

static const struct st_param params[] = {
	ST_PARAM_DIRECTORY, ST_PARAM_OFFSET, ST_PARAM_LIMIT, ST_PARAM_SESSION, ST_PARAMS_END,
};

const struct st_tool st_list_directory = {
	.name = "list_directory",
	.title = "List a directory",
	.description = "List a directory by name: [FILE], [DIR], [LINK]. Ignored files are shown too.",
	.params = params,
	.output_schema = ST_OUTPUT(ST_SCHEMA_LISTING),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.listed = ST_LISTED_CORE,
	.run = run_list_directory,
};
