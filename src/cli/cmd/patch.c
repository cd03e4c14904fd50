/* stet patch: replace, insert or delete at a place named by Markdown structure or lines. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* The options that name a place by a heading, and their targets in text_patch. */
static const struct {
	const char *option;
	const char *pointer;
} by_heading[] = {
	{"--heading", "/target/heading"},
	{"--before", "/target/beforeHeading"},
	{"--append-to", "/target/appendToSection"},
	{"--section", "/target/wholeSection"},
};

/* Read "12" or "12-15". The tool checks the numbers. */
static int set_lines(struct stet_json *json, const struct arguments *args, const char *text) {
	char *end = NULL;
	long long first = strtoll(text, &end, 10), last = first;
	if (end != text && *end == '-' && end[1] != '\0')
		last = strtoll(end + 1, &end, 10);
	if (end == text || *end != '\0')
		return usage_error(args->command, "--lines takes a line or a range, such as 12 or 12-15");
	stet_json_set_int(json, "/target/lines/start", first);
	stet_json_set_int(json, "/target/lines/end", last);
	return DONE;
}

/* The options that name a place; the user has to give exactly one. */
static const char *const places[] = {"--append-to",  "--section", "--heading", "--before",
                                     "--code-block", "--lines",   "--target"};

static int check_places(const struct arguments *args) {
	const char *first = NULL;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if (!has_option(args, places[i]))
			continue;
		if (first)
			return usage_error(args->command, "give either %s or %s, not both", first, places[i]);
		first = places[i];
	}
	if (!first)
		return usage_error(args->command,
		                   "the place is missing: give --append-to, --section, --heading, "
		                   "--before, --code-block or --lines");
	return DONE;
}

/* Set a target that is named by a heading, and which one if several match. */
static void set_heading(struct stet_json *json, const struct arguments *args, int64_t which,
                        size_t n) {
	char pointer[64];
	if (!has_option(args, by_heading[n].option))
		return;
	snprintf(pointer, sizeof pointer, "%s/text", by_heading[n].pointer);
	set_option(json, pointer, args, by_heading[n].option);
	snprintf(pointer, sizeof pointer, "%s/occurrence", by_heading[n].pointer);
	if (which > 0)
		stet_json_set_int(json, pointer, which);
}

static int set_target(struct stet_json *json, const struct arguments *args) {
	const char *lines = option_value(args, "--lines");
	const char *target = option_value(args, "--target");
	int64_t block, which;
	int status = check_places(args);
	if (status == DONE && lines)
		status = set_lines(json, args, lines);
	if (status == DONE)
		status = option_number(args, "--code-block", 0, INT64_MAX, -1, &block);
	if (status == DONE)
		status = option_number(args, "--occurrence", 1, INT64_MAX, 0, &which);
	if (status != DONE)
		return status;
	for (size_t i = 0; i < sizeof by_heading / sizeof *by_heading; i++)
		set_heading(json, args, which, i);
	if (block >= 0)
		stet_json_set_int(json, "/target/codeBlock/index", block);
	/* The tool parses a target that is a string. */
	if (target)
		stet_json_set_text(json, "/target", target, strlen(target));
	return DONE;
}

static int set_content(struct stet_json *json, const struct arguments *args) {
	const char *content = operand(args, 2);
	if (!content && strcmp(operand(args, 1), "delete") == 0)
		return DONE;
	return set_operand(json, "/content", content ? content : "-");
}

static int run_patch(const struct options *options, const struct arguments *args) {
	struct stet_json *json = cli_change_args(args);
	if (!json)
		return report_nomem();
	stet_json_set_text(json, "/operation", operand(args, 1), strlen(operand(args, 1)));
	int status = set_target(json, args);
	if (status == DONE)
		status = set_content(json, args);
	if (has_option(args, "--keep-indent"))
		stet_json_set_bool(json, "/preserveIndent", 0);
	return cli_run(options, status, "text_patch", json, show_change);
}

static const struct option options[] = {
	{"--append-to", "HEADING", "the end of the section of a heading (insert)"},
	{"--section", "HEADING", "a heading and its section"},
	{"--heading", "HEADING", "a heading's own line"},
	{"--before", "HEADING", "before a heading (insert)"},
	{"--occurrence", "N", "which heading, if several match, from 1"},
	{"--code-block", "N", "the lines between the fences of a code block, from 0"},
	{"--lines", "RANGE", "lines such as 12 or 12-15; insert goes after them, with 0 at the top"},
	{"--target", "JSON", "the argument \"target\" of the tool text_patch"},
	{"--keep-indent", NULL, "do not shift the text to the indentation of its place"},
	CHANGE_OPTIONS,
	OPTIONS_END,
};

const struct command patch_command = {
	.name = "patch",
	.summary = "replace, insert or delete at a heading, code block or lines",
	.synopsis = "PATH replace|insert|delete [TEXT]",
	.description =
		"Changes a text file at a place named by Markdown structure or by lines. TEXT is the new "
		"text; without TEXT, or with -, it comes from standard input. Write a heading as '## "
		"Setup', or without the marks.",
	.min = 2,
	.max = 3,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet patch README.md insert '3. Start it.' --append-to Setup", "add to a section"},
			{"stet patch README.md delete --section '## Old news'", "remove a section"},
			{0},
		},
	.run = run_patch,
};
