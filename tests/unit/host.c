/* Several workspaces as one place to work, and the agents at it. */
#include "stet/host.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/json.h"
#include "lib/test.h"

/* A host over the directories one and two of a test's directory. */
struct office {
	struct dir *dir;
	struct stet_host *host;
	struct stet_client *agent;
	struct stet_error err;
	char *answer;
	yyjson_doc *doc;
};

static struct stet_host *open_host(struct office *office, const char *const *names, size_t count) {
	char paths[4][512];
	const char *roots[4];
	for (size_t i = 0; i < count; i++) {
		snprintf(paths[i], sizeof paths[i], "%s/%s", office->dir->path, names[i]);
		roots[i] = paths[i];
	}
	struct stet_host *host = NULL;
	int code = stet_host_open(roots, count, &host, &office->err);
	assert_int_equal(code, host ? 0 : office->err.code);
	return host;
}

static int setup(void **state) {
	static struct office office;
	office = (struct office){0};
	void *dir = NULL;
	if (dir_setup(&dir) < 0)
		return -1;
	office.dir = dir;
	dir_write(office.dir, "one/a.txt", "one\n");
	dir_write(office.dir, "one/both.txt", "one\n");
	dir_write(office.dir, "two/b.txt", "two\n");
	dir_write(office.dir, "two/both.txt", "two\n");
	dir_write(office.dir, "two/sub/c.txt", "two\n");
	static const char *const names[] = {"one", "two"};
	office.host = open_host(&office, names, 2);
	assert_int_equal(stet_host_client(office.host, NULL, NULL, &office.agent, &office.err), 0);
	*state = &office;
	return 0;
}

static int teardown(void **state) {
	struct office *office = *state;
	stet_free(office->answer);
	yyjson_doc_free(office->doc);
	stet_client_release(office->agent);
	stet_host_close(office->host);
	void *dir = office->dir;
	return dir_teardown(&dir);
}

#define office_claim(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* Run a tool; arguments with ' for ", and @ for the test's directory. */
static int run(struct office *office, struct stet_client *agent, const char *tool,
               const char *args) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (; *args; args++) {
		if (*args == '@')
			st_buf_adds(&text, office->dir->path);
		else
			st_buf_addc(&text, *args == '\'' ? '"' : *args);
	}
	stet_free(office->answer);
	yyjson_doc_free(office->doc);
	size_t len = 0;
	int code =
		stet_client_call(agent, tool, text.ptr, text.len, &office->answer, &len, &office->err);
	assert_non_null(office->answer);
	office->doc = yyjson_read(office->answer, len, 0);
	assert_non_null(office->doc);
	return code;
}

static int call(struct office *office, const char *tool, const char *args) {
	return run(office, office->agent, tool, args);
}

static const char *data(const struct office *office, const char *key) {
	yyjson_val *root = yyjson_doc_get_root(office->doc);
	return yyjson_get_str(yyjson_obj_get(yyjson_obj_get(root, "structuredContent"), key));
}

static const char *text(const struct office *office) {
	yyjson_val *content = yyjson_obj_get(yyjson_doc_get_root(office->doc), "content");
	return yyjson_get_str(yyjson_obj_get(yyjson_arr_get_first(content), "text"));
}

static void expect_error(struct office *office, const char *part) {
	if (!strstr(text(office), part))
		fail_msg("\"%s\" is not in: %s", part, text(office));
}

static void expect_part_of(const char *whole, const char *part) {
	assert_non_null(whole);
	if (!strstr(whole, part))
		fail_msg("\"%s\" is not in: %s", part, whole);
}

/* ---- late writes ---- */

