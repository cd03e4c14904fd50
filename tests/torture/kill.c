/*
 * kill -9 in the middle of a commit: before every single system call of it,
 * and at moments that chance picks, with and without other writers.
 *
 * After each kill the page has to be whole, old or new. Then somebody who
 * knows nothing of it writes another file in the same directory, and after
 * that: no temporary file is left; every record that a hostile process wrote
 * is in the page or in a copy that a notice named; and if no copy was needed
 * there is no notice. A page that was written in place may be torn, but only
 * if a notice names a copy of what it held before.
 *
 * One thing dies with the process: the watch over files that it had replaced.
 * A record that was written to such a file, by somebody who had looked up the
 * path before the exchange, is lost if its process is killed before it looked.
 */
#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>

#include "torture/fight.h"
#include "torture/steps.h"
#include "torture/victim.h"

enum { SIZE = 16384, RECORDS_MAX = 4096, STEPS_MAX = 400 };

/* The victim's reports. */
struct board {
	_Atomic unsigned begun, acked, struck;
};

/* A directory with a page, how the process is to be killed, and what was found afterwards. */
struct scene {
	const char *name;
	bool durable;
	/* The page has a second name and is written in place. */
	bool linked;
	/* There is no page yet. */
	bool absent;
	/* The page becomes shorter: in place that takes two steps. */
	bool shrinks;
	/*
	 * The hostile process, NULL for none; it strikes before so many exchanges, or before
	 * this step.
	 */
	const struct hostile_kind *kind;
	unsigned strikes;
	int strike_at;

	const struct dir *dir;
	struct hostile hostile;
	struct board *board;
	int die_at;
	unsigned exchanges;

	/* After the next write: records in the page and in copies; copies that notices named. */
	bool there[RECORDS_MAX], kept[RECORDS_MAX];
	unsigned notices, copies, old_copies;
	/* Over all kills. */
	unsigned kills, old, new, torn, kept_copies;
};

/* ---- the process to be killed ---- */

/* Read the page and put the next number into its line; the new number, or 0 if that failed. */
static unsigned edit_page(struct editor *editor) {
	struct stet_answer *answer = NULL;
	struct page page;
	size_t len;
	if (stet_session_read(editor->session, "page", 0, 0, &answer, NULL) < 0)
		return 0;
	const char *content = stet_answer_content(answer, &len);
	struct st_str bytes = st_strn(content ? content : "", content ? len : 0);
	char next[PAGE_LINE_LEN + 1];
	int code = -1;
	if (page_parse(bytes, &page)) {
		struct st_str line = page_line(bytes);
		page_next_line(line, page.number + 1, next);
		code = stet_session_edit(editor->session, "page", line.ptr, line.len, next, PAGE_LINE_LEN,
		                         NULL, NULL, NULL);
	}
	stet_answer_free(answer);
	return code == 0 ? page.number + 1 : 0;
}

/* Write a whole page, after reading the one that is there. */
static void write_page(struct editor *editor, size_t size) {
	st_auto(st_buf) text = ST_BUF_INIT;
	page_make(&text, size, 1);
	(void)!stet_session_track_read(editor->session, "page", NULL);
	(void)!stet_session_write(editor->session, "page", text.ptr, text.len, NULL, NULL, NULL);
}

static void strike(struct scene *scene) {
	if (scene->board->struck > 0)
		hostile_ready(&scene->hostile, scene->board->struck + 1);
	scene->board->struck++;
	(void)hostile_strike_now(&scene->hostile, scene->linked);
}

static void at_step(const struct step *step, void *arg) {
	struct scene *scene = arg;
	if (step->number == scene->strike_at ||
	    (step->is_exchange && scene->exchanges++ < scene->strikes))
		strike(scene);
	if (step->number == scene->die_at)
		raise(SIGKILL);
}

/* Change the page once, and die on the way. */
static void die_at_step(void *arg) {
	struct scene *scene = arg;
	struct editor editor;
	if (!editor_open(&editor, scene->dir, scene->durable))
		_exit(1);
	steps_watch(at_step, scene);
	if (scene->absent || scene->shrinks)
		write_page(&editor, scene->shrinks ? SIZE / 2 : SIZE);
	else
		(void)edit_page(&editor);
	steps_watch(NULL, NULL);
	editor_close(&editor);
	_exit(0);
}

/* Change the page until the test kills this process. */
static void edit_forever(void *arg) {
	struct scene *scene = arg;
	struct editor editor;
	if (!editor_open(&editor, scene->dir, scene->durable))
		_exit(1);
	for (;;) {
		unsigned number = edit_page(&editor);
		scene->board->begun++;
		if (number > 0)
			scene->board->acked = number;
	}
}

