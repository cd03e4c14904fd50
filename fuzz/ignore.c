/*
 * Ignore rules: any bytes compile, and a rule appended at the end decides.
 * Input: the length of the path in a byte, path, rules.
 */
#include "base/buf.h"
#include "fs/tree/ignore.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool truth) {
	if (!truth)
		abort();
}

static bool ignores(struct st_ignore *parent, struct st_str rules, const char *last,
                    struct st_str path, struct st_ignore_reason *reason) {
	st_auto(st_buf) bytes = ST_BUF_INIT;
	st_buf_add(&bytes, rules);
	st_buf_adds(&bytes, last);
	struct st_ignore *node = st_ignore_new(parent, ST_STR("a"), st_buf_str(&bytes));
	must(node);
	bool ignored = st_ignore_match(node, path, rules.len % 2, reason);
	must(reason->line > 0 || !ignored);
	must((reason->line == 0) == (reason->rule.len == 0));
	st_ignore_drop(node);
	return ignored;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	if (len < 1 || data[0] > len - 1)
		return 0;
	struct st_str path = st_strn((const char *)data + 1, data[0]);
	struct st_str rules = st_strn(path.ptr + path.len, len - 1 - path.len);
	struct st_ignore_reason reason;
	if (path.len == 0 || path.ptr[0] == '/' || path.ptr[path.len - 1] == '/')
		return 0;

	struct st_ignore *parent = st_ignore_new(NULL, ST_STR(""), rules);
	must(parent);
	must(ignores(parent, rules, "\n*\n", path, &reason));
	must(!ignores(parent, rules, "\n!*", path, &reason));
	ignores(parent, rules, "", path, &reason);
	st_ignore_drop(parent);
	return 0;
}
