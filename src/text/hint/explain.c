#include "text/hint/explain.h"

#include "base/plural.h"
#include "base/utf8.h"
#include "text/hint/context.h"
#include "text/lines/indent.h"

/* The longest quotations, in bytes, so that a message stays near 1500 bytes. */
#define QUOTE_ONE 600
#define QUOTE_MANY 240
#define QUOTE_LINE 300
/* How many bytes of a long line to quote before the first difference. */
#define LEAD 60

/* The text in the file, and the search text. */
struct pair {
	struct st_str file;
	struct st_str old;
};

static const char *const fold_words[] = {
#define X(name, bit, text) [bit] = text,
	ST_FOLDS(X)
#undef X
};

/* Append one word of a list: "a, b and c". */
static void add_word(struct st_buf *buf, const char *word, bool first, bool last) {
	if (!first)
		st_buf_adds(buf, last ? " and " : ", ");
	st_buf_adds(buf, word);
}

/* Find the next character of a kind, and move *at past it; 0 at the end. */
static uint32_t next_of_kind(struct st_str s, bool (*is_kind)(uint32_t), size_t *at) {
	while (*at < s.len) {
		uint32_t point;
		*at += st_utf8_next(st_str_slice(s, *at, s.len), &point);
		if (is_kind(point))
			return point;
	}
	return 0;
}

static bool is_any_space(uint32_t point) {
	return point == ' ' || st_fold_is_space(point);
}

static void add_point(struct st_buf *buf, uint32_t point) {
	if (st_fold_is_space(point) || st_char_is_invisible(point) || point == ' ') {
		st_buf_addf(buf, "U+%04X", (unsigned)point);
		return;
	}
	st_utf8_add(buf, point);
	st_buf_addf(buf, " U+%04X", (unsigned)point);
}

/* Both texts have the same number of characters of a kind: name the first pair that differs. */
static void add_points(struct st_buf *buf, struct pair pair, bool (*is_kind)(uint32_t)) {
	size_t in_file = 0, in_old = 0;
	uint32_t file, old;
	do {
		file = next_of_kind(pair.file, is_kind, &in_file);
		old = next_of_kind(pair.old, is_kind, &in_old);
	} while (file && file == old);
	if (!file && !old)
		return;
	st_buf_adds(buf, " (");
	if (file) {
		st_buf_adds(buf, "the file has ");
		add_point(buf, file);
	}
	if (old) {
		st_buf_adds(buf, file ? ", oldText " : "oldText has ");
		add_point(buf, old);
	}
	st_buf_addc(buf, ')');
}

static size_t count_byte(struct st_str s, char byte) {
	size_t count = 0;
	for (size_t i = 0; i < s.len; i++)
		count += s.ptr[i] == byte;
	return count;
}

/* Describe an indentation: "2 tabs", "4 spaces", "1 tab and 2 spaces", "nothing". */
static void add_blanks(struct st_buf *buf, struct st_str blanks) {
	size_t tabs = count_byte(blanks, '\t'), spaces = count_byte(blanks, ' ');
	if (tabs)
		st_buf_addf(buf, "%zu %s", tabs, st_plural(tabs, "tab", "tabs"));
	if (spaces)
		st_buf_addf(buf, "%s%zu %s", tabs ? " and " : "", spaces,
		            st_plural(spaces, "space", "spaces"));
	if (!tabs && !spaces)
		st_buf_adds(buf, "nothing");
}

/*
 * Describe the first line whose indentation differs. This compares line n with line n: where the
 * line breaks differ, the message has said so before.
 */
static void add_indents(struct st_buf *buf, struct pair pair) {
	size_t in_file = 0, in_old = 0;
	for (size_t n = 1; in_file < pair.file.len && in_old < pair.old.len; n++) {
		struct st_str file = st_indent_of(st_str_slice(pair.file, in_file, pair.file.len));
		struct st_str old = st_indent_of(st_str_slice(pair.old, in_old, pair.old.len));
		in_file = st_line_end(pair.file, in_file);
		in_old = st_line_end(pair.old, in_old);
		if (st_str_eq(file, old))
			continue;
		st_buf_addf(buf, " (line %zu of it begins with ", n);
		add_blanks(buf, file);
		st_buf_adds(buf, " in the file and ");
		add_blanks(buf, old);
		st_buf_addf(buf, " in oldText)");
		return;
	}
}

/* The text with more backslashes (or ampersands) is the one that has them as escapes (or entities). */
static void add_escapes(struct st_buf *buf, struct pair pair, char byte) {
	bool old = count_byte(pair.old, byte) > count_byte(pair.file, byte);
	st_buf_addf(buf, " (written out in %s, where %s has the character itself)",
	            old ? "oldText" : "the file", old ? "the file" : "oldText");
}

static bool ends_line(struct st_str s) {
	return st_eol_of(s) != ST_EOL_NONE;
}

