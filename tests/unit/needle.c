/* Looking for bytes: what memmem() finds, wherever it is and whatever is around it. */
#include "text/find/needle.h"

#include "base/buf.h"
#include "lib/gen.h"
#include "lib/test.h"

static const char *find(struct st_str bytes, struct st_str hay) {
	const struct st_needle needle = st_needle_of(bytes);
	return st_needle_find(&needle, hay);
}

/* The hay has memory of exactly its size, so that a sanitizer notices a read beyond it. */
static void check(struct st_str bytes, struct st_str hay) {
	char *copy = malloc(hay.len ? hay.len : 1);
	assert_non_null(copy);
	memcpy(copy, hay.ptr, hay.len);
	const char *right = memmem(copy, hay.len, bytes.ptr, bytes.len);
	assert_ptr_equal(find(bytes, st_strn(copy, hay.len)), right);
	free(copy);
}

static void fill(struct st_buf *buf, struct gen *gen, size_t len, const char *letters) {
	st_buf_clear(buf);
	while (buf->len < len)
		st_buf_addc(buf, letters[gen_below(gen, strlen(letters))]);
	assert_false(buf->failed);
}

static void it_finds_what_memmem_finds(void **state) {
	(void)state;
	/* From texts in which everything is nearly a match to those in which nothing is. */
	static const char *const letters[] = {"a", "ab", "et ", "the first_ word\n", "{}#Qz\x80\xff"};
	struct gen gen = gen_new(1);
	st_auto(st_buf) hay = ST_BUF_INIT;
	st_auto(st_buf) bytes = ST_BUF_INIT;
	for (int i = 0; i < 20000; i++) {
		const char *from = letters[i % 5];
		fill(&hay, &gen, gen_below(&gen, 400), from);
		fill(&bytes, &gen, 1 + gen_below(&gen, i % 3 == 0 ? 150 : 6), from);
		check(st_buf_str(&bytes), st_buf_str(&hay));
	}
}

static void it_finds_it_at_every_place(void **state) {
	(void)state;
	static const char *const needles[] = {"Q", "a word", "zz", "tetete", " "};
	for (size_t n = 0; n < sizeof needles / sizeof *needles; n++) {
		struct st_str bytes = st_str(needles[n]);
		for (size_t len = bytes.len; len < 300; len += 7) {
			for (size_t at = 0; at + bytes.len <= len; at++) {
				char hay[300];
				memset(hay, 'e', len);
				memcpy(hay + at, bytes.ptr, bytes.len);
				check(bytes, st_strn(hay, len));
			}
		}
	}
}

/* Those are looked for in another way, and what is around the places where pieces meet counts, too. */
static void a_long_one_is_found_as_well(void **state) {
	(void)state;
	static const char *const letters[] = {"a", "ab", "the first_ word\n", "{}#Qz\x80\xff"};
	struct gen gen = gen_new(1);
	st_auto(st_buf) hay = ST_BUF_INIT;
	st_auto(st_buf) bytes = ST_BUF_INIT;
	for (int i = 0; i < 24; i++) {
		size_t len = (i % 2 ? 1 << 16 : 1 << 10) + gen_below(&gen, 1000);
		size_t at = i % 3 ? ((size_t)1 << 20) - gen_below(&gen, 2 * len) : gen_below(&gen, 5000);
		fill(&hay, &gen, 3 << 20, letters[i % 4]);
		fill(&bytes, &gen, len, letters[i % 4]);
		check(st_buf_str(&bytes), st_buf_str(&hay));
		memcpy(hay.ptr + at, bytes.ptr, bytes.len);
		check(st_buf_str(&bytes), st_buf_str(&hay));
		check(st_buf_str(&bytes), st_strn(hay.ptr, at + bytes.len));
		check(st_buf_str(&bytes), st_strn(hay.ptr, at + bytes.len - 1));
	}
}

static void nothing_is_nowhere(void **state) {
	(void)state;
	assert_null(find(st_str(""), st_str("some text")));
	assert_null(find(st_str(""), st_str("")));
	assert_null(find(st_str("word"), st_str("")));
	assert_null(find(st_str("word"), st_str("wor")));
}

/* Every place is nearly a match. */
static void a_text_made_against_it_is_searched_too(void **state) {
	(void)state;
	st_auto(st_buf) hay = ST_BUF_INIT;
	st_auto(st_buf) bytes = ST_BUF_INIT;
	for (int i = 0; i < 1000; i++)
		st_buf_adds(&bytes, "Q");
	st_buf_adds(&bytes, "!");
	for (int i = 0; i < 1000000; i++)
		st_buf_adds(&hay, "Q");
	assert_false(hay.failed || bytes.failed);
	check(st_buf_str(&bytes), st_buf_str(&hay));
	st_buf_adds(&hay, "!");
	check(st_buf_str(&bytes), st_buf_str(&hay));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_finds_what_memmem_finds),
		cmocka_unit_test(it_finds_it_at_every_place),
		cmocka_unit_test(a_long_one_is_found_as_well),
		cmocka_unit_test(nothing_is_nowhere),
		cmocka_unit_test(a_text_made_against_it_is_searched_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
