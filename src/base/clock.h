/** Time as the library needs it: a monotonic clock in milliseconds, the time of day, and a nap. */
#ifndef STET_BASE_CLOCK_H
#define STET_BASE_CLOCK_H

#include <stdint.h>

/** Milliseconds, and microseconds, of the monotonic clock. */
int64_t st_now_ms(void);
int64_t st_now_us(void);

/** Nanoseconds since 1970, UTC, as the system has it. */
int64_t st_wall_ns(void);

/** Sleep for some milliseconds; a signal may end it early. */
void st_sleep_ms(int64_t ms);

#endif
