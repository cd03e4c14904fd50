/*
 * Three checkouts and a clone of one repository, with an agent in each, and
 * random edits, moves, commits, merges, rebases and branch switches. After each
 * step the forecast for every pair is what git says about the same bytes: `git
 * merge-tree` about which files conflict, `git merge-file` about texts whose
 * lines repeat.
 */
#include "base/json.h"
#include "lib/checkouts.h"
#include "lib/gen.h"

enum { PLACES = 4, NAMES = 10 };

static const char *const wheres[PLACES] = {"main", "one", "two", "clone"};

/* Files whose lines are all different, and in `many` those whose lines repeat. */
static const char *const names[NAMES] = {"a.txt",      "b.txt",     "c.txt",      "sub/d.txt",
                                         "sub/e.txt",  "sub/x.txt", "sub/in/y.c", "many/r.txt",
                                         "many/s.txt", "link"};

struct world {
	const struct dir *dir;
	struct gen gen;
	struct worker_at workers[PLACES];
	/* For lines and names that never repeat. */
	unsigned next;
	size_t compared, overlapping, renamed, steps, unknown;
};

static size_t step_count(void) {
	return getenv("STET_TORTURE") ? 2000 : 40;
}

/* Run git where it may refuse, such as a merge with conflicts. */
static int try_git(struct world *world, const char *where, const char *const *args) {
	const char *argv[24] = {"git", "-C", dir_at(world->dir, where)};
	st_auto(st_buf) output = ST_BUF_INIT;
	for (size_t i = 0; args[i]; i++)
		argv[i + 3] = args[i];
	return run(world->dir, &output, argv);
}

#define try(world, where, ...) try_git(world, where, (const char *const[]){__VA_ARGS__, NULL})

static const char *any_path(struct world *world, const char *where) {
	static char path[64];
	snprintf(path, sizeof path, "%s/%s", where, names[gen_below(&world->gen, NAMES - 1)]);
	return path;
}

/* ---- edits ---- */

static void add_line(struct world *world, bool many, struct st_buf *out) {
	if (many)
		st_buf_addf(out, "line %zu\n", gen_below(&world->gen, 4));
	else
		st_buf_addf(out, "a line like no other: %u\n", world->next++);
}

/* Change some of the lines of a text, drop some, add some. */
static void change_lines(struct world *world, const char *path, struct st_str old,
                         struct st_buf *out) {
	bool many = strstr(path, "many/") != NULL;
	for (size_t at = 0; at < old.len;) {
		const char *end = memchr(old.ptr + at, '\n', old.len - at);
		size_t next = end ? (size_t)(end - old.ptr) + 1 : old.len;
		if (gen_one_in(&world->gen, 30))
			add_line(world, many, out);
		if (!gen_one_in(&world->gen, 30))
			st_buf_add(out, st_str_slice(old, at, next));
		at = next;
	}
	if (out->len == 0 || gen_one_in(&world->gen, 6))
		add_line(world, many, out);
}

static void edit_file(struct world *world, size_t place) {
	const char *path = any_path(world, wheres[place]);
	st_auto(st_buf) text = ST_BUF_INIT;
	struct stat st;
	bool exists = lstat(dir_at(world->dir, path), &st) == 0 && S_ISREG(st.st_mode);
	if (!exists && lstat(dir_at(world->dir, path), &st) == 0)
		return;
	if (exists)
		change_lines(world, path, st_str(dir_read(world->dir, path)), &text);
	for (size_t i = 0; !exists && i < 12; i++)
		add_line(world, strstr(path, "many/") != NULL, &text);
	/* Half of the time by the agent, else by another program. */
	if (gen_one_in(&world->gen, 2) || !exists) {
		dir_write(world->dir, path, st_buf_cstr(&text));
		return;
	}
	char read[200];
	const char *below = path + strlen(wheres[place]) + 1;
	snprintf(read, sizeof read, "{\"path\":\"%s\"}", below);
	stet_free(worker_call(&world->workers[place], "read_file", read));
	st_auto(st_buf) args = ST_BUF_INIT;
	st_buf_addf(&args, "{\"path\":\"%s\",\"content\":", below);
	st_json_quote(&args, st_buf_str(&text));
	st_buf_adds(&args, "}");
	stet_free(worker_call(&world->workers[place], "write_file", args.ptr));
}

