#include "net/metrics.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stet/error.h"

enum {
	/* More than there are tools. */
	TOOLS_MAX = 64,
	TOOL_NAME_MAX = 64,
	/* Callers beyond these are not counted; names come from token files. */
	CALLERS_MAX = 64,
	CALLER_NAME_MAX = 32,
	/* Indexed by the negated error code; 0 is success. */
	OUTCOMES = 32,
	BUCKETS = 12,
};

/* Upper bounds in microseconds; the bucket +Inf is the count. */
static const int64_t bounds[BUCKETS] = {
	250, 500, 1'000, 2'500, 5'000, 10'000, 25'000, 50'000, 100'000, 500'000, 2'000'000, 10'000'000,
};

static const int statuses[] = {200, 202, 204, 400, 401, 403, 404, 405,
                               406, 409, 413, 415, 431, 500, 503};
enum { STATUSES = sizeof statuses / sizeof *statuses };

struct tool {
	char name[TOOL_NAME_MAX + 1];
	uint64_t outcomes[OUTCOMES];
	uint64_t buckets[BUCKETS];
	uint64_t count;
	int64_t sum_us;
};

/* A named caller, and how many requests it sent. */
struct caller {
	char name[CALLER_NAME_MAX + 1];
	uint64_t requests;
};

struct st_metrics {
	pthread_mutex_t lock;
	struct tool tools[TOOLS_MAX];
	size_t tool_count;
	uint64_t answers[STATUSES];
	struct caller callers[CALLERS_MAX];
	size_t caller_count;
};

struct st_metrics *st_metrics_new(void) {
	struct st_metrics *metrics = calloc(1, sizeof *metrics);
	if (metrics)
		pthread_mutex_init(&metrics->lock, NULL);
	return metrics;
}

void st_metrics_free(struct st_metrics *metrics) {
	if (!metrics)
		return;
	pthread_mutex_destroy(&metrics->lock);
	free(metrics);
}

static struct tool *find_tool(struct st_metrics *metrics, struct st_str name) {
	for (size_t i = 0; i < metrics->tool_count; i++) {
		if (st_str_eq(st_str(metrics->tools[i].name), name))
			return &metrics->tools[i];
	}
	if (metrics->tool_count == TOOLS_MAX || name.len > TOOL_NAME_MAX)
		return NULL;
	struct tool *tool = &metrics->tools[metrics->tool_count++];
	memcpy(tool->name, name.ptr, name.len);
	return tool;
}

void st_metrics_call(struct st_metrics *metrics, struct st_str tool_name, int code,
                     int64_t micros) {
	pthread_mutex_lock(&metrics->lock);
	struct tool *tool = find_tool(metrics, tool_name);
	if (tool) {
		size_t outcome = code < 0 && -code < OUTCOMES ? (size_t)-code : 0;
		tool->outcomes[outcome]++;
		tool->count++;
		tool->sum_us += micros;
		for (size_t i = 0; i < BUCKETS; i++)
			tool->buckets[i] += micros <= bounds[i];
	}
	pthread_mutex_unlock(&metrics->lock);
}

void st_metrics_http(struct st_metrics *metrics, int status) {
	pthread_mutex_lock(&metrics->lock);
	for (size_t i = 0; i < STATUSES; i++)
		metrics->answers[i] += statuses[i] == status;
	pthread_mutex_unlock(&metrics->lock);
}

void st_metrics_caller(struct st_metrics *metrics, const char *name) {
	size_t at = 0;
	pthread_mutex_lock(&metrics->lock);
	while (at < metrics->caller_count && strcmp(metrics->callers[at].name, name) != 0)
		at++;
	if (at == metrics->caller_count && at < CALLERS_MAX) {
		snprintf(metrics->callers[at].name, sizeof metrics->callers[at].name, "%s", name);
		metrics->caller_count++;
	}
	if (at < CALLERS_MAX)
		metrics->callers[at].requests++;
	pthread_mutex_unlock(&metrics->lock);
}

void st_metrics_number(struct st_buf *out, const char *name, const char *type, const char *help,
                       uint64_t value) {
	st_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, help, name, type, name,
	            value);
}

static void write_outcomes(const struct tool *tool, struct st_buf *out) {
	for (int i = 0; i < OUTCOMES; i++) {
		if (tool->outcomes[i] > 0)
			st_buf_addf(out, "stet_calls_total{tool=\"%s\",outcome=\"%s\"} %" PRIu64 "\n",
			            tool->name, i == 0 ? "ok" : stet_error_name(-i), tool->outcomes[i]);
	}
}

static void write_times(const struct tool *tool, struct st_buf *out) {
	for (size_t i = 0; i < BUCKETS; i++)
		st_buf_addf(out, "stet_call_seconds_bucket{tool=\"%s\",le=\"%g\"} %" PRIu64 "\n",
		            tool->name, (double)bounds[i] / 1e6, tool->buckets[i]);
	st_buf_addf(out, "stet_call_seconds_bucket{tool=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", tool->name,
	            tool->count);
	st_buf_addf(out, "stet_call_seconds_sum{tool=\"%s\"} %.6f\n", tool->name,
	            (double)tool->sum_us / 1e6);
	st_buf_addf(out, "stet_call_seconds_count{tool=\"%s\"} %" PRIu64 "\n", tool->name, tool->count);
}

static uint64_t resident_bytes(void) {
	unsigned long total = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (!file)
		return 0;
	if (fscanf(file, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	fclose(file);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t conflicts(const struct st_metrics *metrics) {
	uint64_t count = 0;
	for (size_t i = 0; i < metrics->tool_count; i++)
		count += metrics->tools[i].outcomes[-STET_E_CONFLICT];
	return count;
}

static void write_callers(const struct st_metrics *metrics, struct st_buf *out) {
	if (metrics->caller_count > 0)
		st_buf_adds(out,
		            "# HELP stet_requests_total HTTP requests by the name of the token.\n"
		            "# TYPE stet_requests_total counter\n");
	for (size_t i = 0; i < metrics->caller_count; i++)
		st_buf_addf(out, "stet_requests_total{caller=\"%s\"} %" PRIu64 "\n",
		            metrics->callers[i].name, metrics->callers[i].requests);
}

void st_metrics_write(struct st_metrics *metrics, struct st_buf *out) {
	pthread_mutex_lock(&metrics->lock);
	st_buf_adds(out,
	            "# HELP stet_calls_total Tool calls by outcome.\n"
	            "# TYPE stet_calls_total counter\n");
	for (size_t i = 0; i < metrics->tool_count; i++)
		write_outcomes(&metrics->tools[i], out);
	st_buf_adds(out,
	            "# HELP stet_call_seconds How long tool calls took.\n"
	            "# TYPE stet_call_seconds histogram\n");
	for (size_t i = 0; i < metrics->tool_count; i++)
		write_times(&metrics->tools[i], out);
	st_metrics_number(out, "stet_conflicts_total", "counter",
	                  "Changes refused because the file had been changed.", conflicts(metrics));
	st_buf_adds(out,
	            "# HELP stet_http_answers_total HTTP answers by status.\n"
	            "# TYPE stet_http_answers_total counter\n");
	for (size_t i = 0; i < STATUSES; i++) {
		if (metrics->answers[i] > 0)
			st_buf_addf(out, "stet_http_answers_total{status=\"%d\"} %" PRIu64 "\n", statuses[i],
			            metrics->answers[i]);
	}
	write_callers(metrics, out);
	pthread_mutex_unlock(&metrics->lock);
	st_metrics_number(out, "process_resident_memory_bytes", "gauge", "Resident memory.",
	                  resident_bytes());
}
