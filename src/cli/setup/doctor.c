/* stet doctor on hooks: run each configured command with a sample event, and say when each client last called it. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/setup/doctor.h"
#include "cli/setup/entry.h"
#include "cli/setup/plan.h"

/* How long a command may take to answer, in milliseconds. */
enum { PATIENCE = 5000 };

/* ---- the configured command ---- */

/* The command of a hook in an element: its own, or its group's first. */
static const char *command_in(const struct stet_json *json, const char *at) {
	char pointer[256];
	snprintf(pointer, sizeof pointer, "%s/command", at);
	const char *command = stet_json_text(json, pointer, NULL);
	snprintf(pointer, sizeof pointer, "%s/hooks/0/command", at);
	if (!command)
		command = stet_json_text(json, pointer, NULL);
	return command && is_hook_command(command) ? command : NULL;
}

/* The command that a JSON file runs for an entry; the caller frees it. */
static char *find_command(const struct entry *entry, const char *text) {
	char array[128], at[192];
	struct stet_json *json = NULL;
	struct stet_error err = {0};
	char *found = NULL;
	if (stet_json_parse(text, strlen(text), 1, &json, &err) < 0)
		return NULL;
	snprintf(array, sizeof array, "/%s/%s", entry->path[0], entry->path[1]);
	for (size_t i = 0; !found && i < stet_json_count(json, array); i++) {
		snprintf(at, sizeof at, "%s/%zu", array, i);
		const char *command = command_in(json, at);
		found = command ? strdup(command) : NULL;
	}
	stet_json_free(json);
	return found;
}

/* The command of a client's hooks in a file; the caller frees it. */
static char *configured_command(const struct client *client, const char *path) {
	char *text = config_file_peek(path), *found = NULL;
	for (const struct entry *entry = client->entries; text && !found && entry->value; entry++) {
		if (entry->part == PART_HOOKS && entry->kind == ENTRY_ELEMENT)
			found = find_command(entry, text);
	}
	free(text);
	return found;
}

/* ---- a sample event ---- */

/*
 * The event is in the pipe, which has room for it, before the command starts: written later, it would end this program
 * by SIGPIPE if the command had ended meanwhile.
 */
static int start_command(const char *command, const char *root, int fds[2], pid_t *pid) {
	int in[2];
	if (pipe(in) < 0)
		return -1;
	dprintf(in[1],
	        "{\"session_id\":\"stet-doctor\",\"cwd\":\"%s\",\"hook_event_name\":\"StetDoctor\"}",
	        root);
	close(in[1]);
	if (pipe(fds) < 0 || (*pid = fork()) < 0) {
		close(in[0]);
		return -1;
	}
	if (*pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(fds[1], STDOUT_FILENO);
		int nowhere = open("/dev/null", O_WRONLY);
		dup2(nowhere, STDERR_FILENO);
		close(fds[0]);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(fds[1]);
	return 0;
}

/* Read the output of the command until it ends or its time is up. */
static void read_answer(int fd, char *answer, size_t size) {
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	size_t len = 0;
	while (len + 1 < size && poll(&wait, 1, PATIENCE) > 0) {
		ssize_t count = read(fd, answer + len, size - len - 1);
		if (count <= 0)
			break;
		len += (size_t)count;
	}
	answer[len] = '\0';
}

/* Run the command with an event to which every stet hook has an answer. */
static bool answers_sample(const char *command, const char *root) {
	char answer[4096];
	int fds[2];
	pid_t pid = -1;
	/* The path stands in JSON. */
	if (strpbrk(root, "\"\\") || start_command(command, root, fds, &pid) < 0)
		return false;
	read_answer(fds[0], answer, sizeof answer);
	close(fds[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return strstr(answer, "stet guards") != NULL;
}

/* ---- Codex's trust ---- */

/* Codex keeps the hash of each hook that its user trusts in config.toml, by the path of the hooks' file. */
static bool codex_trusts(const struct client *client, const char *path, const char *root) {
	char *config = client_path(client, 0, root, true), key[4200];
	char *text = config ? config_file_peek(config) : NULL;
	snprintf(key, sizeof key, "\"%s:", path);
	bool trusts = text && strstr(text, key) && strstr(text, "trusted_hash");
	free(text);
	free(config);
	return trusts;
}

/* ---- findings ---- */

/* The last time that a session of the client was saved, from the state; empty if there is none. */
static const char *last_call(const struct findings *found, const struct client *client) {
	char pointer[64];
	size_t len = strlen(client->name),
		   count = stet_json_count(found->json, "/state/database/sessions");
	for (size_t i = 0; i < count; i++) {
		snprintf(pointer, sizeof pointer, "/state/database/sessions/%zu/name", i);
		const char *name = stet_json_text(found->json, pointer, NULL);
		if (!name || strncmp(name, client->name, len) != 0 || name[len] != ':')
			continue;
		snprintf(pointer, sizeof pointer, "/state/database/sessions/%zu/used", i);
		const char *used = stet_json_text(found->json, pointer, NULL);
		return used ? used : "";
	}
	return "";
}

/* A repository may name any program: run one only if it is this one, or if the user's own file names it. */
static bool may_run(const char *command, bool user) {
	char *program = own_program(), own[4200] = "", quoted[4200] = "";
	if (program) {
		snprintf(own, sizeof own, "%s hook", program);
		snprintf(quoted, sizeof quoted, "'%s' hook", program);
	}
	free(program);
	return user || strcmp(command, own) == 0 || strcmp(command, quoted) == 0;
}

static void report_hook(struct findings *found, const struct client *client, const char *path,
                        const char *root, bool user) {
	char what[1200], advice[200];
	char *command = configured_command(client, path);
	const char *last = last_call(found, client);
	snprintf(advice, sizeof advice, "Run stet setup %s again", client->name);
	if (command && !may_run(command, user)) {
		snprintf(what, sizeof what, "%s: %.400s runs %.400s, which was not tried", client->title,
		         path, command);
		add_finding(found, WEAK, "hooks", what, advice);
	} else if (command && !answers_sample(command, root)) {
		snprintf(what, sizeof what, "%s: %.400s does not answer a sample event", client->title,
		         command);
		add_finding(found, BROKEN, "hooks", what, advice);
	} else {
		snprintf(what, sizeof what, "%s is guarded, by %.400s; %s%s", client->title, path,
		         *last ? "last used here " : "not used here yet", last);
		add_finding(found, FINE, "hooks", what, NULL);
	}
	free(command);
	if (strcmp(client->name, "codex") == 0 && !codex_trusts(client, path, root))
		add_finding(found, WEAK, "hooks", "Codex does not trust stet's hooks, and skips them",
		            "Run codex, type /hooks and trust them");
}

void check_hooks(struct findings *found, const char *root) {
	for (size_t i = 0; i < client_count; i++) {
		for (int user = 0; user < 2; user++) {
			char *path = client_configured(&clients[i], PART_HOOKS, root, user);
			if (path)
				report_hook(found, &clients[i], path, root, user);
			free(path);
		}
	}
}
