#include "lib/npm.h"

#include "lib/run.h"

const char *npm_or_skip(const struct dir *dir) {
	static char path[512];
	st_auto(st_buf) output = ST_BUF_INIT;
	const char *const argv[] = {"sh", "-c", "exec \"$0\" 2>&1", STET_SOURCE_ROOT "/tools/npm",
	                            NULL};
	int status = run(dir, &output, argv);
	if (output.len && output.ptr[output.len - 1] == '\n')
		st_buf_truncate(&output, output.len - 1);
	snprintf(path, sizeof path, "%s", st_buf_cstr(&output));
	st_buf_release(&output);
	if (status == 77)
		skip_because(path);
	assert_int_equal(status, 0);
	return path;
}

void counter_add(struct counter *counter, struct st_str text) {
	st_buf_addf(&counter->texts, "%zu\n", text.len);
	st_buf_add(&counter->texts, text);
	counter->count++;
	assert_false(counter->texts.failed);
}

void counter_run(struct counter *counter, const struct dir *dir) {
	char node[600];
	st_auto(st_buf) output = ST_BUF_INIT;
	dir_write_bytes(dir, "texts", counter->texts.ptr, counter->texts.len);
	st_buf_release(&counter->texts);
	snprintf(node, sizeof node, "%s/node", npm_or_skip(dir));
	const char *const argv[] = {node, STET_SOURCE_ROOT "/tests/npm/count.mjs", "texts", NULL};
	assert_int_equal(run(dir, &output, argv), 0);

	counter->counts = test_calloc(counter->count + 1, sizeof *counter->counts);
	char *at = output.ptr;
	for (size_t i = 0; i < counter->count; i++)
		counter->counts[i] = strtoul(at, &at, 10);
	assert_string_equal(at, "\n");
}

void counter_release(struct counter *counter) {
	st_buf_release(&counter->texts);
	test_free(counter->counts);
	*counter = (struct counter){0};
}
