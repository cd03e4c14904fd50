#include "text/patch/shifted.h"

#include "base/cancel.h"
#include "text/find/find.h"
#include "text/lines/indent.h"

/* Give up after comparing so many lines. */
enum { COMPARED_MAX = 1000000 };

static bool is_blank_line(struct st_str line) {
	return st_indent_of(line).len == line.len;
}

/* Whether a line begins with the run of a shift, and the other blank character does not follow. */
static bool has_run(struct st_str line, const struct st_shift *shift) {
	if (line.len <= shift->count)
		return false;
	for (size_t i = 0; i < shift->count; i++) {
		if (line.ptr[i] != shift->blank)
			return false;
	}
	char next = line.ptr[shift->count];
	return next == shift->blank || (next != ' ' && next != '\t');
}

/* Find the shift between two lines: the longer indentation is a run, then the shorter indentation. */
static bool measure_shift(struct st_str line, struct st_str old, struct st_shift *shift) {
	size_t has = st_indent_of(line).len, wanted = st_indent_of(old).len;
	if (has == wanted)
		return false;
	shift->less = has < wanted;
	shift->count = shift->less ? wanted - has : has - wanted;
	struct st_str deep = shift->less ? old : line, flat = shift->less ? line : old;
	shift->blank = deep.ptr[0];
	size_t shared = shift->less ? has : wanted;
	return has_run(deep, shift) && memcmp(deep.ptr + shift->count, flat.ptr, shared) == 0;
}

/* Whether a line of the text is a shifted line of the old text. `open`: the text's line may be longer. */
static bool is_shifted(struct st_str line, struct st_str old, const struct st_shift *shift,
                       bool open) {
	if (is_blank_line(old))
		return is_blank_line(line);
	struct st_str *deep = shift->less ? &old : &line;
	if (!has_run(*deep, shift))
		return false;
	*deep = st_str_slice(*deep, shift->count, deep->len);
	return open ? st_str_starts(line, old) : st_str_eq(line, old);
}

struct search {
	struct st_str text, old;
	/* The offset of the first line of `old` that is not blank, and how many lines precede it. */
	size_t first, before;
	size_t compared;
	/* STET_E_CANCELLED once the call is cancelled. */
	int code;
	struct stet_error *err;
};

/* What a line costs besides its bytes, in the bytes that st_cancel_check() counts. */
enum { LINE_WORK = 64 };

/* Count a line to compare; false if the search must give up. */
static bool count_line(struct search *search, struct st_str line) {
	search->code = st_cancel_check(line.len + LINE_WORK, search->err);
	return search->code == 0 && ++search->compared <= COMPARED_MAX;
}

/* The end of the match that begins at a line; 0 if there is none. */
static size_t place_end(struct search *search, size_t at, const struct st_shift *shift) {
	for (size_t from = 0; from < search->old.len;) {
		size_t next = st_line_end(search->old, from);
		bool open = next == search->old.len && st_eol_of(search->old) == ST_EOL_NONE;
		struct st_str line = st_line_body(search->text, at), old = st_line_body(search->old, from);
		if (at >= search->text.len || !count_line(search, line) ||
		    !is_shifted(line, old, shift, open))
			return 0;
		/* A last line of blanks only is ambiguous: it may be any part of an indentation. */
		if (open && is_blank_line(old))
			return 0;
		if (open)
			return shift->less ? at + old.len - shift->count : at + old.len + shift->count;
		/* The search text has a line ending here, so the text must have one too. */
		if (st_eol_of(st_str_slice(search->text, at, st_line_end(search->text, at))) == ST_EOL_NONE)
			return 0;
		at = st_line_end(search->text, at);
		from = next;
	}
	return at;
}

/* Move from the first line that is not blank back to the start of the match; false at the top. */
static bool skip_lines_before(struct search *search, size_t *at) {
	for (size_t i = 0; i < search->before; i++) {
		if (*at == 0 || !count_line(search, st_str("")))
			return false;
		*at = st_line_start(search->text, *at - 1);
	}
	return true;
}

/* Count the matches, up to two, and store the first one. */
static size_t count_places(struct search *search, struct st_shifted *shifted) {
	struct st_str old = st_line_body(search->old, search->first);
	size_t found = 0;
	for (size_t at = st_bom_len(search->text); at < search->text.len && found < 2;
	     at = st_line_end(search->text, at)) {
		struct st_shift shift;
		size_t start = at, end;
		struct st_str line = st_line_body(search->text, at);
		if (!count_line(search, line))
			return 0;
		if (!measure_shift(line, old, &shift) || !skip_lines_before(search, &start) ||
		    (end = place_end(search, start, &shift)) == 0)
			continue;
		if (found++ == 0) {
			shifted->shift = shift;
			shifted->span = (struct st_span){start, end};
		}
	}
	return search->compared > COMPARED_MAX ? 0 : found;
}

/* Shift the lines of the new text; false if one of them lacks the indentation to remove. */
static bool shift_lines(struct st_buf *out, struct st_str text, const struct st_shift *shift) {
	for (size_t at = 0, next; at < text.len; at = next) {
		next = st_line_end(text, at);
		struct st_str line = st_str_slice(text, at, next);
		bool blank = is_blank_line(st_line_body(text, at));
		if (!blank && shift->less) {
			if (!has_run(line, shift))
				return false;
			line = st_str_slice(line, shift->count, line.len);
		}
		for (size_t i = 0; !blank && !shift->less && i < shift->count; i++)
			st_buf_addc(out, shift->blank);
		st_buf_add(out, line);
	}
	return true;
}

static int occurs_in(struct st_str text, struct st_str pattern, struct stet_error *err) {
	st_auto(st_find) find = {0};
	struct st_span span;
	int code = st_find_init(&find, text, pattern, err);
	return code < 0 ? code : st_find_next(&find, &span);
}

int st_shifted_find(struct st_shifted *shifted, struct st_str text, struct st_str old_text,
                    struct st_str new_text, struct stet_error *err) {
	struct search search = {.text = text, .old = old_text, .err = err};
	while (search.first < old_text.len && is_blank_line(st_line_body(old_text, search.first))) {
		search.first = st_line_end(old_text, search.first);
		search.before++;
	}
	if (search.first == old_text.len || count_places(&search, shifted) != 1)
		return search.code;
	int found = occurs_in(text, new_text, err);
	if (found != 0)
		return found < 0 ? found : 0;
	bool fits = shift_lines(&shifted->new_text, new_text, &shifted->shift);
	if (shifted->new_text.failed)
		return st_fail_nomem(err);
	return fits;
}

void st_shift_add(struct st_buf *out, const struct st_shift *shift) {
	bool many = shift->count > 1;
	st_buf_addf(out,
	            "oldText matched with %zu %s %s%s before each line; newText was indented alike.",
	            shift->count,
	            !shift->less ? "more"
	            : many       ? "fewer"
	                         : "less",
	            shift->blank == '\t' ? "tab" : "space", many ? "s" : "");
}
