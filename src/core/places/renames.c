/* Find renames: match removed files with new ones. */
#include "core/places/changed.h"

#include <sys/stat.h>

enum {
	/* More candidates on either side are not compared, as with git's rename limit. */
	CANDIDATES_MAX = 100,
	/* git compares lines, and pieces of this many bytes of longer ones. */
	PIECE_MAX = 64,
	SIMILAR_PERCENT = 50,
};

struct candidate {
	size_t index;
	struct st_content content;
	/** The sums of its pieces, sorted, with their lengths. */
	struct piece *pieces;
	size_t count;
};

struct piece {
	uint64_t sum;
	size_t len;
};

static void candidate_release(struct candidate *candidate) {
	st_content_release(&candidate->content);
	free(candidate->pieces);
}

static int by_sum(const void *a, const void *b) {
	const struct piece *first = a, *second = b;
	return (first->sum > second->sum) - (first->sum < second->sum);
}

static size_t piece_len(struct st_str text) {
	size_t most = text.len < PIECE_MAX ? text.len : PIECE_MAX;
	const char *end = memchr(text.ptr, '\n', most);
	return end ? (size_t)(end - text.ptr) + 1 : most;
}

static bool cut_pieces(struct candidate *candidate) {
	struct st_str text = st_buf_str(&candidate->content.bytes);
	size_t count = 0;
	for (struct st_str rest = text; rest.len > 0; count++)
		rest = st_str_slice(rest, piece_len(rest), rest.len);
	candidate->pieces = calloc(count + 1, sizeof *candidate->pieces);
	if (!candidate->pieces)
		return false;
	for (; text.len > 0; candidate->count++) {
		size_t len = piece_len(text);
		candidate->pieces[candidate->count] =
			(struct piece){st_str_sum(ST_STR_SUM, st_strn(text.ptr, len)), len};
		text = st_str_slice(text, len, text.len);
	}
	if (candidate->count > 0)
		qsort(candidate->pieces, candidate->count, sizeof *candidate->pieces, by_sum);
	return true;
}

/* How many bytes of pieces both have. */
static size_t common_bytes(const struct candidate *a, const struct candidate *b) {
	size_t common = 0;
	for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
		if (a->pieces[i].sum < b->pieces[j].sum)
			i++;
		else if (a->pieces[i].sum > b->pieces[j].sum)
			j++;
		else {
			common += a->pieces[i].len;
			i++;
			j++;
		}
	}
	return common;
}

/* Similarity in 1/60000; the same bytes are above all others. */
static size_t similarity(const struct candidate *a, const struct candidate *b) {
	enum { WHOLE = 60000 };
	size_t larger =
		a->content.bytes.len > b->content.bytes.len ? a->content.bytes.len : b->content.bytes.len;
	bool same = st_str_eq(st_buf_str(&a->content.bytes), st_buf_str(&b->content.bytes));
	/* A link is renamed only if it leads to the same. */
	if (!S_ISREG(a->content.mode) || !S_ISREG(b->content.mode))
		return same && a->content.mode == b->content.mode ? WHOLE + 1 : 0;
	if (same)
		return WHOLE + 1;
	size_t score = larger ? common_bytes(a, b) * WHOLE / larger : 0;
	return score >= WHOLE * SIMILAR_PERCENT / 100 ? score : 0;
}

struct candidates {
	struct candidate items[CANDIDATES_MAX];
	size_t count;
};

static void candidates_release(struct candidates *candidates) {
	for (size_t i = 0; i < candidates->count; i++)
		candidate_release(&candidates->items[i]);
}

/* Load the files and links of one kind: removed ones as they were, or new ones as they are. */
static int load_candidates(struct st_git *git, const struct st_root *root,
                           const struct st_checkout_changes *changed, bool removed,
                           struct candidates *candidates, struct stet_error *err) {
	for (size_t i = 0; i < changed->count && candidates->count < CANDIDATES_MAX; i++) {
		const struct st_changed_file *file = &changed->items[i];
		const struct st_side *side = removed ? &file->base : &file->now;
		const struct st_side *none = removed ? &file->now : &file->base;
		if (none->mode != 0 || (!S_ISREG(side->mode) && !S_ISLNK(side->mode)))
			continue;
		struct candidate *candidate = &candidates->items[candidates->count++];
		*candidate = (struct candidate){.index = i, .content = ST_CONTENT_INIT};
		int code = st_content_read(git, root, file->path, side, &candidate->content, err);
		if (code == STET_E_NOMEM || code == STET_E_BUSY)
			return code;
		/* git takes no empty file for a renamed one. */
		if (code < 0 || !candidate->content.exists || candidate->content.bytes.len == 0) {
			candidate_release(candidate);
			candidates->count--;
		} else if (!cut_pieces(candidate)) {
			return st_fail_nomem(err);
		}
	}
	return 0;
}

/* Join the most similar pair that is left; false if there is none. */
static bool join_best(struct st_checkout_changes *changed, struct candidates *removed,
                      struct candidates *added, const size_t *scores) {
	size_t best = 0, from = 0, to = 0;
	for (size_t i = 0; i < removed->count; i++) {
		for (size_t j = 0; j < added->count; j++) {
			bool is_free = changed->items[removed->items[i].index].to == SIZE_MAX &&
			               changed->items[added->items[j].index].from == SIZE_MAX;
			if (!is_free || scores[i * CANDIDATES_MAX + j] <= best)
				continue;
			best = scores[i * CANDIDATES_MAX + j];
			from = removed->items[i].index;
			to = added->items[j].index;
		}
	}
	if (best == 0)
		return false;
	changed->items[from].to = to;
	changed->items[to].from = from;
	return true;
}

static int join_candidates(struct st_checkout_changes *changed, struct candidates *removed,
                           struct candidates *added, struct stet_error *err) {
	st_autofree size_t *scores = calloc((size_t)CANDIDATES_MAX * CANDIDATES_MAX, sizeof *scores);
	if (!scores)
		return st_fail_nomem(err);
	for (size_t i = 0; i < removed->count; i++) {
		for (size_t j = 0; j < added->count; j++)
			scores[i * CANDIDATES_MAX + j] = similarity(&removed->items[i], &added->items[j]);
	}
	while (join_best(changed, removed, added, scores))
		;
	return 0;
}

int st_changed_find_renames(struct st_git *git, const struct st_root *root,
                            struct st_checkout_changes *changed, struct stet_error *err) {
	if (changed->renames_found)
		return 0;
	struct candidates *lists = calloc(2, sizeof *lists);
	if (!lists)
		return st_fail_nomem(err);
	int code = load_candidates(git, root, changed, true, &lists[0], err);
	if (code == 0 && lists[0].count > 0)
		code = load_candidates(git, root, changed, false, &lists[1], err);
	if (code == 0 && lists[0].count > 0 && lists[1].count > 0)
		code = join_candidates(changed, &lists[0], &lists[1], err);
	changed->renames_found = code == 0;
	candidates_release(&lists[0]);
	candidates_release(&lists[1]);
	free(lists);
	return code;
}
