/* The state of the work: what is tracked, how it stands, and that it survives. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/state/repo_json.h"
#include "core/state/state.h"
#include "lib/run.h"
#include "lib/session.h"
#include "stet/state.h"
#include "stet/tools.h"

/* The file in each directory of versions that says how full it is. */
enum { ROOM = 1 };

/* ---- the harness ---- */

/* Everything below tracks, as tools do. */
static void start(struct host *host) {
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_STATE, 2, NULL), 0);
}

static void reopen(struct host *host, const char *name) {
	stet_session_close(host->session);
	stet_workspace_close(host->ws);
	assert_int_equal(stet_workspace_open(host->dir->path, &host->ws, &host->err), 0);
	start(host);
	if (stet_session_open(host->ws, name, &host->session, &host->err) < 0)
		fail_msg("%s", host->err.message);
}

static const char *const words[] = {"unchanged", "created", "modified", "deleted", "written"};

/* The files of the state as "path status" lines, with " external" where that is so. */
static const char *files(struct host *host) {
	static char text[4096];
	st_auto(st_repo_status) view = {0};
	size_t len = 0;
	text[0] = '\0';
	if (st_repo_get_status(&st_state_of(host->ws)->repo, host->session, 0, &view, &host->err) < 0)
		fail_msg("%s", host->err.message);
	for (size_t i = 0; i < view.state.file_count; i++) {
		const struct st_repo_file *file = &view.state.files[i];
		len += (size_t)snprintf(text + len, sizeof text - len, "%s %s%s\n", file->path,
		                        words[file->status], file->external ? " external" : "");
	}
	return text;
}

static const char *tasks(struct host *host) {
	static const char *const statuses[] = {"pending", "in_progress", "completed"};
	static char text[4096];
	st_auto(st_repo_status) view = {0};
	size_t len = 0;
	text[0] = '\0';
	if (st_repo_get_status(&st_state_of(host->ws)->repo, NULL, ST_REPO_STORED, &view, &host->err) <
	    0)
		fail_msg("%s", host->err.message);
	for (size_t i = 0; i < view.state.task_count; i++) {
		const struct st_repo_task *task = &view.state.tasks[i];
		len += (size_t)snprintf(text + len, sizeof text - len, "%lld %s %s%s%s\n",
		                        (long long)task->id, task->description, statuses[task->status],
		                        task->owner ? " " : "", task->owner ? task->owner : "");
	}
	return text;
}

static int64_t add(struct host *host, const char *text) {
	int64_t id = 0;
	assert_int_equal(stet_task_add(host->ws, text, strlen(text), 0, &id, &host->err), 0);
	return id;
}

/* The notices that wait, in a static buffer. */
static const char *notices(struct host *host) {
	static char all[8192];
	size_t len = 0;
	all[0] = '\0';
	for (char *notice; (notice = stet_workspace_notice(host->ws)); stet_free(notice))
		len += (size_t)snprintf(all + len, sizeof all - len, "%s\n", notice);
	return all;
}

static void says(struct host *host, const char *part) {
	const char *all = notices(host);
	if (!strstr(all, part))
		fail_msg("no notice says \"%s\": %s", part, all);
}

/* ---- tracker accuracy ---- */

static void a_file_is_created_modified_or_unchanged(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "read.c", "one\n");
	dir_write(host->dir, "edited.c", "one\n");
	dir_write(host->dir, "untouched.c", "one\n");
	assert_int_equal(host_read(host, "read.c"), 0);
	assert_int_equal(host_edit(host, "edited.c", "one", "two"), 0);
	assert_int_equal(mkdirat(host->dir->fd, "src", 0700), 0);
	assert_int_equal(host_write(host, "src/new.c", "new\n"), 0);
	assert_string_equal(files(host), "edited.c modified\nread.c unchanged\nsrc/new.c created\n");
}

static void a_file_that_is_changed_back_is_unchanged(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_edit(host, "a.c", "one", "two"), 0);
	assert_int_equal(host_edit(host, "a.c", "two", "one"), 0);
	assert_string_equal(files(host), "a.c unchanged\n");
}

static void a_new_story_starts_from_what_is_there(void **state) {
	struct host *host = *state;
	char *story = NULL;
	start(host);
	assert_int_equal(stet_story(host->ws, &story, NULL), 0);
	assert_null(story);
	assert_int_equal(stet_story_begin(host->ws, "one", &host->err), 0);
	assert_int_equal(host_write(host, "a.c", "one\n"), 0);
	assert_int_equal(host_write(host, "b.c", "one\n"), 0);
	assert_int_equal(unlink(dir_at(host->dir, "b.c")), 0);
	assert_string_equal(files(host), "a.c created\nb.c deleted external\n");
	/* The same story goes on. */
	assert_int_equal(stet_story_begin(host->ws, "one", &host->err), 0);
	assert_string_equal(files(host), "a.c created\nb.c deleted external\n");
	assert_int_equal(stet_story_begin(host->ws, "two", &host->err), 0);
	assert_string_equal(files(host), "a.c unchanged\n");
	assert_int_equal(host_edit(host, "a.c", "one", "two"), 0);
	assert_string_equal(files(host), "a.c modified\n");
	assert_int_equal(stet_story(host->ws, &story, NULL), 0);
	assert_string_equal(story, "two");
	stet_free(story);
	assert_int_equal(stet_story_end(host->ws, NULL), 0);
	assert_int_equal(stet_story(host->ws, &story, NULL), 0);
	assert_null(story);
	assert_string_equal(files(host), "a.c modified\n");
	assert_int_equal(stet_story_begin(host->ws, " ", &host->err), STET_E_INVALID);
}

static void a_story_says_for_itself_whether_the_snapshot_is_used(void **state) {
	struct host *host = *state;
	start(host);
	assert_int_equal(stet_snapshot_used(host->ws, NULL), 1);
	assert_int_equal(stet_workspace_set(host->ws, STET_OPTION_USE_SNAPSHOT, 0, NULL), 0);
	assert_int_equal(stet_snapshot_used(host->ws, NULL), 0);
	assert_int_equal(stet_story_use_snapshot(host->ws, 1, &host->err), STET_E_INVALID);
	assert_int_equal(stet_story_begin(host->ws, "one", NULL), 0);
	assert_int_equal(stet_snapshot_used(host->ws, NULL), 0);
	assert_int_equal(stet_story_use_snapshot(host->ws, 1, NULL), 0);
	assert_int_equal(stet_snapshot_used(host->ws, NULL), 1);
	/* It goes with the story, and the configuration counts again. */
	assert_int_equal(stet_story_begin(host->ws, "two", NULL), 0);
	assert_int_equal(stet_snapshot_used(host->ws, NULL), 0);
	assert_int_equal(stet_story_use_snapshot(host->ws, 1, NULL), 0);
	assert_int_equal(stet_story_use_snapshot(host->ws, -1, NULL), 0);
	assert_int_equal(stet_snapshot_used(host->ws, NULL), 0);
	assert_int_equal(stet_story_use_snapshot(host->ws, 2, NULL), STET_E_INVALID);
}

