#include "text/diff/diff.h"

#include "base/cancel.h"
#include "text/diff/myers.h"

#include <assert.h>
#include <stdint.h>

enum {
	/* The most lines of both texts together. */
	MAX_LINES = 1 << 30,
	/* Check for cancellation after so many lines. */
	STEP = 1 << 12,
	/* Returned for parts of texts: the whole texts must be compared. */
	REST_MATTERS = 1,
};

/* One of the two texts. */
struct side {
	const struct st_lines *lines;
	/* The class of each classified line. Two lines have the same class if they are equal. */
	uint32_t *ids;
	/* For each line, whether it belongs to a hunk; and one more false at the end. */
	bool *changed;
};

/* A class of equal lines, and how many each text has. */
struct class {
	uint64_t hash;
	struct st_str line;
	uint32_t counts[2];
};

struct comparison {
	struct side sides[2];
	struct class *classes;
	size_t class_count;
	/* An open hash table of class numbers + 1; its size is a power of two. */
	uint32_t *slots;
	size_t mask;
	/* Random, so that no text can be made of lines that all collide. */
	uint64_t seed;
	/* How many lines both texts begin with, and end with. */
	size_t head, tail;
};

static void comparison_release(struct comparison *comparison) {
	for (int i = 0; i < 2; i++) {
		free(comparison->sides[i].ids);
		free(comparison->sides[i].changed);
		/* free() of a hundred megabytes takes noticeable time. */
		st_cancel_progress(comparison->class_count);
	}
	free(comparison->classes);
	st_cancel_progress(comparison->class_count * sizeof *comparison->classes);
	free(comparison->slots);
}

static int comparison_init(struct comparison *comparison, const struct st_lines *old,
                           const struct st_lines *new, size_t head, size_t tail,
                           struct stet_error *err) {
	size_t total = old->count + new->count;
	if (total > MAX_LINES)
		return st_fail(err, STET_E_TOO_BIG,
		               "The texts have %zu lines together, more than the limit of %d.", total,
		               MAX_LINES);
	*comparison = (struct comparison){.head = head, .tail = tail};
	if (getentropy(&comparison->seed, sizeof comparison->seed) < 0)
		comparison->seed = (uintptr_t)comparison;
	comparison->sides[0].lines = old;
	comparison->sides[1].lines = new;
	bool ok = true;
	for (int i = 0; i < 2; i++) {
		struct side *side = &comparison->sides[i];
		side->ids = malloc((side->lines->count + 1) * sizeof *side->ids);
		side->changed = calloc(side->lines->count + 1, sizeof *side->changed);
		ok = ok && side->ids && side->changed;
	}
	return ok ? 0 : st_fail_nomem(err);
}

static uint64_t mix_word(uint64_t hash, uint64_t word) {
	hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
	return hash ^ (hash >> 29);
}

static uint64_t hash_line(uint64_t seed, struct st_str line) {
	uint64_t hash = mix_word(seed, line.len), word;

	for (; line.len >= sizeof word; line = st_str_slice(line, sizeof word, line.len)) {
		memcpy(&word, line.ptr, sizeof word);
		hash = mix_word(hash, word);
	}
	word = 0;
	memcpy(&word, line.ptr, line.len);
	return mix_word(mix_word(hash, word), 0);
}

/* Find the class of a line, or add one. */
static uint32_t classify(struct comparison *comparison, struct st_str line) {
	uint64_t hash = hash_line(comparison->seed, line);
	size_t at = hash & comparison->mask;

	for (; comparison->slots[at]; at = (at + 1) & comparison->mask) {
		const struct class *class = &comparison->classes[comparison->slots[at] - 1];
		if (class->hash == hash && st_str_eq(class->line, line))
			return comparison->slots[at] - 1;
	}
	uint32_t id = (uint32_t)comparison->class_count++;
	comparison->classes[id] = (struct class){.hash = hash, .line = line};
	comparison->slots[at] = id + 1;
	return id;
}

/* Empty the table and make room for so many lines. */
static int reset_classes(struct comparison *comparison, size_t total, struct stet_error *err) {
	size_t slots = 8;
	while (slots / 2 < total)
		slots *= 2;
	free(comparison->classes);
	free(comparison->slots);
	comparison->classes = malloc((total + 1) * sizeof *comparison->classes);
	comparison->slots = calloc(slots, sizeof *comparison->slots);
	comparison->class_count = 0;
	comparison->mask = slots - 1;
	return comparison->classes && comparison->slots ? 0 : st_fail_nomem(err);
}

