/*
 * Imports: candidates come in order, do not overlap and lie in the text; a text
 * inside a code fence has none. Input: the text.
 */
#include "base/buf.h"
#include "text/markdown/imports.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool truth) {
	if (!truth)
		abort();
}

static void check_spans(struct st_str text) {
	struct st_imports imports = ST_IMPORTS(text);
	struct st_span span;
	size_t done = 0;
	while (st_imports_next(&imports, &span)) {
		must(span.start >= done && span.end <= text.len && span.end > span.start + 1);
		must(text.ptr[span.start] == '@');
		struct st_str path = st_import_path(text, span);
		for (size_t i = 0; i < path.len; i++)
			must(!st_is_space(path.ptr[i]) && path.ptr[i] != '\0');
		done = span.end;
	}
}

/* A text cannot close a fence that is longer than any run of backticks in it. */
static void check_fenced(struct st_str text) {
	st_auto(st_buf) fenced = ST_BUF_INIT;
	for (size_t i = 0; i < text.len + 3; i++)
		st_buf_addc(&fenced, '~');
	st_buf_addc(&fenced, '\n');
	st_buf_add(&fenced, text);
	must(!fenced.failed);
	struct st_imports imports = ST_IMPORTS(st_buf_str(&fenced));
	struct st_span span;
	must(!st_imports_next(&imports, &span));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	struct st_str text = st_strn((const char *)data, len);
	check_spans(text);
	check_fenced(text);
	return 0;
}
