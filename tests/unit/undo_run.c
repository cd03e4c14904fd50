/* Undo and redo of a run of writes, against a model on plain strings; the tools undo and history. */
#include "lib/gen.h"
#include "lib/run.h"
#include "lib/tools.h"
#include "stet/workspace.h"
#include "tools/state/run_args.h"

/* ---- the model ---- */

/*
 * A file has a fixed number of lines, each with its own number in it, so that
 * a line never equals one at another place: a merge can be told line by line.
 */
enum { LINES = 12, FILES = 50, WRITES = 200, SESSIONS = 3, TEXT = LINES * 16, LOG_MAX = 1000 };

static const char *const names[] = {"ann", "bob", "cy"};

struct text {
	bool exists;
	int values[LINES];
};

struct entry {
	/* Of names; -1 for a write past stet. */
	int session;
	int file;
	struct text before, after;
	bool undone;
};

struct model {
	struct text files[FILES];
	struct entry log[LOG_MAX];
	size_t count;
	int next_value;
	/* Of the last undo: which files were left, and which changed. */
	bool left[FILES];
	bool changed[FILES];
};

static bool same_text(const struct text *one, const struct text *two) {
	return one->exists == two->exists &&
	       (!one->exists || memcmp(one->values, two->values, sizeof one->values) == 0);
}

static void print_text(const struct text *text, char out[TEXT]) {
	size_t used = 0;
	for (int i = 0; i < LINES; i++)
		used += (size_t)snprintf(out + used, TEXT - used, "line %d: %d\n", i, text->values[i]);
}

static const char *name_of(int file) {
	static char name[16];
	snprintf(name, sizeof name, "f%02d.txt", file);
	return name;
}

/* One stretch of touching changes: both sides alike, or changed on one side alone. */
static bool merge_stretch(const struct text *base, const struct text *mine,
                          const struct text *theirs, int first, int end, struct text *out) {
	bool by_me = false, by_them = false, alike = true;
	for (int i = first; i < end; i++) {
		by_me |= mine->values[i] != base->values[i];
		by_them |= theirs->values[i] != base->values[i];
		alike &= mine->values[i] == theirs->values[i];
	}
	if (by_me && by_them && !alike)
		return false;
	for (int i = first; i < end; i++)
		out->values[i] = by_me ? mine->values[i] : theirs->values[i];
	return true;
}

static bool merge_texts(const struct text *base, const struct text *mine, const struct text *theirs,
                        struct text *out) {
	*out = *theirs;
	for (int i = 0; i < LINES;) {
		int end = i;
		while (end < LINES &&
		       (mine->values[end] != base->values[end] || theirs->values[end] != base->values[end]))
			end++;
		if (end > i && !merge_stretch(base, mine, theirs, i, end, out))
			return false;
		i = end + 1;
	}
	return true;
}

/* False if the file has to be left as it is. */
static bool take_step(const struct text *before, const struct text *after, struct text *now) {
	struct text merged;
	if (same_text(now, after)) {
		*now = *before;
		return true;
	}
	if (same_text(now, before))
		return true;
	if (!now->exists || !before->exists || !after->exists ||
	    !merge_texts(after, before, now, &merged))
		return false;
	*now = merged;
	return true;
}

/* The chosen entries of one file, the newest step first. */
static bool take_back_file(struct entry *const *chosen, size_t count, struct text *now) {
	for (size_t end = count; end > 0;) {
		size_t first = end - 1;
		while (first > 0 && same_text(&chosen[first]->before, &chosen[first - 1]->after))
			first--;
		if (!take_step(&chosen[first]->before, &chosen[end - 1]->after, now))
			return false;
		end = first;
	}
	return true;
}

