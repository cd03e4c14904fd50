/* The estimate of tokens, held against the real tokenizer. */
#include "text/tokens/tokens.h"

#include <time.h>

#include "base/json.h"
#include "lib/corpus.h"
#include "lib/gen.h"
#include "lib/npm.h"
#include "lib/run.h"
#include "text/lines/lines.h"
#include "text/diff/unified.h"

/* Texts of some size, as they are measured against budgets, and of 20 to 300 tokens, as parts are. */
enum { SAMPLE_MIN = 1200, SAMPLE_MAX = 5000, SHORT_MIN = 80, SHORT_MAX = 1100 };

/* Samples with their estimates, to be counted all at once. */
struct samples {
	struct counter counter;
	struct st_buf estimates;
};

static size_t cut_at_line(struct st_str text, size_t want) {
	if (want >= text.len)
		return text.len;
	const char *end = memchr(text.ptr + want, '\n', text.len - want);
	return end ? (size_t)(end - text.ptr) + 1 : text.len;
}

static void add_sample(struct samples *samples, struct st_str sample) {
	size_t estimate = st_tokens(sample);
	counter_add(&samples->counter, sample);
	st_buf_add(&samples->estimates, st_strn((const char *)&estimate, sizeof estimate));
}

/* Cut a text into long samples, up to a number of them. */
static void add_long(struct samples *samples, struct gen *gen, struct st_str text, int max) {
	while (text.len >= SAMPLE_MIN && max-- > 0) {
		size_t len = cut_at_line(text, SAMPLE_MIN + gen_below(gen, SAMPLE_MAX - SAMPLE_MIN));
		if (len > 2 * SAMPLE_MAX)
			len = 2 * SAMPLE_MAX;
		add_sample(samples, st_str_slice(text, 0, len));
		text = st_str_slice(text, len, text.len);
	}
}

/* Take a number of short samples from anywhere in a text, whole lines, more of the shorter ones. */
static void add_short(struct samples *samples, struct gen *gen, struct st_str text, int count) {
	while (text.len > SHORT_MIN && count-- > 0) {
		size_t at = cut_at_line(text, gen_below(gen, text.len));
		struct st_str rest = st_str_slice(text, at, text.len);
		size_t max = SHORT_MIN + gen_below(gen, SHORT_MAX - SHORT_MIN);
		size_t len = cut_at_line(rest, SHORT_MIN + gen_below(gen, max - SHORT_MIN + 1));
		if (len >= SHORT_MIN && len <= 2 * SHORT_MAX)
			add_sample(samples, st_str_slice(rest, 0, len));
	}
}

/* The text with every ninth line gone and every eleventh doubled, as a diff. */
static void diff_of(struct st_str text, struct st_buf *out) {
	st_auto(st_buf) other = ST_BUF_INIT;
	struct st_diff_opts opts = ST_DIFF_OPTS("file");
	size_t number = 0;
	for (size_t at = 0; at < text.len; number++) {
		size_t end = at + cut_at_line(st_str_slice(text, at, text.len), 0);
		for (int i = number % 9 == 0 ? 0 : number % 11 == 0 ? 2 : 1; i > 0; i--)
			st_buf_add(&other, st_str_slice(text, at, end));
		at = end;
	}
	st_buf_clear(out);
	opts.max_bytes = 1 << 20;
	assert_int_equal(st_diff_unified(text, st_buf_str(&other), &opts, out, NULL, NULL), 0);
}

struct outcome {
	size_t samples;
	size_t below;
	/* By more than 3 %. */
	size_t far_below;
	double worst;
	double mean;
};

/* Hold estimates against counts. Texts of less than 20 tokens, which an ill-cut line makes, are left out. */
static struct outcome compare(const struct samples *samples) {
	struct outcome outcome = {.worst = 9};
	const struct counter *counter = &samples->counter;
	const size_t *estimate = (const size_t *)(const void *)samples->estimates.ptr;
	for (size_t i = 0; i < counter->count; i++) {
		double ratio = (double)estimate[i] / (double)counter->counts[i];
		if (counter->counts[i] < 20)
			continue;
		outcome.samples++;
		outcome.below += ratio < 1;
		outcome.far_below += ratio < 0.97;
		outcome.worst = ratio < outcome.worst ? ratio : outcome.worst;
		outcome.mean += ratio;
	}
	outcome.mean /= (double)outcome.samples;
	return outcome;
}

static struct outcome check(struct samples *samples, const char *what, const struct dir *dir) {
	counter_run(&samples->counter, dir);
	struct outcome outcome = compare(samples);
	counter_release(&samples->counter);
	st_buf_release(&samples->estimates);
	print_message("# %zu %s samples: below in %zu, lowest %.3f, mean %.3f of the real count\n",
	              outcome.samples, what, outcome.below, outcome.worst, outcome.mean);
	assert_true(outcome.samples >= 500);
	assert_true(outcome.below * 100 <= outcome.samples);
	/* Which parts of our files are drawn depends on all of them: once in a while one is an exception. */
	assert_true(outcome.far_below * 1000 <= outcome.samples);
	assert_true(outcome.worst >= 0.9);
	assert_true(outcome.mean <= 1.15);
	return outcome;
}

