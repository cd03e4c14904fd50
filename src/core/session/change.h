/**
 * A change of one file by a session: read, judge, make the new bytes, commit.
 *
 * Every tool that changes the contents of one file calls st_change_apply() with
 * a function that makes new bytes from old ones. The rest happens here: checking
 * that the session may change this version (refusal.h), merging, committing
 * against other processes, and recording what the session has seen afterwards.
 *
 *     struct st_change change = {
 *             .path = path, .kind = ST_CHANGE_ANCHORED, .make = make, .context = &edit,
 *     };
 *     int code = st_change_apply(session, &change, answer, err);
 */
#ifndef STET_CORE_SESSION_CHANGE_H
#define STET_CORE_SESSION_CHANGE_H

#include "core/session/session.h"

/** The basis of a change. It decides which lines the session must have seen. */
enum st_change_kind {
	/** It names the text it replaces, which is proof enough for a file the session never read. */
	ST_CHANGE_ANCHORED,
	/** It names line numbers, which are valid until the file changes. */
	ST_CHANGE_LINES,
	/** It replaces the whole file, so the session must have seen all of it; or creates the file. */
	ST_CHANGE_WHOLE,
	/** It adds to the file and keeps the rest, so the session need not have seen it; or creates the file. */
	ST_CHANGE_APPEND,
};

/** Whether the new file is executable. */
enum st_change_mode {
	/** As the old one, or not if there is none. */
	ST_MODE_SAME,
	ST_MODE_PLAIN,
	ST_MODE_EXECUTABLE,
};

struct st_change {
	/** As the caller spells it. */
	const char *path;
	enum st_change_kind kind;
	/** Hex digits of the version that the caller wants to change; ptr NULL for any. */
	struct st_str expected_hash;
	/** The text to change, so that a refusal can say where it is now; may be empty. */
	struct st_str anchor;
	/** Refuse a binary file, and new contents that would make it one. */
	bool text;
	/** If the file changed since the session saw it, merge the two changes where they do not overlap. */
	bool merge;
	/** Never merge, not even after a refusal that showed all changes. */
	bool never_merge;
	/** A matching expected_hash counts as having seen the whole file. */
	bool hash_proves;
	/** Refuse once to drop most of a long file, or bytes that no answer can show. */
	bool check_drops;
	/**
	 * Set by make: the old lines that it removes without the caller having
	 * named their text; NULL for none. They must have been sent to the caller.
	 */
	const struct st_interval *unnamed;
	/**
	 * The new contents are an earlier version's. The lines that they lack must
	 * have been sent to the caller, and the answer shows the difference.
	 */
	bool restores;
	/** With restores: the session made the version that is replaced. */
	bool own;
	/** Set by make if it changed lines that the caller has not seen whole; NULL if that cannot happen. */
	const bool *partly;
	/** The caller drops the answer, so a diff in it does not count as seen. */
	bool unshown;
	/** Remove the file; make is not called. The path must not be a link's. */
	bool remove;
	/** Judge and make, but write nothing. */
	bool dry_run;
	/** A new file may be in a directory that does not exist yet. The caller makes it. */
	bool makes_dirs;
	/** In a change set: why the change cannot be made, if the caller knows that already; else NULL. */
	const struct stet_error *problem;
	/** In a change set: make the file executable or not, as git's modes 100755 and 100644. */
	enum st_change_mode mode;
	/** Called at each attempt with the file's path below the root, valid during that attempt; may be NULL. */
	void (*found)(void *context, const char *path);
	/** Make the new bytes from the old ones (empty for a new file). Returns 0, or a code to give up with. */
	int (*make)(void *context, struct st_str old, struct st_buf *new, struct stet_error *err);
	/** Called after a merge with the current and the merged bytes, which make has not seen; may be NULL. */
	int (*merged)(void *context, struct st_str current, struct st_str merged,
	              struct stet_error *err);
	void *context;
};

/**
 * Change a file.
 *
 * @answer  Receives path, hash, commit, noop and created, or the refusal; after
 *          a merge its diff shows what others changed.
 * @return  0; STET_E_CONFLICT with the refusal; or the codes of make,
 *          st_file_load() and st_commit().
 */
[[nodiscard]] int st_change_apply(struct stet_session *session, const struct st_change *change,
                                  struct stet_answer *answer, struct stet_error *err);

#endif