/* The files after the chosen entries are taken back; an undo has entries of its own. */
static void model_take_back(struct model *model, bool (*is_chosen)(const struct entry *entry)) {
	size_t count = model->count;
	for (int file = 0; file < FILES; file++) {
		struct entry *chosen[LOG_MAX];
		size_t chosen_count = 0;
		for (size_t i = 0; i < count; i++) {
			if (model->log[i].file == file && is_chosen(&model->log[i]))
				chosen[chosen_count++] = &model->log[i];
		}
		struct text now = model->files[file];
		model->left[file] = !take_back_file(chosen, chosen_count, &now);
		model->changed[file] = !model->left[file] && !same_text(&now, &model->files[file]);
		if (!model->changed[file])
			continue;
		assert_true(model->count < LOG_MAX);
		model->log[model->count++] = (struct entry){
			.session = SESSIONS, .file = file, .before = model->files[file], .after = now};
		for (size_t i = 0; i < chosen_count; i++)
			chosen[i]->undone = true;
		model->files[file] = now;
	}
}

static bool is_of_bob(const struct entry *entry) {
	return entry->session == 1 && !entry->undone;
}

static bool is_an_undo(const struct entry *entry) {
	return entry->session == SESSIONS;
}

/* ---- the same to real files ---- */

static void write_through_stet(struct host *host, int file, const struct text *text) {
	char bytes[TEXT];
	print_text(text, bytes);
	if (dir_has(host->dir, name_of(file)))
		call(host, "read_file", "{'path': '%s'}", name_of(file));
	/* stet tells a session once that a file which it saw is gone. */
	if (text->exists && try_call(host, "write_file", "{'path': '%s', 'content': %s}", name_of(file),
	                             quoted(st_str(bytes))) < 0)
		call(host, "write_file", "{'path': '%s', 'content': %s}", name_of(file),
		     quoted(st_str(bytes)));
	if (!text->exists)
		call(host, "delete_file", "{'path': '%s'}", name_of(file));
}

static void write_past_stet(struct host *host, int file, const struct text *text) {
	char bytes[TEXT];
	print_text(text, bytes);
	if (text->exists)
		dir_write(host->dir, name_of(file), bytes);
	else
		assert_int_equal(unlinkat(host->dir->fd, name_of(file), 0), 0);
}

static struct text random_change(struct gen *gen, struct model *model, int file) {
	struct text text = model->files[file];
	if (text.exists && gen_one_in(gen, 15))
		return (struct text){0};
	size_t changes = text.exists ? 1 + gen_below(gen, 2) : LINES;
	for (size_t i = 0; i < changes; i++)
		text.values[text.exists ? gen_below(gen, LINES) : i] = model->next_value++;
	text.exists = true;
	return text;
}

static void random_write(struct gen *gen, struct host *host, struct stet_session **sessions,
                         struct model *model, bool foreign) {
	int file = (int)gen_below(gen, FILES);
	struct entry entry = {.file = file, .before = model->files[file]};
	entry.session = foreign ? -1 : (int)gen_below(gen, SESSIONS);
	entry.after = random_change(gen, model, file);
	if (foreign) {
		write_past_stet(host, file, &entry.after);
	} else {
		host->session = sessions[entry.session];
		write_through_stet(host, file, &entry.after);
	}
	model->files[file] = entry.after;
	assert_true(model->count < LOG_MAX);
	model->log[model->count++] = entry;
}

static void expect_model(struct host *host, const struct model *model) {
	for (int file = 0; file < FILES; file++) {
		char bytes[TEXT];
		print_text(&model->files[file], bytes);
		assert_int_equal(dir_has(host->dir, name_of(file)), model->files[file].exists);
		if (model->files[file].exists)
			assert_string_equal(dir_read(host->dir, name_of(file)), bytes);
	}
}

/* The answer names exactly the files that the model leaves and changes. */
static void expect_outcomes(const struct model *model, int code) {
	size_t left = 0, changed = 0;
	for (int file = 0; file < FILES; file++) {
		left += model->left[file];
		changed += model->changed[file];
	}
	if (code != STET_E_NOT_FOUND) {
		assert_int_equal(code, left > 0 ? STET_E_CONFLICT : 0);
		expect_int("left", (int64_t)left);
		expect_int("takenBack", (int64_t)changed);
	}
	size_t n, max, named = 0;
	yyjson_val *item;
	yyjson_arr_foreach(look("files"), n, max, item) {
		long file = strtol(yyjson_get_str(yyjson_obj_get(item, "path")) + 1, NULL, 10);
		bool is_left = yyjson_obj_get(item, "reason") != NULL;
		assert_int_equal(is_left, model->left[file]);
		named += is_left;
	}
	if (code != STET_E_NOT_FOUND)
		assert_int_equal(named, left);
}