static void a_change_from_outside_is_found_and_marked(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	dir_write(host->dir, "b.c", "one\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	assert_int_equal(host_read(host, "b.c"), 0);
	dir_write(host->dir, "a.c", "two\n");
	assert_int_equal(unlink(dir_at(host->dir, "b.c")), 0);
	assert_string_equal(files(host), "a.c modified external\nb.c deleted external\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	dir_write(host->dir, "b.c", "one\n");
	/* Its bytes are what was read. */
	assert_string_equal(files(host), "a.c modified\nb.c unchanged\n");
}

static void a_touched_file_is_not_changed(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	const struct timespec times[2] = {{1, 0}, {1, 0}};
	assert_int_equal(utimensat(host->dir->fd, "a.c", times, 0), 0);
	assert_string_equal(files(host), "a.c unchanged\n");
}

static void what_another_session_wrote_is_marked_for_who_had_read_it(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	struct stet_session *other = host_session(host, "other");
	assert_int_equal(stet_session_edit(other, "a.c", "one", 3, "two", 3, NULL, NULL, NULL), 0);
	assert_string_equal(files(host), "a.c modified external\n");
	stet_session_close(other);
}

/* Three files in two directories below src, read by the session. */
static void fill_src(struct host *host) {
	static const char *const names[] = {"src/a.c", "src/in/b.c", "src/in/c.c", "srcs.c"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		dir_write(host->dir, names[i], names[i]);
		assert_int_equal(host_read(host, names[i]), 0);
	}
}

static void a_directory_that_is_moved_takes_its_files_along(void **state) {
	struct host *host = *state;
	static const char move[] = "{\"source\":\"src\",\"destination\":\"lib\"}";
	char *answer = NULL;
	start(host);
	fill_src(host);
	assert_int_equal(host_edit(host, "src/a.c", "a", "A"), 0);
	assert_int_equal(stet_call(host->session, "move_file", move, strlen(move), &answer, NULL, NULL),
	                 0);
	stet_free(answer);
	static const char moved[] =
		"lib/a.c created\nlib/in/b.c created\nlib/in/c.c created\nsrc/a.c deleted\n"
		"src/in/b.c deleted\nsrc/in/c.c deleted\nsrcs.c unchanged\n";
	assert_string_equal(files(host), moved);
	reopen(host, "agent");
	assert_string_equal(files(host), moved);
	/* And back: as if nothing had happened. */
	static const char back[] = "{\"source\":\"lib/\",\"destination\":\"src\"}";
	assert_int_equal(stet_call(host->session, "move_file", back, strlen(back), &answer, NULL, NULL),
	                 0);
	stet_free(answer);
	assert_string_equal(files(host),
	                    "lib/a.c deleted\nlib/in/b.c deleted\nlib/in/c.c deleted\n"
	                    "src/a.c modified\nsrc/in/b.c unchanged\nsrc/in/c.c unchanged\n"
	                    "srcs.c unchanged\n");
}

static void a_move_from_outside_is_followed(void **state) {
	struct host *host = *state;
	start(host);
	fill_src(host);
	assert_int_equal(rename(dir_at(host->dir, "src"), dir_at(host->dir, "lib")), 0);
	assert_int_equal(rename(dir_at(host->dir, "srcs.c"), dir_at(host->dir, "one.c")), 0);
	/* One that changed on the way is not known for the same, and one that is gone is gone. */
	dir_write(host->dir, "lib/in/b.c", "other");
	assert_int_equal(unlink(dir_at(host->dir, "lib/in/c.c")), 0);
	static const char moved[] =
		"lib/a.c created\none.c created\nsrc/a.c deleted external\nsrc/in/b.c deleted external\n"
		"src/in/c.c deleted external\nsrcs.c deleted external\n";
	assert_string_equal(files(host), moved);
	assert_string_equal(files(host), moved);
	reopen(host, "agent");
	assert_string_equal(files(host), moved);
	/* The same bytes in another file are no move. */
	dir_write(host->dir, "two.c", "src/a.c");
	assert_int_equal(unlink(dir_at(host->dir, "lib/a.c")), 0);
	assert_null(strstr(files(host), "two.c"));
}

static void a_path_that_became_a_link_is_another_file(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "d/a.c", "one\n");
	assert_int_equal(host_read(host, "d/a.c"), 0);
	assert_int_equal(rename(dir_at(host->dir, "d"), dir_at(host->dir, "e")), 0);
	assert_int_equal(symlinkat("e", host->dir->fd, "d"), 0);
	assert_string_equal(files(host), "d/a.c deleted external\ne/a.c created\n");
}

static void names_of_any_bytes_are_tracked(void **state) {
	struct host *host = *state;
	start(host);
	assert_int_equal(host_write(host, "a\nb\xff.c", "one\n"), 0);
	assert_string_equal(files(host), "a\nb\xff.c created\n");
	reopen(host, "agent");
	assert_string_equal(files(host), "a\nb\xff.c created\n");
}

static void a_scan_tracks_the_tree_and_later_what_came_to_it(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, ".gitignore", "*.o\n");
	dir_write(host->dir, "a.c", "one\n");
	dir_write(host->dir, "a.o", "one\n");
	dir_write(host->dir, "d/b.c", "one\n");
	dir_write(host->dir, "node_modules/c.js", "one\n");
	assert_int_equal(stet_story_begin(host->ws, "one", NULL), 0);
	assert_int_equal(stet_state_scan(host->ws, &host->err), 0);
	assert_string_equal(files(host), ".gitignore unchanged\na.c unchanged\nd/b.c unchanged\n");
	dir_write(host->dir, "new.c", "one\n");
	assert_int_equal(stet_state_scan(host->ws, &host->err), 0);
	assert_string_equal(
		files(host),
		".gitignore unchanged\na.c unchanged\nd/b.c unchanged\nnew.c created external\n");
}

static void bare_library_calls_are_not_tracked_and_tools_are(void **state) {
	struct host *host = *state;
	char *answer = NULL;
	static const char args[] = "{\"path\": \"b.c\", \"content\": \"x\"}";
	assert_int_equal(host_write(host, "a.c", "one\n"), 0);
	assert_string_equal(files(host), "");
	assert_int_equal(
		stet_call(host->session, "write_file", args, strlen(args), &answer, NULL, NULL), 0);
	stet_free(answer);
	assert_string_equal(files(host), "b.c created\n");
}

static void reading_alone_makes_no_state_directory(void **state) {
	struct host *host = *state;
	reopen(host, NULL);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	assert_false(dir_has(host->dir, ".stet"));
	/* Asked for the state, it is there. */
	assert_string_equal(files(host), "");
	assert_int_equal(host_read(host, "a.c"), 0);
	assert_string_equal(files(host), "a.c unchanged\n");
}

/* ---- persistence ---- */

