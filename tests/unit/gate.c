/* Who may talk to the HTTP server. */
#include "net/gate.h"

#include <unistd.h>

#include "base/auto.h"
#include "lib/test.h"

#define TOKEN "0123456789abcdef0123"
#define OTHER "fedcba9876543210fedc"

static void loopback_answers_to_its_own_names_only(void **state) {
	struct st_gate gate = {.loopback = true};
	assert_true(st_gate_host(&gate, "localhost"));
	assert_true(st_gate_host(&gate, "LOCALHOST:8080"));
	assert_true(st_gate_host(&gate, "localhost."));
	assert_true(st_gate_host(&gate, "127.0.0.1:1"));
	assert_true(st_gate_host(&gate, "[::1]:8080"));
	assert_false(st_gate_host(&gate, NULL));
	assert_false(st_gate_host(&gate, ""));
	assert_false(st_gate_host(&gate, "evil.example"));
	assert_false(st_gate_host(&gate, "localhost.evil.example:8080"));
	assert_false(st_gate_host(&gate, "evil.example:localhost"));
	assert_false(st_gate_host(&gate, "192.168.1.1"));
	assert_false(st_gate_host(&gate, "[::1"));
	assert_false(st_gate_host(&gate, "[fe80::1]"));
}

static void others_may_also_use_an_address_and_the_machines_name(void **state) {
	struct st_gate gate = {.loopback = false};
	char name[256];
	assert_int_equal(gethostname(name, sizeof name), 0);
	assert_true(st_gate_host(&gate, "192.168.1.1:8080"));
	assert_true(st_gate_host(&gate, "[fe80::1]:8080"));
	assert_true(st_gate_host(&gate, name));
	assert_false(st_gate_host(&gate, "evil.example"));
	assert_false(st_gate_host(&gate, "1.2.3.4.evil.example"));
}

static void a_name_can_be_added(void **state) {
	st_auto(st_gate) gate = {.loopback = true};
	assert_int_equal(st_gate_add_host(&gate, "stet.example", NULL), 0);
	assert_true(st_gate_host(&gate, "Stet.Example:443"));
	assert_true(st_gate_origin(&gate, "https://stet.example"));
	assert_false(st_gate_host(&gate, "example"));
	for (int i = 1; i < ST_GATE_HOSTS_MAX; i++)
		assert_int_equal(st_gate_add_host(&gate, "x", NULL), 0);
	assert_int_equal(st_gate_add_host(&gate, "x", NULL), STET_E_LIMIT);
}

static void only_pages_of_its_own_names_may_come_in(void **state) {
	struct st_gate gate = {.loopback = true};
	assert_true(st_gate_origin(&gate, NULL));
	assert_true(st_gate_origin(&gate, "http://localhost:3000"));
	assert_true(st_gate_origin(&gate, "http://127.0.0.1"));
	assert_true(st_gate_origin(&gate, "https://[::1]:8080"));
	assert_false(st_gate_origin(&gate, "null"));
	assert_false(st_gate_origin(&gate, ""));
	assert_false(st_gate_origin(&gate, "http://evil.example"));
	assert_false(st_gate_origin(&gate, "http://localhost.evil.example"));
	assert_false(st_gate_origin(&gate, "file://localhost"));
	assert_false(st_gate_origin(&gate, "vscode-webview://localhost"));
}

static void without_tokens_everybody_is_nobody(void **state) {
	struct st_gate gate = {.loopback = true, .open = true};
	char owner[ST_GATE_OWNER + 1] = "x";
	assert_true(st_gate_token(&gate, NULL, owner));
	assert_string_equal(owner, "");
}

static void a_token_says_who_is_calling(void **state) {
	st_auto(st_gate) gate = {0};
	char one[ST_GATE_OWNER + 1], two[ST_GATE_OWNER + 1];
	struct st_str text = ST_STR("# of the agents\n\n" TOKEN "\r\n  " OTHER "\n");
	assert_int_equal(st_gate_add_tokens(&gate, text, NULL), 0);
	assert_int_equal(gate.token_count, 2);
	assert_true(st_gate_token(&gate, "Bearer " TOKEN, one));
	assert_true(st_gate_token(&gate, "bearer  " OTHER " ", two));
	assert_int_equal(strlen(one), ST_GATE_OWNER);
	assert_string_not_equal(one, two);
}

static void a_wrong_token_is_refused(void **state) {
	st_auto(st_gate) gate = {0};
	char owner[ST_GATE_OWNER + 1];
	assert_int_equal(st_gate_add_tokens(&gate, ST_STR(TOKEN), NULL), 0);
	assert_false(st_gate_token(&gate, NULL, owner));
	assert_false(st_gate_token(&gate, "", owner));
	assert_false(st_gate_token(&gate, TOKEN, owner));
	assert_false(st_gate_token(&gate, "Bearer", owner));
	assert_false(st_gate_token(&gate, "Bearer ", owner));
	assert_false(st_gate_token(&gate, "Basic " TOKEN, owner));
	assert_false(st_gate_token(&gate, "Bearer " TOKEN "0", owner));
	assert_false(st_gate_token(&gate, "Bearer " OTHER, owner));
	assert_string_equal(owner, "");
}

static void a_token_that_could_be_guessed_is_no_token(void **state) {
	st_auto(st_gate) gate = {0};
	struct stet_error err;
	assert_int_equal(st_gate_add_tokens(&gate, ST_STR("secret\n"), &err), STET_E_INVALID);
	assert_non_null(strstr(err.message, "at least 16"));
	assert_int_equal(st_gate_add_tokens(&gate, ST_STR("two words that are long"), &err),
	                 STET_E_INVALID);
	assert_int_equal(st_gate_add_tokens(&gate, ST_STR("# nothing\n\n"), &err), STET_E_INVALID);
	assert_int_equal(gate.token_count, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loopback_answers_to_its_own_names_only),
		cmocka_unit_test(others_may_also_use_an_address_and_the_machines_name),
		cmocka_unit_test(a_name_can_be_added),
		cmocka_unit_test(only_pages_of_its_own_names_may_come_in),
		cmocka_unit_test(without_tokens_everybody_is_nobody),
		cmocka_unit_test(a_token_says_who_is_calling),
		cmocka_unit_test(a_wrong_token_is_refused),
		cmocka_unit_test(a_token_that_could_be_guessed_is_no_token),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
