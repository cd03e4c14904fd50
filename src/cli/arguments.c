/* Read the command line against the table of a command. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

const char *operand(const struct arguments *args, int n) {
	return n < args->count ? args->operands[n] : NULL;
}

const char *option_value_at(const struct arguments *args, const char *name, int n) {
	for (int i = 0; i < args->option_count; i++) {
		if (strcmp(args->option_value[i].name, name) == 0 && n-- == 0)
			return args->option_value[i].value;
	}
	return NULL;
}

static const struct option_value *find_option_value(const struct arguments *args,
                                                    const char *name) {
	for (int i = args->option_count - 1; i >= 0; i--) {
		if (strcmp(args->option_value[i].name, name) == 0)
			return &args->option_value[i];
	}
	return NULL;
}

bool has_option(const struct arguments *args, const char *name) {
	return find_option_value(args, name) != NULL;
}

const char *option_value(const struct arguments *args, const char *name) {
	const struct option_value *option_value = find_option_value(args, name);
	return option_value ? option_value->value : NULL;
}

int option_number(const struct arguments *args, const char *name, int64_t min, int64_t max,
                  int64_t fallback, int64_t *out) {
	const char *text = option_value(args, name);
	char *end = NULL;
	*out = fallback;
	if (!text)
		return DONE;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	bool number = errno == 0 && end != text && *end == '\0';
	if ((!number || value < min) && max == INT64_MAX)
		return usage_error(args->command, "%s takes a number from %" PRId64 ", not \"%s\"", name,
		                   min, text);
	if (!number || value < min || value > max)
		return usage_error(args->command,
		                   "%s takes a number from %" PRId64 " to %" PRId64 ", not \"%s\"", name,
		                   min, max, text);
	*out = value;
	return DONE;
}

/* Whether a word is one of "a|b|c". */
static bool is_choice(const char *choices, const char *word) {
	size_t len = strlen(word);
	for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
		if (len > 0 && strncmp(at, word, len) == 0 && (at[len] == '|' || at[len] == '\0'))
			return true;
	}
	return false;
}

/* Find the option of an argument "--name" or "--name=value". */
static const struct option *find_option(const struct option *options, const char *arg) {
	/* The only short option. */
	if (strcmp(arg, "-h") == 0)
		arg = "--help";
	size_t len = strcspn(arg, "=");
	for (; options && options->name; options++) {
		if (strlen(options->name) == len && memcmp(options->name, arg, len) == 0)
			return options;
	}
	return NULL;
}

/* Read the value of an option. Returns how many arguments it used, or -1 after reporting an error. */
static int read_value(const struct command *command, const struct option *option, int argc,
                      char **argv, const char **value) {
	const char *option_value = strchr(argv[0], '=');
	*value = option_value ? option_value + 1 : NULL;
	if (option_value && !option->value) {
		usage_error(command, "%s takes no value", option->name);
		return -1;
	}
	if (option_value || !option->value)
		return 1;
	if (argc < 2) {
		usage_error(command, "%s needs a value: %s", option->name, option->value);
		return -1;
	}
	*value = argv[1];
	return 2;
}

static int read_checked(const struct command *command, const struct option *option, int argc,
                        char **argv, const char **value) {
	int used = read_value(command, option, argc, argv, value);
	if (used > 0 && option->value && strchr(option->value, '|') &&
	    !is_choice(option->value, *value)) {
		usage_error(command, "%s must be one of %s, not \"%s\"", option->name, option->value,
		            *value);
		return -1;
	}
	return used;
}

static int read_setting(const struct command *command, struct options *options, const char *value,
                        int used) {
	if (!value || !strchr(value, '=') || options->set_count == 16) {
		usage_error(command, "--set takes KEY=VALUE, up to 16 times, not \"%s\"", value);
		return -1;
	}
	options->set[options->set_count++] = value;
	return used;
}

static int read_common(const struct command *command, struct options *options, int argc,
                       char **argv) {
	const struct option *option = find_option(common_options, argv[0]);
	const char *value = NULL;
	int used = option ? read_checked(command, option, argc, argv, &value) : 0;
	if (used <= 0)
		return used;
	if (strcmp(option->name, "--root") == 0)
		options->root = value;
	else if (strcmp(option->name, "--session") == 0)
		options->session_named = (options->session = value) != NULL;
	else if (strcmp(option->name, "--set") == 0)
		return read_setting(command, options, value, used);
	else if (strcmp(option->name, "--json") == 0)
		options->json = true;
	else if (strcmp(option->name, "--color") == 0)
		options->color = value;
	else
		options->help = true;
	return used;
}

