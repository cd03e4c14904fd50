/* The snapshot of a state that a program has as JSON, in the form of repostate.json. */
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/hex.h"
#include "base/json.h"
#include "core/prompt/snapshot.h"
#include "stet/state.h"

#define ARENA_MAX ((size_t)256 << 20)

static int find_name(yyjson_val *value, const char *const *names, int count) {
	for (int i = 0; i < count; i++) {
		if (st_str_eq(st_json_str(value), st_str(names[i])))
			return i;
	}
	return 0;
}

/* A program may have only the first digits of a hash; the snapshot shows six. */
static void read_hash(yyjson_val *value, struct st_hash *hash) {
	struct st_str hex = st_json_str(value);
	for (size_t i = 0; i < hex.len && i < ST_HASH_HEX; i++) {
		int digit = st_hex_digit(hex.ptr[i]);
		if (digit < 0)
			return;
		hash->bytes[i / 2] |= (unsigned char)(i % 2 ? digit : digit << 4);
	}
}

static const char *read_text(struct st_arena *arena, yyjson_val *value) {
	struct st_str text = st_json_str(value);
	return text.len > 0 ? st_arena_copy(arena, text) : "";
}

static int64_t read_time(yyjson_val *value) {
	struct tm time = {0};
	const char *text = yyjson_get_str(value);
	if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%S", &time) || time.tm_year < 70)
		return 0;
	return (int64_t)timegm(&time) * 1000000000;
}

/* A file whose status the program left out gets no remark, like one that it created. */
static enum st_file_status read_status(yyjson_val *value) {
	for (int status = 0; status < ST_FILE_STATUSES; status++) {
		if (yyjson_equals_str(value, st_file_status_name((enum st_file_status)status)))
			return (enum st_file_status)status;
	}
	return ST_FILE_CREATED;
}

static bool read_file(struct st_arena *arena, yyjson_val *value, struct st_repo_file *file) {
	file->path = read_text(arena, yyjson_obj_get(value, "path"));
	file->status = read_status(yyjson_obj_get(value, "status"));
	file->external = yyjson_is_true(yyjson_obj_get(value, "external"));
	file->version.exists = file->status != ST_FILE_DELETED;
	read_hash(yyjson_obj_get(value, "hash"), &file->version.hash);
	yyjson_val *size = yyjson_obj_get(value, "size");
	file->version.stamp.size = yyjson_is_uint(size) ? yyjson_get_uint(size) : 0;
	return file->path != NULL;
}

static bool read_task(struct st_arena *arena, yyjson_val *value, struct st_repo_task *task) {
	static const char *const statuses[] = {"pending", "in_progress", "completed"};
	task->description = read_text(arena, yyjson_obj_get(value, "description"));
	task->status = (enum st_task_status)find_name(yyjson_obj_get(value, "status"), statuses, 3);
	task->priority = yyjson_get_sint(yyjson_obj_get(value, "priority"));
	return task->description != NULL;
}

static int compare_files(const void *a, const void *b) {
	return strcmp(((const struct st_repo_file *)a)->path, ((const struct st_repo_file *)b)->path);
}

static int compare_tasks(const void *a, const void *b) {
	const struct st_repo_task *first = a, *second = b;
	if (first->priority != second->priority)
		return first->priority < second->priority ? -1 : 1;
	return first->id < second->id ? -1 : first->id > second->id;
}

static bool read_files(struct st_arena *arena, yyjson_val *list, struct st_repo_state *state) {
	yyjson_val *value;
	state->files = st_arena_array(arena, yyjson_arr_size(list) + 1, sizeof *state->files);
	yyjson_arr_iter items = yyjson_arr_iter_with(list);
	while (state->files && (value = yyjson_arr_iter_next(&items))) {
		struct st_repo_file *file = &state->files[state->file_count++];
		*file = (struct st_repo_file){0};
		if (!read_file(arena, value, file))
			return false;
	}
	if (state->files)
		qsort(state->files, state->file_count, sizeof *state->files, compare_files);
	return state->files != NULL;
}

/* A task without an id gets a negative one: it sorts by its place, and the snapshot numbers it. */
static bool read_tasks(struct st_arena *arena, yyjson_val *list, struct st_repo_state *state) {
	yyjson_val *value;
	state->tasks = st_arena_array(arena, yyjson_arr_size(list) + 1, sizeof *state->tasks);
	yyjson_arr_iter items = yyjson_arr_iter_with(list);
	while (state->tasks && (value = yyjson_arr_iter_next(&items))) {
		struct st_repo_task *task = &state->tasks[state->task_count++];
		yyjson_val *id = yyjson_obj_get(value, "id");
		*task = (struct st_repo_task){.id = (int64_t)state->task_count - INT32_MAX};
		if (yyjson_is_int(id))
			task->id = yyjson_get_sint(id);
		if (!read_task(arena, value, task))
			return false;
	}
	if (state->tasks)
		qsort(state->tasks, state->task_count, sizeof *state->tasks, compare_tasks);
	return state->tasks != NULL;
}

static int format_state(struct st_arena *arena, yyjson_val *root, size_t budget, struct st_buf *out,
                        struct stet_error *err) {
	struct st_repo_state state = {
		.work_dir = read_text(arena, yyjson_obj_get(root, "work_dir")),
		.story_id = read_text(arena, yyjson_obj_get(root, "story_id")),
		.use_snapshot = -1,
		.last_updated = read_time(yyjson_obj_get(root, "last_updated")),
	};
	if (!state.work_dir || !state.story_id ||
	    !read_files(arena, yyjson_obj_get(root, "files"), &state) ||
	    !read_tasks(arena, yyjson_obj_get(root, "open_tasks"), &state))
		return st_fail_nomem(err);
	return st_snapshot_format(&state, budget, out, err);
}

int stet_snapshot_format(const char *json, size_t len, size_t budget, char **out, size_t *out_len,
                         struct stet_error *err) {
	*out = NULL;
	st_error_clear(err);
	struct st_arena arena;
	struct st_buf text = ST_BUF_INIT;
	yyjson_doc *doc = NULL;
	st_arena_init(&arena, ARENA_MAX);
	int code = st_json_parse(st_strn(json, len), "The files and tasks", &doc, err);
	if (code == 0 && !yyjson_is_obj(yyjson_doc_get_root(doc)))
		code = st_fail(err, STET_E_INVALID,
		               "The state is no JSON object. Pass one like repostate.json.");
	if (code == 0)
		code = format_state(&arena, yyjson_doc_get_root(doc), budget, &text, err);
	yyjson_doc_free(doc);
	st_arena_release(&arena);
	if (code < 0 || text.failed) {
		st_buf_release(&text);
		return code < 0 ? code : st_fail_nomem(err);
	}
	if (out_len)
		*out_len = text.len;
	*out = text.ptr;
	return 0;
}
