#include "core/places/list.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/array.h"

void st_list_release(struct st_list *list) {
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	free(list->items);
	*list = (struct st_list){0};
}

struct reading {
	const struct st_places *places;
	struct st_list *list;
};

/* Read where a checkout of this machine stands now; false if it is gone. */
static bool refresh_head(struct st_listed *listed) {
	st_auto(st_checkout) checkout = {0};
	struct stat st;
	if (lstat(listed->path, &st) < 0 && errno == ENOENT)
		return false;
	if (st_checkout_find(listed->path, &checkout, NULL) == 1)
		st_checkout_head(&checkout, &listed->head);
	return true;
}

bool st_list_add(struct st_list *list, const struct st_listed *listed) {
	if (!st_array_room(&list->items, list->count, sizeof *list->items))
		return false;
	list->items[list->count++] = *listed;
	return true;
}

static int add_listed(void *data, const struct st_registered *found, struct stet_error *err) {
	struct reading *reading = data;
	struct st_list *list = reading->list;
	struct st_listed listed = {
		.id = found->id,
		.path = strndup(found->path.ptr, found->path.len),
		.near = st_str_eq(found->machine, st_str(reading->places->machine)),
		.here = found->id == reading->places->registry.checkout,
		.seen = found->seen,
	};
	snprintf(listed.head.branch, sizeof listed.head.branch, "%.*s", (int)found->branch.len,
	         found->branch.ptr);
	snprintf(listed.head.commit, sizeof listed.head.commit, "%.*s", (int)found->head.len,
	         found->head.ptr);
	bool gone = listed.path && listed.near && !refresh_head(&listed);
	if (listed.path && !gone && st_list_add(list, &listed))
		return 0;
	bool short_of_memory = !listed.path || !gone;
	free(listed.path);
	return short_of_memory ? st_fail_nomem(err) : 0;
}

int st_list_read(struct st_places *places, struct st_list *list, struct stet_error *err) {
	struct reading reading = {places, list};
	return st_registry_checkouts(&places->registry, add_listed, &reading, err);
}

void st_listed_json(const struct st_listed *listed, yyjson_mut_doc *doc, yyjson_mut_val *object) {
	st_json_add(doc, object, "id", yyjson_mut_sint(doc, listed->id));
	st_json_add_text(doc, object, "path", st_str(listed->path));
	st_json_add_text(doc, object, "branch", st_str(listed->head.branch));
	st_json_add_text(doc, object, "head", st_str(listed->head.commit));
	st_json_add(doc, object, "here", yyjson_mut_bool(doc, listed->here));
	if (!listed->near)
		st_json_add_true(doc, object, "otherMachine");
	st_json_add_time(doc, object, "lastActive", listed->seen);
}
