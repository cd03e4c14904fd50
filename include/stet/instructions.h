/**
 * Instructions: the AGENTS.md files of a workspace. stet delivers them to a
 * session when they apply, each text once.
 *
 * The instructions of every directory from the root down to a file's own apply
 * to that file. Each directory contributes the first of AGENTS.override.md,
 * AGENTS.md, agents.md and the configured names. stet reads a directory when a
 * call concerns it, without an index or a watcher. It does not deliver the same
 * text to a session twice, not even as a link or a copy, unless the text
 * changes (it then comes marked as a replacement) or the program calls
 * stet_instructions_clear(). A deleted file is delivered as "removed".
 *
 *     struct stet_instructions *instructions = NULL;
 *
 *     if (stet_instructions_for_path(session, "src/ui/button.c", &instructions, err) == 0)
 *             for (size_t i = 0; i < stet_instructions_count(instructions); i++)
 *                     puts(stet_instructions_block(instructions, i, NULL));
 *     stet_instructions_free(instructions);
 *
 * STET_OPTION_AGENTS_BUDGET limits the size of one delivery. The file nearest
 * to the path gets its share of it first; a text that does not fit is truncated
 * at a line and says so.
 */
#ifndef STET_INSTRUCTIONS_H
#define STET_INSTRUCTIONS_H

#include "stet/session.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stet_instructions;

/**
 * Set further names of instruction files, which stet tries after the built-in
 * ones. Call it before sessions use the workspace.
 *
 * @names  Separated by commas, as "CLAUDE.md,GEMINI.md"; NULL or "" for none.
 * @return 0, STET_E_INVALID (a name with a slash, too many names), STET_E_NOMEM.
 */
STET_API STET_NODISCARD int stet_instructions_names(struct stet_workspace *ws, const char *names,
                                                    struct stet_error *err);

/**
 * List every instruction file of the workspace outside ignored directories,
 * sorted by directory: its size and, if stet would not load it, the reason.
 * No other function depends on this list.
 *
 * @return 0, or the reason why the tree cannot be walked.
 */
STET_API STET_NODISCARD int stet_instructions_index(struct stet_workspace *ws,
                                                    struct stet_instructions **out,
                                                    struct stet_error *err);

/**
 * Deliver the root's instructions if the session does not have them yet: for
 * the beginning of a session.
 *
 * @out    Receives a list of the new instructions, perhaps empty; to be freed.
 * @return 0, STET_E_NOMEM, STET_E_LIMIT, STET_E_IO.
 */
STET_API STET_NODISCARD int stet_instructions_root(struct stet_session *session,
                                                   struct stet_instructions **out,
                                                   struct stet_error *err);

/**
 * Deliver the instructions that apply to a path and that the session does not
 * have yet, the root's first and the nearest last.
 *
 * @path   A file, which need not exist, or a directory.
 * @out    Receives a list of the new instructions, perhaps empty; to be freed.
 * @return 0, or the reason why the path cannot be used.
 */
STET_API STET_NODISCARD int stet_instructions_for_path(struct stet_session *session,
                                                       const char *path,
                                                       struct stet_instructions **out,
                                                       struct stet_error *err);

/** Like stet_instructions_for_path(), but deliver also the instructions that the session has already. */
STET_API STET_NODISCARD int stet_instructions_all(struct stet_session *session, const char *path,
                                                  struct stet_instructions **out,
                                                  struct stet_error *err);

/**
 * Deliver the instructions in a file's own directory if the session does not
 * have them yet.
 *
 * @out    Receives their text, to be freed with stet_free(); NULL if there are
 *         no new ones.
 * @return 0, or the reason why the path cannot be used.
 */
STET_API STET_NODISCARD int stet_instructions_if_new(struct stet_session *session, const char *path,
                                                     char **out, struct stet_error *err);

/** Drop the cached content of a file. Never necessary: stet notices changes by itself. */
STET_API void stet_instructions_invalidate(struct stet_workspace *ws, const char *path);

/**
 * Forget which instructions were delivered, so that they are delivered again:
 * for an agent whose context was cleared. The session still knows which files
 * it has read.
 */
STET_API void stet_instructions_clear(struct stet_session *session);

/** Free a list; NULL is fine. */
STET_API void stet_instructions_free(struct stet_instructions *instructions);

/** The number of files in a list. */
STET_API size_t stet_instructions_count(const struct stet_instructions *instructions);

/** The path of the n-th file (from 0), relative to the root; NULL beyond the last. */
STET_API const char *stet_instructions_path(const struct stet_instructions *instructions, size_t n);

/** The text; if truncated, its last line says so. NULL in an index, or if the file was deleted. */
STET_API const char *stet_instructions_content(const struct stet_instructions *instructions,
                                               size_t n, size_t *len);

/** The text for a model: a heading line, then the content. */
STET_API const char *stet_instructions_block(const struct stet_instructions *instructions, size_t n,
                                             size_t *len);

/** The size of the file in bytes, and how many of them were truncated; 0 beyond the last. */
STET_API size_t stet_instructions_size(const struct stet_instructions *instructions, size_t n);
STET_API size_t stet_instructions_cut(const struct stet_instructions *instructions, size_t n);

/** The first 16 hex digits of the file's SHA-256; NULL if it was deleted or not read. */
STET_API const char *stet_instructions_hash(const struct stet_instructions *instructions, size_t n);

/** "new", "replaced" (the session has an earlier version), "removed" (it no longer applies), "listed". */
STET_API const char *stet_instructions_change(const struct stet_instructions *instructions,
                                              size_t n);

/** The file that imports this one with `@path`; NULL if none does. */
STET_API const char *stet_instructions_importer(const struct stet_instructions *instructions,
                                                size_t n);

/** In an index: the reason why stet would not load the file, such as "is empty"; NULL if it would. */
STET_API const char *stet_instructions_skipped(const struct stet_instructions *instructions,
                                               size_t n);

/** The n-th notice (from 0), a sentence about a text that was left out; each comes once per session. */
STET_API const char *stet_instructions_notice(const struct stet_instructions *instructions,
                                              size_t n);

/**
 * The list as JSON: {"files": [{path, change, size, hash, content, cut,
 * importedBy, skipped}], "notices": [...]}.
 *
 * @return A string to be freed with stet_free(); NULL if out of memory.
 */
STET_API char *stet_instructions_json(const struct stet_instructions *instructions);

#ifdef __cplusplus
}
#endif

#endif