/* What classifying a line costs besides its bytes: a lookup in a table too large for the cache. */
enum { CLASS_WORK = 64 };

static int classify_side(struct comparison *comparison, int which, size_t head, size_t tail,
                         struct stet_error *err) {
	const struct side *side = &comparison->sides[which];
	size_t bytes = 0;
	for (size_t n = head; n < side->lines->count - tail; n++) {
		struct st_str line = st_lines_whole(side->lines, n + 1);
		side->ids[n] = classify(comparison, line);
		comparison->classes[side->ids[n]].counts[which]++;
		bytes += CLASS_WORK + line.len;
		if (n % STEP == 0 || line.len > STEP) {
			if (st_cancel_check(bytes, err) < 0)
				return STET_E_CANCELLED;
			bytes = 0;
		}
	}
	return 0;
}

/* Classify the lines of both texts, except for `head` lines at the start and `tail` at the end. */
static int classify_all(struct comparison *comparison, size_t head, size_t tail,
                        struct stet_error *err) {
	size_t total =
		comparison->sides[0].lines->count + comparison->sides[1].lines->count - 2 * (head + tail);
	int code = reset_classes(comparison, total, err);
	for (int i = 0; i < 2 && code == 0; i++)
		code = classify_side(comparison, i, head, tail, err);
	return code;
}

/* Whether no classified line occurs in both texts. */
static bool shares_nothing(const struct comparison *comparison) {
	for (size_t i = 0; i < comparison->class_count; i++) {
		if (comparison->classes[i].counts[0] && comparison->classes[i].counts[1])
			return false;
	}
	return true;
}

/* How often a line occurs in the other text. */
enum partners { NONE, FEW, MANY };

/* The lines before or after a line, up to the next one that has few partners. */
struct neighbours {
	size_t none, many;
};

/*
 * A line has many partners if it occurs about as often as the square root of the
 * number of lines, or more: braces and blank lines do.
 */
static int count_partners(const struct comparison *comparison, int which, unsigned char *partners,
                          struct stet_error *err) {
	const struct side *side = &comparison->sides[which];
	size_t end = side->lines->count - comparison->tail;
	size_t many = 1;

	for (size_t left = side->lines->count; left > 0 && many < 1024; left >>= 2)
		many <<= 1;
	for (size_t n = comparison->head; n < end; n++) {
		if (n % STEP == 0 && st_cancel_check(CLASS_WORK * STEP, err) < 0)
			return STET_E_CANCELLED;
		size_t count = comparison->classes[side->ids[n]].counts[!which];
		partners[n] = count == 0 ? NONE : count < many ? FEW : MANY;
	}
	return 0;
}

static struct neighbours count_neighbours(const unsigned char *partners, size_t at, ptrdiff_t step,
                                          size_t reach) {
	struct neighbours neighbours = {0};

	for (size_t i = 0; i < reach; i++) {
		at += (size_t)step;
		if (partners[at] == FEW)
			break;
		if (partners[at] == NONE)
			neighbours.none++;
		else
			neighbours.many++;
	}
	return neighbours;
}

/*
 * A line with many partners says little. Pairing it in the middle of lines
 * without partners would split a rewritten passage into many small hunks.
 */
static bool says_little(const unsigned char *partners, size_t at, size_t first, size_t end) {
	enum { WINDOW = 100 };
	size_t before = at - first, after = end - 1 - at;
	struct neighbours up = count_neighbours(partners, at, -1, before < WINDOW ? before : WINDOW);
	struct neighbours down = count_neighbours(partners, at, 1, after < WINDOW ? after : WINDOW);

	if (up.none == 0 || down.none == 0)
		return false;
	size_t none = up.none + down.none, many = up.many + down.many + 2;
	return none > 3 * many;
}

/* The lines of one side that are worth comparing, and their indexes in the text. */
struct distinct {
	uint32_t *ids;
	uint32_t *lines;
	bool *changed;
	size_t count;
};

static void distinct_release(struct distinct *distinct) {
	free(distinct->ids);
	free(distinct->lines);
	free(distinct->changed);
	st_cancel_progress(distinct->count * sizeof *distinct->ids);
}

/* What choosing a line costs at most: counting its neighbours. */
enum { KEEP_WORK = 512 };

