#include "core/state/db_vfs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "core/state/db_files.h"
#include "fs/path/sys.h"

/* Leads to the directory of a descriptor, even if that was renamed. */
#define FD_PREFIX "/proc/self/fd/"

static sqlite3_vfs narrow;
static sqlite3_vfs *unix_vfs;

/* ---- directories ---- */

/* A directory with open databases; a slot with no users is free. */
struct place {
	dev_t dev;
	ino_t ino;
	int fd;
	size_t users;
};

static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
static struct place *places;
static size_t place_count;

/* Find the slot of a directory, else a free or new one; NULL if memory is short. */
static struct place *find_place(const struct stat *dir) {
	struct place *unused = NULL;
	for (size_t i = 0; i < place_count; i++) {
		struct place *place = &places[i];
		if (place->users == 0)
			unused = place;
		else if (place->dev == dir->st_dev && place->ino == dir->st_ino)
			return place;
	}
	if (unused)
		return unused;
	struct place *more = realloc(places, (place_count + 1) * sizeof *places);
	if (!more)
		return NULL;
	places = more;
	places[place_count] = (struct place){.fd = -1};
	return &places[place_count++];
}

static int acquire_place(int dirfd) {
	struct stat dir;
	if (st_retry(fstat(dirfd, &dir)) < 0)
		return -1;
	struct place *place = find_place(&dir);
	if (!place) {
		errno = ENOMEM;
		return -1;
	}
	/* Not dup(): a copy of the descriptor would share the caller's lock, and keep it. */
	int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	if (place->users == 0)
		*place = (struct place){dir.st_dev, dir.st_ino, st_retry(openat(dirfd, ".", flags)), 0};
	place->users += place->fd >= 0;
	return place->fd;
}

int st_db_vfs_acquire(int dirfd, char path[ST_DB_PATH_SIZE]) {
	pthread_mutex_lock(&places_lock);
	int fd = acquire_place(dirfd);
	pthread_mutex_unlock(&places_lock);
	snprintf(path, ST_DB_PATH_SIZE, FD_PREFIX "%d/" ST_STORE_NAME, fd);
	return fd < 0 ? -1 : 0;
}

static void release_place(int fd) {
	for (size_t i = 0; i < place_count; i++) {
		struct place *place = &places[i];
		if (place->users > 0 && place->fd == fd && --place->users == 0)
			st_close_at(&place->fd);
	}
}

void st_db_vfs_release(const char *path) {
	pthread_mutex_lock(&places_lock);
	release_place((int)strtol(path + strlen(FD_PREFIX), NULL, 10));
	pthread_mutex_unlock(&places_lock);
}

/* ---- the VFS ---- */

static bool is_known_name(const char *name) {
	static const char *const names[] = {ST_STORE_NAME, ST_STORE_NAME "-journal",
	                                    ST_STORE_NAME "-wal", ST_STORE_NAME "-shm"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Split a path of st_db_vfs_acquire() into directory and name; NULL for any other path. */
static const char *split_path(const char *path, int *dirfd) {
	size_t len = strlen(FD_PREFIX);
	char *end = NULL;
	if (!path || strncmp(path, FD_PREFIX, len) != 0)
		return NULL;
	*dirfd = (int)strtol(path + len, &end, 10);
	return *end == '/' && is_known_name(end + 1) ? end + 1 : NULL;
}

static bool may_be_opened(int dirfd, const char *name) {
	struct stat st;
	if (st_retry(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return errno == ENOENT;
	return st_db_file_is_own(&st);
}

static int open_narrow(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                       int *out_flags) {
	(void)vfs;
	int dirfd = -1;
	const char *name = split_path(path, &dirfd);
	file->pMethods = NULL;
	/* A NULL path is a new temporary file, which cannot be anyone else's. */
	if (path && !name)
		return SQLITE_CANTOPEN;
	if (name && !may_be_opened(dirfd, name))
		return SQLITE_CANTOPEN;
	/* SQLite opens the -shm file itself, with the database. */
	if (name && flags & SQLITE_OPEN_MAIN_DB && !may_be_opened(dirfd, ST_STORE_NAME "-shm"))
		return SQLITE_CANTOPEN;
	return unix_vfs->xOpen(unix_vfs, path, file, flags, out_flags);
}

static int delete_narrow(sqlite3_vfs *vfs, const char *path, int sync) {
	(void)vfs;
	int dirfd;
	return split_path(path, &dirfd) ? unix_vfs->xDelete(unix_vfs, path, sync) : SQLITE_PERM;
}

static int access_narrow(sqlite3_vfs *vfs, const char *path, int flags, int *there) {
	(void)vfs;
	int dirfd;
	*there = 0;
	return split_path(path, &dirfd) ? unix_vfs->xAccess(unix_vfs, path, flags, there) : SQLITE_OK;
}

/* Return the path unchanged: SQLite's own function would resolve the link in /proc. */
static int full_path_narrow(sqlite3_vfs *vfs, const char *path, int size, char *out) {
	(void)vfs;
	int dirfd;
	if (!split_path(path, &dirfd) || strlen(path) >= (size_t)size)
		return SQLITE_CANTOPEN;
	memcpy(out, path, strlen(path) + 1);
	return SQLITE_OK;
}

static void register_vfs(void) {
	unix_vfs = sqlite3_vfs_find("unix");
	if (!unix_vfs)
		return;
	narrow = *unix_vfs;
	narrow.zName = "stet";
	narrow.pNext = NULL;
	narrow.xOpen = open_narrow;
	narrow.xDelete = delete_narrow;
	narrow.xAccess = access_narrow;
	narrow.xFullPathname = full_path_narrow;
	if (sqlite3_vfs_register(&narrow, 0) != SQLITE_OK)
		narrow.zName = NULL;
}

const char *st_db_vfs(void) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, register_vfs);
	return narrow.zName;
}

/* A program may unload this library and go on using SQLite. */
__attribute__((destructor)) static void unregister_vfs(void) {
	if (narrow.zName)
		sqlite3_vfs_unregister(&narrow);
	free(places);
}
