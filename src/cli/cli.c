#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes to read from a file or standard input; the tools accept no more either. */
#define INPUT_MAX ((size_t)64 << 20)

enum { PAGE_BYTES = 1 << 20 };

/* How long to wait for late writes to replaced files before the process ends. */
enum { DRAIN_MS = 20 };

static int apply_settings(const struct options *options, struct stet_config *config,
                          struct stet_error *err) {
	int code = 0;
	for (int i = 0; i < options->set_count && code == 0; i++) {
		const char *value = strchr(options->set[i], '=') + 1;
		char *key = strndup(options->set[i], (size_t)(value - options->set[i]) - 1);
		code = key ? stet_config_set(config, key, value, "--set", err) : STET_E_NOMEM;
		free(key);
	}
	return code;
}

int configure(const struct options *options, struct stet_workspace *ws, struct stet_config **out) {
	struct stet_config *config = NULL;
	struct stet_error err = {.code = STET_E_NOMEM, .message = "Out of memory."};
	int code = stet_config_load(ws, &config, &err);
	if (code == 0)
		code = apply_settings(options, config, &err);
	if (code == 0)
		code = stet_config_apply(config, ws, &err);
	for (size_t i = 0; code == 0 && stet_config_notice(config, i); i++)
		complain("%s", stet_config_notice(config, i));
	if (code == 0 && out)
		*out = config;
	else
		stet_config_free(config);
	return code < 0 ? report(&err) : DONE;
}

/* The default page is sized for models. Use a larger one in a shell, unless the user configured it. */
static int set_page(struct cli *cli, struct stet_error *err) {
	if (strcmp(stet_config_source(cli->config, "pageBytes"), "default") != 0)
		return 0;
	return stet_workspace_set(cli->ws, STET_OPTION_PAGE_BYTES, PAGE_BYTES, err);
}

/*
 * Without --session, each command starts afresh. So --expect proves that the
 * caller knows the file, and instructions, which would come with every command,
 * are off.
 */
static int set_sessionless(struct stet_workspace *ws, struct stet_error *err) {
	int code = stet_workspace_set(ws, STET_OPTION_HASH_PROVES, 1, err);
	return code < 0 ? code : stet_workspace_set(ws, STET_OPTION_AGENTS, 0, err);
}

int cli_open(struct cli *cli, const struct options *options) {
	struct stet_error err = {0};
	*cli = (struct cli){.options = options};
	if (stet_workspace_open(options->root, &cli->ws, &err) < 0)
		return cli_close(cli, report(&err));
	/* Record in the state what the command does, even if it calls no tool. */
	if (stet_workspace_set(cli->ws, STET_OPTION_STATE, 2, &err) < 0)
		return cli_close(cli, report(&err));
	int status = configure(options, cli->ws, &cli->config);
	if (status != DONE)
		return cli_close(cli, status);
	if (set_page(cli, &err) < 0 || (!options->session && set_sessionless(cli->ws, &err) < 0))
		return cli_close(cli, report(&err));
	if (stet_session_open(cli->ws, options->session, &cli->session, &err) < 0)
		return cli_close(cli, report(&err));
	return DONE;
}

int cli_log(struct cli *cli, const struct arguments *args) {
	struct stet_error err = {0};
	return stet_workspace_log(cli->ws, option_value(args, "--log"), &err) < 0 ? report(&err) : DONE;
}

/* If the state could not be saved, it is lost when the process ends: print why, and fail. */
static int check_stored(const struct cli *cli, int status) {
	const char *name = cli->options->session;
	struct stet_error err = {0};
	if (!name && !cli->options->state)
		return status;
	if (stet_state_is_stored(cli->session, &err) == 0)
		return status;
	for (char *notice; (notice = stet_workspace_notice(cli->ws)); stet_free(notice))
		complain("%s", notice);
	if (name)
		complain("Session \"%s\" is not remembered.", name);
	else
		complain("The state of the work is not kept.");
	return status != DONE ? status : stet_error_exit(err.code);
}

int cli_close(struct cli *cli, int status) {
	if (cli->ws)
		stet_workspace_drain(cli->ws, DRAIN_MS);
	if (cli->session)
		status = check_stored(cli, status);
	stet_session_close(cli->session);
	if (cli->ws) {
		for (char *notice; (notice = stet_workspace_notice(cli->ws)); stet_free(notice))
			complain("%s", notice);
	}
	stet_workspace_close(cli->ws);
	stet_config_free(cli->config);
	*cli = (struct cli){.options = cli->options};
	return status;
}

/* Print the notices of an answer, and what other places do to the file. */
static void show_notices(const struct stet_json *answer) {
	char pointer[64];
	for (size_t i = 0; i < stet_json_count(answer, "/structuredContent/notices"); i++) {
		snprintf(pointer, sizeof pointer, "/structuredContent/notices/%zu", i);
		const char *notice = stet_json_text(answer, pointer, NULL);
		if (notice)
			complain("%s", notice);
	}
	size_t len = 0;
	const char *elsewhere = stet_json_text(answer, "/structuredContent/elsewhere", &len);
	if (elsewhere)
		put_line(stderr, elsewhere, len);
}