static void the_state_survives_the_process(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(stet_story_begin(host->ws, "hello-001", NULL), 0);
	assert_int_equal(host_edit(host, "a.c", "one", "two"), 0);
	assert_int_equal(host_write(host, "b.c", "new\n"), 0);
	add(host, "Write tests");
	reopen(host, "agent");
	char *story = NULL;
	assert_int_equal(stet_story(host->ws, &story, NULL), 0);
	assert_string_equal(story, "hello-001");
	stet_free(story);
	assert_string_equal(files(host), "a.c modified\nb.c created\n");
	assert_string_equal(tasks(host), "1 Write tests pending\n");
}

static void what_a_story_says_survives_the_process_and_the_database(void **state) {
	struct host *host = *state;
	start(host);
	assert_int_equal(stet_story_begin(host->ws, "hello-001", NULL), 0);
	assert_int_equal(stet_story_use_snapshot(host->ws, 0, NULL), 0);
	reopen(host, "agent");
	assert_int_equal(stet_snapshot_used(host->ws, NULL), 0);
	assert_int_equal(stet_state_flush(host->ws, NULL), 0);
	assert_non_null(strstr(dir_read(host->dir, ".stet/repostate.json"), "\"use_snapshot\":false"));
	dir_write(host->dir, ".stet/stet.db", "no database");
	reopen(host, "agent");
	assert_int_equal(stet_snapshot_used(host->ws, NULL), 0);
}

static void two_processes_share_the_state(void **state) {
	struct host *host = *state;
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	start(host);
	assert_int_equal(host_write(host, "a.c", "one\n"), 0);
	assert_string_equal(files(host), "a.c created\n");
	assert_int_equal(stet_workspace_open(host->dir->path, &ws, NULL), 0);
	assert_int_equal(stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL), 0);
	assert_int_equal(stet_session_open(ws, NULL, &session, NULL), 0);
	assert_int_equal(stet_session_write(session, "b.c", "x", 1, NULL, NULL, NULL), 0);
	assert_string_equal(files(host), "a.c created\nb.c created\n");
	assert_int_equal(stet_story_begin(ws, "two", NULL), 0);
	assert_string_equal(files(host), "a.c unchanged\nb.c unchanged\n");
	stet_session_close(session);
	stet_workspace_close(ws);
}

static yyjson_doc *read_json(struct host *host) {
	const char *text = dir_read(host->dir, ".stet/repostate.json");
	yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
	assert_non_null(doc);
	return doc;
}

static void the_state_file_has_the_fields_of_the_specification(void **state) {
	struct host *host = *state;
	start(host);
	assert_int_equal(stet_story_begin(host->ws, "hello-001", NULL), 0);
	assert_int_equal(mkdirat(host->dir->fd, "cmd", 0700), 0);
	assert_int_equal(host_write(host, "cmd/main.go", "package main\n"), 0);
	add(host, "Add unit tests for main package");
	assert_int_equal(stet_state_flush(host->ws, &host->err), 0);
	yyjson_doc *doc = read_json(host);
	yyjson_val *root = yyjson_doc_get_root(doc);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(root, "work_dir")),
	                    stet_workspace_root(host->ws));
	assert_string_equal(yyjson_get_str(yyjson_obj_get(root, "story_id")), "hello-001");
	assert_int_equal(yyjson_get_int(yyjson_obj_get(root, "version")), 1);
	assert_int_equal(strlen(yyjson_get_str(yyjson_obj_get(root, "last_updated"))), 20);
	yyjson_val *file = yyjson_arr_get(yyjson_obj_get(root, "files"), 0);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(file, "path")), "cmd/main.go");
	assert_int_equal(strlen(yyjson_get_str(yyjson_obj_get(file, "hash"))), 64);
	assert_int_equal(yyjson_get_int(yyjson_obj_get(file, "size")), 13);
	assert_int_equal(strlen(yyjson_get_str(yyjson_obj_get(file, "mod_time"))), 20);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(file, "type")), "go");
	assert_string_equal(yyjson_get_str(yyjson_obj_get(file, "status")), "created");
	yyjson_val *task = yyjson_arr_get(yyjson_obj_get(root, "open_tasks"), 0);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(task, "description")),
	                    "Add unit tests for main package");
	assert_string_equal(yyjson_get_str(yyjson_obj_get(task, "status")), "pending");
	assert_int_equal(yyjson_get_int(yyjson_obj_get(task, "priority")), 1);
	yyjson_doc_free(doc);
}

static void the_state_file_follows_by_itself(void **state) {
	struct host *host = *state;
	start(host);
	assert_int_equal(host_write(host, "a.c", "one\n"), 0);
	for (int i = 0; i < 3000 && !dir_has(host->dir, ".stet/repostate.json"); i++)
		sleep_ms(10);
	assert_non_null(strstr(dir_read(host->dir, ".stet/repostate.json"), "\"a.c\""));
	assert_int_equal(stet_state_flush(host->ws, NULL), 0);
}

static void without_a_database_the_state_file_is_taken(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "kept.c", "one\n");
	dir_write(host->dir, "edited.c", "one\n");
	assert_int_equal(stet_story_begin(host->ws, "hello-001", NULL), 0);
	assert_int_equal(host_read(host, "kept.c"), 0);
	assert_int_equal(host_edit(host, "edited.c", "one", "two"), 0);
	assert_int_equal(host_write(host, "new.c", "new\n"), 0);
	assert_int_equal(host_write(host, "n\xff.c", "new\n"), 0);
	assert_int_equal(host_write(host, "gone.c", "new\n"), 0);
	assert_int_equal(unlink(dir_at(host->dir, "gone.c")), 0);
	assert_int_equal(stet_task_complete(host->session, add(host, "One"), NULL), 0);
	assert_int_equal(stet_task_start(host->session, add(host, "Two"), NULL), 0);
	st_auto(st_buf) before = ST_BUF_INIT;
	st_buf_adds(&before, files(host));
	stet_session_close(host->session);
	stet_workspace_close(host->ws);
	host->session = NULL;
	assert_int_equal(run(host->dir, NULL, (const char *[]){"sh", "-c", "rm .stet/stet.db*", NULL}),
	                 0);
	host->ws = NULL;
	assert_int_equal(stet_workspace_open(host->dir->path, &host->ws, NULL), 0);
	assert_int_equal(stet_session_open(host->ws, "agent", &host->session, NULL), 0);
	assert_string_equal(files(host), st_buf_cstr(&before));
	assert_string_equal(tasks(host), "1 One completed agent\n2 Two in_progress agent\n");
	assert_string_equal(notices(host), "");
}

/* ---- a bad state file ---- */

static void put_state(struct host *host, const char *text) {
	mkdirat(host->dir->fd, ".stet", 0700);
	dir_write(host->dir, ".stet/repostate.json", text);
}

