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

/* In the table, blanks and the like are \ooo. */
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

static bool is_below(const char *path, const char *root) {
	size_t len = strlen(root);
	bool top = strcmp(root, "/") == 0;
	return top || (strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS ...", of which the number and the point count. */
static bool parse(char *line, uint64_t *id, char **point) {
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

/* The number that stands for the mounts at the root and below; whether the root's own is there. */
static bool take_print(const struct st_mounts *mounts, const struct st_root *root, uint64_t *print,
                       bool *there) {
	st_auto(st_buf) table = ST_BUF_INIT;
	*print = 0;
	*there = false;
	if (!read_table(&table))
		return false;
	char *rest = NULL;
	for (char *line = table.ptr; line && *line; line = rest) {
		uint64_t id;
		char *point;
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		if (!parse(line, &id, &point))
			continue;
		*there |= id == mounts->root_id;
		if (is_below(point, root->path))
			*print = (*print ^ id) * 1099511628211u;
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
	bool there;
	mounts->wake = st_retry(open(TABLE, O_RDONLY | O_CLOEXEC));
	mounts->table = st_retry(open(TABLE, O_RDONLY | O_CLOEXEC));
	mounts->root_id = mount_of(root->fd);
	if (!take_print(mounts, root, &mounts->print, &there) || !there)
		mounts->root_id = 0;
}

void st_mounts_release(struct st_mounts *mounts) {
	st_close_at(&mounts->wake);
	st_close_at(&mounts->table);
}

enum st_mounts_changed st_mounts_look(struct st_mounts *mounts, const struct st_root *root) {
	struct pollfd changed = {.fd = mounts->table, .events = POLLPRI};
	uint64_t print;
	bool there;
	if (mounts->table < 0 || poll(&changed, 1, 0) != 1 || !take_print(mounts, root, &print, &there))
		return ST_MOUNTS_SAME;
	if (mounts->root_id != 0 && !there)
		return ST_MOUNTS_GONE;
	bool same = print == mounts->print;
	mounts->print = print;
	return same ? ST_MOUNTS_SAME : ST_MOUNTS_OTHER;
}
