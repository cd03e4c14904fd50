#include "text/diff/myers.h"

#include "base/auto.h"
#include "base/cancel.h"

#include <assert.h>

/*
 * The search walks a grid: x counts items of a, y items of b. A step right
 * deletes, a step down inserts, a diagonal step keeps an equal pair. The number
 * of a diagonal is x - y.
 */
enum {
	/* Steps that all searches together may take: less than half a second. */
	BUDGET = 1 << 26,
	/*
	 * The most edits one search may make before it gives up: the larger of COST_LIMIT and the
	 * square root of the size, but lowered towards COST_MIN if the budget would run out.
	 */
	COST_LIMIT = 256,
	COST_MIN = 16,
	/* solve() does the smaller half first, so each level of pending boxes at least halves the size. */
	MAX_DEPTH = 32,
};

/* Items [left, right) of a against items [top, bottom) of b. */
struct box {
	int32_t left, right, top, bottom;
};

struct point {
	int32_t x, y;
};

/* How far a search from one corner has come: the furthest x on each diagonal from low to high. */
struct front {
	int32_t *cells;
	/* The diagonal of cells[0]. */
	int32_t base;
	int32_t low, high;
	/* An x that no path has, for the diagonals just outside. */
	int32_t unreached;
};

struct search {
	const struct st_myers_side *a, *b;
	struct front forward, backward;
	int32_t cost_limit;
	/* Steps left; 0 once the call is cancelled. */
	int64_t budget;
	/* The budget at the last check for cancellation. */
	int64_t checked;
	int code;
	struct stet_error *err;
};

/* What a step costs, and an item that is only compared, in the bytes that st_cancel_check() counts. */
enum { STEP_WORK = 8, ITEM_WORK = 2 };

static bool is_cancelled(struct search *search, size_t amount) {
	search->code = st_cancel_check(amount, search->err);
	if (search->code < 0)
		search->budget = 0;
	search->checked = search->budget;
	return search->code < 0;
}

static bool has_budget(struct search *search) {
	int64_t steps = search->checked - search->budget;
	return search->budget > 0 && !is_cancelled(search, STEP_WORK * (size_t)steps);
}

static int32_t *cell(const struct front *front, int32_t diagonal) {
	return &front->cells[diagonal - front->base];
}

static bool equal(const struct search *search, int32_t x, int32_t y) {
	return search->a->items[x] == search->b->items[y];
}

/* Cut off the equal items at the start and at the end of a box. */
static void trim_box(const struct search *search, struct box *box) {
	while (box->left < box->right && box->top < box->bottom && equal(search, box->left, box->top)) {
		box->left++;
		box->top++;
	}
	while (box->left < box->right && box->top < box->bottom &&
	       equal(search, box->right - 1, box->bottom - 1)) {
		box->right--;
		box->bottom--;
	}
}

static void mark_changed(const struct search *search, const struct box *box) {
	for (int32_t x = box->left; x < box->right; x++)
		search->a->changed[x] = true;
	for (int32_t y = box->top; y < box->bottom; y++)
		search->b->changed[y] = true;
}

/* Start a front at a corner of the box. */
static void front_start(struct front *front, int32_t limit, int32_t x, int32_t y) {
	front->base = x - y - limit - 2;
	front->low = front->high = x - y;
	*cell(front, x - y) = x;
}

/* Allow one more edit: the front gains a diagonal on each side, and loses one at the edge of the box. */
static void front_widen(struct front *front, const struct box *box) {
	if (front->low > box->left - box->bottom)
		*cell(front, --front->low - 1) = front->unreached;
	else
		front->low++;
	if (front->high < box->right - box->top)
		*cell(front, ++front->high + 1) = front->unreached;
	else
		front->high--;
}

/* Whether a front has reached a diagonal. */
static bool front_spans(const struct front *front, int32_t diagonal) {
	return front->low <= diagonal && diagonal <= front->high;
}

/* Move the forward front on by one edit. True if it met the backward one. */
static bool advance(struct search *search, const struct box *box, bool odd, struct point *middle) {
	struct front *front = &search->forward;

	front_widen(front, box);
	for (int32_t k = front->high; k >= front->low && search->budget > 0; k -= 2) {
		int32_t lower = *cell(front, k - 1), upper = *cell(front, k + 1);
		int32_t start = lower >= upper ? lower + 1 : upper;
		int32_t x = start;
		while (x < box->right && x - k < box->bottom && equal(search, x, x - k))
			x++;
		*cell(front, k) = x;
		search->budget -= x - start + 1;
		if (odd && front_spans(&search->backward, k) && *cell(&search->backward, k) <= x) {
			*middle = (struct point){x, x - k};
			return true;
		}
	}
	return false;
}

