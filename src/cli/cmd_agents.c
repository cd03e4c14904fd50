/* stet agents: the instruction files of a workspace, or those that apply to a path. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

struct request {
	bool paths;
	bool json;
	const char *path;
};

/* 0, or the exit status of a usage error. */
static int parse(const struct options *options, int argc, char **argv, struct request *request) {
	bool only_paths = false;
	request->json = options->json;
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];
		if (only_paths || arg[0] != '-' || arg[1] == '\0') {
			if (request->path)
				return usage_error(&agents_command, "one path is enough, and a second one is", arg);
			request->path = arg;
		} else if (strcmp(arg, "--") == 0) {
			only_paths = true;
		} else if (strcmp(arg, "--paths") == 0) {
			request->paths = true;
		} else if (strcmp(arg, "--json") == 0) {
			request->json = true;
		} else {
			return usage_error(&agents_command, "there is no option", arg);
		}
	}
	return 0;
}

/* A path by line: only what is loaded, so that a script can go by it. */
static void print_paths(const struct stet_agents *agents) {
	for (size_t i = 0; i < stet_agents_count(agents); i++) {
		if (!stet_agents_skipped(agents, i))
			puts(stet_agents_path(agents, i));
	}
}

static void print_index(const struct stet_agents *agents) {
	for (size_t i = 0; i < stet_agents_count(agents); i++) {
		const char *skipped = stet_agents_skipped(agents, i);
		printf("%7zu  %s%s%s\n", stet_agents_size(agents, i), stet_agents_path(agents, i),
		       skipped ? "  not loaded: " : "", skipped ? skipped : "");
	}
}

static void print_blocks(const struct stet_agents *agents) {
	for (size_t i = 0; i < stet_agents_count(agents); i++) {
		size_t len = 0;
		const char *block = stet_agents_block(agents, i, &len);
		if (i > 0)
			put("\n", 1);
		put(block, len);
		if (len > 0 && block[len - 1] != '\n')
			put("\n", 1);
	}
}

static int print_json(const struct stet_agents *agents, struct stet_error *err) {
	char *json = stet_agents_json(agents);
	if (!json) {
		err->code = STET_E_NOMEM;
		snprintf(err->message, sizeof err->message, "Out of memory.");
		return report(err);
	}
	puts(json);
	stet_free(json);
	return 0;
}

static int print(const struct request *request, const struct stet_agents *agents,
                 struct stet_error *err) {
	const char *notice;
	int status = 0;
	if (request->json)
		status = print_json(agents, err);
	else if (request->paths)
		print_paths(agents);
	else if (request->path)
		print_blocks(agents);
	else
		print_index(agents);
	for (size_t i = 0; !request->json && (notice = stet_agents_notice(agents, i)); i++)
		fprintf(stderr, "stet: %s\n", notice);
	return status ? status : flush_output();
}

static int run(const struct options *options, int argc, char **argv) {
	struct request request = {0};
	struct stet_error err = {0};
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct stet_agents *agents = NULL;
	int status = parse(options, argc, argv, &request);
	if (status != 0)
		return status;
	int code = stet_workspace_open(options->root, &ws, &err);
	if (code == 0)
		code = stet_session_open(ws, options->session, &session, &err);
	if (code == 0)
		code = request.path ? stet_agents_all(session, request.path, &agents, &err)
		                    : stet_agents_index(ws, &agents, &err);
	status = code < 0 ? report(&err) : print(&request, agents, &err);
	stet_agents_free(agents);
	stet_session_close(session);
	stet_workspace_close(ws);
	return status;
}

const struct command agents_command = {
	.name = "agents",
	.summary = "show the AGENTS.md files, or those that apply to a path",
	.usage =
		"[--paths] [--json] [PATH]\n"
		"\n"
		"Without PATH: every instruction file with its size, and why one is not loaded.\n"
		"With PATH: the texts that apply to it, the root's first.\n"
		"\n"
		"  --paths  print only the paths of files that are loaded, one per line\n"
		"  --json   print JSON\n",
	.run = run,
};
