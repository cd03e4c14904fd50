#include "text/hint/nearest.h"

#include "text/find/find.h"
#include "text/hint/similar.h"
#include "text/hint/typo.h"

/* How many places to compare in detail, and how many bytes; at least one place in any case. */
#define PLACES_MAX 16
#define PLACES_BYTES (4 << 20)
/* How many extra lines a search text may have. */
#define EXTRA_MAX 3
/* How many bytes of a search text must be left without its extra lines. */
#define EXTRA_LEFT 12
/* How many percent of a search text a similar passage shares at least. */
#define SIMILAR_ENOUGH 50
/* How many lines to compare to find where a similar passage begins. */
#define COMPARED 200
/* A similar passage may begin within a line longer than this. */
#define LONG_LINE 400

/* One call of st_nearest_find(). */
struct request {
	struct st_str text;
	struct st_fold folded;
	struct st_nearest *nearest;
	struct stet_error *err;
};

static bool is_white(char c) {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_end(char c) {
	return c == '\n' || c == '\r';
}

static size_t leading_white(struct st_str s) {
	size_t len = 0;
	while (len < s.len && is_white(s.ptr[len]))
		len++;
	return len;
}

static size_t trailing_white(struct st_str s) {
	size_t len = 0;
	while (len < s.len && is_white(s.ptr[s.len - 1 - len]))
		len++;
	return len;
}

static struct st_str trim_white(struct st_str s) {
	size_t start = leading_white(s);
	s = st_str_slice(s, start, s.len);
	s.len -= trailing_white(s);
	return s;
}

static bool is_space_or_tab(char c) {
	return c == ' ' || c == '\t';
}

/*
 * Move a place's start back over as many newlines as `white`, the search text's leading white space,
 * has, and over the blanks before them if `white` has blanks there too.
 */
static size_t extend_before(struct st_str text, size_t at, struct st_str white) {
	for (size_t ends = st_line_ends(white, white.len); white.len; ends--) {
		size_t start = at;
		while (start > 0 && is_space_or_tab(text.ptr[start - 1]))
			start--;
		if (ends == 0)
			return is_space_or_tab(white.ptr[0]) ? start : at;
		struct st_str before = st_str_slice(text, 0, start);
		if (st_eol_of(before) == ST_EOL_NONE)
			return is_space_or_tab(white.ptr[white.len - 1]) ? start : at;
		at = start - st_eol_bytes(st_eol_of(before)).len;
	}
	return at;
}

/* Move a place's end forward in the same way, by the search text's trailing white space. */
static size_t extend_after(struct st_str text, size_t at, struct st_str white) {
	for (size_t ends = st_line_ends(white, white.len); white.len; ends--) {
		size_t end = at;
		while (end < text.len && is_space_or_tab(text.ptr[end]))
			end++;
		if (ends == 0)
			return is_space_or_tab(white.ptr[white.len - 1]) ? end : at;
		if (end == text.len || !is_end(text.ptr[end]))
			return is_space_or_tab(white.ptr[0]) ? end : at;
		at = st_line_end(text, end);
	}
	return at;
}

/*
 * Folding drops white space at the ends of a text. Extend the place by as much white space as the
 * search text has, so that the place is what the search text should have been.
 */
static struct st_span with_white(struct st_str text, struct st_span span, struct st_str pattern) {
	struct st_str before = st_str_slice(pattern, 0, leading_white(pattern));
	struct st_str after = st_str_slice(pattern, pattern.len - trailing_white(pattern), pattern.len);
	return (struct st_span){extend_before(text, span.start, before),
	                        extend_after(text, span.end, after)};
}

/* The place in the original text of some bytes of the folded text. */
static struct st_near place_of(const struct request *request, size_t start, size_t len,
                               struct st_str pattern) {
	struct st_span bare = {st_fold_source(&request->folded, start).start,
	                       st_fold_source(&request->folded, start + len - 1).end};
	return (struct st_near){.first = bare.start, .span = with_white(request->text, bare, pattern)};
}

/* Mark the places that differ in one kind: those that still differ with all other kinds folded. */
static int compare_kind(const struct request *request, struct st_str pattern, unsigned kind,
                        struct st_near *places, size_t count) {
	st_auto(st_fold) left = {0};
	if (st_fold_init(&left, pattern, ST_FOLD_ALL & ~kind, request->err) < 0)
		return STET_E_NOMEM;
	for (size_t i = 0; i < count; i++) {
		st_auto(st_fold) right = {0};
		struct st_str place = st_str_slice(request->text, places[i].span.start, places[i].span.end);
		if (st_fold_init(&right, place, ST_FOLD_ALL & ~kind, request->err) < 0)
			return STET_E_NOMEM;
		if (!st_str_eq(st_buf_str(&left.out), st_buf_str(&right.out)))
			places[i].kinds |= kind;
	}
	return 0;
}

/* Remove the place with the fewest differences, the first of several, from the array. */
static struct st_near remove_best(struct st_near *places, size_t *count) {
	size_t best = 0;
	for (size_t i = 1; i < *count; i++) {
		if (__builtin_popcount(places[i].kinds) < __builtin_popcount(places[best].kinds))
			best = i;
	}
	struct st_near near = places[best];
	memmove(&places[best], &places[best + 1], (--*count - best) * sizeof *places);
	return near;
}

/* Set the line numbers of a place. Until now `first` is the offset of its first visible character. */
static void set_line_numbers(struct st_str text, struct st_near *near) {
	size_t start = near->first;
	size_t end = near->span.end > start ? near->span.end - 1 : start;
	near->first = st_line_ends(text, start) + 1;
	near->last = near->first + st_line_ends(st_str_slice(text, start, text.len), end - start);
}

static int keep_best(struct request *request, struct st_str pattern, unsigned kinds,
                     struct st_near *places, size_t count) {
	struct st_nearest *nearest = request->nearest;
	for (unsigned kind = 1; kind < ST_FOLD_ALL; kind <<= 1) {
		if (compare_kind(request, pattern, kind, places, count) < 0)
			return STET_E_NOMEM;
	}
	while (count && nearest->count < ST_NEAREST_MAX) {
		struct st_near near = remove_best(places, &count);
		near.kinds |= kinds;
		set_line_numbers(request->text, &near);
		nearest->list[nearest->count++] = near;
	}
	return 1;
}

/* Find a search text with all kinds folded. @return 1 if it occurs, 0 if not, or an error. */
static int try_folded(struct request *request, struct st_str pattern, unsigned kinds) {
	st_auto(st_fold) fold = {0};
	if (st_fold_init(&fold, pattern, ST_FOLD_ALL, request->err) < 0)
		return STET_E_NOMEM;
	if (fold.out.len == 0)
		return 0;

	struct st_near places[PLACES_MAX];
	size_t count = 0, max = PLACES_BYTES / pattern.len + 1;
	struct st_str hay = st_buf_str(&request->folded.out);
	for (size_t at = 0; at < hay.len;) {
		const char *hit = memmem(hay.ptr + at, hay.len - at, fold.out.ptr, fold.out.len);
		if (!hit)
			break;
		at = (size_t)(hit - hay.ptr);
		request->nearest->total++;
		if (count < max && count < PLACES_MAX)
			places[count++] = place_of(request, at, fold.out.len, pattern);
		at += fold.out.len;
	}
	return count ? keep_best(request, pattern, kinds, places, count) : 0;
}

/* The length of a line number with its mark, such as "12:" or "  12|", at the start of a line. */
static size_t number_len(struct st_str line, size_t *number) {
	static const struct st_str marks[] = {
		{":", 1}, {"|", 1}, {"\t", 1},           {"-", 1},
		{")", 1}, {".", 1}, {"\xE2\x86\x92", 3}, {"\xE2\x94\x82", 3},
	};
	size_t at = 0, digits = 0;
	while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == '\t'))
		at++;
	for (*number = 0; at < line.len && digits < 9 && line.ptr[at] >= '0' && line.ptr[at] <= '9';
	     at++) {
		*number = *number * 10 + (size_t)(line.ptr[at] - '0');
		digits++;
	}
	while (digits && at < line.len && line.ptr[at] == ' ')
		at++;
	for (size_t i = 0; digits && i < sizeof marks / sizeof *marks; i++) {
		if (st_str_starts(st_str_slice(line, at, line.len), marks[i]))
			return at + marks[i].len;
	}
	return 0;
}

