#include "net/acceptor.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	/* The time limit for the first request of an untrusted connection. */
	UNTRUSTED_MS = 10'000,
	/* The time for a refused client to read the answer. */
	CLOSING_MS = 2000,
	/* Accept this many before serving the others again. */
	BATCH = 32,
	/* Descriptors that are left for files. */
	FILES_RESERVE = 128,
};

struct st_acceptor {
	struct st_acceptor_options options;
	const struct st_connection_rules *rules;
	struct event *event;
	bool paused, stopped;
	struct st_connection *connections;
};

/*
 * The connection to close for a new one: the oldest untrusted one, else the one
 * that was idle longest. If times are equal, the last in the list is the oldest.
 */
static struct st_connection *find_victim(struct st_acceptor *acceptor, bool untrusted_only) {
	struct st_connection *victim = NULL;
	for (struct st_connection *at = acceptor->connections; at; at = at->next) {
		bool idle = at->state == ST_CONNECTION_HEAD && !at->begun;
		if (!at->bev || (at->trusted && (untrusted_only || !idle)))
			continue;
		if (!victim || (!at->trusted && victim->trusted) ||
		    (at->trusted == victim->trusted && at->since_ms <= victim->since_ms))
			victim = at;
	}
	return victim;
}

struct connection_counts {
	size_t all, untrusted;
};

static struct connection_counts count_connections(const struct st_acceptor *acceptor) {
	struct connection_counts counts = {0};
	for (const struct st_connection *at = acceptor->connections; at; at = at->next) {
		counts.all += at->bev != NULL;
		counts.untrusted += at->bev && !at->trusted;
	}
	return counts;
}

/* Find a slot for a new connection. The victim is the connection to close for it, or NULL. */
static bool find_slot(struct st_acceptor *acceptor, struct st_connection **victim) {
	struct connection_counts counts = count_connections(acceptor);
	bool untrusted_full = counts.untrusted >= (acceptor->options.max_connections + 1) / 2;
	*victim = NULL;
	if (!untrusted_full && counts.all < acceptor->options.max_connections)
		return true;
	*victim = find_victim(acceptor, untrusted_full);
	return *victim != NULL;
}

static void free_closed(struct st_acceptor *acceptor) {
	for (struct st_connection **place = &acceptor->connections, *at; (at = *place);) {
		if (at->bev) {
			place = &at->next;
			continue;
		}
		*place = at->next;
		st_connection_free(at);
	}
}

static bool is_same_user(int fd) {
	struct ucred peer;
	socklen_t len = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void refuse_user(int fd) {
	static const char answer[] =
		"HTTP/1.1 403 Forbidden\r\n"
		"Content-Type: text/plain; charset=utf-8\r\n"
		"Connection: close\r\n"
		"\r\n"
		"Permission denied: only the user of the server may use this socket.\n";
	ssize_t sent = send(fd, answer, sizeof answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)sent;
	close(fd);
}

static void add_connection(struct st_acceptor *acceptor, int fd) {
	int one = 1;
	if (acceptor->options.checks_user && !is_same_user(fd)) {
		refuse_user(fd);
		return;
	}
	struct st_connection *connection = st_connection_new(acceptor->rules, fd);
	if (!connection) {
		close(fd);
		return;
	}
	if (!acceptor->options.checks_user)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	connection->next = acceptor->connections;
	acceptor->connections = connection;
}

static void pause_accepting(struct st_acceptor *acceptor) {
	acceptor->paused = true;
	event_del(acceptor->event);
}

/* Close an untrusted connection. libevent closes its descriptor later, so accepting continues next time. */
static void free_descriptor(struct st_acceptor *acceptor) {
	struct st_connection *victim = find_victim(acceptor, true);
	if (victim)
		st_connection_close(victim);
	else
		pause_accepting(acceptor);
}

/* Returns false if no connection was accepted. */
static bool accept_one(struct st_acceptor *acceptor, int listener) {
	struct st_connection *victim;
	if (!find_slot(acceptor, &victim)) {
		pause_accepting(acceptor);
		return false;
	}
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			free_descriptor(acceptor);
		return false;
	}
	if (victim)
		st_connection_close(victim);
	add_connection(acceptor, fd);
	return true;
}

static void accept_some(evutil_socket_t listener, short what, void *arg) {
	struct st_acceptor *acceptor = arg;
	free_closed(acceptor);
	for (int i = 0; i < BATCH && accept_one(acceptor, listener); i++)
		;
}

/* Whether a connection has exceeded its time limit. */
static bool is_late(const struct st_acceptor *acceptor, const struct st_connection *at,
                    int64_t now_ms) {
	const struct st_acceptor_options *options = &acceptor->options;
	int64_t limit_ms = INT64_MAX;
	if (at->state == ST_CONNECTION_HEAD)
		limit_ms = (at->begun ? options->request_time : options->connection_idle) * 1000;
	else if (at->state == ST_CONNECTION_BODY)
		limit_ms = options->request_time * 1000;
	else if (at->state == ST_CONNECTION_CLOSING)
		limit_ms = CLOSING_MS;
	if (at->state == ST_CONNECTION_HEAD && (at->begun || !at->trusted) && limit_ms > UNTRUSTED_MS)
		limit_ms = UNTRUSTED_MS;
	return now_ms - at->since_ms > limit_ms;
}

void st_acceptor_tick(struct st_acceptor *acceptor) {
	int64_t now_ms = st_now_ms();
	for (struct st_connection *at = acceptor->connections; at; at = at->next) {
		if (is_late(acceptor, at, now_ms))
			st_connection_close(at);
	}
	free_closed(acceptor);
	if (acceptor->paused && !acceptor->stopped && event_add(acceptor->event, NULL) == 0)
		acceptor->paused = false;
}

size_t st_acceptor_count(const struct st_acceptor *acceptor) {
	return count_connections(acceptor).all;
}

bool st_acceptor_is_flushed(const struct st_acceptor *acceptor) {
	for (const struct st_connection *at = acceptor->connections; at; at = at->next) {
		if (st_request_unsent(&at->request) > 0)
			return false;
	}
	return true;
}

/* The limit of connections, given the limit of descriptors. */
static size_t limit_connections(size_t wanted) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return wanted;
	size_t all = (size_t)limit.rlim_cur;
	size_t here = all > 2 * FILES_RESERVE ? all - FILES_RESERVE : (all + 1) / 2;
	return wanted < here ? wanted : here;
}

int st_acceptor_new(int fd, const struct st_acceptor_options *options,
                    const struct st_connection_rules *rules, struct st_acceptor **out,
                    struct stet_error *err) {
	struct st_acceptor *acceptor = calloc(1, sizeof *acceptor);
	struct event *event =
		acceptor ? event_new(rules->base, fd, EV_READ | EV_PERSIST, accept_some, acceptor) : NULL;
	if (!event || event_add(event, NULL) < 0) {
		if (event)
			event_free(event);
		free(acceptor);
		return st_fail_nomem(err);
	}
	*acceptor = (struct st_acceptor){.options = *options, .rules = rules, .event = event};
	acceptor->options.max_connections = limit_connections(options->max_connections);
	*out = acceptor;
	return 0;
}

void st_acceptor_stop(struct st_acceptor *acceptor) {
	acceptor->stopped = true;
	event_del(acceptor->event);
}

void st_acceptor_free(struct st_acceptor *acceptor) {
	if (!acceptor)
		return;
	event_free(acceptor->event);
	for (struct st_connection *at = acceptor->connections, *next; at; at = next) {
		next = at->next;
		st_connection_free(at);
	}
	free(acceptor);
}