/* ---- before ---- */

static void remove_in(const struct dir *dir, const char *name) {
	DIR *stream = opendir(dir_at(dir, name));
	if (!stream)
		return;
	for (struct dirent *entry; (entry = readdir(stream));)
		unlinkat(dirfd(stream), entry->d_name, 0);
	closedir(stream);
}

static void set_up(struct scene *scene) {
	const struct dir *dir = scene->dir;
	st_auto(st_buf) text = ST_BUF_INIT;
	remove_in(dir, ".");
	remove_in(dir, ".stet/rescued");
	page_make(&text, SIZE, 0);
	if (!scene->absent)
		dir_write_bytes(dir, "page", text.ptr, text.len);
	if (scene->linked)
		assert_int_equal(linkat(dir->fd, "page", dir->fd, "link", 0), 0);
	dir_write(dir, "other", "before");
	*scene->board = (struct board){0};
	memset(scene->there, 0, sizeof scene->there);
	memset(scene->kept, 0, sizeof scene->kept);
	scene->exchanges = scene->notices = scene->copies = scene->old_copies = 0;
}

static void scene_begin(struct scene *scene, const struct dir *dir) {
	scene->dir = dir;
	scene->board = shared_alloc(sizeof *scene->board);
	if (scene->kind)
		hostile_start(&scene->hostile, scene->kind, dir_at(dir, "page"));
}

static void scene_end(struct scene *scene) {
	if (scene->kind)
		assert_true(hostile_stop(&scene->hostile));
	shared_free(scene->board, sizeof *scene->board);
	printf("# %-34s %4u kills %4u old %4u new %4u torn %4u copies\n", scene->name, scene->kills,
	       scene->old, scene->new, scene->torn, scene->kept_copies);
	fflush(stdout);
}

/* ---- after ---- */

static void hear(void *arg, const char *notice) {
	struct scene *scene = arg;
	st_auto(st_buf) copy = ST_BUF_INIT;
	struct page page;
	scene->notices++;
	if (!load_rescued(scene->dir, notice, &copy)) {
		fail_msg("a notice without a copy: %s", notice);
		return;
	}
	scene->copies++;
	scene->old_copies += page_parse(st_buf_str(&copy), &page) && page.number == 0;
	page_mark_records(st_buf_str(&copy), scene->kept, RECORDS_MAX);
}

/*
 * Count the records up to the last that are neither in the page nor in a copy.
 * One that writes to its slot overwrites its earlier ones itself.
 */
static unsigned count_lost(const struct scene *scene, unsigned last, bool *needed) {
	unsigned lost = 0;
	for (unsigned record = scene->kind && !scene->kind->appends ? last : 1;
	     record > 0 && record <= last; record++) {
		*needed = *needed || !scene->there[record];
		lost += !scene->there[record] && !scene->kept[record];
	}
	return lost;
}

/* Check the files after the kill and the next write. Returns the page's number. */
static unsigned inspect(struct scene *scene, unsigned last) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct page page = {0};
	bool found = file_load(dir_at(scene->dir, "page"), &text);
	bool whole = found ? page_parse(st_buf_str(&text), &page) : scene->absent;
	bool needed = !whole;
	page_mark_records(st_buf_str(&text), scene->there, RECORDS_MAX);
	unsigned lost = count_lost(scene, last, &needed);
	bool goes_on = scene->kind && scene->die_at == 0;
	if (lost > (goes_on ? hostile_late(&scene->hostile) : 0))
		fail_msg("%s: %u of %u records are lost after a kill at step %d", scene->name, lost, last,
		         scene->die_at);
	assert_no_leftover(scene->dir);
	if (scene->linked) {
		/*
		 * A process that was killed while it made the copy leaves a whole page, and the copy is
		 * named.
		 */
		assert_int_equal(scene->old_copies, scene->copies);
		assert_true(whole || scene->old_copies == 1);
	} else {
		assert_true(whole);
		/*
		 * A copy may hold a record that its writer has overwritten since; and one that goes on
		 * by itself may have put all that it had read back into the page.
		 */
		bool again = scene->kind && (!scene->kind->appends || (scene->kind->rewrites && goes_on));
		assert_true(needed || again || scene->notices == 0);
	}
	scene->kills++;
	scene->torn += !whole;
	scene->old += whole && page.number == 0;
	scene->new += whole &&page.number > 0;
	scene->kept_copies += scene->copies;
	return page.number;
}

/* ---- every step ---- */

