/* The arena: aligned, bounded, and everything in it stays what it was until the release. */
#include "base/arena.h"
#include "base/auto.h"
#include "lib/test.h"

static void objects_are_aligned_and_do_not_overlap(void **state) {
	(void)state;
	st_auto(st_arena) arena;
	st_arena_init(&arena, 64 << 20);
	enum { COUNT = 2000 };
	static unsigned char *objects[COUNT];
	static size_t sizes[COUNT];

	for (size_t i = 0; i < COUNT; i++) {
		sizes[i] = i * 7919 % (i % 50 == 0 ? 20000 : 300);
		objects[i] = st_arena_alloc(&arena, sizes[i]);
		assert_non_null(objects[i]);
		assert_int_equal((uintptr_t)objects[i] % _Alignof(max_align_t), 0);
		memset(objects[i], (int)(i % 251), sizes[i]);
		if (i % 3 == 0)
			assert_string_equal(st_arena_copy(&arena, ST_STR("odd sized")), "odd sized");
	}
	for (size_t i = 0; i < COUNT; i++) {
		for (size_t j = 0; j < sizes[i]; j++)
			assert_int_equal(objects[i][j], i % 251);
	}
}

static void a_large_object_leaves_the_block_in_use_usable(void **state) {
	(void)state;
	st_auto(st_arena) arena;
	st_arena_init(&arena, 64 << 20);
	char *small = st_arena_copy(&arena, ST_STR("a"));
	assert_non_null(st_arena_alloc(&arena, 1 << 20));
	char *next = st_arena_copy(&arena, ST_STR("b"));
	assert_ptr_equal(next, small + 2);
}

static void an_arena_stays_within_its_limit_and_survives_it(void **state) {
	(void)state;
	st_auto(st_arena) arena;
	st_arena_init(&arena, 100000);
	assert_null(st_arena_alloc(&arena, 100001));
	assert_null(st_arena_alloc(&arena, SIZE_MAX));
	assert_null(st_arena_array(&arena, SIZE_MAX / 2, 3));
	size_t got = 0;
	while (st_arena_alloc(&arena, 100))
		got++;
	assert_true(got > 600);
	assert_true(arena.total <= 100000);
	assert_null(st_arena_copy(&arena, ST_STR("none left, nor a block of this very size, is there? "
	                                         "it would need the hundred bytes that failed above")));

	st_arena_release(&arena);
	assert_int_equal(arena.total, 0);
	assert_non_null(st_arena_alloc(&arena, 100));
}

static void arrays_are_zeroed_and_copies_nul_ended(void **state) {
	(void)state;
	st_auto(st_arena) arena;
	st_arena_init(&arena, 1 << 20);
	memset(st_arena_alloc(&arena, 3000), 0xAA, 3000);
	st_arena_release(&arena);
	uint64_t *array = st_arena_array(&arena, 300, sizeof *array);
	for (int i = 0; i < 300; i++)
		assert_int_equal(array[i], 0);
	char *copy = st_arena_copy(&arena, st_strn("a\0bXX", 3));
	assert_memory_equal(copy, "a\0b", 4);
	assert_string_equal(st_arena_copy(&arena, ST_STR("")), "");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_aligned_and_do_not_overlap),
		cmocka_unit_test(a_large_object_leaves_the_block_in_use_usable),
		cmocka_unit_test(an_arena_stays_within_its_limit_and_survives_it),
		cmocka_unit_test(arrays_are_zeroed_and_copies_nul_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
