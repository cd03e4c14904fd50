/* Codex's format: "*** Begin Patch", parts for files, "*** End Patch". */
#include "base/array.h"
#include "text/apply/reader.h"

/* The rest of a line after a marker such as "*** Add File: "; false if it has another start. */
static bool take_marker(const struct st_patch_reader *reader, struct st_str marker,
                        struct st_str *rest) {
	struct st_str line = st_str_trim(reader->line);
	if (!st_str_starts(line, marker))
		return false;
	*rest = st_str_trim(st_str_slice(line, marker.len, line.len));
	return true;
}

static bool is_marker(const struct st_patch_reader *reader, struct st_str marker) {
	return st_str_eq(st_str_trim(reader->line), marker);
}

/* A line that ends the part of a file. */
static bool ends_part(const struct st_patch_reader *reader) {
	return reader->ended || (st_str_starts(reader->line, ST_STR("*** ")) &&
	                         !is_marker(reader, ST_STR("*** End of File")));
}

/* ---- one hunk ---- */

static bool is_hunk_start(const struct st_patch_reader *reader) {
	struct st_str line = st_patch_reader_plain(reader);
	return st_str_eq(line, ST_STR("@@")) || st_str_starts(line, ST_STR("@@ "));
}

static int add_header(struct st_patch_reader *reader, struct st_patch_hunk *hunk,
                      struct st_str text) {
	struct st_file_patches *out = reader->out;
	if (!st_array_room(&out->headers, out->header_count, sizeof *out->headers))
		return st_fail_nomem(reader->err);
	out->headers[out->header_count++] = text;
	hunk->header_count++;
	return 0;
}

/* Read the lines "@@ ..." before a hunk. Some models write them as in a unified diff. */
static int read_headers(struct st_patch_reader *reader, struct st_patch_hunk *hunk) {
	for (; is_hunk_start(reader); st_patch_reader_next(reader)) {
		struct st_str line = st_patch_reader_plain(reader);
		size_t old_count, new_count;
		if (st_patch_reader_range(line, &hunk->start, &old_count, &new_count)) {
			hunk->numbered = true;
			continue;
		}
		struct st_str text = st_str_slice(line, line.len > 2 ? 3 : 2, line.len);
		if (st_str_trim(text).len == 0 || st_str_eq(text, ST_STR("... @@")))
			continue;
		int code = add_header(reader, hunk, text);
		if (code < 0)
			return code;
	}
	return 0;
}

/* A blank line before the next part belongs to no hunk. */
static bool is_gap(const struct st_patch_reader *reader) {
	struct st_str next = st_str_trim(st_patch_reader_peek(reader));
	return st_patch_reader_plain(reader).len == 0 && st_str_starts(next, ST_STR("*** ")) &&
	       !st_str_eq(next, ST_STR("*** End of File"));
}

static int read_body(struct st_patch_reader *reader) {
	int code = 0;
	for (; code == 0 && !ends_part(reader) && !is_hunk_start(reader) && !is_gap(reader);
	     st_patch_reader_next(reader)) {
		struct st_patch_hunk *hunk = &reader->out->hunks[reader->out->hunk_count - 1];
		char kind = st_patch_reader_plain(reader).len > 0 ? reader->line.ptr[0] : ' ';
		if (is_marker(reader, ST_STR("*** End of File")))
			hunk->at_end = true;
		else if (hunk->at_end)
			return st_patch_reader_fail(
				reader, "a hunk ends at \"*** End of File\". Begin the next one with \"@@\".");
		else if (kind == ' ' || kind == '-' || kind == '+')
			code = st_patch_reader_add_line(reader, kind);
		else
			return st_patch_reader_fail(
				reader, "%s has no sign. Begin each line of a hunk with \" \", \"-\" or \"+\".",
				st_quoted_str(reader->line));
	}
	return code;
}

static int read_hunk(struct st_patch_reader *reader) {
	struct st_patch_hunk *hunk = st_patch_reader_add_hunk(reader);
	if (!hunk)
		return STET_E_NOMEM;
	size_t at = reader->number;
	int code = read_headers(reader, hunk);
	if (code == 0)
		code = read_body(reader);
	hunk = &reader->out->hunks[reader->out->hunk_count - 1];
	if (code == 0 && hunk->line_count == 0)
		return st_fail(reader->err, STET_E_INVALID,
		               "Line %zu of the patch: the hunk has no lines. Nothing was changed. Add its "
		               "lines, or remove \"@@\".",
		               at);
	return code;
}

/* ---- one file ---- */

