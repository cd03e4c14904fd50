/**
 * The listening socket: an address of this machine, or a Unix socket.
 *
 *     struct st_listen at;
 *     if (st_listen_resolve(&at, "unix:/run/user/1000/stet", err) < 0 ||
 *         st_listen_open(&at, err) < 0)
 *             return err->code;
 *     puts(at.url);
 *
 * The file of a Unix socket has mode 0600; st_listen_release() removes it.
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
	/** A Unix socket: the kernel knows the user of a connection. */
	bool local;
	/** The socket comes from systemd, and so does the file of a Unix socket. */
	bool inherited;
	/** The URL begins with https. To be set before st_listen_open(). */
	bool tls;
	/** "http://127.0.0.1:8080/mcp", or "unix:/path". */
	char url[256];
	struct sockaddr_storage address;
	socklen_t address_len;
	/** Identify the Unix socket's file. */
	dev_t dev;
	ino_t ino;
};

/**
 * Parse an address.
 *
 * @text    "127.0.0.1:8080", "[::1]:0", "localhost", "unix:PATH"; port 0 or no
 *          port for any free port. "systemd" for the socket of a systemd unit.
 * @return  0 or STET_E_INVALID.
 */
[[nodiscard]] int st_listen_resolve(struct st_listen *at, const char *text, struct stet_error *err);

/**
 * Open the socket and listen. Replaces a Unix socket that a dead server of this
 * user has left.
 *
 * @return 0, STET_E_EXISTS (the path exists), STET_E_ACCESS or STET_E_IO.
 */
[[nodiscard]] int st_listen_open(struct st_listen *at, struct stet_error *err);

/** Close the socket, and remove the file of a Unix socket if it is still the same. */
void st_listen_release(struct st_listen *at);

#endif
