/* stet who: list the places where agents work on this repository. */
#include "cli/cli.h"

static int run_who(const struct options *options, const struct arguments *args) {
	(void)args;
	return cli_run(options, DONE, "others", stet_json_new(), NULL);
}

const struct command who_command = {
	.name = "who",
	.summary = "list who works on this repository in which checkout",
	.description =
		"Lists the checkouts of this repository on this machine, worktrees and clones, in which "
		"agents were active: who, when, and the files they changed, with the lines.\n\n"
		"Agents report by themselves what they do through stet, into a small database in your "
		"state directory. A file that was edited in the last ten minutes is shown as being edited; "
		"that blocks nobody.",
	.examples = (const struct example[]){{"stet who", "who else works on this repository"}, {0}},
	.run = run_who,
};
