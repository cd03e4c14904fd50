/**
 * The files in which a search found something, sorted by their paths, so that
 * pages of an answer follow each other whichever thread was faster.
 *
 *     struct st_grep_found found = {.most = 100};
 *     code = st_grep_found_add(&found, &file, err);
 *     ...
 *     st_grep_found_sort(&found);
 *     ...
 *     st_grep_found_release(&found);
 *
 * A caller that shows the first 100 files needs to know of the others only how
 * many there are: with `most` the list does not grow with the tree.
 */
#ifndef STET_CORE_WORKSPACE_GREP_FOUND_H
#define STET_CORE_WORKSPACE_GREP_FOUND_H

#include "base/buf.h"
#include "fs/file/file.h"

/** A line that matches: its number, where it begins in the file, and where its first match begins in it. */
struct st_grep_hit {
	size_t line;
	size_t start;
	size_t column;
};

/** The first matching lines of one version of a file. */
struct st_grep_hits {
	struct st_stamp stamp;
	struct st_grep_hit *list;
	size_t count;
};

/** A file with lines that match, or in which a limit ended the search. */
struct st_grep_file {
	/** Below the root, without links; borrowed. */
	const char *path;
	/** How many lines match; with `first_only` at most 1. */
	size_t lines;
	/** Why the search ended within the file; NULL if it did not. */
	const char *why;
	/** NULL if they were not remembered. */
	struct st_grep_hits *hits;
};

struct st_grep_found_item;

struct st_grep_found {
	/** Keep the first so many files, and those in which a limit ended the search; 0 for all. */
	size_t most;
	/** How many files are kept, for st_grep_found_at(). */
	size_t count;
	/** How many files match, and how many lines in all of them. */
	size_t matched;
	size_t lines;
	/** There were too many to keep, and `matched` and `lines` lack the others. */
	bool cut;
	/** Private: the files, and their paths one after the other. */
	struct st_grep_found_item *items;
	struct st_buf paths;
	/** How many files no limit ended; the path of the last of those, once there are enough. */
	size_t complete;
	size_t last;
	bool has_last;
};

/**
 * Add a file.
 *
 * @file  Its path is copied; its hits are moved, also after a failure.
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_grep_found_add(struct st_grep_found *found, struct st_grep_file *file,
                                    struct stet_error *err);

/** One of the files; its path and hits are valid until the next one is added. */
struct st_grep_file st_grep_found_at(const struct st_grep_found *found, size_t i);

/** Sort the files by their paths. Several paths of a search may lead to a file: it is kept and counted once. */
void st_grep_found_sort(struct st_grep_found *found);

void st_grep_found_release(struct st_grep_found *found);

/** Free hits; NULL is allowed. */
void st_grep_hits_free(struct st_grep_hits *hits);

#endif
