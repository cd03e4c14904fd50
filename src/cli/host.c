#include "cli/host.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/*
 * How much freed memory malloc keeps, and the size from which free() returns a
 * buffer to the system. Each call allocates and frees the same few buffers;
 * returning them in between would cost a page fault for each 4 KB of an answer.
 */
enum { RETAINED_BYTES = 4 << 20, LARGE_BYTES = 1 << 20 };

static void tune_malloc(void) {
#ifdef __GLIBC__
	mallopt(M_TRIM_THRESHOLD, RETAINED_BYTES);
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
}

static int set_state(struct stet_workspace *ws, const struct arguments *args,
                     struct stet_error *err) {
	const char *name = option_value(args, "--state-dir"), *log = option_value(args, "--log");
	int code = name ? stet_workspace_state_dir(ws, name, err) : 0;
	if (code == 0 && log)
		code = stet_workspace_log(ws, log, err);
	return code;
}

static int set_instructions(struct stet_workspace *ws, const struct arguments *args,
                            struct stet_error *err) {
	const char *which = option_value(args, "--agents");
	if (has_option(args, "--no-agents"))
		which = "none";
	if (!which)
		return 0;
	int64_t value = strcmp(which, "none") == 0 ? 0 : strcmp(which, "nested") == 0 ? 2 : 1;
	return stet_workspace_set(ws, STET_OPTION_AGENTS, value, err);
}

static int set_options(struct stet_workspace *ws, const struct arguments *args,
                       struct stet_error *err) {
	const char *endings = option_value(args, "--ext");
	const char *names = option_value(args, "--agents-names");
	const char *stale = option_value(args, "--on-stale");
	const char *durability = option_value(args, "--durability");
	int code = endings ? stet_workspace_allow(ws, endings, err) : 0;
	if (code == 0 && has_option(args, "--vault"))
		code = stet_workspace_set(ws, STET_OPTION_VAULT, 1, err);
	if (code == 0 && names)
		code = stet_instructions_names(ws, names, err);
	if (code == 0 && has_option(args, "--read-only"))
		code = stet_workspace_set(ws, STET_OPTION_READ_ONLY, 1, err);
	if (code == 0 && has_option(args, "--read-only"))
		code = stet_workspace_set(ws, STET_OPTION_STATE, 0, err);
	if (code == 0 && has_option(args, "--require-read"))
		code = stet_workspace_set(ws, STET_OPTION_REQUIRE_READ, 1, err);
	if (code == 0 && durability && strcmp(durability, "relaxed") == 0)
		code = stet_workspace_set(ws, STET_OPTION_DURABLE, 0, err);
	if (code == 0 && stale)
		code = stet_workspace_set(ws, STET_OPTION_MERGE, strcmp(stale, "merge") == 0, err);
	if (code == 0 && has_option(args, "--structured"))
		code = stet_workspace_set(ws, STET_OPTION_STRUCTURED, 1, err);
	if (code == 0)
		code = set_instructions(ws, args, err);
	return code < 0 ? code : set_state(ws, args, err);
}

static int set_size(struct stet_workspace *ws, const struct arguments *args, const char *name,
                    enum stet_option option) {
	struct stet_error err = {0};
	int64_t size = 0;
	int status = option_number(args, name, 1, INT64_MAX, 0, &size);
	if (status != DONE || size == 0)
		return status;
	return stet_workspace_set(ws, option, size, &err) < 0 ? report(&err) : DONE;
}

/* Apply the workspace's configuration, then the command's options, which win. */
static int prepare_workspace(const struct options *options, const struct arguments *args,
                             struct stet_workspace *ws) {
	struct stet_error err = {0};
	int status = configure(options, ws, NULL);
	if (status == DONE && set_options(ws, args, &err) < 0)
		status = report(&err);
	if (status == DONE)
		status = set_size(ws, args, "--max-file", STET_OPTION_MAX_FILE);
	if (status == DONE)
		status = set_size(ws, args, "--max-bases", STET_OPTION_MAX_BASES);
	if (status == DONE)
		status = set_size(ws, args, "--page-bytes", STET_OPTION_PAGE_BYTES);
	return status;
}

static void print_notices(struct stet_host *host) {
	for (char *notice; (notice = stet_host_notice(host));) {
		complain("%s", notice);
		stet_free(notice);
	}
}

/* Expand `~`: a path in a client's configuration has not been through a shell. The caller frees the copy. */
static char *expand_home(const char *path) {
	const char *home = getenv("HOME");
	bool begins = path[0] == '~' && (path[1] == '/' || path[1] == '\0');
	char *expanded = NULL;
	if (!begins || !home || home[0] != '/')
		return strdup(path);
	return asprintf(&expanded, "%s%s", home, path + 1) < 0 ? NULL : expanded;
}

/* If no directory can be opened, the exit status is 1, as of the reference server. */
static int open_roots(const char *const *named, size_t count, struct stet_host **out) {
	struct stet_error err = {0};
	char **roots = calloc(count, sizeof *roots);
	int status = roots ? DONE : report_nomem();
	for (size_t i = 0; roots && status == DONE && i < count; i++) {
		roots[i] = expand_home(named[i]);
		status = roots[i] ? DONE : report_nomem();
	}
	if (status == DONE && stet_host_open((const char *const *)roots, count, out, &err) < 0) {
		report(&err);
		status = REFUSED;
	}
	for (size_t i = 0; roots && i < count; i++)
		free(roots[i]);
	free(roots);
	return status;
}

int host_open(const struct options *options, const struct arguments *args, struct stet_host **out) {
	const char *const *roots =
		args->count > 0 ? (const char *const *)args->operands : &options->root;
	tune_malloc();
	int status = open_roots(roots, args->count > 0 ? (size_t)args->count : 1, out);
	if (status != DONE)
		return status;
	struct stet_workspace *ws;
	for (size_t i = 0; status == DONE && (ws = stet_host_workspace(*out, i)); i++)
		status = prepare_workspace(options, args, ws);
	print_notices(*out);
	if (status != DONE) {
		stet_host_close(*out);
		*out = NULL;
	}
	return status;
}

/* The error itself goes to standard error; the client gets a notice that the directory was left out. */
static int prepare_root(void *arg, struct stet_workspace *ws, struct stet_error *err) {
	const struct host_roots *roots = arg;
	if (prepare_workspace(roots->options, roots->args, ws) == DONE)
		return 0;
	err->code = STET_E_INVALID;
	snprintf(err->message, sizeof err->message,
	         "\"%s\" cannot be configured; standard error says why.", stet_workspace_root(ws));
	return STET_E_INVALID;
}

void host_follow(struct stet_host *host, struct host_roots *roots) {
	bool named = roots->args->count > 0 || strcmp(roots->options->root, ".") != 0;
	if (!named)
		stet_host_follow(host, prepare_root, roots);
}

void host_close(struct stet_host *host) {
	if (!host)
		return;
	stet_host_drain(host, 0);
	print_notices(host);
	stet_host_close(host);
}
