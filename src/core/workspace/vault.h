/**
 * A vault: a workspace that is a folder of Markdown notes, as Obsidian has it.
 *
 * Only Markdown files are open to tools, `.obsidian` belongs to the application,
 * and comments (`%% ... %%`) belong to the person: a change keeps each of them byte
 * for byte, though it may move them or add others.
 */
#ifndef STET_CORE_WORKSPACE_VAULT_H
#define STET_CORE_WORKSPACE_VAULT_H

#include "core/workspace/workspace.h"

/** The types of files in a vault, unless the user names others. */
#define ST_VAULT_TYPES ".md,.markdown"

/** Refuse a path that leads to or through `.obsidian` of a vault (STET_E_PROTECTED). */
[[nodiscard]] int st_vault_check_path(const struct stet_workspace *ws, const char *path,
                                      struct stet_error *err);

/**
 * Refuse a change that alters or drops a comment of a note in a vault.
 *
 * @return 0, STET_E_PROTECTED, STET_E_NOMEM or STET_E_CANCELLED.
 */
[[nodiscard]] int st_vault_check_change(const struct stet_workspace *ws, const char *path,
                                        struct st_str old, struct st_str new,
                                        struct stet_error *err);

/** Add a notice if a program that syncs the root would sync the state directory, too. */
void st_vault_note_sync(struct stet_workspace *ws);

#endif
