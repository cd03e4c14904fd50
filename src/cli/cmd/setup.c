/* stet setup: connect a client, by its own configuration file. */
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/clients.h"
#include "cli/cli.h"

/* What a client's file is, was and will be. */
struct plan {
	const struct client *client;
	char *path;
	/** The directory and the name of the file itself, links resolved. */
	char *dir;
	char *name;
	char *text;
	char *program;
	enum { PRINTED, WROTE, HAD } outcome;
};

static void plan_release(struct plan *plan) {
	free(plan->path);
	free(plan->dir);
	free(plan->name);
	free(plan->text);
	free(plan->program);
}

static int list_json(const char *root) {
	struct stet_json *json = stet_json_new();
	for (size_t i = 0; json && i < client_count; i++) {
		const char *place = client_configured(&clients[i], root);
		const char *const members[][2] = {
			{"name", clients[i].name}, {"title", clients[i].title}, {"path", place}};
		stet_json_set_json(json, "/clients/-", "{}", 2);
		for (size_t j = 0; j < 3; j++) {
			char pointer[64];
			snprintf(pointer, sizeof pointer, "/clients/%zu/%s", i, members[j][0]);
			if (members[j][1])
				stet_json_set_text(json, pointer, members[j][1], strlen(members[j][1]));
		}
	}
	int status = json ? put_json(json) : report_nomem();
	stet_json_free(json);
	return status;
}

static int list(const char *root) {
	struct table table = {.columns = 3, .heading = true};
	table_add(&table, "client");
	table_add(&table, "is");
	table_add(&table, "stet is in");
	for (size_t i = 0; i < client_count; i++) {
		const char *place = client_configured(&clients[i], root);
		table_add(&table, clients[i].name);
		table_add(&table, clients[i].title);
		table_add(&table, place ? place : "-");
	}
	int status = table_print(&table);
	if (status == DONE)
		puts(
			"\nstet setup CLIENT writes its file; with --print it only shows what it would write.");
	return status;
}

static const struct client *find(const struct arguments *args) {
	const char *names[16] = {NULL};
	for (size_t i = 0; i < client_count; i++) {
		names[i] = clients[i].name;
		if (strcmp(operand(args, 0), names[i]) == 0)
			return &clients[i];
	}
	const char *near = suggest(operand(args, 0), names);
	if (near)
		usage_error(args->command, "there is no client \"%s\". Did you mean %s?", operand(args, 0),
		            near);
	else
		usage_error(args->command, "there is no client \"%s\"; stet setup lists them",
		            operand(args, 0));
	return NULL;
}

/* Whether PATH leads from a name to this very program. */
static bool in_path(const char *name, const char *self) {
	const char *path = getenv("PATH");
	for (size_t len; path && *path; path += len + (path[len] == ':')) {
		char *candidate = NULL, *real = NULL;
		len = strcspn(path, ":");
		if (asprintf(&candidate, "%.*s/%s", (int)len, path, name) < 0)
			return false;
		if (access(candidate, X_OK) == 0)
			real = realpath(candidate, NULL);
		free(candidate);
		if (real) {
			bool same = strcmp(real, self) == 0;
			free(real);
			return same;
		}
	}
	return false;
}

/* "stet" if that leads here, so that the file can be shared; else the path of this program. */
static char *program(void) {
	char *self = realpath("/proc/self/exe", NULL);
	if (self && in_path("stet", self)) {
		free(self);
		return strdup("stet");
	}
	return self;
}

static int make_parents(const char *path) {
	char *copy = strdup(path);
	int status = copy ? DONE : report_nomem();
	for (char *slash = copy ? strchr(copy + 1, '/') : NULL; slash && status == DONE;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0777) < 0 && errno != EEXIST) {
			status = report_as(STET_E_IO, "Cannot make the directory \"%s\": %s.", copy,
			                   strerror(errno));
		}
		*slash = '/';
	}
	free(copy);
	return status;
}

/* The file that a path leads to; a link of somebody who keeps dotfiles elsewhere is followed. */
static int resolve(struct plan *plan) {
	char *real = realpath(plan->path, NULL);
	const char *path = real ? real : plan->path;
	const char *slash = strrchr(path, '/');
	plan->dir = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	plan->name = strdup(slash ? slash + 1 : path);
	free(real);
	return plan->dir && plan->name ? DONE : report_nomem();
}

static int plan_make(struct plan *plan, const struct options *options,
                     const struct arguments *args) {
	const char *scope = option_value(args, "--scope");
	bool user = scope ? strcmp(scope, "user") == 0 : !plan->client->project;
	char *root = realpath(options->root, NULL);
	plan->path = client_path(plan->client, root ? root : options->root, user);
	plan->program = program();
	free(root);
	if (!plan->path && !(user ? plan->client->user : plan->client->project))
		return usage_error(args->command, "%s keeps no such file for %s", plan->client->title,
		                   user ? "a user" : "a project");
	return plan->path && plan->program ? resolve(plan) : report_nomem();
}

