#include "text/apply/hunk_place.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/plural.h"
#include "text/hint/explain.h"

/* How many hunks of a file the notes name. */
enum { NOTES_MAX = 10 };

/* The old lines of a hunk: its context and the removed ones. */
struct pattern {
	const struct st_patch_hunk *hunk;
	const struct st_patch_line **lines;
	uint64_t *keys;
	/* For each length: the longest proper prefix that is a suffix, too (Knuth, Morris, Pratt). */
	size_t *borders;
	size_t count;
};

/* The places where a pattern matches: the first lines, ascending. */
struct candidates {
	size_t *list;
	size_t count;
	bool loose;
};

static void pattern_release(struct pattern *pattern) {
	free(pattern->lines);
	free(pattern->keys);
	free(pattern->borders);
}

static void candidates_release(struct candidates *candidates) {
	free(candidates->list);
}

/* ---- lines ---- */

/* A line as loose matching sees it: without its ending and without the byte order mark. */
static struct st_str bare(struct st_str line, bool first) {
	if (line.len > 0 && line.ptr[line.len - 1] == '\n')
		line.len--;
	if (line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	return first ? st_str_slice(line, st_bom_len(line), line.len) : line;
}

static uint64_t key_of(struct st_str line) {
	return st_str_sum(ST_STR_SUM, bare(line, true));
}

static bool is_unended(struct st_str line) {
	return line.len == 0 || line.ptr[line.len - 1] != '\n';
}

static bool same_bytes(struct st_str line, const struct st_patch_line *old) {
	struct st_str body = line;
	if (is_unended(line) != old->unended)
		return false;
	body.len -= !is_unended(line);
	return st_str_eq(body, old->text);
}

static bool same_bare(struct st_str line, const struct st_patch_line *old, bool first) {
	return (!old->unended || is_unended(line)) &&
	       st_str_eq(bare(line, first), bare(old->text, first));
}

/* ---- patterns ---- */

static void find_borders(struct pattern *pattern) {
	size_t border = 0;
	for (size_t i = 1; i < pattern->count; i++) {
		while (border > 0 && pattern->keys[i] != pattern->keys[border])
			border = pattern->borders[border - 1];
		border += pattern->keys[i] == pattern->keys[border];
		pattern->borders[i] = border;
	}
}

static int pattern_init(struct pattern *pattern, const struct st_hunk_search *search,
                        const struct st_patch_hunk *hunk) {
	size_t room = hunk->line_count + 1;
	*pattern = (struct pattern){
		.hunk = hunk,
		.lines = calloc(room, sizeof *pattern->lines),
		.keys = calloc(room, sizeof *pattern->keys),
		.borders = calloc(room, sizeof *pattern->borders),
	};
	if (!pattern->lines || !pattern->keys || !pattern->borders)
		return st_fail_nomem(search->err);
	for (size_t i = 0; i < hunk->line_count; i++) {
		const struct st_patch_line *line = &search->patches->lines[hunk->first_line + i];
		if (line->kind == '+')
			continue;
		pattern->lines[pattern->count] = line;
		pattern->keys[pattern->count++] = key_of(line->text);
	}
	find_borders(pattern);
	return 0;
}

/* Whether all old lines are at a place, which begins at line `first`. */
static bool matches_at(const struct st_hunk_search *search, const struct pattern *pattern,
                       size_t first, bool loose) {
	if (first < 1 || first + pattern->count - 1 > search->lines.count)
		return false;
	for (size_t i = 0; i < pattern->count; i++) {
		struct st_str line = st_lines_whole(&search->lines, first + i);
		if (loose ? !same_bare(line, pattern->lines[i], first + i == 1)
		          : !same_bytes(line, pattern->lines[i]))
			return false;
	}
	return true;
}

/* Whether another hunk has taken one of these lines of the text. */
static bool is_taken(const struct st_hunk_search *search, size_t first, size_t count) {
	return memchr(search->taken + first - 1, true, count) != NULL;
}

/* ---- candidates ---- */

static int add_candidate(const struct st_hunk_search *search, const struct pattern *pattern,
                         size_t first, struct candidates *out) {
	if (is_taken(search, first, pattern->count))
		return 0;
	bool exact = matches_at(search, pattern, first, false);
	if (!exact && ((out->count > 0 && !out->loose) || !matches_at(search, pattern, first, true)))
		return 0;
	/* The first exact place: those that match loosely do not count. */
	if (exact && out->loose)
		out->count = 0;
	out->loose = !exact;
	if (!st_array_room(&out->list, out->count, sizeof *out->list))
		return st_fail_nomem(search->err);
	out->list[out->count++] = first;
	return 0;
}

/* Find all places, those with the same bytes if there are any. */
static int find_candidates(const struct st_hunk_search *search, const struct pattern *pattern,
                           struct candidates *out) {
	size_t matched = 0;
	if (st_cancel_check(search->lines.count * sizeof *search->keys, search->err) < 0)
		return STET_E_CANCELLED;
	for (size_t n = 1; n <= search->lines.count; n++) {
		while (matched > 0 &&
		       (matched == pattern->count || search->keys[n - 1] != pattern->keys[matched]))
			matched = pattern->borders[matched - 1];
		matched += search->keys[n - 1] == pattern->keys[matched];
		if (matched < pattern->count)
			continue;
		int code = st_cancel_check(pattern->count * 16, search->err);
		if (code == 0)
			code = add_candidate(search, pattern, n + 1 - pattern->count, out);
		if (code < 0)
			return code;
	}
	return 0;
}

static void keep_only(struct candidates *candidates, size_t first) {
	candidates->list[0] = first;
	candidates->count = 1;
}

/* ---- Codex's "@@ text" ---- */

/* The line after the one that a header names, from a line on; 0 if it is not there. */
static size_t after_header(const struct st_hunk_search *search, struct st_str header, size_t from) {
	header = st_str_trim(header);
	for (size_t n = from; n <= search->lines.count; n++) {
		if (st_str_eq(st_str_trim(bare(st_lines_whole(&search->lines, n), n == 1)), header))
			return n + 1;
	}
	return 0;
}

/*
 * The line after the last header, each of which comes after the one before it; 0 if
 * one is not there. `after` remembers the line after each: the places asked for go
 * down the file, so that all of them together read it once.
 */
static size_t after_headers(const struct st_hunk_search *search, const struct st_patch_hunk *hunk,
                            size_t from, size_t *after) {
	for (size_t i = 0; i < hunk->header_count && from > 0; i++) {
		if (after[i] <= from)
			after[i] = after_header(search, search->patches->headers[hunk->first_header + i], from);
		from = after[i];
	}
	return from;
}

/* The first candidate from a line on; 0 if there is none. `at` only grows, as the lines do. */
static size_t first_from(const struct candidates *candidates, size_t from, size_t *at) {
	while (*at < candidates->count && candidates->list[*at] < from)
		++*at;
	return *at < candidates->count ? candidates->list[*at] : 0;
}

static int add_named(struct candidates *named, size_t first) {
	if (named->count > 0 && named->list[named->count - 1] == first)
		return 0;
	if (!st_array_room(&named->list, named->count, sizeof *named->list))
		return STET_E_NOMEM;
	named->list[named->count++] = first;
	return 0;
}

/* Reduce the candidates to the first one after each place that the headers name. */
static int follow_headers(struct st_hunk_search *search, const struct st_patch_hunk *hunk,
                          size_t from, struct candidates *candidates) {
	st_auto(candidates) named = {.loose = candidates->loose};
	st_autofree size_t *after = calloc(hunk->header_count, sizeof *after);
	struct st_str header = search->patches->headers[hunk->first_header];
	size_t start = after_header(search, header, from), at = 0;
	if (!after)
		return st_fail_nomem(search->err);
	if (start == 0)
		start = after_header(search, header, 1);
	for (; start > 0; start = after_header(search, header, start)) {
		size_t end = after_headers(search, hunk, start - 1, after);
		size_t first = end > 0 ? first_from(candidates, end, &at) : 0;
		/* Further down there is none either. */
		if (first == 0)
			break;
		if (add_named(&named, first) < 0)
			return st_fail_nomem(search->err);
	}
	struct candidates all = *candidates;
	*candidates = named;
	named = all;
	return 0;
}

/* ---- failures ---- */

static size_t hunk_number(const struct st_hunk_search *search) {
	return search->count + 1;
}

static void name_hunk(const struct st_hunk_search *search, const struct st_patch_hunk *hunk,
                      struct st_buf *out) {
	st_quote_name(out, st_str(search->file->path));
	st_buf_addf(out, ", hunk %zu (line %zu of the patch)", hunk_number(search), hunk->at);
}

static int fail_several(const struct st_hunk_search *search, const struct st_patch_hunk *hunk,
                        const struct candidates *candidates) {
	st_auto(st_buf) text = ST_BUF_INIT;
	struct st_places *places = &search->failure->places;
	for (size_t i = 0; i < candidates->count && places->count < ST_PLACES_MAX; i++)
		places->lines[places->count++] = candidates->list[i];
	places->total = candidates->count;
	name_hunk(search, hunk, &text);
	st_buf_addf(&text, " matches %zu places, at ", candidates->count);
	st_places_add(&text, places, ST_PLACES_NAMED);
	return st_fail(search->err, STET_E_AMBIGUOUS,
	               "%s. Nothing was changed. Add lines of context until it matches one place.",
	               st_buf_cstr(&text));
}

static void add_lines(const struct st_hunk_search *search, const struct st_patch_hunk *hunk,
                      char not, struct st_buf *out) {
	for (size_t i = 0; i < hunk->line_count; i++) {
		const struct st_patch_line *line = &search->patches->lines[hunk->first_line + i];
		if (line->kind == not )
			continue;
		st_buf_add(out, line->text);
		st_buf_adds(out, "\n");
	}
}

/* A sentence follows a space, except at the beginning of a line. */
static void begin_sentence(struct st_buf *out) {
	if (out->len > 0 && out->ptr[out->len - 1] != '\n')
		st_buf_addc(out, ' ');
}

static void add_nearest(const struct st_hunk_search *search, const struct st_nearest *nearest,
                        struct st_buf *out) {
	if (search->lines.count == 0) {
		st_buf_adds(out, " The file is empty.");
	} else if (nearest->count == 0) {
		st_buf_adds(out, " Nothing in the file is similar.");
	} else {
		const struct st_near *near = &nearest->list[0];
		st_buf_addf(out, " The nearest text is at line %zu, different in ", near->first);
		st_explain_kinds(out, near->kinds);
		st_buf_adds(out, ". The file has there:\n");
		st_quote_text(out, st_str_slice(search->lines.text, near->span.start, near->span.end), 600);
		st_buf_adds(out, "\n");
	}
	begin_sentence(out);
	if (nearest->new_line)
		st_buf_addf(out,
		            "The lines that it makes are already there, at line %zu: perhaps the patch was "
		            "applied before. ",
		            nearest->new_line);
}

static int fail_none(const struct st_hunk_search *search, const struct st_patch_hunk *hunk) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) old = ST_BUF_INIT;
	st_auto(st_buf) new = ST_BUF_INIT;
	struct st_nearest nearest = {0};
	add_lines(search, hunk, '+', &old);
	add_lines(search, hunk, '-', &new);
	name_hunk(search, hunk, &text);
	st_buf_adds(&text, ": its old lines were not found.");
	if (st_names_replaced(search->lines.text, st_buf_str(&old)))
		return st_fail(search->err, STET_E_NO_MATCH,
		               "%s U+FFFD in them stands for bytes that are not UTF-8, which no patch can "
		               "hold. Nothing was changed. Leave lines with U+FFFD out of the hunk.",
		               st_buf_cstr(&text));
	if (!old.failed && !new.failed &&
	    st_nearest_find(&nearest, search->lines.text, st_buf_str(&old), st_buf_str(&new), NULL) ==
	        0)
		add_nearest(search, &nearest, &text);
	else
		begin_sentence(&text);
	search->failure->nearest = nearest.count ? nearest.list[0].first : 0;
	return st_fail(search->err, STET_E_NO_MATCH,
	               "%sNothing was changed. Read these lines again, and make the hunk from them.",
	               st_buf_cstr(&text));
}

