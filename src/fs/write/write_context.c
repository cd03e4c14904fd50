#include "fs/write/write_context.h"

void st_write_context_init(struct st_write_context *writes, const struct st_root *root,
                           const char *state_dir, struct st_background *background) {
	*writes = (struct st_write_context){.root = root, .state_dir = state_dir};
	pthread_mutex_init(&writes->lock, NULL);
	st_notices_init(&writes->notices);
	st_rescued_init(&writes->rescued, root, state_dir, &writes->notices);
	st_late_writes_init(&writes->late_writes, &writes->rescued, background);
	st_versions_init(&writes->versions, root, state_dir, &writes->notices, background);
	st_state_folder_init(&writes->journals, root, state_dir, "changes");
}

void st_write_context_release(struct st_write_context *writes) {
	st_late_writes_release(&writes->late_writes);
	st_state_folder_release(&writes->journals);
	st_versions_release(&writes->versions);
	st_rescued_release(&writes->rescued);
	st_notices_release(&writes->notices);
	pthread_mutex_destroy(&writes->lock);
}

void st_write_set_state_dir(struct st_write_context *writes, const char *state_dir) {
	writes->state_dir = state_dir;
	writes->rescued.folder.state_dir = state_dir;
	writes->versions.moved.state_dir = state_dir;
	writes->versions.archive.state_dir = state_dir;
	writes->journals.state_dir = state_dir;
}

bool st_write_free_space(struct st_write_context *writes) {
	if (st_versions_free_space(&writes->versions.archive))
		return true;
	/* A replaced file takes its space for as long as late_writes has it open. */
	bool closed = st_late_writes_drain(&writes->late_writes, 0);
	return st_versions_free_space(&writes->versions.moved) || closed;
}
