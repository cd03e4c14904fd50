/**
 * A conflict: a change that was refused, or that was merged with what others
 * changed. A file event carries it to the state, which keeps the last ones for
 * people to look at (core/page).
 */
#ifndef STET_CORE_SESSION_CONFLICT_H
#define STET_CORE_SESSION_CONFLICT_H

#include "core/session/answer.h"

/** The most bytes of a diff that are kept. */
enum { ST_CONFLICT_DIFF_MAX = 8 << 10 };

struct st_conflict {
	/** A word: "modified", "deleted", "unseen", "drops", "hash"; "merged" if the change was made. */
	const char *reason;
	/** The session that wrote the version in the way; NULL if unknown. */
	char *other;
	/** What others changed; NULL if the answer showed nothing. */
	char *diff;
	/** The diff is not all of it. */
	bool cut;
};

/** Copy what an answer says of a conflict. NULL if memory is short. */
struct st_conflict *st_conflict_of(const struct stet_answer *answer);

struct st_conflict *st_conflict_copy(const struct st_conflict *conflict);

/** Free a conflict, which may be NULL. */
void st_conflict_free(struct st_conflict *conflict);

#endif
