#include "core/prompt/learned.h"

#include <strings.h>

#include "base/plural.h"
#include "base/quote.h"
#include "text/tokens/tokens.h"

/* The most files that are remembered. */
enum { FILES_MAX = 2000 };

static const char title[] = "[Files in the messages]\n";
static const char *const uses[] = {"read", "wrote", "edited", "deleted"};

/* ---- files ---- */

static bool add_file(void *data, struct st_str path, enum st_file_use use) {
	struct st_learned *learned = data;
	path = st_str_trim(path);
	if (path.len == 0 || path.len > 1024 || memchr(path.ptr, '\0', path.len) ||
	    memchr(path.ptr, '\n', path.len))
		return true;
	for (size_t i = 0; i < learned->count; i++) {
		struct st_learned_file *file = &learned->files[i];
		if (!st_str_eq(st_str(file->path), path))
			continue;
		bool outlasts = use == ST_USE_READ && file->use != ST_USE_DELETED;
		bool stays = use == ST_USE_EDITED && file->use == ST_USE_WROTE;
		file->use = outlasts || stays ? file->use : use;
		file->last = learned->calls;
		return true;
	}
	if (learned->count == FILES_MAX)
		return true;
	struct st_learned_file *files = reallocarray(learned->files, learned->count + 1, sizeof *files);
	if (!files)
		return false;
	learned->files = files;
	char *copy = strndup(path.ptr, path.len);
	if (copy)
		files[learned->count++] = (struct st_learned_file){copy, use, learned->calls, ST_STR("")};
	return copy != NULL;
}

/* ---- tools ---- */

/* The effect of a tool on the file it names, by a part of its name; the more specific parts come first. */
static const struct {
	const char *part;
	int use;
} tools[] = {
	{"todo", -1},
	{"directory", -1},
	{"apply_patch", -1},
	{"delete", ST_USE_DELETED},
	{"remove", ST_USE_DELETED},
	{"str_replace", ST_USE_EDITED},
	{"edit", ST_USE_EDITED},
	{"replace", ST_USE_EDITED},
	{"insert", ST_USE_EDITED},
	{"append", ST_USE_EDITED},
	{"patch", ST_USE_EDITED},
	{"write", ST_USE_WROTE},
	{"create", ST_USE_WROTE},
	{"read", ST_USE_READ},
	{"view", ST_USE_READ},
};

static bool has_part(struct st_str name, const char *part) {
	char word[128];
	size_t len = name.len < sizeof word - 1 ? name.len : sizeof word - 1;
	memcpy(word, name.ptr, len);
	word[len] = '\0';
	return strcasestr(word, part) != NULL;
}

/* The effect of a call on the file it names; -1 if that is unknown. */
static int use_of_call(const struct st_message_call *call) {
	/* OpenHands and Anthropic's editor have the operation in an argument. */
	struct st_str command = st_json_str(yyjson_obj_get(call->args, "command"));
	bool is_editor = has_part(call->name, "editor") || has_part(call->name, "edit_tool");
	if (is_editor && st_str_eq(command, ST_STR("view")))
		return ST_USE_READ;
	if (is_editor && st_str_eq(command, ST_STR("create")))
		return ST_USE_WROTE;
	/* stet's own dry runs change nothing. */
	if (yyjson_is_true(yyjson_obj_get(call->args, "dryRun")))
		return -1;
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		if (has_part(call->name, tools[i].part))
			return tools[i].use;
	}
	return -1;
}

static bool learn_paths(struct st_learned *learned, yyjson_val *value, enum st_file_use use) {
	yyjson_val *item;
	size_t i, max;
	if (yyjson_is_str(value))
		return add_file(learned, st_json_str(value), use);
	yyjson_arr_foreach(value, i, max, item) {
		if (!yyjson_is_str(item))
			item = yyjson_obj_get(item, "path");
		if (yyjson_is_str(item) && !add_file(learned, st_json_str(item), use))
			return false;
	}
	return true;
}

/* The text that a write or an edit put into the file it names. */
static void set_proof(struct st_learned *learned, const struct st_message_call *call) {
	static const char *const keys[] = {"content", "file_text", "new_string",
	                                   "newText", "newString", "new_str"};
	struct st_str text = ST_STR("");
	for (size_t i = 0; text.len == 0 && i < sizeof keys / sizeof *keys; i++)
		text = st_json_str(yyjson_obj_get(call->args, keys[i]));
	for (size_t i = 0; i < learned->count; i++) {
		struct st_learned_file *file = &learned->files[i];
		if (file->last == learned->calls &&
		    (file->use == ST_USE_WROTE || file->use == ST_USE_EDITED))
			file->proof = text;
	}
}

