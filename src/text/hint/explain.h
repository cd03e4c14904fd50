/**
 * Sentences about a search text that is not there: what comes nearest, in
 * which line, what differs, and what to do. They are for a model that will try
 * again: the text it should have given is quoted as JSON would have it, so
 * that it can be seen and copied.
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
 * @nearest  Receives the places the message speaks of.
 * @prefix   What comes first, such as "Edit 2 of 3: ".
 * @return   STET_E_NO_MATCH, also if there was not enough memory to look.
 */
int st_explain_no_match(struct st_nearest *nearest, struct st_str text, struct st_str old_text,
                        struct st_str new_text, const char *prefix, struct stet_error *err);

/** Append what a place differs in: "upper and lower case and indentation". */
void st_explain_kinds(struct st_buf *buf, unsigned kinds);

#endif
