#include "core/state/repo_track.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "core/state/baseline.h"
#include "fs/path/sys.h"

/* ---- the copy in memory ---- */

void st_repo_init(struct st_repo *repo, struct stet_workspace *ws, struct st_store *store) {
	*repo = (struct st_repo){.ws = ws, .store = store, .opened = -1};
	st_lru_init(&repo->files, ST_REPO_FILES_MAX, ST_REPO_FILES_MAX, free);
}

void st_repo_release(struct st_repo *repo) {
	st_lru_release(&repo->files);
	free(repo->order);
	while (repo->name_count > 0)
		free(repo->names[--repo->name_count]);
	free(repo->names);
}

/* The most sessions that are told apart by name; there are as many in the store. */
enum { NAMES_MAX = 1000 };

/* The copy of a session's name that lives as long as the repo; NULL for none, or without room. */
static const char *keep_name(struct st_repo *repo, const char *name) {
	for (size_t i = 0; name && i < repo->name_count; i++) {
		if (strcmp(repo->names[i], name) == 0)
			return repo->names[i];
	}
	if (!name || !*name || repo->name_count == NAMES_MAX)
		return NULL;
	char **names = reallocarray(repo->names, repo->name_count + 1, sizeof *names);
	if (names)
		repo->names = names;
	char *copy = names ? strdup(name) : NULL;
	if (copy)
		repo->names[repo->name_count++] = copy;
	return copy;
}

static enum st_file_status status_of(const struct st_tracked *file) {
	if (!file->version.exists)
		return ST_FILE_DELETED;
	if (!file->base.exists)
		return ST_FILE_CREATED;
	const struct st_version unknown = st_version_unknown();
	uint64_t size;
	if (st_version_eq(&file->base, &unknown))
		return ST_FILE_WRITTEN;
	/* Of the same size again, it may have been put back. */
	if (st_version_has_size_only(&file->base, &size))
		return file->version.stamp.size == size ? ST_FILE_WRITTEN : ST_FILE_MODIFIED;
	return st_version_eq(&file->version, &file->base) ? ST_FILE_UNCHANGED : ST_FILE_MODIFIED;
}

static struct st_tracked *find_tracked(const struct st_repo *repo, const char *path) {
	return st_lru_peek(&repo->files, st_str(path));
}

/* Add a file to the copy in memory, or update it there. */
static int put_copy(struct st_repo *repo, const struct st_tracked *file, struct stet_error *err) {
	struct st_tracked *known = find_tracked(repo, file->path);
	if (known) {
		const char *path = known->path;
		*known = *file;
		known->path = path;
		known->who = keep_name(repo, file->who);
		return 0;
	}
	size_t len = strlen(file->path);
	struct st_tracked *new = malloc(sizeof *new + len + 1);
	if (!new)
		return st_fail_nomem(err);
	*new = *file;
	new->path = memcpy(new + 1, file->path, len + 1);
	new->who = keep_name(repo, file->who);
	repo->sorted = false;
	return st_lru_put(&repo->files, st_str(file->path), new, 1) ? 0 : st_fail_nomem(err);
}

static int copy_stored(void *data, const struct st_tracked *file, struct stet_error *err) {
	struct st_repo *repo = data;
	if (file->changed > repo->change)
		repo->change = file->changed;
	return put_copy(repo, file, err);
}

/* Bring the copy in memory up to date with the store. */
static int update_copy(struct st_repo *repo, struct stet_error *err) {
	struct st_store *store = repo->store;
	int64_t epoch;
	if (repo->opened == store->opened && repo->generation == store->generation)
		return 0;
	int code = st_store_get(store, "epoch", &epoch, err);
	if (code < 0)
		return code;
	if (repo->opened != store->opened || repo->epoch != epoch ||
	    repo->rolled_back != store->rolled_back) {
		st_lru_clear(&repo->files);
		repo->sorted = false;
		repo->change = 0;
	}
	repo->opened = -1;
	code = st_store_files_since(store, repo->change, copy_stored, repo, err);
	if (code == 0) {
		repo->opened = store->opened;
		repo->generation = store->generation;
		repo->rolled_back = store->rolled_back;
		repo->epoch = epoch;
	}
	return code;
}

