/* stet setup: write stet into the configuration files of a client, or take it out again. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/setup/plan.h"

/* ---- the list of clients ---- */

/* The file that has the server: the project's, or else the user's; the caller frees it. */
static char *configured_in(const struct client *client, enum part part, const char *root) {
	char *path = client_configured(client, part, root, false);
	return path ? path : client_configured(client, part, root, true);
}

static int list_clients_json(const char *root) {
	struct stet_json *json = stet_json_new();
	for (size_t i = 0; json && i < client_count; i++) {
		char *place = configured_in(&clients[i], PART_SERVER, root);
		char *hooks = configured_in(&clients[i], PART_HOOKS, root);
		const char *const members[][2] = {{"name", clients[i].name},
		                                  {"title", clients[i].title},
		                                  {"path", place},
		                                  {"hooks", hooks}};
		stet_json_set_json(json, "/clients/-", "{}", 2);
		for (size_t j = 0; j < 4; j++) {
			char pointer[64];
			snprintf(pointer, sizeof pointer, "/clients/%zu/%s", i, members[j][0]);
			if (members[j][1])
				stet_json_set_text(json, pointer, members[j][1], strlen(members[j][1]));
		}
		free(place);
		free(hooks);
	}
	int status = json ? put_json(json) : report_nomem();
	stet_json_free(json);
	return status;
}

