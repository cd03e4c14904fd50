/** Clocks, and sleeping. */
#ifndef STET_BASE_CLOCK_H
#define STET_BASE_CLOCK_H

#include <stdint.h>

/** The monotonic clock in milliseconds, and in microseconds. */
int64_t st_now_ms(void);
int64_t st_now_us(void);

/** The time of day, in nanoseconds since 1970 (UTC). */
int64_t st_wall_ns(void);

/** Sleep; a signal may end it early. */
void st_sleep_ms(int64_t ms);

#endif
