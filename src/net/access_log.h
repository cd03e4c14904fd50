/**
 * The access log: one line of JSON for each answered request.
 *
 *     {"at":"2026-11-18T09:30:00.125Z","from":"10.0.0.7:40123","caller":"ci",
 *      "method":"POST","path":"/mcp","call":"tools/call edit_file","status":200,"ms":12}
 *
 * The file is appended to, a line per write, so that several servers can share
 * it. All functions must be called on the loop's thread.
 */
#ifndef STET_NET_ACCESS_LOG_H
#define STET_NET_ACCESS_LOG_H

#include "net/connection.h"

struct st_access_log;

/**
 * Open a log.
 *
 * @path   A file, created with mode 0600; "-" is standard error.
 * @return 0, STET_E_ACCESS, STET_E_IO, STET_E_NOMEM, or another code of open().
 */
[[nodiscard]] int st_access_log_open(const char *path, struct st_access_log **out,
                                     struct stet_error *err);

/** Open the file again, after it was renamed. If that fails, the old file stays. */
[[nodiscard]] int st_access_log_reopen(struct st_access_log *log, struct stet_error *err);

/** Write the line of an answered request. Returns false if that failed for the first time in a row. */
bool st_access_log_add(struct st_access_log *log, const struct st_request *request);

void st_access_log_free(struct st_access_log *log);

#endif
