/** Undo and redo from the page: a preview first, then the same with the preview's digest. */
#ifndef STET_NET_WEB_UNDO_H
#define STET_NET_WEB_UNDO_H

#include "net/connection.h"
#include "net/pool.h"
#include "stet/host.h"

/**
 * Answer a request to undo or redo. Its body is JSON:
 *
 * - `id`, a write, or `agent`, all writes of one; `path` for one file of these;
 * - `redo`: bring back what was undone;
 * - `expected`: the digest that the answer of a preview has. Without it, this is
 *   a preview. If the preview would be another one by now, nothing is changed:
 *   the answer is 409 with the new preview.
 */
void st_web_undo(struct st_pool *pool, struct stet_host *host, struct st_request *request);

#endif
