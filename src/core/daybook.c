#include "core/daybook.h"

#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>

#include "fs/file.h"
#include "fs/state.h"
#include "fs/sys.h"

/* ---- the file ---- */

/* Numbers are as the machine has them: it is read where it was written, or not at all. */
struct title {
	uint64_t magic;
	int64_t id;
};

#define MAGIC 0x3179616474657473u

void st_daybook_open(struct st_daybook *daybook, const struct st_root *root, const char *state_dir,
                     int state_fd) {
	struct stat st;
	st_daybook_release(daybook);
	st_autofd fd = st_retry(openat(state_fd, ST_DAYBOOK_NAME,
	                               O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
	if (fd < 0 || st_retry(fstat(fd, &st)) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return;
	*daybook = (struct st_daybook){
		.fd = fd,
		.root = root,
		.state_dir = state_dir,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.pid = getpid(),
	};
	fd = -1;
}

void st_daybook_release(struct st_daybook *daybook) {
	st_close_at(&daybook->fd);
}

/* The file, if it is open in this process and still the one of its path. */
static bool find(const struct st_daybook *daybook, struct stat *st) {
	char path[300];
	if (daybook->fd < 0 || daybook->pid != getpid())
		return false;
	snprintf(path, sizeof path, "%s/" ST_DAYBOOK_NAME, daybook->state_dir);
	return st_retry(fstatat(daybook->root->fd, path, st, AT_SYMLINK_NOFOLLOW)) == 0 &&
	       st->st_dev == daybook->dev && st->st_ino == daybook->ino;
}

bool st_daybook_is_in_place(const struct st_daybook *daybook) {
	struct stat st;
	return find(daybook, &st);
}

bool st_daybook_has_entries(const struct st_daybook *daybook) {
	struct stat st;
	return daybook->fd >= 0 && st_retry(fstat(daybook->fd, &st)) == 0 && st.st_size > 0;
}

static void unlock(const struct st_daybook *daybook) {
	(void)flock(daybook->fd, LOCK_UN);
}

/*
 * A file with another name may be somebody else's, or a copy by links: it is
 * read, but not written. Once nothing in it is to be posted it leaves its
 * place, and whoever comes next makes another.
 */
static bool has_other_names(const struct stat *st) {
	return st->st_nlink != 1;
}

static void leave_place(const struct st_daybook *daybook) {
	char path[300];
	snprintf(path, sizeof path, "%s/" ST_DAYBOOK_NAME, daybook->state_dir);
	(void)unlinkat(daybook->root->fd, path, 0);
}

/* ---- entries ---- */

enum {
	WROTE = 1 << 0,
	HAD = 1 << 1,
	HAS = 1 << 2,
	FOREIGN = 1 << 3,
	BELOW = 1 << 4,
	RACY = 1 << 5,
	/* There is another path, and a name of a session. */
	TO = 1 << 6,
	NAMED = 1 << 7,
};

/* The strings follow, each with its NUL: the path, to and the session. */
struct entry {
	/* Of all that follows. */
	uint64_t checksum;
	/* With the strings. */
	uint32_t size;
	uint32_t flags;
	int64_t at, undoes;
	struct st_hash before, after;
	uint64_t dev, ino, bytes;
	int64_t mtime_ns, ctime_ns;
};

static uint32_t flags_of(const struct st_deed *deed, const char *session) {
	return (deed->wrote ? WROTE : 0) | (deed->had ? HAD : 0) | (deed->has ? HAS : 0) |
	       (deed->foreign ? FOREIGN : 0) | (deed->below ? BELOW : 0) |
	       (deed->stamp.racy ? RACY : 0) | (deed->to ? TO : 0) | (session ? NAMED : 0);
}

static struct st_str with_nul(const char *text) {
	return text ? st_strn(text, strlen(text) + 1) : st_strn("", 0);
}

void st_daybook_write(struct st_buf *out, const struct st_deed *deed, const char *session) {
	struct st_str texts[] = {with_nul(deed->path), with_nul(deed->to), with_nul(session)};
	struct entry entry = {
		.size = (uint32_t)(sizeof entry + texts[0].len + texts[1].len + texts[2].len),
		.flags = flags_of(deed, session),
		.at = deed->at,
		.undoes = deed->undoes,
		.before = deed->before,
		.after = deed->after,
		.dev = deed->stamp.dev,
		.ino = deed->stamp.ino,
		.bytes = deed->stamp.size,
		.mtime_ns = deed->stamp.mtime_ns,
		.ctime_ns = deed->stamp.ctime_ns,
	};
	size_t start = out->len, begin = start + sizeof entry.checksum;
	st_buf_add(out, st_strn((const char *)&entry, sizeof entry));
	for (size_t i = 0; i < 3; i++)
		st_buf_add(out, texts[i]);
	if (out->failed)
		return;
	entry.checksum = st_str_sum(ST_STR_SUM, st_strn(out->ptr + begin, out->len - begin));
	memcpy(out->ptr + start, &entry.checksum, sizeof entry.checksum);
}

/* The next of the strings behind an entry; NULL if there is none. */
static const char *next_text(struct st_str *rest) {
	const char *text = rest->ptr, *end = memchr(text, '\0', rest->len);
	if (!end)
		return NULL;
	rest->len -= (size_t)(end + 1 - text);
	rest->ptr = end + 1;
	return text;
}

/* The entry at the beginning of bytes: its size, or 0 if there is no whole one. */
static size_t read_entry(struct st_str bytes, struct st_deed *deed, const char **session) {
	struct entry entry;
	if (bytes.len < sizeof entry)
		return 0;
	memcpy(&entry, bytes.ptr, sizeof entry);
	if (entry.size < sizeof entry || entry.size > bytes.len)
		return 0;
	size_t begin = sizeof entry.checksum;
	if (st_str_sum(ST_STR_SUM, st_strn(bytes.ptr + begin, entry.size - begin)) != entry.checksum)
		return 0;
	struct st_str rest = st_strn(bytes.ptr + sizeof entry, entry.size - sizeof entry);
	*deed = (struct st_deed){
		.path = next_text(&rest),
		.wrote = entry.flags & WROTE,
		.had = entry.flags & HAD,
		.has = entry.flags & HAS,
		.before = entry.before,
		.after = entry.after,
		.foreign = entry.flags & FOREIGN,
		.stamp =
			{
				.dev = entry.dev,
				.ino = entry.ino,
				.size = entry.bytes,
				.mtime_ns = entry.mtime_ns,
				.ctime_ns = entry.ctime_ns,
				.racy = entry.flags & RACY,
			},
		.at = entry.at,
		.undoes = entry.undoes,
		.below = entry.flags & BELOW,
	};
	deed->to = entry.flags & TO ? next_text(&rest) : NULL;
	*session = entry.flags & NAMED ? next_text(&rest) : NULL;
	bool whole = deed->path && *deed->path && (deed->to || !(entry.flags & TO)) &&
	             (*session || !(entry.flags & NAMED));
	return whole ? entry.size : 0;
}

/* ---- adding ---- */

static bool write_at(int fd, struct st_str bytes, off_t at) {
	if (st_retry(pwrite(fd, bytes.ptr, bytes.len, at)) == (ssize_t)bytes.len)
		return true;
	/* A part of it would be an entry that was cut off: the next to post it drops that. */
	(void)st_retry(ftruncate(fd, at));
	return false;
}

static bool begin_another(struct st_daybook *daybook) {
	struct title title = {.magic = MAGIC};
	while (title.id == 0) {
		if (st_retry(getrandom(&title.id, sizeof title.id, 0)) < 0)
			return false;
	}
	daybook->id = title.id;
	daybook->size = sizeof title;
	return write_at(daybook->fd, st_strn((const char *)&title, sizeof title), 0);
}

static bool is_as_left(const struct st_daybook *daybook, off_t size) {
	struct title title;
	return size == daybook->size &&
	       st_retry(pread(daybook->fd, &title, sizeof title, 0)) == sizeof title &&
	       title.magic == MAGIC && title.id == daybook->id;
}

static bool add(struct st_daybook *daybook, struct st_str entries) {
	struct stat st;
	if (!find(daybook, &st))
		return false;
	if (has_other_names(&st)) {
		if (st.st_size == 0)
			leave_place(daybook);
		return false;
	}
	if (!(st.st_size == 0 ? begin_another(daybook) : is_as_left(daybook, st.st_size)) ||
	    daybook->size + (off_t)entries.len > ST_DAYBOOK_MAX ||
	    !write_at(daybook->fd, entries, daybook->size))
		return false;
	daybook->size += (off_t)entries.len;
	return true;
}

bool st_daybook_add(struct st_daybook *daybook, struct st_str entries) {
	/* The lock of a forked child is its parent's, who may be at work. */
	if (daybook->fd < 0 || daybook->pid != getpid() || flock(daybook->fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	bool added = add(daybook, entries);
	unlock(daybook);
	return added;
}

/* ---- posting ---- */

void st_daybook_page_release(struct st_daybook_page *page) {
	st_buf_release(&page->bytes);
}

int st_daybook_begin(struct st_daybook *daybook, int wait_ms, struct st_daybook_page *page,
                     struct stet_error *err) {
	st_auto(st_file) file = ST_FILE_INIT;
	struct title title;
	int code = st_state_lock(daybook->fd, wait_ms, "The daybook", err);
	if (code < 0)
		return code;
	if (!st_daybook_is_in_place(daybook)) {
		unlock(daybook);
		return 1;
	}
	code = st_file_fetch(daybook->fd, ST_DAYBOOK_NAME, ST_DAYBOOK_MAX, &file, err);
	/* Nobody of us makes it so large. */
	if (code < 0 && code != STET_E_TOO_BIG) {
		unlock(daybook);
		return code;
	}
	st_buf_move(&page->bytes, &file.bytes);
	page->id = 0;
	if (page->bytes.len >= sizeof title) {
		memcpy(&title, page->bytes.ptr, sizeof title);
		page->id = title.magic == MAGIC ? title.id : 0;
	}
	return 0;
}

int st_daybook_each(const struct st_daybook_page *page, int64_t done, st_daybook_fn *each,
                    void *data, struct stet_error *err) {
	struct st_deed deed;
	const char *session;
	size_t at = sizeof(struct title), size;
	int code = 0;
	while (page->id && code == 0 && at < page->bytes.len &&
	       (size = read_entry(st_strn(page->bytes.ptr + at, page->bytes.len - at), &deed,
	                          &session)) > 0) {
		at += size;
		if ((int64_t)at > done)
			code = each(data, &deed, session, err);
	}
	return code;
}

void st_daybook_end(struct st_daybook *daybook, bool posted) {
	struct stat st;
	bool done = posted && find(daybook, &st);
	if (done && has_other_names(&st))
		leave_place(daybook);
	/* If it cannot be emptied, the store knows what was posted. */
	else if (done && st_retry(ftruncate(daybook->fd, 0)) == 0)
		daybook->size = 0;
	unlock(daybook);
}
