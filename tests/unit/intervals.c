/* Sets of line numbers: equal to a bitmap, within bounds, and never claiming too much. */
#include "base/intervals.h"
#include "base/auto.h"
#include "lib/alloc.h"
#include "lib/test.h"

static void check(const struct st_intervals *set, size_t count, const struct st_interval *items) {
	assert_int_equal(set->count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(set->items[i].first, items[i].first);
		assert_int_equal(set->items[i].last, items[i].last);
	}
}

static void add(struct st_intervals *set, size_t first, size_t last) {
	assert_true(st_intervals_add(set, first, last));
}

static void intervals_are_sorted_and_merged_where_they_touch(void **state) {
	(void)state;
	st_auto(st_intervals) set = {0};
	add(&set, 10, 20);
	add(&set, 1, 2);
	add(&set, 4, 4);
	check(&set, 3, (const struct st_interval[]){{1, 2}, {4, 4}, {10, 20}});
	add(&set, 3, 3);
	check(&set, 2, (const struct st_interval[]){{1, 4}, {10, 20}});
	add(&set, 15, 30);
	add(&set, 9, 9);
	check(&set, 2, (const struct st_interval[]){{1, 4}, {9, 30}});
	add(&set, 2, 40);
	check(&set, 1, (const struct st_interval[]){{1, 40}});
}

static void an_empty_interval_adds_nothing_and_is_always_contained(void **state) {
	(void)state;
	st_auto(st_intervals) set = {0};
	add(&set, 5, 4);
	assert_int_equal(set.count, 0);
	assert_true(st_intervals_contains(&set, 5, 4));
	assert_true(st_intervals_covers(&set, 0));
	assert_false(st_intervals_covers(&set, 1));
}

static void coverage_adds_up_over_several_reads(void **state) {
	(void)state;
	st_auto(st_intervals) set = {0};
	add(&set, 51, 100);
	assert_false(st_intervals_covers(&set, 100));
	add(&set, 1, 49);
	assert_false(st_intervals_covers(&set, 100));
	assert_true(st_intervals_covers(&set, 49));
	add(&set, 50, 50);
	assert_true(st_intervals_covers(&set, 100));
	assert_false(st_intervals_covers(&set, 101));
	st_intervals_clear(&set);
	assert_false(st_intervals_contains(&set, 50, 50));
}

static void the_largest_numbers_do_not_overflow(void **state) {
	(void)state;
	st_auto(st_intervals) set = {0};
	add(&set, SIZE_MAX, SIZE_MAX);
	add(&set, 0, 0);
	check(&set, 2, (const struct st_interval[]){{0, 0}, {SIZE_MAX, SIZE_MAX}});
	add(&set, 1, SIZE_MAX - 1);
	check(&set, 1, (const struct st_interval[]){{0, SIZE_MAX}});
	assert_true(st_intervals_contains(&set, 0, SIZE_MAX));
}

static void a_full_set_forgets_the_smallest_but_not_the_newest(void **state) {
	(void)state;
	st_auto(st_intervals) set = {0};
	for (size_t i = 0; i < ST_INTERVALS_MAX; i++)
		add(&set, 1000 * i + 100, 1000 * i + 100 + (i == 7 ? 1 : 10));
	add(&set, 50, 50);
	assert_int_equal(set.count, ST_INTERVALS_MAX);
	assert_true(st_intervals_contains(&set, 50, 50));
	assert_false(st_intervals_contains(&set, 7100, 7100));
	assert_true(st_intervals_contains(&set, 8100, 8110));

	/* Now the smallest is the one at 50, before the place of the new one. */
	add(&set, 500000000, 500000000);
	assert_int_equal(set.count, ST_INTERVALS_MAX);
	assert_false(st_intervals_contains(&set, 50, 50));
	assert_true(st_intervals_contains(&set, 500000000, 500000000));

	/* An interval that joins a neighbour needs no room. */
	add(&set, 100, 1500);
	assert_true(st_intervals_contains(&set, 100, 1500));
	assert_int_equal(set.count, ST_INTERVALS_MAX - 1);
}

