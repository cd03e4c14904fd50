/* Import repostate.json, trusting nothing in it. */
#include <stdio.h>

#include "base/json.h"
#include "base/hex.h"
#include "base/plural.h"
#include "base/quote.h"
#include "core/state/repo_json.h"
#include "core/session/session.h"
#include "fs/versions/state_dir.h"
#include "fs/path/sys.h"

#define FILE_MAX ((size_t)256 << 20)

struct import {
	struct stet_workspace *ws;
	struct st_store *store;
	/* How many paths were left out, and the first of them, quoted. */
	size_t outside;
	struct st_buf first_outside;
};

/* ---- members ---- */

static int wrong(const char *what, const char *wanted, yyjson_val *value, struct stet_error *err) {
	return st_fail(err, STET_E_INVALID, "%s is %s, where %s is expected.", what,
	               value ? st_json_kind(value) : "missing", wanted);
}

/* Get a list by its key; NULL if it is missing. */
static int get_list(yyjson_val *root, const char *key, yyjson_val **list, struct stet_error *err) {
	*list = yyjson_obj_get(root, key);
	return !*list || yyjson_is_arr(*list) ? 0 : wrong(key, "a list", *list, err);
}

static int get_hash(yyjson_val *file, const char *key, bool *there, struct st_hash *hash,
                    struct stet_error *err) {
	yyjson_val *value = yyjson_obj_get(file, key);
	*there = value != NULL;
	if (!value)
		return 0;
	struct st_str hex = st_json_str(value);
	if (hex.len != ST_HASH_HEX || st_hex_decode(hex, hash->bytes, ST_HASH_SIZE) < 0)
		return wrong(key, "a SHA-256 of 64 hex digits", value, err);
	return 0;
}

/* ---- files ---- */

/* Get the path of a file; false if it has no valid one. */
static bool get_path(yyjson_val *file, char path[4096]) {
	yyjson_val *hex = yyjson_obj_get(file, "path_hex");
	struct st_str text = st_json_str(yyjson_obj_get(file, "path"));
	memset(path, 0, 4096);
	if (hex)
		return st_hex_decode(st_json_str(hex), path, 4095) >= 0;
	if (text.len == 0 || text.len > 4095 || memchr(text.ptr, '\0', text.len))
		return false;
	memcpy(path, text.ptr, text.len);
	return true;
}

/* Whether it is a plain path below the root, and not one of git's or stet's own. */
static bool is_inside(const struct import *import, const char *path) {
	return *path && *path != '/' && st_root_plain(&import->ws->root, path) == path &&
	       !st_path_is_protected(path, import->ws->writes.state_dir);
}

static int find_status(yyjson_val *file, bool gone, int *status, struct stet_error *err) {
	yyjson_val *value = yyjson_obj_get(file, "status");
	for (*status = 0; *status < ST_FILE_STATUSES; ++*status) {
		const char *name = st_file_status_name((enum st_file_status) * status);
		if (st_str_eq(st_json_str(value), st_str(name)) && gone == (*status == ST_FILE_DELETED))
			return 0;
	}
	return wrong("The status of a file", "unchanged, created or modified", value, err);
}

static int import_file(struct import *import, yyjson_val *value, bool gone,
                       struct stet_error *err) {
	char path[4096];
	int status;
	if (!yyjson_is_obj(value) || !get_path(value, path))
		return wrong("An entry of files", "an object with a path", value, err);
	if (!is_inside(import, path)) {
		if (import->outside++ == 0)
			st_buf_adds(&import->first_outside, st_quoted(path));
		return 0;
	}
	/* A racy stamp, so that the next comparison reads the file. */
	struct st_tracked file = {
		.path = path,
		.version.stamp = {.racy = true},
		.external = yyjson_is_true(yyjson_obj_get(value, "external")),
	};
	yyjson_val *size = yyjson_obj_get(value, "size");
	int code = find_status(value, gone, &status, err);
	if (code == 0)
		code = get_hash(value, "hash", &file.version.exists, &file.version.hash, err);
	if (code == 0)
		code = get_hash(value, "base_hash", &file.base.exists, &file.base.hash, err);
	if (code == 0 && file.version.exists == gone)
		code = wrong("The hash of a file", "64 hex digits", NULL, err);
	if (code == 0 && !gone && (!yyjson_is_uint(size) || yyjson_get_uint(size) > INT64_MAX))
		code = wrong("The size of a file", "a number", size, err);
	if (code < 0)
		return code;
	file.version.stamp.size = yyjson_get_uint(size);
	if (!file.external)
		file.known = file.version;
	if (status == ST_FILE_UNCHANGED) {
		file.base = file.version;
	} else if (status == ST_FILE_WRITTEN) {
		file.base = st_version_unknown();
	} else {
		/* The files of other programs may have no base_hash: the base then is an unknown version. */
		file.base.exists =
			status == ST_FILE_MODIFIED || (status == ST_FILE_DELETED && file.base.exists);
	}
	int64_t change;
	code = st_store_next(import->store, &change, err);
	return code == 0 ? st_store_put_file(import->store, &file, change, err) : code;
}

