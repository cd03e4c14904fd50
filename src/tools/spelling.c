#include "tools/spelling.h"

#include "base/cancel.h"
#include "base/unicode.h"
#include "base/uri.h"
#include "base/utf8.h"
#include "fs/path/dirs.h"

static int from_uri(struct st_str uri, struct st_buf *plain, struct stet_error *err) {
	if (st_uri_path(uri, plain))
		return 0;
	if (plain->failed)
		return st_fail_nomem(err);
	return st_fail(err, STET_E_INVALID,
	               "The URI is not valid. Write file:///PATH, percent-encoded, or the path.");
}

int st_spelling_plain(struct st_str path, struct st_buf *plain, struct stet_error *err) {
	if (st_str_starts(path, ST_STR("file://")))
		return from_uri(path, plain, err);
	bool home = st_str_eq(path, ST_STR("~")) || st_str_starts(path, ST_STR("~/"));
	const char *dir = home ? getenv("HOME") : NULL;
	if (!dir || dir[0] != '/')
		return 0;
	st_buf_adds(plain, dir);
	st_buf_add(plain, st_str_slice(path, 1, path.len));
	return plain->failed ? st_fail_nomem(err) : 0;
}

/* Append a name as a JSON string in ASCII, so that look-alike characters can be told apart. */
static void add_escaped(struct st_buf *out, const char *name) {
	struct st_str left = st_str(name);
	st_buf_addc(out, '"');
	while (left.len > 0) {
		uint32_t point;
		size_t len = st_utf8_next(left, &point);
		if (point >= 0x20 && point < 0x7F && point != '"' && point != '\\')
			st_buf_addc(out, (char)point);
		else if (point < 0x10000)
			st_buf_addf(out, "\\u%04x", (unsigned)point);
		else
			st_buf_addf(out, "\\u%04x\\u%04x", 0xD7C0u + (unsigned)(point >> 10),
			            0xDC00u + (unsigned)(point & 0x3FF));
		left = st_str_slice(left, len, left.len);
	}
	st_buf_addc(out, '"');
}

/* What it takes to fold a name, in the units of st_cancel_check(). */
enum { FOLD_WORK = 4096 };

void st_spelling_hint(const struct stet_session *session, const char *path, struct st_buf *out) {
	st_auto(st_dir) dir = ST_DIR_INIT;
	st_auto(st_listing) listing = {0};
	st_auto(st_buf) wanted = ST_BUF_INIT;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct st_str above = slash ? st_strn(path, (size_t)(slash - path) + 1) : ST_STR(".");
	if (!*name || st_dir_open(&session->ws->root, above, &dir, NULL) < 0 ||
	    st_dir_list(&dir, &listing, NULL) < 0)
		return;
	const char *other = NULL;
	st_unicode_fold(&wanted, st_str(name));
	for (size_t i = 0; i < listing.count; i++) {
		st_auto(st_buf) folded = ST_BUF_INIT;
		/* If the name exists, the error is about something else. */
		if (strcmp(listing.entries[i].name, name) == 0 || st_cancel_check(FOLD_WORK, NULL) < 0)
			return;
		st_unicode_fold(&folded, st_str(listing.entries[i].name));
		if (!other && st_str_eq(st_buf_str(&folded), st_buf_str(&wanted)))
			other = listing.entries[i].name;
	}
	if (!other)
		return;
	st_buf_adds(out, " There is ");
	add_escaped(out, other);
	st_buf_adds(out, ", which differs only in case or in the encoding of its accents.");
}