static void run_round(struct host *host, uint64_t seed) {
	struct gen gen = gen_new(seed);
	struct stet_session *own = host->session, *sessions[SESSIONS];
	struct model *model = calloc(1, sizeof *model);
	assert_non_null(model);
	/* Rounds share a log, so each has its own names. */
	char bob[32];
	for (int i = 0; i < SESSIONS; i++) {
		char name[32];
		snprintf(name, sizeof name, "%s-%llu", names[i], (unsigned long long)seed);
		sessions[i] = host_session(host, name);
	}
	snprintf(bob, sizeof bob, "%s-%llu", names[1], (unsigned long long)seed);
	for (int i = 0; i < WRITES; i++)
		random_write(&gen, host, sessions, model, gen_one_in(&gen, 5));
	expect_model(host, model);

	/* The preview changes nothing, and promises what happens then. */
	host->session = own;
	call(host, "undo", "{'of': '%s', 'dryRun': true}", bob);
	expect_model(host, model);
	struct text *before = calloc(FILES, sizeof *before);
	assert_non_null(before);
	memcpy(before, model->files, sizeof model->files);
	model_take_back(model, is_of_bob);
	expect_outcomes(model, try_call(host, "undo", "{'of': '%s'}", bob));
	expect_model(host, model);

	/* Half of the time others go on before the redo. */
	if (gen_one_in(&gen, 2)) {
		for (int i = 0; i < 30; i++)
			random_write(&gen, host, sessions, model, gen_one_in(&gen, 2));
		host->session = own;
		model_take_back(model, is_an_undo);
		expect_outcomes(model, try_call(host, "undo", "{'redo': true}"));
	} else {
		call(host, "undo", "{'redo': true}");
		memcpy(model->files, before, sizeof model->files);
	}
	expect_model(host, model);
	host->session = own;
	for (int i = 0; i < SESSIONS; i++)
		stet_session_close(sessions[i]);
	free(before);
	free(model);
}

static void what_is_left_of_random_runs_equals_the_model(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_DURABLE, 0, NULL), 0);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_PAGE_BYTES, 1 << 20, NULL), 0);
	size_t rounds = gen_rounds(3, 200);
	for (size_t i = 0; i < rounds; i++) {
		run_round(host, gen_seed() + i);
		/* The next round begins without files. */
		for (int file = 0; file < FILES; file++)
			(void)unlinkat(host->dir->fd, name_of(file), 0);
	}
}

/* ---- the tools ---- */

/* No preview is asked for. */
static void trust(struct host *host) {
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_HASH_PROVES, 1, NULL), 0);
}

/* A call by another session. */
__attribute__((format(printf, 4, 5))) static void call_as(struct host *host, const char *name,
                                                          const char *tool, const char *args, ...) {
	struct stet_session *own = host->session;
	char text[500];
	va_list list;
	va_start(list, args);
	vsnprintf(text, sizeof text, args, list);
	va_end(list);
	host->session = host_session(host, name);
	call(host, tool, "%s", text);
	stet_session_close(host->session);
	host->session = own;
}

static void write_as(struct host *host, const char *name, const char *path, const char *text) {
	call_as(host, name, "write_file", "{'path': '%s', 'content': '%s'}", path, text);
}

static void edit_as(struct host *host, const char *name, const char *path, const char *old,
                    const char *new) {
	call_as(host, name, "read_file", "{'path': '%s'}", path);
	call_as(host, name, "edit_file", "{'path': '%s', 'oldText': '%s', 'newText': '%s'}", path, old,
	        new);
}

