/* The log of writes: a list, one write, a run of them, and any diff. */
#include "core/page/page.h"

#include <stdio.h>

#include "base/hex.h"
#include "core/state/run.h"

/* ---- the list ---- */

struct list {
	struct st_page *page;
	yyjson_mut_val *writes;
	int64_t limit, count, looked_at, last;
};

static const char *kind_of(const struct st_file_event *write) {
	if (!write->before.exists)
		return "created";
	return write->after.exists ? "changed" : "deleted";
}

static yyjson_mut_val *describe_write(struct st_page *page, const struct st_log_entry *entry) {
	const struct st_file_event *write = &entry->event;
	yyjson_mut_val *object = yyjson_mut_obj(page->doc);
	char moment[24];
	snprintf(moment, sizeof moment, "%lld", (long long)write->at);
	st_page_add_number(page, object, "id", entry->id);
	st_json_add_text(page->doc, object, "path", st_str(write->path));
	st_json_add_text(page->doc, object, "kind", st_str(kind_of(write)));
	st_page_add_time(page, object, "at", write->at);
	st_json_add_text(page->doc, object, "moment", st_str(moment));
	st_page_add_who(page, object, "agent", write->who);
	if (entry->story)
		st_json_add_text(page->doc, object, "story", st_str(entry->story));
	if (write->undoes)
		st_page_add_number(page, object, "undoes", write->undoes);
	if (entry->undone_by)
		st_page_add_number(page, object, "undoneBy", entry->undone_by);
	return object;
}

static int list_write(void *data, const struct st_log_entry *entry, struct stet_error *err) {
	struct list *list = data;
	if (list->count == list->limit || list->looked_at == ST_PAGE_WINDOW) {
		st_page_add_number(list->page, list->page->root, "next", list->last);
		return 1;
	}
	list->looked_at++;
	list->last = entry->id;
	if (!st_page_matches(list->page, entry->event.path, entry->event.who))
		return 0;
	list->count++;
	st_json_push(list->page->doc, list->writes, describe_write(list->page, entry));
	return 0;
}

static int list_writes(struct st_store *store, void *data, struct stet_error *err) {
	struct list *list = data;
	const struct st_log_query query = {.before = st_page_int(list->page, "before", 0),
	                                   .limit = ST_PAGE_WINDOW + 1};
	return st_store_log_list(store, &query, list_write, list, err);
}

int st_page_history(struct st_page *page, struct stet_error *err) {
	struct list list = {
		.page = page,
		.writes = st_json_add_array(page->doc, page->root, "writes"),
		.limit = st_page_limit(page),
	};
	return st_page_read(page, list_writes, &list, err);
}

/* ---- one write ---- */

struct wanted {
	struct st_page *page;
	int64_t id;
	bool found;
	char *path;
	struct st_version before, after;
};

static int take_write(void *data, const struct st_log_entry *entry, struct stet_error *err) {
	struct wanted *wanted = data;
	if (entry->id != wanted->id)
		return 1;
	wanted->path = strdup(entry->event.path);
	if (!wanted->path)
		return st_fail_nomem(err);
	wanted->found = true;
	wanted->before = entry->event.before;
	wanted->after = entry->event.after;
	st_json_add(wanted->page->doc, wanted->page->root, "write",
	            describe_write(wanted->page, entry));
	return 1;
}

static int find_write(struct st_store *store, void *data, struct stet_error *err) {
	struct wanted *wanted = data;
	const struct st_log_query query = {.before = wanted->id + 1, .limit = 1};
	return st_store_log_list(store, &query, take_write, wanted, err);
}

int st_page_write(struct st_page *page, struct stet_error *err) {
	struct wanted wanted = {.page = page};
	int code = st_page_id(page, &wanted.id, err);
	if (code == 0)
		code = st_page_read(page, find_write, &wanted, err);
	if (code == 0 && !wanted.found)
		code = st_fail(err, STET_E_NOT_FOUND,
		               "There is no write %lld in the log: it keeps the last %d,%03d.",
		               (long long)wanted.id, ST_LOG_MAX / 1000, ST_LOG_MAX % 1000);
	if (code == 0)
		code = st_page_add_diff(page, yyjson_mut_obj_get(page->root, "write"), wanted.path,
		                        &wanted.before, &wanted.after, err);
	free(wanted.path);
	return code;
}

