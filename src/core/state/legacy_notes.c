#include "core/state/legacy_notes.h"

#include "core/state/db_files.h"
#include "fs/file/file.h"
#include "fs/versions/state_dir.h"
#include "fs/path/sys.h"

static const char name[] = ST_LEGACY_NOTES_NAME;

/* 0.1.0 imported its notes before they grew larger, and held the lock for one write or transaction. */
enum { BYTES_MAX = 1 << 20, WAIT_MS = 1000 };

/* ---- the format ---- */

/* Numbers are in the byte order of the machine that wrote them. */
struct title {
	uint64_t magic;
	int64_t id;
};

#define MAGIC 0x3179616474657473u

enum {
	WROTE = 1 << 0,
	HAD = 1 << 1,
	HAS = 1 << 2,
	FOREIGN = 1 << 3,
	DIRECTORY = 1 << 4,
	RACY = 1 << 5,
	/* A second path and the name of a session follow. */
	MOVED = 1 << 6,
	NAMED = 1 << 7,
};

/* The path, the second path and the name follow, each with its NUL. */
struct entry {
	/* The checksum of all bytes after it, strings included. */
	uint64_t checksum;
	/* The size of the entry, strings included. */
	uint32_t size;
	uint32_t flags;
	int64_t at, undoes;
	struct st_hash before, after;
	uint64_t dev, ino, bytes;
	int64_t mtime_ns, ctime_ns;
};

/* Take the next string after an entry; NULL if it is not terminated. */
static const char *next_text(struct st_str *rest) {
	const char *text = rest->ptr, *end = memchr(text, '\0', rest->len);
	if (!end)
		return NULL;
	*rest = st_str_slice(*rest, (size_t)(end + 1 - text), rest->len);
	return text;
}

static enum st_event_kind kind_of(uint32_t flags) {
	if (flags & DIRECTORY)
		return flags & MOVED ? ST_EVENT_DIR_MOVED : ST_EVENT_DIR_REMOVED;
	if (flags & WROTE)
		return flags & HAS ? ST_EVENT_WRITTEN : ST_EVENT_REMOVED;
	return ST_EVENT_READ;
}

static struct st_file_event event_of(const struct entry *entry) {
	return (struct st_file_event){
		.kind = kind_of(entry->flags),
		.before = {.exists = entry->flags & HAD, .hash = entry->before},
		.after = {.exists = entry->flags & HAS,
	              .hash = entry->after,
	              .stamp = {.dev = entry->dev,
	                        .ino = entry->ino,
	                        .size = entry->bytes,
	                        .mtime_ns = entry->mtime_ns,
	                        .ctime_ns = entry->ctime_ns,
	                        .racy = entry->flags & RACY}},
		.at = entry->at,
		.undoes = entry->undoes,
		.foreign = entry->flags & FOREIGN,
	};
}

/* Read the entry at the beginning of bytes. Returns its size, or 0 if it is incomplete or damaged. */
static size_t read_entry(struct st_str bytes, struct st_file_event *event) {
	struct entry entry;
	if (bytes.len < sizeof entry)
		return 0;
	memcpy(&entry, bytes.ptr, sizeof entry);
	if (entry.size < sizeof entry || entry.size > bytes.len)
		return 0;
	struct st_str summed = st_str_slice(bytes, sizeof entry.checksum, entry.size);
	if (st_str_sum(ST_STR_SUM, summed) != entry.checksum)
		return 0;
	struct st_str rest = st_str_slice(bytes, sizeof entry, entry.size);
	bool moved = entry.flags & MOVED, named = entry.flags & NAMED;
	*event = event_of(&entry);
	event->path = next_text(&rest);
	event->moved_to = moved ? next_text(&rest) : NULL;
	event->who = named ? next_text(&rest) : NULL;
	bool whole =
		event->path && *event->path && (event->moved_to || !moved) && (event->who || !named);
	return whole ? entry.size : 0;
}

int st_legacy_notes_each(const struct st_legacy_notes *notes, int64_t stored,
                         st_legacy_note_fn *each, void *data, struct stet_error *err) {
	struct st_str all = st_buf_str(&notes->bytes);
	struct st_file_event event;
	size_t at = sizeof(struct title), size;
	int code = 0;
	while (code == 0 && at < all.len &&
	       (size = read_entry(st_str_slice(all, at, all.len), &event)) > 0) {
		at += size;
		if ((int64_t)at > stored)
			code = each(data, &event, err);
	}
	return code;
}

/* ---- the file ---- */

void st_legacy_notes_release(struct st_legacy_notes *notes) {
	st_close_at(&notes->fd);
	st_buf_release(&notes->bytes);
}

void st_legacy_notes_remove(struct st_legacy_notes *notes) {
	(void)st_retry(unlinkat(notes->dirfd, name, 0));
}

/* If the file cannot be renamed, it stays and is not read. */
static int set_notes_aside(struct st_legacy_notes *notes, const char *why) {
	if (st_db_set_aside(notes->dirfd, name, notes->aside, NULL) == 0)
		notes->why = why;
	return 0;
}

/* Whether the name still leads to the locked file. */
static bool is_still_named(const struct st_legacy_notes *notes, const struct stat *locked) {
	struct stat st;
	return st_retry(fstatat(notes->dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) == 0 &&
	       st.st_dev == locked->st_dev && st.st_ino == locked->st_ino;
}

static int read_notes(struct st_legacy_notes *notes, struct stet_error *err) {
	st_auto(st_file) file = ST_FILE_INIT;
	struct title title = {0};
	int code = st_file_fetch(notes->fd, name, BYTES_MAX, &file, err);
	if (code == STET_E_TOO_BIG)
		return set_notes_aside(notes, "is larger than stet made it");
	if (code < 0)
		return code;
	/* 0.1.0 empties the file once it has imported it. */
	if (file.bytes.len == 0) {
		st_legacy_notes_remove(notes);
		return 0;
	}
	if (file.bytes.len >= sizeof title)
		memcpy(&title, file.bytes.ptr, sizeof title);
	if (title.magic != MAGIC)
		return set_notes_aside(notes, "was not written by stet");
	notes->id = title.id;
	st_buf_move(&notes->bytes, &file.bytes);
	return 1;
}

int st_legacy_notes_open(struct st_legacy_notes *notes, int dirfd, struct stet_error *err) {
	struct stat st;
	notes->dirfd = dirfd;
	if (st_retry(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return 0;
	if (!st_db_file_is_own(&st))
		return set_notes_aside(notes, "is not a plain file of this user, or has another hard link");
	notes->fd = st_retry(openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	if (notes->fd < 0)
		return 0;
	int code = st_state_lock(notes->fd, WAIT_MS, "The daybook of stet 0.1.0", err);
	if (code < 0)
		return code;
	if (st_retry(fstat(notes->fd, &st)) < 0 || !is_still_named(notes, &st))
		return 0;
	return st_db_file_is_own(&st)
	           ? read_notes(notes, err)
	           : set_notes_aside(notes,
	                             "is not a plain file of this user, or has another hard link");
}
