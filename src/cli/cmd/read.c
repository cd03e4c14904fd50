/* stet read: print a file or lines of it, which then count as seen. */
#include <string.h>

#include "cli/cli.h"

/* Print a text with line numbers, in the form of the tool read_file. */
static void put_numbered(const char *text, size_t len, size_t number) {
	for (size_t from = 0; from < len; number++) {
		const char *end = memchr(text + from, '\n', len - from);
		size_t line = end ? (size_t)(end - text) + 1 - from : len - from;
		printf("%6zu\t", number);
		put(stdout, text + from, line);
		from += line;
	}
}

/* Whether to show these instructions: with "nested", the client knows the root's already. */
static bool is_wanted(const struct cli *cli, const struct stet_instructions *instructions,
                      size_t n) {
	return strcmp(stet_config_value(cli->config, "agents"), "nested") != 0 ||
	       strchr(stet_instructions_path(instructions, n), '/');
}

/* Print the instructions that newly apply to standard error, apart from the file. */
static void put_instructions(struct cli *cli, const char *path) {
	struct stet_instructions *instructions = NULL;
	struct stet_error err = {0};
	if (strcmp(stet_config_value(cli->config, "agents"), "false") == 0)
		return;
	if (stet_instructions_for_path(cli->session, path, &instructions, &err) < 0)
		complain("The instructions for this file could not be read. %s", err.message);
	fflush(stdout);
	for (size_t i = 0; instructions && i < stet_instructions_count(instructions); i++) {
		size_t len = 0;
		const char *block = stet_instructions_block(instructions, i, &len);
		if (is_wanted(cli, instructions, i))
			put_line(stderr, block, len);
	}
	stet_instructions_free(instructions);
}

/* Use the library instead of the tool: it gives the bytes unchanged, and all at once. */
static int print_file(struct cli *cli, const struct arguments *args, const char *path,
                      int64_t offset, int64_t limit) {
	struct stet_error err = {0};
	struct stet_answer *answer = NULL;
	size_t len = 0;
	if (stet_session_read(cli->session, path, (size_t)offset, (size_t)limit, &answer, &err) < 0)
		return report(&err);
	const char *text = stet_answer_content(answer, &len);
	if (has_option(args, "--numbers"))
		put_numbered(text, len, stet_answer_first_line(answer));
	else
		put(stdout, text, len);
	int status = done();
	for (size_t i = 0; stet_answer_notice(answer, i); i++)
		complain("%s", stet_answer_notice(answer, i));
	stet_answer_free(answer);
	if (!has_option(args, "--no-agents"))
		put_instructions(cli, path);
	return status;
}

static int call_tool(struct cli *cli, const struct arguments *args, const char *path,
                     int64_t offset, int64_t limit) {
	struct stet_json *json = cli_args(path);
	if (json && offset > 0)
		stet_json_set_int(json, "/offset", offset);
	if (json && limit > 0)
		stet_json_set_int(json, "/limit", limit);
	if (json && has_option(args, "--numbers"))
		stet_json_set_bool(json, "/lineNumbers", 1);
	return cli_call(cli, "read_file", json, NULL);
}

static int run_read(const struct options *options, const struct arguments *args) {
	int64_t offset, limit;
	int status = option_number(args, "--offset", 1, INT64_MAX, 0, &offset);
	if (status == DONE)
		status = option_number(args, "--limit", 1, INT64_MAX, 0, &limit);
	struct cli cli;
	if (status == DONE)
		status = cli_open(&cli, options);
	if (status != DONE)
		return status;
	const char *path = operand(args, 0);
	return cli_close(&cli,
	                 (options->json ? call_tool : print_file)(&cli, args, path, offset, limit));
}

static const struct option options[] = {
	{"--offset", "N", "begin at line N, from 1"},
	{"--limit", "N", "print at most N lines"},
	{"--numbers", NULL, "put the number and a tab before each line"},
	{"--no-agents", NULL, "do not show the AGENTS.md that newly apply"},
	OPTIONS_END,
};

const struct command read_command = {
	.name = "read",
	.summary = "print a file, and remember that the session saw it",
	.synopsis = "PATH",
	.description =
		"Prints the file. With --session, stet remembers the version and the lines: it refuses a "
		"later edit or write of the same session if the file has changed since. Instructions "
		"(AGENTS.md) that newly apply go to standard error.",
	.min = 1,
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet read README.md", "all of a file"},
			{"stet --session me read src/main.c --offset 100 --limit 50", "50 lines, remembered"},
			{0},
		},
	.run = run_read,
};
