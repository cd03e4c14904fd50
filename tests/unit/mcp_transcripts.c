/*
 * Every transcript of tests/mcp, played to the core and to the program, which
 * must say the same.
 */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "lib/transcript.h"
#include "mcp/service/service.h"

enum { PATIENCE_MS = 10000 };

/* ---- the core ---- */

struct core {
	struct player player;
	struct st_mcp_sink sink;
	struct stet_host *host;
	struct st_service *service;
	struct st_mcp_server *server;
	struct st_mcp_peer *peer;
	/* What was sent, a message by line, and how much of it was heard. */
	struct st_buf sent;
	size_t heard;
};

static void core_event(struct st_mcp_sink *sink, struct st_buf *message) {
	struct core *core = (struct core *)((char *)sink - offsetof(struct core, sink));
	st_buf_add(&core->sent, st_buf_str(message));
	st_buf_addc(&core->sent, '\n');
}

static void core_answer(struct st_mcp_sink *sink, struct st_buf *message, int status) {
	core_event(sink, message);
}

static void core_done(struct st_mcp_sink *sink) {
}

static void core_say(struct player *player, struct st_str line) {
	struct core *core = (struct core *)player;
	st_mcp_receive(core->peer, line, &core->sink);
}

static bool core_hear(struct player *player, struct st_buf *out) {
	struct core *core = (struct core *)player;
	struct pollfd changes = {.fd = st_service_fd(core->service), .events = POLLIN};
	for (int i = 0; i < 100 && core->heard == core->sent.len; i++) {
		if (poll(&changes, 1, PATIENCE_MS / 100) > 0)
			st_service_dispatch(core->service);
	}
	if (core->heard == core->sent.len)
		return false;
	const char *start = core->sent.ptr + core->heard;
	size_t len = strcspn(start, "\n");
	st_buf_add(out, st_strn(start, len));
	core->heard += len + 1;
	return true;
}

static void play_to_core(const char *file, const char *root) {
	struct core core = {
		.player = {.say = core_say, .hear = core_hear},
		.sink = {.event = core_event, .answer = core_answer, .done = core_done},
	};
	assert_int_equal(stet_host_open(&root, 1, &core.host, NULL), 0);
	assert_int_equal(st_service_new(core.host, NULL, &core.service, NULL), 0);
	assert_int_equal(st_mcp_server_new(st_service_base(core.service), NULL, &core.server, NULL), 0);
	assert_int_equal(st_mcp_peer_new(core.server, ST_MCP_STDIO, NULL, &core.sink, &core.peer, NULL),
	                 0);
	st_service_serve(core.service, core.server);
	transcript_play(file, root, &core.player);
	if (core.heard != core.sent.len)
		fail_msg("%s: more was said than expected: %s", file, core.sent.ptr + core.heard);
	st_mcp_peer_close(core.peer);
	st_mcp_server_free(core.server);
	st_service_free(core.service);
	stet_host_close(core.host);
	st_buf_release(&core.sent);
}

/* ---- the program ---- */

struct program {
	struct player player;
	pid_t pid;
	int in;
	FILE *out;
};

static void program_say(struct player *player, struct st_str line) {
	struct program *program = (struct program *)player;
	assert_int_equal(write(program->in, line.ptr, line.len), line.len);
	assert_int_equal(write(program->in, "\n", 1), 1);
}

static bool program_hear(struct player *player, struct st_buf *out) {
	struct program *program = (struct program *)player;
	/* What takes longer than alarm() lets it is an end. */
	alarm(PATIENCE_MS / 1000);
	char *line = NULL;
	size_t room = 0;
	ssize_t len = getline(&line, &room, program->out);
	alarm(0);
	if (len > 0)
		st_buf_add(out, st_strn(line, (size_t)len - 1));
	free(line);
	return len > 0;
}

static void exec_program(const char *root, const char *options, int in, int out) {
	st_auto(st_buf) command = ST_BUF_INIT;
	if (strcmp(options, "@CWD@") == 0)
		st_buf_addf(&command, "cd '%s' && exec \"$STET\" mcp", root);
	else
		st_buf_addf(&command, "exec \"$STET\" mcp %s '%s'", options, root);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	execl("/bin/sh", "sh", "-c", command.ptr, NULL);
	_exit(127);
}

static void play_to_program(const char *file, const char *root, const char *options) {
	int in[2], out[2], status;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	struct program program = {.player = {.say = program_say, .hear = program_hear}};
	program.pid = fork();
	if (program.pid == 0)
		exec_program(root, options, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	program.in = in[1];
	program.out = fdopen(out[0], "r");
	transcript_play(file, root, &program.player);
	close(program.in);
	st_auto(st_buf) more = ST_BUF_INIT;
	if (program_hear(&program.player, &more))
		fail_msg("%s: more was said than expected: %s", file, more.ptr);
	fclose(program.out);
	waitpid(program.pid, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- all of them ---- */

static int is_transcript(const struct dirent *entry) {
	const char *dot = strrchr(entry->d_name, '.');
	return dot && strcmp(dot, ".transcript") == 0;
}

static void core_and_program_keep_to(const char *name, const struct dir *dir) {
	char file[512], first[300], second[300];
	st_auto(st_buf) options = ST_BUF_INIT;
	snprintf(file, sizeof file, STET_SOURCE_ROOT "/tests/mcp/%s", name);
	snprintf(first, sizeof first, "%s/core", dir->path);
	snprintf(second, sizeof second, "%s/program", dir->path);
	assert_int_equal(mkdirat(dir->fd, "core", 0755), 0);
	assert_int_equal(mkdirat(dir->fd, "program", 0755), 0);
	transcript_options(file, &options);
	if (options.len == 0)
		play_to_core(file, first);
	play_to_program(file, second, options.len > 0 ? options.ptr : "");
}

static void core_and_program_keep_to_the_transcript(void **state) {
	const char *name = *state;
	void *dir = NULL;
	assert_int_equal(dir_setup(&dir), 0);
	core_and_program_keep_to(name, dir);
	assert_int_equal(dir_teardown(&dir), 0);
}

int main(void) {
	struct dirent **entries;
	int count = scandir(STET_SOURCE_ROOT "/tests/mcp", &entries, is_transcript, alphasort);
	static struct CMUnitTest tests[64];
	if (count <= 0 || count > 64 || !getenv("STET")) {
		fprintf(stderr, "there are no transcripts, or no $STET\n");
		return 1;
	}
	for (int i = 0; i < count; i++)
		tests[i] = (struct CMUnitTest){.name = entries[i]->d_name,
		                               .test_func = core_and_program_keep_to_the_transcript,
		                               .initial_state = entries[i]->d_name};
	int failed = _cmocka_run_group_tests("transcripts", tests, (size_t)count, NULL, NULL);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	return failed;
}
