#include "tools/route.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/unicode.h"
#include "fs/path/dirs.h"
#include "base/uri.h"
#include "base/utf8.h"

/* ---- which workspace ---- */

/* The length of a root with its slash if a path is below it; 0 if it is not. */
static size_t prefix_of(const char *root, const char *path) {
	size_t len = strlen(root);
	while (len > 0 && root[len - 1] == '/')
		len--;
	bool is_inside = strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0');
	return is_inside ? len + 1 : 0;
}

static size_t depth_in(const struct st_root *root, const char *path) {
	size_t real = prefix_of(root->path, path), spelled = prefix_of(root->spelled, path);
	return real > spelled ? real : spelled;
}

/* How well a path fits a workspace: 0 for outside, 1 for a possible path, 2 if it exists. */
static int path_fit(const struct stet_session *session, const char *path, unsigned flags) {
	st_auto(st_place) place = ST_PLACE_INIT;
	int code = st_root_locate_as(&session->ws->root, st_str(path), flags, &place, NULL);
	/* A directory, spelled with a trailing slash or dots. It exists, but a link has a better spelling. */
	if (code == STET_E_KIND)
		return flags & ST_LOCATE_LINK ? 1 : 2;
	return code < 0 ? 0 : 1 + place.exists;
}

/* The session of the innermost root that is a prefix of an absolute path; NULL if there is none. */
static struct stet_session *innermost(const struct st_call *call, const char *path) {
	struct stet_session *found = NULL;
	size_t best = 0;
	for (size_t i = 0; i < call->session_count; i++) {
		size_t depth = depth_in(&call->sessions[i]->ws->root, path);
		if (depth > best) {
			best = depth;
			found = call->sessions[i];
		}
	}
	return found;
}

/* The first workspace in which a path exists; NULL if there is none. */
static struct stet_session *first_that_has(const struct st_call *call, const char *path,
                                           unsigned flags) {
	for (size_t i = 0; i < call->session_count; i++) {
		if (path_fit(call->sessions[i], path, flags) == 2)
			return call->sessions[i];
	}
	return NULL;
}

/*
 * The first workspace in which a path could exist. NULL if there is none, or if
 * the path is a symbolic link to the outside in an earlier one.
 */
static struct stet_session *first_that_could(const struct st_call *call, const char *path,
                                             unsigned flags) {
	for (size_t i = 0; i < call->session_count; i++) {
		if (path_fit(call->sessions[i], path, flags) > 0)
			return call->sessions[i];
		if (path_fit(call->sessions[i], path, ST_LOCATE_LINK) == 2)
			return NULL;
	}
	return NULL;
}

/* The session of the workspace that a path leads to; NULL if it is outside of all. */
static struct stet_session *route(const struct st_call *call, const char *path, unsigned flags) {
	struct stet_session *likely = path[0] == '/' ? innermost(call, path) : NULL;
	/* Below the prefix, ".." or a symbolic link may still lead outside. */
	if (likely && path_fit(likely, path, flags) > 0)
		return likely;
	struct stet_session *found = first_that_has(call, path, flags);
	return found ? found : first_that_could(call, path, flags);
}

/* ---- other spellings ---- */

static int from_uri(struct st_str uri, struct st_buf *plain, struct stet_error *err) {
	if (st_uri_path(uri, plain))
		return 0;
	if (plain->failed)
		return st_fail_nomem(err);
	return st_fail(err, STET_E_INVALID,
	               "The URI is not valid. Write file:///PATH, percent-encoded, or the path.");
}

