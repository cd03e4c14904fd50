/* stet agents: list the instruction files of a workspace, or print those that apply to a path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* Print the paths of loaded files, one per line, for scripts. */
static void print_paths(const struct stet_instructions *instructions) {
	for (size_t i = 0; i < stet_instructions_count(instructions); i++) {
		const char *path = stet_instructions_path(instructions, i);
		if (stet_instructions_skipped(instructions, i))
			continue;
		put_name(stdout, path);
		putchar('\n');
	}
}

static int print_index(const struct stet_instructions *instructions) {
	struct table table = {.columns = 2, .right = 1u << 0};
	for (size_t i = 0; i < stet_instructions_count(instructions); i++) {
		const char *skipped = stet_instructions_skipped(instructions, i);
		table_addf(&table, "%zu", stet_instructions_size(instructions, i));
		char *remark = NULL;
		if (skipped && asprintf(&remark, "  not loaded: %s", skipped) < 0)
			remark = NULL;
		table_add_name(&table, stet_instructions_path(instructions, i), remark ? remark : "");
		free(remark);
	}
	return table_print(&table);
}

static void print_blocks(const struct stet_instructions *instructions) {
	for (size_t i = 0; i < stet_instructions_count(instructions); i++) {
		size_t len = 0;
		const char *block = stet_instructions_block(instructions, i, &len);
		if (i > 0)
			put(stdout, "\n", 1);
		put_line(stdout, block, len);
	}
}

static int print_instructions_json(const struct stet_instructions *instructions) {
	struct stet_error err = {0};
	struct stet_json *json = NULL;
	char *text = stet_instructions_json(instructions);
	if (!text)
		return report_nomem();
	int status =
		stet_json_parse(text, strlen(text), 0, &json, &err) < 0 ? report(&err) : put_json(json);
	stet_json_free(json);
	stet_free(text);
	return status;
}

static int print_instructions(const struct options *options, const struct arguments *args,
                              const struct stet_instructions *instructions) {
	const char *notice;
	int status = DONE;
	if (options->json)
		status = print_instructions_json(instructions);
	else if (has_option(args, "--paths"))
		print_paths(instructions);
	else if (args->count > 0)
		print_blocks(instructions);
	else
		status = print_index(instructions);
	for (size_t i = 0; !options->json && (notice = stet_instructions_notice(instructions, i)); i++)
		complain("%s", notice);
	return status != DONE ? status : done();
}

static int run_agents(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	struct stet_instructions *instructions = NULL;
	struct cli cli;
	int status = cli_open(&cli, options);
	if (status != DONE)
		return status;
	const char *path = operand(args, 0);
	progress_begin("Searching for AGENTS.md files");
	int code = path ? stet_instructions_all(cli.session, path, &instructions, &err)
	                : stet_instructions_index(cli.ws, &instructions, &err);
	progress_end();
	status = code < 0 ? report(&err) : print_instructions(options, args, instructions);
	stet_instructions_free(instructions);
	return cli_close(&cli, status);
}

static const struct option options[] = {
	{"--paths", NULL, "print only the paths of files that are loaded, one per line"},
	OPTIONS_END,
};

const struct command agents_command = {
	.name = "agents",
	.summary = "show the AGENTS.md files, or those that apply to a path",
	.synopsis = "[PATH]",
	.description =
		"Without PATH, lists every instruction file with its size, and the reason if it is not "
		"loaded. With PATH, prints the instructions that apply to it, the root's first.",
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet agents", "every AGENTS.md of the workspace"},
			{"stet agents src/main.c", "the instructions that apply to a file"},
			{0},
		},
	.run = run_agents,
};
