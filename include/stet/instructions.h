/**
 * Instructions: the AGENTS.md files of a workspace, given to a session when
 * they apply, and each text once.
 *
 * To a file apply the instructions of every directory from the root down to
 * its own: in each the first of AGENTS.override.md, AGENTS.md, agents.md and
 * the configured names. Directories are looked at when they are asked about;
 * no index and no watcher has to know them. What a session was given it is
 * not given again, be it through a link or as a copy, until it changes (it
 * then comes marked as a replacement) or stet_instructions_clear() is called. A file
 * that is gone is announced.
 *
 *     struct stet_instructions *agents = NULL;
 *
 *     if (stet_instructions_for_path(session, "src/ui/button.c", &agents, err) == 0)
 *             for (size_t i = 0; i < stet_instructions_count(agents); i++)
 *                     puts(stet_instructions_block(agents, i, NULL));
 *     stet_instructions_free(agents);
 *
 * One delivery is bounded (STET_OPTION_AGENTS_BUDGET). The nearest file gets
 * its share first; what does not fit is cut on a line, and says so.
 */
#ifndef STET_INSTRUCTIONS_H
#define STET_INSTRUCTIONS_H

#include "stet/session.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_instructions;

/**
 * Name further files that hold instructions, to be looked for after the
 * built-in ones.
 *
 * @names  Separated by commas, as "CLAUDE.md,GEMINI.md"; NULL or "" for none.
 *         Set it before sessions are at work.
 * @return 0, STET_E_INVALID (a name with a slash, too many names), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_instructions_names(struct stet_workspace *ws, const char *names,
                                                    struct stet_error *err);

/**
 * List every instruction file of the workspace, sorted by directory, with its
 * size and, for one that would not be loaded, why (spec: `index`). Ignored
 * directories are not entered. Nothing else depends on this.
 *
 * @return 0, or why the tree cannot be walked.
 */
STET_API STET_NODISCARD int stet_instructions_index(struct stet_workspace *ws,
                                                    struct stet_instructions **out,
                                                    struct stet_error *err);

/**
 * The root's instructions, if the session was not given them yet (spec:
 * `getRoot`): for the beginning of a session.
 *
 * @out    Receives what is new, to be freed; possibly nothing.
 * @return 0, STET_E_NOMEM, STET_E_LIMIT, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_instructions_root(struct stet_session *session,
                                                   struct stet_instructions **out,
                                                   struct stet_error *err);

/**
 * The instructions that apply to a path and that the session was not given
 * yet, the root's first and the nearest last (spec: `getForPath`).
 *
 * @path   A file, which need not exist, or a directory.
 * @out    Receives what is new, to be freed; possibly nothing.
 * @return 0, or why the path cannot be used.
 */
STET_API STET_NODISCARD int stet_instructions_for_path(struct stet_session *session,
                                                       const char *path,
                                                       struct stet_instructions **out,
                                                       struct stet_error *err);

/** As stet_instructions_for_path(), but all that apply, given before or not. They count as given now. */
STET_API STET_NODISCARD int stet_instructions_all(struct stet_session *session, const char *path,
                                                  struct stet_instructions **out,
                                                  struct stet_error *err);

/**
 * The instructions in a file's own directory, if the session was not given
 * them yet (spec: `getAgentsMdIfNew`).
 *
 * @out    Receives their text, to be freed with stet_free(); NULL if there is
 *         nothing new.
 * @return 0, or why the path cannot be used.
 */
STET_API STET_NODISCARD int stet_instructions_if_new(struct stet_session *session, const char *path,
                                                     char **out, struct stet_error *err);

/** Forget the cached content of a file (spec: `invalidate`). Never needed: a change is seen anyway. */
STET_API void stet_instructions_invalidate(struct stet_workspace *ws, const char *path);

/**
 * Let the session be given everything again (spec: `clearSession`): for when
 * an agent's context was emptied. What it has read stays known.
 */
STET_API void stet_instructions_clear(struct stet_session *session);

/** Free a list; NULL is fine. */
STET_API void stet_instructions_free(struct stet_instructions *agents);

/** How many files a list has. */
STET_API size_t stet_instructions_count(const struct stet_instructions *agents);

/** The path of one (from 0) below the root, as it was found; NULL beyond the last, as for all below. */
STET_API const char *stet_instructions_path(const struct stet_instructions *agents, size_t n);

/** Its text, cut if it has to be, and then with a line that says so; NULL in an index or if it is gone. */
STET_API const char *stet_instructions_content(const struct stet_instructions *agents, size_t n,
                                               size_t *len);

/** The text as a model should get it: a line that says what it is, then the content. */
STET_API const char *stet_instructions_block(const struct stet_instructions *agents, size_t n,
                                             size_t *len);

/** The size of the file in bytes, and how many of them were cut off; 0 beyond the last. */
STET_API size_t stet_instructions_size(const struct stet_instructions *agents, size_t n);
STET_API size_t stet_instructions_cut(const struct stet_instructions *agents, size_t n);

/** The first 16 hex digits of its SHA-256; NULL if it is gone or was not read. */
STET_API const char *stet_instructions_hash(const struct stet_instructions *agents, size_t n);

/** "new", "replaced" (it was given before and has changed), "removed" (it no longer applies), "listed". */
STET_API const char *stet_instructions_change(const struct stet_instructions *agents, size_t n);

/** The file whose `@path` brought it; NULL if none did. */
STET_API const char *stet_instructions_importer(const struct stet_instructions *agents, size_t n);

/** In an index: why it would not be loaded, as in "is empty"; NULL if it would. */
STET_API const char *stet_instructions_skipped(const struct stet_instructions *agents, size_t n);

/** The n-th sentence (from 0) on something that was left out; NULL beyond the last. Each is said once per session. */
STET_API const char *stet_instructions_notice(const struct stet_instructions *agents, size_t n);

/**
 * The list as JSON: {"files": [{path, change, size, hash, content, cut,
 * importedBy, skipped}], "notices": [...]}.
 *
 * @return A string to be freed with stet_free(); NULL if memory is short.
 */
STET_API char *stet_instructions_json(const struct stet_instructions *agents);

#ifdef __cplusplus
}
#endif

#endif
