/* stet check: whether files are still what the session saw. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/work.h"

static enum style style_of(const char *status) {
	return strcmp(status, "clean") == 0 ? GREEN : strcmp(status, "untracked") == 0 ? DIM : RED;
}

static void print(const struct arguments *args, const struct stet_answer *answer,
                  const char *path) {
	const char *status = stet_answer_status(answer);
	size_t len = 0;
	const char *diff = stet_answer_diff(answer, &len);
	printf("%s%-9s%s  ", paint(stdout, style_of(status)), status, paint(stdout, PLAIN));
	put_name(stdout, path);
	putchar('\n');
	if (has_option(args, "--diff") && diff)
		put_diff(stdout, diff, len);
}

/* Whether a file that the session has not seen is not there either. */
static bool is_missing(const struct work *work, const char *path) {
	char whole[8192];
	snprintf(whole, sizeof whole, "%s/%s", path[0] == '/' ? "" : stet_workspace_root(work->ws), path);
	return access(whole, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static int check(struct work *work, const struct arguments *args, const char *path) {
	struct stet_answer *answer = NULL;
	struct stet_error err = {0};
	if (stet_session_check(work->session, path, &answer, &err) < 0)
		return report(&err);
	int status = stet_answer_has_conflict(answer) ? REFUSED : DONE;
	if (strcmp(stet_answer_status(answer), "untracked") == 0 && is_missing(work, path)) {
		stet_answer_free(answer);
		answer = NULL;
		/* The read says it, as it says it everywhere. */
		status = stet_session_read(work->session, path, 1, 1, &answer, &err) < 0 ? report(&err) : DONE;
		stet_answer_free(answer);
		return status;
	}
	print(args, answer, path);
	stet_answer_free(answer);
	return status;
}

static int run(const struct options *options, const struct arguments *args) {
	struct work work;
	int worst = DONE, status = work_open(&work, options);
	if (status != DONE)
		return status;
	for (int i = 0; i < args->count; i++) {
		status = options->json
		             ? work_call(&work, "check_conflict", work_args(args->operands[i]), NULL)
		             : check(&work, args, args->operands[i]);
		worst = status > worst ? status : worst;
	}
	status = done();
	return work_close(&work, status != DONE ? status : worst);
}

static const struct option options[] = {
	{"--diff", NULL, "show what changed"},
	OPTIONS_END,
};

const struct command check_command = {
	.name = "check",
	.summary = "compare files with what the session saw",
	.synopsis = "PATH...",
	.description =
		"Prints clean, modified, deleted or untracked for each file. The exit status is 1 if one "
		"is modified or deleted. Checking does not count as having seen the change.",
	.min = 1,
	.max = -1,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet --session me check --diff src/main.c", "what others changed in a file"},
			{0},
		},
	.run = run,
};
