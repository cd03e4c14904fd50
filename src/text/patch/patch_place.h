/**
 * Find the lines that a patch applies to. This is the first half of patch.c.
 */
#ifndef STET_TEXT_PATCH_PATCH_PLACE_H
#define STET_TEXT_PATCH_PATCH_PLACE_H

#include "text/markdown/markdown.h"
#include "text/patch/patch.h"

/** How preserve_indent shifts the content. */
enum st_patch_shift {
	/** Not at all. */
	ST_SHIFT_NONE,
	/** Replace its common indentation by that of the lines model_first to model_last. */
	ST_SHIFT_TO_LINES,
	/** Lines without the code block's indentation get it in front. */
	ST_SHIFT_INTO_CODE,
};

struct st_patch_place {
	/** The lines to replace or delete; last is first - 1 for an insert before first. */
	size_t first;
	size_t last;
	/**
	 * Another line to insert before, above link definitions that must stay with
	 * the heading below them; 0 if there is none.
	 */
	size_t other;
	/** The edit must not change other headings. */
	bool guarded;
	enum st_patch_shift shift;
	size_t model_first;
	size_t model_last;
	/** The code block around the place, or NULL. */
	const struct st_code *code;
};

/**
 * Find the place.
 *
 * @lines  The text's lines.
 * @md     Its structure; unused unless st_patch_needs_structure().
 * @note   Receives sentences about how the place was chosen, each followed by a space.
 * @return 0, STET_E_INVALID, STET_E_NO_MATCH or STET_E_NOMEM.
 */
[[nodiscard]] int st_patch_locate(const struct st_patch *patch, const struct st_lines *lines,
                                  const struct st_markdown *md, struct st_patch_place *place,
                                  struct st_buf *note, struct stet_error *err);

/** Check a patch as far as possible without the text. Returns 0 or STET_E_INVALID. */
[[nodiscard]] int st_patch_check(const struct st_patch *patch, struct stet_error *err);

/** Whether the target names a part of a Markdown text. */
static inline bool st_patch_needs_structure(const struct st_patch *patch) {
	return patch->target != ST_TARGET_LINES;
}

#endif
