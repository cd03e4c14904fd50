/*
 * What the tools of other programs did (spec 2: UpdateFromToolResult). Their
 * results come in every shape, so they are taken as hints: wherever something
 * in them looks like the path of a file, the disk is asked.
 */
#include <stdio.h>
#include <strings.h>

#include "base/cancel.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "core/state/state.h"
#include "stet/state.h"

/* MENTION_WORK: what it costs to look whether a path was mentioned before, for each that was. */
enum { PATHS_MAX = 1000, DEPTH_MAX = 16, MENTION_WORK = 8 };

/* What a tool does to the files it names. */
enum effect {
	/* Nobody knows: what is on the disk says it all. */
	LOOKS,
	READS,
	CREATES,
	EDITS,
	DELETES,
	MOVES,
	RUNS,
};

/* One path that a result names. */
struct mention {
	char *path;
	enum effect effect;
};

struct record {
	struct stet_session *session;
	enum effect effect;
	/* The result says that nothing was done, or that a new file was made. */
	bool failed, created;
	struct mention *mentions;
	size_t count;
	size_t left_out;
	yyjson_mut_doc *doc;
	yyjson_mut_val *files, *ignored;
};

/* ---- what a tool does ---- */

/* Part of a tool's name, in any case. More telling ones first. */
static const struct {
	const char *part;
	enum effect effect;
} effects[] = {
	{"apply_patch", LOOKS}, {"apply_diff", LOOKS}, {"delete", DELETES}, {"remove", DELETES},
	{"unlink", DELETES},    {"move", MOVES},       {"rename", MOVES},   {"str_replace", EDITS},
	{"edit", EDITS},        {"replace", EDITS},    {"patch", EDITS},    {"insert", EDITS},
	{"append", EDITS},      {"update", EDITS},     {"create", CREATES}, {"write", CREATES},
	{"save", CREATES},      {"shell", RUNS},       {"bash", RUNS},      {"exec", RUNS},
	{"terminal", RUNS},     {"command", RUNS},     {"run", RUNS},       {"read", READS},
	{"view", READS},        {"open", READS},       {"cat", READS},
};

static enum effect effect_of(const char *tool) {
	for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
		if (strcasestr(tool, effects[i].part))
			return effects[i].effect;
	}
	return LOOKS;
}

/* ---- what a result names ---- */

static bool is_one_of(struct st_str word, const char *const *list) {
	for (; *list; list++) {
		if (strlen(*list) == word.len && strncasecmp(*list, word.ptr, word.len) == 0)
			return true;
	}
	return false;
}

static int mention(struct record *record, struct st_str path, enum effect effect,
                   struct stet_error *err) {
	if (path.len == 0 || path.len > 4096 || memchr(path.ptr, '\0', path.len))
		return 0;
	if (st_cancel_check(MENTION_WORK * (record->count + 1), err) < 0)
		return STET_E_CANCELLED;
	for (size_t i = 0; i < record->count; i++) {
		if (st_str_eq(st_str(record->mentions[i].path), path)) {
			record->mentions[i].effect = effect;
			return 0;
		}
	}
	if (record->count == PATHS_MAX) {
		record->left_out++;
		return 0;
	}
	struct mention *mentions =
		realloc(record->mentions, (record->count + 1) * sizeof *record->mentions);
	if (mentions)
		record->mentions = mentions;
	char *copy = mentions ? strndup(path.ptr, path.len) : NULL;
	if (!copy)
		return st_fail_nomem(err);
	record->mentions[record->count++] = (struct mention){copy, effect};
	return 0;
}

/* The lines by which patches and the reports on them name files. */
static const struct {
	const char *start;
	enum effect effect;
} lines[] = {
	{"*** Add File: ", CREATES},
	{"*** Update File: ", EDITS},
	{"*** Delete File: ", DELETES},
	{"*** Move to: ", CREATES},
	{"+++ b/", EDITS},
	{"--- a/", LOOKS},
	{"rename from ", DELETES},
	{"rename to ", CREATES},
	{"A ", CREATES},
	{"M ", EDITS},
	{"D ", DELETES},
};

