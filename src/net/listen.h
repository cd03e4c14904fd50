/**
 * Where the server listens: an address of this machine, or a Unix socket.
 *
 *     struct st_listen at;
 *     if (st_listen_resolve(&at, "unix:/run/user/1000/stet", err) < 0 ||
 *         st_listen_open(&at, err) < 0)
 *             return err->code;
 *     puts(at.url);
 *
 * A Unix socket is a file of mode 0600; it goes with the server.
 */
#ifndef STET_NET_LISTEN_H
#define STET_NET_LISTEN_H

#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"

struct st_listen {
	int fd;
	/** Only this machine can reach it. */
	bool loopback;
	/** A Unix socket: the kernel says whose a connection is. */
	bool local;
	/** "http://127.0.0.1:8080/mcp", or "unix:/path". */
	char url[256];
	struct sockaddr_storage address;
	socklen_t address_len;
	/** Of the Unix socket's file, to know it again. */
	dev_t dev;
	ino_t ino;
};

/**
 * Find out what an address is.
 *
 * @text    "127.0.0.1:8080", "[::1]:0", "localhost", "unix:PATH"; port 0 or
 *          none for any that is free.
 * @return  0 or STET_E_INVALID.
 */
[[nodiscard]] int st_listen_resolve(struct st_listen *at, const char *text, struct stet_error *err);

/**
 * Listen there. A socket that a dead server of this user left is replaced.
 *
 * @return 0, STET_E_EXISTS (the path is taken), STET_E_ACCESS or STET_E_IO.
 */
[[nodiscard]] int st_listen_open(struct st_listen *at, struct stet_error *err);

/** Close it, and remove the Unix socket if it is still this one. */
void st_listen_release(struct st_listen *at);

#endif
