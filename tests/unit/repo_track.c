/* The state of the work: what is tracked, how it stands, and that it survives (spec 2's test plan). */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/repo_json.h"
#include "core/state.h"
#include "lib/run.h"
#include "lib/session.h"
#include "stet/state.h"
#include "stet/tools.h"

/* The file in each directory of versions that says how full it is. */
enum { ROOM = 1 };

/* ---- the harness ---- */

/* Everything below tracks, as tools do. */
static void start(struct desk *desk) {
	assert_int_equal(stet_workspace_set(desk->ws, STET_OPTION_STATE, 2, NULL), 0);
}

static void reopen(struct desk *desk, const char *name) {
	stet_session_close(desk->session);
	stet_workspace_close(desk->ws);
	assert_int_equal(stet_workspace_open(desk->dir->path, &desk->ws, &desk->err), 0);
	start(desk);
	if (stet_session_open(desk->ws, name, &desk->session, &desk->err) < 0)
		fail_msg("%s", desk->err.message);
}

static const char *const words[] = {"unchanged", "created", "modified", "deleted"};

/* The files of the state as "path status" lines, with " external" where that is so. */
static const char *files(struct desk *desk) {
	static char text[4096];
	st_auto(st_repo_view) view = {0};
	size_t len = 0;
	text[0] = '\0';
	if (st_repo_look(&st_state_of(desk->ws)->repo, desk->session, 0, &view, &desk->err) < 0)
		fail_msg("%s", desk->err.message);
	for (size_t i = 0; i < view.state.file_count; i++) {
		const struct st_repo_file *file = &view.state.files[i];
		len += (size_t)snprintf(text + len, sizeof text - len, "%s %s%s\n", file->path,
		                        words[file->status], file->external ? " external" : "");
	}
	return text;
}

static const char *tasks(struct desk *desk) {
	static const char *const statuses[] = {"pending", "in_progress", "completed"};
	static char text[4096];
	st_auto(st_repo_view) view = {0};
	size_t len = 0;
	text[0] = '\0';
	if (st_repo_look(&st_state_of(desk->ws)->repo, NULL, ST_REPO_STORED, &view, &desk->err) < 0)
		fail_msg("%s", desk->err.message);
	for (size_t i = 0; i < view.state.task_count; i++) {
		const struct st_repo_task *task = &view.state.tasks[i];
		len += (size_t)snprintf(text + len, sizeof text - len, "%lld %s %s%s%s\n",
		                        (long long)task->id, task->description, statuses[task->status],
		                        task->owner ? " " : "", task->owner ? task->owner : "");
	}
	return text;
}

static int64_t add(struct desk *desk, const char *text) {
	int64_t id = 0;
	assert_int_equal(stet_task_add(desk->ws, text, strlen(text), 0, &id, &desk->err), 0);
	return id;
}

/* The notices that wait, in a static buffer. */
static const char *notices(struct desk *desk) {
	static char all[8192];
	size_t len = 0;
	all[0] = '\0';
	for (char *notice; (notice = stet_workspace_notice(desk->ws)); stet_free(notice))
		len += (size_t)snprintf(all + len, sizeof all - len, "%s\n", notice);
	return all;
}

static void says(struct desk *desk, const char *part) {
	const char *all = notices(desk);
	if (!strstr(all, part))
		fail_msg("no notice says \"%s\": %s", part, all);
}

/* ---- tracker accuracy ---- */

static void a_file_is_created_modified_or_unchanged(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "read.c", "one\n");
	dir_write(desk->dir, "edited.c", "one\n");
	dir_write(desk->dir, "untouched.c", "one\n");
	assert_int_equal(desk_read(desk, "read.c"), 0);
	assert_int_equal(desk_edit(desk, "edited.c", "one", "two"), 0);
	assert_int_equal(mkdirat(desk->dir->fd, "src", 0700), 0);
	assert_int_equal(desk_write(desk, "src/new.c", "new\n"), 0);
	assert_string_equal(files(desk), "edited.c modified\nread.c unchanged\nsrc/new.c created\n");
}

static void a_file_that_is_changed_back_is_unchanged(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(desk_edit(desk, "a.c", "one", "two"), 0);
	assert_int_equal(desk_edit(desk, "a.c", "two", "one"), 0);
	assert_string_equal(files(desk), "a.c unchanged\n");
}

static void a_new_story_starts_from_what_is_there(void **state) {
	struct desk *desk = *state;
	char *story = NULL;
	start(desk);
	assert_int_equal(stet_story(desk->ws, &story, NULL), 0);
	assert_null(story);
	assert_int_equal(stet_story_begin(desk->ws, "one", &desk->err), 0);
	assert_int_equal(desk_write(desk, "a.c", "one\n"), 0);
	assert_int_equal(desk_write(desk, "b.c", "one\n"), 0);
	assert_int_equal(unlink(dir_at(desk->dir, "b.c")), 0);
	assert_string_equal(files(desk), "a.c created\nb.c deleted external\n");
	/* The same story goes on. */
	assert_int_equal(stet_story_begin(desk->ws, "one", &desk->err), 0);
	assert_string_equal(files(desk), "a.c created\nb.c deleted external\n");
	assert_int_equal(stet_story_begin(desk->ws, "two", &desk->err), 0);
	assert_string_equal(files(desk), "a.c unchanged\n");
	assert_int_equal(desk_edit(desk, "a.c", "one", "two"), 0);
	assert_string_equal(files(desk), "a.c modified\n");
	assert_int_equal(stet_story(desk->ws, &story, NULL), 0);
	assert_string_equal(story, "two");
	stet_free(story);
	assert_int_equal(stet_story_end(desk->ws, NULL), 0);
	assert_int_equal(stet_story(desk->ws, &story, NULL), 0);
	assert_null(story);
	assert_string_equal(files(desk), "a.c modified\n");
	assert_int_equal(stet_story_begin(desk->ws, " ", &desk->err), STET_E_INVALID);
}

