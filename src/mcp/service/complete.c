/* Completion of paths, headings and task ids. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>

#include "base/array.h"
#include "base/cancel.h"
#include "base/utf8.h"
#include "mcp/service/service_state.h"
#include "tools/host.h"
#include "text/markdown/markdown.h"

enum { VALUES_MAX = 100, FOUND_MAX = 10000 };

/* The values found. */
struct found {
	char **values;
	size_t count;
	bool failed;
};

static void found_release(struct found *found) {
	for (size_t i = 0; i < found->count; i++)
		free(found->values[i]);
	free(found->values);
}

static void add_value(struct found *found, struct st_str value) {
	if (found->count == FOUND_MAX || !st_utf8_valid(value))
		return;
	char *copy = strndup(value.ptr, value.len);
	if (copy && st_array_room(&found->values, found->count, sizeof *found->values)) {
		found->values[found->count++] = copy;
	} else {
		free(copy);
		found->failed = true;
	}
}

static int by_value(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void write_found(struct st_mcp_request *request, struct found *found) {
	struct st_buf *out = request->result;
	if (found->count > 0)
		qsort(found->values, found->count, sizeof *found->values, by_value);
	st_buf_adds(out, "{\"completion\":{\"values\":[");
	for (size_t i = 0; i < found->count && i < VALUES_MAX; i++) {
		st_buf_adds(out, i > 0 ? "," : "");
		st_json_quote(out, st_str(found->values[i]));
	}
	st_buf_addf(out, "],\"total\":%zu,\"hasMore\":%s}}", found->count,
	            found->count > VALUES_MAX ? "true" : "false");
}

/* ---- paths ---- */

static bool is_candidate(const char *name, struct st_str prefix) {
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".git") == 0)
		return false;
	return st_str_starts(st_str(name), prefix) && (name[0] != '.' || prefix.len > 0);
}

/* What it takes to read an entry, in the units of st_cancel_check(). */
enum { ENTRY_WORK = 1024 };

/* Add the entries of a directory that begin with a prefix, and close fd. */
static void add_entries(struct found *found, const struct stet_workspace *ws, int fd,
                        struct st_str dir, struct st_str prefix) {
	DIR *entries = fdopendir(fd);
	if (!entries) {
		close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(entries));) {
		bool is_file = entry->d_type == DT_REG;
		if (st_cancel_check(ENTRY_WORK, NULL) < 0)
			break;
		if (!is_candidate(entry->d_name, prefix) ||
		    (is_file && st_workspace_check_type(ws, entry->d_name, NULL) < 0))
			continue;
		st_auto(st_buf) value = ST_BUF_INIT;
		st_buf_add(&value, dir);
		st_buf_addf(&value, "%s%s", entry->d_name, entry->d_type == DT_DIR ? "/" : "");
		add_value(found, st_buf_str(&value));
	}
	closedir(entries);
}

