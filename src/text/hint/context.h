/**
 * Text for an answer: previews, and the lines around a change. It is always
 * bounded and valid UTF-8 (with U+FFFD for invalid bytes), and "..." shows where
 * it was cut, between two characters.
 *
 *     struct st_touched touched = st_touched_of(text, span);
 *     st_auto(st_context) context = {0};
 *
 *     if (st_context_of_span(&context, text, span, touched, err) < 0)
 *             return err->code;
 *     for (size_t i = 0; i < context.before_count; i++)
 *             show(context.before[i].number, st_buf_cstr(&context.before[i].text));
 */
#ifndef STET_TEXT_HINT_CONTEXT_H
#define STET_TEXT_HINT_CONTEXT_H

#include "text/lines/lines.h"

/** How many lines to show before a change, and after it. */
#define ST_CONTEXT_LINES 3
/** How many characters of a line or a preview to show. */
#define ST_PREVIEW_CHARS 200

/** The lines that a changed span touches. */
struct st_touched {
	/** First and last line, from 1. After a deletion, the line that is there now. */
	size_t first;
	size_t last;
	/** How many lines the text has. */
	size_t total;
};

/**
 * Number the lines that a span touches, in one pass over the text.
 *
 * @span  The changed bytes; empty after a deletion.
 */
struct st_touched st_touched_of(struct st_str text, struct st_span span);

/**
 * As st_touched_of(), for a caller that has counted the lines of a prefix already.
 *
 * @from  The length of the prefix, at most the span's start.
 * @ends  st_line_ends() of the prefix.
 */
struct st_touched st_touched_from(struct st_str text, struct st_span span, size_t from,
                                  size_t ends);

struct st_context_line {
	size_t number;
	/** Without ending and byte order mark. */
	struct st_buf text;
};

/** Lines around a change, each list in the order of the text. */
struct st_context {
	struct st_context_line before[ST_CONTEXT_LINES];
	size_t before_count;
	struct st_context_line after[ST_CONTEXT_LINES];
	size_t after_count;
};

void st_context_release(struct st_context *context);

/**
 * Find the lines around a changed span. The touched lines lie between the two
 * lists; after a deletion of whole lines, none do.
 *
 * @context  Zeroed, or released before.
 * @touched  The result of st_touched_of() for the span.
 * @return   0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_context_of_span(struct st_context *context, struct st_str text,
                                     struct st_span span, struct st_touched touched,
                                     struct stet_error *err);

/**
 * Find the lines around lines first to last.
 *
 * @first  From 1 to the number of lines + 1.
 * @last   first - 1 for no lines between the two lists.
 * @return 0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_context_of_lines(struct st_context *context, struct st_str text, size_t first,
                                      size_t last, struct stet_error *err);

/** Append the first ST_PREVIEW_CHARS characters of a text, with "..." if that is not all. */
void st_preview_add(struct st_buf *buf, struct st_str text);

#endif
