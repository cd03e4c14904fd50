/**
 * An arena: memory for one request, freed all at once.
 *
 * Allocating moves a pointer; single objects are not freed. Large objects get a
 * block of their own. All blocks together stay within a limit, so that one
 * request cannot exhaust the memory of the process. At the limit, and when
 * memory runs out, allocations return NULL.
 *
 *     struct st_arena arena;
 *     st_arena_init(&arena, 16 << 20);
 *     struct point *points = st_arena_array(&arena, count, sizeof *points);
 *     char *name = st_arena_copy(&arena, view);
 *     ...
 *     st_arena_release(&arena);
 */
#ifndef STET_BASE_ARENA_H
#define STET_BASE_ARENA_H

#include "base/str.h"

struct st_arena_block;

struct st_arena {
	/** All blocks, the one in use first. */
	struct st_arena_block *blocks;
	/** The free part of the block in use. */
	char *next;
	size_t left;
	/** Bytes allocated so far, and the most that may be. */
	size_t total;
	size_t limit;
};

/** Make an arena of at most limit bytes. It allocates nothing yet. */
void st_arena_init(struct st_arena *arena, size_t limit);

/** Free everything. The empty arena can be used again, with the same limit. */
void st_arena_release(struct st_arena *arena);

/** Memory for an object of any type, uninitialized; or NULL. */
[[nodiscard]] void *st_arena_alloc(struct st_arena *arena, size_t size);

/** Zeroed memory for count objects of one size; or NULL, also if the product overflows. */
[[nodiscard]] void *st_arena_array(struct st_arena *arena, size_t count, size_t size);

/** A NUL-terminated copy of a view; or NULL. */
[[nodiscard]] char *st_arena_copy(struct st_arena *arena, struct st_str bytes);

#endif
