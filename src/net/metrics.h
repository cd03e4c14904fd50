/**
 * Counters of the server, in the text format of Prometheus.
 *
 * Tool calls are timed, and counted by tool and outcome ("ok" or the name of the
 * error). HTTP answers are counted by status. The caller adds current values
 * with st_metrics_number().
 *
 * All functions may be called from any thread.
 */
#ifndef STET_NET_METRICS_H
#define STET_NET_METRICS_H

#include <stdint.h>

#include "base/buf.h"

struct st_metrics;

/** NULL if out of memory. */
struct st_metrics *st_metrics_new(void);
void st_metrics_free(struct st_metrics *metrics);

/** Count a tool call: 0 or its error code, and its time in microseconds. */
void st_metrics_call(struct st_metrics *metrics, struct st_str tool, int code, int64_t micros);

/** Count an HTTP answer. */
void st_metrics_http(struct st_metrics *metrics, int status);

/** Count a request of a caller with a name. */
void st_metrics_caller(struct st_metrics *metrics, const char *name);

/** Append all counters, and the memory of this process. */
void st_metrics_write(struct st_metrics *metrics, struct st_buf *out);

/** Append one number with its help line; type is "gauge" or "counter". */
void st_metrics_number(struct st_buf *out, const char *name, const char *type, const char *help,
                       uint64_t value);

#endif
