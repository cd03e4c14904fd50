#include "fs/file/lease.h"

#include <signal.h>

#include "fs/path/sys.h"

enum st_lease st_lease_take(int fd, int kind) {
	/* The default signal, SIGIO, would kill our process when the lease is broken; SIGURG does not. */
	if (st_retry(fcntl(fd, F_SETSIG, SIGURG)) < 0)
		return ST_LEASE_NONE;
	if (st_retry(fcntl(fd, F_SETLEASE, kind)) == 0)
		return ST_LEASE_HELD;
	return errno == EAGAIN ? ST_LEASE_BUSY : ST_LEASE_NONE;
}

bool st_lease_holds(int fd, int kind) {
	return st_retry(fcntl(fd, F_GETLEASE)) == kind;
}

void st_lease_drop(int fd) {
	(void)st_retry(fcntl(fd, F_SETLEASE, F_UNLCK));
}