static void set_aside(struct host *host, const char *text, const char *why) {
	put_state(host, text);
	assert_string_equal(files(host), "");
	says(host, why);
	assert_string_equal(dir_read(host->dir, ".stet/repostate.json.damaged-1"), text);
	assert_false(dir_has(host->dir, ".stet/repostate.json"));
	/* And it goes on. */
	start(host);
	assert_int_equal(host_write(host, "a.c", "one\n"), 0);
	assert_string_equal(files(host), "a.c created\n");
}

static void a_truncated_state_file_is_set_aside(void **state) {
	set_aside(*state, "{\"work_dir\": \"/x\", \"files\": [{\"pa", "state file");
}

static void an_unknown_version_is_set_aside(void **state) {
	set_aside(*state, "{\"version\": 7, \"files\": []}", "Its version is not 1");
}

static void wrong_types_are_set_aside(void **state) {
	set_aside(*state, "{\"version\": 1, \"files\": {\"path\": \"a.c\"}}",
	          "where a list is expected");
}

static void a_file_with_a_number_for_a_hash_is_set_aside(void **state) {
	set_aside(
		*state,
		"{\"files\": [{\"path\": \"a.c\", \"hash\": 5, \"size\": 1, \"status\": \"created\"}]}",
		"64 hex digits");
}

static void a_task_with_a_bad_status_is_set_aside(void **state) {
	set_aside(*state, "{\"open_tasks\": [{\"description\": \"x\", \"status\": \"started\"}]}",
	          "pending, in_progress or completed");
}

static void a_state_file_that_is_not_an_object_is_set_aside(void **state) {
	set_aside(*state, "[1, 2]", "where an object is expected");
}

static void a_task_of_ten_megabytes_is_set_aside(void **state) {
	struct host *host = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, "{\"open_tasks\": [{\"status\": \"pending\", \"description\": \"");
	for (int i = 0; i < 10 << 20; i += 64)
		st_buf_adds(&text, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	st_buf_adds(&text, "\"}]}");
	put_state(host, text.ptr);
	assert_string_equal(tasks(host), "");
	says(host, "the limit is 4096");
	assert_true(dir_has(host->dir, ".stet/repostate.json.damaged-1"));
}

static void paths_outside_the_root_are_left_out(void **state) {
	struct host *host = *state;
	static const char hash[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	static const char *const outside[] = {
		"../x", "/etc/passwd", "a/../../x", ".git/config", ".stet/stet.db", "./a.c", "a//b.c"};
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, "{\"version\": 1, \"story_id\": \"s\", \"files\": [");
	for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
		st_buf_addf(&text,
		            "{\"path\": \"%s\", \"hash\": \"%s\", \"size\": 1, \"status\": \"created\"},",
		            outside[i], hash);
	st_buf_addf(&text,
	            "{\"path\": \"good.c\", \"hash\": \"%s\", \"size\": 1, \"status\": \"created\"}]}",
	            hash);
	put_state(host, text.ptr);
	dir_write(host->dir, "good.c", "x");
	/* The entry of the valid file is compared with the disk. */
	assert_string_equal(files(host), "good.c created external\n");
	says(host, "7 of its paths");
	assert_true(dir_has(host->dir, ".stet/repostate.json.damaged-1"));
}

static void a_state_file_of_the_specification_is_taken(void **state) {
	struct host *host = *state;
	put_state(host,
	          "{\"work_dir\": \"/work/coder-001\", \"story_id\": \"hello-001\", \"files\": ["
	          "{\"path\": \"cmd/main.go\", \"hash\": "
	          "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\", \"size\": 0,"
	          "\"mod_time\": \"2025-10-22T03:15:42Z\", \"type\": \"go\", \"status\": \"created\"}],"
	          "\"open_tasks\": [{\"description\": \"Add unit tests for main package\","
	          "\"status\": \"pending\", \"priority\": 1}], \"last_updated\": "
	          "\"2025-10-22T03:15:42Z\"}");
	dir_write(host->dir, "cmd/main.go", "");
	assert_string_equal(files(host), "cmd/main.go created\n");
	assert_string_equal(tasks(host), "1 Add unit tests for main package pending\n");
	assert_string_equal(notices(host), "");
}

/* ---- tasks ---- */

static void tasks_are_added_started_finished_and_kept(void **state) {
	struct host *host = *state;
	int64_t one = add(host, "One"), two = add(host, "Two"), three = add(host, "Three");
	assert_int_equal(stet_task_start(host->session, two, NULL), 0);
	assert_int_equal(stet_task_complete(host->session, one, NULL), 0);
	assert_int_equal(stet_task_prioritise(host->ws, three, -1, NULL), 0);
	assert_string_equal(tasks(host),
	                    "3 Three pending\n1 One completed agent\n2 Two in_progress agent\n");
	assert_int_equal(stet_task_remove(host->ws, three, NULL), 0);
	assert_int_equal(stet_task_remove(host->ws, three, &host->err), STET_E_NOT_FOUND);
	assert_int_equal(stet_task_start(host->session, 99, &host->err), STET_E_NOT_FOUND);
	assert_string_equal(tasks(host), "1 One completed agent\n2 Two in_progress agent\n");
}

static void a_task_that_somebody_works_on_is_not_started_again(void **state) {
	struct host *host = *state;
	struct stet_session *other = host_session(host, "other");
	int64_t id = add(host, "One");
	assert_int_equal(stet_task_start(host->session, id, NULL), 0);
	assert_int_equal(stet_task_start(host->session, id, NULL), 0);
	assert_int_equal(stet_task_start(other, id, &host->err), STET_E_CONFLICT);
	assert_non_null(strstr(host->err.message, "\"agent\" works on task 1"));
	stet_session_close(other);
}

static void a_new_list_keeps_what_is_in_both(void **state) {
	struct host *host = *state;
	static const char *const first[] = {"One", "Two", "Three"};
	static const char *const second[] = {"Three", "Four", "Two"};
	assert_int_equal(stet_tasks_set(host->ws, first, 3, NULL), 0);
	assert_int_equal(stet_task_start(host->session, 2, NULL), 0);
	assert_int_equal(stet_task_complete(host->session, 1, NULL), 0);
	assert_int_equal(stet_tasks_set(host->ws, second, 3, &host->err), 0);
	assert_string_equal(
		tasks(host),
		"1 One completed agent\n3 Three pending\n4 Four pending\n2 Two in_progress agent\n");
}

