#include "text/diff/unified.h"

#include "base/array.h"
#include "base/plural.h"
#include "base/quote.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

static const char no_newline[] = "\n\\ No newline at end of file\n";

enum {
	/* Room for the last line of a cut diff, and for a head that grows by ",0" as it loses lines. */
	MARK_ROOM = 96,
	/* Room for the note at the end of a cut line. */
	CUT_ROOM = 64,
	/* A line takes at most a tenth of a cut diff, so that a changed line with its context fits. */
	LINE_SHARE = 10,
	/* The longest "@@ -1,2 +3,4 @@". */
	HEAD_MAX = 112,
};

/* The hunks under one "@@" line, with the context around and between them. */
struct group {
	const struct st_hunk *hunks;
	size_t count;
	/* Line indexes from start up to, not including, end. */
	size_t old_start, old_end;
	size_t new_start, new_end;
};

/* Iterates over the lines of a group in the order of the diff. */
struct cursor {
	const struct st_diff *diff;
	const struct group *group;
	/* The current or next hunk, and the next line of either text. */
	size_t hunk, old, new;
};

/* One line of the diff. */
struct entry {
	/* ' ', '-' or '+'. */
	char sign;
	struct st_str line;
	/* Its index in the new text; meaningless for '-'. */
	size_t new_index;
};

/* How many lines of a group fit into the room that is left. */
struct plan {
	size_t entries;
	size_t old_count, new_count;
	/* Removed and added lines among them, including cut ones. */
	size_t changed;
	/* Whether all lines of the group fit, and whether any of them is cut. */
	bool complete, has_cut;
};

/* Parts of two texts that hold all differences, and the text before them, which is the same in both. */
struct parts {
	struct st_str old, new;
	struct st_str before;
};

struct writer {
	const struct st_diff *diff;
	/* The text before the parts that were compared, and its number of LFs. */
	struct st_str before;
	size_t lines_before;
	const struct st_diff_opts *opts;
	struct st_buf out;
	/* The longest diff, and the longest line in it. */
	size_t max_bytes, max_line;
	bool truncated;
	/* Changed lines written in full. */
	size_t changed;
	/* Lines of the new text written in full: indexes, until number_shown(). */
	struct st_diff_range *displayed;
	size_t displayed_count;
};

static void writer_release(struct writer *writer) {
	st_buf_release(&writer->out);
	free(writer->displayed);
}

/* "--- a/name", quoted as in git, and with git's tab after a name that contains a space. */
static void write_name(struct st_buf *out, const char *lead, char prefix, const char *text) {
	struct st_str name = st_str(text);

	st_buf_adds(out, lead);
	if (!text) {
		st_buf_adds(out, "/dev/null\n");
		return;
	}
	st_quote_git(out, (char[]){prefix, '/', '\0'}, name);
	st_buf_adds(out, memchr(name.ptr, ' ', name.len) ? "\t\n" : "\n");
}

/* The group that begins with hunk i: the following hunks join while their contexts touch. */
static struct group group_at(const struct st_diff *diff, size_t context, size_t i) {
	const struct st_hunk *hunk = &diff->hunks[i];
	struct group group = {.hunks = hunk, .count = 1};
	size_t before = context < hunk->old_start ? context : hunk->old_start;

	group.old_start = hunk->old_start - before;
	group.new_start = hunk->new_start - before;
	for (; i + 1 < diff->count; i++, hunk++, group.count++) {
		size_t gap = hunk[1].old_start - (hunk->old_start + hunk->old_count);
		if (gap / 2 + gap % 2 > context)
			break;
	}
	size_t end = hunk->old_start + hunk->old_count, left = diff->old.count - end;
	size_t after = context < left ? context : left;
	group.old_end = end + after;
	group.new_end = hunk->new_start + hunk->new_count + after;
	return group;
}

static bool next_entry(struct cursor *cursor, struct entry *entry) {
	const struct group *group = cursor->group;

	while (cursor->hunk < group->count) {
		const struct st_hunk *hunk = &group->hunks[cursor->hunk];
		if (cursor->old < hunk->old_start)
			break;
		if (cursor->old < hunk->old_start + hunk->old_count) {
			*entry = (struct entry){'-', st_lines_whole(&cursor->diff->old, ++cursor->old), 0};
			return true;
		}
		if (cursor->new < hunk->new_start + hunk->new_count) {
			size_t index = cursor->new ++;
			*entry = (struct entry){'+', st_lines_whole(&cursor->diff->new, index + 1), index};
			return true;
		}
		cursor->hunk++;
	}
	if (cursor->old == group->old_end)
		return false;
	size_t index = cursor->new ++;
	*entry = (struct entry){' ', st_lines_whole(&cursor->diff->old, ++cursor->old), index};
	return true;
}

static struct cursor cursor_at(const struct writer *writer, const struct group *group) {
	return (struct cursor){writer->diff, group, 0, group->old_start, group->new_start};
}

static bool ends_in_lf(struct st_str line) {
	return st_str_ends(line, ST_STR("\n"));
}

