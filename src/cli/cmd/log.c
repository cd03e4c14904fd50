/* stet log: list the last writes through stet. */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"

/* A member of the n-th write; "-" if there is none. */
static const char *member(const struct stet_json *log, size_t n, const char *key) {
	char pointer[64];
	snprintf(pointer, sizeof pointer, "/%zu/%s", n, key);
	const char *text = stet_json_text(log, pointer, NULL);
	return text ? text : "-";
}

static int64_t number_of(const struct stet_json *log, size_t n, const char *key) {
	char pointer[64];
	snprintf(pointer, sizeof pointer, "/%zu/%s", n, key);
	return stet_json_int(log, pointer, 0);
}

/* Whether the n-th write belongs to the same change set as the one before: they are one entry. */
static bool continues_set(const struct stet_json *log, size_t n) {
	int64_t set = number_of(log, n, "changeSet");
	return n > 0 && set != 0 && set == number_of(log, n - 1, "changeSet");
}

/* The columns that all writes of an entry have in common: only its first line has them. */
static void add_entry(struct table *table, const struct stet_json *log, size_t n) {
	if (continues_set(log, n)) {
		for (int i = 0; i < 3; i++)
			table_add(table, "");
		return;
	}
	table_addf(table, "%" PRId64, number_of(log, n, "id"));
	table_add(table, member(log, n, "time"));
	table_add_name(table, member(log, n, "session"), "");
}

static void add_write(struct table *table, const struct stet_json *log, size_t n) {
	char pointer[64];
	snprintf(pointer, sizeof pointer, "/%zu/undoneBy", n);
	const char *undone = stet_json_type(log, pointer);
	add_entry(table, log, n);
	table_addf(table, "%.8s", member(log, n, "before"));
	table_addf(table, "%.8s", member(log, n, "after"));
	table_add_name(table, member(log, n, "path"),
	               undone && strcmp(undone, "null") != 0 ? "  (undone)" : "");
}

static int print_log(const char *text) {
	struct stet_json *log = NULL;
	struct stet_error err = {0};
	struct table table = {.columns = 6, .heading = true};
	static const char *const titles[] = {"id", "time", "session", "before", "after", "path"};
	if (stet_json_parse(text, strlen(text), 0, &log, &err) < 0)
		return report(&err);
	for (size_t i = 0; i < 6; i++)
		table_add(&table, titles[i]);
	for (size_t i = 0; i < stet_json_count(log, ""); i++)
		add_write(&table, log, i);
	stet_json_free(log);
	return table_print(&table);
}

static int print_log_json(const char *text) {
	struct stet_json *json = stet_json_new();
	if (!json)
		return report_nomem();
	stet_json_set_json(json, "/writes", text, strlen(text));
	int status = put_json(json);
	stet_json_free(json);
	return status;
}

/* Each write with its diff: the tool history has them. */
static int run_with_diffs(const struct options *options, const struct arguments *args,
                          int64_t limit) {
	struct stet_json *json = args->count > 0 ? cli_args(operand(args, 0)) : stet_json_new();
	if (json) {
		stet_json_set_int(json, "/limit", limit);
		stet_json_set_bool(json, "/diff", 1);
	}
	return cli_run(options, DONE, "history", json, show_history);
}

static int run_log(const struct options *options, const struct arguments *args) {
	struct stet_error err = {0};
	char *text = NULL;
	int64_t limit;
	int status = option_number(args, "--limit", 1, 100000, 20, &limit);
	struct cli cli;
	if (status == DONE && has_option(args, "--diff"))
		return run_with_diffs(options, args, limit);
	if (status == DONE)
		status = cli_open(&cli, options);
	if (status != DONE)
		return status;
	if (stet_log(cli.ws, operand(args, 0), (size_t)limit, &text, &err) < 0)
		status = report(&err);
	else
		status = (options->json ? print_log_json : print_log)(text);
	stet_free(text);
	return cli_close(&cli, status != DONE ? status : done());
}

static const struct option options[] = {
	{"--limit", "N", "list at most N entries; 20 by default"},
	{"--diff", NULL, "show each write with its diff"},
	OPTIONS_END,
};

const struct command log_command = {
	.name = "log",
	.summary = "list the last writes through stet",
	.synopsis = "[PATH]",
	.description =
		"Lists the last writes of all sessions, newest first: the time, the session, and the "
		"hashes before and after. Files that were changed together are one entry, with a line for "
		"each. With PATH, lists the writes of one file. stet show prints one entry, stet diff a "
		"run of them, and stet undo takes them back.",
	.max = 1,
	.state = true,
	.options = options,
	.examples = (const struct example[]){{"stet log src/main.c", "who wrote a file"}, {0}},
	.run = run_log,
};