static int import_files(struct import *import, yyjson_val *root, const char *key, bool gone,
                        struct stet_error *err) {
	yyjson_val *list, *value;
	int code = get_list(root, key, &list, err);
	if (code < 0 || !list)
		return code;
	if (yyjson_arr_size(list) > ST_REPO_FILES_MAX)
		return st_fail(err, STET_E_INVALID, "It lists more than %d files.", ST_REPO_FILES_MAX);
	yyjson_arr_iter items = yyjson_arr_iter_with(list);
	while (code == 0 && (value = yyjson_arr_iter_next(&items)))
		code = import_file(import, value, gone, err);
	return code;
}

/* ---- tasks ---- */

static int import_task(struct import *import, yyjson_val *value, struct stet_error *err) {
	static const char *const names[] = {"pending", "in_progress", "completed"};
	yyjson_val *description = yyjson_obj_get(value, "description");
	yyjson_val *status = yyjson_obj_get(value, "status");
	yyjson_val *priority = yyjson_obj_get(value, "priority");
	yyjson_val *owner = yyjson_obj_get(value, "owner");
	if (!yyjson_is_obj(value) || !yyjson_is_str(description))
		return wrong("An entry of open_tasks", "an object with a description", value, err);
	if (priority && !yyjson_is_int(priority))
		return wrong("The priority of a task", "a number", priority, err);
	if (owner && (!yyjson_is_str(owner) || yyjson_get_len(owner) > 127))
		return wrong("The owner of a task", "the name of a session", owner, err);
	int word = 0;
	while (word < 3 && !st_str_eq(st_json_str(status), st_str(names[word])))
		word++;
	if (word == 3)
		return wrong("The status of a task", "pending, in_progress or completed", status, err);
	int64_t id;
	int code = st_store_task_restore(import->store, st_json_int(yyjson_obj_get(value, "id")),
	                                 st_json_str(description), st_json_int(priority), &id, err);
	if (code == 0 && word > 0)
		code = st_store_task_set(import->store, id, (enum st_task_status)word,
		                         yyjson_get_str(owner), err);
	return code;
}

static int import_tasks(struct import *import, yyjson_val *root, const char *key,
                        struct stet_error *err) {
	yyjson_val *list, *value;
	int code = get_list(root, key, &list, err);
	if (code < 0 || !list)
		return code;
	yyjson_arr_iter items = yyjson_arr_iter_with(list);
	while (code == 0 && (value = yyjson_arr_iter_next(&items)))
		code = import_task(import, value, err);
	return code;
}

/* ---- the file ---- */

