/* Answers tell what other places did to the file: once, in one line, and nothing where nobody is. */
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/places/registry.h"
#include "core/state/state.h"
#include "fs/path/sys.h"
#include "fs/versions/state_dir.h"
#include "lib/checkouts.h"

struct pair {
	struct worker_at one, two;
};

static struct pair open_pair(const struct dir *dir, const char *name) {
	use_own_state(dir);
	make_repository(dir);
	git(dir, "main", "worktree", "add", "-q", "-b", "b", "../tree");
	return (struct pair){worker_open(dir, "main", "Ann"), worker_open(dir, "tree", name)};
}

static void close_pair(struct pair *pair) {
	worker_close(&pair->one);
	worker_close(&pair->two);
}

/* Edit, and wait until the registry has it. */
static void edit_and_report(struct worker_at *worker, const char *old, const char *new) {
	stet_free(worker_edit(worker, "a.txt", old, new));
	(void)who_has(worker, "a.txt");
}

static char *read_a(struct worker_at *worker) {
	return worker_call(worker, "read_file", "{\"path\":\"a.txt\"}");
}

static void assert_told(char *answer, const char *text) {
	if (!strstr(answer, text))
		print_error("no \"%s\" in: %s\n", text, answer);
	assert_non_null(strstr(answer, text));
	stet_free(answer);
}

static void assert_silent(char *answer) {
	if (strstr(answer, "lsewhere"))
		print_error("%s\n", answer);
	assert_null(strstr(answer, "lsewhere"));
	stet_free(answer);
}

static void a_read_tells_of_a_change_elsewhere_once(void **state) {
	struct pair pair = open_pair(*state, "Bob");
	edit_and_report(&pair.one, "line 5\n", "line five\nand more\n");
	assert_told(read_a(&pair.two),
	            "/main on main, just now, lines 5-6; it merges: the file is unchanged here.]");
	assert_silent(read_a(&pair.two));
	edit_and_report(&pair.one, "line 9\n", "line nine\n");
	assert_told(read_a(&pair.two), "a.txt is being edited by Ann in ");
	assert_silent(read_a(&pair.two));
	/* The session that changed the file gets no line about it. */
	assert_silent(read_a(&pair.one));
	close_pair(&pair);
}

static void an_edit_tells_whether_both_merge(void **state) {
	struct pair pair = open_pair(*state, "Bob");
	edit_and_report(&pair.one, "line 5\n", "line five\n");
	assert_told(worker_edit(&pair.two, "a.txt", "line 15\n", "line fifteen\n"),
	            "line 5; it merges with yours.]");
	edit_and_report(&pair.one, "line 15\n", "line XV\n");
	assert_told(worker_edit(&pair.two, "a.txt", "line 1\n", "line one\n"),
	            "it overlaps yours in line 15.]");
	close_pair(&pair);
}

/* Both have "five" since the merge: that Ann changes it again is no overlap. */
static void after_a_merge_the_first_bytes_say_nothing_of_overlaps(void **state) {
	const struct dir *dir = *state;
	struct pair pair = open_pair(dir, "Bob");
	edit_and_report(&pair.one, "line 5\n", "five\n");
	edit_and_report(&pair.two, "line 18\n", "eighteen\n");
	git(dir, "main", "commit", "-q", "-a", "-m", "five");
	git(dir, "tree", "commit", "-q", "-a", "-m", "eighteen");
	git(dir, "tree", "merge", "-q", "-m", "merge", "main");
	stet_free(read_a(&pair.two));
	edit_and_report(&pair.one, "five\n", "V\n");
	assert_told(worker_edit(&pair.two, "a.txt", "line 12\n", "twelve\n"),
	            "stet forecast says whether it merges");
	(void)who_has(&pair.two, "a.txt");
	/* Bob's place starts from the merge now; Ann's has not moved. */
	assert_true(who_has(&pair.two, "\"lines\":[{\"start\":12,\"end\":12}]"));
	assert_true(who_has(&pair.two, "\"lines\":[{\"start\":5,\"end\":5}]"));
	close_pair(&pair);
}

static void equal_bytes_and_changes_taken_back_are_no_news(void **state) {
	struct pair pair = open_pair(*state, "Bob");
	edit_and_report(&pair.one, "line 5\n", "line five\n");
	assert_silent(worker_edit(&pair.two, "a.txt", "line 5\n", "line five\n"));
	edit_and_report(&pair.two, "line five\n", "line 5\n");
	git(*state, "main", "checkout", "-q", "a.txt");
	assert_silent(read_a(&pair.two));
	close_pair(&pair);
}

