/**
 * A search text that is in a text but for the indentation of its lines.
 *
 * Models often give a stretch of code with all its lines indented by the same
 * amount more or less than the file has them. Where that is the only
 * difference, and there is but one such place, the place is meant, and the new
 * text has to be shifted alike.
 *
 * Every line that is not blank must differ by the same run of one character,
 * blanks or tabs, in front of indentation of the same character. Nothing is
 * accepted if the new text is in the text already: the edit was made before.
 */
#ifndef STET_TEXT_PATCH_SHIFTED_H
#define STET_TEXT_PATCH_SHIFTED_H

#include "text/lines/lines.h"

struct st_shift {
	/** ' ' or '\t', and how many of them a line of the text has more, or less. */
	char blank;
	size_t count;
	bool less;
};

struct st_shifted {
	struct st_shift shift;
	/** What the search text stands for, from the start of a line. */
	struct st_span span;
	/** The new text as it has to be there. */
	struct st_buf new_text;
};

void st_shifted_release(struct st_shifted *shifted);

/**
 * Find the place. The work is bounded: in a text of more equal lines than can
 * be compared there is none.
 *
 * @old_text  A search text that st_find_next() did not find.
 * @shifted   Zero it first; release it afterwards.
 * @return    1 if there is exactly one, 0 if not, STET_E_NOMEM or STET_E_CANCELLED.
 */
[[nodiscard]] int st_shifted_find(struct st_shifted *shifted, struct st_str text,
                                  struct st_str old_text, struct st_str new_text,
                                  struct stet_error *err);

/** Say so: "oldText matched with 4 more spaces before each line; newText was indented alike." */
void st_shift_add(struct st_buf *out, const struct st_shift *shift);

#endif
