/*
 * st_walk_run() against bare getdents64, both with two threads, on a generated
 * tree of 80,000 files in 5,000 directories or on the tree given as argument.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/tree/walk.h"
#include "lib/bare.h"
#include "lib/bench.h"
#include "lib/bigtree.h"

static int root;

static void bare(void *context) {
	(void)context;
	bare_walk(root, NULL, NULL);
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
	struct st_walk walk = {.flags = ST_WALK_IGNORED_FILES, .on_entry = find_agents};
	bench_check(st_walk_run(&walk, root, NULL) == 0, "walk");
}

static void walk_files(void *context) {
	struct st_walk walk = {.on_entry = count_files, .data = context};
	bench_check(st_walk_run(&walk, root, NULL) == 0, "walk");
}

static void walk_alone(void *context) {
	struct st_walk walk = {.threads = 1, .on_entry = count_files, .data = context};
	bench_check(st_walk_run(&walk, root, NULL) == 0, "walk");
}

static void command(void *context) {
	bench_check(system(context) == 0, context);
}

/* Add other programs that answer the same question, if they are installed. */
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
		bigtree_make();
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