static void bytes_that_this_place_started_from_are_no_news(void **state) {
	const struct dir *dir = *state;
	struct pair pair = open_pair(dir, "Bob");
	edit_and_report(&pair.one, "line 5\n", "line five\n");
	git(dir, "main", "commit", "-q", "-a", "-m", "five");
	git(dir, "tree", "merge", "-q", "main");
	assert_silent(worker_edit(&pair.two, "a.txt", "line 15\n", "line fifteen\n"));
	close_pair(&pair);
}

static void a_removal_is_told(void **state) {
	struct pair pair = open_pair(*state, "Bob");
	stet_free(read_a(&pair.one));
	stet_free(worker_call(&pair.one, "delete_file", "{\"path\":\"a.txt\"}"));
	(void)who_has(&pair.one, "a.txt");
	assert_told(read_a(&pair.two), "a.txt was removed by Ann in ");
	close_pair(&pair);
}

static void a_session_that_comes_back_was_told(void **state) {
	struct pair pair = open_pair(*state, "Bob");
	edit_and_report(&pair.one, "line 5\n", "line five\n");
	assert_told(worker_edit(&pair.two, "a.txt", "line 15\n", "line fifteen\n"), "[Elsewhere: ");
	worker_close(&pair.two);
	pair.two = worker_open(*state, "tree", "Bob");
	assert_silent(read_a(&pair.two));
	worker_close(&pair.two);
	pair.two = worker_open(*state, "tree", "Eve");
	assert_told(read_a(&pair.two), "[Elsewhere: ");
	close_pair(&pair);
}

/* Claude Code has read a.txt in the worktree: what the hook says. */
static char *read_by_hook(const struct dir *dir) {
	st_auto(st_buf) event = ST_BUF_INIT;
	char *out = NULL;
	st_buf_addf(&event,
	            "{\"session_id\":\"s\",\"cwd\":\"%s\",\"hook_event_name\":\"PostToolUse\","
	            "\"tool_name\":\"Read\",\"tool_input\":{\"file_path\":\"a.txt\"},"
	            "\"tool_response\":{\"type\":\"text\",\"file\":{\"content\":",
	            dir_at(dir, "tree"));
	st_json_quote(&event, st_str(dir_read(dir, "tree/a.txt")));
	st_buf_adds(&event, ",\"numLines\":21,\"startLine\":1,\"totalLines\":21}}}");
	assert_int_equal(stet_hook_run(event.ptr, event.len, NULL, &out, NULL, NULL), 0);
	return out ? out : strdup("");
}

static void the_hook_tells_of_it_too(void **state) {
	const struct dir *dir = *state;
	struct pair pair = open_pair(dir, "Bob");
	edit_and_report(&pair.one, "line 5\n", "line five\n");
	assert_told(read_by_hook(dir), "[Elsewhere: a.txt is being edited by Ann in ");
	assert_silent(read_by_hook(dir));
	close_pair(&pair);
}

/* As if the last write to the registry was some time ago. */
static void age_registry(const struct dir *dir) {
	static const char *const names[] = {"state/stet/places/stet.db",
	                                    "state/stet/places/stet.db-wal"};
	const struct timespec times[] = {{.tv_sec = time(NULL) - 10}, {.tv_sec = time(NULL) - 10}};
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(utimensat(AT_FDCWD, dir_at(dir, names[i]), times, 0), 0);
}

static int get_quiet(struct st_store *store, void *data, struct stet_error *err) {
	return st_store_get(store, "places_quiet", data, err);
}

/* What hooks stored of a registry without events of others; 0 for nothing. */
static int64_t quiet_of(struct worker_at *worker) {
	int64_t stamp = 0;
	assert_int_equal(
		st_store_do(&st_state_of(worker->ws)->store, ST_STORE_READ, get_quiet, &stamp, NULL), 0);
	return stamp;
}

static void a_hook_opens_a_quiet_registry_once(void **state) {
	const struct dir *dir = *state;
	struct pair pair = open_pair(dir, "Bob");
	edit_and_report(&pair.two, "line 1\n", "line one\n");
	/* What was written just now may be followed by a write with the same time. */
	assert_silent(read_by_hook(dir));
	assert_true(quiet_of(&pair.two) == 0);
	age_registry(dir);
	assert_silent(read_by_hook(dir));
	int64_t quiet = quiet_of(&pair.two);
	assert_true(quiet != 0);
	assert_silent(read_by_hook(dir));
	assert_true(quiet_of(&pair.two) == quiet);
	/* The first change of another is told, however long ago it was. */
	edit_and_report(&pair.one, "line 5\n", "line five\n");
	age_registry(dir);
	assert_told(read_by_hook(dir), "[Elsewhere: a.txt is being edited by Ann in ");
	assert_true(quiet_of(&pair.two) == quiet);
	close_pair(&pair);
}

