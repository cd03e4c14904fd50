#include "text/find/find.h"

#include "base/cancel.h"
#include "base/plural.h"

static bool has_byte(struct st_str text, char byte) {
	return text.len && memchr(text.ptr, byte, text.len);
}

/*
 * Convert the pattern's line endings to those of the text, so that a byte search finds it. Fold
 * the text to LF as well if it mixes LF and CRLF, or if the pattern ends in CR, whose last byte
 * could otherwise match the first half of a CRLF.
 */
static int prepare_lines(struct st_find *find, struct st_str pattern, struct stet_error *err) {
	/* Most texts have no CR, and then the number of LFs does not matter. */
	struct st_eols eols = {0};
	if (has_byte(find->text, '\r'))
		eols = st_eols_count(find->text);
	bool fold = eols.crlf && (eols.lf || st_str_ends(pattern, ST_STR("\r")));

	st_eol_convert(&find->pattern, pattern, eols.crlf && !fold ? ST_EOL_CRLF : ST_EOL_LF);
	if (fold) {
		st_buf_reserve(&find->folded, find->text.len);
		st_eol_convert(&find->folded, find->text, ST_EOL_LF);
	}
	if (find->pattern.failed || find->folded.failed) {
		st_find_release(find);
		return st_fail_nomem(err);
	}
	find->needle = st_needle_of(st_buf_str(&find->pattern));
	if (fold)
		find->hay = st_buf_str(&find->folded);
	return 0;
}

int st_find_init(struct st_find *find, struct st_str text, struct st_str pattern,
                 struct stet_error *err) {
	size_t from = st_bom_len(pattern) ? 0 : st_bom_len(text);
	*find = (struct st_find){
		.text = text, .hay = text, .needle = st_needle_of(pattern), .at = from, .text_at = from};

	if (!has_byte(pattern, '\n'))
		return 0;
	if (pattern.ptr[0] != '\n' && has_byte(pattern, '\r') &&
	    st_needle_find(&find->needle, st_str_slice(text, from, text.len)))
		return 0;
	return prepare_lines(find, pattern, err);
}

void st_find_release(struct st_find *find) {
	st_buf_release(&find->pattern);
	st_buf_release(&find->folded);
	*find = (struct st_find){0};
}

/*
 * Advance to an offset in the folded text. @return The same place in the original text; for a place
 * right before a folded line ending, the place before the whole CRLF.
 */
static size_t advance(struct st_find *find, size_t to) {
	size_t left = to - find->at;
	find->at = to;
	while (left) {
		const char *from = find->text.ptr + find->text_at;
		const char *cr = memchr(from, '\r', left);
		if (!cr) {
			find->text_at += left;
			break;
		}
		size_t skip = (size_t)(cr - from) + 1;
		bool crlf = find->text_at + skip < find->text.len && cr[1] == '\n';
		find->text_at += skip + crlf;
		left -= skip;
	}
	return find->text_at;
}

bool st_find_next(struct st_find *find, struct st_span *span) {
	size_t len = find->needle.bytes.len;
	const char *hit =
		st_needle_find(&find->needle, st_str_slice(find->hay, find->at, find->hay.len));
	if (!hit)
		return false;

	size_t start = (size_t)(hit - find->hay.ptr);
	if (find->folded.ptr) {
		span->start = advance(find, start);
		span->end = advance(find, start + len);
	} else {
		*span = (struct st_span){start, start + len};
		find->at = start + len;
	}
	/* Keep the text's byte order mark out of the match, unless the pattern is nothing but the mark. */
	size_t bom = span->start == 0 ? st_bom_len(find->text) : 0;
	if (span->end > bom)
		span->start += bom;
	return true;
}

int st_places_find(struct st_places *places, struct st_str text, struct st_str pattern,
                   struct stet_error *err) {
	st_auto(st_find) find = {0};
	struct st_span span;
	size_t line = 1, at = 0;

	places->total = places->count = 0;
	if (st_find_init(&find, text, pattern, err) < 0)
		return STET_E_NOMEM;
	for (size_t from = 0; st_find_next(&find, &span); from = span.end) {
		if (st_cancel_check(span.end - from + ST_FIND_WORK, err) < 0)
			return STET_E_CANCELLED;
		places->total++;
		if (places->count == ST_PLACES_MAX)
			continue;
		line += st_line_ends(st_str_slice(text, at, text.len), span.start - at);
		at = span.start;
		places->lines[places->count++] = line;
	}
	return 0;
}

/* How many matches, from the i-th on, share its line. */
static size_t count_same_line(const struct st_places *places, size_t i) {
	size_t same = 1;
	while (i + same < places->count && places->lines[i + same] == places->lines[i])
		same++;
	return same;
}

void st_places_add(struct st_buf *buf, const struct st_places *places, size_t max) {
	bool one = places->total > 0 && count_same_line(places, 0) == places->total;
	st_buf_adds(buf, one ? "line " : "lines ");

	size_t i = 0;
	for (size_t named = 0; named < max && i < places->count; named++) {
		size_t same = count_same_line(places, i);
		if (i > 0)
			st_buf_adds(buf, i + same == places->total ? " and " : ", ");
		st_buf_addf(buf, "%zu", places->lines[i]);
		if (same > 1)
			st_buf_addf(buf, " (%zu times)", same);
		i += same;
	}
	size_t left = places->total - i;
	if (left > 0)
		st_buf_addf(buf, " and %zu more %s", left, st_plural(left, "place", "places"));
}
