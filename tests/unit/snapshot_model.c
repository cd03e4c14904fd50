/*
 * No wrong statement: random operations by sessions, the command line, hooks, records and others,
 * and after each of them snapshot and repostate.json are held against a model that knows only who
 * put which bytes where.
 */
#include <signal.h>
#include <sys/wait.h>

#include "core/state/state.h"
#include "fs/file/hash.h"
#include "lib/gen.h"
#include "lib/run.h"
#include "lib/session.h"
#include "lib/tools.h"
#include "stet/hook.h"
#include "stet/state.h"

/* The paths; the last ones are in a directory that is moved now and then. */
static const char *const paths[] = {"a.c",     "b.md",    "c.go",    "sub/d.c",
                                    "sub/e.h", "sub/f.c", "lib/d.c", "lib/e.h"};
enum { PATHS = sizeof paths / sizeof *paths, TEXT_MAX = 64 };

/* Sessions whose snapshots the test checks, and those that only act. */
enum { AGENT, OTHER, VIEWERS, CLI = VIEWERS, HOOK, ACTORS };

static const char *const names[ACTORS] = {"agent", "other", "cli", "claude:1f2e"};

/* Bytes of a file; empty for no file, since no file here is empty. */
struct text {
	char bytes[TEXT_MAX];
};

struct known {
	/** At the beginning of the story, now, and as a session last read or wrote it. */
	struct text base, now, last;
	/** Some session knows it; the state has it. */
	bool met;
	/** The state had it already when the story began. */
	bool was_met;
	/** It existed at some time in this story. */
	bool was_there;
	/** As a viewer last read or wrote it. */
	struct text seen[VIEWERS];
	bool has_seen[VIEWERS];
	/**
	 * It was told that the file is gone: it can be said to have changed since the last read, or not.
	 */
	bool uncertain[VIEWERS];
};

struct model {
	struct host *host;
	struct stet_session *sessions[VIEWERS];
	struct gen gen;
	struct known files[PATHS];
	size_t number;
	/** The last operation, and all of them, for the report of a failure. */
	char what[200];
	struct st_buf log;
	size_t vague, statements;
};

static bool is_there(const struct text *text) {
	return text->bytes[0] != '\0';
}

static bool equals(const struct text *a, const struct text *b) {
	return strcmp(a->bytes, b->bytes) == 0;
}

/* One of a few texts, so that files are often put back; some of them have the same size. */
static struct text any_text(struct model *model) {
	struct text text;
	size_t number = gen_below(&model->gen, 6);
	snprintf(text.bytes, sizeof text.bytes, "text %zu%s\n", number, number < 3 ? "" : " and more");
	return text;
}

static void look_at_disk(struct model *model, size_t i) {
	struct known *file = &model->files[i];
	memset(&file->now, 0, sizeof file->now);
	if (dir_has(model->host->dir, paths[i]))
		snprintf(file->now.bytes, sizeof file->now.bytes, "%s",
		         dir_read(model->host->dir, paths[i]));
	file->was_there |= is_there(&file->now);
}

/* An actor has read or written the file as it is now. */
static void meet(struct model *model, size_t i, int actor) {
	struct known *file = &model->files[i];
	file->met = true;
	file->last = file->now;
	if (actor < VIEWERS) {
		file->uncertain[actor] = false;
		file->seen[actor] = file->now;
		/* Whoever deleted a file, or saw that it is gone, has nothing that others could change. */
		file->has_seen[actor] = is_there(&file->now);
	}
}

__attribute__((format(printf, 2, 3))) static void note(struct model *model, const char *format,
                                                       ...) {
	va_list args;
	va_start(args, format);
	vsnprintf(model->what, sizeof model->what, format, args);
	va_end(args);
}

/* ---- others ---- */

static void write_foreign(struct model *model, size_t i, const struct text *text) {
	dir_write(model->host->dir, paths[i], text->bytes);
	look_at_disk(model, i);
}

