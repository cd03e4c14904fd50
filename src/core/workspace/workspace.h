/**
 * core/workspace holds a workspace: its root, its options and the things that
 * its sessions share. The configuration and file types belong here too.
 * stet/workspace.h has the public contract.
 */
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

/** The values of STET_OPTION_HOOK. */
enum st_hook_mode {
	ST_HOOK_MODE_WATCH,
	ST_HOOK_MODE_DENY,
	ST_HOOK_MODE_APPLY,
};

/** The contents of a file: reference counted and immutable. */
struct st_blob {
	int references;
	size_t len;
	char *bytes;
};

/**
 * A cache of the contents that sessions have seen, by hash: the base of diffs
 * and merges. It is bounded by bytes and evicts the least recently used. When a
 * base is missing, a refusal has no diff, but is still correct. Thread-safe.
 */
struct st_bases {
	pthread_mutex_t lock;
	struct st_lru lru;
};

/** Copy bytes into the cache. Does nothing if they are too large or memory is short. */
void st_bases_put(struct st_bases *bases, const struct st_hash *hash, struct st_str bytes);

/** As st_bases_put(), but takes the buffer's memory instead of copying it. */
void st_bases_give(struct st_bases *bases, const struct st_hash *hash, struct st_buf *bytes);

/** Remove bytes from the cache. */
void st_bases_drop(struct st_bases *bases, const struct st_hash *hash);

/** Get bytes by their hash; release them with st_blob_put(). Returns NULL if they are not cached. */
struct st_blob *st_bases_get(struct st_bases *bases, const struct st_hash *hash);

/** Drop a reference. The blob may be NULL. */
void st_blob_put(struct st_blob *blob);

struct stet_session;
struct st_places;

/**
 * How sessions call the layer above them that stores their state
 * (core/state/state.h). stet_workspace_open() sets these.
 */
struct st_state_hooks {
	void *data;
	/**
	 * Called when a named session opens and when a call on it begins: loads what
	 * other processes stored under its name. Returns 0 or the codes of st_store_do().
	 */
	int (*load)(void *data, struct stet_session *session, struct stet_error *err);
	/**
	 * Called when a call ends and when the session closes: stores its events and
	 * what it saw. If it cannot, it adds a notice.
	 */
	void (*save)(void *data, struct stet_session *session, bool closes);
	/** Find in the log which session of another process wrote a version. */
	bool (*find_writer)(void *data, const struct st_hash *hash, char name[128]);
};

struct stet_workspace {
	/** The program's handle and the open sessions: the last one to be closed frees the workspace. */
	_Atomic size_t references;
	struct st_root root;
	/** The background worker. It ends before the owners of its tasks are released; they finish their own tasks. */
	struct st_background background;
	struct st_write_context writes;
	struct st_bases bases;
	struct st_state_hooks hooks;
	/** The connection string of the hub; NULL for none. */
	char *hub;
	/** The names that the user gives to repositories (core/workspace/project.h); NULL for none. */
	char *project;
	/** What other checkouts of the repository do, for core/places. */
	struct st_places *places;
	/** The name of the state directory. */
	char *state_dir;
	struct st_instructions_setup instructions;
	struct st_shared_watcher watcher;
	/** Which session wrote a version: hash to name. */
	struct st_lru writers;
	/** Protects writers and applied. */
	pthread_mutex_t history_lock;
	/** The edits that st_workspace_applied() remembers. */
	struct st_lru applied;
	/** The file to log snapshots to; NULL for none. */
	char *log;
	/** The extensions of files that may be read and written, as ".md,.txt"; NULL for any. */
	char *extensions;
	_Atomic size_t max_file;
	_Atomic size_t max_diff;
	/** The most bytes of text in the answer of a tool. */
	_Atomic size_t page_bytes;
	/** Of enum st_state_level. */
	_Atomic int state;
	_Atomic bool durable;
	_Atomic bool require_read;
	/** The default of onStale: merge instead of refuse. */
	_Atomic bool merge;
	/** Servers offer no tool that writes. */
	_Atomic bool read_only;
	/** A matching expectedHash allows tools to overwrite or delete a file that the session has not read. */
	_Atomic bool hash_proves;
	/** The root is a folder of Markdown notes (core/workspace/vault.h). */
	_Atomic bool vault;
	/** Servers send structuredContent too. */
	_Atomic bool structured;
	/** Of enum st_hook_mode. */
	_Atomic int hook_mode;
	/** Prompts contain the snapshot instead of the history, unless the story overrides this. */
	_Atomic bool use_snapshot;
};

