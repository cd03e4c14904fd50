#include "cli/commands.h"

#include <string.h>

// clang-format off
const struct command *const commands[] = {
	&mcp_command,
	&serve_command,
	&page_command,
	&top_command,
	&read_command,
	&write_command,
	&edit_command,
	&replace_command,
	&patch_command,
	&apply_command,
	&inspect_command,
	&grep_command,
	&check_command,
	&hash_command,
	&hook_command,
	&agents_command,
	&watch_command,
	&snapshot_command,
	&story_command,
	&task_command,
	&record_command,
	&prompt_command,
	&compact_command,
	&replay_command,
	&changes_command,
	&log_command,
	&show_command,
	&diff_command,
	&undo_command,
	&who_command,
	&forecast_command,
	&setup_command,
	&doctor_command,
	NULL,
};
// clang-format on

const struct option common_options[] = {
	{"--root", "DIR", "the workspace, instead of the working directory"},
	{"--session", "NAME", "the session that remembers what was read"},
	{"--json", NULL, "print the answer as JSON"},
	{"--set", "KEY=VALUE", "set a key of the configuration; stet doctor lists them"},
	{"--color", "auto|always|never", "when to use colours"},
	{"--help", NULL, "print help"},
	OPTIONS_END,
};

const struct command *command_find(const char *name) {
	for (size_t i = 0; commands[i]; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}