static int by_tracked_path(const void *a, const void *b) {
	const struct st_tracked *const *left = a, *const *right = b;
	return strcmp((*left)->path, (*right)->path);
}

static int sort_files(struct st_repo *repo, struct stet_error *err) {
	if (repo->sorted)
		return 0;
	if (repo->files.count > repo->order_cap) {
		struct st_tracked **order =
			realloc(repo->order, repo->files.count * sizeof(struct st_tracked *));
		if (!order)
			return st_fail_nomem(err);
		repo->order = order;
		repo->order_cap = repo->files.count;
	}
	size_t count = 0;
	const struct st_lru_entry *entry = NULL;
	while ((entry = st_lru_next(&repo->files, entry)))
		repo->order[count++] = st_lru_value(entry);
	if (count > 0)
		qsort(repo->order, count, sizeof(struct st_tracked *), by_tracked_path);
	repo->sorted = true;
	return 0;
}

/* ---- events ---- */

static int store_file(struct st_repo *repo, struct st_tracked *file, struct stet_error *err) {
	file->external = !st_version_eq(&file->version, &file->known);
	int code = st_store_next(repo->store, &file->changed, err);
	if (code == 0)
		code = st_store_put_file(repo->store, file, file->changed, err);
	if (code == 0)
		code = put_copy(repo, file, err);
	if (code == 0)
		repo->change = file->changed;
	return code;
}

/* Whether one more file fits. If not, the first call adds a notice. */
static bool has_file_room(struct st_repo *repo) {
	if (repo->files.count < ST_REPO_FILES_MAX)
		return true;
	if (!repo->full)
		st_write_notice(
			repo->store->writes,
			"%d files are tracked, which is the limit: others are not part of the state "
			"of the work.",
			ST_REPO_FILES_MAX);
	repo->full = true;
	return false;
}

static bool is_same(const struct st_tracked *a, const struct st_tracked *b) {
	const struct st_stamp *left = &a->version.stamp, *right = &b->version.stamp;
	bool by_same = a->who == b->who || (a->who && b->who && strcmp(a->who, b->who) == 0);
	return by_same && st_version_eq(&a->known, &b->known) &&
	       st_version_eq(&a->version, &b->version) &&
	       (!a->version.exists || (st_stamp_eq(left, right) && left->racy == right->racy));
}

int st_repo_apply_move(struct st_repo *repo, const struct st_tracked *old, const char *path,
                       const struct st_stamp *stamp, struct stet_error *err) {
	int code = update_copy(repo, err);
	const struct st_tracked *known = code == 0 ? find_tracked(repo, path) : NULL;
	if (code < 0 || (known && known->version.exists) || (!known && !has_file_room(repo)))
		return code;
	struct st_tracked file = {.path = path};
	if (known)
		file = *known;
	else
		code = st_baseline_find(repo->store, path, &old->version, &file.base, err);
	if (code < 0)
		return code;
	file.version = old->version;
	file.version.stamp = *stamp;
	file.known = old->known;
	file.who = old->who;
	code = store_file(repo, &file, err);
	return code < 0 ? code : 1;
}

