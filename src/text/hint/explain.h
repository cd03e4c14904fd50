/**
 * Explain why a search text was not found, to a model that will try again.
 *
 * The folder text/hint holds what answers need beyond the result: the nearest
 * text, what differs, and the lines around a change.
 *
 * The message says which text of the file comes nearest, in which line, how it
 * differs and what to do. It quotes that text as a JSON string, so that the model
 * can see every character and copy it.
 *
 *     struct st_nearest nearest;
 *     return st_explain_no_match(&nearest, text, old_text, new_text, "", err);
 */
#ifndef STET_TEXT_HINT_EXPLAIN_H
#define STET_TEXT_HINT_EXPLAIN_H

#include "text/hint/nearest.h"

/**
 * Fail with STET_E_NO_MATCH.
 *
 * @nearest  Receives the places that the message names.
 * @prefix   The start of the message, such as "Edit 2 of 3: ".
 * @return   STET_E_NO_MATCH, even if the search for the nearest text ran out of memory.
 */
int st_explain_no_match(struct st_nearest *nearest, struct st_str text, struct st_str old_text,
                        struct st_str new_text, const char *prefix, struct stet_error *err);

/** Whether a search text has U+FFFD where answers show it for bytes of the file that are not UTF-8. */
bool st_names_replaced(struct st_str text, struct st_str old_text);

/** Append the kinds of difference as prose: "upper and lower case and indentation". */
void st_explain_kinds(struct st_buf *buf, unsigned kinds);

#endif
