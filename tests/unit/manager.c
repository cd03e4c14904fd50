/* The manager. The tests of the file state specification are here under their names. */
#include "stet/manager.h"

#include "base/clock.h"
#include "lib/test.h"

struct post {
	struct stet_manager *manager;
	struct stet_session *session;
	struct stet_answer *answer;
	struct stet_error err;
};

static void post_open(struct post *post, const struct dir *dir) {
	*post = (struct post){0};
	assert_int_equal(stet_manager_new(dir->path, &post->manager, &post->err), 0);
	assert_int_equal(stet_manager_initialize(post->manager, &post->err), 0);
	post->session = stet_manager_session(post->manager);
}

static void post_close(struct post *post) {
	stet_answer_free(post->answer);
	stet_manager_free(post->manager);
}

static void track(struct post *post, const char *path, const char *text) {
	if (stet_manager_track_read(post->manager, path, text, strlen(text), &post->err) < 0)
		fail_msg("%s", post->err.message);
}

static const char *check(struct post *post, const char *path) {
	stet_answer_free(post->answer);
	assert_int_equal(
		stet_manager_check_for_conflict(post->manager, path, &post->answer, &post->err), 0);
	return stet_answer_status(post->answer);
}

/* Dispatch until a check finds this, however long it takes. */
static void await(struct post *post, const char *path, const char *status) {
	int64_t end = st_now_ms() + 120000;
	while (strcmp(check(post, path), status) != 0) {
		assert_true(st_now_ms() < end);
		assert_int_equal(stet_manager_dispatch(post->manager, 100, &post->err), 0);
	}
}

/* Dispatch until everything so far was taken in: it comes to rest before a file that changes now. */
static void take_in(struct post *post, const struct dir *dir) {
	static int number;
	char name[16];
	snprintf(name, sizeof name, "last%d", ++number);
	dir_write(dir, name, "1");
	track(post, name, "1");
	dir_write(dir, name, "2");
	await(post, name, "untracked");
}

static int edit(struct post *post, const char *path, const char *from, const char *to) {
	stet_answer_free(post->answer);
	post->answer = NULL;
	return stet_session_edit(post->session, path, from, strlen(from), to, strlen(to), NULL,
	                         &post->answer, &post->err);
}

static void initializes_and_indexes_agents_md_files(void **state) {
	struct dir *dir = *state;
	struct post post;
	struct stet_instructions *agents;
	dir_write(dir, "agents.md", "# Root");
	dir_write(dir, "src/agents.md", "# Src");
	post_open(&post, dir);
	assert_int_equal(stet_manager_instructions_root(post.manager, &agents, &post.err), 0);
	assert_int_equal(stet_instructions_count(agents), 1);
	assert_string_equal(stet_instructions_content(agents, 0, NULL), "# Root");
	stet_instructions_free(agents);
	assert_int_equal(
		stet_manager_instructions_for_path(post.manager, "src/a.c", &agents, &post.err), 0);
	assert_int_equal(stet_instructions_count(agents), 1);
	assert_string_equal(stet_instructions_content(agents, 0, NULL), "# Src");
	stet_instructions_free(agents);
	post_close(&post);
}

static void clearing_the_session_gives_instructions_again_and_forgets_no_read(void **state) {
	struct dir *dir = *state;
	struct post post;
	struct stet_instructions *agents;
	dir_write(dir, "agents.md", "# Root");
	dir_write(dir, "a", "hello");
	post_open(&post, dir);
	track(&post, "a", "hello");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stet_manager_instructions_root(post.manager, &agents, &post.err), 0);
		assert_int_equal(stet_instructions_count(agents), 1);
		stet_instructions_free(agents);
		stet_manager_clear_session(post.manager);
	}
	dir_write(dir, "a", "world");
	assert_string_equal(check(&post, "a"), "modified");
	post_close(&post);
}

