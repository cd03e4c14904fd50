#include "core/session/links.h"

#include <stdlib.h>
#include <string.h>

/* A bound for a client that sends very long paths. */
enum { LINKS_COST_MAX = 1 << 20 };

void st_links_init(struct st_links *links) {
	st_lru_init(&links->targets, ST_LINKS_MAX, LINKS_COST_MAX, free);
	links->changes = 0;
}

void st_links_release(struct st_links *links) {
	st_lru_release(&links->targets);
}

void st_links_clear(struct st_links *links) {
	if (links->targets.count > 0)
		links->changes++;
	st_lru_clear(&links->targets);
}

const char *st_links_target(const struct st_links *links, struct st_str spelling) {
	return links->targets.count > 0 ? st_lru_peek(&links->targets, spelling) : NULL;
}

/* If memory is short, it is as if the session had never followed the link. */
void st_links_set(struct st_links *links, struct st_str spelling, struct st_str target) {
	if (st_str_eq(spelling, target)) {
		st_links_drop(links, spelling);
		return;
	}
	const char *known = links->targets.count > 0 ? st_lru_get(&links->targets, spelling) : NULL;
	if (known && st_str_eq(st_str(known), target))
		return;
	char *copy = strndup(target.ptr, target.len);
	links->changes++;
	if (copy)
		(void)st_lru_put(&links->targets, spelling, copy, spelling.len + target.len);
}

void st_links_drop(struct st_links *links, struct st_str spelling) {
	if (links->targets.count > 0 && st_lru_remove(&links->targets, spelling))
		links->changes++;
}
