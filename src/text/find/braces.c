#include "text/find/braces.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

void st_braces_release(struct st_braces *braces) {
	for (size_t i = 0; i < braces->count; i++)
		st_buf_release(&braces->list[i]);
	free(braces->list);
	*braces = (struct st_braces){0};
}

/* A pair of braces to expand: the offsets of both, and whether they hold a sequence. */
struct group {
	size_t open;
	size_t close;
	bool is_sequence;
};

/* A sequence from one number or letter to another. */
struct sequence {
	int64_t first, last;
	/* Never 0; negative to count down. */
	int64_t step;
	bool letters;
	/* Pad numbers with zeros to this width; 0 for no padding. */
	int width;
};

/* Read the number at the start of a text. @return Its length; 0 if there is none. */
static size_t parse_number(struct st_str text, int64_t *number) {
	size_t sign = text.len > 0 && text.ptr[0] == '-', len = sign;
	*number = 0;
	for (; len < text.len && text.ptr[len] >= '0' && text.ptr[len] <= '9'; len++) {
		if (len - sign == 15)
			return 0;
		*number = *number * 10 + (text.ptr[len] - '0');
	}
	if (sign)
		*number = -*number;
	return len > sign ? len : 0;
}

static size_t parse_letter(struct st_str text, int64_t *letter) {
	*letter = text.len > 0 ? text.ptr[0] : 0;
	return (*letter >= 'a' && *letter <= 'z') || (*letter >= 'A' && *letter <= 'Z');
}

static bool skip_dots(struct st_str *text) {
	if (!st_str_starts(*text, ST_STR("..")))
		return false;
	*text = st_str_slice(*text, 2, text->len);
	return true;
}

/* Whether a number has a leading zero. */
static bool is_padded(struct st_str number) {
	size_t sign = number.ptr[0] == '-';
	return number.len > sign + 1 && number.ptr[sign] == '0';
}

/* Parse the text between braces as a sequence: "1..10", "a..e..2". False if it is none. */
static bool read_sequence(struct st_str text, struct sequence *sequence) {
	size_t (*parse)(struct st_str, int64_t *) = parse_number;
	size_t first = parse_number(text, &sequence->first);
	sequence->letters = first == 0 && (first = parse_letter(text, &sequence->first)) > 0;
	if (sequence->letters)
		parse = parse_letter;
	struct st_str rest = st_str_slice(text, first, text.len), from = st_str_slice(text, 0, first);
	if (first == 0 || !skip_dots(&rest))
		return false;
	size_t last = parse(rest, &sequence->last);
	struct st_str to = st_str_slice(rest, 0, last), by = st_str("");
	rest = st_str_slice(rest, last, rest.len);
	sequence->step = 1;
	if (last > 0 && skip_dots(&rest)) {
		size_t step = parse_number(rest, &sequence->step);
		by = st_str_slice(rest, 0, step);
		last = step;
		rest = st_str_slice(rest, step, rest.len);
	}
	if (last == 0 || rest.len > 0)
		return false;
	sequence->step = sequence->step < 0 ? -sequence->step : sequence->step;
	sequence->step += sequence->step == 0;
	if (sequence->last < sequence->first)
		sequence->step = -sequence->step;
	bool padded = !sequence->letters && (is_padded(from) || is_padded(to) || is_padded(by));
	sequence->width = !padded ? 0 : (int)(from.len > to.len ? from.len : to.len);
	return true;
}

/* Find the brace that closes a group. 0 if there is none, or if the group has nothing to expand. */
static size_t find_close(struct st_str text, size_t open, bool *is_sequence) {
	size_t depth = 0;
	bool comma = false;
	struct sequence sequence;
	for (size_t i = open; i < text.len; i++) {
		if (text.ptr[i] == '\\')
			i++;
		else if (text.ptr[i] == '{')
			depth++;
		else if (text.ptr[i] == ',' && depth == 1)
			comma = true;
		else if (text.ptr[i] == '}' && --depth == 0) {
			*is_sequence = read_sequence(st_str_slice(text, open + 1, i), &sequence);
			return comma || *is_sequence ? i : 0;
		}
	}
	return 0;
}

