#include "cli/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	bool terminal;
	bool coloured;
} streams[2];

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

static int of(FILE *stream) {
	return stream == stderr;
}

const char *paint(FILE *stream, enum style style) {
	static const char *const codes[] = {
		[PLAIN] = "\033[0m",  [BOLD] = "\033[1m",    [DIM] = "\033[2m",   [RED] = "\033[31m",
		[GREEN] = "\033[32m", [YELLOW] = "\033[33m", [CYAN] = "\033[36m",
	};
	return streams[of(stream)].coloured ? codes[style] : "";
}

void put(FILE *stream, const char *text, size_t len) {
	if (!streams[of(stream)].terminal) {
		fwrite(text, 1, len, stream);
		return;
	}
	size_t shown_len = 0;
	char *shown = stet_text_screen(text, len, &shown_len);
	if (shown)
		fwrite(shown, 1, shown_len, stream);
	else
		fputs("(out of memory)", stream);
	stet_free(shown);
}

void put_name(FILE *stream, const char *name) {
	char *shown = stet_text_name(name, strlen(name));
	fputs(shown ? shown : "(out of memory)", stream);
	stet_free(shown);
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
	if (!streams[of(stream)].coloured) {
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
	if (len >= 0)
		put_line(stderr, text, (size_t)len);
	free(text);
}

int report(const struct stet_error *err) {
	complain("%s", stet_error_message(err));
	return stet_error_exit(stet_error_code(err));
}

int report_nomem(void) {
	complain("Out of memory.");
	return SYSTEM;
}