static bool is_in_dir(const char *path, const char *dir, size_t len) {
	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* Rename or delete one file below the directory of an event. */
static int apply_dir_to_file(struct st_repo *repo, const struct st_tracked *known,
                             const struct st_file_event *event, struct stet_error *err) {
	st_auto(st_buf) path = ST_BUF_INIT;
	struct st_tracked gone = *known;
	int code = 0;
	if (event->moved_to && known->version.exists) {
		st_buf_addf(&path, "%s%s", event->moved_to, known->path + strlen(event->path));
		code = path.failed ? st_fail_nomem(err)
		                   : st_repo_apply_move(repo, known, path.ptr, &known->version.stamp, err);
	}
	gone.version = gone.known = (struct st_version){0};
	gone.who = event->who;
	return code < 0 ? code : store_file(repo, &gone, err);
}

int st_repo_apply_dir(struct st_repo *repo, const struct st_file_event *event,
                      struct stet_error *err) {
	size_t len = strlen(event->path), moved = 0;
	int code = update_copy(repo, err);
	if (code == 0)
		code = sort_files(repo, err);
	/* The loop adds files, but not to `order`, and none below the old name. */
	size_t count = repo->files.count;
	for (size_t i = 0; i < count && code == 0; i++) {
		const struct st_tracked *known = repo->order[i];
		if (!is_in_dir(known->path, event->path, len))
			continue;
		if (known->version.exists || known->external)
			code = apply_dir_to_file(repo, known, event, err);
		moved++;
	}
	if (code == 0 && moved > 0)
		code = st_store_set(repo->store, "updated_at", event->at, err);
	return code < 0 ? code : moved > 0;
}

/* The record of a file after an event; known is the one before, or NULL. */
static struct st_tracked apply_event(const struct st_tracked *known,
                                     const struct st_file_event *event) {
	struct st_tracked file = {.path = event->path};
	file.base = event->kind == ST_EVENT_READ ? event->after : event->before;
	if (known)
		file = *known;
	file.version = event->after;
	/* A moved file is as known as it was under its old name. */
	if (event->moved && known && known->version.exists)
		return file;
	/* A session that only reads a version of others did not make it. */
	if (event->kind != ST_EVENT_READ)
		file.who = event->who;
	else if (!st_version_eq(&file.known, &event->after))
		file.who = NULL;
	file.known = event->after;
	file.known.stamp = (struct st_stamp){0};
	return file;
}

/* Find out how a file was at the beginning of the story, for its first event. */
static int find_base(struct st_repo *repo, const struct st_file_event *event,
                     struct st_tracked *file, struct stet_error *err) {
	bool after = event->kind == ST_EVENT_READ || event->foreign;
	return st_baseline_find(repo->store, event->path, after ? &event->after : &event->before,
	                        &file->base, err);
}

/* Before a moved file is gone under its old name, record it under the new one. */
static int apply_file_move(struct st_repo *repo, const struct st_tracked *known,
                           const struct st_file_event *event, struct stet_error *err) {
	struct st_tracked old = *known;
	old.version = event->before;
	int code = st_repo_apply_move(repo, &old, event->moved_to, &event->before.stamp, err);
	return code < 0 ? code : 0;
}

int st_repo_has(struct st_repo *repo, const struct st_file_event *event, struct stet_error *err) {
	int code = update_copy(repo, err);
	const struct st_tracked *known = code == 0 ? find_tracked(repo, event->path) : NULL;
	if (!known || event->kind != ST_EVENT_READ)
		return code;
	struct st_tracked file = apply_event(known, event);
	return is_same(known, &file);
}

int st_repo_apply(struct st_repo *repo, const struct st_file_event *event, struct stet_error *err) {
	int code = update_copy(repo, err);
	const struct st_tracked *known = code == 0 ? find_tracked(repo, event->path) : NULL;
	/* The path may be a directory that another program's tool removed. */
	if (code == 0 && !known && event->foreign && !event->after.exists)
		code = st_repo_apply_dir(repo, event, err);
	if (code != 0)
		return code;
	if (!known && !has_file_room(repo))
		return 0;
	if (event->kind == ST_EVENT_REMOVED && event->moved_to && known)
		code = apply_file_move(repo, known, event, err);
	struct st_tracked file = apply_event(known, event);
	if (code == 0 && !known)
		code = find_base(repo, event, &file, err);
	if (code < 0)
		return code;
	if (known && is_same(known, &file))
		return 0;
	bool moved = !known || event->kind != ST_EVENT_READ ||
	             !st_version_eq(&known->version, &file.version) || known->external;
	code = store_file(repo, &file, err);
	/* An event in the log has its time there. */
	if (code == 0 && moved && !st_file_event_is_logged(event))
		code = st_store_set(repo->store, "updated_at", event->at, err);
	return code < 0 ? code : moved;
}

int st_repo_add_found(struct st_repo *repo, const char *path, const struct st_version *version,
                      struct stet_error *err) {
	int code = update_copy(repo, err);
	if (code < 0 || find_tracked(repo, path) || !has_file_room(repo))
		return code < 0 ? code : 0;
	struct st_tracked file = {.path = path, .version = *version, .base = *version};
	code = st_baseline_find(repo->store, path, version, &file.base, err);
	if (code < 0)
		return code;
	/* A file that is as it was when the story began was changed by nobody. */
	if (st_version_eq(&file.base, version))
		file.known = *version;
	code = store_file(repo, &file, err);
	return code < 0 ? code : 1;
}

/* ---- a status ---- */

/* Room for 200,000 long paths three times over; a status is short-lived. */
#define STATUS_MAX ((size_t)1 << 30)

void st_repo_status_release(struct st_repo_status *status) {
	st_arena_release(&status->arena);
	*status = (struct st_repo_status){0};
}

struct copy {
	struct st_repo *repo;
	struct st_repo_status *status;
	size_t task_cap;
};

static int copy_task(void *data, const struct st_repo_task *task, struct stet_error *err) {
	struct copy *copy = data;
	struct st_repo_state *state = &copy->status->state;
	if (state->task_count == copy->task_cap) {
		size_t cap = copy->task_cap ? copy->task_cap * 2 : 16;
		struct st_repo_task *tasks = st_arena_array(&copy->status->arena, cap, sizeof *tasks);
		if (!tasks)
			return st_fail_nomem(err);
		if (state->task_count > 0)
			memcpy(tasks, state->tasks, state->task_count * sizeof *tasks);
		state->tasks = tasks;
		copy->task_cap = cap;
	}
	struct st_repo_task *own = &state->tasks[state->task_count++];
	*own = *task;
	own->description = st_arena_copy(&copy->status->arena, st_str(task->description));
	own->owner = task->owner ? st_arena_copy(&copy->status->arena, st_str(task->owner)) : NULL;
	own->place = task->place ? st_arena_copy(&copy->status->arena, st_str(task->place)) : NULL;
	return own->description && (own->owner || !task->owner) && (own->place || !task->place)
	           ? 0
	           : st_fail_nomem(err);
}

static void fill_file(struct st_repo_file *out, const struct st_tracked *file) {
	*out = (struct st_repo_file){
		.path = file->path,
		.version = file->version,
		.status = status_of(file),
		.external = file->external,
		.who = file->external || !file->who ? NULL : file->who,
		.changed = file->changed,
	};
}

static int copy_files(struct st_repo *repo, struct st_repo_status *status, struct stet_error *err) {
	struct st_repo_state *state = &status->state;
	size_t count = repo->files.count;
	status->files = st_arena_array(&status->arena, count ? count : 1, sizeof *status->files);
	state->files = st_arena_array(&status->arena, count ? count : 1, sizeof *state->files);
	if (!status->files || !state->files)
		return st_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		status->files[i] = *repo->order[i];
		status->files[i].path = st_arena_copy(&status->arena, st_str(repo->order[i]->path));
		if (!status->files[i].path)
			return st_fail_nomem(err);
		fill_file(&state->files[i], &status->files[i]);
	}
	state->file_count = count;
	return 0;
}

