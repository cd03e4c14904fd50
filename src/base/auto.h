/**
 * Local variables with automatic cleanup, so that error paths are plain returns.
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

/** A local `struct type` for which type##_release() is called at the end of the scope. */
#define st_auto(type) __attribute__((cleanup(type##_release))) struct type

#define st_autofree __attribute__((cleanup(st_free_at), unused))
#define st_autofd __attribute__((cleanup(st_close_at))) int

static inline void st_free_at(void *place) {
	free(*(void **)place);
}

/** Close a descriptor unless it is -1, set it to -1, and preserve errno. */
static inline void st_close_at(int *fd) {
	if (*fd >= 0) {
		int saved = errno;
		close(*fd);
		errno = saved;
	}
	*fd = -1;
}

#endif
