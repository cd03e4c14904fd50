#include "fs/tree/gitindex.h"

#include <stdint.h>

#include "fs/tree/gitdir.h"
#include "fs/path/sys.h"

/*
 * The format is git's Documentation/gitformat-index: a 12 byte header, then
 * entries sorted by path. An entry is stat data (40 bytes), an object id (20
 * bytes, or 32 in SHA-256 repositories), flags (2 bytes, 4 if extended) with
 * the length of the path, and the path. Up to version 3 the path is whole and
 * the entry padded with NULs to a multiple of eight; in version 4 it shares a
 * prefix with the one before. Extensions follow, and a checksum as long as an
 * object id. The index does not say which of the two lengths it uses, so try
 * both: with the wrong one the entries do not parse.
 */
enum { HEADER = 12, STAT_DATA = 40, EXTENDED = 0x4000, LENGTH = 0x0FFF, INDEX_MAX = 256 << 20 };

struct reader {
	struct st_str bytes;
	size_t at;
	unsigned version;
	size_t id_size;
	struct st_buf path;
};

static uint32_t big_endian(const char *at, size_t size) {
	uint32_t value = 0;
	for (size_t i = 0; i < size; i++)
		value = value << 8 | (unsigned char)at[i];
	return value;
}

/* Version 4: how many bytes of the last path to drop, in git's offset encoding. */
static bool read_strip(struct reader *reader, size_t *strip) {
	size_t value = 0;
	for (int i = 0; i < 5 && reader->at < reader->bytes.len; i++) {
		unsigned char byte = (unsigned char)reader->bytes.ptr[reader->at++];
		value = value << 7 | (byte & 0x7F);
		if (!(byte & 0x80)) {
			*strip = value;
			return true;
		}
		value++;
	}
	return false;
}

/* Read the next entry's path into reader->path; false if the entry is malformed. */
static bool read_entry(struct reader *reader) {
	size_t start = reader->at, fixed = STAT_DATA + reader->id_size + 2;
	if (start > reader->bytes.len || reader->bytes.len - start < fixed)
		return false;
	reader->at += fixed;
	uint32_t flags = big_endian(reader->bytes.ptr + reader->at - 2, 2);
	if (flags & EXTENDED && reader->version >= 3)
		reader->at += 2;
	if (reader->at >= reader->bytes.len)
		return false;

	size_t strip = reader->path.len;
	if (reader->version == 4 && !read_strip(reader, &strip))
		return false;
	const char *from = reader->bytes.ptr + reader->at;
	const char *end = memchr(from, '\0', reader->bytes.len - reader->at);
	if (!end || end == from || strip > reader->path.len)
		return false;
	if (reader->path.ptr)
		st_buf_truncate(&reader->path, reader->path.len - strip);
	st_buf_add(&reader->path, st_strn(from, (size_t)(end - from)));
	reader->at += (size_t)(end - from) + 1;
	if (reader->version < 4)
		reader->at = start + ((reader->at - 1 - start) / 8 + 1) * 8;
	size_t len = reader->path.len < LENGTH ? reader->path.len : LENGTH;
	return reader->path.failed || (flags & LENGTH) == len;
}

/* False if the extensions are malformed, or the index is split and holds only some entries. */
static bool read_extensions(struct reader *reader) {
	enum { SIGNATURE = 4, SIZE = 4 };
	struct st_str bytes = reader->bytes;
	if (reader->at > bytes.len || bytes.len - reader->at < reader->id_size)
		return false;
	bytes.len -= reader->id_size;
	while (bytes.len - reader->at >= SIGNATURE + SIZE) {
		const char *at = bytes.ptr + reader->at;
		size_t size = big_endian(at + SIGNATURE, SIZE);
		reader->at += SIGNATURE + SIZE;
		if (memcmp(at, "link", SIGNATURE) == 0 || size > bytes.len - reader->at)
			return false;
		reader->at += size;
	}
	return reader->at == bytes.len;
}

/* Returns like scan_index(); a sparse entry "dir/" stands for all files below dir: unknown. */
static int lies_below(struct st_str path, struct st_str dir) {
	if (st_str_starts(path, dir))
		return path.len == dir.len || path.ptr[dir.len] == '/';
	return st_str_ends(path, ST_STR("/")) && st_str_starts(dir, path) ? -1 : 0;
}

