/* Unified diffs as git and diff write them, with git's extended headers. */
#include <stdio.h>

#include "text/apply/git_name.h"
#include "text/apply/reader.h"

/* The header of a file: the lines before its hunks. */
struct header {
	struct st_git_names names;
	/* Names from "rename from" and "rename to", which have no prefixes. */
	struct st_buf from;
	struct st_buf to;
	unsigned old_mode;
	unsigned new_mode;
	bool is_new;
	bool is_deleted;
	/* It names files by "---" and "+++" only. */
	bool plain;
	/* The time of the old or new file is the epoch, which is how diff -N says that there is none. */
	bool old_epoch;
	bool new_epoch;
};

static void header_release(struct header *header) {
	st_git_names_release(&header->names);
	st_buf_release(&header->from);
	st_buf_release(&header->to);
}

static bool is_name_pair(const struct st_patch_reader *reader) {
	return st_str_starts(reader->line, ST_STR("--- ")) &&
	       st_str_starts(st_patch_reader_peek(reader), ST_STR("+++ "));
}

static bool is_hunk(const struct st_patch_reader *reader) {
	struct st_str line = st_patch_reader_plain(reader);
	return st_str_starts(line, ST_STR("@@ ")) || st_str_eq(line, ST_STR("@@"));
}

/* ---- extended headers ---- */

static struct st_str rest_after(const struct st_patch_reader *reader, struct st_str start) {
	struct st_str line = st_patch_reader_plain(reader);
	return st_str_slice(line, start.len, line.len);
}

static int read_mode(const struct st_patch_reader *reader, struct st_str digits, unsigned *mode) {
	*mode = 0;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.ptr[i] < '0' || digits.ptr[i] > '7' || i >= 6)
			return st_patch_reader_fail(reader, "%s is no mode. Use 100644 or 100755.",
			                            st_quoted_str(digits));
		*mode = *mode * 8 + (unsigned)(digits.ptr[i] - '0');
	}
	if ((*mode & 0170000) == 0100000)
		return 0;
	return st_patch_reader_fail(
		reader,
		"mode %06o is a link's or a submodule's, and patches change regular "
		"files only. Remove this file from the patch.",
		*mode);
}

static int read_rename(const struct st_patch_reader *reader, struct st_str name,
                       struct st_buf *out) {
	if (st_git_name_read(name, out))
		return out->failed ? st_fail_nomem(reader->err) : 0;
	return st_patch_reader_fail(reader, "the quoted name %s is damaged. Correct it.",
	                            st_quoted_str(name));
}

static int fail_binary(const struct st_patch_reader *reader) {
	return st_fail(reader->err, STET_E_BINARY,
	               "Line %zu of the patch: it changes a binary file, which stet cannot do. Nothing "
	               "was changed. Remove this file from the patch.",
	               reader->number);
}

/* Read a line of the extended header. Returns 1 if the header ended before it. */
static int read_extended(struct st_patch_reader *reader, struct header *header) {
#define IS(text) st_str_starts(reader->line, ST_STR(text))
#define REST(text) rest_after(reader, ST_STR(text))
	if (IS("old mode "))
		return read_mode(reader, REST("old mode "), &header->old_mode);
	if (IS("new mode "))
		return read_mode(reader, REST("new mode "), &header->new_mode);
	if (IS("new file mode ")) {
		header->is_new = true;
		return read_mode(reader, REST("new file mode "), &header->new_mode);
	}
	if (IS("deleted file mode ")) {
		header->is_deleted = true;
		return read_mode(reader, REST("deleted file mode "), &header->old_mode);
	}
	if (IS("rename from "))
		return read_rename(reader, REST("rename from "), &header->from);
	if (IS("rename to "))
		return read_rename(reader, REST("rename to "), &header->to);
	if (IS("copy from ") || IS("copy to "))
		return st_patch_reader_fail(reader,
		                            "stet does not apply copies. Make the diff without -C.");
	if (IS("GIT binary patch") || IS("Binary files "))
		return fail_binary(reader);
	return IS("similarity index ") || IS("dissimilarity index ") || IS("index ") ? 0 : 1;
#undef IS
#undef REST
}

/* ---- "---" and "+++" ---- */

static bool is_epoch(struct st_str line) {
	return memmem(line.ptr, line.len, "\t1970-01-01 ", 12) ||
	       memmem(line.ptr, line.len, "\t1969-12-31 ", 12);
}

static int read_name(const struct st_patch_reader *reader, struct st_buf *out, bool *null) {
	struct st_str name = rest_after(reader, ST_STR("--- "));
	if (!st_git_name_read(name, out))
		return st_patch_reader_fail(reader, "the quoted name %s is damaged. Correct it.",
		                            st_quoted_str(name));
	*null = st_str_eq(st_buf_str(out), ST_STR("/dev/null"));
	return out->failed ? st_fail_nomem(reader->err) : 0;
}

