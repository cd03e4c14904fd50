/**
 * A patch as data: which files it changes, and the hunks of each.
 *
 * The folder text/apply reads patches over several files, in Codex's format
 * (codex.c) and as unified diffs of git and diff (git_diff.c), and applies the
 * hunks of one file to its bytes (hunks.h). It knows no files: the caller loads
 * and writes them.
 *
 *     st_auto(st_file_patches) patches = {0};
 *     if (st_file_patches_parse(&patches, text, err) < 0)
 *             return err->code;
 *     for (size_t i = 0; i < patches.count; i++)
 *             code = st_hunks_apply(&patches, i, old, max, &new, &notes, err);
 */
#ifndef STET_TEXT_APPLY_FILE_PATCH_H
#define STET_TEXT_APPLY_FILE_PATCH_H

#include "base/buf.h"
#include "base/error.h"

/** One line of a hunk. */
struct st_patch_line {
	/** ' ' for context, '-' for a removed line, '+' for an added one. */
	char kind;
	/** "\ No newline at end of file" follows. */
	bool unended;
	/** Without the LF. A CR before it belongs to the text. */
	struct st_str text;
};

struct st_patch_hunk {
	/** The line of the patch where the hunk begins, from 1. */
	size_t at;
	/** "@@ -12,3 ..." named the first old line, `start`; 0 for an empty file. */
	bool numbered;
	size_t start;
	/** The last old line is the last of the file ("*** End of File"). */
	bool at_end;
	/** Where its lines begin in st_file_patches.lines, and how many there are. */
	size_t first_line;
	size_t line_count;
	/** The texts after "@@" in Codex's format: lines of the file before the hunk, outermost first. */
	size_t first_header;
	size_t header_count;
};

enum st_file_patch_kind {
	ST_FILE_ADD,
	ST_FILE_UPDATE,
	ST_FILE_DELETE,
};

/** The changes of a patch to one file. */
struct st_file_patch {
	enum st_file_patch_kind kind;
	/** The line of the patch where it begins, from 1. */
	size_t at;
	char *path;
	/** The new path of a file that moves; otherwise NULL. */
	char *to;
	/** The mode that the file gets, such as 0100755; 0 if the patch does not say. */
	unsigned mode;
	/** A unified diff: an added file must not exist, a deleted one must hold the removed lines only. */
	bool unified;
	size_t first_hunk;
	size_t hunk_count;
};

/** A parsed patch. It borrows the patch's text. */
struct st_file_patches {
	struct st_file_patch *list;
	size_t count;
	struct st_patch_hunk *hunks;
	size_t hunk_count;
	struct st_patch_line *lines;
	size_t line_count;
	struct st_str *headers;
	size_t header_count;
};

/** How many files one patch may change. */
#define ST_FILE_PATCHES_MAX 1000

/**
 * Parse a patch of either format. Text before and after a unified diff is
 * ignored, as git does; a heredoc or a code fence around Codex's format, too.
 *
 * @return 0, STET_E_INVALID with the line of the patch, STET_E_BINARY,
 *         STET_E_TOO_BIG, STET_E_NOMEM.
 */
[[nodiscard]] int st_file_patches_parse(struct st_file_patches *patches, struct st_str text,
                                        struct stet_error *err);
void st_file_patches_release(struct st_file_patches *patches);

#endif
