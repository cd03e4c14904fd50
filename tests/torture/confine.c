/*
 * Every tool, resource, completion and command that takes a path, with hostile
 * paths, while another process swaps a parent for a link to the outside, a file
 * for a link, and the root for another directory: nothing outside is opened,
 * read or changed, and nothing in any .git or .stet is changed.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/json.h"
#include "lib/gen.h"
#include "lib/program.h"
#include "mcp/service/service.h"
#include "tools/tool.h"

#define SECRET "the-secret-outside"

/* ---- a server ---- */

struct server {
	struct st_mcp_sink sink;
	struct stet_host *host;
	struct st_service *service;
	struct st_mcp_server *server;
	struct st_mcp_peer *peer;
	size_t answers, leaks;
};

static void take_event(struct st_mcp_sink *sink, struct st_buf *message) {
}

static void take_answer(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	struct server *server = (struct server *)sink;
	server->answers++;
	if (memmem(message->ptr, message->len, SECRET, strlen(SECRET))) {
		server->leaks++;
		print_error("an answer has the secret: %.500s\n", message->ptr);
	}
}

static void take_done(struct st_mcp_sink *sink) {
}

static void say(struct server *server, struct st_str message) {
	st_mcp_receive(server->peer, message, &server->sink);
}

static void open_server(struct server *server, const char *root) {
	*server = (struct server){.sink = {take_event, take_answer, take_done}};
	assert_int_equal(stet_host_open(&root, 1, &server->host, NULL), 0);
	assert_int_equal(stet_host_set(server->host, STET_OPTION_DURABLE, 0, NULL), 0);
	assert_int_equal(st_service_new(server->host, NULL, &server->service, NULL), 0);
	assert_int_equal(
		st_mcp_server_new(st_service_base(server->service), NULL, &server->server, NULL), 0);
	assert_int_equal(st_mcp_peer_new(server->server, ST_MCP_STDIO, NULL, NULL, &server->peer, NULL),
	                 0);
	say(server, ST_STR("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
	                   "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}"));
}

static void close_server(struct server *server) {
	st_mcp_peer_close(server->peer);
	st_mcp_server_free(server->server);
	st_service_free(server->service);
	stet_host_close(server->host);
}

/* ---- paths ---- */

/* Parts of paths, put together by chance; @ is the directory above the root. */
static const char *const parts[] = {
	"dir",
	"link",
	"b.txt",
	"..",
	".",
	"file",
	"sub",
	".git",
	".GIT",
	".stet",
	".STET",
	".s\u200btet",
	".\uFB06et",
	"config",
	"mark",
	"new",
	"stet.db-journal",
	"outside",
	"secret",
	"root",
	"decoy",
	"",
	"away",
	"loop",
	"to-git",
	"to-mark",
	"@",
	"proc/self/root",
};

static void add_path(struct gen *gen, const char *above, struct st_buf *out) {
	size_t count = sizeof parts / sizeof *parts;
	for (size_t i = gen_below(gen, 5) + 1; i > 0; i--) {
		const char *part = parts[gen_below(gen, count)];
		if (*part == '@') {
			st_buf_clear(out);
			part = above;
		}
		st_buf_adds(out, part);
		if (i > 1)
			st_buf_addc(out, '/');
	}
}

static void add_any_path(struct gen *gen, const char *above, struct st_buf *path) {
	/* Choose a path that exists more often than a random one. */
	static const char *const likely[] = {
		"dir/b.txt",
		"link/secret",
		"dir/secret",
		"file",
		"away/secret",
		"sub/.git/config",
		"sub/.stet/mark",
		"sub/.STET/mark",
		".git/config",
		"to-git/config",
		"to-git/new",
		"to-mark",
		"dir/new",
		"dir/.stet/stet.db-journal",
		"sub/new",
		"../outside/secret",
		"dir/../../outside/secret",
		"dir",
		"sub",
		".",
	};
	if (gen_one_in(gen, 2))
		st_buf_adds(path, likely[gen_below(gen, sizeof likely / sizeof *likely)]);
	else
		add_path(gen, above, path);
}