static int copy_all(struct st_store *store, void *data, struct stet_error *err) {
	struct copy *copy = data;
	struct st_repo_status *status = copy->status;
	st_repo_status_release(status);
	st_arena_init(&status->arena, STATUS_MAX);
	copy->task_cap = 0;
	st_auto(st_buf) story = ST_BUF_INIT;
	int code = st_store_story(store, &story, err);
	if (code == 0)
		code = st_store_story_choice(store, &status->state.use_snapshot, err);
	if (code == 0)
		code = st_store_updated(store, &status->state.last_updated, err);
	if (code == 0)
		code = update_copy(copy->repo, err);
	if (code == 0)
		code = sort_files(copy->repo, err);
	if (code == 0)
		code = copy_files(copy->repo, status, err);
	if (code == 0)
		code = st_store_tasks(store, copy_task, copy, err);
	if (code < 0)
		return code;
	memcpy(status->why, store->why, sizeof status->why);
	status->state.work_dir = copy->repo->ws->root.path;
	status->state.story_id = st_arena_copy(&status->arena, st_buf_str(&story));
	return status->state.story_id ? 0 : st_fail_nomem(err);
}

/* ---- comparing with the disk ---- */

/* Keeps the last directory open: files come sorted by path. */
struct parent {
	const struct st_root *root;
	int fd;
	const char *path;
	size_t len;
};

