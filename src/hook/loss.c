#include "hook/loss.h"

#include <stdlib.h>

#include "text/lines/lines.h"

enum { SEEN, MADE, REPLACED, NOW, TEXTS };

/* One line of one of the texts. */
struct line {
	struct st_str body;
	int text;
};

struct lines {
	struct line *items;
	size_t count;
};

static void lines_release(struct lines *lines) {
	free(lines->items);
}

static int by_body(const void *a, const void *b) {
	const struct st_str left = ((const struct line *)a)->body,
						right = ((const struct line *)b)->body;
	size_t len = left.len < right.len ? left.len : right.len;
	int order = len > 0 ? memcmp(left.ptr, right.ptr, len) : 0;
	return order ? order : (left.len > right.len) - (left.len < right.len);
}

/* The lines of all texts, sorted. A byte order mark and the kind of line ends do not count. */
static bool sort_lines(const struct st_hook_texts *texts, struct lines *lines) {
	const struct st_str all[TEXTS] = {texts->seen, texts->made, texts->replaced, texts->now};
	size_t count = 0;
	for (int i = 0; i < TEXTS; i++)
		count += st_line_count(all[i]);
	lines->items = calloc(count + 1, sizeof *lines->items);
	if (!lines->items)
		return false;
	for (int i = 0; i < TEXTS; i++) {
		for (size_t at = st_bom_len(all[i]); at < all[i].len && lines->count < count;) {
			lines->items[lines->count++] = (struct line){st_line_body(all[i], at), i};
			at = st_line_end(all[i], at);
		}
	}
	qsort(lines->items, lines->count, sizeof *lines->items, by_body);
	return true;
}

/* Count the next line in each text; false after the last. */
static bool count_next(const struct lines *lines, size_t *at, long counts[TEXTS]) {
	size_t first = *at;
	memset(counts, 0, TEXTS * sizeof *counts);
	for (; *at < lines->count && by_body(&lines->items[first], &lines->items[*at]) == 0; ++*at)
		counts[lines->items[*at].text]++;
	return *at > first;
}

bool st_hook_has_change(const struct st_hook_texts *texts) {
	st_auto(lines) lines = {0};
	long n[TEXTS];
	if (!sort_lines(texts, &lines))
		return false;
	for (size_t at = 0; count_next(&lines, &at, n);) {
		if (n[MADE] > n[SEEN] ? n[REPLACED] < n[MADE] : n[MADE] < n[SEEN] && n[REPLACED] > n[MADE])
			return false;
	}
	return true;
}

bool st_hook_loses(const struct st_hook_texts *texts) {
	st_auto(lines) lines = {0};
	long n[TEXTS];
	if (!sort_lines(texts, &lines))
		return false;
	for (size_t at = 0; count_next(&lines, &at, n);) {
		long theirs = n[REPLACED] - n[SEEN];
		long wanted = n[MADE] + theirs > 0 ? n[MADE] + theirs : 0;
		if (theirs > 0 ? n[NOW] < wanted : theirs < 0 && n[NOW] > wanted)
			return true;
	}
	return false;
}
