#include "lib/alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

/* Allocations until one fails; 0 if none will. */
static _Atomic size_t countdown;
static _Atomic bool failed;
/* And the others after that one. */
static _Atomic bool forever, starved;

/* Threads count together, and one of them fails. */
static bool fails_now(void) {
	size_t left = countdown;
	while (left > 0 && !atomic_compare_exchange_weak(&countdown, &left, left - 1))
		continue;
	if (left == 1)
		starved = forever;
	if (left != 1 && !starved)
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
	failed = forever = starved = false;
	countdown = n;
}

void alloc_fail_from(size_t n) {
	alloc_fail_at(n);
	forever = true;
}

bool alloc_has_failed(void) {
	countdown = 0;
	starved = false;
	return failed;
}