static void a_story_says_for_itself_whether_the_snapshot_is_used(void **state) {
	struct desk *desk = *state;
	start(desk);
	assert_int_equal(stet_snapshot_used(desk->ws, NULL), 1);
	assert_int_equal(stet_workspace_set(desk->ws, STET_OPTION_USE_SNAPSHOT, 0, NULL), 0);
	assert_int_equal(stet_snapshot_used(desk->ws, NULL), 0);
	assert_int_equal(stet_story_use_snapshot(desk->ws, 1, &desk->err), STET_E_INVALID);
	assert_int_equal(stet_story_begin(desk->ws, "one", NULL), 0);
	assert_int_equal(stet_snapshot_used(desk->ws, NULL), 0);
	assert_int_equal(stet_story_use_snapshot(desk->ws, 1, NULL), 0);
	assert_int_equal(stet_snapshot_used(desk->ws, NULL), 1);
	/* It goes with the story, and the configuration counts again. */
	assert_int_equal(stet_story_begin(desk->ws, "two", NULL), 0);
	assert_int_equal(stet_snapshot_used(desk->ws, NULL), 0);
	assert_int_equal(stet_story_use_snapshot(desk->ws, 1, NULL), 0);
	assert_int_equal(stet_story_use_snapshot(desk->ws, -1, NULL), 0);
	assert_int_equal(stet_snapshot_used(desk->ws, NULL), 0);
	assert_int_equal(stet_story_use_snapshot(desk->ws, 2, NULL), STET_E_INVALID);
}

static void a_change_from_outside_is_found_and_marked(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	dir_write(desk->dir, "b.c", "one\n");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	assert_int_equal(desk_read(desk, "b.c"), 0);
	dir_write(desk->dir, "a.c", "two\n");
	assert_int_equal(unlink(dir_at(desk->dir, "b.c")), 0);
	assert_string_equal(files(desk), "a.c modified external\nb.c deleted external\n");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	dir_write(desk->dir, "b.c", "one\n");
	/* Its bytes are what was read. */
	assert_string_equal(files(desk), "a.c modified\nb.c unchanged\n");
}

static void a_touched_file_is_not_changed(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	const struct timespec times[2] = {{1, 0}, {1, 0}};
	assert_int_equal(utimensat(desk->dir->fd, "a.c", times, 0), 0);
	assert_string_equal(files(desk), "a.c unchanged\n");
}

static void what_another_session_wrote_is_marked_for_who_had_read_it(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	struct stet_session *other = desk_session(desk, "other");
	assert_int_equal(stet_session_edit(other, "a.c", "one", 3, "two", 3, NULL, NULL, NULL), 0);
	assert_string_equal(files(desk), "a.c modified external\n");
	stet_session_close(other);
}

/* Three files in two directories below src, read by the session. */
static void fill_src(struct desk *desk) {
	static const char *const names[] = {"src/a.c", "src/in/b.c", "src/in/c.c", "srcs.c"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		dir_write(desk->dir, names[i], names[i]);
		assert_int_equal(desk_read(desk, names[i]), 0);
	}
}

static void a_directory_that_is_moved_takes_its_files_along(void **state) {
	struct desk *desk = *state;
	static const char move[] = "{\"source\":\"src\",\"destination\":\"lib\"}";
	char *answer = NULL;
	start(desk);
	fill_src(desk);
	assert_int_equal(desk_edit(desk, "src/a.c", "a", "A"), 0);
	assert_int_equal(stet_call(desk->session, "move_file", move, strlen(move), &answer, NULL, NULL),
	                 0);
	stet_free(answer);
	static const char moved[] =
		"lib/a.c created\nlib/in/b.c created\nlib/in/c.c created\nsrc/a.c deleted\n"
		"src/in/b.c deleted\nsrc/in/c.c deleted\nsrcs.c unchanged\n";
	assert_string_equal(files(desk), moved);
	reopen(desk, "agent");
	assert_string_equal(files(desk), moved);
	/* And back: as if nothing had happened. */
	static const char back[] = "{\"source\":\"lib/\",\"destination\":\"src\"}";
	assert_int_equal(stet_call(desk->session, "move_file", back, strlen(back), &answer, NULL, NULL),
	                 0);
	stet_free(answer);
	assert_string_equal(files(desk),
	                    "lib/a.c deleted\nlib/in/b.c deleted\nlib/in/c.c deleted\n"
	                    "src/a.c modified\nsrc/in/b.c unchanged\nsrc/in/c.c unchanged\n"
	                    "srcs.c unchanged\n");
}

