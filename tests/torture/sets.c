/*
 * kill -9 in the middle of a change set: before every single system call of it,
 * and at moments that chance picks, with and without other writers.
 *
 * A set puts the same number into three pages, and makes or removes a fourth
 * file in a directory that comes and goes with it. After each kill another
 * process writes another file. Then either all four are as they were before the
 * set, or all as after it, except a page that others wrote to: that one is left
 * as it is, and a notice names it. Every record that others wrote is in its page
 * or in a copy.
 */
#include <signal.h>
#include <stdatomic.h>

#include "stet/tools.h"
#include "torture/fight.h"
#include "torture/steps.h"
#include "torture/victim.h"

enum { PAGES = 3, SIZE = 4096, RECORDS_MAX = 4096, STEPS_MAX = 2000 };

static const char *const names[PAGES] = {"page0", "page1", "page2"};

/* The victim's reports: it changes the pages from the numbers `from` to the number `to`. */
struct board {
	_Atomic unsigned from[PAGES], to;
	/* How many sets it has tried, and whether it is in the middle of one. */
	_Atomic unsigned tried, done;
	_Atomic bool is_in_call;
	/* Pages that an answer said were left as others had changed them, and the number that was tried. */
	_Atomic bool named[PAGES];
	_Atomic unsigned struck;
};

struct scene {
	const char *name;
	bool durable;
	/* The hostile process, NULL for none, and the page that it writes to. */
	const struct hostile_kind *kind;
	size_t page;
	/* Before which step to strike, and to die; 0 for never. */
	int strike_at, die_at;

	const struct dir *dir;
	struct hostile hostile;
	struct board *board;

	/* After the next write: records in the page and in copies, and what notices say. */
	bool there[RECORDS_MAX], kept[RECORDS_MAX];
	bool named[PAGES];
	bool is_taken_back, is_complete;
	/* Over all kills. */
	unsigned kills, old, new, left, untold, done;
};

/* ---- the process to be killed ---- */

/* The line of a page before and after the change. */
struct turn {
	char old[PAGE_LINE_LEN + 1], new[PAGE_LINE_LEN + 1];
	unsigned number;
};

/* Read a page; false if it is torn or cannot be read just now. */
static bool read_page(struct editor *editor, const char *name, struct turn *turn) {
	struct stet_answer *answer = NULL;
	struct page page;
	size_t len;
	if (stet_session_read(editor->session, name, 0, 0, &answer, NULL) < 0)
		return false;
	const char *content = stet_answer_content(answer, &len);
	struct st_str bytes = st_strn(content ? content : "", content ? len : 0);
	bool whole = page_parse(bytes, &page);
	if (whole) {
		memcpy(turn->old, page_line(bytes).ptr, PAGE_LINE_LEN);
		turn->old[PAGE_LINE_LEN] = '\0';
		turn->number = page.number;
	}
	stet_answer_free(answer);
	return whole;
}

/* The patch: the number of each page, and the fourth file, which is there while the number is odd. */
static void write_patch(struct turn *turns, unsigned to, bool has_file, struct st_buf *out) {
	st_buf_adds(out, "*** Begin Patch\n");
	if (!has_file)
		st_buf_addf(out, "*** Add File: new/dir/file\n+%u\n", to);
	for (size_t i = 0; i < PAGES; i++) {
		page_next_line(st_str(turns[i].old), to, turns[i].new);
		st_buf_addf(out, "*** Update File: %s\n@@\n-%s\n+%s\n", names[i], turns[i].old,
		            turns[i].new);
	}
	if (has_file)
		st_buf_adds(out, "*** Delete File: new/dir/file\n");
	st_buf_adds(out, "*** End Patch\n");
}

