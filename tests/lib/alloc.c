#include "lib/alloc.h"

#include <errno.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

/* Allocations until one fails; 0 if none will. */
static size_t countdown;
static bool failed;

static bool fails_now(void) {
	if (countdown == 0 || --countdown > 0)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size) {
	return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
	return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size) {
	return fails_now() ? NULL : __real_realloc(ptr, size);
}

void alloc_fail_at(size_t n) {
	failed = false;
	countdown = n;
}

bool alloc_has_failed(void) {
	countdown = 0;
	return failed;
}
