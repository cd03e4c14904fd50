/**
 * Find imports in instruction files: `@path`, as in "See @docs/style.md".
 *
 * Each is only a candidate: the caller finds out whether it names a file, and if
 * not, it is plain text. The scanner skips code (fenced and indented blocks, code
 * spans) and HTML comments. In doubt it treats text as code: a missed import stays
 * visible as text, but a wrong one would add a file that was not asked for.
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
	/** The next byte, and where its line ends. */
	size_t at;
	size_t line_end;
	/** The open fence: its byte and length; 0 if none is open. */
	char fence;
	size_t fence_len;
	/** State of the lines before, to recognise indented code. */
	bool in_list;
	bool after_blank;
	bool indented;
};

#define ST_IMPORTS(bytes) \
	{ .text = (bytes), .after_blank = true }

/**
 * Find the next candidate.
 *
 * @span   Receives its place, with the `@`.
 * @return False at the end.
 */
bool st_imports_next(struct st_imports *imports, struct st_span *span);

/** The path of a candidate. */
static inline struct st_str st_import_path(struct st_str text, struct st_span span) {
	return st_str_slice(text, span.start + 1, span.end);
}

#endif