static int find_in_line(struct record *record, struct st_str line, bool report,
                        struct stet_error *err) {
	line = st_str_trim(line);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct st_str start = st_str(lines[i].start);
		/* A letter and a name mean something only in the report of a patch. */
		if (!st_str_starts(line, start) || (start.len == 2 && !report))
			continue;
		return mention(record, st_str_trim(st_str_slice(line, start.len, line.len)),
		               lines[i].effect, err);
	}
	return 0;
}

/* What a line costs besides its bytes. */
enum { LINE_WORK = 64 };

/* A text that may be a patch, or tell of one. */
static int find_in_text(struct record *record, struct st_str text, struct stet_error *err) {
	bool patch = record->effect == LOOKS;
	int code = 0;
	for (size_t at = 0; at < text.len && code == 0;) {
		const char *end = memchr(text.ptr + at, '\n', text.len - at);
		size_t next = end ? (size_t)(end - text.ptr) : text.len;
		code = find_in_line(record, st_str_slice(text, at, next), patch, err);
		if (code == 0)
			code = st_cancel_check(next - at + LINE_WORK, err);
		at = next + 1;
	}
	return code;
}

static const char *const path_keys[] = {
	"path",           "file_path",     "filePath",      "filepath", "file",  "filename",
	"file_name",      "target_file",   "targetFile",    "target",   "files", "paths",
	"modified_files", "created_files", "deleted_files", "uri",      NULL};
static const char *const source_keys[] = {"source", "src", "from", "old_path", "oldPath", NULL};
static const char *const target_keys[] = {"destination", "dest",    "dst", "to",
                                          "new_path",    "newPath", NULL};
static const char *const text_keys[] = {"patch", "diff",    "input",  "output",  "stdout",
                                        "text",  "message", "result", "content", NULL};
static const char *const failure_keys[] = {"error", "isError", "is_error", "failed", NULL};

/* What the path under a key is for; -1 if the key is not one of a path. */
static int effect_of_key(const struct record *record, struct st_str key) {
	if (is_one_of(key, source_keys))
		return record->effect == MOVES ? DELETES : -1;
	if (is_one_of(key, target_keys))
		return record->effect == MOVES ? CREATES : -1;
	if (st_str_eq(key, ST_STR("deleted_files")))
		return DELETES;
	if (st_str_eq(key, ST_STR("created_files")))
		return CREATES;
	return is_one_of(key, path_keys) ? (int)record->effect : -1;
}

/* Members that say how it went. */
static void note_outcome(struct record *record, struct st_str key, yyjson_val *value) {
	if (is_one_of(key, failure_keys))
		record->failed |= yyjson_is_true(value) || yyjson_get_len(value) > 0;
	if (st_str_eq(key, ST_STR("success")) && yyjson_is_false(value))
		record->failed = true;
	if (st_str_eq(key, ST_STR("created")) && yyjson_is_true(value))
		record->created = true;
	/* str_replace_based_edit_tool says what it does in an argument. */
	if (st_str_eq(key, ST_STR("command")) && record->effect == EDITS &&
	    st_str_eq(st_json_str(value), ST_STR("create")))
		record->effect = CREATES;
	if (st_str_eq(key, ST_STR("command")) && record->effect == EDITS &&
	    st_str_eq(st_json_str(value), ST_STR("view")))
		record->effect = READS;
}

static int find_in(struct record *record, yyjson_val *value, int effect, bool text, int depth,
                   struct stet_error *err);

static int find_in_object(struct record *record, yyjson_val *object, int depth,
                          struct stet_error *err) {
	yyjson_val *key;
	int code = 0;
	yyjson_obj_iter members = yyjson_obj_iter_with(object);
	while ((key = yyjson_obj_iter_next(&members)))
		note_outcome(record, st_json_str(key), yyjson_obj_iter_get_val(key));
	members = yyjson_obj_iter_with(object);
	while (code == 0 && (key = yyjson_obj_iter_next(&members))) {
		struct st_str name = st_json_str(key);
		code = find_in(record, yyjson_obj_iter_get_val(key), effect_of_key(record, name),
		               is_one_of(name, text_keys), depth + 1, err);
	}
	return code;
}

