#include "text/patch/replace.h"

#include <stdint.h>
#include <strings.h>

#include "base/cancel.h"
#include "base/plural.h"
#include "text/hint/explain.h"
#include "text/patch/edits.h"

/* One call of st_replace_apply(). */
struct replacing {
	struct st_str text;
	const struct st_replace *request;
	struct st_replaced *done;
	struct st_find find;
	struct st_splice splice;
	struct st_shifted shifted;
	/* Which match to replace, from 1; 0 for all. */
	size_t chosen;
};

static bool is_choice(struct st_str word, const char *name) {
	return word.len == strlen(name) && strncasecmp(word.ptr, name, word.len) == 0;
}

/* Parse digits; an overflow becomes a number larger than any count of matches. False for anything else. */
static bool read_number(struct st_str word, size_t *number) {
	*number = 0;
	for (size_t i = 0; i < word.len; i++) {
		if (word.ptr[i] < '0' || word.ptr[i] > '9')
			return false;
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (size_t)(word.ptr[i] - '0'), number))
			*number = SIZE_MAX / 10;
	}
	return word.len > 0;
}

static void replacing_release(struct replacing *replacing) {
	st_find_release(&replacing->find);
	st_splice_release(&replacing->splice);
	st_shifted_release(&replacing->shifted);
}

static bool is_chosen(const struct replacing *replacing, size_t number) {
	return replacing->chosen == 0 || number == replacing->chosen;
}

/* Find all matches, record their lines, and replace the chosen ones. */
static int replace_matches(struct replacing *replacing, struct stet_error *err) {
	struct st_places *found = &replacing->done->found;
	enum st_which which = replacing->request->occurrence.which;
	struct st_span span, last = {0};
	size_t line = 1;

	replacing->chosen = which == ST_ALL   ? 0
	                    : which == ST_NTH ? replacing->request->occurrence.number
	                                      : 1;
	if (which == ST_LAST)
		replacing->chosen = SIZE_MAX;
	for (size_t at = 0; st_find_next(&replacing->find, &span); last = span) {
		if (st_cancel_check(span.end - last.end + ST_FIND_WORK, err) < 0)
			return STET_E_CANCELLED;
		if (found->count < ST_PLACES_MAX) {
			line += st_line_ends(st_str_slice(replacing->text, at, replacing->text.len),
			                     span.start - at);
			at = span.start;
			found->lines[found->count++] = line;
		}
		if (is_chosen(replacing, ++found->total))
			st_splice_put(&replacing->splice, span);
	}
	if (which == ST_LAST && found->total > 0) {
		replacing->chosen = found->total;
		st_splice_put(&replacing->splice, last);
	}
	return 0;
}

/* Replace the only match with another indentation, if the request allows it. @return 1, 0 or a failure. */
static int replace_shifted(struct replacing *replacing, size_t max, struct stet_error *err) {
	const struct st_replace *request = replacing->request;
	const struct st_occurrence *occurrence = &request->occurrence;
	if (occurrence->which == ST_NTH && occurrence->number > 1)
		return 0;
	int found = st_shifted_find(&replacing->shifted, replacing->text, request->old_text,
	                            request->new_text, err);
	if (found <= 0)
		return found;
	struct st_span span = replacing->shifted.span;
	st_splice_release(&replacing->splice);
	st_splice_init(&replacing->splice, replacing->text,
	               st_str_slice(replacing->text, span.start, span.end),
	               st_buf_str(&replacing->shifted.new_text), max);
	st_splice_put(&replacing->splice, span);
	replacing->chosen = 1;
	replacing->done->shift = replacing->shifted.shift;
	replacing->done->found.total = replacing->done->found.count = 1;
	replacing->done->found.lines[0] = st_line_ends(replacing->text, span.start) + 1;
	return 1;
}

static int fail_beyond(const struct replacing *replacing, struct stet_error *err) {
	const struct st_places *found = &replacing->done->found;
	st_auto(st_buf) lines = ST_BUF_INIT;
	st_places_add(&lines, found, ST_PLACES_NAMED);
	return st_fail(err, STET_E_INVALID,
	               "\"occurrence\" %zu is out of range: oldText occurs %zu %s, at %s. Nothing was "
	               "changed. Use \"first\", \"last\", \"all\", or a number from 1 to %zu.",
	               replacing->request->occurrence.number, found->total,
	               st_plural(found->total, "time", "times"), st_buf_cstr(&lines), found->total);
}

/*
 * By how many lines the text after a replaced span moved; may wrap below 0. Count from one byte
 * before the span: whether a CR there is a line ending of its own depends on the byte after it.
 */
static size_t line_shift(const struct replacing *replacing) {
	const struct st_splice *splice = &replacing->splice;
	struct st_str out = st_buf_str(&splice->out);
	size_t from = splice->old_first.start - (splice->old_first.start > 0);
	size_t was = st_line_ends(st_str_slice(replacing->text, from, replacing->text.len),
	                          splice->old_first.end - from);
	size_t is = st_line_ends(st_str_slice(out, from, out.len), splice->new_first.end - from);
	return is - was;
}

