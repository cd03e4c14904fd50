#include "net/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"

struct st_access_log {
	char *path;
	int fd;
	bool failed;
};

int st_access_log_reopen(struct st_access_log *log, struct stet_error *err) {
	int fd = strcmp(log->path, "-") == 0
	             ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
	             : open(log->path,
	                    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd < 0)
		return st_fail_errno(err, errno, "Cannot open the access log %s", log->path);
	st_close_at(&log->fd);
	log->fd = fd;
	return 0;
}

int st_access_log_open(const char *path, struct st_access_log **out, struct stet_error *err) {
	struct st_access_log *log = calloc(1, sizeof *log);
	if (!log)
		return st_fail_nomem(err);
	log->fd = -1;
	log->path = strdup(path);
	int code = log->path ? st_access_log_reopen(log, err) : st_fail_nomem(err);
	if (code < 0)
		st_access_log_free(log);
	else
		*out = log;
	return code;
}

static void add_time(struct st_buf *line) {
	int64_t ns = st_wall_ns();
	time_t seconds = (time_t)(ns / 1'000'000'000);
	struct tm tm;
	if (gmtime_r(&seconds, &tm))
		st_buf_addf(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
		            tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ns / 1'000'000 % 1000));
}

static void add_member(struct st_buf *line, const char *name, const char *text) {
	st_buf_addf(line, ",\"%s\":", name);
	st_json_quote(line, st_str(text));
}

bool st_access_log_add(struct st_access_log *log, const struct st_request *request) {
	st_auto(st_buf) line = ST_BUF_INIT;
	st_buf_adds(&line, "{\"at\":\"");
	add_time(&line);
	st_buf_addc(&line, '"');
	char peer[64];
	st_request_peer(request, peer, sizeof peer);
	add_member(&line, "from", peer);
	if (request->caller.owner[0])
		add_member(&line, "caller", request->caller.owner);
	add_member(&line, "method", st_method_name(request->head.method));
	add_member(&line, "path", request->head.path);
	if (request->call[0])
		add_member(&line, "call", request->call);
	st_buf_addf(&line, ",\"status\":%d,\"ms\":%" PRId64 "}\n", request->status,
	            st_now_ms() - request->begun_ms);
	bool written = !line.failed && write(log->fd, line.ptr, line.len) == (ssize_t)line.len;
	bool fails_now = !written && !log->failed;
	log->failed = !written;
	return !fails_now;
}

void st_access_log_free(struct st_access_log *log) {
	if (!log)
		return;
	st_close_at(&log->fd);
	free(log->path);
	free(log);
}