/* Move the backward front on by one edit. True if it met the forward one. */
static bool retreat(struct search *search, const struct box *box, bool odd, struct point *middle) {
	struct front *front = &search->backward;

	front_widen(front, box);
	for (int32_t k = front->high; k >= front->low && search->budget > 0; k -= 2) {
		int32_t lower = *cell(front, k - 1), upper = *cell(front, k + 1);
		int32_t start = lower < upper ? lower : upper - 1;
		int32_t x = start;
		while (x > box->left && x - k > box->top && equal(search, x - 1, x - k - 1))
			x--;
		*cell(front, k) = x;
		search->budget -= start - x + 1;
		if (!odd && front_spans(&search->forward, k) && x <= *cell(&search->forward, k)) {
			*middle = (struct point){x, x - k};
			return true;
		}
	}
	return false;
}

/* The point of a front that is furthest from its own corner, clamped to the box. */
static struct point furthest(const struct front *front, const struct box *box, bool forward) {
	struct point best =
		forward ? (struct point){box->left, box->top} : (struct point){box->right, box->bottom};

	for (int32_t k = front->high; k >= front->low; k -= 2) {
		int32_t x = *cell(front, k);
		if (forward) {
			if (x > box->right)
				x = box->right;
			if (x - k > box->bottom)
				x = box->bottom + k;
		} else {
			if (x < box->left)
				x = box->left;
			if (x - k < box->top)
				x = box->top + k;
		}
		int32_t y = x - k;
		if (forward ? x + y > best.x + best.y : x + y < best.x + best.y)
			best = (struct point){x, y};
	}
	return best;
}

/* The search became too expensive: split where one of the fronts has come furthest. */
static struct point give_up(const struct search *search, const struct box *box) {
	struct point ahead = furthest(&search->forward, box, true);
	struct point back = furthest(&search->backward, box, false);
	int32_t gained = ahead.x + ahead.y - box->left - box->top;
	int32_t gained_back = box->right + box->bottom - back.x - back.y;

	return gained_back < gained ? ahead : back;
}

/*
 * Find a point on a shortest path, or at least on a good one. The box is trimmed
 * and not empty on either side. False if the budget is spent.
 */
static bool split_box(struct search *search, const struct box *box, struct point *at) {
	assert(box->left < box->right && box->top < box->bottom);
	bool odd = ((box->right - box->left) ^ (box->bottom - box->top)) & 1;

	front_start(&search->forward, search->cost_limit, box->left, box->top);
	front_start(&search->backward, search->cost_limit, box->right, box->bottom);
	for (int32_t cost = 1; has_budget(search); cost++) {
		if (advance(search, box, odd, at) || retreat(search, box, odd, at))
			return true;
		if (cost == search->cost_limit) {
			*at = give_up(search, box);
			return true;
		}
	}
	return false;
}

static int32_t box_size(const struct box *box) {
	return box->right - box->left + box->bottom - box->top;
}

static void solve(struct search *search, struct box box) {
	struct box later[MAX_DEPTH];
	size_t depth = 0;

	for (;;) {
		struct point at;
		size_t before = (size_t)box_size(&box);
		trim_box(search, &box);
		if (is_cancelled(search, ITEM_WORK * (before - (size_t)box_size(&box))))
			return;
		if (box.left == box.right || box.top == box.bottom || !split_box(search, &box, &at)) {
			mark_changed(search, &box);
			if (depth == 0)
				return;
			box = later[--depth];
			continue;
		}
		struct box first = {box.left, at.x, box.top, at.y};
		struct box second = {at.x, box.right, at.y, box.bottom};
		bool first_smaller = box_size(&first) < box_size(&second);
		assert(box_size(&first) > 0 && box_size(&second) > 0 && depth < MAX_DEPTH);
		later[depth++] = first_smaller ? second : first;
		box = first_smaller ? first : second;
	}
}

static int32_t cost_limit(size_t items) {
	int32_t limit = 1;

	for (size_t left = items; left > 0; left >>= 2)
		limit <<= 1;
	if (limit < COST_LIMIT)
		limit = COST_LIMIT;
	while (limit > COST_MIN && items > BUDGET / (size_t)limit)
		limit >>= 1;
	return limit;
}

int st_myers(const struct st_myers_side *a, const struct st_myers_side *b, struct stet_error *err) {
	assert(a->count + b->count <= INT32_MAX / 2);
	int32_t limit = cost_limit(a->count + b->count + 3);
	size_t cells = 2 * (size_t)limit + 5;
	st_autofree int32_t *memory = malloc(2 * cells * sizeof *memory);
	if (!memory)
		return st_fail_nomem(err);

	struct search search = {
		.a = a,
		.b = b,
		.forward = {.cells = memory, .unreached = -1},
		.backward = {.cells = memory + cells, .unreached = INT32_MAX},
		.cost_limit = limit,
		.budget = BUDGET,
		.checked = BUDGET,
		.err = err,
	};
	solve(&search, (struct box){0, (int32_t)a->count, 0, (int32_t)b->count});
	return search.code;
}
