#include "core/places/checkout.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "fs/path/sys.h"
#include "fs/tree/gitdir.h"
#include "fs/versions/state_dir.h"

enum {
	CONFIG_MAX = 64 << 10,
	PACKED_REFS_MAX = 16 << 20,
	/* How many clones of clones to follow. */
	CLONES_MAX = 4,
	/* How many links between references to follow. */
	REFS_MAX = 5,
};

void st_checkout_release(struct st_checkout *checkout) {
	free(checkout->top);
	free(checkout->gitdir);
	free(checkout->common);
	free(checkout->prefix);
	free(checkout->repository);
	*checkout = (struct st_checkout){0};
}

/* Read a regular file, up to max bytes; false if it cannot be read, or is larger. Never blocks. */
static bool read_small(int dirfd, const char *path, size_t max, struct st_buf *out) {
	struct stat st;
	st_buf_clear(out);
	st_autofd fd = st_retry(openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0 || st_retry(fstat(fd, &st)) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)max ||
	    !st_buf_reserve(out, (size_t)st.st_size))
		return false;
	ssize_t got = st_retry(pread(fd, out->ptr, (size_t)st.st_size, 0));
	if (got < 0)
		return false;
	out->len = (size_t)got;
	out->ptr[out->len] = '\0';
	return true;
}

