/** Every tool: NAME.c in files/, text/ or state/ defines st_NAME (grep.c: st_grep_tool). */
#ifndef STET_TOOLS_TABLE_H
#define STET_TOOLS_TABLE_H

#include "tools/tool.h"

extern const struct st_tool st_agents_md;
/** Not in the table: only the client's hooks call it (state/hook.c). */
extern const struct st_tool st_hook_tool;

extern const struct st_tool st_append_file;
extern const struct st_tool st_apply_patch;
extern const struct st_tool st_changes;
extern const struct st_tool st_check_conflict;
extern const struct st_tool st_clear_session;
extern const struct st_tool st_copy_file;
extern const struct st_tool st_create_directory;
extern const struct st_tool st_delete_file;
extern const struct st_tool st_directory_tree;
extern const struct st_tool st_edit_file;
extern const struct st_tool st_get_file_info;
extern const struct st_tool st_grep_tool;
extern const struct st_tool st_list_allowed_directories;
extern const struct st_tool st_list_directory;
extern const struct st_tool st_list_directory_with_sizes;
extern const struct st_tool st_move_file;
extern const struct st_tool st_others;
extern const struct st_tool st_read_file;
extern const struct st_tool st_read_media_file;
extern const struct st_tool st_read_multiple_files;
extern const struct st_tool st_read_text_file;
extern const struct st_tool st_record_tool_result;
extern const struct st_tool st_repo_state;
extern const struct st_tool st_search_files;
extern const struct st_tool st_story;
extern const struct st_tool st_tasks;
extern const struct st_tool st_text_inspect;
extern const struct st_tool st_text_patch;
extern const struct st_tool st_set_property;
extern const struct st_tool st_text_replace;
extern const struct st_tool st_history;
extern const struct st_tool st_undo;
extern const struct st_tool st_write_file;

#endif