static void watcher_invalidates_tracker_on_file_change(void **state) {
	struct dir *dir = *state;
	struct post post;
	dir_write(dir, "test.txt", "hello");
	post_open(&post, dir);
	track(&post, dir_at(dir, "test.txt"), "hello");
	take_in(&post, dir);
	dir_write(dir, "test.txt", "world");
	await(&post, dir_at(dir, "test.txt"), "untracked");
	assert_int_equal(stet_answer_has_conflict(post.answer), 0);
	post_close(&post);
}

static void before_the_event_the_conflict_is_found(void **state) {
	struct dir *dir = *state;
	struct post post;
	dir_write(dir, "a", "hello");
	post_open(&post, dir);
	track(&post, "a", "hello");
	dir_write(dir, "a", "world");
	assert_string_equal(check(&post, "a"), "modified");
	post_close(&post);
}

static void a_removal_invalidates_too(void **state) {
	struct dir *dir = *state;
	struct post post;
	dir_write(dir, "a", "hello");
	post_open(&post, dir);
	track(&post, "a", "hello");
	assert_int_equal(unlink(dir_at(dir, "a")), 0);
	assert_string_equal(check(&post, "a"), "deleted");
	await(&post, "a", "untracked");
	post_close(&post);
}

static void what_was_invalidated_is_still_refused(void **state) {
	struct dir *dir = *state;
	struct post post;
	dir_write(dir, "a", "hello there");
	post_open(&post, dir);
	track(&post, "a", "hello there");
	dir_write(dir, "a", "hello world");
	await(&post, "a", "untracked");
	assert_int_equal(edit(&post, "a", "hello", "bye"), STET_E_CONFLICT);
	assert_string_equal(stet_answer_reason(post.answer), "modified");
	/* The refusal showed the change, so the same again succeeds, and the file is tracked. */
	assert_int_equal(edit(&post, "a", "hello", "bye"), 0);
	assert_string_equal(dir_read(dir, "a"), "bye world");
	assert_string_equal(check(&post, "a"), "clean");
	post_close(&post);
}

static void equal_bytes_invalidate_nothing(void **state) {
	struct dir *dir = *state;
	struct post post;
	dir_write(dir, "a", "hello");
	post_open(&post, dir);
	track(&post, "a", "hello");
	dir_write(dir, "a", "hello");
	take_in(&post, dir);
	assert_string_equal(check(&post, "a"), "clean");
	post_close(&post);
}

static void own_writes_invalidate_nothing(void **state) {
	struct dir *dir = *state;
	struct post post;
	dir_write(dir, "a", "hello");
	post_open(&post, dir);
	track(&post, "a", "hello");
	for (int i = 0; i < 20; i++) {
		assert_int_equal(edit(&post, "a", i % 2 ? "bye" : "hello", i % 2 ? "hello" : "bye"), 0);
		if (i % 5 == 4)
			take_in(&post, dir);
		else
			assert_int_equal(stet_manager_dispatch(post.manager, 5, &post.err), 0);
		assert_string_equal(check(&post, "a"), "clean");
	}
	take_in(&post, dir);
	assert_string_equal(check(&post, "a"), "clean");
	post_close(&post);
}

static void a_later_read_tracks_again(void **state) {
	struct dir *dir = *state;
	struct post post;
	dir_write(dir, "a", "one");
	post_open(&post, dir);
	track(&post, "a", "one");
	dir_write(dir, "a", "two");
	await(&post, "a", "untracked");
	track(&post, "a", "two");
	assert_string_equal(check(&post, "a"), "clean");
	dir_write(dir, "a", "three");
	assert_string_equal(check(&post, "a"), "modified");
	await(&post, "a", "untracked");
	post_close(&post);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(initializes_and_indexes_agents_md_files),
		claim(clearing_the_session_gives_instructions_again_and_forgets_no_read),
		claim(watcher_invalidates_tracker_on_file_change),
		claim(before_the_event_the_conflict_is_found),
		claim(a_removal_invalidates_too),
		claim(what_was_invalidated_is_still_refused),
		claim(equal_bytes_invalidate_nothing),
		claim(own_writes_invalidate_nothing),
		claim(a_later_read_tracks_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
