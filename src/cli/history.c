/* Shared by the commands about the log: the options that name a run, and printing it. */
#include <string.h>

#include "cli/cli.h"

bool has_run_option(const struct arguments *args) {
	return has_option(args, "--of") || has_option(args, "--story") || has_option(args, "--since");
}

int set_run_options(struct stet_json *json, const struct arguments *args) {
	int64_t id;
	int status = option_number(args, "--id", 1, INT64_MAX, 0, &id);
	set_option(json, "/of", args, "--of");
	set_option(json, "/story", args, "--story");
	set_option(json, "/since", args, "--since");
	if (json && id > 0)
		stet_json_set_int(json, "/id", id);
	return status;
}

void show_history(const struct stet_json *answer) {
	size_t len = 0;
	const char *text = stet_json_text(answer, "/content/0/text", &len);
	if (text)
		put_diff(stdout, text, len);
	if (text && len > 0 && text[len - 1] != '\n')
		putchar('\n');
}