static int fail_header(const struct st_hunk_search *search, const struct st_patch_hunk *hunk) {
	st_auto(st_buf) text = ST_BUF_INIT;
	name_hunk(search, hunk, &text);
	return st_fail(
		search->err, STET_E_NO_MATCH,
		"%s: no place that matches comes after the line %s of \"@@\". Nothing was changed. "
		"Use a whole line of the file after \"@@\", or lines of context instead.",
		st_buf_cstr(&text), st_quoted_str(search->patches->headers[hunk->first_header]));
}

/* ---- one hunk ---- */

/* Whether the last line of a hunk is an old line that stays: without one, git's hunk ends the file. */
static bool has_trailing(const struct st_hunk_search *search, const struct st_patch_hunk *hunk) {
	return hunk->line_count > 0 &&
	       search->patches->lines[hunk->first_line + hunk->line_count - 1].kind == ' ';
}

/* Whether the place is as far from the file's ends as the hunk says, by git's rules. */
static bool fits_ends(const struct st_hunk_search *search, const struct pattern *pattern,
                      size_t first) {
	const struct st_patch_hunk *hunk = pattern->hunk;
	if (!search->file->unified)
		return true;
	return (hunk->start > 1 || first == 1) &&
	       (has_trailing(search, hunk) || first + pattern->count - 1 == search->lines.count);
}

