/**
 * The singular or plural for a count.
 *
 *     st_buf_addf(&out, "%zu %s", count, st_plural(count, "file", "files"));
 */
#ifndef STET_BASE_PLURAL_H
#define STET_BASE_PLURAL_H

#include <stdint.h>

static inline const char *st_plural(uint64_t count, const char *one, const char *many) {
	return count == 1 ? one : many;
}

#endif
