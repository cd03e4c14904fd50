#include "core/state/repo_json.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>

#include "base/hex.h"
#include "base/json.h"
#include "base/utf8.h"
#include "core/workspace/file_type.h"
#include "fs/versions/state_dir.h"
#include "fs/path/sys.h"

/* How long to wait for another process that writes the file. */
enum { WAIT_MS = 5000 };

/* ---- as JSON ---- */

static const char *const task_statuses[] = {"pending", "in_progress", "completed"};

static void add_hash(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                     const struct st_hash *hash) {
	char hex[ST_HASH_HEX + 1];
	st_hash_hex(hash, hex, ST_HASH_HEX);
	st_json_add_text(doc, object, key, st_str(hex));
}

/* JSON cannot hold a name that is not UTF-8: add its bytes in hexadecimal too. */
static void add_path(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *path) {
	st_json_add_text(doc, object, "path", st_str(path));
	if (st_utf8_valid(st_str(path)))
		return;
	st_auto(st_buf) hex = ST_BUF_INIT;
	st_hex_add(&hex, st_str(path));
	st_json_add_text(doc, object, "path_hex", st_buf_str(&hex));
}

static void add_file_json(yyjson_mut_doc *doc, yyjson_mut_val *list,
                          const struct st_repo_file *file, const struct st_tracked *tracked) {
	yyjson_mut_val *object = yyjson_mut_obj(doc);
	add_path(doc, object, file->path);
	if (file->status != ST_FILE_DELETED) {
		add_hash(doc, object, "hash", &file->version.hash);
		st_json_add_size(doc, object, "size", (size_t)file->version.stamp.size);
		st_json_add_time(doc, object, "mod_time", file->version.stamp.mtime_ns);
		st_json_add_text(doc, object, "type", st_str(st_file_type(st_str(file->path)).name));
	}
	st_json_add_text(doc, object, "status", st_str(st_file_status_name(file->status)));
	uint64_t size;
	if (tracked->base.exists && file->status != ST_FILE_UNCHANGED &&
	    file->status != ST_FILE_WRITTEN && !st_version_has_size_only(&tracked->base, &size))
		add_hash(doc, object, "base_hash", &tracked->base.hash);
	if (tracked->external)
		st_json_add_true(doc, object, "external");
	else if (tracked->who)
		st_json_add_text(doc, object, "changed_by", st_str(st_name_without_owner(tracked->who)));
	st_json_push(doc, list, object);
}

static void add_task_json(yyjson_mut_doc *doc, yyjson_mut_val *list,
                          const struct st_repo_task *task) {
	yyjson_mut_val *object = yyjson_mut_obj(doc);
	st_json_add(doc, object, "id", yyjson_mut_sint(doc, task->id));
	st_json_add_text(doc, object, "description", st_str(task->description));
	st_json_add_text(doc, object, "status", st_str(task_statuses[task->status]));
	st_json_add(doc, object, "priority", yyjson_mut_sint(doc, task->priority));
	if (task->owner)
		st_json_add_text(doc, object, "owner", st_str(task->owner));
	if (task->place)
		st_json_add_text(doc, object, "place", st_str(task->place));
	st_json_push(doc, list, object);
}

int st_repo_json_add(const struct st_repo_status *status, struct st_buf *out,
                     struct stet_error *err) {
	const struct st_repo_state *state = &status->state;
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	if (!doc)
		return st_fail_nomem(err);
	yyjson_mut_val *root = yyjson_mut_obj(doc);
	yyjson_mut_doc_set_root(doc, root);
	st_json_add_size(doc, root, "version", ST_REPO_JSON_VERSION);
	st_json_add_text(doc, root, "work_dir", st_str(state->work_dir));
	st_json_add_text(doc, root, "story_id", st_str(state->story_id));
	if (state->use_snapshot >= 0)
		st_json_add(doc, root, "use_snapshot", yyjson_mut_bool(doc, state->use_snapshot));
	yyjson_mut_val *files = st_json_add_array(doc, root, "files");
	yyjson_mut_val *deleted = st_json_add_array(doc, root, "deleted_files");
	for (size_t i = 0; i < state->file_count; i++)
		add_file_json(doc, state->files[i].status == ST_FILE_DELETED ? deleted : files,
		              &state->files[i], &status->files[i]);
	yyjson_mut_val *open = st_json_add_array(doc, root, "open_tasks");
	yyjson_mut_val *finished = st_json_add_array(doc, root, "finished_tasks");
	for (size_t i = 0; i < state->task_count; i++)
		add_task_json(doc, state->tasks[i].status == ST_TASK_COMPLETED ? finished : open,
		              &state->tasks[i]);
	st_json_add_time(doc, root, "last_updated", state->last_updated);
	int code = st_json_write(doc, root, out, err);
	yyjson_mut_doc_free(doc);
	return code;
}

/* ---- writing ---- */

