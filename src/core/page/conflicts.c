/* Conflicts: refusals, merges, rescued bytes. */
#include "core/page/page.h"

#include "base/clock.h"
#include "fs/versions/rescued.h"

/* ---- refusals and merges ---- */

static yyjson_mut_val *describe_conflict(struct st_page *page,
                                         const struct st_conflict_entry *entry) {
	yyjson_mut_val *object = yyjson_mut_obj(page->doc);
	bool merged = strcmp(entry->reason, "merged") == 0;
	st_page_add_number(page, object, "id", entry->id);
	st_json_add_text(page->doc, object, "kind", merged ? ST_STR("merged") : ST_STR("refused"));
	if (!merged)
		st_json_add_text(page->doc, object, "reason", st_str(entry->reason));
	st_json_add_text(page->doc, object, "path", st_str(entry->path));
	st_page_add_time(page, object, "at", entry->at);
	st_page_add_who(page, object, "agent", entry->session);
	st_page_add_who(page, object, "other", entry->other);
	if (entry->settled_by)
		st_page_add_number(page, object, "settledBy", entry->settled_by);
	return object;
}

struct list {
	struct st_page *page;
	yyjson_mut_val *conflicts;
	int64_t limit, count, last;
};

static int list_conflict(void *data, const struct st_conflict_entry *entry,
                         struct stet_error *err) {
	struct list *list = data;
	if (list->count == list->limit) {
		st_page_add_number(list->page, list->page->root, "next", list->last);
		return 1;
	}
	list->last = entry->id;
	if (!st_page_matches(list->page, entry->path, entry->session))
		return 0;
	list->count++;
	st_json_push(list->page->doc, list->conflicts, describe_conflict(list->page, entry));
	return 0;
}

static int list_conflicts(struct st_store *store, void *data, struct stet_error *err) {
	struct list *list = data;
	const struct st_conflict_query query = {.before = st_page_int(list->page, "before", 0),
	                                        .limit = ST_CONFLICTS_MAX};
	return st_store_conflicts(store, &query, list_conflict, list, err);
}

int st_page_conflicts(struct st_page *page, struct stet_error *err) {
	struct list list = {
		.page = page,
		.conflicts = st_json_add_array(page->doc, page->root, "conflicts"),
		.limit = st_page_limit(page),
	};
	int code = st_page_read(page, list_conflicts, &list, err);
	if (code == 0 && st_page_int(page, "before", 0) == 0)
		code = st_page_list_rescued(page, st_json_add_array(page->doc, page->root, "rescued"),
		                            ST_PAGE_LIMIT_MAX, err);
	return code;
}

/* ---- one of them ---- */

static int show_conflict(void *data, const struct st_conflict_entry *entry,
                         struct stet_error *err) {
	struct st_page *page = data;
	yyjson_mut_val *object = describe_conflict(page, entry);
	st_page_add_version(page, object, "saw", &entry->saw);
	st_page_add_version(page, object, "found", &entry->found);
	if (entry->diff)
		st_json_add_text(page->doc, object, "diff", st_str(entry->diff));
	else
		st_json_add_text(page->doc, object, "noDiff", ST_STR("the agent was not shown one"));
	if (entry->cut)
		st_json_add_true(page->doc, object, "cut");
	st_json_add(page->doc, page->root, "conflict", object);
	return 1;
}

static int find_conflict(struct st_store *store, void *data, struct stet_error *err) {
	struct st_page *page = data;
	const struct st_conflict_query query = {.id = st_page_int(page, "id", 0), .limit = 1};
	return st_store_conflicts(store, &query, show_conflict, page, err);
}

int st_page_conflict(struct st_page *page, struct stet_error *err) {
	int64_t id = 0;
	int code = st_page_id(page, &id, err);
	if (code == 0)
		code = st_page_read(page, find_conflict, page, err);
	if (code == 0 && !yyjson_mut_obj_get(page->root, "conflict"))
		code = st_fail(err, STET_E_NOT_FOUND,
		               "There is no conflict %lld: stet keeps the last %d,%03d.", (long long)id,
		               ST_CONFLICTS_MAX / 1000, ST_CONFLICTS_MAX % 1000);
	return code;
}

/* ---- rescued bytes ---- */

struct rescued_list {
	struct st_page *page;
	yyjson_mut_val *list;
};

static void add_rescued(void *data, const struct st_rescued_copy *copy) {
	struct rescued_list *rescued = data;
	struct st_page *page = rescued->page;
	if (!st_page_matches(page, copy->path, NULL))
		return;
	yyjson_mut_val *object = yyjson_mut_obj(page->doc);
	st_json_add_text(page->doc, object, "kind", ST_STR("rescued"));
	st_json_add_text(page->doc, object, "name", st_str(copy->name));
	st_json_add_text(page->doc, object, "path", st_str(copy->path));
	st_page_add_time(page, object, "at", copy->at);
	st_json_add_size(page->doc, object, "bytes", copy->size);
	st_json_push(page->doc, rescued->list, object);
}

int st_page_list_rescued(struct st_page *page, yyjson_mut_val *list, size_t limit,
                         struct stet_error *err) {
	struct rescued_list rescued = {page, list};
	return st_rescued_list(&page->ws->writes.rescued, limit, add_rescued, &rescued, err);
}

/* Compare the file as it is with the copy. */
static int show_rescued(struct st_page *page, const char *path, struct st_str bytes,
                        struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	int code = st_workspace_load(page->ws, st_str(path), page->ws->max_file, &place, &file, NULL);
	if (code == STET_E_EXTENSION) {
		st_json_add_text(page->doc, page->root, "noDiff",
		                 ST_STR("files of this type may not be read here"));
		return 0;
	}
	return st_page_add_texts(page, page->root, path, st_buf_str(&file.bytes), bytes, err);
}

int st_page_rescued(struct st_page *page, struct stet_error *err) {
	st_auto(st_buf) bytes = ST_BUF_INIT;
	st_auto(st_buf) path = ST_BUF_INIT;
	const char *name = st_page_text(page, "name");
	int code = st_rescued_read(&page->ws->writes.rescued, name ? name : "", &path, &bytes, err);
	if (code < 0)
		return code;
	st_json_add_text(page->doc, page->root, "name", st_str(name));
	st_json_add_text(page->doc, page->root, "path", st_buf_str(&path));
	return show_rescued(page, st_buf_cstr(&path), st_buf_str(&bytes), err);
}
