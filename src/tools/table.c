/* The table of tools, in the order in which they are listed. */
#include "tools/table.h"

const struct st_tool *const st_tools[] = {
	&st_read_file,
	&st_write_file,
	&st_edit_file, /* files */
	&st_text_inspect,
	&st_text_replace,
	&st_text_patch, /* text */
	&st_changes,
	&st_agents_md,
	&st_clear_session, /* state */
	NULL,
};