static int open_parent(const struct st_root *root, const char *path, size_t len) {
	char name[4096];
	if (len == 0)
		return st_retry(openat(root->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (len >= sizeof name || root->no_openat2)
		return -1;
	memcpy(name, path, len);
	name[len] = '\0';
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	return st_retry(st_openat2(root->fd, name, &how));
}

/* Stat a path: 1, 0 if there is nothing, or a code. */
static int stat_file(struct parent *parent, const char *path, struct stat *st,
                     struct stet_error *err) {
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	if (!parent->path || parent->len != len || memcmp(parent->path, path, len) != 0) {
		st_close_at(&parent->fd);
		parent->fd = open_parent(parent->root, path, len);
		parent->path = path;
		parent->len = len;
	}
	if (parent->fd < 0)
		return st_root_peek(parent->root, path, st, err);
	return st_retry(fstatat(parent->fd, slash ? slash + 1 : path, st, AT_SYMLINK_NOFOLLOW)) == 0;
}

/* Read a file whose stamp differs from the stored one. Returns 1 if the record changed, 0 if not, or a code. */
static int reload_file(struct stet_workspace *ws, struct st_tracked *file, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) now = ST_FILE_INIT;
	struct st_tracked before = *file;
	int code =
		st_file_load_known(&ws->root, st_str(file->path), ws->max_file, NULL, &place, &now, err);
	if (code == STET_E_NOMEM || code == STET_E_LIMIT || code == STET_E_IO ||
	    code == STET_E_CANCELLED)
		return code;
	/* If the path now leads through a link, it is another file. */
	bool there = code == 0 && strcmp(place.path, file->path) == 0;
	file->version = there ? st_file_version(&now) : (struct st_version){0};
	file->external = !st_version_eq(&file->known, &file->version);
	return !is_same(&before, file);
}

struct changes {
	struct st_repo *repo;
	struct st_repo_status *status;
	/* The indexes of files to be stored. */
	size_t *items;
	size_t count;
	/* The records of files that vanished. */
	struct st_tracked *lost;
	size_t lost_count;
	int64_t at;
	bool moved;
};

static int add_lost(struct changes *changes, const struct st_tracked *file,
                    struct stet_error *err) {
	struct st_tracked *lost =
		reallocarray(changes->lost, changes->lost_count + 1, sizeof *changes->lost);
	if (!lost)
		return st_fail_nomem(err);
	changes->lost = lost;
	lost[changes->lost_count++] = *file;
	return 0;
}

/* The cost of a stat, in the unit of st_cancel_check(). */
enum { FILE_WORK = 4096 };

static int check_files(struct stet_workspace *ws, struct st_repo_status *status,
                       struct changes *changes, struct stet_error *err) {
	struct parent parent = {.root = &ws->root, .fd = -1};
	int code = 0;
	for (size_t i = 0; i < status->state.file_count && code >= 0; i++) {
		struct st_tracked *file = &status->files[i];
		struct stat st;
		const struct st_version *version = &file->version;
		code = st_cancel_check(FILE_WORK, err);
		if (code == 0)
			code = stat_file(&parent, file->path, &st, err);
		if (code < 0 || (code == 0 && !version->exists))
			continue;
		struct st_stamp now = code ? st_stamp_of(&st) : (struct st_stamp){0};
		if (code && S_ISREG(st.st_mode) && version->exists && !version->stamp.racy &&
		    st_stamp_eq(&now, &version->stamp))
			continue;
		struct st_tracked before = *file;
		code = reload_file(ws, file, err);
		if (code == 1) {
			changes->items[changes->count++] = i;
			changes->moved |= before.external != file->external ||
			                  !st_version_eq(&before.version, &file->version);
			fill_file(&status->state.files[i], file);
		}
		if (code == 1 && before.version.exists && !file->version.exists)
			code = add_lost(changes, &before, err);
	}
	st_close_at(&parent.fd);
	return code < 0 ? code : 0;
}

static int store_changes(struct st_store *store, void *data, struct stet_error *err) {
	(void)store;
	struct changes *changes = data;
	struct st_repo *repo = changes->repo;
	int code = update_copy(repo, err);
	for (size_t i = 0; i < changes->count && code == 0; i++) {
		struct st_tracked *file = &changes->status->files[changes->items[i]];
		const struct st_tracked *known = find_tracked(repo, file->path);
		/* A record that another process stored meanwhile is newer than ours. */
		if (known && known->changed == file->changed)
			code = store_file(repo, file, err);
	}
	if (code == 0 && changes->moved)
		code = st_store_set(repo->store, "updated_at", changes->at, err);
	return code;
}

/* Compare every file with the disk, and store what differs. Returns 1 if moved files were found and added. */
static int compare_files(struct st_repo *repo, unsigned flags, struct st_repo_status *status,
                         struct stet_error *err) {
	struct stet_workspace *ws = repo->ws;
	struct changes changes = {.repo = repo, .status = status, .at = st_wall_ns()};
	changes.items = calloc(status->state.file_count + 1, sizeof *changes.items);
	if (!changes.items)
		return st_fail_nomem(err);
	int code = check_files(ws, status, &changes, err);
	bool stores = !(flags & ST_REPO_UNSTORED);
	if (code == 0 && changes.count > 0 && stores) {
		struct stet_error why = {0};
		status->changed = true;
		/* The status is right even if this fails; the next call compares again. */
		if (st_store_do(repo->store, ST_STORE_WRITE, store_changes, &changes, &why) < 0)
			st_write_notice(&ws->writes, "Changes found on the disk could not be stored. %s",
			                why.message);
	}
	if (code == 0 && changes.moved)
		status->state.last_updated = changes.at;
	if (code == 0 && changes.lost_count > 0 && stores)
		code = st_repo_find_moved(repo, changes.lost, changes.lost_count, err);
	free(changes.lost);
	free(changes.items);
	return code < 0 ? code : code > 0;
}

/* For a session, every change since it read the file is external, and its own writes need no name. */
static void mark_external(struct stet_session *session, struct st_repo_status *status) {
	for (size_t i = 0; i < status->state.file_count; i++) {
		struct st_repo_file *file = &status->state.files[i];
		const struct st_seen *seen = st_lru_peek(&session->tracker.files, st_str(file->path));
		file->read = seen != NULL;
		if (seen)
			file->external =
				file->status == ST_FILE_DELETED || !st_version_eq(&seen->version, &file->version);
		if (file->who && strcmp(file->who, st_session_who(session)) == 0)
			file->who = NULL;
	}
}

int st_repo_get_status(struct st_repo *repo, struct stet_session *session, unsigned flags,
                       struct st_repo_status *status, struct stet_error *err) {
	struct copy copy = {.repo = repo, .status = status};
	int code = st_store_do(repo->store, ST_STORE_READ, copy_all, &copy, err);
	if (code == 0 && !(flags & ST_REPO_STORED))
		code = compare_files(repo, flags, status, err);
	if (code == 1)
		code = st_store_do(repo->store, ST_STORE_READ, copy_all, &copy, err);
	if (code == 0 && session)
		mark_external(session, status);
	return code;
}
