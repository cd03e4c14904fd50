/* Suggest the name with the fewest typing mistakes. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"

const char *suggest(const char *typed, const char *const *names) {
	const char *best = NULL;
	/* A third of the letters may be wrong. The beginning of a name counts as one mistake. */
	size_t limit = strlen(typed) / 3 + 1;
	for (; *names; names++) {
		size_t far = stet_text_distance(typed, strlen(typed), *names, strlen(*names));
		if (strlen(typed) > 1 && strncmp(typed, *names, strlen(typed)) == 0)
			far = 1;
		if (far <= limit) {
			best = *names;
			limit = far - (far > 0);
		}
		if (far == 0)
			break;
	}
	return best;
}

const char *suggest_command(const char *typed) {
	const char *names[64] = {NULL};
	for (size_t i = 0; i < 63 && commands[i]; i++)
		names[i] = commands[i]->name;
	return suggest(typed, names);
}
