#include "text/hint/fold.h"

#include <assert.h>
#include <ctype.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/hex.h"
#include "base/quote.h"
#include "base/unicode.h"
#include "base/utf8.h"

/* The distance of anchors in bytes: few enough to store, close enough to fold again from. */
#define ANCHOR_EVERY 4096

/* Points beyond Unicode: a byte that is not UTF-8, and an unknown escape. */
#define NOT_UTF8 0x110000u
#define NOTHING 0x110100u

bool st_fold_is_quote(uint32_t point) {
	return point == '\'' || point == '"' || point == '`' || point == 0xAB || point == 0xB4 ||
	       point == 0xBB || (point >= 0x2018 && point <= 0x201F) || point == 0x2032 ||
	       point == 0x2033 || point == 0x2039 || point == 0x203A;
}

bool st_fold_is_dash(uint32_t point) {
	return point == '-' || (point >= 0x2010 && point <= 0x2015) || point == 0x2212 ||
	       point == 0xFE58 || point == 0xFE63 || point == 0xFF0D;
}

bool st_fold_is_space(uint32_t point) {
	return st_char_kind(point) == ST_CHAR_BLANK;
}

/* Parse digits as a code point; false if they are no number, or no character has it. */
static bool read_point(struct st_str digits, uint32_t base, uint32_t *point) {
	*point = 0;
	for (size_t i = 0; i < digits.len; i++) {
		int value = st_hex_digit(digits.ptr[i]);
		if (value < 0 || (uint32_t)value >= base || i == 6)
			return false;
		*point = *point * base + (uint32_t)value;
	}
	return digits.len && *point <= 0x10FFFF && !(*point >= 0xD800 && *point <= 0xDFFF);
}

/* Read an escape. Several backslashes count as one: a text may have been escaped more than once. */
static size_t read_escape(struct st_str s, uint32_t *point) {
	size_t len = 1;
	while (len < s.len && s.ptr[len] == '\\')
		len++;
	*point = '\\';
	if (len == s.len)
		return len;

	char c = s.ptr[len];
	if (c == 'u' && s.len - len > 4 && read_point(st_strn(s.ptr + len + 1, 4), 16, point))
		return len + 5;
	if (c == 'n' || c == 't' || c == 'r')
		*point = c == 'n' ? '\n' : c == 't' ? '\t' : NOTHING;
	else if (ispunct((unsigned char)c))
		*point = (unsigned char)c;
	else {
		*point = '\\';
		return len;
	}
	return len + 1;
}

static size_t read_entity(struct st_str s, uint32_t *point) {
	static const struct {
		struct st_str name;
		uint32_t point;
	} names[] = {
		{{"lt", 2}, '<'},   {{"gt", 2}, '>'},    {{"amp", 3}, '&'},
		{{"quot", 4}, '"'}, {{"apos", 4}, '\''}, {{"nbsp", 4}, 0xA0},
	};
	*point = '&';
	size_t max = s.len < 10 ? s.len : 10;
	const char *end = memchr(s.ptr, ';', max);
	if (!end)
		return 1;
	struct st_str name = st_str_slice(s, 1, (size_t)(end - s.ptr));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (st_str_eq(name, names[i].name)) {
			*point = names[i].point;
			return name.len + 2;
		}
	}
	bool hex = st_str_starts(name, ST_STR("#x")) || st_str_starts(name, ST_STR("#X"));
	size_t prefix = hex ? 2 : 1;
	uint32_t value;
	if (!st_str_starts(name, ST_STR("#")) ||
	    !read_point(st_str_slice(name, prefix, name.len), hex ? 16 : 10, &value))
		return 1;
	*point = value;
	return name.len + 2;
}

/* Read the next character, with newlines, escapes and entities resolved. @return Its length. */
static size_t read_unit(struct st_str s, unsigned kinds, uint32_t *point) {
	char c = s.ptr[0];
	if (c == '\r') {
		bool crlf = s.len > 1 && s.ptr[1] == '\n';
		*point = crlf || kinds & ST_FOLD_EOLS ? '\n' : '\r';
		return 1 + crlf;
	}
	if (c == '\\' && kinds & ST_FOLD_ESCAPES)
		return read_escape(s, point);
	if (c == '&' && kinds & ST_FOLD_ENTITIES)
		return read_entity(s, point);
	size_t len = st_utf8_next(s, point);
	if (len == 1 && *point == 0xFFFD)
		*point = NOT_UTF8 + (unsigned char)c;
	return len;
}

static bool is_blank_point(uint32_t point) {
	return point == ' ' || point == '\t' || point == '\v' || point == '\f';
}