/* The patch holds nothing that JSON escapes, but for newlines. */
static int call_patch(struct editor *editor, const struct st_buf *patch, struct stet_error *err) {
	st_auto(st_buf) args = ST_BUF_INIT;
	char *answer = NULL;
	size_t len;
	st_buf_adds(&args, "{\"patch\": \"");
	for (size_t i = 0; i < patch->len; i++) {
		if (patch->ptr[i] == '\n')
			st_buf_adds(&args, "\\n");
		else
			st_buf_addc(&args, patch->ptr[i]);
	}
	st_buf_adds(&args, "\"}");
	int code = stet_call(editor->session, "apply_patch", args.ptr, args.len, &answer, &len, err);
	stet_free(answer);
	return code;
}

/* Make one set from the current pages. */
static int change_all(struct scene *scene, struct editor *editor) {
	struct board *board = scene->board;
	struct turn turns[PAGES];
	struct stet_error err = {0};
	st_auto(st_buf) patch = ST_BUF_INIT;
	unsigned to = 0;
	for (size_t i = 0; i < PAGES; i++) {
		if (!read_page(editor, names[i], &turns[i]))
			return STET_E_BUSY;
		to = turns[i].number > to ? turns[i].number : to;
	}
	bool has_file = dir_has(scene->dir, "new/dir/file");
	if (has_file && stet_session_track_read(editor->session, "new/dir/file", NULL) < 0)
		return STET_E_BUSY;
	write_patch(turns, to + 1, has_file, &patch);
	board->is_in_call = false;
	for (size_t i = 0; i < PAGES; i++) {
		board->from[i] = turns[i].number;
		board->named[i] = false;
	}
	board->to = to + 1;
	board->is_in_call = true;
	int code = call_patch(editor, &patch, &err);
	for (size_t i = 0; i < PAGES; i++)
		board->named[i] =
			code < 0 && strstr(err.message, "except in files") && strstr(err.message, names[i]);
	board->tried++;
	board->done += code == 0;
	return code;
}

static void at_step(const struct step *step, void *arg) {
	struct scene *scene = arg;
	if (step->number == scene->strike_at) {
		scene->board->struck++;
		(void)hostile_strike_now(&scene->hostile, false);
	}
	if (step->number == scene->die_at)
		raise(SIGKILL);
}

static void die_at_step(void *arg) {
	struct scene *scene = arg;
	struct editor editor;
	if (!editor_open(&editor, scene->dir, scene->durable))
		_exit(1);
	steps_watch(at_step, scene);
	(void)change_all(scene, &editor);
	steps_watch(NULL, NULL);
	editor_close(&editor);
	_exit(0);
}

static void change_forever(void *arg) {
	struct scene *scene = arg;
	struct editor editor;
	if (!editor_open(&editor, scene->dir, scene->durable))
		_exit(1);
	for (;;)
		(void)change_all(scene, &editor);
}

/* ---- before ---- */

static void set_up(struct scene *scene) {
	char command[600];
	st_auto(st_buf) text = ST_BUF_INIT;
	snprintf(command, sizeof command, "cd %s && rm -rf page* new other .stet/rescued",
	         scene->dir->path);
	assert_int_equal(system(command), 0);
	page_make(&text, SIZE, 0);
	for (size_t i = 0; i < PAGES; i++)
		dir_write_bytes(scene->dir, names[i], text.ptr, text.len);
	memset(scene->board, 0, sizeof *scene->board);
	memset(scene->there, 0, sizeof scene->there);
	memset(scene->kept, 0, sizeof scene->kept);
	memset(scene->named, 0, sizeof scene->named);
	scene->is_taken_back = scene->is_complete = false;
}

static void scene_begin(struct scene *scene, const struct dir *dir) {
	scene->dir = dir;
	scene->board = shared_alloc(sizeof *scene->board);
	if (scene->kind)
		hostile_start(&scene->hostile, scene->kind, dir_at(dir, names[scene->page]));
}

static void scene_end(struct scene *scene) {
	if (scene->kind)
		assert_true(hostile_stop(&scene->hostile));
	shared_free(scene->board, sizeof *scene->board);
	printf("# %-34s %4u kills %4u none %4u all %4u others' left %4u untold, of %u sets\n",
	       scene->name, scene->kills, scene->old, scene->new, scene->left, scene->untold,
	       scene->done);
	fflush(stdout);
}

