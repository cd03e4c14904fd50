/**
 * A visit: one call on a session, from its beginning to its end.
 *
 * At the beginning a named session takes over what another process stored
 * under its name meanwhile; at the end what it came to know is stored in one
 * transaction. Visits nest; only the outermost does anything.
 *
 *     [[maybe_unused]] st_auto(st_visit) visit = st_visit_begin(session, false);
 */
#ifndef STET_CORE_VISIT_H
#define STET_CORE_VISIT_H

#include "core/session.h"

struct st_visit {
	struct stet_session *session;
};

/**
 * Begin a visit.
 *
 * @tool  It is a tool's call: files are tracked for the state of the work too.
 */
struct st_visit st_visit_begin(struct stet_session *session, bool tool);

/** End it. What cannot be stored is said in a notice: the files are as they are all the same. */
void st_visit_release(struct st_visit *visit);

/** Note what became of a file; at and undoes are filled in. Nothing happens where files are not tracked. */
void st_visit_did(struct stet_session *session, const struct st_file_event *event);

/** Note that a file or directory has another name now; a look at the disk tells the rest. */
void st_visit_moved(struct stet_session *session, const char *from, const char *to, bool is_dir);

/** Store what there is to store now. Returns as st_store_do(). */
[[nodiscard]] int st_visit_settle(struct stet_session *session, struct stet_error *err);

/** The same, before the state is looked at: if the disk is full or somebody else at it, a notice says what is missing. */
[[nodiscard]] int st_visit_settle_or_say(struct stet_session *session, struct stet_error *err);

/** For st_store.adopt, with the workspace as data: store what a session did. Paths outside the root are left out. */
[[nodiscard]] int st_visit_adopt(struct st_store *store, void *data,
                                 const struct st_file_event *event, struct stet_error *err);

/** The session ends: what waits is stored, if there is a store. */
void st_visit_close(struct stet_session *session);

/** Load what a named session saw in earlier processes. Returns 0 or the codes of st_store_do(). */
[[nodiscard]] int st_visit_load(struct stet_session *session, struct stet_error *err);

#endif
