/**
 * The type of a file, by its name alone: a short name for repostate.json ("go",
 * "md") and a label for the snapshot ("go source", "markdown").
 */
#ifndef STET_CORE_WORKSPACE_FILE_TYPE_H
#define STET_CORE_WORKSPACE_FILE_TYPE_H

#include "base/str.h"

struct st_file_type {
	const char *name;
	const char *label;
};

/** Look up the type of a file by its path. An unknown type is "file" with the label "file". */
struct st_file_type st_file_type(struct st_str path);

#endif