static void a_move_from_outside_is_followed(void **state) {
	struct desk *desk = *state;
	start(desk);
	fill_src(desk);
	assert_int_equal(rename(dir_at(desk->dir, "src"), dir_at(desk->dir, "lib")), 0);
	assert_int_equal(rename(dir_at(desk->dir, "srcs.c"), dir_at(desk->dir, "one.c")), 0);
	/* One that changed on the way is not known for the same, and one that is gone is gone. */
	dir_write(desk->dir, "lib/in/b.c", "other");
	assert_int_equal(unlink(dir_at(desk->dir, "lib/in/c.c")), 0);
	static const char moved[] =
		"lib/a.c created\none.c created\nsrc/a.c deleted external\nsrc/in/b.c deleted external\n"
		"src/in/c.c deleted external\nsrcs.c deleted external\n";
	assert_string_equal(files(desk), moved);
	assert_string_equal(files(desk), moved);
	reopen(desk, "agent");
	assert_string_equal(files(desk), moved);
	/* The same bytes in another file are no move. */
	dir_write(desk->dir, "two.c", "src/a.c");
	assert_int_equal(unlink(dir_at(desk->dir, "lib/a.c")), 0);
	assert_null(strstr(files(desk), "two.c"));
}

static void a_path_that_became_a_link_is_another_file(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "d/a.c", "one\n");
	assert_int_equal(desk_read(desk, "d/a.c"), 0);
	assert_int_equal(rename(dir_at(desk->dir, "d"), dir_at(desk->dir, "e")), 0);
	assert_int_equal(symlinkat("e", desk->dir->fd, "d"), 0);
	assert_string_equal(files(desk), "d/a.c deleted external\ne/a.c created\n");
}

static void names_of_any_bytes_are_tracked(void **state) {
	struct desk *desk = *state;
	start(desk);
	assert_int_equal(desk_write(desk, "a\nb\xff.c", "one\n"), 0);
	assert_string_equal(files(desk), "a\nb\xff.c created\n");
	reopen(desk, "agent");
	assert_string_equal(files(desk), "a\nb\xff.c created\n");
}

static void a_scan_tracks_the_tree_and_later_what_came_to_it(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, ".gitignore", "*.o\n");
	dir_write(desk->dir, "a.c", "one\n");
	dir_write(desk->dir, "a.o", "one\n");
	dir_write(desk->dir, "d/b.c", "one\n");
	dir_write(desk->dir, "node_modules/c.js", "one\n");
	assert_int_equal(stet_story_begin(desk->ws, "one", NULL), 0);
	assert_int_equal(stet_state_scan(desk->ws, &desk->err), 0);
	assert_string_equal(files(desk), ".gitignore unchanged\na.c unchanged\nd/b.c unchanged\n");
	dir_write(desk->dir, "new.c", "one\n");
	assert_int_equal(stet_state_scan(desk->ws, &desk->err), 0);
	assert_string_equal(
		files(desk),
		".gitignore unchanged\na.c unchanged\nd/b.c unchanged\nnew.c created external\n");
}

static void bare_library_calls_are_not_tracked_and_tools_are(void **state) {
	struct desk *desk = *state;
	char *answer = NULL;
	static const char args[] = "{\"path\": \"b.c\", \"content\": \"x\"}";
	assert_int_equal(desk_write(desk, "a.c", "one\n"), 0);
	assert_string_equal(files(desk), "");
	assert_int_equal(
		stet_call(desk->session, "write_file", args, strlen(args), &answer, NULL, NULL), 0);
	stet_free(answer);
	assert_string_equal(files(desk), "b.c created\n");
}

static void reading_alone_makes_no_state_directory(void **state) {
	struct desk *desk = *state;
	reopen(desk, NULL);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	assert_false(dir_has(desk->dir, ".stet"));
	/* Asked for the state, it is there. */
	assert_string_equal(files(desk), "");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	assert_string_equal(files(desk), "a.c unchanged\n");
}

/* ---- persistence ---- */

static void the_state_survives_the_process(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(stet_story_begin(desk->ws, "hello-001", NULL), 0);
	assert_int_equal(desk_edit(desk, "a.c", "one", "two"), 0);
	assert_int_equal(desk_write(desk, "b.c", "new\n"), 0);
	add(desk, "Write tests");
	reopen(desk, "agent");
	char *story = NULL;
	assert_int_equal(stet_story(desk->ws, &story, NULL), 0);
	assert_string_equal(story, "hello-001");
	stet_free(story);
	assert_string_equal(files(desk), "a.c modified\nb.c created\n");
	assert_string_equal(tasks(desk), "1 Write tests pending\n");
}

static void what_a_story_says_survives_the_process_and_the_database(void **state) {
	struct desk *desk = *state;
	start(desk);
	assert_int_equal(stet_story_begin(desk->ws, "hello-001", NULL), 0);
	assert_int_equal(stet_story_use_snapshot(desk->ws, 0, NULL), 0);
	reopen(desk, "agent");
	assert_int_equal(stet_snapshot_used(desk->ws, NULL), 0);
	assert_int_equal(stet_state_flush(desk->ws, NULL), 0);
	assert_non_null(strstr(dir_read(desk->dir, ".stet/repostate.json"), "\"use_snapshot\":false"));
	dir_write(desk->dir, ".stet/stet.db", "no database");
	reopen(desk, "agent");
	assert_int_equal(stet_snapshot_used(desk->ws, NULL), 0);
}

static void two_processes_share_the_state(void **state) {
	struct desk *desk = *state;
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	start(desk);
	assert_int_equal(desk_write(desk, "a.c", "one\n"), 0);
	assert_string_equal(files(desk), "a.c created\n");
	assert_int_equal(stet_workspace_open(desk->dir->path, &ws, NULL), 0);
	assert_int_equal(stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL), 0);
	assert_int_equal(stet_session_open(ws, NULL, &session, NULL), 0);
	assert_int_equal(stet_session_write(session, "b.c", "x", 1, NULL, NULL, NULL), 0);
	assert_string_equal(files(desk), "a.c created\nb.c created\n");
	assert_int_equal(stet_story_begin(ws, "two", NULL), 0);
	assert_string_equal(files(desk), "a.c unchanged\nb.c unchanged\n");
	stet_session_close(session);
	stet_workspace_close(ws);
}