/* Whether to write a note about the next hunk: an answer has room for some. */
static bool is_named(struct st_hunk_search *search) {
	return search->noted++ < NOTES_MAX;
}

static void note_place(struct st_hunk_search *search, const struct pattern *pattern, size_t first,
                       bool loose) {
	const struct st_patch_hunk *hunk = pattern->hunk;
	st_auto(st_buf) name = ST_BUF_INIT;
	bool moved = hunk->numbered && hunk->start != first;
	bool apart = hunk->numbered && !moved && !fits_ends(search, pattern, first);
	bool other = loose && search->file->unified;
	search->moved |= moved;
	if ((!moved && !apart && !other) || !is_named(search))
		return;
	name_hunk(search, hunk, &name);
	if (moved)
		st_buf_addf(search->notes, "%s applies at line %zu, not %zu.\n", st_buf_cstr(&name), first,
		            hunk->start);
	if (apart)
		st_buf_addf(search->notes,
		            "%s applies at line %zu, where the file does not end as it says.\n",
		            st_buf_cstr(&name), first);
	if (other)
		st_buf_addf(search->notes,
		            "%s has other line endings than the file, which keeps its own.\n",
		            st_buf_cstr(&name));
}

void st_hunk_search_end(struct st_hunk_search *search) {
	if (search->noted <= NOTES_MAX)
		return;
	size_t more = search->noted - NOTES_MAX;
	st_quote_name(search->notes, st_str(search->file->path));
	st_buf_addf(search->notes, ": %zu more %s not apply exactly as the patch says.\n", more,
	            st_plural(more, "hunk does", "hunks do"));
}