static void add_quoted_path(struct gen *gen, const char *above, struct st_buf *out) {
	st_auto(st_buf) path = ST_BUF_INIT;
	add_any_path(gen, above, &path);
	st_buf_addc(out, '"');
	st_buf_add(out, st_buf_str(&path));
	st_buf_addc(out, '"');
}

static bool is_path(const char *name) {
	static const char *const names[] = {"path", "filePath", "source", "destination", "dir"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* A value for a parameter that is no path; false to leave it away. */
static bool add_value(const struct st_param *param, struct st_buf *out) {
	if (strcmp(param->name, "edits") == 0)
		st_buf_adds(out, "[{\"oldText\":\"x\",\"newText\":\"xx\"}]");
	else if (param->type == ST_PARAM_BOOLEAN && strcmp(param->name, "recursive") == 0)
		st_buf_adds(out, "true");
	else if (!param->required)
		return false;
	else if (param->choices)
		st_buf_addf(out, "\"%.*s\"", (int)strcspn(param->choices, "|"), param->choices);
	else if (param->type == ST_PARAM_STRING)
		st_buf_adds(out, "\"x\"");
	else
		st_buf_adds(out, param->type == ST_PARAM_INTEGER ? "1" : "{}");
	return true;
}

static void add_arguments(struct gen *gen, const struct st_tool *tool, const char *above,
                          struct st_buf *out) {
	st_buf_addc(out, '{');
	for (const struct st_param *param = tool->params; param->name; param++) {
		st_auto(st_buf) value = ST_BUF_INIT;
		bool has = true;
		if (is_path(param->name)) {
			add_quoted_path(gen, above, &value);
		} else if (strcmp(param->name, "paths") == 0) {
			st_buf_addc(&value, '[');
			add_quoted_path(gen, above, &value);
			st_buf_addc(&value, ',');
			add_quoted_path(gen, above, &value);
			st_buf_addc(&value, ']');
		} else {
			has = add_value(param, &value);
		}
		if (has)
			st_buf_addf(out, "%s\"%s\":%s", out->ptr[out->len - 1] == '{' ? "" : ",", param->name,
			            st_buf_cstr(&value));
	}
	st_buf_addc(out, '}');
}

/* ---- asking ---- */

static void call_tool(struct server *server, struct gen *gen, const struct st_tool *tool,
                      const char *above, int id) {
	st_auto(st_buf) args = ST_BUF_INIT, message = ST_BUF_INIT;
	add_arguments(gen, tool, above, &args);
	st_buf_addf(&message,
	            "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
	            "\"%s\",\"arguments\":%s}}",
	            id, tool->name, st_buf_cstr(&args));
	say(server, st_buf_str(&message));
}

static void ask_for_resource(struct server *server, struct gen *gen, const char *above, int id) {
	static const char *const methods[] = {"read", "subscribe", "unsubscribe"};
	st_auto(st_buf) path = ST_BUF_INIT, message = ST_BUF_INIT;
	add_any_path(gen, above, &path);
	st_buf_addf(&message,
	            "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/%s\",\"params\":{\"uri\":"
	            "\"file://%s/root/%s\"}}",
	            id, methods[gen_below(gen, 3)], above, st_buf_cstr(&path));
	say(server, st_buf_str(&message));
}

static void ask_for_completion(struct server *server, struct gen *gen, int id) {
	st_auto(st_buf) path = ST_BUF_INIT, message = ST_BUF_INIT;
	add_quoted_path(gen, "/", &path);
	st_buf_addf(&message,
	            "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"completion/complete\",\"params\":{"
	            "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"file:///{+path}\"},\"argument\":{"
	            "\"name\":\"path\",\"value\":%s}}}",
	            id, st_buf_cstr(&path));
	say(server, st_buf_str(&message));
}

/* ---- the tree ---- */

static const char *below(const char *root, const char *name) {
	static char path[128];
	snprintf(path, sizeof path, "%s/%s", root, name);
	return path;
}

static void lay_root(const struct dir *dir, const char *root) {
	dir_write(dir, below(root, "dir/b.txt"), "x\n");
	dir_write(dir, below(root, "file"), "x\n");
	dir_write(dir, below(root, "sub/.git/config"), "mark");
	dir_write(dir, below(root, "sub/.stet/mark"), "mark");
	dir_write(dir, below(root, ".git/config"), "mark");
	assert_int_equal(symlinkat(dir_at(dir, "outside"), dir->fd, below(root, "link")), 0);
	assert_int_equal(symlinkat(dir_at(dir, "outside/secret"), dir->fd, below(root, "away")), 0);
	assert_int_equal(symlinkat("loop", dir->fd, below(root, "loop")), 0);
	assert_int_equal(symlinkat(".git", dir->fd, below(root, "to-git")), 0);
	assert_int_equal(symlinkat("sub/.stet/mark", dir->fd, below(root, "to-mark")), 0);
}

static void lay_outside(const struct dir *dir) {
	dir_write(dir, "outside/secret", SECRET);
	dir_write(dir, "outside/b.txt", SECRET);
}

static void lay_tree(const struct dir *dir) {
	lay_outside(dir);
	dir_write(dir, "decoy/dir/b.txt", SECRET);
	dir_write(dir, "decoy/secret", SECRET);
	lay_root(dir, "root");
}

/* Swaps until it is killed, and puts back what a tool took away, so that there is something to swap. */
static pid_t start_swapping(const struct dir *dir) {
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int root = openat(dir->fd, "root", O_RDONLY | O_DIRECTORY);
		for (unsigned turn = 0;; turn++) {
			renameat2(root, "dir", root, "link", RENAME_EXCHANGE);
			renameat2(root, "file", root, "away", RENAME_EXCHANGE);
			if (turn % 8 == 0)
				renameat2(dir->fd, "root", dir->fd, "decoy", RENAME_EXCHANGE);
			if (turn % 64)
				continue;
			mkdirat(root, "dir", 0755);
			bool back = symlinkat(dir_at(dir, "outside"), root, "link") == 0;
			back |= symlinkat(dir_at(dir, "outside/secret"), root, "away") == 0;
			(void)back;
			close(openat(root, "file", O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0644));
		}
	}
	assert_true(child > 0);
	return child;
}

static int watch_dirs(const struct dir *dir, const char *const *names) {
	uint32_t mask = IN_OPEN | IN_ACCESS | IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE |
	                IN_MOVED_FROM | IN_MOVED_TO;
	int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	for (; *names; names++)
		assert_true(inotify_add_watch(events, dir_at(dir, *names), mask) >= 0);
	return events;
}

static void expect_no_event(int events) {
	char buffer[4096] __attribute__((aligned(8)));
	if (read(events, buffer, sizeof buffer) <= 0)
		return;
	const struct inotify_event *event = (const struct inotify_event *)(const void *)buffer;
	fail_msg("something outside was touched: event %x, %s", event->mask,
	         event->len ? event->name : "");
}

/* By descriptor: a directory may be moved with what is in it, which stays what it is. */
static const char *const protected_dirs[] = {"sub/.git", "sub/.stet", ".git"};
static const char *const protected_files[] = {"sub/.git/config", "sub/.stet/mark", ".git/config"};

struct guarded {
	int dirs[3], files[3], root, sub;
};

static void writes(struct guarded *guarded, const struct dir *dir, const char *name) {
	int root = openat(dir->fd, name, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 3; i++) {
		guarded->dirs[i] = openat(root, protected_dirs[i], O_RDONLY | O_DIRECTORY);
		guarded->files[i] = openat(root, protected_files[i], O_RDONLY);
		assert_true(guarded->dirs[i] >= 0 && guarded->files[i] >= 0);
	}
	guarded->sub = openat(root, "sub", O_RDONLY | O_DIRECTORY);
	guarded->root = root;
}

/* A tool may move sub as a whole; there it would not be found again. */
static void put_back(const struct guarded *guarded) {
	struct stat own, named;
	char link[64], path[PATH_MAX] = "";
	assert_int_equal(fstat(guarded->sub, &own), 0);
	if (fstatat(guarded->root, "sub", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    named.st_ino == own.st_ino)
		return;
	snprintf(link, sizeof link, "/proc/self/fd/%d", guarded->sub);
	/* Where it cannot be put back now, since the directory above is being swapped, it can be next time. */
	if (readlink(link, path, sizeof path - 1) > 0 &&
	    renameat2(AT_FDCWD, path, guarded->root, "sub", RENAME_NOREPLACE) < 0 && errno == EEXIST)
		(void)renameat2(AT_FDCWD, path, guarded->root, "sub", RENAME_EXCHANGE);
}

static void expect_protected(const struct guarded *guarded) {
	static const char *const none[] = {".STET", ".GIT", ".s\u200btet", ".\uFB06et"};
	struct stat st;
	for (int i = 0; i < 3; i++) {
		char text[8] = {0};
		if (pread(guarded->files[i], text, sizeof text - 1, 0) != 4 || strcmp(text, "mark") != 0 ||
		    fstat(guarded->files[i], &st) < 0 || st.st_nlink != 1)
			fail_msg("%s was changed or removed", protected_files[i]);
		char path[64];
		snprintf(path, sizeof path, "/proc/self/fd/%d", guarded->dirs[i]);
		DIR *stream = opendir(path);
		int count = 0;
		for (struct dirent *entry; stream && (entry = readdir(stream));)
			count += entry->d_name[0] != '.';
		if (stream)
			closedir(stream);
		if (count != 1)
			fail_msg("%s has %d entries", protected_dirs[i], count);
	}
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		if (fstatat(guarded->sub, none[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			fail_msg("sub/%s was made", none[i]);
	}
}

static void unguard(struct guarded *guarded) {
	for (int i = 0; i < 3; i++) {
		close(guarded->dirs[i]);
		close(guarded->files[i]);
	}
	close(guarded->sub);
	close(guarded->root);
}

static void no_path_leads_out_whatever_is_swapped(void **state) {
	const struct dir *dir = *state;
	struct server server;
	struct gen gen = gen_new(gen_seed());
	lay_tree(dir);
	struct guarded guarded;
	writes(&guarded, dir, "root");
	open_server(&server, dir_at(dir, "root"));
	int events = watch_dirs(dir, (const char *[]){"outside", "decoy", "decoy/dir", NULL});
	pid_t child = start_swapping(dir);
	int64_t until = st_now_ms() + (int64_t)gen_rounds(5000, 60000);
	int id = 0;
	size_t calls = 0;
	while (st_now_ms() < until) {
		for (size_t i = 0; st_tools[i]; i++, calls++)
			call_tool(&server, &gen, st_tools[i], dir->path, ++id);
		ask_for_resource(&server, &gen, dir->path, ++id);
		ask_for_completion(&server, &gen, ++id);
		expect_no_event(events);
		expect_protected(&guarded);
		put_back(&guarded);
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	print_message("# %zu calls, %zu answers\n", calls, server.answers);
	close_server(&server);
	expect_no_event(events);
	expect_protected(&guarded);
	assert_int_equal(server.leaks, 0);
	assert_true(server.answers >= calls);
	close(events);
	unguard(&guarded);
}

/* ---- commands ---- */

/* @ is a path; the files behind it are what the user has, not the workspace. */
static const char *const commands[][10] = {
	{"read", "@"},
	{"--session", "agent", "read", "@"},
	{"write", "@", "text"},
	{"--session", "agent", "write", "@", "text"},
	{"edit", "@", "x", "xx"},
	{"--session", "agent", "edit", "@", "xx", "x"},
	{"replace", "@", "x", "y x"},
	{"patch", "@", "replace", "x", "--lines", "1"},
	{"inspect", "@"},
	{"--session", "agent", "check", "@", "@"},
	{"hash", "@", "@"},
	{"agents", "@"},
	{"grep", "x", "@"},
	{"grep", "x", "--glob", "@"},
	{"forecast", "@"},
	{"log", "@"},
	{"log", "@", "--diff"},
	{"diff", "@", "--since", "1h"},
	{"undo", "@"},
	{"undo", "@", "--since", "1h"},
	{"record", "Write", "record.json"},
	{"--session", "agent", "changes"},
	{"snapshot"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const char *name_of(const char *const *command) {
	while (command[0][0] == '-')
		command += 2;
	return command[0];
}

static void expect_tried(void *data, const char *name, const char *usage) {
	bool tried = !strstr(usage, "PATH");
	for (size_t i = 0; i < COMMANDS; i++)
		tried |= strcmp(name_of(commands[i]), name) == 0;
	if (!tried)
		fail_msg("%s takes a path and is not tried: %s", name, usage);
}

static void no_command_that_takes_a_path_is_left_out(void **state) {
	if (!getenv("STET"))
		skip_because("STET does not name the program");
	program_each_command(*state, expect_tried, NULL);
}

/* Record a write that another program's tool claims to have made. */
static void write_record(const struct dir *dir, struct gen *gen) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, "{\"file_path\":");
	add_quoted_path(gen, dir->path, &text);
	st_buf_addc(&text, '}');
	dir_write(dir, "record.json", st_buf_cstr(&text));
}

static void run_command(const struct dir *dir, struct gen *gen, const char *const *command) {
	st_auto(st_buf) one = ST_BUF_INIT, two = ST_BUF_INIT, output = ST_BUF_INIT;
	struct st_buf *unused = &one;
	static const char script[] = "exec timeout -s KILL 60 \"$STET\" \"$@\" 2>&1";
	const char *argv[20] = {"sh",    "-c",           script, "stet", "--root", dir_at(dir, "root"),
	                        "--set", "durable=false"};
	size_t count = 8;
	for (; *command; command++) {
		argv[count] = *command;
		if (strcmp(*command, "@") == 0) {
			add_any_path(gen, dir->path, unused);
			argv[count] = st_buf_cstr(unused);
			unused = &two;
		}
		count++;
	}
	int status = run(dir, &output, argv);
	if (status > 3 || (status > 0 && output.len == 0))
		fail_msg("%s %s: status %d: %s", argv[8], argv[9], status, st_buf_cstr(&output));
	if (memmem(st_buf_cstr(&output), output.len, SECRET, strlen(SECRET)))
		fail_msg("%s %s printed the secret: %s", argv[8], argv[9], output.ptr);
}

/* A command opens its root by name: it may get either of the two, and stays in that one. */
static void no_command_leads_out_whatever_is_swapped(void **state) {
	const struct dir *dir = *state;
	struct gen gen = gen_new(gen_seed());
	struct guarded guarded[2];
	size_t count = 0;
	if (!getenv("STET"))
		skip_because("STET does not name the program");
	lay_outside(dir);
	dir_write(dir, "text", "x\n");
	lay_root(dir, "root");
	lay_root(dir, "decoy");
	writes(&guarded[0], dir, "root");
	writes(&guarded[1], dir, "decoy");
	int events = watch_dirs(dir, (const char *[]){"outside", NULL});
	pid_t child = start_swapping(dir);
	int64_t until = st_now_ms() + (int64_t)gen_rounds(5000, 60000);
	for (; count < COMMANDS || st_now_ms() < until; count++) {
		write_record(dir, &gen);
		run_command(dir, &gen, commands[count % COMMANDS]);
		expect_no_event(events);
		expect_protected(&guarded[0]);
		expect_protected(&guarded[1]);
		put_back(&guarded[0]);
		put_back(&guarded[1]);
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	print_message("# %zu commands\n", count);
	expect_no_event(events);
	close(events);
	unguard(&guarded[0]);
	unguard(&guarded[1]);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(no_path_leads_out_whatever_is_swapped),
		claim(no_command_that_takes_a_path_is_left_out),
		claim(no_command_leads_out_whatever_is_swapped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