static bool learn_named(struct st_learned *learned, const struct st_message_call *call, int use) {
	static const char *const keys[] = {"path",          "file_path",   "filePath", "absolute_path",
	                                   "notebook_path", "target_file", "file",     "filename",
	                                   "paths",         "files"};
	bool good = true;
	for (size_t i = 0; use >= 0 && good && i < sizeof keys / sizeof *keys; i++)
		good = learn_paths(learned, yyjson_obj_get(call->args, keys[i]), (enum st_file_use)use);
	if (use == ST_USE_WROTE || use == ST_USE_EDITED)
		set_proof(learned, call);
	return good;
}

/* A move or a copy has two paths. */
static bool learn_moved(struct st_learned *learned, const struct st_message_call *call) {
	struct st_str from = st_json_str(yyjson_obj_get(call->args, "source"));
	struct st_str to = st_json_str(yyjson_obj_get(call->args, "destination"));
	bool moves = has_part(call->name, "move") || has_part(call->name, "rename");
	if (!moves && !has_part(call->name, "copy"))
		return true;
	return (!moves || add_file(learned, from, ST_USE_DELETED)) &&
	       add_file(learned, to, ST_USE_WROTE);
}

/* The lines of Codex's patches and of diffs that name a file. */
static bool learn_patch(struct st_learned *learned, struct st_str text) {
	static const struct {
		const char *start;
		enum st_file_use use;
	} lines[] = {
		{"*** Add File: ", ST_USE_WROTE},
		{"*** Update File: ", ST_USE_EDITED},
		{"*** Delete File: ", ST_USE_DELETED},
		{"*** Move to: ", ST_USE_WROTE},
		{"+++ b/", ST_USE_EDITED},
	};
	for (size_t at = 0; at < text.len;) {
		const char *end = memchr(text.ptr + at, '\n', text.len - at);
		size_t next = end ? (size_t)(end - text.ptr) : text.len;
		struct st_str line = st_str_slice(text, at, next);
		for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
			size_t len = strlen(lines[i].start);
			if (st_str_starts(line, st_str(lines[i].start)) &&
			    !add_file(learned, st_str_slice(line, len, line.len), lines[i].use))
				return false;
		}
		at = next + 1;
	}
	return true;
}

static bool learn_patches(struct st_learned *learned, const struct st_message_call *call) {
	static const char *const keys[] = {"patch", "input", "patchText", "diff"};
	bool good = true;
	if (!has_part(call->name, "patch") && !has_part(call->name, "diff"))
		return true;
	if (!call->args)
		return learn_patch(learned, call->input);
	for (size_t i = 0; good && i < sizeof keys / sizeof *keys; i++)
		good = learn_patch(learned, st_json_str(yyjson_obj_get(call->args, keys[i])));
	return good;
}

static bool learn_command(struct st_learned *learned, struct st_str command) {
	learned->commands++;
	/* Codex runs apply_patch in a shell, too. */
	if (memmem(command.ptr, command.len, "*** Begin Patch", 15))
		return learn_patch(learned, command);
	return st_shell_files(command, add_file, learned);
}

static bool learn_call(struct st_learned *learned, const struct st_message_call *call) {
	learned->calls++;
	struct st_str command = st_message_call_command(call);
	if (call->failed || !call->result) {
		learned->failed++;
		learned->commands += command.len > 0;
		return true;
	}
	if (st_messages_is_noop(call->result))
		return learn_named(learned, call, ST_USE_READ);
	if (command.len && !has_part(call->name, "edit"))
		return learn_command(learned, command);
	return learn_named(learned, call, use_of_call(call)) && learn_moved(learned, call) &&
	       learn_patches(learned, call);
}

int st_learned_read(struct st_learned *learned, const struct st_message_calls *calls,
                    struct stet_error *err) {
	for (size_t i = 0; i < calls->count; i++) {
		if (!learn_call(learned, &calls->items[i]))
			return st_fail_nomem(err);
	}
	return 0;
}

/* ---- the section ---- */

static bool is_verified(struct st_str verified, const char *path) {
	size_t len = strlen(path);
	for (size_t at = 0; at < verified.len;) {
		const char *end = memchr(verified.ptr + at, '\n', verified.len - at);
		size_t next = end ? (size_t)(end - verified.ptr) : verified.len;
		if (next - at == len && memcmp(verified.ptr + at, path, len) == 0)
			return true;
		at = next + 1;
	}
	return false;
}

static int by_last_use(const void *a, const void *b) {
	const struct st_learned_file *x = a, *y = b;
	if (x->last != y->last)
		return x->last < y->last ? 1 : -1;
	return strcmp(x->path, y->path);
}