static void change_foreign(struct model *model, size_t i) {
	struct text text = any_text(model);
	note(model, "others write %s", paths[i]);
	write_foreign(model, i, &text);
}

static void put_back_foreign(struct model *model, size_t i) {
	struct text text = gen_one_in(&model->gen, 2) ? model->files[i].base : model->files[i].last;
	note(model, "others put %s back", paths[i]);
	if (is_there(&text))
		write_foreign(model, i, &text);
}

static void delete_foreign(struct model *model, size_t i) {
	note(model, "others delete %s", paths[i]);
	unlink(dir_at(model->host->dir, paths[i]));
	look_at_disk(model, i);
}

static void touch_foreign(struct model *model, size_t i) {
	note(model, "others touch %s", paths[i]);
	utimensat(AT_FDCWD, dir_at(model->host->dir, paths[i]), NULL, 0);
}

/* ---- sessions ---- */

/* A tool call of a viewer, which may be refused. */
static bool try_tool(struct model *model, int actor, const char *tool, const char *args) {
	struct stet_session *own = model->host->session;
	model->host->session = model->sessions[actor];
	int code = try_call_raw(model->host, tool, st_str(args));
	model->host->session = own;
	return code == 0;
}

static void read_as(struct model *model, size_t i, int actor) {
	char args[200];
	snprintf(args, sizeof args, "{\"path\":\"%s\"}", paths[i]);
	bool done = try_tool(model, actor, "read_file", args);
	if (done)
		meet(model, i, actor);
	else
		/* It was told that the file is gone, and may forget it. */
		model->files[i].uncertain[actor] = true;
	note(model, "%s reads %s%s", names[actor], paths[i], done ? "" : ", which is not there");
}

/* A refusal may show the change, which counts as read: read the file after it, and so it is read in any case. */
static void write_as(struct model *model, size_t i, int actor) {
	st_auto(st_buf) args = ST_BUF_INIT;
	struct text text = any_text(model);
	st_buf_addf(&args, "{\"path\":\"%s\",\"content\":", paths[i]);
	st_json_quote(&args, st_str(text.bytes));
	st_buf_addc(&args, '}');
	bool done = try_tool(model, actor, "write_file", args.ptr);
	look_at_disk(model, i);
	if (!done && is_there(&model->files[i].now))
		read_as(model, i, actor);
	else if (!done)
		/* It was told that the file is gone, and may forget it. */
		model->files[i].uncertain[actor] = true;
	else
		meet(model, i, actor);
	note(model, "%s writes %s%s", names[actor], paths[i], done ? "" : ", is refused and reads it");
}

static void delete_as(struct model *model, size_t i, int actor) {
	char args[200];
	read_as(model, i, actor);
	snprintf(args, sizeof args, "{\"path\":\"%s\"}", paths[i]);
	bool done = try_tool(model, actor, "delete_file", args);
	look_at_disk(model, i);
	if (done)
		meet(model, i, actor);
	note(model, "%s deletes %s: %s", names[actor], paths[i], done ? "done" : "refused");
}

static void fail_edit(struct model *model, size_t i, int actor) {
	char args[200];
	read_as(model, i, actor);
	snprintf(args, sizeof args, "{\"path\":\"%s\",\"oldText\":\"no such text\",\"newText\":\"x\"}",
	         paths[i]);
	assert_false(try_tool(model, actor, "edit_file", args));
	note(model, "%s fails to edit %s", names[actor], paths[i]);
}

static void move_as(struct model *model, size_t from, size_t to, int actor) {
	char args[200];
	struct known before = model->files[from];
	snprintf(args, sizeof args, "{\"source\":\"%s\",\"destination\":\"%s\"}", paths[from],
	         paths[to]);
	bool done = try_tool(model, actor, "move_file", args);
	look_at_disk(model, from);
	look_at_disk(model, to);
	note(model, "%s moves %s to %s: %s", names[actor], paths[from], paths[to],
	     done ? "done" : "refused");
	if (!done)
		return;
	meet(model, from, actor);
	/* What was known of the bytes moves along. */
	meet(model, to, ACTORS);
	model->files[to].last = before.met || before.was_met ? before.last : before.now;
	model->files[to].seen[actor] = before.has_seen[actor] ? before.seen[actor] : (struct text){0};
	model->files[to].has_seen[actor] = before.has_seen[actor];
	model->files[to].uncertain[actor] = before.uncertain[actor];
}

