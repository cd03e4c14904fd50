/* stet write: write a whole file, from another file or standard input. */
#include <stdlib.h>

#include "cli/cli.h"

static int run_write(const struct options *options, const struct arguments *args) {
	char *content = NULL;
	size_t len = 0;
	struct stet_json *json = cli_change_args(args);
	int status = slurp(args->count > 1 ? operand(args, 1) : "-", &content, &len);
	if (json && status == DONE)
		stet_json_set_text(json, "/content", content, len);
	free(content);
	return cli_run(options, status, "write_file", json, show_change);
}

static const struct option options[] = {CHANGE_OPTIONS, OPTIONS_END};

const struct command write_command = {
	.name = "write",
	.summary = "create a file, or replace one that the session has read",
	.synopsis = "PATH [FILE]",
	.description =
		"Writes FILE, or standard input, to PATH. Replaces an existing file only if the session "
		"has read all of its current version. Without --session, --expect with its hash is enough. "
		"The content must be UTF-8.",
	.min = 1,
	.max = 2,
	.options = options,
	.examples =
		(const struct example[]){
			{"echo hello | stet write hello.txt", "a new file"},
			{"stet write config.json new.json --expect 5891b5b522d5df08",
             "replace the file only if it has this hash"},
			{0},
		},
	.run = run_write,
};
