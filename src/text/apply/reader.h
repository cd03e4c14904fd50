/**
 * The lines of a patch one by one, and the parts that both formats build from
 * them. For codex.c and git_diff.c only.
 */
#ifndef STET_TEXT_APPLY_READER_H
#define STET_TEXT_APPLY_READER_H

#include "text/apply/file_patch.h"

struct st_patch_reader {
	struct st_str text;
	/** Where the current line begins, and its number, from 1. */
	size_t offset;
	size_t number;
	/** The current line without its LF; `ended` after the last one. */
	struct st_str line;
	bool ended;
	struct st_file_patches *out;
	struct stet_error *err;
};

/** Start with the first line. */
void st_patch_reader_init(struct st_patch_reader *reader, struct st_str text,
                          struct st_file_patches *out, struct stet_error *err);

/** Go to the next line. */
void st_patch_reader_next(struct st_patch_reader *reader);

/** The current line without a CR at its end. */
struct st_str st_patch_reader_plain(const struct st_patch_reader *reader);

/** The line after the current one, without LF; empty if there is none. */
struct st_str st_patch_reader_peek(const struct st_patch_reader *reader);

/** Fail with STET_E_INVALID and the current line: "Line 4 of the patch: ... Nothing was changed." */
__attribute__((format(printf, 2, 3))) int st_patch_reader_fail(const struct st_patch_reader *reader,
                                                               const char *format, ...);

/** Add a file; NULL if there are too many or memory ran out, with the error set. */
struct st_file_patch *st_patch_reader_add_file(struct st_patch_reader *reader,
                                               enum st_file_patch_kind kind);

/** Add a hunk to the last file; NULL if memory ran out. */
struct st_patch_hunk *st_patch_reader_add_hunk(struct st_patch_reader *reader);

/** Add the current line to the last hunk: without its first byte, unless it is empty. Returns 0 or NOMEM. */
[[nodiscard]] int st_patch_reader_add_line(struct st_patch_reader *reader, char kind);

/** Copy a name, after checking that it may be a path. Returns 0, STET_E_INVALID or STET_E_NOMEM. */
[[nodiscard]] int st_patch_reader_name(const struct st_patch_reader *reader, struct st_str name,
                                       char **out);

/** Parse "@@ -1,2 +3,4 @@" into start and counts; false if it is no such line. */
bool st_patch_reader_range(struct st_str line, size_t *start, size_t *old_count, size_t *new_count);

/** Parse Codex's format, from the line "*** Begin Patch". */
[[nodiscard]] int st_codex_parse(struct st_patch_reader *reader);

/** Parse unified diffs. */
[[nodiscard]] int st_git_diff_parse(struct st_patch_reader *reader);

#endif
