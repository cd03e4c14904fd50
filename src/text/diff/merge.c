#include "text/diff/merge.h"

#include "base/cancel.h"

/* The hunks of one side, and how far find_changes() has come through them. */
struct side {
	struct st_diff diff;
	size_t next;
	/* Added to a base line after the last hunk, gives the line of this side; wraps below 0. */
	size_t shift;
};

static void side_release(struct side *side) {
	st_diff_release(&side->diff);
}

/* A range of base lines, the lines of each side that replace it, and which sides changed it. */
struct region {
	struct st_merge_lines base, agent, disk;
	bool by_agent, by_disk;
};

static const struct st_hunk *next_hunk(const struct side *side) {
	return side->next < side->diff.count ? &side->diff.hunks[side->next] : NULL;
}

/* Extend a region by a side's next hunk, if the hunk overlaps or touches it. */
static bool absorb_hunk(struct side *side, struct region *region) {
	const struct st_hunk *hunk = next_hunk(side);
	size_t end = region->base.start + region->base.count;

	if (!hunk || hunk->old_start > end)
		return false;
	size_t hunk_end = hunk->old_start + hunk->old_count;
	if (hunk_end > end)
		region->base.count = hunk_end - region->base.start;
	side->shift = hunk->new_start + hunk->new_count - hunk_end;
	side->next++;
	return true;
}

/* Find the next region that either side changed. False at the end. */
static bool next_region(struct side *agent, struct side *disk, struct region *region) {
	const struct st_hunk *one = next_hunk(agent), *other = next_hunk(disk);
	if (!one && !other)
		return false;

	*region = (struct region){0};
	if (!other || (one && one->old_start < other->old_start))
		region->base.start = one->old_start;
	else
		region->base.start = other->old_start;
	region->agent.start = region->base.start + agent->shift;
	region->disk.start = region->base.start + disk->shift;

	for (bool grown = true; grown;) {
		bool by_agent = absorb_hunk(agent, region);
		bool by_disk = absorb_hunk(disk, region);
		region->by_agent |= by_agent;
		region->by_disk |= by_disk;
		grown = by_agent || by_disk;
	}
	size_t end = region->base.start + region->base.count;
	region->agent.count = end + agent->shift - region->agent.start;
	region->disk.count = end + disk->shift - region->disk.start;
	return true;
}

static struct st_str lines_text(const struct side *side, struct st_merge_lines lines) {
	return st_lines_range(&side->diff.new, lines.start + 1, lines.start + lines.count);
}

/* What a region costs besides its bytes. */
enum { REGION_WORK = 64 };

/*
 * Go through the changes of both sides and collect foreign hunks and overlaps.
 * The new lines of a foreign hunk are those of the disk text until apply_foreign().
 */
static int find_changes(struct side *agent, struct side *disk, struct st_merge_result *result,
                        struct stet_error *err) {
	struct region region;

	while (next_region(agent, disk, &region)) {
		if (st_cancel_check(REGION_WORK + lines_text(agent, region.agent).len, err) < 0)
			return STET_E_CANCELLED;
		if (!region.by_disk)
			continue;
		if (!region.by_agent)
			result->foreign[result->foreign_count++] = (struct st_hunk){
				region.agent.start, region.agent.count, region.disk.start, region.disk.count};
		else if (!st_str_eq(lines_text(agent, region.agent), lines_text(disk, region.disk)))
			result->overlaps[result->overlap_count++] =
				(struct st_merge_overlap){region.base, region.agent, region.disk};
	}
	return 0;
}

/* Apply the foreign hunks to the agent's text, and set their new lines to those of the result. */
static int apply_foreign(const struct side *agent, const struct side *disk,
                         struct st_merge_result *result, struct st_buf *out,
                         struct stet_error *err) {
	size_t done = 0, merged = 0;

	for (size_t i = 0; i < result->foreign_count; i++) {
		struct st_hunk *hunk = &result->foreign[i];
		struct st_merge_lines unchanged = {done, hunk->old_start - done};
		struct st_merge_lines foreign = {hunk->new_start, hunk->new_count};
		st_buf_add(out, lines_text(agent, unchanged));
		st_buf_add(out, lines_text(disk, foreign));
		done = hunk->old_start + hunk->old_count;
		hunk->new_start = merged + unchanged.count;
		merged = hunk->new_start + hunk->new_count;
		if (st_cancel_check(REGION_WORK + lines_text(agent, unchanged).len, err) < 0)
			return STET_E_CANCELLED;
	}
	struct st_merge_lines rest = {done, agent->diff.new.count - done};
	st_buf_add(out, lines_text(agent, rest));
	return out->failed ? st_fail_nomem(err) : 0;
}

static int fail_overlap(const struct st_merge_result *result, struct stet_error *err) {
	struct st_merge_lines disk = result->overlaps[0].disk;
	st_auto(st_buf) more = ST_BUF_INIT;

	if (result->overlap_count > 1)
		st_buf_addf(&more, " (the first of %zu such places)", result->overlap_count);
	if (disk.count == 0)
		return st_fail(err, STET_E_CONFLICT,
		               "Lines that you changed were deleted on disk, after line %zu there%s. "
		               "Nothing was merged.",
		               disk.start, st_buf_cstr(&more));
	return st_fail(err, STET_E_CONFLICT,
	               "Lines that you changed were changed on disk too, lines %zu to %zu there%s. "
	               "Nothing was merged.",
	               disk.start + 1, disk.start + disk.count, st_buf_cstr(&more));
}

static int reserve_result(const struct side *disk, struct st_merge_result *result,
                          struct stet_error *err) {
	/* Each foreign hunk and each overlap uses up at least one hunk of the disk side. */
	size_t most = disk->diff.count + 1;

	result->foreign = malloc(most * sizeof *result->foreign);
	result->overlaps = malloc(most * sizeof *result->overlaps);
	return result->foreign && result->overlaps ? 0 : st_fail_nomem(err);
}

int st_merge(struct st_str base, struct st_str agent_text, struct st_str disk_text,
             struct st_buf *out, struct st_merge_result *result, struct stet_error *err) {
	st_auto(side) agent = {0};
	st_auto(side) disk = {0};
	st_auto(st_buf) next = ST_BUF_INIT;

	*result = (struct st_merge_result){0};
	int code = st_diff_init(&agent.diff, base, agent_text, err);
	if (code == 0)
		code = st_diff_init(&disk.diff, base, disk_text, err);
	if (code == 0)
		code = reserve_result(&disk, result, err);
	if (code < 0)
		return code;

	code = find_changes(&agent, &disk, result, err);
	if (code == 0 && result->overlap_count) {
		result->foreign_count = 0;
		return fail_overlap(result, err);
	}
	if (code == 0)
		code = apply_foreign(&agent, &disk, result, &next, err);
	if (code < 0)
		return code;
	st_buf_move(out, &next);
	return 0;
}

void st_merge_result_release(struct st_merge_result *result) {
	free(result->foreign);
	free(result->overlaps);
	*result = (struct st_merge_result){0};
}
