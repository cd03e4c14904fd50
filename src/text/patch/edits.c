#include "text/patch/edits.h"

#include <stdio.h>
#include <assert.h>

#include "base/cancel.h"
#include "text/hint/explain.h"
#include "text/patch/replace.h"

/* ---- replacing spans ---- */

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

static void sort_marks(struct st_mark *marks, size_t count) {
	if (count)
		qsort(marks, count, sizeof *marks, by_place);
}

/*
 * Keep marks up to date, from the first st_splice_put() on. They are borrowed, and sorted
 * here. Each *place starts as an offset into the text; after st_splice_end() it is an
 * offset into `out`.
 */
static void track_marks(struct st_splice *splice, struct st_mark *marks, size_t count) {
	sort_marks(marks, count);
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

/* ---- lists of edits ---- */

/* One call of st_edits_apply(). */
struct list {
	const struct st_edit *edits;
	size_t count;
	size_t max;
	struct st_edits_failure *failure;
	struct stet_error *err;

	struct st_str original;
	/* The text after the edits so far; a view of the original or of the buffer. */
	struct st_str text;
	struct st_buf buf;
	struct st_edited *done;
	/* Start and end of each earlier edit, so that later edits move them. */
	struct st_mark *marks;
	/* The current edit, from 0. */
	size_t at;
};

static void list_release(struct list *list) {
	st_buf_release(&list->buf);
	free(list->done);
	free(list->marks);
}

/* "Edit 2 of 3: ", or nothing if there is only one. */
static const char *prefix(const struct list *list, char buf[64]) {
	buf[0] = '\0';
	if (list->count > 1)
		snprintf(buf, 64, "Edit %zu of %zu: ", list->at + 1, list->count);
	return buf;
}

static int fail_empty(const struct list *list) {
	char where[64];
	return st_fail(list->err, STET_E_INVALID,
	               "%soldText is empty. Give the text to replace, as it is in the file. "
	               "Nothing was changed.",
	               prefix(list, where));
}

/* Whether an edit's old text occurred before the first edit. */
static bool was_there(const struct list *list, const struct st_edit *edit) {
	st_auto(st_find) find = {0};
	struct st_span span;
	return list->at > 0 && st_find_init(&find, list->original, edit->old_text, NULL) == 0 &&
	       st_find_next(&find, &span);
}

static int fail_missing(const struct list *list, const struct st_edit *edit) {
	char where[64];
	if (was_there(list, edit)) {
		return st_fail(
			list->err, STET_E_NO_MATCH,
			"%soldText was in the file, but an earlier edit changed it. Nothing was changed. "
			"Edits apply in order: give oldText as it is after the earlier edits, or combine "
			"them into one.",
			prefix(list, where));
	}
	return st_explain_no_match(&list->failure->nearest, list->text, edit->old_text, edit->new_text,
	                           prefix(list, where), list->err);
}

static int fail_ambiguous(const struct list *list, const struct st_edit *edit) {
	struct st_places *places = &list->failure->places;
	char where[64];
	st_auto(st_buf) lines = ST_BUF_INIT;
	int code = st_places_find(places, list->text, edit->old_text, list->err);
	if (code < 0)
		return code;
	st_places_add(&lines, places, ST_PLACES_NAMED);
	return st_fail(
		list->err, STET_E_AMBIGUOUS,
		"%soldText occurs %zu times, at %s%s. Nothing was changed. Add lines around it to "
		"oldText until it is the only one%s.",
		prefix(list, where), places->total, st_buf_cstr(&lines),
		list->at > 0 ? " of the text after the earlier edits" : "",
		edit->only_one ? "" : ", or set replaceAll to change them all");
}

static void start_splice(struct list *list, struct st_splice *splice, struct st_str old_text,
                         struct st_str new_text) {
	st_splice_release(splice);
	st_splice_init(splice, list->text, old_text, new_text, list->max);
	for (size_t i = 0; i < list->at; i++) {
		list->marks[2 * i] = (struct st_mark){&list->done[i].span.start, false};
		list->marks[2 * i + 1] = (struct st_mark){&list->done[i].span.end, true};
	}
	track_marks(splice, list->marks, 2 * list->at);
}

/* If the old text occurs with another indentation, replace it by the new text, indented alike. */
static int splice_shifted(struct list *list, const struct st_edit *edit, struct st_splice *splice,
                          struct st_shifted *shifted) {
	int found = was_there(list, edit) ? 0
	                                  : st_shifted_find(shifted, list->text, edit->old_text,
	                                                    edit->new_text, list->err);
	if (found <= 0)
		return found < 0 ? found : fail_missing(list, edit);
	start_splice(list, splice, st_str_slice(list->text, shifted->span.start, shifted->span.end),
	             st_buf_str(&shifted->new_text));
	st_splice_put(splice, shifted->span);
	list->done[list->at].shift = shifted->shift;
	return st_splice_end(splice, list->err);
}

/* Replace the one match, or all of them. */
static int splice_edit(struct list *list, const struct st_edit *edit, struct st_splice *splice,
                       struct st_shifted *shifted) {
	st_auto(st_find) find = {0};
	struct st_span span, other;
	bool same = st_str_eq(edit->old_text, edit->new_text);
	if (st_find_init(&find, list->text, edit->old_text, list->err) < 0)
		return STET_E_NOMEM;
	if (!st_find_next(&find, &span))
		return splice_shifted(list, edit, splice, shifted);
	st_splice_put(splice, span);
	if (edit->all) {
		for (size_t at = span.end; st_find_next(&find, &span); at = span.end) {
			if (st_cancel_check(span.end - at + ST_FIND_WORK, list->err) < 0)
				return STET_E_CANCELLED;
			st_splice_put(splice, span);
		}
	} else if (st_find_next(&find, &other) && !same) {
		return fail_ambiguous(list, edit);
	}
	return st_splice_end(splice, list->err);
}

static int apply_edit(struct list *list) {
	const struct st_edit *edit = &list->edits[list->at];
	struct st_edited *done = &list->done[list->at];
	st_auto(st_shifted) shifted = {0};
	st_auto(st_splice) splice = {0};

	if (edit->old_text.len == 0)
		return fail_empty(list);
	/* This searches the text and copies it. */
	if (st_cancel_check(2 * list->text.len, list->err) < 0)
		return STET_E_CANCELLED;
	start_splice(list, &splice, edit->old_text, edit->new_text);
	int code = splice_edit(list, edit, &splice, &shifted);
	if (code < 0)
		return code;

	done->noop = !splice.changed;
	done->replaced = done->noop ? 0 : splice.count;
	done->span = splice.region;
	st_buf_move(&list->buf, &splice.out);
	list->text = st_buf_str(&list->buf);
	return 0;
}

/*
 * Number the lines of all replacements in one pass. The marks now point to `first` and `last` of
 * each edit: these start as the offsets of its first and last byte, and become line numbers.
 */
static void number_edits(struct list *list) {
	size_t line = 1, at = 0;
	bool ends = st_eol_of(list->text) != ST_EOL_NONE;
	for (size_t i = 0; i < list->count; i++) {
		struct st_edited *done = &list->done[i];
		done->first = done->span.start;
		done->last = done->span.end > done->span.start ? done->span.end - 1 : done->span.start;
		list->marks[2 * i].place = &done->first;
		list->marks[2 * i + 1].place = &done->last;
	}
	sort_marks(list->marks, 2 * list->count);
	for (size_t i = 0; i < 2 * list->count; i++) {
		size_t *place = list->marks[i].place;
		line += st_line_ends(st_str_slice(list->text, at, list->text.len), *place - at);
		at = *place;
		/* No line follows a final newline: an offset there belongs to the last line. */
		*place = ends && at == list->text.len ? line - 1 : line;
	}
}

static int apply_edits(struct list *list) {
	list->done = calloc(list->count, sizeof *list->done);
	list->marks = calloc(2 * list->count, sizeof *list->marks);
	if (!list->done || !list->marks)
		return st_fail_nomem(list->err);
	for (list->at = 0; list->at < list->count; list->at++) {
		list->failure->edit = list->at + 1;
		int code = apply_edit(list);
		if (code < 0)
			return code;
	}
	number_edits(list);
	return 0;
}

int st_edits_apply(struct st_str text, const struct st_edit *edits, size_t count, size_t max,
                   struct st_edited *results, struct st_buf *out, struct st_edits_failure *failure,
                   struct stet_error *err) {
	struct st_edits_failure unused;
	if (!failure)
		failure = &unused;
	*failure = (struct st_edits_failure){0};
	st_auto(list) list = {
		.edits = edits,
		.count = count,
		.max = max ? max : ST_REPLACE_MAX,
		.failure = failure,
		.err = err,
		.original = text,
		.text = text,
	};
	if (count == 0) {
		st_buf_add(&list.buf, text);
		if (list.buf.failed)
			return st_fail_nomem(err);
	} else {
		int code = apply_edits(&list);
		if (code < 0)
			return code;
		memcpy(results, list.done, count * sizeof *results);
	}
	st_buf_move(out, &list.buf);
	return 0;
}
