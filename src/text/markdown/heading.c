#include "text/markdown/heading.h"

#include "base/distance.h"
#include "base/plural.h"
#include "base/unicode.h"
#include "base/utf8.h"

/* How many headings or lines a message names. */
#define MAX_NAMED 10
/* How many bytes of a heading a message quotes. */
#define MAX_QUOTED 80

/* The heading to find: folded words, and a level or 0 for any. */
struct wanted {
	struct st_str query;
	struct st_buf label;
	int level;
};

static void wanted_release(struct wanted *wanted) {
	st_buf_release(&wanted->label);
}

/* Fold case, and every run of blanks to one space. */
static void fold_words(struct st_buf *out, struct st_str text) {
	st_buf_clear(out);
	text = st_str_trim(text);
	while (text.len) {
		size_t word = 0;
		while (word < text.len && !st_is_space(text.ptr[word]))
			word++;
		st_unicode_fold(out, st_strn(text.ptr, word));
		text = st_str_trim(st_str_slice(text, word, text.len));
		if (text.len)
			st_buf_addc(out, ' ');
	}
}

/* A title without `{#id}` at its end. */
static struct st_str drop_id(struct st_str title) {
	const char *open = title.len ? memrchr(title.ptr, '{', title.len) : NULL;
	if (!open || title.ptr[title.len - 1] != '}' || open[1] != '#')
		return title;
	return st_str_trim(st_strn(title.ptr, (size_t)(open - title.ptr)));
}

static size_t count_hashes(struct st_str query) {
	size_t count = 0;
	while (count < query.len && query.ptr[count] == '#')
		count++;
	return count;
}

static bool has_level(struct st_str query) {
	size_t hashes = count_hashes(query);
	return hashes >= 1 && hashes <= 6;
}

/* Read the query as a line of Markdown: hashes, then the title. */
static void parse_level(struct wanted *wanted) {
	struct st_str query = wanted->query;
	size_t hashes = count_hashes(query);
	fold_words(&wanted->label, st_markdown_title(st_str_slice(query, hashes, query.len)));
	wanted->level = (int)hashes;
}

static bool has_label(const struct st_heading *heading, struct st_str label,
                      struct st_buf *scratch) {
	const struct st_str names[] = {heading->text, heading->source, drop_id(heading->text),
	                               drop_id(heading->source)};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		fold_words(scratch, names[i]);
		if (!scratch->failed && st_str_eq(st_buf_str(scratch), label))
			return true;
	}
	return false;
}

/* Find the next matching heading, at a level or (0) at any, from an index on; else heading_count. */
static size_t next_match(const struct st_markdown *md, const struct wanted *wanted, int level,
                         size_t from, struct st_buf *scratch) {
	for (size_t i = from; i < md->heading_count; i++) {
		const struct st_heading *heading = &md->headings[i];
		if ((level == 0 || heading->level == level) &&
		    has_label(heading, st_buf_str(&wanted->label), scratch))
			return i;
	}
	return md->heading_count;
}

static void add_quoted(struct st_buf *out, struct st_str text) {
	size_t len = st_utf8_cut(text, MAX_QUOTED);
	st_buf_addc(out, '"');
	st_utf8_add_lossy(out, st_strn(text.ptr, len));
	st_buf_adds(out, len < text.len ? "...\"" : "\"");
}

static void add_heading(struct st_buf *out, const struct st_heading *heading) {
	st_auto(st_buf) line = ST_BUF_INIT;
	for (int i = 0; i < heading->level; i++)
		st_buf_addc(&line, '#');
	st_buf_addc(&line, ' ');
	st_buf_add(&line, heading->text);
	add_quoted(out, st_buf_str(&line));
	st_buf_addf(out, " (line %zu)", heading->line);
}