/* Choose the lines to compare, and mark all others as changed. */
static int keep_distinct(const struct comparison *comparison, int which, struct distinct *distinct,
                         struct stet_error *err) {
	const struct side *side = &comparison->sides[which];
	size_t first = comparison->head, end = side->lines->count - comparison->tail;
	st_autofree unsigned char *partners = malloc(end + 1);

	distinct->ids = malloc((end - first + 1) * sizeof *distinct->ids);
	distinct->lines = malloc((end - first + 1) * sizeof *distinct->lines);
	distinct->changed = calloc(end - first + 1, sizeof *distinct->changed);
	if (!partners || !distinct->ids || !distinct->lines || !distinct->changed)
		return st_fail_nomem(err);

	int code = count_partners(comparison, which, partners, err);
	if (code < 0)
		return code;
	for (size_t n = first; n < end; n++) {
		if (n % STEP == 0 && st_cancel_check(KEEP_WORK * STEP, err) < 0)
			return STET_E_CANCELLED;
		side->changed[n] =
			partners[n] == NONE || (partners[n] == MANY && says_little(partners, n, first, end));
		if (side->changed[n])
			continue;
		distinct->ids[distinct->count] = side->ids[n];
		distinct->lines[distinct->count++] = (uint32_t)n;
	}
	return 0;
}

static void mark_distinct(struct side *side, const struct distinct *distinct) {
	for (size_t i = 0; i < distinct->count; i++)
		side->changed[distinct->lines[i]] = distinct->changed[i];
}

static void mark_all(const struct comparison *comparison, struct side *side) {
	size_t end = side->lines->count - comparison->tail;
	memset(side->changed + comparison->head, true, end - comparison->head);
}

/* Mark the lines of both sides that are not common to them. */
static int compare_distinct(struct comparison *comparison, struct stet_error *err) {
	st_auto(distinct) old = {0};
	st_auto(distinct) new = {0};

	int code = keep_distinct(comparison, 0, &old, err);
	if (code == 0)
		code = keep_distinct(comparison, 1, &new, err);
	if (code < 0)
		return code;

	struct st_myers_side a = {old.ids, old.count, old.changed};
	struct st_myers_side b = {new.ids, new.count, new.changed};
	code = st_myers(&a, &b, err);
	if (code < 0)
		return code;
	mark_distinct(&comparison->sides[0], &old);
	mark_distinct(&comparison->sides[1], &new);
	return 0;
}

/*
 * A run of changed lines on one side. It can slide up or down while the line it
 * gains equals the one it gives up. As many unchanged lines come before it as
 * before `facing` on the other side, where a changed run may end as well.
 */
struct run {
	struct side *side;
	const struct side *other;
	size_t start, end;
	size_t facing;
	/* Steps left: sliding to and fro over repeated lines could take long. 0 once cancelled. */
	size_t budget;
	/* The work since the last check for cancellation. */
	size_t unchecked;
	int code;
};

static void check_run(struct run *run, struct stet_error *err) {
	enum { CHECK_AFTER = 1 << 16 };
	if (run->unchecked < CHECK_AFTER || run->code < 0)
		return;
	run->code = st_cancel_check(run->unchecked, err);
	run->unchecked = 0;
	if (run->code < 0)
		run->budget = 0;
}

/* What a slide costs besides the bytes of its line. */
enum { SLIDE_WORK = 16 };

static bool faces_change(const struct run *run) {
	return run->facing > 0 && run->other->changed[run->facing - 1];
}

/* Whether two lines are equal and the budget allows another slide. */
static bool can_slide(struct run *run, size_t a, size_t b) {
	struct st_str line = st_lines_whole(run->side->lines, a + 1);
	if (run->budget == 0 || !st_str_eq(line, st_lines_whole(run->side->lines, b + 1)))
		return false;
	run->budget--;
	run->unchecked += line.len + SLIDE_WORK;
	check_run(run, NULL);
	return true;
}

/* Slide up by a line, and absorb a run that this one then touches. */
static bool slide_up(struct run *run) {
	bool *changed = run->side->changed;

	if (run->start == 0 || !can_slide(run, run->start - 1, run->end - 1))
		return false;
	changed[--run->start] = true;
	changed[--run->end] = false;
	while (run->start > 0 && changed[run->start - 1])
		run->start--;
	while (faces_change(run))
		run->facing--;
	run->facing--;
	return true;
}

/* Advance the other side over one unchanged line and the changed lines after it. */
static void face_next(struct run *run) {
	run->facing++;
	while (run->other->changed[run->facing])
		run->facing++;
}

static bool slide_down(struct run *run) {
	bool *changed = run->side->changed;

	if (run->end == run->side->lines->count || !can_slide(run, run->start, run->end))
		return false;
	changed[run->start++] = false;
	changed[run->end++] = true;
	while (changed[run->end])
		run->end++;
	face_next(run);
	return true;
}

