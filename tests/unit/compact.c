/* Prompts under a budget: what stays, what goes, and that nothing goes silently. */
#include "core/prompt/compact.h"

#include "lib/alloc.h"
#include "lib/npm.h"
#include "stet/stet.h"
#include "text/tokens/tokens.h"

static const enum st_shape shapes[] = {ST_SHAPE_CHAT, ST_SHAPE_RESPONSES, ST_SHAPE_ANTHROPIC};

static const char snapshot[] =
	"--- Repository State ---\nWorkspace: /w\n\nExisting Files (1):\n"
	"  • main.go (a4f3e1, 245 bytes) - go source\n";

/* ---- histories ---- */

static void add_json(struct st_buf *out, struct st_str text) {
	st_json_quote(out, text);
}

static void add_call(struct st_buf *out, enum st_shape shape, int turn, struct st_str args) {
	st_auto(st_buf) quoted = ST_BUF_INIT;
	st_json_quote(&quoted, args);
	if (shape == ST_SHAPE_CHAT)
		st_buf_addf(
			out,
			",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c%d\",\"type\":"
			"\"function\",\"function\":{\"name\":\"write_file\",\"arguments\":%s}}]}",
			turn, quoted.ptr);
	else if (shape == ST_SHAPE_RESPONSES)
		st_buf_addf(
			out,
			",{\"type\":\"reasoning\",\"id\":\"r%d\",\"summary\":[]},{\"type\":\"function_call\","
			"\"call_id\":\"c%d\",\"name\":\"write_file\",\"arguments\":%s}",
			turn, turn, quoted.ptr);
	else
		st_buf_addf(
			out,
			",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Turn %d.\"},"
			"{\"type\":\"tool_use\",\"id\":\"c%d\",\"name\":\"write_file\",\"input\":%.*s}]}",
			turn, turn, (int)args.len, args.ptr);
}

static void add_result(struct st_buf *out, enum st_shape shape, int turn, struct st_str text) {
	if (shape == ST_SHAPE_CHAT)
		st_buf_addf(out, ",{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":", turn);
	else if (shape == ST_SHAPE_RESPONSES)
		st_buf_addf(out,
		            ",{\"type\":\"function_call_output\",\"call_id\":\"c%d\",\"output\":", turn);
	else
		st_buf_addf(
			out,
			",{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c%d\","
			"\"content\":",
			turn);
	add_json(out, text);
	st_buf_adds(out, shape == ST_SHAPE_ANTHROPIC ? "}]}" : "}");
}

static void begin_history(struct st_buf *out, enum st_shape shape) {
	if (shape == ST_SHAPE_ANTHROPIC)
		st_buf_adds(out, "{\"model\":\"m\",\"system\":\"You are a coder.\",\"messages\":[");
	else if (shape == ST_SHAPE_RESPONSES)
		st_buf_adds(out, "{\"model\":\"m\",\"instructions\":\"You are a coder.\",\"input\":[");
	else
		st_buf_adds(out, "[{\"role\":\"system\",\"content\":\"You are a coder.\"},");
	st_buf_adds(out, "{\"role\":\"user\",\"content\":\"Write hello world.\"}");
}

static void end_history(struct st_buf *out, enum st_shape shape) {
	st_buf_adds(out, shape == ST_SHAPE_CHAT ? "]" : "]}");
}

static void add_turn(struct st_buf *out, enum st_shape shape, int turn) {
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 40; i++)
		st_buf_addf(&text, "result %d line %d: func main() { fmt.Println(\\\"hello\\\") }\n",
		            turn % 10, i);
	add_call(out, shape, turn, ST_STR("{\"path\":\"main.go\",\"content\":\"package main\\n\"}"));
	add_result(out, shape, turn, st_buf_str(&text));
}

static void make_history(struct st_buf *out, enum st_shape shape, int turns) {
	begin_history(out, shape);
	for (int i = 1; i <= turns; i++)
		add_turn(out, shape, i);
	end_history(out, shape);
}