/* Edit and die before a step; false if there was no such step. */
static bool die_once(struct scene *scene) {
	set_up(scene);
	if (scene->kind)
		hostile_ready(&scene->hostile, 1);
	bool dead = victim_end(victim_start(die_at_step, scene));
	if (scene->board->struck > 0)
		assert_true(hostile_wait(&scene->hostile, 60000));
	next_write(scene->dir, "another", hear, scene);
	assert_in_range(inspect(scene, scene->board->struck), 0, 1);
	return dead;
}

static void die_before_every_step(struct scene scene, const struct dir *dir) {
	scene_begin(&scene, dir);
	do
		scene.die_at++;
	while (die_once(&scene));
	assert_in_range(scene.die_at, 10, STEPS_MAX);
	scene_end(&scene);
}

/* A strike before every step, and death before every later one. */
static void die_after_every_strike(struct scene scene, const struct dir *dir) {
	int apart = in_full() ? STEPS_MAX : 3;
	bool dead = true;
	scene_begin(&scene, dir);
	for (scene.strike_at = 1; dead; scene.strike_at++) {
		for (int gap = 0; dead && gap < apart; gap++) {
			scene.die_at = scene.strike_at + gap;
			dead = die_once(&scene);
		}
		/*
		 * The edit may end before the step of the death; only at the strike's own step is that
		 * the end.
		 */
		dead = dead || scene.die_at > scene.strike_at;
	}
	scene_end(&scene);
}

static void a_kill_leaves_the_old_or_the_new_file(void **state) {
	die_before_every_step((struct scene){.name = "exchange"}, *state);
	die_before_every_step((struct scene){.name = "exchange, synced", .durable = true}, *state);
	die_before_every_step((struct scene){.name = "create", .absent = true}, *state);
	die_before_every_step((struct scene){.name = "create, synced", .absent = true, .durable = true},
	                      *state);
}

static void a_kill_loses_nobodys_file(void **state) {
	const struct hostile_kind *rename = &hostile_kinds[HOSTILE_RENAME];
	die_before_every_step((struct scene){.name = "renamed over", .kind = rename, .strikes = 1},
	                      *state);
	die_before_every_step(
		(struct scene){
			.name = "renamed over, synced", .kind = rename, .strikes = 1, .durable = true},
		*state);
	die_before_every_step(
		(struct scene){.name = "renamed over twice", .kind = rename, .strikes = 2}, *state);
	die_before_every_step(
		(struct scene){.name = "renamed over three times", .kind = rename, .strikes = 3}, *state);
}

static void a_kill_loses_no_write_that_waited_for_it(void **state) {
	static const int kinds[] = {HOSTILE_APPEND, HOSTILE_IN_PLACE, HOSTILE_TRUNCATE};
	for (size_t i = 0; i < 3; i++) {
		struct scene scene = {.kind = &hostile_kinds[kinds[i]], .strikes = 1};
		scene.name = scene.kind->name;
		die_before_every_step(scene, *state);
	}
}

static void a_kill_after_any_strike_loses_nothing(void **state) {
	static const char *const names[] = {"append, then death", "in place, then death",
	                                    "rename, then death", "truncate, then death"};
	for (int kind = HOSTILE_APPEND; kind <= HOSTILE_TRUNCATE; kind++)
		die_after_every_strike((struct scene){.name = names[kind], .kind = &hostile_kinds[kind]},
		                       *state);
}

static void a_kill_in_a_rewrite_leaves_a_copy(void **state) {
	die_before_every_step((struct scene){.name = "in place", .linked = true}, *state);
	die_before_every_step(
		(struct scene){.name = "in place, synced", .linked = true, .durable = true}, *state);
	die_before_every_step(
		(struct scene){.name = "in place, shorter", .linked = true, .shrinks = true}, *state);
}

/* The process dies between the exchange and the look at what came out. */
static void die_after_exchange(const struct step *step, void *arg) {
	struct scene *scene = arg;
	if (scene->exchanges > 0)
		raise(SIGKILL);
	if (step->is_exchange && scene->exchanges++ < scene->strikes)
		strike(scene);
}

static void edit_and_die(void *arg) {
	struct scene *scene = arg;
	struct editor editor;
	if (!editor_open(&editor, scene->dir, false))
		_exit(1);
	steps_watch(die_after_exchange, scene);
	(void)edit_page(&editor);
	_exit(0);
}

/* Deal with a leftover, and die on the way. */
static void sweep_and_die(void *arg) {
	struct scene *scene = arg;
	struct editor editor;
	scene->strikes = 0;
	if (!editor_open(&editor, scene->dir, false))
		_exit(1);
	steps_watch(at_step, scene);
	(void)!stet_session_edit(editor.session, "other", "before", 6, "before it died", 14, NULL, NULL,
	                         NULL);
	_exit(0);
}