static void add_detail(struct st_buf *buf, unsigned kind, struct pair pair) {
	switch (kind) {
	case ST_FOLD_INDENT:
		add_indents(buf, pair);
		break;
	case ST_FOLD_BLANK_LINES:
		if (ends_line(pair.old) && !ends_line(pair.file))
			st_buf_addf(buf, " (oldText ends with a newline, the file has none there)");
		break;
	case ST_FOLD_EOLS:
		st_buf_adds(buf, " (a CR alone)");
		break;
	case ST_FOLD_QUOTES:
		add_points(buf, pair, st_fold_is_quote);
		break;
	case ST_FOLD_DASHES:
		add_points(buf, pair, st_fold_is_dash);
		break;
	case ST_FOLD_SPACES:
		add_points(buf, pair, is_any_space);
		break;
	case ST_FOLD_INVISIBLE:
		add_points(buf, pair, st_char_is_invisible);
		break;
	case ST_FOLD_ESCAPES:
		add_escapes(buf, pair, '\\');
		break;
	case ST_FOLD_ENTITIES:
		add_escapes(buf, pair, '&');
		break;
	}
}

/* List kinds of difference, with details if there is a pair to take them from. */
static void add_kinds(struct st_buf *buf, unsigned kinds, const struct pair *pair) {
	bool first = true;
	for (unsigned bit = 0; bit < sizeof fold_words / sizeof *fold_words; bit++) {
		unsigned kind = 1u << bit;
		if (!(kinds & kind))
			continue;
		kinds &= ~kind;
		add_word(buf, fold_words[bit], first, !(kinds & ST_FOLD_ALL));
		if (pair)
			add_detail(buf, kind, *pair);
		first = false;
	}
}

void st_explain_kinds(struct st_buf *buf, unsigned kinds) {
	static const struct {
		unsigned kind;
		const char *word;
	} others[] = {
		{ST_NEAR_NUMBERS, "line numbers"},
		{ST_NEAR_EXTRA, "extra lines"},
		{ST_NEAR_SIMILAR, "other words"},
	};
	add_kinds(buf, kinds, NULL);
	bool first = !(kinds & ST_FOLD_ALL);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		if (kinds & others[i].kind) {
			add_word(buf, others[i].word, first, true);
			first = false;
		}
	}
}

static void add_line_numbers(struct st_buf *buf, const struct st_near *near) {
	if (near->last > near->first)
		st_buf_addf(buf, "lines %zu to %zu", near->first, near->last);
	else
		st_buf_addf(buf, "line %zu", near->first);
}

/* Append "different in ...". add_near() has named line numbers and extra lines already. */
static void add_difference(struct st_buf *buf, unsigned kinds, struct pair pair) {
	if (kinds & ST_FOLD_ALL) {
		st_buf_adds(buf, "different in ");
		add_kinds(buf, kinds, &pair);
	} else {
		st_buf_adds(buf, kinds ? "the same otherwise" : "which only looks the same");
	}
}

static void add_one(struct st_buf *buf, const struct st_near *near, struct pair pair) {
	st_buf_adds(buf, "Nearest: ");
	add_line_numbers(buf, near);
	st_buf_adds(buf, ", ");
	add_difference(buf, near->kinds, pair);
	st_buf_adds(buf, ". The file has there:\n");
	st_quote_text(buf, pair.file, QUOTE_ONE);
}

static void add_several(struct st_buf *buf, const struct st_nearest *nearest, struct st_str text,
                        struct st_str old_text) {
	st_buf_addf(buf, "%zu places come near", nearest->total);
	st_buf_adds(buf, nearest->total > nearest->count ? "; three of them:" : ":");
	for (size_t i = 0; i < nearest->count; i++) {
		const struct st_near *near = &nearest->list[i];
		struct pair pair = {st_str_slice(text, near->span.start, near->span.end), old_text};
		st_buf_adds(buf, "\n- ");
		add_line_numbers(buf, near);
		st_buf_adds(buf, ", ");
		add_difference(buf, near->kinds, pair);
		st_buf_adds(buf, ": ");
		st_quote_text(buf, pair.file, QUOTE_MANY);
	}
}

static void add_extra(struct st_buf *buf, const char *which, size_t count) {
	if (count == 1)
		st_buf_addf(buf, "The %s line of oldText is not there. ", which);
	else if (count > 1)
		st_buf_addf(buf, "The %s %zu lines of oldText are not there. ", which, count);
}

static void add_near(struct st_buf *buf, const struct st_nearest *nearest, struct st_str text,
                     struct st_str old_text) {
	const struct st_near *near = &nearest->list[0];
	if (near->kinds & ST_NEAR_NUMBERS)
		st_buf_adds(buf, "It has line numbers, as in a listing, that are not in the file. ");
	if (near->kinds & ST_NEAR_EXTRA) {
		add_extra(buf, "first", nearest->extra_before);
		add_extra(buf, "last", nearest->extra_after);
	}
	struct pair pair = {st_str_slice(text, near->span.start, near->span.end), old_text};
	if (nearest->total == 1)
		add_one(buf, near, pair);
	else
		add_several(buf, nearest, text, old_text);
	st_buf_addf(buf,
	            "\nGive oldText exactly as the file has it; the quotation is escaped as in JSON.");
}

