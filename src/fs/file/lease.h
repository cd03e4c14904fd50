/**
 * Leases: the kernel tells whether somebody else opens a file.
 *
 * A read lease is broken by an open for writing, and cannot be had while the
 * file is open for writing; a write lease is broken by any open. While a
 * lease is being broken the other process waits in its open() until the lease
 * is given up.
 */
#ifndef STET_FS_FILE_LEASE_H
#define STET_FS_FILE_LEASE_H

#include <stdbool.h>

/** What became of asking for a lease. */
enum st_lease {
	/** Held: nobody else has the file open in a way that matters. */
	ST_LEASE_HELD,
	/** Somebody has. */
	ST_LEASE_BUSY,
	/** Not to be had here: not the owner, or the filesystem has none. */
	ST_LEASE_NONE,
};

/** Ask for a lease, F_RDLCK or F_WRLCK, on an open file. */
enum st_lease st_lease_take(int fd, int kind);

/** Whether the lease is still whole: nobody waits to open the file. */
bool st_lease_holds(int fd, int kind);

/** Give it up; who waited goes on. */
void st_lease_drop(int fd);

#endif
