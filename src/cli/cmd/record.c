/* stet record: record what another program's tool did. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* Print how many files were checked, and to standard error why some were not. */
static void show_record(const struct stet_json *answer) {
	size_t files = stet_json_count(answer, "/structuredContent/files");
	size_t compared = (size_t)stet_json_int(answer, "/structuredContent/compared", 0);
	if (compared)
		printf("%zu tracked %s compared with the disk.\n", compared,
		       plural(compared, "file was", "files were"));
	if (files || !compared)
		printf("%zu %s checked.\n", files, plural(files, "file was", "files were"));
	for (size_t i = 0; i < stet_json_count(answer, "/structuredContent/ignored"); i++) {
		char pointer[64];
		snprintf(pointer, sizeof pointer, "/structuredContent/ignored/%zu/path", i);
		const char *path = stet_json_text(answer, pointer, NULL);
		snprintf(pointer, sizeof pointer, "/structuredContent/ignored/%zu/reason", i);
		const char *reason = stet_json_text(answer, pointer, NULL);
		complain("\"%s\" is left out. %s", path ? path : "", reason ? reason : "");
	}
}

static int run_record(const struct options *options, const struct arguments *args) {
	char *text = NULL;
	size_t len = 0;
	struct stet_json *json = NULL, *result = NULL;
	struct stet_error err = {0};
	int status = slurp(args->count > 1 ? operand(args, 1) : "-", &text, &len);
	if (status != DONE)
		return status;
	json = stet_json_new();
	if (json) {
		stet_json_set_text(json, "/tool", operand(args, 0), strlen(operand(args, 0)));
		/* If it is not JSON, it is the text that the tool printed. */
		if (stet_json_parse(text, len, 0, &result, &err) == 0)
			stet_json_set_json(json, "/result", text, len);
		else
			stet_json_set_text(json, "/result", text, len);
	}
	stet_json_free(result);
	free(text);
	return cli_run(options, DONE, "record_tool_result", json, show_record);
}

const struct command record_command = {
	.name = "record",
	.summary = "record what another program's tool did",
	.synopsis = "TOOL [FILE]",
	.description =
		"Reads the result of another agent's tool, as JSON or as the text that the tool printed, "
		"from FILE or standard input. Checks the files that the result names and records them in "
		"the state of the work.",
	.min = 1,
	.max = 2,
	.state = true,
	.examples =
		(const struct example[]){
			{"echo '{\"path\": \"src/main.c\"}' | stet record write_file", "a file was written"},
			{0}},
	.run = run_record,
};
