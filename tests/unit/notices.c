/* Notices: in order, bounded, and none is dropped without a word. */
#include "base/notices.h"

#include "lib/test.h"

static void notices_come_out_in_order(void **state) {
	(void)state;
	struct st_notices notices;
	struct st_notice notice;
	st_notices_init(&notices);
	assert_false(st_notices_take(&notices, &notice));
	st_notices_add(&notices, "%s %d", "number", 1);
	st_notices_add_about(&notices, "copy", "number %d", 2);
	assert_true(st_notices_take(&notices, &notice));
	assert_string_equal(notice.text, "number 1");
	assert_null(notice.about);
	st_notice_release(&notice);
	assert_true(st_notices_take(&notices, &notice));
	assert_string_equal(notice.text, "number 2");
	assert_string_equal(notice.about, "copy");
	st_notice_release(&notice);
	assert_false(st_notices_take(&notices, &notice));
	st_notices_add(&notices, "left behind");
	st_notices_release(&notices);
}

static void notices_that_do_not_fit_are_counted(void **state) {
	(void)state;
	struct st_notices notices;
	struct st_notice notice;
	st_notices_init(&notices);
	for (int i = 0; i < ST_NOTICES_MAX + 3; i++)
		st_notices_add_about(&notices, "copy", "number %d", i);
	for (int i = 0; i < ST_NOTICES_MAX; i++) {
		char text[32];
		snprintf(text, sizeof text, "number %d", i);
		assert_true(st_notices_take(&notices, &notice));
		assert_string_equal(notice.text, text);
		st_notice_release(&notice);
	}
	assert_true(st_notices_take(&notices, &notice));
	assert_string_equal(notice.text, "3 more notices did not fit.");
	st_notice_release(&notice);
	assert_false(st_notices_take(&notices, &notice));
	st_notices_release(&notices);
}

enum { THREADS = 4, EACH = 10 };

static void *add_some(void *data) {
	for (int i = 0; i < EACH; i++)
		st_notices_add(data, "a notice");
	return NULL;
}

static void several_threads_may_add(void **state) {
	(void)state;
	struct st_notices notices;
	struct st_notice notice;
	pthread_t threads[THREADS];
	size_t count = 0;
	st_notices_init(&notices);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_some, &notices), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (; st_notices_take(&notices, &notice); count++)
		st_notice_release(&notice);
	assert_int_equal(count, THREADS * EACH);
	st_notices_release(&notices);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notices_come_out_in_order),
		cmocka_unit_test(notices_that_do_not_fit_are_counted),
		cmocka_unit_test(several_threads_may_add),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