/* ---- after ---- */

static void hear(void *arg, const char *notice) {
	struct scene *scene = arg;
	st_auto(st_buf) copy = ST_BUF_INIT;
	const char *left = strstr(notice, "Left as they are");
	scene->is_taken_back |= strstr(notice, "was taken back") != NULL;
	scene->is_complete |= strstr(notice, "is complete") != NULL;
	for (size_t i = 0; left && i < PAGES; i++)
		scene->named[i] |= strstr(left, names[i]) != NULL;
	if (load_rescued(scene->dir, notice, &copy))
		page_mark_records(st_buf_str(&copy), scene->kept, RECORDS_MAX);
}

/* A page that others wrote to may differ from the rest if an answer or a notice names it. */
static bool is_excused(struct scene *scene, size_t i) {
	if (!scene->kind || scene->page != i)
		return false;
	/* This kind of process writes back all that it had read, numbers too. */
	if (scene->kind->rewrites || scene->named[i] || scene->board->named[i])
		return true;
	/* stet was killed after it took the set back, and before it could report that. */
	scene->untold++;
	return scene->board->is_in_call && !scene->is_taken_back && !scene->is_complete;
}

/* Whether all of the set is there: 1, nothing of it: 0. */
static bool judge_set(struct scene *scene) {
	struct board *board = scene->board;
	size_t old = 0, new = 0;
	bool is_out[PAGES] = {0};
	for (size_t i = 0; i < PAGES; i++) {
		st_auto(st_buf) text = ST_BUF_INIT;
		struct page page = {0};
		assert_true(file_load(dir_at(scene->dir, names[i]), &text));
		assert_true(page_parse(st_buf_str(&text), &page));
		if (scene->kind && scene->page == i)
			page_mark_records(st_buf_str(&text), scene->there, RECORDS_MAX);
		old += page.number == board->from[i];
		new += page.number == board->to;
		is_out[i] = page.number != board->from[i] && page.number != board->to;
	}
	bool is_there = dir_has(scene->dir, "new/dir/file");
	bool was_there = board->to % 2 == 0 && board->to > 0;
	bool is_new = board->to > 0 && is_there != was_there;
	/* The directory goes with the set that made it, which is the first one. */
	if (!is_there && board->to <= 1)
		assert_false(dir_has(scene->dir, "new"));
	size_t agree = is_new ? new : old;
	bool excused = agree == PAGES || (agree == PAGES - 1 && is_excused(scene, scene->page));
	if (!excused || (is_out[scene->page] && !(scene->kind && scene->kind->rewrites)))
		fail_msg("%s, killed at step %d: %zu of %d pages are old and %zu new, and the file is %s",
		         scene->name, scene->die_at, old, PAGES, new, is_new ? "new" : "old");
	scene->left += agree < PAGES;
	return is_new;
}

static void inspect(struct scene *scene, unsigned last) {
	bool is_new = judge_set(scene);
	unsigned lost = 0;
	for (unsigned record = scene->kind && !scene->kind->appends ? last : 1;
	     record > 0 && record <= last; record++)
		lost += !scene->there[record] && !scene->kept[record];
	bool goes_on = scene->kind && scene->die_at == 0;
	if (lost > (goes_on ? hostile_late(&scene->hostile) : 0))
		fail_msg("%s: %u of %u records are lost after a kill at step %d", scene->name, lost, last,
		         scene->die_at);
	assert_no_leftover(scene->dir);
	assert_false(dir_has(scene->dir, ".stet/changes"));
	scene->kills++;
	scene->done += scene->board->done;
	scene->old += !is_new;
	scene->new += is_new;
}

/* ---- every step ---- */

/* Change and die before a step; false if there was no such step. */
static bool die_once(struct scene *scene) {
	set_up(scene);
	if (scene->kind)
		hostile_ready(&scene->hostile, 1);
	bool dead = victim_end(victim_start(die_at_step, scene));
	if (scene->board->struck > 0)
		assert_true(hostile_wait(&scene->hostile, 60000));
	next_write(scene->dir, "other", hear, scene);
	inspect(scene, scene->board->struck);
	return dead;
}

