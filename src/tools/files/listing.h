/** A directory's entries in an answer: what list_directory and its sister share. */
#ifndef STET_TOOLS_FILES_LISTING_H
#define STET_TOOLS_FILES_LISTING_H

#include "fs/path/dirs.h"
#include "tools/render.h"

/** No answer lists more entries at once. */
enum { ST_LISTED_MAX = 1000 };

/** The word for a kind of file: "file", "directory", "link", "other". */
const char *st_kind_name(mode_t type);

/**
 * Answer with the entries of a directory, or the part of them that was asked
 * for.
 *
 * @sizes    Show sizes, and sums below.
 * @by_size  The largest first.
 */
[[nodiscard]] int st_list_run(struct st_call *call, bool sizes, bool by_size,
                              struct stet_error *err);

/** Members of the schema of such an answer. */
#define ST_SCHEMA_LISTING \
	"\"path\":{\"type\":\"string\"},\"entries\":{\"type\":\"array\",\"items\":{\"type\":" \
	"\"object\"}},\"total\":{\"type\":\"integer\"},\"nextOffset\":{\"type\":\"integer\"}"

#endif
