/**
 * The head of an HTTP/1 request, read strictly.
 *
 * Two programs that read one request differently can be played against each
 * other (request smuggling), so whatever the grammar of RFC 9112 leaves open
 * is refused: bare line feeds, folded lines, blanks before a colon, repeated
 * fields that may be there once, lengths that are not digits, any
 * Transfer-Encoding but "chunked", a length beside it.
 *
 *     ssize_t len = st_head_end(bytes, &scanned);       // 0: more has to come
 *     if (len > 0 && !st_head_read(&head, st_str_slice(bytes, 0, len), &problem))
 *             host = st_head_field(&head, "Host");
 */
#ifndef STET_NET_HEAD_H
#define STET_NET_HEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

enum {
	/** The longest head. */
	ST_HEAD_MAX = 16 << 10,
	ST_HEAD_FIELDS_MAX = 100,
};

enum st_method {
	ST_METHOD_OTHER,
	ST_METHOD_GET,
	ST_METHOD_HEAD,
	ST_METHOD_POST,
	ST_METHOD_DELETE,
};

struct st_head {
	/** All its strings, each NUL-ended; owned. */
	char *text;
	enum st_method method;
	/** Begins with a slash; without the query. */
	const char *path;
	struct {
		const char *name, *value;
	} fields[ST_HEAD_FIELDS_MAX];
	size_t field_count;
	/** HTTP/1.0, which has no chunks and whose connections end with the answer. */
	bool old;
	/** The client asks for the connection to end. */
	bool close;
	/** It waits for "100 Continue" before it sends the body. */
	bool expects;
	/** How the body comes: in chunks, or with this length. */
	bool chunked;
	uint64_t length;
};

void st_head_release(struct st_head *head);

/**
 * Find the end of a head.
 *
 * @bytes    What has come so far.
 * @scanned  Where to go on; 0 for a new head.
 * @return   Its length; 0 if more has to come; -1 if no head can begin like
 *           this (a NUL, a bare CR or LF).
 */
ssize_t st_head_end(struct st_str bytes, size_t *scanned);

/**
 * Read a head.
 *
 * @bytes    As long as st_head_end() said.
 * @problem  Receives a sentence if it is refused.
 * @return   0, or the status to answer: 400, 503 (out of memory).
 */
int st_head_read(struct st_head *head, struct st_str bytes, const char **problem);

/** The value of a field; NULL if it is not there. The first, of those that may be repeated. */
const char *st_head_field(const struct st_head *head, const char *name);

#endif