/* Strip the line numbers of a listing. False if it is none: a line without a number must be blank. */
static bool strip_numbers(struct st_buf *out, struct st_str listing) {
	size_t last = 0;
	bool any = false;
	for (size_t at = 0; at < listing.len;) {
		size_t end = st_line_end(listing, at), number;
		struct st_str line = st_str_slice(listing, at, end);
		size_t len = number_len(line, &number);
		if (len == 0 && trim_white(line).len > 0)
			return false;
		if (len && any && number != last + 1)
			return false;
		if (len) {
			/* Strip the blank of "12: text" and "12| text" too; after a tab it belongs to the text. */
			bool blank = len < line.len && line.ptr[len] == ' ' && line.ptr[len - 1] != '\t';
			line = st_str_slice(line, len + blank, line.len);
			last = number;
			any = true;
		}
		st_buf_add(out, line);
		at = end;
	}
	return any;
}

static int try_numbers(struct request *request, struct st_str pattern) {
	st_auto(st_buf) bare = ST_BUF_INIT;
	if (!strip_numbers(&bare, pattern))
		return 0;
	if (bare.failed)
		return st_fail_nomem(request->err);
	return try_folded(request, st_buf_str(&bare), ST_NEAR_NUMBERS);
}

/* Drop `count` lines at the start of a search text, and blank lines after them. @return How many. */
static size_t drop_first(struct st_str *pattern, size_t count) {
	size_t dropped = 0;
	while (pattern->len && count) {
		size_t end = st_line_end(*pattern, 0);
		if (dropped >= count && trim_white(st_str_slice(*pattern, 0, end)).len > 0)
			break;
		*pattern = st_str_slice(*pattern, end, pattern->len);
		dropped++;
	}
	return dropped;
}