static void a_created_file_is_deleted_and_a_deleted_one_comes_back(void **state) {
	struct host *host = *state;
	trust(host);
	dir_write(host->dir, "old.txt", "old\n");
	write_as(host, "bob", "new.txt", "new\\n");
	call_as(host, "bob", "read_file", "{'path': 'old.txt'}");
	call_as(host, "bob", "delete_file", "{'path': 'old.txt'}");
	call(host, "undo", "{'of': 'bob'}");
	expect_text("\"new.txt\" was deleted: it had been created.");
	expect_text("\"old.txt\" is there again: it had been deleted.");
	assert_false(dir_has(host->dir, "new.txt"));
	expect_file(host, "old.txt", "old\n");
	refuse(host, STET_E_NOT_FOUND, "undo", "{'of': 'bob'}");
	call(host, "undo", "{'of': 'bob', 'redo': true}");
	expect_file(host, "new.txt", "new\n");
	assert_false(dir_has(host->dir, "old.txt"));
	call(host, "undo", "{'of': 'bob'}");
	assert_false(dir_has(host->dir, "new.txt"));
	expect_file(host, "old.txt", "old\n");
}

/* bob deletes a/ with a/b/x.txt and a/y.txt in it. */
static void delete_tree(struct host *host) {
	trust(host);
	dir_write(host->dir, "a/b/x.txt", "x\n");
	dir_write(host->dir, "a/y.txt", "y\n");
	call_as(host, "bob", "read_file", "{'path': 'a/b/x.txt'}");
	call_as(host, "bob", "read_file", "{'path': 'a/y.txt'}");
	call_as(host, "bob", "delete_file", "{'path': 'a', 'recursive': true}");
	assert_false(dir_has(host->dir, "a"));
}

static void deleted_directories_come_back_with_their_files(void **state) {
	struct host *host = *state;
	delete_tree(host);
	call(host, "undo", "{'of': 'bob', 'dryRun': true}");
	assert_false(dir_has(host->dir, "a"));
	call(host, "undo", "{'of': 'bob'}");
	expect_file(host, "a/b/x.txt", "x\n");
	expect_file(host, "a/y.txt", "y\n");
	call(host, "undo", "{'of': 'bob', 'redo': true}");
	assert_false(dir_has(host->dir, "a/b/x.txt"));
	assert_int_equal(run(host->dir, NULL, (const char *[]){"rm", "-r", "a", NULL}), 0);
	call(host, "undo", "{'of': 'bob'}");
	expect_file(host, "a/b/x.txt", "x\n");
}

static bool is_executable(const struct host *host, const char *name) {
	struct stat st;
	assert_int_equal(fstatat(host->dir->fd, name, &st, 0), 0);
	return st.st_mode & S_IXUSR;
}

static void an_executable_comes_back_executable(void **state) {
	struct host *host = *state;
	static const char move[] =
		"{'patch': '*** Begin Patch\\n*** Update File: run.sh\\n*** Move to: "
		"go.sh\\n@@\\n-one\\n+two\\n*** End Patch'}";
	trust(host);
	dir_write(host->dir, "run.sh", "one\n");
	dir_write(host->dir, "plain", "text\n");
	assert_int_equal(fchmodat(host->dir->fd, "run.sh", 0755, 0), 0);
	call_as(host, "bob", "read_file", "{'path': 'run.sh'}");
	call_as(host, "bob", "read_file", "{'path': 'plain'}");
	call_as(host, "bob", "delete_file", "{'path': 'run.sh'}");
	call_as(host, "bob", "delete_file", "{'path': 'plain'}");
	call_as(host, "bob", "undo", "{'path': 'run.sh'}");
	call_as(host, "bob", "undo", "{'path': 'plain'}");
	assert_true(is_executable(host, "run.sh"));
	assert_false(is_executable(host, "plain"));
	/* As part of a change set, which undo takes back file by file; and what undo removed, by redo. */
	call_as(host, "bob", "apply_patch", move);
	call_as(host, "bob", "undo", "{'of': 'bob'}");
	assert_true(is_executable(host, "run.sh"));
	assert_false(dir_has(host->dir, "go.sh"));
	call_as(host, "bob", "undo", "{'of': 'bob', 'redo': true}");
	assert_true(is_executable(host, "go.sh"));
	assert_false(dir_has(host->dir, "run.sh"));
}