static int import_all(struct import *import, yyjson_val *root, struct stet_error *err) {
	yyjson_val *version = yyjson_obj_get(root, "version"),
			   *story = yyjson_obj_get(root, "story_id"),
			   *use = yyjson_obj_get(root, "use_snapshot");
	if (!yyjson_is_obj(root))
		return wrong("It", "an object", root, err);
	/* The files of other programs may have no version. */
	if (version && (!yyjson_is_int(version) || st_json_int(version) != ST_REPO_JSON_VERSION))
		return st_fail(err, STET_E_INVALID,
		               "Its version is not %d, the only one that this stet reads.",
		               ST_REPO_JSON_VERSION);
	if (story && (!yyjson_is_str(story) || yyjson_get_len(story) > ST_STORY_BYTES_MAX))
		return wrong("story_id", "a short text", story, err);
	if (use && !yyjson_is_bool(use))
		return wrong("use_snapshot", "true or false", use, err);
	int code = 0;
	if (yyjson_get_len(story) > 0)
		code = st_store_story_begin(import->store, yyjson_get_str(story), err);
	if (code == 0 && use && yyjson_get_len(story) > 0)
		code = st_store_story_choose(import->store, yyjson_get_bool(use), err);
	if (code == 0)
		code = import_files(import, root, "files", false, err);
	if (code == 0)
		code = import_files(import, root, "deleted_files", true, err);
	if (code == 0)
		code = import_tasks(import, root, "open_tasks", err);
	return code == 0 ? import_tasks(import, root, "finished_tasks", err) : code;
}

/* Rename the file, so that it is not imported again and nothing of it is lost. */
static void set_json_aside(struct stet_workspace *ws, int dirfd, const char *why) {
	for (int i = 1; i <= ST_ASIDE_MAX; i++) {
		char name[48];
		snprintf(name, sizeof name, "%s.damaged-%d", ST_REPO_JSON, i);
		if (renameat2(dirfd, ST_REPO_JSON, dirfd, name, RENAME_NOREPLACE) == 0) {
			st_write_notice(&ws->writes,
			                "The state file was not imported as it is, and is set aside as %s/%s. "
			                "%s",
			                ws->writes.state_dir, name, why);
			return;
		}
		if (errno != EEXIST)
			break;
	}
	st_write_notice(&ws->writes, "The state file %s/%s is not used. %s", ws->writes.state_dir,
	                ST_REPO_JSON, why);
}

static int import_text(struct import *import, struct st_str text, struct stet_error *err) {
	yyjson_doc *doc = NULL;
	int code = st_json_parse(text, "The contents of the state file", &doc, err);
	if (code < 0)
		return code;
	/* A savepoint, so that a failed import leaves nothing behind. */
	code = st_db_exec(import->store->db, "SAVEPOINT import", err);
	if (code == 0) {
		code = import_all(import, yyjson_doc_get_root(doc), err);
		if (code < 0 && st_db_exec(import->store->db, "ROLLBACK TO import", NULL) < 0)
			code = st_fail(err, STET_E_IO, "The failed import of the state file cannot be undone.");
		if (st_db_exec(import->store->db, "RELEASE import", NULL) < 0 && code == 0)
			code = st_fail(err, STET_E_IO, "The state file could not be imported.");
	}
	yyjson_doc_free(doc);
	return code;
}

int st_repo_json_import(struct st_store *store, void *data, struct stet_error *err) {
	const struct st_repo *repo = data;
	struct import import = {.ws = repo->ws, .store = store};
	st_autofd dirfd = st_state_open(&import.ws->root, import.ws->writes.state_dir, err);
	if (dirfd < 0)
		return dirfd;
	st_autofd fd =
		st_retry(openat(dirfd, ST_REPO_JSON, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	if (fd < 0)
		return 0;
	struct stet_error why = {0};
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_file_read(fd, ST_REPO_JSON, FILE_MAX, &file, &why);
	if (code == 0)
		code = import_text(&import, st_buf_str(&file.bytes), &why);
	if (code == 0 && import.outside > 0)
		code =
			st_fail(&why, STET_E_OUTSIDE,
		            "%zu of its paths %s out of the workspace or to what belongs to git or stet, "
		            "and %s left "
		            "out; the first is %s. The rest was imported.",
		            import.outside, st_plural(import.outside, "leads", "lead"),
		            st_plural(import.outside, "was", "were"), st_buf_cstr(&import.first_outside));
	st_buf_release(&import.first_outside);
	if (code == STET_E_NOMEM || code == STET_E_IO || code == STET_E_BUSY)
		return st_fail(err, code, "%s", why.message);
	if (code < 0)
		set_json_aside(import.ws, dirfd, why.message);
	return 0;
}
