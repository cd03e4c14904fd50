#include "text/diff/diff.h"

#include "base/cancel.h"
#include "text/diff/myers.h"

#include <stdint.h>

/* Lines of both texts together. */
enum { MAX_LINES = 1 << 30 };

/* After how many lines somebody looks for a cancellation. */
enum { STEP = 1 << 12 };

/* What a step may answer for parts of texts. */
enum { REST_MATTERS = 1 };

/* One of the two texts. */
struct side {
	const struct st_lines *lines;
	/* For lines that were classified the number of their class: equal ones, and only they, share it. */
	uint32_t *ids;
	/* For each line whether it belongs to a hunk; one false more at the end. */
	bool *changed;
};

/* Equal lines, and how many there are in either text. */
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
	/* Not to be known beforehand, so that nobody can write lines that all collide. */
	uint64_t seed;
	/* Lines in common at the start and at the end. */
	size_t head, tail;
};

static void comparison_release(struct comparison *comparison) {
	for (int i = 0; i < 2; i++) {
		free(comparison->sides[i].ids);
		free(comparison->sides[i].changed);
		/* To give back a hundred megabytes takes its time, too. */
		st_cancel_tell(comparison->class_count);
	}
	free(comparison->classes);
	st_cancel_tell(comparison->class_count * sizeof *comparison->classes);
	free(comparison->slots);
}

