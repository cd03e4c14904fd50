#include "text/hint/context.h"

#include "base/utf8.h"

/* Count the line endings between two offsets; a CRLF counts at its LF. */
static size_t ends_between(struct st_str text, size_t from, size_t to) {
	return st_line_ends(st_str_slice(text, from, text.len), to - from);
}

struct st_touched st_touched_from(struct st_str text, struct st_span span, size_t from,
                                  size_t ends) {
	struct st_touched touched = {0};
	size_t last = span.end > span.start ? span.end - 1 : span.start;

	touched.first = ends + ends_between(text, from, span.start) + 1;
	touched.last = touched.first + ends_between(text, span.start, last);
	touched.total = touched.last - 1 + ends_between(text, last, text.len);
	if (text.len && st_eol_of(text) == ST_EOL_NONE)
		touched.total++;

	/* No line follows a final newline, so a deletion there touches the last line. */
	size_t most = touched.total ? touched.total : 1;
	if (touched.last > most)
		touched.last = most;
	if (touched.first > touched.last)
		touched.first = touched.last;
	return touched;
}

struct st_touched st_touched_of(struct st_str text, struct st_span span) {
	return st_touched_from(text, span, 0, 0);
}

void st_context_release(struct st_context *context) {
	for (size_t i = 0; i < ST_CONTEXT_LINES; i++) {
		st_buf_release(&context->before[i].text);
		st_buf_release(&context->after[i].text);
	}
	*context = (struct st_context){0};
}

/* Copy the line that starts at an offset. @return Where the next line starts. */
static size_t copy_line(struct st_context_line *line, struct st_str text, size_t start,
                        size_t number) {
	struct st_str body = st_line_body(text, start);
	line->number = number;
	st_preview_add(&line->text, st_str_slice(body, start ? 0 : st_bom_len(body), body.len));
	return st_line_end(text, start);
}

static bool has_failed(const struct st_context *context) {
	for (size_t i = 0; i < ST_CONTEXT_LINES; i++) {
		if (context->before[i].text.failed || context->after[i].text.failed)
			return true;
	}
	return false;
}

/* The lines between the lines before and the lines after. */
struct gap {
	/* Its first line, and the offset of that line. */
	size_t number;
	size_t start;
	/* The line after it, and the offset of that line. */
	size_t next;
	size_t end;
};

static int copy_around(struct st_context *context, struct st_str text, struct gap gap,
                       struct stet_error *err) {
	size_t at = gap.start, before = 0, after = 0;
	while (before < ST_CONTEXT_LINES && at > 0) {
		at = st_line_start(text, at - 1);
		before++;
	}
	for (size_t i = 0; i < before; i++)
		at = copy_line(&context->before[i], text, at, gap.number - before + i);
	for (at = gap.end; after < ST_CONTEXT_LINES && at < text.len; after++)
		at = copy_line(&context->after[after], text, at, gap.next + after);

	context->before_count = before;
	context->after_count = after;
	if (has_failed(context)) {
		st_context_release(context);
		return st_fail_nomem(err);
	}
	return 0;
}

int st_context_of_span(struct st_context *context, struct st_str text, struct st_span span,
                       struct st_touched touched, struct stet_error *err) {
	struct gap gap = {.number = touched.first, .start = st_line_start(text, span.start)};
	if (span.start == span.end && gap.start == span.start) {
		/* At the end of the text, the touched line is the one before the gap. */
		if (gap.start == text.len)
			gap.number = touched.total + 1;
		gap.next = gap.number;
		gap.end = gap.start;
	} else {
		size_t last = span.end > span.start ? span.end - 1 : span.start;
		gap.next = touched.last + 1;
		gap.end = st_line_end(text, last);
	}
	return copy_around(context, text, gap, err);
}

int st_context_of_lines(struct st_context *context, struct st_str text, size_t first, size_t last,
                        struct stet_error *err) {
	struct gap gap = {.number = first, .next = last + 1};
	gap.start = st_line_offset(text, first);
	gap.end = last < first ? gap.start : st_line_offset(text, last + 1);
	return copy_around(context, text, gap, err);
}

void st_preview_add(struct st_buf *buf, struct st_str text) {
	size_t end = 0;
	for (size_t count = 0; count < ST_PREVIEW_CHARS && end < text.len; count++) {
		uint32_t point;
		end += st_utf8_next(st_str_slice(text, end, text.len), &point);
	}
	st_utf8_add_lossy(buf, st_str_slice(text, 0, end));
	if (end < text.len)
		st_buf_adds(buf, "...");
}
