/*
 * A hostile process strikes just before the n-th system call of an edit, for
 * every n: no moment of a commit is left to chance. torture/fight.h says how
 * losses are accounted for, torture/steps.h how the moments are found.
 *
 * The edit waits until the strike is over, unless a lease holds that up.
 */
#include "torture/fight.h"
#include "torture/steps.h"

enum { STEPS_MAX = 400, SIZE = 4096, PATIENCE_MS = 10 };

/* Strike before the first of these steps, and once more before the second. */
struct ambush {
	struct fight *fight;
	int first, second;
	unsigned record;
	unsigned struck;
	/* A lease stopped a strike for longer than we waited. */
	bool held_up;
};

static void strike(struct ambush *ambush) {
	struct hostile *hostile = &ambush->fight->hostile;
	if (ambush->held_up)
		return;
	if (ambush->struck > 0)
		hostile_ready(hostile, ambush->record + 1);
	ambush->struck++;
	hostile_strike(hostile, 0);
	ambush->held_up = !hostile_wait_struck(hostile, PATIENCE_MS);
}

static void at_step(const struct step *step, void *arg) {
	struct ambush *ambush = arg;
	if (step->number == ambush->first || step->number == ambush->second)
		strike(ambush);
}

/* One edit; true if it came as far as the ambush. */
static bool run(struct ambush *ambush) {
	struct fight *fight = ambush->fight;
	fight_ready(fight, ambush->record);
	steps_watch(at_step, ambush);
	int code = fight->writer->try(fight, ambush->record);
	steps_watch(NULL, NULL);
	if (code == 0)
		fight->score.acked++;
	else
		fight_count(fight, code);

	bool met = ambush->struck > 0;
	if (!met)
		strike(ambush);
	assert_true(hostile_wait(&fight->hostile, 10000));
	fight_judge(fight, ambush->record, code == 0, ambush->held_up);
	fight_settle(fight);
	return met;
}

static bool strike_before_every_step(struct fight *fight, const struct dir *dir) {
	fight->races = STEPS_MAX;
	fight_begin(fight, dir);
	struct ambush ambush = {.fight = fight};
	do
		ambush = (struct ambush){fight, ambush.first + 1, 0, ambush.record + 1, 0, false};
	while (run(&ambush) && ambush.record < STEPS_MAX);
	fight->races = ambush.record;
	fight_end(fight);
	assert_in_range(fight->races, 10, STEPS_MAX - 1);
	return fight_is_clean(fight);
}

static void every_kind_before_every_step(struct fight pattern, const struct dir *dir) {
	bool clean = true;
	fight_print_head();
	for (size_t kind = 0; kind < HOSTILE_KINDS; kind++) {
		struct fight fight = pattern;
		fight.kind = &hostile_kinds[kind];
		fight.size = SIZE;
		clean = strike_before_every_step(&fight, dir) && clean;
	}
	assert_true(clean);
}

static void no_step_of_an_edit_loses_an_update(void **state) {
	every_kind_before_every_step((struct fight){.writer = &writer_edits}, *state);
}

static void no_step_of_a_whole_file_write_loses_an_update(void **state) {
	every_kind_before_every_step((struct fight){.writer = &writer_writes}, *state);
}

static void no_step_of_a_synced_edit_loses_an_update(void **state) {
	every_kind_before_every_step((struct fight){.writer = &writer_edits, .durable = true}, *state);
}

static void no_step_of_an_edit_in_place_loses_an_update(void **state) {
	every_kind_before_every_step((struct fight){.writer = &writer_edits, .linked = true}, *state);
}

static void no_step_loses_an_update_without_leases(void **state) {
	steps_lack(STEPS_LACK_LEASES);
	every_kind_before_every_step((struct fight){.writer = &writer_edits}, *state);
	every_kind_before_every_step((struct fight){.writer = &writer_edits, .durable = true}, *state);
	steps_lack(STEPS_LACK_NOTHING);
}

static void no_two_steps_lose_two_updates(void **state) {
	int apart = in_full() ? STEPS_MAX : 6;
	struct fight fight = {.writer = &writer_edits, .kind = &hostile_kinds[HOSTILE_RENAME],
	                      .size = SIZE, .races = 100000};
	fight_begin(&fight, *state);
	unsigned record = 1;
	bool met = true;
	for (int first = 1; met; first++) {
		bool both = true;
		for (int second = first + 1; met && both && second <= first + apart; second++) {
			struct ambush ambush = {&fight, first, second, record, 0, false};
			met = run(&ambush);
			both = ambush.struck == 2;
			record += ambush.struck;
		}
	}
	fight.races = record - 1;
	fight_print_head();
	fight_end(&fight);
	assert_true(fight_is_clean(&fight));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(no_step_of_an_edit_loses_an_update),
		claim(no_step_of_a_whole_file_write_loses_an_update),
		claim(no_step_of_a_synced_edit_loses_an_update),
		claim(no_step_of_an_edit_in_place_loses_an_update),
		claim(no_step_loses_an_update_without_leases),
		claim(no_two_steps_lose_two_updates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