/* Returns 1 if an entry lies below dir, 0 if none does, -1 if the index does not parse, or NOMEM. */
static int scan_index(struct st_str bytes, size_t id_size, struct st_str dir) {
	struct reader reader = {bytes, HEADER, big_endian(bytes.ptr + 4, 4), id_size, ST_BUF_INIT};
	uint32_t count = big_endian(bytes.ptr + 8, 4);
	int found = reader.version < 2 || reader.version > 4 ? -1 : 0;
	for (uint32_t i = 0; i < count && found == 0; i++) {
		if (!read_entry(&reader))
			found = -1;
		else
			found = lies_below(st_buf_str(&reader.path), dir);
	}
	if (found == 0 && !read_extensions(&reader))
		found = -1;
	if (reader.path.failed)
		found = STET_E_NOMEM;
	st_buf_release(&reader.path);
	return found;
}

static int read_index(int fd, struct st_buf *bytes, struct stet_error *err) {
	for (;;) {
		if (!st_buf_reserve(bytes, 1 << 20))
			return st_fail_nomem(err);
		ssize_t got = st_retry(read(fd, bytes->ptr + bytes->len, 1 << 20));
		if (got < 0)
			return st_fail_errno(err, errno, "Cannot read git's index");
		if (got == 0)
			return 0;
		st_buf_truncate(bytes, bytes->len + (size_t)got);
		if (bytes->len > INDEX_MAX)
			return st_fail(err, STET_E_TOO_BIG, "Git's index has more than %d bytes.", INDEX_MAX);
	}
}

/* Whether the index in a git directory lists a path below dir. */
static int index_has(int gitdir, struct st_str dir, struct stet_error *err) {
	st_autofd fd = st_retry(openat(gitdir, "index", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return st_fail_errno(err, errno, "Cannot open git's index");
	st_auto(st_buf) bytes = ST_BUF_INIT;
	int code = read_index(fd, &bytes, err);
	if (code < 0)
		return code;
	struct st_str text = st_buf_str(&bytes);
	int found = -1;
	if (text.len >= HEADER && st_str_starts(text, ST_STR("DIRC")))
		found = scan_index(text, 20, dir);
	if (found == -1 && text.len >= HEADER)
		found = scan_index(text, 32, dir);
	if (found == STET_E_NOMEM)
		return st_fail_nomem(err);
	if (found < 0)
		return st_fail(err, STET_E_INVALID,
		               "Git's index is damaged, or split, or of an unknown kind.");
	return found;
}

/* The same for a working tree, if this directory is the top of one. */
static int worktree_has(int top, struct st_str dir, struct stet_error *err) {
	st_autofd gitdir = st_gitdir_open(top);
	if (gitdir >= 0)
		return index_has(gitdir, dir, err);
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	return st_fail_errno(err, errno, "Cannot open .git");
}

/* The same for the directory above the root whose path is the first len bytes of the root's. */
static int ancestor_has(const struct st_root *root, size_t len, const char *dir,
                        struct stet_error *err) {
	st_auto(st_buf) top = ST_BUF_INIT, inside = ST_BUF_INIT;
	st_buf_add(&top, len > 0 ? st_strn(root->path, len) : ST_STR("/"));
	st_buf_addf(&inside, "%s/%s", root->path + len + 1, dir);
	if (top.failed || inside.failed)
		return st_fail_nomem(err);
	st_autofd fd = st_retry(open(top.ptr, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (fd >= 0)
		return worktree_has(fd, st_buf_str(&inside), err);
	/* git cannot reach this directory either. */
	if (errno == EACCES || errno == ENOENT || errno == ENOTDIR)
		return 0;
	return st_fail_errno(err, errno, "Cannot open %s", st_quoted(top.ptr));
}

int st_gitindex_has(const struct st_root *root, const char *dir, struct stet_error *err) {
	int found = worktree_has(root->fd, st_str(dir), err);
	size_t len = strlen(root->path);
	while (found == 0 && len > 1) {
		do
			len--;
		while (root->path[len] != '/');
		found = ancestor_has(root, len, dir, err);
	}
	return found;
}
