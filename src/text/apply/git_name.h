/** The names of files in unified diffs: quoted or not, with prefixes and times. */
#ifndef STET_TEXT_APPLY_GIT_NAME_H
#define STET_TEXT_APPLY_GIT_NAME_H

#include "base/buf.h"

/** The two names of a file. Empty: not known; `old_null`, `new_null`: /dev/null. */
struct st_git_names {
	struct st_buf old;
	struct st_buf new;
	bool old_null;
	bool new_null;
};

void st_git_names_release(struct st_git_names *names);

/**
 * Take a name from the start of a text: a string in double quotes with C's
 * escapes, or everything up to a tab.
 *
 * @return False if the quotes do not end or an escape is unknown.
 */
bool st_git_name_read(struct st_str text, struct st_buf *out);

/** Take the names from the rest of a "diff --git" line. False if they cannot be told apart. */
bool st_git_names_read(struct st_str text, struct st_git_names *names);

/**
 * Drop the prefixes a/ and b/, and those of `diff -r old new`: the first parts
 * differ, and the rest of both names is the same. Other names stay as they are.
 */
void st_git_names_strip(struct st_git_names *names);

#endif