/* ---- checks ---- */

static void compact(struct st_str messages, struct st_buf *out, struct st_compact_report *report) {
	struct st_compact_options options = {.snapshot = st_str(snapshot), .archived = true};
	struct stet_error err = {0};
	st_buf_clear(out);
	int code = st_compact(messages, &options, out, report, &err);
	if (code < 0)
		fail_msg("%s", err.message);
}

struct ids {
	struct st_str calls[2000];
	struct st_str results[2000];
	size_t call_count;
	size_t result_count;
};

static void collect(struct ids *ids, yyjson_val *value, const char *key) {
	yyjson_val *name, *member;
	size_t i, max;
	struct st_str call = st_messages_call_id(value), result = st_messages_result_id(value);
	if (call.len)
		ids->calls[ids->call_count++] = call;
	if (result.len)
		ids->results[ids->result_count++] = result;
	if (yyjson_is_arr(value))
		yyjson_arr_foreach(value, i, max, member) collect(ids, member, key);
	if (yyjson_is_obj(value) && strcmp(key, "input") != 0)
		yyjson_obj_foreach(value, i, max, name, member)
			collect(ids, member, yyjson_is_arr(member) ? "" : yyjson_get_str(name));
}

/* Every call is followed by its result, and there is no result without its call. Returns how many. */
static size_t check_pairs(struct st_str prompt) {
	static struct ids ids;
	ids.call_count = ids.result_count = 0;
	yyjson_doc *doc = NULL;
	assert_int_equal(st_json_parse(prompt, "prompt", &doc, NULL), 0);
	collect(&ids, yyjson_doc_get_root(doc), "");
	assert_int_equal(ids.call_count, ids.result_count);
	for (size_t i = 0; i < ids.call_count; i++) {
		size_t found = 0;
		for (size_t j = 0; j < ids.result_count; j++)
			found += st_str_eq(ids.calls[i], ids.results[j]);
		assert_int_equal(found, 1);
	}
	yyjson_doc_free(doc);
	return ids.call_count;
}

static bool has(const struct st_buf *text, const char *part) {
	return strstr(text->ptr, part) != NULL;
}

/* ---- claims ---- */

static void a_prompt_has_the_structure_of_the_specification(void **state) {
	(void)state;
	struct stet_context *context = stet_context_new();
	char *prompt = NULL;
	static const char system[] =
		"You are a coder agent. Use TOOL CALLS ONLY. Never output explanatory text.";
	assert_int_equal(
		stet_context_set(context, STET_CONTEXT_SNAPSHOT, snapshot, strlen(snapshot), NULL), 0);
	assert_int_equal(stet_context_set(context, STET_CONTEXT_TEMPLATE, system, strlen(system), NULL),
	                 0);
	assert_int_equal(stet_context_set(context, STET_CONTEXT_ADDITIONAL, "Be kind.", 8, NULL), 0);
	assert_int_equal(stet_context_set(context, STET_CONTEXT_REQUEST, "Go on.", 6, NULL), 0);
	assert_int_equal(stet_context_prompt(context, &prompt, NULL, NULL), 0);
	assert_string_equal(
		prompt,
		"[{\"role\":\"system\",\"content\":\"You are a coder agent. Use TOOL CALLS ONLY. Never "
		"output "
		"explanatory text.\"},{\"role\":\"user\",\"content\":\"[Repo Snapshot]\\n--- Repository "
		"State "
		"---\\nWorkspace: /w\\n\\nExisting Files (1):\\n  • main.go (a4f3e1, 245 bytes) - go "
		"source\\n\\n[Delta Request]\\nGo on.\\n\\nDO NOT recreate files that already exist. Use "
		"read_file "
		"to verify state before writing.\\n\\n[Additional Context]\\nBe kind.\\n\"}]");
	stet_free(prompt);
	assert_int_equal(stet_context_set(context, STET_CONTEXT_SHAPE, "anthropic", 9, NULL), 0);
	assert_int_equal(stet_context_prompt(context, &prompt, NULL, NULL), 0);
	assert_memory_equal(prompt, "{\"system\":\"You are a coder agent.", 33);
	stet_free(prompt);
	assert_int_equal(stet_context_set(context, STET_CONTEXT_SHAPE, "responses", 9, NULL), 0);
	assert_int_equal(stet_context_prompt(context, &prompt, NULL, NULL), 0);
	assert_memory_equal(prompt, "{\"instructions\":\"You are a coder agent.", 39);
	stet_free(prompt);
	assert_int_equal(stet_context_set(context, STET_CONTEXT_SHAPE, "telex", 5, NULL),
	                 STET_E_INVALID);
	stet_context_free(context);
}