/* Add the absolute paths that begin with a path relative to the workspace. */
static void add_matches(struct found *found, struct stet_workspace *ws, struct st_str path) {
	size_t slash = path.len;
	while (slash > 0 && path.ptr[slash - 1] != '/')
		slash--;
	st_auto(st_buf) probe = ST_BUF_INIT;
	st_auto(st_buf) dir = ST_BUF_INIT;
	st_auto(st_place) place = ST_PLACE_INIT;
	/* Locating any name in the directory opens the directory. */
	st_buf_add(&probe, st_str_slice(path, 0, slash));
	st_buf_addc(&probe, 'x');
	st_buf_addf(&dir, "%s/", stet_workspace_root(ws));
	st_buf_add(&dir, st_str_slice(path, 0, slash));
	if (probe.failed || dir.failed ||
	    st_root_locate(&ws->root, st_buf_str(&probe), &place, NULL) < 0)
		return;
	int fd = openat(place.dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		add_entries(found, ws, fd, st_buf_str(&dir), st_str_slice(path, slash, path.len));
}

static void add_paths(struct found *found, struct stet_client *client, struct st_str typed) {
	struct stet_workspace *ws;
	for (size_t i = 0; (ws = st_client_workspace(client, i)); i++) {
		st_auto(st_buf) root = ST_BUF_INIT;
		st_buf_addf(&root, "%s/", stet_workspace_root(ws));
		bool absolute = typed.len > 0 && typed.ptr[0] == '/';
		if (!absolute)
			add_matches(found, ws, typed);
		else if (st_str_starts(typed, st_buf_str(&root)))
			add_matches(found, ws, st_str_slice(typed, root.len, typed.len));
		else if (st_str_starts(st_buf_str(&root), typed))
			add_value(found, st_buf_str(&root));
	}
}

/* ---- headings and tasks ---- */

static bool starts_with(struct st_str text, struct st_str start) {
	return text.len >= start.len && strncasecmp(text.ptr, start.ptr, start.len) == 0;
}

static void add_headings(struct found *found, struct stet_client *client, struct st_str path,
                         struct st_str typed) {
	struct stet_workspace *ws;
	for (size_t i = 0; path.len > 0 && (ws = st_client_workspace(client, i)); i++) {
		st_auto(st_place) place = ST_PLACE_INIT;
		st_auto(st_file) file = ST_FILE_INIT;
		st_auto(st_markdown) md = {0};
		if (st_workspace_load(ws, path, ws->max_file, &place, &file, NULL) < 0 ||
		    st_markdown_parse(&md, st_buf_str(&file.bytes), NULL) < 0)
			continue;
		for (size_t k = 0; k < md.heading_count; k++) {
			if (starts_with(md.headings[k].text, typed))
				add_value(found, md.headings[k].text);
		}
		return;
	}
}

static void add_tasks(struct found *found, struct st_mcp_request *request, struct st_str typed) {
	yyjson_doc *answer = NULL;
	if (st_service_call_tool(request, "tasks", "{}", &answer, NULL) < 0)
		return;
	yyjson_val *data = yyjson_obj_get(yyjson_doc_get_root(answer), "structuredContent");
	yyjson_arr_iter all = yyjson_arr_iter_with(yyjson_obj_get(data, "tasks"));
	for (yyjson_val *task; (task = yyjson_arr_iter_next(&all));) {
		char id[24];
		snprintf(id, sizeof id, "%lld", (long long)st_json_int(yyjson_obj_get(task, "id")));
		if (st_str_starts(st_str(id), typed))
			add_value(found, st_str(id));
	}
	yyjson_doc_free(answer);
}

/* ---- the request ---- */

static int fail_unknown_argument(struct st_mcp_request *request) {
	return st_mcp_fail(
		request, ST_MCP_INVALID_PARAMS,
		"Only \"path\" and \"heading\" of the resource templates and \"task\" of the prompt "
		"\"snapshot\" can be completed.");
}

static int find_for_resource(struct st_mcp_request *request, struct found *found,
                             struct st_str argument, struct st_str value) {
	struct stet_client *client = st_service_client_of(request);
	yyjson_val *context = yyjson_obj_get(yyjson_obj_get(request->params, "context"), "arguments");
	if (st_str_eq(argument, ST_STR("path")))
		add_paths(found, client, value);
	else if (st_str_eq(argument, ST_STR("heading")))
		add_headings(found, client, st_json_str(yyjson_obj_get(context, "path")), value);
	else
		return fail_unknown_argument(request);
	return 0;
}

static int find_values(struct st_mcp_request *request, struct found *found) {
	yyjson_val *ref = yyjson_obj_get(request->params, "ref");
	yyjson_val *argument = yyjson_obj_get(request->params, "argument");
	struct st_str type = st_json_str(yyjson_obj_get(ref, "type"));
	yyjson_val *name = yyjson_obj_get(argument, "name"), *value = yyjson_obj_get(argument, "value");
	if (!yyjson_is_str(name) || !yyjson_is_str(value))
		return st_mcp_fail(request, ST_MCP_INVALID_PARAMS,
		                   "\"argument\" needs a \"name\" and a \"value\", both strings.");
	if (st_str_eq(type, ST_STR("ref/resource")))
		return find_for_resource(request, found, st_json_str(name), st_json_str(value));
	struct st_str prompt = st_json_str(yyjson_obj_get(ref, "name"));
	if (!st_str_eq(type, ST_STR("ref/prompt")) || !st_str_eq(prompt, ST_STR("snapshot")) ||
	    !st_str_eq(st_json_str(name), ST_STR("task")))
		return fail_unknown_argument(request);
	add_tasks(found, request, st_json_str(value));
	return 0;
}

int st_service_complete(struct st_mcp_request *request) {
	struct found found = {0};
	int code = find_values(request, &found);
	if (code == 0)
		write_found(request, &found);
	if (found.failed)
		code = -1;
	found_release(&found);
	return code;
}