/**
 * Fill a zeroed workspace, except for its hooks.
 *
 * @return 0, or why the directory cannot be used; release it in either case.
 */
[[nodiscard]] int st_workspace_init(struct stet_workspace *ws, const char *root,
                                    struct stet_error *err);

/** Release it. Its threads must have ended, and the state that the hooks reach must be released. */
void st_workspace_release(struct stet_workspace *ws);

/** Remember that a session (name may be NULL) wrote a version. */
void st_workspace_wrote(struct stet_workspace *ws, const struct st_hash *hash, const char *name);

/** Find the name of the session that wrote a version. Returns false if none is known to have. */
bool st_workspace_writer(struct stet_workspace *ws, const struct st_hash *hash, char name[128]);

/**
 * The name of a session as people know it, without its owner's prefix. Over
 * HTTP a session belongs to a token, and its stored name begins with a digest
 * of the token: ST_OWNER_MAX digits and a colon.
 */
enum { ST_OWNER_MAX = 16 };
const char *st_name_without_owner(const char *name);

/**
 * The bytes of a version that a session saw or wrote, from the cache or from
 * the stored versions (fs/versions/versions.h); release them with st_blob_put().
 * Returns NULL if neither has them.
 */
struct st_blob *st_workspace_base(struct stet_workspace *ws, const struct st_hash *hash);

/** Log a snapshot that goes to a session (its name may be NULL). */
void st_workspace_log(struct stet_workspace *ws, const char *session, struct st_str snapshot);

/**
 * Refuse a file whose extension is not allowed (STET_E_EXTENSION).
 *
 * Everything that reads or writes contents must call this, through
 * st_session_load(), st_workspace_load() or st_workspace_check_move(); tools/lint
 * checks that tools and resources open files no other way.
 *
 * @path  Below the root, links resolved.
 */
[[nodiscard]] int st_workspace_check_type(const struct stet_workspace *ws, const char *path,
                                          struct stet_error *err);

/** The same for both names of a file to be moved, perhaps to another workspace. Allows directories. */
[[nodiscard]] int st_workspace_check_move(const struct stet_workspace *ws, const char *from,
                                          const struct stet_workspace *other, const char *to,
                                          struct stet_error *err);

/** As st_file_load(), but refuses a file whose type is not allowed. */
[[nodiscard]] int st_workspace_load(struct stet_workspace *ws, struct st_str path, size_t max,
                                    struct st_place *place, struct st_file *file,
                                    struct stet_error *err);

/** Have st_shared_watcher_dispatch() report instruction files; as st_shared_watcher_watch_names(). */
[[nodiscard]] int st_workspace_watch_instructions(struct stet_workspace *ws,
                                                  struct stet_error *err);
void st_workspace_unwatch_instructions(struct stet_workspace *ws);

/** Refuse binary files (STET_E_BINARY). */
[[nodiscard]] int st_check_text(const char *path, struct st_str bytes, struct stet_error *err);

/** Remember that an edit, identified by a hash of all its arguments, was applied. */
void st_workspace_apply(struct stet_workspace *ws, const struct st_hash *edit);

/** Whether such an edit is remembered. */
bool st_workspace_applied(struct stet_workspace *ws, const struct st_hash *edit);

#endif