/* effect is that of a path found here, -1 where a text is not a path. */
static int find_in(struct record *record, yyjson_val *value, int effect, bool text, int depth,
                   struct stet_error *err) {
	if (depth > DEPTH_MAX)
		return 0;
	if (yyjson_is_str(value) && effect >= 0)
		return mention(record, st_json_str(value), (enum effect)effect, err);
	if (yyjson_is_str(value))
		return text || depth == 0 ? find_in_text(record, st_json_str(value), err) : 0;
	if (yyjson_is_obj(value))
		return find_in_object(record, value, depth, err);
	int code = 0;
	yyjson_val *item;
	yyjson_arr_iter items = yyjson_arr_iter_with(value);
	while (code == 0 && (item = yyjson_arr_iter_next(&items)))
		code = find_in(record, item, effect, text, depth + 1, err);
	return code;
}

/* ---- what the disk says ---- */

static void ignore(struct record *record, const char *path, const char *why) {
	yyjson_mut_val *object = yyjson_mut_obj(record->doc);
	st_json_add_text(record->doc, object, "path", st_str(path));
	st_json_add_text(record->doc, object, "reason", st_str(why));
	st_json_push(record->doc, record->ignored, object);
}

static void tell(struct record *record, const char *path, const struct st_version *version) {
	yyjson_mut_val *object = yyjson_mut_obj(record->doc);
	st_json_add_text(record->doc, object, "path", st_str(path));
	st_json_add_text(record->doc, object, "status",
	                 version->exists ? ST_STR("present") : ST_STR("deleted"));
	if (version->exists) {
		char hex[ST_HASH_SHORT + 1];
		st_hash_hex(&version->hash, hex, ST_HASH_SHORT);
		st_json_add_text(record->doc, object, "fileHash", st_str(hex));
	}
	st_json_push(record->doc, record->files, object);
}

/* The disk has the file: what the tool did with it. */
static void take_present(struct record *record, const struct mention *mention,
                         const struct st_place *place, const struct st_file *file) {
	bool changes = mention->effect == CREATES || mention->effect == EDITS;
	const struct st_file_event event = {
		.path = place->path,
		.kind = changes && !record->failed ? ST_EVENT_WRITTEN : ST_EVENT_READ,
		/* Of a file that was edited, what it was before is not known: something else. */
		.before.exists = mention->effect == EDITS && !record->created,
		.after = st_file_version(file),
		.foreign = true,
	};
	st_session_report(record->session, &event);
	tell(record, place->path, &event.after);
}

static int take(struct record *record, const struct mention *mention, struct stet_error *err) {
	struct stet_workspace *ws = record->session->ws;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error why = {0};
	int code = st_file_load_known(&ws->root, st_str(mention->path), ws->max_file, NULL, &place,
	                              &file, &why);
	if (code == STET_E_NOMEM || code == STET_E_CANCELLED)
		return st_fail(err, code, "%s", why.message);
	if (place.path && st_path_is_protected(place.path, ws->writes.state_dir)) {
		ignore(record, mention->path, "It belongs to git or to stet itself.");
	} else if (code == 0) {
		take_present(record, mention, &place, &file);
	} else if (code == STET_E_NOT_FOUND && place.path && mention->effect == DELETES) {
		const struct st_file_event event = {
			.path = place.path, .kind = ST_EVENT_REMOVED, .before.exists = true, .foreign = true};
		st_session_report(record->session, &event);
		tell(record, place.path, &event.after);
	} else {
		ignore(record, mention->path, why.message);
	}
	return 0;
}

static void tell_directory(struct record *record, const char *path, const char *status) {
	yyjson_mut_val *object = yyjson_mut_obj(record->doc);
	st_json_add_text(record->doc, object, "path", st_str(path));
	st_json_add_text(record->doc, object, "status", st_str(status));
	st_json_push(record->doc, record->files, object);
}