static void one_file_comes_back_with_its_directory(void **state) {
	struct host *host = *state;
	delete_tree(host);
	call(host, "undo", "{'path': 'a/b/x.txt'}");
	expect_file(host, "a/b/x.txt", "x\n");
	assert_false(dir_has(host->dir, "a/y.txt"));
	refuse(host, STET_E_NOT_FOUND, "undo", "{'path': 'nope/x.txt'}");
	assert_false(dir_has(host->dir, "nope"));
}

/* A file or link in the place of a directory stays, and nothing is written behind a link. */
static void directories_replaced_by_others_are_left(void **state) {
	struct host *host = *state;
	delete_tree(host);
	dir_write(host->dir, "a", "a file now\n");
	refuse(host, STET_E_NOT_FOUND, "undo", "{'of': 'bob'}");
	expect_str("files.0.outcome", "impossible");
	expect_none("files.0.fileHash");
	expect_file(host, "a", "a file now\n");
	assert_int_equal(unlinkat(host->dir->fd, "a", 0), 0);
	dir_write(host->dir, "other/z.txt", "z\n");
	assert_int_equal(symlink("other", dir_at(host->dir, "a")), 0);
	refuse(host, STET_E_NOT_FOUND, "undo", "{'of': 'bob'}");
	expect_part("message", "link");
	assert_false(dir_has(host->dir, "other/b"));
	assert_false(dir_has(host->dir, "other/y.txt"));
	/* What was left can be taken back later. */
	assert_int_equal(unlinkat(host->dir->fd, "a", 0), 0);
	call(host, "undo", "{'of': 'bob'}");
	expect_file(host, "a/b/x.txt", "x\n");
	expect_file(host, "a/y.txt", "y\n");
}

/* A session that did not make the writes is shown first what would go. */
static void writes_of_others_are_shown_before_they_are_undone(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\n3\n");
	edit_as(host, "bob", "a.txt", "2", "two");
	refuse(host, STET_E_CONFLICT, "undo", "{'of': 'bob'}");
	expect_str("reason", "unseen");
	expect_text("-two\n+2\n");
	expect_file(host, "a.txt", "1\ntwo\n3\n");
	/* Another write is another run. */
	edit_as(host, "bob", "a.txt", "3", "three");
	refuse(host, STET_E_CONFLICT, "undo", "{'of': 'bob'}");
	call(host, "undo", "{'of': 'bob'}");
	expect_file(host, "a.txt", "1\n2\n3\n");
	/* The restored text was not sent. */
	refuse(host, STET_E_CONFLICT, "write_file", "{'path': 'a.txt', 'content': 'mine'}");
}

/* In the log it has the same name as others of its program, or of a process with its number. */
static void a_session_without_a_name_knows_its_own_writes_alone(void **state) {
	struct host *host = *state;
	static const char edit[] = "{'path': 'a.txt', 'oldText': '2', 'newText': 'two'}";
	dir_write(host->dir, "a.txt", "1\n2\n3\n");
	call(host, "edit_file", edit);
	call(host, "undo", "{'since': '1h'}");
	expect_file(host, "a.txt", "1\n2\n3\n");
	call_as(host, NULL, "edit_file", edit);
	refuse(host, STET_E_CONFLICT, "undo", "{'since': '1h'}");
	expect_text("-two\n+2\n");
	expect_file(host, "a.txt", "1\ntwo\n3\n");
	call(host, "undo", "{'since': '1h'}");
	expect_file(host, "a.txt", "1\n2\n3\n");
}

