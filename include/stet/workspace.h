/**
 * A workspace: a root directory, opened once, that nothing gets out of.
 *
 * All sessions over a directory share its workspace. Opening has no side
 * effect on the directory; `.stet/` is made below it when something has to be
 * kept there.
 *
 *     struct stet_workspace *ws = NULL;
 *     if (stet_workspace_open(".", &ws, err) < 0)
 *             return 1;
 *     ...
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

/** What can be set on a workspace. */
enum stet_option {
	/** 1 (the default): a write has reached the disk when it is acknowledged. 0: relaxed. */
	STET_OPTION_DURABLE,
	/** The largest file that is read or written, in bytes; 64 MiB by default. */
	STET_OPTION_MAX_FILE,
	/** The largest diff in an answer, in bytes; 16 KiB by default. */
	STET_OPTION_MAX_DIFF,
	/** How many bytes of what was read are remembered for diffs; 64 MiB by default. */
	STET_OPTION_MAX_BASES,
	/** 1: every edit needs an earlier read. 0 (the default): the old text is proof enough. */
	STET_OPTION_REQUIRE_READ,
	/** 1: what others changed meanwhile is merged if it does not touch the edit. 0 (the default): refused. */
	STET_OPTION_MERGE,
	/**
	 * 1 (the default): answers about a file bring the AGENTS.md that newly apply.
	 * 2: all but the root's own, for clients that load that themselves. 0: none.
	 */
	STET_OPTION_AGENTS,
	/** 1 (the default): no AGENTS.md below .git, node_modules and dist is loaded. */
	STET_OPTION_AGENTS_BUILTIN,
	/** 1 (the default): nor one in a directory that .gitignore excludes. */
	STET_OPTION_AGENTS_GITIGNORE,
	/** The most bytes of AGENTS.md in one delivery, and of one file at all; 32 KiB by default. */
	STET_OPTION_AGENTS_BUDGET,
	/**
	 * What is kept in the state directory. 0: nothing. 1 (the default): what
	 * named sessions have seen; and of the calls of tools, the files they read
	 * and write, and a log of writes (stet/state.h). 2: the same of all calls.
	 */
	STET_OPTION_STATE,
	/** 1: a desk's agents are served no tool that writes. 0 (the default): all tools. */
	STET_OPTION_READ_ONLY,
	/**
	 * The most bytes of text in the answer of a tool, AGENTS.md included; 20,000
	 * by default. What does not fit comes with the next call, and only what was
	 * in an answer counts as seen. At least 4,096.
	 */
	STET_OPTION_PAGE_BYTES,
	/**
	 * 1: an expectedHash proves that the caller knows the file, so that tools
	 * replace or delete it unread; for scripts. 0 (the default): only lines that
	 * were sent to the session do.
	 */
	STET_OPTION_HASH_PROVES,
	/** 1: a server's answers carry structuredContent besides their text. 0 (the default): not. */
	STET_OPTION_STRUCTURED,
	/**
	 * 1 (the default): prompts have the snapshot instead of the history
	 * (stet_context_take()). 0: the full history. A story may say otherwise for
	 * itself, see stet_story_use_snapshot().
	 */
	STET_OPTION_USE_SNAPSHOT,
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
 * Close a workspace whose sessions are closed; NULL is fine.
 *
 * Files that were replaced a moment ago are looked at a last time for late
 * writes, which may take ten milliseconds (two seconds if somebody is still
 * writing one of them). Take the notices before: they go with the workspace.
 */
STET_API void stet_workspace_close(struct stet_workspace *ws);

/** Set an option. Returns 0 or STET_E_INVALID (unknown option, value out of range). */
STET_API STET_NODISCARD int stet_workspace_set(struct stet_workspace *ws, enum stet_option option,
                                               int64_t value, struct stet_error *err);

/**
 * Allow files with these endings only, to whatever reads or writes content:
 * other files are refused with STET_E_EXTENSION. Instructions are delivered all
 * the same, and names are listed.
 *
 * @extensions  Separated by commas, as ".md,.txt", in any case; NULL or "" for
 *              any file. Set it before sessions are at work.
 * @return      0 or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_workspace_allow(struct stet_workspace *ws, const char *extensions,
                                                 struct stet_error *err);

/**
 * Keep state in another directory than `.stet`.
 *
 * @name   A single name; the directory is made below the root when needed. Set
 *         it before sessions are at work.
 * @return 0, STET_E_INVALID or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_workspace_state_dir(struct stet_workspace *ws, const char *name,
                                                     struct stet_error *err);

/**
 * Log every snapshot of the state that is given to somebody: a line of JSON
 * with time, session, tokens and snapshot, appended.
 *
 * @file   Need not be below the root; NULL for no log. One that cannot be
 *         written to is told of in a notice.
 * @return 0 or STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_workspace_log(struct stet_workspace *ws, const char *file,
                                               struct stet_error *err);

/** The root's absolute path without links; valid while the workspace is open. */
STET_API const char *stet_workspace_root(const struct stet_workspace *ws);

/**
 * The root's filesystem if others can write below it without this kernel
 * noticing, such as "fuse" or "nfs"; NULL if it is local. docs/filesystems.md
 * says what is not promised there.
 */
STET_API const char *stet_workspace_shared(const struct stet_workspace *ws);

/**
 * Wait until everything replaced so far has been looked at a last time for
 * late writes: for a program that is about to exit and wants to report them.
 *
 * @grace_ms  How old a replaced file should be at that last look, up to 2000.
 */
STET_API void stet_workspace_drain(struct stet_workspace *ws, int64_t grace_ms);

/**
 * Take the next notice: a sentence on something that happened besides what
 * was asked, such as a late write that was kept, or a fallback. Answers carry
 * the notices that were waiting when they were made; this is for the rest.
 *
 * @return A string to be freed with stet_free(), or NULL if none waits.
 */
STET_API char *stet_workspace_notice(struct stet_workspace *ws);

/** Free memory that the library handed out; NULL is fine. */
STET_API void stet_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
