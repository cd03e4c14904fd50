/* stet check: compare files with the versions that the session has seen. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static enum style style_of(const char *status) {
	return strcmp(status, "clean") == 0 ? GREEN : strcmp(status, "untracked") == 0 ? DIM : RED;
}

static void print_standing(const struct arguments *args, const struct stet_answer *answer,
                           const char *path) {
	const char *status = stet_answer_status(answer);
	size_t len = 0;
	const char *diff = stet_answer_diff(answer, &len);
	printf("%s%-9s%s  ", paint(stdout, style_of(status)), status, paint(stdout, PLAIN));
	put_name(stdout, path);
	putchar('\n');
	if (has_option(args, "--diff") && diff)
		put_diff(stdout, diff, len);
}

/* Whether a file does not exist. */
static bool is_missing(const struct cli *cli, const char *path) {
	char whole[8192];
	snprintf(whole, sizeof whole, "%s/%s", path[0] == '/' ? "" : stet_workspace_root(cli->ws),
	         path);
	return access(whole, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Check a file. For one that was never seen and does not exist, fail as a read does. */
static int check_file(struct cli *cli, const char *path, struct stet_answer **answer,
                      struct stet_error *err) {
	int code = stet_session_check(cli->session, path, answer, err);
	if (code < 0 || strcmp(stet_answer_status(*answer), "untracked") != 0 || !is_missing(cli, path))
		return code;
	stet_answer_free(*answer);
	*answer = NULL;
	return stet_session_read(cli->session, path, 1, 1, answer, err);
}

/* Add the answer of the tool check_conflict for the n-th file. */
static int add_checked_file(struct cli *cli, struct stet_json *json, size_t n, const char *path,
                            struct stet_error *err) {
	struct stet_json *args = cli_args(path), *answer = NULL;
	size_t len = 0;
	char at[32], *text = args ? stet_json_write(args, 0, &len) : NULL, *out = NULL, *file = NULL;
	int code = stet_call(cli->session, "check_conflict", text, text ? len : 0, &out, &len, err);
	if (code == 0)
		code = stet_json_parse(out, len, 0, &answer, err);
	if (code == 0)
		file = stet_json_write_at(answer, "/structuredContent", 0, &len);
	if (file)
		stet_json_set_json(json, "/files/-", file, len);
	snprintf(at, sizeof at, "/files/%zu/path", n);
	if (file)
		stet_json_set_text(json, at, path, strlen(path));
	stet_free(file);
	stet_free(out);
	stet_free(text);
	stet_json_free(answer);
	stet_json_free(args);
	return code;
}

static int report_file(struct cli *cli, const struct arguments *args, struct stet_json *json,
                       int n) {
	struct stet_answer *answer = NULL;
	struct stet_error err = {0};
	const char *path = args->operands[n];
	char at[32];
	int code = check_file(cli, path, &answer, &err);
	bool conflict = code == 0 && stet_answer_has_conflict(answer);
	if (code == 0 && json)
		code = add_checked_file(cli, json, (size_t)n, path, &err);
	else if (code == 0)
		print_standing(args, answer, path);
	stet_answer_free(answer);
	if (code == 0)
		return conflict ? REFUSED : DONE;
	if (!json)
		return report(&err);
	stet_json_set_json(json, "/files/-", "{}", 2);
	snprintf(at, sizeof at, "/files/%d", n);
	add_failure(json, at, path, &err);
	return stet_error_exit(code);
}

static void set_conflict(struct stet_json *json) {
	static const char message[] = "Files have changed since the session read them.";
	stet_json_set_text(json, "/status", "conflict", 8);
	stet_json_set_text(json, "/error", "conflict", 8);
	stet_json_set_text(json, "/message", message, sizeof message - 1);
}

static int run_check(const struct options *options, const struct arguments *args) {
	struct cli cli;
	int worst = DONE, status = cli_open(&cli, options);
	if (status != DONE)
		return status;
	struct stet_json *json = options->json ? stet_json_new() : NULL;
	if (options->json && !json)
		return cli_close(&cli, report_nomem());
	for (int i = 0; i < args->count; i++) {
		status = report_file(&cli, args, json, i);
		worst = status > worst ? status : worst;
	}
	if (json && worst == REFUSED)
		set_conflict(json);
	status = json ? put_json(json) : done();
	stet_json_free(json);
	return cli_close(&cli, status != DONE ? status : worst);
}

static const struct option options[] = {
	{"--diff", NULL, "show what changed"},
	OPTIONS_END,
};

const struct command check_command = {
	.name = "check",
	.summary = "compare files with what the session read",
	.synopsis = "PATH...",
	.description =
		"Prints clean, modified, deleted or untracked for each file. The exit status is 1 if a "
		"file is modified or deleted. Checking a file does not count as reading it.",
	.min = 1,
	.max = -1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet --session me check --diff src/main.c", "what others changed in a file"},
			{0},
		},
	.run = run_check,
};
