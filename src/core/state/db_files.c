#include "core/state/db_files.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/buf.h"
#include "fs/path/dirs.h"
#include "fs/path/sys.h"

static const char *const beside[] = {"-journal", "-wal", "-shm"};
enum { JOURNAL, WAL, SHM, BESIDE };

/* How many renamed files to keep per name; the last one is overwritten. */
enum { ASIDE_MAX = 3 };

bool st_db_file_is_own(const struct stat *st) {
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink == 1;
}

static bool exists(int dirfd, const char *name, struct stat *st) {
	return st_retry(fstatat(dirfd, name, st, AT_SYMLINK_NOFOLLOW)) == 0;
}

/* ---- journals ---- */

static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

static uint32_t number_at(const unsigned char *bytes) {
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/*
 * A journal may end with the name of a super-journal, its length, the sum of its
 * bytes, and the magic number. If the sum is wrong, SQLite ignores the name too:
 * then it is just the last page of a journal of ours.
 */
static bool names_super_journal(int fd, off_t size) {
	enum { TRAILER = 16, NAME_LIMIT = 4096 };
	unsigned char trailer[TRAILER];
	signed char name[NAME_LIMIT];
	if (size < TRAILER || st_retry(pread(fd, trailer, TRAILER, size - TRAILER)) != TRAILER ||
	    memcmp(trailer + 8, magic, sizeof magic) != 0)
		return false;
	uint32_t len = number_at(trailer);
	int64_t sum = number_at(trailer + 4);
	if (len == 0 || len > NAME_LIMIT || len > size - TRAILER)
		return len > 0;
	if (st_retry(pread(fd, name, len, size - TRAILER - len)) != (ssize_t)len)
		return true;
	for (uint32_t i = 0; i < len; i++)
		sum -= name[i];
	return (uint32_t)sum == 0;
}

/* Playing back a journal makes the database as large as the journal says. */
static bool is_for_larger_database(int fd) {
	unsigned char header[28];
	if (st_retry(pread(fd, header, sizeof header, 0)) != sizeof header ||
	    memcmp(header, magic, sizeof magic) != 0)
		return false;
	return (int64_t)number_at(header + 16) * number_at(header + 24) > ST_DB_FILE_MAX;
}

static const char *find_journal_fault(int dirfd, const char *name) {
	struct stat st;
	st_autofd fd =
		st_retry(openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (fd < 0 || st_retry(fstat(fd, &st)) < 0)
		return "cannot be read";
	if (names_super_journal(fd, st.st_size))
		return "names another file to be removed, as no journal of stet does";
	if (is_for_larger_database(fd))
		return "belongs to a larger database than stet makes";
	return NULL;
}

/* Why SQLite must not open a file beside the database; NULL if it may. */
static const char *find_fault(int dirfd, const char *name, int kind) {
	struct stat st;
	if (!exists(dirfd, name, &st))
		return errno == ENOENT ? NULL : "cannot be read";
	if (!S_ISREG(st.st_mode))
		return "is not a regular file";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	if (st.st_size > ST_DB_FILE_MAX)
		return "is larger than stet makes it";
	return kind == JOURNAL ? find_journal_fault(dirfd, name) : NULL;
}

static void name_beside(int kind, char name[32]) {
	snprintf(name, 32, ST_STORE_NAME "%s", beside[kind]);
}

const char *st_db_files_find(int dirfd, char name[32]) {
	for (int kind = 0; kind < BESIDE; kind++) {
		name_beside(kind, name);
		const char *why = find_fault(dirfd, name, kind);
		if (why)
			return why;
	}
	return NULL;
}

/* ---- setting aside ---- */

int st_db_set_aside(int dirfd, const char *name, char aside[64], struct stet_error *err) {
	for (int i = 1; i <= ASIDE_MAX; i++) {
		snprintf(aside, 64, "%s.foreign-%d", name, i);
		if (st_retry(renameat2(dirfd, name, dirfd, aside, i < ASIDE_MAX ? RENAME_NOREPLACE : 0)) ==
		    0)
			return 0;
	}
	return st_fail(err, STET_E_ACCESS,
	               "The state database is not used: %s beside it cannot be set aside. Remove it.",
	               name);
}

static int set_all_aside(int dirfd, struct st_db_tidied *tidied, struct stet_error *err) {
	char name[32];
	const char *why;
	for (int i = 0; i < BESIDE && (why = st_db_files_find(dirfd, name)); i++) {
		int code = st_db_set_aside(dirfd, name, tidied->aside, err);
		if (code < 0)
			return code;
		tidied->why = why;
	}
	return 0;
}

/* ---- hard links ---- */

static int copy_bytes(int from, int to) {
	char buffer[65536];
	off_t at = 0;
	for (ssize_t len; (len = st_retry(pread(from, buffer, sizeof buffer, at))) != 0; at += len) {
		if (len < 0 || st_retry(pwrite(to, buffer, (size_t)len, at)) != len)
			return -1;
	}
	return st_retry(fsync(to));
}

/* Replace a file by a copy of its own, which the other hard links do not share. */
static int replace_by_copy(int dirfd, const char *name, struct stet_error *err) {
	static const char copy[] = ST_STORE_NAME ".copy";
	st_autofd from =
		st_retry(openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (from < 0)
		return errno == ENOENT ? 0 : st_fail_errno(err, errno, "Cannot read %s", name);
	(void)st_retry(unlinkat(dirfd, copy, 0));
	st_autofd to =
		st_retry(openat(dirfd, copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (to >= 0 && copy_bytes(from, to) == 0 && st_retry(renameat(dirfd, copy, dirfd, name)) == 0)
		return 0;
	int errnum = errno;
	(void)st_retry(unlinkat(dirfd, copy, 0));
	return st_fail_errno(err, errnum, "Cannot replace %s, which has another hard link", name);
}

static bool is_linked(int dirfd, const char *name) {
	struct stat st;
	return exists(dirfd, name, &st) && st.st_nlink != 1;
}

/*
 * If one file has another hard link, replace all of them. A process that has the
 * old ones open goes on with those, and notices before its next transaction that
 * they were replaced. The index is removed; SQLite rebuilds it from the WAL. The
 * database comes last: a process killed before leaves the work to the next one.
 */
static int replace_linked(int dirfd, struct stet_error *err) {
	char name[32];
	bool linked = is_linked(dirfd, ST_STORE_NAME);
	for (int kind = 0; kind < BESIDE; kind++) {
		name_beside(kind, name);
		linked = linked || is_linked(dirfd, name);
	}
	if (!linked)
		return 0;
	name_beside(SHM, name);
	int code = st_retry(unlinkat(dirfd, name, 0)) == 0 || errno == ENOENT
	               ? 0
	               : st_fail_errno(err, errno, "Cannot remove %s", name);
	for (int kind = JOURNAL; kind < SHM && code == 0; kind++) {
		name_beside(kind, name);
		code = replace_by_copy(dirfd, name, err);
	}
	return code == 0 ? replace_by_copy(dirfd, ST_STORE_NAME, err) : code;
}

int st_db_files_tidy(int dirfd, struct st_db_tidied *tidied, struct stet_error *err) {
	*tidied = (struct st_db_tidied){0};
	struct stat st;
	if (exists(dirfd, ST_STORE_NAME, &st) && (!S_ISREG(st.st_mode) || st.st_uid != geteuid()))
		return st_fail(err, STET_E_ACCESS,
		               "The state database is not used: %s is not a regular file of this user. "
		               "Remove it to have a new one made.",
		               ST_STORE_NAME);
	int code = set_all_aside(dirfd, tidied, err);
	return code == 0 ? replace_linked(dirfd, err) : code;
}
