/* stet setup: add stet to the configuration file of a client. */
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/clients.h"
#include "cli/cli.h"

/* The change of a client's file. */
struct plan {
	const struct client *client;
	char *path;
	/** The directory and the name of the file, links resolved. */
	char *dir;
	char *name;
	/** The new text. */
	char *text;
	/** The name or path of stet. */
	char *program;
	enum { PRINTED, WROTE, UNCHANGED } outcome;
};

static void plan_release(struct plan *plan) {
	free(plan->path);
	free(plan->dir);
	free(plan->name);
	free(plan->text);
	free(plan->program);
}

static int list_clients_json(const char *root) {
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

static int list_clients(const char *root) {
	struct table table = {.columns = 3, .heading = true};
	table_add(&table, "client");
	table_add(&table, "name");
	table_add(&table, "configured in");
	for (size_t i = 0; i < client_count; i++) {
		const char *place = client_configured(&clients[i], root);
		table_add(&table, clients[i].name);
		table_add(&table, clients[i].title);
		table_add(&table, place ? place : "-");
	}
	int status = table_print(&table);
	if (status == DONE)
		puts("\nstet setup CLIENT writes the client's file; with --print it only prints the file.");
	return status;
}

static const struct client *find_client(const struct arguments *args) {
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

/* Whether the shell would run this program under a name. */
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

/* "stet" if the shell finds this program by that name, so that the file can be shared; else its path. */
static char *own_program(void) {
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
			status = report_as(STET_E_IO, "Cannot create the directory \"%s\": %s.", copy,
			                   strerror(errno));
		}
		*slash = '/';
	}
	free(copy);
	return status;
}

/* Follow symbolic links: the user may keep the file in a repository of dotfiles. */
static int resolve_links(struct plan *plan) {
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
	plan->program = own_program();
	free(root);
	if (!plan->path && !(user ? plan->client->user : plan->client->project))
		return usage_error(args->command, "%s has no configuration file for %s",
		                   plan->client->title, user ? "a user" : "a project");
	return plan->path && plan->program ? resolve_links(plan) : report_nomem();
}

/* Make the new text. Refuses a file that it cannot parse. */
static int compose_text(struct plan *plan, const char *text, size_t len) {
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
			"%s has mcp_servers as a value on one line, which stet cannot change. Add stet by "
			"hand, as stet setup %s --print shows it for an empty home.",
			plan->path, plan->client->name);
	plan->text = client_text(plan->client, text, blank ? 0 : len, plan->program);
	if (!plan->text)
		return report_nomem();
	if (client_has(plan->client, plan->text, strlen(plan->text)))
		return DONE;
	return report_as(
		STET_E_IO,
		"%s has a layout that stet cannot change. Add stet by hand; docs/clients.md shows how. "
		"Nothing was changed.",
		plan->path);
}

static int write_config(struct stet_session *session, struct plan *plan) {
	struct stet_answer *answer = NULL;
	struct stet_error err = {0};
	int code = stet_session_write(session, plan->name, plan->text, strlen(plan->text), NULL,
	                              &answer, &err);
	plan->outcome = code == 0 && stet_answer_noop(answer) ? UNCHANGED : WROTE;
	stet_answer_free(answer);
	return code < 0 ? report(&err) : DONE;
}

/* Read, change and write through a session, so that no write of a running client is lost. */
static int apply_plan(struct plan *plan, bool print) {
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
		plan->outcome = UNCHANGED;
	if (status == DONE && !has)
		status = compose_text(plan, text, len);
	if (status == DONE && !has && !print)
		status = write_config(session, plan);
	stet_answer_free(answer);
	stet_session_close(session);
	stet_workspace_close(ws);
	return status;
}

static int show_plan_json(const struct plan *plan) {
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

static int show_plan(const struct plan *plan) {
	if (plan->outcome == PRINTED) {
		printf("# %s\n%s", plan->path, plan->text);
		return done();
	}
	if (plan->outcome == UNCHANGED)
		printf("%s already has stet.\n", plan->path);
	else
		printf("Wrote %s: %s starts stet in the directory it works in.\n", plan->path,
		       plan->client->title);
	if (plan->client->check)
		printf("To check: %s\n", plan->client->check);
	if (plan->client->note)
		puts(plan->client->note);
	return done();
}

static int run_setup(const struct options *options, const struct arguments *args) {
	if (args->count == 0)
		return (options->json ? list_clients_json : list_clients)(options->root);
	struct plan plan = {.client = find_client(args)};
	bool print = has_option(args, "--print");
	if (!plan.client)
		return USAGE;
	int status = plan_make(&plan, options, args);
	if (status == DONE && !print)
		status = make_parents(plan.path);
	/* If the directory does not exist, there is no file to read. */
	if (status == DONE && print && access(plan.dir, F_OK) < 0)
		status = compose_text(&plan, "", 0);
	else if (status == DONE)
		status = apply_plan(&plan, print);
	if (status == DONE)
		status = (options->json ? show_plan_json : show_plan)(&plan);
	plan_release(&plan);
	return status;
}

static const struct option options[] = {
	{"--scope", "project|user", "write the project's file, or the user's"},
	{"--print", NULL, "print the new file; change nothing"},
	OPTIONS_END,
};

const struct command setup_command = {
	.name = "setup",
	.summary = "connect a client, such as Claude Code",
	.synopsis = "[claude|codex|gemini|opencode|vscode|cursor|zed]",
	.description =
		"Adds stet to the configuration file of a client: the project's file if the client has "
		"one, else the user's. The rest of the file stays as it is, comments included. Without a "
		"client, lists the clients and the files that have stet.",
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet setup claude", "for Claude Code, in this project"},
			{"stet setup codex --print", "print the file for Codex"},
			{0},
		},
	.run = run_setup,
};
