#include "text/patch/edits.h"

#include <stdio.h>

#include "base/cancel.h"
#include "text/hint/explain.h"
#include "text/patch/replace.h"
#include "text/lines/splice.h"

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
		"oldText until it is the only one, or set replaceAll to change them all.",
		prefix(list, where), places->total, st_buf_cstr(&lines),
		list->at > 0 ? " of the text after the earlier edits" : "");
}

static void start_splice(struct list *list, struct st_splice *splice, struct st_str old_text,
                         struct st_str new_text) {
	st_splice_release(splice);
	st_splice_init(splice, list->text, old_text, new_text, list->max);
	for (size_t i = 0; i < list->at; i++) {
		list->marks[2 * i] = (struct st_mark){&list->done[i].span.start, false};
		list->marks[2 * i + 1] = (struct st_mark){&list->done[i].span.end, true};
	}
	st_splice_marks(splice, list->marks, 2 * list->at);
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
	st_marks_sort(list->marks, 2 * list->count);
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