static const char *mentioned_as(const struct record *record, enum effect effect) {
	const char *path = NULL;
	for (size_t i = 0; i < record->count; i++) {
		if (record->mentions[i].effect == effect)
			path = record->mentions[i].path;
	}
	return path;
}

/* Whether the tool moved a directory, as the disk has it; then that is taken over. */
static bool take_directory(struct record *record) {
	struct stet_workspace *ws = record->session->ws;
	const char *from = mentioned_as(record, DELETES), *to = mentioned_as(record, CREATES);
	st_auto(st_place) gone = ST_PLACE_INIT;
	st_auto(st_place) here = ST_PLACE_INIT;
	if (record->effect != MOVES || record->failed || record->count != 2 || !from || !to ||
	    st_root_locate_as(&ws->root, st_str(from), ST_LOCATE_DIR, &gone, NULL) < 0 ||
	    st_root_locate_as(&ws->root, st_str(to), ST_LOCATE_DIR, &here, NULL) < 0 || gone.exists ||
	    !here.exists || !S_ISDIR(here.st.st_mode) || !*here.path ||
	    st_path_is_protected(gone.path, ws->writes.state_dir) ||
	    st_path_is_protected(here.path, ws->writes.state_dir))
		return false;
	st_session_report_move(record->session, gone.path, here.path, true);
	tell_directory(record, gone.path, "deleted");
	tell_directory(record, here.path, "present");
	return true;
}

/* ---- the record ---- */

static int take_all(struct record *record, yyjson_val *root, struct stet_error *err) {
	int code = find_in(record, root, -1, false, 0, err);
	record->doc = yyjson_mut_doc_new(NULL);
	if (code == 0 && !record->doc)
		code = st_fail_nomem(err);
	if (code < 0)
		return code;
	yyjson_mut_val *answer = yyjson_mut_obj(record->doc);
	yyjson_mut_doc_set_root(record->doc, answer);
	record->files = st_json_add_array(record->doc, answer, "files");
	record->ignored = st_json_add_array(record->doc, answer, "ignored");
	bool taken = take_directory(record);
	for (size_t i = 0; i < record->count && code == 0 && !taken; i++)
		code = take(record, &record->mentions[i], err);
	if (code == 0)
		code = st_state_save(record->session, err);
	/* Whoever ran a command may have changed anything, and what was there before was looked at long ago. */
	st_auto(st_repo_status) status = {0};
	if (code == 0 && (record->effect == RUNS || record->count == 0))
		code =
			st_repo_look(&st_state_of(record->session->ws)->repo, record->session, 0, &status, err);
	return code;
}

static int write_answer(struct record *record, char **out, struct stet_error *err) {
	struct st_buf text = ST_BUF_INIT;
	yyjson_mut_val *root = yyjson_mut_doc_get_root(record->doc);
	if (record->left_out > 0)
		st_json_add_size(record->doc, root, "leftOut", record->left_out);
	int code = st_json_write(record->doc, root, &text, err);
	if (code < 0)
		st_buf_release(&text);
	*out = text.ptr;
	return code;
}

int stet_record(struct stet_session *session, const char *tool, const char *result, size_t len,
                char **out, struct stet_error *err) {
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, true);
	struct record record = {.session = session, .effect = effect_of(tool)};
	yyjson_doc *doc = NULL;
	if (out)
		*out = NULL;
	int code =
		st_json_parse(st_strn(result ? result : "null", result ? len : 4), "The result", &doc, err);
	if (code == 0)
		code = st_cancel_check(len, err);
	if (code == 0)
		code = take_all(&record, yyjson_doc_get_root(doc), err);
	if (code == 0 && out)
		code = write_answer(&record, out, err);
	yyjson_doc_free(doc);
	yyjson_mut_doc_free(record.doc);
	while (record.count > 0)
		free(record.mentions[--record.count].path);
	free(record.mentions);
	return code;
}
