/**
 * Files with tokens, and the user's own one.
 *
 * A token opens everything that the server serves, so a file that others can
 * read or change is refused. The user's own token lies in the user's state
 * directory ($XDG_STATE_HOME/stet/token, or ~/.local/state/stet/token) and is
 * made when it is first needed; all servers of the user share it.
 *
 *     st_auto(st_buf) path = ST_BUF_INIT;
 *     if (st_tokens_own(&path, err) < 0 || st_tokens_load(&gate, st_buf_cstr(&path), err) < 0)
 *             return err->code;
 */
#ifndef STET_NET_TOKENS_H
#define STET_NET_TOKENS_H

#include "base/buf.h"
#include "net/gate.h"

/**
 * Accept the tokens of a file.
 *
 * @return 0; STET_E_NOT_FOUND, STET_E_KIND (not a regular file), STET_E_ACCESS
 *         (also: others can read it, or it belongs to another user), the codes
 *         of st_gate_add_tokens(), STET_E_IO.
 */
[[nodiscard]] int st_tokens_load(struct st_gate *gate, const char *path, struct stet_error *err);

/**
 * The path of the user's own token, which is made if it is not there.
 *
 * @return 0, STET_E_INVALID (there is no home), STET_E_ACCESS (the directory
 *         is not the user's alone), STET_E_IO, STET_E_NOMEM.
 */
[[nodiscard]] int st_tokens_own(struct st_buf *path, struct stet_error *err);

#endif
