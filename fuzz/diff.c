/*
 * Diffs and merges: hunks turn the old text into the new one, a diff stays within
 * its limit, a merge loses nothing. Input: the old text, the new text and, for a
 * merge, the text on disk, separated by NUL bytes.
 */
#include "text/diff/diff.h"
#include "text/diff/merge.h"
#include "text/diff/unified.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool truth) {
	if (!truth)
		abort();
}

/* Split off the part before the next NUL; `rest` keeps the part after it. */
static struct st_str next_part(struct st_str *rest) {
	const char *nul = rest->len ? memchr(rest->ptr, '\0', rest->len) : NULL;
	size_t end = nul ? (size_t)(nul - rest->ptr) : rest->len;
	struct st_str part = st_str_slice(*rest, 0, end);
	*rest = st_str_slice(*rest, nul ? end + 1 : end, rest->len);
	return part;
}

/* Apply hunks: replace lines of `from` by lines of `to`. */
static void apply(const struct st_lines *from, const struct st_lines *to,
                  const struct st_hunk *hunks, size_t count, struct st_buf *out) {
	size_t done = 0;
	for (size_t i = 0; i < count; i++) {
		const struct st_hunk *hunk = &hunks[i];
		must(hunk->old_start >= done && hunk->old_start + hunk->old_count <= from->count);
		must(hunk->new_start + hunk->new_count <= to->count);
		must(hunk->old_count + hunk->new_count > 0);
		st_buf_add(out, st_lines_range(from, done + 1, hunk->old_start));
		st_buf_add(out, st_lines_range(to, hunk->new_start + 1, hunk->new_start + hunk->new_count));
		done = hunk->old_start + hunk->old_count;
	}
	st_buf_add(out, st_lines_range(from, done + 1, from->count));
}

static void check_hunks(struct st_str old, struct st_str new) {
	st_auto(st_diff) diff = {0};
	st_auto(st_buf) made = ST_BUF_INIT;

	must(st_diff_init(&diff, old, new, NULL) == 0);
	apply(&diff.old, &diff.new, diff.hunks, diff.count, &made);
	must(st_str_eq(st_buf_str(&made), new));
}

static void check_unified(struct st_str old, struct st_str new, size_t max_bytes) {
	st_auto(st_buf) out = ST_BUF_INIT;
	st_auto(st_diff_report) report = {0};
	struct st_diff_opts opts = ST_DIFF_OPTS("name");
	size_t lines = st_line_count(new), before = 0;

	opts.max_bytes = max_bytes;
	must(st_diff_unified(old, new, &opts, &out, &report, NULL) == 0);
	must(max_bytes == 0 || out.len <= max_bytes);
	must(!(report.truncated && max_bytes == 0));
	must((report.added + report.removed == 0) == st_str_eq(old, new));
	for (size_t i = 0; i < report.displayed_count; i++) {
		must(report.displayed[i].first > before &&
		     report.displayed[i].first <= report.displayed[i].last);
		before = report.displayed[i].last;
	}
	must(before <= lines);
}

/* Without the foreign hunks, the merged text is the agent's. */
static void check_foreign(struct st_str agent, struct st_str merged,
                          const struct st_merge_result *result) {
	st_auto(st_lines) from = {0};
	st_auto(st_lines) to = {0};
	st_auto(st_buf) made = ST_BUF_INIT;

	must(st_lines_init_lf(&from, agent, NULL) == 0 && st_lines_init_lf(&to, merged, NULL) == 0);
	apply(&from, &to, result->foreign, result->foreign_count, &made);
	must(st_str_eq(st_buf_str(&made), merged));
}

static void check_merge(struct st_str base, struct st_str agent, struct st_str disk) {
	st_auto(st_buf) merged = ST_BUF_INIT;
	st_auto(st_buf) swapped = ST_BUF_INIT;
	st_auto(st_merge_result) result = {0};
	st_auto(st_merge_result) mirrored = {0};

	int code = st_merge(base, agent, disk, &merged, &result, NULL);
	must(code == st_merge(base, disk, agent, &swapped, &mirrored, NULL));
	must(code == 0 || code == STET_E_CONFLICT);
	must((code == STET_E_CONFLICT) == (result.overlap_count > 0));
	must(st_str_eq(st_buf_str(&merged), st_buf_str(&swapped)));
	if (code == 0) {
		check_foreign(agent, st_buf_str(&merged), &result);
		check_foreign(disk, st_buf_str(&merged), &mirrored);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	struct st_str rest = st_strn((const char *)data, len);
	struct st_str old = next_part(&rest);
	struct st_str new = next_part(&rest);

	check_hunks(old, new);
	check_unified(old, new, 0);
	check_unified(old, new, 1 + len / 2);
	check_unified(old, new, 256);
	check_merge(old, new, rest);
	return 0;
}
