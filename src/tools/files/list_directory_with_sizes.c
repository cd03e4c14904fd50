/* list_directory_with_sizes: list the entries of a directory with their sizes. */
#include <strings.h>

#include "tools/files/listing.h"

static int run_list_directory_with_sizes(struct st_call *call, struct stet_error *err) {
	bool by_size = strcasecmp(st_arg_str(call, "sortBy").ptr, "size") == 0;
	return st_list_run(call, true, by_size, err);
}

static const struct st_param params[] = {
	ST_PARAM_DIRECTORY,
	{.name = "sortBy",
     .aliases = "sort_by",
     .choices = "name|size",
     .description = "By name (default), or the largest first."},
	ST_PARAM_OFFSET,
	ST_PARAM_LIMIT,
	ST_PARAM_SESSION,
	ST_PARAMS_END,
};

const struct st_tool st_list_directory_with_sizes = {
	.name = "list_directory_with_sizes",
	.title = "List a directory with sizes",
	.description = "Like list_directory, with the size of each file and the totals.",
	.params = params,
	.output_schema = ST_OUTPUT(ST_SCHEMA_LISTING),
	.hints = ST_HINT_READ_ONLY | ST_HINT_IDEMPOTENT,
	.group = ST_GROUP_FILES,
	.run = run_list_directory_with_sizes,
};
