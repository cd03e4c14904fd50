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

enum { PLACES = 4, PAIRS = PLACES * (PLACES - 1) / 2, NAMES = 10 };

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
	size_t compared, overlapping, renamed, steps;
	/* The tree of all that each place has now. */
	char trees[PLACES][65];
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

/* Change something in one place. Returns which. */
static size_t take_step(struct world *world) {
	typedef void step_fn(struct world * world, size_t place);
	static step_fn *const steps[] = {
		edit_file,   edit_file,   edit_file,       edit_file,     edit_file, edit_file,
		remove_file, move_file,   change_mode,     change_kind,   stage_all, commit_all,
		commit_all,  merge_other, rebase_on_other, switch_branch, step_back,
	};
	size_t place = gen_below(&world->gen, PLACES);
	steps[gen_below(&world->gen, sizeof steps / sizeof *steps)](world, place);
	world->steps++;
	return place;
}

/* ---- what git says ---- */

/*
 * git reads everything through a repository of our own, which borrows the objects
 * of the others and has an index for each checkout: so it hashes only what changed.
 */
static void make_oracle(struct world *world) {
	st_auto(st_buf) borrowed = ST_BUF_INIT;
	git(world->dir, ".", "init", "-q", "--bare", "oracle");
	st_buf_addf(&borrowed, "%s\n", dir_at(world->dir, "main/.git/objects"));
	st_buf_addf(&borrowed, "%s\n", dir_at(world->dir, "clone/.git/objects"));
	dir_write(world->dir, "oracle/objects/info/alternates", borrowed.ptr);
}

/* Run a shell script in the repository of our own. */
static void ask_git(struct world *world, struct st_buf *output, const char *script) {
	st_auto(st_buf) whole = ST_BUF_INIT;
	st_buf_addf(&whole, "cd oracle && set -e; %s", script);
	const int status = run(world->dir, output, (const char *[]){"sh", "-c", whole.ptr, NULL});
	if (status != 0)
		fail_msg("step %zu: status %d of %s", world->steps, status, script);
}

/* Write the tree of all that a checkout has now, without touching its index. */
static void write_tree(struct world *world, size_t place) {
	char script[600];
	st_auto(st_buf) output = ST_BUF_INIT;
	snprintf(script, sizeof script,
	         "export GIT_INDEX_FILE=\"$PWD/index-%s\" GIT_DIR=\"$PWD\"; cd '%s';"
	         " export GIT_WORK_TREE=.; git add -A 2>/dev/null; git write-tree",
	         wheres[place], dir_at(world->dir, wheres[place]));
	ask_git(world, &output, script);
	snprintf(world->trees[place], sizeof *world->trees, "%.*s", (int)(output.len - 1), output.ptr);
}

/* A pair of a forecast: its places, the commit they have in common, and which files conflict. */
struct pair {
	size_t a, b;
	const char *base;
	struct st_buf conflicts;
};

static void pair_release(struct pair *pair) {
	st_buf_release(&pair->conflicts);
}

/* Write a commit that has the tree of a place and follows the common commit. */
static void add_commit(struct world *world, size_t place, const char *base, size_t number) {
	char name[40];
	st_auto(st_buf) text = ST_BUF_INIT;
	snprintf(name, sizeof name, "oracle/commit-%zu", number);
	st_buf_addf(&text, "tree %s\nparent %s\n", world->trees[place], base);
	st_buf_adds(&text, "author a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nx\n");
	dir_write(world->dir, name, text.ptr);
}

/* Cut off what a NUL ends. */
static struct st_str next_item(struct st_str *rest) {
	const char *end = rest->len ? memchr(rest->ptr, '\0', rest->len) : NULL;
	assert_non_null(end);
	struct st_str item = st_strn(rest->ptr, (size_t)(end - rest->ptr));
	*rest = st_str_slice(*rest, item.len + 1, rest->len);
	return item;
}

/* Read "STATUS TREE NAME... " with NULs in place of the blanks, and an empty name at the end. */
static void read_conflicts(struct st_str *rest, struct pair *pair) {
	struct st_str item = next_item(rest);
	assert_true(st_str_eq(item, ST_STR("0")) || st_str_eq(item, ST_STR("1")));
	for (item = next_item(rest); item.len > 0; item = next_item(rest)) {
		st_buf_add(&pair->conflicts, item);
		st_buf_addc(&pair->conflicts, '\0');
	}
}

