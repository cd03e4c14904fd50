/*
 * stet mcp against a minimal echo server and against the reference filesystem
 * server, over pipes, without a client library.
 *
 *     bench-mcp [DIR [STET]]   DIR: the directory that tools/npm prints, for the reference server
 *                              STET: the stet program of another version, to compare with
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "lib/bench.h"

extern char **environ;

enum { PIPELINED = 100 };

struct server {
	const char *argv[8];
	/* The name of the tool that reads a file. */
	const char *read;
	pid_t pid;
	int in;
	FILE *out;
	char *line;
	size_t room;
	/* How often it edited its file; each edit makes a new version. */
	int turn;
};

static char self[PATH_MAX], stet[PATH_MAX], node[PATH_MAX], script[PATH_MAX], other[PATH_MAX];
static struct server echo = {.argv = {self, "--echo", NULL}};
static struct server durable = {.argv = {stet, "mcp", ".", NULL}, .read = "read_file"};
static struct server relaxed = {.argv = {stet, "mcp", "--durability", "relaxed", ".", NULL},
                                .read = "read_file"};
static struct server reference = {.argv = {node, script, ".", NULL}, .read = "read_text_file"};
static struct server other_durable = {.argv = {other, "mcp", ".", NULL}, .read = "read_file"};
static struct server other_relaxed = {.argv = {other, "mcp", "--durability", "relaxed", ".", NULL},
                                      .read = "read_file"};

static bool has_reference(void) {
	return node[0] != '\0';
}

static bool has_other(void) {
	return other[0] != '\0';
}

/* ---- the echo server ---- */

/* Read a file and throw it away: every server has to read it. */
static void read_file(const char *path) {
	static char bytes[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, bytes, sizeof bytes) >= 0)
		close(fd);
}

static void write_all(const char *bytes, size_t len) {
	while (len > 0) {
		ssize_t done = write(STDOUT_FILENO, bytes, len);
		if (done <= 0)
			return;
		bytes += done;
		len -= (size_t)done;
	}
}

/* Write a file and rename it; how: 'e' without fsync, 's' with the file synced, 'd' with the directory too. */
static bool replace_file(const char *path, const char *bytes, size_t len, char how) {
	char dir[PATH_MAX], temp[PATH_MAX + 16];
	const char *slash = strrchr(path, '/');
	snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	snprintf(temp, sizeof temp, "%s/bare.tmp", dir);
	int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool done = fd >= 0 && write(fd, bytes, len) == (ssize_t)len && (how == 'e' || fsync(fd) == 0);
	close(fd);
	done = done && rename(temp, path) == 0;
	if (!done || how != 'd')
		return done;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	done = fsync(fd) == 0;
	close(fd);
	return done;
}

/* Edit a file without any checks. False on failure. */
static bool edit_file(const char *path, char how) {
	static char bytes[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);
	close(fd);
	char *word = len > 0 ? memmem(bytes, (size_t)len, " word", 5) : NULL;
	if (!word)
		return false;
	word[-1] ^= 1;
	return replace_file(path, bytes, (size_t)len, how);
}

/*
 * Answer a line "r NUMBER PATH" with NUMBER bytes after reading the file, and one
 * that begins with a letter of replace_file() after editing it. Answer any other
 * line with one byte.
 */
static int run_echo(void) {
	static char answer[1 << 20];
	char *line = NULL;
	size_t room = 0;
	for (ssize_t len; (len = getline(&line, &room, stdin)) > 0;) {
		char *path = NULL;
		unsigned long size_of_answer = strtoul(line + 1, &path, 10);
		line[len - 1] = '\0';
		path += strspn(path, " ");
		if (*line == 'r')
			read_file(path);
		else if (!strchr("esd", *line) || !edit_file(path, *line))
			size_of_answer = 1;
		memset(answer, 'x', size_of_answer - 1);
		answer[size_of_answer - 1] = '\n';
		write_all(answer, size_of_answer);
	}
	free(line);
	return 0;
}

/* ---- clients ---- */

