/* stet grep: search the contents of files. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* As grep has them: a match, none, an error. */
enum { MATCHED = 0, NO_MATCH = 1, FAILED = 2 };

/* The exit status. */
static int outcome;

/* A search that ended early without a match is no "no match". */
static void look(const struct stet_json *answer) {
	bool incomplete = stet_json_type(answer, "/structuredContent/incomplete");
	bool matched = stet_json_int(answer, "/structuredContent/total", 0) > 0;
	bool failed = stet_json_int(answer, "/structuredContent/failedPaths", 0) > 0;
	outcome = failed ? FAILED : matched ? MATCHED : incomplete ? FAILED : NO_MATCH;
}

/* The list goes to standard output, the sentences below it to standard error. */
static void show(const struct stet_json *answer) {
	size_t len = 0, note_len = 0;
	const char *text = stet_json_text(answer, "/content/0/text", &len);
	const char *note = stet_json_text(answer, "/structuredContent/note", &note_len);
	if (note && note_len <= len && memcmp(text + len - note_len, note, note_len) == 0)
		len -= note_len;
	if (text && len > 0)
		put_line(stdout, text, len);
	fflush(stdout);
	char *translated = note && note_len > 0 ? translate(note) : NULL;
	if (translated)
		put_line(stderr, translated, strlen(translated));
	free(translated);
}

static struct stet_json *call_args(const struct options *options, const struct arguments *args,
                                   int64_t context, int64_t offset, int64_t limit) {
	static const struct {
		const char *option, *pointer;
	} flags[] = {
		{"--literal", "/literal"},          {"--ignore-case", "/ignoreCase"},
		{"--multiline", "/multiline"},      {"--hidden", "/hidden"},
		{"--no-ignore", "/includeIgnored"},
	};
	struct stet_json *json = stet_json_new();
	if (!json)
		return NULL;
	stet_json_set_text(json, "/pattern", operand(args, 0), strlen(operand(args, 0)));
	bool several = operand(args, 2);
	for (int i = 1; operand(args, i); i++)
		stet_json_set_text(json, several ? "/paths/-" : "/path", operand(args, i),
		                   strlen(operand(args, i)));
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		if (has_option(args, flags[i].option))
			stet_json_set_bool(json, flags[i].pointer, 1);
	}
	/* Without --session, no later call depends on what was seen. */
	if (!options->session)
		stet_json_set_bool(json, "/record", 0);
	if (!options->json)
		stet_json_set_bool(json, "/list", 0);
	set_option(json, "/glob", args, "--glob");
	set_option(json, "/mode", args, "--mode");
	stet_json_set_int(json, "/context", context);
	stet_json_set_int(json, "/offset", offset);
	stet_json_set_int(json, "/limit", limit);
	return json;
}

/*
 * By default, malloc keeps the memory of large buffers once it freed one, and for each thread
 * apart. A search that finds much would end with more memory than it ever had in use.
 */
static void tune_malloc(void) {
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_ARENA_MAX, 1);
#endif
}

static int run_grep(const struct options *options, const struct arguments *args) {
	int64_t context, offset, limit;
	int status = option_number(args, "--context", 0, 20, 0, &context);
	if (status == DONE)
		status = option_number(args, "--offset", 0, INT64_MAX, 0, &offset);
	if (status == DONE)
		status = option_number(args, "--limit", 1, INT64_MAX, 10000, &limit);
	struct cli cli;
	if (status == DONE)
		status = cli_open(&cli, options);
	if (status != DONE)
		return FAILED;
	tune_malloc();
	cli.look = look;
	status = cli_close(
		&cli, cli_call(&cli, "grep", call_args(options, args, context, offset, limit), show));
	return status != DONE ? FAILED : outcome;
}

static const struct option grep_options[] = {
	{"--literal", NULL, "the pattern is plain text"},
	{"--ignore-case", NULL, "ignore case"},
	{"--multiline", NULL, "matches may span lines"},
	{"--glob", "GLOB", "search only in files that match, as *.c or src/**"},
	{"--context", "N", "lines to show around each match, up to 20"},
	{"--mode", "lines|files|count", "what to print; lines by default"},
	{"--offset", "N", "skip the first N matches"},
	{"--limit", "N", "show at most N matches; 10000 by default"},
	{"--hidden", NULL, "search hidden files too"},
	{"--no-ignore", NULL, "search ignored files too"},
	OPTIONS_END,
};

const struct command grep_command = {
	.name = "grep",
	.summary = "search the contents of files",
	.synopsis = "PATTERN [PATH...]",
	.description =
		"Prints path:line:text for every line that matches a regular expression (PCRE2), sorted by "
		"path, and to standard error what was not searched: ignored, hidden, binary, UTF-16 and "
		"too "
		"large files. With --session the lines that it prints whole count as seen. Exits with 0 if "
		"a line matches, 1 if none does, 2 on an error, also of one path among several, or if a "
		"limit ended the search without a match.",
	.min = 1,
	.max = -1,
	.options = grep_options,
	.examples =
		(const struct example[]){
			{"stet grep 'x1\\d+' src --glob '*.c'", "names in C files"},
			{"stet grep --literal --mode files 'port = '", "files with a text"},
			{0},
		},
	.run = run_grep,
};
