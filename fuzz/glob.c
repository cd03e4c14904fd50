/*
 * Globs: any bytes are a pattern, matching ends in time, and a negated pattern
 * matches exactly the other paths. Input: the length of the path in a byte, path,
 * pattern.
 */
#include "text/find/glob.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Whether a pattern matches a path; -1 if it exceeds the limits. */
static int match(struct st_str pattern, struct st_str path) {
	struct st_glob *glob = NULL;
	if (st_glob_new(pattern, &glob, NULL) < 0)
		return -1;
	bool found = st_glob_match(glob, path, pattern.len % 2);
	st_glob_free(glob);
	return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	if (len < 1 || data[0] > len - 1)
		return 0;
	struct st_str path = st_strn((const char *)data + 1, data[0]);
	struct st_str pattern = st_strn(path.ptr + path.len, len - 1 - path.len);
	if (path.len == 0 || path.ptr[0] == '/' || path.ptr[path.len - 1] == '/')
		return 0;
	st_auto(st_buf) negated = ST_BUF_INIT;
	st_buf_adds(&negated, "!!!");
	st_buf_add(&negated, pattern);
	int one = match(pattern, path), other = match(st_buf_str(&negated), path);
	/* The "!" of "!(" is no negation, and three more bytes may make a pattern too long. */
	bool own = pattern.len > 0 && pattern.ptr[0] == '(';
	/* Some patterns match directories only, and match() takes the file type from the length. */
	bool dirs = memchr(pattern.ptr, '/', pattern.len) != NULL;
	if (one >= 0 && other >= 0 && !own && !dirs && one == other)
		abort();
	return 0;
}
