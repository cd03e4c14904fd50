/* The base layer: buffers, the bounded map, UTF-8, JSON strings, errors. */
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/lru.h"
#include "base/utf8.h"
#include "lib/test.h"

static void a_number_is_appended_in_decimal(void **state) {
	(void)state;
	st_auto(st_buf) buf = ST_BUF_INIT;
	st_buf_addu(&buf, 0);
	st_buf_addc(&buf, ' ');
	st_buf_addu(&buf, 1200);
	st_buf_addc(&buf, ' ');
	st_buf_addu(&buf, UINT64_MAX);
	assert_string_equal(buf.ptr, "0 1200 18446744073709551615");
}

static void a_buffer_is_always_nul_ended(void **state) {
	(void)state;
	st_auto(st_buf) buf = ST_BUF_INIT;
	for (int i = 0; i < 1000; i++) {
		st_buf_addf(&buf, "%d,", i);
		assert_int_equal(buf.ptr[buf.len], '\0');
	}
	assert_int_equal(buf.len, 3890);
	assert_memory_equal(buf.ptr, "0,1,2,", 6);
}

static void an_impossible_size_sticks_as_a_failure(void **state) {
	(void)state;
	st_auto(st_buf) buf = ST_BUF_INIT;
	st_buf_adds(&buf, "kept");
	assert_false(st_buf_reserve(&buf, (size_t)-1));
	st_buf_adds(&buf, " not added");
	assert_true(buf.failed);
	assert_string_equal(buf.ptr, "kept");
}

static void lru_evicts_the_least_recently_used(void **state) {
	(void)state;
	struct st_lru lru;
	st_lru_init(&lru, 3, 100, free);
	assert_true(st_lru_put(&lru, ST_STR("a"), strdup("1"), 1));
	assert_true(st_lru_put(&lru, ST_STR("b"), strdup("2"), 1));
	assert_true(st_lru_put(&lru, ST_STR("c"), strdup("3"), 1));
	assert_string_equal(st_lru_get(&lru, ST_STR("a")), "1");
	assert_true(st_lru_put(&lru, ST_STR("d"), strdup("4"), 1));
	assert_null(st_lru_get(&lru, ST_STR("b")));
	assert_non_null(st_lru_get(&lru, ST_STR("a")));
	assert_int_equal(lru.count, 3);
	st_lru_release(&lru);
}

static void lru_keeps_the_sum_of_costs_within_bounds(void **state) {
	(void)state;
	struct st_lru lru;
	st_lru_init(&lru, 1000, 100, free);
	for (int i = 0; i < 500; i++) {
		char key[16];
		snprintf(key, sizeof key, "%d", i);
		assert_true(st_lru_put(&lru, st_str(key), strdup(key), 30));
		assert_true(lru.cost <= 100);
	}
	assert_int_equal(lru.count, 3);
	assert_false(st_lru_put(&lru, ST_STR("big"), strdup("x"), 101));
	assert_int_equal(lru.count, 3);
	st_lru_release(&lru);
}

static void lru_holds_ten_thousand_entries_in_order_of_use(void **state) {
	(void)state;
	struct st_lru lru;
	st_lru_init(&lru, 10000, 10000, free);
	for (int i = 0; i < 20000; i++) {
		char key[16];
		snprintf(key, sizeof key, "k%d", i);
		st_lru_put(&lru, st_str(key), strdup(key), 1);
	}
	int expected = 19999;
	for (const struct st_lru_entry *e = st_lru_next(&lru, NULL); e; e = st_lru_next(&lru, e)) {
		char key[16];
		snprintf(key, sizeof key, "k%d", expected--);
		assert_true(st_str_eq(st_lru_key(e), st_str(key)));
	}
	assert_int_equal(expected, 9999);
	st_lru_release(&lru);
}

