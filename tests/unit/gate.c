/* The checks of an HTTP request before it is handled: host, origin, token. */
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

static void behind_the_name_is_a_port_and_nothing_else(void **state) {
	struct st_gate gate = {.loopback = true};
	static const char *const odd[] = {
		"127.0.0.1:80.evil.example",
		"127.0.0.1:80@evil.example",
		"127.0.0.1:80, evil.example",
		"127.0.0.1:65536",
		"127.0.0.1:-1",
		"127.0.0.1:080808",
		"127.0.0.1:80:80",
		"[::1]evil.example",
		"[::1]:80x",
		"[::1].",
	};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		assert_false(st_gate_host(&gate, odd[i]));
	assert_true(st_gate_host(&gate, "127.0.0.1:"));
	assert_true(st_gate_host(&gate, "localhost.:65535"));
	assert_false(st_gate_origin(&gate, "http://localhost:80.evil.example"));
	assert_false(st_gate_origin(&gate, "http://localhost:80/path"));
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
	struct st_caller caller = {.owner = "x", .token = "y"};
	assert_true(st_gate_token(&gate, NULL, &caller));
	assert_string_equal(caller.owner, "");
	assert_string_equal(caller.token, "");
}

static void a_token_says_who_is_calling(void **state) {
	st_auto(st_gate) gate = {0};
	struct st_caller one, two;
	struct st_str text = ST_STR("# of the agents\n\n" TOKEN "\r\n  " OTHER "\n");
	assert_int_equal(st_gate_add_tokens(&gate, text, NULL), 0);
	assert_int_equal(gate.token_count, 2);
	assert_true(st_gate_token(&gate, "Bearer " TOKEN, &one));
	assert_true(st_gate_token(&gate, "bearer  " OTHER " ", &two));
	assert_int_equal(strlen(one.owner), ST_GATE_DIGEST);
	assert_string_not_equal(one.owner, two.owner);
	assert_false(one.named);
}

static void a_wrong_token_is_refused(void **state) {
	st_auto(st_gate) gate = {0};
	struct st_caller caller;
	assert_int_equal(st_gate_add_tokens(&gate, ST_STR(TOKEN), NULL), 0);
	assert_false(st_gate_token(&gate, NULL, &caller));
	assert_false(st_gate_token(&gate, "", &caller));
	assert_false(st_gate_token(&gate, TOKEN, &caller));
	assert_false(st_gate_token(&gate, "Bearer", &caller));
	assert_false(st_gate_token(&gate, "Bearer ", &caller));
	assert_false(st_gate_token(&gate, "Basic " TOKEN, &caller));
	assert_false(st_gate_token(&gate, "Bearer " TOKEN "0", &caller));
	assert_false(st_gate_token(&gate, "Bearer " OTHER, &caller));
	assert_string_equal(caller.owner, "");
}

static void a_line_says_what_a_token_may_do(void **state) {
	st_auto(st_gate) gate = {0};
	struct st_caller caller;
	struct st_str text =
		ST_STR(TOKEN " name=ci \tread-only root=/srv/a%20b root=/srv/c\n" OTHER "\n");
	assert_int_equal(st_gate_add_tokens(&gate, text, NULL), 0);
	const struct st_token *token = &gate.tokens[0];
	assert_true(token->read_only);
	assert_int_equal(token->root_count, 2);
	assert_string_equal(token->roots[0], "/srv/a b");
	assert_string_equal(token->roots[1], "/srv/c");
	assert_false(gate.tokens[1].read_only);
	assert_true(st_gate_token(&gate, "Bearer " TOKEN, &caller));
	assert_string_equal(caller.owner, "ci");
	assert_true(caller.named);
}

static void a_line_that_is_not_understood_is_refused(void **state) {
	static const char *const lines[] = {
		TOKEN " readonly",
		TOKEN " name=",
		TOKEN " name=a/b",
		TOKEN " name=a name=b",
		TOKEN " name=0123456789012345678901234567890123",
		TOKEN " root=",
		TOKEN " root=%zz",
		TOKEN " root=%00",
		TOKEN " " OTHER,
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		st_auto(st_gate) gate = {0};
		struct stet_error err = {0};
		assert_int_equal(st_gate_add_tokens(&gate, st_str(lines[i]), &err), STET_E_INVALID);
		assert_null(strstr(err.message, TOKEN));
		assert_int_equal(gate.token_count, 0);
	}
}

static void a_token_ends_by_itself_not_by_its_name(void **state) {
	st_auto(st_gate) gate = {0}, next = {0}, copy = {0};
	struct st_caller old;
	assert_int_equal(st_gate_add_tokens(&gate, ST_STR(TOKEN " name=ci root=/srv"), NULL), 0);
	assert_true(st_gate_token(&gate, "Bearer " TOKEN, &old));
	assert_true(st_gate_accepts(&gate, old.token));
	assert_int_equal(st_gate_add_tokens(&next, ST_STR(OTHER " name=ci"), NULL), 0);
	assert_int_equal(st_gate_copy_tokens(&copy, &gate, NULL), 0);
	st_gate_take_tokens(&gate, &next);
	assert_int_equal(next.token_count, 0);
	assert_false(st_gate_accepts(&gate, old.token));
	assert_true(st_gate_accepts(&copy, old.token));
	assert_string_equal(copy.tokens[0].roots[0], "/srv");
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
		cmocka_unit_test(behind_the_name_is_a_port_and_nothing_else),
		cmocka_unit_test(others_may_also_use_an_address_and_the_machines_name),
		cmocka_unit_test(a_name_can_be_added),
		cmocka_unit_test(only_pages_of_its_own_names_may_come_in),
		cmocka_unit_test(without_tokens_everybody_is_nobody),
		cmocka_unit_test(a_token_says_who_is_calling),
		cmocka_unit_test(a_wrong_token_is_refused),
		cmocka_unit_test(a_line_says_what_a_token_may_do),
		cmocka_unit_test(a_line_that_is_not_understood_is_refused),
		cmocka_unit_test(a_token_ends_by_itself_not_by_its_name),
		cmocka_unit_test(a_token_that_could_be_guessed_is_no_token),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
