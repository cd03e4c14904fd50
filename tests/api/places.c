/* Places through the public header. */
#include <stet/stet.h>

#include "lib/test.h"

/* Two checkouts of one repository, and a state directory of the test's own. */
static void make_checkouts(const struct dir *dir) {
	char command[2000];
	snprintf(command, sizeof command,
	         "cd '%s' && mkdir state main && cd main && export GIT_CONFIG_GLOBAL=/dev/null &&"
	         " git init -q -b main && echo one >a.txt && git add . &&"
	         " git -c user.name=A -c user.email=a@example.com commit -q -m first &&"
	         " git worktree add -q -b b ../tree",
	         dir->path);
	assert_int_equal(system(command), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", dir_at(dir, "state"), 1), 0);
}

static struct stet_workspace *open_at(const struct dir *dir, const char *where) {
	struct stet_workspace *ws = NULL;
	assert_int_equal(stet_workspace_open(dir_at(dir, where), &ws, NULL), 0);
	assert_int_equal(stet_workspace_set(ws, STET_OPTION_STATE, 2, NULL), 0);
	return ws;
}

static void edit_as_ann(struct stet_workspace *ws, const char *old, const char *new) {
	struct stet_session *session = NULL;
	struct stet_answer *answer = NULL;
	assert_int_equal(stet_session_open(ws, "Ann", &session, NULL), 0);
	assert_int_equal(stet_session_edit(session, "a.txt", old, strlen(old), new, strlen(new), NULL,
	                                   &answer, NULL),
	                 0);
	stet_answer_free(answer);
	stet_session_close(session);
}

static void an_edit_shows_in_the_other_checkout(void **state) {
	const struct dir *dir = *state;
	struct stet_error err = {0};
	char *json = NULL;
	size_t len = 0;
	make_checkouts(dir);
	struct stet_workspace *one = open_at(dir, "main"), *two = open_at(dir, "tree");
	edit_as_ann(one, "one", "two");
	stet_workspace_close(one);
	assert_int_equal(stet_who(two, &json, &len, &err), 0);
	assert_int_equal(strlen(json), len);
	assert_non_null(strstr(json, "\"path\":\"a.txt\",\"by\":\"Ann\""));
	stet_free(json);
	assert_int_equal(stet_who(NULL, &json, NULL, &err), STET_E_INVALID);
	stet_workspace_close(two);
}

static void a_forecast_names_the_lines_that_overlap(void **state) {
	const struct dir *dir = *state;
	struct stet_error err = {0};
	char *json = NULL;
	size_t len = 0;
	make_checkouts(dir);
	struct stet_workspace *one = open_at(dir, "main"), *two = open_at(dir, "tree");
	edit_as_ann(one, "one", "two");
	edit_as_ann(two, "one", "three");
	stet_workspace_close(one);
	assert_int_equal(stet_forecast(two, NULL, 0, &json, &len, &err), 0);
	assert_int_equal(strlen(json), len);
	assert_non_null(strstr(json, "\"verdict\":\"overlaps\""));
	assert_non_null(strstr(json, "\"a\":{\"start\":1,\"count\":1,\"text\":\"three\\n\"}"));
	stet_free(json);
	assert_int_equal(stet_forecast(two, "none.txt", 1, &json, NULL, &err), 0);
	assert_non_null(strstr(json, "\"files\":[]"));
	stet_free(json);
	assert_int_equal(stet_forecast(two, "../main/a.txt", 0, &json, NULL, &err), STET_E_OUTSIDE);
	assert_null(json);
	stet_workspace_close(two);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(an_edit_shows_in_the_other_checkout),
		claim(a_forecast_names_the_lines_that_overlap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
