/**
 * Find a search text that differs from the text only by its indentation.
 *
 * Models often give code with all lines indented by the same amount more or less
 * than in the file. If that is the only difference, and only one place matches,
 * that place is meant, and the new text must be shifted alike.
 *
 * Every line that is not blank must differ by the same run of one character,
 * spaces or tabs, in front of indentation of the same character. If the new text
 * occurs already, no place matches: the edit was made before.
 */
#ifndef STET_TEXT_PATCH_SHIFTED_H
#define STET_TEXT_PATCH_SHIFTED_H

#include "text/lines/lines.h"

struct st_shift {
	/** ' ' or '\t', and how many more of them a line of the text has; fewer if `less`. */
	char blank;
	size_t count;
	bool less;
};

struct st_shifted {
	struct st_shift shift;
	/** The match, from the start of a line. */
	struct st_span span;
	/** The new text, shifted. */
	struct st_buf new_text;
};

static inline void st_shifted_release(struct st_shifted *shifted) {
	st_buf_release(&shifted->new_text);
	*shifted = (struct st_shifted){0};
}

/**
 * Find the place. The search gives up after a million lines compared, and then
 * finds none.
 *
 * @old_text  A search text that st_find_next() did not find.
 * @shifted   Zero it first; release it afterwards.
 * @return    1 if there is exactly one, 0 if not, STET_E_NOMEM or STET_E_CANCELLED.
 */
[[nodiscard]] int st_shifted_find(struct st_shifted *shifted, struct st_str text,
                                  struct st_str old_text, struct st_str new_text,
                                  struct stet_error *err);

/** Append "oldText matched with 4 more spaces before each line; newText was indented alike." */
void st_shift_add(struct st_buf *out, const struct st_shift *shift);

#endif