/* The names of files that conflict, for each pair, after the name of the merged tree. */
static void ask_conflicts(struct world *world, struct pair *pairs, size_t count) {
	st_auto(st_buf) output = ST_BUF_INIT;
	st_auto(st_buf) script = ST_BUF_INIT;
	st_buf_adds(&script, "git hash-object -t commit -w --no-filters");
	for (size_t i = 0; i < 2 * count; i++) {
		const struct pair *pair = &pairs[i / 2];
		add_commit(world, i % 2 ? pair->b : pair->a, pair->base, i);
		st_buf_addf(&script, " commit-%zu", i);
	}
	st_buf_adds(&script,
	            " | paste -d ' ' - - |"
	            " git -c merge.directoryRenames=false merge-tree --stdin --write-tree"
	            " --name-only --no-messages");
	ask_git(world, &output, script.ptr);
	struct st_str rest = st_buf_str(&output);
	for (size_t i = 0; i < count; i++)
		read_conflicts(&rest, &pairs[i]);
	assert_int_equal(rest.len, 0);
}

/*
 * Whether a list of names, each ended by NUL, contains a name; git appends ~COMMIT
 * where a directory is in its way.
 */
static bool has_name(const struct st_buf *list, const char *name) {
	size_t len = name ? strlen(name) : 0;
	for (size_t at = 0; name && at < list->len; at += strlen(list->ptr + at) + 1) {
		const char *item = list->ptr + at;
		if (strncmp(item, name, len) == 0 && (item[len] == '\0' || item[len] == '~'))
			return true;
	}
	return false;
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
static void show_renames(struct world *world, const struct pair *pair) {
	const size_t places[2] = {pair->a, pair->b};
	st_auto(st_buf) output = ST_BUF_INIT;
	for (int i = 0; i < 2; i++) {
		char script[250];
		snprintf(script, sizeof script, "git diff-tree -r -M --raw %s %s", pair->base,
		         world->trees[places[i]]);
		ask_git(world, &output, script);
		fprintf(stderr, "side %c:\n%s\n", 'a' + i, st_buf_cstr(&output));
	}
}

/* Texts whose lines repeat have several shortest differences: git merge-file has ours. */
static void check_by_merge_file(struct world *world, const struct stet_json *json, size_t number,
                                const struct pair *pair, const char *path, bool overlaps) {
	const char *const trees[3] = {pair->base, world->trees[pair->a], world->trees[pair->b]};
	st_auto(st_buf) script = ST_BUF_INIT, output = ST_BUF_INIT;
	for (int i = 0; i < 3; i++)
		st_buf_addf(&script, "git cat-file blob %s:%s 2>/dev/null >%d || exit 0; ", trees[i], path,
		            i);
	st_buf_adds(&script, "git merge-file -p -q 1 0 2 >/dev/null && echo merges || echo overlaps");
	ask_git(world, &output, script.ptr);
	if (output.len > 0 && (strcmp(output.ptr, "overlaps\n") == 0) != overlaps)
		fail_forecast(world, json, number, path, "git merge-file says something else");
}

static bool is_repeating(const char *path) {
	return path && strncmp(path, "many/", 5) == 0;
}

/* The names that a file of the forecast has on the two sides and in their base. */
struct file_names {
	const char *path, *a, *b;
};

static struct file_names names_of(const struct stet_json *json, size_t pair, size_t file) {
	return (struct file_names){
		.path = text_at(json, "/pairs/%zu/files/%zu/path", pair, file),
		.a = text_at(json, "/pairs/%zu/files/%zu/renamedInA", pair, file),
		.b = text_at(json, "/pairs/%zu/files/%zu/renamedInB", pair, file),
	};
}

static void check_file(struct world *world, const struct stet_json *json, size_t number,
                       const struct pair *pair, size_t file) {
	const struct file_names called = names_of(json, number, file);
	const char *verdict = text_at(json, "/pairs/%zu/files/%zu/verdict", number, file);
	const char *why = text_at(json, "/pairs/%zu/files/%zu/why", number, file);
	bool overlaps = strcmp(verdict, "overlaps") == 0;
	world->compared++;
	world->overlapping += overlaps;
	world->renamed += called.a || called.b;
	if (is_repeating(called.path) || is_repeating(called.a) || is_repeating(called.b)) {
		if (!called.a && !called.b && !why)
			check_by_merge_file(world, json, number, pair, called.path, overlaps);
		return;
	}
	bool conflict = has_name(&pair->conflicts, called.path) ||
	                has_name(&pair->conflicts, called.a) || has_name(&pair->conflicts, called.b);
	if (conflict == overlaps)
		return;
	show_renames(world, pair);
	fail_forecast(world, json, number, called.path,
	              conflict ? "git has a conflict" : "git has no conflict");
}

static bool is_listed(const struct stet_json *json, size_t number, const char *name) {
	char pointer[64];
	snprintf(pointer, sizeof pointer, "/pairs/%zu/files", number);
	size_t count = stet_json_count(json, pointer);
	for (size_t i = 0; i < count; i++) {
		const struct file_names called = names_of(json, number, i);
		if (strcmp(name, called.path) == 0 || (called.a && strcmp(name, called.a) == 0) ||
		    (called.b && strcmp(name, called.b) == 0))
			return true;
	}
	return false;
}

/* Every conflict of git's is in the forecast. */
static void check_complete(struct world *world, const struct stet_json *json, size_t number,
                           const struct pair *pair) {
	struct st_str rest = st_buf_str(&pair->conflicts);
	(void)next_item(&rest);
	while (rest.len > 0) {
		char name[200];
		struct st_str item = next_item(&rest);
		snprintf(name, sizeof name, "%.*s", (int)item.len, item.ptr);
		name[strcspn(name, "~")] = '\0';
		if (!*name || is_repeating(name) || is_listed(json, number, name))
			continue;
		show_renames(world, pair);
		fail_forecast(world, json, number, name, "git has a conflict that is missing here");
	}
}

/* Read which places a pair is of. */
static struct pair find_pair(const struct world *world, const struct stet_json *json,
                             size_t number) {
	char pointer[64];
	struct pair pair = {.conflicts = ST_BUF_INIT};
	snprintf(pointer, sizeof pointer, "/pairs/%zu/a", number);
	pair.a = place_of(world, json, stet_json_int(json, pointer, -1));
	snprintf(pointer, sizeof pointer, "/pairs/%zu/b", number);
	pair.b = place_of(world, json, stet_json_int(json, pointer, -1));
	snprintf(pointer, sizeof pointer, "/pairs/%zu/base", number);
	pair.base = stet_json_text(json, pointer, NULL);
	snprintf(pointer, sizeof pointer, "/pairs/%zu/verdict", number);
	if (!pair.base || strcmp(stet_json_text(json, pointer, NULL), "unknown") == 0)
		fail_forecast(world, json, number, wheres[pair.b], "this pair is not known");
	return pair;
}

/* A forecast that ran out of time says so; on a machine that is busy elsewhere that is no fault. */
static bool is_late(const char *text) {
	return strstr(text, "The time was up") || strstr(text, "git took too long");
}

static struct stet_json *ask_forecast(struct world *world) {
	enum { TRIES_MAX = 20 };
	struct stet_json *json = NULL;
	struct stet_error err = {0};
	size_t place = gen_below(&world->gen, PLACES);
	for (int tries = 0; tries < TRIES_MAX && !json; tries++) {
		char *text = NULL;
		if (stet_forecast(world->workers[place].ws, NULL, 1, &text, NULL, &err) < 0)
			fail_msg("step %zu: %s", world->steps, err.message);
		if (!is_late(text))
			assert_int_equal(stet_json_parse(text, strlen(text), 0, &json, NULL), 0);
		stet_free(text);
	}
	assert_non_null(json);
	return json;
}

static void check_forecasts(struct world *world) {
	struct pair pairs[PAIRS];
	struct stet_json *json = ask_forecast(world);
	assert_int_equal(stet_json_count(json, "/pairs"), PAIRS);
	for (size_t i = 0; i < PAIRS; i++)
		pairs[i] = find_pair(world, json, i);
	ask_conflicts(world, pairs, PAIRS);
	for (size_t i = 0; i < PAIRS; i++) {
		char pointer[64];
		snprintf(pointer, sizeof pointer, "/pairs/%zu/files", i);
		for (size_t file = 0; file < stet_json_count(json, pointer); file++)
			check_file(world, json, i, &pairs[i], file);
		check_complete(world, json, i, &pairs[i]);
		pair_release(&pairs[i]);
	}
	stet_json_free(json);
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
	make_oracle(world);
	for (size_t i = 0; i < PLACES; i++)
		write_tree(world, i);
}

static void every_forecast_is_what_git_says(void **state) {
	const char *seed = getenv("STET_SEED");
	struct world world = {.dir = *state};
	world.gen = gen_new(seed ? strtoull(seed, NULL, 10) : 22);
	make_world(&world);
	for (size_t i = 0; i < step_count(); i++) {
		write_tree(&world, take_step(&world));
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
