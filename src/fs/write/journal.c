/* The file of a journal: written, locked, removed and read again. Taking back is in journal_recover.c. */
#include "fs/write/journal.h"

#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>

#include "base/hex.h"
#include "fs/path/sys.h"
#include "fs/versions/state_dir.h"
#include "fs/write/commit.h"

enum { NAMES_TRIED = 16, AGAIN = 1 };

#define HEADING "stet change set 1\n"
#define MARK_LABEL "mark "

/* ---- the text ---- */

/* Where it is valid: the root and the state directory, which no copy of them is. */
static int add_origin(const struct st_write_context *writes, struct st_buf *out,
                      struct stet_error *err) {
	int64_t root[2], state[2];
	st_autofd dir = st_state_find(writes->root, writes->state_dir, err);
	if (dir < 0)
		return dir;
	st_state_origin(writes->root->fd, root);
	st_state_origin(dir, state);
	st_buf_addf(out, "origin %lld %lld %lld %lld\n", (long long)root[0], (long long)root[1],
	            (long long)state[0], (long long)state[1]);
	return 0;
}

static void add_version(struct st_buf *out, const struct st_version *version) {
	char hex[ST_HASH_HEX + 1] = "-";
	if (version->exists)
		st_hash_hex(&version->hash, hex, ST_HASH_HEX);
	st_buf_addf(out, " %s", hex);
}

static void add_file(struct st_buf *out, const struct st_journal_file *file) {
	st_buf_addf(out, "file %zu %zu %o", strlen(file->path), file->old.len, (unsigned)file->mode);
	add_version(out, &file->before);
	add_version(out, &file->after);
	st_buf_addc(out, '\n');
	st_buf_adds(out, file->path);
	st_buf_add(out, file->old);
}

/* The mark of the text so far. */
static int make_mark(struct st_str text, char mark[ST_MARK + 1], struct stet_error *err) {
	struct st_hash hash;
	char named[ST_HASH_HEX + 32], hex[ST_HASH_HEX + 1];
	int code = st_hash_of(text, &hash, err);
	if (code < 0)
		return code;
	st_hash_hex(&hash, hex, ST_HASH_HEX);
	snprintf(named, sizeof named, "change set %s", hex);
	return st_user_mark(st_str(named), mark, err);
}

static int write_text(const struct st_write_context *writes, const struct st_journal_plan *plan,
                      struct st_buf *out, struct stet_error *err) {
	char mark[ST_MARK + 1];
	st_buf_adds(out, HEADING);
	int code = add_origin(writes, out, err);
	for (size_t i = 0; i < plan->dir_count && code == 0; i++)
		st_buf_addf(out, "dir %zu\n%s", strlen(plan->dirs[i]), plan->dirs[i]);
	for (size_t i = 0; i < plan->count && code == 0; i++) {
		add_file(out, &plan->files[i]);
		if (out->len > ST_JOURNAL_BYTES_MAX)
			return st_fail(err, STET_E_TOO_BIG,
			               "The files of this change have more than %zu bytes together. Change "
			               "fewer at once.",
			               ST_JOURNAL_BYTES_MAX);
	}
	if (code == 0 && out->failed)
		code = st_fail_nomem(err);
	if (code == 0)
		code = make_mark(st_buf_str(out), mark, err);
	if (code == 0)
		st_buf_addf(out, MARK_LABEL "%s\n", mark);
	return code == 0 && out->failed ? st_fail_nomem(err) : code;
}

/* ---- the file ---- */

void st_journal_release(struct st_journal *journal) {
	st_close_at(&journal->fd);
}

