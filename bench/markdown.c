/*
 * The structure of 1 MB of Markdown against libcmark's parser alone. Both run in
 * turns, so that other load affects them alike, but in separate processes: libcmark
 * frees so many small blocks that the next large malloc() pays for merging them.
 * The medians count.
 *
 * usage: bench-markdown [FILE]    (its text, repeated to 1 MB, instead of the built-in one)
 */
#include "text/markdown/markdown.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmark.h>

#define SIZE ((size_t)1 << 20)
#define ROUNDS 31
#define TARGET 1.3

static const char sample[] =
	"## Version 1.2.3\n\nReleased on a *Tuesday*, with [links](https://example.org/a/b \"title\"), "
	"`code`\n"
	"and a second line of text that is about as long as lines are in real documents.\n\n"
	"- Fixed the handling of **empty** files; see [#123](https://example.org/issues/123).\n"
	"- Added an option `--name=VALUE` that does what its name says:\n\n"
	"  ```c\n  int main(void) {\n          return 0;\n  }\n  ```\n\n"
	"1. First, do this.\n2. Then do that & more.\n\n"
	"> A quotation of one line.\n\nSetext heading\n--------------\n\n"
	"| a table | that CommonMark | takes for text "
	"|\n|---------|-----------------|----------------|\n\n"
	"<a id=\"anchor\"></a>\nA paragraph with an anchor, _emphasis_, an image ![alt](image.png) and "
	"an end.\n\n";

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double time_cmark(struct st_str text) {
	double start = now();
	cmark_node *root = cmark_parse_document(text.ptr, text.len, CMARK_OPT_DEFAULT);
	cmark_node_free(root);
	return now() - start;
}

static double time_structure(struct st_str text) {
	double start = now();
	st_auto(st_markdown) md = {0};
	if (st_markdown_parse(&md, text, NULL) < 0 || md.heading_count == 0)
		exit(1);
	return now() - start;
}

/* Time the second of two runs in a fresh process; the first one warms up. */
static double time_apart(double (*timed)(struct st_str text), struct st_str text) {
	int ends[2];
	double time = 0;
	pid_t pid = pipe(ends) == 0 ? fork() : -1;
	if (pid == 0) {
		timed(text);
		time = timed(text);
		_exit(write(ends[1], &time, sizeof time) != sizeof time);
	}
	int status = 1;
	if (pid < 0 || read(ends[0], &time, sizeof time) != sizeof time ||
	    waitpid(pid, &status, 0) != pid || status != 0) {
		fputs("a timed process failed\n", stderr);
		exit(1);
	}
	close(ends[0]);
	close(ends[1]);
	return time;
}

static int by_value(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *times) {
	qsort(times, ROUNDS, sizeof *times, by_value);
	return times[ROUNDS / 2];
}

static void read_file(const char *path, struct st_buf *out) {
	FILE *file = fopen(path, "rb");
	if (!file) {
		perror(path);
		exit(1);
	}
	char bytes[65536];
	for (size_t len; (len = fread(bytes, 1, sizeof bytes, file)) > 0;)
		st_buf_add(out, st_strn(bytes, len));
	fclose(file);
}

int main(int argc, char **argv) {
	st_auto(st_buf) once = ST_BUF_INIT, text = ST_BUF_INIT;
	if (argc > 1)
		read_file(argv[1], &once);
	else
		st_buf_adds(&once, sample);
	while (once.len && text.len < SIZE)
		st_buf_add(&text, st_buf_str(&once));

	double cmark[ROUNDS], structure[ROUNDS];
	for (int i = 0; i < ROUNDS; i++) {
		cmark[i] = time_apart(time_cmark, st_buf_str(&text));
		structure[i] = time_apart(time_structure, st_buf_str(&text));
	}
	double base = median(cmark), ours = median(structure);
	printf("markdown, %zu bytes: libcmark %.1f ms, structure %.1f ms, %.2fx (target %.1fx)\n",
	       text.len, base, ours, ours / base, TARGET);
	return 0;
}
