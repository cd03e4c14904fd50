/* A cut keeps texts of files, a table of contents, and true numbers. */
#include "core/prompt/epoch.h"
#include "core/prompt/recall.h"
#include "core/prompt/working_set.h"
#include "lib/test.h"
#include "text/tokens/tokens.h"

struct talk {
	struct st_buf json;
	size_t calls;
};

static void begin_talk(struct talk *talk) {
	*talk = (struct talk){0};
	st_buf_adds(&talk->json, "[{\"role\":\"user\",\"content\":\"Write it.\"}");
}

/* An exchange of one call. */
static void add_call(struct talk *talk, const char *tool, const char *args, const char *result) {
	size_t id = ++talk->calls;
	st_buf_addf(
		&talk->json,
		",{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c%zu\",\"type\":"
		"\"function\",\"function\":{\"name\":\"%s\",\"arguments\":",
		id, tool);
	st_json_quote(&talk->json, st_str(args));
	st_buf_addf(&talk->json, "}}]},{\"role\":\"tool\",\"tool_call_id\":\"c%zu\",\"content\":", id);
	st_json_quote(&talk->json, st_str(result));
	st_buf_addc(&talk->json, '}');
}

/* Shell commands with long results, each another one. */
static void add_noise(struct talk *talk, size_t count) {
	for (size_t i = 0; i < count; i++) {
		st_auto(st_buf) args = ST_BUF_INIT;
		st_auto(st_buf) result = ST_BUF_INIT;
		st_buf_addf(&args, "{\"command\":\"make step%zu\"}", talk->calls);
		for (size_t line = 0; line < 80; line++)
			st_buf_addf(&result, "step %zu compiled object number %zu\n", talk->calls, line);
		add_call(talk, "bash", st_buf_cstr(&args), st_buf_cstr(&result));
	}
}

/* Cut the talk to 6,000 tokens, and go on with the result. */
static void cut_talk(struct talk *talk) {
	st_auto(st_buf) out = ST_BUF_INIT;
	struct stet_error err = {0};
	const struct st_epoch_options options = {.above = 8000, .to = 6000};
	st_buf_addc(&talk->json, ']');
	assert_int_equal(st_epoch(st_buf_str(&talk->json), &options, &out, NULL, &err), 1);
	/* The newest result, which the model has not seen, comes on top. */
	assert_true(st_tokens(st_buf_str(&out)) <= 7500);
	st_buf_clear(&talk->json);
	st_buf_add(&talk->json, st_str_slice(st_buf_str(&out), 0, out.len - 1));
}

static bool has(const struct talk *talk, const char *text) {
	return strstr(st_buf_cstr(&talk->json), text) != NULL;
}

static const char source[] = "int first_value;\nint load_rows(void) {\n\treturn 1;\n}\n";

static void a_cut_keeps_the_text_of_a_file_before_older_output(void **state) {
	(void)state;
	struct talk talk;
	begin_talk(&talk);
	add_call(&talk, "read", "{\"path\":\"src/rows.c\"}", source);
	add_noise(&talk, 24);
	cut_talk(&talk);
	assert_true(has(&talk, "int first_value;\\nint load_rows(void) {"));
	assert_false(has(&talk, "step 1 compiled object number 40"));
	st_buf_release(&talk.json);
}

static void what_nothing_else_needs_goes_to_capped_results(void **state) {
	(void)state;
	struct talk talk;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 800; i++)
		st_buf_addf(&text, "Line number %d is here for a good reason.\n", i);
	begin_talk(&talk);
	add_call(&talk, "bash", "{\"command\":\"make\"}", st_buf_cstr(&text));
	/* The model has seen the result. */
	st_buf_adds(&talk.json, ",{\"role\":\"assistant\",\"content\":\"I see.\"}");
	cut_talk(&talk);
	assert_true(st_tokens(st_buf_str(&talk.json)) > 5400);
	st_buf_release(&talk.json);
}

static void system_messages_of_every_turn_do_not_fill_the_prompt(void **state) {
	(void)state;
	struct talk talk = {0};
	st_buf_adds(&talk.json, "[{\"role\":\"system\",\"content\":\"You are a coder.\"}");
	for (int i = 0; i < 600; i++) {
		st_buf_addf(&talk.json,
		            ",{\"role\":\"system\",\"content\":\"Reminder %d: be short and exact.\"}", i);
		add_call(&talk, "bash", "{\"command\":\"make\"}", "ok");
	}
	cut_talk(&talk);
	assert_true(has(&talk, "You are a coder."));
	assert_true(has(&talk, "Reminder 599:"));
	assert_false(has(&talk, "Reminder 9:"));
	assert_false(has(&talk, " 0 requests"));
	st_buf_release(&talk.json);
}