static yyjson_doc *read_json(struct desk *desk) {
	const char *text = dir_read(desk->dir, ".stet/repostate.json");
	yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
	assert_non_null(doc);
	return doc;
}

static void the_state_file_has_the_fields_of_the_specification(void **state) {
	struct desk *desk = *state;
	start(desk);
	assert_int_equal(stet_story_begin(desk->ws, "hello-001", NULL), 0);
	assert_int_equal(mkdirat(desk->dir->fd, "cmd", 0700), 0);
	assert_int_equal(desk_write(desk, "cmd/main.go", "package main\n"), 0);
	add(desk, "Add unit tests for main package");
	assert_int_equal(stet_state_flush(desk->ws, &desk->err), 0);
	yyjson_doc *doc = read_json(desk);
	yyjson_val *root = yyjson_doc_get_root(doc);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(root, "work_dir")),
	                    stet_workspace_root(desk->ws));
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
	struct desk *desk = *state;
	start(desk);
	assert_int_equal(desk_write(desk, "a.c", "one\n"), 0);
	for (int i = 0; i < 3000 && !dir_has(desk->dir, ".stet/repostate.json"); i++)
		sleep_ms(10);
	assert_non_null(strstr(dir_read(desk->dir, ".stet/repostate.json"), "\"a.c\""));
	assert_int_equal(stet_state_flush(desk->ws, NULL), 0);
}

static void without_a_database_the_state_file_is_taken(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "kept.c", "one\n");
	dir_write(desk->dir, "edited.c", "one\n");
	assert_int_equal(stet_story_begin(desk->ws, "hello-001", NULL), 0);
	assert_int_equal(desk_read(desk, "kept.c"), 0);
	assert_int_equal(desk_edit(desk, "edited.c", "one", "two"), 0);
	assert_int_equal(desk_write(desk, "new.c", "new\n"), 0);
	assert_int_equal(desk_write(desk, "n\xff.c", "new\n"), 0);
	assert_int_equal(desk_write(desk, "gone.c", "new\n"), 0);
	assert_int_equal(unlink(dir_at(desk->dir, "gone.c")), 0);
	assert_int_equal(stet_task_complete(desk->session, add(desk, "One"), NULL), 0);
	assert_int_equal(stet_task_start(desk->session, add(desk, "Two"), NULL), 0);
	st_auto(st_buf) before = ST_BUF_INIT;
	st_buf_adds(&before, files(desk));
	stet_session_close(desk->session);
	stet_workspace_close(desk->ws);
	desk->session = NULL;
	assert_int_equal(run(desk->dir, NULL, (const char *[]){"sh", "-c", "rm .stet/stet.db*", NULL}),
	                 0);
	desk->ws = NULL;
	assert_int_equal(stet_workspace_open(desk->dir->path, &desk->ws, NULL), 0);
	assert_int_equal(stet_session_open(desk->ws, "agent", &desk->session, NULL), 0);
	assert_string_equal(files(desk), st_buf_cstr(&before));
	assert_string_equal(tasks(desk), "1 One completed agent\n2 Two in_progress agent\n");
	assert_string_equal(notices(desk), "");
}

/* ---- a bad state file ---- */

static void put_state(struct desk *desk, const char *text) {
	mkdirat(desk->dir->fd, ".stet", 0700);
	dir_write(desk->dir, ".stet/repostate.json", text);
}

static void set_aside(struct desk *desk, const char *text, const char *why) {
	put_state(desk, text);
	assert_string_equal(files(desk), "");
	says(desk, why);
	assert_string_equal(dir_read(desk->dir, ".stet/repostate.json.damaged-1"), text);
	assert_false(dir_has(desk->dir, ".stet/repostate.json"));
	/* And it goes on. */
	start(desk);
	assert_int_equal(desk_write(desk, "a.c", "one\n"), 0);
	assert_string_equal(files(desk), "a.c created\n");
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
	struct desk *desk = *state;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, "{\"open_tasks\": [{\"status\": \"pending\", \"description\": \"");
	for (int i = 0; i < 10 << 20; i += 64)
		st_buf_adds(&text, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	st_buf_adds(&text, "\"}]}");
	put_state(desk, text.ptr);
	assert_string_equal(tasks(desk), "");
	says(desk, "the limit is 4096");
	assert_true(dir_has(desk->dir, ".stet/repostate.json.damaged-1"));
}

static void paths_outside_the_root_are_left_out(void **state) {
	struct desk *desk = *state;
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
	put_state(desk, text.ptr);
	dir_write(desk->dir, "good.c", "x");
	/* What the file says of the good one is compared with the disk. */
	assert_string_equal(files(desk), "good.c created external\n");
	says(desk, "7 of its paths");
	assert_true(dir_has(desk->dir, ".stet/repostate.json.damaged-1"));
}

