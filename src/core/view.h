/**
 * A file to show parts of: the version that is there, all of its bytes and
 * what they hash to.
 *
 * A file that the session has seen need not be read and hashed again for
 * every page of it. It is recalled: if its stamp is the one that was taken
 * with it, and not racy, its bytes are those of the base. What an answer then
 * shows is compared with the file all the same (st_view_holds()), so that it
 * is never older than the call, whatever a stamp cannot tell.
 */
#ifndef STET_CORE_VIEW_H
#define STET_CORE_VIEW_H

#include "core/session.h"

struct st_view {
	/** As the caller spelled it, and below the root. */
	const char *asked;
	const char *path;
	struct st_str bytes;
	struct st_version version;
	size_t total_lines;
	/** It was shown before, and is known to be text. */
	bool is_text;
	/** All of it is valid UTF-8; known of what is known to be text. */
	bool is_utf8;
	/* Who holds these: what was read, or else the base, with the file open to compare. */
	struct st_place place;
	struct st_file file;
	struct st_blob *base;
	int fd;
};

#define ST_VIEW_INIT \
	{ .place = ST_PLACE_INIT, .file = ST_FILE_INIT, .fd = -1 }

void st_view_release(struct st_view *view);

/**
 * Open a file as the session knows it, if that still holds.
 *
 * @path  As the caller spells it; must outlive the view, here and in st_view_load().
 * @return False if it has to be loaded.
 */
bool st_view_recall(struct st_view *view, struct stet_session *session, const char *path);

/** Whether the file holds a part of the view's bytes at its place; of what was loaded it does. */
bool st_view_holds(const struct st_view *view, struct st_str part);

/** Read a file; what the view held is released. Returns 0 or the codes of st_file_load(). */
[[nodiscard]] int st_view_load(struct st_view *view, struct stet_session *session, const char *path,
                               struct stet_error *err);

/** Record the version as met: st_session_meet(). */
struct st_seen *st_view_meet(const struct st_view *view, struct stet_session *session);

#endif
