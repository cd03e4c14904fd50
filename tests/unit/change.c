/* What a session counts as seen when a call does not come to its end, and merges that have to be made again. */
#include "core/change.h"
#include "lib/session.h"
#include "text/lines.h"

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

static int merge_line(struct desk *desk, size_t line) {
	struct st_change change = {.path = "a.txt",
	                           .kind = ST_CHANGE_LINES,
	                           .merge = true,
	                           .make = replace_line,
	                           .context = &line};
	struct stet_answer *answer = st_answer_new("success");
	int code = st_change_apply(desk->session, &change, answer, &desk->err);
	stet_answer_free(answer);
	return code;
}

static int merge_whole(struct desk *desk, char *text) {
	struct st_change change = {.path = "a.txt",
	                           .kind = ST_CHANGE_WHOLE,
	                           .merge = true,
	                           .make = write_text,
	                           .context = text};
	struct stet_answer *answer = st_answer_new("success");
	int code = st_change_apply(desk->session, &change, answer, &desk->err);
	stet_answer_free(answer);
	return code;
}

#define LINES "1\n2\n3\n4\n5\n6\n7\n8\n"

/* ---- claims ---- */

static void a_read_beyond_the_end_shows_nothing(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.txt", LINES);
	assert_int_equal(desk_read(desk, "a.txt"), 0);
	dir_write(desk->dir, "a.txt", "1\n2\ntheirs\n");
	assert_int_equal(desk_read_lines(desk, "a.txt", 8, 1), STET_E_INVALID);
	assert_int_equal(desk_check(desk, "a.txt"), 0);
	assert_string_equal(stet_answer_status(desk->answer), "modified");
	assert_int_equal(desk_edit(desk, "a.txt", "1", "one"), STET_E_CONFLICT);
	assert_string_equal(dir_read(desk->dir, "a.txt"), "1\n2\ntheirs\n");
}

/* Whether another process could open a.txt to write while a change of it is made. */
static int open_meanwhile(void *context, struct st_str old, struct st_buf *new,
                          struct stet_error *err) {
	const struct desk *desk = context;
	st_autofd fd = openat(desk->dir->fd, "a.txt", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	(void)err;
	st_buf_adds(new, fd < 0 ? "locked\n" : "free\n");
	st_buf_add(new, old);
	return 0;
}

static void no_writer_waits_while_a_change_is_made(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.txt", LINES);
	assert_int_equal(desk_read(desk, "a.txt"), 0);
	struct st_change change = {
		.path = "a.txt", .kind = ST_CHANGE_ANCHORED, .make = open_meanwhile, .context = desk};
	struct stet_answer *answer = st_answer_new("ok");
	assert_non_null(answer);
	assert_int_equal(st_change_apply(desk->session, &change, answer, NULL), 0);
	assert_string_equal(dir_read(desk->dir, "a.txt"), "free\n" LINES);
	stet_answer_free(answer);
}

static void a_refusal_that_nobody_gets_to_see_shows_nothing(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.txt", LINES);
	assert_int_equal(desk_read(desk, "a.txt"), 0);
	dir_write(desk->dir, "a.txt", "theirs\n" LINES);
	for (int i = 0; i < 2; i++) {
		int code = stet_session_write(desk->session, "a.txt", "mine\n", 5, NULL, NULL, &desk->err);
		assert_int_equal(code, STET_E_CONFLICT);
		assert_non_null(strstr(desk->err.message, "read the file again"));
		assert_null(strstr(desk->err.message, "counts as read"));
	}
	assert_string_equal(dir_read(desk->dir, "a.txt"), "theirs\n" LINES);
	assert_int_equal(desk_write(desk, "a.txt", "mine\n"), STET_E_CONFLICT);
	assert_int_equal(desk_write(desk, "a.txt", "mine\n"), 0);
}

static void a_merge_that_could_not_be_written_is_made_again_from_the_same_base(void **state) {
	struct desk *desk = *state;
	dir_write(desk->dir, "a.txt", LINES);
	assert_int_equal(desk_read(desk, "a.txt"), 0);
	dir_write(desk->dir, "a.txt", "theirs\n" LINES);
	int writer = open(dir_at(desk->dir, "a.txt"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(merge_line(desk, 5), STET_E_BUSY);
	close(writer);
	assert_int_equal(merge_line(desk, 5), 0);
	assert_string_equal(dir_read(desk->dir, "a.txt"), "theirs\n1\n2\n3\n4\nmine\n6\n7\n8\n");
	assert_int_equal(desk_check(desk, "a.txt"), 0);
	assert_string_equal(stet_answer_status(desk->answer), "clean");
}

static void the_same_for_a_whole_file(void **state) {
	struct desk *desk = *state;
	char text[] = "1\n2\n3\n4\n5\n6\n7\nmine\n";
	dir_write(desk->dir, "a.txt", LINES);
	assert_int_equal(desk_read(desk, "a.txt"), 0);
	dir_write(desk->dir, "a.txt", "theirs\n" LINES);
	int writer = open(dir_at(desk->dir, "a.txt"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(merge_whole(desk, text), STET_E_BUSY);
	close(writer);
	assert_int_equal(merge_whole(desk, text), 0);
	assert_string_equal(dir_read(desk->dir, "a.txt"), "theirs\n1\n2\n3\n4\n5\n6\n7\nmine\n");
	/* The foreign line was shown, so all of the file has been seen. */
	assert_int_equal(desk_write(desk, "a.txt", "all new\n"), 0);
}

static void a_whole_file_is_not_merged_over_lines_that_were_not_seen(void **state) {
	struct desk *desk = *state;
	char text[] = "1\n2\n3\n4\n";
	dir_write(desk->dir, "a.txt", LINES);
	assert_int_equal(desk_read_lines(desk, "a.txt", 1, 4), 0);
	dir_write(desk->dir, "a.txt", "theirs\n" LINES);
	assert_int_equal(merge_whole(desk, text), STET_E_CONFLICT);
	assert_string_equal(dir_read(desk->dir, "a.txt"), "theirs\n" LINES);
}

static void a_rehearsed_merge_counts_for_nothing(void **state) {
	struct desk *desk = *state;
	size_t line = 5;
	dir_write(desk->dir, "a.txt", LINES);
	assert_int_equal(desk_read(desk, "a.txt"), 0);
	dir_write(desk->dir, "a.txt", "theirs\n" LINES);
	struct st_change change = {.path = "a.txt",
	                           .kind = ST_CHANGE_LINES,
	                           .merge = true,
	                           .dry_run = true,
	                           .make = replace_line,
	                           .context = &line};
	struct stet_answer *answer = st_answer_new("success");
	assert_int_equal(st_change_apply(desk->session, &change, answer, &desk->err), 0);
	assert_true(stet_answer_merged(answer));
	stet_answer_free(answer);
	assert_string_equal(dir_read(desk->dir, "a.txt"), "theirs\n" LINES);
	assert_int_equal(merge_line(desk, line), 0);
	assert_string_equal(dir_read(desk->dir, "a.txt"), "theirs\n1\n2\n3\n4\nmine\n6\n7\n8\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		desk_claim(a_read_beyond_the_end_shows_nothing),
		desk_claim(no_writer_waits_while_a_change_is_made),
		desk_claim(a_refusal_that_nobody_gets_to_see_shows_nothing),
		desk_claim(a_merge_that_could_not_be_written_is_made_again_from_the_same_base),
		desk_claim(the_same_for_a_whole_file),
		desk_claim(a_whole_file_is_not_merged_over_lines_that_were_not_seen),
		desk_claim(a_rehearsed_merge_counts_for_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