static void remove_file(struct world *world, size_t place) {
	(void)unlink(dir_at(world->dir, any_path(world, wheres[place])));
}

static void move_file(struct world *world, size_t place) {
	char from[64], to[64];
	struct stat st;
	snprintf(from, sizeof from, "%s", any_path(world, wheres[place]));
	snprintf(to, sizeof to, "%s", any_path(world, wheres[place]));
	if (lstat(dir_at(world->dir, to), &st) == 0)
		snprintf(to, sizeof to, "%s/moved-%u.txt", wheres[place], world->next++);
	(void)rename(dir_at(world->dir, from), dir_at(world->dir, to));
}

static void change_mode(struct world *world, size_t place) {
	struct stat st;
	char path[300];
	snprintf(path, sizeof path, "%s", dir_at(world->dir, any_path(world, wheres[place])));
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		assert_int_equal(chmod(path, st.st_mode ^ 0111), 0);
}

/* A link, or a directory with a file, in the place of a file. */
static void change_kind(struct world *world, size_t place) {
	char path[300];
	snprintf(path, sizeof path, "%s", dir_at(world->dir, any_path(world, wheres[place])));
	(void)unlink(path);
	if (gen_one_in(&world->gen, 2)) {
		int made = symlink(gen_one_in(&world->gen, 2) ? "a.txt" : "b.txt", path);
		assert_true(made == 0 || errno == EEXIST || errno == ENOENT || errno == ENOTDIR);
	} else {
		char below[64];
		snprintf(below, sizeof below, "%s/file", strstr(path, wheres[place]));
		char line[40];
		snprintf(line, sizeof line, "a line like no other: %u\n", world->next++);
		dir_write(world->dir, below, line);
	}
}

/* ---- git ---- */

static void commit_all(struct world *world, size_t place) {
	const char *where = wheres[place];
	(void)try(world, where, "add", "-A");
	(void)try(world, where, "commit", "-q", "-m", "step");
}

/* Stage some without committing them. */
static void stage_all(struct world *world, size_t place) {
	(void)try(world, wheres[place], "add", "-A");
}

/* A commit of another place, brought here if this is the clone or that is. */
static void commit_of_other(struct world *world, size_t place, char oid[65]) {
	const char *other = wheres[gen_below(&world->gen, PLACES)];
	st_auto(st_buf) output = ST_BUF_INIT;
	(void)try(world, wheres[place], "fetch", "-q", dir_at(world->dir, other), "HEAD");
	run(world->dir, &output,
	    (const char *[]){"git", "-C", dir_at(world->dir, other), "rev-parse", "HEAD", NULL});
	snprintf(oid, 65, "%.*s", (int)(output.len ? output.len - 1 : 0), st_buf_cstr(&output));
}

static void merge_other(struct world *world, size_t place) {
	char oid[65];
	commit_all(world, place);
	commit_of_other(world, place, oid);
	/* Half of the conflicts stay as they are for a while. */
	if (try(world, wheres[place], "merge", "-q", "-m", "merge", oid) != 0 &&
	    gen_one_in(&world->gen, 2))
		(void)try(world, wheres[place], "merge", "--abort");
}

static void rebase_on_other(struct world *world, size_t place) {
	char oid[65];
	commit_all(world, place);
	commit_of_other(world, place, oid);
	if (try(world, wheres[place], "rebase", "-q", oid) != 0)
		(void)try(world, wheres[place], "rebase", "--abort");
}

