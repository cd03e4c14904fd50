/* The versions that a session has seen after a call that fails, and merges that are repeated. */
#include "core/session/change.h"
#include "lib/session.h"
#include "text/lines/lines.h"

/* ---- changes to make ---- */

/* Puts "mine" in the place of a line, by its number. */
static int replace_line(void *context, struct st_str old, struct st_buf *new,
                        struct stet_error *err) {
	st_auto(st_lines) lines = {0};
	size_t line = *(const size_t *)context;
	int code = st_lines_init(&lines, old, err);
	if (code < 0)
		return code;
	struct st_str range = st_lines_range(&lines, line, line);
	size_t start = (size_t)(range.ptr - old.ptr);
	st_buf_add(new, st_str_slice(old, 0, start));
	st_buf_adds(new, "mine\n");
	st_buf_add(new, st_str_slice(old, start + range.len, old.len));
	return 0;
}

static int write_text(void *context, struct st_str old, struct st_buf *new,
                      struct stet_error *err) {
	(void)old;
	(void)err;
	st_buf_adds(new, context);
	return 0;
}

static int merge_line(struct host *host, size_t line) {
	struct st_change change = {.path = "a.txt",
	                           .kind = ST_CHANGE_LINES,
	                           .merge = true,
	                           .make = replace_line,
	                           .context = &line};
	struct stet_answer *answer = st_answer_new("success");
	int code = st_change_apply(host->session, &change, answer, &host->err);
	stet_answer_free(answer);
	return code;
}

static int merge_whole(struct host *host, char *text) {
	struct st_change change = {.path = "a.txt",
	                           .kind = ST_CHANGE_WHOLE,
	                           .merge = true,
	                           .make = write_text,
	                           .context = text};
	struct stet_answer *answer = st_answer_new("success");
	int code = st_change_apply(host->session, &change, answer, &host->err);
	stet_answer_free(answer);
	return code;
}

#define LINES "1\n2\n3\n4\n5\n6\n7\n8\n"

/* ---- claims ---- */

static void a_read_beyond_the_end_shows_nothing(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", LINES);
	assert_int_equal(host_read(host, "a.txt"), 0);
	dir_write(host->dir, "a.txt", "1\n2\ntheirs\n");
	assert_int_equal(host_read_lines(host, "a.txt", 8, 1), STET_E_INVALID);
	assert_int_equal(host_check(host, "a.txt"), 0);
	assert_string_equal(stet_answer_status(host->answer), "modified");
	assert_int_equal(host_edit(host, "a.txt", "1", "one"), STET_E_CONFLICT);
	assert_string_equal(dir_read(host->dir, "a.txt"), "1\n2\ntheirs\n");
}