/* ---- other programs that tell stet ---- */

static void run_cli(struct model *model, size_t i) {
	st_auto(st_buf) output = ST_BUF_INIT;
	bool reads = gen_one_in(&model->gen, 2);
	const char *const argv[] = {
		"sh",     "-c", "exec \"$STET\" --session cli \"$@\" 2>&1", "sh", reads ? "read" : "undo",
		paths[i], NULL};
	int status = run(model->host->dir, &output, argv);
	look_at_disk(model, i);
	/* An undo that is refused may show the file: read it, too. */
	const char *const again[] = {argv[0], argv[1], argv[2], argv[3], "read", paths[i], NULL};
	if (status == 1 && !reads && is_there(&model->files[i].now))
		status = run(model->host->dir, &output, again);
	if (status == 0)
		meet(model, i, CLI);
	note(model, "stet %s %s: %d", reads ? "read" : "undo", paths[i], status);
}

static void send_event(struct model *model, const char *tool, const char *input,
                       const char *response) {
	st_auto(st_buf) event = ST_BUF_INIT;
	char *out = NULL;
	st_buf_addf(&event,
	            "{\"session_id\":\"1f2e\",\"cwd\":\"%s\",\"hook_event_name\":\"PostToolUse\","
	            "\"tool_name\":\"%s\",\"tool_input\":%s,\"tool_response\":%s,\"tool_use_id\":"
	            "\"t%zu\"}",
	            model->host->dir->path, tool, input, response, model->number);
	if (stet_hook_run(event.ptr, event.len, "claude", &out, NULL, &model->host->err) < 0)
		fail_msg("%s", model->host->err.message);
	stet_free(out);
}

static void hook_read(struct model *model, size_t i) {
	st_auto(st_buf) input = ST_BUF_INIT;
	st_auto(st_buf) response = ST_BUF_INIT;
	const struct text *now = &model->files[i].now;
	if (!is_there(now))
		return;
	st_buf_addf(&input, "{\"file_path\":\"%s/%s\"}", model->host->dir->path, paths[i]);
	st_buf_addf(
		&response,
		"{\"type\":\"text\",\"file\":{\"filePath\":\"%s/%s\",\"numLines\":2,\"startLine\":1,"
		"\"totalLines\":2,\"content\":",
		model->host->dir->path, paths[i]);
	st_json_quote(&response, st_str(now->bytes));
	st_buf_adds(&response, "}}");
	send_event(model, "Read", input.ptr, response.ptr);
	meet(model, i, HOOK);
	note(model, "the hook tells of a read of %s", paths[i]);
}

static void hook_write(struct model *model, size_t i) {
	st_auto(st_buf) input = ST_BUF_INIT;
	st_auto(st_buf) response = ST_BUF_INIT;
	struct text text = any_text(model);
	bool existed = is_there(&model->files[i].now);
	write_foreign(model, i, &text);
	st_buf_addf(&input, "{\"file_path\":\"%s/%s\",\"content\":", model->host->dir->path, paths[i]);
	st_json_quote(&input, st_str(text.bytes));
	st_buf_addc(&input, '}');
	st_buf_addf(&response, "{\"type\":\"%s\",\"filePath\":\"%s/%s\",\"structuredPatch\":[]}",
	            existed ? "update" : "create", model->host->dir->path, paths[i]);
	send_event(model, "Write", input.ptr, response.ptr);
	meet(model, i, HOOK);
	note(model, "the hook tells of a write of %s", paths[i]);
}

