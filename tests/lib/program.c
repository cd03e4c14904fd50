#include "lib/program.h"

/* The first line of what a command prints with --help. */
static void read_usage(const struct dir *dir, const char *name, struct st_buf *usage) {
	assert_int_equal(
		run(dir, usage, (const char *[]){"sh", "-c", "\"$STET\" \"$0\" --help", name, NULL}), 0);
	const char *end = strchr(st_buf_cstr(usage), '\n');
	assert_non_null(end);
	st_buf_truncate(usage, (size_t)(end - usage->ptr));
}

void program_each_command(const struct dir *dir,
                          void (*each)(void *data, const char *name, const char *usage),
                          void *data) {
	st_auto(st_buf) help = ST_BUF_INIT;
	assert_int_equal(run(dir, &help, (const char *[]){"sh", "-c", "\"$STET\" --help", NULL}), 0);
	const char *line = strstr(st_buf_cstr(&help), "\nCommands\n");
	assert_non_null(line);
	size_t count = 0;
	for (line += strlen("\nCommands\n"); line[0] == ' '; line = strchr(line, '\n') + 1) {
		st_auto(st_buf) usage = ST_BUF_INIT;
		char name[32];
		assert_int_equal(sscanf(line, " %31s", name), 1);
		read_usage(dir, name, &usage);
		each(data, name, usage.ptr);
		count++;
	}
	assert_true(count > 10);
}
