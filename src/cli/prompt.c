#include "cli/prompt.h"

#include <stdlib.h>
#include <string.h>

/* Set a text of the context to the contents of a file. */
static int set_file(struct stet_context *context, int text, const char *name) {
	struct stet_error err = {0};
	char *bytes = NULL;
	size_t len = 0;
	int status = slurp(name, &bytes, &len);
	if (status == DONE && stet_context_set(context, text, bytes, len, &err) < 0)
		status = report(&err);
	free(bytes);
	return status;
}

/* The messages to learn from; NULL for none. */
struct source {
	const char *messages;
	size_t len;
};

/* Add the workspace's snapshot, unless it is configured not to be used. */
static int add_workspace_state(struct stet_context *context, const struct options *options,
                               const struct arguments *args, const struct source *source) {
	struct stet_error err = {0};
	struct cli cli;
	int status = cli_open(&cli, options);
	if (status != DONE)
		return status;
	status = cli_log(&cli, args);
	if (status == DONE && source->messages &&
	    stet_context_learn(context, cli.session, source->messages, source->len, &err) < 0)
		status = report(&err);
	if (status == DONE && stet_context_take(context, cli.session, &err) < 0)
		status = report(&err);
	return cli_close(&cli, status);
}

static int set_numbers(struct stet_context *context, const struct arguments *args) {
	int64_t budget, percent, overhead;
	int status = option_number(args, "--budget", 1000, 100000000, 0, &budget);
	if (status == DONE)
		status = option_number(args, "--overhead", 0, 100000000, 0, &overhead);
	if (status == DONE)
		status = option_number(args, "--percent", 10, 10000, 100, &percent);
	if (status != DONE)
		return status;
	stet_context_set_number(context, STET_CONTEXT_BUDGET, (size_t)budget);
	stet_context_set_number(context, STET_CONTEXT_PERCENT, (size_t)percent);
	stet_context_set_number(context, STET_CONTEXT_OVERHEAD, (size_t)overhead);
	return DONE;
}

static int set_context_texts(struct stet_context *context, const struct options *options,
                             const struct arguments *args, const struct source *source) {
	struct stet_error err = {0};
	const char *shape = option_value(args, "--format");
	const char *request = option_value(args, "--request");
	const char *template = option_value(args, "--template");
	const char *additional = option_value(args, "--additional");
	const char *snapshot = option_value(args, "--snapshot");
	int code = 0;
	if (shape)
		code = stet_context_set(context, STET_CONTEXT_SHAPE, shape, strlen(shape), &err);
	if (code == 0 && request)
		code = stet_context_set(context, STET_CONTEXT_REQUEST, request, strlen(request), &err);
	int status = code < 0 ? report(&err) : DONE;
	if (status == DONE && template)
		status = set_file(context, STET_CONTEXT_TEMPLATE, template);
	if (status == DONE && additional)
		status = set_file(context, STET_CONTEXT_ADDITIONAL, additional);
	if (status == DONE)
		status = snapshot ? set_file(context, STET_CONTEXT_SNAPSHOT, snapshot)
		                  : add_workspace_state(context, options, args, source);
	return status;
}

/* Set how long messages are cut; stet compact has these options. */
static int set_epoch(struct stet_context *context, const struct arguments *args) {
	int64_t above, to;
	const char *form = option_value(args, "--keep");
	int status = option_number(args, "--above", 2000, 100000000, 0, &above);
	if (status == DONE)
		status = option_number(args, "--to", 1000, 100000000, 0, &to);
	if (status == DONE && form && strcmp(form, "last") != 0 && strcmp(form, "epoch") != 0)
		status = report_as(STET_E_INVALID, "--keep takes \"epoch\" or \"last\", not \"%s\".", form);
	if (status != DONE)
		return status;
	stet_context_set_number(context, STET_CONTEXT_ABOVE, (size_t)above);
	stet_context_set_number(context, STET_CONTEXT_TO, (size_t)to);
	stet_context_set_number(context, STET_CONTEXT_STRICT, form && strcmp(form, "last") == 0);
	stet_context_set_number(context, STET_CONTEXT_ARCHIVED,
	                        option_value(args, "--archive") != NULL);
	stet_context_set_number(context, STET_CONTEXT_CACHE_MARKS, !has_option(args, "--no-marks"));
	return DONE;
}

int prompt_context(const struct options *options, const struct arguments *args,
                   const char *messages, size_t len, struct stet_context **out) {
	const struct source source = {messages, len};
	struct stet_context *context = stet_context_new();
	if (!context)
		return report_nomem();
	int status = set_numbers(context, args);
	if (status == DONE && messages)
		status = set_epoch(context, args);
	if (status == DONE)
		status = set_context_texts(context, options, args, &source);
	if (status == DONE)
		*out = context;
	else
		stet_context_free(context);
	return status;
}

/* The numbers in the answer, by their member. */
static const struct {
	const char *member;
	int count;
} figures[] = {
	{"/tokens", STET_CONTEXT_TOKENS},           {"/leftOut/replies", STET_CONTEXT_REPLIES},
	{"/leftOut/results", STET_CONTEXT_RESULTS}, {"/leftOut/requests", STET_CONTEXT_REQUESTS},
	{"/leftOut/noops", STET_CONTEXT_NOOPS},
};

static int print_prompt_json(const struct stet_context *context, const char *prompt, size_t len) {
	struct stet_json *json = stet_json_new();
	const char *archive = stet_context_archive(context);
	if (!json)
		return report_nomem();
	stet_json_set_json(json, "/prompt", prompt, len);
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		stet_json_set_int(json, figures[i].member,
		                  (int64_t)stet_context_count(context, figures[i].count));
	stet_json_set_bool(json, "/cut", stet_context_count(context, STET_CONTEXT_CUT) > 0);
	if (*archive)
		stet_json_set_text(json, "/archive", archive, strlen(archive));
	int status = put_json(json);
	stet_json_free(json);
	return status;
}

static void print_figures(const struct stet_context *context) {
	const char *archive = stet_context_archive(context);
	size_t tokens = stet_context_count(context, STET_CONTEXT_TOKENS);
	size_t replies = stet_context_count(context, STET_CONTEXT_REPLIES);
	size_t results = stet_context_count(context, STET_CONTEXT_RESULTS);
	size_t requests = stet_context_count(context, STET_CONTEXT_REQUESTS);
	size_t noops = stet_context_count(context, STET_CONTEXT_NOOPS);
	complain("%zu %s; left out: %zu %s, %zu tool %s, %zu %s, %zu %s that changed nothing%s%s%s",
	         tokens, plural(tokens, "token", "tokens"), replies,
	         plural(replies, "reply", "replies"), results, plural(results, "result", "results"),
	         requests, plural(requests, "request", "requests"), noops,
	         plural(noops, "call", "calls"),
	         stet_context_count(context, STET_CONTEXT_CUT) ? "; texts were cut" : "",
	         *archive ? "; archive " : "", archive);
}

int prompt_print(const struct arguments *args, const struct stet_context *context, char *prompt,
                 size_t len) {
	int status = DONE;
	if (is_json())
		status = print_prompt_json(context, prompt, len);
	else
		put_line(stdout, prompt, len);
	stet_free(prompt);
	if (has_option(args, "--verbose"))
		print_figures(context);
	return status != DONE ? status : done();
}
