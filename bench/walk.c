/*
 * The walk against bare getdents64, both with two threads, on a generated tree
 * of 80,000 files in 5,000 directories, or on the tree named as the argument.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/walk.h"
#include "lib/bench.h"

static int root;

/* ---- the floor: every directory opened, listed and closed, and no more ---- */

struct pending {
	struct pending *next;
	char path[];
};

static struct pending *stack;
static unsigned busy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static atomic_size_t entries;

static void push(const char *dir, const char *name) {
	size_t len = strlen(dir) + strlen(name) + 2;
	struct pending *pending = malloc(sizeof *pending + len);
	bench_check(pending != NULL, "out of memory");
	snprintf(pending->path, len, "%s/%s", dir, name);
	pthread_mutex_lock(&lock);
	pending->next = stack;
	stack = pending;
	pthread_cond_signal(&change);
	pthread_mutex_unlock(&lock);
}

static void list(const char *path, char *buffer) {
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bench_check(fd >= 0, "openat");
	size_t count = 0;
	for (ssize_t len; (len = getdents64(fd, buffer, 65536)) > 0;) {
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *entry = (const void *)(buffer + at);
			at += entry->d_reclen;
			count++;
			if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
			    strcmp(entry->d_name, "..") != 0)
				push(path, entry->d_name);
		}
	}
	atomic_fetch_add(&entries, count);
	close(fd);
}

static void *list_all(void *data) {
	(void)data;
	char *buffer = malloc(65536);
	bench_check(buffer != NULL, "out of memory");
	pthread_mutex_lock(&lock);
	while (stack || busy > 0) {
		struct pending *pending = stack;
		if (!pending) {
			pthread_cond_wait(&change, &lock);
			continue;
		}
		stack = pending->next;
		busy++;
		pthread_mutex_unlock(&lock);
		list(pending->path, buffer);
		free(pending);
		pthread_mutex_lock(&lock);
		busy--;
	}
	pthread_cond_broadcast(&change);
	pthread_mutex_unlock(&lock);
	free(buffer);
	return NULL;
}

static void bare(void *context) {
	(void)context;
	pthread_t helper;
	push(".", ".");
	bench_check(pthread_create(&helper, NULL, list_all, NULL) == 0, "thread");
	list_all(NULL);
	pthread_join(helper, NULL);
}

/* ---- the walk ---- */

static atomic_size_t found;

static int find_agents(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	(void)data;
	(void)err;
	if (entry->type != ST_WALK_DIR && st_str_eq(entry->name, ST_STR("AGENTS.md")))
		atomic_fetch_add(&found, 1);
	return 0;
}

static int count_files(void *data, const struct st_walk_entry *entry, struct stet_error *err) {
	(void)err;
	if (entry->type != ST_WALK_DIR)
		atomic_fetch_add_explicit((atomic_size_t *)data, 1, memory_order_relaxed);
	return 0;
}

static void walk_agents(void *context) {
	(void)context;
	struct st_walk walk = {.flags = ST_WALK_IGNORED_FILES, .visit = find_agents};
	bench_check(st_walk_run(&walk, root, NULL) == 0, "walk");
}

static void walk_files(void *context) {
	struct st_walk walk = {.visit = count_files, .data = context};
	bench_check(st_walk_run(&walk, root, NULL) == 0, "walk");
}

static void walk_alone(void *context) {
	struct st_walk walk = {.threads = 1, .visit = count_files, .data = context};
	bench_check(st_walk_run(&walk, root, NULL) == 0, "walk");
}

static void command(void *context) {
	bench_check(system(context) == 0, context);
}

/* ---- the tree ---- */

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

/* As many rules as a large repository has in its top directory. */
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

static void make_tree(void) {
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

/* Other programs for the same question, those that are installed. */
static size_t add_peers(struct bench_case *cases) {
	static const struct {
		const char *name, *probe;
		char run[64];
	} peers[] = {
		{"git ls-files -co --exclude-standard", "git --version",
	     "git ls-files -co --exclude-standard >/dev/null"},
		{"rg --files", "rg --version", "rg --files --hidden -j2 >/dev/null"},
		{"fd --type f", "fdfind --version", "fdfind -H --type f -j2 . >/dev/null"},
	};
	size_t count = 0;
	for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
		char probe[64];
		snprintf(probe, sizeof probe, "%s >/dev/null 2>&1", peers[i].probe);
		if (system(probe) != 0)
			printf("(%s is not installed)\n", peers[i].name);
		else
			cases[count++] = (struct bench_case){
				.name = peers[i].name, .run = command, .context = (void *)(uintptr_t)peers[i].run};
	}
	return count;
}

int main(int argc, char **argv) {
	static atomic_size_t files;
	if (argc > 1) {
		bench_check(chdir(argv[1]) == 0, "no such tree");
	} else {
		bench_enter();
		make_tree();
	}
	root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct bench_case cases[8] = {
		{.name = "bare getdents64, 2 threads", .run = bare},
		{.name = "find all AGENTS.md, .gitignore honoured", .run = walk_agents, .target = 1.6},
		{.name = "list all files, .gitignore honoured", .run = walk_files, .context = &files},
		{.name = "the same, 1 thread", .run = walk_alone, .context = &files},
	};
	bench_run("walk", cases, 4 + add_peers(cases + 4), 11);
	close(root);
	if (argc <= 1)
		bench_leave();
}