static void a_file_that_others_deleted_has_nothing_to_undo(void **state) {
	struct host *host = *state;
	call(host, "write_file", "{'path': 'a.txt', 'content': '1\\n'}");
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': '1', 'newText': 'one'}");
	assert_int_equal(unlinkat(host->dir->fd, "a.txt", 0), 0);
	refuse(host, STET_E_CONFLICT, "undo", "{'path': 'a.txt'}");
	expect_text("was deleted since you last read it. There is nothing left to undo.");
}

static void what_an_undo_showed_may_be_taken_away_by_its_redo(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	dir_write(host->dir, "a.txt", "1\n2\n3\n");
	call(host, "edit_file", "{'path': 'a.txt', 'oldText': '2', 'newText': 'two'}");
	call(host, "undo", "{'path': 'a.txt'}");
	expect_text("-two\n+2\n");
	call(host, "undo", "{'redo': true}");
	expect_file(host, "a.txt", "1\ntwo\n3\n");
	/* A diff that was cut does not show all of it. */
	for (int i = 0; i < 4000; i++)
		st_buf_addf(&text, "word %d\n", i);
	dir_write(host->dir, "a.txt", st_buf_cstr(&text));
	call(host, "edit_file",
	     "{'path': 'a.txt', 'oldText': 'word', 'newText': 'W', 'replaceAll': true}");
	call(host, "undo", "{'path': 'a.txt'}");
	expect_text("diff cut here");
	refuse(host, STET_E_CONFLICT, "undo", "{'redo': true}");
}

/* Have bob create a file of so many lines of 100 bytes. */
static void create_long(struct host *host, const char *path, size_t lines) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (size_t i = 0; i < lines; i++)
		st_buf_addf(&text, "%099zu\n", i);
	dir_write(host->dir, "long.txt", st_buf_cstr(&text));
	call_as(host, "bob", "copy_file", "{'source': 'long.txt', 'destination': '%s'}", path);
}

static void a_preview_that_was_cut_does_not_count(void **state) {
	struct host *host = *state;
	create_long(host, "a.txt", 400);
	for (int i = 0; i < 2; i++) {
		refuse(host, STET_E_CONFLICT, "undo", "{'of': 'bob'}");
		expect_text("Read the file first.");
	}
	call(host, "undo", "{'of': 'bob', 'dryRun': true}");
	refuse(host, STET_E_CONFLICT, "undo", "{'of': 'bob'}");
	/* Once all of it was sent, the same call is a question asked once. */
	for (int line = 1; line <= 400; line += 100)
		call(host, "read_file", "{'path': 'a.txt', 'offset': %d, 'limit': 100}", line);
	refuse(host, STET_E_CONFLICT, "undo", "{'of': 'bob'}");
	expect_text("make the same call again");
	call(host, "undo", "{'of': 'bob'}");
	assert_false(dir_has(host->dir, "a.txt"));
}

static void read_long(struct host *host, const char *name) {
	for (int line = 1; line <= 400; line += 100)
		call_as(host, name, "read_file", "{'path': 'a.txt', 'offset': %d, 'limit': 100}", line);
}

/* An undo that brings back a long file sends a part of it alone. */
static void a_redo_does_not_take_away_what_was_not_sent(void **state) {
	struct host *host = *state;
	create_long(host, "a.txt", 400);
	read_long(host, "bob");
	call_as(host, "bob", "delete_file", "{'path': 'a.txt'}");
	call(host, "undo", "{'path': 'a.txt'}");
	for (int i = 0; i < 2; i++) {
		refuse(host, STET_E_CONFLICT, "undo", "{'path': 'a.txt', 'redo': true}");
		expect_text("Not all that would go was sent to you");
		expect_text("Read the file first.");
		assert_true(dir_has(host->dir, "a.txt"));
	}
	for (int line = 1; line <= 400; line += 100)
		call(host, "read_file", "{'path': 'a.txt', 'offset': %d, 'limit': 100}", line);
	call(host, "undo", "{'path': 'a.txt', 'redo': true}");
	assert_false(dir_has(host->dir, "a.txt"));
}

