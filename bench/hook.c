/*
 * stet hook, one process per event, against a C program that reads the event and the file, and writes as much as stet
 * stores. The target is 3x, and 5 ms of wall time.
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

/* The lines of the file, and the bytes that a session's record takes in the database: two pages, each written twice. */
enum { LINES = 200, RECORD = 4 * 4096, ROUNDS = 101 };

extern char **environ;

static char self[4096], stet[4096], bare_option[] = "--bare", hook_command[] = "hook";

static void put(const char *path, const char *text) {
	FILE *out = fopen(path, "w");
	bench_check(out && fputs(text, out) >= 0 && fclose(out) == 0, "write a file");
}

/* ---- the floor ---- */

static void read_file(const char *path) {
	char bytes[64 << 10];
	int fd = open(path, O_RDONLY);
	bench_check(fd >= 0 && read(fd, bytes, sizeof bytes) > 0 && close(fd) == 0, "read a file");
}

/* Read the event, the file and a record, and write the record. */
static int run_bare(void) {
	static char record[RECORD];
	char event[64 << 10];
	bench_check(read(STDIN_FILENO, event, sizeof event) > 0, "read the event");
	read_file("a.txt");
	int fd = open("record", O_RDWR | O_CREAT, 0600);
	bench_check(fd >= 0 && pread(fd, record, sizeof record, 0) >= 0 &&
	                pwrite(fd, record, sizeof record, 0) == RECORD && close(fd) == 0,
	            "write the record");
	return 0;
}

/* ---- processes ---- */

struct call {
	char *const argv[4];
	const char *event;
	/* The event before it, which is not timed; NULL for none. */
	const char *before;
};

static void run_with(const struct call *call, const char *event) {
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, event, O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	bench_check(posix_spawn(&pid, call->argv[0], &actions, NULL, call->argv, environ) == 0 &&
	                waitpid(pid, &status, 0) == pid && status == 0,
	            "run a hook");
	posix_spawn_file_actions_destroy(&actions);
}

static void run_call(void *context) {
	const struct call *call = context;
	run_with(call, call->event);
}

static void prepare_call(void *context) {
	const struct call *call = context;
	if (call->before)
		run_with(call, call->before);
}

/* ---- events ---- */

/* Write a.txt, with another line 7 if given. */
static void put_lines(const char *line) {
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bench_check(out != NULL, "memory");
	for (int i = 0; i < LINES; i++) {
		if (line && i == 7)
			fprintf(out, "%s\n", line);
		else
			fprintf(out, "line %d of a file\n", i);
	}
	fclose(out);
	put("a.txt", text);
	free(text);
}

static void put_events(const char *dir) {
	char *escaped = NULL, *event = NULL;
	size_t escaped_len = 0;
	FILE *json = open_memstream(&escaped, &escaped_len);
	bench_check(json != NULL, "memory");
	for (int i = 0; i < LINES; i++)
		fprintf(json, "line %d of a file\\n", i);
	fclose(json);
	put_lines(NULL);
	static const char head[] =
		"{\"session_id\":\"s\",\"cwd\":\"%s\",\"hook_event_name\":\"%s\","
		"\"tool_name\":\"%s\",\"tool_input\":{\"file_path\":\"a.txt\"%s}%s%s%s}";
	bench_check(asprintf(&event, head, dir, "PostToolUse", "Read", "",
	                     ",\"tool_response\":{\"file\":{\"startLine\":1,\"numLines\":200,"
	                     "\"totalLines\":200,\"content\":\"",
	                     escaped, "\"}}") > 0,
	            "memory");
	put("after-read.json", event);
	free(event);
	bench_check(asprintf(&event, head, dir, "PreToolUse", "Edit",
	                     ",\"old_string\":\"line 7 of\",\"new_string\":\"LINE 7 of\"", "", "",
	                     "") > 0,
	            "memory");
	put("before-edit.json", event);
	free(event);
	bench_check(asprintf(&event, head, dir, "PostToolUse", "Edit",
	                     ",\"old_string\":\"line 7 of\",\"new_string\":\"LINE 7 of\"", "", "",
	                     "") > 0,
	            "memory");
	put("after-edit.json", event);
	free(event);
	bench_check(asprintf(&event, head, dir, "UserPromptSubmit", "", "", "", "", "") > 0, "memory");
	put("prompt.json", event);
	free(event);
	free(escaped);
}

/* Make the registry of places as a user's is: with changes made here, not just now, and none by others. */
static void make_registry(const struct call *hook, const char *dir) {
	char path[4200];
	snprintf(path, sizeof path, "%s/user", dir);
	bench_check(mkdir(path, 0700) == 0 && setenv("XDG_STATE_HOME", path, 1) == 0, "a directory");
	run_with(hook, "after-read.json");
	run_with(hook, "before-edit.json");
	put_lines("LINE 7 of a file");
	run_with(hook, "after-edit.json");
	put_lines(NULL);
	sleep(2);
	bench_check(access("user/stet/places/stet.db", F_OK) == 0, "the registry of places");
}

int main(int argc, char **argv) {
	static const char *const events[] = {"after-read.json", "before-edit.json", "prompt.json"};
	char dir[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	if (argc > 1 && strcmp(argv[1], "--bare") == 0)
		return run_bare();
	bench_check(len > 0, "the own path");
	snprintf(stet, sizeof stet, "%.4000s", self);
	/* BUILD/bench/bench-hook and BUILD/stet. */
	char *folder = strstr(stet, "/bench/bench-hook");
	bench_check(folder != NULL, "the path of stet");
	memcpy(folder, "/stet", sizeof "/stet");
	bench_enter();
	bench_check(getcwd(dir, sizeof dir) && mkdir(".git", 0700) == 0, "a directory");
	put_events(dir);
	make_registry(&(struct call){.argv = {stet, hook_command, NULL}}, dir);
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		/* The hook after the edit ends the witness of the hook before it. */
		const char *before = strcmp(events[i], "before-edit.json") == 0 ? "after-edit.json" : NULL;
		struct call bare = {{self, bare_option, NULL}, events[i], NULL};
		struct call hook = {{stet, hook_command, NULL}, events[i], before};
		const struct bench_case cases[] = {
			{.name = "read the event and the file, write a record",
		     .run = run_call,
		     .context = &bare},
			{.name = "stet hook",
		     .run = run_call,
		     .context = &hook,
		     .prepare = prepare_call,
		     .target = 3},
		};
		bench_run(events[i], cases, 2, ROUNDS);
	}
	bench_leave();
	return 0;
}