static void record_as(struct model *model, int actor, const char *tool, const char *result) {
	if (stet_record(model->sessions[actor], tool, result, strlen(result), NULL, &model->host->err) <
	    0)
		fail_msg("%s", model->host->err.message);
}

static void record_write(struct model *model, size_t i, int actor) {
	char result[200];
	bool existed = is_there(&model->files[i].now), says = gen_one_in(&model->gen, 2);
	struct text text = any_text(model);
	write_foreign(model, i, &text);
	snprintf(result, sizeof result, "{\"path\":\"%s\"%s}", paths[i],
	         !says     ? ""
	         : existed ? ",\"type\":\"update\""
	                   : ",\"type\":\"create\"");
	record_as(model, actor, "write_file", result);
	meet(model, i, actor);
	model->files[i].has_seen[actor] = false;
	note(model, "%s records a write of %s%s", names[actor], paths[i], says ? "" : ", vaguely");
}

static void record_delete(struct model *model, size_t i, int actor) {
	char result[200];
	if (!is_there(&model->files[i].now))
		return;
	unlink(dir_at(model->host->dir, paths[i]));
	look_at_disk(model, i);
	snprintf(result, sizeof result, "{\"path\":\"%s\"}", paths[i]);
	record_as(model, actor, "delete_file", result);
	meet(model, i, actor);
	note(model, "%s records a deletion of %s", names[actor], paths[i]);
}

static void record_failure(struct model *model, size_t i, int actor) {
	char result[200];
	if (gen_one_in(&model->gen, 2))
		change_foreign(model, i);
	snprintf(result, sizeof result, "{\"path\":\"%s\",\"error\":\"not found\"}", paths[i]);
	record_as(model, actor, gen_one_in(&model->gen, 2) ? "edit_file" : "write_file", result);
	note(model, "%s records a failed tool on %s", names[actor], paths[i]);
}

/* ---- a process that is killed ---- */

/* Write as fast as it goes. */
static void write_on(const struct dir *dir, uint64_t seed) {
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct gen gen = gen_new(seed);
	if (stet_workspace_open(dir->path, &ws, NULL) < 0 ||
	    stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL) < 0 ||
	    stet_session_open(ws, "killed", &session, NULL) < 0)
		_exit(1);
	for (int round = 0; round < 1000; round++) {
		char text[TEXT_MAX];
		const char *path = paths[gen_below(&gen, 3)];
		struct stet_answer *answer = NULL;
		snprintf(text, sizeof text, "killed %zu\n", gen_below(&gen, 4));
		if (stet_session_read(session, path, 0, 0, &answer, NULL) == 0)
			stet_answer_free(answer);
		if (stet_session_write(session, path, text, strlen(text), NULL, NULL, NULL) < 0)
			stet_session_invalidate(session, path);
	}
	_exit(0);
}

/* A failed call may have changed these files: the agent reads them, and the model knows them again. */
static void kill_one(struct model *model) {
	uint64_t seed = gen_next(&model->gen);
	unsigned long wait = 1000 + gen_below(&model->gen, 30000);
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		write_on(model->host->dir, seed);
	usleep((useconds_t)wait);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (size_t i = 0; i < 3; i++) {
		look_at_disk(model, i);
		read_as(model, i, AGENT);
		read_as(model, i, OTHER);
		/* It may have created or deleted a file in between. */
		model->files[i].was_there = true;
	}
	note(model, "a process that writes is killed");
}

/* ---- the story ---- */

static void begin_story(struct model *model) {
	char name[32];
	snprintf(name, sizeof name, "story-%zu", model->number);
	if (stet_story_begin(model->host->ws, name, &model->host->err) < 0)
		fail_msg("%s", model->host->err.message);
	for (size_t i = 0; i < PATHS; i++) {
		struct known *file = &model->files[i];
		look_at_disk(model, i);
		/* A story takes what is there as known. */
		file->base = file->last = file->now;
		file->was_there = is_there(&file->now);
		file->was_met = (file->met || file->was_met) && is_there(&file->now);
		file->met = false;
	}
	note(model, "a story begins");
}

