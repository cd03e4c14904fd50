/**
 * A witness sees what an agent's own tool replaces.
 *
 * Between the hook's decision and the tool's write other programs may write to
 * the file, and a tool that truncates it leaves no trace of their bytes. So the
 * hook that lets a tool run leaves a small process behind, the witness, which
 * holds the file, follows its events (inotify) and pins its last pages
 * (vmsplice): a truncation leaves them behind. It blocks nobody. When the tool
 * has run, the hook asks the witness for the versions that the file had meanwhile.
 *
 * A tool that replaces the file by a rename leaves the old file to the witness.
 * For ST_GRACE_MS after the hook's question it rescues bytes that are still
 * written to that one (fs/versions/rescued.h); the next event in the workspace
 * that can hold a text reports them.
 *
 * Where inotify, pipes or processes are not to be had, the witness sees less or
 * nothing, and all else goes on.
 */
#ifndef STET_HOOK_WITNESS_H
#define STET_HOOK_WITNESS_H

#include "core/session/session.h"

struct st_witness;

/** Whether to leave witnesses behind; the fuzzer does not. */
extern bool st_witness_enabled;

/**
 * Prepare a witness.
 *
 * @key  The first file that the tool changes; the hook that asks gives the same.
 * @return NULL if there can be none. Free it with st_witness_start().
 */
struct st_witness *st_witness_new(const struct stet_session *session, const char *key);

/**
 * Hold a file: from now on the witness notes its versions. Does nothing for a
 * file that is not there, or is large.
 *
 * @path  Below the root.
 */
void st_witness_add(struct st_witness *witness, const struct stet_session *session,
                    const char *path);

/**
 * Leave the witness behind as a process of its own, and free it here. The process
 * closes all other descriptors and uses no workspace, so the caller's may be open.
 *
 * @witness  May be NULL.
 * @wait_s   How long it waits for the tool to end.
 */
void st_witness_start(struct st_witness *witness, int wait_s);

/** The bytes of a file at some moment. */
struct st_witnessed {
	char *path;
	struct st_buf bytes;
};

struct st_testimony {
	struct st_witnessed *items;
	size_t count;
	/** Two programs wrote to a file at once: the bytes of one of them may be in no version. */
	bool overlapped;
};

void st_testimony_release(struct st_testimony *testimony);

/** Ask the witness, if there is one, for the versions that it saw, oldest first. Ends its watch. */
void st_witness_ask(const struct stet_session *session, const char *key,
                    struct st_testimony *testimony);

#endif