/* Fold blanks and newlines in place; a run never grows. */
static size_t fold_run(char *run, size_t to, size_t from, size_t end, unsigned kinds) {
	for (; from < end; from++) {
		if (run[from] == '\n')
			run[to++] = kinds & ST_FOLD_BREAKS ? ' ' : '\n';
		else if (!(kinds & ST_FOLD_TRAILING))
			run[to++] = run[from];
	}
	return to;
}

/* Fold a run that holds newlines: trailing blanks, newlines, the indentation of the next line. */
static size_t fold_lines(char *run, size_t len, unsigned kinds, bool at_start, bool at_end) {
	size_t first = (size_t)((char *)memchr(run, '\n', len) - run);
	size_t last = (size_t)((char *)memrchr(run, '\n', len) - run);
	size_t to = fold_run(run, 0, 0, first, kinds);

	if (!(kinds & ST_FOLD_BLANK_LINES))
		to = fold_run(run, to, first, last + 1, kinds);
	else if (!at_start && !at_end)
		to = fold_run(run, to, first, first + 1, kinds);
	if (!(kinds & (at_end ? ST_FOLD_TRAILING : ST_FOLD_INDENT))) {
		memmove(run + to, run + last + 1, len - last - 1);
		to += len - last - 1;
	}
	return to;
}

static size_t fold_blanks(char *run, size_t len, unsigned kinds, bool at_start, bool at_end) {
	if (at_start || at_end)
		return kinds & (at_start ? ST_FOLD_INDENT : ST_FOLD_TRAILING) ? 0 : len;
	if (!(kinds & ST_FOLD_BLANKS))
		return len;
	run[0] = ' ';
	return 1;
}

/* Fold the blanks and newlines at the end of `out`, now that the character after them is known. */
static void end_run(struct st_fold *fold, bool at_end) {
	if (!fold->in_run)
		return;
	fold->in_run = false;
	if (fold->out.failed)
		return;
	char *run = fold->out.ptr + fold->run;
	size_t len = fold->out.len - fold->run;
	bool at_start = fold->base + fold->run == 0;
	len = memchr(run, '\n', len) ? fold_lines(run, len, fold->kinds, at_start, at_end)
	                             : fold_blanks(run, len, fold->kinds, at_start, at_end);
	st_buf_truncate(&fold->out, fold->run + len);
}

static void add_to_run(struct st_fold *fold, uint32_t point) {
	if (!fold->in_run) {
		fold->in_run = true;
		fold->run = fold->out.len;
	}
	st_buf_addc(&fold->out, (char)point);
}

static void add_cased(struct st_fold *fold, uint32_t point) {
	st_utf8_add(&fold->out, fold->kinds & ST_FOLD_CASE ? st_unicode_lower(point) : point);
}

/* Add a character without its accents, a ligature as its letters, and the like. */
static void add_forms(struct st_fold *fold, uint32_t point) {
	uint32_t parts[ST_UNICODE_PARTS];
	size_t count = st_unicode_parts(point, parts);
	for (size_t i = 0; i < count; i++)
		add_cased(fold, parts[i]);
}

/* Add a character that is not blank. A quote, dash or ellipsis has no case and no other forms. */
static void add_visible(struct st_fold *fold, uint32_t point) {
	unsigned kinds = fold->kinds;
	end_run(fold, false);
	if (point >= NOT_UTF8)
		st_buf_addc(&fold->out, (char)(point - NOT_UTF8));
	else if (st_fold_is_quote(point))
		st_utf8_add(&fold->out, kinds & ST_FOLD_QUOTES ? '\'' : point);
	else if (st_fold_is_dash(point))
		st_utf8_add(&fold->out, kinds & ST_FOLD_DASHES ? '-' : point);
	else if (point == 0x2026 && kinds & ST_FOLD_ELLIPSES)
		st_buf_adds(&fold->out, "...");
	else if (point == 0x2026 || st_fold_is_space(point) || st_char_is_invisible(point))
		st_utf8_add(&fold->out, point);
	else if (point >= 0x80 && kinds & ST_FOLD_FORMS)
		add_forms(fold, point);
	else
		add_cased(fold, point);
}

static void add_unit(struct st_fold *fold, uint32_t point) {
	if (point == NOTHING || (fold->kinds & ST_FOLD_INVISIBLE && st_char_is_invisible(point)))
		return;
	if (fold->kinds & ST_FOLD_SPACES && st_fold_is_space(point))
		point = ' ';
	if (point == '\n' || is_blank_point(point))
		add_to_run(fold, point);
	else
		add_visible(fold, point);
}

