/*
 * A hostile process strikes just before the n-th system call of an edit, for
 * every n: no moment of a commit is left to chance. torture/fight.h says how
 * losses are accounted for, torture/steps.h how the moments are found.
 *
 * The edit waits until the strike is over, unless a lease holds that up.
 */
#include <dirent.h>

#include "fs/write/commit.h"
#include "stet/tools.h"
#include "torture/fight.h"
#include "torture/steps.h"

enum { STEPS_MAX = 400, SIZE = 4096 };

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
	ambush->held_up = !hostile_strike_now(hostile, ambush->fight->linked);
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
		fight_acked(fight, ambush->record);
	else
		fight_count(fight, code);

	bool met = ambush->struck > 0;
	if (!met)
		strike(ambush);
	assert_true(hostile_wait(&fight->hostile, 60000));
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

/* There is one moment left, between the last look and the write, which cannot be closed. */
static void an_edit_in_place_without_leases_has_one_gap(void **state) {
	steps_lack(STEPS_LACK_LEASES);
	fight_print_head();
	for (size_t kind = 0; kind < HOSTILE_KINDS; kind++) {
		struct fight fight = {
			.writer = &writer_edits, .kind = &hostile_kinds[kind], .size = SIZE, .linked = true};
		(void)strike_before_every_step(&fight, *state);
		assert_in_range(fight.score.lost, 0, 1);
	}
	steps_lack(STEPS_LACK_NOTHING);
}

/* Where only bytes are trusted, an exchange is as safe as anywhere. */
static void no_step_loses_an_update_where_only_bytes_are_trusted(void **state) {
	steps_lack(STEPS_LACK_TRUST);
	every_kind_before_every_step((struct fight){.writer = &writer_edits}, *state);
	every_kind_before_every_step((struct fight){.writer = &writer_writes, .durable = true}, *state);
	steps_lack(STEPS_LACK_NOTHING);
}

/* The moment between the second name and the rename is left, in which a third file is overwritten. */
static void two_steps_instead_of_an_exchange_have_one_gap(void **state) {
	static const unsigned lacks[] = {STEPS_LACK_EXCHANGE, STEPS_LACK_EXCHANGE | STEPS_LACK_LEASES,
	                                 STEPS_LACK_EXCHANGE | STEPS_LACK_TRUST};
	fight_print_head();
	for (size_t i = 0; i < 3; i++) {
		steps_lack(lacks[i]);
		for (size_t kind = 0; kind < HOSTILE_KINDS; kind++) {
			struct fight fight = {
				.writer = &writer_edits, .kind = &hostile_kinds[kind], .size = SIZE};
			bool renames = kind == HOSTILE_RENAME || kind == HOSTILE_ANEW;
			(void)strike_before_every_step(&fight, *state);
			assert_in_range(fight.score.lost, 0, renames ? 1 : 0);
			assert_int_equal(fight.score.exchanged, 0);
			if (lacks[i] & STEPS_LACK_TRUST)
				assert_int_equal(fight.score.silent, 0);
		}
	}
	steps_lack(STEPS_LACK_NOTHING);
}

