#include "lib/bigtree.h"

#include <fcntl.h>
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

static void make_leaf(const char *dir, int number) {
	static const char *const endings[] = {"c", "h", "c", "o", "md", "c", "S", "txt"};
	char name[128];
	bench_check(mkdir(dir, 0755) == 0, "mkdir");
	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof name, "%s/some-source-file-%d.%s", dir, i, endings[i % 8]);
		put(name, "");
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

void bigtree_make(void) {
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
				make_leaf(name, (i * 20 + j) * 25 + k);
			}
		}
	}
	bench_check(system("git init -q . >/dev/null") == 0, "git init");
}