static size_t drop_last(struct st_str *pattern, size_t count) {
	size_t dropped = 0;
	while (pattern->len && count) {
		size_t start = st_line_start(*pattern, pattern->len - 1);
		if (dropped >= count && trim_white(st_str_slice(*pattern, start, pattern->len)).len > 0)
			break;
		pattern->len = start;
		dropped++;
	}
	return dropped;
}

/* Find a search text without its first or last lines, as long as most of it is left. */
static int try_extra(struct request *request, struct st_str pattern) {
	size_t enough = trim_white(pattern).len / 4 * 3;
	for (size_t all = 1; all <= EXTRA_MAX; all++) {
		for (size_t after = 0; after <= all; after++) {
			struct st_str rest = pattern;
			size_t before = drop_first(&rest, all - after);
			size_t behind = drop_last(&rest, after);
			if (trim_white(rest).len < enough || trim_white(rest).len < EXTRA_LEFT)
				continue;
			int code = try_folded(request, rest, ST_NEAR_EXTRA);
			if (code != 0) {
				request->nearest->extra_before = before;
				request->nearest->extra_after = behind;
				return code;
			}
		}
	}
	return 0;
}

/* Count the lines of a search text that equal the lines of the text from a place on, one by one. */
static size_t equal_lines(struct st_str text, size_t at, struct st_str pattern) {
	size_t equal = 0;
	for (size_t from = 0, n = 0; from < pattern.len && at < text.len && n < COMPARED; n++) {
		size_t end = st_line_end(text, at), to = st_line_end(pattern, from);
		equal += st_str_eq(trim_white(st_str_slice(text, at, end)),
		                   trim_white(st_str_slice(pattern, from, to)));
		at = end;
		from = to;
	}
	return equal;
}

