/*
 * Every event of every agent, as the agents send them (fuzz/corpus/hook): each is understood, and each with a member
 * missing or of another type gets a decision that is JSON, or none.
 */
#include <dirent.h>

#include "base/json.h"
#include "hook/event.h"
#include "lib/test.h"
#include "stet/hook.h"
#include "stet/workspace.h"

static const char source_root[] = STET_SOURCE_ROOT;

/* ---- the events ---- */

static char *load_event(const char *name, const struct dir *dir) {
	char path[600], line[16 << 10];
	st_auto(st_buf) text = ST_BUF_INIT;
	snprintf(path, sizeof path, "%s/fuzz/corpus/hook/%s", source_root, name);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	fclose(file);
	char *rest = line;
	for (char *at; (at = strstr(rest, "ROOT")); rest = at + 4)
		st_buf_addf(&text, "%.*s%s", (int)(at - rest), rest, dir->path);
	st_buf_adds(&text, rest);
	return strdup(st_buf_cstr(&text));
}

static int is_event(const struct dirent *entry) {
	const char *end = strrchr(entry->d_name, '.');
	return end && strcmp(end, ".json") == 0;
}

/* Call a function with each event. */
static void each_event(const struct dir *dir,
                       void (*call)(const struct dir *dir, const char *name, const char *event)) {
	char folder[512];
	struct dirent **names = NULL;
	snprintf(folder, sizeof folder, "%s/fuzz/corpus/hook", source_root);
	int count = scandir(folder, &names, is_event, alphasort);
	assert_true(count >= 52);
	for (int i = 0; i < count; i++) {
		char *event = load_event(names[i]->d_name, dir);
		call(dir, names[i]->d_name, event);
		free(event);
		free(names[i]);
	}
	free(names);
}

static void run_event(const char *event, size_t len) {
	char *decision = NULL;
	size_t decision_len = 0;
	int code = stet_hook_run(event, len, NULL, &decision, &decision_len, NULL);
	assert_true(code == 0 || !decision);
	if (!decision)
		return;
	yyjson_doc *doc = yyjson_read(decision, decision_len, 0);
	assert_true(yyjson_is_obj(yyjson_doc_get_root(doc)));
	yyjson_doc_free(doc);
	stet_free(decision);
}

/* ---- whole events ---- */

static void check_event(const struct dir *dir, const char *name, const char *event) {
	yyjson_doc *doc = yyjson_read(event, strlen(event), 0);
	struct st_hook_event found;
	(void)dir;
	assert_int_equal(st_hook_event_read(yyjson_doc_get_root(doc), NULL, &found, NULL), 0);
	/* The file's name begins with the client's. */
	const char *client = st_hook_client_name(found.client);
	if (strncmp(name, client, strlen(client)) != 0)
		fail_msg("%s is taken for an event of %s", name, client);
	/* Gemini CLI announces a compression before every turn. */
	if (!strstr(name, "compress") && found.moment == ST_HOOK_OTHER)
		fail_msg("the moment of %s is unknown", name);
	bool of_tool = found.moment == ST_HOOK_BEFORE_TOOL || found.moment == ST_HOOK_AFTER_TOOL;
	if (of_tool && found.tool == ST_HOOK_TOOL_OTHER)
		fail_msg("the tool of %s is unknown", name);
	yyjson_doc_free(doc);
}

static void every_event_is_understood(void **state) {
	each_event(*state, check_event);
}

/* ---- events with a member missing or of another type ---- */

enum variant { REMOVED, NULLED, NUMBER, TEXT, LIST, OBJECT, VARIANTS };

static yyjson_mut_val *other_value(yyjson_mut_doc *doc, enum variant variant) {
	switch (variant) {
	case NUMBER:
		return yyjson_mut_int(doc, 7);
	case TEXT:
		return yyjson_mut_str(doc, "x");
	case LIST:
		return yyjson_mut_arr(doc);
	case OBJECT:
		return yyjson_mut_obj(doc);
	default:
		return yyjson_mut_null(doc);
	}
}

/* Change the n-th member, counted from the outside inwards. False if there are not so many. */
static bool change_member(yyjson_mut_doc *doc, yyjson_mut_val *object, size_t *n,
                          enum variant variant) {
	yyjson_mut_val *key;
	yyjson_mut_obj_iter members = yyjson_mut_obj_iter_with(object);
	while ((key = yyjson_mut_obj_iter_next(&members))) {
		if ((*n)-- == 0) {
			const char *name = yyjson_mut_get_str(key);
			if (variant == REMOVED)
				yyjson_mut_obj_remove_key(object, name);
			else
				yyjson_mut_obj_replace(object, yyjson_mut_strcpy(doc, name),
				                       other_value(doc, variant));
			return true;
		}
	}
	members = yyjson_mut_obj_iter_with(object);
	while ((key = yyjson_mut_obj_iter_next(&members))) {
		yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
		yyjson_mut_val *inner = yyjson_mut_is_arr(value) ? yyjson_mut_arr_get_first(value) : value;
		if (yyjson_mut_is_obj(inner) && change_member(doc, inner, n, variant))
			return true;
	}
	return false;
}

/* Run the event with its n-th member changed; false if there is none. */
static bool run_changed(const char *event, size_t n, enum variant variant) {
	yyjson_doc *doc = yyjson_read(event, strlen(event), 0);
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	size_t len = 0;
	bool changed = change_member(copy, yyjson_mut_doc_get_root(copy), &n, variant);
	char *text = yyjson_mut_write(copy, 0, &len);
	assert_non_null(text);
	if (changed)
		run_event(text, len);
	free(text);
	yyjson_mut_doc_free(copy);
	yyjson_doc_free(doc);
	return changed;
}

static void run_variants(const struct dir *dir, const char *name, const char *event) {
	(void)name;
	dir_write(dir, "plain.txt", "one\ntwo\nthree\n");
	dir_write(dir, "old.txt", "old\n");
	run_event(event, strlen(event));
	for (int variant = 0; variant < VARIANTS; variant++) {
		for (size_t n = 0; run_changed(event, n, (enum variant)variant); n++)
			;
	}
}

static void an_event_with_a_member_missing_or_of_another_type_is_harmless(void **state) {
	const struct dir *dir = *state;
	dir_write(dir, ".git/HEAD", "ref: refs/heads/main\n");
	each_event(dir, run_variants);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		claim(every_event_is_understood),
		claim(an_event_with_a_member_missing_or_of_another_type_is_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