/* Turn `~/x` and `file:///x%20y` into plain paths; leave `plain` empty for a plain path. */
static int expand_spelling(struct st_str path, struct st_buf *plain, struct stet_error *err) {
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

/* A search for the meaning of a path: the best candidate so far, and its path_fit(). */
struct search {
	struct st_call *call;
	unsigned flags;
	struct stet_session *session;
	struct st_buf path;
	int fit;
};

/* Try a candidate, and keep it if it fits better than the best so far. */
static void try_path(struct search *search, const char *path) {
	struct stet_session *session =
		search->fit < 2 ? route(search->call, path, search->flags) : NULL;
	int fit = session ? path_fit(session, path, search->flags) : 0;
	if (fit <= search->fit)
		return;
	search->fit = fit;
	search->session = session;
	st_buf_clear(&search->path);
	st_buf_adds(&search->path, path);
}

/* Append a path without ".", "..", double and trailing slashes, ignoring symbolic links. */
static void add_lexical(struct st_buf *out, const char *path) {
	bool absolute = path[0] == '/';
	size_t start = out->len;
	st_buf_adds(out, absolute ? "/" : "");
	size_t base = out->len;
	while (*path) {
		size_t len = strcspn(path, "/");
		struct st_str part = st_strn(path, len);
		size_t end = out->len;
		while (end > base && out->ptr[end - 1] != '/')
			end--;
		bool up = st_str_eq(part, ST_STR(".."));
		bool climbs =
			up && !absolute &&
			(out->len == base || st_str_eq(st_strn(out->ptr + end, out->len - end), ST_STR("..")));
		if (up && !climbs)
			st_buf_truncate(out, end > base ? end - 1 : base);
		else if (len > 0 && !st_str_eq(part, ST_STR(".")))
			st_buf_addf(out, "%s%.*s", out->len > base ? "/" : "", (int)len, path);
		path += len + (path[len] == '/');
	}
	if (out->len == start)
		st_buf_addc(out, '.');
}

static void try_lexical(struct search *search, const char *path) {
	st_auto(st_buf) plain = ST_BUF_INIT;
	add_lexical(&plain, path);
	if (!plain.failed && strcmp(plain.ptr, path) != 0)
		try_path(search, plain.ptr);
}

/* Try a relative path from each root: with ".." it may lead from one workspace to another. */
static void try_from_roots(struct search *search, const char *path) {
	for (size_t i = 0; path[0] != '/' && i < search->call->session_count; i++) {
		st_auto(st_buf) joined = ST_BUF_INIT;
		st_buf_addf(&joined, "%s/%s", search->call->sessions[i]->ws->root.path, path);
		if (!joined.failed)
			try_lexical(search, joined.ptr);
	}
}

/* Append a path with symbolic links resolved; with ST_LOCATE_LINK, except in its last component. */
static void add_real(struct st_buf *out, char *path, unsigned flags) {
	char real[PATH_MAX];
	char *name = flags & ST_LOCATE_LINK ? strrchr(path, '/') : NULL;
	if (name)
		*name++ = '\0';
	if (!realpath(*path ? path : "/", real))
		return;
	st_buf_adds(out, real);
	if (name)
		st_buf_addf(out, "%s%s", strcmp(real, "/") == 0 ? "" : "/", name);
}

/*
 * Try the path that realpath() gives. It is only a candidate: its workspace
 * resolves it again from its own root.
 */
static void try_real(struct search *search, const char *path) {
	for (size_t i = 0; i < search->call->session_count; i++) {
		st_auto(st_buf) joined = ST_BUF_INIT, real = ST_BUF_INIT;
		if (path[0] != '/')
			st_buf_addf(&joined, "%s/", search->call->sessions[i]->ws->root.path);
		st_buf_adds(&joined, path);
		if (!joined.failed)
			add_real(&real, joined.ptr, search->flags);
		if (real.len > 0 && !real.failed)
			try_path(search, real.ptr);
	}
}

static bool is_ascii(const char *text) {
	while (*text && (signed char)*text > 0)
		text++;
	return *text == '\0';
}

/* What it takes to compare two names, in the units of st_cancel_check(). */
enum { TWIN_WORK = 4096 };

/* The entry whose name differs only in the encoding of its accents; NULL if none or several do. */
static const char *find_twin(const struct st_listing *listing, struct st_str name) {
	const char *twin = NULL;
	size_t count = 0;
	st_auto(st_buf) wanted = ST_BUF_INIT;
	st_unicode_decompose(&wanted, name);
	for (size_t i = 0; i < listing->count; i++) {
		st_auto(st_buf) other = ST_BUF_INIT;
		const char *entry = listing->entries[i].name;
		if (st_cancel_check(TWIN_WORK, NULL) < 0)
			return NULL;
		if (is_ascii(entry))
			continue;
		st_unicode_decompose(&other, st_str(entry));
		if (!st_str_eq(st_buf_str(&other), st_buf_str(&wanted)))
			continue;
		twin = entry;
		count++;
	}
	return count == 1 ? twin : NULL;
}

/* Append a component to a path in a workspace, in the encoding of the existing entry. */
static void add_component(const struct st_root *root, struct st_buf *path, struct st_str name) {
	st_auto(st_dir) dir = ST_DIR_INIT;
	st_auto(st_listing) listing = {0};
	st_auto(st_place) place = ST_PLACE_INIT;
	size_t start = path->len;
	st_buf_add(path, name);
	if (path->failed || is_ascii(path->ptr + start) ||
	    (st_root_locate_as(root, st_buf_str(path), ST_LOCATE_LINK, &place, NULL) == 0 &&
	     place.exists))
		return;
	struct st_str above = st_strn(path->ptr, start);
	if (st_dir_open(root, start > 0 ? above : ST_STR("."), &dir, NULL) < 0 ||
	    st_dir_list(&dir, &listing, NULL) < 0)
		return;
	const char *twin = find_twin(&listing, name);
	if (!twin)
		return;
	st_buf_truncate(path, start);
	st_buf_adds(path, twin);
}

/* Names with composed and with decomposed accents look the same, so try the other encoding. */
static void try_twins(struct search *search, const struct stet_session *session, const char *path) {
	st_auto(st_buf) other = ST_BUF_INIT;
	for (const char *left = path; *left;) {
		size_t len = strcspn(left, "/");
		if (len > 0)
			add_component(&session->ws->root, &other, st_strn(left, len));
		left += len;
		if (*left == '/') {
			st_buf_addc(&other, '/');
			left++;
		}
	}
	if (!other.failed && other.len > 0 && strcmp(other.ptr, path) != 0)
		try_path(search, other.ptr);
}

/* Whether a path looks like "C:\Users\a.txt". No caller wants a new file of that name here. */
static bool is_windows(const char *path) {
	bool drive = (path[0] >= 'a' && path[0] <= 'z') || (path[0] >= 'A' && path[0] <= 'Z');
	return drive && path[1] == ':' && (path[2] == '\\' || path[2] == '/' || path[2] == '\0');
}

/* Whether a path needs no search, as most do not: no dots, no empty components, only ASCII. */
static bool is_plain_path(const char *path) {
	if (!is_ascii(path) || is_windows(path))
		return false;
	for (const char *left = path + (path[0] == '/');; left++) {
		size_t len = strcspn(left, "/");
		struct st_str part = st_strn(left, len);
		if (len == 0 || st_str_eq(part, ST_STR(".")) || st_str_eq(part, ST_STR("..")))
			return false;
		left += len;
		if (*left == '\0')
			return true;
	}
}

static void search_elsewhere(struct search *search, const char *path) {
	struct stet_session *likely = search->session ? search->session : search->call->sessions[0];
	bool several = search->call->session_count > 1;
	try_lexical(search, path);
	if (search->fit < 2 && !is_ascii(path))
		try_twins(search, likely, path);
	if (search->fit < 2 && several)
		try_from_roots(search, path);
	if (search->fit < 2 && several)
		try_real(search, path);
}

/* Find the path that the caller means, and set call->session. */
static const char *resolve(struct st_call *call, const char *path, unsigned flags,
                           struct stet_error *err) {
	struct search search = {.call = call, .flags = flags};
	assert(err && call->session_count > 0);
	if (call->session_count < 2 && is_plain_path(path))
		return path;
	try_path(&search, path);
	if (search.fit < 2)
		search_elsewhere(&search, path);
	if (search.fit < 2 && is_windows(path)) {
		st_buf_release(&search.path);
		st_fail(err, STET_E_INVALID,
		        "%s is a Windows path, which does not exist on this system. Give a path below %s.",
		        st_quoted(path), st_quoted(call->sessions[0]->ws->root.path));
		return NULL;
	}
	/* If no workspace fits, the likeliest one will explain why. */
	struct stet_session *likely = path[0] == '/' ? innermost(call, path) : NULL;
	call->session = search.session ? search.session : likely ? likely : call->sessions[0];
	if (search.fit > 0 && strcmp(search.path.ptr, path) != 0)
		path = yyjson_mut_get_str(st_json_text(call->doc, st_buf_str(&search.path)));
	st_buf_release(&search.path);
	if (!path)
		st_fail_nomem(err);
	return path;
}

/* ---- arguments ---- */

/* A path as the caller sent it, and its name in messages: that of an argument, or a few words. */
struct sent_path {
	struct st_str text;
	const char *what;
	bool is_argument;
};

static const char *fail_sent_path(const struct st_call *call, const struct sent_path *path,
                                  const char *problem, struct stet_error *err) {
	if (path->is_argument)
		st_fail(err, STET_E_INVALID, "The argument \"%s\" of %s %s", path->what, call->tool->name,
		        problem);
	else
		st_fail(err, STET_E_INVALID, "%s of %s %s", path->what, call->tool->name, problem);
	return NULL;
}

/* Check a path and expand "~" and file:// in it. The result lives as long as the call's document. */
static const char *read_path(struct st_call *call, const struct sent_path *sent,
                             struct stet_error *err) {
	st_auto(st_buf) plain = ST_BUF_INIT;
	struct st_str path = sent->text;
	if (path.len == 0)
		return fail_sent_path(call, sent, "is empty. Name a file in the workspace.", err);
	if (strlen(path.ptr) != path.len)
		return fail_sent_path(call, sent, "contains a NUL character. Check the path.", err);
	if (path.len >= PATH_MAX) {
		st_fail(err, STET_E_INVALID, "The path is %zu bytes long; %d is the limit.", path.len,
		        PATH_MAX - 1);
		return NULL;
	}
	if (expand_spelling(path, &plain, err) < 0)
		return NULL;
	const char *typed =
		yyjson_mut_get_str(st_json_text(call->doc, plain.len > 0 ? st_buf_str(&plain) : path));
	if (!typed)
		st_fail_nomem(err);
	return typed;
}

static const char *find_argument(struct st_call *call, const char *name, unsigned flags,
                                 struct stet_error *err) {
	const struct sent_path sent = {st_arg_str(call, name), name, true};
	const char *path = read_path(call, &sent, err);
	if (path)
		path = resolve(call, path, flags, err);
	call->path = path;
	return path;
}

const char *st_call_path(struct st_call *call, const char *name, struct stet_error *err) {
	return find_argument(call, name, 0, err);
}

const char *st_call_link(struct st_call *call, const char *name, struct stet_error *err) {
	return find_argument(call, name, ST_LOCATE_LINK, err);
}

const char *st_call_find(struct st_call *call, const char *what, struct st_str path,
                         struct stet_error *err) {
	const struct sent_path sent = {path, what, false};
	const char *typed = read_path(call, &sent, err);
	return typed ? resolve(call, typed, 0, err) : NULL;
}

const char *st_call_destination(struct st_call *call, struct stet_error *err) {
	struct stet_session *source = call->session;
	static const char name[] = "destination";
	const struct sent_path sent = {st_arg_str(call, name), name, true};
	const char *path = read_path(call, &sent, err);
	if (!path)
		return NULL;
	if (path[0] != '/' && path_fit(source, path, ST_LOCATE_LINK) > 0)
		return path;
	return resolve(call, path, ST_LOCATE_LINK, err);
}

void st_call_note_roots(struct st_call *call) {
	st_auto(st_buf) notice = ST_BUF_INIT;
	for (size_t i = 1; i < call->session_count; i++) {
		st_buf_adds(&notice,
		            i > 1 ? ", " : "This is about the first directory alone. Pass path for ");
		st_quote_name(&notice, st_str(call->sessions[i]->ws->root.path));
	}
	st_buf_adds(&notice, ".");
	if (call->session_count > 1 && !notice.failed)
		st_call_notice(call, notice.ptr);
}

const char *st_call_directory(struct st_call *call, struct stet_error *err) {
	struct st_str path = st_arg_str(call, "path");
	/* Some clients send "" for an argument that they leave out. */
	if (path.len > 0)
		return st_call_path(call, "path", err);
	st_call_note_roots(call);
	return ".";
}

/* ---- names that are almost right ---- */

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