static void the_last_exchange_stays_and_the_others_are_squashed(void **state) {
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		st_auto(st_buf) history = ST_BUF_INIT;
		st_auto(st_buf) out = ST_BUF_INIT;
		struct st_compact_report report;
		make_history(&history, shapes[i], 12);
		compact(st_buf_str(&history), &out, &report);
		assert_int_equal(check_pairs(st_buf_str(&out)), 1);
		assert_true(has(&out, "\"c12\""));
		assert_false(has(&out, "\"c11\""));
		assert_true(has(&out, "You are a coder."));
		assert_true(has(&out, "Write hello world."));
		assert_true(has(&out, "main.go (a4f3e1"));
		assert_true(has(&out, "11 earlier replies, 11 tool results"));
		assert_int_equal(report.replies, 11);
		assert_int_equal(report.results, 11);
		if (shapes[i] != ST_SHAPE_CHAT)
			assert_true(has(&out, "\"model\":\"m\""));
	}
}

static void the_archive_is_named_by_the_hash_of_what_came_in(void **state) {
	(void)state;
	st_auto(st_buf) history = ST_BUF_INIT;
	st_auto(st_buf) out = ST_BUF_INIT;
	struct st_compact_report report;
	struct st_hash hash;
	char hex[17];
	make_history(&history, ST_SHAPE_CHAT, 3);
	compact(st_buf_str(&history), &out, &report);
	assert_int_equal(st_hash_of(st_buf_str(&history), &hash, NULL), 0);
	st_hash_hex(&hash, hex, 16);
	assert_string_equal(report.archive, hex);
	assert_true(has(&out, hex));
}

static void without_the_snapshot_the_history_is_untouched(void **state) {
	(void)state;
	st_auto(st_buf) history = ST_BUF_INIT;
	struct stet_context *context = stet_context_new();
	char *out = NULL;
	size_t len = 0;
	make_history(&history, ST_SHAPE_ANTHROPIC, 40);
	stet_context_set_number(context, STET_CONTEXT_USE_SNAPSHOT, 0);
	assert_int_equal(stet_context_compact(context, history.ptr, history.len, &out, &len, NULL), 0);
	assert_int_equal(len, history.len);
	assert_memory_equal(out, history.ptr, len);
	stet_free(out);
	stet_context_free(context);
}

static void calls_that_changed_nothing_go_with_their_results(void **state) {
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		st_auto(st_buf) history = ST_BUF_INIT;
		st_auto(st_buf) out = ST_BUF_INIT;
		struct st_compact_report report;
		begin_history(&history, shapes[i]);
		add_turn(&history, shapes[i], 1);
		add_call(&history, shapes[i], 2, ST_STR("{\"path\":\"main.go\"}"));
		add_result(&history, shapes[i], 2,
		           i % 2 ? ST_STR("{\"success\":true, \"noop\" : true}")
		                 : ST_STR("File already exists with identical content\n"));
		end_history(&history, shapes[i]);
		compact(st_buf_str(&history), &out, &report);
		assert_int_equal(check_pairs(st_buf_str(&out)), 0);
		assert_int_equal(report.noops, 1);
		assert_true(has(&out, "1 call that changed nothing"));
		assert_false(has(&out, "c2"));
	}
}

