#include "text/lines/splice.h"

#include <assert.h>

/* The length of the line ending at the start of a view; 0 if it does not begin with one. */
static size_t eol_at(struct st_str s) {
	if (st_str_starts(s, ST_STR("\r\n")))
		return 2;
	return s.len && (s.ptr[0] == '\n' || s.ptr[0] == '\r');
}

/* Whether two texts differ in nothing but the kinds of their line endings. */
static bool same_but_eols(struct st_str a, struct st_str b) {
	while (a.len && b.len) {
		size_t a_eol = eol_at(a), b_eol = eol_at(b);
		if ((a_eol == 0) != (b_eol == 0) || (a_eol == 0 && a.ptr[0] != b.ptr[0]))
			return false;
		a = st_str_slice(a, a_eol ? a_eol : 1, a.len);
		b = st_str_slice(b, b_eol ? b_eol : 1, b.len);
	}
	return a.len == b.len;
}

/* The only kind of line ending in a text; ST_EOL_NONE if it has none, or several kinds. */
static enum st_eol only_eol(struct st_str text) {
	struct st_eols eols = st_eols_count(text);
	if ((eols.lf > 0) + (eols.crlf > 0) + (eols.cr > 0) != 1)
		return ST_EOL_NONE;
	return eols.lf ? ST_EOL_LF : eols.crlf ? ST_EOL_CRLF : ST_EOL_CR;
}

/* The line ending for a new text that replaces a span; ST_EOL_NONE to insert it unconverted. */
static enum st_eol eol_for(struct st_splice *splice, struct st_span span) {
	enum st_eol eol = only_eol(st_str_slice(splice->text, span.start, span.end));
	if (eol != ST_EOL_NONE)
		return eol;
	if (!splice->text_eol_known) {
		splice->text_eol_known = true;
		if (st_line_ends(splice->text, splice->text.len))
			splice->text_eol = st_eol_of_text(splice->text);
	}
	return splice->text_eol;
}

/* The bytes that replace a span. */
static struct st_str bytes_for(struct st_splice *splice, struct st_span span) {
	struct st_str bytes = splice->new_text;
	if (splice->same)
		return st_str_slice(splice->text, span.start, span.end);
	enum st_eol eol = splice->verbatim ? ST_EOL_NONE : eol_for(splice, span);
	if (eol != ST_EOL_NONE) {
		struct st_buf *buf = &splice->by_eol[eol];
		if (!buf->ptr)
			st_eol_convert(buf, bytes, eol);
		if (buf->failed)
			splice->out.failed = true;
		bytes = st_buf_str(buf);
	}
	/* The text has its byte order mark already, right before the span: do not insert a second one. */
	if (span.start == 3 && st_bom_len(splice->text))
		bytes = st_str_slice(bytes, st_bom_len(bytes), bytes.len);
	return bytes;
}

/* Whether `out` stays within its limit with some more bytes. */
static bool fits_limit(struct st_splice *splice, size_t len) {
	if (len > splice->max || splice->out.len > splice->max - len)
		splice->too_big = true;
	return !splice->too_big;
}

/* Copy the text up to an offset, and move the marks in the copied part. */
static void copy_to(struct st_splice *splice, size_t offset) {
	size_t base = splice->out.len, from = splice->copied;
	assert(offset >= from);
	if (!fits_limit(splice, offset - from))
		return;
	st_buf_add(&splice->out, st_str_slice(splice->text, from, offset));
	splice->copied = offset;
	for (; splice->mark_next < splice->mark_count; splice->mark_next++) {
		size_t *place = splice->marks[splice->mark_next].place;
		if (*place > offset)
			break;
		*place = base + (*place - from);
	}
}

/* Move marks inside a replaced span to the start or the end of its replacement. */
static void move_inner_marks(struct st_splice *splice, struct st_span span, struct st_span now) {
	for (; splice->mark_next < splice->mark_count; splice->mark_next++) {
		struct st_mark *mark = &splice->marks[splice->mark_next];
		if (*mark->place >= span.end)
			break;
		*mark->place = mark->at_end ? now.end : now.start;
	}
}

static int by_place(const void *a, const void *b) {
	size_t left = *((const struct st_mark *)a)->place;
	size_t right = *((const struct st_mark *)b)->place;
	return (left > right) - (left < right);
}

void st_splice_init(struct st_splice *splice, struct st_str text, struct st_str old_text,
                    struct st_str new_text, size_t max) {
	bool has_lf = new_text.len && memchr(new_text.ptr, '\n', new_text.len);
	*splice = (struct st_splice){
		.text = text,
		.new_text = new_text,
		.same = st_str_eq(old_text, new_text),
		.verbatim = !has_lf || same_but_eols(old_text, new_text),
		.max = max,
	};
}

void st_splice_release(struct st_splice *splice) {
	for (size_t i = 0; i < sizeof splice->by_eol / sizeof *splice->by_eol; i++)
		st_buf_release(&splice->by_eol[i]);
	st_buf_release(&splice->out);
}

void st_marks_sort(struct st_mark *marks, size_t count) {
	if (count)
		qsort(marks, count, sizeof *marks, by_place);
}

void st_splice_marks(struct st_splice *splice, struct st_mark *marks, size_t count) {
	st_marks_sort(marks, count);
	splice->marks = marks;
	splice->mark_count = count;
}

void st_splice_put(struct st_splice *splice, struct st_span span) {
	struct st_str bytes = bytes_for(splice, span);
	/* Reserve a sixteenth more than the text, so that a text that grows a little is not moved. */
	if (splice->count == 0 && fits_limit(splice, bytes.len))
		st_buf_reserve(&splice->out, splice->text.len + splice->text.len / 16 + bytes.len);
	copy_to(splice, span.start);
	if (!fits_limit(splice, bytes.len))
		return;

	struct st_span now = {splice->out.len, splice->out.len + bytes.len};
	struct st_str old = st_str_slice(splice->text, span.start, span.end);
	st_buf_add(&splice->out, bytes);
	move_inner_marks(splice, span, now);
	splice->copied = span.end;
	splice->changed |= !st_str_eq(old, bytes);
	if (splice->count++ == 0) {
		splice->old_first = span;
		splice->new_first = splice->region = now;
	}
	splice->region.end = now.end;
}

int st_splice_end(struct st_splice *splice, struct stet_error *err) {
	copy_to(splice, splice->text.len);
	if (splice->too_big) {
		return st_fail(err, STET_E_TOO_BIG,
		               "The result would be larger than the limit of %zu bytes. "
		               "Nothing was changed; replace fewer occurrences, or use a shorter new text.",
		               splice->max);
	}
	return splice->out.failed ? st_fail_nomem(err) : 0;
}