static void a_state_file_of_the_specification_is_taken(void **state) {
	struct desk *desk = *state;
	put_state(desk,
	          "{\"work_dir\": \"/work/coder-001\", \"story_id\": \"hello-001\", \"files\": ["
	          "{\"path\": \"cmd/main.go\", \"hash\": "
	          "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\", \"size\": 0,"
	          "\"mod_time\": \"2025-10-22T03:15:42Z\", \"type\": \"go\", \"status\": \"created\"}],"
	          "\"open_tasks\": [{\"description\": \"Add unit tests for main package\","
	          "\"status\": \"pending\", \"priority\": 1}], \"last_updated\": "
	          "\"2025-10-22T03:15:42Z\"}");
	dir_write(desk->dir, "cmd/main.go", "");
	assert_string_equal(files(desk), "cmd/main.go created\n");
	assert_string_equal(tasks(desk), "1 Add unit tests for main package pending\n");
	assert_string_equal(notices(desk), "");
}

/* ---- tasks ---- */

static void tasks_are_added_started_finished_and_kept(void **state) {
	struct desk *desk = *state;
	int64_t one = add(desk, "One"), two = add(desk, "Two"), three = add(desk, "Three");
	assert_int_equal(stet_task_start(desk->session, two, NULL), 0);
	assert_int_equal(stet_task_complete(desk->session, one, NULL), 0);
	assert_int_equal(stet_task_prioritise(desk->ws, three, -1, NULL), 0);
	assert_string_equal(tasks(desk),
	                    "3 Three pending\n1 One completed agent\n2 Two in_progress agent\n");
	assert_int_equal(stet_task_remove(desk->ws, three, NULL), 0);
	assert_int_equal(stet_task_remove(desk->ws, three, &desk->err), STET_E_NOT_FOUND);
	assert_int_equal(stet_task_start(desk->session, 99, &desk->err), STET_E_NOT_FOUND);
	assert_string_equal(tasks(desk), "1 One completed agent\n2 Two in_progress agent\n");
}

static void a_task_that_somebody_works_on_is_not_started_again(void **state) {
	struct desk *desk = *state;
	struct stet_session *other = desk_session(desk, "other");
	int64_t id = add(desk, "One");
	assert_int_equal(stet_task_start(desk->session, id, NULL), 0);
	assert_int_equal(stet_task_start(desk->session, id, NULL), 0);
	assert_int_equal(stet_task_start(other, id, &desk->err), STET_E_CONFLICT);
	assert_non_null(strstr(desk->err.message, "\"agent\" works on task 1"));
	stet_session_close(other);
}

static void a_new_list_keeps_what_is_in_both(void **state) {
	struct desk *desk = *state;
	static const char *const first[] = {"One", "Two", "Three"};
	static const char *const second[] = {"Three", "Four", "Two"};
	assert_int_equal(stet_tasks_set(desk->ws, first, 3, NULL), 0);
	assert_int_equal(stet_task_start(desk->session, 2, NULL), 0);
	assert_int_equal(stet_task_complete(desk->session, 1, NULL), 0);
	assert_int_equal(stet_tasks_set(desk->ws, second, 3, &desk->err), 0);
	assert_string_equal(
		tasks(desk),
		"1 One completed agent\n3 Three pending\n4 Four pending\n2 Two in_progress agent\n");
}

