#include "core/view.h"

#include "fs/sys.h"
#include "text/lines.h"

void st_view_release(struct st_view *view) {
	st_place_release(&view->place);
	st_file_release(&view->file);
	st_blob_put(view->base);
	st_close_at(&view->fd);
	*view = (struct st_view)ST_VIEW_INIT;
}

bool st_view_recall(struct st_view *view, struct stet_session *session, const char *path) {
	const struct st_root *root = &session->ws->root;
	const char *plain = st_root_plain(root, path);
	const struct st_seen *seen = plain ? st_lru_peek(&session->tracker.files, st_str(plain)) : NULL;
	if (!seen || seen->stale || seen->version.stamp.racy ||
	    st_workspace_check_type(session->ws, plain, NULL) < 0)
		return false;
	struct stat st;
	st_view_release(view);
	view->fd = st_root_open_plain(root, plain, &st);
	if (view->fd < 0)
		return false;
	struct st_stamp now = st_stamp_of(&st);
	if (!st_stamp_eq(&now, &seen->version.stamp))
		return false;
	view->base = st_bases_get(&session->ws->bases, &seen->version.hash);
	if (!view->base)
		return false;
	view->asked = path;
	view->path = plain;
	view->bytes = st_strn(view->base->bytes, view->base->len);
	view->version = seen->version;
	view->total_lines = seen->total;
	view->is_text = st_hash_eq(&seen->text, &seen->version.hash);
	view->is_utf8 = view->is_text && seen->is_utf8;
	return true;
}

bool st_view_holds(const struct st_view *view, struct st_str part) {
	return !view->base || st_file_holds(view->fd, part.ptr - view->bytes.ptr, part);
}

int st_view_load(struct st_view *view, struct stet_session *session, const char *path,
                 struct stet_error *err) {
	st_view_release(view);
	int code = st_session_load(session, path, &view->place, &view->file, err);
	if (code < 0)
		return code;
	view->asked = path;
	view->path = view->place.path;
	view->bytes = st_buf_str(&view->file.bytes);
	view->version = st_file_version(&view->file);
	view->total_lines = st_line_count(view->bytes);
	return 0;
}

struct st_seen *st_view_meet(const struct st_view *view, struct stet_session *session) {
	if (!view->base)
		return st_session_meet(session, view->asked, view->path, &view->file);
	return st_session_meet_version(session, view->asked, view->path, &view->version,
	                               view->total_lines);
}