/* Instructions go to standard error, apart from the answer. */
static void show_instructions(const struct stet_json *answer) {
	char pointer[64];
	for (size_t i = 0; i < stet_json_count(answer, "/structuredContent/instructions"); i++) {
		size_t len = 0;
		snprintf(pointer, sizeof pointer, "/structuredContent/instructions/%zu", i);
		const char *text = stet_json_text(answer, pointer, &len);
		if (text)
			put_line(stderr, text, len);
	}
}

/* The first block of an answer is its text; show_notices() prints the notices of the others. */
static void show_text(const struct stet_json *answer) {
	size_t len = 0;
	const char *text = stet_json_text(answer, "/content/0/text", &len);
	if (text)
		put_line(stdout, text, len);
}

/* The message asks the user to read the file first, which needs a named session here. */
static void show_session_hint(const struct cli *cli, const struct stet_json *answer) {
	const char *reason = stet_json_text(answer, "/structuredContent/reason", NULL);
	if (reason && strcmp(reason, "unseen") == 0 && !cli->options->session)
		fputs(
			"With --session NAME, stet remembers what was read; a script can give --expect HASH.\n",
			stderr);
}

static void show_diff(const struct stet_json *answer, const char *pointer) {
	size_t len = 0;
	const char *diff = stet_json_text(answer, pointer, &len);
	if (!diff || len == 0)
		return;
	fputc('\n', stderr);
	put_diff(stderr, diff, len);
}

/* Print what is wrong with each file, where several could not be changed together. */
static void show_failed_files(const struct stet_json *answer, const char *said) {
	char pointer[64];
	for (size_t i = 0; i < stet_json_count(answer, "/structuredContent/files"); i++) {
		snprintf(pointer, sizeof pointer, "/structuredContent/files/%zu/message", i);
		const char *message = stet_json_text(answer, pointer, NULL);
		if (!message)
			continue;
		if (strcmp(message, said) != 0)
			complain("%s", message);
		snprintf(pointer, sizeof pointer, "/structuredContent/files/%zu/diff", i);
		show_diff(answer, pointer);
	}
}

/* Print the message of a refusal or failure, and its diff if it has one. */
static void show_failure(const struct cli *cli, const struct stet_json *answer,
                         const struct stet_error *err) {
	const char *message = stet_json_text(answer, "/structuredContent/message", NULL);
	const char *said = message ? message : stet_error_message(err);
	complain("%s", said);
	show_diff(answer, "/structuredContent/diff");
	show_failed_files(answer, said);
	show_session_hint(cli, answer);
}

/* Print the data of the answer as the object of --json. */
static int show_json(const struct stet_json *answer) {
	struct stet_json *json = NULL;
	struct stet_error err = {0};
	size_t len = 0;
	char *text = stet_json_write_at(answer, "/structuredContent", 0, &len);
	if (!text)
		return report_nomem();
	int status = stet_json_parse(text, len, 0, &json, &err) < 0 ? report(&err) : put_json(json);
	stet_json_free(json);
	stet_free(text);
	return status;
}

static int show_for_people(const struct cli *cli, const struct stet_json *answer, int code,
                           const struct stet_error *err, cli_show *show) {
	if (code < 0)
		show_failure(cli, answer, err);
	else
		(show ? show : show_text)(answer);
	int status = done();
	show_notices(answer);
	show_instructions(answer);
	return status;
}

static int show_answer(struct cli *cli, const char *text, size_t len, int code,
                       const struct stet_error *err, cli_show *show) {
	struct stet_json *answer = NULL;
	struct stet_error why = {0};
	if (stet_json_parse(text, len, 0, &answer, &why) < 0)
		return report(&why);
	if (cli->look)
		cli->look(answer);
	int status =
		cli->options->json ? show_json(answer) : show_for_people(cli, answer, code, err, show);
	stet_json_free(answer);
	return status != DONE ? status : stet_error_exit(code);
}

int cli_call(struct cli *cli, const char *tool, struct stet_json *args, cli_show *show) {
	struct stet_error err = {0};
	size_t len = 0;
	char *text = args ? stet_json_write(args, 0, &len) : NULL, *out = NULL;
	stet_json_free(args);
	if (!text)
		return report_as(STET_E_INVALID,
		                 "The input is not valid UTF-8, which this command requires.");
	progress_begin("Working");
	int code = stet_call(cli->session, tool, text, len, &out, &len, &err);
	progress_end();
	int status = out ? show_answer(cli, out, len, code, &err, show) : report(&err);
	stet_free(out);
	stet_free(text);
	return status;
}

int cli_run(const struct options *options, int status, const char *tool, struct stet_json *args,
            cli_show *show) {
	struct cli cli;
	if (status == DONE)
		status = cli_open(&cli, options);
	if (status != DONE) {
		stet_json_free(args);
		return status;
	}
	return cli_close(&cli, cli_call(&cli, tool, args, show));
}