static const char temp_name[] = ST_REPO_JSON ".new";

/*
 * Open and lock the temporary file. Each process reads the state only once it
 * has the lock, so that the last one to write has the newest state.
 */
static int open_temp(int dirfd, struct stet_error *err) {
	for (;;) {
		st_autofd fd = st_retry(openat(
			dirfd, temp_name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
		struct stat own, named;
		int code = fd < 0 ? 0 : st_state_lock(fd, WAIT_MS, ST_REPO_JSON, err);
		if (code < 0)
			return code;
		if (fd < 0 || st_retry(fstat(fd, &own)) < 0)
			return st_fail_errno(err, errno, "%s cannot be written", ST_REPO_JSON);
		/* If the process that had the lock has renamed the file, open the next one. */
		if (st_retry(fstatat(dirfd, temp_name, &named, AT_SYMLINK_NOFOLLOW)) == 0 &&
		    named.st_dev == own.st_dev && named.st_ino == own.st_ino) {
			int result = fd;
			fd = -1;
			return result;
		}
	}
}

static int replace_file(int dirfd, int fd, struct st_str text, struct stet_error *err) {
	if (st_retry(ftruncate(fd, 0)) < 0 || st_pwrite_all(fd, 0, text) < 0 ||
	    st_retry(fdatasync(fd)) < 0 ||
	    st_retry(renameat(dirfd, temp_name, dirfd, ST_REPO_JSON)) < 0)
		return st_fail_errno(err, errno, "%s cannot be written", ST_REPO_JSON);
	return 0;
}

static int export_file(struct st_repo *repo, struct stet_error *err) {
	const struct stet_workspace *ws = repo->ws;
	st_autofd dirfd = st_state_open(&ws->root, ws->writes.state_dir, err);
	if (dirfd < 0)
		return dirfd;
	st_autofd fd = open_temp(dirfd, err);
	if (fd < 0)
		return fd;
	st_auto(st_repo_status) status = {0};
	st_auto(st_buf) text = ST_BUF_INIT;
	int code = st_repo_get_status(repo, NULL, ST_REPO_UNSTORED, &status, err);
	if (code == 0 && status.why[0])
		return 0;
	if (code == 0)
		code = st_repo_json_add(&status, &text, err);
	st_buf_addc(&text, '\n');
	if (code == 0 && text.failed)
		code = st_fail_nomem(err);
	return code == 0 ? replace_file(dirfd, fd, st_buf_str(&text), err) : code;
}

int st_repo_export_flush(struct st_repo_export *export, struct stet_error *err) {
	if (!atomic_exchange(&export->dirty, false))
		return 0;
	int code = export_file(export->repo, err);
	if (code < 0)
		export->dirty = true;
	return code;
}

/* When a file of the state directory was last written; 0 if there is none. */
static int64_t written_at(const struct stet_workspace *ws, const char *name) {
	char path[300];
	struct stat st;
	snprintf(path, sizeof path, "%s/%s", ws->writes.state_dir, name);
	if (st_retry(fstatat(ws->root.fd, path, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return 0;
	return st_stamp_of(&st).mtime_ns;
}

/* Equal times prove nothing: the file may be older by less than a tick. */
static bool is_behind(const struct stet_workspace *ws) {
	int64_t at = written_at(ws, ST_REPO_JSON);
	return at <= written_at(ws, ST_STORE_NAME) || at <= written_at(ws, ST_STORE_NAME "-wal");
}

void st_repo_export_refresh(struct st_repo_export *export) {
	struct stet_workspace *ws = export->repo->ws;
	struct stet_error err = {0};
	if (written_at(ws, ST_STORE_NAME) == 0)
		return;
	if (is_behind(ws))
		export->dirty = true;
	if (st_repo_export_flush(export, &err) < 0)
		st_write_notice(&ws->writes, "The readable copy of the state is not up to date. %s",
		                err.message);
}

/* ---- the background task ---- */

static void run_export(void *data) {
	struct st_repo_export *export = data;
	struct stet_workspace *ws = export->repo->ws;
	struct stet_error err = {0};
	bool failed = st_repo_export_flush(export, &err) < 0;
	if (failed && !export->failed)
		st_write_notice(&ws->writes, "The readable copy of the state is not up to date. %s",
		                err.message);
	export->failed = failed;
	if (failed)
		st_background_schedule(&ws->background, &export->task, ST_REPO_EXPORT_MS);
}

void st_repo_export_init(struct st_repo_export *export, struct st_repo *repo) {
	*export = (struct st_repo_export){.repo = repo, .task = {.run = run_export, .data = export}};
}

void st_repo_export_release(struct st_repo_export *export) {
	/* A forked child leaves this to its parent. A failure is harmless: the store has everything. */
	if (!st_background_is_elsewhere(&export->repo->ws->background) &&
	    st_repo_export_flush(export, NULL) < 0)
		export->dirty = false;
}
