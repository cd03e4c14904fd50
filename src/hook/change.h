/**
 * The changes that an agent's tool makes: one of an edit or a write, one for
 * each file of a patch.
 *
 *     st_auto(st_hook_changes) changes = {0};
 *     if (st_hook_changes_read(call, &changes))
 *             judge(changes.items, changes.count);
 */
#ifndef STET_HOOK_CHANGE_H
#define STET_HOOK_CHANGE_H

#include "hook/hook.h"
#include "text/patch/edits.h"

struct st_hook_change {
	/** The path in the form that the session takes; owned. */
	char *path;
	/** It replaces the whole file, by `content`. */
	bool whole;
	bool removes;
	/** Of an edit: the texts are its own, borrowed from the event. */
	struct st_str old_text, new_text;
	bool all;
	struct st_str content;
	/** The new file gets the byte order mark and the line ends of the old one: models write LF. */
	bool keeps_form;
	/** Hunks of a patch: they name the lines they replace, but stet does not apply them here. */
	bool hunks_only;
};

struct st_hook_changes {
	struct st_hook_change *items;
	size_t count;
};

void st_hook_changes_release(struct st_hook_changes *changes);

/** Read the changes from an event. False if there is none below the root, or memory is short. */
bool st_hook_changes_read(const struct st_hook_call *call, struct st_hook_changes *changes);

/** Make the new contents from the old ones, as st_change.make. */
[[nodiscard]] int st_hook_change_make(const struct st_hook_change *change, struct st_str old,
                                      struct st_buf *new, struct stet_error *err);

/** Make the new contents of a file as the event's patch says. False if it cannot be applied. */
bool st_hook_patch_make(const struct st_hook_call *call, const struct st_hook_change *change,
                        struct st_str old, struct st_buf *new);

/**
 * Apply a patch as one change set, merging, and deny the tool with what was
 * done, or with the refusals. False if stet cannot: then nothing is changed.
 */
bool st_hook_apply_patch(struct st_hook_call *call);

#endif