/* Whether another process could open a.txt to write while a change of it is made. */
static int open_meanwhile(void *context, struct st_str old, struct st_buf *new,
                          struct stet_error *err) {
	const struct host *host = context;
	st_autofd fd = openat(host->dir->fd, "a.txt", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	(void)err;
	st_buf_adds(new, fd < 0 ? "locked\n" : "free\n");
	st_buf_add(new, old);
	return 0;
}

static void no_writer_waits_while_a_change_is_made(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", LINES);
	assert_int_equal(host_read(host, "a.txt"), 0);
	struct st_change change = {
		.path = "a.txt", .kind = ST_CHANGE_ANCHORED, .make = open_meanwhile, .context = host};
	struct stet_answer *answer = st_answer_new("ok");
	assert_non_null(answer);
	assert_int_equal(st_change_apply(host->session, &change, answer, NULL), 0);
	assert_string_equal(dir_read(host->dir, "a.txt"), "free\n" LINES);
	stet_answer_free(answer);
}

static void a_refusal_that_nobody_gets_to_see_shows_nothing(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", LINES);
	assert_int_equal(host_read(host, "a.txt"), 0);
	dir_write(host->dir, "a.txt", "theirs\n" LINES);
	for (int i = 0; i < 2; i++) {
		int code = stet_session_write(host->session, "a.txt", "mine\n", 5, NULL, NULL, &host->err);
		assert_int_equal(code, STET_E_CONFLICT);
		assert_non_null(strstr(host->err.message, "read the file again"));
		assert_null(strstr(host->err.message, "counts as read"));
	}
	assert_string_equal(dir_read(host->dir, "a.txt"), "theirs\n" LINES);
	assert_int_equal(host_write(host, "a.txt", "mine\n"), STET_E_CONFLICT);
	assert_int_equal(host_write(host, "a.txt", "mine\n"), 0);
}

static void a_merge_that_could_not_be_written_is_made_again_from_the_same_base(void **state) {
	struct host *host = *state;
	dir_write(host->dir, "a.txt", LINES);
	assert_int_equal(host_read(host, "a.txt"), 0);
	dir_write(host->dir, "a.txt", "theirs\n" LINES);
	int writer = open(dir_at(host->dir, "a.txt"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(merge_line(host, 5), STET_E_BUSY);
	close(writer);
	assert_int_equal(merge_line(host, 5), 0);
	assert_string_equal(dir_read(host->dir, "a.txt"), "theirs\n1\n2\n3\n4\nmine\n6\n7\n8\n");
	assert_int_equal(host_check(host, "a.txt"), 0);
	assert_string_equal(stet_answer_status(host->answer), "clean");
}

static void the_same_for_a_whole_file(void **state) {
	struct host *host = *state;
	char text[] = "1\n2\n3\n4\n5\n6\n7\nmine\n";
	dir_write(host->dir, "a.txt", LINES);
	assert_int_equal(host_read(host, "a.txt"), 0);
	dir_write(host->dir, "a.txt", "theirs\n" LINES);
	int writer = open(dir_at(host->dir, "a.txt"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(merge_whole(host, text), STET_E_BUSY);
	close(writer);
	assert_int_equal(merge_whole(host, text), 0);
	assert_string_equal(dir_read(host->dir, "a.txt"), "theirs\n1\n2\n3\n4\n5\n6\n7\nmine\n");
	/* The foreign line was shown, so all of the file has been seen. */
	assert_int_equal(host_write(host, "a.txt", "all new\n"), 0);
}

static void a_whole_file_is_not_merged_over_lines_that_were_not_seen(void **state) {
	struct host *host = *state;
	char text[] = "1\n2\n3\n4\n";
	dir_write(host->dir, "a.txt", LINES);
	assert_int_equal(host_read_lines(host, "a.txt", 1, 4), 0);
	dir_write(host->dir, "a.txt", "theirs\n" LINES);
	assert_int_equal(merge_whole(host, text), STET_E_CONFLICT);
	assert_string_equal(dir_read(host->dir, "a.txt"), "theirs\n" LINES);
}

static void a_rehearsed_merge_counts_for_nothing(void **state) {
	struct host *host = *state;
	size_t line = 5;
	dir_write(host->dir, "a.txt", LINES);
	assert_int_equal(host_read(host, "a.txt"), 0);
	dir_write(host->dir, "a.txt", "theirs\n" LINES);
	struct st_change change = {.path = "a.txt",
	                           .kind = ST_CHANGE_LINES,
	                           .merge = true,
	                           .dry_run = true,
	                           .make = replace_line,
	                           .context = &line};
	struct stet_answer *answer = st_answer_new("success");
	assert_int_equal(st_change_apply(host->session, &change, answer, &host->err), 0);
	assert_true(stet_answer_merged(answer));
	stet_answer_free(answer);
	assert_string_equal(dir_read(host->dir, "a.txt"), "theirs\n" LINES);
	assert_int_equal(merge_line(host, line), 0);
	assert_string_equal(dir_read(host->dir, "a.txt"), "theirs\n1\n2\n3\n4\nmine\n6\n7\n8\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		host_claim(a_read_beyond_the_end_shows_nothing),
		host_claim(no_writer_waits_while_a_change_is_made),
		host_claim(a_refusal_that_nobody_gets_to_see_shows_nothing),
		host_claim(a_merge_that_could_not_be_written_is_made_again_from_the_same_base),
		host_claim(the_same_for_a_whole_file),
		host_claim(a_whole_file_is_not_merged_over_lines_that_were_not_seen),
		host_claim(a_rehearsed_merge_counts_for_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