/* List the matches that were not replaced, with their line numbers in the new text. */
static void list_others(struct replacing *replacing) {
	const struct st_places *found = &replacing->done->found;
	struct st_places *others = &replacing->done->others;
	if (replacing->chosen == 0 || found->total == 1)
		return;
	size_t shift = line_shift(replacing);
	others->total = found->total - 1;
	for (size_t i = 0; i < found->count; i++) {
		if (i + 1 != replacing->chosen)
			others->lines[others->count++] =
				found->lines[i] + (i + 1 > replacing->chosen ? shift : 0);
	}
}

/*
 * The lines of the new text that the replacements touch. Both texts are the same up to the first
 * replaced span, and replace_matches() counted the endings before it. Count again from one byte
 * before the span: whether a CR there ends a line depends on the byte after it.
 */
static struct st_touched touched_lines(const struct replacing *replacing) {
	const struct st_splice *splice = &replacing->splice;
	const struct st_places *found = &replacing->done->found;
	struct st_str out = st_buf_str(&splice->out);
	size_t first = replacing->chosen ? replacing->chosen : 1;
	if (first > found->count)
		return st_touched_of(out, splice->region);

	size_t start = splice->old_first.start, from = start - (start > 0);
	size_t here =
		st_line_ends(st_str_slice(replacing->text, from, replacing->text.len), start - from);
	return st_touched_from(out, splice->region, from, found->lines[first - 1] - 1 - here);
}

static int fill_details(struct replacing *replacing, struct stet_error *err) {
	struct st_replaced *done = replacing->done;
	const struct st_splice *splice = &replacing->splice;
	struct st_str out = st_buf_str(&splice->out);

	done->noop = !splice->changed;
	done->replaced = done->noop ? 0 : splice->count;
	done->touched = touched_lines(replacing);
	list_others(replacing);
	st_preview_add(&done->before,
	               st_str_slice(replacing->text, splice->old_first.start, splice->old_first.end));
	st_preview_add(&done->after, st_str_slice(out, splice->new_first.start, splice->new_first.end));
	if (done->before.failed || done->after.failed)
		return st_fail_nomem(err);
	return st_context_of_span(&done->context, out, splice->region, done->touched, err);
}

int st_occurrence_parse(struct st_occurrence *occurrence, struct st_str word,
                        struct stet_error *err) {
	static const struct {
		const char *name;
		enum st_which which;
	} names[] = {{"first", ST_FIRST}, {"last", ST_LAST}, {"all", ST_ALL}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (is_choice(word, names[i].name)) {
			*occurrence = (struct st_occurrence){.which = names[i].which};
			return 0;
		}
	}
	size_t number;
	if (read_number(word, &number) && number > 0) {
		*occurrence = (struct st_occurrence){ST_NTH, number};
		return 0;
	}
	st_auto(st_buf) quoted = ST_BUF_INIT;
	st_quote_text(&quoted, word, 80);
	return st_fail(
		err, STET_E_INVALID,
		"\"occurrence\" cannot be %s. Use \"first\", \"last\", \"all\", or a number counted from "
		"1, such as \"2\" for the second.",
		st_buf_cstr(&quoted));
}

void st_replaced_release(struct st_replaced *done) {
	st_buf_release(&done->text);
	st_buf_release(&done->before);
	st_buf_release(&done->after);
	st_context_release(&done->context);
	*done = (struct st_replaced){0};
}

int st_replace_apply(struct st_str text, const struct st_replace *request, struct st_replaced *done,
                     struct stet_error *err) {
	st_auto(replacing) replacing = {.text = text, .request = request, .done = done};
	size_t max = request->max_size ? request->max_size : ST_REPLACE_MAX;
	int code;

	if (request->old_text.len == 0) {
		return st_fail(err, STET_E_INVALID,
		               "oldText is empty. Give the text to replace, as it is in the file.");
	}
	if ((code = st_find_init(&replacing.find, text, request->old_text, err)) < 0)
		return code;
	st_splice_init(&replacing.splice, text, request->old_text, request->new_text, max);
	if ((code = replace_matches(&replacing, err)) < 0)
		return code;
	if (done->found.total == 0 && (code = replace_shifted(&replacing, max, err)) < 0)
		return code;
	if (done->found.total == 0)
		return st_explain_no_match(&done->nearest, text, request->old_text, request->new_text, "",
		                           err);
	if (replacing.splice.count == 0 && !replacing.splice.too_big)
		return fail_beyond(&replacing, err);
	if ((code = st_splice_end(&replacing.splice, err)) < 0 ||
	    (code = fill_details(&replacing, err)) < 0)
		return code;
	st_buf_move(&done->text, &replacing.splice.out);
	return 0;
}