static void utf8_rejects_what_the_standard_rejects(void **state) {
	(void)state;
	static const char *const bad[] = {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82",
	                                  "\xFF",     "\x80",         "\xF0\x80\x80\x80"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(st_utf8_valid(st_str(bad[i])));
	assert_true(
		st_utf8_valid(st_str("plain ASCII text, then \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80")));
}

static void utf8_round_trips_every_code_point(void **state) {
	(void)state;
	st_auto(st_buf) buf = ST_BUF_INIT;
	for (uint32_t point = 0; point <= 0x10FFFF; point++) {
		if (point >= 0xD800 && point <= 0xDFFF)
			continue;
		st_buf_clear(&buf);
		st_utf8_add(&buf, point);
		uint32_t back;
		assert_int_equal(st_utf8_next(st_buf_str(&buf), &back), buf.len);
		assert_int_equal(back, point);
	}
}

static void utf8_shows_bad_bytes_as_replacement_characters(void **state) {
	(void)state;
	st_auto(st_buf) buf = ST_BUF_INIT;
	assert_true(st_utf8_add_lossy(&buf, ST_STR("a\xFF\xFE z\xC3")));
	assert_string_equal(buf.ptr, "a\xEF\xBF\xBD\xEF\xBF\xBD z\xEF\xBF\xBD");
}

static void utf8_never_cuts_a_character(void **state) {
	(void)state;
	struct st_str text = ST_STR(
		"ab\xE2\x82\xAC"
		"cd");
	assert_int_equal(st_utf8_cut(text, 2), 2);
	assert_int_equal(st_utf8_cut(text, 3), 2);
	assert_int_equal(st_utf8_cut(text, 4), 2);
	assert_int_equal(st_utf8_cut(text, 5), 5);
	assert_int_equal(st_utf8_cut(text, 99), 7);
	assert_int_equal(st_utf8_cut(ST_STR("\x80\x80\x80\x80\x80\x80\x80\x80"), 6), 6);
}

/* The quoted copy ends where its memory ends, so that the address sanitizer sees a read behind it. */
static void check_quoted(struct st_str text) {
	st_auto(st_buf) own = ST_BUF_INIT;
	st_autofree char *copy = malloc(text.len + 1);
	assert_non_null(copy);
	char *start = memcpy(copy + 1, text.ptr, text.len);
	st_json_quote(&own, st_strn(start, text.len));
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_doc_set_root(doc, st_json_text(doc, text));
	st_autofree char *theirs = yyjson_mut_write(doc, 0, NULL);
	yyjson_mut_doc_free(doc);
	assert_string_equal(own.ptr, theirs);
	assert_int_equal(own.len, strlen(theirs));
}

/* Every byte, alone and among others, before and behind every boundary of the bytes that one step reads. */
static void a_string_is_quoted_as_yyjson_does_it(void **state) {
	(void)state;
	char text[300];
	for (unsigned byte = 0; byte < 0x80; byte++) {
		for (size_t at = 0; at < sizeof text; at++) {
			memset(text, 'x', sizeof text);
			text[at] = text[sizeof text - 1 - at / 2] = (char)byte;
			check_quoted(st_str_slice(st_strn(text, sizeof text), at % 7, sizeof text));
		}
	}
}

static void a_mixed_string_is_quoted_as_yyjson_does_it(void **state) {
	(void)state;
	static const char *const pieces[] = {
		"plain text of some length",
		"\n",
		"\t\t",
		"\"",
		"\\",
		"\x01",
		"\x7f",
		"é",
		"文文文",
		"\U0001F600",
		"\xff",
		"\xe2\x82",
		"\xed\xa0\x80",
		"x",
	};
	unsigned seed = 1;
	for (int round = 0; round < 20000; round++) {
		st_auto(st_buf) text = ST_BUF_INIT;
		for (unsigned count = (seed = seed * 1103515245 + 12345) >> 16 & 31; count > 0; count--) {
			seed = seed * 1103515245 + 12345;
			st_buf_adds(&text, pieces[(seed >> 16) % (sizeof pieces / sizeof *pieces)]);
		}
		check_quoted(st_buf_str(&text));
	}
}

static void a_quoted_string_is_utf8_whatever_it_was(void **state) {
	(void)state;
	static const struct {
		const char *text, *quoted;
	} cases[] = {
		{"", "\"\""},
		{"Ünïcödé 文 \U0001F600, and more of it \n",
	     "\"Ünïcödé 文 \U0001F600, and more of it \\n\""},
		{"a\xff\"", "\"a\uFFFD\\\"\""},
		{"\x01\x01\x01\x01\x01\x01\x01\x01",
	     "\"\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		st_auto(st_buf) out = ST_BUF_INIT;
		st_json_quote(&out, st_str(cases[i].text));
		assert_string_equal(out.ptr, cases[i].quoted);
	}
}

static void what_is_no_string_has_no_text(void **state) {
	(void)state;
	static const char text[] = "[\"text\", [1, 2, 3], {\"a\": 1, \"b\": 2}, 300, 1.5, true, null]";
	yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
	size_t i, max;
	yyjson_val *value;
	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, max, value) {
		assert_int_equal(st_json_str(value).len, i == 0 ? 4 : 0);
		assert_string_equal(st_json_str(value).ptr, i == 0 ? "text" : "");
	}
	assert_int_equal(st_json_str(NULL).len, 0);
	yyjson_doc_free(doc);
}

static void an_error_carries_code_and_sentence(void **state) {
	(void)state;
	struct stet_error err = {0};
	assert_int_equal(st_fail(&err, STET_E_BUSY, "%s is busy.", "a.c"), STET_E_BUSY);
	assert_int_equal(stet_error_code(&err), STET_E_BUSY);
	assert_string_equal(stet_error_message(&err), "a.c is busy.");
	assert_string_equal(stet_error_name(STET_E_NOT_FOUND), "not_found");
	assert_int_equal(stet_error_exit(STET_E_CONFLICT), 1);
	assert_int_equal(stet_error_exit(STET_E_INVALID), 2);
	assert_int_equal(stet_error_exit(STET_E_IO), 3);
	assert_int_equal(st_fail(NULL, STET_E_IO, "ignored"), STET_E_IO);
}

static void a_message_that_is_too_long_is_cut_visibly(void **state) {
	(void)state;
	struct stet_error err = {0};
	char path[5000];
	memset(path, 'x', sizeof path);
	path[sizeof path - 1] = '\0';
	st_fail(&err, STET_E_NOT_FOUND, "%s", path);
	size_t len = strlen(err.message);
	assert_true(len < sizeof err.message);
	assert_string_equal(err.message + len - 3, "...");
}

static void a_system_error_is_named(void **state) {
	(void)state;
	struct stet_error err = {0};
	assert_int_equal(st_fail_errno(&err, ENOSPC, "Cannot write %s", "a.c"), STET_E_NO_SPACE);
	assert_string_equal(err.message, "Cannot write a.c: No space left on device.");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_appended_in_decimal),
		cmocka_unit_test(a_buffer_is_always_nul_ended),
		cmocka_unit_test(an_impossible_size_sticks_as_a_failure),
		cmocka_unit_test(lru_evicts_the_least_recently_used),
		cmocka_unit_test(lru_keeps_the_sum_of_costs_within_bounds),
		cmocka_unit_test(lru_holds_ten_thousand_entries_in_order_of_use),
		cmocka_unit_test(utf8_rejects_what_the_standard_rejects),
		cmocka_unit_test(utf8_round_trips_every_code_point),
		cmocka_unit_test(utf8_shows_bad_bytes_as_replacement_characters),
		cmocka_unit_test(utf8_never_cuts_a_character),
		cmocka_unit_test(a_string_is_quoted_as_yyjson_does_it),
		cmocka_unit_test(a_mixed_string_is_quoted_as_yyjson_does_it),
		cmocka_unit_test(a_quoted_string_is_utf8_whatever_it_was),
		cmocka_unit_test(what_is_no_string_has_no_text),
		cmocka_unit_test(an_error_carries_code_and_sentence),
		cmocka_unit_test(a_message_that_is_too_long_is_cut_visibly),
		cmocka_unit_test(a_system_error_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
