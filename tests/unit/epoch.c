/* Epochs: below H nothing changes, above it a list is cut once, and stays a list that a model takes. */
#include "core/prompt/epoch.h"

#include "core/prompt/own.h"
#include "lib/alloc.h"
#include "lib/gen.h"
#include "lib/npm.h"
#include "lib/test.h"
#include "text/tokens/tokens.h"

enum { SHAPES = 4 };

static const enum st_shape shapes[SHAPES] = {ST_SHAPE_CHAT, ST_SHAPE_RESPONSES, ST_SHAPE_ANTHROPIC,
                                             ST_SHAPE_GEMINI};

static const char snapshot[] =
	"--- Repository State ---\nWorkspace: /w\n\nExisting Files (1):\n"
	"  • main.go (a4f3e1, 245 bytes) - go source\n";

/* ---- generated lists ---- */

struct maker {
	struct gen gen;
	enum st_shape shape;
	struct st_buf *out;
	size_t turn;
	bool first;
};

static void add_comma(struct maker *maker) {
	st_buf_adds(maker->out, maker->first ? "" : ",");
	maker->first = false;
}

/* Some lines of text, mostly few, sometimes thousands of tokens. */
static void add_text(struct maker *maker, const char *word) {
	static const char *const lines[] = {"int main(void) {\n",   "\treturn \"x\\y\";\n",
	                                    "größe = 漢字 + 😀;\n",  "see src/core/thing.c:42\n",
	                                    "{\"a\": [1, 2, 3]}\n", "\n"};
	st_auto(st_buf) text = ST_BUF_INIT;
	size_t count = gen_below(&maker->gen, gen_one_in(&maker->gen, 8) ? 400 : 30);
	st_buf_addf(&text, "%s %zu: ", word, maker->turn);
	for (size_t i = 0; i < count; i++)
		st_buf_adds(&text, lines[gen_below(&maker->gen, 6)]);
	st_json_quote(maker->out, st_buf_str(&text));
}

static void add_said(struct maker *maker, bool user) {
	const char *role = user ? "user" : maker->shape == ST_SHAPE_GEMINI ? "model" : "assistant";
	add_comma(maker);
	st_buf_addf(maker->out, "{\"role\":\"%s\",\"%s\":", role,
	            maker->shape == ST_SHAPE_GEMINI ? "parts" : "content");
	if (maker->shape == ST_SHAPE_GEMINI)
		st_buf_adds(maker->out, "[{\"text\":");
	add_text(maker, user ? "Please" : "I say");
	st_buf_adds(maker->out, maker->shape == ST_SHAPE_GEMINI ? "}]}" : "}");
}

static void add_one_call(struct maker *maker, size_t id) {
	static const char *const names[] = {"read_file", "Edit", "bash", "write_file"};
	st_auto(st_buf) args = ST_BUF_INIT;
	struct st_buf *out = maker->out;
	const char *name = names[gen_below(&maker->gen, 4)];
	st_buf_addf(&args, "{\"path\":\"src/%zu.c\",\"command\":\"cat %zu.c\"}",
	            gen_below(&maker->gen, 9), gen_below(&maker->gen, 9));
	if (maker->shape == ST_SHAPE_CHAT) {
		st_buf_addf(
			out,
			"{\"id\":\"c%zu\",\"type\":\"function\",\"function\":{\"name\":\"%s\",\"arguments\":",
			id, name);
		st_json_quote(out, st_buf_str(&args));
		st_buf_adds(out, "}}");
	} else if (maker->shape == ST_SHAPE_RESPONSES) {
		st_buf_addf(
			out,
			"{\"type\":\"function_call\",\"call_id\":\"c%zu\",\"name\":\"%s\",\"arguments\":", id,
			name);
		st_json_quote(out, st_buf_str(&args));
		st_buf_addc(out, '}');
	} else if (maker->shape == ST_SHAPE_ANTHROPIC) {
		st_buf_addf(out, "{\"type\":\"tool_use\",\"id\":\"c%zu\",\"name\":\"%s\",\"input\":%s}", id,
		            name, args.ptr);
	} else {
		st_buf_addf(out, "{\"functionCall\":{\"id\":\"c%zu\",\"name\":\"%s\",\"args\":%s}}", id,
		            name, args.ptr);
	}
}

static void add_one_result(struct maker *maker, size_t id) {
	static const char *const heads[SHAPES] = {
		"{\"role\":\"tool\",\"tool_call_id\":\"c%zu\",\"content\":",
		"{\"type\":\"function_call_output\",\"call_id\":\"c%zu\",\"output\":",
		"{\"type\":\"tool_result\",\"tool_use_id\":\"c%zu\",\"content\":",
		"{\"functionResponse\":{\"id\":\"c%zu\",\"name\":\"x\",\"response\":{\"output\":"};
	size_t shape = (size_t)maker->shape - 1;
	const char *at = strstr(heads[shape], "%zu");
	st_buf_add(maker->out, st_strn(heads[shape], (size_t)(at - heads[shape])));
	st_buf_addf(maker->out, "%zu%s", id, at + 3);
	add_text(maker, gen_one_in(&maker->gen, 5) ? "Error" : "Result");
	st_buf_adds(maker->out, maker->shape == ST_SHAPE_GEMINI ? "}}}" : "}");
}

