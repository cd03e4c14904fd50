/* stet hash: the versions of files, as sha256sum prints them. */
#include <string.h>

#include "cli/work.h"

/* Looking at the hash is not reading: a session that goes again at once. */
static int hash(struct stet_workspace *ws, const char *path, struct stet_answer **answer,
                struct stet_error *err) {
	struct stet_session *session = NULL;
	int code = stet_session_open(ws, NULL, &session, err);
	if (code == 0)
		code = stet_session_track_read(session, path, err);
	if (code == 0)
		code = stet_session_check(session, path, answer, err);
	stet_session_close(session);
	return code;
}

static void add(struct stet_json *json, const char *path, const char *digits) {
	struct stet_json *file = stet_json_new();
	char *text = NULL;
	size_t len = 0;
	if (file) {
		stet_json_set_text(file, "/path", path, strlen(path));
		stet_json_set_text(file, "/hash", digits, strlen(digits));
		text = stet_json_write(file, 0, &len);
	}
	stet_json_set_json(json, "/files/-", text ? text : "", len);
	stet_free(text);
	stet_json_free(file);
}

static void print_line(const char *digits, const char *path) {
	printf("%s  ", digits);
	put_name(stdout, path);
	putchar('\n');
}

static int print_json(const struct stet_json *json) {
	char *text = stet_json_write(json, 0, NULL);
	if (!text)
		return report_nomem();
	puts(text);
	stet_free(text);
	return DONE;
}

static int run(const struct options *options, const struct arguments *args) {
	struct work work = {0};
	struct stet_json *json = stet_json_new();
	int status = json ? work_open(&work, options) : report_nomem();
	int worst = status;
	for (int i = 0; status == DONE && i < args->count; i++) {
		struct stet_answer *answer = NULL;
		struct stet_error err = {0};
		if (hash(work.ws, args->operands[i], &answer, &err) < 0)
			worst = report(&err);
		else if (options->json)
			add(json, args->operands[i], stet_answer_full_hash(answer));
		else
			print_line(stet_answer_full_hash(answer), args->operands[i]);
		stet_answer_free(answer);
	}
	if (status == DONE && options->json)
		worst = print_json(json) != DONE ? SYSTEM : worst;
	stet_json_free(json);
	if (status != DONE)
		return worst;
	status = work_close(&work, done());
	return status != DONE ? status : worst;
}

const struct command hash_command = {
	.name = "hash",
	.summary = "print the SHA-256 of files",
	.synopsis = "PATH...",
	.description =
		"Prints the hash that names the version of each file, as sha256sum does. 16 digits of it "
		"or more are what --expect takes. This does not count as reading the file.",
	.min = 1,
	.max = -1,
	.examples = (const struct example[]){{"stet hash README.md", "the version of a file"}, {0}},
	.run = run,
};
