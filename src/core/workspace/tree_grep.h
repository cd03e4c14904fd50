/**
 * Search many files for a pattern, by two threads, and count the lines that match.
 *
 * A file is searched if its type is allowed (st_workspace_check_type()), it is not
 * larger than the workspace reads, and it is text: one that contains a NUL byte is
 * binary, as for every text tool, and one that begins with a byte order mark of
 * UTF-16 is not decoded. Each file says what became of it.
 *
 * The search reads files without hashing them. A caller that shows lines reads
 * their files anew, through the session.
 */
#ifndef STET_CORE_WORKSPACE_TREE_GREP_H
#define STET_CORE_WORKSPACE_TREE_GREP_H

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
};

struct st_grep_file {
	/** Below the root, without links. The caller's. */
	const char *path;
	enum st_grep_state state;
	/** How many lines match; with `first_only` at most 1. */
	size_t lines;
	const char *why;
};

struct st_tree_grep {
	const struct st_pattern *pattern;
	/** Of enum st_grep_flags. */
	unsigned flags;
	/** Whether a file matches is all that is asked. */
	bool first_only;
	/** Instead of ST_GREP_FILE_MS and ST_GREP_TREE_MS, if not 0. */
	unsigned file_ms;
	unsigned tree_ms;
	/** The files, and what became of them. */
	struct st_grep_file *files;
	size_t count;
	/** The time was up before all files were searched. */
	bool timed_out;
};

/**
 * Search the files.
 *
 * @return 0, also where nothing matches or a limit was reached; STET_E_CANCELLED,
 *         STET_E_INVALID (PCRE2 failed), STET_E_NOMEM.
 */
[[nodiscard]] int st_workspace_grep(struct stet_workspace *ws, struct st_tree_grep *how,
                                    struct stet_error *err);

/** Whether bytes are text that grep searches: ST_GREP_SEARCHED, ST_GREP_BINARY or ST_GREP_UTF16. */
enum st_grep_state st_grep_kind(struct st_str bytes);

#endif
