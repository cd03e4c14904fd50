/*
 * Prints stet's description of itself, for tools/make-docs: its tools as a JSON array,
 * its commands and the keys of its configuration as a JSON object with
 * "commands", or with "guide" the editing guide.
 */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

static int dump_tools(void) {
	putchar('[');
	for (size_t i = 0; i < stet_tool_count(); i++) {
		char *json = stet_tool_json(i);
		if (!json)
			return 1;
		printf("%s%s", i ? ",\n" : "", json);
		stet_free(json);
	}
	puts("]");
	return 0;
}

/* A member of the n-th element of a list below a pointer. */
static void set(struct stet_json *json, const char *list, size_t n, const char *key,
                const char *text) {
	char pointer[128];
	snprintf(pointer, sizeof pointer, "%s/%zu/%s", list, n, key);
	if (text)
		stet_json_set_text(json, pointer, text, strlen(text));
}

/* One more element of a list. */
static void begin(struct stet_json *json, const char *list) {
	char pointer[128];
	snprintf(pointer, sizeof pointer, "%s/-", list);
	stet_json_set_json(json, pointer, "{}", 2);
}

static void dump_options(struct stet_json *json, const char *list, const struct option *option) {
	for (size_t i = 0; option && option->name; i++, option++) {
		begin(json, list);
		set(json, list, i, "name", option->name);
		set(json, list, i, "value", option->value);
		set(json, list, i, "description", option->description);
	}
}

static void dump_command(struct stet_json *json, size_t n, const struct command *command) {
	char list[64];
	begin(json, "/commands");
	set(json, "/commands", n, "name", command->name);
	set(json, "/commands", n, "summary", command->summary);
	set(json, "/commands", n, "synopsis", command->synopsis);
	set(json, "/commands", n, "description", command->description);
	snprintf(list, sizeof list, "/commands/%zu/options", n);
	dump_options(json, list, command->options);
	snprintf(list, sizeof list, "/commands/%zu/examples", n);
	for (size_t i = 0; command->examples[i].line; i++) {
		begin(json, list);
		set(json, list, i, "line", command->examples[i].line);
		set(json, list, i, "what", command->examples[i].what);
	}
}

static int dump_commands(void) {
	struct stet_json *json = stet_json_new();
	if (!json)
		return 1;
	dump_options(json, "/options", common_options);
	for (size_t i = 0; commands[i]; i++)
		dump_command(json, i, commands[i]);
	for (size_t i = 0; stet_config_key(i); i++) {
		begin(json, "/config");
		set(json, "/config", i, "key", stet_config_key(i));
		set(json, "/config", i, "default", stet_config_default(i));
		set(json, "/config", i, "rule", stet_config_rule(i));
		set(json, "/config", i, "description", stet_config_description(i));
	}
	char *text = stet_json_write(json, 1, NULL);
	int status = text ? puts(text) < 0 : 1;
	stet_free(text);
	stet_json_free(json);
	return status;
}

int main(int argc, char **argv) {
	if (argc == 2 && strcmp(argv[1], "guide") == 0)
		return fputs(stet_editing_guide(), stdout) < 0;
	if (argc == 2 && strcmp(argv[1], "commands") == 0)
		return dump_commands();
	return dump_tools();
}
