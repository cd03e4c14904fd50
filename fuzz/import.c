/*
 * The state file: with any bytes in repostate.json a workspace opens, and no path in
 * its state leads out of it. A rejected file is set aside; an accepted state stays
 * the same when it is written and read again. Input: the file.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "core/state/state.h"
#include "fs/path/sys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char root[256];

static void must(bool truth) {
	if (!truth)
		abort();
}

/* Empty the state directory, or remove it with the workspace at the end. */
static void clean(bool all) {
	char name[512];
	snprintf(name, sizeof name, "%s/.stet", root);
	DIR *dir = opendir(name);
	must(dir != NULL);
	for (struct dirent *entry; (entry = readdir(dir));)
		(void)unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	if (all)
		must(rmdir(name) == 0 && rmdir(root) == 0);
}

static void clean_all(void) {
	clean(true);
}

/* Make a workspace, on a filesystem in memory if there is one: each input creates a database. */
static void make_root(void) {
	char name[512];
	snprintf(root, sizeof root, "%s/stet-fuzz-XXXXXX",
	         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	must(mkdtemp(root) != NULL);
	snprintf(name, sizeof name, "%s/.stet", root);
	must(mkdir(name, 0700) == 0);
	must(atexit(clean_all) == 0);
}

static bool has(const char *name) {
	char path[512];
	snprintf(path, sizeof path, "%s/.stet/%s", root, name);
	return access(path, F_OK) == 0;
}

static void write_state(struct st_str text) {
	char path[512];
	snprintf(path, sizeof path, "%s/.stet/" ST_REPO_JSON, root);
	FILE *file = fopen(path, "we");
	must(file && fwrite(text.ptr, 1, text.len, file) == text.len && fclose(file) == 0);
}

static void check_view(const struct stet_workspace *ws, const struct st_repo_status *view) {
	const struct st_repo_state *state = &view->state;
	for (size_t i = 0; i < state->file_count; i++) {
		const char *path = state->files[i].path;
		must(*path && *path != '/' && st_root_plain(&ws->root, path) == path);
		must(!st_path_is_protected(path, ".stet"));
		must(i == 0 || strcmp(state->files[i - 1].path, path) < 0);
	}
	for (size_t i = 0; i < state->task_count; i++)
		must(strlen(state->tasks[i].description) <= ST_TASK_BYTES_MAX);
	must(strlen(state->story_id) <= ST_STORY_BYTES_MAX);
}

/* Open a workspace with a state file, and export its state. */
static void load(struct st_str text, struct st_buf *out) {
	struct stet_workspace *ws = NULL;
	clean(false);
	write_state(text);
	must(stet_workspace_open(root, &ws, NULL) == 0);
	struct st_repo_status view = {0};
	must(st_repo_get_status(&st_state_of(ws)->repo, NULL, ST_REPO_STORED, &view, NULL) == 0);
	must(view.why[0] == '\0');
	check_view(ws, &view);
	must(st_repo_json_add(&view, out, NULL) == 0);
	/* There is a notice exactly if the file was set aside. */
	char *notice = stet_workspace_notice(ws);
	must(has(ST_REPO_JSON ".damaged-1") == (notice != NULL));
	stet_free(notice);
	st_repo_status_release(&view);
	stet_workspace_close(ws);
}

/* The state without the time of its last update. */
static yyjson_mut_doc *timeless(const struct st_buf *json) {
	yyjson_doc *doc = yyjson_read(json->ptr, json->len, 0);
	must(doc != NULL);
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	yyjson_doc_free(doc);
	must(copy != NULL);
	yyjson_mut_obj_remove_key(yyjson_mut_doc_get_root(copy), "last_updated");
	return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
	st_auto(st_buf) once = ST_BUF_INIT;
	st_auto(st_buf) twice = ST_BUF_INIT;
	if (!*root)
		make_root();
	load(st_strn((const char *)data, len), &once);
	load(st_buf_str(&once), &twice);
	must(!has(ST_REPO_JSON ".damaged-1"));
	yyjson_mut_doc *first = timeless(&once), *second = timeless(&twice);
	must(yyjson_mut_equals(yyjson_mut_doc_get_root(first), yyjson_mut_doc_get_root(second)));
	yyjson_mut_doc_free(first);
	yyjson_mut_doc_free(second);
	return 0;
}
