#include "text/hint/nearest.h"

#include "text/find/find.h"
#include "text/hint/similar.h"
#include "text/hint/typo.h"

/* How many places are looked at closely, and how many bytes of them; one place in any case. */
#define LOOKED_AT 16
#define LOOKED_AT_BYTES (4 << 20)
/* How many lines at either end of a search text may be too many. */
#define EXTRA_MAX 3
/* Less of a search text than this, in folded bytes, says nothing. */
#define EXTRA_LEFT 12
/* From here on, in percent, a stretch of text is called similar. */
#define SIMILAR_ENOUGH 50
/* How many lines are compared to find where exactly a similar stretch begins. */
#define COMPARED 200
/* Lines longer than this are not taken whole. */
#define LONG_LINE 400

struct hunt {
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

static struct st_str trim(struct st_str s) {
	size_t start = leading_white(s);
	s = st_str_slice(s, start, s.len);
	s.len -= trailing_white(s);
	return s;
}

static bool is_blank(char c) {
	return c == ' ' || c == '\t';
}

/*
 * Go back over as many line ends as the white space of the search text has, and over blanks before
 * a text, or before the first of the line ends, where it has some there too.
 */
static size_t take_before(struct st_str text, size_t at, struct st_str white) {
	for (size_t ends = st_line_ends(white, white.len); white.len; ends--) {
		size_t start = at;
		while (start > 0 && is_blank(text.ptr[start - 1]))
			start--;
		if (ends == 0)
			return is_blank(white.ptr[0]) ? start : at;
		struct st_str before = st_str_slice(text, 0, start);
		if (st_eol_of(before) == ST_EOL_NONE)
			return is_blank(white.ptr[white.len - 1]) ? start : at;
		at = start - st_eol_bytes(st_eol_of(before)).len;
	}
	return at;
}

/* The same in the other direction. */
static size_t take_after(struct st_str text, size_t at, struct st_str white) {
	for (size_t ends = st_line_ends(white, white.len); white.len; ends--) {
		size_t end = at;
		while (end < text.len && is_blank(text.ptr[end]))
			end++;
		if (ends == 0)
			return is_blank(white.ptr[white.len - 1]) ? end : at;
		if (end == text.len || !is_end(text.ptr[end]))
			return is_blank(white.ptr[0]) ? end : at;
		at = st_line_end(text, end);
	}
	return at;
}

/*
 * Folded texts have no white space at their ends. Take as much of it into the place as the search
 * text has, so that the place is what the search text should have been.
 */
static struct st_span with_white(struct st_str text, struct st_span span, struct st_str pattern) {
	struct st_str before = st_str_slice(pattern, 0, leading_white(pattern));
	struct st_str after = st_str_slice(pattern, pattern.len - trailing_white(pattern), pattern.len);
	return (struct st_span){take_before(text, span.start, before),
	                        take_after(text, span.end, after)};
}

/* The place in the text of a stretch of the folded text. */
static struct st_near place_of(const struct hunt *hunt, size_t start, size_t len,
                               struct st_str pattern) {
	struct st_span bare = {st_fold_source(&hunt->folded, start).start,
	                       st_fold_source(&hunt->folded, start + len - 1).end};
	return (struct st_near){.first = bare.start, .span = with_white(hunt->text, bare, pattern)};
}

/* Mark the places that differ in one kind: with everything else folded there is still a difference. */
static int compare_kind(const struct hunt *hunt, struct st_str pattern, unsigned kind,
                        struct st_near *places, size_t count) {
	st_auto(st_fold) left = {0};
	if (st_fold_init(&left, pattern, ST_FOLD_ALL & ~kind, hunt->err) < 0)
		return STET_E_NOMEM;
	for (size_t i = 0; i < count; i++) {
		st_auto(st_fold) right = {0};
		struct st_str place = st_str_slice(hunt->text, places[i].span.start, places[i].span.end);
		if (st_fold_init(&right, place, ST_FOLD_ALL & ~kind, hunt->err) < 0)
			return STET_E_NOMEM;
		if (!st_str_eq(st_buf_str(&left.out), st_buf_str(&right.out)))
			places[i].kinds |= kind;
	}
	return 0;
}

/* The place with the fewest differences, the first of several; it is taken out of the array. */
static struct st_near take_best(struct st_near *places, size_t *count) {
	size_t best = 0;
	for (size_t i = 1; i < *count; i++) {
		if (__builtin_popcount(places[i].kinds) < __builtin_popcount(places[best].kinds))
			best = i;
	}
	struct st_near near = places[best];
	memmove(&places[best], &places[best + 1], (--*count - best) * sizeof *places);
	return near;
}

/* Number the lines of a place; until here `first` is the offset of its first visible character. */
static void number_lines(struct st_str text, struct st_near *near) {
	size_t start = near->first;
	size_t end = near->span.end > start ? near->span.end - 1 : start;
	near->first = st_line_ends(text, start) + 1;
	near->last = near->first + st_line_ends(st_str_slice(text, start, text.len), end - start);
}

static int keep_best(struct hunt *hunt, struct st_str pattern, unsigned kinds,
                     struct st_near *places, size_t count) {
	struct st_nearest *nearest = hunt->nearest;
	for (unsigned kind = 1; kind < ST_FOLD_ALL; kind <<= 1) {
		if (compare_kind(hunt, pattern, kind, places, count) < 0)
			return STET_E_NOMEM;
	}
	while (count && nearest->count < ST_NEAREST_MAX) {
		struct st_near near = take_best(places, &count);
		near.kinds |= kinds;
		number_lines(hunt->text, &near);
		nearest->list[nearest->count++] = near;
	}
	return 1;
}

/* Look for a search text with all folded. Returns 1 if it is there, 0 if not, or an error. */
static int try_folded(struct hunt *hunt, struct st_str pattern, unsigned kinds) {
	st_auto(st_fold) fold = {0};
	if (st_fold_init(&fold, pattern, ST_FOLD_ALL, hunt->err) < 0)
		return STET_E_NOMEM;
	if (fold.out.len == 0)
		return 0;

	struct st_near places[LOOKED_AT];
	size_t count = 0, max = LOOKED_AT_BYTES / pattern.len + 1;
	struct st_str hay = st_buf_str(&hunt->folded.out);
	for (size_t at = 0; at < hay.len;) {
		const char *hit = memmem(hay.ptr + at, hay.len - at, fold.out.ptr, fold.out.len);
		if (!hit)
			break;
		at = (size_t)(hit - hay.ptr);
		hunt->nearest->total++;
		if (count < max && count < LOOKED_AT)
			places[count++] = place_of(hunt, at, fold.out.len, pattern);
		at += fold.out.len;
	}
	return count ? keep_best(hunt, pattern, kinds, places, count) : 0;
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

/* Take the line numbers off a listing. False if it is none: each line that is not blank needs one. */
static bool strip_numbers(struct st_buf *out, struct st_str listing) {
	size_t last = 0;
	bool any = false;
	for (size_t at = 0; at < listing.len;) {
		size_t end = st_line_end(listing, at), number;
		struct st_str line = st_str_slice(listing, at, end);
		size_t len = number_len(line, &number);
		if (len == 0 && trim(line).len > 0)
			return false;
		if (len && any && number != last + 1)
			return false;
		if (len) {
			/* "12: text" and "12| text" have a blank of their own, "12<TAB>text" has none. */
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

static int try_numbers(struct hunt *hunt, struct st_str pattern) {
	st_auto(st_buf) bare = ST_BUF_INIT;
	if (!strip_numbers(&bare, pattern))
		return 0;
	if (bare.failed)
		return st_fail_nomem(hunt->err);
	return try_folded(hunt, st_buf_str(&bare), ST_NEAR_NUMBERS);
}

/* Leave out lines at the start of a search text, and blank lines behind them; returns how many. */
static size_t drop_first(struct st_str *pattern, size_t count) {
	size_t dropped = 0;
	while (pattern->len && count) {
		size_t end = st_line_end(*pattern, 0);
		if (dropped >= count && trim(st_str_slice(*pattern, 0, end)).len > 0)
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
		if (dropped >= count && trim(st_str_slice(*pattern, start, pattern->len)).len > 0)
			break;
		pattern->len = start;
		dropped++;
	}
	return dropped;
}

/* Look for a search text without lines at its start and end, as long as most of it is left. */
static int try_extra(struct hunt *hunt, struct st_str pattern) {
	size_t enough = trim(pattern).len / 4 * 3;
	for (size_t all = 1; all <= EXTRA_MAX; all++) {
		for (size_t after = 0; after <= all; after++) {
			struct st_str rest = pattern;
			size_t before = drop_first(&rest, all - after);
			size_t behind = drop_last(&rest, after);
			if (trim(rest).len < enough || trim(rest).len < EXTRA_LEFT)
				continue;
			int code = try_folded(hunt, rest, ST_NEAR_EXTRA);
			if (code != 0) {
				hunt->nearest->extra_before = before;
				hunt->nearest->extra_after = behind;
				return code;
			}
		}
	}
	return 0;
}

/* How many lines of a search text are, one by one, the lines of the text from a place on. */
static size_t equal_lines(struct st_str text, size_t at, struct st_str pattern) {
	size_t equal = 0;
	for (size_t from = 0, n = 0; from < pattern.len && at < text.len && n < COMPARED; n++) {
		size_t end = st_line_end(text, at), to = st_line_end(pattern, from);
		equal +=
			st_str_eq(trim(st_str_slice(text, at, end)), trim(st_str_slice(pattern, from, to)));
		at = end;
		from = to;
	}
	return equal;
}

/* Where the lines that resemble a search text start: at a line, or up to two before or behind it. */
static size_t align(struct st_str text, size_t line, struct st_str pattern) {
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

/* A stretch of the folded text that is only similar, as whole lines. */
static void keep_similar(struct hunt *hunt, struct st_span span, struct st_str body) {
	struct st_str text = hunt->text;
	/* Halfway through its first line, so that a few bytes more or less make no difference. */
	size_t lines = st_line_count(body);
	size_t probe = span.start + (span.end - span.start) / lines / 2;
	size_t start =
		align(text, st_line_start(text, st_fold_source(&hunt->folded, probe).start), body);
	size_t end = start;
	for (size_t n = 0; n < lines && end < text.len; n++)
		end = st_line_end(text, end);
	if (st_line_end(text, start) - start > LONG_LINE) {
		size_t from = st_fold_source(&hunt->folded, span.start).start;
		start = from > start && from < end ? from : start;
	}
	struct st_near near = {.first = start, .span = {start, end}, .kinds = ST_NEAR_SIMILAR};
	number_lines(text, &near);
	hunt->nearest->list[0] = near;
	hunt->nearest->count = hunt->nearest->total = 1;
}

/* A few wrong letters in a short text, or much in common with a longer one. */
static int try_similar(struct hunt *hunt, struct st_str pattern) {
	st_auto(st_fold) fold = {0};
	struct st_similar similar = {0};
	struct st_str body = trim(pattern), hay = st_buf_str(&hunt->folded.out);
	int code = st_fold_init(&fold, body, ST_FOLD_ALL, hunt->err);
	if (code < 0)
		return code;
	struct st_str needle = st_buf_str(&fold.out);
	if (!st_typo_find(hay, needle, &similar.span)) {
		code = st_similar_find(&similar, hay, needle, hunt->err);
		if (code < 0)
			return code;
		if (similar.percent < SIMILAR_ENOUGH)
			return 0;
	}
	keep_similar(hunt, similar.span, body);
	return 1;
}

/* A new text of a few letters is everywhere and means nothing. */
static int find_new(struct hunt *hunt, struct st_str new_text) {
	st_auto(st_find) find = {0};
	struct st_span span;
	if (trim(new_text).len < 4)
		return 0;
	if (st_find_init(&find, hunt->text, new_text, hunt->err) < 0)
		return STET_E_NOMEM;
	if (st_find_next(&find, &span))
		hunt->nearest->new_line = st_line_ends(hunt->text, span.start) + 1;
	return 0;
}

static int hunt_for(struct hunt *hunt, struct st_str pattern) {
	int code = st_fold_init(&hunt->folded, hunt->text, ST_FOLD_ALL, hunt->err);
	if (code == 0)
		code = try_folded(hunt, pattern, 0);
	if (code == 0)
		code = try_numbers(hunt, pattern);
	if (code == 0)
		code = try_extra(hunt, pattern);
	if (code == 0)
		code = try_similar(hunt, pattern);
	return code;
}

int st_nearest_find(struct st_nearest *nearest, struct st_str text, struct st_str old_text,
                    struct st_str new_text, struct stet_error *err) {
	struct hunt hunt = {.text = text, .nearest = nearest, .err = err};
	*nearest = (struct st_nearest){0};
	int code = find_new(&hunt, new_text);
	if (code == 0)
		code = hunt_for(&hunt, old_text);
	st_fold_release(&hunt.folded);
	return code < 0 ? code : 0;
}
