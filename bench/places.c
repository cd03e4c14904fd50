/*
 * Places: an edit of 4 KB and a read where nobody else is, and among 1, 10 and 50
 * places of one repository; the forecast with each number; `stet who` from start
 * to its first byte; how `stet mcp` starts there, and its memory. With the connection
 * string of a hub, an edit with it and without.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
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

/* A running program: the pipes to its input and from its output. */
struct running {
	pid_t pid;
	int in, out;
};

static struct running start(const char *const *argv) {
	struct running running;
	int in[2], out[2];
	posix_spawn_file_actions_t actions;
	bench_check(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	bench_check(posix_spawn(&running.pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv,
	                        environ) == 0,
	            "start stet");
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	running.in = in[1];
	running.out = out[0];
	return running;
}

static void read_byte(const struct running *running) {
	char byte;
	bench_check(read(running->out, &byte, 1) == 1, "a first byte");
}

static void end(struct running *running) {
	close(running->in);
	close(running->out);
	waitpid(running->pid, NULL, 0);
}

/* From the start of the program to its first byte. */
static void first_byte(void *context) {
	struct running running = start(context);
	read_byte(&running);
	end(&running);
}

static void greet(const struct running *running) {
	static const char hello[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
		"\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"b\",\"version\":\"1\"}}}\n";
	const ssize_t len = (ssize_t)strlen(hello);
	bench_check(write(running->in, hello, (size_t)len) == len, "write");
	read_byte(running);
}

/* From the start of an MCP server to its first answer. */
static void first_answer(void *context) {
	struct running running = start(context);
	greet(&running);
	end(&running);
}

/* Print the memory of an MCP server, and the libraries of hubs in it. */
static void print_memory(const char *name, const char *const *argv) {
	char path[60], line[500];
	long resident = 0, libpq = 0;
	struct running running = start(argv);
	greet(&running);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", (int)running.pid, i ? "maps" : "status");
		FILE *file = fopen(path, "r");
		bench_check(file != NULL, path);
		while (fgets(line, sizeof line, file)) {
			if (strncmp(line, "VmRSS:", 6) == 0)
				resident = strtol(line + 6, NULL, 10);
			libpq += strstr(line, "libpq") != NULL;
		}
		fclose(file);
	}
	end(&running);
	printf("  %-42s %10ld KB%s\n", name, resident, libpq ? ", with libpq" : "");
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

/* Start programs in a repository with 50 places. */
static void bench_program(const char *stet) {
	const char *const version[] = {stet, "--version", NULL};
	const char *const who[] = {stet, "--root", "many", "who", NULL};
	const char *const alone[] = {stet, "--root", "one", "mcp", NULL};
	const char *const among[] = {stet, "--root", "many", "mcp", NULL};
	const struct bench_case bytes[] = {
		{.name = "stet --version", .run = first_byte, .context = (void *)(uintptr_t)version},
		{.name = "stet who, 50 places", .run = first_byte, .context = (void *)(uintptr_t)who},
	};
	bench_run("time to first byte", bytes, 2, 51);
	const struct bench_case starts[] = {
		{.name = "1 place", .run = first_answer, .context = (void *)(uintptr_t)alone},
		{.name = "50 places",
	     .run = first_answer,
	     .context = (void *)(uintptr_t)among,
	     .target = 1.05},
	};
	bench_run("stet mcp, from start to its first answer", starts, 2, 51);
	puts("stet mcp, resident after that");
	print_memory("1 place", alone);
	print_memory("50 places", among);
}

/* Two repositories that differ in the hub alone. */
static void bench_hub(const char *conninfo) {
	struct place near = {0}, far = {0};
	make_repository("near", 1);
	make_repository("far", 1);
	run("git -C near remote add origin https://git.example/near.git &&"
	    " git -C far remote add origin https://git.example/far.git && mkdir -p config/stet");
	FILE *config = fopen("config/stet/config.json", "w");
	bench_check(config != NULL, "configuration");
	fprintf(config, "{\"hub\":\"%s\"}", conninfo);
	bench_check(fclose(config) == 0, "configuration");
	open_place(&near, "near", "me");
	char here[300], path[320];
	bench_check(getcwd(here, sizeof here) != NULL, "getcwd");
	snprintf(path, sizeof path, "%s/config", here);
	bench_check(setenv("XDG_CONFIG_HOME", path, 1) == 0, "configuration");
	open_place(&far, "far", "me");
	const struct bench_case edits[] = {
		{.name = "no hub", .run = edit, .context = &near},
		{.name = "a hub 200 ms away", .run = edit, .context = &far, .target = 1.05},
	};
	bench_run("edit_file, 4 KB, relaxed, 1 place", edits, 2, 2001);
	close_place(&near);
	close_place(&far);
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
	if (stet)
		bench_program(stet);
	if (argc > 2)
		bench_hub(argv[2]);
	close_place(&none);
	close_place(&one);
	close_place(&some);
	close_place(&many);
	bench_leave();
}
