/* The page's data, through the public headers. */
#include <stet/stet.h>

#include "lib/test.h"

static void a_program_can_show_what_agents_do(void **state) {
	const struct dir *dir = *state;
	struct stet_workspace *ws = NULL;
	struct stet_session *session = NULL;
	struct stet_error err = {0};
	char *json = NULL;
	size_t len = 0;
	assert_int_equal(stet_workspace_open(dir->path, &ws, &err), 0);
	assert_int_equal(stet_workspace_set(ws, STET_OPTION_STATE, 2, &err), 0);
	assert_int_equal(stet_session_open(ws, "me", &session, &err), 0);
	assert_int_equal(stet_page_changes(ws), 0);
	assert_int_equal(stet_session_write(session, "a.txt", "hi\n", 3, NULL, NULL, &err), 0);
	assert_true(stet_page_changes(ws) > 0);
	assert_int_equal(stet_page(ws, "history", "{\"limit\":1}", 11, &json, &len, &err), 0);
	assert_int_equal(strlen(json), len);
	assert_non_null(strstr(json, "\"a.txt\""));
	stet_free(json);
	assert_int_equal(stet_page(ws, "everything", NULL, 0, &json, NULL, &err), STET_E_INVALID);
	assert_null(json);
	assert_int_equal(stet_page(NULL, "now", NULL, 0, &json, NULL, &err), STET_E_INVALID);
	assert_int_equal(stet_page_changes(NULL), 0);
	stet_session_close(session);
	stet_workspace_close(ws);
}

int main(void) {
	const struct CMUnitTest tests[] = {claim(a_program_can_show_what_agents_do)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