static void a_kill_during_the_sweep_loses_nothing(void **state) {
	struct scene scene = {.name = "killed, then killed while sweeping",
	                      .kind = &hostile_kinds[HOSTILE_RENAME],
	                      .strikes = 1};
	bool dead;
	scene_begin(&scene, *state);
	do {
		set_up(&scene);
		hostile_ready(&scene.hostile, 1);
		assert_true(victim_end(victim_start(edit_and_die, &scene)));
		scene.die_at++;
		dead = victim_end(victim_start(sweep_and_die, &scene));
		next_write(scene.dir, "another", hear, &scene);
		(void)inspect(&scene, 1);
		/*
		 * A process that ends by itself without taking its notices has told
		 * nobody. A process that was killed after it made the copy, and before
		 * it removed the leftover, leaves two copies.
		 */
		assert_in_range(scene.copies, 1, 2);
	} while (dead);
	scene_end(&scene);
}

static void a_leftover_that_was_removed_may_still_be_written_to(void **state) {
	struct scene scene = {.name = "late, to a leftover", .kind = &hostile_kinds[HOSTILE_LATE]};
	scene_begin(&scene, *state);
	set_up(&scene);
	hostile_ready(&scene.hostile, 1);
	assert_true(victim_end(victim_start(edit_and_die, &scene)));

	struct editor editor;
	assert_true(editor_open(&editor, scene.dir, false));
	assert_int_equal(
		stet_session_edit(editor.session, "other", "before", 6, "after", 5, NULL, NULL, NULL), 0);
	assert_no_leftover(scene.dir);
	hostile_strike(&scene.hostile, 0);
	assert_true(hostile_wait(&scene.hostile, 60000));
	hear_notices(&editor, hear, &scene);
	editor_close(&editor);
	(void)inspect(&scene, 1);
	assert_int_equal(scene.copies, 1);
	scene_end(&scene);
}

/* ---- any moment ---- */

/* Let it edit, with the hostile process about, and kill it within three milliseconds. */
static void kill_once(struct scene *scene) {
	set_up(scene);
	if (scene->kind)
		hostile_ready(&scene->hostile, 1);
	pid_t pid = victim_start(edit_forever, scene);
	while (scene->board->begun == 0)
		nap_ns(20000);
	if (scene->kind)
		hostile_rage(&scene->hostile, 200000);
	nap_ns(random_below(3000000));
	kill(pid, SIGKILL);
	assert_true(victim_end(pid));
	unsigned last = scene->kind ? hostile_calm(&scene->hostile) : 0;
	assert_true(last < RECORDS_MAX);

	next_write(scene->dir, "another", hear, scene);
	unsigned number = inspect(scene, last), acked = scene->board->acked;
	if (!scene->kind || !scene->kind->rewrites)
		assert_in_range(number, acked, acked + 1);
}

static void kill_often(struct scene scene, const struct dir *dir) {
	unsigned kills = in_full() ? 500 : 25;
	scene_begin(&scene, dir);
	while (scene.kills < kills)
		kill_once(&scene);
	scene_end(&scene);
}

static void a_kill_at_any_moment_leaves_a_whole_file(void **state) {
	kill_often((struct scene){.name = "alone"}, *state);
	kill_often((struct scene){.name = "alone, synced", .durable = true}, *state);
}

static void a_kill_at_any_moment_loses_nobodys_file(void **state) {
	const struct hostile_kind *rename = &hostile_kinds[HOSTILE_RENAME];
	kill_often((struct scene){.name = "against renames", .kind = rename}, *state);
	kill_often((struct scene){.name = "against renames, synced", .kind = rename, .durable = true},
	           *state);
}

static void a_kill_at_any_moment_loses_nobodys_writes(void **state) {
	kill_often((struct scene){.name = "against appends", .kind = &hostile_kinds[HOSTILE_APPEND]},
	           *state);
	kill_often(
		(struct scene){.name = "against writes in place", .kind = &hostile_kinds[HOSTILE_IN_PLACE]},
		*state);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(a_kill_leaves_the_old_or_the_new_file),
		claim(a_kill_loses_nobodys_file),
		claim(a_kill_loses_no_write_that_waited_for_it),
		claim(a_kill_after_any_strike_loses_nothing),
		claim(a_kill_in_a_rewrite_leaves_a_copy),
		claim(a_kill_during_the_sweep_loses_nothing),
		claim(a_leftover_that_was_removed_may_still_be_written_to),
		claim(a_kill_at_any_moment_leaves_a_whole_file),
		claim(a_kill_at_any_moment_loses_nobodys_file),
		claim(a_kill_at_any_moment_loses_nobodys_writes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