static void a_text_that_a_later_write_replaced_is_left_out(void **state) {
	(void)state;
	struct talk talk;
	begin_talk(&talk);
	add_call(&talk, "read", "{\"path\":\"src/rows.c\"}", source);
	add_call(&talk, "write", "{\"path\":\"src/rows.c\",\"content\":\"int second_value;\\n\"}",
	         "ok");
	add_noise(&talk, 24);
	cut_talk(&talk);
	assert_false(has(&talk, "int first_value;"));
	assert_false(has(&talk, "- src/rows.c: load_rows"));
	assert_true(has(&talk, "int second_value;"));
	st_buf_release(&talk.json);
}

static void a_text_is_left_out_if_its_file_was_replaced_without_a_text(void **state) {
	(void)state;
	static const struct {
		const char *tool, *args;
	} calls[] = {
		{"bash", "{\"command\":\"./generate >src/rows.c\"}"},
		{"move_file", "{\"source\":\"b.c\",\"destination\":\"src/rows.c\"}"},
		{"apply_patch", "{\"patch\":\"*** Begin Patch\\n*** Add File: src/rows.c\\n+int x;\\n\"}"},
	};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		struct talk talk;
		begin_talk(&talk);
		add_call(&talk, "read", "{\"path\":\"src/rows.c\"}", source);
		add_call(&talk, calls[i].tool, calls[i].args, "done");
		add_noise(&talk, 24);
		cut_talk(&talk);
		assert_false(has(&talk, "int first_value;"));
		st_buf_release(&talk.json);
	}
}

static void a_patch_is_kept_with_the_text_that_it_changed(void **state) {
	(void)state;
	struct talk talk;
	begin_talk(&talk);
	add_call(&talk, "read", "{\"path\":\"src/rows.c\"}", source);
	add_call(&talk, "apply_patch",
	         "{\"input\":\"*** Begin Patch\\n*** Update File: src/rows.c\\n@@\\n-int "
	         "first_value;\\n+int "
	         "other_value;\\n*** End Patch\\n\"}",
	         "done");
	add_noise(&talk, 24);
	cut_talk(&talk);
	assert_true(has(&talk, "int first_value;\\nint load_rows"));
	assert_true(has(&talk, "+int other_value;"));
	st_buf_release(&talk.json);
}

static void names_of_a_text_of_two_files_are_listed_for_neither(void **state) {
	(void)state;
	struct talk talk;
	begin_talk(&talk);
	add_call(&talk, "bash", "{\"command\":\"cat src/rows.c src/other.c\"}", source);
	add_noise(&talk, 24);
	cut_talk(&talk);
	assert_false(has(&talk, "rows.c: load_rows"));
	assert_false(has(&talk, "other.c: load_rows"));
	st_buf_release(&talk.json);
}

static void results_belong_to_their_calls_however_many_there_are(void **state) {
	(void)state;
	enum { CALLS = 200 };
	st_auto(st_buf) json = ST_BUF_INIT;
	st_buf_adds(&json, "[{\"role\":\"assistant\",\"content\":[");
	for (int i = 0; i < CALLS; i++)
		st_buf_addf(&json,
		            "%s{\"type\":\"tool_use\",\"id\":\"c%d\",\"name\":\"bash\",\"input\":{}}",
		            i ? "," : "", i);
	st_buf_adds(&json, "]},{\"role\":\"user\",\"content\":[");
	for (int i = CALLS; i > 0; i--)
		st_buf_addf(&json,
		            "%s{\"type\":\"tool_result\",\"tool_use_id\":\"c%d\",\"content\":\"r%d\"}",
		            i < CALLS ? "," : "", i - 1, i - 1);
	st_buf_adds(&json, "]}]");
	struct st_messages list;
	struct st_message_calls calls;
	assert_int_equal(st_messages_read(&list, st_buf_str(&json), ST_SHAPE_ANY, NULL), 0);
	assert_int_equal(st_message_calls_read(&calls, &list, NULL), 0);
	assert_int_equal(calls.count, CALLS);
	for (size_t i = 0; i < CALLS; i++) {
		char result[16];
		snprintf(result, sizeof result, "r%zu", i);
		assert_true(st_str_eq(calls.items[i].text, st_str(result)));
	}
	st_message_calls_release(&calls);
	st_messages_release(&list);
}

