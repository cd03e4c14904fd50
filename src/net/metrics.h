/**
 * What the server has done so far, as Prometheus reads it.
 *
 * Calls are counted by tool and outcome ("ok" or the name of the error) and
 * timed; HTTP answers are counted by status. What is going on at the moment
 * comes from those who know it, when the text is made.
 *
 * Counting may be done from any thread.
 */
#ifndef STET_NET_METRICS_H
#define STET_NET_METRICS_H

#include <stdint.h>

#include "base/buf.h"

struct st_metrics;

/** NULL if memory is short. */
struct st_metrics *st_metrics_new(void);
void st_metrics_free(struct st_metrics *metrics);

/** A tool was called: 0 or its code, and how long it took. */
void st_metrics_call(struct st_metrics *metrics, struct st_str tool, int code, int64_t micros);

/** An HTTP request was answered with this status. */
void st_metrics_http(struct st_metrics *metrics, int status);

/** Append all that was counted, and the memory of this process. */
void st_metrics_write(struct st_metrics *metrics, struct st_buf *out);

/** Append one number with its help line; type is "gauge" or "counter". */
void st_metrics_number(struct st_buf *out, const char *name, const char *type, const char *help,
                       uint64_t value);

#endif