static void add_place(struct st_hunk_search *search, const struct pattern *pattern, size_t first,
                      bool loose) {
	memset(search->taken + first - 1, true, pattern->count);
	search->places[search->count++] = (struct st_hunk_place){
		.hunk = pattern->hunk, .first = first, .count = pattern->count, .loose = loose};
}

/* The line after the hunk before this one. */
static size_t after_previous(const struct st_hunk_search *search) {
	if (search->count == 0)
		return 1;
	const struct st_hunk_place *last = &search->places[search->count - 1];
	return last->first + last->count;
}

/* Choose among several places: by "*** End of File", by the "@@" line, by the order of the hunks. */
static void choose_place(const struct st_hunk_search *search, const struct pattern *pattern,
                         struct candidates *candidates) {
	size_t last = candidates->count ? candidates->list[candidates->count - 1] : 0;
	if (pattern->hunk->at_end && candidates->count > 1 &&
	    last + pattern->count - 1 == search->lines.count)
		keep_only(candidates, last);
	for (size_t i = 0; pattern->hunk->numbered && !search->moved && i < candidates->count; i++) {
		if (candidates->list[i] == pattern->hunk->start &&
		    fits_ends(search, pattern, candidates->list[i]))
			keep_only(candidates, candidates->list[i]);
	}
	/* Codex's hunks come in the order of the file. */
	size_t at = 0;
	size_t next = search->file->unified ? 0 : first_from(candidates, after_previous(search), &at);
	if (candidates->count > 1 && next > 0 && next == last)
		keep_only(candidates, next);
}

