#include "text/apply/hunks.h"

#include <stdlib.h>

#include "text/apply/hunk_place.h"

/* The text that the hunks make. */
struct output {
	const struct st_hunk_search *search;
	struct st_buf text;
	/* The next line of the old text, from 1. */
	size_t next;
	/* How many bytes of a byte order mark were written apart from its line. */
	size_t mark;
	/* The last line came from the patch. */
	bool added;
	enum st_eol eol;
};

static void output_release(struct output *out) {
	st_buf_release(&out->text);
}

/* The ending for an added line: that of the old line before or after it, or the file's usual one. */
static struct st_str place_eol(const struct output *out) {
	const struct st_lines *lines = &out->search->lines;
	for (size_t n = out->next; n + 1 >= out->next && n >= 1; n--) {
		enum st_eol eol = n <= lines->count ? st_eol_of(st_lines_whole(lines, n)) : ST_EOL_NONE;
		if (eol == ST_EOL_LF || eol == ST_EOL_CRLF)
			return st_eol_bytes(eol);
	}
	return st_eol_bytes(out->eol == ST_EOL_CRLF ? ST_EOL_CRLF : ST_EOL_LF);
}

/* End the last line, if another one follows. */
static void end_line(struct output *out) {
	if (out->text.len > out->mark && out->text.ptr[out->text.len - 1] != '\n')
		st_buf_add(&out->text, place_eol(out));
}

/* Copy old lines up to, not including, one. */
static void copy_lines(struct output *out, size_t end) {
	if (end <= out->next)
		return;
	end_line(out);
	struct st_str text = st_lines_range(&out->search->lines, out->next, end - 1);
	st_buf_add(&out->text, st_str_slice(text, out->next == 1 ? out->mark : 0, text.len));
	out->next = end;
	out->added = false;
}

static void add_line(struct output *out, const struct st_patch_line *line, bool loose) {
	struct st_str text = line->text;
	end_line(out);
	if (loose && text.len > 0 && text.ptr[text.len - 1] == '\r')
		text.len--;
	if (out->mark > 0 && out->text.len == out->mark)
		text = st_str_slice(text, st_bom_len(text), text.len);
	st_buf_add(&out->text, text);
	if (!line->unended)
		st_buf_add(&out->text, loose ? place_eol(out) : st_str("\n"));
	out->added = true;
}

/* A file without a final newline stays one, unless the patch itself says otherwise. */
static void drop_last_eol(struct output *out, const struct st_hunk_place *place) {
	const struct st_lines *lines = &out->search->lines;
	bool unended =
		lines->count > 0 && st_eol_of(st_lines_whole(lines, lines->count)) == ST_EOL_NONE;
	if (!place->loose || !out->added || !unended || out->next <= lines->count)
		return;
	struct st_str text = st_buf_str(&out->text);
	size_t len = text.len - st_str_ends(text, ST_STR("\n"));
	len -= len > 0 && text.ptr[len - 1] == '\r' && len < text.len;
	st_buf_truncate(&out->text, len);
}

/* If the first line matched loosely, the byte order mark stays, whatever becomes of that line. */
static bool begins_loose(const struct output *out, const struct st_hunk_place *place) {
	return place->loose && place->count > 0 && place->first == 1 && out->text.len == 0;
}

static void write_hunk(struct output *out, const struct st_hunk_place *place) {
	const struct st_patch_hunk *hunk = place->hunk;
	struct st_str old = out->search->lines.text;
	copy_lines(out, place->first);
	if (begins_loose(out, place)) {
		out->mark = st_bom_len(old);
		st_buf_add(&out->text, st_str_slice(old, 0, out->mark));
	}
	for (size_t i = 0; i < hunk->line_count; i++) {
		const struct st_patch_line *line = &out->search->patches->lines[hunk->first_line + i];
		if (line->kind == '+')
			add_line(out, line, place->loose);
		else if (line->kind == ' ')
			copy_lines(out, out->next + 1);
		else
			out->next++;
	}
	drop_last_eol(out, place);
}

static int by_first(const void *a, const void *b) {
	size_t left = ((const struct st_hunk_place *)a)->first;
	size_t right = ((const struct st_hunk_place *)b)->first;
	return (left > right) - (left < right);
}

static int write_hunks(struct st_hunk_search *search, size_t max, struct st_buf *new) {
	st_auto(output) out = {.search = search, .next = 1, .eol = st_eol_of_text(search->lines.text)};
	qsort(search->places, search->count, sizeof *search->places, by_first);
	for (size_t i = 0; i < search->count; i++)
		write_hunk(&out, &search->places[i]);
	copy_lines(&out, search->lines.count + 1);
	if (out.text.failed)
		return st_fail_nomem(search->err);
	if (max > 0 && out.text.len > max)
		return st_fail(search->err, STET_E_TOO_BIG,
		               "%s would have %zu bytes; the limit is %zu. Nothing was changed. Make a "
		               "smaller change.",
		               st_quoted(search->file->path), out.text.len, max);
	st_buf_move(new, &out.text);
	return 0;
}

/* The lines of a new file, as the patch has them. */
static int write_added(const struct st_file_patches *patches, const struct st_file_patch *file,
                       struct st_buf *new, struct stet_error *err) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (size_t i = 0; i < file->hunk_count; i++) {
		const struct st_patch_hunk *hunk = &patches->hunks[file->first_hunk + i];
		for (size_t j = 0; j < hunk->line_count; j++) {
			const struct st_patch_line *line = &patches->lines[hunk->first_line + j];
			st_buf_add(&text, line->text);
			st_buf_adds(&text, line->unended ? "" : "\n");
		}
	}
	if (text.failed)
		return st_fail_nomem(err);
	st_buf_move(new, &text);
	return 0;
}

static int check_deleted(const struct st_file_patch *file, const struct st_buf *left,
                         struct stet_error *err) {
	if (left->len == 0)
		return 0;
	return st_fail(
		err, STET_E_NO_MATCH,
		"%s (line %zu of the patch) has lines that its deletion does not remove. Nothing "
		"was changed. Read the file again, and make the patch from it.",
		st_quoted(file->path), file->at);
}

int st_hunks_apply(const struct st_file_patches *patches, size_t index, struct st_str old,
                   size_t max, struct st_buf *new, struct st_buf *notes,
                   struct st_hunks_failure *failure, struct stet_error *err) {
	const struct st_file_patch *file = &patches->list[index];
	st_auto(st_buf) unused = ST_BUF_INIT;
	st_auto(st_buf) left = ST_BUF_INIT;
	struct st_hunks_failure *details = failure ? failure : calloc(1, sizeof *details);
	if (!details)
		return st_fail_nomem(err);
	*details = (struct st_hunks_failure){0};
	st_auto(st_hunk_search) search = {
		.patches = patches,
		.file = file,
		.notes = notes ? notes : &unused,
		.failure = details,
		.err = err,
	};
	int code = 0;
	if (file->kind == ST_FILE_ADD) {
		code = write_added(patches, file, new, err);
	} else {
		code = st_hunk_search_init(&search, old);
		while (code == 0 && search.count < file->hunk_count)
			code = st_hunk_search_next(&search);
		st_hunk_search_end(&search);
		details->hunk = code < 0 ? details->hunk : 0;
		if (code == 0)
			code = write_hunks(&search, max, file->kind == ST_FILE_DELETE ? &left : new);
		if (code == 0 && file->kind == ST_FILE_DELETE)
			code = check_deleted(file, &left, err);
	}
	if (!failure)
		free(details);
	return code;
}