/* A process that had looked up a file of the second directory writes to it after it was replaced. */
static void write_late(struct office *office) {
	int looked_up = open(dir_at(office->dir, "two/b.txt"), O_PATH | O_CLOEXEC);
	assert_true(looked_up >= 0);
	assert_int_equal(
		call(office, "edit_file", "{'path': '@/two/b.txt', 'oldText': 'two', 'newText': '2'}"), 0);
	char again[64];
	snprintf(again, sizeof again, "/proc/self/fd/%d", looked_up);
	st_autofd late = open(again, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_true(late >= 0);
	assert_int_equal(write(late, "late\n", 5), 5);
	close(looked_up);
}

static const char *notice(const struct office *office) {
	yyjson_val *root = yyjson_doc_get_root(office->doc);
	yyjson_val *list = yyjson_obj_get(yyjson_obj_get(root, "structuredContent"), "notices");
	return yyjson_get_str(yyjson_arr_get_first(list));
}

/* Calls check a replaced file every 100 ms for two seconds; after these the background worker tells. */
static void a_late_write_is_told_with_a_read_of_any_directory(void **state) {
	struct office *office = *state;
	write_late(office);
	int64_t written = st_now_ms(), began;
	do {
		began = st_now_ms();
		assert_int_equal(call(office, "read_file", "{'path': '@/two/sub/c.txt'}"), 0);
	} while (!notice(office) && began - written < 200);
	if (notice(office) || st_now_ms() - written < 1800)
		expect_part_of(notice(office), "b.txt");
}

/* ---- roots ---- */

static void a_directory_that_cannot_be_opened_is_left_out_with_a_notice(void **state) {
	struct office *office = *state;
	static const char *const names[] = {"missing", "two", "one/a.txt"};
	struct stet_host *host = open_host(office, names, 3);
	assert_non_null(host);
	assert_non_null(stet_host_workspace(host, 0));
	assert_null(stet_host_workspace(host, 1));
	expect_part_of(stet_workspace_root(stet_host_workspace(host, 0)), "/two");
	char *notice = stet_host_notice(host);
	expect_part_of(notice, "missing");
	expect_part_of(notice, "one/a.txt\" is not a directory");
	stet_free(notice);
	assert_null(stet_host_notice(host));
	stet_host_close(host);
}

static void a_host_without_a_directory_is_an_error(void **state) {
	struct office *office = *state;
	static const char *const names[] = {"missing", "one/a.txt"};
	assert_null(open_host(office, names, 2));
	assert_int_equal(office->err.code, STET_E_NOT_FOUND);
	expect_part_of(office->err.message, "missing");
	assert_null(open_host(office, names, 0));
	assert_int_equal(office->err.code, STET_E_INVALID);
	stet_host_close(NULL);
	stet_client_release(NULL);
}

static void a_directory_given_twice_is_opened_once(void **state) {
	struct office *office = *state;
	assert_int_equal(symlink("one", dir_at(office->dir, "link")), 0);
	static const char *const names[] = {"one", "one/../one", "link"};
	struct stet_host *host = open_host(office, names, 3);
	assert_non_null(stet_host_workspace(host, 0));
	assert_null(stet_host_workspace(host, 1));
	assert_null(stet_host_notice(host));
	stet_host_close(host);
}

static void options_are_set_on_every_workspace(void **state) {
	struct office *office = *state;
	assert_int_equal(stet_host_set(office->host, STET_OPTION_MAX_FILE, 2, NULL), 0);
	assert_int_equal(call(office, "read_file", "{'path': 'a.txt'}"), STET_E_TOO_BIG);
	assert_int_equal(call(office, "read_file", "{'path': 'b.txt'}"), STET_E_TOO_BIG);
	assert_int_equal(stet_host_set(office->host, STET_OPTION_DURABLE, 2, &office->err),
	                 STET_E_INVALID);
	assert_int_equal(stet_host_allow(office->host, ".md", NULL), 0);
	assert_int_equal(stet_host_set(office->host, STET_OPTION_MAX_FILE, 100, NULL), 0);
	assert_int_equal(call(office, "text_inspect", "{'path': 'b.txt'}"), STET_E_EXTENSION);
	assert_int_equal(stet_host_instructions_names(office->host, "RULES.md", NULL), 0);
	assert_int_equal(stet_host_instructions_names(office->host, "a/b", NULL), STET_E_INVALID);
}

/* ---- paths ---- */

static void relative_paths_lead_to_the_first_workspace_that_has_them(void **state) {
	struct office *office = *state;
	assert_int_equal(call(office, "read_file", "{'path': 'a.txt'}"), 0);
	assert_string_equal(data(office, "path"), "a.txt");
	assert_int_equal(call(office, "read_file", "{'path': 'both.txt'}"), 0);
	assert_string_equal(text(office), "one\n");
	assert_int_equal(call(office, "read_file", "{'path': 'b.txt'}"), 0);
	assert_string_equal(text(office), "two\n");
}

static void files_of_other_workspaces_are_named_by_their_absolute_path(void **state) {
	struct office *office = *state;
	assert_int_equal(call(office, "read_file", "{'path': '@/two/both.txt'}"), 0);
	assert_string_equal(text(office), "two\n");
	assert_string_equal(data(office, "path"), dir_at(office->dir, "two/both.txt"));
	assert_int_equal(
		call(office, "edit_file", "{'path': '@/two/both.txt', 'oldText': 'two', 'newText': '2'}"),
		0);
	assert_string_equal(data(office, "path"), dir_at(office->dir, "two/both.txt"));
	assert_string_equal(dir_read(office->dir, "two/both.txt"), "2\n");
	assert_string_equal(dir_read(office->dir, "one/both.txt"), "one\n");

	dir_write(office->dir, "two/both.txt", "3\n");
	assert_int_equal(
		call(office, "edit_file", "{'path': '@/two/both.txt', 'oldText': '3', 'newText': '4'}"),
		STET_E_CONFLICT);
	assert_string_equal(data(office, "path"), dir_at(office->dir, "two/both.txt"));
}

/* What the model reads, too, not only the data. */
static void answers_say_which_workspace_a_file_is_in(void **state) {
	struct office *office = *state;
	char part[4096];
	assert_int_equal(call(office, "read_file", "{'path': '../two/both.txt'}"), 0);
	snprintf(part, sizeof part, "[%s: 1 line", dir_at(office->dir, "two/both.txt"));
	expect_part_of(office->answer, part);
	/* A relative destination is in the workspace of the source. */
	assert_int_equal(
		call(office, "copy_file", "{'source': '../two/both.txt', 'destination': 'c.txt'}"), 0);
	assert_true(dir_has(office->dir, "two/c.txt"));
	expect_part_of(text(office), dir_at(office->dir, "two/c.txt"));
	assert_int_equal(
		call(office, "move_file", "{'source': '../two/c.txt', 'destination': 'm.txt'}"), 0);
	assert_true(dir_has(office->dir, "two/m.txt"));
	expect_part_of(text(office), dir_at(office->dir, "two/m.txt"));
}

static void a_refusal_says_which_workspace_its_files_are_in(void **state) {
	struct office *office = *state;
	assert_int_equal(call(office, "delete_file", "{'path': '@/two/sub', 'recursive': true}"),
	                 STET_E_CONFLICT);
	expect_part_of(text(office), dir_at(office->dir, "two/sub/c.txt"));
}

static void a_search_without_a_path_says_where_it_did_not_look(void **state) {
	struct office *office = *state;
	char part[4096];
	snprintf(part, sizeof part, "Pass path for %s.", dir_at(office->dir, "two"));
	assert_int_equal(call(office, "grep", "{'pattern': 'two'}"), 0);
	expect_part_of(office->answer, part);
	assert_int_equal(call(office, "search_files", "{'pattern': 'both'}"), 0);
	expect_part_of(office->answer, part);
	assert_int_equal(call(office, "grep", "{'pattern': 'two', 'path': '@/two'}"), 0);
	assert_null(strstr(office->answer, "Pass path for"));
}

/* The last write is the client's, whichever directory it is in; a run is of one directory. */
static void undo_finds_the_last_write_of_any_directory(void **state) {
	struct office *office = *state;
	char part[4096];
	assert_int_equal(call(office, "append_file", "{'path': 'a.txt', 'content': 'x\\n'}"), 0);
	assert_int_equal(call(office, "append_file", "{'path': '@/two/both.txt', 'content': 'x\\n'}"),
	                 0);
	assert_int_equal(call(office, "undo", "{'dryRun': true}"), 0);
	snprintf(part, sizeof part, "\"%s\" would be", dir_at(office->dir, "two/both.txt"));
	expect_part_of(text(office), part);
	assert_int_equal(call(office, "undo", "{}"), 0);
	expect_part_of(text(office), dir_at(office->dir, "two/both.txt"));
	assert_string_equal(dir_read(office->dir, "two/both.txt"), "two\n");
	assert_string_equal(dir_read(office->dir, "one/a.txt"), "one\nx\n");
	/* The one before it is of another file. */
	assert_int_equal(call(office, "undo", "{}"), STET_E_NOT_FOUND);
	expect_error(office,
	             "The last write of this session, of \"both.txt\", cannot be undone. Give "
	             "the path of another file.");
	snprintf(part, sizeof part, "Pass path for %s.", dir_at(office->dir, "two"));
	assert_int_equal(call(office, "history", "{}"), 0);
	expect_part_of(office->answer, part);
	assert_int_equal(call(office, "undo", "{'since': '1h', 'dryRun': true}"), 0);
	expect_part_of(office->answer, part);
	assert_int_equal(call(office, "repo_state", "{}"), 0);
	expect_part_of(office->answer, part);
	assert_int_equal(call(office, "history", "{'path': '@/two/both.txt'}"), 0);
	expect_part_of(text(office), dir_at(office->dir, "two/both.txt"));
	assert_null(strstr(office->answer, "Pass path for"));
}

static void new_files_go_where_their_directory_is(void **state) {
	struct office *office = *state;
	assert_int_equal(call(office, "write_file", "{'path': 'new.txt', 'content': 'x'}"), 0);
	assert_true(dir_has(office->dir, "one/new.txt"));
	assert_int_equal(call(office, "write_file", "{'path': 'sub/new.txt', 'content': 'x'}"), 0);
	assert_true(dir_has(office->dir, "two/sub/new.txt"));
	assert_int_equal(call(office, "write_file", "{'path': 'no/new.txt', 'content': 'x'}"), 0);
	assert_true(dir_has(office->dir, "one/no/new.txt"));
}

static void what_is_in_no_workspace_is_refused_with_those_there_are(void **state) {
	struct office *office = *state;
	dir_write(office->dir, "three/a.txt", "three\n");
	dir_write(office->dir, "one-more/a.txt", "three\n");
	static const char *const paths[] = {"{'path': '@/three/a.txt'}", "{'path': '@/one-more/a.txt'}",
	                                    "{'path': '../three/a.txt'}", "{'path': '/etc/passwd'}",
	                                    "{'path': '@/one/../three/a.txt'}"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		assert_int_equal(call(office, "read_file", paths[i]), STET_E_OUTSIDE);
		expect_error(office, dir_at(office->dir, "one,"));
		expect_error(office, dir_at(office->dir, "two."));
	}
}

static void a_way_out_of_one_workspace_may_lead_into_another(void **state) {
	struct office *office = *state;
	assert_int_equal(call(office, "read_file", "{'path': '@/one/../two/b.txt'}"), 0);
	assert_string_equal(data(office, "path"), dir_at(office->dir, "two/b.txt"));
}

static void a_relative_path_may_climb_from_one_workspace_into_another(void **state) {
	struct office *office = *state;
	assert_int_equal(call(office, "read_file", "{'path': '../two/b.txt'}"), 0);
	assert_string_equal(data(office, "path"), dir_at(office->dir, "two/b.txt"));
	assert_int_equal(call(office, "write_file", "{'path': '../two/new.txt', 'content': 'x'}"), 0);
	assert_true(dir_has(office->dir, "two/new.txt"));
	assert_int_equal(call(office, "list_directory", "{'path': '../two/sub'}"), 0);
	dir_write(office->dir, "three/a.txt", "three\n");
	assert_int_equal(call(office, "read_file", "{'path': '../two/../three/a.txt'}"),
	                 STET_E_OUTSIDE);
}

static void a_link_may_lead_from_one_workspace_into_another(void **state) {
	struct office *office = *state;
	dir_write(office->dir, "three/secret", "three\n");
	assert_int_equal(symlink("../two/b.txt", dir_at(office->dir, "one/link")), 0);
	assert_int_equal(symlink(dir_at(office->dir, "two/sub"), dir_at(office->dir, "one/dir")), 0);
	assert_int_equal(symlink("../three/secret", dir_at(office->dir, "one/out")), 0);
	assert_int_equal(symlink("../two/none/x", dir_at(office->dir, "one/dangling")), 0);
	assert_int_equal(call(office, "read_file", "{'path': 'link'}"), 0);
	assert_string_equal(data(office, "path"), dir_at(office->dir, "two/b.txt"));
	assert_int_equal(call(office, "read_file", "{'path': '@/one/dir/c.txt'}"), 0);
	assert_int_equal(
		call(office, "edit_file", "{'path': 'link', 'oldText': 'two', 'newText': '2'}"), 0);
	assert_string_equal(dir_read(office->dir, "two/b.txt"), "2\n");
	assert_int_equal(call(office, "read_file", "{'path': 'out'}"), STET_E_OUTSIDE);
	assert_int_equal(call(office, "write_file", "{'path': 'dangling', 'content': 'x'}"),
	                 STET_E_OUTSIDE);
	/* Through a link, a file of the other workspace is moved. */
	dir_write(office->dir, "two/sub/d.txt", "d\n");
	assert_int_equal(
		call(office, "move_file", "{'source': 'dir/d.txt', 'destination': '@/one/d.txt'}"), 0);
	assert_string_equal(dir_read(office->dir, "one/d.txt"), "d\n");
	assert_int_equal(call(office, "move_file", "{'source': 'd.txt', 'destination': 'dir/d.txt'}"),
	                 0);
	assert_string_equal(dir_read(office->dir, "two/sub/d.txt"), "d\n");
	/* The link itself is deleted and moved, not what it leads to. */
	assert_int_equal(call(office, "delete_file", "{'path': 'link'}"), 0);
	assert_true(dir_has(office->dir, "two/b.txt"));
	assert_false(dir_has(office->dir, "one/link"));
	assert_int_equal(call(office, "move_file", "{'source': 'dir', 'destination': '@/two/dir'}"), 0);
	assert_true(dir_has(office->dir, "two/sub/c.txt"));
	struct stat st;
	assert_int_equal(fstatat(office->dir->fd, "two/dir", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void files_move_between_workspaces_and_stay_read(void **state) {
	struct office *office = *state;
	assert_int_equal(call(office, "read_file", "{'path': 'a.txt'}"), 0);
	assert_int_equal(call(office, "move_file", "{'source': 'a.txt', 'destination': '@/two/a.txt'}"),
	                 0);
	assert_string_equal(data(office, "source"), "a.txt");
	assert_string_equal(data(office, "destination"), dir_at(office->dir, "two/a.txt"));
	assert_false(dir_has(office->dir, "one/a.txt"));
	assert_int_equal(call(office, "write_file", "{'path': '@/two/a.txt', 'content': 'new'}"), 0);
	/* An unread file stays unread under its new name. */
	assert_int_equal(
		call(office, "move_file", "{'source': '@/two/b.txt', 'destination': '@/one/b'}"), 0);
	assert_int_equal(call(office, "write_file", "{'path': 'b', 'content': 'new'}"),
	                 STET_E_CONFLICT);
	assert_int_equal(
		call(office, "move_file", "{'source': '@/one/b', 'destination': '../two/both.txt'}"),
		STET_E_EXISTS);
	assert_int_equal(
		call(office, "move_file", "{'source': '@/two/sub', 'destination': '@/one/sub'}"), 0);
	assert_true(dir_has(office->dir, "one/sub/c.txt"));
	assert_int_equal(call(office, "move_file", "{'source': 'both.txt', 'destination': 'c.txt'}"),
	                 0);
	assert_true(dir_has(office->dir, "one/c.txt"));
	assert_int_equal(
		call(office, "move_file", "{'source': 'c.txt', 'destination': '@/two/.git/config'}"),
		STET_E_NOT_FOUND);
	dir_write(office->dir, "two/.git/x", "");
	assert_int_equal(
		call(office, "move_file", "{'source': 'c.txt', 'destination': '@/two/.git/config'}"),
		STET_E_PROTECTED);
}

static void files_are_copied_between_workspaces(void **state) {
	struct office *office = *state;
	assert_int_equal(call(office, "copy_file", "{'source': 'a.txt', 'destination': '@/two/a.txt'}"),
	                 0);
	assert_string_equal(dir_read(office->dir, "two/a.txt"), "one\n");
	assert_true(dir_has(office->dir, "one/a.txt"));
	assert_int_equal(call(office, "write_file", "{'path': '@/two/a.txt', 'content': 'new'}"),
	                 STET_E_CONFLICT);
}

/* Where a rename is not possible: copied, then removed. */
static void files_move_to_another_filesystem(void **state) {
	struct office *office = *state;
	char other[] = "/dev/shm/stet-test-XXXXXX", path[300];
	struct stat here, there;
	if (!mkdtemp(other))
		skip_because("there is no other filesystem at /dev/shm");
	assert_int_equal(stat(office->dir->path, &here), 0);
	assert_int_equal(stat(other, &there), 0);
	const char *roots[] = {dir_at(office->dir, "one"), other};
	struct stet_host *host = NULL;
	struct stet_client *agent = NULL;
	assert_int_equal(stet_host_open(roots, 2, &host, NULL), 0);
	assert_int_equal(stet_host_client(host, NULL, NULL, &agent, NULL), 0);
	assert_int_equal(fchmodat(office->dir->fd, "one/a.txt", 0700, 0), 0);
	assert_int_equal(run(office, agent, "read_file", "{'path': 'a.txt'}"), 0);
	snprintf(path, sizeof path, "{'source': 'a.txt', 'destination': '%s/a.txt'}", other);
	assert_int_equal(run(office, agent, "move_file", path), 0);
	assert_false(dir_has(office->dir, "one/a.txt"));
	snprintf(path, sizeof path, "%s/a.txt", other);
	assert_int_equal(stat(path, &there), 0);
	assert_int_equal(there.st_mode & 0777, 0700);
	assert_int_equal(there.st_size, 4);
	/* A directory of files would have to be taken apart. */
	dir_write(office->dir, "one/d/x", "x");
	snprintf(path, sizeof path, "{'source': 'd', 'destination': '%s/d'}", other);
	int code = run(office, agent, "move_file", path);
	bool crosses = here.st_dev != there.st_dev;
	assert_int_equal(code, crosses ? STET_E_INVALID : 0);
	assert_int_equal(dir_has(office->dir, "one/d/x"), crosses);
	stet_client_release(agent);
	stet_host_close(host);
	snprintf(path, sizeof path, "rm -rf %s", other);
	assert_int_equal(system(path), 0);
	if (!crosses)
		skip_because("/dev/shm is on the same filesystem");
}

static void a_host_that_is_read_only_refuses_what_writes(void **state) {
	struct office *office = *state;
	assert_int_equal(stet_host_set(office->host, STET_OPTION_READ_ONLY, 1, NULL), 0);
	assert_int_equal(call(office, "read_file", "{'path': 'a.txt'}"), 0);
	static const struct {
		const char *tool, *args;
	} calls[] = {
		{"write_file", "{'path': 'a.txt', 'content': 'x'}"},
		{"edit_file", "{'path': 'a.txt', 'oldText': 'one', 'newText': 'x'}"},
		{"append_file", "{'path': 'a.txt', 'content': 'x'}"},
		{"copy_file", "{'source': 'a.txt', 'destination': 'x'}"},
		{"move_file", "{'source': 'a.txt', 'destination': 'x'}"},
		{"delete_file", "{'path': 'a.txt'}"},
		{"create_directory", "{'path': 'x'}"},
		{"text_replace", "{'path': 'a.txt', 'oldText': 'one', 'newText': 'x'}"},
		{"undo", "{}"},
	};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		assert_int_equal(call(office, calls[i].tool, calls[i].args), STET_E_ACCESS);
		expect_error(office, "not allowed");
	}
	assert_string_equal(dir_read(office->dir, "one/a.txt"), "one\n");
	assert_false(dir_has(office->dir, "one/x"));
}

static void the_innermost_of_nested_workspaces_has_the_file(void **state) {
	struct office *office = *state;
	static const char *const names[] = {"two", "two/sub"};
	struct stet_host *host = open_host(office, names, 2);
	struct stet_client *agent = NULL;
	assert_int_equal(stet_host_client(host, NULL, NULL, &agent, NULL), 0);
	assert_int_equal(run(office, agent, "read_file", "{'path': '@/two/sub/c.txt'}"), 0);
	assert_string_equal(data(office, "path"), dir_at(office->dir, "two/sub/c.txt"));
	assert_int_equal(run(office, agent, "read_file", "{'path': 'sub/c.txt'}"), 0);
	assert_string_equal(data(office, "path"), "sub/c.txt");
	stet_client_release(agent);
	stet_host_close(host);
}

static void a_root_given_through_a_link_has_both_spellings(void **state) {
	struct office *office = *state;
	assert_int_equal(symlink("two", dir_at(office->dir, "link")), 0);
	static const char *const names[] = {"one", "link"};
	struct stet_host *host = open_host(office, names, 2);
	struct stet_client *agent = NULL;
	assert_int_equal(stet_host_client(host, NULL, NULL, &agent, NULL), 0);
	assert_int_equal(run(office, agent, "read_file", "{'path': '@/two/b.txt'}"), 0);
	assert_int_equal(run(office, agent, "read_file", "{'path': '@/link/b.txt'}"), 0);
	assert_string_equal(data(office, "path"), dir_at(office->dir, "two/b.txt"));
	stet_client_release(agent);
	stet_host_close(host);
}

/* ---- names ---- */

static void a_name_is_one_agent_for_its_owner(void **state) {
	struct office *office = *state;
	struct stet_client *mine = NULL, *again = NULL, *others = NULL;
	assert_int_equal(stet_host_client(office->host, "me", "a", &mine, NULL), 0);
	assert_int_equal(stet_host_client(office->host, "me", "a", &again, NULL), 0);
	assert_int_equal(stet_host_client(office->host, "you", "a", &others, NULL), 0);
	assert_ptr_equal(mine, again);
	assert_ptr_not_equal(mine, others);
	assert_string_equal(stet_client_name(mine), "a");
	assert_null(stet_client_name(office->agent));
	stet_client_release(again);
	assert_int_equal(run(office, mine, "read_file", "{'path': 'a.txt'}"), 0);
	stet_client_release(mine);

	/* It is still known what it read. */
	assert_int_equal(stet_host_client(office->host, "me", "a", &again, NULL), 0);
	assert_int_equal(run(office, again, "write_file", "{'path': 'a.txt', 'content': 'x'}"), 0);
	assert_int_equal(run(office, others, "write_file", "{'path': 'a.txt', 'content': 'y'}"),
	                 STET_E_CONFLICT);
	stet_client_release(again);
	stet_client_release(others);
}

static void a_call_may_be_another_agents(void **state) {
	struct office *office = *state;
	assert_int_equal(call(office, "read_file", "{'path': 'a.txt', 'session': 'b'}"), 0);
	assert_int_equal(call(office, "write_file", "{'path': 'a.txt', 'content': 'x'}"),
	                 STET_E_CONFLICT);
	assert_int_equal(
		call(office, "write_file", "{'path': 'a.txt', 'content': 'x', 'session': 'c'}"),
		STET_E_CONFLICT);
	assert_int_equal(
		call(office, "write_file", "{'path': 'a.txt', 'content': 'x', 'session': 'b'}"), 0);
	/* An empty name is none. */
	assert_int_equal(call(office, "read_file", "{'path': 'a.txt', 'session': ''}"), 0);
	assert_int_equal(call(office, "write_file", "{'path': 'a.txt', 'content': 'y'}"), 0);
	assert_int_equal(
		call(office, "write_file", "{'path': 'a.txt', 'content': 'z', 'session': 'b'}"),
		STET_E_CONFLICT);
}

static void names_of_one_owner_mean_nothing_to_another(void **state) {
	struct office *office = *state;
	struct stet_client *mine = NULL, *yours = NULL;
	assert_int_equal(stet_host_client(office->host, "me", NULL, &mine, NULL), 0);
	assert_int_equal(stet_host_stateless(office->host, "you", &yours, NULL), 0);
	assert_int_equal(run(office, mine, "read_file", "{'path': 'a.txt', 'session': 'n'}"), 0);
	assert_int_equal(
		run(office, yours, "write_file", "{'path': 'a.txt', 'content': 'x', 'session': 'n'}"),
		STET_E_CONFLICT);
	assert_int_equal(
		run(office, mine, "write_file", "{'path': 'a.txt', 'content': 'x', 'session': 'n'}"), 0);
	stet_client_release(mine);
	stet_client_release(yours);
}

static void a_conflict_names_the_session_that_wrote(void **state) {
	struct office *office = *state;
	assert_int_equal(call(office, "read_file", "{'path': 'b.txt'}"), 0);
	assert_int_equal(call(office, "read_file", "{'path': 'b.txt', 'session': 'helper-2'}"), 0);
	assert_int_equal(
		call(office, "write_file", "{'path': 'b.txt', 'content': 'x', 'session': 'helper-2'}"), 0);
	assert_int_equal(call(office, "write_file", "{'path': 'b.txt', 'content': 'y'}"),
	                 STET_E_CONFLICT);
	assert_string_equal(data(office, "writer"), "helper-2");
}

static void names_that_cannot_be_are_refused(void **state) {
	struct office *office = *state;
	static const char *const names[] = {
		"-a",
		".a",
		"_a",
		"a b",
		"a/b",
		"a:b",
		"a\\u0000",
		"\\u00e9",
		"a\\n",
		" a",
		"0123456789012345678901234567890123456789012345678901234567890123x",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char args[256];
		snprintf(args, sizeof args, "{'path': 'a.txt', 'session': '%s'}", names[i]);
		assert_int_equal(call(office, "read_file", args), STET_E_INVALID);
		expect_error(office, "cannot be the name of a session");
	}
	struct stet_client *agent = NULL;
	assert_int_equal(stet_host_client(office->host, NULL, "", &agent, NULL), STET_E_INVALID);
	assert_null(agent);
	assert_int_equal(call(office, "read_file",
	                      "{'path': 'a.txt', 'session': "
	                      "'0123456789012345678901234567890123456789012345678901234567890-_.'}"),
	                 0);
}

static void idle_names_make_room_and_names_in_use_stay(void **state) {
	struct office *office = *state;
	struct stet_client *agents[1000], *one = NULL;
	char name[32];
	assert_int_equal(call(office, "read_file", "{'path': 'a.txt', 'session': 'first'}"), 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "n%d", i);
		assert_int_equal(stet_host_client(office->host, NULL, name, &agents[i], NULL), 0);
	}
	assert_int_equal(stet_host_client(office->host, NULL, "more", &one, &office->err),
	                 STET_E_LIMIT);
	assert_int_equal(call(office, "read_file", "{'path': 'a.txt', 'session': 'first'}"),
	                 STET_E_LIMIT);
	assert_int_equal(stet_host_client(office->host, NULL, "n7", &one, NULL), 0);
	assert_ptr_equal(one, agents[7]);
	stet_client_release(one);
	for (int i = 0; i < 1000; i++)
		stet_client_release(agents[i]);
	/* The first had to go, and what it saw is known from the state directory. */
	assert_int_equal(
		call(office, "write_file", "{'path': 'a.txt', 'content': 'x', 'session': 'first'}"), 0);
}

/* ---- instructions ---- */

static size_t blocks(const struct office *office) {
	return yyjson_arr_size(yyjson_obj_get(yyjson_doc_get_root(office->doc), "content"));
}

static const char *block(const struct office *office, size_t n) {
	yyjson_val *content = yyjson_obj_get(yyjson_doc_get_root(office->doc), "content");
	return yyjson_get_str(yyjson_obj_get(yyjson_arr_get(content, n), "text"));
}

static void the_roots_instructions_come_with_the_first_answer(void **state) {
	struct office *office = *state;
	dir_write(office->dir, "one/AGENTS.md", "Of one.\n");
	dir_write(office->dir, "two/AGENTS.md", "Of two.\n");
	/* A failure does not carry them, and what is about them neither. */
	assert_int_equal(call(office, "read_file", "{'path': 'missing'}"), STET_E_NOT_FOUND);
	assert_int_equal(call(office, "clear_session", "{}"), 0);
	assert_int_equal(blocks(office), 1);
	assert_int_equal(call(office, "list_directory", "{'path': '.'}"), 0);
	assert_int_equal(blocks(office), 2);
	assert_string_equal(block(office, 1), "[Project instructions from AGENTS.md]\n\nOf one.\n");
	assert_int_equal(call(office, "list_directory", "{'path': '.'}"), 0);
	assert_int_equal(blocks(office), 1);
	assert_int_equal(
		call(office, "edit_file", "{'path': 'b.txt', 'oldText': 'two', 'newText': '2'}"), 0);
	assert_int_equal(blocks(office), 2);
	assert_string_equal(block(office, 1), "[Project instructions from AGENTS.md]\n\nOf two.\n");
	assert_int_equal(call(office, "read_file", "{'path': 'b.txt'}"), 0);
	assert_int_equal(blocks(office), 2);
	expect_part_of(block(office, 1), "fileHash");
	assert_int_equal(call(office, "clear_session", "{}"), 0);
	assert_int_equal(call(office, "get_file_info", "{'path': 'a.txt'}"), 0);
	assert_int_equal(blocks(office), 2);
	assert_int_equal(stet_host_set(office->host, STET_OPTION_AGENTS, 0, NULL), 0);
	assert_int_equal(call(office, "get_file_info", "{'path': 'a.txt', 'session': 'x'}"), 0);
	assert_int_equal(blocks(office), 1);
}

static void a_stateless_agent_gets_a_list_of_instructions(void **state) {
	struct office *office = *state;
	struct stet_client *agent = NULL;
	dir_write(office->dir, "two/AGENTS.md", "Of two.\n");
	dir_write(office->dir, "two/sub/AGENTS.md", "Of sub.\n");
	assert_int_equal(stet_host_stateless(office->host, NULL, &agent, NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run(office, agent, "read_file", "{'path': 'sub/c.txt'}"), 0);
		assert_int_equal(blocks(office), 2);
		assert_string_equal(text(office), "two\n");
		expect_part_of(block(office, 1), "[Instructions apply to this file: AGENTS.md (");
		expect_part_of(block(office, 1), "), sub/AGENTS.md (");
		expect_part_of(block(office, 1), "Call agents_md");
		assert_null(strstr(block(office, 1), "Of sub"));
		assert_int_equal(run(office, agent, "get_file_info", "{'path': 'sub/c.txt'}"), 0);
		assert_int_equal(blocks(office), 1);
	}
	assert_int_equal(run(office, agent, "agents_md", "{'path': 'sub/c.txt'}"), 0);
	expect_part_of(text(office), "Of sub.");
	stet_client_release(agent);
}

/* ---- stateless ---- */

static void a_stateless_refusal_asks_for_a_session(void **state) {
	struct office *office = *state;
	struct stet_client *agent = NULL;
	assert_int_equal(stet_host_stateless(office->host, NULL, &agent, NULL), 0);
	assert_int_equal(run(office, agent, "write_file", "{'path': 'a.txt', 'content': 'x'}"),
	                 STET_E_CONFLICT);
	expect_error(office, "Pass a name of your choice as \"session\"");
	assert_int_equal(run(office, agent, "delete_file", "{'path': 'a.txt'}"), STET_E_CONFLICT);
	assert_int_equal(run(office, agent, "write_file",
	                     "{'path': 'a.txt', 'content': 'x', 'expectedHash': '0123456789abcdef'}"),
	                 STET_E_CONFLICT);
	expect_error(office, "File hash mismatch");
	stet_client_release(agent);
}

static void a_stateless_agent_remembers_nothing(void **state) {
	struct office *office = *state;
	struct stet_client *agent = NULL;
	assert_int_equal(stet_host_stateless(office->host, NULL, &agent, NULL), 0);
	assert_null(stet_client_borrow(agent, 0));
	assert_int_equal(run(office, agent, "read_file", "{'path': 'a.txt'}"), 0);
	char args[128];
	snprintf(args, sizeof args, "{'path': 'a.txt', 'content': 'x', 'expectedHash': '%s'}",
	         data(office, "fileHash"));
	assert_int_equal(run(office, agent, "write_file", "{'path': 'a.txt', 'content': 'x'}"),
	                 STET_E_CONFLICT);
	/* A hash comes with every look at a file: it is no proof that all of it was seen. */
	assert_int_equal(run(office, agent, "write_file", args), STET_E_CONFLICT);
	dir_write(office->dir, "one/a.txt", "others\n");
	assert_int_equal(
		run(office, agent, "edit_file", "{'path': 'a.txt', 'oldText': 'others', 'newText': 'x'}"),
		0);
	assert_int_equal(run(office, agent, "write_file", "{'path': 'fresh.txt', 'content': 'x'}"), 0);
	stet_client_release(agent);
}

static void a_borrowed_session_is_the_agents_own(void **state) {
	struct office *office = *state;
	struct stet_session *session = stet_client_borrow(office->agent, 1);
	assert_ptr_equal(stet_session_workspace(session), stet_host_workspace(office->host, 1));
	assert_int_equal(stet_session_track_read(session, "b.txt", NULL), 0);
	stet_client_return(office->agent);
	assert_int_equal(call(office, "write_file", "{'path': 'b.txt', 'content': 'x'}"), 0);
	assert_null(stet_client_borrow(office->agent, 2));
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 50 };

struct worker {
	struct office *office;
	int number;
	int failed;
};

/* Each appends to one shared file through a shared agent, an agent of its own, and a name. */
static void *work(void *data) {
	struct worker *worker = data;
	struct stet_client *own = NULL;
	worker->failed += stet_host_client(worker->office->host, NULL, NULL, &own, NULL) < 0;
	for (int i = 0; i < ROUNDS; i++) {
		char args[256], *answer = NULL;
		int len = snprintf(args, sizeof args,
		                   "{\"path\": \"b.txt\", \"oldText\": \"end\", \"newText\": \"%d.%d "
		                   "end\", \"onStale\": \"merge\"%s}",
		                   worker->number, i, i % 3 == 0 ? ", \"session\": \"shared\"" : "");
		struct stet_client *agent = i % 3 == 1 ? worker->office->agent : own;
		int code;
		do {
			stet_free(answer);
			code = stet_client_call(agent, "edit_file", args, (size_t)len, &answer, NULL, NULL);
		} while (code == STET_E_CONFLICT || code == STET_E_BUSY);
		worker->failed += code < 0;
		stet_free(answer);
	}
	stet_client_release(own);
	return NULL;
}

static void agents_work_at_once_and_lose_nothing(void **state) {
	struct office *office = *state;
	pthread_t threads[THREADS];
	struct worker workers[THREADS];
	dir_write(office->dir, "two/b.txt", "end\n");
	assert_int_equal(stet_host_set(office->host, STET_OPTION_DURABLE, 0, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.office = office, .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(workers[i].failed, 0);
	}
	const char *all = dir_read(office->dir, "two/b.txt");
	size_t words = 0;
	for (const char *at = all; (at = strchr(at, ' ')); at++)
		words++;
	assert_int_equal(words, THREADS * ROUNDS);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		office_claim(a_late_write_is_told_with_a_read_of_any_directory),
		office_claim(a_directory_that_cannot_be_opened_is_left_out_with_a_notice),
		office_claim(a_host_without_a_directory_is_an_error),
		office_claim(a_directory_given_twice_is_opened_once),
		office_claim(options_are_set_on_every_workspace),
		office_claim(relative_paths_lead_to_the_first_workspace_that_has_them),
		office_claim(files_of_other_workspaces_are_named_by_their_absolute_path),
		office_claim(answers_say_which_workspace_a_file_is_in),
		office_claim(a_refusal_says_which_workspace_its_files_are_in),
		office_claim(a_search_without_a_path_says_where_it_did_not_look),
		office_claim(undo_finds_the_last_write_of_any_directory),
		office_claim(new_files_go_where_their_directory_is),
		office_claim(what_is_in_no_workspace_is_refused_with_those_there_are),
		office_claim(a_way_out_of_one_workspace_may_lead_into_another),
		office_claim(a_relative_path_may_climb_from_one_workspace_into_another),
		office_claim(a_link_may_lead_from_one_workspace_into_another),
		office_claim(files_move_between_workspaces_and_stay_read),
		office_claim(files_are_copied_between_workspaces),
		office_claim(files_move_to_another_filesystem),
		office_claim(a_host_that_is_read_only_refuses_what_writes),
		office_claim(the_innermost_of_nested_workspaces_has_the_file),
		office_claim(a_root_given_through_a_link_has_both_spellings),
		office_claim(a_name_is_one_agent_for_its_owner),
		office_claim(a_call_may_be_another_agents),
		office_claim(names_of_one_owner_mean_nothing_to_another),
		office_claim(a_conflict_names_the_session_that_wrote),
		office_claim(names_that_cannot_be_are_refused),
		office_claim(idle_names_make_room_and_names_in_use_stay),
		office_claim(the_roots_instructions_come_with_the_first_answer),
		office_claim(a_stateless_agent_gets_a_list_of_instructions),
		office_claim(a_stateless_refusal_asks_for_a_session),
		office_claim(a_stateless_agent_remembers_nothing),
		office_claim(a_borrowed_session_is_the_agents_own),
		office_claim(agents_work_at_once_and_lose_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