static void without_memory_the_set_stays_what_it_was(void **state) {
	(void)state;
	st_auto(st_intervals) set = {0};
	alloc_fail_at(1);
	assert_false(st_intervals_add(&set, 1, 1));
	assert_true(alloc_has_failed());
	assert_int_equal(set.count, 0);
	while (set.count < 8)
		add(&set, 10 * set.count, 10 * set.count);
	alloc_fail_at(1);
	assert_false(st_intervals_add(&set, 99, 99));
	/* An interval that joins a neighbour needs no memory. */
	assert_true(st_intervals_add(&set, 71, 75));
	assert_true(alloc_has_failed());
	assert_int_equal(set.count, 8);
	assert_true(st_intervals_contains(&set, 70, 75));
	assert_false(st_intervals_contains(&set, 99, 99));
}

static uint64_t seed = 0x9E3779B97F4A7C15u;

static size_t below(size_t bound) {
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (size_t)(seed % bound);
}

static bool bitmap_contains(const bool *bits, size_t first, size_t last) {
	for (size_t i = first; i <= last; i++) {
		if (!bits[i])
			return false;
	}
	return true;
}

static void check_against_bitmap(const struct st_intervals *set, const bool *bits, size_t size) {
	size_t total = 0;
	for (size_t i = 0; i < size; i++)
		total += bits[i];
	for (size_t i = 0; i < set->count; i++) {
		assert_true(set->items[i].first <= set->items[i].last);
		assert_true(bitmap_contains(bits, set->items[i].first, set->items[i].last));
		if (i > 0)
			assert_true(set->items[i].first - set->items[i - 1].last > 1);
	}
	for (int i = 0; i < 20; i++) {
		size_t first = below(size), last = first + below(size - first);
		assert_int_equal(st_intervals_contains(set, first, last),
		                 bitmap_contains(bits, first, last));
	}
}

static void any_order_of_adding_equals_a_bitmap(void **state) {
	(void)state;
	enum { SIZE = 300 };
	for (int round = 0; round < 500; round++) {
		st_auto(st_intervals) set = {0};
		bool bits[SIZE] = {false};
		size_t width = 1 + below(30);
		for (int step = 0; step < 60; step++) {
			size_t first = below(SIZE), last = first + below(width);
			if (last >= SIZE)
				last = SIZE - 1;
			add(&set, first, last);
			for (size_t i = first; i <= last; i++)
				bits[i] = true;
			check_against_bitmap(&set, bits, SIZE);
		}
	}
}

static void beyond_the_bound_nothing_is_claimed_that_was_not_added(void **state) {
	(void)state;
	enum { SIZE = 4000 };
	st_auto(st_intervals) set = {0};
	static bool bits[SIZE];
	for (int step = 0; step < 20000; step++) {
		if (step % 1500 == 0) {
			st_intervals_clear(&set);
			memset(bits, 0, sizeof bits);
		}
		size_t first = below(SIZE - 3), last = first + below(3);
		add(&set, first, last);
		for (size_t i = first; i <= last; i++)
			bits[i] = true;
		assert_true(set.count <= ST_INTERVALS_MAX);
		assert_true(st_intervals_contains(&set, first, last));
		for (size_t i = 0; i < set.count; i++)
			assert_true(bitmap_contains(bits, set.items[i].first, set.items[i].last));
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_are_sorted_and_merged_where_they_touch),
		cmocka_unit_test(an_empty_interval_adds_nothing_and_is_always_contained),
		cmocka_unit_test(coverage_adds_up_over_several_reads),
		cmocka_unit_test(the_largest_numbers_do_not_overflow),
		cmocka_unit_test(a_full_set_forgets_the_smallest_but_not_the_newest),
		cmocka_unit_test(without_memory_the_set_stays_what_it_was),
		cmocka_unit_test(any_order_of_adding_equals_a_bitmap),
		cmocka_unit_test(beyond_the_bound_nothing_is_claimed_that_was_not_added),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
