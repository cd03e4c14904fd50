/**
 * Which file each spelling of a path led one session to, where that was
 * another path: the spelling goes through a symbolic link.
 *
 * Somebody may point the link elsewhere. What the session saw under that
 * spelling is then another file than what the spelling leads to, and this is
 * how the session can tell.
 */
#ifndef STET_CORE_SESSION_LINKS_H
#define STET_CORE_SESSION_LINKS_H

#include "base/lru.h"
#include "base/str.h"

enum { ST_LINKS_MAX = 1000 };

struct st_links {
	struct st_lru targets;
	/** Moves with every change, for whoever stores them. */
	size_t changes;
};

void st_links_init(struct st_links *links);
void st_links_release(struct st_links *links);
void st_links_clear(struct st_links *links);

/** Where a spelling led; NULL if it led through no link, or was forgotten. */
const char *st_links_target(const struct st_links *links, struct st_str spelling);

/** A spelling led to a file. If both are the same path, there is nothing to remember. */
void st_links_set(struct st_links *links, struct st_str spelling, struct st_str target);

void st_links_drop(struct st_links *links, struct st_str spelling);

#endif
