/*
 * Places: an edit of 4 KB and a read where nobody else is, and among 1, 10 and 50
 * places of one repository; the forecast with each number; `stet who` from start
 * to its first byte.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bench.h"
#include "stet/stet.h"

enum { MANY = 50, SOME = 10, LINES = 100 };

extern char **environ;

struct place {
	struct stet_workspace *ws;
	struct stet_session *session;
	int turn;
};

static void run(const char *command) {
	bench_check(system(command) == 0, command);
}

static void open_place(struct place *place, const char *root, const char *name) {
	bench_check(stet_workspace_open(root, &place->ws, NULL) == 0 &&
	                stet_workspace_set(place->ws, STET_OPTION_STATE, 2, NULL) == 0 &&
	                stet_workspace_set(place->ws, STET_OPTION_DURABLE, 0, NULL) == 0 &&
	                stet_session_open(place->ws, name, &place->session, NULL) == 0,
	            "open a workspace");
}

static void close_place(struct place *place) {
	stet_session_close(place->session);
	stet_workspace_close(place->ws);
}

static void call(struct place *place, const char *tool, const char *args) {
	char *out = NULL;
	bench_check(stet_call(place->session, tool, args, strlen(args), &out, NULL, NULL) == 0, tool);
	stet_free(out);
}

/* Change one line of a file of 4 KB there and back. */
static void edit(void *context) {
	struct place *place = context;
	call(place, "edit_file",
	     place->turn++ % 2 ? "{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"a line, no. 50 "
	                         "\",\"newText\":\"a line no. 50 \"}]}"
	                       : "{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"a line no. 50 "
	                         "\",\"newText\":\"a line, no. 50 \"}]}");
}

static void read_file(void *context) {
	call(context, "read_file", "{\"path\":\"a.txt\"}");
}

static void forecast(void *context) {
	const struct place *place = context;
	char *out = NULL;
	bench_check(stet_forecast(place->ws, NULL, 0, &out, NULL, NULL) == 0, "forecast");
	stet_free(out);
}

/* From the start of the program to its first byte. */
static void first_byte(void *context) {
	const char *const *argv = context;
	int fds[2];
	char byte;
	pid_t pid;
	posix_spawn_file_actions_t actions;
	bench_check(pipe2(fds, O_CLOEXEC) == 0, "pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	bench_check(
		posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) == 0,
		"start stet");
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	bench_check(read(fds[0], &byte, 1) == 1, "a first byte");
	close(fds[0]);
	waitpid(pid, NULL, 0);
}

/* Make a repository with so many checkouts, each with a change of its own. */
static void make_repository(const char *name, int count) {
	char command[1000];
	snprintf(command, sizeof command,
	         "git init -q -b main %s && cp a.txt %s && cd %s && git add . &&"
	         " git -c user.name=a -c user.email=a@b commit -q -m first",
	         name, name, name);
	run(command);
	for (int i = 1; i < count; i++) {
		struct place place;
		char root[64], text[200];
		snprintf(root, sizeof root, "%s-%d", name, i);
		snprintf(command, sizeof command, "git -C %s worktree add -q -b %s ../%s", name, root,
		         root);
		run(command);
		memset(&place, 0, sizeof place);
		open_place(&place, root, root);
		snprintf(
			text, sizeof text,
			"{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"a line no. %d \",\"newText\":\"%s\"}]}",
			i + 1, root);
		call(&place, "edit_file", text);
		close_place(&place);
	}
}

static void make_file(void) {
	FILE *out = fopen("a.txt", "w");
	bench_check(out != NULL, "make a file");
	for (int i = 1; i <= LINES; i++)
		fprintf(out, "a line no. %d of a file of four KB ..\n", i);
	bench_check(fclose(out) == 0, "make a file");
}

int main(int argc, char **argv) {
	const char *stet = argc > 1 ? argv[1] : getenv("STET");
	struct place none, one, some, many;
	char here[300], state[320];
	bench_enter();
	bench_check(getcwd(here, sizeof here) != NULL, "getcwd");
	snprintf(state, sizeof state, "%s/state", here);
	bench_check(mkdir(state, 0700) == 0 && setenv("XDG_STATE_HOME", state, 1) == 0, "state");
	make_file();
	run("mkdir none && cp a.txt none");
	make_repository("one", 1);
	make_repository("some", SOME);
	make_repository("many", MANY);
	memset(&none, 0, sizeof none);
	one = some = many = none;
	open_place(&none, "none", "me");
	open_place(&one, "one", "me");
	open_place(&some, "some", "me");
	open_place(&many, "many", "me");
	const struct bench_case edits[] = {
		{.name = "no repository", .run = edit, .context = &none},
		{.name = "1 place", .run = edit, .context = &one, .target = 1.05},
		{.name = "10 places", .run = edit, .context = &some, .target = 1.1},
		{.name = "50 places", .run = edit, .context = &many, .target = 1.1},
	};
	bench_run("edit_file, 4 KB, relaxed", edits, 4, 401);
	const struct bench_case reads[] = {
		{.name = "no repository", .run = read_file, .context = &none},
		{.name = "1 place", .run = read_file, .context = &one},
		{.name = "10 places", .run = read_file, .context = &some},
		{.name = "50 places", .run = read_file, .context = &many},
	};
	bench_run("read_file, 4 KB", reads, 4, 401);
	const struct bench_case forecasts[] = {
		{.name = "1 place", .run = forecast, .context = &one},
		{.name = "10 places", .run = forecast, .context = &some},
		{.name = "50 places", .run = forecast, .context = &many},
	};
	bench_run("forecast, pairs with this place", forecasts, 3, 11);
	if (stet) {
		const char *const version[] = {stet, "--version", NULL};
		const char *const who[] = {stet, "--root", "many", "who", NULL};
		const struct bench_case starts[] = {
			{.name = "stet --version", .run = first_byte, .context = (void *)(uintptr_t)version},
			{.name = "stet who, 50 places", .run = first_byte, .context = (void *)(uintptr_t)who},
		};
		bench_run("time to first byte", starts, 2, 51);
	}
	close_place(&none);
	close_place(&one);
	close_place(&some);
	close_place(&many);
	bench_leave();
}
