/**
 * A workspace: a root directory. No path leads out of it, neither by `..` nor by
 * a symbolic link.
 *
 * All sessions in a directory share its workspace. Opening a workspace does not
 * change the directory; stet creates `.stet/` in it when it has state to store.
 *
 *     struct stet_workspace *ws = NULL;
 *     if (stet_workspace_open(".", &ws, err) < 0)
 *             return 1;
 *     puts(stet_workspace_root(ws));
 *     stet_workspace_close(ws);
 *
 * A workspace may be used from several threads.
 */
#ifndef STET_WORKSPACE_H
#define STET_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

#include "stet/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_workspace;

/** The options of a workspace. */
enum stet_option {
	/** 1 (the default): a write is on disk when the call returns. 0: the system writes it later. */
	STET_OPTION_DURABLE = 0,
	/** The largest file to read or write, in bytes; 64 MiB by default. */
	STET_OPTION_MAX_FILE = 1,
	/** The largest diff in an answer, in bytes; 16 KiB by default. */
	STET_OPTION_MAX_DIFF = 2,
	/** The most bytes of read versions to keep in memory for diffs; 64 MiB by default. */
	STET_OPTION_MAX_BASES = 3,
	/** 1: a session must read a file before editing it. 0 (the default): quoting the old text suffices. */
	STET_OPTION_REQUIRE_READ = 4,
	/** 1: merge an edit with changes by others elsewhere in the file. 0 (the default): refuse the edit. */
	STET_OPTION_MERGE = 5,
	/**
	 * 1 (the default): answers about a file include the AGENTS.md files that
	 * newly apply. 2: except the root's, for clients that load it themselves.
	 * 0: none.
	 */
	STET_OPTION_AGENTS = 6,
	/** 1 (the default): load no AGENTS.md in .git, node_modules and dist. */
	STET_OPTION_AGENTS_BUILTIN = 7,
	/** 1 (the default): load no AGENTS.md in directories that .gitignore excludes. */
	STET_OPTION_AGENTS_GITIGNORE = 8,
	/** The most bytes of AGENTS.md files in one answer, and of a single file; 32 KiB by default. */
	STET_OPTION_AGENTS_BUDGET = 9,
	/**
	 * What to store in the state directory. 0: nothing. 1 (the default): the
	 * versions that named sessions have seen, the files that tool calls read and
	 * write, and a log of writes (stet/state.h). 2: the same for all calls.
	 */
	STET_OPTION_STATE = 10,
	/** 1: a host offers its clients no tools that write. 0 (the default): all tools. */
	STET_OPTION_READ_ONLY = 11,
	/**
	 * The most bytes of text in a tool's answer, AGENTS.md included; 20,000 by
	 * default, at least 4,096. The next call returns the rest. Only lines that
	 * were in an answer count as seen.
	 */
	STET_OPTION_PAGE_BYTES = 12,
	/**
	 * 1: tools replace or delete a file that the session has not read if the
	 * call has its expectedHash; for scripts. 0 (the default): the session must
	 * have read the file.
	 */
	STET_OPTION_HASH_PROVES = 13,
	/** 1: a server's answers have structuredContent besides text. 0 (the default): text only. */
	STET_OPTION_STRUCTURED = 14,
	/**
	 * 1 (the default): prompts have the snapshot instead of the history
	 * (stet_context_take()). 0: the full history. stet_story_use_snapshot()
	 * overrides it for a story.
	 */
	STET_OPTION_USE_SNAPSHOT = 15,
	/**
	 * For how many days an earlier version of a file is kept after its last use;
	 * 30 by default, 0 for any time. STET_OPTION_MAX_BASES bounds their bytes.
	 */
	STET_OPTION_VERSION_DAYS = 16,
	/**
	 * What stet_hook_run() does about a change by an agent's own tool that would
	 * overwrite what the model has not seen. 0: it only records and reports. 1
	 * (the default): it denies. 2: it makes the change itself, and merges.
	 */
	STET_OPTION_HOOK = 17,
	/**
	 * 1: the root is a vault, a folder of Markdown notes. Unless
	 * stet_workspace_allow() names other types, tools read and write Markdown
	 * only; `.obsidian` is protected; and a change that would alter one of
	 * Obsidian's comments (`%% ... %%`) is refused with STET_E_PROTECTED. 0 is the
	 * default.
	 */
	STET_OPTION_VAULT = 18,
};