/* Returns a locked descriptor, or -1 with errno. The file is not there if that fails. */
static int write_new(int dirfd, const char *name, struct st_str text, bool relaxed) {
	st_autofd fd =
		st_retry(openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return -1;
	/* Another process may take it for a leftover and lock it first. */
	bool locked = st_retry(flock(fd, LOCK_EX | LOCK_NB)) == 0 || errno != EWOULDBLOCK;
	if (!locked)
		errno = ENOENT;
	if (locked && st_pwrite_all(fd, 0, text) == 0 && (relaxed || st_retry(fsync(fd)) == 0)) {
		int result = fd;
		fd = -1;
		return result;
	}
	int errnum = errno;
	(void)st_retry(unlinkat(dirfd, name, 0));
	errno = errnum;
	return -1;
}

/* Give the complete journal its name. Returns 0, or -1 with errno. */
static int publish(int dirfd, const char *new, struct st_journal *journal) {
	if (st_retry(renameat(dirfd, new, dirfd, journal->name)) == 0 &&
	    (journal->relaxed || st_retry(fsync(dirfd)) == 0))
		return 0;
	int errnum = errno;
	(void)st_retry(unlinkat(dirfd, new, 0));
	(void)st_retry(unlinkat(dirfd, journal->name, 0));
	st_close_at(&journal->fd);
	errno = errnum;
	return -1;
}

/*
 * One try. Returns 0, a code, or AGAIN with errno, which is ENOENT if another
 * process removed the folder or the file meanwhile.
 */
static int try_write(struct st_write_context *writes, struct st_str text,
                     struct st_journal *journal, struct stet_error *err) {
	uint64_t random;
	char new[48];
	int dirfd = st_state_folder_open(&writes->journals, err);
	if (dirfd < 0)
		return dirfd;
	if (st_retry(getrandom(&random, sizeof random, 0)) < 0)
		return AGAIN;
	snprintf(journal->name, sizeof journal->name, "%016llx.set", (unsigned long long)random);
	snprintf(new, sizeof new, "%016llx.new", (unsigned long long)random);
	journal->fd = write_new(dirfd, new, text, journal->relaxed);
	return journal->fd < 0 || publish(dirfd, new, journal) < 0 ? AGAIN : 0;
}

/* Remove the folder if it is empty: then a write need not look into it. */
static void remove_folder(struct st_write_context *writes) {
	char path[300];
	snprintf(path, sizeof path, "%s/%s", writes->state_dir, writes->journals.name);
	(void)st_retry(unlinkat(writes->root->fd, path, AT_REMOVEDIR));
}

int st_journal_begin(struct st_write_context *writes, const struct st_journal_plan *plan,
                     struct st_journal *journal, struct stet_error *err) {
	st_auto(st_buf) text = ST_BUF_INIT;
	journal->relaxed = plan->relaxed;
	int code = st_state_folder_open(&writes->journals, err);
	if (code >= 0)
		code = write_text(writes, plan, &text, err);
	if (code < 0)
		return code;
	for (int i = 0; i < NAMES_TRIED; i++) {
		code = try_write(writes, st_buf_str(&text), journal, err);
		if (code != AGAIN)
			return code;
		if (errno != ENOENT && errno != EEXIST)
			break;
	}
	code = st_fail_errno(err, errno, "Cannot write the journal of the change");
	remove_folder(writes);
	return code;
}

void st_journal_end(struct st_write_context *writes, struct st_journal *journal) {
	if (journal->fd < 0)
		return;
	int dirfd = st_state_folder_open(&writes->journals, NULL);
	bool gone = dirfd >= 0 && (st_retry(unlinkat(dirfd, journal->name, 0)) == 0 ||
	                           st_retry(unlinkat(dirfd, journal->name, 0)) == 0 || errno == ENOENT);
	/* An empty journal takes nothing back. */
	if (!gone && st_retry(ftruncate(journal->fd, 0)) < 0)
		st_write_notice(writes, "The journal %s/%s/%s cannot be removed. Remove it.",
		                writes->state_dir, writes->journals.name, journal->name);
	if (gone && !journal->relaxed)
		(void)st_retry(fsync(dirfd));
	st_close_at(&journal->fd);
	remove_folder(writes);
}

/* ---- reading it ---- */

/* The next line, without its end; false if there is none. */
static bool take_line(struct st_str *text, char line[512]) {
	const char *end = text->len > 0 ? memchr(text->ptr, '\n', text->len) : NULL;
	size_t len = end ? (size_t)(end - text->ptr) : 0;
	if (!end || len >= 512)
		return false;
	memcpy(line, text->ptr, len);
	line[len] = '\0';
	*text = st_str_slice(*text, len + 1, text->len);
	return true;
}

static bool take_bytes(struct st_str *text, size_t len, struct st_str *bytes) {
	if (text->len < len)
		return false;
	*bytes = st_strn(text->ptr, len);
	*text = st_str_slice(*text, len, text->len);
	return true;
}

static bool parse_version(const char *hex, struct st_version *version) {
	*version = (struct st_version){.exists = strcmp(hex, "-") != 0};
	return !version->exists ||
	       st_hex_decode(st_str(hex), version->hash.bytes, ST_HASH_SIZE) == ST_HASH_SIZE;
}

/* Room for the paths was made before: the plan may point into them. */
static const char *add_path(struct st_buf *paths, struct st_str path) {
	size_t at = paths->len;
	if (path.len == 0 || memchr(path.ptr, '\0', path.len))
		return NULL;
	st_buf_add(paths, path);
	st_buf_add(paths, st_strn("", 1));
	return paths->failed ? NULL : paths->ptr + at;
}

static bool parse_file(const char *line, struct st_str *text, struct st_journal_file *file,
                       struct st_buf *paths) {
	size_t path_len, old_len;
	unsigned mode;
	char before[ST_HASH_HEX + 1], after[ST_HASH_HEX + 1];
	struct st_str path;
	if (sscanf(line, "file %zu %zu %o %64s %64s", &path_len, &old_len, &mode, before, after) != 5 ||
	    !take_bytes(text, path_len, &path) || !take_bytes(text, old_len, &file->old))
		return false;
	file->path = add_path(paths, path);
	file->mode = mode & 07777;
	return file->path && parse_version(before, &file->before) && parse_version(after, &file->after);
}

static bool parse_entries(struct st_str text, struct st_journal_file *files, const char **dirs,
                          struct st_journal_plan *plan, struct st_buf *paths) {
	char line[512];
	while (text.len > 0 && plan->count + plan->dir_count < ST_JOURNAL_ENTRIES_MAX) {
		size_t len;
		struct st_str path;
		if (!take_line(&text, line))
			return false;
		if (sscanf(line, "dir %zu", &len) == 1) {
			if (!take_bytes(&text, len, &path) ||
			    !(dirs[plan->dir_count++] = add_path(paths, path)))
				return false;
		} else if (!parse_file(line, &text, &files[plan->count++], paths)) {
			return false;
		}
	}
	return text.len == 0;
}

/* Check the mark at the end, and that the journal was written here; leaves the entries in text. */
static int check_text(const struct st_write_context *writes, struct st_str *text) {
	st_auto(st_buf) head = ST_BUF_INIT;
	char mark[ST_MARK + 1], end[ST_MARK + 16];
	size_t tail = strlen(MARK_LABEL) + ST_MARK + 1;
	if (text->len < tail)
		return 0;
	struct st_str last = st_str_slice(*text, text->len - tail, text->len);
	*text = st_str_slice(*text, 0, text->len - tail);
	int code = make_mark(*text, mark, NULL);
	if (code < 0)
		return code == STET_E_NOMEM ? code : 0;
	snprintf(end, sizeof end, MARK_LABEL "%s\n", mark);
	st_buf_adds(&head, HEADING);
	code = add_origin(writes, &head, NULL);
	if (code < 0 || !st_str_eq(last, st_str(end)) || !st_str_starts(*text, st_buf_str(&head)))
		return 0;
	*text = st_str_slice(*text, head.len, text->len);
	return 1;
}

int st_journal_parse(struct st_write_context *writes, struct st_str bytes,
                     struct st_journal_plan *plan, struct st_buf *paths) {
	struct st_str text = bytes;
	*plan = (struct st_journal_plan){0};
	int code = check_text(writes, &text);
	if (code <= 0)
		return code;
	struct st_journal_file *files = calloc(ST_JOURNAL_ENTRIES_MAX, sizeof *files);
	const char **dirs = calloc(ST_JOURNAL_ENTRIES_MAX, sizeof *dirs);
	plan->files = files;
	plan->dirs = dirs;
	/* The paths take less than the text, so that they never move. */
	if (!files || !dirs || !st_buf_reserve(paths, text.len + ST_JOURNAL_ENTRIES_MAX))
		return STET_E_NOMEM;
	return parse_entries(text, files, dirs, plan, paths) ? 1 : 0;
}