static void limits_on_tasks_are_said(void **state) {
	struct host *host = *state;
	char text[4098];
	int64_t id;
	memset(text, 'x', sizeof text);
	assert_int_equal(stet_task_add(host->ws, text, 4097, 0, &id, &host->err), STET_E_TOO_BIG);
	assert_int_equal(stet_task_add(host->ws, text, 4096, 0, &id, &host->err), 0);
	assert_int_equal(stet_task_add(host->ws, " \n", 2, 0, &id, &host->err), STET_E_INVALID);
	assert_int_equal(stet_task_add(host->ws, "a\xff", 2, 0, &id, &host->err), STET_E_INVALID);
	static const char *many[1001];
	for (size_t i = 0; i < 1001; i++)
		many[i] = "x";
	assert_int_equal(stet_tasks_set(host->ws, many, 1001, &host->err), STET_E_TOO_BIG);
	assert_int_equal(stet_tasks_set(host->ws, many, 1000, &host->err), 0);
	assert_int_equal(stet_task_add(host->ws, "x", 1, 0, &id, &host->err), STET_E_TOO_BIG);
	assert_int_equal(stet_tasks_set(host->ws, many, 1, &host->err), 0);
	assert_int_equal(stet_task_add(host->ws, "x", 1, 0, &id, &host->err), 0);
}

/* Claim until none is left, and write the numbers to a file. */
static void claim_all(const struct dir *dir, int worker) {
	char name[32];
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	snprintf(name, sizeof name, "claimed-%d", worker);
	FILE *out = fopen(dir_at(dir, name), "w");
	struct stet_error err = {0};
	bool fine = out && stet_workspace_open(dir->path, &ws, &err) == 0;
	int code = STET_E_BUSY;
	while (fine && code == STET_E_BUSY)
		code = stet_session_open(ws, name, &session, &err);
	/* On a slow machine others may hold the database for longer than a call waits: then again. */
	for (int64_t id = 1; fine && id != 0 && (code == 0 || code == STET_E_BUSY);) {
		code = stet_task_claim(session, &id, &err);
		if (code == 0 && id)
			fprintf(out, "%lld\n", (long long)id);
	}
	fine = fine && code == 0;
	stet_session_close(session);
	stet_workspace_close(ws);
	if (!fine)
		fprintf(stderr, "%s: %s\n", name, err.message);
	_exit(fine && fclose(out) == 0 ? 0 : 1);
}

static void no_two_sessions_claim_the_same_task(void **state) {
	struct host *host = *state;
	enum { WORKERS = 4, TASKS = 60 };
	for (int i = 0; i < TASKS; i++)
		add(host, "Something");
	stet_session_close(host->session);
	stet_workspace_close(host->ws);
	host->session = NULL;
	host->ws = NULL;
	for (int i = 0; i < WORKERS; i++) {
		if (fork() == 0)
			claim_all(host->dir, i);
	}
	for (int i = 0; i < WORKERS; i++) {
		int status;
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	st_auto(st_buf) counts = ST_BUF_INIT;
	assert_int_equal(run(host->dir, &counts,
	                     (const char *[]){"sh", "-c",
	                                      "cat claimed-* | sort -n | uniq | wc -l; cat "
	                                      "claimed-* | wc -l",
	                                      NULL}),
	                 0);
	assert_string_equal(st_buf_cstr(&counts), "60\n60\n");
}

/* ---- a disk that is full for a moment ---- */

static void what_could_not_be_stored_is_stored_with_the_next(void **state) {
	struct host *host = *state;
	struct rlimit limit, full;
	struct stat wal;
	start(host);
	assert_int_equal(host_write(host, "a.c", "one\n"), 0);
	assert_int_equal(stat(dir_at(host->dir, ".stet/stet.db-wal"), &wal), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	full = limit;
	full.rlim_cur = (rlim_t)wal.st_size;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	int code = host_write(host, "b.c", "two\n");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(code, 0);
	says(host, "could not be stored");
	assert_int_equal(host_write(host, "c.c", "three\n"), 0);
	assert_string_equal(files(host), "a.c created\nb.c created\nc.c created\n");
	reopen(host, NULL);
	assert_string_equal(files(host), "a.c created\nb.c created\nc.c created\n");
}

/* ---- the log and undo ---- */

static void a_write_is_taken_back(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_edit(host, "a.c", "one", "two"), 0);
	assert_int_equal(host_edit(host, "a.c", "two", "three"), 0);
	assert_int_equal(stet_undo(host->session, NULL, NULL, &host->err), 0);
	assert_string_equal(dir_read(host->dir, "a.c"), "two\n");
	assert_int_equal(stet_undo(host->session, "a.c", NULL, &host->err), 0);
	assert_string_equal(dir_read(host->dir, "a.c"), "one\n");
	assert_int_equal(stet_undo(host->session, "a.c", NULL, &host->err), STET_E_NOT_FOUND);
	assert_string_equal(files(host), "a.c unchanged\n");
}

static void a_file_that_was_made_is_removed_and_one_that_was_removed_comes_back(void **state) {
	struct host *host = *state;
	char *answer = NULL;
	static const char args[] = "{\"path\": \"a.c\"}";
	static const char move[] = "{\"source\": \"a.c\", \"destination\": \"b.c\"}";
	start(host);
	assert_int_equal(host_write(host, "a.c", "one\n"), 0);
	assert_int_equal(
		stet_call(host->session, "delete_file", args, strlen(args), &answer, NULL, NULL), 0);
	stet_free(answer);
	assert_string_equal(files(host), "a.c deleted\n");
	assert_int_equal(stet_undo(host->session, NULL, NULL, &host->err), 0);
	assert_string_equal(dir_read(host->dir, "a.c"), "one\n");
	assert_string_equal(files(host), "a.c created\n");
	assert_int_equal(stet_call(host->session, "move_file", move, strlen(move), &answer, NULL, NULL),
	                 0);
	stet_free(answer);
	assert_string_equal(files(host), "a.c deleted\nb.c created\n");
	assert_int_equal(stet_undo(host->session, "b.c", NULL, &host->err), 0);
	assert_false(dir_has(host->dir, "b.c"));
}

static void an_undo_after_a_restart_finds_the_old_bytes(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_edit(host, "a.c", "one", "two"), 0);
	reopen(host, "agent");
	assert_int_equal(stet_undo(host->session, NULL, NULL, &host->err), 0);
	assert_string_equal(dir_read(host->dir, "a.c"), "one\n");
}

/* Memory holds a copy of the last version only. */
static void writes_are_taken_back_one_after_the_other(void **state) {
	struct host *host = *state;
	enum { WRITES = 8 };
	for (int restart = 0; restart < 2; restart++) {
		char old[16], new[16];
		start(host);
		dir_write(host->dir, "a.c", "0\n");
		assert_int_equal(host_read(host, "a.c"), 0);
		for (int i = 0; i < WRITES; i++) {
			snprintf(old, sizeof old, "%d\n", i);
			snprintf(new, sizeof new, "%d\n", i + 1);
			assert_int_equal(host_edit(host, "a.c", old, new), 0);
		}
		if (restart)
			reopen(host, "agent");
		for (int i = WRITES - 1; i >= 0; i--) {
			assert_int_equal(stet_undo(host->session, "a.c", NULL, &host->err), 0);
			snprintf(old, sizeof old, "%d\n", i);
			assert_string_equal(dir_read(host->dir, "a.c"), old);
		}
	}
}

