#include "text/apply/reader.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/array.h"

static struct st_str line_at(struct st_str text, size_t offset) {
	const char *end = offset < text.len ? memchr(text.ptr + offset, '\n', text.len - offset) : NULL;
	return st_str_slice(text, offset, end ? (size_t)(end - text.ptr) : text.len);
}

static void load_line(struct st_patch_reader *reader) {
	reader->ended = reader->offset >= reader->text.len;
	reader->line = reader->ended ? st_str("") : line_at(reader->text, reader->offset);
}

void st_patch_reader_init(struct st_patch_reader *reader, struct st_str text,
                          struct st_file_patches *out, struct stet_error *err) {
	*reader = (struct st_patch_reader){.text = text, .number = 1, .out = out, .err = err};
	load_line(reader);
}

void st_patch_reader_next(struct st_patch_reader *reader) {
	if (reader->ended)
		return;
	reader->offset += reader->line.len + 1;
	reader->number++;
	load_line(reader);
}

struct st_str st_patch_reader_plain(const struct st_patch_reader *reader) {
	struct st_str line = reader->line;
	if (line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

struct st_str st_patch_reader_peek(const struct st_patch_reader *reader) {
	size_t next = reader->offset + reader->line.len + 1;
	return next < reader->text.len ? line_at(reader->text, next) : st_str("");
}

int st_patch_reader_fail(const struct st_patch_reader *reader, const char *format, ...) {
	char message[1600];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	if (reader->ended)
		return st_fail(reader->err, STET_E_INVALID,
		               "At the end of the patch: %s Nothing was changed.", message);
	return st_fail(reader->err, STET_E_INVALID, "Line %zu of the patch: %s Nothing was changed.",
	               reader->number, message);
}

struct st_file_patch *st_patch_reader_add_file(struct st_patch_reader *reader,
                                               enum st_file_patch_kind kind) {
	struct st_file_patches *out = reader->out;
	if (out->count >= ST_FILE_PATCHES_MAX) {
		st_fail(reader->err, STET_E_TOO_BIG,
		        "The patch has more than %d files. Nothing was changed. Divide it.",
		        ST_FILE_PATCHES_MAX);
		return NULL;
	}
	if (!st_array_room(&out->list, out->count, sizeof *out->list)) {
		st_fail_nomem(reader->err);
		return NULL;
	}
	struct st_file_patch *file = &out->list[out->count++];
	*file =
		(struct st_file_patch){.kind = kind, .at = reader->number, .first_hunk = out->hunk_count};
	return file;
}

struct st_patch_hunk *st_patch_reader_add_hunk(struct st_patch_reader *reader) {
	struct st_file_patches *out = reader->out;
	if (!st_array_room(&out->hunks, out->hunk_count, sizeof *out->hunks)) {
		st_fail_nomem(reader->err);
		return NULL;
	}
	struct st_patch_hunk *hunk = &out->hunks[out->hunk_count++];
	*hunk = (struct st_patch_hunk){
		.at = reader->number,
		.first_line = out->line_count,
		.first_header = out->header_count,
	};
	out->list[out->count - 1].hunk_count++;
	return hunk;
}

int st_patch_reader_add_line(struct st_patch_reader *reader, char kind) {
	struct st_file_patches *out = reader->out;
	if (!st_array_room(&out->lines, out->line_count, sizeof *out->lines))
		return st_fail_nomem(reader->err);
	struct st_str line = reader->line;
	bool has_kind = line.len > 0 && line.ptr[0] == kind;
	out->lines[out->line_count++] = (struct st_patch_line){
		.kind = kind, .text = has_kind ? st_str_slice(line, 1, line.len) : line};
	out->hunks[out->hunk_count - 1].line_count++;
	return 0;
}

int st_patch_reader_name(const struct st_patch_reader *reader, struct st_str name, char **out) {
	if (name.len == 0)
		return st_patch_reader_fail(reader, "the file's name is missing. Add it.");
	if (memchr(name.ptr, '\0', name.len))
		return st_patch_reader_fail(reader,
		                            "a file's name cannot hold a NUL character. Correct it.");
	*out = strndup(name.ptr, name.len);
	return *out ? 0 : st_fail_nomem(reader->err);
}

/* ---- "@@ -1,2 +3,4 @@" ---- */

/* Take a literal from the start of a view. */
static bool take_text(struct st_str *s, struct st_str text) {
	if (!st_str_starts(*s, text))
		return false;
	*s = st_str_slice(*s, text.len, s->len);
	return true;
}

static bool take_number(struct st_str *s, size_t *number) {
	size_t digits = 0;
	*number = 0;
	while (digits < s->len && digits < 12 && s->ptr[digits] >= '0' && s->ptr[digits] <= '9')
		*number = *number * 10 + (size_t)(s->ptr[digits++] - '0');
	*s = st_str_slice(*s, digits, s->len);
	return digits > 0;
}

/* "12,3", or "12" for one line. */
static bool take_range(struct st_str *s, size_t *start, size_t *count) {
	*count = 1;
	return take_number(s, start) && (!take_text(s, ST_STR(",")) || take_number(s, count));
}

bool st_patch_reader_range(struct st_str line, size_t *start, size_t *old_count,
                           size_t *new_count) {
	size_t new_start;
	return take_text(&line, ST_STR("@@ -")) && take_range(&line, start, old_count) &&
	       take_text(&line, ST_STR(" +")) && take_range(&line, &new_start, new_count) &&
	       take_text(&line, ST_STR(" @@"));
}