/* Append the files of one use, as far as the room allows. Returns how many did not fit. */
static size_t write_use(const struct st_learned *learned, struct st_str verified,
                        enum st_file_use use, size_t *room, struct st_buf *out) {
	size_t named = 0, left_out = 0;
	for (size_t i = 0; i < learned->count; i++) {
		const struct st_learned_file *file = &learned->files[i];
		size_t cost = st_tokens(st_str(file->path)) + 1;
		if (file->use != use || is_verified(verified, file->path))
			continue;
		/* A name with the separator in it could not be told from two. */
		if (cost > *room || strstr(file->path, "; ")) {
			left_out++;
			continue;
		}
		*room -= cost;
		st_buf_addf(out, "%s", named++ ? "; " : "");
		if (named == 1)
			st_buf_addf(out, "- %s: ", uses[use]);
		st_quote_name(out, st_str(file->path));
	}
	if (named)
		st_buf_addc(out, '\n');
	return left_out;
}

void st_learned_write(const struct st_learned *learned, struct st_str verified, size_t tokens,
                      struct st_buf *out) {
	static const enum st_file_use order[] = {ST_USE_EDITED, ST_USE_WROTE, ST_USE_DELETED,
	                                         ST_USE_READ};
	size_t room = tokens > 60 ? tokens - 60 : 0, left_out = 0;
	st_auto(st_buf) lines = ST_BUF_INIT;
	if (learned->count)
		qsort(learned->files, learned->count, sizeof *learned->files, by_last_use);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		left_out += write_use(learned, verified, order[i], &room, &lines);
	if (left_out)
		st_buf_addf(&lines, "- and %zu more %s\n", left_out, st_plural(left_out, "file", "files"));
	if (lines.len == 0 && learned->commands + learned->failed == 0)
		return;
	st_buf_addf(out, "%s%s", out->len ? "\n" : "", title);
	if (lines.len)
		st_buf_adds(out, "As tool calls in the messages have it; not verified on the disk:\n");
	st_buf_add(out, st_buf_str(&lines));
	if (learned->commands)
		st_buf_addf(out, "- shell commands: %zu; what else they changed is not known\n",
		            learned->commands);
	if (learned->failed)
		st_buf_addf(out, "- calls whose results read like failures, or that have none: %zu\n",
		            learned->failed);
	out->failed |= lines.failed;
}

/* ---- the section of an earlier prompt ---- */

static bool read_names(struct st_learned *learned, struct st_str names, enum st_file_use use) {
	while (names.len) {
		const char *end = memmem(names.ptr, names.len, "; ", 2);
		size_t len = end ? (size_t)(end - names.ptr) : names.len;
		if (!add_file(learned, st_str_slice(names, 0, len), use))
			return false;
		names = st_str_slice(names, end ? len + 2 : len, names.len);
	}
	return true;
}

static size_t read_number(struct st_str text) {
	size_t number = 0;
	for (size_t i = 0; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && i < 9; i++)
		number = number * 10 + (size_t)(text.ptr[i] - '0');
	return number;
}

static bool read_line(struct st_learned *learned, struct st_str line) {
	static const char commands[] = "- shell commands: ",
					  failed[] = "- calls whose results read like failures, or that have none: ";
	if (st_str_starts(line, st_str(commands)))
		learned->commands += read_number(st_str_slice(line, strlen(commands), line.len));
	if (st_str_starts(line, st_str(failed)))
		learned->failed += read_number(st_str_slice(line, strlen(failed), line.len));
	for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
		char start[32];
		int len = snprintf(start, sizeof start, "- %s: ", uses[i]);
		if (st_str_starts(line, st_str(start)))
			return read_names(learned, st_str_slice(line, (size_t)len, line.len),
			                  (enum st_file_use)i);
	}
	return true;
}

int st_learned_again(struct st_learned *learned, struct st_str text, struct stet_error *err) {
	const char *at = memmem(text.ptr, text.len, title, strlen(title));
	if (!at)
		return 0;
	struct st_str rest = st_str_slice(text, (size_t)(at - text.ptr) + strlen(title), text.len);
	while (rest.len && rest.ptr[0] != '\n' && rest.ptr[0] != '[') {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
		if (!read_line(learned, st_str_slice(rest, 0, len)))
			return st_fail_nomem(err);
		rest = st_str_slice(rest, end ? len + 1 : len, rest.len);
	}
	return 0;
}

void st_learned_release(struct st_learned *learned) {
	for (size_t i = 0; i < learned->count; i++)
		free(learned->files[i].path);
	free(learned->files);
	*learned = (struct st_learned){0};
}