/* A process that ends without a word, right after its write. */
static void a_killed_process_leaves_what_undo_needs(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "one\n");
	pid_t child = fork();
	if (child == 0) {
		struct stet_workspace *ws;
		struct stet_session *session;
		int failed = stet_workspace_open(host->dir->path, &ws, NULL) < 0 ||
		             stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL) < 0 ||
		             stet_session_open(ws, NULL, &session, NULL) < 0 ||
		             stet_session_edit(session, "a.c", "one", 3, "two", 3, NULL, NULL, NULL) < 0;
		_exit(failed);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	start(host);
	assert_string_equal(dir_read(host->dir, "a.c"), "two\n");
	assert_int_equal(dir_count(host->dir, ".stet/moved"), ROOM + 1);
	assert_int_equal(stet_undo(host->session, "a.c", NULL, &host->err), 0);
	assert_string_equal(dir_read(host->dir, "a.c"), "one\n");
	/* And whoever comes next puts it where it belongs. */
	reopen(host, "agent");
	assert_int_equal(dir_count(host->dir, ".stet/moved"), ROOM + 0);
	/* Beside the two, the file that says when versions were last checked for their age. */
	assert_true(dir_has(host->dir, ".stet/versions/.expiry"));
	assert_int_equal(dir_count(host->dir, ".stet/versions"), ROOM + 2 + 1);
}

static void a_file_that_moved_on_is_not_taken_back(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_edit(host, "a.c", "one", "two"), 0);
	dir_write(host->dir, "a.c", "mine\n");
	assert_int_equal(stet_undo(host->session, "a.c", NULL, &host->err), STET_E_CONFLICT);
	assert_string_equal(dir_read(host->dir, "a.c"), "mine\n");
}

static void the_log_tells_who_wrote_what(void **state) {
	struct host *host = *state;
	char *log = NULL;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(stet_log(host->ws, NULL, 10, &log, NULL), 0);
	assert_string_equal(log, "[]");
	stet_free(log);
	assert_int_equal(host_edit(host, "a.c", "one", "two"), 0);
	assert_int_equal(host_write(host, "b.c", "x"), 0);
	assert_int_equal(host_write(host, "b.c", "x"), 0);
	assert_int_equal(stet_undo(host->session, "a.c", NULL, &host->err), 0);
	assert_int_equal(stet_log(host->ws, NULL, 10, &log, NULL), 0);
	yyjson_doc *doc = yyjson_read(log, strlen(log), 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	/* A write that changed nothing is none. */
	assert_int_equal(yyjson_arr_size(root), 3);
	yyjson_val *undo = yyjson_arr_get(root, 0), *new = yyjson_arr_get(root, 1);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(undo, "session")), "agent");
	assert_int_equal(yyjson_get_int(yyjson_obj_get(undo, "undoes")), 1);
	assert_true(yyjson_is_null(yyjson_obj_get(new, "before")));
	assert_int_equal(strlen(yyjson_get_str(yyjson_obj_get(new, "after"))), 64);
	assert_int_equal(yyjson_get_int(yyjson_obj_get(yyjson_arr_get(root, 2), "undoneBy")), 3);
	yyjson_doc_free(doc);
	stet_free(log);
	assert_int_equal(stet_log(host->ws, "b.c", 10, &log, NULL), 0);
	doc = yyjson_read(log, strlen(log), 0);
	assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 1);
	yyjson_doc_free(doc);
	stet_free(log);
}

static void a_conflict_names_the_writer_of_another_process(void **state) {
	struct host *host = *state;
	struct stet_workspace *ws = NULL;
	struct stet_session *other = NULL;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	assert_int_equal(stet_workspace_open(host->dir->path, &ws, NULL), 0);
	assert_int_equal(stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL), 0);
	assert_int_equal(stet_session_open(ws, "reviewer", &other, NULL), 0);
	assert_int_equal(stet_session_edit(other, "a.c", "one", 3, "two", 3, NULL, NULL, NULL), 0);
	stet_session_close(other);
	stet_workspace_close(ws);
	assert_int_equal(host_edit(host, "a.c", "one", "three"), STET_E_CONFLICT);
	assert_non_null(strstr(stet_answer_message(host->answer), "\"reviewer\" wrote"));
}

/* ---- other programs' tools ---- */

static void record(struct host *host, const char *tool, const char *result) {
	char text[1024];
	char *out = NULL;
	snprintf(text, sizeof text, "%s", result);
	for (char *quote = text; (quote = strchr(quote, '\'')); quote++)
		*quote = '"';
	if (stet_record(host->session, tool, text, strlen(text), &out, &host->err) < 0)
		fail_msg("%s", host->err.message);
	assert_non_null(out);
	stet_free(out);
}

static void results_of_other_tools_say_where_to_look(void **state) {
	struct host *host = *state;
	static const char *const made[] = {"a.go", "b.go", "c.go", "d.go", "e.go", "f.go"};
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		dir_write(host->dir, made[i], "x\n");
	record(host, "write_file", "{'success': true, 'path': 'a.go'}");
	record(host, "create_file", "{'file_path': 'b.go', 'message': 'File created'}");
	record(host, "edit_file", "{'filePath': 'c.go', 'replaced': 1}");
	record(host, "apply_patch",
	       "{'output': 'Success. Updated the following files:\\nA d.go\\nM e.go\\nD gone.go\\n'}");
	record(host, "str_replace_based_edit_tool", "{'command': 'create', 'path': 'f.go'}");
	assert_string_equal(files(host),
	                    "a.go written\nb.go created\nc.go modified\nd.go created\ne.go "
	                    "modified\nf.go created\ngone.go deleted\n");
}

static void a_patch_names_its_files(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "x\n");
	dir_write(host->dir, "b.c", "x\n");
	record(host, "apply_patch",
	       "{'input': '*** Begin Patch\\n*** Update File: a.c\\n@@\\n-y\\n+x\\n*** Add File: "
	       "b.c\\n+x\\n*** End Patch'}");
	assert_string_equal(files(host), "a.c modified\nb.c created\n");
}

static void a_delete_and_a_move_are_told(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "x\n");
	dir_write(host->dir, "b.c", "x\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	assert_int_equal(host_read(host, "b.c"), 0);
	assert_int_equal(unlink(dir_at(host->dir, "a.c")), 0);
	assert_int_equal(rename(dir_at(host->dir, "b.c"), dir_at(host->dir, "c.c")), 0);
	record(host, "delete_file", "{'path': 'a.c'}");
	record(host, "move_file", "{'source': 'b.c', 'destination': 'c.c'}");
	stet_session_invalidate(host->session, "a.c");
	stet_session_invalidate(host->session, "b.c");
	assert_string_equal(files(host), "a.c deleted\nb.c deleted\nc.c created\n");
}

