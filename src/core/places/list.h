/**
 * The checkouts of a repository, as the registry lists them and the disk has
 * them now: those that are gone are left out.
 */
#ifndef STET_CORE_PLACES_LIST_H
#define STET_CORE_PLACES_LIST_H

#include "base/json.h"
#include "core/places/places.h"

struct st_listed {
	int64_t id;
	/** Absolute; owned. */
	char *path;
	/** On this machine, so that its files can be read. */
	bool near;
	/** The workspace's own. */
	bool here;
	int64_t seen;
	struct st_checkout_head head;
};

struct st_list {
	struct st_listed *items;
	size_t count;
};

void st_list_release(struct st_list *list);

/** Read the list; the registry must be locked. Returns 0 or a code. */
[[nodiscard]] int st_list_read(struct st_places *places, struct st_list *list,
                               struct stet_error *err);

/** Add a checkout; the list takes its path. False if memory is short. */
bool st_list_add(struct st_list *list, const struct st_listed *listed);

/** Add the members that describe a checkout to an object. */
void st_listed_json(const struct st_listed *listed, yyjson_mut_doc *doc, yyjson_mut_val *object);

#endif