static void start(struct server *server) {
	int in[2], out[2];
	posix_spawn_file_actions_t actions;
	bench_check(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	union {
		const char *const *given;
		char **wanted;
	} argv = {.given = server->argv};
	bench_check(posix_spawn(&server->pid, argv.wanted[0], &actions, NULL, argv.wanted, environ) ==
	                0,
	            "spawn");
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	server->in = in[1];
	server->out = fdopen(out[0], "r");
}

static void stop(struct server *server) {
	close(server->in);
	fclose(server->out);
	waitpid(server->pid, NULL, 0);
}

static void say(struct server *server, struct st_str line) {
	while (line.len > 0) {
		ssize_t len = write(server->in, line.ptr, line.len);
		bench_check(len > 0, "a server does not take what it is sent");
		line = st_str_slice(line, (size_t)len, line.len);
	}
}

/* Read the next line; empty at the end. */
static const char *hear(struct server *server) {
	return getline(&server->line, &server->room, server->out) > 0 ? server->line : "";
}

static const char *ask(struct server *server, struct st_str line) {
	say(server, line);
	return hear(server);
}

static void check_answer(const char *answer) {
	if (!*answer || strstr(answer, "\"isError\":true") || strstr(answer, "\"error\":{")) {
		fprintf(stderr, "%.500s\n", answer);
		bench_check(0, "an answer is no success");
	}
}

static void greet(struct server *server) {
	static const char init[] =
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
		"\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}"
		"\n";
	static const char ready[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
	bench_check(*ask(server, st_str(init)) != '\0', "no answer to initialize");
	if (server->read)
		say(server, st_str(ready));
}

static void add_call(struct st_buf *out, const char *tool, const char *path, const char *more) {
	st_buf_addf(
		out,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
		"\"arguments\":{\"path\":\"%s\"%s}}}\n",
		tool, path, more);
}

/* ---- operations ---- */

static void spawn_and_greet(void *context) {
	struct server *server = context;
	start(server);
	greet(server);
	stop(server);
}

/*
 * A round trip takes up to ten times as long depending on whether client and server
 * run on one core or on two, and the scheduler changes that by the minute. So the
 * benchmark pins them, and prints a table for each placing.
 */
struct placing {
	const char *name;
	/* Indexes into the allowed cores. */
	int client, server;
	double target;
};

/* The cores that this process may use. */
static cpu_set_t allowed;
static int core_count;

static void find_cores(void) {
	bench_check(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity");
	core_count = CPU_COUNT(&allowed);
}

/* Pin a process to the n-th allowed core. */
static void put_on(pid_t pid, int n) {
	cpu_set_t cores;
	CPU_ZERO(&cores);
	for (size_t i = 0; i < CPU_SETSIZE && n >= 0; i++) {
		if (CPU_ISSET(i, &allowed) && n-- == 0)
			CPU_SET(i, &cores);
	}
	bench_check(sched_setaffinity(pid, sizeof cores, &cores) == 0, "sched_setaffinity");
}

static void place(const struct placing *placing) {
	put_on(0, placing->client);
	put_on(echo.pid, placing->server);
	put_on(durable.pid, placing->server);
	if (has_other())
		put_on(other_durable.pid, placing->server);
}

static void release(void) {
	const pid_t all[] = {0, echo.pid, durable.pid, other_durable.pid};
	for (size_t i = 0; i < (has_other() ? 4 : 3); i++)
		bench_check(sched_setaffinity(all[i], sizeof allowed, &allowed) == 0, "sched_setaffinity");
}

/* The size of the file in use, and of an answer that contains it. */
static size_t size, answer_size;
static char name[40];

static void read_once(void *context) {
	struct server *server = context;
	st_auto(st_buf) call = ST_BUF_INIT;
	if (server->read)
		add_call(&call, server->read, name, "");
	else
		st_buf_addf(&call, "r %zu%100s%s\n", answer_size, "", name);
	const char *answer = ask(server, st_buf_str(&call));
	if (server->read)
		check_answer(answer);
}

static void read_many(void *context) {
	struct server *server = context;
	st_auto(st_buf) calls = ST_BUF_INIT;
	for (int i = 0; i < PIPELINED; i++) {
		if (server->read)
			add_call(&calls, server->read, name, "");
		else
			st_buf_addf(&calls, "r %zu%100s%s\n", answer_size, "", name);
	}
	say(server, st_buf_str(&calls));
	for (int i = 0; i < PIPELINED; i++)
		bench_check(*hear(server) != '\0', "no answer");
}

/* Read the whole file, page by page if the server splits it. */
static void read_whole(void *context) {
	struct server *server = context;
	char offset[60] = "";
	for (;;) {
		st_auto(st_buf) call = ST_BUF_INIT;
		add_call(&call, server->read, name, offset);
		const char *answer = ask(server, st_buf_str(&call));
		check_answer(answer);
		static const char more[] = "Continue with offset ";
		const char *next = strstr(answer, more);
		if (!next)
			return;
		snprintf(offset, sizeof offset, ",\"offset\":%ld",
		         strtol(next + sizeof more - 1, NULL, 10));
	}
}

/* Each server edits in a directory of its own, so that the others' changes do not disturb it. */
static const char *edited_by(const struct server *server) {
	static char path[80];
	snprintf(path, sizeof path, "%d/%s", (int)server->pid, name);
	return path;
}

static void edit_once(void *context) {
	struct server *server = context;
	st_auto(st_buf) call = ST_BUF_INIT;
	char edits[200];
	snprintf(edits, sizeof edits,
	         ",\"edits\":[{\"oldText\":\"the %06d word\",\"newText\":\"the %06d word\"}]",
	         server->turn, server->turn + 1);
	add_call(&call, "edit_file", edited_by(server), edits);
	check_answer(ask(server, st_buf_str(&call)));
	server->turn++;
}

/* The same edit by the echo server, with an answer as long as stet's. */
static void edit_barely(char how) {
	st_auto(st_buf) call = ST_BUF_INIT;
	st_buf_addf(&call, "%c 600%150s%s\n", how, "", edited_by(&echo));
	bench_check(strlen(ask(&echo, st_buf_str(&call))) == 600, "no answer");
}

static void edit_bare(void *context) {
	edit_barely('e');
}

static void edit_synced(void *context) {
	edit_barely('s');
}

static void edit_durable(void *context) {
	edit_barely('d');
}

/* Write and sync without a server: the cost of the disk alone. */
static void sync_once(void *context) {
	static char bytes[1 << 20];
	memset(bytes, 'x', size);
	bench_check(replace_file("bare.txt", bytes, size, 's'), "fsync");
}

/* ---- files ---- */

static void put_file(const char *path, size_t bytes) {
	FILE *file = fopen(path, "w");
	bench_check(file != NULL, path);
	fputs("Here is the 000000 word.\n", file);
	for (size_t len = 25; len < bytes; len += 50)
		fputs("a line of some length, with forty-nine characters\n", file);
	bench_check(fclose(file) == 0, path);
}

static void set_file(size_t bytes) {
	size = bytes;
	snprintf(name, sizeof name, "%zu.txt", bytes);
	put_file(name, bytes);
	st_auto(st_buf) call = ST_BUF_INIT;
	add_call(&call, durable.read, name, "");
	answer_size = strlen(ask(&durable, st_buf_str(&call)));
}

/* Make the file that a server edits, and let the server read it. */
static void set_edited(struct server *server) {
	char dir[40];
	snprintf(dir, sizeof dir, "%d", (int)server->pid);
	bench_check(mkdir(dir, 0777) == 0 || errno == EEXIST, dir);
	put_file(edited_by(server), size);
	server->turn = 0;
	if (!server->read)
		return;
	st_auto(st_buf) call = ST_BUF_INIT;
	add_call(&call, server->read, edited_by(server), "");
	check_answer(ask(server, st_buf_str(&call)));
}

/* ---- tables ---- */

static void bench_spawn(void) {
	const struct bench_case cases[] = {
		{.name = "echo", .run = spawn_and_greet, .context = &echo},
		{.name = "stet mcp", .run = spawn_and_greet, .context = &durable, .target = 3},
		{.name = "reference server", .run = spawn_and_greet, .context = &reference},
	};
	bench_run("spawn to initialize answered", cases, 2, 101);
	if (has_reference())
		bench_run("the same, with the reference server", cases, 3, 11);
}

static void print_memory(const char *what, const struct server *server, const char *target) {
	char path[60], line[200];
	snprintf(path, sizeof path, "/proc/%d/status", (int)server->pid);
	FILE *file = fopen(path, "r");
	bench_check(file != NULL, path);
	while (fgets(line, sizeof line, file)) {
		if (strncmp(line, "VmRSS:", 6) == 0)
			printf("  %-42s %10ld KB%s\n", what, strtol(line + 6, NULL, 10), target);
	}
	fclose(file);
}

#define OTHER .name = "stet mcp, the other version"

/* Print the length of the answer to a read or to an edit. */
static void print_bytes(const char *what, struct server *server, bool edits) {
	st_auto(st_buf) call = ST_BUF_INIT;
	if (edits)
		edit_once(server);
	else
		read_once(server);
	printf("  %-42s %10zu bytes\n", what, strlen(server->line));
}

static void bench_bytes(const char *title, struct server *own, struct server *others, bool edits) {
	printf("%s: bytes per answer\n", title);
	print_bytes("stet mcp", own, edits);
	if (has_other())
		print_bytes("stet mcp, the other version", others, edits);
	if (has_reference())
		print_bytes("reference server", &reference, edits);
}

static void bench_memory(void) {
	puts("resident after that");
	print_memory("echo", &echo, "");
	print_memory("stet mcp", &durable, "  (target 6144 KB)");
	if (has_reference())
		print_memory("reference server", &reference, "");
}

static void bench_placed(const char *what, void (*run)(void *context),
                         const struct placing *placing, size_t rounds) {
	struct bench_case cases[4] = {
		{.name = "echo: read the file, send as much", .run = run, .context = &echo},
		{.name = "stet mcp", .run = run, .context = &durable, .target = placing->target},
	};
	size_t count = 2;
	if (has_other())
		cases[count++] = (struct bench_case){OTHER, .run = run, .context = &other_durable};
	/* The reference server has threads that need more than one core. */
	if (has_reference() && placing->client != placing->server)
		cases[count++] =
			(struct bench_case){.name = "reference server", .run = run, .context = &reference};
	char title[100];
	snprintf(title, sizeof title, "%s, %s", what, placing->name);
	place(placing);
	bench_run(title, cases, count, rounds);
	release();
}

static void bench_read(const char *what, void (*run)(void *context), double target, size_t rounds) {
	const struct placing two = {"client and server on two cores", 0, 1, target};
	const struct placing one = {"client and server on one core", 0, 0, 0};
	if (core_count > 1)
		bench_placed(what, run, &two, rounds);
	/* Pipelined requests do not wait for each other, so one core tells nothing new. */
	if (core_count == 1 || run == read_once)
		bench_placed(what, run, &one, rounds);
}

/* Wait until the servers' background work is done, as it is when a person or a model edits. */
static void run_edits(const char *title, const struct bench_case *cases, size_t count,
                      size_t rounds) {
	usleep(1500000);
	bench_run(title, cases, count, rounds);
}

static void bench_synced(const char *title) {
	const struct bench_case cases[] = {
		{.name = "echo: edit, fsync of file and directory", .run = edit_durable},
		{.name = "stet mcp", .run = edit_once, .context = &durable, .target = 1.15},
		{.name = "echo: edit, fsync of the file", .run = edit_synced},
		{.name = "write, fsync, rename, without asking", .run = sync_once},
		{OTHER, .run = edit_once, .context = &other_durable},
	};
	set_edited(&durable);
	set_edited(&echo);
	if (has_other())
		set_edited(&other_durable);
	run_edits(title, cases, has_other() ? 5 : 4, 301);
}

static void bench_edit(const char *title, double target) {
	const struct bench_case peers[] = {
		{.name = "reference server", .run = edit_once, .context = &reference},
		{.name = "stet mcp --durability relaxed",
	     .run = edit_once,
	     .context = &relaxed,
	     .target = target},
	};
	const struct bench_case bare[] = {
		{.name = "echo: read, change, write, rename", .run = edit_bare},
		{.name = "stet mcp --durability relaxed", .run = edit_once, .context = &relaxed},
		{OTHER, .run = edit_once, .context = &other_relaxed},
	};
	set_edited(&relaxed);
	set_edited(&echo);
	if (has_other())
		set_edited(&other_relaxed);
	if (has_reference()) {
		set_edited(&reference);
		run_edits(title, peers, 2, 201);
	}
	run_edits(title, bare, has_other() ? 3 : 2, 201);
	bench_bytes(title, &relaxed, &other_relaxed, true);
	bench_synced(title);
}

/* Restart the servers that sync in another directory. */
static void restart_in(const char *dir) {
	struct server *const servers[] = {&echo, &durable, &other_durable};
	bench_check(chdir(dir) == 0, dir);
	for (size_t i = 0; i < (has_other() ? 3 : 2); i++) {
		stop(servers[i]);
		start(servers[i]);
		greet(servers[i]);
	}
}

/*
 * The cost of fsync depends on whether the filesystem has a journal. Most have one,
 * but the temporary directory may not. So root makes an ext4 in a file, whose blocks
 * are allocated beforehand and have 4 KiB, as on a disk: mkfs would give so small a
 * filesystem blocks of 1 KiB, on which the database has no WAL.
 */
static void bench_journal(void) {
	static const char make[] =
		"{ PATH=$PATH:/usr/sbin:/sbin; dd if=/dev/zero of=disk bs=1M count=256 conv=fsync && "
		"mkfs.ext4 -q -F -b 4096 -E nodiscard disk &&"
		" mkdir journal && mount -o loop disk journal; } 2>/dev/null";
	if (system(make) != 0) {
		puts("ext4 with a journal: that takes root, loop devices and e2fsprogs");
		return;
	}
	restart_in("journal");
	set_file(4096);
	bench_synced("edit in 4 KB, ext4 with a journal");
	set_file(100000);
	bench_synced("edit in 100 KB, ext4 with a journal");
	restart_in("..");
	bench_check(system("umount -l journal") == 0, "umount");
}

static void bench_whole(void) {
	const struct bench_case cases[] = {
		{.name = "stet mcp, in pages", .run = read_whole, .context = &durable},
		{.name = "reference server, in one message", .run = read_whole, .context = &reference},
	};
	set_file((size_t)10 << 20);
	bench_run("read 10 MB", cases, has_reference() ? 2 : 1, 5);
}

/* Whether a server answers a write of ten megabytes. */
static bool writes_much(struct server *server) {
	st_auto(st_buf) call = ST_BUF_INIT;
	st_buf_adds(&call,
	            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
	            "\"write_file\",\"arguments\":{\"path\":\"written.txt\",\"content\":\"");
	for (size_t i = 0; i < ((size_t)10 << 20) / 50; i++)
		st_buf_adds(&call, "a line of some length, with forty-eight character\\n");
	st_buf_adds(&call, "\"}}}\n");
	struct st_str rest = st_buf_str(&call);
	while (rest.len > 0) {
		ssize_t len = write(server->in, rest.ptr, rest.len);
		if (len <= 0)
			return false;
		rest = st_str_slice(rest, (size_t)len, rest.len);
	}
	return strstr(hear(server), "\"result\"") != NULL;
}

static void bench_write(void) {
	puts("write of 10 MB");
	bool answered = writes_much(&durable);
	printf("  %-42s %s\n", "stet mcp", answered ? "answered" : "not answered, missed");
	if (has_reference())
		printf("  %-42s %s\n", "reference server",
		       writes_much(&reference) ? "answered" : "not answered, the server is gone");
}

/* ---- main ---- */

static void find_programs(const char *npm) {
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	bench_check(len > 0, "/proc/self/exe");
	/* BUILD/bench/bench-mcp and BUILD/stet */
	char *slash = memrchr(self, '/', (size_t)len);
	slash = memrchr(self, '/', (size_t)(slash - self));
	snprintf(stet, sizeof stet, "%.*s/stet", (int)(slash - self), self);
	if (!npm)
		return;
	snprintf(node, sizeof node, "%s/node", npm);
	snprintf(script, sizeof script,
	         "%s/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", npm);
	if (access(script, R_OK) != 0 || access(node, X_OK) != 0)
		node[0] = '\0';
}

static void each(void (*run)(struct server *server)) {
	run(&echo);
	run(&durable);
	run(&relaxed);
	if (has_reference())
		run(&reference);
	if (has_other()) {
		run(&other_durable);
		run(&other_relaxed);
	}
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "--echo") == 0)
		return run_echo();
	find_programs(argc > 1 ? argv[1] : NULL);
	if (argc > 2)
		bench_check(realpath(argv[2], other) != NULL, argv[2]);
	find_cores();
	signal(SIGPIPE, SIG_IGN);
	bench_enter();
	if (!has_reference())
		puts("without the reference server: give the directory that tools/npm prints");
	bench_spawn();
	each(start);
	each(greet);
	bench_memory();
	set_file(4096);
	bench_read("read 4 KB", read_once, 1.5, 501);
	bench_bytes("read 4 KB", &durable, &other_durable, false);
	bench_read("100 reads of 4 KB, sent at once", read_many, 0, 21);
	bench_edit("edit in 4 KB", 0.25);
	set_file(100000);
	bench_read("the first page of 100 KB", read_once, 1.5, 201);
	bench_edit("edit in 100 KB", 0.15);
	bench_journal();
	bench_whole();
	bench_write();
	each(stop);
	bench_leave();
	return 0;
}
