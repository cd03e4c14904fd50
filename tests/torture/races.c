/*
 * Sessions that edit and that write whole files, against hostile processes of
 * every kind, at moments that chance picks: no record gets lost. torture/fight.h
 * says how that is accounted for.
 *
 * The same races against a plain read, write and rename have to lose records,
 * or they would prove nothing.
 */
#include "torture/fight.h"
#include "torture/steps.h"

enum { SIZES = 3, KILO = 1024 };

static const size_t sizes[SIZES] = {4 * KILO, 64 * KILO, 4 * KILO *KILO};

static void race(struct fight *fight, unsigned record) {
	fight_ready(fight, record);
	int64_t began = now_ns(), attempt;
	hostile_strike(&fight->hostile, random_below(fight->typical_ns * 5 / 4));
	bool acked = fight_until_acked(fight, record, &attempt);
	int64_t ended = now_ns();
	assert_true(hostile_wait(&fight->hostile, 60000));
	fight->typical_ns = (fight->typical_ns * 7 + ended - began) / 8;
	fight_judge(fight, record, acked,
	            hostile_began_ns(&fight->hostile) < ended &&
	                hostile_ended_ns(&fight->hostile) > attempt);
}

static bool run(struct fight *fight, const struct dir *dir) {
	fight_begin(fight, dir);
	for (unsigned record = 1; record <= fight->races; record++)
		race(fight, record);
	fight_end(fight);
	return fight_is_clean(fight);
}

/* All hostile kinds at all sizes. */
static void run_all(const struct dir *dir, struct fight pattern, const unsigned races[SIZES]) {
	bool clean = true;
	fight_print_head();
	for (size_t kind = 0; kind < HOSTILE_KINDS; kind++) {
		for (size_t size = 0; size < SIZES; size++) {
			struct fight fight = pattern;
			fight.kind = &hostile_kinds[kind];
			fight.size = sizes[size];
			fight.races = races[size];
			clean = (fight.races == 0 || run(&fight, dir)) && clean;
		}
	}
	assert_true(clean);
}

static const unsigned *pick(const unsigned few[SIZES], const unsigned full[SIZES]) {
	return in_full() ? full : few;
}

static const unsigned all_full[SIZES] = {500, 500, 500};

static void an_edit_loses_no_update(void **state) {
	run_all(*state, (struct fight){.writer = &writer_edits},
	        pick((unsigned[]){80, 40, 5}, all_full));
}

static void a_whole_file_write_loses_no_update(void **state) {
	run_all(*state, (struct fight){.writer = &writer_writes},
	        pick((unsigned[]){80, 40, 5}, all_full));
}

static void synced_edits_lose_no_update(void **state) {
	run_all(*state, (struct fight){.writer = &writer_edits, .durable = true},
	        pick((unsigned[]){20, 10, 0}, (unsigned[]){200, 100, 20}));
}

static void nothing_is_lost_without_leases(void **state) {
	steps_lack(STEPS_LACK_LEASES);
	run_all(*state, (struct fight){.writer = &writer_edits},
	        pick((unsigned[]){40, 20, 0}, (unsigned[]){500, 500, 50}));
	run_all(*state, (struct fight){.writer = &writer_edits, .durable = true},
	        pick((unsigned[]){20, 10, 0}, (unsigned[]){200, 100, 20}));
	steps_lack(STEPS_LACK_NOTHING);
}

static void nothing_is_lost_when_hard_links_are_written_in_place(void **state) {
	run_all(*state, (struct fight){.writer = &writer_edits, .linked = true},
	        pick((unsigned[]){40, 20, 3}, (unsigned[]){500, 500, 50}));
}

static void a_naive_replace_loses_updates(void **state) {
	static const int kinds[] = {HOSTILE_APPEND, HOSTILE_IN_PLACE, HOSTILE_RENAME};
	fight_print_head();
	for (size_t i = 0; i < 3; i++) {
		unsigned lost = 0;
		/* On a slow build a hundred races may end well by luck; not ten times in a row. */
		for (int round = 0; lost == 0 && round < 10; round++) {
			struct fight fight = {.writer = &writer_naive,
			                      .kind = &hostile_kinds[kinds[i]],
			                      .size = 64 * KILO,
			                      .races = in_full() ? 500 : 100};
			(void)run(&fight, *state);
			lost += fight.score.lost > 0;
		}
		assert_true(lost > 0);
	}
}

static void nothing_is_lost_on_tmpfs(void **state) {
	run_all(*state, (struct fight){.writer = &writer_edits},
	        pick((unsigned[]){40, 20, 3}, (unsigned[]){500, 500, 50}));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(an_edit_loses_no_update),
		claim(a_whole_file_write_loses_no_update),
		claim(synced_edits_lose_no_update),
		claim(nothing_is_lost_without_leases),
		claim(nothing_is_lost_when_hard_links_are_written_in_place),
		cmocka_unit_test_setup_teardown(nothing_is_lost_on_tmpfs, memory_setup, dir_teardown),
		claim(a_naive_replace_loses_updates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