static void a_directory_that_other_tools_move_or_delete_is_no_file(void **state) {
	struct host *host = *state;
	start(host);
	fill_src(host);
	assert_int_equal(rename(dir_at(host->dir, "src"), dir_at(host->dir, "lib")), 0);
	record(host, "move_file", "{'source': 'src', 'destination': 'lib'}");
	/* For one that has read nothing, so that its reads mark nothing. */
	reopen(host, "other");
	assert_string_equal(files(host),
	                    "lib/a.c created\nlib/in/b.c created\nlib/in/c.c created\n"
	                    "src/a.c deleted\nsrc/in/b.c deleted\nsrc/in/c.c deleted\n"
	                    "srcs.c unchanged\n");
	assert_int_equal(unlink(dir_at(host->dir, "lib/in/b.c")), 0);
	assert_int_equal(unlink(dir_at(host->dir, "lib/in/c.c")), 0);
	assert_int_equal(rmdir(dir_at(host->dir, "lib/in")), 0);
	record(host, "delete", "{'path': 'lib/in'}");
	assert_string_equal(files(host),
	                    "lib/a.c created\nlib/in/b.c deleted\nlib/in/c.c deleted\n"
	                    "src/a.c deleted\nsrc/in/b.c deleted\nsrc/in/c.c deleted\n"
	                    "srcs.c unchanged\n");
	/* A move that did not take place is none. */
	record(host, "move_file", "{'source': 'lib', 'destination': 'elsewhere'}");
	assert_non_null(strstr(files(host), "lib/a.c created\n"));
	assert_null(strstr(files(host), "elsewhere"));
}

static void the_disk_is_believed_and_not_the_result(void **state) {
	struct host *host = *state;
	record(host, "write_file", "{'success': true, 'path': 'never.c'}");
	record(host, "delete_file", "{'path': '../outside'}");
	record(host, "write_file", "{'path': '/etc/passwd'}");
	assert_string_equal(files(host), "");
	dir_write(host->dir, "a.c", "x\n");
	record(host, "delete_file", "{'path': 'a.c', 'success': true}");
	assert_string_equal(files(host), "a.c unchanged\n");
}

static void after_a_command_every_tracked_file_is_looked_at(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	dir_write(host->dir, "a.c", "formatted\n");
	record(host, "shell", "{'command': 'fmt a.c', 'exit_code': 0, 'stdout': ''}");
	assert_string_equal(files(host), "a.c modified external\n");
}

/* ---- no wrong statement ---- */

static void begin_story(struct host *host) {
	if (stet_story_begin(host->ws, "s", &host->err) < 0)
		fail_msg("%s", host->err.message);
}

static void a_file_that_is_put_back_is_not_changed_by_others(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	/* For one that has read nothing, so that only the record decides. */
	reopen(host, "other");
	dir_write(host->dir, "a.c", "two\n");
	assert_string_equal(files(host), "a.c modified external\n");
	dir_write(host->dir, "a.c", "one\n");
	assert_string_equal(files(host), "a.c unchanged\n");
	assert_int_equal(unlink(dir_at(host->dir, "a.c")), 0);
	assert_string_equal(files(host), "a.c deleted external\n");
	dir_write(host->dir, "a.c", "one\n");
	assert_string_equal(files(host), "a.c unchanged\n");
}

static void a_file_that_others_made_after_the_story_began_is_created(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "old.c", "one\n");
	begin_story(host);
	dir_write(host->dir, "new.c", "one\n");
	dir_write(host->dir, "made.c", "one\n");
	assert_int_equal(host_read(host, "new.c"), 0);
	assert_int_equal(host_read(host, "old.c"), 0);
	record(host, "edit_file", "{'path': 'made.c'}");
	assert_string_equal(files(host), "made.c created\nnew.c created\nold.c unchanged\n");
}

static void a_file_that_was_there_is_not_created_by_a_recorded_write(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "one\n");
	dir_write(host->dir, "b.c", "one\n");
	begin_story(host);
	dir_write(host->dir, "a.c", "longer\n");
	record(host, "write_file", "{'path': 'a.c'}");
	record(host, "write_file", "{'path': 'b.c'}");
	assert_string_equal(files(host), "a.c modified\nb.c unchanged\n");
}

static void the_type_of_a_write_tells_an_update_from_a_creation(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.c", "one\n");
	dir_write(host->dir, "b.c", "one\n");
	record(host, "Write", "{'type': 'create', 'filePath': 'a.c'}");
	record(host, "Write", "{'type': 'update', 'filePath': 'b.c'}");
	assert_string_equal(files(host), "a.c created\nb.c modified\n");
}

static void an_ignored_file_is_not_created_because_the_scan_left_it_out(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, ".gitignore", "*.log\n");
	dir_write(host->dir, "a.log", "one\n");
	begin_story(host);
	assert_int_equal(host_read(host, "a.log"), 0);
	assert_string_equal(files(host), "a.log unchanged\n");
}

static void a_failed_tool_hides_no_change(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	reopen(host, "other");
	dir_write(host->dir, "a.c", "two\n");
	record(host, "edit_file", "{'path': 'a.c', 'error': 'oldText not found'}");
	assert_string_equal(files(host), "a.c modified external\n");
}

static void a_move_hides_no_change(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	reopen(host, "other");
	dir_write(host->dir, "a.c", "two\n");
	assert_int_equal(rename(dir_at(host->dir, "a.c"), dir_at(host->dir, "b.c")), 0);
	st_auto(st_call_scope) scope = st_call_scope_begin(host->session, true);
	st_session_report_move(host->session, "a.c", "b.c", false);
	st_call_scope_release(&scope);
	assert_string_equal(files(host), "a.c deleted\nb.c created external\n");
}

static void the_readable_copy_is_true_after_a_snapshot(void **state) {
	struct host *host = *state;
	start(host);
	dir_write(host->dir, "a.c", "one\n");
	assert_int_equal(host_read(host, "a.c"), 0);
	assert_string_equal(files(host), "a.c unchanged\n");
	dir_write(host->dir, "a.c", "two\n");
	char *json = NULL;
	assert_int_equal(stet_state_json(host->session, &json, NULL, NULL), 0);
	yyjson_doc *now = yyjson_read(json, strlen(json), 0);
	const char *hash = yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(now), "/files/0/hash"));
	assert_non_null(hash);
	assert_non_null(strstr(dir_read(host->dir, ".stet/repostate.json"), hash));
	yyjson_doc_free(now);
	stet_free(json);
}

static const char *task_lines(struct host *host) {
	static char text[512];
	char *json = NULL;
	size_t at = 0;
	assert_int_equal(stet_state_json(host->session, &json, NULL, &host->err), 0);
	yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
	static const char *const lists[] = {"open_tasks", "finished_tasks"};
	text[0] = '\0';
	for (int i = 0; i < 2; i++) {
		size_t n, max;
		yyjson_val *task;
		yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), lists[i]), n, max, task) at +=
			(size_t)snprintf(text + at, sizeof text - at, "%s %s\n",
		                     yyjson_get_str(yyjson_obj_get(task, "status")),
		                     yyjson_get_str(yyjson_obj_get(task, "description")));
	}
	yyjson_doc_free(doc);
	stet_free(json);
	return text;
}