static void switch_branch(struct world *world, size_t place) {
	char oid[65], name[32];
	commit_all(world, place);
	commit_of_other(world, place, oid);
	snprintf(name, sizeof name, "branch-%u", world->next++);
	(void)try(world, wheres[place], "checkout", "-q", "-b", name, oid);
}

static void step_back(struct world *world, size_t place) {
	commit_all(world, place);
	(void)try(world, wheres[place], "reset", "-q", gen_one_in(&world->gen, 2) ? "--hard" : "--soft",
	          "HEAD~1");
}

static void take_step(struct world *world) {
	typedef void step_fn(struct world * world, size_t place);
	static step_fn *const steps[] = {
		edit_file,   edit_file,   edit_file,       edit_file,     edit_file, edit_file,
		remove_file, move_file,   change_mode,     change_kind,   stage_all, commit_all,
		commit_all,  merge_other, rebase_on_other, switch_branch, step_back,
	};
	size_t place = gen_below(&world->gen, PLACES);
	steps[gen_below(&world->gen, sizeof steps / sizeof *steps)](world, place);
	world->steps++;
}

/* ---- what git says ---- */

/* Run git in the main checkout, with the clone's objects too, and take a line from it. */
static int ask_git(struct world *world, struct st_buf *output, const char *const *args) {
	char objects[400], dir[400];
	const char *argv[30] = {"env",
	                        objects,
	                        "GIT_AUTHOR_NAME=a",
	                        "GIT_AUTHOR_EMAIL=a@b",
	                        "GIT_COMMITTER_NAME=a",
	                        "GIT_COMMITTER_EMAIL=a@b",
	                        "git",
	                        dir};
	snprintf(objects, sizeof objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=%s",
	         dir_at(world->dir, "clone/.git/objects"));
	snprintf(dir, sizeof dir, "--git-dir=%s", dir_at(world->dir, "main/.git"));
	for (size_t i = 0; args[i]; i++)
		argv[i + 8] = args[i];
	int status = run(world->dir, output, argv);
	while (output->len > 0 && output->ptr[output->len - 1] == '\n')
		st_buf_truncate(output, output->len - 1);
	return status;
}

#define ask(world, output, ...) ask_git(world, output, (const char *const[]){__VA_ARGS__, NULL})

/* Write the tree of all that a checkout has now, without touching its index. */
static void write_tree(struct world *world, const char *where, char oid[65]) {
	char index[400], script[3000];
	st_auto(st_buf) output = ST_BUF_INIT;
	snprintf(index, sizeof index, "%s", dir_at(world->dir, "index"));
	snprintf(script, sizeof script,
	         "cd '%s' && cp \"$(git rev-parse --git-dir)/index\" '%s' && export GIT_INDEX_FILE='%s'"
	         " && git add -A 2>/dev/null && git write-tree",
	         dir_at(world->dir, where), index, index);
	assert_int_equal(run(world->dir, &output, (const char *[]){"sh", "-c", script, NULL}), 0);
	snprintf(oid, 65, "%.*s", (int)(output.len - 1), output.ptr);
}

static void make_commit(struct world *world, const char *tree, const char *parent, char oid[65]) {
	st_auto(st_buf) output = ST_BUF_INIT;
	int status = parent ? ask(world, &output, "commit-tree", tree, "-m", "x", "-p", parent)
	                    : ask(world, &output, "commit-tree", tree, "-m", "x");
	assert_int_equal(status, 0);
	snprintf(oid, 65, "%s", output.ptr);
}

/* Whether a list of names, each ended by NUL, has one; git appends ~COMMIT where a directory is in its way. */
static bool has_name(const struct st_buf *list, const char *name) {
	size_t len = name ? strlen(name) : 0;
	for (size_t at = 0; name && at < list->len; at += strlen(list->ptr + at) + 1) {
		const char *item = list->ptr + at;
		if (strncmp(item, name, len) == 0 && (item[len] == '\0' || item[len] == '~'))
			return true;
	}
	return false;
}

