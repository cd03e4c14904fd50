/*
 * Record what the tools of other programs did.
 * Their results come in every shape, so they are only hints: wherever a result
 * seems to name a file, stet checks that file on the disk.
 */
#include <stdio.h>
#include <strings.h>

#include "base/cancel.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "core/state/state.h"
#include "core/state/tasks_follow.h"
#include "stet/state.h"

/* MENTION_WORK: the cost of comparing a path with an earlier one, in the unit of st_cancel_check(). */
enum { PATHS_MAX = 1000, DEPTH_MAX = 16, MENTION_WORK = 8 };

/* The effect of a tool on the files it names. */
enum effect {
	/* Unknown: only the disk can tell. */
	UNKNOWN,
	READS,
	CREATES,
	/* Creates or replaces. */
	WRITES,
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
	/* The result says that the call failed, or that it created or replaced a file. */
	bool failed, created, updated;
	/* It is a to-do list, which the tasks now follow. */
	bool tasks;
	struct mention *mentions;
	size_t count;
	size_t left_out;
	yyjson_mut_doc *doc;
	yyjson_mut_val *files, *ignored;
};

/* ---- the effect of a tool ---- */

/* By part of a tool's name, case-insensitively. More specific parts come first. */
static const struct {
	const char *part;
	enum effect effect;
} effects[] = {
	{"apply_patch", UNKNOWN}, {"apply_diff", UNKNOWN}, {"delete", DELETES}, {"remove", DELETES},
	{"unlink", DELETES},      {"move", MOVES},         {"rename", MOVES},   {"str_replace", EDITS},
	{"edit", EDITS},          {"replace", EDITS},      {"patch", EDITS},    {"insert", EDITS},
	{"append", EDITS},        {"update", EDITS},       {"create", CREATES}, {"write", WRITES},
	{"save", WRITES},         {"shell", RUNS},         {"bash", RUNS},      {"exec", RUNS},
	{"terminal", RUNS},       {"command", RUNS},       {"run", RUNS},       {"read", READS},
	{"view", READS},          {"open", READS},         {"cat", READS},
};

static enum effect effect_of(const char *tool) {
	for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
		if (strcasestr(tool, effects[i].part))
			return effects[i].effect;
	}
	return UNKNOWN;
}

/* ---- the paths in a result ---- */

static bool is_one_of(struct st_str word, const char *const *list) {
	for (; *list; list++) {
		if (strlen(*list) == word.len && strncasecmp(*list, word.ptr, word.len) == 0)
			return true;
	}
	return false;
}

static int add_mention(struct record *record, struct st_str path, enum effect effect,
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

/* How lines of patches, and of reports on patches, begin that name a file. */
static const struct {
	const char *start;
	enum effect effect;
} lines[] = {
	{"*** Add File: ", CREATES},
	{"*** Update File: ", EDITS},
	{"*** Delete File: ", DELETES},
	{"*** Move to: ", CREATES},
	{"+++ b/", EDITS},
	{"--- a/", UNKNOWN},
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
		/* "M name" means something only in a report on a patch. */
		if (!st_str_starts(line, start) || (start.len == 2 && !report))
			continue;
		return add_mention(record, st_str_trim(st_str_slice(line, start.len, line.len)),
		                   lines[i].effect, err);
	}
	return 0;
}

/* The cost of a line besides its bytes, in the unit of st_cancel_check(). */
enum { LINE_WORK = 64 };