/* Fold plain bytes up to `limit`, or one character if the next byte is not plain. */
static void fold_next(struct st_fold *fold, size_t limit) {
	const unsigned char *bytes = (const unsigned char *)fold->text.ptr;
	size_t end = fold->at;
	while (end < limit && fold->plain[bytes[end]])
		end++;
	if (end == fold->at) {
		uint32_t point;
		fold->at += read_unit(st_str_slice(fold->text, end, fold->text.len), fold->kinds, &point);
		add_unit(fold, point);
		return;
	}
	end_run(fold, false);
	if (st_buf_reserve(&fold->out, end - fold->at)) {
		while (fold->at < end)
			fold->out.ptr[fold->out.len++] = (char)fold->plain[bytes[fold->at++]];
		fold->out.ptr[fold->out.len] = '\0';
	}
	fold->at = end;
}

static void fill_plain(struct st_fold *fold) {
	for (int c = 0x21; c < 0x7F; c++) {
		bool quote = st_fold_is_quote((uint32_t)c) && fold->kinds & ST_FOLD_QUOTES;
		bool read = (c == '\\' && fold->kinds & ST_FOLD_ESCAPES) ||
		            (c == '&' && fold->kinds & ST_FOLD_ENTITIES);
		int cased = fold->kinds & ST_FOLD_CASE && c >= 'A' && c <= 'Z' ? c | 0x20 : c;
		fold->plain[c] = (unsigned char)(read ? 0 : quote ? '\'' : cased);
	}
}

/* Outside a run nothing is pending, so st_fold_source() can start to fold from there. */
static bool add_anchor(struct st_fold *fold) {
	if (!st_array_room(&fold->anchors, fold->anchor_count, sizeof *fold->anchors))
		return false;
	fold->anchors[fold->anchor_count++] = (struct st_fold_anchor){fold->out.len, fold->at};
	return true;
}

int st_fold_init(struct st_fold *fold, struct st_str text, unsigned kinds, struct stet_error *err) {
	*fold = (struct st_fold){.text = text, .kinds = kinds};
	fill_plain(fold);
	st_buf_reserve(&fold->out, text.len);

	bool failed = false;
	size_t next = 0;
	while (fold->at < text.len && !failed && !fold->out.failed) {
		if (fold->at >= next && st_cancel_check(4 * ANCHOR_EVERY, err) < 0) {
			st_fold_release(fold);
			return STET_E_CANCELLED;
		}
		if (fold->at >= next && !fold->in_run) {
			failed = !add_anchor(fold);
			next = fold->at + ANCHOR_EVERY;
		}
		fold_next(fold, fold->at < next && next < text.len ? next : text.len);
	}
	end_run(fold, true);
	if (failed || fold->out.failed) {
		st_fold_release(fold);
		return st_fail_nomem(err);
	}
	return 0;
}

void st_fold_release(struct st_fold *fold) {
	st_buf_release(&fold->out);
	free(fold->anchors);
	*fold = (struct st_fold){0};
}

/* Find the last anchor at or before a byte of the folded text. */
static struct st_fold_anchor anchor_before(const struct st_fold *fold, size_t folded) {
	assert(fold->anchor_count > 0 && folded < fold->out.len);
	size_t low = 0, high = fold->anchor_count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (fold->anchors[middle].folded <= folded)
			low = middle;
		else
			high = middle;
	}
	return fold->anchors[low];
}

/* Skip accents that belong to the character before them and were folded away. */
static size_t skip_marks(const struct st_fold *fold, size_t at) {
	while (fold->kinds & ST_FOLD_FORMS && at < fold->text.len) {
		uint32_t point;
		size_t len = st_utf8_next(st_str_slice(fold->text, at, fold->text.len), &point);
		if (len == 1 || !st_unicode_is_mark(point))
			break;
		at += len;
	}
	return at;
}

struct st_span st_fold_source(const struct st_fold *fold, size_t folded) {
	struct st_fold_anchor anchor = anchor_before(fold, folded);
	struct st_fold again = {
		.text = fold->text, .kinds = fold->kinds, .at = anchor.source, .base = anchor.folded};
	size_t start = again.at;
	/* `plain` is empty here, so this folds character by character, and a run only when it ends. */
	while (again.at < fold->text.len && !again.out.failed) {
		start = again.at;
		fold_next(&again, again.at);
		if (!again.in_run && again.base + again.out.len > folded)
			break;
	}
	st_buf_release(&again.out);
	return (struct st_span){start, skip_marks(fold, again.at)};
}