static void names_of_strangers_are_quoted(void **state) {
	const struct dir *dir = *state;
	struct pair pair = open_pair(dir, "Bob");
	worker_close(&pair.one);
	git(dir, "main", "checkout", "-q", "-b", "x\xe2\x80\xaey");
	pair.one = worker_open(dir, "main", "Mallory\xe2\x80\x8b");
	edit_and_report(&pair.one, "line 5\n", "line five\n");
	assert_told(read_a(&pair.two), "\\\\u202e");
	close_pair(&pair);
}

static void a_place_that_is_gone_is_not_told(void **state) {
	struct pair pair = open_pair(*state, "Bob");
	edit_and_report(&pair.two, "line 5\n", "line five\n");
	worker_close(&pair.two);
	git(*state, "main", "worktree", "remove", "--force", "../tree");
	assert_silent(read_a(&pair.one));
	worker_close(&pair.one);
}

static void a_registry_that_is_locked_holds_nobody_up(void **state) {
	const struct dir *dir = *state;
	struct pair pair = open_pair(dir, "Bob");
	edit_and_report(&pair.one, "line 5\n", "line five\n");
	assert_told(read_a(&pair.two), "[Elsewhere: ");
	struct st_registry registry = ST_REGISTRY_INIT;
	assert_int_equal(st_registry_open(&registry, false, NULL), 1);
	assert_int_equal(st_db_exec(registry.db, "BEGIN EXCLUSIVE", NULL), 0);
	int64_t begun = st_now_ms();
	for (int i = 0; i < 50; i++) {
		stet_free(worker_edit(&pair.one, "a.txt", i % 2 ? "line 2!\n" : "line 2\n",
		                      i % 2 ? "line 2\n" : "line 2!\n"));
		stet_free(read_a(&pair.two));
	}
	/* 50 edits that waited for the registry would take many seconds. */
	assert_true(st_now_ms() - begun < 5000);
	assert_int_equal(st_db_exec(registry.db, "COMMIT", NULL), 0);
	st_registry_release(&registry);
	close_pair(&pair);
}

/* Asks for the places, as a thread. Returns the workspace if it got them. */
static void *ask_who(void *data) {
	char *json = NULL;
	size_t len = 0;
	int code = stet_who(data, &json, &len, NULL);
	stet_free(json);
	return code == 0 ? data : NULL;
}

static void a_list_waits_for_a_process_that_has_the_registry(void **state) {
	const struct dir *dir = *state;
	struct st_registry registry = ST_REGISTRY_INIT;
	struct pair pair = open_pair(dir, "Bob");
	edit_and_report(&pair.one, "line 5\n", "line five\n");
	close_pair(&pair);
	assert_int_equal(st_registry_open(&registry, false, NULL), 1);
	for (int opens = 0; opens < 2; opens++) {
		/* It writes, without a write-ahead log; or it has just begun to open the registry. */
		st_autofd held = opens ? st_user_state_open("places") : -1;
		if (opens)
			assert_int_equal(st_state_lock(held, 0, "The registry", NULL), 0);
		else
			assert_int_equal(
				st_db_exec(registry.db, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE", NULL), 0);
		struct stet_workspace *ws = NULL;
		assert_int_equal(stet_workspace_open(dir_at(dir, "tree"), &ws, NULL), 0);
		pthread_t thread;
		void *answered = NULL;
		assert_int_equal(pthread_create(&thread, NULL, ask_who, ws), 0);
		/* It takes a while with what it does. */
		sleep_ms(100);
		if (!opens)
			st_registry_release(&registry);
		st_close_at(&held);
		assert_int_equal(pthread_join(thread, &answered), 0);
		assert_ptr_equal(answered, ws);
		stet_workspace_close(ws);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_read_tells_of_a_change_elsewhere_once),
		claim(an_edit_tells_whether_both_merge),
		claim(after_a_merge_the_first_bytes_say_nothing_of_overlaps),
		claim(equal_bytes_and_changes_taken_back_are_no_news),
		claim(bytes_that_this_place_started_from_are_no_news),
		claim(a_removal_is_told),
		claim(a_session_that_comes_back_was_told),
		claim(the_hook_tells_of_it_too),
		claim(a_hook_opens_a_quiet_registry_once),
		claim(names_of_strangers_are_quoted),
		claim(a_place_that_is_gone_is_not_told),
		claim(a_registry_that_is_locked_holds_nobody_up),
		claim(a_list_waits_for_a_process_that_has_the_registry),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