/* The most bytes a line takes in the diff. */
static size_t entry_size(const struct writer *writer, const struct entry *entry) {
	if (entry->line.len > writer->max_line)
		return writer->max_line + CUT_ROOM;
	return 1 + entry->line.len + (ends_in_lf(entry->line) ? 0 : sizeof no_newline - 1);
}

static struct plan plan_group(const struct writer *writer, const struct group *group, size_t room) {
	struct cursor cursor = cursor_at(writer, group);
	struct plan plan = {0};

	for (struct entry entry; next_entry(&cursor, &entry); plan.entries++) {
		size_t size = entry_size(writer, &entry);
		if (size > room)
			return plan;
		room -= size;
		plan.has_cut = plan.has_cut || entry.line.len > writer->max_line;
		plan.old_count += entry.sign != '+';
		plan.new_count += entry.sign != '-';
		plan.changed += entry.sign != ' ';
	}
	plan.complete = true;
	return plan;
}

static void format_range(char *out, size_t size, size_t start, size_t count) {
	/* A range without lines is given by the line before it. */
	size_t number = count ? start + 1 : start;
	if (count == 1)
		snprintf(out, size, "%zu", number);
	else
		snprintf(out, size, "%zu,%zu", number, count);
}

static struct st_str format_head(char out[static HEAD_MAX], const struct writer *writer,
                                 const struct group *group, size_t old_count, size_t new_count) {
	char old[HEAD_MAX / 2 - 8], new[HEAD_MAX / 2 - 8];

	format_range(old, sizeof old, writer->lines_before + group->old_start, old_count);
	format_range(new, sizeof new, writer->lines_before + group->new_start, new_count);
	int len = snprintf(out, HEAD_MAX, "@@ -%s +%s @@\n", old, new);
	assert(len < HEAD_MAX);
	return st_strn(out, (size_t)len);
}

/* Record that the diff shows a line of the new text. */
static void note_shown(struct writer *writer, size_t index) {
	if (writer->displayed_count &&
	    writer->displayed[writer->displayed_count - 1].last + 1 == index) {
		writer->displayed[writer->displayed_count - 1].last = index;
		return;
	}
	if (st_array_room(&writer->displayed, writer->displayed_count, sizeof *writer->displayed))
		writer->displayed[writer->displayed_count++] = (struct st_diff_range){index, index};
	else
		writer->out.failed = true;
}

static void write_entry(struct writer *writer, const struct entry *entry) {
	struct st_str line = entry->line;

	st_buf_addc(&writer->out, entry->sign);
	if (line.len > writer->max_line) {
		size_t cut = st_utf8_cut(line, writer->max_line);
		st_buf_add(&writer->out, st_str_slice(line, 0, cut));
		st_buf_addf(&writer->out, "... [line cut: %zu more %s]\n", line.len - cut,
		            st_plural(line.len - cut, "byte", "bytes"));
		return;
	}
	st_buf_add(&writer->out, line);
	if (!ends_in_lf(line))
		st_buf_adds(&writer->out, no_newline);
	if (entry->sign != ' ')
		writer->changed++;
	if (entry->sign != '-')
		note_shown(writer, entry->new_index);
}

static void write_group(struct writer *writer, const struct group *group, const struct plan *plan) {
	struct cursor cursor = cursor_at(writer, group);
	struct entry entry;
	char head[HEAD_MAX];

	st_buf_add(&writer->out, format_head(head, writer, group, plan->old_count, plan->new_count));
	for (size_t i = 0; i < plan->entries && next_entry(&cursor, &entry); i++)
		write_entry(writer, &entry);
}

/* The room left for the lines of a group, after its "@@" line. */
static size_t room_for(const struct writer *writer, const struct group *group) {
	char head[HEAD_MAX];
	struct st_str text = format_head(head, writer, group, group->old_end - group->old_start,
	                                 group->new_end - group->new_start);
	size_t used = writer->out.len + text.len;
	return used < writer->max_bytes ? writer->max_bytes - used : 0;
}

/* Write as many groups as fit. */
static void write_groups(struct writer *writer) {
	size_t start = writer->out.len;

	for (size_t i = 0; i < writer->diff->count;) {
		struct group group = group_at(writer->diff, writer->opts->context, i);
		struct plan plan = plan_group(writer, &group, room_for(writer, &group));
		if (!plan.complete || plan.has_cut)
			writer->truncated = true;
		/* End after a whole group rather than within one, unless that wastes most of the room. */
		bool enough = writer->out.len - start >= (writer->max_bytes - start) / 2;
		if (!plan.complete && (plan.changed == 0 || enough))
			return;
		write_group(writer, &group, &plan);
		if (!plan.complete)
			return;
		i += group.count;
	}
}

static void write_names(struct writer *writer) {
	write_name(&writer->out, "--- ", 'a', writer->opts->old_name);
	write_name(&writer->out, "+++ ", 'b', writer->opts->new_name);
}

