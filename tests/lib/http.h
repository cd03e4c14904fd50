/**
 * A small HTTP client for the tests: one connection, byte by byte under
 * control.
 *
 *     struct client client;
 *     st_auto(st_buf) answer = ST_BUF_INIT;
 *     assert_true(client_open(&client, url));
 *     int status = client_post(&client, "Mcp-Session-Id: abc\r\n", body, &answer);
 *
 * Nothing here fails the test by itself, so that it can be used by clients
 * that are threads, or are killed.
 */
#ifndef STET_TESTS_LIB_HTTP_H
#define STET_TESTS_LIB_HTTP_H

#include "base/buf.h"

struct client {
	int fd;
	char host[64];
	int port;
	/** Sent with every request; NULL for none. */
	const char *token;
	/** What was received and not used yet. */
	struct st_buf input;
	/** The head of the last answer. */
	struct st_buf head;
};

/** Connect to the server of a URL such as "http://127.0.0.1:8080/mcp". False if that fails. */
bool client_open(struct client *client, const char *url);
void client_close(struct client *client);

/** Send bytes as they are. False if the connection is gone. */
bool client_send(struct client *client, struct st_str bytes);

/**
 * Send a request to a path.
 *
 * @headers  Further header lines, each ended by CRLF; may be "".
 * @body     NULL for none.
 */
bool client_request(struct client *client, const char *method, const char *path,
                    const char *headers, const char *body);

/** Receive the head of an answer. Returns its status, or -1. */
int client_head(struct client *client);

/** Receive the whole body that belongs to the last head. False if it breaks off. */
bool client_body(struct client *client, struct st_buf *body);

/** The value of a header of the last head, until the next; NULL if it is not there. */
const char *client_header(struct client *client, const char *name);

/** Receive the data of the next event of a stream. False if the stream ends, or nothing comes in time. */
bool client_event(struct client *client, int timeout_ms, struct st_buf *data);

/**
 * Post a message to /mcp and receive the answer: the body, or the last event
 * of a stream.
 *
 * @return The status, or -1 if the connection broke.
 */
int client_post(struct client *client, const char *headers, const char *message,
                struct st_buf *answer);

/** Whether the server closes the connection within so many milliseconds. */
bool client_is_dropped(struct client *client, int timeout_ms);

#endif
