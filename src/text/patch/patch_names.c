/* The names of operations and targets in requests, and those of earlier versions. */
#include "text/patch/patch.h"

#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const operations[] = {
	[ST_PATCH_REPLACE] = "replace",
	[ST_PATCH_INSERT] = "insert",
	[ST_PATCH_DELETE] = "delete",
};

static const char *const targets[] = {
	[ST_TARGET_LINES] = "lines",
	[ST_TARGET_HEADING] = "heading",
	[ST_TARGET_BEFORE_HEADING] = "beforeHeading",
	[ST_TARGET_APPEND_TO_SECTION] = "appendToSection",
	[ST_TARGET_CODE_BLOCK] = "codeBlock",
	[ST_TARGET_WHOLE_SECTION] = "wholeSection",
};

/* What to use instead of removed names. */
static const struct {
	const char *name, *sentence;
} removed[] = {
	{"text", "The target \"text\" was removed: use text_replace, with the text as oldText."},
	{"pattern",
     "The target \"pattern\" was removed: find the place with text_inspect (mode \"search\", regex "
     "true), then use text_replace, or the target \"lines\"."},
	{"afterHeading",
     "The target \"afterHeading\" was removed: use the target \"appendToSection\" for the end of "
     "the section, or insert at the target \"heading\" for right below the heading."},
	{"section",
     "The target \"section\" was removed: use the target \"wholeSection\" or \"appendToSection\" "
     "in Markdown; in other files find the lines with text_inspect, then use the target \"lines\", "
     "or text_replace."},
	{"replaceLines",
     "The operation \"replaceLines\" was removed: use \"replace\" with the target \"lines\"."},
};

static bool is_name(struct st_str name, const char *word) {
	return name.len == strlen(word) && strncasecmp(name.ptr, word, name.len) == 0;
}

static size_t find_word(struct st_str name, const char *const *names, size_t count) {
	size_t i = 0;
	while (i < count && !is_name(name, names[i]))
		i++;
	return i;
}

static int fail_unknown(const char *kind, struct st_str name, const char *const *names,
                        size_t count, struct stet_error *err) {
	const char *sentence = st_patch_removed(name);
	if (sentence)
		return st_fail(err, STET_E_INVALID, "%s", sentence);
	st_auto(st_buf) list = ST_BUF_INIT;
	for (size_t i = 0; i < count; i++)
		st_buf_addf(&list, "%s\"%s\"", i == 0 ? "" : i + 1 < count ? ", " : " or ", names[i]);
	return st_fail(err, STET_E_INVALID, "There is no %s \"%.*s\"; use %s.", kind,
	               name.len < 80 ? (int)name.len : 80, name.ptr, st_buf_cstr(&list));
}

const char *st_patch_removed(struct st_str name) {
	for (size_t i = 0; i < COUNT(removed); i++) {
		if (is_name(name, removed[i].name))
			return removed[i].sentence;
	}
	return NULL;
}

const char *st_patch_operation_name(enum st_patch_operation operation) {
	return operations[operation];
}

const char *st_patch_target_name(enum st_patch_target target) {
	return targets[target];
}

int st_patch_operation_parse(struct st_str name, enum st_patch_operation *operation,
                             struct stet_error *err) {
	size_t i = find_word(name, operations, COUNT(operations));
	if (i == COUNT(operations))
		return fail_unknown("operation", name, operations, i, err);
	*operation = (enum st_patch_operation)i;
	return 0;
}

int st_patch_target_parse(struct st_str name, enum st_patch_target *target,
                          struct stet_error *err) {
	size_t i = find_word(name, targets, COUNT(targets));
	if (i == COUNT(targets))
		return fail_unknown("target", name, targets, i, err);
	*target = (enum st_patch_target)i;
	return 0;
}
