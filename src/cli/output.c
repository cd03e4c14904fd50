#include "cli/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	bool terminal;
	bool coloured;
} streams[2];

/* Whether answers are JSON, and whether the command has printed its one answer. */
static bool as_json, answered;

static bool wants_colours(const char *color, bool terminal) {
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	if (color && strcmp(color, "auto") != 0)
		return strcmp(color, "always") == 0;
	return terminal && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

void output_init(const char *color) {
	for (int i = 0; i < 2; i++) {
		streams[i].terminal = isatty(i == 0 ? STDOUT_FILENO : STDERR_FILENO);
		streams[i].coloured = wants_colours(color, streams[i].terminal);
	}
}

static int stream_index(FILE *stream) {
	return stream == stderr;
}

const char *paint(FILE *stream, enum style style) {
	static const char *const codes[] = {
		[PLAIN] = "\033[0m",  [BOLD] = "\033[1m",    [DIM] = "\033[2m",   [RED] = "\033[31m",
		[GREEN] = "\033[32m", [YELLOW] = "\033[33m", [CYAN] = "\033[36m",
	};
	return streams[stream_index(stream)].coloured ? codes[style] : "";
}

void put(FILE *stream, const char *text, size_t len) {
	if (!streams[stream_index(stream)].terminal) {
		fwrite(text, 1, len, stream);
		return;
	}
	size_t printable_len = 0;
	char *printable = stet_text_screen(text, len, &printable_len);
	if (printable)
		fwrite(printable, 1, printable_len, stream);
	else
		fputs("(out of memory)", stream);
	stet_free(printable);
}

void put_name(FILE *stream, const char *name) {
	char *printable = stet_text_name(name, strlen(name));
	fputs(printable ? printable : "(out of memory)", stream);
	stet_free(printable);
}

void put_line(FILE *stream, const char *text, size_t len) {
	put(stream, text, len);
	if (len == 0 || text[len - 1] != '\n')
		fputc('\n', stream);
}

static enum style diff_style(const char *line, size_t len) {
	if (len >= 3 && (memcmp(line, "---", 3) == 0 || memcmp(line, "+++", 3) == 0))
		return BOLD;
	switch (len > 0 ? line[0] : ' ') {
	case '+':
		return GREEN;
	case '-':
		return RED;
	case '@':
		return CYAN;
	default:
		return PLAIN;
	}
}

void put_diff(FILE *stream, const char *diff, size_t len) {
	if (!streams[stream_index(stream)].coloured) {
		put(stream, diff, len);
		return;
	}
	for (size_t from = 0; from < len;) {
		const char *end = memchr(diff + from, '\n', len - from);
		size_t line = end ? (size_t)(end - diff) - from : len - from;
		enum style style = diff_style(diff + from, line);
		fputs(style == PLAIN ? "" : paint(stream, style), stream);
		put(stream, diff + from, line);
		fputs(style == PLAIN ? "" : paint(stream, PLAIN), stream);
		if (end)
			fputc('\n', stream);
		from += line + (end != NULL);
	}
}

int done(void) {
	if (fflush(stdout) == EOF || ferror(stdout)) {
		perror("stet: cannot write to standard output");
		return SYSTEM;
	}
	return DONE;
}

void complain(const char *format, ...) {
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	fflush(stdout);
	fprintf(stderr, "%sstet:%s ", paint(stderr, BOLD), paint(stderr, PLAIN));
	char *translated = len >= 0 ? translate(text) : NULL;
	if (translated)
		put_line(stderr, translated, strlen(translated));
	free(translated);
	free(text);
}

void output_json(void) {
	as_json = true;
}

bool is_json(void) {
	return as_json;
}

static void set_member(struct stet_json *json, const char *at, const char *key, const char *text) {
	char pointer[128];
	snprintf(pointer, sizeof pointer, "%s/%s", at, key);
	stet_json_set_text(json, pointer, text, strlen(text));
}

static void set_failure(struct stet_json *json, const char *at, const struct stet_error *err) {
	set_member(json, at, "status", "error");
	set_member(json, at, "error", stet_error_name(stet_error_code(err)));
	set_member(json, at, "message", stet_error_message(err));
}

int put_json(struct stet_json *json) {
	size_t len = 0;
	/* An error that was reported before is the answer. */
	if (answered)
		return done();
	if (json && !stet_json_type(json, "/status"))
		set_member(json, "", "status", "success");
	char *text = json ? stet_json_write(json, 0, &len) : NULL;
	if (!text)
		return report_as(STET_E_INVALID,
		                 "The answer contains text that is not valid UTF-8, which JSON requires.");
	put_line(stdout, text, len);
	stet_free(text);
	answered = true;
	return done();
}

void add_failure(struct stet_json *json, const char *pointer, const char *path,
                 const struct stet_error *err) {
	set_member(json, pointer, "path", path);
	set_failure(json, pointer, err);
	if (!stet_json_type(json, "/error"))
		set_failure(json, "", err);
}

/* Print an error as the answer to --json; false if it has to go to standard error. */
static bool put_failure(const struct stet_error *err) {
	struct stet_json *json = as_json && !answered ? stet_json_new() : NULL;
	if (!json)
		return false;
	set_failure(json, "", err);
	char *text = stet_json_write(json, 0, NULL);
	if (text)
		puts(text);
	answered = text != NULL;
	stet_free(text);
	stet_json_free(json);
	return answered;
}

int report(const struct stet_error *err) {
	if (!put_failure(err))
		complain("%s", stet_error_message(err));
	return stet_error_exit(stet_error_code(err));
}

int report_as(enum stet_code code, const char *format, ...) {
	struct stet_error err = {.code = code};
	va_list args;
	va_start(args, format);
	vsnprintf(err.message, sizeof err.message, format, args);
	va_end(args);
	return report(&err);
}

int report_nomem(void) {
	return report_as(STET_E_NOMEM, "Out of memory.");
}
