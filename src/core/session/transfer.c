#include "core/session/transfer.h"

#include "fs/write/commit.h"
#include "fs/write/remove.h"
#include "fs/path/sys.h"
#include "text/lines/lines.h"

void st_transferred_release(struct st_transferred *done) {
	free(done->from);
	free(done->to);
	*done = (struct st_transferred){0};
}

static int fail_destination(const char *path, struct stet_error *err) {
	return st_fail(err, STET_E_EXISTS,
	               "Destination already exists: %s. Choose another name. Nothing was copied.",
	               st_quoted(path));
}

/* Give the new file the mode of the original. If that fails, it keeps the default mode. */
static void keep_mode(const struct st_root *root, const char *path, mode_t mode) {
	st_auto(st_place) place = ST_PLACE_INIT;
	if (st_root_locate(root, st_str(path), &place, NULL) < 0)
		return;
	st_autofd fd = st_file_open(&place, NULL);
	if (fd >= 0 && (place.st.st_mode & 0777) != (mode & 0777))
		(void)st_retry(fchmod(fd, mode & 0777));
}

/* Record for the copy which lines the session has seen of the original. */
static void copy_record(struct stet_session *from, const char *source, struct stet_session *to,
                        const char *destination, const struct st_version *version,
                        struct st_str bytes) {
	const struct st_seen *known = st_tracker_find(&from->tracker, source);
	struct st_intervals lines = {0};
	bool same = known && st_version_eq(&known->version, version) && !known->stale;
	for (size_t i = 0; same && i < known->lines.count; i++)
		same = st_intervals_add(&lines, known->lines.items[i].first, known->lines.items[i].last);
	st_bases_put(&to->ws->bases, &version->hash, bytes);
	struct st_seen *seen =
		st_tracker_record(&to->tracker, destination, version, st_line_count(bytes));
	for (size_t i = 0; seen && same && i < lines.count; i++)
		st_seen_add(seen, lines.items[i].first, lines.items[i].last);
	st_intervals_release(&lines);
}

static int create_copy(struct stet_session *session, const char *path, const struct st_file *file,
                       struct st_committed *made, struct stet_error *err) {
	struct stet_workspace *ws = session->ws;
	struct st_commit request = {
		.path = st_str(path),
		.bytes = st_buf_str(&file->bytes),
		.relaxed = !ws->durable,
		.max = ws->max_file,
	};
	int code = st_commit(&ws->root, &ws->writes, &request, made, err);
	if (code == STET_E_CONFLICT)
		return fail_destination(path, err);
	return code;
}

/* Check that the destination does not exist, not even as a link or directory, and has an allowed type. */
static int check_free(const struct stet_workspace *ws, const char *path, struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	unsigned flags = ST_LOCATE_LINK | ST_LOCATE_DIR;
	int code = st_root_locate_as(&ws->root, st_str(path), flags, &place, err);
	if (code < 0)
		return code;
	return place.exists ? fail_destination(path, err)
	                    : st_workspace_check_type(ws, place.path, err);
}

static int copy_file(struct stet_session *from, const char *source, struct stet_session *to,
                     const char *destination, struct st_file *file, struct st_transferred *done,
                     struct stet_error *err) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_committed) made = ST_COMMITTED_INIT;
	int code = st_session_load(from, source, &place, file, err);
	if (code == 0)
		code = check_free(to->ws, destination, err);
	if (code == 0)
		code = create_copy(to, destination, file, &made, err);
	if (code < 0)
		return code;
	keep_mode(&to->ws->root, made.path, file->mode);
	copy_record(from, place.path, to, made.path, &made.version, st_buf_str(&file->bytes));
	st_workspace_wrote(to->ws, &made.version.hash, st_session_who(to));
	const struct st_file_event event = {
		.path = made.path, .kind = ST_EVENT_WRITTEN, .after = made.version};
	st_session_report(to, &event);
	*done = (struct st_transferred){.from = place.path, .to = made.path, .hash = made.version.hash};
	place.path = made.path = NULL;
	return 0;
}

int st_transfer_copy(struct stet_session *from, const char *source, struct stet_session *to,
                     const char *destination, struct st_transferred *done, struct stet_error *err) {
	st_auto(st_file) file = ST_FILE_INIT;
	return copy_file(from, source, to, destination, &file, done, err);
}

/* Remove a file if it still has the bytes that were loaded, and report that. */
static int remove_loaded(struct stet_session *session, const char *path, const struct st_file *file,
                         const char **unproven, struct stet_error *err) {
	struct stet_workspace *ws = session->ws;
	st_auto(st_committed) gone = ST_COMMITTED_INIT;
	struct st_commit request = {.path = st_str(path),
	                            .expected = &file->hash,
	                            .relaxed = !ws->durable,
	                            .max = ws->max_file};
	int code = st_remove(&ws->root, &ws->writes, &request, &gone, err);
	if (code < 0)
		return code;
	*unproven = gone.unproven;
	const struct st_file_event event = {
		.path = gone.path, .kind = ST_EVENT_REMOVED, .before = st_file_version(file)};
	st_session_report(session, &event);
	st_tracker_forget(&session->tracker, gone.path);
	return 0;
}

int st_transfer_move(struct stet_session *from, const char *source, struct stet_session *to,
                     const char *destination, struct st_transferred *done, struct stet_error *err) {
	st_auto(st_file) file = ST_FILE_INIT;
	struct stet_error why = {0};
	int code = copy_file(from, source, to, destination, &file, done, err);
	if (code < 0)
		return code;
	code = remove_loaded(from, done->from, &file, &done->unproven, &why);
	if (code == 0) {
		st_bases_put(&from->ws->bases, &done->hash, st_buf_str(&file.bytes));
		return 0;
	}
	int back = remove_loaded(to, done->to, &file, &done->unproven, NULL);
	return st_fail(err, code == STET_E_CONFLICT ? STET_E_BUSY : code, "%s was not moved: %s %s",
	               st_quoted(source),
	               code == STET_E_CONFLICT ? "it changed while it was copied. Try again."
	                                       : why.message,
	               back < 0 ? "The copy could not be removed and is left." : "");
}

void st_transfer_follow(struct stet_session *from, const char *source, struct stet_session *to,
                        const char *destination) {
	st_auto(st_place) place = ST_PLACE_INIT;
	st_auto(st_file) file = ST_FILE_INIT;
	if (st_session_load(to, destination, &place, &file, NULL) < 0)
		return;
	const struct st_version version = st_file_version(&file);
	copy_record(from, source, to, place.path, &version, st_buf_str(&file.bytes));
	st_tracker_forget(&from->tracker, source);
	const struct st_file_event gone = {.path = source, .kind = ST_EVENT_REMOVED, .before = version};
	const struct st_file_event here = {
		.path = place.path, .kind = ST_EVENT_WRITTEN, .after = version};
	st_bases_put(&from->ws->bases, &file.hash, st_buf_str(&file.bytes));
	st_session_report(from, &gone);
	st_session_report(to, &here);
}
