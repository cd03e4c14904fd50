/*
 * The main job at work, in five short scenes: an agent that uses stet and a
 * person who does not, on the same files. Run by tools/demo, in an empty
 * directory. Exit status 0 if everything came out as it should.
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

/* How many updates each side makes in the race, and how long each rests between two. */
enum { UPDATES = 200, REST_US = 1000 };

/* Of quoted text. */
enum { WIDTH = 92 };

static bool coloured;
static struct stet_workspace *ws;
static struct stet_session *agent;
static struct stet_error err;

/* ---- talking ---- */

static const char *colour(const char *code) {
	return coloured ? code : "";
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void scene(const char *title) {
	static int number;
	printf("\n%s%d. %s%s\n", colour("\033[1m"), ++number, title, colour("\033[0m"));
}

/* How much of a line fits, up to a blank if it is too long. */
static size_t fitting(const char *line, size_t len) {
	size_t end = len;
	while (end > WIDTH && memrchr(line, ' ', end))
		end = (size_t)((const char *)memrchr(line, ' ', end) - line);
	return end > 0 ? end : len;
}

/* Text set off from the talk; the lines of a diff in their usual colours. */
static void quote(const char *text) {
	putchar('\n');
	while (*text) {
		size_t len = fitting(text, strcspn(text, "\n"));
		const char *paint = *text == '+' ? "\033[32m" : *text == '-' ? "\033[31m" : "\033[36m";
		if (len > 0)
			printf("    %s%.*s%s", colour(paint), (int)len, text, colour("\033[0m"));
		putchar('\n');
		text += len + (text[len] != '\0');
	}
}

static void check(bool fine, const char *what) {
	if (fine)
		return;
	fprintf(stderr, "demo: %s. %s\n", what, err.message);
	exit(1);
}

/* ---- files, without stet ---- */

/* The text of a small file, in a buffer that the next call uses again. */
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

/* Run something in a second process: the person at the next desk. */
static pid_t person(void (*does)(void)) {
	fflush(stdout);
	pid_t pid = fork();
	check(pid >= 0, "There is no second process");
	if (pid == 0) {
		does();
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

/* ---- 1. an edit of a file that somebody else changed ---- */

static void add_a_timeout(void) {
	put("server.conf", "host = localhost\nport = 8080\ntimeout = 30\n");
}

static void two_writers(void) {
	scene("Two writers, one file");
	put("server.conf", "host = localhost\nport = 8080\n");
	read_file("server.conf");
	say("The agent reads server.conf. Meanwhile a person, in another process, saves a change to "
	    "it.");
	wait_for(person(add_a_timeout));

	say("The agent, which knows nothing of that, wants to change the port. It is refused:");
	struct stet_answer *answer = NULL;
	int code = edit("server.conf", "port = 8080", "port = 9090", &answer);
	check(code == STET_E_CONFLICT, "An edit was not refused");
	quote(stet_answer_message(answer));
	quote(stet_answer_diff(answer, NULL));
	putchar('\n');
	stet_answer_free(answer);

	say("It has now seen the change, so the same edit made again succeeds. Both changes are "
	    "there:");
	check(edit("server.conf", "port = 8080", "port = 9090", NULL) == 0, "The edit failed");
	const char *text = text_of("server.conf");
	quote(text);
	check(strstr(text, "port = 9090\n") && strstr(text, "timeout = 30\n"), "A change is missing");
}

/* ---- 2. a file that was never read ---- */

static void unread_file(void) {
	scene("A whole file, never read");
	put("notes.txt", "Do not lose this.\n");
	say("The agent writes notes.txt from scratch and does not know that there is one. It is "
	    "refused:");
	struct stet_answer *answer = NULL;
	int code = stet_session_write(agent, "notes.txt", "My notes\n", 9, NULL, &answer, &err);
	check(code == STET_E_CONFLICT, "A write was not refused");
	quote(stet_answer_message(answer));
	stet_answer_free(answer);
	check(strcmp(text_of("notes.txt"), "Do not lose this.\n") == 0, "The file was changed");
}

/* ---- 3. a race ---- */

static const char *race_path;

static void append_lines(void) {
	for (int i = 1; i <= UPDATES; i++) {
		char line[32];
		snprintf(line, sizeof line, "person %03d\n", i);
		append(race_path, line);
		rest();
	}
}

/* How a line with a counter goes from one number to the next. */
static void counter_lines(int number, char old[32], char new[32]) {
	snprintf(old, 32, "agent %03d\n", number);
	snprintf(new, 32, "agent %03d\n", number + 1);
}

/* What most tools do: read, think, write a new file, rename it over the old one. */
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

/* The same through stet: read, think, edit; if refused, the diff was seen, so again. */
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

/* Mark the person's lines in a text; a line may be in several. */
static void mark(const char *text, bool found[UPDATES]) {
	for (int i = 0; i < UPDATES; i++) {
		char line[32];
		snprintf(line, sizeof line, "person %03d\n", i + 1);
		found[i] |= strstr(text, line) != NULL;
	}
}

static int count(const bool found[UPDATES]) {
	int sum = 0;
	for (int i = 0; i < UPDATES; i++)
		sum += found[i];
	return sum;
}

/* What stet set aside because a write came too late for the file; it says so in a notice. */
static void mark_kept(bool found[UPDATES]) {
	DIR *dir = opendir(".stet/kept");
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char path[512];
		snprintf(path, sizeof path, ".stet/kept/%s", entry->d_name);
		if (entry->d_name[0] != '.')
			mark(text_of(path), found);
	}
	if (dir)
		closedir(dir);
}

static void race_naive(void) {
	race_path = "naive.log";
	put(race_path, "agent 000\n");
	pid_t pid = person(append_lines);
	for (int i = 0; i < UPDATES; i++)
		naive_update(race_path, i);
	wait_for(pid);
	bool found[UPDATES] = {false};
	mark(text_of(race_path), found);
	say("  read, write, rename:  %3d of %d lines of the person are in the file, %d are lost.",
	    count(found), UPDATES, UPDATES - count(found));
}

static void race_stet(void) {
	race_path = "stet.log";
	put(race_path, "agent 000\n");
	pid_t pid = person(append_lines);
	int refused = 0;
	for (int i = 0; i < UPDATES; i++)
		refused += stet_update(race_path, i);
	wait_for(pid);
	stet_workspace_settle(ws, 100);

	bool found[UPDATES] = {false};
	mark(text_of(race_path), found);
	int in_file = count(found);
	mark_kept(found);
	int kept = count(found) - in_file;
	say("  through stet:         %3d of %d lines of the person are in the file, %d are lost.",
	    in_file, UPDATES, UPDATES - in_file - kept);
	if (kept > 0)
		say("                        %d came too late for the file; stet kept and reported them.",
		    kept);
	say("                        %d edits were refused and made again.", refused);
	check(in_file + kept == UPDATES, "A line of the person is lost");
	check(strstr(text_of(race_path), "agent 200\n") != NULL, "An update of the agent is lost");
	say("Through stet nothing lost: all %d updates of the agent are there as well.", UPDATES);
}

static void race(void) {
	scene("A race");
	say("A person appends %d lines to a file while an agent updates a counter in it %d times.",
	    UPDATES, UPDATES);
	/* Neither of the two ways waits for the disk here, so that the race is close. */
	check(stet_workspace_set(ws, STET_OPTION_DURABLE, 0, &err) == 0, "An option failed");
	race_naive();
	race_stet();
	check(stet_workspace_set(ws, STET_OPTION_DURABLE, 1, &err) == 0, "An option failed");
}

/* ---- 4. a section of a Markdown file ---- */

static void patch_section(void) {
	static const char args[] =
		"{\"filePath\": \"README.md\", \"operation\": \"insert\","
		" \"target\": {\"appendToSection\": \"Setup\"}, \"content\": \"3. Start the server.\"}";
	scene("A section of a Markdown file");
	put("README.md",
	    "# Server\n\n## Setup\n\n1. Install it.\n2. Edit server.conf.\n\n## Usage\n\nSee notes.\n");
	say("The agent adds a step to the section Setup, by its heading, with the tool text_patch:");
	char *answer = NULL;
	check(stet_call(agent, "text_patch", args, strlen(args), &answer, NULL, &err) == 0,
	      "Patching failed");
	stet_free(answer);
	const char *text = text_of("README.md");
	quote(text);
	check(strstr(text, "2. Edit server.conf.\n3. Start the server.\n\n## Usage") != NULL,
	      "The step is in the wrong place");
}

/* ---- 5. what is left ---- */

static void leftovers(void) {
	scene("What is left behind");
	int files = 0, temporary = 0;
	DIR *dir = opendir(".");
	check(dir != NULL, "The directory cannot be read");
	for (struct dirent *entry; (entry = readdir(dir));) {
		files += entry->d_name[0] != '.';
		temporary += strncmp(entry->d_name, ".stet-", 6) == 0;
	}
	closedir(dir);
	say("The directory holds the %d files of these scenes and %d temporary ones.", files,
	    temporary);
	for (char *notice; (notice = stet_workspace_notice(ws)); stet_free(notice))
		quote(notice);
	check(temporary == 0, "A temporary file is left");
}

int main(void) {
	coloured = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	check(stet_workspace_open(".", &ws, &err) == 0, "The workspace cannot be opened");
	check(stet_session_open(ws, "agent", &agent, &err) == 0, "The session cannot be opened");
	say("stet %s: an agent that uses it, and a person who does not, on the same files.",
	    stet_version());
	two_writers();
	unread_file();
	race();
	patch_section();
	leftovers();
	stet_session_close(agent);
	stet_workspace_close(ws);
	return fflush(stdout) == 0 ? 0 : 1;
}
