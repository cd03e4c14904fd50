/* The active agents of each place, as JSON. */
#include <sys/stat.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/places/answers.h"
#include "core/places/list.h"
#include "core/places/places.h"
#include "stet/places.h"
#include "text/diff/diff.h"

enum { FILES_MAX = 100 };

struct who {
	struct st_places *places;
	const struct st_reach *reach;
	/* The checkout whose files are added. */
	struct st_str checkout;
	yyjson_mut_doc *doc;
	yyjson_mut_val *agents, *files;
	int64_t now;
	size_t left_out;
};

static void add_seconds_ago(yyjson_mut_doc *doc, yyjson_mut_val *object, int64_t now, int64_t at) {
	enum { SECOND = 1000000000 };
	st_json_add_size(doc, object, "secondsAgo", now > at ? (size_t)((now - at) / SECOND) : 0);
}

static int add_agent(void *data, struct st_str label, int64_t seen, struct stet_error *err) {
	struct who *who = data;
	yyjson_mut_val *agent = yyjson_mut_obj(who->doc);
	(void)err;
	st_json_add_text(who->doc, agent, "name", label);
	st_json_add_time(who->doc, agent, "lastActive", seen);
	add_seconds_ago(who->doc, agent, who->now, seen);
	st_json_push(who->doc, who->agents, agent);
	return 0;
}

/* Lines counted from 1; where lines were only removed, the line before the gap. */
static void add_lines(yyjson_mut_doc *doc, yyjson_mut_val *file,
                      const struct st_registry_event *event) {
	yyjson_mut_val *lines = st_json_add_array(doc, file, "lines");
	for (size_t i = 0; i < event->hunk_count; i++) {
		const struct st_hunk *hunk = &event->hunks[i];
		yyjson_mut_val *span = yyjson_mut_obj(doc);
		st_json_add_size(doc, span, "start", hunk->new_start + (hunk->new_count > 0));
		st_json_add_size(doc, span, "end", hunk->new_start + hunk->new_count);
		st_json_push(doc, lines, span);
	}
	if (event->more)
		st_json_add_true(doc, file, "linesLeftOut");
}

static int add_file(void *data, const struct st_registry_event *event, struct stet_error *err) {
	struct who *who = data;
	(void)err;
	if ((event->based && st_version_eq(&event->base, &event->after)) ||
	    !st_reach_has(who->reach, who->checkout, event->path) ||
	    (event->moved_from.len && !st_reach_has(who->reach, who->checkout, event->moved_from)))
		return 0;
	if (yyjson_mut_arr_size(who->files) == FILES_MAX) {
		who->left_out++;
		return 0;
	}
	yyjson_mut_val *file = yyjson_mut_obj(who->doc);
	bool created = event->based && !event->base.exists;
	const char *change = !event->after.exists    ? "removed"
	                     : event->moved_from.len ? "moved"
	                     : created               ? "created"
	                                             : "written";
	st_json_add_text(who->doc, file, "path", event->path);
	st_json_add_text(who->doc, file, "by", event->agent);
	st_json_add_time(who->doc, file, "at", event->at);
	add_seconds_ago(who->doc, file, who->now, event->at);
	st_json_add_text(who->doc, file, "change", st_str(change));
	if (event->moved_from.len)
		st_json_add_text(who->doc, file, "from", event->moved_from);
	if (event->after.exists)
		add_lines(who->doc, file, event);
	if (who->now - event->at < ST_LEASE_NS)
		st_json_add_true(who->doc, file, "editing");
	st_json_push(who->doc, who->files, file);
	return 0;
}

