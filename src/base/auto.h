/**
 * Locals that release themselves, so that error paths read as plain returns.
 *
 *     st_auto(st_buf) text = ST_BUF_INIT;   // st_buf_release() at the end of the scope
 *     st_autofd fd = open(path, O_RDONLY);  // closed at the end of the scope, if not -1
 *     st_autofree char *copy = strdup(s);   // free()d at the end of the scope
 */
#ifndef STET_BASE_AUTO_H
#define STET_BASE_AUTO_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/** A local `struct type` that type##_release() empties when the scope ends. */
#define st_auto(type) __attribute__((cleanup(type##_release))) struct type

#define st_autofree __attribute__((cleanup(st_free_at), unused))
#define st_autofd __attribute__((cleanup(st_close_at))) int

static inline void st_free_at(void *place) {
	free(*(void **)place);
}

/** Close a descriptor if it is one, keep errno, and mark it closed. */
static inline void st_close_at(int *fd) {
	if (*fd >= 0) {
		int saved = errno;
		close(*fd);
		errno = saved;
	}
	*fd = -1;
}

#endif