struct stet_json *cli_args(const char *path) {
	struct stet_json *json = stet_json_new();
	if (json)
		stet_json_set_text(json, "/path", path, strlen(path));
	return json;
}

struct stet_json *cli_change_args(const struct arguments *args) {
	struct stet_json *json = cli_args(operand(args, 0));
	set_option(json, "/expectedHash", args, "--expect");
	set_option(json, "/onStale", args, "--on-stale");
	return json;
}

int set_operand(struct stet_json *json, const char *pointer, const char *text) {
	char *input = NULL;
	size_t len = strlen(text);
	int status = strcmp(text, "-") == 0 ? slurp(text, &input, &len) : DONE;
	if (status == DONE)
		stet_json_set_text(json, pointer, input ? input : text, len);
	free(input);
	return status;
}

void set_option(struct stet_json *json, const char *pointer, const struct arguments *args,
                const char *name) {
	const char *value = option_value(args, name);
	if (json && value)
		stet_json_set_text(json, pointer, value, strlen(value));
}

/* Print lines with "+" or "-" before each, as in a diff. */
static void put_signed(const char *text, size_t len, char sign) {
	const char *begin = paint(stdout, sign == '+' ? GREEN : RED), *end = paint(stdout, PLAIN);
	for (size_t from = 0; from < len;) {
		const char *stop = memchr(text + from, '\n', len - from);
		size_t line = stop ? (size_t)(stop - text) - from : len - from;
		printf("%s%c", begin, sign);
		put(stdout, text + from, line);
		printf("%s\n", end);
		from += line + (stop != NULL);
	}
}

/* Print the changes of others that the change was merged with. */
static void put_foreign(const struct stet_json *answer) {
	size_t len = 0;
	const char *diff = stet_json_text(answer, "/structuredContent/foreignDiff", &len);
	if (diff)
		fputs("\nWhat others changed:\n", stdout);
	put_diff(stdout, diff ? diff : "", len);
}

/* Print a message of the library, translated into the names of commands and options. */
static void put_message(const char *text, size_t len) {
	char *message = strndup(text, len), *translated = message ? translate(message) : NULL;
	if (translated)
		put_line(stdout, translated, strlen(translated));
	free(translated);
	free(message);
}

void show_change(const struct stet_json *answer) {
	static const char preview[] = "/structuredContent/preview";
	size_t len = 0;
	const char *text = stet_json_text(answer, "/content/0/text", &len);
	const char *diff = text ? memmem(text, len, "\n--- ", 5) : NULL;
	const char *note = stet_json_text(answer, "/structuredContent/note", NULL);
	if (!text)
		return;
	if (!stet_json_type(answer, preview)) {
		put_message(text, diff ? (size_t)(diff - text) + 1 : len);
		put_diff(stdout, diff ? diff + 1 : text, diff ? len - (size_t)(diff - text) - 1 : 0);
		return;
	}
	const char *hash = stet_json_text(answer, "/structuredContent/fileHash", NULL);
	put_message(text, strcspn(text, "\n") + 1);
	printf("fileHash: %s\n", hash ? hash : "");
	text = stet_json_text(answer, "/structuredContent/preview/before", &len);
	put_signed(text ? text : "", len, '-');
	text = stet_json_text(answer, "/structuredContent/preview/after", &len);
	put_signed(text ? text : "", len, '+');
	if (note)
		put_message(note, strlen(note));
	put_foreign(answer);
}

static int read_stream(FILE *file, const char *name, char **out, size_t *len) {
	char *text = NULL;
	size_t room = 0, used = 0;
	do {
		if (used + 1 >= room) {
			room = room ? room * 2 : 1 << 16;
			char *more = realloc(text, room);
			if (!more) {
				free(text);
				return report_nomem();
			}
			text = more;
		}
		used += fread(text + used, 1, room - used - 1, file);
	} while (used <= INPUT_MAX && !feof(file) && !ferror(file));
	int status = DONE;
	if (used > INPUT_MAX)
		status = report_as(STET_E_TOO_BIG, "%s is larger than %zu MiB.", name, INPUT_MAX >> 20);
	else if (ferror(file))
		status = report_as(STET_E_IO, "Cannot read %s: %s.", name, strerror(errno));
	if (status != DONE) {
		free(text);
		return status;
	}
	text[used] = '\0';
	*out = text;
	*len = used;
	return DONE;
}

int slurp(const char *name, char **out, size_t *len) {
	static bool took_input;
	*out = NULL;
	*len = 0;
	if (strcmp(name, "-") == 0) {
		if (took_input)
			return report_as(STET_E_INVALID,
			                 "Standard input can be read only once. Give - in one place.");
		took_input = true;
		return read_stream(stdin, "standard input", out, len);
	}
	FILE *file = fopen(name, "re");
	if (!file)
		return report_as(errno == ENOENT ? STET_E_NOT_FOUND : STET_E_IO, "Cannot open \"%s\": %s.",
		                 name, strerror(errno));
	int status = read_stream(file, name, out, len);
	fclose(file);
	return status;
}