static void an_agents_to_do_list_becomes_the_tasks(void **state) {
	struct host *host = *state;
	int64_t id;
	assert_int_equal(stet_task_add(host->ws, "Ship", 4, 90, &id, NULL), 0);
	record(host, "TodoWrite",
	       "{'todos': [{'content': 'Read', 'status': 'in_progress', 'activeForm': 'Reading'},"
	       "{'content': 'Write', 'status': 'pending', 'activeForm': 'Writing'}]}");
	assert_string_equal(task_lines(host), "in_progress Read\npending Write\npending Ship\n");
	record(host, "update_plan",
	       "{'arguments': {'plan': [{'step': 'Read', 'status': 'completed'},"
	       "{'step': 'Test', 'status': 'in_progress'}]}}");
	assert_string_equal(task_lines(host), "in_progress Test\npending Ship\ncompleted Read\n");
	record(host, "write_todos",
	       "{'todos': [{'description': 'Test', 'status': 'cancelled'},"
	       "{'description': 'Ship', 'status': 'completed'}]}");
	assert_string_equal(task_lines(host), "completed Read\ncompleted Ship\n");
}

static void a_to_do_list_without_a_list_changes_no_task(void **state) {
	struct host *host = *state;
	int64_t id;
	assert_int_equal(stet_task_add(host->ws, "Ship", 4, 0, &id, NULL), 0);
	record(host, "todowrite", "{'todos': 'none', 'plan': [1, null, {'step': 7}]}");
	record(host, "todowrite", "[]");
	assert_string_equal(task_lines(host), "pending Ship\n");
}

static void a_sentence_names_its_files(void **state) {
	struct host *host = *state;
	begin_story(host);
	static const struct {
		const char *tool, *says, *files;
	} cases[] = {
		{"write_file", "'Successfully wrote to a.c'", "a.c created\n"},
		{"create", "'File created successfully at: a.c'", "a.c created\n"},
		{"edit", "'The file `a.c` has been updated. Here is the result: 1.5'", "a.c created\n"},
		{"write_file", "{'content': [{'type': 'text', 'text': 'Wrote 2 bytes to a.c.'}]}",
	     "a.c created\n"},
		{"edit", "'Error: no match in a.c'", ""},
		{"read_file", "'See a.c.'", ""},
		{"write_file", "'Done. Nothing else, e.g. in b.c or /etc/passwd.'", ""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char story[16];
		unlink(dir_at(host->dir, "a.c"));
		snprintf(story, sizeof story, "s%zu", i);
		assert_int_equal(stet_story_begin(host->ws, story, &host->err), 0);
		dir_write(host->dir, "a.c", "x\n");
		record(host, cases[i].tool, cases[i].says);
		assert_string_equal(files(host), cases[i].files);
	}
}

static void a_result_that_is_not_json_is_refused(void **state) {
	struct host *host = *state;
	assert_int_equal(stet_record(host->session, "write_file", "{", 1, NULL, &host->err),
	                 STET_E_INVALID);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(a_file_is_created_modified_or_unchanged),
		host_claim(a_file_that_is_changed_back_is_unchanged),
		host_claim(a_new_story_starts_from_what_is_there),
		host_claim(a_story_says_for_itself_whether_the_snapshot_is_used),
		host_claim(a_change_from_outside_is_found_and_marked),
		host_claim(a_touched_file_is_not_changed),
		host_claim(what_another_session_wrote_is_marked_for_who_had_read_it),
		host_claim(a_directory_that_is_moved_takes_its_files_along),
		host_claim(a_move_from_outside_is_followed),
		host_claim(a_path_that_became_a_link_is_another_file),
		host_claim(names_of_any_bytes_are_tracked),
		host_claim(a_scan_tracks_the_tree_and_later_what_came_to_it),
		host_claim(bare_library_calls_are_not_tracked_and_tools_are),
		host_claim(reading_alone_makes_no_state_directory),
		host_claim(the_state_survives_the_process),
		host_claim(what_a_story_says_survives_the_process_and_the_database),
		host_claim(two_processes_share_the_state),
		host_claim(the_state_file_has_the_fields_of_the_specification),
		host_claim(the_state_file_follows_by_itself),
		host_claim(without_a_database_the_state_file_is_taken),
		host_claim(a_truncated_state_file_is_set_aside),
		host_claim(an_unknown_version_is_set_aside),
		host_claim(wrong_types_are_set_aside),
		host_claim(a_file_with_a_number_for_a_hash_is_set_aside),
		host_claim(a_task_with_a_bad_status_is_set_aside),
		host_claim(a_state_file_that_is_not_an_object_is_set_aside),
		host_claim(a_task_of_ten_megabytes_is_set_aside),
		host_claim(paths_outside_the_root_are_left_out),
		host_claim(a_state_file_of_the_specification_is_taken),
		host_claim(tasks_are_added_started_finished_and_kept),
		host_claim(a_task_that_somebody_works_on_is_not_started_again),
		host_claim(a_new_list_keeps_what_is_in_both),
		host_claim(limits_on_tasks_are_said),
		host_claim(no_two_sessions_claim_the_same_task),
		host_claim(what_could_not_be_stored_is_stored_with_the_next),
		host_claim(a_write_is_taken_back),
		host_claim(a_file_that_was_made_is_removed_and_one_that_was_removed_comes_back),
		host_claim(an_undo_after_a_restart_finds_the_old_bytes),
		host_claim(writes_are_taken_back_one_after_the_other),
		host_claim(a_killed_process_leaves_what_undo_needs),
		host_claim(a_file_that_moved_on_is_not_taken_back),
		host_claim(the_log_tells_who_wrote_what),
		host_claim(a_conflict_names_the_writer_of_another_process),
		host_claim(results_of_other_tools_say_where_to_look),
		host_claim(a_patch_names_its_files),
		host_claim(a_delete_and_a_move_are_told),
		host_claim(a_directory_that_other_tools_move_or_delete_is_no_file),
		host_claim(the_disk_is_believed_and_not_the_result),
		host_claim(after_a_command_every_tracked_file_is_looked_at),
		host_claim(a_file_that_is_put_back_is_not_changed_by_others),
		host_claim(a_file_that_others_made_after_the_story_began_is_created),
		host_claim(a_file_that_was_there_is_not_created_by_a_recorded_write),
		host_claim(the_type_of_a_write_tells_an_update_from_a_creation),
		host_claim(an_ignored_file_is_not_created_because_the_scan_left_it_out),
		host_claim(a_failed_tool_hides_no_change),
		host_claim(a_move_hides_no_change),
		host_claim(the_readable_copy_is_true_after_a_snapshot),
		host_claim(an_agents_to_do_list_becomes_the_tasks),
		host_claim(a_to_do_list_without_a_list_changes_no_task),
		host_claim(a_sentence_names_its_files),
		host_claim(a_result_that_is_not_json_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
