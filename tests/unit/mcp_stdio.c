/* stet mcp on every kind of descriptor, with clients that misbehave. */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/json.h"
#include "lib/test.h"

#define INIT \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-11-25\",\"capabilities\":{}}}\n"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
#define PONG "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
#define CALL(tool, args) \
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool \
	"\",\"arguments\":{" args "}}}\n"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

struct server {
	pid_t pid;
	int in, out;
};

static void start_on(struct server *server, const struct dir *dir, int in, int out) {
	const char *program = getenv("STET");
	assert_non_null(program);
	server->pid = fork();
	assert_true(server->pid >= 0);
	if (server->pid == 0) {
		dup2(in, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		execl(program, "stet", "mcp", dir->path, NULL);
		_exit(127);
	}
}

/* In the directory, which it is not given. */
static void start_in(struct server *server, const struct dir *dir) {
	int in[2], out[2];
	const char *program = getenv("STET");
	assert_non_null(program);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	server->pid = fork();
	assert_true(server->pid >= 0);
	if (server->pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		if (chdir(dir->path) == 0)
			execl(program, "stet", "mcp", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	server->in = in[1];
	server->out = out[0];
}

static void start(struct server *server, const struct dir *dir) {
	int in[2], out[2];
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	start_on(server, dir, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	server->in = in[1];
	server->out = out[0];
}

/* Its exit status, within ten seconds. */
static int end(struct server *server) {
	int status = 0;
	for (int i = 0; i < 1000; i++) {
		if (waitpid(server->pid, &status, WNOHANG) == server->pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
		sleep_ms(10);
	}
	kill(server->pid, SIGKILL);
	waitpid(server->pid, &status, 0);
	fail_msg("the server does not end");
	return 0;
}

static void say(int fd, const char *text) {
	size_t len = strlen(text);
	while (len > 0) {
		ssize_t done = write(fd, text, len);
		assert_true(done > 0);
		text += done;
		len -= (size_t)done;
	}
}

/* A line, within ten seconds; "" at the end. */
static const char *hear(int fd, struct st_buf *line) {
	char byte;
	st_buf_clear(line);
	st_buf_adds(line, "");
	do {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		assert_int_equal(poll(&ready, 1, 10000), 1);
		if (read(fd, &byte, 1) <= 0)
			return line->ptr;
		st_buf_addc(line, byte);
	} while (byte != '\n');
	return line->ptr;
}

/* Everything until the end: how many lines, each of which must be JSON. */
static size_t hear_all(int fd, struct st_buf *text) {
	char part[65536];
	size_t lines = 0;
	for (ssize_t len; (len = read(fd, part, sizeof part)) > 0;)
		st_buf_add(text, st_strn(part, (size_t)len));
	for (const char *line = st_buf_cstr(text); *line; lines++) {
		size_t len = strcspn(line, "\n");
		yyjson_doc *doc = yyjson_read(line, len, 0);
		assert_non_null(doc);
		assert_int_equal(line[len], '\n');
		yyjson_doc_free(doc);
		line += len + 1;
	}
	return lines;
}

static void reads_a_file_to_its_end(void **state) {
	struct dir *dir = *state;
	struct server server;
	st_auto(st_buf) text = ST_BUF_INIT;
	/* The last line has no end. */
	dir_write(dir, "in", INIT "\r\n  \n" PING "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}");
	dir_write(dir, "out", "");
	int in = openat(dir->fd, "in", O_RDONLY | O_CLOEXEC);
	int out = openat(dir->fd, "out", O_RDWR | O_CLOEXEC);
	start_on(&server, dir, in, out);
	assert_int_equal(end(&server), 0);
	/* The server wrote through the same open file. */
	assert_int_equal(lseek(out, 0, SEEK_SET), 0);
	assert_int_equal(hear_all(out, &text), 3);
	assert_non_null(strstr(text.ptr, "\"id\":9,\"result\":{}"));
	close(in);
	close(out);
}

static void answers_on_a_socket_that_is_half_closed(void **state) {
	struct server server;
	st_auto(st_buf) text = ST_BUF_INIT;
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	start_on(&server, *state, ends[1], ends[1]);
	close(ends[1]);
	say(ends[0], INIT PING PING);
	shutdown(ends[0], SHUT_WR);
	assert_int_equal(hear_all(ends[0], &text), 3);
	assert_int_equal(end(&server), 0);
	close(ends[0]);
}

static void ends_at_once_when_its_input_does(void **state) {
	struct server server;
	start(&server, *state);
	int64_t began = st_now_ms();
	close(server.in);
	assert_int_equal(end(&server), 0);
	assert_true(st_now_ms() - began < 2000);
	close(server.out);
}

static void finishes_what_it_was_asked_before_it_ends(void **state) {
	struct dir *dir = *state;
	struct server server;
	st_auto(st_buf) text = ST_BUF_INIT;
	start(&server, dir);
	say(server.in, INIT CALL("write_file", "\"path\":\"a.txt\",\"content\":\"text\\n\""));
	close(server.in);
	assert_int_equal(hear_all(server.out, &text), 2);
	assert_int_equal(end(&server), 0);
	assert_string_equal(dir_read(dir, "a.txt"), "text\n");
	close(server.out);
}

static void a_call_that_waits_for_roots_is_answered_when_its_client_goes(void **state) {
	struct dir *dir = *state;
	struct server server;
	st_auto(st_buf) text = ST_BUF_INIT;
	dir_write(dir, "a.txt", "here\n");
	start_in(&server, dir);
	say(server.in,
	    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
	    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"roots\":{}}}}\n" CALL(
			"read_file", "\"path\":\"a.txt\""));
	close(server.in);
	/* Two answers, and the server's question, which the client cannot answer any more. */
	assert_int_equal(hear_all(server.out, &text), 3);
	assert_int_equal(end(&server), 0);
	assert_non_null(strstr(text.ptr, "\"method\":\"roots/list\""));
	assert_non_null(strstr(text.ptr, "here\\n"));
	assert_non_null(strstr(text.ptr, "The client did not say what its roots are."));
	close(server.out);
}

static void ends_on_a_signal(void **state) {
	struct server server;
	st_auto(st_buf) line = ST_BUF_INIT;
	start(&server, *state);
	say(server.in, INIT PING);
	hear(server.out, &line);
	assert_string_equal(hear(server.out, &line), PONG);
	kill(server.pid, SIGTERM);
	assert_int_equal(end(&server), 0);
	close(server.in);
	close(server.out);
}

static void ends_when_nobody_reads_it(void **state) {
	struct server server;
	start(&server, *state);
	close(server.out);
	say(server.in, INIT PING PING);
	assert_int_equal(end(&server), 0);
	close(server.in);
}

/* A client that sends everything before it reads anything. */
static void a_flood_is_answered_whole(void **state) {
	enum { COUNT = 20000 };
	struct server server;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) flood = ST_BUF_INIT;
	for (int i = 0; i < COUNT; i++)
		st_buf_adds(&flood, PING);
	start(&server, *state);
	say(server.in, flood.ptr);
	close(server.in);
	assert_int_equal(hear_all(server.out, &text), COUNT);
	assert_int_equal(end(&server), 0);
	close(server.out);
}

/* Answers of forty megabytes for a client that takes its time, and asks on meanwhile. */
static void a_client_that_does_not_read_is_waited_for(void **state) {
	/* A pipe holds 64 KiB; the last line may wait for more room than there is left. */
	enum { COUNT = 400, SIZE = 100000, PIPE_FULL = 32768 };
	struct dir *dir = *state;
	struct server server;
	char *bytes = malloc(SIZE + 1);
	memset(bytes, 'x', SIZE);
	bytes[SIZE] = '\0';
	dir_write(dir, "big.txt", bytes);
	free(bytes);
	st_auto(st_buf) flood = ST_BUF_INIT;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&flood, INIT);
	for (int i = 0; i < COUNT; i++)
		st_buf_adds(&flood, CALL("read_file", "\"path\":\"big.txt\""));
	start(&server, dir);
	say(server.in, flood.ptr);
	/* It has filled the pipe and waits: nothing more happens until somebody reads. */
	for (int filled = 0, i = 0; i < 6000 && (filled < PIPE_FULL || !is_asleep(server.pid)); i++) {
		sleep_ms(5);
		assert_int_equal(ioctl(server.out, FIONREAD, &filled), 0);
	}
	assert_true(is_asleep(server.pid));
	char status[100];
	snprintf(status, sizeof status, "/proc/%d/statm", server.pid);
	unsigned long pages = 0;
	FILE *file = fopen(status, "r");
	assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
	fclose(file);
	/* The sanitizers take memory of their own. */
	assert_true(pages * 4096 < (size_t)(SANITIZED ? 1024 : 64) << 20);
	close(server.in);
	assert_int_equal(hear_all(server.out, &text), COUNT + 1);
	assert_int_equal(end(&server), 0);
	close(server.out);
}

/* Make three hundred files in each of a few directories. */
static void plant(const struct dir *dir) {
	for (int i = 0; i < 1200; i++) {
		char name[60];
		snprintf(name, sizeof name, "d%d/file%d.txt", i % 4, i);
		dir_write(dir, name, "");
	}
}

static void a_search_that_was_cancelled_is_not_answered(void **state) {
	struct server server;
	st_auto(st_buf) line = ST_BUF_INIT;
	plant(*state);
	start(&server, *state);
	say(server.in, INIT CALL("search_files", "\"path\":\".\",\"pattern\":\"*.txt\"")
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}\n"
	    PING CALL("search_files", "\"path\":\".\",\"pattern\":\"file7.txt\""));
	hear(server.out, &line);
	assert_string_equal(hear(server.out, &line), PONG);
	/* The same call without that is. */
	hear(server.out, &line);
	assert_non_null(strstr(line.ptr, "\"id\":2,\"result\""));
	assert_non_null(strstr(line.ptr, "file7.txt"));
	close(server.in);
	assert_int_equal(end(&server), 0);
	close(server.out);
}

#define CANCEL \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}\n"

/* A thousand edits of a long text, which take minutes. */
static void add_long_call(struct st_buf *message) {
	enum { EDITS = 1000 };
	st_buf_adds(message,
	            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
	            "\"edit_file\",\"arguments\":{\"path\":\"long.txt\",\"edits\":[");
	for (int i = 0; i < EDITS; i++)
		st_buf_addf(message, "%s{\"oldText\":\"%s\",\"newText\":\"%s\",\"replaceAll\":true}",
		            i ? "," : "", i % 2 ? "cd" : "ab", i % 2 ? "ab" : "cd");
	st_buf_adds(message, "]}}}\n");
	assert_false(message->failed);
}

static void make_long_file(const struct dir *dir, struct st_buf *text) {
	while (text->len < 13000000)
		st_buf_adds(text, "ab ab ab ab ab ab ab ab ab ab ab ab\n");
	dir_write(dir, "long.txt", st_buf_cstr(text));
}

/* Begin the call, know by a ping that it is being worked on, cancel it: when are the next two answers there? */
static int64_t cancel_and_wait(const struct server *server, const struct st_buf *call) {
	st_auto(st_buf) line = ST_BUF_INIT;
	say(server->in, call->ptr);
	say(server->in, PING);
	assert_string_equal(hear(server->out, &line), PONG);
	int64_t began = st_now_ms();
	say(server->in, CANCEL PING
	    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":"
	    "\"list_allowed_directories\",\"arguments\":{}}}\n");
	assert_string_equal(hear(server->out, &line), PONG);
	assert_non_null(strstr(hear(server->out, &line), "\"id\":3,\"result\""));
	return st_now_ms() - began;
}

/* Took minutes when nobody looked for a cancellation between two edits, or within one. */
static void edits_that_were_cancelled_make_way_within_100_ms(void **state) {
	enum { TRIES = 10, MAX_MS = SANITIZED ? 2000 : 100 };
	struct server server;
	st_auto(st_buf) text = ST_BUF_INIT, call = ST_BUF_INIT, line = ST_BUF_INIT;
	make_long_file(*state, &text);
	add_long_call(&call);
	start(&server, *state);
	say(server.in, INIT);
	hear(server.out, &line);
	/* The machine may have had something else to do. */
	int64_t took = INT64_MAX;
	for (int i = 0; i < TRIES && took >= MAX_MS; i++)
		took = cancel_and_wait(&server, &call);
	assert_true(took < MAX_MS);
	assert_string_equal(dir_read(*state, "long.txt"), text.ptr);
	close(server.in);
	assert_int_equal(end(&server), 0);
	close(server.out);
}

/* The same when all of it came at once. */
static void edits_that_were_cancelled_before_they_began_are_not_made(void **state) {
	struct server server;
	st_auto(st_buf) text = ST_BUF_INIT, message = ST_BUF_INIT, line = ST_BUF_INIT;
	make_long_file(*state, &text);
	st_buf_adds(&message, INIT);
	add_long_call(&message);
	st_buf_adds(&message, CANCEL PING);
	start(&server, *state);
	say(server.in, message.ptr);
	hear(server.out, &line);
	assert_string_equal(hear(server.out, &line), PONG);
	assert_string_equal(dir_read(*state, "long.txt"), text.ptr);
	close(server.in);
	assert_int_equal(end(&server), 0);
	close(server.out);
}

static void say_long_line(int fd, const char *head, size_t len, const char *tail) {
	static char part[1 << 16];
	memset(part, 'y', sizeof part - 1);
	say(fd, head);
	for (size_t sent = 0; sent < len; sent += sizeof part - 1)
		say(fd, part);
	say(fd, tail);
}

static void a_line_that_is_too_long_is_refused_by_its_id(void **state) {
	struct server server;
	st_auto(st_buf) line = ST_BUF_INIT;
	start(&server, *state);
	static const size_t size = (size_t)64 << 20;
	say_long_line(server.in, "{\"jsonrpc\":\"2.0\",\"id\":\"first\",\"method\":\"", size,
	              "\"}\n" PING);
	hear(server.out, &line);
	assert_non_null(strstr(line.ptr, "\"id\":\"first\",\"error\":{\"code\":-32600"));
	assert_string_equal(hear(server.out, &line), PONG);
	say_long_line(server.in, "{\"method\":\"", size, "\",\"jsonrpc\":\"2.0\",\"id\":77}\n" PING);
	hear(server.out, &line);
	assert_non_null(strstr(line.ptr, "\"id\":77,\"error\":{\"code\":-32600"));
	assert_string_equal(hear(server.out, &line), PONG);
	say_long_line(server.in, "", size, "\n");
	hear(server.out, &line);
	assert_non_null(strstr(line.ptr, "\"id\":null,\"error\":{\"code\":-32600"));
	/* The same with a line that has no end. */
	say_long_line(server.in, "", size, "");
	close(server.in);
	hear(server.out, &line);
	assert_non_null(strstr(line.ptr, "\"id\":null,\"error\":{\"code\":-32600"));
	assert_int_equal(end(&server), 0);
	close(server.out);
}

static void ten_megabytes_are_written_and_read_in_pages(void **state) {
	struct dir *dir = *state;
	struct server server;
	st_auto(st_buf) line = ST_BUF_INIT;
	start(&server, dir);
	say(server.in, INIT);
	hear(server.out, &line);
	say_long_line(server.in,
	              "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":"
	              "\"write_file\",\"arguments\":{\"path\":\"big\",\"content\":\"",
	              (size_t)10 << 20, "\"}}}\n");
	hear(server.out, &line);
	assert_non_null(strstr(line.ptr, "\"id\":5,\"result\":"));
	assert_null(strstr(line.ptr, "isError"));
	struct stat st;
	assert_int_equal(fstatat(dir->fd, "big", &st, 0), 0);
	assert_true(st.st_size >= 10 << 20);
	say(server.in, CALL("read_file", "\"path\":\"big\""));
	hear(server.out, &line);
	assert_true(line.len < 1 << 20);
	assert_non_null(strstr(line.ptr, "Continue with offset 1 and byteOffset "));
	close(server.in);
	assert_int_equal(end(&server), 0);
	close(server.out);
}

static void a_directory_that_is_not_there_is_an_error(void **state) {
	struct dir missing = {.path = "/no/such/directory"};
	struct server server;
	start(&server, &missing);
	assert_int_equal(end(&server), 1);
	close(server.in);
	close(server.out);
}

int main(void) {
	signal(SIGPIPE, SIG_IGN);
	const struct CMUnitTest tests[] = {
		claim(reads_a_file_to_its_end),
		claim(answers_on_a_socket_that_is_half_closed),
		claim(ends_at_once_when_its_input_does),
		claim(finishes_what_it_was_asked_before_it_ends),
		claim(a_call_that_waits_for_roots_is_answered_when_its_client_goes),
		claim(ends_on_a_signal),
		claim(ends_when_nobody_reads_it),
		claim(a_flood_is_answered_whole),
		claim(a_client_that_does_not_read_is_waited_for),
		claim(a_search_that_was_cancelled_is_not_answered),
		claim(edits_that_were_cancelled_make_way_within_100_ms),
		claim(edits_that_were_cancelled_before_they_began_are_not_made),
		claim(a_line_that_is_too_long_is_refused_by_its_id),
		claim(ten_megabytes_are_written_and_read_in_pages),
		claim(a_directory_that_is_not_there_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
