/* stet hash: print the hashes of files, in the form of sha256sum. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* A hash does not count as reading the file, so use a temporary session. */
static int hash_file(struct stet_workspace *ws, const char *path, char digits[65],
                     struct stet_error *err) {
	struct stet_session *session = NULL;
	struct stet_answer *answer = NULL;
	int code = stet_session_open(ws, NULL, &session, err);
	if (code == 0)
		code = stet_session_track_read(session, path, err);
	if (code == 0)
		code = stet_session_check(session, path, &answer, err);
	if (code == 0)
		snprintf(digits, 65, "%s", stet_answer_full_hash(answer));
	stet_answer_free(answer);
	stet_session_close(session);
	return code;
}

/* Add an element to the answer; `at` receives its JSON pointer. */
static void add_element(struct stet_json *json, size_t n, char at[32]) {
	stet_json_set_json(json, "/files/-", "{}", 2);
	snprintf(at, 32, "/files/%zu", n);
}

static void add_hash(struct stet_json *json, size_t n, const char *path, const char *digits) {
	char at[32], pointer[64];
	add_element(json, n, at);
	snprintf(pointer, sizeof pointer, "%s/path", at);
	stet_json_set_text(json, pointer, path, strlen(path));
	snprintf(pointer, sizeof pointer, "%s/hash", at);
	stet_json_set_text(json, pointer, digits, strlen(digits));
}

static void print_line(const char *digits, const char *path) {
	printf("%s  ", digits);
	put_name(stdout, path);
	putchar('\n');
}

/* Print the hash of the n-th file, or add it to the answer. */
static int hash_operand(struct cli *cli, struct stet_json *json, size_t n, const char *path) {
	struct stet_error err = {0};
	char at[32], digits[65];
	int code = hash_file(cli->ws, path, digits, &err);
	if (code == 0 && json) {
		add_hash(json, n, path, digits);
	} else if (code == 0) {
		print_line(digits, path);
	} else if (json) {
		add_element(json, n, at);
		add_failure(json, at, path, &err);
	} else {
		report(&err);
	}
	return stet_error_exit(code);
}

/* Print the hash of standard input, or add it to the answer. */
static int hash_input(struct stet_json *json, size_t n) {
	struct stet_error err = {0};
	char digits[65], *text = NULL;
	size_t len = 0;
	int status = slurp("-", &text, &len);
	if (status == DONE && stet_text_hash(text, len, digits, &err) < 0)
		status = report(&err);
	free(text);
	if (status == DONE && json)
		add_hash(json, n, "-", digits);
	else if (status == DONE)
		print_line(digits, "-");
	return status;
}

static int run_hash(const struct options *options, const struct arguments *args) {
	struct cli cli;
	int worst = DONE, status = cli_open(&cli, options);
	if (status != DONE)
		return status;
	struct stet_json *json = options->json ? stet_json_new() : NULL;
	if (options->json && !json)
		return cli_close(&cli, report_nomem());
	for (int i = 0; i < args->count; i++) {
		const char *path = args->operands[i];
		status = strcmp(path, "-") == 0 ? hash_input(json, (size_t)i)
		                                : hash_operand(&cli, json, (size_t)i, path);
		worst = status != DONE ? status : worst;
	}
	status = json ? put_json(json) : done();
	stet_json_free(json);
	return cli_close(&cli, status != DONE ? status : worst);
}

const struct command hash_command = {
	.name = "hash",
	.summary = "print the SHA-256 of files",
	.synopsis = "PATH...",
	.description =
		"Prints the SHA-256 of each file, as sha256sum does. --expect takes the first 16 digits "
		"or more of it. Printing the hash does not count as reading the file. A PATH of - is "
		"standard input.",
	.min = 1,
	.max = -1,
	.input = true,
	.examples = (const struct example[]){{"stet hash README.md", "the hash of a file"}, {0}},
	.run = run_hash,
};
