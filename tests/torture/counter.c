#include "torture/counter.h"

#include "torture/hostile.h"

enum { TRIES_MAX = 100000 };

/* The number after a label in the file; the line as it stands there goes to `line`. */
static int read_counter(struct stet_session *session, const char *label, char line[64]) {
	struct stet_answer *answer = NULL;
	int number = -1;
	if (stet_session_read(session, "counters", 0, 0, &answer, NULL) < 0)
		return -1;
	const char *content = stet_answer_content(answer, NULL);
	const char *at = content ? strstr(content, label) : NULL;
	if (at && sscanf(at + strlen(label), " %d", &number) == 1)
		snprintf(line, 64, "%s %06d.", label, number);
	stet_answer_free(answer);
	return number;
}

/*
 * Edit, and whether it was our edit that did it: somebody else may have put
 * the very same bytes there, which is a success that writes nothing.
 */
static int edit_counter(struct stet_session *session, const char *line, const char *next) {
	struct stet_answer *answer = NULL;
	int code = stet_session_edit(session, "counters", line, strlen(line), next, strlen(next), NULL,
	                             &answer, NULL);
	if (code == 0 && stet_answer_noop(answer))
		code = STET_E_CONFLICT;
	stet_answer_free(answer);
	return code;
}

bool count_up(struct stet_session *session, const char *label) {
	for (int i = 0; i < TRIES_MAX; i++) {
		char line[64], next[64];
		int number = read_counter(session, label, line);
		snprintf(next, sizeof next, "%s %06d.", label, number + 1);
		int code = number < 0 ? STET_E_BUSY : edit_counter(session, line, next);
		if (code == 0)
			return true;
		if (code != STET_E_CONFLICT && code != STET_E_BUSY && code != STET_E_NO_MATCH)
			return false;
		nap_ns(random_below(500000));
	}
	return false;
}

void counters_write(const struct dir *dir) {
	dir_write(dir, "counters", "a 000000.\nb 000000.\nc 000000.\nd 000000.\nall 000000.\n");
}

void assert_counter(const struct dir *dir, const char *label, int number) {
	char line[64];
	snprintf(line, sizeof line, "%s %06d.\n", label, number);
	assert_non_null(strstr(dir_read(dir, "counters"), line));
}