static void a_file_that_speaks_of_noops_is_none(void **state) {
	(void)state;
	st_auto(st_buf) history = ST_BUF_INIT;
	st_auto(st_buf) out = ST_BUF_INIT;
	begin_history(&history, ST_SHAPE_CHAT);
	add_call(&history, ST_SHAPE_CHAT, 1, ST_STR("{}"));
	add_result(&history, ST_SHAPE_CHAT, 1, ST_STR("{\"noop\": false}"));
	end_history(&history, ST_SHAPE_CHAT);
	compact(st_buf_str(&history), &out, NULL);
	assert_int_equal(check_pairs(st_buf_str(&out)), 1);
}

static void requests_of_the_user_are_kept_the_first_and_the_newest(void **state) {
	(void)state;
	st_auto(st_buf) history = ST_BUF_INIT;
	st_auto(st_buf) out = ST_BUF_INIT;
	struct st_compact_report report;
	begin_history(&history, ST_SHAPE_CHAT);
	for (int i = 1; i <= 60; i++) {
		add_turn(&history, ST_SHAPE_CHAT, i);
		st_buf_addf(&history, ",{\"role\":\"user\",\"content\":\"Wish %d: ", i);
		for (int j = 0; j < 60; j++)
			st_buf_addf(&history, "please mind point %d of it, ", j);
		st_buf_adds(&history, "\"}");
	}
	end_history(&history, ST_SHAPE_CHAT);
	compact(st_buf_str(&history), &out, &report);
	assert_true(has(&out, "Write hello world."));
	assert_true(has(&out, "Wish 60:"));
	assert_true(has(&out, "Wish 59:"));
	assert_false(has(&out, "Wish 20:"));
	assert_true(report.requests > 0);
	assert_true(strstr(out.ptr, "Wish 59:") < strstr(out.ptr, "Wish 60:"));
	assert_int_equal(check_pairs(st_buf_str(&out)), 1);
}

static void a_prompt_that_comes_back_is_not_squashed_again(void **state) {
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		st_auto(st_buf) out = ST_BUF_INIT;
		st_auto(st_buf) next = ST_BUF_INIT;
		make_history(&out, shapes[i], 3);
		for (int turn = 4; turn < 30; turn++) {
			compact(st_buf_str(&out), &next, NULL);
			st_buf_truncate(&next, next.len - (shapes[i] == ST_SHAPE_CHAT ? 1 : 2));
			add_turn(&next, shapes[i], turn);
			end_history(&next, shapes[i]);
			st_buf_move(&out, &next);
		}
		compact(st_buf_str(&out), &next, NULL);
		assert_int_equal(check_pairs(st_buf_str(&next)), 1);
		char *first = strstr(next.ptr, "[Repo Snapshot]");
		assert_non_null(first);
		assert_null(strstr(first + 1, "[Repo Snapshot]"));
		assert_true(has(&next, "Write hello world."));
	}
}

static void refuses_what_is_no_list_of_messages(void **state) {
	(void)state;
	static const char *const bad[] = {"",    "{",   "7", "\"x\"", "{}", "{\"messages\":3}",
	                                  "[1]", "[[]]"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		st_auto(st_buf) out = ST_BUF_INIT;
		struct st_compact_options options = {0};
		struct stet_error err = {0};
		assert_int_equal(st_compact(st_str(bad[i]), &options, &out, NULL, &err), STET_E_INVALID);
		assert_true(strlen(err.message) > 10);
	}
}