/* A walk through all calls for each of them took 18 seconds; without it, the test takes one. */
static void a_list_of_100000_calls_is_cut(void **state) {
	(void)state;
	struct talk talk;
	begin_talk(&talk);
	for (size_t i = 0; i < 50'000; i++) {
		char args[64];
		snprintf(args, sizeof args, "{\"path\":\"src/f%zu.c\"}", i);
		add_call(&talk, "read", args, i % 2 ? "Error: not found" : "int value;");
	}
	for (size_t i = 0; i < 50'000; i++) {
		char args[64];
		snprintf(args, sizeof args, "{\"path\":\"src/f0.c\",\"offset\":%zu}", i);
		add_call(&talk, "read", args, "int value;");
	}
	cut_talk(&talk);
	assert_true(has(&talk, "Left out here: "));
	st_buf_release(&talk.json);
}

static void names_and_commands_outlast_two_cuts_once_each(void **state) {
	(void)state;
	struct talk talk;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_buf_adds(&text, source);
	/* Too long to stay. */
	for (size_t i = 0; i < 2000; i++)
		st_buf_addf(&text, "int value_number_%zu = %zu;\n", i, i);
	begin_talk(&talk);
	add_call(&talk, "read", "{\"path\":\"src/rows.c\"}", st_buf_cstr(&text));
	add_call(&talk, "bash", "{\"command\":\"make check\"}", "ok");
	for (size_t i = 0; i < 2; i++) {
		add_noise(&talk, 14);
		cut_talk(&talk);
	}
	assert_false(has(&talk, "first_value"));
	assert_true(has(&talk, "- src/rows.c: load_rows"));
	const char *at = strstr(st_buf_cstr(&talk.json), "- make check\\n");
	assert_non_null(at);
	assert_null(strstr(at + 1, "- make check\\n"));
	st_buf_release(&talk.json);
}

static void a_number_that_may_be_larger_says_at_least(void **state) {
	(void)state;
	struct talk talk;
	begin_talk(&talk);
	add_noise(&talk, 14);
	cut_talk(&talk);
	assert_true(has(&talk, "- shell commands: 14;"));
	add_noise(&talk, 5);
	cut_talk(&talk);
	assert_true(has(&talk, "- shell commands: at least 1"));
	st_buf_release(&talk.json);
}

static void what_it_writes_it_reads_again(void **state) {
	(void)state;
	static const char text[] =
		"\n[Commands]\nCalls of a shell in this conversation, the last first.\n"
		"- make check\n- make\n"
		"\n[Names in files]\nNames that lines in the messages seem to "
		"define; files may have changed since.\n"
		"- src/b.c: beta\n- src/a.c: two one\n";
	st_auto(st_buf) out = ST_BUF_INIT;
	struct st_recall recall = {0};
	assert_int_equal(st_recall_again(&recall, st_str(text), NULL), 0);
	st_recall_write(&recall, 600, &out);
	assert_string_equal(st_buf_cstr(&out), text);
	st_recall_release(&recall);
}

static void names_that_many_files_have_are_not_listed(void **state) {
	(void)state;
	static const char text[] =
		"\n[Names in files]\nNote.\n"
		"- a.c: render alpha\n- b.c: beta render\n- c.c: render\n";
	st_auto(st_buf) out = ST_BUF_INIT;
	const struct st_message_calls none = {0};
	struct st_recall recall = {0};
	assert_int_equal(st_recall_again(&recall, st_str(text), NULL), 0);
	assert_int_equal(st_recall_read(&recall, &none, NULL), 0);
	st_recall_write(&recall, 600, &out);
	assert_null(strstr(st_buf_cstr(&out), "render"));
	assert_non_null(strstr(st_buf_cstr(&out), "- a.c: alpha\n- b.c: beta\n"));
	st_recall_release(&recall);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_keeps_the_text_of_a_file_before_older_output),
		cmocka_unit_test(what_nothing_else_needs_goes_to_capped_results),
		cmocka_unit_test(system_messages_of_every_turn_do_not_fill_the_prompt),
		cmocka_unit_test(a_text_that_a_later_write_replaced_is_left_out),
		cmocka_unit_test(a_text_is_left_out_if_its_file_was_replaced_without_a_text),
		cmocka_unit_test(a_patch_is_kept_with_the_text_that_it_changed),
		cmocka_unit_test(names_of_a_text_of_two_files_are_listed_for_neither),
		cmocka_unit_test(results_belong_to_their_calls_however_many_there_are),
		cmocka_unit_test(a_list_of_100000_calls_is_cut),
		cmocka_unit_test(names_and_commands_outlast_two_cuts_once_each),
		cmocka_unit_test(a_number_that_may_be_larger_says_at_least),
		cmocka_unit_test(what_it_writes_it_reads_again),
		cmocka_unit_test(names_that_many_files_have_are_not_listed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
