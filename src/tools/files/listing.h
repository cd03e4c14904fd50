/** List a directory: the common part of list_directory and list_directory_with_sizes. */
#ifndef STET_TOOLS_FILES_LISTING_H
#define STET_TOOLS_FILES_LISTING_H

#include "fs/path/dirs.h"
#include "tools/render.h"

/** The most entries in one answer. */
enum { ST_LISTED_MAX = 1000 };

/** The name of a file type: "file", "directory", "link", "other". */
const char *st_kind_name(mode_t type);

/**
 * List the entries of the call's directory, or the page that its arguments ask
 * for.
 *
 * @sizes    Show sizes and totals.
 * @by_size  Sort by size, largest first.
 */
[[nodiscard]] int st_list_run(struct st_call *call, bool sizes, bool by_size,
                              struct stet_error *err);

/** Schema members of the answer. */
#define ST_SCHEMA_LISTING \
	"\"path\":{\"type\":\"string\"},\"entries\":{\"type\":\"array\",\"items\":{\"type\":" \
	"\"object\"}},\"total\":{\"type\":\"integer\"},\"nextOffset\":{\"type\":\"integer\"}"

#endif