/* Move the start of a similar passage by up to two lines to where the most lines are equal. */
static size_t align_lines(struct st_str text, size_t line, struct st_str pattern) {
	size_t best = line, most = equal_lines(text, line, pattern);
	size_t at = line;
	for (int i = 0; i < 2 && at > 0; i++)
		at = st_line_start(text, at - 1);
	for (int i = 0; i < 5 && at < text.len; i++, at = st_line_end(text, at)) {
		size_t equal = equal_lines(text, at, pattern);
		if (equal > most) {
			best = at;
			most = equal;
		}
	}
	return best;
}

/* Keep a similar passage of the folded text, as whole lines of the original. */
static void keep_similar(struct request *request, struct st_span span, struct st_str body) {
	struct st_str text = request->text;
	/* Probe halfway through its first line, so that a few bytes more or less do not matter. */
	size_t lines = st_line_count(body);
	size_t probe = span.start + (span.end - span.start) / lines / 2;
	size_t start =
		align_lines(text, st_line_start(text, st_fold_source(&request->folded, probe).start), body);
	size_t end = start;
	for (size_t n = 0; n < lines && end < text.len; n++)
		end = st_line_end(text, end);
	if (st_line_end(text, start) - start > LONG_LINE) {
		size_t from = st_fold_source(&request->folded, span.start).start;
		start = from > start && from < end ? from : start;
	}
	struct st_near near = {.first = start, .span = {start, end}, .kinds = ST_NEAR_SIMILAR};
	set_line_numbers(text, &near);
	request->nearest->list[0] = near;
	request->nearest->count = request->nearest->total = 1;
}

/* Find a passage with a few wrong letters (short texts), or one that shares much (longer texts). */
static int try_similar(struct request *request, struct st_str pattern) {
	st_auto(st_fold) fold = {0};
	struct st_similar similar = {0};
	struct st_str body = trim_white(pattern), hay = st_buf_str(&request->folded.out);
	int code = st_fold_init(&fold, body, ST_FOLD_ALL, request->err);
	if (code < 0)
		return code;
	struct st_str needle = st_buf_str(&fold.out);
	if (!st_typo_find(hay, needle, &similar.span)) {
		code = st_similar_find(&similar, hay, needle, request->err);
		if (code < 0)
			return code;
		if (similar.percent < SIMILAR_ENOUGH)
			return 0;
	}
	keep_similar(request, similar.span, body);
	return 1;
}

/* Find the new text, unless it is so short that its occurrence would mean nothing. */
static int find_new_text(struct request *request, struct st_str new_text) {
	st_auto(st_find) find = {0};
	struct st_span span;
	if (trim_white(new_text).len < 4)
		return 0;
	if (st_find_init(&find, request->text, new_text, request->err) < 0)
		return STET_E_NOMEM;
	if (st_find_next(&find, &span))
		request->nearest->new_line = st_line_ends(request->text, span.start) + 1;
	return 0;
}

static int find_old_text(struct request *request, struct st_str pattern) {
	int code = st_fold_init(&request->folded, request->text, ST_FOLD_ALL, request->err);
	if (code == 0)
		code = try_folded(request, pattern, 0);
	if (code == 0)
		code = try_numbers(request, pattern);
	if (code == 0)
		code = try_extra(request, pattern);
	if (code == 0)
		code = try_similar(request, pattern);
	return code;
}

int st_nearest_find(struct st_nearest *nearest, struct st_str text, struct st_str old_text,
                    struct st_str new_text, struct stet_error *err) {
	struct request request = {.text = text, .nearest = nearest, .err = err};
	*nearest = (struct st_nearest){0};
	int code = find_new_text(&request, new_text);
	if (code == 0)
		code = find_old_text(&request, old_text);
	st_fold_release(&request.folded);
	return code < 0 ? code : 0;
}
