#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

const struct command *const commands[] = {
	&agents_command,
	NULL,
};

const struct command *command_find(const char *name) {
	for (size_t i = 0; commands[i]; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

int usage_error(const struct command *command, const char *problem, const char *what) {
	fprintf(stderr, "stet %s: %s \"%s\".\nUsage: stet %s %s", command->name, problem, what,
	        command->name, command->usage);
	return 2;
}

int report(const struct stet_error *err) {
	fprintf(stderr, "stet: %s\n", err->message);
	return stet_error_exit(err->code);
}

void put(const char *text, size_t len) {
	fwrite(text, 1, len, stdout);
}

/* Output that did not arrive is a failure: stdout may be a full disk. */
int flush_output(void) {
	if (fflush(stdout) == EOF || ferror(stdout)) {
		perror("stet: cannot write to standard output");
		return 3;
	}
	return 0;
}