int common_option_read(struct options *options, int argc, char **argv) {
	return read_common(NULL, options, argc, argv);
}

static int unknown_option(const struct command *command, const char *arg) {
	const char *names[64] = {NULL};
	size_t count = 0;
	for (const struct option *option = command->options; option && option->name && count < 50;)
		names[count++] = option++->name;
	for (const struct option *option = common_options; option->name; option++)
		names[count++] = option->name;
	const char *near = suggest(arg, names);
	return near ? usage_error(command, "there is no option %s. Did you mean %s?", arg, near)
	            : usage_error(command, "there is no option %s", arg);
}

/* Read one option after the command. Returns how many arguments it used, or a negative number on an error. */
static int read_option(struct arguments *args, struct options *options, int argc, char **argv) {
	const struct command *command = args->command;
	const struct option *option = find_option(command->options, argv[0]);
	if (!option) {
		int used = read_common(command, options, argc, argv);
		return used != 0 ? used : -unknown_option(command, argv[0]);
	}
	const char *value = NULL;
	int used = read_checked(command, option, argc, argv, &value);
	if (used > 0)
		args->option_value[args->option_count++] = (struct option_value){option->name, value};
	return used;
}

/* The operand number `count` of a synopsis and the rest of it. */
static const char *missing_operand(const char *synopsis, int count) {
	for (; count > 0 && strchr(synopsis, ' '); count--)
		synopsis = strchr(synopsis, ' ') + 1;
	return synopsis;
}

static int check_count(const struct arguments *args) {
	const struct command *command = args->command;
	const char *synopsis = command->synopsis ? command->synopsis : "";
	if (args->count < command->min)
		return usage_error(command, "%.*s is missing (usage: stet %s %s)",
		                   (int)strcspn(missing_operand(synopsis, args->count), " "),
		                   missing_operand(synopsis, args->count), command->name, synopsis);
	if (command->max >= 0 && args->count > command->max)
		return usage_error(command, "unexpected argument \"%s\"", args->operands[command->max]);
	return DONE;
}

/* Refuse "-" as PATH: only a file of the workspace has a version that a session can have seen. */
static int check_paths(const struct arguments *args) {
	const char *synopsis = args->command->synopsis ? args->command->synopsis : "";
	bool is_path = strncmp(synopsis + (synopsis[0] == '['), "PATH", 4) == 0;
	int count = strstr(synopsis, "...") ? args->count : args->count < 1 ? 0 : 1;
	for (int i = 0; is_path && !args->command->input && i < count; i++) {
		const char *path = operand(args, i);
		if (path && strcmp(path, "-") == 0)
			return usage_error(args->command,
			                   "a PATH is a file of the workspace, and - is standard input; for "
			                   "a file of that name give ./-");
	}
	return DONE;
}

int arguments_read(struct arguments *args, struct options *options, int argc, char **argv) {
	bool only_operands = false;
	args->operands = calloc((size_t)argc, sizeof *args->operands);
	args->option_value = calloc((size_t)argc, sizeof *args->option_value);
	if (!args->operands || !args->option_value)
		return report_nomem();
	for (int i = 1, used = 1; i < argc; i += used) {
		used = 1;
		if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0')
			args->operands[args->count++] = argv[i];
		else if (strcmp(argv[i], "--") == 0)
			only_operands = true;
		else if ((used = read_option(args, options, argc - i, argv + i)) < 0)
			return USAGE;
	}
	int status = options->help ? DONE : check_count(args);
	return status != DONE || options->help ? status : check_paths(args);
}

void arguments_release(struct arguments *args) {
	free(args->operands);
	free(args->option_value);
	*args = (struct arguments){0};
}

int usage_error(const struct command *command, const char *format, ...) {
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	size_t len = strlen(text);
	const char *stop = len > 0 && strchr(".?!", text[len - 1]) ? "" : ".";
	const char *blank = command ? " " : "", *name = command ? command->name : "";
	if (is_json())
		return report_as(STET_E_INVALID, "stet%s%s: %s%s", blank, name, text, stop);
	fprintf(stderr, "stet%s%s: %s%s\nTry stet%s%s --help.\n", blank, name, text, stop, blank, name);
	return USAGE;
}
