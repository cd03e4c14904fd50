/**
 * The page of the server: its static files, and the JSON interface that they
 * use (docs/page.md).
 *
 *     /                 the page; /app.js and other files, embedded in the program
 *     /api/v1/SECTION   what stet_page() knows, as JSON
 *     /api/v1/stream    a line for each change, as long as the client listens
 *     /api/v1/undo      POST: preview, undo, redo
 *
 * The server has checked Host, Origin and, except for static files, the token.
 * Calls that may block run on the pool. All functions must be called on the
 * loop's thread.
 */
#ifndef STET_NET_WEB_H
#define STET_NET_WEB_H

#include "net/connection.h"
#include "net/pool.h"
#include "stet/host.h"

struct st_web;

/** One embedded file; the build makes the list from page/, its last name is NULL. */
struct st_web_file {
	const char *path, *type;
	const unsigned char *bytes;
	size_t len;
};

extern const struct st_web_file st_web_files[];

/**
 * Make a page.
 *
 * @host        The workspaces to show; must outlive the page.
 * @allow_undo  Whether clients may undo and redo.
 * @return      0 or STET_E_NOMEM.
 */
[[nodiscard]] int st_web_new(struct st_loop *loop, struct st_pool *pool, struct stet_host *host,
                             bool allow_undo, struct st_web **out, struct stet_error *err);

/** Free a page that is closed; its tasks have ended. NULL is fine. */
void st_web_free(struct st_web *web);

/** Answer a request for a static file. False if there is no such file. */
bool st_web_serve_file(struct st_request *request);

/** Whether a path belongs to the JSON interface. */
bool st_web_is_api(const char *path);

/** Check the head of a request with a valid token. True to read its body; false if it was answered. */
bool st_web_check_head(struct st_web *web, struct st_request *request);

/** Handle a request whose head was accepted. */
void st_web_handle(struct st_web *web, struct st_request *request);

/** End the streams of clients whose token the gate no longer accepts. */
void st_web_revoke(struct st_web *web, const struct st_gate *gate);

/** The status of an answer that tells of a code. */
int st_web_status(int code);

/** Answer with JSON. */
void st_web_answer(struct st_request *request, int status, struct st_str json);

/** Refuse a request of the JSON interface: {"error": name of the code, "message": text}. */
void st_web_refuse(struct st_request *request, int status, const char *error, const char *message);

/** End all streams, and begin no more. */
void st_web_close(struct st_web *web);

#endif
