#include "lib/bigtree.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bench.h"

static void put(const char *name, const char *text) {
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	bench_check(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "write");
	close(fd);
}

/* ---- text ---- */

static const char *const words[] = {
	"buffer", "state",  "count",   "index", "length", "offset", "result", "error",
	"flags",  "device", "request", "queue", "lock",   "entry",  "parent", "config",
	"handle", "line",   "page",    "block", "node",   "value",  "size",   "name",
};

/* Lines of code: @ stands for a word, % for a number. */
static const char *const shapes[] = {
	"static int @_@(struct @ *@, unsigned int flags) {\n",
	"\tif (@->@ < @->@ + %)\n",
	"\t\treturn -E@; /* the @ has no @ for the @ */\n",
	"\t@_@(&@->@, %);\n",
	"#define MAX_@_@ (@_@ * %)\n",
	"\tfor (size_t i = 0; i < @->@; i++)\n\t\t@[i] = @_%;\n",
	"}\n\n/* Wait until the @ of the @ is free: the @ \u2014 or its @ \u2014 may be in use. */\n",
	"\tpr_debug(\"@: @ of @ changed, @\\n\", %);\n",
};

static uint64_t seed = 1;

static unsigned draw(unsigned below) {
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

/* Enough for one line of any shape. */
enum { LINE_ROOM = 256 };

/* Fill a buffer with whole lines. @return Their length. */
static size_t make_lines(char *text, size_t room) {
	size_t len = 0;
	while (len + LINE_ROOM < room) {
		const char *at = shapes[draw(sizeof shapes / sizeof *shapes)];
		for (; *at; at++) {
			char piece[16] = {*at};
			if (*at == '@')
				snprintf(piece, sizeof piece, "%s", words[draw(sizeof words / sizeof *words)]);
			else if (*at == '%')
				snprintf(piece, sizeof piece, "%u", draw(5000));
			len += (size_t)snprintf(text + len, room - len, "%s", piece);
		}
	}
	return len;
}

static const char *make_text(int number) {
	static char text[2048];
	size_t len = make_lines(text, sizeof text);
	if (number % 1000 == 0)
		snprintf(text + len, sizeof text - len, "\tstate->%s = 0;\n", BIGTREE_NEEDLE);
	return text;
}

void bigtree_make_file(const char *name, size_t bytes) {
	static char text[1 << 16];
	FILE *file = fopen(name, "w");
	bench_check(file != NULL, name);
	for (size_t done = 0; done < bytes;) {
		size_t len = make_lines(text, sizeof text);
		bench_check(fwrite(text, 1, len, file) == len, "write");
		done += len;
	}
	bench_check(fclose(file) == 0, "write");
}

/* ---- the tree ---- */

static void make_leaf(const char *dir, int number, bool has_text) {
	static const char *const endings[] = {"c", "h", "c", "o", "md", "c", "S", "txt"};
	char name[128];
	bench_check(mkdir(dir, 0755) == 0, "mkdir");
	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof name, "%s/some-source-file-%d.%s", dir, i, endings[i % 8]);
		put(name, has_text ? make_text(number * 16 + i) : "");
	}
	snprintf(name, sizeof name, "%s/AGENTS.md", dir);
	if (number % 100 == 0)
		put(name, "Be brief.\n");
	snprintf(name, sizeof name, "%s/.gitignore", dir);
	if (number % 25 == 0)
		put(name, "/generated-*.c\n*.tmp\n!keep.tmp\n");
}

/* Write as many ignore rules as a large repository has in its top directory. */
static void make_rules(void) {
	FILE *rules = fopen(".gitignore", "w");
	bench_check(rules != NULL, "fopen");
	for (int i = 0; i < 60; i++)
		fprintf(rules, "*.x%d\n", i);
	for (int i = 0; i < 20; i++)
		fprintf(rules, "name-%d\n/top-%d/\n", i, i);
	fputs(".*\n!.gitignore\n*.o\n!some*keep.o\n/include/**/generated\n[Mm]odule?.order\n", rules);
	fclose(rules);
}

static void make_tree(bool has_text) {
	char name[64];
	make_rules();
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof name, "subsystem-%d", i);
		bench_check(mkdir(name, 0755) == 0, "mkdir");
		for (int j = 0; j < 20; j++) {
			snprintf(name, sizeof name, "subsystem-%d/driver-%d", i, j);
			bench_check(mkdir(name, 0755) == 0, "mkdir");
			for (int k = 0; k < 25; k++) {
				snprintf(name, sizeof name, "subsystem-%d/driver-%d/part-%d", i, j, k);
				make_leaf(name, (i * 20 + j) * 25 + k, has_text);
			}
		}
	}
	bench_check(system("git init -q . >/dev/null") == 0, "git init");
}

void bigtree_make(void) {
	make_tree(false);
}

void bigtree_make_text(void) {
	make_tree(true);
}