/* The edit distance of two names; 0 if one contains the other. */
static size_t distance(struct st_str a, struct st_str b) {
	if (a.len && b.len &&
	    (memmem(a.ptr, a.len, b.ptr, b.len) || memmem(b.ptr, b.len, a.ptr, a.len)))
		return 0;
	return st_distance(a, b);
}

struct candidate {
	size_t distance;
	size_t index;
};

static int by_distance(const void *a, const void *b) {
	const struct candidate *x = a, *y = b;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Append the nearest headings, the nearest first. */
static void add_nearest(struct st_buf *out, const struct st_markdown *md, struct st_str label) {
	st_autofree struct candidate *all = calloc(md->heading_count, sizeof *all);
	st_auto(st_buf) scratch = ST_BUF_INIT;
	if (!all)
		return;
	for (size_t i = 0; i < md->heading_count; i++) {
		fold_words(&scratch, md->headings[i].text);
		all[i] = (struct candidate){distance(label, st_buf_str(&scratch)), i};
	}
	qsort(all, md->heading_count, sizeof *all, by_distance);
	for (size_t i = 0; i < md->heading_count && i < MAX_NAMED; i++) {
		st_buf_adds(out, i ? ", " : " ");
		add_heading(out, &md->headings[all[i].index]);
	}
	st_buf_addc(out, '.');
}

/* Append the headings of that name at other levels than the query's. False if there are none. */
static bool add_other_levels(struct st_buf *out, const struct st_markdown *md,
                             const struct wanted *wanted) {
	st_auto(st_buf) scratch = ST_BUF_INIT;
	size_t found = 0;
	for (size_t i = 0; (i = next_match(md, wanted, 0, i, &scratch)) < md->heading_count; i++) {
		if (found++ < MAX_NAMED) {
			st_buf_adds(out, found == 1 ? " At other levels there is " : ", ");
			add_heading(out, &md->headings[i]);
		}
	}
	if (found > MAX_NAMED)
		st_buf_addf(out, " and %zu more", found - MAX_NAMED);
	if (found)
		st_buf_addc(out, '.');
	return found > 0;
}

static int fail_absent(const struct st_markdown *md, const struct wanted *wanted,
                       struct stet_error *err) {
	st_auto(st_buf) message = ST_BUF_INIT;
	st_buf_adds(&message, "Heading ");
	add_quoted(&message, wanted->query);
	st_buf_adds(&message, " not found.");
	if (md->heading_count == 0) {
		st_buf_adds(&message, " The text has no headings at all; use lines.");
	} else if (wanted->level == 0 || !add_other_levels(&message, md, wanted)) {
		if (md->heading_count > MAX_NAMED)
			st_buf_addf(&message, " The nearest of %zu headings:", md->heading_count);
		else
			st_buf_addf(&message, " The %s:",
			            st_plural(md->heading_count, "only heading is", "headings are"));
		add_nearest(&message, md, st_buf_str(&wanted->label));
	}
	if (message.failed)
		return st_fail_nomem(err);
	return st_fail(err, STET_E_NO_MATCH, "%s", st_buf_cstr(&message));
}

/* The number of a line after an edit; 0 if the edit replaced it. */
static size_t moved_line(const struct st_line_move *move, size_t line) {
	if (line < move->first)
		return line;
	/* delta may be negative; unsigned arithmetic wraps to the right result. */
	return line >= move->first + move->count ? line + (size_t)move->delta : 0;
}

/* Append the lines of all headings of that name except one. @return How many. */
static size_t add_heading_lines(struct st_buf *out, const struct st_markdown *md,
                                const struct wanted *wanted, size_t except,
                                const struct st_line_move *move) {
	st_auto(st_buf) scratch = ST_BUF_INIT;
	size_t found = 0, i = 0;
	while ((i = next_match(md, wanted, wanted->level, i, &scratch)) < md->heading_count) {
		size_t line = moved_line(move, md->headings[i].line);
		if (i != except && line > 0 && found++ < MAX_NAMED)
			st_buf_addf(out, found == 1 ? "%zu" : ", %zu", line);
		i++;
	}
	if (found > MAX_NAMED)
		st_buf_addf(out, " and %zu more", found - MAX_NAMED);
	return found;
}

static int fail_occurrence(const struct st_markdown *md, const struct wanted *wanted,
                           int64_t occurrence, struct stet_error *err) {
	st_auto(st_buf) name = ST_BUF_INIT;
	st_auto(st_buf) lines = ST_BUF_INIT;
	add_quoted(&name, wanted->query);
	size_t count =
		add_heading_lines(&lines, md, wanted, md->heading_count, &(struct st_line_move){0});
	return st_fail(err, STET_E_NO_MATCH,
	               "Occurrence %lld of the heading %s is out of range: there %s %zu, in %s %s.",
	               (long long)occurrence, st_buf_cstr(&name), st_plural(count, "is", "are"), count,
	               st_plural(count, "line", "lines"), st_buf_cstr(&lines));
}

/* Find the first match. `## Setup` names a level; `#tag` does too, unless a heading says "#tag". */
static size_t first_match(const struct st_markdown *md, struct wanted *wanted,
                          struct st_buf *scratch) {
	struct st_str query = wanted->query;
	size_t hashes = count_hashes(query);
	if (!has_level(query) || (hashes < query.len && !st_is_space(query.ptr[hashes]))) {
		fold_words(&wanted->label, query);
		size_t found = next_match(md, wanted, 0, 0, scratch);
		if (found < md->heading_count || !has_level(query))
			return found;
	}
	parse_level(wanted);
	return next_match(md, wanted, wanted->level, 0, scratch);
}

static int find_occurrence(const struct st_markdown *md, struct wanted *wanted, int64_t occurrence,
                           size_t *index, struct stet_error *err) {
	st_auto(st_buf) scratch = ST_BUF_INIT;
	size_t found = first_match(md, wanted, &scratch);
	bool any = found < md->heading_count;
	for (int64_t i = 1; i < occurrence && found < md->heading_count; i++)
		found = next_match(md, wanted, wanted->level, found + 1, &scratch);
	*index = found;
	if (found < md->heading_count)
		return 0;
	if (scratch.failed || wanted->label.failed)
		return st_fail_nomem(err);
	return any ? fail_occurrence(md, wanted, occurrence, err) : fail_absent(md, wanted, err);
}

int st_heading_find(const struct st_markdown *md, struct st_str query, int64_t occurrence,
                    size_t *index, struct stet_error *err) {
	st_auto(wanted) wanted = {.query = st_str_trim(query)};
	if (wanted.query.len == 0)
		return st_fail(err, STET_E_INVALID,
		               "The heading to find is empty; give its text, as in \"## Setup\".");
	if (occurrence < 0)
		return st_fail(err, STET_E_INVALID, "occurrence counts from 1; %lld is out of range.",
		               (long long)occurrence);
	return find_occurrence(md, &wanted, occurrence, index, err);
}

void st_heading_note_others(const struct st_markdown *md, struct st_str query,
                            const struct st_line_move *move, struct st_buf *note) {
	st_auto(wanted) wanted = {.query = st_str_trim(query)};
	st_auto(st_buf) scratch = ST_BUF_INIT;
	st_auto(st_buf) lines = ST_BUF_INIT;
	size_t index = first_match(md, &wanted, &scratch);
	size_t others =
		index < md->heading_count ? add_heading_lines(&lines, md, &wanted, index, move) : 0;
	if (others == 0)
		return;
	size_t line = moved_line(move, md->headings[index].line);
	st_buf_addf(note, "%zu headings are called ", others + 1);
	add_quoted(note, md->headings[index].text);
	st_buf_addf(note,
	            "; the first, in line %zu, was taken. The %s %s; \"occurrence\" in the target says "
	            "which. ",
	            line ? line : move->first,
	            st_plural(others, "other is in line", "others are in lines"), st_buf_cstr(&lines));
}