/* Join the runs within reach. Slide them down as far as possible, or up beside a change of the other side. */
static void shift_run(struct run *run) {
	size_t len;
	bool lined_up;

	do {
		len = run->end - run->start;
		while (slide_up(run))
			;
		lined_up = faces_change(run);
		while (slide_down(run))
			lined_up = lined_up || faces_change(run);
	} while (run->end - run->start != len);

	while (lined_up && !faces_change(run) && slide_up(run))
		;
}

/* The index of the first changed line on either side. */
static size_t first_change(const struct comparison *comparison) {
	size_t first = SIZE_MAX;
	for (int i = 0; i < 2; i++) {
		const struct side *side = &comparison->sides[i];
		const bool *at = memchr(side->changed, true, side->lines->count);
		size_t here = at ? (size_t)(at - side->changed) : side->lines->count;
		first = here < first ? here : first;
	}
	return first;
}

/* The index just after the last changed line of a side. */
static size_t last_change(const struct side *side) {
	const bool *at = memrchr(side->changed, true, side->lines->count);
	return at ? (size_t)(at - side->changed) + 1 : 0;
}

/* Slide all runs of one side into place. @return 1 if no run could slide, 0, or a failure. */
static int shift_runs(struct comparison *comparison, int which, struct stet_error *err) {
	struct side *side = &comparison->sides[which];
	const struct side *other = &comparison->sides[!which];
	const size_t steps = 16 * (side->lines->count + 1);
	size_t first = first_change(comparison), last = last_change(side);
	struct run run = {
		.side = side,
		.other = other,
		.start = first,
		.end = first,
		.facing = first,
		.budget = steps,
	};

	while (other->changed[run.facing])
		run.facing++;
	for (; run.code == 0; run.unchecked += SLIDE_WORK) {
		while (side->changed[run.end])
			run.end++;
		if (run.end > run.start)
			shift_run(&run);
		if (run.end >= last)
			return run.code < 0 ? st_cancel_check(0, err) : run.budget == steps;
		run.start = ++run.end;
		face_next(&run);
		check_run(&run, err);
	}
	return st_cancel_check(0, err);
}

static size_t run_end(const bool *changed, size_t start) {
	while (changed[start])
		start++;
	return start;
}

/* Turn the marks into hunks; with NULL for `hunks`, only count them. */
static int collect_hunks(const struct comparison *comparison, struct st_hunk *hunks, size_t *count,
                         struct stet_error *err) {
	const struct side *old = &comparison->sides[0], *new = &comparison->sides[1];
	size_t old_last = last_change(old), new_last = last_change(new), steps = 0;

	*count = 0;
	for (size_t x = first_change(comparison), y = x; x < old_last || y < new_last; x++, y++) {
		size_t x_end = run_end(old->changed, x), y_end = run_end(new->changed, y);
		if (x_end > x || y_end > y) {
			if (hunks)
				hunks[*count] = (struct st_hunk){x, x_end - x, y, y_end - y};
			++*count;
		}
		st_cancel_progress(x_end - x + y_end - y);
		x = x_end;
		y = y_end;
		if (++steps % STEP == 0 && st_cancel_check(SLIDE_WORK * STEP, err) < 0)
			return STET_E_CANCELLED;
	}
	return 0;
}

static int add_hunks(struct st_diff *diff, const struct comparison *comparison,
                     struct stet_error *err) {
	size_t count;
	int code = collect_hunks(comparison, NULL, &count, err);
	if (code < 0)
		return code;
	diff->hunks = malloc((count + 1) * sizeof *diff->hunks);
	if (!diff->hunks)
		return st_fail_nomem(err);
	code = collect_hunks(comparison, diff->hunks, &diff->count, err);
	assert(code < 0 || diff->count == count);
	for (size_t i = 0; i < diff->count && code == 0; i++) {
		diff->removed += diff->hunks[i].old_count;
		diff->added += diff->hunks[i].new_count;
	}
	return code;
}

/*
 * Mark the lines that differ. In most edits the new lines repeat none of the lines they replace,
 * and then the rest of the texts does not matter. Otherwise the frequency of lines in the whole
 * texts decides which lines to pair.
 */
static int mark_changes(struct comparison *comparison, bool parts, struct stet_error *err) {
	int code = classify_all(comparison, comparison->head, comparison->tail, err);
	if (code < 0)
		return code;
	if (shares_nothing(comparison)) {
		mark_all(comparison, &comparison->sides[0]);
		mark_all(comparison, &comparison->sides[1]);
		return 0;
	}
	if (parts)
		return REST_MATTERS;
	if (comparison->head + comparison->tail > 0)
		code = classify_all(comparison, 0, 0, err);
	return code < 0 ? code : compare_distinct(comparison, err);
}