static bool find_group(struct st_str text, struct group *group) {
	for (size_t i = 0; i < text.len; i++) {
		bool dollar = i > 0 && text.ptr[i - 1] == '$';
		if (text.ptr[i] == '\\') {
			i++;
		} else if (text.ptr[i] == '{' && !dollar &&
		           (group->close = find_close(text, i, &group->is_sequence)) > 0) {
			group->open = i;
			return true;
		}
	}
	return false;
}

static int push_alternative(struct st_braces *braces, struct st_str before, struct st_str middle,
                            struct st_str after, struct stet_error *err) {
	if (braces->count == ST_BRACES_MAX)
		return st_fail(err, STET_E_INVALID,
		               "A pattern expands to more than %d alternatives. Use several patterns.",
		               ST_BRACES_MAX);
	if (!st_array_room(&braces->list, braces->count, sizeof *braces->list))
		return st_fail_nomem(err);
	struct st_buf *text = &braces->list[braces->count++];
	*text = (struct st_buf)ST_BUF_INIT;
	st_buf_add(text, before);
	st_buf_add(text, middle);
	st_buf_add(text, after);
	return text->failed ? st_fail_nomem(err) : 0;
}

static int expand_sequence(struct st_braces *braces, struct st_str text, const struct group *group,
                           struct stet_error *err) {
	struct sequence sequence;
	int code = 0;
	if (!read_sequence(st_str_slice(text, group->open + 1, group->close), &sequence))
		return 0;
	for (int64_t n = sequence.first;
	     code == 0 && (sequence.step > 0 ? n <= sequence.last : n >= sequence.last);
	     n += sequence.step) {
		char item[32] = "";
		/* {A..z} passes the backslash, which would escape the next character: expand it to nothing. */
		if (sequence.letters && n != '\\')
			item[0] = (char)n;
		else if (!sequence.letters)
			snprintf(item, sizeof item, "%0*lld", sequence.width, (long long)n);
		code = push_alternative(braces, st_str_slice(text, 0, group->open), st_str(item),
		                        st_str_slice(text, group->close + 1, text.len), err);
	}
	return code;
}

static int expand_list(struct st_braces *braces, struct st_str text, const struct group *group,
                       struct stet_error *err) {
	struct st_str before = st_str_slice(text, 0, group->open);
	struct st_str after = st_str_slice(text, group->close + 1, text.len);
	size_t depth = 0, start = group->open + 1;
	int code = 0;
	for (size_t i = start; i <= group->close && code == 0; i++) {
		char c = text.ptr[i];
		bool end = i == group->close || (c == ',' && depth == 0);
		if (end) {
			code = push_alternative(braces, before, st_str_slice(text, start, i), after, err);
			start = i + 1;
		} else if (c == '\\') {
			i++;
		} else {
			depth += c == '{';
			depth -= c == '}' && depth > 0;
		}
	}
	return code;
}

int st_braces_expand(struct st_braces *braces, struct st_str pattern, struct stet_error *err) {
	int code = push_alternative(braces, pattern, st_str(""), st_str(""), err);
	for (size_t i = 0; i < braces->count && code == 0;) {
		struct group group = {0};
		if (!find_group(st_buf_str(&braces->list[i]), &group)) {
			i++;
			continue;
		}
		/* Move the last alternative into this place and append the expansions; order does not matter. */
		st_auto(st_buf) text = ST_BUF_INIT;
		st_buf_move(&text, &braces->list[i]);
		st_buf_move(&braces->list[i], &braces->list[--braces->count]);
		code = (group.is_sequence ? expand_sequence : expand_list)(braces, st_buf_str(&text),
		                                                           &group, err);
	}
	return code;
}
