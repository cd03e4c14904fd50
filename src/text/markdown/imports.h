/**
 * Imports in instruction files: `@path`, as in "See @docs/style.md".
 *
 * What looks like one is a candidate and no more: whether it names a file is
 * for the caller to find out, and if it does not it is plain text. Code is not
 * looked at: fenced and indented blocks, code spans; nor are HTML comments.
 * In doubt, text is taken for code: an import missed is seen, since its text
 * stays; one made up would bring a file that nobody asked for.
 *
 *     struct st_imports imports = ST_IMPORTS(text);
 *     struct st_span span;
 *     while (st_imports_next(&imports, &span))
 *             try(st_import_path(text, span));
 */
#ifndef STET_TEXT_MARKDOWN_IMPORTS_H
#define STET_TEXT_MARKDOWN_IMPORTS_H

#include "text/lines/lines.h"

/** A cursor over a text, which it borrows. */
struct st_imports {
	struct st_str text;
	/** The next byte to look at, and where its line ends. */
	size_t at;
	size_t line_end;
	/** The fence that is open: its byte and length; 0 if none is. */
	char fence;
	size_t fence_len;
	/** For indented code: what the lines before were. */
	bool in_list;
	bool after_blank;
	bool indented;
};

#define ST_IMPORTS(bytes) \
	{ .text = (bytes), .after_blank = true }

/**
 * The next candidate.
 *
 * @span   Receives where it is, its `@` included.
 * @return false at the end.
 */
bool st_imports_next(struct st_imports *imports, struct st_span *span);

/** The path of a candidate. */
static inline struct st_str st_import_path(struct st_str text, struct st_span span) {
	return st_str_slice(text, span.start + 1, span.end);
}

#endif
