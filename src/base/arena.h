/**
 * Memory that belongs to one request and goes all at once.
 *
 * Allocating moves a pointer; nothing is freed singly. Large objects get a
 * block of their own. The sum of all blocks stays within a limit, so that one
 * request cannot take the process with it: beyond it, and when memory runs
 * out, the answer is NULL.
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
	/** Bytes taken from the system, and how many it may be. */
	size_t total;
	size_t limit;
};

/** An arena of at most limit bytes. Nothing is allocated yet. */
void st_arena_init(struct st_arena *arena, size_t limit);

/** Free everything; the arena is empty and usable again, with the same limit. */
void st_arena_release(struct st_arena *arena);

/** Memory for an object of any type, not cleared. NULL at the limit or without memory. */
[[nodiscard]] void *st_arena_alloc(struct st_arena *arena, size_t size);

/** Memory for count objects of one size, zeroed. NULL as above, or if the product overflows. */
[[nodiscard]] void *st_arena_array(struct st_arena *arena, size_t count, size_t size);

/** A copy of a view, NUL-ended. NULL as above. */
[[nodiscard]] char *st_arena_copy(struct st_arena *arena, struct st_str bytes);

#endif