static void no_two_steps_lose_two_updates(void **state) {
	int apart = in_full() ? STEPS_MAX : 6;
	struct fight fight = {.writer = &writer_edits,
	                      .kind = &hostile_kinds[HOSTILE_RENAME],
	                      .size = SIZE,
	                      .races = 100000};
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

/* ---- what cannot be kept ---- */

/* Two strikes that leave an earlier and a later version of others. */
static void at_exchange(const struct step *step, void *arg) {
	struct ambush *ambush = arg;
	if (step->is_exchange && ambush->struck < 2)
		strike(ambush);
}

static bool is_in_leftover(const struct dir *dir, unsigned record) {
	bool marks[3] = {0};
	DIR *stream = opendir(dir->path);
	assert_non_null(stream);
	for (struct dirent *entry; (entry = readdir(stream));) {
		st_auto(st_buf) text = ST_BUF_INIT;
		if (strncmp(entry->d_name, ".stet-", 6) == 0 &&
		    file_load(dir_at(dir, entry->d_name), &text))
			page_mark_records(st_buf_str(&text), marks, 3);
	}
	closedir(stream);
	return marks[record];
}

static void a_version_that_cannot_be_kept_stays(void **state) {
	const struct dir *dir = *state;
	struct fight fight = {
		.writer = &writer_edits, .kind = &hostile_kinds[HOSTILE_RENAME], .size = SIZE, .races = 2};
	struct ambush ambush = {.fight = &fight, .record = 1};
	dir_write(dir, ".stet", "a file where the state directory should be");
	fight_begin(&fight, dir);
	fight_ready(&fight, 1);
	steps_watch(at_exchange, &ambush);
	assert_int_equal(fight.writer->try(&fight, 1), STET_E_CONFLICT);
	steps_watch(NULL, NULL);
	fight_settle(&fight);
	assert_int_equal(ambush.struck, 2);
	assert_true(is_in_leftover(dir, 1));
	fight_judge(&fight, 1, false, false);
	assert_true(fight.arrived[2]);
	assert_int_equal(fight.score.unkept, 2);

	/* Once it can be kept, the next write does that. */
	assert_int_equal(unlink(dir_at(dir, ".stet")), 0);
	fight_ready(&fight, 3);
	assert_int_equal(fight.writer->try(&fight, 2), 0);
	fight_settle(&fight);
	assert_true(fight.kept[1]);
	fight_end(&fight);
}

/* ---- a directory with all its files ---- */

/* Somebody puts another file in the place of one that was read. */
struct swap {
	const struct dir *dir;
	int at;
	bool done;
};

static void swap_file(const struct step *step, void *arg) {
	struct swap *swap = arg;
	if (step->number != swap->at)
		return;
	swap->done = true;
	dir_write(swap->dir, "other", "theirs\n");
	/* The directory may be gone by now. */
	if (dir_has(swap->dir, "d"))
		assert_int_equal(rename(dir_at(swap->dir, "other"), dir_at(swap->dir, "d/a")), 0);
}

static int delete_tree(struct stet_session *session) {
	static const char args[] = "{\"path\":\"d\",\"recursive\":true}";
	char *answer = NULL;
	int code = stet_call(session, "delete_file", args, sizeof args - 1, &answer, NULL, NULL);
	stet_free(answer);
	return code;
}

static void read_file(struct stet_session *session, const char *path) {
	struct stet_answer *answer = NULL;
	assert_int_equal(stet_session_read(session, path, 0, 0, &answer, NULL), 0);
	stet_answer_free(answer);
}

/*
 * A file that nobody has read stays, whenever it appears and however often the deletion
 * is tried.
 */
static void a_tree_is_deleted_only_as_far_as_it_was_read(void **state) {
	struct swap swap = {.dir = *state};
	int refused = 0;
	do {
		struct stet_workspace *ws;
		struct stet_session *session;
		assert_int_equal(stet_workspace_open(swap.dir->path, &ws, NULL), 0);
		assert_int_equal(stet_session_open(ws, NULL, &session, NULL), 0);
		dir_write(swap.dir, "d/a", "mine\n");
		dir_write(swap.dir, "d/b", "mine\n");
		read_file(session, "d/a");
		read_file(session, "d/b");
		swap.done = false;
		swap.at++;
		steps_watch(swap_file, &swap);
		int code = delete_tree(session);
		steps_watch(NULL, NULL);
		bool stays = swap.done && dir_has(swap.dir, "d/a");
		refused += code < 0;
		assert_true(code == 0 || stays);
		if (stays) {
			assert_true(delete_tree(session) < 0);
			assert_string_equal(dir_read(swap.dir, "d/a"), "theirs\n");
			read_file(session, "d/a");
			assert_int_equal(delete_tree(session), 0);
		}
		stet_session_close(session);
		stet_workspace_close(ws);
	} while (swap.done && swap.at < STEPS_MAX);
	assert_false(swap.done);
	assert_true(refused > 3);
}

/* ---- what is said of it ---- */

/* Somebody writes our bytes into the file, and then somebody puts the old file back. */
struct detour {
	const struct dir *dir;
	int write_at, restore_at;
};

static void take_detour(const struct step *step, void *arg) {
	const struct detour *detour = arg;
	if (step->number == detour->write_at)
		dir_write(detour->dir, "a.txt", "new");
	if (step->number == detour->restore_at) {
		dir_write(detour->dir, "old.txt", "old");
		assert_int_equal(rename(dir_at(detour->dir, "old.txt"), dir_at(detour->dir, "a.txt")), 0);
	}
}

/* Returns how many steps it took. */
static int commit_with_detour(struct detour *detour) {
	struct st_root root;
	struct st_write_context writes;
	struct st_hash old;
	st_auto(st_committed) done = ST_COMMITTED_INIT;
	dir_write(detour->dir, "a.txt", "old");
	unlink(dir_at(detour->dir, "b.txt"));
	assert_int_equal(link(dir_at(detour->dir, "a.txt"), dir_at(detour->dir, "b.txt")), 0);
	assert_int_equal(st_hash_of(ST_STR("old"), &old, NULL), 0);
	assert_int_equal(st_root_open(&root, detour->dir->path, NULL), 0);
	st_write_context_init(&writes, &root, ".stet", NULL);
	struct st_commit commit = {.path = ST_STR("a.txt"),
	                           .bytes = ST_STR("new"),
	                           .expected = &old,
	                           .old = ST_STR("old"),
	                           .relaxed = true};
	steps_watch(take_detour, detour);
	int code = st_commit(&root, &writes, &commit, &done, NULL);
	int steps = steps_watch(NULL, NULL);
	if (code == 0)
		assert_int_equal(done.noop, done.way == ST_COMMIT_NONE);
	st_write_context_release(&writes);
	st_root_release(&root);
	return steps;
}

static void what_was_written_is_never_called_nothing(void **state) {
	struct detour detour = {.dir = *state};
	int steps;
	/* This thread is the writer, too, and would wait for its own lease. */
	steps_lack(STEPS_LACK_LEASES);
	do {
		detour.write_at++;
		detour.restore_at = detour.write_at;
		do {
			detour.restore_at++;
			steps = commit_with_detour(&detour);
		} while (detour.restore_at <= steps);
	} while (detour.write_at <= steps);
	steps_lack(STEPS_LACK_NOTHING);
}

/* ---- other processes that sweep ---- */

struct sweep {
	const struct dir *dir;
	int at;
};

/* Another process of stet may take a temporary file that is not locked yet for a leftover. */
static void sweep_parts(const struct step *step, void *arg) {
	const struct sweep *sweep = arg;
	if (step->number != sweep->at)
		return;
	DIR *stream = opendir(sweep->dir->path);
	assert_non_null(stream);
	for (struct dirent *entry; (entry = readdir(stream));) {
		if (strstr(entry->d_name, ".part"))
			unlinkat(dirfd(stream), entry->d_name, 0);
	}
	closedir(stream);
}

static void a_temporary_file_that_was_swept_away_is_written_again(void **state) {
	const struct dir *dir = *state;
	struct sweep sweep = {dir, 0};
	int steps;
	do {
		struct stet_workspace *ws;
		struct stet_session *session;
		sweep.at++;
		dir_write(dir, "page", "old");
		assert_int_equal(stet_workspace_open(dir->path, &ws, NULL), 0);
		assert_int_equal(stet_workspace_set(ws, STET_OPTION_DURABLE, 0, NULL), 0);
		assert_int_equal(stet_session_open(ws, NULL, &session, NULL), 0);
		steps_watch(sweep_parts, &sweep);
		int code = stet_session_edit(session, "page", "old", 3, "new", 3, NULL, NULL, NULL);
		steps = steps_watch(NULL, NULL);
		assert_int_equal(code, 0);
		assert_string_equal(dir_read(dir, "page"), "new");
		assert_int_equal(dir_count(dir, "."), 1);
		stet_session_close(session);
		stet_workspace_close(ws);
	} while (steps >= sweep.at);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(no_step_of_an_edit_loses_an_update),
		claim(no_step_of_a_whole_file_write_loses_an_update),
		claim(no_step_of_a_synced_edit_loses_an_update),
		claim(no_step_of_an_edit_in_place_loses_an_update),
		claim(no_step_loses_an_update_without_leases),
		claim(an_edit_in_place_without_leases_has_one_gap),
		cmocka_unit_test_setup_teardown(no_step_loses_an_update_where_only_bytes_are_trusted,
	                                    memory_setup, dir_teardown),
		cmocka_unit_test_setup_teardown(two_steps_instead_of_an_exchange_have_one_gap, memory_setup,
	                                    dir_teardown),
		claim(no_two_steps_lose_two_updates),
		claim(a_version_that_cannot_be_kept_stays),
		claim(a_tree_is_deleted_only_as_far_as_it_was_read),
		claim(what_was_written_is_never_called_nothing),
		claim(a_temporary_file_that_was_swept_away_is_written_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