/**
 * Open a workspace.
 *
 * @root   A directory.
 * @out    Receives the handle, to be closed.
 * @return 0, STET_E_NOT_FOUND, STET_E_KIND, STET_E_ACCESS, STET_E_LIMIT,
 *         STET_E_NOMEM, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_workspace_open(const char *root, struct stet_workspace **out,
                                                struct stet_error *err);

/**
 * Close a workspace; NULL is fine. Its open sessions go on, and the last of them
 * to be closed closes it.
 *
 * stet checks recently replaced files a last time for late writes: writes to the
 * old file by a process that looked it up before, or had it open where there are
 * no leases. This may take ten milliseconds, or two
 * seconds if a process is still writing. Take the notices first: closing frees
 * them.
 */
STET_API void stet_workspace_close(struct stet_workspace *ws);

/** Set an option. Returns 0 or STET_E_INVALID (unknown option, value out of range). */
STET_API STET_NODISCARD int stet_workspace_set(struct stet_workspace *ws, enum stet_option option,
                                               int64_t value, struct stet_error *err);

/**
 * Allow only files of these types. Reading or writing the content of another
 * file fails with STET_E_EXTENSION; stet still delivers instructions and lists
 * names. Call it before sessions use the workspace.
 *
 * @extensions  Separated by commas, as ".md,.txt"; case does not matter. NULL or
 *              "" for all files.
 * @return      0 or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_workspace_allow(struct stet_workspace *ws, const char *extensions,
                                                 struct stet_error *err);

/**
 * Use another state directory than `.stet`. Call it before sessions use the
 * workspace.
 *
 * @name   A name without slashes; stet creates the directory below the root when
 *         it needs it.
 * @return 0, STET_E_INVALID or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_workspace_state_dir(struct stet_workspace *ws, const char *name,
                                                     struct stet_error *err);

/**
 * Tell other machines through a PostgreSQL database what agents change here, and
 * learn what they change there. Nothing is sent but paths, hashes, line numbers,
 * branches and names of sessions. Only calls about tasks wait for the hub,
 * two seconds at most; see docs/hub.md.
 * Call it before sessions use the workspace.
 *
 * @conninfo  Any connection string of libpq, without a password; NULL or "" for no hub.
 * @return    0, STET_E_INVALID (it has a password) or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_workspace_hub(struct stet_workspace *ws, const char *conninfo,
                                               struct stet_error *err);

/**
 * Name the repository that other places and machines know by another remote, or
 * that has none; see docs/places.md. Call it before sessions use the workspace.
 *
 * @names   NAME, or FROM=NAME for the repository with the remote or the path FROM;
 *          several with commas between them. NULL or "" for none.
 * @return  0, STET_E_INVALID or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_workspace_project(struct stet_workspace *ws, const char *names,
                                                   struct stet_error *err);

/**
 * Log every snapshot of the state that stet delivers, as a line of JSON with
 * time, session, tokens and snapshot.
 *
 * @file   The file to append to, also outside the root; NULL for no log. If it
 *         cannot be written, a notice says so.
 * @return 0 or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_workspace_log(struct stet_workspace *ws, const char *file,
                                               struct stet_error *err);

/** The root's absolute path, with symbolic links resolved; valid while the workspace is open. */
STET_API const char *stet_workspace_root(const struct stet_workspace *ws);

/**
 * The type of the root's filesystem if its files can change without this kernel
 * noticing, such as "fuse" or "nfs"; NULL if it is local.
 * docs/filesystems.md lists which guarantees do not hold there.
 */
STET_API const char *stet_workspace_shared(const struct stet_workspace *ws);

/**
 * Wait until all replaced files have been checked a last time for late writes:
 * for a program that is about to exit and wants to report them.
 *
 * Waits up to two seconds where a process still has a file open for writing.
 *
 * @grace_ms  The age of a replaced file at its last check, up to 2000.
 */
STET_API void stet_workspace_drain(struct stet_workspace *ws, int64_t grace_ms);

/**
 * Take the next notice: a sentence about an event that no call asked for, such
 * as a rescued late write or a fallback. Answers carry the notices that have
 * come up before them; this function returns the rest.
 *
 * @return A string to be freed with stet_free(); NULL if there is no notice.
 */
STET_API char *stet_workspace_notice(struct stet_workspace *ws);

/** Free memory that the library returned; NULL is fine. */
STET_API void stet_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
