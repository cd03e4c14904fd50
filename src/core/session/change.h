/**
 * A guarded change: read, judge, make the new bytes, commit.
 *
 * Every tool that writes goes through here; it brings a function from old
 * bytes to new ones, and this brings everything else: whether the session may
 * change this version, the refusal with its diff if not, the commit against
 * other processes, and the session's memory afterwards.
 *
 *     struct st_change change = {
 *             .path = path, .kind = ST_CHANGE_ANCHORED, .make = make, .context = &edit,
 *     };
 *     int code = st_change_apply(session, &change, answer, err);
 */
#ifndef STET_CORE_SESSION_CHANGE_H
#define STET_CORE_SESSION_CHANGE_H

#include "core/session/session.h"

/** What a change relies on, which decides what the session must have seen. */
enum st_change_kind {
	/** The text it replaces: proof enough on a file the session never read. */
	ST_CHANGE_ANCHORED,
	/** Line numbers: good until the file changes. */
	ST_CHANGE_LINES,
	/** Nothing; it replaces the whole file, so all of it must have been seen. Creates the file too. */
	ST_CHANGE_WHOLE,
	/** Nothing either, but all of the file stays: it adds to whatever is there. Creates the file too. */
	ST_CHANGE_APPEND,
};

struct st_change {
	/** As the caller spells it. */
	const char *path;
	enum st_change_kind kind;
	/** Digits of the version that the caller says it saw; ptr NULL for none. */
	struct st_str expected_hash;
	/** The text it looks for, to tell a refused caller where that still is; may be empty. */
	struct st_str anchor;
	/** Only endings that the workspace allows, and nothing binary. */
	bool text;
	/** Where the file changed since it was read: merge with that, if the two do not touch. */
	bool merge;
	/** Never merge, not even after a refusal that showed all that had changed. */
	bool never_merge;
	/** A matching expected_hash stands for having seen the whole file. */
	bool hash_proves;
	/** Refuse once to drop most of a long file. */
	bool check_drops;
	/** Whether lines change of which the caller neither wrote nor is shown all, known after make; NULL: none do. */
	const bool *partly;
	/** Nobody gets the answer, so that what a refusal would show does not count as seen. */
	bool unshown;
	/** The file is to be removed, by a path that is no link's; make is not needed. */
	bool remove;
	/** Judge and make, but write nothing. */
	bool dry_run;
	/** Told before each try which file it is: its path below the root, links resolved, good for that try; may be NULL. */
	void (*found)(void *context, const char *path);
	/** Make the new bytes from the old ones (empty for a new file). 0, or a code that ends it all. */
	int (*make)(void *context, struct st_str old, struct st_buf *new, struct stet_error *err);
	/** Told after a merge what the current bytes became, which make has not seen; may be NULL. */
	int (*merged)(void *context, struct st_str current, struct st_str merged,
	              struct stet_error *err);
	void *context;
};

/**
 * Change a file.
 *
 * @answer  Receives path, hash, commit, noop and created, or the refusal; after
 *          a merge also the foreign changes as its diff.
 * @return  0; STET_E_CONFLICT with the refusal; or the codes of make,
 *          st_file_load() and st_commit().
 */
[[nodiscard]] int st_change_apply(struct stet_session *session, const struct st_change *change,
                                  struct stet_answer *answer, struct stet_error *err);

#endif