static int add_place(struct who *who, yyjson_mut_val *list, const struct st_listed *listed,
                     struct stet_error *err) {
	struct st_registry *registry = &who->places->registry;
	yyjson_mut_val *place = yyjson_mut_obj(who->doc);
	st_listed_json(listed, who->doc, place);
	add_seconds_ago(who->doc, place, who->now, listed->seen);
	who->agents = st_json_add_array(who->doc, place, "agents");
	who->files = st_json_add_array(who->doc, place, "files");
	who->left_out = 0;
	who->checkout = st_str(listed->path);
	int code = st_registry_agents(registry, listed->id, add_agent, who, err);
	if (code == 0)
		code = st_registry_files(registry, listed->id, add_file, who, err);
	st_json_add_size(who->doc, place, "filesLeftOut", who->left_out);
	st_json_push(who->doc, list, place);
	return code;
}

static int add_places(struct who *who, yyjson_mut_val *root, struct stet_error *err) {
	st_auto(st_list) list = {0};
	yyjson_mut_val *array = st_json_add_array(who->doc, root, "places");
	int code = st_list_read(who->places, &list, err);
	for (size_t i = 0; i < list.count && code == 0; i++) {
		const struct st_listed *listed = &list.items[i];
		if (st_reach_meets(who->reach, st_str(listed->path), listed->near))
			code = add_place(who, array, listed, err);
	}
	if (code < 0 && st_places_replace_damaged(who->places)) {
		yyjson_mut_arr_clear(array);
		return 0;
	}
	return code;
}

void st_add_repository(struct st_places *places, const struct st_reach *reach, yyjson_mut_doc *doc,
                       yyjson_mut_val *root) {
	const char *repository = places->checkout.repository;
	if (repository && reach && *repository == '/' &&
	    !st_reach_has(reach, st_str(repository), ST_STR("")))
		repository = places->ws->root.path;
	st_json_add(doc, root, "repository",
	            repository ? st_json_text(doc, st_str(repository)) : yyjson_mut_null(doc));
}

int st_who_fill(struct st_places *places, const struct st_reach *reach, yyjson_mut_doc *doc,
                yyjson_mut_val *root, struct stet_error *err) {
	struct who who = {.places = places, .reach = reach, .doc = doc, .now = st_wall_ns()};
	st_places_flush_own(places);
	st_places_await_hub(places);
	int code = st_places_lock_to_list(places, err);
	if (code < 0)
		return code;
	st_add_repository(places, reach, doc, root);
	if (code == 0) {
		st_json_add_size(doc, root, "here", 0);
		st_json_add_array(doc, root, "places");
		return 0;
	}
	st_json_add(doc, root, "here", yyjson_mut_sint(doc, places->registry.checkout));
	code = add_places(&who, root, err);
	st_places_unlock(places);
	return code;
}

int st_places_answer(struct stet_workspace *ws, st_places_fill *fill, const void *request,
                     char **out, size_t *out_len, struct stet_error *err) {
	struct st_buf text = ST_BUF_INIT;
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = doc ? yyjson_mut_obj(doc) : NULL;
	int code = root ? 0 : st_fail_nomem(err);
	if (root) {
		yyjson_mut_doc_set_root(doc, root);
		code = fill(ws->places, request, doc, root, err);
	}
	if (code == 0)
		code = st_json_write(doc, root, &text, err);
	yyjson_mut_doc_free(doc);
	if (code < 0)
		st_buf_release(&text);
	*out = text.ptr;
	if (out_len)
		*out_len = text.len;
	return code;
}

static int fill_who(struct st_places *places, const void *request, yyjson_mut_doc *doc,
                    yyjson_mut_val *root, struct stet_error *err) {
	return st_who_fill(places, request, doc, root, err);
}

int st_who(struct stet_workspace *ws, const struct st_reach *reach, char **out, size_t *out_len,
           struct stet_error *err) {
	*out = NULL;
	if (st_begin_call(ws, err) < 0)
		return STET_E_INVALID;
	return st_places_answer(ws, fill_who, reach, out, out_len, err);
}

int stet_who(struct stet_workspace *ws, char **out, size_t *out_len, struct stet_error *err) {
	return st_who(ws, NULL, out, out_len, err);
}