static void limits_on_tasks_are_said(void **state) {
	struct desk *desk = *state;
	char text[4098];
	int64_t id;
	memset(text, 'x', sizeof text);
	assert_int_equal(stet_task_add(desk->ws, text, 4097, 0, &id, &desk->err), STET_E_TOO_BIG);
	assert_int_equal(stet_task_add(desk->ws, text, 4096, 0, &id, &desk->err), 0);
	assert_int_equal(stet_task_add(desk->ws, " \n", 2, 0, &id, &desk->err), STET_E_INVALID);
	assert_int_equal(stet_task_add(desk->ws, "a\xff", 2, 0, &id, &desk->err), STET_E_INVALID);
	static const char *many[1001];
	for (size_t i = 0; i < 1001; i++)
		many[i] = "x";
	assert_int_equal(stet_tasks_set(desk->ws, many, 1001, &desk->err), STET_E_TOO_BIG);
	assert_int_equal(stet_tasks_set(desk->ws, many, 1000, &desk->err), 0);
	assert_int_equal(stet_task_add(desk->ws, "x", 1, 0, &id, &desk->err), STET_E_TOO_BIG);
	assert_int_equal(stet_tasks_set(desk->ws, many, 1, &desk->err), 0);
	assert_int_equal(stet_task_add(desk->ws, "x", 1, 0, &id, &desk->err), 0);
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
	struct desk *desk = *state;
	enum { WORKERS = 4, TASKS = 60 };
	for (int i = 0; i < TASKS; i++)
		add(desk, "Something");
	stet_session_close(desk->session);
	stet_workspace_close(desk->ws);
	desk->session = NULL;
	desk->ws = NULL;
	for (int i = 0; i < WORKERS; i++) {
		if (fork() == 0)
			claim_all(desk->dir, i);
	}
	for (int i = 0; i < WORKERS; i++) {
		int status;
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	st_auto(st_buf) counts = ST_BUF_INIT;
	assert_int_equal(run(desk->dir, &counts,
	                     (const char *[]){"sh", "-c",
	                                      "cat claimed-* | sort -n | uniq | wc -l; cat "
	                                      "claimed-* | wc -l",
	                                      NULL}),
	                 0);
	assert_string_equal(st_buf_cstr(&counts), "60\n60\n");
}

/* ---- a disk that is full for a moment ---- */

static void what_could_not_be_stored_is_stored_with_the_next(void **state) {
	struct desk *desk = *state;
	struct rlimit limit, full;
	struct stat wal;
	start(desk);
	assert_int_equal(desk_write(desk, "a.c", "one\n"), 0);
	assert_int_equal(stat(dir_at(desk->dir, ".stet/stet.db-wal"), &wal), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	full = limit;
	full.rlim_cur = (rlim_t)wal.st_size;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	int code = desk_write(desk, "b.c", "two\n");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(code, 0);
	says(desk, "could not be stored");
	assert_int_equal(desk_write(desk, "c.c", "three\n"), 0);
	assert_string_equal(files(desk), "a.c created\nb.c created\nc.c created\n");
	reopen(desk, NULL);
	assert_string_equal(files(desk), "a.c created\nb.c created\nc.c created\n");
}

/* ---- the log and undo ---- */

static void a_write_is_taken_back(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(desk_edit(desk, "a.c", "one", "two"), 0);
	assert_int_equal(desk_edit(desk, "a.c", "two", "three"), 0);
	assert_int_equal(stet_undo(desk->session, NULL, NULL, &desk->err), 0);
	assert_string_equal(dir_read(desk->dir, "a.c"), "two\n");
	assert_int_equal(stet_undo(desk->session, "a.c", NULL, &desk->err), 0);
	assert_string_equal(dir_read(desk->dir, "a.c"), "one\n");
	assert_int_equal(stet_undo(desk->session, "a.c", NULL, &desk->err), STET_E_NOT_FOUND);
	assert_string_equal(files(desk), "a.c unchanged\n");
}

static void a_file_that_was_made_is_removed_and_one_that_was_removed_comes_back(void **state) {
	struct desk *desk = *state;
	char *answer = NULL;
	static const char args[] = "{\"path\": \"a.c\"}";
	static const char move[] = "{\"source\": \"a.c\", \"destination\": \"b.c\"}";
	start(desk);
	assert_int_equal(desk_write(desk, "a.c", "one\n"), 0);
	assert_int_equal(
		stet_call(desk->session, "delete_file", args, strlen(args), &answer, NULL, NULL), 0);
	stet_free(answer);
	assert_string_equal(files(desk), "a.c deleted\n");
	assert_int_equal(stet_undo(desk->session, NULL, NULL, &desk->err), 0);
	assert_string_equal(dir_read(desk->dir, "a.c"), "one\n");
	assert_string_equal(files(desk), "a.c created\n");
	assert_int_equal(stet_call(desk->session, "move_file", move, strlen(move), &answer, NULL, NULL),
	                 0);
	stet_free(answer);
	assert_string_equal(files(desk), "a.c deleted\nb.c created\n");
	assert_int_equal(stet_undo(desk->session, "b.c", NULL, &desk->err), 0);
	assert_false(dir_has(desk->dir, "b.c"));
}

static void an_undo_after_a_restart_finds_the_old_bytes(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(desk_edit(desk, "a.c", "one", "two"), 0);
	reopen(desk, "agent");
	assert_int_equal(stet_undo(desk->session, NULL, NULL, &desk->err), 0);
	assert_string_equal(dir_read(desk->dir, "a.c"), "one\n");
}

/* Of all of them but the last, memory has no copy any more. */
static void writes_are_taken_back_one_after_the_other(void **state) {
	struct desk *desk = *state;
	enum { WRITES = 8 };
	for (int restart = 0; restart < 2; restart++) {
		char old[16], new[16];
		start(desk);
		dir_write(desk->dir, "a.c", "0\n");
		assert_int_equal(desk_read(desk, "a.c"), 0);
		for (int i = 0; i < WRITES; i++) {
			snprintf(old, sizeof old, "%d\n", i);
			snprintf(new, sizeof new, "%d\n", i + 1);
			assert_int_equal(desk_edit(desk, "a.c", old, new), 0);
		}
		if (restart)
			reopen(desk, "agent");
		for (int i = WRITES - 1; i >= 0; i--) {
			assert_int_equal(stet_undo(desk->session, "a.c", NULL, &desk->err), 0);
			snprintf(old, sizeof old, "%d\n", i);
			assert_string_equal(dir_read(desk->dir, "a.c"), old);
		}
	}
}

/* A process that ends without a word, right after its write. */
static void a_killed_process_leaves_what_undo_needs(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.c", "one\n");
	pid_t child = fork();
	if (child == 0) {
		struct stet_workspace *ws;
		struct stet_session *session;
		int failed = stet_workspace_open(desk->dir->path, &ws, NULL) < 0 ||
		             stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL) < 0 ||
		             stet_session_open(ws, NULL, &session, NULL) < 0 ||
		             stet_session_edit(session, "a.c", "one", 3, "two", 3, NULL, NULL, NULL) < 0;
		_exit(failed);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	start(desk);
	assert_string_equal(dir_read(desk->dir, "a.c"), "two\n");
	assert_int_equal(dir_count(desk->dir, ".stet/moved"), ROOM + 1);
	assert_int_equal(stet_undo(desk->session, "a.c", NULL, &desk->err), 0);
	assert_string_equal(dir_read(desk->dir, "a.c"), "one\n");
	/* And whoever comes next puts it where it belongs. */
	reopen(desk, "agent");
	assert_int_equal(dir_count(desk->dir, ".stet/moved"), ROOM + 0);
	assert_int_equal(dir_count(desk->dir, ".stet/versions"), ROOM + 2);
}

static void a_file_that_moved_on_is_not_taken_back(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(desk_edit(desk, "a.c", "one", "two"), 0);
	dir_write(desk->dir, "a.c", "mine\n");
	assert_int_equal(stet_undo(desk->session, "a.c", NULL, &desk->err), STET_E_CONFLICT);
	assert_string_equal(dir_read(desk->dir, "a.c"), "mine\n");
}

static void the_log_tells_who_wrote_what(void **state) {
	struct desk *desk = *state;
	char *log = NULL;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(stet_log(desk->ws, NULL, 10, &log, NULL), 0);
	assert_string_equal(log, "[]");
	stet_free(log);
	assert_int_equal(desk_edit(desk, "a.c", "one", "two"), 0);
	assert_int_equal(desk_write(desk, "b.c", "x"), 0);
	assert_int_equal(desk_write(desk, "b.c", "x"), 0);
	assert_int_equal(stet_undo(desk->session, "a.c", NULL, &desk->err), 0);
	assert_int_equal(stet_log(desk->ws, NULL, 10, &log, NULL), 0);
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
	assert_int_equal(stet_log(desk->ws, "b.c", 10, &log, NULL), 0);
	doc = yyjson_read(log, strlen(log), 0);
	assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 1);
	yyjson_doc_free(doc);
	stet_free(log);
}

static void a_conflict_names_the_writer_of_another_process(void **state) {
	struct desk *desk = *state;
	struct stet_workspace *ws = NULL;
	struct stet_session *other = NULL;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	assert_int_equal(stet_workspace_open(desk->dir->path, &ws, NULL), 0);
	assert_int_equal(stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL), 0);
	assert_int_equal(stet_session_open(ws, "reviewer", &other, NULL), 0);
	assert_int_equal(stet_session_edit(other, "a.c", "one", 3, "two", 3, NULL, NULL, NULL), 0);
	stet_session_close(other);
	stet_workspace_close(ws);
	assert_int_equal(desk_edit(desk, "a.c", "one", "three"), STET_E_CONFLICT);
	assert_non_null(strstr(stet_answer_message(desk->answer), "\"reviewer\" wrote"));
}

