/**
 * The answer if a session may not change a file.
 *
 * A change compares the current version of the file with the version that the
 * session saw. st_change_refuse() writes the refusal: the reason, the
 * lines where the text to change is now, and a diff of what others changed. The
 * session counts that diff as seen, so that the same call succeeds next time.
 */
#ifndef STET_CORE_SESSION_REFUSAL_H
#define STET_CORE_SESSION_REFUSAL_H

#include "core/session/change.h"

/** One attempt at a change: the change, and the file as the attempt found it. */
struct st_change_attempt {
	struct stet_session *session;
	const struct st_change *change;
	/** The file's path below the root, links resolved. */
	const char *path;
	/** What the session saw of the file; NULL if it has not seen it. */
	struct st_seen *seen;
	/** The current version; NULL if the file does not exist. */
	const struct st_file *file;
	/** The new contents; empty until they are made. */
	struct st_buf *new;
	struct stet_answer *answer;
};

enum st_refusal {
	ST_NOT_REFUSED,
	/** The file changed since the session saw it. */
	ST_REFUSED_MODIFIED,
	/** It changed in the same lines, so the two changes cannot be merged. */
	ST_REFUSED_OVERLAP,
	/** It was deleted since the session saw it. */
	ST_REFUSED_DELETED,
	/** The session has not seen all of the file that it wants to replace. */
	ST_REFUSED_UNSEEN,
	/** The same, and the session cannot see it: it ends with this call. */
	ST_REFUSED_STATELESS,
	/** The change removes lines that were not sent to the session, and that the caller did not name. */
	ST_REFUSED_UNSENT,
	/** The new contents lack most of the file's lines. */
	ST_REFUSED_DROPS,
	/** The file has bytes that are not UTF-8, which no answer shows as they are. */
	ST_REFUSED_LOSSY,
	/** The workspace wants every file to be read before it is changed. */
	ST_REFUSED_UNREAD,
	/** The expected hash is another version's. */
	ST_REFUSED_HASH,
	/** The write to undo is not the last change of the file. */
	ST_REFUSED_UNDO,
};

struct st_verdict {
	enum st_refusal refusal;
	/** With ST_REFUSED_DROPS: how many lines the new contents lack. */
	size_t dropped;
};

/** Judge a change that replaces or deletes the version that the session saw. */
struct st_verdict st_change_judge_whole(const struct st_change_attempt *attempt);

/**
 * Judge what new contents would drop of those that the session saw: most of the lines, or bytes
 * that are not UTF-8. The session is asked once.
 */
struct st_verdict st_change_judge_loss(const struct st_change_attempt *attempt, struct st_str old,
                                       struct st_str new);

/**
 * Whether to merge what others changed instead of refusing: the caller asked
 * for it, or a refusal already showed the session all changes up to then.
 */
bool st_change_merges(const struct st_change *change, const struct st_seen *seen);

/** Write a refusal into the answer. Returns STET_E_CONFLICT, or why it cannot be written. */
[[nodiscard]] int st_change_refuse(const struct st_change_attempt *attempt,
                                   struct st_verdict verdict, struct stet_error *err);

#endif