static int open_path(const char *path) {
	return st_retry(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* The absolute path of a descriptor; NULL if it has none any more. */
static char *path_of_fd(int fd) {
	char link[40], path[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t len = fd < 0 ? -1 : readlink(link, path, sizeof path - 1);
	return len > 0 && path[0] == '/' ? strndup(path, (size_t)len) : NULL;
}

/* ---- remotes ---- */

/* Append a host in lower case, without user and port. */
static void add_host(struct st_buf *out, struct st_str host) {
	const char *at = memrchr(host.ptr, '@', host.len);
	if (at)
		host = st_str_slice(host, (size_t)(at - host.ptr) + 1, host.len);
	/* An address of IPv6 is in brackets. */
	const char *from = *host.ptr == '[' ? memchr(host.ptr, ']', host.len) : host.ptr;
	const char *colon = from ? memchr(from, ':', (size_t)(host.ptr + host.len - from)) : NULL;
	if (colon)
		host.len = (size_t)(colon - host.ptr);
	for (size_t i = 0; i < host.len; i++)
		st_buf_addc(out, (char)tolower((unsigned char)host.ptr[i]));
}

/* Append a path without slashes around it and without ".git". */
static void add_repository_path(struct st_buf *out, struct st_str path) {
	while (path.len > 0 && path.ptr[0] == '/')
		path = st_str_slice(path, 1, path.len);
	while (path.len > 0 && path.ptr[path.len - 1] == '/')
		path.len--;
	if (path.len > 4 && st_str_ends(path, ST_STR(".git")))
		path.len -= 4;
	st_buf_addc(out, '/');
	st_buf_add(out, path);
}

static void add_host_and_path(struct st_buf *out, struct st_str host, struct st_str path) {
	if (host.len == 0 || path.len == 0)
		return;
	add_host(out, host);
	add_repository_path(out, path);
}

/* Whether a host ends in a port, or has none: if not, a password with a slash was cut there. */
static bool has_port_or_none(struct st_str host) {
	const char *at = memrchr(host.ptr, '@', host.len);
	if (at)
		host = st_str_slice(host, (size_t)(at - host.ptr) + 1, host.len);
	const char *colon = memrchr(host.ptr, ':', host.len);
	if (!colon || memchr(colon, ']', (size_t)(host.ptr + host.len - colon)))
		return true;
	for (const char *c = colon + 1; c < host.ptr + host.len; c++) {
		if (!isdigit((unsigned char)*c))
			return false;
	}
	return true;
}

/* Append host and path of what follows "://". What follows "?" or "#" can be a password. */
static void add_url(struct st_buf *out, struct st_str rest, bool http) {
	const char *end = rest.len ? memchr(rest.ptr, '/', rest.len) : NULL;
	size_t len = end ? (size_t)(end - rest.ptr) : 0;
	struct st_str host = st_strn(rest.ptr, len), path = st_str_slice(rest, len, rest.len);
	for (size_t i = 0; http && i < path.len; i++) {
		if (path.ptr[i] == '?' || path.ptr[i] == '#')
			path.len = i;
	}
	if (has_port_or_none(host))
		add_host_and_path(out, host, path);
}

void st_remote_normalize(struct st_str url, struct st_buf *out) {
	st_buf_clear(out);
	url = st_str_trim(url);
	const char *scheme = url.len ? memmem(url.ptr, url.len, "://", 3) : NULL;
	const char *colon = url.len ? memchr(url.ptr, ':', url.len) : NULL;
	const char *slash = url.len ? memchr(url.ptr, '/', url.len) : NULL;
	if (st_str_starts(url, ST_STR("file://")))
		url = st_str_slice(url, 7, url.len);
	else if (scheme) {
		add_url(out, st_str_slice(url, (size_t)(scheme - url.ptr) + 3, url.len),
		        st_str_starts(url, ST_STR("http")));
		return;
	} else if (colon && (!slash || colon < slash)) {
		size_t len = (size_t)(colon - url.ptr);
		add_host_and_path(out, st_strn(url.ptr, len), st_str_slice(url, len + 1, url.len));
		return;
	}
	if (url.len > 0 && url.ptr[0] == '/')
		st_buf_add(out, url);
}

/* Whether a line of git's configuration begins the section of a remote. */
static bool begins_remote(struct st_str line, bool *origin) {
	*origin = st_str_eq(line, ST_STR("[remote \"origin\"]"));
	return st_str_starts(line, ST_STR("[remote \""));
}

/* The value of "url = VALUE"; empty for any other line. */
static struct st_str url_of(struct st_str line) {
	if (!st_str_starts(line, ST_STR("url")))
		return st_str("");
	struct st_str rest = st_str_trim(st_str_slice(line, 3, line.len));
	if (rest.len == 0 || rest.ptr[0] != '=')
		return st_str("");
	rest = st_str_trim(st_str_slice(rest, 1, rest.len));
	if (rest.len >= 2 && rest.ptr[0] == '"' && rest.ptr[rest.len - 1] == '"')
		rest = st_str_slice(rest, 1, rest.len - 1);
	return rest;
}

/* Cut the first line off a text. */
static struct st_str next_line(struct st_str *text) {
	const char *end = memchr(text->ptr, '\n', text->len);
	size_t len = end ? (size_t)(end - text->ptr) : text->len;
	struct st_str line = st_strn(text->ptr, len);
	*text = st_str_slice(*text, end ? len + 1 : len, text->len);
	return line;
}

/* Find the address of "origin", or else of the first remote; empty for none. A view of the text. */
static struct st_str find_remote(struct st_str text) {
	struct st_str first = st_str("");
	bool remote = false, origin = false;
	while (text.len > 0) {
		struct st_str line = st_str_trim(next_line(&text));
		if (line.len > 0 && line.ptr[0] == '[')
			remote = begins_remote(line, &origin);
		struct st_str url = remote ? url_of(line) : st_str("");
		if (url.len > 0 && origin)
			return url;
		if (url.len > 0 && first.len == 0)
			first = url;
	}
	return first;
}

/* The common git directory of a path that a clone names: a checkout, or a bare repository. */
static int open_common(const char *path) {
	st_autofd dir = open_path(path);
	int gitdir = dir < 0 ? -1 : st_gitdir_open(dir);
	if (gitdir < 0 && dir >= 0 && faccessat(dir, "objects", F_OK, 0) == 0) {
		gitdir = dir;
		dir = -1;
	}
	return gitdir < 0 ? -1 : st_gitdir_common(gitdir);
}

/* The identity of a repository: the remote of its common git directory, or that of the clone's source. */
static char *name_repository(const char *common_path) {
	st_auto(st_buf) config = ST_BUF_INIT;
	st_auto(st_buf) remote = ST_BUF_INIT;
	char *name = strdup(common_path);
	for (int i = 0; name && i < CLONES_MAX; i++) {
		st_autofd common = open_path(name);
		if (common < 0 || !read_small(common, "config", CONFIG_MAX, &config))
			break;
		st_remote_normalize(find_remote(st_buf_str(&config)), &remote);
		if (remote.failed || remote.len == 0 || strlen(remote.ptr) != remote.len)
			break;
		st_autofd source = remote.ptr[0] == '/' ? open_common(remote.ptr) : -1;
		char *next = remote.ptr[0] == '/' ? path_of_fd(source) : strdup(remote.ptr);
		if (!next)
			break;
		free(name);
		name = next;
		if (remote.ptr[0] != '/')
			break;
	}
	return name;
}

/* ---- the checkout ---- */

/* Go up from a directory to the one that has ".git". Returns the git directory, or -1. */
static int find_gitdir(char *path) {
	for (;;) {
		st_autofd dir = open_path(*path ? path : "/");
		int gitdir = dir < 0 ? -1 : st_gitdir_open(dir);
		if (gitdir >= 0 || !*path)
			return gitdir;
		*strrchr(path, '/') = '\0';
	}
}

static char *prefix_of(const char *root, const char *top) {
	const char *rest = root + strlen(top);
	rest += *rest == '/';
	char *prefix = NULL;
	if (asprintf(&prefix, "%s%s", rest, *rest ? "/" : "") < 0)
		return NULL;
	return prefix;
}

int st_checkout_find(const char *root, struct st_checkout *checkout, struct stet_error *err) {
	*checkout = (struct st_checkout){0};
	if (root[0] != '/')
		return 0;
	char *top = strdup(strcmp(root, "/") == 0 ? "" : root);
	st_autofd gitdir = top ? find_gitdir(top) : -1;
	if (gitdir < 0) {
		int code = top ? 0 : st_fail_nomem(err);
		free(top);
		return code;
	}
	int copy = fcntl(gitdir, F_DUPFD_CLOEXEC, 0);
	st_autofd common = copy < 0 ? -1 : st_gitdir_common(copy);
	checkout->top = top;
	checkout->gitdir = path_of_fd(gitdir);
	checkout->common = path_of_fd(common);
	checkout->prefix = prefix_of(strcmp(root, "/") == 0 ? "" : root, top);
	checkout->repository = checkout->common ? name_repository(checkout->common) : NULL;
	if (checkout->gitdir && checkout->common && checkout->prefix && checkout->repository)
		return 1;
	st_checkout_release(checkout);
	return 0;
}

/* ---- HEAD ---- */

static bool is_oid(struct st_str text) {
	for (size_t i = 0; i < text.len; i++) {
		if (!isxdigit((unsigned char)text.ptr[i]))
			return false;
	}
	return text.len == 40 || text.len == 64;
}

/* Whether a reference is safe to use as a path below a git directory. */
static bool is_ref(struct st_str name) {
	return st_str_starts(name, ST_STR("refs/")) && name.len < 1000 &&
	       !memmem(name.ptr, name.len, "..", 2) && !memchr(name.ptr, '\0', name.len);
}

static void find_packed(int common, struct st_str ref, char commit[ST_OID_MAX + 1]) {
	st_auto(st_buf) text = ST_BUF_INIT;
	if (!read_small(common, "packed-refs", PACKED_REFS_MAX, &text))
		return;
	struct st_str rest = st_buf_str(&text);
	while (rest.len > 0) {
		struct st_str line = next_line(&rest);
		const char *space = memchr(line.ptr, ' ', line.len);
		if (!space || !st_str_ends(line, ref) || line.ptr + line.len - ref.len != space + 1)
			continue;
		struct st_str oid = st_strn(line.ptr, (size_t)(space - line.ptr));
		if (is_oid(oid))
			snprintf(commit, ST_OID_MAX + 1, "%.*s", (int)oid.len, oid.ptr);
		return;
	}
}

/* Read a reference of this checkout, or one that all checkouts share. */
static bool read_ref(int gitdir, int common, const char *name, struct st_buf *out) {
	return read_small(gitdir, name, 4096, out) || read_small(common, name, 4096, out);
}

static void set_branch(struct st_checkout_head *head, struct st_str ref) {
	static const char heads[] = "refs/heads/";
	if (*head->branch || !st_str_starts(ref, st_str(heads)))
		return;
	struct st_str name = st_str_slice(ref, sizeof heads - 1, ref.len);
	name.len = st_utf8_cut(name, sizeof head->branch - 1);
	snprintf(head->branch, sizeof head->branch, "%.*s", (int)name.len, name.ptr);
}

void st_checkout_head(const struct st_checkout *checkout, struct st_checkout_head *head) {
	st_auto(st_buf) text = ST_BUF_INIT;
	st_auto(st_buf) ref = ST_BUF_INIT;
	st_autofd gitdir = open_path(checkout->gitdir);
	st_autofd common = open_path(checkout->common);
	*head = (struct st_checkout_head){0};
	st_buf_adds(&ref, "HEAD");
	for (int i = 0; i < REFS_MAX && gitdir >= 0 && common >= 0 && !ref.failed; i++) {
		if (!read_ref(gitdir, common, st_buf_cstr(&ref), &text)) {
			find_packed(common, st_buf_str(&ref), head->commit);
			return;
		}
		struct st_str value = st_str_trim(st_buf_str(&text));
		if (is_oid(value)) {
			snprintf(head->commit, sizeof head->commit, "%.*s", (int)value.len, value.ptr);
			return;
		}
		if (!st_str_starts(value, ST_STR("ref:")))
			return;
		value = st_str_trim(st_str_slice(value, 4, value.len));
		if (!is_ref(value))
			return;
		set_branch(head, value);
		st_buf_clear(&ref);
		st_buf_add(&ref, value);
	}
}

int64_t st_checkout_moved_at(const struct st_checkout *checkout) {
	struct stat st;
	st_autofd gitdir = open_path(checkout->gitdir);
	if (gitdir < 0 || st_retry(fstatat(gitdir, "logs/HEAD", &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return 0;
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* ---- the machine ---- */

/* Link the complete file to its name, so that the first of several processes wins. */
static void make_id(int dir, const char *name) {
	unsigned char random[16];
	char text[33], temporary[40];
	if (st_retry(getrandom(random, sizeof random, 0)) != sizeof random)
		return;
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	snprintf(temporary, sizeof temporary, ".new-%.24s", text);
	st_autofd fd = st_retry(
		openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return;
	if (st_retry(write(fd, text, 32)) == 32)
		(void)st_retry(linkat(dir, temporary, dir, name, 0));
	(void)st_retry(unlinkat(dir, temporary, 0));
}

static bool read_id(int dir, const char *name, char id[33]) {
	st_autofd fd =
		st_retry(openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0 || st_retry(pread(fd, id, 32, 0)) != 32)
		return false;
	id[32] = '\0';
	return strspn(id, "0123456789abcdef") == 32;
}

bool st_machine_id(char id[33]) {
	char name[96] = "machine", host[65] = "";
	st_autofd dir = st_user_state_open("places");
	if (dir < 0)
		return false;
	if (st_state_is_remote(dir) && gethostname(host, sizeof host - 1) == 0 && !strchr(host, '/'))
		snprintf(name, sizeof name, "machine-%.64s", host);
	if (read_id(dir, name, id))
		return true;
	make_id(dir, name);
	return read_id(dir, name, id);
}
