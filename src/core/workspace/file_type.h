/**
 * What kind of file a name stands for, by the name alone: short, as spec 2's
 * state file has it ("go", "md"), and in words, as the snapshot shows it ("go
 * source", "markdown").
 */
#ifndef STET_CORE_WORKSPACE_FILE_TYPE_H
#define STET_CORE_WORKSPACE_FILE_TYPE_H

#include "base/str.h"

struct st_file_type {
	const char *name;
	const char *label;
};

/** The type of a file by its path; "file" and "file" if it is none that we know. */
struct st_file_type st_file_type(struct st_str path);

#endif