/* Start again with less room, and end with a line that says how much is missing. */
static void write_cut(struct writer *writer, size_t max_bytes) {
	const struct st_diff *diff = writer->diff;

	st_buf_clear(&writer->out);
	writer->displayed_count = 0;
	writer->changed = 0;
	if (max_bytes < MARK_ROOM)
		return;
	writer->max_bytes = max_bytes - MARK_ROOM;
	writer->max_line = writer->max_bytes / LINE_SHARE;
	if (writer->max_line > CUT_ROOM)
		writer->max_line -= CUT_ROOM;
	write_names(writer);
	if (writer->out.len > writer->max_bytes)
		st_buf_clear(&writer->out);
	else
		write_groups(writer);
	st_buf_addf(&writer->out, "... diff cut here: %zu of %zu changed lines shown ...\n",
	            writer->changed, diff->added + diff->removed);
}

/* Turn indexes of lines, which end at LF only, into line numbers as text/lines/lines.h counts them. */
static void number_shown(struct writer *writer) {
	const struct st_lines *lines = &writer->diff->new;
	size_t number = 1 + st_line_count(writer->before), offset = 0;

	for (size_t i = 0; i < writer->displayed_count; i++) {
		struct st_diff_range *range = &writer->displayed[i];
		size_t start = lines->starts[range->first], end = lines->starts[range->last + 1];
		number += st_line_count(st_str_slice(lines->text, offset, start));
		range->first = number;
		number += st_line_count(st_str_slice(lines->text, start, end));
		range->last = number - 1;
		offset = end;
	}
}

static void move_result(struct writer *writer, struct st_buf *out, struct st_diff_report *report) {
	st_buf_move(out, &writer->out);
	if (!report)
		return;
	number_shown(writer);
	*report = (struct st_diff_report){
		.added = writer->diff->added,
		.removed = writer->diff->removed,
		.truncated = writer->truncated,
		.displayed = writer->displayed,
		.displayed_count = writer->displayed_count,
	};
	writer->displayed = NULL;
}

/* The start of the line `count` lines before the one that starts at `at`. */
static size_t lines_back(struct st_str text, size_t at, size_t count) {
	while (at > 0 && count-- > 0) {
		const char *lf = memrchr(text.ptr, '\n', at - 1);
		at = lf ? (size_t)(lf + 1 - text.ptr) : 0;
	}
	return at;
}

static size_t lines_forward(struct st_str text, size_t at, size_t count) {
	while (at < text.len && count-- > 0)
		at = st_lf_next(text, at);
	return at;
}

/* Cut two texts down to the lines that differ, with context. */
static struct parts cut_parts(struct st_str old, struct st_str new, size_t context) {
	struct st_diff_middle middle = st_diff_middle(old, new);
	size_t start = lines_back(old, middle.start, context);
	size_t end = lines_forward(old, middle.old_end, context);
	return (struct parts){
		.old = st_str_slice(old, start, end),
		.new = st_str_slice(new, start, end - middle.old_end + middle.new_end),
		.before = st_str_slice(old, 0, start),
	};
}

/* For a small change in a large text, compare only the lines around it if that gives the same hunks. */
static int compare_parts(struct st_diff *diff, struct parts *parts, size_t context,
                         struct stet_error *err) {
	struct parts near = context > 0 ? cut_parts(parts->old, parts->new, context) : *parts;
	if (near.old.len + near.new.len < (parts->old.len + parts->new.len) / 2) {
		int code = st_diff_init_parts(diff, near.old, near.new, err);
		if (code <= 0) {
			*parts = near;
			return code;
		}
	}
	return st_diff_init(diff, parts->old, parts->new, err);
}

/* Write a diff. `before` is the common start of both texts, which was not compared. */
static int write_unified(const struct st_diff *diff, struct st_str before,
                         const struct st_diff_opts *opts, struct st_buf *out,
                         struct st_diff_report *report, struct stet_error *err) {
	st_auto(writer) writer = {
		.diff = diff,
		.before = before,
		.lines_before = st_lf_count(before),
		.opts = opts,
		.max_bytes = opts->max_bytes ? opts->max_bytes : SIZE_MAX,
		.max_line = SIZE_MAX,
	};
	if (diff->count)
		write_names(&writer);
	write_groups(&writer);
	if (writer.truncated)
		write_cut(&writer, opts->max_bytes);
	if (writer.out.failed)
		return st_fail_nomem(err);
	move_result(&writer, out, report);
	return 0;
}

int st_diff_unified(struct st_str old, struct st_str new, const struct st_diff_opts *opts,
                    struct st_buf *out, struct st_diff_report *report, struct stet_error *err) {
	if (report)
		*report = (struct st_diff_report){0};
	st_auto(st_diff) diff = {0};
	struct parts parts = {.old = old, .new = new};
	int code = compare_parts(&diff, &parts, opts->context, err);
	return code < 0 ? code : write_unified(&diff, parts.before, opts, out, report, err);
}

int st_diff_unified_of(const struct st_diff *diff, const struct st_diff_opts *opts,
                       struct st_buf *out, struct st_diff_report *report, struct stet_error *err) {
	if (report)
		*report = (struct st_diff_report){0};
	return write_unified(diff, st_str(""), opts, out, report, err);
}

void st_diff_report_release(struct st_diff_report *report) {
	free(report->displayed);
	*report = (struct st_diff_report){0};
}
