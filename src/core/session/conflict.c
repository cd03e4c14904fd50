#include "core/session/conflict.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "text/lines/lines.h"

void st_conflict_free(struct st_conflict *conflict) {
	if (!conflict)
		return;
	free(conflict->other);
	free(conflict->diff);
	free(conflict);
}

/* How much of a diff to keep: whole lines, if one fits. */
static size_t kept_len(struct st_str diff) {
	if (diff.len <= ST_CONFLICT_DIFF_MAX)
		return diff.len;
	size_t end = st_line_start(diff, ST_CONFLICT_DIFF_MAX);
	return end > 0 ? end : st_utf8_cut(diff, ST_CONFLICT_DIFF_MAX);
}

static struct st_conflict *make_conflict(const char *reason, const char *other, struct st_str diff,
                                         bool cut) {
	struct st_conflict *conflict = calloc(1, sizeof *conflict);
	if (!conflict)
		return NULL;
	size_t len = kept_len(diff);
	conflict->reason = reason;
	conflict->cut = cut || len < diff.len;
	conflict->other = other && *other ? strdup(other) : NULL;
	conflict->diff = len > 0 ? strndup(diff.ptr, len) : NULL;
	if ((other && *other && !conflict->other) || (len > 0 && !conflict->diff)) {
		st_conflict_free(conflict);
		return NULL;
	}
	return conflict;
}

struct st_conflict *st_conflict_of(const struct stet_answer *answer) {
	return make_conflict(answer->merged ? "merged" : answer->reason, answer->writer,
	                     st_buf_str(&answer->diff), answer->diff_truncated);
}

struct st_conflict *st_conflict_copy(const struct st_conflict *conflict) {
	return make_conflict(conflict->reason, conflict->other,
	                     st_str(conflict->diff ? conflict->diff : ""), conflict->cut);
}