/* Lists that no model would take, but that must not break us. */
static void odd_lists_become_prompts(void **state) {
	(void)state;
	static const char *const odd[] = {
		"[]",
		"[{}]",
		"[{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"lost\"}]",
		"[{\"role\":\"assistant\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":"
		"\"there\"}]",
		"[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"arguments\":\"{\"}}"
		"]}]",
		"{\"messages\":[],\"system\":[{\"type\":\"text\",\"text\":\"s\"}]}",
		"{\"input\":[{\"type\":\"web_search_call\",\"id\":\"w\"}]}",
		"[{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"data\":\"AAAA\"}}]}]",
		"[{\"role\":\"user\",\"content\":null},{\"role\":7,\"content\":[1,2,[3]]}]",
	};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		st_auto(st_buf) out = ST_BUF_INIT;
		yyjson_doc *doc = NULL;
		compact(st_str(odd[i]), &out, NULL);
		assert_int_equal(st_json_parse(st_buf_str(&out), "out", &doc, NULL), 0);
		yyjson_doc_free(doc);
	}
}

static void running_out_of_memory_is_an_answer(void **state) {
	(void)state;
	st_auto(st_buf) history = ST_BUF_INIT;
	make_history(&history, ST_SHAPE_ANTHROPIC, 4);
	struct st_compact_options options = {.snapshot = st_str(snapshot)};
	bool failed = true;
	for (size_t n = 1; failed; n++) {
		st_auto(st_buf) out = ST_BUF_INIT;
		alloc_fail_at(n);
		int code = st_compact(st_buf_str(&history), &options, &out, NULL, NULL);
		failed = alloc_has_failed();
		assert_int_equal(code, failed ? STET_E_NOMEM : 0);
	}
}

/* ---- counted by the real tokenizer ---- */

/* A megabyte, in ways that are easy and hard to cut. */
static void add_megabyte(struct st_buf *out, int way) {
	while (out->len < 1 << 20) {
		if (way == 0)
			st_buf_adds(out, "the quick brown fox jumps over the lazy dog\n");
		else if (way == 1)
			st_buf_addc(out, 'x');
		else if (way == 2)
			st_buf_addf(out, "%zx%zu\t\"quoted\\\" ", out->len * 2654435761u, out->len);
		else
			st_buf_adds(out, "\xe6\xbc\xa2\xe5\xad\x97\xf0\x9f\x98\x80");
	}
}

static void add_big_ones(struct counter *counter) {
	for (size_t i = 0; i < 3; i++) {
		for (int way = 0; way < 4; way++) {
			for (int place = 0; place < 4; place++) {
				st_auto(st_buf) big = ST_BUF_INIT;
				st_auto(st_buf) history = ST_BUF_INIT;
				st_auto(st_buf) args = ST_BUF_INIT;
				st_auto(st_buf) out = ST_BUF_INIT;
				struct st_compact_report report;
				add_megabyte(&big, way);
				st_buf_adds(&args, "{\"path\":\"a\",\"content\":");
				add_json(&args, place == 1 ? st_buf_str(&big) : ST_STR("x"));
				st_buf_adds(&args, "}");
				begin_history(&history, shapes[i]);
				add_call(&history, shapes[i], 1, st_buf_str(&args));
				add_result(&history, shapes[i], 1, place == 0 ? st_buf_str(&big) : ST_STR("ok"));
				if (place > 1) {
					st_buf_addf(&history, ",{\"role\":\"%s\",\"content\":",
					            place == 2 ? "user" : "assistant");
					add_json(&history, st_buf_str(&big));
					st_buf_adds(&history, "}");
				}
				end_history(&history, shapes[i]);
				compact(st_buf_str(&history), &out, &report);
				assert_int_equal(check_pairs(st_buf_str(&out)), place == 3 ? 0 : 1);
				assert_true(report.cut);
				assert_true(has(&out, "bytes cut; archive "));
				counter_add(counter, st_buf_str(&out));
			}
		}
	}
}

