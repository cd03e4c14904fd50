/**
 * Leases: the kernel reports when another process opens a file.
 *
 * An open for writing breaks a read lease, and the kernel grants none while
 * the file is open for writing. Any open breaks a write lease. The process
 * that breaks a lease waits in its open() until the holder drops the lease.
 */
#ifndef STET_FS_FILE_LEASE_H
#define STET_FS_FILE_LEASE_H

#include <signal.h>
#include <stdbool.h>

#include "fs/path/sys.h"

enum st_lease {
	/** Granted: no other process has the file open in a conflicting mode. */
	ST_LEASE_HELD,
	/** Another process has. */
	ST_LEASE_BUSY,
	/** Not available: we do not own the file, or the filesystem has no leases. */
	ST_LEASE_NONE,
};

/** Ask for a lease, F_RDLCK or F_WRLCK, on an open file. */
static inline enum st_lease st_lease_take(int fd, int kind) {
	/* The default signal, SIGIO, would kill our process when the lease is broken; SIGURG does not. */
	if (st_retry(fcntl(fd, F_SETSIG, SIGURG)) < 0)
		return ST_LEASE_NONE;
	if (st_retry(fcntl(fd, F_SETLEASE, kind)) == 0)
		return ST_LEASE_HELD;
	return errno == EAGAIN ? ST_LEASE_BUSY : ST_LEASE_NONE;
}

/** Whether we still hold the lease unbroken: no other process waits to open the file. */
static inline bool st_lease_holds(int fd, int kind) {
	return st_retry(fcntl(fd, F_GETLEASE)) == kind;
}

/** Drop the lease; a process that waits in open() continues. */
static inline void st_lease_drop(int fd) {
	(void)st_retry(fcntl(fd, F_SETLEASE, F_UNLCK));
}

#endif