static void open_all(struct model *model) {
	struct host *host = model->host;
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_STATE, 2, NULL), 0);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_DURABLE, 0, NULL), 0);
	for (int i = 0; i < VIEWERS; i++) {
		if (stet_session_open(host->ws, names[i], &model->sessions[i], &host->err) < 0)
			fail_msg("%s", host->err.message);
	}
}

static void restart(struct model *model) {
	struct host *host = model->host;
	for (int i = 0; i < VIEWERS; i++)
		stet_session_close(model->sessions[i]);
	stet_session_close(host->session);
	stet_workspace_close(host->ws);
	assert_int_equal(stet_workspace_open(host->dir->path, &host->ws, &host->err), 0);
	assert_int_equal(stet_session_open(host->ws, "host", &host->session, &host->err), 0);
	open_all(model);
	note(model, "the workspace is closed and opened");
}

/* ---- an operation ---- */

static void operate(struct model *model) {
	struct gen *gen = &model->gen;
	size_t i = gen_below(gen, PATHS), j = gen_below(gen, PATHS);
	int actor = (int)gen_below(gen, VIEWERS);
	size_t kind = gen_below(gen, 100);
	note(model, "nothing");
	if (kind < 14)
		read_as(model, i, actor);
	else if (kind < 30)
		write_as(model, i, actor);
	else if (kind < 40)
		change_foreign(model, i);
	else if (kind < 46)
		put_back_foreign(model, i);
	else if (kind < 51)
		delete_foreign(model, i);
	else if (kind < 54)
		touch_foreign(model, i);
	else if (kind < 58)
		delete_as(model, i, actor);
	else if (kind < 62)
		fail_edit(model, i, actor);
	else if (kind < 67)
		move_as(model, i, j, actor);
	else if (kind < 72)
		run_cli(model, i);
	else if (kind < 77)
		hook_read(model, i);
	else if (kind < 82)
		hook_write(model, i);
	else if (kind < 88)
		record_write(model, i, actor);
	else if (kind < 91)
		record_delete(model, i, actor);
	else if (kind < 95)
		record_failure(model, i, actor);
	else if (kind < 97)
		kill_one(model);
	else if (kind < 98)
		begin_story(model);
	else
		restart(model);
}

/* ---- statements ---- */

/* A statement about a file: in a snapshot's line, or in repostate.json. */
struct statement {
	const char *text;
	const char *path;
	char hash[65];
	size_t size;
	/** The words behind the size. */
	struct st_str mark;
};

/* Print the operations that concern a file. */
static void print_log(const struct model *model, const char *path) {
	st_auto(st_buf) copy = ST_BUF_INIT;
	char *save = NULL;
	st_buf_add(&copy, st_buf_str(&model->log));
	for (char *line = strtok_r(copy.ptr, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strstr(line, path) || !strchr(line, '.'))
			print_message("# %s\n", line);
	}
}

static void wrong(const struct model *model, const char *why, const char *path, const char *text) {
	print_log(model, path);
	for (size_t i = 0; i < PATHS; i++) {
		const struct known *file = &model->files[i];
		if (strcmp(paths[i], path) == 0)
			print_message("# base %.10s now %.10s last %.10s; seen %.10s %d, %.10s %d\n",
			              file->base.bytes, file->now.bytes, file->last.bytes, file->seen[0].bytes,
			              file->has_seen[0], file->seen[1].bytes, file->has_seen[1]);
	}
	fail_msg("seed %llu, operation %zu (%s): %s: %s\n%s", (unsigned long long)gen_seed(),
	         model->number, model->what, path, why, text);
}

static size_t index_of(const struct model *model, struct st_str path, const char *text) {
	for (size_t i = 0; i < PATHS; i++) {
		if (st_str_eq(path, st_str(paths[i])))
			return i;
	}
	wrong(model, "no such file", "?", text);
	return 0;
}