/* The names of files that conflict when two trees are merged from a base. */
static void ask_conflicts(struct world *world, const char *base, const char *tree_a,
                          const char *tree_b, struct st_buf *list) {
	char first[65], a[65], b[65], tree[80];
	st_auto(st_buf) output = ST_BUF_INIT;
	snprintf(tree, sizeof tree, "%s^{tree}", base);
	assert_int_equal(ask(world, &output, "rev-parse", tree), 0);
	make_commit(world, output.ptr, NULL, first);
	make_commit(world, tree_a, first, a);
	make_commit(world, tree_b, first, b);
	int status = ask(world, list, "-c", "merge.directoryRenames=false", "merge-tree",
	                 "--write-tree", "-z", "--name-only", "--no-messages", a, b);
	assert_true(status == 0 || status == 1);
}

static bool write_blob(struct world *world, const char *tree, const char *path, const char *to) {
	char name[200];
	st_auto(st_buf) output = ST_BUF_INIT;
	snprintf(name, sizeof name, "%s:%s", tree, path);
	char objects[400], dir[400];
	snprintf(objects, sizeof objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=%s",
	         dir_at(world->dir, "clone/.git/objects"));
	snprintf(dir, sizeof dir, "--git-dir=%s", dir_at(world->dir, "main/.git"));
	bool found =
		run(world->dir, &output,
	        (const char *[]){"env", objects, "git", dir, "cat-file", "-e", name, NULL}) == 0 &&
		run(world->dir, &output,
	        (const char *[]){"env", objects, "git", dir, "cat-file", "blob", name, NULL}) == 0;
	dir_write_bytes(world->dir, to, st_buf_cstr(&output), output.len);
	return found;
}

/* ---- comparing ---- */

static const char *text_at(const struct stet_json *json, const char *format, size_t pair,
                           size_t file) {
	char pointer[100];
	snprintf(pointer, sizeof pointer, format, pair, file);
	return stet_json_text(json, pointer, NULL);
}

static size_t place_of(const struct world *world, const struct stet_json *json, int64_t id) {
	for (size_t i = 0; i < stet_json_count(json, "/places"); i++) {
		char pointer[64];
		snprintf(pointer, sizeof pointer, "/places/%zu/id", i);
		if (stet_json_int(json, pointer, -1) != id)
			continue;
		snprintf(pointer, sizeof pointer, "/places/%zu/path", i);
		for (size_t place = 0; place < PLACES; place++) {
			if (strcmp(stet_json_text(json, pointer, NULL), dir_at(world->dir, wheres[place])) == 0)
				return place;
		}
	}
	fail_msg("there is no place %lld", (long long)id);
	return 0;
}

static void fail_forecast(const struct world *world, const struct stet_json *json, size_t pair,
                          const char *path, const char *why) {
	char pointer[64];
	snprintf(pointer, sizeof pointer, "/pairs/%zu", pair);
	char *text = stet_json_write_at(json, pointer, 0, NULL);
	fprintf(stderr, "step %zu, %s: %s\n%s\n", world->steps, path, why, text);
	stet_free(text);
	fail();
}

/* Print what git takes for renamed on both sides. */
static void show_renames(struct world *world, char trees[3][65]) {
	st_auto(st_buf) output = ST_BUF_INIT;
	for (int i = 1; i < 3; i++) {
		ask(world, &output, "diff-tree", "-r", "-M", "--name-status", trees[0], trees[i]);
		fprintf(stderr, "side %c:\n%s\n", 'a' + i - 1, st_buf_cstr(&output));
	}
}