/* ---- other programs' tools ---- */

static void record(struct desk *desk, const char *tool, const char *result) {
	char text[1024];
	char *out = NULL;
	snprintf(text, sizeof text, "%s", result);
	for (char *quote = text; (quote = strchr(quote, '\'')); quote++)
		*quote = '"';
	if (stet_record(desk->session, tool, text, strlen(text), &out, &desk->err) < 0)
		fail_msg("%s", desk->err.message);
	assert_non_null(out);
	stet_free(out);
}

static void results_of_other_tools_say_where_to_look(void **state) {
	struct desk *desk = *state;
	static const char *const made[] = {"a.go", "b.go", "c.go", "d.go", "e.go", "f.go"};
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		dir_write(desk->dir, made[i], "x\n");
	record(desk, "write_file", "{'success': true, 'path': 'a.go'}");
	record(desk, "create_file", "{'file_path': 'b.go', 'message': 'File created'}");
	record(desk, "edit_file", "{'filePath': 'c.go', 'replaced': 1}");
	record(desk, "apply_patch",
	       "{'output': 'Success. Updated the following files:\\nA d.go\\nM e.go\\nD gone.go\\n'}");
	record(desk, "str_replace_based_edit_tool", "{'command': 'create', 'path': 'f.go'}");
	assert_string_equal(files(desk),
	                    "a.go created\nb.go created\nc.go modified\nd.go created\ne.go "
	                    "modified\nf.go created\ngone.go deleted\n");
}

static void a_patch_names_its_files(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.c", "x\n");
	dir_write(desk->dir, "b.c", "x\n");
	record(desk, "apply_patch",
	       "{'input': '*** Begin Patch\\n*** Update File: a.c\\n@@\\n-y\\n+x\\n*** Add File: "
	       "b.c\\n+x\\n*** End Patch'}");
	assert_string_equal(files(desk), "a.c modified\nb.c created\n");
}

static void a_delete_and_a_move_are_told(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "a.c", "x\n");
	dir_write(desk->dir, "b.c", "x\n");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	assert_int_equal(desk_read(desk, "b.c"), 0);
	assert_int_equal(unlink(dir_at(desk->dir, "a.c")), 0);
	assert_int_equal(rename(dir_at(desk->dir, "b.c"), dir_at(desk->dir, "c.c")), 0);
	record(desk, "delete_file", "{'path': 'a.c'}");
	record(desk, "move_file", "{'source': 'b.c', 'destination': 'c.c'}");
	stet_session_invalidate(desk->session, "a.c");
	stet_session_invalidate(desk->session, "b.c");
	assert_string_equal(files(desk), "a.c deleted\nb.c deleted\nc.c created\n");
}

