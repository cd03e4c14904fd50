/* What was probably meant: the word with the fewest typing mistakes in between. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"

/* Longer words are not looked at. */
enum { WORD_MAX = 32 };

static size_t least(size_t a, size_t b) {
	return a < b ? a : b;
}

/* How many letters are to be changed, added, left out or swapped with their neighbour. */
static size_t distance(const char *a, const char *b) {
	size_t rows[3][WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);
	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t changed = above[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = least(changed, least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

const char *suggest(const char *typed, const char *const *words) {
	const char *best = NULL;
	/* A third of the letters may be wrong; the beginning of a word is never far. */
	size_t limit = strlen(typed) / 3 + 1;
	for (; *words; words++) {
		size_t far = distance(typed, *words);
		if (strlen(typed) > 1 && strncmp(typed, *words, strlen(typed)) == 0)
			far = 1;
		if (far <= limit) {
			best = *words;
			limit = far - (far > 0);
		}
		if (far == 0)
			break;
	}
	return best;
}

const char *suggest_command(const char *typed) {
	const char *names[64] = {NULL};
	for (size_t i = 0; i < 63 && commands[i]; i++)
		names[i] = commands[i]->name;
	return suggest(typed, names);
}