static int list_clients(const char *root) {
	struct table table = {.columns = 4, .heading = true};
	static const char *const headings[] = {"client", "name", "server in", "hooks in"};
	for (size_t i = 0; i < 4; i++)
		table_add(&table, headings[i]);
	for (size_t i = 0; i < client_count; i++) {
		char *place = configured_in(&clients[i], PART_SERVER, root);
		char *hooks = configured_in(&clients[i], PART_HOOKS, root);
		table_add(&table, clients[i].name);
		table_add(&table, clients[i].title);
		table_add(&table, place ? place : "-");
		table_add(&table, hooks ? hooks : "-");
		free(place);
		free(hooks);
	}
	int status = table_print(&table);
	if (status == DONE)
		puts(
			"\nstet setup CLIENT writes the client's files; with --print it only prints what it "
			"would add.");
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

/* ---- what changes ---- */

/* One line for each key of a table, or one for the entry. */
static void show_entry(const struct planned_entry *planned, const char *sign) {
	const struct entry *entry = planned->entry;
	if (entry->kind == ENTRY_TEXT) {
		printf("  %s the whole file\n", sign);
		return;
	}
	printf("  %s ", sign);
	for (size_t i = 0; i < CLIENT_KEYS && entry->path[i]; i++)
		printf("%s%s", i > 0 ? "." : "", entry->path[i]);
	if (entry->kind != ENTRY_TABLE) {
		printf(" %s %s\n", entry->kind == ENTRY_ELEMENT ? "+=" : "=", planned->value);
		return;
	}
	putchar('\n');
	for (const char *line = planned->value; *line; line += strcspn(line, "\n") + 1)
		printf("      %.*s\n", (int)strcspn(line, "\n"), line);
}

static void show_file(const struct plan *plan, const struct plan_file *file) {
	if (file->foreign)
		printf("%s was changed since and stays; delete it if you do not need it.\n",
		       file->file.path);
	else if (!file->changes)
		printf("%s %s\n", file->file.path,
		       plan->remove ? "has nothing of stet." : "is up to date.");
	else if (plan->remove)
		printf("%s: %s\n", file->file.path,
		       !file->next ? "delete it"
		       : file->record.before && strcmp(file->next, file->record.before) == 0
		           ? "restore it as it was"
		           : "take out stet's entries");
	else
		printf("%s\n", file->file.path);
	for (size_t i = 0; !plan->remove && file->changes && i < file->count; i++) {
		if (file->entries[i].is_new)
			show_entry(&file->entries[i], "+");
	}
}

/* Print further steps and warnings for the user. */
static void show_notes(const struct plan *plan) {
	const struct client *client = plan->client;
	if (plan->remove)
		return;
	if (client->check)
		printf("To check: %s\n", client->check);
	if (client->note)
		puts(client->note);
	if (plan->hooks && client->hook_note)
		puts(client->hook_note);
	if (plan->hooks && !client_has_part(client, PART_HOOKS, plan->user))
		printf("stet knows no hooks of %s%s: its own editing tools are not checked.\n",
		       client->title,
		       plan->user && client_has_part(client, PART_HOOKS, false) ? " for a user" : "");
}

/* Ask on a terminal. Elsewhere there is nobody to ask. */
static bool is_confirmed(const struct plan *plan, bool yes) {
	char line[16] = "";
	if (yes || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return true;
	printf("Change %s? [y/N] ", plan->changes == 1 ? "this file" : "these files");
	fflush(stdout);
	return fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
}

/* After a removal: the other scope may have stet, too. */
static void show_rest(const struct plan *plan, const char *root) {
	char *path = client_configured(plan->client, PART_SERVER, root, !plan->user);
	if (path)
		printf("%s has stet, too: stet setup %s --remove --scope %s\n", path, plan->client->name,
		       plan->user ? "project" : "user");
	free(path);
}

static int carry_out(struct plan *plan, const struct arguments *args, const char *root) {
	for (size_t i = 0; i < plan->count; i++)
		show_file(plan, &plan->files[i]);
	if (plan->changes > 0 && !is_confirmed(plan, has_option(args, "--yes"))) {
		puts("Nothing was changed.");
		return REFUSED;
	}
	int status = plan->changes > 0 ? plan_write(plan) : DONE;
	if (status != DONE)
		return status;
	if (plan->changes > 0)
		printf("%s %zu %s of %s.\n", plan->remove ? "Restored" : "Wrote", plan->changes,
		       plural(plan->changes, "file", "files"), plan->client->title);
	show_notes(plan);
	if (plan->remove)
		show_rest(plan, root);
	return done();
}

static int carry_out_json(struct plan *plan, bool print) {
	struct stet_json *json = stet_json_new();
	char pointer[64];
	int status = print || plan->changes == 0 ? DONE : plan_write(plan);
	if (!json || status != DONE) {
		stet_json_free(json);
		return json ? status : report_nomem();
	}
	stet_json_set_text(json, "/client", plan->client->name, strlen(plan->client->name));
	stet_json_set_bool(json, "/changed", !print && plan->changes > 0);
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_file *file = &plan->files[i];
		char *text = print ? plan_document(file) : NULL;
		stet_json_set_json(json, "/files/-", "{}", 2);
		snprintf(pointer, sizeof pointer, "/files/%zu/path", i);
		stet_json_set_text(json, pointer, file->file.path, strlen(file->file.path));
		snprintf(pointer, sizeof pointer, "/files/%zu/changed", i);
		stet_json_set_bool(json, pointer, !print && file->changes);
		snprintf(pointer, sizeof pointer, "/files/%zu/text", i);
		if (text)
			stet_json_set_text(json, pointer, text, strlen(text));
		free(text);
	}
	const char *const notes[][2] = {{"/check", plan->client->check}, {"/note", plan->client->note}};
	for (size_t i = 0; i < 2; i++) {
		if (notes[i][1])
			stet_json_set_text(json, notes[i][0], notes[i][1], strlen(notes[i][1]));
	}
	status = put_json(json);
	stet_json_free(json);
	return status;
}

/* ---- --print ---- */

static bool has_ending(const char *path, const char *name) {
	size_t len = strlen(path), end = strlen(name);
	return len >= end && strcmp(path + len - end, name) == 0 &&
	       (len == end || path[len - end - 1] == '/' || name[0] == '/');
}

/* Print one document, so that it parses; the others by --file. */
static int print_document(const struct plan *plan, const struct arguments *args) {
	const char *name = option_value(args, "--file");
	const struct plan_file *chosen = name ? NULL : &plan->files[0];
	for (size_t i = 0; i < plan->count; i++) {
		if (name && has_ending(plan->files[i].file.path, name))
			chosen = &plan->files[i];
	}
	if (!chosen)
		return usage_error(args->command, "%s has no file \"%s\"; stet setup %s --print names them",
		                   plan->client->title, name, plan->client->name);
	char *text = plan_document(chosen);
	if (!text)
		return report_nomem();
	complain("for %s", chosen->file.path);
	for (size_t i = 0; !name && i < plan->count; i++) {
		if (&plan->files[i] != chosen)
			complain("more with --file %s", plan->files[i].file.path);
	}
	fputs(text, stdout);
	free(text);
	return done();
}

/* ---- the command ---- */

static int check_scope(const struct plan *plan, const struct arguments *args) {
	if (!client_has_scope(plan->client, plan->user))
		return usage_error(args->command, "stet setup writes no file of %s for %s",
		                   plan->client->title, plan->user ? "a user" : "a project");
	if (plan->deny && !client_has_part(plan->client, PART_DENY, plan->user))
		return usage_error(args->command, "%s has no setting that takes its own tools away",
		                   plan->client->title);
	if (has_option(args, "--file") && !has_option(args, "--print"))
		return usage_error(args->command, "--file goes with --print");
	return DONE;
}

static int run_plan(struct plan *plan, const struct options *options, const struct arguments *args,
                    const char *root) {
	bool print = has_option(args, "--print");
	int status = check_scope(plan, args);
	if (status == DONE)
		status = plan_make(plan, root);
	if (status == DONE && options->json)
		status = carry_out_json(plan, print);
	else if (status == DONE && print)
		status = print_document(plan, args);
	else if (status == DONE)
		status = carry_out(plan, args, root);
	plan_release(plan);
	return status;
}

static int run_setup(const struct options *options, const struct arguments *args) {
	char *root = realpath(options->root, NULL);
	const char *scope = option_value(args, "--scope"), *hooks = option_value(args, "--hooks");
	if (!root)
		return report_as(STET_E_NOT_FOUND, "The directory \"%s\" does not exist.", options->root);
	int status = USAGE;
	if (args->count == 0) {
		status = (options->json ? list_clients_json : list_clients)(root);
	} else {
		struct plan plan = {.client = find_client(args),
		                    .remove = has_option(args, "--remove"),
		                    .hooks = !has_option(args, "--no-hooks"),
		                    .served = hooks && strcmp(hooks, "server") == 0,
		                    .deny = has_option(args, "--deny-native")};
		plan.user = scope ? strcmp(scope, "user") == 0 : plan.client && plan.client->user;
		if (plan.client && plan.served && !client_serves_hooks(plan.client))
			status =
				report_as(STET_E_INVALID, "%s has no hooks that ask a server.", plan.client->title);
		else if (plan.client)
			status = run_plan(&plan, options, args, root);
	}
	free(root);
	return status;
}

static const struct option options[] = {
	{"--scope", "project|user", "write the project's files, or the user's"},
	{"--yes", NULL, "do not ask on a terminal"},
	{"--hooks", "process|server",
     "let hooks start a process (the default), or ask the running server: only Claude Code can"},
	{"--no-hooks", NULL, "leave out the hooks that check the client's own tools"},
	{"--deny-native", NULL, "take the client's own editing tools away"},
	{"--remove", NULL, "undo: restore the files, or take out stet's entries if they changed since"},
	{"--print", NULL, "print what goes into a file; change nothing"},
	{"--file", "NAME", "with --print: which file"},
	OPTIONS_END,
};

const struct command setup_command = {
	.name = "setup",
	.summary = "connect a client, such as Claude Code",
	.synopsis = "[claude|codex|gemini|qwen|opencode|vscode|cursor|zed]",
	.description =
		"Writes stet into the configuration files of a client: the server, the hooks that check "
		"the client's own tools, and the permission to use stet without a question. It writes the "
		"project's files if the client has them, else the user's; Codex's are the user's unless "
		"--scope says otherwise. It shows what it adds and asks first on a terminal. The rest of "
		"each file stays as it is, comments included; a file that stet cannot parse is left "
		"alone.\n\n"
		"--remove restores each file byte for byte if nobody changed it since, and otherwise takes "
		"out only stet's entries. Without a client, lists the clients and the files that have "
		"stet.",
	.max = 1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet setup claude", "for Claude Code, in this project"},
			{"stet setup codex --print", "print what goes into the file of Codex"},
			{"stet setup claude --remove", "undo it"},
			{0},
		},
	.run = run_setup,
};
