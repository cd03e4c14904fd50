/**
 * Token files, and the user's own token.
 *
 * A token gives access to everything that the server serves, so a file that
 * other users can read or change is refused. The user's own token is in
 * $XDG_STATE_HOME/stet/token or ~/.local/state/stet/token; it is created when
 * first needed, and all servers of the user share it.
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
 * Accept the tokens in a file.
 *
 * @return 0; STET_E_NOT_FOUND, STET_E_KIND (not a regular file), STET_E_ACCESS
 *         (also: others can read it, or it belongs to another user), the codes
 *         of st_gate_add_tokens(), STET_E_IO.
 */
[[nodiscard]] int st_tokens_load(struct st_gate *gate, const char *path, struct stet_error *err);

/**
 * Get the path of the user's own token file, and create it if it does not exist.
 *
 * @return 0, STET_E_INVALID (no home directory), STET_E_ACCESS (other users can
 *         change the directory), STET_E_IO, STET_E_NOMEM.
 */
[[nodiscard]] int st_tokens_own(struct st_buf *path, struct stet_error *err);

#endif