/* Texts whose lines repeat have several shortest differences: git merge-file has ours. */
static void check_by_merge_file(struct world *world, const struct stet_json *json, size_t pair,
                                const char *path, bool overlaps, char trees[3][65]) {
	static const char *const files[3] = {"m.base", "m.a", "m.b"};
	st_auto(st_buf) output = ST_BUF_INIT;
	for (int i = 0; i < 3; i++) {
		if (!write_blob(world, trees[i], path, files[i]))
			return;
	}
	int status =
		run(world->dir, &output,
	        (const char *[]){"git", "merge-file", "-p", "-q", "m.a", "m.base", "m.b", NULL});
	if ((status != 0) != overlaps)
		fail_forecast(world, json, pair, path, "git merge-file says something else");
}

static bool is_repeating(const char *path) {
	return path && strncmp(path, "many/", 5) == 0;
}

static void check_file(struct world *world, const struct stet_json *json, size_t pair, size_t file,
                       const struct st_buf *conflicts, char trees[3][65]) {
	const char *path = text_at(json, "/pairs/%zu/files/%zu/path", pair, file);
	const char *a = text_at(json, "/pairs/%zu/files/%zu/renamedInA", pair, file);
	const char *b = text_at(json, "/pairs/%zu/files/%zu/renamedInB", pair, file);
	const char *verdict = text_at(json, "/pairs/%zu/files/%zu/verdict", pair, file);
	const char *why = text_at(json, "/pairs/%zu/files/%zu/why", pair, file);
	bool overlaps = strcmp(verdict, "overlaps") == 0;
	world->compared++;
	world->overlapping += overlaps;
	world->renamed += a || b;
	if (is_repeating(path) || is_repeating(a) || is_repeating(b)) {
		if (!a && !b && !why)
			check_by_merge_file(world, json, pair, path, overlaps, trees);
		return;
	}
	bool conflict = has_name(conflicts, path) || has_name(conflicts, a) || has_name(conflicts, b);
	if (conflict != overlaps)
		show_renames(world, trees);
	if (conflict != overlaps)
		fail_forecast(world, json, pair, path,
		              conflict ? "git has a conflict" : "git has no conflict");
}

/* Every conflict of git's is in the forecast. */
static void check_complete(struct world *world, const struct stet_json *json, size_t pair,
                           const struct st_buf *conflicts, char trees[3][65]) {
	char pointer[64];
	snprintf(pointer, sizeof pointer, "/pairs/%zu/files", pair);
	size_t count = stet_json_count(json, pointer);
	for (size_t at = strlen(conflicts->ptr) + 1; at < conflicts->len;
	     at += strlen(conflicts->ptr + at) + 1) {
		char name[200];
		bool found = false;
		snprintf(name, sizeof name, "%s", conflicts->ptr + at);
		name[strcspn(name, "~")] = '\0';
		for (size_t i = 0; i < count && !found && *name; i++) {
			const char *path = text_at(json, "/pairs/%zu/files/%zu/path", pair, i);
			const char *a = text_at(json, "/pairs/%zu/files/%zu/renamedInA", pair, i);
			const char *b = text_at(json, "/pairs/%zu/files/%zu/renamedInB", pair, i);
			found = strcmp(name, path) == 0 || (a && strcmp(name, a) == 0) ||
			        (b && strcmp(name, b) == 0);
		}
		if (!found && *name && !is_repeating(name))
			show_renames(world, trees);
		if (!found && *name && !is_repeating(name))
			fail_forecast(world, json, pair, name, "git has a conflict that is missing here");
	}
}