static int read_added(struct st_patch_reader *reader) {
	struct st_patch_hunk *hunk = st_patch_reader_add_hunk(reader);
	if (!hunk)
		return STET_E_NOMEM;
	for (; !ends_part(reader); st_patch_reader_next(reader)) {
		if (is_gap(reader))
			continue;
		if (reader->line.len == 0 || reader->line.ptr[0] != '+')
			return st_patch_reader_fail(reader,
			                            "%s is no line of a new file. Begin each with \"+\".",
			                            st_quoted_str(reader->line));
		int code = st_patch_reader_add_line(reader, '+');
		if (code < 0)
			return code;
	}
	return 0;
}

static int read_updated(struct st_patch_reader *reader) {
	struct st_file_patch *file = &reader->out->list[reader->out->count - 1];
	struct st_str to;
	if (take_marker(reader, ST_STR("*** Move to:"), &to)) {
		int code = st_patch_reader_name(reader, to, &file->to);
		if (code < 0)
			return code;
		st_patch_reader_next(reader);
	}
	while (!ends_part(reader)) {
		/* Blank lines between parts belong to neither. */
		if (is_gap(reader)) {
			st_patch_reader_next(reader);
			continue;
		}
		int code = read_hunk(reader);
		if (code < 0)
			return code;
	}
	if (file->hunk_count == 0 && !file->to)
		return st_fail(
			reader->err, STET_E_INVALID,
			"Line %zu of the patch: the part of %s has no hunks. Nothing was changed. Add "
			"a hunk, or remove the part.",
			file->at, st_quoted(file->path));
	return 0;
}

static int read_deleted(struct st_patch_reader *reader) {
	for (; !ends_part(reader); st_patch_reader_next(reader)) {
		if (st_str_trim(reader->line).len > 0)
			return st_patch_reader_fail(reader,
			                            "nothing may follow \"*** Delete File\". Remove %s.",
			                            st_quoted_str(reader->line));
	}
	return 0;
}

static int read_file(struct st_patch_reader *reader) {
	static const struct {
		struct st_str marker;
		enum st_file_patch_kind kind;
		int (*read)(struct st_patch_reader *reader);
	} parts[] = {
		{{"*** Add File:", 13}, ST_FILE_ADD, read_added},
		{{"*** Update File:", 16}, ST_FILE_UPDATE, read_updated},
		{{"*** Delete File:", 16}, ST_FILE_DELETE, read_deleted},
	};
	struct st_str name;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!take_marker(reader, parts[i].marker, &name))
			continue;
		struct st_file_patch *file = st_patch_reader_add_file(reader, parts[i].kind);
		if (!file)
			return reader->out->count >= ST_FILE_PATCHES_MAX ? STET_E_TOO_BIG : STET_E_NOMEM;
		int code = st_patch_reader_name(reader, name, &file->path);
		if (code < 0)
			return code;
		st_patch_reader_next(reader);
		return parts[i].read(reader);
	}
	return st_patch_reader_fail(reader,
	                            "%s begins no part. Use \"*** Add File: NAME\", \"*** Update File: "
	                            "NAME\" or \"*** Delete File: NAME\".",
	                            st_quoted_str(reader->line));
}

/* After the end, only what wraps a patch may follow: blank lines, a code fence, the word of a heredoc. */
static int check_rest(struct st_patch_reader *reader) {
	for (; !reader->ended; st_patch_reader_next(reader)) {
		if (st_str_starts(st_str_trim(reader->line), ST_STR("*** ")))
			return st_patch_reader_fail(reader,
			                            "%s follows \"*** End Patch\". Put all files into one "
			                            "patch.",
			                            st_quoted_str(reader->line));
	}
	return 0;
}

int st_codex_parse(struct st_patch_reader *reader) {
	if (!is_marker(reader, ST_STR("*** Begin Patch")))
		return st_patch_reader_fail(reader,
		                            "\"*** Begin Patch\" is missing. Put it before this line.");
	st_patch_reader_next(reader);
	while (!reader->ended && !is_marker(reader, ST_STR("*** End Patch"))) {
		int code = st_str_trim(reader->line).len > 0 ? read_file(reader) : 0;
		if (code < 0)
			return code;
		if (st_str_trim(reader->line).len == 0)
			st_patch_reader_next(reader);
	}
	if (reader->ended)
		return st_patch_reader_fail(
			reader, "\"*** End Patch\" is missing, so the patch may be cut off. Send all of it.");
	if (reader->out->count == 0)
		return st_patch_reader_fail(reader, "the patch has no files. Add a part for each file.");
	st_patch_reader_next(reader);
	return check_rest(reader);
}