static void add_long_ones(struct counter *counter) {
	static const int turns[] = {1, 2, 3, 5, 8, 13, 21, 50, 100, 250, 500, 1000};
	for (size_t i = 0; i < 3; i++) {
		for (size_t j = 0; j < sizeof turns / sizeof *turns; j++) {
			st_auto(st_buf) history = ST_BUF_INIT;
			st_auto(st_buf) out = ST_BUF_INIT;
			make_history(&history, shapes[i], turns[j]);
			compact(st_buf_str(&history), &out, NULL);
			assert_int_equal(check_pairs(st_buf_str(&out)), 1);
			counter_add(counter, st_buf_str(&out));
		}
	}
}

/* A reply with five hundred calls at once, and a system prompt beyond all measure. */
static void add_wide_ones(struct counter *counter) {
	st_auto(st_buf) history = ST_BUF_INIT;
	st_auto(st_buf) system = ST_BUF_INIT;
	st_auto(st_buf) out = ST_BUF_INIT;
	add_megabyte(&system, 0);
	st_buf_adds(&history, "{\"system\":");
	add_json(&history, st_buf_str(&system));
	st_buf_adds(&history,
	            ",\"messages\":[{\"role\":\"user\",\"content\":\"go\"},"
	            "{\"role\":\"assistant\",\"content\":[");
	for (int i = 0; i < 500; i++)
		st_buf_addf(
			&history,
			"%s{\"type\":\"tool_use\",\"id\":\"t%d\",\"name\":\"read_file\",\"input\":{\"path\":"
			"\"file%d\"}}",
			i ? "," : "", i, i);
	st_buf_adds(&history, "]},{\"role\":\"user\",\"content\":[");
	for (int i = 0; i < 500; i++)
		st_buf_addf(&history,
		            "%s{\"type\":\"tool_result\",\"tool_use_id\":\"t%d\",\"content\":\"text %d of "
		            "a file\"}",
		            i ? "," : "", i, i);
	st_buf_adds(&history, "]}]}");
	compact(st_buf_str(&history), &out, NULL);
	size_t pairs = check_pairs(st_buf_str(&out));
	assert_true(pairs > 10 && pairs < 500);
	assert_true(has(&out, "\"t499\""));
	counter_add(counter, st_buf_str(&out));
}

static void stays_within_five_thousand_tokens_whatever_comes(void **state) {
	struct dir *dir = *state;
	struct counter counter = {0};
	size_t most = 0;
	add_long_ones(&counter);
	add_big_ones(&counter);
	add_wide_ones(&counter);
	counter_run(&counter, dir);
	for (size_t i = 0; i < counter.count; i++)
		most = counter.counts[i] > most ? counter.counts[i] : most;
	size_t grown = counter.counts[11] - counter.counts[6];
	print_message(
		"# %zu prompts, at most %zu tokens; chat: %zu at turn 1, %zu at 21, %zu at 1000\n",
		counter.count, most, counter.counts[0], counter.counts[6], counter.counts[11]);
	counter_release(&counter);
	assert_true(most < ST_COMPACT_BUDGET);
	assert_true(grown < 20);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_prompt_has_the_structure_of_the_specification),
		cmocka_unit_test(the_last_exchange_stays_and_the_others_are_squashed),
		cmocka_unit_test(the_archive_is_named_by_the_hash_of_what_came_in),
		cmocka_unit_test(without_the_snapshot_the_history_is_untouched),
		cmocka_unit_test(calls_that_changed_nothing_go_with_their_results),
		cmocka_unit_test(a_file_that_speaks_of_noops_is_none),
		cmocka_unit_test(requests_of_the_user_are_kept_the_first_and_the_newest),
		cmocka_unit_test(a_prompt_that_comes_back_is_not_squashed_again),
		cmocka_unit_test(refuses_what_is_no_list_of_messages),
		cmocka_unit_test(odd_lists_become_prompts),
		cmocka_unit_test(running_out_of_memory_is_an_answer),
		claim(stays_within_five_thousand_tokens_whatever_comes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