/* The text that is to be there. Refuses what it cannot read. */
static int compose(struct plan *plan, const char *text, size_t len) {
	struct stet_json *json = NULL;
	struct stet_error err = {0};
	bool blank = strspn(text, " \t\r\n") == len;
	if (plan->client->format != CLIENT_TOML && !blank) {
		int code = stet_json_parse(text, len, 1, &json, &err);
		bool object = code == 0 && strcmp(stet_json_type(json, ""), "object") == 0;
		stet_json_free(json);
		if (!object)
			return report_as(STET_E_INVALID, "%s is %s. Correct it first; nothing was changed.",
			                 plan->path, code < 0 ? err.message : "not a JSON object");
	}
	if (plan->client->format == CLIENT_TOML && memmem(text, len, "mcp_servers =", 13))
		return report_as(
			STET_E_INVALID,
			"%s has mcp_servers as a value on one line, which stet does not change. Add there "
			"what stet setup %s --print shows in an empty home.",
			plan->path, plan->client->name);
	plan->text = client_text(plan->client, text, blank ? 0 : len, plan->program);
	if (!plan->text)
		return report_nomem();
	if (client_has(plan->client, plan->text, strlen(plan->text)))
		return DONE;
	return report_as(
		STET_E_IO,
		"%s is laid out in a way that stet does not know. Add it by hand; docs/clients.md says "
		"what. Nothing was changed.",
		plan->path);
}

static int write_file(struct stet_session *session, struct plan *plan) {
	struct stet_answer *answer = NULL;
	struct stet_error err = {0};
	int code = stet_session_write(session, plan->name, plan->text, strlen(plan->text), NULL,
	                              &answer, &err);
	plan->outcome = code == 0 && stet_answer_noop(answer) ? HAD : WROTE;
	stet_answer_free(answer);
	return code < 0 ? report(&err) : DONE;
}

/* Read, add, write: guarded as any edit, so that nothing of a running client is lost. */
static int apply(struct plan *plan, bool print) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct stet_answer *answer = NULL;
	struct stet_error err = {0};
	size_t len = 0;
	int code = stet_workspace_open(plan->dir, &ws, &err);
	if (code == 0)
		code = stet_session_open(ws, NULL, &session, &err);
	if (code == 0)
		code = stet_session_read(session, plan->name, 0, 0, &answer, &err);
	bool absent = code == STET_E_NOT_FOUND;
	int status = code < 0 && !absent ? report(&err) : DONE;
	const char *text = absent || status != DONE ? "" : stet_answer_content(answer, &len);
	bool has = status == DONE && plan->client->format == CLIENT_TOML &&
	           client_has(plan->client, text, len);
	if (has)
		plan->outcome = HAD;
	if (status == DONE && !has)
		status = compose(plan, text, len);
	if (status == DONE && !has && !print)
		status = write_file(session, plan);
	stet_answer_free(answer);
	stet_session_close(session);
	stet_workspace_close(ws);
	return status;
}

static int show_json(const struct plan *plan) {
	struct stet_json *json = stet_json_new();
	const char *const members[][2] = {{"/client", plan->client->name},
	                                  {"/path", plan->path},
	                                  {"/check", plan->client->check},
	                                  {"/note", plan->client->note},
	                                  {"/text", plan->outcome == PRINTED ? plan->text : NULL}};
	for (size_t i = 0; json && i < sizeof members / sizeof *members; i++) {
		if (members[i][1])
			stet_json_set_text(json, members[i][0], members[i][1], strlen(members[i][1]));
	}
	if (json)
		stet_json_set_bool(json, "/changed", plan->outcome == WROTE);
	int status = json ? put_json(json) : report_nomem();
	stet_json_free(json);
	return status;
}

static int show(const struct plan *plan) {
	if (plan->outcome == PRINTED) {
		printf("# %s\n%s", plan->path, plan->text);
		return done();
	}
	if (plan->outcome == HAD)
		printf("%s has stet already.\n", plan->path);
	else
		printf("Wrote %s: %s starts stet in the directory it works in.\n", plan->path,
		       plan->client->title);
	if (plan->client->check)
		printf("To see whether it does: %s\n", plan->client->check);
	if (plan->client->note)
		puts(plan->client->note);
	return done();
}

static int run(const struct options *options, const struct arguments *args) {
	if (args->count == 0)
		return (options->json ? list_json : list)(options->root);
	struct plan plan = {.client = find(args)};
	bool print = has_option(args, "--print");
	if (!plan.client)
		return USAGE;
	int status = plan_make(&plan, options, args);
	if (status == DONE && !print)
		status = make_parents(plan.path);
	/* A directory that is not there yet holds no file either. */
	if (status == DONE && print && access(plan.dir, F_OK) < 0)
		status = compose(&plan, "", 0);
	else if (status == DONE)
		status = apply(&plan, print);
	if (status == DONE)
		status = (options->json ? show_json : show)(&plan);
	plan_release(&plan);
	return status;
}

static const struct option options[] = {
	{"--scope", "project|user", "write the file of the project, or the user's"},
	{"--print", NULL, "print the file as it would be; change nothing"},
	OPTIONS_END,
};

const struct command setup_command = {
	.name = "setup",
	.summary = "connect a client, such as Claude Code",
	.synopsis = "[claude|codex|gemini|opencode|vscode|cursor|zed]",
	.description =
		"Writes stet into the configuration of a client: that of the project if the client has "
		"one, else the user's. The rest of the file stays as it is, comments included. Without a "
		"client: lists them, and where stet is configured.",
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet setup claude", "for Claude Code, in this project"},
			{"stet setup codex --print", "what would be written for Codex"},
			{0},
		},
	.run = run,
};