static void add_exchange(struct maker *maker) {
	size_t count = 1 + (gen_one_in(&maker->gen, 4) ? gen_below(&maker->gen, 5) : 0);
	size_t id = maker->turn * 10;
	bool parts = maker->shape == ST_SHAPE_ANTHROPIC || maker->shape == ST_SHAPE_GEMINI;
	const char *key = maker->shape == ST_SHAPE_GEMINI ? "parts" : "content";
	add_comma(maker);
	if (parts)
		st_buf_addf(maker->out, "{\"role\":\"%s\",\"%s\":[",
		            maker->shape == ST_SHAPE_GEMINI ? "model" : "assistant", key);
	else if (maker->shape == ST_SHAPE_CHAT)
		st_buf_adds(maker->out, "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[");
	for (size_t i = 0; i < count; i++) {
		st_buf_adds(maker->out, i ? "," : "");
		add_one_call(maker, id + i);
	}
	st_buf_adds(maker->out, maker->shape == ST_SHAPE_RESPONSES ? "," : "]},");
	if (parts)
		st_buf_addf(maker->out, "{\"role\":\"user\",\"%s\":[", key);
	for (size_t i = 0; i < count; i++) {
		st_buf_adds(maker->out, i ? "," : "");
		add_one_result(maker, id + i);
	}
	st_buf_adds(maker->out, parts ? "]}" : "");
}

static void begin_list(struct maker *maker) {
	static const char *const heads[SHAPES] = {
		"{\"messages\":[{\"role\":\"system\",\"content\":\"You are a coder.\"}",
		"{\"instructions\":\"You are a coder.\",\"input\":[",
		"{\"system\":\"You are a coder.\",\"messages\":[",
		"{\"systemInstruction\":{\"parts\":[{\"text\":\"You are a coder.\"}]},\"contents\":["};
	st_buf_adds(maker->out, heads[(size_t)maker->shape - 1]);
	maker->first = maker->shape != ST_SHAPE_CHAT;
}

static void add_turns(struct maker *maker, size_t turns) {
	for (size_t i = 0; i < turns; i++, maker->turn++) {
		if (maker->turn == 0 || gen_one_in(&maker->gen, 9)) {
			if (maker->turn && gen_one_in(&maker->gen, 2))
				add_said(maker, false);
			add_said(maker, true);
		}
		add_exchange(maker);
	}
	if (gen_one_in(&maker->gen, 3))
		add_said(maker, true);
}

/* ---- checks ---- */

static int cut(struct st_str messages, size_t above, size_t to, struct st_buf *out,
               struct st_compact_report *report) {
	struct st_epoch_options options = {
		.above = above, .to = to, .prompt = {.snapshot = st_str(snapshot)}};
	struct stet_error err = {0};
	st_buf_clear(out);
	int code = st_epoch(messages, &options, out, report, &err);
	if (code < 0)
		fail_msg("%s", err.message);
	return code;
}

/* Each result follows its call: all calls of a reply before all of their results. */
static void check_units(const struct st_messages *list) {
	size_t open = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct st_message *message = &list->items[i];
		yyjson_val *part;
		size_t j, max, results = st_messages_is_result(message->value);
		if (!results)
			yyjson_arr_foreach(st_messages_parts(message->value), j, max, part) results +=
				st_messages_is_result(part);
		assert_true(results <= open);
		if (results == 0 && message->role != ST_ROLE_MODEL)
			assert_int_equal(open, 0);
		open = open - results + message->calls;
	}
	assert_int_equal(open, 0);
}

/* The number of messages before our own one; SIZE_MAX if there is none. */
static size_t own_index(const struct st_messages *list) {
	size_t found = SIZE_MAX;
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].role != ST_ROLE_USER || !st_own_is(list->items[i].value))
			continue;
		assert_int_equal(found, SIZE_MAX);
		found = i;
	}
	return found;
}

static size_t last_request(const struct st_messages *list) {
	size_t found = SIZE_MAX;
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].role == ST_ROLE_USER && !st_own_is(list->items[i].value))
			found = i;
	}
	return found;
}

static void check_cut(struct st_str before, struct st_str after, enum st_shape shape) {
	struct st_messages list;
	assert_true(after.len < before.len);
	assert_true(st_tokens(after) < st_tokens(before));
	assert_int_equal(st_messages_read(&list, after, ST_SHAPE_ANY, NULL), 0);
	assert_int_equal(list.shape, shape);
	check_units(&list);
	assert_true(own_index(&list) != SIZE_MAX);
	/* Nothing of ours stands behind the user's last words. */
	assert_true(own_index(&list) < last_request(&list));
	st_messages_release(&list);
}