/* Whether a line matches. The search text may begin and end in the middle of a line. */
static bool line_matches(struct pair line, bool first, bool last) {
	if (first && last)
		return memmem(line.file.ptr, line.file.len, line.old.ptr, line.old.len) != NULL;
	if (first)
		return st_str_ends(line.file, line.old);
	return last ? st_str_starts(line.file, line.old) : st_str_eq(line.file, line.old);
}

/* Quote a line, beginning at most LEAD bytes before a place. */
static void quote_from(struct st_buf *buf, struct st_str line, size_t place) {
	size_t from = place > LEAD ? st_utf8_cut(line, place - LEAD) : 0;
	if (from)
		st_buf_adds(buf, "...");
	st_quote_text(buf, st_str_slice(line, from, line.len), QUOTE_LINE);
}

static void add_line_pair(struct st_buf *buf, struct pair line, size_t number) {
	size_t same = 0;
	while (same < line.file.len && same < line.old.len && line.file.ptr[same] == line.old.ptr[same])
		same++;
	size_t place = line.file.len > QUOTE_LINE || line.old.len > QUOTE_LINE ? same : 0;
	st_buf_addf(buf, "Line %zu is\n", number);
	quote_from(buf, line.file, place);
	st_buf_addf(buf, "\nwhere oldText has\n");
	quote_from(buf, line.old, place);
}

/* Show the first line in which the similar text differs. */
static void add_similar(struct st_buf *buf, const struct st_near *near, struct pair pair) {
	size_t in_file = 0, in_old = 0, number = near->first;
	st_buf_adds(buf, "Similar text is at ");
	add_line_numbers(buf, near);
	st_buf_adds(buf, ". ");
	while (in_old < pair.old.len && in_file < pair.file.len) {
		struct pair line = {st_line_body(pair.file, in_file), st_line_body(pair.old, in_old)};
		size_t next = st_line_end(pair.old, in_old);
		if (!line_matches(line, in_old == 0, next == pair.old.len)) {
			add_line_pair(buf, line, number);
			break;
		}
		in_file = st_line_end(pair.file, in_file);
		in_old = next;
		number++;
	}
	st_buf_addf(buf, "\nRead these lines again, and give oldText exactly as the file has it.");
}

/* The search text without blank lines at its ends; text/hint/nearest.c compares it that way. */
static struct st_str without_blank_lines(struct st_str s) {
	while (s.len && st_line_body(s, 0).len == 0)
		s = st_str_slice(s, st_line_end(s, 0), s.len);
	while (s.len && (s.ptr[s.len - 1] == '\n' || s.ptr[s.len - 1] == '\r'))
		s.len--;
	return s;
}

static bool is_white(struct st_str s) {
	for (size_t i = 0; i < s.len; i++) {
		if (!memchr(" \t\r\n", s.ptr[i], 4))
			return false;
	}
	return true;
}

bool st_names_replaced(struct st_str text, struct st_str old_text) {
	static const char replacement[] = "\xEF\xBF\xBD";
	return old_text.len > 0 && memmem(old_text.ptr, old_text.len, replacement, 3) &&
	       !st_utf8_valid(text);
}

static void add_reason(struct st_buf *buf, const struct st_nearest *nearest, struct st_str text,
                       struct st_str old_text) {
	const struct st_near *near = &nearest->list[0];
	if (text.len == 0)
		st_buf_adds(buf, "The file is empty.");
	else if (st_names_replaced(text, old_text))
		st_buf_adds(buf,
		            "The U+FFFD in it stands for bytes of the file that are not UTF-8, which no "
		            "oldText can hold. Give only text before or after them.");
	else if (is_white(old_text))
		st_buf_adds(buf,
		            "It has only blanks and newlines, which must match exactly. "
		            "Add words from the lines around it.");
	else if (nearest->count == 0)
		st_buf_addf(buf,
		            "Nothing in the file is similar. Read it again, and take oldText from there.");
	else if (near->kinds & ST_NEAR_SIMILAR)
		add_similar(buf, near,
		            (struct pair){st_str_slice(text, near->span.start, near->span.end),
		                          without_blank_lines(old_text)});
	else
		add_near(buf, nearest, text, old_text);
	if (nearest->new_line)
		st_buf_addf(buf,
		            " newText is already there, at line %zu: perhaps this change was made before.",
		            nearest->new_line);
}

int st_explain_no_match(struct st_nearest *nearest, struct st_str text, struct st_str old_text,
                        struct st_str new_text, const char *prefix, struct stet_error *err) {
	st_auto(st_buf) reason = ST_BUF_INIT;
	if (st_nearest_find(nearest, text, old_text, new_text, NULL) == 0)
		add_reason(&reason, nearest, text, old_text);
	return st_fail(err, STET_E_NO_MATCH, "%soldText not found in the file. %s Nothing was changed.",
	               prefix, reason.failed ? "" : st_buf_cstr(&reason));
}
