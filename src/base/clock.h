/** Clocks, and sleeping. */
#ifndef STET_BASE_CLOCK_H
#define STET_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/** The monotonic clock in microseconds, and in milliseconds. */
static inline int64_t st_now_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t st_now_ms(void) {
	return st_now_us() / 1000;
}

/** The time of day, in nanoseconds since 1970 (UTC). */
static inline int64_t st_wall_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** Sleep; a signal may end it early. */
static inline void st_sleep_ms(int64_t ms) {
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&time, NULL);
}

#endif
