/** The inside of a workspace; its contract is in stet/workspace.h. */
#ifndef STET_CORE_WORKSPACE_WORKSPACE_H
#define STET_CORE_WORKSPACE_WORKSPACE_H

#include <stdatomic.h>

#include "core/instructions/lookup.h"
#include "core/watch/shared_watcher.h"
#include "fs/write/write_context.h"
#include "stet/workspace.h"

/** The bounds and the default of STET_OPTION_PAGE_BYTES. */
enum { ST_PAGE_BYTES_MIN = 4096, ST_PAGE_BYTES = 20000, ST_PAGE_BYTES_MAX = 8 << 20 };

/** The levels of STET_OPTION_STATE. */
enum st_state_level {
	ST_STATE_NONE,
	ST_STATE_TOOLS,
	ST_STATE_ALL,
};

/** Bytes shared by whoever holds a reference; never changed. */
struct st_blob {
	int references;
	size_t len;
	char *bytes;
};

/**
 * Bytes that sessions saw, by hash: from a base a conflict gets its diff and a
 * merge its parent. Bounded by bytes; the least recently used go first, and what
 * is gone costs a diff, never a wrong answer. Safe to use from several threads.
 */
struct st_bases {
	pthread_mutex_t lock;
	struct st_lru lru;
};

/** Remember bytes under their hash. Too many bytes, or too little memory: they are not remembered. */
void st_bases_put(struct st_bases *bases, const struct st_hash *hash, struct st_str bytes);

/** As st_bases_put(), of bytes that nobody else needs: they are taken. */
void st_bases_give(struct st_bases *bases, const struct st_hash *hash, struct st_buf *bytes);

/** Forget bytes, for now: they are stored elsewhere. */
void st_bases_drop(struct st_bases *bases, const struct st_hash *hash);

/** The bytes of a hash, to be handed back with st_blob_put(); NULL if they are not there. */
struct st_blob *st_bases_get(struct st_bases *bases, const struct st_hash *hash);

/** Give a reference back; NULL is fine. */
void st_blob_put(struct st_blob *blob);

struct stet_session;

/**
 * How sessions reach what outlives them (core/state/state.h), of which they know
 * nothing else. stet_workspace_open() fills it in.
 */
struct st_state_hooks {
	void *data;
	/**
	 * A named session opens, or a call on it begins: fill in what other
	 * processes stored under its name. Returns 0 or the codes of st_store_do().
	 */
	int (*load)(void *data, struct stet_session *session, struct stet_error *err);
	/** A call ends, or the session closes: store its events and what it saw. What cannot be stored a notice says. */
	void (*save)(void *data, struct stet_session *session, bool closes);
	/** The session that wrote a version in another process, as far as the log tells. */
	bool (*find_writer)(void *data, const struct st_hash *hash, char name[128]);
};

struct stet_workspace {
	struct st_root root;
	/** Does what no caller waits for. It ends before its tasks' owners are released, who then finish by themselves. */
	struct st_background background;
	struct st_write_context writes;
	struct st_bases bases;
	struct st_state_hooks hooks;
	/** The name of the state directory. */
	char *state_dir;
	struct st_instructions_setup instructions;
	struct st_shared_watcher watcher;
	/** Which session wrote a version: hash to name. */
	struct st_lru writers;
	/** Guards writers and applied. */
	pthread_mutex_t history_lock;
	/** Edits that were applied, by st_workspace_applied(). */
	struct st_lru applied;
	/** Where snapshots are logged; NULL for nowhere. */
	char *log;
	/** Endings that text tools may touch, as ".md,.txt"; NULL for any. */
	char *extensions;
	_Atomic size_t max_file;
	_Atomic size_t max_diff;
	/** The most bytes of text in the answer of a tool. */
	_Atomic size_t page_bytes;
	/** Of enum st_state_level. */
	_Atomic int state;
	_Atomic bool durable;
	_Atomic bool require_read;
	/** Merge unless a call says otherwise. */
	_Atomic bool merge;
	/** No tool that writes is served. */
	_Atomic bool read_only;
	/** An expectedHash unlocks whole-file writes and deletions by tools. */
	_Atomic bool hash_proves;
	/** Servers send structuredContent too. */
	_Atomic bool structured;
	/** Prompts have the snapshot instead of the history, unless the story says otherwise. */
	_Atomic bool use_snapshot;
};

/**
 * Fill a zeroed workspace, but for its hooks.
 *
 * @return 0, or why the directory cannot be used; release it in either case.
 */
[[nodiscard]] int st_workspace_init(struct stet_workspace *ws, const char *root,
                                    struct stet_error *err);

/** Release it. Its threads have ended, and so has what the hooks reach. */
void st_workspace_release(struct stet_workspace *ws);

/** Remember that a session (name may be NULL) wrote a version. */
void st_workspace_wrote(struct stet_workspace *ws, const struct st_hash *hash, const char *name);

/** The name of the session that wrote a version, into name; false if no session of ours did. */
bool st_workspace_writer(struct stet_workspace *ws, const struct st_hash *hash, char name[128]);

/**
 * The name of a session without the owner before it, as people read it: over
 * HTTP names belong to a token, of which the stored name begins with a digest
 * (ST_OWNER_MAX digits and a colon).
 */
enum { ST_OWNER_MAX = 16 };
const char *st_name_of_owned(const char *name);

/**
 * The bytes of a version that was seen or written, from memory or from the
 * shelf (fs/versions/versions.h); to be handed back with st_blob_put(). NULL if they are not there.
 */
struct st_blob *st_workspace_base(struct stet_workspace *ws, const struct st_hash *hash);

/** A snapshot is given to a session (name may be NULL): into the log with it. */
void st_workspace_log(struct stet_workspace *ws, const char *session, struct st_str snapshot);

/**
 * Refuse a file whose ending is not allowed here (STET_E_EXTENSION).
 *
 * Whatever reads or writes content goes by this: through st_session_load(),
 * st_workspace_load() or st_workspace_check_move(). tools/lint
 * sees to it that tools and resources have no other way to a file.
 *
 * @path  Below the root, no link in it.
 */
[[nodiscard]] int st_workspace_check_type(const struct stet_workspace *ws, const char *path,
                                          struct stet_error *err);

/** The same for both names of what is to be moved, perhaps to another workspace, unless it is a directory. */
[[nodiscard]] int st_workspace_check_move(const struct stet_workspace *ws, const char *from,
                                          const struct stet_workspace *other, const char *to,
                                          struct stet_error *err);

/** As st_file_load(), of a file whose type is allowed. */
[[nodiscard]] int st_workspace_load(struct stet_workspace *ws, struct st_str path, size_t max,
                                    struct st_place *place, struct st_file *file,
                                    struct stet_error *err);

/** Have st_shared_watcher_dispatch() tell of instruction files wherever one appears, changes or goes; counted. */
[[nodiscard]] int st_workspace_watch_instructions(struct stet_workspace *ws,
                                                  struct stet_error *err);
void st_workspace_unwatch_instructions(struct stet_workspace *ws);

/** Refuse binary files (STET_E_BINARY). */
[[nodiscard]] int st_check_text(const char *path, struct st_str bytes, struct stet_error *err);

/** Remember that an edit, named by a hash of everything it says, was applied. */
void st_workspace_apply(struct stet_workspace *ws, const struct st_hash *edit);

/** Whether such an edit was applied, as far as is remembered. */
bool st_workspace_applied(struct stet_workspace *ws, const struct st_hash *edit);

#endif