/* ---- a run ---- */

static bool is_untouched(const struct st_run_file *file) {
	for (size_t i = 1; i < file->count; i++) {
		const struct st_version *made = &file->writes[i - 1]->after;
		const struct st_version *met = &file->writes[i]->before;
		if (made->exists != met->exists || (made->exists && !st_hash_eq(&made->hash, &met->hash)))
			return false;
	}
	return true;
}

static void add_file(struct st_page *page, yyjson_mut_val *files, const struct st_run_file *file) {
	const struct st_run_write *first = file->writes[0], *last = file->writes[file->count - 1];
	yyjson_mut_val *object = yyjson_mut_obj(page->doc);
	st_json_add_text(page->doc, object, "path", st_str(file->path));
	st_json_add_size(page->doc, object, "writes", file->count);
	st_page_add_time(page, object, "first", first->at);
	st_page_add_time(page, object, "at", last->at);
	st_page_add_version(page, object, "before", &first->before);
	st_page_add_version(page, object, "after", &last->after);
	if (!is_untouched(file))
		st_json_add_true(page->doc, object, "others");
	st_json_push(page->doc, files, object);
}

/* A person asks for one run at a time: this reads the whole log, which has ST_LOG_MAX entries at most. */
static int add_run(struct st_page *page, struct stet_session *session, struct stet_error *err) {
	st_auto(st_run) run = {0};
	const struct st_run_query query = {.of = st_page_text(page, "agent"),
	                                   .path = st_page_text(page, "path")};
	if (!query.of)
		return st_fail(err, STET_E_INVALID, "A run needs \"agent\": whose writes.");
	int code = st_run_find(session, &query, &run, err);
	if (code < 0)
		return code;
	st_json_add_text(page->doc, page->root, "agent", st_str(query.of));
	st_json_add_size(page->doc, page->root, "writes", run.count);
	yyjson_mut_val *files = st_json_add_array(page->doc, page->root, "files");
	for (size_t i = 0; i < run.file_count && i < ST_PAGE_LIMIT_MAX; i++)
		add_file(page, files, &run.files[i]);
	if (run.file_count > ST_PAGE_LIMIT_MAX)
		st_json_add_size(page->doc, page->root, "omitted", run.file_count - ST_PAGE_LIMIT_MAX);
	return 0;
}

int st_page_run(struct st_page *page, struct stet_error *err) {
	struct stet_session *session = NULL;
	int code = stet_session_open(page->ws, NULL, &session, err);
	if (code == 0)
		code = add_run(page, session, err);
	stet_session_close(session);
	return code;
}

/* ---- any two versions ---- */

/* Read a hash; without one, the file did not exist. */
static int read_version(const struct st_page *page, const char *name, struct st_version *version,
                        struct stet_error *err) {
	const char *text = st_page_text(page, name);
	version->exists = text != NULL;
	if (!text || st_hex_decode(st_str(text), version->hash.bytes, sizeof version->hash.bytes) ==
	                 sizeof version->hash.bytes)
		return 0;
	return st_fail(err, STET_E_INVALID, "\"%s\" takes a hash of %d hex digits.", name, ST_HASH_HEX);
}

int st_page_diff(struct st_page *page, struct stet_error *err) {
	struct st_version before = {0}, after = {0};
	const char *path = st_page_text(page, "path");
	if (!path || st_root_plain(&page->ws->root, path) != path)
		return st_fail(err, STET_E_INVALID, "\"path\" takes a file below the root.");
	int code = read_version(page, "from", &before, err);
	if (code == 0)
		code = read_version(page, "to", &after, err);
	return code == 0 ? st_page_add_diff(page, page->root, path, &before, &after, err) : code;
}