/* Code, prose, JSON and diffs, as this repository has them; a hundred brackets in a row are none of these. */
static void is_seldom_below_and_little_above_on_our_own_files(void **state) {
	struct dir *dir = *state;
	struct samples large = {0}, small = {0};
	struct gen gen = gen_new(1);
	st_auto(st_buf) list = ST_BUF_INIT;
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) diff = ST_BUF_INIT;
	const char *const argv[] = {
		"sh", "-c",
		"cd \"$0\" && find \"$PWD\"/*.md docs src include tests tools bench debian -type f "
		"-name '[!.]*' ! -name '*.bin' ! -path '*nested-too-deep*' | LC_ALL=C sort",
		STET_SOURCE_ROOT, NULL};
	assert_int_equal(run(dir, &list, argv), 0);
	assert_int_equal(chdir(STET_SOURCE_ROOT), 0);
	char *save = NULL;
	for (char *path = strtok_r(list.ptr, "\n", &save); path; path = strtok_r(NULL, "\n", &save)) {
		read_path(path, &text);
		add_long(&large, &gen, st_buf_str(&text), 12);
		add_short(&small, &gen, st_buf_str(&text), 12);
		diff_of(st_buf_str(&text), &diff);
		add_long(&large, &gen, st_buf_str(&diff), 3);
		add_short(&small, &gen, st_buf_str(&diff), 3);
	}
	assert_true(large.counter.count >= 1000 && small.counter.count >= 1000);
	check(&large, "long", dir);
	check(&small, "short", dir);
}

/* From each row of a run, what was said or printed, and parts of it. */
static void add_results(struct samples *samples, struct gen *gen, struct st_str rows) {
	while (rows.len > 0) {
		size_t len = cut_at_line(rows, 0);
		yyjson_doc *doc = yyjson_read(rows.ptr, len, 0);
		yyjson_val *text = yyjson_obj_get(yyjson_doc_get_root(doc), "result_text");
		add_short(samples, gen, st_json_str(text), 3);
		if (yyjson_get_len(text) > 0)
			add_sample(samples, st_json_str(text));
		yyjson_doc_free(doc);
		rows = st_str_slice(rows, len, rows.len);
	}
}

struct recorded {
	struct samples large, small;
	struct gen gen;
};

static void add_run(void *data, const char *name, struct st_str rows) {
	struct recorded *recorded = data;
	(void)name;
	add_long(&recorded->large, &recorded->gen, rows, 1000);
	add_results(&recorded->small, &recorded->gen, rows);
}

/* What agents really saw: rows of JSON, each with the text of a tool's result. */
static void is_seldom_below_and_little_above_on_recorded_runs(void **state) {
	struct dir *dir = *state;
	struct recorded recorded = {.gen = gen_new(2)};
	corpus_each_run(add_run, &recorded);
	assert_int_equal(check(&recorded.large, "long", dir).below, 0);
	assert_int_equal(check(&recorded.small, "short", dir).below, 0);
}

static void nothing_has_no_tokens(void **state) {
	(void)state;
	assert_int_equal(st_tokens(ST_STR("")), 0);
}

static void any_bytes_have_an_estimate(void **state) {
	(void)state;
	char bytes[4096];
	struct gen gen = gen_new(3);
	for (int round = 0; round < 200; round++) {
		size_t len = gen_below(&gen, sizeof bytes);
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)gen_below(&gen, 256);
		size_t tokens = st_tokens(st_strn(bytes, len));
		assert_true(tokens <= len * 4);
		assert_true(tokens * 64 >= len);
	}
}

static void a_prefix_and_a_suffix_fit_and_could_not_be_much_longer(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 400; i++)
		st_buf_addf(&text, "line %d: straße — some_words (%d)\n", i, i * 7919);
	for (size_t limit = 0; limit < 1000; limit += 37) {
		struct st_str all = st_buf_str(&text);
		size_t prefix = st_tokens_prefix(all, limit);
		size_t suffix = st_tokens_suffix(all, limit);
		assert_true(st_tokens(st_str_slice(all, 0, prefix)) <= limit);
		assert_true(st_tokens(st_str_slice(all, all.len - suffix, all.len)) <= limit + 2);
		assert_true(st_tokens(st_str_slice(all, 0, prefix)) + 4 >= limit);
		assert_true(st_tokens(st_str_slice(all, all.len - suffix, all.len)) + 4 >= limit);
	}
	assert_int_equal(st_tokens_prefix(ST_STR("few"), 100), 3);
	assert_int_equal(st_tokens_suffix(ST_STR("few"), 100), 3);
}

static void a_megabyte_of_one_letter_can_be_cut(void **state) {
	(void)state;
	st_auto(st_buf) text = ST_BUF_INIT;
	for (int i = 0; i < 1 << 20; i++)
		st_buf_addc(&text, 'a');
	size_t prefix = st_tokens_prefix(st_buf_str(&text), 100);
	assert_true(prefix > 100 && prefix < 2000);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(is_seldom_below_and_little_above_on_our_own_files),
		claim(is_seldom_below_and_little_above_on_recorded_runs),
		cmocka_unit_test(nothing_has_no_tokens),
		cmocka_unit_test(any_bytes_have_an_estimate),
		cmocka_unit_test(a_prefix_and_a_suffix_fit_and_could_not_be_much_longer),
		cmocka_unit_test(a_megabyte_of_one_letter_can_be_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
