/*
 * The check of an unchanged file through the bindings, against C: bench-bindings [NAME TARGET COMMAND]...
 *
 * Each command is a program in bench/peers. It tracks tracked.c in its working directory; for each line on
 * its standard input it makes 1,000 checks and answers with a line.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bench.h"
#include "stet/stet.h"

enum { CHECKS = 1000, PEERS_MAX = 8 };

struct peer {
	pid_t pid;
	int in, out;
};

static struct stet_session *session;

static void check_in_c(void *context) {
	(void)context;
	for (int i = 0; i < CHECKS; i++)
		bench_check(stet_session_modified(session, "tracked.c", NULL) == 0, "check");
}

static void check_in_peer(void *context) {
	const struct peer *peer = context;
	char byte = '\n';
	bench_check(write(peer->in, &byte, 1) == 1 && read(peer->out, &byte, 1) == 1, "peer");
}

static void start_peer(struct peer *peer, const char *command) {
	int in[2], out[2];
	bench_check(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "pipe");
	peer->pid = fork();
	bench_check(peer->pid >= 0, "fork");
	if (peer->pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	peer->in = in[1];
	peer->out = out[0];
	check_in_peer(peer);
}

static void end_peer(struct peer *peer) {
	close(peer->in);
	close(peer->out);
	waitpid(peer->pid, NULL, 0);
}

int main(int argc, char **argv) {
	struct bench_case cases[1 + PEERS_MAX] = {{.name = "C", .run = check_in_c}};
	struct peer peers[PEERS_MAX];
	size_t count = 0;
	signal(SIGPIPE, SIG_IGN);
	bench_enter();
	FILE *file = fopen("tracked.c", "w");
	bench_check(file && fputs("int tracked;\n", file) >= 0 && fclose(file) == 0, "write");
	/* Until its time is old enough to tell a later change. */
	usleep(50000);
	session = stet_session_default(NULL);
	bench_check(stet_session_track_read(session, "tracked.c", NULL) == 0, "track");
	for (int i = 1; i + 2 < argc && count < PEERS_MAX; i += 3, count++) {
		start_peer(&peers[count], argv[i + 2]);
		cases[1 + count] = (struct bench_case){
			.name = argv[i],
			.run = check_in_peer,
			.context = &peers[count],
			.target = strtod(argv[i + 1], NULL),
		};
	}
	bench_run("1,000 checks of an unchanged file", cases, 1 + count, 101);
	for (size_t i = 0; i < count; i++)
		end_peer(&peers[i]);
	bench_leave();
}
