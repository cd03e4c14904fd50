#include "text/lines/line_ranges.h"

#include "base/utf8.h"

#include <stdint.h>

/* How many bytes of the query an error message quotes. */
#define QUOTE_MAX 60

struct scanner {
	struct st_str query;
	size_t at;
	size_t lines;
};

static bool more(const struct scanner *scan) {
	return scan->at < scan->query.len;
}

static bool next_is(const struct scanner *scan, char byte) {
	return more(scan) && scan->query.ptr[scan->at] == byte;
}

static bool next_is_digit(const struct scanner *scan) {
	return more(scan) && scan->query.ptr[scan->at] >= '0' && scan->query.ptr[scan->at] <= '9';
}

static void skip_blank_bytes(struct scanner *scan) {
	while (next_is(scan, ' ') || next_is(scan, '\t') || next_is(scan, '\n') || next_is(scan, '\r'))
		scan->at++;
}

/* Consume a character if it comes next, and the blanks around it. */
static bool accept_byte(struct scanner *scan, char byte) {
	skip_blank_bytes(scan);
	if (!next_is(scan, byte))
		return false;
	scan->at++;
	skip_blank_bytes(scan);
	return true;
}

/* Consume a number if one comes next. A number too large for a size_t becomes SIZE_MAX. */
static bool accept_number(struct scanner *scan, size_t *number) {
	if (!next_is_digit(scan))
		return false;
	size_t value = 0;
	for (; next_is_digit(scan); scan->at++) {
		size_t digit = (size_t)(scan->query.ptr[scan->at] - '0');
		value = value > (SIZE_MAX - 9) / 10 ? SIZE_MAX : value * 10 + digit;
	}
	*number = value;
	return true;
}

static int fail_form(const struct scanner *scan, struct stet_error *err, const char *what) {
	size_t len = st_utf8_cut(scan->query, QUOTE_MAX);
	return st_fail(err, STET_E_INVALID,
	               "The line ranges \"%.*s%s\" %s. Lines count from 1 (this file has %zu); write "
	               "\"50-60\", \"1,5-8\", or \"90-\" for line 90 to the end.",
	               (int)len, scan->query.ptr, len < scan->query.len ? "..." : "", what,
	               scan->lines);
}

static int accept_range(struct scanner *scan, struct st_interval *range, struct stet_error *err) {
	if (next_is(scan, '-'))
		return fail_form(scan, err,
		                 "contain a range without a start, which could mean the first lines or the "
		                 "last: name both ends");
	if (!accept_number(scan, &range->first))
		return fail_form(scan, err,
		                 more(scan) ? "contain something that is not a range" : "lack a number");

	range->last = range->first;
	if (accept_byte(scan, '-') && !accept_number(scan, &range->last))
		range->last = SIZE_MAX;

	if (range->first == 0 || range->last == 0)
		return fail_form(scan, err, "name line 0");
	if (range->last < range->first)
		return fail_form(scan, err, "contain a range that ends before it starts");
	return 0;
}

int st_line_ranges_parse(struct st_str query, size_t lines, struct st_intervals *out,
                         struct stet_error *err) {
	struct scanner scan = {.query = query, .lines = lines};
	size_t count = 0;

	st_intervals_clear(out);
	skip_blank_bytes(&scan);
	do {
		struct st_interval range;
		int code = accept_range(&scan, &range, err);
		if (code < 0)
			return code;
		if (++count > ST_INTERVALS_MAX)
			return fail_form(&scan, err, "are too many for one call: ask for fewer");
		if (!st_intervals_add(out, range.first, range.last < lines ? range.last : lines))
			return st_fail_nomem(err);
	} while (accept_byte(&scan, ','));

	if (more(&scan))
		return fail_form(&scan, err,
		                 next_is_digit(&scan) ? "are not separated by commas"
		                                      : "contain something that is not a range");
	return 0;
}