static void check_pair(struct world *world, const struct stet_json *json, size_t pair,
                       char trees[PLACES][65]) {
	char pointer[64], three[3][65];
	st_auto(st_buf) conflicts = ST_BUF_INIT;
	snprintf(pointer, sizeof pointer, "/pairs/%zu/a", pair);
	size_t a = place_of(world, json, stet_json_int(json, pointer, -1));
	snprintf(pointer, sizeof pointer, "/pairs/%zu/b", pair);
	size_t b = place_of(world, json, stet_json_int(json, pointer, -1));
	snprintf(pointer, sizeof pointer, "/pairs/%zu/base", pair);
	const char *base = stet_json_text(json, pointer, NULL);
	snprintf(pointer, sizeof pointer, "/pairs/%zu/verdict", pair);
	if (!base || strcmp(stet_json_text(json, pointer, NULL), "unknown") == 0)
		fail_forecast(world, json, pair, wheres[b], "this pair is not known");
	snprintf(three[0], sizeof three[0], "%.64s", base);
	snprintf(three[1], sizeof three[1], "%.64s", trees[a]);
	snprintf(three[2], sizeof three[2], "%.64s", trees[b]);
	ask_conflicts(world, base, trees[a], trees[b], &conflicts);
	snprintf(pointer, sizeof pointer, "/pairs/%zu/files", pair);
	for (size_t i = 0; i < stet_json_count(json, pointer); i++)
		check_file(world, json, pair, i, &conflicts, three);
	check_complete(world, json, pair, &conflicts, three);
}

static void check_forecasts(struct world *world) {
	char trees[PLACES][65], *text = NULL;
	struct stet_json *json = NULL;
	struct stet_error err = {0};
	size_t place = gen_below(&world->gen, PLACES);
	for (size_t i = 0; i < PLACES; i++)
		write_tree(world, wheres[i], trees[i]);
	if (stet_forecast(world->workers[place].ws, NULL, 1, &text, NULL, &err) < 0)
		fail_msg("step %zu: %s", world->steps, err.message);
	assert_int_equal(stet_json_parse(text, strlen(text), 0, &json, NULL), 0);
	assert_int_equal(stet_json_count(json, "/pairs"), PLACES * (PLACES - 1) / 2);
	for (size_t i = 0; i < stet_json_count(json, "/pairs"); i++)
		check_pair(world, json, i, trees);
	stet_json_free(json);
	stet_free(text);
}

/* ---- the world ---- */

static void make_world(struct world *world) {
	const struct dir *dir = world->dir;
	use_own_state(dir);
	make_repository(dir);
	for (size_t i = 0; i < NAMES - 1; i++) {
		char path[64];
		st_auto(st_buf) text = ST_BUF_INIT;
		snprintf(path, sizeof path, "main/%s", names[i]);
		for (int line = 0; line < 20; line++)
			add_line(world, is_repeating(names[i]), &text);
		dir_write(dir, path, text.ptr);
	}
	git(dir, "main", "add", "-A");
	git(dir, "main", "commit", "-q", "-m", "files");
	git(dir, "main", "worktree", "add", "-q", "-b", "one", "../one");
	git(dir, "main", "worktree", "add", "-q", "-b", "two", "../two");
	git(dir, ".", "clone", "-q", "main", "clone");
	git(dir, "clone", "config", "user.email", "test@example.com");
	git(dir, "clone", "config", "user.name", "Test");
	for (size_t i = 0; i < PLACES; i++) {
		world->workers[i] = worker_open(dir, wheres[i], wheres[i]);
		char args[100];
		snprintf(args, sizeof args, "{\"path\":\"begun-%s\",\"content\":\"x\\n\"}", wheres[i]);
		stet_free(worker_call(&world->workers[i], "write_file", args));
	}
}

static void every_forecast_is_what_git_says(void **state) {
	const char *seed = getenv("STET_SEED");
	struct world world = {.dir = *state};
	world.gen = gen_new(seed ? strtoull(seed, NULL, 10) : 22);
	make_world(&world);
	for (size_t i = 0; i < step_count(); i++) {
		take_step(&world);
		check_forecasts(&world);
	}
	print_message("# %zu steps, %zu files compared, %zu overlap, %zu renamed\n", world.steps,
	              world.compared, world.overlapping, world.renamed);
	assert_true(world.compared > world.overlapping && world.overlapping > 0);
	for (size_t i = 0; i < PLACES; i++)
		worker_close(&world.workers[i]);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(every_forecast_is_what_git_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
