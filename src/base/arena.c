#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#define SMALLEST_BLOCK ((size_t)4096)
#define LARGEST_BLOCK ((size_t)65536)

struct st_arena_block {
	struct st_arena_block *older;
	alignas(max_align_t) char bytes[];
};

static struct st_arena_block *block_new(struct st_arena *arena, size_t size) {
	size_t whole;
	if (__builtin_add_overflow(size, sizeof(struct st_arena_block), &whole) ||
	    whole > arena->limit - arena->total)
		return NULL;
	struct st_arena_block *block = malloc(whole);
	if (block)
		arena->total += whole;
	return block;
}

/* Insert a separate block after the one in use, so that the free part of the latter stays usable. */
static void *alloc_alone(struct st_arena *arena, size_t size) {
	struct st_arena_block *block = block_new(arena, size);
	if (!block)
		return NULL;
	struct st_arena_block **place = arena->blocks ? &arena->blocks->older : &arena->blocks;
	block->older = *place;
	*place = block;
	return block->bytes;
}

/* Make blocks as large as the arena so far, so that a small request stays small. */
static bool refill(struct st_arena *arena) {
	size_t size = arena->total;
	if (size < SMALLEST_BLOCK)
		size = SMALLEST_BLOCK;
	if (size > LARGEST_BLOCK)
		size = LARGEST_BLOCK;
	struct st_arena_block *block = block_new(arena, size - sizeof *block);
	if (!block)
		return false;
	block->older = arena->blocks;
	arena->blocks = block;
	arena->next = block->bytes;
	arena->left = size - sizeof *block;
	return true;
}

static void *alloc_aligned(struct st_arena *arena, size_t size, size_t align) {
	assert(size > 0 && (align & (align - 1)) == 0);
	size_t pad = -(uintptr_t)arena->next & (align - 1);
	if (arena->left < pad || arena->left - pad < size) {
		/* Near the limit a block of the exact size may still fit. */
		if (size > SMALLEST_BLOCK / 4 || !refill(arena))
			return alloc_alone(arena, size);
		pad = 0;
	}
	void *place = arena->next + pad;
	arena->next += pad + size;
	arena->left -= pad + size;
	return place;
}

void st_arena_init(struct st_arena *arena, size_t limit) {
	*arena = (struct st_arena){.limit = limit};
}

void st_arena_release(struct st_arena *arena) {
	struct st_arena_block *block = arena->blocks;
	while (block) {
		struct st_arena_block *older = block->older;
		free(block);
		block = older;
	}
	st_arena_init(arena, arena->limit);
}

void *st_arena_alloc(struct st_arena *arena, size_t size) {
	return alloc_aligned(arena, size ? size : 1, alignof(max_align_t));
}

void *st_arena_array(struct st_arena *arena, size_t count, size_t size) {
	size_t whole;
	if (__builtin_mul_overflow(count, size, &whole))
		return NULL;
	void *array = st_arena_alloc(arena, whole);
	if (array)
		memset(array, 0, whole);
	return array;
}

char *st_arena_copy(struct st_arena *arena, struct st_str bytes) {
	char *copy = bytes.len == SIZE_MAX ? NULL : alloc_aligned(arena, bytes.len + 1, 1);
	if (!copy)
		return NULL;
	if (bytes.len)
		memcpy(copy, bytes.ptr, bytes.len);
	copy[bytes.len] = '\0';
	return copy;
}
