/* stet inspect: show a text's structure, matching lines, or lines by number. */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"

/* A member of the n-th element of a list in the answer. */
static const char *text_at(const struct stet_json *answer, const char *list, size_t n,
                           const char *key) {
	char pointer[128];
	snprintf(pointer, sizeof pointer, "/structuredContent/%s/%zu/%s", list, n, key);
	const char *text = stet_json_text(answer, pointer, NULL);
	return text ? text : "";
}

static int64_t int_at(const struct stet_json *answer, const char *list, size_t n, const char *key) {
	char pointer[128];
	snprintf(pointer, sizeof pointer, "/structuredContent/%s/%zu/%s", list, n, key);
	return stet_json_int(answer, pointer, 0);
}

static size_t list_count(const struct stet_json *answer, const char *list) {
	char pointer[128];
	snprintf(pointer, sizeof pointer, "/structuredContent/%s", list);
	return stet_json_count(answer, pointer);
}

static void add_headings(struct table *table, const struct stet_json *answer) {
	static const char list[] = "structure/headings";
	for (size_t i = 0; i < list_count(answer, list); i++) {
		int level = (int)int_at(answer, list, i, "level");
		table_addf(table, "%" PRId64, int_at(answer, list, i, "line"));
		table_addf(table, "%.*s %s", level, "######", text_at(answer, list, i, "text"));
	}
}

static void add_blocks(struct table *table, const struct stet_json *answer) {
	static const char list[] = "structure/codeBlocks";
	for (size_t i = 0; i < list_count(answer, list); i++) {
		const char *language = text_at(answer, list, i, "language");
		table_addf(table, "%" PRId64 "-%" PRId64, int_at(answer, list, i, "startLine"),
		           int_at(answer, list, i, "endLine"));
		table_addf(table, "code block %" PRId64 "%s%s", int_at(answer, list, i, "index"),
		           *language ? ", " : "", language);
	}
}

static void show_structure(const struct stet_json *answer) {
	struct table table = {.columns = 2, .right = 1u << 0};
	const char *size = stet_json_text(answer, "/structuredContent/fileSize", NULL);
	const char *format = stet_json_text(answer, "/structuredContent/format", NULL);
	int64_t lines = stet_json_int(answer, "/structuredContent/totalLines", 0);
	printf("%" PRId64 " %s, %s, %s\n", lines, plural((uint64_t)lines, "line", "lines"),
	       size ? size : "", format ? format : "");
	add_headings(&table, answer);
	add_blocks(&table, answer);
	table_print(&table);
}

/* In the form of grep -n, with the column, so that editors can jump there. */
static void show_matches(const struct stet_json *answer) {
	if (list_count(answer, "matches") == 0)
		complain("No line matches.");
	for (size_t i = 0; i < list_count(answer, "matches"); i++) {
		const char *text = text_at(answer, "matches", i, "text");
		printf("%s%" PRId64 ":%" PRId64 "%s: ", paint(stdout, GREEN),
		       int_at(answer, "matches", i, "line"), int_at(answer, "matches", i, "column"),
		       paint(stdout, PLAIN));
		put_line(stdout, text, strlen(text));
	}
}

static void show_lines(const struct stet_json *answer) {
	for (size_t i = 0; i < list_count(answer, "lines"); i++) {
		const char *text = text_at(answer, "lines", i, "text");
		printf("%6" PRId64 "\t", int_at(answer, "lines", i, "number"));
		put_line(stdout, text, strlen(text));
	}
}

static void show_inspected(const struct stet_json *answer) {
	const char *note = stet_json_text(answer, "/structuredContent/note", NULL);
	if (stet_json_type(answer, "/structuredContent/matches"))
		show_matches(answer);
	else if (stet_json_type(answer, "/structuredContent/lines"))
		show_lines(answer);
	else
		show_structure(answer);
	if (note)
		complain("%s", note);
}

static int run_inspect(const struct options *options, const struct arguments *args) {
	int64_t context;
	int status = option_number(args, "--context", 0, 1000, -1, &context);
	bool search = has_option(args, "--search"), regex = has_option(args, "--regex");
	if (status == DONE && search + regex + has_option(args, "--lines") > 1)
		status = usage_error(args->command, "give only one of --search, --regex and --lines");
	struct stet_json *json = cli_args(operand(args, 0));
	const char *mode = search || regex ? "search" : "lines";
	if (json && (search || regex || has_option(args, "--lines")))
		stet_json_set_text(json, "/mode", mode, strlen(mode));
	set_option(json, "/query", args, search ? "--search" : regex ? "--regex" : "--lines");
	if (json && regex)
		stet_json_set_bool(json, "/regex", 1);
	if (json && context >= 0)
		stet_json_set_int(json, "/context", context);
	return cli_run(options, status, "text_inspect", json, show_inspected);
}

static const struct option options[] = {
	{"--search", "TEXT", "lines that contain a text, in upper or lower case"},
	{"--regex", "REGEX", "lines that match a regular expression (PCRE2)"},
	{"--lines", "RANGES", "lines by number, such as 50-60 or 1,5-8,90-"},
	{"--context", "N", "with --json: lines to show around each match"},
	OPTIONS_END,
};

const struct command inspect_command = {
	.name = "inspect",
	.summary = "show the structure of a text, or lines of it",
	.synopsis = "PATH",
	.description =
		"Without options, prints the headings and code blocks with their lines, which stet patch "
		"can name. With an option, prints matching lines, or lines by number.",
	.min = 1,
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet inspect README.md", "headings and code blocks"},
			{"stet inspect notes.md --search milk", "where a word is"},
			{0},
		},
	.run = run_inspect,
};
