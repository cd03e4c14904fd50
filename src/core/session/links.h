/**
 * The targets of the symbolic links that a session followed: for each path as
 * the caller spelled it, the file that it led to.
 *
 * If another process points a link elsewhere, the path leads to another file
 * than the one the session saw. By these records the session notices.
 */
#ifndef STET_CORE_SESSION_LINKS_H
#define STET_CORE_SESSION_LINKS_H

#include "base/lru.h"
#include "base/str.h"

enum { ST_LINKS_MAX = 1000 };

struct st_links {
	struct st_lru targets;
	/** Incremented with every change, for core/state/saving.c. */
	size_t changes;
};

void st_links_init(struct st_links *links);
void st_links_release(struct st_links *links);
void st_links_clear(struct st_links *links);

/** The file that a spelling led to; NULL if it has no link in it, or was forgotten. */
const char *st_links_target(const struct st_links *links, struct st_str spelling);

/** Record the file that a spelling led to. If both are equal, there is no link: forget the spelling. */
void st_links_set(struct st_links *links, struct st_str spelling, struct st_str target);

void st_links_drop(struct st_links *links, struct st_str spelling);

#endif