static int comparison_init(struct comparison *comparison, const struct st_lines *old,
                           const struct st_lines *new, size_t head, size_t tail,
                           struct stet_error *err) {
	size_t total = old->count + new->count;
	if (total > MAX_LINES)
		return st_fail(err, STET_E_TOO_BIG,
		               "The texts have %zu lines together; at most %d can be compared.", total,
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

static uint64_t mix(uint64_t hash, uint64_t word) {
	hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
	return hash ^ (hash >> 29);
}

static uint64_t hash_line(uint64_t seed, struct st_str line) {
	uint64_t hash = mix(seed, line.len), word;

	for (; line.len >= sizeof word; line = st_str_slice(line, sizeof word, line.len)) {
		memcpy(&word, line.ptr, sizeof word);
		hash = mix(hash, word);
	}
	word = 0;
	memcpy(&word, line.ptr, line.len);
	return mix(mix(hash, word), 0);
}

/* The number of a line's class, which is a new one if the line is. */
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

/* An empty table, with room for so many lines. */
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

/* What a line costs besides its bytes: it is looked up in a table that is in no cache. */
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

/* Classify the lines of both texts but for some at the start and at the end. */
static int classify_all(struct comparison *comparison, size_t head, size_t tail,
                        struct stet_error *err) {
	size_t total =
		comparison->sides[0].lines->count + comparison->sides[1].lines->count - 2 * (head + tail);
	int code = reset_classes(comparison, total, err);
	for (int i = 0; i < 2 && code == 0; i++)
		code = classify_side(comparison, i, head, tail, err);
	return code;
}

/* Whether no line that was classified is in both texts. */
static bool shares_nothing(const struct comparison *comparison) {
	for (size_t i = 0; i < comparison->class_count; i++) {
		if (comparison->classes[i].counts[0] && comparison->classes[i].counts[1])
			return false;
	}
	return true;
}

/* How often a line occurs in the other text. */
enum partners { NONE, FEW, MANY };

/* Lines on one side of a line, up to the next that has few partners. */
struct crowd {
	size_t none, many;
};

/*
 * Many partners means at least about the square root of the number of lines,
 * which leaves braces and blank lines.
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

static struct crowd look(const unsigned char *partners, size_t at, ptrdiff_t step, size_t reach) {
	struct crowd crowd = {0};

	for (size_t i = 0; i < reach; i++) {
		at += (size_t)step;
		if (partners[at] == FEW)
			break;
		if (partners[at] == NONE)
			crowd.none++;
		else
			crowd.many++;
	}
	return crowd;
}

/*
 * A line with many partners says little, and pairing it in the middle of
 * lines that have none would tear a rewritten passage into shreds.
 */
static bool says_little(const unsigned char *partners, size_t at, size_t first, size_t end) {
	enum { WINDOW = 100 };
	size_t before = at - first, after = end - 1 - at;
	struct crowd up = look(partners, at, -1, before < WINDOW ? before : WINDOW);
	struct crowd down = look(partners, at, 1, after < WINDOW ? after : WINDOW);

	if (up.none == 0 || down.none == 0)
		return false;
	size_t none = up.none + down.none, many = up.many + down.many + 2;
	return none > 3 * many;
}

/* The lines of one side that are worth comparing, and where they are in the text. */
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
	st_cancel_tell(distinct->count * sizeof *distinct->ids);
}

/* What a line costs at most, for the lines around it. */
enum { KEEP_WORK = 512 };

/* Choose the lines to compare; all others are marked as changed already. */
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

/* Mark on both sides the lines that are not common. */
static int compare(struct comparison *comparison, struct stet_error *err) {
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
 * A run of changed lines on one side. It can slide over lines that equal its
 * own first or last one. The unchanged lines before it are as many as those
 * before `facing` on the other side, where a changed run may end as well.
 */
struct run {
	struct side *side;
	const struct side *other;
	size_t start, end;
	size_t facing;
	/* Steps left, as sliding to and fro over repeated lines could take long; none once it is cancelled. */
	size_t budget;
	/* What was done since the last look for a cancellation. */
	size_t comparison;
	int code;
};

static void look_up(struct run *run, struct stet_error *err) {
	enum { LOOK_AFTER = 1 << 16 };
	if (run->comparison < LOOK_AFTER || run->code < 0)
		return;
	run->code = st_cancel_check(run->comparison, err);
	run->comparison = 0;
	if (run->code < 0)
		run->budget = 0;
}

/* What a step costs besides the bytes of its line. */
enum { SLIDE_WORK = 16 };

static bool faces_change(const struct run *run) {
	return run->facing > 0 && run->other->changed[run->facing - 1];
}

/* Whether two lines are equal, and there is a step left to slide over them. */
static bool can_slide(struct run *run, size_t a, size_t b) {
	struct st_str line = st_lines_whole(run->side->lines, a + 1);
	if (run->budget == 0 || !st_str_eq(line, st_lines_whole(run->side->lines, b + 1)))
		return false;
	run->budget--;
	run->comparison += line.len + SLIDE_WORK;
	look_up(run, NULL);
	return true;
}

/* Move up by a line; a run that it meets becomes part of it. */
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

/* Step over the unchanged line that the other side faces, and the changed ones after it. */
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

/* Join the runs within reach and put them as far down as it goes, or beside a change there. */
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

/* How many lines before the first change on either side. */
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

/* Just behind the last change of a side. */
static size_t last_change(const struct side *side) {
	const bool *at = memrchr(side->changed, true, side->lines->count);
	return at ? (size_t)(at - side->changed) + 1 : 0;
}

/* 1 if there was nothing to settle, 0, or a failure. */
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
	for (; run.code == 0; run.comparison += SLIDE_WORK) {
		while (side->changed[run.end])
			run.end++;
		if (run.end > run.start)
			shift_run(&run);
		if (run.end >= last)
			return run.code < 0 ? st_cancel_check(0, err) : run.budget == steps;
		run.start = ++run.end;
		face_next(&run);
		look_up(&run, err);
	}
	return st_cancel_check(0, err);
}

static size_t run_end(const bool *changed, size_t start) {
	while (changed[start])
		start++;
	return start;
}

/* Read the hunks off the marks; `hunks` may be NULL to count them only. */
static int collect(const struct comparison *comparison, struct st_hunk *hunks, size_t *count,
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
		st_cancel_tell(x_end - x + y_end - y);
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
	int code = collect(comparison, NULL, &count, err);
	if (code < 0)
		return code;
	diff->hunks = malloc((count + 1) * sizeof *diff->hunks);
	if (!diff->hunks)
		return st_fail_nomem(err);
	code = collect(comparison, diff->hunks, &diff->count, err);
	for (size_t i = 0; i < diff->count && code == 0; i++) {
		diff->removed += diff->hunks[i].old_count;
		diff->added += diff->hunks[i].new_count;
	}
	return code;
}

/*
 * Mark what differs. In most edits no line of what was replaced comes back, and then the rest of
 * the texts does not matter. Else how often a line occurs in all of them does.
 */
static int mark(struct comparison *comparison, bool parts, struct stet_error *err) {
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
	return code < 0 ? code : compare(comparison, err);
}

static int find_hunks(struct st_diff *diff, size_t head, size_t tail, bool parts,
                      struct stet_error *err) {
	st_auto(comparison) comparison = {0};
	int code = comparison_init(&comparison, &diff->old, &diff->new, head, tail, err);
	if (code == 0)
		code = mark(&comparison, parts, err);
	if (code != 0)
		return code;
	int shifted = shift_runs(&comparison, 0, err);
	int other = shifted < 0 ? shifted : shift_runs(&comparison, 1, err);
	if (other < 0)
		return other;
	/* It could slide further in the whole texts. */
	if (parts && !(shifted && other))
		return REST_MATTERS;
	return add_hunks(diff, &comparison, err);
}

/* How many bytes two texts begin with that are the same; and how many they end with. */
enum { BLOCK = 256 };

static size_t same_head(struct st_str a, struct st_str b) {
	size_t len = a.len < b.len ? a.len : b.len, at = 0;
	while (len - at >= BLOCK && memcmp(a.ptr + at, b.ptr + at, BLOCK) == 0)
		at += BLOCK;
	while (at < len && a.ptr[at] == b.ptr[at])
		at++;
	return at;
}

static size_t same_tail(struct st_str a, struct st_str b) {
	size_t len = a.len < b.len ? a.len : b.len, at = 0;
	const char *a_end = a.ptr + a.len, *b_end = b.ptr + b.len;
	while (len - at >= BLOCK && memcmp(a_end - at - BLOCK, b_end - at - BLOCK, BLOCK) == 0)
		at += BLOCK;
	while (at < len && a_end[-1 - (ptrdiff_t)at] == b_end[-1 - (ptrdiff_t)at])
		at++;
	return at;
}

/* The index of the line that starts at an offset, which may be the end of the text. */
static size_t line_at(const struct st_lines *lines, size_t offset) {
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

static int start(struct st_diff *diff, struct st_str old, struct st_str new, bool parts,
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
	size_t head = line_at(&diff->old, middle.start);
	size_t tail = diff->old.count - line_at(&diff->old, middle.old_end);
	code = st_lines_init_near(&diff->new, new, &diff->old, head, tail, err);
	if (code == 0 && !st_str_eq(old, new))
		code = find_hunks(diff, head, tail, parts, err);
	if (code != 0)
		st_diff_release(diff);
	return code;
}

int st_diff_init(struct st_diff *diff, struct st_str old, struct st_str new,
                 struct stet_error *err) {
	return start(diff, old, new, false, err);
}

int st_diff_init_parts(struct st_diff *diff, struct st_str old, struct st_str new,
                       struct stet_error *err) {
	return start(diff, old, new, true, err);
}

void st_diff_release(struct st_diff *diff) {
	st_lines_release(&diff->old);
	st_lines_release(&diff->new);
	free(diff->hunks);
	*diff = (struct st_diff){0};
}