/* A hunk without old lines: the whole of an empty file, or lines for the end of a file. */
static int place_insertion(struct st_hunk_search *search, const struct pattern *pattern) {
	const struct st_patch_hunk *hunk = pattern->hunk;
	st_auto(st_buf) name = ST_BUF_INIT;
	name_hunk(search, hunk, &name);
	if (search->lines.count > 0 && (hunk->numbered || hunk->header_count > 0))
		return st_fail(
			search->err, STET_E_NO_MATCH,
			"%s has only added lines, so nothing says where they go. Nothing was changed. "
			"Add a line of context.",
			st_buf_cstr(&name));
	if (search->lines.count > 0 && is_named(search))
		st_buf_addf(search->notes, "%s has only added lines, which go to the end of the file.\n",
		            st_buf_cstr(&name));
	add_place(search, pattern, search->lines.count + 1, search->lines.count > 0);
	return 0;
}

static int place_pattern(struct st_hunk_search *search, const struct pattern *pattern) {
	const struct st_patch_hunk *hunk = pattern->hunk;
	st_auto(candidates) candidates = {0};
	if (hunk->numbered && !search->moved && fits_ends(search, pattern, hunk->start) &&
	    matches_at(search, pattern, hunk->start, false) &&
	    !is_taken(search, hunk->start, pattern->count)) {
		add_place(search, pattern, hunk->start, false);
		return 0;
	}
	int code = find_candidates(search, pattern, &candidates);
	if (code < 0)
		return code;
	if (candidates.count == 0)
		return fail_none(search, hunk);
	if (hunk->header_count > 0) {
		code = follow_headers(search, hunk, after_previous(search), &candidates);
		if (code < 0)
			return code;
		if (candidates.count == 0)
			return fail_header(search, hunk);
	}
	choose_place(search, pattern, &candidates);
	if (candidates.count > 1)
		return fail_several(search, hunk, &candidates);
	note_place(search, pattern, candidates.list[0], candidates.loose);
	add_place(search, pattern, candidates.list[0], candidates.loose);
	return 0;
}

int st_hunk_search_init(struct st_hunk_search *search, struct st_str text) {
	int code = st_lines_init_lf(&search->lines, text, search->err);
	if (code < 0)
		return code;
	search->keys = calloc(search->lines.count + 1, sizeof *search->keys);
	search->places = calloc(search->file->hunk_count + 1, sizeof *search->places);
	search->taken = calloc(search->lines.count + 1, sizeof *search->taken);
	if (!search->keys || !search->places || !search->taken)
		return st_fail_nomem(search->err);
	for (size_t n = 1; n <= search->lines.count; n++)
		search->keys[n - 1] = key_of(st_lines_whole(&search->lines, n));
	return 0;
}

void st_hunk_search_release(struct st_hunk_search *search) {
	st_lines_release(&search->lines);
	free(search->keys);
	free(search->places);
	free(search->taken);
}

int st_hunk_search_next(struct st_hunk_search *search) {
	const struct st_patch_hunk *hunk =
		&search->patches->hunks[search->file->first_hunk + search->count];
	st_auto(pattern) pattern = {0};
	search->failure->hunk = hunk_number(search);
	search->failure->at = hunk->at;
	int code = pattern_init(&pattern, search, hunk);
	if (code < 0)
		return code;
	return pattern.count == 0 ? place_insertion(search, &pattern) : place_pattern(search, &pattern);
}
