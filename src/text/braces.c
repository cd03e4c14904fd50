#include "text/braces.h"

void st_braces_release(struct st_braces *braces) {
	for (size_t i = 0; i < braces->count; i++)
		st_buf_release(&braces->list[i]);
	braces->count = 0;
}

/* The braces that can be written out: where they open and close. */
struct group {
	size_t open;
	size_t close;
};

/* Where a group that opens here closes, if it does and holds a comma of its own; else 0. */
static size_t closing(struct st_str text, size_t open) {
	size_t depth = 0;
	bool comma = false;
	for (size_t i = open; i < text.len; i++) {
		if (text.ptr[i] == '\\')
			i++;
		else if (text.ptr[i] == '{')
			depth++;
		else if (text.ptr[i] == ',' && depth == 1)
			comma = true;
		else if (text.ptr[i] == '}' && --depth == 0)
			return comma ? i : 0;
	}
	return 0;
}

static bool find_group(struct st_str text, struct group *group) {
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\\') {
			i++;
		} else if (text.ptr[i] == '{' && (group->close = closing(text, i)) > 0) {
			group->open = i;
			return true;
		}
	}
	return false;
}

static int push(struct st_braces *braces, struct st_str before, struct st_str middle,
                struct st_str after, struct stet_error *err) {
	if (braces->count == ST_BRACES_MAX)
		return st_fail(err, STET_E_INVALID,
		               "A pattern stands for more than %d alternatives. Use several patterns.",
		               ST_BRACES_MAX);
	struct st_buf *text = &braces->list[braces->count++];
	*text = (struct st_buf)ST_BUF_INIT;
	st_buf_add(text, before);
	st_buf_add(text, middle);
	st_buf_add(text, after);
	return text->failed ? st_fail_nomem(err) : 0;
}

/* Add what a group of a text stands for. */
static int split(struct st_braces *braces, struct st_str text, const struct group *group,
                 struct stet_error *err) {
	struct st_str before = st_str_slice(text, 0, group->open);
	struct st_str after = st_str_slice(text, group->close + 1, text.len);
	size_t depth = 0, start = group->open + 1;
	int code = 0;
	for (size_t i = start; i <= group->close && code == 0; i++) {
		char c = text.ptr[i];
		bool end = i == group->close || (c == ',' && depth == 0);
		if (end) {
			code = push(braces, before, st_str_slice(text, start, i), after, err);
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
	int code = push(braces, pattern, st_str(""), st_str(""), err);
	for (size_t i = 0; i < braces->count && code == 0;) {
		struct group group = {0};
		if (!find_group(st_buf_str(&braces->list[i]), &group)) {
			i++;
			continue;
		}
		/* Its place is taken by the last, which comes in its turn. */
		st_auto(st_buf) text = ST_BUF_INIT;
		st_buf_move(&text, &braces->list[i]);
		st_buf_move(&braces->list[i], &braces->list[--braces->count]);
		code = split(braces, st_buf_str(&text), &group, err);
	}
	return code;
}