static void die_before_every_step(struct scene scene, const struct dir *dir) {
	scene_begin(&scene, dir);
	do
		scene.die_at++;
	while (die_once(&scene));
	assert_in_range(scene.die_at, 50, STEPS_MAX);
	scene_end(&scene);
}

/* A strike before every step, and death before later ones. */
static void die_after_every_strike(struct scene scene, const struct dir *dir) {
	/* Every step with full counts; otherwise some of them. */
	int stride = in_full() ? 1 : 13, apart = in_full() ? 7 : 29;
	bool dead = true;
	scene_begin(&scene, dir);
	for (scene.strike_at = 1; dead; scene.strike_at += stride) {
		dead = true;
		for (int gap = 0; dead && gap < STEPS_MAX; gap += apart) {
			scene.die_at = scene.strike_at + gap;
			dead = die_once(&scene);
		}
		dead = dead || scene.die_at > scene.strike_at;
	}
	scene_end(&scene);
}

static void a_kill_leaves_all_or_none(void **state) {
	die_before_every_step((struct scene){.name = "alone"}, *state);
	die_before_every_step((struct scene){.name = "alone, synced", .durable = true}, *state);
}

static void a_kill_after_a_strike_leaves_all_or_none_and_the_others_file(void **state) {
	static const char *const kinds[] = {"append, then death", "in place, then death",
	                                    "rename, then death"};
	for (int kind = HOSTILE_APPEND; kind <= HOSTILE_RENAME; kind++)
		die_after_every_strike((struct scene){.name = kinds[kind],
		                                      .kind = &hostile_kinds[kind],
		                                      .page = (size_t)kind % PAGES},
		                       *state);
}

/* ---- any moment ---- */

/* Let it change sets, with a hostile process about, and kill it at some moment. */
static void kill_once(struct scene *scene) {
	set_up(scene);
	if (scene->kind)
		hostile_ready(&scene->hostile, 1);
	pid_t pid = victim_start(change_forever, scene);
	while (scene->board->tried == 0)
		nap_ns(20000);
	if (scene->kind)
		hostile_rage(&scene->hostile, 2000000);
	nap_ns(random_below(20000000));
	kill(pid, SIGKILL);
	assert_true(victim_end(pid));
	unsigned last = scene->kind ? hostile_calm(&scene->hostile) : 0;
	assert_true(last < RECORDS_MAX);
	next_write(scene->dir, "other", hear, scene);
	inspect(scene, last);
}

static void kill_often(struct scene scene, const struct dir *dir) {
	unsigned kills = in_full() ? 500 : 25;
	scene_begin(&scene, dir);
	while (scene.kills < kills)
		kill_once(&scene);
	scene_end(&scene);
}

static void a_kill_at_any_moment_leaves_all_or_none(void **state) {
	kill_often((struct scene){.name = "any moment, alone"}, *state);
	kill_often((struct scene){.name = "any moment, synced", .durable = true}, *state);
}

static void a_kill_at_any_moment_loses_nothing_of_others(void **state) {
	static const char *const kinds[] = {"any moment, appends", "any moment, writes in place",
	                                    "any moment, renames"};
	for (int kind = HOSTILE_APPEND; kind <= HOSTILE_RENAME; kind++)
		kill_often((struct scene){.name = kinds[kind],
		                          .kind = &hostile_kinds[kind],
		                          .page = (size_t)kind % PAGES},
		           *state);
}

/* Without the waits for a disk, the moments are those of the code. */
#define claim_in_memory(function) \
	cmocka_unit_test_setup_teardown(function, memory_setup, dir_teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		claim_in_memory(a_kill_leaves_all_or_none),
		claim_in_memory(a_kill_after_a_strike_leaves_all_or_none_and_the_others_file),
		claim_in_memory(a_kill_at_any_moment_leaves_all_or_none),
		claim_in_memory(a_kill_at_any_moment_loses_nothing_of_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
