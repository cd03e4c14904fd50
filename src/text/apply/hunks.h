/**
 * Apply the hunks of one file to its bytes.
 *
 * A hunk goes where its "@@" line says, if the old lines are there. Otherwise it
 * goes to the only place that has them, and a note says so. Several such places,
 * or none, are a failure that names the lines: stet never guesses.
 *
 * Lines match byte by byte. Where none do, a hunk also matches lines with other
 * line endings, without the byte order mark, and a last line without a newline;
 * the added lines then take the endings of their place.
 */
#ifndef STET_TEXT_APPLY_HUNKS_H
#define STET_TEXT_APPLY_HUNKS_H

#include "text/apply/file_patch.h"
#include "text/find/find.h"

/** Why a hunk did not apply, as data. */
struct st_hunks_failure {
	/** Which hunk of the file, from 1, and its line in the patch; 0 if no hunk is at fault. */
	size_t hunk;
	size_t at;
	/** After STET_E_AMBIGUOUS: where its old lines are. */
	struct st_places places;
	/** After STET_E_NO_MATCH: the first line of the nearest text; 0 if nothing comes near. */
	size_t nearest;
};

/**
 * Make the new contents of a file: for a new file, its lines; for a deleted one,
 * check that the hunks remove everything (a deletion in Codex's format has no
 * hunks to check).
 *
 * @index    Which file of the patch.
 * @old      Its bytes; empty for a new file.
 * @max      The most bytes that the result may have; 0 for no limit.
 * @new      Receives the result; untouched on failure.
 * @notes    Receives a sentence for each hunk that did not apply exactly where it said.
 * @failure  Receives details; may be NULL.
 * @return   0, STET_E_NO_MATCH, STET_E_AMBIGUOUS, STET_E_TOO_BIG, STET_E_NOMEM, STET_E_CANCELLED.
 */
[[nodiscard]] int st_hunks_apply(const struct st_file_patches *patches, size_t index,
                                 struct st_str old, size_t max, struct st_buf *new,
                                 struct st_buf *notes, struct st_hunks_failure *failure,
                                 struct stet_error *err);

#endif
