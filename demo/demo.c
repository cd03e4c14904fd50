/*
 * The race of make demo: a person appends to a file while an agent updates a
 * counter in it, first by plain read, modify and rename, then through stet.
 * demo.py runs it in an empty directory. The exit status is 0 if stet lost
 * nothing.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stet/stet.h"

/* How many updates each side makes in the race, and the pause between two. */
enum { UPDATES = 200, REST_US = 1000 };

static struct stet_workspace *ws;
static struct stet_session *agent;
static struct stet_error err;

/* ---- output ---- */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void check(bool fine, const char *what) {
	if (fine)
		return;
	fprintf(stderr, "demo: %s. %s\n", what, err.message);
	exit(1);
}

/* ---- files, without stet ---- */

/* The text of a small file, valid until the next call. */
static const char *text_of(const char *path) {
	static char text[1 << 16];
	FILE *file = fopen(path, "r");
	size_t len = file ? fread(text, 1, sizeof text - 1, file) : 0;
	check(file != NULL, "A file cannot be read");
	fclose(file);
	text[len] = '\0';
	return text;
}

static void put(const char *path, const char *text) {
	FILE *file = fopen(path, "w");
	check(file && fputs(text, file) >= 0 && fclose(file) == 0, "A file cannot be written");
}

static void append(const char *path, const char *line) {
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	check(fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line) && close(fd) == 0,
	      "A line cannot be appended");
}

static void rest(void) {
	nanosleep(&(struct timespec){.tv_nsec = REST_US * 1000L}, NULL);
}

/* Start the person: a second process that runs a function. */
static pid_t start_person(void (*function)(void)) {
	fflush(stdout);
	pid_t pid = fork();
	check(pid >= 0, "The second process cannot be started");
	if (pid == 0) {
		function();
		_exit(0);
	}
	return pid;
}

static void wait_for(pid_t pid) {
	int status = 1;
	check(waitpid(pid, &status, 0) == pid && status == 0, "The second process failed");
}

/* ---- files, with stet ---- */

static int edit(const char *path, const char *old, const char *new, struct stet_answer **answer) {
	return stet_session_edit(agent, path, old, strlen(old), new, strlen(new), NULL, answer, &err);
}

static void read_file(const char *path) {
	struct stet_answer *answer = NULL;
	check(stet_session_read(agent, path, 0, 0, &answer, &err) == 0, "Reading failed");
	stet_answer_free(answer);
}

/* ---- the race ---- */

static const char *race_path;

static void append_lines(void) {
	for (int i = 1; i <= UPDATES; i++) {
		char line[32];
		snprintf(line, sizeof line, "person %03d\n", i);
		append(race_path, line);
		rest();
	}
}

/* The line with the counter before and after an update. */
static void counter_lines(int number, char old[32], char new[32]) {
	snprintf(old, 32, "agent %03d\n", number);
	snprintf(new, 32, "agent %03d\n", number + 1);
}

/* Update as most tools do: read, think, write a new file, rename it over the old one. */
static void naive_update(const char *path, int number) {
	char old[32], new[32];
	counter_lines(number, old, new);
	char text[1 << 14];
	const char *before = text_of(path);
	check(strlen(before) < sizeof text, "The file of the race outgrew the demonstration");
	memcpy(text, before, strlen(before) + 1);
	rest();
	char *place = strstr(text, old);
	check(place != NULL, "The naive writer lost its own update");
	memcpy(place, new, strlen(new));
	put("naive.tmp", text);
	check(rename("naive.tmp", path) == 0, "Renaming failed");
}

/* Update through stet: read, think, edit. A refusal shows the diff, so the edit can be repeated. */
static int stet_update(const char *path, int number) {
	char old[32], new[32];
	counter_lines(number, old, new);
	int refused = 0;
	read_file(path);
	rest();
	struct stet_answer *answer = NULL;
	for (int code; (code = edit(path, old, new, &answer)) != 0; refused++) {
		check(code == STET_E_CONFLICT || code == STET_E_BUSY, "An edit failed");
		stet_answer_free(answer);
	}
	stet_answer_free(answer);
	return refused;
}

/* Mark the person's lines that a text contains. */
static void mark_lines(const char *text, bool found[UPDATES]) {
	for (int i = 0; i < UPDATES; i++) {
		char line[32];
		snprintf(line, sizeof line, "person %03d\n", i + 1);
		found[i] |= strstr(text, line) != NULL;
	}
}

static int count_marked(const bool found[UPDATES]) {
	int sum = 0;
	for (int i = 0; i < UPDATES; i++)
		sum += found[i];
	return sum;
}

/* Mark lines that came too late for the file, which stet rescued and reported in a notice. */
static void mark_rescued(bool found[UPDATES]) {
	DIR *dir = opendir(".stet/rescued");
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char path[512];
		snprintf(path, sizeof path, ".stet/rescued/%s", entry->d_name);
		if (entry->d_name[0] != '.')
			mark_lines(text_of(path), found);
	}
	if (dir)
		closedir(dir);
}

static void race_naive(void) {
	race_path = "naive.log";
	put(race_path, "agent 000\n");
	pid_t pid = start_person(append_lines);
	for (int i = 0; i < UPDATES; i++)
		naive_update(race_path, i);
	wait_for(pid);
	bool found[UPDATES] = {false};
	mark_lines(text_of(race_path), found);
	say("  read, write, rename:  %3d of %d lines of the person are in the file, %d are lost.",
	    count_marked(found), UPDATES, UPDATES - count_marked(found));
}

static void race_stet(void) {
	race_path = "stet.log";
	put(race_path, "agent 000\n");
	pid_t pid = start_person(append_lines);
	int refused = 0;
	for (int i = 0; i < UPDATES; i++)
		refused += stet_update(race_path, i);
	wait_for(pid);
	stet_workspace_drain(ws, 100);

	bool found[UPDATES] = {false};
	mark_lines(text_of(race_path), found);
	int in_file = count_marked(found);
	mark_rescued(found);
	int rescued = count_marked(found) - in_file;
	say("  through stet:         %3d of %d lines of the person are in the file, %d are lost.",
	    in_file, UPDATES, UPDATES - in_file - rescued);
	if (rescued > 0)
		say("                        %d came too late for the file; stet saved and reported them.",
		    rescued);
	say("                        %d edits were refused and made again.", refused);
	check(in_file + rescued == UPDATES, "A line of the person is lost");
	check(strstr(text_of(race_path), "agent 200\n") != NULL, "An update of the agent is lost");
	say("Through stet, nothing is lost: all %d updates of the agent are there as well.", UPDATES);
}

static void race(void) {
	say("A person appends %d lines to a file while an agent updates a counter in it %d times.",
	    UPDATES, UPDATES);
	/* Turn off waiting for the disk, which the plain way does not do either. */
	check(stet_workspace_set(ws, STET_OPTION_DURABLE, 0, &err) == 0, "An option failed");
	race_naive();
	race_stet();
	check(stet_workspace_set(ws, STET_OPTION_DURABLE, 1, &err) == 0, "An option failed");
}

int main(void) {
	check(stet_workspace_open(".", &ws, &err) == 0, "The workspace cannot be opened");
	check(stet_session_open(ws, "agent", &agent, &err) == 0, "The session cannot be opened");
	race();
	stet_session_close(agent);
	stet_workspace_close(ws);
	return fflush(stdout) == 0 ? 0 : 1;
}
