/* The table of tools, in the order of the lists that clients get. */
#include "tools/table.h"

const struct st_tool *const st_tools[] = {
	/* files */
	&st_read_file,
	&st_read_text_file,
	&st_read_multiple_files,
	&st_read_media_file,
	&st_write_file,
	&st_edit_file,
	&st_apply_patch,
	&st_append_file,
	&st_copy_file,
	&st_move_file,
	&st_delete_file,
	&st_create_directory,
	&st_list_directory,
	&st_list_directory_with_sizes,
	&st_directory_tree,
	&st_search_files,
	&st_grep_tool,
	&st_get_file_info,
	&st_list_allowed_directories,
	/* text */
	&st_text_inspect,
	&st_text_replace,
	&st_text_patch,
	&st_set_property,
	/* state */
	&st_repo_state,
	&st_story,
	&st_tasks,
	&st_record_tool_result,
	&st_changes,
	&st_others,
	&st_agents_md,
	&st_clear_session,
	&st_check_conflict,
	&st_undo,
	&st_history,
	NULL,
};
