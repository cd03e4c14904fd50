/**
 * Lines of a text that is kept as bytes.
 *
 * A line ends at LF, CRLF or a lone CR, each file mixing them as it likes;
 * the ending belongs to the line, so the lines of a text joined together are
 * the text again. An empty text has no lines; a text without a final newline
 * has a last line without ending; nothing follows a final newline. Numbers
 * count from 1, as people do.
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

/** A stretch of bytes in a text: from start up to, not including, end. */
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
/** As st_lines_init(), but a CR is an ordinary byte and only LF ends a line, as for diff and git. */
[[nodiscard]] int st_lines_init_lf(struct st_lines *lines, struct st_str text,
                                   struct stet_error *err);
/**
 * As st_lines_init_lf(), for a text that has its first and last lines in common
 * with one that is indexed by LF already: only what lies between is looked at.
 *
 * @known  The other index.
 * @head   How many lines both begin with.
 * @tail   How many both end with, not counting those again.
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
/** The line that holds a byte; the last line for the end of the text; 1 if there is no line. */
size_t st_lines_number(const struct st_lines *lines, size_t offset);

/** The ending of one whole line. */
enum st_eol st_eol_of(struct st_str line);
/** The bytes of an ending: "", "\n", "\r\n" or "\r". */
struct st_str st_eol_bytes(enum st_eol eol);

/** Count the line endings of a text. */
struct st_eols st_eols_count(struct st_str text);

/**
 * The ending that inserted lines should take: the one most lines have (LF
 * wins a tie, and in a text without any).
 */
enum st_eol st_eol_of_text(struct st_str text);

/** Append a text with every LF and CRLF, but no CR alone, as one kind of ending. */
void st_eol_convert(struct st_buf *buf, struct st_str text, enum st_eol eol);

/**
 * How many line endings lie in the bytes before an offset, without an index:
 * the byte at offset is in line st_line_ends(text, offset) + 1. A CRLF that
 * the offset splits is not counted.
 */
size_t st_line_ends(struct st_str text, size_t offset);

/** How many LFs a text has. */
size_t st_lf_count(struct st_str text);

/** Just behind the next LF from an offset on, or the text's length. */
size_t st_lf_next(struct st_str text, size_t at);

/** How many lines a text has. */
size_t st_line_count(struct st_str text);

/** Where line n begins, from 1, without an index; the text's length if it has fewer. */
size_t st_line_offset(struct st_str text, size_t n);

/**
 * Where the line that holds an offset starts: just behind the last line
 * ending before it. An offset inside a CRLF is in the line that CRLF ends.
 */
size_t st_line_start(struct st_str text, size_t offset);
/** Where the line that holds an offset ends: just behind its ending, or at the end of the text. */
size_t st_line_end(struct st_str text, size_t offset);

/** The length of a UTF-8 byte order mark at the start: 3 or 0. */
size_t st_bom_len(struct st_str text);

#endif