/* Find paths in a text that may be a patch, or a report on one. */
static int find_in_text(struct record *record, struct st_str text, struct stet_error *err) {
	bool patch = record->effect == UNKNOWN;
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

/* ---- a tool's sentence ---- */

/* A sentence about a file has at most so many bytes and words; longer texts are contents or output. */
enum { PROSE_MAX = 600, PROSE_WORDS = 60 };

/* The next word of a sentence, without quotes and punctuation around it; empty at the end. */
static struct st_str next_word(struct st_str text, size_t *at) {
	while (*at < text.len && strchr(" \t\r\n`'\"([", text.ptr[*at]))
		++*at;
	size_t from = *at;
	while (*at < text.len && !strchr(" \t\r\n`'\")]", text.ptr[*at]))
		++*at;
	struct st_str word = st_str_slice(text, from, *at);
	while (word.len > 1 && strchr(".,:;!", word.ptr[word.len - 1]))
		word.len--;
	return word;
}

static bool looks_like_path(struct st_str word) {
	const char *dot = word.len ? memrchr(word.ptr, '.', word.len) : NULL;
	bool has_slash = word.len && memchr(word.ptr, '/', word.len);
	bool has_ending = dot && dot > word.ptr && dot + 1 < word.ptr + word.len;
	return has_slash || has_ending;
}

static bool is_there(const struct record *record, struct st_str path) {
	struct stet_workspace *ws = record->session->ws;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	return st_file_load_known(&ws->root, path, ws->max_file, NULL, &place, &file, NULL) == 0;
}

static bool has_word(struct st_str text, const char *word) {
	char copy[PROSE_MAX + 1];
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	return strcasestr(copy, word) != NULL;
}

/* Read the outcome from a sentence. */
static void read_outcome(struct record *record, struct st_str text) {
	static const char *const failures[] = {"error",     "failed",     "cannot",       "could not",
	                                       "not found", "no changes", "did not match"};
	static const char *const updates[] = {"updated", "modified", "replaced", "overw"};
	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
		record->failed |= has_word(text, failures[i]);
	for (size_t i = 0; i < sizeof updates / sizeof *updates; i++)
		record->updated |= has_word(text, updates[i]);
	record->created |= !record->updated && has_word(text, "created");
}

/* Find the files that a tool's sentence names: "Successfully wrote to src/main.c." */
static int find_in_sentence(struct record *record, struct st_str text, struct stet_error *err) {
	size_t at = 0;
	int code = 0;
	text = st_str_trim(text);
	if (record->effect < CREATES || record->effect > DELETES || text.len > PROSE_MAX)
		return 0;
	read_outcome(record, text);
	for (int count = 0; count < PROSE_WORDS && at < text.len && code == 0; count++) {
		struct st_str word = next_word(text, &at);
		/* A deleted file is not there to be looked at. */
		if (looks_like_path(word) && (record->effect == DELETES || is_there(record, word)))
			code = add_mention(record, word, record->effect, err);
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

/* The effect on a path under a key; -1 if the key does not hold a path. */
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

/* Check a member that may say whether the call failed, or what it did. */
static void check_outcome(struct record *record, struct st_str key, yyjson_val *value) {
	if (is_one_of(key, failure_keys))
		record->failed |= yyjson_is_true(value) || yyjson_get_len(value) > 0;
	if (st_str_eq(key, ST_STR("success")) && yyjson_is_false(value))
		record->failed = true;
	if (st_str_eq(key, ST_STR("created")) && yyjson_is_true(value))
		record->created = true;
	if (st_str_eq(key, ST_STR("type")) && st_str_eq(st_json_str(value), ST_STR("create")))
		record->created = true;
	if (st_str_eq(key, ST_STR("type")) && st_str_eq(st_json_str(value), ST_STR("update")))
		record->updated = true;
	/* str_replace_based_edit_tool has its operation in an argument. */
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
		check_outcome(record, st_json_str(key), yyjson_obj_iter_get_val(key));
	members = yyjson_obj_iter_with(object);
	while (code == 0 && (key = yyjson_obj_iter_next(&members))) {
		struct st_str name = st_json_str(key);
		code = find_in(record, yyjson_obj_iter_get_val(key), effect_of_key(record, name),
		               is_one_of(name, text_keys), depth + 1, err);
	}
	return code;
}

/* Find paths in a value. effect: of a string that is a path; -1 if strings here are no paths. */
static int find_in(struct record *record, yyjson_val *value, int effect, bool text, int depth,
                   struct stet_error *err) {
	if (depth > DEPTH_MAX)
		return 0;
	if (yyjson_is_str(value) && effect >= 0)
		return add_mention(record, st_json_str(value), (enum effect)effect, err);
	if (yyjson_is_str(value) && (text || depth == 0)) {
		int found = find_in_text(record, st_json_str(value), err);
		return found < 0 ? found : find_in_sentence(record, st_json_str(value), err);
	}
	if (yyjson_is_str(value))
		return 0;
	if (yyjson_is_obj(value))
		return find_in_object(record, value, depth, err);
	int code = 0;
	yyjson_val *item;
	yyjson_arr_iter items = yyjson_arr_iter_with(value);
	while (code == 0 && (item = yyjson_arr_iter_next(&items)))
		code = find_in(record, item, effect, text, depth + 1, err);
	return code;
}

/* ---- the files on the disk ---- */

static void add_ignored(struct record *record, const char *path, const char *why) {
	yyjson_mut_val *object = yyjson_mut_obj(record->doc);
	st_json_add_text(record->doc, object, "path", st_str(path));
	st_json_add_text(record->doc, object, "reason", st_str(why));
	st_json_push(record->doc, record->ignored, object);
}

static void add_present(struct record *record, const char *path, const struct st_version *version) {
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

/*
 * After a change by the session's own tool, its earlier read cannot show what others
 * change: the file counts as unread until the session reads it again.
 */
static void forget_read(struct record *record, const char *path, bool changes) {
	if (changes)
		st_tracker_forget(&record->session->tracker, path);
}

/* Report what the tool did to an existing file. */
static void record_present(struct record *record, const struct mention *mention,
                           const struct st_place *place, const struct st_file *file) {
	const struct st_version now = st_file_version(file);
	/*
	 * A tool that failed has not shown the file to the model: a change by others must stay
	 * marked.
	 */
	if (record->failed) {
		add_present(record, place->path, &now);
		return;
	}
	bool changes = mention->effect >= CREATES && mention->effect <= EDITS;
	/* The version before an edit is unknown, but there was one; a tool that writes may create. */
	struct st_version before = {.exists = mention->effect == EDITS || record->updated};
	if (record->created)
		before.exists = false;
	else if (mention->effect == WRITES && !record->updated)
		before = st_version_unknown();
	const struct st_file_event event = {
		.path = place->path,
		.kind = changes ? ST_EVENT_WRITTEN : ST_EVENT_READ,
		.before = before,
		.after = now,
		.foreign = true,
	};
	st_session_report(record->session, &event);
	forget_read(record, place->path, changes);
	add_present(record, place->path, &event.after);
}

static int record_mention(struct record *record, const struct mention *mention,
                          struct stet_error *err) {
	struct stet_workspace *ws = record->session->ws;
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error why = {0};
	int code = st_file_load_known(&ws->root, st_str(mention->path), ws->max_file, NULL, &place,
	                              &file, &why);
	if (code == STET_E_NOMEM || code == STET_E_CANCELLED)
		return st_fail(err, code, "%s", why.message);
	if (place.path && st_path_is_protected(place.path, ws->writes.state_dir)) {
		add_ignored(record, mention->path, "It belongs to git or to stet itself.");
	} else if (code == 0) {
		record_present(record, mention, &place, &file);
	} else if (code == STET_E_NOT_FOUND && place.path && mention->effect == DELETES) {
		const struct st_file_event event = {
			.path = place.path, .kind = ST_EVENT_REMOVED, .before.exists = true, .foreign = true};
		st_session_report(record->session, &event);
		forget_read(record, place.path, true);
		add_present(record, place.path, &event.after);
	} else {
		add_ignored(record, mention->path, why.message);
	}
	return 0;
}

static void add_directory(struct record *record, const char *path, const char *status) {
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

/* Report a moved directory, if the disk confirms it. Returns whether it did. */
static bool record_moved_dir(struct record *record) {
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
	add_directory(record, gone.path, "deleted");
	add_directory(record, here.path, "present");
	return true;
}

/* ---- the record ---- */

static int record_all(struct record *record, yyjson_val *root, struct stet_error *err) {
	int code = record->tasks ? 0 : find_in(record, root, -1, false, 0, err);
	record->doc = yyjson_mut_doc_new(NULL);
	if (code == 0 && !record->doc)
		code = st_fail_nomem(err);
	if (code < 0)
		return code;
	yyjson_mut_val *answer = yyjson_mut_obj(record->doc);
	yyjson_mut_doc_set_root(record->doc, answer);
	record->files = st_json_add_array(record->doc, answer, "files");
	record->ignored = st_json_add_array(record->doc, answer, "ignored");
	bool taken = record_moved_dir(record);
	for (size_t i = 0; i < record->count && code == 0 && !taken; i++)
		code = record_mention(record, &record->mentions[i], err);
	if (code == 0)
		code = st_state_save(record->session, err);
	/* A command may have changed any file: compare all with the disk. */
	st_auto(st_repo_status) status = {0};
	if (code == 0 && !record->tasks && (record->effect == RUNS || record->count == 0))
		code = st_repo_get_status(&st_state_of(record->session->ws)->repo, record->session, 0,
		                          &status, err);
	if (code == 0 && status.state.file_count)
		st_json_add_size(record->doc, answer, "compared", status.state.file_count);
	return code;
}

static int write_record(struct record *record, char **out, struct stet_error *err) {
	struct st_buf text = ST_BUF_INIT;
	yyjson_mut_val *root = yyjson_mut_doc_get_root(record->doc);
	if (record->tasks)
		st_json_add_true(record->doc, root, "tasks");
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
	if (st_begin_call(session, err) < 0)
		return STET_E_INVALID;
	[[maybe_unused]] st_auto(st_call_scope) scope = st_call_scope_begin(session, true);
	struct record record = {.session = session, .effect = effect_of(tool)};
	yyjson_doc *doc = NULL;
	if (out)
		*out = NULL;
	int code =
		st_json_parse(st_strn(result ? result : "null", result ? len : 4), "The result", &doc, err);
	if (code == 0)
		code = st_cancel_check(len, err);
	if (code == 0 && st_tasks_is_list_tool(tool))
		code = st_tasks_follow(session, yyjson_doc_get_root(doc), err);
	record.tasks = code == 1;
	code = code == 1 ? 0 : code;
	if (code == 0)
		code = record_all(&record, yyjson_doc_get_root(doc), err);
	if (code == 0 && out)
		code = write_record(&record, out, err);
	yyjson_doc_free(doc);
	yyjson_mut_doc_free(record.doc);
	while (record.count > 0)
		free(record.mentions[--record.count].path);
	free(record.mentions);
	return code;
}