static int find_hunks(struct st_diff *diff, size_t head, size_t tail, bool parts,
                      struct stet_error *err) {
	st_auto(comparison) comparison = {0};
	int code = comparison_init(&comparison, &diff->old, &diff->new, head, tail, err);
	if (code == 0)
		code = mark_changes(&comparison, parts, err);
	if (code != 0)
		return code;
	int shifted = shift_runs(&comparison, 0, err);
	int other = shifted < 0 ? shifted : shift_runs(&comparison, 1, err);
	if (other < 0)
		return other;
	/* A run that slides might slide further in the whole texts. */
	if (parts && !(shifted && other))
		return REST_MATTERS;
	return add_hunks(diff, &comparison, err);
}

/* Compare so many bytes at a time. */
enum { BLOCK = 256 };

/* The length of the prefix that two texts share. */
static size_t same_head(struct st_str a, struct st_str b) {
	size_t len = a.len < b.len ? a.len : b.len, at = 0;
	while (len - at >= BLOCK && memcmp(a.ptr + at, b.ptr + at, BLOCK) == 0)
		at += BLOCK;
	while (at < len && a.ptr[at] == b.ptr[at])
		at++;
	return at;
}

/* The length of the suffix that two texts share. */
static size_t same_tail(struct st_str a, struct st_str b) {
	size_t len = a.len < b.len ? a.len : b.len, at = 0;
	const char *a_end = a.ptr + a.len, *b_end = b.ptr + b.len;
	while (len - at >= BLOCK && memcmp(a_end - at - BLOCK, b_end - at - BLOCK, BLOCK) == 0)
		at += BLOCK;
	while (at < len && a_end[-1 - (ptrdiff_t)at] == b_end[-1 - (ptrdiff_t)at])
		at++;
	return at;
}

/* The index of the line that starts at an offset; the number of lines for the end of the text. */
static size_t line_index(const struct st_lines *lines, size_t offset) {
	return offset == lines->text.len ? lines->count : st_lines_number(lines, offset) - 1;
}

static bool starts_line(struct st_str text, size_t offset) {
	return offset == 0 || text.ptr[offset - 1] == '\n';
}

struct st_diff_middle st_diff_middle(struct st_str old, struct st_str new) {
	size_t same = same_head(old, new);
	const char *lf = same ? memrchr(new.ptr, '\n', same) : NULL;
	size_t start = lf ? (size_t)(lf + 1 - new.ptr) : 0;

	struct st_str a = st_str_slice(old, start, old.len), b = st_str_slice(new, start, new.len);
	same = same_tail(a, b);
	size_t end = a.len - same;
	if (!starts_line(a, end) || !starts_line(b, b.len - same)) {
		lf = same ? memchr(a.ptr + end, '\n', same) : NULL;
		end = lf ? (size_t)(lf + 1 - a.ptr) : a.len;
	}
	return (struct st_diff_middle){start, start + end, start + end + new.len - old.len};
}

static int compare_texts(struct st_diff *diff, struct st_str old, struct st_str new, bool parts,
                         struct stet_error *err) {
	*diff = (struct st_diff){0};
	int code = st_lines_init_lf(&diff->old, old, err);
	if (code < 0)
		return code;
	struct st_diff_middle middle = st_diff_middle(old, new);
	code = st_cancel_check(old.len + new.len, err);
	if (code < 0) {
		st_diff_release(diff);
		return code;
	}
	size_t head = line_index(&diff->old, middle.start);
	size_t tail = diff->old.count - line_index(&diff->old, middle.old_end);
	code = st_lines_init_near(&diff->new, new, &diff->old, head, tail, err);
	if (code == 0 && !st_str_eq(old, new))
		code = find_hunks(diff, head, tail, parts, err);
	if (code != 0)
		st_diff_release(diff);
	return code;
}

int st_diff_init(struct st_diff *diff, struct st_str old, struct st_str new,
                 struct stet_error *err) {
	return compare_texts(diff, old, new, false, err);
}

int st_diff_init_parts(struct st_diff *diff, struct st_str old, struct st_str new,
                       struct stet_error *err) {
	return compare_texts(diff, old, new, true, err);
}

void st_diff_release(struct st_diff *diff) {
	st_lines_release(&diff->old);
	st_lines_release(&diff->new);
	free(diff->hunks);
	*diff = (struct st_diff){0};
}
