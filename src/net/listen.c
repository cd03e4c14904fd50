#include "net/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"

/* Split "address:port", "[address]:port" or "address". */
static int split_address(const char *text, char *host, char *port, size_t size,
                         struct stet_error *err) {
	const char *start = text, *end = text + strlen(text), *colon = strrchr(text, ':');
	const char *bracket = strchr(text, ']');
	bool v6 = !bracket && colon && strchr(text, ':') != colon;
	if (text[0] == '[' && bracket) {
		start = text + 1;
		end = bracket;
	} else if (colon && !v6) {
		end = colon;
	}
	if (v6 || (bracket && colon < bracket))
		colon = NULL;
	if ((size_t)(end - start) >= size || (colon && strlen(colon + 1) >= size))
		return st_fail(err, STET_E_INVALID, "\"%.100s\" is not an address to listen on.", text);
	snprintf(host, size, "%.*s", (int)(end - start), start);
	snprintf(port, size, "%s", colon && colon[1] ? colon + 1 : "0");
	return 0;
}

static bool is_loopback(const struct sockaddr *address) {
	if (address->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24) == 127;
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return false;
}

static bool is_port(const char *port) {
	return strspn(port, "0123456789") != strlen(port) ||
	       (strlen(port) < 6 && strtol(port, NULL, 10) < 65536);
}

static int resolve_internet(struct st_listen *at, const char *text, struct stet_error *err) {
	char host[256], port[256];
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
	int code = split_address(text, host, port, sizeof host, err);
	if (code < 0)
		return code;
	if (!is_port(port))
		return st_fail(err, STET_E_INVALID, "Port %.20s is out of range: 65535 is the last one.",
		               port);
	int failed = getaddrinfo(*host ? host : "127.0.0.1", port, &hints, &found);
	if (failed)
		return st_fail(err, STET_E_INVALID, "\"%.100s\" is not an address to listen on: %s.", text,
		               gai_strerror(failed));
	memcpy(&at->address, found->ai_addr, found->ai_addrlen);
	at->address_len = found->ai_addrlen;
	freeaddrinfo(found);
	at->loopback = is_loopback((struct sockaddr *)&at->address);
	return 0;
}

static int resolve_path(struct st_listen *at, const char *path, struct stet_error *err) {
	struct sockaddr_un *address = (struct sockaddr_un *)&at->address;
	size_t len = strlen(path);
	if (len == 0 || len >= sizeof address->sun_path)
		return st_fail(err, STET_E_INVALID,
		               "unix:%.200s is not allowed: the path of a socket has 1 to %zu bytes.", path,
		               sizeof address->sun_path - 1);
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, path, len + 1);
	at->address_len = sizeof *address;
	at->loopback = at->local = true;
	return 0;
}

/* The first descriptor that systemd passes. */
enum { SYSTEMD_FD = 3 };

/* See sd_listen_fds(3). */
static bool has_systemd_socket(void) {
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	return pid && count && strtol(pid, NULL, 10) == getpid() && strcmp(count, "1") == 0;
}