static int read_names(struct st_patch_reader *reader, struct header *header) {
	header->old_epoch = is_epoch(reader->line);
	int code = read_name(reader, &header->names.old, &header->names.old_null);
	if (code < 0)
		return code;
	st_patch_reader_next(reader);
	header->new_epoch = is_epoch(reader->line);
	code = read_name(reader, &header->names.new, &header->names.new_null);
	st_patch_reader_next(reader);
	return code;
}

/* ---- hunks ---- */

/* How many lines a hunk still has to have. */
struct counts {
	size_t old;
	size_t new;
};

static int fail_counts(const struct st_patch_reader *reader, const struct st_patch_hunk *hunk) {
	return st_patch_reader_fail(
		reader,
		"the hunk of line %zu has other numbers of lines than its \"@@\" line "
		"says. Correct them, or write \"@@\" without numbers.",
		hunk->at);
}

/* Read one line of a hunk, and count it. */
static int read_line(struct st_patch_reader *reader, struct counts *left) {
	struct st_file_patches *out = reader->out;
	const struct st_patch_hunk *hunk = &out->hunks[out->hunk_count - 1];
	char kind = st_patch_reader_plain(reader).len > 0 ? reader->line.ptr[0] : ' ';
	if (reader->ended)
		return fail_counts(reader, hunk);
	if (kind == '\\') {
		if (hunk->line_count == 0 || !st_str_starts(reader->line, ST_STR("\\ ")))
			return fail_counts(reader, hunk);
		out->lines[out->line_count - 1].unended = true;
		return 0;
	}
	bool old = kind == ' ' || kind == '-', new = kind == ' ' || kind == '+';
	if ((!old && !new) || (old && left->old == 0) || (new && left->new == 0))
		return fail_counts(reader, hunk);
	left->old -= old;
	left->new -= new;
	return st_patch_reader_add_line(reader, kind);
}

/* A line that looks as if it belonged to the hunk before it. "-- " begins the signature of a mail. */
static bool is_left_over(const struct st_patch_reader *reader) {
	struct st_str line = reader->line;
	if (line.len == 0 || is_name_pair(reader) || st_str_starts(line, ST_STR("-- ")))
		return false;
	return line.ptr[0] == '+' || line.ptr[0] == '-' || line.ptr[0] == ' ';
}

static int read_counted(struct st_patch_reader *reader, struct counts left) {
	while (left.old > 0 || left.new > 0) {
		int code = read_line(reader, &left);
		if (code < 0)
			return code;
		st_patch_reader_next(reader);
	}
	if (reader->line.len > 0 && reader->line.ptr[0] == '\\') {
		int code = read_line(reader, &left);
		if (code < 0)
			return code;
		st_patch_reader_next(reader);
	}
	const struct st_file_patches *out = reader->out;
	return is_left_over(reader) ? fail_counts(reader, &out->hunks[out->hunk_count - 1]) : 0;
}

/* Read a hunk whose "@@" line has no numbers, as models write it: up to a line without a sign. */
static int read_uncounted(struct st_patch_reader *reader) {
	for (; !reader->ended && !is_name_pair(reader); st_patch_reader_next(reader)) {
		struct counts any = {SIZE_MAX, SIZE_MAX};
		char kind = st_patch_reader_plain(reader).len > 0 ? reader->line.ptr[0] : ' ';
		if (!memchr(" +-\\", kind, 4))
			return 0;
		int code = read_line(reader, &any);
		if (code < 0)
			return code;
	}
	return 0;
}

/* A line that begins a hunk without saying where, as models write it. */
static bool is_bare(struct st_str line) {
	return st_str_eq(line, ST_STR("@@")) || st_str_eq(line, ST_STR("@@ @@")) ||
	       st_str_eq(line, ST_STR("@@ ... @@"));
}

static int read_hunk(struct st_patch_reader *reader) {
	struct st_patch_hunk *hunk = st_patch_reader_add_hunk(reader);
	if (!hunk)
		return STET_E_NOMEM;
	struct counts left;
	hunk->numbered = st_patch_reader_range(reader->line, &hunk->start, &left.old, &left.new);
	bool counted = hunk->numbered;
	if (!counted && !is_bare(st_patch_reader_plain(reader)))
		return st_patch_reader_fail(
			reader, "%s is no valid line of a hunk. Write it as \"@@ -1,3 +1,4 @@\", or \"@@\".",
			st_quoted_str(reader->line));
	st_patch_reader_next(reader);
	int code = counted ? read_counted(reader, left) : read_uncounted(reader);
	hunk = &reader->out->hunks[reader->out->hunk_count - 1];
	if (code == 0 && hunk->line_count == 0)
		return st_patch_reader_fail(reader, "the hunk of line %zu has no lines. Add them.",
		                            hunk->at);
	return code;
}

/* ---- one file ---- */