static void a_preview_without_all_files_does_not_count(void **state) {
	struct host *host = *state;
	create_long(host, "a.txt", 150);
	create_long(host, "b.txt", 150);
	for (int i = 0; i < 2; i++) {
		refuse(host, STET_E_CONFLICT, "undo", "{'of': 'bob'}");
		expect_text("add \"path\"");
	}
	for (int i = 0; i < 2; i++) {
		const char *path = i == 0 ? "a.txt" : "b.txt";
		refuse(host, STET_E_CONFLICT, "undo", "{'of': 'bob', 'path': '%s'}", path);
		call(host, "undo", "{'of': 'bob', 'path': '%s'}", path);
		assert_false(dir_has(host->dir, path));
	}
}

static void others_changes_stay(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\n3\n4\n5\n6\n7\n");
	edit_as(host, "bob", "a.txt", "2", "two");
	edit_as(host, "ann", "a.txt", "4", "four");
	edit_as(host, "bob", "a.txt", "6", "six");
	dir_write(host->dir, "a.txt", "1\ntwo\n3\nfour\n5\nsix\n7\n8\n");
	call(host, "undo", "{'of': 'bob', 'dryRun': true}");
	expect_true("dryRun");
	expect_text("-two\n+2\n");
	expect_file(host, "a.txt", "1\ntwo\n3\nfour\n5\nsix\n7\n8\n");
	call(host, "undo", "{'of': 'bob'}");
	expect_str("files.0.outcome", "merged");
	expect_file(host, "a.txt", "1\n2\n3\nfour\n5\n6\n7\n8\n");
}

static void what_overlaps_is_named_and_left(void **state) {
	struct host *host = *state;
	trust(host);
	dir_write(host->dir, "a.txt", "1\n2\n3\n");
	dir_write(host->dir, "b.txt", "1\n");
	edit_as(host, "bob", "a.txt", "2", "two");
	edit_as(host, "bob", "b.txt", "1", "one");
	dir_write(host->dir, "a.txt", "1\nTWO\n3\n");
	refuse(host, STET_E_CONFLICT, "undo", "{'of': 'bob'}");
	expect_part("message", "1 of 2 files was taken back");
	expect_part("message", "\"a.txt\" (others changed line 2 of it since)");
	expect_file(host, "a.txt", "1\nTWO\n3\n");
	expect_file(host, "b.txt", "1\n");
	/* What was left can be taken back later. */
	dir_write(host->dir, "a.txt", "1\ntwo\n3\n");
	call(host, "undo", "{'of': 'bob'}");
	expect_file(host, "a.txt", "1\n2\n3\n");
}

static void a_binary_file_that_others_changed_is_left(void **state) {
	struct host *host = *state;
	trust(host);
	dir_write(host->dir, "a.txt", "1\n2\n3\n4\n");
	edit_as(host, "bob", "a.txt", "1", "one");
	dir_write_bytes(host->dir, "a.txt", "one\n2\n3\n\0\n", 10);
	refuse(host, STET_E_CONFLICT, "undo", "{'of': 'bob'}");
	expect_part("message", "others changed it since, and it is a binary file");
}

static void a_version_that_is_not_kept_is_named(void **state) {
	struct host *host = *state;
	trust(host);
	dir_write(host->dir, "a.txt", "1\n2\n3\n");
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_MAX_BASES, 0, NULL), 0);
	edit_as(host, "bob", "a.txt", "2", "two");
	refuse(host, STET_E_NOT_FOUND, "undo", "{'of': 'bob'}");
	expect_part("message", "the version before it is no longer kept");
	expect_file(host, "a.txt", "1\ntwo\n3\n");
	call(host, "history", "{'id': 1}");
	expect_str("writes.0.noDiff", "the version before is no longer kept");
}

