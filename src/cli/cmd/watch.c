/* stet watch: print a line for each file that is added, changed or deleted. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/signals.h"
#include "cli/cli.h"

static void print_event_json(const char *path, const char *event) {
	struct stet_json *json = stet_json_new();
	if (json) {
		stet_json_set_text(json, "/event", event, strlen(event));
		stet_json_set_text(json, "/path", path, strlen(path));
	}
	char *line = json ? stet_json_write(json, 0, NULL) : NULL;
	if (line)
		puts(line);
	else
		complain("cannot print the %s of a file as JSON: its name is not valid UTF-8: %s", event,
		         path);
	stet_free(line);
	stet_json_free(json);
}

static void print_change(void *data, const char *path, const char *event) {
	const struct options *options = data;
	if (options->json) {
		print_event_json(path, event);
		return;
	}
	printf("%s\t", event);
	put_name(stdout, path);
	putchar('\n');
}

static void print_notices(struct stet_watcher *watcher) {
	for (char *notice; (notice = stet_watcher_notice(watcher));) {
		complain("%s", notice);
		stet_free(notice);
	}
}

/* Run until a signal comes, the reader closes the pipe, or the directory is gone. */
static int loop(struct stet_watcher *watcher, int signals) {
	struct stet_error err = {0};
	struct pollfd fds[] = {
		{.fd = stet_watcher_fd(watcher), .events = POLLIN},
		{.fd = signals, .events = POLLIN},
		{.fd = STDOUT_FILENO, .events = 0},
	};
	int code = 0;
	for (;;) {
		if (fflush(stdout) == EOF && errno == EPIPE)
			return DONE;
		int status = done();
		print_notices(watcher);
		if (status != DONE)
			return status;
		if (code < 0)
			return report(&err);
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			return report_as(STET_E_IO, "Cannot wait for events: %s.", strerror(errno));
		if (fds[1].revents || (fds[2].revents & (POLLERR | POLLHUP)))
			return DONE;
		if (fds[0].revents)
			code = stet_watcher_dispatch(watcher, 0, &err);
	}
}

/* Do not report changes in the state directory, which the configuration names. */
static int exclude_state_dir(struct stet_watcher *watcher, const char *dir,
                             const struct options *options) {
	struct stet_error err = {0};
	struct stet_workspace *ws = NULL;
	struct stet_config *config = NULL;
	if (stet_workspace_open(dir, &ws, &err) < 0)
		return report(&err);
	int status = configure(options, ws, &config);
	if (status == DONE &&
	    stet_watcher_state_dir(watcher, stet_config_value(config, "stateDir"), &err) < 0)
		status = report(&err);
	stet_config_free(config);
	stet_workspace_close(ws);
	return status;
}

static int watch(const char *dir, struct options *options, int signals) {
	struct stet_error err = {0};
	struct stet_watcher *watcher = NULL;
	if (stet_watcher_new(dir, print_change, options, &watcher, &err) < 0)
		return report(&err);
	int status = exclude_state_dir(watcher, dir, options);
	if (status == DONE && stet_watcher_start(watcher, &err) < 0)
		status = report(&err);
	if (status == DONE) {
		puts(options->json ? "{\"event\":\"ready\"}" : "READY");
		status = loop(watcher, signals);
	}
	stet_watcher_free(watcher);
	return status;
}

static int run_watch(const struct options *options, const struct arguments *args) {
	struct options own = *options;
	const char *dir = operand(args, 0);
	int signals = open_signals();
	if (signals < 0)
		return SYSTEM;
	int status = watch(dir ? dir : options->root, &own, signals);
	close(signals);
	return status;
}

const struct command watch_command = {
	.name = "watch",
	.summary = "print the files that are added, changed or deleted",
	.synopsis = "[DIR]",
	.description =
		"Prints READY (with --json {\"event\":\"ready\"}) when it watches the tree below DIR (by "
		"default the root), then a line for each file that is added, changed or deleted: add, "
		"change or unlink, a tab, and the path. A path with control or invisible characters is "
		"quoted: \"one\\ntwo\". With --json, each following line is an object with event and "
		"path.\n\n"
		"Leaves out what .gitignore leaves out, and .git, node_modules and dist. Ends on a "
		"signal, or when the reader of its output ends.",
	.max = 1,
	.examples =
		(const struct example[]){
			{"stet watch", "everything that changes in the working directory"},
			{"stet watch src", "only what changes below src"},
			{0},
		},
	.run = run_watch,
};
