/**
 * A strict parser for the head of an HTTP/1 request.
 *
 * If a proxy and a server parse a request differently, an attacker can smuggle
 * requests past the proxy. So the parser refuses everything that RFC 9112 leaves
 * open: bare line feeds, folded lines, blanks before a colon, repeated fields
 * that may occur only once, lengths that are not digits, any Transfer-Encoding
 * except "chunked", and a length beside it.
 *
 *     ssize_t len = st_head_end(bytes, &scanned);       // 0: incomplete
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
	/** Owns all strings of the head, each NUL-terminated. */
	char *text;
	enum st_method method;
	/** The path, which begins with a slash, without the query. */
	const char *path;
	/** What follows the question mark; NULL if there is none. */
	const char *query;
	struct {
		const char *name, *value;
	} fields[ST_HEAD_FIELDS_MAX];
	size_t field_count;
	/** HTTP/1.0: no chunks, and the connection ends with the answer. */
	bool old;
	/** The client asks to close the connection. */
	bool close;
	/** The client waits for "100 Continue" before it sends the body. */
	bool expects;
	/** The body comes in chunks, or with this length. */
	bool chunked;
	uint64_t length;
};

void st_head_release(struct st_head *head);

/**
 * Find the end of a head.
 *
 * @bytes    The input so far.
 * @scanned  Where the search continues; 0 for a new head.
 * @return   Its length; 0 if it is incomplete; -1 if it is invalid (a NUL, a
 *           bare CR or LF).
 */
ssize_t st_head_end(struct st_str bytes, size_t *scanned);

/**
 * Parse a head.
 *
 * @bytes    A complete head, of the length that st_head_end() returned.
 * @problem  Receives a sentence if the head is refused.
 * @return   0, or the status of the answer: 400, 503 (out of memory).
 */
int st_head_read(struct st_head *head, struct st_str bytes, const char **problem);

/** "GET"; "-" for a method that this server does not know. */
const char *st_method_name(enum st_method method);

/** The value of a field; NULL if missing. The first one of a repeated field. */
const char *st_head_field(const struct st_head *head, const char *name);

#endif
