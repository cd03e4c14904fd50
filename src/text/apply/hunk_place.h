/** Find the place of a hunk in a text. For hunks.c only. */
#ifndef STET_TEXT_APPLY_HUNK_PLACE_H
#define STET_TEXT_APPLY_HUNK_PLACE_H

#include "text/apply/hunks.h"
#include "text/lines/lines.h"

/** Where a hunk goes. */
struct st_hunk_place {
	const struct st_patch_hunk *hunk;
	/** The first old line, from 1, and how many there are. */
	size_t first;
	size_t count;
	/** The lines match only if line endings and the byte order mark are ignored. */
	bool loose;
};

/** The search for the places of a file's hunks. */
struct st_hunk_search {
	const struct st_file_patches *patches;
	const struct st_file_patch *file;
	struct st_lines lines;
	/** A checksum for each line of the text, without its ending. */
	uint64_t *keys;
	/** The hunks placed so far, in the order of the patch. */
	struct st_hunk_place *places;
	size_t count;
	/** For each line of the text, from 0: a hunk placed so far has it. */
	bool *taken;
	/** A hunk went elsewhere than its numbers say. */
	bool moved;
	/** How many hunks there is a note about; only the first ones are named. */
	size_t noted;
	struct st_buf *notes;
	struct st_hunks_failure *failure;
	struct stet_error *err;
};

[[nodiscard]] int st_hunk_search_init(struct st_hunk_search *search, struct st_str text);
void st_hunk_search_release(struct st_hunk_search *search);

/** Find the place of the next hunk, and add it to the places. Returns as st_hunks_apply(). */
[[nodiscard]] int st_hunk_search_next(struct st_hunk_search *search);

/** After the last hunk: add the number of further hunks that would need a note. */
void st_hunk_search_end(struct st_hunk_search *search);

#endif