/* How many of the requests of the first list's prefix the second list begins with, byte for byte. */
static void check_prefix(struct st_str first, struct st_str second) {
	struct st_messages a, b;
	assert_int_equal(st_messages_read(&a, first, ST_SHAPE_ANY, NULL), 0);
	assert_int_equal(st_messages_read(&b, second, ST_SHAPE_ANY, NULL), 0);
	size_t until = own_index(&a), stable = 0;
	while (stable < until && stable < b.count &&
	       yyjson_equals(a.items[stable].value, b.items[stable].value))
		stable++;
	/* System prompt and first request stay; all do while requests fit. */
	size_t least = a.shape == ST_SHAPE_CHAT ? 1 : 0;
	assert_true(stable >= (until > least + 1 ? least + 1 : until));
	st_messages_release(&a);
	st_messages_release(&b);
}

static void end_list(struct st_buf *list) {
	st_buf_adds(list, "]}");
}

/* One list: cut it, let it grow, cut it again. */
static void check_story(uint64_t seed) {
	static const size_t limits[][2] = {{24000, 6000}, {5000, 2500}, {12000, 3000}, {3000, 1500}};
	struct st_buf list = ST_BUF_INIT, once = ST_BUF_INIT, again = ST_BUF_INIT, twice = ST_BUF_INIT;
	struct maker maker = {.gen = gen_new(seed), .out = &list};
	maker.shape = shapes[gen_below(&maker.gen, SHAPES)];
	const size_t *limit = limits[gen_below(&maker.gen, 4)];
	begin_list(&maker);
	add_turns(&maker, 1 + gen_below(&maker.gen, 25));
	end_list(&list);
	int code = cut(st_buf_str(&list), limit[0], limit[1], &once, NULL);
	assert_int_equal(cut(st_buf_str(&list), limit[0], limit[1], &again, NULL), code);
	assert_true(st_str_eq(st_buf_str(&once), st_buf_str(&again)));
	if (code == 0)
		assert_true(st_str_eq(st_buf_str(&once), st_buf_str(&list)));
	else
		check_cut(st_buf_str(&list), st_buf_str(&once), maker.shape);
	/* Cut, it comes back byte for byte. */
	assert_int_equal(cut(st_buf_str(&once), limit[0], limit[1], &again, NULL), 0);
	assert_true(st_str_eq(st_buf_str(&once), st_buf_str(&again)));
	st_buf_clear(&again);
	st_buf_add(&again, st_str_slice(st_buf_str(&once), 0, once.len - 2));
	maker.out = &again;
	add_turns(&maker, 5 + gen_below(&maker.gen, 20));
	end_list(&again);
	if (cut(st_buf_str(&again), limit[0], limit[1], &twice, NULL) == 1) {
		check_cut(st_buf_str(&again), st_buf_str(&twice), maker.shape);
		if (code == 1)
			check_prefix(st_buf_str(&once), st_buf_str(&twice));
	}
	st_buf_release(&list);
	st_buf_release(&once);
	st_buf_release(&again);
	st_buf_release(&twice);
}

static void any_list_stays_valid_paired_and_stable(void **state) {
	(void)state;
	size_t rounds = gen_rounds(1000, 10000);
	for (size_t i = 0; i < rounds; i++)
		check_story(gen_seed() + i);
	print_message("# %zu lists\n", rounds);
}

/* Lists that are hardly above the limit: the snapshot alone is larger than what a cut could take away. */
static void a_cut_that_would_be_larger_than_the_list_is_not_made(void **state) {
	(void)state;
	for (size_t i = 0; i < 200; i++) {
		st_auto(st_buf) list = ST_BUF_INIT;
		st_auto(st_buf) out = ST_BUF_INIT;
		struct maker maker = {.gen = gen_new(gen_seed() + i), .out = &list};
		maker.shape = shapes[i % SHAPES];
		begin_list(&maker);
		for (maker.turn = 0; maker.turn <= i % 5; maker.turn++) {
			add_comma(&maker);
			bool parts = maker.shape == ST_SHAPE_GEMINI;
			st_buf_addf(&list, "{\"role\":\"user\",\"%s\":\"go on %zu\"%s}",
			            parts ? "parts\":[{\"text" : "content", maker.turn, parts ? "}]" : "");
		}
		end_list(&list);
		assert_int_equal(cut(st_buf_str(&list), 20, 10, &out, NULL), 0);
		assert_true(st_str_eq(st_buf_str(&out), st_buf_str(&list)));
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_list_stays_valid_paired_and_stable),
		cmocka_unit_test(a_cut_that_would_be_larger_than_the_list_is_not_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