static void a_run_is_named_by_story_time_and_number(void **state) {
	struct host *host = *state;
	trust(host);
	write_as(host, "bob", "before.txt", "x\\n");
	call(host, "story", "{'id': 'one'}");
	write_as(host, "bob", "one.txt", "x\\n");
	write_as(host, "ann", "ann.txt", "x\\n");
	call(host, "story", "{'action': 'end'}");
	write_as(host, "bob", "after.txt", "x\\n");
	refuse(host, STET_E_NOT_FOUND, "undo", "{'story': 'two'}");
	call(host, "undo", "{'story': 'one', 'of': 'bob'}");
	assert_false(dir_has(host->dir, "one.txt"));
	assert_true(dir_has(host->dir, "ann.txt"));
	call(host, "undo", "{'id': 1}");
	assert_false(dir_has(host->dir, "before.txt"));
	refuse(host, STET_E_NOT_FOUND, "undo", "{'id': 1}");
	expect_part("message", "already undone");
	call(host, "undo", "{'since': '1h'}");
	expect_int("takenBack", 2);
	assert_false(dir_has(host->dir, "after.txt"));
	refuse(host, STET_E_INVALID, "undo", "{'since': 'soon'}");
	call(host, "undo", "{'id': 1, 'redo': true}");
	assert_true(dir_has(host->dir, "before.txt"));
}

static void history_shows_writes_and_runs(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", "1\n2\n3\n");
	edit_as(host, "bob", "a.txt", "2", "two");
	edit_as(host, "bob", "a.txt", "two", "zwei");
	call(host, "history", "{'diff': true}");
	expect_count("writes", 2);
	expect_str("writes.0.session", "bob");
	expect_text("-two\n+zwei\n");
	call(host, "history", "{'limit': 1}");
	expect_int("omitted", 1);
	call(host, "history", "{'run': true, 'of': 'bob'}");
	expect_count("files", 1);
	expect_text("-2\n+zwei\n");
	expect_no_text("two\n");
	refuse(host, STET_E_INVALID, "history", "{'run': true}");
	refuse(host, STET_E_NOT_FOUND, "history", "{'id': 77}");
}

static void moments_are_read(void **state) {
	(void)state;
	static const struct {
		const char *text;
		int64_t seconds;
	} good[] = {
		{"1970-01-02", 86400},
		{"1970-01-01T00:01:00Z", 60},
		{"1970-01-01 01:00", 3600},
		{"1970-01-01T02:00:05.25+02:00", 5},
		{"1970-01-01T00:00:00-01:30", 5400},
	};
	static const char *const bad[] = {"",
	                                  "m",
	                                  "10",
	                                  "10x",
	                                  "1970-13-01",
	                                  "1970-01-01T",
	                                  "1970-01-01T25:00",
	                                  "1970-01-01T00:00:00+9",
	                                  "yesterday"};
	int64_t ns;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(st_moment_parse(st_str(good[i].text), &ns, NULL), 0);
		assert_int_equal(ns, good[i].seconds * 1000000000);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(st_moment_parse(st_str(bad[i]), &ns, NULL), STET_E_INVALID);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(a_created_file_is_deleted_and_a_deleted_one_comes_back),
		host_claim(deleted_directories_come_back_with_their_files),
		host_claim(an_executable_comes_back_executable),
		host_claim(one_file_comes_back_with_its_directory),
		host_claim(directories_replaced_by_others_are_left),
		host_claim(writes_of_others_are_shown_before_they_are_undone),
		host_claim(a_session_without_a_name_knows_its_own_writes_alone),
		host_claim(a_file_that_others_deleted_has_nothing_to_undo),
		host_claim(what_an_undo_showed_may_be_taken_away_by_its_redo),
		host_claim(a_preview_that_was_cut_does_not_count),
		host_claim(a_redo_does_not_take_away_what_was_not_sent),
		host_claim(a_preview_without_all_files_does_not_count),
		host_claim(others_changes_stay),
		host_claim(what_overlaps_is_named_and_left),
		host_claim(a_binary_file_that_others_changed_is_left),
		host_claim(a_version_that_is_not_kept_is_named),
		host_claim(a_run_is_named_by_story_time_and_number),
		host_claim(history_shows_writes_and_runs),
		host_claim(what_is_left_of_random_runs_equals_the_model),
		cmocka_unit_test(moments_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
