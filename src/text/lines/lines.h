/**
 * Lines: an index of a text's lines, line endings, and offsets to line numbers.
 *
 * The folder text/lines holds everything that needs no more than lines: the
 * index, ranges of line numbers, indentation, and splicing new text in.
 *
 * A line ends at LF, CRLF or a lone CR, and one text may mix them. The ending
 * belongs to the line, so joining all lines gives the text again. An empty text
 * has no lines, a text without a final newline has a last line without an
 * ending, and no empty line follows a final newline. Line numbers start at 1.
 *
 *     st_auto(st_lines) lines = {0};
 *     if (st_lines_init(&lines, text, err) < 0)
 *             return err->code;
 *     for (size_t n = 1; n <= lines.count; n++)
 *             show(n, st_lines_body(&lines, n));
 */
#ifndef STET_TEXT_LINES_LINES_H
#define STET_TEXT_LINES_LINES_H

#include "base/buf.h"
#include "base/error.h"

/** How a line ends. */
enum st_eol {
	ST_EOL_NONE,
	ST_EOL_LF,
	ST_EOL_CRLF,
	ST_EOL_CR,
};

/** The bytes of a text from start up to, but not including, end. */
struct st_span {
	size_t start;
	size_t end;
};

/** How many line endings of each kind there are. */
struct st_eols {
	size_t lf;
	size_t crlf;
	size_t cr;
};

/** An index of line starts over a text that it borrows. */
struct st_lines {
	struct st_str text;
	/** count + 1 offsets: where each line starts, and where the text ends. */
	size_t *starts;
	size_t count;
};

/** Index a text. Returns 0, STET_E_NOMEM or STET_E_CANCELLED. */
[[nodiscard]] int st_lines_init(struct st_lines *lines, struct st_str text, struct stet_error *err);
/** As st_lines_init(), but only LF ends a line, as in diff and git; a CR is an ordinary byte. */
[[nodiscard]] int st_lines_init_lf(struct st_lines *lines, struct st_str text,
                                   struct stet_error *err);
/**
 * As st_lines_init_lf(), for a text that shares its first and last lines with a
 * text indexed before: this scans only the lines between.
 *
 * @known  The index of the other text, made by st_lines_init_lf().
 * @head   How many lines both texts begin with.
 * @tail   How many lines both texts end with; they do not overlap the head.
 */
[[nodiscard]] int st_lines_init_near(struct st_lines *lines, struct st_str text,
                                     const struct st_lines *known, size_t head, size_t tail,
                                     struct stet_error *err);
void st_lines_release(struct st_lines *lines);

/** Line number n (from 1) with its ending. */
struct st_str st_lines_whole(const struct st_lines *lines, size_t n);
/** Line number n without its ending. */
struct st_str st_lines_body(const struct st_lines *lines, size_t n);
/** Lines first to last, inclusive, with their endings; empty if last < first. */
struct st_str st_lines_range(const struct st_lines *lines, size_t first, size_t last);
/** The number of the line that holds a byte. The last line for the end of the text, 1 if it is empty. */
size_t st_lines_number(const struct st_lines *lines, size_t offset);

/** The ending of one whole line. */
enum st_eol st_eol_of(struct st_str line);
/** The bytes of an ending: "", "\n", "\r\n" or "\r". */
struct st_str st_eol_bytes(enum st_eol eol);

/** Count the line endings of a text. */
struct st_eols st_eols_count(struct st_str text);

/**
 * The ending that inserted lines should get: the most frequent one of the text.
 * LF wins a tie, and wins in a text of one line.
 */
enum st_eol st_eol_of_text(struct st_str text);

/** Append a text with every LF and CRLF converted to one ending. A lone CR stays. */
void st_eol_convert(struct st_buf *buf, struct st_str text, enum st_eol eol);

/**
 * Count the line endings before an offset, without an index: the byte at offset
 * is in line st_line_ends(text, offset) + 1. A CRLF that the offset splits does
 * not count.
 */
size_t st_line_ends(struct st_str text, size_t offset);

/** How many LFs a text has. */
size_t st_lf_count(struct st_str text);

/** The offset just after the next LF at or after an offset; the text's length if there is none. */
size_t st_lf_next(struct st_str text, size_t at);

/** How many lines a text has. */
size_t st_line_count(struct st_str text);

/** Where line n (from 1) begins, without an index; the text's length if it has fewer lines. */
size_t st_line_offset(struct st_str text, size_t n);

/**
 * Where the line that holds an offset starts: just after the line ending before
 * it. An offset inside a CRLF belongs to the line that the CRLF ends.
 */
size_t st_line_start(struct st_str text, size_t offset);
/** Where the line that holds an offset ends: just after its ending, or at the end of the text. */
size_t st_line_end(struct st_str text, size_t offset);

/** The line that starts at an offset, without its ending. */
struct st_str st_line_body(struct st_str text, size_t at);

/** The length of a UTF-8 byte order mark at the start: 3 or 0. */
size_t st_bom_len(struct st_str text);

#endif