static int resolve_systemd(struct st_listen *at, struct stet_error *err) {
	int listening = 0;
	socklen_t len = sizeof listening;
	at->address_len = sizeof at->address;
	if (!has_systemd_socket() ||
	    getsockopt(SYSTEMD_FD, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 || !listening ||
	    getsockname(SYSTEMD_FD, (struct sockaddr *)&at->address, &at->address_len) < 0)
		return st_fail(err, STET_E_INVALID,
		               "--listen systemd needs one socket from systemd, of a .socket unit with "
		               "ListenStream= and Accept=no.");
	at->inherited = true;
	at->local = at->address.ss_family == AF_UNIX;
	at->loopback = at->local || is_loopback((struct sockaddr *)&at->address);
	return 0;
}

int st_listen_resolve(struct st_listen *at, const char *text, struct stet_error *err) {
	static const char prefix[] = "unix:";
	*at = (struct st_listen){.fd = -1};
	if (strcmp(text, "systemd") == 0)
		return resolve_systemd(at, err);
	if (strncmp(text, prefix, sizeof prefix - 1) == 0)
		return resolve_path(at, text + sizeof prefix - 1, err);
	return resolve_internet(at, text, err);
}

static int write_url(struct st_listen *at, struct stet_error *err) {
	struct sockaddr_storage address;
	socklen_t len = sizeof address;
	char host[64], port[16];
	if (getsockname(at->fd, (struct sockaddr *)&address, &len) < 0 ||
	    getnameinfo((struct sockaddr *)&address, len, host, sizeof host, port, sizeof port,
	                NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return st_fail_errno(err, errno, "Cannot determine the server's address");
	bool v6 = address.ss_family == AF_INET6;
	snprintf(at->url, sizeof at->url, "http%s://%s%s%s:%s/mcp", at->tls ? "s" : "", v6 ? "[" : "",
	         host, v6 ? "]" : "", port);
	return 0;
}

/* Whether a dead server of this user has left the socket: connecting to it fails. */
static bool is_abandoned(const struct st_listen *at) {
	const struct sockaddr_un *address = (const struct sockaddr_un *)&at->address;
	struct stat st;
	st_autofd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd >= 0 && lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       st.st_uid == geteuid() &&
	       connect(fd, (const struct sockaddr *)&at->address, at->address_len) < 0 &&
	       errno == ECONNREFUSED;
}

/* fchmod() before bind() makes the file accessible to this user only, whatever the umask. */
static int bind_path(struct st_listen *at, struct stet_error *err) {
	const struct sockaddr_un *address = (const struct sockaddr_un *)&at->address;
	struct stat st;
	if (is_abandoned(at))
		unlink(address->sun_path);
	if (fchmod(at->fd, 0600) < 0 ||
	    bind(at->fd, (const struct sockaddr *)&at->address, at->address_len) < 0)
		return errno == EADDRINUSE
		           ? st_fail(err, STET_E_EXISTS,
		                     "%s already exists: remove it, or listen at another path.",
		                     address->sun_path)
		           : st_fail_errno(err, errno, "Cannot listen at %s", address->sun_path);
	if (lstat(address->sun_path, &st) == 0) {
		at->dev = st.st_dev;
		at->ino = st.st_ino;
	}
	snprintf(at->url, sizeof at->url, "unix:%s", address->sun_path);
	return 0;
}

static int bind_internet(struct st_listen *at, struct stet_error *err) {
	int one = 1;
	if (setsockopt(at->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
	    bind(at->fd, (const struct sockaddr *)&at->address, at->address_len) < 0)
		return st_fail_errno(err, errno, "Cannot listen on this address");
	return write_url(at, err);
}

/* systemd has bound the socket and listens. */
static int take_inherited(struct st_listen *at, struct stet_error *err) {
	const struct sockaddr_un *address = (const struct sockaddr_un *)&at->address;
	at->fd = fcntl(SYSTEMD_FD, F_DUPFD_CLOEXEC, SYSTEMD_FD);
	if (at->fd < 0 || fcntl(at->fd, F_SETFL, O_NONBLOCK) < 0)
		return st_fail_errno(err, errno, "Cannot use the socket of systemd");
	if (!at->local)
		return write_url(at, err);
	snprintf(at->url, sizeof at->url, "unix:%s", address->sun_path);
	return 0;
}

int st_listen_open(struct st_listen *at, struct stet_error *err) {
	if (at->inherited)
		return take_inherited(at, err);
	int family = ((const struct sockaddr *)&at->address)->sa_family;
	at->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (at->fd < 0)
		return st_fail_errno(err, errno, "Cannot listen");
	int code = at->local ? bind_path(at, err) : bind_internet(at, err);
	if (code == 0 && listen(at->fd, SOMAXCONN) < 0)
		code = st_fail_errno(err, errno, "Cannot listen");
	if (code < 0)
		st_listen_release(at);
	return code;
}

void st_listen_release(struct st_listen *at) {
	const struct sockaddr_un *address = (const struct sockaddr_un *)&at->address;
	struct stat st;
	st_close_at(&at->fd);
	if (at->ino && lstat(address->sun_path, &st) == 0 && st.st_dev == at->dev &&
	    st.st_ino == at->ino)
		unlink(address->sun_path);
	at->ino = 0;
}