static const char *true_status(const struct known *file) {
	if (!is_there(&file->now))
		return "deleted";
	if (!is_there(&file->base))
		return "created";
	return equals(&file->now, &file->base) ? "unchanged" : "modified";
}

static void check_status(struct model *model, size_t i, struct st_str status, const char *text) {
	const struct known *file = &model->files[i];
	model->statements++;
	if (st_str_eq(status, ST_STR("written"))) {
		/* Not knowing is no wrong statement, but must have its reason. */
		model->vague++;
		if (!is_there(&file->now))
			wrong(model, "written, but not there", paths[i], text);
	} else if (!st_str_eq(status, st_str(true_status(file)))) {
		wrong(model, true_status(file), paths[i], text);
	}
}

static void check_bytes(struct model *model, size_t i, struct st_str hash, size_t size,
                        const char *text) {
	const struct known *file = &model->files[i];
	struct st_str bytes = st_str(file->now.bytes);
	struct st_hash sum;
	char hex[65];
	assert_int_equal(st_hash_of(bytes, &sum, NULL), 0);
	st_hash_hex(&sum, hex, 64);
	if (!is_there(&file->now) || size != bytes.len || strncmp(hex, hash.ptr, hash.len) != 0)
		wrong(model, "other bytes are there", paths[i], text);
}

/* Whether the snapshot has to say that others changed the file. */
static bool is_external(const struct known *file, int viewer) {
	return file->has_seen[viewer] ? !equals(&file->now, &file->seen[viewer])
	                              : !equals(&file->now, &file->last);
}

static struct st_str first_word(struct st_str mark) {
	size_t len = 0;
	while (len < mark.len && mark.ptr[len] != ' ')
		len++;
	return st_str_slice(mark, 0, len);
}

static void check_mark(struct model *model, size_t i, int viewer, struct st_str mark,
                       const char *text) {
	const struct known *file = &model->files[i];
	bool read = st_str_ends(mark, ST_STR(" since read"));
	bool outside = st_str_ends(mark, ST_STR(" outside stet"));
	if (!file->uncertain[viewer] && (read || outside) != is_external(file, viewer))
		wrong(model, read || outside ? "nobody else changed it" : "others changed it", paths[i],
		      text);
	if (read && !file->has_seen[viewer] && !file->uncertain[viewer])
		wrong(model, "the session has not read it", paths[i], text);
	if (read)
		return;
	struct st_str status = mark.len ? first_word(mark) : ST_STR("created");
	if (outside && st_str_starts(mark, ST_STR("put back")))
		status = ST_STR("unchanged");
	check_status(model, i, status, text);
}

/* "a.c (a4f3e1, 245 bytes, modified) - c source", or "a.c (deleted outside stet) - c source" */
static size_t check_line(struct model *model, int viewer, struct st_str line, const char *text) {
	const char *open = memmem(line.ptr, line.len, " (", 2);
	const char *close = memrchr(line.ptr, ')', line.len);
	assert_true(open && close && open < close);
	size_t i = index_of(model, st_strn(line.ptr, (size_t)(open - line.ptr)), text);
	struct st_str inner = st_strn(open + 2, (size_t)(close - open) - 2);
	const char *bytes = memmem(inner.ptr, inner.len, " byte", 5);
	if (!bytes) {
		check_mark(model, i, viewer, inner, text);
		return i;
	}
	check_bytes(model, i, st_str_slice(inner, 0, 6), strtoul(inner.ptr + 8, NULL, 10), text);
	const char *comma = memchr(bytes, ',', (size_t)(inner.ptr + inner.len - bytes));
	struct st_str mark = ST_STR("");
	if (comma)
		mark = st_strn(comma + 2, (size_t)(inner.ptr + inner.len - comma) - 2);
	check_mark(model, i, viewer, mark, text);
	return i;
}

