/*
 * Search and replace: bytes outside the matches stay, the result describes the new text correctly,
 * a text that occurs is found, and the message about one that does not is valid UTF-8 and bounded.
 *
 * Input: occurrence, length of the old text, length of the new text, then these two and the text.
 */
#include "text/patch/replace.h"

#include <stdint.h>

#include "base/utf8.h"
#include "text/patch/edits.h"
#include "text/hint/explain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool truth) {
	if (!truth)
		abort();
}

struct input {
	struct st_occurrence occurrence;
	struct st_str old_text;
	struct st_str new_text;
	struct st_str text;
};

static bool read_input(struct st_str data, struct input *input) {
	if (data.len < 3)
		return false;
	unsigned char which = (unsigned char)data.ptr[0];
	size_t old_len = (unsigned char)data.ptr[1], new_len = (unsigned char)data.ptr[2];
	if (data.len - 3 < old_len + new_len)
		return false;
	input->occurrence = (struct st_occurrence){which % 4, which / 4 + 1};
	input->old_text = st_str_slice(data, 3, 3 + old_len);
	input->new_text = st_str_slice(data, 3 + old_len, 3 + old_len + new_len);
	input->text = st_str_slice(data, 3 + old_len + new_len, data.len);
	return true;
}

static void check_context(const struct st_context *context, struct st_touched touched) {
	must(context->before_count <= ST_CONTEXT_LINES && context->after_count <= ST_CONTEXT_LINES);
	for (size_t i = 0; i < context->before_count; i++) {
		must(context->before[i].number <= touched.first);
		must(st_utf8_valid(st_buf_str(&context->before[i].text)));
	}
	for (size_t i = 0; i < context->after_count; i++) {
		must(context->after[i].number >= touched.last && context->after[i].number <= touched.total);
		must(st_utf8_valid(st_buf_str(&context->after[i].text)));
	}
}

static void check_success(const struct input *input, const struct st_replaced *done) {
	struct st_str out = st_buf_str(&done->text), text = input->text;
	size_t lines = st_line_count(out);
	must(done->noop == st_str_eq(out, text));
	must(done->replaced <= done->found.total);
	must(done->touched.total == lines);
	must(done->touched.first >= 1 && done->touched.first <= done->touched.last);
	must(done->touched.last <= (lines ? lines : 1));
	must(st_utf8_valid(st_buf_str(&done->before)) && st_utf8_valid(st_buf_str(&done->after)));
	check_context(&done->context, done->touched);
	for (size_t i = 0; i < done->others.count; i++)
		must(done->others.lines[i] >= 1 && done->others.lines[i] <= (lines ? lines : 1));
}

/* Without line endings, compare with a replacement made by hand. */
static void check_bytes(const struct input *input, const struct st_replaced *done) {
	if (memchr(input->new_text.ptr, '\n', input->new_text.len) || st_bom_len(input->new_text))
		return;
	st_auto(st_find) find = {0};
	st_auto(st_buf) expected = ST_BUF_INIT;
	struct st_span span;
	size_t copied = 0, number = 0, chosen = input->occurrence.number;
	if (input->occurrence.which == ST_FIRST)
		chosen = 1;
	if (input->occurrence.which == ST_LAST)
		chosen = done->found.total;
	must(st_find_init(&find, input->text, input->old_text, NULL) == 0);
	while (st_find_next(&find, &span)) {
		must(span.start < span.end && span.end <= input->text.len && span.start >= copied);
		if (input->occurrence.which != ST_ALL && ++number != chosen)
			continue;
		st_buf_add(&expected, st_str_slice(input->text, copied, span.start));
		st_buf_add(&expected, input->new_text);
		copied = span.end;
	}
	st_buf_add(&expected, st_str_slice(input->text, copied, input->text.len));
	must(done->noop || st_str_eq(st_buf_str(&expected), st_buf_str(&done->text)));
}

static void check_missing(const struct input *input, const struct st_replaced *done,
                          const struct stet_error *err) {
	must(done->found.total == 0);
	must(st_utf8_valid(st_str(err->message)));
	for (size_t i = 0; i < done->nearest.count; i++) {
		const struct st_near *near = &done->nearest.list[i];
		must(near->span.start <= near->span.end && near->span.end <= input->text.len);
		must(near->first >= 1 && near->first <= near->last);
		must(near->last <= st_line_count(input->text));
	}
	/* Bytes that occur are found, except for half a CRLF and half a byte order mark. */
	if (input->old_text.ptr[0] != '\n' && !st_bom_len(input->text))
		must(!memmem(input->text.ptr, input->text.len, input->old_text.ptr, input->old_text.len));
}

static void check_replace(const struct input *input) {
	static struct st_replaced done;
	struct stet_error err = {0};
	struct st_replace request = {input->old_text, input->new_text, input->occurrence, 1 << 20};
	memset(&done, 0, sizeof done);
	int code = st_replace_apply(input->text, &request, &done, &err);
	if (code == 0) {
		check_success(input, &done);
		check_bytes(input, &done);
	} else {
		must(code == err.code && err.message[0] && done.text.ptr == NULL);
		if (code == STET_E_NO_MATCH)
			check_missing(input, &done, &err);
	}
	st_replaced_release(&done);
}

static void check_edits(const struct input *input) {
	struct st_edit edits[] = {
		{input->old_text, input->new_text, true},
		{input->new_text, input->old_text, input->occurrence.number % 2},
		{input->old_text, input->new_text, false},
	};
	struct st_edited results[3];
	st_auto(st_buf) out = ST_BUF_INIT;
	if (st_edits_apply(input->text, edits, 3, 1 << 20, results, &out, NULL, NULL) < 0) {
		must(out.ptr == NULL);
		return;
	}
	size_t lines = st_line_count(st_buf_str(&out));
	for (size_t i = 0; i < 3; i++) {
		must(results[i].span.start <= results[i].span.end && results[i].span.end <= out.len);
		must(results[i].first >= 1 && results[i].first <= results[i].last);
		must(results[i].last <= (lines ? lines : 1));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	struct input input;
	if (!read_input(st_strn((const char *)data, len), &input))
		return 0;
	check_replace(&input);
	check_edits(&input);
	return 0;
}
