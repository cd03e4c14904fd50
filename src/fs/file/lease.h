/**
 * Leases: the kernel reports when another process opens a file.
 *
 * An open for writing breaks a read lease, and the kernel grants none while
 * the file is open for writing. Any open breaks a write lease. The process
 * that breaks a lease waits in its open() until the holder drops the lease.
 */
#ifndef STET_FS_FILE_LEASE_H
#define STET_FS_FILE_LEASE_H

#include <stdbool.h>

enum st_lease {
	/** Granted: no other process has the file open in a conflicting mode. */
	ST_LEASE_HELD,
	/** Another process has. */
	ST_LEASE_BUSY,
	/** Not available: we do not own the file, or the filesystem has no leases. */
	ST_LEASE_NONE,
};

/** Ask for a lease, F_RDLCK or F_WRLCK, on an open file. */
enum st_lease st_lease_take(int fd, int kind);

/** Whether we still hold the lease unbroken: no other process waits to open the file. */
bool st_lease_holds(int fd, int kind);

/** Drop the lease; a process that waits in open() continues. */
void st_lease_drop(int fd);

#endif
