/**
 * Search many files for a pattern, by two threads, and count the lines that match.
 *
 * The caller adds the files while it walks, and searches too when it is ahead of
 * the other thread:
 *
 *     struct st_tree_grep search = {.pattern = pattern, .flags = flags};
 *     int code = st_tree_grep_begin(&search, ws, err);
 *     if (code == 0)
 *             walk(... st_tree_grep_add(&search, entry->dir, entry->path) ...);
 *     if (code == 0)
 *             code = st_tree_grep_end(&search, err);
 *     ...
 *     st_tree_grep_release(&search);
 *
 * A file is searched if its type is allowed (st_workspace_check_type()), it is not
 * larger than the workspace reads, and it is text: one that contains a NUL byte is
 * binary, as for every text tool, and one that begins with a byte order mark of
 * UTF-16 is not decoded. The search counts what became of the files, and keeps
 * those in which a line matches. So its memory does not grow with the tree.
 *
 * The search reads files without hashing them. A caller that shows lines reads
 * their files anew, through the session if it records them. Reading a large file
 * again would take longer than the search: with `hits` the search remembers where
 * its first lines are.
 */
#ifndef STET_CORE_WORKSPACE_TREE_GREP_H
#define STET_CORE_WORKSPACE_TREE_GREP_H

#include "core/workspace/grep_found.h"
#include "core/workspace/workspace.h"
#include "text/find/grep.h"

/** How long the search of one file may take, and all of it, in milliseconds. */
enum { ST_GREP_FILE_MS = 500, ST_GREP_TREE_MS = 10'000 };

enum st_grep_state {
	/** The search ended before this file. */
	ST_GREP_WAITING,
	ST_GREP_SEARCHED,
	/** A limit ended the search within the file; `why` says which one. */
	ST_GREP_STOPPED,
	ST_GREP_BINARY,
	ST_GREP_UTF16,
	ST_GREP_TOO_BIG,
	/** Its type is not allowed here. */
	ST_GREP_NOT_ALLOWED,
	/** It cannot be opened or read, or is gone. */
	ST_GREP_UNREADABLE,
	ST_GREP_STATES,
};

struct st_tree_grep_run;

struct st_tree_grep {
	const struct st_pattern *pattern;
	/** Of enum st_grep_flags. */
	unsigned flags;
	/** Find out only whether a file matches. */
	bool first_only;
	/** Instead of ST_GREP_FILE_MS and ST_GREP_TREE_MS, if not 0. */
	unsigned file_ms;
	unsigned tree_ms;
	/** Remember the first so many matching lines of a large file; 0 for none. */
	size_t hits;
	/** What was found; the caller may set `found.most`. */
	struct st_grep_found found;
	/** How many files came to each state. */
	size_t states[ST_GREP_STATES];
	/** Private; NULL when the search does not run. */
	struct st_tree_grep_run *run;
};

/** Begin a search. Returns 0 or STET_E_NOMEM. */
[[nodiscard]] int st_tree_grep_begin(struct st_tree_grep *search, struct stet_workspace *ws,
                                     struct stet_error *err);

/**
 * Add a file.
 *
 * @dir   The directory that holds it; may be closed after the call.
 * @path  Below the root, without links.
 * @return 0, or the code of a failure that ended the search, for st_tree_grep_end().
 */
int st_tree_grep_add(struct st_tree_grep *search, int dir, struct st_str path);

/**
 * Wait until the files are searched.
 *
 * @return 0, also where nothing matches or a limit was reached; STET_E_CANCELLED,
 *         STET_E_INVALID (PCRE2 failed), STET_E_LIMIT (out of descriptors), STET_E_NOMEM.
 */
[[nodiscard]] int st_tree_grep_end(struct st_tree_grep *search, struct stet_error *err);

/** End a search that still runs, and free what it found. */
void st_tree_grep_release(struct st_tree_grep *search);

/** Whether bytes are text that grep searches: ST_GREP_SEARCHED, ST_GREP_BINARY or ST_GREP_UTF16. */
enum st_grep_state st_grep_kind(struct st_str bytes);

#endif