/* Whether the last file's hunks have any old lines, or any new ones. */
static bool has_lines(const struct st_patch_reader *reader, char kind) {
	const struct st_file_patches *out = reader->out;
	const struct st_file_patch *file = &out->list[out->count - 1];
	size_t first = file->hunk_count ? out->hunks[file->first_hunk].first_line : out->line_count;
	for (size_t i = first; i < out->line_count; i++) {
		if (out->lines[i].kind == kind || out->lines[i].kind == ' ')
			return true;
	}
	return false;
}

static int check_file(const struct st_patch_reader *reader, const struct st_file_patch *file,
                      const struct header *header) {
	if ((file->kind == ST_FILE_ADD && has_lines(reader, '-')) ||
	    (file->kind == ST_FILE_DELETE && has_lines(reader, '+')))
		return st_fail(
			reader->err, STET_E_INVALID,
			"Line %zu of the patch: %s is a %s file, but its hunks have %s lines. Nothing "
			"was changed. Correct the hunks.",
			file->at, st_quoted(file->path), file->kind == ST_FILE_ADD ? "new" : "deleted",
			file->kind == ST_FILE_ADD ? "old" : "new");
	if (file->kind != ST_FILE_UPDATE || file->hunk_count > 0 || file->to || header->new_mode)
		return 0;
	return st_fail(reader->err, STET_E_INVALID,
	               "Line %zu of the patch: nothing says what to change in %s. Nothing was changed. "
	               "Add hunks, each with a line such as \"@@ -1,3 +1,4 @@\".",
	               file->at, st_quoted(file->path));
}

/* Set the kind and the names of the last file from its header. */
static int finish_file(const struct st_patch_reader *reader, struct header *header) {
	struct st_file_patch *file = &reader->out->list[reader->out->count - 1];
	struct st_git_names *names = &header->names;
	st_git_names_strip(names);
	if (header->from.len > 0 && header->to.len > 0) {
		st_buf_move(&names->old, &header->from);
		st_buf_move(&names->new, &header->to);
	}
	if (header->is_new || names->old_null || (header->old_epoch && !has_lines(reader, '-')))
		file->kind = ST_FILE_ADD;
	else if (header->is_deleted || names->new_null ||
	         (header->new_epoch && !has_lines(reader, '+')))
		file->kind = ST_FILE_DELETE;
	bool by_old = file->kind == ST_FILE_DELETE || (file->kind == ST_FILE_UPDATE && !header->plain);
	struct st_str old = st_buf_str(&names->old), new = st_buf_str(&names->new);
	int code = st_patch_reader_name(reader, by_old ? old : new, &file->path);
	if (code == 0 && by_old && file->kind == ST_FILE_UPDATE && !st_str_eq(old, new))
		code = st_patch_reader_name(reader, new, &file->to);
	if (file->kind != ST_FILE_DELETE)
		file->mode = header->new_mode;
	return code < 0 ? code : check_file(reader, file, header);
}

static int read_hunks(struct st_patch_reader *reader) {
	int code = 0;
	while (code == 0 && is_hunk(reader))
		code = read_hunk(reader);
	return code;
}

/* Read a file that begins with "diff --git". */
static int read_git(struct st_patch_reader *reader, struct header *header) {
	int code = 0;
	if (!st_git_names_read(rest_after(reader, ST_STR("diff --git ")), &header->names)) {
		st_buf_clear(&header->names.old);
		st_buf_clear(&header->names.new);
	}
	for (st_patch_reader_next(reader); code == 0 && !reader->ended;) {
		code = read_extended(reader, header);
		if (code == 0)
			st_patch_reader_next(reader);
	}
	if (code >= 0 && is_name_pair(reader))
		code = read_names(reader, header);
	return code < 0 ? code : read_hunks(reader);
}

static int read_file(struct st_patch_reader *reader) {
	st_auto(header) header = {.plain = !st_str_starts(reader->line, ST_STR("diff --git "))};
	struct st_file_patch *file = st_patch_reader_add_file(reader, ST_FILE_UPDATE);
	if (!file)
		return reader->out->count >= ST_FILE_PATCHES_MAX ? STET_E_TOO_BIG : STET_E_NOMEM;
	file->unified = true;
	int code = 0;
	if (header.plain) {
		code = read_names(reader, &header);
		if (code == 0)
			code = read_hunks(reader);
	} else {
		code = read_git(reader, &header);
	}
	return code < 0 ? code : finish_file(reader, &header);
}

int st_git_diff_parse(struct st_patch_reader *reader) {
	while (!reader->ended) {
		int code = 0;
		if (st_str_starts(reader->line, ST_STR("diff --git ")) || is_name_pair(reader))
			code = read_file(reader);
		else if (st_str_starts(reader->line, ST_STR("@@ -")))
			return st_patch_reader_fail(reader,
			                            "a hunk comes before the name of its file. Put \"--- "
			                            "a/NAME\" and \"+++ b/NAME\" before it.");
		else
			st_patch_reader_next(reader);
		if (code < 0)
			return code;
	}
	return 0;
}
