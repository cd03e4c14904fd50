/* stet compact: turn a long history of messages into a short prompt. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/prompt.h"

/* A line of an archive file: the archive's name, then the original messages. */
static const char head[] = "{\"archive\":\"";
static const char middle[] = "\",\"messages\":";

static bool write_all(int fd, const char *bytes, size_t len) {
	while (len > 0) {
		ssize_t done = write(fd, bytes, len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		len -= (size_t)done;
	}
	return true;
}

/* Replace the line ends of a JSON text, which are only between its values, by blanks. */
static void join_lines(char *text, size_t len) {
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n' || text[i] == '\r')
			text[i] = ' ';
	}
}

/* Append the original messages to the archive file, before printing the shorter prompt. */
static int store_archive(const char *file, const char *name, const char *messages, size_t len) {
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	size_t size = strlen(head) + strlen(name) + strlen(middle) + len + 2;
	char *line = malloc(size + 1);
	bool good = fd >= 0 && line;
	if (good) {
		char *at = line;
		at = mempcpy(at, head, strlen(head));
		at = mempcpy(at, name, strlen(name));
		at = mempcpy(at, middle, strlen(middle));
		at = mempcpy(at, messages, len);
		join_lines(at - len, len);
		mempcpy(at, "}\n", 2);
		flock(fd, LOCK_EX);
		good = write_all(fd, line, size);
	}
	int status =
		good ? DONE
			 : report_as(STET_E_IO, "Cannot write the archive %s: %s. Nothing was compacted.", file,
	                     strerror(errno));
	free(line);
	if (fd >= 0)
		close(fd);
	return status;
}

static int put_messages(const char *messages, size_t len) {
	struct stet_json *json = is_json() ? stet_json_new() : NULL;
	int status = DONE;
	if (json)
		stet_json_set_json(json, "/messages", messages, len);
	if (is_json())
		status = put_json(json);
	else
		put_line(stdout, messages, len);
	stet_json_free(json);
	return status != DONE ? status : done();
}

/* Print the messages that an archive file has under a name. */
static int restore_archive(const char *file, const char *name) {
	char *bytes = NULL;
	size_t len = 0;
	if (!file)
		return report_as(STET_E_INVALID, "--restore needs --archive FILE.");
	int status = slurp(file, &bytes, &len);
	if (status != DONE)
		return status;
	for (char *line = bytes, *end; line < bytes + len; line = end + 1) {
		end = memchr(line, '\n', (size_t)(bytes + len - line));
		if (!end)
			break;
		char *id = line + strlen(head);
		char *from = id + strlen(name) + strlen(middle);
		if (from < end && strncmp(line, head, strlen(head)) == 0 &&
		    strncmp(id, name, strlen(name)) == 0 &&
		    strncmp(id + strlen(name), middle, strlen(middle)) == 0) {
			status = put_messages(from, (size_t)(end - from) - 1);
			free(bytes);
			return status;
		}
	}
	free(bytes);
	return report_as(STET_E_NO_MATCH, "There is no archive \"%s\" in %s.", name, file);
}

static int compact(const struct arguments *args, struct stet_context *context, const char *messages,
                   size_t len) {
	struct stet_error err = {0};
	const char *archive = option_value(args, "--archive");
	char *prompt = NULL;
	size_t prompt_len = 0;
	if (has_option(args, "--full"))
		stet_context_set_number(context, STET_CONTEXT_USE_SNAPSHOT, 0);
	if (stet_context_compact(context, messages, len, &prompt, &prompt_len, &err) < 0)
		return report(&err);
	int status = DONE;
	/* A history that was not shortened has no archive name. */
	if (archive && *stet_context_archive(context))
		status = store_archive(archive, stet_context_archive(context), messages, len);
	if (status == DONE)
		return prompt_print(args, context, prompt, prompt_len);
	stet_free(prompt);
	return status;
}

static int run_compact(const struct options *options, const struct arguments *args) {
	struct stet_context *context = NULL;
	const char *name = option_value(args, "--restore");
	char *messages = NULL;
	size_t len = 0;
	if (name)
		return restore_archive(option_value(args, "--archive"), name);
	int status = slurp(args->count ? operand(args, 0) : "-", &messages, &len);
	if (status == DONE)
		status = prompt_context(options, args, has_option(args, "--full") ? NULL : messages, len,
		                        &context);
	if (status == DONE)
		status = compact(args, context, messages, len);
	stet_context_free(context);
	free(messages);
	return status;
}

static const struct option options[] = {
	{"--above", "N", "cut messages that have more tokens than this (24000)"},
	{"--to", "N", "cut them to this number of tokens (6000)"},
	{"--keep", "epoch|last", "last: keep the last exchange only, within --budget, in every turn"},
	PROMPT_OPTIONS,
	{"--no-marks", NULL, "place no marks for Anthropic's cache (cache_control)"},
	{"--archive", "FILE",
     "if they are cut, append the messages to FILE, under a name that the prompt has"},
	{"--restore", "NAME", "print the messages that --archive FILE has under NAME"},
	{"--full", NULL, "use no snapshot: print the history unchanged"},
	{"--verbose", NULL, "print how many tokens the prompt has, and what was left out"},
	OPTIONS_END,
};

const struct command compact_command = {
	.name = "compact",
	.summary = "turn a long history of messages into a short prompt",
	.synopsis = "[FILE]",
	.description =
		"Reads a list of messages, or a whole request, in the format of OpenAI's chat "
		"completions, OpenAI's responses, Anthropic's messages or Gemini's contents, from FILE or "
		"standard input. Prints it unchanged if it has at most --above tokens. Otherwise prints it "
		"cut to --to tokens: the system prompt, the user's requests, the snapshot of the "
		"workspace, open errors, and the newest exchanges. Continue with the printed list, and "
		"append to it. --budget N alone means --above N --to N/2.\n\n"
		"Tool calls stay with their results, and a text that was cut says so. stet first records "
		"the files that tool calls in the messages name, whichever agent made them; the prompt "
		"names those that it cannot verify. Where snapshots are not used (the key useSnapshot, or "
		"stet story --use-snapshot), prints the messages unchanged.\n\n"
		"With --archive, stet appends messages that it cuts to a file, as one line under a name "
		"that the prompt has, and --restore prints them again.",
	.max = 1,
	.state = true,
	.options = options,
	.examples =
		(const struct example[]){
			{"stet compact <messages.json", "the messages to continue with"},
			{"stet compact --above 5000 --to 2500 <messages.json", "within a small budget"},
			{"stet compact --keep last --archive history.jsonl request.json",
             "the last exchange alone, and keep the messages"},
			{"stet compact --archive history.jsonl --restore 0123456789abcdef",
             "print the messages again"},
			{0},
		},
	.run = run_compact,
};
