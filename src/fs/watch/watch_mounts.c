#include "fs/watch/watch_mounts.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/buf.h"
#include "fs/path/sys.h"

#define TABLE "/proc/self/mountinfo"

/* The table writes blanks and some other characters as \ooo. */
static void unescape(char *text) {
	char *out = text;
	for (const char *at = text; *at; at++) {
		unsigned code;
		if (*at == '\\' && sscanf(at + 1, "%3o", &code) == 1) {
			*out++ = (char)code;
			at += 3;
		} else {
			*out++ = *at;
		}
	}
	*out = '\0';
}

static bool is_mounted_below(const char *path, const char *root) {
	size_t len = strlen(root);
	bool top = strcmp(root, "/") == 0;
	return top || (strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

/* Get ID and POINT from a line "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS ...". */
static bool parse_mount(char *line, uint64_t *id, char **point) {
	int start = 0, end = 0;
	if (sscanf(line, "%" SCNu64 " %*s %*s %*s %n%*s%n", id, &start, &end) != 1 || end == 0)
		return false;
	line[end] = '\0';
	*point = line + start;
	unescape(*point);
	return true;
}

static bool read_table(struct st_buf *out) {
	st_autofd fd = st_retry(open(TABLE, O_RDONLY | O_CLOEXEC));
	for (;;) {
		if (fd < 0 || !st_buf_reserve(out, 4096))
			return false;
		ssize_t len = st_retry(read(fd, out->ptr + out->len, 4096));
		if (len <= 0)
			return len == 0;
		out->len += (size_t)len;
		out->ptr[out->len] = '\0';
	}
}

/* Compute the fingerprint of the mounts at and below the root, and look for the root's own. */
static bool read_mounts(const struct st_mounts *mounts, const struct st_root *root,
                        uint64_t *fingerprint, bool *found) {
	st_auto(st_buf) table = ST_BUF_INIT;
	*fingerprint = 0;
	*found = false;
	if (!read_table(&table))
		return false;
	char *rest = NULL;
	for (char *line = table.ptr; line && *line; line = rest) {
		uint64_t id;
		char *point;
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		if (!parse_mount(line, &id, &point))
			continue;
		*found |= id == mounts->root_id;
		if (is_mounted_below(point, root->path))
			*fingerprint = (*fingerprint ^ id) * 1099511628211u;
	}
	return true;
}

static uint64_t mount_of(int fd) {
	struct statx st;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 || !(st.stx_mask & STATX_MNT_ID))
		return 0;
	return st.stx_mnt_id;
}

void st_mounts_open(struct st_mounts *mounts, const struct st_root *root) {
	bool found;
	mounts->wake = st_retry(open(TABLE, O_RDONLY | O_CLOEXEC));
	mounts->table = st_retry(open(TABLE, O_RDONLY | O_CLOEXEC));
	mounts->root_id = mount_of(root->fd);
	if (!read_mounts(mounts, root, &mounts->fingerprint, &found) || !found)
		mounts->root_id = 0;
}

void st_mounts_release(struct st_mounts *mounts) {
	st_close_at(&mounts->wake);
	st_close_at(&mounts->table);
}

enum st_mounts_changed st_mounts_check(struct st_mounts *mounts, const struct st_root *root) {
	struct pollfd changed = {.fd = mounts->table, .events = POLLPRI};
	uint64_t fingerprint;
	bool found;
	if (mounts->table < 0 || poll(&changed, 1, 0) != 1 ||
	    !read_mounts(mounts, root, &fingerprint, &found))
		return ST_MOUNTS_SAME;
	if (mounts->root_id != 0 && !found)
		return ST_MOUNTS_GONE;
	bool same = fingerprint == mounts->fingerprint;
	mounts->fingerprint = fingerprint;
	return same ? ST_MOUNTS_SAME : ST_MOUNTS_OTHER;
}
