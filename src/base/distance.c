#include "base/distance.h"

#include <ctype.h>

#include "stet/text.h"

static size_t least(size_t a, size_t b) {
	return a < b ? a : b;
}

static int letter(struct st_str word, size_t i) {
	return tolower((unsigned char)word.ptr[i]);
}

/* The usual dynamic programming table, of which three rows suffice: a swap uses the row before the last. */
size_t st_distance(struct st_str a, struct st_str b) {
	size_t rows[3][ST_DISTANCE_MAX + 1];
	a.len = least(a.len, ST_DISTANCE_MAX);
	b.len = least(b.len, ST_DISTANCE_MAX);
	for (size_t j = 0; j <= b.len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			size_t changed = above[j - 1] + (letter(a, i - 1) != letter(b, j - 1));
			row[j] = least(changed, least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && letter(a, i - 1) == letter(b, j - 2) &&
			    letter(a, i - 2) == letter(b, j - 1))
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[a.len % 3][b.len];
}

size_t stet_text_distance(const char *a, size_t a_len, const char *b, size_t b_len) {
	return st_distance(st_strn(a, a_len), st_strn(b, b_len));
}