/* Files that sessions read or wrote are in the snapshot. */
static void check_missing(struct model *model, const bool *named, const char *text) {
	for (size_t i = 0; i < PATHS; i++) {
		const struct known *file = &model->files[i];
		if (file->met && !named[i] && (is_there(&file->now) || file->was_there))
			wrong(model, "missing", paths[i], text);
	}
}

static void check_deleted(struct model *model, const char *list, bool *named, const char *text) {
	char copy[500], *save = NULL;
	snprintf(copy, sizeof copy, "%.*s", (int)strcspn(list, "\n"), list);
	for (char *name = strtok_r(copy, ", ", &save); name; name = strtok_r(NULL, ", ", &save)) {
		size_t i = index_of(model, st_str(name), text);
		named[i] = true;
		if (is_there(&model->files[i].now))
			wrong(model, "it is there", name, text);
	}
}

static void check_snapshot(struct model *model, int viewer) {
	static const char bullet[] = "  \xe2\x80\xa2 ", gone[] = "\nDeleted in this story (";
	bool named[PATHS] = {false};
	if (!try_tool(model, viewer, "repo_state", "{}"))
		fail_msg("%s", said(0));
	st_auto(st_buf) copy = ST_BUF_INIT;
	st_buf_adds(&copy, said(0));
	const char *text = st_buf_cstr(&copy);
	const char *deleted = strstr(text, gone);
	for (const char *at = text; (at = strstr(at, bullet));) {
		at += strlen(bullet);
		named[check_line(model, viewer, st_strn(at, strcspn(at, "\n")), text)] = true;
	}
	if (deleted)
		check_deleted(model, strstr(deleted, "): ") + 3, named, text);
	check_missing(model, named, text);
}

static void check_file(struct model *model, yyjson_val *entry, const char *text) {
	size_t i = index_of(model, st_json_str(yyjson_obj_get(entry, "path")), text);
	const struct known *file = &model->files[i];
	struct st_str status = st_json_str(yyjson_obj_get(entry, "status"));
	bool external = yyjson_is_true(yyjson_obj_get(entry, "external"));
	check_status(model, i, status, text);
	if (!st_str_eq(status, ST_STR("deleted")))
		check_bytes(model, i, st_json_str(yyjson_obj_get(entry, "hash")),
		            yyjson_get_uint(yyjson_obj_get(entry, "size")), text);
	/* For everybody: nobody has read or written the file as it is. */
	if (external != !equals(&file->now, &file->last))
		wrong(model, external ? "a session knows these bytes" : "no session knows these bytes",
		      paths[i], text);
}

static void check_json(struct model *model) {
	yyjson_val *entry;
	size_t i, max;
	const char *text = dir_read(model->host->dir, ".stet/repostate.json");
	yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
	assert_non_null(doc);
	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "files"), i, max, entry)
		check_file(model, entry, text);
	yyjson_doc_free(doc);
}

static void no_statement_is_ever_wrong(void **state) {
	struct model model = {.host = *state, .gen = gen_new(gen_seed())};
	size_t rounds = gen_rounds(500, 10000);
	assert_int_equal(mkdir(dir_at(model.host->dir, "sub"), 0777), 0);
	assert_int_equal(mkdir(dir_at(model.host->dir, "lib"), 0777), 0);
	dir_write(model.host->dir, "a.c", "text 1\n");
	dir_write(model.host->dir, "sub/d.c", "text 2\n");
	open_all(&model);
	begin_story(&model);
	for (model.number = 1; model.number <= rounds; model.number++) {
		operate(&model);
		st_buf_addf(&model.log, "%zu %s\n", model.number, model.what);
		for (int viewer = 0; viewer < VIEWERS; viewer++)
			check_snapshot(&model, viewer);
		check_json(&model);
	}
	print_message("# %zu operations, %zu statements, %zu of them \"written\"\n", rounds,
	              model.statements, model.vague);
	for (int i = 0; i < VIEWERS; i++)
		stet_session_close(model.sessions[i]);
	st_buf_release(&model.log);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(no_statement_is_ever_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
