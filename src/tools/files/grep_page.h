/** The lines of a grep on one page of an answer: rg's form, cut to the room there is. */
#ifndef STET_TOOLS_FILES_GREP_PAGE_H
#define STET_TOOLS_FILES_GREP_PAGE_H

#include "core/workspace/tree_grep.h"
#include "tools/render.h"

enum { ST_GREP_CONTEXT_MAX = 20 };

/** A page under way. */
struct st_grep_page {
	struct st_call *call;
	struct st_grep *grep;
	/** Lines to show around each match. */
	size_t context;
	/** How many bytes of text the page may have, and how many of instructions. */
	size_t room;
	size_t instructions_room;
	/** Whether the session records what is sent. */
	bool is_recorded;
	/** The list of matches in the data; NULL for none. */
	yyjson_mut_val *list;
	/** Whether anything was sent yet, and whether the page is full. */
	bool begun;
	bool full;
	/** Some line was cut, or has U+FFFD in place of invalid UTF-8. */
	bool cut;
	bool lossy;
	/** How many files were changed or gone since they were searched. */
	size_t changed;
};

/**
 * Add matching lines of a file, and the instructions that newly apply to it. The
 * session has seen the lines that are sent whole.
 *
 * @file   As st_tree_grep() left it.
 * @first  The first of the file's matching lines to show, from 0.
 * @count  How many to show.
 * @sent   Receives how many were sent.
 * @return 0, STET_E_NOMEM, STET_E_CANCELLED.
 */
[[nodiscard]] int st_grep_page_add(struct st_grep_page *page, const struct st_grep_file *file,
                                   size_t first, size_t count, size_t *sent,
                                   struct stet_error *err);

/** Append a path of the call's workspace as the next call can use it. */
void st_grep_add_path(struct st_call *call, struct st_buf *out, const char *path);

#endif