static void a_directory_that_other_tools_move_or_delete_is_no_file(void **state) {
	struct desk *desk = *state;
	start(desk);
	fill_src(desk);
	assert_int_equal(rename(dir_at(desk->dir, "src"), dir_at(desk->dir, "lib")), 0);
	record(desk, "move_file", "{'source': 'src', 'destination': 'lib'}");
	/* For one that has read nothing, so that its reads mark nothing. */
	reopen(desk, "other");
	assert_string_equal(files(desk),
	                    "lib/a.c created\nlib/in/b.c created\nlib/in/c.c created\n"
	                    "src/a.c deleted\nsrc/in/b.c deleted\nsrc/in/c.c deleted\n"
	                    "srcs.c unchanged\n");
	assert_int_equal(unlink(dir_at(desk->dir, "lib/in/b.c")), 0);
	assert_int_equal(unlink(dir_at(desk->dir, "lib/in/c.c")), 0);
	assert_int_equal(rmdir(dir_at(desk->dir, "lib/in")), 0);
	record(desk, "delete", "{'path': 'lib/in'}");
	assert_string_equal(files(desk),
	                    "lib/a.c created\nlib/in/b.c deleted\nlib/in/c.c deleted\n"
	                    "src/a.c deleted\nsrc/in/b.c deleted\nsrc/in/c.c deleted\n"
	                    "srcs.c unchanged\n");
	/* A move that did not take place is none. */
	record(desk, "move_file", "{'source': 'lib', 'destination': 'elsewhere'}");
	assert_non_null(strstr(files(desk), "lib/a.c created\n"));
	assert_null(strstr(files(desk), "elsewhere"));
}

static void the_disk_is_believed_and_not_the_result(void **state) {
	struct desk *desk = *state;
	record(desk, "write_file", "{'success': true, 'path': 'never.c'}");
	record(desk, "delete_file", "{'path': '../outside'}");
	record(desk, "write_file", "{'path': '/etc/passwd'}");
	assert_string_equal(files(desk), "");
	dir_write(desk->dir, "a.c", "x\n");
	record(desk, "delete_file", "{'path': 'a.c', 'success': true}");
	assert_string_equal(files(desk), "a.c unchanged\n");
}

static void after_a_command_every_tracked_file_is_looked_at(void **state) {
	struct desk *desk = *state;
	start(desk);
	dir_write(desk->dir, "a.c", "one\n");
	assert_int_equal(desk_read(desk, "a.c"), 0);
	dir_write(desk->dir, "a.c", "formatted\n");
	record(desk, "shell", "{'command': 'fmt a.c', 'exit_code': 0, 'stdout': ''}");
	assert_string_equal(files(desk), "a.c modified external\n");
}

static void a_result_that_is_not_json_is_refused(void **state) {
	struct desk *desk = *state;
	assert_int_equal(stet_record(desk->session, "write_file", "{", 1, NULL, &desk->err),
	                 STET_E_INVALID);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		desk_claim(a_file_is_created_modified_or_unchanged),
		desk_claim(a_file_that_is_changed_back_is_unchanged),
		desk_claim(a_new_story_starts_from_what_is_there),
		desk_claim(a_story_says_for_itself_whether_the_snapshot_is_used),
		desk_claim(a_change_from_outside_is_found_and_marked),
		desk_claim(a_touched_file_is_not_changed),
		desk_claim(what_another_session_wrote_is_marked_for_who_had_read_it),
		desk_claim(a_directory_that_is_moved_takes_its_files_along),
		desk_claim(a_move_from_outside_is_followed),
		desk_claim(a_path_that_became_a_link_is_another_file),
		desk_claim(names_of_any_bytes_are_tracked),
		desk_claim(a_scan_tracks_the_tree_and_later_what_came_to_it),
		desk_claim(bare_library_calls_are_not_tracked_and_tools_are),
		desk_claim(reading_alone_makes_no_state_directory),
		desk_claim(the_state_survives_the_process),
		desk_claim(what_a_story_says_survives_the_process_and_the_database),
		desk_claim(two_processes_share_the_state),
		desk_claim(the_state_file_has_the_fields_of_the_specification),
		desk_claim(the_state_file_follows_by_itself),
		desk_claim(without_a_database_the_state_file_is_taken),
		desk_claim(a_truncated_state_file_is_set_aside),
		desk_claim(an_unknown_version_is_set_aside),
		desk_claim(wrong_types_are_set_aside),
		desk_claim(a_file_with_a_number_for_a_hash_is_set_aside),
		desk_claim(a_task_with_a_bad_status_is_set_aside),
		desk_claim(a_state_file_that_is_not_an_object_is_set_aside),
		desk_claim(a_task_of_ten_megabytes_is_set_aside),
		desk_claim(paths_outside_the_root_are_left_out),
		desk_claim(a_state_file_of_the_specification_is_taken),
		desk_claim(tasks_are_added_started_finished_and_kept),
		desk_claim(a_task_that_somebody_works_on_is_not_started_again),
		desk_claim(a_new_list_keeps_what_is_in_both),
		desk_claim(limits_on_tasks_are_said),
		desk_claim(no_two_sessions_claim_the_same_task),
		desk_claim(what_could_not_be_stored_is_stored_with_the_next),
		desk_claim(a_write_is_taken_back),
		desk_claim(a_file_that_was_made_is_removed_and_one_that_was_removed_comes_back),
		desk_claim(an_undo_after_a_restart_finds_the_old_bytes),
		desk_claim(writes_are_taken_back_one_after_the_other),
		desk_claim(a_killed_process_leaves_what_undo_needs),
		desk_claim(a_file_that_moved_on_is_not_taken_back),
		desk_claim(the_log_tells_who_wrote_what),
		desk_claim(a_conflict_names_the_writer_of_another_process),
		desk_claim(results_of_other_tools_say_where_to_look),
		desk_claim(a_patch_names_its_files),
		desk_claim(a_delete_and_a_move_are_told),
		desk_claim(a_directory_that_other_tools_move_or_delete_is_no_file),
		desk_claim(the_disk_is_believed_and_not_the_result),
		desk_claim(after_a_command_every_tracked_file_is_looked_at),
		desk_claim(a_result_that_is_not_json_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
